"""A factor of I - Q at an anchor, ready for many steps (chord.py).

An *anchor* is an earlier v. In: the problem, and the anchor v_0. Out: a :class:`Factor`, which solves (I - Q) d = r for
Q = Q_{v_0}, one r after the other, for as long as the leader is near v_0; None where floats hold no factor.

If P is reversible with respect to rho, the rows of I - Q_{v_0} times rho z (Pz) are symmetric, and half a factor does.
Otherwise the chain is pinned where it lives: it ends in a state that is common enough (_core/factor.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.chord import AnchorFactor, OrderedMoves
from lsmdp._core.dissection import inverse_of
from lsmdp._core.factor import Elimination, eliminate, pinned_where_it_lives
from lsmdp._core.ordering import Blocks
from lsmdp.arrays import CSR, Floats, read_only
from lsmdp.errors import ConvergenceError
from lsmdp.solvers.problem import Problem

# A symmetric factor in panels takes this share of the work of one without symmetry and panels, as was measured.
_WORK_OF_HALF_A_FACTOR = 0.85
# A factor in panels without symmetry takes this multiple of the work of one without panels, as was measured.
_WORK_OF_A_FACTOR = 1.4


@dataclass(frozen=True, eq=False)
class Factor:
    """I - Q at an anchor, as rounds read it: P and the factor, all arrays in the order of elimination."""

    moves: OrderedMoves
    longest: float  # entries of the longest row of P
    anchor: AnchorFactor
    work: float  # what it costs to make, relative to an elimination without symmetry and without panels

    @property
    def nbytes(self) -> int:
        """Bytes of the shares and pivots, of the blocks that say where they belong, and of the order."""
        a = self.anchor
        arrays = (a.lower, a.upper, a.pivots, a.order, *a.blocks[:-1])
        return sum({id(array): array.nbytes for array in arrays}.values())


def factor(problem: Problem, v: Floats) -> Factor | None:
    """The factor at this v, its shares in single precision; None where the chain is beyond it."""
    try:
        anchor = _balanced(problem, v) or _pinned(problem, v)
    except ConvergenceError:
        return None
    work = _WORK_OF_HALF_A_FACTOR if anchor.lower is anchor.upper else _WORK_OF_A_FACTOR
    return Factor(_permuted(problem), _longest(problem.P), anchor, work)


def _balanced(problem: Problem, v: Floats) -> AnchorFactor | None:
    """Half a factor, of the rows of I - Q times the law of Q; None where P is not reversible or v is too steep."""
    both = problem.balanced(v)
    if both is None:
        return None
    flow, law = both
    end = np.zeros_like(law)
    end[law.argmax()] = law.max()
    made = eliminate(problem.plan, flow, end, symmetric=True, single=True)
    law = law[made.order]
    return _anchor(made, law, law)


def _pinned(problem: Problem, v: Floats) -> AnchorFactor:
    """Both halves, of the chain that ends in a common state."""
    weights = sparse.policy_weights(problem.P, v)
    made, law, _ = pinned_where_it_lives(problem.plan, weights, int(v.argmin()), single=True)
    return _anchor(made, law[made.order], np.empty(0))


def nothing(problem: Problem) -> Factor:
    """No factor at all: steps of the power method, of which the pairs take care of the slow modes."""
    n, empty = problem.n, np.zeros(0, dtype=np.float32)
    start, rows = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    blocks = Blocks(np.zeros(1, dtype=np.int32), start, rows, start, np.zeros(0, dtype=np.int32), 0)
    made = Elimination(np.arange(n, dtype=np.int32), blocks, empty, empty, np.ones(n), killed=True)
    moves = OrderedMoves(*sparse.rows(problem.P), read_only(np.arange(n, dtype=np.uint32)))
    return Factor(moves, _longest(problem.P), _anchor(made, np.full(n, 1.0 / n), np.empty(0)), 0.0)


def _anchor(made: Elimination, law: Floats, scale: Floats) -> AnchorFactor:
    return AnchorFactor(made.order, law, scale, made.blocks, made.lower, made.upper, made.pivots)


def _permuted(problem: Problem) -> OrderedMoves:
    """P in the order of elimination, made with each factor and let go with it.

    That takes a few hundredths of the time of the factor, and the room is needed while the next one is made.
    """
    plan = problem.plan
    reading = plan.reading
    rows = problem.P[plan.order[reading]]
    indices = plan.inverse[rows.indices].view(np.uint32)
    moves = OrderedMoves(rows.indptr.astype(np.uint32), indices, rows.data, inverse_of(reading).view(np.uint32))
    for array in moves:
        read_only(array)
    return moves


def _longest(P: CSR) -> float:
    return float(np.diff(P.indptr).max())
