"""Panels of a factor, and solves with them, against dense NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp._core import panels
from lsmdp._core.factor import eliminate, plan
from lsmdp.arrays import freeze
from tests.core.test_factor import CHAINS, reduced


def unfolded(factors, numbers: np.ndarray) -> list[np.ndarray]:  # type: ignore[no-untyped-def]
    """[X; G] of each block: four columns at a time, each from the diagonal of the first of them on."""
    blocks, found = factors.blocks, []
    for s in range(blocks.parent.size):
        width = int(blocks.first[s + 1] - blocks.first[s])
        height, at = width + int(blocks.starts[s + 1] - blocks.starts[s]), blocks.bases[s]
        wide = np.zeros((height, -(-width // 4) * 4))
        for k in range(wide.shape[1]):
            low = k - k % 4
            wide[low:, k] = numbers[at : at + height - low]
            at += height - low
        assert at == blocks.bases[s + 1]
        found.append(wide)
    return found


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_panels_are_all_paths_through_a_block(name: str, symmetric: bool) -> None:
    """X = (I - T)^-1 and G = R X in double precision, and one rounding to single; the columns beyond are zeros."""
    P, rng = CHAINS[name]().P, np.random.default_rng(1)
    P = (P + P.T).tocsr() if symmetric else P
    P.sort_indices()
    n, made = P.shape[0], plan(freeze(P))
    killing = rng.uniform(0, 0.1, n)
    factors = eliminate(made, P.data, killing, symmetric=symmetric, single=True)
    L, U, _ = reduced(P.toarray()[np.ix_(made.order, made.order)], killing[made.order])
    blocks = factors.blocks
    for shares, numbers in ((L, factors.lower), (U.T, factors.upper)):
        for s, wide in enumerate(unfolded(factors, numbers)):
            own = np.arange(blocks.first[s], blocks.first[s + 1])
            rows = blocks.rows[blocks.starts[s] : blocks.starts[s + 1]]
            X = np.linalg.inv(np.eye(own.size) - shares[np.ix_(own, own)])
            expected = np.vstack([X, shares[np.ix_(rows, own)] @ X])
            np.testing.assert_allclose(wide[:, : own.size], expected, rtol=2.0**-23, atol=1e-30)
            assert not wide[:, own.size :].any()


@pytest.mark.parametrize("name", CHAINS)
def test_solves_with_panels_are_those_with_dense_triangles(name: str) -> None:
    """Of numbers >= 0 nothing cancels: a path has at most n shares, each off by 2^-24."""
    P, rng = CHAINS[name]().P, np.random.default_rng(2)
    n, made = P.shape[0], plan(P)
    killing, b = rng.uniform(0, 0.1, n), rng.uniform(0, 1, n)
    factors = eliminate(made, P.data, killing, single=True)
    L, U, _ = reduced(P.toarray()[np.ix_(made.order, made.order)], killing[made.order])
    forth, back = b.copy(), b.copy()
    panels.forward(factors.blocks, factors.lower, forth, np.empty(factors.blocks.tallest))
    panels.backward(factors.blocks, factors.upper, back, np.inf, np.empty(factors.blocks.tallest))
    np.testing.assert_allclose(forth, np.linalg.solve(np.eye(n) - L, b), rtol=n * 2.0**-24)
    np.testing.assert_allclose(back, np.linalg.solve(np.eye(n) - U, b), rtol=n * 2.0**-24)
