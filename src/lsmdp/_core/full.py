"""Games small enough for P to be written out: whole stretches of rounds in compiled loops.

What a round of such a game needs is a few products with a square array, so that one call of Python would cost more than
the round. Here are the solves of a leader that follows a sequence of costs, each from the last, and the Bellman updates
of a tracker; full_accounts.py has the accounts of the rounds. All go through consecutive rounds without leaving
compiled code, and what they do in a round depends on nothing but what they are given for it: a stretch gives the same
bits as its rounds one by one.

**A solve.** With r = Bv - v, Newton's method is v <- v + d, (I - Q_v) d = r - mu.r. The inverse of

    A = I - Q_w + 1 1'/n

is kept from an earlier v = w, and d = A^{-1} r: then (I - Q_w) d = r - const, since A 1 = 1. For v near w a step
multiplies the gap by about |Q_v - Q_w|. The certificate of the new v (sparse.py) costs one product with P, and its
f = Bv - v - c is the first residual of the next round, r = c' + f, for free. A round takes steps until its gap is at
most its tolerance, and at least one. Where a step does not halve the gap, A is inverted anew at v; where
the first step after that does not either, the round is left to the general solver. Beyond that, A is inverted
anew when the steps after the first of a round, summed up since the last time, have cost as much as an inversion: n^3
multiplications against 2 n^2 of a step, so n/2 of them. That is at most twice the cost of the best schedule.

**Precision.** A^{-1} only says where to go next; what is found is certified. So steps read it in single precision, half
as many bytes, where that hardly matters: with K = max_x sum_y |A^{-1}(x, y)| and r less a constant, d is off by at most
2^-24 n K of the gap and Bv - v by twice that, which is 1/64 where n K <= SINGLE. Where chains are slower, steps are
taken in double precision. A certificate takes the largest of the rounding errors of sparse.py for all states, which
is that of the largest |log s|, v and r in one: s > e^-SPAN_OF_ONE_SCALE - eps, and |log s| <= max d = span v / T.

Sums of n terms are taken four at a time, and zeros add nothing: the enclosure of sparse.py holds for any order.
Arrays are padded to a multiple of 8 columns, so that the loops over them have no remainder.

**Compiled loops.** What a round does to n = 50 numbers takes tens of nanoseconds, and to count a reference to an array
takes seven: a view of an array counts one, and so does each argument of a function that calls another one. So what a
round calls is ``forceinline``, and no round takes a row of an array by itself: loops say ``costs[t, x]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core.explog import exponentials, extremes, logarithms
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE, enclose
from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    Ints,
    frozen,
    read_only,
)

# States up to which P is written out, where a stationary law costs less than n^3/3 operations (full_accounts.py),
LIMIT = 256
TINY = 64  # and up to which it is in any case
LANES = 8
LEAST = 1e-44  # s of a flat v is larger
SINGLE = 2.0**17  # n K up to which steps are taken in single precision
REINVERSIONS = 8  # in one round, before it is left to the general solver
UNKNOWN = np.empty((0, 0))  # in place of sums that nobody has taken yet


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

    Row 0 of ``v`` is where they began, so that the leader of row k of the costs is in row k + 1. Each row of ``sums``
    is the s of its certificate (:func:`look`), padded.
    """

    done: int
    v: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    inverse: Floats
    debt: int
    sums: Floats


def lead_all(
    square: Square,
    temperature: float,
    costs: Floats,
    tols: Floats,
    v: Floats,
    inverse: Floats,
    debt: int,
    slack: float = 0.0,
) -> Leads:
    """The optimum for each row of costs, certified within its tolerance, each from the last; v is where to begin.

    ``inverse`` is the transposed A^{-1} from earlier (n x padded n), ``debt`` the extra steps taken with it, ``slack``
    what the bounds are wider by than this P asks for. Ends early, with ``done`` < the number of rows, before a round
    that is for the general solver.
    """
    rounds, n = costs.shape
    costs, tols, v = given(costs), given(tols), given(v)
    values, lo, hi, steps = np.empty((rounds + 1, n)), np.empty(rounds), np.empty(rounds), np.empty(rounds, np.int64)
    kept, values[0], sums = inverse.copy(), v, np.empty((rounds + 1, square.columns.shape[1]))
    done, renewed, debt = _lead_all(
        square.columns, square.entries, temperature, slack, costs, tols, v, kept, debt, values[1:], lo, hi, steps, sums
    )
    return Leads(done, values, lo, hi, steps, kept if renewed else inverse, debt, sums)


