"""A log of movements: who was where, in the order of time.

Logs come as

    .csv, .parquet   the columns entity, time and state, rows in any order; they are sorted by entity and time
    .jsonl           one sequence of states a line: ["a", "b", "c"] or {"states": ["a", "b", "c"]}

or, in Python, as such columns or sequences. Two consecutive records of an entity are one *move*, from the first state
to the second (to itself, if they are equal): a log taken every five minutes gives a chain with steps of five
minutes. Where more than ``gap`` passes between two records, the sequence ends and another one begins.

Times are numbers or ISO 8601 (a gap is then in seconds). A missing value, or two records of one entity at the same
time, are errors with their place: no order of the moves would follow from the data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Ints
from lsmdp.errors import SpecError
from lsmdp.sources.dialects import rows_of
from lsmdp.sources.reading import Format, endings, read_file
from lsmdp.sources.tables import (
    first_line,
    read_columns,
    read_parquet,
)

COLUMNS = ("entity", "time", "state")
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # per second

LONGEST_NUMBER = 100  # digits; longer ones are names

Place = Callable[[int], str]


@dataclass(frozen=True, eq=False)
class Log:
    """Sequences of states, one after the other: sequence i is ``visits[starts[i]:starts[i + 1]]``."""

    states: tuple[str, ...]
    visits: Ints
    starts: Ints

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


def read_log(log: Any, gap: float | None = None) -> Log:
    """The log in a file, in columns (a mapping, a data frame, a pyarrow table), or in sequences of states."""
    if gap is not None and not gap > 0.0:
        raise SpecError(f"the gap is {gap}. It is a time, and must be positive.")
    if isinstance(log, Log):
        _require_no_gap(gap)
        return log
    if isinstance(log, str | PathLike):
        nothing = SpecError(f'there is no log "{log}". A log is a file that ends in {endings(_formats(gap))}.')
        found: Log = read_file(str(log), _formats(gap), nothing)
        return found
    if isinstance(log, Mapping) or hasattr(log, "columns"):
        return _of_table(_as_table(log), lambda row: f"row {row}", gap)
    if isinstance(log, Iterable):
        _require_no_gap(gap)
        return _of_sequences([_states(sequence, f"sequence {number}") for number, sequence in enumerate(log)])
    raise SpecError(f"the log is {type(log).__name__}. Give a file, the columns entity, time and state, or sequences.")


def _formats(gap: float | None) -> dict[str, Format]:
    return {
        ".csv": Format(lambda path: _read_csv(path, gap), "Write it as text in UTF-8: entity,time,state."),
        ".parquet": Format(lambda path: _read_parquet(path, gap), "Write it with pyarrow.parquet.write_table."),
        ".jsonl": Format(lambda path: _read_lines(path, gap), 'Write a line such as ["a", "b"] per sequence.'),
    }


def _read_csv(path: Path, gap: float | None) -> Log:
    header = [name.lower() for name in first_line(path)]
    _require_columns(header)

    def place(row: int) -> str:
        return f"line {next(islice(rows_of(path), row + 1, None))[0]}"

    return _of_table(read_columns(path, header, text=COLUMNS), place, gap)


def _read_parquet(path: Path, gap: float | None) -> Log:
    table = read_parquet(path)
    table = table.rename_columns([name.lower() for name in table.column_names])
    _require_columns(table.column_names)
    return _of_table(table, lambda row: f"row {row}", gap)


def _as_table(columns: Any) -> Any:
    import pyarrow as pa

    _require_columns([str(name) for name in (columns.column_names if isinstance(columns, pa.Table) else columns)])
    try:
        return (
            columns if isinstance(columns, pa.Table) else pa.table({name: pa.array(columns[name]) for name in COLUMNS})
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, OverflowError) as broken:
        raise SpecError(f"the columns entity, time and state are no table: {broken}. Make them plain arrays.") from None


def _require_columns(names: Sequence[str]) -> None:
    if missing := [name for name in COLUMNS if name not in names]:
        raise SpecError(
            f'there is no column "{missing[0]}" among {", ".join(names)}. A log has the columns entity, time and state.'
        )


def _of_table(table: Any, place: Place, gap: float | None) -> Log:
    if not table.num_rows:
        raise SpecError("the log has no record. Give one row per entity and time.")
    names = {name: _as_text(table[name].combine_chunks(), name, place) for name in ("entity", "state")}
    entities, entity = _numbered(names["entity"])
    states, state = _numbered(names["state"])
    time, ticks = _times(table["time"].combine_chunks(), place)
    order = np.lexsort((time, entity))
    entity, time, state = entity[order], time[order], state[order]
    same = entity[1:] == entity[:-1]
    step = np.diff(time)
    if (tied := np.flatnonzero(same & (step == 0))).size:
        first, second = sorted(order[tied[0] : tied[0] + 2].tolist())
        raise SpecError(
            f'{place(first)} and {place(second)}: entity "{entities[entity[tied[0]]]}" has two records of one time '
            f"({tied.size} such pairs in all). A move needs a before and an after: keep one record per entity and time."
        )
    begins = ~same if gap is None else ~same | (step > gap * ticks)
    return Log(states, state, np.concatenate(([0], np.flatnonzero(begins) + 1, [state.size])))


def _as_text(column: Any, name: str, place: Place) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_integer(column.type) or _is_text(column.type)):
        raise SpecError(f'the column "{name}" holds {column.type} values. Give names or whole numbers.')
    text = column.cast(pa.string())
    _require_none(_blank(text), name, place)
    return text


def _blank(text: Any) -> Ints:
    """Where a column of text has none."""
    from pyarrow import compute

    return np.flatnonzero(compute.equal(text.fill_null(""), "").to_numpy(zero_copy_only=False))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _require_none(missing: Ints, name: str, place: Place) -> None:
    if missing.size:
        raise SpecError(
            f"{place(int(missing[0]))} has no {name} ({missing.size} such records in all). A record needs an entity, a "
            "time and a state: fill it in, or leave the record out."
        )


def _numbered(text: Any) -> tuple[tuple[str, ...], Ints]:
    """The names in a column, whole numbers by size and others by the alphabet, and the number of each entry."""
    encoded = text.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    whole = all(map(_is_whole, names))
    order = sorted(range(len(names)), key=(lambda at: int(names[at])) if whole else names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return tuple(names[at] for at in order), rank[encoded.indices.to_numpy(zero_copy_only=False)]


def _is_whole(name: str) -> bool:
    short = len(name) <= LONGEST_NUMBER and name.removeprefix("-").isdecimal()
    return short and str(int(name)) == name


def _times(column: Any, place: Place) -> tuple[npt.NDArray[Any], int]:
    """Times as numbers, and how many of them make a second (1 where they have no unit)."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_text(column.type):
        _require_none(_blank(column), "time", place)
        column = _parsed(column, place)
    kind, ticks = column.type, 1
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s"))
    elif pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        ticks = TICKS[kind.unit]
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise SpecError(f'the column "time" holds {kind} values. Give numbers or times.')
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    _require_none(np.flatnonzero(missing), "time", place)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32()) if column.type.bit_width == 32 else column.cast(pa.int64())
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    values = values.astype({"i": np.int64, "u": np.uint64}.get(values.dtype.kind, np.float64))
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise SpecError(f"{place(at)}: the time is {values[at]}. Give a finite number.")
    return values, ticks


