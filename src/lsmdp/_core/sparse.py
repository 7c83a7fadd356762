"""P in compressed rows (CSR): sums over the rows for a value function v, the certificate of v, and its policy.

Every function takes P, a value function v and the temperature T. ``flow`` computes what depends on v alone: the sums

    s(x) = sum_y P(x,y) e^{(m - v(y))/T}.

``residual`` and ``evaluate`` bound every entry of Bv - v (eq:bellman_V), the rounding of their own computation
included; this is the certificate of a solve. ``policy_weights``, ``push``, ``expect``, ``control_cost`` and ``sample``
are about the policy Q_v(y|x) = P(x,y) e^{(m - v(y))/T} / s(x) (eq:optQ).

**Scales.** Where v spans at most ``SPAN_OF_ONE_SCALE`` T, one scale m = min v serves all rows: n exponentials do, one
per state, and s is a product of P with a vector. Such a v is called *flat*. Elsewhere every row has a scale of its own,
its smallest successor value m(x) = min_{P(x,y)>0} v(y), so that e^{(m(x) - v(y))/T} lies in (0, 1] and at least one of
them is 1: no span of v can underflow a row. The difference is taken before it is divided by the temperature: it is then
off by a relative eps, so that a chance Q_v(y|x) of e^-d is off by a relative d eps, whatever the size of v / T (whose
own rounding would be an absolute error of the exponent).

**Speed.** Rows are read in blocks: first all sums of a block, then all of their logarithms, since a logarithm between
two sums would make the reads of the second wait. A large P is cut into slices of its rows, one for each thread
(threads.py).

**Rounding of the residual.** ``residual`` computes r = Bv - v and encloses it. With unit roundoff e, k entries in
the row and s = sum_y P(x,y) exp(-(v(y) - m)/T): each exponent d = (v(y) - m)/T carries a relative error 2e, exp at
most 2e (1 ulp), the product e and the sum (k - 1)e, so that s is off by the factor 1 + (k + 2)e + 2e E[d], where
E[d] <= -log s is the mean of d under the weights P exp(-d)/s (their relative entropy to P is -E[d] - log s >= 0).
Together with the logarithm, the product by T, a row of P that sums to 1 only within 2ke, and the three last
additions, which are m - v(x), then b(x) = m - v(x) - T log s, then c(x) + b(x),

    |error of r(x)| <= e [ T (3k + 2 + 5 log(1/s)) + |m - v(x)| + |b(x)| + |r(x)| ].

All but c is a matter of v alone (a :class:`Flow`), and serves any cost again with the same bits.

A ``slack`` is added to this bound as it is: what P and c may be off by themselves, in units of the cost
(model/edge_costs.py).

Nothing here asks m to be the smallest value of the row, so the bound holds for m = min v too. The loop uses 2e in place
of e, which also covers the products of errors and an exp of 3 ulp. Numbers below 1e-308 have
an absolute error instead, at most 1e-323 for an exp and its product together: T k 1e-323 / s is added to the bound,
which matters only where P itself has such entries (and is computed without such numbers, which would be slow).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials, extremes, logarithms
from lsmdp._core.means import MeanCost
from lsmdp._core.threads import in_slices
from lsmdp.arrays import CSR, EPS, Floats, Ints, frozen, like, row_sums

_STATES_IN_ONE_GO = 1 << 16  # So many are computed at a time, which stay in the cache and add little memory.
_ROWS_OF_A_BLOCK = 256  # So many sums wait for their logarithms: some arrays of this length stay in the nearest cache.
LEAST_NORMAL_FLOAT = 2.3e-308  # This is the least positive float of full precision.
SURELY_NORMAL = 1e-290  # Beside a sum from here on, what is lost below 1e-308 is far less than its rounding.
SPAN_OF_ONE_SCALE = 100.0  # Up to this span of v/T one scale serves all rows; e^-100 costs 500 eps of log s.
# Steps along a row are unsigned, because an index that cannot be negative need not be checked for a count from the end.
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class Rows(NamedTuple):
    """The arrays of a CSR matrix, as compiled loops read them."""

    indptr: Any
    indices: Any
    data: Any


def rows(P: CSR) -> Rows:
    """The arrays of P: with unsigned indices, which need no check for a count from the end, and read-only."""
    unsigned = np.uint32 if P.indices.itemsize == 4 else np.uint64
    return Rows(frozen(P.indptr.view(unsigned)), frozen(P.indices.view(unsigned)), frozen(P.data))


class Flow(NamedTuple):
    """What is known of v alone: w = e^{(min v - v)/T}, s = P w and log s; w and s are empty where v is not flat."""

    v: Floats
    temperature: float
    low: float
    w: Floats
    s: Floats
    logs: Floats

    @property
    def flat(self) -> bool:
        """Whether one scale serves all rows."""
        return self.w.size > 0

    @property
    def base(self) -> Floats:
        """Bv - v for the cost 0."""
        base = self.low - self.v
        base -= self.temperature * self.logs
        return np.asarray(base)


class CertificateRoom(NamedTuple):
    """What Bv - v for the cost 0 is added to (nothing if empty), and room for a block of rows.

    With a ``share`` above 0, r then becomes v + share r.
    """

    r: Any
    block: Any
    share: float

    @classmethod
    def of(cls, r: Floats, share: float = 0.0) -> CertificateRoom:
        """This r, and room of its own."""
        return cls(r, room_of_a_block(), share)


def room_of_a_block() -> Floats:
    """Room for five numbers of each row of a block."""
    return np.empty((5, _ROWS_OF_A_BLOCK))


def exponentials_of(P: CSR, v: Floats, temperature: float = 1.0) -> tuple[float, Floats]:
    """(min v, e^{(min v - v)/T}) where v is flat; else an empty array, from which a loop knows to scale each row."""
    v = frozen(v)
    low, high = extremes(v)
    return low, exponentials_from(P, v, low, high, temperature)


def exponentials_from(P: CSR, v: Floats, low: float, high: float, temperature: float) -> Floats:
    """The same for a v whose extremes are known."""
    if not high - low <= SPAN_OF_ONE_SCALE * temperature:
        return np.empty(0)
    w = np.empty(v.size)

    def part(_: int, first: int, last: int) -> None:
        for start in range(first, last, _STATES_IN_ONE_GO):
            here = slice(start, min(start + _STATES_IN_ONE_GO, last))
            d = v[here] - low
            d /= temperature
            exponentials(d, w[here])

    in_slices(P.nnz, v.size, part)
    return w


def flow(P: CSR, v: Floats, temperature: float = 1.0) -> Flow:
    """Everything about v that the steps of a round share, from one reading of P."""
    found, none = _unevaluated(P, v, temperature, keep=True), np.empty(0)
    given = rows(P), found, frozen(none), 0.0, False
    in_slices(P.nnz, P.shape[0], lambda _, first, last: _certify(*given, CertificateRoom.of(none), first, last))
    return found


def residual(P: CSR, c: Floats, v: Floats, temperature: float, slack: float = 0.0) -> tuple[Floats, float, float]:
    """r = Bv - v with bounds (lo, hi) on all of its entries, the rounding of this very computation included."""
    r = np.array(c, dtype=np.float64)
    return r, *_bounds(P, _unevaluated(P, v, temperature, keep=False), c, slack, r)


def update(
    P: CSR, c: MeanCost, v: Floats, temperature: float, mean: MeanCost, share: float, slack: float = 0.0
) -> tuple[Floats, float, float]:
    """v + share (Bv - v) for a mean cost, with the bounds that v proves for the cost c, if there is one."""
    of, new = _unevaluated(P, v, temperature, keep=False), np.empty(v.size)

    def part(_: int, first: int, last: int) -> tuple[float, float]:
        lo, hi, room = np.inf, -np.inf, CertificateRoom.of(new, share)
        for start in range(first, last, _STATES_IN_ONE_GO):
            here = slice(start, min(start + _STATES_IN_ONE_GO, last))
            np.divide(mean.total[here], mean.over, out=new[here])
            cost = frozen(c.part(here.start, here.stop))
            low, high = _certify(rows(P), of, cost, float(slack), False, room, here.start, here.stop)
            lo, hi = min(lo, low), max(hi, high)
        return lo, hi

    found = in_slices(P.nnz, P.shape[0], part)
    return new, min(lo for lo, _ in found), max(hi for _, hi in found)


def evaluate(P: CSR, c: Floats, v: Floats, temperature: float, slack: float = 0.0) -> tuple[Flow, float, float]:
    """The bounds of ``residual``, with what the next residual of the same v can use."""
    found = _unevaluated(P, v, temperature, keep=True)
    return found, *_bounds(P, found, c, slack, np.empty(0))


def bounds(P: CSR, of: Flow, c: Floats, slack: float = 0.0) -> tuple[float, float]:
    """The bounds of ``residual`` to the same bits; where the flow of v is flat, the entries of P are not read again."""
    if not of.flat:
        return residual(P, c, of.v, of.temperature, slack)[1:]
    return _bounds(P, of, c, slack, np.empty(0), known=True)


def _unevaluated(P: CSR, v: Floats, temperature: float, *, keep: bool) -> Flow:
    """A flow with room for its sums and their logarithms, if they are to be kept."""
    low, w = exponentials_of(P, v, temperature)
    states = P.shape[0] if keep else 0
    return Flow(frozen(v), float(temperature), low, w, np.empty(states if w.size else 0), np.empty(states))


def _bounds(P: CSR, of: Flow, c: Floats, slack: float, r: Floats, known: bool = False) -> tuple[float, float]:
    c = frozen(c)

    def part(_: int, first: int, last: int) -> tuple[float, float]:
        return _certify(rows(P), of, c[first:last], float(slack), known, CertificateRoom.of(r), first, last)

    found = in_slices(P.nnz, P.shape[0], part)
    return min(lo for lo, _ in found), max(hi for _, hi in found)


def scaled_sums(P: CSR, v: Floats, temperature: float = 1.0) -> tuple[Floats, Floats]:
    """m(x) = min_{P(x,y)>0} v(y), and sum_y P(x,y) e^{(m(x) - v(y))/T}, for each state: no span of v is too large."""
    m, _, weights = weigh_rows(P, v, temperature)
    return m, row_sums(like(P, weights))


def weigh_rows(P: CSR, v: Floats, temperature: float) -> tuple[Floats, Floats, Floats]:
    """m(x), and for every entry of P the exponent d = (v(y) - m(x))/T and the weight P(x,y) e^-d."""
    ahead = v[P.indices]
    m = np.minimum.reduceat(ahead, P.indptr[:-1])
    with np.errstate(over="ignore"):
        d = (ahead - np.repeat(m, np.diff(P.indptr))) / temperature
    return m, d, P.data * np.exp(-d)


def control_of(P: CSR, d: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """s and KL(Q_v(.|x) || P(.|x)) for each state, from the exponents and the weights of ``weigh_rows``."""
    s = row_sums(like(P, weights))
    means = row_sums(like(P, weights * np.where(weights > 0.0, d, 0.0)))
    return s, np.maximum(-means / s - np.log(s), 0.0)


def policy_weights(P: CSR, v: Floats, temperature: float = 1.0) -> Floats:
    """The entries of Q_v aligned with P's (eq:optQ)."""
    _, w = exponentials_of(P, v, temperature)
    return _chances(P, w, P @ w) if w.size else _steep_chances(P, v, temperature)


