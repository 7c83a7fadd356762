"""Compiled loops over the states for P and the policies of a value function.

The methods of a solve, elimination, the facts of a chain and the searches of a bracket keep theirs beside them; no
loop over states is plain Python anywhere.

All of them read P once, row by row, as CSR arrays. Every row is scaled by its own smallest successor value
m(x) = min_{P(x,y)>0} v(y), so that e^{-(v(y) - m(x))/T} lies in (0, 1] and at least one of them is 1: no span of v can
underflow a row. The difference is taken before it is divided by the temperature T: it is then off by a relative eps, so
that a chance Q_v(y|x) of e^-d is off by a relative d eps, whatever the size of v / T (whose own rounding would be an
absolute error of the exponent). Where v spans no more than ``FLAT`` T, the busiest loops take the same m = min v for
all rows: then n exponentials do, one per state, in place of one per entry. These loops take the logarithms of many
rows together, after their sums, and a large P in a fixed number of parts, by as many threads as there are.

**Rounding of the residual.** ``residual`` computes r = Bv - v and encloses it. With unit roundoff e, k entries in
the row and s = sum_y P(x,y) exp(-(v(y) - m)/T): each exponent d = (v(y) - m)/T carries a relative error 2e, exp at
most 2e (1 ulp), the product e and the sum (k - 1)e, so that s is off by the factor 1 + (k + 2)e + 2e E[d], where
E[d] <= -log s is the mean of d under the weights P exp(-d)/s (their relative entropy to P is -E[d] - log s >= 0).
Together with the logarithm, the product by T, a row of P that sums to 1 only within 2ke, and the three last
additions, which are m - v(x), then b(x) = m - v(x) - T log s, then c(x) + b(x),

    |error of r(x)| <= e [ T (3k + 2 + 5 log(1/s)) + |m - v(x)| + |b(x)| + |r(x)| ].

All but c is a matter of v alone (a :class:`Flow`), and serves any cost again with the same bits.

A ``slack`` is added to this bound as it is: what P and c may be off by themselves, in units of the cost
(edge_costs.py).

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
from lsmdp._core.explog import (
    any_below,
    exponentials,
    extremes,
    logarithms,
)
from lsmdp._core.threads import in_parts
from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    Ints,
    frozen,
)

Arrays = tuple[Any, Any, Any]
ROWS = 256  # sums that wait for their logarithms
NORMAL = 2.3e-308  # smallest number of full precision
TINY = 1e-290  # from here on, what is lost below 1e-308 is far below any rounding
FLAT = 100.0  # span of v / T up to which one scale serves all rows; the price is a rounding error of 5 FLAT eps
FLAT_SINGLE = 80.0  # the same in single precision
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


def rows(P: CSR) -> Arrays:
    """The arrays of P as the loops read them: unsigned (no wrap-around checks) and read-only."""
    unsigned = np.uint32 if P.indices.itemsize == 4 else np.uint64
    return P.indptr.view(unsigned), P.indices.view(unsigned), P.data


def exponentials_of(P: CSR, v: Floats, temperature: float = 1.0) -> tuple[float, Floats]:
    """(min v, e^{(min v - v)/T}) where v is flat; else an empty array, from which a loop knows to scale each row."""
    v = frozen(v)
    low, high = extremes(v)
    return low, exponentials_from(P, v, low, high, temperature)


def exponentials_from(P: CSR, v: Floats, low: float, high: float, temperature: float, *, single: bool = False) -> Any:
    """The same for a v whose extremes are known; in single precision where that is wanted and there is room for it."""
    if not high - low <= FLAT * temperature:
        return np.empty(0)
    single = single and high - low <= FLAT_SINGLE * temperature
    w, v = np.empty(v.size, dtype=np.float32 if single else np.float64), frozen(v)
    in_parts(P.data.size, v.size, lambda _, first, last: _weights(v, low, temperature, w, first, last))
    return w


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
        return np.asarray((self.low - self.v) - self.temperature * self.logs)


def flow(P: CSR, v: Floats, temperature: float = 1.0) -> Flow:
    """One pass over P: everything about v that the passes of a round share."""
    return _certificate(P, np.empty(0), v, temperature, np.empty(0), 0.0, keep=True)[0]


def residual(P: CSR, c: Floats, v: Floats, temperature: float, slack: float = 0.0) -> tuple[Floats, float, float]:
    """r = Bv - v with bounds (lo, hi) on all of its entries, the rounding of this very computation included."""
    r = np.empty(v.size)
    _, lo, hi = _certificate(P, c, v, temperature, r, slack, keep=False)
    return r, lo, hi


def evaluate(P: CSR, c: Floats, v: Floats, temperature: float, slack: float = 0.0) -> tuple[Flow, float, float]:
    """The bounds of ``residual``, with what the next residual of the same v can use."""
    return _certificate(P, c, v, temperature, np.empty(0), slack, keep=True)


def _certificate(
    P: CSR, c: Floats, v: Floats, temperature: float, r: Floats, slack: float, *, keep: bool
) -> tuple[Flow, float, float]:
    """With ``keep``, all of the flow; without a cost, no bounds."""
    low, w = exponentials_of(P, v, temperature)
    s, logs = np.empty(v.size if keep and w.size else 0), np.empty(v.size if keep else 0)
    given = (*rows(P), frozen(c), frozen(v), low, w, temperature, EPS, slack, r, s, logs)
    bounds = in_parts(P.data.size, v.size, lambda _, first, last: _residual(*given, first, last))
    flow = Flow(frozen(v), temperature, low, w, s, logs)
    return flow, min(lo for lo, _ in bounds), max(hi for _, hi in bounds)


def policy_weights(P: CSR, v: Floats, temperature: float = 1.0) -> Floats:
    """The entries of Q_v aligned with P's (eq:optQ)."""
    out = np.empty(P.nnz)
    _policy_weights(*rows(P), frozen(v), temperature, exponentials_of(P, v, temperature)[1], out)
    return out


