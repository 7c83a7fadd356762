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

from lsmdp.learners.names import titled
from lsmdp.regret.summary import LEADER_GAP
from lsmdp.report.pages import assemble
from lsmdp.report.pages.words import (
    counted,
    figure,
    listed,
    yardsticks,
)
from lsmdp.sweeps.growth import POWER_OF_ANY_ADVERSARY, TOO_FEW_ROUNDS

_NO_GROWTH = {"bounded", "beats the leader", "no growth"}  # Verdicts of these kinds say that regret does not grow.


def page(summary: Mapping[str, Any]) -> str:
    """The page as text."""
    return assemble("lsmdp.sweeps", story(summary))


def story(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says: every number and every sentence on it."""
    games: list[dict[str, Any]] = summary["games"]
    learners = list(games[0]["learners"])
    sees = {name: bool(one.get("clairvoyant")) for name, one in games[0]["learners"].items()}
    clairvoyant = [name for name in learners if sees[name]]
    contest = [name for name in learners if not sees[name]] or learners
    subject = min(contest, key=lambda name: most_above_best(games, name))
    low, high = summary["levels"]["low"], summary["levels"]["high"]
    return {
        "kicker": kicker(summary),
        "headline": headline(games, subject),
        "lede": " ".join(filter(None, [lede(games, subject), never_far_off(games, contest), yardsticks(clairvoyant)])),
        "learners": learners,
        "titles": {name: titled(name, one) for name, one in sees.items()},
        "cards": [_card(games, name, ranked=len(contest) > 1 and name in contest) for name in learners],
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
        "failed": {
            "title": f"{counted(len(summary['failed']), 'run')} could not be played",
            "rows": list(summary["failed"]),
        },
        "provenance": [[name, version] for name, version in summary["versions"].items()]
        + [["sweep", json.dumps(summary["sweep"], ensure_ascii=False)]],
    }


def most_above_best(games: Sequence[Mapping[str, Any]], name: str) -> float:
    """How much more a learner paid than the best of the same run, at most, in all runs."""
    return max(float(game["learners"][name]["above_best"]["most"]) for game in games)


def kicker(summary: Mapping[str, Any]) -> str:
    """What the page is about, in one line."""
    games = summary["games"]
    counts = [len({game[what] for game in games}) for what in ("model", "costs")]
    seeds, rounds = max(len(game["seeds"]) for game in games), max(game["rounds"] for game in games)
    return (
        f"lsmdp sweep · {counted(counts[0], 'model')} · {counted(counts[1], 'cost family', 'cost families')} · "
        f"{counted(seeds, 'seed')} · up to {counted(rounds, 'round')} · {counted(summary['runs'], 'run')}"
    )


def headline(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """In how many games the regret of the subject is seen to grow slower than the generic rate."""
    fits = [game["learners"][subject]["growth"] for game in games]
    told = [fit for fit in fits if fit["verdict"] != TOO_FEW_ROUNDS]
    if not told:
        return f"Too few rounds to tell how the regret of {subject} grows"
    slow = f"The regret of {subject} grows slower than √T in {sum(map(_slow, told))}"
    if len(told) < len(fits):
        return (
            f"{slow} of the {counted(len(told), 'game')} that {'is' if len(told) == 1 else 'are'} long enough to tell"
        )
    return f"{slow} of {counted(len(fits), 'game')}"


def never_far_off(games: Sequence[Mapping[str, Any]], contest: Sequence[str]) -> str:
    """How far each learner is from the best at worst: the one whom the page is about first."""
    if len(contest) == 1:
        return ""
    (subject, most), *others = sorted(((one, most_above_best(games, one)) for one in contest), key=lambda pair: pair[1])
    rest = ", ".join(f"{name} {_short(above)}" for name, above in others)
    return f"In no run does {subject} pay more than {_short(most)} above the best of that run; the others: {rest}."


def lede(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """Who has the least regret, and how often."""
    known = [least for game in games if (least := _least(game))]
    if not known:
        return "No regret against the leader was computed."
    about = "Regret is against the leader: the best policy for the mean cost."
    if _alone(games):
        return f"{subject} plays alone: there is nobody to compare its regret with. {about}"
    wins, shared = Counter(name for least in known for name in least), sum(len(least) > 1 for least in known)
    ranked = ", ".join(f"{name} in {count}" for name, count in wins.most_common() if name != subject)
    others = f"; {ranked}" if ranked else ""
    ties = f" In {shared} of them several have the same." if shared else ""
    return (
        f"{subject} has the least median regret at the last round in {wins[subject]} of "
        f"{counted(len(known), 'game')}{others}.{ties} {about}"
    )


def _least(game: Mapping[str, Any]) -> list[str]:
    """Who has the least median regret at the last round: one, several, or nobody of whom it is known."""
    return list(game.get("tied") or ([game["best"]] if game["best"] is not None else []))


def _alone(games: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is only one who could have the least regret."""
    blind = [name for name, one in games[0]["learners"].items() if not one.get("clairvoyant")]
    return len(blind or games[0]["learners"]) == 1


def panels_title(games: Sequence[Mapping[str, Any]], learners: Sequence[str]) -> str:
    """The largest median regret of each learner, least first."""
    most = {name: max(_ends(games, name), default=None) for name in learners}
    known = sorted((value, name) for name, value in most.items() if value is not None)
    if not known:
        return "No regret against the leader is known"
    return "Largest median regret in any game: " + ", ".join(
        f"{titled(name, bool(games[0]['learners'][name].get('clairvoyant')))} {_short(value)}" for value, name in known
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else figure(value, 3)


def growth_title(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """How often the growth of the subject is which."""
    counts = Counter(_kind(game["learners"][subject]["growth"]["verdict"]) for game in games)
    kinds = ", ".join(f"{kind} in {count}" for kind, count in counts.most_common())
    return f"The regret of {subject}: {kinds} of {counted(len(games), 'game')}"


def best_title(games: Sequence[Mapping[str, Any]], subject: str) -> str:
    """Where the subject loses."""
    known = [least for game in games if (least := _least(game))]
    if not known:
        return "Nobody's regret against the leader is known"
    if _alone(games):
        return f"{subject} plays alone"
    lost = sum(subject not in least for least in known)
    if lost:
        return f"{subject} does not have the least regret in {lost} of {counted(len(games), 'game')}"
    shared = sum(len(least) > 1 for least in known)
    ties = f", with others in {shared} of {counted(len(games), 'game')}" if shared else ""
    return f"{subject} has the least regret in every game{ties}"


def _slow(fit: Mapping[str, Any]) -> bool:
    """Whether the whole band of p is below that of the generic rate, or nothing grows at all."""
    if _kind(fit["verdict"]) in _NO_GROWTH:
        return True
    return fit["best"] is not None and fit["p"]["band"] is not None and fit["p"]["band"][1] < POWER_OF_ANY_ADVERSARY


def _ends(games: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """The median regrets of a learner at the last rounds, where they are known."""
    ends = [_end(game, name) for game in games]
    return [end for end in ends if end is not None]


def _end(game: Mapping[str, Any], name: str) -> float | None:
    """The median regret at the last round; 0 where it is nothing within the certificates of the leaders."""
    end: float | None = game["learners"][name]["regret"]["median"][-1]
    return 0.0 if end is not None and abs(end) <= LEADER_GAP * game["rounds"] else end


def _card(games: Sequence[Mapping[str, Any]], name: str, *, ranked: bool) -> dict[str, Any]:
    fits = [game["learners"][name]["growth"] for game in games]
    kinds = Counter(_kind(fit["verdict"]) for fit in fits)
    told = any(fit["verdict"] != TOO_FEW_ROUNDS for fit in fits)
    return {
        "name": name,
        "least": sum(name in _least(game) for game in games) if ranked else None,
        "facts": [
            ["most above the best of a run", most_above_best(games, name)],
            ["largest median regret", max(_ends(games, name), default=None)],
            ["slower than √T", sum(map(_slow, fits)) if told else None],
            ["beats the leader", kinds["beats the leader"] if told else None],
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
    least = _least(game)
    return {key: game[key] for key in ("model", "costs")} | {
        "rounds": game["rounds"],
        "about": f"{counted(game['rounds'], 'round')}, {counted(len(game['seeds']), 'seed')}"
        + ("" if _alone([game]) else f"; least: {listed(least) if least else 'not known'}"),
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
        titled(name, bool(one.get("clairvoyant"))),
        _end(game, name),
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
    best, least = game["best"], _least(game)
    behind = best is not None and subject not in least
    return [
        game["model"],
        game["costs"],
        game["rounds"],
        listed(least) if least else None,
        None if best is None else _end(game, best),
        _end(game, subject),
        f"{game['less_than_best'].get(subject, 0)} of {len(game['seeds'])}" if behind else None,
    ]
