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

- :mod:`~lsmdp.certificates.pairs`: pairs of functions for a goal and for a discount; first_exit.py has the equations of
  a goal;
- :mod:`~lsmdp.certificates.backward`: steps from the end to the beginning, for a horizon and for a period;
- :mod:`~lsmdp.certificates.reversible`: sharper bounds on an average where P is reversible.
"""

from __future__ import annotations

from typing import Any, overload

from lsmdp._core import sparse
from lsmdp.arrays import as_cost, as_value
from lsmdp.certificates.backward import day_back, horizon_bounds
from lsmdp.certificates.first_exit import FirstExit
from lsmdp.certificates.pairs import Discount, Pair, goal_bounds
from lsmdp.ends import Average, CostTable, Discounted, End, Goal, Horizon, Periodic
from lsmdp.errors import SpecError
from lsmdp.model import LMDP, require_model

__all__ = ["Pair", "bounds"]


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
    require_model(lmdp)
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
