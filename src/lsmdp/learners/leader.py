"""What all leaders share. A leader says *which* costs it solves (``costs_to_solve``); how, and what is played, is here.

After some of its rounds a leader solves for the optimum of a cost, to within a gap, and plays it until it has
solved for the next. That is all in which leaders differ: follow the leader solves after every round, for the mean of
all costs; others for a discounted mean, for that of a window, or only where a phase ends. Each solve starts from the
last, and consecutive ones are a matter of the solvers (solvers/warm/lead.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core import full
from lsmdp.arrays import Floats, Ints, real
from lsmdp.errors import SpecError, told
from lsmdp.learners.base import Bounds, LearnerBase
from lsmdp.learners.played import Played
from lsmdp.learners.protocol import Report, State
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.solvers.warm.lead import lead


class CostsToSolve(NamedTuple):
    """After which of the rounds (0 is the first) a leader solves, for which costs, and within which gaps.

    ``memory`` gives the fields of its state, after all of them, that are not about the solution. It is asked for when
    these are solved: what it makes is not held before.
    """

    after: Ints
    costs: Floats
    gaps: Floats
    memory: Callable[[], dict[str, Any]]


class LeaderBase(LearnerBase):
    """A leader: the state's v is what it plays, with its bounds, and with what the next solve starts from."""

    @abstractmethod
    def costs_to_solve(self, state: State, costs: Floats) -> CostsToSolve:
        """What there is to solve in the next rounds, one for each row of costs."""

    def policy(self, lmdp: LMDP, state: State) -> Policy:
        """The leader, as of this state."""
        policy: Policy = state.lead.policy(lmdp)
        return policy

    def report(self, before: State, after: State) -> Report:
        """The certificate of the policy played, for the cost that it solves, and the steps to the next one."""
        return Report(before.lead.lo, before.lead.hi, after.lead.steps)

    def bounds(self, lmdp: LMDP, state: State) -> Bounds:
        """The certificate of the leader."""
        return float(state.lead.lo), float(state.lead.hi)

    def takes_blocks(self, lmdp: LMDP, state: State) -> bool:
        """Where the solver is faster that way (solvers/warm/lead.py)."""
        return bool(state.lead.is_swift)

    def observe_block(self, lmdp: LMDP, state: State, costs: Floats, policy: Policy | None = None) -> Played:
        """Take in the costs of some rounds, and solve after those after which it is time to."""
        rounds, due, start = len(costs), self.costs_to_solve(state, costs), state.lead
        steps = np.zeros(rounds, np.int64)
        found = lead(lmdp, due.costs, due.gaps, start)
        steps[due.after] = found.steps
        last = found.last if due.after.size == rounds else replace(found.last, steps=int(steps[-1]))
        after = state._replace(**due.memory(), lead=last)
        values: Any = found.v
        lo, hi, sums = np.concatenate(((start.lo,), found.lo)), np.concatenate(((start.hi,), found.hi)), found.sums
        if due.after.size < rounds:
            played = np.searchsorted(due.after, np.arange(rounds + 1))  # so many were found before each round
            values, lo, hi, sums = [values[k] for k in played], lo[played], hi[played], full.UNKNOWN
        return Played(values, lo[:-1], hi[:-1], steps, after, sums)


# The gap after t rounds is at most this over t + 1, so that all gaps together add a tenth of log T to the regret.
_GAP_TIMES_ROUNDS = 0.1


def require_tolerance(name: str, tolerance: float) -> None:
    """Raise unless a learner can solve to this gap."""
    if not real(tolerance) > 0.0:
        raise SpecError(f"{name} takes a tolerance > 0, not {told(tolerance)}. A usual value is 1e-6.")


def gap_wanted_after(tolerance: float, t: Any) -> Any:
    """The gap that a leader found after t rounds must have; it is played in round t + 1 (ftl.py says why)."""
    return np.minimum(tolerance, _GAP_TIMES_ROUNDS / (t + 1))
