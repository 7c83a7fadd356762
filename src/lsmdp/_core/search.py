"""A search through a graph, breadth first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def search(indptr: Any, indices: Any, start: int) -> Any:
    """Breadth-first: the number of moves from ``start`` to each state (-1: no way), and the state before it."""
    n = indptr.size - 1
    level = np.full(n, -1, dtype=np.int64)
    parent = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    level[start], queue[0] = 0, start
    head, tail = 0, 1
    while head < tail:
        x = queue[head]
        head += 1
        for p in range(indptr[x], indptr[x + 1]):
            y = indices[p]
            if level[y] < 0:
                level[y] = level[x] + 1
                parent[y] = x
                queue[tail] = y
                tail += 1
    return level, parent
