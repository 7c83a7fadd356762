"""Inverse iteration in the coordinates of the present policy: the Perron vector is linear in z, and so are the steps.

For any v with residual r = Bv - v, the solution v* = v - log w has (e^{r - lambda} - Q_v) w = 0 with w > 0: linear, as
all is in z = e^{-v}, however far v is from v*. Noda (1971) solves M u = 1 with M = e^{r - lo} - Q_v and lo = min r, a
proven lower bound on lambda, and goes on from v - log u. The row sums e^{r - lo} - 1 >= 0 of M are killing rates: it
can be factored without a subtraction (_core/factor.py), and u > 0 is then accurate entry by entry. The bound never
falls, and near the end its error is squared in each step. Newton's method (newton.py) moves v, not z, along a straight
line: where the cost is a small disturbance on a large graph its first steps are far too long, and the way back is
halved each time; and where another well of v becomes the deepest, it has to carry all of v there.

In: a v, its residual and the width that is wanted. Out: the best v, with the bounds that it proves. A *well* is a
region around a local minimum of v, which its policy seldom leaves; *tails* are the states far above it.

*A factor is used more than once.* M^{-1} applied again lets the deepest well grow over the next one by the ratio of
their distances from lo each time, for a fraction of the price of a factor.

*Far tails.* M^{-k} 1 reaches no further than (lambda - lo)^{-k}, which is too small to shape the tails. A right side
that is 0 but for the lowest state has M u = 0 elsewhere, the very equation of the tails, so that they are right at
once. But it clings to a well that may only seem to be the deepest; hence it is taken only if it narrows the gap far
more. Where it ends in zeros, v spans more than floats can, and Newton's method is asked instead; and so it is where
several steps have neither halved the gap nor settled lo, as on chains that circulate. (Once lo has settled, the deepest
well grows fastest.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Protocol

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import ConvergenceError
from lsmdp.solvers.problem import Attempt, Problem, limited_by_rounding

_FAR_BETTER = 0.1  # The load at the bottom of v is preferred where its gap is this small a part of the other.
_FRUITLESS_STEPS = 3  # After this many steps that neither halve the gap nor settle the lower bound, it is given up.
_SETTLED = 0.1  # The lower bound has settled once it gains no more than this part of what it gained the step before.
_STEEPEST = 600.0  # Where r - lo exceeds this, its exponential would be near the end of floats; it is cut off there.

_Place = tuple[Floats, Floats, float, float]  # v, its residual and bounds


class Inverter(Protocol):
    """Factors M = I - Q_v + diag(killing rates)."""

    @property
    def repeats(self) -> int:
        """How often a factor is applied before the next one is made."""

    def resolvent(self, v: Floats, killing: Floats) -> Callable[[Floats], Floats]:
        """u with M u = b for any b; raises a ConvergenceError where that is beyond floats."""


def inverse_iteration(problem: Problem, v: Floats, tol: float, inverter: Inverter, max_steps: int) -> Attempt:
    """Iterate until gap <= tol, until that is out of sight, or max_steps; the best v on the way."""
    r, lo, hi = problem.residual(v)
    best, step, waited, gain = Attempt(v, lo, hi, 0), 0, 0, inf
    while step < max_steps and waited < _FRUITLESS_STEPS and best.gap > tol and not limited_by_rounding(r, lo, hi, tol):
        found = _step(problem, v, r, lo, inverter)
        if found is None:
            break
        before, gain = gain, found[2] - lo
        v, r, lo, hi = found
        closing = hi - lo <= best.gap / 2 or (gain <= _SETTLED * before and before > 0.0)
        step, waited = step + 1, 0 if closing else waited + 1
        best = Attempt(v, lo, hi, step) if hi - lo < best.gap else replace(best, steps=step)
    return best


def _step(problem: Problem, v: Floats, r: Floats, lo: float, inverter: Inverter) -> _Place | None:
    """The better of the two loads; None where they are beyond floats."""
    u = np.ones_like(v)
    with np.errstate(all="ignore"):  # what is beyond floats shows in _positive
        try:
            solve = inverter.resolvent(v, np.expm1(np.minimum(r - lo, _STEEPEST)))
        except ConvergenceError:
            return None
        tails = solve((v == v.min()).astype(np.float64))
        for _ in range(inverter.repeats):
            u = solve(u)
            u /= u.max()
    if not (_positive(u) and _positive(tails)):
        return None
    place, other = (problem.smoothed(to - to.min()) for to in (v - np.log(u), v - np.log(tails)))
    return other if other[3] - other[2] <= _FAR_BETTER * (place[3] - place[2]) else place


def _positive(u: Floats) -> bool:
    return bool(u.min() > 0.0 and u.max() < np.inf)
