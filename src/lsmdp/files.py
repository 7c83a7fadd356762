"""Files that are complete or absent, locks, and what may be removed: in one place for the whole package.

**Writing.** What is written goes into a *draft* beside its place. A draft has a name that nobody can guess and is made
by this call alone: a file or a link that is there already is never opened. It is synced and moved into place, so that a
reader finds the old file or the new one and never a half, and several writers of one place cannot tear each other's
files: the last one to move wins. A link in that place is replaced, not followed. A new file has the permissions that
any new file would have, one that takes the place of another keeps the permissions of that.

**Left-overs.** A process that is killed leaves its draft behind. A draft is locked as long as its writer lives, so one
that can be locked has lost its writer, and ``clear`` removes it.

**Locks** belong to a process and end with it, however it ends. Systems other than posix have none of them.

**Removing.** Only files are removed, only by names that are ours, and only from a real folder: through a link, nothing.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lsmdp.errors import SpecError

# Files that are being written have such names until they are moved to their places.
DRAFT = re.compile(r"\.lsmdp-[0-9a-f]{16}\.tmp")
# Files are opened with these flags, where the system has them: no link is followed, and no byte is changed.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# A file may be taken for this many seconds before that is an error; others hold it far shorter.
_SECONDS_OF_A_MOMENT = 1.0
_SECONDS_BETWEEN_ATTEMPTS = 0.01  # So many seconds pass between two attempts to take a file, which nobody notices.
POSIX = os.name == "posix"  # An open file can be replaced on POSIX systems only.


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content is at ``path`` as a whole when the block ends; if it fails, what was there stays there.

    One failure comes later: where only the folder could not be synced, the new file is in place, and an OSError says
    that a power cut may still undo it.
    """
    before = _occupant(path)
    draft, stream = _draft(path.parent, None if before is None else stat.S_IMODE(before.st_mode) & 0o777)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if POSIX:
                os.replace(draft, path)  # while it is locked, so that nobody takes it for a left-over
        if not POSIX:
            os.replace(draft, path)  # which an open file cannot be
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    _sync(path.parent)


def require_writable(out: Path, endings: Sequence[str] = (".npz",), option: str = "--out") -> None:
    """Raise before the work is done, rather than after, where its result could not be kept.

    ``endings`` are those of the files that can be written, and ``option`` is where the user named this one.
    """
    if out.suffix.lower() not in endings:
        known = endings[0] if len(endings) == 1 else f"{', '.join(endings[:-1])} or {endings[-1]}"
        only = f"the only format of {option}" if len(endings) == 1 else f"the formats of {option}"
        raise SpecError(f'"{out}" does not end in {known}, {only}. Write for example {out.stem}{endings[0]}.')
    if out.is_dir():
        raise SpecError(f'"{out}" is a folder. Name a file with {option}.')
    with explained(out, option):
        _occupant(out)
        draft, stream = _draft(out.parent, None)
        stream.close()
        os.unlink(draft)
        clear(out.parent)


@contextmanager
def explained(out: Path, option: str = "--out") -> Iterator[None]:
    """Says of a place that was chosen with an option that it cannot be written, and why."""
    try:
        yield
    except OSError as refused:
        reason = refused.strerror or refused
        raise SpecError(f'"{out}" cannot be written: {reason}. Choose another place with {option}.') from None


def own_folder(path: Path) -> None:
    """Make a folder for our files, if it is not there; a link or a file in its place is an error."""
    with suppress(FileExistsError):
        os.mkdir(path)
    require_own(path)


def require_own(path: Path) -> None:
    """Raise where something else than a real folder has the name of one of ours."""
    if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
        fact = "a link" if path.is_symlink() else "a file"
        raise SpecError(
            f'"{path}" is {fact}, where lsmdp keeps a folder of its own: nothing is written or removed through it. Put '
            "the folder back, or choose another place with --out."
        )


def remove(folder: Path, ours: Callable[[str], bool]) -> None:
    """Remove the files whose names are ours from a folder, if it is there and real; the rest of it stays."""
    with suppress(FileNotFoundError), _inside(folder) as inside:
        for name in filter(ours, os.listdir(folder if inside is None else inside)):
            place = folder / name if inside is None else name
            if not stat.S_ISDIR(os.stat(place, dir_fd=inside, follow_symlinks=False).st_mode):
                os.unlink(place, dir_fd=inside)


