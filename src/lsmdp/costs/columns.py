"""Which column of a table is the cost of which state.

Columns with names that include those of all states follow these names, in any order; other columns, such as a time, are
not read. A state is named by its label or by its number (inputs/labels.py); where states were dropped, the numbers may
also be the former ones, 0, ..., ``lmdp.origin_n`` - 1. Where there are no names, or none of them is known to the model,
columns are taken by position: n of them, or ``origin_n``, of which those that remain are kept; a column without a name
is the index that pandas writes, and is left out. Names of which some are states, but not all that are needed, are an
error.

In the *long form*, with the columns round, state and cost, a table has a line for each round and state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, groupby
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.errors import CostError
from lsmdp.inputs.dialects import is_number
from lsmdp.inputs.frames import INDEX_WITHOUT_A_NAME
from lsmdp.inputs.labels import number_in
from lsmdp.model import LMDP

ColumnOfState: TypeAlias = Ints | slice  # column of each state; a slice where it is every column in order
Entry: TypeAlias = tuple[int, str, Any]  # round, state, cost
LONG_FORM = ("round", "state", "cost")  # A table with exactly these columns has a row for each round and state.
_CHARACTERS_OF_A_LINE = 40  # So many characters of a first line are quoted in a message.


def state_names(lmdp: LMDP) -> Sequence[str]:
    """What a table calls the states: their labels, or their numbers."""
    return tuple(map(str, range(lmdp.n))) if lmdp.labels is None else lmdp.labels


def by_position(width: int, lmdp: LMDP) -> ColumnOfState:
    """The columns of the states in a table of ``width`` columns without names."""
    if width == lmdp.n:
        return slice(None)
    if width == lmdp.origin_n:
        origin: Ints = lmdp.origin
        return origin
    before = "" if lmdp.origin_n is None else f" (of {lmdp.origin_n} before some were dropped)"
    raise CostError(
        f"there are {width} costs a round, but the model has {lmdp.n} states{before}. Give one cost per state."
    )


def by_header(header: Sequence[str], lmdp: LMDP, missing: float | None = None) -> ColumnOfState:
    """The columns of the states in a table whose columns have names; see the module docstring.

    With ``missing``, a state that has no column is at -1, if others have one (``filled`` puts the value there).
    """
    of = lmdp.names.places(header, "the header").of
    lacking = np.flatnonzero(of < 0)
    if not lacking.size or (missing is not None and lacking.size < lmdp.n):
        return of
    if lacking.size < lmdp.n:
        raise CostError(
            f"there is no column for {lmdp.name_of(int(lacking[0]))} (of {lacking.size} without one), though some "
            "columns are named after states. Add it, say what such states cost with --missing COST, or remove the "
            "header to take the columns by position."
        )
    if _counts_in_disorder(header, lmdp):
        raise CostError(
            f'the first line, "{shown(header)}", counts the columns in another order, but the labels of this model are '
            f"numbers, such as {lmdp.name_of(0)}. Name the columns by label, or put them in order."
        )
    kept = np.array(
        [column for column, name in enumerate(header) if not INDEX_WITHOUT_A_NAME.fullmatch(name)], dtype=np.int64
    )
    try:
        columns = by_position(kept.size, lmdp)
    except CostError as problem:
        if kept.size == len(header):
            raise
        raise CostError(f"{problem} A column without a name is an index: save the table with index=False.") from None
    return columns if kept.size == len(header) else kept[columns]


def filled(values: Floats, columns: Ints, missing: float | None) -> Floats:
    """The values (or rows of them) at these columns, and ``missing`` for those at -1."""
    found = np.asarray(values, dtype=np.float64)[..., columns]
    return found if missing is None else np.where(columns < 0, missing, found)


def by_label(given: Mapping[str, Any], names: Sequence[str], lmdp: LMDP, missing: float | None = None) -> list[Any]:
    """The costs of one round, given by the names of the states; ``missing`` for states without one, if it is given."""
    if missing is not None:
        of, strange = lmdp.names.places(list(given), "it")
        if strange.size and (lmdp.origin is None or strange.size == len(given)):
            name = list(given)[int(strange[0])]
            raise CostError(f'there is a cost for "{name}", which is no state of the model. Check the names.')
        values = list(given.values())
        return [missing if place < 0 else values[place] for place in of.tolist()]
    try:
        return [given[name] for name in names]
    except KeyError as lacking:
        of = lmdp.names.places(list(given), "it").of  # by number, perhaps
        if (of >= 0).all():
            values = list(given.values())
            return [values[place] for place in of.tolist()]
        count = sum(name not in given for name in names)
        raise CostError(
            f'there is no cost for state "{lacking.args[0]}" (of {count} without one). Give one for every state.'
        ) from None


def is_header(cells: Sequence[str], lmdp: LMDP, low: float, high: float) -> bool:
    """Whether the first line of a csv file names the columns, also where the names are numbers.

    It does if it names all states, or counts 0, 1, 2, ... up to their number; but of two states without numbers for
    labels, the line 1,0 is a cost. It does as well if its cells differ and none of them can be a cost: each is a word,
    or a whole number such as 773869 that is not between the bounds. Where it could be either,
    :func:`doubt_about_header` says so.
    """
    if not cells[0] and len(cells) > 1:  # the index of a DataFrame
        return is_header(cells[1:], lmdp, low, high)
    words = [cell for cell in cells if not is_number(cell)]
    if _counts(cells, lmdp) or _counts_in_disorder(cells, lmdp):
        return True
    if (words or len(cells) > 2 or lmdp.names.are_numbers) and names_all(cells, lmdp):
        return True
    lone_number = len(cells) == 1 and not words
    return not lone_number and len(set(cells)) == len(cells) and all(_is_name(cell, low, high) for cell in cells)


def doubt_about_header(cells: Sequence[str], lmdp: LMDP, low: float, high: float) -> str | None:
    """What to say about a first line that could be a header and could be a round of costs as well."""
    if not all(is_number(cell) and min(low, high) <= float(cell) <= max(low, high) for cell in cells):
        return None
    if is_header(cells, lmdp, low, high):
        return (
            f'the first line, "{shown(cells)}", is taken for the names of the columns, though it could be a round of '
            "costs. If it is one, write a line of names above it"
        )
    if names_all(cells, lmdp):
        return (
            f'the first line, "{shown(cells)}", is taken for a round of costs, though it could name the columns. If it '
            "does, put the columns in order"
        )
    return None


def _counts(cells: Sequence[str], lmdp: LMDP) -> bool:
    return len(cells) in (lmdp.n, lmdp.origin_n) and all(cell == str(place) for place, cell in enumerate(cells))


def _counts_in_disorder(cells: Sequence[str], lmdp: LMDP) -> bool:
    """Whether these are the numbers of states and not their labels, which are numbers too: then they say nothing."""
    numbers = [number for number in map(number_in, cells) if number is not None]
    counted = len(numbers) > 2 and numbers != sorted(numbers) == list(range(len(numbers)))
    return lmdp.names.are_numbers and counted and bool((lmdp.names.states(cells) < 0).all())


def names_all(cells: Sequence[str], lmdp: LMDP) -> bool:
    """Whether all states are named, by label or by number."""
    return len(cells) >= lmdp.n and set(range(lmdp.n)) <= set(lmdp.names.states(cells).tolist())


def shown(cells: Sequence[str]) -> str:
    """A line as a message shows it."""
    line = ",".join(cells)
    return line if len(line) <= _CHARACTERS_OF_A_LINE else f"{line[:_CHARACTERS_OF_A_LINE]}..."


def _is_name(cell: str, low: float, high: float) -> bool:
    if not is_number(cell):
        return bool(cell)
    return cell.isdigit() and not min(low, high) <= float(cell) <= max(low, high)


def as_numbers(values: Iterable[Any], lmdp: LMDP) -> Floats:
    """The costs of all states, in their order, as numbers; NaN is left for later, words are not."""
    cells = list(values)
    try:
        return np.array([float(cell) for cell in cells])
    except (TypeError, ValueError, OverflowError):
        state, cell = next((state, cell) for state, cell in enumerate(cells) if not is_number(cell))
        raise CostError(
            f'the cost of {lmdp.name_of(state)} is "{cell}", not a number. Correct it or fill it in.'
        ) from None


def assembled(entries: Iterable[Entry], lmdp: LMDP, start: int, missing: float | None = None) -> Iterator[Floats]:
    """Round ``start`` and those after it from entries (round, state, cost) that are sorted by round."""
    names = state_names(lmdp)
    wanted = dropwhile(lambda entry: 1 <= entry[0] < start, entries)
    for expected, (t, group) in enumerate(groupby(wanted, itemgetter(0)), start):
        if t != expected:
            raise CostError(
                f"round {expected} is missing: round {t} comes in its place. Count the rounds 1, 2, 3, ... and sort "
                "the lines by round."
            )
        pairs = [(state, cost) for _, state, cost in group]
        try:
            row = as_numbers(by_label(_distinct(pairs), names, lmdp, missing), lmdp)
        except CostError as problem:
            raise CostError(f"round {t}: {problem}") from None
        yield row


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) < len(pairs):
        twice, count = Counter(state for state, _ in pairs).most_common(1)[0]
        raise CostError(f'there are {count} costs for state "{twice}". Give one for every state.')
    return given
