"""How a policy answers to a change of the costs: numbers that need all pairs of states.

With the fundamental matrix Z = (I - Q + 1 mu')^{-1} of a policy Q, a change dc of the costs moves the value function of
an optimal Q by dv = Z dc, up to a constant. So

    Lambda(Q) = 1/2 max_{x,x'} |Z(x,.) - Z(x',.)|_1

is the norm of dc -> dv in the span seminorm, and also the norm of the change of mu: |mu' - mu|_1 <= Lambda(Q) times
max_x |Q'(.|x) - Q(.|x)|_1. It is at most sum_j a(Q^j) <= 1/(1 - a(Q)), and finite on every irreducible chain.

The inverse would lose the digits of a chain that hardly moves. But Z(x,y) - Z(x',y) = mu(y) (h(x',y) - h(x,y)) with the
expected hitting times h, which are computed without a subtraction. So -h(x,y) mu(y) may stand for Z: its rows
differ from those of Z by one and the same row.

The asymptotic variance of a cost g along the chain is sum_x mu(x) Var_{Q(.|x)}(f), with f = Z (g - mu.g).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lsmdp._core.matrices import compare_rows
from lsmdp.arrays import CSR, Floats
from lsmdp.chain import hitting_times, overlap
from lsmdp.errors import AssumptionError, ConvergenceError


@dataclass(frozen=True, eq=False)
class Response:
    """a(Q), Lambda(Q), and what is needed for variances."""

    Q: Floats
    mu: Floats
    Z: Floats  # up to one row that is added to every row
    a: float
    sensitivity: float

    def variance(self, g: Floats) -> float:
        """sum_x mu(x) Var_Q(f) with (I - Q) f = g - mu.g."""
        f = self.Z @ (g - self.mu @ g)
        f = f - f.mean()
        return float(self.mu @ (self.Q * (f - (self.Q @ f)[:, None]) ** 2).sum(axis=1))


def response_of(Q: CSR, mu: Floats) -> Response | None:
    """The response of a policy with the stationary law mu; None where its hitting times are beyond float64."""
    try:
        Z = -hitting_times(Q) * mu
    except (ConvergenceError, AssumptionError):
        return None
    shared = overlap(Q).value
    return Response(Q.toarray(), mu, Z, float("nan") if shared is None else 1.0 - shared, row_distance(Z) / 2)


def row_distance(Z: Floats) -> float:
    """max_{x,x'} |Z(x,.) - Z(x',.)|_1."""
    return float(compare_rows(np.ascontiguousarray(Z))[2])


def one_sided_distance(P: Floats) -> float:
    """max_{x,x'} sum_y (P(x,y) - P(x',y))_+, which is a(P) even where rows sum to 1 only within rounding."""
    return float(compare_rows(np.ascontiguousarray(P))[1])
