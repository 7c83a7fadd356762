"""Choose a method from cheap measurements, and fall back when the choice was wrong.

1. A short run of power steps. It solves fast-mixing models outright, gives every other method a sensible start, and
   measures the contraction m per step, hence the steps log(gap/tol) / log(1/m) that finishing would take. The fast
   modes go first, so that this is a lower estimate. Where even three times as many are few, they are taken.
2. Otherwise the fill of a sparse elimination is counted (no numbers are computed): what a direct method costs is then
   known, in multiply-adds. If power steps still seem cheaper, some more of them measure m again: where they now
   predict more steps than before, they will again, and the prediction is raised by as much once more.
3. The methods follow in order of cost, each from the best v so far. One whose cost was guessed (power steps, Krylov)
   gets no more work than a method whose cost is known would take: a wrong guess at most doubles the bill. The chain
   ends with power steps up to a generous limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log, sqrt

from lsmdp.arrays import Floats
from lsmdp.solvers.dense import LIMIT, Dense, factor_work
from lsmdp.solvers.direct import Direct
from lsmdp.solvers.krylov import BASIS, Krylov, product_work
from lsmdp.solvers.power import Power
from lsmdp.solvers.problem import (
    Attempt,
    Method,
    Problem,
    exhausted,
)

FIRST_LOOK = 20  # power steps of the first run
SECOND_LOOK = 80  # and of the second, where much depends on it
PATIENCE = 130  # power steps that, times OPTIMISM, are cheaper than planning the elimination of a large model
OPTIMISM = 3.0  # the fast modes go first: the contraction seen early is better than the one that matters
NEWTON_STEPS = 10  # a typical solve from far away;
NEWTON_STEPS_NEAR = 2  # and from a gap below
NEAR = 1e-2
INVERSE_STEPS = 4  # of inverse iteration, from wherever
MANY = 1e9  # power steps beyond all patience


@dataclass(frozen=True)
class Auto:
    """The default: measure, choose, fall back."""

    name = "auto"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """The best attempt of the chain; its ``how`` names the methods that led there."""
        trail = _Trail(problem, tol, v)
        steps = trail.predict(trail.follow(Power(FIRST_LOOK)).rate)
        if not trail.done and steps <= PATIENCE:
            steps = trail.predict(trail.follow(Power(int(OPTIMISM * steps) + FIRST_LOOK)).rate)
        known, power_steps = [] if trail.done else _known(problem, trail), steps
        if known and SECOND_LOOK < OPTIMISM * steps < known[0][0] / problem.P.nnz:
            again = trail.predict(trail.follow(Power(SECOND_LOOK)).rate)
            power_steps = again * max(1.0, again / steps)
        for method in [] if trail.done else _by_cost(problem, steps, power_steps, trail):
            if not trail.done:
                trail.follow(method)
        return replace(trail.attempt, story=tuple(trail.story))


class _Trail:
    """The best attempt so far, and how it came about."""

    def __init__(self, problem: Problem, tol: float, v: Floats) -> None:
        self.problem, self.tol = problem, tol
        self.attempt = Attempt(v, -inf, inf, 0)
        self.names: list[str] = []
        self.story: list[str] = []
        self.done = False

    def predict(self, rate: float) -> float:
        """Power steps to the end at this contraction."""
        steps = min(log(self.attempt.gap / self.tol) / -log(rate), MANY) if rate < 1.0 else MANY
        if not self.done and steps < MANY:
            self.story.append(f"They shrink the gap by {rate:.4f} each: at least {steps:,.0f} more would be needed.")
        elif not self.done:
            self.story.append("They do not shrink the gap yet.")
        return steps

    def follow(self, method: Method) -> Attempt:
        T = self.problem.lmdp.temperature
        latest = method.run(self.problem, self.attempt.v, self.tol)
        if latest.steps and self.names[-1:] != [method.name]:
            self.names.append(method.name)
        if latest.steps:
            spent = f"{latest.steps:,} steps ({latest.work:,.0f} products with P)"
            self.story.append(f"{method.name}: {spent}, to a gap of {latest.gap * T:.2g}.")
        better = latest if latest.gap < self.attempt.gap else self.attempt
        steps = self.attempt.steps + latest.steps
        work = self.attempt.work + latest.work
        self.attempt = Attempt(better.v, better.lo, better.hi, steps, how=" -> ".join(self.names), work=work)
        self.done = better.gap <= self.tol or exhausted(*self.problem.residual(better.v), self.tol)
        return latest


def _rounds(trail: _Trail) -> int:
    return NEWTON_STEPS if trail.attempt.gap > NEAR else NEWTON_STEPS_NEAR


def _known(problem: Problem, trail: _Trail) -> list[tuple[float, Method]]:
    """Methods whose cost is known, with it, the cheapest first."""
    known: list[tuple[float, Method]] = []
    if problem.plan.entries is not None:
        known.append((min(_rounds(trail), INVERSE_STEPS) * problem.plan.work, Direct()))
    if problem.n <= LIMIT:
        known.append((_rounds(trail) * factor_work(problem.n), Dense()))
    return sorted(known, key=lambda cost: cost[0])


def _by_cost(problem: Problem, steps: float, power_steps: float, trail: _Trail) -> list[Method]:
    """The methods that are worth trying after the first look, cheapest first, and power without limit at the end."""
    entries = float(problem.P.nnz)
    rounds = _rounds(trail)
    known = _known(problem, trail)
    allowed = min((cost for cost, _ in known), default=inf)
    # a Krylov space of dimension k does the work of k^2 power steps on a diffusive chain
    products = rounds * max(BASIS, 4 * sqrt(steps))
    product = product_work(problem)
    guessed: list[tuple[float, Method]] = [
        (
            OPTIMISM * power_steps * entries,
            Power(int(min(2 * power_steps + FIRST_LOOK, Power.max_steps, allowed / entries))),
        ),
        (products * product, Krylov(max_products=int(min(allowed / product, Krylov.max_products)))),
    ]
    ordered = sorted(known + guessed, key=lambda cost: cost[0])
    trail.story.append(
        "Predicted cost, in products with P: "
        + ", ".join(f"{method.name} {cost / entries:,.0f}" for cost, method in ordered)
        + "."
        + ("" if problem.plan.entries is not None else " An elimination would fill up.")
    )
    return [method for _, method in ordered] + [Direct(), Krylov(), Power()]
