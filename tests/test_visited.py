"""Games in which only the cost of the state is seen that one is in, and the learner of such costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lsmdp
from lsmdp import CostError, FollowTheLeader, Passive, Policy, SpecError, Visited, runs
from lsmdp.checks import CheckError, check_learner
from lsmdp.cli import app
from lsmdp.costs.moves import in_unit
from lsmdp.follow.loop import ControlLoop
from lsmdp.follow.memory import Memory
from lsmdp.game import Game
from lsmdp.game.walkers import replay
from lsmdp.learners import learner_by_name
from lsmdp.runs import Folder, Spec

N = 6
LMDP_ = lsmdp.random_graph(N, 3, seed=2)
COSTS = np.random.default_rng(0).uniform(0, 1, (40, N))


def visited(learner: Any = None, costs: np.ndarray = COSTS, lmdp: lsmdp.LMDP = LMDP_, **options: Any) -> lsmdp.game.Run:
    return lsmdp.play(lmdp, Visited() if learner is None else learner, costs, feedback="visited", **options)


class Told:
    """A learner of one's own, with one method in place of observe: it writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, float]] = []

    def init(self, lmdp: lsmdp.LMDP) -> np.ndarray:
        return np.zeros(lmdp.n)

    def policy(self, lmdp: lsmdp.LMDP, state: np.ndarray) -> Policy:
        return Policy(lmdp, state)

    def observe_at(self, lmdp: lsmdp.LMDP, state: np.ndarray, x: int, cost: float) -> np.ndarray:
        self.heard.append((x, cost))
        after = state.copy()
        after[x] += 0.1 * cost
        return after


# ----------------------------------------------------------------------------------------------------------
# the game


def test_a_learner_is_told_the_cost_of_where_it_is_and_moves_by_its_policy() -> None:
    learner = Told()
    visited(learner, start=3)
    assert len(learner.heard) == len(COSTS)
    assert learner.heard[0] == (3, COSTS[0, 3])
    possible = LMDP_.P.toarray() > 0
    for t, ((x, cost), (y, _)) in enumerate(zip(learner.heard, learner.heard[1:], strict=False)):
        assert cost == COSTS[t, x]
        assert possible[x, y]


def test_the_path_has_the_law_of_the_policies() -> None:
    """1,500 paths of two moves of one policy, against p Q Q, within four standard errors."""
    fixed = lsmdp.Fixed(Policy(LMDP_, np.linspace(0, 2, N)))
    law = np.full(N, 1 / N)
    places, paths = np.zeros(N), 1500
    for seed in range(paths):
        game = Game.begin(LMDP_, fixed, start=law, seed=seed, feedback="visited")
        learner, state = game.players[0].learner, game.players[0].state
        for _ in range(2):
            state = learner.observe(LMDP_, state, COSTS[0])
        places[state.at] += 1
    expected = fixed.fixed.push(fixed.fixed.push(law))
    assert (np.abs(places / paths - expected) < 4 * np.sqrt(expected * (1 - expected) / paths)).all()


def test_the_loss_is_exact_for_the_policies_along_the_path() -> None:
    """sum of p_t.(c_t + T KL(Q_t || P)) with p_{t+1} = p_t Q_t, whatever the path was."""
    learner, law = Told(), np.full(N, 1 / N)
    run = visited(learner, start=law, seed=5)
    loss, state = 0.0, np.zeros(N)
    for c_t, (x, cost) in zip(COSTS, learner.heard, strict=True):
        policy = Policy(LMDP_, state)
        loss += law @ (c_t + policy.kl())
        law = policy.push(law)
        state[x] += 0.1 * cost
    assert run.learners["Told"].loss == pytest.approx(loss, rel=1e-12)


def test_what_is_not_visited_is_not_seen() -> None:
    """Other costs wherever the path is not: the same path and the same policies, bit for bit."""

    def states(costs: np.ndarray) -> list[Any]:
        player = Game.begin(LMDP_, Visited(), seed=1, feedback="visited").players[0]
        found = [player.state]
        for c_t in costs:
            found.append(player.learner.observe(LMDP_, found[-1], c_t))
        return found

    before = states(COSTS)
    others = 1.0 - COSTS
    for t, state in enumerate(before[:-1]):
        others[t, state.at] = COSTS[t, state.at]
    for one, other in zip(before, states(others), strict=True):
        assert one.at == other.at
        np.testing.assert_array_equal(one.own.lead.v, other.own.lead.v)
    assert len({state.at for state in before}) > 2


