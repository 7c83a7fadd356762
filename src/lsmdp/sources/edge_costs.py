"""Costs of moves from files, and from the columns of the very file that the model was read from.

    tolls.csv             the columns from, to and cost, or what people call these (headers.py)
    tntp:free_flow_time   a column of the road network that is the kernel
    graphml:length        an attribute of the edges of the graph that is the kernel; gml: as well
    csv:minutes           a column of the edge list that is the kernel; tsv:, txt: and parquet: as well
    map:length            on a map: 1 for a straight step and for staying, the square root of 2 for a diagonal one

Where a file lists an edge more than once, its kernel has one move for them; that costs as much as the cheapest. Where a
file lists only one direction, the way back costs the same if the model has it (--undirected). In a file of tolls, two
costs for one move are an error, and a direction without a line is free.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import CSR, Floats, Ints
from lsmdp.errors import CostError, SpecError
from lsmdp.inputs.notes import guessed
from lsmdp.model import LMDP
from lsmdp.sources.edge_lists import edges_as_listed, table_of
from lsmdp.sources.graphs import edge_values
from lsmdp.sources.headers import ends_of, said
from lsmdp.sources.names import COLUMN_OF_THE_MODEL
from lsmdp.sources.networks import link_values
from lsmdp.sources.reading import (
    Format,
    blaming,
    endings,
    read_file,
)
from lsmdp.sources.tables import TEXTS, names_of, numbers_of

# A column with one of these names holds the costs of moves; the first of them that is there is taken.
_COST_WORDS = ("cost", "toll", "price", "length", "distance", "time", "duration", "free_flow_time", "weight")

ListedCosts = tuple[Sequence[str], Sequence[str], Floats]  # where each edge begins, where it ends, what it costs


def read(spec: str, lmdp: LMDP) -> CSR:
    """The costs of moves as a matrix; a move without one costs 0."""
    if own := COLUMN_OF_THE_MODEL.fullmatch(spec):
        return _own(spec, own[1].lower(), own[2], lmdp)
    formats = {ending: Format(_read, _EDGE_COSTS_ADVICE) for ending in (*TEXTS, ".parquet")}
    nothing = SpecError(
        f'"{spec}" is no file. Edge costs end in {endings(formats)}, or name a column of the kernel: '
        "tntp:free_flow_time."
    )
    table = read_file(spec, formats, nothing)
    with blaming(spec):
        x, y = _states([names_of(table, name) for name in ("from", "to")], lmdp)
        costs = numbers_of(table, "cost")
        kept = (x >= 0) & (y >= 0)
        if kept.size and (x < 0).all() and (y < 0).all():
            raise CostError("no line names a state of the model, so none has a cost to give. Check the names.")
        x, y, costs = x[kept], y[kept], costs[kept]
        _require_moves(x, y, lmdp)
        return sparse.csr_array((costs, (x, y)), shape=(lmdp.n, lmdp.n))


_EDGE_COSTS_ADVICE = "Write it as a table with the columns from, to and cost."


def _own(spec: str, ending: str, column: str, lmdp: LMDP) -> CSR:
    """A column of the file that the model came from."""
    path = Path(re.sub(r"(\.tntp|\.map):[0-9]+$", r"\1", lmdp.name, flags=re.IGNORECASE))
    if path.suffix.lower() != f".{ending}":
        raise SpecError(
            f'"{spec}" is a column of a .{ending} file that the model was read from, but this model is '
            f'"{lmdp.name or "made in Python"}". Give a file with the columns from, to and cost.'
        )
    if ending == "map":
        return _lengths(spec, column, lmdp)
    reader = {"tntp": link_values, "graphml": edge_values, "gml": edge_values}.get(ending, edges_as_listed)
    reading = Format(lambda there: reader(there, column), "Check the file.")
    listed: ListedCosts = read_file(str(path), {f".{ending}": reading}, SpecError(f'"{path}" is no file any more.'))
    with blaming(str(path)):
        x, y = (lmdp.names.states(list(ends)) for ends in listed[:2])
        kept = (x >= 0) & (y >= 0)
        x, y, costs = x[kept], y[kept], np.asarray(listed[2], dtype=np.float64)[kept]
        listed_pairs = x * lmdp.n + y
        new = ~np.isin(y * lmdp.n + x, listed_pairs)
        x, y, costs = np.append(x, y[new]), np.append(y, x[new]), np.append(costs, costs[new])
        return _cheapest(x, y, costs, lmdp.n)


def _lengths(spec: str, column: str, lmdp: LMDP) -> CSR:
    """How far apart the cells of each move are; staying takes as long as a straight step."""
    if column.lower() != "length":
        raise SpecError(f'"{spec}": moves on a map have no column but their length. Say map:length.')
    places = np.asarray(lmdp.names.cells, dtype=np.float64)
    x, y = lmdp.entry_rows, lmdp.P.indices
    lengths = np.maximum(1.0, np.linalg.norm(places[x] - places[y], axis=1))
    return sparse.csr_array((lengths, (x, y)), shape=(lmdp.n, lmdp.n))


def _cheapest(x: Ints, y: Ints, costs: Floats, n: int) -> CSR:
    """A matrix with the least of the costs that are given for each move."""
    order = np.lexsort((costs, y, x))
    x, y, costs = x[order], y[order], costs[order]
    first = np.append(True, (x[1:] != x[:-1]) | (y[1:] != y[:-1]))[: x.size]
    return sparse.csr_array((costs[first], (x[first], y[first])), shape=(n, n))


def _read(path: Path) -> Any:
    """A pyarrow table with the columns from, to and cost."""
    names, table = table_of(path)
    lowered = [name.strip().lower() for name in names]
    roles: dict[str, int] = {}
    if {"from", "to"} <= set(lowered):
        roles = {name: lowered.index(name) for name in ("from", "to")}
    elif (ends := ends_of(names)) is not None:
        roles = dict(zip(("from", "to"), ends, strict=True))
    words = [word for word in _COST_WORDS if word in lowered and lowered.index(word) not in roles.values()]
    if words:
        roles["cost"] = lowered.index(words[0])
    if missing := [name for name in ("from", "to", "cost") if name not in roles]:
        raise CostError(f'there is no column "{missing[0]}". Edge costs have the columns from, to and cost.')
    if twice := [name for name, place in roles.items() if lowered.count(lowered[place]) > 1]:
        raise SpecError(f'there are {lowered.count(lowered[roles[twice[0]]])} columns "{twice[0]}". Keep one of them.')
    if any(lowered[place] != role for role, place in roles.items()):
        guessed(path, said(roles, names))
    return table(roles)


def _states(ends: Sequence[npt.NDArray[Any]], lmdp: LMDP) -> Ints:
    """The states that are named at both ends of the moves; negative for those that were dropped from the model."""
    names = np.concatenate([end.astype(object) for end in ends]).tolist()
    states = lmdp.names.states(names).reshape(2, -1)
    if lmdp.origin is None and (states < 0).any():
        row = int(np.argmin(states.min(axis=0)))
        name = next(end[row] for end, state in zip(ends, states[:, row], strict=True) if state < 0)
        raise CostError(f'row {row} below the header names "{name}", which is not a state of the model. Check it.')
    return states


def _require_moves(x: Ints, y: Ints, lmdp: LMDP) -> None:
    pairs, times = np.unique(x * lmdp.n + y, return_counts=True)
    if pairs.size and times.max() > 1:
        here, there = divmod(int(pairs[np.argmax(times)]), lmdp.n)
        raise CostError(
            f"the move from {lmdp.name_of(here)} to {lmdp.name_of(there)} has {times.max()} costs. Keep one."
        )
    possible = np.isin(pairs, lmdp.entry_rows * lmdp.n + lmdp.P.indices)
    if not possible.all():
        here, there = divmod(int(pairs[np.argmin(possible)]), lmdp.n)
        raise CostError(
            f"there is a cost for moving from {lmdp.name_of(here)} to {lmdp.name_of(there)}, which P never does. Check "
            "the names and the direction, or drop the line."
        )
