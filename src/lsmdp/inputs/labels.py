"""What states are called, and whose value is whose where values come by name.

A state is called by its label, or by its number from 0 to n - 1 where the model has no labels. With labels its number
will do as well, unless the labels are numbers themselves: then 3 is a label, and never the fourth state. A number is
written in decimal digits and in no other way: "+1", " 1 ", "01" and the digits of other scripts are names.

On a grid, ``(row, column)`` and the text "row,column" name the state of a cell.

Values come by name in a mapping, a pandas Series (its index) or a DataFrame (its columns); what has these attributes is
taken for one, and pandas itself is never imported. Tables of polars and pyarrow will do. The names are all labels or
all numbers, in any order. Where the labels are numbers, names that merely count 0, 1, 2, ... and are none of the labels
are what pandas gives an array without names: they say that the values are in order, and in any other order they say
nothing and are refused. Where states were dropped from a model, their names may still be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsmdp.errors import CostError, LsmdpError, ModelError, SpecError
from lsmdp.inputs.frames import as_frame, is_frame

_NUMBER = re.compile("0|[1-9][0-9]{0,17}")  # The number of a state is written like this, and fits into 64 bits.
# A cell of a grid is written as row,column, with or without brackets.
_ROW_AND_COLUMN = re.compile(r"\(?\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*\)?")
# A name stands for one of these numbers where it names no state, or a state that was dropped from the model.
NO_STATE, DROPPED = -1, -2

Ints = npt.NDArray[np.int64]


def number_in(text: str) -> int | None:
    """The number that a text writes in decimal digits; None if it is anything else."""
    return int(text) if _NUMBER.fullmatch(text) else None


def cell_in(text: str) -> tuple[int, int] | None:
    """The cell that a text such as "11,1" names: its row and its column; None if it is anything else."""
    found = _ROW_AND_COLUMN.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


def name_state(state: int, labels: Sequence[str] | None) -> str:
    """How a message speaks of a state: ``state 26 "769806"``."""
    return f"state {state}" if labels is None else f'state {state} "{labels[state]}"'


@dataclass(frozen=True, eq=False)
class Names:
    """What the states of a model are called; where some were dropped, also their former numbers (``LMDP.origin``)."""

    n: int
    labels: Sequence[str] | None = None
    origin: Any = None
    origin_n: int | None = None
    cells: Any = None  # (row, column) of each state, on a grid
    map_shape: tuple[int, int] | None = None  # the size of the map that it was drawn on, with walls at its end

    def is_map(self, shape: Sequence[int]) -> bool:
        """Whether a table of this shape has a value for each cell of the grid, with or without the walls at its end."""
        if self.cells is None:
            return False
        return tuple(shape) in (self.grid_shape, self.map_shape)

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Rows and columns, of a grid."""
        rows, columns = (int(side) + 1 for side in self.cells.max(axis=0))
        return rows, columns

    @cached_property
    def are_numbers(self) -> bool:
        """Whether the labels are numbers themselves."""
        return self.labels is not None and all(label.removeprefix("-").isdecimal() for label in self.labels)

    @cached_property
    def by_label(self) -> dict[str, int]:
        """The number of each label."""
        return {label: number for number, label in enumerate(self.labels or ())}

    def state(self, which: Any) -> int:
        """The number of the state that is called this."""
        word = _word(which)
        if word in self.by_label:
            return self.by_label[word]
        if isinstance(which, tuple | list | np.ndarray):
            return self._at(which)
        if isinstance(which, str) and (cell := cell_in(which)) is not None:
            return self._at(cell)
        if self.labels is not None and self.are_numbers:
            raise SpecError(
                f'there is no state "{word}". The labels of this model are numbers, from "{self.labels[0]}" to '
                f'"{self.labels[-1]}", and a state is given by its label.'
            )
        if isinstance(which, bool | np.bool_) or not isinstance(which, str | int | np.integer):
            raise SpecError(f"the state is {word}. Give its label as text, or its number.")
        number = number_in(word)
        if number is None or number >= self.n:
            hint = " Labels are given as they stand in the input." if self.labels is not None else ""
            raise SpecError(f'there is no state "{word}". States are numbered from 0 to {self.n - 1}.{hint}')
        return number

    def _at(self, cell: Any) -> int:
        """The state at a cell of the grid."""
        if len(place := np.asarray(cell, dtype=object).ravel()) != 2 or not all(map(is_whole, place)):
            raise ModelError(f"the state is {cell!r}. Give its label, its number or, on a grid, (row, column).")
        row, column = map(int, place)
        if self.cells is None:
            raise ModelError(
                f"({row}, {column}) is a cell, but this model is no grid: its states have no rows and columns. Give "
                "the label of the state, or its number."
            )
        rows, columns = self.grid_shape
        found = np.flatnonzero((self.cells == (row, column)).all(axis=1))
        if found.size:
            return int(found[0])
        inside = 0 <= row < rows and 0 <= column < columns
        fact = "is no state: there is a wall" if inside else "is outside the grid"
        raise ModelError(
            f"the cell ({row}, {column}) {fact}. States are cells of {rows} rows and {columns} columns, counted from 0."
        )

    def states(self, keys: Sequence[Any]) -> Ints:
        """The state that each key names, or NO_STATE, or DROPPED; all of the keys are labels, or all are numbers."""
        rows = _whole(keys) if self.labels is None else None
        if rows is None:
            words = [_word(key) for key in keys]
            found = np.array([self.by_label.get(word, NO_STATE) for word in words], dtype=np.int64)
            if (found != NO_STATE).any():
                return found
            written = [number_in(word) for word in words]
            rows = np.array([NO_STATE if row is None else row for row in written], dtype=np.int64)
        counted = rows[rows >= 0]
        if self.are_numbers and not (counted.size in (self.n, self.origin_n) and _counts(counted)):
            return np.full(rows.size, NO_STATE, dtype=np.int64)
        now = np.arange(self.n)
        if self.origin_n not in (None, self.n) and counted.size == self.origin_n and _counts(np.sort(counted)):
            now = np.full(self.origin_n, DROPPED, dtype=np.int64)
            now[self.origin] = np.arange(self.n)
        known = (rows >= 0) & (rows < now.size)
        return np.where(known, now[np.where(known, rows, 0)], NO_STATE)

    def places(self, keys: Sequence[Any], what: str, kind: type[LsmdpError] = CostError) -> Places:
        """Where each state stands among the keys; one that is there twice is an error."""
        found = self.states(keys)
        known = np.flatnonzero(found >= 0)
        times = np.bincount(found[known], minlength=self.n)
        if (times > 1).any():
            twice = int(np.argmax(times))
            raise kind(f"{what} names {name_state(twice, self.labels)} {times[twice]} times. Keep one of them.")
        of = np.full(self.n, NO_STATE, dtype=np.int64)
        of[found[known]] = known
        return Places(of, np.flatnonzero(found == NO_STATE))

    def order(
        self, keys: Sequence[Any], what: str, kind: type[LsmdpError] = CostError, *, partial: bool = False
    ) -> Ints:
        """The same, where every key is a state and, unless ``partial``, every state is a key: else an error."""
        of, strange = self.places(keys, what, kind)
        missing = np.flatnonzero(of < 0)[: 0 if partial else None]
        allowed = self.origin is not None and strange.size < len(keys)  # they may be states that were dropped
        if missing.size or (strange.size and not allowed):
            raise kind(f"{what} has {self._fault(keys, missing, strange)}.{self._way_out()}")
        return of

    def _fault(self, keys: Sequence[Any], missing: Ints, strange: Ints) -> str:
        facts = []
        if missing.size:
            others = f" (of {missing.size} states without one)" if missing.size > 1 else ""
            facts.append(f"no value for {name_state(int(missing[0]), self.labels)}{others}")
        if strange.size:
            others = f" (of {strange.size} such names)" if strange.size > 1 else ""
            facts.append(f'a value for "{keys[int(strange[0])]}", which is no state of the model{others}')
        return " and ".join(facts)

    def _way_out(self) -> str:
        if self.labels is None:
            rule = f"Values by name go by the numbers of the states, 0 to {self.n - 1}"
        elif self.are_numbers:
            rule = f'Values by name go by label, and here the labels are numbers, such as "{self.labels[0]}"'
        else:
            rule = "Values by name go by label, one for every state"
        return f" {rule}; a plain array (.to_numpy()) goes by position."

    def square(self, given: Any, what: str, kind: type[LsmdpError]) -> Any:
        """A matrix of n x n whose rows and columns follow the states, from a DataFrame; anything else as it is."""
        if not is_frame(given) or not hasattr(given, "index"):
            return given
        rows = self.order(list(given.index), f"the index of {what}", kind)
        columns = self.order(list(given.columns), f"the header of {what}", kind)
        return given.to_numpy()[np.ix_(rows, columns)]


