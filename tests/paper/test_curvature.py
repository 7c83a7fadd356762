"""The second derivative of the average cost and what follows from it, each against a straight computation."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

import lsmdp
from lsmdp.theory import constants_for
from lsmdp.theory.curvature import set_bound

from .games import FAMILIES, Case, Floats, cases, certificate, few, random_game
from .straight import FORMULA, close, cost_of, kl, policy_of, sensitivity, solved, span, stationary, straight, walks
from .test_beyond import transient
from .test_identities import excess_of, far_apart, idealised, weighted
from .test_regrets import square_bound, sums


def law_of(P: Floats, c: Floats) -> tuple[Floats, Floats]:
    """The optimal policy and its stationary law."""
    Q = policy_of(P, solved(P, c)[0])
    return Q, stationary(Q)


def response(Q: Floats, mu: Floats, d: Floats) -> Floats:
    """h = Z d."""
    return np.linalg.solve(np.eye(mu.size) - Q + np.outer(np.ones(mu.size), mu), d)


def variance(Q: Floats, mu: Floats, h: Floats) -> float:
    """sum mu Var_Q(h)."""
    return float(mu @ (Q * (h[None, :] - (Q @ h)[:, None]) ** 2).sum(axis=1))


@pytest.mark.parametrize("family", ["dense", "sparse", "near rank one"])
@pytest.mark.parametrize("seed", range(6))
def test_the_second_derivative_of_the_average_cost(family: str, seed: int) -> None:
    """-d mu/dc.d = sum mu Var_Q(Zd) = 2 Cov_mu(d, h) - Var_mu(d) <= 1/2 span(d) span(h)."""
    lmdp, rng = random_game(seed, family).lmdp, np.random.default_rng(seed)
    P, c, d = lmdp.P.toarray(), rng.random(lmdp.n), rng.random(lmdp.n)
    Q, mu = law_of(P, c)
    h = response(Q, mu, d)
    sigma2 = variance(Q, mu, h)
    step = 1e-4
    numeric = -float((law_of(P, c + step * d)[1] - law_of(P, c - step * d)[1]) @ d) / (2.0 * step)
    Lambda = sensitivity(Q, mu)
    assert numeric == pytest.approx(sigma2, abs=10.0 * step**2 * Lambda**3, rel=1e-6)  # the error is a third derivative
    centred = 2.0 * float(mu @ (d * h) - (mu @ d) * (mu @ h)) - float(mu @ d**2 - (mu @ d) ** 2)
    assert sigma2 == pytest.approx(centred, rel=1e-9 * Lambda)
    assert sigma2 <= 0.5 * span(d) * span(h) * (1.0 + FORMULA)
    assert span(h) <= Lambda * span(d) * (1.0 + FORMULA * Lambda)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_sensitivity_along_the_way(family: str, seed: int) -> None:
    """1/Lambda^2 falls by at most span(dc): at many costs on a segment that is as long as the bound allows."""
    lmdp, rng = random_game(seed, family).lmdp, np.random.default_rng(seed)
    P, c = lmdp.P.toarray(), rng.random(lmdp.n)
    Lambda = sensitivity(*law_of(P, c))
    d = rng.standard_normal(lmdp.n)
    d *= 0.9 / (Lambda**2 * span(d))
    for s in np.linspace(0.0, 1.0, 12):
        there = sensitivity(*law_of(P, c + s * d))
        assert there <= Lambda / math.sqrt(1.0 - 0.9 * s) * (1.0 + 1e-9 * Lambda)


@few
@given(case=cases)
def test_new_L2(case: Case) -> None:
    game = case.record
    found = certificate("new:L2", game)
    assert found.holds
    close(found.left, excess_of(case, straight(case).ftl), sums(case))
    np.testing.assert_allclose(found.right, square_bound(case), rtol=FORMULA)
    assert found.right[0] <= certificate("new:ksteps", game).right[0] * (1.0 + FORMULA)


@few
@given(case=cases)
def test_new_L2_2(case: Case) -> None:
    game, one, L = case.record, straight(case), case.record.constants.L
    found = certificate("new:L2/2", game)
    assert found.holds
    close(found.left, [np.abs(after - before).sum() for before, after in pairwise(one.mu)], one.error(game))
    t, C = np.arange(1, case.rounds + 1), game.constants.cost_range
    np.testing.assert_allclose(found.right, C * min(2.0 * L, L * L) / t, rtol=FORMULA)


@few
@given(case=cases)
def test_new_L2_3(case: Case) -> None:
    game, L = case.record, case.record.constants.L
    found = certificate("new:L2/3", game)
    assert found.holds
    close(found.left, idealised(case), weighted(case))
    C = game.constants.cost_range
    right = C * C * min(L, L * L / 2.0) * (1.0 + math.log(case.rounds))
    np.testing.assert_allclose(found.right, right, rtol=FORMULA)


def secants(case: Case) -> list[float]:
    """The right side of new:L2/4 in each round; e^x - 1 - x by its series."""
    one, found = straight(case), []
    for t, (before, after) in enumerate(pairwise(one.v)):
        d = after - before
        x = span(d)
        psi = sum(x**k / math.factorial(k + 2) for k in range(80))
        by_values = 0.5 * psi * x * span(d - one.Q[t] @ d)
        by_laws = 0.5 * float(np.abs(one.mu[t + 1] - one.mu[t]).sum()) * span(one.c[t + 1] - one.c[t])
        found.append(min(by_values, by_laws))
    return found


@few
@given(case=cases)
def test_new_L2_4(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:L2/4", game)
    assert found.holds
    close(found.left, [mu @ kl(Q, R) for mu, (Q, R) in zip(one.mu, pairwise(one.Q), strict=False)], one.error(game))
    within = one.error(game) * (1.0 + max(span(v) for v in one.v)) ** 2
    np.testing.assert_allclose(found.right, secants(case), rtol=1e-9, atol=within)


@few
@given(case=cases)
def test_new_L2_5(case: Case) -> None:
    game, one = case.record, straight(case)
    changes = [span(after - before) for before, after in pairwise(one.v)]
    learning = sum(t * min(x * x / 8, y) for t, (x, y) in enumerate(zip(changes, secants(case), strict=True), 1))
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:L2/5", game, player)
        assert found.holds, player.name
        right = learning + transient(case, walk) + sum(changes[:-1]) + far_apart(case, walk)
        close(found.right[-1], right, weighted(case) * (1.0 + max(changes)) ** 2)
        assert found.right[-1] <= certificate("new:posteriori", game, player).right[-1] * (1.0 + FORMULA)


@few
@given(case=cases)
def test_new_L2_6(case: Case) -> None:
    """Both sides, where the costs change little enough, and what the bound is about: all costs between."""
    game, one = case.record, straight(case)
    found = certificate("new:L2/6", game)
    change = np.array([span(after - before) for before, after in pairwise(one.c)])
    room = 1.0 - one.Lambda[:-1] ** 2 * change
    unsure = np.abs(room) < 1e-6  # rounding decides
    if unsure.any():
        return
    near = np.flatnonzero(room > 0.0)
    if found.holds is None:
        assert not near.size
        return
    assert found.holds
    assert found.left.size == 2 * near.size
    for k, t in enumerate(near):
        sup = one.Lambda[t] / math.sqrt(room[t])
        within = one.error(game) * sup / room[t]
        close(found.right[k], sup * change[t], within)
        close(found.right[near.size + k], sup * change[t] ** 2 / 4, within)
        for s in (0.3, 0.8, 1.0):
            c = one.c[t] + s * (one.c[t + 1] - one.c[t])
            assert sensitivity(*law_of(one.P, c)) <= sup * (1.0 + 1e-6)


@few
@given(case=cases)
def test_new_corB(case: Case) -> None:
    """sigma^2 at every leader from its definition, and both bounds."""
    game, one = case.record, straight(case)
    found = certificate("new:corB", game)
    assert found.holds
    T, P, on = case.rounds, one.P, one.P > 0.0
    B = -math.log(P[on].min())
    for t, c_t in enumerate(one.costs):
        Q, mu = one.Q[t], one.mu[t]
        sigma2, loss_span, tilts = sigma_squared(P, Q, mu, c_t)
        size = (1.0 + one.Lambda[t] ** 2) * (1.0 + B)
        close(found.left[t], sigma2, 8.0 * one.error(game) * size)
        own = (min(math.sqrt(one.Lambda[t] / 2), one.Lambda[t] / 2) * loss_span + span(tilts) / 2) ** 2
        close(found.right[t], own, 8.0 * one.error(game) * size)
        assert sigma2 <= own * (1.0 + 1e-9) + 8.0 * one.error(game) * size
    assert (found.right[T:] == set_bound(game.constants)).all()


def sigma_squared(P: Floats, Q: Floats, mu: Floats, c: Floats) -> tuple[float, float, Floats]:
    """sigma^2(pi; c) from its definition, span(c + KL), and log Q/P on the moves."""
    on = P > 0.0
    tilt = np.where(on, np.log(np.where(on, Q, 1.0) / np.where(on, P, 1.0)), 0.0)
    g = c + kl(Q, P)
    phi = response(Q, mu, g - mu @ g)[None, :] + tilt
    mean = (Q * phi).sum(axis=1, keepdims=True)
    return float(mu @ (Q * (phi - mean) ** 2).sum(axis=1)), span(g), tilt[on]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_exp_concave_on_the_whole_set(family: str, seed: int) -> None:
    """Policies that are no Q_v, with Q >= delta P: sigma^2 by the bound, and e^{-theta f} concave between them."""
    lmdp, rng = random_game(seed, family).lmdp, np.random.default_rng(seed)
    P, c, on = lmdp.P.toarray(), rng.random(lmdp.n), lmdp.P.toarray() > 0.0
    for delta in (0.9, 0.3):
        B, C = -math.log(P[on].min()), span(c)
        best = math.inf
        for k in range(1, 13):
            power = np.linalg.matrix_power(P, k)
            shared = min(float(np.minimum(one, other).sum()) for one in power for other in power)
            best = min(best, k * delta**-k / shared if shared > 0.0 else math.inf)
        bound = (math.sqrt(best / 2) * (C + B) + (B - math.log(delta)) / 2) ** 2
        measures = []
        for _ in range(6):
            R = rng.random(P.shape) ** 6 * on
            Q = delta * P + (1.0 - delta) * R / R.sum(axis=1, keepdims=True)
            mu = stationary(Q)
            measures.append(mu[:, None] * Q)
            assert sensitivity(Q, mu) <= best * (1.0 + 1e-9)
            assert sigma_squared(P, Q, mu, c)[0] <= bound
        for one, other in pairwise(measures):
            # twice the largest variance that is met on the way is the sharp constant; the bound is larger
            ends = [math.exp(-cost_of(pi, P, c) / bound) for pi in (one, other)]
            middle = (one + other) / 2
            assert (middle >= delta * P * middle.sum(axis=1, keepdims=True) * (1.0 - 1e-12)).all()  # convex
            assert math.exp(-cost_of(middle, P, c) / bound) >= sum(ends) / 2 - 1e-15


def test_a_larger_constant_is_none() -> None:
    """Along the direction of docs/theory.md, section 8, the constant 1/sigma^2 cannot be doubled."""
    P, c, e = np.full((2, 2), 0.5), np.array([0.0, 1.0]), 0.1
    Q = np.array([[1.0 - e, e], [e, 1.0 - e]])
    mu = stationary(Q)
    sigma2, _, _ = sigma_squared(P, Q, mu, c)
    assert sigma2 == pytest.approx(2.6845, abs=1e-4)
    tilt = np.log(Q / P)
    g = c + kl(Q, P)
    phi = response(Q, mu, g - mu @ g)[None, :] + tilt
    turned = Q * (phi - (Q * phi).sum(axis=1, keepdims=True))
    delta = np.linalg.lstsq((np.eye(2) - Q).T, mu @ turned, rcond=None)[0]
    delta = delta - mu * delta.sum()
    d = mu[:, None] * turned + delta[:, None] * Q
    pi, h = mu[:, None] * Q, 1e-3

    def second(theta: float) -> float:
        ends = [math.exp(-theta * cost_of(pi + s * h * d, P, c)) for s in (-1.0, 0.0, 1.0)]
        return (ends[0] - 2.0 * ends[1] + ends[2]) / h**2

    assert second(0.9 / sigma2) < 0.0
    assert second(1.1 / sigma2) > 0.0


# The order is right: two sticky states, costs that swing a little slower than the chain relaxes.


def sticky_regret(g: float, omega: float, T: int) -> Floats:
    """R'_t of follow the leader on [[1 - g/2, g/2], [g/2, 1 - g/2]] with the costs 1/2 +- 1/2 cos(omega t).

    In closed form: leaders by the quadratic equation of GP, the law of state 0 by its recursion.
    """
    t = np.arange(1, T + 1)
    first = 0.5 + 0.5 * np.cos(omega * t)
    c = np.stack([first, 1.0 - first])
    means = np.cumsum(c, axis=1) / t
    known = np.concatenate([np.zeros((2, 1)), means[:, :-1]], axis=1)
    z, _ = _two_states(g, known)
    stay, back = (1 - g / 2) / (1 - g / 2 + g / 2 * z), g / 2 / (g / 2 + (1 - g / 2) * z)  # Q(0|0), Q(0|1)
    control = [
        q * np.log(q / p) + (1.0 - q) * np.log((1.0 - q) / (1.0 - p)) for q, p in ((stay, 1 - g / 2), (back, g / 2))
    ]
    law = np.empty(T)
    p = 1.0
    for k in range(T):
        law[k] = p
        p = p * stay[k] + (1.0 - p) * back[k]
    losses = law * (c[0] + control[0]) + (1.0 - law) * (c[1] + control[1])
    return np.cumsum(losses) - t * _two_states(g, means)[1]


def _two_states(g: float, c: Floats) -> tuple[Floats, Floats]:
    """z(1)/z(0) and lambda of the leaders."""
    a, b = (1.0 - g / 2) * np.exp(-c)
    x, y = g / 2 * np.exp(-c)
    top = (a + b + np.sqrt((a - b) ** 2 + 4.0 * x * y)) / 2.0
    return (top - a) / x, -np.log(top)


def slope_of(g: float, omega: float) -> float:
    """The slope in log T that docs/theory.md derives."""
    e = complex(math.cos(omega), math.sin(omega)) - 1.0 + g
    return (1.0 - g / 2) * (e.real / (4.0 * g * abs(e) ** 2) + 1.0 / (8.0 * g))


@pytest.mark.parametrize("g", [0.4, 0.2, 0.1])
def test_the_square_of_L_is_the_right_order(g: float) -> None:
    """The slope times g^2 is 0.24 for all g, and L = 1/g: the power of L cannot be improved for FTL."""
    short, long = 20_000, 200_000
    regret = sticky_regret(g, 0.2 * g, long)
    slope = (regret[-1] - regret[short - 1]) / math.log(long / short)
    # the terms left out are of the order of the square of the largest change of v, 1/(g^2 t), in each round
    assert slope == pytest.approx(slope_of(g, 0.2 * g), abs=1.0 / (g**4 * short))
    assert slope * g**2 == pytest.approx(0.24, abs=0.01)
    L, lg = 1.0 / g, 1.0 + math.log(long)
    assert regret[-1] <= (2 * L**2 + 3 * L) * lg + 2 * L  # new:L2, with the exact L


def test_the_sticky_game_is_the_game() -> None:
    """The closed form against the record; alpha = a(P) = 1 - g, and the L of constants.py is above 1/g."""
    g, T = 0.2, 60
    t = np.arange(1, T + 1)
    first = 0.5 + 0.5 * np.cos(0.2 * g * t)
    game = lsmdp.certify(lsmdp.sticky(g / 2), np.stack([first, 1.0 - first], axis=1), start=0).game
    excesses = np.cumsum(game.ftl.rows.loss) - t * game.leader.average_cost[1:]
    np.testing.assert_allclose(excesses, sticky_regret(g, 0.2 * g, T), atol=1e-9)
    assert 1.0 / g < constants_for(lsmdp.sticky(g / 2)).L
