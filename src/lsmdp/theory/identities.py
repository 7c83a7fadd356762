"""Exact identities of the game, which the paper does not have.

R' = loss - T lambda_{T+1}, Rbar is the idealised regret of follow the leader, v*_t, lambda_t, Q*_t, mu*_t belong to the
leader of round t, Delta_t = c_bar_{t+1} - c_bar_t, and a learner plays Q_t = Q_{v_t} with the law p_t of its state:

    new:identity   Rbar = sum t mu*_t.KL(Q*_t || Q*_{t+1})
    new:inexact    sum f(pi_t;c_t) = sum t mu_t.KL(Q_t||Q_{t+1}) + T mu_T.r_{T+1} + sum (t-1) (mu_{t-1} - mu_t).r_t
    new:price      f(pi*_t;c_t) - f(pi*_{t+1};c_t) = t mu*_t.KL(Q*_t||Q*_{t+1}) + (t-1) mu*_{t+1}.KL(Q*_{t+1}||Q*_t)
    new:mirror     f(pi*_{t+1};c_t) + (t-1) mu*_{t+1}.KL(Q*_{t+1}||Q*_t) = t lambda_{t+1} - (t-1) lambda_t
    new:I1         R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t.r_t - lambda_t) + sum (p_t - p_{t+1}).v_t
    new:I2         R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t - p_{t+1}).v*_t + sum p_t.KL(Q_t||Q*_t)
    new:I3         sum f(pi_t;c_t) - T lambda_{T+1} = sum t mu_t.KL(Q_t||Q*_{t+1}) - (t-1) mu_t.KL(Q_t||Q*_t)
    new:I4         rivals.py
    new:dynamic    loss - p_1.V_1 = sum p_t.KL(Q_t||Q_{V_{t+1}}), with V_t = B_t V_{t+1} the plan in hindsight

The identities are checked after every round, not only at the end. Proofs are in docs/theory.md.

**Rounding in new:inexact.** Nothing in it is solved for, so both sides agree up to rounding, which does not grow like
T^2. Let g be the grain of the record and s = 1 + span v + max|c|. A loss is off by g s. The law mu_t is stationary up
to g, which meets span(t v_{t+1} - (t-1) v_t) <= s + t span(v_{t+1} - v_t). An error g s of log Q_{t+1}/Q_t enters the
divergence times |Q_{t+1} - Q_t|_1 <= span(v_{t+1} - v_t) (leaders.py). Residuals, and the mean costs in them, are off
by g s: that counts T times at the end, and (t-1) |mu_t - mu_{t-1}|_1 times in each round; where mu_t itself is off by
g, it meets the residual without its middle, gap_t. Altogether

    g s (T + sum [1 + t span(v_{t+1} - v_t) + t |mu_{t+1} - mu_t|_1]) + g sum t (gap_t + mu_t.KL(Q_t||Q_{t+1})),

and sums are compensated. For follow the leader each bracket is bounded: the whole grows like T.

**Rounding in new:dynamic.** Nothing in it is solved for either. After t rounds it reads sum loss - (p_1.V_1 -
p_{t+1}.V_{t+1}) = sum p.KL, and both sides are sums along the same computed laws, which fit each other up to g in each
round: that meets V_{t+1}, a loss and a logarithm of Q_t/Q_{V_{t+1}}, all at most s = 1 + span v + span V + max|c|. V_t
is off by g s in each round, too. So the sides agree up to 2 g s t, with the span of V in g as well.
"""

from __future__ import annotations

import numpy as np

from lsmdp.arrays import EPS, Floats, running_sum
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    equal,
    left_out,
)
from lsmdp.theory.lemmas import no_laws
from lsmdp.theory.regrets import GONE, any_regret, round_errors
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import PlayerTrace, Trace

_NO_PLAN = "the costs could be read only once, or are too many to be read backwards, so there is no plan in hindsight"


def idealised(game: Trace) -> Floats:
    """Rbar after each round, by the identity."""
    return running_sum(game.rounds * game.steps.forward)


