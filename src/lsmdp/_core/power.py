"""Power steps, many in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry, inner


@inner()
def _power_step(
    indptr: Any, indices: Any, data: Any, g: Any, z: Any, scale: float, out: Any
) -> tuple[float, float, float]:
    lo, hi, smallest = np.inf, 0.0, np.inf
    for x in range(z.size):
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * z[indices[p]]
        s *= g[x]
        ratio = s / z[x]
        lo = min(lo, ratio)
        hi = max(hi, ratio)
        s *= scale
        out[x] = s
        smallest = min(smallest, s)
    return lo, hi, smallest


@entry()
def _power_walk(
    indptr: Any,
    indices: Any,
    data: Any,
    g: Any,
    z: Any,
    out: Any,
    second: Any,
    target: float,
    max_steps: int,
    averaging: bool,
    block: int,
    smallest_allowed: float,
) -> tuple[int, float, float, bool]:
    scale, rate, gap = 1.0, 1.0, np.inf
    gap_before = np.inf
    steps, since = 0, 0
    while steps < max_steps:
        lo, hi, smallest = _power_step(indptr, indices, data, g, z, scale, out)
        steps += 1
        since += 1
        gap, scale = np.log(hi / lo), 1.0 / np.sqrt(lo * hi)
        if averaging and gap > target and steps < max_steps:
            _power_step(indptr, indices, data, g, out, scale, second)
            steps += 1
            since += 1
            smallest = np.inf
            for x in range(z.size):
                out[x] = (out[x] + second[x]) / 2
                smallest = min(smallest, out[x])
        largest = 0.0
        for x in range(z.size):
            largest = max(largest, out[x])
        for x in range(z.size):
            z[x] = out[x] / largest
        smallest /= largest
        if gap <= target or smallest < smallest_allowed:
            break
        if since >= block:
            if gap_before < np.inf:
                rate = (gap / gap_before) ** (1.0 / since)
                averaging = averaging or gap > gap_before / 2
            gap_before, since = gap, 0
    return steps, gap, rate, averaging
