"""Track the leader: no solve at all, one Bellman update a round from the previous v.

    v_{t+1} = (B v_t + B B v_t) / 2,    (Bv)(x) = c_bar_{t+1}(x) - log sum_y P(x,y) e^{-v(y)},

or plainly v_{t+1} = B v_t. Its regret is O(log T) as well: the leader moves by O(1/t), and each update contracts the
distance to it. The plain step resonates with a nearly periodic P (an eigenvalue near -1 is not contracted); averaging
two iterates sends -1 to 0, at the price of a second pass over P. The first pass also yields the gap of the policy that
was played, at no cost: r_t = c_bar_t - log P e^{-v_t} - v_t.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp._core import full
from lsmdp._core.sparse_steps import update
from lsmdp.arrays import Floats, as_told
from lsmdp.errors import SpecError
from lsmdp.forms import Form, Past, vector
from lsmdp.learners.protocol import Report
from lsmdp.learners.stretch import Stretch, running_means, running_sum
from lsmdp.model import LMDP
from lsmdp.policy import Policy, kept_flow

NEARLY_PERIODIC = 0.05  # least probability of staying that keeps every eigenvalue of P away from -1


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


@dataclass(frozen=True)
class TrackTheLeader:
    """``steps`` Bellman updates a round, each averaged over two iterates unless ``averaged`` is False."""

    steps: int = 1
    averaged: bool = True

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise SpecError(f"TrackTheLeader takes at least one step a round, not {self.steps}.")

    @property
    def name(self) -> str:
        """track, track:STEPS, and plain-track for the plain update."""
        return ("track" if self.averaged else "plain-track") + (f":{self.steps}" if self.steps > 1 else "")

    def init(self, lmdp: LMDP) -> TrackState:
        """Round 1 plays P."""
        if not self.averaged and lmdp.P.diagonal().min() < NEARLY_PERIODIC:
            warnings.warn(
                "plain tracking of a chain that hardly ever stays where it is may resonate with the costs; "
                "use averaged=True (the default), or lmdp.lazy(0.1)",
                stacklevel=2,
            )
        return TrackState(0, np.zeros(lmdp.n), np.zeros(lmdp.n), 0.0, 0.0)

    def policy(self, lmdp: LMDP, state: TrackState) -> Policy:
        """The policy of the tracking v."""
        return Policy(lmdp, state.v)

    def observe(self, lmdp: LMDP, state: TrackState, c_t: Floats) -> TrackState:
        """Add the cost and take the Bellman updates for the new mean."""
        c_t = as_told(c_t, lmdp.names)
        if lmdp.square is not None:
            tracked: TrackState = self.observe_all(lmdp, state, c_t[np.newaxis]).state
            return tracked
        return self._observe(lmdp, state, c_t)

    def observe_all(self, lmdp: LMDP, state: TrackState, costs: Floats) -> Stretch:
        """The same for each row of costs, on a small model in compiled code (full.py)."""
        assert lmdp.square is not None
        rounds, t = len(costs), state.t + 1 + np.arange(len(costs))
        means = np.vstack([state.c_sum / max(state.t, 1), running_means(state.c_sum, costs, state.t)])
        values, lo, hi, done = np.vstack([state.v, costs]), np.empty(rounds), np.empty(rounds), 0
        while done < rounds:
            rest = values[done:], lo[done:], hi[done:], lmdp.rounding
            done += full.track_all(lmdp.square, lmdp.temperature, means[done:], self.steps, self.averaged, *rest)
            if done < rounds:  # v spans too much for one scale
                before = running_sum(state.c_sum, costs[:done])
                hard = self._observe(lmdp, TrackState(int(t[done]) - 1, before, values[done], 0.0, 0.0), costs[done])
                values[done + 1], lo[done], hi[done], done = hard.v, hard.lo, hard.hi, done + 1
        after = TrackState(int(t[-1]), running_sum(state.c_sum, costs), values[-1].copy(), float(lo[-1]), float(hi[-1]))
        return Stretch(values, lo, hi, np.full(rounds, self._passes), after)

    def _observe(self, lmdp: LMDP, state: TrackState, c_t: Floats) -> TrackState:
        known = kept_flow(lmdp, state.v)
        given = (lmdp.P, lmdp.temperature, state.c_sum, c_t, state.t + 1, state.v, known)
        found = update(*given, steps=self.steps, averaged=self.averaged, slack=lmdp.rounding)
        return TrackState(state.t + 1, *found)

    def report(self, before: TrackState, after: TrackState) -> Report:
        """The bounds that the policy played proves for the mean cost before the round."""
        return Report(after.lo, after.hi, self._passes)

    @property
    def _passes(self) -> int:
        return self.steps * (1 + self.averaged)
