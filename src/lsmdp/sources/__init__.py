"""Models and costs by name or from a file, as the command line writes them.

    read_model("grid:30x30")    read_model("graph.csv", normalise=True)    read_cost("hill", lmdp)

A spec is a name of ``names.py`` or the path of a file. Files hold raw weights; ``LMDP.repaired`` makes a model of
them, with the same options as on the command line. Where the weights of a state do not sum to 1, ``normalise=True`` is
the user's word that they are proportions. Graphs, maps, road networks and counts (edge lists whose weights are whole
numbers) need no such word.

- :mod:`~lsmdp.sources.names`: models and costs by name; :mod:`~lsmdp.sources.makers` makes the models;
- :mod:`~lsmdp.sources.files`: which endings are read as models, and by whom; reading.py is what the readers share:
  edge_lists.py (with roles.py and headers.py: which column is which), graphs.py, networks.py, matrix_market.py;
- :mod:`~lsmdp.sources.tables`: tables of numbers and names, from text and parquet;
- :mod:`~lsmdp.sources.costs`, :mod:`~lsmdp.sources.edge_costs`: one cost, and costs of moves;
- :mod:`~lsmdp.sources.logs`: models from logs of movements;
- :mod:`~lsmdp.sources.scenarios`: problems on MovingAI maps;
- :mod:`~lsmdp.sources.checkup`, :mod:`~lsmdp.sources.advice`: which assumptions a model keeps, what follows, and what
  would repair it.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmdp.inputs.dialects import is_number
from lsmdp.inputs.files import as_spec
from lsmdp.sources.names import COSTS, MODELS, find

if TYPE_CHECKING:
    from lsmdp.arrays import CSR, Floats
    from lsmdp.model import LMDP
    from lsmdp.sources.headers import Columns
    from lsmdp.sources.scenarios import Scenario

__all__ = ["COSTS", "MODELS", "read_cost", "read_edge_costs", "read_model", "read_scenarios", "write_model"]


def read_model(
    spec: str | PathLike[str],
    *,
    normalise: bool = False,
    largest_class: bool = False,
    teleport: float = 0.0,
    lazy: float = 0.0,
    temperature: float = 1.0,
    columns: Columns = None,
    weight: str | None = None,
    undirected: bool = False,
) -> LMDP:
    """The model that a name or a file stands for, repaired as asked.

    ``columns`` says which columns of an edge list are what (``"from=a,to=b,weight=n"``, or a dict), ``weight`` which
    attribute of the edges of a graph is their weight, and ``undirected`` that each edge leads both ways.
    """
    from lsmdp.errors import ModelError, SpecError
    from lsmdp.model import LMDP
    from lsmdp.sources import makers
    from lsmdp.sources.files import kernel_file
    from lsmdp.sources.reading import Content, ReadingOptions, blaming

    spec = as_spec(spec, "the model is", 'read_model("grid:30x30"), or of a matrix lsmdp.LMDP(P)')
    name = find(spec, MODELS)
    reading = ReadingOptions(columns, weight, undirected)
    if name is None:
        found = kernel_file(spec, reading)
    elif reading != ReadingOptions():
        raise SpecError(f'"{spec}" is no file: --columns, --weight and --undirected are about how files are read.')
    else:
        made: LMDP = getattr(makers, name.maker)(*name.arguments(spec))
        found = Content(made.P, made.labels, made.positions, map_shape=made.map_shape)
    with blaming(spec):
        try:
            lmdp = LMDP.repaired(
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
                map_shape=found.map_shape,
            )
        except ModelError as problem:
            if found.origin is None:
                raise
            count = found.origin_n - found.origin.size
            raise ModelError(
                f"{problem} Before that, what is no through road was left out ({count} of {found.origin_n} nodes); "
                f"{spec}:1 keeps it."
            ) from None
    _tell_dropped(lmdp, found, largest_class)
    return lmdp


def _tell_dropped(lmdp: LMDP, found: Any, largest_class: bool) -> None:
    """Say what --largest-class left out, with counts."""
    from lsmdp.inputs.notes import mention

    n = int(found.weights.shape[0])
    if not largest_class or lmdp.n == n:
        return
    kept = set(lmdp.origin.tolist())
    labels = found.labels or range(n)
    before = range(n) if found.origin is None else found.origin.tolist()
    lost = [str(label) for label, place in zip(labels, before, strict=True) if place not in kept]
    more = f" and {len(lost) - 3:,} more" if len(lost) > 3 else ""
    names = ", ".join(f'"{name}"' for name in lost[:3]) + more
    mention(
        lmdp.name,
        f"--largest-class kept {lmdp.n:,} of {n:,} states; left out: {names}, and all moves to them",
    )


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


def read_cost(spec: str | PathLike[str], lmdp: LMDP, *, missing: float | None = None) -> Floats:
    """The cost vector that a name or a file stands for: one finite number per state of ``lmdp``.

    Where states were dropped from the model, a file with one number for each state before that will do. For a
    grid, a file may hold the costs as a table of the map's size, walls and all. ``missing`` is what states cost that a
    table by name leaves out.
    """
    from lsmdp.model import require_model
    from lsmdp.sources import costs

    spec = as_spec(spec, "the cost is", 'read_cost("hill", lmdp)')
    require_model(lmdp)
    if is_number(spec) and not Path(spec).exists():
        spec = f"uniform:{spec}"
    name = find(spec, COSTS)
    if name is None:
        return costs.cost_file(spec, lmdp, missing)
    made: Floats = getattr(costs, name.maker)(lmdp, *name.arguments(spec))
    return made


def read_edge_costs(spec: str | PathLike[str], lmdp: LMDP) -> CSR:
    """The costs of moves in a file with the columns from, to and cost, for ``with_edge_costs``.

    ``tntp:free_flow_time`` is a column of the road network that the model was read from, ``graphml:length`` an
    attribute of the edges of its graph, and ``csv:toll`` a column of its edge list. A move without a line costs 0.
    Lines about states that were dropped from the model are passed over; a state or a move that the model does not have
    is an error.
    """
    from lsmdp.model import require_model
    from lsmdp.sources import edge_costs

    spec = as_spec(spec, "the edge costs are", 'read_edge_costs("tolls.csv", lmdp)')
    require_model(lmdp)
    return edge_costs.read(spec, lmdp)


def read_scenarios(path: str | PathLike[str]) -> list[Scenario]:
    """The problems in a MovingAI ``.scen`` file: start, goal and length of the shortest way, cells as (row, column)."""
    from lsmdp.sources.scenarios import read

    return read(as_spec(path, "the problems are", 'read_scenarios("arena.map.scen")'))
