"""Sweeps: the file, the names and seeds of runs, workers that come and go, resuming, growth."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lsmdp import game, runs, sweeps
from lsmdp.errors import SpecError
from lsmdp.solvers import solve
from lsmdp.sweeps import Cluster, Processes, SweepFolder
from lsmdp.sweeps.growth import growth
from lsmdp.sweeps.jobs import (
    ResultRow,
    played,
    rows,
    seeds,
)
from lsmdp.sweeps.spec import plan
from lsmdp.sweeps.workers import GAVE_UP

SMALL = {
    "models": ["sticky:0.1", {"kernel": "ring:5", "start": "2", "horizons": [40]}],
    "costs": ["iid", "switching:7"],
    "learners": ["ftl", "passive"],
    "horizons": [60],
    "seeds": 3,
}
MARKS = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000])


class Here:
    """Plays in this process, in a shuffled order, and counts."""

    def __init__(self, seed: int = 0) -> None:
        self.order = random.Random(seed)
        self.played: list[Any] = []

    def each(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Generator[tuple[Any, Any], None, None]:
        shuffled = list(jobs)
        self.order.shuffle(shuffled)
        for job in shuffled:
            self.played.append(job)
            yield job, work(job)


def bits(table: pa.Table) -> dict[str, Any]:
    """All of a table but the seconds; floating-point columns as bytes."""
    columns = {name: table[name].combine_chunks() for name in table.column_names if name != "seconds"}
    return {
        name: (column.is_null().to_pylist(), np.nan_to_num(column.to_numpy(zero_copy_only=False)).tobytes())
        if pa.types.is_floating(column.type)
        else column.to_pylist()
        for name, column in columns.items()
    }


def run_here(fields: dict[str, Any], path: Path, seed: int = 0) -> tuple[dict[str, Any], Here]:
    workers = Here(seed)
    sweep, jobs = plan(fields)
    return sweeps.run(sweep, jobs, path, workers), workers


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The folder of SMALL, played in this process, and its runs as they were played."""
    path = tmp_path_factory.mktemp("whole") / "sweep"
    return path, run_here(SMALL, path)[1].played


