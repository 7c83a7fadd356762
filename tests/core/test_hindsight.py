"""Laws and values along a sequence of costs against dense matrices, one round at a time."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core import hindsight
from lsmdp._core.sparse import rows
from lsmdp.arrays import frozen


def model(n: int, T: float = 1.0) -> LMDP:
    rng = np.random.default_rng(n)
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.4) + np.eye(n)
    return LMDP(W, temperature=T, normalise=True)


@pytest.mark.parametrize("n", [1, 25])
def test_laws_of_changing_policies(n: int) -> None:
    lmdp, rng = model(n), np.random.default_rng(1)
    state = np.repeat(np.arange(n), np.diff(lmdp.P.indptr))
    chances = 10.0 ** rng.uniform(-9, 0, (6, lmdp.nnz))
    laws = np.empty((7, n))
    laws[0] = np.eye(n)[0]
    hindsight.push_along(rows(lmdp.P), frozen(chances), laws)
    for t in range(6):
        Q = np.zeros((n, n))
        Q[state, lmdp.P.indices] = chances[t]
        np.testing.assert_allclose(laws[t + 1], laws[t] @ Q / (laws[t] @ Q).sum(), rtol=4e-16 * (2 * n + 4))


def test_laws_of_a_fixed_policy() -> None:
    lmdp, laws = model(30), np.empty((50, 30))
    laws[0] = np.random.default_rng(2).dirichlet(np.ones(30))
    hindsight.push_along(rows(lmdp.P), lmdp.P.data[np.newaxis], laws)
    for t in range(49):
        after = laws[t] @ lmdp.P.toarray()
        np.testing.assert_allclose(laws[t + 1], after / after.sum(), rtol=4e-16 * 32)


@pytest.mark.parametrize("T", [1.0, 0.02])
@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("n", [1, 7])
def test_values_and_their_rounding(n: int, size: float, T: float) -> None:
    """|V^_t - (B_t V^_{t+1} - a_t)| <= errors[t] for exact B_t, with a_t the minimum that was taken out."""
    lmdp, costs = model(n, T), size * np.random.default_rng(3).random((5, n))
    values, minima, errors = np.zeros((6, n)), np.empty(5), np.empty(5)
    hindsight.values_back(rows(lmdp.P), T, costs, values, minima, errors, np.empty((4, n)))
    dense, mp = lmdp.P.toarray(), mpmath.mpf
    with mpmath.workdps(60):
        for t in range(5):
            assert values[t].min() == 0.0
            for x in range(n):
                row = [mp(p) for p in dense[x]]
                z = mpmath.fsum(p * mpmath.exp(-mp(v) / mp(T)) for p, v in zip(row, values[t + 1], strict=True) if p)
                exact = mp(costs[t, x]) - mp(T) * mpmath.log(z / mpmath.fsum(row)) - mp(minima[t])
                assert abs(exact - values[t, x]) <= errors[t]
            assert errors[t] <= 1e-14 * (T * (3 * n + 10) + 20 * size)


@pytest.mark.parametrize("n", [1, 20])
def test_slopes(n: int) -> None:
    lmdp, rng, T = model(n), np.random.default_rng(4), 9
    costs, laws, control = rng.random((T, n)), rng.dirichlet(np.ones(n), T), rng.random(n)
    Q, ahead = lmdp.P.toarray(), np.zeros(n)
    slopes, expected = np.zeros(lmdp.nnz), np.zeros((n, n))
    hindsight.slopes_back(rows(lmdp.P), control, costs, laws, slopes)
    for t in reversed(range(T)):
        expected += laws[t][:, np.newaxis] * ahead[np.newaxis]
        ahead = costs[t] + control + Q @ ahead
        ahead -= ahead.min()
    np.testing.assert_allclose(slopes, expected[Q > 0], rtol=0, atol=4e-16 * T * (n + 4) * 2 * T)


def test_sums_of_costs_lose_nothing() -> None:
    costs = 10.0 ** np.random.default_rng(5).uniform(-12, 4, (300, 5)) * np.array([1, -1, 1, 1, -1.0])
    total, lost, lowest, highest = np.zeros(5), np.zeros(5), np.full(5, np.inf), np.full(5, -np.inf)
    hindsight.add_costs(frozen(costs), total, lost, lowest, highest)
    with mpmath.workdps(60):
        exact = [mpmath.fsum(mpmath.mpf(c) for c in column) for column in costs.T]
    np.testing.assert_allclose(total + lost, np.array([float(one) for one in exact]), rtol=3e-16)
    assert (lowest == costs.min(axis=0)).all()
    assert (highest == costs.max(axis=0)).all()
