"""The columns of a log or of a table of trips, by the names that people give them, from files and from Python.

A *sheet* is a table whose columns have names and are not read yet; ``Sheet.read`` gets some of them under new names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from lsmdp.errors import SpecError
from lsmdp.inputs.dialects import rows_of
from lsmdp.inputs.frames import arrow_table
from lsmdp.inputs.notes import guessed
from lsmdp.sources.headers import (
    Columns,
    as_columns,
    column_called,
    ends_of,
    role_of,
    said,
    shown,
)
from lsmdp.sources.logs.times import PlaceName
from lsmdp.sources.tables import first_line, read_parquet, read_places

_RECORD = ("entity", "time", "state")  # A record of a log has columns with these roles.
# A trip has columns with these roles, of which the times may be missing.
_TRIP = ("from", "to", "start_time", "end_time")
_ALIASES = {"start": "from", "end": "to"}  # Users may also call the ends of a trip like this.


class Sheet(NamedTuple):
    """The names of the columns, how to read some of them as text or as they are, and how to speak of a row."""

    names: list[str]
    read: Callable[[Mapping[str, int]], Any]
    place: PlaceName
    source: str


def sheet_of_text(path: Path) -> Sheet:
    """A .csv, .tsv or .txt file with a header."""

    def place(row: int) -> str:
        return f"line {next(islice(rows_of(path), row + 1, None))[0]}"

    return Sheet(first_line(path), lambda roles: read_places(path, roles), place, str(path))


def sheet_of_parquet(path: Path) -> Sheet:
    """A .parquet file."""
    return _sheet(read_parquet(path), str(path))


def sheet_of_columns(given: Any, what: str) -> Sheet:
    """A table of another library, or a mapping of columns."""
    return _sheet(arrow_table(given, what), what)


def _sheet(table: Any, source: str) -> Sheet:
    def read(roles: Mapping[str, int]) -> Any:
        return table.select(list(roles.values())).rename_columns(list(roles))

    return Sheet(list(table.column_names), read, lambda row: f"row {row}", source)


def record_columns(sheet: Sheet, columns: Columns) -> dict[str, int]:
    """Which columns are the entity, the time and the state of a record."""
    roles = _asked(sheet, columns, _RECORD)
    guess = False
    for role in _RECORD:
        if role in roles:
            continue
        lowered = [name.strip().lower() for name in sheet.names]
        if lowered.count(role) == 1:
            roles[role] = lowered.index(role)
            continue
        found = role_of(role, sheet.names, list(roles.values()))
        if lowered.count(role) > 1:
            raise SpecError(f'there are {lowered.count(role)} columns "{role}". Keep one of them.')
        if found is None:
            trips = " If a row is a trip with a start and an end, say --trips." if ends_of(sheet.names) else ""
            raise SpecError(
                f'there is no column "{role}" among {shown(sheet.names)}. A log has the columns entity, time and '
                f"state; name yours with --columns {role}=NAME.{trips}"
            )
        roles[role], guess = found, True
    roles = {role: roles[role] for role in _RECORD}
    if guess:
        guessed(sheet.source, f"{said(roles, sheet.names)} (--columns says otherwise)")
    return roles


def trip_columns(sheet: Sheet, columns: Columns) -> dict[str, int]:
    """Which columns are the two ends of a trip, and its two times if it has them."""
    roles = _asked(sheet, columns, _TRIP)
    given = set(roles)
    for pair, times in ((("from", "to"), False), (("start_time", "end_time"), True)):
        found = ends_of(sheet.names, times=times)
        if not given & set(pair) and found is not None:
            roles |= dict(zip(pair, found, strict=True))
    for role in ("from", "to"):
        if role not in roles:
            raise SpecError(
                f"no two of the columns {shown(sheet.names)} have names that tell where a trip starts and ends. Name "
                "them: --columns start=NAME,end=NAME."
            )
    if ("start_time" in roles) != ("end_time" in roles):
        raise SpecError("a trip has both times or none. Name both: --columns start_time=NAME,end_time=NAME.")
    roles = {role: roles[role] for role in _TRIP if role in roles}
    if len(set(roles.values())) < len(roles):
        raise SpecError(f"one column is named twice: {said(roles, sheet.names)}. Name different ones (--columns).")
    if not {"from", "to"} <= given:
        spoken = {"start" if role == "from" else "end" if role == "to" else role: at for role, at in roles.items()}
        guessed(sheet.source, f"{said(spoken, sheet.names)} of a trip (--columns says otherwise)")
    return roles


def _asked(sheet: Sheet, columns: Columns, roles: tuple[str, ...]) -> dict[str, int]:
    known = (*roles, *(alias for alias, role in _ALIASES.items() if role in roles))
    asked = as_columns(columns, known)
    return {
        _ALIASES.get(role, role): column_called(name, sheet.names, len(sheet.names)) for role, name in asked.items()
    }