def test_a_seed_is_a_path() -> None:
    losses = [visited(seed=seed).learners["visited"].loss for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]


def test_games_do_not_depend_on_how_they_are_cut_or_on_where_they_are_stopped() -> None:
    everyone = [Visited(), Visited(0.1), Passive()]
    whole = Game.begin(LMDP_, everyone, seed=3, sample=2, feedback="visited")
    whole.play(COSTS)
    for cut in (1, 7, 39):
        first, later = (Game.begin(LMDP_, everyone, seed=3, sample=2, feedback="visited") for _ in range(2))
        first.play(COSTS[:cut])
        later.restore(first.to_arrays())
        later.play(COSTS[cut:])
        for name, array in whole.to_arrays().items():
            if "tallies" not in name:  # they hold seconds
                np.testing.assert_array_equal(later.to_arrays()[name], array, err_msg=name)


@pytest.mark.parametrize(
    ("field", "value", "words"), [("at", N, "holds 6, not a number from 0 to 5"), ("states", 5, "")]
)
def test_a_forged_place_is_refused(field: str, value: int, words: str) -> None:
    game = Game.begin(LMDP_, Visited(), feedback="visited")
    game.play(COSTS)
    arrays = game.to_arrays() | {f"player0.state.{field}": np.array(value)}
    with pytest.raises(SpecError, match=f'the array "{field}" .*{words}'):
        Game.begin(LMDP_, Visited(), feedback="visited").restore(arrays)


def test_who_needs_to_see_everything_does_not_play() -> None:
    for learner in (FollowTheLeader(), lsmdp.Clock(3), lsmdp.BeTheLeader()):
        with pytest.raises(
            SpecError, match=f'"{learner.name}" needs to see the costs of all states.* Let visited play'
        ):
            visited([Visited(), learner])


def test_who_sees_one_cost_does_not_play_where_all_are_seen() -> None:
    sentence = r'"visited" is for games in which only the cost .* feedback="visited" \(--feedback visited\)'
    with pytest.raises(SpecError, match=sentence):
        lsmdp.play(LMDP_, [FollowTheLeader(), Visited()], COSTS)
    with pytest.raises(SpecError, match=sentence):
        next(iter(lsmdp.rounds(LMDP_, Visited(), COSTS)))
    with pytest.raises(SpecError, match=sentence):
        lsmdp.certify(LMDP_, COSTS, Visited())


def test_other_words_are_no_feedback() -> None:
    with pytest.raises(SpecError, match=r'"bandit" is no feedback. It is "full", .* or "visited"'):
        lsmdp.play(LMDP_, Visited(), COSTS, feedback="bandit")


def test_everything_else_works_as_in_any_game() -> None:
    run = visited([Visited(), Passive()], sample=3, seed=2)
    found = run.regret(bracket=True)
    assert found["visited"].leader is not None
    assert found["passive"].leader is not None
    json.dumps(found.to_dict(), allow_nan=False)
    assert lsmdp.certify(run, search=False, exact=False).holds
    assert sum(len(block) for block in replay(run, "visited", walkers=4)) == len(COSTS) + 1
    rows = list(lsmdp.rounds(LMDP_, Visited(), COSTS, seed=2, feedback="visited"))
    assert sum(row.loss for row in rows) == pytest.approx(run.learners["visited"].loss, rel=1e-13)


def test_learners_of_ones_own_are_checked() -> None:
    check_learner(Told())

    class Silent(Told):
        def observe_at(self, lmdp: lsmdp.LMDP, state: np.ndarray, x: int, cost: float) -> None:  # type: ignore[override]
            return None

    with pytest.raises(CheckError, match='observe_at of "Silent" returned nothing'):
        check_learner(Silent())

    class Blunt(Told):
        def observe_at(self, lmdp: lsmdp.LMDP, state: np.ndarray) -> None:  # type: ignore[override]
            return None

    with pytest.raises(CheckError, match=r"cannot be asked for observe_at\(lmdp, state, x, cost\)"):
        check_learner(Blunt())


# ----------------------------------------------------------------------------------------------------------
# the learner


