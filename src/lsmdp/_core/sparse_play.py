"""What a round of play costs and where it leads, for a policy and for a change of policy; P is sparse.

``play`` takes the flow of v (sparse.py) and the law p of the state, and gives KL(Q_v(.|x) || P(.|x)) for each state and
the law p Q_v after the round. ``divergence`` compares the policies of two flows. Where v is flat, with
d = (v - min v) / T, w = e^{-d} and s = P w,

    KL(Q_v || P) = -P(w d) / s - log s,        p Q_v = w P'(p / s),
    p.KL(Q_v || P) = -(p Q_v).d - p.log s,     without reading P at all where p Q_v is known,
    KL(Q_v || Q_o) = sum_y q (e^y - 1 - y),    y = log(q'/q) = (d - d')(y) + log(s / s'):

no cancellation between nearly equal policies. Each product reads P by itself, with nothing but sums in the loop: what
is read at random is then one array of n numbers, and reads need not wait for anything. On a random graph of a million
states a logarithm per row makes a product four times slower, and two arrays in one loop three times slower than one. So
the divergence reads its two arrays side by side.

Where v is not flat, each row is scaled by itself, and q, q' and e^y may be anything from 0 to beyond floats. With m the
smallest v of the row and m' that of o, y = ((v - m) - (o - m'))/T + log(s/s') is rounded once, after what v and o have
in common is gone. Where |y| <= 1 the terms are q (e^y - 1 - y) and q |e^y - 1| as above; elsewhere they are
q' - q - q y and |q' - q|, with q' from its own exponent d', off by a relative d' eps as q is by d eps. Exponents are
below 745 where q and q' are not 0 in floats, so that every term keeps twelve digits: nothing cancels by more than a
factor of 7, at y = 1. Where q is 0 in floats the terms are q', and q (1 + |y|), less than 1e-323 (1 + |y|), is left
out. A divergence may be as large as span(o)/T, but it is finite; the distance of two policies is at most 2.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from lsmdp._core.compile import entry
from lsmdp._core.explog import REACH_OF_THE_SERIES, excess, extremes, near_excess
from lsmdp._core.sparse import SURELY_NORMAL, Flow, control_of, logs_of, rows, weigh_rows
from lsmdp._core.threads import MOVES_OF_A_LARGE_P, SLICES, in_slices
from lsmdp.arrays import CSR, Floats, frozen, like, mean, read_only, row_sums

_ROWS_READ_AT_ONCE = 256  # So many rows are read before anything is computed of them, so that reads do not wait.
# Steps along a row are unsigned, because an index that cannot be negative need not be checked for a count from the end.
_ONE, _TWO = np.uint64(1), np.uint64(2)


def play(P: CSR, of: Flow, p: Floats, *, each: bool = True) -> tuple[Floats, Floats]:
    """KL(Q_v(.|x) || P(.|x)) in nats for each state, and p Q_v; with ``each=False`` the first is empty where v is flat.

    On a large P the second is summed up slice by slice.
    """
    if not of.flat:
        return _steep_play(P, of, p)
    after = np.zeros((SLICES if P.nnz >= MOVES_OF_A_LARGE_P else 1, of.v.size))
    share = read_only(p / of.s)
    in_slices(P.nnz, P.shape[0], lambda k, first, last: _spread(rows(P), share, after[k], first, last))
    kl = np.empty(0)
    if each:
        weighted = of.w * ((of.v - of.low) / of.temperature)
        kl = np.maximum(-(P @ weighted) / of.s - of.logs, 0.0)
    return kl, (after.sum(axis=0) if len(after) > 1 else after[0]) * of.w


def mean_control(of: Flow, kl: Floats, p: Floats, after: Floats) -> float:
    """p.KL(Q_v || P) in nats, from what ``play`` gives: KL(Q_v || P), perhaps empty, and after = p Q_v."""
    if kl.size:
        return mean(p, kl)
    return max((of.low * float(after.sum()) - mean(after, of.v)) / of.temperature - mean(p, of.logs), 0.0)


def divergence(P: CSR, of: Flow, to: Flow) -> tuple[Floats, float]:
    """KL(Q_v(.|x) || Q_o(.|x)) for each state, and max_x |Q_v(.|x) - Q_o(.|x)|_1; v and o are those of the flows."""
    if not (of.flat and to.flat):
        return _steep_divergence(P, of, to)
    kl, pairs = np.empty(P.shape[0]), np.empty((of.v.size, 2))

    def side_by_side(_: int, first: int, last: int) -> float:
        here = slice(first, last)
        apart = of.v[here] - of.low
        apart -= to.v[here] - to.low
        apart /= of.temperature
        pairs[here, 0], pairs[here, 1] = of.w[here], apart
        low, high = extremes(frozen(apart))
        return float(max(-low, high))

    reach = max(in_slices(P.nnz, of.v.size, side_by_side))
    given = (rows(P), read_only(pairs.ravel()), (of.s, to.s), reach, kl)

    def part(_: int, first: int, last: int) -> float:
        ends = [*P.indptr[first:last:_ROWS_READ_AT_ONCE].tolist(), int(P.indptr[last])]
        most = max(end - begin for begin, end in pairwise(ends))  # entries of a block
        return float(_compare(*given, np.empty((2, most)), first, last))

    return kl, max(in_slices(P.nnz, P.shape[0], part))


def balanced_law(of: Flow, rho: Floats) -> Floats:
    """The stationary law of the policy of a flat v, where P is reversible with respect to rho: mu ~ rho w s.

    The exponents of w and s are at most SPAN_OF_ONE_SCALE, and are off by 2 eps of that: twelve digits are right in
    every entry.
    """
    law = rho * of.w * of.s
    return np.asarray(law / law.sum())


def _steep_play(P: CSR, of: Flow, p: Floats) -> tuple[Floats, Floats]:
    """``play`` where every row has a scale of its own."""
    _, d, weights = weigh_rows(P, of.v, of.temperature)
    s, kl = control_of(P, d, weights)
    return kl, np.asarray((p / s) @ like(P, weights))


def _steep_divergence(P: CSR, of: Flow, to: Flow) -> tuple[Floats, float]:
    """``divergence`` where every row has a scale of its own."""
    sizes = np.diff(P.indptr)
    m, _, q = weigh_rows(P, of.v, of.temperature)
    k, _, then = weigh_rows(P, to.v, of.temperature)
    s, t = row_sums(like(P, q)), row_sums(like(P, then))
    q, then = q / np.repeat(s, sizes), then / np.repeat(t, sizes)
    y = _apart(of.v[P.indices], np.repeat(m, sizes), to.v[P.indices], np.repeat(k, sizes)) / of.temperature
    normal = np.minimum(s, t) >= SURELY_NORMAL
    y += np.repeat(np.where(normal, np.log(np.where(normal, s / t, 1.0)), np.log(s) - np.log(t)), sizes)
    y = np.where(q > 0.0, y, 0.0)
    near = (q > 0.0) & (np.abs(y) <= 1.0)
    rest = _excess(np.where(near, y, 0.0))
    terms = np.where(near, q * rest, (then - q) - q * y)
    changes = np.where(near, q * np.abs(y + rest), np.abs(then - q))
    return row_sums(like(P, terms)), float(row_sums(like(P, changes)).max())


def _excess(y: Floats) -> Floats:
    """e^y - 1 - y for |y| <= 1: the Taylor series to degree 18, whose remainder is below 1e-17 of the sum."""
    total = np.zeros_like(y)
    for degree in range(18, 1, -1):
        total = (1.0 + total * y) / degree
    return total * y * y


def _apart(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """(a - b) - (c - d), rounded about once: the rounding of a - b and of c - d is added again in the end."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = a - b, c - d
        total = first - second
        more = _lost(first, second, total) + (_lost(a, b, first) - _lost(c, d, second))
        return np.where(np.abs(total) < np.inf, total + more, total)


