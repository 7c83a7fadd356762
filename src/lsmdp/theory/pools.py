"""The game of a pool of learners, written down for its theorem (new:pool, which flows.py states).

A pool gives its experts weights w_t and plays the flow mixture Q_t of their policies Q^i_t (learners/pool.py). With the
laws p^i_t and the losses l^i_t = p^i_t.(c_t + KL(Q^i_t || P)) of the experts, the law p_t of the pool itself,
m_t = sum_i w_{t,i} p^i_t and g_t = c_t + KL(Q_t || P), everything in units of the temperature,
the theorem compares the loss with sum_t w_t.l_t and sum_t (p_t - m_t).g_t.

The record of a pool is made from the definitions: each expert plays by itself, its law is pushed by the entries of its
own policies, and what the pool plays is taken as it comes. The weights are those that the pool's state claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsmdp.arrays import Floats, mean
from lsmdp.learners import CompleteLearner
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy, Policy
from lsmdp.theory.leaders import row_sums_of
from lsmdp.theory.rivals import log_tilt
from lsmdp.theory.rows import RowWriter


class PoolRows(NamedTuple):
    """A round of a pool; ``least`` and ``range`` are over all rounds so far."""

    loss: Any
    mixed: Any  # w_t.l_t
    behind: Any  # (p_t - m_t).g_t
    carried: Any  # 1/2 |(p_t - m_t) Q_t|_1
    moved: Any  # 1/2 |w_{t+1} - w_t|_1
    apart_after: Any  # 1/2 |p_{t+1} - m_{t+1}|_1
    least: Any  # min_i of the summed losses
    range: Any  # the largest max_i l^i_s - min_i l^i_s
    span_v: Any  # of the experts


@dataclass(frozen=True, eq=False)
class PoolTrace:
    """The game of a learner that plays kernels: a pool with so many ``experts``, or none that is known."""

    name: str
    rows: PoolRows
    experts: int
    plain: bool
    tracking: None = None

    @property
    def loss(self) -> float:
        """The expected loss over all rounds."""
        return float(self.rows.loss.sum())


class TracedPool:
    """A learner that plays kernels, and its experts, while their game is written down."""

    def __init__(self, lmdp: LMDP, unit: LMDP, law: Floats, learner: CompleteLearner) -> None:
        self.lmdp, self.unit, self.law, self.learner = lmdp, unit, law, learner
        self.state = learner.init(lmdp, law)
        self.experts = learner.experts
        self.states = [expert.init(lmdp, law) for expert in self.experts]
        self.laws = [law for _ in self.experts]
        self.losses, self.range = np.zeros(len(self.experts)), 0.0
        self.rows = RowWriter(PoolRows)

    @property
    def name(self) -> str:
        """Of the learner."""
        return self.learner.name

    @property
    def policy(self) -> AnyPolicy:
        """What it is about to play."""
        return self.learner.policy(self.lmdp, self.state)

    def play(self, c_t: Floats) -> None:
        """One round, in units of the temperature."""
        P, before = self.unit.P, self._weights()
        q = np.asarray(self.policy.matrix().data)
        kl = row_sums_of(P, q * np.log(np.where(q > 0.0, q / P.data, 1.0)))
        g, m, span = c_t + kl, self._mixed_law(before), 0.0
        paid = np.zeros(len(self.experts))
        for i, expert in enumerate(self.experts):
            policy = expert.policy(self.lmdp, self.states[i])
            assert isinstance(policy, Policy)
            v = policy.v / self.lmdp.temperature
            tilt = log_tilt(P, v)
            own = P.data * np.exp(tilt)
            paid[i], span = mean(self.laws[i], c_t + row_sums_of(P, own * tilt)), max(span, float(np.ptp(v)))
            self.laws[i] = self._pushed(self.laws[i], own)
            self.states[i] = expert.observe(self.lmdp, self.states[i], self.lmdp.temperature * c_t)
        p, self.law = self.law, self._pushed(self.law, q)
        self.state = self.learner.observe(self.lmdp, self.state, self.lmdp.temperature * c_t)
        self.losses, after = self.losses + paid, self._weights()
        self.range = max(self.range, float(np.ptp(paid))) if paid.size else np.nan
        self.rows.add(
            PoolRows(
                loss=mean(p, g),
                mixed=mean(before, paid),
                behind=mean(p - m, g),
                carried=np.abs(self._moved(p - m, q)).sum() / 2,
                moved=np.abs(after - before).sum() / 2,
                apart_after=np.abs(self.law - self._mixed_law(after)).sum() / 2,
                least=self.losses.min(initial=np.inf),
                range=self.range,
                span_v=span,
            )
        )

    def _weights(self) -> Floats:
        return np.asarray(self.state.weights) if self.experts else np.empty(0)

    def _mixed_law(self, weights: Floats) -> Floats:
        return np.asarray(weights @ np.array(self.laws)) if self.experts else np.zeros(self.unit.n)

    def _moved(self, mass: Floats, q: Floats) -> Floats:
        return np.bincount(self.unit.P.indices, mass[self.unit.entry_rows] * q, self.unit.n).astype(np.float64)

    def _pushed(self, law: Floats, q: Floats) -> Floats:
        moved = self._moved(law, q)
        return np.asarray(moved / moved.sum())

    def close(self) -> PoolTrace:
        """The finished record."""
        return PoolTrace(self.name, self.rows.columns(), len(self.experts), self.learner.hedges)
