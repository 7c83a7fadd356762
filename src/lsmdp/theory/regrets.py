"""The statements about losses: sec:analysis from lem:btl to thm:main, and their corrected forms.

With C the range of the costs in units of the temperature, lg = 1 + log T and L of constants.py,

    Rbar_T <= C^2 L^2 / 2 lg,
    R' = loss - T lambda_{T+1} <= (C^2 L^3 + C^2 L^2 / 2 + 2 C L) lg + 2 C L,
    R_T(Q) = loss - L_T(Q) <= that + m(Q) (B + C)                    for a fixed Q with mixing sum m(Q) <= 1/(1 - a(Q)).

The printed statements compare with the best stationary policy of all. What can be computed is what some policies pay;
the best of them is no better than the best of all, so a printed bound that fails against it fails.

Tolerances: lambda_{T+1} is known within half its gap, which enters T times; an idealised loss of round t is off by at
most t (gap_t + gap_{t+1}) (new:identity), which is added up; and the computed leaders are exact for costs that change
by a gap more than C/t, so a bound is also evaluated with C + max t gap_t in place of C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.theory.certificate import Certificate, Reading, at_most, cube, left_out
from lsmdp.theory.constants import Constants
from lsmdp.theory.rivals import Rival
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import Trace

GONE = "the costs could be read only once, so no fixed policy was played against them"


def round_errors(game: Trace) -> Floats:
    """What the solves may have done to the idealised losses of rounds 1, ..., t together, and rounding.

    An idealised loss that is not known is at most max |c_t| + max KL, and KL <= span v + lambda - c.
    """
    gaps = np.cumsum(game.rounds * game.gaps) + game.rounds * game.leader.gap[1:]
    ideal, most = np.abs(game.steps.ideal), game.steps.cost + game.leader.size[:-1]
    size = np.cumsum(np.where(np.isnan(ideal), most, ideal)) + game.rounds * game.leader.size.max()
    return np.asarray(gaps + game.noise * size)


def total_error(game: Trace) -> float:
    """The same for all rounds."""
    return float(round_errors(game)[-1])


def excess_bound(found: Constants, lg: float, extra: float = 0.0) -> float:
    """The bound on R' (new:log); ``extra`` is added to the factor of lg."""
    C, L = found.cost_range, found.L
    CL = C * L  # products, since a power of a large float raises where a product is infinite
    return (CL * CL * L + CL * CL / 2 + 2 * CL + extra) * lg + 2 * CL


def bounded(game: Trace, found: Constants, bound: Callable[[Constants], float]) -> tuple[float, float]:
    """A bound, and what the solves may add: the computed leaders are exact for costs that change by C/t + gap."""
    right = bound(found)
    more = bound(replace(found, cost_range=found.cost_range + float(np.max(game.rounds * game.gaps))))
    return right, (more - right if math.isfinite(more) else 0.0)


def best(game: Trace) -> Rival | None:
    """The fixed policy that paid the least."""
    return min(game.rivals, key=lambda rival: rival.loss, default=None)


@statement("lem:btl", "sum f(pi_{t+1};c_t) <= min_pi sum f(pi;c_t)", "true", "the same; the minimum is T lambda_{T+1}")
def lem_btl(game: Trace, *, reading: Reading) -> Certificate:
    """Be the leader."""
    right = game.T * game.leader.average_cost[-1]
    return at_most("lem:btl", reading, game.steps.ideal_next.sum(), right, tolerance=total_error(game))


@statement(
    "lem:price",
    "sum f(pi_t;c_t) - f(pi_{t+1};c_t) <= 2 (tau^2 + 1) (1 + log T)",
    "true",
    "<= C^2 L^2 (1 + log T), from the exact form of new:price",
)
def lem_price(game: Trace, *, reading: Reading) -> Certificate:
    """What looking one round ahead is worth."""
    left = (game.steps.ideal - game.steps.ideal_next).sum()
    if reading == "printed":
        right, more = bounded(game, game.printed, lambda found: 2.0 * (found.tau * found.tau + 1.0) * game.lg)
    else:
        right, more = bounded(game, game.constants, lambda found: _square(found.cost_range * found.L) * game.lg)
    return at_most("lem:price", reading, left, right, tolerance=total_error(game) + more)


@statement(
    "lem:ideal",
    "Rbar_T <= 2 (tau^2 + 1) (1 + log T)",
    "true",
    "<= C^2 L^2 / 2 (1 + log T), from new:identity",
)
def lem_ideal(game: Trace, *, reading: Reading) -> Certificate:
    """The idealised regret of follow the leader."""
    left = game.steps.ideal.sum() - game.T * game.leader.average_cost[-1]
    if reading == "printed":
        right, more = bounded(game, game.printed, lambda found: 2.0 * (found.tau * found.tau + 1.0) * game.lg)
    else:
        right, more = bounded(game, game.constants, lambda found: _square(found.cost_range * found.L) / 2 * game.lg)
    return at_most("lem:ideal", reading, left, right, tolerance=total_error(game) + more)


def _square(x: float) -> float:
    return x * x


