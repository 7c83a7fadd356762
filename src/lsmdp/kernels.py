"""Compiled loops over the states for P and the policies of a value function.

Elimination, the facts of a chain and the searches of a bracket keep theirs beside them; no loop over states is plain
Python anywhere.

All of them read P once, row by row, as CSR arrays. ``u`` is always a value function in units of the temperature,
u = v / temperature, and every row is scaled by its own smallest successor value m(x) = min_{P(x,y)>0} u(y), so
that e^{-(u(y) - m(x))} lies in (0, 1] and at least one of them is 1: no span of u can underflow a row. Where u spans no
more than ``FLAT``, the busiest loops take the same m = min u for all rows: then n exponentials do, one per state, in
place of one per entry.

**Rounding of the residual.** ``residual`` computes r = Bv - v and encloses it. With unit roundoff e, k entries in
the row and s = sum_y P(x,y) exp(-(v(y) - m)/T): each exponent d = (v(y) - m)/T carries a relative error 2e, exp at
most 2e (1 ulp), the product e and the sum (k - 1)e, so that s is off by the factor 1 + (k + 2)e + 2e E[d], where
E[d] <= -log s is the mean of d under the weights P exp(-d)/s (their relative entropy to P is -E[d] - log s >= 0).
Together with the logarithm, the product by T, a row of P that sums to 1 only within 2ke, and the three last
additions:

    |error of r(x)| <= e [ T (3k + 2 + 5 log(1/s)) + |m - v(x)| + |c(x) + m - v(x)| + |r(x)| ].

Nothing here asks m to be the smallest value of the row, so the bound holds for m = min v too. The loop uses 2e in place
of e, which also covers the products of errors and an exp of 3 ulp. Numbers below 1e-308 have
an absolute error instead, at most 1e-323 for an exp and its product together: T k 1e-323 / s is added to the bound,
which matters only where P itself has such entries.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import CSR, EPS, Floats, Ints, read_only

Arrays = tuple[Any, Any, Any]
SMALL = 512  # states up to which a call of numpy costs more than the loop it runs
FLAT = 100.0  # span of u up to which one scale serves all rows; the price is a rounding error of 5 FLAT eps
BLOCK = 10  # power steps between two looks at the contraction
SMALLEST = 1e-120  # power steps stop at an entry of z below this; two steps lose at most 130 decades (power.py)


def rows(P: CSR) -> Arrays:
    """The arrays of P as the loops read them: unsigned (no wrap-around checks) and read-only."""
    unsigned = np.uint32 if P.indices.itemsize == 4 else np.uint64
    return P.indptr.view(unsigned), P.indices.view(unsigned), P.data


def _exponentials(u: Floats) -> tuple[float, Floats]:
    """(min u, e^{min u - u}) where u is flat; else an empty array, from which a loop knows to scale each row itself."""
    if u.size <= SMALL:
        low, w = _small_exponentials(read_only(u.view()), FLAT)
        return low, w
    low = u.min()
    return (low, np.exp(low - u)) if u.max() - low <= FLAT else (low, np.empty(0))


def residual(P: CSR, c: Floats, v: Floats, temperature: float) -> tuple[Floats, float, float]:
    """r = Bv - v with bounds (lo, hi) on all of its entries, the rounding of this very computation included."""
    r = np.empty(v.size)
    lo, hi, _ = _certificate(P, c, v, temperature, r, np.empty(v.size))
    return r, lo, hi


class Evaluation(NamedTuple):
    """What a certificate computes of v alone: e^{(min v - v)/T}, empty where v is not flat, and Bv - v for c = 0."""

    w: Floats
    base: Floats


def evaluate(P: CSR, c: Floats, v: Floats, temperature: float) -> tuple[Evaluation, float, float]:
    """The bounds of ``residual``, with what the next residual of the same v can use."""
    base = np.empty(v.size)
    lo, hi, w = _certificate(P, c, v, temperature, np.empty(v.size), base)
    return Evaluation(w, base), lo, hi


def _certificate(
    P: CSR, c: Floats, v: Floats, temperature: float, r: Floats, base: Floats
) -> tuple[float, float, Floats]:
    if temperature == 1.0:
        low, w = _exponentials(v)
    else:
        low = v.min()
        with np.errstate(over="ignore", invalid="ignore"):
            w = _exponentials((v - low) / temperature)[1]  # subtract first: v / T of a shifted v has lost its digits
    lo, hi = _residual(*rows(P), read_only(c.view()), read_only(v.view()), low, w, temperature, EPS, r, base)
    return lo, hi, w


def policy_weights(P: CSR, u: Floats) -> Floats:
    """The entries of Q_v aligned with P's (eq:optQ)."""
    out = np.empty(P.nnz)
    _policy_weights(*rows(P), read_only(u.view()), _exponentials(u)[1], out)
    return out


