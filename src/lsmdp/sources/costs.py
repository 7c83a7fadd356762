"""Cost vectors by name or from a file (``.npy``, ``.csv``, ``.tsv``, ``.txt``, ``.parquet``).

The names, over positions u in the unit square (or u = x / (n - 1) where the states have no positions):

    hill         c(x) = exp(-|u(x) - top|^2 / (2 * 0.2^2)), divided by its maximum; the top is off the centre,
                 so that turning or mirroring the picture shows
    uniform      c(x) = 1/2: then Q = P and lambda = 1/2 (a closed form to check against); uniform:1, or 1 alone, is
                 c(x) = 1: until a goal, the number of steps
    zero         c(x) = 0, where only moves cost
    random:SEED  c(x) independent and uniform in [0, 1]

A file holds one number per state in the order of the states, or the columns state and cost by label, or a single row
below a header that names the states, or, for a grid, a table of the map's size, walls and all. A first line that counts
0, 1, 2, ... is a header where the lines below it fit the model, and the index of a DataFrame is left out; two columns,
one of them an index, are states and costs. Values may be any finite numbers.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import (
    Floats,
    as_cost,
)
from lsmdp.costs.columns import (
    by_header,
    filled,
    names_all,
    shown,
)
from lsmdp.errors import CostError
from lsmdp.inputs.frames import INDEX_WITHOUT_A_NAME
from lsmdp.inputs.labels import in_order, number_in
from lsmdp.inputs.npy import load_npy
from lsmdp.model import LMDP
from lsmdp.sources.names import COSTS, unknown
from lsmdp.sources.reading import (
    Format,
    blaming,
    endings,
    read_file,
)
from lsmdp.sources.tables import (
    TEXTS,
    first_line,
    names_of,
    numbers_of,
    read_columns,
    read_numbers,
    read_parquet,
)

# The hill has its top here, in shares of the sides of the map: away from the middle, so that no symmetry hides a
# mistake.
_HILL_TOP = (0.35, 0.65)
_HILL_WIDTH = 0.2  # The hill has this standard deviation, in shares of the sides, and so is nearly flat at the borders.


class Numbers(NamedTuple):
    """Numbers in the order of the states, or in the shape of a grid, and the names of their columns.

    A first line of numbers may be a header or not: it is the header, and the first row of the values as well.
    """

    values: npt.NDArray[Any]
    header: Sequence[str] | None = None
    in_doubt: bool = False


CostContent = Numbers | dict[str, float]  # by label


def hill(lmdp: LMDP) -> Floats:
    """A smooth bump between 0 and 1, over the positions of the states or over their numbers."""
    points = np.arange(lmdp.n)[:, None] if lmdp.positions is None else lmdp.positions
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (points - low) / np.where(high > low, high - low, 1.0)
    height = np.exp(-((unit - _HILL_TOP[: unit.shape[1]]) ** 2).sum(axis=1) / (2.0 * _HILL_WIDTH**2))
    return as_cost(height / height.max(), lmdp.n)


def uniform(lmdp: LMDP, cost: float = 0.5) -> Floats:
    """The same cost everywhere."""
    return as_cost(np.full(lmdp.n, cost), lmdp.n)


def zero(lmdp: LMDP) -> Floats:
    """No cost anywhere."""
    return as_cost(np.zeros(lmdp.n), lmdp.n)


def random(lmdp: LMDP, seed: int) -> Floats:
    """Independent costs, uniform in [0, 1]."""
    if seed < 0:
        raise CostError(f"the seed is {seed}. A seed is a whole number of at least 0, for example random:0.")
    return as_cost(np.random.default_rng(seed).random(lmdp.n), lmdp.n)


def cost_file(spec: str, lmdp: LMDP, missing: float | None = None) -> Floats:
    """The costs in a file, one per state of the model; ``missing`` for those that a file by name leaves out."""
    content: CostContent = read_file(spec, COST_FORMATS, unknown(spec, COSTS, endings(COST_FORMATS)))
    with blaming(spec):
        if isinstance(content, dict):
            return as_cost(_by_label(content, lmdp, missing), lmdp.n)
        return as_cost(_in_order(_below_header(content, lmdp, spec), lmdp, missing), lmdp.n)


def _below_header(content: Numbers, lmdp: LMDP, spec: str) -> Numbers:
    """The numbers without their header and index, and the header, if they have any."""
    values, header, in_doubt = content
    if header is None:
        return content
    if in_doubt:
        if not _is_header(content, lmdp, spec):
            return Numbers(values)
        values = values[1:]
    index = [column for column, name in enumerate(header) if INDEX_WITHOUT_A_NAME.fullmatch(name)]
    if index and len(values) > 1:
        values, header = (
            np.delete(values, index, axis=1),
            [name for name in header if not INDEX_WITHOUT_A_NAME.fullmatch(name)],
        )
    return Numbers(values, header)


def _is_header(content: Numbers, lmdp: LMDP, spec: str) -> bool:
    """Whether a first line of numbers is a header: it names the states above a single row, or counts the columns of
    what fits the model without it and not with it."""
    values, header = content.values, content.header or ()
    if len(values) == 2 and names_all(header, lmdp):
        return True
    counts = [number_in(name) for name in header] == list(range(len(header)))
    if not counts or len(values) < 2 or not _fits(values[1:], lmdp):
        return False
    if not _fits(values, lmdp):
        return True
    warnings.warn(
        f'{spec}: the first line, "{shown(header)}", is taken for costs, though it could be a header above them. If it '
        "is one, put names into it",
        stacklevel=2,
    )
    return False


def _fits(values: npt.NDArray[Any], lmdp: LMDP) -> bool:
    return lmdp.names.is_map(values.shape) or (1 in values.shape and values.size in (lmdp.n, lmdp.origin_n))


def _in_order(content: Numbers, lmdp: LMDP, missing: float | None) -> Any:
    values, header, _ = content
    if header is not None and len(values) == 1 and (values.shape != lmdp.grid_shape or names_all(header, lmdp)):
        columns = by_header(header, lmdp, missing)
        return values[0, columns] if isinstance(columns, slice) else filled(values[0], columns, missing)
    if values.ndim == 2 and 1 not in values.shape:
        values = in_order(values, lmdp.names, "the table of costs")
    flat = values.ravel() if values.ndim == 2 and 1 in values.shape else values
    return flat[lmdp.origin] if flat.shape == (lmdp.origin_n,) else flat


def _by_label(costs: Mapping[str, float], lmdp: LMDP, missing: float | None) -> Floats:
    of, strange = lmdp.names.places(list(costs), "the file")
    lacking = np.flatnonzero(of < 0)
    if lacking.size and (missing is None or lacking.size == lmdp.n):
        raise CostError(
            f"{lmdp.name_of(int(lacking[0]))} has no cost (of {lacking.size} without one). Give one line per state, or "
            "say what the others cost with --missing COST (missing=COST)."
        )
    if strange.size and lmdp.origin is None:
        name = list(costs)[int(strange[0])]
        raise CostError(f'there is a cost for "{name}", which is not a state of the model. Check the names.')
    return filled(np.array(list(costs.values())), of, missing)


def _labelled(table: Any, header: Sequence[str]) -> dict[str, float]:
    table = table.rename_columns(list(header))
    states = names_of(table, "state").astype(str).tolist()
    twice, count = Counter(states).most_common(1)[0] if states else ("", 0)
    if count > 1:
        raise CostError(f'the state "{twice}" has {count} costs. Give one line per state.')
    return dict(zip(states, numbers_of(table, "cost").tolist(), strict=True))


def _columns(header: Sequence[str]) -> list[str]:
    """The names of the columns in small letters; of two, one of them the index of a Series: state and cost."""
    names = [name.lower() for name in header]
    index = [INDEX_WITHOUT_A_NAME.fullmatch(name) is not None for name in names]
    return [("cost", "state")[is_index] for is_index in index] if len(names) == 2 and sum(index) == 1 else names


def _read_csv(path: Path) -> CostContent:
    header = first_line(path)
    names = _columns(header)
    if {"state", "cost"} <= set(names):
        table = read_columns(path, names, text=("state",), numbers=("cost",))
        return _labelled(table, table.column_names)
    values, words = read_numbers(path)
    return Numbers(values, header, in_doubt=words is None)


def _read_parquet(path: Path) -> CostContent:
    table = read_parquet(path)
    names = _columns(table.column_names)
    if {"state", "cost"} <= set(names):
        return _labelled(table, names)
    return Numbers(np.column_stack([numbers_of(table, name) for name in table.column_names]), table.column_names)


def _read_npy(path: Path) -> CostContent:
    return Numbers(load_npy(path))


# One cost is read from files with these endings.
COST_FORMATS: Mapping[str, Format] = {
    ".npy": Format(_read_npy, "Write it with numpy.save, as an array of numbers."),
    **dict.fromkeys(TEXTS, Format(_read_csv, "Write it as text in UTF-8, with one number per line.")),
    ".parquet": Format(_read_parquet, "Write it with pyarrow.parquet.write_table."),
}
