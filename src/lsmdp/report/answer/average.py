"""What the page of a solve says where the cost is a long-run average.

In goes what is known of the solution (facts.py), out come the sentences and tables of the page: the average cost in
parts, beside what P pays if left alone; the states whose share of the time steering changed most; and the certificate
in words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp.report.answer.facts import AnswerFacts
from lsmdp.report.pages.words import counted, figure, listed, percent
from lsmdp.solution import Solution

# A part of a cost below this share of it is rounding, and is shown as 0.
_NEGLIGIBLE_SHARE = 1e-12


def sections(facts: AnswerFacts, rows: int) -> dict[str, Any]:
    """The parts of the page that are about a long-run average; the table has at most so many rows."""
    return {
        "headline": _headline(facts),
        "lede": _lede(facts),
        "bars": _bars(facts),
        "changes": _changes(facts, rows),
        "certificate": _certificate(facts.solution),
    }


def _headline(facts: AnswerFacts) -> str:
    cost, alone = facts.solution.average_cost, facts.alone
    if alone is None or not alone > cost:
        return f"The least average cost is {figure(cost)} a step"
    saved = alone - cost
    share = f"{percent(saved / abs(alone))} " if alone > 0.0 else ""
    return (
        f"Steered at its best the system pays {figure(cost)} a step, {share or figure(saved) + ' '}less than by itself"
    )


def _lede(facts: AnswerFacts) -> str:
    said, parts, alone = [], facts.parts, facts.alone
    if parts is not None:
        names = {"states": "for where it is", "moves": "for its moves", "steering": "for being steered"}
        least = _NEGLIGIBLE_SHARE * sum(map(abs, parts.values()))
        paid = {name: value if abs(value) > least else 0.0 for name, value in parts.items()}
        said.append("That is " + listed(f"{figure(value)} {names[name]}" for name, value in paid.items()) + ".")
    if alone is not None:
        said.append(f"Left alone, it would pay {figure(alone)}.")
    if facts.change is not None:
        moved = float(np.abs(facts.change).sum()) / 2.0
        said.append(f"Steering puts {_part(moved)} of the time elsewhere.")
    return " ".join(said)


def _bars(facts: AnswerFacts) -> list[dict[str, Any]]:
    """The cost of the policy in parts, and that of P, as bars."""
    if facts.parts is None:
        return []
    steered = [[name, value] for name, value in facts.parts.items()]
    rows = [{"name": "steered", "total": figure(facts.solution.average_cost), "parts": steered}]
    if facts.alone is not None:
        rows.append({"name": "left alone", "total": figure(facts.alone), "parts": [["states", facts.alone]]})
    return rows


def map_title(facts: AnswerFacts) -> str:
    """Where the system spends its time, in a sentence."""
    if facts.share is None:
        return "What each state is worth"
    top = int(facts.share.argmax())
    order = np.sort(facts.share)[::-1]
    half = int(np.searchsorted(np.cumsum(order), 0.5)) + 1
    if facts.lmdp.n < 4:
        return f"It spends most of its time in {facts.place(top)}: {_part(float(facts.share[top]))}"
    many = f"{half:,} of {facts.lmdp.n:,} states" if half > 1 else facts.place(top)
    most = "" if half == 1 else f", most of all in {facts.place(top)} ({_part(float(facts.share[top]))})"
    return f"It spends half of its time in {many}{most}"


def _changes(facts: AnswerFacts, most: int) -> dict[str, Any]:
    """The states whose share of the time steering changed most."""
    n, solution = facts.lmdp.n, facts.solution
    columns = [{"name": "state"}, {"name": "cost", "number": True}, {"name": "value", "number": True}]
    if facts.change is None or facts.share is None or facts.passive is None:
        shown = np.argsort(facts.solution.v, kind="stable")[:most]
        return {
            "title": "The states, from the best to be in",
            "finding": "The long-run law of this policy, or that of the passive dynamics, is beyond what floats can "
            "tell, so that no shares of time are shown.",
            "columns": columns,
            "rows": [[facts.name(int(x)), _number(facts.c[x]), _number(solution.v[x])] for x in shown],
        }
    shown = np.argsort(-np.abs(facts.change), kind="stable")[:most]
    columns += [{"name": name, "share": True} for name in ("left alone", "steered", "change")]
    rows = [
        [facts.name(int(x)), _number(facts.c[x]), _number(solution.v[x])]
        + [_number(law[x]) for law in (facts.passive, facts.share, facts.change)]
        for x in shown
    ]
    count = "" if n <= most else f" These are the {most} of {n:,} states that it changed most."
    return {
        "title": _change_title(facts),
        "finding": f"Shares of the time in the long run: with the passive dynamics left alone, and steered.{count}",
        "columns": columns,
        "rows": rows,
    }


def _change_title(facts: AnswerFacts) -> str:
    assert facts.change is not None
    assert facts.share is not None
    assert facts.passive is not None
    up, down = int(facts.change.argmax()), int(facts.change.argmin())
    if float(np.abs(facts.change).max()) < 1e-12:
        return "Steering changes nothing: the passive dynamics is the optimum"

    def told(x: int) -> str:
        before, after = (_part(float(law[x])) for law in (facts.passive, facts.share) if law is not None)
        return f"{facts.place(x)} ({before} to {after})"

    return f"Steering keeps it away from {told(down)} and brings it to {told(up)}"


def _certificate(solution: Solution) -> dict[str, Any]:
    low, high = solution.bounds
    digits = int(np.clip(np.ceil(-np.log10(max(solution.gap, 1e-16))) + 2, 4, 17))
    proved = (
        f"No policy whatever pays less than {low:.{digits}g} a step in the long run, and this one pays no more than "
        f"{high:.{digits}g}. So it is optimal to within {figure(solution.gap, 2)}."
    )
    how = (
        "Both bounds were computed from the values on this page alone, with every rounding error counted against "
        "them: they hold whatever the solver did."
    )
    rows = [
        ["average cost", f"{solution.average_cost:.12g}"],
        ["proved between", f"{low:.{digits}g} and {high:.{digits}g}"],
        ["width of the proof", figure(solution.gap, 2)],
        ["from the best to the worst state", f"{figure(solution.value_span)} (difference of values)"],
        ["found by", f"{solution.solver}, {counted(solution.iterations, 'step')}, {figure(solution.seconds, 3)} s"],
    ]
    title = "The answer is certified" if solution.certified else "The answer is not certified to the width asked for"
    return {"title": title, "finding": f"{proved} {how}", "rows": rows, "story": list(solution.story)}


def _part(share: float) -> str:
    """A share of the time in a sentence."""
    return "hardly any" if share < 1e-5 else f"{100.0 * share:.2g}%" if share < 0.1 else f"{100.0 * share:.1f}%"


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
