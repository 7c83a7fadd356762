"""The statements about losses, on random games, each against a straight computation."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given

from .games import Case, Floats, cases, certificate, few
from .straight import EPS, FORMULA, Straight, close, cost_of, kl, policy_of, stationary, straight


def ideal(one: Straight, ahead: int = 0) -> float:
    """sum f(pi_t;c_t), or with pi_{t+1}."""
    return sum(cost_of(one.pi[t + ahead], one.P, c_t) for t, c_t in enumerate(one.costs))


def sums(case: Case) -> float:
    """How far two sums over all rounds may be apart."""
    return straight(case).error(case.record) * 2.0 * case.rounds


def rivals(case: Case) -> dict[str, tuple[float, float]]:
    """For each fixed policy of the record: L_T(Q), and the mixing sum m(Q)."""
    one, found = straight(case), {}
    policies: dict[str, Floats] = {"leader": one.Q[-1], "passive": one.P, **case.game.rivals}
    for name, Q in policies.items():
        loss, laws = one.fixed(Q)
        mu = stationary(Q)
        found[name] = loss, sum(0.5 * float(np.abs(p - mu).sum()) for p in laws[:-1])
    return found


@few
@given(case=cases)
def test_lem_btl(case: Case) -> None:
    """Be the leader; T lambda_{T+1} is the minimum over the measures of all policies, of which some are tried here."""
    game, one = case.record, straight(case)
    found, printed = certificate("lem:btl", game), certificate("lem:btl", game, reading="printed")
    assert found.holds
    assert printed.holds
    close(found.left, ideal(one, ahead=1), sums(case))
    close(found.right, case.rounds * one.average[-1], sums(case))
    rng = np.random.default_rng(case.seed)
    for v in 2.0 * rng.standard_normal((5, case.states)):
        Q = policy_of(one.P, v)
        pi = stationary(Q)[:, None] * Q
        assert sum(cost_of(pi, one.P, c_t) for c_t in one.costs) >= found.right[0] - sums(case)


def idealised_bounds(case: Case, share: float) -> tuple[float, float]:
    """The right sides of lem:price and lem:ideal, printed and corrected."""
    found, lg = case.record.constants, 1.0 + math.log(case.rounds)
    return 2.0 * (case.record.printed.tau**2 + 1.0) * lg, share * (found.cost_range * found.L) ** 2 * lg


@few
@given(case=cases)
def test_lem_price(case: Case) -> None:
    game, one = case.record, straight(case)
    found, printed = certificate("lem:price", game), certificate("lem:price", game, reading="printed")
    assert found.holds
    assert printed.holds
    close(found.left, ideal(one) - ideal(one, ahead=1), sums(case))
    np.testing.assert_allclose([printed.right[0], found.right[0]], idealised_bounds(case, 1.0), rtol=FORMULA)


@few
@given(case=cases)
def test_lem_ideal(case: Case) -> None:
    game, one = case.record, straight(case)
    found, printed = certificate("lem:ideal", game), certificate("lem:ideal", game, reading="printed")
    assert found.holds
    assert printed.holds
    close(found.left, ideal(one) - case.rounds * one.average[-1], sums(case))
    np.testing.assert_allclose([printed.right[0], found.right[0]], idealised_bounds(case, 0.5), rtol=FORMULA)


@few
@given(case=cases)
def test_unlabelled_comparator(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("unlabelled:comparator", game)
    assert found.holds
    B = -math.log(one.P[one.P > 0.0].min())
    for k, (loss, mixing) in enumerate(rivals(case).values()):
        close(found.left[k], case.rounds * one.average[-1] - loss, sums(case) * (1.0 + B))
        close(found.right[k], mixing * (B + game.constants.cost_range), sums(case) * (1.0 + B))
        assert max(kl(Q, one.P).max() for Q in case.game.rivals.values()) <= B * (1.0 + EPS * case.states)


@few
@given(case=cases)
def test_lem_trueloss(case: Case) -> None:
    game, one, constants = case.record, straight(case), case.record.constants
    found, printed = certificate("lem:trueloss", game), certificate("lem:trueloss", game, reading="printed")
    assert found.holds
    assert printed.holds
    close(found.left, sum(one.ftl.loss) - ideal(one), sums(case))
    C, L, tau, log_T = constants.cost_range, constants.L, game.printed.tau, math.log(case.rounds)
    np.testing.assert_allclose(found.right, (C**2 * L**3 + 2 * C * L) * (1 + log_T) + 2 * C * L, rtol=FORMULA)
    right = (tau + 1) ** 3 * (1 + log_T) ** 2 + 2 * (tau + 1) * (3 + log_T)
    np.testing.assert_allclose(printed.right, right, rtol=FORMULA)


def excess_bound(case: Case) -> float:
    """The right side of new:log with the L of the record."""
    C, L, log_T = case.record.constants.cost_range, case.record.constants.L, math.log(case.rounds)
    return (C**2 * L**3 + C**2 * L**2 / 2 + 2 * C * L) * (1 + log_T) + 2 * C * L


def square_bound(case: Case) -> float:
    """The right side of new:L2 with the L of the record: the older terms where L < 2."""
    C, L, log_T = case.record.constants.cost_range, case.record.constants.L, math.log(case.rounds)
    square = 2 * C**2 * L**2 + C**2 * L if L > 2 else C**2 * L**3 + C**2 * L**2 / 2
    return (square + 2 * C * L) * (1 + log_T) + 2 * C * L


def printed_bound(case: Case) -> float:
    """The right side of eq:fullbound."""
    tau, B, log_T = case.record.printed.tau, case.record.constants.B, math.log(case.rounds)
    return 2 * (tau + 1) ** 3 * (1 + log_T) ** 2 + 2 * (tau**2 + tau + 2) * (3 + log_T) + (2 * tau + 2) * (B + 2)


def against_each(case: Case, label: str, excess: float, allowance: list[float]) -> None:
    """The regret against each fixed policy, and bounds that are the same for all but for the allowance."""
    one = straight(case)
    found, printed = certificate(label, case.record), certificate(label, case.record, reading="printed")
    assert found.holds
    losses = [loss for loss, _ in rivals(case).values()]
    B = case.record.constants.B
    close(found.left, [sum(one.ftl.loss) - loss for loss in losses], sums(case) * (1.0 + B))
    right = [excess + extra for extra in allowance]
    np.testing.assert_allclose(found.right, right, rtol=FORMULA, atol=sums(case) * (1.0 + B))
    close(printed.left, sum(one.ftl.loss) - min(losses), sums(case) * (1.0 + B))
    np.testing.assert_allclose(printed.right, printed_bound(case), rtol=FORMULA)


@few
@given(case=cases)
def test_eq_fullbound(case: Case) -> None:
    B, C = case.record.constants.B, case.record.constants.cost_range
    against_each(case, "eq:fullbound", excess_bound(case), [mixing * (B + C) for _, mixing in rivals(case).values()])


@few
@given(case=cases)
def test_thm_main(case: Case) -> None:
    """Without B: the span of the last leader's values, and twice the mixing sum."""
    last, C = straight(case).v[-1], case.record.constants.cost_range
    allowance = [last.max() - last.min() + 2.0 * C * mixing for _, mixing in rivals(case).values()]
    against_each(case, "thm:main", square_bound(case), allowance)
