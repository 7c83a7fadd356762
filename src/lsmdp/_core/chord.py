"""Rounds of steps with a factor from earlier (solvers/warm/chord.py says what they are)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lsmdp._core import sparse
from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials, extremes
from lsmdp._core.ordering import RUN
from lsmdp._core.panels import backward, forward
from lsmdp.arrays import EPS

PAIRS = 4  # steps whose residuals are kept
RECENT = 0.5  # the weight of a round in the mean of the recent ones
DOUBT = 0.1  # of the steps of a round beyond the first, whether a new factor would not do with fewer
FLAT = 500.0  # span of v up to which e^{-v} is a safe representation of it
LONGEST = 2.0  # steps in v are shortened to this
LOST = 300.0  # a residual this many times the best one will not come back


@entry()
def _rounds(
    P: Any,
    order: Any,
    made: Any,
    costs: Any,
    value: Any,
    T: float,
    slack: float,
    unseen: bool,
    gaps: Any,
    limit: int,
    rounds: int,
    spent: float,
    recent: float,
    price: float,
    z: Any,
    logs: Any,
    values: Any,
    los: Any,
    his: Any,
    steps: Any,
) -> tuple[int, int, float, float]:
    n = value.size
    cost, space, pairs = np.empty(n), np.empty(n + max(n, 2 * RUN)), [np.empty((2, n), dtype=np.float32)]
    spare = space[n : 2 * n]
    for k in range(gaps.size):
        v = values[k]  # in the order of the factor, until the round is done
        for x in range(n):
            v[x], cost[x] = value[order[x]] if k == 0 else spare[x], costs[k, order[x]]
        los[k], his[k], taken = _round(
            P, made, cost, v, T, slack, unseen, gaps[k], limit, round(recent), z, logs, space, pairs
        )
        steps[k] = taken
        for x in range(n):
            spare[x] = v[x]
        for x in range(n):
            v[order[x]] = spare[x]
        if not his[k] - los[k] <= gaps[k]:
            return k, rounds, spent, recent
        unseen = False
        rounds, spent, recent = aged(rounds, spent, recent, taken, price)
        if rounds == 0:
            return k + 1, rounds, spent, recent
    return gaps.size, rounds, spent, recent


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def aged(rounds: int, spent: float, recent: float, taken: int, price: float) -> tuple[int, float, float]:
    """The age of a factor after another round of so many steps; that of a new one where it is worn (plan.py)."""
    recent = recent + RECENT * (taken - recent) if rounds > 0 else float(taken)
    rounds, spent = rounds + 1, spent + taken - DOUBT * max(taken - 1, 0)
    return (0, 0.0, 0.0) if rounds * recent > spent + price else (rounds, spent, recent)


@njit(cache=True, error_model="numpy", inline="always")  # one caller: compiled once, not twice
def _round(
    P: Any,
    made: Any,
    cost: Any,
    v: Any,
    T: float,
    slack: float,
    unseen: bool,
    tol: float,
    limit: int,
    usual: int,
    z: Any,
    logs: Any,
    space: Any,
    pairs: Any,
) -> tuple[float, float, int]:
    """Bounds for what v becomes, and the steps to it; ``usual`` is their number in rounds of late (0: not known).

    Between two certificates, ``logs`` has the Pz / z of the last step. There are as many pairs as the rounds so far
    had use for.
    """
    law, rows, blocks, bases, lower, upper, pivots = made
    n, goal = v.size, 0.9 * tol / T  # a tenth of the tolerance is kept for rounding
    a, r, d, shares = logs, space[:n], space[n : 2 * n], np.empty(PAIRS)
    desk = space[n : n + 2 * RUN].reshape((2, RUN))  # the place of d, while that is not in use
    lo, hi = -np.inf, np.inf
    if unseen:
        lo, hi = _judge(P, cost, v, T, slack, z, logs, desk)
        if not hi - lo < np.inf:
            return lo, hi, 0
    judged, steps, last = unseen, 0, np.inf
    span = best = _residual(cost, T, logs, r)
    while span > goal and steps < limit:
        if judged or steps == 0:  # r has all that was in logs
            for x in range(n):
                a[x] = 0.0
        known = min(steps, PAIRS)
        _project(r, pairs, known, shares, law, rows, d)
        forward(blocks, bases, lower, d)
        for x in range(n):
            d[x] /= pivots[x]
        backward(blocks, bases, upper, d, np.inf)
        if steps == len(pairs) < PAIRS:
            pairs.append(np.empty((2, n), dtype=np.float32))
        low, longest = _take(v, T, r, pairs, known, steps % PAIRS, shares, d)
        if not longest < np.inf:
            return -np.inf, np.inf, steps
        steps += 1
        judged = usual == 1 if steps == 1 else span * (span / last) <= goal
        last = span
        if judged:
            lo, hi = _judge(P, cost, v, T, slack, z, logs, desk)
            span = _residual(cost, T, logs, r)
        else:
            lo, hi = -np.inf, np.inf
            _move(z, d, low, longest)
            span = _update(P, cost, T, z, a, r, desk)
        if not span <= LOST * best or (judged and hi - lo <= tol):
            break
        best = min(best, span)
        _remember(r, pairs, steps)
    if not judged and span <= goal:
        lo, hi = _judge(P, cost, v, T, slack, z, logs, desk)
    return lo, hi, steps


@inner()
def _judge(P: Any, cost: Any, v: Any, T: float, slack: float, z: Any, logs: Any, desk: Any) -> tuple[float, float]:
    """Bounds on r = Bv - v, rounding included; v <- v - min v, z and log(Pz / z) on the way.

    Each row is given the error of one that has the largest of everything: entries, |c|, the span of v, 1/s. A v that
    is beyond floats shows in the span of v or in that of r.
    """
    most = P[-1]
    low, high = extremes(v)
    if not high - low <= FLAT * T:
        return -np.inf, np.inf
    s, surprise = desk[0], desk[1]
    for start in range(0, v.size, RUN):
        end = min(start + RUN, v.size)
        here, units = v[start:end], logs[start:end]
        for k in range(here.size):
            here[k] -= low
            units[k] = here[k] / T
        exponentials(units, z[start:end])
    lower, upper, least = np.inf, -np.inf, np.inf
    for start in range(0, v.size, RUN):
        end = min(start + RUN, v.size)
        here, out, c, rows = v[start:end], logs[start:end], cost[start:end], end - start
        _sums(P, z, start, s[:rows])
        sparse.logs_of(s[:rows], surprise[:rows])
        for k in range(here.size):
            base = -here[k] - T * surprise[k]
            surprise[k], out[k] = c[k] + base, base / -T  # eq:bellman_V
        least = min(least, extremes(s[:rows])[0])
        smallest, largest = extremes(surprise[:rows])
        lower, upper = min(lower, smallest), max(upper, largest)
    cheapest, dearest = extremes(cost)
    _, error = sparse.enclose(max(-cheapest, dearest), high - low, least, -np.log(least), T, float(most), EPS, slack)
    if not upper - lower + error < np.inf:
        return -np.inf, np.inf
    return lower - error, upper + error


@inner(fastmath={"contract"})
def _sums(P: Any, z: Any, start: int, s: Any) -> None:
    """s = (Pz)(start + k) for all k; the terms of a row four by four, which do not wait for each other."""
    indptr, indices, data, turn, _ = P
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    ends, turn = indptr[start + 1 : start + 1 + s.size], turn[start : start + s.size]
    p = np.uint64(indptr[start])
    for k in range(s.size):
        total, end = 0.0, np.uint64(ends[k])
        while p + four <= end:
            left = data[p] * z[indices[p]] + data[p + one] * z[indices[p + one]]
            total += left + (data[p + two] * z[indices[p + two]] + data[p + three] * z[indices[p + three]])
            p += four
        while p < end:
            total += data[p] * z[indices[p]]
            p += one
        s[turn[k]] = total


@inner()
def _residual(cost: Any, T: float, logs: Any, r: Any) -> float:
    """r = c / T - logs less its mean; its span."""
    scale = 1.0 / T
    for x in range(r.size):
        r[x] = cost[x] * scale - logs[x]
    return _centre(r)


@inner(fastmath={"reassoc"})
def _total(x: Any) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


@inner()
def _centre(r: Any) -> float:
    mean = _total(r) / r.size
    for x in range(r.size):
        r[x] -= mean
    low, high = extremes(r)
    return float(high - low)


@inner(fastmath={"contract"})
def _update(P: Any, cost: Any, T: float, z: Any, a: Any, r: Any, desk: Any) -> float:
    """r for the new z, and its span. Where a is the Pz / z before (not 0), r changes by log(new / a)."""
    s, logs, scale = desk[0], desk[1], 1.0 / T
    near = a[0] > 0.0
    for start in range(0, z.size, RUN):
        end = min(start + RUN, z.size)
        here, before, out, c, rows, far = z[start:end], a[start:end], r[start:end], cost[start:end], end - start, 0
        _sums(P, z, start, s[:rows])
        for k in range(here.size):
            s[k] /= here[k]
            far += abs(s[k] - before[k]) > 0.05 * before[k]
        if near and not far:
            for k in range(here.size):
                y = (s[k] - before[k]) / (s[k] + before[k])
                q = y * y
                out[k] -= 2 * y * (1 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9)))))
                before[k] = s[k]
            continue
        for k in range(here.size):
            s[k], before[k] = s[k] / before[k] if near else s[k], s[k]
        sparse.logs_of(s[:rows], logs[:rows])
        for k in range(here.size):
            out[k] = out[k] - logs[k] if near else c[k] * scale - logs[k]
    return _centre(r)


@inner(fastmath={"contract", "reassoc"})
def _project(r: Any, pairs: Any, known: int, shares: Any, law: Any, rows: Any, d: Any) -> None:
    """d = rows (r - mean), r lowered along the pairs and the mean under the law; no rows: all are 1."""
    for x in range(r.size):
        d[x] = r[x]
    for j in range(known):
        one, share = pairs[j][1], 0.0
        for x in range(r.size):
            share += d[x] * one[x]
        for x in range(r.size):
            d[x] -= share * one[x]
        shares[j] = share
    mean = 0.0
    for x in range(d.size):
        mean += law[x] * d[x]
    for x in range(d.size):
        d[x] -= mean
    for x in range(rows.size):
        d[x] *= rows[x]


@inner(fastmath={"contract"})
def _take(v: Any, T: float, r: Any, pairs: Any, known: int, at: int, shares: Any, d: Any) -> tuple[float, float]:
    """v <- v + T d, d less the moves of the pairs and not too long, and half of a pair; what ``_move`` asks of d.

    That is its least entry, and the largest in modulus. Nothing moves where that is infinite.
    """
    for j in range(known):
        one, share = pairs[j][0], shares[j]
        for x in range(d.size):
            d[x] -= share * one[x]
    low, high = extremes(d)
    longest = max(-low, high)
    if not abs(_total(d)) + longest < np.inf:  # which a nan shows in
        return low, np.inf
    if longest > LONGEST:
        for x in range(d.size):
            d[x] *= LONGEST / longest
        low, longest = low * (LONGEST / longest), LONGEST
    move, change = pairs[at][0], pairs[at][1]
    for x in range(d.size):
        move[x], change[x] = d[x], -r[x]
        v[x] += T * d[x]
    return low, longest


@inner(fastmath={"contract", "reassoc"})
def _remember(r: Any, pairs: Any, steps: int) -> None:
    """Complete the pair of the last step: R is -r before it, and becomes the change, orthogonal to the others."""
    at = (steps - 1) % PAIRS
    move, new = pairs[at][0], pairs[at][1]
    for x in range(r.size):
        new[x] += r[x]
    for j in range(min(steps, PAIRS)):
        if j == at:
            continue
        other, one, share = pairs[j][0], pairs[j][1], 0.0
        for x in range(r.size):
            share += new[x] * one[x]
        for x in range(r.size):
            new[x] -= share * one[x]
            move[x] -= share * other[x]
    size = 0.0
    for x in range(r.size):
        size += new[x] * new[x]
    scale = 1.0 / np.sqrt(size) if size > 0.0 else 0.0
    for x in range(r.size):
        new[x] *= scale
        move[x] *= scale


@inner(fastmath={"contract"})
def _move(z: Any, d: Any, low: float, longest: float) -> None:
    """z <- z e^{-d} up to a factor, d is used up; eight terms of the series are exact to rounding up to 0.03."""
    if longest > 0.03:
        out = np.empty(RUN)
        for start in range(0, z.size, RUN):
            end = min(start + RUN, z.size)
            for x in range(start, end):
                d[x] -= low
            exponentials(d[start:end], out[: end - start])
            for x in range(start, end):
                z[x] *= out[x - start]
        return
    for x in range(z.size):
        y = -d[x]
        series = 1 / 24 + y * (1 / 120 + y * (1 / 720 + y * (1 / 5040)))
        z[x] *= 1 + y * (1 + y * (0.5 + y * (1 / 6 + y * series)))
