"""Gaussian elimination for Markov chains, state by state and without a single subtraction: linear equations and laws.

:func:`eliminate` takes a plan (ordering.py) and the weights of a chain and returns an :class:`Elimination`, which
solves linear equations with the matrix of this chain, and finds its stationary law.

Let A >= 0 be off-diagonal weights and e >= 0 a vector of killing rates, and let M be the matrix with
M[x, y] = -A[x, y] for x != y and row sums e, that is M[x, x] = sum_{y != x} A[x, y] + e[x]. Grassmann, Taksar
and Heyman (1985) observed that such a matrix can be factored from (A, e) alone: removing state k sends every
path i -> k -> j straight from i to j,

    A[i, j] += A[i, k] A[k, j] / s_k,    e[i] += A[i, k] e[k] / s_k,    s_k = sum_{j after k} A[k, j] + e[k],

where the pivot s_k is a sum of what is left, not a difference of nearly equal numbers. All quantities stay
non-negative and each is accurate to a few units in the last place per operation, however small the
entries of A (Alfa, Xue and Ye, 2002). With the shares L[i, k] = A[i, k] / s_k and U[k, j] = A[k, j] / s_k at the time
when k was removed, M = (I - L) S (I - U). Several problems share the factors:

- the stationary law of a chain (e = 0):          mu M = 0, that is mu = mu L with the last state free;
- the Poisson equation of policy evaluation:      M d = b with mu.b = 0 and d = 0 at the last state;
- first passage and inverse iteration (e > 0):    M u = b; b >= 0 gives u >= 0, to full relative accuracy.

A chain that is killed in one state p only, M = I - Q + 1_p 1_p', solves the first two as well with any p as the
reference: multiplying M d = b by mu gives mu(p) d(p) = mu.b, so that mu.b = 0 makes d(p) = 0 and (I - Q) d = b; and
y M = 1_p' is solved by y = mu / mu(p). So p can be where the chain lives, whatever the order of elimination.

If A is symmetric then U is the transpose of L, and one array does for both.

The removal goes block by block (ordering.py; Duff and Reid's multifrontal method, 1983): what is left of A among the
states that a block touches is one dense array, with the killing rates as its last column, and all sums are of
non-negative numbers in blocks as they are one by one. The products are not left to BLAS, whose threads would make the
last bits depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from lsmdp._core import panels
from lsmdp._core.compile import entry, inner
from lsmdp._core.dissection import Indices
from lsmdp._core.ordering import (
    Blocks,
    Offsets,
    Plan,
    plan,
)
from lsmdp.arrays import Floats, frozen
from lsmdp.errors import ConvergenceError

__all__ = ["Elimination", "Plan", "eliminate", "pinned", "pinned_where_it_lives", "plan"]

LEAST_PIVOT = 1e-100  # Probabilities below 1e-308 are lost; with such pivots no mass above 1e-198 depends on them.
# The state where a chain ends may be this much rarer than the commonest one: then two digits are lost at most.
_RAREST_PIN = 0.01
_STATES_AT_A_TIME = 32  # So many states of a block are removed before the rest of the block is updated.
_COLUMNS_AT_A_TIME = 96  # The rest is updated in strips of so many columns, which stay in the fastest cache.

Shares = npt.NDArray[Any]  # of one float type or another


class _Chain(NamedTuple):
    """What is factored: the weights of the moves by row, the rate of killing in each state, and who is removed when."""

    indptr: Indices
    indices: Indices
    weights: Floats
    killing: Floats
    order: Indices
    inverse: Indices


class _FactorRoom(NamedTuple):
    """Room for the block at work, the places of states in it, and the blocks that wait for their parents, stacked."""

    front: Floats
    place: Indices
    waiting: Indices
    stack: Floats


class _Kept(NamedTuple):
    """Where the shares go: two of the four arrays have room for them. And the pivots."""

    lower: Shares
    upper: Shares
    single_lower: Shares
    single_upper: Shares
    pivots: Floats


@dataclass(frozen=True, eq=False)
class Elimination:
    """The factors of one chain, ready for solves."""

    order: Indices
    blocks: Blocks  # those of the plan, or the same with the bases of panels
    lower: Shares  # L[i, k], laid out by k; in single precision, they are in panels (panels.py)
    upper: Shares  # U[k, j], laid out by k; the same array where A is symmetric
    pivots: Floats
    killed: bool

    def stationary(self) -> Floats:
        """The stationary law mu of the chain (only where nothing is killed); a ConvergenceError where floats end."""
        law = np.zeros(self.order.size)
        law[-1] = 1.0
        self._backward(self.lower, law, 1e150)
        return self._law(law)

    def visits(self, start: Floats) -> Floats:
        """y with y M = start, up to a factor, as a law: how often each state is met from ``start`` until the end."""
        y = start[self.order]
        self._forward(self.upper, y)
        with np.errstate(all="ignore"):  # what is beyond floats is told by _law
            y /= self.pivots
        self._backward(self.lower, y, 1e150)
        return self._law(y)

    def _law(self, law: Floats) -> Floats:
        out = np.empty_like(law)
        total = law.sum()
        if not np.isfinite(total):
            raise ConvergenceError("the stationary law is beyond float64: some states are left too rarely.")
        out[self.order] = law / total
        return out

    def by_state(self) -> tuple[Offsets, npt.NDArray[np.uint32], Shares]:
        """(starts, columns, lower): the shares of each removed state in a piece, with the later states they are of."""
        starts, columns = np.zeros(self.order.size + 1, dtype=np.int64), np.empty(self.lower.size, dtype=np.uint32)
        lower = np.empty_like(self.lower)
        _spread(self.blocks, self.lower, starts, columns, lower)
        return starts, columns, lower

    def solve(self, b: Floats) -> Floats:
        """u with M u = b. Without killing, the last state's equation is dropped and u is 0 there."""
        u = b[self.order]
        self._forward(self.lower, u)
        with np.errstate(all="ignore"):  # or is infinite, which callers look for
            u /= self.pivots
        if not self.killed:
            u[-1] = 0.0
        self._backward(self.upper, u, np.inf)
        out = np.empty_like(u)
        out[self.order] = u
        return out

    def _forward(self, shares: Shares, b: Floats) -> None:
        solve = panels.forward if shares.dtype == np.float32 else _forward
        solve(self.blocks, shares, b, np.empty(self.blocks.tallest))

    def _backward(self, shares: Shares, x: Floats, largest: float) -> None:
        solve = panels.backward if shares.dtype == np.float32 else _backward
        solve(self.blocks, shares, x, largest, np.empty(self.blocks.tallest))


