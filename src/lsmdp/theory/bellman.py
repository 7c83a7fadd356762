"""Statements about one leader: sec:bck, the two appendices on the convex view, and the two assumptions.

Each is looked at for the leader of every round t = 1, ..., T + 1. The residual r = Bv - v of the computed v lies within
gap/2 of lambda in every state, so what is exact for an exact v may be off by that much, and by rounding on numbers
of the size of v.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.chain import period
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    equal,
    left_out,
)
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import Trace


def _leaders(game: Trace) -> Ints:
    return np.arange(1, game.T + 2)


def _off(game: Trace) -> Floats:
    """What one Bellman equation may be off by."""
    return np.asarray(game.leader.gap / 2 + game.noise * game.leader.size)


def _states(game: Trace, numbers: Floats) -> list[str]:
    return [game.lmdp.name_of(int(x)) for x in numbers]


def _residual(
    game: Trace, label: str, reading: Reading, size: Floats, at: Floats, tolerance: Floats, trivial: Any
) -> Certificate:
    places = _states(game, at)
    return equal(label, reading, size, 0.0, tolerance=tolerance, trivial=trivial, rounds=_leaders(game), places=places)


def _any_equation(game: Trace) -> Floats:
    """What one Bellman equation is off by in any case, with v and lambda of the right size."""
    return np.asarray(game.width + game.leader.span_v)


@statement(
    "ass:irred",
    "P is irreducible and aperiodic: P^n > 0 for all n >= H; H is called the hitting time",
    "an assumption",
    "the same H, but it bounds no hitting time: max E_x[T_y] is another number",
    kind="assumption",
)
def ass_irred(game: Trace, *, reading: Reading) -> Certificate:
    """Printed: the expected hitting times are at most H. Corrected: the period is 1 (P irreducible is asked for)."""
    found = game.constants
    H, unknown = found.primitivity_index, found.left_out.get("primitivity_index", "")
    if reading == "corrected":
        place = "" if unknown else f"P^{H:.0f} > 0"
        return at_most("ass:irred", reading, period(game.lmdp.P), 1.0, kind="assumption", places=place)
    if unknown:
        return left_out("ass:irred", reading, unknown, kind="assumption")
    return at_most("ass:irred", reading, found.hitting_time, H, kind="assumption")


@statement(
    "ass:ergod",
    "alpha(P) = max_{x,y} |P(.|x) - P(.|y)|_1 < 1",
    "typo",
    "a(P) = 1/2 max_{x,y} |P(.|x) - P(.|y)|_1 < 1, which is what the proofs use",
    kind="assumption",
)
def ass_ergod(game: Trace, *, reading: Reading) -> Certificate:
    """The Dobrushin coefficient is below 1; printed without the 1/2."""
    a, apart = game.constants.a, game.constants.shared == 0.0
    if apart and game.constants.how["a"] != "exact":
        reason = "too many pairs of states to compare" if game.constants.exact else "asked for the cheap version only"
        return left_out("ass:ergod", reading, reason, kind="assumption")
    place = "two states have no common successor" if apart else ""
    if reading == "printed":
        return at_most("ass:ergod", reading, 2.0 * a, math.nextafter(1.0, 0.0), kind="assumption", places=place)
    below = 1.0 if not apart else math.nextafter(1.0, 0.0)  # a(P) < 1 may round to 1
    return at_most("ass:ergod", reading, a, below, kind="assumption", places=place)


@statement(
    "eq:bellman_V", "v(x) = c(x) - lambda + min_q {KL(q||P(.|x)) + q.v}", "true", "the same; the minimum is at Q_v"
)
def eq_bellman_V(game: Trace, *, reading: Reading) -> Certificate:
    """max_x |v + lambda - c - KL(Q||P) - Qv| = 0."""
    rows = game.leader
    return _residual(game, "eq:bellman_V", reading, rows.bellman, rows.bellman_at, _off(game), _any_equation(game))


@statement("eq:bellman_Z", "z(x) = e^{lambda - c(x)} (Pz)(x)", "true", "the same, in logarithms")
def eq_bellman_Z(game: Trace, *, reading: Reading) -> Certificate:
    """max_x |log z - (lambda - c + log Pz)| = 0."""
    rows = game.leader
    return _residual(game, "eq:bellman_Z", reading, rows.linear, rows.linear_at, _off(game), _any_equation(game))


@statement("eq:statcost", "f(pi;c) = sum pi (c + log pi/(P sum_y pi)), and lambda = f(pi_Q;c)", "true", "the same")
def eq_statcost(game: Trace, *, reading: Reading) -> Certificate:
    """f(pi_t; c_bar_t) = lambda_t, with f evaluated on the entries of pi_t."""
    rows = game.leader
    left, right, off = rows.cost_of_measure, rows.average_cost, _off(game)
    return equal("eq:statcost", reading, left, right, tolerance=off, trivial=game.width, rounds=_leaders(game))


@statement("eq:statdist", "pi is balanced, sums to 1, and lives on the moves of P", "true", "the same")
def eq_statdist(game: Trace, *, reading: Reading) -> Certificate:
    """The worst violation of the constraints by pi_t is 0."""
    rows = game.leader
    tolerance = np.full(game.T + 1, game.noise)
    return _residual(game, "eq:statdist", reading, rows.imbalance, rows.imbalance_at, tolerance, 2.0)


@statement("eq:optQ", "Q_t(y|x) = P(y|x) z_t(y) / (P z_t)(x)", "true", "the same")
def eq_optQ(game: Trace, *, reading: Reading) -> Certificate:
    """max |Q_t - P z_t / P z_t| = 0: the policy that is played is that of v_t."""
    rows = game.leader
    tolerance = np.full(game.T + 1, game.noise)
    return _residual(game, "eq:optQ", reading, rows.formula, rows.formula_at, tolerance, 1.0)


@statement("eq:klform", "Q(y|x) = P(y|x) exp(lambda - c(x) - v(y) + v(x))", "true", "the same")
def eq_klform(game: Trace, *, reading: Reading) -> Certificate:
    """max |log Q/P - (lambda - c(x) - v(y) + v(x))| = 0."""
    rows = game.leader
    return _residual(game, "eq:klform", reading, rows.exponential, rows.exponential_at, _off(game), _any_equation(game))


@statement(
    "app:convexity",
    "B_R(pi'|pi) = sum mu' KL(Q'||Q) >= 1/2 sum mu' |Q' - Q|_1^2 >= 0",
    "true",
    "the same",
)
def app_convexity(game: Trace, *, reading: Reading) -> Certificate:
    """1/2 sum mu' |Q' - Q|_1^2 <= B_R(pi_{t+1}|pi_t) by its definition, and that is sum mu' KL(Q'||Q)."""
    steps = game.steps
    size = 1.0 + game.constants.B + np.maximum(game.leader.span_v[:-1], game.leader.span_v[1:])
    left = np.concatenate([steps.pinsker, np.abs(steps.bregman - steps.backward)])
    right = np.concatenate([steps.bregman, np.zeros(game.T)])
    tolerance, rounds = np.tile(game.noise * size, 2), np.tile(game.rounds, 2)
    return at_most("app:convexity", reading, left, right, tolerance=tolerance, trivial=2.0, rounds=rounds)


@statement(
    "app:dual",
    "the Lagrangian with +lambda (sum pi - 1) + sum v(x) (pi(x,x') - pi(x',x)) is stationary at the optimum, with the "
    "v and lambda of eq:bellman_Z, and the dual value is -lambda",
    "false",
    "with -lambda and -v: log Q/P + c - lambda - v(x) + v(x') = 0, and the dual value is +lambda; the printed one is "
    "stationary at (-v, -lambda)",
)
def app_dual(game: Trace, *, reading: Reading) -> Certificate:
    """The largest entry of the gradient of the Lagrangian at (pi_t, v_t, lambda_t) is 0."""
    rows = game.leader
    size = rows.dual_gradient_printed if reading == "printed" else rows.dual_gradient
    known = ~np.isnan(size)
    if not known.any():
        return left_out("app:dual", reading, "pi underflows, and its logarithm with it")
    off = 2.0 * _off(game) + game.noise * game.constants.B
    trivial = _any_equation(game)[known]
    rounds = _leaders(game)[known]
    return equal("app:dual", reading, size[known], 0.0, tolerance=off[known], trivial=trivial, rounds=rounds)


@statement(
    "new:certificate", "", "new", "for any v, lambda and the average cost of Q_v lie in [min r, max r], r = Bv - v"
)
def collatz_wielandt(game: Trace, *, reading: Reading) -> Certificate:
    """|f(pi_t; c_bar_t) - lambda_t| <= gap_t / 2: the average cost of the policy played lies in its own bounds."""
    rows = game.leader
    off = np.abs(rows.cost_of_measure - rows.average_cost)
    tolerance, rounds = game.noise * rows.size, _leaders(game)
    return at_most(
        "new:certificate", reading, off, rows.gap / 2, tolerance=tolerance, trivial=game.width, rounds=rounds
    )


@statement(
    "new:span",
    "",
    "new",
    "span(v) <= S: the longest of the shortest paths with C - log P(x,y) for each move, and others",
)
def span_bound(game: Trace, *, reading: Reading) -> Certificate:
    """span(v_t) <= S; moving the costs by the gap adds at most that for each step of the way that S was found by."""
    rows, found = game.leader, game.constants
    steps = game.lmdp.n + sum(way for way in (found.hitting_time, found.primitivity_index) if math.isfinite(way))
    tolerance = steps * rows.gap + game.noise * (1.0 + rows.span_v)
    return at_most("new:span", reading, rows.span_v, game.constants.S, tolerance=tolerance, rounds=_leaders(game))