@pytest.fixture
def copy(whole: tuple[Path, list[Any]], tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return shutil.copytree(whole[0], tmp_path / "sweep")


class TestFile:
    def test_all_faults_at_once_each_with_its_place(self) -> None:
        with pytest.raises(SpecError) as caught:
            plan(
                {
                    "models": [
                        "ring:12",
                        "rnig:5",
                        {"kernel": "ring:4", "temprature": 2.0},
                        {"kernel": "ring:3", "start": "9"},
                    ],
                    "costs": ["iid", "switching:0", "swap", "-"],
                    "learners": ["ftl", "fltl"],
                    "horizons": [0],
                    "colour": 1,
                },
                "my.toml",
            )
        lines = str(caught.value).split("\n")
        assert lines[0] == '"my.toml" has 10 faults:'
        assert lines[-1] == "Correct the file and start again."
        faults = [line.strip() for line in lines[1:-1]]
        for wanted in (
            "models[2].temprature: there is no such field. The fields are kernel, start, temperature,",
            'models[1]: "rnig:5" is neither a file nor a known name. Did you mean "ring:5"?',
            'models[3]: there is no state "9". States are numbered from 0 to 2.',
            'costs[1]: "switching:0" cannot be read as switching[:PERIOD]',
            "costs[2]: swap is a game of 2 states",
            "costs[3]: standard input can be read only once, and a sweep reads its costs often. Name a file.",
            'learners[1] is \'fltl\': there is no learner "fltl". Did you mean "ftl"?',
            "horizons[0] is 0: it must be at least 1.",
            "seeds: it is missing. Add for example seeds = 10.",
            "colour: there is no such field. The fields are models, costs, learners, horizons, seeds, seed.",
        ):
            assert any(fault.startswith(wanted) for fault in faults), (wanted, faults)

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"models": ["ring:4", "ring:4"]}, "entry 1 is entry 0 again; name each once"),
            ({"learners": ["ftl", "ftl:0"]}, "entry 1 is entry 0 again"),
            ({"seeds": [1, 2, 1]}, "entry 2 is entry 0 again"),
            ({"seeds": 0}, "seeds is 0: there must be at least 1 and at most 100,000."),
            ({"seeds": True}, "seeds is True"),
            ({"costs": []}, "costs is []: it is empty; name at least one."),
            ({"models": "ring:4"}, "models is 'ring:4': it must be a list. Write for example models = ["),
            (
                {"costs": ["switching", "switching:50"]},
                "sticky:0.1 against switching:50 is the same game as sticky:0.1",
            ),
            ({"costs": ["iid", "swap"]}, "costs[1] on models[1]: swap is a game of 2 states, but the model has 5."),
        ],
    )
    def test_a_fault_in_words(self, change: dict[str, Any], sentence: str) -> None:
        with pytest.raises(SpecError) as caught:
            plan(SMALL | change)
        assert sentence in str(caught.value)

    def test_costs_are_looked_at_even_where_no_model_can_be_made(self) -> None:
        with pytest.raises(SpecError) as caught:
            plan(SMALL | {"models": ["rnig:5"], "costs": ["iid", "idd", "drift:0"]})
        assert [line.split(":")[0].strip() for line in str(caught.value).split("\n")[1:-1]] == [
            "models[0]",
            "costs[1]",
            "costs[2]",
        ]

    def test_a_file_that_is_no_toml_or_not_there(self, tmp_path: Path) -> None:
        (tmp_path / "a.toml").write_text("models = [")
        with pytest.raises(SpecError, match="is not TOML"):
            sweeps.read(tmp_path / "a.toml")
        with pytest.raises(SpecError, match="cannot be read: No such file"):
            sweeps.read(tmp_path / "b.toml")
        with pytest.raises(SpecError, match=r"is a folder, and only regular files are read\. Name a file in it\.$"):
            sweeps.read(tmp_path)

    def test_every_model_meets_every_cost_in_every_seed(self) -> None:
        _, jobs = plan(SMALL)
        assert len(jobs) == len({job.digest for job in jobs}) == 12
        assert [job.spec.rounds for job in jobs] == [60] * 6 + [40] * 6
        assert {job.model for job in jobs} == {"sticky:0.1", "ring:5 start=2"}

    def test_costs_from_a_file_are_played_once(self, tmp_path: Path) -> None:
        path = tmp_path / "costs.npy"
        np.save(path, np.random.default_rng(0).random((40, 5)))
        _, jobs = plan(SMALL | {"models": ["ring:5"], "costs": [str(path), "iid"], "horizons": [40]})
        assert [job.costs for job in jobs] == [str(path), *["iid"] * 3]


class TestNames:
    def test_seeds_are_those_of_spawned_children(self) -> None:
        children = np.random.SeedSequence(7).spawn(5)
        assert seeds(7, (0, 3)) == [int(children[k].generate_state(1, np.uint64)[0]) >> 1 for k in (0, 3)]
        assert len(set(seeds(7, tuple(range(50))))) == 50
        assert seeds(8, (0,)) != seeds(7, (0,))

    def test_a_larger_sweep_has_the_same_runs_and_more(self) -> None:
        small = {job.digest for job in plan(SMALL)[1]}
        large = {job.digest for job in plan(SMALL | {"seeds": 4, "costs": ["binary", "iid", "switching:7"]})[1]}
        assert small < large
        assert len(large) == 24

    @pytest.mark.parametrize(
        "change",
        [
            {"models": [{"kernel": "sticky:0.1", "temperature": 0.5}, SMALL["models"][1]]},
            {"models": [{"kernel": "sticky:0.1", "start": "1"}, SMALL["models"][1]]},
            {"learners": ["ftl"]},
            {"seed": 1},
            {"horizons": [61]},
        ],
    )
    def test_whatever_determines_the_numbers_is_in_the_name(self, change: dict[str, Any]) -> None:
        before, after = ([job.digest for job in plan(fields)[1][:6]] for fields in (SMALL, SMALL | change))
        assert not set(before) & set(after)

    def test_a_worker_that_would_play_another_run_says_so(self) -> None:
        job = plan(SMALL)[1][0]
        assert isinstance(played(job), list)
        other = job.__class__(job.model, job.costs, 0, job.spec.model_copy(update={"rounds": 7}), job.digest, 1.0)
        assert "the worker would play another run" in played(other)