def eliminate(
    plan: Plan, weights: Floats, killing: Floats | None = None, *, symmetric: bool = False, single: bool = False
) -> Elimination:
    """Factor M for the weights (aligned with ``plan.P``; its diagonal is ignored) and the killing rates.

    ``symmetric`` weights need one array of shares only. ``single`` is for many solves that need not be exact: in single
    precision, and in panels.
    """
    blocks = plan.blocks
    if blocks is None:
        raise ConvergenceError("the elimination would fill in more entries than allowed; use another method.")
    n, none = plan.order.size, np.empty(0, dtype=np.float64 if single else np.float32)
    blocks = blocks._replace(bases=panels.offsets(blocks)) if single else blocks
    lower = np.empty(blocks.bases[-1], dtype=np.float32 if single else np.float64)
    upper, pivots = lower if symmetric else np.empty_like(lower), np.empty(n)
    rates = frozen(np.zeros(n) if killing is None else killing)
    starts, to = frozen(plan.P.indptr), frozen(plan.P.indices)  # one kind, whether P may be written to or not
    chain = _Chain(starts, to, frozen(weights), rates, plan.order, plan.inverse)
    place, waiting = np.empty(n, dtype=np.int32), np.empty(blocks.parent.size, dtype=np.int32)
    room = _FactorRoom(np.empty(blocks.tallest * (blocks.tallest + 1)), place, waiting, np.empty(plan.stack))
    kept = _Kept(none, none, lower, upper, pivots) if single else _Kept(lower, upper, none, none, pivots)
    stuck = _factor(chain, blocks, symmetric, room, kept)
    if stuck >= 0:
        state = int(plan.order[stuck])
        raise ConvergenceError(f"state {state} cannot leave the states that were removed before it (underflow).")
    return Elimination(plan.order, blocks, lower, upper, pivots, killing is not None)


