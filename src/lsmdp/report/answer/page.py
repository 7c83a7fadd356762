"""The page of a solve, put together: written to a file, as text, or as the object that it draws itself from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsmdp import __version__
from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.files import atomic, clear, explained
from lsmdp.model import LMDP
from lsmdp.report.answer import average, sums
from lsmdp.report.answer.facts import AnswerFacts
from lsmdp.report.answer.picture import map_of
from lsmdp.report.pages import assemble
from lsmdp.report.pages.words import counted
from lsmdp.solution import Solution
from lsmdp.values import Values

_TABLE_ROWS = 100  # The table has this many states, those that steering changed most: as many as somebody reads.


def write_answer_page(
    solution: Solution | Values,
    out: Path,
    lmdp: LMDP | None = None,
    c: Floats | None = None,
    *,
    costs: str = "",
    command: str = "",
) -> None:
    """Write the page of a solution to a file.

    ``lmdp`` and ``c`` are the model and the costs of states as the user gave them, where the model of the solution has
    absorbed costs of moves. ``costs`` says what was charged, and ``command`` how the page was made.
    """
    text = answer_page(solution, lmdp, c, costs=costs, command=command)
    with explained(out, "--report"), atomic(out) as stream:
        stream.write(text.encode())
    clear(out.parent)


def answer_page(
    solution: Solution | Values,
    lmdp: LMDP | None = None,
    c: Floats | None = None,
    *,
    costs: str = "",
    command: str = "",
) -> str:
    """The same as text."""
    if not isinstance(solution, Solution | Values):
        raise SpecError(
            f"there is no page for a {type(solution).__name__}, which has a policy for each round: pages are about one "
            "policy. Draw it with .plot(), or keep the values in a file."
        )
    lmdp = solution.lmdp if lmdp is None else lmdp
    facts = AnswerFacts(solution, lmdp, solution.c if c is None else c)
    return assemble("lsmdp.report.answer", story(facts, costs, command))


def story(facts: AnswerFacts, costs: str = "", command: str = "") -> dict[str, Any]:
    """The whole page as one object."""
    lmdp, about_cost = facts.lmdp, sums if facts.is_sum else average
    about = [
        Path(lmdp.name).name,
        f"cost {costs}" if costs else "",
        counted(lmdp.n, "state"),
        counted(lmdp.nnz, "move"),
        f"temperature {lmdp.temperature:g}" if lmdp.temperature != 1.0 else "",
    ]
    return {
        "learners": [],  # there are none, and the script that all pages share asks
        "kicker": " · ".join(filter(None, about)),
        "map": map_of(facts, about_cost.map_title(facts)),
        **about_cost.sections(facts, _TABLE_ROWS),
        "provenance": [
            ["model", lmdp.name or "made in Python"],
            ["command", command or "none: by write_answer_page in Python"],
            ["lsmdp", __version__],
        ],
    }
