"""The statements with a game of their own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsmdp
from lsmdp.theory import STATEMENTS
from lsmdp.theory.examples import best_regret, ftl_regret

from .games import Case, cases, few
from .straight import FORMULA, close, cost_of, kl, policy_of, solved, span, stationary, straight


def leader_of(mean: float) -> tuple[float, float]:
    """P = 1/2 on two states, cost (mean, 0): the chance of state 0, and the control cost."""
    q = 1.0 / (1.0 + math.exp(mean))
    return q, math.log(2.0) + q * math.log(q) + (1.0 - q) * math.log(1.0 - q)


def tree_regret(T: int, learner: str) -> float:
    """E R_T over all 2^T sequences of costs, each with its exact chance s! (T-s)! / (T+1)!."""
    total = 0.0
    for bits in itertools.product((0, 1), repeat=T):
        s = sum(bits)
        chance = math.factorial(s) * math.factorial(T - s) / math.factorial(T + 1)
        paid, visit = 0.0, None
        for t, bit in enumerate(bits):
            paid += 0.0 if visit is None else visit * bit  # the first state is given, its cost is left out for all
            seen = sum(bits[:t])
            if learner == "ftl":
                visit, control = leader_of(seen / max(t, 1))
            elif t + 1 < T:
                visit, control = leader_of((seen + 1) / (t + 2))
            else:
                visit, control = 0.5, 0.0  # no cost will follow
            paid += control
        q, control = leader_of(s / T)
        total += chance * (paid - (q * sum(bits[1:]) + T * control))
    return total


@pytest.mark.parametrize("T", [1, 2, 3, 7])
def test_regrets_of_the_two_state_game(T: int) -> None:
    """Both formulas against the tree of all costs."""
    assert best_regret(T)[-1] == pytest.approx(tree_regret(T, "best"), abs=FORMULA * 2**T)
    assert ftl_regret(T)[-1] == pytest.approx(tree_regret(T, "ftl"), abs=FORMULA * 2**T)


@few
@given(T=st.integers(1, 400))
def test_new_lower_coin(T: int) -> None:
    """The bound is below what the best learner suffers, which is below what follow the leader suffers."""
    found = STATEMENTS["new:lower_coin"].check(T)
    assert found.holds
    assert found.left.size == T
    slope = math.e / (12.0 * (1.0 + math.e) ** 2)
    s = (np.arange(20_000) + 0.5) / 20_000  # the midpoint rule: the second derivatives are below 1, so 1/24 of a square
    mean = float(np.mean(math.log(2.0) - np.log1p(np.exp(-s))))
    first = float(np.mean(s / (1.0 + np.exp(s))))
    left = slope * sum(1.0 / t for t in range(1, T + 1)) - mean + T / (T + 1) * first
    close(found.left[-1], left, 2.0 / 24.0 / 20_000**2 + FORMULA)
    assert (found.right <= ftl_regret(T) + FORMULA * T).all()


def test_the_coin_at_its_own_horizon() -> None:
    assert STATEMENTS["new:lower_coin"].check().holds


@few
@given(case=cases, kappa=st.sampled_from([0.0, 1.0, 3.5]))
def test_new_kappa(case: Case, kappa: float) -> None:
    """Both sides from dense leaders of the discounted means."""
    found = STATEMENTS["new:kappa"].check(case.game.lmdp, case.game.costs, kappa)
    assert found.holds
    one = straight(case)
    sums = np.vstack([np.zeros(case.states), np.cumsum(one.costs, axis=0)])
    both = [solved(one.P, sums[t] / (t + kappa) if t else sums[0]) for t in range(case.rounds + 1)]
    policies = [policy_of(one.P, v) for v, _ in both]
    left, right = 0.0, 0.0
    for t, c_t in enumerate(one.costs, 1):
        mu = stationary(policies[t - 1])
        left += cost_of(mu[:, None] * policies[t - 1], one.P, c_t)
        right += (t + kappa) * float(mu @ kl(policies[t - 1], policies[t]))
        total = right + (t + kappa) * both[t][1]
        within = 4.0 * one.error(case.record) * (case.rounds + kappa) ** 2 * (1.0 + max(span(v) for v, _ in both))
        close(found.left[t - 1], left, within)
        close(found.right[t - 1], total, within)


def test_new_kappa_at_another_temperature() -> None:
    """In units of the temperature the game is that of the scaled costs."""
    costs = np.random.default_rng(5).random((6, 4))
    warm = STATEMENTS["new:kappa"].check(lsmdp.ring(4, temperature=2.0), costs, 1.0)
    unit = STATEMENTS["new:kappa"].check(lsmdp.ring(4), costs / 2.0, 1.0)
    assert warm.holds
    np.testing.assert_array_equal(warm.left, unit.left)
