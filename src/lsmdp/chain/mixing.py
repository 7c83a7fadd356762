"""How fast a chain forgets where it started: Dobrushin coefficients and the powers of P that have no zeros.

The Dobrushin coefficient of a kernel (ass:ergod, with the 1/2 that its proofs use) is

    a(P) = 1/2 max_{x,y} |P(.|x) - P(.|y)|_1 = 1 - min_{x,y} sum_s min(P(s|x), P(s|y)).

The minimum is the *overlap* of P. It is a sum of positive numbers, so it is accurate where 1 - a(P) would be rounding
error, and a(P) = 1 exactly when two states have no common successor: on every large sparse graph. What counts
then is the smallest k with a(P^k) < 1. It depends on the support of P alone: it is the smallest k such that any two
states have a common descendant after k steps. There is one exactly if P has a single closed class, an aperiodic one.

The primitivity index H of ass:irred is the smallest H with P^H > 0; no row of P is zero, so all later powers are
positive too. Both are found by squaring a boolean matrix until it has the property and descending bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lsmdp._core import chains
from lsmdp.arrays import CSR
from lsmdp.chain.fact import Fact, too_large
from lsmdp.chain.support import closed_class, period, strong_classes

POWER_STATES = 2_000  # boolean powers
OVERLAP_STATES = 1_000  # powers in float64
OVERLAP_WORK = 2_000_000_000  # about two seconds


def overlap(P: CSR, steps: int = 1) -> Fact[float]:
    """1 - a(P^steps): the least mass that the laws of two states have in common after so many steps."""
    n = P.shape[0]
    if steps == 1:
        return _one_step_overlap(P)
    if n > OVERLAP_STATES:
        return Fact(reason=too_large(n, OVERLAP_STATES))
    return Fact(chains.least_overlap_dense(np.linalg.matrix_power(P.toarray(), steps)))


def dobrushin(P: CSR, steps: int = 1) -> Fact[float]:
    """a(P^steps); where that would take too long, the reason and Doeblin's bound on it, if it says anything."""
    shared = overlap(P, steps)
    if shared.value is not None:
        return Fact(1.0 - shared.value)
    common = 1.0 - doeblin(P)
    return (
        Fact(reason=shared.reason, bound=common, bound_name="Doeblin") if common < 1.0 else Fact(reason=shared.reason)
    )


def doeblin(P: CSR) -> float:
    """sum_s min_x P(s|x), the mass that all states send to the same places; a(P^k) <= a(P) <= 1 - doeblin(P)."""
    n = P.shape[0]
    everywhere = np.bincount(P.indices, minlength=n) == n  # other columns have a zero
    least = np.ones(n)
    np.minimum.at(least, P.indices, P.data)
    return float(least[everywhere].sum())


def primitivity_index(P: CSR) -> Fact[int]:
    """The smallest H with P^H > 0 (ass:irred); there is none unless P is irreducible and aperiodic."""
    n = P.shape[0]
    if n > POWER_STATES:
        return Fact(reason=too_large(n, POWER_STATES))
    if strong_classes(P)[0] > 1:
        return Fact(reason="none exists: P is not irreducible")
    d = period(P, irreducible=True)
    return Fact(_first_power(P, chains.is_full)) if d == 1 else Fact(reason=f"none exists: the period is {d}")


def mixing_steps(P: CSR) -> Fact[int]:
    """The smallest k with a(P^k) < 1; there is none unless P has a single closed class, an aperiodic one."""
    n = P.shape[0]
    if n > POWER_STATES:
        return Fact(reason=too_large(n, POWER_STATES))
    states = closed_class(P)
    if states is None:
        return Fact(reason="none exists: P has several classes that cannot be left")
    d = period(P[states][:, states], irreducible=True)
    return Fact(_first_power(P, chains.is_scrambling)) if d == 1 else Fact(reason=f"none exists: the period is {d}")


def _one_step_overlap(P: CSR) -> Fact[float]:
    n = P.shape[0]
    if n <= POWER_STATES and 4 * P.nnz >= n * n:  # n^3 / 2 operations, about two seconds
        return Fact(chains.least_overlap_dense(P.toarray()))
    fewest_first = np.argsort(np.diff(P.indptr), kind="stable")
    if not _shares_successors(P, int(fewest_first[0])):
        return Fact(0.0)
    T = P.T.tocsr()
    least, complete = chains.least_overlap(
        P.indptr, P.indices, P.data, T.indptr, T.indices, T.data, fewest_first, OVERLAP_WORK
    )
    return Fact(least) if complete else Fact(reason="too many pairs of states to compare")


def _shares_successors(P: CSR, x: int) -> bool:
    """Whether every state has a successor in common with x."""
    of_x = np.zeros(P.shape[0], dtype=bool)
    of_x[P.indices[P.indptr[x] : P.indptr[x + 1]]] = True
    return bool(np.logical_or.reduceat(of_x[P.indices], P.indptr[:-1]).all())


def _first_power(P: CSR, good: Callable[[Any], bool]) -> int:
    """The smallest k such that the support of P^k is good, if some power is and all later ones are."""
    powers = [chains.pack(P.indptr, P.indices)]  # of exponents 1, 2, 4, ...
    while not good(powers[-1]):
        powers.append(chains.product(powers[-1], powers[-1]))
    if len(powers) == 1:
        return 1
    k: int = 2 ** (len(powers) - 2)  # the largest exponent known to be too small
    current = powers[-2]
    for bit in range(len(powers) - 3, -1, -1):
        trial = chains.product(current, powers[bit])
        if not good(trial):
            k, current = k + 2**bit, trial
    return k + 1
