"""The solver: every answer certifies itself, and independent methods agree with it."""

from __future__ import annotations

import json

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import eigs
from scipy.special import logsumexp

from lsmdp import (
    LMDP,
    AssumptionError,
    Auto,
    ConvergenceError,
    CostError,
    Dense,
    Direct,
    Krylov,
    Power,
    Solution,
    SpecError,
    clusters,
    grid,
    random_graph,
    rank_one,
    ring,
    solve,
    sticky,
)
from lsmdp.solvers import factored
from lsmdp.solvers.factored import Lapack, Reduction
from lsmdp.solvers.inverse import inverse_iteration
from lsmdp.solvers.problem import Attempt, Problem

METHODS = [Auto(), Power(), Direct(), Dense(), Krylov()]


def certificate(lmdp: LMDP, c: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """min and max of Bv - v by numpy alone: an evaluation that shares no code with the solver."""
    P, T = lmdp.P, lmdp.temperature
    row = np.repeat(np.arange(lmdp.n), np.diff(P.indptr))
    exponents = np.log(P.data) - v[P.indices] / T
    top = np.maximum.reduceat(exponents, P.indptr[:-1])
    sums = np.add.reduceat(np.exp(exponents - top[row]), P.indptr[:-1])
    r = c - T * (top + np.log(sums)) - v
    return float(r.min()), float(r.max())


def assert_certified(solution: Solution, tol: float) -> None:
    assert solution.certified
    assert solution.gap <= tol
    lo, hi = certificate(solution.lmdp, solution.c, solution.v)
    # numpy's own rounding: a few eps of the values it adds up
    rounding = 1e-15 * (solution.value_span + np.abs(solution.c).max() + 40 * solution.lmdp.temperature)
    assert solution.bounds[0] <= lo + rounding
    assert solution.bounds[1] >= hi - rounding
    assert hi - lo <= tol + rounding
    assert solution.v.min() == 0.0


def corridor(n: int) -> tuple[LMDP, np.ndarray]:
    c = np.ones(n)
    c[0] = 0.0
    return grid(1, n), c


def one_way(n: int) -> LMDP:
    """State 0 has a single successor; the others go back or on."""
    W = np.eye(n, k=1) + np.eye(n, k=-1)
    W[n - 1, 0] = 1.0
    return LMDP(W, normalise=True)


def uniform(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, n)


def slow_dense(n: int) -> LMDP:
    """Every move is possible, but from one half to the other with probability 1e-7 only."""
    W = np.random.default_rng(3).uniform(0.5, 1, (n, n))
    half = np.arange(n) < n // 2
    W[half[:, None] != half] *= 1e-7
    return LMDP(W, normalise=True)


def three_wells() -> tuple[LMDP, np.ndarray]:
    """Cost 0 in three places that are left once in 10^9 steps; from one of them only through a cost of 1000."""
    W = np.array([[1, 1e-6, 0, 0], [0, 1, 0, 3e-9], [7e-9, 0, 1, 0], [0, 0, 2e-10, 1]])
    return LMDP(W, normalise=True), np.array([1000.0, 0.0, 0.0, 0.0])


def cold_and_expensive() -> tuple[LMDP, np.ndarray]:
    """v / temperature spans 10^12, and state 4 should go through it rather than stay at 176 a step."""
    W = np.diag([1e-40, 1e-46, 1.0, 1.0, 1e-77])
    W[0, 3] = W[1, 2] = W[4, 0] = 1.0
    W[2, 4], W[3, 1] = 1e-207, 1e-74
    return LMDP(W, normalise=True, temperature=1e-6), 1e6 * np.eye(5)[0]


HARD = {
    "grid with i.i.d. costs": lambda: (grid(316, 316), uniform(316**2)),
    "corridor": lambda: corridor(2000),
    "cold grid": lambda: (grid(30, 30, temperature=0.02), np.where(np.arange(900) == 0, 0.0, 1.0)),
    "cold grid with i.i.d. costs": lambda: (grid(30, 30, temperature=0.02), uniform(900)),
    "two equal wells": lambda: (grid(30, 30, temperature=0.02), np.where(np.arange(900) % 899 == 0, 0.0, 1.0)),
    "sticky": lambda: (sticky(1e-9), np.array([0.0, 1.0])),
    "two clusters": lambda: (clusters(2, 500, 1e-6), uniform(1000)),
    "nearly periodic ring": lambda: (ring(1000, 0.99), uniform(1000)),
    "periodic grid": lambda: (grid(20, 21, lazy=0.0), uniform(420)),
    "dense": lambda: (LMDP(np.random.default_rng(2).uniform(0, 1, (1000, 1000)), normalise=True), uniform(1000)),
    "dense and slow": lambda: (slow_dense(300), uniform(300)),
    "rank one": lambda: (rank_one(np.random.default_rng(1).dirichlet(np.ones(50))), uniform(50)),
    "one state": lambda: (LMDP([[1.0]]), np.array([0.3])),
    "two states": lambda: (LMDP([[0.3, 0.7], [0.9, 0.1]]), np.array([0.0, 5.0])),
    "single successor": lambda: (one_way(30), uniform(30)),
    "cycle with one expensive state": lambda: (LMDP(np.roll(np.eye(6), 1, axis=1)), 100.0 * np.eye(6)[0]),
    "three wells": three_wells,
    "cold and expensive": cold_and_expensive,
    "large costs": lambda: (grid(9, 9), 1e4 * uniform(81)),
    "negative costs": lambda: (grid(9, 9), -3.0 - uniform(81)),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_models_are_solved_and_certified(name: str) -> None:
    lmdp, c = HARD[name]()
    assert_certified(solve(lmdp, c, tol=1e-9), 1e-9)


def test_a_span_of_154_decades_is_real() -> None:
    """exp(-v) on the large grid: what would have underflowed relative to the largest entry of an eigenvector."""
    lmdp, c = HARD["grid with i.i.d. costs"]()
    solution = solve(lmdp, c, tol=1e-9)
    assert solution.value_span / np.log(10) > 100
    lmdp, c = HARD["cold grid"]()
    assert solve(lmdp, c).value_span / lmdp.temperature > 745  # beyond the range of floats altogether


def test_many_states_in_four_times_the_memory_of_P() -> None:
    """1.4 million entries. The extra memory of the solve, measured by the allocator's own peak."""
    import tracemalloc

    lmdp = random_graph(200_000, 7)
    c = uniform(lmdp.n)
    assert lmdp.is_irreducible
    size = lmdp.P.data.nbytes + lmdp.P.indices.nbytes + lmdp.P.indptr.nbytes
    tracemalloc.start()
    solution = solve(lmdp, c, tol=1e-9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_certified(solution, 1e-9)
    assert size + peak <= 4 * size


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("name", ["cold grid", "sticky", "single successor", "two states", "one state", "rank one"])
def test_every_method_certifies_or_says_that_it_did_not(method: object, name: str) -> None:
    lmdp, c = HARD[name]()
    if isinstance(method, Power):
        method = Power(max_steps=2000)
    solution = solve(lmdp, c, tol=1e-9, solver=method, throw=False)
    lo, hi = certificate(lmdp, c, solution.v)
    assert solution.bounds[0] <= lo + 1e-12
    assert solution.bounds[1] >= hi - 1e-12
    assert solution.certified == (solution.gap <= 1e-9)
    truth = solve(lmdp, c, solver=Direct()).bounds
    assert solution.bounds[0] <= truth[1]  # the interval contains the optimum, certified or not
    assert solution.bounds[1] >= truth[0]
    if method.name in ("auto", "direct", "dense"):
        assert solution.certified


@pytest.mark.parametrize("method", [Auto(), Direct(), Dense(), Krylov()], ids=lambda method: method.name)
def test_methods_agree_on_nearly_decomposable_chains(method: object) -> None:
    lmdp, c = clusters(2, 200, 1e-5), uniform(400)
    reference = solve(lmdp, c, tol=1e-11, solver=Direct())
    solution = solve(lmdp, c, tol=1e-9, solver=method)
    assert abs(solution.average_cost - reference.average_cost) <= 1e-9
    np.testing.assert_allclose(solution.v, reference.v, rtol=0, atol=1e-9 / 1e-5)  # gap times the slowest time scale


# ----------------------------------------------------------------------------------------------------------
# inverse iteration


def iterated(problem: Problem, v: np.ndarray, tol: float, systems: type = Reduction, steps: int = 20) -> Attempt:
    return inverse_iteration(problem, v, tol, systems(problem, v), steps)


def two_wells(deeper: int) -> tuple[LMDP, np.ndarray]:
    """A corridor with a cheap room at either end, one a little cheaper: v leads to that one from everywhere."""
    lmdp = grid(6, 60)
    column = np.arange(lmdp.n) % 60
    c = np.where((column < 5) | (column >= 55), 0.5, 1.0)
    c[column < 5 if deeper == 0 else column >= 55] -= 1e-3
    return lmdp, c


@pytest.mark.parametrize("systems", [Reduction, Lapack])
def test_another_well_becomes_the_deepest(systems: type) -> None:
    lmdp, c = two_wells(0)
    _, other = two_wells(1)
    before, goal = solve(lmdp, c), solve(lmdp, other, solver=Dense())
    assert np.ptp(goal.v - before.v) > 10.0  # all of v has to move
    attempt = iterated(Problem(lmdp, other), before.v, 1e-11, systems)
    assert attempt.gap <= 1e-11
    assert attempt.steps <= 6
    np.testing.assert_allclose(attempt.v - attempt.v.min(), goal.v - goal.v.min(), rtol=0, atol=1e-6)


def test_half_a_factor_does_as_well_as_a_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    halves, eliminate = [], factored.eliminate

    def watched(*given: object, symmetric: bool = False) -> object:
        halves.append(symmetric)
        return eliminate(*given, symmetric=symmetric)

    monkeypatch.setattr(factored, "eliminate", watched)
    problem = Problem(*two_wells(0))
    half = iterated(problem, np.zeros(problem.n), 1e-11)
    monkeypatch.setattr("lsmdp.solvers.problem._SPAN_OF_PRODUCTS", -1.0)
    whole = iterated(problem, np.zeros(problem.n), 1e-11)
    assert halves == [True] * half.steps + [False] * whole.steps
    assert half.steps == whole.steps
    assert max(half.gap, whole.gap) <= 1e-11
    np.testing.assert_allclose(half.v, whole.v, rtol=0, atol=1e-8)


def test_inverse_iteration_gives_way_beyond_floats() -> None:
    lmdp, c = grid(20, 20), 300.0 * uniform(400)
    attempt = iterated(Problem(lmdp, c), np.zeros(lmdp.n), 1e-9)
    assert attempt.steps == 0  # the tails of u are 0: v spans more than e^-v can
    solution = solve(lmdp, c, solver=Direct())
    assert solution.value_span > 750.0
    assert_certified(solution, 1e-10)


def test_inverse_iteration_gives_way_where_it_does_not_converge() -> None:
    lmdp, c = ring(1000, drift=0.999), 5.0 * uniform(1000)
    attempt = iterated(Problem(lmdp, c), np.zeros(lmdp.n), 1e-9, steps=100)
    assert attempt.gap > 1e-9
    assert attempt.steps < 20
    assert_certified(solve(lmdp, c, solver=Direct()), 1e-10)


# ----------------------------------------------------------------------------------------------------------
# independent answers


def perron_50_digits(P: np.ndarray, c: np.ndarray, T: float) -> mpmath.mpf:
    """lambda from the largest root of det(G P - x I), with 50 digits."""
    with mpmath.workdps(50):
        GP = mpmath.diag([mpmath.exp(-mpmath.mpf(float(cost)) / mpmath.mpf(T)) for cost in c]) * mpmath.matrix(P)
        roots = mpmath.eig(GP, left=False, right=False)
        return -mpmath.mpf(T) * mpmath.log(max(mpmath.re(root) for root in roots))


@st.composite
def small_games(draw: st.DrawFn, largest: int = 4) -> tuple[LMDP, np.ndarray]:
    n = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    decades = draw(st.sampled_from([0.5, 3.0, 8.0]))
    W = 10.0 ** -rng.uniform(0, decades, (n, n)) * (rng.random((n, n)) < 0.6) + np.roll(np.eye(n), 1, axis=1)
    c = rng.uniform(0, 1, n) * draw(st.sampled_from([0.1, 1.0, 10.0]))
    return LMDP(W, temperature=draw(st.sampled_from([0.3, 1.0, 4.0])), normalise=True), c


@given(small_games())
@settings(max_examples=100)
def test_bounds_contain_the_answer_of_50_digits(game: tuple[LMDP, np.ndarray]) -> None:
    lmdp, c = game
    solution = solve(lmdp, c, tol=1e-11)
    assert_certified(solution, 1e-11)
    truth = perron_50_digits(lmdp.P.toarray(), c, lmdp.temperature)
    slack = mpmath.mpf(10) ** -20  # what mpmath's own eigenvalues may miss of 50 digits on a defective matrix
    assert solution.bounds[0] - slack <= truth <= solution.bounds[1] + slack


@given(small_games(largest=12))
@settings(max_examples=60)
def test_identities_of_the_solution(game: tuple[LMDP, np.ndarray]) -> None:
    lmdp, c = game
    T, n = lmdp.temperature, lmdp.n
    solution = solve(lmdp, c, tol=1e-11)
    lambda_, v, Q, mu = solution.average_cost, solution.v, solution.policy.matrix(), solution.stationary
    assert c.min() - 1e-11 <= lambda_ <= c.max() + 1e-11
    rounding = 1e-10 + 1e-13 * solution.value_span
    # the average cost of the policy is the optimum: mu.(c + T KL) = lambda
    assert abs(mu @ (c + T * solution.policy.kl()) - lambda_) <= rounding
    np.testing.assert_allclose(T * solution.policy.kl(), v + lambda_ - c - Q @ v, rtol=0, atol=rounding)  # eq:klform
    assert abs(solution.transition_measure.sum() - 1) <= 1e-12
    # d lambda / d c = mu, tried on a random direction: lambda is concave in c, so the chord lies within the curvature
    direction = np.random.default_rng(n).normal(size=n)
    h = 1e-4
    up, down = (solve(lmdp, c + s * h * direction, tol=1e-12).average_cost for s in (1, -1))
    assert up + down <= 2 * lambda_ + rounding
    slopes = ((lambda_ - down) / h, (up - lambda_) / h)
    assert slopes[1] - 1e-6 <= mu @ direction <= slopes[0] + 1e-6


def test_closed_form_equal_rows() -> None:
    rng = np.random.default_rng(0)
    p, c = rng.dirichlet(np.ones(8)), rng.uniform(0, 1, 8)
    solution = solve(rank_one(p), c)
    assert solution.average_cost == pytest.approx(-np.log(p @ np.exp(-c)), abs=1e-10)
    np.testing.assert_allclose(solution.v - solution.v[0], c - c[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(solution.stationary, p * np.exp(-c) / (p @ np.exp(-c)), rtol=1e-9)


def test_closed_form_constant_cost() -> None:
    lmdp = random_graph(300, 5, seed=4)
    solution = solve(lmdp, np.full(300, 0.7))
    assert solution.average_cost == pytest.approx(0.7, abs=1e-12)
    np.testing.assert_array_equal(solution.v, np.zeros(300))
    np.testing.assert_allclose(solution.policy.matrix().data, lmdp.P.data, rtol=1e-15)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(-3, 3), st.floats(-3, 3))
def test_closed_form_two_states(a: float, b: float, f: float, g: float) -> None:
    """The larger root of x^2 - (e^-f (1-a) + e^-g (1-b)) x + e^-(f+g) (1-a-b) = 0."""
    trace, determinant = np.exp(-f) * (1 - a) + np.exp(-g) * (1 - b), np.exp(-f - g) * (1 - a - b)
    root = (trace + np.sqrt(trace**2 - 4 * determinant)) / 2
    solution = solve(LMDP([[1 - a, a], [b, 1 - b]]), [f, g])
    assert solution.average_cost == pytest.approx(-np.log(root), abs=1e-10)


def test_reversible_models_have_their_law_in_closed_form() -> None:
    """If rho is reversible for P, then mu ~ rho e^c z^2."""
    lmdp, c = grid(6, 6), uniform(36)
    solution = solve(lmdp, c, tol=1e-12)
    rho = np.linalg.matrix_power(lmdp.P.toarray(), 4096)[0]
    expected = rho * np.exp(c) * np.exp(-2 * solution.v)
    np.testing.assert_allclose(solution.stationary, expected / expected.sum(), rtol=1e-9)


def test_first_passage() -> None:
    """v(x) - v(y) = -log E_x exp(-sum_{t < T_y} (c(X_t) - lambda)), the expectation by a linear system."""
    lmdp, c = random_graph(40, 4, seed=9), uniform(40)
    solution = solve(lmdp, c, tol=1e-12)
    A = np.exp(solution.average_cost - c)[:, None] * lmdp.P.toarray()
    others = np.arange(1, 40)
    E = np.linalg.solve(np.eye(39) - A[np.ix_(others, others)], A[others, 0])
    np.testing.assert_allclose(solution.v[1:] - solution.v[0], -np.log(E), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_conic_solver_on_the_convex_form_agrees(seed: int) -> None:
    """min f(pi; c) over Delta(M) with Clarabel (sec:convex); no eigenvalue anywhere."""
    rng = np.random.default_rng(seed)
    n = 20
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.2) + np.roll(np.eye(n), 1, axis=1)
    lmdp, c = LMDP(W, normalise=True), rng.uniform(0, 1, n)
    x, y = lmdp.P.nonzero()
    pi = cp.Variable(x.size, nonneg=True)
    out = sparse.csr_array((np.ones(x.size), (x, np.arange(x.size))), shape=(n, x.size))
    into = sparse.csr_array((np.ones(x.size), (y, np.arange(x.size))), shape=(n, x.size))
    mu = out @ pi
    objective = c @ mu + cp.sum(cp.rel_entr(pi, cp.multiply(lmdp.P.data, mu[x])))
    problem = cp.Problem(cp.Minimize(objective), [mu == into @ pi, cp.sum(pi) == 1])
    problem.solve(solver=cp.CLARABEL)
    assert problem.value == pytest.approx(solve(lmdp, c).average_cost, abs=1e-6)  # Clarabel's own tolerance is 1e-8


def test_arpack_finds_the_same_eigenvalue_on_a_large_random_graph() -> None:
    lmdp, c = random_graph(100_000, 7, seed=5), uniform(100_000, seed=6)
    GP = sparse.csr_array(sparse.diags_array(np.exp(-c)) @ lmdp.P)
    largest = eigs(GP, k=1, which="LM", v0=np.ones(lmdp.n), tol=1e-13, return_eigenvectors=False)[0]
    assert solve(lmdp, c).average_cost == pytest.approx(-np.log(largest.real), abs=1e-10)


def test_a_dense_eigen_solver_agrees() -> None:
    lmdp, c = random_graph(120, 6, seed=7), 3 * uniform(120)
    values = np.linalg.eigvals(np.exp(-c)[:, None] * lmdp.P.toarray())
    assert solve(lmdp, c).average_cost == pytest.approx(-np.log(values.real.max()), abs=1e-10)


# ----------------------------------------------------------------------------------------------------------
# the interface


def test_temperature_only_rescales() -> None:
    rng = np.random.default_rng(8)
    c = rng.uniform(0, 1, 30)
    warm = solve(grid(5, 6, temperature=2.5), c, tol=1e-12)
    plain = solve(grid(5, 6), c / 2.5, tol=1e-12)
    assert warm.average_cost == pytest.approx(2.5 * plain.average_cost, abs=1e-11)
    np.testing.assert_allclose(warm.v, 2.5 * plain.v, rtol=0, atol=1e-10)
    np.testing.assert_allclose(warm.policy.matrix().data, plain.policy.matrix().data, rtol=1e-9)


def test_a_warm_start_takes_fewer_steps() -> None:
    lmdp, c = grid(30, 30), uniform(900)
    cold = solve(lmdp, c, solver=Direct())
    nearby = c + 1e-4 * uniform(900, seed=1)
    for start in (cold, cold.v, cold.v + 17.0):
        warm = solve(lmdp, nearby, solver=Direct(), start=start)
        assert_certified(warm, 1e-10)
        assert warm.iterations < cold.iterations / 2
    assert solve(lmdp, c, start=cold).iterations == 0


def test_a_warm_start_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(CostError, match="has 3 values, but the model has 4 states"):
        solve(grid(2, 2), np.zeros(4), start=[1.0, 2.0, 3.0])
    with pytest.raises(SpecError, match="start has 9 values, but the model has 4 states"):
        solve(grid(2, 2), np.zeros(4), start=solve(grid(3, 3), np.zeros(9)))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("size", [1e3, 1e12, 1e300])
def test_an_absurd_start_does_no_harm(method: object, size: float) -> None:
    lmdp, c = grid(5, 6), uniform(30)
    start = size * np.random.default_rng(1).uniform(-1, 1, 30)
    assert_certified(solve(lmdp, c, tol=1e-9, start=start, solver=method), 1e-9)
    assert_certified(solve(lmdp, c, tol=1e-9, start=1e308 * np.sign(start), solver=method), 1e-9)


@pytest.mark.parametrize("temperature", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("tol", [1e-14, 1e-300])
def test_a_width_below_rounding_is_given_up_soon(temperature: float, tol: float) -> None:
    """On a slow chain, power steps without end would be the last resort."""
    lmdp = LMDP(slow_dense(8).P, temperature=temperature)
    solution = solve(lmdp, uniform(8), tol=tol, throw=False)
    assert solution.gap < 1e-12 * temperature
    assert solution.certified or solution.iterations < 1000
    assert solution.certified or "rounding in double precision makes up" in solution.status


def test_bounds_on_huge_costs_are_as_tight_as_floats_allow() -> None:
    for lmdp in (LMDP(np.roll(np.eye(9), 1, axis=1)), grid(3, 3), LMDP(slow_dense(9).P, temperature=10.0)):
        solution = solve(lmdp, 1e12 * uniform(9), throw=False)
        assert solution.gap < 100 * 1e12 * np.finfo(float).eps
        lo, hi = certificate(lmdp, solution.c, solution.v)
        assert hi - lo < 100 * 1e12 * np.finfo(float).eps


def test_krylov_is_as_accurate_under_a_large_average_cost() -> None:
    """The solves are accurate relative to what is left to do, not to lambda."""
    lmdp, c = clusters(2, 500, 1e-6), uniform(1000)
    assert_certified(solve(lmdp, 100.0 + c, solver=Krylov()), 1e-10)


@pytest.mark.parametrize(("c", "temperature"), [([1e308, -1e308], 1.0), ([1e12, 0.0], 1e-300), ([1.0, 0.0], 1e306)])
def test_costs_that_would_overflow_are_refused(c: list[float], temperature: float) -> None:
    with pytest.raises(CostError, match="may exceed 1e\\+300"):
        solve(LMDP([[0.5, 0.5], [0.5, 0.5]], temperature=temperature), c)


def test_what_cannot_be_certified_is_not_returned() -> None:
    """No width below rounding: the error carries bounds that are still true."""
    lmdp, c = grid(10, 10), uniform(100)
    with pytest.raises(ConvergenceError, match=r"stayed .* apart") as failure:
        solve(lmdp, c, tol=1e-17)
    best = failure.value.solution
    assert best is not None
    assert not best.certified
    assert 1e-17 < best.gap < 1e-11
    lo, hi = solve(lmdp, c).bounds
    assert best.bounds[0] <= hi
    assert best.bounds[1] >= lo
    returned = solve(lmdp, c, tol=1e-17, throw=False)
    assert not returned.certified
    assert returned.status.startswith("not certified")
    assert "Ask for a wider tol (--tol) or, in Python, start from the solution" in returned.status


def test_a_budget_of_steps_is_kept() -> None:
    solution = solve(grid(40, 40), uniform(1600), solver=Power(max_steps=25), throw=False)
    assert solution.iterations == 25
    assert not solution.certified
    assert solution.gap < 1.0


@pytest.mark.parametrize("tol", [0.0, -1.0, float("nan"), float("inf")])
def test_a_useless_tolerance_is_refused(tol: float) -> None:
    with pytest.raises(SpecError, match="must be positive"):
        solve(grid(2, 2), np.zeros(4), tol=tol)


def test_a_reducible_model_is_refused_by_name() -> None:
    lmdp = LMDP([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.2, 0.2, 0.6]], labels=["a", "b", "c"])
    with pytest.raises(AssumptionError, match=r'1 of 3 states .*state 2 "c".*largest_class.*teleport'):
        solve(lmdp, [0.0, 0.0, 0.0])
    assert_certified(solve(lmdp.largest_class(), [0.0, 1.0]), 1e-10)
    assert_certified(solve(lmdp.teleport(0.01), [0.0, 1.0, 0.5]), 1e-10)


@pytest.mark.parametrize(
    ("c", "message"),
    [
        ([0.0, 1.0], "has 2 values, but the model has 4 states"),
        ([0.0, 1.0, np.nan, 0.0], r"cost\[2\] is nan"),
        ([0.0, 1.0, 0.0, -np.inf], r"cost\[3\] is -inf"),
        ("hill", r"the cost is 'hill'\. Give one number for each"),
    ],
)
def test_bad_costs_are_refused(c: object, message: str) -> None:
    with pytest.raises(CostError, match=message):
        solve(grid(2, 2), c)


def test_the_answer_reads_well() -> None:
    solution = solve(grid(3, 3), uniform(9))
    figures = json.loads(json.dumps(solution.to_dict()))
    assert list(figures) == [
        "states",
        "entries",
        "average_cost",
        "bounds",
        "gap",
        "value_span",
        "solver",
        "iterations",
        "seconds",
        "status",
    ]
    assert figures["states"] == 9
    assert figures["entries"] == solution.lmdp.P.nnz
    assert figures["bounds"][0] <= figures["average_cost"] <= figures["bounds"][1]
    assert "average cost" in str(solution)
    assert "certified" in str(solution)
    assert "Solution(average_cost=" in repr(solution)


def test_nothing_in_a_solution_can_be_overwritten() -> None:
    solution = solve(grid(3, 3), uniform(9))
    for array in (solution.v, solution.c, solution.stationary, solution.policy.matrix().data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_the_reference_evaluation_is_what_it_says() -> None:
    """The check used above, against scipy's logsumexp on a written-out kernel."""
    lmdp, rng = grid(4, 4, temperature=0.7), np.random.default_rng(1)
    c, v = rng.uniform(0, 1, 16), rng.uniform(0, 50, 16)
    with np.errstate(divide="ignore"):
        r = c - 0.7 * logsumexp(np.log(lmdp.P.toarray()) - v / 0.7, axis=1) - v
    np.testing.assert_allclose(certificate(lmdp, c, v), (r.min(), r.max()), rtol=1e-13)


@pytest.mark.parametrize("size", [1e150, 1e200, 1e290])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_costs_whose_squares_are_beyond_floats(method: Power, size: float) -> None:
    """The norm of a residual is the root of a sum of squares: with costs of 1e155 it would overflow, with a warning."""
    c = size * np.array([0.0, 1.0, 0.3, 0.7, 0.2, 0.9])
    low, high = solve(ring(6, 0.5), c, tol=1e-6 * size, solver=method, throw=False).bounds
    assert 0.0 <= high <= size * (1.0 + 1e-12)
    assert low <= high
