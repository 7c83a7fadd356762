"""The compiled parts of a step with a factor, against a few lines of NumPy in more digits."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from lsmdp import LMDP, grid, random_graph, ring
from lsmdp._core import chord, sparse
from lsmdp.arrays import frozen, like
from lsmdp.solvers.problem import Problem
from lsmdp.solvers.warm.anchor import factor

MODELS = {"grid": lambda: grid(7, 9), "ring": lambda: ring(40, 0.9), "random": lambda: random_graph(60, 5)}


@njit
def look(P, units, work, logs):  # type: ignore[no-untyped-def]
    return chord._look(P, units, work, logs)


@njit
def step(anchor, units, work, steps):  # type: ignore[no-untyped-def]
    return chord._step(anchor, units, work, steps)


@njit
def aged(number, spent, recent, taken, price):  # type: ignore[no-untyped-def]
    return chord.aged(number, spent, recent, taken, price)


def moves(lmdp: LMDP) -> chord.OrderedMoves:
    """P with its rows in reverse."""
    back = np.arange(lmdp.n)[::-1]
    return chord.OrderedMoves(*sparse.rows(lmdp.P[back]), frozen(back.astype(np.uint32)))


def certificate(lmdp: LMDP, c: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log(Pz / z) and r = Bv - v in extended precision."""
    T, v = np.longdouble(lmdp.temperature), v.astype(np.longdouble)
    z = np.exp((v.min() - v) / T)
    s = np.add.reduceat(lmdp.P.data * z[lmdp.P.indices], lmdp.P.indptr[:-1])
    logs = np.log(s / z)
    return logs, c - T * logs


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("temperature", "span"), [(1.0, 3.0), (0.01, 4.0), (50.0, 2e4)])
def test_a_look_is_the_certificate(name: str, temperature: float, span: float) -> None:
    """Spans of up to 400 T; the bounds enclose r in more digits, and are no wider than rounding makes them."""
    lmdp, rng = LMDP(MODELS[name]().P, temperature=temperature), np.random.default_rng(1)
    n = lmdp.n
    c, v = rng.uniform(0, 1, n), rng.uniform(0, span, n)
    exact, r = certificate(lmdp, c, v)
    logs, units = np.empty(n), chord.ChordUnits(temperature, 0.0, 10.0)
    pairs = np.empty((2, chord.PAIRS, n), np.float32)
    work = chord._Work(c, v.copy(), np.empty(n), np.empty(n), pairs[0], pairs[1])
    lo, hi = look(moves(lmdp), units, work, logs)
    steep = span / temperature
    eps = np.finfo(float).eps
    np.testing.assert_allclose(logs, exact.astype(float), rtol=0, atol=8 * (10 + steep) * eps)
    assert lo <= r.min()
    assert hi >= r.max()
    assert hi - lo <= float(np.ptp(r)) + 16 * eps * (temperature * (32 + 6 * steep) + 3 * span + 3)


def test_a_v_that_is_too_steep_proves_nothing() -> None:
    lmdp = grid(3, 3)
    work = chord._Work(np.zeros(9), np.linspace(0, 501, 9), *np.empty((2, 9)), *np.empty((2, chord.PAIRS, 9), "f4"))
    assert look(moves(lmdp), chord.ChordUnits(1.0, 0.0, 5.0), work, np.empty(9)) == (-np.inf, np.inf)


def test_pairs_are_orthonormal_and_moves_go_with_their_changes() -> None:
    """If a change is A times its move before, it is so afterwards; rounding is that of single precision."""
    n, rng = 50, np.random.default_rng(2)
    A = rng.normal(size=(n, n)) / n + np.eye(n)
    moves, changes = np.zeros((2, chord.PAIRS, n), np.float32)
    for step in range(1, 6):
        at, move, r = (step - 1) % chord.PAIRS, rng.normal(size=n), rng.normal(size=n)
        moves[at], changes[at] = move, A @ move - r  # -r before the step is what is left of it, and r after it
        chord._remember.py_func(r, moves, changes, at)
        known = changes[: min(step, chord.PAIRS)]
        np.testing.assert_allclose(known @ known.T, np.eye(len(known)), atol=n * 2.0**-22)
        np.testing.assert_allclose(A @ moves[at], changes[at], atol=n * 2.0**-22)


