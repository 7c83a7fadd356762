"""Costs that come again every day: a mean for each slot of a period, and the plan of the day that they make.

``Clock(24)`` is for costs with a pattern that comes again after 24 rounds: hours of a day, days of a week, minutes of a
cycle of lights. Round t is in slot k = (t - 1) mod D of the day, D being the period. The learner keeps a forecast c_k
of the cost of each slot and plays the plan of the periodic problem (:class:`~lsmdp.Periodic`)

    v_k + lambda = B_k v_{k+1 mod D},    (B_k v)(x) = c_k(x) - T log sum_y P(x,y) e^{-v(y)/T},

that is, in slot k the policy of v_{k+1}. This is what follow the leader would do on a model with the time of day in its
state, of D n states; here P stays as it is, and D n numbers are kept.

**Forecasts.** That of a slot is the mean of the costs seen in it, or with ``eta`` > 0 a discounted mean, for patterns
that change slowly: c_k <- c_k + w (c_t - c_k) with w = max(1/d, eta/(1 + eta)) at the d-th visit. A leader pays for the
error of its forecast, and of all constant forecasts the mean of what was seen is the best: so a slot that was never
seen, on the first day, is forecast by the mean over all rounds so far. That mean is taken anew after each of the first
16 rounds, and later each time that the number of rounds has grown by an eighth or a sixteenth: each time, the whole day
is planned anew. Measured over two days of 50 rounds, with noise, whose slots have little to do with each other, on a
ring (a grid): 46.9 (49.1) is paid; with the last cost as the forecast 48.8 (50.5), with none 48.2 (49.9). Where costs
glide through the day the last cost is better, 47.3 against 49.5. A mean that is taken anew every round pays 0.1 less
there and the same elsewhere.

**Renewal.** After each round the plan is renewed backward from the slot whose forecast has changed, and only as far as
it matters: a slot is made anew where the entries of B_k v_{k+1} - v_k may differ by ``tolerance`` or more
(_core/clocks.py). So every slot obeys its equation within the tolerance, and the bounds that are reported for the
average cost of the plan under the forecasts are not much wider than that.

With ``Clock(1)`` there is one slot, and it takes one plain Bellman update a round for the mean of all costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from lsmdp._core.clocks import Day, Manner, PlayedDays, enclosed, keep_plan
from lsmdp._core.sparse import rows
from lsmdp.arrays import Floats, frozen, read_only, real
from lsmdp.errors import SpecError, told
from lsmdp.inputs.forms import BEYOND_COUNTS, LARGEST_NUMBER, Form, Past
from lsmdp.learners.base import Bounds, LearnerBase, require_memory
from lsmdp.learners.played import Played
from lsmdp.learners.protocol import Report
from lsmdp.model import LMDP
from lsmdp.policy import Policy


class ClockState(NamedTuple):
    """After t rounds: for each slot its forecast, its v and bounds on B_k v_{k+1} - v_k; bounds, and passes made last.

    ``lo`` and ``hi`` bound the average cost of the plan for the forecasts.
    """

    t: int
    forecasts: Floats
    values: Floats
    low: Floats
    high: Floats
    lo: float
    hi: float
    passes: int

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        D, n = self.values.shape
        each, passes = Form(((D,),)), Form(dtype=np.int64, low=0, high=min(D, BEYOND_COUNTS))
        values = Form(((D, n),), low=0.0, high=LARGEST_NUMBER)
        known = {"t": past.number, "forecasts": past.costs(D, n), "values": values, "low": each, "high": each}
        return known | {"lo": Form(), "hi": Form(), "passes": passes}

    @property
    def day(self) -> Day:
        """What the compiled loop keeps, in arrays of its own: a state never changes."""
        return Day(*(np.array(part) for part in (self.forecasts, self.values, self.low, self.high)))


@dataclass(frozen=True)
class Clock(LearnerBase):
    """The plan of the day for a mean cost in each of ``period`` slots; discounted means where ``eta`` > 0."""

    period: int = 24
    eta: float = 0.0
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        whole = isinstance(self.period, int | np.integer) and not isinstance(self.period, bool)
        if not whole or self.period < 1:
            raise SpecError(
                f"Clock takes the number of rounds of a period, a whole number from 1 on, not {self.period}. Hours of "
                "a day: Clock(24) (clock:24)."
            )
        if not 0.0 <= real(self.eta) < inf or not 0.0 < real(self.tolerance) < inf:
            raise SpecError(
                f"Clock takes eta >= 0 and tolerance > 0, not {told(self.eta)} and {told(self.tolerance)}. With eta "
                "= 0 each slot has a plain mean; a usual value for patterns that change is 0.1 (clock:24:0.1)."
            )
        object.__setattr__(self, "period", int(self.period))

    @property
    def name(self) -> str:
        """clock:PERIOD, or clock:PERIOD:ETA."""
        return f"clock:{self.period}" + (f":{self.eta:g}" if self.eta else "")

    def init(self, lmdp: LMDP) -> ClockState:
        """Round 1 plays P: nothing is known, and the plan for the cost 0 is to do nothing."""
        D, n = self.period, lmdp.n
        require_memory(self.name, D, n)
        nothing, none = read_only(np.zeros((D, n))), read_only(np.zeros(D))
        return ClockState(0, nothing, nothing, none, none, 0.0, 0.0, 0)

    def policy(self, lmdp: LMDP, state: ClockState) -> Policy:
        """That of the slot: of the values at the beginning of the next one."""
        return Policy(lmdp, state.values[(state.t + 1) % self.period])

    def takes_blocks(self, lmdp: LMDP, state: ClockState) -> bool:
        """As many rounds as there are: the day is copied once for all of them."""
        return True

    def observe_block(self, lmdp: LMDP, state: ClockState, costs: Floats, policy: Policy | None = None) -> Played:
        """Take each cost into the forecast of its slot, and renew the plan."""
        rounds, day = len(costs), state.day
        slack = lmdp.moves.rounding
        manner = Manner(lmdp.temperature, self.eta / (1.0 + self.eta), self.tolerance, slack)
        kept = PlayedDays(
            np.empty((rounds + 1, lmdp.n)), np.empty(rounds), np.empty(rounds), np.empty(rounds, np.int64)
        )
        keep_plan(rows(lmdp.P), manner, state.t, frozen(np.ascontiguousarray(costs, np.float64)), day, kept)
        lo, hi = enclosed(day, slack)
        forecasts, values, low, high = (read_only(part) for part in day)
        after = ClockState(state.t + rounds, forecasts, values, low, high, lo, hi, int(kept.passes[-1]))
        return Played(kept.values, kept.lo, kept.hi, kept.passes, after)

    def report(self, before: ClockState, after: ClockState) -> Report:
        """The bounds of the plan that was played, for the forecasts, and the passes that the next one took."""
        return Report(before.lo, before.hi, after.passes)

    def bounds(self, lmdp: LMDP, state: ClockState) -> Bounds:
        """Bounds on the average cost of the plan, per round, if every slot cost what is forecast."""
        return state.lo, state.hi