def _parsed(text: Any, place: Place) -> Any:
    """Text as whole numbers, as numbers, or as ISO 8601, whichever all of it is."""
    import pyarrow as pa

    dates = [pa.timestamp(unit, tz) for unit in ("us", "ns") for tz in (None, "UTC")]  # most years fit into us only
    for kind in (pa.int64(), pa.float64(), *dates):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    for row, cell in enumerate(text.to_pylist()):
        for kind in (pa.float64(), *dates):
            try:
                pa.array([cell]).cast(kind)
                break
            except pa.ArrowInvalid:
                continue
        else:
            raise SpecError(
                f'{place(row)}: the time is "{cell}". Give all times as numbers, or all as ISO 8601 such as '
                "2012-03-01 08:05:00."
            )
    raise SpecError("the times are of several kinds. Give all as numbers, or all as ISO 8601, with zones or without.")


def _read_lines(path: Path, gap: float | None) -> Log:
    _require_no_gap(gap)
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


def _require_no_gap(gap: float | None) -> None:
    if gap is not None:
        raise SpecError(
            "sequences of states have no times, so there is no gap (--gap) to look for. Split them yourself."
        )


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
    states, visits = _numbered(text)
    return Log(states, visits, np.concatenate(([0], np.cumsum([len(sequence) for sequence in sequences]))))
