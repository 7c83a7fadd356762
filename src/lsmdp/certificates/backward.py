"""Steps from the end to the beginning, B_t v_{t+1}, and what they prove: for a horizon, and for a day that comes again.

Each step is exact but for rounding, which is bounded, and errors add up without growing (see the package).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core import exits
from lsmdp.arrays import EPS, Floats, as_value
from lsmdp.certificates.pairs import Pair, outward
from lsmdp.ends import CostTable
from lsmdp.errors import CostError
from lsmdp.model import LMDP


class Step(NamedTuple):
    """One step back: the values less ``least``, which keeps the numbers small, and what rounding may have done."""

    values: Floats
    least: float
    error: float


def step_back(lmdp: LMDP, c: Floats, later: Floats, everywhere: Any) -> Step:
    """B_t v_{t+1} for the cost of one round; the error is that of the difference, too."""
    b, error = exits.soft_minima(lmdp.P, later, lmdp.temperature, everywhere)
    values = c + b
    least = float(values.min())
    error += EPS * np.abs(values)
    values -= least
    return Step(values, least, float(error.max()) + EPS * float(values.max()) + lmdp.slack(c))


def horizon_bounds(lmdp: LMDP, costs: CostTable, v: Any, terminal: Floats) -> Pair:
    """What any table of values, a row a round, proves about the first round."""
    table = np.asarray(v, dtype=np.float64)
    if table.shape != (costs.count, lmdp.n):
        raise CostError(
            f"the values are {' x '.join(map(str, table.shape))}, but there are {costs.count} rounds and {lmdp.n} "
            "states. Give one row of values for each round."
        )
    everywhere, down, up = np.ones(lmdp.n, dtype=bool), [], []
    for t in range(costs.count):
        here = as_value(table[t], lmdp.n)
        later = terminal if t + 1 == costs.count else as_value(table[t + 1], lmdp.n)
        b, e = exits.soft_minima(lmdp.P, later, lmdp.temperature, everywhere)
        c = costs.block(t, t + 1)[0]
        total = c + b
        r = total - here
        e += EPS * (np.abs(total) + np.abs(r)) + lmdp.slack(c)
        down.append(float((r - e).min()))
        up.append(float((r + e).max()))
    first = as_value(table[0], lmdp.n)
    low, high = outward(math.fsum(down), math.fsum(up))
    return Pair(*outward(first + low, first + high))


class DayCertificate(NamedTuple):
    """The values of each slot, those of a day later, and what they prove."""

    values: Floats
    change: Floats
    bounds: tuple[float, float]
    rounding: float


def day_back(lmdp: LMDP, slots: CostTable, v: Floats) -> DayCertificate:
    """One day from its end to its beginning: values[k] at the beginning of slot k + 1, values[D] = v."""
    D, everywhere = slots.count, np.ones(lmdp.n, dtype=bool)
    values, least, errors = np.empty((D + 1, lmdp.n)), [], []
    values[D] = v
    costs = slots.block(0, D)
    for k in range(D - 1, -1, -1):
        step = step_back(lmdp, costs[k], values[k + 1], everywhere)
        values[k] = step.values
        least.append(step.least)
        errors.append(step.error)
    difference = values[0] - v
    change = difference + math.fsum(least)
    size = float(np.abs(difference).max()) + 2.0 * float(np.abs(change).max()) + sum(map(abs, least))
    rounding = math.fsum(errors) + EPS * size
    low, high = (float(change.min()) - rounding) / D, (float(change.max()) + rounding) / D
    bounds = outward(low, high)
    return DayCertificate(values, change, (float(bounds[0]), float(bounds[1])), rounding / D)
