"""A target that moves over the map or along the moves of P, and a danger that roams it.

The target visits a closed list of states, its *stops*, and stays ``pace`` rounds at each. In a round with the target
at y the cost is

    c_t(x) = min(1, d(x, y) / reach),

zero at the target and 1 from the distance ``reach`` on. Where states have positions, d is the distance in the plane,
the stops are the states nearest to an ellipse around the middle of the map, and reach is half its longer side. Where
they have none, d(x, y) is the number of moves from x to y (infinite if there is no way), the stops are a shortest way
from a random state to one of the farthest from it, and back, and reach is half the distance there.

A danger is the opposite. It roams between some *haunts*, random states, by shortest ways along the moves of P, again
and again in the same order, and takes a step every ``pace`` rounds. The cost is

    c_t(x) = exp(-(d(x, y) / 8)^2),

1 at the danger and next to nothing a few moves away; d is the number of moves, so walls protect.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from lsmdp.arrays import (
    CSR,
    Floats,
    Ints,
    read_only,
)
from lsmdp.chain import largest_class, search
from lsmdp.costs.sequence import block_rows
from lsmdp.model import LMDP

_POINTS_OF_THE_ELLIPSE = 96  # The target walks over this many points of an ellipse, so that it seldom skips a cell.
# The ellipse reaches this share of the sides of the map from its middle, and so stays inside.
_RADIUS_OF_THE_ELLIPSE = 0.35
_HAUNTS = 8  # A danger goes round this many places, enough for a tour that is not soon learnt.
_REACH_OF_A_DANGER = 8.0  # A danger is felt this many moves away, about the width of a gallery of the museum.


def moving_target(lmdp: LMDP, pace: int, rng: np.random.Generator) -> Callable[[Ints], Floats]:
    """The costs of consecutive rounds, a row each."""
    stops, reach = _round_trip(lmdp.P, rng) if lmdp.positions is None else _circle(lmdp.positions, rng)
    distance = _moves_to(lmdp.P) if lmdp.positions is None else _apart(lmdp.positions)

    @lru_cache(maxsize=block_rows(lmdp.n))
    def cost(target: int) -> Floats:
        return read_only(np.minimum(distance(target) / reach, 1.0))

    def rows(t: Ints) -> Floats:
        return _each(cost, stops[(t - 1) // pace % stops.size])

    return rows


def roaming_danger(lmdp: LMDP, pace: int, rng: np.random.Generator) -> Callable[[Ints], Floats]:
    """The costs of consecutive rounds, a row each."""
    stops = _patrol(lmdp.P, rng)
    distance = _moves_to(lmdp.P)

    @lru_cache(maxsize=max(block_rows(lmdp.n), 256))
    def cost(danger: int) -> Floats:
        return read_only(np.exp(-((distance(danger) / _REACH_OF_A_DANGER) ** 2)))

    def rows(t: Ints) -> Floats:
        return _each(cost, stops[(t - 1) // pace % stops.size])

    return rows


def _each(cost: Callable[[int], Floats], places: Ints) -> Floats:
    """The cost of each place, a row each; one place for many rounds is asked for once."""
    different, which = np.unique(places, return_inverse=True)
    return np.stack([cost(place) for place in different.tolist()])[which]


def _patrol(P: CSR, rng: np.random.Generator) -> Ints:
    """A closed tour of some haunts."""
    haunts = rng.choice(largest_class(P), size=_HAUNTS)
    tour: list[int] = []
    for here, there in zip(haunts, np.roll(haunts, -1), strict=True):
        _, parent = search(P, int(here))
        tour += _way(parent, int(here), int(there))
    return np.array(tour or [int(haunts[0])], dtype=np.int64)


def _apart(positions: Floats) -> Callable[[int], Floats]:
    return lambda y: np.hypot(*(positions - positions[y]).T)


def _moves_to(P: CSR) -> Callable[[int], Floats]:
    back = P.T.tocsr()

    def distance(y: int) -> Floats:
        level, _ = search(back, y)
        return np.where(level < 0, np.inf, level)

    return distance


def _circle(positions: Floats, rng: np.random.Generator) -> tuple[Ints, float]:
    low, high = positions.min(axis=0), positions.max(axis=0)
    angle = 2.0 * np.pi * (rng.random() + np.arange(_POINTS_OF_THE_ELLIPSE) / _POINTS_OF_THE_ELLIPSE)
    ellipse = (low + high) / 2.0 + _RADIUS_OF_THE_ELLIPSE * (high - low) * np.column_stack(
        [np.cos(angle), np.sin(angle)]
    )
    nearest = np.array([np.argmin(((positions - point) ** 2).sum(axis=1)) for point in ellipse])
    moved = np.append(True, nearest[1:] != nearest[:-1])
    return nearest[moved], float((high - low).max()) / 2.0 or 1.0


def _round_trip(P: CSR, rng: np.random.Generator) -> tuple[Ints, float]:
    members = largest_class(P)
    home = int(rng.choice(members))
    level, parent = search(P, home)
    far = int(members[np.argmax(level[members])])
    _, back = search(P, far)
    stops = _way(parent, home, far) + _way(back, far, home)
    return np.array(stops or [home], dtype=np.int64), max(1.0, level[far] / 2.0)


def _way(parent: Ints, start: int, end: int) -> list[int]:
    """The states of the way from ``start`` to ``end`` in a search tree, without the last."""
    way = []
    while end != start:
        end = int(parent[end])
        way.append(end)
    return way[::-1]