def push(P: CSR, u: Floats, p: Floats) -> Floats:
    """p Q_v, the law of the next state."""
    out = np.zeros(u.size)
    _push(*rows(P), read_only(u.view()), read_only(p.view()), out)
    return out


def expect(P: CSR, u: Floats, f: Floats) -> Floats:
    """Q_v f, the expectation of f after one step, for each state."""
    out = np.empty(u.size)
    _expect(*rows(P), read_only(u.view()), read_only(f.view()), out)
    return out


def control_cost(P: CSR, u: Floats) -> Floats:
    """KL(Q_v(.|x) || P(.|x)) for each state, in nats (not multiplied by the temperature)."""
    out = np.empty(u.size)
    _control_cost(*rows(P), read_only(u.view()), out)
    return out


def play(P: CSR, u: Floats, p: Floats) -> tuple[Floats, Floats]:
    """KL(Q_v(.|x) || P(.|x)) for each state, and p Q_v: what a round of play costs and where it leads, in one pass."""
    kl, after = np.empty(u.size), np.zeros(u.size)
    _play(*rows(P), read_only(u.view()), *_exponentials(u), read_only(p.view()), kl, after)
    return kl, after


def divergence(P: CSR, u: Floats, other: Floats) -> tuple[Floats, float]:
    """KL(Q_u(.|x) || Q_other(.|x)) for each state, and max_x |Q_u(.|x) - Q_other(.|x)|_1."""
    kl = np.empty(u.size)
    change = _divergence(
        *rows(P), read_only(u.view()), *_exponentials(u), read_only(other.view()), *_exponentials(other), kl
    )
    return kl, float(change)


def sample(P: CSR, u: Floats, states: Ints, uniforms: Floats) -> Ints:
    """A next state under Q_v from each of ``states``, by inversion of one uniform number each."""
    out = np.empty(states.size, dtype=np.int64)
    _sample(*rows(P), read_only(u.view()), read_only(states.view()), read_only(uniforms.view()), out)
    return out


class Walk(NamedTuple):
    """How a run of power steps went: its last gap, and the contraction per step that was seen last (1: none)."""

    steps: int
    gap: float
    rate: float
    averaging: bool


def power_walk(arrays: Arrays, g: Floats, z: Floats, target: float, max_steps: int, averaging: bool) -> Walk:
    """z <- g * (A z) in place, scaled, until the ratios agree within ``target`` or an entry of z is very small.

    After ``BLOCK`` steps that have not halved the gap, or from the start with ``averaging``, pairs of steps are
    averaged: z <- (A z + A A z) / 2.
    """
    spare, second = np.empty_like(z), np.empty_like(z)
    return Walk(*_power_walk(*arrays, g, z, spare, second, target, max_steps, averaging, BLOCK, SMALLEST))


def lower_to_paths(PT: CSR, log_P: Floats, c: Floats, lambda_low: float, v: Floats) -> Floats:
    """The largest function below v with f(x) <= f(y) + max(0, c(x) - lambda_low - log P(x,y)) for every move.

    ``PT`` is the transpose of P as CSR and ``log_P`` the logarithms of its entries. One run of Dijkstra's algorithm.
    """
    out = v.copy()
    indptr, indices, _ = rows(PT)
    _lower_to_paths(indptr, indices, log_P, read_only(c.view()), lambda_low, np.argsort(v), out)
    return out


@njit(cache=True, error_model="numpy")
def _small_exponentials(u: Any, flat: float) -> tuple[float, Any]:
    low, high = np.inf, -np.inf
    for x in range(u.size):
        low, high = min(low, u[x]), max(high, u[x])
    if not high - low <= flat:
        return low, np.empty(0)
    w = np.empty(u.size)
    for x in range(u.size):
        w[x] = np.exp(low - u[x])
    return low, w


