"""Policies that are kernels on the moves of P, against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import lsmdp
from lsmdp.mixture import mix, same_policy

P = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
Q = np.array([[0.1, 0.1, 0.8], [0.8, 0.2, 0.0], [0.1, 0.8, 0.1]])
V = np.array([0.0, 1.0, 3.0])


@pytest.fixture
def policy() -> lsmdp.Mixture:
    return lsmdp.Mixture(lsmdp.LMDP(P, temperature=0.5), Q)


def test_what_it_says(policy: lsmdp.Mixture) -> None:
    p, f = np.array([0.2, 0.3, 0.5]), np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(policy.matrix().toarray(), Q, atol=1e-15)
    np.testing.assert_allclose(policy.row(1)[1], Q[1], atol=1e-15)
    np.testing.assert_allclose(policy.push(p), p @ Q)
    np.testing.assert_allclose(policy.expect(f), Q @ f)
    logs = np.log(np.where(Q > 0.0, Q, 1.0) / np.where(Q > 0.0, P, 1.0))
    np.testing.assert_allclose(policy.kl(), (Q * logs).sum(axis=1))
    mu = policy.stationary()
    np.testing.assert_allclose(mu @ Q, mu, atol=1e-14)
    np.testing.assert_allclose(policy.transition_measure().toarray(), mu[:, None] * Q, atol=1e-15)
    assert policy.to_frame().num_rows == 9
    assert "Mixture" in repr(policy)
    assert "Mixture" in policy._repr_html_()


def test_divergence_from_the_policy_of_a_value_function(policy: lsmdp.Mixture) -> None:
    own = P * np.exp(-V / 0.5)
    own /= own.sum(axis=1, keepdims=True)
    logs = np.log(np.where(Q > 0.0, Q, 1.0) / np.where(Q > 0.0, own, 1.0))
    np.testing.assert_allclose(policy.divergence(V), (Q * logs).sum(axis=1), rtol=1e-12)
    close = lsmdp.Mixture(policy.lmdp, lsmdp.Policy(policy.lmdp, V).matrix())
    assert close.divergence(V).max() < 1e-30  # nothing cancels
    moved = np.array([0.0, 1.0 + 1e-5, 3.0])
    expected = lsmdp.Policy(policy.lmdp, V).divergence(moved)
    np.testing.assert_allclose(close.divergence(moved), expected, rtol=1e-5)


def test_walkers_follow_it(policy: lsmdp.Mixture) -> None:
    walk = lsmdp.simulate(policy, 2000, walkers=20, seed=1)
    np.testing.assert_allclose(walk.shares, policy.stationary(), atol=0.02)
    assert not ((walk.paths[:-1] == 1) & (walk.paths[1:] == 2)).any()
    rng = np.random.default_rng(0)
    assert set(policy.sample(np.full(200, 1), rng).tolist()) == {0, 1}
    assert policy.sample(1, rng) in (0, 1)


def test_a_fixed_mixture_plays(policy: lsmdp.Mixture) -> None:
    costs = np.random.default_rng(0).random((20, 3))
    run = lsmdp.play(policy.lmdp, lsmdp.Fixed(policy), costs, sample=4)
    law, paid = np.eye(3)[0], 0.0
    for c in costs:
        paid, law = paid + law @ (c + 0.5 * policy.kl()), law @ Q
    assert run.learners["fixed"].loss == pytest.approx(paid)
    lsmdp.check_learner(lsmdp.Fixed(policy), [policy.lmdp])


def test_flow_mixture(policy: lsmdp.Mixture) -> None:
    """It moves m as the crowd moves, costs no more than the crowd, and is P where nobody is."""
    lmdp = policy.lmdp
    other = lsmdp.Policy(lmdp, V)
    shares = [np.array([0.3, 0.2, 0.0]), np.array([0.4, 0.1, 0.0])]
    found = mix(lmdp, shares, [policy, other])
    m, R = shares[0] + shares[1], other.matrix().toarray()
    np.testing.assert_allclose(m @ found.matrix().toarray(), shares[0] @ Q + shares[1] @ R, atol=1e-15)
    assert m @ found.kl() <= shares[0] @ policy.kl() + shares[1] @ other.kl()
    np.testing.assert_allclose(found.matrix().toarray()[2], P[2])
    assert same_policy(found, found)
    assert not same_policy(found, policy)
    assert not same_policy(found, other)


@pytest.mark.parametrize(
    ("given", "words"),
    [(np.ones(4), "9 weights"), (np.ones((3, 3)), "row"), (np.full((3, 3), -1.0), "negative|row|positive")],
)
def test_bad_input(given: np.ndarray, words: str) -> None:
    with pytest.raises(lsmdp.ModelError, match=words):
        lsmdp.Mixture(lsmdp.LMDP(P), given)


class Mixing(lsmdp.Passive):
    """A learner that plays one mixture, and declares this or that or nothing."""

    def __init__(self, says: bool | None) -> None:
        object.__setattr__(self, "says", says)

    @property
    def plays_mixtures(self) -> bool | None:  # type: ignore[override]
        return self.says  # type: ignore[attr-defined]

    def policy(self, lmdp: lsmdp.LMDP, state: object) -> lsmdp.Mixture:  # type: ignore[override]
        return lsmdp.Mixture(lmdp, Q)


@pytest.mark.parametrize("says", [True, None])
def test_what_is_played_is_declared_or_seen(policy: lsmdp.Mixture, says: bool | None) -> None:
    run = lsmdp.play(policy.lmdp, Mixing(says), np.full((4, 3), 0.5))
    assert np.isnan(run.learners["passive"].ideal_loss)
    assert not any("beyond float64" in note for note in run.regret().notes)
    assert len(lsmdp.certify(run).game.pools) == 1


def test_a_declaration_that_is_not_kept_is_named(policy: lsmdp.Mixture) -> None:
    with pytest.raises(lsmdp.SpecError, match="declares plays_mixtures = False, and its policy returned a Mixture"):
        lsmdp.play(policy.lmdp, Mixing(False), np.full((4, 3), 0.5))


def test_accounts_without_a_state_know_that_a_pool_has_no_ideal_loss(policy: lsmdp.Mixture) -> None:
    """A checkpoint of another version restores the accounts alone, and nothing is wrong with those of a pool."""
    run = lsmdp.play(policy.lmdp, lsmdp.Pool(), np.full((4, 3), 0.5))
    run.game.restore(run.game.to_arrays(), states=False)
    assert not any("beyond float64" in note for note in run.regret(dynamic=False).notes)
