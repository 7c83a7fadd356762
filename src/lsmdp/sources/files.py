"""Kernels from files.

    .npz             scipy.sparse.save_npz; beside its arrays there may be ``labels`` (n names) and ``positions``
                     (n x 2), as ``write_model`` leaves them
    .npy, .mtx       a matrix
    .csv, .parquet   a square matrix, with labels in its header if it has one, or an edge list with the columns from,
                     to and weight (1 where there is no such column)
    .map             a MovingAI map; ``arena.map:8`` is the same with diagonal moves (makers/grids.py)
    .graphml, .tntp  graphs and road networks (sources/networks.py); ``X_net.tntp:39``: through nodes begin at 39

The weights of the last three are proportions by nature; of the others only if the user says so (normalise). Nothing
here judges the numbers: that is the business of ``arrays.py``. Nothing is ever unpickled, and what a header promises
is held against the size of the file first (``inputs``).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.errors import LsmdpError, SpecError
from lsmdp.inputs.files import (
    UnreadableError,
    broken_off,
    require_described,
    require_regular,
)
from lsmdp.inputs.npy import Archive, load_npy
from lsmdp.labels import number_in
from lsmdp.model import LMDP
from lsmdp.sources.makers import edge_weights, walk_on_map
from lsmdp.sources.matrix_market import read_market
from lsmdp.sources.names import MODELS, unknown
from lsmdp.sources.networks import file_of_nodes, read_graphml, read_tntp
from lsmdp.sources.tables import (
    first_line,
    names_of,
    numbers_of,
    read_columns,
    read_numbers,
    read_parquet,
)

Labels = Sequence[str] | None
MAP = re.compile(r"(.*\.map):(.*)", flags=re.IGNORECASE | re.DOTALL)
NET = re.compile(r"(.*\.tntp):(.*)", flags=re.IGNORECASE | re.DOTALL)
UNREADABLE = (ValueError, LookupError, EOFError, OverflowError, MemoryError, RecursionError, TypeError, csv.Error)


class Content(NamedTuple):
    """What a file says about a model; ``proportions``: a row of the weights need not sum to 1."""

    weights: Any
    labels: Labels = None
    positions: Any = None
    proportions: bool = False
    origin: Any = None  # where some states of the file were left out, as in LMDP
    origin_n: int | None = None


class Format(NamedTuple):
    """How a kind of file is read, and how a good one is written."""

    read: Callable[[Path], Any]
    advice: str


@contextmanager
def blaming(source: str) -> Iterator[None]:
    """Errors about the content of a file name that file first."""
    try:
        yield
    except LsmdpError as error:
        raise type(error)(f"{source}: {error}") from None


def kernel_file(spec: str) -> Content:
    """The weights in a file, and the labels and positions of their states if it has any."""
    formats = dict(KERNEL_FORMATS)
    if asked := MAP.fullmatch(spec):
        spec, neighbours = asked.groups()
        if neighbours not in ("4", "8"):
            raise SpecError(
                f'"{asked.string}" asks for moves to {neighbours} neighbours. Write {spec}, or {spec}:8 with diagonals.'
            )
        formats[".map"] = formats[".map"]._replace(read=partial(_read_map, neighbours=int(neighbours)))
    if asked := NET.fullmatch(spec):
        spec, first = asked.groups()
        if not (first_through := number_in(first)):
            raise SpecError(
                f'"{asked.string}" says that through nodes begin at "{first}". Write {spec}, or {spec}:1 to keep all.'
            )
        formats[".tntp"] = formats[".tntp"]._replace(read=partial(_read_tntp, first_through=first_through))
    content: Content = read_file(spec, formats, unknown(spec, MODELS, endings(KERNEL_FORMATS)))
    return content


def kernel_paths(spec: str) -> Iterator[tuple[str, Path]]:
    """The files that ``kernel_file`` reads, each with what it holds; one that lies beside another comes after it."""
    asked = MAP.fullmatch(spec) or NET.fullmatch(spec)
    path = Path(asked[1] if asked else spec)
    yield "kernel", path
    if path.suffix.lower() == ".tntp" and path.is_file() and (beside := file_of_nodes(path)) is not None:
        yield "positions", beside


def endings(formats: Mapping[str, Format]) -> str:
    """The endings of readable files as one line of text."""
    return ", ".join(formats)


def read_file(spec: str, formats: Mapping[str, Format], nothing: SpecError) -> Any:
    """What the reader for the ending of ``spec`` makes of it; ``nothing`` is raised where it is no file at all."""
    path = Path(spec)
    found = formats.get(path.suffix.lower())
    try:
        if not path.exists():
            raise _missing(path) if found or len(path.parts) > 1 else nothing
        if path.is_dir():
            raise SpecError(f'"{spec}" is a folder. Name a file in it that ends in {endings(formats)}.')
        if found is None:
            raise SpecError(f'"{spec}" ends in "{path.suffix}", which is not a known format. Use {endings(formats)}.')
        require_regular(path)
        return _read_with(found, path)
    except OSError as refused:
        raise SpecError(f'"{spec}" cannot be read: {refused.strerror or refused}. Check the file.') from None


def _read_with(form: Format, path: Path) -> Any:
    try:
        with blaming(str(path)):
            return form.read(path)
    except LsmdpError:
        raise
    except UNREADABLE as broken:
        raise SpecError(f'"{path}" cannot be read as {path.suffix}: {_reason(broken)}. {form.advice}') from None


def _reason(broken: Exception) -> str:
    if isinstance(broken, MemoryError):
        return "its content needs more memory than there is"
    return str(broken if isinstance(broken, UnreadableError) else broken_off(broken))


def _missing(path: Path) -> SpecError:
    folder = path.parent
    if not folder.is_dir():
        return SpecError(f'"{path}" does not exist: there is no folder "{folder}". Check the path.')
    near = get_close_matches(path.name, [other.name for other in folder.iterdir()], n=1)
    hint = f'Did you mean "{folder / near[0]}"?' if near else "Check the path."
    return SpecError(f'"{path}" does not exist. {hint}')


def _read_npy(path: Path) -> Content:
    return Content(load_npy(path))


def _read_npz(path: Path) -> Content:
    with Archive(path) as arrays:
        if "format" not in arrays.names:
            raise SpecError(
                f"it holds the arrays {', '.join(arrays.names)}, not a sparse matrix. Write it with "
                "scipy.sparse.save_npz, or a single array with numpy.save."
            )
        weights = _sparse(arrays)
        labels = _as_names(arrays["labels"]) if "labels" in arrays.names else None
        positions = _as_places(arrays["positions"]) if "positions" in arrays.names else None
    return Content(weights, labels, positions)


def _sparse(arrays: Archive) -> Any:
    """What ``scipy.sparse.save_npz`` wrote; the sizes of all arrays are compared before any of them is read."""
    arrays.require_shapes({"format": (), "shape": (2,)})
    kind, shape = arrays["format"].item(), arrays["shape"]
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    if shape.dtype.kind not in "iu" or shape.min() < 0:
        raise UnreadableError(f'the array "shape" holds {shape.tolist()}')
    rows, cols = map(int, shape)
    require_described(max(rows, cols), arrays.size)
    if kind not in ("csr", "csc", "coo", "bsr", "dia"):
        raise UnreadableError(f'it is a sparse matrix of the kind "{kind}"')
    if kind == "dia":
        arrays.require_shapes({"data": (None, None), "offsets": arrays.header("data").shape[:1]})
        return sparse.dia_array((arrays["data"], _whole(arrays, "offsets")), shape=(rows, cols))
    count = arrays.header("data").shape[:1]
    if kind == "coo":
        arrays.require_shapes({"data": (None,), "row": count, "col": count})
        return sparse.coo_array((arrays["data"], (_whole(arrays, "row"), _whole(arrays, "col"))), shape=(rows, cols))
    arrays.require_shapes({"data": (None,) if kind != "bsr" else (None, None, None), "indices": count})
    if kind != "bsr":
        arrays.require_shapes({"indptr": ((rows if kind == "csr" else cols) + 1,)})
    make = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}[kind]
    return make((arrays["data"], _whole(arrays, "indices"), _whole(arrays, "indptr")), shape=(rows, cols))


def _whole(arrays: Archive, name: str) -> npt.NDArray[Any]:
    found = arrays[name]
    if found.dtype.kind not in "iu":
        raise UnreadableError(f'the array "{name}" holds {found.dtype} values')
    return found


def _as_names(labels: npt.NDArray[Any]) -> list[str]:
    if labels.ndim != 1 or labels.dtype.kind not in "Uiu":
        shape = " x ".join(map(str, labels.shape)) or "()"
        raise SpecError(
            f'the array "labels" holds {labels.dtype} values of shape {shape}. Give one text per state, such as '
            'numpy.array(["a", "b"]).'
        )
    names = [str(label) for label in labels.tolist()]
    "".join(names).encode()  # half a surrogate pair could never be printed
    return names


def _as_places(positions: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if positions.dtype.kind not in "buif":
        raise SpecError(f'the array "positions" holds {positions.dtype} values. Give two real numbers per state.')
    return positions


def save_kernel(lmdp: LMDP, stream: BinaryIO) -> None:
    """Write what ``_read_npz`` reads."""
    sparse.save_npz(stream, lmdp.P)
    beside = {"labels": None if lmdp.labels is None else np.array(lmdp.labels), "positions": lmdp.positions}
    with ZipFile(stream, "a", ZIP_DEFLATED) as archive:
        for name, values in beside.items():
            if values is not None:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, values, allow_pickle=False)


def _read_mtx(path: Path) -> Content:
    return Content(read_market(path))


def _read_map(path: Path, neighbours: int = 4) -> Content:
    walk = walk_on_map(path.read_text(encoding="utf-8-sig"), neighbours)
    return Content(walk.P, None, walk.positions, True)


def _read_graphml(path: Path) -> Content:
    return Content(*read_graphml(path), proportions=True)


def _read_tntp(path: Path, first_through: int | None = None) -> Content:
    weights, labels, positions, origin, origin_n = read_tntp(path, first_through)
    return Content(weights, labels, positions, True, origin, origin_n)


def _read_csv(path: Path) -> Content:
    header = first_line(path)
    if _is_edge_list(header):
        return _edges(read_columns(path, header, text=("from", "to"), numbers=("weight",)))
    values, names = read_numbers(path)
    if names is None and values.shape[0] == values.shape[1] + 1:
        values, names = values[1:], header  # labels that happen to be numbers
    return Content(values, _labels(names, values.shape))


def _read_parquet(path: Path) -> Content:
    table = read_parquet(path)
    if _is_edge_list(table.column_names):
        return _edges(table)
    values = np.column_stack([numbers_of(table, name) for name in table.column_names])
    return Content(values, _labels(table.column_names, values.shape))


def _labels(names: Sequence[str] | None, shape: tuple[int, ...]) -> Labels:
    """Header cells as labels, unless they only count the states or the table is not square anyway."""
    counted = names is not None and list(names) == [str(state) for state in range(len(names))]
    return None if counted or shape[0] != shape[1] else names


def _is_edge_list(header: Sequence[str]) -> bool:
    return {"from", "to"} <= {name.lower() for name in header}


def _edges(table: Any) -> Content:
    table = table.rename_columns([name.lower() for name in table.column_names])
    weights = numbers_of(table, "weight") if "weight" in table.column_names else None
    sources, targets = names_of(table, "from"), names_of(table, "to")
    if sources.dtype.kind != targets.dtype.kind:
        sources, targets = sources.astype(str), targets.astype(str)
    return Content(*edge_weights(sources, targets, weights))


KERNEL_FORMATS: Mapping[str, Format] = {
    ".npz": Format(_read_npz, "Write it with lsmdp.write_model or scipy.sparse.save_npz."),
    ".npy": Format(_read_npy, "Write it with numpy.save, as an array of numbers."),
    ".mtx": Format(_read_mtx, "Write it with scipy.io.mmwrite."),
    ".csv": Format(_read_csv, "Write it as text in UTF-8, with commas between the numbers."),
    ".parquet": Format(_read_parquet, "Write it with pyarrow.parquet.write_table."),
    ".map": Format(_read_map, "Write it as text: type octile, height, width, map, and the rows."),
    ".graphml": Format(_read_graphml, "Write it with networkx.write_graphml."),
    ".tntp": Format(_read_tntp, "A TNTP network is text in UTF-8, named X_net.tntp."),
}
