"""What a method is given, and what it gives back.

A method sees a :class:`Problem` (P and a cost in units of the temperature), a starting v and a width to reach. It
returns an :class:`Attempt`: its best v with the bounds that v proves. Nothing in an attempt is taken on trust:
``solve`` evaluates the certificate again on what it returns.

**The certificate** (Collatz-Wielandt in log form). For ANY v let r = Bv - v, with (Bv)(x) = c(x) - log sum_y P(x,y)
e^{-v(y)}. Then min r <= lambda <= max r. Since Bv - v is the one-step cost of the policy Q_v up to a difference
of v, the average cost of Q_v is mu.r for its stationary law mu, and lies in the same interval. So
gap = max r - min r bounds the error of lambda and the suboptimality of the policy that v stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.factor import Plan
from lsmdp.arrays import CSR, Floats, read_only
from lsmdp.model import LMDP

SHARE_FOR_THE_METHOD = 0.9  # A method gets this share of the tolerance; a tenth is kept for the change of units.
NEVER = 1e9  # This predicted number of steps stands for more than anybody waits for.
_STEPS_AFTER_A_SOLVE = 2  # So many Bellman steps follow a solve; a third was never worth its pass over P.
_SPAN_OF_PRODUCTS = 250.0  # Up to this span of v, products of two numbers e^{-v} are far from the ends of floats.


@dataclass(frozen=True, eq=False)
class Problem:
    """Find v with v + lambda = Bv for this P and this cost (in units of the temperature)."""

    lmdp: LMDP
    c: Floats

    @property
    def P(self) -> CSR:
        """The passive dynamics."""
        return self.lmdp.P

    @property
    def n(self) -> int:
        """Number of states."""
        return self.lmdp.n

    @cached_property
    def plan(self) -> Plan:
        """How P's pattern would be eliminated, and what that would cost (kept with the model)."""
        return self.lmdp.elimination_plan

    @cached_property
    def slack(self) -> float:
        """What the bounds are wider by for costs of moves that were absorbed (in units of the temperature)."""
        return self.lmdp.slack(self.c * self.lmdp.temperature) / self.lmdp.temperature if self.lmdp.rounding else 0.0

    @cached_property
    def reversed_moves(self) -> tuple[CSR, Floats]:
        """The transpose of P as CSR, and the logarithms of its entries."""
        PT = self.P.T.tocsr()
        return PT, read_only(np.log(PT.data))

    def balanced(self, v: Floats) -> tuple[Floats, Floats] | None:
        """(A, mu) with A = diag(mu) Q_v symmetric, and mu the law of Q_v, both up to one factor.

        None where P is not reversible with respect to any law rho, or v is too steep. If it is, Q_v is reversible with
        respect to mu(x) = rho(x) z(x) (Pz)(x), since A(x,y) = rho(x) P(x,y) z(x) z(y) up to a factor.
        """
        rho = self.lmdp.reversible_law
        if rho is None or np.ptp(v) > _SPAN_OF_PRODUCTS:
            return None
        z = np.exp(v.min() - v)
        moved = z[self.P.indices]
        moved *= self.P.data
        moved *= np.repeat(rho * z, np.diff(self.P.indptr))
        law = np.add.reduceat(moved, self.P.indptr[:-1])
        total = law.sum()
        moved /= total
        law /= total
        return moved, law

    def residual(self, v: Floats) -> tuple[Floats, float, float]:
        """r = Bv - v and the bounds on lambda that it proves."""
        return sparse.residual(self.P, self.c, v, 1.0, self.slack)

    def smoothed(self, v: Floats) -> tuple[Floats, Floats, float, float]:
        """v after Bellman steps v <- Bv, which never widen the gap and damp what a solve left, and its residual."""
        r, lo, hi = self.residual(v)
        for _ in range(_STEPS_AFTER_A_SOLVE):
            v = v + r
            r, lo, hi = self.residual(v)
        return v, r, lo, hi


@dataclass(frozen=True, eq=False)
class Attempt:
    """The best v that a method found and the bounds that it proves.

    ``steps`` counts its iterations, ``rate`` is the contraction per step that it saw last (1: none), ``how`` says
    which methods were used, where that is not plain from the method's name, and ``story`` why, in sentences. ``work``
    is what the steps cost, in products with P, counted and not timed.
    """

    v: Floats
    lo: float
    hi: float
    steps: int
    rate: float = 1.0
    how: str = ""
    story: tuple[str, ...] = ()
    work: float = 0.0

    @property
    def gap(self) -> float:
        """Width of the certificate."""
        return self.hi - self.lo


def limited_by_rounding(r: Floats, lo: float, hi: float, tol: float) -> bool:
    """Whether rounding alone keeps bounds on r wider than tol, and is most of their width already."""
    spread = float(np.ptp(r))
    rounding = (hi - lo) - spread
    return rounding >= tol and spread <= rounding


class Method(Protocol):
    """A way to narrow the bounds: a small frozen object."""

    @property
    def name(self) -> str:
        """What ``Solution.solver`` says."""

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Improve v until gap <= tol or no further; never raise for lack of convergence."""
