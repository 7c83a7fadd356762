"""What a learner knows, saved and loaded: the same bits, whatever happens in between."""

from __future__ import annotations

import json
import resource
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lsmdp
from lsmdp.errors import SpecError
from lsmdp.follow import memory
from lsmdp.follow.learner_file import Knowledge
from lsmdp.follow.memory import Memory
from lsmdp.learners import (
    NAMES,
    Learner,
    State,
    learner_by_name,
    pack,
)

ROUNDS = 8
MODELS: dict[str, Callable[[], lsmdp.LMDP]] = {
    "small": lambda: lsmdp.ring(12),
    "large": lambda: lsmdp.grid(18, 20),  # beyond what full.py takes: leaders keep anchors
    "cold": lambda: lsmdp.LMDP(lsmdp.sticky(0.01).P, ["an", "aus"], 0.2),
}
EXPORTED = [getattr(lsmdp, name) for name in lsmdp.__all__ if hasattr(getattr(lsmdp, name), "observe")]


def learners(lmdp: lsmdp.LMDP) -> list[Learner]:
    """Every exported learner, and every name of the command line, but for those that see one cost a round."""
    fixed = lsmdp.Fixed(lsmdp.Policy(lmdp, np.linspace(0.0, 1.0, lmdp.n)))
    made = [fixed if kind is lsmdp.Fixed else kind() for kind in EXPORTED]
    named = [learner_by_name(name) for name in NAMES if name != "visited"]
    return made + named + [lsmdp.FollowTheLeader(kappa=3.0, tolerance=1e-9)]


def costs_of(lmdp: lsmdp.LMDP, rounds: int = ROUNDS) -> Any:
    return np.random.default_rng(5).random((rounds, lmdp.n))


def played(lmdp: lsmdp.LMDP, learner: Learner, state: State, costs: Any) -> list[bytes]:
    """The policies of the rounds, and of the round after, as bytes."""
    seen = [learner.policy(lmdp, state).matrix().data.tobytes()]
    for c_t in costs:
        state = learner.observe(lmdp, state, c_t)
        seen.append(learner.policy(lmdp, state).matrix().data.tobytes())
    return seen


def after(lmdp: lsmdp.LMDP, learner: Learner, costs: Any) -> State:
    state = learner.init(lmdp)
    for c_t in costs:
        state = learner.observe(lmdp, state, c_t)
    return state


def test_the_list_of_learners_is_not_empty() -> None:
    assert {lsmdp.FollowTheLeader, lsmdp.TrackTheLeader, lsmdp.WindowLeader, lsmdp.Fixed} <= set(EXPORTED)


class TestSameBits:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("cut", [0, 3, ROUNDS])
    def test_saved_and_loaded_in_the_middle(self, model: str, cut: int, tmp_path: Path) -> None:
        here, there = MODELS[model](), MODELS[model]()  # two objects: nothing that is kept with a model is shared
        costs = costs_of(here)
        for learner in learners(here):
            state = after(here, learner, costs[:cut])
            lsmdp.save(tmp_path / "file", here, learner, state)
            loaded = lsmdp.load(tmp_path / "file", there, learner)
            assert type(loaded) is type(state)
            assert [type(part) for part in loaded] == [type(part) for part in learner.init(here)]
            assert played(there, learner, loaded, costs[cut:]) == played(here, learner, state, costs[cut:])

    def test_the_large_model_is_one_where_anchors_are_kept(self) -> None:
        lmdp, learner = MODELS["large"](), lsmdp.FollowTheLeader()
        assert after(lmdp, learner, costs_of(lmdp)[:3]).lead.anchor.size == lmdp.n

    @pytest.mark.parametrize("name", ["ftl", "window:3", "track", "passive"])
    def test_rounds_that_were_only_added(self, name: str, tmp_path: Path) -> None:
        lmdp, learner = MODELS["large"](), learner_by_name(name)
        costs = costs_of(lmdp)
        kept = Memory(tmp_path / "file", lmdp, learner)
        kept.begin(Knowledge(learner.init(lmdp)))
        for c_t in costs:
            kept.add(2, c_t)
        kept.close(None)  # as if the process had been killed: no last snapshot
        loaded = lsmdp.load(tmp_path / "file", MODELS["large"](), learner)
        assert_same(loaded, after(lmdp, learner, costs))


def assert_same(one: State, other: State) -> None:
    left, right = pack(one), pack(other)
    assert left.keys() == right.keys()
    assert all(left[name].tobytes() == right[name].tobytes() for name in left)


