"""``solve``: run a method, then judge what it returns by the certificate alone.

What goes in is a model, a cost, an end, a width for the bounds and, perhaps, a method and a v to start from. What comes
out is a :class:`~lsmdp.Solution`. Bounds that are too wide are an error, unless ``throw=False`` allows them. Other
ends than the long-run average are passed on to ``ends/``.
"""

from __future__ import annotations

import time
from typing import Any, overload

import numpy as np

from lsmdp._core import sparse
from lsmdp.arrays import (
    Floats,
    as_cost,
    as_value,
    read_only,
    real,
)
from lsmdp.ends import Average, Discounted, Goal, Horizon, Periodic, require_range
from lsmdp.errors import ConvergenceError, SpecError, told
from lsmdp.model import LMDP, require_model
from lsmdp.solution import Solution
from lsmdp.solvers.auto import Auto
from lsmdp.solvers.ends import solve_end
from lsmdp.solvers.problem import SHARE_FOR_THE_METHOD, Method, Problem
from lsmdp.values import Cycle, Schedule, Values

# A start is of use if its gap is at most this many times that of v = 0, which is about the span of c and the unit of
# the control cost.
_USEFUL_GAP = 10.0
# A start that spans no more than this, in units of the temperature, does no harm whatever it is.
_HARMLESS_SPAN = 100.0


_AVERAGE = Average()  # The long-run average is what is solved for where no end is given.
# Where nobody gives tol, bounds on averages may be this width apart, and others this share of the largest value, for
# which rounding leaves room.
_USUAL_WIDTH, _USUAL_SHARE = 1e-10, 1e-9


@overload
def solve(
    lmdp: LMDP,
    c: Any,
    end: Average = ...,
    *,
    tol: float | None = ...,
    solver: Method | None = ...,
    start: Any = ...,
    throw: bool = ...,
) -> Solution: ...
@overload
def solve(
    lmdp: LMDP, c: Any, end: Goal | Discounted, *, tol: float | None = ..., start: Any = ..., throw: bool = ...
) -> Values: ...
@overload
def solve(
    lmdp: LMDP, c: Any, end: Horizon, *, tol: float | None = ..., start: Any = ..., throw: bool = ...
) -> Schedule: ...
@overload
def solve(
    lmdp: LMDP, c: Any, end: Periodic, *, tol: float | None = ..., start: Any = ..., throw: bool = ...
) -> Cycle: ...


def solve(
    lmdp: LMDP,
    c: Any,
    end: Average | Goal | Discounted | Horizon | Periodic = _AVERAGE,
    *,
    tol: float | None = None,
    solver: Method | None = None,
    start: Any = None,
    throw: bool = True,
) -> Solution | Values | Schedule | Cycle:
    """The optimum of ``lmdp`` under the cost c, between bounds, and a policy that is as good.

    c is one number per state, in their order or by name (a dict, a pandas Series: inputs/labels.py). ``end`` says what
    is to be small: the long-run average (the default), the cost until a goal, a discounted sum, the sum over a horizon,
    or the average of costs that come again every day (ends.py). For the last two, c has a row for each round. ``tol``
    is how far apart the bounds may be: for averages a width (1e-10), and for sums a share of the largest value (1e-9).
    ``start`` is a value function or an earlier solution to begin from. Where the bounds stay wider, a
    :class:`ConvergenceError` carries the best solution so far; with ``throw=False`` it is returned, and its
    ``certified`` is False. For averages P must be irreducible (an AssumptionError names the states that are cut off); a
    periodic P is fine there. ``solver`` chooses the method for the average.
    """
    require_model(lmdp)
    if not isinstance(end, Average):
        if solver is not None:
            raise SpecError("solver= is for the long-run average. Leave it out: other ends choose their own method.")
        share = _USUAL_WIDTH if isinstance(end, Periodic) else _USUAL_SHARE
        wanted = _as_tol(share if tol is None else tol)
        return solve_end(lmdp, c, end, wanted, start, _to_width, throw=throw)
    return _average(lmdp, c, _as_tol(_USUAL_WIDTH if tol is None else tol), solver, start, throw)


