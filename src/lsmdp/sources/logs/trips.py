"""Tables of trips: a row has where it starts and where it ends, and perhaps when.

Each trip is one move, from its start to its end, and a sequence of its own: what happens to a bicycle between two trips
(a truck may take it elsewhere) is no trip. A round trip is a move that stays. Trips without a start or an end are left
out, and so are those that end before they start; each kind is counted and said. Times are looked at for that only, so
a table may do without; times in no known format are not read, which is said as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lsmdp.errors import SpecError
from lsmdp.inputs.notes import guessed
from lsmdp.sources.headers import Columns
from lsmdp.sources.logs.columns import (
    Sheet,
    sheet_of_columns,
    sheet_of_parquet,
    sheet_of_text,
    trip_columns,
)
from lsmdp.sources.logs.log import Log, as_text, numbered
from lsmdp.sources.logs.times import as_numbers, blank, is_text, usual_format
from lsmdp.sources.makers.shared import Bools
from lsmdp.sources.reading import Format, endings, read_file
from lsmdp.sources.tables import TEXTS


def read_trips(trips: Any, columns: Columns = None, time_format: str | None = None) -> Log:
    """The trips in a file or in a table of another library, as a log with a sequence per trip."""
    if not isinstance(trips, str | Path):
        return _of_sheet(sheet_of_columns(trips, "the table of trips"), columns, time_format)
    text = Format(
        lambda path: _of_sheet(sheet_of_text(path), columns, time_format), "Write it as text in UTF-8: start,end."
    )
    formats = dict.fromkeys(TEXTS, text) | {
        ".parquet": Format(
            lambda path: _of_sheet(sheet_of_parquet(path), columns, time_format),
            "Write it with pyarrow.parquet.write_table.",
        )
    }
    nothing = SpecError(f'there is no table of trips "{trips}". It is a file that ends in {endings(formats)}.')
    found: Log = read_file(str(trips), formats, nothing)
    return found


def _of_sheet(sheet: Sheet, columns: Columns, time_format: str | None) -> Log:
    import pyarrow as pa

    roles = trip_columns(sheet, columns)
    table = sheet.read(roles)
    if not table.num_rows:
        raise SpecError("there is no trip. Give a row per trip.")
    ends = {name: as_text(table[name].combine_chunks(), name) for name in ("from", "to")}
    lost = {name: np.isin(np.arange(table.num_rows), blank(text)) for name, text in ends.items()}
    good = ~(lost["from"] | lost["to"])
    dropped = {
        "trips without a start": int(np.count_nonzero(lost["from"])),
        "trips without an end": int(np.count_nonzero(lost["to"] & ~lost["from"])),
    }
    if "start_time" in roles:
        wrong = _backwards(table, sheet, time_format) & good
        dropped["trips that end before they start"] = int(np.count_nonzero(wrong))
        good &= ~wrong
    if not good.any():
        raise SpecError(f"none of the {table.num_rows:,} trips has a start and an end. Check the columns (--columns).")
    kept = pa.array(good)
    both = pa.concat_arrays([ends["from"].filter(kept), ends["to"].filter(kept)])
    states, numbers = numbered(both)
    visits = numbers.reshape(2, -1).T.ravel()
    starts = np.arange(0, visits.size + 1, 2)
    return Log(states, visits, starts, tuple((why, count) for why, count in dropped.items() if count))


def _backwards(table: Any, sheet: Sheet, time_format: str | None) -> Bools:
    """Which trips end before they start; none where the times cannot be read."""
    times = [table[name].combine_chunks() for name in ("start_time", "end_time")]
    unknown = np.zeros(table.num_rows, dtype=bool)
    if any(blank(column).size if is_text(column.type) else column.null_count for column in times):
        guessed(sheet.source, "some trips have no time, so none of the times is looked at")
        return unknown
    if time_format is None and all(is_text(column.type) for column in times):
        usual = usual_format([text for column in times for text in column.to_pylist()])
        if usual is not None:
            guessed(sheet.source, f"reading the times as {usual} (--time-format says otherwise)")
            time_format = usual
    try:
        read = [
            as_numbers(column, name, sheet.place, time_format)
            for column, name in zip(times, ("start_time", "end_time"), strict=True)
        ]
    except SpecError as unreadable:
        if time_format is not None:
            raise
        guessed(sheet.source, f"the times are not looked at ({str(unreadable).rstrip('.')})")
        return unknown
    (begin, ticks), (end, others) = read
    late: Bools = np.asarray(end * (ticks / others) < begin)
    return late
