"""The convex view against its definitions: high precision, a dense eigen-solver, a conic solver, and closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lsmdp import (
    LMDP,
    AssumptionError,
    ModelError,
    solve,
)
from lsmdp.convex import (
    Feasibility,
    average_cost_of,
    bregman,
    dual_value,
    duality_gap,
    feasibility,
    lagrangian,
    lagrangian_gradient,
    measure_of,
    neg_cond_entropy,
    neg_cond_entropy_gradient,
    policy_of,
    suboptimality,
)

ROUNDING = 1e-12  # well above what sums of 36 terms of size about 10 lose in double precision


@dataclass(frozen=True)
class Game:
    """A small model with a cost, two arbitrary policies and an arbitrary value function."""

    lmdp: LMDP
    c: np.ndarray
    Q: np.ndarray
    rival: np.ndarray
    v: np.ndarray

    @property
    def pi(self) -> np.ndarray:
        return dense_measure(self.Q)


def by_row(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=1, keepdims=True)


def dense_measure(Q: np.ndarray) -> np.ndarray:
    """mu(x) Q(y|x), with mu by eliminating the states one after the other, which is accurate in every component."""
    A, mu = Q.copy(), np.ones(len(Q))
    for k in range(len(Q) - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    for k in range(1, len(Q)):
        mu[k] = mu[:k] @ A[:k, k]
    return (mu / mu.sum())[:, None] * Q


def dense_optimum(lmdp: LMDP, c: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(lambda, v, Q) by inverse iteration with 40 digits, just above the largest eigenvalue that numpy finds."""
    P, T = lmdp.P.toarray(), lmdp.temperature
    shift = 1.00000001 * np.linalg.eigvals(np.exp(-c / T)[:, None] * P).real.max()
    with mpmath.workdps(40):
        GP = mpmath.diag([mpmath.exp(-mpmath.mpf(cost) / T) for cost in c]) * mpmath.matrix(P)
        z = mpmath.ones(lmdp.n, 1)
        for _ in range(6):  # each gains about 1e-8 over the gap of the spectrum
            z = mpmath.lu_solve(shift * mpmath.eye(lmdp.n) - GP, z)
            z /= max(z)
        lambda_ = -T * mpmath.log((GP * z)[0] / z[0])  # eq:bellman_Z
        v = np.array([float(-T * mpmath.log(entry)) for entry in z])
    weights = P * np.array([float(entry) for entry in z])
    return float(lambda_), v, by_row(weights)


def dense_cost(lmdp: LMDP, pi: np.ndarray, c: np.ndarray) -> float:
    """eq:statcost as it is printed, entry by entry."""
    P, mu = lmdp.P.toarray(), pi.sum(axis=1)
    return sum(
        pi[x, y] * (c[x] + lmdp.temperature * np.log(pi[x, y] / (P[x, y] * mu[x]))) for x, y in np.argwhere(pi > 0)
    )


@st.composite
def games(draw: st.DrawFn, largest: int = 6) -> Game:
    """Irreducible models: a ring with self-loops, plus any other moves; weights differ by up to a factor of 50."""
    n = draw(st.integers(1, largest))

    def weights(low: int, high: int) -> np.ndarray:
        numbers = draw(st.lists(st.integers(low, high), min_size=n * n, max_size=n * n))
        return np.array(numbers, dtype=float).reshape(n, n)

    backbone = np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    W = np.maximum(weights(-30, 50), 0.0) + backbone
    Q, rival = weights(1, 50) * (W > 0), weights(1, 50) * (W > 0)
    numbers = st.lists(st.integers(-300, 300), min_size=n, max_size=n)
    c, v = np.array(draw(numbers)) / 100.0, np.array(draw(numbers)) / 100.0
    temperature = draw(st.sampled_from([0.5, 1.0, 2.5]))
    return Game(LMDP(W, temperature=temperature, normalise=True), c, by_row(Q), by_row(rival), v)


