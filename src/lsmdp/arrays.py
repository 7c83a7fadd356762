"""The only place that validates arrays.

``as_kernel``, ``as_cost`` and ``as_distribution`` turn what a user has into read-only float64 arrays, or
raise a sentence that names the place, the number, the requirement and the way out. Code behind them may
rely on what they promise and does not check again. ``real`` and ``as_whole`` do the same for single numbers.

A kernel is a ``scipy.sparse.csr_array`` with sorted 32-bit indices, no explicit zeros, no duplicates, and
rows that sum to 1. Rows whose sum is off by at most 1e-9 (matrices printed with ten digits) are divided by
their sum; a row that is already within its own rounding error of 1 is left as it is, so
``as_kernel(as_kernel(P))`` returns the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.errors import CostError, LsmdpError, ModelError, SpecError, told
from lsmdp.inputs.labels import Names, in_order, is_whole, name_state

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
CSR: TypeAlias = Any  # This stands for scipy.sparse.csr_array, of which scipy has no type information.
States: TypeAlias = int | Names  # of a model: how many there are, or what they are called

ROW_SUM_TOLERANCE = 1e-9  # Sums of chances may be off from 1 by this much, which is what nine printed digits leave.
MAX_ENTRIES = 2**31 - 1  # A matrix has at most as many entries as indices of 32 bits can address.
# The distance from 1 to the next float is twice the relative error of one operation.
EPS = float(np.finfo(np.float64).eps)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, protected against writing."""
    array.flags.writeable = False
    return array


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array if it is protected against writing, else a view of it that is."""
    return read_only(array.view()) if array.flags.writeable else array


def real(value: Any) -> float:
    """A number as a float; what is none, such as a text or a truth value, is nan, which lies in no range."""
    value = _bare(value)
    try:
        return float(value) if not isinstance(value, bool) and isinstance(value, Real) else math.nan
    except OverflowError:  # a whole number beyond the largest float
        return math.nan


def as_whole(value: Any, what: str, kind: type[LsmdpError] = SpecError, *, least: int | None = None) -> int:
    """A whole number as an int; what is none, or is less than ``least``, is an error."""
    value = _bare(value)
    if not is_whole(value) or (least is not None and value < least):
        more = ", such as 5" if least is None else f", {least} or more"
        raise kind(f"{what} is {told(value)}. It must be a whole number{more}.")
    return int(value)


def _bare(value: Any) -> Any:
    """The number in an array without dimensions; anything else as it is."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def as_weights(P: Any, what: str = "P") -> CSR:
    """A square, finite, non-negative matrix as a fresh CSR array; rows need not sum to anything."""
    matrix = P if sparse.issparse(P) else _as_dense(P, what)
    if matrix.dtype.kind not in "buif":
        raise ModelError(
            f"{what} holds {matrix.dtype} values; probabilities are real numbers. Convert it with .astype(float)."
        )
    if 0 in matrix.shape:
        raise ModelError(f"{what} is empty ({_shape(matrix)}). A model needs at least one state.")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ModelError(
            f"{what} has shape {_shape(matrix)}. It must be square: row x is the law of the next state from state x. "
            "An edge list is read with lsmdp.from_edges, or from a table with the columns from, to and weight."
        )
    weights = _as_csr(matrix, what)
    _require(np.isfinite(weights.data), weights, what, "every entry must be a finite number")
    _require(weights.data >= 0.0, weights, what, "a probability or a weight cannot be negative")
    weights.eliminate_zeros()
    return weights


