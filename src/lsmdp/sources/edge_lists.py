"""Kernels from tables: edge lists as people have them, and square tables with and without names.

An *edge list* has a line per edge: where it begins, where it ends and perhaps its weight. Which columns these are is
told by the header (headers.py), by the user (``columns``), or by their place: the first two, and a third that holds
numbers. A *square table* holds P[x, y] in row x and column y; a header names the states, and so may the first column.

Which of the two a table is:

    its header names two ends                        an edge list
    numbers only, as many rows as columns            a square table
    numbers only, 2 or 3 columns, whole ends         an edge list, by place
    a first column that repeats the header           a square table with names on both sides
    2 columns of names, or 3 with a number           an edge list, by place
    anything else                                    refused: name the columns

What is not in the very words of the manual is a guess, and is said (inputs/notes.py).

Weights that are all whole numbers, and edges without weights, are counts: the rows are divided by their sums. Others
could be meant as chances, and then rows must sum to 1 unless the user says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.dialects import (
    LINES_LOOKED_AT,
    dialect_of,
    is_number,
    rows_of,
)
from lsmdp.inputs.notes import guessed
from lsmdp.sources.headers import (
    ends_of,
    said,
    shown,
)
from lsmdp.sources.makers.edges import Called, edge_weights
from lsmdp.sources.reading import Content, Labels, ReadingOptions
from lsmdp.sources.roles import (
    ROLES,
    RolesFound,
    asked_for,
    by_header,
    by_name,
    ends_in,
    left,
    listed,
)
from lsmdp.sources.tables import (
    are_numbers,
    first_line,
    like_number,
    names_of,
    numbers_of,
    read_numbers,
    read_parquet,
    read_places,
)


def read_text(path: Path, reading: ReadingOptions) -> Content:
    """The kernel in a .csv, .tsv or .txt file."""
    dialect = dialect_of(path)
    rows = [[cell.strip() for cell in row] for _, row in islice(rows_of(path, dialect), LINES_LOOKED_AT)]
    if not rows:
        raise SpecError("the file is empty. Give one line per edge, or one per state.")
    first, below = rows[0], rows[1:]
    asked = asked_for(reading.columns, reading.weight)
    titles = dialect.titles
    if asked:
        header = titles or (first if _is_header(first, below) else None)
        found = by_name(header if header is not None else first, asked, len(first))
        found = found._replace(header=titles is None and (header is not None or not _all_by_number(asked)))
    elif (named := by_header(first)) is not None and not _is_matrix(named, below):
        found = named
    elif titles is not None and (named := by_header(titles)) is not None:
        found = named._replace(header=False)
    else:
        if (not first[0] or not is_number(first[0])) and (content := _labelled_square(path, first)) is not None:
            return content
        if _holds_numbers(first, below):
            return _square(path, *read_numbers(path))
        found = _by_place(first, below)
    names = (titles or first) if found.header or titles is not None else None
    if found.guess:
        guessed(path, said(found.roles, names) + left(names, found.roles))
    edges = ends_in(read_places(path, found.roles, numbers=("weight",), header=found.header))
    return _content(*edges, _line_of(path, found.header))


def read_columns_of(path: Path, reading: ReadingOptions) -> Content:
    """The kernel in a .parquet file."""
    table = read_parquet(path)
    edges = listed(table, asked_for(reading.columns, reading.weight), path)
    if edges is not None:
        return _content(*edges)
    names = table.column_names
    if str(table.schema.types[0]) in ("string", "large_string"):
        content = _named_square([[str(cell) for cell in table[name].to_pylist()] for name in names], names)
        if content is not None:
            return content
    values = np.column_stack([numbers_of(table, name) for name in names])
    return Content(values, labels_of(names, values.shape))


def table_of(path: Path) -> tuple[list[str], Callable[[dict[str, int]], Any]]:
    """The names of the columns of a table with a header, and a function that reads some of them under new names.

    What is called from, to or state is read as names, and everything else as numbers.
    """
    if path.suffix.lower() == ".parquet":
        table = read_parquet(path)
        return table.column_names, lambda roles: table.select(list(roles.values())).rename_columns(list(roles))
    titles = dialect_of(path).titles
    above = titles is not None and ends_of(titles) is not None
    names = list(titles) if titles is not None and above else first_line(path)

    def read(roles: dict[str, int]) -> Any:
        numbers = [role for role in roles if role not in ("from", "to", "state")]
        return read_places(path, roles, numbers=numbers, header=not above)

    return names, read


def edges_as_listed(path: Path, column: str) -> tuple[list[str], list[str], Floats]:
    """Where each line of an edge list begins and ends, by the names of the states, and what it has in a column."""
    names, table = table_of(path)
    found = by_name(names, {"weight": column}, len(names))
    read = table({"cost" if role == "weight" else role: place for role, place in found.roles.items()})
    return (*(names_of(read, end).astype(str).tolist() for end in ("from", "to")), numbers_of(read, "cost"))


def _all_by_number(asked: dict[str, str]) -> bool:
    return all(name.isdecimal() for name in asked.values())


def _by_place(first: Sequence[str], below: Sequence[Sequence[str]]) -> RolesFound:
    """The first two columns, and the third if it holds numbers."""
    if not below and not any(map(is_number, first)):
        raise SpecError("the file has a header and nothing below it. Give one line per edge, or one per state.")
    weighted = len(first) == 3 and bool(below) and all(len(row) == 3 and is_number(row[2]) for row in below)
    if len(first) != 2 and not weighted:
        raise SpecError(
            f"it is no square table, and none of its {len(first)} columns ({shown(first)}) has a name that tells where "
            "an edge begins and ends. Name them: --columns from=NAME,to=NAME,weight=NAME, or by their numbers from 1."
        )
    roles = dict(zip(ROLES, range(len(first)), strict=False))
    return RolesFound(roles, guess=True, header=_is_header(first, below))


def _is_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first line has names of columns: no numbers in it, and none of its names further down."""
    if any(map(is_number, first)) or not all(first):
        return False
    for column in zip(*below, strict=False):
        if all(map(like_number, column)):
            return True
    return not {cell for row in below for cell in row} & set(first)


