"""Leaders that forget, for costs whose mean changes with time.

``DiscountedLeader(eta)`` follows the discounted mean c~_{t+1} = beta c~_t + (1 - beta) c_t with beta = 1/(1 + eta). It
is mirror descent: argmin over pi of eta f(pi; c_t) + sum_x mu(x) KL(Q(.|x) || Q_t(.|x)) is the optimum for exactly this
cost (follow the leader itself is eta_t = 1/(t-1)). ``WindowLeader(width)`` follows the mean of the last costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.means import (
    discounted_means,
    window_means,
)
from lsmdp.arrays import Floats, as_whole, real
from lsmdp.errors import SpecError, told
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.base import require_memory
from lsmdp.learners.leader import CostsToSolve, LeaderBase, require_tolerance
from lsmdp.model import LMDP
from lsmdp.solvers.warm.lead import Lead


class DiscountedState(NamedTuple):
    """The discounted mean of the costs, and its leader."""

    c_mean: Floats
    lead: Lead

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        return {"c_mean": past.costs(self.c_mean.size)}


class WindowState(NamedTuple):
    """After t rounds: the last costs in a ring, and the leader for their mean."""

    t: int
    ring: Floats
    lead: Lead

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        return {"t": past.number, "ring": past.costs(*self.ring.shape)}


@dataclass(frozen=True)
class DiscountedLeader(LeaderBase):
    """Follow the discounted mean: mirror descent with step size eta."""

    eta: float = 0.05
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not real(self.eta) > 0.0:
            raise SpecError(f"DiscountedLeader takes a step size eta > 0, not {told(self.eta)}. A usual value is 0.05.")
        require_tolerance("DiscountedLeader", self.tolerance)

    @property
    def name(self) -> str:
        """discounted, or discounted:ETA."""
        return "discounted" if self.eta == DiscountedLeader.eta else f"discounted:{self.eta:g}"

    def init(self, lmdp: LMDP) -> DiscountedState:
        """Round 1 plays P."""
        return DiscountedState(np.zeros(lmdp.n), Lead.passive(lmdp))

    def costs_to_solve(self, state: DiscountedState, costs: Floats) -> CostsToSolve:
        """Every round, the discounted mean."""
        means = discounted_means(state.c_mean, costs, 1.0 / (1.0 + self.eta))
        return every_round(means, self.tolerance, lambda: {"c_mean": means[-1].copy()})


@dataclass(frozen=True)
class WindowLeader(LeaderBase):
    """Follow the mean of the last ``width`` costs."""

    width: int = 100
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if as_whole(self.width, "the width of WindowLeader") < 1:
            raise SpecError(f"WindowLeader takes a width of at least 1 round, not {self.width}.")
        require_tolerance("WindowLeader", self.tolerance)

    @property
    def name(self) -> str:
        """window, or window:WIDTH."""
        return "window" if self.width == WindowLeader.width else f"window:{self.width}"

    def init(self, lmdp: LMDP) -> WindowState:
        """Round 1 plays P."""
        require_memory(self.name, self.width, lmdp.n)
        return WindowState(0, np.zeros((self.width, lmdp.n)), Lead.passive(lmdp))

    def costs_to_solve(self, state: WindowState, costs: Floats) -> CostsToSolve:
        """Every round, the mean of the window."""
        ring = state.ring.copy()
        means = window_means(ring, costs, state.t)
        return every_round(means, self.tolerance, lambda: {"t": state.t + len(costs), "ring": ring})


def every_round(means: Floats, tolerance: float, memory: Callable[[], dict[str, Any]]) -> CostsToSolve:
    """A solve after each round, always to the same gap."""
    return CostsToSolve(np.arange(len(means)), means, np.full(len(means), tolerance), memory)
