"""A factor of I - Q at an anchor, ready for many steps (chord.py).

If P is reversible with respect to rho, the rows of I - Q_{v_0} times rho z (Pz) are symmetric, and half a factor does.
Otherwise the chain is pinned where it lives: it ends in a state that is common enough (factor.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.factor import Elimination, eliminate, pinned
from lsmdp._core.ordering import RUN, Blocks, Plan
from lsmdp.arrays import CSR, Floats, freeze, read_only
from lsmdp.errors import ConvergenceError
from lsmdp.solvers.problem import Problem

VISITED = 0.01  # the pinned state may be this much rarer than the commonest one


@dataclass(frozen=True, eq=False)
class Moves:
    """P as steps read it."""

    rows: sparse.Arrays
    turn: Any  # the state that each row is of, counted from the first of its RUN
    most: int  # entries of the longest row


_copies: WeakValueDictionary[Plan, Moves] = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class Factor:
    """I - Q at the anchor, pinned where that chain lives; all arrays in the order of elimination."""

    factors: Elimination
    moves: Moves
    law: Floats  # mu_0
    rows: Floats  # what the rows were multiplied by, if by anything

    @cached_property
    def given(self) -> tuple[Any, ...]:
        """What rounds read of it: P, the order, the chain at the anchor."""
        f, moves = self.factors, self.moves
        made = self.law, self.rows, f.blocks, f.bases, f.lower, f.upper, f.pivots
        return (*moves.rows, moves.turn, moves.most), f.order, made

    @property
    def empty(self) -> bool:
        """Whether it is none at all, with the states in their own order."""
        return self.factors.lower.size == 0

    @property
    def work(self) -> float:
        """The cost to make it, relative to an elimination without symmetry and without panels."""
        return 0.85 if self.factors.lower is self.factors.upper else 1.4


def factor(problem: Problem, anchor: Floats) -> Factor | None:
    """The factor at this v, its shares in single precision; None where the chain is beyond it."""
    both = problem.balanced(anchor)
    try:
        if both is not None:
            flow, law = both
            end = np.zeros_like(law)
            end[law.argmax()] = law.max()
            factors = eliminate(problem.plan, flow, end, symmetric=True, single=True)
            law = rows = law[factors.order]
        else:
            factors, law = _pinned(problem, anchor)
            law, rows = law[factors.order], np.empty(0)
    except ConvergenceError:
        return None
    return Factor(factors, _permuted(problem.plan), law, rows)


def nothing(problem: Problem) -> Factor:
    """No factor at all: steps of the power method, of which the pairs take care of the slow modes."""
    n, empty = problem.n, np.zeros(0, dtype=np.float32)
    start, rows = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    blocks = Blocks(np.zeros(1, dtype=np.int32), start, rows, start, np.zeros(0, dtype=np.int32))
    order = np.arange(n, dtype=np.int32)
    factors = Elimination(order, blocks, empty, empty, np.ones(n), killed=True, bases=start)
    moves = Moves(sparse.rows(problem.P), read_only((order % RUN).astype(np.uint8)), _longest(problem.P))
    return Factor(factors, moves, np.full(n, 1.0 / n), np.empty(0))


def _pinned(problem: Problem, anchor: Floats) -> tuple[Elimination, Floats]:
    weights = sparse.policy_weights(problem.P, anchor)
    state = int(anchor.argmin())
    factors, law = pinned(problem.plan, weights, state, single=True)
    if law[state] < VISITED * law.max():
        del factors
        factors, law = pinned(problem.plan, weights, int(law.argmax()), single=True)
    return factors, law


def _permuted(plan: Plan) -> Moves:
    """P in the order of elimination, the rows of each RUN in their turn: one copy for all factors, while there are any.

    It is made again with the next factor, in a few hundredths of the time: the room is needed while that is made.
    """
    copy = _copies.get(plan)
    if copy is None:
        at = np.arange(plan.order.size)
        moved = plan.P[plan.order[at - at % RUN + plan.turn]]
        moved.indices = plan.inverse[moved.indices].astype(moved.indices.dtype)
        copy = _copies[plan] = Moves(sparse.rows(freeze(moved)), plan.turn, _longest(plan.P))
    return copy


def _longest(P: CSR) -> int:
    return int(np.diff(P.indptr).max())
