"""The certificate of any v, for every end: what a solve ends with, and what a user may call.

``bounds(lmdp, c, v, end)`` takes anybody's v. For averages it returns two numbers, between which the optimum and the
cost of the policy of v lie. For the other ends it returns a :class:`Pair`, two functions on the states that enclose the
optimal cost from each state and that of the policy of the upper one. The equations of a goal are in first_exit.py.

Write (Bv)(x) = c(x) - T log sum_y P(x,y) e^{-v(y)/T}, Q_v(y|x) ~ P(x,y) e^{-v(y)/T} and r = Bv - v. Gibbs' formula, row
by row, gives for *every* v and every policy Q with the support of P

    c + T KL(Q||P)  =  v + r - Q v + T KL(Q||Q_v).                                                        (identity)

Its left side is what Q pays in a step. All certificates sum it along a path, where the v cancel from step to step.
Write V for the optimum and J for the cost of the policy that v stands for.

*Average.* In the long run v cancels altogether: J(Q_v) = mu.r >= lambda >= min r for the stationary law mu of Q_v, and
both are at most max r.

*Goal.* Let N be the states that are no goal and can reach one. If Bv >= v on N then every policy costs
at least v until it exits: v <= V. If Bv <= v then Q_v costs at most v, and it exits for sure, having the support of P:
V <= J(Q_v) <= v. No sign of c is used. So a pair of functions with B lower >= lower and B upper <= upper proves lower
<= V <= J(Q_upper) <= upper. From any v, such a pair is v - h, v + h with h - Q_v h = |r| + (twice the rounding of r): B
is concave, so B(v + h) <= Bv + Q_v h = v + h + r - |r|; and B(v - h) falls short of v - h by a term of second order in
h/T, for which h is raised where it must be. Both sides are then checked row by row, as they are returned, with the
rounding of that very pass: r - e >= 0, and r + e <= 0.

*Discounted* by a. Here Bv = c - T log P e^{-av/T} and B(v + k) = Bv + ak, so that h may be a constant: V and J lie in
v + [min r, max r]/(1 - a). The pair v + (min r - 2e)/(1 - a), v + (max r + 2e)/(1 - a) is checked in the same way. With
k = min v, r is computed as c - T log P e^{-a(v - k)/T} - (v - k) - (1 - a)k: v - k is rounded by at most u max(v - k),
its product with a as much again, so that large values of v, near average/(1 - a), cost no digits. The policy is that of
a(v - k) as floats hold it, and both roundings are part of e.

*Horizon.* With r_t = B_t v_{t+1} - v_t and v_{H+1} = g, both V_t and J_t lie in v_t + [sum_{s>=t} min r_s, sum_{s>=t}
max r_s].

*Periodic.* With F = B_1 ... B_D, the steps of a day from its last to its first, lambda and J lie in [min, max] of
(Fv - v)/D. Each step back is exact but for e_t, and B_t is monotone with B_t(v + k) = B_t v + k: so errors add up and
do not grow, and the bounds are wider by the sum of the max e_t.

**The policy's own average** (``policy_bounds``). Both lambda and J = mu.r lie in [min r, mu.r], which is narrower than
[min r, max r], often much: mu is small where r is large. To use it, mu must be known with a bound on its error. Where P
is reversible with the law rho, mu is proportional to rho(x) w(x) (Pw)(x) with w = e^{-v/T} (policy.py), and the error
has two parts.

1. P is reversible only up to rounding. Let rho(x) P(x,y) / (rho(y) P(y,x)) be within a factor 1 + f0 of 1 for all
   moves; f0 is measured here. Then P is within a factor 1 + f0 + 2ku of a kernel that is exactly reversible, the
   geometric mean of both directions. By the Markov chain tree theorem, a law whose moves are off by a relative d is
   itself off by at most a relative exp(2 n d) - 1.
2. The formula is computed to a relative 745 eps or better.

Let q be the sum of both, and mu' the computed law. Both laws have the sum 1, so that (mu' - mu).r <= q span(r). Hence
J <= mu'.r + q span(r) + max e + 2 eps n max|r|, where the last two terms are the rounding of r and of the sum; and J is
never more than max r + max e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from lsmdp._core import exits, sparse
from lsmdp.arrays import EPS, Floats, as_cost, as_value, mean, read_only
from lsmdp.certificates.first_exit import FirstExit, Spread
from lsmdp.ends import Average, CostTable, Discounted, End, Goal, Horizon, Periodic
from lsmdp.errors import ConvergenceError, CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# A pair of bounds that fails its check is made wider by this factor, which is small beside what bounds gain.
WIDENING = 1.5
WIDENINGS = 40  # A pair is made wider at most this many times: 1.5^40 is 10^7, and more would say nothing.
# The law that policy.py computes for a reversible P has this relative error: 745 eps, and that of its sums.
ERROR_OF_A_BALANCED_LAW = 1000.0 * EPS


class Pair(NamedTuple):
    """lower <= optimum <= cost of the policy of ``upper`` <= upper, state by state."""

    lower: Floats
    upper: Floats


@overload
def bounds(
    lmdp: LMDP, c: Any, v: Any, end: Average | Periodic | None = None
) -> tuple[float, float]: ...  # fmt: skip
@overload
def bounds(lmdp: LMDP, c: Any, v: Any, end: Goal | Discounted | Horizon) -> Pair: ...


def bounds(lmdp: LMDP, c: Any, v: Any, end: End | None = None) -> tuple[float, float] | Pair:
    """What anybody's v proves, rounding enclosed; ``end`` is the average where it is left out.

    For ``Average()`` and ``Periodic()`` two numbers: the optimal average cost and that of the policy of v lie between
    them. For the other ends two arrays (``lower``, ``upper``), state by state; the optimum and the cost of the policy
    of ``upper`` lie between them. For ``Horizon()``, v has a row a round and the arrays are those of the first round. A
    v that proves nothing gives -inf or inf; for a goal with costs that are not negative it gives the bounds by shortest
    paths instead, which hold for the optimum and say nothing of a policy.
    """
    match end:
        case None | Average():
            cost = as_cost(c, lmdp.names)
            return sparse.residual(lmdp.P, cost, as_value(v, lmdp.names), lmdp.temperature, lmdp.slack(cost))[1:]
        case Goal():
            return goal_bounds(FirstExit.of(lmdp, c, end), v)
        case Discounted():
            return Discount(lmdp, as_cost(c, lmdp.names), end.discount).pair(as_value(v, lmdp.names))
        case Horizon():
            return horizon_bounds(lmdp, CostTable.of(lmdp, c), v, end.settled(lmdp))
        case Periodic():
            return day_back(lmdp, CostTable.of(lmdp, c), as_value(v, lmdp.names)).bounds
    raise SpecError(f"the end is {end!r}. Give Average(), Goal(...), Discounted(...), Horizon(...) or Periodic().")


class Equations(Protocol):
    """What a pair is checked against."""

    @property
    def inside(self) -> Any:
        """The states that have an equation."""

    def residual(self, v: Floats) -> tuple[Floats, Floats]:
        """r = Bv - v, and a bound on the rounding of each entry."""


def is_below(equations: Equations, v: Floats) -> bool:
    """Whether Bv >= v for certain: then v is at most the optimum."""
    r, e = equations.residual(v)
    return bool((r - e >= 0.0)[equations.inside].all())


def is_above(equations: Equations, v: Floats) -> bool:
    """Whether Bv <= v for certain: then the policy of v costs at most v."""
    r, e = equations.residual(v)
    return bool((r + e <= 0.0)[equations.inside].all())


def goal_bounds(problem: FirstExit, v: Any) -> Pair:
    """The pair that v proves for a first exit; where it proves none, the bounds by paths if there are any."""
    values = np.array(v, dtype=np.float64) if isinstance(v, np.ndarray) else v
    if isinstance(values, np.ndarray) and values.shape == (problem.lmdp.n,):
        values[~problem.inside] = 0.0
    given = problem.filled(as_value(values, problem.lmdp.names))
    try:
        return exit_pair(problem, given, problem.spread(given))
    except ConvergenceError:
        nothing = np.full(problem.lmdp.n, np.inf)
        return _with_paths(problem, problem.filled(-nothing), problem.filled(nothing))


def exit_pair(problem: FirstExit, v: Floats, spread: Spread) -> Pair:
    """v - h and v + h, checked; ``spread`` makes h of residuals (FirstExit.spread)."""
    r, e = problem.residual(v)
    with np.errstate(all="ignore"):
        below, above = (np.maximum(spread(np.maximum(side, 0.0) + 2.0 * e), 0.0) for side in (-r, r))
        factor, lower, upper = 1.0, None, None
        for _ in range(WIDENINGS):
            if lower is None and is_below(problem, low := problem.filled(v - factor * below)):
                lower = low
            if upper is None and is_above(problem, high := problem.filled(v + factor * above)):
                upper = high
            if lower is not None and upper is not None:
                break
            factor *= WIDENING
    nothing = np.full(v.size, np.inf)
    if lower is not None and upper is not None:
        return Pair(read_only(lower), read_only(upper))
    lower, upper = (problem.filled(-nothing) if lower is None else lower), (nothing if upper is None else upper)
    return _with_paths(problem, lower, upper)


def _with_paths(problem: FirstExit, lower: Floats, upper: Floats) -> Pair:
    """A side that is missing is that by paths, which holds for the optimum."""
    if problem.paths is not None:
        lower = np.where(np.isneginf(lower), problem.paths[0], lower)
        upper = problem.paths[1] if np.isinf(upper[problem.order]).any() else upper
    return Pair(read_only(lower), read_only(upper))


@dataclass(frozen=True, eq=False)
class Discount:
    """The discounted equations v = c - T log P e^{-av/T} of one model and one cost."""

    lmdp: LMDP
    c: Floats
    discount: float

    @cached_property
    def inside(self) -> Any:
        """All states."""
        return np.ones(self.lmdp.n, dtype=bool)

    @cached_property
    def slack(self) -> float:
        """What each residual may be off by where costs of moves were absorbed."""
        return self.lmdp.slack(self.c)

    def residual(self, v: Floats) -> tuple[Floats, Floats]:
        """r = Bv - v, and a bound on the rounding of each entry."""
        low = float(v.min())
        above = v - low
        later = self.discount * above
        b, error = exits.soft_minima(self.lmdp.P, later, self.lmdp.temperature, self.inside)
        total = self.c + b
        base, rest = total - above, (1.0 - self.discount) * low
        r = base - rest
        sizes = np.abs(total) + np.abs(base) + np.abs(r) + (2.0 * abs(rest) + 2.0 * float(above.max()))
        return r, error + EPS * sizes + self.slack

    def pair(self, v: Floats) -> Pair:
        """v moved down and up by constants, checked."""
        with np.errstate(all="ignore"):
            r, e = self.residual(v)
            rest = (1.0 - self.discount) * (1.0 - EPS)
            least, most = float((r - 2.0 * e).min()), float((r + 2.0 * e).max())
            margin = float(e.max()) + EPS * float(np.abs(v).max())  # v + constant is rounded, too
            for attempt in range(WIDENINGS):
                extra = margin * (WIDENING**attempt - 1.0)
                lower, upper = v + (least - extra) / rest, v + (most + extra) / rest
                if is_below(self, lower) and is_above(self, upper):
                    return Pair(read_only(lower), read_only(upper))
        nothing = np.full(v.size, np.inf)
        return Pair(read_only(-nothing), read_only(nothing))


class Step(NamedTuple):
    """One step back: the values less ``least``, which keeps the numbers small, and what rounding may have done."""

    values: Floats
    least: float
    error: float


def step_back(lmdp: LMDP, c: Floats, later: Floats, everywhere: Any) -> Step:
    """B_t v_{t+1} for the cost of one round; the error is that of the difference, too."""
    b, error = exits.soft_minima(lmdp.P, later, lmdp.temperature, everywhere)
    values = c + b
    least = float(values.min())
    error += EPS * np.abs(values)
    values -= least
    return Step(values, least, float(error.max()) + EPS * float(values.max()) + lmdp.slack(c))


def horizon_bounds(lmdp: LMDP, costs: CostTable, v: Any, terminal: Floats) -> Pair:
    """What any table of values, a row a round, proves about the first round."""
    table = np.asarray(v, dtype=np.float64)
    if table.shape != (costs.count, lmdp.n):
        raise CostError(
            f"the values are {' x '.join(map(str, table.shape))}, but there are {costs.count} rounds and {lmdp.n} "
            "states. Give one row of values for each round."
        )
    everywhere, down, up = np.ones(lmdp.n, dtype=bool), [], []
    for t in range(costs.count):
        here = as_value(table[t], lmdp.n)
        later = terminal if t + 1 == costs.count else as_value(table[t + 1], lmdp.n)
        b, e = exits.soft_minima(lmdp.P, later, lmdp.temperature, everywhere)
        c = costs.block(t, t + 1)[0]
        total = c + b
        r = total - here
        e += EPS * (np.abs(total) + np.abs(r)) + lmdp.slack(c)
        down.append(float((r - e).min()))
        up.append(float((r + e).max()))
    first = as_value(table[0], lmdp.n)
    low, high = outward(math.fsum(down), math.fsum(up))
    return Pair(*outward(first + low, first + high))


class DayCertificate(NamedTuple):
    """The values of each slot, those of a day later, and what they prove."""

    values: Floats
    change: Floats
    bounds: tuple[float, float]
    rounding: float


def day_back(lmdp: LMDP, slots: CostTable, v: Floats) -> DayCertificate:
    """One day from its end to its beginning: values[k] at the beginning of slot k + 1, values[D] = v."""
    D, everywhere = slots.count, np.ones(lmdp.n, dtype=bool)
    values, least, errors = np.empty((D + 1, lmdp.n)), [], []
    values[D] = v
    costs = slots.block(0, D)
    for k in range(D - 1, -1, -1):
        step = step_back(lmdp, costs[k], values[k + 1], everywhere)
        values[k] = step.values
        least.append(step.least)
        errors.append(step.error)
    difference = values[0] - v
    change = difference + math.fsum(least)
    size = float(np.abs(difference).max()) + 2.0 * float(np.abs(change).max()) + sum(map(abs, least))
    rounding = math.fsum(errors) + EPS * size
    low, high = (float(change.min()) - rounding) / D, (float(change.max()) + rounding) / D
    bounds = outward(low, high)
    return DayCertificate(values, change, (float(bounds[0]), float(bounds[1])), rounding / D)


def outward(low: Any, high: Any) -> Any:
    """Two bounds one float further apart each, for the operation that made them."""
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def policy_bounds(lmdp: LMDP, c: Floats, v: Floats) -> tuple[float, float]:
    """[min r, mu.r] where P is reversible (see the module), else [min r, max r]; both with their rounding."""
    r, low, high = sparse.residual(lmdp.P, c, v, lmdp.temperature, lmdp.slack(c))
    rho = lmdp.reversible_law
    if rho is None or not math.isfinite(high - low):
        return low, high
    try:
        mu = Policy(lmdp, v).stationary()
    except ConvergenceError:
        return low, high
    span = float(np.ptp(r))
    rounding = (high - low) - span
    off = math.expm1(2.0 * lmdp.n * _imbalance(lmdp, rho)) + ERROR_OF_A_BALANCED_LAW
    size = 2.0 * EPS * lmdp.n * float(np.abs(r).max())
    own = mean(mu, r) + off * span + rounding + size
    return low, max(low, min(high, own))


def _imbalance(lmdp: LMDP, rho: Floats) -> float:
    """How far P is from a kernel that is reversible with the law rho, relatively and with the rounding of its rows."""

    def measured() -> float:
        P = lmdp.P
        PT = P.T.tocsr()
        ratio = (rho[lmdp.entry_rows] * P.data) / (rho[P.indices] * PT.data)
        return float(np.abs(ratio - 1.0).max()) + 2.0 * EPS * (3.0 + float(np.diff(P.indptr).max()))

    return lmdp.cache.get("imbalance", measured)
