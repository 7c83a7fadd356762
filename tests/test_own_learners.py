"""A learner of one's own: three methods are enough on every path, and what is wrong with one is said in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lsmdp
from lsmdp.checks import CheckError, check_learner
from lsmdp.follow.loop import ControlLoop
from lsmdp.game import Game
from lsmdp.learners import (
    NAMES,
    BeTheLeader,
    CompleteLearner,
    Played,
    Report,
    learner_by_name,
    pack,
    unpack,
)

SMALL = lsmdp.ring(5)
LARGE = lsmdp.ring(300)  # too large for many rounds in one call


def costs_for(lmdp: lsmdp.LMDP, rounds: int = 9) -> np.ndarray:
    return np.random.default_rng(7).uniform(0, 1, (rounds, lmdp.n))


class Three:
    """What the README says: init, policy and observe."""

    def init(self, lmdp: lsmdp.LMDP) -> Any:
        return np.zeros(lmdp.n)

    def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
        return lsmdp.Policy(lmdp, state)

    def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
        return state + c_t


# ----------------------------------------------------------------------------------------------------------
# three methods are enough


def test_the_large_model_is_played_round_by_round() -> None:
    assert SMALL.moves.at_once
    assert not LARGE.moves.at_once


@pytest.mark.parametrize("lmdp", [SMALL, LARGE], ids=["small", "large"])
def test_three_methods_are_enough_to_play_and_to_be_judged(lmdp: lsmdp.LMDP) -> None:
    run = lsmdp.play(lmdp, [Three(), lsmdp.Passive()], costs_for(lmdp))
    found = run.regret()
    assert list(run.learners) == ["Three", "passive"]
    assert "Three" in str(found)
    assert np.isnan(run.learners["Three"].max_gap)  # nothing is claimed
    about = {one.about for one in lsmdp.certify(run, search=False, exact=False).certificates}
    assert "Three" in about
    assert lsmdp.certify(lmdp, costs_for(lmdp), Three(), search=False, exact=False).holds
    assert [row.learner for row in lsmdp.rounds(lmdp, Three(), costs_for(lmdp))] == ["Three"] * 9


def test_the_losses_of_such_a_learner_are_those_of_the_protocol() -> None:
    """Against the definition: p_t.(c_t + KL), p_{t+1} = p_t Q_t."""
    law, loss, state = np.eye(5)[0], 0.0, np.zeros(5)
    for c_t in costs_for(SMALL):
        policy = lsmdp.Policy(SMALL, state)
        loss += law @ (c_t + policy.kl())
        law, state = policy.push(law), state + c_t
    assert lsmdp.play(SMALL, Three(), costs_for(SMALL)).learners["Three"].loss == pytest.approx(loss, rel=1e-12)


def test_three_methods_are_enough_for_files_and_loops(tmp_path: Path) -> None:
    state = costs_for(SMALL)[0]
    lsmdp.save(tmp_path / "file", SMALL, Three(), state)
    assert lsmdp.load(tmp_path / "file", SMALL, Three()).tobytes() == state.tobytes()
    loop = ControlLoop.of(SMALL, Three())
    answer = loop.answer(json.dumps({"cost": state.tolist(), "state": 0}).encode())
    assert answer is not None
    chances = lsmdp.Policy(SMALL, state).row(0)[1]
    assert list(answer["next"].values()) == chances.tolist()
    assert answer["average_cost_bounds"] is None


def test_three_methods_are_enough_for_the_check() -> None:
    check_learner(Three())
    check_learner(Three(), [SMALL, LARGE])


def test_one_learner_may_be_a_tuple_and_several_any_iterable() -> None:
    class Tuple(NamedTuple):
        step: float

        init, policy, observe = Three.init, Three.policy, Three.observe

    assert list(lsmdp.play(SMALL, Tuple(1.0), costs_for(SMALL)).learners) == ["Tuple"]
    assert list(lsmdp.play(SMALL, iter([Three(), lsmdp.Passive()]), costs_for(SMALL)).learners) == ["Three", "passive"]


# ----------------------------------------------------------------------------------------------------------
# states


class Record(NamedTuple):
    t: int
    v: Any


@dataclass(frozen=True)
class Fields:
    t: int
    v: Any
    twice: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.t)


KINDS: dict[str, tuple[Callable[[int, Any], Any], Callable[[Any], tuple[int, Any]]]] = {
    "a NamedTuple": (Record, lambda state: (state.t, state.v)),
    "a dataclass": (Fields, lambda state: (state.t, state.v)),
    "a dict": (lambda t, v: {"t": t, "v": v}, lambda state: (state["t"], state["v"])),
    "a tuple": (lambda t, v: (t, v), lambda state: state),
    "a list": (lambda t, v: [t, v], lambda state: tuple(state)),
    "an array": (lambda t, v: np.append(v, t), lambda state: (int(state[-1]), state[:-1])),
}


def remembering(kind: str) -> Any:
    made, parts = KINDS[kind]

    class Mine:
        def init(self, lmdp: lsmdp.LMDP) -> Any:
            return made(0, np.zeros(lmdp.n))

        def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, parts(state)[1])

        def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
            t, v = parts(state)
            return made(t + 1, (t * v + c_t) / (t + 1))

    return Mine()


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_may_be_of_any_plain_kind(kind: str, tmp_path: Path) -> None:
    learner = remembering(kind)
    check_learner(learner)
    state = learner.observe(SMALL, learner.init(SMALL), costs_for(SMALL)[0])
    again = unpack(learner.init(SMALL), pack(state))
    assert type(again) is type(state)
    assert KINDS[kind][1](again)[0] == 1
    assert KINDS[kind][1](again)[1].tolist() == costs_for(SMALL)[0].tolist()
    lsmdp.save(tmp_path / "file", SMALL, learner, state)
    loaded = lsmdp.load(tmp_path / "file", SMALL, learner)
    assert KINDS[kind][1](loaded)[1].tolist() == costs_for(SMALL)[0].tolist()


def test_a_learner_may_have_no_memory_or_a_number() -> None:
    class Blank(Three):
        def init(self, lmdp: lsmdp.LMDP) -> Any:
            return None

        def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, np.arange(lmdp.n) % 2)

        def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
            return None

    class Counting(Blank):
        def init(self, lmdp: lsmdp.LMDP) -> Any:
            return 0

        def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
            return state + 1

    check_learner(Blank())
    check_learner(Counting())


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Record(1, {"a": 1}), r'its field "v" is no array and no number'),
        (Record(1, [[1], [2, 3]]), r'its field "v" is no array and no number'),
        (Record(2**80, 0.0), r'its field "t" is no array and no number'),
        ({1: 2.0}, r"a state has the key 1. The keys of a state that is a dict are words"),
        (object(), r'its field "state" is no array and no number'),
        ({1, 2}, r'its field "state" is no array and no number'),
        (Three, r'its field "state" is no array and no number'),
    ],
)
def test_what_cannot_be_packed_is_refused_in_a_sentence(state: Any, message: str) -> None:
    with pytest.raises(lsmdp.SpecError, match=message):
        pack(state)


def test_play_asks_for_no_file() -> None:
    """A state that no file can hold is good enough for a game, and not for the check."""

    class Closed(Three):
        def init(self, lmdp: lsmdp.LMDP) -> Any:
            return {"v": np.zeros(lmdp.n), "seen": {"anything"}}

        def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, state["v"])

        def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
            return state | {"v": state["v"] + c_t}

    mine, plain = (lsmdp.play(SMALL, learner, costs_for(SMALL)).learners for learner in (Closed(), Three()))
    assert mine["Closed"].loss == plain["Three"].loss
    with pytest.raises(CheckError, match=r"the state of \"Closed\" cannot be saved: its field \"seen\" is no array"):
        check_learner(Closed())
    with pytest.raises(lsmdp.SpecError, match='state of "Closed" cannot be saved'):
        Game.begin(SMALL, Closed()).to_arrays()


def test_a_state_of_another_kind_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(lsmdp.SpecError, match=r'state of "passive" cannot be saved: it is a dict of t, but init gives'):
        lsmdp.save(tmp_path / "file", SMALL, lsmdp.Passive(), {"t": 1})
    assert not list(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------------------------
# what is wrong is said, by the game and by the check


class NoObserve:
    init, policy = Three.init, Three.policy


class Short(Three):
    def observe(self, state: Any, c_t: np.ndarray) -> Any:  # type: ignore[override]
        return state


class Numbered(Three):
    name = 3


class Nameless(Three):
    name = " "


class Reporting(Three):
    report = "nothing"


class ShortReport(Three):
    def report(self, before: Any, after: Any) -> Any:
        return (0.0, 1.0)


class UpsideDown(Three):
    def report(self, before: Any, after: Any) -> Any:
        return Report(1.0, 0.5)


class Forgetful(Three):
    def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
        state = state + c_t


class Elsewhere(Three):
    """Plays on a model of the same size, with another P."""

    def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
        return lsmdp.Policy(lsmdp.LMDP(np.full((lmdp.n, lmdp.n), 1.0 / lmdp.n)), state)


class Solving(Three):
    def policy(self, lmdp: lsmdp.LMDP, state: Any) -> Any:
        return lsmdp.solve(lmdp, np.zeros(lmdp.n))


class Nothing(Three):
    def policy(self, lmdp: lsmdp.LMDP, state: Any) -> Any:
        return None


class Undefined(Three):
    def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
        return lsmdp.Policy(lmdp, np.full(lmdp.n, np.nan))


class NotAMethod(Three):
    observe_block = 5


class NoBlock(Three):
    def observe_block(self, lmdp: lsmdp.LMDP, state: Any, costs: np.ndarray, policy: lsmdp.Policy) -> Any:
        return state


class ShortBlock(Three):
    def observe_block(self, lmdp: lsmdp.LMDP, state: Any, costs: np.ndarray, policy: lsmdp.Policy) -> Any:
        rounds = len(costs)
        return Played(np.zeros((rounds, lmdp.n)), *(np.zeros(rounds) for _ in range(3)), state)


class Foreseeing(Three):
    def foresee(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> lsmdp.Policy:
        return lsmdp.Policy(lmdp, c_t)


class Denying(Foreseeing):
    clairvoyant = False


class Boasting(Three):
    clairvoyant = True


class Vague(Foreseeing):
    clairvoyant = "sometimes"


WRONG: list[tuple[Any, str]] = [
    (NoObserve(), r'the learner "NoObserve" has no observe\(lmdp, state, c_t\)\. Give it init, policy and observe'),
    (Short(), r'the learner "Short" cannot be asked for observe\(lmdp, state, c_t\): too many positional'),
    (Three, r"Three is a class, not a learner\. Make one: Three\(\)"),
    ("ftl", r'"ftl" is a word, not a learner\. Use lsmdp\.learners\.learner_by_name\("ftl"\)'),
    (7, r'the learner "int" has no init\(lmdp\)'),
    (Numbered(), r"a learner of the class Numbered has the name 3\. Give it a word"),
    (Nameless(), r"a learner of the class Nameless has the name ' '"),
    (Reporting(), r'the learner "Reporting" has a str where report\(before, after\) should be'),
    (ShortReport(), r'report of "ShortReport" returned a tuple\. Let it return lsmdp\.learners\.Report'),
    (UpsideDown(), r"claims that an average cost is at least 1 and at most 0\.5\. Give the lower bound first"),
    (Forgetful(), r'observe of "Forgetful" returned nothing\. Let it return the state after the round'),
    (Elsewhere(), r'policy of "Elsewhere" returned a policy of another model \(LMDP\('),
    (Solving(), r'policy of "Solving" returned a Solution, not a policy\. Let it .* the \.policy of a solution'),
    (Nothing(), r'policy of "Nothing" returned None, not a policy'),
    (Undefined(), r"the value function\[0\] is nan"),
    (NotAMethod(), r'the learner "NotAMethod" has an int where observe_block\(lmdp, state, costs, policy\) should be'),
    (NoBlock(), r'observe_block of "NoBlock" returned a ndarray, not a lsmdp\.learners\.Played'),
    (ShortBlock(), r'observe_block of "ShortBlock" did not return \d+ x \d finite values'),
    (Foreseeing(), r'"Foreseeing" has a foresee, so it would be shown the cost .* does not declare that\. Say clairv'),
    (Denying(), r'"Denying" has a foresee, .* but it does not declare that'),
    (Boasting(), r'"Boasting" declares itself clairvoyant, but has no foresee'),
    (Vague(), r"\"Vague\" says clairvoyant = 'sometimes'\. Say True if it sees the cost of a round beforehand"),
]


@pytest.mark.parametrize(
    ("learner", "message"), WRONG, ids=[str(getattr(one, "__name__", type(one).__name__)) for one, _ in WRONG]
)
def test_a_wrong_learner_is_refused_in_a_sentence(learner: Any, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        check_learner(learner)
    with pytest.raises(lsmdp.LsmdpError, match=message):
        lsmdp.play(SMALL, learner, costs_for(SMALL))


@pytest.mark.parametrize("learner", [Foreseeing(), NoObserve(), Numbered()])
def test_no_other_way_in_takes_it(learner: Any, tmp_path: Path) -> None:
    for way in (
        lambda: lsmdp.save(tmp_path / "file", SMALL, learner, np.zeros(5)),
        lambda: lsmdp.load(tmp_path / "file", SMALL, learner),
        lambda: ControlLoop.of(SMALL, learner),
        lambda: lsmdp.certify(SMALL, costs_for(SMALL), learner),
        lambda: list(lsmdp.rounds(SMALL, learner, costs_for(SMALL))),
    ):
        with pytest.raises(lsmdp.SpecError, match=r"has a foresee|has no observe|has the name 3"):
            way()


def test_nobody_and_the_same_one_twice() -> None:
    with pytest.raises(lsmdp.SpecError, match="there is no learner in the game"):
        lsmdp.play(SMALL, [], costs_for(SMALL))
    with pytest.raises(lsmdp.SpecError, match=r"'Three' was named twice\. Give each a name of its own"):
        lsmdp.play(SMALL, [Three(), Three()], costs_for(SMALL))


def test_a_learner_that_writes_into_the_costs_spoils_no_game() -> None:
    class Scribbling(Three):
        def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
            c_t -= c_t.mean()
            return state + c_t

    for lmdp in (SMALL, LARGE):
        costs = costs_for(lmdp)
        beside = lsmdp.play(lmdp, [Scribbling(), lsmdp.FollowTheLeader()], costs).learners["ftl"]
        assert beside.loss == lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs_for(lmdp)).learners["ftl"].loss
        assert costs.tobytes() == costs_for(lmdp).tobytes()
    with pytest.raises(CheckError, match="changes the cost that observe was given in round 1"):
        check_learner(Scribbling())


def test_a_breakdown_in_its_own_code_is_told_with_its_cause() -> None:
    class Broken(Three):
        def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, state.v)

    with pytest.raises(CheckError, match=r"'Broken' breaks down on LMDP\(2 states.* while it chooses a policy: Attrib"):
        check_learner(Broken())


def test_a_block_that_peeks_is_found() -> None:
    """``observe_block`` is shown many costs at once; what it says it played may not depend on them too early."""

    @dataclass
    class Early(Three):
        at: int

        def observe_block(self, lmdp: lsmdp.LMDP, state: Any, costs: np.ndarray, policy: lsmdp.Policy) -> Played:
            values = np.cumsum(np.vstack([state, costs]), axis=0)
            state, nothing = values[-1].copy(), np.full(len(costs), np.nan)
            if -len(costs) <= self.at < len(costs):
                values[self.at] += costs[self.at]
            return Played(values, nothing, nothing, np.zeros(len(costs), np.int64), state)

    with pytest.raises(CheckError, match=r'"Early" returned another policy for the first of these rounds than pol'):
        check_learner(Early(0))
    with pytest.raises(CheckError, match=r"otherwise round by round than in one go: in round 3 its policy_change"):
        check_learner(Early(3))
    with pytest.raises(CheckError, match=r'"Early" returned another policy for the round after them than policy'):
        check_learner(Early(-1))
    check_learner(Early(10**6))


def test_the_names_of_before_are_still_understood() -> None:
    """``observe_all(lmdp, state, costs)`` returns a ``Stretch``; a warning says what to call them now."""
    with pytest.warns(DeprecationWarning, match="Stretch is called Played since version 0.1.0"):
        from lsmdp.learners import Stretch

    class Old(Three):
        def observe_all(self, lmdp: lsmdp.LMDP, state: Any, costs: np.ndarray) -> Any:
            values, nothing = np.cumsum(np.vstack([state, costs]), axis=0), np.full(len(costs), np.nan)
            return Stretch(values, nothing, nothing, np.zeros(len(costs), np.int64), values[-1])

    with pytest.warns(
        DeprecationWarning, match=r'"Old" has an observe_all\(lmdp, state, costs\)\. It is called observe_bl'
    ):
        old = lsmdp.play(SMALL, Old(), costs_for(SMALL)).learners["Old"]
    assert old.loss == lsmdp.play(SMALL, Three(), costs_for(SMALL)).learners["Three"].loss


def test_what_a_subclass_changes_is_what_is_played() -> None:
    """Blocks come from the class above, which knows nothing of a policy or a report below it."""

    class Bold(lsmdp.FollowTheLeader):
        def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, 3.0 * state.lead.v)

    class Silent(lsmdp.FollowTheLeader):
        def report(self, before: Any, after: Any) -> Report:
            return Report()

    for lmdp in (SMALL, LARGE):
        costs, loss, law = costs_for(lmdp, 30), 0.0, np.eye(lmdp.n)[0]
        state = Bold().init(lmdp)
        for c_t in costs:
            policy = Bold().policy(lmdp, state)
            loss += law @ (c_t + policy.kl())
            law, state = policy.push(law), Bold().observe(lmdp, state, c_t)
        assert lsmdp.play(lmdp, Bold(), costs).learners["ftl"].loss == pytest.approx(loss, rel=1e-9)
        assert np.isnan(lsmdp.play(lmdp, Silent(), costs).learners["ftl"].max_gap)
    check_learner(Bold())


def test_a_state_that_changes_its_kind_is_found() -> None:
    class Growing(Three):
        def init(self, lmdp: lsmdp.LMDP) -> Any:
            return {}

        def policy(self, lmdp: lsmdp.LMDP, state: Any) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, state.get("v", np.zeros(lmdp.n)))

        def observe(self, lmdp: lsmdp.LMDP, state: Any, c_t: np.ndarray) -> Any:
            return {"v": c_t}

    with pytest.raises(CheckError, match="returns another kind of state in round 1 than init does"):
        check_learner(Growing())


# ----------------------------------------------------------------------------------------------------------
# who sees the cost of a round


class Declared(Foreseeing):
    clairvoyant = True


def test_who_declares_it_is_shown_the_cost_and_marked() -> None:
    check_learner(Declared())
    run = lsmdp.play(SMALL, [Three(), Declared()], costs_for(SMALL))
    found = run.regret()
    assert found["Declared"].clairvoyant
    assert not found["Three"].clairvoyant
    assert {name: one["clairvoyant"] for name, one in found.to_dict()["learners"].items()} == {
        "Three": False,
        "Declared": True,
    }
    assert "Declared (sees c_t)" in str(found)
    assert "Three (" not in str(found)


def test_a_blind_learner_is_never_shown_the_cost_of_its_round() -> None:
    """Whoever plays on the same past plays the same, whatever comes."""
    past, futures = costs_for(LARGE, 4), (np.zeros(300), np.linspace(0, 1, 300))
    for learner in (Three(), lsmdp.FollowTheLeader()):
        played = [list(lsmdp.rounds(LARGE, learner, [*past, c_t]))[-1].control_cost for c_t in futures]
        assert played[0] == played[1]
    played = [list(lsmdp.rounds(LARGE, BeTheLeader(), [*past, c_t]))[-1].control_cost for c_t in futures]
    assert played[0] != played[1]


@pytest.mark.parametrize("name", NAMES)
def test_of_our_own_learners_only_btl_sees_it(name: str) -> None:
    assert CompleteLearner.of(learner_by_name(name)).clairvoyant is (name == "btl")


def test_nobody_who_sees_it_closes_a_loop_or_is_certified() -> None:
    with pytest.raises(lsmdp.SpecError, match='"Declared" sees the cost of the round that it plays'):
        ControlLoop.of(SMALL, Declared())
    with pytest.raises(lsmdp.SpecError, match="Declared sees costs before they are paid"):
        lsmdp.certify(SMALL, costs_for(SMALL), Declared())