@pytest.fixture(scope="module")
def game() -> Game:
    """Four states, eleven moves, temperature 0.7."""
    W = np.array([[2.0, 1, 0, 3], [1, 1, 5, 0], [0, 4, 1, 1], [1, 0, 2, 0]])
    rng = np.random.default_rng(7)
    Q, rival = rng.uniform(0.1, 1.0, (2, 4, 4)) * (W > 0)
    c, v = rng.uniform(0, 1, 4), rng.normal(size=4)
    return Game(LMDP(W, temperature=0.7, normalise=True), c, by_row(Q), by_row(rival), v)


def scattered(pi: np.ndarray) -> sparse.coo_array:
    """The same matrix with every entry stored twice, halved, in a shuffled order."""
    x, y = np.nonzero(pi)
    order = np.random.default_rng(0).permutation(2 * x.size)
    data = np.tile(pi[x, y] / 2.0, 2)[order]
    return sparse.coo_array((data, (np.tile(x, 2)[order], np.tile(y, 2)[order])), shape=pi.shape)


# --- the objective and its feasible set (sec:convex) ---


@settings(deadline=None, max_examples=60)
@given(games())
def test_cost_of_a_measure_is_its_definition(game: Game) -> None:
    cost = average_cost_of(game.lmdp, game.pi, game.c)
    assert cost == pytest.approx(dense_cost(game.lmdp, game.pi, game.c), abs=ROUNDING)
    P, T = game.lmdp.P.toarray(), game.lmdp.temperature
    entropy, log_P = neg_cond_entropy(game.pi), np.log(np.where(P > 0, P, 1.0))
    assert cost == pytest.approx(T * entropy + (game.pi * (game.c[:, None] - T * log_P)).sum(), abs=ROUNDING)


def test_any_storage_of_a_measure_will_do(game: Game) -> None:
    expected = average_cost_of(game.lmdp, game.pi, game.c)
    for pi in (scattered(game.pi), sparse.csc_array(game.pi), game.pi.tolist()):
        assert average_cost_of(game.lmdp, pi, game.c) == pytest.approx(expected, abs=ROUNDING)
        assert feasibility(game.lmdp, pi).holds(ROUNDING)
    assert bregman(scattered(game.pi), measure_of(game.lmdp, game.Q)) <= ROUNDING**2


def test_nothing_that_is_passed_in_changes(game: Game) -> None:
    stray = game.pi.copy()
    stray[0, 2] = 0.125  # off the support of P
    pi = sparse.csr_array(stray)
    before = pi.copy()
    feasibility(game.lmdp, pi)
    average_cost_of(game.lmdp, pi, game.c)
    neg_cond_entropy_gradient(pi).indices[:] = 0
    bregman(pi, game.pi)
    for after, array in ((pi.data, before.data), (pi.indices, before.indices), (pi.indptr, before.indptr)):
        np.testing.assert_array_equal(after, array)


def test_cost_is_affine_in_c_and_infinite_outside_its_domain(game: Game) -> None:
    def f(pi: np.ndarray, c: np.ndarray) -> float:
        return average_cost_of(game.lmdp, pi, c)

    assert f(game.pi, 3.0 * game.c - 2.0) - f(game.pi, game.c) == pytest.approx(
        game.pi.sum(axis=1) @ (2.0 * game.c - 2.0), abs=ROUNDING
    )
    off, below = game.pi.copy(), game.pi.copy()
    off[0, 2], below[0, 1] = 1e-6, -1e-6
    assert f(off, game.c) == f(below, game.c) == neg_cond_entropy(below) == np.inf
    stored = sparse.csr_array(off)
    stored.data[stored.data == 1e-6] = 0.0  # a zero off the support is no mass there
    assert f(stored, game.c) == pytest.approx(f(game.pi, game.c), abs=ROUNDING)


@settings(deadline=None, max_examples=60)
@given(games())
def test_measure_of_a_policy_is_feasible_and_gives_it_back(game: Game) -> None:
    pi = measure_of(game.lmdp, game.Q)
    assert feasibility(game.lmdp, pi).holds(ROUNDING)
    np.testing.assert_allclose(pi.toarray(), game.pi, atol=ROUNDING)
    np.testing.assert_allclose(policy_of(game.lmdp, pi).toarray(), game.Q, rtol=ROUNDING)
    assert pi.nnz == game.lmdp.nnz


