"""Arrays from .npy and .npz files.

A .npy file is ``\\x93NUMPY``, two bytes of version, the length of the header, the header and the numbers. The header is
a Python dictionary as text:

    {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }

numpy evaluates it, and a damaged one raises whatever Python's parser raises. Here it is matched against that form and
nothing is evaluated; a header of objects (pickles) or of records is refused. The bytes that it promises, the product of
the shape times the size of a number, must be in the file before an array is made.

A .npz file is a zip archive of such files, stored or deflated. Each must hold exactly what its header promises, and
together they may not be out of proportion to the archive (files.py).
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from lsmdp.inputs.files import (
    UnreadableError,
    broken_off,
    require_affordable,
    require_regular,
)
from lsmdp.inputs.forms import Array

_MAGIC = b"\x93NUMPY"  # A file of numpy begins with these bytes.
_LONGEST_HEADER = 10_000  # A header has at most this many bytes, as for numpy itself.
_MOST_AXES = 32  # An array has at most this many axes in any version of numpy.
_BYTES_OF_THE_LARGEST_ARRAY = 2**62  # An array of more bytes than this would overflow inside numpy.
# Numbers are read in pieces of this many bytes, so that few are waited for where a file ends early.
_BYTES_OF_A_PIECE = 2**20

# An item of a header is a word, a colon and a text, a truth value or a shape.
_ITEM = re.compile(
    r"""\ ?(?P<quote>['"])(?P<key>\w+)(?P=quote)\ ?:\ ?
        (?:(?P<mark>['"])(?P<text>[^'"]*)(?P=mark)|(?P<word>True|False)|\((?P<sizes>[0-9L,\ ]*)\))\ ?,?""",
    re.VERBOSE,
)
# The type of an array is written in this way; only such words are shown to numpy.
_DTYPE_WORD = re.compile(r"[<>|=]?[?biufcmMOSUV][0-9]{0,9}(\[[0-9a-zA-Z]+\])?")

# These are the errors that reading a damaged zip file may end in.
_ZIP_ERRORS = (BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OverflowError, KeyError)


class Header(NamedTuple):
    """What a .npy file says of its array; ``start`` is how many bytes come before the numbers."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    start: int

    @property
    def size(self) -> int:
        """How many bytes of numbers there should be."""
        return math.prod(self.shape) * self.dtype.itemsize


def load_npy(path: Path) -> Array:
    """The array in a .npy file."""
    size = require_regular(path)
    with path.open("rb") as stream:
        header = read_header(stream)
        _require_bytes(header, size - header.start, at_least=True)
        return _filled(header, stream)


def map_npy(path: Path) -> Array:
    """The array in a .npy file, left on disk until its numbers are looked at."""
    size = require_regular(path)
    with path.open("rb") as stream:
        header = read_header(stream)
    _require_bytes(header, size - header.start, at_least=True)
    if not header.size:
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", header.start, header.shape, header.order)


class Archive:
    """The arrays in a .npz file, each read when it is asked for; ``with Archive(path) as arrays``."""

    def __init__(self, path: Path) -> None:
        self.size = require_regular(path)
        with _guarded():
            self._zip = ZipFile(path)
        try:
            self._members = _members(self._zip)
            require_affordable(sum(member.file_size for member in self._members.values()), self.size)
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """Of all arrays, in the order of the archive."""
        return list(self._members)

    def header(self, name: str) -> Header:
        """What an array will be, before any memory is asked for."""
        with _guarded(), self._opened(name) as (header, _):
            return header

    def __getitem__(self, name: str) -> Array:
        with _guarded(), self._opened(name) as (header, stream):
            array = _filled(header, stream)
            stream.read(1)  # at the end of a member its checksum is compared
            return array

    def require_shapes(self, shapes: Mapping[str, tuple[int | None, ...]]) -> None:
        """Raise unless arrays will have these shapes (None: any size), before any of them is read."""
        for name, wanted in shapes.items():
            found = self.header(name).shape
            if len(found) != len(wanted) or any(
                want not in (None, size) for want, size in zip(wanted, found, strict=True)
            ):
                raise UnreadableError(f'the array "{name}" has the shape {found}, which does not fit the others')

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Header, IO[bytes]]]:
        member = self._members.get(name)
        if member is None:
            raise UnreadableError(f'it holds no array "{name}"')
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise UnreadableError(f'the array "{name}" is compressed in a way that numpy does not write')
        with self._zip.open(member) as stream:
            header = read_header(stream)
            _require_bytes(header, member.file_size - header.start)
            yield header, stream


def _members(archive: ZipFile) -> dict[str, ZipInfo]:
    members: dict[str, ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in members:
            raise UnreadableError(f'it holds two arrays "{name}"')
        members[name] = member
    return members


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of a .npz file by name."""
    with Archive(path) as arrays:
        return {name: arrays[name] for name in arrays.names}


def read_header(stream: IO[bytes]) -> Header:
    """The header of a .npy file, with the stream left at the first number."""
    start = stream.read(8)
    if start[:6] != _MAGIC or start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise UnreadableError("it does not begin as a .npy file does")
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > _LONGEST_HEADER:
        raise UnreadableError(f"its header would have {length:,} bytes")
    text = stream.read(length)
    if len(text) < length:
        raise UnreadableError("it ends inside its header")
    return _parsed(text.decode("latin-1"), 8 + width + length)


def _parsed(text: str, start: int) -> Header:
    text = re.sub(r"\s+", " ", text).strip()
    at, found = 1, {}
    while text[at:].strip() not in ("}", ""):
        item = _ITEM.match(text, at)
        if item is None:
            raise UnreadableError(f'its header says "{_quoted(text)}"')
        found[item["key"]] = item
        at = item.end()
    if not (text[:1] == "{" and text[-1:] == "}" and set(found) == {"descr", "fortran_order", "shape"}):
        raise UnreadableError(f'its header says "{_quoted(text)}"')
    kind, word, sizes = found["descr"]["text"], found["fortran_order"]["word"], found["shape"]["sizes"]
    if kind is None or word is None or sizes is None:
        raise UnreadableError(f'its header says "{_quoted(text)}"')
    return Header(_dtype(kind), _shape(sizes), "F" if word == "True" else "C", start)


def _quoted(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:80])


def _dtype(kind: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(kind) if _DTYPE_WORD.fullmatch(kind) else None
    except (TypeError, ValueError, OverflowError):
        dtype = None
    if dtype is None or not dtype.itemsize:
        raise UnreadableError(f'its numbers are of the kind "{_quoted(kind)}"')
    if dtype.hasobject:
        raise UnreadableError("it holds pickled objects, and those are never loaded")
    return dtype


def _shape(sizes: str) -> tuple[int, ...]:
    words = [word.strip().removesuffix("L") for word in sizes.split(",") if word.strip()]  # Python 2 wrote 3L
    if len(words) > _MOST_AXES or not all(word.isdigit() and len(word) < 20 for word in words):
        raise UnreadableError(f'its shape is "({_quoted(sizes)})"')
    shape = tuple(map(int, words))
    if math.prod(size for size in shape if size) > _BYTES_OF_THE_LARGEST_ARRAY:
        raise UnreadableError(f'its shape is "({_quoted(sizes)})"')
    return shape


def _require_bytes(header: Header, available: int, *, at_least: bool = False) -> None:
    if available < header.size or (available > header.size and not at_least):
        shape = " x ".join(map(str, header.shape)) or "1"
        raise UnreadableError(
            f"its header promises {shape} numbers of {header.dtype.itemsize} bytes, {header.size:,} in all, and "
            f"{max(available, 0):,} follow"
        )


def _filled(header: Header, stream: IO[bytes]) -> Array:
    flat = np.empty(header.size, dtype=np.uint8)
    at = 0
    while at < flat.size:
        count: int = stream.readinto(flat[at : at + _BYTES_OF_A_PIECE])  # type: ignore[attr-defined]
        if not count:
            raise UnreadableError(f"it ends after {at:,} of {flat.size:,} bytes of numbers")
        at += count
    if header.dtype.kind == "b":
        flat = (flat != 0).view(np.uint8)  # a truth value is one byte, 0 or 1
    return flat.view(header.dtype).reshape(header.shape, order=header.order)


@contextmanager
def _guarded() -> Iterator[None]:
    """Makes one kind of error of all that zipfile and zlib raise of damaged archives."""
    try:
        yield
    except UnreadableError:
        raise
    except _ZIP_ERRORS as broken:
        raise broken_off(broken) from None
