"""Pairs of rows against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from lsmdp._core.matrices import compare_rows


def compared(A: np.ndarray) -> tuple[float, float, float]:
    a, b = A[:, np.newaxis], A[np.newaxis]
    other = ~np.eye(len(A), dtype=bool)
    shared = np.minimum(a, b).sum(axis=2)[other].min(initial=np.inf)
    return shared, np.maximum(a - b, 0.0).sum(axis=2).max(), np.abs(a - b).sum(axis=2).max()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (16, 16), (17, 40), (70, 33)])
def test_pairs_of_rows(rows: int, columns: int) -> None:
    """Sums of positive terms: off by at most as many units of rounding as there are columns."""
    A = 10.0 ** np.random.default_rng(rows).uniform(-12, 0, (rows, columns))
    np.testing.assert_allclose(compare_rows(A), compared(A), rtol=3e-16 * columns)


def test_an_overlap_far_below_rounding_keeps_its_digits() -> None:
    assert compare_rows(np.array([[1.0, 1e-30], [3e-40, 1.0]]))[0] == pytest.approx(1e-30, rel=1e-9)
