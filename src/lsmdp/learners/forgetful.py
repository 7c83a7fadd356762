"""Leaders that forget: for worlds that change.

``DiscountedLeader(eta)`` follows the discounted mean c~_{t+1} = beta c~_t + (1 - beta) c_t with beta = 1/(1 + eta). It
is mirror descent: argmin over pi of eta f(pi; c_t) + sum_x mu(x) KL(Q(.|x) || Q_t(.|x)) is the optimum for exactly this
cost (follow the leader itself is eta_t = 1/(t-1)). ``WindowLeader(width)`` follows the mean of the last costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.learners.base import LeaderBase, lead, passive_lead
from lsmdp.model import LMDP


class DiscountedState(NamedTuple):
    """The discounted mean of the costs, and its leader."""

    c_mean: Floats
    v: Floats
    lo: float
    hi: float
    steps: int
    anchor: Floats
    fresh: int
    excess: float


class WindowState(NamedTuple):
    """After t rounds: the last costs in a ring, and the leader for their mean."""

    t: int
    ring: Floats
    v: Floats
    lo: float
    hi: float
    steps: int
    anchor: Floats
    fresh: int
    excess: float


@dataclass(frozen=True)
class DiscountedLeader(LeaderBase):
    """Follow the discounted mean: mirror descent with step size eta."""

    eta: float = 0.05
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not self.eta > 0.0:
            raise SpecError(f"DiscountedLeader takes a step size eta > 0, not {self.eta}. A usual value is 0.05.")

    @property
    def name(self) -> str:
        """discounted, or discounted:ETA."""
        return "discounted" if self.eta == DiscountedLeader.eta else f"discounted:{self.eta:g}"

    def init(self, lmdp: LMDP) -> DiscountedState:
        """Round 1 plays P."""
        return DiscountedState(np.zeros(lmdp.n), *passive_lead(lmdp))

    def observe(self, lmdp: LMDP, state: DiscountedState, c_t: Floats) -> DiscountedState:
        """Mix the cost into the mean and solve."""
        beta = 1.0 / (1.0 + self.eta)
        c_mean = beta * state.c_mean + (1.0 - beta) * c_t
        return DiscountedState(c_mean, *lead(lmdp, c_mean, state, self.tolerance))


@dataclass(frozen=True)
class WindowLeader(LeaderBase):
    """Follow the mean of the last ``width`` costs."""

    width: int = 100
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.width < 1:
            raise SpecError(f"WindowLeader takes a width of at least 1 round, not {self.width}.")

    @property
    def name(self) -> str:
        """window, or window:WIDTH."""
        return "window" if self.width == WindowLeader.width else f"window:{self.width}"

    def init(self, lmdp: LMDP) -> WindowState:
        """Round 1 plays P."""
        return WindowState(0, np.zeros((self.width, lmdp.n)), *passive_lead(lmdp))

    def observe(self, lmdp: LMDP, state: WindowState, c_t: Floats) -> WindowState:
        """Replace the oldest cost and solve for the mean of the window."""
        ring = state.ring.copy()
        ring[state.t % self.width] = c_t
        t = state.t + 1
        mean = ring.sum(axis=0) / min(t, self.width)
        return WindowState(t, ring, *lead(lmdp, mean, state, self.tolerance))
