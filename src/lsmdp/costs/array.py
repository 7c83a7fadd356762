"""Costs from an array in memory, or in a file that is mapped and not loaded: a row a round, a column a state.

``as_costs`` makes a :class:`~lsmdp.costs.sequence.Costs` from whatever can be made an array: a table, or a list of
rounds, with the costs in the order of the states or by name (given.py). On a grid a round may be a map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats
from lsmdp.costs.columns import by_position
from lsmdp.costs.given import CostsByName, in_rounds
from lsmdp.costs.sequence import Costs, Hash, as_scale, block_rows, update_with_file
from lsmdp.errors import CostError
from lsmdp.model import LMDP


@dataclass(frozen=True, eq=False)
class ArrayCosts:
    """Costs in an array, a row a round: in memory, or mapped from a file (then ``path`` names it)."""

    values: npt.NDArray[Any]
    lmdp: LMDP
    path: Path | None = None
    replayable: bool = True

    def __post_init__(self) -> None:
        if self._has_maps and self.values.dtype.kind in "buif":
            return
        if self.values.ndim != 2 or self.values.dtype.kind not in "buif":
            shape = " x ".join(map(str, self.values.shape))
            raise CostError(
                f"the costs are an array of shape {shape or '()'} and type {self.values.dtype}. Give a table of "
                f"numbers with a row per round and a column per state (T x {self.lmdp.n}){self._or_maps()}."
            )
        by_position(self.values.shape[1], self.lmdp)

    def _or_maps(self) -> str:
        shape = self.lmdp.map_shape or self.lmdp.grid_shape
        return "" if shape is None else f", or a map per round (T x {shape[0]} x {shape[1]})"

    @property
    def _has_maps(self) -> bool:
        """Whether a round is a map: rounds x rows x columns."""
        return self.values.ndim == 3 and self.lmdp.names.is_map(self.values.shape[1:])

    @property
    def T(self) -> int:
        """The number of rows."""
        return int(self.values.shape[0])

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rows from ``start`` on, as copies."""
        if self._has_maps:
            size = block_rows(self.values[0].size)
            for first in range(start - 1, self.T, size):
                block = np.array(self.values[first : first + size], dtype=np.float64)
                yield np.ascontiguousarray(in_rounds(block, self.lmdp.names))
            return
        columns = by_position(self.values.shape[1], self.lmdp)
        size = block_rows(self.values.shape[1])
        for first in range(start - 1, self.T, size):
            yield np.array(self.values[first : first + size, columns], dtype=np.float64, order="C")

    def update(self, digest: Hash) -> None:
        """The bytes of the file or of the numbers, and which columns are kept."""
        if self.path is None:
            digest.update(repr(self.values.shape).encode())
            for block in self.blocks(1):
                digest.update(block.tobytes())
        else:
            update_with_file(digest, self.path, self.lmdp)


def as_costs(costs: Any, lmdp: LMDP, *, scale: tuple[float, float] | None = None) -> Costs:
    """Costs from an array of T x n numbers (or as many columns as before states were dropped); a Costs as it is.

    A DataFrame has a row a round, and its columns are named after the states; a list may hold rounds by name.
    """
    if isinstance(costs, Costs):
        if costs.n != lmdp.n:
            raise CostError(f"{costs.name} has costs for {costs.n} states, but the model has {lmdp.n}.")
        return costs
    given = in_rounds(costs, lmdp.names)
    try:
        values = np.asarray(list(given) if isinstance(given, CostsByName) else given)
    except ValueError:
        raise CostError("the rounds differ in length. Give one cost per state in each.") from None
    table = ArrayCosts(values, lmdp)
    return Costs(table, lmdp.n, table.T, "array", 0, *as_scale(scale), lmdp.labels)
