"""Follow the leader (alg:ftl): play the optimum for the mean of the costs so far.

    c_bar_t = (c_1 + ... + c_{t-1}) / (t - 1 + kappa),    c_bar_1 = 0,

with kappa = 0 in the paper; kappa > 0 counts that many rounds of zero cost before the first, which is cautious early.

Each round is solved only to a certified gap gap_t <= min(tolerance, 0.1/t), from the last round's v on. This
schedule is part of the algorithm: an approximate leader with gap_t = O(1/t) still has regret O(log T) (an error e_t in
v_t adds at most (L/2 + 1) span(e_t) with span(e_t) <= L gap_t, new:approximate), and a fixed tolerance would not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp._core.means import mean_costs
from lsmdp.arrays import Floats, real
from lsmdp.errors import SpecError, told
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.leader import (
    CostsToSolve,
    LeaderBase,
    gap_wanted_after,
)
from lsmdp.model import LMDP
from lsmdp.solvers.warm.lead import Lead


class FTLState(NamedTuple):
    """After t rounds: the sum of the costs, and the leader for their mean."""

    t: int
    c_sum: Floats
    lead: Lead

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        return {"t": past.number, "c_sum": past.sums(self.c_sum.size)}


@dataclass(frozen=True)
class FollowTheLeader(LeaderBase):
    """alg:ftl with certified, warm-started solves."""

    kappa: float = 0.0
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not 0.0 <= real(self.kappa) < float("inf") or not real(self.tolerance) > 0.0:
            given = f"{told(self.kappa)}, {told(self.tolerance)}"
            raise SpecError(f"FollowTheLeader takes kappa >= 0 and tolerance > 0, not {given}.")

    @property
    def name(self) -> str:
        """ftl, or ftl:KAPPA."""
        return f"ftl:{self.kappa:g}" if self.kappa else "ftl"

    @property
    def follows_the_leader(self) -> bool:
        """With kappa = 0 it is alg:ftl."""
        return not self.kappa

    def init(self, lmdp: LMDP) -> FTLState:
        """Round 1 plays P: the mean of no costs is 0."""
        return FTLState(0, np.zeros(lmdp.n), Lead.passive(lmdp))

    def costs_to_solve(self, state: FTLState, costs: Floats) -> CostsToSolve:
        """Every round, the mean of all costs."""
        after = np.arange(len(costs))
        means, total = mean_costs(state.c_sum, costs, state.t, self.kappa)
        gaps = gap_wanted_after(self.tolerance, state.t + 1 + after)
        return CostsToSolve(after, means, gaps, lambda: {"t": state.t + len(costs), "c_sum": total()})
