"""What a round of play costs and where it leads: passes over P for a policy, and for a change of policy.

For u = v / T as in kernels.py. Where u is flat, with w = e^{-(u - min u)}, d = u - min u and s = P w (a :class:`Flow`),

    KL(Q_u || P) = -P(w d) / s - log s,        p Q_u = w P'(p / s),
    KL(Q_u || Q_o) = sum_y q (e^y - 1 - y),    y = log(q'/q) = (d - d')(y) + log(s / s'):

no cancellation between nearly equal policies. Each product is a pass of its own, with nothing but sums in it: what is
read at random is then one array of n numbers, and reads need not wait for anything. On a random graph of a million
states a logarithm per row makes a product four times slower, and two arrays in one loop three times slower than one.

Where u is not flat, each row is scaled by itself, in one pass for everything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import CSR, Floats, read_only
from lsmdp.elementary import SERIES, excess, near_excess
from lsmdp.kernels import ROWS, exponentials_of, flat_sums, logs_of, rows
from lsmdp.parts import LARGE, PARTS, in_parts

ONE, TWO = np.uint64(1), np.uint64(2)


class Flow(NamedTuple):
    """w, s = P w and log s for a flat u; empty arrays for any other."""

    u: Floats
    low: float
    w: Floats
    s: Floats
    logs: Floats

    @property
    def flat(self) -> bool:
        """Whether one scale serves all rows."""
        return self.w.size > 0


def flow(P: CSR, u: Floats) -> Flow:
    """What the passes of a policy share."""
    low, w = exponentials_of(P, u)
    s, logs = np.empty(w.size), np.empty(w.size)
    if w.size:
        in_parts(P.nnz, u.size, lambda _, first, last: _product(*rows(P), w, s, logs, first, last))
    return Flow(read_only(u.view()), low, w, s, logs)


def play(P: CSR, u: Floats | Flow, p: Floats) -> tuple[Floats, Floats]:
    """KL(Q_u(.|x) || P(.|x)) for each state, and p Q_u."""
    of = u if isinstance(u, Flow) else flow(P, u)
    n, p = of.u.size, read_only(p.view())
    kl, after = np.empty(n), np.zeros((PARTS if P.nnz >= LARGE else 1, n))
    if of.flat:
        weighted = of.w * (of.u - of.low)
        in_parts(P.nnz, n, lambda _, first, last: _costs(*rows(P), weighted, of.s, of.logs, kl, first, last))
        in_parts(P.nnz, n, lambda k, first, last: _spread(*rows(P), p, of.s, after[k], first, last))
    else:
        in_parts(P.nnz, n, lambda k, first, last: _steep_play(*rows(P), of.u, p, kl, after[k], first, last))
    law = after.sum(axis=0) if len(after) > 1 else after[0]
    return kl, np.multiply(law, of.w, out=law) if of.flat else law


def divergence(P: CSR, u: Floats | Flow, other: Floats | Flow) -> tuple[Floats, float]:
    """KL(Q_u(.|x) || Q_other(.|x)) for each state, and max_x |Q_u(.|x) - Q_other(.|x)|_1."""
    of = u if isinstance(u, Flow) else flow(P, u)
    to = other if isinstance(other, Flow) else flow(P, other)
    kl = np.empty(of.u.size)
    if of.flat and to.flat:
        pairs = np.empty((kl.size, 2))  # side by side, since both are read at the same place
        pairs[:, 0] = of.w
        delta = np.subtract(of.u - of.low, to.u - to.low, out=pairs[:, 1])
        given = (*rows(P), pairs.ravel(), of.s, to.s, max(-float(delta.min()), float(delta.max())), kl)
        parts = in_parts(P.nnz, kl.size, lambda _, first, last: _divergence(*given, first, last))
    else:
        steep = (*rows(P), of.u, to.u, kl)
        parts = in_parts(P.nnz, kl.size, lambda _, first, last: _steep_divergence(*steep, first, last))
    return kl, float(max(parts))


def balanced_law(of: Flow, rho: Floats) -> Floats:
    """The stationary law of the policy of a flat u, where P is reversible with respect to rho: mu ~ rho w s."""
    law = rho * of.w * of.s
    return np.asarray(law / law.sum())


@njit(cache=True, error_model="numpy", nogil=True)
def _product(indptr: Any, indices: Any, data: Any, w: Any, s: Any, logs: Any, first: int, last: int) -> None:
    sums, found, spare = np.ones(ROWS), np.empty(ROWS), np.empty((2, ROWS))
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        flat_sums(indptr, indices, data, w, start, size, sums)
        logs_of(sums, found, spare)
        for k in range(size):
            s[start + k], logs[start + k] = sums[k], found[k]


@njit(cache=True, error_model="numpy", nogil=True)
def _costs(
    indptr: Any, indices: Any, data: Any, weighted: Any, s: Any, logs: Any, kl: Any, first: int, last: int
) -> None:
    sums = np.ones(ROWS)
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        flat_sums(indptr, indices, data, weighted, start, size, sums)
        for k in range(size):
            kl[start + k] = max(-sums[k] / s[start + k] - logs[start + k], 0.0)


@njit(cache=True, error_model="numpy", nogil=True)
def _spread(indptr: Any, indices: Any, data: Any, law: Any, s: Any, after: Any, first: int, last: int) -> None:
    for x in range(first, last):
        if law[x] > 0.0:
            share = law[x] / s[x]
            for p in range(indptr[x], indptr[x + 1]):
                after[indices[p]] += share * data[p]


@njit(cache=True, error_model="numpy", nogil=True)
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
    largest, ratio, shift, spare = 0.0, np.ones(ROWS), np.empty(ROWS), np.empty((2, ROWS))
    weights, moves = np.empty(ROWS), np.empty(ROWS)
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        begin, end = np.int64(indptr[start]), np.int64(indptr[start + size])
        if weights.size < end - begin:
            weights, moves = np.empty(end - begin), np.empty(end - begin)
        for p in range(end - begin):  # all reads first: with the arithmetic in between, fewer are under way at a time
            at = TWO * indices[begin + p]
            weights[p], moves[p] = data[begin + p] * pairs[at], pairs[at + ONE]
        for k in range(size):
            ratio[k] = s[start + k] / other_s[start + k]
        logs_of(ratio, shift, spare)
        for k in range(size):
            x, total, change = start + k, 0.0, 0.0
            near = reach + abs(shift[k]) < SERIES
            for p in range(np.int64(indptr[x]) - begin, np.int64(indptr[x + 1]) - begin):
                y = moves[p] + shift[k]
                rest = near_excess(y) if near else excess(y)
                total += weights[p] * rest
                change += weights[p] * abs(y + rest)
            kl[x] = total / s[x]
            largest = max(largest, change / s[x])
    return largest


@njit(cache=True, error_model="numpy", nogil=True)
def _steep_play(
    indptr: Any, indices: Any, data: Any, u: Any, law: Any, kl: Any, after: Any, first: int, last: int
) -> None:
    for x in range(first, last):
        m, s, mean = np.inf, 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, u[indices[p]])
        for p in range(indptr[x], indptr[x + 1]):
            d = u[indices[p]] - m
            weight = data[p] * np.exp(-d)
            s += weight
            mean += weight * d
        kl[x] = max(-mean / s - np.log(s), 0.0)
        if law[x] > 0.0:
            share = law[x] / s
            for p in range(indptr[x], indptr[x + 1]):
                after[indices[p]] += share * data[p] * np.exp(m - u[indices[p]])


@njit(cache=True, error_model="numpy", nogil=True)
def _steep_divergence(
    indptr: Any, indices: Any, data: Any, u: Any, other: Any, kl: Any, first: int, last: int
) -> float:
    largest = 0.0
    for x in range(first, last):
        m, k, s, t = np.inf, np.inf, 0.0, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            m = min(m, u[indices[p]])
            k = min(k, other[indices[p]])
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * np.exp(m - u[indices[p]])
            t += data[p] * np.exp(k - other[indices[p]])
        total, change = 0.0, 0.0
        shift = (k - m) - np.log(t / s)
        for p in range(indptr[x], indptr[x + 1]):
            q = data[p] * np.exp(m - u[indices[p]]) / s
            y = (u[indices[p]] - other[indices[p]]) + shift
            rest = excess(y)
            total += q * rest
            change += q * abs(y + rest)
        kl[x] = total
        largest = max(largest, change)
    return largest