def test_each_violation_is_seen_with_its_size(game: Game) -> None:
    def seen(change: np.ndarray) -> Feasibility:
        return feasibility(game.lmdp, game.pi + change)

    assert seen(0.5 * game.pi).mass == pytest.approx(0.5)
    move, hole, sink = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    move[0, 1], hole[0, 2], sink[0, 0] = 0.25, 0.125, -1.0
    assert seen(move).balance == pytest.approx(0.25)
    assert seen(hole).off_support == pytest.approx(0.125)
    assert seen(sink).negativity == pytest.approx(1.0 - game.pi[0, 0])
    for place in np.eye(4).tolist():
        assert Feasibility(*place).worst == 1.0
    assert not seen(1e-6 * move).holds()
    assert seen(1e-6 * move).holds(1e-6)


def test_states_without_mass_follow_the_passive_dynamics(game: Game) -> None:
    resting = sparse.csr_array(([1.0], ([1], [1])), shape=(4, 4))
    assert feasibility(game.lmdp, resting).holds()
    Q, P = policy_of(game.lmdp, resting).toarray(), game.lmdp.P.toarray()
    np.testing.assert_array_equal(Q[1], [0, 1, 0, 0])
    np.testing.assert_array_equal(Q[[0, 2, 3]], P[[0, 2, 3]])
    assert average_cost_of(game.lmdp, resting, game.c) == pytest.approx(game.c[1] - 0.7 * np.log(P[1, 1]))
    np.testing.assert_array_equal(measure_of(game.lmdp, Q).toarray(), resting.toarray())


# --- convexity (app:convexity) ---


def test_entropy_and_gradient_in_high_precision(game: Game) -> None:
    pi = game.pi * np.array([[1.0], [3.0], [0.2], [1.0]])  # not stationary: R lives on all measures
    places = [tuple(place) for place in np.argwhere(pi > 0).tolist()]

    def R(*entries: mpmath.mpf) -> mpmath.mpf:
        mu = [mpmath.fsum(e for e, (x, _) in zip(entries, places, strict=True) if x == row) for row in range(4)]
        return mpmath.fsum(e * mpmath.log(e / mu[x]) for e, (x, _) in zip(entries, places, strict=True))

    gradient = neg_cond_entropy_gradient(pi)
    with mpmath.workdps(40):
        point = tuple(mpmath.mpf(pi[place]) for place in places)
        assert neg_cond_entropy(pi) == pytest.approx(float(R(*point)), rel=1e-14)
        for i, place in enumerate(places):
            order = tuple(int(i == j) for j in range(len(places)))
            assert gradient[place] == pytest.approx(float(mpmath.diff(R, point, order)), rel=1e-12)
    assert gradient.nnz == len(places)


@settings(deadline=None, max_examples=60)
@given(games(), st.floats(0.0, 1.0))
def test_convex_along_segments_and_linear_along_rays(game: Game, s: float) -> None:
    ends = game.pi, dense_measure(game.rival)
    middle = (1.0 - s) * ends[0] + s * ends[1]

    def f(pi: np.ndarray) -> float:
        return average_cost_of(game.lmdp, pi, game.c)

    for F in (f, neg_cond_entropy):
        assert F(middle) <= (1.0 - s) * F(ends[0]) + s * F(ends[1]) + ROUNDING
        assert F(3.0 * middle) == pytest.approx(3.0 * F(middle), abs=ROUNDING)


@settings(deadline=None, max_examples=60)
@given(games())
def test_bregman_is_the_mean_divergence_and_at_least_pinskers_bound(game: Game) -> None:
    new, old = game.pi, dense_measure(game.rival)
    divergence = bregman(new, old)
    slope = neg_cond_entropy_gradient(old).toarray()
    by_definition = neg_cond_entropy(new) - neg_cond_entropy(old) - (slope * (new - old)).sum()
    mu, support = new.sum(axis=1), game.Q > 0
    log_ratio = np.log(np.where(support, game.Q, 1.0) / np.where(support, game.rival, 1.0))
    assert divergence == pytest.approx(by_definition, abs=ROUNDING)
    assert divergence == pytest.approx(mu @ (game.Q * log_ratio).sum(axis=1), abs=ROUNDING)
    assert divergence >= 0.5 * mu @ np.abs(game.Q - game.rival).sum(axis=1) ** 2 - ROUNDING
    assert bregman(new, new) == 0.0


