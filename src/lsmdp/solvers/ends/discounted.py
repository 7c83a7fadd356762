"""Discounted costs: v = c - T log P e^{-av/T}, between two bounds.

The start is the long-run average, lambda/(1 - a) + v, where P is irreducible, and else the mean cost; settle.py does
the rest. Constants are no trouble, since B(v + k) = Bv + ak: after each few sweeps v is moved by the constant that puts
the middle of its residuals at 0, so that only their *span* counts, and that shrinks as fast as the chain mixes, however
close a is to 1. The matrix of Newton's method is I - a Q_v, a chain that is killed at the rate 1 - a everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lsmdp._core import exits, sparse
from lsmdp._core.factor import Elimination, eliminate
from lsmdp.arrays import Floats
from lsmdp.certificates import Discount
from lsmdp.ends import Discounted
from lsmdp.model import LMDP
from lsmdp.solution import Solution
from lsmdp.solvers.ends.goal import scale_of, status_of
from lsmdp.solvers.ends.settle import Settled, Trail, settle
from lsmdp.values import Values

# The average solution to start from is found to this width, in units of the span of the costs; a rough one will do.
AVERAGE_WIDTH = 1e-3
LATE_DISCOUNT = 0.9  # From this discount on, the average solution is closer than the mean cost.


class Killed(Settled[Discount]):
    """The discounted equations as settle.py wants them. They are not linear in any coordinates: there is no leap."""

    def size(self, r: Floats) -> float:
        """The span: constants are no trouble."""
        return float(np.ptp(r))

    def swept(self, v: Floats, times: int) -> Floats:
        """Double sweeps in the order of v."""
        lmdp, out = self.problem.lmdp, v.copy()
        order = np.argsort(v, kind="stable")
        for _ in range(times):
            for way in (order, order[::-1]):
                exits.sweep(lmdp.P, self.problem.c, out, lmdp.temperature, way, self.problem.discount)
        return out

    def centred(self, v: Floats) -> Floats:
        """v moved by the constant that puts the middle of its residuals at 0."""
        r = self.problem.residual(v)[0]
        return np.asarray(v + (float(r.min()) + float(r.max())) / 2.0 / (1.0 - self.problem.discount))

    def factored(self, v: Floats) -> Elimination:
        """I - a Q_v."""
        lmdp, a = self.problem.lmdp, self.problem.discount
        weights = sparse.policy_weights(lmdp.P, a * v, lmdp.temperature)
        return eliminate(lmdp.elimination_plan, a * weights, np.full(lmdp.n, 1.0 - a))


def solve_discounted(
    lmdp: LMDP, c: Floats, end: Discounted, tol: float, start: Any, average: Callable[[LMDP, Floats, float], Solution]
) -> Values:
    """The discounted values; ``average`` solves the average-cost problem to start from, to a given width."""
    began = time.perf_counter()
    problem, a = Discount(lmdp, c, end.discount), end.discount
    killed = Killed(problem)
    story = []
    if start is not None:
        v = killed.centred(start)
    elif a >= LATE_DISCOUNT and lmdp.is_irreducible:
        found = average(
            lmdp, c, AVERAGE_WIDTH * float(np.ptp(c)) + 1e-9 * max(lmdp.temperature, float(np.abs(c).max()))
        )
        v = killed.centred(found.average_cost / (1.0 - a) + found.v)
        story.append(f"The average solution to start from ({found.solver}): {found.average_cost:.6g} a step.")
    else:
        v = killed.centred(np.full(lmdp.n, float(c.mean()) / (1.0 - a)))
    trail = settle(killed, Trail(v))
    pair = problem.pair(trail.v)
    width, scale = float((pair.upper - pair.lower).max()), scale_of(lmdp, c, pair.upper)
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
