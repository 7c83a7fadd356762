"""The commands ``check`` and ``solve``: one model, and one cost on it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

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
    command_line,
    complaints,
    kernel_options,
    listing,
    print_json,
)
from lsmdp.cli.ends import EndName, EndOptions, Goals, RoundCosts, RoundCount, RoundScale, ScenarioFile, Start, Terminal
from lsmdp.cli.outputs import HOLDS, Out, Outputs, PolicyFile, Report, while_solving
from lsmdp.errors import (
    ConvergenceError,
    LsmdpError,
    ModelError,
)
from lsmdp.sources.names import COSTS

_COST_HELP = (
    "A file (.npy, .csv, .tsv, .txt, .parquet) or a name from the list below. With --edge-costs it may be left out: "
    "zero."
)
# Files with these endings may list an edge in one direction only.
ONE_WAY = (".graphml", ".gml", ".csv", ".tsv", ".txt", ".parquet")
# The epilogue of each command that takes one cost lists the costs by name.
COST_NAMES = listing("Costs by name", {name.usage: name.meaning for name in COSTS.values()})

Cost = Annotated[str | None, typer.Option("--cost", metavar="COST", help=_COST_HELP, show_default=False)]
_TOL_HELP = "How far apart the bounds may be: 1e-10 for averages; for sums 1e-9, a share of the largest value."
Tol = Annotated[float | None, typer.Option("--tol", metavar="WIDTH", help=_TOL_HELP, show_default=False)]
Explain = Annotated[bool, typer.Option("--explain", help="Say what the solver measured, chose and did.")]


@app.command(epilog=KERNELS)
def check(
    context: typer.Context,
    kernel: Kernel,
    columns: Columns = None,
    weight: Weight = None,
    undirected: Undirected = False,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    as_json: Json = False,
) -> None:
    """Say which assumptions hold for a kernel; exit code 1 if one fails."""
    with complaints():
        from lsmdp.sources import read_model
        from lsmdp.sources.advice import goals_in
        from lsmdp.sources.checkup import examine

        reading: dict[str, Any] = {"columns": columns, "weight": weight, "undirected": undirected}
        try:
            lmdp = read_model(kernel, **kernel_options(context))
        except ModelError as refused:
            if goals := goals_in(kernel, **reading):
                refused.add_note(goals)
            for way in _ways(kernel, **reading):
                refused.add_note(f"Ready to paste: {command_line(context, 'check', **way)}")
            raise
        checkup = examine(lmdp, partial(command_line, context))
        if as_json:
            print_json(checkup.to_dict())
        else:
            typer.echo(str(checkup))
    raise typer.Exit(0 if checkup.ok else 1)


def _ways(kernel: str, **reading: Any) -> list[dict[str, Any]]:
    """What would make a usable kernel of a file that is none."""
    from lsmdp.arrays import as_weights
    from lsmdp.chain import period, strong_classes
    from lsmdp.sources.advice import ways_to_repair
    from lsmdp.sources.files import kernel_file
    from lsmdp.sources.reading import ReadingOptions

    try:
        found = kernel_file(kernel, ReadingOptions(**reading))
        offered = list(ways_to_repair(as_weights(found.weights)))
    except LsmdpError:
        return []  # the trouble is of another kind
    if not reading["undirected"] and Path(kernel).suffix.lower() in ONE_WAY:
        W = as_weights(found.weights)
        both = (W + W.T).tocsr()
        if strong_classes(both)[0] == 1 < strong_classes(W)[0]:
            offered.insert(0, {"undirected": True} | ({"lazy": 0.1} if period(both, irreducible=True) > 1 else {}))
    if found.proportions:
        offered = [{option: value for option, value in way.items() if option != "normalise"} for way in offered]
    return [way for way in offered if way]


@app.command(epilog=f"{KERNELS}\n\n{COST_NAMES}")
def solve(
    context: typer.Context,
    kernel: Kernel,
    cost: Cost = None,
    edge_costs: EdgeCosts = None,
    missing: Missing = None,
    goal: Goals = None,
    start: Start = None,
    scenario: ScenarioFile = None,
    end: EndName = None,
    costs: RoundCosts = None,
    rounds: RoundCount = None,
    scale: RoundScale = None,
    terminal: Terminal = None,
    tol: Tol = None,
    temperature: Temperature = 1.0,
    out: Out = None,
    policy: PolicyFile = None,
    report: Report = None,
    explain: Explain = False,
    columns: Columns = None,
    weight: Weight = None,
    undirected: Undirected = False,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    as_json: Json = False,
) -> None:
    """Find the least cost and its policy, with proof: on average, until a goal, discounted, or round by round."""
    with complaints():
        asked = EndOptions(goal, end, costs, rounds, scale, terminal, start, scenario)
        asked.check(cost, edge_costs)
        outputs = Outputs(out, policy, report)
        outputs.require_writable(in_rounds=asked.in_rounds)
        from lsmdp.solvers import solve as solve_model
        from lsmdp.sources import read_cost, read_edge_costs, read_model

        lmdp = read_model(kernel, **kernel_options(context))
        problem, extra = lmdp, None
        if edge_costs is not None:
            problem, extra = lmdp.with_edge_costs(read_edge_costs(edge_costs, lmdp))
        if asked.in_rounds:
            c: Any = asked.read_costs(lmdp, missing)
        else:
            c = read_cost("zero" if cost is None else cost, lmdp, missing=missing)
        try:
            with while_solving(problem):
                solution = solve_model(problem, asked.charged(c, extra), asked.read_end(problem), tol=tol)
        except ConvergenceError as failure:
            if failure.solution is not None:
                _show(failure.solution, as_json, explain=explain)
            raise
        charges = " and ".join(str(source) for source in (cost, edge_costs) if source is not None)
        written = outputs.write(solution, lmdp, c, charges)
        _show(solution, as_json, written, asked.from_start(solution), explain=explain)


def _show(
    solution: Any,
    as_json: bool,
    written: Mapping[str, Path] | None = None,
    extra: Mapping[str, Any] | None = None,
    *,
    explain: bool = False,
) -> None:
    files, extra = {name: str(path) for name, path in (written or {}).items()}, extra or {}
    if as_json:
        story = {"story": list(solution.story)} if explain else {}
        return print_json(solution.to_dict() | dict(extra) | story | files)
    from rich.console import Console

    from lsmdp.cli.ends import show
    from lsmdp.cli.terminal import solution_table
    from lsmdp.output.pictures import pictures
    from lsmdp.solution import Solution

    console = Console(highlight=False)
    if not isinstance(solution, Solution):
        show(console, solution, extra)
    else:
        console.print(solution_table(solution))
        if solution.lmdp.grid_shape is not None:
            console.print(pictures(console, solution.lmdp, {"value v": solution.v}))
    if explain:
        console.print(*solution.story, sep="\n", markup=False, soft_wrap=True)
    for name, file in files.items():
        console.print(f"{HOLDS[name]} {file}", markup=False, soft_wrap=True)
