"""The command ``sweep`` and its page: what is printed, how it exits, what is drawn."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from lsmdp import sweeps
from lsmdp.sweeps.page import (
    best_title,
    growth_title,
    headline,
    lede,
    most_above_best,
    page,
    story,
)
from lsmdp.sweeps.spec import plan
from tests.browser import look

Run = Callable[..., Result]

FILE = """
models = ["sticky:0.1", "ring:5"]
costs = ["iid", "drift"]
learners = ["ftl", "discounted", "passive"]
horizons = [50]
seeds = 2
"""
LONG = """
models = [{ kernel = "ring:5", horizons = [2000000] }, { kernel = "sticky:0.1", horizons = [20, 30, 40, 50] }]
costs = ["iid"]
learners = ["ftl"]
horizons = [50]
seeds = 1
"""  # the first run keeps one of two workers busy for longer than any test


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(FILE)


class Here:
    """Plays in this process."""

    def each(self, work: Callable[[Any], Any], jobs: Any) -> Any:
        yield from ((job, work(job)) for job in jobs)


def a_sweep(**changes: Any) -> dict[str, Any]:
    import tomllib

    return sweeps.run(*plan(tomllib.loads(FILE) | changes), Path("sweep"), Here())


def until(holds: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Wait for something, but not for ever."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def living(group: int) -> list[str]:
    """The states of the processes of a group, but for those that are over and wait to be fetched."""
    shown = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in shown.splitlines()]
    return [state for pgid, state in lines if int(pgid) == group and not state.startswith("Z")]


needs_ps = pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps here to find processes with")


@contextmanager
def long_sweep() -> Iterator[subprocess.Popen[str]]:
    """A sweep in the midst of its longest run, with others done, in a group of processes of its own."""
    Path("long.toml").write_text(LONG)
    command = [sys.executable, "-c", "from lsmdp.cli import main; main()", "sweep", "long.toml", "--jobs", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert until(lambda: len(list(Path("runs/long/runs").glob("*.json"))) >= 2)
            assert living(process.pid)
            yield process
        finally:
            if living(process.pid):
                os.killpg(process.pid, signal.SIGKILL)


class TestCommand:
    def test_it_plays_shows_and_goes_on(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """In this process; what Ctrl-C ends below are processes of their own."""
        monkeypatch.setattr("lsmdp.sweeps.Processes.each", Here.each)
        result = run("sweep", "small.toml", "--jobs", 2, "--quiet")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "median regret against the leader" in result.stdout
        assert "8 runs. Everything is in runs/small: look at report.html" in result.stdout
        here = Path("runs/small")
        assert {path.name for path in here.iterdir()} == {
            "sweep.json",
            "runs",
            "results.parquet",
            "summary.json",
            "report.html",
        }
        before = {path: path.stat().st_mtime_ns for path in (here / "runs").iterdir()}
        again = run("sweep", "small.toml", "--resume", "--json", "--quiet")
        assert (again.exit_code, again.stderr) == (0, "")
        content = json.loads(again.stdout)
        assert content == json.loads((here / "summary.json").read_text())
        assert (content["runs"], len(content["games"])) == (8, 4)
        assert {path: path.stat().st_mtime_ns for path in (here / "runs").iterdir()} == before

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("none.toml",), 'SpecError: "none.toml" cannot be read: No such file or directory'),
            (("small.toml", "--jobs", 0), "SpecError: the number of processes is 0."),
            (("small.toml", "--jobs", 1, "--dask", "tcp://x:1"), "SpecError: --jobs is about processes here"),
            (("bad.toml",), "SpecError: \"bad.toml\" has 2 faults:\n  learners[0] is 'fltl'"),
            (("small.toml", "--out", "small.toml"), 'SpecError: "small.toml" is a file. Name a folder with --out.'),
        ],
    )
    def test_mistakes(self, run: Run, arguments: tuple[Any, ...], sentence: str) -> None:
        Path("bad.toml").write_text(FILE.replace('"ftl"', '"fltl"').replace("ring:5", "ring:0"))
        result = run("sweep", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(sentence)

    def test_a_run_that_fails_is_exit_code_1(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lsmdp.sweeps.Processes.each", Here.each)
        Path("c.csv").write_text("0.0,1.0\n" * 30 + "0,2\n")
        Path("small.toml").write_text(FILE.replace(', "ring:5"', "").replace('"drift"', '"c.csv"'))
        result = run("sweep", "small.toml", "--quiet", "--json")
        assert result.exit_code == 1
        assert json.loads(result.stdout)["runs"] == 2
        assert result.stderr.startswith("sticky:0.1 against c.csv, seed 0: CostError: c.csv: ")

    def test_progress_says_how_far_it_is(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lsmdp.sweeps.Processes.each", Here.each)
        monkeypatch.setattr("lsmdp.cli.terminal.SECONDS_BETWEEN_LINES", 0.0)
        result = run("sweep", "small.toml", "--json")
        lines = result.stderr.splitlines()
        assert [line.split(",")[0] for line in lines] == [f"{done} of 8 runs" for done in range(1, 9)]
        assert all(re.fullmatch(r".* runs, \d+ s left", line) for line in lines[:-1])

    @needs_ps
    def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        with long_sweep() as process:
            os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        kept = Path("runs/long/runs")
        assert (process.returncode, stdout) == (130, "")
        assert "Traceback" not in stderr
        found = re.search(r'Interrupted\.\n(\d) of 5 runs are kept in "runs/long"\. Go on with: lsmdp (.*)\n', stderr)
        assert found, stderr
        assert int(found[1]) == len(list(kept.glob("*.json"))) in (2, 3, 4)
        monkeypatch.setattr("lsmdp.sweeps.Processes.each", Here.each)
        Path("long.toml").write_text(LONG.replace("2000000", "50"))
        result = run(*shlex.split(found[2]), "--quiet", "--json")
        assert result.exit_code == 0
        assert json.loads(result.stdout)["runs"] == 5

    @needs_ps
    def test_no_worker_outlives_a_coordinator_that_is_killed(self) -> None:
        with long_sweep() as process:
            process.kill()
            process.wait()
            assert until(lambda: not living(process.pid))

    def test_a_killed_scheduler_is_told_in_one_sentence(self, tmp_path: Path) -> None:
        """Its client once logged the attempts to reach it again, with tracebacks, before we said what had happened."""
        pytest.importorskip("distributed", reason="Dask is not installed: pip install 'lsmdp[dask]'")
        Path("long.toml").write_text(LONG)
        place = ["--scheduler-file", "scheduler.json", "--no-dashboard"]
        scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", *place]
        worker = ["distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", *place]
        silent: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = [subprocess.Popen([sys.executable, "-m", *words], **silent) for words in (scheduler, worker, worker)]
        try:
            assert until(Path("scheduler.json").exists)
            address = json.loads(Path("scheduler.json").read_text())["address"]
            command = ["sweep", "long.toml", "--dask", address, "--quiet"]
            program = [sys.executable, "-c", "from lsmdp.cli import main; main()", *command]
            with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                assert until(lambda: bool(list(Path("runs/long/runs").glob("*.json"))) or process.poll() is not None)
                for one in started:
                    one.kill()
                stdout, stderr = process.communicate(timeout=120)
        finally:
            for one in started:
                one.kill()
                one.wait()
        assert (process.returncode, stdout) == (2, ""), stderr
        told = re.fullmatch(
            r'SpecError: the connection to the Dask cluster "(.*)" was lost\. See that its scheduler is up, and start '
            r'the sweep again\.\n\d of 5 runs are kept in "runs/long"\. Go on with: lsmdp sweep .*\n',
            stderr,
        )
        assert told, stderr
        assert told[1] == address


class TestPage:
    def test_one_file_that_asks_for_nothing(self) -> None:
        summary = a_sweep(models=["ring:5"], costs=["iid"])
        text = Path("sweep/report.html").read_text(encoding="utf-8")
        assert text == page(summary)
        assert "{{" not in text
        assert not re.search(r'(src|href)="(?!data:)', text)
        assert set(re.findall(r"https?://[^\"' )]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert len(text) < 6e6

    def test_a_name_cannot_end_the_script(self) -> None:
        summary = a_sweep(models=["ring:5"], costs=["iid"])
        summary["games"][0]["model"] = "</script><script>alert(1)</script>"
        assert "</script><script>alert" not in page(summary)

    def test_the_headline_counts_honestly(self) -> None:
        games = [
            {
                "best": best,
                "learners": {
                    "ftl": {"growth": {"verdict": verdict, "best": "power", "p": {"band": band}}},
                    "discounted": {},
                },
            }
            for best, verdict, band in (
                ("ftl", "log T", [-0.1, 0.2]),
                ("discounted", "T^0.40", [0.3, 0.6]),
                ("ftl", "undecided: log T 60%, T^p 40%", [-0.5, 0.4]),
            )
        ]
        assert headline(games, "ftl") == "The regret of ftl grows slower than √T in 2 of 3 games"
        short = {"best": "ftl", "learners": {"ftl": {"growth": {"verdict": "too few rounds", "best": None}}}}
        assert headline([*games, short], "ftl").endswith("in 2 of the 3 games that are long enough to tell")
        assert headline([short], "ftl") == "Too few rounds to tell how the regret of ftl grows"
        assert lede(games, "ftl").startswith(
            "ftl has the least median regret at the last round in 2 of 3 games; discounted"
        )
        assert best_title(games, "ftl") == "ftl does not have the least regret in 1 of 3 games"
        assert (
            growth_title(games, "ftl") == "The regret of ftl: log T in 1, a power of T in 1, undecided in 1 of 3 games"
        )

    def test_the_page_is_about_who_is_never_far_off(self) -> None:
        """The loss above the best of the same run, at most; and least for the learner of the headline."""
        summary = a_sweep()
        runs: dict[tuple[Any, ...], dict[str, float]] = {}
        for row in pq.read_table("sweep/results.parquet").to_pylist():
            runs.setdefault((row["model"], row["costs"], row["seed"]), {})[row["learner"]] = row["loss"]
        above = {
            name: max(paid[name] - min(paid.values()) for paid in runs.values())
            for name in summary["games"][0]["learners"]
        }
        assert {name: most_above_best(summary["games"], name) for name in above} == pytest.approx(above)
        least = min(above, key=lambda name: above[name])
        told = story(summary)
        assert told["headline"].endswith(f"the regret of {least} grows")
        assert told["best"]["subject"] == least
        assert f"In no run does {least} pay more than {above[least]:.3g} above the best of that run" in told["lede"]

    def test_who_sees_the_costs_is_marked_and_wins_nothing(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Against a target be the leader has the least regret, which is no merit."""
        monkeypatch.setattr("lsmdp.sweeps.Processes.each", Here.each)
        Path("sees.toml").write_text(
            'models = ["sticky:0.5"]\ncosts = ["target"]\nlearners = ["btl", "ftl"]\nhorizons = [40]\nseeds = 2\n'
        )
        shown = run("sweep", "sees.toml", "--jobs", "1", "--quiet", "--out", "sees")
        assert "btl (sees c_t)" in shown.stdout
        assert "A yardstick, not a learner." in shown.stdout
        summary = json.loads(Path("sees/summary.json").read_text())
        (game,) = summary["games"]
        assert {name: one["clairvoyant"] for name, one in game["learners"].items()} == {"btl": True, "ftl": False}
        ends = {name: one["regret"]["median"][-1] for name, one in game["learners"].items()}
        assert ends["btl"] < ends["ftl"]
        assert (game["best"], game["tied"]) == ("ftl", ["ftl"])
        told = story(summary)
        assert told["titles"] == {"btl": "btl (sees c_t)", "ftl": "ftl"}
        assert "ftl plays alone" in told["lede"]
        assert "btl is shown the cost of a round before playing it" in told["lede"]
        assert [row[3] for row in told["growth"]["rows"]] == ["btl (sees c_t)", "ftl"]
        table = sweeps.SweepFolder(Path("sees")).table()
        seen = set(zip(table["learner"].to_pylist(), table["clairvoyant"].to_pylist(), strict=True))
        assert seen == {("btl", True), ("ftl", False)}

    def test_a_tie_is_a_tie(self) -> None:
        np.save("flat.npy", np.full((60, 5), 0.5))
        told = story(a_sweep(models=["ring:5"], costs=["flat.npy"], learners=["ftl", "passive"], horizons=[1, 60]))
        assert told["lede"].startswith(
            "ftl has the least median regret at the last round in 2 of 2 games; passive in 2. In 2 of them several have"
        )
        assert [card["least"] for card in told["cards"]] == [2, 2]
        assert told["best"]["title"] == "ftl has the least regret in every game, with others in 2 of 2 games"
        assert [row[3] for row in told["best"]["rows"]] == ["ftl and passive"] * 2
        about = [game["about"] for game in told["panels"]["games"]]
        assert about == [f"{rounds}, 1 seed; least: ftl and passive" for rounds in ("1 round", "60 rounds")]
        assert told["panels"]["title"] == "Largest median regret in any game: ftl 0, passive 0"

    def test_one_learner_is_not_told_to_be_the_best(self) -> None:
        told = story(a_sweep(models=["ring:5"], costs=["iid"], learners=["ftl"]))
        assert "plays alone" in told["lede"]
        assert told["best"]["title"] == "ftl plays alone"
        assert [card["least"] for card in told["cards"]] == [None]

    def test_a_browser_draws_it(self) -> None:
        a_sweep()
        seen = look(Path("sweep/report.html").resolve(), Path("profile").resolve(), "<svg")
        assert "CONSOLE" not in seen.messages
        assert seen.document.count('<svg viewBox="0 0 280 190"') == 4
        assert seen.document.count("<tr>") == 2 + 4 + 12 + 6  # heads, games, fits, provenance
        assert '<h1 id="headline">Too few rounds to tell how the regret of ' in seen.document
        assert "NaN" not in seen.document.split('id="data"')[0]
