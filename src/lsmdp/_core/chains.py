"""Compiled loops for the facts of a chain.

**Scaled numbers.** A stationary law may span more decades than a float64 holds, and a product along a path may leave
the range and come back. Such numbers are kept as m 2^e with m in [1/2, 1) and an integer e; zero is m = 0.

**Boolean matrices.** ``bits[x]`` is a set of states, 64 to a word: in the support of P^k, those that x may be in after
k steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

ONE = np.uint64(1)


@njit(cache=True, error_model="numpy")
def strong_classes(indptr: Any, indices: Any, member: Any, work: Any) -> int:
    """member[x] = the strongly connected class of x; how many there are (Tarjan, 1972). Uses up work, 5 x n."""
    number, low, stack, path, at = work[0], work[1], work[2], work[3], work[4]
    for x in range(member.size):
        member[x], number[x] = -1, 0
    classes, count, waiting = 0, 0, 0
    for root in range(member.size):
        depth = 0  # of the path from the root
        if number[root] == 0:
            path[0], depth = root, 1
        while depth > 0:
            x = path[depth - 1]
            if number[x] == 0:  # met for the first time
                count += 1
                number[x] = low[x] = count
                at[x], stack[waiting] = indptr[x], x
                waiting += 1
            deeper = False
            while at[x] < indptr[x + 1] and not deeper:
                y = indices[at[x]]
                deeper = number[y] == 0
                if deeper:
                    path[depth] = y
                    depth += 1
                else:
                    if member[y] < 0:  # on the stack: reached from x, and leads to x or before
                        low[x] = min(low[x], low[y])
                    at[x] += 1
            if deeper:
                continue
            depth -= 1
            if low[x] == number[x]:
                while member[x] < 0:
                    waiting -= 1
                    member[stack[waiting]] = classes
                classes += 1
    return classes


@njit(cache=True)
def cycle_gcd(indptr: Any, indices: Any) -> int:
    """gcd of level(x) + 1 - level(y) over the moves x -> y, levels by breadth-first search from state 0."""
    n = indptr.size - 1
    level = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    level[0] = queue[0] = 0
    tail, divisor = 1, 0
    for head in range(n):
        x = queue[head]
        for p in range(indptr[x], indptr[x + 1]):
            y = indices[p]
            if level[y] < 0:
                level[y] = level[x] + 1
                queue[tail] = y
                tail += 1
            else:
                divisor = math.gcd(divisor, level[x] + 1 - level[y])
                if divisor == 1:
                    return 1
    return divisor


@njit(cache=True, error_model="numpy")
def balance(indptr: Any, indices: Any, there: Any, back: Any, tolerance: float, m: Any, e: Any, queue: Any) -> bool:
    """The law that balances every move x -> y with y -> x, scaled, in m and e (0 at first), and whether there is one.

    ``there[p]`` and ``back[p]`` are P(x, y) and P(y, x) for the p-th move; ratios multiply along a search tree.
    """
    queue[0] = 0
    m[0], tail = 0.5, 1
    for head in range(m.size):
        if head == tail:
            return False
        x = queue[head]
        for p in range(indptr[x], indptr[x + 1]):
            y = indices[p]
            if there[p] == 0.0 or back[p] == 0.0:  # underflow in a policy
                return False
            mt, et = math.frexp(there[p])
            mb, eb = math.frexp(back[p])
            if m[y] == 0.0:
                m[y], shift = math.frexp(m[x] * mt / mb)
                e[y] = e[x] + et - eb + shift
                queue[tail] = y
                tail += 1
            else:
                shift = e[y] + eb - e[x] - et
                if abs(shift) > 2 or abs(math.ldexp(m[y] * mb / (m[x] * mt), shift) - 1.0) > tolerance:
                    return False
    return True


@njit(cache=True)
def reduce_dense(A: Any, starts: Any, columns: Any, lower: Any) -> float:
    """State reduction of a dense chain, in place; fills the factor of lsmdp._core.factor, returns the least pivot."""
    n = A.shape[0]
    at, least = 0, np.inf
    for k in range(n - 1):
        starts[k] = at
        pivot = A[k, k + 1 :].sum()
        least = min(least, pivot)
        if pivot == 0.0:
            break
        for i in range(k + 1, n):
            share = A[i, k] / pivot
            columns[at] = i
            lower[at] = share
            at += 1
            if share > 0.0:
                for j in range(k + 1, n):
                    A[i, j] += share * A[k, j]
    starts[n - 1] = starts[n] = at
    return least


@njit(cache=True)
def left_null(starts: Any, columns: Any, lower: Any) -> Any:
    """mu_k = sum_i mu_i lower[i, k] from the last state to the first, scaled."""
    n = starts.size - 1
    m = np.zeros(n)
    e = np.zeros(n, dtype=np.int64)
    m[n - 1] = 0.5
    for k in range(n - 2, -1, -1):
        mass, top = 0.0, 0
        for p in range(starts[k], starts[k + 1]):
            i = columns[p]
            part, shift = math.frexp(m[i] * lower[p])
            if part > 0.0:
                behind = e[i] + shift - top
                if mass == 0.0 or behind > 0:
                    mass = mass * 2.0 ** -min(behind, 1100) + part if mass > 0.0 else part
                    top = e[i] + shift
                else:
                    mass += part * 2.0 ** max(behind, -1100)
        m[k], shift = math.frexp(mass)
        e[k] = top + shift
    return m, e


@njit(cache=True, error_model="numpy")
def visits(P: Any, leave: Any) -> Any:
    """(I - P)^{-1} of a small P whose rows miss ``leave`` of 1, growing by one state k at a time, all sums positive."""
    n = leave.size
    N = np.zeros((n, n))
    reach, out = np.empty(n), np.empty(n)
    for k in range(n):
        exit_k = leave[k] + P[k, k + 1 :].sum()  # the probability of leaving k for good, that is for none of 0..k
        for i in range(k):
            reach[i] = (N[i, :k] * P[:k, k]).sum()
            out[i] = (P[k, :k] * N[:k, i]).sum()
            exit_k += out[i] * (leave[i] + P[i, k + 1 :].sum())
        stay = 1.0 / exit_k
        for i in range(k):
            N[k, i] = stay * out[i]
            N[i, k] = reach[i] * stay
            for j in range(k):
                N[i, j] += N[i, k] * out[j]
        N[k, k] = stay
    return N


@njit(cache=True)
def least_overlap(
    indptr: Any, indices: Any, data: Any, starts: Any, sources: Any, weights: Any, order: Any, budget: int
) -> tuple[float, bool]:
    """min_{x,y} sum_s min(P(x,s), P(y,s)) by states x in the given order, and whether the budget sufficed.

    ``starts, sources, weights`` is the transpose of P. Stops at an overlap of zero: nothing is smaller.
    """
    n = indptr.size - 1
    shared = np.empty(n)
    least = 1.0
    for x in order:
        shared[:] = 0.0
        budget -= n
        for p in range(indptr[x], indptr[x + 1]):
            s = indices[p]
            budget -= starts[s + 1] - starts[s]
            for q in range(starts[s], starts[s + 1]):
                shared[sources[q]] += min(data[p], weights[q])
        least = min(least, shared.min())
        if least == 0.0:
            return least, True
        if budget < 0:
            return least, False
    return least, True


@njit(cache=True, fastmath=True)
def least_overlap_dense(P: Any) -> float:
    """min_{x,y} sum_s min(P(x,s), P(y,s)) of a dense matrix."""
    n = P.shape[0]
    least = 1.0
    for x in range(n):
        for y in range(x):
            shared = 0.0
            for s in range(n):
                shared += min(P[x, s], P[y, s])
            least = min(least, shared)
    return least


@njit(cache=True)
def path_lengths(indptr: Any, indices: Any, lengths: Any, root: int, budget: int) -> Any:
    """Lengths of paths from the root to all states: the shortest, or good ones when the budget of moves is used up."""
    n = indptr.size - 1
    total = np.full(n, np.inf)
    waiting = np.zeros(n, dtype=np.bool_)
    queue = np.empty(n, dtype=np.int64)  # a ring: a state waits at most once
    head, count = 0, 1
    queue[0], total[root], waiting[root] = root, 0.0, True
    while count > 0:
        x = queue[head]
        head = (head + 1) % n
        count -= 1
        waiting[x] = False
        budget -= indptr[x + 1] - indptr[x]
        for p in range(indptr[x], indptr[x + 1]):
            y = indices[p]
            through = total[x] + lengths[p]
            if through < total[y]:
                again = budget > 0 or total[y] == np.inf
                total[y] = through
                if again and not waiting[y]:
                    queue[(head + count) % n] = y
                    count += 1
                    waiting[y] = True
    return total


@njit(cache=True)
def pack(indptr: Any, indices: Any) -> Any:
    """The support of a CSR matrix as a boolean matrix."""
    n = indptr.size - 1
    bits = np.zeros((n, (n + 63) // 64), dtype=np.uint64)
    for x in range(n):
        for p in range(indptr[x], indptr[x + 1]):
            y = indices[p]
            bits[x, y // 64] |= ONE << np.uint64(y % 64)
    return bits


@njit(cache=True)
def product(A: Any, B: Any) -> Any:
    """The boolean product A B."""
    n, words = A.shape
    out = np.zeros((n, words), dtype=np.uint64)
    for x in range(n):
        for s in range(n):
            if (A[x, s // 64] >> np.uint64(s % 64)) & ONE:
                for w in range(words):
                    out[x, w] |= B[s, w]
    return out


@njit(cache=True)
def is_full(bits: Any) -> bool:
    """Whether every entry is 1."""
    n = bits.shape[0]
    for x in range(n):
        for y in range(n):
            if not (bits[x, y // 64] >> np.uint64(y % 64)) & ONE:
                return False
    return True


@njit(cache=True)
def is_scrambling(bits: Any) -> bool:
    """Whether any two rows have a common entry."""
    n, words = bits.shape
    for x in range(n):
        for y in range(x):
            meet = False
            for w in range(words):
                if bits[x, w] & bits[y, w]:
                    meet = True
                    break
            if not meet:
                return False
    return True
