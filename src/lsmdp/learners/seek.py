"""A clock that finds its period: for costs that may or may not come again, by a period that nobody has told.

It is a :class:`~lsmdp.learners.Clock` whose period is 1 until one is found, that is, it tracks the mean of all costs.
Now and then it looks at the costs that it remembers, and proposes a period. ``pool:auto`` has it for the expert of the
mean: whether a proposal is any good is for the losses to say, since a pool gives weight only to what pays.

**How a period is found.** Let X_1, ..., X_h be the remembered costs less their mean, and

    rho(d) = 2 sum_t X_t.X_{t+d} / sum_t (|X_t|^2 + |X_{t+d}|^2),    t = 1, ..., h - d,    d = 0, ..., h/2,

their autocorrelation, by fast Fourier transforms. 1 - rho(d) is the share of the costs that those of d rounds before do
not tell: it is 0 if and only if they repeat themselves exactly. Costs that drift slowly have a large rho(1), and yet no
period: what a period shows is that rho comes *back*. So the mark of a lag d is how far rho(d) lies above the least of
rho before d; the mark of noise is of the order of 1/sqrt(h - d), since there are h - d pairs of costs. Lags whose marks
are above 7/sqrt(h - d) show a period. The multiples of a period have about the same mark as the period, and so have its
neighbours where costs are smooth: of the first consecutive lags whose marks are at least nine tenths of the largest
such, the one is taken whose multiples have the largest rho on average. If rho still rises at the longest lag, there is
no telling where it will turn, and nothing is proposed. A new period replaces the one in use only if 1 - rho, averaged
over its multiples, is smaller by a twentieth. That is little enough to notice that a clock is off by a single round in
168, and so out of step within a few weeks.

**When it looks.** After 16, 24, 32, 48, 64, ... rounds until its memory is full, and then each time that half of it has
been replaced. What it does depends on the costs alone, not on how they are cut into blocks.

**Memory** does not grow with the number of rounds: it remembers the last 1,024 rounds, or as many as make a million
numbers (8 MB) on a large model, and finds periods up to half of that: 512 rounds up to 1,024 states, 52 on 10,000
states, none on a million. When a period is proposed, a new clock learns from all rounds that are remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import BEYOND_COUNTS, LARGEST_NUMBER, Form, Past
from lsmdp.learners.base import Bounds, LearnerBase
from lsmdp.learners.clock import Clock, ClockState
from lsmdp.learners.played import Played
from lsmdp.learners.protocol import Report
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# So many rounds are remembered, so that periods up to half of them are found.
_LONGEST_MEMORY = 1024
# At most this many numbers are remembered, 8 MB: a state is copied in every round of a large model.
_NUMBERS_REMEMBERED = 2**20
_ROUNDS_BEFORE_A_LOOK = 16  # Below this many rounds any lag looks like a period, so that the first look is after them.
# The mark of a period is more than so many times that of noise, so that in noise that all states share, the worst case,
# a look at 1,024 rounds proposes a period only one time in eighty.
_MARK_ABOVE_NOISE = 7.0
# Marks within this factor of the largest are as good: those of the multiples of a period are.
_SHARE_OF_THE_BEST_MARK = 0.9
# A new period must lower the share of the costs that is not told to this part of it, since with each change of the
# period all that is older than the memory is lost.
_SHARE_LEFT_UNTOLD = 0.95


class SeekState(NamedTuple):
    """After t rounds: the costs that are remembered, oldest first behind place t mod h, and the clock in use.

    The clock has seen ``seen`` rounds; the rest is that of a ClockState.
    """

    t: int
    ring: Floats
    seen: int
    forecasts: Floats
    values: Floats
    low: Floats
    high: Floats
    lo: float
    hi: float
    passes: int

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py); a period may be any that can be found."""
        h, n = self.ring.shape
        periods = range(1, max(h // 2, 1) + 1)
        tables, columns = tuple((D, n) for D in periods), tuple((D,) for D in periods)
        costs = past.costs(h, n)
        count = Form(dtype=np.int64, low=0, high=BEYOND_COUNTS)
        return {
            "t": past.number,
            "ring": costs,
            "seen": count,
            "forecasts": Form(tables, low=costs.low, high=costs.high),
            "values": Form(tables, low=0.0, high=LARGEST_NUMBER),
            "low": Form(columns),
            "high": Form(columns),
            "lo": Form(),
            "hi": Form(),
            "passes": count,
        }

    @property
    def period(self) -> int:
        """That of the clock in use."""
        return len(self.values)

    @property
    def clock(self) -> ClockState:
        """What the clock in use knows."""
        sizes = {len(part) for part in (self.forecasts, self.values, self.low, self.high)}
        if len(sizes) > 1:
            raise SpecError(f"the arrays of a clock have {' and '.join(map(str, sorted(sizes)))} slots. Begin anew.")
        return ClockState(*self[2:])


@dataclass(frozen=True)
class SeekTheClock(LearnerBase):
    """A clock that looks for its period among those of up to half of the rounds that it remembers."""

    @property
    def name(self) -> str:
        """seek."""
        return "seek"

    def init(self, lmdp: LMDP) -> SeekState:
        """A clock of period 1, and nothing to remember."""
        rounds = max(1, min(_LONGEST_MEMORY, _NUMBERS_REMEMBERED // lmdp.n))
        return SeekState(0, np.zeros((rounds, lmdp.n)), *Clock(1).init(lmdp))

    def policy(self, lmdp: LMDP, state: SeekState) -> Policy:
        """That of the clock in use."""
        return Clock(state.period).policy(lmdp, state.clock)

    def takes_blocks(self, lmdp: LMDP, state: SeekState) -> bool:
        """As many rounds as there are: what is remembered is copied once for all of them."""
        return True

    def observe_block(self, lmdp: LMDP, state: SeekState, costs: Floats, policy: Policy | None = None) -> Played:
        """The clock in use takes in the costs, and between two rounds there may be another."""
        t, ring, clock, period = state.t, state.ring.copy(), state.clock, state.period
        parts: list[Played] = []
        done = 0
        while done < len(costs):
            last = min(len(costs), next_look(t + done + 1, len(ring)) - t)
            here = costs[done:last]
            parts.append(Clock(period).observe_block(lmdp, clock, here))
            clock = parts[-1].state
            ring[(t + np.arange(done, last)[-len(ring) :]) % len(ring)] = here[-len(ring) :]
            done = last
            if t + done == next_look(t + done, len(ring)):
                known = np.roll(ring, -((t + done) % len(ring)), axis=0)[-min(t + done, len(ring)) :]
                found = proposed(known, period)
                if found != period:
                    period, clock = found, _taught(lmdp, found, known)
        values = [row for part in parts for row in part.values[:-1]]
        values.append(Clock(period).policy(lmdp, clock).v)
        lo, hi, steps = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        return Played(np.array(values), lo, hi, steps, SeekState(t + len(costs), ring, *clock))

    def report(self, before: SeekState, after: SeekState) -> Report:
        """The bounds of the plan that was played, for the forecasts, and the passes that the next one took."""
        return Report(before.lo, before.hi, after.passes)

    def bounds(self, lmdp: LMDP, state: SeekState) -> Bounds:
        """Bounds on the average cost of the plan, per round, if every slot cost what is forecast."""
        return state.lo, state.hi


def next_look(t: int, memory: int) -> int:
    """The first round that is not before t after which it looks for a period."""
    half = max(memory // 2, 1)
    if t > memory:
        return -(-t // half) * half
    look = _ROUNDS_BEFORE_A_LOOK
    while look < t:
        look = look * 3 // 2 if look & (look - 1) == 0 else look * 4 // 3
    return look if look <= memory else -(-max(t, _ROUNDS_BEFORE_A_LOOK) // half) * half


def proposed(costs: Floats, period: int) -> int:
    """The period that these costs show, one row a round; the one in use where they show no better one."""
    rho = autocorrelation(costs)
    marks = marks_of(rho)
    shown = marks > _MARK_ABOVE_NOISE / np.sqrt(len(costs) - np.arange(marks.size))
    if marks.size < 3 or not shown.any():
        return period
    good = np.flatnonzero(shown & (marks >= _SHARE_OF_THE_BEST_MARK * marks[shown].max()))
    first = good[good - np.arange(good.size) == good[0]]  # consecutive ones
    told = {int(lag): float(rho[lag::lag].mean()) for lag in first}
    best = max(told, key=lambda lag: told[lag])
    if best == marks.size - 1:
        return period
    in_use = float(rho[period::period].mean()) if 1 < period < rho.size else -1.0
    return best if 1.0 - told[best] < _SHARE_LEFT_UNTOLD * (1.0 - in_use) else period


def autocorrelation(costs: Floats) -> Floats:
    """rho for each lag d = 0, ..., h/2; zeros where all costs are the same."""
    rounds = len(costs)
    with np.errstate(over="ignore", invalid="ignore"):  # squares beyond floats show no period
        apart = costs - costs.mean(axis=0)
        power = np.square(np.abs(np.fft.rfft(apart, 2 * rounds, axis=0))).sum(axis=1)
        products = np.fft.irfft(power)[: rounds // 2 + 1]
        sums = np.append(0.0, np.square(apart).sum(axis=1).cumsum())
        lags = np.arange(products.size)
        squares = sums[rounds - lags] + (sums[-1] - sums[lags])
        return np.asarray(np.divide(2.0 * products, squares, out=np.zeros(lags.size), where=squares > 0.0))


def marks_of(rho: Floats) -> Floats:
    """For each lag: how far the autocorrelation lies above its least value before."""
    return np.asarray(np.append(0.0, (rho[1:] - np.minimum.accumulate(rho)[:-1]).clip(min=0.0)))


def _taught(lmdp: LMDP, period: int, costs: Floats) -> ClockState:
    """A new clock that has seen these rounds."""
    clock = Clock(period)
    after: ClockState = clock.observe_block(lmdp, clock.init(lmdp), costs).state
    return after
