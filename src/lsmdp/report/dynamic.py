"""The price of not knowing the future, on the page: a curve for each learner, and a map of where it was paid.

What the page says comes from the folder, where the rounds were played again when the run was finished
(runs/dynamic.py). Of a run that was too large for that, only ``certify="all"`` plays them again here: a page must not
take longer than the game. The number itself, loss - p_1.V_1, is in the summary anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs.given import is_replayable
from lsmdp.game import Run
from lsmdp.regret.dynamic import Dynamic, replay
from lsmdp.regret.hindsight import Hindsight
from lsmdp.regret.summary import ABOUT_DYNAMIC
from lsmdp.report.frames import as_text
from lsmdp.report.pages.words import counted, figure, listed, percent
from lsmdp.runs import Folder
from lsmdp.runs.dynamic import AttributedRegrets, read_dynamic
from lsmdp.runs.film import scaled

# The curve that shows what a round cost has at most this many bins, about as many as are told apart.
_BINS_OF_A_CURVE = 60
_COMMAND = re.compile(r"(To have it: )(.+)$")  # A command in a note of a summary comes at its end, after these words.
_NAMED_PLACES = 3  # The text names this many places, as many as one remembers.
_SHARE_OF_A_NAMED_PLACE = 0.001  # A place with less than this share of the whole is not named.


def attribution(folder: Folder, run: Run, which: str, watch: Callable[[int], None]) -> AttributedRegrets | None:
    """The dynamic regret of everybody by rounds and states: as the folder has it, or played again for ``all``."""
    known = read_dynamic(folder)
    if known is not None or which != "all" or not is_replayable(run.costs):
        return known
    plan = Hindsight.of(run.lmdp, run.costs, run.game.start, run.rounds)
    learners = [player.learner for player in run.game.players]
    by_round, by_state = {}, {}
    for learner, tally, told in zip(learners, run.game.tallies, replay(plan, learners, watch), strict=True):
        Dynamic.of(plan, learner, tally.loss).attribute(told)  # which looks whether both formulas agree
        by_round[learner.name], by_state[learner.name] = told.by_round, told.by_state
    return AttributedRegrets(by_round, by_state)


def dynamic_part(
    summary: Mapping[str, Any],
    learners: list[dict[str, Any]],
    told: AttributedRegrets | None,
    best: str,
    keep: Any,
    place: Callable[[int], str],
) -> dict[str, Any]:
    """What the section says: the learners' table has the numbers, ``keep`` the rounds of a curve, as indices."""
    one = next(one for one in learners if one["name"] == best)
    price, plan = one["dynamic"], summary.get("cost_of_plan_in_hindsight")
    reasons = [note for note in summary.get("notes", ()) if note.startswith(ABOUT_DYNAMIC)]
    if price is None or plan is None:
        why = (
            " ".join(reasons) or "It was not worked out: the costs cannot be read again, or an earlier version played."
        )
        return {"title": "What not knowing the future cost is not known", "finding": why, "note": "", "learners": []}
    finding = (
        f"Nobody could have paid less than {figure(plan, 5)}: that is what the plan in hindsight pays, which knew all "
        "costs in advance and changes its policy from round to round. What a learner paid beyond it is its dynamic "
        "regret, the price of not knowing the future."
    )
    if told is None:
        why = _COMMAND.sub(r"\1`\2`", " ".join(reasons)) or "By rounds and states it was not worked out."
        return {"title": _title(one, price), "finding": f"{finding} {why}", "note": "", "learners": []}
    return {
        "title": _title(one, price),
        "finding": f"{finding} {_when_and_where(one['title'], told, best, place)}".strip(),
        "note": "Round t adds τ·pₜ·KL(Qₜ‖Q*ₜ), with τ the temperature: how far what was played is from what the plan "
        "plays. The sum over the rounds is the loss minus what the plan pays, exactly; so is the sum over the places.",
        "learners": [_curve(one, told.by_round[one["name"]], keep) for one in learners],
    }


def _title(one: Mapping[str, Any], price: float) -> str:
    if price == 0.0:
        return f"{one['title']} paid no more than who knew all costs in advance"
    share = f", {percent(price / one['loss'])} of its loss" if one["loss"] > price else ""
    return f"Not knowing the future cost {one['title']} {figure(price)}{share}"


def _when_and_where(name: str, told: AttributedRegrets, best: str, place: Callable[[int], str]) -> str:
    """By when half of it was paid, and the states where most of it was."""
    sums, states = np.cumsum(told.by_round[best]), told.by_state[best]
    total = float(sums[-1])
    if not total > 0.0:
        return ""
    half = int(np.searchsorted(sums, total / 2)) + 1
    top = [
        int(x)
        for x in np.argsort(-states, kind="stable")[:_NAMED_PLACES]
        if states[x] >= _SHARE_OF_A_NAMED_PLACE * total
    ]
    said = f"{name} had paid half of its own by round {half:,} of {sums.size:,}."
    if not top or states.size <= len(top):
        return said
    names = listed(f"{place(x)} ({states[x] / total:.1%})" for x in top)
    return f"{said} Knowledge would have been worth most at {names}; there are {counted(states.size, 'state')}."


def _curve(one: Mapping[str, Any], by_round: Floats, keep: Any) -> dict[str, Any]:
    """Added up, and what a round cost on average over equal stretches."""
    sums, T = np.cumsum(by_round), by_round.size
    edges = np.unique(np.linspace(0, T, min(_BINS_OF_A_CURVE, T) + 1).astype(np.int64))
    return {
        "name": one["name"],
        "title": one["title"],
        "t": (keep + 1).tolist(),
        "total": sums[keep].tolist(),
        "middle": [float(a + b + 1) / 2 for a, b in pairwise(edges)],
        "each": [float(by_round[a:b].mean()) for a, b in pairwise(edges)],
    }


def still_fields(names: list[str], told: AttributedRegrets | None) -> dict[str, Any] | None:
    """What the map shows of it, for each learner on the map: a byte for each state, on a scale of square roots."""
    return None if told is None else {name: as_text(scaled(told.by_state[name], root=True)) for name in names}
