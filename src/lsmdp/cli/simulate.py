"""The command ``simulate``: walkers that move by a model, an answer or a run, and the log of what they did."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmdp.cli.base import (
    KERNEL_OPTIONS,
    KERNELS,
    EdgeCosts,
    Json,
    LargestClass,
    Lazy,
    Normalise,
    Teleport,
    Temperature,
    app,
    as_argument,
    complaints,
    kernel_options,
    print_json,
)
from lsmdp.cli.games import Trust
from lsmdp.cli.single import COST_NAMES
from lsmdp.errors import SpecError
from lsmdp.files import require_writable

if TYPE_CHECKING:
    from lsmdp.game.walkers import WalkBlocks

_SOURCE_HELP = "Whom to watch: a kernel (a file or a name from the list below), an answer of solve (.npz), or a run."
_WALKERS_COST_HELP = "The walkers move by the optimal policy for this cost; without one, the kernel itself."
_LEARNER_HELP = "Of a run: whose policies they move by, round by round.  [default: the first]"
_STEPS_HELP = "Of each walker.  [default: 1000; of a run: its rounds, and no more]"
_START_HELP = "Where they start: label or number.  [default: drawn from the long-run law; of a run: where it starts]"
_STEPS_OF_A_WALK = 1000  # Each walker makes this many steps where nobody says how many; the help says so, too.
_LOGS = (".csv", ".parquet")  # A log of walks may be written to files with these endings.

Source = Annotated[str, typer.Argument(metavar="SOURCE", help=_SOURCE_HELP, show_default=False)]
Cost = Annotated[str | None, typer.Option("--cost", metavar="COST", help=_WALKERS_COST_HELP, show_default=False)]
Learner = Annotated[str | None, typer.Option("--learner", metavar="NAME", help=_LEARNER_HELP)]
Walkers = Annotated[int, typer.Option("--walkers", metavar="N", help="How many.")]
Steps = Annotated[int | None, typer.Option("--steps", metavar="N", help=_STEPS_HELP)]
Start = Annotated[str | None, typer.Option("--start", metavar="STATE", help=_START_HELP)]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of all that is drawn: the same seed, the same walk.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the log here (.csv, .parquet), not to stdout.")
]


@app.command(epilog=f"{KERNELS}\n\n{COST_NAMES}")
def simulate(
    context: typer.Context,
    source: Source,
    cost: Cost = None,
    edge_costs: EdgeCosts = None,
    learner: Learner = None,
    walkers: Walkers = 1,
    steps: Steps = None,
    start: Start = None,
    seed: Seed = 0,
    temperature: Temperature = 1.0,
    out: Out = None,
    trust: Trust = False,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    as_json: Json = False,
) -> None:
    """Let walkers move by a policy, and write down where they are: a log that fit reads."""
    with complaints():
        if as_json and out is None:
            raise SpecError("the log would go to stdout, where --json promises one object. Name a file with --out.")
        if out is not None:
            require_writable(out, _LOGS)
        from lsmdp.arrays import as_whole
        from lsmdp.game import walkers as moving
        from lsmdp.output.tables import is_answer, stream_tables, write_tables

        as_whole(walkers, "the number of walkers", least=1)
        if steps is not None:
            as_whole(steps, "the number of steps", least=1)
        path = Path(source)
        wanted = (steps, walkers, start, seed)
        if path.is_dir():
            _only(context, "a run", "learner", "trust")
            labels, steps, blocks = _of_run(path, learner, trust, *wanted)
        elif is_answer(path):
            _only(context, "an answer of lsmdp solve")
            labels, steps, blocks = _of_answer(path, *wanted)
        else:
            _only(context, "a kernel", "cost", "edge_costs", *KERNEL_OPTIONS)
            labels, steps, blocks = _of_kernel(source, cost, edge_costs, kernel_options(context), *wanted)
        tables = moving.tables(blocks, labels)
        if out is None:
            stream_tables(tables, typer.get_binary_stream("stdout"))
            return
        write_tables(tables, out)
        records = walkers * (steps + 1)
        if as_json:
            print_json({"walkers": walkers, "steps": steps, "records": records, "seed": seed, "out": str(out)})
        else:
            fit = shlex.join(["lsmdp", "fit", as_argument(out), "--out", "kernel.npz"])
            who = f"{walkers:,} walker{'s' * (walkers != 1)}, {steps:,} step{'s' * (steps != 1)} each"
            typer.echo(f"{who}: {records:,} records are in {out}. Estimate a kernel from them with: {fit}")


LogToWrite = tuple[Any, int, "WalkBlocks"]  # the labels of the states, the steps of a walker, and what it does
# These parameters make sense for every kind of source; all others are refused where they do not.
_COMMON = {"source", "walkers", "steps", "start", "seed", "out", "as_json"}


def _only(context: typer.Context, what: str, *allowed: str) -> None:
    """Raise where an option was given that says nothing about this kind of source."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _COMMON and name not in allowed and context.params.get(name) != parameter.default:
            raise SpecError(f"{parameter.opts[0]} says nothing about {what}. Leave it out.")


def _of_run(
    path: Path, learner: str | None, trust: bool, steps: int | None, walkers: int, start: str | None, seed: int
) -> LogToWrite:
    from lsmdp.game.walkers import replay
    from lsmdp.runs import load

    run = load(path, trust=trust)
    blocks = replay(run, learner, steps=steps, walkers=walkers, start=start, seed=seed)
    return run.lmdp.labels, run.rounds if steps is None else steps, blocks


def _of_answer(path: Path, steps: int | None, walkers: int, start: str | None, seed: int) -> LogToWrite:
    from lsmdp.game.walkers import first_law, wander
    from lsmdp.model import LMDP
    from lsmdp.output.tables import read_answer

    found = read_answer(path)
    lmdp = LMDP(found.Q, found.labels)
    law = found.mu if start is None and found.mu is not None else first_law(lmdp, start)
    steps = _STEPS_OF_A_WALK if steps is None else steps
    return lmdp.labels, steps, wander(lmdp.P, law, steps, walkers, seed)


def _of_kernel(
    kernel: str,
    cost: str | None,
    edge_costs: str | None,
    reading: dict[str, Any],
    steps: int | None,
    walkers: int,
    start: str | None,
    seed: int,
) -> LogToWrite:
    from lsmdp.game.walkers import first_law, wander
    from lsmdp.policy import Policy
    from lsmdp.solvers import solve
    from lsmdp.sources import read_cost, read_edge_costs, read_model

    lmdp = read_model(kernel, **reading)
    labels, steps = lmdp.labels, _STEPS_OF_A_WALK if steps is None else steps
    if cost is None and edge_costs is None:
        return labels, steps, wander(lmdp.P, first_law(lmdp, start), steps, walkers, seed)
    c = read_cost("zero" if cost is None else cost, lmdp)
    if edge_costs is not None:
        lmdp, extra = lmdp.with_edge_costs(read_edge_costs(edge_costs, lmdp))
        c = c + extra
    policy: Policy = solve(lmdp, c).policy
    return labels, steps, wander(policy.matrix(), first_law(policy, start), steps, walkers, seed)