@pytest.mark.parametrize("size", [1e-1, 1e-4, 1e-9, 1e-13])
def test_bregman_is_accurate_near_zero(game: Game, size: float) -> None:
    """Far below rounding error of R itself: at 1e-9 the true value is about 1e-19."""
    old = game.pi
    new = old * (1.0 + size * np.random.default_rng(1).uniform(-1, 1, old.shape))
    with mpmath.workdps(60):
        exact = mpmath.mpf(0)
        for x, row in enumerate(new):
            mu_new, mu_old = mpmath.fsum(map(mpmath.mpf, row)), mpmath.fsum(map(mpmath.mpf, old[x]))
            for y in np.flatnonzero(row).tolist():
                q_new, q_old = mpmath.mpf(row[y]) / mu_new, mpmath.mpf(old[x, y]) / mu_old
                exact += mu_new * q_new * mpmath.log(q_new / q_old)
    # log Q carries an error of about 1e-15 beside a difference of the given size
    assert bregman(new, old) == pytest.approx(float(exact), rel=max(1e-12, 4e-15 / size))
    slope = neg_cond_entropy_gradient(old).toarray()
    if size < 1e-8:
        by_definition = neg_cond_entropy(new) - neg_cond_entropy(old) - (slope * (new - old)).sum()
        assert abs(by_definition - float(exact)) > float(exact)


def test_bregman_is_infinite_where_the_old_measure_has_no_move(game: Game) -> None:
    old = game.pi.copy()
    old[0, 1] = 0.0
    assert bregman(game.pi, old) == np.inf
    assert np.isfinite(bregman(old, game.pi))
    stored_zero = measure_of(game.lmdp, game.Q)
    stored_zero.data[0] = 0.0
    assert bregman(game.pi, stored_zero) == np.inf
    assert neg_cond_entropy_gradient(stored_zero).data[0] == -np.inf
    assert np.isfinite(neg_cond_entropy(stored_zero))


# --- duality (app:dual, signs corrected) ---


@settings(deadline=None, max_examples=100)
@given(games())
def test_weak_duality_for_any_feasible_measure_and_any_value_function(game: Game) -> None:
    cost, bound = average_cost_of(game.lmdp, game.pi, game.c), dual_value(game.lmdp, game.v, game.c)
    P, T = game.lmdp.P.toarray(), game.lmdp.temperature
    Bv = game.c - T * np.log(P @ np.exp(-game.v / T))
    assert bound == pytest.approx((Bv - game.v).min(), abs=ROUNDING)
    assert bound <= cost
    gap = duality_gap(game.lmdp, game.pi, game.c, game.v)
    assert gap == pytest.approx(cost - bound, abs=ROUNDING)
    assert gap >= 0.0


@settings(deadline=None, max_examples=60)
@given(games())
def test_strong_duality_at_the_optimum(game: Game) -> None:
    lambda_, v, Q = dense_optimum(game.lmdp, game.c)
    pi = dense_measure(Q)
    assert dual_value(game.lmdp, v, game.c) == pytest.approx(lambda_, abs=ROUNDING)
    assert average_cost_of(game.lmdp, pi, game.c) == pytest.approx(lambda_, abs=ROUNDING)
    assert 0.0 <= duality_gap(game.lmdp, pi, game.c, v) <= ROUNDING