def chances(P: CSR, of: Flow) -> Floats:
    """The same where the flow of v is known."""
    return _chances(P, of.w, of.s) if of.flat else _steep_chances(P, of.v, of.temperature)


def _chances(P: CSR, w: Floats, sums: Floats) -> Floats:
    weights = w.take(P.indices)
    weights *= P.data
    weights /= sums.repeat(P.indptr[1:] - P.indptr[:-1])
    return np.asarray(weights)


def _steep_chances(P: CSR, v: Floats, temperature: float) -> Floats:
    weights = weigh_rows(P, v, temperature)[2]
    weights /= np.repeat(row_sums(like(P, weights)), np.diff(P.indptr))
    return weights


def push(P: CSR, v: Floats, p: Floats, temperature: float = 1.0) -> Floats:
    """p Q_v, the law of the next state: w * (P^T (p / (P w))) where one scale does for all rows."""
    _, w = exponentials_of(P, v, temperature)
    if w.size:
        return np.asarray(w * (P.T @ (p / (P @ w))))
    return np.asarray(p @ like(P, policy_weights(P, v, temperature)))


def expect(P: CSR, v: Floats, f: Floats, temperature: float = 1.0) -> Floats:
    """Q_v f, the expectation of f after one step, for each state: P (w f) / (P w) where one scale does for all rows."""
    _, w = exponentials_of(P, v, temperature)
    if w.size:
        return np.asarray((P @ (w * f)) / (P @ w))
    return np.asarray(like(P, policy_weights(P, v, temperature)) @ f)


