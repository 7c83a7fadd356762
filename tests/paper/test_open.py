"""What docs/theory.md proves and the library has no certificate for: dynamic regret, and the loss along a path.

Everything here is computed from definitions alone (straight.py).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from .games import Case, Floats, cases, few
from .straight import EPS, Straight, bellman, kl, policy_of, span, straight, walks

# new:dynamic


@few
@given(case=cases)
def test_what_not_knowing_the_future_costs(case: Case) -> None:
    """loss - p_1.V_1 = sum p_t.KL(Q_t||Q_{V_{t+1}}) for every learner, and for policies that are no Q_v."""
    one = straight(case)
    V = [np.zeros(one.n)]
    for c_t in reversed(one.costs):
        V.insert(0, bellman(one.P, c_t, V[0]))
    rng = np.random.default_rng(case.seed)
    on = one.P > 0.0
    weights = [rng.random(one.P.shape) * on for _ in one.costs]
    strange = [w / w.sum(axis=1, keepdims=True) for w in weights]
    for policies in (*(walk.Q for walk in walks(case)), strange):
        p, loss, price = one.start, 0.0, 0.0
        for t, (Q, c_t) in enumerate(zip(policies, one.costs, strict=True)):
            loss += float(p @ (c_t + kl(Q, one.P)))
            price += float(p @ kl(Q, policy_of(one.P, V[t + 1])))
            p = p @ Q
        size = 1.0 + abs(loss) + price + span(V[0])
        assert loss - float(one.start @ V[0]) == pytest.approx(price, abs=64.0 * EPS * one.n * case.rounds * size)
        assert price >= -64.0 * EPS * one.n * case.rounds


# new:pathwise


def path_of(one: Straight, rng: np.random.Generator) -> list[int]:
    """X_1, ..., X_{T+1} under follow the leader."""
    X = [int(one.start.argmax())]
    for Q in one.ftl.Q:
        X.append(int(rng.choice(one.n, p=Q[X[-1]] / Q[X[-1]].sum())))
    return X


@few
@given(case=cases)
def test_the_loss_along_a_path(case: Case) -> None:
    """With log Q/P of the moves made: sum lambda_t + v_t(X_t) - v_t(X_{t+1}) + (c_t - c_bar_t)(X_t), exactly."""
    one = straight(case)
    for seed in range(5):
        X = path_of(one, np.random.default_rng(seed))
        paid = form = bracket = 0.0
        for t, c_t in enumerate(one.costs):
            x, y, v = X[t], X[t + 1], one.v[t]
            paid += c_t[x] + math.log(one.ftl.Q[t][x, y] / one.P[x, y])
            bracket += v[x] - v[y]
            form += one.average[t] + v[x] - v[y] + c_t[x] - one.c[t][x]
        within = case.rounds * float(one.gap.max()) + 64.0 * EPS * one.n * case.rounds * (1.0 + max(map(span, one.v)))
        assert paid == pytest.approx(form, abs=within)
        moves = [span(after - before) for before, after in zip(one.v[:-2], one.v[1:-1], strict=True)]
        first = span(one.v[0])  # 0 up to rounding
        assert abs(bracket) <= sum(moves) + first + within


def steep(case: Case) -> tuple[list[Floats], list[Floats]]:
    """The functions c_t - c_bar_t, and F_t(x) = E[sum_{s>=t} (c_s - c_bar_s)(X_s) | X_t = x]."""
    one = straight(case)
    g = [c_t - c for c_t, c in zip(one.costs, one.c, strict=False)]
    F = [np.zeros(one.n)]
    for Q, g_t in zip(reversed(one.ftl.Q), reversed(g), strict=True):
        F.insert(0, g_t + Q @ F[0])
    return g, F[:-1]


@few
@given(case=cases)
def test_the_last_sum_is_concentrated(case: Case) -> None:
    """Its moment generating function, exactly, against exp(s^2/8 sum span(F_t)^2), which gives the tail."""
    one = straight(case)
    g, F = steep(case)
    L, C = case.record.constants.L, case.record.constants.cost_range
    assert max(map(span, F)) <= 2.0 * C * L * (1.0 + 1e-9)
    squares = sum(span(f) ** 2 for f in F)
    mean = float(one.start @ F[0])
    for s in (-3.0, -0.5, 0.1, 1.0, 4.0):
        u = np.zeros(one.n)  # log E[exp(s sum_{r>=t} g_r(X_r)) | X_t]
        for Q, g_t in zip(reversed(one.ftl.Q), reversed(g), strict=True):
            top = float(u.max())
            u = s * g_t + top + np.log(Q @ np.exp(u - top))
        log_moment = float(one.start @ u) - s * mean  # the start is a state
        assert log_moment <= s * s * squares / 8.0 + 1e-9 * (1.0 + squares)


# new:iid


def two_states(g: float, c: float) -> tuple[Floats, Floats]:
    """P = [[1 - g/2, g/2], [g/2, 1 - g/2]] with the cost (c, 0): the optimal policy and its law, in closed form."""
    P = np.array([[1.0 - g / 2, g / 2], [g / 2, 1.0 - g / 2]])
    A = np.exp([-c, 0.0])[:, None] * P
    top = (A.trace() + math.sqrt((A[0, 0] - A[1, 1]) ** 2 + 4.0 * A[0, 1] * A[1, 0])) / 2.0
    z = (top - A[0, 0]) / A[0, 1]
    Q = P * np.array([1.0, z])
    Q /= Q.sum(axis=1, keepdims=True)
    return Q, np.array([Q[1, 0], Q[0, 1]]) / (Q[1, 0] + Q[0, 1])


@pytest.mark.parametrize("g", [1.0, 0.3])
def test_the_constant_for_independent_costs(g: float) -> None:
    """Costs (Y_t, 0), Y_t ~ Bernoulli(0.4): t E[t mu_t.KL(Q_t||Q_{t+1})] tends to Gamma Var(Y)/2, by exact sums."""
    theta = 0.4
    step = 1e-4
    Gamma = (two_states(g, theta - step)[1][0] - two_states(g, theta + step)[1][0]) / (2.0 * step)  # -d mu/dc
    constant = Gamma * theta * (1.0 - theta) / 2.0
    off = []
    for t in (250, 1_000):
        m = t - 1
        mean = 0.0
        for s in range(m + 1):
            log = math.lgamma(m + 1) - math.lgamma(s + 1) - math.lgamma(m - s + 1)
            chance = math.exp(log + s * math.log(theta) + (m - s) * math.log(1.0 - theta))
            if chance < 1e-14:
                continue
            Q, mu = two_states(g, s / m)
            for y, p in ((1, theta), (0, 1.0 - theta)):
                mean += chance * p * t * t * float(mu @ kl(Q, two_states(g, (s + y) / t)[0]))
        off.append(abs(mean - constant))
        assert mean == pytest.approx(constant, rel=20.0 / t / g)
    assert off[1] < off[0] / 2.0


# the leader of the last cost


def leader_of(P: Floats, c: Floats) -> tuple[float, Floats, Floats, Floats]:
    """lambda, v, Q and mu of a cost, by dense eigenvectors."""
    roots, vectors = np.linalg.eig(np.exp(-c)[:, None] * P)
    at = int(np.argmax(roots.real))
    z = np.abs(vectors[:, at].real)
    Q = P * z / (P @ z)[:, None]
    mu = np.linalg.lstsq(np.vstack([Q.T - np.eye(len(c)), np.ones(len(c))]), np.append(0.0 * c, 1.0), rcond=None)[0]
    return -math.log(roots[at].real), -np.log(z), Q, mu


@pytest.mark.parametrize("seed", range(8))
def test_the_leader_of_the_last_cost_is_near_the_plan(seed: int) -> None:
    """Its loss in each round by the formula of 11.4; then both bounds, whose L comes from P > 0 and costs in [0, C]."""
    rng = np.random.default_rng(seed)
    n, T, C = 3, 60, 1.0
    P = rng.uniform(0.2, 1.0, (n, n))
    P /= P.sum(axis=1, keepdims=True)
    turn = np.cumsum(rng.uniform(0.0, 0.2, T))
    costs = C / 2 * (1.0 + np.cos(turn[:, None] + np.arange(n)))
    p, loss, total, before, V = np.eye(n)[0], 0.0, 0.0, np.zeros(n), 0.0
    for c in costs:
        (_, v, Q, mu), (rate, _, best, _) = leader_of(P, before), leader_of(P, c)
        paid, after = float(p @ (c + kl(Q, P))), p @ Q
        parts = float((p - mu) @ (c - before) + (p - after) @ v + mu @ kl(Q, best))
        assert paid - rate == pytest.approx(parts, abs=1e-12)
        p, loss, total, V, before = after, loss + paid, total + rate, V + span(c - before), c
    plan = np.zeros(n)
    for c in reversed(costs):
        plan = bellman(P, c, plan)
    S = C + math.log((P.max(axis=0) / P.min(axis=0)).max())  # spans of all leaders of such costs
    a = 0.5 * max(np.abs(row - other).sum() for row in P for other in P)
    L = math.exp(S) / (1.0 - a)  # 1/(1 - alpha), alpha = 1 - (1 - a(P)) e^{-S}
    bound = 2 * C * L + (C * L**2 + C * L / 2 + L) * V  # M = 2, as L >= 2 here
    assert L >= 2.0
    assert loss - total <= bound
    assert loss - plan[0] <= bound + L * V
    assert loss >= plan[0] - 1e-12
