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
CHUNK = 16  # rounds whose policies are looked at together
STEPS = 30  # towards a stationary law in one round
INVERSION = 4  # times n products with Q is what an inversion takes
CLOSE = 2e-4  # largest |w'/w - 1| + |s'/s - 1| for which four terms of the series of G do
KEPT = 1 / 64  # of max a^2, to be left of mu.G(a) - mu.G(m)


class Equilibrium(NamedTuple):
    """The stationary law of the last policy, and what the next one is found with.

    ``anchor`` is the v at which A was inverted, ``anchored`` its stationary law, ``K`` that of A^{-1} (infinite: it is
    not to be used), and ``debt`` the products since that another A might have saved. The arrays are empty where no
    inverse is needed.
    """

    mu: Floats
    anchor: Floats
    anchored: Floats
    inverse: Floats
    K: float
    debt: int

    @classmethod
    def first(cls, square: Square) -> Equilibrium:
        """Before round 1: any law, and nothing to go by yet."""
        n, padded = square.rows.shape
        if square.balanced.size or n <= REDUCED:
            return cls(np.full(n, 1.0 / n), np.empty(0), np.empty(0), np.empty((0, 0)), np.inf, 0)
        return cls(np.full(n, 1.0 / n), np.zeros(n), np.zeros(n), np.zeros((n, padded)), np.inf, INVERSION * n)


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
    mu, anchor, anchored, inverse = (array.copy() for array in rest[:4])
    P = square.rows, square.columns, square.least, square.balanced
    kept = mu, anchor, anchored, inverse
    done, K, debt = _account(*P, temperature, t, values, costs, law, *kept, rest.K, rest.debt, kl, columns)
    return Books(done, columns, law, Equilibrium(*kept, K, debt), kl)


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
    anchored: Any,
    inverse: Any,
    K: float,
    debt: int,
    kl: Any,
    out: Any,
) -> tuple[int, float, int]:
    rounds, n = costs.shape
    padded, size = columns.shape[1], min(rounds, CHUNK)
    after, share, first, second, p, pi = [np.zeros(padded) for _ in range(6)]
    v, d, w, s, logs, per, a, m = [np.zeros((size + 1) * padded) for _ in range(8)]
    at, old, spare = np.zeros(size + 1, np.int64), np.zeros((5, padded)), np.empty((2, (size + 1) * padded))
    low, p[:n], pi[:n] = np.zeros(size + 1), law, mu
    if anchor.size > 0:
        pad(anchor, v[:padded])
        look(columns, temperature, v[:padded], low, d, w, s, logs, spare)
        _remember(w[:padded], s[:padded], old)
        old[3, :n] = anchored
    for start in range(0, rounds, size):
        here = min(size, rounds - start)
        count = _unlike(values[start : start + here + 1], padded, v, at)
        flat = look(columns, temperature, v[: count * padded], low, d, w, s, logs, spare)
        _differences(padded, flat, d, s, per, a, m)
        for k in range(here):
            done, i = start + k, at[k] * padded
            if at[k + 1] >= flat:
                return _left(p, pi, law, mu, done, K, debt)
            one_d, one_w, one_s = d[i : i + padded], w[i : i + padded], s[i : i + padded]
            one_logs, one_per = logs[i : i + padded], per[i : i + padded]
            found = False
            if anchor.size > 0:
                if debt >= INVERSION * n:
                    K, debt = _renew(rows, one_w, one_s, old, inverse), 0
                    anchor[:], anchored[:] = values[done], old[3, :n]
                found, taken = _approach(rows, least, one_w, one_s, one_per, old, inverse, K, pi, first, share, after)
                debt += max(taken - 2, 0)
            elif balanced.size > 0:
                found = _balance(balanced, one_w, one_s, pi)
            if not found and not _reduce(rows, one_w, one_s, pi):
                return _left(p, pi, law, mu, done, K, debt)
            largest, step = 0.0, 0.0
            if at[k + 1] > at[k]:
                largest, step = _divergence(columns, i, d, w, s, per, a, m, pi, first, second, share, after, spare)
            _push(rows, one_w, one_per, p, share, after)
            c = costs[done]
            out[0, done] = mean(p, c)
            out[1, done] = temperature * max(-mean(after, one_d) - mean(p, one_logs), 0.0)
            out[2, done] = mean(pi, c) + temperature * max(-mean(pi, one_d) - mean(pi, one_logs), 0.0)
            out[3, done] = largest
            out[4, done] = (t + done) * temperature * step
            p, after = after, p
    i = at[here - 1] * padded
    _surprises(columns, d[i:], w[i:], s[i:], logs[i:], first, share, kl)
    return _left(p, pi, law, mu, rounds, K, debt)


