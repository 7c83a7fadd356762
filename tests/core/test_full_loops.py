"""The compiled loops for a P that is written out, each against a few lines of numpy that say what it does.

Models are random: 1 to 17 states, so that padding is none to all but one column, temperatures from 0.01 to 2, values
that span up to what one scale can hold, full matrices, sparse ones and nearly decomposable ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core import full, full_accounts, full_laws
from lsmdp.arrays import EPS

SEEDS = range(24)


class Case(NamedTuple):
    """A model, its P as an array, and values that one scale can hold, some rounds apart by ``distance``."""

    square: full.Square
    P: np.ndarray
    temperature: float
    values: np.ndarray

    @property
    def span(self) -> float:
        """The largest d, by which the exponent of a weight is known less well."""
        return float(np.ptp(self.values, axis=1).max() / self.temperature)

    @property
    def rounding(self) -> float:
        """Relative: a sum of n products, of weights whose exponents are rounded twice and exponentials off by 2 ulp."""
        return (len(self.P) + 8 + 4 * self.span) * EPS


def case(seed: int, distance: float = 1.0, rounds: int = 6) -> Case:
    """A model that depends on the seed in all that the module says."""
    rng, n = np.random.default_rng(seed), seed % 17 + 1
    P = rng.uniform(0, 1, (n, n))
    if seed % 3 == 1:  # sparse: a ring, and some more
        P = np.roll(np.eye(n), 1, axis=1) + np.where(P > 0.7, P, 0.0) + 0.1 * np.eye(n)
    elif seed % 3 == 2:  # two halves that hardly meet
        apart = (np.arange(n) < n // 2)[:, np.newaxis] != (np.arange(n) < n // 2)
        P = np.where(apart, 1e-7 * P, P)
    temperature = float(10 ** rng.uniform(-2, 0.3))
    lmdp = LMDP(P, normalise=True, temperature=temperature)
    assert lmdp.square is not None
    steep = temperature * (1.0, 10.0, 60.0)[seed % 3] * rng.uniform(0, 1, n)
    values = steep + distance * temperature * rng.uniform(0, 1, (rounds, n))
    return Case(lmdp.square, lmdp.P.toarray(), temperature, values)


def weights(one: Case) -> full.Weights:
    """What the compiled loop says of the values."""
    found = full.Weights.blank(len(one.values), one.square.rows.shape[1])
    assert full.weigh_block(one.square, one.temperature, one.values, full.UNKNOWN, found) == len(one.values)
    return found


def policies(one: Case) -> np.ndarray:
    """Q of each row of the values, as it is written."""
    weighted = one.P * np.exp((one.values.min(axis=1, keepdims=True) - one.values) / one.temperature)[:, np.newaxis]
    return weighted / weighted.sum(axis=2, keepdims=True)


def law_of(Q: np.ndarray) -> np.ndarray:
    """The stationary law by state reduction."""
    Q, n = Q.copy(), len(Q)
    for k in range(n - 1, 0, -1):
        Q[:k, k] /= Q[k, :k].sum()
        Q[:k, :k] += np.outer(Q[:k, k], Q[k, :k])
    mu = np.ones(n)
    for k in range(1, n):
        mu[k] = mu[:k] @ Q[:k, k]
    return mu / mu.sum()


def bellman(one: Case, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(Bv)(x) = c(x) - T log sum_y P(x, y) e^{-v(y)/T}, up to the scale that keeps it in floats."""
    low = v.min()
    return c + low - one.temperature * np.log(one.P @ np.exp((low - v) / one.temperature))