def pinned(plan: Plan, weights: Floats, state: int, *, single: bool = False) -> tuple[Elimination, Floats]:
    """The chain that ends in one state (at rate 1), and the stationary law of the one that goes on."""
    end = np.zeros(plan.order.size)
    end[state] = 1.0
    factors = eliminate(plan, weights, end, single=single)
    return factors, factors.visits(end)


def pinned_where_it_lives(
    plan: Plan, weights: Floats, state: int, *, single: bool = False
) -> tuple[Elimination, Floats, int]:
    """The same for this state, or for the commonest one where this is far rarer; and which state it was."""
    factors, law = pinned(plan, weights, state, single=single)
    if law[state] < _RAREST_PIN * law.max():
        del factors  # two at once would take twice the memory
        state = int(law.argmax())
        factors, law = pinned(plan, weights, state, single=single)
    return factors, law, state


# --------------------------------------------------------------------------------------------------------------
# compiled loops


@entry()
def _factor(chain: Any, blocks: Any, symmetric: Any, room: Any, kept: Any) -> Any:
    """Block by block: gather what is left among its states, remove its own, keep the rest for the parent.

    The shares go where there is room for them, in single precision as panels. With a signature for each precision, all
    of this, which takes longer to compile than anything else, would be compiled twice. The state that cannot be left,
    by its turn, or -1.
    """
    indptr, indices, weights, order, inverse = chain.indptr, chain.indices, chain.weights, chain.order, chain.inverse
    first, starts, rows, parent = blocks.first, blocks.starts, blocks.rows, blocks.parent
    space, place, waiting, stack = room.front, room.place, room.waiting, room.stack
    depth, top, n, pivots = 0, 0, order.size, kept.pivots
    for s in range(parent.size):
        begin, end, row, last = first[s], first[s + 1], starts[s], starts[s + 1]
        width = end - begin
        height = width + last - row
        for i in range(height * (height + 1)):
            space[i] = 0.0
        front = space[: height * (height + 1)].reshape((height, height + 1))
        for k in range(begin, end):
            place[k] = k - begin
        for i in range(row, last):
            place[rows[i]] = width + i - row
        for k in range(begin, end):
            x, here = order[k], front[k - begin]
            here[height] = chain.killing[x]
            for p in range(indptr[x], indptr[x + 1]):
                j = inverse[indices[p]]
                if j >= begin:
                    here[place[j]] += weights[p]
        for i in range(last if symmetric else row, last):  # what leads back here is among the rows that it touches
            x, here = order[rows[i]], front[place[rows[i]]]
            for p in range(indptr[x], indptr[x + 1]):
                j = inverse[indices[p]]
                if begin <= j < end:
                    here[j - begin] += weights[p]
        while depth > 0 and parent[waiting[depth - 1]] == s:
            depth -= 1
            under, size = starts[waiting[depth]], starts[waiting[depth] + 1] - starts[waiting[depth]]
            top -= size * (size + 1)
            for a in range(size):
                here, at = front[place[rows[under + a]]], top + a * (size + 1)
                for b in range(a if symmetric else 0, size):
                    here[place[rows[under + b]]] += stack[at + b]
                here[height] += stack[at + size]
        stuck = _remove(front, width, symmetric, pivots, begin)
        if stuck >= 0 and (stuck < width - 1 or end < n):
            return begin + stuck
        if parent[s] >= 0:
            for i in range(width, height):
                here = front[i]
                for j in range(width, height + 1):
                    stack[top] = here[j]
                    top += 1
            waiting[depth] = s
            depth += 1
        base = blocks.bases[s]
        if kept.single_lower.size > 0:
            panels.keep(front, width, base, symmetric, pivots, begin, kept.single_lower, kept.single_upper)
        else:
            _shares(front, width, base, symmetric, pivots, begin, kept.lower, kept.upper)
    return -1