@pytest.mark.parametrize("learner", [Visited(), Visited(0.2)])
def test_it_keeps_the_rules_of_the_game(learner: Visited) -> None:
    check_learner(learner)


def test_it_plays_the_optimum_for_the_means_with_one_virtual_visit() -> None:
    learner = Visited(tolerance=1e-10)
    state = learner.init(LMDP_)
    told = [(0, 0.2), (3, 0.9), (0, 0.4), (1, 0.5)]
    for x, cost in told:
        state = learner.observe_at(LMDP_, state, x, cost)
    overall = 0.5
    expected = np.full(N, overall)
    expected[[0, 1, 3]] = (0.6 + overall) / 3, (0.5 + overall) / 2, (0.9 + overall) / 2
    np.testing.assert_allclose(learner.forecast(state.visits, state.means), expected, rtol=0, atol=1e-15)
    truth = lsmdp.solve(LMDP_, expected, tol=1e-12)
    np.testing.assert_allclose(learner.policy(LMDP_, state).v, truth.v, rtol=0, atol=1e-7)
    lo, hi = learner.bounds(LMDP_, state)
    assert lo <= truth.bounds[1]
    assert truth.bounds[0] <= hi
    assert hi - lo <= 1e-10


def test_discounted_means_forget_and_count_for_what_they_remember() -> None:
    learner = Visited(0.5)
    state, mean = learner.init(LMDP_), 0.0
    for d, cost in enumerate(COSTS[:, 0], start=1):
        state = learner.observe_at(LMDP_, state, 2, cost)
        mean += max(1 / d, 1 / 3) * (cost - mean)
    assert state.means[2] == pytest.approx(mean, abs=1e-15)
    forecast = learner.forecast(state.visits, state.means)
    np.testing.assert_allclose(forecast, mean, rtol=0, atol=1e-15)  # there is nothing else to shrink to
    state = learner.observe_at(LMDP_, state, 1, 1.0)
    overall = (40 * mean + 1.0) / 41
    forecast = learner.forecast(state.visits, state.means)
    np.testing.assert_allclose(forecast[[1, 2, 0]], [(1 + overall) / 2, (3 * mean + overall) / 4, overall], atol=1e-14)


@pytest.mark.parametrize("lmdp", [lsmdp.random_graph(12, 4, seed=1), lsmdp.ring(12)], ids=["random", "ring"])
def test_its_regret_on_noise_around_a_mean_is_small(lmdp: lsmdp.LMDP) -> None:
    """To leave the states alone would cost 20 and more; full information costs about 0.2."""
    rng = np.random.default_rng(4)
    costs = 0.6 * rng.uniform(0, 1, 12) + 0.4 * rng.uniform(0, 1, (1500, 12))
    regret = visited([Visited(), Passive()], costs, lmdp, seed=4).regret()
    assert regret["visited"].leader < 8.0 < 16.0 < regret["passive"].leader


def test_means_that_forget_follow_costs_that_change() -> None:
    rng = np.random.default_rng(6)
    first, second = np.eye(N)[0], np.eye(N)[3]
    costs = np.vstack([np.tile(c, (1500, 1)) for c in (first, second)]) * rng.uniform(0.8, 1.0, (3000, 1))
    run = visited([Visited(), Visited(0.05)], costs, seed=1)
    assert run.learners["visited:0.05"].loss < run.learners["visited"].loss - 1.0


def test_what_it_cannot_use_is_a_sentence() -> None:
    learner = Visited()
    state = learner.init(LMDP_)
    for cost in (float("nan"), float("inf"), "dear", None, True, [0.3]):
        with pytest.raises(CostError, match=r"the cost of the state that was visited is .* Give one finite number"):
            learner.observe_at(LMDP_, state, 0, cost)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="there is no state 6"):
        learner.observe_at(LMDP_, state, N, 0.5)
    for eta, tolerance in ((-0.1, 1e-6), (float("nan"), 1e-6), (float("inf"), 1e-6), (0.1, 0.0)):
        with pytest.raises(SpecError, match="Visited takes eta >= 0 and tolerance > 0"):
            Visited(eta, tolerance)


def test_names() -> None:
    assert learner_by_name("visited") == Visited()
    assert learner_by_name("visited:0.05") == Visited(0.05)
    assert [Visited().name, Visited(0.05).name] == ["visited", "visited:0.05"]


