"""Games small enough for P to be written out: whole stretches of rounds in compiled loops.

What a round of such a game needs is a few products with a square array, so that one call of Python would cost more than
the round. Here are the solves of a leader that follows a sequence of costs, each from the last, and the Bellman updates
of a tracker; books.py has the books of the rounds. All go through consecutive rounds without leaving compiled code, and
what they do in a round depends on nothing but what they are given for it: a stretch gives the same bits as its
rounds one by one.

**A solve.** With r = Bv - v, Newton's method is v <- v + d, (I - Q_v) d = r - mu.r. The inverse of

    A = I - Q_w + 1 1'/n

is kept from an earlier v = w, and d = A^{-1} r: then (I - Q_w) d = r - const, since A 1 = 1. For v near w a step
multiplies the gap by about |Q_v - Q_w|. The certificate of the new v (kernels.py) costs one product with P, and its
f = Bv - v - c is the first residual of the next round, r = c' + f, for free. A round takes steps until its gap is at
most its tolerance, and at least one. Where a step does not halve the gap, A is inverted anew at v; where
the first step after that does not either, the round is left to the general solver. Beyond that, A is inverted
anew when the steps after the first of a round, summed up since the last time, have cost as much as an inversion: n^3
multiplications against 2 n^2 of a step, so n/2 of them. That is at most twice the cost of the best schedule.

Sums of n terms are taken four at a time, and zeros add nothing: the enclosure of kernels.py holds for any order.
Arrays are padded to a multiple of 8 columns, so that the loops over them have no remainder.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import CSR, EPS, Floats, Ints, frozen, read_only
from lsmdp.elementary import exponentials, extremes, logarithms
from lsmdp.kernels import FLAT, enclose

LIMIT = 256  # states up to which P is written out, where a stationary law costs less than n^3/3 operations (books.py),
TINY = 64  # and up to which it is in any case
LANES = 8
REINVERSIONS = 8  # in one round, before it is left to the general solver


class Square(NamedTuple):
    """P written out, by rows and by columns, padded; entries per row; min_x P(x, y); rho of a reversible P, or nothing.

    ``columns[y, x]`` is P(x, y).
    """

    rows: Floats
    columns: Floats
    entries: Floats
    least: Floats
    balanced: Floats


def written_out(P: CSR, balanced: Floats | None) -> Square | None:
    """The arrays of a P of at most LIMIT states; None where it has many and no stationary law would be cheap.

    ``balanced`` is the law for which P is reversible.
    """
    n = int(P.shape[0])
    full = P.toarray()
    least = full.min(axis=0)
    if n > TINY and balanced is None and not least.any():
        return None
    rows, columns = np.zeros((n, width(n))), np.zeros((n, width(n)))
    rows[:, :n], columns[:, :n] = full, full.T
    rho = np.empty(0) if balanced is None else np.array(balanced)
    square = Square(rows, columns, np.diff(P.indptr).astype(np.float64), least, rho)
    return Square(*(read_only(array) for array in square))


def width(n: int) -> int:
    """n, padded."""
    return -(-n // LANES) * LANES


class Leads(NamedTuple):
    """The leaders of consecutive costs: values, bounds and steps for the first ``done``, and what is kept.

    Row 0 of ``v`` is where they began, so that the leader of row k of the costs is in row k + 1.
    """

    done: int
    v: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    inverse: Floats
    debt: int


def lead_all(
    square: Square, temperature: float, costs: Floats, tols: Floats, v: Floats, inverse: Floats, debt: int
) -> Leads:
    """The optimum for each row of costs, certified within its tolerance, each from the last; v is where to begin.

    ``inverse`` is the transposed A^{-1} from earlier (n x padded n), ``debt`` the extra steps taken with it. Ends
    early, with ``done`` < the number of rows, before a round that is for the general solver.
    """
    rounds, n = costs.shape
    costs, tols, v = given(costs), given(tols), given(v)
    values, lo, hi, steps = np.empty((rounds + 1, n)), np.empty(rounds), np.empty(rounds), np.empty(rounds, np.int64)
    kept, values[0] = inverse.copy(), v
    done, renewed, debt = _lead_all(
        square.columns, square.entries, temperature, costs, tols, v, kept, debt, values[1:], lo, hi, steps
    )
    return Leads(done, values, lo, hi, steps, kept if renewed else inverse, debt)


def track_all(
    square: Square,
    temperature: float,
    means: Floats,
    steps: int,
    averaged: bool,
    values: Floats,
    lo: Floats,
    hi: Floats,
) -> int:
    """Bellman updates for one mean cost after another (track.py), in place: for how many rounds.

    ``values[0]`` is where to begin and ``means[0]`` what it was made for; round k makes values[k + 1] for means[k + 1]
    and bounds the optimum for means[k] by values[k]. Ends before a round whose values span too much for one scale.
    """
    means = given(means)
    return _track_all(square.columns, square.entries, temperature, means, steps, averaged, values, lo, hi)


def inverse_at(square: Square, temperature: float, v: Floats) -> Floats:
    """The transpose of (I - Q_v + 1 1'/n)^{-1}, padded; zeros where v spans too much for one scale."""
    inverse, padded = np.empty_like(square.columns), np.empty(square.columns.shape[1])
    pad(given(v), padded)
    _inverse_at(square.columns, temperature, padded, inverse)
    return inverse


def given(array: Floats) -> Floats:
    """One kind of array, contiguous and read-only: each kind would be compiled for anew."""
    return frozen(np.ascontiguousarray(array))


@njit(cache=True, error_model="numpy")
def times(columns: Any, x: Any, out: Any) -> None:
    """out = sum_y columns[y] x[y]."""
    n = out.size
    for i in range(n):
        out[i] = 0.0
    fours = columns.shape[0] // 4 * 4
    for y in range(0, fours, 4):
        x0, x1, x2, x3 = x[y], x[y + 1], x[y + 2], x[y + 3]
        c0, c1, c2, c3 = columns[y], columns[y + 1], columns[y + 2], columns[y + 3]
        for i in range(n):
            out[i] += (c0[i] * x0 + c1[i] * x1) + (c2[i] * x2 + c3[i] * x3)
    for y in range(fours, columns.shape[0]):
        for i in range(n):
            out[i] += columns[y, i] * x[y]


@njit(cache=True, error_model="numpy")
def look(columns: Any, temperature: float, v: Any, d: Any, w: Any, s: Any, logs: Any, spare: Any) -> tuple[float, bool]:
    """d = (v - min v)/T, w = e^{-d}, s = P w and log s, all padded; min v, and whether one scale serves all rows.

    v is padded as well, with v[0].
    """
    low, high = extremes(v)
    if not high - low <= FLAT * temperature:
        return low, False
    for x in range(v.size):
        d[x] = (v[x] - low) / temperature
    exponentials(d, w, spare)
    times(columns, w, s)
    for x in range(columns.shape[0], s.size):
        s[x] = s[0]
    logarithms(s, logs, spare)
    return low, True


@njit(cache=True, error_model="numpy")
def pad(x: Any, out: Any) -> None:
    """out = x, and x[0] behind it."""
    for i in range(x.size):
        out[i] = x[i]
    for i in range(x.size, out.size):
        out[i] = x[0]


@njit(cache=True, error_model="numpy")
def _lead_all(
    columns: Any,
    entries: Any,
    temperature: float,
    costs: Any,
    tols: Any,
    start: Any,
    inverse: Any,
    debt: int,
    values: Any,
    los: Any,
    his: Any,
    steps: Any,
) -> tuple[int, bool, int]:
    rounds, n = costs.shape
    padded = columns.shape[1]
    d, w, s, logs, move, f, v, new, lower, upper = [np.zeros(padded) for _ in range(10)]
    spare = np.empty((2, padded))
    pad(start, v)
    renewed = False
    low, flat = look(columns, temperature, v, d, w, s, logs, spare)
    for x in range(padded):
        f[x] = (low - v[x]) - temperature * logs[x]
    for t in range(rounds):
        if not flat:
            return t, renewed, debt
        c, taken, inversions, fresh = costs[t], 0, 0, False
        for x in range(n):
            d[x] = c[x] + f[x]
        pad(d[:n], lower)
        lo, hi = extremes(lower)
        before = hi - lo
        while True:
            times(inverse, d, move)
            for x in range(padded):
                new[x] = v[x] + move[x]
            pad(new[:n], new)
            low, _ = extremes(new)
            for x in range(padded):
                new[x] -= low
            taken += 1
            low, flat = look(columns, temperature, new, d, w, s, logs, spare)
            lo, hi = -np.inf, np.inf
            if flat:
                lo, hi = _bounds(entries, temperature, c, new, s, logs, lower, upper)
            gap = hi - lo
            halved = gap <= before / 2
            done = gap <= tols[t]
            if done or gap < before:
                before, fresh = gap, False
                for x in range(padded):
                    v[x] = new[x]
                    f[x] = -v[x] - temperature * logs[x]
            if done:
                break
            if not halved:
                if fresh or inversions == REINVERSIONS:
                    return t, renewed, debt
                _inverse_at(columns, temperature, v, inverse)
                inversions += 1
                renewed, fresh, debt = True, True, 0
            for x in range(n):
                d[x] = c[x] + f[x]
        debt += taken - 1
        if 2 * debt >= n:
            _inverse_at(columns, temperature, v, inverse)
            renewed, debt = True, 0
        for x in range(n):
            values[t, x] = v[x]
        los[t], his[t], steps[t] = lo, hi, taken
    return rounds, renewed, debt


@njit(cache=True, error_model="numpy")
def _track_all(
    columns: Any,
    entries: Any,
    temperature: float,
    means: Any,
    steps: int,
    averaged: bool,
    values: Any,
    los: Any,
    his: Any,
) -> int:
    padded = columns.shape[1]
    d, w, s, logs, c, v, once, lower, upper = [np.zeros(padded) for _ in range(9)]
    spare = np.empty((2, padded))
    pad(values[0], v)
    for t in range(los.size):
        low, flat = look(columns, temperature, v, d, w, s, logs, spare)
        if not flat:
            return t
        los[t], his[t] = _bounds(entries, temperature, means[t], v, s, logs, lower, upper)
        pad(means[t + 1], c)
        for step in range(steps):
            if step > 0:
                low, flat = look(columns, temperature, v, d, w, s, logs, spare)
            for x in range(padded):
                once[x] = c[x] + (low - temperature * logs[x])
                v[x] = once[x]
            if averaged and flat:
                low, flat = look(columns, temperature, once, d, w, s, logs, spare)
                for x in range(padded):
                    v[x] = (once[x] + (c[x] + (low - temperature * logs[x]))) / 2
            if not flat:
                return t
        low, _ = extremes(v)
        for x in range(padded):
            v[x] -= low
        for x in range(values.shape[1]):
            values[t + 1, x] = v[x]
    return int(los.size)


@njit(cache=True, error_model="numpy")
def _bounds(
    entries: Any, temperature: float, c: Any, v: Any, s: Any, logs: Any, lower: Any, upper: Any
) -> tuple[float, float]:
    """The certificate of a v with minimum 0; what is beyond floats proves nothing."""
    finite = True
    for x in range(c.size):
        value, error = enclose(c[x], -v[x], s[x], -logs[x], temperature, entries[x], EPS)
        lower[x], upper[x] = value - error, value + error
        finite &= upper[x] - lower[x] < np.inf
    for x in range(c.size, lower.size):
        lower[x], upper[x] = lower[0], upper[0]
    return (extremes(lower)[0], extremes(upper)[1]) if finite else (-np.inf, np.inf)


@njit(cache=True, error_model="numpy")
def _inverse_at(columns: Any, temperature: float, v: Any, out: Any) -> None:
    """The transpose of (I - Q_v + 1 1'/n)^{-1}; zeros where v spans too much for one scale."""
    n, padded = columns.shape
    d, w, s, logs = np.zeros(padded), np.zeros(padded), np.zeros(padded), np.zeros(padded)
    spare = np.empty((2, padded))
    out[:] = 0.0
    if not look(columns, temperature, v, d, w, s, logs, spare)[1]:
        return
    for y in range(n):
        for x in range(n):
            out[y, x] = 1.0 / n - columns[y, x] * (w[y] / s[x])
        out[y, y] += 1.0
    invert(out)


@njit(cache=True, error_model="numpy")
def invert(out: Any) -> None:
    """The inverse of a padded square array in its place, by Gauss-Jordan elimination with row pivoting."""
    n, padded = out.shape
    swapped = np.empty(n, np.int64)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(out[i, k]) > abs(out[pivot, k]):
                pivot = i
        swapped[k] = pivot
        for j in range(padded):
            out[k, j], out[pivot, j] = out[pivot, j], out[k, j]
        scale = 1.0 / out[k, k]
        out[k, k] = 1.0
        for j in range(padded):
            out[k, j] *= scale
        for i in range(n):
            if i != k:
                factor = out[i, k]
                out[i, k] = 0.0
                for j in range(padded):
                    out[i, j] -= factor * out[k, j]
    for k in range(n - 1, -1, -1):
        if swapped[k] != k:
            for i in range(n):
                out[i, k], out[i, swapped[k]] = out[i, swapped[k]], out[i, k]
