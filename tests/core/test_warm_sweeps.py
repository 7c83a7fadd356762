"""Sweeps for the change of v: what they certify is right, and they know when to stop."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import (
    LMDP,
    clusters,
    grid,
    random_graph,
    solve,
)
from lsmdp._core import sparse
from lsmdp._core import sweeps as core_sweeps
from lsmdp.arrays import Floats
from lsmdp.solvers.problem import NEVER
from lsmdp.solvers.warm import sweeps
from lsmdp.solvers.warm.chord import SolvedRounds

TOL = 1e-6


def swept_from(lmdp: LMDP, c: Floats, tol: float, flow: sparse.Flow, limit: int) -> sweeps.Swept:
    """One round, in room of its own."""
    return sweeps.sweep(lmdp, c, tol, flow, limit, SolvedRounds.blank(1, lmdp.n))


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
    "random graph": (lambda: random_graph(3000), 8),
    "large random graph": (lambda: random_graph(20_000), 8),  # large enough for sweeps that end early
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
        swept = swept_from(lmdp, c_sum / t, TOL, lmdp.moves.flow(v), most)
        assert swept.certified
        assert 0 < swept.sweeps <= most
        r, lo, hi = sparse.residual(lmdp.P, c_sum / t, swept.v, T)
        assert (lo, hi) == (swept.lo, swept.hi)
        assert np.ptp(r) <= hi - lo <= TOL
        assert swept.v.min() == 0.0
        v = swept.v
    truth = solve(lmdp, c_sum / t, tol=1e-9)
    assert swept.lo <= truth.bounds[1]
    assert swept.hi >= truth.bounds[0]


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_the_bits_are_those_of_a_run_that_was_resumed(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of v is what is computed from v alone, and threads, or a call more or less, change nothing."""
    lmdp, c = random_graph(2000, temperature=temperature), np.random.default_rng(3).uniform(0, 1, 2000)
    v, c_next = solve(lmdp, c, tol=TOL).v, c + 1e-3 * np.random.default_rng(4).uniform(0, 1, 2000)
    swept = swept_from(lmdp, c_next, TOL, lmdp.moves.flow(v), 60)
    assert swept.certified
    for kept, computed in zip(swept.flow, sparse.flow(lmdp.P, swept.v.copy(), temperature), strict=True):
        np.testing.assert_array_equal(kept, computed)
    monkeypatch.setattr(sweeps, "MOVES_OF_A_LARGE_P", 0)
    other = LMDP(lmdp.P, temperature=temperature)
    again = swept_from(other, c_next, TOL, other.moves.flow(v.copy()), 60)
    np.testing.assert_array_equal(again.v, swept.v)
    assert again[1:] == swept[1:]


@pytest.mark.parametrize("name", ["random graph", "cold random graph", "two clusters"])
def test_rounds_at_once_have_the_bits_of_rounds_one_by_one(name: str) -> None:
    lmdp, rng = MODELS[name][0](), np.random.default_rng(5)
    costs = np.cumsum(rng.uniform(0, 1, (1010, lmdp.n)), axis=0)[1000:] / np.arange(1001, 1011)[:, None]
    costs[7] = rng.uniform(0, 30, lmdp.n)  # more than sweeps can do
    start = solve(lmdp, costs[0], tol=TOL).v
    out, v = SolvedRounds.blank(10, lmdp.n), start
    done, last = sweeps.sweep_block(lmdp, costs, np.full(10, TOL), lmdp.moves.flow(v), 40, out)
    assert done == 7
    for k in range(done):
        swept = swept_from(lmdp, costs[k], TOL, lmdp.moves.flow(v), 40)
        assert swept[1:4] == (out.lo[k], out.hi[k], out.steps[k])
        np.testing.assert_array_equal(swept.v, out.v[k])
        v = swept.v
    np.testing.assert_array_equal(last.v, v)
    for rounds in (2, 3, 4, 8):
        aims = costs[:rounds], np.full(rounds, TOL)
        done, last = sweeps.sweep_block(lmdp, *aims, lmdp.moves.flow(start), 40, SolvedRounds.blank(rounds, lmdp.n))
        np.testing.assert_array_equal(last.v, out.v[done - 1])
        for kept, computed in zip(last, sparse.flow(lmdp.P, last.v, lmdp.temperature), strict=True):
            np.testing.assert_array_equal(kept, computed)


def test_a_change_that_is_not_small() -> None:
    """Several rounds of sweeps, each from the certificate of the last, as in policy iteration."""
    lmdp, rng = random_graph(2000), np.random.default_rng(1)
    c = rng.uniform(0, 3, lmdp.n)
    swept = swept_from(lmdp, c, 1e-9, lmdp.moves.flow(np.zeros(lmdp.n)), 100)
    assert swept.certified
    _, lo, hi = sparse.residual(lmdp.P, c, swept.v, 1.0)
    assert hi - lo <= 1e-9


def test_slow_chains_are_given_up_early_and_predicted_to_take_long() -> None:
    lmdp = grid(30, 30)
    c = np.random.default_rng(2).uniform(0, 1, lmdp.n)
    v = solve(lmdp, c, tol=1e-8).v
    swept = swept_from(lmdp, c + 1e-3 * np.linspace(0, 1, lmdp.n), TOL, lmdp.moves.flow(v), 60)
    assert not swept.certified
    assert swept.sweeps < 40
    assert swept.left > 10


def test_a_steep_v_is_left_to_others() -> None:
    lmdp = random_graph(500, 5)
    for span in (1.5 * core_sweeps.SPAN_IN_SINGLE, 2 * sparse.SPAN_OF_ONE_SCALE):
        v = np.linspace(0, span, lmdp.n)
        swept = swept_from(lmdp, np.zeros(lmdp.n), TOL, lmdp.moves.flow(v), 30)
        assert not swept.certified
        assert swept.sweeps == 0
        assert swept.left == NEVER
