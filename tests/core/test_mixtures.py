"""Loops over mixtures against NumPy: kernels, weights of learners, and what rounds cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import lsmdp
from lsmdp._core.mixtures import Odds, account, completed_rows, hedge

Floats = npt.NDArray[np.float64]


def completed(P: Floats, R: Floats) -> tuple[Floats, Floats, Floats]:
    """Q, KL(Q || P) and m by their formulas; P where nobody is."""
    mass = (P * R).sum(axis=1)
    ratio = np.where(mass[:, None] > 0.0, R / np.where(mass > 0.0, mass, 1.0)[:, None], 1.0)
    Q = P * ratio
    logs = np.log(np.where(Q > 0.0, ratio, 1.0))
    return Q, (Q * logs).sum(axis=1), mass


def crowd(n: int, E: int, rounds: int) -> tuple[lsmdp.LMDP, Floats, Floats, Floats, Floats]:
    """A model and, for experts, their values, laws, and weights in each round; nobody is in the last state."""
    rng = np.random.default_rng(n + E)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.6) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    lmdp = lsmdp.LMDP(W, normalise=True, temperature=0.7)
    laws = rng.dirichlet(np.ones(n), (E, rounds))
    laws[:, :, -1] = 0.0
    return lmdp, rng.uniform(0, 3, (E, rounds, n)), laws, rng.dirichlet(np.ones(E), rounds), rng.random((rounds, n))


@pytest.mark.parametrize("E", [1, 2, 5, 8])
@pytest.mark.parametrize("n", [3, 8, 13])
def test_flows_are_completed(n: int, E: int) -> None:
    lmdp, values, laws, w, _ = crowd(n, E, 4)
    P, T = lmdp.P.toarray(), lmdp.temperature
    for k in range(4):
        own = np.exp(-values[:, k] / T)
        R = sum(w[k, i] * laws[i, k][:, None] / (P @ own[i])[:, None] * own[i] for i in range(E))
        Q, divergence, m = completed(P, R)
        flows = R[lmdp.entry_rows, lmdp.P.indices]
        expected = Q[lmdp.entry_rows, lmdp.P.indices], divergence, m
        for one, other in zip(completed_rows(lmdp.P, flows), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-14)


def test_a_row_that_floats_have_all_but_lost_sums_to_one() -> None:
    lmdp = lsmdp.ring(5)
    for size in (1e-280, 1e-300, 0.0):
        Q, kl, _ = completed_rows(lmdp.P, np.full(lmdp.nnz, size))
        np.testing.assert_allclose(np.add.reduceat(Q, lmdp.P.indptr[:-1]), 1.0, rtol=1e-14)
        np.testing.assert_allclose(kl, 0.0, atol=1e-14)


def weigh(losses: np.ndarray, share: float, odds: Odds) -> tuple[np.ndarray, np.ndarray, Odds]:
    """The weights before each of some rounds and after the last, and those of the flow of each loss, w_t.l_t.

    ``losses`` is rounds x learners. A negative ``share`` asks for the plain manner.
    """
    weights, mixed = np.empty((len(losses) + 1, losses.shape[1])), np.empty(len(losses))
    weights[0], now, sums, spread = odds.weights, odds.weights.copy(), odds.losses.copy(), np.array(odds[2:4])
    for k, paid in enumerate(losses):
        mixed[k] = hedge(paid, share, odds.t + k, now, sums, spread)
        weights[k + 1] = now
    return weights, mixed, Odds(now, sums, float(spread[0]), float(spread[1]), odds.t + len(losses))


@pytest.mark.parametrize("share", [-1.0, 1e-3])
def test_weigh(share: float) -> None:
    """One round after the other; cut anywhere, the bits are the same."""
    rng = np.random.default_rng(0)
    losses, E = rng.random((30, 4)) * [1.0, 1.2, 0.8, 1.0], 4
    begin = Odds(np.full(E, 0.25), np.zeros(E), 0.0, 0.0, 0)
    found, mixed, odds = weigh(losses, share, begin)
    w, gap, sums, widest = np.full(E, 0.25), 0.0, np.zeros(E), 0.0
    for t, paid in enumerate(losses, start=1):
        np.testing.assert_allclose(found[t - 1], w, atol=1e-12)
        assert mixed[t - 1] == pytest.approx(w @ paid)
        sums, widest, before = sums + paid, max(widest, np.ptp(paid)), w
        if share < 0.0:
            w = np.exp(-np.sqrt(8 * np.log(E) / (t + 1)) / widest * (sums - sums.min()))
        elif gap == 0.0:
            w, gap = np.where(paid == paid.min(), w, 0.0), before @ paid - paid.min()
        else:
            rate = np.log(E) / gap
            w = w * np.exp(-rate * paid)
            gap += before @ paid + np.log(w.sum()) / rate
        w = w / w.sum()
        w = w if share < 0.0 else (1 - share) * w + share / E
    np.testing.assert_allclose(odds.weights, w, atol=1e-12)
    _, _, half = weigh(losses[:11], share, begin)
    rest, _, whole = weigh(losses[11:], share, half)
    np.testing.assert_array_equal(rest, found[11:])
    np.testing.assert_array_equal(whole.losses, odds.losses)
    assert whole[2:] == odds[2:]


def test_account() -> None:
    lmdp, _, laws, _, costs = crowd(7, 1, 5)
    rng = np.random.default_rng(3)
    W = rng.random((6, lmdp.nnz))
    W /= np.repeat(np.add.reduceat(W, lmdp.P.indptr[:-1], axis=1), np.diff(lmdp.P.indptr), axis=1)
    kl, law = rng.random((6, 7)), laws[0, 0] / laws[0, 0].sum()
    (state, control, change), last = account(lmdp.P, W, kl, costs, law)
    for k in range(5):
        Q, then = (np.zeros((7, 7)) for _ in range(2))
        Q[lmdp.entry_rows, lmdp.P.indices], then[lmdp.entry_rows, lmdp.P.indices] = W[k], W[k + 1]
        assert (state[k], control[k]) == (pytest.approx(law @ costs[k]), pytest.approx(law @ kl[k]))
        assert change[k] == pytest.approx(np.abs(Q - then).sum(axis=1).max())
        law = law @ Q
    np.testing.assert_allclose(last, law, atol=1e-14)
