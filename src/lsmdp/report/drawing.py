"""A function on the states as a picture by matplotlib: on the cells of a grid, or on the nodes of a network.

Arrows show what steering adds, as on the page of a solve: on a grid to the mean step from a cell; on a network to the
move whose chance it raises most, along its edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.model import LMDP
from lsmdp.output.pictures import palette, raster
from lsmdp.policy import Policy
from lsmdp.report.layout import NAMED_STATES, layout
from lsmdp.runs.film import has_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN_CELLS = 2_500  # A grid of up to this many cells has room for arrows.
_LEAST_GAIN = 0.02  # Below this much of a chance or of a step there is no arrow, since it would not be seen.


def can_draw(lmdp: LMDP) -> bool:
    """Whether there is a place for each state: given, or to be found from the moves."""
    return has_places(lmdp)


def draw_map(lmdp: LMDP, values: Floats, ax: Axes, title: str, policy: Policy | None = None) -> Axes:
    """A function on the states, in colours, with arrows of a policy if there is one."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([(r / 255, g / 255, b / 255) for r, g, b in palette()]).with_extremes(bad="0.8")
    draw = _nodes if lmdp.grid_shape is None else _cells
    image = draw(lmdp, values, ax, colours, policy)
    ax.set_axis_off()
    ax.figure.colorbar(image, ax=ax, label=title, shrink=0.8)
    return ax


def favoured_moves(policy: Policy) -> tuple[Ints, Ints, Floats]:
    """For each state, the move to another one whose chance steering raises most, and by how much: from, to, gain."""
    lmdp, Q = policy.lmdp, policy.matrix()
    rows, gain = lmdp.entry_rows, np.where(lmdp.entry_rows == Q.indices, -1.0, Q.data - lmdp.P.data)
    order = np.lexsort((-gain, rows))
    best = order[np.unique(rows[order], return_index=True)[1]]
    best = best[gain[best] >= _LEAST_GAIN]
    return rows[best], Q.indices[best].astype(np.int64), gain[best]


def _cells(lmdp: LMDP, values: Floats, ax: Axes, colours: Any, policy: Policy | None) -> Any:
    image = ax.imshow(raster(lmdp, values), cmap=colours, interpolation="nearest")
    if policy is not None and lmdp.n <= _DRAWN_CELLS:
        cells = lmdp.positions - lmdp.positions.min(axis=0)
        down, across = (policy.expect(cells[:, k]) - lmdp.P @ cells[:, k] for k in (0, 1))
        seen = np.hypot(down, across) >= _LEAST_GAIN
        arrows = cells[seen, 1], cells[seen, 0], across[seen], down[seen]
        ax.quiver(*arrows, angles="xy", pivot="middle", color="white", edgecolor="black", linewidth=0.3, width=0.003)
    return image


def _nodes(lmdp: LMDP, values: Floats, ax: Axes, colours: Any, policy: Policy | None) -> Any:
    from matplotlib.collections import LineCollection

    places = layout(lmdp.P) if lmdp.positions is None else lmdp.positions
    rows = lmdp.entry_rows
    once = rows < lmdp.P.indices
    lines = np.stack([places[rows[once]], places[lmdp.P.indices[once]]], axis=1)
    ax.add_collection(LineCollection(list(lines), colors="0.8", linewidths=0.8, zorder=1))
    size = float(np.clip(6_000.0 / lmdp.n, 4.0, 120.0))
    order = np.argsort(values, kind="stable")  # bright ones last
    across, up = places[order].T
    image = ax.scatter(across, up, size, values[order], cmap=colours, zorder=2, edgecolors="0.5", linewidths=0.4)
    if policy is not None:
        start, end, gain = favoured_moves(policy)
        step = places[end] - places[start]
        ax.quiver(
            *(places[start] + 0.22 * step).T,
            *(0.38 * step).T,
            gain,
            angles="xy",
            scale_units="xy",
            scale=1.0,
            width=0.004,
            cmap="gray_r",
            clim=(-0.4, 0.4),
            zorder=3,
        )
    if lmdp.n <= NAMED_STATES:
        for x, place in enumerate(places.tolist()):
            name = str(x) if lmdp.labels is None else lmdp.labels[x]
            ax.annotate(name, tuple(place), (5, 5), textcoords="offset points", fontsize=8, zorder=4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    return image
