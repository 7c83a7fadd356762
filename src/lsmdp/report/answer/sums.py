"""What the page of a solve says where the cost is a sum: until a goal is reached, or discounted.

In goes a :class:`~lsmdp.values.Values`, out come the sentences and tables of the page (page.py): what it costs
from the states on average and from the dearest of them, every state with its two bounds, and the certificate in words.
There are no shares of time, since what ends has no long run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.ends import Goal
from lsmdp.report.pages.words import counted, figure

if TYPE_CHECKING:
    from lsmdp.report.answer.facts import AnswerFacts
    from lsmdp.values import Values


def sections(facts: AnswerFacts, rows: int) -> dict[str, Any]:
    """The parts of the page that are about a sum; the table has at most so many rows."""
    found: Values = facts.solution
    return {
        "headline": _headline(facts, found),
        "lede": _lede(facts, found),
        "bars": [],
        "changes": _states(facts, found, rows),
        "certificate": _certificate(found),
    }


def map_title(facts: AnswerFacts) -> str:
    """What the map shows."""
    goal = isinstance(facts.solution.end, Goal)
    return "How far each state is from the goal, in costs" if goal else "What it costs from each state"


def _headline(facts: AnswerFacts, found: Values) -> str:
    mean, dearest = found.mean_bounds[1], _dearest(found)
    if isinstance(found.end, Goal):
        return (
            f"To reach {_goals(facts, found)} costs {figure(mean)} from a state on average, and at most "
            f"{figure(found.upper[dearest])}"
        )
    return f"Discounted by {found.end.discount:g} a step, the future costs {figure(mean)} from a state on average"


def _goals(facts: AnswerFacts, found: Values) -> str:
    goals = [int(x) for x in found.end.settled(facts.lmdp)[0]] if isinstance(found.end, Goal) else []
    return facts.place(goals[0]) if len(goals) == 1 else f"the nearest of {len(goals)} goals"


def _dearest(found: Values) -> int:
    return int(np.where(found.finite, found.upper, -np.inf).argmax())


def _lede(facts: AnswerFacts, found: Values) -> str:
    said = [f"The dearest start is {facts.place(_dearest(found))}."]
    if found.lost.size:
        verb = "cannot reach the goal, and is" if found.lost.size == 1 else "cannot reach the goal, and are"
        said.append(f"{counted(int(found.lost.size), 'state')} {verb} left blank.")
    if found.path_bounds is not None:
        low, high = (float(side[found.finite].mean()) for side in found.path_bounds)
        said.append(
            f"Shortest paths alone would say {figure(low)} to {figure(high)} on average: without any chance, and along "
            "the one best path."
        )
    return " ".join(said)


def _states(facts: AnswerFacts, found: Values, rows: int) -> dict[str, Any]:
    order = [int(x) for x in np.argsort(-np.where(found.finite, found.upper, -np.inf), kind="stable")[:rows]]
    count = "" if facts.lmdp.n <= rows else f" These are the {rows} dearest of {facts.lmdp.n:,}."
    return {
        "title": "The states, from the dearest to start in",
        "finding": f"The optimum and the cost of the policy lie between the two bounds, from each state.{count}",
        "columns": [
            {"name": "state"},
            {"name": "cost", "number": True},
            *({"name": name, "number": True, "kept": True} for name in ("at least", "at most")),  # on phones as well
        ],
        "rows": [
            [facts.name(x), *(float(side[x]) if np.isfinite(side[x]) else None for side in _columns(facts, found))]
            for x in order
        ],
    }


def _columns(facts: AnswerFacts, found: Values) -> tuple[Any, ...]:
    return facts.c, found.lower, found.upper


def _certificate(found: Values) -> dict[str, Any]:
    low, high = found.mean_bounds
    proved = (
        f"From no state is there a policy that costs less than the lower bound of that state, and this one costs no "
        f"more than the upper bound. They are at most {figure(found.gap, 2)} apart."
    )
    how = (
        "Both were computed from the values on this page alone, with every rounding error counted against them: they "
        "hold whatever the solver did."
    )
    title = "The answer is certified" if found.certified else "The answer is not certified to the width asked for"
    table = [
        ["from a state on average", f"{low:.12g} to {high:.12g}"],
        ["from the dearest state", " to ".join(f"{side[_dearest(found)]:.12g}" for side in (found.lower, found.upper))],
        ["width of the proof, at most", figure(found.gap, 2)],
        ["found by", f"{found.solver}, {counted(found.iterations, 'step')}, {figure(found.seconds, 3)} s"],
    ]
    return {"title": title, "finding": f"{proved} {how}", "rows": table, "story": list(found.story)}
