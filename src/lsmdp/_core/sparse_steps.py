"""Bellman updates for a mean of the costs: how to track a leader among many states without a solve.

With the mean c of the costs after a round, of whatever kind it is, the first update is

    once = B v = v + (c + b),    b = min v - v - T log P e^{(min v - v)/T}    (eq:bellman_V),

With the mean *before* the round in place of c, the extremes of c + b bound the optimum that the policy of v was chosen
for (sparse.py). Where that
policy was played and v is flat, its flow is known, and with it b: then the first update does not read P.
"""

from __future__ import annotations

from typing import NamedTuple

from lsmdp._core import sparse
from lsmdp._core.means import NO_COST, MeanCost
from lsmdp._core.sparse import Flow
from lsmdp.arrays import CSR, Floats, read_only


class Updated(NamedTuple):
    """The new v, from 0, with the bounds that the old v proves for the old mean."""

    v: Floats
    lo: float
    hi: float


def update(
    P: CSR,
    temperature: float,
    before: MeanCost,
    mean: MeanCost,
    v: Floats,
    known: Flow | None,
    *,
    steps: int,
    averaged: bool,
    slack: float = 0.0,
) -> Updated:
    """v <- B v, or (B v + B B v) / 2, ``steps`` times, for the mean after the round; ``known`` is the flow of v.

    ``before`` is the mean before the round.
    """
    if known is None or not known.flat:
        new, lo, hi = sparse.update(P, before, v, temperature, mean, 1.0, slack)
    else:
        new = known.base
        new += mean.part(0, v.size)
        new += v
        lo, hi = sparse.bounds(P, known, before.part(0, v.size), slack)
    for share in [0.5] * averaged + ([1.0] + [0.5] * averaged) * (steps - 1):
        new, _, _ = sparse.update(P, NO_COST, new, temperature, mean, share)
    new -= new.min()
    return Updated(read_only(new), lo, hi)