class Worked(NamedTuple):
    """A file with a snapshot after two rounds and three records, the last of a place only."""

    path: Path
    lmdp: lsmdp.LMDP
    learner: Learner
    costs: Any

    def load(self) -> State:
        return lsmdp.load(self.path, self.lmdp, self.learner)

    def begin(self) -> Knowledge:
        kept = Memory(self.path, self.lmdp, self.learner)
        found = kept.begin(Knowledge(self.learner.init(self.lmdp)))
        kept.close(found)
        return found


@pytest.fixture
def worked(tmp_path: Path) -> Worked:
    lmdp, learner = lsmdp.ring(5), lsmdp.FollowTheLeader()
    costs = costs_of(lmdp, 4)
    path = tmp_path / "file"
    lsmdp.save(path, lmdp, learner, after(lmdp, learner, costs[:2]))
    kept = Memory(path, lmdp, learner)
    kept.begin(Knowledge(learner.init(lmdp)))
    kept.add(1, costs[2])
    kept.add(4, costs[3])
    kept.add(3)
    kept.close(None)
    return Worked(path, lmdp, learner, costs)


def forge(path: Path, change: Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]) -> None:
    """Change a file, and its checksum with it."""
    line, _, rest = path.read_bytes().partition(b"\n")
    head = json.loads(line)
    del head["crc32"]
    head, body = change(head, rest[: head["bytes"]])
    checksum = zlib.crc32(json.dumps(head).encode() + body)
    path.write_bytes(json.dumps(head | {"crc32": checksum}).encode() + b"\n" + body)