def excess_of(game: Trace, player: PlayerTrace) -> Floats:
    """R' after each round."""
    return np.asarray(np.cumsum(player.rows.loss) - game.rounds * game.leader.average_cost[1:])


def player_errors(game: Trace, player: PlayerTrace) -> Floats:
    """What the solves and rounding may have done to R' after each round."""
    spans = 1.0 + max(float(game.leader.span_v.max()), float(player.rows.span_v.max()))
    return np.asarray(round_errors(game) + game.noise * game.rounds * spans)


@statement("new:identity", "", "new", "Rbar_T = sum t mu_t.KL(Q_t || Q_{t+1})")
def identity(game: Trace, *, reading: Reading) -> Certificate:
    """The idealised regret by its definition and by the identity."""
    left = running_sum(game.steps.ideal) - game.rounds * game.leader.average_cost[1:]
    right, off, rounds = idealised(game), round_errors(game), game.rounds
    return equal("new:identity", reading, left, right, tolerance=off, trivial=any_regrets(game), rounds=rounds)


def any_regrets(game: Trace) -> Floats:
    """t (B + C) after each round: what anybody pays at most above anybody else."""
    return np.asarray(game.rounds * game.width)


@statement(
    "new:inexact",
    "",
    "new",
    (
        "for any v_t, exactly: sum f(pi_t;c_t) = sum t mu_t.KL(Q_t||Q_{t+1}) + T mu_T.r_{T+1} "
        "+ sum (t-1) (mu_{t-1} - mu_t).r_t, r_t = B v_t - v_t"
    ),
    per_learner=True,
)
def inexact(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The FTL identity for policies that need not be leaders; what is allowed for is rounding alone (see above)."""
    rows, t = player.rows, game.rounds
    if np.isnan(rows.ideal).any():
        return left_out("new:inexact", reading, no_laws(player), about=player.name)
    left = running_sum(rows.ideal)
    right = running_sum(t * rows.own_next) + t * rows.own_ahead + running_sum((t - 1) * rows.own_shift)
    size = 1.0 + float(rows.span_v.max()) + float(game.steps.cost.max())
    changes = np.cumsum(1.0 + t * (rows.own_change_v + rows.own_change_mu))
    tolerance = game.grain * (size * (t + changes) + np.cumsum(t * (rows.gap + rows.own_next)))
    trivial = any_regrets(game)
    return equal("new:inexact", reading, left, right, tolerance=tolerance, trivial=trivial, rounds=t, about=player.name)


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
    left = steps.ideal - steps.ideal_next
    rounding = game.noise * (game.leader.size.max() * (1.0 + t * steps.change_v) + right)
    tolerance = t * steps.change_mu / 2 * game.gaps + rounding
    return equal("new:price", reading, left, right, tolerance=tolerance, trivial=game.width, rounds=t)


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
    tolerance = 2.0 * t * (game.gaps + game.noise * game.leader.size.max())  # t times an average cost
    return equal("new:mirror", reading, left, right, tolerance=tolerance, trivial=game.width, rounds=t)


@statement(
    "new:I1",
    "",
    "new",
    "R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t.r_t - lambda_t) + sum (p_t - p_{t+1}).v_t",
    per_learner=True,
)
def I1(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The excess of any learner that plays a value function, in terms of its own v_t."""
    rows = player.rows
    right = idealised(game) + np.cumsum(rows.gain + rows.residual + rows.boundary_own)
    return _about_excess("new:I1", game, player, right, reading)


def _about_excess(label: str, game: Trace, player: PlayerTrace, right: Floats, reading: Reading) -> Certificate:
    """R' after each round, by its definition and as the right side has it."""
    left, off, trivial = excess_of(game, player), player_errors(game, player), any_regrets(game)
    return equal(label, reading, left, right, tolerance=off, trivial=trivial, rounds=game.rounds, about=player.name)


@statement(
    "new:I2",
    "",
    "new",
    "R' = Rbar + sum t (p_t - mu*_t).Delta_t + sum (p_t - p_{t+1}).v*_t + sum p_t.KL(Q_t||Q*_t)",
    per_learner=True,
)
def I2(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """The excess of any policies, in terms of the leaders."""
    rows = player.rows
    right = idealised(game) + np.cumsum(rows.gain + rows.boundary + rows.divergence)
    return _about_excess("new:I2", game, player, right, reading)


@statement(
    "new:I3",
    "",
    "new",
    "the idealised regret of any policies: sum t mu_t.KL(Q_t||Q*_{t+1}) - (t-1) mu_t.KL(Q_t||Q*_t)",
    per_learner=True,
)
def I3(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """new:identity is the case Q_t = Q*_t."""
    rows, t = player.rows, game.rounds
    if np.isnan(rows.ideal).any():
        return left_out("new:I3", reading, no_laws(player), about=player.name)
    left = running_sum(rows.ideal) - t * game.leader.average_cost[1:]
    right = running_sum(t * rows.to_next - (t - 1) * rows.to_leader)
    # as in regrets.py, with the learner's own laws; and rounding of log Q*/Q, which by Pinsker's inequality meets
    # |Q* - Q|_1 <= sqrt(2 KL) on average
    far = np.sqrt(2.0 * np.maximum(rows.to_next, 0.0)) + np.sqrt(2.0 * np.maximum(rows.to_leader, 0.0))
    size = 1.0 + max(float(game.leader.span_v.max()), float(rows.span_v.max()))
    sums = np.cumsum(t * (rows.own_change_mu / 2 * game.gaps + game.grain * size * (far + far**2)))
    tolerance, trivial = player_errors(game, player) + sums, any_regrets(game)
    return equal("new:I3", reading, left, right, tolerance=tolerance, trivial=trivial, rounds=t, about=player.name)


@statement(
    "new:I4",
    "",
    "new",
    "L_T(Q) = T lambda_{T+1} + (p_1 - p_{T+1}).v* + sum p_t.(c_t - c_bar) + sum p_t.KL(Q||Q_{T+1}) for any fixed Q",
)
def I4(game: Trace, *, reading: Reading) -> Certificate:
    """What a fixed policy pays; the third term is its phase term, negative where it is in step with the costs."""
    if not game.rivals:
        return left_out("new:I4", reading, GONE)
    total = game.T * game.leader.average_cost[-1]
    right = [total + rival.boundary + rival.phase + rival.divergence for rival in game.rivals]
    sizes = np.array([abs(rival.loss) + rival.divergence + game.leader.size.max() for rival in game.rivals])
    tolerance = game.T * game.final_gap + game.noise * game.T * sizes
    names, left = [rival.name for rival in game.rivals], [rival.loss for rival in game.rivals]
    return equal("new:I4", reading, left, right, tolerance=tolerance, trivial=any_regret(game), places=names)


@statement(
    "new:dynamic",
    "",
    "new",
    "dynamic regret: loss - p_1.V_1 = sum p_t.KL(Q_t||Q_{V_{t+1}}) for any policies; V_t = B_t V_{t+1}, V_{T+1} = 0",
    per_learner=True,
)
def dynamic(game: Trace, player: PlayerTrace, *, reading: Reading) -> Certificate:
    """What a learner paid beyond the plan in hindsight, by its definition and by divergences, after every round."""
    rows, t = player.rows, game.rounds
    if np.isnan(rows.price).any():
        return left_out("new:dynamic", reading, _NO_PLAN, about=player.name)
    left, right = running_sum(rows.loss - rows.planned), running_sum(rows.price)
    plan, own = float(rows.span_plan.max()), float(rows.span_v.max())
    grain, size = game.grain + 8.0 * EPS * plan, 1.0 + own + plan + float(game.steps.cost.max())
    tolerance, trivial = 2.0 * grain * size * t, any_regrets(game)
    return equal("new:dynamic", reading, left, right, tolerance=tolerance, trivial=trivial, rounds=t, about=player.name)
