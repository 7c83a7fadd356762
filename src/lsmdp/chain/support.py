"""The graph of possible moves: its strongly connected classes, shortest ways, its period, its least likely move.

Classes and searches are those of :mod:`scipy.sparse.csgraph`, which is imported where it is first used.

**Period.** In an irreducible chain let level(x) be the distance from state 0. The period, the gcd of the lengths of
all cycles, is the gcd of level(x) + 1 - level(y) over the moves x -> y: along a cycle these numbers add up to
its length, and each of them is the difference of the lengths of two walks from 0 to y.
"""

from __future__ import annotations

import numpy as np

from lsmdp.arrays import CSR, Ints
from lsmdp.errors import AssumptionError


def strong_classes(P: CSR) -> tuple[int, Ints]:
    """Number of strongly connected classes, and the class of each state; every stored entry is a move."""
    from scipy.sparse.csgraph import connected_components

    count, member = connected_components(P, connection="strong")
    return int(count), member.astype(np.int64)


def search(P: CSR, start: int) -> tuple[Ints, Ints]:
    """The number of moves from ``start`` to each state (-1: no way), and the state before it on a shortest way.

    The search goes breadth first. The number of moves to a state is its depth in the tree of the states before: each
    turn of the loop replaces the state before by the one twice as far back, and adds up the moves in between.
    """
    from scipy.sparse.csgraph import breadth_first_order

    order, before = breadth_first_order(P, start)
    back = np.full(P.shape[0], start, dtype=np.int64)
    back[order] = before[order]
    back[start] = start
    moves = (back != start).astype(np.int64)  # from the state that ``back`` points to, less the last one
    while (back != start).any():
        moves += moves[back]
        back = back[back]
    level = np.full(P.shape[0], -1, dtype=np.int64)
    level[order] = moves[order] + 1
    level[start] = 0
    return level, before.astype(np.int64)


def largest_class(P: CSR) -> Ints:
    """States of the largest strongly connected class, in order; of equally large ones, that of the first state."""
    count, member = strong_classes(P)
    if count == 1:
        return np.arange(P.shape[0], dtype=np.int64)
    sizes = np.bincount(member, minlength=count)
    chosen = member[np.argmax(sizes[member])]
    return np.flatnonzero(member == chosen).astype(np.int64)


def closed_class(P: CSR) -> Ints | None:
    """The states of the only class that cannot be left, in order; None if there are several such classes."""
    count, member = strong_classes(P)
    origin = np.repeat(member, np.diff(P.indptr))
    can_leave = np.zeros(count, dtype=bool)
    can_leave[origin[origin != member[P.indices]]] = True
    closed = np.flatnonzero(~can_leave)
    return np.flatnonzero(member == closed[0]).astype(np.int64) if closed.size == 1 else None


def require_irreducible(P: CSR, what: str) -> None:
    """Raise an AssumptionError unless every state can be reached from every other; ``what`` needs it."""
    count, member = strong_classes(P)
    if count > 1:
        raise AssumptionError(
            f"P is not irreducible (ass:irred): it falls into {count:,} classes, and the largest holds "
            f"{np.bincount(member).max():,} of {P.shape[0]:,} states. {what} needs a chain that can go from everywhere "
            "to everywhere. Keep one class with largest_class(), or let it jump anywhere with teleport(0.01)."
        )


def period(P: CSR, *, irreducible: bool = False) -> int:
    """The gcd of the lengths of all cycles of an irreducible P; 1 means aperiodic.

    ``irreducible=True`` spares the check where that is known, here and elsewhere.
    """
    if not irreducible:
        require_irreducible(P, "The period")
    if P.diagonal().any():
        return 1
    level, _ = search(P, 0)
    return int(np.gcd.reduce(np.repeat(level + 1, np.diff(P.indptr)) - level[P.indices]))


def p_min(P: CSR) -> float:
    """The smallest positive transition probability; B of the paper is -log p_min."""
    return float(P.data.min())
