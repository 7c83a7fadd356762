"""Laws and visits of a chain against lines of numpy in numbers of a longer range."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array

from lsmdp._core import chains
from lsmdp.arrays import frozen


def value(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Scaled numbers as long doubles, which reach from 1e-4932 to 1e4932."""
    return np.ldexp(m.astype(np.longdouble), e.astype(np.int32))


@pytest.mark.parametrize("n", [1, 2, 30, 200])
@pytest.mark.parametrize("decades", [0.0, 12.0])
def test_the_law_of_detailed_balance(n: int, decades: float) -> None:
    """mu(x) P(x,y) symmetric, with mu over some 12 n decades on a line of states."""
    mu = 10.0 ** np.asarray(np.linspace(0, decades * min(n, 100), n), dtype=np.longdouble)
    there = np.asarray(np.sqrt(mu[1:] / mu[:-1]) / 4, dtype=np.float64)
    back = np.asarray(1 / (16 * there), dtype=np.float64)
    W = csr_array(np.diag(there, 1) + np.diag(back, -1) + np.eye(n))
    T = W.T.tocsr()
    m, e, queue = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    given = frozen(W.indptr), frozen(W.indices), frozen(W.data), T.data, 1e-12, m, e, queue
    assert chains.balance(*given)
    expected = np.cumprod(np.concatenate([[1], np.longdouble(1) * there / back]))
    np.testing.assert_allclose(np.asarray(value(m, e) / value(m, e)[0] / expected, float), 1.0, rtol=1e-15 * (n + 1))


def test_the_backward_sums_of_a_law() -> None:
    """mu_k = sum_{i > k} mu_i L(i, k), over thousands of decades."""
    n, rng = 60, np.random.default_rng(3)
    L = np.tril(10.0 ** rng.uniform(-60, 60, (n, n)), -1) * (rng.random((n, n)) < 0.3) + np.eye(n, k=-1)
    columns = [np.flatnonzero(L[:, k]) for k in range(n)]
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in columns])])
    lower = np.concatenate([L[rows, k] for k, rows in enumerate(columns)])
    found = value(*chains.left_null(starts, np.concatenate(columns).astype(np.uint32), lower))
    mu = np.full(n, np.longdouble(0.5))
    for k in range(n - 2, -1, -1):
        mu[k] = mu[k + 1 :] @ L[k + 1 :, k].astype(np.longdouble)
    assert np.log10(mu.max()) > 400  # beyond float64
    np.testing.assert_allclose(np.asarray(found / mu, dtype=float), 1.0, rtol=1e-15 * n)


@pytest.mark.parametrize("n", [1, 2, 9, 32])
@pytest.mark.parametrize("rare", [1.0, 1e-13])
def test_expected_visits(n: int, rare: float) -> None:
    """(I - P)^{-1} in 40 digits, from the off-diagonal entries and their sums: every digit is right."""
    rng = np.random.default_rng(n)
    A = rng.random((n, n)) * (1 - np.eye(n)) / (2 * n)
    leave = rare * rng.random(n) / 4
    P = A + np.diag(1.0 - A.sum(axis=1) - leave)
    N = chains.visits(P, leave)
    with mpmath.workdps(40):
        exact = mpmath.diag([sum(map(mpmath.mpf, (*row, end))) for row, end in zip(A, leave, strict=True)])
        exact = (exact - mpmath.matrix(A.tolist())) ** -1
    np.testing.assert_allclose(N, np.array(exact.tolist(), float), rtol=4e-16 * (3 * n + 3))
    np.testing.assert_allclose(N @ leave, 1.0, rtol=4e-16 * (3 * n + 3))  # the chain leaves for sure, to full accuracy
