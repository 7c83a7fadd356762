"""Costs as lines of text: tables, JSON lines, standard input.

    tables       a line a round: one number per state, under a header or not (columns.py says what a header does);
                 or the header round,state,cost and a line for each round and state, sorted by round
    JSON lines   a line a round: a list of numbers, {"cost": [numbers]} or {"cost": {label: number, ...}}

What separates the cells of a table, and whether its commas are decimal commas, is found from the first lines of a file
(dialects.py); in .txt and .tsv, lines that begin with # are comments. A line is read when its round is reached; blank
lines do not count. Standard input is CSV or JSON lines; its first character tells which. It is read as it comes, and
only once.
"""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeAlias

from lsmdp.arrays import Floats
from lsmdp.costs.columns import (
    LONG_FORM,
    ColumnOfState,
    Entry,
    as_numbers,
    assembled,
    by_header,
    by_label,
    by_position,
    doubt_about_header,
    is_header,
    names_all,
    state_names,
)
from lsmdp.costs.sequence import (
    Hash,
    block_rows,
    gathered,
    update_with_file,
)
from lsmdp.errors import CostError
from lsmdp.inputs.dialects import Line, cut, dialect_of, first_lines, has_decimal_commas, is_comment
from lsmdp.model import LMDP

RoundsReader: TypeAlias = Callable[[Iterator[Line], int], Iterator[Floats]]  # (lines, start) -> rounds from start on


class ModelAndScale(NamedTuple):
    """The model that the costs are for, the values that cost 0 and 1, and that of states which are left out."""

    lmdp: LMDP
    low: float
    high: float
    missing: float | None = None


class TextForm(NamedTuple):
    """How a table is written: what separates its cells (None: blanks), and what else there is to know to read it."""

    separator: str | None = ","
    has_comments: bool = False
    titles: tuple[str, ...] | None = None  # names of the columns that stand in a comment above the table
    has_decimal_commas: bool = False

    @classmethod
    def of(cls, path: Path) -> TextForm:
        """How a file is written, from its first lines; of the first, which may hold names, only its separators."""
        try:
            separator, strewn, titles = dialect_of(path)
            first, *below = first_lines(path)[:2] or [""]
            cells = [cell for line in below or [first] for cell in cut(line, separator)]
        except (UnicodeDecodeError, csv.Error):
            return cls()  # the line that is at fault will say so
        return cls(separator, strewn, titles if strewn else None, has_decimal_commas(cells, separator))

    def cells(self, line: str) -> list[str]:
        """The cells of a line."""
        if self.separator == "," and '"' not in line:
            return line.split(",")
        try:
            return next(csv.reader([line], delimiter=self.separator or " ", skipinitialspace=True), [])
        except csv.Error as broken:
            raise CostError(f"it is not a line of a table ({broken}).") from None

    def numbers(self, line: str) -> list[str]:
        """The cells of a line that is no header, with decimal points."""
        cells = self.cells(line)
        return [cell.replace(",", ".") for cell in cells] if self.has_decimal_commas else cells


@dataclass(frozen=True, eq=False)
class Lines:
    """A file of lines; whether it fits the model is seen when it is opened, from its first line."""

    path: Path
    fit: ModelAndScale
    is_json: bool
    T: int | None = None
    replayable: bool = True

    def __post_init__(self) -> None:
        with self._opened() as stream:
            _begun(stream, self.fit, self.is_json, self.text, self.path)

    @cached_property
    def text(self) -> TextForm:
        """How it is written."""
        return TextForm() if self.is_json else TextForm.of(self.path)

    def _opened(self) -> TextIO:
        return self.path.open(encoding="utf-8-sig", errors="replace", newline="")

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rounds from ``start`` on; the lines before are passed over unread."""
        with self._opened() as stream:
            lines, rounds = _begun(stream, self.fit, self.is_json, self.text)
            yield from gathered(rounds(lines, start), block_rows(self.fit.lmdp.n))

    def update(self, digest: Hash) -> None:
        """The bytes of the file, and which columns are kept."""
        update_with_file(digest, self.path, self.fit.lmdp, self.fit.missing)


class StandardInput:
    """Lines from standard input, each round as it arrives, and only once."""

    T = None
    replayable = False

    def __init__(self, fit: ModelAndScale) -> None:
        self.fit = fit
        self._taken = False

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rounds from ``start`` on; a second call is an error."""
        if self._taken:
            raise CostError(
                "it can be read only once, and it has been. To go through it again, save it in a file first."
            )
        self._taken = True
        return self._blocks(start)

    def _blocks(self, start: int) -> Iterator[Floats]:
        lines, rounds = _begun(sys.stdin, self.fit, None, TextForm(), "standard input")
        yield from gathered(rounds(lines, start), 1)

    def update(self, digest: Hash) -> None:
        """What will come is not known, so all inputs look the same."""
        digest.update(b"standard input")


