"""Phases (Guan, Raginsky and Willett, 2012): the earlier algorithm, with regret T^{3/4 + epsilon}.

Phase m lasts ceil(m^{1/3 - epsilon}) rounds. Phase 1 plays P; phase m > 1 plays the optimum for the mean of all costs
of the phases before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, pow
from typing import NamedTuple

import numpy as np

from lsmdp._core.means import mean_costs
from lsmdp.arrays import Floats, real
from lsmdp.errors import SpecError, told
from lsmdp.inputs.forms import BEYOND_COUNTS, Form, Past
from lsmdp.learners.leader import (
    CostsToSolve,
    LeaderBase,
    gap_wanted_after,
    require_tolerance,
)
from lsmdp.model import LMDP
from lsmdp.solvers.warm.lead import Lead


class PhasedState(NamedTuple):
    """After t rounds: the sum of the costs, the phase and its rounds still to play, and its leader."""

    t: int
    phase: int
    left: int
    c_sum: Floats
    lead: Lead

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py); a phase is at least a round long."""
        t, longest = past.number, BEYOND_COUNTS ** (1 / 3)
        phase = Form(dtype=np.int64, low=1, high=t.high + 1)
        left = Form(dtype=np.int64, low=1, high=longest)
        return {"t": t, "phase": phase, "left": left, "c_sum": past.sums(self.c_sum.size)}


@dataclass(frozen=True)
class PhasedLeader(LeaderBase):
    """Follow the leader of the finished phases; 0 < epsilon < 1/3."""

    epsilon: float = 0.05
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not 0.0 < real(self.epsilon) < 1 / 3:
            raise SpecError(f"PhasedLeader takes 0 < epsilon < 1/3, not {told(self.epsilon)}. A usual value is 0.05.")
        require_tolerance("PhasedLeader", self.tolerance)

    @property
    def name(self) -> str:
        """phased, or phased:EPSILON."""
        return "phased" if self.epsilon == PhasedLeader.epsilon else f"phased:{self.epsilon:g}"

    def length(self, phase: int) -> int:
        """Rounds of phase m: ceil(m^(1/3 - epsilon))."""
        return ceil(pow(phase, 1 / 3 - self.epsilon))

    def init(self, lmdp: LMDP) -> PhasedState:
        """Phase 1 plays P."""
        return PhasedState(0, 1, self.length(1), np.zeros(lmdp.n), Lead.passive(lmdp))

    def costs_to_solve(self, state: PhasedState, costs: Floats) -> CostsToSolve:
        """At the end of a phase, the mean of all costs so far."""
        phase, left, ends = state.phase, state.left - len(costs), []
        while left <= 0:
            ends.append(len(costs) - 1 + left)
            phase += 1
            left += self.length(phase)
        after = np.array(ends, dtype=np.int64)
        means, total = mean_costs(state.c_sum, costs, state.t)
        gaps = gap_wanted_after(self.tolerance, state.t + 1 + after)
        known = {"t": state.t + len(costs), "phase": phase, "left": left}
        return CostsToSolve(after, means[after], gaps, lambda: {**known, "c_sum": total()})
