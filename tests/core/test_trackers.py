"""Several trackers at once against one Bellman update after the other."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp import LMDP
from lsmdp._core.full import Weights
from lsmdp._core.trackers import track_together
from lsmdp.arrays import EPS


def bellman(P: np.ndarray, T: float, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(c - T * np.log(P @ np.exp(-(v - v.min()) / T)))


@pytest.mark.parametrize("T", [1.0, 0.1])
@pytest.mark.parametrize("n", [1, 4, 7, 17])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_tracker_averages_two_updates(count: int, n: int, T: float) -> None:
    """A row is rounded some 2 (n + 20) times in each round, in numbers of the size of v or T log s."""
    rng, rounds = np.random.default_rng(n), 6
    lmdp = LMDP(rng.uniform(0, 1, (n, n)) + 0.1, temperature=T, normalise=True)
    assert lmdp.square is not None
    P, means = lmdp.P.toarray(), rng.uniform(0, 1, (count, rounds + 1, n))
    values, padded = np.zeros((count, rounds + 1, n)), lmdp.square.columns.shape[1]
    seen = Weights(*np.empty((4, count, rounds + 1, padded)))
    assert track_together(lmdp.square, T, means, values, seen) == rounds + 1
    for i in range(count):
        v = np.zeros(n)
        for k in range(rounds + 1):
            most = 4 * (n + 20) * (k + 1) * EPS * (1.0 + np.ptp(v))
            np.testing.assert_allclose(values[i, k], v, rtol=0, atol=most)
            d = (v - v.min()) / T
            for found, expected in zip(seen, (d, np.exp(-d), P @ np.exp(-d), np.log(P @ np.exp(-d))), strict=True):
                np.testing.assert_allclose(found[i, k, :n], expected, rtol=0, atol=most / T)
            if k < rounds:
                once = bellman(P, T, means[i, k + 1], v)
                v = (once + bellman(P, T, means[i, k + 1], once) + once.min()) / 2
                v -= v.min()


def test_values_that_one_scale_does_not_serve_are_left_to_others() -> None:
    lmdp = LMDP(np.full((4, 4), 0.25))
    assert lmdp.square is not None
    means = np.zeros((1, 4, 4))
    means[0, 2] = [0.0, 0.0, 0.0, 1000.0]
    values, seen = np.zeros((1, 4, 4)), Weights(*np.empty((4, 1, 4, lmdp.square.columns.shape[1])))
    assert track_together(lmdp.square, 1.0, means, values, seen) == 1
