"""The books of small games: what consecutive rounds cost, in one compiled loop over them.

For each round, with Q = Q_v the policy played and Q' that of the next round (game.py says what a round is):

    p Q                             one product with P; then p.KL(Q || P) = -(p Q).d - p.log s, d = (v - min v)/T;
    mu = mu Q                       the stationary law (equilibrium.py);
    mu.KL(Q || Q'), |Q - Q'|_1      one pass over P for the second, see below.

**The divergence.** Q'/Q = e^{delta(z) - eta(x)}, where delta = d - d' = log(w'/w) and eta = log(s'/s), that is
e^eta = sum_z Q(x, z) e^{delta(z)}. With a = e^delta - 1 and m = e^eta - 1, |Q - Q'|_1 = sum_z P(x, z) |w(z) a(z) -
w(z) m(x)| / s'(x); and with G(y) = e^y - 1 - y the first-order parts of KL(Q || Q')(x) = sum_z Q(x, z) G(delta(z)) -
G(eta(x)) are gone. Its mean at mu = mu Q takes no pass at all, fast or slow as the chain may be:

    mu.KL(Q || Q') = mu.G(delta) - mu.G(eta).

A constant in delta and eta changes nothing: it is chosen so that |delta| <= A with the least A; then |eta| <= A too.
Where |delta| <= SERIES, G is its series. A mu that is LAW_GOAL off leaves at most |mu Q - mu|_1 = 2 LAW_GOAL and an
error of LAW_GOAL A^2; delta and eta are known to some eps, hence their G to some eps A. So the difference is taken
where at least KEPT A^2 is left of it: its relative errors are LAW_GOAL / KEPT and some eps / (KEPT A). Where less is
left, as on chains that hardly mix and whose v moves as a whole in each part, and where policies differ more, KL is
sum_z q G(y) with y = delta(z) - eta(x), by its series where all |y| are small: one pass over P for it and the change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp.arrays import Floats
from lsmdp.elementary import SERIES, excess, extremes, logarithms, near_excess
from lsmdp.equilibrium import INVERSION, Equilibrium, approach, balance, mean, push, reduce, remember, renew
from lsmdp.small import Square, given, look, pad, times

CHUNK = 16  # rounds whose policies are looked at together
KEPT = 1 / 64  # of A^2, to be left of mu.G(delta) - mu.G(eta)


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
    v, d, w, s, logs, per, delta, eta = [np.zeros((size + 1) * padded) for _ in range(8)]
    at, old, spare = np.zeros(size + 1, np.int64), np.zeros((5, padded)), np.empty((2, (size + 1) * padded))
    low = np.zeros(size + 1)
    for x in range(n):
        p[x], pi[x] = law[x], mu[x]
    if anchor.size > 0:
        pad(anchor, v[:padded])
        look(columns, temperature, v[:padded], low, d, w, s, logs, spare)
        remember(w[:padded], s[:padded], old)
        for x in range(n):
            old[3, x] = anchored[x]
    for start in range(0, rounds, size):
        here = min(size, rounds - start)
        count = _unlike(values[start : start + here + 1], padded, v, at)
        flat = look(columns, temperature, v[: count * padded], low, d, w, s, logs, spare)
        _differences(padded, flat, d, s, logs, per, delta, eta)
        for k in range(here):
            done, i = start + k, at[k] * padded
            if at[k + 1] >= flat:
                return _left(p, pi, law, mu, done, K, debt)
            one_d, one_w, one_s = d[i : i + padded], w[i : i + padded], s[i : i + padded]
            one_logs, one_per = logs[i : i + padded], per[i : i + padded]
            found = False
            if anchor.size > 0:
                if debt >= INVERSION * n:
                    K, debt = renew(rows, one_w, one_s, old, inverse), 0
                    for x in range(n):
                        anchor[x], anchored[x] = values[done, x], old[3, x]
                found, taken = approach(rows, least, one_w, one_s, one_per, old, inverse, K, pi, first, share, after)
                debt += max(taken - 2, 0)
            elif balanced.size > 0:
                found = balance(balanced, one_w, one_s, pi)
            if not found and not reduce(rows, one_w, one_s, pi):
                return _left(p, pi, law, mu, done, K, debt)
            largest, step = 0.0, 0.0
            if at[k + 1] > at[k]:
                largest, step = _divergence(
                    columns, i, d, w, s, per, delta, eta, pi, first, second, share, after, spare
                )
            push(rows, one_w, one_per, p, share, after)
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
def _differences(padded: int, count: int, d: Any, s: Any, logs: Any, per: Any, delta: Any, eta: Any) -> None:
    """per = 1/s; for each policy and the next one, delta = log(w'/w) and eta = log(s'/s)."""
    for i in range(count * padded):
        per[i] = 1.0 / s[i]
    for i in range((count - 1) * padded):
        delta[i] = d[i] - d[i + padded]
        eta[i] = logs[i + padded] - logs[i]


@njit(cache=True, error_model="numpy")
def _divergence(
    columns: Any,
    i: int,
    d: Any,
    w: Any,
    s: Any,
    per: Any,
    delta: Any,
    eta: Any,
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
    w, delta, eta = w[i:j], delta[i:j], eta[i:j]
    low, high = extremes(delta)
    if max(-low, high) <= SERIES:
        step = _at_rest(mu, delta, eta, low, high, kl)
        if step >= 0.0:
            for x in range(padded):
                first[x] = (delta[x] + near_excess(delta[x])) * w[x]
                second[x] = (s[j + x] - s[i + x]) * per[i + x]
            _changes(columns, w, first, second, change)
            for x in range(padded):
                change[x] *= per[j + x]
            return extremes(change)[1], step
    _far(columns, d[i:j], w, s[i:j], d[j : j + padded], s[j : j + padded], first, second, kl, change, spare)
    for x in range(padded):
        kl[x] *= per[i + x]
        change[x] *= per[i + x]
    return extremes(change)[1], mean(mu, kl)


@njit(cache=True, error_model="numpy")
def _at_rest(mu: Any, delta: Any, eta: Any, low: float, high: float, terms: Any) -> float:
    """mu.G(delta) - mu.G(eta), or -1 where too little is left of it."""
    middle, A = (low + high) / 2, (high - low) / 2
    for x in range(mu.size):
        terms[x] = near_excess(delta[x] - middle) - near_excess(eta[x] - middle)
    step = mean(mu, terms)
    return step if step >= KEPT * A * A else -1.0


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
