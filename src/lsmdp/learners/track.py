"""Track the leader: no solve at all, one Bellman update a round from the previous v.

    v_{t+1} = (B v_t + B B v_t) / 2,    (Bv)(x) = c_bar_{t+1}(x) - T log sum_y P(x,y) e^{-v(y)/T},

or plainly v_{t+1} = B v_t, with T the temperature. Its regret after t rounds is O(log t) as well: the leader moves by
O(1/t), and each update contracts the distance to it. The plain step resonates with a nearly periodic P (an eigenvalue
near -1 is not contracted); averaging two iterates sends -1 to 0, at the price of a second pass over P. The first pass
also yields the gap of the policy that was played, at no cost: the span of r_t = c_bar_t - T log P e^{-v_t/T} - v_t.

:class:`TrackTheDiscounted` does the same for a discounted mean, c~ <- (1 - weight) c~ + weight c_t: the older a cost,
the less it counts, and with weight 1 nothing counts but the last. It is what a pool of learners is made of (pool.py).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp._core.means import TrackedCosts, discounted_means
from lsmdp.arrays import Floats, as_whole, real
from lsmdp.errors import SpecError, told
from lsmdp.inputs.forms import Form, Past, vector
from lsmdp.learners.base import Bounds, LearnerBase, Tracking
from lsmdp.learners.played import Played
from lsmdp.learners.protocol import Report
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# If every state is stayed in with at least this chance, every eigenvalue of P is well away from -1.
_LEAST_CHANCE_OF_STAYING = 0.05


class TrackState(NamedTuple):
    """After t rounds: the sum of the costs, the tracking v, and the bounds proved by the v played last."""

    t: int
    c_sum: Floats
    v: Floats
    lo: float
    hi: float

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        n = self.v.size
        return {"t": past.number, "c_sum": past.sums(n), "v": vector(n), "lo": Form(), "hi": Form()}


_MOST_STEPS = 10_000  # More steps than this a round would take longer than a solve, which is certified.


@dataclass(frozen=True)
class TrackTheLeader(LearnerBase):
    """``steps`` Bellman updates a round, each averaged over two iterates unless ``averaged`` is False."""

    steps: int = 1
    averaged: bool = True

    def __post_init__(self) -> None:
        if not 1 <= as_whole(self.steps, "the number of steps of TrackTheLeader") <= _MOST_STEPS:
            raise SpecError(
                f"TrackTheLeader takes at least one step a round and at most {_MOST_STEPS:,}, not {self.steps}. If a "
                "few are not enough, follow the leader itself (ftl)."
            )

    @property
    def name(self) -> str:
        """track, track:STEPS, and plain-track for the plain update."""
        return ("track" if self.averaged else "plain-track") + (f":{self.steps}" if self.steps > 1 else "")

    def init(self, lmdp: LMDP) -> TrackState:
        """Round 1 plays P."""
        if not self.averaged and lmdp.P.diagonal().min() < _LEAST_CHANCE_OF_STAYING:
            warnings.warn(
                "plain tracking of a chain that hardly ever stays where it is may resonate with the costs; "
                "use averaged=True (the default), or lmdp.lazy(0.1)",
                stacklevel=2,
            )
        return TrackState(0, np.zeros(lmdp.n), np.zeros(lmdp.n), 0.0, 0.0)

    @property
    def tracking(self) -> Tracking:
        """As the theory speaks of it."""
        return Tracking(self.steps, self.averaged)

    def policy(self, lmdp: LMDP, state: TrackState) -> Policy:
        """The policy of the tracking v."""
        return Policy(lmdp, state.v)

    def observe_block(self, lmdp: LMDP, state: TrackState, costs: Floats, policy: Policy | None = None) -> Played:
        """Add each cost, and take the Bellman updates for the new mean."""
        known = None if policy is None else policy.known_flow
        tracked = TrackedCosts.of(state.c_sum, costs, state.t)
        found = lmdp.moves.track(self.steps, self.averaged, tracked, state.v, known)
        total = tracked.sums[-1].copy() if len(costs) > 1 else tracked.sums[0]
        after = TrackState(state.t + len(costs), total, found.v, float(found.lo[-1]), float(found.hi[-1]))
        return Played(found.values, found.lo, found.hi, np.full(len(costs), self._passes), after)

    def report(self, before: TrackState, after: TrackState) -> Report:
        """The bounds that the policy played proves for the mean cost before the round."""
        return Report(after.lo, after.hi, self._passes)

    def bounds(self, lmdp: LMDP, state: TrackState) -> Bounds:
        """Those of the coming policy for the mean of all costs; the state has them a round later, in passing."""
        _, lo, hi = lmdp.moves.residual(state.c_sum / max(state.t, 1), state.v)
        return float(lo), float(hi)

    @property
    def _passes(self) -> int:
        return self.steps * (1 + self.averaged)


class DiscountedTrackState(NamedTuple):
    """The discounted mean, the tracking v, and the bounds proved by the v played last."""

    c_mean: Floats
    v: Floats
    lo: float
    hi: float

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        n = self.v.size
        return {"c_mean": past.costs(n), "v": vector(n), "lo": Form(), "hi": Form()}


@dataclass(frozen=True)
class TrackTheDiscounted(LearnerBase):
    """One averaged Bellman update a round for the discounted mean in which the newest cost has this ``weight``."""

    weight: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < real(self.weight) <= 1.0:
            raise SpecError(
                f"TrackTheDiscounted takes the weight of the newest cost, above 0 and at most 1, not "
                f"{told(self.weight)}. A usual value is 0.05; with 1, only the last cost counts."
            )

    @property
    def name(self) -> str:
        """discounted-track, or discounted-track:WEIGHT."""
        plain = self.weight == TrackTheDiscounted.weight
        return "discounted-track" if plain else f"discounted-track:{self.weight:g}"

    def init(self, lmdp: LMDP) -> DiscountedTrackState:
        """Round 1 plays P."""
        return DiscountedTrackState(np.zeros(lmdp.n), np.zeros(lmdp.n), 0.0, 0.0)

    def policy(self, lmdp: LMDP, state: DiscountedTrackState) -> Policy:
        """The policy of the tracking v."""
        return Policy(lmdp, state.v)

    def observe_block(
        self, lmdp: LMDP, state: DiscountedTrackState, costs: Floats, policy: Policy | None = None
    ) -> Played:
        """Take in each cost, and take a Bellman update for the new mean."""
        known = None if policy is None else policy.known_flow
        means = discounted_means(state.c_mean, costs, 1.0 - self.weight)
        found = lmdp.moves.track(1, True, TrackedCosts.of_means(state.c_mean, means), state.v, known)
        after = DiscountedTrackState(means[-1].copy(), found.v, float(found.lo[-1]), float(found.hi[-1]))
        return Played(found.values, found.lo, found.hi, np.full(len(costs), 2), after)

    def report(self, before: DiscountedTrackState, after: DiscountedTrackState) -> Report:
        """The bounds that the policy played proves for the discounted mean before the round."""
        return Report(after.lo, after.hi, 2)

    def bounds(self, lmdp: LMDP, state: DiscountedTrackState) -> Bounds:
        """Those of the coming policy for the discounted mean; the state has them a round later, in passing."""
        _, lo, hi = lmdp.moves.residual(state.c_mean, state.v)
        return float(lo), float(hi)
