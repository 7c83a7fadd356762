"""Costs from parquet files, read a batch at a time.

A file has a column per state and a row per round (columns.py says which column is which state), or is in the long
form with the columns round, state and cost, sorted by round. Row groups before the wanted round are passed over.
Files are opened in ``inputs/parquet.py``, which says why a column's statistics are not asked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lsmdp.arrays import Floats
from lsmdp.costs.columns import (
    LONG_FORM,
    ColumnOfState,
    Entry,
    assembled,
    by_header,
)
from lsmdp.costs.sequence import (
    NUMBERS_AT_A_TIME,
    Hash,
    Source,
    block_rows,
    gathered,
    update_with_file,
)
from lsmdp.errors import CostError
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.parquet import Parquet
from lsmdp.model import LMDP


def parquet_source(path: Path, lmdp: LMDP, missing: float | None = None) -> Source:
    """The source for a parquet file, in whichever form it is; its numbers stay on disk."""
    with Parquet(path) as file:
        schema = file.schema
        names = [name.lower() for name in file.names]
        if not file.rows:
            raise CostError("it holds no rounds. Give one row per round.")
        if set(LONG_FORM) <= set(names):
            t, state, cost = (names.index(name) for name in LONG_FORM)
            _require(pa.types.is_integer(schema.types[t]), schema, t, "whole numbers")
            _require(_is_name(schema.types[state]), schema, state, "names")
            _require(_is_numeric(schema.types[cost]), schema, cost, "numbers")
            used = [group for group, rows in enumerate(file.group_rows) if rows]
            return LongParquet(path, lmdp, (t, state, cost), file.last(used[-1], file.names[t]), missing)
        columns = by_header(file.names, lmdp, missing)
        for column in np.arange(len(names))[columns].tolist() if isinstance(columns, slice) else columns[columns >= 0]:
            _require(_is_numeric(schema.types[column]), schema, int(column), "numbers")
        return WideParquet(path, lmdp, columns, file.rows, missing)


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _is_name(kind: Any) -> bool:
    types = pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(_is_numeric(kind) or text)


def _require(good: bool, schema: Any, column: int, wanted: str) -> None:
    if not good:
        name, kind = schema.names[column], schema.types[column]
        raise CostError(f'column "{name}" holds {kind} values, not {wanted}. Convert it, or leave it out.')


@dataclass(frozen=True, eq=False)
class WideParquet:
    """A column per state, a row per round."""

    path: Path
    lmdp: LMDP
    columns: ColumnOfState
    T: int
    missing: float | None = None
    replayable: bool = True

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rows from ``start`` on."""
        with Parquet(self.path) as file:
            ends = np.cumsum(file.group_rows)
            first = int(np.searchsorted(ends, start - 1, side="right"))
            t = 1 + (int(ends[first - 1]) if first else 0)
            for batch in _batches(file, first, block_rows(self.lmdp.n)):
                skipped = max(0, start - t)
                t += batch.num_rows
                if skipped < batch.num_rows:
                    yield _table(batch.slice(skipped), self.columns, self.missing)

    def update(self, digest: Hash) -> None:
        """The bytes of the file, and which columns are kept."""
        update_with_file(digest, self.path, self.lmdp, self.missing)


@dataclass(frozen=True, eq=False)
class LongParquet:
    """A row for each round and state; ``places`` are the columns of round, state and cost."""

    path: Path
    lmdp: LMDP
    places: tuple[int, int, int]
    T: int | None
    missing: float | None = None
    replayable: bool = True

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rounds from ``start`` on."""
        with Parquet(self.path) as file:
            entries = self._entries(file, _first_group(file, self.places[0], start))
            yield from gathered(assembled(entries, self.lmdp, start, self.missing), block_rows(self.lmdp.n))

    def _entries(self, file: Any, first: int) -> Iterator[Entry]:
        t = 0
        for batch in _batches(file, first, NUMBERS_AT_A_TIME):
            rounds, states, costs = (batch.column(place) for place in self.places)
            if rounds.null_count:
                raise CostError(f"a row after round {t} has no round number. Fill it in.")
            t = rounds[-1].as_py()
            yield from zip(rounds.to_pylist(), map(str, states.to_pylist()), costs.to_pylist(), strict=True)

    def update(self, digest: Hash) -> None:
        """The bytes of the file, and what the model calls its states."""
        update_with_file(digest, self.path, self.lmdp, self.missing)


def _first_group(file: Parquet, column: int, start: int) -> int:
    """The first row group that does not end before round ``start``, or an earlier one where that cannot be told."""

    def last(group: int) -> int:
        found: int | None = file.last(group, file.names[column])
        return start if found is None else found

    return 0 if start == 1 else bisect_left(range(len(file.group_rows)), start, key=last)


def _batches(file: Parquet, first: int, size: int) -> Iterator[Any]:
    """Batches of rows from row group ``first`` on."""
    try:
        yield from file.batches(first, size)
    except UnreadableError as broken:
        raise OSError(str(broken)) from None


def _table(batch: Any, columns: ColumnOfState, missing: float | None) -> Floats:
    places = np.arange(batch.num_columns)[columns].tolist() if isinstance(columns, slice) else columns.tolist()
    parts = [
        np.full(batch.num_rows, missing)
        if place < 0
        else batch.column(place).cast(pa.float64(), safe=False).to_numpy(False)
        for place in places
    ]
    return np.column_stack(parts)