@njit(cache=True, error_model="numpy")
def _surprises(columns: Any, d: Any, w: Any, s: Any, logs: Any, weighted: Any, sums: Any, kl: Any) -> None:
    """KL(Q || P) of each state."""
    for x in range(weighted.size):
        weighted[x] = w[x] * d[x]
    times(columns, weighted, sums)
    for x in range(kl.size):
        kl[x] = max(-sums[x] / s[x] - logs[x], 0.0)


@njit(cache=True, error_model="numpy")
def _left(p: Any, pi: Any, law: Any, mu: Any, done: int, K: float, debt: int) -> tuple[int, float, int]:
    """What the next rounds begin with."""
    for x in range(law.size):
        law[x], mu[x] = p[x], pi[x]
    return done, K, debt


@njit(cache=True, error_model="numpy")
def _unlike(values: Any, padded: int, v: Any, at: Any) -> int:
    """v = the values without repetitions, padded; where each of them is in there; how many there are."""
    count = 0
    for k in range(len(values)):
        new = k == 0
        for x in range(values.shape[1]):
            new |= values[k, x] != values[k - 1, x]
        if new:
            pad(values[k], v[count * padded : (count + 1) * padded])
            count += 1
        at[k] = count - 1
    return count


@njit(cache=True, error_model="numpy")
def _differences(padded: int, count: int, d: Any, s: Any, per: Any, a: Any, m: Any) -> None:
    """per = 1/s; for each policy and the next one, a = w'/w - 1 where that is small, and m = s'/s - 1."""
    for i in range(count * padded):
        per[i] = 1.0 / s[i]
    for i in range((count - 1) * padded):
        delta = d[i] - d[i + padded]
        a[i] = delta * (1.0 + delta * (0.5 + delta * (1 / 6)))
        m[i] = (s[i + padded] - s[i]) * per[i]


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def mean(law: Any, f: Any) -> float:
    """The sum of law * f, in an order of its own."""
    found = 0.0
    for i in range(f.size):
        found += law[i] * f[i]
    return found


@njit(cache=True, error_model="numpy")
def _push(rows: Any, w: Any, per: Any, law: Any, share: Any, after: Any) -> float:
    """after = law Q, divided by its sum; |after - law|_1."""
    padded = rows.shape[1]
    for x in range(padded):
        share[x] = law[x] * per[x]
    times(rows, share, after)
    for x in range(padded):
        after[x] *= w[x]
    scale = 1.0 / total(after)
    for x in range(padded):
        after[x] *= scale
        share[x] = abs(after[x] - law[x])
    return total(share)


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
    rows: Any,
    least: Any,
    w: Any,
    s: Any,
    per: Any,
    anchor: Any,
    inverse: Any,
    K: float,
    mu: Any,
    y: Any,
    share: Any,
    after: Any,
) -> tuple[bool, int]:
    """From some mu to the stationary law of the weights w: whether it arrives, and the products taken."""
    n, padded = rows.shape
    old_s, old_per, ratio, at_anchor, delta = anchor[0], anchor[1], anchor[2], anchor[3], anchor[4]
    for x in range(padded):
        delta[x] = s[x] * ratio[x] / w[x] - 1.0
        y[x] = old_s[x] * per[x]
    low, high = extremes(delta)
    contraction, (least_scale, largest_scale) = K * max(-low, high), extremes(y)
    if contraction <= 0.5:
        goal = LAW_GOAL * least_scale / largest_scale * (1.0 - contraction) / contraction / 4
        for x in range(padded):
            y[x] *= mu[x]
        scale = 1.0 / total(y)
        for x in range(padded):
            y[x] *= scale
        for taken in range(STEPS):
            for x in range(padded):
                share[x] = y[x] * delta[x]
            times(inverse, share, after)
            for x in range(padded):
                after[x] = at_anchor[x] - after[x]
                share[x] = abs(after[x] - y[x])
                y[x] = after[x]
            if total(share) <= goal:
                for x in range(padded):
                    mu[x] = y[x] * s[x] * old_per[x]
                scale = 1.0 / total(mu)
                for x in range(padded):
                    mu[x] *= scale
                return True, taken + 1
        return False, STEPS
    b = mean(w, least) / extremes(s)[1]
    if n * EPS <= b * LAW_GOAL:
        for taken in range(STEPS):
            change = _push(rows, w, per, mu, share, after)
            if change <= b * LAW_GOAL:
                return True, taken + 1
            for x in range(padded):
                mu[x] = after[x]
    return False, n // 4


