"""The sentences of the page. A heading states what was found, and no more than that.

**Ties.** Losses that agree to ten digits are told as equal. A regret, an excess or a bound is told as nothing where it
is below 1e-10 a round, which is as far as the leader itself is known (``LEADER_GAP``), or ten digits of the loss.

**Two comparators.** The *regret against the leader* is loss - L_T(Q_{T+1}): what that policy would itself have paid
from the same start over the same costs. The *excess over T lambda* is loss - T lambda_{T+1}: T times its average cost.
They differ by the comparator term, may have different signs, and go by different names.

**Certified.** A gap bounds how much the policy played costs above the optimum, for the mean cost it was chosen for. P
itself costs at most the range of the costs above it. So a round counts as certified if its gap is at most a hundredth
of that range, and whoever is told to be certified is told with the widest gap.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.regret.summary import ABOUT_DYNAMIC, LEADER_GAP
from lsmdp.report.pages.words import (
    counted,
    figure,
    listed,
    percent,
    yardsticks,
)
from lsmdp.theory import Certificates

# Losses that differ by less than this share of them are equal to ten digits, which is all that is shown.
_SHARE_OF_EQUAL_LOSSES = 1e-10
_SHARE_OF_A_SMALL_GAP = 0.01  # A gap of at most this share of the range of the costs is called a certificate.
# A least cost below this share of the largest is nothing to the eye, as on the scale of the map.
_COST_OF_NEARLY_NOTHING = 1e-6

LearnerFacts = Sequence[Mapping[str, Any]]


def named(text: str) -> str:
    """A title or a place as it is printed: a label alone, without the number of its state, and c_t with an index."""
    placed = re.sub(r', state [\d,]+ "([^"]*)"', r", at \1", text)
    return re.sub(r'state [\d,]+ "([^"]*)"', r"\1", placed).replace("c_t", "cₜ")


def decimals(values: Sequence[float | None]) -> int:
    """How many decimals the numbers of a column have: five digits of the largest, and two at least of what is small."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return int(np.clip(4 - math.floor(math.log10(largest)), 0, 6)) if largest > 0.0 else 2


def control_cost_or_zero(control: float, loss: float) -> float:
    """A control cost, 0 where it is rounding."""
    return 0.0 if abs(control) <= _SHARE_OF_EQUAL_LOSSES * abs(loss) else control


def is_nothing(value: float, rounds: int, loss: float) -> bool:
    """Whether a regret is none, as far as can be told."""
    return abs(value) <= LEADER_GAP * max(rounds, abs(loss))


def regret_or_zero(value: float | None, rounds: int, loss: float) -> float | None:
    """A regret, 0 where it is none."""
    return 0.0 if value is not None and is_nothing(value, rounds, loss) else value


def contest(learners: LearnerFacts) -> list[Mapping[str, Any]]:
    """Who may be called the best: who does not see the costs beforehand, if there is one."""
    return [one for one in learners if not one["clairvoyant"]] or list(learners)


def least(learners: LearnerFacts) -> list[Mapping[str, Any]]:
    """Who paid the least: one, or several who tie."""
    blind = contest(learners)
    best = min(float(one["loss"]) for one in blind)
    return [
        one for one in blind if abs(one["loss"] - best) <= _SHARE_OF_EQUAL_LOSSES * max(abs(one["loss"]), abs(best))
    ]


def badge(one: Mapping[str, Any], learners: LearnerFacts) -> str:
    """What stands beside a name: the least loss is worth a word where somebody paid more."""
    if one["clairvoyant"]:
        return "sees cₜ first"
    best = least(learners)
    if one not in best or len(best) == len(contest(learners)):
        return ""
    return "least loss" if len(best) == 1 else "least loss, tied"


def headline(learners: LearnerFacts, rounds: int) -> str:
    """Who paid the least, and how much less than the next."""
    blind, best = contest(learners), least(learners)
    names, loss = listed(one["title"] for one in best), figure(best[0]["loss"], 5)
    if len(blind) == 1:
        return f"{names} paid {loss} in {counted(rounds, 'round')}"
    if len(best) == len(blind):
        return f"{names} {'both' if len(best) == 2 else 'all'} paid the same: {loss}"
    others = [one for one in blind if one not in best]
    second = min(others, key=lambda one: float(one["loss"]))
    less = second["loss"] - best[0]["loss"]
    share = percent(less / abs(second["loss"])) if second["loss"] else figure(less)
    return f"{names} paid the least: {loss}{' each' if len(best) > 1 else ''}, {share} below {second['title']}"


