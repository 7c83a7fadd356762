"""How the equations of a goal and of a discount are solved: sweeps first, elimination where they are slow.

Both are v = Bv with a monotone, concave B whose policies are killed sooner or later. In: these equations, a v to begin
with, and the width that is wanted. Out: the best v, with the bounds that it proves. The engine knows three moves.

*Sweeps* over the states in ascending order of v and back, each with the newest values (Gauss-Seidel). What is cheap to
reach comes first, and values flow outward from there: where the policy has a direction, a few sweeps do. They need no
memory and no plan.

*Newton's method*: v <- v + d with (I - Q_v) d = r, by one elimination without subtraction. From a v that is too high
it decreases monotonically to the solution. The factor serves for several steps as long as each takes off nine tenths
of the residual; far from the solution, a few sweeps after each step wear down the cliffs that it leaves.

*The leap*. The equations of a goal are linear in e^{-v/T} (goal.py), so that one step solves them. Its factor serves
Newton's method as well.

| what the first sweeps show | what is done |
|---|---|
| at their rate, few more are needed | they are taken |
| many more, and the elimination is affordable | Newton's method |
| many more, and it is not | sweeps up to a limit |

Rounding has the last word: nothing is done about a residual of a few times its own rounding error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import inf, log
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from lsmdp._core.factor import Plan
from lsmdp.arrays import Floats
from lsmdp.certificates.first_exit import FirstExit, Spread
from lsmdp.certificates.pairs import Discount
from lsmdp.errors import ConvergenceError

SWEEPS_OF_A_GROUP = 5  # So many double sweeps are between two looks at the residual, so that looking costs a tenth.
_FEW_GROUPS = 10  # More groups than this take longer than to plan an elimination, which is a microsecond for each move.
_FEW_GROUPS_FROM_A_START = 5  # A given start is allowed fewer groups: the solve that it comes from has left its plan.
_MOST_GROUPS = 2000  # So many groups are tried where nothing else is left; what comes out is judged by its bounds.
_MOST_FACTORS = 60  # At most this many factors are made; a hard problem takes twenty.
_ROUNDING_ERRORS_OF_ZERO = 4.0  # A residual of so many times its own rounding error is taken for 0.
_GOOD_STEP = 0.1  # A step with an old factor may leave this share of the residual, or a new factor is made.
# A step longer than this, in units of the temperature, leaves cliffs in v, which some more sweeps smooth.
_STEP_FROM_A_CLIFF = 1e-3
# So many double sweeps follow a long step, which saves a quarter of the factors on a grid, where they are dear, at the
# price of half as many again on a ring, where they are cheap.
_SWEEPS_AFTER_A_LONG_STEP = 4


class Factored(Protocol):
    """A matrix that is ready for solves."""

    def solve(self, b: Floats) -> Floats:
        """d with (I - Q_v) d = b."""


ExitOrDiscount = TypeVar("ExitOrDiscount", FirstExit, Discount)


@dataclass(frozen=True, eq=False)
class SettledEquations(ABC, Generic[ExitOrDiscount]):
    """The equations, and how to move towards their solution."""

    problem: ExitOrDiscount

    @property
    def temperature(self) -> float:
        """The unit of v."""
        return self.problem.lmdp.temperature

    @property
    def plan(self) -> Plan:
        """How the elimination would go; worked out when it is first asked for, and kept with the model."""
        return self.problem.lmdp.elimination_plan

    def residual(self, v: Floats) -> tuple[Floats, Floats]:
        """r = Bv - v, and a bound on the rounding of each entry."""
        return self.problem.residual(v)

    @abstractmethod
    def size(self, r: Floats) -> float:
        """How large a residual is, for the certificate."""

    @abstractmethod
    def swept(self, v: Floats, times: int) -> Floats:
        """v after so many double sweeps."""

    @abstractmethod
    def factored(self, v: Floats) -> Factored:
        """I - Q_v, factored."""

    def relaxed(self, v: Floats) -> Floats:
        """v after a group of what is tried before any factor: of double sweeps, unless there is something better."""
        return self.swept(v, SWEEPS_OF_A_GROUP)

    def limited(self, v: Floats) -> Floats:
        """v lowered to what is known to be above the solution, where anything is."""
        return v

    def leap(self, v: Floats) -> tuple[Floats, Factored] | None:  # noqa: ARG002 - the name of what others take
        """The solution in one step and I - Q_v there, factored, where there is such a step."""
        return None


@dataclass
class Trail:
    """What was done and why; the last factor serves the certificate as well."""

    v: Floats
    given: bool = False  # whether v is what somebody has given: then the first sweeps tell how fast they are
    steps: int = 0
    story: list[str] = field(default_factory=list)
    how: list[str] = field(default_factory=list)
    spread: Spread | None = None

    def tell(self, name: str, sentence: str) -> None:
        """One more thing done."""
        if self.how[-1:] != [name]:
            self.how.append(name)
        self.story.append(sentence)


def settle(problem: SettledEquations[Any], trail: Trail, enough: float = 0.0) -> Trail:
    """Solve to a residual of ``enough``, or as far as rounding lets us; the certificate is the caller's business."""
    if _sweeps(problem, trail, _FEW_GROUPS_FROM_A_START if trail.given else _FEW_GROUPS, enough):
        return trail
    if problem.plan.entries is None:
        trail.story.append("An elimination would fill up: sweeps go on.")
        _sweeps(problem, trail, _MOST_GROUPS, enough)
        return trail
    try:
        _newton(problem, trail)
    except ConvergenceError as stuck:
        trail.story.append(f"The elimination stopped: {stuck}")
        _sweeps(problem, trail, _MOST_GROUPS, enough)
    return trail


