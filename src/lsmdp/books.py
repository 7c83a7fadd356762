"""The books of small games: what consecutive rounds cost, in one compiled loop over them.

For each round, with Q = Q_v the policy played and Q' that of the next round (game.py says what a round is):

    p Q                             one product with P; then p.KL(Q || P) = -(p Q).d - p.log s, d = (v - min v)/T;
    KL(Q || Q'), |Q - Q'|_1         one pass over P, see below;
    mu = mu Q                       the stationary law, from that of the round before on.

**The stationary law.** Where P is reversible with respect to rho, mu ~ rho w (P w) (policy.py). Otherwise, with the
inverse of A = I - Q_w + 1 1'/n kept from an earlier policy w, a step is mu <- mu + r A^{-1}, r = mu Q - mu. The error
e = mu* - mu sums to 0, so that e (I - Q + 1 1'/n) = r, and a step leaves e (Q - Q_w) A^{-1}. With K = max_x
sum_y |A^{-1}(x, y)| and q >= |Q - Q_w|, which costs n operations because Q / Q_w is a product of two vectors,

    |e|_1 <= K |r|_1 / (1 - K q),

and steps are taken until this is at most LAW_GOAL, or is sure to be after one more, which multiplies |e|_1 by K q.
Where K q > 1/2 but some states can be reached from everywhere, b = sum_y min_x Q(x, y) > 0, mu -> mu Q contracts l1
distances by 1 - b: then a step is mu <- mu + r, and |e|_1 <= |r|_1 / b, where b >= sum_y min_x P(x, y) w(y) / max s.
Otherwise, and where STEPS did not do, mu comes from state reduction (Grassmann, Taksar and Heyman): n^3/3 operations
without a subtraction, accurate in every entry. So it does where n is so small that this is as cheap. A is inverted anew
once what it might have saved since the last time has cost as much: all after the second step of a round, steps
without A, reductions.

**The divergence.** Q'/Q - 1 = h(x, z) = a(z) + b(x) (1 + a(z)), where a = w'/w - 1 and b = s/s' - 1. Where all |h| are
at most CLOSE, |Q - Q'|_1 = sum_z q |h| and KL(Q || Q') = sum_z q (h - log(1 + h)) = sum_z q (h^2/2 - h^3/3 + h^4/4): a
and b are known to some eps, hence h^2 to 5 eps / h of it, which is what the first term left out is of h^2/2 at CLOSE.
Beyond that with y = log(q'/q), KL is sum_z q (e^y - 1 - y), by its series where all |y| are small.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import EPS, Floats
from lsmdp.chain import LEAST_PIVOT
from lsmdp.elementary import SERIES, excess, extremes, logarithms, near_excess
from lsmdp.small import Square, given, invert, look, pad, times

LAW_GOAL = 1e-12  # l1 distance to the stationary law
REDUCED = 16  # states up to which a reduction costs no more than a few steps
STEPS = 30  # towards a stationary law in one round
INVERSION = 4  # times n products with Q is what an inversion takes
CLOSE = 2e-4  # largest |Q'/Q - 1| for which three terms of its series do


class Equilibrium(NamedTuple):
    """The stationary law of the last policy, and what the next one is found with.

    ``anchor`` is the v at which A was inverted, and ``debt`` the products since that it might have saved. Both arrays
    are empty where no inverse is needed.
    """

    mu: Floats
    anchor: Floats
    inverse: Floats
    debt: int

    @classmethod
    def first(cls, square: Square) -> Equilibrium:
        """Before round 1: any law, and nothing to go by yet."""
        n, padded = square.rows.shape
        if square.balanced.size or n <= REDUCED:
            return cls(np.full(n, 1.0 / n), np.empty(0), np.empty((0, 0)), 0)
        return cls(np.full(n, 1.0 / n), np.zeros(n), np.zeros((n, padded)), INVERSION * n)


class Books(NamedTuple):
    """Of the first ``done`` rounds: state cost, control cost, ideal loss, policy change and ideal step, a row each.

    ``law`` is that of the state after them, ``rest`` the stationary law and ``kl`` KL(Q || P) of the last of them.
    """

    done: int
    columns: Floats
    law: Floats
    rest: Equilibrium
    kl: Floats


def account(
    square: Square, temperature: float, t: int, values: Floats, costs: Floats, law: Floats, rest: Equilibrium
) -> Books:
    """The books of the rounds t, t + 1, ... with these costs.

    Row k of ``values`` is what is played in round t + k; the last row is for the round after. ``law`` is that of the
    state before round t and ``rest`` belongs to an earlier policy. Ends early, with ``done`` < the number of rounds,
    before a round whose values span too much for one scale.
    """
    rounds, n = costs.shape
    values, costs = given(values), given(costs)
    columns = np.empty((5, rounds))
    law, kl = law.copy(), np.empty(n)
    mu, anchor, inverse = rest.mu.copy(), rest.anchor.copy(), rest.inverse.copy()
    P = square.rows, square.columns, square.least, square.balanced
    done, debt = _account(*P, temperature, t, values, costs, law, mu, anchor, inverse, rest.debt, kl, columns)
    return Books(done, columns, law, Equilibrium(mu, anchor, inverse, debt), kl)


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
    anchor: Any,
    inverse: Any,
    debt: int,
    kl: Any,
    out: Any,
) -> tuple[int, int]:
    rounds, n = costs.shape
    padded = columns.shape[1]
    v, after, share, total, change, first, second, p, pi = [np.zeros(padded) for _ in range(9)]
    now, next_, old, spare = np.zeros((4, padded)), np.zeros((4, padded)), np.zeros((4, padded)), np.empty((2, padded))
    for x in range(n):
        p[x], pi[x] = law[x], mu[x]
    K = np.inf
    if anchor.size > 0:
        pad(anchor, v)
        look(columns, temperature, v, old[0], old[1], old[2], old[3], spare)
        K = _norm(inverse)
    done, moved = 0, True
    pad(values[0], v)
    _, flat = look(columns, temperature, v, now[0], now[1], now[2], now[3], spare)
    while flat and done < rounds:
        d, w, s, logs = now[0], now[1], now[2], now[3]
        if anchor.size > 0:
            if debt >= INVERSION * n:
                K, debt = _renew(rows, w, s, old, inverse), 0
                for x in range(n):
                    anchor[x] = values[done, x]
            found, cost = _approach(rows, least, w, s, old, inverse, K, pi, after, share)
            debt += cost
        else:
            found = not moved or (balanced.size > 0 and _balance(balanced, w, s, pi))
        if not found and not _reduce(rows, w, s, pi):
            break
        moved = False
        for x in range(n):
            moved |= values[done, x] != values[done + 1, x]
        largest = 0.0
        if moved:
            pad(values[done + 1], v)
            _, flat = look(columns, temperature, v, next_[0], next_[1], next_[2], next_[3], spare)
            if not flat:
                break
            largest = _divergence(columns, now, next_, first, second, total, change, spare)
        _push(rows, w, s, p, share, after)
        c = costs[done]
        out[0, done] = mean(p, c)
        out[1, done] = temperature * max(-mean(after, d) - mean(p, logs), 0.0)
        out[2, done] = mean(pi, c) + temperature * max(-mean(pi, d) - mean(pi, logs), 0.0)
        out[3, done] = largest
        out[4, done] = (t + done) * temperature * mean(pi, total) if moved else 0.0
        for x in range(padded):
            p[x] = after[x]
        done += 1
        if done == rounds:
            for x in range(padded):
                first[x] = w[x] * d[x]
            times(columns, first, share)
            for x in range(n):
                kl[x] = max(-share[x] / s[x] - logs[x], 0.0)
        if moved:
            now, next_ = next_, now
    for x in range(n):
        law[x], mu[x] = p[x], pi[x]
    return done, debt


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
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for x in range(padded):
        after[x] *= w[x]
    for x in range(0, padded, 4):
        a, b, c, d = a + after[x], b + after[x + 1], c + after[x + 2], d + after[x + 3]
    scale = 1.0 / ((a + b) + (c + d))
    for x in range(padded):
        after[x] *= scale
        share[x] = abs(after[x] - law[x])
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for x in range(0, padded, 4):
        a, b, c, d = a + share[x], b + share[x + 1], c + share[x + 2], d + share[x + 3]
    return float((a + b) + (c + d))


@njit(cache=True, error_model="numpy")
def _balance(balanced: Any, w: Any, s: Any, mu: Any) -> bool:
    """The stationary law of a policy of a reversible P; False where floats lose it."""
    total = 0.0
    for x in range(balanced.size):
        mu[x] = balanced[x] * w[x] * s[x]
        total += mu[x]
    for x in range(balanced.size):
        mu[x] /= total
    return total > LEAST_PIVOT


@njit(cache=True, error_model="numpy")
def _approach(
    rows: Any, least: Any, w: Any, s: Any, old: Any, inverse: Any, K: float, mu: Any, after: Any, share: Any
) -> tuple[bool, int]:
    """Steps from mu to the stationary law: whether they arrive, and the products that another A might have saved."""
    n, padded = rows.shape
    for x in range(padded):
        share[x], after[x] = w[x] / old[1, x], old[2, x] / s[x]
    (low, high), (smallest, largest) = extremes(share), extremes(after)
    q = max(high * largest - 1.0, 1.0 - low * smallest)
    near = K * q <= 0.5 and K * n * EPS <= LAW_GOAL / 2
    b = (1.0 - K * q) / K if near else mean(w, least) / extremes(s)[1]
    if n * EPS <= b * LAW_GOAL:
        for taken in range(STEPS):
            change = _push(rows, w, s, mu, share, after)
            if change <= b * LAW_GOAL:
                return True, max(2 * taken - 3, 0) if near else taken
            if near:
                for x in range(padded):
                    after[x] -= mu[x]
                times(inverse, after, share)
                for x in range(padded):
                    mu[x] += share[x]
                if K * q * change <= b * LAW_GOAL / 2:
                    return True, 2 * max(taken - 1, 0)
            else:
                for x in range(padded):
                    mu[x] = after[x]
    return False, n // 4


@njit(cache=True, error_model="numpy")
def _renew(rows: Any, w: Any, s: Any, old: Any, inverse: Any) -> float:
    """Invert I - Q + 1 1'/n for these weights; its K."""
    n, padded = rows.shape
    inverse[:] = 0.0
    for x in range(n):
        for y in range(n):
            inverse[x, y] = 1.0 / n - rows[x, y] * (w[y] / s[x])
        inverse[x, x] += 1.0
    invert(inverse)
    for x in range(padded):
        old[1, x], old[2, x] = w[x], s[x]
    return _norm(inverse)


