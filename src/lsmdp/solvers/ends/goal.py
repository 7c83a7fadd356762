"""Goals: the least cost until the exit, from every state, between two bounds.

In: the equations of a first exit, for the goals A and all other states N, with two bounds by paths, d <= V <= D
(certificates/first_exit.py). Out: a v with V <= v, what it costs at most. The start is D, or what the user has, between
the two bounds. From there settle.py takes over, with one step of its own kind.

*The leap.* In z = e^{-v/T} the equations are linear. They are solved at once in coordinates relative to a bound from
below: with Bu >= u and y = e^{-(v - u)/T},

    y(x) - e^{-r(x)/T} sum_{x' in N} Q_u(x'|x) y(x')  =  e^{-r(x)/T} Q_u(A|x),        r = Bu - u >= 0,

a chain killed at the rates 1 - e^{-r} Q_u(N|x) >= 0: one elimination without subtraction, accurate in every entry. In
these coordinates nothing underflows unless V - u exceeds some 650 T. Its matrix M is that of Newton's method in other
units: at the solution e^{-r(x)/T} Q_u(x'|x) y(x') = Q_v(x'|x) y(x), so that I - Q_v = Y^{-1} M Y with Y = diag(y), and
one factor serves for the leap, for a last step, and for the certificate.

*The bound from below* is d, or the present v made smaller where that is higher. v itself solves the equations of the
cost k = v + T log P e^{-v/T}. Let 0 <= s <= 1 with sk <= c. Then B(sv) = c - T log P e^{-sv/T} is at least
c - s T log P e^{-v/T} >= sv, since the mean of a power s is at most the power s of the mean. So a v that solves a
problem whose costs were one percent higher or lower is a bound that is one percent off, and a solve from there needs
one elimination. The larger of two bounds from below is one again, since B is monotone. In the same way sv is a bound
from above for s >= 1 with sk >= c: a given start is raised to that, since sweeps come down much faster than they go up.

*Negative costs.* The optimum is finite if and only if never leaving costs more than 0 on average: lambda > 0 for the
average-cost problem on each class of N, with the moves that leave it struck out (their chance is the price of staying:
a row that keeps the mass s is divided by s, and -T log s added to its cost). It is decided by the certificate
of the average on these classes, with the rounding of the division included. If the bounds contain 0, the question is
undecided within rounding, and that is said. The start is then one sweep from v = inf, from which sweeps only come down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from lsmdp._core import exits, sparse
from lsmdp._core.factor import Elimination
from lsmdp.arrays import EPS, Floats, Ints, like, read_only, row_sums
from lsmdp.certificates.first_exit import FirstExit
from lsmdp.certificates.pairs import exit_pair
from lsmdp.ends import Goal
from lsmdp.errors import AssumptionError, ConvergenceError
from lsmdp.model import LMDP
from lsmdp.solution import Solution
from lsmdp.solvers.ends.settle import SWEEPS_OF_A_GROUP, Factored, SettledEquations, Trail, settle
from lsmdp.values import Values

# Up to this span of v / T the linear system for e^{-v/T} is solved: e^-650 is far above the smallest float.
_LINEAR_REACH = 650.0
# A residual of this share of the tolerance will do at first: bounds add up residuals where values add up costs, so that
# their ratio hardly depends on how long the way is. Where most costs are far below the largest it may not do.
_SHARE_OF_THE_TOLERANCE_AT_GOALS = 1e-2
# Up to this share of other modes, in squares, the last change of v in a group of sweeps is taken for a single mode.
_SHARE_OF_OTHER_MODES = 0.01
# The bounds that decide about negative costs are made narrower from the first of these widths to the last, in units of
# the costs; beyond it there is rounding only.
_FIRST_WIDTH, _LAST_WIDTH = 1e-4, 1e-13

Decide = Callable[[LMDP, Floats, float], Solution]


@dataclass(frozen=True, eq=False)
class Tilted:
    """Y^{-1} M Y for a factor of M and Y = diag(y)."""

    factor: Elimination
    y: Floats

    def solve(self, b: Floats) -> Floats:
        """d with Y^{-1} M Y d = b."""
        return np.asarray(self.factor.solve(self.y * b) / self.y)


class GoalEquations(SettledEquations[FirstExit]):
    """The equations as settle.py wants them. At the goals v is given, so that it cannot be moved by a constant."""

    @cached_property
    def own(self) -> Floats:
        """T log(e^{c/T} - P(x,x)): the cost of a state, until it is left (_core/exits.py)."""
        T, c = self.temperature, self.problem.c
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.asarray(c + T * np.log1p(-self.problem.lmdp.P.diagonal() * np.exp(-c / T)))

    def size(self, r: Floats) -> float:
        """The largest entry."""
        size = float(np.abs(r).max())
        return size if np.isfinite(size) else np.inf

    def swept(self, v: Floats, times: int) -> Floats:
        """Double sweeps in the order of v; for z = e^{-v/T}, without exponentials, where that does not underflow.

        A large P is swept as it lies in memory, twice forwards: there and back would undo half of what is gained.
        """
        P, T, out, large = self.problem.lmdp.P, self.temperature, v.copy(), self.problem.is_large
        order = self.problem.as_stored if large else self._ascending(v[self.problem.order])
        ways = (order, order if large else order[::-1]) * times
        ends = out[np.isfinite(out)]
        if float(np.ptp(ends)) <= _LINEAR_REACH * T:
            low = float(ends.min())
            z, gain, nothing = np.exp((low - out) / T), np.exp(-self.own / T), np.zeros(out.size)
            for way in ways:
                exits.sweep_linear(sparse.rows(P), gain, nothing, z, way)
            with np.errstate(divide="ignore"):
                return self.problem.filled(low - T * np.log(z))
        for way in ways:
            exits.sweep(P, self.own, out, T, way)
        return out

    def first_sweep(self) -> Floats:
        """v = inf after one sweep away from the goals: the cost of some policy, or more."""
        v = self.problem.filled(np.full(self.problem.lmdp.n, np.inf))
        exits.sweep(self.problem.lmdp.P, self.own, v, self.temperature, self.problem.order)
        return v

    def relaxed(self, v: Floats) -> Floats:
        """v after a group of double sweeps and a leap along the slowest of what is left of the error.

        After some sweeps the error is close to a single mode that shrinks by the same factor q in each double sweep;
        it is all that is left where a goal is hard to find. Where the last change is q times the one before, up to
        _SHARE_OF_OTHER_MODES, all changes to come are q + q^2 + ... = q/(1 - q) times the last one, and taken at once.
        """
        before = self.swept(v, SWEEPS_OF_A_GROUP - 2)
        once = self.swept(before, 1)
        twice = self.swept(once, 1)
        states = self.problem.order
        with np.errstate(all="ignore"):
            first, last = once[states] - before[states], twice[states] - once[states]
            q = first @ last / (first @ first)
            other = last - q * first
            if not (0.0 < q < 1.0 and other @ other <= _SHARE_OF_OTHER_MODES * (last @ last)):
                return twice
            return self.problem.filled(twice + q / (1.0 - q) * (twice - once))

    def _ascending(self, inner: Floats) -> Ints:
        return np.asarray(self.problem.order[np.argsort(inner, kind="stable")])

    def factored(self, v: Floats) -> Elimination:
        """I - Q_v on N."""
        return self.problem.factor(*self.problem.policy(v))

    def limited(self, v: Floats) -> Floats:
        """v, but no higher than the bound by paths."""
        return self.problem.filled(v if self.problem.paths is None else np.minimum(v, self.problem.paths[1]))

    def scaled(self, v: Floats, *, upwards: bool) -> Floats:
        """sv with the s closest to 1 for which it is a bound from below, or above (see the module); v where none is."""
        states = self.problem.order
        with np.errstate(all="ignore"):
            c, k = self.problem.c[states], self.problem.c[states] - self.problem.residual(v)[0][states]
            s = float((c / k)[k > 0.0].max(initial=1.0) if upwards else (c / k)[k > 0.0].min(initial=1.0))
            possible = self.problem.g.min() >= 0.0 and np.isfinite(s) and not (upwards and (c > 0.0)[k <= 0.0].any())
            return s * v if possible else v if upwards else np.full(v.size, -np.inf)

    def leap(self, v: Floats) -> tuple[Floats, Factored] | None:
        """The linear equation, in coordinates relative to a bound from below."""
        problem, T = self.problem, self.temperature
        if problem.paths is None:
            return None
        u = problem.filled(np.maximum(problem.paths[0], self.scaled(v, upwards=False)))
        reach = float((v[problem.order] - u[problem.order]).max()) / T
        if not reach <= _LINEAR_REACH:
            return None
        r = problem.residual(u)[0]
        weights, killing = problem.policy(u)
        share = np.exp(-np.maximum(r, 0.0) / T)
        out = killing * share
        factor = problem.factor(weights * share[problem.lmdp.entry_rows], -np.expm1(-np.maximum(r, 0.0) / T) + out)
        with np.errstate(all="ignore"):
            y = factor.solve(out)
            leapt = problem.filled(u - T * np.log(y))
        if not np.isfinite(leapt[problem.order]).all():
            return None
        return self.limited(leapt), Tilted(factor, np.where(problem.inside, y, 1.0))


def solve_goal(lmdp: LMDP, c: Floats, end: Goal, tol: float, start: Floats | None, decide: Decide) -> Values:
    """The values until the exit; ``decide`` solves average-cost problems, which decide about negative costs."""
    began = time.perf_counter()
    problem = FirstExit.of(lmdp, c, end)
    story = [] if problem.nonnegative else [_require_finite(problem, decide)]
    trail = Trail(_start(problem, start), given=start is not None)
    for enough in (_SHARE_OF_THE_TOLERANCE_AT_GOALS * tol * scale_of(lmdp, c[problem.order], np.zeros(1)), 0.0):
        settle(GoalEquations(problem), trail, enough)
        pair = exit_pair(problem, trail.v, problem.spread(trail.v) if trail.spread is None else trail.spread)
        width = float((pair.upper[problem.order] - pair.lower[problem.order]).max(initial=0.0))
        scale = scale_of(lmdp, c[problem.order], pair.upper[problem.order])
        if certified := bool(width <= tol * scale < np.inf):
            break
    return Values(
        lmdp=lmdp,
        c=c,
        end=end,
        lower=pair.lower,
        upper=pair.upper,
        certified=certified,
        status=status_of(width, scale, tol),
        solver=" -> ".join(trail.how) or "paths",
        iterations=trail.steps,
        seconds=time.perf_counter() - began,
        story=(*story, *_reach(problem), *trail.story),
        lost=problem.lost,
        exits=problem,
    )


def scale_of(lmdp: LMDP, c: Floats, v: Floats) -> float:
    """What a width is compared with: the largest of the temperature, the costs and the values."""
    return max(lmdp.temperature, float(np.abs(c).max(initial=0.0)), float(np.abs(v).max(initial=0.0)))


def status_of(width: float, scale: float, tol: float) -> str:
    """A sentence about the width of the bounds."""
    share = width / scale if np.isfinite(scale) else np.inf
    if share <= tol:
        return f"certified: from each state the policy is optimal within {width:.2g}, {share:.2g} of the largest value"
    return (
        f"not certified: the bounds stayed {width:.2g} apart, {share:.2g} of the largest value (asked: {tol:.2g}). Ask "
        "for a wider tol (--tol) or, in Python, start from the solution of a similar problem"
    )


def _start(problem: FirstExit, start: Floats | None) -> Floats:
    """Where to begin: between the bounds by paths where there are any, else from what is given, or from above."""
    if problem.is_large or problem.paths is None:
        usable = start is not None and np.isfinite(start[problem.order]).all()
        return problem.filled(start) if usable and start is not None else GoalEquations(problem).first_sweep()
    low, high = problem.paths
    if start is None:
        return problem.filled(high)
    v = problem.filled(np.where(np.isfinite(start), np.clip(start, low, high), high))
    return problem.filled(np.minimum(GoalEquations(problem).scaled(v, upwards=True), high))


def _reach(problem: FirstExit) -> list[str]:
    if not problem.lost.size:
        return []
    names = ", ".join(problem.lmdp.name_of(int(x)) for x in problem.lost[:3])
    more = f" and {problem.lost.size - 3:,} more" if problem.lost.size > 3 else ""
    who = (
        "1 state cannot reach the goal and has"
        if problem.lost.size == 1
        else (f"{problem.lost.size:,} states cannot reach the goal and have")
    )
    return [f"{who} v = inf: {names}{more}."]


def _require_finite(problem: FirstExit, decide: Decide) -> str:
    """A sentence that says why the optimum is finite though some costs are negative, or an error that it is not."""
    for low, high, size, states in _stays(problem, decide):
        name = problem.lmdp.name_of(int(states[0]))
        where = name if states.size == 1 else f"the {states.size:,} states around {name}"
        if high <= 0.0:
            raise AssumptionError(
                f"the optimum is not finite: some costs are negative, and never leaving {where} costs at most "
                f"{high:.6g} a step, so that it pays to come late. Raise the costs by more than {-high:.3g}, or use "
                "Average() or Discounted(0.99)."
            )
        if low <= 0.0:
            raise ConvergenceError(
                f"undecided within rounding: never leaving {where} costs between {low:.3g} and {high:.3g} a step. The "
                f"optimum is finite if that is more than 0, and costs of up to {size:.3g} are rounded. Raise the costs "
                "a little."
            )
    return "Some costs are negative, but never leaving costs more than 0 a step everywhere: the optimum is finite."


def _stays(problem: FirstExit, decide: Decide) -> Any:
    """For each class of N with a negative cost: bounds on what staying costs, the size of its costs, its states."""
    lmdp, T, order = problem.lmdp, problem.lmdp.temperature, np.sort(problem.order)
    inner = lmdp.P[order][:, order]
    _, member = csgraph.connected_components(inner, directed=True, connection="strong")
    negative = np.unique(member[problem.c[order] < 0.0])
    for one in negative:
        inside: Ints = np.flatnonzero(member == one)
        kernel = inner[inside][:, inside]
        if not kernel.nnz:
            continue  # a state that cannot be stayed in is left for sure
        kept = row_sums(kernel)
        cost = problem.c[order[inside]] - T * np.log(kept)
        entries = np.diff(kernel.indptr)
        off = EPS * T * (entries.max() + 4.0 + 2.0 * float(np.abs(np.log(kept)).max())) + EPS * float(
            np.abs(cost).max()
        )
        chances = kernel.data / np.repeat(kept, entries)
        model = LMDP(like(kernel, chances), temperature=T, rounding=off + problem.slack, normalise=True)
        size = max(T, float(np.abs(cost).max()))
        width = _FIRST_WIDTH * size
        while True:
            low, high = decide(model, read_only(cost), width).bounds
            if low > 0.0 or high <= 0.0 or width <= _LAST_WIDTH * size:
                break
            width = max(1e-3 * width, _LAST_WIDTH * size)
        yield low, high, size, order[inside]
