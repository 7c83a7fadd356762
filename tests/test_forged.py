"""What comes back from a file is not believed: every array of a checkpoint and of a learner's file, forged.

Whoever changes a file on purpose can write its checksum anew, and so do these tests. Then a sentence is raised, or the
game goes on to its end; never anything else, and never a compiled loop that reads beyond its arrays. What was changed
by accident does not get as far: its checksum does not fit.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

import lsmdp
from lsmdp import game, runs
from lsmdp.costs import read_costs
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.follow.learner_file import CHECK, ENTRY, Knowledge
from lsmdp.follow.memory import Memory
from lsmdp.inputs import forms
from lsmdp.inputs.forms import Form
from lsmdp.learners import NAMES, learner_by_name, pack
from lsmdp.regret import regret
from lsmdp.runs import Folder, Spec
from lsmdp.sources import read_model

LEARNERS = tuple("window:3" if name == "window" else name for name in NAMES if name != "visited")
ROUNDS, SAVED = 8, 5
MISSING = ["t", "parts", "hash", "tallies", "seen.total", "player1.law", "player0.state.lead.v"]
MODELS = {  # and who plays there
    "a reversible one, written out": ("ring:12:0.2", LEARNERS),
    "another, written out": ("random:31:4:2", LEARNERS),
    "one of two states": ("sticky:0.001", ("ftl", "track")),
    "sparse, with a factor": ("grid:30x30", ("ftl", "window:3", "track")),
    "sparse, where sweeps do": ("random:300:6:1", ("ftl", "phased")),
}

HUGE = ("1e+300", "-9223372036854775808")

Array = Any
Arrays = dict[str, Array]
Run = Callable[..., Result]

pytestmark = pytest.mark.filterwarnings("ignore:plain tracking")


def forgeries(array: Array) -> Iterator[tuple[str, Array]]:
    """An array in other types, of other shapes, and with other entries."""
    whole = np.clip(np.nan_to_num(array), -(2.0**53), 2.0**53) if array.dtype.kind == "f" else array
    yield "the other kind", whole.astype(np.int64 if array.dtype.kind == "f" else np.float64)
    yield "single precision", whole.astype(np.float32)
    yield "text", array.astype("U8")
    yield "big-endian", array.astype(array.dtype.newbyteorder(">"))
    yield "one number", np.asarray(array.flat[0] if array.size else 0, dtype=array.dtype)
    yield "nothing", array.reshape(-1)[:0]
    yield "an axis more", array[np.newaxis]
    yield "shorter", array.reshape(-1)[: array.size // 2]
    yield "longer", np.concatenate([array.reshape(-1)] * 3)
    if array.ndim:
        yield "a row less", array[:-1]
        yield "backwards", array[::-1].copy()
    if array.ndim == 2:
        yield "turned", array.T.copy()
    entries: tuple[float, ...] = (-1, 0, 10**6, 2**62, -(2**63))
    if array.dtype.kind == "f":
        entries += (np.nan, np.inf, -np.inf, 1e-320, 1e300, 1.7e308)
    for entry in entries if array.dtype.kind in "if" else ():
        with np.errstate(over="ignore"):
            value = array.dtype.type(entry)  # in single precision, 1e300 is infinite
        yield f"all {entry}", np.full_like(array, value)
        if array.size > 1:
            changed = array.copy()
            changed.flat[array.size // 2] = value
            yield f"one {entry}", changed


def in_turns(arrays: Arrays, turn: int, of: int) -> Iterator[tuple[str, str, Array]]:
    """Every so many forgeries of each array, where the next array begins with another: of all turns, each once."""
    for place, (key, array) in enumerate(arrays.items()):
        for how, forged in list(forgeries(array))[(turn + place) % of :: of]:
            yield key, how, forged


class Count:
    """How many forgeries were refused with a sentence, and how many were played to the end."""

    def __init__(self) -> None:
        self.refused = self.finished = 0

    def attempt(self, what: str, play: Callable[[], object], begins: str = "") -> None:
        """Play it; a sentence about the file, if there is one, begins like this."""
        try:
            play()
            self.finished += 1
        except LsmdpError as sentence:
            if isinstance(sentence, SpecError) and not str(sentence).startswith(begins):
                raise
            self.refused += 1
        except Exception as strange:
            raise AssertionError(what) from strange


class TestTables:
    """Every array in a game. Where the same arrays are in several games, those take the forgeries in turns."""

    @pytest.mark.parametrize("model", MODELS)
    def test_every_array(self, model: str) -> None:
        kernel, players = MODELS[model]
        lmdp, turn = read_model(kernel), list(MODELS).index(model)
        costs = read_costs("iid", lmdp, rounds=ROUNDS, seed=0)
        counted, arrays = Count(), 0
        for name in players:
            learner, saved = learner_by_name(name), self.saved(lmdp, name, costs)
            own = {key: saved[key] for key in saved if key.startswith("player0.state") or name == players[0]}
            arrays += len(own)
            for key, how, forged in in_turns(own, turn, of=4):
                sums = key.startswith(("seen", "marks", "tallies"))  # of which a regret is made
                play = partial(self.played, lmdp, learner, costs, saved | {key: forged}, summed_up=sums)
                counted.attempt(f"{name}, {key}, {how}", play)
        assert counted.refused > 2 * arrays
        assert counted.finished > arrays / 2

    @pytest.mark.parametrize("model", MODELS)
    def test_what_was_not_forged_is_played(self, model: str) -> None:
        kernel, players = MODELS[model]
        lmdp = read_model(kernel)
        costs = read_costs("iid", lmdp, rounds=ROUNDS, seed=0)
        for name in players:
            self.played(lmdp, learner_by_name(name), costs, self.saved(lmdp, name, costs))

    def test_a_factor_is_among_them(self) -> None:
        lmdp = read_model("grid:30x30")
        saved = self.saved(lmdp, "ftl", read_costs("iid", lmdp, rounds=ROUNDS, seed=0))
        assert saved["player0.state.lead.anchor"].shape == (lmdp.n,)

    def saved(self, lmdp: lsmdp.LMDP, name: str, costs: Any) -> Arrays:
        table = game.Game.begin(lmdp, [learner_by_name(name)], sample=3)
        for c_t in islice(costs, SAVED):
            table.play(c_t[np.newaxis])
        return {key: np.asarray(array) for key, array in table.to_arrays().items()}

    def played(self, lmdp: lsmdp.LMDP, learner: Any, costs: Any, arrays: Arrays, *, summed_up: bool = True) -> None:
        """To its end, and summed up."""
        table = game.Game.begin(lmdp, [learner], sample=3)
        table.restore(arrays, (0.0, 1.0))
        for c_t in islice(costs, table.t, None):
            table.play(c_t[np.newaxis])
        sums = table.tallies[0]._asdict()
        json.dumps({key: value for key, value in sums.items() if value == value}, allow_nan=False)  # nan is null
        if summed_up and learner.name == "ftl" and lmdp.n < 100:
            json.dumps(regret(game.Run(table, costs)).to_dict(), allow_nan=False)


@pytest.fixture
def unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that was stopped in its midst; nothing here waits for a disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)

    def watch(table: game.Game, _: int | None) -> None:
        if table.t == SAVED:
            raise KeyboardInterrupt

    spec = Spec.of(kernel="random:31:4:2", costs="iid", learners=("ftl", "track"), rounds=ROUNDS, sample=3)
    with pytest.raises(KeyboardInterrupt):
        runs.start(spec, tmp_path / "run", watch=watch)
    return tmp_path / "run"


def saved_in(path: Path) -> Arrays:
    saved = Folder(path).checkpoint()
    assert saved is not None
    return saved


class TestCheckpoints:
    def test_every_array(self, unfinished: Path, tmp_path: Path) -> None:
        """All forgeries of what belongs to the folder, and some of each of the others: a game has them all."""
        saved = saved_in(unfinished)
        assert {"t", "parts", "hash", "tallies", "player1.walkers"} <= set(saved)
        counted, path = Count(), tmp_path / "forged"

        def go_on() -> None:
            runs.progress_of(Folder(path))
            assert runs.resume(path).rounds == ROUNDS

        mine = {name: saved.pop(name) for name in ("t", "parts", "hash", "tallies")}
        for name, how, forged in (*in_turns(mine, 0, of=1), *in_turns(saved, 0, of=12)):
            shutil.copytree(unfinished, path)
            Folder(path).write_checkpoint(mine | saved | {name: forged})
            blamed = "rounds/part-" if (name, how) == ("parts", "backwards") else "checkpoint.npz"
            counted.attempt(f"{name}, {how}", go_on, f'"{path}/{blamed}')
            shutil.rmtree(path)
        assert counted.refused > len(saved)
        assert counted.finished > len(saved) // 4

    def test_on_the_command_line(self, unfinished: Path, run: Run) -> None:
        """The walkers once pointed outside of the model, and the interpreter was aborted."""
        saved = saved_in(unfinished)
        Folder(unfinished).write_checkpoint(saved | {"player0.walkers": np.full(3, 10**9)})
        command = Folder(unfinished).spec().command(unfinished).split()[1:]
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f'SpecError: "{unfinished / "checkpoint.npz"}" is damaged (ftl: the array "walkers" holds 1000000000, not '
            "a number from 0 to 30). Start the run again in another folder with --out.\n"
        )
        Folder(unfinished).write_checkpoint(saved | {"tallies": saved["tallies"][:1]})
        shown = run("show", unfinished)
        assert (shown.exit_code, shown.stdout) == (2, "")
        assert "has shape (1, 10), not (2, 10)" in shown.stderr

    @pytest.mark.parametrize("missing", MISSING)
    def test_a_missing_array(self, unfinished: Path, missing: str) -> None:
        saved = saved_in(unfinished)
        del saved[missing]
        Folder(unfinished).write_checkpoint(saved)
        with pytest.raises(
            SpecError,
            match=rf'is damaged \(.*the array "{missing.split(".")[-1]}" is missing\)'
            if "player" in missing
            else rf'the array "{missing}" is missing',
        ):
            runs.resume(unfinished)

    def test_more_rounds_than_the_game_has(self, unfinished: Path) -> None:
        saved = saved_in(unfinished)
        Folder(unfinished).write_checkpoint(saved | {"t": np.asarray(ROUNDS + 1)})
        with pytest.raises(SpecError, match=r"is damaged \(it is of round 9, and the game has 8\)"):
            runs.resume(unfinished)


class TestAccidents:
    """Changes that leave an array what it must be, and all the same are no longer what was written."""

    def rewritten(self, path: Path, change: Callable[[Arrays], Arrays]) -> None:
        """Change arrays of a checkpoint behind the back of its checksum."""
        with np.load(path / "checkpoint.npz") as stored:
            arrays = {name: stored[name] for name in stored.files}
        np.savez(path / "checkpoint.npz", **change(arrays))

    @pytest.mark.parametrize(
        "change",
        [
            lambda arrays: arrays | {"player0.state.lead.v": arrays["player0.state.lead.v"] + 1.0},
            lambda arrays: arrays | {"player0.law": arrays["player1.law"], "player1.law": arrays["player0.law"]},
            lambda arrays: arrays | {"tallies": arrays["tallies"] * 2.0},
            lambda arrays: arrays | {"checksum": arrays["checksum"][:-1]},
            lambda arrays: {name: array for name, array in arrays.items() if name != "checksum"},
            lambda arrays: arrays | {"more": np.zeros(3)},
        ],
        ids=["a value", "two arrays", "the tallies", "half a checksum", "no checksum", "one more"],
    )
    def test_other_arrays(self, unfinished: Path, change: Callable[[Arrays], Arrays]) -> None:
        self.rewritten(unfinished, change)
        for use in (
            runs.resume,
            runs.load,
            lambda path: runs.progress_of(Folder(path)),
            lambda path: Folder(path).rounds(),
        ):
            with pytest.raises(SpecError, match=r'checkpoint\.npz" is damaged \(its checksum does not fit\)'):
                use(unfinished)

    def test_a_flipped_bit_anywhere(self, unfinished: Path) -> None:
        """It is found, or it is where nothing is read: the arrays are those that were written."""
        path, rng = unfinished / "checkpoint.npz", np.random.default_rng(0)
        content, digest = path.read_bytes(), forms.digest(saved_in(unfinished))
        found = 0
        for place in rng.integers(len(content), size=400):
            path.write_bytes(content[:place] + bytes([content[place] ^ (1 << rng.integers(8))]) + content[place + 1 :])
            try:
                assert forms.digest(saved_in(unfinished)) == digest
            except SpecError:
                found += 1
        assert found > 200

    def test_any_length(self, unfinished: Path) -> None:
        path = unfinished / "checkpoint.npz"
        content = path.read_bytes()
        for size in range(0, len(content), 97):
            path.write_bytes(content[:size])
            with pytest.raises(SpecError, match="is damaged"):
                Folder(unfinished).checkpoint()

    def test_another_part(self, unfinished: Path) -> None:
        """A part is compared with what was written before its library reads it, which a wrong byte can abort."""
        part = unfinished / "rounds" / "part-000001.parquet"
        content = part.read_bytes()
        for place in range(0, len(content), 131):
            part.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            for use in (runs.resume, lambda path: Folder(path).rounds()):
                with pytest.raises(SpecError, match=r'part-000001\.parquet" is damaged \(its checksum does not fit\)'):
                    use(unfinished)

    def test_no_checkpoint_where_there_are_rounds(self, unfinished: Path) -> None:
        runs.resume(unfinished)
        (unfinished / "checkpoint.npz").unlink()
        before = {entry.name for entry in unfinished.iterdir()}
        with pytest.raises(SpecError, match=r'checkpoint\.npz" is damaged \(it is not there\)'):
            runs.resume(unfinished)
        assert {entry.name for entry in unfinished.iterdir()} == before


class TestArchives:
    """What a checkpoint promises is compared with what is there before memory is asked for."""

    def test_no_bomb_goes_off(self, unfinished: Path) -> None:
        path = unfinished / "checkpoint.npz"
        np.savez_compressed(path, t=np.zeros(10**6))
        with pytest.raises(SpecError, match=r"is damaged \(it is compressed"):
            Folder(unfinished).checkpoint()
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999,), }\n"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        with pytest.raises(SpecError, match=r"takes 7,999,999,999,999,999,992"):
            Folder(unfinished).checkpoint()

    @pytest.mark.parametrize(
        "array",
        [
            np.float64(0.1),
            np.arange(6),
            np.empty((0, 4)),
            np.arange(6.0).reshape(2, 3),
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.array(["a", "größer"]),
            np.array([True, False]),
            np.array([1 + 2j]),
            np.array(["2026-01-01"], dtype="datetime64[ns]"),
            np.arange(3, dtype=">i4"),
        ],
        ids=lambda array: f"{array.dtype} {array.shape}",
    )
    def test_arrays_come_back(self, array: Array) -> None:
        array = np.asarray(array)
        stream = io.BytesIO()
        np.save(stream, array)
        for content in (forms.as_bytes(array), stream.getvalue()):
            found, end = forms.from_bytes(b"before" + content, 6, whole=True)
            assert end == 6 + len(content)
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(found, array)
            assert found.flags.writeable
        assert forms.can_be_kept(array)

    def test_any_other_bytes_are_a_sentence(self) -> None:
        content, rng = forms.as_bytes(np.arange(4.0)), np.random.default_rng(1)
        for _ in range(2000):
            changed = bytearray(content[: rng.integers(len(content) + 1)])
            for place in rng.integers(len(content), size=rng.integers(4)):
                if place < len(changed):
                    changed[place] = rng.integers(256)
            with suppress(SpecError):
                forms.from_bytes(bytes(changed), whole=True)


class TestForms:
    @pytest.mark.parametrize(
        ("form", "array", "fault"),
        [
            (Form(), np.float64(1.0), None),
            (Form(), np.float32(1.0), "holds float32 values, not float64"),
            (Form(), np.zeros(2), "has shape (2,), not ()"),
            (Form(((0,), (2,))), np.zeros(3), "has shape (3,), not (0,) or (2,)"),
            (Form(((2,),)), np.array([0.0, np.nan]), "holds nan, not a number from -1e+300 to 1e+300"),
            (Form(((2,),)), np.array([0.0, np.inf]), "holds inf, not a number from -1e+300 to 1e+300"),
            (Form(((2,),), low=0.0, high=1.0), np.array([-0.5, 0.0]), "holds -0.5, not a number from 0 to 1"),
            (Form(((2,),), blank=[False, True]), np.array([0.0, np.nan]), None),
            (Form(((2,),), blank=[True, False]), np.array([0.0, np.nan]), "holds nan, not a number"),
            (Form(((2,),), low=[0, 5], high=[9, 9]), np.array([4.0, 4.0]), "holds 4.0, not a number from 5 to 9"),
            (Form(((2,),), law=True), np.array([0.5, 0.5]), None),
            (Form(((2,),), law=True), np.array([0.5, 0.6]), "sums to 1.1, not 1"),
            (forms.anything((1,)), np.array([np.nan]), None),
            (forms.COUNT, np.int64(-1), "holds -1, not a number from 0 to"),
            (forms.Past(3).number, np.int64(4), "holds 4, not a number from 3 to 3"),
            (forms.Past(3, 0.0, 1.0).sums(1), np.array([3.1]), "holds 3.1, not a number from"),
            (forms.Past(3, 0.0, 1.0).sums(1), np.array([3.0]), None),
            (forms.Past(3, 0.25, 1.0).costs(1), np.array([0.0]), None),
        ],
    )
    def test_faults(self, form: Form, array: Array, fault: str | None) -> None:
        found = form.fault(np.asarray(array))
        assert found is None if fault is None else (found or "").startswith(fault), found


def rewrite(path: Path, change: Callable[[dict[str, Any]], object], body: bytes | None = None) -> None:
    """Change the head of a learner's file, perhaps its arrays, and its checksum with them."""
    line, _, rest = path.read_bytes().partition(b"\n")
    head = json.loads(line)
    del head["crc32"]
    body = rest[: head["bytes"]] if body is None else body
    head["bytes"] = len(body)
    change(head)
    checksum = zlib.crc32(json.dumps(head).encode() + body)
    path.write_bytes(json.dumps(head | {"crc32": checksum}).encode() + b"\n" + body)


