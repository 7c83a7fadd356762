"""What the paper does not have: exact identities, the O(log T) theorem, and bounds from the run itself.

R' = loss - T lambda_{T+1}, Rbar is the idealised regret of follow the leader, v*_t, lambda_t, Q*_t, mu*_t belong to the
leader of round t, Delta_t = c_bar_{t+1} - c_bar_t, and a learner plays Q_t = Q_{v_t} with the law p_t of its state:

    new:identity   Rbar = sum t mu*_t.KL(Q*_t || Q*_{t+1})
    new:price      f(pi*_t;c_t) - f(pi*_{t+1};c_t) = t mu*_t.KL(Q*_t||Q*_{t+1}) + (t-1) mu*_{t+1}.KL(Q*_{t+1}||Q*_t)
    new:mirror     f(pi*_{t+1};c_t) + (t-1) mu*_{t+1}.KL(Q*_{t+1}||Q*_t) = t lambda_{t+1} - (t-1) lambda_t
    new:I1         R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t.r_t - lambda_t) + sum (p_t - p_{t+1}).v_t
    new:I2         R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t - p_{t+1}).v*_t + sum p_t.KL(Q_t||Q*_t)
    new:I3         sum f(pi_t;c_t) - T lambda_{T+1} = sum t mu_t.KL(Q_t||Q*_{t+1}) - (t-1) mu_t.KL(Q_t||Q*_t)
    new:I4         rivals.py

The identities are checked after every round, not only at the end. Proofs are in docs/theory.md.
"""

from __future__ import annotations

import math

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.learners import TrackTheLeader
from lsmdp.theory.certificate import Certificate, Reading, at_most, equal, left_out, times
from lsmdp.theory.constants import Constants
from lsmdp.theory.lemmas import all_pairs
from lsmdp.theory.regrets import GONE, bounded, excess_bound, round_errors, total_error
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import SeatTrace, Trace

UNKNOWN = "L is not known for this model"


def _idealised(game: Trace) -> Floats:
    """Rbar after each round, by the identity."""
    return np.asarray(np.cumsum(game.rounds * game.steps.forward))


def _excess(game: Trace, seat: SeatTrace) -> Floats:
    """R' after each round."""
    return np.asarray(np.cumsum(seat.rows.loss) - game.rounds * game.leader.average_cost[1:])


def _seat_errors(game: Trace, seat: SeatTrace) -> Floats:
    spans = 1.0 + max(float(game.leader.span_v.max()), float(seat.rows.span_v.max()))
    return np.asarray(round_errors(game) + game.noise * game.rounds * spans)


@statement("new:identity", "", "new", "Rbar_T = sum t mu_t.KL(Q_t || Q_{t+1})")
def identity(game: Trace, *, reading: Reading) -> Certificate:
    """The idealised regret by its definition and by the identity."""
    left = np.cumsum(game.steps.ideal) - game.rounds * game.leader.average_cost[1:]
    return equal("new:identity", reading, left, _idealised(game), tolerance=round_errors(game), rounds=game.rounds)


@statement(
    "new:price",
    "",
    "new",
    "f(pi_t;c_t) - f(pi_{t+1};c_t) = t mu_t.KL(Q_t||Q_{t+1}) + (t-1) mu_{t+1}.KL(Q_{t+1}||Q_t)",
)
def price(game: Trace, *, reading: Reading) -> Certificate:
    """The price of not seeing c_t, exactly."""
    steps, t = game.steps, game.rounds
    right = t * steps.forward + (t - 1) * steps.backward
    return equal(
        "new:price", reading, steps.ideal - steps.ideal_next, right, tolerance=_one_round(game), rounds=game.rounds
    )


def _one_round(game: Trace) -> Floats:
    """What the solves may have done to t times an average cost, in each round."""
    return np.asarray(2.0 * game.rounds * (game.gaps + game.noise * game.leader.size.max()))


