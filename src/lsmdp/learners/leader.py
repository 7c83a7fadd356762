"""What all leaders share. A leader says *which* costs it solves (its ``aims``); how, and what is played, is here.

After some of its rounds a leader solves for the optimum of a cost, to within a gap, and plays it until it has
solved for the next. That is all in which leaders differ: follow the leader solves after every round, for the mean of
all costs; others for a discounted mean, for that of a window, or only where a phase ends. Each solve starts from the
last: on a small model with P written out (full.py), on others with the factor of an earlier one (solvers/warm/plan.py).
Either way, whole stretches of rounds are played in compiled code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core import full
from lsmdp.arrays import Floats, Ints, as_told
from lsmdp.learners.protocol import Report, State, passive_lead
from lsmdp.learners.stretch import Stretch
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.solvers import Rounds, follow_all, solve

CALL = 4_000  # states of which a policy is evaluated in the time that a round takes outside compiled loops


class Aims(NamedTuple):
    """After which of the rounds (0 is the first) a leader solves, for which costs, and within which gaps.

    ``memory`` gives the fields of its state, after all of them, that are not about the solution. It is asked for when
    these are solved: what it makes is not held before.
    """

    after: Ints
    costs: Floats
    gaps: Floats
    memory: Callable[[], dict[str, Any]]


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
        costs = as_told(c_t, lmdp.names)[np.newaxis]
        if lmdp.square is not None:
            return self.observe_all(lmdp, state, costs).state
        return self._follow(lmdp, state, self.aims(state, costs))[1]

    def observe_all(self, lmdp: LMDP, state: State, costs: Floats) -> Stretch:
        """The same for each row of costs."""
        rounds, aims, steps = len(costs), self.aims(state, costs), np.zeros(len(costs), np.int64)
        sums = full.UNKNOWN
        if lmdp.square is None:
            followed, after = self._follow(lmdp, state, aims)
            values, bounds, steps[aims.after] = np.vstack([state.v, followed.v]), followed[1:3], followed.steps
        else:
            found = lead_all(lmdp, aims.costs, aims.gaps, state.v, state.inverse, state.debt)
            values, bounds, steps[aims.after], sums = found.v, (found.lo, found.hi), found.steps, found.sums
            after = state._replace(**aims.memory(), v=values[-1].copy(), inverse=found.inverse, debt=found.debt)
        lo, hi = np.append(state.lo, bounds[0]), np.append(state.hi, bounds[1])
        after = after._replace(lo=float(lo[-1]), hi=float(hi[-1]), steps=int(steps[-1]))
        if aims.after.size < rounds:
            played = np.searchsorted(aims.after, np.arange(rounds + 1))  # so many were found before each round
            values, lo, hi, sums = values[played], lo[played], hi[played], full.UNKNOWN
        return Stretch(values, lo[:-1], hi[:-1], steps, after, sums)

    def is_swift(self, lmdp: LMDP, state: State) -> bool:
        """Whether many rounds of a model that is not small are learnt faster at once than one by one.

        It has a factor, or can do without; then the books evaluate again what it knew of each v, which costs less than
        a call only if there are few states.
        """
        return bool(state.anchor.size > 0 or (lmdp.n <= CALL and state.spent == 0.0))

    def _follow(self, lmdp: LMDP, state: State, aims: Aims) -> tuple[Rounds, State]:
        """The aims of any model, solved one after the other, and the state after the last."""
        if not aims.after.size:
            return Rounds.blank(0, lmdp.n), state._replace(**aims.memory(), steps=0)
        begin = state.v, state.anchor, state.age, state.spent, state.recent
        found, last = follow_all(lmdp, aims.costs, aims.gaps, *begin)
        return found, state._replace(**aims.memory(), **last._asdict())


def first_lead(lmdp: LMDP) -> tuple[Any, ...]:
    """What the state of a leader holds of its solution before round 1: P, and what full.py keeps."""
    kept = np.empty((0, 0)) if lmdp.square is None else _inverse(lmdp, np.zeros(lmdp.n))
    return (*passive_lead(lmdp), kept, 0)


def narrowing(tolerance: float, t: Any) -> Any:
    """The gap that a leader found after t rounds must have; it is played in round t + 1 (ftl.py says why)."""
    return np.minimum(tolerance, 0.1 / (t + 1))


def lead_all(lmdp: LMDP, costs: Floats, gaps: Floats, v: Floats, inverse: Floats, debt: int) -> full.Leads:
    """The optimum for each row of costs, each from the last; what is too hard for full.py is solved in general."""
    square = lmdp.square
    assert square is not None
    leads = full.lead_all(square, lmdp.temperature, costs, gaps, v, inverse, debt, lmdp.rounding)
    while leads.done < len(costs):
        at = leads.done
        hard = solve(lmdp, costs[at], tol=float(gaps[at]), start=leads.v[at])
        leads.v[at + 1], (leads.lo[at], leads.hi[at]), leads.steps[at] = hard.v, hard.bounds, hard.iterations
        inverse = _inverse(lmdp, hard.v)
        begin = costs[at + 1 :], gaps[at + 1 :], hard.v, inverse, 0, lmdp.rounding
        rest = full.lead_all(square, lmdp.temperature, *begin)
        for column, more in zip((leads.v[1:], *leads[2:5]), (rest.v[1:], *rest[2:5]), strict=True):
            column[at + 1 :] = more
        leads = leads._replace(done=at + 1 + rest.done, inverse=rest.inverse, debt=rest.debt, sums=full.UNKNOWN)
    return leads


def _inverse(lmdp: LMDP, v: Floats) -> Floats:
    assert lmdp.square is not None
    return full.inverse_at(lmdp.square, lmdp.temperature, v)
