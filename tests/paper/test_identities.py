"""The exact identities, on random games, each against a straight computation."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given

import lsmdp
from lsmdp.arrays import running_sum
from lsmdp.theory import Claim, trace
from lsmdp.theory.trace import certified

from .games import Case, Floats, cases, certificate, few
from .straight import EPS, Walk, bellman, close, cost_of, kl, policy_of, stationary, straight, walks
from .test_regrets import ideal


def weighted(case: Case) -> float:
    """How far two sums over all rounds may be apart, where round t may count t times and a few terms are added."""
    return 4.0 * straight(case).error(case.record) * case.rounds**2


def idealised(case: Case) -> float:
    """Rbar_T by its definition."""
    one = straight(case)
    return ideal(one) - case.rounds * one.average[-1]


def excess_of(case: Case, walk: Walk) -> float:
    """R' by its definition."""
    return sum(walk.loss) - case.rounds * straight(case).average[-1]


def gain(case: Case, walk: Walk) -> float:
    """sum t (p_t - mu*_t).Delta_t."""
    one = straight(case)
    return sum(
        t * float((walk.p[t - 1] - one.mu[t - 1]) @ (one.c[t] - one.c[t - 1])) for t in range(1, case.rounds + 1)
    )


def far_apart(case: Case, walk: Walk) -> float:
    """sum p_t.KL(Q_t||Q*_t)."""
    return sum(float(p @ kl(Q, best)) for p, Q, best in zip(walk.p, walk.Q, straight(case).Q, strict=False))


def steps(values: list[Floats]) -> list[tuple[Floats, Floats]]:
    return list(pairwise(values))


