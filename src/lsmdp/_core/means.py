"""Means of the costs so far: of all of them, discounted, or in a window.

The bits of a mean do not depend on how the rounds are cut into blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lsmdp.arrays import Floats, frozen


def mean_costs(c_sum: Floats, costs: Floats, t: int, kappa: float = 0.0) -> Floats:
    """The mean of all costs after each round; c_sum is the sum of the t rounds before.

    ``kappa`` rounds of zero cost count in the mean.
    """
    means = np.empty(costs.shape)
    _running_means(_given(c_sum), _given(costs), t, kappa, np.empty(c_sum.size), means)
    return means


def sum_of_costs(c_sum: Floats, costs: Floats) -> Floats:
    """The sum of all costs after the last of some rounds; c_sum is the sum of those before."""
    if len(costs) == 1:
        return np.asarray(c_sum + costs[0])
    total = c_sum.copy()
    _running_means(_given(c_sum), _given(costs), 0, 0.0, total, np.empty((0, c_sum.size)))
    return total


def _given(array: Floats) -> Floats:
    """One kind of array, contiguous and read-only: the loops would be compiled anew for each kind."""
    return frozen(np.ascontiguousarray(array))


@njit(cache=True, error_model="numpy")
def _running_means(c_sum: Any, costs: Any, t: int, kappa: float, total: Any, means: Any) -> None:
    """The total after the last round, and as many means as there is room for."""
    for k in range(costs.shape[0]):
        before, weight = c_sum if k == 0 else total, (t + k + 1) + kappa
        if k < means.shape[0]:
            for x in range(total.size):
                s = before[x] + costs[k, x]
                total[x], means[k, x] = s, s / weight
        else:
            for x in range(total.size):
                total[x] = before[x] + costs[k, x]


@njit(cache=True, error_model="numpy")
def discounted_means(mean: Any, costs: Any, beta: float) -> Any:
    """c~ <- beta c~ + (1 - beta) c for each row of costs."""
    rounds, n = costs.shape
    means = np.empty((rounds, n))
    for t in range(rounds):
        before = mean if t == 0 else means[t - 1]
        for x in range(n):
            means[t, x] = beta * before[x] + (1.0 - beta) * costs[t, x]
    return means


@njit(cache=True, error_model="numpy")
def window_means(ring: Any, costs: Any, t: int) -> Any:
    """The mean of the ring after each row of costs has taken the place of its oldest; t rounds were before.

    It is summed anew each round: what is added and taken away again would leave rounding errors behind.
    """
    width, n = ring.shape
    means = np.zeros((costs.shape[0], n))
    for k in range(costs.shape[0]):
        ring[(t + k) % width] = costs[k]
        for i in range(width):
            for x in range(n):
                means[k, x] += ring[i, x]
        for x in range(n):
            means[k, x] /= min(t + k + 1, width)
    return means