class TestRecords:
    def test_all_of_it_is_known(self, worked: Worked) -> None:
        found = worked.begin()
        assert (found.rounds, found.at) == (4, 3)
        assert_same(found.state, after(worked.lmdp, worked.learner, worked.costs))

    def test_a_torn_end_is_dropped_wherever_it_is_torn(self, worked: Worked) -> None:
        whole = worked.path.read_bytes()
        place, round_ = 16, 16 + 8 * worked.lmdp.n  # bytes of a record
        known = {size: after(worked.lmdp, worked.learner, worked.costs[:size]) for size in (2, 3, 4)}
        for lost in range(place + 2 * round_ + 1):
            worked.path.write_bytes(whole[: len(whole) - lost])
            rounds = 4 if lost <= place else 4 - -(-(lost - place) // round_)
            if lost in (0, place, place + round_, place + 2 * round_):
                state = worked.load()
            else:
                with pytest.warns(UserWarning, match=rf"bytes that are not whole.*{rounds} rounds are there"):
                    state = worked.load()
            assert_same(state, known[rounds])

    def test_a_flipped_bit_is_found(self, worked: Worked) -> None:
        content = bytearray(worked.path.read_bytes())
        content[-20] ^= 1  # in the record of round 4
        worked.path.write_bytes(content)
        with pytest.warns(UserWarning, match="3 rounds are there"):
            assert worked.begin().rounds == 3
        assert worked.begin().rounds == 3  # what was dropped is gone, and nothing is torn any more

    def test_zeros_are_no_records(self, worked: Worked) -> None:
        worked.path.write_bytes(worked.path.read_bytes() + bytes(4096))
        with pytest.warns(UserWarning, match="ends in 4,096 bytes"):
            assert worked.begin().rounds == 4

    def test_they_are_folded_after_a_while(self, worked: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = Memory(worked.path, worked.lmdp, worked.learner)
        found = kept.begin(Knowledge(worked.learner.init(worked.lmdp)))
        size = worked.path.stat().st_size
        kept.add(0, worked.costs[0])
        found = found.after(worked.lmdp, worked.learner, 0, worked.costs[0])
        kept.rest(found, kept.due / 2)
        assert worked.path.stat().st_size > size
        kept.rest(found, kept.due / 2)
        assert worked.path.stat().st_size < size + 8 * worked.lmdp.n
        kept.add(0, worked.costs[1])  # it goes to the new file
        kept.close(None)
        assert_same(worked.load(), after(worked.lmdp, worked.learner, [*worked.costs, *worked.costs[:2]]))


class TestRefusals:
    @pytest.mark.parametrize(
        ("lmdp", "learner", "complaint"),
        [
            (lsmdp.ring(5), lsmdp.TrackTheLeader(), r"differs in learner \(ftl there, track here\)"),
            (lsmdp.ring(5), lsmdp.FollowTheLeader(kappa=2.0), r"learner \(ftl there, ftl:2 here\)"),
            (
                lsmdp.ring(5),
                lsmdp.FollowTheLeader(tolerance=1e-8),
                r"tolerance of the learner \(1e-06 there, 1e-08 here\)",
            ),
            (lsmdp.LMDP(lsmdp.ring(5).P, None, 2.0), lsmdp.FollowTheLeader(), r"temperature \(1.0 there, 2.0 here\)"),
            (lsmdp.ring(6), lsmdp.FollowTheLeader(), r"kernel \(sha256 [0-9a-f]{12} there, [0-9a-f]{12} here\)"),
            (lsmdp.LMDP(lsmdp.ring(5).P, list("abcde")), lsmdp.FollowTheLeader(), "kernel"),
        ],
    )
    def test_another_model_or_learner(self, worked: Worked, lmdp: lsmdp.LMDP, learner: Learner, complaint: str) -> None:
        before = worked.path.read_bytes()
        with pytest.raises(SpecError, match=f"was kept for another control loop.*{complaint}.*choose another file"):
            lsmdp.load(worked.path, lmdp, learner)
        with pytest.raises(SpecError, match=complaint):
            Memory(worked.path, lmdp, learner).begin(Knowledge(learner.init(lmdp)))
        assert worked.path.read_bytes() == before
        worked.load()

    def test_another_fixed_policy(self, tmp_path: Path) -> None:
        lmdp = lsmdp.ring(5)
        one, other = (lsmdp.Fixed(lsmdp.Policy(lmdp, np.arange(5.0) * k)) for k in (1, 2))
        lsmdp.save(tmp_path / "file", lmdp, one, one.init(lmdp))
        assert lsmdp.load(tmp_path / "file", lmdp, one).t == 0
        with pytest.raises(SpecError, match=r"fixed of the learner \("):
            lsmdp.load(tmp_path / "file", lmdp, other)

    def test_another_scale(self, worked: Worked) -> None:
        for scale, fine in (((70.0, 0.0), True), ((70.0, 0.0), True), ((60.0, 0.0), False)):
            kept = Memory(worked.path, worked.lmdp, worked.learner)
            fresh = Knowledge(worked.learner.init(worked.lmdp), scale=scale)
            if fine:
                kept.close(kept.begin(fresh))
            else:
                with pytest.raises(SpecError, match=r"scale \(70 0 there, 60 0 here\)"):
                    kept.begin(fresh)

    def test_a_missing_file(self, worked: Worked) -> None:
        with pytest.raises(SpecError, match=r"none\" does not exist. Begin with learner.init"):
            lsmdp.load(worked.path.with_name("none"), worked.lmdp, worked.learner)

    @pytest.mark.parametrize(
        "content", [b"x", b"{}\n", b"[1]\n", b"\x00" * 99, b'{"format": "other"}\n', b"[" * 99_999]
    )
    def test_a_file_of_something_else(self, worked: Worked, content: bytes) -> None:
        worked.path.write_bytes(content)
        with pytest.raises(SpecError, match="is not a file of a learner"):
            worked.load()
        with pytest.raises(SpecError, match="is not a file of a learner"):
            worked.begin()
        assert worked.path.read_bytes() == content

    def test_another_version(self, worked: Worked) -> None:
        head, _, rest = worked.path.read_bytes().partition(b"\n")
        worked.path.write_bytes(head.replace(b'"version": 1', b'"version": 9') + b"\n" + rest)
        with pytest.raises(SpecError, match=r"of version 9 of the format; this lsmdp reads version 1"):
            worked.load()

    def test_other_fields(self, worked: Worked) -> None:
        forge(worked.path, lambda head, body: (head | {"fields": ["t", "c_mean", *head["fields"][2:]]}, body))
        with pytest.raises(SpecError, match=r"the learner \(t, c_mean, lead.v, .* there, t, c_sum, lead.v"):
            worked.load()

    def test_a_damaged_snapshot(self, worked: Worked) -> None:
        content = worked.path.read_bytes()
        start = content.index(b"\n") + 1
        for place in (content.index(b'"rounds": 2') + 10, start, start + 300):
            worked.path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
            with pytest.raises(SpecError, match=r"is damaged: its checksum does not fit"):
                worked.load()
        worked.path.write_bytes(content[: start + 300])
        with pytest.raises(SpecError, match="is damaged"):
            worked.load()

    @pytest.mark.parametrize("size", [1.5, -1, "7", None, [], True])
    def test_a_damaged_size(self, worked: Worked, size: object) -> None:
        line, _, rest = worked.path.read_bytes().partition(b"\n")
        worked.path.write_bytes(json.dumps(json.loads(line) | {"bytes": size}).encode() + b"\n" + rest)
        with pytest.raises(SpecError, match="is damaged: its checksum does not fit"):
            worked.load()

    def test_python_objects_are_never_loaded(self, worked: Worked) -> None:
        """Not even where somebody has forged the checksum."""
        forge(worked.path, lambda head, body: (head, body.replace(b"'descr': '<i8'", b"'descr': '|O' ", 1)))
        with pytest.raises(SpecError, match="is damaged: an array in it has a header of another kind"):
            worked.load()

    def test_a_state_that_is_no_tuple_of_arrays(self, tmp_path: Path) -> None:
        class Strange(NamedTuple):
            t: int
            names: Any

        learner, lmdp = lsmdp.Passive(), lsmdp.ring(3)
        with pytest.raises(SpecError, match=r'its field "names" is no array and no number. A state that can be saved'):
            lsmdp.save(tmp_path / "file", lmdp, learner, Strange(1, {"a": 1}))
        with pytest.raises(SpecError, match='state of "passive" cannot be saved'):
            lsmdp.save(tmp_path / "file", lmdp, learner, {"t": 1})
        assert not list(tmp_path.iterdir())


def test_a_learner_of_your_own_may_mean_otherwise_by_t(tmp_path: Path) -> None:
    class Clocks(NamedTuple):
        t: Any

    class Mine(lsmdp.Passive):
        def init(self, lmdp: lsmdp.LMDP) -> Any:
            return Clocks(np.zeros(lmdp.n))

    lsmdp.save(tmp_path / "file", lsmdp.ring(3), Mine(), Clocks(np.arange(3.0)))
    assert lsmdp.load(tmp_path / "file", lsmdp.ring(3), Mine()).t.tolist() == [0.0, 1.0, 2.0]


class TestFiles:
    def test_two_processes_do_not_share_a_file(self, worked: Worked) -> None:
        first = Memory(worked.path, worked.lmdp, worked.learner)
        kept = first.begin(Knowledge(worked.learner.init(worked.lmdp)))
        for _ in range(2):
            with pytest.raises(SpecError, match="is in use: another process keeps its learner there"):
                Memory(worked.path, worked.lmdp, worked.learner)
            first.fold(kept)  # another file in the same place, and locked as well
        first.close(kept)
        worked.begin()

    def test_an_empty_file_is_a_new_one(self, worked: Worked) -> None:
        worked.path.write_bytes(b"")
        assert worked.begin().rounds == 0
        assert worked.load().t == 0

    def test_no_folder_no_device_no_place(self, tmp_path: Path) -> None:
        lmdp, learner = lsmdp.ring(3), lsmdp.Passive()
        for path in (tmp_path, Path("/dev/null")):
            with pytest.raises(SpecError, match="is not a file"):
                Memory(path, lmdp, learner)
            with pytest.raises(SpecError, match="is not a file"):
                lsmdp.save(path, lmdp, learner, learner.init(lmdp))
        with pytest.raises(SpecError, match=r"cannot be used: No such file or directory. Choose another place"):
            Memory(tmp_path / "none" / "file", lmdp, learner)
        with pytest.raises(SpecError, match="cannot be used: No such file or directory"):
            lsmdp.save(tmp_path / "none" / "file", lmdp, learner, learner.init(lmdp))

    def test_a_link_stays_a_link(self, worked: Worked) -> None:
        link = worked.path.with_name("link")
        link.symlink_to(worked.path)
        lsmdp.save(link, worked.lmdp, worked.learner, worked.learner.init(worked.lmdp))
        assert link.is_symlink()
        assert worked.load().t == 0

    def test_a_save_that_fails_leaves_what_was_there(self, worked: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise OSError(5, "Input/output error")

        before = worked.path.read_bytes()
        monkeypatch.setattr("os.replace", refuse)
        with pytest.raises(SpecError, match="cannot be used: Input/output error"):
            lsmdp.save(worked.path, worked.lmdp, worked.learner, worked.learner.init(worked.lmdp))
        assert worked.path.read_bytes() == before
        assert [path.name for path in worked.path.parent.iterdir()] == ["file"]

    def test_a_full_disk_is_an_error_and_loses_no_round(self, worked: Worked) -> None:
        kept = Memory(worked.path, worked.lmdp, worked.learner)
        found = kept.begin(Knowledge(worked.learner.init(worked.lmdp)))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (worked.path.stat().st_size + 20, hard))  # no room for a record
        try:
            with pytest.raises(SpecError, match=r"cannot be used: (No space left on device|File too large)"):
                kept.add(1, worked.costs[0])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            kept.close(None)
        with pytest.warns(UserWarning, match="20 bytes that are not whole"):
            assert_same(worked.load(), found.state)

    def test_a_last_snapshot_that_fails_loses_nothing(self, worked: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = Memory(worked.path, worked.lmdp, worked.learner)
        found = kept.begin(Knowledge(worked.learner.init(worked.lmdp)))
        kept.add(1, worked.costs[0])
        found = found.after(worked.lmdp, worked.learner, 1, worked.costs[0])
        with monkeypatch.context() as patch:
            patch.setattr(memory, "atomic", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            kept.close(found)
        assert_same(worked.load(), found.state)
