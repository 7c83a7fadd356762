"""How fast a chain forgets where it started: Dobrushin coefficients and the powers of P that have no zeros.

The Dobrushin coefficient of a kernel (ass:ergod, with the 1/2 that its proofs use) is

    a(P) = 1/2 max_{x,y} |P(.|x) - P(.|y)|_1 = 1 - min_{x,y} sum_s min(P(s|x), P(s|y)).

The minimum is the *overlap* of P. It is a sum of positive numbers, so it is accurate where 1 - a(P) would be rounding
error, and a(P) = 1 exactly when two states have no common successor: on every large sparse graph. What counts
then is the smallest k with a(P^k) < 1. It depends on the support of P alone: it is the smallest k such that any two
states have a common descendant after k steps. There is one exactly if P has a single closed class, an aperiodic one.

The primitivity index H of ass:irred is the smallest H with P^H > 0; no row of P is zero, so all later powers are
positive too. Both are found by squaring the support of P until it has the property and descending bit by bit. A support
is a matrix of zeros and ones in single precision: the entries of a product of two are then numbers of states, exact up
to 2^24 of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lsmdp._core.matrices import compare_rows
from lsmdp.arrays import CSR, Floats, Ints
from lsmdp.chain.fact import Fact, too_large
from lsmdp.chain.support import closed_class, period, strong_classes

POWER_STATES = 2_000  # Up to so many states the powers of the support are computed: a second or two.
OVERLAP_STATES = 1_000  # Up to so many states the powers of P itself are computed: less than a second.
OVERLAP_WORK = 2_000_000_000  # So many numbers are looked at for the overlap of a sparse P: a few seconds.

Support = npt.NDArray[np.float32]


def overlap(P: CSR, steps: int = 1) -> Fact[float]:
    """1 - a(P^steps): the least mass that the laws of two states have in common after so many steps."""
    n = P.shape[0]
    if steps == 1:
        return _one_step_overlap(P)
    if n > OVERLAP_STATES:
        return Fact(reason=too_large(n, OVERLAP_STATES))
    return Fact(_least_shared(np.linalg.matrix_power(P.toarray(), steps)))


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
    return Fact(_first_power(P, _is_full)) if d == 1 else Fact(reason=f"none exists: the period is {d}")


def mixing_steps(P: CSR) -> Fact[int]:
    """The smallest k with a(P^k) < 1; there is none unless P has a single closed class, an aperiodic one."""
    n = P.shape[0]
    if n > POWER_STATES:
        return Fact(reason=too_large(n, POWER_STATES))
    states = closed_class(P)
    if states is None:
        return Fact(reason="none exists: P has several classes that cannot be left")
    d = period(P[states][:, states], irreducible=True)
    return Fact(_first_power(P, _is_scrambling)) if d == 1 else Fact(reason=f"none exists: the period is {d}")


def _one_step_overlap(P: CSR) -> Fact[float]:
    n = P.shape[0]
    if n <= POWER_STATES and 4 * P.nnz >= n * n:  # n^3 / 2 operations, about two seconds
        return Fact(_least_shared(P.toarray()))
    fewest_first = np.argsort(np.diff(P.indptr), kind="stable")
    if not _shares_successors(P, int(fewest_first[0])):
        return Fact(0.0)
    least = _least_of_pairs(P, fewest_first, OVERLAP_WORK)
    return Fact(reason="too many pairs of states to compare") if least is None else Fact(least)


def _least_shared(A: Floats) -> float:
    """min_{x,y} sum_s min(A(x,s), A(y,s)) of a matrix that is written out; a single row shares all of itself."""
    return float(min(compare_rows(A)[0], 1.0))


def _least_of_pairs(P: CSR, order: Ints, work: int) -> float | None:
    """The same for a sparse P, by states x in the given order; None where more numbers than ``work`` must be read.

    It stops at a pair that shares nothing, since nothing is smaller.
    """
    n, into, least = P.shape[0], P.T.tocsr(), 1.0
    for x in order.tolist():
        ways = slice(P.indptr[x], P.indptr[x + 1])
        others = into[P.indices[ways]]  # for each successor of x, the states that lead there
        shared = np.minimum(others.data, np.repeat(P.data[ways], np.diff(others.indptr)))
        least = min(least, float(np.bincount(others.indices, shared, minlength=n).min()))
        work -= n + others.nnz
        if least == 0.0 or work < 0:
            break
    return None if work < 0 and least > 0.0 else least


def _shares_successors(P: CSR, x: int) -> bool:
    """Whether every state has a successor in common with x."""
    of_x = np.zeros(P.shape[0], dtype=bool)
    of_x[P.indices[P.indptr[x] : P.indptr[x + 1]]] = True
    return bool(np.logical_or.reduceat(of_x[P.indices], P.indptr[:-1]).all())


def _is_full(support: Support) -> bool:
    """Whether every move is possible."""
    return bool(support.all())


def _is_scrambling(support: Support) -> bool:
    """Whether any two states have a common successor."""
    return bool((support @ support.T).all())


def _first_power(P: CSR, good: Callable[[Support], bool]) -> int:
    """The smallest k such that the support of P^k is good, if some power is and all later ones are."""
    powers = [(P.toarray() > 0.0).astype(np.float32)]  # of exponents 1, 2, 4, ...
    while not good(powers[-1]):
        powers.append(_product(powers[-1], powers[-1]))
    if len(powers) == 1:
        return 1
    k: int = 2 ** (len(powers) - 2)  # the largest exponent known to be too small
    current = powers[-2]
    for bit in range(len(powers) - 3, -1, -1):
        trial = _product(current, powers[bit])
        if not good(trial):
            k, current = k + 2**bit, trial
    return k + 1


def _product(one: Support, other: Support) -> Support:
    return np.asarray(one @ other > 0.0, dtype=np.float32)
