"""What the second derivative of the average cost gives: new:L2, and a convex set on which the loss is exp-concave.

The average cost lambda(c) is concave with gradient mu_c. In a direction d, with h = Z d (dense.py), so that
(I - Q) h = d - mu.d,

    -D^2 lambda(c)[d, d] = sum_x mu(x) Var_{Q(.|x)}(h) = 2 Cov_mu(d, h) - Var_mu(d) <= 1/2 span(d) span(h),

and span(h) <= Lambda(Q) span(d). Cauchy and Schwarz for this form give the change of mu in any other direction. So, if
Lambda(Q_c) <= L for **every cost c on the way** from c_bar_t to c_bar_{t+1}, with M = min(L, 2),

    new:L2/2    |mu_{t+1} - mu_t|_1 <= L M / 2 span(Delta_t) <= C L M / t,
    new:L2/3    Rbar_T <= C^2 L M / 2 (1 + log T),
    new:L2      R' <= (C^2 L^2 M + C^2 L M / 2 + 2 C L) (1 + log T) + 2 C L

(with M = L these are the bounds of regrets.py, which are better where L < 2). The L of constants.py is such a bound,
since it holds for all costs of the range; one for the largest span of v that a run has met is not, since costs on the
way are not met.

Two versions need no supremum. *Secants*: for any v and w, d = w - v, x = span(d), and mu the law of Q_v,

    new:L2/4    mu.KL(Q_v || Q_w) <= 1/2 psi(x) x span(d - Q_v d),   psi(x) = (e^x - 1 - x)/x^2 -> 1/2,

since KL = log E e^{-(d - Ed)} <= psi(x) Var(d), and sum mu Var(d) = 2 Cov_mu(d, d - Q d) - Var_mu(d - Q d). For two
leaders mu_t.KL(Q_t||Q_{t+1}) + mu_{t+1}.KL(Q_{t+1}||Q_t) = (mu_t - mu_{t+1}).Delta_t, so half |mu_t - mu_{t+1}|_1
span(Delta_t) will do, too. Put into new:posteriori both are new:L2/5.

*Along the way*: 1/Lambda(Q_c)^2 falls by at most span(dc) (docs/theory.md), so

    new:L2/6    Lambda(Q_c) <= Lambda_t / sqrt(1 - Lambda_t^2 span(Delta_t)) on the whole way, where that is positive.

**new:corB.** {Q >= delta P} is a convex set of measures pi, and there

    sigma^2(pi; c) <= (sqrt(Lambda / 2) (C + B) + (B + log 1/delta) / 2)^2,   Lambda <= k delta^-k / (1 - a(P^k)).
"""

from __future__ import annotations

import math

import numpy as np

from lsmdp.arrays import Floats, running_sum
from lsmdp.theory.beyond import L_IS_NOT_KNOWN, after_each_round, posteriori_terms
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    left_out,
    times,
)
from lsmdp.theory.constants import Constants
from lsmdp.theory.lemmas import all_pairs
from lsmdp.theory.regrets import (
    any_regret,
    bounded,
    curved_bound,
    total_error,
)
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import PlayerTrace, Trace


def half(L: float) -> float:
    """L M / 2 with M = min(L, 2): the factor in |mu' - mu|_1 <= L M / 2 span(c' - c)."""
    return L * min(L, 2.0) / 2.0


@statement(
    "new:L2",
    "",
    "new",
    "R' <= (C^2 L^2 M + C^2 L M/2 + 2 C L) (1 + log T) + 2 C L, M = min(L, 2): L^2 where new:ksteps has L^3",
)
def square_theorem(game: Trace, *, reading: Reading) -> Certificate:
    """The regret of follow the leader, with the square of L; L as in new:ksteps."""
    found = game.constants
    if not math.isfinite(found.L):
        return left_out("new:L2", reading, found.left_out.get("L", L_IS_NOT_KNOWN))
    right, more = bounded(game, found, lambda found: curved_bound(found, game.lg))
    left, off = game.ftl.loss - game.T * game.leader.average_cost[-1], total_error(game) + more
    place = f"k = {found.k}"
    return at_most("new:L2", reading, left, right, tolerance=off, trivial=any_regret(game), places=place)


