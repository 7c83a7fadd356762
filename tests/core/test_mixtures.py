"""Mixtures of policies, their weights and what they cost, against a few lines of NumPy each."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core import mixtures
from lsmdp._core.mixtures import Odds
from lsmdp.arrays import EPS

ROUNDS, LEARNERS = 5, 3


def model(seed: int) -> LMDP:
    """Sparse or full, of 1 to 9 states."""
    rng, n = np.random.default_rng(seed), seed % 9 + 1
    return LMDP(rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.5) + np.eye(n), normalise=True)


def laws(rng: np.random.Generator, *shape: int) -> np.ndarray:
    found = rng.uniform(0.01, 1, shape)
    return found / found.sum(axis=-1, keepdims=True)


def mixture(P: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, KL(Q || P) and m from R; where m = 0, Q is P."""
    m = (P * R).sum(axis=1)
    ratio = np.where(m[:, np.newaxis] > 0.0, R / np.where(m > 0.0, m, 1.0)[:, np.newaxis], 1.0)
    Q = P * ratio
    return Q, (Q * np.log(np.where(Q > 0.0, ratio, 1.0))).sum(axis=1), m


@pytest.mark.parametrize("seed", range(18))
def test_a_mixture_of_flows(seed: int) -> None:
    """Sums of at most 12 products each, and a logarithm: 40 eps of numbers of the size of 1."""
    lmdp, rng = model(seed), np.random.default_rng(100 + seed)
    P, n = lmdp.P.toarray(), lmdp.n
    shares, p, u = laws(rng, ROUNDS, LEARNERS), laws(rng, LEARNERS, ROUNDS, n), rng.uniform(0.1, 1, (3, ROUNDS, n))
    s = u @ P.T
    found = mixtures.blend(lmdp.P, shares, p, u, s)
    for k in range(ROUNDS):
        R = np.einsum("i,ix,iy->xy", shares[k], p[:, k] / s[:, k], u[:, k])
        Q, kl, m = mixture(P, R)
        np.testing.assert_allclose(found[0][k], Q[P > 0.0], rtol=40 * EPS)
        np.testing.assert_allclose(found[1][k], kl, rtol=0, atol=40 * EPS)
        np.testing.assert_allclose(found[2][k], m, rtol=40 * EPS)


@pytest.mark.parametrize("seed", range(9))
def test_flows_are_added_entry_by_entry_and_rows_without_any_are_those_of_P(seed: int) -> None:
    lmdp, rng = model(seed), np.random.default_rng(200 + seed)
    P, R, flows = lmdp.P.toarray(), np.zeros((lmdp.n, lmdp.n)), np.zeros(lmdp.nnz)
    for _ in range(LEARNERS):
        share, u = rng.uniform(0, 1, lmdp.n) * (np.arange(lmdp.n) % 3 > 0), rng.uniform(0.1, 1, lmdp.n)
        mixtures.add_flow(lmdp.P, share, u, flows)
        R += np.outer(share, u)
    np.testing.assert_allclose(flows, R[P > 0.0], rtol=8 * EPS)
    Q, kl, m = mixture(P, R)
    found = mixtures.completed_rows(lmdp.P, flows)
    np.testing.assert_allclose(found[0], Q[P > 0.0], rtol=40 * EPS)
    np.testing.assert_allclose(found[1], kl, rtol=0, atol=40 * EPS)
    np.testing.assert_allclose(found[2], m, rtol=40 * EPS)
    np.testing.assert_array_equal(found[1][::3], 0.0)


