"""Means of the costs so far: all of them, discounted, or those in a window.

What goes in are the costs c_{t+1}, c_{t+2}, ... of some rounds, a row each, and what is known of the t rounds before;
what comes out is a mean for each of these rounds (or a sum, and by how much to divide it):

    all of them     s_t / (t + kappa)  with the sum  s_t = s_{t-1} + c_t,
    discounted      m_t = beta m_{t-1} + (1 - beta) c_t,
    in a window     (c_{t-w+1} + ... + c_t) / w,  or over t where there are fewer than w.

The bits of each are the same wherever the rounds are cut into blocks: every entry is the result of the same additions
in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry
from lsmdp.arrays import Floats


def running_sums(c_sum: Floats, costs: Floats) -> Floats:
    """The sum of all costs after each round; c_sum is that of the rounds before."""
    return _carried(c_sum, costs, 1.0, 1.0) if len(costs) > 1 else np.asarray(c_sum + costs)


def mean_costs(c_sum: Floats, costs: Floats, t: int, kappa: float = 0.0) -> tuple[Floats, Callable[[], Floats]]:
    """The mean of all costs after each round, and what gives their sum; c_sum is the sum of the t rounds before.

    ``kappa`` rounds of zero cost count in the mean. The sum of a single round is made when it is asked for: on a large
    model, that spares an array meanwhile.
    """
    means = running_sums(c_sum, costs)
    total = means[-1].copy() if len(costs) > 1 else None
    means /= (t + 1 + np.arange(len(costs)) + kappa)[:, np.newaxis]
    return means, lambda: running_sums(c_sum, costs)[0] if total is None else total


class MeanCost(NamedTuple):
    """A mean cost: a sum, over how many it is of. Without states where there is none.

    The quotients are made where they are used: on a large model, new memory takes longer than what is computed in it.
    """

    total: Floats
    over: float

    def part(self, first: int, last: int) -> Floats:
        """The mean in these states."""
        return self.total[first:last] / self.over


NO_COST = MeanCost(np.empty(0), 1.0)  # Where nothing is to be bounded, there is no cost to bound it for.


class TrackedCosts(NamedTuple):
    """A mean cost to track: ``before`` some rounds, and after each of them a row of ``sums`` over its count."""

    before: MeanCost
    sums: Floats
    counts: Floats

    @classmethod
    def of(cls, c_sum: Floats, costs: Floats, t: int) -> TrackedCosts:
        """The mean of all costs; c_sum is the sum of the t rounds before."""
        counts = np.arange(t + 1, t + 1 + len(costs), dtype=np.float64)
        return cls(MeanCost(c_sum, float(max(t, 1))), running_sums(c_sum, costs), counts)

    @classmethod
    def of_means(cls, before: Floats, means: Floats) -> TrackedCosts:
        """Means that are known: before the rounds, and a row after each of them."""
        return cls(MeanCost(before, 1.0), means, np.ones(len(means)))

    def after(self, k: int) -> MeanCost:
        """The mean after so many of the rounds."""
        return MeanCost(self.sums[k - 1], float(self.counts[k - 1])) if k > 0 else self.before

    @property
    def means(self) -> Floats:
        """All of them, a row each, that before the first round first."""
        return np.vstack([self.before.part(0, self.before.total.size), self.sums / self.counts[:, np.newaxis]])


def discounted_means(mean: Floats, costs: Floats, beta: float) -> Floats:
    """c~ <- beta c~ + (1 - beta) c for each row of costs."""
    return _carried(mean, costs, beta, 1.0 - beta)


def _carried(before: Floats, costs: Floats, keep: float, add: float) -> Floats:
    rows = np.array(costs, dtype=np.float64, order="C")
    _carry(np.array(before, dtype=np.float64), keep, add, rows)
    return rows


@entry()
def _carry(last: Any, keep: float, add: float, rows: Any) -> None:
    """Each row becomes keep times the one before plus add times itself; ``last`` is before the first."""
    for t in range(rows.shape[0]):
        row = rows[t]
        for x in range(row.size):
            row[x] = keep * last[x] + add * row[x]
        last = row


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
