"""Bellman updates of the tracker against their formula, with the same bits however they are computed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lsmdp import (
    LMDP,
    TrackTheLeader,
    grid,
    random_graph,
)
from lsmdp._core import sparse, sparse_steps, threads

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
    found = sparse_steps.update(lmdp.P, temperature, c_sum, c_t, 10, v, None, steps=steps, averaged=averaged)
    expected, mean = v, (c_sum + c_t) / 10
    for _ in range(steps):
        once = bellman(lmdp, mean, expected)
        expected = (once + bellman(lmdp, mean, once)) / 2 if averaged else once
    np.testing.assert_allclose(found.v, expected - expected.min(), rtol=0, atol=1e-12 * (1 + span))
    np.testing.assert_array_equal(found.c_sum, c_sum + c_t)
    r, lo, hi = sparse.residual(lmdp.P, c_sum / 9, v, temperature)
    assert (found.lo, found.hi) == (lo, hi)
    assert lo <= r.min() <= r.max() <= hi


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_what_the_books_know_changes_no_bit(span: float) -> None:
    lmdp, rng = grid(15, 20), np.random.default_rng(1)
    v, c_sum, c_t = rng.uniform(0, span, 300), rng.uniform(0, 9, 300), rng.uniform(0, 1, 300)
    given = (lmdp.P, 1.0, c_sum, c_t, 10, v)
    alone = sparse_steps.update(*given, None, steps=1, averaged=True)
    shared = sparse_steps.update(*given, sparse.flow(lmdp.P, v), steps=1, averaged=True)
    for a, b in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bits_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, rng = random_graph(3000, 7), np.random.default_rng(2)
    v, c_sum, c_t = rng.uniform(0, 4, 3000), rng.uniform(0, 9, 3000), rng.uniform(0, 1, 3000)
    for module in (threads, sparse_steps):
        monkeypatch.setattr(module, "LARGE", 1)
    found = []
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as pool:
            monkeypatch.setattr(threads, "_threads", lambda pool=pool: pool)
            found += [sparse_steps.update(lmdp.P, 1.0, c_sum, c_t, 10, v, None, steps=2, averaged=True)]
    for one in found[1:]:
        for a, b in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_single_precision_is_near_and_ends_with_the_early_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, rng = random_graph(3000, 7), np.random.default_rng(3)
    v, c_t = rng.uniform(0, 4, 3000), rng.uniform(0, 1, 3000)

    def update(t: int) -> np.ndarray:
        return sparse_steps.update(lmdp.P, 1.0, (t - 1) * c_t, c_t, t, v, None, steps=1, averaged=True).v

    early, late = update(10), update(10**6)
    monkeypatch.setattr(sparse_steps, "LARGE", 1)
    np.testing.assert_array_equal(update(10**6), late)
    error = np.abs(update(10) - early).max()
    assert 0.0 < error <= 2 * 2.0**-24  # half of the update is in single precision, and the least value shifts all


def test_tracking_stays_near_its_leader_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_steps, "LARGE", 1)
    lmdp, learner, rng = random_graph(1500, 7), TrackTheLeader(), np.random.default_rng(4)
    state, c_sum = learner.init(lmdp), np.zeros(lmdp.n)
    for _ in range(300):
        state = learner.observe(lmdp, state, c := rng.uniform(0, 1, lmdp.n))
        c_sum += c
    _, lo, hi = sparse.residual(lmdp.P, c_sum / 300, state.v, 1.0)
    assert hi - lo <= 3 / 300
