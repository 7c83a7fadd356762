"""Road networks of the TNTP collection (``*_net.tntp``).

A network is a text file: metadata, a header that begins with ~, and one link a line, with or without a semicolon
at its end.

    <NUMBER OF ZONES> 24
    <NUMBER OF NODES> 24
    <FIRST THRU NODE> 1
    <NUMBER OF LINKS> 76
    <END OF METADATA>
    ~  init_node  term_node  capacity  length  free_flow_time  b  power  speed  toll  link_type  ;
       1          2          25900.2   6       6               0.15  4  0     0     1          ;

At a node traffic drifts along the links that leave it, in proportion to their *capacity*, wide roads carry more, or to
another column that the user names. The columns hold costs as well: ``link_values`` has those of one. Nodes are labelled
by their numbers: 1, ..., n, or those in the links, if these are others and as many as there are nodes.

*Centroids* stand for the zones where trips begin and end. They are no roads: nothing drives through nodes below <FIRST
THRU NODE>, so these are left out. Some files say 1 there, although each zone hangs by a connector on one node that is
no zone (ChicagoSketch). Nothing can drive through such a dead end either, and a drift would spend two steps of five on
going in and out; so these are left out as well, with a warning. ``X_net.tntp:N`` says where the through nodes begin,
whatever the file says, and ``X_net.tntp:1`` keeps all nodes.

If ``X_node.tntp`` or ``X_nodes.tntp`` lies beside ``X_net.tntp`` (in any case of letters), it gives positions (x, y).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import (
    CSR,
    Floats,
    Ints,
    require_entries,
)
from lsmdp.errors import SpecError
from lsmdp.inputs.dialects import Line
from lsmdp.inputs.files import require_described
from lsmdp.inputs.labels import number_in

CAPACITY = "capacity"  # The moves of a network are as likely as this column says, where nobody names another.
_NODE_COLUMNS = ("init_node", "term_node")  # These columns of a network say where a link begins and ends.
# The header of a network has its numbers under these keys.
_ZONES, _NODES, _LINKS, _FIRST = "NUMBER OF ZONES", "NUMBER OF NODES", "NUMBER OF LINKS", "FIRST THRU NODE"


class Roads(NamedTuple):
    """A road network without its centroids; ``origin`` has the places of its nodes among ``origin_n`` in the file.

    None: no node was left out.
    """

    weights: CSR
    labels: list[str]
    positions: Floats | None
    origin: Ints | None = None
    origin_n: int | None = None


class _Link(NamedTuple):
    line: int
    start: int
    end: int
    value: float


def link_values(path: Path, column: str) -> tuple[list[str], list[str], Floats]:
    """Where each link begins and ends, and what it has in a column such as free_flow_time."""
    _, links = _read(path, column)
    return (
        [str(link.start) for link in links],
        [str(link.end) for link in links],
        np.array([link.value for link in links]),
    )


def _read(path: Path, column: str) -> tuple[dict[str, int], list[_Link]]:
    lines = _lines(path)
    promised = _metadata(lines)
    require_described(promised[_NODES], path.stat().st_size)
    return promised, list(_links(lines, column))


def read_tntp(path: Path, first_through: int | None = None, weight: str = CAPACITY) -> Roads:
    """The weights, labels and positions of a TNTP road network whose through nodes begin here, or as it says."""
    promised, links = _read(path, weight)
    if len(links) != promised[_LINKS]:
        raise SpecError(
            f"it promises {promised[_LINKS]} links and holds {len(links)}: it is truncated, or the number is wrong. "
            f"Get the whole file; or, if these are all, write {len(links)} behind <{_LINKS}>."
        )
    nodes = _nodes(links, promised[_NODES])
    ends = np.searchsorted(nodes, np.array([(link.start, link.end) for link in links], dtype=np.int64))
    values = np.array([link.value for link in links])
    matrix = sparse.coo_array((values, (ends[:, 0], ends[:, 1])), shape=(nodes.size, nodes.size)).tocsr()
    if first_through is None:
        first_through = promised.get(_FIRST, 1)
        zones = promised.get(_ZONES, 0)
        if first_through == 1 and _are_dead_ends(matrix, nodes <= zones):
            first_through = zones + 1
            warnings.warn(
                f"{path}: the {zones} zones are left out, since each hangs on one other node and nothing can drive "
                f"through. To keep them, write {path.name}:1",
                stacklevel=2,
            )
    kept = np.flatnonzero(nodes >= first_through)
    if not kept.size:
        raise SpecError(
            f"the through nodes begin at {first_through}, but the last node is {nodes[-1]}: none is left. Keep all of "
            f"them with {path.name}:1."
        )
    beside = file_of_nodes(path)
    positions = None if beside is None else _positions(beside, nodes, kept)
    labels = [str(node) for node in nodes[kept].tolist()]
    if kept.size == nodes.size:
        return Roads(matrix, labels, positions)
    return Roads(matrix[kept][:, kept], labels, positions, kept, nodes.size)


def _nodes(links: list[_Link], count: int) -> Ints:
    """The numbers of all nodes: 1, ..., n, or those in the links."""
    named = np.unique(np.array([(link.start, link.end) for link in links], dtype=np.int64))
    if count > 2 * len(links):
        raise SpecError(f"it promises {count} nodes, but {len(links)} links cannot reach them all. Correct the number.")
    if named[0] >= 1 and named[-1] <= count:
        return np.arange(1, count + 1)
    if named.size != count:
        strange = next(link for link in links if not (1 <= link.start <= count and 1 <= link.end <= count))
        node = strange.start if not 1 <= strange.start <= count else strange.end
        raise SpecError(
            f'line {strange.line}: there is no node "{node}". Nodes are numbered from 1 to {count}; or otherwise, if '
            f"the links name {count} of them, but here they name {named.size}."
        )
    return named


def _are_dead_ends(matrix: CSR, zones: npt.NDArray[np.bool_]) -> bool:
    """Whether there are zones, and each of them is joined to one other node, which is none."""
    if not zones.any() or zones.all():
        return False
    joined = ((matrix + matrix.T) > 0.0)[zones]
    return bool((np.diff(joined.indptr) == 1).all() and not zones[joined.indices].any())


def file_of_nodes(path: Path) -> Path | None:
    """The file beside a network that says where its nodes are."""
    name = path.name.lower()
    if not name.endswith("_net.tntp"):
        return None
    stem = name.removesuffix("_net.tntp")
    wanted = (f"{stem}_node.tntp", f"{stem}_nodes.tntp")
    found = [other for other in sorted(path.parent.iterdir()) if other.name.lower() in wanted and other.is_file()]
    return found[0] if found else None


def _lines(path: Path) -> Iterator[Line]:
    """Numbers and texts of the lines that are not blank."""
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield number, line.strip()


def _metadata(lines: Iterator[Line]) -> dict[str, int]:
    """The numbers of nodes and of links and, where they are given, of zones and of the first through node."""
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
        if key in (_NODES, _LINKS, _ZONES, _FIRST):
            if not (count := number_in(value)):
                raise SpecError(f'line {number}: the {key.lower()} is "{value}". Give a positive whole number.')
            found[key] = count
            require_entries(count)
    else:
        raise SpecError("there is no line <END OF METADATA>: it is truncated, or no TNTP network (*_net.tntp).")
    for key in (_NODES, _LINKS):
        if key not in found:
            raise SpecError(f"the metadata lacks <{key}>. Add it above <END OF METADATA>.")
    return found


def _links(lines: Iterator[Line], column: str) -> Iterator[_Link]:
    places = _header(lines, column)
    closed, width = False, max(places) + 1
    for number, line in lines:
        if line.startswith("~"):
            continue
        cells = line.rstrip(";").split()
        if len(cells) < width or (closed and not line.endswith(";")):
            raise SpecError(
                f'line {number} is "{line[:60]}". A link is a line of numbers, as many as in the lines before and with '
                "a semicolon at its end if they have one: it is truncated, or not of this table."
            )
        closed = closed or line.endswith(";")
        width = width if closed else max(width, len(cells))
        start, end = (_node(cells[place], number) for place in places[:2])
        value = _number(cells[places[2]], column, number)
        if value < 0.0:
            raise SpecError(f"line {number}: the {column} is {value:g}. It cannot be negative; correct it.")
        yield _Link(number, start, end, value)


def _header(lines: Iterator[Line], column: str) -> list[int]:
    """The columns of the two ends and of one more; the header is the first comment that names the ends."""
    blamed = (0, "")
    for number, line in lines:
        names = re.sub(r"(init|term) +node", r"\1_node", line.lower()).strip("~; \t").split()
        if line.startswith("~") and set(_NODE_COLUMNS) <= set(names):
            if column.lower() in names:
                return [names.index(name) for name in (*_NODE_COLUMNS, column.lower())]
            if column != CAPACITY:
                raise SpecError(f'links have no column "{column}". They have: {", ".join(names[2:])}.')
        blamed = blamed if blamed[0] else (number, line)
        if not line.startswith("~"):
            break
    fact = f'line {blamed[0]} is "{blamed[1][:60]}"' if blamed[0] else "it ends after the metadata"
    raise SpecError(
        f"{fact}. Below the metadata stands the header: ~ and the names of the columns, with init_node, term_node and "
        "capacity."
    )


def _node(cell: str, line: int) -> int:
    node = number_in(cell)
    if node is None:
        raise SpecError(f'line {line}: there is no node "{cell}". Nodes have numbers.')
    return node


def _number(cell: str, what: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise SpecError(f'line {line}: the {what} is "{cell}", not a finite number. Correct it.')
    return value


def _positions(path: Path, nodes: Ints, kept: Ints) -> Floats:
    """The file of the nodes: a header, then node, x and y a line; the positions of the nodes that are kept."""
    points = np.full((nodes.size, 2), np.nan)
    place_of = {node: place for place, node in enumerate(nodes.tolist())}
    try:
        for count, (number, line) in enumerate(_lines(path)):
            cells = line.rstrip("; \t").split()
            if count == 0 and number_in(cells[0]) is None:
                continue
            if len(cells) < 3:
                raise SpecError(f'line {number} is "{line[:60]}". Give the node, x and y.')
            if (node := _node(cells[0], number)) not in place_of:
                raise SpecError(f'line {number}: there is no node "{node}" in the network. Drop the line.')
            points[place_of[node]] = [_number(cells[1], "x", number), _number(cells[2], "y", number)]
        points = points[kept]
        if np.isnan(points).any():
            lost = nodes[kept][np.isnan(points[:, 0])][0]
            raise SpecError(f"node {lost} has no line. Add it, or remove the file to do without positions.")
    except SpecError as wrong:
        raise SpecError(f"in {path.name} beside it: {wrong}") from None
    return points
