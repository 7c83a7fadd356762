"""Bellman updates for the mean of the costs: how to track a leader among many states without a solve.

With the sum S of the costs before round t and the new cost c, the first update is for the mean of both:

    once = B v = v + ((S + c)/t + b),    b = min v - v - T log P e^{(min v - v)/T}    (eq:bellman_V),

where S/(t - 1) + b in place of it bounds what the policy of v is worth (sparse.py). Where that policy was played, its
flow is known, and with it b: then the first update does not read P.
"""

from __future__ import annotations

from typing import NamedTuple

from lsmdp._core.sparse import Flow, bounds, evaluate, flow
from lsmdp.arrays import CSR, Floats, read_only


class Updated(NamedTuple):
    """The new sum of the costs and the new v, from 0, with the bounds that the old v proves for the old mean."""

    c_sum: Floats
    v: Floats
    lo: float
    hi: float


def update(
    P: CSR,
    temperature: float,
    c_sum: Floats,
    c_t: Floats,
    t: int,
    v: Floats,
    known: Flow | None,
    *,
    steps: int,
    averaged: bool,
    slack: float = 0.0,
) -> Updated:
    """v <- B v, or (B v + B B v) / 2, ``steps`` times; t counts c_t, and ``known`` is the flow of v."""
    before = c_sum / max(t - 1, 1)
    if known is None:
        known, lo, hi = evaluate(P, before, v, temperature, slack)
    else:
        lo, hi = bounds(P, known, before, slack)
    total = c_sum + c_t
    mean = total / t
    new = _moved(v, known, mean, 1.0)
    for share in [0.5] * averaged + ([1.0] + [0.5] * averaged) * (steps - 1):
        new = _moved(new, flow(P, new, temperature), mean, share)
    new -= new.min()
    return Updated(total, read_only(new), lo, hi)


def _moved(v: Floats, of: Flow, mean: Floats, share: float) -> Floats:
    """v + share (B v - v)."""
    step = of.base
    step += mean
    step *= share
    step += v
    return step
