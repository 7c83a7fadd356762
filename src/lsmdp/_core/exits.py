"""Compiled loops for problems that end: soft minima with the error of each row, and Gauss-Seidel sweeps.

``soft_minima`` is the one step that all ends share,

    b(x) = -T log sum_y P(x,y) e^{-v(y)/T},

with a bound e(x) on the rounding of each b(x). It is the pass of sparse.py, row by row: there the certificate needs the
extremes of the residual only, and here each row is judged by itself. An infinite v(y) is a state that must not be
reached. It has the weight 0, so that the rows need not sum to 1.

**Rounding.** With k entries in the row, m the least v(y) among them and s = sum_y P(x,y) e^{-(v(y) - m)/T}, sparse.py
derives that s is off by the factor 1 + (k + 2)u + 2u E[d] with E[d] <= -log s. That last inequality says that the
relative entropy of the weights to P is not negative, which holds too where the row sums to less than 1. P itself is
known within 2ku, since its rows sum to 1 only up to rounding. With the logarithm, the product by T and the sum
b = m - T log s,

    |error of b(x)| <= eps [ T (3k + 2 + 5 |log s|) + |b(x)| ] + T k 1e-323 / s,        eps = 2u = 2^-52,

where the last term stands for weights below the smallest float. What is added to b afterwards (c, then -v) costs
eps times the size of each sum: callers count that themselves (certificates/).

**Sweeps.** ``sweep`` sets v(x) = c(x) + b(x), state by state in a given order, each time with the newest values, and
solves for a state that may stay where it is: e^{-v(x)/T} (e^{c(x)/T} - P(x,x)) = sum_{y != x} P(x,y) e^{-v(y)/T}. So it
takes the cost own(x) = T log(e^{c(x)/T} - P(x,x)) and leaves out the diagonal. With a discount a < 1, v(x) = own(x) -
T log sum_y P(x,y) e^{-a v(y)/T} has no such solution: there own is c, and all entries of the row are taken.
``sweep_linear`` does the same for linear equations f(x) = gain(x) (source(x) + sum_{y != x} A(x,y) f(y)): for
z = e^{-v/T} itself where it does not underflow, which saves the exponentials, and for the times until the exit.

``leading`` says which states lead to known ones. It looks at the rows as they lie in memory, pass by pass, and so does
without the transposed matrix that a search backwards needs. On a graph where everything is close to everything a few
passes do; where they do not, the caller is told so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry
from lsmdp._core.explog import exponentials, extremes
from lsmdp._core.sparse import SURELY_NORMAL, Rows, rows
from lsmdp._core.threads import in_slices
from lsmdp.arrays import CSR, EPS, Floats, Ints, frozen

# Up to this span of v / T one exponential for each state does: the largest sum loses 5 * 100 eps.
_SPAN_OF_ONE_EXPONENTIAL = 100.0
_MOST_PASSES = 20  # So many passes take as long as to transpose a large P; on a random graph, a few do.


class Scaled(NamedTuple):
    """v, and w = e^{(low - v)/T} where one scale serves all rows; else w is empty."""

    v: Any
    w: Any
    low: float


def soft_minima(P: CSR, v: Floats, temperature: float, inside: Any) -> tuple[Floats, Floats]:
    """b(x) = -T log sum_y P(x,y) e^{-v(y)/T} and a bound on its error, for the states ``inside``; 0 elsewhere."""
    low, high = extremes(frozen(v))
    w = np.empty(0)
    if high - low <= _SPAN_OF_ONE_EXPONENTIAL * temperature:
        w = np.empty(v.size)
        exponentials((v - low) / temperature, w)
    scaled, out = Scaled(frozen(v), w, low), np.zeros((2, v.size))
    given = (rows(P), scaled, frozen(inside), temperature, out)
    in_slices(P.data.size, v.size, lambda _, first, last: _soft_minima(*given, first, last))
    return out[0], out[1]


def sweep(P: CSR, own: Floats, v: Floats, temperature: float, order: Ints, discount: float = 1.0) -> None:
    """Set v(x) = own(x) - T log sum_y P(x,y) e^{-discount v(y)/T} in this order, in place; y != x if discount = 1."""
    _sweep(rows(P), frozen(own), v, temperature, discount, frozen(np.ascontiguousarray(order)))


def sweep_linear(A: Rows, gain: Floats, source: Floats, f: Floats, order: Ints, power: float = 1.0) -> None:
    """Set f(x) = gain(x) (source(x) + sum_y A(x,y) f(y))^power in this order, in place; y != x if power = 1."""
    _sweep_linear(A, frozen(gain), frozen(source), f, frozen(np.ascontiguousarray(order)), power)


def leading(P: CSR, known: Any) -> Ints | None:
    """The states from which a path leads to a state with ``known`` = 1, each after one that it can move to.

    ``known`` has a number for each state: 0 where the question is open, 2 where no path may go. It is used up. None
    where some passes over the rows do not suffice.
    """
    found = np.empty(known.size, dtype=np.int64)
    count = _leading(rows(P), known, found)
    return found[:count] if count >= 0 else None


@entry()
def _soft_minima(moves: Any, scaled: Any, inside: Any, temperature: float, out: Any, first: int, last: int) -> None:
    indptr, indices, data = moves.indptr, moves.indices, moves.data
    v, w = scaled.v, scaled.w
    for x in range(first, last):
        if not inside[x]:
            continue
        m, s = scaled.low, 0.0
        if w.size > 0:
            for p in range(indptr[x], indptr[x + 1]):
                s += data[p] * w[indices[p]]
        else:
            m = np.inf
            for p in range(indptr[x], indptr[x + 1]):
                m = min(m, v[indices[p]])
            for p in range(indptr[x], indptr[x + 1]):
                s += data[p] * np.exp(-(v[indices[p]] - m) / temperature)
        entries, surprise = float(indptr[x + 1] - indptr[x]), -np.log(s)
        b = m + temperature * surprise
        out[0, x] = b
        out[1, x] = EPS * (temperature * (3.0 * entries + 2.0 + 5.0 * abs(surprise)) + abs(b))
        out[1, x] += temperature * entries * (1e-300 / min(s, SURELY_NORMAL) * 1e-23)


@entry()
def _sweep(moves: Any, own: Any, v: Any, temperature: float, discount: float, order: Any) -> None:
    indptr, indices, data = moves.indptr, moves.indices, moves.data
    whole = discount != 1.0
    for i in range(order.size):
        x, m, s = order[i], np.inf, 0.0
        for p in range(indptr[x], indptr[x + 1]):
            if whole or indices[p] != x:
                m = min(m, v[indices[p]])
        if m == np.inf:
            continue
        for p in range(indptr[x], indptr[x + 1]):
            if whole or indices[p] != x:
                s += data[p] * np.exp(-discount * (v[indices[p]] - m) / temperature)
        v[x] = own[x] + (discount * m - temperature * np.log(s))


@entry()
def _sweep_linear(moves: Any, gain: Any, source: Any, f: Any, order: Any, power: float) -> None:
    indptr, indices, data = moves.indptr, moves.indices, moves.data
    whole = power != 1.0
    for i in range(order.size):
        x = order[i]
        s = source[x]
        for p in range(indptr[x], indptr[x + 1]):
            if whole or indices[p] != x:
                s += data[p] * f[indices[p]]
        f[x] = gain[x] * (s**power if whole else s)


@entry()
def _leading(moves: Any, known: Any, found: Any) -> int:
    indptr, indices = moves.indptr, moves.indices
    count = 0
    for _ in range(_MOST_PASSES):
        before = count
        for x in range(known.size):
            if known[x] != 0:
                continue
            for p in range(indptr[x], indptr[x + 1]):
                if known[indices[p]] == 1:
                    known[x] = 1
                    found[count] = x
                    count += 1
                    break
        if count == before:
            return count
    return -1
