"""Playing a run, and going on with it.

A checkpoint is everything that the next round needs, so a run that is stopped after any round and goes on from its last
checkpoint does the same arithmetic as one that was never stopped. Checkpoints are made by time, not by rounds, and
take no more than about a tenth of it.

What stops a run keeps it: Ctrl-C waits for the end of the round (a second one does not wait) or, in a small game, of
the block of some hundred rounds that is being played at once, and a cost that cannot be used ends the game before its
round. Both save what was played, and the exception carries a note that says how to go on. A failure in the midst of a
round or block leaves the checkpoint before it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs import Costs
from lsmdp.errors import CostError, SpecError
from lsmdp.game import Game, Round, Run
from lsmdp.runs.film import Film
from lsmdp.runs.folder import CHECKPOINT_VERSION, Folder, damaged
from lsmdp.runs.manifest import (
    NO_ROUNDS,
    differences,
    hash_difference,
    hash_of_rounds,
    manifest,
    next_hash,
)
from lsmdp.runs.spec import Spec
from lsmdp.runs.summary import summarise
from lsmdp.runs.turn import Turn

SECONDS_BETWEEN_CHECKPOINTS = 2.0  # So many seconds are between two checkpoints, which is what a crash may cost.
# There are also this many times the seconds of the last checkpoint in between, so that it takes a tenth at most.
COST_OF_A_CHECKPOINT = 10.0
ROUNDS_ONE_BY_ONE = 10  # So many rounds are played one by one, so that there is something to see at once.

WatchGame = Callable[[Game, int | None], None]  # shown the game and the number of rounds, where that is known


def start(
    spec: Spec, path: str | PathLike[str], *, every: float = SECONDS_BETWEEN_CHECKPOINTS, watch: WatchGame | None = None
) -> Run:
    """Play a run from its first round to its end in a new folder; ``watch`` is called after each round or block."""
    folder = Folder(Path(path))
    folder.require_free()
    planned = _Planned.by(spec)
    made_from = manifest(spec, planned.game.lmdp, planned.costs)
    with folder.locked():
        folder.require_free()
        folder.create(spec, made_from)
        return _finish(folder, planned, _Keeper(folder, planned.game, planned.film(), every), watch)


def resume(
    path: str | PathLike[str],
    spec: Spec | None = None,
    *,
    every: float = SECONDS_BETWEEN_CHECKPOINTS,
    watch: WatchGame | None = None,
    trust: bool = False,
) -> Run:
    """Go on with the run in a folder; a ``spec`` must ask for the same run, and starts it where there is none yet.

    The inputs may have moved: what counts is that the kernel is the same, and so are the costs of the rounds played.
    Of a finished run nothing is left to do, unless the spec asks for the bracket, or for the dynamic regret by rounds
    and states, and the run was made without.
    ``trust`` is for a run without a spec, as for :func:`load`.
    """
    folder = Folder(Path(path))
    if spec is not None and not folder.has_run:
        return start(spec, path, every=every, watch=watch)
    folder.require_run()
    with folder.locked():
        there = folder.spec()
        if spec is None and not trust:
            _require_near(folder, there)
        planned = _Planned.by(_continued(there, spec))
        keeper = _Keeper(folder, planned.game, planned.film(), every)
        saved = folder.checkpoint()
        if saved is None and folder.is_played:
            raise damaged(folder.path / "checkpoint.npz", "it is not there")
        _require_same_run(folder, there, planned, saved)
        if saved is not None:
            keeper.restore(saved, planned.costs.T)
        if not folder.is_played:
            folder.require_parts(keeper.parts)
            keeper.film.resume(folder, planned.game.t)
        folder.drop_parts_after(len(keeper.parts))
        if (planned.spec.bracket, planned.spec.dynamic) != (there.bracket, there.dynamic):
            folder.drop_summary()
        folder.write_spec(planned.spec)
        return _finish(folder, planned, keeper, watch)


def load(path: str | PathLike[str], *, trust: bool = False) -> Run:
    """The run in a folder, as far as it was played. Its kernel and costs are read, but nothing is played.

    Inputs that have changed since are refused: what the folder says would not be about them. A folder may come from
    somebody else, and its spec may name any file of yours: those outside of the folder of the run and of the one you
    are in are read only if you ``trust`` it.
    """
    folder = Folder(Path(path))
    folder.require_run()
    saved = folder.checkpoint()
    if saved is None:
        raise SpecError(f'"{path}" holds a run of which no round was saved yet. Go on with it with --resume.')
    spec = folder.spec()
    if not trust:
        _require_near(folder, spec)
    planned = _Planned.by(spec)
    if different := _changed_inputs(folder, planned, saved):
        raise SpecError(
            f'"{path}" was played on other inputs: they differ in {", ".join(different)}. Bring back the files as they '
            "were, or play again with another --out."
        )
    _Keeper(folder, planned.game, planned.film()).restore(saved, planned.costs.T)
    return planned.run()


def _require_near(folder: Folder, spec: Spec) -> None:
    """Raise where a spec leads away from its folder and from the one we are in."""
    places = [folder.path.resolve(), Path.cwd()]
    for what, path in spec.files():
        try:
            near = any(path.resolve().is_relative_to(place) for place in places)
        except (OSError, RuntimeError, ValueError):  # a circle of links, or no path at all
            near = False
        if not near:
            raise SpecError(
                f'"{folder.path}" was played on the {what} in "{path}", which is outside of it and of the folder that '
                "you are in. If the run is yours, or you trust whoever made it, say so with --trust (trust=True)."
            )


def _continued(there: Spec, here: Spec | None) -> Spec:
    """What is asked for now; what was once asked for besides the game stays."""
    if here is None:
        return there
    both = {"bracket": here.bracket or there.bracket, "dynamic": here.dynamic or there.dynamic}
    return here.model_copy(update=both)


class _Planned(NamedTuple):
    """What a spec asks for: the costs, and the game that they are to be played in."""

    spec: Spec
    costs: Costs
    game: Game

    @classmethod
    def by(cls, spec: Spec) -> _Planned:
        """The game of a spec before round 1."""
        lmdp = spec.model()
        options: dict[str, Any] = {"start": spec.start, "sample": spec.sample, "seed": spec.seed}
        game = Game.begin(lmdp, spec.players(), **options, feedback=spec.feedback)
        return cls(spec, spec.cost_sequence(lmdp), game)

    def film(self) -> Film:
        """The film of all its rounds, without a frame yet."""
        return Film.of_game(self.game.lmdp, [player.learner for player in self.game.players], self.costs.T)

    def run(self) -> Run:
        """The rounds played so far."""
        return Run(self.game, replace(self.costs, T=self.game.t))


@dataclass
class _Keeper:
    """Writes down what is played, in parts and checkpoints."""

    folder: Folder
    game: Game
    film: Film
    every: float = SECONDS_BETWEEN_CHECKPOINTS
    parts: list[int] = field(default_factory=list)  # a checksum for each
    saved: int = 0  # rounds
    hashed: bytes = NO_ROUNDS
    rows: list[Round] = field(default_factory=list)
    due: float = 0.0

    def restore(self, saved: dict[str, Any], rounds: int | None) -> None:
        """Go on from a checkpoint of a game of so many rounds, if their number is known."""
        try:
            if rounds is not None and saved["t"] > rounds:
                raise SpecError(f"it is of round {saved['t']}, and the game has {rounds}")
            self.game.restore(saved, costs=(0.0, 1.0), states=saved["version"] == CHECKPOINT_VERSION)
        except SpecError as broken:
            raise damaged(self.folder.path / "checkpoint.npz", broken) from None
        self.parts, self.hashed, self.saved = saved["parts"].tolist(), saved["hash"].tobytes(), self.game.t

    def play(self, costs: Floats) -> None:
        """Play the next rounds, one for each row; save if it is time to. No round but the first is filmed."""
        if self.game.t + 1 in self.film.rounds:
            self.film.keep(self.game, costs[0])
        played = self.game.play(costs)
        self.rows += chain.from_iterable(zip(*(records.rows() for records in played), strict=True))
        for c_t in costs:
            self.hashed = next_hash(self.hashed, c_t)
        if time.perf_counter() >= self.due:
            self.save()

    def save(self) -> None:
        """Write down the rounds since the last time, then the checkpoint that counts them."""
        if not self.rows:
            return
        began = time.perf_counter()
        parts = [*self.parts, self.folder.write_part(len(self.parts) + 1, self.rows)]
        self.film.write(self.folder)
        own = {"parts": np.array(parts, dtype=np.uint64), "hash": np.frombuffer(self.hashed, dtype=np.uint8)}
        self.folder.write_checkpoint(self.game.to_arrays() | own)
        self.parts, self.saved, self.rows = parts, self.game.t, []
        ended = time.perf_counter()
        self.due = ended + max(self.every, COST_OF_A_CHECKPOINT * (ended - began))


def _play(keeper: _Keeper, costs: Costs, watch: WatchGame | None) -> None:
    """Play the rounds that are left, and save whatever was played when that ends."""
    turn = Turn()
    with turn.minding():
        try:
            for block in _blocks(keeper.game, costs, keeper.film.rounds):
                with turn:
                    keeper.play(block)
                if watch is not None:
                    watch(keeper.game, costs.T)
        finally:
            if not turn.is_on:
                keeper.save()


def _blocks(game: Game, costs: Costs, starts: frozenset[int]) -> Iterator[Floats]:
    """The rounds that are left: one by one, and several at a time once a game is under way; a block at each start."""
    t = game.t
    for block in costs.blocks_from(t + 1):
        alone = range(min(len(block), max(0, ROUNDS_ONE_BY_ONE - t) + 1))
        cuts = {*alone, *(start - t - 1 for start in starts if t < start <= t + len(block)), len(block)}
        yield from (block[first:end] for first, end in pairwise(sorted(cuts)))
        t += len(block)


def _finish(folder: Folder, planned: _Planned, keeper: _Keeper, watch: WatchGame | None) -> Run:
    """Whatever is left to do of a run."""
    try:
        if not folder.is_played:
            _play(keeper, planned.costs, watch)
        folder.join(keeper.parts)
        run = planned.run()
        if not folder.is_finished:
            folder.write_summary(summarise(folder, run))
    except BaseException as stop:
        if saved := _saved_rounds(folder, keeper):
            stop.add_note(_how_to_go_on(folder, planned, saved, isinstance(stop, CostError)))
        else:
            folder.discard()
        raise
    return run


def _saved_rounds(folder: Folder, keeper: _Keeper) -> int:
    """The rounds of the last checkpoint: also one that got into its place before its writing failed."""
    with suppress(OSError, SpecError):
        found = folder.checkpoint()
        return 0 if found is None else int(found["t"])
    return keeper.saved


def _how_to_go_on(folder: Folder, planned: _Planned, saved: int, costs_failed: bool) -> str:
    kept = f'Rounds 1 to {saved:,} are kept in "{folder.path}".'
    if not planned.costs.replayable and not folder.is_played:
        return f"{kept} Standard input cannot be read again: to go on, name a file that holds all its lines as --costs."
    go_on = "Once the costs are corrected, go on with" if costs_failed else "Go on with"
    return f"{kept} {go_on}: {planned.spec.command(folder.path)}"


def _changed_inputs(folder: Folder, planned: _Planned, saved: dict[str, Any] | None) -> list[str]:
    """Which of the kernel and the costs are not those of the rounds in the folder."""
    old, new = folder.manifest(), manifest(planned.spec, planned.game.lmdp, planned.costs)
    different = []
    if old.get("kernel") != new["kernel"]:
        different.append(hash_difference("kernel", old, new))
    if old.get("costs") != new["costs"] and not _same_past(folder, planned.costs, saved):
        different.append(hash_difference("costs", old, new))
    return different


def _require_same_run(folder: Folder, there: Spec, planned: _Planned, saved: dict[str, Any] | None) -> None:
    """Raise unless the rounds in the folder are those that this game would have played."""
    old, new = folder.manifest(), manifest(planned.spec, planned.game.lmdp, planned.costs)
    different = differences(there, planned.spec) + _changed_inputs(folder, planned, saved)
    if different:
        raise SpecError(
            f'"{folder.path}" holds another run, which differs in {", ".join(different)}. Ask for the same, or '
            "choose another folder with --out."
        )
    if not planned.costs.replayable and not folder.is_played:
        raise SpecError(
            f'"{folder.path}" holds an unfinished run on costs from standard input, which cannot be read again. To go '
            "on, name a file that holds all its lines as --costs."
        )
    if old.get("versions") != new["versions"]:
        warnings.warn(_other_versions(folder, old, new), stacklevel=3)
    if old.get("costs") != new["costs"]:
        folder.write_manifest(old | {"costs": new["costs"]})


def _same_past(folder: Folder, costs: Costs, saved: dict[str, Any] | None) -> bool:
    """Whether costs that are not the same are so in the rounds that were played, with others still to come."""
    if folder.is_played or not costs.replayable:
        return False
    return saved is None or hash_of_rounds(costs, int(saved["t"])) == saved["hash"].tobytes()


def _other_versions(folder: Folder, old: dict[str, Any], new: dict[str, Any]) -> str:
    then = old.get("versions") or {}
    changed = [f"{name} {then.get(name)} -> {now}" for name, now in new["versions"].items() if then.get(name) != now]
    return (
        f'"{folder.path}" was begun with other versions ({", ".join(changed)}): the last digits may differ from those '
        "of a run in one go."
    )
