"""Bellman updates of the tracker against their formula, with the same bits however they are computed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lsmdp import (
    LMDP,
    grid,
    random_graph,
)
from lsmdp._core import sparse, sparse_steps, threads
from lsmdp._core.means import MeanCost

SPANS = {"flat": 3.0, "steep": 500.0}


def bellman(lmdp: LMDP, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """c - T log sum_y P e^{-v/T}, each row scaled by itself."""
    P, T = lmdp.P.toarray(), lmdp.temperature
    m = np.array([v[row > 0].min() for row in P])
    return c + m - T * np.log((P * np.exp(-(v[np.newaxis] - m[:, np.newaxis]).clip(0) / T)).sum(axis=1))


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_the_formula(span: float, temperature: float, steps: int, averaged: bool) -> None:
    lmdp, rng = random_graph(300, 5, temperature=temperature), np.random.default_rng(0)
    v, c_sum, c_t = rng.uniform(0, span * temperature, 300), rng.uniform(0, 9, 300), rng.uniform(0, 1, 300)
    costs, mean = (MeanCost(c_sum, 9.0), MeanCost(c_sum + c_t, 10.0)), (c_sum + c_t) / 10
    found = sparse_steps.update(lmdp.P, temperature, *costs, v, None, steps=steps, averaged=averaged)
    expected = v
    for _ in range(steps):
        once = bellman(lmdp, mean, expected)
        expected = (once + bellman(lmdp, mean, once)) / 2 if averaged else once
    np.testing.assert_allclose(found.v, expected - expected.min(), rtol=0, atol=1e-12 * (1 + span))
    r, lo, hi = sparse.residual(lmdp.P, c_sum / 9, v, temperature)
    assert (found.lo, found.hi) == (lo, hi)
    assert lo <= r.min() <= r.max() <= hi


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_a_flow_that_is_known_changes_no_bit(span: float) -> None:
    lmdp, rng = grid(15, 20), np.random.default_rng(1)
    v, c_sum, c_t = rng.uniform(0, span, 300), rng.uniform(0, 9, 300), rng.uniform(0, 1, 300)
    given = (lmdp.P, 1.0, MeanCost(c_sum, 9.0), MeanCost(c_sum + c_t, 10.0), v)
    alone = sparse_steps.update(*given, None, steps=1, averaged=True)
    shared = sparse_steps.update(*given, sparse.flow(lmdp.P, v), steps=1, averaged=True)
    for a, b in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bits_do_not_depend_on_threads_or_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, rng = random_graph(3000, 7), np.random.default_rng(2)
    v, c_sum, c_t = rng.uniform(0, 4, 3000), rng.uniform(0, 9, 3000), rng.uniform(0, 1, 3000)
    given = (lmdp.P, 1.0, MeanCost(c_sum, 9.0), MeanCost(c_t, 1.0), v)
    monkeypatch.setattr(threads, "MOVES_OF_A_LARGE_P", 1)
    found = []
    for workers, strip in ((1, 3000), (2, 3000), (3, 256)):
        monkeypatch.setattr(sparse, "_STATES_IN_ONE_GO", strip)
        with ThreadPoolExecutor(workers) as pool:
            monkeypatch.setattr(threads, "_threads", lambda pool=pool: pool)
            found += [sparse_steps.update(*given, None, steps=2, averaged=True)]
    for one in found[1:]:
        for a, b in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(a, b)
