"""The command ``sweep``: many runs from one file, and the page about them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmdp.cli.base import (
    Json,
    app,
    complaints,
    print_json,
)
from lsmdp.cli.games import Quiet
from lsmdp.errors import SpecError

if TYPE_CHECKING:
    from rich.table import Table

    from lsmdp.cli.terminal import Progress
    from lsmdp.sweeps import Cluster, Processes
    from lsmdp.sweeps.coordinator import SweepProgress

File = Annotated[
    Path, typer.Argument(metavar="SWEEP", help="A sweep file (TOML), as in the example below.", show_default=False)
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="Processes on this machine.  [default: one per core]")
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="The scheduler of a Dask cluster that plays instead: tcp://..."),
]
Out = Annotated[Path | None, typer.Option("--out", help="The folder of the sweep.  [default: runs/NAME of the file]")]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the sweep in the folder. Starting it again does so too: runs are kept."),
]

_EXAMPLE = """\b
A sweep file:
  models = ["ring:12", { kernel = "grid:6x6", horizons = [2000] }]
  costs = ["iid", "switching:50"]
  learners = ["pool:auto", "ftl", "passive"]
  horizons = [10000]
  seeds = 10"""


@app.command(epilog=_EXAMPLE)
def sweep(
    file: File,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Play every run of a sweep file on all cores or on a cluster, and show how regrets grow."""
    with complaints():
        from lsmdp import sweeps
        from lsmdp.cli.terminal import Progress

        workers = _workers(jobs, dask)
        plan, found = sweeps.read(file)
        folder = sweeps.default_folder(file) if out is None else out
        with Progress(quiet) as progress:
            again = _command(file, jobs, dask, folder)
            summary = sweeps.run(plan, found, folder, workers, watch=lambda now: _look(progress, now), again=again)
        if as_json:
            print_json(summary)
        else:
            _show(summary, folder)
        for one in summary["failed"]:
            typer.echo(f"{one['model']} against {one['costs']}, seed {one['seed']}: {one['why']}", err=True)
    raise typer.Exit(1 if summary["failed"] else 0)


def _workers(jobs: int | None, dask: str | None) -> Processes | Cluster:
    from lsmdp.sweeps import Cluster, Processes

    if jobs is not None and dask is not None:
        raise SpecError("--jobs is about processes here, --dask about a cluster. Give one of them.")
    if dask is not None:
        return Cluster(dask)
    return Processes.all_cores() if jobs is None else Processes(jobs)


def _command(file: Path, jobs: int | None, dask: str | None, folder: Path) -> str:
    words = ["lsmdp", "sweep", str(file)]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    words += [] if dask is None else ["--dask", dask]
    return shlex.join([*words, "--out", str(folder), "--resume"])


def _look(progress: Progress, now: SweepProgress) -> None:
    failed = f", {now.failed:,} failed" if now.failed else ""
    words = f"{now.done:,} of {now.total:,} runs{failed}"
    progress.tick(int(now.work_done), int(now.work), lambda _: words)


def _show(summary: Mapping[str, Any], folder: Path) -> None:
    from rich.console import Console

    from lsmdp.learners.names import YARDSTICK
    from lsmdp.report.pages.words import counted

    console = Console(highlight=False)
    by_model: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for game in summary["games"]:
        by_model.setdefault((game["model"], game["rounds"]), []).append(game)
    for (model, rounds), games in by_model.items():
        console.print(_table(f"{model}, {counted(rounds, 'round')}: median regret against the leader", games))
    if any(one["clairvoyant"] for game in summary["games"] for one in game["learners"].values()):
        typer.echo(YARDSTICK)
    failed = f", {len(summary['failed']):,} failed" if summary["failed"] else ""
    runs = counted(summary["runs"], "run")
    typer.echo(f"{runs}{failed}. Everything is in {folder}: look at report.html, results.parquet holds")
    typer.echo("a row per run, learner and marked round, the medians and fits are in summary.json.")


def _table(title: str, games: Sequence[Mapping[str, Any]]) -> Table:
    """The median regret of each learner at the end of each game, the least in bold, and how that of the first grows."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from lsmdp.learners.names import titled

    names = list(games[0]["learners"])
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title, title_justify="left", title_style="bold")
    table.add_column("costs", overflow="fold")
    for name in names:
        table.add_column(titled(name, games[0]["learners"][name]["clairvoyant"]), justify="right", no_wrap=True)
    table.add_column(f"growth of {names[0]}", overflow="fold")
    for game in games:
        figures = [
            Text(_figure(one["regret"]["median"][-1]), "bold" if name in game["tied"] and len(names) > 1 else "")
            for name, one in game["learners"].items()
        ]
        growth = game["learners"][names[0]]["growth"]["verdict"]
        table.add_row(game["costs"], *figures, growth.partition(":")[0].partition(" (")[0])
    return table


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:z,.2f}"
