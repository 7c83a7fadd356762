"""Parquet files: the one place that opens them.

The library that decodes them is C++. Where it meets damage it throws, and pyarrow makes a Python error of that, but for
one place: ``metadata.row_group(g).column(c)``, the way to a column's statistics, lets the exception through, and that
aborts the process (382 of 100,500 files with one changed byte, pyarrow 26). So nothing in lsmdp looks at a column's
metadata; what it could tell, the last round of a row group, is read from the column itself. On the path that is left,
402,000 damaged files, with bytes flipped, dropped, doubled and numbers in headers replaced, gave no abort and no crash.

Pages that carry a checksum are compared with it. lsmdp writes one to each page (``CHECKSUMS``); a page without one may
be damaged into other numbers, and no reader can tell.

Whole tables are read only where their size is in proportion to the file (files.py), by the number of their cells and by
what the file says that its pages hold. A forged page may hold more: that is seen by the library alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmdp.inputs.files import (
    UnreadableError,
    broken_off,
    require_affordable,
    require_regular,
)

if TYPE_CHECKING:
    import pyarrow as pa

CHECKSUMS: Mapping[str, Any] = {"write_page_checksum": True}  # Tables are written with a checksum on each page.
# So many bytes of a column are held while it is read, which needs pyarrow 19: earlier ones refuse healthy files whose
# pages are about as large as this.
_BYTES_OF_A_BUFFER = 2**16
_BYTES_OF_A_NUMBER = 8  # A number takes this many bytes in memory.


class Parquet:
    """An open parquet file; ``with Parquet(path) as file``."""

    schema: pa.Schema
    names: list[str]
    rows: int
    group_rows: list[int]

    def __init__(self, path: Path) -> None:
        from pyarrow.parquet import ParquetFile

        self.size = require_regular(path)
        with _guarded():
            self._file = ParquetFile(path, buffer_size=_BYTES_OF_A_BUFFER, page_checksum_verification=True)
        try:
            self._look()
        except BaseException:
            self._file.close()
            raise

    def _look(self) -> None:
        with _guarded():
            groups = [self._file.metadata.row_group(group) for group in range(self._file.num_row_groups)]
            self.schema, self.rows = self._file.schema_arrow, self._file.metadata.num_rows
            self.names = self.schema.names
        self.group_rows = [group.num_rows for group in groups]
        self._encoded = sum(max(0, group.total_byte_size) for group in groups)
        if sum(self.group_rows) != self.rows or min(self.group_rows, default=0) < 0:
            raise UnreadableError(f"it promises {self.rows:,} rows, and its parts {sum(self.group_rows):,}")

    def __enter__(self) -> Parquet:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def table(self) -> pa.Table:
        """All rows."""
        require_affordable(max(self.rows * len(self.names) * _BYTES_OF_A_NUMBER, self._encoded), self.size)
        with _guarded():
            table = self._file.read()
            table.validate(full=True)
        return table

    def batches(self, first: int, size: int) -> Iterator[pa.RecordBatch]:
        """Rows in batches from row group ``first`` on, group by group, so that damage costs no group before it."""
        for group in range(first, len(self.group_rows)):
            with _guarded():
                batches = self._file.iter_batches(size, row_groups=[group])
            while True:
                with _guarded():
                    batch = next(batches, None)
                    if batch is None:
                        break
                    batch.validate(full=True)
                yield batch

    def last(self, group: int, name: str) -> Any:
        """The last value of a column in a row group; None where there is none, or it cannot be read."""
        try:
            with _guarded():
                column = self._file.read_row_group(group, columns=[name]).column(0)
                return column[-1].as_py()
        except (UnreadableError, IndexError):
            return None


def read_parquet(path: Path) -> pa.Table:
    """The table in a parquet file."""
    with Parquet(path) as file:
        return file.table()


@contextmanager
def _guarded() -> Iterator[None]:
    """Makes one kind of error of all that the library raises of damaged files."""
    from pyarrow import ArrowException

    try:
        yield
    except UnicodeDecodeError:
        raise UnreadableError("the name of a column is not UTF-8") from None
    except (ArrowException, OSError, ValueError, OverflowError) as broken:
        if isinstance(broken, OSError) and broken.errno is not None:
            raise  # the file itself cannot be read
        raise broken_off(broken) from None