def lede(learners: LearnerFacts, summary: Mapping[str, Any], floor: float = 0.0) -> str:
    """What it means, and what is guaranteed; no round costs less than ``floor``."""
    best, rounds = least(learners)[0], int(summary["rounds"])
    sees = yardsticks([one["name"] for one in learners if one["clairvoyant"]])
    said = [_against_leader(best, rounds), _guaranteed(best, summary, floor), sees]
    notes = [note for note in summary.get("notes", ()) if not note.startswith(ABOUT_DYNAMIC)]  # those have a section
    return " ".join([*filter(None, said), *notes])


def _against_leader(best: Mapping[str, Any], rounds: int) -> str:
    regret, leader = best["regret"], "the one policy that is best for the mean of all costs"
    if regret is None:
        return ""
    if is_nothing(regret, rounds, best["loss"]):
        return f"That is what {leader} would have paid in the same rounds; nobody knew it in advance."
    side, each = "more" if regret > 0.0 else "less", figure(abs(regret) / rounds, 2)
    return (
        f"That is {figure(abs(regret))} {side} than {leader} would have paid in the same rounds, which nobody knew in "
        f"advance ({each} a round)."
    )


def _guaranteed(best: Mapping[str, Any], summary: Mapping[str, Any], floor: float) -> str:
    """The bound for the slowest policies of which it says something: none can pay less than the floor each round."""
    rounds, loss = int(summary["rounds"]), best["loss"]
    bounds = summary["learners"][best["name"]]["regret_at_most_by_mixing_sum"]
    telling = {m: bound for m, bound in bounds.items() if says_something(bound, loss, rounds, floor)}
    if not telling:
        low, _ = summary["average_cost_bounds"]
        if low <= floor:
            return ""
        return (
            f"What is guaranteed: against the mean of these costs no policy pays less than {figure(low)} a round in "
            "the long run."
        )
    m, bound = list(telling.items())[-1]
    some = f"stationary policy that forgets its start in time (mixing sum at most {m}) would have paid"
    if is_nothing(bound, rounds, loss):
        return f"What is guaranteed: no {some} less."
    if bound < 0.0:
        return f"What is guaranteed: every {some} at least {figure(-bound)} more."
    return f"What is guaranteed: no {some} more than {figure(bound)} less."


def says_something(bound: float, loss: float, rounds: int, floor: float) -> bool:
    """Whether a bound on a regret goes beyond what anybody knows: no policy pays less than the floor each round."""
    return bool(bound < loss - rounds * floor or is_nothing(bound, rounds, loss))


def growth_title(curves: Sequence[Mapping[str, Any]], rounds: int, what: str, over: str, best: str = "") -> str:
    """How the curve of the best learner, or of the first, has grown since half way.

    It is some regret, and ``over`` names its comparator.
    """
    one = next((one for one in curves if one["name"] == best), curves[0])
    known = {s: r for s, r in zip(one["t"], one["regret"], strict=True) if r is not None and s > 1}
    if len(known) < 4:
        return f"{what.capitalize()} {over}, round by round"
    last = max(known)
    half = min(known, key=lambda s: abs(s - last / 2))
    end, subject = known[last], f"The {what} of {one['title']} {over}"
    if end == 0.0:
        return f"{subject} is zero after {counted(rounds, 'round')}"
    if end < 0.0:
        return f"{subject} is negative after {counted(rounds, 'round')}: −{figure(-end)}"
    then, now = known[half] / math.log(half), end / math.log(last)
    pace = "like" if figure(then, 3) == figure(now, 3) else "slower than" if now < then else "faster than"
    change = f"from {figure(then, 3)} log t to {figure(now, 3)} log t"
    return f"{subject} has grown {pace} log t since round {half:,}: {change}"


def growth_finding(slopes: Mapping[str, float | None]) -> str:
    """The slopes that there are."""
    said = [f"{name} {slope:z.2f}" for name, slope in slopes.items() if slope is not None]
    return (
        f"Slopes on log–log axes over the last nine tenths: {', '.join(said)}; 1 is linear, 0 is bounded."
        if said
        else ""
    )


