"""Rounds of a pool against their formulas: one expert after the other, in dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core.crowds import ExpertArrays, Matrix, Means, MixtureRounds, Others, Room, Span, Weighing, play
from lsmdp._core.mixtures import hedge
from lsmdp._core.sparse import rows

# A tracker of the mean, three of discounted means, and an expert whose values are given: keep, add, sums.
MEANS = Means(*np.array([(1.0, 0.5, 0.75, 0.9, 0.0), (1.0, 0.5, 0.25, 0.1, 0.0), (1.0, 0.0, 0.0, 0.0, 0.0)]))
E = 5  # a four and one more


def bellman(P: np.ndarray, T: float, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(c - T * np.log(P @ np.exp(-(v - v.min()) / T)))


def policy(P: np.ndarray, T: float, v: np.ndarray) -> np.ndarray:
    Q = P * np.exp(-(v - v.min()) / T)
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def kl(Q: np.ndarray, P: np.ndarray) -> np.ndarray:
    some = Q > 0.0
    return np.asarray(np.where(some, Q * np.log(np.where(some, Q, 1.0) / np.where(some, P, 1.0)), 0.0).sum(axis=1))


def begin(lmdp: LMDP, rounds: int) -> tuple[ExpertArrays, Others, Weighing, MixtureRounds, np.ndarray]:
    """The experts at the start of so many rounds, the costs of these, and room for what comes of them."""
    n, rng = lmdp.n, np.random.default_rng(lmdp.n)
    stand = ExpertArrays(*np.zeros((6, E, n)))
    stand.laws[:] = rng.dirichlet(np.ones(n), E)
    values = rng.uniform(0.0, 2.0, (1, rounds + 1, n))
    values -= values.min(axis=2, keepdims=True)
    stand.values[E - 1] = values[0, 0]
    odds = Weighing(np.full(E, 1 / E), np.zeros(E), np.zeros(2), -1.0, 0)
    out = MixtureRounds(np.empty((rounds + 1, lmdp.nnz)), *np.empty((2, rounds + 1, n)), np.empty(rounds))
    return stand, Others(np.array([E - 1]), values), odds, out, rng.uniform(0.0, 1.0, (rounds, n))


def matrix(lmdp: LMDP, full: bool) -> Matrix:
    back = lmdp.P.T.tocsr()
    return Matrix(rows(lmdp.P), rows(back), back.toarray() if full else np.empty((0, 0)))


def played(lmdp: LMDP, full: bool, rounds: int) -> tuple[ExpertArrays, Weighing, MixtureRounds]:
    (stand, others, odds, out, costs), P = begin(lmdp, rounds), matrix(lmdp, full)
    span = Span(costs, 0, False, lmdp.temperature)
    assert play(P, span, MEANS, others, odds, stand, Room.of(E, P), out) == (rounds + 1, True)
    return stand, odds, out


@pytest.mark.parametrize("full", [True, False], ids=["written out", "sparse"])
@pytest.mark.parametrize("T", [1.0, 0.1])
@pytest.mark.parametrize("n", [1, 4, 7, 17])
def test_rounds_are_those_of_the_formulas(n: int, T: float, full: bool) -> None:
    """The mixture, the laws, the losses and the values of some rounds; a few hundred roundings of numbers up to 1/T."""
    rng, rounds, off = np.random.default_rng(n), 6, 1e-12 / T
    W = rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < 0.6) + np.eye(n)
    lmdp = LMDP(W, temperature=T, normalise=True)
    after, odds, out = played(lmdp, full, rounds)
    stand, others, _, _, costs = begin(lmdp, rounds)
    P, laws, values, stores = lmdp.P.toarray(), stand.laws.T, stand.values.T, stand.stores.T
    weights, losses, spread = np.full(E, 1 / E), np.zeros(E), np.zeros(2)
    for k in range(rounds + 1):
        Q = [policy(P, T, values[:, i]) for i in range(E)]
        flow = sum((weights[i] * laws[:, i])[:, None] * Q[i] for i in range(E))
        mixed = flow / flow.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(out.weights[k], mixed[lmdp.entry_rows, lmdp.P.indices], rtol=0, atol=off)
        np.testing.assert_allclose(out.kl[k], kl(mixed, P), rtol=0, atol=off)
        np.testing.assert_allclose(out.mass[k], laws @ weights, rtol=0, atol=off)
        if k < rounds:
            paid = np.array([laws[:, i] @ (costs[k] + T * kl(Q[i], P)) for i in range(E)])
            assert out.mixed[k] == pytest.approx(hedge(paid, -1.0, k, weights, losses, spread), abs=off)
            laws = np.stack([laws[:, i] @ Q[i] for i in range(E)], axis=1)
            stores = MEANS.keep * stores + MEANS.add * costs[k][:, None]
            targets = stores / np.where(MEANS.sums > 0.0, k + 1, 1)
            once = np.stack([bellman(P, T, targets[:, i], values[:, i]) for i in range(E)], axis=1)
            values = np.stack([once[:, i] + bellman(P, T, targets[:, i], once[:, i]) for i in range(E)], axis=1) / 2
            values[:, E - 1] = others.values[0, k + 1]
            values -= values.min(axis=0)
    for found, expected in ((after.values, values), (after.laws, laws), (after.stores, stores)):
        np.testing.assert_allclose(found.T, expected, rtol=0, atol=off)
    np.testing.assert_allclose(odds.losses, losses, rtol=0, atol=off)


def test_both_manners_agree() -> None:
    """Products of BLAS and loops over the entries of P."""
    lmdp = LMDP(np.random.default_rng(0).uniform(0.1, 1, (9, 9)), normalise=True)
    one, other = played(lmdp, True, 5), played(lmdp, False, 5)
    np.testing.assert_allclose(one[0].values, other[0].values, atol=1e-13)
    np.testing.assert_allclose(one[2].weights, other[2].weights, atol=1e-13)


def test_values_that_one_scale_does_not_serve_are_left_to_others() -> None:
    """Where the values of a row are too steep it ends before that row; where those of an update are, after it."""
    lmdp = LMDP(np.full((4, 4), 0.25))
    for steep, end in ((2, (2, False)), (None, (1, True))):
        stand, others, odds, out, costs = begin(lmdp, 4)
        if steep is None:
            costs[1, 3] = 1e4
        else:
            others.values[0, steep, 0] = 1e4
        P, span = matrix(lmdp, False), Span(costs, 0, False, 1.0)
        assert play(P, span, MEANS, others, odds, stand, Room.of(E, P), out) == end
