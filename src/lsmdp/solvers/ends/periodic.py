"""Costs that come again every day: the best policy for each slot, by passes over the day.

F = B_1 ... B_D takes the values at the end of a day to those at its beginning. v + D lambda = Fv is solved by v <- Fv,
a pass over a day, which shrinks the span of Fv - v as fast as a day mixes. On large grids that is slow: what is left is
smooth, and a pass hardly changes it. There Newton's method takes over, v <- v + d with

    (I - Q_1 ... Q_D) d = (Fv - v) - const,

by GMRES, since the product of a day's kernels is no sparse matrix. With a reference state added to it, the matrix has
an inverse and the constant comes out by itself. The preconditioner uses one factor: let Qbar belong to the mean cost.
On smooth functions I - Qbar^D = (I - Qbar)(1 + ... + Qbar^{D-1}) is close to D (I - Qbar), and on rough ones to I; so b
+ (I - Qbar)^{-1} b/D is close to the solution on both. A step may widen the bounds for the moment, though not without
limit: then it is not taken. Where P is periodic, passes would go in circles: then half of each change is taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.factor import Elimination, pinned
from lsmdp.arrays import Floats, like, mean, read_only
from lsmdp.certificates.backward import DayCertificate, day_back
from lsmdp.chain import period
from lsmdp.ends import CostTable, Periodic
from lsmdp.errors import AssumptionError, ConvergenceError
from lsmdp.model import LMDP
from lsmdp.solution import Solution
from lsmdp.values import Cycle

_MOST_DAYS = 20_000  # At most this many passes over a day are made; the best day is then judged by its bounds.
# A pass that leaves no more of the gap than this is followed by another one, not by a step of Newton's method.
_QUICK_PASS = 0.3
# After the first step of Newton's method that failed, twice this many passes follow, and each failure doubles them.
_FIRST_WAIT = 3
# A step may widen the bounds by this factor, since B is concave and a long step overshoots at first.
_WIDENING_OF_A_STEP = 10.0
# GMRES stops at this relative residual, or after so many products; a step is judged by its gap alone.
_ROUGH_TOLERANCE, _MOST_PRODUCTS = 1e-3, 100


def solve_periodic(
    lmdp: LMDP, slots: CostTable, tol: float, start: Floats | None, average: Callable[[LMDP, Floats, float], Solution]
) -> Cycle:
    """The best policy for each slot; ``average`` solves for the mean cost, to a given width."""
    began = time.perf_counter()
    lmdp.require_irreducible()
    steps = period(lmdp.P, irreducible=True)
    if (common := math.gcd(steps, slots.count)) > 1:
        raise AssumptionError(
            f"P has the period {steps} and the day has {slots.count} slots: from a given state at a given time of day "
            f"only one class of states in {common} can ever be met at that time, so that there is no one average cost. "
            "Make P aperiodic with lazy(0.01) (--lazy 0.01)."
        )
    costs = slots.block(0, slots.count)
    scale = max(lmdp.temperature, float(np.abs(costs).max()))
    mean_cost = read_only(costs.mean(axis=0))
    story = []
    if start is None:
        try:
            found = average(lmdp, mean_cost, 1e-3 * scale)
            v = found.v
            story.append(
                f"The solution for the mean cost to start from ({found.solver}): {found.average_cost:.6g} a round."
            )
        except ConvergenceError as stuck:
            v = np.zeros(lmdp.n)
            story.append(f"The solution for the mean cost is beyond floats ({stuck}); the start is 0.")
    else:
        v = np.asarray(start - start.min())
    day, days, corrected = _days(lmdp, slots, v, tol, 0.5 if steps > 1 else 1.0)
    gap = day.bounds[1] - day.bounds[0]
    story.append(f"{days} passes over the day and {corrected} Newton steps, to a gap of {gap:.2g}.")
    word = "certified" if gap <= tol else "not certified"
    way = "" if gap <= tol else f" (asked: {tol:.2g}). Ask for a wider tol, or make P less sticky"
    return Cycle(
        lmdp=lmdp,
        slots=read_only(costs),
        end=Periodic(),
        values=read_only(day.values),
        bounds=day.bounds,
        certified=bool(gap <= tol),
        status=f"{word}: the average cost and the policies are optimal within {gap:.2g}{way}",
        solver="days -> Newton" if corrected else "days",
        iterations=days,
        seconds=time.perf_counter() - began,
        story=tuple(story),
    )


def _days(lmdp: LMDP, slots: CostTable, v: Floats, tol: float, share: float) -> tuple[DayCertificate, int, int]:
    """Passes and steps until the gap is small or only rounding is left; the best day, and how many of each."""
    day, days, taken, before, rest, factor = day_back(lmdp, slots, v), 1, 0, math.inf, 0, None
    best, wait = day, _FIRST_WAIT
    while days < _MOST_DAYS:
        if _gap(day) <= tol or float(np.ptp(day.change)) / slots.count <= 2.0 * day.rounding:
            break
        if rest == 0 and _gap(day) > _QUICK_PASS * before and lmdp.elimination_plan.entries is not None:
            factor = factor or _reference(lmdp, v)
            step = None if factor is None else _newton(lmdp, day, factor)
            stepped = day if step is None else day_back(lmdp, slots, _lowered(day.values[-1] + step))
            days, before = days + 1, _gap(day)
            if _gap(stepped) < _WIDENING_OF_A_STEP * _gap(day):
                day, taken = stepped, taken + 1
            else:
                rest = wait = 2 * wait
        else:
            rest, before = max(0, rest - 1), _gap(day)
            moved = day.values[-1] + share * (day.change - day.change.min())
            day, days = day_back(lmdp, slots, _lowered(moved)), days + 1
        best = day if _gap(day) < _gap(best) else best
    return best, days, taken


def _gap(day: DayCertificate) -> float:
    return day.bounds[1] - day.bounds[0]


def _lowered(v: Floats) -> Floats:
    return np.asarray(v - v.min())


def _reference(lmdp: LMDP, v: Floats) -> tuple[Elimination, Floats, int] | None:
    """I - Qbar factored, its law, and the state that it is pinned to; None where floats do not suffice."""
    state = int(v.argmin())
    try:
        return *pinned(lmdp.elimination_plan, sparse.policy_weights(lmdp.P, v, lmdp.temperature), state), state
    except ConvergenceError:
        return None


def _newton(lmdp: LMDP, day: DayCertificate, reference: tuple[Elimination, Floats, int]) -> Floats | None:
    """d with (I - Q_1 ... Q_D) d = change - const, to a few digits; None where GMRES has lost its way."""
    factor, mu, state = reference
    D, n = len(day.values) - 1, lmdp.n
    kernels = [like(lmdp.P, sparse.policy_weights(lmdp.P, later, lmdp.temperature)) for later in day.values[1:]]

    def product(d: Floats) -> Floats:
        through = np.ravel(d)
        for Q in reversed(kernels):
            through = Q @ through
        return np.ravel(d) - through + float(np.ravel(d)[state])

    def guess(b: Floats) -> Floats:
        const = mean(mu, np.ravel(b))
        rough = np.ravel(b) - const
        return np.asarray(rough + factor.solve(rough) / D + const)

    from scipy.sparse.linalg import LinearOperator, gmres

    A, M = (LinearOperator((n, n), matvec=work, dtype=np.float64) for work in (product, guess))
    with np.errstate(all="ignore"):
        d, _ = gmres(A, day.change - day.change.mean(), rtol=_ROUGH_TOLERANCE, restart=_MOST_PRODUCTS, maxiter=1, M=M)
    return d if np.isfinite(d).all() else None
