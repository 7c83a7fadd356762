"""Graphs from files: GraphML (``.graphml``) and road networks of the TNTP collection (``*_net.tntp``).

A TNTP network is a text file: metadata, a header that begins with ~, and one link a line that ends with a semicolon.

    <NUMBER OF NODES> 24
    <NUMBER OF LINKS> 76
    <END OF METADATA>
    ~  init_node  term_node  capacity  length  free_flow_time  b  power  speed  toll  link_type  ;
       1          2          25900.2   6       6               0.15  4  0     0     1          ;

At a node traffic drifts along the links that leave it, in proportion to their *capacity*: wide roads carry more. Nodes
are labelled by their numbers. If ``X_node.tntp`` lies beside ``X_net.tntp``, it gives the positions (x, y).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from lsmdp.arrays import CSR, Floats, require_entries
from lsmdp.errors import SpecError
from lsmdp.makers.edges import graph_weights

NEEDED = ("init_node", "term_node", "capacity")

Graph = tuple[CSR, list[str], Floats | None]
Line = tuple[int, str]


def read_graphml(path: Path) -> Graph:
    """The weights, labels and positions of a GraphML file; the weight is the edges' attribute ``weight``."""
    try:
        import networkx
    except ImportError:
        raise SpecError("reading GraphML needs networkx. Install it with: pip install 'lsmdp[graph]'.") from None
    try:
        _require_declared(ElementTree.parse(path).getroot())
        graph = networkx.read_graphml(path)
    except ElementTree.ParseError as broken:
        raise SpecError(
            f"line {broken.position[0]} is not XML ({broken.msg}). Write it with networkx.write_graphml."
        ) from None
    except (networkx.NetworkXError, IndexError, KeyError) as broken:
        raise SpecError(f"it is no GraphML graph ({broken}). Write it with networkx.write_graphml.") from None
    return graph_weights(graph)


def _require_declared(root: Any) -> None:
    nodes = {node.get("id") for node in root.iterfind(".//{*}node")}
    for place, edge in enumerate(root.iterfind(".//{*}edge")):
        for end in ("source", "target"):
            if edge.get(end) not in nodes:
                raise SpecError(
                    f'edge {place} has the {end} "{edge.get(end)}", which is none of the {len(nodes)} nodes. '
                    "Declare the node, or drop the edge."
                )


class _Link(NamedTuple):
    line: int
    start: int
    end: int
    capacity: float


def read_tntp(path: Path) -> Graph:
    """The capacities, labels and positions of a TNTP road network."""
    lines = _lines(path)
    nodes, count = _metadata(lines)
    links = list(_links(lines, nodes))
    if len(links) != count:
        raise SpecError(f"it promises {count} links and holds {len(links)}: it is truncated, or the number is wrong.")
    ends = np.array([(link.start - 1, link.end - 1) for link in links], dtype=np.int64).reshape(-1, 2)
    values = np.array([link.capacity for link in links])
    matrix = sparse.coo_array((values, (ends[:, 0], ends[:, 1])), shape=(nodes, nodes)).tocsr()
    beside = path.with_name(path.name.replace("_net.tntp", "_node.tntp"))
    positions = _positions(beside, nodes) if beside != path and beside.is_file() else None
    return matrix, [str(node) for node in range(1, nodes + 1)], positions


def _lines(path: Path) -> Iterator[Line]:
    """Numbers and texts of the lines that are not blank."""
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield number, line.strip()


def _metadata(lines: Iterator[Line]) -> tuple[int, int]:
    """The numbers of nodes and of links."""
    found: dict[str, int] = {}
    for number, line in lines:
        key, closed, value = line.removeprefix("<").partition(">")
        if not (line.startswith("<") and closed):
            raise SpecError(
                f'line {number} is "{line[:60]}". A TNTP file begins with lines such as <NUMBER OF NODES> 24.'
            )
        key, value = " ".join(key.upper().split()), value.strip()
        if key == "END OF METADATA":
            break
        if key in ("NUMBER OF NODES", "NUMBER OF LINKS"):
            if not (value.isdecimal() and int(value) > 0):
                raise SpecError(f'line {number}: the {key.lower()} is "{value}". Give a positive whole number.')
            found[key] = int(value)
            require_entries(found[key])
    else:
        raise SpecError("there is no line <END OF METADATA>: it is truncated, or no TNTP network (*_net.tntp).")
    for key in ("NUMBER OF NODES", "NUMBER OF LINKS"):
        if key not in found:
            raise SpecError(f"the metadata lacks <{key}>. Add it above <END OF METADATA>.")
    return found["NUMBER OF NODES"], found["NUMBER OF LINKS"]


def _links(lines: Iterator[Line], nodes: int) -> Iterator[_Link]:
    places = _header(lines)
    for number, line in lines:
        if line.startswith("~"):
            continue
        cells = line.rstrip(";").split()
        if not line.endswith(";") or len(cells) <= max(places):
            raise SpecError(
                f'line {number} is "{line[:60]}". A link is a line of numbers that ends with a semicolon: it is '
                "truncated, or not of this table."
            )
        start, end = (_node(cells[place], nodes, number) for place in places[:2])
        capacity = _number(cells[places[2]], "capacity", number)
        if capacity < 0.0:
            raise SpecError(f"line {number}: the capacity is {capacity:g}. It cannot be negative; correct it.")
        yield _Link(number, start, end, capacity)


def _header(lines: Iterator[Line]) -> list[int]:
    """The columns of the two ends and of the capacity; the header is the first comment that names them."""
    blamed = (0, "")
    for number, line in lines:
        names = re.sub(r"(init|term) +node", r"\1_node", line.lower()).strip("~; \t").split()
        if line.startswith("~") and set(NEEDED) <= set(names):
            return [names.index(name) for name in NEEDED]
        blamed = blamed if blamed[0] else (number, line)
        if not line.startswith("~"):
            break
    fact = f'line {blamed[0]} is "{blamed[1][:60]}"' if blamed[0] else "it ends after the metadata"
    raise SpecError(
        f"{fact}. Below the metadata stands the header: ~ and the names of the columns, with init_node, term_node and "
        "capacity."
    )


def _node(cell: str, nodes: int, line: int) -> int:
    if not (cell.isdecimal() and 1 <= int(cell) <= nodes):
        raise SpecError(f'line {line}: there is no node "{cell}". Nodes are numbered from 1 to {nodes}.')
    return int(cell)


def _number(cell: str, what: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise SpecError(f'line {line}: the {what} is "{cell}", not a finite number. Correct it.')
    return value


def _positions(path: Path, nodes: int) -> Floats:
    """The file of the nodes: a header, then node, x and y a line."""
    points = np.full((nodes, 2), np.nan)
    try:
        for place, (number, line) in enumerate(_lines(path)):
            cells = line.rstrip("; \t").split()
            if place == 0 and not cells[0].isdecimal():
                continue
            if len(cells) < 3:
                raise SpecError(f'line {number} is "{line[:60]}". Give the node, x and y.')
            points[_node(cells[0], nodes, number) - 1] = [
                _number(cells[1], "x", number),
                _number(cells[2], "y", number),
            ]
        if np.isnan(points).any():
            lost = int(np.flatnonzero(np.isnan(points[:, 0]))[0]) + 1
            raise SpecError(f"node {lost} has no line. Add it, or remove the file to do without positions.")
    except SpecError as wrong:
        raise SpecError(f"in {path.name} beside it: {wrong}") from None
    return points
