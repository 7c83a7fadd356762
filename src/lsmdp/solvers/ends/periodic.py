"""Costs that come again every day: the best policy for each slot, by passes over the day.

F = B_1 ... B_D takes the values at the end of a day to those at its beginning, and v + D lambda = Fv is solved by v <-
Fv, a pass over a day, which shrinks the span of Fv - v as fast as a day mixes. On large grids that is slow: what is
left is smooth, and a pass hardly changes it. There the day's kernel is close to Qbar^D, where Qbar belongs to the
average of the costs, and on smooth functions I - Qbar^D = (I - Qbar)(1 + ... + Qbar^{D-1}) is close to D (I - Qbar). So
after each pass v is moved by d with (I - Qbar) d = (Fv - v - const)/D, one solve with one factor; the next pass wears
down the rest. A correction that does not help is not made again. Where P is periodic, passes would go in circles: then
half of each change is taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.factor import pinned
from lsmdp.arrays import Floats, mean, read_only
from lsmdp.certificates import Day, day_back
from lsmdp.chain import period
from lsmdp.ends import CostTable, Periodic
from lsmdp.errors import AssumptionError, ConvergenceError
from lsmdp.model import LMDP
from lsmdp.solution import Solution
from lsmdp.values import Cycle

MOST_DAYS = 20_000  # passes over a day
HELPFUL = 0.7  # what a pass with a correction may leave of the gap, or corrections are given up
TRIED = 3  # passes with corrections that must fail before that


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
            f"only every {common}th state can ever be met at that time, so that there is no one average cost. Make P "
            "aperiodic with lazy(0.01) (--lazy 0.01)."
        )
    costs = slots.block(0, slots.count)
    scale = max(lmdp.temperature, float(np.abs(costs).max()))
    mean_cost = read_only(costs.mean(axis=0))
    story = []
    if start is None:
        found = average(lmdp, mean_cost, 1e-3 * scale)
        v = found.v
        story.append(
            f"The solution for the mean cost to start from ({found.solver}): {found.average_cost:.6g} a round."
        )
    else:
        v = np.asarray(start - start.min())
    correct = _correction(lmdp, v, slots.count)
    day, days, corrected = _days(lmdp, slots, v, tol, correct, 0.5 if steps > 1 else 1.0)
    gap = day.bounds[1] - day.bounds[0]
    story.append(f"{days} passes over the day, {corrected} of them with a correction, to a gap of {gap:.2g}.")
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
        solver="days with corrections" if corrected else "days",
        iterations=days,
        seconds=time.perf_counter() - began,
        story=tuple(story),
    )


def _days(lmdp: LMDP, slots: CostTable, v: Floats, tol: float, correct: Any, share: float) -> tuple[Day, int, int]:
    """Passes until the gap is small or only rounding is left; the best day, how many there were, how many corrected."""
    best, before, corrected, failed = day_back(lmdp, slots, v), math.inf, 0, 0
    day, days = best, 1
    while days < MOST_DAYS:
        gap = day.bounds[1] - day.bounds[0]
        if gap <= tol or float(np.ptp(day.change)) / slots.count <= 2.0 * day.rounding:
            break
        failed += correct is not None and gap > HELPFUL * before
        if failed >= TRIED:
            correct = None
        before = gap
        v = np.asarray(day.values[-1] + share * (day.change - day.change.min()))
        if correct is not None:
            v = v + correct(day.change)
            corrected += 1
        v -= v.min()
        day, days = day_back(lmdp, slots, v), days + 1
        if day.bounds[1] - day.bounds[0] < best.bounds[1] - best.bounds[0]:
            best = day
        elif correct is None and days > 10 and gap > 10.0 * (best.bounds[1] - best.bounds[0]):
            break
    return best, days, corrected


def _correction(lmdp: LMDP, v: Floats, D: int) -> Callable[[Floats], Floats] | None:
    """change -> d with (I - Qbar) d = (change - const)/D; None where an elimination would fill up."""
    if lmdp.elimination_plan.entries is None:
        return None
    weights = sparse.policy_weights(lmdp.P, v, lmdp.temperature)
    try:
        factor, mu = pinned(lmdp.elimination_plan, weights, int(v.argmin()))
    except ConvergenceError:
        return None
    return lambda change: factor.solve((change - mean(mu, change)) / D)