def _as_dense(P: Any, what: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(P)
    except ValueError:
        raise ModelError(f"{what} is not a matrix: its rows differ in length. Give every row n numbers.") from None


def _shape(matrix: Any) -> str:
    return " x ".join(map(str, matrix.shape)) or "() (a single number)"


def _as_csr(matrix: Any, what: str) -> CSR:
    """A canonical copy with 32-bit indices, after a look at them: wrong ones would crash compiled code."""
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as broken:
            raise ModelError(
                f"{what} is not a valid sparse matrix: {broken}. Build it again from its entries."
            ) from None
    require_entries(max(matrix.nnz, matrix.shape[0]) if sparse.issparse(matrix) else 0, what)
    weights = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    if weights.indices.dtype != np.int32:
        weights.indices = weights.indices.astype(np.int32)
        weights.indptr = weights.indptr.astype(np.int32)
    weights.sum_duplicates()
    return weights


def require_entries(count: int, what: str = "P") -> None:
    """Raise where a matrix would have more entries (or rows) than 32-bit indices can address."""
    if count > MAX_ENTRIES:
        raise ModelError(
            f"{what} would have {min(count, 10**300):.3g} entries or rows; {MAX_ENTRIES:,} is the most that a model "
            "can hold. Use fewer states or a sparser matrix."
        )


def _require(good: npt.NDArray[np.bool_], matrix: CSR, what: str, requirement: str) -> None:
    if good.all():
        return
    at = int(np.argmin(good))
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    more = int(np.count_nonzero(~good)) - 1
    others = f" ({more} more like it)" if more else ""
    raise ModelError(
        f"{what}[{row}, {matrix.indices[at]}] is {matrix.data[at]}{others}: {requirement}. "
        "Correct the entry in the data before building the model."
    )


def mean(law: Floats, f: Floats) -> float:
    """The mean of f under a law: pairwise summation, the same bits whatever the number of threads (unlike BLAS)."""
    return float(np.add.reduce(law * f))


def running_sum(x: Floats) -> Floats:
    """x[0], x[0] + x[1], ..., each rounded about once: what each addition loses is added up beside it (Neumaier)."""
    total = np.cumsum(x)
    before = np.concatenate([[0.0], total[:-1]])
    added = total - before
    return np.asarray(total + np.cumsum((before - (total - added)) + (x - added)))


def row_sums(weights: CSR) -> Floats:
    """Sum of each row; inf where it is beyond the largest float."""
    with np.errstate(over="ignore"):
        return np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()


def as_kernel(P: Any, *, normalise: bool = False, labels: Sequence[str] | None = None) -> CSR:
    """P as a read-only transition kernel; see the module docstring for what that means.

    ``normalise=True`` divides each row by its sum, whatever the sum is (but zero).
    """
    return into_kernel(as_weights(P), normalise=normalise, labels=labels)


def into_kernel(kernel: CSR, *, normalise: bool = False, labels: Sequence[str] | None = None) -> CSR:
    """The second half of :func:`as_kernel`: turns what ``as_weights`` returned into a kernel, in place."""
    sums = row_sums(kernel)
    empty = np.flatnonzero(sums == 0.0)
    if empty.size:
        raise ModelError(
            f"{name_state(int(empty[0]), labels)} has no successor: row {empty[0]} of P is zero"
            f"{_and_others(empty.size - 1)}. P[x] must be the law of the next state from x. Give it a self-loop, "
            "drop dead ends with largest_class (--largest-class), or let it jump anywhere with teleport(0.01) "
            "(--teleport 0.01)."
        )
    if not normalise:
        require_row_sums(sums, np.arange(sums.size), labels)
    endless = np.flatnonzero(np.isinf(sums))
    if endless.size:
        raise ModelError(
            f"row {endless[0]} of P sums to more than the largest float{_and_others(endless.size - 1)}. "
            "Divide the weights by their maximum first."
        )
    entries = np.diff(kernel.indptr)
    divisor = np.where(np.abs(sums - 1.0) > entries * EPS, sums, 1.0)
    kernel.data /= np.repeat(divisor, entries)
    kernel.eliminate_zeros()  # a weight may be lost beside one 1e308 times its size
    return freeze(kernel)


def require_row_sums(sums: Floats, rows: Ints, labels: Sequence[str] | None = None) -> None:
    """Raise unless each of these rows of P sums to 1 within 1e-9; ``sums[i]`` belongs to row ``rows[i]``."""
    wrong = np.flatnonzero(np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)
    if wrong.size:
        row = int(rows[wrong[0]])
        raise ModelError(
            f"row {row} of P sums to {sums[wrong[0]]:.10g}, not 1{_and_others(wrong.size - 1)}. P[x] must be the law "
            f"of the next state from x{_label_note(row, labels)}. Divide each row by its sum, or pass "
            "normalise=True (--normalise on the command line)."
        )


def like(P: CSR, data: npt.NDArray[Any]) -> CSR:
    """A matrix with the pattern of P, whose index arrays it shares, and entries of its own."""
    return sparse.csr_array((data, P.indices, P.indptr), shape=P.shape)


def freeze(kernel: CSR) -> CSR:
    """Protect the three arrays of a CSR matrix against writing."""
    for array in (kernel.data, kernel.indices, kernel.indptr):
        read_only(array)
    return kernel


def _and_others(count: int) -> str:
    return f" (and {count} more {'row' if count == 1 else 'rows'})" if count > 0 else ""


def _label_note(state: int, labels: Sequence[str] | None) -> str:
    return f' (here "{labels[state]}")' if labels is not None else ""


def _for_state(state: int, states: States) -> str:
    """Which state that is, where states have labels."""
    labels = states.labels if isinstance(states, Names) else None
    return "" if labels is None else f", for {name_state(state, labels)}"


def _as_vector(values: Any, states: States, what: str, *, partial: bool = False) -> Floats:
    names = states if isinstance(states, Names) else Names(states)
    n, values = names.n, in_order(values, names, what, partial=partial)
    try:
        given = np.asarray(values)
    except ValueError:
        raise CostError(f"{what} is not a vector: its parts differ in length. Give one number per state.") from None
    if given.dtype.kind not in "buif" and not given.ndim:
        named = "cost" in what and isinstance(values, str)
        read = f"; a name or a file is read with lsmdp.read_cost({values!r}, lmdp)" if named else ""
        raise CostError(f"{what} is {told(values)}. Give one number for each of the {n} states{read}.")
    if given.dtype.kind not in "buif":
        raise CostError(f"{what} holds {given.dtype} values. Give one real number per state, with .astype(float).")
    fixed = given.dtype == np.float64 and given.base is None and not given.flags.writeable  # nobody can change it
    vector = given if fixed else np.array(given, dtype=np.float64, ndmin=1)
    if vector.shape != (n,):
        shape = " x ".join(map(str, vector.shape))
        raise CostError(f"{what} has {shape} values, but the model has {n} states. Give one number per state.")
    finite = np.isfinite(vector)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        more = f" ({bad.size - 1} more like it)" if bad.size > 1 else ""
        fact = f"{what}[{bad[0]}] is {vector[bad[0]]}{_for_state(int(bad[0]), names)}{more}"
        raise CostError(f"{fact}. Every value must be a finite number.")
    return vector


def as_cost(c: Any, states: States) -> Floats:
    """A cost per state: n finite numbers of any size (the paper's [0, 1] matters only for online guarantees).

    Costs by name (inputs/labels.py says what that is) are put in the order of the states.
    """
    return read_only(_as_vector(c, states, "the cost"))


def as_told(c: Any, states: Names) -> Floats:
    """The cost that a learner is told in a round: an array of n floats as it is, and anything else as a cost."""
    plain = isinstance(c, np.ndarray) and c.dtype == np.float64 and c.shape == (states.n,)
    return c if plain else as_cost(c, states)


def as_edge_costs(C: Any, P: CSR, labels: Sequence[str] | None = None) -> Floats:
    """A cost for each entry of P, in its order, from an n x n matrix; entries that a sparse one lacks cost 0."""
    matrix = C if sparse.issparse(C) else _as_dense(C, "the matrix of edge costs")
    if matrix.dtype.kind not in "buif" or matrix.shape != P.shape:
        raise CostError(
            f"the edge costs are {matrix.dtype} values of shape {_shape(matrix)}, but P is {_shape(P)}. Give one real "
            "number for each move, in the row of its state and the column of the next."
        )
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    matrix = sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix
    costs = np.asarray(matrix[rows, P.indices], dtype=np.float64).ravel()
    if (bad := np.flatnonzero(~np.isfinite(costs))).size:
        at = int(bad[0])
        x, y = (name_state(int(ends[at]), labels) for ends in (rows, P.indices))
        raise CostError(
            f"the cost of the move from {x} to {y} is {costs[at]} ({bad.size} such moves). It must be a finite number; "
            "to forbid a move, take it out of P."
        )
    return costs


def as_value(v: Any, states: States) -> Floats:
    """A value function: n finite numbers, fixed up to a constant; by name or in the order of the states."""
    return read_only(_as_vector(v, states, "the value function"))


def as_terminal(g: Any, states: States) -> Floats:
    """What each state costs as the last one: n finite numbers, by name or in the order of the states."""
    return read_only(_as_vector(g, states, "the terminal cost"))


def as_distribution(p: Any, states: States) -> Floats:
    """A law over states: n non-negative numbers with sum 1 (within 1e-9, then divided by their sum).

    Of a law by name, states that it does not name have probability 0.
    """
    law = _as_vector(p, states, "the distribution", partial=True)
    negative = np.flatnonzero(law < 0.0)
    if negative.size:
        fact = f"the distribution[{negative[0]}] is {law[negative[0]]}{_for_state(int(negative[0]), states)}"
        raise CostError(f"{fact}. A probability cannot be negative.")
    total = float(law.sum())
    if abs(total - 1.0) > ROW_SUM_TOLERANCE:
        raise CostError(f"the distribution sums to {total:.10g}, not 1. Divide it by its sum.")
    return read_only(law / total)
