"""Distances between the rows of a matrix."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True)
def _one_sided(P: Any) -> float:
    n = P.shape[0]
    most = 0.0
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += max(P[i, k] - P[j, k], 0.0)
            most = max(most, total)
    return most


@njit(cache=True)
def _row_distance(Z: Any) -> float:
    n = Z.shape[0]
    most = 0.0
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(n):
                total += abs(Z[i, k] - Z[j, k])
            most = max(most, total)
    return most
