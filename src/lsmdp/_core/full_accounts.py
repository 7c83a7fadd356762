"""The books of small games: what consecutive rounds cost, in one compiled loop over them.

For each round, with Q = Q_v the policy played and Q' that of the next round (game/table.py says what a round is):

    p Q                             one product with P; then p.KL(Q || P) = -(p Q).d - p.log s, d = (v - min v)/T;
    mu = mu Q                       the stationary law (full_laws.py);
    mu.KL(Q || Q'), |Q - Q'|_1      one pass over P for the second, see below.

**The divergence.** Q'/Q = e^{delta(z) - eta(x)}, where delta = d - d' = log(w'/w) and eta = log(s'/s), that is
e^eta = sum_z Q(x, z) e^{delta(z)}. With a = e^delta - 1 and m = e^eta - 1, |Q - Q'|_1 = sum_z P(x, z) w(z)
|a(z) - m(x)| / s'(x), of which one half is where a > m and the other where a < m. The m(x) are means of a, and close to
each other on chains that mix: all z with a(z) >= h = max m are on the upper side whatever x is, and they give
sum_z P w (a - h) + (h - m) sum_z P w, without a subtraction in a sum; those with a(z) <= min m give nothing there. So
the pass reads half of P, on the side with fewer of them, and compares a with m in between only.

With G(y) = e^y - 1 - y the first-order parts of KL(Q || Q')(x) = sum_z Q(x, z) G(delta(z)) - G(eta(x)) are gone. Its
mean at mu = mu Q takes no pass at all, fast or slow as the chain may be:

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

from lsmdp._core.explog import (
    SERIES,
    excess,
    extremes,
    logarithms,
    near_excess,
)
from lsmdp._core.full import (
    UNKNOWN,
    Square,
    given,
    look,
    pad,
    shorten,
    times,
)
from lsmdp._core.full_laws import (
    INVERSION,
    Equilibrium,
    approach,
    balance,
    mean,
    push,
    reduce,
    remember,
    renew,
)
from lsmdp.arrays import Floats

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
    square: Square,
    temperature: float,
    t: int,
    values: Floats,
    costs: Floats,
    law: Floats,
    rest: Equilibrium,
    sums: Floats = UNKNOWN,
) -> Books:
    """The books of the rounds t, t + 1, ... with these costs.

    Row k of ``values`` is what is played in round t + k; the last row is for the round after. ``law`` is that of the
    state before round t and ``rest`` belongs to an earlier policy; ``sums`` are the s of the values, where they are
    known (full.py). Ends early, with ``done`` < the number of rounds, before a round whose values span too much for
    one scale.
    """
    rounds, n = costs.shape
    values, costs, sums = given(values), given(costs), given(sums)
    columns = np.empty((5, rounds))
    law, kl = law.copy(), np.empty(n)
    mu, anchor, anchored, inverse = (array.copy() for array in rest[:4])
    P = square.rows, square.columns, square.least, square.balanced
    kept = mu, anchor, anchored, inverse
    done, K, debt = _account(*P, temperature, t, values, costs, sums, law, *kept, rest.K, rest.debt, kl, columns)
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
    sums: Any,
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
    padded = columns.shape[1]
    d, w, s, logs, per = [np.zeros(padded) for _ in range(5)]
    next_d, next_w, next_s, next_logs, next_per = [np.zeros(padded) for _ in range(5)]
    v, after, share, first, second, p, pi = [np.zeros(padded) for _ in range(7)]
    old, short, brief, brief_too = (
        np.zeros((5, padded)),
        np.zeros(inverse.shape, np.float32),
        np.zeros(padded, np.float32),
        np.zeros(padded, np.float32),
    )
    far, near = np.zeros(padded + 3, np.int64), np.zeros(padded + 3, np.int64)
    shorten(inverse, short)
    for x in range(n):
        p[x], pi[x] = law[x], mu[x]
    if anchor.size > 0:
        pad(anchor, v)
        look(columns, temperature, v, d, w, s, logs)
        remember(w, s, old)
        for x in range(n):
            old[3, x] = anchored[x]
    for k in range(-1, rounds):  # what is compiled into the loop, it calls in one place: -1 is before the first round
        moves = k < 0 or _differ(values, k)
        if moves and not _see(
            columns, temperature, values, sums, k + 1, v, next_d, next_w, next_s, next_logs, next_per
        ):
            return _left(p, pi, law, mu, max(k, 0), K, debt)
        if k < 0:
            _go_on(next_d, next_w, next_s, next_logs, next_per, d, w, s, logs, per)
            continue
        found = False
        if anchor.size > 0:
            if debt >= INVERSION * n:
                K, debt = renew(rows, w, s, old, inverse), 0
                shorten(inverse, short)
                for x in range(n):
                    anchor[x], anchored[x] = values[k, x], old[3, x]
            found, taken = approach(
                rows, least, w, s, per, old, inverse, short, K, pi, first, share, after, brief, brief_too
            )
            debt += max(taken - 2, 0)
        elif balanced.size > 0:
            found = balance(balanced, w, s, pi)
        if not found and not reduce(rows, w, s, pi):
            return _left(p, pi, law, mu, k, K, debt)
        largest, step = 0.0, 0.0
        if moves:
            for x in range(padded):
                first[x], second[x] = d[x] - next_d[x], next_logs[x] - logs[x]
            low, high = extremes(first)
            step = _at_rest(pi, first, second, low, high) if max(-low, high) <= SERIES else -1.0
            if step >= 0.0:
                for x in range(padded):
                    first[x] += near_excess(first[x])
                    second[x] = (next_s[x] - s[x]) * per[x]
                _changes(columns, w, first, second, far, near, share, after)
                for x in range(padded):
                    after[x] *= next_per[x]
            else:
                _far(columns, d, w, s, next_d, next_s, first, second, share, after)
                for x in range(padded):
                    share[x] *= per[x]
                    after[x] *= per[x]
                step = mean(pi, share)
            largest = extremes(after)[1]
        push(rows, w, per, p, share, after)
        state, control, ideal_state, ideal_control = _costs(costs, k, d, logs, p, after, pi)
        out[0, k] = state
        out[1, k] = temperature * max(control, 0.0)
        out[2, k] = ideal_state + temperature * max(ideal_control, 0.0)
        out[3, k] = largest
        out[4, k] = (t + k) * temperature * step
        for x in range(padded):
            p[x] = after[x]
        if k + 1 == rounds:
            _surprises(columns, d, w, s, logs, first, share, kl)
        if moves:
            _go_on(next_d, next_w, next_s, next_logs, next_per, d, w, s, logs, per)
    return _left(p, pi, law, mu, rounds, K, debt)


@njit(cache=True, error_model="numpy", forceinline=True)
def _see(
    columns: Any,
    temperature: float,
    values: Any,
    sums: Any,
    k: int,
    v: Any,
    d: Any,
    w: Any,
    s: Any,
    logs: Any,
    per: Any,
) -> bool:
    """d, w, s, log s and 1/s of row k of the values; False where it is not flat."""
    for x in range(values.shape[1]):
        v[x] = values[k, x]
    for x in range(values.shape[1], v.size):
        v[x] = values[k, 0]
    if sums.size > 0:
        for x in range(v.size):
            s[x] = sums[k, x]
    if look(columns, temperature, v, d, w, s, logs, sums.size > 0)[1] == np.inf:
        return False
    for x in range(v.size):
        per[x] = 1.0 / s[x]
    return True


@njit(cache=True, error_model="numpy")
def _go_on(
    next_d: Any, next_w: Any, next_s: Any, next_logs: Any, next_per: Any, d: Any, w: Any, s: Any, logs: Any, per: Any
) -> None:
    """The next policy becomes the one that is played."""
    for x in range(d.size):
        d[x], w[x], s[x], logs[x], per[x] = next_d[x], next_w[x], next_s[x], next_logs[x], next_per[x]


@njit(cache=True, error_model="numpy")
def _differ(values: Any, k: int) -> bool:
    """Whether row k + 1 is another one than row k."""
    count = 0
    for x in range(values.shape[1]):
        count += values[k, x] != values[k + 1, x]
    return count > 0


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _costs(costs: Any, k: int, d: Any, logs: Any, p: Any, after: Any, mu: Any) -> tuple[float, float, float, float]:
    """p.c and p.KL(Q || P), and the same for mu = mu Q."""
    state, control, ideal_state, ideal_control = 0.0, 0.0, 0.0, 0.0
    for x in range(costs.shape[1]):
        state += p[x] * costs[k, x]
        control -= after[x] * d[x] + p[x] * logs[x]
        ideal_state += mu[x] * costs[k, x]
        ideal_control -= mu[x] * (d[x] + logs[x])
    return state, control, ideal_state, ideal_control


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


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, forceinline=True)
def _at_rest(mu: Any, delta: Any, eta: Any, low: float, high: float) -> float:
    """mu.G(delta) - mu.G(eta), or -1 where too little is left of it."""
    middle, A, step = (low + high) / 2, (high - low) / 2, 0.0
    for x in range(mu.size):
        step += mu[x] * (near_excess(delta[x] - middle) - near_excess(eta[x] - middle))
    return step if step >= KEPT * A * A else -1.0


@njit(cache=True, error_model="numpy", fastmath={"contract"}, forceinline=True)
def _changes(columns: Any, w: Any, a: Any, m: Any, far: Any, near: Any, weight: Any, change: Any) -> None:
    """change = sum_z P w |a - m|, on the side of m with fewer states, four of them at a time."""
    n, padded = columns.shape
    low, high = extremes(m)
    above, below = 0, 0
    for z in range(n):
        above += a[z] > high
        below += a[z] < low
    side, edge, other = (1.0, high, low) if above <= below else (-1.0, -low, -high)
    fars, nears = 0, 0
    for z in range(n):
        far[fars], near[nears] = z, z
        fars += side * a[z] >= edge
        nears += (side * a[z] < edge) & (side * a[z] > other)
    for x in range(padded):
        m[x] *= side
        weight[x], change[x] = 0.0, 0.0
    for k in range(0, fars, 4):
        z0, z1, z2, z3 = far[k], far[k + 1], far[k + 2], far[k + 3]
        w0, w1, w2, w3 = w[z0], w[z1] * (k + 1 < fars), w[z2] * (k + 2 < fars), w[z3] * (k + 3 < fars)
        a0, a1, a2, a3 = side * a[z0] - edge, side * a[z1] - edge, side * a[z2] - edge, side * a[z3] - edge
        a0, a1, a2, a3 = w0 * a0, w1 * a1, w2 * a2, w3 * a3
        for x in range(padded):
            c0, c1, c2, c3 = columns[z0, x], columns[z1, x], columns[z2, x], columns[z3, x]
            weight[x] += (c0 * w0 + c1 * w1) + (c2 * w2 + c3 * w3)
            change[x] += (c0 * a0 + c1 * a1) + (c2 * a2 + c3 * a3)
    for x in range(padded):
        change[x] += weight[x] * (edge - m[x])
    for k in range(0, nears, 4):
        z0, z1, z2, z3 = near[k], near[k + 1], near[k + 2], near[k + 3]
        w0, w1, w2, w3 = w[z0], w[z1] * (k + 1 < nears), w[z2] * (k + 2 < nears), w[z3] * (k + 3 < nears)
        a0, a1, a2, a3 = w0 * side * a[z0], w1 * side * a[z1], w2 * side * a[z2], w3 * side * a[z3]
        for x in range(padded):
            c0, c1, c2, c3 = columns[z0, x], columns[z1, x], columns[z2, x], columns[z3, x]
            here = c0 * max(a0 - w0 * m[x], 0.0) + c1 * max(a1 - w1 * m[x], 0.0)
            change[x] += here + (c2 * max(a2 - w2 * m[x], 0.0) + c3 * max(a3 - w3 * m[x], 0.0))
    for x in range(padded):
        change[x] *= 2.0


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
) -> None:
    """The same where policies differ more (see _divergence in sparse.py for why it is done so)."""
    n, padded = columns.shape
    for x in range(padded):
        kl[x], change[x] = 0.0, 0.0
        delta[x] = s[x] / next_s[x]
    logarithms(delta, shift)
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
