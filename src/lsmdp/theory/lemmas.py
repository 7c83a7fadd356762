"""The lemmas of sec:analysis about value functions, policies and laws.

tau, alpha and L are the upper bounds of constants.py, over all costs in the range. A printed statement that fails with
an upper bound on tau fails with tau itself. C is the range of the costs in units of the temperature (the paper: 1).

Two leaders that were computed to gap_t and gap_{t+1} are exact for costs that differ by at most gap_t + gap_{t+1} more
(trace.py), so wherever a bound is a constant times a change of the costs, the tolerance is that constant times these
gaps.
"""

from __future__ import annotations

import math

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    cube,
    equal,
    left_out,
    times,
)
from lsmdp.theory.constants import Constants, mixing_time, sensitivity
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import STATES_FOR_ALL_ROUNDS, PlayerTrace, Trace


def no_laws(player: PlayerTrace) -> str:
    """Why the stationary laws of a learner's policies are not known."""
    every = bool(np.isnan(player.rows.ideal).all())
    reason = "would take too long in each round" if every else "is beyond float64 in some rounds"
    return f"the stationary law of its policy {reason}"


def all_pairs(game: Trace) -> str:
    """Why what needs all pairs of states was not computed."""
    if not game.constants.exact:
        return "asked for the cheap version only"
    if game.lost:
        return game.lost
    if game.lmdp.n <= STATES_FOR_ALL_ROUNDS:
        return "the times that some leaders take between two states are beyond float64"
    return "the model is too large for a comparison of all pairs of states"


def _at(game: Trace, numbers: Floats) -> list[str]:
    return [game.lmdp.name_of(int(x)) for x in numbers]


@statement(
    "lem:vbound",
    "v_t(x) - v_t(y) <= H, with the H of ass:irred",
    "false",
    "v_t(x) - v_t(y) <= (max c_bar_t - lambda_t) E_x[T_y]",
)
def lem_vbound(game: Trace, *, reading: Reading) -> Certificate:
    """The differences of v, against H as printed and against expected hitting times."""
    rows, rounds = game.leader, np.arange(1, game.T + 2)
    if reading == "printed":
        H = game.constants.primitivity_index
        if not math.isfinite(H):
            return left_out("lem:vbound", reading, game.constants.left_out["primitivity_index"])
        return at_most("lem:vbound", reading, rows.span_v, H, tolerance=_value(game), rounds=rounds)
    if np.isnan(rows.rise).all():
        return left_out("lem:vbound", reading, f"{all_pairs(game)}; new:span has a bound on the span")
    pairs = [
        f"from {game.lmdp.name_of(int(x))} to {game.lmdp.name_of(int(y))}"
        for x, y in zip(rows.rise_from, rows.rise_to, strict=True)
    ]
    times = game.constants.hitting_time
    tolerance = rows.gap * times + game.noise * (1.0 + rows.span_v + rows.rise_bound)
    return at_most("lem:vbound", reading, rows.rise, rows.rise_bound, tolerance=tolerance, rounds=rounds, places=pairs)


@statement(
    "lem:vbound/2",
    "max_x KL(Q(.|x)||P(.|x)) <= H + 1",
    "false",
    "KL(Q(.|x)||P(.|x)) <= min(span(v)^2 / 8, span(v) + lambda - c(x))",
)
def lem_vbound_control(game: Trace, *, reading: Reading) -> Certificate:
    """The control cost of every leader in every state."""
    rows, rounds = game.leader, np.arange(1, game.T + 2)
    if reading == "printed":
        H = game.constants.primitivity_index
        if not math.isfinite(H):
            return left_out("lem:vbound/2", reading, game.constants.left_out["primitivity_index"])
        places = _at(game, rows.kl_max_at)
        left, right = rows.kl_max, H + 1.0
    else:
        places = _at(game, rows.kl_at)
        left, right = rows.kl, rows.kl_bound
    return at_most(
        "lem:vbound/2",
        reading,
        left,
        right,
        tolerance=_value(game),
        trivial=game.constants.B,  # no move has a smaller chance than e^-B
        rounds=rounds,
        places=places,
    )


def _value(game: Trace) -> Floats:
    """What a Bellman equation may be off by (bellman.py)."""
    return np.asarray(game.leader.gap / 2 + game.noise * game.leader.size)


