"""Three loops for the facts of one chain: a law from detailed balance, a law from a factor, and expected visits.

``balance`` takes P and its transpose and multiplies the ratios P(x,y) / P(y,x) along a search tree, which gives the law
of a reversible chain; the moves outside of the tree are its check. ``left_null`` takes the shares of an elimination
(factor.py) and gives the law of any chain. ``visits`` gives (I - P)^{-1} for few states that are left sooner or later.

A stationary law may span more decades than a float64 holds, and a product along a path may leave the range and come
back. So the entries of a law are kept *scaled*, as m 2^e with m in [1/2, 1) and an integer e; zero is m = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsmdp._core.compile import entry


@entry()
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


@entry(allocates=True)
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


@entry(allocates=True)
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
