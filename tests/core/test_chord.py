"""The compiled parts of a step with a factor, against a few lines of NumPy in more digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from lsmdp import LMDP, Policy, grid, random_graph, ring, solve
from lsmdp._core import chord, sparse
from lsmdp.arrays import frozen, like
from lsmdp.solvers.problem import Problem
from lsmdp.solvers.warm.anchor import factor
from lsmdp.solvers.warm.chord import NEW

MODELS = {"grid": lambda: grid(7, 9), "ring": lambda: ring(40, 0.9), "random": lambda: random_graph(60, 5)}


@njit
def look(P, units, room, v, logs):  # type: ignore[no-untyped-def]
    return chord._look(P, units, room, v, logs)


@njit
def step(anchor, units, room, v, steps):  # type: ignore[no-untyped-def]
    return chord._step(anchor, units, room, v, steps)


@njit
def aged(number, spent, recent, taken, price):  # type: ignore[no-untyped-def]
    return chord.aged(number, spent, recent, taken, price)


def units_of(T: float, longest: float, price: float = np.inf) -> chord.ChordUnits:
    return chord.ChordUnits(T, 0.0, longest, 12, price)


def blank(n: int, tallest: int = 0) -> chord.ChordRoom:
    room = chord.ChordRoom.of(n, tallest)
    room.moves[:], room.changes[:] = 0.0, 0.0
    return room


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
    logs, room = np.empty(n), blank(n)
    room.cost[:] = c
    lo, hi = look(moves(lmdp), units_of(temperature, 10.0), room, v.copy(), logs)
    steep = span / temperature
    eps = np.finfo(float).eps
    np.testing.assert_allclose(logs, exact.astype(float), rtol=0, atol=8 * (10 + steep) * eps)
    assert lo <= r.min()
    assert hi >= r.max()
    assert hi - lo <= float(np.ptp(r)) + 16 * eps * (temperature * (32 + 6 * steep) + 3 * span + 3)


def test_a_v_that_is_too_steep_proves_nothing() -> None:
    steep = np.linspace(0, 501, 9)
    assert look(moves(grid(3, 3)), units_of(1.0, 5.0), blank(9), steep, np.empty(9)) == (-np.inf, np.inf)


def test_pairs_are_orthonormal_and_moves_go_with_their_changes() -> None:
    """If a change is A times its move before, it is so afterwards; rounding is that of single precision."""
    n, rng = 50, np.random.default_rng(2)
    A = rng.normal(size=(n, n)) / n + np.eye(n)
    moves, changes = np.zeros((2, chord.PAIRS, n), np.float32)
    for step in range(1, 6):
        at, move, r = (step - 1) % chord.PAIRS, rng.normal(size=n), rng.normal(size=n)
        moves[at], changes[at] = move, A @ move - r  # -r before the step is what is left of it, and r after it
        chord._remember.py_func(r, moves, changes, at, min(step, chord.PAIRS))
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
    room, v = blank(n, made.anchor.blocks.tallest), v[order]
    pairs = room.moves, room.changes
    for k in range(chord.PAIRS):
        r, before = 1e-3 * rng.normal(size=n), v.copy()
        room.r[:] = r
        assert step(made.anchor, units_of(T, 10.0), room, v, k)
        shares = pairs[1][:k] @ r  # the changes are orthonormal
        rest = r - shares @ pairs[1][:k]
        solved = inverse @ (rest - law @ rest)
        d = solved - shares @ pairs[0][:k]
        most = 4 * n * 2.0**-24 * np.linalg.norm(inverse, 2) * np.linalg.norm(M, 2) * np.abs(d).max()
        np.testing.assert_allclose(room.d - room.d.mean(), d - d.mean(), rtol=0, atol=most)
        np.testing.assert_allclose(v, before + T * room.d, rtol=4 * np.finfo(float).eps)
        np.testing.assert_array_equal(pairs[0][k], room.d.astype(np.float32))
        np.testing.assert_array_equal(pairs[1][k], -r.astype(np.float32))


def test_long_steps_are_shortened_and_steps_beyond_floats_are_not_taken() -> None:
    lmdp, n = grid(7, 9), 63
    made = factor(Problem(lmdp, np.zeros(n)), np.zeros(n))
    assert made is not None
    for size, taken, longest in ((1e6, True, 2.0), (np.inf, False, 0.0)):
        room, v = blank(n, made.anchor.blocks.tallest), np.zeros(n)
        room.r[:] = 0.0
        room.r[5] = size
        assert step(made.anchor, units_of(1.0, 10.0), room, v, 0) is taken
        np.testing.assert_allclose(np.abs(v).max(), longest, rtol=4 * np.finfo(float).eps)


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
    units, seen = units_of(1.0, made.longest, 1e9), chord.Seen(np.empty(n), False)
    aims = chord.ChordTargets(frozen(costs), frozen(gaps), frozen(np.zeros(n)))
    age, room = chord.Age(0, 0.0, 0.0), chord.ChordRoom.of(n, made.anchor.blocks.tallest)
    done, *_ = chord.rounds(made.moves, made.anchor, aims, units, age, seen, room, found)
    assert done == 2
    for k in range(done):
        r = certificate(lmdp, costs[k], found.v[k])[1]
        assert found.lo[k] <= r.min() <= r.max() <= found.hi[k] <= found.lo[k] + gaps[k]
        assert 0 < found.steps[k] <= 12


def round_in_numpy(
    lmdp: LMDP, inverse: np.ndarray, law: np.ndarray, c: np.ndarray, gap: float, v: np.ndarray
) -> tuple[np.ndarray, int]:
    """(v, steps): d = inverse (r - law.r) for what no pair of earlier steps explains, until r is flat (T = 1)."""
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for steps in range(100):
        r = certificate(lmdp, c, v)[1].astype(float)
        r -= r.mean()
        if pairs:  # the change of r is known only now; all changes are orthonormal
            move, change = pairs[-1][0], pairs[-1][1] + r
            for known, other in pairs[:-1]:
                move, change = move - (change @ other) * known, change - (change @ other) * other
            pairs[-1] = move / np.linalg.norm(change), change / np.linalg.norm(change)
        if np.ptp(r) <= (gap if steps else 0.9 * gap):  # without a step, there must be room for rounding
            return v, steps
        rest = r - sum((r @ change) * change for _, change in pairs)
        d = inverse @ (rest - law @ rest) - sum((r @ change) * move for move, change in pairs)
        pairs = [*pairs[-chord.PAIRS + 1 :], (d, -r)]
        v = v + d
    raise AssertionError("so many steps were not expected")


@pytest.mark.parametrize("name", MODELS)
def test_rounds_are_those_of_numpy(name: str) -> None:
    """The same steps in every round; both v have a residual as flat as the gap, and so are close to each other."""
    lmdp, rng = MODELS[name](), np.random.default_rng(6)
    n, c, gap = lmdp.n, rng.uniform(0, 1, lmdp.n), 1e-7
    costs = c + 0.05 * rng.uniform(0, 1, (3, n))
    v = solve(lmdp, c).v
    made = factor(Problem(lmdp, c), v)
    assert made is not None
    found = chord.ChordRounds(np.empty((3, n)), np.empty(3), np.empty(3), np.zeros(3, np.int64))
    aims = chord.ChordTargets(frozen(costs), frozen(np.full(3, gap)), frozen(v))
    room, seen = chord.ChordRoom.of(n, made.anchor.blocks.tallest), chord.Seen(np.empty(n), False)
    units = units_of(1.0, made.longest, 1e9)
    done, *_ = chord.rounds(made.moves, made.anchor, aims, units, NEW, seen, room, found)
    assert done == 3
    inverse = np.linalg.pinv(np.eye(n) - Policy(lmdp, v).matrix().toarray())
    law = Policy(lmdp, v).stationary()
    for k in range(3):
        v, steps = round_in_numpy(lmdp, inverse, law, costs[k], gap, v)
        assert found.steps[k] == steps >= 2
        apart = np.ptp(found.v[k] - v)
        assert apart <= 4 * np.linalg.norm(inverse, np.inf) * gap


def lifetime(steps: Callable[[int], float], price: float, most: int = 10_000) -> int:
    """Rounds that a factor serves if round k takes so many steps."""
    wear = (0, 0.0, 0.0)
    for k in range(1, most):
        wear = chord.aged.py_func(*wear, round(steps(k)), price)
        if wear == NEW:
            return k
    return most


def test_a_factor_serves_as_long_as_its_rounds_are_cheaper_than_on_average() -> None:
    """Where steps grow, the mean (price + sum) / rounds is near its least; where they do not, it is only doubted."""
    for price, slope in ((20.0, 0.1), (50.0, 0.5), (200.0, 0.02)):
        sums = np.cumsum([round(2 + slope * k) for k in range(1, 2000)])
        means = (price + sums) / np.arange(1, 2000)
        served = lifetime(lambda k, slope=slope: 2 + slope * k, price)
        assert means[served - 1] <= 1.1 * means.min()
    assert lifetime(lambda _: 1, 10.0) == 10_000  # it cannot get better
    assert 95 <= lifetime(lambda _: 2, 10.0) <= 105  # a tenth of a step a round
    assert lifetime(lambda k: 2 if k <= 50 else 8, 10.0) <= 53  # the world has changed
