"""Which columns of an edge list are its ends and its weight: those that the user names, or those whose names fit.

headers.py knows the names that people give such columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.notes import guessed
from lsmdp.sources.headers import (
    Columns,
    as_columns,
    column_called,
    ends_of,
    said,
    shown,
    weight_of,
)
from lsmdp.sources.tables import names_of, numbers_of

ROLES = ("from", "to", "weight")  # A list of moves has columns with these roles, of which the weight may be missing.
# Columns of these types of Arrow hold numbers.
_NUMERIC = ("double", "float", "halffloat", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))

EdgeColumns = tuple[Any, Any, Floats | None]  # where edges begin, where they end, and their weights


class RolesFound(NamedTuple):
    """Which columns are the ends and the weight, whether that was guessed, and whether the first line is a header."""

    roles: dict[str, int]
    guess: bool
    header: bool = True


def by_header(header: Sequence[str]) -> RolesFound | None:
    """The columns that the names of a header say; no guess where they are from, to and weight."""
    lowered = [name.strip().lower() for name in header]
    if {"from", "to"} <= set(lowered):
        for name in ROLES:
            if lowered.count(name) > 1:
                raise SpecError(f'there are {lowered.count(name)} columns "{name}". Keep one of them.')
        ends: tuple[int, int] | None = (lowered.index("from"), lowered.index("to"))
    else:
        ends = ends_of(header)
    if ends is None:
        return None
    roles = dict(zip(ROLES, ends, strict=False))
    weight = weight_of(header, ends)
    if weight is not None:
        roles["weight"] = weight
    guess = any(lowered[place] != role for role, place in roles.items())
    return RolesFound(roles, guess)


def by_name(header: Sequence[str], asked: dict[str, str], width: int) -> RolesFound:
    """The columns that the user names; ends that are not named are looked for."""
    roles = {role: column_called(name, header, width) for role, name in asked.items()}
    if missing := [role for role in ("from", "to") if role not in roles]:
        found = by_header(header)
        if found is None and width in (2, 3) and len(missing) == 2:
            found = RolesFound({"from": 0, "to": 1}, guess=True)
        if found is None:
            raise SpecError(
                f'no column is known to be "{missing[0]}" among {shown(header)}. Name both ends: --columns '
                "from=NAME,to=NAME."
            )
        roles = {role: found.roles[role] for role in missing} | roles
    if len(set(roles.values())) < len(roles):
        raise SpecError(f"one column is named twice: {said(roles, header)}. Name different ones (--columns).")
    if "weight" not in roles and (weight := weight_of(header, list(roles.values()))) is not None:
        roles["weight"] = weight
    return RolesFound({role: roles[role] for role in ROLES if role in roles}, guess=bool(missing))


def left(names: Sequence[str] | None, roles: dict[str, int]) -> str:
    """What to say of the columns that are not read."""
    left = [] if names is None else [name for place, name in enumerate(names) if place not in roles.values() and name]
    if not left or "weight" in roles:
        return ""
    return f", each edge with weight 1; not read: {shown(left)} (--columns weight=NAME reads one as the weight)"


def asked_for(columns: Columns, weight: str | None = None) -> dict[str, str]:
    """The columns that the user names."""
    asked = as_columns(columns, ROLES)
    return asked if weight is None else {**asked, "weight": weight}


def edges_in_table(table: Any, columns: Columns) -> EdgeColumns:
    """The edges in a table of Python; without names that tell which, its first two columns and perhaps the third."""
    found = listed(table, asked_for(columns), "the table of edges")
    if found is not None:
        return found
    names = table.column_names
    weighted = len(names) == 3 and str(table.schema.types[2]) in _NUMERIC
    if len(names) != 2 and not weighted:
        raise SpecError(
            f"none of the columns {shown(names)} has a name that tells where an edge begins and ends. Name them: "
            'columns={"from": NAME, "to": NAME}.'
        )
    roles = dict(zip(ROLES, range(len(names)), strict=False))
    guessed("the table of edges", said(roles, names))
    return ends_in(table.rename_columns(list(roles)))


def listed(table: Any, asked: dict[str, str], source: object) -> EdgeColumns | None:
    """The edges in a pyarrow table, if the user or its names say that it holds some."""
    names = table.column_names
    found = by_name(names, asked, len(names)) if asked else by_header(names)
    square = table.num_rows == table.num_columns and all(str(kind) in _NUMERIC for kind in table.schema.types)
    if found is None or (found.guess and not asked and square):
        return None
    if found.guess:
        guessed(source, said(found.roles, names) + left(names, found.roles))
    return ends_in(table.select(list(found.roles.values())).rename_columns(list(found.roles)))


def ends_in(table: Any) -> EdgeColumns:
    """The columns from, to and weight of a pyarrow table, as arrays."""
    weights = numbers_of(table, "weight") if "weight" in table.column_names else None
    sources, targets = names_of(table, "from"), names_of(table, "to")
    if sources.dtype.kind != targets.dtype.kind:
        sources, targets = sources.astype(str), targets.astype(str)
    return sources, targets, weights
