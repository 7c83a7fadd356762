"""The lower bound on any P with a choice: its constants, and what no learner can avoid."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import lsmdp
from lsmdp.errors import AssumptionError
from lsmdp.theory import STATEMENTS
from lsmdp.theory.choice import Choice, choice_of

from .games import FAMILIES, Floats, random_game
from .straight import FORMULA, kl, policy_of, sensitivity, solved, span, stationary

MODELS = {
    "coin": [[0.5, 0.5], [0.5, 0.5]],
    "sticky": [[0.9, 0.1], [0.1, 0.9]],
    "three": [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]],
    "cycle with a loop": [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    "period two": [[0.0, 0.4, 0.6], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
}


def leaders(P: Floats, found: Choice, theta: Floats) -> list[Floats]:
    """Q_theta."""
    return [policy_of(P, solved(P, one * found.epsilon * found.direction)[0]) for one in theta]


@pytest.mark.parametrize("name", MODELS)
def test_new_lower_choice(name: str) -> None:
    """The least that any learner loses in a window, by brute force over all paths, for two windows."""
    P = np.array(MODELS[name])
    lmdp, found = lsmdp.LMDP(P), choice_of(lsmdp.LMDP(P))
    made = STATEMENTS["new:lower_choice"].check(lmdp, 6)
    assert made.holds
    np.testing.assert_allclose(made.left, found.slope * np.log(np.arange(1, 7)), rtol=FORMULA)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    theta = (nodes + 1.0) / 2.0
    policies = leaders(P, found, theta)
    total, n = 0.0, P.shape[0]
    for i in (1, 2):
        m = i * found.k - 1
        for s in range(m + 1):
            posterior = weights * theta**s * (1.0 - theta) ** (m - s)
            posterior /= posterior.sum()
            least = math.inf
            for x in range(n):
                chances = [
                    [math.prod(Q[a, b] for a, b in itertools.pairwise((x, *path))) for Q in policies]
                    for path in itertools.product(range(n), repeat=found.k)
                ]
                laws = np.array([one for one in chances if one[0] > 0.0])
                R = np.exp(np.log(laws) @ posterior)
                R /= R.sum()
                loss = float(posterior @ (R[:, None] * np.log(R[:, None] / laws)).sum(axis=0))
                least = min(least, loss)
            total += least / (m + 1)
        assert made.right[i - 1] == pytest.approx(total, abs=1e-11)  # policy iteration ends with gaps of some 1e-14


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_the_constants(family: str, seed: int) -> None:
    """What the proof needs of them, on a grid of theta."""
    lmdp = random_game(seed, family).lmdp
    found, P = choice_of(lmdp), lmdp.P.toarray()
    (y1, y2), x0 = found.moves, found.state
    assert min(P[x0, y1], P[x0, y2]) > 0.0
    assert y1 != y2
    np.testing.assert_allclose(found.direction, np.eye(lmdp.n)[y1] - P[:, y1])
    costs = 0.5 + found.epsilon * found.direction
    assert costs.min() >= -1e-12
    assert costs.max() <= 1.0 + 1e-12
    theta = np.linspace(0.0, 1.0, 11)
    values = [solved(P, one * found.epsilon * found.direction)[0] for one in theta]
    rounding = 1e-10 * (1.0 + sensitivity(P, stationary(P)))
    assert max(map(span, values)) <= found.S + rounding
    odds = np.array([v[y1] - v[y2] for v in values])
    assert (np.diff(odds) >= found.epsilon / 2 * np.diff(theta) - rounding).all()
    assert found.slope > 0.0
    met, reach = np.eye(lmdp.n)[x0], np.eye(lmdp.n)[x0]
    for _ in range(found.k - 1):
        reach = np.where(np.arange(lmdp.n) == x0, 1.0, P @ reach)
    assert reach.min() >= met.min()
    p0 = min(P[x0, y1], P[x0, y2])
    kappa = math.exp(-found.k * found.S) * reach.min() * p0 * found.epsilon**2 / 128.0
    assert found.kappa == pytest.approx(kappa, rel=1e-9)


def test_learners_lose_at_least_that() -> None:
    """Follow the leader and passivity, in the mean over all costs of six rounds, against the two windows of three."""
    P = np.array(MODELS["three"])
    found = choice_of(lsmdp.LMDP(P))
    T = 2 * found.k
    made = STATEMENTS["new:lower_choice"].check(lsmdp.LMDP(P), 2)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    theta, weights = (nodes + 1.0) / 2.0, weights / 2.0
    policies = leaders(P, found, theta)
    lost = {"ftl": 0.0, "passive": 0.0}
    for bits in itertools.product((0, 1), repeat=T):
        s = sum(bits)
        chance = weights * theta**s * (1.0 - theta) ** (T - s)
        for name in lost:
            p = np.array([1.0, 0.0, 0.0])
            for t in range(T):
                mean = sum(bits[:t]) / max(t, 1) if name == "ftl" else 0.0
                Q = policy_of(P, solved(P, mean * found.epsilon * found.direction)[0])
                lost[name] += float(sum(w * (p @ kl(Q, best)) for w, best in zip(chance, policies, strict=True)))
                p = p @ Q
    assert min(lost.values()) >= made.right[-1]
    assert made.right[-1] > 100.0 * made.left[-1] > 0.0  # the constants are not sharp


def test_without_a_choice_there_is_no_bound() -> None:
    with pytest.raises(AssumptionError, match="no state of P has two successors"):
        choice_of(lsmdp.LMDP([[0.0, 1.0], [1.0, 0.0]]))
