"""Models from files: which endings are read, by which reader, and what each of them holds.

``kernel_file`` takes a path and gives raw weights, with labels and positions where the file has them.

    .npz               scipy.sparse.save_npz; beside its arrays there may be ``labels`` (n names) and ``positions``
                       (n x 2), as ``write_model`` leaves them
    .npy, .mtx         a matrix
    .csv, .tsv, .txt,  an edge list, or a square matrix with or without names (sources/edge_lists.py)
    .parquet
    .map               a MovingAI map; ``arena.map:8`` is the same with diagonal moves (makers/grids.py)
    .graphml, .gml     graphs (sources/graphs.py)
    .tntp              road networks (sources/networks.py); ``X_net.tntp:39``: through nodes begin at 39

The weights of maps, graphs and road networks are proportions by nature, and so are counts; those of others only if the
user says so (normalise). Nothing here judges the numbers: that is the business of ``arrays.py``. Nothing is ever
unpickled, and what a header promises is held against the size of the file first (``inputs``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import as_weights
from lsmdp.errors import SpecError
from lsmdp.inputs.files import UnreadableError, require_described
from lsmdp.inputs.labels import number_in
from lsmdp.inputs.npy import Archive, load_npy
from lsmdp.model import LMDP
from lsmdp.sources.edge_lists import read_columns_of, read_text
from lsmdp.sources.graphs import read_graph
from lsmdp.sources.makers import walk_on_map
from lsmdp.sources.matrix_market import is_pattern, read_market
from lsmdp.sources.names import MODELS, unknown
from lsmdp.sources.networks import CAPACITY, file_of_nodes, read_tntp
from lsmdp.sources.reading import (
    Content,
    Format,
    ReadingOptions,
    endings,
    read_file,
)
from lsmdp.sources.tables import TEXTS

# A map may be named with the number of neighbours behind a colon.
_MAP = re.compile(r"(.*\.map):(.*)", flags=re.IGNORECASE | re.DOTALL)
# A network may be named with its first node that is no centroid behind a colon.
_NET = re.compile(r"(.*\.tntp):(.*)", flags=re.IGNORECASE | re.DOTALL)


def kernel_file(spec: str, reading: ReadingOptions = ReadingOptions()) -> Content:  # noqa: B008 - it never changes
    """The weights in a file, and the labels and positions of their states if it has any."""
    readers = dict(KERNEL_FORMATS)
    path = spec
    if asked := _MAP.fullmatch(spec):
        path, neighbours = asked.groups()
        if neighbours not in ("4", "8"):
            raise SpecError(
                f'"{asked.string}" asks for moves to {neighbours} neighbours. Write {path}, or {path}:8 with diagonals.'
            )
        readers[".map"] = readers[".map"]._replace(read=partial(_read_map, neighbours=int(neighbours)))
    if asked := _NET.fullmatch(spec):
        path, first = asked.groups()
        if not (first_through := number_in(first)):
            raise SpecError(
                f'"{asked.string}" says that through nodes begin at "{first}". Write {path}, or {path}:1 to keep all.'
            )
        readers[".tntp"] = readers[".tntp"]._replace(read=partial(_read_tntp, first_through=first_through))
    _require_usable(Path(path).suffix.lower(), reading)
    formats = {ending: form._replace(read=partial(form.read, reading=reading)) for ending, form in readers.items()}
    content: Content = read_file(path, formats, unknown(path, MODELS, endings(KERNEL_FORMATS)))
    return _both_ways(content) if reading.undirected else content


def _require_usable(ending: str, reading: ReadingOptions) -> None:
    """Raise where the user says something about columns or attributes of a file that has none."""
    if reading.columns and ending not in (*TEXTS, ".parquet"):
        raise SpecError(
            f"--columns names the columns of a table ({', '.join((*TEXTS, '.parquet'))}), and a {ending or 'name'} has "
            "none. Leave it out; the weights of graphs and road networks are named with --weight."
        )
    if reading.weight is not None and ending not in (*TEXTS, ".parquet", ".graphml", ".gml", ".tntp"):
        raise SpecError(
            f"--weight names a column of an edge list or an attribute of the edges of a graph, and a "
            f"{ending or 'name'} has none. Leave it out."
        )


def _both_ways(content: Content) -> Content:
    """The same with every edge in both directions; what stays at a state counts once."""
    W = as_weights(content.weights)
    both = W + W.T - sparse.diags_array(W.diagonal())
    return content._replace(weights=both.tocsr(), proportions=True)


def kernel_paths(spec: str) -> Iterator[tuple[str, Path]]:
    """The files that ``kernel_file`` reads, each with what it holds; one that lies beside another comes after it."""
    asked = _MAP.fullmatch(spec) or _NET.fullmatch(spec)
    path = Path(asked[1] if asked else spec)
    yield "kernel", path
    if path.suffix.lower() == ".tntp" and path.is_file() and (beside := file_of_nodes(path)) is not None:
        yield "positions", beside


def _read_npy(path: Path, **_: object) -> Content:
    return Content(load_npy(path))


def _read_npz(path: Path, **_: object) -> Content:
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


def _read_mtx(path: Path, **_: object) -> Content:
    return Content(read_market(path), proportions=is_pattern(path))


def _read_map(path: Path, neighbours: int = 4, **_: object) -> Content:
    walk = walk_on_map(path.read_text(encoding="utf-8-sig"), neighbours)
    return Content(walk.P, None, walk.positions, True, map_shape=walk.map_shape)


def _read_graph(path: Path, reading: ReadingOptions) -> Content:
    return Content(*read_graph(path, reading.weight), proportions=True)


def _read_tntp(path: Path, reading: ReadingOptions, first_through: int | None = None) -> Content:
    weights, labels, positions, origin, origin_n = read_tntp(path, first_through, reading.weight or CAPACITY)
    return Content(weights, labels, positions, True, origin, origin_n)


# Files of text are read in this way, whatever their ending.
_TEXT_FORMAT = Format(
    read_text, "Write it as text in UTF-8, with commas, semicolons, tabs or blanks between the cells."
)
# A kernel is read from files with these endings.
KERNEL_FORMATS: Mapping[str, Format] = {
    ".npz": Format(_read_npz, "Write it with lsmdp.write_model or scipy.sparse.save_npz."),
    ".npy": Format(_read_npy, "Write it with numpy.save, as an array of numbers."),
    ".mtx": Format(_read_mtx, "Write it with scipy.io.mmwrite."),
    **dict.fromkeys(TEXTS, _TEXT_FORMAT),
    ".parquet": Format(read_columns_of, "Write it with pyarrow.parquet.write_table."),
    ".map": Format(_read_map, "Write it as text: type octile, height, width, map, and the rows."),
    ".graphml": Format(_read_graph, "Write it with networkx.write_graphml."),
    ".gml": Format(_read_graph, "Write it with networkx.write_gml."),
    ".tntp": Format(_read_tntp, "A TNTP network is text in UTF-8, named X_net.tntp."),
}
