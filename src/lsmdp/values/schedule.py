"""The answer for a horizon: values and a policy for each of a given number of rounds.

Before round t the values are V_t = c_t - T log P e^{-V_{t+1}/T}, from the terminal cost backwards, and the policy of
round t is that of V_{t+1}. Only rounding keeps the two bounds apart (certificates/).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsmdp.arrays import EPS, Floats
from lsmdp.certificates.backward import step_back
from lsmdp.certificates.pairs import Pair, outward
from lsmdp.ends import CostTable, Horizon
from lsmdp.errors import SpecError
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.values.common import bounds_from, end_words, state_column


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """The best plan for a given number of rounds: a policy for each of them, and bounds on what it costs.

    ``lower`` and ``upper`` are those of the first round: lower <= optimum <= cost of the plan <= upper from each state.
    Kept are the values at the end of every block of about sqrt(rounds) rounds; those within a block are worked out
    again when they are asked for, bit for bit.
    """

    lmdp: LMDP
    costs: CostTable
    end: Horizon
    every: int  # rounds of a block
    kept: Floats  # the values after each block, less what is in ``least``; the last row is the terminal cost
    least: Floats  # what was taken out of the values of each round
    errors: Floats  # what rounding may have done in each round
    tol: float
    seconds: float
    story: tuple[str, ...] = ()
    held: dict[int, Floats] = field(default_factory=dict)  # the values of the block that was asked for last

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return self.costs.count

    def at(self, t: int) -> Pair:
        """The bounds from round t to the end, for each state; t = rounds + 1 gives the terminal cost."""
        _require_round(t, self.rounds + 1)
        taken, off = math.fsum(self.least[t - 1 :]), math.fsum(self.errors[t - 1 :])
        v = self._values(t - 1) + taken
        off += EPS * (2.0 * float(np.abs(v).max()) + float(np.abs(taken))) + EPS * off
        return Pair(*outward(v - off, v + off)) if t <= self.rounds else Pair(v, v)

    @cached_property
    def _first(self) -> Pair:
        return self.at(1)

    @property
    def lower(self) -> Floats:
        """From below, at the first round."""
        return self._first.lower

    @property
    def upper(self) -> Floats:
        """From above, at the first round."""
        return self._first.upper

    @property
    def v(self) -> Floats:
        """The plan costs at most this."""
        return self.upper

    @property
    def gap(self) -> float:
        """The largest distance of the two bounds."""
        return float((self.upper - self.lower).max())

    @property
    def certified(self) -> bool:
        """Whether the bounds are as close as was asked for."""
        return self.gap <= self.tol * max(self.lmdp.temperature, float(np.abs(self.upper).max()))

    @property
    def status(self) -> str:
        """A sentence about the bounds."""
        word = "certified" if self.certified else "not certified"
        return (
            f"{word}: from each state, the optimum and the cost of the plan lie within {self.gap:.2g} of each other; "
            "only rounding keeps them apart"
        )

    def policy(self, t: int) -> Policy:
        """What to do in round t; rounds count from 1."""
        _require_round(t, self.rounds)
        return Policy(self.lmdp, self._values(t))

    def bounds_from(self, start: Any) -> tuple[float, float]:
        """The optimum and the cost of the plan from a state, or from a law of the start, lie between these."""
        return bounds_from(self.lmdp, self.lower, self.upper, start)

    def columns(self) -> dict[str, Any]:
        """A table of the states: their names, and values and bounds from the first round on."""
        return {"state": state_column(self.lmdp), "value": self.upper, "lower": self.lower, "upper": self.upper}

    def arrays(self) -> dict[str, Floats]:
        """The values of the first round, with their bounds, by name."""
        return {"v": self.v, "lower": self.lower, "upper": self.upper}

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        dearest = int(self.upper.argmax())
        return {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "end": end_words(self.end),
            "rounds": self.rounds,
            "gap": self.gap,
            "dearest": self.lmdp.labels[dearest] if self.lmdp.labels is not None else dearest,
            "dearest_bounds": list(self.bounds_from(dearest)),
            "mean_bounds": list(self.bounds_from(np.full(self.lmdp.n, 1.0 / self.lmdp.n))),
            "seconds": self.seconds,
            "status": self.status,
        }

    def _values(self, t: int) -> Floats:
        """The values after t rounds less what was taken out: those of round t + 1."""
        block = min(t // self.every, len(self.kept) - 2)
        if t in (0, self.rounds) or t % self.every == 0:
            return np.asarray(self.kept[-1 if t == self.rounds else t // self.every])
        if block not in self.held:
            self.held.clear()
            self.held[block] = self._again(block)
        return np.asarray(self.held[block][t - block * self.every])

    def _again(self, block: int) -> Floats:
        first, last = block * self.every, min((block + 1) * self.every, self.rounds)
        values, everywhere = np.empty((last - first + 1, self.lmdp.n)), np.ones(self.lmdp.n, dtype=bool)
        values[-1] = self.kept[block + 1]
        costs = self.costs.block(first, last)
        for k in range(last - first - 1, -1, -1):
            values[k] = step_back(self.lmdp, costs[k], values[k + 1], everywhere).values
        return values

    def __str__(self) -> str:
        low, high = self.bounds_from(np.full(self.lmdp.n, 1.0 / self.lmdp.n))
        return (
            f"{self.rounds:,} rounds: mean over all starts {low:.12g} to {high:.12g}\n{self.status}\n"
            f"{self.lmdp.n:,} states, {self.lmdp.nnz:,} moves; {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Schedule(rounds={self.rounds}, gap={self.gap:.2g})"


def _require_round(t: Any, last: int) -> None:
    if not isinstance(t, int | np.integer) or not 1 <= t <= last:
        raise SpecError(f"there is no round {t}. Rounds count from 1 to {last}.")
