"""Tables from text (.csv, .tsv, .txt) and parquet files: all numbers, or columns of names and numbers.

How a text is written is found out first (dialects.py). The quick readers (numpy, pyarrow) do the work; where one of
them stumbles, the file is read again slowly to say in which line and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs import parquet
from lsmdp.inputs.dialects import (
    WITH_COMMA,
    Dialect,
    dialect_of,
    has_decimal_commas,
    is_number,
    rows_of,
    tabbed,
)

TEXTS = (".csv", ".tsv", ".txt")  # Tables of text have these endings.


def first_line(path: Path) -> list[str]:
    """The cells of the first line of a table."""
    return [cell.strip() for cell in _first_row(path)[1]]


def _first_row(path: Path, dialect: Dialect | None = None) -> tuple[int, list[str]]:
    """The cells of the first line that is neither blank nor a comment, and how many lines there are up to it."""
    found = next(rows_of(path, dialect), None)
    if found is None:
        raise SpecError("the file is empty. Give one line per state.")
    return found


def read_numbers(path: Path) -> tuple[Floats, list[str] | None]:
    """A table of numbers as a matrix, and its header if the first line is one."""
    dialect = dialect_of(path)
    header = [cell.strip() for cell in _first_row(path, dialect)[1]]
    names = None if all(map(like_number, header)) else header
    lines = (line.decode() for line in tabbed(path, dialect))
    body = lines if names is None else _tail(lines)
    try:
        values = np.loadtxt(body, delimiter=dialect.separator or "\t", comments=None, quotechar='"', ndmin=2)
    except ValueError:
        rows = [row for _, row in rows_of(path, dialect)][0 if names is None else 1 :]
        if not has_decimal_commas((cell for row in rows for cell in row), dialect.separator):
            _blame_cell(path, dialect, skip=0 if names is None else 1)
            raise
        values = np.array([[float(cell.replace(",", ".")) for cell in row] for row in rows], ndmin=2)
    return values, names


def _tail(lines: Iterator[str]) -> Iterator[str]:
    next(lines)
    first = next(lines, None)
    if first is None:
        raise SpecError("the file has a header and nothing below it. Give one line per state.")
    yield first
    yield from lines


def read_columns(path: Path, header: Sequence[str], *, text: Sequence[str], numbers: Sequence[str] = ()) -> Any:
    """The columns of a table with these names, in any case of letters, as a pyarrow table, as far as it has them."""
    names = [name.lower() for name in header]
    wanted = [name for name in (*text, *numbers) if name in names]
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise SpecError(f'there are {names.count(twice[0])} columns "{twice[0]}". Keep one of them.')
    return read_places(path, {name: names.index(name) for name in wanted}, numbers=numbers)


def read_places(path: Path, places: Mapping[str, int], *, numbers: Sequence[str] = (), header: bool = True) -> Any:
    """The columns at these places under new names, as a pyarrow table: text, or numbers where that is said."""
    import pyarrow as pa

    dialect = dialect_of(path)
    try:
        return _read_places(path, dialect, places, numbers, header, ".")
    except pa.ArrowInvalid:
        cells = (row[at] for _, row in rows_of(path, dialect) for at in _columns(places, numbers) if at < len(row))
        if has_decimal_commas(cells, dialect.separator):
            return _read_places(path, dialect, places, numbers, header, ",")
        _blame_row(path, dialect, places, numbers, header=header)
        raise


def _read_places(
    path: Path, dialect: Dialect, places: Mapping[str, int], numbers: Sequence[str], header: bool, point: str
) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    line, first = _first_row(path, dialect)
    at = {place: name for name, place in places.items()}
    plain = dialect.separator is not None and not dialect.strewn  # no comment but those on top
    above = line - 1 if plain else 0
    return arrow_csv.read_csv(
        path if plain else tabbed(path, dialect),
        arrow_csv.ReadOptions(
            skip_rows=above + header,
            column_names=[at.get(place, f"unread {place}") for place in range(len(first))],
        ),
        arrow_csv.ParseOptions(delimiter=dialect.separator or "\t"),
        arrow_csv.ConvertOptions(
            column_types={name: pa.float64() if name in numbers else pa.string() for name in places},
            include_columns=list(places),
            decimal_point=point,
        ),
    )


def _columns(places: Mapping[str, int], numbers: Sequence[str]) -> list[int]:
    return [place for name, place in places.items() if name in numbers]


def read_parquet(path: Path) -> Any:
    """A pyarrow table with at least one column."""
    table = parquet.read_parquet(path)
    if not table.num_columns:
        raise SpecError("the table has no column. Give one column per state, or name them as documented.")
    return table


def numbers_of(table: Any, name: str) -> Floats:
    """A column of a pyarrow table as floats; missing values are NaN."""
    import pyarrow as pa

    column = _column(table, name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise SpecError(f'column "{name}" holds {kind} values, not numbers. Convert it, or leave it out.')
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def names_of(table: Any, name: str) -> npt.NDArray[Any]:
    """A column of state names: as whole numbers where all are written as such, else as text."""
    import pyarrow as pa

    column = _column(table, name)
    try:
        names = column.cast(pa.string()).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise SpecError(f'column "{name}" holds {column.type} values, not names. Convert it to text.') from None
    nameless = np.flatnonzero(names.fill_null("").to_numpy(zero_copy_only=False) == "")
    if nameless.size:
        raise SpecError(f'row {nameless[0]} below the header has no name in the column "{name}". Name the state.')
    text = np.asarray(names.to_numpy(zero_copy_only=False))
    if not (text.size and text[0].lstrip("-").isdigit()):
        return text
    try:
        numbers = names.cast(pa.int64())
    except pa.ArrowInvalid:
        return text
    return np.asarray(numbers.to_numpy()) if numbers.cast(pa.string()).equals(names) else text  # 007 is a name


def _column(table: Any, name: str) -> Any:
    if (count := table.column_names.count(name)) > 1:
        raise SpecError(f'there are {count} columns "{name}". Keep one of them.')
    return table[name]


def _blame_cell(path: Path, dialect: Dialect, skip: int) -> None:
    """Raise for the first cell that keeps a table from being a matrix of numbers."""
    width = 0
    for count, (line, row) in enumerate(rows_of(path, dialect)):
        if count < skip:
            continue
        for column, cell in enumerate(row, start=1):
            if not is_number(cell):
                raise SpecError(f'line {line}, column {column} is "{cell.strip()}", not a number. Correct it.')
        width = width or len(row)
        if len(row) != width:
            raise SpecError(f"line {line} has {len(row)} cells, but the lines before have {width}. Make them equal.")


def _blame_row(
    path: Path, dialect: Dialect, places: Mapping[str, int], numbers: Sequence[str], *, header: bool
) -> None:
    """Raise for the first line that does not fit the others of a table of columns."""
    width = 0
    for count, (line, row) in enumerate(rows_of(path, dialect)):
        width = width or len(row)
        if len(row) != width:
            before = "the header has" if header else "the lines before have"
            raise SpecError(f"line {line} has {len(row)} cells, but {before} {width}. Make them equal.")
        if header and not count:
            continue
        for number in (name for name in numbers if name in places):
            cell = row[places[number]]
            if not is_number(cell):
                raise SpecError(f'line {line}: the {number} is "{cell.strip()}", not a number. Correct it.')


def like_number(cell: str) -> bool:
    """Whether a cell holds a number, perhaps with a decimal comma."""
    return is_number(cell) or WITH_COMMA.fullmatch(cell.strip()) is not None


def are_numbers(cells: Iterable[str]) -> bool:
    """Whether all cells hold numbers."""
    return all(map(is_number, cells))