@pytest.mark.parametrize("seed", SEEDS)
def test_weights(seed: int) -> None:
    """d, w, s, log s of each row; and padding that disturbs no minimum."""
    one, n = case(seed), seed % 17 + 1
    d = (one.values - one.values.min(axis=1, keepdims=True)) / one.temperature
    w = np.exp(-d)
    s = w @ one.P.T
    found = weights(one)
    for array, expected in zip(found[:3], (d, w, s), strict=True):
        np.testing.assert_allclose(array[:, :n], expected, rtol=one.rounding)
    np.testing.assert_allclose(found.logs[:, :n], np.log(s), rtol=2 * EPS, atol=one.rounding)
    for array in found:
        np.testing.assert_array_equal(array[:, n:], np.repeat(array[:, :1], array.shape[1] - n, axis=1))
    steep = one.values.copy()
    steep[3, 0] += 250 * one.temperature
    if n > 1:
        assert full.weigh_block(one.square, one.temperature, steep, full.UNKNOWN, found) == 3


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse(seed: int) -> None:
    """A Z = I, within n eps of its precision times the condition of A; beyond one scale there is none."""
    one, n = case(seed), seed % 17 + 1
    A = np.eye(n) - policies(one)[0] + 1 / n
    Z = full.inverse_at(one.square, one.temperature, one.values[0])
    tolerance = 10 * (n + one.rounding / EPS) * np.finfo(Z.dtype).eps * np.linalg.cond(A)
    np.testing.assert_allclose(A @ Z[:, :n].T, np.eye(n), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(Z[:, n:], 0.0)
    if n > 1:
        assert not full.inverse_at(one.square, one.temperature, 1e3 * np.arange(n) * one.temperature).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_step_of_a_leader(seed: int) -> None:
    """v + A^{-1} (Bv - v - its first entry), and its bounds; any gap is wide enough to end after one step."""
    one, n, rng = case(seed), seed % 17 + 1, np.random.default_rng(seed)
    v, T = one.values[0], one.temperature
    inverse = full.inverse_at(one.square, T, v)
    size = np.abs(inverse).sum(axis=0).max()
    c = v - bellman(one, np.zeros(n), v) + T / size * rng.uniform(0, 1, n)  # v is nearly the optimum for it
    found = full.lead_block(one.square, T, c[np.newaxis], np.array([1e9]), v, inverse, 0)
    r = bellman(one, c, v) - v
    step = inverse[:, :n].T.astype(np.float64) @ (r - r[0])
    new = v + step
    rough = 2 * (n + 2) * np.finfo(inverse.dtype).eps * size * np.ptp(r)  # of a product in the precision of the inverse
    size *= np.abs(c).max() + T * (1 + one.span)
    assert found.done == 1
    np.testing.assert_allclose(found.v[1], new - new.min(), rtol=0, atol=rough + 4 * one.rounding * size)
    r = bellman(one, c, found.v[1]) - found.v[1]
    rounding = one.rounding * (T + np.abs(found.v[1]).max())
    assert found.lo[0] <= r.min() + rounding
    assert found.hi[0] >= r.max() - rounding
    assert found.hi[0] - found.lo[0] <= np.ptp(r) + 10 * T * (3 * n + 10 + 10 * 100) * EPS + rounding


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_tracking(seed: int, averaged: bool) -> None:
    """Two updates a round, plain or averaged, and the bounds that the v before proves."""
    one, n, T = case(seed), seed % 17 + 1, case(seed).temperature
    means = T * np.random.default_rng(seed).uniform(0, 1, (4, n))
    values, lo, hi = np.zeros((4, n)), np.empty(3), np.empty(3)
    assert full.track_block(one.square, T, means, 2, averaged, values, lo, hi) == 3
    for k in range(3):
        v, r = values[k], bellman(one, means[k], values[k]) - values[k]
        np.testing.assert_allclose([lo[k], hi[k]], [r.min(), r.max()], rtol=0, atol=2000 * EPS * T * (n + 1))
        for _ in range(2):
            once = bellman(one, means[k + 1], v)
            v = (once + bellman(one, means[k + 1], once)) / 2 if averaged else once
        np.testing.assert_allclose(values[k + 1], v - v.min(), rtol=0, atol=200 * EPS * T * (n + 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_pushing_a_law(seed: int) -> None:
    """p Q, round by round; nothing is subtracted, so that each entry is known relatively."""
    one, n = case(seed), seed % 17 + 1
    law, Q = np.eye(n)[0], policies(one)
    found = full_laws.push_block(one.square, weights(one), law, len(one.values))
    for k in range(len(one.values)):
        np.testing.assert_allclose(found[k, :n], law, rtol=3 * (k + 1) * one.rounding)
        law = law @ Q[k]
    np.testing.assert_array_equal(found[:, n:], 0.0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("distance", [1.0, 1e-3])
def test_stationary_laws(seed: int, distance: float) -> None:
    """Of whichever way: each within the goal, and by reduction to the last digits of each entry."""
    one, n = case(seed, distance), seed % 17 + 1
    done, found, _ = full_laws.stationary(
        one.square, one.temperature, one.values, weights(one), full_laws.Equilibrium.first(one.square)
    )
    assert done == len(one.values)
    for k, Q in enumerate(policies(one)):
        expected = law_of(Q)
        assert np.abs(found[k + 1, :n] - expected).sum() <= full_laws.LAW_GOAL
        if n <= full_laws.REDUCED_STATES and not one.square.balanced.size:
            np.testing.assert_allclose(found[k + 1, :n], expected, rtol=4 * n * one.rounding)


@pytest.mark.parametrize("distance", [0.5, 1e-2, 1e-4])
@pytest.mark.parametrize("n", [17, 24, 33, 60])
def test_laws_from_an_anchor(n: int, distance: float) -> None:
    """A full P, whose policies are near the first one; far ones are found by steps mu <- mu Q, or by reduction."""
    rng = np.random.default_rng(n)
    lmdp = LMDP(rng.uniform(0, 1, (n, n)), normalise=True)
    assert lmdp.square is not None
    values = rng.uniform(0, 1, n) + distance * rng.uniform(0, 1, (12, n))
    one = Case(lmdp.square, lmdp.P.toarray(), 1.0, values)
    first = full_laws.Equilibrium.first(one.square)
    done, found, rest = full_laws.stationary(one.square, 1.0, values, weights(one), first)
    assert done == 12
    for k, Q in enumerate(policies(one)):
        assert np.abs(found[k + 1, :n] - law_of(Q)).sum() <= full_laws.LAW_GOAL
    np.testing.assert_array_equal(rest.anchor, values[0])
    Z = np.linalg.inv(np.eye(n) - policies(one)[0] + 1 / n)
    np.testing.assert_allclose(rest.K, np.abs(Z).sum(axis=1).max(), rtol=1e-12)
    if distance <= 1e-2:
        assert rest.debt < full_laws.PRODUCTS_OF_A_REDUCTION  # nothing was left to a reduction


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("distance", [1.0, 1e-3, 1e-6])
def test_figures_of_rounds(seed: int, distance: float) -> None:
    """The five figures as they are defined, from Q, Q' and P written out."""
    one, n = case(seed, distance), seed % 17 + 1
    costs, law, T = np.random.default_rng(seed).uniform(0, 1, (5, n)), np.full(n, 1 / n), one.temperature
    first = full_laws.Equilibrium.first(one.square)
    found = full_accounts.account(one.square, T, 7, one.values, costs, law, first)
    assert found.done == 5
    Q, known = policies(one), one.rounding + full_laws.LAW_GOAL
    for k in range(5):
        mu, ratio = law_of(Q[k]), np.where(Q[k] > 0, Q[k] / np.where(one.P > 0, one.P, 1.0), 1.0)
        kl = (Q[k] * np.log(np.where(ratio > 0, ratio, 1.0))).sum(axis=1)
        change = np.abs(Q[k] - Q[k + 1]).sum(axis=1).max()
        y = np.log(np.where(Q[k] > 0, Q[k + 1] / np.where(Q[k] > 0, Q[k], 1.0), 1.0))
        step = (7 + k) * T * mu @ (Q[k] * (np.expm1(y) - y)).sum(axis=1)
        expected = [law @ costs[k], T * law @ kl, mu @ costs[k] + T * mu @ kl]
        scale = 1 + T * (1 + one.span)
        np.testing.assert_allclose(found.columns[:3, k], expected, rtol=0, atol=20 * known * scale)
        np.testing.assert_allclose(found.columns[3, k], change, rtol=0, atol=20 * one.rounding)
        # y is known to ``rounding`` here and there, and the step is quadratic in it
        atol = 40 * (7 + k) * T * (one.rounding * (distance + one.rounding) + full_laws.LAW_GOAL * distance**2)
        np.testing.assert_allclose(found.columns[4, k], step, rtol=1e-10, atol=atol)
        law = law @ Q[k]
    np.testing.assert_allclose(found.kl, kl, rtol=0, atol=20 * known * (1 + one.span))
    np.testing.assert_allclose(found.law, law, rtol=20 * one.rounding)
