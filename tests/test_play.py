"""The commands ``play`` and ``show``: what they print, how they exit, and what they leave behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from lsmdp import runs
from lsmdp.cli import app, terminal
from lsmdp.costs import FAMILIES
from lsmdp.learners import NAMES, learner_by_name
from lsmdp.runs import Folder, Spec
from lsmdp.runs.manifest import manifest
from lsmdp.sources import makers

Run = Callable[..., Result]

LOS_LOOP = Path(__file__).parents[2] / "shared" / "data" / "los-loop"
LEARNER_KEYS = {
    "loss",
    "state_cost",
    "control_cost",
    "ideal_loss",
    "idealised_regret",
    "regret",
    "average_cost_of_leader",
    "max_gap",
    "solves",
    "steps",
}
COMPARATORS = {"leader", "best_stationary_low", "best_stationary_high", "dynamic"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default folders go to a place of their own."""
    monkeypatch.chdir(tmp_path)


def lsmdp_process(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from lsmdp.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def bad_round(round_: int, value: float, rounds: int = 8) -> Path:
    """A file of costs for four states with an unusable value in some round."""
    costs = np.full((rounds, 4), 0.5)
    costs[round_ - 1, 2] = value
    np.save("costs.npy", costs)
    return Path("costs.npy")


def all_numbers(content: Any) -> list[float]:
    parts = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    numbers = [content] if isinstance(content, float) else []
    return numbers + [number for part in parts for number in all_numbers(part)]


class TestPlay:
    def test_json_has_the_promised_keys(self, run: Run) -> None:
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 20, "--json", "--quiet")
        assert (result.exit_code, result.stderr) == (0, "")
        content = json.loads(result.stdout)
        assert (content["states"], content["rounds"], content["start"]) == (5, 20, 0)
        assert list(content["learners"]) == ["pool:auto", "ftl", "passive"]
        for one in content["learners"].values():
            assert set(one) >= LEARNER_KEYS
            assert set(one["regret"]) == COMPARATORS
            assert one["regret"]["best_stationary_low"] is one["regret"]["best_stationary_high"] is None
        assert content == json.loads(Path("runs/ring-5-iid/summary.json").read_text())
        assert np.isfinite(all_numbers(content)).all()

    def test_the_bracket(self, run: Run) -> None:
        result = run("play", "ring:3", "--costs", "iid", "--rounds", 10, "--bracket", "--json", "--learner", "ftl")
        regret = json.loads(result.stdout)["learners"]["ftl"]["regret"]
        assert regret["best_stationary_low"] <= regret["best_stationary_high"]
        assert regret["leader"] <= regret["best_stationary_high"]

    def test_every_learner_can_be_named(self, run: Run) -> None:
        every = NAMES.keys() - {"plain-track", "visited"}
        named = [word for name in every for word in ("--learner", name)]
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 5, "--json", *named)
        assert set(json.loads(result.stdout)["learners"]) == {learner_by_name(name).name for name in every}

    def test_a_warning_is_one_sentence(self, run: Run) -> None:
        result = run("play", "ring:4:1", "--costs", "iid", "--rounds", 5, "--learner", "plain-track", "--quiet")
        assert result.exit_code == 0
        assert result.stderr.startswith("Warning: plain tracking of a chain that hardly ever stays where it is")
        assert result.stderr.count("\n") == 1

    def test_the_options_reach_the_spec(self, run: Run) -> None:
        np.save("P.npy", [[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [1.0, 0.0, 0.0]])
        np.save("c.npy", np.linspace(-7.0, 5.0, 12).reshape(4, 3))
        result = run(
            *("play", "P.npy", "--costs", "c.npy", "--scale", -7, 5, "--start", 1, "--seed", 9, "--sample", 5),
            *("--temperature", 0.5, "--normalise", "--largest-class", "--teleport", 0.1, "--lazy", 0.2, "--bracket"),
            *("--learner", "window:3", "--learner", "ftl:2", "--rounds", 3, "--out", "deep/er/run"),
        )
        assert result.exit_code == 0, result.stderr
        spec = Folder(Path("deep/er/run")).spec()
        assert spec == Spec.of(
            kernel="P.npy",
            costs="c.npy",
            learners=("window:3", "ftl:2"),
            rounds=3,
            start="1",
            seed=9,
            sample=5,
            scale=(-7.0, 5.0),
            bracket=True,
            temperature=0.5,
            normalise=True,
            largest_class=True,
            teleport=0.1,
            lazy=0.2,
        )
        program, *words = shlex.split(spec.command(Path("again")))
        assert (program, run(*words).exit_code) == ("lsmdp", 0)
        assert Folder(Path("again")).spec() == spec

    def test_text(self, run: Run) -> None:
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 2000, "--learner", "track", "--learner", "passive")
        assert result.exit_code == 0
        words = " ".join(result.stdout.split())
        for part in (
            "ring:5 against iid: 2,000 rounds from state 0",
            "regret vs leader",
            "idealised regret",
            "regret against all policies with mixing sum up to m, at most",
            "runs/ring-5-iid",
        ):
            assert part in words
        assert "best stationary" not in words  # not asked for
        assert max(map(len, result.stdout.splitlines())) <= 100
        summary = json.loads(Path("runs/ring-5-iid/summary.json").read_text())
        for one in summary["learners"].values():
            for value in (one["loss"], one["control_cost"], one["regret"]["leader"], one["idealised_regret"]):
                assert f"{value:,.4f}" in words

    def test_text_with_a_bracket_and_a_scale(self, run: Run) -> None:
        np.save("c.npy", 1000.0 * np.random.default_rng(0).random((30, 4)))
        result = run("play", "ring:4", "--costs", "c.npy", "--scale", 0, 1000, "--bracket", "--learner", "ftl")
        words = " ".join(result.stdout.split())
        assert "in your units, where 0 costs 0 and 1000 costs 1" in words
        ours = json.loads(Path("runs/ring-4-c/summary.json").read_text())["your_units"]["learners"]["ftl"]
        for value in (ours["loss"], ours["regret"]["leader"], ours["regret"]["best_stationary_high"]):
            assert f"{value:,.4f}" in words

    def test_progress_goes_to_stderr_as_lines(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 0.0)
        result = run("play", "ring:4", "--costs", "iid", "--rounds", 1500, "--learner", "passive", "--json")
        json.loads(result.stdout)
        lines = result.stderr.splitlines()
        assert lines[0].startswith("round 2 of 1,500, ")  # the first one has no pace yet
        assert lines[-2].startswith("round 1,4")
        assert " a second, mean loss: passive 0." in lines[-2]
        assert lines[-2].endswith(" s left")
        assert lines[-1] == "all 1,500 rounds are played, working out the regret"

    def test_progress_shows_the_present_regret_where_somebody_follows_the_leader(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 0.0)
        options = ("--costs", "iid", "--learner", "passive", "--learner", "ftl", "--json", "--out")
        result = run("play", "ring:4", "--rounds", 100, *options, "long")
        line = result.stderr.splitlines()[-2]  # of round 99
        shorter = json.loads(run("play", "ring:4", "--rounds", 99, *options, "short").stdout)
        for name, one in shorter["learners"].items():
            present = one["loss"] - 99 * shorter["average_cost_of_leader"]
            shown = float(line.split(f"{name} ")[1].split(",")[0].split()[0])
            assert shown == pytest.approx(present, rel=1e-3, abs=99e-6)  # four digits of a leader known within 1e-6
        assert "regret against the leader's average" in line

    def test_progress_on_a_terminal_is_a_bar(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes anything for a terminal
        monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LOOKS", 0.0)
        arguments = ("play", "ring:4", "--costs", "iid", "--rounds", 50, "--learner", "passive", "--json")
        result = run(*arguments)
        json.loads(result.stdout)
        assert "━" in result.stderr
        assert "of 50," in result.stderr
        assert "all 50 rounds are played" in result.stderr
        assert run(*arguments, "--out", "quiet", "--quiet").stderr == ""

    def test_standard_input(self) -> None:
        lines = "0,1,0.5,0\n1,0,0,0\n0,0,0,1\n"
        result = CliRunner().invoke(app, ["play", "ring:4", "--costs", "-", "--json", "--quiet"], input=lines)
        content = json.loads(result.stdout)
        assert content["rounds"] == 3
        P = makers.ring(4).P.toarray()
        expected = 0.0 + P[0] @ [1, 0, 0, 0] + (P @ P)[0] @ [0, 0, 0, 1]  # from state 0
        assert content["learners"]["passive"]["loss"] == pytest.approx(expected, rel=1e-14)  # rounding
        assert content["learners"]["passive"]["regret"]["leader"] is None

    def test_help_lists_costs_and_learners(self, run: Run) -> None:
        lines = [line.split() for line in run("play", "--help").stdout.splitlines()]
        for family in FAMILIES.values():
            assert [family.usage, *family.meaning.split()] in lines
        for name, learner in NAMES.items():
            assert [name, *learner.meaning.split()] in lines
        assert ["grid:ROWSxCOLS", "a", "lazy", "walk", "on", "a", "rectangle"] in lines


class TestKeeping:
    def test_nothing_is_overwritten(self, run: Run) -> None:
        arguments = ("play", "ring:5", "--costs", "iid", "--rounds", 20, "--quiet")
        assert run(*arguments).exit_code == 0
        before = Path("runs/ring-5-iid/summary.json").read_bytes()
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            'SpecError: "runs/ring-5-iid" holds a run already, and runs are not overwritten. Go on with it with '
            "--resume, or choose another folder with --out.\n"
        )
        assert Path("runs/ring-5-iid/summary.json").read_bytes() == before
        again = run(*arguments, "--resume", "--json")
        assert (again.exit_code, json.loads(again.stdout)) == (0, json.loads(before))

    def test_resume_starts_what_is_not_there(self, run: Run) -> None:
        assert run("play", "ring:5", "--costs", "iid", "--rounds", 5, "--resume", "--quiet").exit_code == 0
        assert Folder(Path("runs/ring-5-iid")).is_finished

    def test_more_rounds_are_refused(self, run: Run) -> None:
        run("play", "ring:5", "--costs", "iid", "--rounds", 5)
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 9, "--resume")
        assert result.exit_code == 2
        assert "holds another run, which differs in rounds (5 there, 9 here)" in result.stderr

    def test_a_bad_round_keeps_those_before(self, run: Run) -> None:
        result = run("play", "ring:4", "--costs", bad_round(6, 2.0), "--json", "--quiet", "--learner", "ftl")
        assert (result.exit_code, result.stdout) == (2, "")
        first, second = result.stderr.splitlines()
        assert first.startswith("CostError: costs.npy: round 6, state 2: the cost is 2, outside [0, 1].")
        command = "lsmdp play ring:4 --costs costs.npy --learner ftl --out runs/ring-4-costs --resume"
        kept = 'Rounds 1 to 5 are kept in "runs/ring-4-costs".'
        assert second == f"{kept} Once the costs are corrected, go on with: {command}"
        bad_round(6, 0.25)
        resumed = run(*shlex.split(command)[1:], "--json")
        assert json.loads(resumed.stdout)["rounds"] == 8

    def test_both_ways_out_of_costs_that_end_early_work(self, run: Run) -> None:
        Path("costs.csv").write_text("0.5,0,0,1\n")
        arguments = ("play", "ring:4", "--costs", "costs.csv", "--learner", "ftl", "--quiet", "--rounds")
        first, second = run(*arguments, 5).stderr.splitlines()
        assert first == (
            "CostError: costs.csv: there is no round 2: the costs end before it, but 5 rounds were asked for. Add the "
            "missing rounds to the costs; or ask for fewer (--rounds), in another folder if some were played (--out)."
        )
        assert run(*arguments, 1, "--out", "another").exit_code == 0
        kept, _, command = second.partition(": lsmdp ")
        assert kept == 'Rounds 1 to 1 are kept in "runs/ring-4-costs". Once the costs are corrected, go on with'
        Path("costs.csv").write_text("0.5,0,0,1\n" * 5)
        assert json.loads(run(*shlex.split(command), "--json").stdout)["rounds"] == 5

    @pytest.mark.skipif(os.name != "posix", reason="signals are sent as on posix")
    def test_ctrl_c_in_a_real_process(self, run: Run) -> None:
        words = ["play", "ring:5", "--costs", "iid", "--rounds", "1000000", "--learner", "track", "--out", "long run"]
        process = lsmdp_process(*words)
        for _ in range(3000):
            if Folder(Path("long run")).checkpoint() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (130, "")
        played = runs.load("long run").rounds
        *_, stopped, advice = stderr.splitlines()
        assert stopped == "Interrupted."
        assert advice == (
            f'Rounds 1 to {played:,} are kept in "long run". Go on with: '
            "lsmdp play ring:5 --costs iid --learner track --rounds 1000000 --out 'long run' --resume"
        )
        assert "Traceback" not in stderr

        shown = run("show", "long run")
        assert shown.exit_code == 0
        assert f"ring:5 against iid: {played:,} of 1,000,000 rounds from state 0" in shown.stdout
        assert advice.partition("Go on with: ")[2] in shown.stdout
        content = json.loads(run("show", "long run", "--json").stdout)
        assert (content["states"], content["rounds"], content["finished"]) == (5, played, False)
        assert set(content["learners"]["track"]) >= LEARNER_KEYS
        assert content["learners"]["track"]["regret"] == dict.fromkeys(COMPARATORS)
        assert content["learners"]["track"]["loss"] == runs.load("long run").learners["track"].loss

    def test_an_interrupt_before_the_game_leaves_nothing(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("lsmdp.runs.spec.read_model", interrupt)
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 5)
        assert (result.exit_code, result.stderr) == (130, "Interrupted; nothing was written.\n")
        assert not Path("runs").exists()


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["ring:5", "--costs", "iid"], 'SpecError: "iid" has no end. Say how many rounds to play with --rounds T'),
            (["rnig:5", "--costs", "iid"], 'SpecError: "rnig:5" is neither a file nor a known name. Did you mean'),
            (
                ["ring:5", "--costs", "idd"],
                'SpecError: "idd" is neither a file nor a known cost sequence. Did you mean',
            ),
            (["ring:5", "--costs", "gone.csv"], 'SpecError: "gone.csv" does not exist.'),
            (["ring:5", "--costs", "iid", "--rounds", "0"], "SpecError: --rounds is 0: it must be at least 1."),
            (["ring:5", "--costs", "iid", "--rounds", "9", "--start", "x"], 'SpecError: there is no state "x".'),
            (
                ["ring:5", "--costs", "iid", "--rounds", "9", "--learner", "tarck", "--seed", "-1"],
                'SpecError: --learner is \'tarck\': there is no learner "tarck". Did you mean "track"? Learners: ',
            ),
            (
                ["ring:5", "--costs", "iid", "--rounds", "9", "--learner", "ftl", "--learner", "ftl"],
                "SpecError: the learner 'ftl' was named twice.",
            ),
            (["ring:5", "--costs", "iid", "--rounds", "9", "--teleport", "2"], "ModelError: ring:5: teleport takes"),
            (
                ["ring:5", "--costs", "iid", "--rounds", "9", "--temperature", "0"],
                "SpecError: --temperature is 0.0: it must be above 0.0.",
            ),
            (["ring:5", "--costs", "iid", "--rounds", "9", "--scale", "3", "3"], "SpecError: the scale is 3 to 3."),
        ],
    )
    def test_it_is_one_sentence_and_leaves_nothing(self, run: Run, arguments: list[str], message: str) -> None:
        result = run("play", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(message), result.stderr
        assert result.stderr.count("\n") == 1
        assert not Path("runs").exists()

    @pytest.mark.parametrize("word", ["1.5", "many", "1e400"])
    def test_a_number_of_rounds_that_is_none(self, run: Run, word: str) -> None:
        result = run("play", "ring:5", "--costs", "iid", "--rounds", word)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"'--rounds': \"{word}\" is not a whole number. Write for example 1000, or 1e3." in result.stderr

    def test_rounds_in_powers_of_ten(self, run: Run) -> None:
        run("play", "ring:5", "--costs", "iid", "--rounds", "2e1", "--quiet")
        assert Folder(Path("runs/ring-5-iid")).spec().rounds == 20

    def test_all_faults_at_once(self, run: Run) -> None:
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 0, "--seed", -1, "--sample", -2)
        assert [name for name in ("rounds is 0", "seed is -1", "sample is -2") if name not in result.stderr] == []

    def test_a_reducible_chain(self, run: Run) -> None:
        np.save("P.npy", [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
        result = run("play", "P.npy", "--costs", "iid", "--rounds", 5)
        assert result.exit_code == 2
        assert "--largest-class" in result.stderr
        assert run("play", "P.npy", "--costs", "iid", "--rounds", 5, "--largest-class").exit_code == 0

    def test_a_wrong_first_round_leaves_nothing(self, run: Run) -> None:
        result = run("play", "ring:4", "--costs", bad_round(1, 70.0))
        assert result.exit_code == 2
        assert "--scale LOW HIGH" in result.stderr
        assert "kept" not in result.stderr
        assert not Path("runs/ring-4-costs").exists()

    def test_a_folder_below_a_file(self, run: Run) -> None:
        Path("file").touch()
        result = run("play", "ring:5", "--costs", "iid", "--rounds", 5, "--out", "file/run")
        assert (result.exit_code, result.stderr) == (
            2,
            'SpecError: "file/run" cannot be made: Not a directory. Choose another place with --out.\n',
        )


class TestShow:
    def test_a_finished_run(self, run: Run) -> None:
        played = run("play", "ring:5", "--costs", "iid", "--rounds", 20)
        shown = run("show", "runs/ring-5-iid")
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert shown.stdout == played.stdout
        assert json.loads(run("show", "runs/ring-5-iid", "--json").stdout) == Folder(Path("runs/ring-5-iid")).summary()

    def test_a_pool_is_shown_beside_its_experts(self, run: Run) -> None:
        assert run("play", "ring:5", "--costs", "iid", "--rounds", 20, "--learner", "pool:3", "--quiet").exit_code == 0
        words = " ".join(run("show", "runs/ring-5-iid").stdout.split())
        one = Folder(Path("runs/ring-5-iid")).summary()["learners"]["pool:3"]
        told, best = one["experts"], min(one["experts"]["experts"].items(), key=lambda found: found[1]["loss"])
        assert f"pool:3 paid {one['loss']:.4f}, and at most {told['loss_at_most']:.4f} by its theorem; " in words
        assert f"the best of its 11 experts, {best[0]}, would have paid {best[1]['loss']:.4f} alone." in words

    def test_who_sees_the_costs_is_marked(self, run: Run) -> None:
        words = ("ring:5", "--costs", "iid", "--rounds", 20, "--learner", "btl", "--learner", "ftl")
        played = run("play", *words, "--scale", 0, 2, "--quiet")
        assert played.stdout.count("btl (sees c_t)") == 5  # two tables, the same in your units, and the bounds
        assert "ftl (" not in played.stdout
        assert "A yardstick, not" in played.stdout
        summary = json.loads(run("show", "runs/ring-5-iid", "--json").stdout)
        assert {name: one["clairvoyant"] for name, one in summary["learners"].items()} == {"btl": True, "ftl": False}
        begun = Path("begun")
        begun.mkdir()
        spec = Spec.of(kernel="ring:5", costs="iid", rounds=1, learners=("btl", "ftl"))
        Folder(begun).create(spec, manifest(spec, spec.model(), spec.cost_sequence(spec.model())))
        assert "btl (sees c_t)" in run("show", begun).stdout
        unfinished = json.loads(run("show", begun, "--json").stdout)
        assert unfinished["learners"]["btl"]["clairvoyant"]

    def test_numbers_are_said_as_they_are(self, run: Run) -> None:
        """One round is no rounds, and a regret that rounds to zero has no sign."""
        one = run("play", "ring:5", "--costs", "iid", "--rounds", 1, "--quiet").stdout
        assert "iid: 1 round from state 0" in one
        assert "-0.0000" not in one
        assert [terminal.figure(value) for value in (-1e-9, -0.0, 735, -0.5)] == ["0.0000", "0.0000", "735", "-0.5000"]

    def test_the_inputs_are_not_needed(self, run: Run) -> None:
        run("play", "ring:4", "--costs", bad_round(8, 0.5), "--quiet")
        Path("costs.npy").unlink()
        assert run("show", "runs/ring-4-costs").exit_code == 0

    def test_an_unfinished_run_that_no_round_was_saved_of(self, run: Run) -> None:
        path = Path("begun")
        path.mkdir()
        inputs = {"versions": {}, "kernel": "", "costs": None, "seed": 0, "states": 5, "start": 0}
        Folder(path).create(Spec.of(kernel="ring:5", costs="iid", rounds=7), inputs)
        result = run("show", path)
        assert "0 of 7 rounds" in result.stdout
        assert "Unfinished. Go on with: lsmdp play ring:5" in result.stdout

    def test_no_run(self, run: Run) -> None:
        result = run("show", "nowhere")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == 'SpecError: "nowhere" is not a folder. Name a folder that lsmdp play has made.\n'
        Path("empty").mkdir()
        assert "holds no run" in run("show", "empty").stderr


@pytest.mark.skipif(not LOS_LOOP.is_dir(), reason="the Los-loop traffic data is not part of the repository")
def test_real_traffic(run: Run) -> None:
    """The command of the data's own description: highways of Los Angeles, one detector of 207 cut off."""
    words = ("--costs", LOS_LOOP / "los_speed.csv", "--scale", 70, 0, "--rounds", 50, "--json", "--quiet")
    refused = run("play", LOS_LOOP / "los_adj.csv", "--normalise", *words)
    assert refused.exit_code == 2
    assert "1 of 207 states" in refused.stderr
    result = run("play", LOS_LOOP / "los_adj.csv", "--normalise", "--largest-class", *words)
    assert result.exit_code == 0
    assert "--largest-class kept 206 of 207 states" in result.stderr
    content = json.loads(result.stdout)
    assert (content["states"], content["rounds"]) == (206, 50)
    assert Path("runs/los_adj-los_speed/rounds.parquet").is_file()
    for name, one in content["learners"].items():
        assert one["loss"] == pytest.approx(one["state_cost"] + one["control_cost"], rel=1e-12)
        assert content["your_units"]["learners"][name]["loss"] == 70.0 * one["loss"]
