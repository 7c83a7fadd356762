"""Rounds of a pool: how the experts' laws, losses and values move on, and their mixture in each round.

**What it is for.** The experts of a pool (learners/pool.py) all read the same P. :func:`play` takes what is known of
all of them at once, and goes through consecutive rounds in one compiled loop: each of its passes over P is for all
experts. With d = v/T from min v = 0 on, u = e^{-d}, s = P u, and laws p, a round takes

    the mixture       R(x,y) = sum_i w_i p_i(x)/s_i(x) u_i(y), completed in mixtures.py;
    the laws          p_i <- u_i P'(p_i / s_i), each divided by its sum;
    the losses        l_i = p_i.c - T (after_i.d_i + p_i.log s_i), and from them the weights w of the next round;
    the trackers      v <- (B v + B B v)/2, B v = c_i - T log s_i, for the mean c_i that each of them tracks;
    the next sums     s = P u for the new values.

**What goes in and comes out.** An :class:`ExpertArrays` before the first round becomes the one after the last, in
place. What comes out is the mixture that was played in each round, and that of the round after. Experts that are no
trackers come with their values. It ends early where the values of an expert span too much for one scale (sparse.py);
that round is then for others, and the loop can go on.

**Fours.** A processor takes four numbers at a time. What is known of an expert lies in a row of its own, so that a loop
over states takes four of them. A pass over the entries of P jumps from state to state, and takes four experts instead:
their rows are first *woven*, the four numbers of a state next to each other. Where the experts are no multiple of four,
the last of them stands in for those that are missing, with a weight of 0. That the compiler takes the four at once in
a product with P has to be asked for (``abreast`` in compile.py), and makes a round a sixth shorter; the mixture, which
adds up over experts, gains nothing by it. Where P is written out, products are those of BLAS, which are as quick as any
for so few states.

Only loops that write nothing while they add up may round a product and a sum as one, or add up in another order:
elsewhere it would depend on where the arrays are, and so the bits would.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials, extremes, logarithms
from lsmdp._core.mixtures import complete, hedge
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE
from lsmdp.arrays import Floats, Ints


class ExpertArrays(NamedTuple):
    """What is known of the experts before a round, each experts x states.

    Values from 0 on, the sums or means of costs that trackers keep, laws p, u, p/s, and log s.
    """

    values: Floats
    stores: Floats
    laws: Floats
    u: Floats
    share: Floats
    logs: Floats

    @classmethod
    def blank(cls, experts: int, n: int) -> ExpertArrays:
        """Room for so many experts and states."""
        return cls(*(np.empty((experts, n)) for _ in cls._fields))


class Means(NamedTuple):
    """What each expert makes of a cost: store <- keep store + add c; its mean is that, over t where it ``sums`` up."""

    keep: Floats
    add: Floats
    sums: Floats


class Matrix(NamedTuple):
    """P, the entries of P' row by row, and P' written out, or nothing."""

    rows: Any
    back: Any
    full: Floats


class Others(NamedTuple):
    """Which experts are no trackers, and their values: experts x rows x states."""

    which: Ints
    values: Floats


class Weighing(NamedTuple):
    """The experts' weights and summed losses, (D, r) of mixtures.py, the share, and the number of rounds before."""

    weights: Floats
    losses: Floats
    spread: Floats
    share: float
    t: int


class MixtureRounds(NamedTuple):
    """A row for each round and one for the round after: kernels, their KL(Q || P), and m; w.l of each round."""

    weights: Floats
    kl: Floats
    mass: Floats
    mixed: Floats


class Span(NamedTuple):
    """The rounds to play: their costs, the first row to begin with, whether that row is known already, and T."""

    costs: Floats
    first: int
    known: bool
    temperature: float


