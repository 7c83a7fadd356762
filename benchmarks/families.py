"""The models of the round benchmarks: grids, roads, rings, clusters, random graphs, full matrices."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial import Delaunay

import lsmdp

KEPT = 0.55  # of the edges of a triangulation: about the degree of a road map
ONE_WAY = 0.3  # of the roads


def dense(n: int) -> lsmdp.LMDP:
    """A full matrix with uniform entries."""
    return lsmdp.LMDP(np.random.default_rng(0).uniform(0, 1, (n, n)), normalise=True)


def roads(n: int, one_way: bool = False) -> lsmdp.LMDP:
    """A planar graph like a road map: some edges of a Delaunay triangulation of random points, near ones likelier."""
    rng = np.random.default_rng(1)
    points = rng.uniform(0.0, np.sqrt(n), (n, 2))
    corners = Delaunay(points).simplices
    edges = np.unique(np.sort(np.vstack([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1), axis=0)
    edges = edges[rng.random(len(edges)) < KEPT]
    there, back = edges.T
    if one_way:
        both = rng.random(len(edges)) >= ONE_WAY
        start, end = np.concatenate([there, back[both]]), np.concatenate([back, there[both]])
    else:
        start, end = np.concatenate([there, back]), np.concatenate([back, there])
    weights = sparse.csr_array((np.ones(start.size), (start, end)), shape=(n, n))
    return lsmdp.LMDP.repaired(weights, normalise=True, largest_class=True, lazy=0.2, positions=points)
