"""Laws and values along a fixed sequence of costs: what a policy pays, and what the best plan would.

``push_along`` carries a law forward, round by round, through one policy or through one policy a round. ``values_back``
carries the optimal cost of the rounds to come backwards, with a bound on its rounding. ``divergences_along`` follows
what was played and says how far it is from the best plan. ``slopes_back`` carries the cost of a fixed policy backwards,
for the derivatives of that cost. ``add_costs`` sums costs up without losing a digit.

**Divergences.** With d = (v - min v)/T, w = e^{-d}, s = P w for the v that is played, and D, W, S for that of the plan,

    KL(Q_v || Q_V)(x) = -sum_y q y' = sum_y q (e^y' - 1 - y'),    y' = log(Q_V/Q_v) = (d - D)(y) + log(s/S)(x).

The first sum takes no exponential for each move. It cancels where the two policies are close: then the second, which
does not, is taken in its place. Each y' is off by some eps (d + D), and so is the first sum: it has lost no more than
two digits of it where it is at least a hundredth of sum_y q |y'|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry
from lsmdp._core.explog import excess, exponentials, extremes
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE, flat_sums, logs_of
from lsmdp.arrays import EPS

_LEAST_SUM = 1e-200  # Beside a sum of this size, k terms of e^-700 or less are nothing.
_LOST_BY_A_TERM = 1e-323 / EPS  # What a term below 1e-308 has lost, in units of EPS: itself a float of full precision.
_LARGEST_EXPONENT = 700.0  # e^-700 is a float of full precision; exponents beyond count as this one.
_SHARE_OF_A_SUM = 0.01  # Where less than this share is left of a sum of terms with both signs, two digits are gone.


@entry()
def values_back(P: Any, temperature: float, costs: Any, values: Any, minima: Any, errors: Any) -> None:
    """values[t] = V^_t from values[t+1], minima[t] = a_t and errors[t] >= max|e_t|, for the last round first.

    One scale m = 0 serves nearly all rows, since the least of each V^ is 0. Where the sum of a row would underflow, m
    is the smallest V^ among its successors.
    """
    indptr, indices, data = P
    space = np.empty((4, costs.shape[1]))
    d, w, s, logs = space[0], space[1], space[2], space[3]
    for t in range(costs.shape[0] - 1, -1, -1):
        ahead, here, lowest, highest, worst = values[t + 1], values[t], np.inf, -np.inf, 0.0
        for y in range(d.size):
            d[y] = ahead[y] / temperature
            if d[y] > _LARGEST_EXPONENT:
                d[y] = _LARGEST_EXPONENT
        exponentials(d, w)
        flat_sums(indptr, indices, data, w, np.int64(0), s.size, s)
        m = d
        for x in range(s.size):
            m[x] = 0.0
            if s[x] <= _LEAST_SUM:
                m[x], s[x] = np.inf, 0.0
                for p in range(indptr[x], indptr[x + 1]):
                    if ahead[indices[p]] < m[x]:
                        m[x] = ahead[indices[p]]
                for p in range(indptr[x], indptr[x + 1]):
                    s[x] += data[p] * np.exp(-(ahead[indices[p]] - m[x]) / temperature)
        logs_of(s, logs)
        for x in range(s.size):
            step, entries = costs[t, x] + m[x], np.float64(indptr[x + 1] - indptr[x])
            value = step - temperature * logs[x]  # eq:bellman_V
            error = temperature * (3.0 * entries + 2.0 + 5.0 * abs(logs[x])) + abs(step) + abs(value)
            error += temperature * entries * (_LOST_BY_A_TERM / s[x])
            here[x] = value
            if value < lowest:
                lowest = value
            if value > highest:
                highest = value
            if error > worst:
                worst = error
        for x in range(s.size):
            here[x] -= lowest
        minima[t], errors[t] = lowest, EPS * (worst + (highest - lowest))


@entry()
def push_along(P: Any, chances: Any, laws: Any) -> None:
    """laws[t+1] = laws[t] Q_t, divided by its sum; chances[t] are the entries of Q_t, or chances[0] in all rounds."""
    indptr, indices = P.indptr, P.indices
    for t in range(laws.shape[0] - 1):
        before, after, total = laws[t], laws[t + 1], 0.0
        entries = chances[t] if chances.shape[0] > 1 else chances[0]
        for x in range(after.size):
            after[x] = 0.0
        for x in range(before.size):
            if before[x] > 0.0:
                for p in range(indptr[x], indptr[x + 1]):
                    after[indices[p]] += before[x] * entries[p]
        for x in range(after.size):
            total += after[x]
        for x in range(after.size):
            after[x] /= total


@entry()
def divergences_along(P: Any, temperature: float, played: Any, plan: Any, law: Any, found: Any, by_state: Any) -> int:
    """Rounds done, from the first up to the first whose values span too much for one scale; ``law`` moves on with them.

    Q_t has the values played[t], and the plan those of plan[t]. found[t] becomes p_t.KL(Q_t || Q*_t), the largest
    KL(Q_t || Q*_t)(x), and the spans of both values; p_t(x) KL(Q_t || Q*_t)(x) is added to by_state.
    """
    indptr, indices, data = P
    space = np.empty((8, law.size))
    d, w, s, D, W, S, shift, after = space[0], space[1], space[2], space[3], space[4], space[5], space[6], space[7]
    for t in range(played.shape[0]):
        (low, high), (least, most) = extremes(played[t]), extremes(plan[t])
        if not max(high - low, most - least) <= SPAN_OF_ONE_SCALE * temperature:
            return t
        for y in range(law.size):
            d[y], D[y] = (played[t, y] - low) / temperature, (plan[t, y] - least) / temperature
        exponentials(d, w)
        exponentials(D, W)
        flat_sums(indptr, indices, data, w, np.int64(0), s.size, s)
        flat_sums(indptr, indices, data, W, np.int64(0), s.size, S)
        for x in range(law.size):
            d[x] -= D[x]
            D[x] = s[x] / S[x]
            after[x] = 0.0
        logs_of(D, shift)
        mean, largest, total = 0.0, 0.0, 0.0
        for x in range(law.size):
            kl, size, share = 0.0, 0.0, law[x] / s[x]
            for p in range(indptr[x], indptr[x + 1]):
                q, y = data[p] * w[indices[p]], d[indices[p]] + shift[x]
                kl -= q * y
                size += q * abs(y)
                after[indices[p]] += share * q
            if kl < _SHARE_OF_A_SUM * size:
                kl = 0.0
                for p in range(indptr[x], indptr[x + 1]):
                    kl += data[p] * w[indices[p]] * excess(d[indices[p]] + shift[x])
            kl /= s[x]
            mean += law[x] * kl
            by_state[x] += law[x] * kl
            largest = max(largest, kl)
        for x in range(law.size):
            total += after[x]
        for x in range(law.size):
            law[x] = after[x] / total
        found[t, 0], found[t, 1], found[t, 2], found[t, 3] = mean, largest, high - low, most - least
    return len(played)


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
