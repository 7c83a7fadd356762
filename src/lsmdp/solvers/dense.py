"""Newton's method with LAPACK: for a P of up to a few thousand states that is mostly full.

Here, and only here, a kernel is written out as a square array: n^2 numbers, at most ``LIMIT`` states. The diagonal of
I - Q is the sum of the row's other entries, not 1 minus the staying probability, which would lose rare exits.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lsmdp.arrays import CSR, Floats
from lsmdp.solvers.newton import newton
from lsmdp.solvers.problem import Attempt, Problem

LIMIT = 4000
BLAS = 8.0  # how much faster LAPACK multiplies than a sparse loop


def factor_work(n: int) -> float:
    """What a factorisation costs, in products with an entry of P."""
    return n**3 / 3 / BLAS


@dataclass(frozen=True)
class Dense:
    """Policy iteration with dense factorisations."""

    max_steps: int = 100
    name = "dense"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Iterate from v; gives v back unchanged where P has too many states to be written out."""
        if problem.n > LIMIT:
            _, lo, hi = problem.residual(v)
            return Attempt(v, lo, hi, 0)
        reference = int(np.argmin(v if np.ptp(v) > 0 else problem.c))
        attempt = newton(problem, v, tol, _Lapack(problem.P, reference), self.max_steps)
        return replace(attempt, work=attempt.steps * factor_work(problem.n) / problem.P.nnz)


@dataclass
class _Lapack:
    P: CSR
    reference: int

    def _generator(self, weights: Floats, eps: float) -> Floats:
        """(1 + eps) I - Q as an array."""
        matrix = np.zeros(self.P.shape)
        rows = np.repeat(np.arange(self.P.shape[0]), np.diff(self.P.indptr))
        matrix[rows, self.P.indices] = -weights
        np.fill_diagonal(matrix, 0.0)
        np.fill_diagonal(matrix, eps - matrix.sum(axis=1))
        return matrix

    def poisson(self, weights: Floats, r: Floats) -> Floats | None:
        generator = self._generator(weights, 0.0)
        others = np.delete(np.arange(r.size), self.reference)
        lu = _factor(generator[np.ix_(others, others)])
        visits = _solve(lu, -generator[self.reference, others], trans=1)
        mu = np.insert(visits, self.reference, 1.0)
        with np.errstate(all="ignore"):
            mu /= mu.sum()
        if not np.isfinite(mu).all():
            return None
        d = np.insert(_solve(lu, (r - mu @ r)[others]), self.reference, 0.0)
        self.reference = int(mu.argmax())
        return d

    def euler(self, weights: Floats, r: Floats, eps: float) -> Floats | None:
        return _solve(_factor(self._generator(weights, eps)), r)


def _factor(matrix: Floats) -> Any:
    from scipy.linalg import LinAlgWarning, lu_factor

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", LinAlgWarning)  # a singular matrix shows as entries that are not finite
        return lu_factor(matrix, overwrite_a=True, check_finite=False)


def _solve(lu: Any, b: Floats, trans: int = 0) -> Floats:
    from scipy.linalg import lu_solve

    return np.asarray(lu_solve(lu, b, trans=trans, check_finite=False))
