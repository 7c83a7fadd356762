"""A log of movements: who was where, in the order of time.

Logs come as

    .csv, .tsv, .txt,  the columns entity, time and state (columns.py: by what names), with rows in any order: they
    .parquet           are sorted by entity and time
    .jsonl             one sequence of states a line: ["a", "b", "c"] or {"states": ["a", "b", "c"]}

or, in Python, as such columns, a table of another library, or sequences. Two consecutive records of an entity are one
*move*, from the first state to the second (to itself, if they are equal): a log taken every five minutes gives a chain
with steps of five minutes. Where more than ``gap`` passes between two records, the sequence ends and another one
begins.

Times are numbers, ISO 8601 or in a format that is given (times.py); a gap is then in seconds. A missing value is an
error with its place: no order of the moves would follow from the data.

**Ties.** A record that repeats another (entity, time and state) is dropped. Records of one entity at one time in
several states are kept in the order of the file (``ties="order"``), or in its reverse where the file itself runs
backwards in time; "first" and "last" keep one record of each time, and "refuse" makes them an error. What is dropped is
counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Ints
from lsmdp.errors import SpecError
from lsmdp.inputs.frames import is_table
from lsmdp.inputs.notes import guessed
from lsmdp.sources.headers import Columns
from lsmdp.sources.logs.columns import (
    Sheet,
    record_columns,
    sheet_of_columns,
    sheet_of_parquet,
    sheet_of_text,
)
from lsmdp.sources.logs.times import (
    as_numbers,
    blank,
    is_text,
    require_none,
)
from lsmdp.sources.makers.shared import Bools
from lsmdp.sources.reading import Format, endings, read_file
from lsmdp.sources.tables import TEXTS

_TIES = ("order", "first", "last", "refuse")  # These are the rules for records of one entity at the same time.
_LONGEST_NUMBER = 100  # A number has at most this many digits; longer ones are names.


class LogOptions(NamedTuple):
    """How the user wants a log to be read."""

    gap: float | None = None
    columns: Columns = None
    time_format: str | None = None
    ties: str = "order"


@dataclass(frozen=True, eq=False)
class Log:
    """Sequences of states, one after the other: sequence i is ``visits[starts[i]:starts[i + 1]]``.

    ``dropped`` says what was left out of the input: the reason, and how many rows.
    """

    states: tuple[str, ...]
    visits: Ints
    starts: Ints
    dropped: tuple[tuple[str, int], ...] = ()

    @property
    def sequences(self) -> int:
        """Their number."""
        return int(self.starts.size) - 1

    def moves(self) -> tuple[Ints, Ints, Ints]:
        """From where, to where, and in which sequence, for each move in order."""
        lengths = np.diff(self.starts)
        of = np.repeat(np.arange(self.sequences), lengths)
        same = of[:-1] == of[1:]
        return self.visits[:-1][same], self.visits[1:][same], of[:-1][same]


def read_log(
    log: Any,
    gap: float | None = None,
    *,
    columns: Columns = None,
    time_format: str | None = None,
    ties: str = "order",
) -> Log:
    """The log in a file, in columns (a mapping, a table of any library), or in sequences of states."""
    if gap is not None and not gap > 0.0:
        raise SpecError(f"the gap is {gap}. It is a time, and must be positive.")
    if ties not in _TIES:
        raise SpecError(f'the rule for ties is "{ties}". It is one of: {", ".join(_TIES)} (--ties).')
    how = LogOptions(gap, columns, time_format, ties)
    if isinstance(log, Log):
        _require_untimed(how)
        return log
    if isinstance(log, str | PathLike):
        nothing = SpecError(f'there is no log "{log}". A log is a file that ends in {endings(_formats(how))}.')
        found: Log = read_file(str(log), _formats(how), nothing)
        return found
    if isinstance(log, Mapping) or is_table(log):
        return _of_sheet(sheet_of_columns(log, "the log"), how)
    if isinstance(log, Iterable):
        _require_untimed(how)
        return _of_sequences([_states(sequence, f"sequence {number}") for number, sequence in enumerate(log)])
    raise SpecError(f"the log is {type(log).__name__}. Give a file, the columns entity, time and state, or sequences.")


def _formats(how: LogOptions) -> dict[str, Format]:
    text = Format(lambda path: _of_sheet(sheet_of_text(path), how), "Write it as text in UTF-8: entity,time,state.")
    table = Format(lambda path: _of_sheet(sheet_of_parquet(path), how), "Write it with pyarrow.parquet.write_table.")
    lines = Format(lambda path: _read_lines(path, how), 'Write a line such as ["a", "b"] per sequence.')
    return {**dict.fromkeys(TEXTS, text), ".parquet": table, ".jsonl": lines}


def _of_sheet(sheet: Sheet, how: LogOptions) -> Log:
    table = sheet.read(record_columns(sheet, how.columns))
    if not table.num_rows:
        raise SpecError("the log has no record. Give one row per entity and time.")
    texts = {name: as_text(table[name].combine_chunks(), name) for name in ("entity", "state")}
    for name, text in texts.items():
        require_none(blank(text), name, sheet.place)
    entities, entity = numbered(texts["entity"])
    states, state = numbered(texts["state"])
    time, ticks = as_numbers(table["time"].combine_chunks(), "time", sheet.place, how.time_format)
    rows, backwards = np.arange(time.size), _runs_backwards(entity, time)
    order = np.lexsort((-rows if backwards else rows, time, entity))
    entity, time, state = entity[order], time[order], state[order]
    same = entity[1:] == entity[:-1]
    tied = same & (time[1:] == time[:-1])
    keep, dropped = _without_ties(tied, state, how.ties)
    if how.ties == "refuse" and (pairs := np.flatnonzero(tied & keep[1:])).size:
        first, second = sorted(order[pairs[0] : pairs[0] + 2].tolist())
        raise SpecError(
            f'{sheet.place(first)} and {sheet.place(second)}: entity "{entities[entity[pairs[0]]]}" has two records of '
            f"one time ({pairs.size} such pairs in all). A move needs a before and an after: keep one record per "
            "entity and time, or say which come first with --ties order, first or last."
        )
    if how.ties == "order" and (count := int(np.count_nonzero(tied & keep[1:]))):
        which = "reverse order" if backwards else "order"
        guessed(sheet.source, f"{count:,} records have the time of another of their entity: in the {which} of the file")
    entity, time, state = entity[keep], time[keep], state[keep]
    begins = entity[1:] != entity[:-1]
    if how.gap is not None:
        begins |= np.diff(time) > how.gap * ticks
    return Log(states, state, np.concatenate(([0], np.flatnonzero(begins) + 1, [state.size])), dropped)


def _runs_backwards(entity: Ints, time: npt.NDArray[Any]) -> bool:
    """Whether the rows of most entities go back in time."""
    by_entity = np.argsort(entity, kind="stable")
    same, when = np.diff(entity[by_entity]) == 0, time[by_entity]
    back, on = (when[1:] < when[:-1]) & same, (when[1:] > when[:-1]) & same
    return bool(np.count_nonzero(back) > np.count_nonzero(on))


def _without_ties(tied: Bools, state: Ints, ties: str) -> tuple[Bools, tuple[tuple[str, int], ...]]:
    """Which records to keep, in the order of entities and times, and how many are dropped, and why."""
    keep = np.ones(state.size, dtype=bool)
    keep[1:] &= ~(tied & (state[1:] == state[:-1]))
    dropped = {"records that repeat another": int(np.count_nonzero(~keep))}
    if ties in ("first", "last"):
        alone = np.ones(state.size, dtype=bool)
        if ties == "first":
            alone[1:] &= ~tied
        else:
            alone[:-1] &= ~tied
        repeated = ~keep
        keep = alone
        why = f"records at the time of another, of which the {ties} is kept"
        dropped = {why: int(np.count_nonzero(~keep & ~repeated)), "records that repeat another": 0}
        dropped["records that repeat another"] = int(np.count_nonzero(~keep)) - dropped[why]
    return keep, tuple((why, count) for why, count in dropped.items() if count)


def as_text(column: Any, name: str) -> Any:
    """A column of names or whole numbers as text."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not (pa.types.is_integer(column.type) or is_text(column.type)):
        raise SpecError(f'the column "{name}" holds {column.type} values. Give names or whole numbers.')
    return column.cast(pa.string())


