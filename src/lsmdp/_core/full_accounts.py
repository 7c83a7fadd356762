"""What consecutive rounds of a game cost, on a model whose P is written out.

**What it is for.** :func:`account` takes the values that are played in some rounds and the costs of these rounds, and
gives the five figures of each round: the expected state cost, the control cost, the ideal loss, the change of the
policy and the ideal step (game/records.py says what they mean). The bits do not depend on how the rounds are cut into
calls. Rounds are taken in blocks: their laws first, then all figures of the block by one compiled loop.

**The mathematics.** With Q = Q_v the policy played, Q' that of the next round, p the law of the state and mu = mu Q the
stationary law (full_laws.py), and with d = (v - min v)/T, w = e^{-d}, s = P w (``Weights`` in full.py),

    p.KL(Q || P) = -(p Q).d - p.log s,        mu.KL(Q || P) = -mu.(d + log s).

**The change and the step.** Q'/Q = e^{delta(z) - eta(x)}, where delta = d - d' = log(w'/w) and eta = log(s'/s), that is
e^eta = sum_z Q(x, z) e^{delta(z)}. With a = e^delta - 1 and m = e^eta - 1 the change of the policy at x is

    |Q - Q'|_1 = sum_z P(x, z) w(z) |a(z) - m(x)| / s'(x),

one pass over P. With G(y) = e^y - 1 - y the first-order parts of KL(Q || Q')(x) = sum_z Q(x, z) G(delta(z)) - G(eta(x))
are gone. Its mean at mu = mu Q takes no pass at all, fast or slow as the chain may be:

    mu.KL(Q || Q') = mu.G(delta) - mu.G(eta).

A constant in delta and eta changes nothing: it is chosen so that |delta| <= A with the least A; then |eta| <= A too.
Where |delta| <= 0.01, G is its series. A mu that is LAW_GOAL off leaves at most |mu Q - mu|_1 = 2 LAW_GOAL and an
error of LAW_GOAL A^2; delta and eta are known to some eps, hence their G to some eps A. So the difference is taken
where at least SHARE_LEFT A^2 is left: its relative errors are LAW_GOAL / SHARE_LEFT and some eps / (SHARE_LEFT A).
Where less is left, as on chains that hardly mix and whose v moves as a whole in each part, and where policies differ
more, the step is the mean of sum_z q G(y) with y = delta(z) - eta(x), and the change that of q |e^y - 1|: one pass over
P for both, by the series of G where all |y| are small.

**Tried and left.** The m(x) are means of a, and close to each other on chains that mix, so that nearly all z are on the
same side of all of them. A pass that sorts the z into such and others reads half of P. It took 40 lines and a second to
compile; without it, and all else as it is now, the accounts of 50 states take about a tenth longer, those of 200 less.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core.compile import entry
from lsmdp._core.explog import (
    REACH_OF_THE_SERIES,
    excess,
    extremes,
    near_excess,
)
from lsmdp._core.full import (
    UNKNOWN,
    Square,
    Weights,
    given,
    weigh_block,
)
from lsmdp._core.full_laws import Equilibrium, push_block, stationary
from lsmdp.arrays import Floats

# At least this share of A^2 must be left of mu.G(delta) - mu.G(eta), so that no more than six bits of the law are lost.
SHARE_LEFT = 1 / 64
# A block has so many rounds that an array of it holds this many numbers, 256 kB, which stay near the processor.
_NUMBERS_OF_A_BLOCK = 2**15


class BlockFigures(NamedTuple):
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
) -> BlockFigures:
    """What the rounds t, t + 1, ... with these costs come to.

    Row k of ``values`` is what is played in round t + k; the last row is for the round after. ``law`` is that of the
    state before round t and ``rest`` belongs to an earlier policy; ``sums`` are the s of the values, where they are
    known (full.py). Ends early, with ``done`` < the number of rounds, before a round whose values span too much for
    one scale, or whose stationary law floats lose.
    """
    (rounds, n), padded = costs.shape, square.columns.shape[1]
    values, costs, sums = given(values), given(costs), given(sums)
    columns, law, kl, done = np.empty((5, rounds)), law.copy(), np.empty(n), 0
    size = min(rounds, _NUMBERS_OF_A_BLOCK // padded)
    seen, work = Weights.blank(size + 1, padded), np.empty((4, padded))
    while done < rounds:
        last = min(done + size, rounds)
        flat = weigh_block(square, temperature, values[done : last + 1], sums[done : last + 1], seen)
        here = values[done : done + max(flat - 1, 0)]
        found, ideal, rest = stationary(square, temperature, here, seen, rest)
        if found > 0:
            laws, page, end = push_block(square, seen, law, found), np.empty((5, found)), done + found
            _figures(square.columns, temperature, costs[done:end], seen, laws, ideal, work, page)
            page[4] *= temperature * np.arange(t + done, t + end)
            columns[:, done:end], law, done = page, laws[found, :n].copy(), end
            kl = _control(square, seen, found - 1)
        if done < last:
            break
    return BlockFigures(done, columns, law, rest, kl)


def _control(square: Square, seen: Weights, k: int) -> Floats:
    """KL(Q || P) of each state, for the policy of row k."""
    n = len(square.rows)
    w, d, s, logs = (array[k, :n] for array in (seen.w, seen.d, seen.s, seen.logs))
    return np.asarray(np.maximum(-(square.rows[:, :n] * (w * d)).sum(axis=1) / s - logs, 0.0))


@entry(fastmath={"reassoc", "contract"})
def _figures(
    columns: Any, temperature: float, costs: Any, seen: Any, laws: Any, ideal: Any, work: Any, out: Any
) -> None:
    """The figures of round k, in column k; p and p Q are in rows k and k + 1 of the laws, mu in row k + 1 of the ideal.

    They are state cost, control cost, ideal loss, the largest change from policy k to k + 1, and mu.KL(Q || Q').
    """
    d, w, s, logs = seen
    delta, eta, kl, change, padded = work[0], work[1], work[2], work[3], columns.shape[1]
    for k in range(costs.shape[0]):
        p, after, mu, c = laws[k], laws[k + 1], ideal[k + 1], costs[k]
        state, control, ideal_state, ideal_control = 0.0, 0.0, 0.0, 0.0
        for x in range(c.size):
            state += p[x] * c[x]
            control -= after[x] * d[k, x] + p[x] * logs[k, x]
            ideal_state += mu[x] * c[x]
            ideal_control -= mu[x] * (d[k, x] + logs[k, x])
        out[0, k], out[1, k] = state, temperature * control if control > 0.0 else 0.0
        out[2, k] = ideal_state + temperature * ideal_control if ideal_control > 0.0 else ideal_state
        for x in range(padded):
            delta[x], eta[x] = d[k, x] - d[k + 1, x], logs[k + 1, x] - logs[k, x]
        low, high = extremes(delta)
        if low == high:
            out[3, k], out[4, k] = 0.0, 0.0
            continue
        step, middle, A = -1.0, (low + high) / 2, (high - low) / 2
        if -low <= REACH_OF_THE_SERIES and high <= REACH_OF_THE_SERIES:
            step = 0.0
            for x in range(padded):
                step += mu[x] * (near_excess(delta[x] - middle) - near_excess(eta[x] - middle))
        if step >= SHARE_LEFT * A * A:
            for x in range(padded):
                delta[x] += near_excess(delta[x])
                eta[x] = (s[k + 1, x] - s[k, x]) / s[k, x]
            _change(columns, w[k], delta, eta, change)
            for x in range(padded):
                change[x] /= s[k + 1, x]
        else:
            _differ(columns, w[k], delta, eta, kl, change)
            step = 0.0
            for x in range(padded):
                step += mu[x] * kl[x] / s[k, x]
                change[x] /= s[k, x]
        out[3, k], out[4, k] = extremes(change)[1], step


@njit(inline="always")  # one caller: compiled once, not twice
def _change(columns: Any, w: Any, a: Any, m: Any, change: Any) -> None:
    """change = sum_z P w |a - m|."""
    n, padded = columns.shape
    for x in range(padded):
        change[x] = 0.0
    for z in range(n // 4 * 4, n):
        for x in range(padded):
            change[x] += columns[z, x] * abs(w[z] * a[z] - w[z] * m[x])
    for z in range(0, n // 4 * 4, 4):
        w0, w1, w2, w3 = w[z], w[z + 1], w[z + 2], w[z + 3]
        a0, a1, a2, a3 = w0 * a[z], w1 * a[z + 1], w2 * a[z + 2], w3 * a[z + 3]
        for x in range(padded):
            total = change[x] + columns[z, x] * abs(a0 - w0 * m[x])
            total = total + columns[z + 1, x] * abs(a1 - w1 * m[x])
            total = total + columns[z + 2, x] * abs(a2 - w2 * m[x])
            change[x] = total + columns[z + 3, x] * abs(a3 - w3 * m[x])


@njit(inline="always")  # one caller: compiled once, not twice
def _differ(columns: Any, w: Any, delta: Any, eta: Any, kl: Any, change: Any) -> None:
    """kl = sum_z P w G(delta - eta) and change = sum_z P w |e^{delta - eta} - 1|."""
    n, padded = columns.shape
    low, high = extremes(delta)
    least, most = extremes(eta)
    near = most - low <= REACH_OF_THE_SERIES and high - least <= REACH_OF_THE_SERIES
    for x in range(padded):
        kl[x], change[x] = 0.0, 0.0
    for z in range(n):
        if near:
            for x in range(padded):
                y = delta[z] - eta[x]
                rest = near_excess(y)
                kl[x] += columns[z, x] * w[z] * rest
                change[x] += columns[z, x] * w[z] * abs(y + rest)
        else:
            for x in range(n):
                if columns[z, x] > 0.0:
                    y = delta[z] - eta[x]
                    rest = excess(y)
                    kl[x] += columns[z, x] * w[z] * rest
                    change[x] += columns[z, x] * w[z] * abs(y + rest)
