"""In which order the states of a sparse chain are eliminated.

In: the symmetric pattern of the moves. Out: an order in which the removal of states joins few others (ordering.py).

**The order** of up to 1,000 states is SuperLU's minimum degree (Liu, 1985): whoever has the fewest neighbours goes
next. On small grids and random graphs it fills less than what follows, and nothing has to be compiled for it. That of
more states comes from nested dissection (George, 1973): a level of a breadth-first search cuts the graph in two; its
states, the separator, are removed last, and either half is treated in the same way. On a grid of 316 x 316, minimum
degree takes three times as long, and 1.3 times as many flops follow from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy import sparse

from lsmdp._core.compile import entry, inner
from lsmdp.arrays import CSR, like

Indices = npt.NDArray[np.int32]
# Up to so many states, an order by minimum degree takes a few hundredths of a second on any graph.
_STATES_FOR_MINIMUM_DEGREE = 1_000
_STATES_OF_A_LEAF = 12  # Parts of at most so many states are not cut again: they make one block anyway.


class Graph(NamedTuple):
    """The moves of a chain in both directions: the neighbours of x are indices[indptr[x]:indptr[x + 1]]."""

    indptr: Indices
    indices: Indices


class _BreadthFirst(NamedTuple):
    """A breadth-first search: the part that each state is in, its level, the states as met, and two spare rows."""

    part: Indices
    level: Indices
    queue: Indices
    spare: Indices
    sizes: Indices


def symmetric_pattern(P: CSR) -> CSR:
    """Ones where there is a move or its reverse."""
    ones = like(P, np.ones(P.nnz, dtype=np.int8))
    both = sparse.csr_array(ones + ones.T)
    both.sort_indices()
    return both


def graph_of(symmetric: CSR) -> Graph:
    """The graph with this pattern."""
    return Graph(symmetric.indptr, symmetric.indices)


def order_of(symmetric: CSR) -> Indices:
    """order[i] is the state that is removed i-th."""
    small = symmetric.shape[0] <= _STATES_FOR_MINIMUM_DEGREE
    return _of_least_degree(symmetric) if small else _dissected(symmetric)


def inverse_of(order: Indices) -> Indices:
    """The place of each state in this order."""
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size, dtype=np.int32)
    return inverse


def _of_least_degree(symmetric: CSR) -> Indices:
    """SuperLU's order, as it comes with an incomplete factor of which nothing but the diagonal is kept."""
    from scipy.sparse.linalg import spilu

    n = int(symmetric.shape[0])
    matrix = sparse.csc_array((np.full(symmetric.nnz, 0.5 / n), symmetric.indices, symmetric.indptr), shape=(n, n))
    matrix = sparse.csc_array(matrix + sparse.eye_array(n))
    options = {"SymmetricMode": True}
    made = spilu(matrix, drop_tol=1.0, fill_factor=1.0, permc_spec="MMD_AT_PLUS_A", options=options)
    return inverse_of(made.perm_c.astype(np.int32))


def _dissected(symmetric: CSR) -> Indices:
    n = int(symmetric.shape[0])
    order, todo = np.arange(n, dtype=np.int32), np.empty(4 * n + 4, dtype=np.int32)
    _dissect(graph_of(symmetric), _BreadthFirst(*np.zeros((5, n + 1), dtype=np.int32)), _STATES_OF_A_LEAF, order, todo)
    return order


# --------------------------------------------------------------------------------------------------------------
# compiled loops


@inner()
def _bfs(graph: Any, search: Any, mark: Any, root: Any) -> Any:
    """Breadth-first search from root inside its part; fills queue and level; returns how many were reached."""
    indptr, indices, part, level, queue = graph.indptr, graph.indices, search.part, search.level, search.queue
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


@entry()
def _dissect(graph: Any, search: Any, leaf: int, order: Any, todo: Any) -> None:
    """Nested dissection of ``order``, after which separators come after what they separate.

    All states are in part 0 of the search to begin with; ``todo``, a stack of pairs (low, high), is written over.
    """
    part, queue, spare = search.part, search.queue, search.spare
    todo[0], todo[1], depth = 0, order.size, 2
    fresh = np.int64(1)  # not a literal, for which all that takes it would be compiled twice
    while depth > 0:
        depth -= 2
        low, high = todo[depth], todo[depth + 1]
        size = high - low
        if size <= leaf:
            continue
        reached = _bfs(graph, search, fresh, order[low])
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
        _bfs(graph, search, fresh, queue[reached - 1])  # from a far end
        fresh += 1
        left, right, middle = _split(graph, search, fresh - 1, _thin_level(search, size), order, low, high)
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


@njit(inline="always")  # one caller: compiled once, not twice
def _thin_level(search: Any, size: Any) -> Any:
    """The thinnest level that leaves a third on either side, or else the one that holds the median; -1 if too few."""
    level, queue, sizes = search.level, search.queue, search.sizes
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
            cut = k if k > 0 else 1
            cut = cut if cut < levels - 2 else levels - 2
    return cut


@njit(inline="always")  # one caller: compiled once, not twice
def _split(graph: Any, search: Any, mark: Any, cut: Any, order: Any, low: Any, high: Any) -> Any:
    """Write one side, the other side and the separator to order[low:high]; only states that touch beyond separate."""
    indptr, indices, part, level = graph.indptr, graph.indices, search.part, search.level
    queue, spare, size = search.queue, search.spare, high - low
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