class Places(NamedTuple):
    """Where each state stands among some names, NO_STATE: nowhere; and which of the names are no state."""

    of: Ints
    strange: Ints


def in_order(given: Any, names: Names, what: str, *, partial: bool = False) -> Any:
    """Values by name in the order of the states, 0 for those that ``partial`` leaves out; anything else as it is.

    On a grid, a table of the size of the map has the values of all cells, and those of walls are not looked at.
    """
    if isinstance(given, np.ndarray) and given.ndim == 2 and names.is_map(given.shape):
        return given[tuple(names.cells.astype(np.int64).T)]
    pairs = None if isinstance(given, np.ndarray) else _pairs(as_frame(given), what)
    if pairs is None:
        return given
    keys, values = pairs
    of = names.order(keys, what, partial=partial)
    values = np.asarray(values)
    if not partial or values.ndim != 1 or values.dtype.kind not in "buif":
        return values[of]
    return np.where(of >= 0, values[of], 0.0)


def with_labels(P: Any, labels: Sequence[str] | None, what: str, kind: type[LsmdpError]) -> tuple[Any, Any]:
    """A matrix and its labels; those of a DataFrame are its index, or its columns if that has only numbers 0, 1, 2, ...

    Its rows and columns follow the labels, given or found; anything else is returned as it is.
    """
    if not is_frame(P) or not hasattr(P, "index"):
        return P, labels
    n = len(P.index)
    if labels is None and len(P.columns) == n:
        numbers = {str(state) for state in range(n)}
        sides = ([str(name) for name in side] for side in (P.index, P.columns))
        labels = next((side for side in sides if set(side) != numbers), None)
    known = None if labels is None else tuple(str(label) for label in labels)
    if len(P.columns) != n or (known is not None and not len(known) == len(set(known)) == n):
        return P.to_numpy(), labels  # no square, or no labels: either is an error of its own
    return Names(n, known).square(P, what, kind), labels


