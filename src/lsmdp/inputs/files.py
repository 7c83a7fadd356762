"""What may be opened, and how much a file may ask for.

**Regular files only.** A pipe gives nothing until somebody writes to it, and a device may never end: a command that
opened one would wait for ever, or fill the memory.

**States.** A model has a move for every state, and to write a move takes more than a byte, also compressed: deflate
needs 1.1 to 1.5 bytes for each of n different row pointers, text at least four. So a file of s bytes describes at most
s states, and a header that promises more lies or has lost its file. Up to ``STATES_OF_ANY_FILE`` states nothing is
said.

**Memory.** Deflate shrinks what repeats itself up to 1032 times (a match of 258 bytes takes two bits at least). Kernels
do not repeat themselves like that, since they name all their states; the most that was measured is 303 times, for a
full matrix of equal chances. So the content of a file may take ``SWELL`` times its size, and ``BYTES_OF_ANY_FILE``
in any case.
"""

from __future__ import annotations

import stat
from collections.abc import Collection
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from lsmdp.errors import SpecError, told

STATES_OF_ANY_FILE = 2**20  # A file of any size may describe this many states, which take a few megabytes.
BYTES_OF_ANY_FILE = 2**28  # The content of a file of any size may take this many bytes of memory.
SWELL = 500  # The content of a larger file may take this many times its bytes: at most 303 times was measured.

# These are the kinds of things that are no regular files, with the words for them.
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class UnreadableError(ValueError):
    """What is in a file is not what its ending says; the message is the reason, a clause without a full stop."""


def broken_off(error: Exception) -> UnreadableError:
    """What to say where a library stumbles over the content of a file."""
    refused = error.strerror if isinstance(error, OSError) else None
    return UnreadableError(f"it is truncated or of another kind: {refused or reason_of(error)}")


def reason_of(error: object) -> str:
    """The first line of what a library says, as a clause without a full stop; quotes in it stay whole."""
    return str(error).split("\n")[0].strip(" .") or type(error).__name__


def as_spec(spec: str | PathLike[str] | Any, what: str, example: str) -> str:
    """The name or the path that a user gives, as a text; anything else is an error with an example."""
    text = fspath(spec) if isinstance(spec, str | PathLike) else None
    if not isinstance(text, str):
        raise SpecError(f"{what} {told(spec)}, neither a name nor a path. Write for example lsmdp.{example}.")
    return text


def file_of_a_kind(spec: str, endings: Collection[str], nothing: SpecError) -> Path:
    """The path of a regular file with one of these endings; ``nothing`` is raised where ``spec`` looks like no path."""
    path, words = Path(spec), ", ".join(endings)
    known = path.suffix.lower() in endings
    try:
        if not path.exists():
            raise _missing(path) if known or len(path.parts) > 1 else nothing
        if path.is_dir():
            raise SpecError(f'"{spec}" is a folder. Name a file in it that ends in {words}.')
        if not known:
            raise SpecError(f'"{spec}" ends in "{path.suffix}", which is not a known format. Use {words}.')
        require_regular(path)
    except OSError as refused:
        raise closed(spec, refused) from None
    return path


def closed(spec: str, refused: OSError) -> SpecError:
    """What to say of a file that the system does not open."""
    return SpecError(f'"{spec}" cannot be read: {refused.strerror or refused}. Check the file.')


def _missing(path: Path) -> SpecError:
    folder = path.parent
    if not folder.is_dir():
        return SpecError(f'"{path}" does not exist: there is no folder "{folder}". Check the path.')
    near = get_close_matches(path.name, [other.name for other in folder.iterdir()], n=1)
    hint = f'Did you mean "{folder / near[0]}"?' if near else "Check the path."
    return SpecError(f'"{path}" does not exist. {hint}')


def require_regular(path: Path) -> int:
    """The size of a regular file in bytes; anything else that can be opened is an error."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in KINDS if test(found.st_mode)), "no regular file")
        way_out = "Name a file in it." if stat.S_ISDIR(found.st_mode) else "Save what it gives in a file first."
        raise SpecError(f'"{path}" is {kind}, and only regular files are read. {way_out}')
    return found.st_size


def require_described(states: int, size: int) -> None:
    """Raise where a file of ``size`` bytes promises more states than it can describe; see the module docstring."""
    if states > max(STATES_OF_ANY_FILE, size):
        raise SpecError(
            f"it promises {states:,} states in {size:,} bytes, but every state has a move, which takes more than a "
            "byte. Correct the number, or write the file again: it may be truncated."
        )


def require_affordable(wanted: int, size: int) -> None:
    """Raise where the content of a file of ``size`` bytes would take ``wanted`` bytes, which is out of proportion."""
    if wanted > max(BYTES_OF_ANY_FILE, SWELL * size):
        raise UnreadableError(
            f"its content would take {wanted:,} bytes of memory, more than {SWELL} times the {size:,} bytes of the "
            "file; if that is meant, write it without compression"
        )
