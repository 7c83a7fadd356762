"""Walkers follow the law that they should, and what they write down gives the kernel back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import csv, parquet

import lsmdp
from lsmdp.game import walkers as moving
from lsmdp.game.walkers import replay
from lsmdp.runs import Spec, load, start

Run = Callable[..., Any]
SIGMAS = 5.0  # one in 1.7 million for a normal deviate; seeds are fixed, so a test that passes once always does


def solved(temperature: float = 0.5) -> lsmdp.Solution:
    lmdp = lsmdp.grid(3, 4, temperature=temperature)
    return lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp))


class TestSimulate:
    def test_the_law_after_some_steps_is_exact(self) -> None:
        policy, walkers = solved().policy, 20_000
        law = np.eye(12)[0]
        paths = lsmdp.simulate(policy, 6, walkers=walkers, start=0, seed=1).paths
        for t in range(7):
            seen = np.bincount(paths[t], minlength=12) / walkers
            assert (np.abs(seen - law) <= SIGMAS * np.sqrt(law * (1 - law) / walkers) + 1 / walkers).all()
            law = policy.push(law)

    def test_it_starts_in_the_long_run(self) -> None:
        solution, walkers = solved(), 20_000
        mu = solution.stationary
        for t in (0, 3):  # and stays there
            seen = np.bincount(lsmdp.simulate(solution.policy, 3, walkers=walkers).paths[t], minlength=12) / walkers
            assert (np.abs(seen - mu) <= SIGMAS * np.sqrt(mu * (1 - mu) / walkers) + 1 / walkers).all()

    def test_fit_gives_the_kernel_back(self) -> None:
        policy = solved().policy
        log = lsmdp.simulate(policy, 2_000, walkers=100, seed=3).to_frame()
        assert log.column_names == ["entity", "time", "state"]
        found = lsmdp.fit(log, smoothing=0.0, holdout=0.0).lmdp
        order = [int(label) for label in found.labels or ()]
        assert order == list(range(12))
        visits = np.bincount(np.asarray(log["state"])[:-100], minlength=12)  # nobody leaves the last place
        Q, seen = policy.matrix().toarray(), found.P.toarray()
        spread = np.sqrt(Q * (1 - Q) / visits[:, None])
        assert (np.abs(seen - Q) <= SIGMAS * spread + 1 / visits[:, None]).all()
        # and the bound has teeth: P, which the policy is not far from, does not satisfy it
        assert (np.abs(seen - policy.lmdp.P.toarray()) > SIGMAS * spread + 1 / visits[:, None]).any()

    def test_a_model_moves_by_itself(self) -> None:
        paths = lsmdp.simulate(lsmdp.ring(6, 1.0), 12, start=2).paths[:, 0]
        np.testing.assert_array_equal(paths, (2 + np.arange(13)) % 6)

    def test_a_seed_is_a_walk_however_it_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        policy = solved().policy
        whole = lsmdp.simulate(policy, 50, walkers=7, seed=4).paths
        monkeypatch.setattr(moving, "STEPS_AT_ONCE", 21)
        np.testing.assert_array_equal(lsmdp.simulate(policy, 50, walkers=7, seed=4).paths, whole)
        assert (lsmdp.simulate(policy, 50, walkers=7, seed=5).paths != whole).any()

    def test_it_is_shown_in_short(self) -> None:
        walk = lsmdp.simulate(lsmdp.ring(4), 5, walkers=2)
        assert repr(walk) == "Walk(2 walkers, 5 steps)"
        assert walk.shares.sum() == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("wrong", "complaint"),
        [
            ({"steps": 0}, "the number of steps is 0"),
            ({"steps": 2.5}, "the number of steps is 2.5"),
            ({"steps": 10**9, "walkers": 10**3}, "too many to be kept in memory"),
            ({"steps": 5, "walkers": True}, "the number of walkers is True"),
            ({"steps": 5, "start": "nowhere"}, 'there is no state "nowhere"'),
        ],
    )
    def test_bad_wishes(self, wrong: dict[str, Any], complaint: str) -> None:
        with pytest.raises(lsmdp.SpecError, match=complaint):
            lsmdp.simulate(lsmdp.ring(4), **wrong)

    def test_without_a_long_run_a_start_is_asked_for(self) -> None:
        one_way = lsmdp.LMDP([[0.5, 0.5], [0.0, 1.0]])
        with pytest.raises(lsmdp.AssumptionError, match=r"not irreducible.*start= \(--start\)"):
            lsmdp.simulate(one_way, 5)
        assert lsmdp.simulate(one_way, 50, start=0).paths[-1] == 1


class TestManyStates:
    def test_each_state_has_its_own_row(self) -> None:
        policy, rng = solved().policy, np.random.default_rng(0)
        states = np.repeat(np.arange(12), 5_000)
        drawn = policy.sample(states, rng)
        Q = policy.matrix().toarray()
        seen = np.zeros((12, 12))
        np.add.at(seen, (states, drawn), 1 / 5_000)
        assert (np.abs(seen - Q) <= SIGMAS * np.sqrt(Q * (1 - Q) / 5_000) + 1 / 5_000).all()

    def test_one_by_one_is_the_same(self) -> None:
        policy, states = solved().policy, np.arange(12).repeat(3).reshape(6, 6)
        together, alone = np.random.default_rng(1), np.random.default_rng(1)
        drawn = policy.sample(states, together)
        assert drawn.shape == (6, 6)
        assert drawn.ravel().tolist() == [policy.sample(int(x), alone) for x in states.ravel()]

    def test_labels_will_do(self) -> None:
        lmdp = lsmdp.from_edges([("a", "b", 1.0), ("b", "a", 1.0)])
        policy = lsmdp.Policy(lmdp, np.zeros(2))
        assert policy.sample(["a", "b", "a"], np.random.default_rng(0)).tolist() == [1, 0, 1]
        assert policy.sample(np.array([], dtype=np.int64), np.random.default_rng(0)).size == 0

    @pytest.mark.parametrize("strange", [[0, 12], [-1, 3], ["x", "y"]])
    def test_a_strange_state_is_refused(self, strange: list[Any]) -> None:
        with pytest.raises(lsmdp.SpecError, match="there is no state"):
            solved().policy.sample(np.array(strange), np.random.default_rng(0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "ring"
    spec = Spec.of(kernel="ring:6", costs="switching:5", rounds=20, learners=("ftl", "passive", "btl"), start="2")
    start(spec, path)
    return path


class TestReplay:
    @pytest.mark.parametrize("name", ["ftl", "passive", "btl"])
    def test_walkers_have_the_law_of_the_game(self, folder: Path, name: str) -> None:
        run, walkers = load(folder), 20_000
        last = list(replay(run, name, walkers=walkers))[-1][0]
        law = next(player.law for player in run.game.players if player.learner.name == name)
        seen = np.bincount(last, minlength=6) / walkers
        assert (np.abs(seen - law) <= SIGMAS * np.sqrt(law * (1 - law) / walkers) + 1 / walkers).all()

    def test_the_command(self, run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder.parent)
        told = json.loads(run("simulate", folder, "--walkers", 3, "--out", tmp_path / "l.csv", "--json").stdout)
        assert told == {"walkers": 3, "steps": 20, "records": 63, "seed": 0, "out": str(tmp_path / "l.csv")}
        assert csv.read_csv(tmp_path / "l.csv")["state"].to_pylist()[:3] == [2, 2, 2]

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["--steps", "21"], "21 steps are asked for, and the run has 20 rounds"),
            (["--learner", "track"], '"track" did not play in this run. Learners: ftl, passive, btl.'),
            (["--cost", "hill"], "--cost says nothing about a run"),
        ],
    )
    def test_what_it_refuses(
        self, run: Run, folder: Path, tmp_path: Path, arguments: list[str], complaint: str
    ) -> None:
        result = run("simulate", folder, *arguments, "--out", tmp_path / "log.csv")
        assert result.exit_code == 2
        assert complaint in result.stderr
        assert list(tmp_path.iterdir()) == []


class TestCommand:
    def test_stdout_is_the_log(self, run: Run) -> None:
        result = run("simulate", "grid:3x4", "--cost", "hill", "--steps", 4, "--walkers", 2, "--start", 5, "--seed", 9)
        assert result.stdout.startswith("entity,time,state\n0,0,5\n1,0,5\n")
        lmdp = lsmdp.grid(3, 4)
        policy = lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp)).policy
        expected = lsmdp.simulate(policy, 4, walkers=2, start=5, seed=9).to_frame()
        assert csv.read_csv(io.BytesIO(result.stdout_bytes)).to_pylist() == expected.to_pylist()

    def test_an_answer_walks_like_its_solution(self, run: Run, tmp_path: Path) -> None:
        answer, log = tmp_path / "a.npz", tmp_path / "log.parquet"
        run("solve", "grid:3x4", "--cost", "hill", "--out", answer)
        assert run("simulate", answer, "--steps", 30, "--out", log).exit_code == 0
        again = tmp_path / "again.parquet"
        run("simulate", "grid:3x4", "--cost", "hill", "--steps", 30, "--out", again)
        assert parquet.read_table(log).to_pylist() == parquet.read_table(again).to_pylist()

    def test_fit_reads_it(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "town.csv").write_text('from,to\nhome,work\nwork,home\nhome,the "shop"\nthe "shop",home\n')
        log = tmp_path / "log.csv"
        shown = run("simulate", tmp_path / "town.csv", "--normalise", "--steps", 5_000, "--out", log).stdout
        assert "5,001 records" in shown
        assert f"lsmdp fit {log} --out kernel.npz" in shown
        assert run("fit", log, "--out", tmp_path / "kernel.npz").exit_code == 0
        found = lsmdp.read_model(tmp_path / "kernel.npz")
        assert set(found.labels or ()) == {"home", "work", 'the "shop"'}

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["ring:4", "--json"], "Name a file with --out"),
            (["ring:4", "--out", "log.txt"], "does not end in .csv or .parquet"),
            (["ring:4", "--walkers", "0"], "the number of walkers is 0"),
            (["ring:4", "--steps", "0"], "the number of steps is 0"),
            (["ring:4", "--start", "9"], 'there is no state "9"'),
            (["ring:4", "--learner", "ftl"], "--learner says nothing about a kernel"),
            (["rang:4"], 'Did you mean "ring:4"?'),
            (["nowhere/answer.npz"], "does not exist"),
        ],
    )
    def test_mistakes_are_sentences(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], complaint: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = run("simulate", *arguments)
        assert result.exit_code == 2
        assert complaint in result.stderr
        assert list(tmp_path.iterdir()) == []
