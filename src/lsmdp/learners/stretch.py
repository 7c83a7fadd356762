"""What a learner does in consecutive rounds.

A learner may have a fourth method, ``observe_all(lmdp, state, costs)``: what ``observe`` would do for each row of
costs, as one :class:`Stretch`. It is the same arithmetic, so that a game may be cut into stretches anywhere. On a model
that is small enough (small.py) the stretch is one call of compiled code, and ``observe`` is a stretch of one round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.learners.base import State


class Stretch(NamedTuple):
    """What a learner plays in consecutive rounds, what it reports of each, and its state after them.

    Row k of ``values`` is played in the k-th round; the last row, one more than the rounds, is for the round after.
    """

    values: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    state: State


def unmoved(v: Floats, rounds: int, state: State) -> Stretch:
    """The same v in all rounds, and nothing claimed of it."""
    nothing = np.full(rounds, np.nan)
    return Stretch(np.tile(v, (rounds + 1, 1)), nothing, nothing, np.zeros(rounds, np.int64), state)


def running_sums(c_sum: Floats, costs: Floats) -> Floats:
    """The sum of all costs after each round: the same bits wherever the rounds are cut."""
    sums = np.array(costs)
    sums[0] += c_sum
    return sums if len(sums) == 1 else np.add.accumulate(sums, axis=0, out=sums)  # which is slow for a single row
