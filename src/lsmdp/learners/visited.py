"""Costs that are seen only where one is: the leader of what each state has cost when one was there.

In a game with ``feedback="visited"`` a learner is not shown c_t but one number of it, c_t(X_t), with X_t the state in
which it is in round t of one sampled path (along.py). ``Visited`` keeps the mean m(x) of what was seen in each state x
and the number N(x) of visits, and plays the optimum for

    c(x) = (N(x) m(x) + m) / (N(x) + 1),    m = sum_x N(x) m(x) / t,

the means shrunk to the mean of everything seen by one virtual visit: a state that was never visited is taken for an
average one, and a single visit is half believed. Each optimum is solved for as that of follow the leader, from the last
one and within a certified gap of min(tolerance, 0.1/t).

With ``eta`` > 0 each mean forgets, for costs that change slowly: m(x) <- m(x) + w (cost - m(x)) with w = max(1/d,
eta/(1 + eta)) at the d-th visit, and counts as at most (1 + eta)/eta visits, which is what it remembers.

**What it is meant for.** Costs that are noise around a mean, the same in all rounds. Nothing pays for exploring: the
moves that P makes by itself, which no policy rules out, lead everywhere in the end. Measured on 12 states with noise
that is independent from round to round, its regret after 10,000 rounds is 1.0 on random graphs and 4.6 on a ring (means
over 24 paths, with standard deviations of 0.2 and 1.5), where a leader that sees all costs has 0.1 and 0.3.

**What is not known.** No bound on its regret is proved. Against costs that an adversary chooses, or that depend on when
one comes, means of visits can be wrong for ever: one may come only when it is dear. Weights by the chances of a visit
would correct that in expectation, but a state that is hardly ever visited then has an estimate that is hardly ever
right, and on large graphs nearly all states are such.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from lsmdp.arrays import Floats, Ints, read_only, real
from lsmdp.errors import CostError, SpecError, told
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.leader import gap_wanted_after
from lsmdp.learners.protocol import Report
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.solvers.warm.lead import Lead, lead


class VisitedState(NamedTuple):
    """After t rounds: how often each state was visited, the mean of what was seen there, and the leader."""

    t: int
    visits: Ints
    means: Floats
    lead: Lead

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        t, n = past.number, self.means.size
        return {"t": t, "visits": Form(((n,),), np.int64, 0, t.high), "means": past.costs(n)}


@dataclass(frozen=True)
class Visited:
    """Follow the means of what was seen in each state; discounted means where ``eta`` > 0."""

    eta: float = 0.0
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not 0.0 <= real(self.eta) < inf or not 0.0 < real(self.tolerance) < inf:
            raise SpecError(
                f"Visited takes eta >= 0 and tolerance > 0, not {told(self.eta)} and {told(self.tolerance)}. With eta "
                "= 0 each state has a plain mean; a usual value for costs that change is 0.05 (visited:0.05)."
            )

    @property
    def name(self) -> str:
        """visited, or visited:ETA."""
        return f"visited:{self.eta:g}" if self.eta else "visited"

    def init(self, lmdp: LMDP) -> VisitedState:
        """Round 1 plays P."""
        nothing, never = read_only(np.zeros(lmdp.n)), read_only(np.zeros(lmdp.n, np.int64))
        return VisitedState(0, never, nothing, Lead.passive(lmdp))

    def policy(self, lmdp: LMDP, state: VisitedState) -> Policy:
        """The leader, as of this state."""
        return Policy(lmdp, state.lead.v)

    def observe_at(self, lmdp: LMDP, state: VisitedState, x: Any, cost: float) -> VisitedState:
        """The state after a round in which the state x (its number or label) was visited and cost so much."""
        here, seen = lmdp.numbered(x), _as_number(cost)
        visits, means = state.visits.copy(), state.means.copy()
        visits[here] += 1
        means[here] += max(1.0 / float(visits[here]), self._weight) * (seen - means[here])
        t = state.t + 1
        found = lead(
            lmdp, self.forecast(visits, means)[np.newaxis], np.array([gap_wanted_after(self.tolerance, t)]), state.lead
        )
        return VisitedState(t, read_only(visits), read_only(means), replace(found.last, steps=int(found.steps[0])))

    def forecast(self, visits: Ints, means: Floats) -> Floats:
        """The costs that it solves for, after so many visits with these means."""
        overall = float(visits @ means) / max(int(visits.sum()), 1)
        counted = np.minimum(visits, 1.0 / self._weight if self._weight else inf)
        return np.asarray((counted * means + overall) / (counted + 1.0))

    def report(self, before: VisitedState, after: VisitedState) -> Report:
        """The certificate of the policy played, for the forecast that it is the optimum for, and the steps taken."""
        return Report(before.lead.lo, before.lead.hi, after.lead.steps)

    def bounds(self, lmdp: LMDP, state: VisitedState) -> tuple[float, float]:
        """The certificate of the leader, for the forecast."""
        return float(state.lead.lo), float(state.lead.hi)

    @property
    def _weight(self) -> float:
        return self.eta / (1.0 + self.eta)


def _as_number(cost: Any) -> float:
    number = isinstance(cost, int | float | np.integer | np.floating) and not isinstance(cost, bool | np.bool_)
    if not number or not isfinite(cost):
        raise CostError(f"the cost of the state that was visited is {cost!r}. Give one finite number.")
    return float(cost)