def push(P: CSR, v: Floats, p: Floats, temperature: float = 1.0) -> Floats:
    """p Q_v, the law of the next state."""
    out = np.zeros(v.size)
    _push(*rows(P), frozen(v), temperature, frozen(p), out)
    return out


def expect(P: CSR, v: Floats, f: Floats, temperature: float = 1.0) -> Floats:
    """Q_v f, the expectation of f after one step, for each state."""
    out = np.empty(v.size)
    _expect(*rows(P), frozen(v), temperature, frozen(f), out)
    return out


def control_cost(P: CSR, v: Floats, temperature: float = 1.0) -> Floats:
    """KL(Q_v(.|x) || P(.|x)) for each state, in nats (not multiplied by the temperature)."""
    out = np.empty(v.size)
    _control_cost(*rows(P), frozen(v), temperature, out)
    return out


def scaled_sums(P: CSR, v: Floats, temperature: float = 1.0) -> tuple[Floats, Floats]:
    """m(x) = min_{P(x,y)>0} v(y), and sum_y P(x,y) e^{(m(x) - v(y))/T}, for each state: no span of v is too large."""
    m, s = np.empty(v.size), np.empty(v.size)
    _scaled_sums(*rows(P), frozen(v), temperature, m, s)
    return m, s


def sample(P: CSR, v: Floats, states: Ints, uniforms: Floats, temperature: float = 1.0) -> Ints:
    """A next state under Q_v from each of ``states``, by inversion of one uniform number each."""
    out = np.empty(states.size, dtype=np.int64)
    _sample(*rows(P), frozen(v), temperature, frozen(states), frozen(uniforms), out)
    return out


@inner()
def enclose(
    c: float, step: float, s: float, surprise: float, temperature: float, entries: float, eps: float, slack: float
) -> tuple[float, float]:
    """One entry of r and the bound on its rounding; step = m - v(x), surprise = -log s."""
    base = step + temperature * surprise
    value = c + base  # eq:bellman_V
    error = eps * (temperature * (3.0 * entries + 2.0 + 5.0 * abs(surprise)) + abs(step) + abs(base) + abs(value))
    return value, error + temperature * entries * (1e-300 / min(s, TINY) * 1e-23) + slack


@entry(nogil=True)
def _weights(v: Any, low: float, temperature: float, w: Any, first: int, last: int) -> None:
    d = np.empty(ROWS)
    for start in range(first, last, ROWS):
        end = min(start + ROWS, last)
        here = v[start:end]
        for k in range(end - start):
            d[k] = here[k] - low
        if temperature != 1.0:
            for k in range(end - start):
                d[k] /= temperature
        exponentials(d[: end - start], w[start:end])


