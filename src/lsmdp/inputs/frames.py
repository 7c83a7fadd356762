"""Tables from other libraries: pandas, polars, pyarrow, DuckDB and whatever comes next, without importing any of them.

A table is known by what it offers, not by its name: Arrow's C interface (``__arrow_c_stream__``) or the interchange
protocol for dataframes (``__dataframe__``). A mapping from names to columns will do as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.errors import CostError, LsmdpError, SpecError

if TYPE_CHECKING:
    import pyarrow as pa

# This is what pandas calls an index without a name: nothing in csv, and a word in parquet.
INDEX_WITHOUT_A_NAME = re.compile("|__index_level_[0-9]+__")


def is_table(given: Any) -> bool:
    """Whether this offers itself as a table, and is no array."""
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__dataframe__")


def arrow_table(given: Any, what: str, kind: type[LsmdpError] = SpecError) -> pa.Table:
    """A table of any library, or a mapping of columns, as a pyarrow table."""
    import pyarrow as pa

    try:
        if isinstance(given, pa.Table):
            table = given
        elif isinstance(given, Mapping):
            table = pa.table({str(name): pa.array(values) for name, values in given.items()})
        elif hasattr(given, "__arrow_c_stream__"):
            table = pa.RecordBatchReader.from_stream(given).read_all()
        else:
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(given)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError, RuntimeError) as broken:
        reason = str(broken).split("\n")[0].strip(" .") or type(broken).__name__
        raise kind(f"{what} is no table that can be read ({reason}). Give columns of names and numbers.") from None
    return table.select([k for k, name in enumerate(table.column_names) if not INDEX_WITHOUT_A_NAME.fullmatch(name)])


def is_frame(given: Any) -> bool:
    """Whether this has the interface of a DataFrame of pandas, as far as it is used here."""
    return hasattr(given, "to_numpy") and hasattr(given, "columns")


@dataclass(frozen=True)
class ColumnFrame:
    """A table of a library without pandas' interface, by its columns: which is all that is asked of a DataFrame."""

    table: Mapping[str, Any]

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return list(self.table)

    def __getitem__(self, name: str) -> Any:
        return self.table[name]

    def to_numpy(self) -> Any:
        """All columns, side by side."""
        return np.column_stack(list(self.table.values()))


def as_frame(given: Any) -> Any:
    """A table that offers itself as one and has no interface of pandas; anything else as it is."""
    if hasattr(given, "to_numpy") or isinstance(given, np.ndarray) or not is_table(given):
        return given
    table = arrow_table(given, "the table of costs", CostError)
    return ColumnFrame({name: table[name].to_numpy() for name in table.column_names})