def _lost(a: Floats, b: Floats, difference: Floats) -> Floats:
    """What rounding took from a - b (Knuth's two-sum, exact)."""
    other = a - difference
    return np.asarray((a - (difference + other)) + (other - b))


@entry()
def _spread(P: Any, share: Any, after: Any, first: int, last: int) -> None:
    """after += share P, for the rows from ``first`` on."""
    indptr, indices, data = P
    for x in range(first, last):
        if share[x] > 0.0:
            for p in range(indptr[x], indptr[x + 1]):
                after[indices[p]] += share[x] * data[p]


@entry()
def _compare(P: Any, pairs: Any, sums: Any, reach: float, kl: Any, room: Any, first: int, last: int) -> float:
    """The divergence of each row, and the largest distance, from (w, d - d') side by side and |d - d'| <= reach.

    ``sums`` are the s of both flows; ``room`` is for two numbers of each entry of a block.
    """
    (indptr, indices, data), (s, other_s), largest = P, sums, 0.0
    weights, moved = room[0], room[1]
    for start in range(first, last, _ROWS_READ_AT_ONCE):
        size = _ROWS_READ_AT_ONCE if last - start > _ROWS_READ_AT_ONCE else last - start
        ends, here, there = indptr[start : start + size + 1], s[start : start + size], other_s[start : start + size]
        ratio, shift = weights[:size], kl[start : start + size]
        for k in range(size):
            ratio[k] = here[k] / there[k]
        logs_of(ratio, shift)
        low, high = extremes(shift)
        begin, count = ends[0], np.int64(ends[size] - ends[0])
        reached, chances = indices[begin : ends[size]], data[begin : ends[size]]
        for p in range(count):
            at = _TWO * reached[p]
            weights[p], moved[p] = chances[p] * pairs[at], pairs[at + _ONE]
        for k in range(size):
            for p in range(ends[k] - begin, ends[k + 1] - begin):
                moved[p] += shift[k]
        _weigh(weights[:count], moved[:count], reach + (high if high > -low else -low))
        for k in range(size):
            total, change = 0.0, 0.0
            for p in range(ends[k] - begin, ends[k + 1] - begin):
                total += weights[p]
                change += moved[p]
            kl[start + k] = total / here[k]
            largest = change / here[k] if change / here[k] > largest else largest
    return largest


@njit(inline="always")  # one caller: compiled once, not twice
def _weigh(weights: Any, moved: Any, reach: float) -> None:
    """(q, y) becomes (q (e^y - 1 - y), q |e^y - 1|), by the series where all |y| <= reach allow it."""
    if reach < REACH_OF_THE_SERIES:
        for p in range(weights.size):
            y, q = moved[p], weights[p]
            rest = near_excess(y)
            weights[p], moved[p] = q * rest, q * abs(y + rest)
    else:
        for p in range(weights.size):
            y, q = moved[p], weights[p]
            rest = excess(y)
            weights[p], moved[p] = q * rest, q * abs(y + rest)
