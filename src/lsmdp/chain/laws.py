"""The stationary law mu = mu P of an irreducible chain, accurate in every component.

The off-diagonal entries of P are taken as exact, and P(x, x) as what they leave of 1: a chain with moves of 1e-14 is
known to full relative accuracy from its moves, and from nothing else. The Markov chain tree theorem writes mu(x)
as a sum of products of moves, so relative errors of moves become relative errors of mu, whatever the sizes.
Methods that never subtract keep this property; all but the last of these do:

1. *Detailed balance.* If mu(x) P(x,y) = mu(y) P(y,x) for all moves, mu is a product of ratios along a search tree from
   state 0, and the moves outside the tree are the check (to 1e-12). One pass over P, any number of states.
2. *State reduction* (Grassmann, Taksar and Heyman; :mod:`lsmdp._core.factor`), where its cost, known beforehand, is
   acceptable.
3. *Lazy power steps* p <- 0.9 pP + 0.1 p, for graphs that mix fast and fill up under elimination. The change
   d_k = max_x p_{k+1}(x)/p_k(x) / min_x p_{k+1}(x)/p_k(x) - 1 never increases, and the relative error left is the sum
   of the changes to come. A small d_k alone does not bound it: where a chain hardly moves between two parts, d_k is
   small as soon as each part has settled. So when k d_k <= 1e-10, a second sequence starts from a single state, with
   no mass in the other part. If it agrees with the first to 1e-3 in every component after j steps, what depends on
   the start fades by 1e-3 in j steps, and the changes to come add up to d_k j / log(1e3), which must be at most
   1e-10. This is an estimate and not a proof, but a nearly decomposable chain does not pass it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp._core import chains, factor
from lsmdp._core.factor import LEAST_PIVOT
from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    Ints,
    frozen,
    read_only,
)
from lsmdp.chain.support import closed_class, require_irreducible
from lsmdp.errors import AssumptionError, ConvergenceError

_RELATIVE_ERROR_OF_A_LAW = 1e-10  # Each entry of a stationary law is right to this relative error, or there is none.
# Detailed balance holds where both sides agree to this relative error, which rounded tables of chances have.
_BALANCE_TOLERANCE = 1e-12
# The contraction of power steps is measured over this many, so that an oscillation is not taken for it.
_STEPS_OF_A_CONTRACTION = 8
_SHARE_OF_STAYING = 0.1  # Power steps stay where they are with this chance, so that a periodic chain converges as well.
# Two starts must lead to laws that agree to this relative error: what two wells have apart is far more.
_ERROR_OF_EQUAL_LAWS = 1e-3

_WORK_OF_A_LAW = 3e10  # A law may take this many operations of about a nanosecond each, half a minute.
_MOVE_WORK = 3  # To read a move in a power step takes this many operations.
_PLAN_WORK = 1000  # To order an elimination takes this many operations for each move.
# Up to this many states, an order of elimination takes less than half a second on any graph; beyond, it takes long and
# may turn out to be of no use.
STATES_TO_ORDER = 20_000
# An elimination of up to this many operations takes a few tenths of a second, less than power steps would.
QUICK_FLOPS = 2e8
# The search for a state where the chain lives reads this many moves at most, in a fraction of a second.
_SEARCH_MOVES = 2e8
_MOST_FILL = 60_000_000  # A factor has at most this many entries, which take 1.2 GB.


def reversible_law(P: CSR) -> Floats | None:
    """The law that balances every move with its reverse, or None if P is not reversible (or not irreducible)."""
    if (np.bincount(P.indices, minlength=P.shape[0]) != np.diff(P.indptr)).any():
        return None
    transpose = P.T.tocsr()
    if not np.array_equal(transpose.indices, P.indices):
        return None
    n = P.shape[0]
    m, e, queue = np.zeros(n), np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    moves = frozen(P.indptr), frozen(P.indices), frozen(P.data)  # one kind, whether P may be written to or not
    balanced = chains.balance(*moves, transpose.data, _BALANCE_TOLERANCE, m, e, queue)
    return _law(m, e) if balanced else None


def is_reversible(P: CSR) -> bool:
    """Whether P is irreducible and mu(x) P(x,y) = mu(y) P(y,x) for all x and y, to 1e-12 relative."""
    return reversible_law(P) is not None


def stationary(P: CSR, *, irreducible: bool = False, work: float = _WORK_OF_A_LAW) -> Floats:
    """The stationary law of an irreducible P, to a relative accuracy of 1e-10 in every component.

    Components below 1e-308 are 0. Raises a ConvergenceError where no method can vouch for its result.
    ``irreducible=True`` spares the check where that is known; ``work`` limits what is spent on a large chain, in
    operations of about a nanosecond.
    """
    law = reversible_law(P)
    if law is None:
        if not irreducible:
            require_irreducible(P, "The stationary law")
        law = _reduced_or_iterated(P, work)
    verify(P, law)
    return law


def long_run_law(Q: CSR) -> Floats:
    """The stationary law of a chain that need not visit every state: 0 outside the one class that it never leaves."""
    moves = Q.copy()
    moves.eliminate_zeros()
    visited = closed_class(moves)
    if visited is None:
        raise AssumptionError(
            "Q has more than one set of states that it never leaves, so its average cost depends on the start and no "
            "single law belongs to it. Mix in a little of P: 0.99 * Q + 0.01 * P."
        )
    if visited.size == Q.shape[0]:
        return stationary(moves, irreducible=True)
    mu = np.zeros(Q.shape[0])
    mu[visited] = stationary(moves[visited][:, visited], irreducible=True)
    return mu


def _law(m: Floats, e: Ints) -> Floats:
    """Scaled numbers, divided by their sum."""
    top = e[m > 0.0].max()
    law = np.ldexp(m, np.maximum(e - top, -2000).astype(np.int32))
    return read_only(law / law.sum())


def verify(P: CSR, law: Floats) -> None:
    """Raise unless mu P = mu in every component: necessary for, not a proof of, what the methods promise."""
    error = np.abs(law @ P - law)
    wrong = np.flatnonzero(~(error <= _RELATIVE_ERROR_OF_A_LAW * law + 1e-300))
    if wrong.size:
        x = int(wrong[0])
        raise ConvergenceError(
            f"the stationary law could not be verified: mu(x) = {law[x]:.6g} at state {x}, but mu P differs from it by "
            f"{error[x]:.2g} there. The chain may be too nearly decomposable for float64; teleport(1e-6) or larger "
            "makes it well posed."
        )


def _reduced_or_iterated(P: CSR, work: float) -> Floats:
    plan = factor.plan(P, _MOST_FILL) if P.shape[0] <= STATES_TO_ORDER else None
    if plan is not None and plan.entries is not None and plan.flops <= QUICK_FLOPS:
        return reduced(plan)
    law = iterated(P, work)
    if law is not None:
        return law
    if plan is None and _PLAN_WORK * P.nnz <= work:
        plan = factor.plan(P, _MOST_FILL)
    if plan is not None and plan.entries is not None and plan.flops <= work:
        return reduced(plan)
    raise ConvergenceError(
        f"the stationary law was not found: power steps converge too slowly for {P.shape[0]:,} states and {P.nnz:,} "
        "moves, and an elimination would fill up. Raise work, or change the chain: a small chance to jump to a few "
        "states, teleport(0.001, to=[...]), makes it mix faster."
    )


def reduced(plan: factor.Plan) -> Floats:
    """The law by state reduction, from whichever last state leaves pivots that floats can hold."""
    P = plan.P
    for last in _references(P, plan.last):
        try:
            factors = factor.eliminate(plan.with_last(last), P.data)
        except ConvergenceError:
            continue
        if factors.pivots[:-1].min(initial=1.0) >= LEAST_PIVOT:
            return _back(factors.order, *factors.by_state())
    raise _stuck(P)


def _references(P: CSR, first: int = 0) -> Iterator[int]:
    """States to remove last: any will do unless leaving it is next to impossible; then one where the chain lives."""
    yield first
    step = _lazy_step(P)
    p = np.full(P.shape[0], 1.0 / P.shape[0])
    for _ in range(min(4 * P.shape[0], int(_SEARCH_MOVES / P.nnz))):
        p = step(p)
    yield int(p.argmax())


def _back(order: npt.NDArray[Any], starts: Any, columns: Any, lower: Floats) -> Floats:
    m, e = chains.left_null(starts, columns, lower)
    place = np.argsort(order)
    return _law(m[place], e[place])


def _stuck(P: CSR) -> ConvergenceError:
    return ConvergenceError(
        f"the stationary law of these {P.shape[0]:,} states is beyond float64: some are left with a probability "
        "below 1e-100, so the balance between parts of the chain is lost. Drop such moves and keep one part with "
        "largest_class(), or join the parts with teleport(1e-6) or larger."
    )


def _lazy_step(P: CSR) -> Callable[[Floats], Floats]:
    transpose = P.T.tocsr()

    def step(p: Floats) -> Floats:
        law: Floats = (1.0 - _SHARE_OF_STAYING) * (transpose @ p) + _SHARE_OF_STAYING * p
        law /= law.sum()
        return law

    return step


def iterated(P: CSR, work: float = _WORK_OF_A_LAW) -> Floats | None:
    """Lazy power steps from the uniform law, confirmed from a single state; None if they are too slow."""
    n = P.shape[0]
    step = _lazy_step(P)
    most = int(min(work / (2 * _MOVE_WORK * P.nnz), 5000))
    law, settled = _until(
        lambda k, p, after: k * _spread(after, p) / _RELATIVE_ERROR_OF_A_LAW, step, np.full(n, 1.0 / n), most
    )
    if not settled:
        return None
    in_time = _RELATIVE_ERROR_OF_A_LAW * math.log(1.0 / _ERROR_OF_EQUAL_LAWS) / max(_spread(step(law), law), EPS)
    start = np.eye(1, n)[0]
    _, confirmed = _until(
        lambda _k, _p, after: _spread(after, law) / _ERROR_OF_EQUAL_LAWS, step, start, int(min(in_time, most))
    )
    return read_only(law) if confirmed else None


def _until(
    error: Callable[[int, Floats, Floats], float], step: Callable[[Floats], Floats], p: Floats, most: int
) -> tuple[Floats, int]:
    """Step until the error is at most 1: the law and the number of steps, or 0 when ``most`` of them will not do."""
    errors: list[float] = []
    for k in range(1, most + 1):
        before, p = p, step(p)
        errors.append(error(k, before, p))
        if errors[-1] <= 1.0:
            return p, k
        if k > _STEPS_OF_A_CONTRACTION and errors[-1 - _STEPS_OF_A_CONTRACTION] < math.inf:
            pace = math.log(errors[-1 - _STEPS_OF_A_CONTRACTION] / errors[-1]) / _STEPS_OF_A_CONTRACTION
            if math.log(errors[-1]) > pace * (most - k):
                break
    return p, 0


def _spread(p: Floats, q: Floats) -> float:
    """max p/q / min p/q - 1, infinite where one of them has a zero."""
    if p.min() == 0.0 or q.min() == 0.0:
        return math.inf
    ratio = p / q
    return float(ratio.max() / ratio.min() - 1.0)
