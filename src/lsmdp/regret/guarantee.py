"""A bound on the regret against all stationary policies with mixing sum at most m, from what was seen alone.

Let c_bar be the mean of c_1..c_T and tau the temperature. For ANY v let r = Bv - v, with (Bv)(x) = c_bar(x) - tau log
sum_y P(x,y) e^{-v(y)/tau}. Let Q be a stationary policy with the laws p_{t+1} = p_t Q from the same start p_1, and mu_Q
its stationary law. Its *mixing sum* is m(Q) = sum_{t<=T} 1/2 |p_t - mu_Q|_1. Then

    R_T(Q) = loss - L_T(Q) <= [loss - T min r] + [max v - p_1.v] + m(Q) max_t span(c_t - c_bar).

*Proof.* The Gibbs variational formula with its remainder is tau KL(Q||P) + Q v = (Bv - c_bar) + tau KL(Q||Q_v) in every
state, so

    c_bar + tau KL(Q||P) = v - Qv + r + tau KL(Q||Q_v).

Add c_t - c_bar, take the mean under p_t and sum over t; since p_t Q = p_{t+1}, the terms v - Qv telescope:

    L_T(Q) = (p_1 - p_{T+1}).v + sum_t p_t.r + sum_t p_t.(c_t - c_bar) + tau sum_t p_t.KL(Q||Q_v)
          >= p_1.v - max v + T min r + sum_t p_t.(c_t - c_bar).

The sum over t of c_t - c_bar is zero, so mu_Q may be taken from every p_t in the last sum. A difference of two laws
times a function is at most half its l1 norm times the span of the function, so that sum is at least
-m(Q) max_t span(c_t - c_bar).

No step asks v to be exact. For the leader's v*, r is the constant lambda and [loss - T min r] is R' = loss - T lambda;
for an inexact v, min r <= lambda is the certified lower bound of a solve, and that is all that changes: it adds at
most T gap. mu_Q may be any law that does not depend on t, and for a policy with a(Q) <= rho the mixing sum is at most
1/(1 - rho).

The last sum is the *phase term*: a cost of Q, negative where Q is in step with the costs. So m stands in the bound, and
the bound must grow with it: policies that mix are dense among all policies and L_T is continuous, so a bound for all
that mix at once would be one for those that never do (always swap, in docs/regret.md).

*In one pass.* max_t span(c_t - c_bar) would need c_bar first. From running extremes of each state's cost,

    max_t span(c_t - c_bar) <= max_x (max_t c_t(x) - c_bar(x)) - min_x (min_t c_t(x) - c_bar(x)),

which is used here: an upper bound, and memory for three vectors. The sum behind c_bar is compensated (Neumaier), so the
computed mean c^ is within 2 eps max|c| of c_bar, eps = 2^-52. With c^ in place of c_bar everywhere the proof only gains
T mu_Q.(c_bar - c^), and 2 T eps max|c| is added to the first bracket for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.hindsight import add_costs
from lsmdp.arrays import (
    EPS,
    Floats,
    as_cost,
    as_distribution,
    as_kernel,
    as_value,
    read_only,
)
from lsmdp.chain import long_run_law
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

MIXING_SUMS_SHOWN = (1.0, 10.0, 100.0)  # The bound is printed for these mixing sums: quick, usual and slow policies.


class CostRange(NamedTuple):
    """What the guarantee needs of the costs: how many, their sum (as ``total + lost``), and each state's extremes."""

    T: int
    total: Floats
    lost: Floats
    lowest: Floats
    highest: Floats

    @classmethod
    def empty(cls, n: int) -> CostRange:
        """Before the first round."""
        return cls(0, np.zeros(n), np.zeros(n), np.full(n, np.inf), np.full(n, -np.inf))

    @classmethod
    def of(cls, costs: Iterable[Any], n: int) -> CostRange:
        """After one pass over the costs."""
        seen = cls.empty(n)
        for c_t in costs:
            seen = seen.observe(c_t)
        return seen

    def observe(self, costs: Any) -> CostRange:
        """After one more round, or after some more, with a row each; a cost that is no number is an error."""
        if not (isinstance(costs, np.ndarray) and costs.ndim == 2):
            costs = as_cost(costs, self.total.size)[np.newaxis]
        usable = np.isfinite(costs).all(axis=1) & (costs.shape[1] == self.total.size)
        if not usable.all():
            as_cost(costs[int(np.argmin(usable))], self.total.size)
        sums = tuple(array.copy() for array in self[1:])
        add_costs(read_only(costs.view()), *sums)
        return CostRange(self.T + len(costs), *sums)

    @property
    def mean(self) -> Floats:
        """c_bar."""
        if not self.T:
            raise CostError("no costs were seen, so they have no mean. Observe at least one round.")
        return np.asarray((self.total + self.lost) / self.T)

    @property
    def phase_span(self) -> float:
        """An upper bound on max_t span(c_t - c_bar)."""
        return float((self.highest - self.mean).max() - (self.lowest - self.mean).min())


@dataclass(frozen=True)
class Guarantee:
    """Against all stationary policies with mixing sum at most m the regret is at most excess + start + m * phase_span.

    ``excess`` is R' = loss - T lambda with the certified lower bound of lambda, ``start`` is max v - p_1.v, and
    ``phase_span`` bounds max_t span(c_t - c_bar).
    """

    excess: float
    start: float
    phase_span: float

    def against(self, m: float) -> float:
        """The bound on R_T(Q) for every Q with sum_t 1/2 |p_t - mu_Q|_1 <= m."""
        if not m >= 0.0:
            raise SpecError(f"the mixing sum is {m}. It is a sum of distances and cannot be negative.")
        return self.excess + self.start + m * self.phase_span

    def __str__(self) -> str:
        bounds = ", ".join(f"{self.against(m):.6g} (m = {m:g})" for m in MIXING_SUMS_SHOWN)
        return f"regret against all stationary policies with mixing sum up to m: at most {bounds}"


def guarantee(lmdp: LMDP, loss: float, v: Any, p1: Any, seen: CostRange) -> Guarantee:
    """The bound for a learner that paid ``loss`` on the costs that were seen.

    Any value function v gives a true bound; that of the leader for the mean cost gives the best.
    """
    value, start = as_value(v, lmdp.names), as_distribution(p1, lmdp.names)
    _, lambda_low, _ = sparse.residual(lmdp.P, seen.mean, value, lmdp.temperature, lmdp.slack(seen.mean))
    largest = float(np.maximum(np.abs(seen.lowest), np.abs(seen.highest)).max())
    excess = loss - seen.T * lambda_low + seen.T * (2.0 * EPS * largest + lmdp.rounding)
    return Guarantee(excess, float(value.max() - start @ value), seen.phase_span)


def mixing_sum(Q: Any, p1: Any, T: int) -> float:
    """m(Q) = sum_{t<=T} 1/2 |p_t - mu_Q|_1 for the laws p_{t+1} = p_t Q of a policy or kernel."""
    kernel = Q.matrix() if isinstance(Q, AnyPolicy) else as_kernel(Q)
    mu = Q.stationary() if isinstance(Q, AnyPolicy) else long_run_law(kernel)
    p, backwards = as_distribution(p1, kernel.shape[0]), kernel.T.tocsr()
    total = 0.0
    for _ in range(T):
        total += 0.5 * float(np.abs(p - mu).sum())
        p = backwards @ p
    return total
