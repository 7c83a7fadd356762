"""Shortest ways against the algorithm of Bellman and Ford, and against that of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csgraph, csr_array

from lsmdp._core.paths import lower_to_paths


def moves(n: int, seed: int) -> csr_array:
    rng = np.random.default_rng(seed)
    return csr_array(rng.uniform(0.01, 9, (n, n)) * (rng.random((n, n)) < 0.15) + np.roll(np.eye(n), 1, axis=1))


@pytest.mark.parametrize("n", [1, 2, 25, 120])
def test_lowering_to_paths_is_the_shortest_path_closure(n: int) -> None:
    lengths, v = moves(n, 6), np.random.default_rng(7).uniform(0, 30, n)
    dense = np.where(lengths.toarray() > 0, lengths.toarray(), np.inf)
    expected = v.copy()
    for _ in range(n):  # Bellman-Ford
        expected = np.minimum(expected, (expected[:, np.newaxis] + dense).min(axis=0))
    lowered = lower_to_paths(lengths, v)
    np.testing.assert_allclose(lowered, expected, rtol=1e-15 * n)  # sums of at most n lengths
    assert (lowered < v).any() or n < 25


def test_distances_from_one_state() -> None:
    lengths, v = moves(300, 8), np.full(300, np.inf)
    v[7] = 0.0
    np.testing.assert_allclose(lower_to_paths(lengths, v), csgraph.dijkstra(lengths, indices=7), rtol=3e-13)


def test_moves_without_length_and_states_without_a_way() -> None:
    to, starts = np.array([1, 0, 0], np.int32), np.arange(4, dtype=np.int32)  # as in every model
    lengths = csr_array(([0.0, 0.0, np.inf], to, starts), shape=(3, 3))
    assert lower_to_paths(lengths, np.array([0.0, 5.0, np.inf])).tolist() == [0.0, 0.0, np.inf]
    assert lower_to_paths(lengths, np.array([5.0, 3.0, 1.0])).tolist() == [3.0, 3.0, 1.0]