@statement("new:L2/2", "", "new", "|mu_{t+1} - mu_t|_1 <= C L M / t, M = min(L, 2)")
def step_of_law(game: Trace, *, reading: Reading) -> Certificate:
    """The change of the leader's stationary law in each round."""
    found, t = game.constants, game.rounds
    if not math.isfinite(found.L):
        return left_out("new:L2/2", reading, found.left_out.get("L", L_IS_NOT_KNOWN))
    right = times(2.0 * found.cost_range * half(found.L), 1.0 / t)
    off = times(half(found.L), game.gaps) + game.noise
    return at_most("new:L2/2", reading, game.steps.change_mu, right, tolerance=off, trivial=2.0, rounds=t)


@statement("new:L2/3", "", "new", "Rbar_T <= C^2 L M/2 (1 + log T), M = min(L, 2)")
def square_idealised(game: Trace, *, reading: Reading) -> Certificate:
    """The idealised regret of follow the leader."""
    found = game.constants
    if not math.isfinite(found.L):
        return left_out("new:L2/3", reading, found.left_out.get("L", L_IS_NOT_KNOWN))
    left = game.steps.ideal.sum() - game.T * game.leader.average_cost[-1]
    right, more = bounded(game, found, lambda found: found.cost_range**2 * half(found.L) * game.lg)
    off = total_error(game) + more
    return at_most("new:L2/3", reading, left, right, tolerance=off, trivial=any_regret(game))


@statement(
    "new:L2/4",
    "",
    "new",
    (
        "mu_t.KL(Q_t||Q_{t+1}) <= psi(x)/2 x span(d - Q_t d), d = v_{t+1} - v_t, x = span(d), "
        "psi(x) = (e^x - 1 - x)/x^2; and <= 1/2 |mu_t - mu_{t+1}|_1 span(Delta_t)"
    ),
)
def secant(game: Trace, *, reading: Reading) -> Certificate:
    """A t-th of what learning costs in round t, by the run's own numbers."""
    steps = game.steps
    rounding = game.grain * (1.0 + game.leader.span_v.max()) * (steps.change_v + steps.change_q)
    off = rounding + steps.change_mu / 2 * game.gaps  # the computed leaders are exact for costs that are a gap apart
    left, right, trivial = steps.forward, secant_bound(game), game.constants.B
    return at_most("new:L2/4", reading, left, right, tolerance=off, trivial=trivial, rounds=game.rounds)


def secant_bound(game: Trace) -> Floats:
    """The right side of new:L2/4 in each round."""
    steps = game.steps
    by_values = _psi(steps.change_v) / 2 * steps.change_v * steps.turn
    return np.asarray(np.minimum(by_values, steps.change_mu / 2 * steps.change_c))


def _psi(x: Floats) -> Floats:
    """(e^x - 1 - x)/x^2, by its series where the difference would lose digits; infinite where e^x is."""
    small = np.minimum(x, 0.5)
    series = sum(small**k / math.factorial(k + 2) for k in range(12))  # 0.5^12 / 14! < 1e-14, relative to 1/2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(np.where(x <= 0.5, series, (np.expm1(x) - x) / x**2))


