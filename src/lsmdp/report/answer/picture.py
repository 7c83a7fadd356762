"""The map on the page of a solve: each state at its place, with what is shown of it, and what steering adds.

States have the places that the model gives them or, where it gives none and there are few, places computed from the
moves. On a grid an arrow is what steering adds to the mean step, E_Q[place] - E_P[place]; on a network it lies along
the one move whose chance grows most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp.arrays import CSR, Floats
from lsmdp.output.pictures import palette
from lsmdp.report.answer.facts import AnswerFacts
from lsmdp.report.layout import NAMED_STATES, frame, layout
from lsmdp.runs.film import STATES_LAID_OUT

_MAP_STATES = 50_000  # At most this many states are drawn, which makes a page of some 5 MB.
# An arrow is drawn where steering adds at least this much of a step or of a chance; less is not seen.
_FAINTEST_ARROW = 0.02


def map_of(facts: AnswerFacts, title: str) -> dict[str, Any] | None:
    """What the script draws the map from; None where there is nothing to draw."""
    lmdp, n = facts.lmdp, facts.lmdp.n
    grid = lmdp.grid_shape is not None
    places: Floats | None = lmdp.positions
    if places is not None and n > 1 and not np.ptp(places, axis=0).any():
        places = None  # all in one place, which is none
    if places is None and n <= STATES_LAID_OUT:
        places = layout(lmdp.P)[:, ::-1]
    if places is None or n > _MAP_STATES:
        return None
    across, down = (places[:, 1], places[:, 0]) if grid else (places[:, 0], -places[:, 1])
    fields = {"cost": _short(facts.c), "value": _short(facts.solution.v)}
    if facts.share is not None:
        fields = {"time": _short(facts.share), **fields}
    if facts.change is not None:
        fields["change"] = _short(facts.change)
    return {
        "kind": "grid" if grid else "graph",
        "title": title,
        "note": _map_note(grid, facts.share is not None, places is lmdp.positions),
        "x": _short(across),
        "y": _short(down),
        "frame": frame(across, down, all_of_them=grid),
        "names": [facts.name(x) for x in range(n)],
        "named": n <= NAMED_STATES and not grid,
        "fields": fields,
        "edges": [] if grid else _edges(lmdp.P),
        "arrows": _steps(facts, across, down) if grid else _favoured(facts),
        "ramp": [f"rgb({r},{g},{b})" for r, g, b in palette()[::4]],
    }


def _map_note(grid: bool, timed: bool, placed: bool) -> str:
    said = (
        "An arrow is what steering adds to the mean step from a cell."
        if grid
        else ("An arrow lies along the move whose chance steering raises most, and is the stronger the more it does.")
    )
    time = " Time and change are on a scale of square roots, so that rare places show." if timed else ""
    return said + time + ("" if placed else " Places are computed from the moves; they are no map.")


def _edges(P: CSR) -> list[int]:
    """The pairs of states between which there is a move, each pair once."""
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    low, high = np.minimum(rows, P.indices), np.maximum(rows, P.indices)
    pairs = np.unique(np.stack([low, high], axis=1)[low < high], axis=0)
    return [int(end) for end in pairs.ravel()]


def _steps(facts: AnswerFacts, across: Floats, down: Floats) -> list[Any]:
    """For each state, what steering adds to its mean step across and down."""
    added = [facts.Q @ values - facts.lmdp.P @ values for values in (across, down)]
    return [[round(float(dx), 3), round(float(dy), 3)] for dx, dy in zip(*added, strict=True)]


def _favoured(facts: AnswerFacts) -> list[Any]:
    """For each state that is steered: the move whose chance grows most, and by how much."""
    rows = facts.solution.lmdp.entry_rows
    gain = np.where(facts.Q.indices == rows, -1.0, facts.Q.data - facts.passive_chances)
    order = np.lexsort((-gain, rows))
    first = order[np.unique(rows[order], return_index=True)[1]]
    return [
        [int(rows[at]), int(facts.Q.indices[at]), round(float(gain[at]), 3)]
        for at in first
        if gain[at] >= _FAINTEST_ARROW
    ]


def _short(values: Any) -> list[float | None]:
    """Numbers with six digits, which is more than a picture shows; None for what is infinite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(values).tolist()]
