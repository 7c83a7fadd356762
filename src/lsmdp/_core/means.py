"""Means of the costs so far: all of them, discounted, or those in a window.

The bits of each are the same wherever the rounds are cut into blocks: every entry is the result of the same additions
in the same order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from lsmdp._core.compile import entry
from lsmdp.arrays import Floats

# From so many states on, rows are added one after the other: numpy's accumulate goes down a column at a time.
_STATES_OF_A_LONG_ROW = 200


def running_sums(c_sum: Floats, costs: Floats) -> Floats:
    """The sum of all costs after each round; c_sum is that of the rounds before."""
    sums = np.array(costs, dtype=np.float64)
    sums[:1] += c_sum
    if c_sum.size < _STATES_OF_A_LONG_ROW:
        return np.asarray(np.add.accumulate(sums, axis=0, out=sums))
    for before, after in pairwise(sums):
        after += before
    return sums


def mean_costs(c_sum: Floats, costs: Floats, t: int, kappa: float = 0.0) -> Floats:
    """The mean of all costs after each round; c_sum is the sum of the t rounds before.

    ``kappa`` rounds of zero cost count in the mean.
    """
    means = running_sums(c_sum, costs)
    means /= (t + 1 + np.arange(len(costs)) + kappa)[:, np.newaxis]
    return means


def sum_of_costs(c_sum: Floats, costs: Floats) -> Floats:
    """The sum of all costs after the last of some rounds; c_sum is the sum of those before."""
    if len(costs) > 1 and c_sum.size < _STATES_OF_A_LONG_ROW:
        return np.array(running_sums(c_sum, costs)[-1])
    total = c_sum.copy()
    for cost in costs:
        total += cost
    return total


@entry(allocates=True)
def discounted_means(mean: Any, costs: Any, beta: float) -> Any:
    """c~ <- beta c~ + (1 - beta) c for each row of costs."""
    rounds, n = costs.shape
    means = np.empty((rounds, n))
    for t in range(rounds):
        for x in range(n):
            before = mean[x] if t == 0 else means[t - 1, x]
            means[t, x] = beta * before + (1.0 - beta) * costs[t, x]
    return means


def window_means(ring: Floats, costs: Floats, t: int) -> Floats:
    """The mean of the last costs after each row of ``costs``, which takes the place of the oldest in the ring.

    t rounds were before; places of the ring that were never filled hold zeros. Each mean is summed anew, the oldest
    cost first: what is added and taken away again would leave rounding errors behind.
    """
    width, rounds = len(ring), len(costs)
    seen = np.concatenate([np.roll(ring, -(t % width), axis=0)[1:], costs])
    if rounds < width:
        sums = np.stack([np.add.accumulate(seen[k : k + width], axis=0)[-1] for k in range(rounds)])
    else:
        sums = seen[:rounds].copy()
        for k in range(1, width):
            sums += seen[k : k + rounds]
    last = seen[-width:]
    ring[(t + rounds - width + np.arange(width)) % width] = last
    return np.asarray(sums / np.minimum(t + 1 + np.arange(rounds), width)[:, np.newaxis])