@settings(deadline=None, max_examples=60)
@given(games())
def test_a_policy_pays_its_divergence_from_the_optimal_one(game: Game) -> None:
    """f(pi_Q; c) - lambda = T sum_x mu_Q(x) KL(Q || Q*) for every Q."""
    lambda_, _, Q = dense_optimum(game.lmdp, game.c)
    solution = solve(game.lmdp, game.c)
    paid = average_cost_of(game.lmdp, game.pi, game.c) - lambda_
    log_ratio = np.log(np.where(game.Q > 0, game.Q, 1.0) / np.where(game.Q > 0, Q, 1.0))
    assert paid == pytest.approx(game.lmdp.temperature * (game.pi * log_ratio).sum(), abs=ROUNDING)
    # with the solver's v it is f - mu_Q.(Bv - v), and Bv - v is within the certified 1e-10 of lambda
    assert suboptimality(game.lmdp, game.Q, solution.policy) == pytest.approx(paid, abs=1e-10 + ROUNDING)
    assert 0.0 <= suboptimality(game.lmdp, solution.policy, solution.policy) <= 1e-18


@settings(deadline=None, max_examples=30)
@given(games())
def test_the_solution_is_an_optimal_measure(game: Game) -> None:
    solution = solve(game.lmdp, game.c)
    pi = measure_of(game.lmdp, solution.policy)
    assert feasibility(game.lmdp, pi).holds(ROUNDING)
    assert duality_gap(game.lmdp, pi, game.c, solution.v) <= 1e-10
    np.testing.assert_allclose(solution.transition_measure.toarray(), pi.toarray(), atol=ROUNDING)


