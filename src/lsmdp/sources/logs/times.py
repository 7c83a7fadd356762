"""Times in a table as numbers: numbers, ISO 8601, dates of a database, or text in a format that the user gives.

A format is that of Python's ``strptime``: ``%m/%d/%y %H:%M`` reads 8/31/15 23:26. Text that is neither a number nor ISO
8601 and has no format is an error; where one of the usual formats, and only one, reads all of it, the error names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Ints
from lsmdp.errors import SpecError

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # So many ticks of a clock are in a second, by their unit.
# Dates are tried in these formats.
_DAYS = ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%Y", "%d.%m.%y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
# Times of day are tried in these formats behind a date.
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_YEARS = ("%Y", "%y", "%G")  # These letters of a format stand for a year.
_NO_YEAR = 1900  # Days without a year are taken to be of this one, as ever; later Pythons want it to be said.
_TIMES_TRIED = 2000  # So many different times are tried in the usual formats, enough to meet a day after the twelfth.

PlaceName = Callable[[int], str]


def as_numbers(
    column: Any, name: str, place: PlaceName, time_format: str | None = None
) -> tuple[npt.NDArray[Any], int]:
    """Times as numbers, and how many of them make a second (1 where they have no unit)."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type):
        require_none(blank(column), name, place)
        column = _parsed(column, name, place) if time_format is None else _in_format(column, name, place, time_format)
    kind, ticks = column.type, 1
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s"))
    elif pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        ticks = _TICKS[kind.unit]
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise SpecError(f'the column "{name}" holds {kind} values. Give numbers or times.')
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    require_none(np.flatnonzero(missing), name, place)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32()) if column.type.bit_width == 32 else column.cast(pa.int64())
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    values = values.astype({"i": np.int64, "u": np.uint64}.get(values.dtype.kind, np.float64))
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise SpecError(f"{place(at)}: the {name} is {values[at]}. Give a finite number.")
    return values, ticks


def usual_format(texts: Sequence[str]) -> str | None:
    """The one of the usual formats that reads all of these times; None where there is none, or more than one."""
    some = list(dict.fromkeys(texts))[:_TIMES_TRIED]
    fits = [
        form for form in map("".join, product(_DAYS, _CLOCKS)) if all(_read(text, form) is not None for text in some)
    ]
    return fits[0] if len(fits) == 1 and some else None


def _read(text: str, time_format: str) -> datetime | None:
    text = text.strip()
    if "%d" in time_format and not any(letter in time_format for letter in _YEARS):
        text, time_format = f"{_NO_YEAR} {text}", f"%Y {time_format}"
    try:
        return datetime.strptime(text, time_format)
    except ValueError:
        return None


def _in_format(text: Any, name: str, place: PlaceName, time_format: str) -> Any:
    """Text in a format as microseconds; times without a zone are taken as they stand."""
    import pyarrow as pa

    encoded = text.dictionary_encode()
    found = [_read(one, time_format) for one in encoded.dictionary.to_pylist()]
    numbers = encoded.indices.to_numpy(zero_copy_only=False)
    if None in found:
        row = int(np.argmax(np.isin(numbers, [at for at, one in enumerate(found) if one is None])))
        raise SpecError(
            f'{place(row)}: the {name} is "{text[row].as_py()}", which is not written as {time_format}. Correct it, or '
            "the format (--time-format)."
        )
    zones = [one if one is None or one.tzinfo is not None else one.replace(tzinfo=UTC) for one in found]
    return pa.array(zones, pa.timestamp("us", "UTC")).take(pa.array(numbers))


def _parsed(text: Any, name: str, place: PlaceName) -> Any:
    """Text as whole numbers, as numbers, or as ISO 8601, whichever all of it is."""
    import pyarrow as pa

    dates = [pa.timestamp(unit, tz) for unit in ("us", "ns") for tz in (None, "UTC")]  # most years fit into us only
    for kind in (pa.int64(), pa.float64(), *dates):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    cells = text.to_pylist()
    for row, cell in enumerate(cells):
        for kind in (pa.float64(), *dates):
            try:
                pa.array([cell]).cast(kind)
                break
            except pa.ArrowInvalid:
                continue
        else:
            usual = usual_format(cells)
            way = f", or say how they are written: --time-format '{usual or '%m/%d/%Y %H:%M'}'"
            raise SpecError(
                f'{place(row)}: the {name} is "{cell}". Give all times as numbers, or all as ISO 8601 such as '
                f"2012-03-01 08:05:00{way}."
            )
    raise SpecError("the times are of several kinds. Give all as numbers, or all as ISO 8601, with zones or without.")


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def blank(text: Any) -> Ints:
    """Where a column of text has none."""
    from pyarrow import compute

    return np.flatnonzero(compute.equal(text.fill_null(""), "").to_numpy(zero_copy_only=False))


def require_none(missing: Ints, name: str, place: PlaceName) -> None:
    """Raise where some records have nothing in a column."""
    if missing.size:
        raise SpecError(
            f"{place(int(missing[0]))} has no {name} ({missing.size} such records in all). A record needs an entity, a "
            "time and a state: fill it in, or leave the record out."
        )
