"""What the validators promise, and the sentences they raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from lsmdp.arrays import (
    EPS,
    MAX_ENTRIES,
    as_cost,
    as_distribution,
    as_kernel,
    as_value,
    as_weights,
    require_entries,
    row_sums,
)
from lsmdp.errors import CostError, ModelError
from lsmdp.inputs.labels import Names


@st.composite
def weight_matrices(draw: st.DrawFn) -> Any:
    """Square matrices of mixed magnitudes with at least one positive entry a row, as a random kind of container."""
    n = draw(st.integers(1, 8))
    value = st.one_of(st.just(0.0), st.floats(1e-12, 1e12))
    dense = draw(arrays(np.float64, (n, n), elements=value))
    dense[np.arange(n), draw(arrays(np.int64, n, elements=st.integers(0, n - 1)))] += 1.0
    return draw(st.sampled_from([np.asarray, sparse.csr_array, sparse.csc_array, sparse.coo_matrix, sparse.lil_array]))(
        dense
    )


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


@given(weight_matrices())
def test_a_kernel_is_what_its_docstring_says(weights: Any) -> None:
    P = as_kernel(weights, normalise=True)
    n = weights.shape[0]
    assert isinstance(P, sparse.csr_array)
    assert P.shape == (n, n)
    assert P.data.dtype == np.float64
    assert P.indices.dtype == P.indptr.dtype == np.int32
    assert (P.data > 0.0).all()
    for x in range(n):
        columns = P.indices[P.indptr[x] : P.indptr[x + 1]]
        assert (np.diff(columns) > 0).all()
    # Dividing k numbers by their computed sum leaves a sum within k roundings of 1.
    assert (np.abs(row_sums(P) - 1.0) <= np.diff(P.indptr) * EPS).all()
    given_rows = dense(weights)
    np.testing.assert_allclose(dense(P), given_rows / given_rows.sum(axis=1, keepdims=True), rtol=1e-14)


@given(weight_matrices())
def test_a_kernel_is_a_fixed_point_bit_by_bit(weights: Any) -> None:
    once = as_kernel(weights, normalise=True)
    twice = as_kernel(once)
    assert once.data.tobytes() == twice.data.tobytes()
    assert once.indices.tobytes() == twice.indices.tobytes()


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_the_callers_matrix_is_neither_changed_nor_shared(make: Any) -> None:
    theirs = make([[0.5, 0.5 + 4e-10], [1.0, 0.0]])
    before = dense(theirs).copy()
    P = as_kernel(theirs)
    np.testing.assert_array_equal(dense(theirs), before)
    assert not any(
        np.shares_memory(P.data, part) for part in [getattr(theirs, "data", theirs)] if type(part) is np.ndarray
    )
    with pytest.raises(ValueError, match="read-only"):
        P.data[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        P.indices[0] = 1


def test_explicit_zeros_and_duplicates_disappear() -> None:
    entries = [0.25, 0.25, 0.5, 0.0, 1.0]
    messy = sparse.coo_array((entries, ([0, 0, 0, 1, 1], [1, 1, 0, 0, 1])), shape=(2, 2))
    P = as_kernel(messy)
    np.testing.assert_array_equal(P.toarray(), [[0.5, 0.5], [0.0, 1.0]])
    assert P.nnz == 3


def test_wide_indices_become_32_bit() -> None:
    wide = sparse.eye_array(5, format="csr")
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert as_kernel(wide).indices.dtype == np.int32
    assert wide.indices.dtype == np.int64


def test_a_sparse_matrix_is_never_filled_in() -> None:
    n = 10**6  # filled in, it would need 8 TB
    assert as_kernel(sparse.eye_array(n)).nnz == n


def test_tiny_entries_survive() -> None:
    P = as_kernel([[1.0, 1e-300], [1e-300, 1.0]])
    assert P[0, 1] == P[1, 0] == 1e-300
    assert P[0, 0] == 1.0


@pytest.mark.parametrize("off", [9e-10, -9e-10])
def test_small_errors_of_a_row_sum_are_divided_out(off: float) -> None:
    P = as_kernel([[0.5, 0.5 + off], [0.25, 0.75]])
    assert abs(P.toarray()[0].sum() - 1.0) <= 2 * EPS
    np.testing.assert_array_equal(P.toarray()[1], [0.25, 0.75])


@pytest.mark.parametrize("off", [1.1e-9, -1.1e-9, 0.3, -0.03])
def test_larger_errors_of_a_row_sum_are_an_error(off: float) -> None:
    weights = np.array([[1.0, 0.0], [0.5, 0.5 + off]])
    with pytest.raises(ModelError, match=r"row 1 of P sums to .*, not 1\. .*normalise=True \(--normalise"):
        as_kernel(weights)
    assert as_kernel(weights, normalise=True)[1, 1] == pytest.approx((0.5 + off) / (1.0 + off), rel=1e-15)


def test_a_row_sum_error_gives_the_number_the_label_and_the_count() -> None:
    rows = [[0.97, 0.0, 0.0], [0.0, 1.0, 0.0], [0.1, 0.1, 0.1]]
    with pytest.raises(ModelError) as caught:
        as_kernel(rows, labels=["oak", "elm", "ash"])
    assert "row 0 of P sums to 0.97, not 1 (and 1 more row)" in str(caught.value)
    assert '(here "oak")' in str(caught.value)


BAD_KERNELS: list[tuple[Any, str]] = [
    ([[0.5, 0.5]], r"P has shape 1 x 2\. It must be square"),
    (np.zeros((2, 2, 2)), r"P has shape 2 x 2 x 2\. It must be square"),
    (3.0, r"P has shape \(\) \(a single number\)\. It must be square"),
    ([[1.0], [0.5, 0.5]], r"its rows differ in length"),
    (np.empty((0, 0)), r"P is empty \(0 x 0\)\. A model needs at least one state"),
    ([], r"P is empty"),
    ([[np.nan, 1.0], [0.0, 1.0]], r"P\[0, 0\] is nan: every entry must be a finite number"),
    ([[1.0, 0.0], [0.0, np.inf]], r"P\[1, 1\] is inf: every entry must be a finite number"),
    ([[1.5, -0.5], [-1.0, 2.0]], r"P\[0, 1\] is -0\.5 \(1 more like it\): .* cannot be negative"),
    (sparse.csr_array([[0.0, 1.0], [-1.0, 2.0]]), r"P\[1, 0\] is -1\.0: .* cannot be negative"),
    ([[1.0, 0.0], [0.0, 0.0]], r"state 1 has no successor: row 1 of P is zero\. .*self-loop.*largest_class.*teleport"),
    ([["a", "b"], ["c", "d"]], r"P holds <U1 values; probabilities are real numbers"),
    (np.eye(2) * 1j, r"P holds complex128 values"),
    (None, r"P holds object values"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_KERNELS)
def test_bad_kernels_are_named(bad: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        as_kernel(bad)


def test_a_sparse_matrix_with_wrong_indices_is_refused_before_compiled_code_sees_it() -> None:
    broken = sparse.csr_array(np.eye(2))
    broken.indices[1] = 77
    with pytest.raises(ModelError, match=r"not a valid sparse matrix: .* Build it again"):
        as_weights(broken)


def test_weights_whose_sum_overflows_are_named() -> None:
    with pytest.raises(ModelError, match=r"row 0 of P sums to more than the largest float.* Divide the weights"):
        as_kernel([[1e308, 1e308], [0.0, 1.0]], normalise=True)


def test_weights_lost_to_underflow_leave_no_explicit_zero() -> None:
    P = as_kernel([[1e-320, 1e10], [1.0, 1.0]], normalise=True)
    assert P.nnz == 3
    assert (P.data > 0.0).all()


def test_too_many_entries_are_refused() -> None:
    require_entries(MAX_ENTRIES)
    with pytest.raises(ModelError, match=r"2,147,483,647 is the most .* Use fewer states or a sparser matrix"):
        require_entries(MAX_ENTRIES + 1)


@pytest.mark.parametrize(
    "values", [[1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3], dtype=np.float32), [True, False, True]]
)
def test_costs_become_read_only_floats(values: Any) -> None:
    c = as_cost(values, 3)
    assert c.dtype == np.float64
    np.testing.assert_array_equal(c, np.asarray(values, dtype=np.float64))
    with pytest.raises(ValueError, match="read-only"):
        c[0] = 7.0


def test_a_cost_is_a_copy() -> None:
    mine = np.zeros(2)
    c = as_cost(mine, 2)
    mine[0] = 5.0
    assert c[0] == 0.0


BAD_COSTS: list[tuple[Any, str]] = [
    ([1.0, 2.0], r"the cost has 2 values, but the model has 3 states\. Give one number per state"),
    (np.ones((3, 1)), r"the cost has 3 x 1 values, but the model has 3 states"),
    ([1.0, np.nan, np.inf], r"the cost\[1\] is nan \(1 more like it\)\. Every value must be a finite number"),
    (["1", "2", "3"], r"the cost holds <U1 values"),
    ([1j, 2j, 3j], r"the cost holds complex128 values"),
    ([[1], [2, 3]], r"its parts differ in length"),
    (None, r"the cost is None\. Give one number for each of the 3 states\.$"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_COSTS)
def test_bad_costs_are_named(bad: Any, message: str) -> None:
    with pytest.raises(CostError, match=message):
        as_cost(bad, 3)


def test_a_bad_value_is_named_by_its_label() -> None:
    names = Names(3, ("x", "y", "z"))
    with pytest.raises(CostError, match=r'^the cost\[1\] is nan, for state 1 "y" \(1 more like it\)\. Every value'):
        as_cost([1.0, np.nan, np.inf], names)
    with pytest.raises(CostError, match=r'^the distribution\[2\] is -0\.5, for state 2 "z"\. A probability'):
        as_distribution([1.0, 0.5, -0.5], names)


def test_a_value_function_is_named_as_such() -> None:
    with pytest.raises(CostError, match="the value function has 1 values"):
        as_value([1.0], 2)


def test_distributions() -> None:
    law = as_distribution([0.25, 0.75 + 4e-10], 2)
    assert abs(law.sum() - 1.0) <= 2 * EPS
    with pytest.raises(CostError, match=r"the distribution\[1\] is -0\.5\. A probability cannot be negative"):
        as_distribution([1.5, -0.5], 2)
    with pytest.raises(CostError, match=r"the distribution sums to 0\.9, not 1\. Divide it by its sum"):
        as_distribution([0.5, 0.4], 2)
