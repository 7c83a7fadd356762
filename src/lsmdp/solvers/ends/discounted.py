"""Discounted costs: v = c - T log P e^{-av/T}, between two bounds.

The start is the mean cost or, for a near 1 and an irreducible P, the long-run average, lambda/(1 - a) + v; settle.py
does the rest. Constants are no trouble, since B(v + k) = Bv + ak: after each few steps v is moved by the constant that
puts the middle of its residuals at 0, so that only their *span* counts, and that shrinks as fast as the chain mixes,
however close a is to 1. The matrix of Newton's method is I - a Q_v, a chain that is killed at the rate 1 - a
everywhere. If P is reversible, its rows times the law of Q_v are symmetric, and half a factor does (problem.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp._core import exits, sparse
from lsmdp._core.factor import Elimination, eliminate
from lsmdp._core.sparse import SURELY_NORMAL
from lsmdp.arrays import Floats
from lsmdp.certificates.pairs import Discount
from lsmdp.ends import Discounted
from lsmdp.model import LMDP
from lsmdp.solution import Solution
from lsmdp.solvers.ends.goal import scale_of, status_of
from lsmdp.solvers.ends.settle import SWEEPS_OF_A_GROUP, Factored, SettledEquations, Trail, settle
from lsmdp.solvers.problem import Problem
from lsmdp.values import Values

# The average solution to start from is found to this width, in units of the span of the costs; a rough one will do.
_AVERAGE_WIDTH = 1e-3
# From this discount on, the average solution is worth its price: for 0.99999 on a 120 x 120 grid, Newton's method takes
# 3 factors from it and 14 from the mean cost, and for 0.999 about as many from either.
_LATE_DISCOUNT = 0.9999
# Residuals whose span is this share of what the tolerance allows will do: the rest is for rounding.
_SHARE_OF_THE_TOLERANCE_OF_A_DISCOUNT = 0.1


@dataclass(frozen=True, eq=False)
class _BalancedFactor:
    """A factor of a matrix whose rows were multiplied by these numbers."""

    factor: Elimination
    rows: Floats

    def solve(self, b: Floats) -> Floats:
        """d with the matrix itself times d = b."""
        return self.factor.solve(self.rows * b)


class DiscountEquations(SettledEquations[Discount]):
    """The discounted equations as settle.py wants them. They are not linear in any coordinates: there is no leap."""

    def size(self, r: Floats) -> float:
        """The span: constants are no trouble."""
        return float(np.ptp(r))

    def swept(self, v: Floats, times: int) -> Floats:
        """Double sweeps in the order of v; for e^{-av/T}, with a power for each state only, where that is in floats.

        With w = e^{-a(v - m)/T} and s = Pw, v(x) <- c(x) + am - T log s(x) is w(x) <- e^{-a(c(x) + am - m)/T} s(x)^a.
        """
        lmdp, c, a, T, out = self.problem.lmdp, self.problem.c, self.problem.discount, self.temperature, v.copy()
        order, low, moves = np.argsort(v, kind="stable"), float(v.min()), sparse.rows(self.problem.lmdp.P)
        ways, nothing = (order, order[::-1]) * times, np.zeros(lmdp.n)
        with np.errstate(over="ignore"):
            w, gain = np.exp(a * (low - v) / T), np.exp(-a * (c + (a - 1.0) * low) / T)
        for way in ways:
            exits.sweep_linear(moves, gain, nothing, w, way, a)
        if w.min() > SURELY_NORMAL and w.max() < 1.0 / SURELY_NORMAL:
            return np.asarray(c + a * low - T * np.log(lmdp.P @ w))  # one more step: log(w) / a would magnify rounding
        for way in ways:
            exits.sweep(lmdp.P, c, out, T, way, a)
        return out

    def relaxed(self, v: Floats) -> Floats:
        """v after some averaged steps (Bv + BBv)/2, and moved by the constant that puts its residuals around 0.

        B takes constants to constants, so that the span of the residuals shrinks as fast as the chain mixes. Sweeps in
        place do not: they turn an error in the constant into differences, which the next constant brings back.
        """
        for _ in range(SWEEPS_OF_A_GROUP):
            once = v + self.residual(v)[0]
            v = once + self.residual(once)[0] / 2.0
        return self.centred(v)

    def centred(self, v: Floats) -> Floats:
        """v moved by the constant that puts the middle of its residuals at 0."""
        r = self.residual(v)[0]
        return np.asarray(v + (float(r.min()) + float(r.max())) / 2.0 / (1.0 - self.problem.discount))

    def factored(self, v: Floats) -> Factored:
        """I - a Q_v, with Q_v the policy of av."""
        lmdp, a = self.problem.lmdp, self.problem.discount
        both = Problem(lmdp, self.problem.c).balanced(a * v / lmdp.temperature)
        if both is not None:
            flow, law = both
            return _BalancedFactor(eliminate(lmdp.elimination_plan, a * flow, (1.0 - a) * law, symmetric=True), law)
        weights = sparse.policy_weights(lmdp.P, a * v, lmdp.temperature)
        return eliminate(lmdp.elimination_plan, a * weights, np.full(lmdp.n, 1.0 - a))


def solve_discounted(
    lmdp: LMDP, c: Floats, end: Discounted, tol: float, start: Any, average: Callable[[LMDP, Floats, float], Solution]
) -> Values:
    """The discounted values; ``average`` solves the average-cost problem to start from, to a given width."""
    began = time.perf_counter()
    problem, a = Discount(lmdp, c, end.discount), end.discount
    killed = DiscountEquations(problem)
    story = []
    if start is not None:
        v = killed.centred(start)
    elif a >= _LATE_DISCOUNT and lmdp.is_irreducible:
        found = average(
            lmdp, c, _AVERAGE_WIDTH * float(np.ptp(c)) + 1e-9 * max(lmdp.temperature, float(np.abs(c).max()))
        )
        v = killed.centred(found.average_cost / (1.0 - a) + found.v)
        story.append(f"The average solution to start from ({found.solver}): {found.average_cost:.6g} a step.")
    else:
        v = killed.centred(np.full(lmdp.n, float(c.mean()) / (1.0 - a)))
    trail = Trail(v, given=start is not None)
    for enough in (_SHARE_OF_THE_TOLERANCE_OF_A_DISCOUNT * tol * (1.0 - a) * scale_of(lmdp, c, v), 0.0):
        settle(killed, trail, enough)
        pair = problem.pair(trail.v)
        width, scale = float((pair.upper - pair.lower).max()), scale_of(lmdp, c, pair.upper)
        if width <= tol * scale:
            break
    return Values(
        lmdp=lmdp,
        c=c,
        end=end,
        lower=pair.lower,
        upper=pair.upper,
        certified=bool(width <= tol * scale < np.inf),
        status=status_of(width, scale, tol),
        solver=" -> ".join(trail.how) or "start",
        iterations=trail.steps,
        seconds=time.perf_counter() - began,
        story=(*story, *trail.story),
    )
