"""A factor of I - Q at an anchor, ready for many steps (chord.py).

If P is reversible with respect to rho, the rows of I - Q_{v_0} times rho z (Pz) are symmetric, and half a factor does.
Otherwise the chain is pinned where it lives: it ends in a state that is common enough (elimination.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import CSR, Floats, frozen
from lsmdp.dissection import Blocks
from lsmdp.elementary import entry
from lsmdp.elimination import Elimination, eliminate, pinned
from lsmdp.errors import ConvergenceError
from lsmdp.perron.problem import Problem

SYMMETRIC_SPAN = 250.0  # of v up to which products of two e^{-v} are safe
VISITED = 0.01  # the pinned state may be this much rarer than the commonest one


@dataclass(frozen=True, eq=False)
class Factor:
    """I - Q at the anchor, pinned where that chain lives; all arrays in the order of elimination."""

    factors: Elimination
    P: CSR
    turn: Any  # the state that each row of P is of
    law: Floats  # mu_0
    rows: Floats  # what the rows were multiplied by, if by anything

    @cached_property
    def given(self) -> tuple[Any, ...]:
        """What rounds read of it: P with the entries of its longest row, the order, the chain at the anchor."""
        f, most = self.factors, int(np.diff(self.P.indptr).max())
        made = self.law, self.rows, f.blocks, f.bases, f.lower, f.upper, f.pivots
        return (*kernels.rows(self.P), self.turn, most), f.order, made

    @property
    def work(self) -> float:
        """The cost to make it, relative to an elimination without symmetry and without panels."""
        return 0.85 if self.factors.lower is self.factors.upper else 1.4


def factor(problem: Problem, anchor: Floats) -> Factor | None:
    """The factor at this v, its shares in single precision; None where the chain is beyond it."""
    rho = problem.lmdp.reversible_law
    try:
        if rho is not None and np.ptp(anchor) <= SYMMETRIC_SPAN:
            factors, law = _balanced(problem, anchor, rho)
            law = rows = law[factors.order]
        else:
            factors, law = _pinned(problem, anchor)
            law, rows = law[factors.order], np.empty(0)
    except ConvergenceError:
        return None
    return Factor(factors, *problem.plan.permuted, law, rows)


def nothing(problem: Problem) -> Factor:
    """No factor at all: steps of the power method, of which the pairs take care of the slow modes."""
    n, empty = problem.n, np.zeros(0, dtype=np.float32)
    start, rows = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    blocks = Blocks(np.zeros(1, dtype=np.int32), start, rows, start, np.zeros(0, dtype=np.int32))
    order = np.arange(n, dtype=np.int32)
    factors = Elimination(order, blocks, empty, empty, np.ones(n), killed=True, bases=start)
    return Factor(factors, problem.P, frozen(order.view(np.uint32)), np.full(n, 1.0 / n), np.empty(0))


def _pinned(problem: Problem, anchor: Floats) -> tuple[Elimination, Floats]:
    weights = kernels.policy_weights(problem.P, anchor)
    state = int(anchor.argmin())
    factors, law = pinned(problem.plan, weights, state, single=True)
    if law[state] < VISITED * law.max():
        del factors
        factors, law = pinned(problem.plan, weights, int(law.argmax()), single=True)
    return factors, law


def _balanced(problem: Problem, anchor: Floats, rho: Floats) -> tuple[Elimination, Floats]:
    """rho(x) P(x,y) z(x) z(y) is symmetric, and its rows sum to mu up to a factor."""
    P = problem.P
    flow, law = np.empty(P.nnz), np.empty(P.shape[0])
    total = _flow(*kernels.rows(P), rho, np.exp(anchor.min() - anchor), flow, law)
    flow /= total
    law /= total
    end = np.zeros_like(law)
    end[law.argmax()] = law.max()
    return eliminate(problem.plan, flow, end, symmetric=True, single=True), law


@entry()
def _flow(indptr: Any, indices: Any, data: Any, rho: Any, z: Any, flow: Any, law: Any) -> float:
    """rho(x) P(x,y) z(x) z(y), its row sums, and their sum."""
    total = 0.0
    for x in range(z.size):
        scale, s = rho[x] * z[x], 0.0
        for p in range(indptr[x], indptr[x + 1]):
            flow[p] = scale * data[p] * z[indices[p]]
            s += flow[p]
        law[x] = s
        total += s
    return total
