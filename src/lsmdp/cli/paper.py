"""The command ``certify``: every statement of the paper, evaluated on one game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmdp.cli.base import (
    Json,
    LargestClass,
    Lazy,
    Normalise,
    Teleport,
    Temperature,
    app,
    complaints,
    kernel_options,
    print_json,
)
from lsmdp.cli.games import (
    BY_NAME,
    COSTS_HELP,
    Quiet,
    Rounds,
    Scale,
    Seed,
    Start,
    Trust,
)
from lsmdp.errors import SpecError

if TYPE_CHECKING:
    from lsmdp.cli.terminal import Progress
    from lsmdp.theory import Certificates

Target = Annotated[
    str, typer.Argument(metavar="KERNEL|DIR", help="A kernel, as for play, or the folder of a run.", show_default=False)
]
Costs = Annotated[str | None, typer.Option("--costs", metavar="COSTS", help=COSTS_HELP, show_default=False)]
Learners = Annotated[
    list[str] | None,
    typer.Option("--learner", metavar="NAME", help="Who plays besides exact follow the leader.  [default: ftl]"),
]
Cheap = Annotated[bool, typer.Option("--cheap", help="Leave out what takes more than a few passes over P a round.")]
NoSearch = Annotated[bool, typer.Option("--no-search", help="Look for no better fixed policy than the last leader.")]


_WIDTH_OF_A_FILE = 120  # Where certificates are not shown on a terminal, they are so wide: no figure is cut off.


@app.command(epilog=BY_NAME)
def certify(
    context: typer.Context,
    target: Target,
    costs: Costs = None,
    rounds: Rounds = None,
    learners: Learners = None,
    start: Start = "0",
    seed: Seed = 0,
    scale: Scale = None,
    temperature: Temperature = 1.0,
    cheap: Cheap = False,
    no_search: NoSearch = False,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every statement of the paper on a game; exit code 1 if a corrected one fails."""
    with complaints():
        from lsmdp.cli.terminal import Progress

        with Progress(quiet) as progress:
            if Path(target).is_dir():
                if costs is not None:
                    raise SpecError(f'"{target}" is the folder of a run, which has its own costs. Leave out --costs.')
                found = _of_run(Path(target), not no_search, not cheap, trust, progress)
            else:
                if costs is None:
                    raise SpecError(
                        f'"{target}" is no folder of a run. Name one, or give a kernel and its costs: lsmdp certify '
                        "grid:5x5 --costs iid --rounds 200."
                    )
                fields = {
                    "kernel": target,
                    "costs": costs,
                    "learners": tuple(learners or ("ftl",)),
                    "rounds": rounds,
                    "start": start,
                    "seed": seed,
                    "scale": scale,
                    **kernel_options(context),
                }
                found = _of_game(fields, not no_search, not cheap, progress)
        if as_json:
            print_json(found.to_dict())
        else:
            from rich.console import Console

            from lsmdp.cli.terminal import certificate_report

            console = Console(highlight=False)
            if not console.is_terminal:  # a file can be as wide as the table needs
                console.width = max(console.width, _WIDTH_OF_A_FILE)
            console.print(certificate_report(found))
    raise typer.Exit(0 if found.holds else 1)


def _of_run(path: Path, search: bool, exact: bool, trust: bool, progress: Progress) -> Certificates:
    from lsmdp import runs
    from lsmdp.theory import certify as certify_game

    run = runs.load(path, trust=trust)
    return certify_game(run, search=search, exact=exact, watch=_watch(progress, run.rounds))


def _of_game(fields: Mapping[str, Any], search: bool, exact: bool, progress: Progress) -> Certificates:
    from lsmdp import runs
    from lsmdp.theory import certify as certify_game

    spec = runs.Spec.of_options(**fields)
    lmdp = spec.model()
    costs = spec.cost_sequence(lmdp)
    watch = _watch(progress, costs.T)
    return certify_game(lmdp, costs, spec.players(), start=spec.start, search=search, exact=exact, watch=watch)


def _watch(progress: Progress, rounds: int | None) -> Callable[[int], None]:
    of = "" if rounds is None else f" of {rounds:,}"

    def look(t: int) -> None:
        done = t == rounds
        words = "all rounds are played, looking at fixed policies" if done else f"round {t:,}{of}"
        progress.tick(t, rounds, lambda rate: words if done else f"{words}, {rate:,.0f} a second")

    return look
