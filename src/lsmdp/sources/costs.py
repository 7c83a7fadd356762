"""Cost vectors by name or from a file (``.npy``, ``.csv``, ``.parquet``).

The names, over positions u in the unit square (or u = x / (n - 1) where the states have no positions):

    hill         c(x) = exp(-|u(x) - top|^2 / (2 * 0.2^2)), divided by its maximum; the top is off the centre,
                 so that turning or mirroring the picture shows
    uniform      c(x) = 1/2: then Q = P and lambda = 1/2 (a closed form to check against)
    random:SEED  c(x) independent and uniform in [0, 1]

A file holds one number per state in the order of the states, or the columns state and cost by label, or, for a
grid, a table of the same shape. Values may be any finite numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import CSR, Floats, Ints, as_cost
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.sources.files import Format, blaming, endings, load_npy, read_file
from lsmdp.sources.names import COSTS, unknown
from lsmdp.sources.tables import first_line, names_of, numbers_of, read_columns, read_numbers, read_parquet

HILL_TOP = (0.35, 0.65)
HILL_WIDTH = 0.2

Content = npt.NDArray[Any] | dict[str, float]  # numbers in the order of the states, or by label


def hill(lmdp: LMDP) -> Floats:
    """A smooth bump between 0 and 1, over the positions of the states or over their numbers."""
    points = np.arange(lmdp.n)[:, None] if lmdp.positions is None else lmdp.positions
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (points - low) / np.where(high > low, high - low, 1.0)
    height = np.exp(-((unit - HILL_TOP[: unit.shape[1]]) ** 2).sum(axis=1) / (2.0 * HILL_WIDTH**2))
    return as_cost(height / height.max(), lmdp.n)


def uniform(lmdp: LMDP) -> Floats:
    """The same cost 1/2 everywhere."""
    return as_cost(np.full(lmdp.n, 0.5), lmdp.n)


def random(lmdp: LMDP, seed: int) -> Floats:
    """Independent costs, uniform in [0, 1]."""
    if seed < 0:
        raise CostError(f"the seed is {seed}. A seed is a whole number of at least 0, for example random:0.")
    return as_cost(np.random.default_rng(seed).random(lmdp.n), lmdp.n)


def cost_file(spec: str, lmdp: LMDP) -> Floats:
    """The costs in a file, one per state of the model."""
    content: Content = read_file(spec, COST_FORMATS, unknown(spec, COSTS, endings(COST_FORMATS)))
    with blaming(spec):
        if isinstance(content, dict):
            return as_cost(_by_label(content, lmdp), lmdp.n)
        return as_cost(_in_order(content, lmdp), lmdp.n)


def edge_cost_file(spec: str, lmdp: LMDP) -> CSR:
    """The costs of moves in a table with the columns from, to and cost, as a matrix; moves without a line cost 0."""
    table = read_file(spec, EDGE_FORMATS, SpecError(f'"{spec}" is no file. Edge costs end in {endings(EDGE_FORMATS)}.'))
    with blaming(spec):
        x, y = (_numbers(names_of(table, name), lmdp) for name in ("from", "to"))
        costs = numbers_of(table, "cost")
        kept = (x >= 0) & (y >= 0)
        if kept.size and (x < 0).all() and (y < 0).all():
            raise CostError("no line names a state of the model, so none has a cost to give. Check the names.")
        x, y, costs = x[kept], y[kept], costs[kept]
        _require_moves(x, y, lmdp)
        return sparse.csr_array((costs, (x, y)), shape=(lmdp.n, lmdp.n))


def _numbers(names: npt.NDArray[Any], lmdp: LMDP) -> Ints:
    """The states that are named; -1 for those that were dropped from the model."""
    labels = [str(state) for state in range(lmdp.n)] if lmdp.labels is None else lmdp.labels
    number = {label: state for state, label in enumerate(labels)}
    states = np.array([number.get(str(name), -1) for name in names.tolist()], dtype=np.int64)
    if lmdp.origin is None and (states < 0).any():
        row = int(np.argmin(states))
        raise CostError(
            f'row {row} below the header names "{names[row]}", which is not a state of the model. Check it.'
        )
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


def _in_order(values: npt.NDArray[Any], lmdp: LMDP) -> Any:
    if values.ndim == 2 and values.shape == lmdp.grid_shape:
        return values[tuple(lmdp.positions.astype(int).T)]
    flat = values.ravel() if values.ndim == 2 and 1 in values.shape else values
    return flat[lmdp.origin] if flat.shape == (lmdp.origin_n,) else flat


def _by_label(costs: Mapping[str, float], lmdp: LMDP) -> list[float]:
    labels = [str(state) for state in range(lmdp.n)] if lmdp.labels is None else lmdp.labels
    missing = [label for label in labels if label not in costs]
    if missing:
        raise CostError(f'state "{missing[0]}" has no cost (of {len(missing)} without one). Give one line per state.')
    strange = [label for label in costs if label not in set(labels)] if lmdp.origin is None else []
    if strange:
        raise CostError(f'there is a cost for "{strange[0]}", which is not a state of the model. Check the names.')
    return [costs[label] for label in labels]


def _labelled(table: Any) -> dict[str, float]:
    table = table.rename_columns([name.lower() for name in table.column_names])
    states = names_of(table, "state").astype(str).tolist()
    twice, count = Counter(states).most_common(1)[0] if states else ("", 0)
    if count > 1:
        raise CostError(f'the state "{twice}" has {count} costs. Give one line per state.')
    return dict(zip(states, numbers_of(table, "cost").tolist(), strict=True))


def _is_labelled(header: Sequence[str]) -> bool:
    return {"state", "cost"} <= {name.lower() for name in header}


def _read_csv(path: Path) -> Content:
    header = first_line(path)
    if _is_labelled(header):
        return _labelled(read_columns(path, header, text=("state",), numbers=("cost",)))
    return read_numbers(path)[0]


def _read_parquet(path: Path) -> Content:
    table = read_parquet(path)
    if _is_labelled(table.column_names):
        return _labelled(table)
    return np.column_stack([numbers_of(table, name) for name in table.column_names])


def _edge_csv(path: Path) -> Any:
    header = [name.lower() for name in first_line(path)]
    return _edge_table(read_columns(path, header, text=("from", "to"), numbers=("cost",)))


def _edge_parquet(path: Path) -> Any:
    table = read_parquet(path)
    return _edge_table(table.rename_columns([name.lower() for name in table.column_names]))


def _edge_table(table: Any) -> Any:
    if missing := [name for name in ("from", "to", "cost") if name not in table.column_names]:
        raise CostError(f'there is no column "{missing[0]}". Edge costs have the columns from, to and cost.')
    return table


EDGE_FORMATS: Mapping[str, Format] = {
    ".csv": Format(_edge_csv, "Write it as text in UTF-8: from,to,cost."),
    ".parquet": Format(_edge_parquet, "Write it with pyarrow.parquet.write_table."),
}
COST_FORMATS: Mapping[str, Format] = {
    ".npy": Format(load_npy, "Write it with numpy.save, as an array of numbers."),
    ".csv": Format(_read_csv, "Write it as text in UTF-8, with one number per line."),
    ".parquet": Format(_read_parquet, "Write it with pyarrow.parquet.write_table."),
}
