"""Newton's method with GMRES: for graphs that neither mix fast nor can be eliminated.

Each system needs only products with Q, the policy of the present v; d is the step of Newton's method, r = Bv - v, and
mu the law of Q. A few slow modes (of nearly decomposable or nearly periodic chains) are eigenvalues m of Q far from the
others. Each of them costs a Krylov space one dimension, where the power method would take 1/(1 - |m|) steps. The
singular Poisson equation is solved as (I - Q + 1 w^T) d = r: multiplying by mu shows w.d = mu.r, so that d solves the
equation whatever law w is taken; the present guess of mu keeps it well conditioned.

The solves are inexact: the certificate, not the solver, decides when to stop. BLAS is held to one thread meanwhile: the
vectors of a basis are too short to share out (on two busy cores it took ten times as long), and the bits of a
solution would depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lsmdp._core.threads import one_thread
from lsmdp.arrays import CSR, Floats, like
from lsmdp.solvers.newton import newton
from lsmdp.solvers.problem import Attempt, Problem

# GMRES stops at this residual, relative and in the Euclidean norm, in which a slow mode is small.
_KRYLOV_TOLERANCE = 1e-9
# GMRES starts again at most this often; a system that takes longer is left to the next step of Newton's method.
_MOST_CYCLES = 8
# Up to so many states, the vectors of a whole basis take 80 MB at most; beyond, a basis has a quarter of them.
_STATES_OF_A_LONG_BASIS = 200_000
_VECTORS_OF_A_SHORT_BASIS = 12  # On more states, GMRES starts again after so many vectors: 96 bytes for each state.
_STEPS_TO_A_ROUGH_LAW = 4  # From the uniform law, so many steps lead away from states that are hardly ever visited.
VECTORS_OF_A_BASIS = 50  # GMRES keeps this many vectors before it starts again, as long as they take little memory.


def product_work(problem: Problem) -> float:
    """What a product costs, with its place in the basis, in products with an entry of P."""
    return float(problem.P.nnz + VECTORS_OF_A_BASIS * problem.n)


@dataclass(frozen=True)
class Krylov:
    """Policy iteration with GMRES."""

    max_steps: int = 60
    max_products: int = 1_000_000
    name = "krylov"

    def run(self, problem: Problem, v: Floats, tol: float) -> Attempt:
        """Iterate from v."""
        gmres = _Gmres(problem.P, self.max_products)
        with one_thread():
            attempt = newton(problem, v, tol, gmres, self.max_steps)
        products = self.max_products - gmres.left
        return replace(attempt, work=products * product_work(problem) / problem.P.nnz)


@dataclass
class _Gmres:
    P: CSR
    left: int  # products that may still be taken

    def poisson(self, weights: Floats, r: Floats) -> Floats | None:
        Q = like(self.P, weights)
        law = np.full(r.size, 1.0 / r.size)
        for _ in range(_STEPS_TO_A_ROUGH_LAW):
            law = law @ Q
        spread = r - r.mean()  # the accuracy of GMRES is relative: to this, not to lambda
        return self._gmres(lambda d: d - Q @ d + law @ d, spread)

    def euler(self, weights: Floats, r: Floats, eps: float) -> Floats | None:
        Q = like(self.P, weights)
        return self._gmres(lambda d: (1.0 + eps) * d - Q @ d, r)

    def _gmres(self, product: Callable[[Floats], Floats], b: Floats) -> Floats | None:
        from scipy.sparse.linalg import LinearOperator, gmres

        restart = (
            VECTORS_OF_A_BASIS if b.size <= _STATES_OF_A_LONG_BASIS else _VECTORS_OF_A_SHORT_BASIS
        )  # the basis is restart vectors of n numbers
        cycles = min(_MOST_CYCLES, self.left // restart)
        if cycles <= 0:  # a cycle takes a product or two more than its basis
            return None

        def counted(d: Floats) -> Floats:
            self.left -= 1
            return product(d)

        operator = LinearOperator((b.size, b.size), matvec=counted, dtype=np.float64)
        _, exponent = np.frexp(np.abs(b).max())  # norms are roots of sums of squares, which end at 1e154; b may not
        d, _ = gmres(operator, np.ldexp(b, -exponent), rtol=_KRYLOV_TOLERANCE, restart=restart, maxiter=cycles)
        with np.errstate(over="ignore"):  # infinite, which callers look for
            return np.asarray(np.ldexp(d, exponent))
