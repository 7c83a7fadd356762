"""In which order a sparse chain is eliminated, and what that will cost, before any number is computed.

The order comes from nested dissection (George, 1973): a level of a breadth-first search cuts the graph in two, its
states are removed last, and the halves are treated alike. The fill is then counted along the elimination tree (the
parent of k is the first state after k that its removal connects to k), so that a caller can decline: low on roads
and grids, hopeless on random graphs.

**Blocks.** Neighbours in the tree whose columns of the factor have the same pattern are eliminated together, as one
dense block: the inner loops of elimination.py then run over contiguous numbers and read one index for a whole row.
Blocks that differ a little are merged as well, at the price of a few stored zeros (Ashcraft and Grimes, 1989).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy import sparse

from lsmdp.arrays import CSR, freeze, like, read_only

Indices = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
GATHERING = 20.0  # products that it takes to gather a number and to keep it
MEMORY_SHARE = 0.25
BYTES = 16  # of an entry in two factors, at least: the zeros of merged blocks and the workspace come on top
LEAF = 12  # parts of at most this many states are not cut again
RUN = 256  # states whose rows are sorted by length
SMALL = 16  # states of a subtree that make one block, whatever zeros that costs: less than to go from block to block
MERGED = ((4, 0.5), (8, 0.3), (48, 0.1), (1 << 30, 0.05))  # blocks this wide may hold this share of zeros


class Blocks(NamedTuple):
    """The dense blocks of a factor, in elimination order: children before parents.

    Block s removes the states first[s] .. first[s + 1] - 1 and touches, besides these, the later states
    rows[starts[s]:starts[s + 1]], in ascending order. Its numbers are kept at bases[s] .. bases[s + 1] - 1 of one long
    array: the triangle among the removed states, row by row, then a rectangle of one row per removed state.
    """

    first: Indices
    starts: Offsets
    rows: npt.NDArray[np.uint32]
    bases: Offsets
    parent: Indices


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
    blocks: Blocks | None
    stack: int  # numbers that wait to be added to a parent, at most

    @property
    def last(self) -> int:
        """The reference state, which is never removed."""
        return int(self.order[-1])

    @cached_property
    def stored(self) -> int:
        """Numbers that one factor takes, the zeros of merged blocks included."""
        return 0 if self.blocks is None else int(self.blocks.bases[-1])

    @cached_property
    def work(self) -> float:
        """What a factorisation costs, in products with an entry of P; to gather and keep a number takes time too."""
        return GATHERING * self.stored + self.flops / 2

    @cached_property
    def step(self) -> float:
        """What a step with a factor costs, in the same unit: two triangles, a product, several passes over states."""
        return float(self.stored + 2.5 * self.P.data.size)

    @property
    def workspace(self) -> int:
        """Numbers held besides the factors while they are made: two copies of the largest block, and the stack."""
        if self.blocks is None:
            return 0
        widest = int((np.diff(self.blocks.first) + np.diff(self.blocks.starts)).max())
        return self.stack + 2 * widest * (widest + 1)

    @property
    def bytes(self) -> int:
        """What two factors take while they are made."""
        return BYTES * self.stored + 8 * self.workspace

    @cached_property
    def inverse(self) -> Indices:
        """inverse[x] = when state x is removed."""
        return _inverse(self.order)

    @cached_property
    def incoming(self) -> tuple[Any, Any, Any]:
        """(starts, states, places): the moves into each state, and where they stand in P."""
        transposed = like(self.P, np.arange(self.P.nnz, dtype=self.P.indices.dtype)).T.tocsr()
        return freeze(transposed).indptr, transposed.indices, transposed.data

    @cached_property
    def permuted(self) -> tuple[CSR, npt.NDArray[Any]]:
        """P in the order of elimination, and which state each row is of: of each RUN of states, short rows come first.

        A loop over the rows then hardly ever has to guess how long the next one is.
        """
        P = sparse.csr_array(self.P[self.order][:, self.order])
        turn = np.lexsort((np.diff(P.indptr), np.arange(self.order.size) // RUN)).astype(np.uint32)
        return freeze(sparse.csr_array(P[turn])), read_only(turn)

    def with_last(self, state: int) -> Plan:
        """The same order, but with ``state`` as the reference."""
        if state == self.last:
            return self
        order = np.append(self.order[self.order != state], np.int32(state))
        return _analyse(self.P, _symmetric_pattern(self.P), order, limit=np.iinfo(np.int64).max)


def room() -> int:
    """Bytes that factors may take: a quarter of the memory of this machine, or of 16 GB where it does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 16 << 30
    return int(MEMORY_SHARE * memory)


