"""Costs of moves in a game: everything in a unit in which what a round costs lies in [0, 1] again.

Fixed costs of moves are absorbed into P' and an extra cost of states e(x) (``LMDP.with_edge_costs``). A round then
costs c_t(x) + e(x), which may leave [0, 1], and the guarantees are about that range. So the least extra cost is taken
off, which is the same for every policy, and everything is divided by

    s = 1 + max e - min e,

the temperature too: then the problem is the same in another unit. With c_t in [0, 1], so is (c_t + e - min e) / s. A
loss L of T rounds in this unit is s L + T min e in the user's, and a regret R is s R.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from lsmdp.arrays import EPS, Floats, read_only
from lsmdp.model import LMDP


class Moves(NamedTuple):
    """What moves add to the cost of each state, less the least of it; the unit, and the least."""

    extra: Floats
    unit: float
    least: float

    def added(self, costs: Floats) -> Floats:
        """Costs of states in [0, 1], a round or several, with those of moves, in the unit."""
        return (costs + self.extra) / self.unit

    def back(self, bounds: tuple[float, float]) -> tuple[float, float]:
        """Average costs in the unit, in that of the user."""
        low, high = (self.unit * bound + self.least for bound in bounds)
        off = 2.0 * EPS * (self.unit * max(map(abs, bounds)) + abs(self.least))  # what a product and a sum may lose
        return low - off, high + off


def in_unit(lmdp: LMDP, edge_costs: Any) -> tuple[LMDP, Moves]:
    """The model of a game with costs of moves (n x n, as for ``with_edge_costs``), and what to add to its costs."""
    tilted, extra = lmdp.with_edge_costs(edge_costs)
    least = float(extra.min())
    unit = 1.0 + float(extra.max()) - least
    model = replace(tilted, temperature=tilted.temperature / unit, rounding=tilted.rounding / unit)
    return model, Moves(read_only(extra - least), unit, least)
