"""Where the nodes of a graph are, from whatever their attributes are called.

    pos                                     a pair
    Latitude, Longitude (lat, lon, lng)     degrees: drawn as x = longitude * cos(middle latitude), y = latitude, so
                                            that a kilometre is as long to the east as to the north
    x, y                                    a plane; degrees where the graph says so (``crs`` is EPSG:4326, as OSMnx
                                            writes it)
    graphics [x y]                          GML

in any case of letters. A graph has positions if most of its nodes have one; a node without is put in the middle of its
neighbours (or, where these have none either, of all), so that one forgotten coordinate does not cost the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.sources.makers.shared import Bools

# Attributes with these names hold degrees of latitude and longitude.
_LATITUDES, _LONGITUDES = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
# Where the name of a coordinate system has one of these words in it, positions are in degrees.
_DEGREES = ("4326", "wgs84", "wgs 84", "crs84", "latlong", "longlat")


def node_positions(graph: Any) -> tuple[Floats | None, int]:
    """The positions of the nodes, and of how many of them that is only the middle of their neighbours."""
    found = [_place({str(name).lower(): value for name, value in data.items()}) for _, data in graph.nodes(data=True)]
    points = np.array([point for point, _ in found], dtype=np.float64).reshape(-1, 2)
    known: Bools = np.asarray(np.isfinite(points).all(axis=1))
    if 2 * np.count_nonzero(known) <= len(points):
        return None, 0
    crs = str(graph.graph.get("crs", "")).lower()
    if any(degrees for _, degrees in found) or any(word in crs for word in _DEGREES):
        points = on_a_map(points, known)
    lost = np.flatnonzero(~known)
    if lost.size:
        number_of = {node: number for number, node in enumerate(graph.nodes)}
        nodes = list(graph.nodes)
        for state in lost.tolist():
            near = [number_of[other] for other in _neighbours(graph, nodes[state]) if known[number_of[other]]]
            points[state] = points[near if near else known].mean(axis=0)
    return points, int(lost.size)


def on_a_map(degrees: Floats, known: Bools) -> Floats:
    """Longitudes and latitudes as points of a plane, in degrees of latitude."""
    middle = (degrees[known, 1].min() + degrees[known, 1].max()) / 2.0
    return degrees * (np.cos(np.radians(middle)), 1.0)


def _neighbours(graph: Any, node: Any) -> set[Any]:
    if not graph.is_directed():
        return set(graph.neighbors(node))
    return set(graph.successors(node)) | set(graph.predecessors(node))


def _place(data: Mapping[str, Any]) -> tuple[tuple[float, float], bool]:
    """(x, y), NaN where there is none, and whether these are degrees."""
    graphics = data.get("graphics")
    nested = graphics if isinstance(graphics, Mapping) else {}
    pairs: list[tuple[Any, Any]] = [(data.get("x"), data.get("y")), (nested.get("x"), nested.get("y"))]
    if isinstance(pos := data.get("pos"), list | tuple | np.ndarray) and len(pos) == 2:
        pairs.insert(0, (pos[0], pos[1]))
    there = [next((data[name] for name in names if name in data), None) for names in (_LONGITUDES, _LATITUDES)]
    for (x, y), degrees in [((there[0], there[1]), True), *((pair, False) for pair in pairs)]:
        try:
            point = float(x), float(y)
        except (TypeError, ValueError, OverflowError):
            continue
        if np.isfinite(point).all() and (not degrees or (abs(point[0]) <= 360.0 and abs(point[1]) <= 90.0)):
            return point, degrees
    return (np.nan, np.nan), False
