"""A policy as (P, v): what it does agrees with the matrix that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import (
    LMDP,
    AssumptionError,
    ConvergenceError,
    CostError,
    DiscountedLeader,
    FollowTheLeader,
    Policy,
    TrackTheLeader,
    grid,
    random_graph,
    solve,
)
from lsmdp.chain import long_run_law
from lsmdp.game import Game


@pytest.fixture(scope="module")
def policy() -> Policy:
    rng = np.random.default_rng(0)
    return Policy(grid(4, 5, temperature=0.5), rng.uniform(0, 3, 20))


def test_rows_push_expect_and_kl_belong_to_one_kernel(policy: Policy) -> None:
    rng = np.random.default_rng(1)
    Q, P = policy.matrix().toarray(), policy.lmdp.P.toarray()
    w = np.exp(-policy.v / 0.5)
    np.testing.assert_allclose(Q, P * w / (P @ w)[:, None], rtol=1e-13)  # eq:optQ
    for x in (0, 7, 19):
        states, probabilities = policy.row(x)
        np.testing.assert_array_equal(states, np.flatnonzero(Q[x]))
        np.testing.assert_allclose(probabilities, Q[x, states], rtol=1e-14)
    p, f = rng.dirichlet(np.ones(20)), rng.normal(size=20)
    np.testing.assert_allclose(policy.push(p), p @ Q, rtol=1e-13)
    np.testing.assert_allclose(policy.expect(f), Q @ f, rtol=0, atol=1e-14)
    kl = [np.sum(Q[x, Q[x] > 0] * np.log(Q[x, Q[x] > 0] / P[x, Q[x] > 0])) for x in range(20)]
    np.testing.assert_allclose(policy.kl(), kl, rtol=0, atol=1e-14)
    mu = policy.stationary()
    np.testing.assert_allclose(mu @ Q, mu, rtol=1e-13)


def test_sampling_follows_the_row(policy: Policy) -> None:
    rng = np.random.default_rng(2)
    states, probabilities = policy.row(7)
    drawn = np.array([policy.sample(7, rng) for _ in range(20_000)])
    seen = np.array([(drawn == state).mean() for state in states])
    assert set(drawn) <= set(states)
    # five standard deviations of a frequency over 20,000 draws
    np.testing.assert_allclose(seen, probabilities, rtol=0, atol=5 * np.sqrt(0.25 / 20_000))


def test_a_constant_value_is_the_passive_policy() -> None:
    lmdp = grid(3, 3)
    policy = Policy(lmdp, np.full(9, 4.2))
    np.testing.assert_array_equal(policy.matrix().toarray(), lmdp.P.toarray())
    np.testing.assert_array_equal(policy.kl(), np.zeros(9))


def test_arguments_are_checked(policy: Policy) -> None:
    with pytest.raises(CostError, match="the model has 20 states"):
        Policy(policy.lmdp, [1.0, 2.0])
    with pytest.raises(CostError, match="sums to 2"):
        policy.push(np.full(20, 0.1))
    with pytest.raises(CostError, match="must be a finite number"):
        policy.expect(np.full(20, np.nan))


def test_moves_below_the_smallest_float_do_not_break_the_law() -> None:
    policy = Policy(LMDP([[0.5, 0.5], [0.5, 0.5]], temperature=1e-3), [0.0, 1.0])
    np.testing.assert_array_equal(policy.stationary(), [1.0, 0.0])
    solution = solve(LMDP([[0.5, 0.5], [0.5, 0.5]], temperature=1e-3), [0.0, 1.0])
    np.testing.assert_array_equal(solution.stationary, [1.0, 0.0])


def test_a_law_is_finite_or_refused() -> None:
    """Moves of 1e-320 have three digits, and 1 over one is infinite. States 0 and 1 hold all of the mass."""
    rare = 1e-320
    P = [[0.0, 1.0, rare, 0.0], [1.0, 0.0, 0.0, rare], [0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0]]
    np.testing.assert_allclose(Policy(LMDP(P), np.zeros(4)).stationary(), [0.5, 0.5, 0.0, 0.0], atol=1e-300)
    wells = [[1.0, rare, 0.0], [0.0, 1.0, rare], [rare, 0.0, 1.0]]
    with pytest.raises(ConvergenceError, match="beyond float64"):
        Policy(LMDP(wells), np.zeros(3)).stationary()
    rooms = LMDP([[1, 1e-6, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 1, 1e-6], [0.5, 0, 0, 0.5]], normalise=True)
    solution = solve(rooms, [0.0, 1e4, 0.0, 1e4])  # the moves out of states 0 and 2 underflow
    with pytest.raises(ConvergenceError, match=r"less than once in 1e308 steps.*The values and the policy are not"):
        _ = solution.stationary


def test_the_law_of_a_reversible_model_needs_no_linear_algebra() -> None:
    """Against elimination on the written-out kernel; and where that kernel has underflowed, by symmetry."""
    policy = Policy(grid(5, 8), np.random.default_rng(3).uniform(0, 30, 40))
    np.testing.assert_allclose(policy.stationary(), long_run_law(policy.matrix()), rtol=1e-12)
    wells = Policy(grid(1, 201), 1000.0 * np.minimum(np.arange(201), np.arange(201)[::-1]))
    with pytest.raises(AssumptionError, match="more than one set of states that it never leaves"):
        long_run_law(wells.matrix())
    np.testing.assert_allclose(wells.stationary()[[0, 200]], 0.5, rtol=1e-12)


def test_nothing_can_be_written(policy: Policy) -> None:
    with pytest.raises(ValueError, match="read-only"):
        policy.v[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        policy.stationary()[0] = 1.0
    with pytest.raises(AttributeError):
        policy.v = np.zeros(20)  # type: ignore[misc]


def test_what_is_known_of_a_policy_is_found_once_and_can_be_given() -> None:
    lmdp = grid(20, 20)
    policy = Policy(lmdp, np.random.default_rng(3).uniform(0, 2, 400))
    assert policy.known_flow is None
    assert policy.flow is policy.flow
    assert policy.known_flow is policy.flow
    given = Policy.with_flow(lmdp, policy.flow)
    assert given.flow is policy.flow
    np.testing.assert_array_equal(given.v, policy.v)


@pytest.mark.parametrize("lmdp", [grid(4, 4), grid(30, 30), random_graph(300)], ids=["full", "grid", "random"])
def test_after_the_cache_was_cleared_the_same_bits_come_out(lmdp: LMDP) -> None:
    """In the middle of a game, and for a solve and a law."""
    costs = np.random.default_rng(4).uniform(0, 1, (24, lmdp.n))
    learners = [FollowTheLeader(), TrackTheLeader(), DiscountedLeader()]

    def figures(clear: bool) -> str:
        game, rows = Game.begin(lmdp, learners), []
        for first in range(0, 24, 3):
            if clear:
                lmdp.cache.clear()
                assert not list(lmdp.cache)
            played = game.play(costs[first : first + 3])
            rows += [row._replace(seconds=0.0) for records in played for row in records.rows()]
        solution = solve(lmdp, costs[0])
        return repr((rows, solution.bounds, solution.v.tolist(), solution.policy.stationary().tolist()))

    kept = figures(clear=False)
    assert "moves" in list(lmdp.cache)
    assert figures(clear=True) == kept