@njit(cache=True, error_model="numpy")
def _renew(rows: Any, w: Any, s: Any, anchor: Any, inverse: Any) -> float:
    """Invert I - Q + 1 1'/n for these weights, and find their stationary law; K, or inf where they are not accurate."""
    n, padded = rows.shape
    A, product = np.zeros((n, padded)), np.empty(padded)
    for x in range(n):
        for y in range(n):
            A[x, y] = 1.0 / n - rows[x, y] * (w[y] / s[x])
        A[x, x] += 1.0
    inverse[:] = A
    invert(inverse)
    _remember(w, s, anchor)
    if not _reduce(rows, w, s, anchor[3]):
        return np.inf
    K, E = 0.0, 0.0
    for x in range(n):
        times(A, inverse[x], product)
        product[x] -= 1.0
        K, E = max(K, absolute(inverse[x])), max(E, absolute(product))
    return K if E + 2 * n * EPS * K <= LAW_GOAL / 2 else np.inf


@njit(cache=True, error_model="numpy")
def _remember(w: Any, s: Any, anchor: Any) -> None:
    """The rows s, 1/s and w/s of an anchor, whose stationary law is still to be found."""
    for x in range(s.size):
        anchor[0, x], anchor[1, x], anchor[2, x], anchor[3, x] = s[x], 1.0 / s[x], w[x] / s[x], 0.0


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def total(x: Any) -> float:
    """The sum, in an order of its own."""
    found = 0.0
    for i in range(x.size):
        found += x[i]
    return found


@njit(cache=True, error_model="numpy")
def absolute(x: Any) -> float:
    """The sum of the absolute values."""
    found = 0.0
    for i in range(x.size):
        found += abs(x[i])
    return found


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
    i: int,
    d: Any,
    w: Any,
    s: Any,
    per: Any,
    a: Any,
    m: Any,
    mu: Any,
    first: Any,
    second: Any,
    kl: Any,
    change: Any,
    spare: Any,
) -> tuple[float, float]:
    """max_x |Q - Q'|_1 and mu.KL(Q || Q') for the Q that is at i, and the Q' after it, where mu = mu Q."""
    padded = mu.size
    j = i + padded
    w, a, m = w[i:j], a[i:j], m[i:j]
    low, high = extremes(a)
    least, most = extremes(m)
    if max(-low, high) + max(-least, most) <= CLOSE:
        step = _at_rest(mu, a, m, low, high, kl)
        if step >= 0.0:
            for x in range(padded):
                first[x] = a[x] * w[x]
            _changes(columns, w, first, m, change)
            for x in range(padded):
                change[x] *= per[j + x]
            return extremes(change)[1], step
    _far(columns, d[i:j], w, s[i:j], d[j : j + padded], s[j : j + padded], first, second, kl, change, spare)
    for x in range(padded):
        kl[x] *= per[i + x]
        change[x] *= per[i + x]
    return extremes(change)[1], mean(mu, kl)


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # a product and a sum may be rounded once
def _at_rest(mu: Any, a: Any, m: Any, low: float, high: float, terms: Any) -> float:
    """mu.G(a) - mu.G(m), or -1 where too little is left of it."""
    factor = -(low + high) / 2
    largest = high + factor
    for x in range(mu.size):
        y, z = a[x] + factor * (1.0 + a[x]), m[x] + factor * (1.0 + m[x])
        terms[x] = y * y * (0.5 - y * (1 / 3 - y * (0.25 - y * 0.2)))
        terms[x] -= z * z * (0.5 - z * (1 / 3 - z * (0.25 - z * 0.2)))
    step = mean(mu, terms)
    return step if step >= KEPT * largest * largest else -1.0


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _changes(columns: Any, w: Any, wa: Any, m: Any, change: Any) -> None:
    """change = sum_z P |w a - w m|, four z at a time."""
    n, padded = columns.shape
    for x in range(padded):
        change[x] = 0.0
    for z in range(0, n // 4 * 4, 4):
        a0, a1, a2, a3 = wa[z], wa[z + 1], wa[z + 2], wa[z + 3]
        w0, w1, w2, w3 = w[z], w[z + 1], w[z + 2], w[z + 3]
        c0, c1, c2, c3 = columns[z], columns[z + 1], columns[z + 2], columns[z + 3]
        for x in range(padded):
            here = c0[x] * abs(a0 - w0 * m[x]) + c1[x] * abs(a1 - w1 * m[x])
            change[x] += here + (c2[x] * abs(a2 - w2 * m[x]) + c3[x] * abs(a3 - w3 * m[x]))
    for z in range(n // 4 * 4, n):
        for x in range(padded):
            change[x] += columns[z, x] * abs(wa[z] - w[z] * m[x])


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
        kl[x], change[x] = 0.0, 0.0
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
