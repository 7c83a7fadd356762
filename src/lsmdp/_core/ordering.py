"""What the elimination of a sparse chain will cost, before anything is eliminated: its order, its fill, its blocks.

To eliminate a state is to remove it and to join all of its neighbours (factor.py). Every pair that was not joined
before is one more number to keep: the *fill*. How much there is depends on the order alone, and on the pattern of P.
:func:`plan` takes P and returns a :class:`Plan`: the order (dissection.py finds it), the fill, and the blocks in which
states are removed.

**The fill** is counted along the elimination tree, in which the parent of k is the first state after k that the
removal of k joins to it. It is low on roads and grids and hopeless on random graphs, so that a caller can decline.

**Blocks.** Neighbours in the tree whose columns of the factor have the same pattern are eliminated together, as one
dense block: the inner loops of factor.py then run over contiguous numbers and read one index for a whole row.
Blocks that differ a little are merged as well, at the price of a few stored zeros (Ashcraft and Grimes, 1989).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsmdp._core.compile import entry
from lsmdp._core.dissection import Indices, graph_of, inverse_of, order_of, symmetric_pattern
from lsmdp.arrays import CSR

Offsets = npt.NDArray[np.int64]
_PRODUCTS_PER_NUMBER_KEPT = 20.0  # To gather a number of a factor and to keep it takes as long as so many products.
_SHARE_OF_MEMORY = 0.25  # Factors may take this part of the memory of the machine; the rest is for all else.
_BYTES_OF_AN_ENTRY = 16  # An entry takes so much in two factors; zeros of merged blocks and the workspace come on top.
_NO_ROWS = np.empty(0, dtype=np.uint32)  # Blocks have none before they are wanted.
STATES_OF_A_SMALL_SUBTREE = 14  # So many make one block: its zeros cost less than to go from block to block.
_ROWS_AT_A_TIME = 512  # Among so many rows the short ones are read first; all that they lead to stays in the cache.
# Blocks of at most these widths may hold these shares of zeros: in a wide block, a zero costs more.
_ZEROS_OF_MERGED_BLOCKS = ((4, 0.5), (8, 0.3), (48, 0.1), (1 << 30, 0.05))


class Blocks(NamedTuple):
    """The dense blocks of a factor, in elimination order: children before parents.

    Block s removes the states first[s] .. first[s + 1] - 1 and touches, besides these, the later states
    rows[starts[s]:starts[s + 1]], in ascending order. Its numbers are kept at bases[s] .. bases[s + 1] - 1 of one long
    array: the triangle among the removed states, row by row, then a rectangle of one row per removed state (panels.py
    has another way). What is left of it is added to block parent[s], or to none where that is -1. No block removes
    and touches more than ``tallest`` states in all.
    """

    first: Indices
    starts: Offsets
    rows: npt.NDArray[np.uint32]
    bases: Offsets
    parent: Indices
    tallest: int


class _Order(NamedTuple):
    """An order of states, and the place of each state in it."""

    states: Indices
    places: Indices


@dataclass(frozen=True, eq=False)
class Plan:
    """An order of elimination for one sparsity pattern, and the fill that it causes.

    ``entries`` counts the strictly upper factor. It is None where counting stopped at the limit: then the pattern
    cannot be eliminated here. ``flops`` counts the multiply-adds.
    """

    P: CSR
    order: Indices  # order[i] = the state that is removed i-th; the last one is the reference
    entries: int | None
    flops: float
    sizes: Blocks | None  # the blocks but for their rows
    stack: int  # numbers that wait to be added to a parent, at most

    @property
    def last(self) -> int:
        """The reference state, which is never removed."""
        return int(self.order[-1])

    @cached_property
    def blocks(self) -> Blocks | None:
        """The blocks. Their rows, most of the bytes of a plan, are listed when the first factor is made, if ever."""
        return None if self.sizes is None else self.sizes._replace(rows=_rows(self.P, self.order, self.sizes))

    @cached_property
    def stored(self) -> int:
        """Numbers that one factor takes, the zeros of merged blocks included."""
        return 0 if self.sizes is None else int(self.sizes.bases[-1])

    @cached_property
    def work(self) -> float:
        """What a factorisation costs, in products with an entry of P; to gather and keep a number takes time too."""
        return _PRODUCTS_PER_NUMBER_KEPT * self.stored + self.flops / 2

    @cached_property
    def step(self) -> float:
        """What a step with a factor costs, in the same unit: two triangles, a product, several passes over states."""
        return float(self.stored + 2.5 * self.P.data.size)

    @property
    def tallest(self) -> int:
        """States that a block removes or touches, at most."""
        return 0 if self.sizes is None else self.sizes.tallest

    @property
    def workspace(self) -> int:
        """Bytes held besides the factors while they are made: blocks at work, the chain's weights, and its states."""
        if self.sizes is None:
            return 0
        return 8 * (self.stack + self.tallest * (self.tallest + 1) + int(self.P.data.size) + 3 * self.order.size)

    @property
    def bytes(self) -> int:
        """What two factors take while they are made."""
        return _BYTES_OF_AN_ENTRY * self.stored + self.workspace

    @property
    def inverse(self) -> Indices:
        """inverse[x] = when state x is removed."""
        return inverse_of(self.order)

    @property
    def reading(self) -> Indices:
        """The rows of P as they are best read, by their places in the order of elimination: of some, short ones first.

        A loop over rows of mixed lengths stops at every other one, where the processor has guessed its length wrongly.
        """
        lengths = np.diff(self.P.indptr)[self.order]
        return np.lexsort((lengths, np.arange(lengths.size) // _ROWS_AT_A_TIME)).astype(np.int32)

    def with_last(self, state: int) -> Plan:
        """The same order, but with ``state`` as the reference."""
        if state == self.last:
            return self
        order = np.append(self.order[self.order != state], np.int32(state))
        return _analyse(self.P, symmetric_pattern(self.P), order, limit=np.iinfo(np.int64).max)


def room() -> int:
    """Bytes that factors may take: a quarter of the memory of this machine, or of 16 GB where it does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 16 << 30
    return int(_SHARE_OF_MEMORY * memory)


def plan(P: CSR, limit: int | None = None) -> Plan:
    """Find a good order of elimination for the pattern of P and count its fill, up to ``limit`` entries.

    Without a limit: as many as two factors and the room to make them can have in :func:`room`. What would take more
    is counted, but never begun.
    """
    symmetric = symmetric_pattern(P)
    order = order_of(symmetric)
    found = _analyse(P, symmetric, order, room() // _BYTES_OF_AN_ENTRY if limit is None else limit)
    fits = limit is not None or found.bytes <= room()
    return found if fits else Plan(P, order, None, found.flops, None, 0)


def _analyse(P: CSR, symmetric: CSR, order: Indices, limit: int) -> Plan:
    graph, n = graph_of(symmetric), order.size
    parent, seen, counts = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
    nowhere = np.full(n, -1, dtype=np.int64)
    entries = _fill(graph, _Order(order, inverse_of(order)), limit, parent, seen, counts, nowhere, _NO_ROWS)
    flops = float(np.square(counts.astype(np.float64)).sum())
    if entries > limit:
        return Plan(P, order, None, flops, None, 0)
    after, sizes = np.empty_like(parent), np.empty_like(parent)
    _postorder(parent, np.full((4, n), -1, dtype=np.int32), after, sizes)
    order, counts = order[after], counts[after]
    tree = np.full_like(parent, -1)
    inner = parent[after] >= 0
    tree[inner] = inverse_of(after)[parent[after][inner]]
    first = _merged(tree, counts, sizes)
    return Plan(P, order, int(entries), flops, *_sizes(first, tree, counts))


def _merged(tree: Indices, counts: Indices, sizes: Indices) -> Indices:
    """Where blocks begin, and the end: small subtrees, equal patterns, and what may join its parent."""
    alike = (tree[:-1] == np.arange(1, tree.size)) & (counts[:-1] == counts[1:] + 1)
    joins = np.concatenate(([False], alike, [False]))
    _join(tree, sizes, STATES_OF_A_SMALL_SUBTREE, joins)
    starts = np.flatnonzero(~joins).astype(np.int32)
    first = np.empty_like(starts)
    return first[_merge(tree, counts, starts, np.array(_ZEROS_OF_MERGED_BLOCKS), first) :]


def _join(tree: Indices, sizes: Indices, small: int, joins: npt.NDArray[np.bool_]) -> None:
    """Let the states of a small subtree be one block; joins[k]: k is in one block with k - 1."""
    last = np.flatnonzero((sizes <= small) & ((tree < 0) | (sizes[tree] > small)))
    first, inside = last + 1 - sizes[last], np.zeros(joins.size + 1, dtype=np.int8)
    inside[first + 1] += 1
    inside[last + 1] -= 1
    joins[first], joins[last + 1] = False, False
    joins |= np.cumsum(inside[:-1], dtype=np.int8) > 0


def _sizes(first: Indices, tree: Indices, counts: Indices) -> tuple[Blocks, int]:
    """The blocks but for their rows, and the numbers on the stack at most.

    A block has the rows of its last state, whatever was merged.
    """
    total, widths, heights = first.size - 1, np.diff(first).astype(np.int64), counts[first[1:] - 1].astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(heights)))
    bases = np.concatenate(([0], np.cumsum(widths * (widths - 1) // 2 + widths * heights)))
    above, numbers = tree[first[1:] - 1], np.repeat(np.arange(total, dtype=np.int32), widths)
    parent = np.where(above >= 0, numbers[above], np.int32(-1))
    kept = heights * (heights + 1)
    taken = np.bincount(parent[parent >= 0], kept[parent >= 0], minlength=total)
    stack, tallest = int(np.cumsum(kept - taken).max()), int((widths + heights).max())
    return Blocks(first, starts, _NO_ROWS, bases, parent, tallest), stack


def _rows(P: CSR, order: Indices, sizes: Blocks) -> npt.NDArray[np.uint32]:
    """The later states that each block touches: those in the column of its last state."""
    n, rows = order.size, np.empty(sizes.starts[-1], dtype=np.uint32)
    tree, seen, counts = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
    at, whole = np.full(n, -1, dtype=np.int64), np.iinfo(np.int64).max
    at[sizes.first[1:] - 1] = sizes.starts[:-1]
    _fill(graph_of(symmetric_pattern(P)), _Order(order, inverse_of(order)), whole, tree, seen, counts, at, rows)
    return rows


# --------------------------------------------------------------------------------------------------------------
# compiled loops


@entry()
def _fill(graph: Any, order: Any, limit: int, parent: Any, seen: Any, counts: Any, at: Any, rows: Any) -> Any:
    """Elimination tree, entries a column of the factor, and their sum (or more than limit).

    Where at[k] >= 0, the later states in column k are written to ``rows`` from there on.
    """
    indptr, indices, states, places = graph.indptr, graph.indices, order.states, order.places
    total = np.int64(0)
    for i in range(states.size):
        x = states[i]
        seen[i] = i
        for p in range(indptr[x], indptr[x + 1]):
            k = places[indices[p]]
            while k < i and seen[k] != i:
                if parent[k] < 0:
                    parent[k] = i
                if at[k] >= 0:
                    rows[at[k]] = i
                    at[k] += 1
                counts[k] += 1
                total += 1
                seen[k] = i
                k = parent[k]
        if total > limit:
            break
    return total


@entry()
def _postorder(parent: Any, space: Any, out: Any, sizes: Any) -> None:
    """The tree with children before parents and every subtree in one piece, roots in their order; and their sizes.

    sizes[i] is that of the subtree of out[i]. The four rows of ``space`` are -1.
    """
    child, sibling, stack, begun = space[0], space[1], space[2], space[3]  # a first child, and the next of its parent
    for k in range(parent.size - 1, -1, -1):
        if parent[k] >= 0:
            sibling[k] = child[parent[k]]
            child[parent[k]] = k
    done = 0
    for root in range(parent.size):
        if parent[root] >= 0:
            continue
        stack[0], begun[root], depth = root, done, 1
        while depth > 0:
            k = stack[depth - 1]
            below = child[k]
            if below >= 0:
                child[k] = sibling[below]
                stack[depth], begun[below] = below, done
                depth += 1
            else:
                out[done], sizes[done] = k, done + 1 - begun[k]
                done += 1
                depth -= 1


@entry()
def _merge(parent: Any, counts: Any, starts: Any, merged: Any, out: Any) -> Any:
    """From the last block down, a block joins its parent if it may; out[at:] is where blocks begin, for this at."""
    at = starts.size - 1
    out[at] = starts[at]
    zeros, width, height = 0.0, 0, 0  # of the block at out[at]
    for s in range(starts.size - 2, -1, -1):
        begin, end = starts[s], starts[s + 1]
        own = end - begin
        tall, empty = own + counts[end - 1], 0.0
        for k in range(begin, end):
            empty += begin + tall - 1 - k - counts[k]
        if width > 0 and parent[end - 1] == end:
            joint = own + width
            more = zeros + empty + float(own) * (height - (tall - own))
            size = float(joint) * (own + height) - joint * (joint - 1.0) / 2
            fits = False
            for i in range(merged.shape[0]):
                fits = fits or (joint <= merged[i, 0] and more <= merged[i, 1] * size)
            if fits:
                zeros, width, height = more, joint, own + height
                out[at] = begin
                continue
        at -= 1
        out[at] = begin
        zeros, width, height = empty, own, tall
    return at
