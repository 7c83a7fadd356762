"""The page of a sweep: one file that works from disk, with no network.

Small multiples of the regret over the rounds, a panel for each game, with bands over the seeds; then the table of
growth. The look is that of the page of a run: the same style sheet, and charts in SVG that the page draws from one
JSON object.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lsmdp.pages import assemble
from lsmdp.regret.summary import LEADER_GAP
from lsmdp.sweeps.growth import GENERIC, TOO_FEW

SUBJECT = "ftl"  # what the headline is about, where it plays
NO_GROWTH = {"bounded", "beats the leader", "no growth"}


def page(summary: Mapping[str, Any]) -> str:
    """The page as text."""
    return assemble("lsmdp.sweeps", story(summary))


def story(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says: every number and every sentence on it."""
    games: list[dict[str, Any]] = summary["games"]
    learners = list(games[0]["learners"])
    subject = SUBJECT if SUBJECT in learners else learners[0]
    low, high = summary["levels"]["low"], summary["levels"]["high"]
    return {
        "kicker": kicker(summary),
        "headline": headline(games, subject),
        "lede": lede(games, subject),
        "learners": learners,
        "cards": [_card(games, name) for name in learners],
        "resolution": LEADER_GAP,
        "panels": {
            "title": panels_title(games, learners),
            "finding": "Lines are medians over the seeds, shades go from the "
            f"{low:.0%} to the {high:.0%} quantile. The regret after t rounds is against the leader of these t rounds. "
            "A straight line on the first axes is a power of T, a level one on the second is logarithmic.",
            "games": [_panel(game) for game in games],
        },
        "growth": {
            "title": growth_title(games, subject),
            "finding": "a log T, b log² T and c T^p, each plus a constant, fitted to the medians of the rounds from "
            "√T to T. Bands are the middle 95% of 1,000 draws of the seeds. As log T is the power 0, it is the verdict "
            "where the band of p holds 0 and neither √T nor log² T is left; undecided means that more than one "
            "curve is. Off by: how far the curve typically is from the medians.",
            "rows": [_line(game, name, one) for game in games for name, one in game["learners"].items()],
        },
        "best": {
            "title": best_title(games, subject),
            "rows": [_rival(game, subject) for game in games],
            "subject": subject,
        },
        "failed": list(summary["failed"]),
        "provenance": [[name, version] for name, version in summary["versions"].items()]
        + [["sweep", json.dumps(summary["sweep"], ensure_ascii=False)]],
    }


def kicker(summary: Mapping[str, Any]) -> str:
    """What the page is about, in one line."""
    games = summary["games"]
    counts = [len({game[what] for game in games}) for what in ("model", "costs")]
    seeds, rounds = max(len(game["seeds"]) for game in games), max(game["rounds"] for game in games)
    return (
        f"lsmdp sweep · {_count(counts[0], 'model')} · {_count(counts[1], 'cost family', 'cost families')} · "
        f"{_count(seeds, 'seed')} · up to {_count(rounds, 'round')} · {_count(summary['runs'], 'run')}"
    )


