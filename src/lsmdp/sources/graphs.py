"""Graphs from files: GraphML (``.graphml``) and GML (``.gml``), by networkx.

The weight of an edge is its attribute ``weight``, or another that the user names; 1 where it has none. States are named
by the attribute ``label`` of their nodes where most of them have one, and by the id of the node otherwise; where two
nodes share a label, the id is added to it. Positions: makers/positions.py.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from lsmdp.arrays import CSR, Floats
from lsmdp.errors import ModelError, SpecError
from lsmdp.inputs.notes import guessed, mention
from lsmdp.sources.makers.edges import graph_weights
from lsmdp.sources.makers.positions import node_positions

Graph = tuple[CSR, list[str], Floats | None]
# This is what the formats of graphs are called, by their endings.
_GRAPH_FORMATS = {".graphml": "GraphML", ".gml": "GML"}
# Graphs are written with these functions, by their endings.
_GRAPH_WRITERS = {".graphml": "networkx.write_graphml", ".gml": "networkx.write_gml"}


def read_graph(path: Path, weight: str | None = None) -> Graph:
    """The weights, labels and positions of a graph; ``weight`` is the attribute that holds those of edges."""
    graph = load_graph(path)
    try:
        matrix, ids, positions = graph_weights(graph, weight or "weight")
    except ModelError as problem:
        if weight is None or "none of the" not in str(problem):
            raise
        known = sorted({str(name) for *_, data in graph.edges(data=True) for name in data})
        raise SpecError(
            f'no edge has the attribute "{weight}". Edges have: {", ".join(known) or "none at all"} (--weight).'
        ) from None
    lost = node_positions(graph)[1]
    if positions is not None and lost:
        guessed(path, f"{lost} of {len(ids)} nodes have no position, and are drawn in the middle of their neighbours")
    return matrix, _labels(path, graph, ids), positions


def edge_values(path: Path, attribute: str) -> tuple[list[str], list[str], Floats]:
    """Where each edge begins and ends, by the names of the states, and its attribute; undirected edges go both ways."""
    graph = load_graph(path)
    name_of = dict(zip(graph.nodes, _labels(path, graph, [str(node) for node in graph.nodes]), strict=True))
    listed = []
    for u, v, data in graph.edges(data=True):
        if attribute not in data:
            known = ", ".join(map(str, data)) or "none at all"
            raise SpecError(
                f'the edge from "{name_of[u]}" to "{name_of[v]}" has no attribute "{attribute}". It has: {known}.'
            )
        try:
            listed.append((name_of[u], name_of[v], float(data[attribute])))
        except (TypeError, ValueError, OverflowError):
            raise SpecError(
                f'the edge from "{name_of[u]}" to "{name_of[v]}" has the {attribute} "{data[attribute]}", not a '
                "number. Correct it."
            ) from None
    if not graph.is_directed():
        listed += [(v, u, cost) for u, v, cost in listed]
    return [edge[0] for edge in listed], [edge[1] for edge in listed], np.array([edge[2] for edge in listed])


def load_graph(path: Path) -> Any:
    """The graph in a file, as networkx has it."""
    ending = path.suffix.lower()
    try:
        import networkx
    except ImportError:
        raise SpecError(
            f"reading {_GRAPH_FORMATS[ending]} needs networkx. Install it with: pip install 'lsmdp[graph]'."
        ) from None
    if ending == ".graphml":
        _require_plain(path)
        _require_declared(ElementTree.parse(path).getroot())
    try:
        if ending == ".graphml":
            return networkx.read_graphml(path)
        text = path.read_text(encoding="utf-8-sig")
        if not re.search(r"\bmultigraph\b", text):
            text = re.sub(r"\bgraph\s*\[", "graph [\nmultigraph 1", text, count=1)  # parallel edges are no error here
        return networkx.parse_gml(text.splitlines(), label=None)
    except (MemoryError, UnicodeDecodeError):
        raise
    except Exception as broken:  # networkx trusts its files: attributes of the wrong kind raise anything
        reason = str(broken).split("\n")[0].strip(" .") or type(broken).__name__
        raise SpecError(
            f"it is no {_GRAPH_FORMATS[ending]} graph ({reason}). Write it with {_GRAPH_WRITERS[ending]}."
        ) from None


def _labels(path: Path, graph: Any, ids: list[str]) -> list[str]:
    """What the nodes are called: by their labels, made different where they are not, or by their ids."""
    given = [str(data.get("label", "")).strip() for _, data in graph.nodes(data=True)]
    if 2 * sum(map(bool, given)) <= len(ids) or given == ids:
        return ids
    times = Counter(given)
    labels = [
        node if not label else label if times[label] == 1 else f"{label} ({node})"
        for label, node in zip(given, ids, strict=True)
    ]
    if len(set(labels)) < len(labels):
        return ids
    mention(path, f'states are named by the attribute "label" of their nodes, such as "{labels[0]}"')
    return labels


def _require_plain(path: Path) -> None:
    """Raise where a file is not XML, or has entities of its own: GraphML needs none, and they can swell without end."""
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(*_: object) -> None:
        raise SpecError(
            f"line {parser.CurrentLineNumber} defines an entity, which a graph does not need and which could stand for "
            "any amount of text. Write it with networkx.write_graphml."
        )

    parser.EntityDeclHandler = refuse
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as broken:
        raise SpecError(
            f"line {broken.lineno} is not XML ({expat.errors.messages[broken.code]}). Write it with "
            "networkx.write_graphml."
        ) from None
    except (LookupError, ValueError) as broken:  # raised by Python, which is asked for encodings that expat lacks
        raise SpecError(f"it is not in UTF-8 ({broken}). Write it with networkx.write_graphml.") from None


def _require_declared(root: Any) -> None:
    nodes = {node.get("id") for node in root.iterfind(".//{*}node")}
    for place, edge in enumerate(root.iterfind(".//{*}edge")):
        for end in ("source", "target"):
            if edge.get(end) not in nodes:
                raise SpecError(
                    f'edge {place} has the {end} "{edge.get(end)}", which is none of the {len(nodes)} nodes. '
                    "Declare the node, or drop the edge."
                )
