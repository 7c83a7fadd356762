"""The quantities of a game straight from their definitions, dense and slow, to check the records against.

Nothing here is shared with the library: value functions come from Howard's policy iteration, stationary laws from
elimination without subtractions, losses from explicit sums.

How far two computations of one quantity may be apart. Let v have the residual gap g and v' the gap g', both measured.
They are exact for costs that differ by at most g + g', so span(v - v') <= 2 Lambda (g + g') as long as that is below 2
(Lambda is the sensitivity of the policy). The entries of Q are then equal up to a factor e^{+-e}, e = span(v - v'), a
stationary law up to e^{+-2ne} (it is a ratio of sums of products of n - 1 entries), the law of the state in round t up
to e^{+-te}. So a sum of such probabilities times numbers of the size s, which are off by at most 2e themselves, is
off by at most (2n + T + 4) e max(1, s).
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

from lsmdp.learners import Learner
from lsmdp.theory import Trace

from .games import LEARNERS, Case, Floats, learner_by_name

EPS = np.finfo(np.float64).eps
FORMULA = 4_000 * EPS  # a formula of some hundred operations on positive numbers, each off by a few eps at most


def span(x: Floats) -> float:
    return float(x.max() - x.min())


def bellman(P: Floats, c: Floats, v: Floats) -> Floats:
    """Bv = c - log P e^{-v}."""
    return c + v.min() - np.log(P @ np.exp(v.min() - v))


def policy_of(P: Floats, v: Floats) -> Floats:
    """Q_v = P z / Pz."""
    W = P * np.exp(v.min() - v)
    return W / W.sum(axis=1, keepdims=True)


def kl(Q: Floats, R: Floats) -> Floats:
    """KL(Q(.|x) || R(.|x)) for each x."""
    on = Q > 0.0
    return np.where(on, Q * np.log(np.where(on, Q, 1.0) / np.where(on, R, 1.0)), 0.0).sum(axis=1)


def stationary(Q: Floats) -> Floats:
    """By Grassmann, Taksar and Heyman: elimination of the last state, without subtractions."""
    A = Q.copy()
    for k in range(A.shape[0] - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    mu = np.ones(A.shape[0])
    for k in range(1, A.shape[0]):
        mu[k] = mu[:k] @ A[:k, k]
    return mu / mu.sum()


def solved(P: Floats, c: Floats) -> tuple[Floats, float]:
    """v and lambda by policy iteration: evaluate Q_v, improve, until the residual no longer shrinks."""
    n = c.size
    v, best, best_gap = np.zeros(n), np.zeros(n), np.inf
    for _ in range(60):
        gap = span(bellman(P, c, v) - v)
        if gap >= best_gap / 2 and best_gap < 1e-9:
            break
        if gap < best_gap:
            best, best_gap = v, gap
        Q = policy_of(P, v)
        A = np.zeros((n + 1, n + 1))
        A[:n, :n], A[:n, n], A[n, 0] = np.eye(n) - Q, 1.0, 1.0
        v = np.linalg.solve(A, np.append(c + kl(Q, P), 0.0))[:n]
    r = bellman(P, c, best) - best
    return best, float(r.min() + r.max()) / 2


def dobrushin(Q: Floats) -> float:
    """a(Q), pair by pair."""
    return max(0.5 * float(np.abs(one - other).sum()) for one in Q for other in Q)


def sensitivity(Q: Floats, mu: Floats) -> float:
    """Lambda(Q), pair by pair."""
    Z = np.linalg.inv(np.eye(mu.size) - Q + np.outer(np.ones(mu.size), mu))
    return max(0.5 * float(np.abs(one - other).sum()) for one in Z for other in Z)


def hitting_times(P: Floats) -> Floats:
    """E_x[T_y], one linear system for each target."""
    n = P.shape[0]
    E = np.zeros((n, n))
    for y in range(n):
        others = [x for x in range(n) if x != y]
        E[others, y] = np.linalg.solve(np.eye(n - 1) - P[np.ix_(others, others)], np.ones(n - 1))
    return E


def cost_of(pi: Floats, P: Floats, c: Floats) -> float:
    """f(pi; c) of eq:statcost."""
    mu = pi.sum(axis=1, keepdims=True)
    on = pi > 0.0
    logs = np.log(np.where(on, pi, 1.0) / np.where(on, P * mu, 1.0))
    return float((pi * (c[:, None] + logs)).sum())


class Walk:
    """What a learner plays and where it is: v_t, Q_t, p_t and the expected losses; what it would play next."""

    def __init__(self, P: Floats, start: Floats, costs: Floats, values: list[Floats], last: Floats) -> None:
        self.v, self.Q, self.p, self.loss = values, [policy_of(P, v) for v in values], [start], []
        self.last = last
        for Q, c_t in zip(self.Q, costs, strict=True):
            p = self.p[-1]
            self.loss.append(float(p @ (c_t + kl(Q, P))))
            self.p.append(p @ Q)


class Straight:
    """Leaders, laws and losses of a game; index t - 1 is round t, as in the record."""

    def __init__(self, case: Case) -> None:
        game = case.game
        self.P, self.costs = game.lmdp.P.toarray(), game.costs
        self.T, self.n = self.costs.shape
        sums = np.vstack([np.zeros(self.n), np.cumsum(self.costs, axis=0)])
        self.c = [sums[t] / max(t, 1) for t in range(self.T + 1)]
        both = [solved(self.P, c) for c in self.c]
        self.v, self.average = [v for v, _ in both], [average for _, average in both]
        self.Q = [policy_of(self.P, v) for v in self.v]
        self.mu = [stationary(Q) for Q in self.Q]
        self.pi = [mu[:, None] * Q for mu, Q in zip(self.mu, self.Q, strict=True)]
        self.gap = np.array([span(bellman(self.P, c, v) - v) for c, v in zip(self.c, self.v, strict=True)])
        self.Lambda = np.array([sensitivity(Q, mu) for Q, mu in zip(self.Q, self.mu, strict=True)])
        self.start = np.eye(self.n)[game.start]
        self.ftl = Walk(self.P, self.start, self.costs, self.v[:-1], self.v[-1])

    def walk(self, learner: Learner, lmdp: object) -> Walk:
        """Another learner, asked round by round."""
        state, values = learner.init(lmdp), []
        for c_t in self.costs:
            values.append(np.array(learner.policy(lmdp, state).v))
            state = learner.observe(lmdp, state, c_t)
        return Walk(self.P, self.start, self.costs, values, np.array(learner.policy(lmdp, state).v))

    def fixed(self, Q: Floats) -> tuple[float, list[Floats]]:
        """L_T(Q) and the laws of the state."""
        p, loss, laws = self.start, 0.0, [self.start]
        for c_t in self.costs:
            loss += float(p @ (c_t + kl(Q, self.P)))
            p = p @ Q
            laws.append(p)
        return loss, laws

    def error(self, game: Trace) -> float:
        """How far a number of the size 1 may be from the record's (see above)."""
        apart = 2.0 * self.Lambda * (self.gap + game.leader.gap + 8.0 * EPS * self.n) + game.noise
        spans = max(float(player.rows.span_v.max()) for player in (game.ftl, *game.players))
        return float((2 * self.n + self.T + 4) * apart.max() * (1.0 + max(spans, max(map(span, self.v)))))


@cache
def straight(case: Case) -> Straight:
    return Straight(case)


@cache
def walks(case: Case) -> list[Walk]:
    """The learners of the record: follow the leader, and those of LEARNERS."""
    one = straight(case)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "plain tracking")
        return [one.ftl, *(one.walk(learner_by_name(name), case.game.lmdp) for name in LEARNERS)]


def close(found: object, expected: object, within: float) -> None:
    """Two computations of the same numbers."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=0.0, atol=within)
