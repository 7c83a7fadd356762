"""The command ``follow``: costs come in line by line, and policies go out, beside a system that runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lsmdp.cli.base import (
    KERNELS,
    Columns,
    EdgeCosts,
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
)
from lsmdp.cli.games import LEARNERS, Scale
from lsmdp.errors import SpecError

_PROTOCOL = """\b
In, a JSON object a line; both keys may be absent:
  {"cost": [0.1, 0.7, ...], "state": "A"}      what the round cost in each state; where the system is now
  {"cost": {"A": 0.1, "B": 0.7, ...}}          the same by label
  {"cost": 0.3, "state": "A"}                  what A cost, where the system is now: for --learner visited
Out, a JSON object for each, at once:
  {"round": 1, "state": "A", "next": {"A": 0.4, "B": 0.6}, "average_cost_bounds": [0.1, 0.1]}
  {"error": "...", "line": 1}                  for a line that cannot be used; nothing is learnt from it"""

Learner = Annotated[str, typer.Option("--learner", metavar="NAME", help="Who learns, from the list below.")]
State = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="Keep what is learnt in FILE, and go on from it if it exists."),
]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="STATE", help="Where the system is at first: label, number or row,column."),
]


@app.command(epilog=f"{_PROTOCOL}\n\n{KERNELS}\n\n{LEARNERS}")
def follow(
    context: typer.Context,
    kernel: Kernel,
    learner: Learner = "ftl",
    state: State = None,
    start: Start = None,
    missing: Missing = None,
    scale: Scale = None,
    temperature: Temperature = 1.0,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    columns: Columns = None,
    weight: Weight = None,
    undirected: Undirected = False,
    edge_costs: EdgeCosts = None,
) -> None:
    """Steer a system of your own: costs come in and the next move goes out, as lines of JSON.

    Exit code 1 if a line could not be used. SIGTERM is the end of the input.
    """
    from signal import SIGINT, SIGTERM

    with complaints():
        from lsmdp.costs.moves import in_unit
        from lsmdp.follow.loop import ControlLoop, serve
        from lsmdp.follow.memory import Memory
        from lsmdp.learners import learner_by_name
        from lsmdp.runs.turn import Turn
        from lsmdp.sources import read_edge_costs, read_model

        if sys.stdin is None:
            raise SpecError("there is no standard input. Write lines of JSON to it.")
        if sys.stdout is None:
            raise SpecError("there is no standard output, so nobody would hear the answers. Read lines from it.")
        lmdp = read_model(kernel, **kernel_options(context))
        moves = None
        if edge_costs is not None:
            lmdp, moves = in_unit(lmdp, read_edge_costs(edge_costs, lmdp))
        turn = Turn()
        loop = ControlLoop.of(lmdp, learner_by_name(learner), start=start, scale=scale, missing=missing, moves=moves)
        if state is not None:
            loop.remember(Memory(state, lmdp, loop.learner))
            begins = f"goes on after round {loop.kept.rounds:,}" if loop.kept.rounds else "begins"
            typer.echo(f'{loop.learner.name} {begins}; what it learns is kept in "{state}".', err=True)
        with turn.minding(SIGINT, SIGTERM):
            try:
                serve(loop, sys.stdin.buffer, sys.stdout.buffer, turn)
            except KeyboardInterrupt as stop:
                if turn.signal != SIGTERM:
                    kept = f'kept in "{state}"' if state else "not kept: that is done with --state FILE"
                    stop.add_note(f"What was learnt in {loop.kept.rounds:,} rounds is {kept}.")
                    raise
        if loop.refused:
            typer.echo(f"{loop.refused:,} of {loop.lines:,} lines could not be used.", err=True)
    raise typer.Exit(1 if loop.refused else 0)
