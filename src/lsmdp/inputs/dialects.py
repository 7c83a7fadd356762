"""How a table is written as text: what separates its cells, which lines are comments, and what a decimal comma is.

    .csv     commas, semicolons or tabs
    .tsv     tabs, or whatever else is there
    .txt     tabs, semicolons, commas or blanks

The separator is the first of tab, semicolon, comma (and blanks, in .txt and .tsv) that cuts the first lines into
equally many cells, two at least. Lines that begin with ``#`` are comments, and so are those that begin with ``%``,
unless two hexadecimal digits follow: ``%C3%85land`` is a name. In .csv files, where a name may begin with ``#``,
comments stand above the table only. Where the last comment above a table names its columns (``# FromNodeId
ToNodeId``), it is the header.

A comma inside of numbers is a decimal comma where it can be nothing else: cells are not separated by commas, and some
number has other than three digits behind it, or begins with 0. ``1,234`` alone could be a thousand, and is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from lsmdp.errors import SpecError

LINES_LOOKED_AT = 20  # So many lines are looked at to tell the dialect of a table.
# A comment begins with # or %, but not with % and two hexadecimal digits, as names in URLs do.
_COMMENT = re.compile(r"\s*(#|%(?![0-9A-Fa-f]{2}))")
# A number with a decimal comma is written like this, but so may one with a comma between thousands.
WITH_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
# In a number like this, the comma can only be a decimal one.
_SURE_COMMA = re.compile(r"[+-]?(?:0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,}))(?:[eE][+-]?[0-9]+)?")

Line = tuple[int, str]  # its number, counted from 1, and its text


class Dialect(NamedTuple):
    """How a text is written; ``separator`` None: blanks. ``titles`` are names of columns in the last comment on top."""

    separator: str | None
    strewn: bool  # comments may stand anywhere
    titles: tuple[str, ...] | None = None


def dialect_of(path: Path) -> Dialect:
    """How a table is written, from its first lines."""
    ending = path.suffix.lower()
    strewn = ending in (".txt", ".tsv")
    comments: list[str] = []
    sample = first_lines(path, comments)
    separator = _separator(sample, ending)
    titles = None
    if comments and sample:
        words = _COMMENT.sub("", comments[-1], count=1).strip()
        cells = tuple(cell.strip() for cell in (words.split("\t") if "\t" in words else words.split()))
        titles = cells if len(cells) == len(cut(sample[0], separator)) else None
    return Dialect(separator, strewn, titles)


def first_lines(path: Path, comments: list[str] | None = None) -> list[str]:
    """The lines that are looked at, without blank ones and comments; those above them go to ``comments``."""
    with opened(path) as stream:
        strewn = path.suffix.lower() in (".txt", ".tsv")
        return [text for _, text in islice(_lines(stream, strewn, comments), LINES_LOOKED_AT)]


def is_comment(line: str) -> bool:
    """Whether this line begins as a comment does."""
    return _COMMENT.match(line) is not None


def opened(path: Path) -> TextIO:
    """A text file in UTF-8, with or without a mark in front."""
    return path.open(encoding="utf-8-sig", newline="")


def _separator(sample: list[str], ending: str) -> str | None:
    usual = "," if ending == ".csv" else "\t" if ending == ".tsv" else None
    try:
        for separator in ("\t", ";", ",") if ending == ".csv" else ("\t", ";", ",", None):
            first, *widths = [len(cut(line, separator)) for line in sample] or [0]
            width = widths[0] if widths else first
            if width > 1 and first in (width, width - 1) and set(widths) <= {width}:  # R writes no corner
                return separator
        return next((mark for mark in ("\t", ";", ",") if ending == ".txt" and mark in "".join(sample[:1])), usual)
    except csv.Error:
        return usual


def cut(line: str, separator: str | None) -> list[str]:
    """The cells of a line."""
    if separator is None and '"' not in line:
        return line.split()
    return next(csv.reader([line], delimiter=separator or " ", skipinitialspace=separator is None), [])


def _lines(stream: Iterable[str], strewn: bool, comments: list[str] | None = None) -> Iterator[Line]:
    """The lines of a table with their numbers: neither blank ones nor comments."""
    begun = False
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        if (strewn or not begun) and is_comment(line):
            if comments is not None and not begun:
                comments.append(line)
            continue
        begun = True
        yield number, line


def rows_of(path: Path, dialect: Dialect | None = None) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each line that is neither blank nor a comment."""
    dialect = dialect_of(path) if dialect is None else dialect
    with opened(path) as stream:
        at = 0

        def texts() -> Iterator[str]:
            nonlocal at
            for at, text in _lines(stream, dialect.strewn):  # noqa: B007 - the number is told below
                yield text if dialect.separator is not None else " ".join(text.split()) + "\n"

        for row in csv.reader(texts(), delimiter=dialect.separator or " "):
            if row:
                yield at, row


def tabbed(path: Path, dialect: Dialect) -> BytesIO:
    """The table with tabs between its cells and nothing else in it, for a reader that knows no comments."""
    clean = BytesIO()
    with opened(path) as stream:
        for _, text in _lines(stream, dialect.strewn):
            if dialect.separator is None:
                text = "\t".join(cut(text, None)) + "\n"
            clean.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())
    clean.seek(0)
    return clean


def is_number(cell: Any) -> bool:
    """Whether a cell holds a number."""
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def has_decimal_commas(cells: Iterable[str], separator: str | None) -> bool:
    """Whether commas in a column of numbers are decimal commas; an error where they could mark thousands."""
    written = [cell.strip() for cell in cells if "," in cell]
    if separator == "," or not written or not all(WITH_COMMA.fullmatch(cell) for cell in written):
        return False
    if any(_SURE_COMMA.fullmatch(cell) for cell in written):
        return True
    raise SpecError(
        f'the number "{written[0]}" may be {written[0].replace(",", ".")} or {written[0].replace(",", "")}. Write '
        "numbers with a decimal point, and thousands without a mark."
    )