def track_all(
    square: Square,
    temperature: float,
    means: Floats,
    steps: int,
    averaged: bool,
    values: Floats,
    lo: Floats,
    hi: Floats,
    slack: float = 0.0,
) -> int:
    """Bellman updates for one mean cost after another (track.py), in place: for how many rounds.

    ``values[0]`` is where to begin and ``means[0]`` what it was made for; round k makes values[k + 1] for means[k + 1]
    and bounds the optimum for means[k] by values[k]. Ends before a round whose values span too much for one scale.
    """
    means = given(means)
    return _track_all(square.columns, square.entries, temperature, slack, means, steps, averaged, values, lo, hi)


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
        out[i] = 0
    fours = columns.shape[0] // 4 * 4
    for y in range(0, fours, 4):
        x0, x1, x2, x3 = x[y], x[y + 1], x[y + 2], x[y + 3]
        c0, c1, c2, c3 = columns[y], columns[y + 1], columns[y + 2], columns[y + 3]
        for i in range(n):
            out[i] += (c0[i] * x0 + c1[i] * x1) + (c2[i] * x2 + c3[i] * x3)
    for y in range(fours, columns.shape[0]):
        for i in range(n):
            out[i] += columns[y, i] * x[y]


@njit(cache=True, error_model="numpy", forceinline=True)
def look(
    columns: Any, temperature: float, v: Any, d: Any, w: Any, s: Any, logs: Any, known: bool = False
) -> tuple[float, float]:
    """d = (v - min v)/T, w = e^{-d}, s = P w unless it is known, and log s of a padded v; min v and its span.

    A v that is not flat, that is, for which one scale does not serve all states, spans infinitely much.
    """
    low, high = extremes(v)
    if not high - low <= SPAN_OF_ONE_SCALE * temperature:
        return low, np.inf
    for x in range(v.size):
        d[x] = v[x] - low
    if temperature != 1.0:
        for x in range(v.size):
            d[x] /= temperature
    exponentials(d, w)
    if not known:
        times(columns, w, s)
        for x in range(columns.shape[0], v.size):
            s[x] = s[0]
    logarithms(s, logs)
    return low, high - low


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
    slack: float,
    costs: Any,
    tols: Any,
    start: Any,
    inverse: Any,
    debt: int,
    values: Any,
    los: Any,
    his: Any,
    steps: Any,
    sums: Any,
) -> tuple[int, bool, int]:
    rounds, n = costs.shape
    padded, most = columns.shape[1], extremes(entries)[1]
    d, w, s, logs, raw, f, v, g, new, residual = [np.zeros(padded) for _ in range(10)]
    short, r, move = np.zeros((n, padded), np.float32), np.zeros(padded, np.float32), np.zeros(padded, np.float32)
    single, renewed = shorten(inverse, short), False
    pad(start, raw)
    low, span = look(columns, temperature, raw, d, w, s, logs)
    if span == np.inf:
        return 0, renewed, debt
    for x in range(padded):
        v[x], f[x], sums[0, x] = raw[x] - low, -(raw[x] - low) - temperature * logs[x], s[x]
    for t in range(rounds):
        taken, inversions, fresh, before = 0, 0, False, np.nan
        while True:
            level = costs[t, 0] + f[0]
            for x in range(n):
                g[x] = (costs[t, x] + f[x]) - level
            if single:
                for x in range(n):
                    r[x] = g[x]
                times(short, r, move)
                for x in range(n):
                    raw[x] = v[x] + move[x]
            else:
                times(inverse, g, raw)
                for x in range(n):
                    raw[x] += v[x]
            for x in range(n, padded):
                raw[x] = raw[0]
            taken += 1
            lo, hi = -np.inf, np.inf
            low, span = look(columns, temperature, raw, d, w, s, logs)
            if span < np.inf:
                lo, hi = _bounds(most, temperature, slack, costs, t, raw, low, span, logs, new, g, residual)
            gap = hi - lo
            better = gap <= tols[t]
            if not better and taken == 1:
                before = _span(costs, t, f)
            halved = gap <= before / 2
            if better or gap < before:
                for x in range(padded):
                    v[x], f[x] = new[x], g[x]
            if better:
                break
            if gap < before:
                before, fresh = gap, False
            if not halved:
                if fresh or inversions == REINVERSIONS:
                    return t, renewed, debt
                _inverse_at(columns, temperature, v, inverse)
                single = shorten(inverse, short)
                inversions += 1
                renewed, fresh, debt = True, True, 0
        debt += taken - 1
        if 2 * debt >= n:
            _inverse_at(columns, temperature, v, inverse)
            single, renewed, debt = shorten(inverse, short), True, 0
        for x in range(n):
            values[t, x] = v[x]
        for x in range(padded):
            sums[t + 1, x] = s[x]
        los[t], his[t], steps[t] = lo, hi, taken
    return rounds, renewed, debt