def plan(P: CSR, limit: int | None = None) -> Plan:
    """Find a good order of elimination for the pattern of P and count its fill, up to ``limit`` entries.

    Without a limit: as many as two factors and the room to make them can have in :func:`room`. What would take more
    is counted, but never begun.
    """
    symmetric = _symmetric_pattern(P)
    order = _dissect(symmetric.indptr, symmetric.indices, LEAF)
    found = _analyse(P, symmetric, order, room() // BYTES if limit is None else limit)
    fits = limit is not None or found.bytes <= room()
    return found if fits else Plan(P, order, None, found.flops, None, 0)


def _inverse(order: Indices) -> Indices:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size, dtype=np.int32)
    return inverse


def _symmetric_pattern(P: CSR) -> CSR:
    ones = like(P, np.ones(P.nnz, dtype=np.int8))
    both = sparse.csr_array(ones + ones.T)
    both.sort_indices()
    return both


def _analyse(P: CSR, symmetric: CSR, order: Indices, limit: int) -> Plan:
    starts, columns = _lower_pattern(symmetric.indptr, symmetric.indices, order, _inverse(order))
    parent, counts, entries = _count_fill(starts, columns, limit)
    flops = float(np.square(counts.astype(np.float64)).sum())
    if entries > limit:
        return Plan(P, order, None, flops, None, 0)
    after = _postorder(parent)
    order, counts = order[after], counts[after]
    tree = np.full_like(parent, -1)
    inner = parent[after] >= 0
    tree[inner] = _inverse(after)[parent[after][inner]]
    first = _block_starts(tree, counts, SMALL, np.array(MERGED))
    blocks, stack = _block_rows(symmetric.indptr, symmetric.indices, order, _inverse(order), first, tree)
    return Plan(P, order, int(entries), flops, Blocks(first, *blocks), int(stack))


# --------------------------------------------------------------------------------------------------------------
# compiled loops


@njit(cache=True, error_model="numpy")
def _bfs(indptr: Any, indices: Any, part: Any, mark: Any, root: Any, queue: Any, level: Any) -> Any:
    """Breadth-first search from root inside its part; fills queue and level; returns how many were reached."""
    here = part[root]
    head, tail = 0, 1
    queue[0] = root
    level[root] = 0
    part[root] = mark
    while head < tail:
        x = queue[head]
        head += 1
        for p in range(indptr[x], indptr[x + 1]):
            y = indices[p]
            if part[y] == here:
                part[y] = mark
                level[y] = level[x] + 1
                queue[tail] = y
                tail += 1
    return tail