@statement(
    "lem:mixing",
    "a(Q) <= a(P) + (1 - a(P)) (1 - e^{-H-2}); its proof has e^{-H-1}",
    "false",
    "a(Q) <= a / (a + (1 - a) e^{-span v}) with a = a(P): the odds grow by at most e^{span v}",
)
def lem_mixing(game: Trace, *, reading: Reading) -> Certificate:
    """The Dobrushin coefficient of every leader."""
    found = game.constants
    known = ~np.isnan(game.leader.a)
    if not known.any():
        return left_out("lem:mixing", reading, all_pairs(game))
    rounds = np.arange(1, game.T + 2)[known]
    if reading == "printed":
        if not math.isfinite(found.primitivity_index):
            return left_out("lem:mixing", reading, found.left_out["primitivity_index"])
        right = np.asarray(found.a + (1.0 - found.a) * -math.expm1(-found.primitivity_index - 2.0))
    else:
        spans = game.leader.span_v[known]
        right = np.array([1.0 - 1.0 / sensitivity(found.a, found.shared, float(span)) for span in spans])
    left = game.leader.a[known]
    return at_most("lem:mixing", reading, left, right, tolerance=game.noise, trivial=1.0, rounds=rounds)


@statement(
    "lem:c_to_v",
    "span(v_f - v_g) <= 2 tau max|f - g|",
    "false",
    "span(v_f - v_g) <= L span(f - g)",
)
def lem_c_to_v(game: Trace, *, reading: Reading) -> Certificate:
    """For the mean costs of consecutive rounds."""
    steps, found = game.steps, _chosen(game, reading)
    if reading == "printed":
        right, allowed = times(2.0 * found.tau, steps.change_c_max), times(2.0 * found.tau, game.gaps)
    else:
        right, allowed = times(found.L, steps.change_c), times(found.L, game.gaps)
    tolerance, trivial = allowed + game.noise * (1.0 + _larger_span(game)), both_spans(game)
    return at_most(
        "lem:c_to_v", reading, steps.change_v, right, tolerance=tolerance, trivial=trivial, rounds=game.rounds
    )


def both_spans(game: Trace) -> Floats:
    """span(v_t) + span(v_{t+1}), which the difference of the two never exceeds."""
    return np.asarray(game.leader.span_v[:-1] + game.leader.span_v[1:])


def _larger_span(game: Trace) -> Floats:
    return np.asarray(np.maximum(game.leader.span_v[:-1], game.leader.span_v[1:]))


@statement(
    "eq:span",
    "span(v_f - v_g) = span(B_f v_f - B_g v_g) <= span(B_f v_f - B_g v_f) + span(B_g v_f - B_g v_g)",
    "true",
    "the same; the first term is span(f - g), the second at most a(M) span(v_f - v_g) for an average M of policies",
)
def eq_span(game: Trace, *, reading: Reading) -> Certificate:
    """For the mean costs of consecutive rounds, g and f, with B_f v_f, B_g v_f and B_g v_g evaluated."""
    steps = game.steps
    tolerance = game.gaps + game.noise * (1.0 + _larger_span(game) + game.leader.size.max())
    right, trivial = steps.by_costs + steps.by_values, both_spans(game)
    return at_most("eq:span", reading, steps.change_v, right, tolerance=tolerance, trivial=trivial, rounds=game.rounds)


@statement(
    "lem:c_to_v/2",
    "1/(1 - alpha) <= tau, in the proof",
    "false",
    "tau <= 1/(1 - alpha) <= tau + 1",
)
def lem_c_to_v_order(game: Trace, *, reading: Reading) -> Certificate:
    """The order of tau and 1/(1 - alpha), for alpha of the class and for a(Q) of every leader where it is known."""
    values = np.append(game.leader.a[~np.isnan(game.leader.a)], _chosen(game, reading).alpha)
    inverse = np.array([1.0 / (1.0 - a) for a in values[values < 1.0]])
    if not inverse.size:
        return left_out("lem:c_to_v/2", reading, "alpha = 1: ass:ergod does not hold")
    tau = np.array([mixing_time(L) for L in inverse])
    if reading == "printed":
        return at_most("lem:c_to_v/2", reading, inverse, tau)
    # both inequalities at once: |1/(1 - alpha) - tau - 1/2| <= 1/2; a relative error of eps in alpha enters times L^2
    rounding = 8.0 * np.finfo(np.float64).eps * inverse**2
    return at_most("lem:c_to_v/2", reading, np.abs(inverse - tau - 0.5), 0.5, tolerance=rounding)