class Room(NamedTuple):
    """Where a round is worked out: a row for each expert, in whole fours; four woven rows; a number for each entry.

    Rows beyond the last expert stand for nobody: they are 0 and have the weight 0.
    """

    rows: Floats
    woven: Floats
    entries: Floats

    @classmethod
    def of(cls, experts: int, P: Matrix) -> Room:
        """Enough for so many experts."""
        n, entries = P.rows.indptr.size - 1, P.rows.indices.size
        return cls(np.zeros((-(-experts // 4) * 4, n)), np.empty((n, 4)), np.empty(max(entries, P.full.size)))


@entry(allocates=True)
def play(P: Any, span: Any, means: Any, others: Any, odds: Any, now: Any, room: Any, out: Any) -> tuple[int, bool]:
    """Play on from row ``first``: the row where it ends, and whether that row was played.

    Where all is done, the row is one beyond the last. Else an expert's values span too much: those of the row, or,
    where it was played, those of the update after it; then the values are still those of the row.
    """
    rounds, T, paid = span.costs.shape[0], span.temperature, np.empty(odds.weights.size)
    for k in range(span.first, rounds + 1):
        if k > span.first or not span.known:
            if not _weigh(P, T, now.values, now, room.woven):
                return k, False
            _blend(P, odds.weights, now, room, out.weights[k])
            complete(P.rows, out.weights[k], out.kl[k], out.mass[k], room.entries)
        if k == rounds:
            break
        _move(P, T, span.costs[k], now, room, paid)
        out.mixed[k] = hedge(paid, odds.share, odds.t + k, odds.weights, odds.losses, odds.spread)
        if not _learn(P, T, span.costs[k], odds.t + k + 1, means, now, room):
            return k, True
        for i in range(others.which.size):
            v, given = now.values[others.which[i]], others.values[i, k + 1]
            for x in range(v.size):
                v[x] = given[x]
    return rounds + 1, True


@inner()
def _weave(f: Any, first: int, woven: Any) -> None:
    """Four rows of f, the numbers of a state next to each other; the last row in place of those that are missing."""
    last = f.shape[0] - 1
    a, b, c, d = f[first], f[min(first + 1, last)], f[min(first + 2, last)], f[min(first + 3, last)]
    for x in range(a.size):
        woven[x, 0], woven[x, 1], woven[x, 2], woven[x, 3] = a[x], b[x], c[x], d[x]


@inner(abreast=True, fastmath={"contract"})
def _multiply(P: Any, f: Any, woven: Any, out: Any) -> None:
    """out = P f, for each expert; P is its entries, row by row."""
    last = f.shape[0] - 1
    for first in range(0, f.shape[0], 4):
        _weave(f, first, woven)
        one, two, three, four = (
            out[first],
            out[min(first + 1, last)],
            out[min(first + 2, last)],
            out[min(first + 3, last)],
        )
        for x in range(one.size):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for p in range(P.indptr[x], P.indptr[x + 1]):
                chance, there = P.data[p], woven[P.indices[p]]
                a += chance * there[0]
                b += chance * there[1]
                c += chance * there[2]
                d += chance * there[3]
            four[x], three[x], two[x], one[x] = d, c, b, a


@inner(allocates=True)
def _blend(P: Any, weights: Any, now: Any, room: Any, out: Any) -> None:
    """s becomes p/s, and R(x,y) = sum_i w_i p_i(x)/s_i(x) u_i(y) at the entries of P."""
    (E, n), indptr, indices = now.u.shape, P.rows.indptr, P.rows.indices
    for i in range(E):
        share, law, part, weight = now.share[i], now.laws[i], room.rows[i], weights[i]
        for x in range(n):
            share[x] = law[x] / share[x]
        for x in range(n):
            part[x] = weight * share[x]
    if P.full.size > 0:
        R = (out if out.size == n * n else room.entries[: n * n]).reshape(n, n)
        np.dot(room.rows[:E].T, now.u, R)
        if out.size == n * n:
            return
        for x in range(n):
            for p in range(indptr[x], indptr[x + 1]):
                out[p] = R[x, indices[p]]
        return
    for first in range(0, E, 4):
        _weave(now.u, first, room.woven)
        one, two, three, four = room.rows[first], room.rows[first + 1], room.rows[first + 2], room.rows[first + 3]
        for x in range(n):
            a, b, c, d = one[x], two[x], three[x], four[x]
            for p in range(indptr[x], indptr[x + 1]):
                there, before = room.woven[indices[p]], out[p] if first > 0 else 0.0
                out[p] = before + ((a * there[0] + b * there[1]) + (c * there[2] + d * there[3]))


@inner(allocates=True)
def _weigh(P: Any, T: float, values: Any, now: Any, woven: Any) -> bool:
    """u = e^{(low - v)/T}, s = P u (in the place of p/s) and log s; False where one scale does not serve some v."""
    (E, n), rate = now.u.shape, 1.0 / T
    for i in range(E):
        v, d = values[i], now.logs[i]
        low, high = extremes(v)
        if not (high - low) * rate <= SPAN_OF_ONE_SCALE:
            return False
        for x in range(n):
            d[x] = (v[x] - low) * rate
    exponentials(now.logs.reshape(-1), now.u.reshape(-1))
    if P.full.size > 0:
        np.dot(now.u, P.full, now.share)
    else:
        _multiply(P.rows, now.u, woven, now.share)
    logarithms(now.share.reshape(-1), now.logs.reshape(-1))
    return True


@inner(allocates=True, fastmath={"contract", "reassoc"})
def _move(P: Any, T: float, c: Any, now: Any, room: Any, paid: Any) -> None:
    """The laws after a round with the cost c, and what each expert pays in it."""
    if P.full.size > 0:
        np.dot(now.share, P.full.T, room.rows[: paid.size])
    else:
        _multiply(P.back, now.share, room.woven, room.rows)
    for i in range(paid.size):
        law, u, pushed, logs, values = now.laws[i], now.u[i], room.rows[i], now.logs[i], now.values[i]
        cost, kept, total, ahead = 0.0, 0.0, 0.0, 0.0
        for x in range(law.size):
            cost += law[x] * c[x]
            kept += law[x] * logs[x]
            total += pushed[x] * u[x]
            ahead += pushed[x] * u[x] * values[x]
        scale = 1.0 / total
        for x in range(law.size):
            law[x] = pushed[x] * u[x] * scale
        paid[i] = cost + max(-ahead * scale - T * kept, 0.0)


@inner()
def _learn(P: Any, T: float, c: Any, t: int, means: Any, now: Any, room: Any) -> bool:
    """Take a cost, the t-th, into the means, and two updates of each tracker; False where one scale does not serve."""
    for i in range(means.keep.size):
        store, once, logs, keep, add = now.stores[i], room.rows[i], now.logs[i], means.keep[i], means.add[i]
        part = 1.0 / t if means.sums[i] > 0.0 else 1.0
        for x in range(c.size):
            store[x] = keep * store[x] + add * c[x]
        for x in range(c.size):
            once[x] = part * store[x] - T * logs[x]
    if not _weigh(P, T, room.rows, now, room.woven):
        return False
    for i in range(means.keep.size):
        store, once, logs, v = now.stores[i], room.rows[i], now.logs[i], now.values[i]
        part = 1.0 / t if means.sums[i] > 0.0 else 1.0
        for x in range(c.size):
            once[x] = (once[x] + (part * store[x] - T * logs[x])) / 2
        low, _ = extremes(once)
        for x in range(c.size):
            v[x] = once[x] - low
    return True
