"""Policy iteration with a time step: Newton's method on v + lambda = Bv, made global.

With Q = Q_v and r = Bv - v, Howard's policy iteration solves the Poisson equation (I - Q) d = r - mu.r and sets
v <- v + d. It is Newton's method: quadratic near the solution. Far from it two things go wrong in floating point,
and each has its cure.

1. *Wells* are regions that Q hardly ever leaves. Where that is once in 10^100 steps, d is of that size, and all local
   information is lost. The cure is a time step. ((1 + eps) I - Q) d = r - const is one implicit Euler step of length
   1/eps for dv/dt = Bv - v - lambda; with eps = gap / R it satisfies span(d) <= R and is policy iteration for all but
   the deepest wells. As the gap closes, eps vanishes with it, and the convergence is superlinear again.

2. *Overshoot.* B is concave, so that a long step leaves *cliffs* in v, moves along which it rises more than in any
   solution, and later steps wear them down only slowly. But the solution obeys, for every possible move,
   v(x) - v(y) <= c(x) - lambda - log P(x,y) (take y for sure), hence the same with any proven lower bound in place of
   lambda. One run of Dijkstra's algorithm lowers v to the largest function that obeys all of these. Afterwards
   r >= lambda_low + log p_min: the overshoot is gone.

The linear systems are solved by whoever is asked to: sparse state reduction or LAPACK (factored.py), or GMRES
(krylov.py), behind the two functions of :class:`Evaluator`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.paths import lower_to_paths
from lsmdp.arrays import EPS, Floats, like
from lsmdp.solvers.problem import Attempt, Problem, limited_by_rounding

_LONGEST_STEP_IN_V = 1e6  # A step in v of at most this length keeps ten digits of what is local.
_GAP_OF_PURE_STEPS = 0.1  # Below this gap, pure policy iteration is tried first, since it then converges quadratically.
_GAP_NEAR_ROUNDING = 1e-6  # Below this gap, steps may be ended by rounding.
_SHARE_OF_THE_BEST = 0.9  # A step has stalled if it leaves more than this share of the best gap so far.
# A step has stalled if it also leaves more than this share of the gap before; three such steps end the method.
_SHARE_OF_THE_LAST = 0.5
# A step longer than this, in units of the temperature, may overshoot; v is then lowered to what paths allow.
_LONG_STEP = 1.0


class Evaluator(Protocol):
    """Solves the two linear systems of policy iteration for the kernel with these weights (aligned with P)."""

    def poisson(self, weights: Floats, r: Floats) -> Floats | None:
        """d with (I - Q) d = r - mu.r, up to a constant; None where that is out of reach."""

    def euler(self, weights: Floats, r: Floats, eps: float) -> Floats | None:
        """d with ((1 + eps) I - Q) d = r, up to a constant; None where that is out of reach."""


def newton(problem: Problem, v: Floats, tol: float, evaluator: Evaluator, max_steps: int) -> Attempt:
    """Iterate until gap <= tol, until rounding stops the progress, or max_steps."""
    r, lo, hi = problem.residual(v)
    best = Attempt(v, lo, hi, 0)
    lambda_low, stalled = lo, 0
    reach = max(
        _LONGEST_STEP_IN_V, tol / EPS, float(np.ptp(problem.c))
    )  # what is local has no more digits than these leave
    for step in range(1, max_steps + 1):
        if best.gap <= tol or stalled == 3:
            break
        before = hi - lo
        d = _direction(problem, v, r, before, evaluator, reach)
        if d is None:
            break
        v = v + d
        v -= v.min()
        if np.ptp(d) > _LONG_STEP:
            PT, log_P = problem.reversed_moves
            lengths = np.maximum(problem.c[PT.indices] - lambda_low - log_P, 0.0)
            v = lower_to_paths(like(PT, lengths), v)
        v, r, lo, hi = problem.smoothed(v)
        lambda_low = max(lambda_low, lo)
        stalled = (
            stalled + 1
            if max(_SHARE_OF_THE_BEST * best.gap, _SHARE_OF_THE_LAST * before) < hi - lo < _GAP_NEAR_ROUNDING
            else 0
        )
        best = Attempt(v, lo, hi, step) if hi - lo < best.gap else Attempt(best.v, best.lo, best.hi, step)
        if limited_by_rounding(r, lo, hi, tol):
            break
    return best


def _direction(problem: Problem, v: Floats, r: Floats, gap: float, evaluator: Evaluator, reach: float) -> Floats | None:
    weights = sparse.policy_weights(problem.P, v)
    if gap <= _GAP_OF_PURE_STEPS:
        d = evaluator.poisson(weights, r)
        if d is not None and np.isfinite(d).all() and np.ptp(d) <= reach:
            return d
    d = evaluator.euler(weights, r - (r.min() + r.max()) / 2, gap / reach)
    return d if d is not None and np.isfinite(d).all() else None
