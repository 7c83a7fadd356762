"""The compiled parts of a step with a factor, against a few lines of NumPy in more digits."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from lsmdp import LMDP, grid, random_graph, ring
from lsmdp._core import chord, sparse

MODELS = {"grid": lambda: grid(7, 9), "ring": lambda: ring(40, 0.9), "random": lambda: random_graph(60, 5)}


@njit
def look(P, units, work, seen):  # type: ignore[no-untyped-def]
    return chord._look(P, units, work, seen)


def certificate(lmdp: LMDP, c: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z, log(Pz / z) and r = Bv - v in extended precision."""
    T, v = np.longdouble(lmdp.temperature), v.astype(np.longdouble)
    z = np.exp((v.min() - v) / T)
    s = np.add.reduceat(lmdp.P.data * z[lmdp.P.indices], lmdp.P.indptr[:-1])
    logs = np.log(s / z)
    return z, logs, c - T * logs


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("temperature", "span"), [(1.0, 3.0), (0.01, 4.0), (50.0, 2e4)])
def test_a_look_is_the_certificate(name: str, temperature: float, span: float) -> None:
    """Spans of up to 400 T; the bounds enclose r in more digits, and are no wider than rounding makes them."""
    lmdp, rng = LMDP(MODELS[name]().P, temperature=temperature), np.random.default_rng(1)
    n = lmdp.n
    c, v = rng.uniform(0, 1, n), rng.uniform(0, span, n)
    z, logs, r = certificate(lmdp, c, v)
    seen, units = chord.Seen(np.empty(n), np.empty(n), False), chord.Units(temperature, 0.0, 10.0)
    pairs = np.empty((2, chord.PAIRS, n), np.float32)
    work = chord._Work(c, v.copy(), np.empty(n), np.empty(n), pairs[0], pairs[1])
    lo, hi = look(sparse.rows(lmdp.P), units, work, seen)
    steep = span / temperature
    eps = np.finfo(float).eps
    np.testing.assert_allclose(seen.z, z.astype(float), rtol=(4 + steep) * eps)
    np.testing.assert_allclose(seen.logs, logs.astype(float), rtol=0, atol=8 * (10 + steep) * eps)
    assert lo <= r.min()
    assert hi >= r.max()
    assert hi - lo <= float(np.ptp(r)) + 16 * eps * (temperature * (32 + 6 * steep) + 3 * span + 3)


def test_a_v_that_is_too_steep_proves_nothing() -> None:
    lmdp = grid(3, 3)
    work = chord._Work(np.zeros(9), np.linspace(0, 501, 9), *np.empty((2, 9)), *np.empty((2, chord.PAIRS, 9), "f4"))
    seen = chord.Seen(np.empty(9), np.empty(9), False)
    assert look(sparse.rows(lmdp.P), chord.Units(1.0, 0.0, 5.0), work, seen) == (-np.inf, np.inf)


def test_pairs_are_orthonormal_and_moves_go_with_their_changes() -> None:
    """If a change is A times its move before, it is so afterwards; rounding is that of single precision."""
    n, rng = 50, np.random.default_rng(2)
    A = rng.normal(size=(n, n)) / n + np.eye(n)
    moves, changes = np.zeros((2, chord.PAIRS, n), np.float32)
    for step in range(1, 6):
        at, move, r = (step - 1) % chord.PAIRS, rng.normal(size=n), rng.normal(size=n)
        moves[at], changes[at] = move, A @ move - r  # -r before the step is what is left of it, and r after it
        chord._remember.py_func(r, moves, changes, step)
        known = changes[: min(step, chord.PAIRS)]
        np.testing.assert_allclose(known @ known.T, np.eye(len(known)), atol=n * 2.0**-22)
        np.testing.assert_allclose(A @ moves[at], changes[at], atol=n * 2.0**-22)
