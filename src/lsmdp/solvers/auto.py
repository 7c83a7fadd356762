"""Choose a method from cheap measurements, and fall back when the choice was wrong.

| the model | what is done |
|---|---|
| up to 1,000 states | power steps, or LAPACK where that is quicker; where LAPACK proves too little, as below |
| more, and they mix fast | power steps to the end |
| more, and they do not | the method of the least predicted cost, then the next, each from the best v so far |

*Up to 1,000 states* the plan of a sparse elimination costs more than it saves. A few power steps show by how much the
next ones will shrink the gap, and LAPACK (``Dense`` in factored.py) takes milliseconds for the rest.

*More states.* A short run of power steps solves fast-mixing models outright, gives every other method a sensible start,
and measures the contraction m per step, hence the steps log(gap/tol) / log(1/m) that finishing would take. Modes that
decay fast vanish first, so that this estimate is too low. Where even three times as many are few, they are taken.
Otherwise the fill of a sparse elimination is counted (no numbers are computed): what a direct method costs is then
known, in multiply-adds. If power steps still seem cheaper, some more of them measure m again. If these predict more
steps than the first did, a third run would predict still more: the prediction is multiplied by the same ratio again.

*In order of cost.* A method whose cost was guessed (power steps, Krylov) gets no more work than a method whose cost is
known would take: a wrong guess at most doubles the bill. The chain ends with power steps up to a generous limit.

The ``story`` of a solution tells all of this about the model at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log, sqrt

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.solvers.factored import MOST_STATES_WRITTEN_OUT, STATES_FOR_LAPACK, Dense, Direct, lapack_work
from lsmdp.solvers.krylov import VECTORS_OF_A_BASIS, Krylov, product_work
from lsmdp.solvers.power import Power
from lsmdp.solvers.problem import (
    NEVER,
    Attempt,
    Method,
    Problem,
    limited_by_rounding,
)

_FIRST_LOOK = 20  # The first run has so many steps: fast modes are gone after about ten, and ten more measure the rest.
_SECOND_LOOK = 80  # The second run has so many steps: it is made where they cost about as much as an elimination.
_STEPS_OF_A_CALL = 25  # So many predicted power steps, times _OPTIMISM, take as long as the mere calls of LAPACK.
_FEW_STEPS = 130  # So many power steps, times _OPTIMISM, are cheaper than to plan the elimination of a large model.
_OPTIMISM = 3.0  # The contraction seen early is better than the one that matters: predictions are multiplied by this.
_SPAN_OF_Z = 600.0  # Numbers e^{-v} stay far from the ends of floats while v spans no more than this.
_NEWTON_STEPS = 10  # A Newton solve from far away took about so many steps on the grids and roads of benchmarks/.
_NEWTON_STEPS_NEAR = 2  # A Newton solve from a gap below _GAP_OF_FAST_NEWTON takes about so many steps.
_GAP_OF_FAST_NEWTON = 1e-2  # Below this gap, Newton's method is quadratic from the start.
_USUAL_INVERSE_STEPS = 4  # Inverse iteration takes about this many steps, wherever it begins.


@dataclass(frozen=True)
class Auto:
    """The default: measure, choose, fall back."""

    name = "auto"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """The best attempt of the chain; its ``how`` names the methods that led there."""
        history = _History(problem, tol, v)
        if problem.n <= STATES_FOR_LAPACK:
            steps = history.predict(history.go_on(_PowerByScipy(_FIRST_LOOK)).rate)
            if not history.done and (steps <= _STEPS_OF_A_CALL or steps <= _bearable(problem)):
                history.go_on(_PowerByScipy(int(_OPTIMISM * steps) + _FIRST_LOOK))
            if not history.done:
                history.story.append(f"With {problem.n:,} states, LAPACK takes less than that.")
                history.go_on(Dense())
            if not history.done:
                history.story.append("LAPACK has lost too many digits: what follows is made for that.")
        if not history.done:
            _large(problem, history)
        return replace(history.attempt, story=tuple(history.story))


def _bearable(problem: Problem) -> float:
    """Predicted power steps that, times _OPTIMISM, cost no more than LAPACK would."""
    return _USUAL_INVERSE_STEPS * lapack_work(problem) / _OPTIMISM / float(problem.P.nnz)


def _large(problem: Problem, history: _History) -> None:
    """Power steps, and then the methods in order of cost."""
    steps = history.predict(history.go_on(Power(_FIRST_LOOK)).rate)
    if not history.done and steps <= _FEW_STEPS:
        steps = history.predict(history.go_on(Power(int(_OPTIMISM * steps) + _FIRST_LOOK)).rate)
    known, power_steps = [] if history.done else _known(problem, history), steps
    if known and _SECOND_LOOK < _OPTIMISM * steps < known[0][0] / problem.P.nnz:
        again = history.predict(history.go_on(Power(_SECOND_LOOK)).rate)
        power_steps = again * max(1.0, again / steps)
    for method in [] if history.done else _by_cost(problem, steps, power_steps, history):
        if not history.done:
            history.go_on(method)


@dataclass(frozen=True)
class _PowerByScipy:
    """Power steps for few states: scipy's product, and the certificate between bursts of them; nothing to compile.

    A burst takes z <- e^{-c} (Pz), and in the end the mean of its last two z, which removes what alternates from step
    to step. v and c must leave room for e^{-v} throughout; where they do not, a step is a Bellman update v <- Bv, which
    is the same in logarithms. That is for the start only: it is slow, and claims no contraction.
    """

    max_steps: int
    name = "power"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        r, lo, hi = problem.residual(v)
        best, steps, rate = Attempt(v, lo, hi, 0), 0, 1.0
        span = float(np.ptp(problem.c))
        while best.gap > tol and steps < self.max_steps and not limited_by_rounding(r, lo, hi, tol):
            burst = int(min((_SPAN_OF_Z - np.ptp(v)) / max(span, 1.0), _FIRST_LOOK, self.max_steps - steps))
            if burst < 2:
                burst, v, before = 1, v + r, hi - lo
            else:
                v, before = _burst(problem, v, burst), best.gap
            v -= v.min()
            r, lo, hi = problem.residual(v)
            steps += burst
            rate = ((hi - lo) / before) ** (1 / burst) if burst > 1 and before < inf else 1.0
            if not hi - lo < before and burst > 1:
                break
            best = Attempt(v, lo, hi, steps) if hi - lo < best.gap else best
        return replace(best, steps=steps, rate=rate, work=float(steps))


def _burst(problem: Problem, v: Floats, steps: int) -> Floats:
    """v after so many power steps."""
    g, z = np.exp(problem.c.min() - problem.c), np.exp(v.min() - v)
    before = z
    for _ in range(steps):
        before, z = z, g * (problem.P @ z)
    return np.asarray(-np.log(z / z.max() + before / before.max()))


class _History:
    """The best attempt so far, and how it came about."""

    def __init__(self, problem: Problem, tol: float, v: Floats) -> None:
        self.problem, self.tol = problem, tol
        self.attempt = Attempt(v, -inf, inf, 0)
        self.names: list[str] = []
        self.story: list[str] = []
        self.done = False

    def predict(self, rate: float) -> float:
        """Steps to the end at this contraction."""
        steps = min(log(self.attempt.gap / self.tol) / -log(rate), NEVER) if 0.0 < rate < 1.0 else NEVER
        if not self.done and steps < NEVER:
            self.story.append(f"They shrink the gap by {rate:.4f} each: at least {steps:,.0f} more would be needed.")
        elif not self.done:
            self.story.append("They do not shrink the gap yet.")
        return steps

    def go_on(self, method: Method) -> Attempt:
        """Let a method go on from the best v."""
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
        self.done = better.gap <= self.tol or limited_by_rounding(*self.problem.residual(better.v), self.tol)
        return latest


def _rounds(history: _History) -> int:
    return _NEWTON_STEPS if history.attempt.gap > _GAP_OF_FAST_NEWTON else _NEWTON_STEPS_NEAR


def _known(problem: Problem, history: _History) -> list[tuple[float, Method]]:
    """Methods whose cost is known, with it, the cheapest first."""
    known: list[tuple[float, Method]] = []
    if problem.plan.entries is not None:
        known.append((min(_rounds(history), _USUAL_INVERSE_STEPS) * problem.plan.work, Direct()))
    if STATES_FOR_LAPACK < problem.n <= MOST_STATES_WRITTEN_OUT:
        known.append((_rounds(history) * lapack_work(problem), Dense()))
    return sorted(known, key=lambda cost: cost[0])


def _by_cost(problem: Problem, steps: float, power_steps: float, history: _History) -> list[Method]:
    """The methods that are worth trying after the first look, cheapest first, and power without limit at the end."""
    entries = float(problem.P.nnz)
    rounds = _rounds(history)
    known = _known(problem, history)
    allowed = min((cost for cost, _ in known), default=inf)
    # a Krylov space of dimension k does the work of k^2 power steps on a diffusive chain
    products = rounds * max(VECTORS_OF_A_BASIS, 4 * sqrt(steps))
    product = product_work(problem)
    guessed: list[tuple[float, Method]] = [
        (
            _OPTIMISM * power_steps * entries,
            Power(int(min(2 * power_steps + _FIRST_LOOK, Power.max_steps, allowed / entries))),
        ),
        (products * product, Krylov(max_products=int(min(allowed / product, Krylov.max_products)))),
    ]
    ordered = sorted(known + guessed, key=lambda cost: cost[0])
    history.story.append(
        "Predicted cost, in products with P: "
        + ", ".join(f"{method.name} {cost / entries:,.0f}" for cost, method in ordered)
        + "."
        + ("" if problem.plan.entries is not None else " An elimination would fill up.")
    )
    return [method for _, method in ordered] + [Direct(), Krylov(), Power()]
