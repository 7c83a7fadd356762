"""Kernels from files.

    .npz             scipy.sparse.save_npz; beside its arrays there may be ``labels`` (n names) and ``positions``
                     (n x 2), as ``write_model`` leaves them
    .npy, .mtx       a matrix
    .csv, .parquet   a square matrix, with labels in its header if it has one, or an edge list with the columns from,
                     to and weight (1 where there is no such column)
    .map             a MovingAI map; ``arena.map:8`` is the same with diagonal moves (makers/grids.py)
    .graphml, .tntp  graphs and road networks (sources/networks.py)

The weights of the last three are proportions by nature; of the others only if the user says so (normalise). Nothing
here judges the numbers: that is the business of ``arrays.py``. Nothing is ever unpickled.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.errors import LsmdpError, SpecError
from lsmdp.makers import edge_weights, walk_on_map
from lsmdp.model import LMDP
from lsmdp.sources.market import read_market
from lsmdp.sources.names import MODELS, unknown
from lsmdp.sources.networks import read_graphml, read_tntp
from lsmdp.sources.tables import first_line, names_of, numbers_of, read_columns, read_numbers, read_parquet

Labels = Sequence[str] | None
UNREADABLE = (ValueError, KeyError, EOFError, OverflowError, MemoryError, BadZipFile, zlib.error, NotImplementedError)


class Content(NamedTuple):
    """What a file says about a model; ``proportions``: a row of the weights need not sum to 1."""

    weights: Any
    labels: Labels = None
    positions: Any = None
    proportions: bool = False


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
    if asked := re.fullmatch(r"(.*\.map):(.*)", spec, flags=re.IGNORECASE | re.DOTALL):
        spec, neighbours = asked.groups()
        if neighbours not in ("4", "8"):
            raise SpecError(
                f'"{asked.string}" asks for moves to {neighbours} neighbours. Write {spec}, or {spec}:8 with diagonals.'
            )
        formats[".map"] = formats[".map"]._replace(read=partial(_read_map, neighbours=int(neighbours)))
    content: Content = read_file(spec, formats, unknown(spec, MODELS, endings(KERNEL_FORMATS)))
    return content


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
    text = str(broken).strip(" .'\"").split("\n")[0] or type(broken).__name__
    if "pickle" in text:
        return "it holds pickled objects, and those are never loaded"
    return f"it is truncated or of another kind ({text})"


def _missing(path: Path) -> SpecError:
    folder = path.parent
    if not folder.is_dir():
        return SpecError(f'"{path}" does not exist: there is no folder "{folder}". Check the path.')
    near = get_close_matches(path.name, [other.name for other in folder.iterdir()], n=1)
    hint = f'Did you mean "{folder / near[0]}"?' if near else "Check the path."
    return SpecError(f'"{path}" does not exist. {hint}')


def load_npy(path: Path) -> npt.NDArray[Any]:
    """An array from a .npy file; pickled objects are refused."""
    with path.open("rb") as stream:
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _read_npy(path: Path) -> Content:
    return Content(load_npy(path))


def _read_npz(path: Path) -> Content:
    with ZipFile(path) as archive:
        arrays = [name.removesuffix(".npy") for name in archive.namelist()]
    if "format" not in arrays:
        raise SpecError(
            f"it holds the arrays {', '.join(arrays)}, not a sparse matrix. Write it with "
            "scipy.sparse.save_npz, or a single array with numpy.save."
        )
    with np.load(path, allow_pickle=False) as beside:
        labels = _as_names(beside["labels"]) if "labels" in arrays else None
        positions = beside["positions"] if "positions" in arrays else None
    return Content(sparse.load_npz(path), labels, positions)  # scipy passes allow_pickle=False


def _as_names(labels: npt.NDArray[Any]) -> list[str]:
    if labels.ndim != 1 or labels.dtype.kind not in "Uiu":
        shape = " x ".join(map(str, labels.shape)) or "()"
        raise SpecError(
            f'the array "labels" holds {labels.dtype} values of shape {shape}. Give one text per state, such as '
            'numpy.array(["a", "b"]).'
        )
    return [str(label) for label in labels.tolist()]


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


def _read_tntp(path: Path) -> Content:
    return Content(*read_tntp(path), proportions=True)


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