@inner()
def logs_of(s: Any, logs: Any) -> None:
    """logs = log s for a whole array of positive numbers."""
    if not any_below(s, NORMAL):
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
        while p + FOUR <= end:  # several at a time, so that none waits for the other
            total += data[p] * w[indices[p]] + data[p + TWO] * w[indices[p + TWO]]
            other += data[p + ONE] * w[indices[p + ONE]] + data[p + THREE] * w[indices[p + THREE]]
            p += FOUR
        if p + TWO <= end:
            total += data[p] * w[indices[p]]
            other += data[p + ONE] * w[indices[p + ONE]]
            p += TWO
        if p < end:
            total += data[p] * w[indices[p]]
            p += ONE
        s[k] = total + other


@inner()
def block_sums(
    indptr: Any, indices: Any, data: Any, v: Any, w: Any, temperature: float, start: int, size: int, m: Any, s: Any
) -> None:
    """s = sum_y P(x,y) e^{(m - v(y))/T} for the rows start + k, k < size; m is given where v is flat, else found."""
    if w.size > 0:
        flat_sums(indptr, indices, data, w, start, size, s)
        return
    for k in range(size):
        x, least, total = start + k, np.inf, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            least = min(least, v[indices[p]])
        for p in range(indptr[x], indptr[x + 1]):
            total += data[p] * np.exp(-(v[indices[p]] - least) / temperature)
        m[k], s[k] = least, total


@inner()
def block_bounds(
    ends: Any,
    c: Any,
    v: Any,
    m: Any,
    s: Any,
    logs: Any,
    temperature: float,
    eps: float,
    slack: float,
    lower: Any,
    upper: Any,
) -> tuple[float, float]:
    """Bounds on r(x) for a block of rows; a v or a c beyond floats proves nothing."""
    if any_below(s[: v.size], TINY):
        for k in range(v.size):
            entries = np.float64(np.int32(ends[k + 1] - ends[k]))
            value, error = enclose(c[k], m[k] - v[k], s[k], -logs[k], temperature, entries, eps, slack)
            lower[k], upper[k] = value - error, value + error
    else:  # the same for any s, without a division
        for k in range(v.size):
            entries = np.float64(np.int32(ends[k + 1] - ends[k]))
            value, error = enclose(c[k], m[k] - v[k], TINY, -logs[k], temperature, entries, eps, slack)
            lower[k], upper[k] = value - error, value + error
    bad, lo, hi = 0, np.inf, -np.inf
    for k in range(v.size):
        bad += not upper[k] - lower[k] < np.inf
    for k in range(v.size):
        lo, hi = min(lo, lower[k]), max(hi, upper[k])
    return (-np.inf, np.inf) if bad else (lo, hi)


@entry(nogil=True)
def _residual(
    indptr: Any,
    indices: Any,
    data: Any,
    c: Any,
    v: Any,
    low: float,
    w: Any,
    temperature: float,
    eps: float,
    slack: float,
    r: Any,
    all_s: Any,
    all_logs: Any,
    first: int,
    last: int,
) -> tuple[float, float]:
    """Bounds on Bv - v, and whatever there is room for: itself, s, and log s for m = low."""
    lo, hi, keep, flat = np.inf, -np.inf, all_logs.size > 0, w.size > 0
    space = np.empty((6, ROWS))
    m, some_s, some_logs, cost, lower, upper = space[0], space[1], space[2], space[3], space[4], space[5]
    for k in range(ROWS):
        m[k] = low
    for start in range(first, last, ROWS):  # sums first: a logarithm in between would make the next row's reads wait
        size = min(ROWS, last - start)
        end = start + size
        s = all_s[start:end] if keep and flat else some_s[:size]
        logs = all_logs[start:end] if keep and flat else some_logs[:size]
        block_sums(indptr, indices, data, v, w, temperature, start, size, m, s)
        logs_of(s, logs)
        here = v[start:end]
        if c.size > 0:
            for k in range(size):
                cost[k] = c[start + k]
            ends = indptr[start : end + 1]
            least, most = block_bounds(ends, cost, here, m, s, logs, temperature, eps, slack, lower, upper)
            lo, hi = min(lo, least), max(hi, most)
        if r.size > 0:
            out = r[start:end]
            for k in range(size):
                out[k] = cost[k] + ((m[k] - here[k]) - temperature * logs[k])
        if keep and not flat:
            out = all_logs[start:end]
            for k in range(size):
                out[k] = logs[k] + (low - m[k]) / temperature
    return lo, hi


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def evaluate_into(
    indptr: Any,
    indices: Any,
    data: Any,
    c: Any,
    v: Any,
    high: float,
    temperature: float,
    slack: float,
    w: Any,
    s: Any,
    logs: Any,
) -> tuple[float, float]:
    """``evaluate`` for compiled loops and a v from 0 to ``high``, all rows at once; no bounds where it is not flat.

    v is read-only and so is c: then all of this is compiled already, for Python.
    """
    if not high <= FLAT * temperature:
        return -np.inf, np.inf
    first: Any = np.int64(0)  # a 0 would be another kind of argument
    _weights(v, 0.0, temperature, w, first, v.size)
    return _residual(indptr, indices, data, c, v, 0.0, w, temperature, EPS, slack, w[:0], s, logs, first, v.size)


