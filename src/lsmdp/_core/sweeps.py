"""Compiled rounds of Gauss-Seidel sweeps (solvers/warm/sweeps.py says what they are and why).

A *round* is one cost for which v is to be found; :func:`rounds` goes through several. A round is one or more
*attempts*: some sweeps in single precision (:func:`_sweep`), now and then a correction of whole sets of states
(:func:`_split`), and then a certificate in double precision.

What goes in and out travels in named tuples: P in single precision, the aims (one cost and one gap for each round), the
units of the certificate, how far it may go, what is known of the present v, room for the same of the next one, and what
is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core import sparse
from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import extremes

STATES_OF_A_CHUNK = 256  # So many states at most have their sums taken before any of them moves.
_FEWEST_CHUNKS = 16  # There are at least so many chunks: in fewer, hardly any state would see what moved before it.
SPAN_IN_SINGLE = 20.0  # Up to this span of v / T, w, 1/w and x have room in single precision.
_SHARE_OF_THE_TOLERANCE = 0.9  # Sweeps aim at this part of the tolerance; the rest is for what is not linear.
_SHARE_NOT_LINEAR = 0.02  # This part of the square of the gap is not linear, so that nothing is gained below it.
_SHARE_LOST_IN_SINGLE = 1e-5  # In single precision nothing is gained below this part of the gap.
_BEST_CONTRACTION = 0.1  # A contraction below this is not believed.
_STALLED_CONTRACTION = 0.6  # A contraction above this is that of a slow mode.
_BINS = 64  # How far the states have moved is put into so many bins; empty ones are borders between levels.
_MOST_LEVELS = 12  # If there are more levels than this, they are not believed, and the states are parted in two halves.
_DEVIATIONS_OF_A_SPAN = 8.0  # A span is taken for so many standard deviations where it was not looked at.
_GROWTH_OF_LOST_SWEEPS = 100.0  # A residual this many times the first one will not come back.


class Single(NamedTuple):
    """P in single precision without its diagonal, and that."""

    indptr: Any
    indices: Any
    data: Any
    diagonal: Any


class SweepTargets(NamedTuple):
    """One cost and one gap for each round."""

    costs: Any
    gaps: Any


class SweepUnits(NamedTuple):
    """The temperature, and what all bounds are wider by."""

    temperature: float
    slack: float


class SweepLimits(NamedTuple):
    """Sweeps of one round, and attempts, each of which ends with a certificate."""

    sweeps: int
    attempts: int


class SweepFlow(NamedTuple):
    """v, its least value, and w = e^{(min v - v)/T}, s = P w and log s."""

    v: Any
    low: float
    w: Any
    s: Any
    logs: Any


class SweptRounds(NamedTuple):
    """The v of each round, the same array for reading only, its bounds, and its sweeps."""

    v: Any
    read: Any
    lo: Any
    hi: Any
    steps: Any


class Work(NamedTuple):
    """What a sweep reads and writes, in single precision: the module docstring of solvers/warm/sweeps.py names them."""

    r: Any
    gain: Any
    pull: Any
    x: Any
    e: Any


@entry()
def rounds(
    P: Any, single: Any, aims: Any, units: Any, limits: Any, known: Any, room: Any, found: Any
) -> tuple[int, int, float, float]:
    """Some attempts for each cost, until one is not certified.

    Returns how many costs are certified, how often what is known of v was swapped with the room for the next one, and
    of the last attempt the gap that was expected of it and its contraction.
    """
    wide, rate, swaps = np.inf, 1.0, 0
    v, low, w, s, logs = known
    next_w, next_s, next_logs, block = room
    for k in range(aims.gaps.size):
        goal, width, taken, left = (
            _SHARE_OF_THE_TOLERANCE * aims.gaps[k] / units.temperature,
            np.inf,
            np.int64(0),
            limits.attempts,
        )
        lo, hi = -np.inf, np.inf
        while left > 0 and taken < limits.sweeps:
            before = SweepFlow(v, low, w, s, logs)
            wide, more, rate = _attempt(single, aims.costs[k], goal, limits.sweeps - taken, units, before, found.v[k])
            lo, hi, u = -np.inf, np.inf, found.read[k]
            if wide < np.inf and next_w.size > 0:
                high, into = extremes(found.v[k])[1], (next_w, next_s, next_logs, block)
                lo, hi = sparse.evaluate_into(P, aims.costs[k], u, high, units, into)
            taken, left = taken + more, left - 1
            if not hi - lo < np.inf:
                break
            v, low, swaps = u, 0.0, swaps + 1
            w, s, logs, next_w, next_s, next_logs = next_w, next_s, next_logs, w, s, logs
            if hi - lo <= aims.gaps[k] or not hi - lo < width / 2:
                break
            width = hi - lo
        found.lo[k], found.hi[k], found.steps[k] = lo, hi, taken
        if not hi - lo <= aims.gaps[k]:
            return k, swaps, wide, rate
    return aims.gaps.size, swaps, wide, rate


@inner(allocates=True)
def _attempt(single: Any, c: Any, goal: float, limit: int, units: Any, known: Any, u: Any) -> tuple[float, int, float]:
    """u = v + d from 0: the gap that is expected of it (infinite: no room), the sweeps, and the last contraction."""
    n = u.size
    r, gain, pull = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    work = Work(r, gain, pull, np.empty(n, np.float32), np.empty(n, np.float32))
    if not _prepare(single.diagonal, c, units.temperature, known, u, work):
        return np.inf, limit - limit, 1.0
    span, size = _extent(r)
    first, rate, shift, steps, stalled, at_split, look = size, 1.0, 0.0, limit - limit, 0, np.inf, False
    goal = max(goal, max(_SHARE_NOT_LINEAR * span * span, _SHARE_LOST_IN_SINGLE * span))
    while span * rate > goal and steps < limit and size <= _GROWTH_OF_LOST_SWEEPS * first:
        if stalled == 2:
            if not size < at_split / 2:
                break  # they were not what is slow
            shift += _split(single, work, np.float32(shift), known.w)
            stalled, steps, at_split = -1, steps + 2, size
        look = 2.0 * size * rate * rate <= goal or steps + 1 == limit  # no span is below two standard deviations
        total, squares, span = _sweep(single, work, np.float32(shift), look, stalled == 1)
        steps += 1
        before, size = size, np.sqrt(squares / n)
        span = span if look else _DEVIATIONS_OF_A_SPAN * size
        shift += total / n / 2
        rate = max(size / before, _BEST_CONTRACTION) if stalled >= 0 else 1.0
        stalled = stalled + 1 if stalled < 0 or rate > _STALLED_CONTRACTION else 0
    _added(work.x, known.w, units.temperature, u)
    return span * rate, steps, rate


@inner(fastmath={"contract", "reassoc"})
def _prepare(diagonal: Any, c: Any, temperature: float, known: Any, u: Any, work: Any) -> bool:
    """Fill in what a sweep reads, in single precision, and a first x, that of a P with only its diagonal.

    False if a number is too large or too small for that.
    """
    v, low, w, s, logs = known
    r, gain, pull, x, _ = work
    scale = 1.0 / temperature
    origin = (c[0] - (v[0] - low)) * scale - logs[0]
    total, steep = 0.0, 0
    for i in range(v.size):
        u[i] = (v[i] - low) * scale
        value = (c[i] * scale - u[i]) - logs[i] - origin
        r[i] = value  # small, and so exact enough
        steep += u[i] > SPAN_IN_SINGLE
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
def _added(x: Any, w: Any, temperature: float, u: Any) -> None:
    """u += x / w, then from 0, then in units of the cost."""
    for i in range(u.size):
        u[i] += x[i] / np.float32(w[i])
    least, _ = extremes(u)
    for i in range(u.size):
        u[i] = (u[i] - least) * temperature


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


@inner(allocates=True)
def _sweep(single: Any, work: Any, shift: Any, look: bool, keep: bool) -> tuple[float, float, float]:
    """One sweep: the sums of e and of its squares, and its span, if one is to ``look``; all of e, if to ``keep`` it."""
    indptr, indices, data, _ = single
    r, gain, pull, x, e = work
    n = x.size
    chunk = min(STATES_OF_A_CHUNK, n // _FEWEST_CHUNKS + 1)
    s = np.empty(chunk, np.float32)
    least, most, total, squares = np.float32(np.inf), np.float32(-np.inf), 0.0, 0.0
    for i in range(0, n, chunk):
        j = min(i + chunk, n)
        sparse.flat_sums(indptr, indices, data, x, i, j - i, s)
        here = i if keep else 0
        moved = e[here : here + j - i]
        more = _move(r[i:j], shift, gain[i:j], pull[i:j], s, x[i:j], moved)
        total, squares = total + more[0], squares + more[1]
        if look:
            below, above = _extremes(moved)
            least, most = min(least, below), max(most, above)
    return total, squares, float(most - least)


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


@inner(allocates=True)
def _split(single: Any, work: Any, shift: Any, w: Any) -> float:
    """d += alpha_B on each set B of states that moved alike; the change of lambda' that goes with it. Uses up e."""
    indptr, indices, data, _ = single
    r, gain, pull, x, e = work
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
    scale = _BINS / (float(most) - float(least))
    bins, level, count = np.empty(moved.size, np.uint8), np.zeros(_BINS, np.uint8), 0
    for i in range(moved.size):
        bins[i] = min(int((moved[i] - least) * scale), _BINS - 1)
        level[bins[i]] = 1
    apart = False
    for k in range(_BINS):  # level[k] is 1 where there are states; an empty bin is a border
        if level[k] > 0 and (apart or count == 0):
            count += 1
        apart = level[k] == 0
        level[k] = max(count, 1) - 1
    if not 2 <= count <= _MOST_LEVELS:
        count = 2
        for k in range(_BINS):
            level[k] = k >= _BINS // 2
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