class TestRows:
    def test_they_are_the_regrets_of_the_run(self) -> None:
        job = plan(SMALL | {"horizons": [60]})[1][0]
        lmdp = job.spec.model()
        run = game.play(lmdp, job.spec.players(), job.spec.cost_sequence(lmdp), start=job.spec.start)
        found = run.regret()
        of_ftl = [row for row in rows(run) if row.learner == "ftl"]
        assert [row.t for row in of_ftl] == [1, 2, 5, 10, 20, 50, 60]
        assert [(row.t, row.loss, row.regret) for row in of_ftl[:-1]] == found["ftl"].along
        assert (of_ftl[-1].regret, of_ftl[-1].idealised_regret) == (found["ftl"].leader, found["ftl"].idealised)
        assert of_ftl[-1].dynamic_regret == pytest.approx(found["ftl"].dynamic, rel=1e-12)
        shorter = game.play(lmdp, job.spec.players(), list(run.costs)[:20], start=job.spec.start).regret()["ftl"]
        assert of_ftl[4].dynamic_regret == pytest.approx(shorter.dynamic, rel=1e-12)
        t, c_bar, tallies = run.game.marks[4]
        row = of_ftl[4]
        low, high = (t * bound for bound in solve(lmdp, c_bar).bounds)
        slack = 1e-9 * t  # both solves are certified to 1e-10 a round
        assert tallies[0].ideal_loss - high - slack <= row.idealised_regret <= tallies[0].ideal_loss - low + slack

    def test_the_same_as_a_run_of_its_own(self, tmp_path: Path) -> None:
        job = plan(SMALL)[1][-1]
        alone = runs.start(job.spec, tmp_path / "run").regret()
        last = {row.learner: row for row in played(job) if row.t == job.spec.rounds}
        assert {name: row.loss for name, row in last.items()} == {one.name: one.tally.loss for one in alone.learners}
        assert {name: row.regret for name, row in last.items()} == {one.name: one.leader for one in alone.learners}


