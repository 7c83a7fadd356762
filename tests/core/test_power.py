"""Power steps against products of matrices that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core import power, sparse
from lsmdp.solvers.power import PowerSteps


def walked(P: Any, g: np.ndarray, z: np.ndarray, target: float, most: int, averaging: bool) -> PowerSteps:
    return PowerSteps(*power.power_walk(sparse.rows(P), g, z, np.empty((2, z.size)), target, most, averaging))


@pytest.mark.parametrize("averaging", [False, True])
def test_power_steps_are_products(averaging: bool) -> None:
    rng = np.random.default_rng(4)
    P = LMDP(rng.uniform(0, 1, (30, 30)), normalise=True).P
    g, z = rng.uniform(0.5, 1, 30), rng.uniform(0.1, 1, 30)
    A = g[:, None] * P.toarray()
    first = A @ z
    ratios = first / z
    expected = first + A @ first / np.sqrt(ratios.min() * ratios.max()) if averaging else first
    walk = walked(P, g, z, 0.0, 1 + averaging, averaging)
    assert walk.steps == 1 + averaging
    np.testing.assert_allclose(z / z[0], expected / expected[0], rtol=1e-13)


def test_power_steps_stop_at_their_target_and_see_their_contraction() -> None:
    P = LMDP(np.random.default_rng(4).uniform(0, 1, (30, 30)), normalise=True).P
    W = 0.97 * np.eye(30) + 0.03 * P.toarray()  # the averaged pair contracts by (0.97 + 0.97^2)/2 = 0.955
    slow, z = LMDP(W, normalise=True).P, np.random.default_rng(1).uniform(0.5, 1, 30)
    walk = walked(slow, np.ones(30), z, 1e-9, 10_000, False)
    ratios = slow @ z / z
    assert np.log(ratios.max() / ratios.min()) <= 1e-9
    assert walk.averaging  # ten steps at 0.97 leave more than half
    assert walk.rate == pytest.approx(np.sqrt(0.955), abs=0.01)
    assert walk.steps == pytest.approx(np.log(1e-9) / np.log(np.sqrt(0.955)), rel=0.3)


def test_power_steps_that_go_round_stay_finite() -> None:
    """On a cycle with one expensive state the ratios differ by e^100 at first: no scale is right for all of them."""
    P = LMDP(np.roll(np.eye(6), 1, axis=1)).P
    z = np.ones(6)
    walk = walked(P, np.exp([-100.0, 0, 0, 0, 0, 0]), z, 1e-9, 100, False)
    assert np.isfinite(z).all()
    assert z.max() == 1.0
    assert z.min() > 0.0
    assert 1e-9 < walk.gap < 1.0  # on its way, and it says that it has not arrived
