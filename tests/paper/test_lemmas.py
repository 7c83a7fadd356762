"""The lemmas about value functions, policies and laws, on random games, each against a straight computation."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given

from .games import Case, Floats, cases, certificate, few
from .straight import EPS, FORMULA, Straight, bellman, close, cost_of, dobrushin, hitting_times, kl, span, straight


def changes(values: list[Floats]) -> list[Floats]:
    return [after - before for before, after in pairwise(values)]


def moved(one: Straight) -> list[float]:
    """max_x |Q_{t+1} - Q_t|_1 for every round."""
    return [float(np.abs(step).sum(axis=1).max()) for step in changes(one.Q)]


def drifted(one: Straight) -> list[float]:
    """|mu_{t+1} - mu_t|_1 for every round."""
    return [float(np.abs(step).sum()) for step in changes(one.mu)]


@few
@given(case=cases)
def test_lem_vbound(case: Case) -> None:
    """Every pair of states in every round; the certificate shows the pair that is nearest to its bound."""
    game, one = case.record, straight(case)
    found = certificate("lem:vbound", game)
    assert found.holds
    E = hitting_times(one.P)
    within = one.error(game) * (1.0 + E.max()) + 64.0 * EPS * case.states * E.max() ** 2
    apart = ~np.eye(case.states, dtype=bool)
    for t, (v, c, average) in enumerate(zip(one.v, one.c, one.average, strict=True)):
        over = (v[:, None] - v[None, :] - (c.max() - average) * E)[apart]
        close(found.left[t] - found.right[t], over.max(), within)
    printed = certificate("lem:vbound", game, reading="printed")
    close(printed.left, [span(v) for v in one.v], one.error(game))
    assert (printed.right == game.constants.primitivity_index).all()


@few
@given(case=cases)
def test_lem_vbound_2(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("lem:vbound/2", game)
    assert found.holds
    for t, (v, c, average, Q) in enumerate(zip(one.v, one.c, one.average, one.Q, strict=True)):
        over = kl(Q, one.P) - np.minimum(span(v) ** 2 / 8.0, span(v) + average - c)
        close(found.left[t] - found.right[t], over.max(), 4.0 * one.error(game))
    printed = certificate("lem:vbound/2", game, reading="printed")
    close(printed.left, [kl(Q, one.P).max() for Q in one.Q], one.error(game))


@few
@given(case=cases)
def test_lem_mixing(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("lem:mixing", game)
    assert found.holds
    close(found.left, [dobrushin(Q) for Q in one.Q], one.error(game))
    a = dobrushin(one.P)
    odds = [a / (a + (1.0 - a) * math.exp(-span(v))) for v in one.v]
    close(found.right, odds, one.error(game))
    printed = certificate("lem:mixing", game, reading="printed")
    H = game.constants.primitivity_index
    close(printed.right, a + (1.0 - a) * (1.0 - math.exp(-H - 2.0)), game.noise)


@few
@given(case=cases)
def test_lem_c_to_v(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("lem:c_to_v", game)
    assert found.holds
    close(found.left, [span(step) for step in changes(one.v)], one.error(game))
    L = game.constants.L
    assert max(one.Lambda) <= L * (1.0 + one.error(game))  # Lambda(Q) is what L bounds
    np.testing.assert_allclose(
        found.right, [L * span(step) for step in changes(one.c)], rtol=FORMULA, atol=8.0 * EPS * L
    )
    printed = certificate("lem:c_to_v", game, reading="printed")
    if math.isfinite(game.printed.tau):
        tau = game.printed.tau
        right = [2.0 * tau * np.abs(step).max() for step in changes(one.c)]
        np.testing.assert_allclose(printed.right, right, rtol=FORMULA, atol=8.0 * EPS * tau)


@few
@given(case=cases)
def test_lem_c_to_v_2(case: Case) -> None:
    """tau and 1/(1 - a(Q)) for every policy that is met."""
    found = certificate("lem:c_to_v/2", case.record)
    assert found.holds in (True, None)
    mixing = [a for a in (dobrushin(Q) for Q in straight(case).Q) if a < 1.0 - 1e-9]
    assert (found.holds is None) <= (not mixing)
    for a in mixing:
        tau, inverse = 1.0 / math.log(1.0 / a) if a > 0.0 else 0.0, 1.0 / (1.0 - a)
        rounding = 8.0 * EPS * inverse**2
        assert tau - rounding <= inverse <= tau + 1.0 + rounding


@few
@given(case=cases)
def test_lem_v_to_Q(case: Case) -> None:
    game, one = case.record, straight(case)
    found, printed = certificate("lem:v_to_Q", game), certificate("lem:v_to_Q", game, reading="printed")
    assert found.holds
    assert printed.holds
    close(found.left, moved(one), one.error(game))
    close(found.right, [2.0 * math.tanh(span(step) / 4.0) for step in changes(one.v)], one.error(game))
    assert (found.right <= printed.right).all()


@few
@given(case=cases)
def test_eq_span(case: Case) -> None:
    """Both terms, with the Bellman operators written out."""
    game, one = case.record, straight(case)
    found = certificate("eq:span", game)
    assert found.holds
    close(found.left, [span(d) for d in changes(one.v)], one.error(game))

    for t, (g, f, v_g, v_f) in enumerate(zip(one.c[:-1], one.c[1:], one.v[:-1], one.v[1:], strict=True)):
        B_f_v_f, B_g_v_f, B_g_v_g = bellman(one.P, f, v_f), bellman(one.P, g, v_f), bellman(one.P, g, v_g)
        close(found.left[t], span(B_f_v_f - B_g_v_g), 4.0 * one.error(game))
        close(found.right[t], span(B_f_v_f - B_g_v_f) + span(B_g_v_f - B_g_v_g), 4.0 * one.error(game))
        close(game.steps.by_costs[t], span(f - g), 4.0 * one.error(game))


@few
@given(case=cases)
def test_lem_change(case: Case) -> None:
    game, one = case.record, straight(case)
    found, printed = certificate("lem:change", game), certificate("lem:change", game, reading="printed")
    assert found.holds
    close(found.left, moved(one), one.error(game))
    t = np.arange(1, case.rounds + 1)
    np.testing.assert_allclose(found.right, game.constants.cost_range * game.constants.L / t, rtol=FORMULA)
    np.testing.assert_allclose(printed.right, game.printed.tau / t, rtol=FORMULA)


@few
@given(case=cases)
def test_lem_price_2(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("lem:price/2", game)
    steps, drift = moved(one), drifted(one)
    if found.holds is None:
        close(steps, 0.0, one.error(game))
        return
    assert found.holds
    shown = [t for t in range(case.rounds) if game.steps.change_q[t] > 0.0]
    close(found.left, [drift[t] for t in shown], one.error(game))
    for k, t in enumerate(shown):
        a = min(dobrushin(one.Q[t]), dobrushin(one.Q[t + 1]))
        overlap = (1.0 - a) * (1.0 + 4.0 * one.error(game)) + EPS  # the entries of Q are right up to a factor
        assert found.right[k] >= (steps[t] - one.error(game)) / overlap
        assert drift[t] <= steps[t] / (1.0 - a + EPS) + one.error(game) if a < 1.0 else True


@few
@given(case=cases)
def test_eq_lpiform(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("eq:lpiform", game)
    assert found.holds
    paid = [cost_of(pi, one.P, c_t) for pi, c_t in zip(one.pi[:-1], one.costs, strict=True)]
    close(found.left, paid, one.error(game))
    form = [mu @ (c_t + a - c) for mu, c_t, a, c in zip(one.mu, one.costs, one.average, one.c, strict=False)]
    close(found.right, form, one.error(game))


@few
@given(case=cases)
def test_eq_lpidiff(case: Case) -> None:
    game, one = case.record, straight(case)
    found, printed = certificate("eq:lpidiff", game), certificate("eq:lpidiff", game, reading="printed")
    assert found.holds
    for t, c_t in enumerate(one.costs):
        drift, change = one.mu[t] - one.mu[t + 1], one.c[t + 1] - one.c[t]
        average = one.average[t] - one.average[t + 1]
        left = cost_of(one.pi[t], one.P, c_t) - cost_of(one.pi[t + 1], one.P, c_t)
        close(found.left[t], left, 2.0 * one.error(game))
        right = drift @ (c_t - one.c[t]) + one.mu[t + 1] @ change + average
        close(found.right[t], right, 4.0 * one.error(game))
        as_printed = drift @ (c_t + one.c[t]) - one.mu[t + 1] @ change + average
        close(printed.right[t], as_printed, 4.0 * one.error(game))


def distances(one: Straight) -> list[float]:
    """|p_t - mu_t|_1 of follow the leader."""
    return [float(np.abs(p - mu).sum()) for p, mu in zip(one.ftl.p[:-1], one.mu[:-1], strict=True)]


@few
@given(case=cases)
def test_eq_mu_to_p(case: Case) -> None:
    """The sums of both readings, term by term."""
    game, one, found = case.record, straight(case), case.record.constants
    corrected, printed = certificate("eq:mu_to_p", game), certificate("eq:mu_to_p", game, reading="printed")
    assert corrected.holds
    close(corrected.left, distances(one), one.error(game))

    def a_to(steps: int) -> float:
        return found.alpha_k ** (steps // found.k)

    tau = game.printed.tau
    for t in range(1, case.rounds + 1):
        terms = found.cost_range * found.L**2 * sum(a_to(t - 1 - m) / m for m in range(1, t))
        np.testing.assert_allclose(corrected.right[t - 1], 2.0 * a_to(t - 1) + terms, rtol=FORMULA)
        if 0.0 < tau < math.inf:
            e = math.exp(-1.0 / tau)
            right = 2.0 * e ** (t - 1) + tau * (tau + 1.0) * sum(e ** (t - m) / m for m in range(1, t))
            np.testing.assert_allclose(printed.right[t - 1], right, rtol=FORMULA)


@few
@given(case=cases)
def test_eq_pmudiff(case: Case) -> None:
    game, one, found = case.record, straight(case), case.record.constants
    corrected, printed = certificate("eq:pmudiff", game), certificate("eq:pmudiff", game, reading="printed")
    assert corrected.holds
    assert printed.holds
    close(corrected.left, distances(one), one.error(game))
    for t in range(1, case.rounds + 1):
        later = (1.0 + math.log(t - 1)) / (t - 1) if t > 1 else 0.0
        bound = 2.0 * found.alpha_k ** ((t - 1) // found.k) + found.cost_range * found.L**3 * later
        np.testing.assert_allclose(corrected.right[t - 1], bound, rtol=FORMULA)
        tau = game.printed.tau
        e = math.exp(-1.0 / tau) if tau > 0.0 else 0.0
        bound = 2.0 * e ** (t - 1) + 2.0 * (tau + 1.0) ** 3 * (1.0 + math.log(t)) / t
        np.testing.assert_allclose(printed.right[t - 1], bound, rtol=FORMULA)


@few
@given(case=cases)
def test_lem_trueloss_2(case: Case) -> None:
    """Entry k compares c_bar_{k+3} with c_bar_{k+2}."""
    game, one = case.record, straight(case)
    found = certificate("lem:trueloss/2", game)
    if case.rounds == 1:
        assert found.holds is None
        return
    assert found.holds
    close(found.left, [np.abs(step).max() for step in changes(one.c)[1:]], game.noise)
    width = float(one.costs.max() - one.costs.min())
    close(found.right, [width / (t - 1) for t in range(3, case.rounds + 2)], game.noise)
