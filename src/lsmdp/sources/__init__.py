"""Models and costs by name or from a file, as the command line writes them.

    read_model("grid:30x30")    read_model("graph.csv", normalise=True)    read_cost("hill", lmdp)

A spec is a name of ``names.py`` or the path of a file. Files hold raw weights; ``LMDP.repaired`` makes a model of
them, with the same options as on the command line. An edge list is no exception: where the weights of a state do
not sum to 1, ``normalise=True`` is the user's word that they are proportions. Graphs, maps and road networks need none.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from lsmdp.sources.names import COSTS, MODELS, find

if TYPE_CHECKING:
    from lsmdp.arrays import CSR, Floats
    from lsmdp.model import LMDP

__all__ = ["COSTS", "MODELS", "read_cost", "read_edge_costs", "read_model", "write_model"]


def read_model(
    spec: str | PathLike[str],
    *,
    normalise: bool = False,
    largest_class: bool = False,
    teleport: float = 0.0,
    lazy: float = 0.0,
    temperature: float = 1.0,
) -> LMDP:
    """The model that a name or a file stands for, repaired as asked."""
    from lsmdp.errors import ModelError
    from lsmdp.model import LMDP
    from lsmdp.sources import makers
    from lsmdp.sources.files import Content, blaming, kernel_file

    spec = fspath(spec)
    name = find(spec, MODELS)
    if name is None:
        found = kernel_file(spec)
    else:
        made: LMDP = getattr(makers, name.maker)(*name.arguments(spec))
        found = Content(made.P, made.labels, made.positions)
    with blaming(spec):
        try:
            return LMDP.repaired(
                found.weights,
                found.labels,
                temperature,
                normalise=normalise or found.proportions,
                largest_class=largest_class,
                teleport=teleport,
                lazy=lazy,
                positions=found.positions,
                name=spec,
                origin=found.origin,
                origin_n=found.origin_n,
            )
        except ModelError as problem:
            if found.origin is None:
                raise
            count = found.origin_n - found.origin.size
            raise ModelError(
                f"{problem} Before that, what is no through road was left out ({count} of {found.origin_n} nodes); "
                f"{spec}:1 keeps it."
            ) from None


def write_model(lmdp: LMDP, path: str | PathLike[str]) -> None:
    """Keep P, the labels and the positions of a model in an .npz file, which every command and ``read_model`` read.

    It is what ``scipy.sparse.save_npz`` writes, with the arrays ``labels`` and ``positions`` added. The temperature is
    no part of a kernel: it is given with each command.
    """
    from lsmdp.files import atomic, explained, require_writable
    from lsmdp.sources.files import save_kernel

    out = Path(path)
    require_writable(out)
    with explained(out), atomic(out) as stream:
        save_kernel(lmdp, stream)


def read_cost(spec: str | PathLike[str], lmdp: LMDP) -> Floats:
    """The cost vector that a name or a file stands for: one finite number per state of ``lmdp``.

    Where states were dropped from the model, a file with one number for each state before that will do. For a
    grid, a file may hold the costs as a table of the same shape.
    """
    from lsmdp.sources import costs

    spec = fspath(spec)
    name = find(spec, COSTS)
    if name is None:
        return costs.cost_file(spec, lmdp)
    made: Floats = getattr(costs, name.maker)(lmdp, *name.arguments(spec))
    return made


def read_edge_costs(spec: str | PathLike[str], lmdp: LMDP) -> CSR:
    """The costs of moves in a .csv or .parquet file with the columns from, to and cost, for ``with_edge_costs``.

    A move without a line costs 0. Lines about states that were dropped from the model are passed over; a state or a
    move that the model does not have is an error.
    """
    from lsmdp.sources import costs

    return costs.edge_cost_file(fspath(spec), lmdp)