def _to_width(lmdp: LMDP, c: Floats, width: float) -> Solution:
    """The average-cost problem that another end starts from, or is decided by."""
    return _average(lmdp, c, width, None, None, False)


def _as_tol(tol: float) -> float:
    number = real(tol)
    if not 0.0 < number < float("inf"):
        raise SpecError(
            f"tol is {told(tol)}. It says how wide the bounds may be and must be positive, such as tol=1e-8."
        )
    return number


def _as_method(solver: Any) -> Method:
    if isinstance(solver, type) or not hasattr(solver, "run"):
        what = f"the class {solver.__name__}" if isinstance(solver, type) else told(solver)
        raise SpecError(
            f"solver is {what}, not a method. Write solver=lsmdp.Power(), or another: lsmdp.Auto(), lsmdp.Direct(), "
            "lsmdp.Dense() or lsmdp.Krylov()."
        )
    method: Method = solver
    return method


def _average(lmdp: LMDP, c: Any, tol: float, solver: Method | None, start: Any, throw: bool) -> Solution:
    began = time.perf_counter()
    c = as_cost(c, lmdp.names)
    T = lmdp.temperature
    require_range(float(np.abs(c).max()), T)
    lmdp.require_irreducible()
    method = Auto() if solver is None else _as_method(solver)
    problem = Problem(lmdp, read_only(c / T))
    attempt = method.run(problem, _start(start, problem), SHARE_FOR_THE_METHOD * tol / T)
    v = read_only(T * attempt.v - T * attempt.v.min())
    r, lo, hi = sparse.residual(lmdp.P, c, v, T, lmdp.slack(c))
    certified = hi - lo <= tol
    solution = Solution(
        lmdp=lmdp,
        c=c,
        v=v,
        bounds=(lo, hi),
        certified=certified,
        status=_status(hi - lo, tol, (hi - lo) - float(np.ptp(r))),
        solver=attempt.how or method.name,
        iterations=attempt.steps,
        seconds=time.perf_counter() - began,
        story=attempt.story or (f"{method.name}: {attempt.steps} steps to a gap of {attempt.gap * T:.2g}.",),
    )
    if throw and not certified:
        raise ConvergenceError(f"{solution.status} (solver: {solution.solver})", solution)
    return solution


def _start(start: Solution | Any, problem: Problem) -> Floats:
    """Where to begin: v / T of what the user has, unless it proves much less than v = 0, whose gap is span(c)."""
    cold = np.zeros(problem.n)
    if start is None:
        return cold
    v = start.v if isinstance(start, Solution | Values | Schedule | Cycle) else as_value(start, problem.lmdp.names)
    if v.size != problem.n:
        raise SpecError(f"start has {v.size} values, but the model has {problem.n} states.")
    with np.errstate(over="ignore", invalid="ignore"):
        warm = np.asarray((v - v.min()) / problem.lmdp.temperature)
    if warm.max() <= _HARMLESS_SPAN:
        return warm
    _, lo, hi = problem.residual(warm)
    return warm if hi - lo <= _USEFUL_GAP * (1.0 + float(np.ptp(problem.c))) else cold


def _status(gap: float, tol: float, rounding: float) -> str:
    if gap <= tol:
        return f"certified: the average cost and the policy are optimal within {gap:.2g} (asked: {tol:.2g})"
    limit = f"; rounding in double precision makes up {rounding:.2g} of it" if rounding > tol / 2 else ""
    return (
        f"not certified: the bounds on the average cost stayed {gap:.2g} apart (asked: {tol:.2g}){limit}. "
        "Ask for a wider tol (--tol) or, in Python, start from the solution of a similar problem"
    )
