"""Where to draw the states of a graph that has no coordinates, and what of a map is shown at first.

A spectral layout: the coordinates are the second and third eigenvectors of the normalised Laplacian of the symmetrised
graph, which place neighbours near each other. A few rounds of stress then pull apart what the eigenvectors put on top
of each other: every state moves to the mean of where its distances to a sample of others would like it to be.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import laplacian, shortest_path
from scipy.sparse.linalg import eigsh

from lsmdp.arrays import CSR, Floats

_STATES_IN_THE_FRAME = 200  # Up to this many states, the frame holds all of them.
# Where there are many states, the frame holds the coordinates between these percentiles.
_PERCENTILES_IN_THE_FRAME = (1.0, 99.0)
_GROWTH_OF_THE_FRAME = 1.25  # All states are within the frame if it grows by no more than this factor for them.
NAMED_STATES = 50  # Up to this many states have their names beside them; more of them would cover each other.
_STATES_TO_MEASURE_FROM = 60  # Distances are measured from this many states, which tells the places of all others.
_SWEEPS_OF_A_LAYOUT = 40  # The places are improved this many times, after which they hardly move.


def frame(across: Floats, down: Floats, *, all_of_them: bool) -> list[float]:
    """Left, right, top and bottom of what is shown at first: all states, or the bulk where a few lie far out."""
    edges = []
    for along in (across, down):
        low, high = float(along.min()), float(along.max())
        first, last = (float(edge) for edge in np.percentile(along, _PERCENTILES_IN_THE_FRAME))
        near = high - low <= _GROWTH_OF_THE_FRAME * (last - first)
        edges += [low, high] if all_of_them or near or along.size <= _STATES_IN_THE_FRAME else [first, last]
    return edges


def layout(P: CSR) -> Floats:
    """Two coordinates per state, within [0, 1]."""
    n = P.shape[0]
    if n < 3:
        return np.stack([np.zeros(n), np.arange(n, dtype=np.float64)], axis=1)  # side by side
    links = (P + P.T).tocsr()
    links.setdiag(0.0)
    links.eliminate_zeros()
    return _unit(_relaxed(links, _spectral(links)))


def _spectral(links: CSR) -> Floats:
    n = links.shape[0]
    if n <= 200:
        _, vectors = np.linalg.eigh(laplacian(links, normed=True).toarray())
        return np.asarray(vectors[:, 1:3])
    start = np.random.default_rng(0).random(n)
    shifted = sparse.eye_array(n) * 2.0 - laplacian(links, normed=True)
    values, vectors = eigsh(shifted, k=3, v0=start, tol=1e-4, which="LA")
    return np.asarray(vectors[:, np.argsort(-values)][:, 1:3])


def _relaxed(links: CSR, places: Floats) -> Floats:
    """Stress majorisation against some anchors, by distance in moves."""
    rng = np.random.default_rng(0)
    n = places.shape[0]
    anchors = rng.choice(n, size=min(_STATES_TO_MEASURE_FROM, n), replace=False)
    hops = shortest_path(links, unweighted=True, indices=anchors)
    weights = 1.0 / np.maximum(hops, 1.0) ** 2 * (hops > 0.0)
    places = (places - places.mean(axis=0)) / places.std() * hops.mean() / 2.0
    places = places + 1e-3 * rng.standard_normal(places.shape)
    for _ in range(_SWEEPS_OF_A_LAYOUT):
        apart = places[None, :, :] - places[anchors][:, None, :]
        length = np.maximum(np.linalg.norm(apart, axis=2), 1e-9)
        wish = places[anchors][:, None, :] + apart * (hops / length)[:, :, None]
        places = np.einsum("an,and->nd", weights, wish) / weights.sum(axis=0)[:, None]
    return np.asarray(places)


def _unit(places: Floats) -> Floats:
    low, high = places.min(axis=0), places.max(axis=0)
    return np.asarray((places - low) / max(float((high - low).max()), 1e-12))
