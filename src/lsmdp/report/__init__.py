"""A run folder becomes a page: one file, nothing to install, nothing asked of any network.

The page is written by hand: charts as SVG, the map on a canvas, about 300 lines of JavaScript. A plotting library would
be ten times the size of the data, and has no map that moves.
"""

from __future__ import annotations

from pathlib import Path

from lsmdp.errors import SpecError
from lsmdp.files import atomic, clear, explained
from lsmdp.report.pages import assemble
from lsmdp.report.story import Watch, story
from lsmdp.runs import Folder, load

__all__ = ["page", "write_page"]


def write_page(path: Path, out: Path | None = None, watch: Watch | None = None, *, trust: bool = False) -> Path:
    """Write the page of the run in a folder, into the folder unless another place is named; returns where it is.

    ``trust`` as for ``runs.load``.
    """
    target = path / "report.html" if out is None else out
    if target.is_dir():
        raise SpecError(f'"{target}" is a folder. Name a file with --out, for example {target / "report.html"}.')
    text = page(Folder(path), watch, trust=trust)
    with explained(target), atomic(target) as stream:
        stream.write(text.encode())
    clear(target.parent)
    return target


def _nobody(_what: str, _t: int, _rounds: int) -> None:
    """Watches nothing."""


def page(folder: Folder, watch: Watch | None = None, *, trust: bool = False) -> str:
    """The page as text."""
    folder.require_finished()
    return assemble("lsmdp.report", story(folder, load(folder.path, trust=trust), watch or _nobody))
