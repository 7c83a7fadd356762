"""Methods that factor I - Q_v: inverse iteration (inverse.py), and Newton's method (newton.py) from where it ends.

``Direct`` and ``Dense`` take the same steps and differ in who solves the linear systems, all of the form M u = b with
M = I - Q_v + diag(killing rates).

- ``Direct``: state reduction (_core/factor.py), sparse and without a single subtraction. Its steps are accurate however
  rarely the chain leaves a region, and it serves any number of states of a graph that is thin: roads, grids, rings.
- ``Dense``: LAPACK. Nothing has to be compiled for it, and up to about 1,000 states it is as quick. The states are
  put into the order of Cuthill and McKee, which keeps neighbours close together. If all moves are then between states
  that are near each other, M is a band, which costs far less than a square: on a grid of 30 x 30 cells the band is 30
  wide, and a factorisation takes 0.6 ms in place of 19. BLAS works on one thread meanwhile, so that the bits do not
  depend on the machine. The diagonal of M is the sum of the row's other entries and of the killing rate, not 1 minus
  the chance to stay, which would lose rare exits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.factor import eliminate, pinned_where_it_lives
from lsmdp._core.threads import one_thread
from lsmdp.arrays import CSR, Floats, Ints, mean
from lsmdp.errors import ConvergenceError
from lsmdp.solvers.inverse import Inverter, inverse_iteration
from lsmdp.solvers.newton import Evaluator, newton
from lsmdp.solvers.problem import Attempt, Problem

# Up to so many states LAPACK factors in at most 25 ms, and the loops of other methods would take seconds to compile.
STATES_FOR_LAPACK = 1_000
MOST_STATES_WRITTEN_OUT = 4_000  # A square array of more states is no longer small: this one takes 128 MB.
_MOST_INVERSE_STEPS = 20  # Inverse iteration takes two to four steps where it converges; this many are never needed.
_FEWEST_REPEATS, _MOST_REPEATS = 4, 16  # Inverse iteration applies a factor at least and at most so many times.
_SOLVES_SHARE = 1 / 6  # A factor is used as often as costs this share of making it, by the count of products.
_LAPACK_SPEED = 8.0  # LAPACK multiplies about this many times faster than a loop over sparse entries.
_PRODUCTS_OF_A_STEP = 10.0  # The weights, the certificates and the solves of a step take as long as so many products.
_LAPACK_REPEATS = 6  # With only four, LAPACK does not always see which of two wells is the deeper one.


class _Systems(Evaluator, Inverter, Protocol):
    """Solves the linear systems of both iterations."""


@dataclass(frozen=True)
class Direct:
    """Inverse iteration and policy iteration with sparse elimination."""

    max_steps: int = 100
    name = "direct"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Iterate from v; gives v back unchanged where the elimination would fill in too much."""
        if problem.plan.entries is None:
            return _unchanged(problem, v)
        return _run(problem, v, tol, Reduction(problem, v), self.max_steps, problem.plan.work)


