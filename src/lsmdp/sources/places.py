"""Where results go: a file is written as a whole or not at all, and a bad place is named before the work is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lsmdp.errors import SpecError


def require_writable(out: Path) -> None:
    """Raise before the work is done, rather than after, where its result could not be kept."""
    if out.suffix != ".npz":
        raise SpecError(f'"{out}" does not end in .npz, the only format of --out. Write for example {out.stem}.npz.')
    if out.is_dir():
        raise SpecError(f'"{out}" is a folder. Name a file with --out.')
    with _beside(out):
        pass


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A path beside ``out`` to write to; what is there when the block ends takes the place of ``out``."""
    with _beside(out) as path:
        yield path
        os.replace(path, out)


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    path = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        path.touch(exist_ok=False)
        yield path
    except OSError as refused:
        raise SpecError(f'"{out}" cannot be written: {refused.strerror}. Choose another place with --out.') from None
    finally:
        if path.parent.is_dir():
            path.unlink(missing_ok=True)
