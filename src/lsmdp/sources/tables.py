"""Tables from csv and parquet files: all numbers, or columns of names and numbers.

The quick readers (numpy, pyarrow) do the work; where one of them stumbles, the file is read again slowly to say
in which line and why.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs import parquet


def first_line(path: Path) -> list[str]:
    """The cells of the first line of a csv file."""
    return [cell.strip() for cell in _first_row(path)[1]]


def _first_row(path: Path) -> tuple[int, list[str]]:
    """The cells of the first line that is not blank, and how many lines there are up to it."""
    found = next(rows_of(path), None)
    if found is None:
        raise SpecError("the file is empty. Give one line per state.")
    return found


def read_numbers(path: Path) -> tuple[Floats, list[str] | None]:
    """A csv file of numbers as a matrix, and its header if the first line is one."""
    header = first_line(path)
    names = None if all(map(_is_number, header)) else header
    with _opened(path) as stream:
        lines = (line for line in stream if line.strip())
        body = lines if names is None else _tail(lines)
        try:
            values = np.loadtxt(body, delimiter=",", comments=None, quotechar='"', ndmin=2)
        except ValueError:
            _blame_cell(path, skip=0 if names is None else 1)
            raise
    return values, names


def _tail(lines: Iterator[str]) -> Iterator[str]:
    next(lines)
    first = next(lines, None)
    if first is None:
        raise SpecError("the file has a header and nothing below it. Give one line per state.")
    yield first
    yield from lines


def read_columns(path: Path, header: list[str], *, text: Sequence[str], numbers: Sequence[str] = ()) -> Any:
    """The named columns of a csv file as a pyarrow table, as far as the file has them."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(text, pa.string()) | dict.fromkeys(numbers, pa.float64())
    names = [name.lower() for name in header]
    if twice := [name for name in types if names.count(name) > 1]:
        raise SpecError(f'there are {names.count(twice[0])} columns "{twice[0]}". Keep one of them.')
    try:
        return arrow_csv.read_csv(
            path,
            arrow_csv.ReadOptions(skip_rows=_first_row(path)[0], column_names=names),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, include_columns=[name for name in types if name in names]
            ),
        )
    except pa.ArrowInvalid:
        _blame_row(path, names, numbers)
        raise


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


def _opened(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", newline="")


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each line that is not blank."""
    with _opened(path) as stream:
        reader = csv.reader(stream)
        for row in reader:
            if row:
                yield reader.line_num, row


def _blame_cell(path: Path, skip: int) -> None:
    """Raise for the first cell that keeps a csv file from being a matrix of numbers."""
    width = 0
    for count, (line, row) in enumerate(rows_of(path)):
        if count < skip:
            continue
        for column, cell in enumerate(row, start=1):
            if not _is_number(cell):
                hint = " Row names are not read: save the table without them." if column == 1 < len(row) else ""
                raise SpecError(f'line {line}, column {column} is "{cell.strip()}", not a number. Correct it.{hint}')
        width = width or len(row)
        if len(row) != width:
            raise SpecError(f"line {line} has {len(row)} cells, but the lines before have {width}. Make them equal.")


def _blame_row(path: Path, names: list[str], numbers: Sequence[str]) -> None:
    """Raise for the first line that does not fit the header of a csv file of columns."""
    rows = rows_of(path)
    next(rows)
    for line, row in rows:
        if len(row) != len(names):
            raise SpecError(f"line {line} has {len(row)} cells, but the header has {len(names)}. Make them equal.")
        for number in set(numbers) & set(names):
            cell = row[names.index(number)]
            if not _is_number(cell):
                raise SpecError(f'line {line}: the {number} is "{cell.strip()}", not a number. Correct it.')


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
