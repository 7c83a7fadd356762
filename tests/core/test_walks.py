"""Walks of many walkers against their definition, one step of one walker at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lsmdp._core.walks import running_sums, walk


def slow_walk(Q: np.ndarray, states: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """The definition: each uniform number leads to the first move whose running sum exceeds it."""
    paths, now = np.empty(uniforms.shape, dtype=np.int64), states.copy()
    for t, row in enumerate(uniforms):
        for k, u in enumerate(row):
            possible = np.flatnonzero(Q[now[k]])
            sums = np.cumsum(Q[now[k], possible])
            sums[-1] = 1.0
            now[k] = possible[np.argmax(sums > u)]
        paths[t] = now
    return paths


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_the_loop_is_its_definition(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) ** 4 * (rng.random((n, n)) < 0.6) + np.eye(n)
    Q = W / W.sum(axis=1, keepdims=True)
    uniforms = rng.integers(0, 8, (20, 3)) / 8 if seed % 2 else rng.random((20, 3))  # on the sums, or anywhere
    states = rng.integers(0, n, 3)
    np.testing.assert_array_equal(
        walk(running_sums(sparse.csr_array(Q)), states, uniforms), slow_walk(Q, states, uniforms)
    )


def test_a_move_that_has_underflowed_is_never_drawn() -> None:
    Q = sparse.csr_array(np.ones((3, 3)))
    Q.data[:] = [0.0, 0.3, 0.7, 0.0, 1.0, 0.0, 0.5, 0.5 - 2**-54, 0.0]  # the last row sums to less than 1
    ends = np.array([[0.0], [np.nextafter(1.0, 0.0)]])
    for x, possible in ((0, {1, 2}), (1, {1}), (2, {0, 1})):
        for u in ends:
            assert walk(running_sums(Q), np.array([x]), u[np.newaxis])[0, 0] in possible