def _begun(
    stream: TextIO, fit: ModelAndScale, is_json: bool | None, text: TextForm, aloud: Path | str | None = None
) -> tuple[Iterator[Line], RoundsReader]:
    """The lines of a stream below its header, and how to read them; None: the first character tells the format.

    ``aloud`` is what the stream is called where it is to be said that its first line could be read in two ways.
    """
    around = "\ufeff \r\n" if text.separator == "\t" else "\ufeff \t\r\n"  # a tab may follow an empty cell
    numbered = ((number, line.strip(around)) for number, line in enumerate(stream, start=1))
    lines: Iterator[Line] = (
        line for line in numbered if line[1].strip() and not (text.has_comments and is_comment(line[1]))
    )
    if text.titles is not None:
        lines = chain([(0, (text.separator or " ").join(text.titles))], lines)
    first = next(lines, None)
    if first is None:
        raise CostError("it is empty. Give one line per round.")
    if first[1][0] in "[{" if is_json is None else is_json:
        return chain([first], lines), _json_rounds(fit.lmdp, fit.missing)
    has_header, rounds = _table_rounds(first[1], fit, text, aloud)
    if not has_header:
        return chain([first], lines), rounds
    second = next(lines, None)
    if second is None:
        raise CostError("it has a header and nothing below it. Give one line per round.")
    return chain([second], lines), rounds


def _table_rounds(
    first: str, fit: ModelAndScale, text: TextForm, aloud: Path | str | None
) -> tuple[bool, RoundsReader]:
    """Whether the first line is a header, and how to read the lines below it."""
    cells = [cell.strip() for cell in text.cells(first)]
    if text.has_decimal_commas and not names_all(cells, fit.lmdp) and has_decimal_commas(cells, text.separator):
        cells = text.numbers(first)  # it is a round
    lowered = [cell.lower() for cell in cells]
    if set(LONG_FORM) <= set(lowered):
        return True, lambda lines, start: assembled(_entries(lines, lowered, text), fit.lmdp, start, fit.missing)
    has_header, said = is_header(cells, *fit[:3]), doubt_about_header(cells, *fit[:3])
    if said is not None and aloud is not None:
        warnings.warn(f"{aloud}: {said}", stacklevel=2)
    columns = by_header(cells, fit.lmdp, fit.missing) if has_header else by_position(len(cells), fit.lmdp)
    return has_header, _one_by_one(_row(columns, len(cells), fit, text))


def _json_rounds(lmdp: LMDP, missing: float | None) -> RoundsReader:
    names = state_names(lmdp)

    def row(line: str) -> Floats:
        try:
            costs = json.loads(line)
        except (ValueError, RecursionError) as broken:
            raise CostError(f"it is not JSON ({broken}). Write one list of numbers per line.") from None
        if isinstance(costs, dict) and "cost" in costs:
            costs = costs["cost"]
            if isinstance(costs, dict):
                return as_numbers(by_label(costs, names, lmdp, missing), lmdp)
        if not isinstance(costs, list):
            raise CostError('it holds no costs. Write a list of numbers, {"cost": [...]} or {"cost": {label: number}}.')
        columns = by_position(len(costs), lmdp)
        return as_numbers(_kept(costs, columns), lmdp)

    return _one_by_one(row)


def _one_by_one(row: Callable[[str], Floats]) -> RoundsReader:
    def rounds(lines: Iterator[Line], start: int) -> Iterator[Floats]:
        for t, (number, line) in enumerate(islice(lines, start - 1, None), start):
            try:
                c_t = row(line)
            except CostError as problem:
                raise CostError(f"round {t} (line {number}): {problem}") from None
            yield c_t

    return rounds


def _row(columns: ColumnOfState, width: int, fit: ModelAndScale, text: TextForm) -> Callable[[str], Floats]:
    def row(line: str) -> Floats:
        cells = text.numbers(line)
        if len(cells) != width:
            raise CostError(f"it has {len(cells)} cells, but the first line has {width}. Make them equal.")
        return as_numbers(_kept(cells, columns, fit.missing), fit.lmdp)

    return row


def _kept(cells: list[Any], columns: ColumnOfState, missing: float | None = None) -> list[Any]:
    if isinstance(columns, slice):
        return cells
    return [missing if column < 0 else cells[column] for column in columns.tolist()]


def _entries(lines: Iterator[Line], header: list[str], text: TextForm) -> Iterator[Entry]:
    places = [header.index(name) for name in LONG_FORM]
    t = 0
    for number, line in lines:
        try:
            cells = text.cells(line)
            word, state, cost = (cells[place].strip() for place in places)
            t = int(word)
        except (IndexError, ValueError):
            raise CostError(
                f'line {number} (round {t} or the next) is "{line[:60]}". Give a whole round number, state and cost.'
            ) from None
        yield t, state, cost.replace(",", ".") if text.has_decimal_commas else cost