def numbered(text: Any) -> tuple[tuple[str, ...], Ints]:
    """The names in a column, whole numbers by size and others by the alphabet, and the number of each entry."""
    encoded = text.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    whole = all(map(_is_whole, names))
    order = sorted(range(len(names)), key=(lambda at: int(names[at])) if whole else names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return tuple(names[at] for at in order), rank[encoded.indices.to_numpy(zero_copy_only=False)]


def _is_whole(name: str) -> bool:
    short = len(name) <= _LONGEST_NUMBER and name.removeprefix("-").isdecimal()
    return short and str(int(name)) == name


def _read_lines(path: Path, how: LogOptions) -> Log:
    _require_untimed(how)
    sequences = []
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as broken:
                raise SpecError(f'line {number} is not JSON ({broken}). Write a line such as ["a", "b"].') from None
            sequences.append(_states(found["states"] if _has_states(found) else found, f"line {number}"))
    return _of_sequences(sequences)


def _has_states(found: Any) -> bool:
    return isinstance(found, dict) and "states" in found


def _require_untimed(how: LogOptions) -> None:
    if how.gap is not None:
        raise SpecError(
            "sequences of states have no times, so there is no gap (--gap) to look for. Split them yourself."
        )
    if how.columns or how.time_format is not None:
        raise SpecError("sequences of states have no columns. Leave out --columns and --time-format.")


def _states(sequence: Any, where: str) -> list[str | int]:
    """A sequence of names or whole numbers, checked."""
    if isinstance(sequence, np.ndarray) and sequence.ndim == 1:
        sequence = sequence.tolist()
    if not isinstance(sequence, list | tuple):
        raise SpecError(f'{where} is no sequence of states. Write one such as ["a", "b", "c"].')
    kinds = set(map(type, sequence))
    if strange := {kind for kind in kinds if kind is bool or not issubclass(kind, str | int | np.integer)}:
        at = next(at for at, state in enumerate(sequence) if type(state) in strange)
        raise SpecError(f"{where}: state {at} is {sequence[at]!r}. A state is a name or a whole number.")
    if "" in sequence:
        raise SpecError(f"{where}: state {sequence.index('')} has no name. Fill it in, or split the sequence there.")
    return list(sequence)


def _of_sequences(sequences: list[list[str | int]]) -> Log:
    import pyarrow as pa

    flat = list(chain.from_iterable(sequences))
    if not flat:
        raise SpecError('the log has no state. Give one sequence a line, such as ["a", "b", "c"].')
    try:
        text = pa.array(flat if set(map(type, flat)) == {str} else list(map(str, flat)))
    except ValueError as broken:  # half a surrogate pair, or a number of too many digits
        raise SpecError(f"there is a state that cannot be written as text ({broken}). Name it otherwise.") from None
    states, visits = numbered(text)
    return Log(states, visits, np.concatenate(([0], np.cumsum([len(sequence) for sequence in sequences]))))
