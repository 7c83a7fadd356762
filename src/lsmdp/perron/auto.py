"""Choose a method from cheap measurements, and fall back when the choice was wrong.

1. A short run of power steps. It solves fast-mixing models outright, gives every other method a sensible start, and
   measures the contraction m per step, hence the steps log(gap/tol) / log(1/m) that finishing would take.
2. If those are too many, the fill of a sparse elimination is counted (no numbers are computed).
3. The cheapest method in multiply-adds goes first, the others follow in order of cost, each from the best v so far. The
   chain ends with power steps up to a generous limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, sqrt

from lsmdp.arrays import Floats
from lsmdp.perron.dense import LIMIT, Dense
from lsmdp.perron.direct import Direct
from lsmdp.perron.krylov import Krylov
from lsmdp.perron.power import Power
from lsmdp.perron.problem import Attempt, Method, Problem, exhausted

FIRST_LOOK = 20  # power steps of the first run
PATIENCE = 400  # power steps that are cheaper than planning the elimination of a large model
SMALL = 2_000  # states up to which that plan is a matter of milliseconds
OPTIMISM = 3.0  # the fast modes go first: the contraction seen early is better than the one that matters
NEWTON_STEPS = 10  # a typical solve from far away;
NEWTON_STEPS_NEAR = 2  # and from a gap below
NEAR = 1e-2
BLAS = 8.0  # how much faster LAPACK multiplies than a sparse loop
MANY = 1e9  # power steps beyond all patience
KRYLOV_BASIS = 50  # vectors that GMRES keeps


@dataclass(frozen=True)
class Auto:
    """The default: measure, choose, fall back."""

    name = "auto"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """The best attempt of the chain; its ``how`` names the methods that led there."""
        trail = _Trail(problem, tol, v)
        rate = trail.follow(Power(FIRST_LOOK)).rate
        for method in [] if trail.done else _by_cost(problem, trail.attempt.gap, rate, tol):
            if not trail.done:
                trail.follow(method)
        return trail.attempt


class _Trail:
    """The best attempt so far, and how it came about."""

    def __init__(self, problem: Problem, tol: float, v: Floats) -> None:
        self.problem, self.tol = problem, tol
        self.attempt = Attempt(v, -inf, inf, 0)
        self.names: list[str] = []
        self.done = False

    def follow(self, method: Method) -> Attempt:
        latest = method.run(self.problem, self.attempt.v, self.tol)
        if latest.steps and self.names[-1:] != [method.name]:
            self.names.append(method.name)
        better = latest if latest.gap < self.attempt.gap else self.attempt
        steps = self.attempt.steps + latest.steps
        self.attempt = Attempt(better.v, better.lo, better.hi, steps, how=" -> ".join(self.names))
        self.done = better.gap <= self.tol or exhausted(*self.problem.residual(better.v), self.tol)
        return latest


def _by_cost(problem: Problem, gap: float, rate: float, tol: float) -> list[Method]:
    """The methods that are worth trying after the first look, cheapest first, and power without limit at the end."""
    entries = float(problem.P.nnz)
    steps = log(gap / tol) / -log(rate) if rate < 1.0 else MANY
    predicted = Power(min(int(2 * min(steps, MANY)) + FIRST_LOOK, Power.max_steps))
    rounds = NEWTON_STEPS if gap > NEAR else NEWTON_STEPS_NEAR
    # a Krylov space of dimension k does the work of k^2 power steps on a diffusive chain
    products = rounds * max(KRYLOV_BASIS, 4 * sqrt(min(steps, MANY)))
    costs: list[tuple[float, Method]] = [
        (OPTIMISM * steps * entries, predicted),
        (products * (entries + KRYLOV_BASIS * problem.n), Krylov()),
    ]
    planned = steps > PATIENCE or problem.n <= SMALL or problem.has_plan
    if planned and problem.plan.entries is not None:
        costs.append((rounds * problem.plan.flops, Direct()))
    if problem.n <= LIMIT:
        costs.append((rounds * problem.n**3 / 3 / BLAS, Dense()))
    return [method for _, method in sorted(costs, key=lambda cost: cost[0])] + [Direct(), Power()]
