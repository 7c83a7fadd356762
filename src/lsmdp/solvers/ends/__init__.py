"""Problems that end, or whose costs change with the round: one file for each end of ``lsmdp.ends``.

``solve_end`` takes a model, a cost and an end and calls the file for it:

- :mod:`~lsmdp.solvers.ends.goal`: the least cost until a goal is reached (compose.py: several such solutions added up);
- :mod:`~lsmdp.solvers.ends.discounted`: discounted costs;
- :mod:`~lsmdp.solvers.ends.horizon`: a given number of rounds, each with its own cost;
- :mod:`~lsmdp.solvers.ends.periodic`: costs that come again every day.

The first two share the engine of settle.py. All of them end with the bounds of ``lsmdp.certificates``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp.arrays import Floats, as_cost, as_value
from lsmdp.ends import CostTable, Discounted, End, Goal, Horizon, Periodic, require_range
from lsmdp.errors import ConvergenceError, SpecError
from lsmdp.model import LMDP
from lsmdp.solution import Solution
from lsmdp.solvers.ends.compose import compose
from lsmdp.solvers.ends.discounted import solve_discounted
from lsmdp.solvers.ends.goal import Decide, solve_goal
from lsmdp.solvers.ends.horizon import solve_horizon
from lsmdp.solvers.ends.periodic import solve_periodic
from lsmdp.values import Cycle, Schedule, Values, end_words

__all__ = ["compose", "solve_end"]


def solve_end(
    lmdp: LMDP, c: Any, end: End, tol: float, start: Any, average: Decide, *, throw: bool
) -> Values | Schedule | Cycle:
    """Solve for any end but the average; ``average`` solves for that, to a given width."""
    found: Values | Schedule | Cycle
    match end:
        case Goal():
            found = solve_goal(lmdp, _cost(lmdp, c), end, tol, _start(start, lmdp), average)
        case Discounted():
            v = _start(start, lmdp)
            usable = v is not None and np.isfinite(v).all()
            found = solve_discounted(lmdp, _cost(lmdp, c), end, tol, v if usable else None, average)
        case Horizon():
            found = solve_horizon(lmdp, CostTable.of(lmdp, c), end, tol)
        case Periodic():
            v = _start(start, lmdp)
            usable = v is not None and np.isfinite(v).all()
            found = solve_periodic(lmdp, CostTable.of(lmdp, c), tol, v if usable else None, average)
        case _:
            raise SpecError(
                f"the end is {end!r}. Give Average(), Goal(...), Discounted(...), Horizon(...) or Periodic()."
            )
    if throw and not found.certified:
        raise ConvergenceError(f"{end_words(end)}: {found.status}", found)
    return found


def _cost(lmdp: LMDP, c: Any) -> Floats:
    cost = as_cost(c, lmdp.names)
    require_range(float(np.abs(cost).max()), lmdp.temperature)
    return cost


def _start(start: Any, lmdp: LMDP) -> Floats | None:
    """The values of an earlier solution, or an array of values; infinite ones are allowed."""
    if start is None:
        return None
    if isinstance(start, Solution | Values | Schedule | Cycle):
        v = start.v
    else:
        given = np.asarray(start, dtype=np.float64) if isinstance(start, np.ndarray) else start
        v = given if isinstance(given, np.ndarray) else as_value(given, lmdp.names)
    if v.shape == (lmdp.n,) and np.isnan(v).any():
        x = int(np.flatnonzero(np.isnan(v))[0])
        raise SpecError(f"start has no value for {lmdp.name_of(x)} (nan). Give one number for each state.")
    if v.shape != (lmdp.n,):
        raise SpecError(f"start has {v.size} values, but the model has {lmdp.n} states. Give one number for each.")
    return np.asarray(v)
