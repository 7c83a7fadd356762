"""Answers as tables: what a solve, a policy, a game and a walk leave, in columns that other programs read.

    states_table(solution)    state, cost, value, share           a row a state
    moves_table(policy)       from, to, probability, passive      a row a move
    sums_table(run)           round, learner, loss, ...           a row a learner and marked round
    log_table(...)            entity, time, state                 a row a step, as ``lsmdp fit`` reads it

Each is a ``pyarrow.Table``: ``.to_pandas()`` makes a DataFrame where pandas is installed, ``polars.from_arrow`` and
``duckdb`` take it as it is. States go by their labels, as text, and by their numbers where a model has no labels.
``write_table`` writes one to a .csv or .parquet file, as a whole or not at all (files.py). ``write_answer`` keeps all
of a solution in one .npz file, the policy too, and ``read_answer`` reads it again.

The functions ask for attributes and not for classes, so that this module stands above the model and the policies,
whose methods ``to_frame`` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from lsmdp.arrays import CSR, Floats, Ints, as_distribution, as_weights, into_kernel
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.files import atomic, explained
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.npy import Archive

if TYPE_CHECKING:
    import pyarrow as pa


def names_column(labels: Sequence[str] | None, states: Ints) -> pa.Array:
    """What these states are called: their labels as text, or their numbers."""
    import pyarrow as pa

    if labels is None:
        return pa.array(states, pa.int64())
    return pa.DictionaryArray.from_arrays(pa.array(states, pa.int32()), pa.array(labels, pa.string())).cast(pa.string())


def states_table(solution: Any, cost: Floats | None = None) -> pa.Table:
    """A row a state: its label, what it costs, its value and, where there is one, its share of the time in the end.

    Solutions that bound each value have the columns ``lower`` and ``upper`` too. Cells of a grid come with their row
    and column, states with positions with x and y. ``cost`` replaces the cost of the solve, for models that have
    absorbed costs of moves.
    """
    import pyarrow as pa

    lmdp = solution.lmdp
    columns: dict[str, Any] = {
        "state": names_column(lmdp.labels, np.arange(lmdp.n)),
        "cost": solution.c if cost is None else cost,
        "value": solution.v,
    }
    if (share := getattr(solution, "stationary", None)) is not None:
        columns["share"] = share
    return pa.table(columns | _bounds(solution) | _places(lmdp))


def _bounds(solution: Any) -> dict[str, Any]:
    """The bounds of each value, where a solution has them."""
    known = {name: getattr(solution, name, None) for name in ("lower", "upper")}
    return {name: bound for name, bound in known.items() if bound is not None and np.shape(bound) == (solution.lmdp.n,)}


def _places(lmdp: Any) -> dict[str, Any]:
    if lmdp.positions is None:
        return {}
    if lmdp.grid_shape is None:
        return {"x": lmdp.positions[:, 0], "y": lmdp.positions[:, 1]}
    cells = lmdp.positions.astype(np.int64)
    return {"row": cells[:, 0], "column": cells[:, 1]}


def moves_table(policy: Any, P: CSR | None = None) -> pa.Table:
    """A row a move: from, to, its chance under the policy, and its chance in the passive dynamics.

    ``P`` replaces the passive dynamics of the model, for models that have absorbed costs of moves.
    """
    import pyarrow as pa

    lmdp, Q = policy.lmdp, policy.matrix()
    passive = lmdp.P.data if P is None else np.asarray(P[lmdp.entry_rows, lmdp.P.indices])
    return pa.table(
        {
            "from": names_column(lmdp.labels, lmdp.entry_rows),
            "to": names_column(lmdp.labels, Q.indices),
            "probability": Q.data,
            "passive": passive.ravel(),
        }
    )


def sums_table(run: Any) -> pa.Table:
    """A row for each learner after the rounds 1, 2, 5, 10, ... and the last: what it has paid up to then, in all.

    A game keeps no more than that, so that its memory does not grow with its length. A run folder has every round:
    ``lsmdp.runs.Folder(path).rounds()`` is a table, too.
    """
    import pyarrow as pa

    game = run.game
    names = [player.learner.name for player in game.players]
    marks = [(t, tallies) for t, _, tallies in game.marks if t < game.t]
    marks += [(game.t, game.tallies)] if game.t else []
    rows = [(t, name, tally) for t, tallies in marks for name, tally in zip(names, tallies, strict=True)]
    columns: dict[str, Any] = {
        "round": pa.array([t for t, _, _ in rows], pa.int64()),
        "learner": pa.array([name for _, name, _ in rows], pa.string()),
    }
    for field in type(game.tallies[0])._fields:
        values = [getattr(tally, field) for _, _, tally in rows]
        kind = pa.int64() if field in ("solves", "steps") else pa.float64()
        columns[field] = pa.array(values, kind, from_pandas=True)  # nan becomes null: it was not computed
    return pa.table(columns)


def log_table(paths: Ints, labels: Sequence[str] | None = None, first: int = 0) -> pa.Table:
    """Where each walker is at each time, ``paths[t, walker]``, as a log of movements; row 0 is the time ``first``."""
    import pyarrow as pa

    times, walkers = paths.shape
    return pa.table(
        {
            "entity": np.tile(np.arange(walkers), times),
            "time": np.repeat(np.arange(first, first + times), walkers),
            "state": names_column(labels, paths.ravel()),
        }
    )


def write_table(table: pa.Table, out: Path, option: str = "--out") -> None:
    """Write a table to a .csv or .parquet file; ``option`` is where the user named it."""
    write_tables([table], out, option)


def write_tables(tables: Iterable[pa.Table], out: Path, option: str = "--out") -> None:
    """Write tables of one kind, one below the other, to one file."""
    with explained(out, option), atomic(out) as stream:
        stream_tables(tables, stream, out.suffix.lower())


def stream_tables(tables: Iterable[pa.Table], stream: BinaryIO, ending: str = ".csv") -> None:
    """The same to a stream that is open."""
    writer: Any = None
    try:
        for table in tables:
            writer = writer or _writer(stream, table.schema, ending).__enter__()
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _writer(stream: BinaryIO, schema: pa.Schema, ending: str) -> AbstractContextManager[Any]:
    if ending == ".parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(stream, schema)  # type: ignore[no-any-return]
    from pyarrow import csv

    header = ",".join(schema.names) + "\n"  # pyarrow would put each name in quotation marks
    stream.write(header.encode())
    return csv.CSVWriter(stream, schema, write_options=csv.WriteOptions(include_header=False))  # type: ignore[no-any-return]


class SavedAnswer(NamedTuple):
    """What ``read_answer`` finds in a file: the policy as a kernel, its long-run law, and the names of its states."""

    Q: CSR
    mu: Any
    labels: tuple[str, ...] | None


def write_answer(solution: Any, out: Path, cost: Floats | None = None) -> None:
    """Write all of a solution to an .npz file: arrays by name, which ``numpy.load`` reads.

    ``v``, ``mu`` and ``cost`` have a number a state, ``Q_data``, ``Q_indices`` and ``Q_indptr`` are the policy as a CSR
    matrix, ``labels`` the names of the states where they have any. ``origin`` holds, for each state, its row in the
    file that the model came from: not every row of that is a state where some were dropped.
    """
    lmdp, Q = solution.lmdp, solution.policy.matrix()
    arrays: dict[str, Any] = {
        "v": solution.v,
        "Q_data": Q.data,
        "Q_indices": Q.indices,
        "Q_indptr": Q.indptr,
        "cost": solution.c if cost is None else cost,
        "origin": np.arange(lmdp.n) if lmdp.origin is None else lmdp.origin,
    }
    if (share := getattr(solution, "stationary", None)) is not None:
        arrays["mu"] = share
    arrays |= _bounds(solution)
    if lmdp.labels is not None:
        arrays["labels"] = np.array(lmdp.labels)
    write_arrays(arrays, out)


def write_arrays(arrays: Mapping[str, Any], out: Path) -> None:
    """Write named arrays to an .npz file: all of them or nothing."""
    with explained(out), atomic(out) as stream:
        np.savez(stream, **arrays)


def is_answer(path: Path) -> bool:
    """Whether a file is one that ``write_answer`` has written, as far as its names tell."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with Archive(path) as arrays:
            return "Q_indptr" in arrays.names
    except (UnreadableError, OSError):
        return False


def read_answer(path: Path) -> SavedAnswer:
    """The policy in a file of ``write_answer``, checked."""
    try:
        with Archive(path) as arrays:
            n = arrays.header("Q_indptr").shape[0] - 1
            arrays.require_shapes({"Q_data": (None,), "Q_indices": arrays.header("Q_data").shape, "Q_indptr": (None,)})
            parts = tuple(arrays[f"Q_{part}"] for part in ("data", "indices", "indptr"))
            mu = arrays["mu"] if "mu" in arrays.names else None
            labels = tuple(map(str, arrays["labels"].tolist())) if "labels" in arrays.names else None
        Q = into_kernel(as_weights(sparse.csr_array(parts, shape=(n, n)), "Q"))
        return SavedAnswer(Q, None if mu is None else as_distribution(mu, n), labels)
    except (UnreadableError, OSError, ValueError) as broken:
        raise SpecError(f'"{path}" cannot be read as an answer of lsmdp solve: {broken}. Write it again.') from None
    except LsmdpError as wrong:
        raise type(wrong)(f"{path}: {wrong}") from None