def clear(folder: Path) -> None:
    """Remove the drafts of writers that are gone, where that can be told."""
    if POSIX:
        with suppress(OSError):
            for name in filter(DRAFT.fullmatch, os.listdir(folder)):
                with suppress(OSError):
                    _clear(folder / name)


@contextmanager
def locked(folder: Path, taken: str) -> Iterator[None]:
    """Keep every other process out of a folder that is there; ``taken`` is what is said where one is in it."""
    if not POSIX:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if not _locks(descriptor):
            raise SpecError(taken)
        yield
    finally:
        os.close(descriptor)


def held(path: Path, taken: str, *, alone: bool) -> BinaryIO:
    """The file at ``path``, open at its start and ours until it is closed; no link is followed to it.

    ``alone``, nobody else has it, and it is made where it is not there. Otherwise it is there, and only those are kept
    away who want it for themselves. Where it is taken for longer than a second, ``taken`` is raised.
    """
    flags = (os.O_RDWR | os.O_CREAT if alone else os.O_RDONLY) | _FLAGS
    deadline = time.monotonic() + _SECONDS_OF_A_MOMENT
    while True:
        file = os.fdopen(os.open(path, flags, 0o666), "r+b" if alone else "rb", buffering=0)
        try:
            if not POSIX or (_locks(file.fileno(), alone=alone, default=not alone) and _is_at(path, file)):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # it is taken, or was replaced in this moment
        if time.monotonic() >= deadline:
            raise SpecError(taken)
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS)


def shared(stream: BinaryIO) -> BinaryIO:
    """The same open file once more, unbuffered and where it stands, with the lock that it has."""
    stream.flush()
    return os.fdopen(os.dup(stream.fileno()), "r+b", buffering=0)


def is_gone(file: BinaryIO) -> bool:
    """Whether an open file has no name any more: somebody removed it, or put another one in its place."""
    return POSIX and os.fstat(file.fileno()).st_nlink == 0


def _occupant(path: Path) -> os.stat_result | None:
    """What a file at ``path`` would take the place of: a file, or nothing; anything else is an error."""
    if path.exists() and not path.is_file():
        raise SpecError(f'"{path}" is {"a folder" if path.is_dir() else "not a file"}. Name a file.')
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _draft(folder: Path, mode: int | None) -> tuple[Path, BinaryIO]:
    """A new file of ours in a folder, locked; ``mode`` is what its permissions are to be, if not the usual ones."""
    while True:
        path = folder / f".lsmdp-{os.urandom(8).hex()}.tmp"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o666 if mode is None else mode)
        except FileExistsError:
            continue
        stream = os.fdopen(descriptor, "w+b")
        try:
            if not POSIX or (_locks(descriptor, default=True) and _is_at(path, stream)):
                if mode is not None and POSIX:
                    with suppress(OSError):  # not every file system knows permissions
                        os.fchmod(descriptor, mode)
                return path, stream
        except BaseException:
            stream.close()
            with suppress(OSError):
                os.unlink(path)
            raise
        stream.close()  # somebody took it for a left-over in the moment between its making and its lock


def _clear(path: Path) -> None:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS), "rb", buffering=0) as file:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        if is_file and _locks(file.fileno()) and _is_at(path, file):
            os.unlink(path)


def _locks(descriptor: int, *, alone: bool = True, default: bool = False) -> bool:
    """Whether a file or folder could be locked; ``default`` is tolerant of file systems that know no locks."""
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        if default:
            return True
        raise
    return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Whether an open file is the one at ``path``."""
    try:
        there, here = os.lstat(path), os.fstat(file.fileno())
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


@contextmanager
def _inside(folder: Path) -> Iterator[int | None]:
    """A real folder, open, so that it stays the same one whatever takes its name; None where that cannot be."""
    require_own(folder)
    if not POSIX:
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Make a move inside a folder last through a power cut, on systems where folders can be opened."""
    if POSIX:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
