"""Leaders and trackers on a model that is small enough for P to be written out as a square array.

**What it is for.** A round on 50 states takes about two microseconds, less than one call from Python. So the
functions here take the costs of many consecutive rounds, and go through them in one compiled loop:
:func:`lead_block` finds the optimum for one cost after another, each from the last, and :func:`track_block` takes
Bellman updates. What happens in a round depends on nothing but the numbers that it begins with: however the rounds are
cut into calls, the bits are the same. ``full_accounts.py`` has what the rounds cost, ``full_laws.py`` the stationary
laws.

**What goes in and comes out.** P comes as a :class:`Square`, values and costs as arrays with a row per round. The
optimum of each row comes back as a v with proved bounds on the optimal value (sparse.py has the certificate).

**Newton's method with an old inverse.** With r = Bv - v, Newton's method is v <- v + d, (I - Q_v) d = r - mu.r. The
inverse of

    A = I - Q_u + 1 1'/n

is kept from an earlier v = u, and d = A^{-1} r: then (I - Q_u) d = r - const, since A 1 = 1. For v near u a step
multiplies the gap by about |Q_v - Q_u|. The certificate of the new v costs one product with P, and its f = Bv - v - c
is the first residual of the next round, r = c' + f, at no cost. A round takes steps until its gap is at most its
tolerance, and at least one. A step that does not halve the gap asks for an inverse at the present v; where that brings
no progress at all, the round is left to the general solver. An inverse is also renewed when the steps after the first
of a round, summed up since the last time, are _EXTRA_STEPS_OF_AN_INVERSE.

Inversions are rare, so the compiled loop returns to Python for them, and LAPACK makes them. It is held to one thread:
the bits would depend on the number of threads.

**Precision of the inverse.** A^{-1} only says where to go next; what is found there is certified. So it is kept in
single precision, half as many bytes to read in a step, where that hardly matters: with K = max_x sum_y |A^{-1}(x, y)|
and r less a constant, d is off by at most 2^-24 n K of the gap and Bv - v by twice that, which is 1/64 for
n K <= 2^17. Chains that mix more slowly than that have theirs in double precision.

**The certificate** of a v is [min r - e, max r + e], where e bounds the rounding of all entries of r at once. sparse.py
bounds the rounding of each r(x) by the number of its moves, |log s(x)|, |v(x)| and |r(x)|; here the largest of each
over all states is put into that bound, with |log s| <= max d = span v / T. It holds for sums in any order, with
products and sums rounded together or not. Where v spans more than one scale can hold, the sums s would underflow, and
the round is left to the general solver.

**Compiled loops.** Arrays are padded to a multiple of 8 columns, so that loops over them have no remainder: P with
zeros, v with v(0), laws with zeros.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials, extremes, logarithms
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE, enclose
from lsmdp._core.threads import one_thread
from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    Ints,
    frozen,
    read_only,
)

# P is written out up to this many states, where stationary laws are cheap: beyond, an inversion would take too long.
STATES_WRITTEN_OUT = 256
# Up to this many states P is written out in any case, since n^3/3 operations for a law are then a few microseconds.
_STATES_OF_CHEAP_LAWS = 64
# Rows are padded to multiples of this many numbers, which is what a vector instruction takes at most.
_PADDING = 8
# The sums s of values that one scale can hold are larger than this: they are at least e^-100 > 1e-44.
_SMALLEST_SUM = 1e-44
# An inverse is renewed at most this often in one round: each time the gap has become smaller, and a gap that needs more
# of them is not about to close.
_INVERSIONS_IN_ONE_ROUND = 8
# An inverse is renewed after so many extra steps, a third of the work of an inversion: since a new inverse serves for
# many rounds to come, rounds take up to a quarter longer if it is renewed only after as much work as it takes.
_EXTRA_STEPS_OF_AN_INVERSE = 32
# An inverse is kept in single precision if n times its largest sum of a row is at most this: steps with it then leave
# at most 1/64 of the gap by rounding.
_LARGEST_NK_IN_SINGLE_PRECISION = 2.0**17
# This stands in place of sums that nobody has taken yet.
UNKNOWN = np.empty((0, 0))


class Square(NamedTuple):
    """P written out, by rows and by columns, padded; entries per row; min_x P(x, y); rho of a reversible P, or nothing.

    ``columns[y, x]`` is P(x, y).
    """

    rows: Floats
    columns: Floats
    entries: Floats
    least: Floats
    balanced: Floats


class Weights(NamedTuple):
    """What the policy of a v is made of, a row for each v, padded: Q(x, z) = P(x, z) w(z) / s(x).

    d = (v - min v)/T, w = e^{-d}, s = P w, and ``logs`` holds log s.
    """

    d: Floats
    w: Floats
    s: Floats
    logs: Floats

    @classmethod
    def blank(cls, count: int, padded: int) -> Weights:
        """Room for that many values."""
        return cls(*aligned(4 * count, padded).reshape(4, count, padded))


class Setting(NamedTuple):
    """What certificates need besides v and c: T, the most entries of a row of P, and what bounds are wider by."""

    temperature: float
    entries: float
    slack: float


class Newton(NamedTuple):
    """The transposed inverse that steps are taken with, and room for a residual and a step in its precision."""

    inverse: Floats
    residual: Floats
    step: Floats


class Targets(NamedTuple):
    """The costs to solve for, one after the other, and the gap that each may have."""

    costs: Floats
    tols: Floats


class PlayedRows(NamedTuple):
    """A row of values more than there are rounds, and the bounds and steps of each round; ``sums`` are the s."""

    values: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    sums: Floats


class LeadProgress(NamedTuple):
    """How far the leaders have come: the round, its steps and gap so far, and extra steps with the present inverse."""

    round: int
    taken: int
    gap: float
    debt: int


class FullLeads(NamedTuple):
    """The leaders of consecutive costs: values, bounds and steps for the first ``done``, and what is kept.

    Row 0 of ``v`` is where they began, so that the leader of row k of the costs is in row k + 1. Each row of ``sums``
    is the s of its certificate (:class:`Weights`).
    """

    done: int
    v: Floats
    lo: Floats
    hi: Floats
    steps: Ints
    inverse: Floats
    debt: int
    sums: Floats


def written_out(P: CSR, balanced: Floats | None) -> Square | None:
    """The arrays of a P of at most STATES_WRITTEN_OUT states; None where no stationary law of a policy would be cheap.

    ``balanced`` is the law for which P is reversible.
    """
    n = int(P.shape[0])
    full = P.toarray()
    least = full.min(axis=0)
    if n > _STATES_OF_CHEAP_LAWS and balanced is None and not least.any():
        return None
    rows, columns = aligned(n, width(n)), aligned(n, width(n))
    rows[:, :n], columns[:, :n] = full, full.T
    rho = np.empty(0) if balanced is None else np.array(balanced)
    square = Square(rows, columns, np.diff(P.indptr).astype(np.float64), least, rho)
    return Square(*(read_only(array) for array in square))


def width(n: int) -> int:
    """n, padded."""
    return -(-n // _PADDING) * _PADDING


def aligned(count: int, padded: int, kind: type[np.floating[Any]] = np.float64) -> Floats:
    """So many rows of padded zeros, from a multiple of 64 bytes on; elsewhere products take a quarter longer.

    Rows in double precision all begin there, those in single precision at multiples of 32.
    """
    size = count * padded
    numbers = np.zeros(size + 2 * _PADDING, kind)
    first = -numbers.__array_interface__["data"][0] % 64 // numbers.itemsize
    return numbers[first : first + size].reshape(count, padded)


def lead_block(
    square: Square,
    temperature: float,
    costs: Floats,
    tols: Floats,
    v: Floats,
    inverse: Floats,
    debt: int,
    slack: float = 0.0,
) -> FullLeads:
    """The optimum for each row of costs, certified within its tolerance, each from the last; v is where to begin.

    ``inverse`` is the transposed A^{-1} from earlier (n x padded n), ``debt`` the extra steps taken with it, ``slack``
    what the bounds are wider by than this P asks for. Ends early, with ``done`` < the number of rows, before a round
    that is for the general solver.
    """
    (rounds, n), padded = costs.shape, square.columns.shape[1]
    aims, setting = Targets(given(costs), given(tols)), Setting(temperature, square.entries.max(), slack)
    out = PlayedRows(
        np.empty((rounds + 1, n)),
        np.empty(rounds),
        np.empty(rounds),
        np.empty(rounds, np.int64),
        np.empty((rounds + 1, padded)),
    )
    out.values[0] = v
    seen, work = Weights.blank(1, padded), aligned(5, padded)
    at, inversions = LeadProgress(0, 0, 0.0, debt), 0
    flat = weigh_block(square, temperature, v[np.newaxis], UNKNOWN, seen) > 0
    if flat:
        work[0, :n], out.sums[0] = v - v.min(), seen.s[0]
        work[1, :n] = -work[0, :n] - temperature * seen.logs[0, :n]
    row = Weights(*(array[0] for array in seen))
    steps = _newton(inverse)
    while flat and at.round < rounds:
        before, at = at, _lead(square.columns, steps, setting, aims, at, work, row, out)
        again = before.taken > 0 and at.round == before.round
        inversions = inversions + 1 if again else 0
        if again and (inversions == _INVERSIONS_IN_ONE_ROUND or not at.gap < before.gap):
            break
        if at.taken > 0 or at.debt >= _EXTRA_STEPS_OF_AN_INVERSE:
            inverse, at = inverse_at(square, temperature, work[0, :n]), at._replace(debt=0)
            steps = _newton(inverse)
    return FullLeads(at.round, out.values, out.lo, out.hi, out.steps, inverse, at.debt, out.sums)


def track_block(
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
    """Bellman updates for one mean cost after another (learners/track.py), in place: for how many rounds.

    ``values[0]`` is where to begin and ``means[0]`` what it was made for; round k makes values[k + 1] for means[k + 1]
    and bounds the optimum for means[k] by values[k]. Ends before a round whose values span too much for one scale.
    """
    padded, setting = square.columns.shape[1], Setting(temperature, square.entries.max(), slack)
    out = PlayedRows(values, lo, hi, np.empty(0, np.int64), UNKNOWN)
    work, seen = aligned(4, padded), Weights(*aligned(4, padded))
    passes = steps * (2 if averaged else 1)
    return int(_track(square.columns, setting, given(means), passes, averaged, work, seen, out))


def inverse_at(square: Square, temperature: float, v: Floats) -> Floats:
    """The transpose of (I - Q_v + 1 1'/n)^{-1}, padded, in the precision that it needs.

    It is zero where floats have none, as where v spans too much.
    """
    n = v.size
    if not is_flat(v, temperature):
        return read_only(aligned(n, width(n), np.float32))
    Q = square.rows[:, :n] * np.exp((v.min() - v) / temperature)
    Q /= Q.sum(axis=1, keepdims=True)
    found = inverted(Q)
    rough = n * np.abs(found).sum(axis=1).max() <= _LARGEST_NK_IN_SINGLE_PRECISION
    out = aligned(n, width(n), np.float32 if rough else np.float64)
    out[:, :n] = found.T
    return read_only(out)


def weigh_block(square: Square, temperature: float, values: Floats, sums: Floats, found: Weights) -> int:
    """The weights of each row of values, up to the first that one scale cannot hold: how many.

    ``sums`` are the s, where they are known.
    """
    return int(_weigh_block(square.columns, temperature, given(values), given(sums), np.empty(found.d.shape[1]), found))


def inverted(Q: Floats) -> Floats:
    """(I - Q + 1 1'/n)^{-1}; zeros where floats have none."""
    from scipy.linalg import lapack  # a tenth of a second, at the first inversion

    n = len(Q)
    A = 1.0 / n - Q
    A.flat[:: n + 1] += 1.0
    with one_thread():
        factors, pivots, singular = lapack.dgetrf(A.T, overwrite_a=True)
        found: Floats = lapack.dgetri(factors, pivots, overwrite_lu=True)[0].T
    return np.zeros_like(Q) if singular or not np.isfinite(found).all() else found


def product(A: Floats, B: Floats) -> Floats:
    """A B, by one thread."""
    with one_thread():
        return np.asarray(A @ B)


def is_flat(v: Floats, temperature: float) -> bool:
    """Whether one scale serves all states: v spans no more than SPAN_OF_ONE_SCALE T."""
    return bool(v.max() - v.min() <= SPAN_OF_ONE_SCALE * temperature)


def _newton(inverse: Floats) -> Newton:
    return Newton(given(inverse), *aligned(2, inverse.shape[1], inverse.dtype.type))


def given(array: Floats) -> Floats:
    """One kind of array, contiguous and read-only: each kind would be compiled for anew."""
    return frozen(np.ascontiguousarray(array))


@inner(fastmath={"contract"})
def mix_columns(columns: Any, x: Any, out: Any) -> None:
    """out = sum_y columns[y] x[y], one column after the other."""
    n, fours = out.size, columns.shape[0] // 4 * 4
    for i in range(n):
        out[i] = 0.0
    for y in range(0, fours, 4):
        x0, x1, x2, x3 = x[y], x[y + 1], x[y + 2], x[y + 3]
        for i in range(n):
            total = out[i] + columns[y, i] * x0
            total = total + columns[y + 1, i] * x1
            total = total + columns[y + 2, i] * x2
            out[i] = total + columns[y + 3, i] * x3
    for y in range(fours, columns.shape[0]):
        for i in range(n):
            out[i] += columns[y, i] * x[y]


@inner()
def _weigh(columns: Any, temperature: float, v: Any, found: Any, summed: Any) -> float:
    """Row k of the weights of a padded v, which is lowered to min v = 0; the span of v.

    The span is infinite, and nothing is done, where one scale does not serve all states. Where it is ``summed`` up
    already, row k of s stays as it is.
    """
    n = columns.shape[0]
    for x in range(n, v.size):
        v[x] = v[0]
    low, high = extremes(v)
    if not high - low <= SPAN_OF_ONE_SCALE * temperature:
        return np.inf
    d, w, s = found.d, found.w, found.s
    for x in range(v.size):
        v[x] -= low
        d[x] = v[x]
    if temperature != 1.0:
        for x in range(v.size):
            d[x] /= temperature
    exponentials(d, w)
    if not summed:
        mix_columns(columns, w, s)
        for x in range(n, v.size):
            s[x] = s[0]
    logarithms(s, found.logs)
    return high - low


@entry()
def _weigh_block(columns: Any, temperature: float, values: Any, sums: Any, v: Any, found: Any) -> int:
    summed = sums.size > 0
    for k in range(values.shape[0]):
        row = Weights(found.d[k], found.w[k], found.s[k], found.logs[k])
        for x in range(values.shape[1]):
            v[x] = values[k, x]
        if summed:
            for x in range(v.size):
                row.s[x] = sums[k, x]
        if _weigh(columns, temperature, v, row, summed) == np.inf:
            return k
    return int(values.shape[0])


@njit(inline="always")  # a piece of each caller, not compiled by itself as well
def _certify(setting: Any, c: Any, v: Any, span: float, logs: Any, f: Any, r: Any) -> tuple[float, float]:
    """f = Bv - v for the cost 0, r = c + f, and the certificate of a v that one scale can hold.

    What is beyond floats proves nothing.
    """
    temperature = setting.temperature
    for x in range(v.size):
        f[x] = -v[x] - temperature * logs[x]
    for x in range(c.size):
        r[x] = c[x] + f[x]
    for x in range(c.size, v.size):
        r[x] = r[0]
    lo, hi = extremes(r)
    size = hi if hi > -lo else -lo
    _, error = enclose(size, span, _SMALLEST_SUM, span / temperature, temperature, setting.entries, EPS, setting.slack)
    return (lo - error, hi + error) if hi - lo + error < np.inf else (-np.inf, np.inf)


@entry()
def _lead(columns: Any, newton: Any, setting: Any, aims: Any, at: Any, work: Any, seen: Any, out: Any) -> Any:
    """Lead on from ``at``, until all is done or a new inverse is needed; row 0 of the work space is v, row 1 is f."""
    costs, tols = aims
    values, los, his, steps, sums = out
    rounds, n = costs.shape
    inverse, residual, step = newton
    v, f, new, new_f, r = work[0], work[1], work[2], work[3], work[4]
    s, logs = seen.s, seen.logs
    summed, taken, gap, debt = np.bool_(False), at.taken, at.gap, at.debt
    temperature, scale = setting.temperature, 1 / setting.temperature  # in units of T, single precision can hold r
    for t in range(at.round, rounds):
        c = costs[t]
        while True:
            level = c[0] + f[0]
            for x in range(n):
                residual[x] = ((c[x] + f[x]) - level) * scale
            taken += 1
            mix_columns(inverse, residual, step)
            for x in range(n):
                new[x] = v[x] + temperature * step[x]
            lo, hi = -np.inf, np.inf
            span = _weigh(columns, temperature, new, seen, summed)
            if span < np.inf:
                lo, hi = _certify(setting, c, new, span, logs, new_f, r)
            found = hi - lo
            if taken == 1 and not found <= tols[t]:
                for x in range(r.size):  # behind its n entries there are zeros, as the first of them is
                    r[x] = residual[x]
                low, high = extremes(r)
                gap = (high - low) * temperature
            before = gap
            if found < gap or found <= tols[t]:
                gap = found
                for x in range(v.size):
                    v[x], f[x] = new[x], new_f[x]
            if found <= tols[t]:
                break
            if not found < before / 2:
                return LeadProgress(t, taken, gap, debt)
        debt += taken - 1
        for x in range(n):
            values[t + 1, x] = v[x]
        for x in range(v.size):
            sums[t + 1, x] = s[x]
        los[t], his[t], steps[t], taken = lo, hi, taken, 0
        if debt >= _EXTRA_STEPS_OF_AN_INVERSE:
            return LeadProgress(t + 1, taken, gap, debt)
    return LeadProgress(rounds, taken, gap, debt)


@entry()
def _track(columns: Any, setting: Any, means: Any, passes: int, averaged: bool, work: Any, seen: Any, out: Any) -> int:
    """See :func:`track_block`; a round makes so many updates, of which every second is averaged with the one before."""
    n, v, f, once, r, summed = out.values.shape[1], work[0], work[1], work[2], work[3], np.bool_(False)
    for t in range(out.lo.size):
        for x in range(n):
            v[x] = out.values[t, x]
        for k in range(passes):
            span = _weigh(columns, setting.temperature, v, seen, summed)
            if span == np.inf:
                return t
            if k == 0:
                out.lo[t], out.hi[t] = _certify(setting, means[t], v, span, seen.logs, f, r)
            second = averaged and k % 2 == 1
            for x in range(n):
                v[x] = means[t + 1, x] - setting.temperature * seen.logs[x]
                v[x] = (v[x] + once[x]) / 2 if second else v[x]
                once[x] = v[x]
        for x in range(n, v.size):
            v[x] = v[0]
        low = extremes(v)[0]
        for x in range(n):
            out.values[t + 1, x] = v[x] - low
    return int(out.lo.size)
