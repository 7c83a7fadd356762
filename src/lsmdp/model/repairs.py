"""What makes a usable kernel of weights that are none yet: states dropped, dead ends opened, jumps and rests mixed in.

A chain that can be solved and played is irreducible, and better aperiodic. These functions take a matrix to one that
is; ``LMDP.largest_class``, ``LMDP.teleport`` and ``LMDP.lazy`` (lmdp.py) make models of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from lsmdp.arrays import (
    CSR,
    Ints,
    real,
    row_sums,
)
from lsmdp.errors import (
    AssumptionError,
    ModelError,
    told,
)
from lsmdp.inputs.labels import name_state

DENSE_LIMIT = 25_000_000  # The largest P that teleport may fill in has this many entries, 200 MB.


def labels_of(labels: Sequence[str] | None, keep: Ints) -> tuple[str, ...]:
    """The labels of the states that are kept; their former numbers where there were none."""
    return tuple(str(state) if labels is None else labels[state] for state in keep.tolist())


def restrict(weights: CSR, keep: Ints, labels: Sequence[str] | None) -> CSR:
    """The weights between the states that are kept, unless none is left."""
    inner = weights[keep][:, keep]
    if not inner.nnz:
        raise AssumptionError(
            f"the largest class of P is {name_state(int(keep[0]), labels)} alone, which cannot stay put: no two "
            "states lead to each other. Check the direction of the moves, or let every state jump anywhere with "
            "teleport(0.01) (--teleport 0.01)."
        )
    return inner


def _require_room(n: int, landings: int) -> None:
    if n * landings > DENSE_LIMIT:
        raise ModelError(
            f"teleport to all {landings:,} states would fill P with {n * landings:.2g} entries; at most "
            f"{DENSE_LIMIT:.2g} are filled in. Keep P sparse: use largest_class() (--largest-class), or name a few "
            "landing states with teleport(eps, to=[...])."
        )


def spread_dead_ends(weights: CSR) -> CSR:
    """The same weights, with dead ends (zero rows) that move anywhere."""
    n = int(weights.shape[0])
    _require_room(n, n)
    dead = row_sums(weights) == 0.0
    count = int(np.count_nonzero(dead))
    starts = np.concatenate(([0], np.cumsum(n * dead)))
    return weights + sparse.csr_array((np.full(n * count, 1.0 / n), np.tile(np.arange(n), count), starts), shape=(n, n))


def with_jumps(P: CSR, eps: float, targets: Ints) -> CSR:
    """(1 - eps) P + eps U, where U jumps from anywhere to one of the targets, each with the same chance."""
    _check_share(eps, "teleport")
    n, landings = int(P.shape[0]), targets.size
    _require_room(n, landings)
    chances, places = np.tile(np.full(landings, eps / landings), n), np.tile(targets, n)
    return (1.0 - eps) * P + sparse.csr_array((chances, places, np.arange(n + 1) * landings), shape=(n, n))


def with_rests(P: CSR, eps: float) -> CSR:
    """(1 - eps) P + eps I: every state stays put with probability eps more."""
    _check_share(eps, "lazy")
    return (1.0 - eps) * P + eps * sparse.eye_array(int(P.shape[0]), format="csr")


def _check_share(eps: float, what: str) -> None:
    if not 0.0 < real(eps) < 1.0:
        raise ModelError(
            f"{what} takes a probability strictly between 0 and 1, not {told(eps)}. A usual value is 0.01."
        )
