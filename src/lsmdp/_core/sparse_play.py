"""What a round of play costs and where it leads: passes over P for a policy, and for a change of policy.

Where v is flat (sparse.py), with d = (v - min v) / T, w = e^{-d} and s = P w,

    KL(Q_v || P) = -P(w d) / s - log s,        p Q_v = w P'(p / s),
    p.KL(Q_v || P) = -(p Q_v).d - p.log s,     no pass over P at all where p Q_v is known,
    KL(Q_v || Q_o) = sum_y q (e^y - 1 - y),    y = log(q'/q) = (d - d')(y) + log(s / s'):

no cancellation between nearly equal policies. Each product is a pass of its own, with nothing but sums in it: what is
read at random is then one array of n numbers, and reads need not wait for anything. On a random graph of a million
states a logarithm per row makes a product four times slower, and two arrays in one loop three times slower than one.

So the divergence reads its two arrays side by side, and of a large P in single precision, as long as w has room in it:
y and q are then off by 6e-8 of |d - d'| and of q, for a divergence of six digits where policies differ from state to
state.

Where v is not flat, each row is scaled by itself, in one pass for everything, and q, q' and e^y may be anything from 0
to beyond floats. With m the smallest v of the row and m' that of o, y = ((v - m) - (o - m'))/T + log(s/s') is rounded
once, after what v and o have in common is gone. Where |y| <= 1 the terms are q (e^y - 1 - y) and q |e^y - 1| as above;
elsewhere they are q' - q - q y and |q' - q|, with q' from its own exponent d', off by a relative d' eps as q is by
d eps. Exponents are below 745 where q and q' are not 0 in floats, so that every term keeps twelve digits: nothing
cancels by more than a factor of 7, at y = 1. Where q is 0 in floats the terms are q', and q (1 + |y|), less than
1e-323 (1 + |y|), is left out. A divergence may be as large as span(o)/T, but it is finite; the distance of two policies
is at most 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lsmdp._core.compile import entry
from lsmdp._core.explog import (
    SERIES,
    apart,
    excess,
    extremes,
    near_excess,
)
from lsmdp._core.sparse import (
    ROWS,
    TINY,
    Flow,
    flat_sums,
    logs_of,
    rows,
)
from lsmdp._core.threads import LARGE, PARTS, in_parts
from lsmdp.arrays import (
    CSR,
    Floats,
    mean,
    read_only,
)

ONE, TWO = np.uint64(1), np.uint64(2)
NORMAL_SINGLE = 1.2e-38  # smallest number of full precision in single precision


def play(P: CSR, of: Flow, p: Floats, *, each: bool = True) -> tuple[Floats, Floats]:
    """KL(Q_v(.|x) || P(.|x)) for each state, in nats, and p Q_v.

    With each=False the first is empty where that saves a pass over P, and ``mean_control`` does without it.
    """
    n, p = of.v.size, read_only(p.view())
    kl, after = np.empty(n if each or not of.flat else 0), np.zeros((PARTS if P.nnz >= LARGE else 1, n))
    if not of.flat:
        steep = (*rows(P), of.v, of.temperature, p, kl)
        in_parts(P.nnz, n, lambda k, first, last: _steep_play(*steep, after[k], first, last))
        return kl, after.sum(axis=0) if len(after) > 1 else after[0]
    if each:
        given = (of.w * ((of.v - of.low) / of.temperature), of.s, of.logs, kl)
        in_parts(P.nnz, n, lambda _, first, last: _costs(*rows(P), *given, first, last))
    in_parts(P.nnz, n, lambda k, first, last: _spread(*rows(P), p, of.s, after[k], first, last))
    law = np.empty(n)
    in_parts(P.nnz, n, lambda _, first, last: _collect(after, of.w, law, first, last))
    return kl, law


def mean_control(of: Flow, kl: Floats, p: Floats, after: Floats) -> float:
    """p.KL(Q_v || P) in nats, from what ``play`` gives: KL(Q_v || P), perhaps empty, and after = p Q_v."""
    if kl.size:
        return mean(p, kl)
    return max((of.low * float(after.sum()) - mean(after, of.v)) / of.temperature - mean(p, of.logs), 0.0)


def divergence(P: CSR, of: Flow, to: Flow) -> tuple[Floats, float]:
    """KL(Q_v(.|x) || Q_o(.|x)) for each state, and max_x |Q_v(.|x) - Q_o(.|x)|_1; v and o are those of the flows."""
    n = of.v.size
    kl = np.empty(n)
    if of.flat and to.flat:
        # w and d - d' side by side, since both are read at the same place
        single = P.nnz >= LARGE and extremes(of.w)[0] >= NORMAL_SINGLE
        pairs = np.empty((n, 2), dtype=np.float32 if single else np.float64)
        given = (of.w, of.v, of.low, to.v, to.low, of.temperature, pairs)
        reach = max(in_parts(P.nnz, n, lambda _, first, last: _pairs(*given, first, last)))
        flat = (*rows(P), pairs.ravel(), of.s, to.s, reach, kl)
        parts = in_parts(P.nnz, n, lambda _, first, last: _divergence(*flat, first, last))
    else:
        steep = (*rows(P), of.v, to.v, of.temperature, kl)
        parts = in_parts(P.nnz, n, lambda _, first, last: _steep_divergence(*steep, first, last))
    return kl, float(max(parts))


def balanced_law(of: Flow, rho: Floats) -> Floats:
    """The stationary law of the policy of a flat v, where P is reversible with respect to rho: mu ~ rho w s.

    The exponents of w and s are at most FLAT, and are off by 2 eps of that: twelve digits are right in every entry.
    """
    law = rho * of.w * of.s
    return np.asarray(law / law.sum())


@entry(nogil=True)
def _costs(
    indptr: Any, indices: Any, data: Any, weighted: Any, s: Any, logs: Any, kl: Any, first: int, last: int
) -> None:
    sums = np.empty(ROWS)
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        flat_sums(indptr, indices, data, weighted, start, size, sums)
        for k in range(size):
            kl[start + k] = max(-sums[k] / s[start + k] - logs[start + k], 0.0)


@entry(nogil=True)
def _spread(indptr: Any, indices: Any, data: Any, law: Any, s: Any, after: Any, first: int, last: int) -> None:
    for x in range(first, last):
        if law[x] > 0.0:
            share = law[x] / s[x]
            for p in range(indptr[x], indptr[x + 1]):
                after[indices[p]] += share * data[p]


@entry(nogil=True)
def _collect(after: Any, w: Any, law: Any, first: int, last: int) -> None:
    """law = w times the sum of the parts."""
    for x in range(first, last):
        total = after[0, x]
        for k in range(1, len(after)):
            total += after[k, x]
        law[x] = total * w[x]


@entry(nogil=True)
def _pairs(
    w: Any, v: Any, low: float, other: Any, other_low: float, temperature: float, pairs: Any, first: int, last: int
) -> float:
    """(w, d - d') for each state, and the largest |d - d'|."""
    reach = 0.0
    for x in range(first, last):
        apart = ((v[x] - low) - (other[x] - other_low)) / temperature
        pairs[x, 0], pairs[x, 1] = w[x], apart
        reach = max(reach, abs(apart))
    return reach


@entry(nogil=True)
def _divergence(
    indptr: Any,
    indices: Any,
    data: Any,
    pairs: Any,
    s: Any,
    other_s: Any,
    reach: float,
    kl: Any,
    first: int,
    last: int,
) -> float:
    largest, ratio, shift = 0.0, np.empty(ROWS), np.empty(ROWS)
    weights, moves = np.empty(ROWS), np.empty(ROWS)
    for k in range(ROWS):
        ratio[k] = 1.0
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        ends, here, there = indptr[start : start + size + 1], s[start : start + size], other_s[start : start + size]
        count = np.int64(ends[size]) - np.int64(ends[0])
        if weights.size < count:
            weights, moves = np.empty(count), np.empty(count)
        reached, chances = indices[ends[0] : ends[size]], data[ends[0] : ends[size]]
        for p in range(count):  # all reads first: with the arithmetic in between, fewer are under way at a time
            at = TWO * reached[p]
            weights[p], moves[p] = chances[p] * pairs[at], pairs[at + ONE]
        for k in range(size):
            ratio[k] = here[k] / there[k]
        logs_of(ratio, shift)
        for k in range(size):
            for p in range(ends[k] - ends[0], ends[k + 1] - ends[0]):
                moves[p] += shift[k]
        _weigh(weights[:count], moves[:count], reach + max(-extremes(shift[:size])[0], extremes(shift[:size])[1]))
        out = kl[start : start + size]
        for k in range(size):
            total, change = 0.0, 0.0
            for p in range(ends[k] - ends[0], ends[k + 1] - ends[0]):
                total += weights[p]
                change += moves[p]
            out[k] = total / here[k]
            largest = max(largest, change / here[k])
    return largest


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def _weigh(weights: Any, moves: Any, reach: float) -> None:
    """(q, y) becomes (q (e^y - 1 - y), q |e^y - 1|), by the series where all |y| <= reach allow it."""
    if reach < SERIES:
        for p in range(weights.size):
            y, q = moves[p], weights[p]
            rest = near_excess(y)
            weights[p], moves[p] = q * rest, q * abs(y + rest)
    else:
        for p in range(weights.size):
            y, q = moves[p], weights[p]
            rest = excess(y)
            weights[p], moves[p] = q * rest, q * abs(y + rest)


@entry(nogil=True)
def _steep_play(
    indptr: Any,
    indices: Any,
    data: Any,
    v: Any,
    temperature: float,
    law: Any,
    kl: Any,
    after: Any,
    first: int,
    last: int,
) -> None:
    for x in range(first, last):
        m, s, mean = np.inf, 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, v[indices[p]])
        for p in range(indptr[x], indptr[x + 1]):
            d = (v[indices[p]] - m) / temperature
            weight = data[p] * np.exp(-d)
            s += weight
            mean += weight * d if weight > 0.0 else 0.0
        kl[x] = max(-mean / s - np.log(s), 0.0)
        if law[x] > 0.0:
            share = law[x] / s
            for p in range(indptr[x], indptr[x + 1]):
                after[indices[p]] += share * data[p] * np.exp((m - v[indices[p]]) / temperature)


@entry(nogil=True)
def _steep_divergence(
    indptr: Any,
    indices: Any,
    data: Any,
    v: Any,
    other: Any,
    temperature: float,
    kl: Any,
    first: int,
    last: int,
) -> float:
    largest = 0.0
    for x in range(first, last):
        m, k, s, t = np.inf, np.inf, 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, v[indices[p]])
            k = min(k, other[indices[p]])
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * np.exp((m - v[indices[p]]) / temperature)
            t += data[p] * np.exp((k - other[indices[p]]) / temperature)
        total, change = 0.0, 0.0
        shift = np.log(s / t) if min(s, t) >= TINY else np.log(s) - np.log(t)
        for p in range(indptr[x], indptr[x + 1]):
            here, there = v[indices[p]], other[indices[p]]
            q = data[p] * np.exp((m - here) / temperature) / s
            y = apart(here, m, there, k) / temperature + shift
            if q > 0.0 and abs(y) <= 1.0:
                rest = excess(y)
                total += q * rest
                change += q * abs(y + rest)
            else:
                then = data[p] * np.exp((k - there) / temperature) / t
                total += (then - q) - (q * y if q > 0.0 else 0.0)
                change += abs(then - q)
        kl[x] = total
        largest = max(largest, change)
    return largest