def _word(which: Any) -> str:
    try:
        return str(which)
    except ValueError:  # Python writes out no integer of that many digits
        return "a number of thousands of digits"


def _whole(keys: Sequence[Any]) -> Ints | None:
    """Keys that are whole numbers as such, without a detour over text."""
    try:
        numbers = np.asarray(keys)
    except ValueError:  # tuples of several lengths
        return None
    return numbers.astype(np.int64) if numbers.ndim == 1 and numbers.dtype.kind in "iu" else None


def is_whole(number: Any) -> bool:
    """Whether this is a whole number, and no truth value."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool | np.bool_)


def _counts(rows: Ints) -> bool:
    return bool((rows == np.arange(rows.size)).all())


def is_named(given: Any) -> bool:
    """Whether this is a mapping or has an index, as a Series has (and not the method ``index`` of a list)."""
    if isinstance(given, Mapping):
        return True
    return hasattr(given, "to_numpy") and not callable(getattr(given, "index", len))


def _pairs(given: Any, what: str) -> tuple[Sequence[Any], Any] | None:
    """Names and values: of a mapping, a Series, a DataFrame of one column or one with the columns state and cost."""
    if isinstance(given, Mapping):
        return list(given), list(given.values())
    if is_frame(given):
        columns = {str(name).lower(): name for name in given.columns}
        if columns.keys() == {"state", "cost"}:
            return list(given[columns["state"]]), np.asarray(list(given[columns["cost"]]))
        if len(columns) != 1 or not hasattr(given, "index"):
            raise CostError(
                f"{what} is a table with {len(given.columns)} columns. Give one column with the states as its index, "
                "or the columns state and cost."
            )
        return list(given.index), given.to_numpy()[:, 0]
    if not is_named(given):
        return None
    return list(given.index), given.to_numpy()
