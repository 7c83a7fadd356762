"""The answer for a goal or a discount: the least cost from each state until the end, between two functions.

The policy is that of v, or of a v with a discount a. At a goal everything ends; with a discount nothing does, but what
comes later counts less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.certificates.first_exit import FirstExit
from lsmdp.ends import Discounted, Goal
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.values.common import bounds_from, end_words, finite_or_none, state_column

# A move that is dearer by this many temperatures has the chance e^-1000, which is 0 in floats.
_TEMPERATURES_BEYOND = 1000.0


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The least cost from each state until the end, between ``lower`` and ``upper``.

    lower <= optimum <= cost of ``policy`` <= upper, state by state and rounding included; ``v`` is ``upper``. Of a
    goal, ``lost`` are the states from which it cannot be reached: they have v = inf. ``status`` is a sentence.
    """

    lmdp: LMDP
    c: Floats
    end: Goal | Discounted
    lower: Floats
    upper: Floats
    certified: bool
    status: str
    solver: str
    iterations: int
    seconds: float
    story: tuple[str, ...] = ()
    lost: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    exits: FirstExit | None = None  # the equations of a goal

    @property
    def v(self) -> Floats:
        """The values that the policy belongs to: it costs at most this."""
        return self.upper

    @property
    def path_bounds(self) -> tuple[Floats, Floats] | None:
        """Of a goal, the two bounds by shortest paths (first_exit.py); None where a cost is negative."""
        return None if self.exits is None else self.exits.paths

    @cached_property
    def finite(self) -> Any:
        """The states from which the optimum is finite."""
        return np.isfinite(self.upper)

    @property
    def gap(self) -> float:
        """The largest distance of the two bounds, where v is finite."""
        return float((self.upper[self.finite] - self.lower[self.finite]).max(initial=0.0))

    @property
    def value_span(self) -> float:
        """max v - min v over the states where it is finite."""
        return float(np.ptp(self.upper[self.finite])) if self.finite.any() else 0.0

    @cached_property
    def policy(self) -> Policy:
        """The policy that costs at most v. Moves to states with v = inf have the chance 0 in floats."""
        if isinstance(self.end, Discounted):
            return Policy(self.lmdp, self.end.discount * (self.upper - self.upper.min()))
        beyond = float(self.upper[self.finite].max()) + _TEMPERATURES_BEYOND * self.lmdp.temperature
        return Policy(self.lmdp, np.where(self.finite, self.upper, beyond))

    def bounds_from(self, start: Any) -> tuple[float, float]:
        """The optimum and the cost of the policy from a state, or from a law of the start, lie between these."""
        return bounds_from(self.lmdp, self.lower, self.upper, start)

    def columns(self) -> dict[str, Any]:
        """A table of the states: their names, costs, values and bounds."""
        return {
            "state": state_column(self.lmdp),
            "cost": self.c,
            "value": self.upper,
            "lower": self.lower,
            "upper": self.upper,
        }

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON; ``dearest`` is the state that is worst to start from."""
        dearest = int(np.where(self.finite, self.upper, -np.inf).argmax())
        found: dict[str, Any] = {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "end": end_words(self.end),
            "gap": finite_or_none(self.gap),
            "value_span": finite_or_none(self.value_span),
            "dearest": self.lmdp.labels[dearest] if self.lmdp.labels is not None else dearest,
            "dearest_bounds": [finite_or_none(side[dearest]) for side in (self.lower, self.upper)],
            "mean_bounds": [finite_or_none(side) for side in self.mean_bounds],
            "lost": int(self.lost.size),
            "solver": self.solver,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "status": self.status,
        }
        if self.path_bounds is not None:
            found["dearest_by_paths"] = [float(side[dearest]) for side in self.path_bounds]
            found["mean_by_paths"] = [float(side[self.finite].mean()) for side in self.path_bounds]
        return found

    @property
    def mean_bounds(self) -> tuple[float, float]:
        """The same from a state drawn uniformly among those with a finite optimum."""
        return (
            self.bounds_from(self.finite / max(1, np.count_nonzero(self.finite))) if self.finite.any() else (0.0, 0.0)
        )

    def __str__(self) -> str:
        low, high = self.mean_bounds
        lost = f"; {self.lost.size:,} states cannot reach the goal" if self.lost.size else ""
        return (
            f"{end_words(self.end)}: mean over all starts {low:.12g} to {high:.12g}\n{self.status}\n"
            f"{self.lmdp.n:,} states, {self.lmdp.nnz:,} moves{lost}; {self.solver}, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Values({self.end!r}, gap={self.gap:.2g}, solver={self.solver!r})"