@statement(
    "unlabelled:comparator",
    "sum f(pi_{T+1};c_t) - L_T(Q*_T) <= (2 tau + 2) (B + 1), Q*_T the best stationary policy",
    "false",
    "<= m(Q) (B + C) for a fixed Q with the mixing sum m(Q) = sum 1/2 |p_t - mu_Q|_1 <= 1/(1 - a(Q))",
)
def comparator(game: Trace, *, reading: Reading) -> Certificate:
    """What a fixed policy may pay less than the leader's average cost."""
    label, found, rival = "unlabelled:comparator", game.constants, best(game)
    if rival is None:
        return left_out(label, reading, GONE)
    ideal = game.T * game.leader.average_cost[-1]
    if reading == "printed":
        right = (2.0 * game.printed.tau + 2.0) * (found.B + 1.0)
        return at_most(label, reading, ideal - rival.loss, right, tolerance=total_error(game), places=rival.name)
    rivals = _with_laws(game)
    left = [ideal - rival.loss for rival in rivals]
    rights = [rival.mixing * (found.B + found.cost_range) for rival in rivals]
    names = [rival.name for rival in rivals]
    return at_most(label, reading, left, rights, tolerance=total_error(game), places=names)


def _with_laws(game: Trace) -> list[Rival]:
    """The fixed policies whose mixing sum is about their stationary law. P is always among them."""
    return [rival for rival in game.rivals if rival.is_stationary]


@statement(
    "lem:trueloss",
    "sum E loss_t - f(pi_t;c_t) <= (tau+1)^3 (1 + log T)^2 + 2 (tau+1) (3 + log T)",
    "true",
    "<= (C^2 L^3 + 2 C L) (1 + log T) + 2 C L",
)
def lem_trueloss(game: Trace, *, reading: Reading) -> Certificate:
    """What it costs that the state does not jump into equilibrium."""
    lg = game.lg
    left = game.ftl.loss - game.steps.ideal.sum()
    if reading == "printed":
        tau = game.printed.tau
        right, more = cube(tau + 1.0) * lg**2 + 2.0 * (tau + 1.0) * (2.0 + lg), 0.0
    else:
        right, more = bounded(game, game.constants, lambda found: _transient_bound(found, lg))
    return at_most("lem:trueloss", reading, left, right, tolerance=total_error(game) + more)


def _transient_bound(found: Constants, lg: float) -> float:
    C, L = found.cost_range, found.L
    return (C * C * cube(L) + 2 * C * L) * lg + 2 * C * L


def printed_bound(found: Constants, lg: float) -> float:
    """The right side of eq:fullbound."""
    tau = found.tau
    return (
        2.0 * cube(tau + 1.0) * lg**2 + 2.0 * (tau * tau + tau + 2.0) * (2.0 + lg) + (2.0 * tau + 2.0) * (found.B + 2.0)
    )


@statement(
    "eq:fullbound",
    "R_T <= 2 (tau+1)^3 (1 + log T)^2 + 2 (tau^2+tau+2) (3 + log T) + (2 tau+2) (B+2), for all stationary policies",
    "true against Q_{T+1}, false as stated",
    "R_T(Q) <= (C^2 L^3 + C^2 L^2/2 + 2 C L) (1 + log T) + 2 C L + m(Q) (B + C)",
)
def eq_fullbound(game: Trace, *, reading: Reading) -> Certificate:
    """The regret of follow the leader, with all constants."""
    found, rival = game.constants, best(game)
    if rival is None:
        return left_out("eq:fullbound", reading, GONE)
    if reading == "printed":
        right, off = printed_bound(game.printed, game.lg), total_error(game)
        return at_most("eq:fullbound", reading, game.ftl.loss - rival.loss, right, tolerance=off, places=rival.name)
    excess, more = bounded(game, found, lambda found: excess_bound(found, game.lg))
    rivals = _with_laws(game)
    left = [game.ftl.loss - rival.loss for rival in rivals]
    rights = [excess + rival.mixing * (found.B + found.cost_range) for rival in rivals]
    names = [rival.name for rival in rivals]
    return at_most("eq:fullbound", reading, left, rights, tolerance=total_error(game) + more, places=names)


@statement(
    "thm:main",
    "R_T = O(log^2 T) against all stationary policies; eq:fullbound has the constants",
    "false",
    "R_T(Q) = O(log T) for every Q with bounded mixing sum: R_T(Q) <= new:log + span(v_{T+1}) + 2 C m(Q), without B",
)
def thm_main(game: Trace, *, reading: Reading) -> Certificate:
    """The main theorem: as printed against the best policy known, corrected against each of them."""
    found, rival = game.constants, best(game)
    if rival is None:
        return left_out("thm:main", reading, GONE)
    if reading == "printed":
        right, off = printed_bound(game.printed, game.lg), total_error(game)
        return at_most("thm:main", reading, game.ftl.loss - rival.loss, right, tolerance=off, places=rival.name)
    excess, more = bounded(game, found, lambda found: excess_bound(found, game.lg))
    excess = excess + float(game.leader.span_v[-1])
    left = [game.ftl.loss - rival.loss for rival in game.rivals]
    rights = [excess + 2.0 * found.cost_range * rival.mixing for rival in game.rivals]
    names = [rival.name for rival in game.rivals]
    return at_most("thm:main", reading, left, rights, tolerance=total_error(game) + more, places=names)
