"""A run folder becomes a page: one file, nothing to install, nothing asked of any network.

The page is written by hand: charts as SVG, the map on a canvas, some hundreds of lines of JavaScript. A plotting
library would be ten times the size of the data, and has no map that moves.

- :mod:`~lsmdp.report.story`: the findings of a run as one object, which the page draws itself from; words.py has the
  sentences, certificates.py, dynamic.py and pools.py the parts about the theory, the plan in hindsight and pools;
- :mod:`~lsmdp.report.maps`, :mod:`~lsmdp.report.frames`: the map, and its film; layout.py places states without places;
- :mod:`~lsmdp.report.answer`: the page of a solve;
- :mod:`~lsmdp.report.pages`: what all pages share;
- :mod:`~lsmdp.report.figures`, :mod:`~lsmdp.report.drawing`: figures for papers, by matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsmdp.errors import SpecError
from lsmdp.files import atomic, clear, explained
from lsmdp.report.pages import assemble
from lsmdp.report.story import WatchStage, story
from lsmdp.runs import Folder, load

__all__ = ["page", "write_page", "write_story"]


def write_page(
    path: Path,
    out: Path | None = None,
    watch: WatchStage | None = None,
    *,
    trust: bool = False,
    certify: str = "sample",
) -> Path:
    """Write the page of the run in a folder, into the folder unless another place is named; returns where it is.

    ``trust`` as for ``runs.load``. ``certify`` says on which rounds the theory is evaluated: ``all``, ``none``, or a
    ``sample``, the first so many that a large game was not played in less time. Of a small game that is all of them.
    """
    return write_story(path, out, watch, trust=trust, certify=certify)[0]


def write_story(
    path: Path,
    out: Path | None = None,
    watch: WatchStage | None = None,
    *,
    trust: bool = False,
    certify: str = "sample",
) -> tuple[Path, dict[str, Any]]:
    """The same, and what the page says."""
    target = path / "report.html" if out is None else out
    if target.is_dir():
        raise SpecError(f'"{target}" is a folder. Name a file with --out, for example {target / "report.html"}.')
    told = _told(Folder(path), watch, trust, certify)
    with explained(target), atomic(target) as stream:
        stream.write(assemble("lsmdp.report", told).encode())
    clear(target.parent)
    return target, told


def _nobody(_what: str, _t: int, _rounds: int) -> None:
    """Watches nothing."""


def page(folder: Folder, watch: WatchStage | None = None, *, trust: bool = False, certify: str = "sample") -> str:
    """The page as text."""
    return assemble("lsmdp.report", _told(folder, watch, trust, certify))


def _told(folder: Folder, watch: WatchStage | None, trust: bool, certify: str) -> dict[str, Any]:
    folder.require_finished()
    return story(folder, load(folder.path, trust=trust), watch or _nobody, certify)
