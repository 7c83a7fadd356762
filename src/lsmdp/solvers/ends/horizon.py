"""A horizon: one pass from the last round to the first, which leaves rounding as the only error.

Values are kept at the end of every block of about sqrt(rounds) rounds. So a plan of H rounds takes the memory of
2 sqrt(H) vectors, and a policy in the middle of a block costs one pass over that block (values/schedule.py). The costs
are read block by block, the last one first.
"""

from __future__ import annotations

import math
import time

import numpy as np

from lsmdp.arrays import read_only
from lsmdp.certificates.backward import step_back
from lsmdp.ends import CostTable, Horizon
from lsmdp.model import LMDP
from lsmdp.values import Schedule


def solve_horizon(lmdp: LMDP, costs: CostTable, end: Horizon, tol: float) -> Schedule:
    """The best plan, from the last round to the first."""
    began = time.perf_counter()
    H = costs.count
    every = math.isqrt(H - 1) + 1
    blocks = -(-H // every)
    kept, least, errors = np.empty((blocks + 1, lmdp.n)), np.empty(H), np.empty(H)
    kept[-1] = end.settled(lmdp)
    everywhere = np.ones(lmdp.n, dtype=bool)
    for block in range(blocks - 1, -1, -1):
        first, last = block * every, min((block + 1) * every, H)
        table, v = costs.block(first, last), kept[block + 1]
        for t in range(last - 1, first - 1, -1):
            step = step_back(lmdp, table[t - first], v, everywhere)
            v, least[t], errors[t] = step.values, step.least, step.error
        kept[block] = v
    arrays = (read_only(kept), read_only(least), read_only(errors))
    return Schedule(lmdp, costs, end, every, *arrays, tol=tol, seconds=time.perf_counter() - began)
