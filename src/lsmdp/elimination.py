"""Sparse state reduction: Gaussian elimination for Markov chains, without a single subtraction.

Let A >= 0 be off-diagonal weights and e >= 0 a vector of killing rates, and let M be the matrix with
M[x, y] = -A[x, y] for x != y and row sums e, that is M[x, x] = sum_{y != x} A[x, y] + e[x]. Grassmann, Taksar
and Heyman (1985) observed that such a matrix can be factored from (A, e) alone: removing state k sends every
path i -> k -> j straight from i to j,

    A[i, j] += A[i, k] A[k, j] / s_k,    e[i] += A[i, k] e[k] / s_k,    s_k = sum_{j after k} A[k, j] + e[k],

where the pivot s_k is a sum of what is left, not a difference of nearly equal numbers. All quantities stay
non-negative and each is accurate to a few units in the last place per operation, however small the
entries of A (Alfa, Xue and Ye, 2002). Three problems share the factors:

- the stationary law of a chain (e = 0):          mu M = 0;
- the Poisson equation of policy evaluation:      M d = b with mu.b = 0 and d = 0 at the last state;
- first passage and inverse iteration (e > 0):    M u = b; b >= 0 gives u >= 0, to full relative accuracy.

The order of elimination comes from nested dissection (George, 1973): a level of a breadth-first search cuts the
graph in two, its states are removed last, and the halves are treated alike. The fill is counted before
any number is computed, so that a caller can decline: low on roads and grids, hopeless on random graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy import sparse

from lsmdp.arrays import CSR, Floats, like, read_only
from lsmdp.errors import ConvergenceError

Indices = npt.NDArray[np.int32]
LEAF = 48  # parts of at most this many states are not cut again


@dataclass(frozen=True, eq=False)
class Plan:
    """An order of elimination for one sparsity pattern, and the fill that it causes.

    ``entries`` counts the strictly upper factor; the two factors together take 20 bytes for each. It is None where
    counting stopped at the limit: then the pattern cannot be eliminated here.
    """

    P: CSR
    symmetric: CSR  # the pattern of P and its transpose together
    order: Indices  # order[i] = the state that is removed i-th; the last one is the reference
    pattern: tuple[Indices, Indices]  # the symmetrised pattern below the diagonal, in elimination order
    parent: Indices
    counts: Indices
    entries: int | None
    flops: float

    @property
    def last(self) -> int:
        """The reference state, which is never removed."""
        return int(self.order[-1])

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each row of the upper factor begins."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])

    @cached_property
    def inverse(self) -> Indices:
        """inverse[x] = when state x is removed."""
        return _inverse(self.order)

    def with_last(self, state: int) -> Plan:
        """The same order, but with ``state`` as the reference."""
        if state == self.last:
            return self
        order = np.append(self.order[self.order != state], np.int32(state))
        return _analyse(self.P, self.symmetric, order, limit=np.iinfo(np.int64).max)


def plan(P: CSR, limit: int = 300_000_000) -> Plan:
    """Find a good order of elimination for the pattern of P and count its fill, up to ``limit`` entries."""
    symmetric = _symmetric_pattern(P)
    order = _dissect(symmetric.indptr, symmetric.indices, LEAF)
    return _analyse(P, symmetric, order, limit)


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
    lower = _lower_pattern(symmetric.indptr, symmetric.indices, order, _inverse(order))
    parent, counts, entries = _count_fill(lower[0], lower[1], limit)
    flops = float(np.square(counts.astype(np.float64)).sum())
    return Plan(P, symmetric, order, lower, parent, counts, None if entries > limit else int(entries), flops)


@dataclass(frozen=True, eq=False)
class Elimination:
    """The factors of one chain, ready for solves."""

    order: Indices
    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.uint32]
    upper: Floats  # upper[p] = weight from row k to columns[p] when k was removed
    lower: Floats  # lower[p] = weight from columns[p] to k at that time, divided by the pivot of k
    pivots: Floats
    killed: bool

    def stationary(self) -> Floats:
        """The stationary law mu of the chain (only where nothing is killed); a ConvergenceError where floats end."""
        law = np.empty(self.order.size)
        law[self.order] = _left_null(self.starts, self.columns, self.lower)
        total = law.sum()
        if not np.isfinite(total):
            raise ConvergenceError("the stationary law is beyond float64: some states are left too rarely.")
        return np.asarray(law / total)

    def solve(self, b: Floats) -> Floats:
        """u with M u = b. Without killing, the last state's equation is dropped and u is 0 there."""
        u = np.empty(self.order.size)
        u[self.order] = _solve(
            self.starts, self.columns, self.upper, self.lower, self.pivots, self.killed, b[self.order]
        )
        return u


