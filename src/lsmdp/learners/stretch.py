"""What a learner does in consecutive rounds.

A learner may have a fourth method, ``observe_all(lmdp, state, costs)``: what ``observe`` would do for each row of
costs, as one :class:`Stretch`. It is the same arithmetic, so that a game may be cut into stretches anywhere. On a model
that is small enough (full.py) the stretch is one call of compiled code, and ``observe`` is a stretch of one round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsmdp._core.full import UNKNOWN
from lsmdp._core.means import running_sums
from lsmdp.arrays import Floats, Ints
from lsmdp.learners.protocol import State


class Stretch(NamedTuple):
    """What a learner plays in consecutive rounds, what it reports of each, and its state after them.

    Row k of ``values`` is played in the k-th round; the last row, one more than the rounds, is for the round after.
    ``sums`` holds what their certificates have summed up (full.py), so that the books need not do it again.
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


def running_means(c_sum: Floats, costs: Floats, t: int, kappa: float = 0.0) -> Floats:
    """The mean of all costs after each round; c_sum is the sum of the t rounds before.

    ``kappa`` rounds of zero cost count in the mean. The bits are the same wherever the rounds are cut.
    """
    means = running_sums(c_sum, costs)
    means /= (t + 1 + np.arange(len(costs)) + kappa)[:, np.newaxis]
    return means


def running_sum(c_sum: Floats, costs: Floats) -> Floats:
    """The sum of all costs after the last round, if there is any, to the same bits."""
    return running_sums(c_sum, costs)[-1].copy() if len(costs) else c_sum.copy()