@statement(
    "new:mirror",
    "",
    "new",
    "follow the leader is mirror descent: pi_{t+1} minimises f(pi;c_t)/(t-1) + sum mu KL(Q||Q_t)",
)
def mirror(game: Trace, *, reading: Reading) -> Certificate:
    """(t-1) times the objective of the mirror step at pi_{t+1} is its minimum, t lambda_{t+1} - (t-1) lambda_t."""
    steps, t, average = game.steps, game.rounds, game.leader.average_cost
    left = steps.ideal_next + (t - 1) * steps.backward
    right = t * average[1:] - (t - 1) * average[:-1]
    return equal("new:mirror", reading, left, right, tolerance=_one_round(game), rounds=t)


@statement(
    "new:I1",
    "",
    "new",
    "R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t.r_t - lambda_t) + sum (p_t - p_{t+1}).v_t",
    per_learner=True,
)
def I1(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """The excess of any learner that plays a value function, in terms of its own v_t."""
    rows = seat.rows
    right = _idealised(game) + np.cumsum(rows.gain + rows.residual + rows.boundary_own)
    tolerance = _seat_errors(game, seat)
    return equal(
        "new:I1", reading, _excess(game, seat), right, tolerance=tolerance, rounds=game.rounds, about=seat.name
    )


@statement(
    "new:I2",
    "",
    "new",
    "R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t - p_{t+1}).v*_t + sum p_t.KL(Q_t||Q*_t)",
    per_learner=True,
)
def I2(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """The excess of any policies, in terms of the leaders."""
    rows = seat.rows
    right = _idealised(game) + np.cumsum(rows.gain + rows.boundary + rows.divergence)
    tolerance = _seat_errors(game, seat)
    return equal(
        "new:I2", reading, _excess(game, seat), right, tolerance=tolerance, rounds=game.rounds, about=seat.name
    )


@statement(
    "new:I3",
    "",
    "new",
    "the idealised regret of any policies: sum t mu_t.KL(Q_t||Q*_{t+1}) - (t-1) mu_t.KL(Q_t||Q*_t)",
    per_learner=True,
)
def I3(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """new:identity is the case Q_t = Q*_t."""
    rows, t = seat.rows, game.rounds
    if np.isnan(rows.ideal).any():
        reason = (
            "would take too long in each round" if np.isnan(rows.ideal).all() else "is beyond float64 in some rounds"
        )
        return left_out("new:I3", reading, f"the stationary law of its policy {reason}", about=seat.name)
    left = np.cumsum(rows.ideal) - t * game.leader.average_cost[1:]
    right = np.cumsum(t * rows.to_next - (t - 1) * rows.to_leader)
    tolerance = _seat_errors(game, seat)
    return equal("new:I3", reading, left, right, tolerance=tolerance, rounds=t, about=seat.name)


@statement(
    "new:I4",
    "",
    "new",
    "L_T(Q) = T lambda_{T+1} + (p_1 - p_{T+1}).v* + sum p_t.(c_t - c_bar) + sum p_t.KL(Q||Q_{T+1}) for any fixed Q",
)
def I4(game: Trace, *, reading: Reading) -> Certificate:
    """What a fixed policy pays; the third term is its phase gain."""
    if not game.rivals:
        return left_out("new:I4", reading, GONE)
    total = game.T * game.leader.average_cost[-1]
    right = [total + rival.boundary + rival.phase + rival.divergence for rival in game.rivals]
    sizes = np.array([abs(rival.loss) + rival.divergence + game.leader.size.max() for rival in game.rivals])
    tolerance = game.T * game.final_gap + game.noise * game.T * sizes
    names = [rival.name for rival in game.rivals]
    return equal("new:I4", reading, [rival.loss for rival in game.rivals], right, tolerance=tolerance, places=names)


@statement("new:log", "", "new", "R' <= (C^2 L^3 + C^2 L^2/2 + 2 C L) (1 + log T) + 2 C L with L = 1/(1 - alpha)")
def log_theorem(game: Trace, *, reading: Reading) -> Certificate:
    """The regret of follow the leader is O(log T), with one-step constants."""
    if not math.isfinite(game.constants.L_one):
        reason = "a(P) = 1: ass:ergod does not hold; new:ksteps does without it"
        return left_out("new:log", reading, reason if game.constants.a == 1.0 else "L is beyond float64")
    one_step = game.with_constants(L=game.constants.L_one).constants
    right, more = bounded(game, one_step, lambda found: excess_bound(found, game.lg))
    left = _excess(game, game.ftl)[-1]
    return at_most("new:log", reading, left, right, tolerance=total_error(game) + more)


@statement(
    "new:ksteps", "", "new", "the same with L = k/(1 - alpha_k); it needs only that P is irreducible and aperiodic"
)
def k_step_theorem(game: Trace, *, reading: Reading) -> Certificate:
    """The regret of follow the leader is O(log T) on sparse graphs too."""
    found = game.constants
    if not math.isfinite(found.L):
        return left_out("new:ksteps", reading, found.left_out.get("L", UNKNOWN))
    right, more = bounded(game, found, lambda found: excess_bound(found, game.lg))
    left = _excess(game, game.ftl)[-1]
    tolerance = total_error(game) + more
    return at_most("new:ksteps", reading, left, right, tolerance=tolerance, places=f"k = {found.k}")


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
    right = constant * steps.change_c[small]
    return at_most(
        "new:sensitivity", reading, steps.change_v[small], right, tolerance=tolerance, rounds=game.rounds[small]
    )


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
    tolerance = game.noise * scale + game.gaps[known]
    return at_most("new:expconcave", reading, steps.slope[known], right, tolerance=tolerance, rounds=game.rounds[known])


@statement(
    "new:approximate",
    "",
    "new",
    "R' <= new:log + (C L/2 + 1) sum span(v_t - v*_t), for any v_t",
    per_learner=True,
)
def approximate_leader(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """Theorem 1, with L of the policies that the game has met."""
    found = game.met(seat)
    if not math.isfinite(found.L):
        return left_out("new:approximate", reading, found.left_out.get("L", UNKNOWN), about=seat.name)
    errors = float(seat.rows.error.sum())
    right, more = bounded(game, found, lambda found: _approximate_bound(found, game.lg, errors))
    tolerance = float(_seat_errors(game, seat)[-1]) + more
    return at_most("new:approximate", reading, _excess(game, seat)[-1], right, tolerance=tolerance, about=seat.name)


def _approximate_bound(found: Constants, lg: float, errors: float) -> float:
    return excess_bound(found, lg) + (found.cost_range * found.L / 2 + 1.0) * errors


@statement("new:approximate/2", "", "new", "span(v_t - v*_t) <= L gap_t", per_learner=True)
def error_by_gap(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """The distance to the leader by the certificate of the solve."""
    found = game.met(seat)
    if not math.isfinite(found.L):
        return left_out("new:approximate/2", reading, found.left_out.get("L", UNKNOWN), about=seat.name)
    right = found.L * seat.rows.gap
    tolerance = found.L * game.leader.gap[:-1] + game.noise * (1.0 + game.leader.span_v[:-1])
    return at_most(
        "new:approximate/2", reading, seat.rows.error, right, tolerance=tolerance, rounds=game.rounds, about=seat.name
    )


@statement(
    "new:tracking",
    "",
    "new",
    "N Bellman steps a round: R' <= (C^2 L^3 + C^2 L^2/2 + 2 C L + C L (C L + 2) A_N) (1 + log T) + 2 C L",
    per_learner=True,
    only=TrackTheLeader,
)
def tracking(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """Theorem 2, with L of the policies that the game has met; A_N = sum_{j>=1} a_{jN} <= L - 1."""
    if not isinstance(seat.learner, TrackTheLeader):
        raise SpecError(f"new:tracking is about TrackTheLeader, not {seat.name}.")
    found = game.met(seat)
    if not math.isfinite(found.L):
        return left_out("new:tracking", reading, found.left_out.get("L", UNKNOWN), about=seat.name)
    N = seat.learner.steps
    right, more = bounded(game, found, lambda found: _tracking_bound(found, game.lg, N))
    tolerance = float(_seat_errors(game, seat)[-1]) + more
    return at_most("new:tracking", reading, _excess(game, seat)[-1], right, tolerance=tolerance, about=seat.name)


def _tracking_bound(found: Constants, lg: float, N: int) -> float:
    CL = found.cost_range * found.L
    return excess_bound(found, lg, extra=CL * (CL + 2.0) * found.series(N))


@statement(
    "new:comparator",
    "",
    "new",
    "R_T(Q) <= R' + max v* - p_1.v* + m(Q) max_t span(c_t - c_bar), for any learner and any fixed Q",
    per_learner=True,
)
def against_rivals(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """The regret against each fixed policy."""
    if not game.rivals:
        return left_out("new:comparator", reading, GONE, about=seat.name)
    v = game.final.v
    base = _excess(game, seat)[-1] + float(v.max() - game.start @ v)
    left = [seat.loss - rival.loss for rival in game.rivals]
    right = [base + rival.mixing * rival.phase_span for rival in game.rivals]
    names = [rival.name for rival in game.rivals]
    tolerance = float(_seat_errors(game, seat)[-1])
    return at_most("new:comparator", reading, left, right, tolerance=tolerance, places=names, about=seat.name)


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
def posteriori(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """The chain of inequalities of the theorem with the numbers of the run in place of its constants."""
    left = _excess(game, seat)
    right = sum(posteriori_terms(game, seat).values())
    tolerance = _seat_errors(game, seat)
    return at_most("new:posteriori", reading, left, right, tolerance=tolerance, rounds=game.rounds, about=seat.name)


@statement(
    "new:posteriori/3",
    "",
    "new",
    "R' <= Rbar + sum 1/2 |p_t-mu*_t|_1 span(c_t-c_bar_t) + sum p_t.(v*_t-v*_{t-1} - min) + sum p_t.KL(Q_t||Q*_t)",
    per_learner=True,
)
def posteriori_sharp(game: Trace, seat: SeatTrace, *, reading: Reading) -> Certificate:
    """The same with means where new:posteriori has spans."""
    right = sum(sharp_terms(game, seat).values())
    tolerance = _seat_errors(game, seat)
    return at_most(
        "new:posteriori/3",
        reading,
        _excess(game, seat),
        right,
        tolerance=tolerance,
        rounds=game.rounds,
        about=seat.name,
    )


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
    tolerance = round_errors(game) + times(np.max(game.rounds * game.gaps), right)
    return at_most("new:posteriori/2", reading, _idealised(game), right, tolerance=tolerance, rounds=game.rounds)


def posteriori_terms(game: Trace, seat: SeatTrace) -> dict[str, Floats]:
    """The four sums of new:posteriori after each round."""
    steps, rows = game.steps, seat.rows
    moves = np.concatenate([[0.0], steps.change_v[:-1]])
    return {
        "idealised": np.cumsum(game.rounds * steps.change_v**2 / 8),
        "transient": np.cumsum(rows.distance * steps.spread / 2),
        "boundary": np.cumsum(moves),
        "approximation": np.cumsum(rows.divergence),
    }


def sharp_terms(game: Trace, seat: SeatTrace) -> dict[str, Floats]:
    """The four sums of new:posteriori/3 after each round."""
    rows = seat.rows
    return posteriori_terms(game, seat) | {"idealised": _idealised(game), "boundary": np.cumsum(rows.drift)}
