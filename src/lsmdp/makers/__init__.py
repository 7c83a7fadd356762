"""Ways to make a model.

families   rings, random graphs, clusters and two-state chains with known behaviour
grids      walks on floor plans with walls, MovingAI maps
edges      from edge lists, networkx graphs and counts
"""

from lsmdp.makers.edges import edge_weights, from_counts, from_edges, from_networkx
from lsmdp.makers.families import clusters, random_graph, rank_one, ring, sticky
from lsmdp.makers.grids import grid, museum, walk_on_map
from lsmdp.makers.shared import Repairs

__all__ = [
    "Repairs",
    "clusters",
    "edge_weights",
    "from_counts",
    "from_edges",
    "from_networkx",
    "grid",
    "museum",
    "random_graph",
    "rank_one",
    "ring",
    "sticky",
    "walk_on_map",
]
