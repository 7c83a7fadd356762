"""Power steps z <- g * (A z), many in one call.

A is a matrix of weights in compressed rows, g and z are positive vectors. The largest and the least ratio of g * (A z)
to z enclose the Perron root of diag(g) A, so that each step knows how far it still is from the end (solvers/power.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry, inner

_STEPS_OF_A_LOOK = 10  # So many steps are between two looks, enough to tell a contraction from an oscillation.
_LEAST_ENTRY_OF_Z = 1e-120  # Steps stop at an entry of z below this; two more steps lose at most 130 decades.


@inner()
def _step(P: Any, g: Any, z: Any, scale: float, out: Any) -> tuple[float, float]:
    """out = scale g * (A z), and the extremes of g * (A z) / z."""
    indptr, indices, data = P
    lo, hi = np.inf, 0.0
    for x in range(out.size):
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * z[indices[p]]
        s *= g[x]
        lo, hi = min(lo, s / z[x]), max(hi, s / z[x])
        out[x] = scale * s
    return lo, hi


@entry()
def power_walk(
    P: Any, g: Any, z: Any, space: Any, target: float, max_steps: int, averaging: bool
) -> tuple[int, float, float, bool]:
    """z <- g * (A z) in place, scaled, until the ratios agree within ``target`` or an entry of z is very small.

    After some steps that have not halved the gap, or from the start with ``averaging``, pairs of steps are averaged:
    z <- (A z + A A z) / 2. Returns the steps, the last gap, the contraction per step that was seen last (1: none), and
    whether pairs were averaged. ``space`` has room for two vectors.
    """
    once, twice = space[0], space[1]
    scale, rate, gap, gap_before, steps, since = 1.0, 1.0, np.inf, np.inf, 0, 0
    while steps < max_steps:
        lo, hi = _step(P, g, z, scale, once)
        gap, scale, done = np.log(hi / lo), 1.0 / np.sqrt(lo * hi), 1
        if averaging and gap > target and steps + 1 < max_steps:
            _step(P, g, once, scale, twice)
            done = 2
            for x in range(z.size):
                once[x] = (once[x] + twice[x]) / 2
        smallest, largest = np.inf, 0.0
        for x in range(z.size):
            smallest, largest = min(smallest, once[x]), max(largest, once[x])
        for x in range(z.size):
            z[x] = once[x] / largest
        steps, since = steps + done, since + done
        if gap <= target or smallest < _LEAST_ENTRY_OF_Z * largest:
            break
        if since >= _STEPS_OF_A_LOOK:
            if gap_before < np.inf:
                rate = (gap / gap_before) ** (1.0 / since)
                averaging = averaging or gap > gap_before / 2
            gap_before, since = gap, 0
    return steps, gap, rate, averaging