@njit(cache=True, error_model="numpy")
def shorten(inverse: Any, out: Any) -> bool:
    """out = inverse in single precision; whether steps with it are as good."""
    n, padded = inverse.shape
    sums = np.zeros(padded)
    for y in range(n):
        for x in range(padded):
            out[y, x] = inverse[y, x]
            sums[x] += abs(inverse[y, x])
    return bool(n * extremes(sums)[1] <= SINGLE)


@njit(cache=True, error_model="numpy")
def _span(costs: Any, t: int, f: Any) -> float:
    low, high = np.inf, -np.inf
    for x in range(costs.shape[1]):
        low, high = min(low, costs[t, x] + f[x]), max(high, costs[t, x] + f[x])
    return high - low


@njit(cache=True, error_model="numpy")
def _track_all(
    columns: Any,
    entries: Any,
    temperature: float,
    slack: float,
    means: Any,
    steps: int,
    averaged: bool,
    values: Any,
    los: Any,
    his: Any,
) -> int:
    padded, most = columns.shape[1], extremes(entries)[1]
    d, w, s, logs, raw, c, f, v, once, residual = [np.zeros(padded) for _ in range(10)]
    pad(values[0], raw)
    for t in range(los.size):
        low, span = look(columns, temperature, raw, d, w, s, logs)
        if span == np.inf:
            return t
        los[t], his[t] = _bounds(most, temperature, slack, means, t, raw, low, span, logs, v, f, residual)
        pad(means[t + 1], c)
        for step in range(steps):
            if step > 0:
                low, span = look(columns, temperature, raw, d, w, s, logs)
            for x in range(padded):
                once[x] = c[x] + (low - temperature * logs[x])
                raw[x] = once[x]
            if averaged:
                low, again = look(columns, temperature, raw, d, w, s, logs)
                span = max(span, again)
                for x in range(padded):
                    raw[x] = (once[x] + (c[x] + (low - temperature * logs[x]))) / 2
            if span == np.inf:
                return t
        least = extremes(raw)[0]
        for x in range(padded):
            raw[x] -= least
        for x in range(values.shape[1]):
            values[t + 1, x] = raw[x]
    return int(los.size)