@dataclass(frozen=True)
class Dense:
    """Inverse iteration and policy iteration with LAPACK."""

    max_steps: int = 100
    name = "dense"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Iterate from v; gives v back unchanged where P has too many states to be written out."""
        if problem.n > MOST_STATES_WRITTEN_OUT:
            return _unchanged(problem, v)
        with one_thread():
            return _run(problem, v, tol, Lapack(problem, v), self.max_steps, lapack_work(problem))


def lapack_work(problem: Problem) -> float:
    """What a step with LAPACK costs, in products with an entry of P: the factor, and what comes with it."""
    n, width = problem.n, _layout(problem).width
    return min(2.0 * n * width**2, n**3 / 3) / _LAPACK_SPEED + _PRODUCTS_OF_A_STEP * float(problem.P.nnz)


def _unchanged(problem: Problem, v: Floats) -> Attempt:
    _, lo, hi = problem.residual(v)
    return Attempt(v, lo, hi, 0)


def _run(problem: Problem, v: Floats, tol: float, systems: _Systems, max_steps: int, work: float) -> Attempt:
    attempt = inverse_iteration(problem, v, tol, systems, min(_MOST_INVERSE_STEPS, max_steps))
    taken = attempt.steps
    if attempt.gap > tol and taken < max_steps:
        attempt = newton(problem, attempt.v, tol, systems, max_steps - taken)
        taken += attempt.steps
    return replace(attempt, steps=taken, work=taken * work / problem.P.nnz)


def _likely(problem: Problem, v: Floats) -> int:
    """A state where the chain is likely to live, as the reference of the first Newton step."""
    return int(np.argmin(v if np.ptp(v) > 0 else problem.c))


class Reduction:
    """The systems by state reduction."""

    def __init__(self, problem: Problem, v: Floats) -> None:
        self.problem, self.reference = problem, _likely(problem, v)
        ratio = problem.plan.work / problem.plan.step
        self.repeats = int(np.clip(_SOLVES_SHARE * ratio, _FEWEST_REPEATS, _MOST_REPEATS))

    def resolvent(self, v: Floats, killing: Floats) -> Callable[[Floats], Floats]:
        """What solves (I - Q_v + killing) u = b, one b after the other."""
        problem = self.problem
        flow = problem.balanced(v)
        if flow is None:
            return eliminate(problem.plan, sparse.policy_weights(problem.P, v), killing).solve
        weights, law = flow
        factors = eliminate(problem.plan, weights, law * killing, symmetric=True)
        return lambda b: factors.solve(law * b)

    def poisson(self, weights: Floats, r: Floats) -> Floats | None:
        """d with (I - Q) d = r - mu.r for the chain with these weights; None where floats have none."""
        try:
            factors, mu, self.reference = pinned_where_it_lives(self.problem.plan, weights, self.reference)
        except ConvergenceError:
            return None
        return factors.solve(r - mean(mu, r))

    def euler(self, weights: Floats, r: Floats, eps: float) -> Floats | None:
        """d with (I - Q + eps) d = r for the chain with these weights; None where floats have none."""
        return eliminate(self.problem.plan, weights, np.full(r.size, eps)).solve(r)


class _Layout(NamedTuple):
    """Where LAPACK finds the moves of P: entry p of P is in the given row and column, all within ``width``."""

    order: Ints
    row: Ints
    column: Ints
    width: int

    @property
    def banded(self) -> bool:
        """Whether a band, of which LAPACK keeps three widths, is smaller than the square."""
        return 3 * self.width < self.order.size


def _layout(problem: Problem) -> _Layout:
    return problem.lmdp.cache.get("layout for LAPACK", lambda: _laid_out(problem.P))


def _laid_out(P: CSR) -> _Layout:
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = int(P.shape[0])
    order = np.asarray(reverse_cuthill_mckee(P + P.T, symmetric_mode=True), dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    row, column = np.repeat(place, np.diff(P.indptr)), place[P.indices]
    return _Layout(order, row, column, int(np.abs(row - column).max()))


class Lapack:
    """The systems by LAPACK."""

    repeats = _LAPACK_REPEATS

    def __init__(self, problem: Problem, v: Floats) -> None:
        self.P, self.layout, self.reference = problem.P, _layout(problem), _likely(problem, v)

    def resolvent(self, v: Floats, killing: Floats) -> Callable[[Floats], Floats]:
        """What solves (I - Q_v + killing) u = b, one b after the other."""
        return self._factored(sparse.policy_weights(self.P, v), killing)

    def poisson(self, weights: Floats, r: Floats) -> Floats | None:
        """d with (I - Q) d = r - mu.r for the chain with these weights; None where floats have none."""
        end = np.zeros(r.size)
        end[self.reference] = 1.0  # the chain ends there: _core/factor.py says why this solves the Poisson equation
        try:
            solve = self._factored(weights, end)
        except ConvergenceError:
            return None
        with np.errstate(all="ignore"):  # what is not finite is looked for
            mu = solve(end, transposed=1)
            mu /= mu.sum()
            if not np.isfinite(mu).all():
                return None
            d = solve(r - mean(mu, r))
        self.reference = int(mu.argmax())
        return d

    def euler(self, weights: Floats, r: Floats, eps: float) -> Floats | None:
        """d with (I - Q + eps) d = r for the chain with these weights; None where floats have none."""
        try:
            return self._factored(weights, np.full(r.size, eps))(r)
        except ConvergenceError:
            return None

    def _factored(self, weights: Floats, killing: Floats) -> _Solve:
        """M factored; its solves take b in the order of the states."""
        from scipy.linalg import lapack

        order, row, column, width = self.layout
        n, moves = order.size, row != column
        diagonal = killing[order] + np.bincount(row[moves], weights[moves], minlength=n)
        if self.layout.banded:
            matrix = np.zeros((3 * width + 1, n), order="F")
            matrix[2 * width + row - column, column] = -weights
            matrix[2 * width] = diagonal
            lu, pivots, failed = lapack.dgbtrf(matrix, width, width, overwrite_ab=True)
        else:
            matrix = np.zeros((n, n), order="F")
            matrix[row, column] = -weights
            np.fill_diagonal(matrix, diagonal)
            lu, pivots, failed = lapack.dgetrf(matrix, overwrite_a=True)
        if failed:
            raise ConvergenceError("the linear system of a step is singular in double precision.")

        def solve(b: Floats, transposed: Literal[0, 1] = 0) -> Floats:
            if self.layout.banded:
                u, _ = lapack.dgbtrs(lu, width, width, b[order], pivots, trans=transposed, overwrite_b=True)
            else:
                u, _ = lapack.dgetrs(lu, pivots, b[order], trans=transposed, overwrite_b=True)
            out = np.empty(n)
            out[order] = u.ravel()
            return out

        return solve


class _Solve(Protocol):
    def __call__(self, b: Floats, transposed: Literal[0, 1] = 0) -> Floats:
        """u with M u = b, or u M = b."""