@pytest.mark.parametrize("name", MODELS)
def test_a_step_is_a_solve_for_what_the_pairs_leave(name: str) -> None:
    """(I - Q) d = r up to a constant, along the pairs by what is known of them.

    The shares have single precision, and a path there or back has at most n of them; what they are off by is
    multiplied with the condition number of I - Q.
    """
    lmdp, rng, T = MODELS[name](), np.random.default_rng(3), 0.5
    n, v = lmdp.n, rng.uniform(0, 1, lmdp.n)
    made = factor(Problem(lmdp, np.zeros(n)), v)
    assert made is not None
    order, law = made.anchor.order, made.anchor.law / made.anchor.law.sum()
    M = np.eye(n) - like(lmdp.P, sparse.policy_weights(lmdp.P, v)).toarray()[np.ix_(order, order)]
    inverse = np.linalg.pinv(M)
    pairs = np.zeros((2, chord.PAIRS, n), np.float32)
    work = chord._Work(np.zeros(n), v[order], np.empty(n), np.empty(n), pairs[0], pairs[1])
    for k in range(chord.PAIRS):
        r, before = 1e-3 * rng.normal(size=n), work.v.copy()
        work.r[:] = r
        assert step(made.anchor, chord.ChordUnits(T, 0.0, 10.0), work, k)
        shares = pairs[1, :k] @ r  # the changes are orthonormal
        rest = r - shares @ pairs[1, :k]
        solved = inverse @ (rest - law @ rest)
        d = solved - shares @ pairs[0, :k]
        most = 4 * n * 2.0**-24 * np.linalg.norm(inverse, 2) * np.linalg.norm(M, 2) * np.abs(d).max()
        np.testing.assert_allclose(work.d - work.d.mean(), d - d.mean(), rtol=0, atol=most)
        np.testing.assert_allclose(work.v, before + T * work.d, rtol=4 * np.finfo(float).eps)
        np.testing.assert_array_equal(pairs[0, k], work.d.astype(np.float32))
        np.testing.assert_array_equal(pairs[1, k], -r.astype(np.float32))


def test_long_steps_are_shortened_and_steps_beyond_floats_are_not_taken() -> None:
    lmdp, n = grid(7, 9), 63
    made = factor(Problem(lmdp, np.zeros(n)), np.zeros(n))
    assert made is not None
    for size, taken, longest in ((1e6, True, 2.0), (np.inf, False, 0.0)):
        r, pairs = np.zeros(n), np.zeros((2, chord.PAIRS, n), np.float32)
        r[5] = size
        work = chord._Work(np.zeros(n), np.zeros(n), r, np.empty(n), pairs[0], pairs[1])
        assert step(made.anchor, chord.ChordUnits(1.0, 0.0, 10.0), work, 0) is taken
        np.testing.assert_allclose(np.abs(work.v).max(), longest, rtol=4 * np.finfo(float).eps)


def test_a_factor_is_worn_once_a_new_one_would_have_paid() -> None:
    """The rounds so far, at the price of the recent ones, against what was spent and the price of a factor."""
    number, spent, recent, taken = 0, 0.0, 0.0, (1, 1, 2, 3, 5, 8)
    for k, steps in enumerate(taken):
        mean = float(steps) if k == 0 else (recent + steps) / 2
        paid = spent + steps - 0.1 * (steps - 1)
        number, spent, recent = aged(number, spent, recent, steps, 10.0)
        if (k + 1) * mean > paid + 10.0:
            assert (number, spent, recent) == (0, 0.0, 0.0)
            break
        assert (number, recent) == (k + 1, mean)
        np.testing.assert_allclose(spent, paid, rtol=1e-15)
    assert number == 0
    assert k > 2


def test_rounds_end_where_the_certificate_does() -> None:
    """Two small costs, and one that is beyond a dozen steps: what is certified is right in more digits."""
    lmdp, rng = grid(7, 9), np.random.default_rng(4)
    n, c = lmdp.n, rng.uniform(0, 0.1, lmdp.n)
    costs, gaps = np.array([c, 1.01 * c, 500 * c]), np.full(3, 1e-6)
    made = factor(Problem(lmdp, c), np.zeros(n))
    assert made is not None
    found = chord.ChordRounds(np.empty((3, n)), np.empty(3), np.empty(3), np.zeros(3, np.int64))
    units, seen = chord.ChordUnits(1.0, 0.0, made.longest), chord.Seen(np.empty(n), False)
    aims = chord.ChordTargets(frozen(costs), frozen(gaps), frozen(np.zeros(n)))
    age, limits = chord.Age(0, 0.0, 0.0), chord.ChordLimits(12, 1e9)
    done, *_ = chord.rounds(made.moves, made.anchor, aims, units, age, limits, seen, found)
    assert done == 2
    for k in range(done):
        r = certificate(lmdp, costs[k], found.v[k])[1]
        assert found.lo[k] <= r.min() <= r.max() <= found.hi[k] <= found.lo[k] + gaps[k]
        assert 0 < found.steps[k] <= 12
