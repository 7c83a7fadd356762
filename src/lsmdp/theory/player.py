"""A learner on its way through a game, round by round, in units of the temperature.

What goes in is a learner and, round after round, a cost; what comes out are the rows of rows.py about its policies, the
law of its state, and what it paid. It is worked out from the definitions, apart from the accounts of game/.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats, mean
from lsmdp.errors import SpecError
from lsmdp.learners import CompleteLearner, Tracking
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.theory.ahead import PlanAhead
from lsmdp.theory.leaders import (
    LeaderOfRound,
    divergence,
    law_of,
    row_sums_of,
)
from lsmdp.theory.rivals import log_tilt
from lsmdp.theory.rows import PlayerRows, RowWriter


class ChosenPolicy(NamedTuple):
    """A policy Q_v about to be played, seen from the mean of the costs so far: r = Bv - v for that mean."""

    v: Floats
    q: Floats
    log_ratio: Floats  # log Q/P
    kl: Floats
    r: Floats
    gap: float
    mu: Floats  # its stationary law; nan where that would take too long


class TracedPlayer:
    """A learner; without one, whoever plays the exact leaders."""

    def __init__(self, lmdp: LMDP, law: Floats, learner: CompleteLearner | None, first: LeaderOfRound) -> None:
        self.lmdp, self.law, self.learner = lmdp, law, learner
        self.state = None if learner is None else learner.init(lmdp, law)
        self.rows = RowWriter(PlayerRows)
        self.last = np.zeros(lmdp.n)  # the leader of the round before
        self.last_mu = np.zeros(lmdp.n)  # the law of the policy of the round before, if there was one
        self.policy, self.coming = self._choose(first)

    @property
    def name(self) -> str:
        """Of the learner."""
        return "exact ftl" if self.learner is None else self.learner.name

    @property
    def tracking(self) -> Tracking | None:
        """How the learner tracks the leader by Bellman updates, if it does."""
        return None if self.learner is None else self.learner.tracking

    def _choose(self, leader: LeaderOfRound) -> tuple[Policy, ChosenPolicy]:
        """The policy of the coming round, against this leader."""
        unit = leader.lmdp
        if self.learner is None:
            chosen, v, q, log_ratio, mu = leader.claim.policy, leader.v, leader.q, leader.log_ratio, leader.mu
        else:
            given = self.learner.policy(self.lmdp, self.state)
            if not isinstance(given, Policy):
                raise SpecError(
                    f'the learner "{self.name}" began with a policy of a value function and went on with a mixture. '
                    "The theory is about one or the other: let all of its policies be of one form."
                )
            chosen = given
            v = chosen.v / self.lmdp.temperature
            own = Policy(unit, v)
            log_ratio = log_tilt(unit.P, own.v)
            q = unit.P.data * np.exp(log_ratio)
            mu = law_of(own) if unit.law_is_cheap else np.full(unit.n, np.nan)
        r, lo, hi = unit.moves.residual(leader.c, v)
        return chosen, ChosenPolicy(v, q, log_ratio, row_sums_of(unit.P, q * log_ratio), r, hi - lo, mu)

    def play(self, c_t: Floats, now: LeaderOfRound, after: LeaderOfRound, ahead: PlanAhead | None) -> None:
        """One round, in units of the temperature; ``ahead`` is the plan in hindsight."""
        unit, own, p = now.lmdp, self.coming, self.law
        law = np.bincount(unit.P.indices, p[unit.entry_rows] * own.q, unit.n).astype(np.float64)
        law = law / law.sum()
        if self.learner is not None:
            self.state = self.learner.observe(self.lmdp, self.state, self.lmdp.temperature * c_t)
        self.policy, self.coming = self._choose(after)
        to_leader = divergence(unit.P, own.q, now.q, now.log_ratio - own.log_ratio)
        shift = self.last_mu - own.mu if len(self.rows) else np.zeros(unit.n)
        self.rows.add(
            PlayerRows(
                loss=mean(p, c_t + own.kl),
                distance=np.abs(p - now.mu).sum(),
                gain=mean(p - now.mu, c_t - now.c),
                boundary=mean(p - law, now.v),
                drift=mean(p, now.v - self.last - (now.v - self.last).min()),
                boundary_own=mean(p - law, own.v),
                residual=mean(p, own.r) - now.average_cost,
                gap=own.gap,
                error=np.ptp(own.v - now.v),
                span_v=np.ptp(own.v),
                span_iterates=self._widest(own.v, after),
                divergence=mean(p, to_leader),
                ideal=mean(own.mu, c_t + own.kl),
                to_next=mean(own.mu, divergence(unit.P, own.q, after.q, after.log_ratio - own.log_ratio)),
                to_leader=mean(own.mu, to_leader),
                own_next=mean(own.mu, divergence(unit.P, own.q, self.coming.q, self.coming.log_ratio - own.log_ratio)),
                own_ahead=mean(own.mu, self.coming.r),
                own_shift=mean(shift, own.r - (own.r.min() + own.r.max()) / 2),
                own_change_v=np.ptp(self.coming.v - own.v),
                own_change_mu=np.abs(self.coming.mu - own.mu).sum(),
                **_beside_plan(unit, own, p, law, ahead),
            )
        )
        self.law, self.last, self.last_mu = law, now.v, own.mu

    def _widest(self, v: Floats, after: LeaderOfRound) -> float:
        """The largest span of the value functions on the way to the next round; tracking meets some between rounds."""
        widest = float(np.ptp(v))
        if self.tracking is not None:
            for _ in range(self.tracking.steps):
                once = v + after.lmdp.moves.residual(after.c, v)[0]
                twice = once + after.lmdp.moves.residual(after.c, once)[0]
                v = (once + twice) / 2 if self.tracking.averaged else once
                widest = max(widest, float(np.ptp(once)), float(np.ptp(v)))
        return widest


def _beside_plan(unit: LMDP, own: ChosenPolicy, p: Floats, law: Floats, ahead: PlanAhead | None) -> dict[str, float]:
    """What new:dynamic speaks of, in one round from the law p to the next."""
    if ahead is None:
        return dict.fromkeys(("price", "planned", "span_plan"), float("nan"))
    apart = divergence(unit.P, own.q, ahead.q, ahead.log_ratio - own.log_ratio)
    planned = mean(p, ahead.here) - mean(law, ahead.after) + ahead.step
    return {"price": mean(p, apart), "planned": planned, "span_plan": float(np.ptp(ahead.after))}
