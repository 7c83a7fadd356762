"""Sparse state reduction: for roads, grids, rings, and anything small.

Inverse iteration (inverse.py) takes two to four factors where it converges, and Newton's method (newton.py) goes on
from the best v where it does not. The factors are free of subtractions (factor.py), so that the steps are accurate
however rarely the chain leaves a region. The reference state of Newton's steps, where d = 0, is kept where the chain
actually lives: at the largest entry of mu.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lsmdp._core.factor import Plan, eliminate, pinned
from lsmdp.arrays import Floats, mean
from lsmdp.errors import ConvergenceError
from lsmdp.solvers.inverse import noda
from lsmdp.solvers.newton import newton
from lsmdp.solvers.problem import Attempt, Problem

INVERSE = 20  # steps of inverse iteration at most: far more than it takes where it converges
VISITED = 0.01  # the reference may be this much rarer than the commonest state


@dataclass(frozen=True)
class Direct:
    """Inverse iteration and policy iteration with sparse elimination."""

    max_steps: int = 100
    name = "direct"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Iterate from v; gives v back unchanged where the elimination would fill in too much."""
        if problem.plan.entries is None:
            _, lo, hi = problem.residual(v)
            return Attempt(v, lo, hi, 0)
        attempt = noda(problem, v, tol, min(INVERSE, self.max_steps))
        taken = attempt.steps
        if attempt.gap > tol and taken < self.max_steps:
            v = attempt.v
            reference = int(np.argmin(v if np.ptp(v) > 0 else problem.c))
            attempt = newton(problem, v, tol, _StateReduction(problem.plan, reference), self.max_steps - taken)
            taken += attempt.steps
        return replace(attempt, steps=taken, work=taken * problem.plan.work / problem.P.nnz)


@dataclass
class _StateReduction:
    plan: Plan
    reference: int

    def poisson(self, weights: Floats, r: Floats) -> Floats | None:
        try:
            factors, mu = pinned(self.plan, weights, self.reference)
            if mu[self.reference] < VISITED * mu.max():
                self.reference = int(mu.argmax())
                factors, mu = pinned(self.plan, weights, self.reference)
        except ConvergenceError:
            return None
        return factors.solve(r - mean(mu, r))

    def euler(self, weights: Floats, r: Floats, eps: float) -> Floats | None:
        return eliminate(self.plan, weights, np.full(r.size, eps)).solve(r)
