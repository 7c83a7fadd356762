"""What the paper does not have besides identities: the O(log T) theorem and bounds from the run itself.

R' = loss - T lambda_{T+1}, Rbar is the idealised regret of follow the leader, v*_t, lambda_t, Q*_t, mu*_t belong to the
leader of round t, Delta_t = c_bar_{t+1} - c_bar_t, and a learner plays Q_t = Q_{v_t} with the law p_t of its state. The
identities that all of it rests on are in identities.py, sharper versions in curvature.py, the proofs in docs/theory.md.
"""

from __future__ import annotations

import math

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    left_out,
    times,
)
from lsmdp.theory.constants import Constants
from lsmdp.theory.identities import (
    any_regrets,
    excess_of,
    idealised,
    player_errors,
)
from lsmdp.theory.lemmas import all_pairs, both_spans
from lsmdp.theory.regrets import (
    GONE,
    any_regret,
    bounded,
    excess_bound,
    round_errors,
    total_error,
)
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import PlayerTrace, Trace

L_IS_NOT_KNOWN = "L is not known for this model"


@statement("new:log", "", "new", "R' <= (C^2 L^3 + C^2 L^2/2 + 2 C L) (1 + log T) + 2 C L with L = 1/(1 - alpha)")
def log_theorem(game: Trace, *, reading: Reading) -> Certificate:
    """The regret of follow the leader is O(log T), with one-step constants."""
    if not math.isfinite(game.constants.L_one):
        reason = "a(P) = 1: ass:ergod does not hold; new:ksteps does without it"
        return left_out("new:log", reading, reason if game.constants.a == 1.0 else "L is beyond float64")
    one_step = game.with_constants(L=game.constants.L_one).constants
    right, more = bounded(game, one_step, lambda found: excess_bound(found, game.lg))
    left, off = excess_of(game, game.ftl)[-1], total_error(game) + more
    return at_most("new:log", reading, left, right, tolerance=off, trivial=any_regret(game))


@statement(
    "new:ksteps", "", "new", "the same with L = k/(1 - alpha_k); it needs only that P is irreducible and aperiodic"
)
def k_step_theorem(game: Trace, *, reading: Reading) -> Certificate:
    """The regret of follow the leader is O(log T) on sparse graphs too."""
    found = game.constants
    if not math.isfinite(found.L):
        return left_out("new:ksteps", reading, found.left_out.get("L", L_IS_NOT_KNOWN))
    right, more = bounded(game, found, lambda found: excess_bound(found, game.lg))
    left, off = excess_of(game, game.ftl)[-1], total_error(game) + more
    place = f"k = {found.k}"
    return at_most("new:ksteps", reading, left, right, tolerance=off, trivial=any_regret(game), places=place)


@statement(
    "new:sensitivity",
    "",
    "new",
    (
        "span(v_{t+1} - v_t) <= Lambda_t span(Delta_t) / (1 - Lambda_t span(v_{t+1} - v_t)/4), "
        "Lambda_t = Lambda(Q_t) <= 1/(1 - a(Q_t))"
    ),
)
def sensitivity_bound(game: Trace, *, reading: Reading) -> Certificate:
    """The change of v by the sharp constant, in the rounds where the change is small enough for it."""
    steps, Lambda = game.steps, game.leader.sensitivity[:-1]
    known = ~np.isnan(Lambda)
    if not known.any():
        return left_out("new:sensitivity", reading, all_pairs(game))
    shrink = 1.0 - Lambda * steps.change_v / 4
    small = known & (shrink > 0.0)
    if not small.any():
        return left_out("new:sensitivity", reading, "v changes too much in every round that was looked at")
    constant = (Lambda / shrink)[small]
    tolerance = constant * game.gaps[small] + game.noise * (1.0 + game.leader.span_v.max()) * constant
    left, right, rounds = steps.change_v[small], constant * steps.change_c[small], game.rounds[small]
    trivial = both_spans(game)[small]
    return at_most("new:sensitivity", reading, left, right, tolerance=tolerance, trivial=trivial, rounds=rounds)


@statement(
    "new:sensitivity/2",
    "",
    "new",
    "|mu_{t+1} - mu_t|_1 <= Lambda(Q_t) max_x |Q_{t+1} - Q_t|_1, and Lambda(Q) <= 1/(1 - a(Q))",
)
def sensitivity_of_law(game: Trace, *, reading: Reading) -> Certificate:
    """The change of the stationary law by the same constant."""
    Lambda = game.leader.sensitivity[:-1]
    known = ~np.isnan(Lambda)
    if not known.any():
        return left_out("new:sensitivity/2", reading, all_pairs(game))
    with np.errstate(divide="ignore"):
        constant = np.minimum(Lambda, 1.0 / (1.0 - game.leader.a[:-1]))[known]
    right = Lambda[known] * game.steps.change_q[known]
    tolerance = game.noise * (1.0 + constant)
    return at_most(
        "new:sensitivity/2",
        reading,
        game.steps.change_mu[known],
        np.minimum(right, times(constant, game.steps.change_q[known])),
        tolerance=tolerance,
        trivial=2.0,
        rounds=game.rounds[known],
    )