@entry()
def _policy_weights(indptr: Any, indices: Any, data: Any, v: Any, temperature: float, w: Any, out: Any) -> None:
    for x in range(v.size):
        s = 0.0
        if w.size > 0:
            for p in range(indptr[x], indptr[x + 1]):
                out[p] = data[p] * w[indices[p]]
                s += out[p]
        else:
            m = np.inf
            for p in range(indptr[x], indptr[x + 1]):
                m = min(m, v[indices[p]])
            for p in range(indptr[x], indptr[x + 1]):
                out[p] = data[p] * np.exp((m - v[indices[p]]) / temperature)
                s += out[p]
        for p in range(indptr[x], indptr[x + 1]):
            out[p] /= s  # eq:optQ


@entry()
def _scaled_sums(indptr: Any, indices: Any, data: Any, v: Any, temperature: float, m: Any, s: Any) -> None:
    for x in range(v.size):
        least, total = np.inf, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            least = min(least, v[indices[p]])
        for p in range(indptr[x], indptr[x + 1]):
            total += data[p] * np.exp((least - v[indices[p]]) / temperature)
        m[x], s[x] = least, total


@entry()
def _push(indptr: Any, indices: Any, data: Any, v: Any, temperature: float, law: Any, out: Any) -> None:
    for x in range(v.size):
        if law[x] == 0.0:
            continue
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, v[indices[p]])
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * np.exp((m - v[indices[p]]) / temperature)
        share = law[x] / s
        for p in range(indptr[x], indptr[x + 1]):
            out[indices[p]] += share * data[p] * np.exp((m - v[indices[p]]) / temperature)


@entry()
def _expect(indptr: Any, indices: Any, data: Any, v: Any, temperature: float, f: Any, out: Any) -> None:
    for x in range(v.size):
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, v[indices[p]])
        s, mean = 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            weight = data[p] * np.exp((m - v[indices[p]]) / temperature)
            s += weight
            mean += weight * f[indices[p]]
        out[x] = mean / s


@entry()
def _control_cost(indptr: Any, indices: Any, data: Any, v: Any, temperature: float, out: Any) -> None:
    for x in range(v.size):
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, v[indices[p]])
        s, mean = 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            d = (v[indices[p]] - m) / temperature
            weight = data[p] * np.exp(-d)
            s += weight
            mean += weight * d if weight > 0.0 else 0.0
        out[x] = max(-mean / s - np.log(s), 0.0)


@entry()
def _sample(
    indptr: Any, indices: Any, data: Any, v: Any, temperature: float, states: Any, uniforms: Any, out: Any
) -> None:
    for i in range(states.size):
        x = states[i]
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, v[indices[p]])
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * np.exp((m - v[indices[p]]) / temperature)
        left = uniforms[i] * s
        chosen = indices[indptr[x + 1] - 1]
        for p in range(indptr[x], indptr[x + 1]):
            left -= data[p] * np.exp((m - v[indices[p]]) / temperature)
            if left < 0.0:
                chosen = indices[p]
                break
        out[i] = chosen
