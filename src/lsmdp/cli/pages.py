"""The command that turns a run into a page: ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lsmdp.cli.base import Json, app, complaints, print_json
from lsmdp.cli.games import Quiet, Run

Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where to write it.  [default: DIR/report.html]")
]
Open = Annotated[bool, typer.Option("--open", help="Open it in the browser.")]


@app.command()
def report(run: Run, out: Out = None, show: Open = False, as_json: Json = False, quiet: Quiet = False) -> None:
    """Write a page about a run: one file that works anywhere."""
    with complaints():
        path = write(run, out, quiet)
        if as_json:
            print_json({"page": str(path), "bytes": path.stat().st_size})
        else:
            typer.echo(f"The page is in {path}")
        if show:
            typer.launch(path.resolve().as_uri())


Format = Annotated[str, typer.Option("--format", help="pdf, svg or png.")]
FigureFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where to write them.  [default: DIR/figures]")
]


@app.command()
def figures(run: Run, form: Format = "pdf", out: FigureFolder = None, as_json: Json = False) -> None:
    """Write the figures of a run, ready for a paper."""
    with complaints():
        from lsmdp.report.figures import write_figures

        written = [str(path) for path in write_figures(run, form, out)]
        if as_json:
            print_json({"figures": written})
        else:
            typer.echo("\n".join(written))


def write(run: Path, out: Path | None, quiet: bool) -> Path:
    """Write the page, showing progress on stderr."""
    from lsmdp.report import write_page
    from lsmdp.terminal import Progress

    with Progress(quiet) as progress:

        def watch(what: str, t: int) -> None:
            progress.tick(t, None, lambda rate: f"{what}: round {t:,}, {rate:,.0f} a second")

        return write_page(run, out, watch)