@njit(cache=True, error_model="numpy")
def _norm(inverse: Any) -> float:
    """K: the largest sum of absolute values in a row."""
    largest = 0.0
    for x in range(inverse.shape[0]):
        total = 0.0
        for y in range(inverse.shape[1]):
            total += abs(inverse[x, y])
        largest = max(largest, total)
    return largest


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
def _divergence(columns: Any, now: Any, next_: Any, first: Any, second: Any, kl: Any, change: Any, spare: Any) -> float:
    """kl = KL(Q || Q') for each state, and max_x |Q - Q'|_1."""
    padded = columns.shape[1]
    d, w, s, next_d, next_s = now[0], now[1], now[2], next_[0], next_[2]
    for x in range(padded):
        delta = d[x] - next_d[x]
        first[x] = delta * (1.0 + delta * (0.5 + delta * (1 / 6)))  # w'/w - 1, where delta is small
        second[x] = (s[x] - next_s[x]) / next_s[x]
        kl[x], change[x] = 0.0, 0.0
    low, high = extremes(first)
    least, most = extremes(second)
    if max(-low, high) + max(-least, most) <= CLOSE:
        _close(columns, w, first, second, kl, change)
    else:
        _far(columns, d, w, s, next_d, next_s, first, second, kl, change, spare)
    for x in range(padded):
        kl[x] /= s[x]
        change[x] /= s[x]
    return extremes(change)[1]


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # a product and a sum may be rounded once
def _close(columns: Any, w: Any, a: Any, b: Any, kl: Any, change: Any) -> None:
    """Add sum_z P w (h^2/2 - h^3/3 + h^4/4) to kl and sum_z P w |h| to change, two z at a time."""
    n, padded = columns.shape
    for z in range(0, n - 1, 2):
        a0, a1, w0, w1, c0, c1 = a[z], a[z + 1], w[z], w[z + 1], columns[z], columns[z + 1]
        for x in range(padded):
            h0, h1 = a0 + b[x] * (1 + a0), a1 + b[x] * (1 + a1)
            u0, u1 = c0[x] * w0 * h0, c1[x] * w1 * h1
            change[x] += abs(u0) + abs(u1)
            kl[x] += u0 * h0 * (0.5 - h0 * (1 / 3 - h0 * 0.25)) + u1 * h1 * (0.5 - h1 * (1 / 3 - h1 * 0.25))
    for z in range(n // 2 * 2, n):
        for x in range(padded):
            h = a[z] + b[x] * (1 + a[z])
            u = columns[z, x] * w[z] * h
            change[x] += abs(u)
            kl[x] += u * h * (0.5 - h * (1 / 3 - h * 0.25))


@njit(cache=True, error_model="numpy")
def _far(
    columns: Any,
    d: Any,
    w: Any,
    s: Any,
    next_d: Any,
    next_s: Any,
    delta: Any,
    shift: Any,
    kl: Any,
    change: Any,
    spare: Any,
) -> None:
    """The same where policies differ more (see _divergence in kernels.py for why it is done so)."""
    n, padded = columns.shape
    for x in range(padded):
        delta[x] = s[x] / next_s[x]
    logarithms(delta, shift, spare)
    for x in range(padded):
        delta[x] = d[x] - next_d[x]
    low, high = extremes(delta)
    least, most = extremes(shift)
    if max(abs(low + least), abs(high + most)) <= SERIES:
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
