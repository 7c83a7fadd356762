"""Costs of moves, absorbed into the passive dynamics.

A controller that pays c(x, y) for moving from x to y, besides T KL(Q||P), faces in each state

    sum_y Q(y) [ c(x, y) + T log(Q(y) / P(y|x)) ]  =  T KL(Q || P'(.|x)) - T log Z(x),

    Z(x) = sum_y P(y|x) e^{-c(x,y)/T},        P'(y|x) = P(y|x) e^{-c(x,y)/T} / Z(x),

for *every* Q with the support of P: write c(x, y) = -T log e^{-c(x,y)/T} and collect the logarithms. So the problem is
the one with passive dynamics P' and -T log Z(x) added to the cost of state x, policy by policy, not only at the
optimum. Since -T log Z(x) is a soft minimum, min_y c(x, y) <= -T log Z(x) <= sum_y P(y|x) c(x, y).

All of it is computed from the costs less m(x) = min_y c(x, y), which is added to the cost of x in the end: what all
moves from x have in common neither overflows nor takes digits from P'. Only a move whose chance under P' is below the
smallest float (about e^-708) is beyond us, and refused.

**Rounding.** What is computed is P'(y|x) = p and -T log Z(x) = f, and for any p > 0 and f, in place of those above,

    sum_y Q(y) [ c(x, y) + T log(Q(y) / P(y|x)) ]  =  T sum_y Q(y) log(Q(y) / p) + f + sum_y Q(y) e(x, y),

    e(x, y) = c(x, y) - T log P(y|x) - (f - T log p).

So every policy pays within max |e| of what it pays in the computed problem, in every state, and so do the best one and
its bounds. That is the ``rounding`` of the model. An error in Z alone does no harm, since p has it as well. With unit
roundoff u, k = (c - m)/T is off by a relative 2u. Where w = P e^-k has full precision for all moves of a row,
Z e^{m/T} = sum w, and p = w / Z e^{m/T} is off by a relative (2k + 4) u: k, an exponential of 1 ulp, a product and a
quotient. Elsewhere w = e^{a - b} with a = log P - k and b = max a, and p is off by a relative
(2 |log P| + 2k + |a| + |a - b| + 3) u. f = m - T (b + log sum w), with b = 0 in the first case, is off by
T (2 |log sum w| + 2 |b + log sum w|) u + |f| u. All but the last term are taken twice, which covers the products of
errors and functions of 2 ulp.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lsmdp._core.sparse import SURELY_NORMAL
from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    like,
)
from lsmdp.errors import CostError
from lsmdp.inputs.labels import name_state

_TINIEST = float(np.finfo(np.float64).tiny)  # Chances below the smallest float of full precision have lost digits.


def tilted(P: CSR, costs: Floats, temperature: float, labels: Sequence[str] | None = None) -> tuple[CSR, Floats, float]:
    """P' and -T log Z for one cost per entry of P, and how far an average cost may be off."""
    rows, entries = P.indptr[:-1], np.diff(P.indptr)
    least = np.minimum.reduceat(costs, rows)
    with np.errstate(over="ignore"):  # a cost that is infinitely dearer than the least has the chance 0: refused below
        dearer = (costs - np.repeat(least, entries)) / temperature
    weights, base, off = _weights(P, dearer)
    total = np.add.reduceat(weights, rows)
    chances = weights / np.repeat(total, entries)
    if (lost := np.flatnonzero(chances < _TINIEST)).size:
        at = int(lost[0])
        x = name_state(int(np.searchsorted(P.indptr, at, side="right")) - 1, labels)
        raise CostError(
            f"the move from {x} to {name_state(int(P.indices[at]), labels)} costs {costs[at]:.6g}, so much more than "
            f"others from there that its chance would be below 1e-308 at temperature {temperature:g} ({lost.size} such "
            "moves). Lower the cost, raise the temperature, or take the move out of P."
        )
    logs = np.log(total)
    extra = least - temperature * (base + logs)
    off = np.maximum.reduceat(off, rows) + 2.0 * np.abs(logs) + 2.0 * np.abs(base + logs)
    return like(P, chances), extra, float((EPS * temperature * off + EPS / 2 * np.abs(extra)).max())


def _weights(P: CSR, dearer: Floats) -> tuple[Floats, Floats, Floats]:
    """w of each move, b of each row, and by how many u the chance of each move is off."""
    rows, entries = P.indptr[:-1], np.diff(P.indptr)
    weights, off = P.data * np.exp(-dearer), 2.0 * dearer + 4.0
    rare = np.minimum.reduceat(weights, rows) < SURELY_NORMAL
    base = np.zeros(rows.size)
    if rare.any():
        logs = np.log(P.data)
        a = logs - dearer
        base = np.where(rare, np.maximum.reduceat(a, rows), 0.0)
        down, there = a - np.repeat(base, entries), np.repeat(rare, entries)
        weights = np.where(there, np.exp(np.minimum(down, 0.0)), weights)
        off = np.where(there, 2.0 * np.abs(logs) + 2.0 * dearer + np.abs(a) + np.abs(down) + 3.0, off)
    return weights, base, off