@statement(
    "new:expconcave",
    "",
    "new",
    "(grad f.d)^2 <= sigma^2(pi) d'Hd, sigma^2 the asymptotic variance of the cost: exp-concave where the policies mix",
)
def exp_concavity(game: Trace, *, reading: Reading) -> Certificate:
    """At pi_t for the cost c_t, in the direction of pi_{t+1}."""
    steps = game.steps
    known = ~np.isnan(steps.variance)
    if not known.any():
        return left_out("new:expconcave", reading, all_pairs(game))
    right = np.sqrt(steps.variance[known] * steps.curvature[known])
    scale = 1.0 + game.leader.span_v[:-1][known] + game.leader.sensitivity[:-1][known]
    left, rounds = steps.slope[known], game.rounds[known]
    tolerance = game.noise * scale + game.gaps[known]
    trivial = game.width + game.leader.span_v[:-1][known]  # the range of c_t + log Q/P, under two laws of moves
    return at_most("new:expconcave", reading, left, right, tolerance=tolerance, trivial=trivial, rounds=rounds)


@statement(
    "new:approximate",
    "",
    "new",
    "R' <= new:log + (C L/2 + 1) sum span(v_t - v*_t), for any v_t",
    per_learner=True,
)
def approximate_leader(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """Theorem 1, with L of the policies that the game has met."""
    found = game.met(player)
    if not math.isfinite(found.L):
        return left_out("new:approximate", reading, found.left_out.get("L", L_IS_NOT_KNOWN), about=player.name)
    errors = float(player.rows.error.sum())
    right, more = bounded(game, found, lambda found: _approximate_bound(found, game.lg, errors))
    return _at_the_end("new:approximate", game, player, right, more, reading)


def _at_the_end(
    label: str, game: Trace, player: PlayerTrace, right: float, more: float, reading: Reading
) -> Certificate:
    """R' after all rounds, and a bound to which the solves may add ``more``."""
    left, off = excess_of(game, player)[-1], float(player_errors(game, player)[-1]) + more
    return at_most(label, reading, left, right, tolerance=off, trivial=any_regret(game), about=player.name)


def _approximate_bound(found: Constants, lg: float, errors: float) -> float:
    return excess_bound(found, lg) + (found.cost_range * found.L / 2 + 1.0) * errors


@statement("new:approximate/2", "", "new", "span(v_t - v*_t) <= L gap_t", per_learner=True)
def error_by_gap(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The distance to the leader by the certificate of the solve."""
    found = game.met(player)
    if not math.isfinite(found.L):
        return left_out("new:approximate/2", reading, found.left_out.get("L", L_IS_NOT_KNOWN), about=player.name)
    left, right, rounds = player.rows.error, found.L * player.rows.gap, game.rounds
    off = found.L * game.leader.gap[:-1] + game.noise * (1.0 + game.leader.span_v[:-1])
    trivial = player.rows.span_v + game.leader.span_v[:-1]
    return at_most(
        "new:approximate/2", reading, left, right, tolerance=off, trivial=trivial, rounds=rounds, about=player.name
    )


@statement(
    "new:tracking",
    "",
    "new",
    "N Bellman steps a round: R' <= (C^2 L^3 + C^2 L^2/2 + 2 C L + C L (C L + 2) A_N) (1 + log T) + 2 C L",
    per_learner=True,
    of_tracking=True,
)
def tracking(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """Theorem 2, with L of the policies that the game has met; A_N = sum_{j>=1} a_{jN} <= L - 1."""
    if player.tracking is None:
        raise SpecError(f"new:tracking is about TrackTheLeader, not {player.name}.")
    found = game.met(player)
    if not math.isfinite(found.L):
        return left_out("new:tracking", reading, found.left_out.get("L", L_IS_NOT_KNOWN), about=player.name)
    N = player.tracking.steps
    right, more = bounded(game, found, lambda found: _tracking_bound(found, game.lg, N))
    return _at_the_end("new:tracking", game, player, right, more, reading)


def _tracking_bound(found: Constants, lg: float, N: int) -> float:
    CL = found.cost_range * found.L
    return excess_bound(found, lg, extra=CL * (CL + 2.0) * found.series(N))


@statement(
    "new:lemmaA",
    "",
    "new",
    (
        "span(v_t), span(B v_t) <= S from P alone: (3/2 n C + j B)/q + 3/2 n C with q = binom(n, j - n)/2^n, j >= H, "
        "for the averaged step; H C + log of the largest ratio in a column of P^H for the plain one"
    ),
    per_learner=True,
    of_tracking=True,
)
def span_of_tracking(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The spans that tracking meets, on the way to the next round too; in t rounds they grow to 3/2 N C t at most."""
    if player.tracking is None:
        raise SpecError(f"new:lemmaA is about TrackTheLeader, not {player.name}.")
    found, averaged = game.constants, player.tracking.averaged
    if not math.isfinite(found.primitivity_index):
        return left_out("new:lemmaA", reading, found.left_out["primitivity_index"], about=player.name)
    left, right = player.rows.span_iterates, found.S_averaged if averaged else found.S_iterates
    trivial = (1.5 if averaged else 1.0) * player.tracking.steps * found.cost_range * game.rounds
    tolerance, rounds = game.noise * (1.0 + left), game.rounds
    return at_most(
        "new:lemmaA", reading, left, right, tolerance=tolerance, trivial=trivial, rounds=rounds, about=player.name
    )


@statement(
    "new:comparator",
    "",
    "new",
    "R_T(Q) <= R' + max v* - p_1.v* + m(Q) max_t span(c_t - c_bar), for any learner and any fixed Q",
    per_learner=True,
)
def against_rivals(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The regret against each fixed policy."""
    if not game.rivals:
        return left_out("new:comparator", reading, GONE, about=player.name)
    v = game.final.v
    base = excess_of(game, player)[-1] + float(v.max() - game.start @ v)
    left = [player.loss - rival.loss for rival in game.rivals]
    right = [base + rival.mixing * rival.phase_span for rival in game.rivals]
    names = [rival.name for rival in game.rivals]
    off, trivial = float(player_errors(game, player)[-1]), any_regret(game)
    return at_most(
        "new:comparator", reading, left, right, tolerance=off, trivial=trivial, places=names, about=player.name
    )


@statement(
    "new:posteriori",
    "",
    "new",
    (
        "R' <= sum t span(v*_{t+1}-v*_t)^2/8 + sum 1/2 |p_t-mu*_t|_1 span(c_t-c_bar_t) + sum span(v*_t-v*_{t-1}) "
        "+ sum p_t.KL(Q_t||Q*_t)"
    ),
    per_learner=True,
)
def posteriori(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The chain of inequalities of the theorem with the numbers of the run in place of its constants."""
    return after_each_round("new:posteriori", game, player, posteriori_terms(game, player), reading)


def after_each_round(
    label: str, game: Trace, player: PlayerTrace, terms: dict[str, Floats], reading: Reading
) -> Certificate:
    """R' after each round, and the sum of some terms that bounds it."""
    left, right, off = excess_of(game, player), sum(terms.values()), player_errors(game, player)
    trivial, rounds = any_regrets(game), game.rounds
    return at_most(label, reading, left, right, tolerance=off, trivial=trivial, rounds=rounds, about=player.name)


@statement(
    "new:posteriori/3",
    "",
    "new",
    "R' <= Rbar + sum 1/2 |p_t-mu*_t|_1 span(c_t-c_bar_t) + sum p_t.(v*_t-v*_{t-1} - min) + sum p_t.KL(Q_t||Q*_t)",
    per_learner=True,
)
def posteriori_sharp(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The same with means where new:posteriori has spans."""
    return after_each_round("new:posteriori/3", game, player, sharp_terms(game, player), reading)


@statement(
    "new:posteriori/2",
    "",
    "new",
    "Rbar_T <= sum Lambda'_t^2 span(c_t - c_bar_t)^2 / (8 t), with the constants Lambda'_t of new:sensitivity",
)
def posteriori_idealised(game: Trace, *, reading: Reading) -> Certificate:
    """The idealised regret by the spread of the costs and one sensitivity constant a round.

    Where the change of v is too large for new:sensitivity, the change itself takes the place of its bound.
    """
    steps, Lambda = game.steps, game.leader.sensitivity[:-1]
    if np.isnan(Lambda).any():
        return left_out("new:posteriori/2", reading, all_pairs(game))
    shrink = 1.0 - Lambda * steps.change_v / 4
    change = np.where(shrink > 0.0, Lambda * steps.change_c / np.where(shrink > 0.0, shrink, 1.0), steps.change_v)
    right = np.cumsum(game.rounds * change**2 / 8)
    left, trivial, rounds = idealised(game), any_regrets(game), game.rounds
    off = round_errors(game) + times(np.max(rounds * game.gaps), right)
    return at_most("new:posteriori/2", reading, left, right, tolerance=off, trivial=trivial, rounds=rounds)


def posteriori_terms(game: Trace, player: PlayerTrace) -> dict[str, Floats]:
    """The four sums of new:posteriori after each round."""
    steps, rows = game.steps, player.rows
    moves = np.concatenate([[0.0], steps.change_v[:-1]])
    return {
        "idealised": np.cumsum(game.rounds * steps.change_v**2 / 8),
        "transient": np.cumsum(rows.distance * steps.spread / 2),
        "boundary": np.cumsum(moves),
        "approximation": np.cumsum(rows.divergence),
    }


def sharp_terms(game: Trace, player: PlayerTrace) -> dict[str, Floats]:
    """The four sums of new:posteriori/3 after each round."""
    rows = player.rows
    return posteriori_terms(game, player) | {"idealised": idealised(game), "boundary": np.cumsum(rows.drift)}