@njit(cache=True, error_model="numpy")
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
    r: Any,
    base: Any,
) -> tuple[float, float]:
    flat, smallest = w.size > 0, np.inf
    for x in range(v.size):  # r and base hold m and s for a while: the second loop has no indirect reads
        m, s = low, 0.0
        if flat:
            for p in range(indptr[x], indptr[x + 1]):
                s += data[p] * w[indices[p]]
        else:
            m = np.inf
            for p in range(indptr[x], indptr[x + 1]):
                m = min(m, v[indices[p]])
            for p in range(indptr[x], indptr[x + 1]):
                s += data[p] * np.exp(-(v[indices[p]] - m) / temperature)
        r[x], base[x] = m, s
        smallest = min(smallest, s)
    lost = 1e-43 * temperature * data.size  # at least T k 1e-323 / s, unless s is tiny
    if not smallest > 1e-280:  # apart, since a division that underflows takes as long as ten rows
        for x in range(v.size):
            lost = max(lost, temperature * (indptr[x + 1] - indptr[x]) * (1e-323 / base[x]))
    lo, hi, zero = np.inf, -np.inf, 0.0
    for x in range(v.size):
        s = base[x]
        surprise = -np.log(s)
        step = r[x] - v[x]
        value = (c[x] + step) + temperature * surprise  # eq:bellman_V
        entries = indptr[x + 1] - indptr[x]
        error = eps * (
            temperature * (3.0 * entries + 2.0 + 5.0 * abs(surprise)) + abs(step) + abs(c[x] + step) + abs(value)
        )
        r[x] = value
        base[x] = step + temperature * surprise
        lo = min(lo, value - error)
        hi = max(hi, value + error)
        zero += 0.0 * ((value - error) + (value + error))
    if zero == 0.0:
        return lo - lost, hi + lost
    return -np.inf, np.inf  # a v or a c beyond floats proves nothing


@njit(cache=True, error_model="numpy")
def _policy_weights(indptr: Any, indices: Any, data: Any, u: Any, w: Any, out: Any) -> None:
    for x in range(u.size):
        s = 0.0
        if w.size > 0:
            for p in range(indptr[x], indptr[x + 1]):
                out[p] = data[p] * w[indices[p]]
                s += out[p]
        else:
            m = np.inf
            for p in range(indptr[x], indptr[x + 1]):
                m = min(m, u[indices[p]])
            for p in range(indptr[x], indptr[x + 1]):
                out[p] = data[p] * np.exp(m - u[indices[p]])
                s += out[p]
        for p in range(indptr[x], indptr[x + 1]):
            out[p] /= s  # eq:optQ


@njit(cache=True, error_model="numpy")
def _push(indptr: Any, indices: Any, data: Any, u: Any, law: Any, out: Any) -> None:
    for x in range(u.size):
        if law[x] == 0.0:
            continue
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, u[indices[p]])
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * np.exp(m - u[indices[p]])
        share = law[x] / s
        for p in range(indptr[x], indptr[x + 1]):
            out[indices[p]] += share * data[p] * np.exp(m - u[indices[p]])


@njit(cache=True, error_model="numpy")
def _expect(indptr: Any, indices: Any, data: Any, u: Any, f: Any, out: Any) -> None:
    for x in range(u.size):
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, u[indices[p]])
        s, mean = 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            weight = data[p] * np.exp(m - u[indices[p]])
            s += weight
            mean += weight * f[indices[p]]
        out[x] = mean / s


@njit(cache=True, error_model="numpy")
def _control_cost(indptr: Any, indices: Any, data: Any, u: Any, out: Any) -> None:
    for x in range(u.size):
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, u[indices[p]])
        s, mean = 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            d = u[indices[p]] - m
            weight = data[p] * np.exp(-d)
            s += weight
            mean += weight * d
        out[x] = max(-mean / s - np.log(s), 0.0)


@njit(cache=True, error_model="numpy")
def _play(indptr: Any, indices: Any, data: Any, u: Any, low: float, w: Any, law: Any, kl: Any, after: Any) -> None:
    flat = w.size > 0
    for x in range(u.size):
        m = low
        if not flat:
            m = np.inf
            for p in range(indptr[x], indptr[x + 1]):
                m = min(m, u[indices[p]])
        s, mean = 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            d = u[indices[p]] - m
            weight = data[p] * (w[indices[p]] if flat else np.exp(-d))
            s += weight
            mean += weight * d
        kl[x] = max(-mean / s - np.log(s), 0.0)
        if law[x] > 0.0:
            share = law[x] / s
            for p in range(indptr[x], indptr[x + 1]):
                y = indices[p]
                after[y] += share * data[p] * (w[y] if flat else np.exp(m - u[y]))


