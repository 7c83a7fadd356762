"""The commands that show a run: ``report`` and ``figures``, and ``demo``, which plays one first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lsmdp.cli.base import (
    Json,
    app,
    complaints,
    print_json,
)
from lsmdp.cli.games import Quiet, Run, Trust

Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where to write it.  [default: DIR/report.html]")
]
Open = Annotated[bool, typer.Option("--open", help="Open it in the browser.")]


Certify = Annotated[
    str,
    typer.Option(
        "--certify",
        metavar="all|sample|none",
        help="On which rounds to check the theory. A sample is the first rounds of a large game, and all of a small.",
    ),
]


@app.command()
def report(
    run: Run,
    out: Out = None,
    certify: Certify = "sample",
    show: Open = False,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about a run: one file that works anywhere."""
    with complaints():
        path, told = write(run, out, quiet, trust, certify)
        if as_json:
            looked = {"certify": certify, "certified_rounds": told["certificates"]["certified_rounds"]}
            print_json({"page": str(path), "bytes": path.stat().st_size, "rounds": told["rounds"]} | looked)
        else:
            typer.echo(f"The page is in {path}")
        if show:
            typer.launch(path.resolve().as_uri())


Format = Annotated[str, typer.Option("--format", help="pdf, svg or png.")]
FigureFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where to write them.  [default: DIR/figures]")
]


@app.command()
def figures(
    run: Run, form: Format = "pdf", out: FigureFolder = None, trust: Trust = False, as_json: Json = False
) -> None:
    """Write the figures of a run, ready for a paper."""
    with complaints():
        from lsmdp.report.figures import write_figures

        written = [str(path) for path in write_figures(run, form, out, trust=trust)]
        if as_json:
            print_json({"figures": written})
        else:
            typer.echo("\n".join(written))


# This is the game of lsmdp demo: a map with walls, costs that move, and learners of each kind.
DEMO = {
    "kernel": "museum",
    "costs": "danger",
    "learners": ("pool", "ftl", "track", "passive"),
    "rounds": 2_000,
    "start": "769",  # in the middle of the hall
    "seed": 0,
    "temperature": 0.3,
    "dynamic": True,  # when and where it would have been worth most to know the costs beforehand
}
_DEMO_STORY = """\
A patrol walks at random through a museum. A danger roams the galleries, and
nobody says where it will be next: what a cell costs is seen only after the
patrol has moved. Steering away from the random walk costs as well. Four
learners play 2,000 rounds side by side."""

DemoOut = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the run.")]


@app.command()
def demo(out: DemoOut = Path("runs/demo"), show: Open = False, as_json: Json = False, quiet: Quiet = False) -> None:
    """Play a built-in game and write a page about it: the best first minute."""
    with complaints():
        from lsmdp import runs
        from lsmdp.cli.terminal import Progress

        if not as_json and not quiet:
            typer.echo(_DEMO_STORY)
        with Progress(quiet) as progress:
            runs.resume(out, runs.Spec.of(**DEMO), watch=progress)
        summary = runs.Folder(out).summary()
        path, _ = write(out, None, quiet)
        if as_json:
            print_json(summary | {"page": str(path)})
        else:
            _tell(summary, path)
        if show:
            typer.launch(path.resolve().as_uri())


def _tell(summary: dict[str, Any], path: Path) -> None:
    from rich.console import Console

    from lsmdp.cli.terminal import demo_table

    console = Console(highlight=False)
    console.print(demo_table(summary))
    learners, plan = summary["learners"], summary["cost_of_plan_in_hindsight"]
    alone = learners["passive"]["loss"]
    pool, ftl, best = (1.0 - loss / alone for loss in (learners["pool"]["loss"], learners["ftl"]["loss"], plan))
    typer.echo(
        f"Of what the random walk pays, follow the leader avoids {ftl:.0%}, and a pool of learners with\n"
        f"longer and shorter memories {pool:.0%}. Whoever had known all costs in advance would have avoided {best:.0%}."
    )
    typer.echo(f"See it move: {path} (or lsmdp demo --open)")


def write(
    run: Path, out: Path | None, quiet: bool, trust: bool = False, certify: str = "sample"
) -> tuple[Path, dict[str, Any]]:
    """Write the page, showing progress on stderr; where it is, and what it says."""
    from lsmdp.cli.terminal import Progress
    from lsmdp.report import write_story

    with Progress(quiet) as progress:

        def watch(what: str, t: int, rounds: int) -> None:
            progress.tick(t, rounds, lambda rate: f"{what}: round {t:,} of {rounds:,}, {rate:,.0f} a second")

        return write_story(run, out, watch, trust=trust, certify=certify)
