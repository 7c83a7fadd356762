"""The loops of problems that end, against a few lines of NumPy and against 60 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core import exits
from lsmdp._core.sparse import rows
from tests import precise


def plain_soft_minima(P: np.ndarray, v: np.ndarray, T: float) -> np.ndarray:
    return -T * np.log(P @ np.exp(-v / T))


def plain_sweep(P: np.ndarray, own: np.ndarray, v: np.ndarray, T: float, order: np.ndarray, a: float) -> np.ndarray:
    v = v.copy()
    for x in order:
        weights = P[x] * np.exp(-a * v / T)
        v[x] = own[x] - T * np.log(weights.sum() - (weights[x] if a == 1.0 else 0.0))
    return v


def plain_sweep_linear(
    A: np.ndarray, gain: np.ndarray, source: np.ndarray, f: np.ndarray, order: np.ndarray, power: float = 1.0
) -> np.ndarray:
    f = f.copy()
    for x in order:
        f[x] = gain[x] * (source[x] + A[x] @ f - (A[x, x] * f[x] if power == 1.0 else 0.0)) ** power
    return f


def plain_leading(P: np.ndarray, known: np.ndarray) -> set[int]:
    leads = known == 1
    for _ in known:
        leads |= (known == 0) & (P[:, leads].sum(axis=1) > 0.0)
    return set(np.flatnonzero(leads & (known == 0)).tolist())


def model(seed: int, n: int = 7) -> LMDP:
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    W[np.arange(n), (np.arange(n) + 1) % n] += 0.1
    return LMDP(W, normalise=True)


@pytest.mark.parametrize("T", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("spread", [1.0, 150.0])  # with one scale for all rows, and without
def test_soft_minima(T: float, spread: float) -> None:
    lmdp = model(1)
    v = np.random.default_rng(2).random(7) * spread * min(T, 1.0)
    inside = np.array([True] * 6 + [False])
    b, e = exits.soft_minima(lmdp.P, v, T, inside)
    assert b[:6] == pytest.approx(plain_soft_minima(lmdp.P.toarray(), v, T)[:6], abs=1e-12)
    assert b[6] == e[6] == 0.0
    assert (e[:6] > 0.0).all()
    assert e.max() < 1e-13 * (1.0 + spread) * T


def test_the_error_of_each_row_is_enclosed() -> None:
    """In 60 digits, for values over many scales; and rounding does happen, so that the bound is not empty talk."""
    moved = 0
    with mpmath.workdps(precise.DIGITS):
        for seed in range(150):
            rng = np.random.default_rng(seed)
            W = 10.0 ** -rng.uniform(0, 12, (4, 4))
            lmdp, T = LMDP(W, normalise=True), float(rng.choice([0.02, 1.0, 7.3]))
            v = rng.normal(size=4) * 10.0 ** rng.uniform(-2, 6)
            b, e = exits.soft_minima(lmdp.P, v, T, np.ones(4, dtype=bool))
            values = [mpmath.mpf(float(value)) for value in v]
            for x, row in enumerate(precise.exact(lmdp.P.toarray())):
                off = abs(mpmath.mpf(float(b[x])) - precise.soft_minimum(row, values, mpmath.mpf(T)))
                assert off <= e[x]
                moved += off > 0
    assert moved > 300


def test_what_must_not_be_reached_has_no_weight() -> None:
    lmdp = LMDP([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    b, _ = exits.soft_minima(lmdp.P, np.array([1.0, 2.0, np.inf]), 1.0, np.array([True, False, False]))
    assert b[0] == pytest.approx(-np.log(0.5 * np.exp(-1.0) + 0.25 * np.exp(-2.0)), abs=1e-15)


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_sweep(discount: float) -> None:
    lmdp, rng = model(3), np.random.default_rng(4)
    own, v, order = rng.random(7), rng.random(7), rng.permutation(7)[:5]
    swept = v.copy()
    exits.sweep(lmdp.P, own, swept, 0.7, order, discount)
    assert swept == pytest.approx(plain_sweep(lmdp.P.toarray(), own, v, 0.7, order, discount), abs=1e-13)


def test_sweep_comes_down_from_infinity() -> None:
    """A state whose successors are all infinite stays as it is."""
    lmdp = LMDP([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    v = np.array([np.inf, np.inf, 0.0])
    exits.sweep(lmdp.P, np.ones(3), v, 1.0, np.array([0, 1]))
    assert v.tolist() == [np.inf, 1.0, 0.0]


@pytest.mark.parametrize("power", [1.0, 0.9, 0.5])
def test_sweep_linear(power: float) -> None:
    lmdp, rng = model(5), np.random.default_rng(6)
    gain, source, f, order = rng.random(7), rng.random(7), rng.random(7), rng.permutation(7)[:6]
    swept = f.copy()
    exits.sweep_linear(rows(lmdp.P), gain, source, swept, order, power)
    assert swept == pytest.approx(plain_sweep_linear(lmdp.P.toarray(), gain, source, f, order, power), abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_leading(seed: int) -> None:
    """The states are those of a plain search, and each comes after one that it can move to."""
    rng = np.random.default_rng(seed)
    W = np.eye(40) + (rng.random((40, 40)) < 0.04)
    P, known = LMDP(W, normalise=True).P, np.zeros(40, dtype=np.int8)
    known[:4] = [1, 2, 1, 2]
    found = exits.leading(P, known.copy())
    assert found is not None
    assert set(found.tolist()) == plain_leading(P.toarray(), known)
    before = {0, 2}
    for x in found.tolist():
        assert before & set(P[[x]].indices.tolist())
        before.add(x)


def test_leading_gives_up_on_a_long_way() -> None:
    """Against the order of the states, each pass finds one more."""
    known = np.zeros(100, dtype=np.int8)
    known[0] = 1
    P = LMDP(np.eye(100) + np.eye(100, k=1) + np.eye(100, k=-1), normalise=True).P
    assert exits.leading(P, known.copy()) is not None  # with the order: one pass
    known[0], known[-1] = 0, 1
    assert exits.leading(P, known) is None