@njit(cache=True, error_model="numpy", forceinline=True)
def _bounds(
    entries: float,
    temperature: float,
    slack: float,
    costs: Any,
    t: int,
    raw: Any,
    low: float,
    span: float,
    logs: Any,
    v: Any,
    f: Any,
    r: Any,
) -> tuple[float, float]:
    """v = raw - min, f = Bv - v for the cost 0, and the certificate of a flat v, within the largest of all errors.

    What is beyond floats proves nothing.
    """
    for x in range(v.size):
        v[x] = raw[x] - low
        f[x] = -v[x] - temperature * logs[x]
    total = _residuals(costs, t, f, r)
    lo, hi = extremes(r)
    _, error = enclose(max(-lo, hi), span, LEAST, span / temperature, temperature, entries, EPS, slack)
    return (lo - error, hi + error) if abs(total) + error < np.inf else (-np.inf, np.inf)


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def _residuals(costs: Any, t: int, f: Any, r: Any) -> float:
    """r = c_t + f, padded; the sum of it, in an order of its own."""
    total, n = 0.0, costs.shape[1]
    for x in range(n):
        r[x] = costs[t, x] + f[x]
        total += r[x]
    for x in range(n, r.size):
        r[x] = r[0]
    return total


@njit(cache=True, error_model="numpy")
def _inverse_at(columns: Any, temperature: float, v: Any, out: Any) -> None:
    """The transpose of (I - Q_v + 1 1'/n)^{-1}; zeros where v spans too much for one scale."""
    n, padded = columns.shape
    d, w, s, logs = [np.zeros(padded) for _ in range(4)]
    out[:] = 0.0
    if look(columns, temperature, v, d, w, s, logs)[1] == np.inf:
        return
    for y in range(n):
        for x in range(n):
            out[y, x] = 1.0 / n - columns[y, x] * (w[y] / s[x])
        out[y, y] += 1.0
    invert(out)


@njit(cache=True, error_model="numpy")
def invert(out: Any) -> None:
    """The inverse of a padded square array in its place, by Gauss-Jordan elimination with row pivoting.

    Two columns at a time, so that the array is gone through half as often, in the arithmetic of one by one.
    """
    n, padded = out.shape
    swapped, column = np.empty(n, np.int64), np.empty(n)
    for k in range(0, n, 2):
        for i in range(n):
            column[i] = out[i, k]
        swapped[k] = _swap(out, column, k)
        top = out[k]
        _scale(top, k)
        if k + 1 == n:
            for i in range(n):
                if i != k:
                    _subtract(out[i], k, top)
            break
        for i in range(n):
            column[i] = out[i, k + 1] - (out[i, k] * top[k + 1] if i != k else 0.0)
        swapped[k + 1] = _swap(out, column, k + 1)
        low = out[k + 1]
        _subtract(low, k, top)
        _scale(low, k + 1)
        for i in range(n):
            if i != k and i != k + 1:
                row, first, second = out[i], out[i, k], column[i]
                row[k], row[k + 1] = 0.0, first * top[k + 1]
                for j in range(padded):
                    row[j] = (row[j] - first * top[j]) - second * low[j]
        _subtract(top, k + 1, low)
    for k in range(n - 1, -1, -1):
        if swapped[k] != k:
            for i in range(n):
                out[i, k], out[i, swapped[k]] = out[i, swapped[k]], out[i, k]


@njit(cache=True, error_model="numpy")
def _swap(out: Any, column: Any, k: int) -> int:
    """Bring the row with the largest entry of the column, from k on, to place k; where it was."""
    pivot = k
    for i in range(k + 1, column.size):
        if abs(column[i]) > abs(column[pivot]):
            pivot = i
    column[k], column[pivot] = column[pivot], column[k]
    for j in range(out.shape[1]):
        out[k, j], out[pivot, j] = out[pivot, j], out[k, j]
    return pivot


@njit(cache=True, error_model="numpy")
def _scale(row: Any, k: int) -> None:
    scale = 1.0 / row[k]
    row[k] = 1.0
    for j in range(row.size):
        row[j] *= scale


@njit(cache=True, error_model="numpy")
def _subtract(row: Any, k: int, pivot: Any) -> None:
    """Take the pivot's row from another one, so that its entry k would be 0."""
    factor = row[k]
    row[k] = 0.0
    for j in range(row.size):
        row[j] -= factor * pivot[j]
