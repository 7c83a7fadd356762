"""Sweeps for the change of v: what they certify is right, and they know when to stop."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import LMDP, clusters, grid, kernels, random_graph, solve
from lsmdp.perron import seidel

TOL = 1e-6


def unequal(small: int, large: int, link: float) -> LMDP:
    """Two random graphs of different sizes; from either, a state moves to the other with probability link."""
    n = small + large
    W = np.zeros((n, n))
    W[:small, :small] = random_graph(small, 5, seed=1).P.toarray() * (1 - link)
    W[small:, small:] = random_graph(large, 5, seed=2).P.toarray() * (1 - link)
    W[np.arange(small), small + np.arange(small)] += link
    W[small + np.arange(large), np.arange(large) % small] += link
    return LMDP(W)


MODELS = {
    "random graph": (lambda: random_graph(3000), 9),
    "cold random graph": (lambda: random_graph(2000, temperature=0.2), 16),
    "two clusters": (lambda: clusters(2, 1000, 1e-4), 20),
    "three clusters": (lambda: clusters(3, 500, 1e-3), 30),
    "hardly linked clusters": (lambda: clusters(2, 1000, 1e-6), 20),
    "unequal clusters": (lambda: unequal(40, 700, 1e-4), 40),
}


@pytest.mark.parametrize("name", MODELS)
def test_rounds_are_certified_and_right(name: str) -> None:
    make, most = MODELS[name]
    lmdp, rng = make(), np.random.default_rng(0)
    T, t, c_sum = lmdp.temperature, 1000, rng.binomial(1000, 0.5, lmdp.n).astype(float)
    v = solve(lmdp, c_sum / t, tol=TOL).v
    for _ in range(6):
        t, c_sum = t + 1, c_sum + rng.uniform(0, 1, lmdp.n)
        swept = seidel.sweep(lmdp, c_sum / t, TOL, v, most)
        assert swept.certified
        assert 0 < swept.sweeps <= most
        r, lo, hi = kernels.residual(lmdp.P, c_sum / t, swept.v, T)
        assert (lo, hi) == (swept.lo, swept.hi)
        assert np.ptp(r) <= hi - lo <= TOL
        assert swept.v.min() == 0.0
        v = swept.v
    truth = solve(lmdp, c_sum / t, tol=1e-9)
    assert swept.lo <= truth.bounds[1]
    assert swept.hi >= truth.bounds[0]


def test_a_change_that_is_not_small() -> None:
    """Several rounds of sweeps, each from the certificate of the last, as in policy iteration."""
    lmdp, rng = random_graph(2000), np.random.default_rng(1)
    c = rng.uniform(0, 3, lmdp.n)
    swept = seidel.sweep(lmdp, c, 1e-9, np.zeros(lmdp.n), 100)
    assert swept.certified
    _, lo, hi = kernels.residual(lmdp.P, c, swept.v, 1.0)
    assert hi - lo <= 1e-9


def test_slow_chains_are_given_up_early_and_predicted_to_take_long() -> None:
    lmdp = grid(30, 30)
    c = np.random.default_rng(2).uniform(0, 1, lmdp.n)
    v = solve(lmdp, c, tol=1e-8).v
    swept = seidel.sweep(lmdp, c + 1e-3 * np.linspace(0, 1, lmdp.n), TOL, v, 60)
    assert not swept.certified
    assert swept.sweeps < 40
    assert swept.left > 10


def test_a_steep_v_is_left_to_others() -> None:
    lmdp = random_graph(500, 5)
    for span in (1.5 * seidel.SPAN, 2 * kernels.FLAT):
        v = np.linspace(0, span, lmdp.n)
        swept = seidel.sweep(lmdp, np.zeros(lmdp.n), TOL, v, 30)
        assert not swept.certified
        assert swept.sweeps == 0
        assert swept.left == seidel.MANY
