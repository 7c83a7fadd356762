"""Elimination without subtraction, and solves with its factors, against the same in dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import LMDP, clusters, grid, random_graph, ring
from lsmdp._core import factor, panels
from lsmdp._core.factor import Elimination, eliminate, plan
from lsmdp.arrays import freeze

EPS = np.finfo(float).eps
CHAINS = {
    "grid": lambda: grid(9, 11),
    "ring": lambda: ring(70, 0.9),
    "random": lambda: random_graph(90, 4, seed=1),  # one block is wider than a panel of the elimination
    "clusters": lambda: clusters(3, 30, 1e-5, seed=2),
    "two states": lambda: LMDP([[0.2, 0.8], [0.5, 0.5]]),
    "one state": lambda: LMDP([[1.0]]),
}


def reduced(A: np.ndarray, killing: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L, U and the pivots: states are removed one after the other, and each path i -> k -> j goes straight to j."""
    A, e, n = A.copy(), killing.copy(), len(A)
    L, U, pivots = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for k in range(n):
        later = slice(k + 1, n)
        pivots[k] = A[k, later].sum() + e[k]
        if pivots[k] > 0:
            L[later, k], U[k, later] = A[later, k] / pivots[k], A[k, later] / pivots[k]
        A[later, later] += np.outer(L[later, k], A[k, later])
        e[later] += L[later, k] * e[k]
    return L, U, pivots


def dense(made: Elimination, shares: np.ndarray) -> np.ndarray:
    """The shares as a matrix with a column for each removed state: a triangle and a rectangle for each block."""
    n, blocks = made.order.size, made.blocks
    out = np.zeros((n, n))
    for s in range(blocks.parent.size):
        begin, end, rows = blocks.first[s], blocks.first[s + 1], blocks.rows[blocks.starts[s] : blocks.starts[s + 1]]
        numbers, width = iter(shares[blocks.bases[s] : blocks.bases[s + 1]]), end - begin
        for k in range(begin, end):
            out[k + 1 : end, k] = [next(numbers) for _ in range(end - k - 1)]
        for k in range(begin, end):
            out[rows, k] = [next(numbers) for _ in rows]
        assert next(numbers, None) is None
        assert width > 0
    return out


def chain(name: str, symmetric: bool) -> tuple[Elimination, np.ndarray, np.ndarray, np.ndarray]:
    """The factors, and what the reference says."""
    P, rng = CHAINS[name]().P, np.random.default_rng(1)
    if symmetric:
        P = (P + P.T).tocsr()
        P.sort_indices()
    made, killing = plan(freeze(P)), rng.uniform(0, 0.1, P.shape[0])
    factors = eliminate(made, P.data, killing, symmetric=symmetric)
    A = P.toarray()[np.ix_(made.order, made.order)]
    return factors, *reduced(A, killing[made.order])


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_shares_and_pivots_are_those_of_a_dense_elimination(name: str, symmetric: bool) -> None:
    """All numbers are sums of products of numbers >= 0: at most 3 roundings for each state removed, on either side,
    and as many additions in a pivot as there are states."""
    factors, L, U, pivots = chain(name, symmetric)
    most = 8 * len(L) * EPS
    np.testing.assert_allclose(factors.pivots, pivots, rtol=most)
    np.testing.assert_allclose(dense(factors, factors.lower), L, rtol=most)
    np.testing.assert_allclose(dense(factors, factors.upper).T, U, rtol=most)
    assert (factors.lower is factors.upper) is symmetric


@pytest.mark.parametrize("name", CHAINS)
def test_solves_are_those_with_dense_triangles(name: str) -> None:
    """Of numbers >= 0 nothing cancels: two roundings for each state on a path, and no path has more than n."""
    factors, L, U, _ = chain(name, symmetric=False)
    n, b = len(L), np.random.default_rng(2).uniform(0, 1, len(L))
    forth, back = b.copy(), b.copy()
    factor._forward(factors.blocks, factors.lower, forth, np.empty(factors.blocks.tallest))
    factor._backward(factors.blocks, factors.upper, back, np.inf, np.empty(factors.blocks.tallest))
    np.testing.assert_allclose(forth, np.linalg.solve(np.eye(n) - L, b), rtol=12 * n * EPS)
    np.testing.assert_allclose(back, np.linalg.solve(np.eye(n) - U, b), rtol=12 * n * EPS)


@pytest.mark.parametrize("name", CHAINS)
def test_a_scale_is_divided_out_of_all_that_is_there(name: str) -> None:
    """Powers of 2 are divided out without rounding, so that what is left is the same up to one of them."""
    factors, *_ = chain(name, symmetric=False)
    x = np.random.default_rng(3).uniform(1, 2, factors.order.size)
    for backward in (factor._backward, panels.backward):
        if backward is panels.backward:
            P = CHAINS[name]().P
            factors = eliminate(plan(P), P.data, np.full(x.size, 0.01), single=True)
        plain, scaled, room = x.copy(), 2.0**60 * x, np.empty(factors.blocks.tallest)
        backward(factors.blocks, factors.upper, plain, np.inf, room)
        backward(factors.blocks, factors.upper, scaled, 2.0**50, room)
        assert scaled.max() < plain.max() * 2.0**60  # or nothing was divided
        np.testing.assert_array_equal(scaled / scaled[-1], plain / plain[-1])


def test_shares_by_state_are_the_columns_of_L() -> None:
    factors, L, *_ = chain("grid", symmetric=False)
    starts, columns, lower = factors.by_state()
    for k in range(len(L)):
        here = slice(starts[k], starts[k + 1])
        assert np.all(np.diff(columns[here].astype(int)) > 0)
        np.testing.assert_array_equal(lower[here], dense(factors, factors.lower)[columns[here], k])
    assert starts[-1] == factors.lower.size