def control_cost(P: CSR, v: Floats, temperature: float = 1.0) -> Floats:
    """KL(Q_v(.|x) || P(.|x)) for each state, in nats (not multiplied by the temperature)."""
    _, d, weights = weigh_rows(P, v, temperature)
    return control_of(P, d, weights)[1]


def sample(P: CSR, v: Floats, states: Ints, uniforms: Floats, temperature: float = 1.0) -> Ints:
    """A next state under Q_v from each of ``states``, by inversion of one uniform number each."""
    out = np.empty(states.size, dtype=np.int64)
    _sample(rows(P), frozen(v), temperature, frozen(states), frozen(uniforms), out)
    return out


@inner()
def enclose(
    c: float, step: float, s: float, surprise: float, temperature: float, entries: float, eps: float, slack: float
) -> tuple[float, float]:
    """One entry of r and the bound on its rounding; step = m - v(x), surprise = -log s."""
    base = step + temperature * surprise
    value = c + base  # eq:bellman_V
    error = eps * (temperature * (3.0 * entries + 2.0 + 5.0 * abs(surprise)) + abs(step) + abs(base) + abs(value))
    small = s if s < SURELY_NORMAL else SURELY_NORMAL
    return value, error + temperature * entries * (1e-300 / small * 1e-23) + slack