@statement(
    "lem:v_to_Q",
    "max_x |Q_f(.|x) - Q_g(.|x)|_1 <= span(v_f - v_g) / 2",
    "true",
    "also 2 tanh(span(v_f - v_g) / 4), which is less",
)
def lem_v_to_Q(game: Trace, *, reading: Reading) -> Certificate:
    """For consecutive leaders; it holds for any two value functions, so no gap enters."""
    steps = game.steps
    right = steps.change_v / 2 if reading == "printed" else 2.0 * np.tanh(steps.change_v / 4)
    places = _at(game, steps.change_q_at)
    left, off = steps.change_q, game.noise
    return at_most("lem:v_to_Q", reading, left, right, tolerance=off, trivial=2.0, rounds=game.rounds, places=places)


@statement("lem:change", "max_x |Q_t(.|x) - Q_{t+1}(.|x)|_1 <= tau / t", "false", "<= C L / t")
def lem_change(game: Trace, *, reading: Reading) -> Certificate:
    """The change of the policy in each round."""
    found = _chosen(game, reading)
    constant = found.tau if reading == "printed" else found.cost_range * found.L
    tolerance = times(found.tau if reading == "printed" else found.L, game.gaps) + game.noise
    places = _at(game, game.steps.change_q_at)
    right = times(constant, 1.0 / game.rounds)
    left, rounds = game.steps.change_q, game.rounds
    return at_most("lem:change", reading, left, right, tolerance=tolerance, trivial=2.0, rounds=rounds, places=places)


@statement(
    "lem:price/2",
    "|mu_{t+1} - mu_t|_1 <= max(tau(Q_t), tau(Q_{t+1})) max_x |Q_{t+1} - Q_t|_1, in the proof",
    "false",
    "with 1/(1 - a(Q)) for either of the two policies",
)
def lem_price_step(game: Trace, *, reading: Reading) -> Certificate:
    """The change of the stationary law against the change of the policy."""
    before, after = game.leader.a[:-1], game.leader.a[1:]
    both = np.stack([before, after])
    known = ~np.isnan(both).any(axis=0) if reading == "printed" else ~np.isnan(both).all(axis=0)
    if not known.any():
        return left_out("lem:price/2", reading, all_pairs(game))
    known &= game.steps.change_q > 0.0
    if not known.any():
        return left_out("lem:price/2", reading, "no policy changed in the rounds that were looked at")
    pick = np.max if reading == "printed" else np.nanmin
    with np.errstate(divide="ignore"):
        inverse = 1.0 / (1.0 - pick(both[:, known], axis=0))
    constant = np.array([mixing_time(L) for L in inverse]) if reading == "printed" else inverse
    right = times(constant, game.steps.change_q[known])
    tolerance = game.noise * (1.0 + inverse)  # rows of Q sum to 1 up to rounding, which counts like a change of Q
    left, rounds = game.steps.change_mu[known], game.rounds[known]
    return at_most("lem:price/2", reading, left, right, tolerance=tolerance, trivial=2.0, rounds=rounds)


@statement(
    "eq:lpiform",
    "f(pi_t;c_t) = sum mu_t (c_t + lambda_t - c_bar_t)",
    "true",
    "the same",
)
def eq_lpiform(game: Trace, *, reading: Reading) -> Certificate:
    """The idealised loss of a round, by the Bellman equation."""
    steps = game.steps
    tolerance, rounds = _value(game)[:-1] + game.noise * steps.cost, game.rounds
    return equal(
        "eq:lpiform", reading, steps.ideal, steps.ideal_form, tolerance=tolerance, trivial=game.width, rounds=rounds
    )


@statement(
    "eq:lpidiff",
    "f(pi_t;c_t) - f(pi_{t+1};c_t) = (mu_t - mu_{t+1}).(c_t + c_bar_t) + mu_{t+1}.(c_bar_t - c_bar_{t+1}) + ...",
    "false",
    "(mu_t - mu_{t+1}).(c_t - c_bar_t) + mu_{t+1}.(c_bar_{t+1} - c_bar_t) + lambda_t - lambda_{t+1}",
)
def eq_lpidiff(game: Trace, *, reading: Reading) -> Certificate:
    """The price of not seeing c_t, by the Bellman equations of two rounds."""
    steps = game.steps
    right = steps.difference_printed if reading == "printed" else steps.difference
    tolerance = _value(game)[:-1] + _value(game)[1:] + game.noise * steps.cost
    left, rounds = steps.ideal - steps.ideal_next, game.rounds
    return equal("eq:lpidiff", reading, left, right, tolerance=tolerance, trivial=game.width, rounds=rounds)