class TestWorkers:
    def test_neither_their_number_nor_their_order_nor_a_death_changes_a_bit(
        self, whole: tuple[Path, list[Any]], tmp_path: Path
    ) -> None:
        sweep, jobs = plan(SMALL)
        killed = []

        def kill(now: Any) -> None:
            if now.done == now.total - 2 and not killed:  # others are lost with it, and are played again
                killed.append(multiprocessing.active_children()[0])
                killed[0].kill()

        summary = sweeps.run(sweep, jobs, tmp_path / "killed", Processes(2), watch=kill)
        assert len(killed) == 1
        assert (summary["runs"], summary["failed"]) == (12, [])
        run_here(SMALL, tmp_path / "shuffled", seed=1)
        places = (tmp_path / "killed", tmp_path / "shuffled", whole[0])
        tables = [bits(SweepFolder(place).table()) for place in places]
        assert tables[0] == tables[1] == tables[2]
        assert len(tables[0]["t"]) == 6 * 2 * 7 + 6 * 2 * 6
        summaries = [json.loads((place / "summary.json").read_text()) for place in places]
        for summary in summaries:
            for one in summary["games"]:
                for learner in one["learners"].values():
                    assert learner.pop("seconds") > 0.0
        assert summaries[0] == summaries[1] == summaries[2]

    def test_a_job_that_always_kills_its_worker_is_given_up_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The others go on, with one thread each, and the environment is as it was."""
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
        threads = "[__import__('os').environ[name] for name in ('OMP_NUM_THREADS', 'NUMBA_NUM_THREADS')]"
        jobs = ["[1]", "__import__('os')._exit(1)", threads, "[3]"]
        results = dict(Processes(2).each(eval, jobs))
        assert results == {"[1]": [1], jobs[1]: GAVE_UP, threads: ["1", "1"], "[3]": [3]}
        assert os.environ["OMP_NUM_THREADS"] == "2"
        assert "NUMBA_NUM_THREADS" not in os.environ

    def test_no_processes_is_refused(self) -> None:
        with pytest.raises(SpecError, match=r"the number of processes is 0\. Give at least 1 with --jobs\."):
            Processes(0)
        assert Processes.all_cores().count >= 1


class TestCluster:
    @pytest.mark.filterwarnings("default")  # what Dask warns about while one of its workers is shot is not ours
    def test_one_of_two_workers_is_killed_half_way(self, whole: tuple[Path, list[Any]], tmp_path: Path) -> None:
        distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'lsmdp[dask]'")
        sweep, jobs = plan(SMALL)
        killed: list[int] = []
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
        ) as cluster:

            def kill(now: Any) -> None:
                if now.done == 5 and not killed:
                    killed.append(next(iter(cluster.workers.values())).pid)
                    os.kill(killed[0], signal.SIGKILL)

            summary = sweeps.run(sweep, jobs, tmp_path / "dask", Cluster(cluster.scheduler_address), watch=kill)
        assert len(killed) == 1
        assert (summary["runs"], summary["failed"]) == (12, [])
        assert bits(SweepFolder(tmp_path / "dask").table()) == bits(SweepFolder(whole[0]).table())

    @pytest.mark.filterwarnings("default")
    def test_a_job_that_kills_every_worker_is_given_up(self) -> None:
        dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'lsmdp[dask]'")
        distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'lsmdp[dask]'")
        jobs = ["[1]", "__import__('os')._exit(1)"]
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
            ) as cluster,
        ):
            results = dict(Cluster(cluster.scheduler_address).each(eval, jobs))
        assert results["[1]"] == [1]
        assert results[jobs[1]].startswith("the workers that tried it died: ")

    def test_nobody_at_the_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("distributed", reason="Dask is not installed: pip install 'lsmdp[dask]'")
        monkeypatch.setattr("lsmdp.sweeps.workers.CONNECT_SECONDS", 0.5)
        with pytest.raises(SpecError, match=r'there is no Dask scheduler at "tcp://127\.0\.0\.1:9"'):
            list(Cluster("tcp://127.0.0.1:9").each(eval, ["1"]))

    def test_without_dask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "distributed", None)
        with pytest.raises(SpecError, match=r"--dask needs Dask. Install it with: pip install 'lsmdp\[dask\]'"):
            list(Cluster("tcp://127.0.0.1:9").each(eval, ["1"]))


class TestFolder:
    def test_only_what_is_missing_is_played_again(self, copy: Path, whole: tuple[Path, list[Any]]) -> None:
        first = whole[1]
        before = bits(SweepFolder(copy).table())
        assert len(first) == 12
        assert run_here(SMALL, copy)[1].played == []
        gone, broken = first[3], first[7]
        (copy / "runs" / f"{gone.digest}.json").unlink()
        (copy / "runs" / f"{broken.digest}.json").write_text('{"run": ')
        summary, again = run_here(SMALL, copy)
        assert {job.digest for job in again.played} == {gone.digest, broken.digest}
        assert summary["runs"] == 12
        assert bits(SweepFolder(copy).table()) == before

    def test_a_larger_sweep_uses_the_runs_of_a_smaller_one(self, copy: Path) -> None:
        summary, more = run_here(SMALL | {"seeds": 4}, copy)
        assert {job.replicate for job in more.played} == {3}
        assert summary["runs"] == 16

    def test_what_was_made_for_another_sweep_goes(self, copy: Path) -> None:
        sweep, jobs = plan(SMALL | {"seeds": 4})
        with pytest.raises(ZeroDivisionError):
            sweeps.run(sweep, jobs, copy, Here(), watch=lambda _: 1 / 0)
        assert {path.name for path in copy.iterdir()} == {"sweep.json", "runs"}

    def test_what_stops_a_sweep_keeps_what_is_done(self, tmp_path: Path) -> None:
        sweep, jobs = plan(SMALL)

        def stop(now: Any) -> None:
            if now.done == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            sweeps.run(sweep, jobs, tmp_path, Here(), watch=stop, again="make it so")
        assert caught.value.__notes__ == [f'4 of 12 runs are kept in "{tmp_path}". Go on with: make it so']
        assert len(run_here(SMALL, tmp_path)[1].played) == 8

    def test_a_run_that_is_written_but_not_counted_yet_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sweep, jobs = plan(SMALL)
        keep = SweepFolder.keep

        def stop(folder: SweepFolder, *what: Any) -> None:
            keep(folder, *what)
            raise KeyboardInterrupt

        monkeypatch.setattr(SweepFolder, "keep", stop)
        with pytest.raises(KeyboardInterrupt) as caught:
            sweeps.run(sweep, jobs, tmp_path, Here())
        assert caught.value.__notes__ == [f'1 of 12 runs are kept in "{tmp_path}".']

    def test_a_bug_is_not_hidden(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lsmdp.sweeps.jobs.rows", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_here(SMALL, tmp_path)

    def test_a_run_that_fails_is_said_and_the_others_count(self, tmp_path: Path) -> None:
        costs = np.full((50, 5), 0.5)
        costs[20, 3] = 1.5
        np.save(tmp_path / "bad.npy", costs)
        fields = {"models": ["ring:5"], "costs": [str(tmp_path / "bad.npy"), "iid"], "horizons": [10, 50]}
        summary, _ = run_here(SMALL | fields, tmp_path / "sweep")
        assert summary["runs"] == 7
        (failed,) = summary["failed"]
        assert (failed["rounds"], failed["costs"]) == (50, str(tmp_path / "bad.npy"))
        assert "CostError" in failed["why"]
        assert "round 21, state 3: the cost is 1.5" in failed["why"]

    def test_somebody_elses_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "letter.txt").write_text("dear")
        with pytest.raises(SpecError, match="is not empty and holds no sweep"):
            run_here(SMALL, tmp_path)
        runs.start(runs.Spec.of(kernel="ring:4", costs="iid", rounds=3), tmp_path / "run")
        with pytest.raises(SpecError, match="holds a run of lsmdp play"):
            run_here(SMALL, tmp_path / "run")
        with pytest.raises(SpecError, match=r"is a file\. Name a folder with --out"):
            run_here(SMALL, tmp_path / "letter.txt")

    def test_the_table(self, whole: tuple[Path, list[Any]]) -> None:
        table = SweepFolder(whole[0]).table()
        assert table.column_names == ["run", "model", "costs", "rounds", "seed", *ResultRow._fields, "clairvoyant"]
        keys = list(zip(*(table[name].to_pylist() for name in ("run", "learner", "t")), strict=True))
        assert len(set(keys)) == table.num_rows
        assert table["model"].to_pylist() == sorted(table["model"].to_pylist(), reverse=True)  # as in the file


class TestSummary:
    def test_bands_are_quantiles_over_the_seeds(self, whole: tuple[Path, list[Any]]) -> None:
        summary = json.loads((whole[0] / "summary.json").read_text())
        table = SweepFolder(whole[0]).table().to_pylist()
        one = summary["games"][1]
        assert (one["model"], one["costs"], one["seeds"]) == ("sticky:0.1", "switching:7", [0, 1, 2])
        mine = [row for row in table if (row["model"], row["costs"]) == ("sticky:0.1", "switching:7")]
        for name, learner in one["learners"].items():
            ends = [row["regret"] for row in mine if row["learner"] == name and row["t"] == 60]
            expected = [np.quantile(ends, level) for level in (0.1, 0.5, 0.9)]
            assert [learner["regret"][level][-1] for level in ("low", "median", "high")] == expected
        least = min(one["learners"], key=lambda name: one["learners"][name]["regret"]["median"][-1])
        assert one["best"] == least


class TestGrowth:
    @pytest.mark.parametrize(
        ("curve", "verdict", "parameter", "value"),
        [
            (lambda t: 1.0 + 3.0 * np.log(t), "log T", "a", 3.0),
            (lambda t: 5.0 + 0.5 * np.log(t) ** 2, "log² T", "b", 0.5),
            (lambda t: 2.0 * np.sqrt(t) - 3.0, "T^0.50", "p", 0.5),
            (lambda t: 4.0 + 0.1 * t, "T^1.00", "c", 0.1),
            (lambda t: 4.0 - 6.0 / np.sqrt(t), "bounded (T^-0.50)", "p", -0.5),
        ],
    )
    def test_a_known_growth_is_found(self, curve: Any, verdict: str, parameter: str, value: float) -> None:
        size = np.exp(np.random.default_rng(5).normal(0.0, 0.2, (10, 1)))  # a seed has more regret or less all along,
        noise = np.exp(np.random.default_rng(6).normal(0.0, 0.0002, (10, MARKS.size)))  # and hardly wavers
        found = growth(MARKS, curve(MARKS) * size * noise)
        assert found["verdict"] == verdict
        low, high = found[parameter]["band"]
        scale = 1.0 if parameter == "p" else float(np.median(size))
        assert low <= value * scale <= high
        assert low <= found[parameter]["value"] <= high
        assert found["error"][found["best"]] < 0.001
        assert found["from"] == 100

    def test_exact_curves_give_exact_parameters(self) -> None:
        found = growth(MARKS, np.tile(7.0 + 2.0 * np.log(MARKS), (4, 1)))
        assert found["best"] == "log"
        assert (found["a"]["value"], found["k"]["value"]) == pytest.approx((2.0, 7.0), rel=1e-12)
        assert found["support"] == {"log": 1.0, "log2": 0.0, "power": 0.0}

    def test_a_constant_is_no_growth(self) -> None:
        noise = np.random.default_rng(1).normal(0.0, 0.05, (10, MARKS.size))
        assert growth(MARKS, 4.0 * np.exp(noise))["verdict"] == "bounded (no growth is seen)"

    def test_noise_leaves_it_undecided(self) -> None:
        noise = np.random.default_rng(2).normal(0.0, 0.1, (10, MARKS.size))
        found = growth(MARKS, np.log(MARKS) ** 1.5 * np.exp(noise))
        assert found["verdict"].startswith("undecided: ")
        assert max(found["support"].values()) < 0.95
        low, high = found["p"]["band"]
        assert high - low > 0.2

    def test_a_negative_regret_does_not_grow(self) -> None:
        assert growth(MARKS, -np.tile(MARKS, (3, 1)))["verdict"] == "beats the leader"

    def test_a_regret_that_was_negative_is_not_called_no_growth(self) -> None:
        assert growth(MARKS, np.tile(MARKS - 1500.0, (3, 1)))["verdict"] == "changes sign"

    def test_less_than_the_leaders_are_certified_to_is_nothing(self) -> None:
        assert growth(MARKS, np.full((3, MARKS.size), 1e-13))["verdict"] == "no growth"

    def test_more_than_linear_cannot_last(self) -> None:
        assert growth(MARKS, np.tile(MARKS**1.4, (3, 1)))["verdict"] == "T^1.40 (cannot last: play longer)"

    def test_one_seed_has_no_band(self) -> None:
        found = growth(MARKS, 3.0 * np.log(MARKS)[None])
        assert (found["verdict"], found["a"]["band"], found["support"]) == ("log T (one seed)", None, None)

    def test_too_little_to_tell(self) -> None:
        assert growth(MARKS[:9], np.ones((3, 9)))["verdict"] == "too few rounds"  # 50, 100, 200, 500
        assert growth(MARKS, np.full((3, MARKS.size), np.nan))["verdict"] == "too few rounds"
