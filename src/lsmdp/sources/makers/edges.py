"""Models from graphs and counts: each state moves along its edges in proportion to their weights.

    P(y|x) = w(x, y) / sum over y' of w(x, y')

The weights of parallel edges add up, an undirected edge is one edge each way, and a self-loop is a chance to stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import (
    CSR,
    Floats,
    Ints,
    as_weights,
    real,
)
from lsmdp.errors import ModelError, told
from lsmdp.inputs.frames import arrow_table, is_table
from lsmdp.inputs.labels import with_labels
from lsmdp.model import LMDP
from lsmdp.sources.headers import Columns
from lsmdp.sources.makers.positions import node_positions
from lsmdp.sources.makers.shared import Repairs
from lsmdp.sources.roles import edges_in_table

Called: TypeAlias = Callable[[int], str] | None


def from_edges(
    edges: Any, labels: Sequence[str] | None = None, *, columns: Columns = None, **repairs: Unpack[Repairs]
) -> LMDP:
    """A model from (from, to) pairs or (from, to, weight) triples: a list of them, an array of 2 or 3 columns, or a
    table.

    A table is a DataFrame of pandas or polars, a pyarrow table, or anything else with Arrow's C interface or the
    interchange protocol. Its columns are found by their names, as in files (headers.py), or named by ``columns``: a
    text such as "from=a,to=b,weight=n", or a dict.

    Each state moves along its edges in proportion to their weights (1 where none is given; repeated edges add up).
    Whole numbers are state numbers if they are 0, ..., n - 1 without a gap, and names otherwise; names become labels,
    in the order in which they appear. With ``labels`` given, names are looked up there and whole numbers are places in
    it.
    """
    if is_table(edges) and not isinstance(edges, np.ndarray):
        sources, targets, weights = edges_in_table(arrow_table(edges, "the table of edges"), columns)
        matrix, labels = edge_weights(sources, targets, weights, labels)
        return LMDP.repaired(matrix, labels, normalise=True, **repairs)
    if columns:
        raise ModelError(f"columns are those of a table, and the edges are {type(edges).__name__}. Leave them out.")
    matrix, labels = edge_weights(*_edge_columns(edges), labels)
    return LMDP.repaired(matrix, labels, normalise=True, **repairs)


def from_networkx(graph: Any, weight: str | None = "weight", **repairs: Unpack[Repairs]) -> LMDP:
    """A model from a networkx graph of any kind: along its edges, in proportion to their attribute ``weight``.

    An edge without that attribute counts 1, as in networkx; ``weight=None`` counts every edge 1. Parallel edges add
    up, undirected edges lead both ways, a self-loop is a chance to stay (counted once). Nodes become labels, in the
    order of the graph; ``positions`` are their attributes ``pos``, ``x`` and ``y``, or ``Latitude`` and ``Longitude``
    (positions.py).
    """
    matrix, labels, places = graph_weights(graph, weight)
    if places is not None:
        repairs = {"positions": places, **repairs}
    return LMDP.repaired(matrix, labels, normalise=True, **repairs)


def graph_weights(graph: Any, weight: str | None = "weight") -> tuple[CSR, list[str], Floats | None]:
    """The weighted adjacency matrix of a networkx graph, its labels and positions; see :func:`from_networkx`."""
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        raise ModelError(f"the graph is {type(graph).__name__}. Give a networkx graph, or edges to from_edges.")
    number = {node: place for place, node in enumerate(graph.nodes)}
    labels = [str(node) for node in number]
    if not number:
        raise ModelError("the graph has no node. A model needs at least one state.")
    edges = list(graph.edges(data=weight)) if weight is not None else [(*edge[:2], None) for edge in graph.edges]
    if weight not in (None, "weight") and edges and all(value is None for *_, value in edges):
        raise ModelError(
            f'none of the {len(edges)} edges has the attribute "{weight}". Name the one that holds the weights, or '
            "count every edge 1 with weight=None."
        )
    ends = np.array([(number[u], number[v]) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
    values = np.array([_as_weight(edge) for edge in edges])
    names = np.array(labels, dtype=object)
    _check_edge_weights(values, names[ends])
    if not graph.is_directed():
        there_and_back = ends[:, 0] != ends[:, 1]
        ends = np.concatenate([ends, ends[there_and_back, ::-1]])
        values = np.append(values, values[there_and_back])
    n = len(number)
    return sparse.coo_array((values, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr(), labels, node_positions(graph)[0]


def _as_weight(edge: tuple[Any, Any, Any]) -> float:
    u, v, value = edge
    try:
        return 1.0 if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f'the edge from "{u}" to "{v}" has the weight {value!r}, not a number. Correct it.') from None


def from_counts(
    C: Any, smoothing: float = 0.0, labels: Sequence[str] | None = None, **repairs: Unpack[Repairs]
) -> LMDP:
    """The chain estimated from C[x, y] observed moves from x to y: P(y|x) ~ C[x, y] + smoothing where C[x, y] > 0.

    Moves that were never seen stay impossible: additive smoothing is on the observed support only. The names of a
    DataFrame, such as ``pandas.crosstab`` makes, become the labels where none are given.
    """
    C, labels = with_labels(C, labels, "C", ModelError)
    counts = as_weights(C, "C")
    if not 0.0 <= real(smoothing) < float("inf"):
        raise ModelError(
            f"smoothing is {told(smoothing)}. It is added to the counts and must be a number of at least 0."
        )
    counts.data += smoothing
    return LMDP.repaired(counts, labels, normalise=True, **repairs)


def edge_weights(
    sources: Any,
    targets: Any,
    weights: Floats | None = None,
    labels: Sequence[str] | None = None,
    called: Called = None,
) -> tuple[CSR, Sequence[str] | None]:
    """The weighted adjacency matrix of edges and the labels of its states; see :func:`from_edges` for the rules.

    ``called`` says how a message speaks of an edge, if not by its number.
    """
    ends = np.stack([np.asarray(sources), np.asarray(targets)], axis=1)
    if not ends.size:
        raise ModelError("there are no edges. A model needs at least one state and one move.")
    if labels is not None:
        places = _places(ends, tuple(str(label) for label in labels))
    elif ends.dtype.kind in "iu":
        states, flat = np.unique(ends, return_inverse=True)
        places = flat.reshape(ends.shape)
        labels = None if states[0] == 0 and states[-1] == states.size - 1 else [str(state) for state in states.tolist()]
    else:
        number: dict[str, int] = {}
        flat = np.array([number.setdefault(str(end), len(number)) for end in ends.ravel().tolist()])
        places, labels = flat.reshape(ends.shape), list(number)
    n = int(places.max()) + 1 if labels is None else len(labels)
    values = np.ones(len(ends)) if weights is None else np.asarray(weights, dtype=np.float64)
    _check_edge_weights(values, ends, called)
    return sparse.coo_array((values, (places[:, 0], places[:, 1])), shape=(n, n)).tocsr(), labels


def _places(ends: npt.NDArray[Any], labels: tuple[str, ...]) -> Ints:
    if ends.dtype.kind in "iu":
        places = ends.astype(np.int64)
        known = (places >= 0) & (places < len(labels))
    else:
        number = {label: place for place, label in enumerate(labels)}
        places = np.array([number.get(str(end), -1) for end in ends.ravel().tolist()]).reshape(ends.shape)
        known = places >= 0
    if not known.all():
        edge, side = np.argwhere(~known)[0].tolist()
        raise ModelError(
            f'edge {edge} {("starts at", "leads to")[side]} "{ends[edge, side]}", which is none of the {len(labels)} '
            "labels. Add it to the labels, or leave them out."
        )
    return places


def _check_edge_weights(values: Floats, ends: npt.NDArray[Any], called: Called = None) -> None:
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if wrong.size:
        edge = int(wrong[0])
        which = f"edge {edge}" if called is None else called(edge)
        raise ModelError(
            f'{which} from "{ends[edge, 0]}" to "{ends[edge, 1]}" has the weight {values[edge]}. '
            "A weight must be a finite number of at least 0; correct it in the data."
        )


def _edge_columns(edges: Any) -> tuple[Any, Any, Floats | None]:
    """Endpoints and weights of edges given as an array or as any iterable of tuples."""
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] not in (2, 3):
            shape = " x ".join(map(str, edges.shape))
            raise ModelError(f"the edges have shape {shape}. Give 2 or 3 columns: from, to and perhaps weight.")
        edges = edges.tolist()
    rows = [tuple(edge) for edge in _iterated(edges)]
    for place, row in enumerate(rows):
        if len(row) not in (2, 3):
            raise ModelError(f"edge {place} is {row}. Give (from, to) or (from, to, weight).")
    ends = [end for row in rows for end in row[:2]]
    whole = all(isinstance(end, int | float | np.number) and end == int(end) for end in ends)
    flat = np.array(ends, dtype=np.int64) if whole else np.array([str(end) for end in ends])
    try:
        weights = np.array([row[2] if len(row) == 3 else 1.0 for row in rows], dtype=np.float64)
    except (TypeError, ValueError) as word:
        raise ModelError(f"an edge has a weight that is not a number: {word}.") from None
    return flat[::2], flat[1::2], weights


def _iterated(edges: Any) -> Iterable[Any]:
    if isinstance(edges, Iterable) and not isinstance(edges, str):
        return edges
    raise ModelError(f"the edges are {edges!r}. Give a list of (from, to) or (from, to, weight).")
