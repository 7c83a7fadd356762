"""The statements about losses: sec:analysis from lem:btl to thm:main, and their corrected forms.

With C the range of the costs in units of the temperature, lg = 1 + log T and L of constants.py,

    Rbar_T <= C^2 L^2 / 2 lg,
    R' = loss - T lambda_{T+1} <= (C^2 L^3 + C^2 L^2 / 2 + 2 C L) lg + 2 C L,
    R_T(Q) = loss - L_T(Q) <= that + m(Q) (B + C)                    for a fixed Q with mixing sum m(Q) <= 1/(1 - a(Q)).

The mixing sum stands in the bound: it is no statement about all policies that mix at some time, since some of them
mix as late as one likes. new:L2 (curvature.py) has min(L, 2) in place of one L in each term with C^2.

The printed statements compare with the best stationary policy of all. What can be computed is what some policies pay;
the best of them is no better than the best of all, so a printed bound that fails against it fails.

Tolerances. For computed leaders, with r_t = B v_t - v_t, the FTL identity is exact with two more terms (new:inexact),
T mu_T.r_{T+1} in place of T lambda_{T+1} and sum (t-1) (mu_{t-1} - mu_t).r_t. So what the solves may have done to sums
of idealised losses is at most T gap_{T+1} + sum t/2 |mu_{t+1} - mu_t|_1 (gap_t + gap_{t+1}); and as mu_t moves by
O(1/t), that is a few gaps a round, not t of them. A mean under another law than mu_t adds gap_t in each round. The
computed leaders are exact for costs that change by a gap more than C/t, so a bound is also evaluated with
C + max t gap_t in place of C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    cube,
    left_out,
)
from lsmdp.theory.constants import Constants
from lsmdp.theory.rivals import Rival
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import Trace

GONE = "the costs could be read only once, so no fixed policy was played against them"


def round_errors(game: Trace) -> Floats:
    """What the solves may have done to the idealised losses of rounds 1, ..., t together, and rounding.

    Where a stationary law is not known, an idealised loss is at most max |c_t| + max KL with KL <= span v + lambda - c,
    and two laws are at most 2 apart.
    """
    t, steps = game.rounds, game.steps
    moved = np.where(np.isnan(steps.change_mu), 2.0, steps.change_mu)
    gaps = np.cumsum((1.0 + t * moved / 2) * game.gaps) + t * game.leader.gap[1:]
    ideal, most = np.abs(steps.ideal), steps.cost + game.leader.size[:-1]
    ideal = np.where(np.isnan(ideal), most, ideal)
    # a law is stationary up to rounding, which meets span(t v_{t+1} - (t-1) v_t)
    size = np.cumsum(ideal + t * steps.change_v) + t * game.leader.size.max()
    return np.asarray(gaps + game.noise * size)


def total_error(game: Trace) -> float:
    """The same for all rounds."""
    return float(round_errors(game)[-1])


def excess_bound(found: Constants, lg: float, extra: float = 0.0) -> float:
    """The bound on R' (new:log); ``extra`` is added to the factor of lg."""
    C, L = found.cost_range, found.L
    CL = C * L  # products, since a power of a large float raises where a product is infinite
    return (CL * CL * L + CL * CL / 2 + 2 * CL + extra) * lg + 2 * CL


def curved_bound(found: Constants, lg: float) -> float:
    """The bound on R' of new:L2: the cube and the square of L become 2 L^2 and L where L > 2."""
    C, L = found.cost_range, found.L
    CL, M = C * L, min(L, 2.0)
    return (CL * CL * M + C * CL * M / 2 + 2 * CL) * lg + 2 * CL


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
    left, right, trivial = game.steps.ideal_next.sum(), game.T * game.leader.average_cost[-1], _anybody(game)
    return at_most("lem:btl", reading, left, right, tolerance=total_error(game), trivial=trivial)


def _anybody(game: Trace) -> float:
    """T max c + T B: what anybody pays at most, in equilibrium or not."""
    return game.T * (float(game.steps.cost.max()) + game.constants.B)


def any_regret(game: Trace) -> float:
    """T (B + C): what anybody pays at most above anybody else."""
    return game.T * game.width


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
    off = total_error(game) + more
    return at_most("lem:price", reading, left, right, tolerance=off, trivial=any_regret(game))


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
    off = total_error(game) + more
    return at_most("lem:ideal", reading, left, right, tolerance=off, trivial=any_regret(game))


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
    ideal, off = game.T * game.leader.average_cost[-1], total_error(game)
    trivial = game.T * found.cost_range  # lambda is at most the largest mean cost, and no control costs less than 0
    if reading == "printed":
        right = (2.0 * game.printed.tau + 2.0) * (found.B + 1.0)
        left = ideal - rival.loss
        return at_most(label, reading, left, right, tolerance=off, trivial=trivial, places=rival.name)
    rivals = _with_laws(game)
    lefts = [ideal - rival.loss for rival in rivals]
    rights = [rival.mixing * (found.B + found.cost_range) for rival in rivals]
    names = [rival.name for rival in rivals]
    return at_most(label, reading, lefts, rights, tolerance=off, trivial=trivial, places=names)


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
    off = total_error(game) + more
    return at_most("lem:trueloss", reading, left, right, tolerance=off, trivial=any_regret(game))


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
        return _as_printed("eq:fullbound", game, rival)
    excess, more = bounded(game, found, lambda found: excess_bound(found, game.lg))
    rivals = _with_laws(game)
    left = [game.ftl.loss - rival.loss for rival in rivals]
    rights = [excess + rival.mixing * (found.B + found.cost_range) for rival in rivals]
    names = [rival.name for rival in rivals]
    off, trivial = total_error(game) + more, any_regret(game)
    return at_most("eq:fullbound", reading, left, rights, tolerance=off, trivial=trivial, places=names)


def _as_printed(label: str, game: Trace, rival: Rival) -> Certificate:
    """The bound of eq:fullbound against the best policy known."""
    left, right, off = game.ftl.loss - rival.loss, printed_bound(game.printed, game.lg), total_error(game)
    return at_most(label, "printed", left, right, tolerance=off, trivial=any_regret(game), places=rival.name)


@statement(
    "thm:main",
    "R_T = O(log^2 T) against all stationary policies; eq:fullbound has the constants",
    "false",
    "for every m, O(log T) + 2 C m against all Q with m(Q) <= m: R_T(Q) <= new:L2 + span(v_{T+1}) + 2 C m(Q); no B",
)
def thm_main(game: Trace, *, reading: Reading) -> Certificate:
    """The main theorem: as printed against the best policy known, corrected against each of them."""
    found, rival = game.constants, best(game)
    if rival is None:
        return left_out("thm:main", reading, GONE)
    if reading == "printed":
        return _as_printed("thm:main", game, rival)
    excess, more = bounded(game, found, lambda found: curved_bound(found, game.lg))
    excess = excess + float(game.leader.span_v[-1])
    left = [game.ftl.loss - rival.loss for rival in game.rivals]
    rights = [excess + 2.0 * found.cost_range * rival.mixing for rival in game.rivals]
    names = [rival.name for rival in game.rivals]
    off, trivial = total_error(game) + more, any_regret(game)
    return at_most("thm:main", reading, left, rights, tolerance=off, trivial=trivial, places=names)
