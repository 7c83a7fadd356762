"""Ways to make a model.

families   rings, random graphs, clusters and two-state chains with known behaviour
grids      walks on floor plans with walls, MovingAI maps
edges      from edge lists, networkx graphs and counts
toytext    from Gymnasium's tables of transitions
positions  where the nodes of a graph are, from their attributes
shared     what several of these need
"""

from lsmdp.sources.makers.edges import (
    edge_weights,
    from_counts,
    from_edges,
    from_networkx,
)
from lsmdp.sources.makers.families import (
    clusters,
    random_graph,
    rank_one,
    ring,
    sticky,
)
from lsmdp.sources.makers.grids import grid, museum, walk_on_map
from lsmdp.sources.makers.shared import Repairs
from lsmdp.sources.makers.toytext import from_gymnasium, gymnasium_costs

__all__ = [
    "Repairs",
    "clusters",
    "edge_weights",
    "from_counts",
    "from_edges",
    "from_gymnasium",
    "from_networkx",
    "grid",
    "gymnasium_costs",
    "museum",
    "random_graph",
    "rank_one",
    "ring",
    "sticky",
    "walk_on_map",
]