@settings(deadline=None, max_examples=60)
@given(games(), st.floats(0.01, 5.0))
def test_the_dual_function_is_the_infimum_of_the_lagrangian(game: Game, excess: float) -> None:
    """inf over pi >= 0 is lambda where lambda <= min (Bv - v), and -inf beyond."""
    lowest = dual_value(game.lmdp, game.v, game.c)
    pi = 0.3 * game.Q  # neither balanced nor of mass 1
    assert lagrangian(game.lmdp, pi, game.c, game.v, lowest) >= lowest - ROUNDING
    P, T = game.lmdp.P.toarray(), game.lmdp.temperature
    Bv = game.c - T * np.log(P @ np.exp(-game.v / T))
    x = int(np.argmin(Bv - game.v))
    ray = np.zeros_like(P)
    ray[x] = P[x] * np.exp(-game.v / T) / (P[x] @ np.exp(-game.v / T))
    falling = [lagrangian(game.lmdp, t * ray, game.c, game.v, lowest + excess) for t in (0.0, 1.0, 1e6)]
    np.testing.assert_allclose(falling, lowest + excess - excess * np.array([0.0, 1.0, 1e6]), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(games())
def test_the_lagrangian_is_stationary_at_the_optimum(game: Game) -> None:
    lambda_, v, Q = dense_optimum(game.lmdp, game.c)
    slope = lagrangian_gradient(game.lmdp, dense_measure(Q), game.c, v, lambda_)
    np.testing.assert_allclose(slope.data, 0.0, atol=ROUNDING)


def test_lagrangian_gradient_by_finite_differences(game: Game) -> None:
    slope = lagrangian_gradient(game.lmdp, game.pi, game.c, game.v, 0.4).toarray()
    h = 1e-6  # central differences: error about h^2 / pi^2 and 1e-16 / h
    for place in np.argwhere(game.pi > 0):
        step = np.zeros_like(game.pi)
        step[tuple(place)] = h
        up, down = (lagrangian(game.lmdp, game.pi + s * step, game.c, game.v, 0.4) for s in (1, -1))
        assert slope[tuple(place)] == pytest.approx((up - down) / (2 * h), abs=1e-8)


def test_the_printed_signs_are_wrong() -> None:
    """The smallest case: equal rows of P. Then v = c, and every quantity is in closed form."""
    lmdp, c = LMDP([[0.5, 0.5], [0.5, 0.5]]), np.array([0.0, 1.0])
    lambda_, v = -np.log(0.5 + 0.5 * np.exp(-1.0)), c
    pi = dense_measure(by_row(np.tile(np.exp(-c), (2, 1))))

    def printed_gradient(v: np.ndarray, lambda_: float) -> np.ndarray:
        """d/dpi of L with +lambda and +v in app:dual: log Q/P + c(x) + lambda + v(x) - v(y)."""
        return lagrangian_gradient(lmdp, pi, c, -v, -lambda_).toarray()

    np.testing.assert_allclose(lagrangian_gradient(lmdp, pi, c, v, lambda_).data, 0.0, atol=ROUNDING)
    expected = 2.0 * lambda_ + 2.0 * (c[:, None] - c[None, :])
    np.testing.assert_allclose(printed_gradient(v, lambda_), expected, atol=ROUNDING)
    assert np.abs(expected).min() > 0.7
    # Its true multipliers are the negatives, and the linear system it ends with has the eigenvalue e^{+lambda}.
    np.testing.assert_allclose(printed_gradient(-v, -lambda_), 0.0, atol=ROUNDING)
    z, G = np.exp(-v), np.diag(np.exp(-c))
    GPz = G @ lmdp.P.toarray() @ z
    np.testing.assert_allclose(z, np.exp(lambda_) * GPz, atol=ROUNDING)  # eq:bellman_Z
    assert np.abs(z - np.exp(-lambda_) * GPz).min() > 0.19  # app:dual as printed


@pytest.mark.parametrize("seed", range(4))
def test_a_conic_solver_finds_the_same_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8 - seed
    W = rng.uniform(0.1, 1.0, (n, n)) * (rng.uniform(size=(n, n)) < 0.5) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    lmdp = LMDP(W, temperature=(0.4, 1.0, 1.0, 3.0)[seed], normalise=True)
    c = rng.uniform(0.0, 1.0, n)
    x, y = lmdp.P.nonzero()
    pi = cp.Variable(x.size, nonneg=True)
    out_of, into = (sparse.csr_array((np.ones(x.size), (at, np.arange(x.size)))) for at in (x, y))
    control = cp.sum(cp.rel_entr(pi, cp.multiply(lmdp.P.data, out_of.T @ (out_of @ pi))))  # eq:statcost
    program = cp.Problem(
        cp.Minimize(c[x] @ pi + lmdp.temperature * control), [out_of @ pi == into @ pi, cp.sum(pi) == 1]
    )
    program.solve(solver=cp.CLARABEL)
    solution = solve(lmdp, c)
    found = sparse.csr_array((np.maximum(pi.value, 0.0), (x, y)), shape=(n, n))
    loose = 1e-6  # the interior-point solver stops at a gap of 1e-8 and a residual of 1e-8
    assert feasibility(lmdp, found).holds(loose)
    assert program.value == pytest.approx(dense_optimum(lmdp, c)[0], abs=loose)
    assert program.value == pytest.approx(solution.average_cost, abs=loose)
    assert average_cost_of(lmdp, found, c) == pytest.approx(program.value, abs=loose)
    assert duality_gap(lmdp, found, c, solution.v, tol=loose) <= loose
    np.testing.assert_allclose(found.toarray(), measure_of(lmdp, solution.policy).toarray(), atol=1e-3)


# --- extremes ---


def test_an_optimal_policy_that_underflows() -> None:
    """Equal rows at temperature 1e-3: Q* = (1, e^{-1000}), and everything is in closed form."""
    lmdp, c = LMDP([[0.5, 0.5], [0.5, 0.5]], temperature=1e-3), np.array([0.0, 1.0])
    lambda_ = 1e-3 * np.log(2.0)
    gap = duality_gap(lmdp, 0.5 * lmdp.P, c, c)
    assert gap == pytest.approx(0.5 - lambda_, abs=ROUNDING)
    assert suboptimality(lmdp, lmdp.P, solve(lmdp, c).policy) == pytest.approx(gap, abs=1e-9)


def test_the_gap_is_never_negative() -> None:
    """Not even where rounding has left a mass of -1e-10 on an expensive state."""
    rests = LMDP(np.eye(2))
    assert 0.0 <= duality_gap(rests, np.diag([1.0, -1e-10]), [0.0, 1.0], [0.0, 0.0]) <= ROUNDING


def test_one_state() -> None:
    lmdp = LMDP([[1.0]])
    assert measure_of(lmdp, [[1.0]]).toarray().tolist() == [[1.0]]
    assert average_cost_of(lmdp, [[1.0]], [0.25]) == 0.25
    assert duality_gap(lmdp, [[1.0]], [0.25], [3.0]) <= ROUNDING


def test_large_models_stay_sparse() -> None:
    """A ring of 200,000 states: its dense form would need 320 GB."""
    n = 200_000
    x = np.arange(n)
    P = sparse.csr_array(
        (np.tile([0.5, 0.25, 0.25], n), (np.repeat(x, 3), np.column_stack([x, (x + 1) % n, (x - 1) % n]).ravel()))
    )
    lmdp, c = LMDP(P), np.random.default_rng(0).uniform(size=n)
    pi = lmdp.P / n
    assert feasibility(lmdp, pi).holds(ROUNDING)
    assert average_cost_of(lmdp, pi, c) == pytest.approx(c.mean())
    assert bregman(pi, pi) == 0.0
    assert policy_of(lmdp, pi).nnz == lagrangian_gradient(lmdp, pi, c, c, 0.5).nnz == 3 * n
    assert duality_gap(lmdp, pi, c, np.zeros(n)) == pytest.approx(c.mean() - c.min())


# --- messages ---


def test_what_is_wrong_with_a_measure_is_said(game: Game) -> None:
    infeasible = game.pi.copy()
    infeasible[0, 1] += 0.25
    with pytest.raises(
        ModelError, match=r"flow balance is off by 0\.25, the mass by 0\.25.*1e-09 is allowed.*measure_of"
    ):
        duality_gap(game.lmdp, infeasible, game.c, game.v)
    with pytest.raises(ModelError, match=r"shape 3 x 3. A transition measure must be 4 x 4, like P"):
        average_cost_of(game.lmdp, np.eye(3), game.c)
    with pytest.raises(ModelError, match=r"shape 2 x 3. A transition measure must be square"):
        neg_cond_entropy(np.ones((2, 3)))
    with pytest.raises(ModelError, match=r"shape 4. A transition measure"):
        feasibility(game.lmdp, np.ones(4))
    negative, unknown, off = game.pi.copy(), game.pi.copy(), game.pi.copy()
    negative[1, 2], unknown[2, 3], off[3, 1] = -0.5, np.nan, 0.125
    for use in (neg_cond_entropy_gradient, lambda pi: policy_of(game.lmdp, pi), lambda pi: bregman(game.pi, pi)):
        with pytest.raises(ModelError, match=r"pi\[1, 2\] is -0.5.*no negative entry.*maximum\(0\)"):
            use(negative)
        with pytest.raises(ModelError, match=r"pi\[2, 3\] is nan. Every entry must be a finite number"):
            use(unknown)
    with pytest.raises(ModelError, match=r"pi\[3, 1\] is 0.125, but P\[3, 1\] is 0. .*add the move to P"):
        policy_of(game.lmdp, off)


def test_what_is_wrong_with_a_policy_is_said(game: Game) -> None:
    short, off = game.Q.copy(), game.Q.copy()
    short[2] *= 0.97
    off[3] = [0.5, 0.25, 0.25, 0.0]
    with pytest.raises(ModelError, match=r"row 2 of Q sums to 0.97, not 1. .*Divide each row by its sum"):
        measure_of(game.lmdp, short)
    with pytest.raises(ModelError, match=r"Q\[3, 1\] is 0.25, but P\[3, 1\] is 0"):
        measure_of(game.lmdp, off)
    with pytest.raises(ModelError, match="Q has 3 states, but the model has 4"):
        measure_of(game.lmdp, np.eye(3))
    with pytest.raises(ModelError, match=r"Q\[0, 0\] is -1.0"):
        measure_of(game.lmdp, -np.eye(4))
    with pytest.raises(
        AssumptionError, match=r"more than one set of states that it never leaves.*Mix in a little of P"
    ):
        measure_of(LMDP(np.full((4, 4), 0.25)), np.eye(4))
