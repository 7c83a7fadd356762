"""Means of the costs against their definitions, with the same bits wherever the rounds are cut."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp._core.means import TrackedCosts, discounted_means, mean_costs, running_sums, window_means

CUTS = ([40], [1] * 40, [3, 30, 7], [39, 1])


def costs(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(-1, 1, (40, n))


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 33, 300])
def test_running_sums(n: int, cut: list[int]) -> None:
    total, found = np.zeros(n), []
    for block in np.split(costs(n), np.cumsum(cut)[:-1]):
        found += list(running_sums(total, block))
        total = found[-1]
    expected = np.zeros(n)
    for c, sums in zip(costs(n), found, strict=True):
        expected = expected + c
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_means_are_sums_by_their_rounds(cut: list[int]) -> None:
    """The mean of no costs is 0; trackers have the mean before a round too."""
    total, t = np.zeros(7), 0
    for block in np.split(costs(7), np.cumsum(cut)[:-1]):
        sums, rounds = running_sums(total, block), t + 1 + np.arange(len(block))
        means, after = mean_costs(total, block, t, 2.5)
        np.testing.assert_array_equal(means, sums / (rounds + 2.5)[:, np.newaxis])
        tracked = TrackedCosts.of(total, block, t).means
        np.testing.assert_array_equal(tracked[0], total / max(t, 1))
        np.testing.assert_array_equal(tracked[1:], sums / rounds[:, np.newaxis])
        np.testing.assert_array_equal(after(), sums[-1])
        total, t = after(), t + len(block)


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("n", [1, 33])
def test_discounted_means(n: int, cut: list[int]) -> None:
    """Each is a sum of at most 40 weighted costs of at most 1: off by 80 roundings at most."""
    mean, found, weights = np.zeros(n), [], 0.9 ** np.arange(40)[::-1] * (1 - 0.9)
    for block in np.split(costs(n), np.cumsum(cut)[:-1]):
        found += list(discounted_means(mean, block, 0.9))
        mean = found[-1]
    np.testing.assert_array_equal(found, discounted_means(np.zeros(n), costs(n), 0.9))
    np.testing.assert_allclose(found[-1], weights @ costs(n), rtol=0, atol=80 * 2.0**-53)


@pytest.mark.parametrize("width", [1, 5, 39, 60])
@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("n", [1, 33])
def test_window_means(n: int, cut: list[int], width: int) -> None:
    ring, found, t = np.zeros((width, n)), [], 0
    for block in np.split(costs(n), np.cumsum(cut)[:-1]):
        found += list(window_means(ring, block, t))
        t += len(block)
    for k in range(40):
        last = costs(n)[max(k + 1 - width, 0) : k + 1]
        total = np.zeros(n)
        for c in last:  # the oldest first
            total = total + c
        np.testing.assert_array_equal(found[k], total / len(last))
    for k in range(max(40 - width, 0), 40):
        np.testing.assert_array_equal(ring[k % width], costs(n)[k])