def eliminate(plan: Plan, weights: Floats, killing: Floats | None = None) -> Elimination:
    """Factor M for the weights (aligned with ``plan.P``; its diagonal is ignored) and the killing rates."""
    if plan.entries is None:
        raise ConvergenceError("the elimination would fill in more entries than allowed; use another method.")
    P, n, starts = plan.P, plan.order.size, plan.starts
    columns = np.empty(plan.entries, dtype=np.uint32)
    upper, lower = np.empty(plan.entries), np.empty(plan.entries)
    pivots = np.empty(n)
    rates = np.zeros(n) if killing is None else killing[plan.order]
    stuck = _factor(
        P.indptr,
        P.indices,
        read_only(weights.view()),
        plan.order,
        plan.inverse,
        *plan.pattern,
        plan.parent,
        starts,
        rates,
        columns,
        upper,
        lower,
        pivots,
    )
    if stuck >= 0:
        state = int(plan.order[stuck])
        raise ConvergenceError(f"state {state} cannot leave the states that were removed before it (underflow).")
    return Elimination(plan.order, starts, columns, upper, lower, pivots, killing is not None)


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
def _factor(
    indptr: Any,
    indices: Any,
    weights: Any,
    order: Any,
    inverse: Any,
    pattern_starts: Any,
    pattern_columns: Any,
    parent: Any,
    starts: Any,
    killing: Any,
    columns: Any,
    upper: Any,
    lower: Any,
    pivots: Any,
) -> Any:
    """Row by row: scatter a row of A, remove its earlier states in order, keep the rest. Returns a stuck row or -1."""
    n = order.size
    row = np.zeros(n)
    seen = np.full(n, -1, dtype=np.int32)
    stack = np.empty(n, dtype=np.int32)
    filled = np.empty(n, dtype=np.int64)  # next free place of each row of the upper factor's pattern
    for k in range(n):  # the pattern first, so that a row can be gathered when it is finished
        filled[k] = starts[k]
        seen[k] = k
        for p in range(pattern_starts[k], pattern_starts[k + 1]):
            j = pattern_columns[p]
            while seen[j] != k:
                columns[filled[j]] = k
                filled[j] += 1
                seen[j] = k
                j = parent[j]
    for k in range(n):
        filled[k], seen[k] = starts[k], -1
    for i in range(n):
        x = order[i]
        for p in range(indptr[x], indptr[x + 1]):
            row[inverse[indices[p]]] += weights[p]
        row[i] = 0.0
        seen[i] = i
        top = n
        for p in range(pattern_starts[i], pattern_starts[i + 1]):  # earlier states in topological order
            k = pattern_columns[p]
            length = 0
            while seen[k] != i:
                stack[length] = k
                length += 1
                seen[k] = i
                k = parent[k]
            while length > 0:
                length -= 1
                top -= 1
                stack[top] = stack[length]
        killed = killing[i]
        for q in range(top, n):
            k = stack[q]
            share = row[k] / pivots[k]
            row[k] = 0.0
            lower[filled[k]] = share
            filled[k] += 1
            if share != 0.0:
                killed += share * killing[k]
                for p in range(starts[k], starts[k + 1]):
                    row[columns[p]] += share * upper[p]
        row[i] = 0.0
        pivot = killed
        for p in range(starts[i], starts[i + 1]):
            j = columns[p]
            upper[p] = row[j]
            pivot += row[j]
            row[j] = 0.0
        killing[i] = killed
        pivots[i] = pivot
        if pivot == 0.0 and i < n - 1:
            return i
    return -1


@njit(cache=True, error_model="numpy")
def _left_null(starts: Any, columns: Any, lower: Any) -> Any:
    """Back substitution mu_k = sum_{i after k} mu_i A[i, k] / s_k, rescaled before anything overflows."""
    n = starts.size - 1
    law = np.empty(n)
    law[n - 1] = 1.0
    for k in range(n - 2, -1, -1):
        mass = 0.0
        for p in range(starts[k], starts[k + 1]):
            mass += law[columns[p]] * lower[p]
        law[k] = mass
        if mass > 1e150:
            for i in range(k, n):
                law[i] *= 1e-150
    return law


@njit(cache=True, error_model="numpy")
def _solve(starts: Any, columns: Any, upper: Any, lower: Any, pivots: Any, killed: Any, u: Any) -> Any:
    n = starts.size - 1
    for k in range(n):
        uk = u[k]
        if uk != 0.0:
            for p in range(starts[k], starts[k + 1]):
                u[columns[p]] += lower[p] * uk
    u[n - 1] = u[n - 1] / pivots[n - 1] if killed else 0.0
    for k in range(n - 2, -1, -1):
        value = u[k]
        for p in range(starts[k], starts[k + 1]):
            value += upper[p] * u[columns[p]]
        u[k] = value / pivots[k]
    return u