# ----------------------------------------------------------------------------------------------------------
# the command line


def command(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


GAME = ("play", "ring:5", "--costs", "iid", "--rounds", 50)


def test_play_show_and_report(tmp_path: Path) -> None:
    path = tmp_path / "run"
    named = ("--learner", "visited", "--learner", "visited:0.1", "--learner", "passive", "--feedback", "visited")
    result = command(*GAME, *named, "--out", path, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)["learners"]
    assert list(found) == ["visited", "visited:0.1", "passive"]
    assert 'feedback = "visited"' in (path / "spec.toml").read_text()
    assert "--feedback visited" in Folder(path).spec().command(path)
    assert found == json.loads(command("show", path, "--json").stdout)["learners"]
    assert command("report", path).exit_code == 0
    again = command(*GAME, *named, "--out", path, "--resume", "--json")
    assert json.loads(again.stdout)["learners"] == found


def test_where_nobody_is_named_it_plays(tmp_path: Path) -> None:
    result = command(*GAME, "--feedback", "visited", "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0
    assert list(json.loads(result.stdout)["learners"]) == ["visited"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--learner", "ftl", "--feedback", "visited"), '"ftl" needs to see the costs of all states'),
        (("--learner", "visited"), 'Play it with feedback="visited" (--feedback visited)'),
        (("--learner", "visited", "--feedback", "bandit"), "--feedback is 'bandit': it must be 'full' or 'visited'"),
        (("--learner", "visited:much", "--feedback", "visited"), 'not a number of the kind that "visited" takes'),
        (("--learner", "visited:-1", "--feedback", "visited"), "Visited takes eta >= 0"),
    ],
)
def test_what_the_command_line_cannot_use_is_a_sentence(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    result = command(*GAME, *words, "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_run_with_another_feedback_is_another_run(tmp_path: Path) -> None:
    game = (*GAME, "--learner", "passive", "--out", tmp_path / "run", "--resume")
    assert command(*game).exit_code == 0
    result = command(*game, "--feedback", "visited")
    assert result.exit_code == 2
    assert "differs in feedback (full there, visited here)" in " ".join(result.stderr.split())


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a posix signal")
def test_killed_and_gone_on_with(tmp_path: Path) -> None:
    options: dict[str, Any] = {"learners": ("visited",), "rounds": 600, "feedback": "visited", "seed": 2}
    spec = Spec.of(kernel="random:31:4:2", costs="iid", **options)
    path, words = (
        tmp_path / "killed",
        ("--learner", "visited", "--rounds", "600", "--feedback", "visited", "--seed", "2"),
    )
    asked = ["play", spec.kernel, "--costs", spec.costs, *words, "--out", str(path), "--checkpoint", "0.01", "--quiet"]
    process = subprocess.Popen([sys.executable, "-c", "from lsmdp.cli import main; main()", *asked])
    while Folder(path).checkpoint() is None and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert 0 < runs.load(path).rounds < 600
    runs.resume(path)
    runs.start(spec, tmp_path / "alone")
    killed, alone = (Folder(place).rounds().drop(["seconds"]) for place in (path, tmp_path / "alone"))
    assert killed.equals(alone)


# ----------------------------------------------------------------------------------------------------------
# a loop of one's own


def said(**words: Any) -> bytes:
    return json.dumps(words).encode()


def test_a_line_with_one_number_is_what_that_state_cost() -> None:
    learner = Visited()
    loop, state = ControlLoop.of(LMDP_, learner), learner.init(LMDP_)
    for t, (x, cost) in enumerate([(0, 0.3), (4, 1), (2, 0.25)], start=1):
        state = learner.observe_at(LMDP_, state, x, cost)
        answer = loop.answer(said(cost=cost, state=x)) or {}
        targets, chances = learner.policy(LMDP_, state).row(x)
        assert answer["next"] == dict(zip(map(str, targets.tolist()), chances.tolist(), strict=True))
        assert answer["round"] == t
        assert answer["average_cost_bounds"] == learner.bounds(LMDP_, state)
    before = loop.kept
    assert (loop.answer(said(cost=0.1)) or {})["state"] == "2"  # the system is where it was
    assert loop.kept.state.visits[2] == before.state.visits[2] + 1
    assert (loop.answer(said(state=1)) or {})["round"] == 4  # nothing is learnt from where it is


def test_passive_takes_both_kinds_of_lines() -> None:
    loop = ControlLoop.of(LMDP_, Passive(), start=0)
    assert (loop.answer(said(cost=0.5)) or {})["round"] == 1
    assert (loop.answer(said(cost=[0.5] * N)) or {})["round"] == 2


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (said(cost=[0.5] * N), '"visited" learns from the cost of the state where the system is. Write one number'),
        (said(cost={"0": 0.5}), '"visited" learns from the cost of the state where the system is. Write one number'),
        (said(cost=1.5), "state 3: the cost is 1.5, outside [0, 1]"),
        (b'{"cost": 1e999}', "the cost is inf"),
        (b'{"cost": ' + b"9" * 400 + b"}", "the cost is inf"),
        (b'{"cost": NaN}', "the cost is nan"),
        (said(cost=True), "learns from the cost of the state where the system is"),
        (said(cost="0.5"), "learns from the cost of the state where the system is"),
        (said(cost=None), "learns from the cost of the state where the system is"),
    ],
)
def test_a_line_that_cannot_be_used_changes_nothing(line: bytes, sentence: str) -> None:
    loop = ControlLoop.of(LMDP_, Visited(), start=3)
    before = loop.kept
    assert sentence in (loop.answer(line) or {})["error"]
    assert loop.kept is before


def test_scales_and_costs_of_moves() -> None:
    loop = ControlLoop.of(LMDP_, Visited(), start=1, scale=(70.0, 0.0))
    loop.answer(said(cost=35))
    assert loop.kept.state.means[1] == 0.5
    lmdp, moves = in_unit(LMDP_, np.triu(np.full((N, N), 0.5)))
    loop = ControlLoop.of(lmdp, Visited(), moves=moves)
    loop.answer(said(cost=0.5, state=2))
    assert loop.kept.state.means[2] == moves.added(np.full(N, 0.5))[2]


@pytest.mark.parametrize("lmdp", [LMDP_, lsmdp.LMDP([[1.0]])], ids=["six states", "one state"])
@pytest.mark.parametrize("learner", [Visited(), Passive()], ids=["visited", "passive"])
def test_a_memory_goes_on_to_the_last_bit(lmdp: lsmdp.LMDP, learner: Any, tmp_path: Path) -> None:
    lines = [said(cost=float(cost), state=t % lmdp.n) for t, cost in enumerate(COSTS[:12, 0])]
    whole = ControlLoop.of(lmdp, learner)
    expected = [whole.answer(line) for line in lines]
    found = []
    for part in (lines[:5], lines[5:]):
        loop = ControlLoop.of(lmdp, learner)
        loop.remember(Memory(tmp_path / "learner", lmdp, learner))
        found += [loop.answer(line) for line in part]
        assert loop.memory is not None
        loop.memory.file.close()  # as after kill -9: the records are there, and no snapshot is made of them
    assert found == expected
    state = lsmdp.load(tmp_path / "learner", lmdp, learner)
    assert state.t == 12


def test_a_record_that_is_none_of_this_learner_is_refused(tmp_path: Path) -> None:
    for at, costs in ((0, np.full(N, 0.5)), (-1, np.array([0.5]))):
        place = tmp_path / f"learner {at}"
        memory = Memory(place, LMDP_, Visited())
        memory.begin(ControlLoop.of(LMDP_, Visited()).kept)
        memory.add(at, costs)
        memory.file.close()
        with pytest.raises(SpecError, match="is damaged: "):
            lsmdp.load(place, LMDP_, Visited())


def test_the_command_follows() -> None:
    lines = b"\n".join([said(state=0), said(cost=0.3, state=1), said(cost=[0.1] * 5)])
    asked = [sys.executable, "-c", "from lsmdp.cli import main; main()", "follow", "ring:5", "--learner", "visited"]
    found = subprocess.run(asked, input=lines, capture_output=True, check=False)
    assert found.returncode == 1  # a line was refused
    first, second, third = map(json.loads, found.stdout.splitlines())
    assert (first["round"], second["round"], second["state"]) == (0, 1, "1")
    assert "Write one number" in third["error"]
