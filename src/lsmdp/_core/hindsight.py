"""Laws and values along a fixed sequence of costs: what a policy pays, and what the best plan would.

``push_along`` carries a law forward, round by round, through one policy or through one policy a round. ``values_back``
carries the optimal cost of the rounds to come backwards, with a bound on its rounding. ``slopes_back`` carries the cost
of a fixed policy backwards, for the derivatives of that cost. ``add_costs`` sums costs up without losing a digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials
from lsmdp._core.sparse import flat_sums, logs_of
from lsmdp.arrays import EPS

_LEAST_SUM = 1e-200  # Beside a sum of this size, k terms of e^-700 or less are nothing.
_LARGEST_EXPONENT = 700.0  # e^-700 is a float of full precision; exponents beyond count as this one.


@inner()
def _scaled_rows(P: Any, v: Any, temperature: float, w: Any, m: Any, s: Any) -> None:
    """w = e^{-v/T}, and s = sum_y P(x,y) e^{-(v(y) - m)/T} for each row, from v >= 0.

    m = 0 serves nearly always. Where s would underflow, m is the smallest v among the successors of x.
    """
    indptr, indices, data = P
    for y in range(v.size):
        m[y] = min(v[y] / temperature, _LARGEST_EXPONENT)
    exponentials(m, w)
    flat_sums(indptr, indices, data, w, np.int64(0), s.size, s)
    for x in range(s.size):
        m[x] = 0.0
        if s[x] <= _LEAST_SUM:
            least, total = np.inf, 0.0
            for p in range(indptr[x], indptr[x + 1]):
                least = min(least, v[indices[p]])
            for p in range(indptr[x], indptr[x + 1]):
                total += data[p] * np.exp(-(v[indices[p]] - least) / temperature)
            m[x], s[x] = least, total


@entry()
def values_back(P: Any, temperature: float, costs: Any, values: Any, minima: Any, errors: Any) -> None:
    """values[t] = V^_t from values[t+1], minima[t] = a_t and errors[t] >= max|e_t|, for the last round first."""
    space = np.empty((4, costs.shape[1]))
    w, m, s, logs = space[0], space[1], space[2], space[3]
    for t in range(costs.shape[0] - 1, -1, -1):
        here, cost, lowest, highest, worst = values[t], costs[t], np.inf, -np.inf, 0.0
        _scaled_rows(P, values[t + 1], temperature, w, m, s)
        logs_of(s, logs)
        for x in range(s.size):
            step, entries = cost[x] + m[x], np.float64(P.indptr[x + 1] - P.indptr[x])
            value = step - temperature * logs[x]  # eq:bellman_V
            error = temperature * (3.0 * entries + 2.0 + 5.0 * abs(logs[x])) + abs(step) + abs(value)
            error += temperature * entries * (1e-323 / s[x]) / EPS  # what terms below the smallest float have lost
            here[x] = value
            lowest, highest, worst = min(lowest, value), max(highest, value), max(worst, error)
        for x in range(s.size):
            here[x] -= lowest
        minima[t], errors[t] = lowest, EPS * (worst + (highest - lowest))


@entry()
def push_along(P: Any, temperature: float, values: Any, laws: Any, counts: Any) -> None:
    """laws[t+1] = laws[t] Q_t, divided by its sum, where Q_t ~ P e^{-values[t]/T}, or P itself if there are no values.

    Where there is room for them, ``counts`` grows by the mass that takes each move.
    """
    indptr, indices, data = P
    chances, space = np.empty(data.size), np.empty((3, laws.shape[1]))
    w, m, s = space[0], space[1], space[2]
    for p in range(data.size):
        chances[p] = data[p]
    for t in range(laws.shape[0] - 1):
        before, after, total = laws[t], laws[t + 1], 0.0
        for x in range(after.size):
            after[x] = 0.0
        if values.shape[0] > 0:
            ahead = values[t]
            _scaled_rows(P, ahead, temperature, w, m, s)
            for x in range(before.size):
                for p in range(indptr[x], indptr[x + 1]):
                    weight = w[indices[p]] if m[x] == 0.0 else np.exp(-(ahead[indices[p]] - m[x]) / temperature)
                    chances[p] = data[p] * weight / s[x]  # eq:optQ
        for x in range(before.size):
            if before[x] > 0.0:
                for p in range(indptr[x], indptr[x + 1]):
                    after[indices[p]] += before[x] * chances[p]
        if counts.size > 0:
            for x in range(before.size):
                for p in range(indptr[x], indptr[x + 1]):
                    counts[p] += before[x] * chances[p]
        for x in range(after.size):
            total += after[x]
        for x in range(after.size):
            after[x] /= total


@entry()
def slopes_back(P: Any, control: Any, costs: Any, laws: Any, slopes: Any) -> None:
    """slopes(x,y) += sum_t p_t(x) J_{t+1}(y), with J_t = c_t + control + Q J_{t+1} less its minimum."""
    indptr, indices, data = P
    space = np.zeros((2, control.size))
    ahead, here = space[0], space[1]
    for t in range(costs.shape[0] - 1, -1, -1):
        least = np.inf
        for x in range(control.size):
            mean = 0.0
            for p in range(indptr[x], indptr[x + 1]):
                slopes[p] += laws[t, x] * ahead[indices[p]]
                mean += data[p] * ahead[indices[p]]
            here[x] = costs[t, x] + control[x] + mean
            least = min(least, here[x])
        for x in range(control.size):
            ahead[x] = here[x] - least


@entry()
def add_costs(costs: Any, total: Any, lost: Any, lowest: Any, highest: Any) -> None:
    """Add every row of costs to ``total + lost``, exactly but for the rounding of ``lost``, and widen the extremes."""
    for t in range(costs.shape[0]):
        for x in range(costs.shape[1]):
            c = costs[t, x]
            new = total[x] + c
            shadow = new - total[x]
            lost[x] += (total[x] - (new - shadow)) + (c - shadow)  # what the sum has rounded off, exactly
            total[x] = new
            lowest[x] = min(lowest[x], c)
            highest[x] = max(highest[x], c)
