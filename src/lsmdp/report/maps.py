"""The map of a run: where the states are drawn, what frames it, which moves are drawn, and the words about it.

A grid is drawn cell by cell. A network is drawn as dots and lines: its frame holds the bulk of the states, from the 1%
to the 99% quantile of their coordinates, since one far suburb would make a dot of the town; all of them, where they are
few or near. Its arrows follow moves, so the page is told the moves of P, unless there are too many to be seen anyway.
A model without places has a table of its likeliest states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs.given import is_replayable
from lsmdp.game import Run
from lsmdp.learners.names import titled
from lsmdp.model import LMDP
from lsmdp.output.pictures import palette
from lsmdp.report import words
from lsmdp.report.dynamic import still_fields
from lsmdp.report.frames import places_of, shown
from lsmdp.report.layout import NAMED_STATES, frame
from lsmdp.runs.dynamic import AttributedRegrets
from lsmdp.runs.film import MOST_MOVES, Film

_LETTERS_ON_THE_MAP = 18  # A name on the map has at most this many letters, so that it stays beside its state.


def the_map(run: Run, film: Film | None, best: str, told: AttributedRegrets | None = None) -> dict[str, Any]:
    """What the page draws, and the learner that it begins with: the best, if it is on the map.

    ``told`` is the dynamic regret by states, which the map shows too.
    """
    lmdp, places = run.lmdp, places_of(run.lmdp)
    if film is None or places is None:
        return _table_of_states(run, told)
    names = film.names
    grid = lmdp.grid_shape is not None
    first = best if best in names else next(iter(names), None)
    seen = frame(places[:, 1], places[:, 0], all_of_them=grid)
    return {
        "kind": "grid" if grid else "graph",
        "title": f"Watch {first}: where it goes, round by round" if names else "What each round costs, on the map",
        "finding": _busiest(run),
        "learners": names,
        "first": first,
        "note": _note(lmdp, grid, bool(names), _outside(places, seen), told is not None),
        "still": still_fields(names, told),
        "x": _figures(places[:, 1]),
        "y": _figures(places[:, 0]),
        "frame": seen,
        "names": [_short(place_name(lmdp, x)) for x in range(lmdp.n)] if not grid and lmdp.n <= NAMED_STATES else None,
        **({} if grid else _moves(lmdp)),
        "ramp": [f"rgb({r},{g},{b})" for r, g, b in palette()[::4]],
        "frames": [shown(one) for one in film.frames],
    }


def place_name(lmdp: LMDP, x: int) -> str:
    """Its label; of a cell without one, its row and column; else its number."""
    if lmdp.labels is not None:
        return lmdp.labels[x]
    if lmdp.grid_shape is None:
        return str(x)
    row, column = (int(part) for part in lmdp.positions[x])
    return f"row {row}, column {column}"


def place_in_words(lmdp: LMDP, x: int) -> str:
    """The same in a sentence, where a number alone would not be understood."""
    name = place_name(lmdp, x)
    return f"state {name}" if name.isdecimal() else name


def _note(lmdp: LMDP, grid: bool, played: bool, outside: int, priced: bool = False) -> str:
    said = []
    if played and grid:
        said.append("Arrows are the mean step of the policy.")
    elif played and lmdp.P.nnz <= MOST_MOVES:
        said.append(
            "An arrow is the likeliest move away from a state, the stronger the likelier; where states are dense, only "
            "where the learner may be."
        )
    much = "" if not played else "; where it is, on a scale of square roots"
    said.append(f"Colours run from the least to the largest value of the round shown{much}.")
    if played and priced:
        said.append(
            "The price of not knowing is the dynamic regret of all rounds by places, on a scale of square roots too: "
            "where it is large, knowledge would have been worth most."
        )
    if outside:
        said.append(f"{outside:,} of {lmdp.n:,} states lie outside of the frame at first: zoom out to see them.")
    if lmdp.positions is None:
        said.append("Places are computed from the moves; they are no map.")
    said.append("Drag to move the map; zoom with the buttons, with + and −, or with the wheel once it is clicked.")
    return " ".join(said)


def _outside(places: Floats, seen: list[float]) -> int:
    left, right, top, bottom = seen
    inside = (places[:, 1] >= left) & (places[:, 1] <= right) & (places[:, 0] >= top) & (places[:, 0] <= bottom)
    return int(np.count_nonzero(~inside))


def _figures(along: Floats) -> list[float]:
    """Coordinates with as many digits as a screen can show."""
    decimals = 5 - int(np.floor(np.log10(max(float(np.ptp(along)), 1e-9))))
    return [float(value) for value in np.round(along, decimals)]


def _moves(lmdp: LMDP) -> dict[str, Any]:
    """The moves of each state, as in a sparse matrix; none where there are too many to be drawn."""
    if lmdp.P.nnz > MOST_MOVES:
        return {"starts": [], "ends": []}
    return {"starts": lmdp.P.indptr.tolist(), "ends": lmdp.P.indices.tolist()}


def _busiest(run: Run) -> str:
    """Where each learner ends up most likely to be."""
    said = [
        words.likeliest(words.named(player.learner.title), player.law, lambda x: place_in_words(run.lmdp, x))
        for player in run.game.players
    ]
    return f"The likeliest place after the last round: {', '.join(said)}."


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS_ON_THE_MAP else f"{name[: _LETTERS_ON_THE_MAP - 1]}…"


def _table_of_states(run: Run, told: AttributedRegrets | None) -> dict[str, Any]:
    lmdp = run.lmdp
    laws = {
        words.named(titled(player.learner.name, player.learner.clairvoyant)): player.law for player in run.game.players
    }
    prices = [] if told is None else list(told.by_state.values())
    shown = np.unique(np.concatenate([np.argsort(-each)[:150] for each in (*laws.values(), *prices)]))
    mean = run.game.seen.mean
    columns = [
        {"name": "state"},
        {"name": "mean cost", "number": True},
        *({"name": f"chance, {name}", "number": True} for name in laws),
        *({"name": f"price of not knowing, {name}", "number": True} for name in laws if told is not None),
    ]
    rows = [
        [place_name(lmdp, int(x)), float(mean[x]), *(float(each[x]) for each in (*laws.values(), *prices))]
        for x in shown
    ]
    return {
        "kind": "table",
        "title": "Where the learners are after the last round",
        "finding": f"The model has {lmdp.n:,} states{_no_map(run)}: here are the likeliest {len(rows):,}. "
        "Click a heading to sort.",
        "note": "",
        "columns": columns,
        "rows": rows,
    }


def _no_map(run: Run) -> str:
    replayable = is_replayable(run.costs)
    return " and no coordinates" if replayable else ", and its costs cannot be read again to show it round by round"