@inner()
def logs_of(s: Any, logs: Any) -> None:
    """logs = log s for a whole array of positive numbers."""
    small = 0
    for k in range(s.size):  # counted, not compared one after the other: many at a time
        small += not s[k] >= LEAST_NORMAL_FLOAT
    if small == 0:
        logarithms(s, logs)
    else:
        for k in range(s.size):
            logs[k] = np.log(s[k])


@inner()  # no fused products: what calls it would decide on the bits
def flat_sums(indptr: Any, indices: Any, data: Any, w: Any, start: Any, size: int, s: Any) -> None:
    """s = (P w)(start + k) for k < size, in the precision of s."""
    ends, zero = indptr[start : start + size + 1], s.dtype.type(0.0)
    p = np.uint64(ends[0])
    for k in range(size):
        end, total, other = np.uint64(ends[k + 1]), zero, zero
        while p + _FOUR <= end:  # several at a time, so that none waits for the other
            total += data[p] * w[indices[p]] + data[p + _TWO] * w[indices[p + _TWO]]
            other += data[p + _ONE] * w[indices[p + _ONE]] + data[p + _THREE] * w[indices[p + _THREE]]
            p += _FOUR
        if p + _TWO <= end:
            total += data[p] * w[indices[p]]
            other += data[p + _ONE] * w[indices[p + _ONE]]
            p += _TWO
        if p < end:
            total += data[p] * w[indices[p]]
            p += _ONE
        s[k] = total + other


@njit(inline="always")  # a piece of each caller, not compiled by itself as well
def steep_sums(P: Any, v: Any, temperature: float, start: int, m: Any, s: Any) -> None:
    """m = min v over the successors of the rows start + k, and s = sum_y P(x,y) e^{(m - v(y))/T}."""
    indptr, indices, data = P
    for k in range(s.size):
        least, total = np.inf, 0.0
        for p in range(indptr[start + k], indptr[start + k + 1]):
            if v[indices[p]] < least:
                least = v[indices[p]]
        for p in range(indptr[start + k], indptr[start + k + 1]):
            total += data[p] * np.exp(-(v[indices[p]] - least) / temperature)
        m[k], s[k] = least, total


