"""Inverse iteration in the coordinates of the present policy: the Perron vector is linear in z, and so are the steps.

For any v with residual r = Bv - v, the solution v* = v - log w has (e^{r - lambda} - Q_v) w = 0 with w > 0: in z = e^{-v}
the equation is linear, however far v is from v*. Noda (1971) solves (e^{r - lo} - Q_v) u = 1 with lo = min r, a proven
lower bound on lambda, and goes on from v - log u. The matrix has the row sums e^{r - lo} - 1 >= 0, which are killing
rates: elimination.py factors it without a subtraction, and u > 0 is accurate entry by entry. The bound never falls, and
near the end its error is squared in each step. Newton's method (newton.py) moves v, not z, along a straight line. Where
the cost is a small disturbance on a large graph, its first steps are far too long, and the way back is halved each time.

*More than one load.* With the load 1, u reaches no further than 1/(lambda - lo), 10^13 or so: a v that spans some
hundreds takes many steps to come down. A load b > 0 that lies where the policy lives has M u = 0 elsewhere, which is
the very equation of the tails, whatever they span. So the loads z and 1 at the bottom of v alone are tried with the
same factor. Either may cling to a well that only seems to be the deepest, hence it must narrow the gap far more.

*Steps that lead nowhere.* Chains that circulate gain on lambda by a constant factor only; and where v spans thousands,
lo is exact at once and the tails are out of reach. Both show in one step or two: the gap is not halved, and what lo
gains is not a fraction of what it gained before, or is next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import Floats
from lsmdp.elimination import eliminate
from lsmdp.errors import ConvergenceError
from lsmdp.perron.factor import SYMMETRIC_SPAN, balanced
from lsmdp.perron.problem import Attempt, Problem, exhausted

HALF = 0.5  # of the gap is left after a good step,
STEADY = 0.4  # or the lower bound gains so much of what it gained the step before,
USEFUL = 1e-3  # and this much of the gap
FAR_BETTER = 0.1  # the gap after a load that is not 1, relative to the one after 1
SMOOTHING = 2  # Bellman steps after each: they never widen the gap
STEEPEST = 600.0  # of r - lo: beyond, its exponential is near the end of floats


def noda(problem: Problem, v: Floats, tol: float, max_steps: int) -> Attempt:
    """Iterate until gap <= tol, until that is no longer in sight, or max_steps; the best v on the way."""
    r, lo, hi = problem.residual(v)
    best, gain, promising = Attempt(v, lo, hi, 0), inf, True
    for step in range(1, max_steps + 1):
        if not promising or best.gap <= tol or exhausted(r, lo, hi, tol):
            break
        found = _step(problem, v, r, lo)
        if found is None:
            break
        before, gained = hi - lo, found[2] - lo
        v, r, lo, hi = found
        promising = hi - lo <= HALF * before or USEFUL * before <= gained <= STEADY * gain
        best, gain = Attempt(v, lo, hi, step) if hi - lo < best.gap else replace(best, steps=step), gained
    return best


_Place = tuple[Floats, Floats, float, float]  # v, its residual and bounds


def _step(problem: Problem, v: Floats, r: Floats, lo: float) -> _Place | None:
    try:
        resolvent = _resolvent(problem, v, np.expm1(np.minimum(r - lo, STEEPEST)))
    except ConvergenceError:
        return None
    z = np.exp(v.min() - v)
    best: _Place | None = None
    for load in (np.ones_like(z), z, (z == 1.0).astype(np.float64)):
        u = resolvent(load)
        if 0.0 < u.min() and u.max() < np.inf:
            place = _smoothed(problem, v - np.log(u))
            if best is None or place[3] - place[2] <= FAR_BETTER * (best[3] - best[2]):
                best = place
    return best


def _smoothed(problem: Problem, v: Floats) -> _Place:
    v = v - v.min()
    r, lo, hi = problem.residual(v)
    for _ in range(SMOOTHING):
        v = v + r
        r, lo, hi = problem.residual(v)
    return v, r, lo, hi


def _resolvent(problem: Problem, v: Floats, killing: Floats) -> Callable[[Floats], Floats]:
    """u with M u = b, where M = I - Q_v with so much more on the diagonal."""
    rho = problem.lmdp.reversible_law
    if rho is not None and np.ptp(v) <= SYMMETRIC_SPAN:
        flow, law = balanced(problem.P, rho, v)
        factors = eliminate(problem.plan, flow, law * killing, symmetric=True)
        return lambda b: factors.solve(law * b)
    return eliminate(problem.plan, kernels.policy_weights(problem.P, v), killing).solve
