"""The plan of a day whose costs are forecast slot by slot, renewed round after round (learners/clock.py).

A day has D slots. The plan holds, for each slot k, a forecast of its cost and a v_k, and aims at

    v_k + const = B_k v_{k+1 mod D},    (B_k v)(x) = c_k(x) - T log sum_y P(x,y) e^{-v(y)/T},

with slots that count from 0. One array has a row for each slot, and two numbers a slot enclose every entry of
B_k v_{k+1} - v_k: where v_k was just made, they differ by rounding alone; where c_k or v_{k+1} has changed since, B_k
being monotone, they are moved by the least and by the largest of the changes. The *width* of a slot is their distance.
So it is known at all times how far each slot is from its equation, and that takes no pass over P. Summed up over the
day they bound the least average cost for the forecasts, and that of the policies of the plan:

    sum_k low_k / D <= lambda, J <= sum_k high_k / D,

since B_0 ... B_{D-1} v_0 is v_0 plus something between the two sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry, inner
from lsmdp._core.hindsight import values_back
from lsmdp.arrays import EPS


class Day(NamedTuple):
    """For each slot: the forecast of its cost, its v (least entry 0), and bounds on all of B_k v_{k+1} - v_k."""

    forecasts: Any
    values: Any
    low: Any
    high: Any


class Manner(NamedTuple):
    """Temperature, the least weight of a new cost in its forecast, the width from which a slot is renewed, the slack.

    By the slack all bounds are wider, in units of the cost.
    """

    temperature: float
    weight: float
    tolerance: float
    slack: float


class PlayedDays(NamedTuple):
    """What was played: the v of each round and of the round after, bounds before each round, and passes after it."""

    values: Any
    lo: Any
    hi: Any
    passes: Any


@entry(allocates=True)
def keep_plan(P: Any, manner: Any, t: int, costs: Any, day: Any, kept: Any) -> None:
    """Take in the costs of the rounds after the t-th, one for each row; each time, renew what is stale in the day."""
    D, n = day.values.shape
    work, ends = np.empty((6, n)), np.empty((2, 1))
    for i in range(costs.shape[0]):
        k, first_day = (t + i) % D, t + i < D
        kept.values[i] = day.values[(k + 1) % D]
        kept.lo[i], kept.hi[i] = enclosed(day, manner.slack)
        visits = (t + i) // D + 1
        _forecast(day, k, costs[i], max(1.0 / visits, manner.weight))
        afresh = first_day and _is_due(t + i + 1)
        if afresh:
            _guess(day, k, work[0])
        kept.passes[i] = 0
        for back in range(D):
            j = (k - back) % D
            if day.high[j] - day.low[j] >= manner.tolerance:
                _renew(P, manner.temperature, day, j, work, ends)
                kept.passes[i] += 1
            elif not afresh:
                break
    kept.values[costs.shape[0]] = day.values[(t + costs.shape[0] + 1) % D]


@entry()
def enclosed(day: Any, slack: float) -> tuple[float, float]:
    """Bounds on the least average cost for the forecasts, and on that of the policies of the plan."""
    D, low, high, size = day.low.size, 0.0, 0.0, 0.0
    for k in range(D):
        low += day.low[k]
        high += day.high[k]
        size += abs(day.low[k]) + abs(day.high[k])
    rounding = EPS * (D + 2.0) * size
    return (low - rounding) / D - slack, (high + rounding) / D + slack


@inner()
def _is_due(t: int) -> bool:
    """Whether slots that were never seen are forecast anew after round t: each time t has grown by an eighth or so."""
    stride = 1
    while 16 * stride <= t:
        stride *= 2
    return t % stride == 0


@inner()
def _forecast(day: Any, k: int, cost: Any, weight: float) -> None:
    """Move the forecast of slot k towards a cost."""
    least, most = np.inf, -np.inf
    for x in range(cost.size):
        before = day.forecasts[k, x]
        after = before + weight * (cost[x] - before) if weight < 1.0 else cost[x]
        least, most = min(least, after - before), max(most, after - before)
        day.forecasts[k, x] = after
    _shift(day, k, least, most)


@inner()
def _guess(day: Any, k: int, mean: Any) -> None:
    """On the first day, forecast the slots after k by the mean of the costs up to k."""
    for x in range(mean.size):
        mean[x] = 0.0
        for j in range(k + 1):
            mean[x] += day.forecasts[j, x]
        mean[x] /= k + 1
    for j in range(k + 1, day.low.size):
        _forecast(day, j, mean, 1.0)


@inner(allocates=True)
def _renew(P: Any, temperature: float, day: Any, j: int, work: Any, ends: Any) -> None:
    """v_j = B_j v_{j+1}, less its minimum; ``work`` has two rows for them, and four that they are computed with."""
    D = day.low.size
    work[1] = day.values[(j + 1) % D]
    values_back(P, temperature, day.forecasts[j : j + 1], work[:2], ends[0], ends[1], work[2:])
    day.low[j], day.high[j] = ends[0, 0] - ends[1, 0], ends[0, 0] + ends[1, 0]
    least, most = np.inf, -np.inf
    for x in range(work.shape[1]):
        change = work[0, x] - day.values[j, x]
        least, most = min(least, change), max(most, change)
        day.values[j, x] = work[0, x]
    _shift(day, (j - 1) % D, least, most)


@inner()
def _shift(day: Any, k: int, least: float, most: float) -> None:
    """The entries of B_k v_{k+1} - v_k have changed by something between these, which were rounded."""
    rounding = 2.0 * EPS * (abs(day.low[k]) + abs(day.high[k]) + abs(least) + abs(most))
    day.low[k] += least - rounding
    day.high[k] += most + rounding