@njit(inline="always")  # one caller: compiled once, not twice
def _remove(front: Any, width: Any, symmetric: Any, pivots: Any, first: Any) -> Any:
    """Remove the first ``width`` states; their columns become shares. The last stuck one (pivot 0), or -1.

    Of a symmetric front, only what is right of the diagonal is kept up to date.
    """
    height = front.shape[0]
    stuck = -1
    for low in range(0, width, _STATES_AT_A_TIME):
        high = low + _STATES_AT_A_TIME if low + _STATES_AT_A_TIME < width else width
        for k in range(low, high):
            given, pivot = front[k], 0.0
            for j in range(k + 1, height + 1):
                pivot += given[j]
            pivots[first + k] = pivot
            if pivot == 0.0:
                stuck = k
                if k < width - 1:
                    return stuck
                continue
            for i in range(k + 1, height):
                front[i, k] = (given[i] if symmetric else front[i, k]) / pivot
            for i in range(k + 1, high if symmetric else height):
                taken = front[i]
                for j in range(i if symmetric else k + 1, height + 1 if i < high else high):
                    taken[j] += taken[k] * given[j]
        if high < height:
            _pass_on(front, low, high, symmetric)
    return stuck


@inner(fastmath={"contract"})
def _pass_on(front: Any, low: Any, high: Any, symmetric: Any) -> None:
    """Add the paths through the states low .. high - 1 to all later ones; in strips that stay in the fastest cache."""
    height = front.shape[0]
    for left in range(high, height + 1, _COLUMNS_AT_A_TIME):
        right = left + _COLUMNS_AT_A_TIME if left + _COLUMNS_AT_A_TIME <= height else height + 1
        last = right if symmetric and right < height else height  # rows that reach right of the diagonal in this strip
        for i in range(high, last, 2):
            k = low
            while k + 4 <= high and i + 1 < last:  # two rows and four states at a time
                one, two = front[i, left:right], front[i + 1, left:right]
                a, b, c, d = front[i, k], front[i, k + 1], front[i, k + 2], front[i, k + 3]
                e, f, g, h = front[i + 1, k], front[i + 1, k + 1], front[i + 1, k + 2], front[i + 1, k + 3]
                p, q = front[k, left:right], front[k + 1, left:right]
                r, s = front[k + 2, left:right], front[k + 3, left:right]
                for j in range(right - left):
                    one[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
                    two[j] += (e * p[j] + f * q[j]) + (g * r[j] + h * s[j])
                k += 4
            for x in range(i, i + 2 if i + 2 < last else last):
                one = front[x, left:right]
                for y in range(k, high):
                    a, p = front[x, y], front[y, left:right]
                    for j in range(right - left):
                        one[j] += a * p[j]


@njit(inline="always")  # one caller: compiled once, not twice
def _shares(front: Any, width: Any, base: Any, symmetric: Any, pivots: Any, first: Any, lower: Any, upper: Any) -> None:
    """The shares of one block: its triangle, then its rectangle."""
    height, triangle, rectangle = front.shape[0], base, base + width * (width - 1) // 2
    for k in range(width):
        for i in range(k + 1, height):
            at = triangle if i < width else rectangle
            lower[at] = front[i, k]
            if not symmetric:
                upper[at] = front[k, i] / pivots[first + k]
            if i < width:
                triangle += 1
            else:
                rectangle += 1


@entry()
def _spread(blocks: Any, shares: Any, out_starts: Any, columns: Any, lower: Any) -> None:
    first, starts, rows, bases = blocks.first, blocks.starts, blocks.rows, blocks.bases
    at = 0
    for s in range(first.size - 1):
        begin, end, triangle = first[s], first[s + 1], bases[s]
        width = end - begin
        rectangle = triangle + width * (width - 1) // 2
        for k in range(begin, end):
            for i in range(k + 1, end):
                columns[at], lower[at] = i, shares[triangle]
                triangle += 1
                at += 1
            for p in range(starts[s], starts[s + 1]):
                columns[at], lower[at] = rows[p], shares[rectangle]
                rectangle += 1
                at += 1
            out_starts[k + 1] = at


@entry(fastmath={"contract"})
def _forward(blocks: Any, shares: Any, b: Any, load: Any) -> None:
    """b <- (I - L)^{-1} b in place, in the order of elimination: each removed state hands its load on.

    ``load`` is room for the tallest block.
    """
    first, starts, rows, bases = blocks.first, blocks.starts, blocks.rows, blocks.bases
    one, four = np.uint64(1), np.uint64(4)  # unsigned: no check for indices from the end
    for s in range(first.size - 1):
        begin, end, row = np.uint64(first[s]), np.uint64(first[s + 1]), np.uint64(starts[s])
        tall, at = np.uint64(starts[s + 1]) - row, np.uint64(bases[s])
        for state in range(begin, end):
            for i in range(state + one, end):
                b[i] += shares[at] * b[state]
                at += one
        if tall == 0:
            continue
        for i in range(tall):
            load[i] = 0.0
        k = begin
        while k + four <= end:
            b0, b1, b2, b3 = b[k], b[k + one], b[k + one + one], b[k + one + one + one]
            at1, at2 = at + tall, at + tall + tall
            at3 = at2 + tall
            for i in range(tall):
                load[i] += (shares[at + i] * b0 + shares[at1 + i] * b1) + (shares[at2 + i] * b2 + shares[at3 + i] * b3)
            at = at3 + tall
            k += four
        while k < end:
            b0 = b[k]
            for i in range(tall):
                load[i] += shares[at + i] * b0
            at += tall
            k += one
        for i in range(tall):
            b[rows[row + i]] += load[i]


@entry(fastmath={"contract", "reassoc"})
def _backward(blocks: Any, shares: Any, x: Any, largest: Any, reached: Any) -> None:
    """x <- (I - U)^{-1} x in place: each removed state takes the mean of those it led to.

    All of x is scaled down whenever an entry exceeds ``largest``; ``reached`` is room for the tallest block.
    """
    first, starts, rows, bases = blocks.first, blocks.starts, blocks.rows, blocks.bases
    one, four = np.uint64(1), np.uint64(4)
    for s in range(first.size - 2, -1, -1):
        begin, end, row = np.uint64(first[s]), np.uint64(first[s + 1]), np.uint64(starts[s])
        width, tall = end - begin, np.uint64(starts[s + 1]) - row
        for i in range(tall):
            reached[i] = x[rows[row + i]]
        corner = np.uint64(bases[s]) + width * (width - one) // np.uint64(2)
        at, k = corner, begin
        while k + four <= end:
            at1, at2 = at + tall, at + tall + tall
            at3 = at2 + tall
            x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
            for i in range(tall):
                x0 += shares[at + i] * reached[i]
                x1 += shares[at1 + i] * reached[i]
                x2 += shares[at2 + i] * reached[i]
                x3 += shares[at3 + i] * reached[i]
            x[k] += x0
            x[k + one] += x1
            x[k + one + one] += x2
            x[k + one + one + one] += x3
            at = at3 + tall
            k += four
        while k < end:
            x0 = 0.0
            for i in range(tall):
                x0 += shares[at + i] * reached[i]
            x[k] += x0
            at += tall
            k += one
        at = corner
        for back in range(one, width):
            k = end - one - back
            at -= back
            value = 0.0
            for i in range(back):
                value += shares[at + i] * x[k + one + i]
            x[k] += value
        if largest < np.inf:
            high = 0.0
            for i in range(begin, end):
                high = x[i] if x[i] > high else high
            if high > largest:
                for i in range(x.size):
                    x[i] /= largest