def curve_note(every_round: bool, found: Certificates | None, bounds: Sequence[Any]) -> str:
    """What is drawn, against which comparator, and what is left out."""
    said = "Regret against the leader of the first t rounds, at some rounds. "
    if every_round:
        said = (
            "Drawn is the excess, loss − t·λ: λ is the average cost of the best policy for the mean of the first t "
            "costs. The regret against the leader, in the table, compares with what that policy itself would have paid "
            "in these rounds; the two differ by the comparator term below, and may differ in sign. "
        )
    if found is not None and len(bounds) < 3:
        L = found.game.constants.L
        word = f"is at most {figure(L, 3)}" if math.isfinite(L) else "has no known bound"
        said += (
            "Bounds with worst-case constants are left out where they are infinite or far off: "
            f"the constant L of the theory {word} here. "
        )
    return said + "Hover for exact values."


def parts_title(learners: LearnerFacts) -> str:
    """How much of its loss the best learner spends on steering."""
    best = least(learners)[0]
    control, loss = best["control_cost"], best["loss"]
    if control <= _SHARE_OF_EQUAL_LOSSES * abs(loss):
        return f"{best['title']} spends nothing on steering"
    if loss <= control:  # costs below zero: a share of the loss would mean nothing
        return f"{best['title']} spends {figure(control)} on steering"
    return f"{best['title']} spends {percent(control / loss)} of its loss on steering"


def parts_note(learners: LearnerFacts) -> str:
    """Who is not among the bars of the regret, and why; nothing where all are, or none."""
    absent = [one["title"] for one in learners if one["idealised"] is None or one["comparator"] is None]
    if not absent or len(absent) == len(learners):
        return ""
    verb = "is" if len(absent) == 1 else "are"
    return f"{listed(absent)} {verb} left out: the parts need the long-run law of each policy, which was not computed."


def likeliest(name: str, law: Floats, place: Any) -> str:
    """Where a learner is most likely to be, as far as the digits that are shown can tell."""
    most = float(law.max())
    digits = 2 - math.floor(math.log10(most))  # decimals of the three digits that are shown
    top, chance = np.flatnonzero(np.round(law, digits) == np.round(most, digits)), percent(most)
    if top.size == law.size > 1:
        return f"{name} anywhere ({chance} each)"
    where = place(int(top[0])) + (f" or {counted(top.size - 1, 'other place')}" if top.size > 1 else "")
    return f"{name} at {where} ({chance}{' each' if top.size > 1 else ''})"


def scale_of(costs: tuple[float, float]) -> float:
    """What a gap is measured by: the range of the costs, or their size where they are all the same."""
    lowest, highest = costs
    return highest - lowest or abs(highest) or 1.0


def settled_cost(cost: float, costs: tuple[float, float]) -> float:
    """A cost, 0 where it is nothing beside the range of the costs."""
    return 0.0 if abs(cost) <= _SHARE_OF_EQUAL_LOSSES * scale_of(costs) else cost


def effort_title(gaps: Mapping[str, Floats], costs: tuple[float, float], pace: str) -> str:
    """Which learners are certified in every round, and how closely."""
    scale = scale_of(costs)
    proved = {name: float(gap.max()) for name, gap in gaps.items() if gap.max() <= _SHARE_OF_A_SMALL_GAP * scale}
    if not proved:
        claims = any(np.isfinite(gap).any() for gap in gaps.values())
        return f"No learner here {'is certified in every round' if claims else 'claims a certificate'}; {pace}"
    who = "Every round" if len(proved) == len(gaps) else f"Every round of {listed(proved)}"
    return f"{who} is certified within {figure(max(proved.values()), 2)}; {pace}"


def effort_finding(gaps: Mapping[str, Floats], costs: tuple[float, float]) -> str:
    """The widest gap of each learner, where it was, and what it is worth."""
    said = []
    for name, gap in gaps.items():
        known = gap[np.isfinite(gap)]
        if not known.size:
            said.append(f"{name} claims none")
            continue
        widest, at = float(known.max()), int(np.nanargmax(gap)) + 1
        missing = f", and none in {counted(gap.size - known.size, 'round')}" if known.size < gap.size else ""
        said.append(f"{name} {figure(widest, 2)} (round {at:,}), {figure(float(known[-1]), 2)} at the end{missing}")
    lowest, highest = (settled_cost(cost, costs) for cost in costs)
    least = "nearly 0" if 0.0 < lowest < _COST_OF_NEARLY_NOTHING * highest else figure(lowest)
    span = f"run from {least} to {figure(highest)}" if highest > lowest else f"are all {figure(lowest)}"
    return (
        "A gap is how much the policy played may cost above the optimum, for the mean cost it was chosen for. The "
        f"widest: {'; '.join(said)}. The costs {span}; a round is called certified if its gap is at most "
        f"{figure(_SHARE_OF_A_SMALL_GAP * scale_of(costs), 2)}, a hundredth of that."
    )
