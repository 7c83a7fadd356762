"""Facts of a chain against their definitions, high-precision arithmetic, closed forms and independent solvers."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lsmdp import chain
from lsmdp.arrays import CSR, Floats, as_kernel
from lsmdp.chain import hitting, laws, mixing
from lsmdp.errors import AssumptionError, ConvergenceError

DIGITS = 50


# chains -------------------------------------------------------------------------------------------------------------


@st.composite
def supports(draw: st.DrawFn, most: int = 6) -> Floats:
    """A 0-1 matrix without zero rows."""
    n = draw(st.integers(1, most))
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    A = np.array(bits, dtype=float).reshape(n, n)
    empty = np.flatnonzero(A.sum(axis=1) == 0)
    A[empty, (empty + 1) % n] = 1.0
    return A


@st.composite
def irreducible_supports(draw: st.DrawFn, most: int = 6) -> Floats:
    """The same with a cycle through all states in a drawn order."""
    A = draw(supports(most))
    order = draw(st.permutations(range(len(A))))
    A[order, np.roll(order, -1)] = 1.0
    return A


def kernel_of(A: Any) -> CSR:
    return as_kernel(A, normalise=True)


def with_remainder(moves: Any) -> CSR:
    """A kernel with these off-diagonal entries; the diagonal takes what they leave of 1."""
    moves = sparse.csr_array(moves)
    rest = 1.0 - moves.sum(axis=1)
    assert rest.min() >= 0.0
    return as_kernel(moves + sparse.diags_array(rest))


def stiff(n: int, extra: int, rng: np.random.Generator, smallest: float = -14.0) -> CSR:
    """A cycle and random moves, with probabilities from 1e-14 to 0.3, uniform in the exponent: not reversible."""
    rows = np.concatenate([np.arange(n), rng.integers(0, n, extra)])
    cols = np.concatenate([np.roll(np.arange(n), -1), rng.integers(0, n, extra)])
    weights = 10.0 ** rng.uniform(smallest, 0.0, rows.size)
    off = rows != cols
    moves = sparse.csr_array((weights[off], (rows[off], cols[off])), shape=(n, n))
    return with_remainder(0.5 * moves / max(1.0, moves.sum(axis=1).max()))


def birth_death(up: Floats, down: Floats) -> CSR:
    return with_remainder(sparse.diags_array([up, down], offsets=[1, -1]))


def fan(n: int, hub: float) -> CSR:
    """A cycle on n states from which every state may also go to state 0."""
    A = np.roll(np.eye(n), 1, axis=1) * (1.0 - hub)
    A[:, 0] += hub
    return as_kernel(A)


# oracles ------------------------------------------------------------------------------------------------------------


def exact_moves(P: CSR) -> tuple[int, Any]:
    A = P.toarray()
    n = len(A)
    moves = mpmath.matrix(n, n)
    for x in range(n):
        for y in range(n):
            moves[x, y] = mpmath.mpf(float(A[x, y])) if x != y else mpmath.mpf(0)
    return n, moves


def exact_stationary(P: CSR) -> list[Any]:
    """mu from the balance equations of the moves, solved with 50 digits beyond the stiffness of the chain."""
    with mpmath.workdps(DIGITS + 40 * P.shape[0]):
        n, moves = exact_moves(P)
        M = moves.T
        for x in range(n):
            M[x, x] = -mpmath.fsum(moves[x, y] for y in range(n))
        for y in range(n):
            M[n - 1, y] = 1
        return list(mpmath.lu_solve(M, mpmath.matrix([0] * (n - 1) + [1])))


def exact_hitting(P: CSR, target: int) -> list[Any]:
    with mpmath.workdps(DIGITS + 40 * P.shape[0]):
        n, moves = exact_moves(P)
        M = -moves
        for x in range(n):
            M[x, x] = mpmath.fsum(moves[x, y] for y in range(n))
            M[target, x] = 0
        M[target, target] = 1
        right = mpmath.matrix([0 if x == target else 1 for x in range(n)])
        return list(mpmath.lu_solve(M, right))


def worst_ratio(values: Floats, exact: list[Any]) -> float:
    """The largest relative error."""
    return max(float(abs(mpmath.mpf(float(a)) / b - 1)) for a, b in zip(values, exact, strict=True) if b != 0)


def first_power(A: Floats, good: Any, most: int) -> int | None:
    power = A > 0
    for k in range(1, most + 1):
        if good(power):
            return k
        power = (power.astype(int) @ A) > 0
    return None


def all_rows_meet(power: Any) -> bool:
    ones = power.astype(int)
    return bool(((ones @ ones.T) > 0).all())


def dobrushin_by_definition(Q: Floats) -> float:
    return max(0.5 * float(np.abs(a - b).sum()) for a in Q for b in Q)


# classes and period -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(supports())
def test_classes_are_those_of_the_graph(A: Floats) -> None:
    P = kernel_of(A)
    count, member = chain.strong_classes(P)
    graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
    expected = {frozenset(part) for part in nx.strongly_connected_components(graph)}
    assert {frozenset(np.flatnonzero(member == index).tolist()) for index in range(count)} == expected
    largest = chain.largest_class(P)
    first = min(min(part) for part in expected if len(part) == max(map(len, expected)))
    assert largest.tolist() == sorted(next(part for part in expected if first in part))
    closed = list(nx.attracting_components(graph))
    found = chain.closed_class(P)
    assert (None if found is None else found.tolist()) == (sorted(closed[0]) if len(closed) == 1 else None)


def test_largest_class_reads_weights_with_dead_ends() -> None:
    weights = sparse.csr_array(np.array([[0.0, 0, 0, 0], [0, 0, 7, 0], [0, 3, 0, 1], [0, 0, 0, 0]]))
    assert chain.largest_class(weights).tolist() == [1, 2]


@settings(deadline=None, max_examples=80)
@given(irreducible_supports())
def test_period_is_the_gcd_of_return_times(A: Floats) -> None:
    n = len(A)
    power, returns = np.eye(n, dtype=bool), []
    for k in range(1, 3 * n + 1):  # cycles of length <= n generate all of them
        power = (power.astype(int) @ A) > 0
        returns += [k] * bool(power.diagonal().any())
    assert chain.period(kernel_of(A)) == math.gcd(*returns)


@pytest.mark.parametrize("n", [1, 2, 7, 100_000])
def test_period_of_a_cycle(n: int) -> None:
    P = sparse.csr_array((np.ones(n), (np.arange(n), np.roll(np.arange(n), -1))), shape=(n, n))
    assert chain.period(as_kernel(P)) == n


def test_period_needs_one_class() -> None:
    with pytest.raises(AssumptionError, match=r"falls into 2 classes, and the largest holds 2 of 3 states.*The period"):
        chain.period(kernel_of([[0, 1, 0], [1, 0, 0], [1, 0, 1]]))


def test_p_min() -> None:
    assert chain.p_min(as_kernel([[0.25, 0.75], [1.0, 0.0]])) == 0.25


# powers and Dobrushin coefficients ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(st.one_of(irreducible_supports(), supports()))
def test_powers_by_definition(A: Floats) -> None:
    P, n = kernel_of(A), len(A)
    most = n * n + 1  # Wielandt: a primitive matrix is positive by n^2 - 2n + 2
    assert chain.primitivity_index(P).value == first_power(A, np.all, most)
    k = first_power(A, all_rows_meet, most)
    assert chain.mixing_steps(P).value == k
    Q = P.toarray()
    steps = k or 1
    power = np.linalg.matrix_power(Q, steps)
    for fact, exact in ((chain.dobrushin(P), Q), (chain.dobrushin(P, steps), power)):
        assert fact.value == pytest.approx(dobrushin_by_definition(exact), abs=1e-14)  # rounding of n^2 terms
    assert (chain.overlap(P, steps).value > 0) == (k is not None)
    assert chain.doeblin(P) <= chain.overlap(P).value + 1e-15


@pytest.mark.parametrize("n", [2, 3, 10, 70])
def test_wielandt_has_the_largest_primitivity_index(n: int) -> None:
    A = np.roll(np.eye(n), 1, axis=1)
    A[n - 1, 1 % n] = 1.0
    assert chain.primitivity_index(kernel_of(A)).value == n * n - 2 * n + 2


def test_none_exists() -> None:
    swap, apart = as_kernel([[0.0, 1.0], [1.0, 0.0]]), as_kernel(np.eye(2))
    assert chain.primitivity_index(swap).reason == chain.mixing_steps(swap).reason == "none exists: the period is 2"
    assert chain.primitivity_index(apart).reason == "none exists: P is not irreducible"
    assert chain.mixing_steps(apart).reason == "none exists: P has several classes that cannot be left"
    absorbing = as_kernel([[1.0, 0.0], [0.5, 0.5]])
    assert chain.mixing_steps(absorbing).value == 1
    assert chain.primitivity_index(absorbing).value is None


def test_a_coefficient_too_close_to_one_for_subtraction_keeps_its_overlap() -> None:
    P = as_kernel([[1.0 - 1e-12, 1e-12], [1e-12, 1.0 - 1e-12]])
    assert chain.overlap(P).value == pytest.approx(2e-12, rel=1e-14)
    line = birth_death(np.full(2, 1e-12), np.full(2, 1e-12))  # the ends meet in the middle with 1e-12
    assert chain.overlap(line).value == pytest.approx(1e-12, rel=1e-14)


def test_large_sparse_chain_where_all_states_share_a_successor() -> None:
    n = mixing.POWER_STATES + 500
    rng = np.random.default_rng(3)
    cols = np.stack([np.zeros(n, dtype=int), rng.integers(1, n, n)])
    hub = rng.uniform(0.2, 0.8, n)
    P = as_kernel(sparse.csr_array((np.stack([hub, 1 - hub]).ravel(), (np.tile(np.arange(n), 2), cols.ravel()))))
    two_smallest = np.sort(hub)[:2]
    value = chain.overlap(P).value
    assert value == two_smallest[0]  # two states with little in common but the hub
    assert chain.dobrushin(P).value == 1.0 - value
    assert chain.mixing_steps(P).reason == f"{n:,} states; exact to 2,000"


def test_pairs_that_are_too_many_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    P = fan(60, 0.25)
    exact = chain.dobrushin(P).value
    monkeypatch.setattr(mixing, "OVERLAP_WORK", 100)
    fact = chain.dobrushin(P)
    assert fact.value is None
    assert fact.bound == 0.75 >= exact
    assert fact.bound_name == "Doeblin"
    assert fact.reason == "too many pairs of states to compare"
    monkeypatch.setattr(mixing, "OVERLAP_STATES", 10)
    assert chain.dobrushin(P, 3).reason == "60 states; exact to 10"


# the stationary law -------------------------------------------------------------------------------------------------


def dense_reduction(P: Any) -> Floats:
    """State reduction (Grassmann, Taksar and Heyman), written out, in numbers with 64 bits from 1e-4932 to 1e4932."""
    A = P.toarray().astype(np.longdouble)
    n = len(A)
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k + 1 :].sum()
        A[k + 1 :, k + 1 :] += np.outer(A[k + 1 :, k], A[k, k + 1 :])
    mu = np.ones(n, dtype=np.longdouble)
    for k in range(n - 2, -1, -1):
        mu[k] = mu[k + 1 :] @ A[k + 1 :, k]
    return np.asarray(mu / mu.sum(), dtype=np.float64)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.7), (1e-14, 0.5), (1e-300, 1e-290)])
def test_two_states(a: float, b: float) -> None:
    P = with_remainder([[0.0, a], [b, 0.0]])
    assert chain.stationary(P) == pytest.approx([b / (a + b), a / (a + b)], rel=1e-15)
    assert chain.hitting_times(P) == pytest.approx(np.array([[0, 1 / a], [1 / b, 0]]), rel=1e-15)


@pytest.mark.parametrize("seed", range(12))
def test_stationary_law_of_stiff_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    P = stiff(int(rng.integers(3, 9)), int(rng.integers(0, 30)), rng)
    exact = exact_stationary(P)
    for law in (chain.stationary(P), dense_reduction(P), laws.reduced(laws.factor.plan(P))):
        assert worst_ratio(law, exact) < 1e-13


@settings(deadline=None, max_examples=40)
@given(irreducible_supports(5), st.integers(0, 2**32 - 1))
def test_stationary_law_on_any_support(A: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    P = kernel_of(A * 10.0 ** rng.uniform(-14, 0, A.shape))
    assert worst_ratio(chain.stationary(P), exact_stationary(P)) < 1e-13


@pytest.mark.parametrize("to_the_right", [True, False])
def test_a_law_that_spans_thousands_of_decades(to_the_right: bool) -> None:
    n, ratio = 600, 1e-14
    often, rarely = np.full(n - 1, 0.5), np.full(n - 1, 0.5 * ratio)
    P = birth_death(often, rarely) if to_the_right else birth_death(rarely, often)
    assert chain.is_reversible(P)
    law = chain.stationary(P)[:: -1 if to_the_right else 1]
    expected = (1.0 - ratio) * ratio ** np.arange(22.0)  # geometric, down to 1e-294
    assert law[:22] == pytest.approx(expected, rel=1e-13)
    assert law[22:].max() < 1e-300


def test_balance_is_checked_on_every_move() -> None:
    rng = np.random.default_rng(0)
    W = rng.uniform(0.1, 1.0, (40, 40))
    weights = (W + W.T) * (rng.random((40, 40)) < 0.5)
    weights = (
        np.triu(weights) + np.triu(weights, 1).T + np.roll(np.eye(40), 1, axis=1) + np.roll(np.eye(40), -1, axis=1)
    )
    P = kernel_of(weights)
    assert chain.reversible_law(P) == pytest.approx(weights.sum(axis=1) / weights.sum(), rel=1e-13)
    weights[0, 1] *= 1.0 + 1e-9
    Q = kernel_of(weights)
    assert not chain.is_reversible(Q)
    assert chain.stationary(Q) == pytest.approx(chain.stationary(P), rel=1e-8)
    assert not chain.is_reversible(as_kernel(np.roll(np.eye(3), 1, axis=1)))  # equal degrees, other support
    assert chain.reversible_law(as_kernel(np.eye(2))) is None


@pytest.mark.parametrize("spread", [-14.0, -1.0])
def test_sparse_routes_agree_with_dense_reduction(spread: float) -> None:
    n = 600
    P = stiff(n, 300, np.random.default_rng(5), spread)
    exact = dense_reduction(P)
    reduced = laws.reduced(laws.factor.plan(P))
    assert np.abs(reduced / exact - 1).max() < 1e-11
    assert np.abs(chain.stationary(P) / exact - 1).max() < 1e-10


def test_power_steps_find_the_law_of_a_graph_that_mixes(monkeypatch: pytest.MonkeyPatch) -> None:
    P = stiff(1500, 15_000, np.random.default_rng(6), -2.0)
    plan = laws.factor.plan(P)
    assert plan.flops > laws.QUICK_FLOPS
    law = chain.stationary(P)
    monkeypatch.setattr(laws, "iterated", lambda *_: None)
    assert np.abs(law / chain.stationary(P) - 1).max() < 1e-10
    with pytest.raises(ConvergenceError, match=r"power steps converge too slowly for 1,500 states.*would fill up"):
        chain.stationary(P, work=laws.QUICK_FLOPS)


def test_power_steps_that_settle_at_once_still_need_a_witness() -> None:
    rng = np.random.default_rng(8)
    n = 700
    rows, cols = np.tile(np.arange(n), 4), np.concatenate([rng.permutation(n) for _ in range(4)])
    P = as_kernel(sparse.csr_array((np.full(4 * n, 0.25), (rows, cols)), shape=(n, n)))  # doubly stochastic
    assert laws.iterated(P) == pytest.approx(np.full(n, 1 / n), rel=1e-13)
    apart = as_kernel(sparse.block_diag([P, P]))  # uniform is stationary, but not the only law
    assert laws.iterated(apart) is None


@pytest.mark.parametrize("link", [1e-3, 1e-8, 1e-15])
def test_power_steps_do_not_mistake_two_parts_for_one(link: float) -> None:
    rng = np.random.default_rng(7)
    half = sparse.csr_array(rng.random((150, 150)) * (rng.random((150, 150)) < 0.2))
    inside = sparse.block_diag([half, half], format="lil")
    inside[0, 150], inside[150, 0] = 5 * link, 3 * link
    P = kernel_of(inside)
    assert laws.iterated(P) is None
    law = chain.stationary(P)
    flow = law[0] * P[0, 150], law[150] * P[150, 0]
    assert flow[0] == pytest.approx(flow[1], rel=1e-10)  # the balance of the two parts
    assert np.abs(law / dense_reduction(P) - 1).max() < 1e-10


def drift_with_jumps(n: int, back: float) -> CSR:
    """To the right with 0.5, one or two to the left with multiples of ``back``: not reversible, lives on the right."""
    return with_remainder(
        sparse.diags_array([np.full(n - 1, 0.5), np.full(n - 1, back), np.full(n - 2, 0.3 * back)], offsets=[1, -1, -2])
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_the_reference_state_follows_the_chain(reverse: bool) -> None:
    n = 80
    P = drift_with_jumps(n, 1e-12)
    if reverse:
        P = as_kernel(P[::-1][:, ::-1])
    exact = exact_stationary(drift_with_jumps(25, 1e-12))[:4:-1]  # the far left does not matter
    for law in (chain.stationary(P), laws.reduced(laws.factor.plan(P))):
        assert worst_ratio((law if reverse else law[::-1])[:20], exact) < 1e-13


def two_wells(n: int, back: float) -> CSR:
    """To the left in one half and to the right in the other, with chance ``back`` against it: not reversible."""
    to_right = sparse.diags_array([np.full(n - 1, back), np.full(n - 1, 0.3)], offsets=[1, -1]).toarray()
    moves = np.where(np.arange(n)[:, None] < n // 2, to_right, to_right[::-1][:, ::-1])
    moves[np.arange(2, n), np.arange(n - 2)] = back**2
    return with_remainder(moves)


def test_two_wells_are_weighed_though_nobody_ever_leaves_them() -> None:
    """With chances of 1e-220 on top; an order that removes the bottoms first never meets such a chance as a pivot."""
    P = two_wells(40, 1e-12)
    law = chain.stationary(P)
    assert law.min() < 1e-200
    assert worst_ratio(law, exact_stationary(P)) < 1e-13


@pytest.mark.parametrize("link", [1e-101, 1e-200])
def test_two_parts_that_are_left_too_rarely_are_refused(link: float) -> None:
    """In whichever order states are removed, the last of a part can only go to the other part."""
    moves = np.zeros((6, 6))
    moves[[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]] = 0.5
    moves[0, 3], moves[4, 1] = link, 2 * link
    with pytest.raises(ConvergenceError, match=r"beyond float64: some are left with a probability below 1e-100"):
        chain.stationary(with_remainder(moves))


def test_a_law_that_does_not_balance_is_not_returned() -> None:
    P = as_kernel([[0.5, 0.5], [0.25, 0.75]])
    laws.verify(P, np.array([1 / 3, 2 / 3]))
    with pytest.raises(ConvergenceError, match=r"mu\(x\) = 0.4 at state 0, but mu P differs from it by 0.05"):
        laws.verify(P, np.array([0.4, 0.6]))


def test_stationary_needs_one_class() -> None:
    with pytest.raises(AssumptionError, match=r"The stationary law needs.*largest_class\(\).*teleport\(0.01\)"):
        chain.stationary(as_kernel(np.eye(3)))


def test_laws_are_read_only() -> None:
    for P in (as_kernel([[1.0]]), stiff(5, 9, np.random.default_rng(0)), birth_death(np.full(3, 0.1), np.full(3, 0.2))):
        assert not chain.stationary(P).flags.writeable


# hitting times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_hitting_times_of_stiff_chains(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    P = stiff(int(rng.integers(2, 8)), int(rng.integers(0, 25)), rng)
    h = chain.hitting_times(P)
    for y in range(P.shape[0]):
        assert worst_ratio(h[:, y], exact_hitting(P, y)) < 1e-13
    assert h.max() <= chain.path_bound(P, chain.stationary(P))


@pytest.mark.parametrize("n", [33, 150])
def test_hitting_times_solve_their_equations(n: int) -> None:
    rng = np.random.default_rng(n)
    P = kernel_of(rng.random((n, n)) * (rng.random((n, n)) < 0.2) + np.roll(np.eye(n), 1, axis=1))
    h = chain.hitting_times(P)
    for y in (0, n // 2, n - 1):
        others = np.delete(np.arange(n), y)
        inner = np.eye(n - 1) - P.toarray()[np.ix_(others, others)]
        assert h[others, y] == pytest.approx(np.linalg.solve(inner, np.ones(n - 1)), rel=1e-10)
        assert h[y, y] == 0.0


def test_hitting_times_on_a_ring() -> None:
    n = 101
    A = 0.5 * (np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert chain.hitting_times(as_kernel(A)) == pytest.approx(distance * (n - distance), rel=1e-12)


def test_hitting_times_need_one_class_and_fit_a_float() -> None:
    with pytest.raises(AssumptionError, match="A finite hitting time needs"):
        chain.hitting_times(as_kernel([[1.0, 0.0], [0.5, 0.5]]))
    P = birth_death(np.full(39, 1e-14), np.full(39, 0.5))
    with pytest.raises(ConvergenceError, match=r"time from state \d+ to state \d+ is beyond float64 \(1e308 steps\)"):
        chain.hitting_times(P)
    assert chain.max_hitting_time(P).reason == "more than 1e308 steps"


def test_large_chains_get_a_named_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    P = stiff(50, 200, np.random.default_rng(9), -2.0)
    mu = chain.stationary(P)
    exact = chain.max_hitting_time(P)
    assert exact.value == chain.hitting_times(P).max()
    monkeypatch.setattr(hitting, "HITTING_STATES", 10)
    fact = chain.max_hitting_time(P, mu)
    assert fact.value is None
    assert fact.reason == "50 states; exact to 10"
    assert fact.bound is not None
    assert fact.bound >= exact.value
    assert "shortest paths" in fact.bound_name
    assert chain.max_hitting_time(P).bound is None
    assert chain.max_hitting_time(P, np.where(np.arange(50) == 3, 0.0, mu)).bound is None


def test_the_path_bound_is_attained_by_two_states_up_to_the_return() -> None:
    P = with_remainder([[0.0, 0.125], [0.25, 0.0]])
    assert chain.path_bound(P, chain.stationary(P)) == pytest.approx(2 * (1 / 0.125 + 1 / 0.25))