def _is_matrix(found: RolesFound, below: Sequence[Sequence[str]]) -> bool:
    """Whether this is P on states that happen to be called like ends: a square of numbers, or ends with fractions."""
    if not found.guess or not below or not all(map(are_numbers, below)):
        return False
    ends = [row[found.roles[role]] for row in below for role in ("from", "to") if found.roles[role] < len(row)]
    return len(below) == len(below[0]) or any(not float(end).is_integer() for end in ends)


def _holds_numbers(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a table is meant to hold numbers only, below a header or not, though some may be mistaken."""
    body = below if below and not any(map(like_number, first)) else [first, *below]
    cells = [cell for row in body for cell in row[:2]]
    return 2 * sum(map(like_number, cells)) > len(cells)


def _square(path: Path, values: Floats, names: list[str] | None) -> Content:
    """A table of numbers: P, or edges where it is not square and its first two columns are whole numbers."""
    rows, width = values.shape
    if names is None and rows == width + 1:
        first = [cell.strip() for cell in next(rows_of(path))[1]]
        if not (width in (2, 3) and _are_ends(values)) or len(set(first)) == width > 3:
            return Content(values[1:], labels_of(first, (width, width)))  # labels that happen to be numbers
    if rows != width and width in (2, 3) and _are_ends(values):
        guessed(path, said(dict(zip(ROLES, range(width), strict=False)), names))
        weights = values[:, 2] if width == 3 else None
        ends = values[:, :2].astype(np.int64)
        return _content(ends[:, 0], ends[:, 1], weights, _line_of(path, names is not None))
    return Content(values, labels_of(names, values.shape))


def _are_ends(values: Floats) -> bool:
    ends = values[:, :2]
    return bool(np.isfinite(ends).all() and (ends == np.floor(ends)).all() and (np.abs(ends) < 2**53).all())


def _labelled_square(path: Path, first: Sequence[str]) -> Content | None:
    """A square table with names in its first column and in its header, with or without a corner."""
    rows = [[cell.strip() for cell in row] for _, row in rows_of(path)][1:]
    width = len(rows[0]) if rows else 0
    if len(rows) != width - 1 or any(len(row) != width for row in rows) or len(first) not in (width, width - 1):
        return None
    header = list(first) if len(first) == width else ["", *first]
    return _named_square([list(column) for column in zip(*rows, strict=True)], header)


def _named_square(columns: Sequence[Sequence[str]], header: Sequence[str]) -> Content | None:
    names, labels = list(columns[0]), list(header[1:])
    counted = names == [str(row) for row in range(len(labels))]
    if not counted and sorted(names) != sorted(labels):
        return None
    cells = [cell for column in columns[1:] for cell in column]
    if not are_numbers(cells):
        at = next(place for place, cell in enumerate(cells) if not is_number(cell))
        row, column = at % len(names), at // len(names)
        raise SpecError(
            f'the cell of "{names[row]}" and "{labels[column]}" is "{cells[at]}", not a number. Correct it.'
        )
    values = np.array(cells, dtype=np.float64).reshape(len(labels), len(names)).T
    order = range(len(labels)) if counted else [names.index(label) for label in labels]
    return Content(values[list(order)], labels)


def labels_of(names: Sequence[str] | None, shape: tuple[int, ...]) -> Labels:
    """Header cells as labels, unless they only count the states or the table is not square anyway."""
    counted = names is not None and list(names) == [str(state) for state in range(len(names))]
    return None if counted or shape[0] != shape[1] else names


def are_counts(weights: Floats | None) -> bool:
    """Whether weights are counts and no chances: there are none, or all are whole numbers."""
    return weights is None or bool(np.isfinite(weights).all() and (weights == np.floor(weights)).all())


def _line_of(path: Path, header: bool) -> Callable[[int], str]:
    """How messages speak of an edge in a text: by its line."""
    return lambda edge: f"line {next(islice(rows_of(path), edge + header, None))[0]}: the edge"


def _content(sources: Any, targets: Any, weights: Floats | None, called: Called = None) -> Content:
    matrix, labels = edge_weights(sources, targets, weights, called=called)
    return Content(matrix, labels, proportions=are_counts(weights))
