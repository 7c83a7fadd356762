"""Statements with a game of their own: the lower bound in its smallest case, and virtual rounds.

**It cannot be better than log T** (new:lower_coin; for other P see choice.py). Two states, P = 1/2, costs
c_t = (B_t, 0) with B_t ~ Bernoulli(theta) and theta uniform on [0, 1]. To go to state 0 with probability q costs
KL(q||1/2) now and q B in the next round, which is affine in B. So after m observations no learner pays less than
lambda(E[theta | data]) on average, where lambda(s) = -log((1 + e^{-s})/2), and the best learner's regret against
lambda(theta) in that round is exactly

    E[lambda(theta_m) - lambda(theta)],   theta_m = (s + 1)/(m + 2),   s uniform on 0, ..., m.

lambda is concave with |lambda''| = q(1-q) >= e/(1+e)^2 on [0, 1], and E Var(theta | data) = 1/(6 (m+2)), so this is at
least slope/(m + 2) with slope = e/(12 (1+e)^2) = 0.01638... The policy of round t has seen t - 1 costs and meets
B_{t+1}; that of round T meets none. The leader Q_{T+1} pays c_1(X_1) + T lambda(mean) - q(mean) B_1, where
q(s) = 1/(1 + e^s); T E[lambda(theta) - lambda(mean)] >= slope, and E[q(mean) B_1] = E[mean q(mean)] is a sum that
exceeds T/(T+1) int_0^1 s q(s) ds, since s q(s) increases. So every learner has

    E R_T >= slope H_T - int_0^1 lambda + T/(T+1) int_0^1 s q(s) ds,       H_T = 1 + 1/2 + ... + 1/T.

**Virtual rounds** (new:kappa). Follow the leader with kappa rounds of zero cost before the first plays the optimum for
c_bar_t = (c_1 + ... + c_{t-1})/(t - 1 + kappa), and

    sum f(pi_t;c_t) = (T + kappa) lambda_{T+1} + sum (t + kappa) mu_t.KL(Q_t || Q_{t+1}).

For computed leaders the two sides differ by (T + kappa) (mu_T.r_{T+1} - lambda_{T+1}) and by the sum of
(t - 1 + kappa) (mu_{t-1} - mu_t).r_t, as in new:inexact; the gaps bound both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from lsmdp._core.sparse import flow
from lsmdp._core.sparse_play import divergence
from lsmdp.arrays import EPS, Floats, as_cost
from lsmdp.costs.given import in_rounds
from lsmdp.model import LMDP
from lsmdp.solvers import solve
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    equal,
)
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import GAP_OF_A_TRACED_LEADER

SLOPE = math.e / (12.0 * (1.0 + math.e) ** 2)  # This is the least curvature of lambda, times E theta(1 - theta) / 2.
# The lower bound is shown for this many rounds where nobody says how many: enough to see the logarithm.
_SOME_ROUNDS = 1_000


@statement(
    "new:lower_coin",
    "",
    "new",
    "two states, P = 1/2: every learner has E R_T >= .01638 log T - .045 against the leader, for some random costs",
    standalone=True,
)
def lower_bound(T: int = _SOME_ROUNDS, *, reading: Reading) -> Certificate:
    """For each horizon up to T: the bound, and the exact regret of the best learner in the two-state game."""
    rounds = np.arange(1, T + 1)
    right = best_regret(T)
    tolerance = 8.0 * EPS * T * (1.0 + np.abs(right))
    left = SLOPE * np.cumsum(1.0 / rounds) - mean_average_cost() + rounds / (rounds + 1.0) * mean_visit_cost()
    return at_most("new:lower_coin", reading, left, right, tolerance=tolerance, rounds=rounds)


def average_cost(s: Floats) -> Floats:
    """lambda(s) = -log((1 + e^{-s})/2)."""
    return np.asarray(np.log(2.0) - np.logaddexp(0.0, -s))


def mean_average_cost() -> float:
    """int_0^1 lambda = log 2 - pi^2/12 - sum_k (-1)^k e^{-k} / k^2, the dilogarithm of -1/e as a series."""
    k = np.arange(1, 40)
    return math.log(2.0) - math.pi**2 / 12.0 - float(np.sum((-1.0) ** k * np.exp(-k) / k**2))


def mean_visit_cost() -> float:
    """int_0^1 s q(s) ds = pi^2/12 - sum_k (-1)^{k+1} (1 + k) e^{-k} / k^2, by the geometric series of q."""
    k = np.arange(1, 40)
    return math.pi**2 / 12.0 - float(np.sum((-1.0) ** (k + 1) * (1.0 + k) * np.exp(-k) / k**2))


def best_regret(T: int) -> Floats:
    """E R_t against the leader Q_{t+1} of the learner that is best on average, for t = 1, ..., T.

    In round t it pays lambda((s+1)/(t+1)) with the next cost, s the sum of the t - 1 costs seen; in the last nothing.
    """
    paid = [float(average_cost((np.arange(m + 1.0) + 1.0) / (m + 2.0)).mean()) for m in range(T - 1)]
    return np.asarray(np.concatenate([[0.0], np.cumsum(paid)]) - _leader_costs(T))


def ftl_regret(T: int) -> Floats:
    """The same for follow the leader."""
    control, state = np.empty(T), np.zeros(T)
    for t in range(1, T + 1):
        s = np.arange(float(t))  # sums of the first t - 1 costs, all equally likely
        q = _visit(s / max(t - 1, 1))
        control[t - 1] = _control(q).mean()
        if t < T:
            state[t] = float(np.mean(q * (s + 1.0) / (t + 1.0)))
    return np.asarray(np.cumsum(control + state) - _leader_costs(T))


def _visit(s: Floats) -> Floats:
    """The chance of state 0 under the optimum for the cost (s, 0)."""
    return np.asarray(1.0 / (1.0 + np.exp(s)))


def _control(q: Floats) -> Floats:
    """KL(q || 1/2)."""
    return np.asarray(np.log(2.0) + q * np.log(q) + (1.0 - q) * np.log1p(-q))


def _leader_costs(T: int) -> Floats:
    """E L_t(Q_{t+1}) without the cost of the first round, which nobody can change, for t = 1, ..., T."""
    costs = np.empty(T)
    for t in range(1, T + 1):
        S = np.arange(t + 1.0)
        q = _visit(S / t)
        costs[t - 1] = float(np.mean(q * S * (t - 1) / t + t * _control(q)))
    return costs


@statement(
    "new:kappa",
    "",
    "new",
    "with kappa virtual rounds: sum f(pi_t;c_t) = (T + kappa) lambda_{T+1} + sum (t + kappa) mu_t.KL(Q_t||Q_{t+1})",
    standalone=True,
)
def virtual_rounds(lmdp: LMDP, costs: Iterable[Floats], kappa: float, *, reading: Reading) -> Certificate:
    """Both sides after every round, in units of the temperature."""
    unit, c_sum = LMDP(lmdp.P), np.zeros(lmdp.n)
    now = solve(unit, c_sum, tol=GAP_OF_A_TRACED_LEADER)
    ideal, ours, left, right, gaps = 0.0, 0.0, [], [], []
    shifts, spans = 0.0, 1.0
    for t, cost in enumerate(in_rounds(costs, lmdp.names), 1):
        c_t = as_cost(cost, lmdp.n) / lmdp.temperature
        c_sum = c_sum + c_t
        after = solve(unit, c_sum / (t + kappa), tol=GAP_OF_A_TRACED_LEADER, start=now, throw=False)
        mu, kl = now.stationary, now.policy.kl()
        apart, _ = divergence(unit.P, flow(unit.P, now.v), flow(unit.P, after.v))
        ideal += float(mu @ (c_t + kl))
        ours += (t + kappa) * float(mu @ apart)
        shifts += (t + kappa) * float(np.abs(after.stationary - mu).sum()) / 2 * after.gap
        gaps.append(shifts + (t + kappa) * after.gap)
        spans = max(spans, 1.0 + after.value_span)
        left.append(ideal)
        right.append((t + kappa) * after.average_cost + ours)
        now = after
    rounds = np.arange(1, len(left) + 1)
    tolerance = np.array(gaps) + 8.0 * EPS * (lmdp.n + rounds + spans) * spans * (rounds + kappa)
    return equal("new:kappa", reading, left, right, tolerance=tolerance, rounds=rounds)