class TestLearnerFiles:
    @pytest.mark.parametrize(("kernel", "turn"), [("ring:12:0.2", 2), ("random:31:4:2", 3), ("grid:30x30", 0)])
    def test_every_array(self, kernel: str, turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The turns that the games of TestTables leave: the states of learners are the same."""
        monkeypatch.setattr(os, "fsync", lambda _: None)
        lmdp, path, counted, arrays = read_model(kernel), tmp_path / "file", Count(), 0
        costs = np.random.default_rng(2).random((4, lmdp.n))
        for name in ("ftl",) if lmdp.n > 100 else LEARNERS:
            learner = learner_by_name(name)
            state = learner.init(lmdp)
            for c_t in costs:
                state = learner.observe(lmdp, state, c_t)
            lsmdp.save(path, lmdp, learner, state)

            def go_on(learner: Any = learner) -> None:
                state = lsmdp.load(path, lmdp, learner)
                for c_t in costs[:2]:
                    learner.policy(lmdp, state)
                    state = learner.observe(lmdp, state, c_t)

            go_on()
            kept = pack(state)
            arrays += len(kept)
            for field, how, forged in in_turns(kept, turn, of=1 if lmdp.n > 100 else 4):
                if how.endswith(HUGE) and field in ("c_sum", "c_mean", "ring"):
                    continue  # costs of this size are costs, and solving for them takes its time; 2^62 is among them
                body = b"".join(map(forms.as_bytes, (kept | {field: forged}).values()))
                rewrite(path, lambda _: None, body)
                counted.attempt(f"{name}, {field}, {how}", go_on, f'"{path}" is damaged: ')
        assert counted.refused > 2 * arrays
        assert counted.finished > arrays / 4

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("rounds", [-1, 2.0, "2", None, True, 10**30, [2]]),
            ("at", [-2, 5, 10**12, 1.0, "1", None, [1], False]),
            ("scale", [5, [1], [1, 1], [0, "1"], [0, None], [0, 1e400], "ab", {}, [True, False]]),
            ("fields", [None, 3, "t", {}, [], ["t"], [1, 2]]),
            ("options", [None, 3, "kappa", [], {"kappa": [1]}]),
            ("learner", [None, 3, ["ftl"]]),
            ("temperature", [None, "1", [1.0]]),
            ("kernel", [None, 3, []]),
            ("bytes", [None, -1, "9", 1e9]),
            ("version", [None, 0, "1", [1]]),
        ],
    )
    def test_every_word_of_the_head(self, tmp_path: Path, field: str, values: Sequence[object]) -> None:
        lmdp, learner, path = lsmdp.ring(5), lsmdp.FollowTheLeader(), tmp_path / "file"
        for value in values:
            lsmdp.save(path, lmdp, learner, learner.init(lmdp))
            rewrite(path, lambda head, value=value: head.update({field: value}))
            with pytest.raises(SpecError, match=rf'^"{path}" '):
                lsmdp.load(path, lmdp, learner)
            with pytest.raises(SpecError, match=rf'^"{path}" '):
                Memory(path, lmdp, learner).begin(Knowledge(learner.init(lmdp)))
        lsmdp.save(path, lmdp, learner, learner.init(lmdp))
        line, _, rest = path.read_bytes().partition(b"\n")
        head = json.loads(line)
        del head[field]
        path.write_bytes(json.dumps(head).encode() + b"\n" + rest)
        with pytest.raises(SpecError, match=rf'^"{path}" '):
            lsmdp.load(path, lmdp, learner)

    @pytest.mark.parametrize(
        ("at", "costs", "complaint"),
        [
            (5, [0.5] * 5, "a record says that the system is in state 5, and the model has 5"),
            (-2, [], "a record says that the system is in state -2"),
            (10**15, [], "a record says that the system is in state 1000000000000000"),
            (1, [0.5] * 4, "in a record, the cost has 4 values"),
            (1, [0.5, np.nan, 0.5, 0.5, 0.5], r"in a record, the cost\[1\] is nan"),
        ],
    )
    def test_records(self, tmp_path: Path, at: int, costs: list[float], complaint: str) -> None:
        lmdp, learner, path = lsmdp.ring(5), lsmdp.FollowTheLeader(), tmp_path / "file"
        lsmdp.save(path, lmdp, learner, learner.init(lmdp))
        entry = ENTRY.pack(at, len(costs)) + struct.pack(f"<{len(costs)}d", *costs)
        with path.open("ab") as stream:
            stream.write(CHECK.pack(zlib.crc32(entry)) + entry)
        with pytest.raises(SpecError, match=f"is damaged: {complaint}"):
            lsmdp.load(path, lmdp, learner)

    def test_on_the_command_line(self, tmp_path: Path, run: Run) -> None:
        lmdp, learner, path = lsmdp.ring(5), lsmdp.FollowTheLeader(), tmp_path / "file"
        state = learner.init(lmdp)
        lsmdp.save(path, lmdp, learner, state)
        short = pack(state) | {"lead.inverse": state.lead.inverse[:1]}
        rewrite(path, lambda _: None, b"".join(forms.as_bytes(value) for value in short.values()))
        result = run("follow", "ring:5", "--state", path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f'SpecError: "{path}" is damaged: the array "inverse" has shape (1, 8), not (5, 8). Bring back a copy, or '
            "begin a new file.\n"
        )
