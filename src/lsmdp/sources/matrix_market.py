"""Matrix Market files (``.mtx``), read without trust.

A banner, a line of sizes and one line per entry: ``row column value``, counted from 1 (*coordinate*), or all values
column by column (*array*); a symmetric matrix lists its lower triangle only. ``scipy.io.mmread`` is quicker, but it
brings the interpreter down on a file that ends inside a number (seen with scipy 1.17), and this reader may not.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from scipy import sparse

from lsmdp.arrays import Floats, require_entries
from lsmdp.errors import SpecError
from lsmdp.inputs.files import require_described

_LAYOUTS = ("coordinate", "array")  # A file in the format of Matrix Market that is read has one of these layouts.
_NUMBER_FIELDS = ("real", "double", "integer", "pattern")  # A file that is read has numbers of one of these kinds.
_SYMMETRIES = ("general", "symmetric")  # A file that is read has one of these symmetries.


def read_market(path: Path) -> Any:
    """The matrix in a Matrix Market file: a sparse array (coordinate) or a dense one (array)."""
    with path.open(encoding="utf-8") as stream:
        layout, field, symmetry = _banner(stream.readline())
        sizes = _sizes(stream, 3 if layout == "coordinate" else 2)
        if layout == "array":
            return _array(_numbers(stream, 1).ravel(), sizes[0], sizes[1], symmetry == "symmetric")
        require_described(max(sizes[:2]), path.stat().st_size)
        entries = _numbers(stream, 2 if field == "pattern" else 3)
    return _coordinate(entries, sizes, symmetry == "symmetric")


def is_pattern(path: Path) -> bool:
    """Whether a file has no values, only the places of entries: a graph."""
    with path.open(encoding="utf-8") as stream:
        return _banner(stream.readline())[1] == "pattern"


def _banner(line: str) -> tuple[str, str, str]:
    words = line.lower().split()
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
        raise SpecError("line 1 is not the banner of a Matrix Market file. Write it with scipy.io.mmwrite.")
    layout, field, symmetry = words[2:]
    for word, known in ((layout, _LAYOUTS), (field, _NUMBER_FIELDS), (symmetry, _SYMMETRIES)):
        if word not in known:
            raise SpecError(f'line 1 says "{word}", but a kernel can only be one of {", ".join(known)}. Write it so.')
    return layout, field, symmetry


def _sizes(stream: TextIO, count: int) -> list[int]:
    line = next((line for line in stream if line.strip() and not line.startswith("%")), "")
    words = line.split()
    if len(words) != count or not all(word.isdigit() for word in words):
        raise SpecError(f'the line of sizes is "{line.strip()}", not {count} whole numbers. Write it again.')
    sizes = [int(word) for word in words]
    require_entries(max(sizes))
    return sizes


def _numbers(stream: TextIO, width: int) -> Floats:
    lines = (line for line in stream if line.strip() and not line.startswith("%"))
    first = next(lines, None)
    if first is None:
        return np.empty((0, width))
    values: Floats = np.loadtxt(chain([first], lines), comments=None, ndmin=2)
    if values.shape[1] != width:
        raise SpecError(f"the lines below the sizes hold {values.shape[1]} numbers, not {width}. Write it again.")
    return values


def _require_count(found: int, promised: int) -> None:
    if found != promised:
        raise SpecError(f"it promises {promised} entries and holds {found}: the file is truncated. Write it again.")


def _coordinate(entries: Floats, sizes: list[int], symmetric: bool) -> Any:
    rows, cols, promised = sizes
    _require_count(len(entries), promised)
    row, col = entries[:, 0], entries[:, 1]
    whole = (row == np.floor(row)) & (col == np.floor(col))
    outside = np.flatnonzero(~whole | (row < 1) | (row > rows) | (col < 1) | (col > cols))
    if outside.size:
        at = int(outside[0])
        raise SpecError(f"entry {at + 1} is at ({row[at]:g}, {col[at]:g}), outside of {rows} x {cols}. Correct it.")
    value = entries[:, 2] if entries.shape[1] == 3 else np.ones(len(entries))
    i, j = (row - 1).astype(np.int64), (col - 1).astype(np.int64)
    if symmetric:
        mirrored = i != j
        i, j, value = np.append(i, j[mirrored]), np.append(j, i[mirrored]), np.append(value, value[mirrored])
    return sparse.coo_array((value, (i, j)), shape=(rows, cols))


def _array(values: Floats, rows: int, cols: int, symmetric: bool) -> Floats:
    if not symmetric:
        _require_count(values.size, rows * cols)
        return values.reshape(cols, rows).T
    _require_count(values.size, rows * (rows + 1) // 2)
    upper = np.zeros((rows, rows))
    upper[np.triu_indices(rows)] = values  # columns of the lower triangle are rows of the upper one
    return upper + np.triu(upper, 1).T
