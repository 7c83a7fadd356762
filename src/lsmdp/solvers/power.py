"""Power steps: z <- G P z with G = diag(e^{-c}), one fused pass over P each.

In: a v and the width that is wanted. Out: the best v on the way, with its bounds, and by how much a step shrinks them.
The extremes of the ratios (G P z)(x) / z(x) are e^{-lambda} from above and below, so that each step knows its own gap
without a single logarithm. While v spans at most a few hundred, z = e^{-v}. Otherwise z = e^{v_0 - v} for an earlier
v_0, the *base*, and a step is z <- A z with A = diag(e^{-r_0}) Q_{v_0} and r_0 = Bv_0 - v_0. When z has drifted over
120 decades, the base is moved; nothing underflows.

Where ten steps do not halve the gap, pairs of steps are averaged, z <- (A z + A A z)/2: an eigenvalue m of A (relative
to the largest) then acts as (m + m^2)/2, which is 0 at m = -1 and below 1 in modulus at every other root of unity, so
that periodic and nearly periodic chains converge as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.power import power_walk
from lsmdp.arrays import Floats, read_only
from lsmdp.solvers.problem import Attempt, Problem, limited_by_rounding

_PLAIN_SPAN = 150.0  # Up to this span of v and of c, z = e^{-v} itself is a safe representation, of 65 decades.
_MOST_BASES = 2000  # A walk that needs more bases than this is going nowhere.


class PowerSteps(NamedTuple):
    """How a run of power steps went: its last gap, and the contraction per step that was seen last (1: none)."""

    steps: int
    gap: float
    rate: float
    averaging: bool


@dataclass(frozen=True)
class Power:
    """The power method, in coordinates that cannot underflow."""

    max_steps: int = 100_000
    name = "power"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Iterate until the ratios agree within tol, or max_steps."""
        _, lo, hi = problem.residual(v)
        best = Attempt(v, lo, hi, 0)
        walk = PowerSteps(0, best.gap, 1.0, False)
        steps, target = 0, tol
        for _ in range(_MOST_BASES):
            if best.gap <= tol or steps >= self.max_steps:
                break
            v, walk = _walk(problem, v, target, self.max_steps - steps, walk.averaging)
            steps += walk.steps
            r, lo, hi = problem.residual(v)
            if hi - lo < best.gap:
                best = Attempt(v, lo, hi, steps)
            elif target < tol / 8:
                break  # the ratios agree, but rounding keeps the certificate wider than tol
            if limited_by_rounding(r, lo, hi, tol):
                break
            if walk.gap <= target:
                target /= 2
        return Attempt(best.v, best.lo, best.hi, steps, walk.rate, work=float(steps))


def _walk(problem: Problem, v: Floats, target: float, max_steps: int, averaging: bool) -> tuple[Floats, PowerSteps]:
    """Steps on one base until the target, the end of the budget, or the need for a new base."""
    base, A, g, z = _coordinates(problem, v)
    if g is None:  # the residual itself spans hundreds: take a Bellman step
        r, _, _ = problem.residual(v)
        v = v + r
        return v - v.min(), PowerSteps(1, float(np.ptp(r)), 1.0, averaging)
    walk = PowerSteps(*power_walk(A, g, z, np.empty((2, z.size)), target, max_steps, averaging))
    v = base - np.log(z)
    return v - v.min(), walk


def _coordinates(problem: Problem, v: Floats) -> tuple[Floats, sparse.Rows, Floats | None, Floats]:
    """(base, A, g, z) with v = base - log z and G P = diag(g) A in the coordinates of the base, up to a factor."""
    A = sparse.rows(problem.P)
    if np.ptp(v) <= _PLAIN_SPAN and np.ptp(problem.c) <= _PLAIN_SPAN:
        return np.zeros_like(v), A, np.exp(problem.c.min() - problem.c), np.exp(v.min() - v)
    r, _, _ = problem.residual(v)
    if np.ptp(r) > _PLAIN_SPAN:
        return v, A, None, v
    weights = read_only(sparse.policy_weights(problem.P, v))
    return v, A._replace(data=weights), np.exp(r.min() - r), np.ones_like(v)
