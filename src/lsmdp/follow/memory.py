"""What a learner knows, in a file: saved, loaded, and kept up to date while it is at work.

``save`` and ``load`` are for control loops of your own; a :class:`Memory` is for one that must not forget. The file is
a snapshot of the learner's state and the rounds since then (learner_file.py).

A snapshot is written beside its place, synced and moved there (files.py). Several processes may save to one place: the
last one's file is there, and whoever loads finds a whole one. Only a :class:`Memory` has its file for itself. A record
is one write to the end of the file and costs microseconds, so a :class:`Memory` can write each round down before
anybody hears of it, whatever happens to the process afterwards. Only where the machine itself stops (a power cut) may
the last records be missing. Every now and then, and at the end, the records are folded into a new snapshot, so that
loading takes at most about a second of observing.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.files import (
    atomic,
    clear,
    held,
    is_gone,
    shared,
)
from lsmdp.follow.learner_file import (
    AnyLearner,
    Knowledge,
    as_record,
    other_loop,
    read,
    require_its_own,
    snapshot,
)
from lsmdp.learners import (
    CompleteLearner,
    State,
)
from lsmdp.model import LMDP

# So many seconds of work are between two snapshots, and at most about as many to load a file.
_SECONDS_BETWEEN_SNAPSHOTS = 1.0
# There are also this many times the seconds of the last snapshot in between, so that it takes a tenth at most.
_COST_OF_A_SNAPSHOT = 10.0


def save(path: str | PathLike[str], lmdp: LMDP, learner: AnyLearner, state: State) -> None:
    """Keep what a learner knows in a file: all of it, or the file is as it was."""
    place, player = _place(path), CompleteLearner.of(learner)
    kept = Knowledge(state, player.rounds_seen(state))
    require_its_own(lmdp, player, state)
    content = snapshot(lmdp, player, kept)
    with _explained(place), _unless_in_use(place), atomic(place) as stream:
        stream.write(content)
    clear(place.parent)


def load(path: str | PathLike[str], lmdp: LMDP, learner: AnyLearner) -> State:
    """The state that was saved, bit for bit, for the same model and learner; also that of ``lsmdp follow --state``."""
    place, player = _place(path), CompleteLearner.of(learner)
    with _explained(place):
        if not place.exists():
            raise SpecError(f'"{place}" does not exist. Begin with learner.init(lmdp), and lsmdp.save what it learns.')
        return read(place, place.read_bytes(), lmdp, player).state


class Memory:
    """The file of a learner at work. A round that was given to ``add`` outlives this process, however it ends."""

    def __init__(self, path: str | PathLike[str], lmdp: LMDP, learner: AnyLearner) -> None:
        self.path, self.lmdp, self.learner = _place(path), lmdp, CompleteLearner.of(learner)
        self.added, self.due, self.spent = 0, _SECONDS_BETWEEN_SNAPSHOTS, 0.0
        with _explained(self.path):
            self.file = held(self.path, _in_use(self.path), alone=True)
            clear(self.path.parent)

    def begin(self, fresh: Knowledge) -> Knowledge:
        """What the file knows; ``fresh`` where there was none, or it was empty."""
        with _explained(self.path), _closing_on_error(self.file):
            content = self.file.read()
            kept = read(self.path, content, self.lmdp, self.learner) if content else fresh
            if kept.scale is not None and kept.scale != fresh.scale:
                there, here = (" ".join(f"{value:g}" for value in scale or ()) for scale in (kept.scale, fresh.scale))
                raise other_loop(self.path, [f"scale ({there} there, {here} here)"])
            kept = kept._replace(scale=fresh.scale)
            self.fold(kept)
        return kept

    def add(self, at: int, c_t: Floats | None = None) -> None:
        """Write down where the system is and, if there is one, the cost of a round; before the round is answered."""
        record = as_record(at, c_t)
        with _explained(self.path):
            if is_gone(self.file):
                raise SpecError(
                    f'"{self.path}" was removed or replaced while it was in use. Start again from what is there.'
                )
            if self.file.write(record) != len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.added += 1

    def rest(self, kept: Knowledge, seconds: float) -> None:
        """After so many seconds of work: fold the records into a snapshot, if it is time to."""
        self.spent += seconds
        if self.spent >= self.due:
            self.fold(kept)

    def fold(self, kept: Knowledge) -> None:
        """Make a snapshot of it, without records behind it."""
        began = time.perf_counter()
        content = snapshot(self.lmdp, self.learner, kept)
        with _explained(self.path), ExitStack() as failing:
            with atomic(self.path) as stream:
                stream.write(content)
                after = failing.enter_context(shared(stream))  # it is ours before it is there for others
            failing.pop_all()
            before, self.file = self.file, after
            before.close()
        self.added, self.spent = 0, 0.0
        self.due = max(_SECONDS_BETWEEN_SNAPSHOTS, _COST_OF_A_SNAPSHOT * (time.perf_counter() - began))

    def close(self, kept: Knowledge | None) -> None:
        """Fold what is known; where that cannot be, nothing is lost, for the records are there."""
        if kept is not None and self.added:
            with suppress(SpecError):
                self.fold(kept)
        self.file.close()


def _place(path: str | PathLike[str]) -> Path:
    place = Path(path)
    if place.exists() and not place.is_file():
        raise SpecError(f'"{path}" is not a file. Name a file for the learner.')
    return Path(os.path.realpath(place))  # a link stays a link: what is replaced is the file it leads to


def _in_use(path: Path) -> str:
    return f'"{path}" is in use: another process keeps its learner there. Stop it first.'


@contextmanager
def _unless_in_use(path: Path) -> Iterator[None]:
    """Keeps a memory from being opened there in the meantime; other processes may save there, too."""
    try:
        file = held(path, _in_use(path), alone=False)
    except FileNotFoundError:
        yield
        return
    with file:
        yield


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as refused:
        raise SpecError(f'"{path}" cannot be used: {refused.strerror}. Choose another place for the learner.') from None


@contextmanager
def _closing_on_error(file: BinaryIO) -> Iterator[None]:
    try:
        yield
    except BaseException:
        file.close()
        raise
