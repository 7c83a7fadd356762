"""The commands ``play`` and ``show``: a game of learners against costs, and what came of one that was played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lsmdp.cli.base import (
    KERNELS,
    Columns,
    EdgeCosts,
    Json,
    Kernel,
    LargestClass,
    Lazy,
    Missing,
    Normalise,
    Teleport,
    Temperature,
    Undirected,
    Weight,
    app,
    complaints,
    kernel_options,
    listing,
    print_json,
    whole_number,
)
from lsmdp.costs.names import COST_ENDINGS, FAMILIES
from lsmdp.learners.names import NAMES, USUAL_LEARNERS

COSTS_HELP = f"A file ({', '.join(COST_ENDINGS)}; a row a round), - for standard input, or a name from the list below."

Costs = Annotated[str, typer.Option("--costs", metavar="COSTS", help=COSTS_HELP, show_default=False)]
Learners = Annotated[
    list[str],
    typer.Option("--learner", metavar="NAME", help="Who plays, from the list below. Repeat it for more learners."),
]
Rounds = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        metavar="T",
        parser=whole_number,
        help="How many rounds to play. A file may go without: all it has.",
    ),
]
Start = Annotated[
    str,
    typer.Option("--start", metavar="STATE", help="The first state: its label, its number or, on a grid, row,column."),
]
Seed = Annotated[int, typer.Option("--seed", help="Of random costs and of sampled walkers.")]
Sample = Annotated[int, typer.Option("--sample", metavar="N", help="Let N walkers per learner play as well.")]
Feedback = Annotated[
    str,
    typer.Option(
        "--feedback",
        metavar="full|visited",
        help="What is seen of a round: all costs, or only that of the state one is in, on one sampled path.",
    ),
]
Scale = Annotated[
    tuple[float, float] | None,
    typer.Option("--scale", metavar="LOW HIGH", help="The values in COSTS that cost 0 and 1."),
]
WithBracket = Annotated[bool, typer.Option("--bracket", help="Bound the regret against the best stationary policy.")]
WithDynamic = Annotated[
    bool,
    typer.Option("--dynamic", help="Work out the dynamic regret by rounds and states, however long that takes."),
]
Out = Annotated[Path | None, typer.Option("--out", help="The folder of the run.  [default: runs/KERNEL-COSTS]")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder, if it holds one.")]
Checkpoint = Annotated[
    float, typer.Option("--checkpoint", metavar="SECONDS", help="How often to save what was played.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Read files outside of DIR and of this folder, where the run names such.")
]
Run = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.", show_default=False)]


# The epilogue of each command that takes learners lists them by name.
LEARNERS = listing("Learners", {name: learner.meaning for name, learner in NAMES.items()})
# The epilogue of commands about games lists all that has a name.
BY_NAME = "\n\n".join(
    [
        KERNELS,
        listing("Costs by name", {family.usage: family.meaning for family in FAMILIES.values()}),
        LEARNERS,
    ]
)


@app.command(epilog=BY_NAME)
def play(
    context: typer.Context,
    kernel: Kernel,
    costs: Costs,
    learners: Learners = [*USUAL_LEARNERS],  # noqa: B006 - typer copies it
    rounds: Rounds = None,
    start: Start = "0",
    seed: Seed = 0,
    sample: Sample = 0,
    feedback: Feedback = "full",
    scale: Scale = None,
    bracket: WithBracket = False,
    dynamic: WithDynamic = False,
    temperature: Temperature = 1.0,
    out: Out = None,
    resume: Resume = False,
    checkpoint: Checkpoint = 2.0,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    columns: Columns = None,
    weight: Weight = None,
    undirected: Undirected = False,
    edge_costs: EdgeCosts = None,
    missing: Missing = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Play the online game and keep it in a folder that survives a crash."""
    with complaints():
        from lsmdp import runs
        from lsmdp.cli.terminal import Progress

        named = context.get_parameter_source("learners")
        if feedback == "visited" and named is not None and named.name == "DEFAULT":
            learners = ["visited"]  # the usual ones want to see all of a cost
        spec = runs.Spec.of_options(
            kernel=kernel,
            costs=costs,
            learners=learners,
            rounds=rounds,
            start=start,
            seed=seed,
            sample=sample,
            feedback=feedback,
            scale=scale,
            bracket=bracket,
            dynamic=dynamic,
            edge_costs=edge_costs,
            missing=missing,
            **kernel_options(context),
        )
        folder = runs.default_folder(kernel, costs) if out is None else out
        with Progress(quiet) as progress:
            if resume:
                runs.resume(folder, spec, every=checkpoint, watch=progress)
            else:
                runs.start(spec, folder, every=checkpoint, watch=progress)
        _show(folder, as_json)


@app.command()
def show(run: Run, as_json: Json = False) -> None:
    """Print a run, finished or not, as a table."""
    with complaints():
        _show(run, as_json)


def _show(path: Path, as_json: bool) -> None:
    from lsmdp.runs import Folder, progress_of

    folder = Folder(path)
    folder.require_run()
    summary = folder.summary() if folder.is_finished else progress_of(folder)
    if as_json:
        return print_json(summary)
    from rich.console import Console

    from lsmdp.cli.terminal import run_report

    Console(highlight=False).print(run_report(folder.spec(), summary))
    if summary["finished"]:
        typer.echo(f"Everything is in {path}: every round is in rounds.parquet, the figures are in summary.json.")
    else:
        typer.echo(f"Unfinished. Go on with: {folder.spec().command(path)}")
