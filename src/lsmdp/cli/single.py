"""The commands about one model and one cost: ``check`` and ``solve``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lsmdp.cli.base import (
    KERNELS,
    Json,
    Kernel,
    LargestClass,
    Lazy,
    Normalise,
    Teleport,
    Temperature,
    app,
    command_line,
    complaints,
    print_json,
)
from lsmdp.cli.ends import Asked, EndName, Goals, RoundCosts, RoundCount, RoundScale, Terminal
from lsmdp.errors import (
    ConvergenceError,
    LsmdpError,
    ModelError,
)
from lsmdp.files import atomic, explained, require_writable
from lsmdp.sources.names import COSTS, listing

COST_HELP = "A file (.npy, .csv, .parquet) or a name from the list below. With --edge-costs it may be left out: zero."
COST_NAMES = listing("Costs by name", COSTS)

Cost = Annotated[str | None, typer.Option("--cost", metavar="COST", help=COST_HELP, show_default=False)]
EdgeCosts = Annotated[
    Path | None,
    typer.Option("--edge-costs", metavar="FILE", help="Costs of moves too: from, to, cost (.csv, .parquet)."),
]
TOL_HELP = "How far apart the bounds may be: 1e-10 for averages; for sums 1e-9, a share of the largest value."
Tol = Annotated[float | None, typer.Option("--tol", metavar="WIDTH", help=TOL_HELP, show_default=False)]
Explain = Annotated[bool, typer.Option("--explain", help="Say what the solver measured, chose and did.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write v, mu and the policy to this .npz file.")]


@app.command(epilog=KERNELS)
def check(
    context: typer.Context,
    kernel: Kernel,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    as_json: Json = False,
) -> None:
    """Say which assumptions hold for a kernel; exit code 1 if one fails."""
    with complaints():
        from lsmdp.sources import read_model
        from lsmdp.sources.checkup import examine

        try:
            lmdp = read_model(kernel, normalise=normalise, largest_class=largest_class, teleport=teleport, lazy=lazy)
        except ModelError as refused:
            for way in _ways(kernel):
                refused.add_note(f"Ready to paste: {command_line(context, 'check', **way)}")
            raise
        checkup = examine(lmdp, partial(command_line, context))
        if as_json:
            print_json(checkup.to_dict())
        else:
            typer.echo(str(checkup))
    raise typer.Exit(0 if checkup.ok else 1)


def _ways(kernel: str) -> list[dict[str, Any]]:
    """What would make a usable kernel of a file that is none."""
    from lsmdp.arrays import as_weights
    from lsmdp.sources.checkup import ways
    from lsmdp.sources.files import kernel_file

    try:
        found = kernel_file(kernel)
        offered = list(ways(as_weights(found.weights)))
    except LsmdpError:
        return []  # the trouble is of another kind
    if found.proportions:
        offered = [{option: value for option, value in way.items() if option != "normalise"} for way in offered]
    return [way for way in offered if way]


@app.command(epilog=f"{KERNELS}\n\n{COST_NAMES}")
def solve(
    kernel: Kernel,
    cost: Cost = None,
    edge_costs: EdgeCosts = None,
    goal: Goals = None,
    end: EndName = None,
    costs: RoundCosts = None,
    rounds: RoundCount = None,
    scale: RoundScale = None,
    terminal: Terminal = None,
    tol: Tol = None,
    temperature: Temperature = 1.0,
    out: Out = None,
    explain: Explain = False,
    normalise: Normalise = False,
    largest_class: LargestClass = False,
    teleport: Teleport = 0.0,
    lazy: Lazy = 0.0,
    as_json: Json = False,
) -> None:
    """Find the least cost and its policy, with proof: on average, until a goal, discounted, or round by round."""
    with complaints():
        asked = Asked(goal, end, costs, rounds, scale, terminal)
        asked.check(cost, edge_costs)
        if out is not None:
            require_writable(out)
        from lsmdp.solvers import solve as solve_model
        from lsmdp.sources import read_cost, read_edge_costs, read_model

        lmdp = read_model(
            kernel,
            normalise=normalise,
            largest_class=largest_class,
            teleport=teleport,
            lazy=lazy,
            temperature=temperature,
        )
        extra = None
        if edge_costs is not None:
            lmdp, extra = lmdp.with_edge_costs(read_edge_costs(edge_costs, lmdp))
        if asked.in_rounds:
            c: Any = asked.read_costs(lmdp, extra)
        else:
            c = read_cost("zero" if cost is None else cost, lmdp)
            c = c if extra is None else c + extra
        try:
            solution = solve_model(lmdp, c, asked.read_end(lmdp), tol=tol)
        except ConvergenceError as failure:
            if failure.solution is not None:
                _show(failure.solution, as_json, explain=explain)
            raise
        if out is not None:
            _save(out, solution)
        _show(solution, as_json, out, explain=explain)


def _show(solution: Any, as_json: bool, out: Path | None = None, *, explain: bool = False) -> None:
    if as_json:
        return print_json(solution.to_dict() | ({"story": list(solution.story)} if explain else {}))
    from rich.console import Console

    from lsmdp.cli.ends import show
    from lsmdp.cli.terminal import solution_table
    from lsmdp.pictures import pictures
    from lsmdp.solution import Solution

    console = Console(highlight=False)
    if not isinstance(solution, Solution):
        show(console, solution)
    else:
        console.print(solution_table(solution))
        if solution.lmdp.grid_shape is not None:
            console.print(pictures(console, solution.lmdp, {"value v": solution.v}))
    if explain:
        console.print(*solution.story, sep="\n", markup=False, soft_wrap=True)
    if out is not None:
        what = "v, mu and the policy are" if isinstance(solution, Solution) else "the values are"
        console.print(f"{what} in {out}", markup=False, soft_wrap=True)


def _save(out: Path, solution: Any) -> None:
    """All of the solution or nothing: written beside its place, then moved there."""
    import numpy as np

    from lsmdp.cli import ends
    from lsmdp.solution import Solution

    if isinstance(solution, Solution):
        Q = solution.policy.matrix()
        arrays = {
            "v": solution.v,
            "mu": solution.stationary,
            "Q_data": Q.data,
            "Q_indices": Q.indices,
            "Q_indptr": Q.indptr,
        }
    else:
        arrays = ends.arrays(solution)
    with explained(out), atomic(out) as stream:
        np.savez(stream, **arrays)
