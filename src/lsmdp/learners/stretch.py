"""Learning from several rounds at once, in compiled code, where the model is small enough (small.py).

A learner may have a fourth method, ``observe_all(lmdp, state, costs)``: what ``observe`` would do for each row of
costs, as one :class:`Stretch`. It is the same arithmetic, so that a game may be cut into stretches anywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsmdp import small
from lsmdp.arrays import Floats, Ints
from lsmdp.learners.base import State
from lsmdp.model import LMDP
from lsmdp.perron import solve


class Stretch(NamedTuple):
    """What a learner plays in consecutive rounds, what it reports of each, and its state after them.

    Row k of ``values`` is played in the k-th round; the last row, one more than the rounds, is for the round after.
    """

    values: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    state: State


def nothing_kept(lmdp: LMDP) -> tuple[Floats, int]:
    """The inverse that small.py keeps, and the extra steps taken with it, before the first round."""
    square = lmdp.square
    return (np.empty((0, 0)), 0) if square is None else (_inverse(lmdp, np.zeros(lmdp.n)), 0)


def lead_all(lmdp: LMDP, costs: Floats, tols: Floats, v: Floats, inverse: Floats, debt: int) -> small.Leads:
    """The leader of each row of costs, each from the last; what is too hard for small.py is solved in general."""
    square = lmdp.square
    assert square is not None
    leads = small.lead_all(square, lmdp.temperature, costs, tols, v, inverse, debt)
    while leads.done < len(costs):
        at = leads.done
        hard = solve(lmdp, costs[at], tol=float(tols[at]), start=leads.v[at - 1] if at else v)
        leads.v[at], (leads.lo[at], leads.hi[at]), leads.steps[at] = hard.v, hard.bounds, hard.iterations
        inverse = _inverse(lmdp, hard.v)
        rest = small.lead_all(square, lmdp.temperature, costs[at + 1 :], tols[at + 1 :], hard.v, inverse, 0)
        for column, more in zip(leads[1:5], rest[1:5], strict=True):
            column[at + 1 :] = more
        leads = leads._replace(done=at + 1 + rest.done, inverse=rest.inverse, debt=rest.debt)
    return leads


def _inverse(lmdp: LMDP, v: Floats) -> Floats:
    assert lmdp.square is not None
    return small.inverse_at(lmdp.square, lmdp.temperature, v)