@few
@given(case=cases)
def test_new_identity(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:identity", game)
    assert found.holds
    close(found.left[-1], idealised(case), weighted(case))
    by_identity = sum(
        t * float(mu @ kl(Q, after)) for t, (mu, (Q, after)) in enumerate(zip(one.mu, steps(one.Q), strict=False), 1)
    )
    close(found.right[-1], by_identity, weighted(case))


@few
@given(case=cases)
def test_new_inexact(case: Case) -> None:
    """Whatever is played: the four sums by their definitions, and that they agree to rounding."""
    one = straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:inexact", case.record, player)
        assert found.holds, player.name
        values = [*walk.v, walk.last]
        policies = [policy_of(one.P, v) for v in values]
        laws = [stationary(Q) for Q in policies]
        r = [bellman(one.P, c, v) - v for c, v in zip(one.c, values, strict=True)]
        paid = sum(float(mu @ (c_t + kl(Q, one.P))) for mu, Q, c_t in zip(laws, policies, one.costs, strict=False))
        T = case.rounds
        right = T * float(laws[T - 1] @ r[T])
        right += sum(t * float(laws[t - 1] @ kl(policies[t - 1], policies[t])) for t in range(1, T + 1))
        right += sum((t - 1) * float((laws[t - 2] - laws[t - 1]) @ r[t - 1]) for t in range(2, T + 1))
        assert abs(paid - right) <= weighted(case)
        close(found.left[-1], paid, weighted(case))
        close(found.right[-1], right, weighted(case))


def loose(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """Leaders that are off by some 1e-5, and say so."""
    true = certified(lmdp, c_bar, last)
    v = true.v + 4.5e-5 * np.random.default_rng(int(1e6 * c_bar[0])).random(lmdp.n)
    lo, hi = lsmdp.bounds(lmdp, c_bar, v)
    return Claim(v, lo, hi, lsmdp.Policy(lmdp, v))


def test_sums_of_loose_leaders_are_not_let_off() -> None:
    """The identity with leaders of gap 1e-5 is checked to rounding; and new:identity to some gaps a round, not to t."""
    T, rng = 500, np.random.default_rng(3)
    lmdp, costs = lsmdp.LMDP([[0.8, 0.2, 0.0], [0.1, 0.6, 0.3], [0.0, 0.4, 0.6]]), rng.random((T, 3))
    game = trace(lmdp, costs, [lsmdp.FollowTheLeader()], start=0, leader=loose)
    weights = float((game.rounds * game.gaps).sum())
    assert weights > 1.0  # what t gaps a round would come to: more than the whole regret
    for player in (game.ftl, *game.players):
        found = certificate("new:inexact", game, player)
        assert found.holds
        assert found.tolerance < 1e-9
    found = certificate("new:identity", game)
    assert found.holds
    assert found.tolerance < 0.01
    assert found.tolerance < weights / 100
    wrong = replace(game, steps=game.steps._replace(forward=1.05 * game.steps.forward))
    assert certificate("new:identity", wrong).failed  # 5 % of the regret are seen
    slightly = game.ftl.rows._replace(own_next=(1.0 + 1e-7) * game.ftl.rows.own_next)
    assert certificate("new:inexact", game, replace(game.ftl, rows=slightly)).failed


def test_rounding_does_not_grow_like_the_square_of_the_rounds() -> None:
    """Ten times the rounds, about ten times the tolerance, and the two sides are well within it."""
    lmdp, found = lsmdp.sticky(0.3), []
    for T in (50, 500):
        game = trace(lmdp, np.random.default_rng(0).random((T, 2)), start=0)
        found.append(certificate("new:inexact", game, game.ftl))
        assert found[-1].holds
        assert found[-1].tolerance < 1e-9
    short, long = (one.tolerance / (one.tightest + 1.0) for one in found)
    assert long < 2.0 * short


def test_running_sums_are_rounded_once() -> None:
    """Against exact rational sums, where plain addition loses most digits."""
    x = np.random.default_rng(1).standard_normal(2_000) * 10.0 ** np.arange(2_000).clip(max=12)[::-1]
    exact = [float(part) for part in accumulate(map(Fraction, x.tolist()))]
    np.testing.assert_allclose(running_sum(x), exact, rtol=4.0 * EPS)
    assert not np.allclose(np.cumsum(x), exact, rtol=4.0 * EPS, atol=0.0)


@few
@given(case=cases)
def test_new_price(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:price", game)
    assert found.holds
    for t, (c_t, (Q, after)) in enumerate(zip(one.costs, steps(one.Q), strict=True), 1):
        left = cost_of(one.pi[t - 1], one.P, c_t) - cost_of(one.pi[t], one.P, c_t)
        close(found.left[t - 1], left, weighted(case))
        right = t * one.mu[t - 1] @ kl(Q, after) + (t - 1) * one.mu[t] @ kl(after, Q)
        close(found.right[t - 1], right, weighted(case))


@few
@given(case=cases)
def test_new_mirror(case: Case) -> None:
    """Other measures do no better in the objective of the mirror step."""
    game, one = case.record, straight(case)
    found = certificate("new:mirror", game)
    assert found.holds
    rng = np.random.default_rng(case.seed)
    for t, c_t in enumerate(one.costs, 1):
        Q_t = one.Q[t - 1]

        def objective(Q: Floats, t: int = t, c_t: Floats = c_t, Q_t: Floats = Q_t) -> float:
            mu = stationary(Q)
            return cost_of(mu[:, None] * Q, one.P, c_t) + (t - 1) * float(mu @ kl(Q, Q_t))

        close(found.left[t - 1], objective(one.Q[t]), weighted(case))
        close(found.right[t - 1], objective(one.Q[t]), weighted(case))
        for bump in (0.01, 1.0):
            other = policy_of(one.P, one.v[t] + bump * rng.standard_normal(case.states))
            assert objective(other) >= found.right[t - 1] - weighted(case)


@few
@given(case=cases)
def test_new_I1(case: Case) -> None:
    one = straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:I1", case.record, player)
        assert found.holds, player.name
        close(found.left[-1], excess_of(case, walk), weighted(case))
        rest = 0.0
        for t, (p, after) in enumerate(steps(walk.p)):
            v = walk.v[t]
            r = one.c[t] - np.log(one.P @ np.exp(v.min() - v)) + v.min() - v
            rest += float(p @ r) - one.average[t] + float((p - after) @ v)
        close(found.right[-1], idealised(case) + gain(case, walk) + rest, weighted(case))


@few
@given(case=cases)
def test_new_I2(case: Case) -> None:
    one = straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:I2", case.record, player)
        assert found.holds, player.name
        close(found.left[-1], excess_of(case, walk), weighted(case))
        boundary = sum(float((p - after) @ v) for (p, after), v in zip(steps(walk.p), one.v, strict=False))
        right = idealised(case) + gain(case, walk) + boundary + far_apart(case, walk)
        close(found.right[-1], right, weighted(case))


@few
@given(case=cases)
def test_new_I3(case: Case) -> None:
    one = straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:I3", case.record, player)
        assert found.holds, player.name
        left, right = -case.rounds * one.average[-1], 0.0
        for t, (Q, c_t) in enumerate(zip(walk.Q, one.costs, strict=True), 1):
            mu = stationary(Q)
            left += cost_of(mu[:, None] * Q, one.P, c_t)
            right += t * float(mu @ kl(Q, one.Q[t])) - (t - 1) * float(mu @ kl(Q, one.Q[t - 1]))
        close(found.left[-1], left, weighted(case))
        close(found.right[-1], right, weighted(case))


@few
@given(case=cases)
def test_new_I4(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:I4", game)
    assert found.holds
    B = game.constants.B
    policies = {"leader": one.Q[-1], "passive": one.P, **case.game.rivals}
    for k, Q in enumerate(policies.values()):
        loss, laws = one.fixed(Q)
        close(found.left[k], loss, weighted(case) * (1.0 + B))
        right = case.rounds * one.average[-1] + float((laws[0] - laws[-1]) @ one.v[-1])
        for p, c_t in zip(laws, one.costs, strict=False):
            right += float(p @ (c_t - one.c[-1])) + float(p @ kl(Q, one.Q[-1]))
        close(found.right[k], right, weighted(case) * (1.0 + B))


@few
@given(case=cases)
def test_new_dynamic(case: Case) -> None:
    """loss - p_1.V_1 and the divergences from the plan, by their definitions; and after every round they agree."""
    one = straight(case)
    V = [np.zeros(one.n)]
    for c_t in one.costs[::-1]:
        V.insert(0, bellman(one.P, c_t, V[0]))
    within = 8.0 * one.error(case.record) * (1.0 + V[0].max())
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:dynamic", case.record, player)
        assert found.holds, player.name
        assert found.left.size == case.rounds
        close(found.left[-1], sum(walk.loss) - one.start @ V[0], within)
        apart = [float(p @ kl(Q, policy_of(one.P, ahead))) for p, Q, ahead in zip(walk.p, walk.Q, V[1:], strict=False)]
        close(found.right[-1], sum(apart), within)
        assert found.right[-1] >= 0.0


def test_new_dynamic_is_left_out_where_costs_are_gone() -> None:
    game = trace(lsmdp.ring(4), (c_t for c_t in np.random.default_rng(0).random((5, 4))))
    found = certificate("new:dynamic", game, game.ftl)
    assert found.holds is None
    assert "read only once" in found.where
