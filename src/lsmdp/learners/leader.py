"""What all leaders share. A leader says *which* costs it solves (its ``aims``); how, and what is played, is here.

After some of its rounds a leader solves for the optimum of a cost, to within a gap, and plays it until it has
solved for the next. That is all in which leaders differ: follow the leader solves after every round, for the mean of
all costs; others for a discounted mean, for that of a window, or only where a phase ends. Each solve starts from the
last, on a small model in compiled code (small.py), on others with the factor of an earlier one (perron/follow.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from lsmdp import small
from lsmdp.arrays import Floats, Ints
from lsmdp.learners.base import Report, State, lead, passive_lead
from lsmdp.learners.stretch import Stretch
from lsmdp.model import LMDP
from lsmdp.perron import solve
from lsmdp.policy import Policy


class Aims(NamedTuple):
    """After which of the rounds (0 is the first) a leader solves, for which costs, and within which gaps.

    ``memory`` holds the fields of its state, after all of them, that are not about the solution.
    """

    after: Ints
    costs: Floats
    gaps: Floats
    memory: dict[str, Any]


class LeaderBase(ABC):
    """A leader: the state's v is what it plays, with its bounds, and with what the next solve starts from."""

    @abstractmethod
    def aims(self, state: State, costs: Floats) -> Aims:
        """What there is to solve in the next rounds, one for each row of costs."""

    def policy(self, lmdp: LMDP, state: State) -> Policy:
        """The leader, as of this state."""
        return Policy(lmdp, state.v)

    def report(self, before: State, after: State) -> Report:
        """The certificate of the policy played, for the cost that it solves, and the steps to the next one."""
        return Report(before.lo, before.hi, after.steps)

    def observe(self, lmdp: LMDP, state: State, c_t: Floats) -> State:
        """Take in the cost of a round, and solve if it is time to."""
        costs = np.asarray(c_t)[np.newaxis]
        if lmdp.square is not None:
            return self.observe_all(lmdp, state, costs).state
        aims = self.aims(state, costs)
        if not aims.after.size:
            return state._replace(**aims.memory, steps=0)
        found = lead(lmdp, aims.costs[0], state, float(aims.gaps[0]))
        return state._replace(**aims.memory, **found._asdict())

    def observe_all(self, lmdp: LMDP, state: State, costs: Floats) -> Stretch:
        """The same for each row of costs, on a small model."""
        rounds, aims = len(costs), self.aims(state, costs)
        found = lead_all(lmdp, aims.costs, aims.gaps, state.v, state.inverse, state.debt)
        values, lo, hi = found.v, np.append(state.lo, found.lo), np.append(state.hi, found.hi)
        last = {"v": values[-1].copy(), "lo": float(lo[-1]), "hi": float(hi[-1])}
        if aims.after.size < rounds:
            played = np.searchsorted(aims.after, np.arange(rounds + 1))  # so many were found before each round
            values, lo, hi = values[played], lo[played], hi[played]
        steps = np.zeros(rounds, np.int64)
        steps[aims.after] = found.steps
        kept = {"steps": int(steps[-1]), "inverse": found.inverse, "debt": found.debt}
        after = state._replace(**aims.memory, **last, **kept)
        return Stretch(values, lo[:-1], hi[:-1], steps, after)


def first_lead(lmdp: LMDP) -> tuple[Any, ...]:
    """What the state of a leader holds of its solution before round 1: P, and what small.py keeps."""
    kept = np.empty((0, 0)) if lmdp.square is None else _inverse(lmdp, np.zeros(lmdp.n))
    return (*passive_lead(lmdp), kept, 0)


def narrowing(tolerance: float, t: Any) -> Any:
    """The gap that a leader found after t rounds must have; it is played in round t + 1 (ftl.py says why)."""
    return np.minimum(tolerance, 0.1 / (t + 1))


def lead_all(lmdp: LMDP, costs: Floats, gaps: Floats, v: Floats, inverse: Floats, debt: int) -> small.Leads:
    """The optimum for each row of costs, each from the last; what is too hard for small.py is solved in general."""
    square = lmdp.square
    assert square is not None
    leads = small.lead_all(square, lmdp.temperature, costs, gaps, v, inverse, debt)
    while leads.done < len(costs):
        at = leads.done
        hard = solve(lmdp, costs[at], tol=float(gaps[at]), start=leads.v[at])
        leads.v[at + 1], (leads.lo[at], leads.hi[at]), leads.steps[at] = hard.v, hard.bounds, hard.iterations
        inverse = _inverse(lmdp, hard.v)
        rest = small.lead_all(square, lmdp.temperature, costs[at + 1 :], gaps[at + 1 :], hard.v, inverse, 0)
        for column, more in zip((leads.v[1:], *leads[2:5]), (rest.v[1:], *rest[2:5]), strict=True):
            column[at + 1 :] = more
        leads = leads._replace(done=at + 1 + rest.done, inverse=rest.inverse, debt=rest.debt)
    return leads


def _inverse(lmdp: LMDP, v: Floats) -> Floats:
    assert lmdp.square is not None
    return small.inverse_at(lmdp.square, lmdp.temperature, v)