def test_losses_are_costs_and_divergences() -> None:
    """Row k of the laws pays c_k, and T KL(Q || P) of the policy that leads to row k + 1."""
    lmdp, rng, T = model(8), np.random.default_rng(1), 0.5
    P, costs, d = lmdp.P.toarray(), rng.uniform(0, 1, (ROUNDS, 9)), rng.uniform(0, 2, (ROUNDS, 9))
    Q = P * np.exp(-d)[:, np.newaxis]
    s = Q.sum(axis=2)
    Q /= s[:, :, np.newaxis]
    p = [laws(rng, 9)]
    for k in range(ROUNDS):
        p.append(p[-1] @ Q[k])
    kl = (Q * np.log(np.where(P > 0.0, Q / np.where(P > 0.0, P, 1.0), 1.0))).sum(axis=2)
    expected = [p[k] @ (costs[k] + T * kl[k]) for k in range(ROUNDS)]
    found = mixtures.losses_of(T, costs, d, np.log(s), np.array(p))
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * EPS)


def weighed(losses: np.ndarray, share: float, odds: Odds) -> tuple[list[np.ndarray], list[float], float, float]:
    """The weights, the loss of the mixture of losses, D and r after some rounds."""
    E, w, sums, D, r = losses.shape[1], [odds.weights], odds.losses.copy(), odds.gap, odds.range
    mixed = []
    for t, loss in enumerate(losses, odds.t):
        mixed.append(float(w[-1] @ loss))
        sums, r = sums + loss, max(r, float(np.ptp(loss)))
        if share < 0.0:
            new = np.exp(-np.sqrt(8 * np.log(E) / (t + 1)) / r * (sums - sums.min())) if r > 0.0 else np.ones(E)
            w.append(new / new.sum())
            continue
        rate = np.log(E) / D if D > 0.0 else np.inf
        new = np.where(loss > loss.min(), w[-1] * np.exp(-rate * np.maximum(loss - loss.min(), 1e-300)), w[-1])
        D += max(mixed[-1] - loss.min() + (np.log(new.sum()) / rate if rate < np.inf else 0.0), 0.0)
        w.append((1.0 - share) * new / new.sum() + share / E)
    return w, mixed, D, r


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.05])
@pytest.mark.parametrize("alike", [False, True])
def test_weights_follow_from_losses(share: float, alike: bool) -> None:
    rng = np.random.default_rng(3)
    losses = np.ones((12, 4)) if alike else rng.uniform(0, 1, (12, 4))
    odds = Odds(np.full(4, 0.25), np.zeros(4), 0.0, 0.0, 0)
    w, mixed, D, r = weighed(losses, share, odds)
    weights, found, after = mixtures.weigh(losses, share, odds)
    np.testing.assert_allclose(weights, w, rtol=1e-12)  # exponents of up to some thousand eps
    np.testing.assert_allclose(found, mixed, rtol=1e-12)
    np.testing.assert_allclose((after.gap, after.range, after.t), (D, r, 12), rtol=1e-12)
    np.testing.assert_array_equal(after.losses, np.add.accumulate(losses)[-1])


@pytest.mark.parametrize("seed", range(9))
def test_what_rounds_of_a_mixture_cost(seed: int) -> None:
    lmdp, rng = model(seed), np.random.default_rng(300 + seed)
    P = lmdp.P.toarray()
    Q = P * rng.uniform(0.1, 1, (ROUNDS + 1, 1, lmdp.n))
    Q /= Q.sum(axis=2, keepdims=True)
    kl, costs, p = rng.uniform(0, 1, (ROUNDS + 1, lmdp.n)), rng.uniform(0, 1, (ROUNDS, lmdp.n)), laws(rng, lmdp.n)
    found, after = mixtures.account(lmdp.P, np.ascontiguousarray(Q[:, P > 0.0]), kl, costs, p)
    for k in range(ROUNDS):
        expected = p @ costs[k], p @ kl[k], np.abs(Q[k] - Q[k + 1]).sum(axis=1).max()
        np.testing.assert_allclose(found[:, k], expected, rtol=0, atol=40 * (k + 1) * EPS)
        p = p @ Q[k]
    np.testing.assert_allclose(after, p, rtol=0, atol=40 * ROUNDS * EPS)
