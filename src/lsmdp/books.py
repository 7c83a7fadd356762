"""The books of small games: what consecutive rounds cost, in one compiled loop over them.

For each round, with Q = Q_v the policy played and Q' that of the next round (game.py says what a round is):

    KL(Q || P) and p Q              as in kernels.py, one product with P and one with its transpose;
    KL(Q || Q'), |Q - Q'|_1         sum_y q (e^y - 1 - y) with y = log(q'/q), by its series where all y are small;
    mu = mu Q                       the stationary law, from that of the round before on.

**The stationary law.** Where P is reversible with respect to rho, mu ~ rho w (P w) (policy.py). Where some states can
be reached from everywhere, b = sum_y min_x Q(x, y) > 0 and mu -> mu Q contracts l1 distances by 1 - b, so that
|mu' - mu|_1 <= |mu' Q - mu'|_1 / b for every law mu': products are taken until the right side is at most
LAW_GOAL, and since Q(x, y) = P(x, y) w(y) / s(x), b >= sum_y min_x P(x, y) w(y) / max s costs n operations. Otherwise,
and where POWER_STEPS products did not do, mu comes from state reduction (Grassmann, Taksar and Heyman): n^3/3
operations without a subtraction, accurate in every entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import Floats
from lsmdp.chain import LEAST_PIVOT
from lsmdp.elementary import SERIES, excess, extremes, logarithms, near_excess
from lsmdp.small import Square, given, look, pad, times

POWER_STEPS = 30  # products with Q that cost less than a reduction
LAW_GOAL = 1e-12  # l1 distance to the stationary law
SHORT_SERIES = 1e-5  # largest |y| for which three terms of the series of e^y - 1 - y do: the next is below 1e-16 of it


class Books(NamedTuple):
    """Of the first ``done`` rounds: state cost, control cost, ideal loss, policy change and ideal step, a row each.

    ``law`` is that of the state after them, ``mu`` the stationary law and ``kl`` KL(Q || P) of the last of them.
    """

    done: int
    columns: Floats
    law: Floats
    mu: Floats
    kl: Floats


def account(
    square: Square, temperature: float, t: int, values: Floats, costs: Floats, law: Floats, mu: Floats
) -> Books:
    """The books of the rounds t, t + 1, ... with these costs.

    Row k of ``values`` is what is played in round t + k; the last row is for the round after. ``law`` is that of the
    state before round t and ``mu`` the stationary law of an earlier policy. Ends early, with ``done`` < the number of
    rounds, before a round whose values span too much for one scale.
    """
    rounds, n = costs.shape
    values, costs = given(values), given(costs)
    columns = np.empty((5, rounds))
    law, mu, kl = law.copy(), mu.copy(), np.empty(n)
    done = _account(
        square.rows, square.columns, square.least, square.balanced, temperature, t, values, costs, law, mu, kl, columns
    )
    return Books(done, columns, law, mu, kl)


@njit(cache=True, error_model="numpy")
def _account(
    rows: Any,
    columns: Any,
    least: Any,
    balanced: Any,
    temperature: float,
    t: int,
    values: Any,
    costs: Any,
    law: Any,
    mu: Any,
    kl: Any,
    out: Any,
) -> int:
    rounds, n = costs.shape
    padded = columns.shape[1]
    v, m, total, change, shift, delta, share, p, pi = [np.zeros(padded) for _ in range(9)]
    now, next_, spare = np.zeros((4, padded)), np.zeros((4, padded)), np.empty((2, padded))
    p[:n], pi[:n] = law, mu
    done = 0
    pad(values[0], v)
    _, flat = look(columns, temperature, v, now[0], now[1], now[2], now[3], spare)
    while flat and done < rounds:
        pad(values[done + 1], v)
        _, flat = look(columns, temperature, v, next_[0], next_[1], next_[2], next_[3], spare)
        if not flat:
            break
        d, w, s, logs = now[0], now[1], now[2], now[3]
        if not _stationary(rows, least, balanced, w, s, pi, m, share):
            break
        for x in range(padded):
            m[x] = w[x] * d[x]
        times(columns, m, share)
        for x in range(n):
            kl[x] = max(-share[x] / s[x] - logs[x], 0.0)
        largest = _divergence(columns, d, w, s, next_[0], next_[2], shift, delta, total, change, spare)
        c = costs[done]
        out[0, done] = mean(p, c)
        out[1, done] = temperature * mean(p, kl)
        out[2, done] = mean(pi, c) + temperature * mean(pi, kl)
        out[3, done] = largest
        out[4, done] = (t + done) * temperature * mean(pi, total[:n])
        _push(rows, w, s, p, share, m)
        for x in range(padded):
            p[x] = m[x]
        now, next_ = next_, now
        done += 1
    for x in range(n):
        law[x], mu[x] = p[x], pi[x]
    return done


@njit(cache=True, error_model="numpy")
def mean(law: Any, f: Any) -> float:
    """The sum of law * f, in an order of its own."""
    n = f.size
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(0, n // 4 * 4, 4):
        a += law[i] * f[i]
        b += law[i + 1] * f[i + 1]
        c += law[i + 2] * f[i + 2]
        d += law[i + 3] * f[i + 3]
    for i in range(n // 4 * 4, n):
        a += law[i] * f[i]
    return (a + b) + (c + d)


@njit(cache=True, error_model="numpy")
def _push(rows: Any, w: Any, s: Any, law: Any, share: Any, after: Any) -> float:
    """after = law Q, divided by its sum; |after - law|_1."""
    padded = rows.shape[1]
    for x in range(padded):
        share[x] = law[x] / s[x]
    times(rows, share, after)
    sums = np.zeros(4)
    for x in range(padded):
        after[x] *= w[x]
    for x in range(0, padded, 4):
        for lane in range(4):
            sums[lane] += after[x + lane]
    scale = 1.0 / ((sums[0] + sums[1]) + (sums[2] + sums[3]))
    sums[:] = 0.0
    for x in range(padded):
        after[x] *= scale
    for x in range(0, padded, 4):
        for lane in range(4):
            sums[lane] += abs(after[x + lane] - law[x + lane])
    return float((sums[0] + sums[1]) + (sums[2] + sums[3]))


@njit(cache=True, error_model="numpy")
def _stationary(rows: Any, least: Any, balanced: Any, w: Any, s: Any, mu: Any, after: Any, share: Any) -> bool:
    """The stationary law of the policy with these weights, in place of one near it; False where floats lose it."""
    n, padded = rows.shape
    if balanced.size > 0:
        total = 0.0
        for x in range(n):
            mu[x] = balanced[x] * w[x] * s[x]
            total += mu[x]
        for x in range(n):
            mu[x] /= total
        return total > LEAST_PIVOT
    b = mean(w, least) / extremes(s)[1]
    if b > 0.0:
        for _ in range(POWER_STEPS):
            change = _push(rows, w, s, mu, share, after)
            for x in range(padded):
                mu[x] = after[x]
            if change <= b * LAW_GOAL:
                return True
    return _reduce(rows, w, s, mu)


@njit(cache=True, error_model="numpy")
def _reduce(rows: Any, w: Any, s: Any, mu: Any) -> bool:
    n = rows.shape[0]
    Q = np.empty((n, n))
    for x in range(n):
        for y in range(n):
            Q[x, y] = rows[x, y] * (w[y] / s[x])
    for k in range(n - 1, 0, -1):
        pivot = 0.0
        for y in range(k):
            pivot += Q[k, y]
        if not pivot >= LEAST_PIVOT:
            return False
        for x in range(k):
            Q[x, k] /= pivot
            factor = Q[x, k]
            if factor > 0.0:
                for y in range(k):
                    Q[x, y] += factor * Q[k, y]
    mu[0] = 1.0
    total = 1.0
    for k in range(1, n):
        mu[k] = 0.0
        for x in range(k):
            mu[k] += mu[x] * Q[x, k]
        total += mu[k]
    for x in range(n):
        mu[x] /= total
    return total < np.inf


@njit(cache=True, error_model="numpy")
def _divergence(
    columns: Any,
    d: Any,
    w: Any,
    s: Any,
    next_d: Any,
    next_s: Any,
    shift: Any,
    delta: Any,
    kl: Any,
    change: Any,
    spare: Any,
) -> float:
    """kl = KL(Q || Q') for each state, and max_x |Q - Q'|_1 (see _divergence in kernels.py for why it is done so)."""
    n, padded = columns.shape
    for x in range(padded):
        change[x] = s[x] / next_s[x]
    logarithms(change, shift, spare)
    for x in range(padded):
        delta[x] = d[x] - next_d[x]
        kl[x], change[x] = 0.0, 0.0
    low, high = extremes(delta)
    least, most = extremes(shift)
    largest = max(abs(low + least), abs(high + most))
    if largest <= SHORT_SERIES:
        for z in range(n):
            column, weight, move = columns[z], w[z], delta[z]
            for x in range(padded):
                y = move + shift[x]
                rest = y * y * (0.5 + y * (1 / 6 + y * (1 / 24)))
                q = column[x] * weight
                kl[x] += q * rest
                change[x] += q * abs(y + rest)
    elif largest <= SERIES:
        for z in range(n):
            column, weight, move = columns[z], w[z], delta[z]
            for x in range(padded):
                y = move + shift[x]
                rest = near_excess(y)
                q = column[x] * weight
                kl[x] += q * rest
                change[x] += q * abs(y + rest)
    else:
        for z in range(n):
            for x in range(n):
                if columns[z, x] > 0.0:
                    y = delta[z] + shift[x]
                    rest = excess(y)
                    q = columns[z, x] * w[z]
                    kl[x] += q * rest
                    change[x] += q * abs(y + rest)
    for x in range(padded):
        kl[x] /= s[x]
        change[x] /= s[x]
    return extremes(change)[1]
