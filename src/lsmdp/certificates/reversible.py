"""The policy's own average cost, where P is reversible: bounds that are narrower than the span of the residual.

Write r = Bv - v, lambda for the optimum and J for the average cost of the policy of v, mu for its long-run law. Both
lambda and J = mu.r lie in [min r, mu.r], which is narrower than [min r, max r], often much: mu is small where r is
large. To use it, mu must be known with a bound on its error. Where P is reversible with the law rho, mu is proportional
to rho(x) w(x) (Pw)(x) with w = e^{-v/T} (policy.py), and the error has two parts.

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

import numpy as np

from lsmdp._core import sparse
from lsmdp.arrays import EPS, Floats, mean
from lsmdp.errors import ConvergenceError
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# The law that policy.py computes for a reversible P has this relative error: 745 eps, and that of its sums.
_ERROR_OF_A_BALANCED_LAW = 1000.0 * EPS


def policy_bounds(lmdp: LMDP, c: Floats, v: Floats) -> tuple[float, float]:
    """[min r, mu.r] where P is reversible (see the module docstring), else [min r, max r]; both with their rounding."""
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
    off = math.expm1(2.0 * lmdp.n * _imbalance(lmdp, rho)) + _ERROR_OF_A_BALANCED_LAW
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
