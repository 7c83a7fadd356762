"""Laws and values along a fixed sequence of costs: what a policy pays, and what the best plan would.

``push_along`` carries a law forward, round by round, through one policy or through one policy a round. ``values_back``
carries the optimal cost of the rounds to come backwards, with a bound on its rounding. ``slopes_back`` carries the cost
of a fixed policy backwards, for the derivatives of that cost. ``add_costs`` sums costs up without losing a digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry
from lsmdp._core.explog import exponentials
from lsmdp._core.sparse import flat_sums, logs_of, steep_sums
from lsmdp.arrays import EPS

# Up to this exponent one scale serves all rows: their sums are at least e^-460 > 1e-200, far above what floats lose.
_LARGEST_EXPONENT = 460.0
# A term below 1e-308 has lost so many units of EPS, a number that is itself a float of full precision.
_LOST_BY_A_TERM = 1e-323 / EPS


@entry()
def values_back(P: Any, temperature: float, costs: Any, values: Any, minima: Any, errors: Any, space: Any) -> None:
    """values[t] = V^_t from values[t+1], minima[t] = a_t and errors[t] >= max|e_t|, for the last round first.

    One scale m = 0 serves mostly, since the least of each V^ is 0. Where V^ spans too much, m is the smallest V^ among
    the successors of each state. ``space`` has four rows.
    """
    indptr, indices, data = P
    d, w, s, m = space[0], space[1], space[2], space[3]
    first: Any = np.int64(0)  # a 0 would be compiled apart
    for t in range(costs.shape[0] - 1, -1, -1):
        ahead, here, lowest, highest, worst = values[t + 1], values[t], np.inf, 0.0, 0.0
        for y in range(d.size):
            m[y], d[y] = 0.0, ahead[y] / temperature
            highest = d[y] if d[y] > highest else highest
        if highest <= _LARGEST_EXPONENT:
            exponentials(d, w)
            flat_sums(indptr, indices, data, w, first, s.size, s)
        else:
            steep_sums(P, ahead, temperature, first, m, s)
        logs_of(s, d)
        highest = -np.inf
        for x in range(s.size):
            step, entries = costs[t, x] + m[x], np.float64(indptr[x + 1] - indptr[x])
            value = step - temperature * d[x]  # eq:bellman_V
            error = temperature * (entries * (3.0 + _LOST_BY_A_TERM / s[x]) + 2.0 + 5.0 * abs(d[x]))
            error += abs(step) + abs(value)
            here[x] = value
            lowest = value if value < lowest else lowest
            highest = value if value > highest else highest
            worst = error if error > worst else worst
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


@entry(allocates=True)
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
            lowest[x] = c if c < lowest[x] else lowest[x]
            highest[x] = c if c > highest[x] else highest[x]
