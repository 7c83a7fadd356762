"""What a learner does in consecutive rounds.

A learner may have a fourth method, ``observe_all(lmdp, state, costs)``: what ``observe`` would do for each row of
costs, as one :class:`Stretch`. It is the same arithmetic, so that a game may be cut into stretches anywhere. On a model
that is small enough (small.py) the stretch is one call of compiled code, and ``observe`` is a stretch of one round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import Floats, Ints
from lsmdp.learners.base import State
from lsmdp.small import UNKNOWN, given


class Stretch(NamedTuple):
    """What a learner plays in consecutive rounds, what it reports of each, and its state after them.

    Row k of ``values`` is played in the k-th round; the last row, one more than the rounds, is for the round after.
    ``sums`` holds what their certificates have summed up (small.py), so that the books need not do it again.
    """

    values: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    state: State
    sums: Floats = UNKNOWN


def unmoved(v: Floats, rounds: int, state: State) -> Stretch:
    """The same v in all rounds, and nothing claimed of it."""
    nothing = np.full(rounds, np.nan)
    return Stretch(np.tile(v, (rounds + 1, 1)), nothing, nothing, np.zeros(rounds, np.int64), state)


def running_means(c_sum: Floats, costs: Floats, t: int, kappa: float = 0.0) -> tuple[Floats, Floats]:
    """The sum and the mean of all costs after each round; c_sum is the sum of the t rounds before.

    ``kappa`` rounds of zero cost count in the mean. The bits are the same wherever the rounds are cut.
    """
    sums, means = np.empty(costs.shape), np.empty(costs.shape)
    _running_means(given(c_sum), given(costs), t, kappa, sums, means)
    return sums, means


def last(rows: Floats) -> Floats:
    """The last row, without the others behind it."""
    return np.asarray(rows[-1].copy() if len(rows) > 1 else rows[0])


@njit(cache=True, error_model="numpy")
def _running_means(c_sum: Any, costs: Any, t: int, kappa: float, sums: Any, means: Any) -> None:
    for k in range(costs.shape[0]):
        before, weight = c_sum if k == 0 else sums[k - 1], (t + k + 1) + kappa
        for x in range(c_sum.size):
            sums[k, x] = before[x] + costs[k, x]
            means[k, x] = sums[k, x] / weight
