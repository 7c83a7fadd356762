"""Run folders: what is in them, that they survive any crash with the same bits, and what they refuse."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from lsmdp import costs as costs_module
from lsmdp import game, runs
from lsmdp.errors import ConvergenceError, CostError, SpecError
from lsmdp.inputs import forms
from lsmdp.learners import FollowTheLeader, Passive, TrackTheLeader
from lsmdp.regret import regret
from lsmdp.runs import (
    Folder,
    Spec,
    folder,
    session,
)
from lsmdp.runs.spec import default_folder
from lsmdp.sources import makers

DYNAMIC = {"dynamic.parquet", "dynamic_states.parquet"}
FILES = {"spec.toml", "manifest.json", "checkpoint.npz", "film.parquet", "rounds.parquet", "summary.json", *DYNAMIC}
SMALL = Spec.of(kernel="random:7:3:1", costs="iid", learners=("ftl", "track"), rounds=6, seed=3, sample=4)


# A first round, one in between, and the last: where a crash differs. Files do not depend on how many play.
SHORT = SMALL.model_copy(update={"rounds": 3, "learners": SMALL.learners[:1]})


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every round."""
    monkeypatch.setattr(session, "COST_OF_A_CHECKPOINT", 0.0)
    monkeypatch.setattr(session, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SMALL, played in one go."""
    path = tmp_path_factory.mktemp("whole") / "run"
    runs.start(SMALL, path)
    return path


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SHORT, played in one go."""
    path = tmp_path_factory.mktemp("short") / "run"
    runs.start(SHORT, path)
    return path


def rows(path: Path) -> dict[str, list[Any]]:
    """The rounds of a run, column by column, but for how long they took."""
    return Folder(path).rounds().drop(["seconds"]).to_pydict()


def timeless(value: Any) -> Any:
    """A summary without how long anything took."""
    if isinstance(value, dict):
        return {key: timeless(part) for key, part in value.items() if key != "seconds"}
    return value


def assert_same_bits(one: Path, other: Path) -> None:
    assert {entry.name for entry in one.iterdir()} == {entry.name for entry in other.iterdir()} == FILES
    assert rows(one) == rows(other)
    assert timeless(Folder(one).summary()) == timeless(Folder(other).summary())
    assert Folder(one).manifest() == Folder(other).manifest()
    last, reference = Folder(one).checkpoint(), Folder(other).checkpoint()
    assert last is not None
    assert reference is not None
    for name in reference.keys() - {"parts"}:
        columns = slice(None, -1) if name.endswith("tallies") else slice(None)  # the last one is seconds
        np.testing.assert_array_equal(
            np.atleast_1d(last[name])[..., columns], np.atleast_1d(reference[name])[..., columns]
        )


def stopping_after(t: int, stop: Callable[[], None]) -> session.Watch:
    def watch(table: game.Game, _: int | None) -> None:
        if table.t == t:
            stop()

    return watch


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupted(path: Path, spec: Spec = SMALL, after: int = 3) -> KeyboardInterrupt:
    """A run that Ctrl-C stopped after some round."""
    with pytest.raises(KeyboardInterrupt) as stop:
        runs.start(spec, path, watch=stopping_after(after, ctrl_c))
    return stop.value


class TestSpec:
    texts = st.text(st.characters(exclude_categories=["Cs"]))
    numbers = st.floats(allow_nan=False, allow_infinity=False)

    @given(kernel=texts, costs=texts, start=texts, scale=st.none() | st.tuples(numbers, numbers), teleport=numbers)
    def test_toml_brings_it_back(self, tmp_path_factory: pytest.TempPathFactory, **fields: Any) -> None:
        spec = Spec.of(**fields)
        path = tmp_path_factory.getbasetemp() / "spec.toml"
        path.write_bytes(spec.to_toml().encode())
        assert Spec.read(path) == spec

    def test_all_faults_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "spec.toml"
        path.write_text(
            'costs = 3\nrounds = 0\nlearners = ["ftl", "trakc"]\nseed = "1"\nspeed = 2\ntemperature = nan\n'
        )
        with pytest.raises(SpecError) as found:
            Spec.read(path)
        message = str(found.value)
        assert message.startswith(f'"{path}": ')
        for fault in (
            'the field "kernel" is missing',
            "costs is 3: it must be a text",
            "rounds is 0: it must be at least 1",
            'learners.1 is \'trakc\': there is no learner "trakc". Did you mean "track"?',
            "seed is '1': it must be a whole number",
            'there is no field "speed"',
            "temperature is nan: it must be a finite number",
        ):
            assert fault in message

    def test_faults_of_options_name_the_options(self) -> None:
        with pytest.raises(SpecError) as found:
            Spec.of_options(
                kernel=3,
                costs="iid",
                rounds=10**13,
                learners=("ftl", "fttl"),
                feedback="no",
                largest_class=2,
                scale=(1,),
            )
        for fault in (
            "KERNEL is 3: it must be a text; --learner is",
            '--learner is \'fttl\': there is no learner "fttl". Did you mean "ftl"? Learners: ftl, track',
            "--rounds is 10000000000000: it must be at most 1,000,000,000,000;",
            "--feedback is 'no': it must be 'full' or 'visited'",
            "--largest-class is 2: it must be true or false",
        ):
            assert fault in str(found.value)

    def test_no_toml(self, tmp_path: Path) -> None:
        (tmp_path / "spec.toml").write_text("kernel = ring")
        with pytest.raises(SpecError, match="is not TOML"):
            Spec.read(tmp_path / "spec.toml")

    @pytest.mark.parametrize(
        ("kernel", "costs", "name"),
        [
            ("ring:12", "switching:50", "ring-12-switching-50"),
            ("ring:12:0.25", "iid", "ring-12-0.25-iid"),
            ("data/los_adj.csv", "/abs/speeds.v2.NPY", "los_adj-speeds.v2"),
            ("a b/ü ?*.mtx", "-", "stdin"),
            ("..", "..", "run"),
            ("x" * 300, "iid", "x" * 100),
        ],
    )
    def test_a_default_folder_is_safe(self, kernel: str, costs: str, name: str) -> None:
        assert default_folder(kernel, costs) == Path("runs", name)


class TestContents:
    def test_the_files(self, whole: Path) -> None:
        assert {entry.name for entry in whole.iterdir()} == FILES
        assert Folder(whole).spec() == SMALL

    def test_the_rounds_are_those_of_the_game(self, whole: Path) -> None:
        lmdp = makers.random_graph(7, 3, 1)
        costs = costs_module.read_costs("iid", lmdp, rounds=6, seed=3)
        played: list[game.Round] = []
        game.play(lmdp, [FollowTheLeader(), TrackTheLeader()], costs, sample=4, seed=3, watch=played.extend)
        expected = {
            name: list(values) for name, values in zip(game.Round._fields, zip(*played, strict=True), strict=True)
        }
        del expected["seconds"]
        assert rows(whole) == expected

    def test_what_was_not_computed_is_null(self, tmp_path: Path) -> None:
        runs.start(SMALL.model_copy(update={"learners": ("passive",), "sample": 0}), tmp_path / "run")
        table = rows(tmp_path / "run")
        assert table["gap"] == table["sampled_loss"] == [None] * 6

    def test_the_summary_is_the_regret(self, whole: Path) -> None:
        lmdp = makers.random_graph(7, 3, 1)
        costs = costs_module.read_costs("iid", lmdp, rounds=6, seed=3)
        run = game.play(lmdp, [FollowTheLeader(), TrackTheLeader()], costs, sample=4, seed=3)
        summary = Folder(whole).summary()
        assert {name: summary[name] for name in ("states", "rounds", "start", "finished")} == {
            "states": 7,
            "rounds": 6,
            "start": 0,
            "finished": True,
        }
        assert timeless(summary["learners"]) == timeless(json.loads(json.dumps(regret(run).to_dict()["learners"])))

    def test_the_manifest_depends_on_the_inputs_only(self, whole: Path, tmp_path: Path) -> None:
        runs.start(SMALL, tmp_path / "again")
        assert (tmp_path / "again" / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()
        manifest = Folder(whole).manifest()
        assert set(manifest) == {"versions", "kernel", "costs", "seed", "states", "start"}
        assert set(manifest["versions"]) == {"python", "lsmdp", "numpy", "scipy", "numba"}

    @pytest.mark.parametrize("change", [{"kernel": "random:7:3:2"}, {"lazy": 0.1}])
    def test_another_kernel_has_another_hash(self, whole: Path, tmp_path: Path, change: dict[str, Any]) -> None:
        runs.start(SMALL.model_copy(update=change), tmp_path / "other")
        assert Folder(tmp_path / "other").manifest()["kernel"] != Folder(whole).manifest()["kernel"]

    def test_the_spec_runs_again_to_the_same_bits(self, whole: Path, tmp_path: Path) -> None:
        runs.start(Spec.read(whole / "spec.toml"), tmp_path / "again")
        assert_same_bits(tmp_path / "again", whole)

    def test_row_groups_do_not_depend_on_the_parts(
        self, eager: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(folder, "ROW_GROUP", 5)
        runs.start(SMALL, tmp_path / "parts", every=0.0)
        file = parquet.ParquetFile(tmp_path / "parts" / "rounds.parquet")
        assert [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)] == [5, 5, 2]
        assert file.read()["round"].to_pylist() == [t for t in range(1, 7) for _ in SMALL.learners]

    def test_a_scale_is_undone_in_your_units(self, tmp_path: Path) -> None:
        """Speeds from 70 down to 0 are costs from 0 to 1: a loss of 1 is a loss of 70."""
        speeds = 70.0 * np.random.default_rng(0).random((20, 5))
        np.save(tmp_path / "speeds.npy", speeds)
        spec = Spec.of(
            kernel="ring:5", costs=str(tmp_path / "speeds.npy"), scale=(70.0, 0.0), learners=("ftl", "passive")
        )
        runs.start(spec, tmp_path / "run")
        summary = Folder(tmp_path / "run").summary()
        units = summary["your_units"]
        assert (units["low"], units["high"]) == (70.0, 0.0)
        for name, one in summary["learners"].items():
            mine = units["learners"][name]
            assert mine["loss"] == pytest.approx(70.0 * one["loss"], rel=1e-15)
            assert mine["regret"]["leader"] == pytest.approx(70.0 * one["regret"]["leader"], rel=1e-15)
            assert mine["regret"]["best_stationary_low"] is None
        law, P = np.eye(5)[0], makers.ring(5).P.toarray()
        lost = 0.0
        for speed in speeds:
            lost += float(law @ (70.0 - speed))
            law = law @ P
        assert units["learners"]["passive"]["loss"] == pytest.approx(lost, rel=1e-12)  # sums of 20 rounds

    def test_load_gives_the_run(self, whole: Path) -> None:
        run = runs.load(whole)
        assert (run.rounds, list(run.learners), run.lmdp.n) == (6, ["ftl", "track"], 7)
        assert (
            timeless(regret(run).to_dict()["learners"]["ftl"]["regret"])
            == Folder(whole).summary()["learners"]["ftl"]["regret"]
        )


class Killed(BaseException):
    """The machine goes off."""


class Power:
    """Cuts the power before the file operation number ``lasts`` and all that follow it."""

    def __init__(self, lasts: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = lasts
        monkeypatch.setattr(os, "fsync", lambda _: None)  # what is written is not lost with a power that is not real
        for name in ("open", "fsync", "replace", "unlink", "mkdir", "rmdir"):
            monkeypatch.setattr(os, name, self.guarded(getattr(os, name)))

    def guarded(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def guard(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise Killed
            return operation(*arguments, **options)

        return guard


def failing_at(number: int) -> Callable[[int], None]:
    """A sync of which this one fails, and the others do nothing."""
    syncs = iter(range(10**6))

    def sync(_: int) -> None:
        if next(syncs) == number:
            raise OSError(5, "Input/output error")

    return sync


class TestCrashes:
    def test_a_crash_at_any_file_operation(self, eager: None, short: Path, tmp_path: Path) -> None:
        """Twice each: in a fresh run, and again one operation later in the run that was resumed."""
        finished, lasts = False, 0
        while not finished:
            path = tmp_path / str(lasts)
            for extra in (0, 1):
                try:
                    with pytest.MonkeyPatch.context() as patch:
                        Power(lasts + extra, patch)
                        runs.resume(path, SHORT, every=0.0)
                        finished |= extra == 0
                except Killed:
                    pass
            runs.resume(path, SHORT)
            assert_same_bits(path, short)
            lasts += 1
        assert lasts > 4 * (2 + 2 * 3 + 2)  # spec and manifest, a part and a checkpoint a round, the end: 4 each

    def test_the_crash_test_can_fail(
        self, eager: None, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A checkpoint that forgets the law of the state is found out."""
        restore = game.Player.restore

        def forgetful(player: game.Player, arrays: Any, past: Any) -> None:
            restore(player, {**arrays, "law": np.full_like(arrays["law"], 1.0 / arrays["law"].size)}, past)

        monkeypatch.setattr(game.Player, "restore", forgetful)
        interrupted(tmp_path / "run")
        runs.resume(tmp_path / "run")
        with pytest.raises(AssertionError):
            assert_same_bits(tmp_path / "run", whole)

    def test_a_failing_write_leaves_the_old_checkpoint(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupted(tmp_path / "run")
        before = (tmp_path / "run" / "checkpoint.npz").read_bytes()
        savez = np.savez

        def full(stream: Any, **arrays: Any) -> None:
            savez(stream, **dict(list(arrays.items())[:2]))
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space left") as failure:
            runs.resume(tmp_path / "run")
        assert "Rounds 1 to 3 are kept" in failure.value.__notes__[0]
        assert (tmp_path / "run" / "checkpoint.npz").read_bytes() == before
        assert not list((tmp_path / "run").glob("*.tmp"))
        monkeypatch.undo()
        assert runs.resume(tmp_path / "run").rounds == 6

    def test_a_sync_that_fails_leaves_no_orphan(self, eager: None, short: Path, tmp_path: Path) -> None:
        """Each in its turn. One right after the first checkpoint once left a folder that was of no use to anybody."""
        finished, number = False, 0
        while not finished:
            path, told = tmp_path / str(number), []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "fsync", failing_at(number))
                try:
                    runs.start(SHORT, path, every=0.0)
                    finished = True
                except (OSError, SpecError) as failure:
                    told = getattr(failure, "__notes__", [])
            saved = Folder(path).checkpoint()
            assert path.exists() is Folder(path).has_run is (saved is not None)
            if saved is not None and not finished:
                assert told[0].startswith(f"Rounds 1 to {saved['t']} are kept")
            runs.resume(path, SHORT)
            assert_same_bits(path, short)
            number += 1
        assert number > 2 * (2 + 2 * 3 + 2)  # a file and its folder: spec, manifest, parts, checkpoints, the end

    @pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a posix signal")
    def test_killed_at_random_moments(self, tmp_path: Path) -> None:
        """A real process, killed with SIGKILL when fresh and when resumed, against one that was left alone."""
        spec = Spec.of(kernel="random:31:4:2", costs="switching:7", learners=("ftl", "track"), rounds=1000, sample=3)
        rng = np.random.default_rng(0)
        path = tmp_path / "killed"
        words = ["--learner", "ftl", "--learner", "track", "--rounds", "1000", "--sample", "3", "--checkpoint", "0.01"]
        command = ["play", spec.kernel, "--costs", spec.costs, *words, "--out", str(path), "--resume", "--quiet"]
        reached = [0]
        for _ in range(2):
            process = subprocess.Popen([sys.executable, "-c", "from lsmdp.cli import main; main()", *command])
            wait_for_checkpoint(path, process, beyond=reached[-1])
            time.sleep(rng.uniform(0.0, 0.1))  # anywhere in a round, or in a write
            process.kill()
            assert process.wait() == -signal.SIGKILL
            reached.append(runs.load(path).rounds)
        assert reached == sorted(set(reached))
        assert not Folder(path).is_played
        runs.resume(path)
        runs.start(spec, tmp_path / "alone")
        assert_same_bits(path, tmp_path / "alone")


def wait_for_checkpoint(path: Path, process: subprocess.Popen[bytes], beyond: int) -> None:
    """Until the process has saved a round after ``beyond``."""
    for _ in range(3000):
        saved = Folder(path).checkpoint()
        if saved is not None and saved["t"] > beyond:
            return
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    pytest.fail("it saved nothing for 30 seconds")


class TestStops:
    def test_ctrl_c_keeps_what_was_played(self, whole: Path, tmp_path: Path) -> None:
        stop = interrupted(tmp_path / "run")
        command = SMALL.command(tmp_path / "run")
        assert stop.__notes__ == [f'Rounds 1 to 3 are kept in "{tmp_path / "run"}". Go on with: {command}']
        assert rows(tmp_path / "run") == {name: column[:6] for name, column in rows(whole).items()}
        assert runs.load(tmp_path / "run").rounds == 3
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        runs.resume(tmp_path / "run")
        assert_same_bits(tmp_path / "run", whole)

    def test_ctrl_c_waits_for_the_end_of_the_round(
        self, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        observe = FollowTheLeader.observe_block

        def pressing(learner: FollowTheLeader, lmdp: Any, state: Any, *given: Any) -> Any:
            if state.t == 3:
                ctrl_c()
            return observe(learner, lmdp, state, *given)

        with monkeypatch.context() as patch:
            patch.setattr(FollowTheLeader, "observe_block", pressing)
            with pytest.raises(KeyboardInterrupt):
                runs.start(SMALL, tmp_path / "run")
        assert runs.load(tmp_path / "run").rounds == 4
        runs.resume(tmp_path / "run")
        assert_same_bits(tmp_path / "run", whole)

    def test_a_second_ctrl_c_does_not_wait(
        self, eager: None, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        observe = TrackTheLeader.observe_block

        def pressing(learner: TrackTheLeader, lmdp: Any, state: Any, *given: Any) -> Any:
            if state.t == 3:
                ctrl_c()
                ctrl_c()
            return observe(learner, lmdp, state, *given)

        with monkeypatch.context() as patch:
            patch.setattr(TrackTheLeader, "observe_block", pressing)
            with pytest.raises(KeyboardInterrupt):
                runs.start(SMALL, tmp_path / "run", every=0.0)
        assert runs.load(tmp_path / "run").rounds == 3  # the round in progress is lost
        runs.resume(tmp_path / "run")
        assert_same_bits(tmp_path / "run", whole)

    def test_in_a_thread(self, whole: Path, tmp_path: Path) -> None:
        """Signals are none of its business there."""
        thread = threading.Thread(target=runs.start, args=(SMALL, tmp_path / "run"))
        thread.start()
        thread.join()
        assert_same_bits(tmp_path / "run", whole)

    def test_a_failing_learner_leaves_the_round_before(
        self, eager: None, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        observe = TrackTheLeader.observe_block

        def failing(learner: TrackTheLeader, lmdp: Any, state: Any, *given: Any) -> Any:
            if state.t == 4:
                raise ConvergenceError("no certificate")
            return observe(learner, lmdp, state, *given)

        with monkeypatch.context() as patch:
            patch.setattr(TrackTheLeader, "observe_block", failing)
            with pytest.raises(ConvergenceError) as failure:
                runs.start(SMALL, tmp_path / "run", every=0.0)
        assert "Rounds 1 to 4 are kept" in failure.value.__notes__[0]
        runs.resume(tmp_path / "run")
        assert_same_bits(tmp_path / "run", whole)

    def test_a_summary_that_was_interrupted(self, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(session, "summarise", stop)
            with pytest.raises(KeyboardInterrupt) as stopped:
                runs.start(SMALL, tmp_path / "run")
        assert "Rounds 1 to 6 are kept" in stopped.value.__notes__[0]
        runs.resume(tmp_path / "run")
        assert_same_bits(tmp_path / "run", whole)


class TestCosts:
    """Costs that go wrong in some round."""

    GOOD = np.random.default_rng(1).random((8, 4))

    @pytest.fixture
    def spec(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spec:
        monkeypatch.chdir(tmp_path)  # files below are read without being told to trust the folder
        return Spec.of(kernel="ring:4", costs=str(tmp_path / "costs.npy"), learners=("ftl", "passive"), rounds=8)

    def write(self, spec: Spec, round_: int, values: Any) -> None:
        costs = self.GOOD.copy()
        costs[round_ - 1] = values
        np.save(spec.costs, costs)

    def test_the_rounds_before_are_kept_and_the_rest_can_be_repaired(self, spec: Spec, tmp_path: Path) -> None:
        self.write(spec, 6, np.nan)
        with pytest.raises(CostError, match="round 6, state 0: the cost is nan") as failure:
            runs.start(spec, tmp_path / "run")
        assert "Rounds 1 to 5 are kept" in failure.value.__notes__[0]
        assert runs.load(tmp_path / "run").rounds == 5
        np.save(spec.costs, self.GOOD)
        runs.resume(tmp_path / "run")
        runs.start(spec, tmp_path / "whole")
        assert_same_bits(tmp_path / "run", tmp_path / "whole")

    def test_too_few_rounds_can_be_completed(self, spec: Spec, tmp_path: Path) -> None:
        np.save(spec.costs, self.GOOD[:5])
        with pytest.raises(CostError, match="there is no round 6"):
            runs.start(spec, tmp_path / "run")
        np.save(spec.costs, self.GOOD)
        assert runs.resume(tmp_path / "run").rounds == 8

    def test_the_past_cannot_be_repaired(self, spec: Spec, tmp_path: Path) -> None:
        self.write(spec, 6, 7.0)
        with pytest.raises(CostError, match="outside"):
            runs.start(spec, tmp_path / "run")
        self.write(spec, 5, 0.5)
        with pytest.raises(SpecError, match=r"differs in costs \(sha256 \w{12} there, \w{12} here\)"):
            runs.resume(tmp_path / "run")

    def test_a_wrong_first_round_leaves_nothing(self, spec: Spec, tmp_path: Path) -> None:
        self.write(spec, 1, 70.0)
        with pytest.raises(CostError, match="--scale") as failure:
            runs.start(spec, tmp_path / "deep" / "run")
        assert not hasattr(failure.value, "__notes__")
        assert not (tmp_path / "deep" / "run").exists()

    def test_costs_may_move_to_another_file(self, spec: Spec, tmp_path: Path) -> None:
        np.save(spec.costs, self.GOOD)
        interrupted(tmp_path / "run", spec)
        Path(spec.costs).unlink()
        with pytest.raises(SpecError, match="does not exist"):
            runs.resume(tmp_path / "run")
        moved = spec.model_copy(update={"costs": str(tmp_path / "moved.csv")})
        np.savetxt(moved.costs, self.GOOD, delimiter=",", fmt="%.17g")
        runs.resume(tmp_path / "run", moved)
        assert Folder(tmp_path / "run").spec() == moved
        runs.start(moved, tmp_path / "whole")
        assert_same_bits(tmp_path / "run", tmp_path / "whole")

    def test_a_finished_run_does_not_take_more_rounds(self, spec: Spec, tmp_path: Path) -> None:
        np.save(spec.costs, self.GOOD[:6])
        runs.start(spec.model_copy(update={"rounds": None}), tmp_path / "run")
        np.save(spec.costs, self.GOOD)
        with pytest.raises(SpecError, match="differs in costs"):
            runs.resume(tmp_path / "run")

    def test_standard_input_cannot_be_resumed_but_a_file_can(
        self, spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines = "".join(f"{json.dumps(row)}\n" for row in self.GOOD.tolist())
        (tmp_path / "costs.jsonl").write_text(lines)
        streamed = spec.model_copy(update={"costs": "-"})
        with (tmp_path / "costs.jsonl").open() as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stream)
            stop = interrupted(tmp_path / "run", streamed)
        assert "Standard input cannot be read again" in stop.__notes__[0]
        with pytest.raises(SpecError, match="standard input, which cannot be read again"):
            runs.resume(tmp_path / "run")
        saved = spec.model_copy(update={"costs": str(tmp_path / "costs.jsonl")})
        runs.resume(tmp_path / "run", saved)
        runs.start(saved, tmp_path / "whole")
        assert_same_bits(tmp_path / "run", tmp_path / "whole")

    def test_standard_input_to_its_end(self, spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "costs.csv").write_text("0.5,0,0,1\n1,0,0,0\n")
        with (tmp_path / "costs.csv").open() as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stream)
            runs.start(spec.model_copy(update={"costs": "-", "rounds": None}), tmp_path / "run")
        summary = Folder(tmp_path / "run").summary()
        assert summary["rounds"] == 2
        assert summary["learners"]["passive"]["regret"]["leader"] is None
        assert Folder(tmp_path / "run").manifest()["costs"] is None
        assert runs.resume(tmp_path / "run").rounds == 2


class TestOtherRuns:
    @pytest.mark.parametrize(
        ("change", "difference"),
        [
            ({"learners": ("ftl",)}, "learners (ftl track there, ftl here)"),
            ({"rounds": 12}, "rounds (6 there, 12 here)"),
            ({"start": "2"}, "start (0 there, 2 here)"),
            ({"sample": 0}, "sample (4 there, 0 here)"),
            ({"temperature": 0.5}, "temperature (1.0 there, 0.5 here)"),
            ({"seed": 4}, "seed (3 there, 4 here), costs (sha256 "),
            ({"kernel": "random:7:3:2"}, "kernel (sha256 "),
            ({"kernel": "random:7:3:2", "rounds": 5}, "rounds (6 there, 5 here), kernel (sha256 "),
            ({"lazy": 0.2}, "kernel (sha256 "),
            ({"costs": "binary"}, "costs (sha256 "),
            ({"scale": (0.0, 2.0)}, "scale (none given there, 0.0 2.0 here), costs (sha256 "),
        ],
    )
    @pytest.mark.parametrize("finished", [True, False])
    def test_other_inputs_are_refused(
        self, whole: Path, tmp_path: Path, change: dict[str, Any], difference: str, finished: bool
    ) -> None:
        path = whole
        if not finished:
            path = tmp_path / "run"
            interrupted(path)
        before = {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.is_file()}
        with pytest.raises(SpecError) as refusal:
            runs.resume(path, SMALL.model_copy(update=change))
        assert str(refusal.value).startswith(f'"{path}" holds another run, which differs in {difference}')
        assert str(refusal.value).endswith("Ask for the same, or choose another folder with --out.")
        assert {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.is_file()} == before

    def test_a_finished_run_is_left_as_it_is(self, tmp_path: Path, whole: Path) -> None:
        path = shutil.copytree(whole, tmp_path / "run")
        before = {entry.name: entry.read_bytes() for entry in path.iterdir()}
        assert runs.resume(path, SMALL, watch=stopping_after(1, ctrl_c)).rounds == 6
        assert {entry.name: entry.read_bytes() for entry in path.iterdir()} == before

    def test_a_bracket_can_be_asked_for_later(self, tmp_path: Path, whole: Path) -> None:
        path = shutil.copytree(whole, tmp_path / "run")
        asking = SMALL.model_copy(update={"bracket": True})
        runs.resume(path, asking)
        runs.start(asking, tmp_path / "whole")
        assert_same_bits(path, tmp_path / "whole")
        bounds = Folder(path).summary()["learners"]["ftl"]["regret"]
        assert bounds["best_stationary_low"] <= bounds["best_stationary_high"]
        runs.resume(path, SMALL)
        assert Folder(path).summary()["learners"]["ftl"]["regret"] == bounds  # and stays

    def test_nothing_is_overwritten(self, whole: Path, tmp_path: Path) -> None:
        with pytest.raises(SpecError, match=r"holds a run already.*--resume.*--out"):
            runs.start(SMALL, whole)
        (tmp_path / "thesis.tex").write_text("precious")
        for begin in (runs.start, lambda spec, path: runs.resume(path, spec)):
            with pytest.raises(SpecError, match="is not empty and holds no run"):
                begin(SMALL, tmp_path)
            with pytest.raises(SpecError, match="is a file"):
                begin(SMALL, tmp_path / "thesis.tex")
        assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]

    def test_an_empty_folder_is_used(self, tmp_path: Path, whole: Path) -> None:
        runs.start(SMALL, tmp_path)
        assert_same_bits(tmp_path, whole)

    def test_there_is_nothing_to_resume_or_load(self, tmp_path: Path) -> None:
        for use in (runs.resume, runs.load):
            with pytest.raises(SpecError, match=r"holds no run: there is no spec\.toml in it"):
                use(tmp_path)
            with pytest.raises(SpecError, match="is not a folder"):
                use(tmp_path / "nowhere")

    def test_bad_inputs_leave_no_folder(self, tmp_path: Path) -> None:
        for change in ({"start": "nine"}, {"kernel": "ring:0"}, {"costs": "idd"}, {"learners": ("ftl", "ftl")}):
            with pytest.raises(ValueError, match=r"."):
                runs.start(SMALL.model_copy(update=change), tmp_path / "run")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(os.name != "posix", reason="folders are locked on posix only")
    def test_two_processes_cannot_play_in_one_folder(self, whole: Path) -> None:
        with Folder(whole).locked(), pytest.raises(SpecError, match="is in use"):
            runs.resume(whole)
        runs.resume(whole)

    def test_other_versions_are_mentioned(self, tmp_path: Path, whole: Path) -> None:
        interrupted(tmp_path / "run")
        manifest = Folder(tmp_path / "run").manifest()
        manifest["versions"]["numpy"] = "1.0"
        Folder(tmp_path / "run").write_manifest(manifest)
        with pytest.warns(UserWarning, match=rf"numpy 1\.0 -> {np.__version__}"):
            runs.resume(tmp_path / "run")


class TestDamage:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Iterator[Path]:
        interrupted(tmp_path / "run")
        return tmp_path / "run"

    @pytest.mark.parametrize("name", ["checkpoint.npz", "manifest.json", "rounds/part-000001.parquet"])
    @pytest.mark.parametrize("content", [b"", b"PK", b'{"half": '])
    def test_a_damaged_file_is_named(self, path: Path, name: str, content: bytes) -> None:
        (path / name).write_bytes(content)
        with pytest.raises(SpecError) as refusal:
            runs.resume(path)
        assert str(refusal.value).startswith(f'"{path / name}" is damaged (')

    @pytest.mark.parametrize("content", [b"", b"{}", b'{"states": "many"}'])
    def test_a_damaged_summary_is_written_again(self, whole: Path, tmp_path: Path, content: bytes) -> None:
        shutil.copytree(whole, tmp_path / "run")
        (tmp_path / "run" / "summary.json").write_bytes(content)
        with pytest.raises(
            SpecError, match=r"is damaged \(.*\)\. Remove it and go on with the run with --resume: it is"
        ):
            Folder(tmp_path / "run").summary()
        (tmp_path / "run" / "summary.json").unlink()
        runs.resume(tmp_path / "run")
        assert timeless(Folder(tmp_path / "run").summary()) == timeless(Folder(whole).summary())

    def test_quotes_in_what_a_library_says_stay_whole(self, path: Path) -> None:
        (path / "manifest.json").write_bytes(b"\xff")
        with pytest.raises(SpecError, match=r"is damaged \('utf-8' codec can't decode byte 0xff .*\)\. Start the run"):
            runs.resume(path)

    def test_a_missing_part(self, path: Path) -> None:
        (path / "rounds" / "part-000001.parquet").unlink()
        with pytest.raises(SpecError, match=r"part-000001.parquet\" is damaged"):
            runs.resume(path)

    def test_a_checkpoint_of_something_else(self, path: Path) -> None:
        saved = Folder(path).checkpoint()
        assert saved is not None
        Folder(path).write_checkpoint({name: saved[name] for name in ("t", "parts", "hash")})
        with pytest.raises(SpecError, match=r'checkpoint\.npz" is damaged \(the array "tallies" is missing\)'):
            runs.resume(path)

    @pytest.mark.parametrize("version", [None, 0, 1, 3])
    def test_a_checkpoint_of_another_format(self, path: Path, version: int | None) -> None:
        with np.load(path / "checkpoint.npz") as stored:
            arrays: dict[str, Any] = {name: stored[name] for name in stored.files if name != "version"}
        if version is not None:
            arrays["version"] = np.asarray(version)
        np.savez(path / "checkpoint.npz", **arrays)
        for use in (runs.resume, runs.load, lambda path: runs.progress_of(Folder(path))):
            with pytest.raises(SpecError, match=r'checkpoint\.npz" is of another format .*this lsmdp reads version 2'):
                use(path)

    def test_a_finished_run_of_version_1_can_be_read(self, whole: Path, tmp_path: Path) -> None:
        """It had other names for the players, and the states of leaders were laid out in another way."""
        shutil.copytree(whole, tmp_path / "run")
        with np.load(tmp_path / "run" / "checkpoint.npz") as stored:
            now: dict[str, Any] = {name: stored[name] for name in stored.files if name not in ("version", "checksum")}
        then = {name.replace("player", "seat").replace("state.lead.", "state."): array for name, array in now.items()}
        checksum = np.frombuffer(forms.digest(then), dtype=np.uint8)
        np.savez(tmp_path / "run" / "checkpoint.npz", **then, version=np.asarray(1), checksum=checksum)
        read, known = runs.load(tmp_path / "run"), runs.load(whole)
        assert read.learners == known.learners
        assert read.regret(bracket=True).to_dict() == known.regret(bracket=True).to_dict()
        np.testing.assert_array_equal(read.game.players[1].law, known.game.players[1].law)
        assert read.game.players[0].state is None  # nothing goes on from it
        runs.resume(tmp_path / "run")  # where there is nothing left to do
        (tmp_path / "run" / "summary.json").unlink()
        runs.resume(tmp_path / "run")
        assert (tmp_path / "run" / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()

    def test_pickles_are_not_read(self, path: Path) -> None:
        np.savez(path / "checkpoint.npz", t=np.array([print], dtype=object), allow_pickle=True)
        with pytest.raises(
            SpecError, match=r'checkpoint\.npz" is damaged \(an array in it has a header of another kind'
        ):
            runs.resume(path)


def test_toml_is_what_tomllib_reads(whole: Path) -> None:
    content = tomllib.loads((whole / "spec.toml").read_text())
    assert content["learners"] == ["ftl", "track"]
    assert "scale" not in content


def test_a_run_of_one_round_and_one_state(tmp_path: Path) -> None:
    np.save(tmp_path / "P.npy", [[1.0]])
    np.save(tmp_path / "c.npy", [[0.25]])
    runs.start(Spec.of(kernel=str(tmp_path / "P.npy"), costs=str(tmp_path / "c.npy")), tmp_path / "run")
    summary = Folder(tmp_path / "run").summary()
    assert [one["loss"] for one in summary["learners"].values()] == [0.25] * 3
    assert Passive().name in summary["learners"]