def _sweeps(problem: SettledEquations[Any], trail: Trail, most: int, enough: float) -> bool:
    """Sweep as long as at most so many groups seem to be needed; whether that was enough."""
    v, taken, before = trail.v, 0, inf
    size, floor = _seen(problem, v, enough)
    best = (size, v)
    while not size <= floor and taken < most:
        v = problem.relaxed(v)
        taken += 1
        before, (size, floor) = size, _seen(problem, v, enough)
        if size < best[0]:
            best = (size, v)
        rate = size / before if np.isfinite(before) and before > 0.0 else 1.0
        needed = _needed(size, floor, rate)
        if (taken > 1 or trail.given) and taken + needed > most:
            break
    trail.v, trail.steps = best[1], trail.steps + 2 * SWEEPS_OF_A_GROUP * taken
    if taken:
        trail.tell("sweeps", f"{2 * SWEEPS_OF_A_GROUP * taken:,} sweeps, to a residual of {best[0]:.2g}.")
    return best[0] <= floor


def _seen(problem: SettledEquations[Any], v: Floats, enough: float) -> tuple[float, float]:
    """The size of the residual of v, and the size that will do; v = inf is as far away as can be."""
    r, e = problem.residual(v)
    size = problem.size(r)
    return (size, max(enough, _ROUNDING_ERRORS_OF_ZERO * float(e.max()))) if np.isfinite(size) else (inf, 0.0)


def _needed(size: float, floor: float, rate: float) -> float:
    """Groups of sweeps to the floor at this rate."""
    if size <= floor:
        return 0.0
    return log(size / floor) / -log(rate) if 0.0 < rate < 1.0 and floor > 0.0 else inf


def _newton(problem: SettledEquations[Any], trail: Trail) -> None:
    factor: Factored | None = None
    v, factors, solves = trail.v, 0, 0
    if (leapt := problem.leap(v)) is not None:
        (v, factor), factors, trail.steps = leapt, 1, trail.steps + 1
        trail.tell("linear", "One elimination of the linear equation for e^{-v/T}, scaled by a bound from below.")
    r, e = problem.residual(v)
    size = problem.size(r)
    for _ in range(_MOST_FACTORS):
        if factor is None:
            factor, factors = problem.factored(v), factors + 1
        trail.spread, before = factor.solve, inf
        while size <= _GOOD_STEP * before or before == inf:
            d = factor.solve(r)
            if not np.isfinite(d).all():
                raise ConvergenceError("a step of Newton's method is beyond floats.")
            new, solves, before = problem.limited(v + d), solves + 1, size
            if float(np.abs(d).max()) > _STEP_FROM_A_CLIFF * problem.temperature:
                new = problem.swept(new, _SWEEPS_AFTER_A_LONG_STEP)
            r, e = problem.residual(new)
            size, v = problem.size(r), new
            if size <= _ROUNDING_ERRORS_OF_ZERO * float(e.max()):
                break
        if size <= _ROUNDING_ERRORS_OF_ZERO * float(e.max()) or (
            factors > 1 and size >= before and size <= 1e3 * float(e.max())
        ):
            break
        factor = None
    trail.v, trail.steps = v, trail.steps + solves
    trail.tell("Newton", f"{solves} Newton steps with {factors} factors, to a residual of {size:.2g}.")
