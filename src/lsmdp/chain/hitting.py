"""Expected hitting times h(x, y) = E_x[T_y], with T_y = min {t >= 0: X_t = y}.

They replace the H of lem:vbound, which is false as printed: v(x) - v(y) <= (max c - lambda) E_x[T_y].

**All pairs, without a subtraction.** Watch the chain on a set A only, and let a clock tell the time between two
looks. With B the other states and N = (I - P_BB)^{-1} the expected visits to B before the return to A,

    P_A = P_AA + P_AB N P_BA,    t_A' = t_A + P_AB N t_B,    h(B, A) = N t_B 1' + N P_BA h(A, A),

where t is the expected duration of a step, 1 at first. Halving the states again and again reaches each single
state y with h(y, y) = 0; the halves share the work, and all of it (about 3 n^3 operations) is matrix
products. N is found in the same way from the off-diagonal entries and the probability of leaving B, as in
state reduction: 1 - P(x, x) is a sum, never a difference. So every h(x, y) is accurate to a few units times n,
also where the chain is nearly decomposable and h spans many decades.

**A bound for large chains.** For every move u -> w, E_u[T_w] <= 1 / (mu(u) P(u, w)): the returns to u are independent
cycles of mean length 1/mu(u), each begins with the move to w with probability P(u, w), and by Wald's identity the
first that does ends after 1/(mu(u) P(u, w)) steps on average. Expected hitting times obey the triangle
inequality, so

    max_{x,y} E_x[T_y] <= max_x dist(x, r) + max_y dist(r, y)    for any state r,

where dist is the length of a shortest path and the move u -> w has length 1 / (mu(u) P(u, w)).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from lsmdp._core import chains
from lsmdp._core.paths import lower_to_paths
from lsmdp.arrays import CSR, Floats
from lsmdp.chain.fact import Fact, too_large
from lsmdp.chain.support import require_irreducible
from lsmdp.errors import ConvergenceError

HITTING_STATES = 3_000  # Up to this many states all hitting times are computed: n^2 numbers are then at most 72 MB.
# Up to this many states are put together one by one; beyond, halves of them as products of matrices.
_STATES_ONE_BY_ONE = 32


def hitting_times(P: CSR) -> Floats:
    """E_x[T_y] for all x and y of an irreducible P, as a dense matrix; exact up to rounding in every entry."""
    require_irreducible(P, "A finite hitting time")
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        times = _hit(P.toarray(), np.ones(P.shape[0]))
    if not np.isfinite(times).all():
        x, y = np.argwhere(~np.isfinite(times))[0]
        raise ConvergenceError(
            f"the expected time from state {x} to state {y} is beyond float64 (1e308 steps). Drop the moves that make "
            "it so rare and keep one part with largest_class(), or join the parts with teleport(1e-6) or larger."
        )
    return times


def max_hitting_time(P: CSR, mu: Floats | None = None) -> Fact[float]:
    """max_{x,y} E_x[T_y], exact to 3,000 states; beyond, the path bound of the module, which needs mu."""
    n = P.shape[0]
    if n <= HITTING_STATES:
        try:
            return Fact(float(hitting_times(P).max()))
        except ConvergenceError:
            return Fact(reason="more than 1e308 steps")
    reason = too_large(n, HITTING_STATES)
    bound = math.inf if mu is None else path_bound(P, mu)
    if bound == math.inf:
        return Fact(reason=reason)
    return Fact(reason=reason, bound=bound, bound_name="shortest paths, with 1/(mu(x) P(x,y)) for each move")


def path_bound(P: CSR, mu: Floats) -> float:
    """An upper bound on every E_x[T_y] from the stationary law; infinite where the law underflows."""
    flow = np.repeat(mu, np.diff(P.indptr)) * P.data
    if flow.min() < np.finfo(np.float64).tiny:
        return math.inf
    forth = sparse.csr_array((1.0 / flow, P.indices, P.indptr), shape=P.shape)
    root = int(mu.argmax())
    return sum(float(_distances(moves, root).max()) for moves in (forth, forth.T.tocsr()))


def time_by_paths(P: CSR, state: int) -> float:
    """An upper bound on E_x[T_y] for all x and one y; infinite where that is beyond float64 or y cannot be reached.

    From every x, some path of less than n moves leads to y. If each of these has at least the probability p, then y is
    met in any n steps with probability p at least, and so after n/p steps on average at most.
    """
    n = P.shape[0]
    back = P.T.tocsr()
    with np.errstate(divide="ignore", over="ignore"):
        back.data = -np.log(np.minimum(back.data, 1.0))  # a move that is 0 is infinitely long
        return float(n * np.exp(_distances(back, state).max()))


def _distances(lengths: CSR, start: int) -> Floats:
    """The length of a shortest path from ``start`` to every state; infinite where there is none."""
    v = np.full(lengths.shape[0], np.inf)
    v[start] = 0.0
    return lower_to_paths(lengths, v)


def _hit(P: Floats, t: Floats) -> Floats:
    """Hitting times of a chain whose steps from x take t(x) on average."""
    n = t.size
    h = np.zeros((n, n))
    if n == 1:
        return h
    halves = slice(0, n // 2), slice(n // 2, n)
    for A, B in (halves, halves[::-1]):
        N = _visits(P[B, B], P[B, A].sum(axis=1))
        reach = N @ P[B, A]
        wait = N @ t[B]
        h[A, A] = _hit(P[A, A] + P[A, B] @ reach, t[A] + P[A, B] @ wait)
        h[B, A] = wait[:, None] + reach @ h[A, A]
    return h


def _visits(P: Floats, leave: Floats) -> Floats:
    """(I - P)^{-1}, where each row of P misses ``leave`` of 1: expected visits before leaving."""
    n = leave.size
    if n <= _STATES_ONE_BY_ONE:
        return np.asarray(chains.visits(np.ascontiguousarray(P), leave))
    a, b = slice(0, n // 2), slice(n // 2, n)
    N_b = _visits(P[b, b], leave[b] + P[b, a].sum(axis=1))
    reach, out = N_b @ P[b, a], P[a, b] @ N_b
    N_a = _visits(P[a, a] + P[a, b] @ reach, leave[a] + out @ leave[b])
    N = np.empty((n, n))
    N[a, a] = N_a
    N[a, b] = N_a @ out
    N[b, a] = reach @ N_a
    N[b, b] = N_b + N[b, a] @ out
    return N
