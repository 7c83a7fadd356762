"""Inverse iteration in the coordinates of the present policy: the Perron vector is linear in z, and so are the steps.

For any v with residual r = Bv - v, the solution v* = v - log w has (e^{r - lambda} - Q_v) w = 0 with w > 0: linear, as
all is in z = e^{-v}, however far v is from v*. Noda (1971) solves M u = 1 with M = e^{r - lo} - Q_v and lo = min r, a
proven lower bound on lambda, and goes on from v - log u. The row sums e^{r - lo} - 1 >= 0 of M are killing rates:
factor.py factors it without a subtraction, and u > 0 is accurate entry by entry. The bound never falls, and near
the end its error is squared in each step. Newton's method (newton.py) moves v, not z, along a straight line: where the
cost is a small disturbance on a large graph its first steps are far too long, and the way back is halved each time; and
where another well of v becomes the deepest, it has to carry all of v there.

*A factor is used more than once.* M^{-1} applied again lets the deepest well grow over the next one by the ratio of
their distances from lo each time, for a fraction of the price of a factor.

*Far tails.* M^{-k} 1 reaches no further than (lambda - lo)^{-k}. A load at the bottom of v alone has M u = 0 elsewhere,
the very equation of the tails, so that they are right at once. But it clings to a well that may only seem to be the
deepest, hence it must narrow the gap far more to be preferred. Where it ends in zeros, v spans more than floats can,
and Newton's method is asked instead; and so it is where several steps have neither halved the gap nor settled lo, as on
chains that circulate. (A settled lo is the end of the beginning: from then on the deepest well grows fastest.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.factor import eliminate
from lsmdp.arrays import Floats
from lsmdp.errors import ConvergenceError
from lsmdp.solvers.problem import Attempt, Problem, exhausted
from lsmdp.solvers.warm.anchor import SYMMETRIC_SPAN, balanced

FEW, MANY = 4, 16  # solves with a factor,
SHARE = 1 / 6  # as many as cost so much of it by the count of their products, and half as much again by the clock
FAR_BETTER = 0.1  # the gap after a load at the bottom of v, relative to the other
PATIENCE = 3  # steps that neither halve the gap
SETTLED = 0.1  # nor leave the lower bound to gain so little of what it gained the step before
STEEPEST = 600.0  # of r - lo: beyond, its exponential is near the end of floats

_Place = tuple[Floats, Floats, float, float]  # v, its residual and bounds


def noda(problem: Problem, v: Floats, tol: float, max_steps: int) -> Attempt:
    """Iterate until gap <= tol, until that is out of sight, or max_steps; the best v on the way."""
    r, lo, hi = problem.residual(v)
    best, step, waited, gain = Attempt(v, lo, hi, 0), 0, 0, inf
    while step < max_steps and waited < PATIENCE and best.gap > tol and not exhausted(r, lo, hi, tol):
        found = _step(problem, v, r, lo)
        if found is None:
            break
        before, gain = gain, found[2] - lo
        v, r, lo, hi = found
        closing = hi - lo <= best.gap / 2 or (gain <= SETTLED * before and before > 0.0)
        step, waited = step + 1, 0 if closing else waited + 1
        best = Attempt(v, lo, hi, step) if hi - lo < best.gap else replace(best, steps=step)
    return best


def _step(problem: Problem, v: Floats, r: Floats, lo: float) -> _Place | None:
    """The better of the two loads; None where they are beyond floats."""
    try:
        resolvent = _resolvent(problem, v, np.expm1(np.minimum(r - lo, STEEPEST)))
    except ConvergenceError:
        return None
    again = int(np.clip(SHARE * problem.plan.work / problem.plan.step, FEW, MANY))
    u = np.ones_like(v)
    with np.errstate(all="ignore"):  # what is beyond floats shows in _positive
        tails = resolvent((v == v.min()).astype(np.float64))
        for _ in range(again):
            u = resolvent(u)
            u /= u.max()
    if not (_positive(u) and _positive(tails)):
        return None
    place, other = (problem.smoothed(to - to.min()) for to in (v - np.log(u), v - np.log(tails)))
    return other if other[3] - other[2] <= FAR_BETTER * (place[3] - place[2]) else place


def _positive(u: Floats) -> bool:
    return bool(u.min() > 0.0 and u.max() < np.inf)


def _resolvent(problem: Problem, v: Floats, killing: Floats) -> Callable[[Floats], Floats]:
    """u with M u = b, where M is I - Q_v with so much more on its diagonal."""
    rho = problem.lmdp.reversible_law
    if rho is not None and np.ptp(v) <= SYMMETRIC_SPAN:
        flow, law = balanced(problem.P, rho, v)
        factors = eliminate(problem.plan, flow, law * killing, symmetric=True)
        return lambda b: factors.solve(law * b)
    return eliminate(problem.plan, sparse.policy_weights(problem.P, v), killing).solve
