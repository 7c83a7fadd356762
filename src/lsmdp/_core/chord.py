"""Compiled rounds of steps with a factor from earlier (solvers/warm/chord.py says why).

With r = c - T log(Pz / z), z = e^{-v/T}, and a factor of I - Q at an earlier v, whose chain has the law mu, a step is

    v <- v + d,    (I - Q) d = r - mu.r,

once r is lowered along the pairs (move, change of r) of the last steps.

A *round* is one cost for which v is to be found; :func:`rounds` goes through several. In a round, :func:`_look` proves
bounds for the present v, and :func:`_step` moves v by a solve with the factor, until the bounds are narrow enough.

What goes in and out travels in named tuples: the anchor (a factor of I - Q at an earlier v), the aims (one cost and one
gap for each round, and the v to begin with), the units of the certificate and how far the factor may go, how it has
aged, what the last certificate has computed, and room. All states are in the order of elimination, except in the aims
and in what is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core import sparse
from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials, extremes
from lsmdp._core.panels import backward, forward
from lsmdp.arrays import EPS

# So many steps are remembered with what they did to the residual: with two, power steps do not do for two clusters that
# are seldom left, and with four, a round on a ring holds more than four times P besides the factor.
PAIRS = 3
_WEIGHT_OF_A_ROUND = 0.5  # The mean of the recent rounds moves halfway to each new one.
_SHARE_IN_DOUBT = 0.1  # This part of the steps beyond the first of a round does not count against a new factor.
_SPAN_OF_SAFE_FLOATS = 500.0  # Up to this span of v / T, the numbers e^{-v/T} are far from the end of floats.
_LONGEST_STEP = 2.0  # Longer steps in v / T are shortened to this: beyond, the residual is not nearly linear.
_GROWTH_WHEN_LOST = 300.0  # A residual this many times the best one will not come back.


class OrderedMoves(NamedTuple):
    """P by rows, which are read in an order of their own: that of the state x is row[x]."""

    indptr: Any
    indices: Any
    data: Any
    row: Any


class AnchorFactor(NamedTuple):
    """A factor, with the law of its chain and what its rows were multiplied by (empty: nothing)."""

    order: Any
    law: Any
    scale: Any
    blocks: Any
    lower: Any
    upper: Any
    pivots: Any


class ChordTargets(NamedTuple):
    """One cost and one gap for each round, and the v to begin with."""

    costs: Any
    gaps: Any
    v: Any


class ChordUnits(NamedTuple):
    """The temperature, what all bounds are wider by, the entries of the longest row of P.

    And the limits: the steps of one round, and the price of a factor in steps.
    """

    temperature: float
    slack: float
    entries: float
    steps: int
    price: float


class Age(NamedTuple):
    """Of a factor's rounds: their number, their steps, and the mean of the recent ones.

    Without a factor: the rounds that have waited for one, and what they would have taken in power steps.
    """

    rounds: int
    spent: float
    recent: float


class ChordRoom(NamedTuple):
    """Room for the cost, the residual r, the step d, the pairs of earlier steps, and the tallest block of the factor.

    A row of ``moves`` and ``changes`` is a pair; ``shares`` is what r has of each.
    """

    cost: Any
    r: Any
    d: Any
    moves: Any
    changes: Any
    shares: Any
    block: Any

    @classmethod
    def of(cls, n: int, tallest: int) -> ChordRoom:
        """Room for n states."""
        cost, r, d = np.empty((3, n))
        moves, changes = np.empty((2, PAIRS, n), np.float32)
        return cls(cost, r, d, moves, changes, np.empty(PAIRS), np.empty(tallest))


class Seen(NamedTuple):
    """What a certificate computes of v alone, log(Pz / z) with z = e^{-v/T}; and whether it has."""

    logs: Any
    known: bool


class ChordRounds(NamedTuple):
    """The v that each round led to, its bounds, proven and infinite if nothing is, and its steps."""

    v: Any
    lo: Any
    hi: Any
    steps: Any


@entry(fastmath={"contract", "reassoc"})
def rounds(
    P: Any, anchor: Any, aims: Any, units: Any, age: Any, seen: Any, room: Any, found: Any
) -> tuple[int, int, float, float]:
    """Round after round until one fails or the factor is worn: how many were done, and the age of the factor then.

    A worn factor has the age of a new one. Of a round that fails, only the v that it led to is found.
    """
    n, number, spent, recent, known = aims.v.size, age.rounds, age.spent, age.recent, seen.known
    order, start, costs, values, cost, d = anchor.order, aims.v, aims.costs, found.v, room.cost, room.d
    for x in range(n):
        d[x] = start[order[x]]
    for k in range(aims.gaps.size):
        v = values[k]  # in the order of elimination, until the round is done
        for x in range(n):
            v[x], cost[x] = d[x], costs[k, order[x]]
        lo, hi, taken = _round(P, anchor, units, room, v, seen.logs, known, aims.gaps[k])
        found.lo[k], found.hi[k], found.steps[k] = lo, hi, taken
        for x in range(n):
            d[x] = v[x]
        for x in range(n):
            v[order[x]] = d[x]
        if not hi - lo <= aims.gaps[k]:
            return k, number, spent, recent
        known = True
        number, spent, recent = aged(number, spent, recent, taken, units.price)
        if number == 0:
            return k + 1, number, spent, recent
    return aims.gaps.size, number, spent, recent


@inner()
def aged(number: int, spent: float, recent: float, taken: int, price: float) -> tuple[int, float, float]:
    """The age of a factor after another round of so many steps; that of a new one where it is worn (plan.py)."""
    recent = recent + _WEIGHT_OF_A_ROUND * (taken - recent) if number > 0 else float(taken)
    number, spent = number + 1, spent + taken - (_SHARE_IN_DOUBT * (taken - 1) if taken > 1 else 0.0)
    return (0, 0.0, 0.0) if number * recent > spent + price else (number, spent, recent)


@njit(inline="always")  # one caller: compiled once, not twice
def _round(
    P: Any, anchor: Any, units: Any, room: Any, v: Any, logs: Any, known: bool, tol: float
) -> tuple[float, float, int]:
    """Bounds for what v becomes, and the steps to it; a tenth of the tolerance is kept for rounding."""
    cost, r, scale, limit = room.cost, room.r, 1.0 / units.temperature, units.steps
    lo, hi, steps, best, look = -np.inf, np.inf, limit - limit, np.inf, not known  # a literal 0 would be compiled apart
    while True:
        if look:
            lo, hi = _look(P, units, room, v, logs)
            if not hi - lo < np.inf:
                return lo, hi, steps
        total = 0.0
        for x in range(r.size):
            r[x] = cost[x] * scale - logs[x]
            total += r[x]
        mean = total / r.size
        for x in range(r.size):
            r[x] -= mean
        low, high = extremes(r)
        near = high - low <= 0.9 * tol * scale
        look = not look and near  # what is known of v was computed for another cost
        if look:
            continue
        if near or hi - lo <= tol or steps == limit or not high - low <= _GROWTH_WHEN_LOST * best:
            return lo, hi, steps
        best = high - low if high - low < best else best
        if not _step(anchor, units, room, v, steps):
            return -np.inf, np.inf, steps
        steps, look = steps + 1, True


@njit(inline="always")  # one caller: compiled once, not twice
def _step(anchor: Any, units: Any, room: Any, v: Any, steps: int) -> bool:
    """v <- v + T d with (I - Q) d = r at the anchor, once r is lowered along the pairs; False if beyond floats.

    The pair of the last step is completed, and half of a new one is left: the move d, and -r before it.
    """
    r, d, moves, changes, shares = room.r, room.d, room.moves, room.changes, room.shares
    law, rows, pivots, blocks = anchor.law, anchor.scale, anchor.pivots, anchor.blocks
    n, mean, pairs = r.size, 0.0, steps if steps < PAIRS else PAIRS
    if steps > 0:
        _remember(r, moves, changes, (steps - 1) % PAIRS, pairs)
    for x in range(n):
        d[x] = r[x]
    for i in range(pairs):
        change, share = changes[i], 0.0
        for x in range(n):
            share += d[x] * change[x]
        for x in range(n):
            d[x] -= share * change[x]
        shares[i] = share
    for x in range(n):
        mean += law[x] * d[x]
    for x in range(n):
        d[x] -= mean
    for x in range(rows.size):
        d[x] *= rows[x]
    forward(blocks, anchor.lower, d, room.block)
    for x in range(n):
        d[x] /= pivots[x]
    backward(blocks, anchor.upper, d, np.inf, room.block)
    for i in range(pairs):
        move, share = moves[i], shares[i]
        for x in range(n):
            d[x] -= share * move[x]
    low, high = extremes(d)
    longest = high if high > -low else -low
    if not high - low < np.inf:
        return False
    scale, T = _LONGEST_STEP / longest if longest > _LONGEST_STEP else 1.0, units.temperature
    move, change = moves[steps % PAIRS], changes[steps % PAIRS]
    for x in range(n):
        d[x] *= scale
        move[x], change[x] = d[x], -r[x]
        v[x] += T * d[x]
    return True


@njit(inline="always")  # one caller: compiled once, not twice
def _remember(r: Any, moves: Any, changes: Any, at: int, pairs: int) -> None:
    """Complete the pair of the last step: the change of r is made orthogonal to the others and of length 1."""
    move, change, size = moves[at], changes[at], 0.0
    for x in range(r.size):
        change[x] += r[x]
    for i in range(pairs):
        if i != at:
            other, share = changes[i], 0.0
            for x in range(r.size):
                share += change[x] * other[x]
            for x in range(r.size):
                change[x] -= share * other[x]
                move[x] -= share * moves[i, x]
    for x in range(r.size):
        size += change[x] * change[x]
    scale = 1.0 / np.sqrt(size) if size > 0.0 else 0.0
    for x in range(r.size):
        change[x] *= scale
        move[x] *= scale


@inner()
def _look(P: Any, units: Any, room: Any, v: Any, logs: Any) -> tuple[float, float]:
    """Bounds on Bv - v, rounding included; v <- v - min v, and log(Pz / z) on the way; r and d are used up.

    Each row is given the error of one that has the largest of everything: entries, |c|, the span of v, 1/s. A v that
    is beyond floats shows in the span of v or in that of r.
    """
    T, cost, r, sums, row, first = units.temperature, room.cost, room.r, room.d, P.row, np.int64(0)
    low, high = extremes(v)
    if not high - low <= _SPAN_OF_SAFE_FLOATS * T:
        return -np.inf, np.inf
    for x in range(v.size):
        v[x] -= low
        logs[x] = v[x] / T
    exponentials(logs, r)
    sparse.flat_sums(P.indptr, P.indices, P.data, r, first, v.size, sums)
    least, _ = extremes(sums)
    for x in range(v.size):
        r[x] = sums[row[x]]
    sparse.logs_of(r, sums)
    for x in range(v.size):
        base = -v[x] - T * sums[x]
        r[x], logs[x] = cost[x] + base, base / -T  # eq:bellman_V
    lower, upper = extremes(r)
    cheapest, dearest = extremes(cost)
    size, surprise = dearest if dearest > -cheapest else -cheapest, -np.log(least)
    _, error = sparse.enclose(size, high - low, least, surprise, T, units.entries, EPS, units.slack)
    return (lower - error, upper + error) if upper - lower + error < np.inf else (-np.inf, np.inf)
