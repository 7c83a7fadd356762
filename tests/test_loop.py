"""The loop, line by line: what it answers, what it refuses, and that a refused line changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsmdp
from lsmdp.errors import (
    AssumptionError,
    ConvergenceError,
    CostError,
    SpecError,
)
from lsmdp.follow.loop import ControlLoop, examined, plain
from lsmdp.follow.memory import Memory
from lsmdp.learners import NAMES, completed, learner_by_name

RING = lsmdp.ring(5)
NAMED = lsmdp.LMDP(lsmdp.ring(3).P, ["Büro", "café", "駅"])
CLAIRVOYANT = "btl"


def said(**content: Any) -> bytes:
    return json.dumps(content).encode()


def costs_of(lmdp: lsmdp.LMDP, rounds: int) -> Any:
    return np.random.default_rng(3).random((rounds, lmdp.n))


def optimum(lmdp: lsmdp.LMDP, c: Any) -> float:
    """The least average cost by an eigenvalue of another library, for temperature 1."""
    values = np.linalg.eigvals(np.exp(-c)[:, np.newaxis] * lmdp.P.toarray())
    return float(-np.log(values.real.max()))


class TestAnswers:
    @pytest.mark.parametrize("name", sorted(set(NAMES) - {CLAIRVOYANT, "visited"}))
    def test_they_are_the_loop_of_the_readme(self, name: str) -> None:
        learner = learner_by_name(name)
        loop, (whole,) = ControlLoop.of(RING, learner, start=0), completed(learner)
        state = whole.init(RING, np.eye(RING.n)[0])
        for t, c_t in enumerate(costs_of(RING, 12), start=1):
            state = learner.observe(RING, state, c_t)
            answer = loop.answer(said(cost=c_t.tolist(), state=t % 5))
            states, chances = learner.policy(RING, state).row(t % 5)
            assert answer is not None
            assert (answer["round"], answer["state"]) == (t, str(t % 5))
            assert answer["next"] == {str(y): chance for y, chance in zip(states, chances, strict=True)}
        assert loop.lines == 12
        assert loop.refused == 0

    @pytest.mark.parametrize("name", ["ftl", "track"])
    def test_the_bounds_hold_for_the_mean_of_all_costs(self, name: str) -> None:
        loop, costs = ControlLoop.of(RING, learner_by_name(name), start=0), costs_of(RING, 30)
        for t in range(1, 31):
            answer = loop.answer(said(cost=costs[t - 1].tolist()))
            assert answer is not None
            lo, hi = answer["average_cost_bounds"]
            exact = optimum(RING, costs[:t].mean(axis=0))
            assert lo - 1e-14 <= exact <= hi + 1e-14  # the rounding of the other library
            assert name == "track" or hi - lo <= 1e-6

    def test_passive_claims_nothing(self) -> None:
        answer = ControlLoop.of(RING, lsmdp.Passive(), start=0).answer(said(cost=[0.5] * 5))
        assert answer is not None
        assert answer["average_cost_bounds"] is None

    def test_the_first_law_is_that_of_P(self) -> None:
        states, chances = RING.P[[2]].indices, RING.P[[2]].data
        for line in (said(state=2), said(state="2")):
            answer = ControlLoop.of(RING, lsmdp.FollowTheLeader()).answer(line)
            assert answer is not None
            assert answer["round"] == 0
            assert answer["next"] == pytest.approx({str(y): p for y, p in zip(states, chances, strict=True)}, rel=1e-15)

    def test_a_line_without_a_cost_asks(self) -> None:
        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=1)
        first = loop.answer(said(cost=[0, 0.5, 1, 0.5, 0]))
        state = loop.kept.state
        assert loop.answer(b"{}") == first
        moved = loop.answer(said(state=3))
        assert moved is not None
        assert first is not None
        assert (moved["round"], moved["state"], set(moved["next"])) == (1, "3", {"2", "3", "4"})
        assert moved["average_cost_bounds"] == first["average_cost_bounds"]
        assert loop.kept.state is state

    def test_by_label_and_by_position(self) -> None:
        one, other = (ControlLoop.of(NAMED, lsmdp.FollowTheLeader()) for _ in range(2))
        by_label = one.answer('{"cost": {"駅": 0.9, "Büro": 0.1, "café": 0.4}, "state": "café"}'.encode())
        assert by_label == other.answer(said(cost=[0.1, 0.4, 0.9], state=1))
        assert by_label is not None
        assert by_label["state"] == "café"
        assert set(by_label["next"]) == {"Büro", "café", "駅"}

    def test_a_scale(self) -> None:
        one = ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=0, scale=(70.0, 0.0), missing=70.0)
        other = ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=0)
        assert one.answer(said(cost={"2": 35, "3": 0})) == other.answer(said(cost=[0, 0, 0.5, 1, 0]))

    def test_states_that_were_dropped_may_have_costs(self) -> None:
        weights = np.array([[0, 1, 0, 0], [0, 0.5, 0.5, 0], [0, 0.5, 0.25, 0.25], [0, 0, 1, 0]])
        lmdp = lsmdp.LMDP.repaired(weights, ["gone", "a", "b", "c"], largest_class=True)
        one, other = (ControlLoop.of(lmdp, lsmdp.FollowTheLeader(), start="b") for _ in range(2))
        assert one.answer(said(cost=[9, 0.1, 0.2, 0.3])) == other.answer(said(cost=[0.1, 0.2, 0.3]))
        assert one.answer(said(cost={"gone": 0, "a": 1, "b": 0, "c": 0})) == other.answer(said(cost=[1, 0, 0]))
        assert one.refused == 0
        lax = ControlLoop.of(lmdp, lsmdp.FollowTheLeader(), start="b", missing=0.5)
        answer = lax.answer(said(cost={"A": 1, "B": 0}))  # nothing but strangers: the names are wrong
        assert answer is not None
        assert 'there is a cost for "A", which is no state of the model' in answer["error"]

    @pytest.mark.parametrize("line", [b"", b"\n", b"  \t\r\n"])
    def test_blank_lines_count_as_lines_only(self, line: bytes) -> None:
        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=0)
        assert loop.answer(line) is None
        assert loop.answer(b"?\n") == {
            "error": "it is not JSON (character 1: Expecting value). Write one object a line.",
            "line": 2,
        }

    def test_a_byte_order_mark_and_dos_lines(self) -> None:
        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader())
        answer = loop.answer(b'\xef\xbb\xbf{"state": 1}\r\n')
        assert answer is not None
        assert answer["state"] == "1"


REFUSED = [
    (b"nope", "it is not JSON (character 1: Expecting value). Write one object a line."),
    (b'{"cost": [0, 1', "it is not JSON (character 15: Expecting ',' delimiter)."),
    (b'{"cost": [0, 1]} {}', "it is not JSON (character 18: Extra data)."),
    (b"\xff\xfe{}", "it is not UTF-8 (byte 1)."),
    (b"[" * 100_000, "it is nested too deeply"),
    (b'{"state": ' + b"1" * 5000 + b"}", "has a number of too many digits"),
    (b"[0, 0, 0, 0, 0]", "it is not an object. Write {"),
    (b"null", "it is not an object."),
    (said(costs=[0] * 5), 'a line has no "costs". Its keys are "cost" and "state"'),
    (b'{"cost": [0,0,0,0,0], "cost": [1,1,1,1,1]}', '"cost" is there 2 times. Give it once.'),
    (b'{"cost": {"1": 0, "2": 0, "1": 1}}', '"1" is there 2 times.'),
    (said(cost=[0, 1]), "there are 2 costs a round, but the model has 5 states."),
    (said(cost=[]), "there are 0 costs a round"),
    (said(cost=0.5), 'the cost is one number, and "ftl" needs those of all states.'),
    (said(cost=None), "the cost is neither a list nor an object."),
    (said(cost={"1": 0.5}), 'there is no cost for state "0" (of 4 without one). Give one for every state. Or say what'),
    (said(cost={"7": 0.5}), 'there is a cost for "7", which is no state of the model.'),
    (b'{"cost": [0, 0, NaN, 0, 0]}', "state 2: the cost is nan. Every cost must be a finite number"),
    (b'{"cost": [0, 0, 0, 0, -Infinity]}', "state 4: the cost is -inf."),
    (b'{"cost": [0, 0, 0, 0, 1e999]}', "state 4: the cost is inf."),
    (said(cost=[0, -0.1, 0, 0, 0]), "state 1: the cost is -0.1, outside [0, 1]. Map your units with --scale LOW HIGH"),
    (said(cost=[0, 1.5, 0, 0, 0]), "state 1: the cost is 1.5, outside [0, 1]."),
    (said(cost=[0, 10**400, 0, 0, 0]), "the cost of state 1 is"),
    (said(cost=[0, None, 0, 0, 0]), "the cost of state 1 is null, not a number."),
    (said(cost=[0, [1], 0, 0, 0]), "the cost of state 1 is [1], not a number."),
    (said(cost=[0, True, 0, 0, 0]), "the cost of state 1 is true, not a number."),
    (said(cost=[0, "0.5", 0, 0, 0]), 'the cost of state 1 is "0.5", not a number.'),
    (said(cost={"0": 0, "1": 0, "2": 0, "3": {}, "4": 0}), "the cost of state 3 is {}, not a number."),
    (said(cost=[0, "x", 0, 0, 0]), 'the cost of state 1 is "x", not a number.'),
    (said(cost=[0] * 5, state=5), 'there is no state "5". States are numbered from 0 to 4.'),
    (said(state=-1), 'there is no state "-1".'),
    (said(state="nowhere"), 'there is no state "nowhere".'),
    (said(state="+1"), 'there is no state "+1".'),
    (said(state=" 1 "), 'there is no state " 1 ".'),
    (said(state="01"), 'there is no state "01".'),
    (said(state="١"), 'there is no state "١".'),
    (said(state=True), "the state is true. Give its label or its number."),
    (said(state=None), "the state is null."),
    (said(state=1.0), "the state is 1.0."),
    (said(state=[1]), "the state is [1]."),
    (b'{"state": "\\ud800"}', 'there is no state "\ud800".'),
]


class TestRefusals:
    @pytest.mark.parametrize(("line", "complaint"), REFUSED, ids=[str(line[:30]) for line, _ in REFUSED])
    def test_a_line_that_cannot_be_used_changes_nothing(self, line: bytes, complaint: str) -> None:
        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=0)
        loop.answer(said(cost=[0, 0.5, 1, 0.5, 0]))
        before = loop.kept
        answer = loop.answer(line)
        assert answer is not None
        assert set(answer) == {"error", "line"}
        assert complaint in answer["error"]
        assert answer["line"] == 2
        assert loop.kept is before
        assert loop.refused == 1

    def test_numbers_are_labels_where_labels_are_numbers(self) -> None:
        """Of nodes 1, 2 and 3, nobody who counts from 0 is told about node 1 when asking for 0."""
        loop = ControlLoop.of(lsmdp.LMDP(RING.P[:3, :3], ["1", "2", "3"], normalise=True), lsmdp.FollowTheLeader())
        for state, name in ((1, "1"), ("3", "3")):
            answer = loop.answer(said(state=state))
            assert answer is not None
            assert answer["state"] == name
        for state in (0, "0", 4):
            answer = loop.answer(said(state=state))
            assert answer is not None
            assert f'there is no state "{state}". The labels of this model are numbers' in answer["error"]

    def test_nobody_has_said_where_the_system_is(self) -> None:
        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader())
        for line in (b"{}", said(cost=[0] * 5)):
            answer = loop.answer(line)
            assert answer is not None
            assert "nobody has said where the system is" in answer["error"]
            assert loop.kept.rounds == 0
        answer = loop.answer(said(cost=[0] * 5, state=0))
        assert answer is not None
        assert answer["round"] == 1

    def test_a_cost_that_the_learner_cannot_solve(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def give_up(*_: object) -> None:
            raise ConvergenceError("no certificate was found")

        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=0)
        before = loop.kept
        with monkeypatch.context() as patch:
            patch.setattr(lsmdp.FollowTheLeader, "observe", give_up)
            assert loop.answer(said(cost=[0] * 5)) == {"error": "no certificate was found", "line": 1}
        assert loop.kept is before
        answer = loop.answer(said(cost=[0] * 5))
        assert answer is not None
        assert answer["round"] == 1

    def test_a_long_line_gets_a_short_answer(self) -> None:
        loop = ControlLoop.of(RING, lsmdp.FollowTheLeader())
        for line in (said(state="x" * 10**6), said(**{"y" * 10**6: 1}), said(cost={"z" * 10**6: 1}, state=0)):
            answer = loop.answer(line)
            assert answer is not None
            assert len(answer["error"]) < 700
            assert answer["error"].endswith(("4.", "absent.", "names."))

    @given(
        st.one_of(
            st.binary(),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                lambda inner: (
                    st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["cost", "state", "0", "1"]), inner)
                ),
            ).map(lambda content: json.dumps(content).encode()),
        )
    )
    def test_no_line_whatsoever_is_too_much(self, line: bytes) -> None:
        loop = ControlLoop.of(lsmdp.sticky(0.7), lsmdp.FollowTheLeader(), start=0)
        before, answer = loop.kept, loop.answer(line)
        json.dumps(answer, allow_nan=False)
        if answer is None:
            assert not line.strip()
        elif "error" in answer:
            assert loop.kept is before
        else:
            assert sum(answer["next"].values()) == pytest.approx(1.0, abs=1e-15)

    @given(
        st.dictionaries(
            st.sampled_from(["cost", "state", "co\\u0073t", "é"]),
            st.one_of(
                st.text(max_size=3),
                st.floats(),
                st.integers(),
                st.lists(st.floats() | st.text(max_size=2)),
                st.dictionaries(st.text(max_size=2), st.floats() | st.text(max_size=2)),
            ),
        ),
        st.booleans(),
    )
    def test_the_quick_way_and_the_careful_one_agree(self, content: dict[str, Any], ascii_only: bool) -> None:
        line = json.dumps(content, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        quick = plain(line)
        assert quick is None or repr(quick) == repr(examined(line))

    def test_plain_lines_go_the_quick_way(self) -> None:
        for line in (
            said(cost=[0, 0.5], state="A"),
            said(cost={"A": 0.1, "B": 1}),
            b"{}",
            '{"state": "駅"}\r\n'.encode(),
        ):
            assert repr(plain(line)) == repr(examined(line))

    @pytest.mark.parametrize(
        "line",
        [
            b'{"state": 1, "state": 2}',
            b'{"state": "a", "state": "b"}',
            b'{"cost": {"a": 1, "a": 2}}',
            b'{"cost": [1], "cost": {"a": 2}}',
            b'{"cost": {"a": 1}, "cost": [2]}',
            b'{"cost": 1, "c\\u006fst": 2}',
        ],
    )
    def test_what_is_there_twice_is_looked_at(self, line: bytes) -> None:
        assert plain(line) is None
        with pytest.raises(CostError, match="is there 2 times"):
            examined(line)

    def test_what_cannot_begin(self) -> None:
        with pytest.raises(SpecError, match=r'"btl" sees the cost of the round that it plays.*Use ftl\.'):
            ControlLoop.of(RING, learner_by_name(CLAIRVOYANT))
        with pytest.raises(AssumptionError, match="not irreducible"):
            ControlLoop.of(lsmdp.LMDP(np.eye(2)), lsmdp.FollowTheLeader())
        with pytest.raises(SpecError, match=r"--missing is 2. It must lie between 0 and 1"):
            ControlLoop.of(RING, lsmdp.FollowTheLeader(), missing=2.0)
        with pytest.raises(SpecError, match=r"--missing is nan"):
            ControlLoop.of(RING, lsmdp.FollowTheLeader(), missing=float("nan"))
        with pytest.raises(SpecError, match="the scale is 1 to 1"):
            ControlLoop.of(RING, lsmdp.FollowTheLeader(), scale=(1.0, 1.0))
        with pytest.raises(SpecError, match='there is no state "9"'):
            ControlLoop.of(RING, lsmdp.FollowTheLeader(), start=9)


class TestMemories:
    def loop(self, path: Path, **options: Any) -> ControlLoop:
        lmdp = lsmdp.ring(5)
        made = ControlLoop.of(lmdp, lsmdp.FollowTheLeader(), **options)
        made.remember(Memory(path, lmdp, made.learner))
        return made

    def test_every_answer_is_in_the_file(self, tmp_path: Path) -> None:
        """Each line is answered by a process that dies afterwards, but for its file."""
        one = ControlLoop.of(RING, lsmdp.FollowTheLeader())
        lines = [said(state=2), said(cost=[0, 0.2, 0.4, 0.6, 0.8]), b"?", said(cost=[1] * 5, state=4), b"{}"]
        lines += [said(cost=c_t.tolist()) for c_t in costs_of(RING, 5)]
        for line in lines:
            other = self.loop(tmp_path / "file")
            answer = other.answer(line)
            expected = one.answer(line)
            assert expected is not None
            assert answer == (expected if "error" not in expected else expected | {"line": 1})
            assert other.memory is not None
            other.memory.close(None)

    def test_a_start_counts_where_nothing_is_known(self, tmp_path: Path) -> None:
        for start, at in ((1, "1"), (None, "1"), (3, "1")):
            loop = self.loop(tmp_path / "file", start=start)
            answer = loop.answer(b"{}")
            assert answer is not None
            assert answer["state"] == at
            assert loop.memory is not None
            loop.memory.close(loop.kept)

    def test_what_was_learnt_in_python_goes_to_work(self, tmp_path: Path) -> None:
        learner = lsmdp.FollowTheLeader()
        state = learner.init(RING)
        for c_t in costs_of(RING, 3):
            state = learner.observe(RING, state, c_t)
        lsmdp.save(tmp_path / "file", RING, learner, state)
        loop = self.loop(tmp_path / "file", start=0, scale=(0.0, 10.0))
        answer = loop.answer(said(cost=[10] * 5))
        state = learner.observe(RING, state, np.ones(5))
        assert answer is not None
        assert answer["round"] == 4
        assert list(answer["next"].values()) == learner.policy(RING, state).row(0)[1].tolist()
        assert loop.memory is not None
        loop.memory.close(loop.kept)
        assert lsmdp.load(tmp_path / "file", RING, learner).t == 4