@statement(
    "new:L2/5",
    "",
    "new",
    "new:posteriori with t times the right side of new:L2/4 in its first sum, where that is less than t x^2/8",
    per_learner=True,
)
def square_posteriori(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The regret of any learner by the numbers of the run, with the idealised part by new:L2/4."""
    return after_each_round("new:L2/5", game, player, curved_terms(game, player), reading)


def curved_terms(game: Trace, player: PlayerTrace) -> dict[str, Floats]:
    """The four sums of new:L2/5 after each round."""
    least = np.minimum(secant_bound(game), game.steps.change_v**2 / 8)
    return posteriori_terms(game, player) | {"idealised": running_sum(game.rounds * least)}


@statement(
    "new:L2/6",
    "",
    "new",
    (
        "with Lambda' = Lambda_t / sqrt(1 - Lambda_t^2 span(Delta_t)): |mu_{t+1} - mu_t|_1 <= Lambda' span(Delta_t) "
        "and mu_t.KL(Q_t||Q_{t+1}) <= Lambda'/4 span(Delta_t)^2"
    ),
)
def along_the_way(game: Trace, *, reading: Reading) -> Certificate:
    """Both steps with one sensitivity constant a round, in the rounds where the costs change little enough for it."""
    Lambda, change = game.leader.sensitivity[:-1], game.steps.change_c
    moved = change + game.gaps  # the computed leaders are exact for costs that are a gap further apart
    with np.errstate(invalid="ignore"):
        near = Lambda * Lambda * moved < 1.0  # False where Lambda is not known
    if not near.any():
        unknown = np.isnan(Lambda).all()
        reason = all_pairs(game) if unknown else "the costs change too much in every round that was looked at"
        return left_out("new:L2/6", reading, reason)
    Lambda, change, moved = Lambda[near], change[near], moved[near]
    right, allowed = _both_steps(Lambda, change), _both_steps(Lambda, moved)
    rounding = game.noise / (1.0 - Lambda * Lambda * moved)  # the root magnifies what rounding has done to Lambda
    off = allowed - right + np.tile(rounding, 2) * (1.0 + allowed)
    left = np.concatenate([game.steps.change_mu[near], game.steps.forward[near]])
    trivial = np.repeat([2.0, game.constants.B], change.size)
    rounds = np.tile(game.rounds[near], 2)
    return at_most("new:L2/6", reading, left, right, tolerance=off, trivial=trivial, rounds=rounds)


def _both_steps(Lambda: Floats, change: Floats) -> Floats:
    sup = Lambda / np.sqrt(1.0 - Lambda * Lambda * change)
    return np.concatenate([sup * change, sup * change**2 / 4])


@statement(
    "new:corB",
    "",
    "new",
    (
        "where Q >= delta P: sigma^2(pi;c) <= (sqrt(Lambda/2) (C + B) + (B + log 1/delta)/2)^2 with "
        "Lambda <= k delta^-k / (1 - a(P^k)); f is exp-concave there, with the inverse; delta = e^-S has all leaders"
    ),
)
def exp_concave_set(game: Trace, *, reading: Reading) -> Certificate:
    """At every leader for the next cost: sigma^2 by the numbers of the run, and these by the bound for the set."""
    steps, found = game.steps, game.constants
    known = ~np.isnan(steps.variance)
    if not known.any():
        return left_out("new:corB", reading, all_pairs(game))
    Lambda = game.leader.sensitivity[:-1][known]
    own = _variance_bound(Lambda, steps.loss_span[known], steps.tilt_span[known])
    worst = np.full(own.size, set_bound(found))
    left, right = np.concatenate([steps.variance[known], own]), np.concatenate([own, worst])
    scale = np.tile(1.0 + own + Lambda * game.gaps[known], 2)
    off = game.noise * scale + np.tile(Lambda * game.gaps[known] * (1.0 + np.sqrt(own)), 2)
    return at_most("new:corB", reading, left, right, tolerance=off, rounds=np.tile(game.rounds[known], 2))


def set_bound(found: Constants) -> float:
    """The bound on sigma^2 over the set {Q >= e^-S P} of all leaders; its inverse is an exp-concavity constant."""
    width = np.array([found.cost_range + found.B])
    return float(_variance_bound(np.array([found.L_set]), width, np.array([found.B + found.S]))[0])


def _variance_bound(Lambda: Floats, losses: Floats, tilts: Floats) -> Floats:
    """(min(sqrt(Lambda/2), Lambda/2) span(loss) + span(log Q/P)/2)^2, by Minkowski's inequality."""
    with np.errstate(over="ignore"):
        return np.asarray((np.minimum(np.sqrt(Lambda / 2), Lambda / 2) * losses + tilts / 2) ** 2)
