"""Costs from parquet files, read a batch at a time.

A file has a column per state and a row per round (columns.py says which column is which state), or is in the long
form with the columns round, state and cost, sorted by round. Row groups before the wanted round are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.parquet import ParquetFile

from lsmdp.arrays import Floats
from lsmdp.costs.columns import LONG_FORM, Columns, Entry, assembled, by_header
from lsmdp.costs.sequence import BLOCK, Hash, Source, block_rows, gathered, update_with_file
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP

BUFFER = 2**16  # bytes of a column held while it is read


def parquet_source(path: Path, lmdp: LMDP) -> Source:
    """The source for a parquet file, in whichever form it is; its numbers stay on disk."""
    with _opened(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
        names = [name.lower() for name in schema.names]
        if not rows:
            raise CostError("it holds no rounds. Give one row per round.")
        if set(LONG_FORM) <= set(names):
            t, state, cost = (names.index(name) for name in LONG_FORM)
            _require(pa.types.is_integer(schema.types[t]), schema, t, "whole numbers")
            _require(_is_numeric(schema.types[cost]), schema, cost, "numbers")
            return Long(path, lmdp, (t, state, cost), list(_last_rounds(file, t))[-1])
    columns = by_header(schema.names, lmdp)
    for column in np.arange(len(names))[columns].tolist():
        _require(_is_numeric(schema.types[column]), schema, column, "numbers")
    return Wide(path, lmdp, columns, rows)


def _opened(path: Path) -> Any:
    try:
        return ParquetFile(path, buffer_size=BUFFER)
    except (pa.ArrowException, OSError) as broken:
        raise SpecError(f"it cannot be read as .parquet: {_reason(broken)}. Write it with pyarrow.parquet.") from None


def _reason(broken: Exception) -> str:
    return str(broken).split("\n")[0].strip(" .")


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _require(good: bool, schema: Any, column: int, wanted: str) -> None:
    if not good:
        name, kind = schema.names[column], schema.types[column]
        raise CostError(f'column "{name}" holds {kind} values, not {wanted}. Convert it, or leave it out.')


@dataclass(frozen=True, eq=False)
class Wide:
    """A column per state, a row per round."""

    path: Path
    lmdp: LMDP
    columns: Columns
    T: int
    replayable: bool = True

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rows from ``start`` on."""
        with _opened(self.path) as file:
            ends = np.cumsum([file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)])
            first = int(np.searchsorted(ends, start - 1, side="right"))
            t = 1 + (int(ends[first - 1]) if first else 0)
            for batch in _batches(file, first, block_rows(self.lmdp.n)):
                skipped = max(0, start - t)
                t += batch.num_rows
                if skipped < batch.num_rows:
                    yield _table(batch.slice(skipped), self.columns)

    def update(self, digest: Hash) -> None:
        """The bytes of the file, and which columns are kept."""
        update_with_file(digest, self.path, self.lmdp)


@dataclass(frozen=True, eq=False)
class Long:
    """A row for each round and state; ``places`` are the columns of round, state and cost."""

    path: Path
    lmdp: LMDP
    places: tuple[int, int, int]
    T: int | None
    replayable: bool = True

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rounds from ``start`` on."""
        with _opened(self.path) as file:
            passed = takewhile(lambda last: last is not None and last < start, _last_rounds(file, self.places[0]))
            entries = self._entries(file, sum(1 for _ in passed))
            yield from gathered(assembled(entries, self.lmdp, start), block_rows(self.lmdp.n))

    def _entries(self, file: Any, first: int) -> Iterator[Entry]:
        t = 0
        for batch in _batches(file, first, BLOCK):
            rounds, states, costs = (batch.column(place) for place in self.places)
            if rounds.null_count:
                raise CostError(f"a row after round {t} has no round number. Fill it in.")
            t = rounds[-1].as_py()
            yield from zip(rounds.to_pylist(), map(str, states.to_pylist()), costs.to_pylist(), strict=True)

    def update(self, digest: Hash) -> None:
        """The bytes of the file, and what the model calls its states."""
        update_with_file(digest, self.path, self.lmdp)


def _last_rounds(file: Any, column: int) -> Iterator[int | None]:
    """The largest round of each row group, where the file says so."""
    flat = file.metadata.num_columns == len(file.schema_arrow.names)
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics if flat else None
        yield statistics.max if statistics is not None and statistics.has_min_max else None


def _batches(file: Any, first: int, size: int) -> Iterator[Any]:
    """Batches of rows from row group ``first`` on."""
    try:
        for group in range(first, file.num_row_groups):  # one by one, so that damage costs no group before it
            yield from file.iter_batches(size, row_groups=[group])
    except pa.ArrowException as broken:
        raise OSError(_reason(broken)) from None


def _table(batch: Any, columns: Columns) -> Floats:
    places = np.arange(batch.num_columns)[columns].tolist()
    return np.column_stack([batch.column(place).cast(pa.float64(), safe=False).to_numpy(False) for place in places])
