"""The command ``fit``: a log of movements becomes a model, with a report on how well it predicts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lsmdp.cli.base import (
    Json,
    LargestClass,
    Lazy,
    Teleport,
    app,
    as_argument,
    command_line,
    complaints,
    print_json,
)
from lsmdp.files import require_writable

_LOG_HELP = (
    "Columns entity, time, state or, with --trips, start and end (.csv, .tsv, .txt, .parquet); or one JSON list of "
    "states a line (.jsonl)."
)

LogFile = Annotated[Path, typer.Argument(metavar="LOG", help=_LOG_HELP, show_default=False)]
Out = Annotated[Path, typer.Option("--out", help="Write the kernel, with its labels, to this .npz file.")]
States = Annotated[
    Path | None, typer.Option("--states", metavar="FILE", help="All states in order: state, and perhaps x and y.")
]
Smoothing = Annotated[float, typer.Option("--smoothing", help="Added to the count of each move that was seen.")]
Holdout = Annotated[float, typer.Option("--holdout", metavar="SHARE", help="Of the sequences, to test on; 0 for none.")]
Seed = Annotated[int, typer.Option("--seed", help="Which sequences are held out.")]
Gap = Annotated[
    float | None,
    typer.Option("--gap", metavar="TIME", help="A longer time between two records is no move (dates: in seconds)."),
]
Trips = Annotated[bool, typer.Option("--trips", help="A row is a trip with a start and an end, and each is a move.")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="ROLE=NAME,...",
        help="Which columns are entity, time and state; of trips: start, end, start_time and end_time.",
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option("--time-format", metavar="FORMAT", help="How times are written, as for strptime: '%m/%d/%y %H:%M'."),
]
Ties = Annotated[
    str,
    typer.Option(
        "--ties",
        metavar="RULE",
        help="Records of one entity at one time: in the order of the file (order), or only the first or last; or "
        "refuse.",
    ),
]


@app.command()
def fit(
    context: typer.Context,
    log: LogFile,
    out: Out,
    states: States = None,
    smoothing: Smoothing = 0.5,
    holdout: Holdout = 0.1,
    seed: Seed = 0,
    gap: Gap = None,
    trips: Trips = False,
    columns: Columns = None,
    time_format: TimeFormat = None,
    ties: Ties = "order",
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    as_json: Json = False,
) -> None:
    """Estimate a kernel from a log of movements, and say how well it tells moves that it has not seen."""
    with complaints():
        from lsmdp.errors import ModelError
        from lsmdp.inputs.notes import mention
        from lsmdp.sources import write_model
        from lsmdp.sources.logs import fit as fit_log
        from lsmdp.sources.logs.states import read_states

        require_writable(out)
        labels, positions = (None, None) if states is None else read_states(states)
        try:
            found = fit_log(
                str(log),
                labels,
                smoothing=smoothing,
                holdout=holdout,
                seed=seed,
                gap=gap,
                trips=trips,
                columns=columns,
                time_format=time_format,
                ties=ties,
                positions=positions,
                largest_class=largest_class,
                teleport=teleport,
                lazy=lazy,
            )
        except ModelError as refused:
            if "--teleport" in str(refused) and not (largest_class or teleport):
                way = {"largest_class": True} if "--largest-class" in str(refused) else {"teleport": 0.01}
                refused.add_note(f"Ready to paste: {command_line(context, 'fit', **way)}")
            raise
        for why, count in found.dropped:
            mention(log, f"left out {count:,} {why}")
        write_model(found.lmdp, out)
        if as_json:
            print_json(found.to_dict() | {"out": str(out)})
        else:
            look = shlex.join(["lsmdp", "check", as_argument(out)])
            typer.echo(f"{found}\n\nThe kernel is in {out}. Look at it with: {look}")