@statement(
    "eq:mu_to_p",
    "|mu_t - p_t|_1 <= 2 e^{-(t-1)/tau} + tau (tau + 1) sum_{n<t} e^{-(t-n)/tau} / n",
    "false",
    "2 a_{t-1} + C L^2 sum_{n<t} a_{t-1-n} / n, where a_j bounds the contraction of j steps",
)
def eq_mu_to_p(game: Trace, *, reading: Reading) -> Certificate:
    """The distance of the law of the state from the leader's stationary law."""
    found, t = _chosen(game, reading), game.rounds.astype(np.float64)
    if reading == "printed":
        decay = math.exp(-1.0 / found.tau) if found.tau > 0.0 else 0.0
        right = 2.0 * decay ** (t - 1.0)
        if found.tau > 0.0:
            right = right + times(found.tau * (found.tau + 1.0) * decay, _filtered(decay, 1, t))
        tolerance = times(_moved(game), right) + game.noise
    else:
        waves = _filtered(found.alpha_k, found.k, t)
        right = 2.0 * found.contraction(game.T) + times(found.cost_range * found.L * found.L, waves)
        tolerance = times(_moved(game) * found.L * found.L, waves) + game.noise
    left, rounds = game.ftl.rows.distance, game.rounds
    return at_most("eq:mu_to_p", reading, left, right, tolerance=tolerance, trivial=2.0, rounds=rounds)


def _filtered(decay: float, k: int, t: Floats) -> Floats:
    """sum_{n<t} decay^{floor((t-1-n)/k)} / n for t = 1, ..., T."""

    if t.size == 1:
        return np.zeros(1)
    found = np.convolve(1.0 / t[:-1], np.ones(k))[: t.size - 1]  # the last k terms, which are not decayed
    for first in range(k, found.size, k):
        found[first : first + k] += decay * found[first - k : first][: found.size - first]
    return np.append(0.0, found)


def _moved(game: Trace) -> float:
    """By how much C is larger for the costs that the computed leaders are exact for: they change by C/t and a gap."""
    return float(np.max(game.rounds * game.gaps))


def _chosen(game: Trace, reading: Reading) -> Constants:
    """The constants that a reading speaks of."""
    return game.printed if reading == "printed" else game.constants


@statement(
    "eq:pmudiff",
    "|mu_t - p_t|_1 <= 2 e^{-(t-1)/tau} + 2 (tau + 1)^3 (1 + log t) / t",
    "true",
    "also 2 alpha^{t-1} + C L^3 (1 + log(t-1)) / (t-1), by Chebyshev's sum inequality",
)
def eq_pmudiff(game: Trace, *, reading: Reading) -> Certificate:
    """The same distance, with the sum bounded."""
    found, t = _chosen(game, reading), game.rounds.astype(np.float64)
    if reading == "printed":
        decay = math.exp(-1.0 / found.tau) if found.tau > 0.0 else 0.0
        right = 2.0 * decay ** (t - 1.0) + 2.0 * cube(found.tau + 1.0) * (1.0 + np.log(t)) / t
        tolerance = times(_moved(game), right) + game.noise
    else:
        later = np.maximum(t - 1.0, 1.0)
        mean = (1.0 + np.log(later)) / later * (t > 1.0)
        right = 2.0 * found.contraction(game.T) + times(found.cost_range * cube(found.L), mean)
        tolerance = times(_moved(game) * cube(found.L), mean) + game.noise
    left, rounds = game.ftl.rows.distance, game.rounds
    return at_most("eq:pmudiff", reading, left, right, tolerance=tolerance, trivial=2.0, rounds=rounds)


@statement(
    "lem:trueloss/2",
    "max|c_bar_t - c_bar_{t-1}| <= 1/t, in the proof",
    "false",
    "1/(t-1), and (the largest cost minus the least)/(t-1) in general",
)
def lem_trueloss_change(game: Trace, *, reading: Reading) -> Certificate:
    """The change of the mean cost between rounds t - 1 and t, for t = 3, ..., T + 1 (c_bar_1 is a convention)."""
    t = game.rounds[1:] + 1
    if not t.size:
        return left_out("lem:trueloss/2", reading, "one round has no change")
    right = 1.0 / t if reading == "printed" else game.hull / (t - 1.0)
    tolerance, left = game.noise * game.leader.size.max(), game.steps.change_c_max[1:]
    return at_most("lem:trueloss/2", reading, left, right, tolerance=tolerance, trivial=game.hull, rounds=t)
