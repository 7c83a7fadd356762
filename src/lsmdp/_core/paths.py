"""Shortest ways along the moves of a chain, from states where a value is known: the algorithm of Dijkstra.

What goes in is a length for each move and a value for each state. What comes out is the largest function below these
values that no move contradicts. Goals use it for their bounds by paths, hitting times for a bound on large chains, and
Newton's method to cut off what is too high.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry
from lsmdp._core.sparse import rows
from lsmdp.arrays import CSR, Floats


def lower_to_paths(lengths: CSR, v: Floats) -> Floats:
    """The largest function f <= v with f(y) <= f(x) + lengths(x, y) for every move x -> y; no length is negative.

    A value may be infinite. With v = 0 in one state and infinity elsewhere, f is the distance from that state. One run
    of Dijkstra's algorithm.
    """
    found = v.copy()
    _settle(rows(lengths), np.argsort(v), found, np.zeros((2, v.size), dtype=np.int64))
    return found


@entry()
def _settle(P: Any, ascending: Any, v: Any, work: Any) -> None:
    """Settle states in ascending order of value: those never lowered from the sorted list, the others from a heap."""
    indptr, indices, lengths = P
    heap, spot, size, at = work[0], work[1], 0, 0  # heap[spot[x] - 1] = x; 0: never lowered, -1: settled
    while True:
        while at < v.size and spot[ascending[at]] != 0:
            at += 1
        if at < v.size and (size == 0 or v[ascending[at]] <= v[heap[0]]):
            y = ascending[at]
        elif size > 0:
            y, size, i = heap[0], size - 1, 0
            x, below = heap[size], 1
            while below < size:  # the last one sinks from the top
                if below + 1 < size and v[heap[below + 1]] < v[heap[below]]:
                    below += 1
                if v[heap[below]] >= v[x]:
                    break
                heap[i], spot[heap[below]] = heap[below], i + 1
                i, below = below, 2 * below + 1
            heap[i], spot[x] = x, i + 1
        else:
            break
        spot[y] = -1
        for p in range(indptr[y], indptr[y + 1]):
            x = np.int64(indices[p])
            through = v[y] + lengths[p]
            if through < v[x]:
                v[x] = through
                if spot[x] == 0:
                    size += 1
                    spot[x] = size
                i = spot[x] - 1
                while i > 0 and v[heap[(i - 1) >> 1]] > through:  # it rises
                    heap[i] = heap[(i - 1) >> 1]
                    spot[heap[i]] = i + 1
                    i = (i - 1) >> 1
                heap[i], spot[x] = x, i + 1
