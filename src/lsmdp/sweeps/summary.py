"""What a sweep comes to: the object that ``--json`` prints and ``summary.json`` holds.

runs, failed            how many runs there are, and those that could not be played, each with the reason
levels                  the quantiles that bands are made of: low, median, high
games                   one for each model, cost family and horizon, with its learners:
  learners: {name: {clairvoyant, t, seconds, growth, above_best}} and regret, idealised_regret, dynamic_regret, loss as
                        {low, median, high}
    above_best          median and most, over the seeds, of how far its loss is above the least of the same run
  best                  who has the least median regret at the end, of those who are not clairvoyant
  tied                  best, and all whose median is the same within the certificates of the leaders
  less_than_best        in how many seeds each learner has less
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.learners import CompleteLearner, learner_by_name
from lsmdp.regret.summary import LEADER_GAP
from lsmdp.runs.manifest import versions
from lsmdp.sweeps.growth import growth
from lsmdp.sweeps.jobs import Job, ResultRow
from lsmdp.sweeps.spec import Sweep

_LEVELS = {"low": 0.1, "median": 0.5, "high": 0.9}  # The bands of a summary are these quantiles over the seeds.
_BANDED = ("regret", "idealised_regret", "dynamic_regret", "loss")  # These figures have bands.


def summarise(
    sweep: Sweep, runs: Sequence[tuple[Job, Sequence[ResultRow]]], failed: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Medians, bands and growth of each game, in the order of the sweep file."""
    games: dict[tuple[str, str, int], list[tuple[Job, Sequence[ResultRow]]]] = {}
    for job, rows in runs:
        games.setdefault((job.model, job.costs, job.spec.rounds or 0), []).append((job, rows))
    return {
        "runs": len(runs),
        "failed": list(failed),
        "versions": versions(),
        "levels": _LEVELS,
        "sweep": sweep.model_dump(mode="json"),
        "games": [_game(*names, found) for names, found in games.items()],
    }


def _game(model: str, costs: str, rounds: int, runs: Sequence[tuple[Job, Sequence[ResultRow]]]) -> dict[str, Any]:
    by_learner: dict[str, list[list[ResultRow]]] = {}
    for _, rows in runs:
        for name in dict.fromkeys(row.learner for row in rows):
            by_learner.setdefault(name, []).append([row for row in rows if row.learner == name])
    sees = {name: clairvoyant(name) for name in by_learner}
    learners = {name: {"clairvoyant": sees[name]} | _learner(of_seeds) for name, of_seeds in by_learner.items()}
    ends = {name: _column([rows[-1:] for rows in of_seeds], "regret")[:, 0] for name, of_seeds in by_learner.items()}
    known = {name: float(np.median(values)) for name, values in ends.items() if not np.isnan(values).any()}
    contest = [name for name in known if not sees[name]] or list(known)
    best = min(contest, key=lambda name: known[name]) if contest else None
    paid = {name: _column([rows[-1:] for rows in of_seeds], "loss")[:, 0] for name, of_seeds in by_learner.items()}
    least = np.min([paid[name] for name in paid if not sees[name]] or list(paid.values()), axis=0)
    for name, losses in paid.items():
        above = losses - least
        learners[name]["above_best"] = {"median": float(np.median(above)), "most": float(above.max())}
    return {
        "model": model,
        "costs": costs,
        "rounds": rounds,
        "seeds": [job.replicate for job, _ in runs],
        "best": best,
        "tied": [name for name in contest if best and known[name] - known[best] <= LEADER_GAP * rounds],
        "less_than_best": {} if best is None else {name: int((ends[name] < ends[best]).sum()) for name in known},
        "learners": learners,
    }


def clairvoyant(name: str) -> bool:
    """Whether the learner of this name sees the cost of the round that it plays."""
    return CompleteLearner.of(learner_by_name(name)).clairvoyant


def _learner(of_seeds: Sequence[Sequence[ResultRow]]) -> dict[str, Any]:
    t = [row.t for row in of_seeds[0]]
    regret = _column(of_seeds, "regret")
    return {
        "t": t,
        **{name: _bands(_column(of_seeds, name)) for name in _BANDED},
        "seconds": float(np.median([rows[-1].seconds for rows in of_seeds])),
        "growth": growth(t, regret),
    }


def _column(of_seeds: Sequence[Sequence[ResultRow]], name: str) -> Floats:
    """seeds x rounds; nan for what is not known."""
    return np.array([[getattr(row, name) for row in rows] for rows in of_seeds], dtype=np.float64)


def _bands(values: Floats) -> dict[str, list[float | None]]:
    """The quantiles over the seeds, round by round; None where some seed is not known."""
    return {
        name: [None if np.isnan(value) else float(value) for value in np.quantile(values, level, axis=0)]
        for name, level in _LEVELS.items()
    }
