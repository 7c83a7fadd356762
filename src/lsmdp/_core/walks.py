"""Walkers: many steps of a chain, drawn by inversion of one uniform number a step.

A row of a kernel becomes its running sums, which end with 1: a uniform number u in [0, 1) leads to the first move whose
sum exceeds u. A move with chance 0 has the sum of the move before it, or 0, and is never drawn. Rounding makes the last
sum a little more or less than 1; every sum that equals it is set to 1, so that the last possible move gets the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry
from lsmdp.arrays import CSR, Floats, Ints, frozen


class Sums(NamedTuple):
    """The rows of a kernel as running sums: the moves of x are those from ``first[x]`` to before ``first[x + 1]``."""

    first: Any
    to: Any
    sums: Any


def running_sums(Q: CSR) -> Sums:
    """The running sums of each row of a kernel."""
    sums = np.empty(Q.data.size)
    first, to = frozen(Q.indptr), frozen(Q.indices)
    _running_sums(first, frozen(Q.data), sums)
    return Sums(first, to, sums)


def walk(rows: Sums, states: Ints, uniforms: Floats) -> Ints:
    """Where walkers are after each of some steps: ``paths[t, k]`` for walker k, which ``uniforms[t, k]`` moved."""
    paths = np.empty(uniforms.shape, dtype=np.int64)
    _walk(rows, states, uniforms, paths)
    return paths


@entry()
def _running_sums(first: Any, chances: Any, sums: Any) -> None:
    for x in range(first.size - 1):
        total = 0.0
        for move in range(first[x], first[x + 1]):
            total += chances[move]
            sums[move] = total
        move = first[x + 1] - 1
        while move >= first[x] and sums[move] == total:
            sums[move] = 1.0
            move -= 1


@entry(allocates=True)
def _walk(rows: Any, states: Any, uniforms: Any, paths: Any) -> None:
    first, to, sums = rows
    now = states.copy()
    for t in range(paths.shape[0]):
        for k in range(now.size):
            low, high, u = first[now[k]], first[now[k] + 1] - 1, uniforms[t, k]
            while low < high:  # the first move whose sum exceeds u
                middle = (low + high) // 2
                if sums[middle] > u:
                    high = middle
                else:
                    low = middle + 1
            now[k] = to[low]
            paths[t, k] = now[k]
