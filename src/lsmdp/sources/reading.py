"""What the readers of files share: what a file says about a model, and how the reader for an ending is called.

Whatever a reader stumbles over becomes one sentence that names the file: errors of ours as they are, and those of the
libraries that read for us (``_UNREADABLE``) with the advice of the format.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lsmdp.errors import LsmdpError, SpecError
from lsmdp.inputs.files import (
    UnreadableError,
    broken_off,
    closed,
    file_of_a_kind,
)
from lsmdp.sources.headers import Columns

Labels = Sequence[str] | None
# These are the errors that libraries end in when they are given a damaged file.
_UNREADABLE = (ValueError, LookupError, EOFError, OverflowError, MemoryError, RecursionError, TypeError, csv.Error)


class ReadingOptions(NamedTuple):
    """How the user wants a kernel to be read: which columns are what, which attribute is the weight, and both ways."""

    columns: Columns = None
    weight: str | None = None
    undirected: bool = False


class Content(NamedTuple):
    """What a file says about a model; ``proportions``: a row of the weights need not sum to 1."""

    weights: Any
    labels: Labels = None
    positions: Any = None
    proportions: bool = False
    origin: Any = None  # where some states of the file were left out, as in LMDP
    origin_n: int | None = None
    map_shape: tuple[int, int] | None = None


class Format(NamedTuple):
    """How a kind of file is read, and how a good one is written."""

    read: Callable[..., Any]
    advice: str


@contextmanager
def blaming(source: str) -> Iterator[None]:
    """Errors about the content of a file name that file first."""
    try:
        yield
    except LsmdpError as error:
        raise type(error)(f"{source}: {error}") from None


def endings(formats: Mapping[str, Format]) -> str:
    """The endings of readable files as one line of text."""
    return ", ".join(formats)


def read_file(spec: str, formats: Mapping[str, Format], nothing: SpecError) -> Any:
    """What the reader for the ending of ``spec`` makes of it; ``nothing`` is raised where it is no file at all."""
    try:
        path = file_of_a_kind(spec, formats, nothing)
        return _read_with(formats[path.suffix.lower()], path)
    except OSError as refused:
        raise closed(spec, refused) from None


def _read_with(form: Format, path: Path) -> Any:
    try:
        with blaming(str(path)):
            return form.read(path)
    except LsmdpError:
        raise
    except _UNREADABLE as broken:
        raise SpecError(f'"{path}" cannot be read as {path.suffix}: {_reason(broken)}. {form.advice}') from None


def _reason(broken: Exception) -> str:
    if isinstance(broken, MemoryError):
        return "its content needs more memory than there is"
    return str(broken if isinstance(broken, UnreadableError) else broken_off(broken))
