"""Gauss-Seidel sweeps, and what goes with them, against a few lines of NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from lsmdp import LMDP, clusters, random_graph
from lsmdp._core import sparse, sweeps
from lsmdp._core.sweeps import Single, SweepFlow, Work
from lsmdp.arrays import frozen
from lsmdp.solvers.warm.sweeps import _in_single

UNIT = 2.0**-24  # the largest relative error of one rounding to single precision


@njit
def prepare(diagonal, c, temperature, known, u, work):  # type: ignore[no-untyped-def]
    return sweeps._prepare(diagonal, c, temperature, known, u, work)


@njit
def sweep(single, work, shift, look, keep):  # type: ignore[no-untyped-def]
    return sweeps._sweep(single, work, shift, look, keep)


@njit
def attempt(single, c, goal, limit, units, known, u):  # type: ignore[no-untyped-def]
    return sweeps._attempt(single, c, goal, limit, units, known, u)


@njit
def split(single, work, shift, w):  # type: ignore[no-untyped-def]
    return sweeps._split(single, work, shift, w)


@njit
def levels(moved):  # type: ignore[no-untyped-def]
    return sweeps._levels(moved)


@njit
def eliminated(system):  # type: ignore[no-untyped-def]
    return sweeps._eliminated(system)


@njit
def added(x, w, temperature, u):  # type: ignore[no-untyped-def]
    sweeps._added(x, w, temperature, u)


def given(lmdp: LMDP, seed: int) -> tuple[Single, SweepFlow, np.ndarray, np.ndarray]:
    """P in single precision, what is known of some v, a cost that is nearly that of v, and Q - I for this v."""
    rng, T = np.random.default_rng(seed), lmdp.temperature
    v = rng.uniform(0, 3 * T, lmdp.n)
    v -= v.min()
    w = np.exp(-v / T)
    s = lmdp.P @ w
    c = v + T * np.log(s) + 0.01 * rng.normal(size=lmdp.n)
    Q = lmdp.P.toarray() * w / s[:, None]
    return _in_single(lmdp), SweepFlow(frozen(v), 0.0, w, s, np.log(s)), frozen(c), Q - np.eye(lmdp.n)


def swept(Q_I: np.ndarray, r: np.ndarray, d: np.ndarray, shift: float, chunk: int) -> tuple[np.ndarray, np.ndarray]:
    """The next d, and the residual that each state had in its turn: the states of a chunk move at once."""
    d, e = d.copy(), np.empty_like(d)
    for i in range(0, d.size, chunk):
        here = slice(i, i + chunk)
        e[here] = r[here] - shift + Q_I[here] @ d
        d[here] -= e[here] / np.diag(Q_I)[here]
    return d, e


MODELS = {"random": lambda: random_graph(400, 5, seed=1), "cold": lambda: random_graph(90, 4, temperature=0.2)}


@pytest.mark.parametrize("name", MODELS)
def test_sweeps_are_those_of_gauss_and_seidel(name: str) -> None:
    """x = w d. Rows have at most 6 entries, so that a number has some 16 roundings in single precision to a sweep."""
    lmdp = MODELS[name]()
    single, known, c, Q_I = given(lmdp, 2)
    n, T, u = lmdp.n, lmdp.temperature, np.empty(lmdp.n)
    work = Work(*np.zeros((5, n), np.float32))
    assert prepare(single.diagonal, c, T, known, u, work)
    r = (c - known.v) / T - known.logs
    r -= r.mean()
    d, shift = r / -np.diag(Q_I), 0.01
    np.testing.assert_allclose(work.r, r, rtol=0, atol=8 * UNIT * np.abs(r).max())
    for k in range(1, 5):
        np.testing.assert_allclose(work.x / known.w, d, rtol=0, atol=16 * k * UNIT * np.abs(d).max())
        d, e = swept(Q_I, r, d, shift, min(sweeps.STATES_OF_A_CHUNK, n // sweeps._FEWEST_CHUNKS + 1))
        total, squares, span = sweep(single, work, np.float32(shift), True, True)
        most = 16 * (k + 1) * UNIT * np.abs(d).max() * 4  # e is a sum of two d and of r, whose sizes are alike
        np.testing.assert_allclose(work.e, e, rtol=0, atol=most)
        assert abs(total - e.sum()) <= n * most
        assert abs(squares - e @ e) <= 2 * n * most * np.abs(e).max()
        assert abs(span - np.ptp(e)) <= 2 * most
    added(work.x, known.w, T, u)
    assert u.min() == 0.0
    expected = known.v + T * d
    np.testing.assert_allclose(u, expected - expected.min(), rtol=0, atol=160 * UNIT * T * np.abs(d).max())


def attempted(
    Q_I: np.ndarray, r: np.ndarray, goal: float, limit: int, chunk: int
) -> tuple[np.ndarray, float, int, float]:
    """d, the gap that is expected of it, the sweeps and the last contraction, where nothing is slow."""
    d, shift, rate, steps, span, size = r / -np.diag(Q_I), 0.0, 1.0, 0, np.ptp(r), np.sqrt(np.mean(r * r))
    goal = max(goal, sweeps._SHARE_NOT_LINEAR * span**2, sweeps._SHARE_LOST_IN_SINGLE * span)
    while span * rate > goal and steps < limit:
        look = 2 * size * rate**2 <= goal or steps + 1 == limit
        d, e = swept(Q_I, r, d, shift, chunk)
        before, size = size, np.sqrt(np.mean(e * e))
        span = np.ptp(e) if look else sweeps._DEVIATIONS_OF_A_SPAN * size
        shift, steps, rate = shift + e.mean() / 2, steps + 1, max(size / before, sweeps._BEST_CONTRACTION)
        assert steps == 1 or rate < sweeps._STALLED_CONTRACTION  # two in a row would call for a split
    return d, span * rate, steps, rate


@pytest.mark.parametrize(("goal", "limit"), [(1e-3, 30), (1e-9, 30), (1e-9, 3), (1.0, 30)])
@pytest.mark.parametrize("lmdp", [random_graph(400, 5, seed=1), random_graph(90, 12, temperature=0.5)])
def test_an_attempt_ends_where_its_sweeps_say(lmdp: LMDP, goal: float, limit: int) -> None:
    """The same sweeps as in double precision, and 16 roundings for each, of numbers as large as d."""
    single, known, c, Q_I = given(lmdp, 5)
    T, u = lmdp.temperature, np.empty(lmdp.n)
    r = (c - known.v) / T - known.logs
    r -= r.mean()
    d, wide, steps, rate = attempted(
        Q_I, r, goal, limit, min(sweeps.STATES_OF_A_CHUNK, lmdp.n // sweeps._FEWEST_CHUNKS + 1)
    )
    found = attempt(single, c, goal, limit, sweeps.SweepUnits(T, 0.0), known, u)
    off = 64 * (steps + 1) * UNIT * np.abs(d).max()
    assert found[1] == steps
    assert abs(found[0] - wide) <= off
    assert abs(found[2] - rate) <= 0.01  # a quotient of two norms, of which the second may be near rounding
    expected = known.v + T * d
    np.testing.assert_allclose(u, expected - expected.min(), rtol=0, atol=T * off)


def played(lmdp: LMDP, costs: np.ndarray, gaps: np.ndarray, v: np.ndarray, limits: sweeps.SweepLimits) -> list[tuple]:
    """One attempt after another for each cost, each from the last and judged by its certificate, until one fails."""
    single, units, found = _in_single(lmdp), sweeps.SweepUnits(lmdp.temperature, lmdp.rounding), []
    for c, gap in zip(costs, gaps, strict=True):
        goal, width, taken, lo, hi = sweeps._SHARE_OF_THE_TOLERANCE * gap / lmdp.temperature, np.inf, 0, -np.inf, np.inf
        for _ in range(limits.attempts):
            flow, u = lmdp.moves.flow(v), np.empty(lmdp.n)
            known = SweepFlow(frozen(v), flow.low, flow.w, flow.s, flow.logs)
            _, more, _ = attempt(single, c, goal, limits.sweeps - taken, units, known, u)
            v, taken = u, taken + more
            _, lo, hi = lmdp.moves.residual(c, v)
            if hi - lo <= gap or not hi - lo < width / 2 or taken >= limits.sweeps:
                break
            width = hi - lo
        found.append((v, lo, hi, taken))
        if not hi - lo <= gap:
            break
    return found


def rounds_of(
    lmdp: LMDP, costs: np.ndarray, gaps: np.ndarray, v: np.ndarray, limits: sweeps.SweepLimits
) -> tuple[int, list[tuple]]:
    """The same in one call: how many rounds were done, and all rows that it was given room for."""
    flow, count = lmdp.moves.flow(v), len(costs)
    out = np.empty((count, lmdp.n)), np.empty(count), np.empty(count), np.zeros(count, np.int64)
    done, *_ = sweeps.rounds(
        sparse.rows(lmdp.P),
        _in_single(lmdp),
        sweeps.SweepTargets(frozen(costs), frozen(gaps)),
        sweeps.SweepUnits(lmdp.temperature, lmdp.rounding),
        limits,
        SweepFlow(flow.v, flow.low, flow.w.copy(), flow.s.copy(), flow.logs.copy()),
        (*np.empty((3, lmdp.n)), sparse.room_of_a_block()),
        sweeps.SweptRounds(out[0], frozen(out[0]), *out[1:]),
    )
    return done, list(zip(*out, strict=True))


def test_rounds_are_attempts_with_certificates() -> None:
    """To the last bit: the third cost is so far away that it takes several attempts, the fifth too far for any."""
    lmdp, rng = MODELS["random"](), np.random.default_rng(7)
    costs, gaps = np.cumsum(0.01 * rng.uniform(size=(6, lmdp.n)), axis=0), np.full(6, 1e-6)
    costs[2:] += rng.uniform(0, 2, lmdp.n)
    costs[4:] += rng.uniform(0, 30, lmdp.n)
    given = lmdp, costs, gaps, np.zeros(lmdp.n), sweeps.SweepLimits(60, 5)
    expected, (done, found) = played(*given), rounds_of(*given)
    assert done == len(expected) - 1 == 4
    for one, other in zip(found[:done], expected, strict=False):
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:] == other[1:]


def test_a_round_ends_with_an_attempt_that_does_not_halve_its_gap() -> None:
    """There is room for many more attempts, and none of them would get below the rounding of the certificate."""
    lmdp, rng = MODELS["random"](), np.random.default_rng(8)
    given = lmdp, rng.uniform(0, 1, (1, lmdp.n)), np.array([1e-17]), np.zeros(lmdp.n), sweeps.SweepLimits(10_000, 50)
    [(_, lo, hi, taken)], (done, found) = played(*given), rounds_of(*given)
    assert done == 0
    assert found[0][1:] == (lo, hi, taken)
    assert hi - lo < 1e-10
    assert taken < 100


def test_a_v_that_is_too_steep_for_single_precision_is_declined() -> None:
    lmdp = MODELS["random"]()
    single, known, c, _ = given(lmdp, 3)
    for times, room in ((1.0, True), (10.0, False)):
        steep = known._replace(v=frozen(times * known.v))
        work = Work(*np.zeros((5, lmdp.n), np.float32))
        assert prepare(single.diagonal, c, 1.0, steep, np.empty(lmdp.n), work) is room


def test_sets_that_are_seldom_left_are_balanced() -> None:
    """After it, the residuals of d sum up to 0 on each of three sets; before it, they did not."""
    lmdp = clusters(3, 40, 1e-3, seed=2)
    single, known, c, Q_I = given(lmdp, 4)
    sets = np.repeat(np.arange(3), 40)
    work = Work(*np.zeros((5, lmdp.n), np.float32))
    assert prepare(single.diagonal, c, 1.0, known, np.empty(lmdp.n), work)
    work.e[:] = (sets - 1.0) * known.w / work.gain  # as if each set had moved by a constant
    shift = 0.005
    r = work.r.astype(float)

    def sums(d: np.ndarray, shift: float) -> np.ndarray:
        return np.bincount(sets, r - shift + Q_I @ d)

    before = sums(work.x / known.w, shift)
    shift += split(single, work, np.float32(shift), known.w)
    d = work.x / known.w
    after = sums(d, shift)
    assert np.abs(before).max() > 0.1
    # each of the 120 residuals is off by some 16 roundings of numbers as large as d
    assert np.abs(after).max() <= 120 * 16 * UNIT * np.abs(d).max()


@pytest.mark.parametrize("seed", range(5))
def test_a_few_equations_are_solved(seed: int) -> None:
    """Backward stable: the residual is a few roundings of the largest terms; these systems are well conditioned."""
    rng, n = np.random.default_rng(seed), 6
    A, b = rng.normal(size=(n, n)) + 4 * np.eye(n)[rng.permutation(n)], rng.normal(size=n)
    system = np.column_stack([A, b])
    assert eliminated(system)
    limit = 8 * n**2 * np.finfo(float).eps * np.linalg.cond(A)
    np.testing.assert_allclose(system[:, n], np.linalg.solve(A, b), rtol=0, atol=limit * np.abs(system[:, n]).max())
    assert not eliminated(np.zeros((2, 3)))


def test_levels_are_told_apart_by_empty_bins() -> None:
    moved = np.array([0.0, 0.01, 5.0, 5.02, 9.99, 10.0], np.float32)
    level, count = levels(moved)
    assert (level.tolist(), count) == ([0, 0, 1, 1, 2, 2], 3)
    level, count = levels(np.linspace(0, 1, 1000, dtype=np.float32))  # nothing stands out: halves
    assert count == 2
    np.testing.assert_array_equal(level, np.arange(1000) >= 500)


def levels_in_numpy(moved: np.ndarray) -> tuple[np.ndarray, int]:
    """Bins of equal width, in which empty ones are borders; two halves where there are no or too many borders."""
    least, most = moved.min(), moved.max()
    scale = sweeps._BINS / (float(most) - float(least))
    bins = np.minimum(((moved - least) * scale).astype(int), sweeps._BINS - 1)
    used = np.unique(bins)
    group = np.concatenate([[0], np.cumsum(np.diff(used) > 1)])
    if not 2 <= group[-1] + 1 <= sweeps._MOST_LEVELS:
        group = (used >= sweeps._BINS // 2).astype(int)
    return group[np.searchsorted(used, bins)], max(int(group[-1]) + 1, 2)


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moved = (rng.integers(0, 2 + seed, 300) + rng.normal(0, 0.02, 300)).astype(np.float32)
    level, count = levels(moved)
    expected, groups = levels_in_numpy(moved)
    assert count == groups
    np.testing.assert_array_equal(level, expected)


def test_it_does_not_matter_whether_the_new_v_takes_the_place_of_the_old() -> None:
    """As in the second attempt of a round among many. Residuals that sum up to rounding only show in which order."""
    n, rng = 2000, np.random.default_rng(6)
    for _ in range(20):
        noise, v = rng.standard_normal(n), rng.uniform(0, 5, n)
        v[0], noise[0] = 0.0, 0.0
        noise[1:] -= noise[1:].mean()
        logs = -rng.uniform(0, 1, n)
        read = frozen(np.full(n, 0.1, np.float32)), frozen(v + 0.7 * logs + 1e-4 * noise)
        found = []
        for in_place in (True, False):
            old = v.copy()
            u, old = (old if in_place else np.empty(n)), frozen(old)
            work = Work(*np.zeros((5, n), np.float32))
            assert prepare(*read, 0.7, SweepFlow(old, 0.0, np.exp(-v), np.exp(logs), logs), u, work)
            found.append((u, *work))
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)
