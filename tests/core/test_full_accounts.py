"""What rounds cost on a P that is written out: against the sparse loops, and on slow chains against 40 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from lsmdp import (
    LMDP,
    clusters,
    grid,
    ring,
)
from lsmdp._core import full_accounts, sparse, sparse_play
from lsmdp._core.full_laws import LAW_GOAL, Equilibrium
from lsmdp.arrays import EPS
from lsmdp.learners import FollowTheLeader
from lsmdp.policy import Policy
from tests.core.test_full import MODELS, dense, uniform


@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("model", ["dense 13", "dense 21", "grid 4x5", "ring 9, drift", "clusters", "random 30"])
def test_the_figures_agree_with_the_sparse_loops(model: str, temperature: float) -> None:
    """Each figure of a round from sparse.py and Policy; the policies differ much, little and hardly at all."""
    lmdp = LMDP(MODELS[model]().P, temperature=temperature)
    assert lmdp.square is not None
    rng = np.random.default_rng(0)
    law, rest = np.eye(lmdp.n)[0], Equilibrium.first(lmdp.square)
    for distance in (1.0, 1e-3, 1e-5, 1e-7):
        v = rng.uniform(0, 2, lmdp.n)
        other = v + distance * rng.normal(size=lmdp.n)
        c = rng.uniform(0, 1, lmdp.n)
        found = full_accounts.account(lmdp.square, temperature, 3, np.array([v, other]), c[np.newaxis], law, rest)
        assert found.done == 1
        kl, after = sparse_play.play(lmdp.P, sparse.flow(lmdp.P, v, temperature), law)
        divergence, change = sparse_play.divergence(lmdp.P, *(sparse.flow(lmdp.P, x, temperature) for x in (v, other)))
        stationary = Policy(lmdp, v).stationary()
        np.testing.assert_allclose(found.kl, kl, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(found.law, after, rtol=1e-13, atol=1e-300)
        assert np.abs(found.rest.mu - stationary).sum() <= LAW_GOAL
        expected = [
            law @ c,
            temperature * law @ kl,
            stationary @ (c + temperature * kl),
            change,
            3 * temperature * stationary @ divergence,
        ]
        # log(s'/s) is known to 1e-16, so y to that and its square to 1e-16 / distance
        np.testing.assert_allclose(found.columns[:, 0], expected, rtol=1e-13 + 1e-14 / distance, atol=1e-13 * distance)
        law, rest = found.law, found.rest


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_what_a_certificate_has_summed_up_leaves_the_figures_as_they_are(temperature: float) -> None:
    """The same bits, whether the accounts are told s = P w or sum it up; and they do go by what they are told."""
    lmdp, learner, costs = dense(21, temperature=temperature), FollowTheLeader(), uniform(50, 21)
    assert lmdp.square is not None
    found = learner.observe_block(lmdp, learner.init(lmdp), costs)
    assert len(found.sums) == 51
    first = np.eye(21)[0], Equilibrium.first(lmdp.square)
    bill = lmdp.square, temperature, 1, found.values, costs, *first
    alone, told = full_accounts.account(*bill), full_accounts.account(*bill, found.sums)
    assert alone.done == told.done == 50
    np.testing.assert_array_equal(told.columns, alone.columns)
    np.testing.assert_array_equal(told.law, alone.law)
    assert not np.array_equal(full_accounts.account(*bill, 0.9 * found.sums).columns, alone.columns)


@pytest.mark.parametrize("model", ["dense 21", "random 30", "one-way clusters"])
@pytest.mark.parametrize("pace", ["slow", "fast"])
def test_the_stationary_law_follows_the_policies(model: str, pace: str) -> None:
    """Within LAW_GOAL of state reduction in every round; policies that settle need few inversions."""
    lmdp = clusters(2, 15, 1e-2, degree=3) if model == "one-way clusters" else MODELS[model]()
    assert lmdp.reversible_law is None
    assert lmdp.square is not None
    rng, v = np.random.default_rng(7), np.zeros(lmdp.n)
    law, rest, inversions = np.eye(lmdp.n)[0], Equilibrium.first(lmdp.square), 0
    for t in range(1, 300):
        before, after = v, v + (1 / t if pace == "slow" else 0.3) * rng.uniform(-1, 1, lmdp.n)
        v = after - after.min() if pace == "slow" else 0.9 * (after - after.min())
        c = np.zeros((1, lmdp.n))
        found = full_accounts.account(lmdp.square, 1.0, t, np.array([before, v]), c, law, rest)
        assert np.abs(found.rest.mu - Policy(lmdp, before).stationary()).sum() <= LAW_GOAL
        inversions += not np.array_equal(found.rest.anchor, rest.anchor)
        law, rest = found.law, found.rest
    if pace == "slow":
        assert inversions < 30


def test_a_policy_that_stays() -> None:
    """No divergence, no change, and the law tends to the stationary one; as if it were a new policy each round."""
    for lmdp in (dense(21), dense(5), grid(4, 5)):
        assert lmdp.square is not None
        v, c, first = np.arange(lmdp.n) / 7, uniform(40, lmdp.n), Equilibrium.first(lmdp.square)
        found = full_accounts.account(lmdp.square, 1.0, 1, np.tile(v, (41, 1)), c, np.eye(lmdp.n)[0], first)
        assert found.done == 40
        np.testing.assert_array_equal(found.columns[3:], 0.0)
        mu = Policy(lmdp, v).stationary()
        np.testing.assert_allclose(found.columns[2], c @ mu + mu @ found.kl, rtol=1e-11)
        np.testing.assert_allclose(
            found.kl, sparse_play.play(lmdp.P, sparse.flow(lmdp.P, v), mu)[0], rtol=1e-12, atol=1e-14
        )


def test_a_stationary_law_is_one_to_the_last_digit_where_mixing_is_slow() -> None:
    lmdp = clusters(2, 12, 1e-9, degree=4)
    assert lmdp.square is not None
    v = np.random.default_rng(1).uniform(0, 3, lmdp.n)
    found = full_accounts.account(
        lmdp.square,
        1.0,
        1,
        np.array([v, v]),
        np.ones((1, lmdp.n)),
        np.eye(lmdp.n)[0],
        Equilibrium.first(lmdp.square),
    )
    np.testing.assert_allclose(found.rest.mu, Policy(lmdp, v).stationary(), rtol=1e-12)


def nearly_periodic(n: int) -> LMDP:
    """Round a ring with hardly a pause: powers of P take a million steps to settle."""
    rng, P = np.random.default_rng(8), np.zeros((n, n))
    P[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    P += 1e-3 * np.diag(rng.uniform(1, 2, n))
    return LMDP(P, normalise=True)


SLOW = {
    "nearly decomposable": lambda: clusters(2, 12, 1e-5, degree=4),
    "hardly connected": lambda: clusters(3, 8, 1e-9, degree=4),
    "nearly periodic": lambda: nearly_periodic(21),
    "drift": lambda: ring(21, 0.999),
    "dense": lambda: dense(24),
}


def exact_step(lmdp: LMDP, v: np.ndarray, other: np.ndarray, mu: np.ndarray) -> float:
    """mu.KL(Q || Q') with 40 digits."""
    P = lmdp.P.toarray()
    with mpmath.workdps(40):
        found = mpmath.mpf(0)
        for x in range(lmdp.n):
            to = np.flatnonzero(P[x])
            weights, others = ([mpmath.mpf(P[x, z]) * mpmath.exp(-mpmath.mpf(u[z])) for z in to] for u in (v, other))
            Q, R = ([one / mpmath.fsum(row) for one in row] for row in (weights, others))
            found += mpmath.mpf(mu[x]) * mpmath.fsum(q * mpmath.log(q / r) for q, r in zip(Q, R, strict=True))
        return float(found)


@pytest.mark.parametrize("model", SLOW)
@pytest.mark.parametrize("span", [1.0, 60.0])
@pytest.mark.parametrize("move", ["each state", "parts as a whole"])
def test_ideal_steps_are_exact_on_slow_chains_and_for_steep_values(model: str, span: float, move: str) -> None:
    """Also where v moves by nearly the same in a whole part of the chain, and next to nothing is left of the step."""
    lmdp, rng = SLOW[model](), np.random.default_rng(11)
    n = lmdp.n
    assert lmdp.square is not None
    v = rng.uniform(0, span, n)
    rest, law = Equilibrium.first(lmdp.square), np.full(n, 1 / n)
    for distance in (1e-2, 1e-3, 5e-5, 1e-6):
        direction = rng.uniform(-1, 1, n)
        if move == "parts as a whole":
            direction = (np.arange(n) < n // 2) + 1e-3 * direction
        other = v + distance * direction
        found = full_accounts.account(lmdp.square, 1.0, 1, np.array([v, other]), np.zeros((1, n)), law, rest)
        mu = Policy(lmdp, v).stationary()
        assert np.abs(found.rest.mu - mu).sum() <= LAW_GOAL
        # delta and eta are known to this, hence the step to 2 A of it, where KEPT A^2 <= step; and mu to LAW_GOAL
        known, exact = (n + 4 + 8 * span) * EPS, exact_step(lmdp, v, other, mu)
        atol = 2 * known * np.sqrt(exact / full_accounts.SHARE_LEFT) + LAW_GOAL * distance**2
        np.testing.assert_allclose(found.columns[4, 0], exact, rtol=1e-13, atol=atol)
        rest, v = found.rest, other


@pytest.mark.parametrize("model", [name for name in SLOW if name != "drift"])
def test_laws_of_slow_chains_are_within_their_goal_round_by_round(model: str) -> None:
    """Whichever way each of them was found: by an anchor, where a visit to each state is not long in coming."""
    lmdp, rng = SLOW[model](), np.random.default_rng(5)
    assert lmdp.square is not None
    v, rest, law = rng.uniform(0, 3, lmdp.n), Equilibrium.first(lmdp.square), np.eye(lmdp.n)[0]
    for t in range(1, 150):
        other = v + rng.uniform(-1, 1, lmdp.n) / t**2
        page = full_accounts.account(lmdp.square, 1.0, t, np.array([v, other]), np.zeros((1, lmdp.n)), law, rest)
        assert np.abs(page.rest.mu - Policy(lmdp, v).stationary()).sum() <= LAW_GOAL
        v, rest, law = other, page.rest, page.law
    assert np.isfinite(rest.K) == (model in ("dense", "nearly periodic"))
