"""The map, moving: the film of a run (runs/film.py) as the page needs it.

The frames are in the folder of the run, where they were kept while it was played. Of a run whose folder has none or not
all of them, such as one of an earlier version, the rounds are played again: the same learners on the same costs do the
same.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs.given import is_replayable
from lsmdp.game import Run
from lsmdp.model import LMDP
from lsmdp.report.layout import layout
from lsmdp.runs import Folder
from lsmdp.runs.film import Field, Film, Frame, has_places


def places_of(lmdp: LMDP) -> Floats | None:
    """Where the states are drawn, as (down, across); None if there is no map."""
    if not has_places(lmdp):
        return None
    if lmdp.positions is None:
        return layout(lmdp.P)
    # a network's (x, y) as a grid's (down, across): north is up
    return np.asarray(lmdp.positions if lmdp.grid_shape is not None else lmdp.positions[:, ::-1] * (-1.0, 1.0))


def film_of(folder: Folder, run: Run, watch: Callable[[int], None]) -> Film | None:
    """The film of a finished run: as the folder has it, or from its rounds, played again. None: there is no map."""
    if not has_places(run.lmdp) or not is_replayable(run.costs):
        return None
    film = Film(run.lmdp, [player.learner for player in run.game.players], run.rounds)
    if not film.read(folder, run.rounds):
        film.frames = []
        frames_by_replay(film, run, watch)
    return film


def frames_by_replay(film: Film, run: Run, watch: Callable[[int], None]) -> None:
    """Play the run again for the frames."""
    lmdp, start = run.lmdp, run.game.start
    learners = [player.learner for player in run.game.players if player.learner.name in film.names]
    states, laws = [learner.init(lmdp, start) for learner in learners], [start for _ in learners]
    total = np.zeros(lmdp.n)
    for t, c_t in enumerate(islice(iter(run.costs), run.rounds), 1):
        policies = [learner.policy(lmdp, state) for learner, state in zip(learners, states, strict=True)]
        if t in film.rounds:
            standing = dict(zip(film.names, zip(policies, laws, strict=True), strict=True))
            film.look(t, np.asarray(c_t), total / max(t - 1, 1), standing)
        laws = [policy.push(law) for policy, law in zip(policies, laws, strict=True)]
        laws = [law / law.sum() for law in laws]
        states = [learner.observe(lmdp, state, c_t) for learner, state in zip(learners, states, strict=True)]
        total = total + c_t
        watch(t)


def shown(frame: Frame) -> dict[str, Any]:
    """A frame, ready for JSON."""
    fields = {":".join(filter(None, (what, name))): as_text(field) for (name, what), field in frame.fields.items()}
    return {"t": frame.t, "fields": fields}


def as_text(field: Field) -> dict[str, Any]:
    """A field, ready for JSON."""
    data = base64.b64encode(field.levels).decode("ascii")
    return {"low": field.low, "high": field.high, "flat": field.flat, "data": data}
