"""The list of all states (``lsmdp fit --states``): a .csv or .parquet file with a column state, and perhaps x and y.

It fixes the order of the states, names those that a log never visits, and gives them places in the plane.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.sources.reading import Format, endings, read_file
from lsmdp.sources.tables import (
    first_line,
    names_of,
    numbers_of,
    read_columns,
    read_parquet,
)


def read_states(path: str | PathLike[str]) -> tuple[list[str], Floats | None]:
    """The labels of all states, and their positions (x, y) if the file has them."""
    found: tuple[list[str], Floats | None] = read_file(
        str(path),
        _STATE_FORMATS,
        SpecError(f'there is no list of states "{path}". It ends in {endings(_STATE_FORMATS)}.'),
    )
    return found


def _read_csv(path: Path) -> tuple[list[str], Floats | None]:
    header = [name.lower() for name in first_line(path)]
    return _of_table(read_columns(path, header, text=("state",), numbers=("x", "y")))


def _read_parquet(path: Path) -> tuple[list[str], Floats | None]:
    table = read_parquet(path)
    return _of_table(table.rename_columns([name.lower() for name in table.column_names]))


def _of_table(table: Any) -> tuple[list[str], Floats | None]:
    if "state" not in table.column_names:
        raise SpecError(f'there is no column "state" among {", ".join(table.column_names)}. Name it in the header.')
    labels = [str(name) for name in names_of(table, "state").tolist()]
    if not {"x", "y"} <= set(table.column_names):
        return labels, None
    return labels, np.column_stack([numbers_of(table, "x"), numbers_of(table, "y")])


# A list of states is read from files with these endings.
_STATE_FORMATS = {
    ".csv": Format(_read_csv, "Write it as text in UTF-8: state, or state,x,y."),
    ".parquet": Format(_read_parquet, "Write it with pyarrow.parquet.write_table."),
}
