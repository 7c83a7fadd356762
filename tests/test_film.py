"""The film of a run: its frames are kept while it is played, and are those of the game played again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lsmdp
from lsmdp import runs
from lsmdp.errors import SpecError
from lsmdp.learners import CompleteLearner
from lsmdp.report import write_page
from lsmdp.report.frames import film_of, frames_by_replay
from lsmdp.runs import Folder, Spec, film, session
from lsmdp.runs.film import Film

# 120 rounds: after the first ten a game is played in blocks, and a film has 90 frames, which have to cut them.
GAMES = {
    "grid": Spec.of(kernel="grid:4x5", costs="iid", learners=("pool", "ftl", "btl", "passive"), rounds=120, seed=2),
    "network": Spec.of(kernel="random:7:3:1", costs="periodic:5", learners=("clock:5", "track"), rounds=120, seed=2),
}


@pytest.fixture(scope="module", params=GAMES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("film") / "run"
    runs.start(GAMES[request.param], found)
    return found


def nobody(_t: int) -> None:
    """Watches nothing."""


def again(path: Path) -> Film:
    """The film of the rounds, played again."""
    run = runs.load(path)
    made = Film(run.lmdp, [player.learner for player in run.game.players], run.rounds)
    frames_by_replay(made, run, nobody)
    return made


def test_what_was_kept_is_what_the_rounds_played_again_look_like(path: Path) -> None:
    kept, made = film_of(Folder(path), runs.load(path), nobody), again(path)
    assert kept is not None
    assert "btl" not in kept.names  # who sees costs beforehand is not on the map
    assert [frame.t for frame in kept.frames] == [frame.t for frame in made.frames] == sorted(kept.rounds)
    for one, other in zip(kept.frames, made.frames, strict=True):
        assert one.fields.keys() == other.fields.keys()
        for key, field in one.fields.items():
            there = other.fields[key]
            assert [field.low, field.high] == pytest.approx([there.low, there.high], rel=1e-9, abs=1e-12)
            apart = np.frombuffer(field.levels, np.uint8).astype(int) - np.frombuffer(there.levels, np.uint8)
            assert np.abs(apart).max() <= 1  # a byte may be rounded the other way


def test_a_page_does_not_play_a_filmed_run_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def observe(*_: object) -> None:
        raise AssertionError("a learner was asked to play")

    monkeypatch.setattr(CompleteLearner, "observe", observe)
    write_page(path, path / "page.html", certify="none")


def test_a_run_that_was_stopped_has_the_same_film(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "COST_OF_A_CHECKPOINT", 0.0)

    def stopping_at(t: int) -> session.Watch:
        def watch(game: lsmdp.game.Game, _: int | None) -> None:
            if game.t >= t:
                raise KeyboardInterrupt

        return watch

    spec, there = Folder(path).spec(), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        runs.start(spec, there, every=0.0, watch=stopping_at(50))
    with pytest.raises(KeyboardInterrupt):
        runs.resume(there, spec, every=0.0, watch=stopping_at(101))
    assert len(parquet.read_table(there / film.FILM)) < len(parquet.read_table(path / film.FILM))
    runs.resume(there, spec)
    assert (there / film.FILM).read_bytes() == (path / film.FILM).read_bytes()


def test_where_frames_are_missing_the_rounds_are_played_again(path: Path, tmp_path: Path) -> None:
    run, table = runs.load(path), parquet.read_table(path / film.FILM)
    parquet.write_table(table.filter(pa.compute.field("round") < 90), tmp_path / film.FILM)
    part = film_of(Folder(tmp_path), run, nobody)
    none = film_of(Folder(tmp_path / "nowhere"), run, nobody)
    assert part is not None
    assert none is not None
    assert part.frames == none.frames == again(path).frames


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.slice(1), "no table of"),
        (lambda table: table.drop_columns(["flat"]), "columns are not those of a film"),
        (lambda table: pa.concat_tables([table, table]), "does not begin the fields of the next round"),
        (lambda table: _with(table, "levels", b"abc"), "field cost of round 1 is not one of"),
        (lambda table: _with(table, "low", float("nan")), "field cost of round 1 is not one of"),
        (lambda table: _with(table, "learner", "somebody"), "does not begin the fields of the next round"),
    ],
)
def test_a_film_that_is_none_is_refused(path: Path, tmp_path: Path, change: object, reason: str) -> None:
    parquet.write_table(change(parquet.read_table(path / film.FILM)), tmp_path / film.FILM)  # type: ignore[operator]
    with pytest.raises(SpecError, match=rf"film.parquet\" is damaged \(.*{reason}"):
        film_of(Folder(tmp_path), runs.load(path), nobody)


def _with(table: pa.Table, name: str, value: object) -> pa.Table:
    """The same with another value in the first row."""
    at, values = table.column_names.index(name), table[name].to_pylist()
    return table.set_column(at, table.schema.field(name), pa.array([value, *values[1:]], table.schema.field(name).type))


def test_nothing_is_filmed_where_there_is_no_map_or_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, learners = lsmdp.LMDP(np.full((12, 12), 1 / 12)), [CompleteLearner.of(lsmdp.Passive())]
    assert Film.of_game(lmdp, learners, 10).rounds == frozenset(range(1, 11))
    assert not Film.of_game(lmdp, learners, None).rounds
    monkeypatch.setattr(film, "STATES_FILMED", 11)
    assert not Film.of_game(lmdp, learners, 10).rounds
    assert Film(lmdp, learners, 10).rounds
    monkeypatch.setattr(film, "STATES_LAID_OUT", 11)
    assert not Film(lmdp, learners, 10).rounds