@njit(cache=True, error_model="numpy")
def _dissect(indptr: Any, indices: Any, leaf: Any) -> Any:
    """Nested dissection: an order in which separators come after what they separate."""
    n = indptr.size - 1
    order = np.empty(n, dtype=np.int32)
    for i in range(n):
        order[i] = i
    part = np.zeros(n, dtype=np.int32)
    level = np.zeros(n, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    spare = np.empty(n, dtype=np.int32)
    sizes = np.zeros(n + 1, dtype=np.int64)
    todo = np.empty(4 * n + 4, dtype=np.int64)  # a stack of pairs (low, high)
    todo[0], todo[1], depth = 0, n, 2
    fresh = 1
    while depth > 0:
        depth -= 2
        low, high = todo[depth], todo[depth + 1]
        size = high - low
        if size <= leaf:
            continue
        reached = _bfs(indptr, indices, part, fresh, order[low], queue, level)
        fresh += 1
        if reached < size:  # several components: the reached one first, then the others
            others = 0
            for i in range(low, high):
                if part[order[i]] != fresh - 1:
                    spare[others] = order[i]
                    others += 1
            for i in range(reached):
                order[low + i] = queue[i]
            for i in range(others):
                order[low + reached + i] = spare[i]
            todo[depth], todo[depth + 1] = low, low + reached
            todo[depth + 2], todo[depth + 3] = low + reached, high
            depth += 4
            continue
        _bfs(indptr, indices, part, fresh, queue[reached - 1], queue, level)  # from a far end
        fresh += 1
        cut = _thin_level(queue, level, size, sizes)
        left, right, middle = _split(indptr, indices, part, fresh - 1, queue, level, size, cut, order, low, spare)
        if middle == 0:
            continue
        for i in range(low, low + left):
            part[order[i]] = fresh
        for i in range(low + left, low + left + right):
            part[order[i]] = fresh + 1
        for i in range(low + left + right, high):
            part[order[i]] = -1
        fresh += 2
        todo[depth], todo[depth + 1] = low, low + left
        todo[depth + 2], todo[depth + 3] = low + left, low + left + right
        depth += 4
    return order


@njit(cache=True, error_model="numpy")
def _thin_level(queue: Any, level: Any, size: Any, sizes: Any) -> Any:
    """The thinnest level that leaves a third on either side, or else the one that holds the median; -1 if too few."""
    levels = level[queue[size - 1]] + 1
    if levels < 3:
        return -1
    for k in range(levels):
        sizes[k] = 0
    for i in range(size):
        sizes[level[queue[i]]] += 1
    before, best, cut = 0, size + 1, -1
    for k in range(levels - 1):
        rest = size - sizes[k]
        if k > 0 and 3 * before >= rest and 3 * (rest - before) >= rest and sizes[k] < best:
            best, cut = sizes[k], k
        before += sizes[k]
    before = 0
    for k in range(levels):
        before += sizes[k]
        if cut < 0 and 2 * before >= size:
            cut = min(max(k, 1), levels - 2)
    return cut


@njit(cache=True, error_model="numpy")
def _split(
    indptr: Any,
    indices: Any,
    part: Any,
    mark: Any,
    queue: Any,
    level: Any,
    size: Any,
    cut: Any,
    order: Any,
    low: Any,
    spare: Any,
) -> Any:
    """Write one side, the other side and the separator to order[low:]; only states that touch beyond separate."""
    left, right, middle = 0, 0, 0
    for i in range(size):
        x = queue[i]
        touches = False
        if level[x] == cut:
            for p in range(indptr[x], indptr[x + 1]):
                y = indices[p]
                if part[y] == mark and level[y] == cut + 1:
                    touches = True
        if cut < 0 or level[x] < cut or (level[x] == cut and not touches):
            order[low + left] = x
            left += 1
        elif touches:
            middle += 1
            spare[size - middle] = x
        else:
            spare[right] = x
            right += 1
    for i in range(right):
        order[low + left + i] = spare[i]
    for i in range(middle):
        order[low + left + right + i] = spare[size - 1 - i]
    return left, right, middle


@njit(cache=True, error_model="numpy")
def _lower_pattern(indptr: Any, indices: Any, order: Any, inverse: Any) -> Any:
    """The strictly lower triangle of a symmetric pattern in a new order, as (starts, columns)."""
    n = order.size
    starts = np.zeros(n + 1, dtype=np.int32)
    for i in range(n):
        x = order[i]
        count = 0
        for p in range(indptr[x], indptr[x + 1]):
            if inverse[indices[p]] < i:
                count += 1
        starts[i + 1] = starts[i] + count
    columns = np.empty(starts[n], dtype=np.int32)
    for i in range(n):
        x = order[i]
        at = starts[i]
        for p in range(indptr[x], indptr[x + 1]):
            k = inverse[indices[p]]
            if k < i:
                columns[at] = k
                at += 1
    return starts, columns


@njit(cache=True, error_model="numpy")
def _count_fill(starts: Any, columns: Any, limit: Any) -> Any:
    """Elimination tree, entries a column of the factor, and their sum (or more than limit)."""
    n = starts.size - 1
    parent = np.full(n, -1, dtype=np.int32)
    seen = np.full(n, -1, dtype=np.int32)
    counts = np.zeros(n, dtype=np.int32)
    total = np.int64(0)
    for i in range(n):
        seen[i] = i
        for p in range(starts[i], starts[i + 1]):
            k = columns[p]
            while seen[k] != i:
                if parent[k] < 0:
                    parent[k] = i
                counts[k] += 1
                total += 1
                seen[k] = i
                k = parent[k]
        if total > limit:
            break
    return parent, counts, total


@njit(cache=True, error_model="numpy")
def _postorder(parent: Any) -> Any:
    """The tree with children before parents and every subtree in one piece; roots in their order."""
    n = parent.size
    child = np.full(n, -1, dtype=np.int32)  # first child, and the next child of the same parent
    sibling = np.full(n, -1, dtype=np.int32)
    for k in range(n - 1, -1, -1):
        if parent[k] >= 0:
            sibling[k] = child[parent[k]]
            child[parent[k]] = k
    out = np.empty(n, dtype=np.int32)
    stack = np.empty(n, dtype=np.int32)
    done = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        stack[0], depth = root, 1
        while depth > 0:
            k = stack[depth - 1]
            below = child[k]
            if below >= 0:
                child[k] = sibling[below]
                stack[depth] = below
                depth += 1
            else:
                out[done] = k
                done += 1
                depth -= 1
    return out


@njit(cache=True, error_model="numpy")
def _block_starts(parent: Any, counts: Any, small: Any, merged: Any) -> Any:
    """Where blocks begin: small subtrees and equal patterns, then, from the last one down, a block joins its parent."""
    n = parent.size
    size = np.ones(n, dtype=np.int32)  # of the subtree below
    joins = np.zeros(n + 1, dtype=np.bool_)  # whether a state is in one block with the one before it
    for k in range(n):
        joins[k + 1] = k + 1 < n and parent[k] == k + 1 and counts[k] == counts[k + 1] + 1
        if parent[k] >= 0:
            size[parent[k]] += size[k]
    for k in range(n):
        if size[k] <= small and (parent[k] < 0 or size[parent[k]] > small):
            begin = k + 1 - size[k]
            joins[begin], joins[begin + 1 : k + 1], joins[k + 1] = False, True, False
    starts = np.flatnonzero(~joins).astype(np.int32)  # n is the last of them
    total = starts.size - 1
    out = np.empty(total + 1, dtype=np.int32)
    out[total] = n
    at = total  # out[at:] are the blocks so far, the last one first
    zeros, width, height = 0.0, 0, 0  # of the block at out[at]
    for s in range(total - 1, -1, -1):
        begin, end = starts[s], starts[s + 1]
        own = end - begin
        tall, empty = own + counts[end - 1], 0.0
        for k in range(begin, end):
            empty += begin + tall - 1 - k - counts[k]
        if at < total and parent[end - 1] == end:
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
    return out[at:].copy()


@njit(cache=True, error_model="numpy")
def _block_rows(indptr: Any, indices: Any, order: Any, inverse: Any, first: Any, tree: Any) -> Any:
    """((starts, rows, bases, parent) of the blocks, numbers on the stack at most)."""
    n, total = order.size, first.size - 1
    block = np.empty(n, dtype=np.int32)
    for s in range(total):
        for k in range(first[s], first[s + 1]):
            block[k] = s
    parent = np.full(total, -1, dtype=np.int32)
    child = np.full(total, -1, dtype=np.int32)
    sibling = np.full(total, -1, dtype=np.int32)
    for s in range(total - 1, -1, -1):
        above = tree[first[s + 1] - 1]
        if above >= 0:
            parent[s] = block[above]
            sibling[s] = child[parent[s]]
            child[parent[s]] = s
    starts = np.zeros(total + 1, dtype=np.int64)
    bases = np.zeros(total + 1, dtype=np.int64)
    rows = np.empty(4 * n + 64, dtype=np.uint32)
    seen = np.full(n, -1, dtype=np.int32)
    found = np.empty(n, dtype=np.uint32)
    waiting, most = np.int64(0), np.int64(0)
    for s in range(total):
        count, end = 0, first[s + 1]
        for k in range(first[s], end):
            x = order[k]
            for p in range(indptr[x], indptr[x + 1]):
                j = inverse[indices[p]]
                if j >= end and seen[j] != s:
                    seen[j] = s
                    found[count] = j
                    count += 1
        c = child[s]
        while c >= 0:
            for p in range(starts[c], starts[c + 1]):
                j = rows[p]
                if j >= end and seen[j] != s:
                    seen[j] = s
                    found[count] = j
                    count += 1
            waiting -= (starts[c + 1] - starts[c]) * (starts[c + 1] - starts[c] + 1)
            c = sibling[c]
        starts[s + 1] = starts[s] + count
        while rows.size < starts[s + 1]:
            rows = np.concatenate((rows, np.empty_like(rows)))
        rows[starts[s] : starts[s + 1]] = np.sort(found[:count])
        width = np.int64(end - first[s])
        bases[s + 1] = bases[s] + width * (width - 1) // 2 + width * count
        waiting += np.int64(count) * (count + 1)
        most = max(most, waiting)
    return (starts, rows[: starts[total]].copy(), bases, parent), most
