"""The dense blocks of a factor, made ready for many solves.

Let T be the shares of a block's own states among each other, strictly triangular, and R those of the later states that
it touches (factor.py). A solve with I - L takes the block's part b to (I - T)^{-1} b, state by state, and hands
R (I - T)^{-1} b on. Here the block keeps, in place of T and R,

    X = (I - T)^{-1} = I + T + T^2 + ...,    G = R X,

the shares of what leaves a state that reach another one on all paths through the block. They are sums of products of
non-negative numbers, so nothing is lost. There are no more of them than before, but no state waits for the one before
it: a solve is one product with [X; G] a block, and one with its transpose on the way back. Numbers that are
below floats end here, though, where one state after the other would still get by: this is for single precision, in
steps that are checked afterwards.

The columns of [X; G] are kept in panels of four, each from the diagonal of its first column on, one column after the
other. Up to three columns of zeros fill the last panel of a block: it takes longer to treat a column by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import extremes
from lsmdp._core.ordering import Blocks, Offsets

# Steps along a row are unsigned, because an index that cannot be negative need not be checked for a count from the end.
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


def offsets(blocks: Blocks) -> Offsets:
    """Where the panels of each block begin, and where the last one ends."""
    width, tall = np.diff(blocks.first).astype(np.int64), np.diff(blocks.starts)
    panels = -(-width // 4)
    sizes = 4 * panels * (width + tall) - 8 * panels * (panels - 1)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


@njit(inline="always")  # one caller: compiled once, not twice
def keep(front: Any, width: Any, base: Any, symmetric: Any, pivots: Any, begin: Any, lower: Any, upper: Any) -> None:
    """Write the panels of one block whose states are removed, the shares L left of the diagonal; ``front`` is used up.

    Row by row from above, X = I + T X for L; and then, in the place of L, for the transpose of U.
    """
    height = front.shape[0]
    for side in range(1 if symmetric else 2):
        if side == 1:
            for k in range(width):
                scale = 1.0 / pivots[begin + k]
                for i in range(k + 1, height):
                    front[i, k] = front[k, i] * scale
        for i in range(2, height):
            _through(front[i], front, i if i < width else width)
        _write(front, width, base, upper if side == 1 else lower)


@inner(fastmath={"contract"})
def _through(row: Any, front: Any, own: Any) -> None:
    """row <- row X for the shares row[:own] of one state; the first rows of front are those of X already."""
    j = 1
    while j + 4 <= own:
        a, b, c, d = row[j], row[j + 1], row[j + 2], row[j + 3]
        p, q, r, s = front[j], front[j + 1], front[j + 2], front[j + 3]
        for k in range(j):
            row[k] += (a * p[k] + b * q[k]) + (c * r[k] + d * s[k])
        row[j] += b * q[j] + (c * r[j] + d * s[j])
        row[j + 1] += c * r[j + 1] + d * s[j + 1]
        row[j + 2] += d * s[j + 2]
        j += 4
    while j < own:
        a, p = row[j], front[j]
        for k in range(j):
            row[k] += a * p[k]
        j += 1


@inner()
def _write(X: Any, width: Any, at: Any, out: Any) -> None:
    """The panels of [X; G], with the ones on the diagonal and the zeros above it."""
    height = X.shape[0]
    for low in range(0, width, 4):
        for k in range(low, low + 4):
            for i in range(low, height):
                out[at] = X[i, k] if k < width and k < i else 0.0
                at += 1
            if k < width:
                out[at - height + k] = 1.0


@entry(fastmath={"contract"})
def forward(blocks: Any, panels: Any, b: Any, out: Any) -> None:
    """b <- (I - L)^{-1} b in place, in the order of elimination; ``out`` is room for the tallest block."""
    first, starts, rows, bases = blocks.first, blocks.starts, blocks.rows, blocks.bases
    last = np.uint64(b.size - 1)
    for s in range(first.size - 1):
        begin, row, at = np.uint64(first[s]), np.uint64(starts[s]), np.uint64(bases[s])
        width, tall = np.uint64(first[s + 1]) - begin, np.uint64(starts[s + 1]) - row
        height, k = width + tall, np.uint64(0)
        for i in range(height):
            out[i] = 0.0
        while k < width:
            x, size = begin + k, height - k
            b0, b1, b2, b3 = b[x], b[min(x + _ONE, last)], b[min(x + _TWO, last)], b[min(x + _THREE, last)]
            at1, at2 = at + size, at + size + size
            at3 = at2 + size
            for i in range(size):
                left = panels[at + i] * b0 + panels[at1 + i] * b1
                out[k + i] += left + (panels[at2 + i] * b2 + panels[at3 + i] * b3)
            at = at3 + size
            k += _FOUR
        for i in range(width):
            b[begin + i] = out[i]
        for i in range(tall):
            b[rows[row + i]] += out[width + i]


@entry(fastmath={"contract", "reassoc"})
def backward(blocks: Any, panels: Any, x: Any, largest: Any, given: Any) -> None:
    """x <- (I - U)^{-1} x in place; all of x is scaled down whenever an entry exceeds ``largest``.

    ``given`` is room for the tallest block.
    """
    first, starts, rows, bases = blocks.first, blocks.starts, blocks.rows, blocks.bases
    for s in range(first.size - 2, -1, -1):
        begin, row, at = np.uint64(first[s]), np.uint64(starts[s]), np.uint64(bases[s])
        width, tall = np.uint64(first[s + 1]) - begin, np.uint64(starts[s + 1]) - row
        height, last, k = width + tall, begin + width - _ONE, np.uint64(0)
        for i in range(width):
            given[i] = x[begin + i]
        for i in range(tall):
            given[width + i] = x[rows[row + i]]
        while k < width:
            size = height - k
            at1, at2 = at + size, at + size + size
            at3 = at2 + size
            x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
            for i in range(size):
                y = given[k + i]
                x0 += panels[at + i] * y
                x1 += panels[at1 + i] * y
                x2 += panels[at2 + i] * y
                x3 += panels[at3 + i] * y
            to = begin + k
            x[min(to + _THREE, last)] = x3  # of a column of zeros, what is written is written over
            x[min(to + _TWO, last)] = x2
            x[min(to + _ONE, last)] = x1
            x[to] = x0
            at = at3 + size
            k += _FOUR
        if largest < np.inf and extremes(x[begin : begin + width])[1] > largest:
            for i in range(x.size):
                x[i] /= largest
