"""The certificates on the page of a run: on how many rounds the theory is evaluated, the rows, and what they mean.

In goes a run, out comes a table with a row for each statement of the theory, and sentences: how many of them hold, what
that means for this run, and which rounds were looked at. Of a large game that is a sample, its first rounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from lsmdp.arrays import Floats
from lsmdp.chain.laws import STATES_TO_ORDER
from lsmdp.costs.given import is_replayable
from lsmdp.game import Run
from lsmdp.report.pages.words import counted, figure, listed
from lsmdp.report.words import named
from lsmdp.theory import STATEMENTS, Certificate, Certificates, certify

CERTIFY = ("all", "sample", "none")  # The theory is evaluated on all rounds, on a sample of them, or on none.
# A round of the theory takes so many operations of about a nanosecond for each state and for everybody who plays: this
# was measured on a museum of 1,486 cells and on a network of 12,990 roads.
_WORK_OF_A_STATE = 2_500.0
_STATES_OF_ONE_ROUND = 250  # A round of the theory takes as long as so many states more.
# A round solves for two leaders from far away, each with some six factors, and a multiply-add takes two nanoseconds.
_FACTORS_OF_ONE_ROUND = 24.0
# A sample takes this many operations: some three seconds, which the play of a larger game took itself.
WORK_OF_A_SAMPLE = 3e9
FEWEST_ROUNDS = 10  # A sample has at least this many rounds, however large the model.


def looked_at(run: Run, which: str) -> int:
    """On how many rounds, from the first on, the theory is evaluated: of a small game a sample is all of them."""
    if which == "none" or not is_replayable(run.costs):
        return 0
    sample = max(FEWEST_ROUNDS, int(WORK_OF_A_SAMPLE / work_of_a_round(run)))
    return run.rounds if which == "all" else min(run.rounds, sample)


def work_of_a_round(run: Run) -> float:
    """Operations of about a nanosecond that the theory takes for a round; an expert of a pool is one who plays."""
    lmdp, players = run.lmdp, [player.learner for player in run.game.players]
    everyone = 2 + sum(1 + len(learner.experts) for learner in players)  # with the exact leader, and who plays it
    factor = lmdp.elimination_plan.flops if lmdp.n <= STATES_TO_ORDER else 0.0  # beyond, states alone are too many
    return everyone * _WORK_OF_A_STATE * (lmdp.n + _STATES_OF_ONE_ROUND) + _FACTORS_OF_ONE_ROUND * factor


def certified(run: Run, count: int, losses: Mapping[str, Floats], watch: Callable[[int], None]) -> Certificates | None:
    """The theory on the first so many rounds, held against what each learner has paid in them on record."""
    if not count:
        return None
    if count == run.rounds:
        return certify(run, search=False, watch=watch)
    paid = {name: float(loss[:count].sum()) for name, loss in losses.items()}
    return certify(run, search=False, watch=watch, rounds=count, recorded=paid)


def certificates_part(found: Certificates | None, run: Run) -> dict[str, Any]:
    """This part of the page."""
    if found is None:
        return {
            "title": "The theory was not evaluated on this run",
            "finding": "It was not asked for, or the costs of the run cannot be read again.",
            "note": "`lsmdp certify DIR` evaluates every statement of the paper on a run of any size.",
            "looked_at": rounds_looked_at(0, run.rounds),
            "certified_rounds": 0,
            "open": False,
            "rows": [],
        }
    return {
        "title": certificates_title(found),
        "finding": certificates_meaning(found),
        "note": f"{certificates_finding(found)} Statements about learners name them in the second column; the "
        "others are about follow the leader with exact leaders.",
        "looked_at": rounds_looked_at(found.game.T, run.rounds),
        "certified_rounds": found.game.T,
        "open": not found.holds,
        "rows": [_line(found, one) for one in found.certificates],
    }


def _line(found: Certificates, certificate: Certificate) -> list[Any]:
    one, sign = certificate.to_dict(), "=" if certificate.kind == "identity" else "≤"
    said = verdict(found, certificate)
    return [
        one["label"],
        one["about"] or one["reading"],
        one["left"],
        sign,
        one["right"],
        said,
        named(one["where"]),
        _statement(certificate),
    ]


def _statement(certificate: Certificate) -> str:
    """What it says, as printed or as it holds; nothing for what is no statement of the theory."""
    known = STATEMENTS.get(certificate.label)
    if known is None:
        return ""
    as_printed = certificate.reading == "printed" or known.holds == "the same"
    return known.printed if as_printed else known.holds


def certificates_title(found: Certificates) -> str:
    """How many of the rows below hold, as they are shown."""
    said = [("" if found.holds else "A corrected statement FAILS: ") + found.headline]
    if unmet := unmet_assumptions(found):
        said.append(f"{counted(len(unmet), 'assumption is', 'assumptions are')} not met")
    printed = Counter(verdict(found, one) for one in found.certificates if one.reading == "printed")
    if set(printed) <= {"left out"}:
        return "; ".join([*said, "none was looked at as printed"])
    wrong = printed["fails as printed"]
    return "; ".join([*said, f"{wrong:,} {'fails' if wrong == 1 else 'fail'} as the paper prints them"])


def certificates_meaning(found: Certificates) -> str:
    """What the statements mean for this run, in a sentence or two."""
    if not found.holds:
        labels = listed(dict.fromkeys(one.label for one in found.failures))
        return (
            f"For this run that means: something is wrong. {labels} should hold and does not, so this is a bug or a "
            "discovery; please report it, and do not rely on the bounds below."
        )
    own = found.bounds()[0]  # of follow the leader with exact leaders
    bound, T = own["means"]["bound"], found.game.T
    said = "For this run that means: nothing that was computed contradicts the theory"
    if bound is None or not math.isfinite(bound):
        return f"{said}."
    tau = found.game.temperature
    return (
        f"{said}, and its numbers bound what learning cost: over {counted(T, 'round')} follow the leader with exact "
        f"leaders pays {figure(own['excess'] * tau)} above T·λ, where at most {figure(bound * tau)} is possible."
    )


def rounds_looked_at(count: int, rounds: int) -> str:
    """Which rounds the theory was evaluated on."""
    if not count:
        return "No round was looked at."
    if count == rounds:
        return "Every round was looked at." if rounds > 1 else "The one round was looked at."
    return (
        f"A sample was looked at: the first {count:,} of {rounds:,} rounds. They are a game of their own, and each "
        "statement is about a game of any length; later rounds are not vouched for here. "
        "`lsmdp report DIR --certify all` looks at every round."
    )


def certificates_finding(found: Certificates) -> str:
    """What the rows are, and how many of them say nothing."""
    said = [
        "Each line is a statement of the paper, or one that it does not have, with both sides as numbers for this run."
    ]
    ours = Counter(verdict(found, one) for one in found.certificates if is_ours(one))
    if ours["says nothing"]:
        said.append("A statement says nothing here if its right side exceeds what is true anyway.")
    if absent := ours["left out"]:
        said.append(f"Of the corrected and new ones, {absent:,} {'was' if absent == 1 else 'were'} left out.")
    if unmet := unmet_assumptions(found):
        said.append(f"{counted(len(unmet), 'assumption is', 'assumptions are')} not met: {listed(unmet)}.")
    return " ".join(said)


def is_ours(one: Certificate) -> bool:
    """Whether a row is a statement that should hold: corrected or new, and no assumption."""
    return one.reading != "printed" and one.kind != "assumption"


def unmet_assumptions(found: Certificates) -> list[str]:
    """The assumptions that this model does not satisfy."""
    return [one.label for one in found.certificates if verdict(found, one) == "not met"]


def verdict(found: Certificates, one: Certificate) -> str:
    """In a word or two, as the row shows it: what is printed fails as printed, and an assumption is not met."""
    word = found.verdict(one)
    return "fails as printed" if word == "FAILS" and one.reading == "printed" else word
