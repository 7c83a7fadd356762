"""Rounds of Gauss-Seidel sweeps (solvers/warm/sweeps.py says what they are)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lsmdp._core import sparse
from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import extremes

CHUNK = 256  # states whose sums are taken before any of them moves,
CHUNKS = 16  # at least so many times
WINDOWS = 8  # of states in a row, in a sweep, each of which tells how far the others have come,
WINDOW = 2000  # if there are as many states in it:
SURE = 0.9  # then a forecast is believed only if it is below this share of the goal
SPAN = 20.0  # of v / T up to which w, 1/w and x have room in single precision
SHARE = 0.9  # of the goal; the rest is for what is not linear
CURVED = 0.02  # of the square of the gap is not linear, so that nothing is gained below it,
DIGITS = 1e-5  # nor below this share of it, in single precision
HASTE = 0.1  # least contraction that is believed in
STALLED = 0.6  # a contraction above this is that of a slow mode
BINS = 64  # of how far the states have moved, where those without any are borders between levels,
LEVELS = 12  # if these are few
SPREAD = 8.0  # a span is about so many standard deviations
LOST = 100.0  # a residual this many times the first one will not come back


@entry()
def _rounds(
    temperature: float,
    slack: float,
    costs: Any,
    gaps: Any,
    v: Any,
    w: Any,
    s: Any,
    logs: Any,
    low: float,
    indptr: Any,
    indices: Any,
    data: Any,
    diagonal: Any,
    limit: int,
    attempts: int,
    P_indptr: Any,
    P_indices: Any,
    P_data: Any,
    found: Any,
    found_w: Any,
    found_s: Any,
    found_logs: Any,
    values: Any,
    los: Any,
    his: Any,
    steps: Any,
) -> tuple[int, int, float, float]:
    """Some attempts for each cost, until one is not certified: how many are; how often the flow and its room changed
    places; of the last attempt, the gap that was expected of it, and the contraction.

    ``found`` is ``values``, read-only.
    """
    single, P, wide, rate, swaps = (indptr, indices, data), (P_indptr, P_indices, P_data), np.inf, 1.0, 0
    for k in range(gaps.size):
        goal, width, steps[k], left = SHARE * gaps[k] / temperature, np.inf, 0, attempts
        while left > 0 and steps[k] < limit:
            before, after = (v, w, s, logs), (found[k], found_w, found_s, found_logs)
            los[k], his[k], wide, taken, rate = _certified(
                values[k], temperature, slack, costs[k], before, low, single, diagonal, goal, limit - steps[k], P, after
            )
            steps[k] += taken
            gap, left = his[k] - los[k], left - 1
            if not gap < np.inf:
                break
            v, low, swaps = found[k], 0.0, swaps + 1
            w, s, logs, found_w, found_s, found_logs = found_w, found_s, found_logs, w, s, logs
            if gap <= gaps[k] or not gap < width / 2:
                break
            width = gap
        if not his[k] - los[k] <= gaps[k]:
            return k, swaps, wide, rate
    return gaps.size, swaps, wide, rate


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def _certified(
    u: Any,
    temperature: float,
    slack: float,
    c: Any,
    before: Any,
    low: float,
    single: Any,
    diagonal: Any,
    goal: float,
    limit: int,
    P: Any,
    after: Any,
) -> tuple[float, float, float, int, float]:
    """u = v + d from 0: bounds, the gap that was expected of it, the sweeps, and the contraction of the last one.

    ``before`` is v with its flow, ``after`` is u, read-only; if there is room, its flow is found with its bounds for c.
    """
    v, w, s, logs = before
    indptr, indices, data = single
    found, found_w, found_s, found_logs = after
    n, lo, hi = v.size, -np.inf, np.inf
    r, gain, pull = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    x, e = np.empty_like(r), np.empty_like(r)
    if not _prepare(diagonal, c, v, w, s, logs, temperature, low, u, r, gain, pull, x):
        return lo, hi, np.inf, 0, 1.0
    span, size = _extent(r)
    first, rate, shift, steps, stalled, at_split, look = size, 1.0, 0.0, 0, 0, np.inf, False
    sure = SURE if n >= WINDOWS * WINDOW else 1.0
    goal = max(goal, max(CURVED * span * span, DIGITS * span))
    while span * rate > sure * goal and steps < limit and size <= LOST * first:
        if stalled == 2:
            if not size < at_split / 2:
                break  # they were not what is slow
            shift += _split(indptr, indices, data, r, np.float32(shift), gain, pull, x, e, w)
            stalled, steps, at_split, sure = -1, steps + 2, size, 1.0  # states in a row are of one level
        enough = goal if sure < 1.0 and look and span * rate * rate <= goal else 0.0
        look = 2.0 * size * rate * rate <= goal or steps + 1 == limit  # no span is below two standard deviations
        moved, total, squares, span = _sweep(
            indptr, indices, data, r, np.float32(shift), gain, pull, x, e, look, stalled == 1, enough
        )
        steps += 1
        if moved < n:
            span = goal / rate
            break
        before, size = size, np.sqrt(squares / n)
        span = span if look else SPREAD * size
        shift += total / n / 2
        rate = max(size / before, HASTE) if stalled >= 0 else 1.0
        stalled = stalled + 1 if stalled < 0 or rate > STALLED else 0
    high = _added(x, w, temperature, u)
    if found_w.size > 0:
        lo, hi = sparse.evaluate_into(
            P[0], P[1], P[2], c, found, high, temperature, slack, found_w, found_s, found_logs
        )
    return lo, hi, span * rate, steps, rate


@inner(fastmath={"contract", "reassoc"})
def _prepare(
    diagonal: Any,
    c: Any,
    v: Any,
    w: Any,
    s: Any,
    logs: Any,
    temperature: float,
    low: float,
    u: Any,
    r: Any,
    gain: Any,
    pull: Any,
    x: Any,
) -> bool:
    """What a sweep reads, in single precision; x starts where P has only its diagonal. Whether there is room for it."""
    scale = 1.0 / temperature
    origin = (c[0] - (v[0] - low)) * scale - logs[0]
    total, steep = 0.0, 0
    for i in range(v.size):
        u[i] = (v[i] - low) * scale
        value = (c[i] * scale - u[i]) - logs[i] - origin
        r[i] = value  # small, and so exact enough
        steep += u[i] > SPAN
    for i in range(v.size):  # apart: u may be v, and a loop that may not look ahead adds up in another order
        total += r[i]
    mean = np.float32(total / v.size)
    for i in range(v.size):
        weight, total_weight = np.float32(w[i]), np.float32(s[i])
        rest = total_weight - weight * diagonal[i]
        pull[i] = weight / rest
        gain[i] = pull[i] * total_weight
        r[i] -= mean
        x[i] = r[i] * gain[i]
    return steep == 0


@inner()
def _added(x: Any, w: Any, temperature: float, u: Any) -> float:
    """u += x / w, then from 0, then in units of the cost; its span."""
    for i in range(u.size):
        u[i] += x[i] / np.float32(w[i])
    least, most = extremes(u)
    for i in range(u.size):
        u[i] = (u[i] - least) * temperature
    return (most - least) * temperature


@inner(fastmath=True)
def _move(r: Any, shift: Any, gain: Any, pull: Any, s: Any, x: Any, e: Any) -> tuple[Any, Any]:
    """The new x of a few states, and the residual e that it removes; the sums of e and of its squares."""
    total, squares = np.float32(0.0), np.float32(0.0)
    for k in range(x.size):
        new = gain[k] * (r[k] - shift) + pull[k] * s[k]
        e[k] = (new - x[k]) / gain[k]
        x[k] = new
        total += e[k]
        squares += e[k] * e[k]
    return total, squares


@entry()
def _sweep(
    indptr: Any,
    indices: Any,
    data: Any,
    r: Any,
    shift: Any,
    gain: Any,
    pull: Any,
    x: Any,
    e: Any,
    look: bool,
    keep: bool,
    enough: float,
) -> tuple[int, float, float, float]:
    """One sweep: the states that moved, the sums of e and of its squares, and its span, if one is to ``look``.

    All of e is left if one is to ``keep`` it. A sweep ends early, where the span of e in a window is ``enough``.
    """
    n = x.size
    chunk, window = min(CHUNK, n // CHUNKS + 1), n // WINDOWS + 1
    s, end = np.empty(chunk, np.float32), window
    least, most, total, squares = np.float32(np.inf), np.float32(-np.inf), 0.0, 0.0
    low, high = least, most  # in this window
    for i in range(0, n, chunk):
        j = min(i + chunk, n)
        sparse.flat_sums(indptr, indices, data, x, i, j - i, s)
        here = i if keep else 0
        moved = e[here : here + j - i]
        more = _move(r[i:j], shift, gain[i:j], pull[i:j], s, x[i:j], moved)
        total, squares = total + more[0], squares + more[1]
        if look:
            below, above = _extremes(moved)
            low, high = min(low, below), max(high, above)
            if j >= end or j == n:
                least, most = min(least, low), max(most, high)
                if high - low <= enough:
                    return j, total, squares, float(most - least)
                low, high, end = np.float32(np.inf), np.float32(-np.inf), j + window
    return n, total, squares, float(most - least)


@inner(fastmath=True)
def _extremes(e: Any) -> tuple[Any, Any]:
    """min and max."""
    least, most = np.float32(np.inf), np.float32(-np.inf)
    for k in range(e.size):
        least = e[k] if e[k] < least else least
        most = e[k] if e[k] > most else most
    return least, most


@inner(fastmath=True)
def _extent(e: Any) -> tuple[float, float]:
    """max - min, and the root of the mean square."""
    squares = np.float32(0.0)
    for k in range(e.size):
        squares += e[k] * e[k]
    least, most = _extremes(e)
    return float(most - least), np.sqrt(squares / e.size)


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def _split(
    indptr: Any, indices: Any, data: Any, r: Any, shift: Any, gain: Any, pull: Any, x: Any, e: Any, w: Any
) -> float:
    """d += alpha_B on each set B of states that moved alike; the change of lambda' that goes with it. Uses up e."""
    for i in range(x.size):
        e[i] *= gain[i] / w[i]
    block, count = _levels(e)
    lift = np.empty((count, count + 1))
    for here in range(count):
        for there in range(count + 1):
            lift[here, there] = 0.0
    sparse.flat_sums(indptr, indices, data, x, np.int64(0), x.size, e)
    for i in range(x.size):
        here = block[i]
        lift[here, 0] += 1.0
        lift[here, count] += (r[i] - shift) + (pull[i] * e[i] - x[i]) / gain[i]
        for p in range(indptr[i], indptr[i + 1]):
            there = block[indices[p]]
            if there != here:
                crossing = data[p] * w[indices[p]] * pull[i] / gain[i]
                if here > 0:
                    lift[here, here] += crossing
                if there > 0:
                    lift[here, there] -= crossing
    if not _eliminated(lift):
        return 0.0
    for i in range(x.size):
        if block[i] > 0:
            x[i] += lift[block[i], count] * w[i]
    return float(lift[0, count])


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def _levels(moved: Any) -> tuple[Any, int]:
    """The level at which each state moved, and how many levels there are; two halves where none stand out."""
    least, most = _extremes(moved)
    scale = BINS / (float(most) - float(least))
    bins, level, count = np.empty(moved.size, np.uint8), np.zeros(BINS, np.uint8), 0
    for i in range(moved.size):
        bins[i] = min(int((moved[i] - least) * scale), BINS - 1)
        level[bins[i]] = 1
    apart = False
    for k in range(BINS):  # level[k] is 1 where there are states; an empty bin is a border
        if level[k] > 0 and (apart or count == 0):
            count += 1
        apart = level[k] == 0
        level[k] = max(count, 1) - 1
    if not 2 <= count <= LEVELS:
        count = 2
        for k in range(BINS):
            level[k] = k >= BINS // 2
    for i in range(moved.size):
        bins[i] = level[bins[i]]
    return bins, count


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def _eliminated(system: Any) -> bool:
    """The solution of a few equations in the last column; False where there is none."""
    n = len(system)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(system[i, k]) > abs(system[pivot, k]):
                pivot = i
        if system[pivot, k] == 0.0:
            return False
        for j in range(n + 1):
            system[k, j], system[pivot, j] = system[pivot, j], system[k, j]
        for i in range(n):
            if i != k:
                share = system[i, k] / system[k, k]
                for j in range(k, n + 1):
                    system[i, j] -= share * system[k, j]
    for k in range(n):
        system[k, n] /= system[k, k]
    return True
