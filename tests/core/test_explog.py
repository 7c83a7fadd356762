"""Exponentials and logarithms of arrays, within 2 units in the last place of the exact ones."""

from __future__ import annotations

import mpmath
import numpy as np
from numba import njit

from lsmdp._core import explog


@njit
def logs(x, out):  # type: ignore[no-untyped-def]
    explog.logarithms(x, out)


def furthest(found: np.ndarray, exact: list[mpmath.mpf]) -> float:
    """The largest error in units of the last place."""
    return max(abs(mpmath.mpf(a) - b) / mpmath.mpf(np.spacing(abs(a))) for a, b in zip(found, exact, strict=True))


def test_exponentials() -> None:
    rng = np.random.default_rng(0)
    few = [0.0, 700.0, 1e-300, 0.5 * np.log(2)]
    parts = [rng.uniform(0, 700, 4000), rng.uniform(0, 1e-3, 100), np.log(2) * np.arange(100)]
    x = np.concatenate([few, *parts])
    out = np.empty_like(x)
    explog.exponentials(x, out)
    with mpmath.workdps(40):
        assert furthest(out, [mpmath.exp(-mpmath.mpf(one)) for one in x]) <= 2
    explog.exponentials(np.array([np.nan]), out[:1])
    assert np.isnan(out[0])


def test_logarithms() -> None:
    rng = np.random.default_rng(1)
    near, far = 1.0 + rng.uniform(-0.4, 0.6, 2000), 10.0 ** rng.uniform(-307, 308, 2000)
    close, cut = 2.0 ** -rng.uniform(1, 52, 300), np.sqrt(0.5) * (1.0 + 2.0**-52 * np.arange(-8, 8))
    x = np.concatenate([[1.0, np.nextafter(1.0, 2.0), 2.3e-308, 1.7e308], near, far, 1.0 - close, 1.0 + close, cut])
    out = np.empty_like(x)
    logs(x, out)
    with mpmath.workdps(40):
        exact = [mpmath.log(mpmath.mpf(one)) for one in x]
        assert out[0] == 0.0
        assert furthest(out[1:], exact[1:]) <= 2


def test_extremes() -> None:
    x = np.random.default_rng(2).normal(size=1001)
    assert explog.extremes(x) == (x.min(), x.max())
    assert explog.extremes(x[:0]) == (np.inf, -np.inf)
    for few in ([np.inf, 1.0], [-np.inf, 2.0], [-1.0, -2.0], [5e-324, -5e-324], [np.inf], [-np.inf], [1e308, 1e-308]):
        assert explog.extremes(np.array(few)) == (min(few), max(few))
    for nan in (np.nan, -np.nan):
        assert np.isnan(explog.extremes(np.array([1.0, nan, 3.0]))).any()
