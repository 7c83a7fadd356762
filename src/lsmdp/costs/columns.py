"""Which column of a table is the cost of which state.

Columns with names that include those of all states (the labels of the model, or 0, ..., n - 1 where it has none)
follow these names, in any order; other columns, such as a time, are not read. Where there are no names, or none of
them is known to the model, columns are taken by position: n of them, or as many as the model had states before some
were dropped (``lmdp.origin_n``), of which those that remain are kept. Names of which some are labels, but not all that
are needed, are an error.

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
from lsmdp.model import LMDP

Columns: TypeAlias = Ints | slice  # column of each state; a slice where it is every column in order
Entry: TypeAlias = tuple[int, str, Any]  # round, state, cost
LONG_FORM = ("round", "state", "cost")


def state_names(lmdp: LMDP) -> Sequence[str]:
    """What a table calls the states: their labels, or their numbers."""
    return tuple(map(str, range(lmdp.n))) if lmdp.labels is None else lmdp.labels


def by_position(width: int, lmdp: LMDP) -> Columns:
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


def by_header(header: Sequence[str], lmdp: LMDP) -> Columns:
    """The columns of the states in a table whose columns have names; see the module docstring."""
    names = state_names(lmdp)
    place = {name: column for column, name in enumerate(header)}
    missing = [name for name in names if name not in place]
    if not missing:
        _require_once(names, header)
        return np.array([place[name] for name in names], dtype=np.int64)
    if lmdp.labels is None or len(missing) == lmdp.n:
        return by_position(len(header), lmdp)
    raise CostError(
        f'there is no column for state "{missing[0]}" (of {len(missing)} without one), though some columns are named '
        "after states. Add it, or remove the header to take the columns by position."
    )


def _require_once(names: Sequence[str], header: Sequence[str]) -> None:
    known = set(names)
    twice, count = Counter(name for name in header if name in known).most_common(1)[0]
    if count > 1:
        raise CostError(f'there are {count} columns for state "{twice}". Keep one of them.')


def by_label(given: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """The costs of one round, given by the names of the states."""
    try:
        return [given[name] for name in names]
    except KeyError as missing:
        count = sum(name not in given for name in names)
        raise CostError(
            f'there is no cost for state "{missing.args[0]}" (of {count} without one). Give one for every state.'
        ) from None


def is_header(cells: Sequence[str], lmdp: LMDP, low: float, high: float) -> bool:
    """Whether the first line of a csv file names the columns, also where the names are numbers.

    It does if it holds the names of all states (of two states 0 and 1, the line 0,1 is a cost), or if its cells differ
    and none of them can be a cost: each is a word, or a whole number such as 773869 that is not between the bounds.
    """
    words = [cell for cell in cells if not _is_number(cell)]
    if (words or len(cells) > 2) and set(state_names(lmdp)) <= set(cells):
        return True
    lone_number = len(cells) == 1 and not words
    return not lone_number and len(set(cells)) == len(cells) and all(_is_name(cell, low, high) for cell in cells)


def _is_name(cell: str, low: float, high: float) -> bool:
    if not _is_number(cell):
        return bool(cell)
    return cell.isdigit() and not min(low, high) <= float(cell) <= max(low, high)


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def as_numbers(values: Iterable[Any], lmdp: LMDP) -> Floats:
    """The costs of all states, in their order, as numbers; NaN is left for later, words are not."""
    cells = list(values)
    try:
        return np.array([float(cell) for cell in cells])
    except (TypeError, ValueError, OverflowError):
        state, cell = next((state, cell) for state, cell in enumerate(cells) if not _is_number(cell))
        raise CostError(
            f'the cost of {lmdp.name_of(state)} is "{cell}", not a number. Correct it or fill it in.'
        ) from None


def assembled(entries: Iterable[Entry], lmdp: LMDP, start: int) -> Iterator[Floats]:
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
            row = as_numbers(by_label(_distinct(pairs), names), lmdp)
        except CostError as problem:
            raise CostError(f"round {t}: {problem}") from None
        yield row


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) < len(pairs):
        twice, count = Counter(state for state, _ in pairs).most_common(1)[0]
        raise CostError(f'there are {count} costs for state "{twice}". Give one for every state.')
    return given