@entry()
def _certify(
    P: Any, of: Any, c: Any, slack: float, known: bool, room: Any, first: int, last: int
) -> tuple[float, float]:
    """Bounds on Bv - v if there is a cost, and whatever there is room for: s, and log s for m = low.

    The cost is that of the states from ``first`` on. Where there is room for r, Bv - v for the cost 0 is added to it,
    and with a share it becomes v + share r: on a large P, another pass over both would take a tenth of an update.
    With ``known``, the sums and their logarithms are not computed but read. A v or a c beyond floats proves nothing.
    """
    lo, hi, sure, size, T = np.inf, -np.inf, True, _ROWS_OF_A_BLOCK, of.temperature
    flat, keep, r, space = of.w.size > 0, of.logs.size > 0, room.r, room.block
    m, some_s, some_logs, lower, upper = space[0], space[1], space[2], space[3], space[4]
    for k in range(_ROWS_OF_A_BLOCK):
        m[k] = of.low
    for start in range(first, last, _ROWS_OF_A_BLOCK):
        if start + size > last:
            size = last - start
        here = of.v[start : start + size]
        s = of.s[start : start + size] if keep and flat else some_s[:size]
        logs = of.logs[start : start + size] if keep and flat else some_logs[:size]
        if not known:
            if flat:
                flat_sums(P.indptr, P.indices, P.data, of.w, start, size, s)
            else:
                steep_sums(P, of.v, T, start, m, s)
            logs_of(s, logs)
        if c.size > 0:
            ends, cost, least = P.indptr[start : start + size + 1], c[start - first :], SURELY_NORMAL
            for k in range(size):
                if s[k] < least:
                    least = s[k]  # one for all of the block, which spares a division a row
            for k in range(size):
                entries = np.float64(np.int32(ends[k + 1] - ends[k]))
                value, error = enclose(cost[k], m[k] - here[k], least, -logs[k], T, entries, EPS, slack)
                lower[k], upper[k] = value - error, value + error
            (low, high), (below, above) = extremes(lower[:size]), extremes(upper[:size])
            sure = sure and above - low < np.inf and high - below < np.inf  # not with a nan, or an infinity
            lo, hi = low if low < lo else lo, above if above > hi else hi
        if r.size > 0 and room.share > 0.0:
            for k in range(size):
                r[start + k] = here[k] + room.share * (r[start + k] + ((m[k] - here[k]) - T * logs[k]))
        elif r.size > 0:
            for k in range(size):
                r[start + k] += (m[k] - here[k]) - T * logs[k]
        if keep and not flat:
            for k in range(size):
                of.logs[start + k] = logs[k] + (of.low - m[k]) / T
    return (lo, hi) if sure else (-np.inf, np.inf)


@njit(inline="always")  # one caller: compiled once, not twice
def evaluate_into(P: Any, c: Any, v: Any, high: float, units: Any, room: Any) -> tuple[float, float]:
    """``evaluate`` for compiled loops and a v from 0 to ``high``, all rows at once; no bounds where it is not flat.

    ``units`` are the temperature and the slack; w, s and log s go into ``room``, with the room of a block. v is
    read-only and so is c: then the certificate is compiled already, for Python.
    """
    temperature, (w, s, logs, block) = units.temperature, room
    if not high <= SPAN_OF_ONE_SCALE * temperature:
        return -np.inf, np.inf
    first: Any = np.int64(0)  # a 0 would be another kind of argument
    known: Any = np.bool_(False)  # and so would False
    for x in range(v.size):
        s[x] = v[x] / temperature
    exponentials(s, w)
    of = Flow(v, temperature, 0.0, w, s, logs)
    return _certify(P, of, c, units.slack, known, CertificateRoom(w[:0], block, 0.0), first, v.size)


@entry()
def _sample(P: Any, v: Any, temperature: float, states: Any, uniforms: Any, out: Any) -> None:
    indptr, indices, data = P
    for i in range(states.size):
        begin, end, m, s = indptr[states[i]], indptr[states[i] + 1], np.inf, 0.0
        for p in range(begin, end):
            m = min(m, v[indices[p]])
        for p in range(begin, end):
            s += data[p] * np.exp((m - v[indices[p]]) / temperature)
        left, chosen = uniforms[i] * s, begin
        for p in range(begin, end):
            if left >= 0.0:  # the first entry with which what is left falls below 0, or the last one
                chosen = p
                left -= data[p] * np.exp((m - v[indices[p]]) / temperature)
        out[i] = indices[chosen]
