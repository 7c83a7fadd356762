"""The commands about one model and one cost: ``check`` and ``solve``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    print_json,
)
from lsmdp.errors import (
    ConvergenceError,
    LsmdpError,
    ModelError,
    SpecError,
)
from lsmdp.files import atomic, explained, require_writable
from lsmdp.sources.names import COSTS, listing

if TYPE_CHECKING:
    from lsmdp.solvers import Solution

COST_HELP = "A file (.npy, .csv, .parquet) or a name from the list below. With --edge-costs it may be left out: zero."
ONE_WAY = (".graphml", ".gml", ".csv", ".tsv", ".txt", ".parquet")  # files that may list an edge in one direction only
COST_NAMES = listing("Costs by name", COSTS)

Cost = Annotated[str | None, typer.Option("--cost", metavar="COST", help=COST_HELP, show_default=False)]
Tol = Annotated[float, typer.Option("--tol", help="The width of the certificate to reach.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say what the solver measured, chose and did.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write v, mu and the policy to this .npz file.")]


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
        from lsmdp.sources.checkup import examine, goals_in

        reading: dict[str, Any] = {"columns": columns, "weight": weight, "undirected": undirected}
        try:
            lmdp = read_model(
                kernel, normalise=normalise, largest_class=largest_class, teleport=teleport, lazy=lazy, **reading
            )
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
    from lsmdp.sources.checkup import ways
    from lsmdp.sources.files import kernel_file
    from lsmdp.sources.reading import Reading

    try:
        found = kernel_file(kernel, Reading(**reading))
        offered = list(ways(as_weights(found.weights)))
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
    kernel: Kernel,
    cost: Cost = None,
    edge_costs: EdgeCosts = None,
    missing: Missing = None,
    tol: Tol = 1e-10,
    temperature: Temperature = 1.0,
    out: Out = None,
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
    """Find the least average cost and its policy, with proof."""
    with complaints():
        if cost is None and edge_costs is None:
            raise SpecError(
                "nothing has a cost. Say what states cost with --cost, what moves cost with --edge-costs, or both."
            )
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
            columns=columns,
            weight=weight,
            undirected=undirected,
        )
        c = read_cost("zero" if cost is None else cost, lmdp, missing=missing)
        if edge_costs is not None:
            lmdp, extra = lmdp.with_edge_costs(read_edge_costs(edge_costs, lmdp))
            c = c + extra
        try:
            solution = solve_model(lmdp, c, tol=tol)
        except ConvergenceError as failure:
            if failure.solution is not None:
                _show(failure.solution, as_json, explain=explain)
            raise
        if out is not None:
            _save(out, solution)
        _show(solution, as_json, out, explain=explain)


def _show(solution: Solution, as_json: bool, out: Path | None = None, *, explain: bool = False) -> None:
    if as_json:
        return print_json(solution.to_dict() | ({"story": list(solution.story)} if explain else {}))
    from rich.console import Console

    from lsmdp.cli.terminal import solution_table
    from lsmdp.pictures import pictures

    console = Console(highlight=False)
    console.print(solution_table(solution))
    if solution.lmdp.grid_shape is not None:
        console.print(pictures(console, solution.lmdp, {"value v": solution.v}))
    if explain:
        console.print(*solution.story, sep="\n", markup=False, soft_wrap=True)
    if out is not None:
        console.print(f"v, mu and the policy are in {out}", markup=False, soft_wrap=True)


def _save(out: Path, solution: Solution) -> None:
    """All of the solution or nothing: written beside its place, then moved there."""
    import numpy as np

    Q = solution.policy.matrix()
    arrays = {
        "v": solution.v,
        "mu": solution.stationary,
        "Q_data": Q.data,
        "Q_indices": Q.indices,
        "Q_indptr": Q.indptr,
    }
    with explained(out), atomic(out) as stream:
        np.savez(stream, **arrays)
