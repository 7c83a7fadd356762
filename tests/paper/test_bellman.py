"""Statements about one leader, on random games, each against a straight computation."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from .games import Case, Floats, cases, certificate, few
from .straight import bellman, close, cost_of, dobrushin, hitting_times, kl, policy_of, span, stationary, straight


def random_laws(rng: np.random.Generator, P: Floats, number: int) -> Floats:
    """Laws on the moves of each row of P, some of them peaked."""
    weights = rng.random((number, *P.shape)) ** rng.choice([0.2, 1.0, 8.0], (number, 1, 1)) * (P > 0.0)
    return weights / weights.sum(axis=2, keepdims=True)


@few
@given(case=cases)
def test_ass_irred(case: Case) -> None:
    """Some power of P is positive, and the printed reading compares the least one with the hitting times."""
    found = certificate("ass:irred", case.record)
    assert found.holds
    assert found.kind == "assumption"
    P, H = straight(case).P, 1
    power = P > 0.0
    while not power.all():
        power, H = (power.astype(float) @ P) > 0.0, H + 1
    assert case.record.constants.primitivity_index == H
    printed = certificate("ass:irred", case.record, reading="printed")
    most = hitting_times(P).max()
    close(printed.left, most, 64.0 * np.finfo(float).eps * case.states * most**2)  # the condition of I - P is <= 2 E
    assert printed.right == H


@few
@given(case=cases)
def test_ass_ergod(case: Case) -> None:
    found, printed = certificate("ass:ergod", case.record), certificate("ass:ergod", case.record, reading="printed")
    a = dobrushin(straight(case).P)
    close(found.left, a, case.record.noise)
    close(printed.left, 2.0 * a, 2.0 * case.record.noise)
    assert found.holds == (found.left[0] < 1.0)
    assert printed.holds == (printed.left[0] < 1.0)


@few
@given(case=cases)
def test_eq_bellman_V(case: Case) -> None:
    """The equation holds for every leader, its numbers are right, and no other law of the next state does better."""
    game, one = case.record, straight(case)
    assert certificate("eq:bellman_V", game).holds
    error = one.error(game)
    close(game.leader.average_cost, one.average, error)
    close(game.leader.span_v, [span(v) for v in one.v], error)
    v, c, average = game.final.v, one.c[-1], game.leader.average_cost[-1]
    for laws in random_laws(np.random.default_rng(case.seed), one.P, 5):
        assert (v <= c - average + kl(laws, one.P) + laws @ v + error).all()
    Q = policy_of(one.P, v)
    close(v, c - average + kl(Q, one.P) + Q @ v, error)


@few
@given(case=cases)
def test_eq_bellman_Z(case: Case) -> None:
    """e^{-lambda} is the largest eigenvalue of GP."""
    game, one = case.record, straight(case)
    assert certificate("eq:bellman_Z", game).holds
    for c, average, v in zip(one.c, game.leader.average_cost, one.v, strict=True):
        A = np.exp(-c)[:, None] * one.P
        largest = np.abs(np.linalg.eigvals(A)).max()
        z = np.exp(v.min() - v)
        y = stationary(policy_of(one.P, v)) / z
        condition = np.linalg.norm(y) * np.linalg.norm(z) / (y @ z)  # of the eigenvalue; eigvals is backward stable
        within = one.error(game) + 16.0 * case.states * np.finfo(float).eps * condition / largest
        close(-np.log(largest), average, within)


@few
@given(case=cases)
def test_eq_statcost(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("eq:statcost", game)
    assert found.holds
    close(found.left, [cost_of(pi, one.P, c) for pi, c in zip(one.pi, one.c, strict=True)], one.error(game))
    close(found.right, one.average, one.error(game))


@few
@given(case=cases)
def test_eq_statdist(case: Case) -> None:
    game, one = case.record, straight(case)
    assert certificate("eq:statdist", game).holds
    pi = game.final.policy.transition_measure().toarray()
    close(pi, one.pi[-1], one.error(game))
    close(pi.sum(axis=0), pi.sum(axis=1), game.noise)
    close(pi.sum(), 1.0, game.noise)
    assert (pi >= 0.0).all()
    assert (pi[one.P == 0.0] == 0.0).all()


@few
@given(case=cases)
def test_eq_optQ(case: Case) -> None:
    game, one = case.record, straight(case)
    assert certificate("eq:optQ", game).holds
    close(game.final.policy.matrix().toarray(), policy_of(one.P, game.final.v), game.noise)
    close(game.final.policy.matrix().toarray(), one.Q[-1], one.error(game))


@few
@given(case=cases)
def test_eq_klform(case: Case) -> None:
    game, one = case.record, straight(case)
    assert certificate("eq:klform", game).holds
    v, c, average = one.v[-1], one.c[-1], one.average[-1]
    formula = one.P * np.exp(average - c[:, None] - v[None, :] + v[:, None])
    close(game.final.policy.matrix().toarray(), formula, one.error(game))


@few
@given(case=cases)
def test_app_convexity(case: Case) -> None:
    """The Bregman divergence is the mean of KL(Q'||Q), which Pinsker's inequality bounds."""
    game, one = case.record, straight(case)
    found = certificate("app:convexity", game)
    assert found.holds
    steps = list(zip(one.Q[:-1], one.Q[1:], one.mu[1:], strict=True))
    close(found.right[: game.T], [mu @ kl(after, before) for before, after, mu in steps], one.error(game))
    squares = [0.5 * mu @ np.abs(after - before).sum(axis=1) ** 2 for before, after, mu in steps]
    close(found.left[: game.T], squares, one.error(game))
    close(found.left[game.T :], 0.0, one.error(game))
    assert (found.right[game.T :] == 0.0).all()


def lagrangian_slope(pi: Floats, P: Floats, c: Floats, v: Floats, average: float, sign: float) -> float:
    """The largest |dL/dpi(x,y)| over the moves, by complex steps; sign -1 is the corrected one, +1 the printed."""
    most = 0.0
    for x, y in zip(*np.nonzero(P), strict=True):
        step = pi.astype(complex)
        step[x, y] += 1e-40j
        mu = step.sum(axis=1, keepdims=True)
        on = P > 0.0
        logs = np.log(np.where(on, step, 1.0) / np.where(on, P * mu, 1.0))
        cost = (step * (c[:, None] + logs)).sum()
        constraints = average * (step.sum() - 1.0) + (v[:, None] * (step - step.T)).sum()
        most = max(most, abs((cost + sign * constraints).imag / 1e-40))
    return most


@few
@given(case=cases)
def test_app_dual(case: Case) -> None:
    game, one = case.record, straight(case)
    found, printed = certificate("app:dual", game), certificate("app:dual", game, reading="printed")
    assert found.holds
    last = one.pi[-1], one.P, one.c[-1], one.v[-1], one.average[-1]
    close(lagrangian_slope(*last, sign=-1.0), 0.0, one.error(game))
    close(lagrangian_slope(*last, sign=+1.0), printed.left[-1], 2.0 * one.error(game))


@few
@given(case=cases)
def test_new_certificate(case: Case) -> None:
    """Any v at all: lambda and the average cost of Q_v lie between the least and the largest residual."""
    game, one = case.record, straight(case)
    assert certificate("new:certificate", game).holds
    rng = np.random.default_rng(case.seed)
    for v in 3.0 * rng.standard_normal((5, case.states)):
        r = bellman(one.P, one.c[-1], v) - v
        Q = policy_of(one.P, v)
        paid = stationary(Q) @ (one.c[-1] + kl(Q, one.P))
        error = one.error(game)
        assert r.min() - error <= game.leader.average_cost[-1] <= r.max() + error
        assert r.min() - error <= paid <= r.max() + error


@few
@given(case=cases)
def test_new_span(case: Case) -> None:
    """S is the least of three bounds, each computed here in another way."""
    game, one = case.record, straight(case)
    found = certificate("new:span", game)
    assert found.holds
    close(found.left, [span(v) for v in one.v], one.error(game))
    with np.errstate(divide="ignore"):
        paths = game.constants.cost_range - np.log(one.P)
    np.fill_diagonal(paths, 0.0)
    for k in range(case.states):  # Floyd and Warshall
        paths = np.minimum(paths, paths[:, k : k + 1] + paths[k : k + 1, :])
    H = int(game.constants.primitivity_index)
    power = np.linalg.matrix_power(one.P, H)
    C = game.constants.cost_range
    by_powers = H * C + np.log(power.max(axis=0) / power.min(axis=0)).max()
    least = min(paths.max(), C * hitting_times(one.P).max(), by_powers)
    close(found.right, least, 64.0 * np.finfo(float).eps * case.states * max(1.0, least) ** 2)
