"""What a run comes to: the object that ``--json`` prints and ``summary.json`` holds.

    states, rounds, start, finished
    average_cost_of_leader, ...             of the optimum for the mean of all costs
    learners: {name: {loss, ..., regret}}   null where a figure was not asked for or could not be had
    your_units                              with --scale LOW HIGH, losses and regrets times |HIGH - LOW|; with
                                            --edge-costs, times the unit of the game, and what was taken off is back

Both parts of a loss are in units of the scaled cost, so one factor brings both back. With costs of moves
(costs/moves.py), the state cost holds what moves cost at least, and the control cost is against P'.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp.costs.given import is_replayable
from lsmdp.game import Run, Tally
from lsmdp.game.records import tally_form
from lsmdp.learners import CompleteLearner
from lsmdp.regret import regret
from lsmdp.regret.summary import ABOUT_DYNAMIC
from lsmdp.runs.dynamic import attributed, write_dynamic
from lsmdp.runs.folder import Folder, damaged

# These figures are in units of the costs, and so are scaled with them.
_IN_UNITS = ("loss", "state_cost", "control_cost", "ideal_loss", "idealised_regret", "regret")


def summarise(folder: Folder, run: Run) -> dict[str, Any]:
    """The figures of a run that was played to its end."""
    spec = folder.spec()
    insists = True if spec.dynamic and is_replayable(run.costs) else None
    known = regret(run, bracket=spec.bracket, dynamic=insists)
    if told := attributed(known):
        write_dynamic(folder, run.lmdp, told)
    elif known.plan is not None:
        known.notes.append(
            f"{ABOUT_DYNAMIC}not attributed to rounds and states, since that plays all of them again. "
            f"To have it: {spec.model_copy(update={'dynamic': True}).command(folder.path)}"
        )
    found = known.to_dict()
    return _head(folder, run.rounds, finished=True) | found | _in_your_units(found["learners"], folder, run.rounds)


def progress_of(folder: Folder) -> dict[str, Any]:
    """The same of a run that is not finished, as far as it was saved; regrets are not known before the end."""
    spec, saved = folder.spec(), folder.checkpoint()
    tallies: Any = np.zeros((len(spec.learners), len(Tally._fields)))
    if saved is not None:
        tallies = saved.get("tallies", tallies[:0])
        if fault := tally_form(len(spec.learners)).fault(tallies):
            raise damaged(folder.path / "checkpoint.npz", f"the array of tallies {fault}")
    learners = {
        learner.name: {"clairvoyant": learner.clairvoyant} | _partial(Tally(*row))
        for learner, row in zip(map(CompleteLearner.of, spec.players()), tallies.tolist(), strict=True)
    }
    head = _head(folder, 0 if saved is None else int(saved["t"]), finished=False)
    return head | {"learners": learners} | _in_your_units(learners, folder, head["rounds"])


def _head(folder: Folder, rounds: int, *, finished: bool) -> dict[str, Any]:
    made_from = folder.manifest()
    return {"states": made_from["states"], "rounds": rounds, "start": made_from["start"], "finished": finished}


def _partial(tally: Tally) -> dict[str, Any]:
    ideal_loss = None if np.isnan(tally.ideal_loss) else tally.ideal_loss
    return {
        "loss": tally.loss,
        "state_cost": tally.state_cost,
        "control_cost": tally.control_cost,
        "ideal_loss": ideal_loss,
        "idealised_regret": None,
        "regret": {"leader": None, "best_stationary_low": None, "best_stationary_high": None, "dynamic": None},
        "average_cost_of_leader": None,
        "max_gap": None if np.isnan(tally.max_gap) else tally.max_gap,
        "solves": int(tally.solves),
        "steps": int(tally.steps),
        "seconds": tally.seconds,
    }


def _in_your_units(learners: dict[str, Any], folder: Folder, rounds: int) -> dict[str, Any]:
    scale, moves = folder.spec().scale, folder.manifest().get("moves")
    if scale is None and moves is None:
        return {}
    low, high = scale or (0.0, 1.0)
    unit, least = (1.0, 0.0) if moves is None else (float(moves["unit"]), float(moves["least"]))
    factor, taken_off = abs(high - low) * unit, abs(high - low) * least * rounds
    figures = {name: {key: _times(factor, one[key]) for key in _IN_UNITS} for name, one in learners.items()}
    for one in figures.values():
        for key in ("loss", "state_cost", "ideal_loss"):
            one[key] = None if one[key] is None else one[key] + taken_off
    return {"your_units": {"low": low, "high": high, "learners": figures}}


def _times(factor: float, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _times(factor, part) for key, part in value.items()}
    return None if value is None else factor * value