def headline(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """In how many games the regret of the subject is seen to grow slower than the generic rate."""
    fits = [game["learners"][subject]["growth"] for game in games]
    told = [fit for fit in fits if fit["verdict"] != TOO_FEW]
    if not told:
        return f"Too few rounds to tell how the regret of {subject} grows"
    slow = f"The regret of {subject} grows slower than √T in {sum(map(_slow, told))}"
    if len(told) < len(fits):
        return f"{slow} of the {_count(len(told), 'game')} that {'is' if len(told) == 1 else 'are'} long enough to tell"
    return f"{slow} of {_count(len(fits), 'game')}"


def lede(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """Who has the least regret, and how often."""
    wins = Counter(game["best"] for game in games if game["best"] is not None)
    if not wins:
        return "No regret against the leader was computed."
    ranked = ", ".join(f"{name} in {count}" for name, count in wins.most_common() if name != subject)
    others = f"; {ranked}" if ranked else ""
    return (
        f"{subject} has the least median regret at the last round in {wins[subject]} of "
        f"{_count(wins.total(), 'game')}{others}. Regret is against the leader: the best policy for the mean cost."
    )


def panels_title(games: Sequence[Mapping[str, Any]], learners: Sequence[str]) -> str:
    """The largest median regret of each learner, least first."""
    most = {name: max(_ends(games, name), default=None) for name in learners}
    known = sorted((value, name) for name, value in most.items() if value is not None)
    return "Largest median regret in any game: " + ", ".join(f"{name} {_short(value)}" for value, name in known)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def growth_title(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """How often the growth of the subject is which."""
    counts = Counter(_kind(game["learners"][subject]["growth"]["verdict"]) for game in games)
    kinds = ", ".join(f"{kind} in {count}" for kind, count in counts.most_common())
    return f"The regret of {subject}: {kinds} of {_count(len(games), 'game')}"


def best_title(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """Where the subject loses."""
    lost = sum(game["best"] not in (None, subject) for game in games)
    if not lost:
        return f"{subject} has the least regret everywhere"
    return f"{subject} does not have the least regret in {lost} of {_count(len(games), 'game')}"


def _slow(fit: Mapping[str, Any]) -> bool:
    """Whether the whole band of p is below that of the generic rate, or nothing grows at all."""
    if _kind(fit["verdict"]) in NO_GROWTH:
        return True
    return fit["best"] is not None and fit["p"]["band"] is not None and fit["p"]["band"][1] < GENERIC


def _ends(games: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """The median regrets of a learner at the last rounds, where they are known."""
    ends = [game["learners"][name]["regret"]["median"][-1] for game in games]
    return [end for end in ends if end is not None]


def _card(games: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    fits = [game["learners"][name]["growth"] for game in games]
    kinds = Counter(_kind(fit["verdict"]) for fit in fits)
    return {
        "name": name,
        "least": sum(game["best"] == name for game in games),
        "facts": [
            ["largest median regret", max(_ends(games, name), default=None)],
            ["slower than √T", sum(map(_slow, fits))],
            ["beats the leader", kinds["beats the leader"]],
        ],
    }


def _kind(verdict: str) -> str:
    """A verdict without its numbers."""
    head = verdict.partition(" (")[0].partition(":")[0]
    return "a power of T" if head.startswith("T^") else head


def _panel(game: Mapping[str, Any]) -> dict[str, Any]:
    curves = {
        name: {"t": one["t"], **{level: _rounded(one["regret"][level]) for level in ("low", "median", "high")}}
        for name, one in game["learners"].items()
    }
    return {key: game[key] for key in ("model", "costs", "rounds", "best")} | {
        "seeds": len(game["seeds"]),
        "curves": curves,
    }


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.6g}") for value in values]


def _line(game: Mapping[str, Any], name: str, one: Mapping[str, Any]) -> list[Any]:
    """model, costs, learner, regret at the end, verdict, error of the best curve, and a, b, p as text with bands."""
    fit = one["growth"]
    best = fit["best"]
    error = None if best is None else 100 * fit["error"][best]
    shown = [_with_band(fit.get(parameter)) for parameter in ("a", "b", "p")]
    return [
        game["model"],
        game["costs"],
        game["rounds"],
        name,
        one["regret"]["median"][-1],
        fit["verdict"],
        error,
        *shown,
    ]


def _with_band(parameter: Mapping[str, Any] | None) -> str:
    if parameter is None:
        return "–"
    band = "" if parameter["band"] is None else " [{:.3g}, {:.3g}]".format(*parameter["band"])
    return f"{parameter['value']:.3g}{band}"


def _rival(game: Mapping[str, Any], subject: str) -> list[Any]:
    """model, costs, rounds, the best, its regret, that of the subject, and in how many seeds the subject has less."""
    best = game["best"]
    ends = {name: one["regret"]["median"][-1] for name, one in game["learners"].items()}
    return [
        game["model"],
        game["costs"],
        game["rounds"],
        best,
        None if best is None else ends[best],
        ends[subject],
        None if best in (None, subject) else f"{game['less_than_best'].get(subject, 0)} of {len(game['seeds'])}",
    ]


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
