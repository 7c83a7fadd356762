"""How a policy answers to a change of the costs: numbers that need a dense inverse.

With the fundamental matrix Z = (I - Q + 1 mu')^{-1} of a policy Q, a change dc of the costs moves the value function of
an optimal Q by dv = Z dc, up to a constant. So

    Lambda(Q) = 1/2 max_{x,x'} |Z(x,.) - Z(x',.)|_1

is the norm of dc -> dv in the span seminorm, and also the norm of the change of mu: |mu' - mu|_1 <= Lambda(Q) times
max_x |Q'(.|x) - Q(.|x)|_1. It is at most sum_j a(Q^j) <= 1/(1 - a(Q)), and finite on every irreducible chain.

The asymptotic variance of a cost g along the chain is sum_x mu(x) Var_{Q(.|x)}(h), with h = Z g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from lsmdp.arrays import CSR, Floats
from lsmdp.chain import overlap


@dataclass(frozen=True, eq=False)
class Response:
    """a(Q), Lambda(Q), and what is needed for variances."""

    Q: Floats
    mu: Floats
    Z: Floats
    a: float
    sensitivity: float

    def variance(self, g: Floats) -> float:
        """sum_x mu(x) Var_Q(h) with (I - Q) h = g - mu.g."""
        h = self.Z @ (g - self.mu @ g)
        h = h - h.mean()
        return float(self.mu @ (self.Q * (h - (self.Q @ h)[:, None]) ** 2).sum(axis=1))


def respond(Q: CSR, mu: Floats) -> Response:
    """The response of a policy with the stationary law mu."""
    dense = Q.toarray()
    Z = np.linalg.inv(np.eye(mu.size) - dense + mu)
    shared = overlap(Q).value
    return Response(dense, mu, Z, float("nan") if shared is None else 1.0 - shared, float(_row_distance(Z)) / 2)


@njit(cache=True)
def _row_distance(Z: Any) -> float:
    """max_{x,x'} |Z(x,.) - Z(x',.)|_1."""
    n = Z.shape[0]
    most = 0.0
    for i in range(n):
        for j in range(i):
            total = 0.0
            for k in range(n):
                total += abs(Z[i, k] - Z[j, k])
            most = max(most, total)
    return most