@njit(cache=True, error_model="numpy")
def _divergence(
    indptr: Any,
    indices: Any,
    data: Any,
    u: Any,
    low: float,
    w: Any,
    other: Any,
    other_low: float,
    other_w: Any,
    kl: Any,
) -> float:
    largest = 0.0
    flat = w.size > 0 and other_w.size > 0
    for x in range(u.size):
        m, k, s, t = low, other_low, 0.0, 0.0
        if flat:
            for p in range(indptr[x], indptr[x + 1]):
                s += data[p] * w[indices[p]]
                t += data[p] * other_w[indices[p]]
        else:
            m, k = np.inf, np.inf
            for p in range(indptr[x], indptr[x + 1]):
                m = min(m, u[indices[p]])
                k = min(k, other[indices[p]])
            for p in range(indptr[x], indptr[x + 1]):
                s += data[p] * np.exp(m - u[indices[p]])
                t += data[p] * np.exp(k - other[indices[p]])
        # KL = sum q (e^y - 1 - y) with y = log(q'/q): no cancellation between nearly equal policies
        total, change = 0.0, 0.0
        shift = (k - m) - np.log(t / s)
        for p in range(indptr[x], indptr[x + 1]):
            q = data[p] * (w[indices[p]] if flat else np.exp(m - u[indices[p]])) / s
            y = (u[indices[p]] - other[indices[p]]) + shift
            excess = _excess(y)
            total += q * excess
            change += q * abs(y + excess)
        kl[x] = total
        largest = max(largest, change)
    return largest


@njit(cache=True, error_model="numpy")
def _excess(y: float) -> float:
    """e^y - 1 - y, by its series near 0."""
    if abs(y) < 1e-2:
        return y * y * (0.5 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120 + y / 720))))
    return float(np.expm1(y) - y)


@njit(cache=True, error_model="numpy")
def _sample(indptr: Any, indices: Any, data: Any, u: Any, states: Any, uniforms: Any, out: Any) -> None:
    for i in range(states.size):
        x = states[i]
        m = np.inf
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, u[indices[p]])
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * np.exp(m - u[indices[p]])
        left = uniforms[i] * s
        chosen = indices[indptr[x + 1] - 1]
        for p in range(indptr[x], indptr[x + 1]):
            left -= data[p] * np.exp(m - u[indices[p]])
            if left < 0.0:
                chosen = indices[p]
                break
        out[i] = chosen


@njit(cache=True, error_model="numpy")
def _power_step(
    indptr: Any, indices: Any, data: Any, g: Any, z: Any, scale: float, out: Any
) -> tuple[float, float, float, float]:
    lo, hi, smallest, largest = np.inf, 0.0, np.inf, 0.0
    for x in range(z.size):
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * z[indices[p]]
        s *= g[x]
        ratio = s / z[x]
        lo, hi = min(lo, ratio), max(hi, ratio)
        s *= scale
        out[x] = s
        smallest, largest = min(smallest, s), max(largest, s)
    return lo, hi, smallest, largest


@njit(cache=True, error_model="numpy")
def _power_walk(
    indptr: Any,
    indices: Any,
    data: Any,
    g: Any,
    start: Any,
    spare: Any,
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
    z, out = start, spare
    largest = 1.0
    while steps < max_steps:
        lo, hi, smallest, largest = _power_step(indptr, indices, data, g, z, scale, out)
        steps += 1
        since += 1
        gap, scale = np.log(hi / lo), 1.0 / np.sqrt(lo * hi)
        if averaging and gap > target and steps < max_steps:
            _power_step(indptr, indices, data, g, out, scale, second)
            steps += 1
            since += 1
            smallest, largest = np.inf, 0.0
            for x in range(z.size):
                out[x] = (out[x] + second[x]) / 2
                smallest, largest = min(smallest, out[x]), max(largest, out[x])
        z, out = out, z
        if gap <= target or smallest < smallest_allowed * largest:
            break
        if not 0.5 < largest < 2.0:  # so that z never leaves the floats
            for x in range(z.size):
                z[x] /= largest
            largest = 1.0
        if since >= block:
            if gap_before < np.inf:
                rate = (gap / gap_before) ** (1.0 / since)
                averaging = averaging or gap > gap_before / 2
            gap_before, since = gap, 0
    for x in range(z.size):
        start[x] = z[x] / largest
    return steps, gap, rate, averaging


@njit(cache=True, error_model="numpy")
def _lower_to_paths(indptr: Any, indices: Any, log_P: Any, c: Any, lambda_low: float, ascending: Any, v: Any) -> None:
    """Settle states in ascending order of value: those never lowered from the sorted list, the others from a heap."""
    settled = np.zeros(v.size, dtype=np.bool_)
    heap = [(0.0, np.int64(0))]
    heap.pop()
    at = 0
    while True:
        while at < v.size and settled[ascending[at]]:
            at += 1
        if at < v.size and (len(heap) == 0 or v[ascending[at]] <= heap[0][0]):
            y = np.int64(ascending[at])
        elif len(heap) > 0:
            y = heapq.heappop(heap)[1]
        else:
            break
        if settled[y]:
            continue
        settled[y] = True
        for p in range(indptr[y], indptr[y + 1]):
            x = np.int64(indices[p])
            through = v[y] + max(0.0, c[x] - lambda_low - log_P[p])
            if through < v[x]:
                v[x] = through
                heapq.heappush(heap, (through, x))
