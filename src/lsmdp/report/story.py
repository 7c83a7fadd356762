"""What the page says: the findings of a run, as one JSON object that the page draws itself from.

Every heading states a finding (words.py), and every number on the page is in this object. What is drawn over the rounds
is the *excess* R'_t = loss - t lambda_{t+1}, over t times the average cost of the leader of that moment: it is known in
every round, and differs from the *regret against the leader* by the comparator term, which is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.game import Run
from lsmdp.learners import CompleteLearner, learner_by_name
from lsmdp.learners.names import titled
from lsmdp.regret.summary import LEADER_GAP
from lsmdp.report import words
from lsmdp.report.certificates import CERTIFY, certificates_part, certified, looked_at
from lsmdp.report.dynamic import attribution, dynamic_part
from lsmdp.report.frames import film_of
from lsmdp.report.maps import place_in_words, the_map
from lsmdp.report.pages.words import counted
from lsmdp.report.pools import pool_parts
from lsmdp.runs import Folder
from lsmdp.runs.folder import damaged
from lsmdp.theory import Certificates
from lsmdp.theory.beyond import sharp_terms
from lsmdp.theory.regrets import excess_bound, printed_bound

_POINTS_OF_A_CURVE = 400  # A curve has about this many points, more than a page has pixels to tell them apart.
# A bound is drawn if it is at most this many times the largest regret, and so can be read off beside it.
_READABLE = 1e4

WatchStage = Callable[[str, int, int], None]  # what is being done, the round, and of how many


def story(folder: Folder, run: Run, watch: WatchStage, which: str = "sample") -> dict[str, Any]:
    """The whole page. ``which``: on which rounds the theory is evaluated."""
    if which not in CERTIFY:
        raise SpecError(f'"{which}" does not say what to certify. Say all, sample or none.')
    summary = folder.summary()
    seen = run.game.seen
    costs = float(seen.lowest.min()), float(seen.highest.max())
    learners = _learners(summary, costs[0])
    best = words.least(learners)[0]["name"]
    rounds = RoundsByLearner(folder, summary)
    count = looked_at(run, which)
    found = certified(
        run,
        count,
        {name: columns["loss"] for name, columns in rounds.by_learner.items()},
        lambda t: watch("certifying", t, count),
    )
    film = film_of(folder, run, lambda t: watch("drawing the map", t, run.rounds))
    told = attribution(folder, run, which, lambda t: watch("comparing with the plan in hindsight", t, run.rounds))
    return {
        "rounds": summary["rounds"],
        "kicker": _kicker(folder, summary),
        "headline": words.headline(learners, summary["rounds"]),
        "lede": words.lede(learners, summary, costs[0]),
        "learners": learners,
        "comparison": _comparison(learners, summary["rounds"]),
        "curves": _curves(rounds, found, summary, best),
        "parts": {"title": words.parts_title(learners), "note": words.parts_note(learners)},
        "pools": pool_parts(summary),
        "dynamic": dynamic_part(summary, learners, told, best, _sampled(run.rounds), partial(place_in_words, run.lmdp)),
        "map": the_map(run, film, best, told),
        "effort": _effort(rounds, summary, costs),
        "certificates": certificates_part(found, run),
        "provenance": _provenance(folder),
    }


class RoundsByLearner:
    """The table of rounds, by learner."""

    def __init__(self, folder: Folder, summary: dict[str, Any]) -> None:
        table = folder.rounds()
        names = np.array(table["learner"].to_pylist())
        columns = ("loss", "average_cost", "gap", "steps", "seconds")
        self.titles = {
            name: words.named(titled(name, bool(one.get("clairvoyant")))) for name, one in summary["learners"].items()
        }
        self.by_learner: dict[str, dict[str, Floats]] = {}
        for name in summary["learners"]:
            mine = names == name
            self.by_learner[name] = {
                column: table[column].to_numpy(zero_copy_only=False).astype(np.float64)[mine] for column in columns
            }
            if (count := np.count_nonzero(mine)) != summary["rounds"]:
                raise damaged(folder.path, f"{count:,} of {summary['rounds']:,} rounds of {name} are written down")

    def leaders(self, summary: dict[str, Any], found: Certificates | None) -> Floats | None:
        """lambda_{t+1} for t = 1, ..., T, where somebody knows it."""
        if found is not None and summary["rounds"] == found.game.T:
            return np.asarray(found.game.leader.average_cost[1:] * found.game.temperature)
        leader = next((name for name in self.by_learner if _follows_the_leader(name)), None)
        if leader is None:
            return None
        known = self.by_learner[leader]["average_cost"]
        return np.append(known[1:], summary["average_cost_of_leader"])


def _follows_the_leader(name: str) -> bool:
    return CompleteLearner.of(learner_by_name(name)).follows_the_leader


def _learners(summary: dict[str, Any], floor: float) -> list[dict[str, Any]]:
    """What the table shows; each regret is named with its comparator, and is 0 where it is nothing."""
    T, rows = summary["rounds"], []
    for name, one in summary["learners"].items():
        loss, sees = one["loss"], bool(one.get("clairvoyant"))
        against = {key: words.regret_or_zero(value, T, loss) for key, value in one["regret"].items()}
        idealised = words.regret_or_zero(one["idealised_regret"], T, loss)
        facts = [
            ("state cost", one["state_cost"]),
            ("control cost", words.control_cost_or_zero(one["control_cost"], loss)),
            ("regret against the leader", against["leader"]),
            ("excess over T·λ, as drawn", words.regret_or_zero(loss - T * summary["average_cost_of_leader"], T, loss)),
            ("idealised regret, over T·λ", idealised),
        ]
        if against.get("dynamic") is not None:
            facts.append(("dynamic regret", against["dynamic"]))
        low, high = against["best_stationary_low"], against["best_stationary_high"]
        if low is not None:
            facts += [("regret against the best policy, at least", low), ("the same, at most", high)]
        bound = one["regret_at_most_by_mixing_sum"].get("10")
        if bound is not None and words.says_something(bound, loss, T, floor):
            facts.append(("regret against mixing sum 10, at most", words.regret_or_zero(bound, T, loss)))
        rows.append(
            {
                "name": name,
                "title": words.named(titled(name, sees)),
                "clairvoyant": sees,
                "loss": loss,
                "state_cost": one["state_cost"],
                "control_cost": words.control_cost_or_zero(one["control_cost"], loss),
                "idealised": idealised,
                "transient": words.regret_or_zero(one["transient"], T, loss),
                "comparator": words.regret_or_zero(one["comparator"], T, loss),
                "regret": against["leader"],
                "dynamic": against.get("dynamic"),
                "facts": facts,
            }
        )
    return [row | {"badge": words.badge(row, rows)} for row in rows]


def _comparison(learners: list[dict[str, Any]], rounds: int) -> list[dict[str, Any]]:
    """The learners side by side: a column for each figure, with the same decimals in all its lines."""
    names = list(dict.fromkeys(name for one in learners for name, _ in one["facts"]))
    columns = {"loss": [one["loss"] for one in learners], "a round": [one["loss"] / rounds for one in learners]}
    columns |= {name: [dict(one["facts"]).get(name) for one in learners] for name in names}
    return [{"name": name, "values": values, "decimals": words.decimals(values)} for name, values in columns.items()]


def _kicker(folder: Folder, summary: dict[str, Any]) -> str:
    spec = folder.spec()
    states, rounds = counted(summary["states"], "state"), counted(summary["rounds"], "round")
    return f"{_short(spec.kernel)} against {_short(spec.costs)} · {states} · {rounds}"


def _short(source: str) -> str:
    """A name, or that of a file without its folders."""
    return source.rsplit("/", 1)[-1]


def _curves(rounds: RoundsByLearner, found: Certificates | None, summary: dict[str, Any], best: str) -> dict[str, Any]:
    T, average = summary["rounds"], rounds.leaders(summary, found)
    t = np.arange(1, T + 1)
    keep = _sampled(T)
    curves, slopes = [], {}
    for name, columns in rounds.by_learner.items():
        title = rounds.titles[name]
        if average is not None:
            loss = np.cumsum(columns["loss"])
            excess = _settled(loss - t * average, t, loss)
            curves.append({"name": name, "title": title, "t": t[keep].tolist(), "regret": _plain(excess[keep])})
            slopes[title] = _slope(t, excess)
        else:
            along = summary["learners"][name]["regret_against_leader_along"]
            at, loss, regret = np.array(along, dtype=np.float64).reshape(-1, 3).T
            known = _plain(_settled(regret, at, loss))
            curves.append({"name": name, "title": title, "t": at.astype(int).tolist(), "regret": known})
    largest = max((abs(r) for one in curves for r in one["regret"] if r is not None), default=1.0)
    bounds = _bounds(found, t[keep], largest)
    what, over = ("excess", "over t·λ") if average is not None else ("regret", "against the leader")
    return {
        "title": words.growth_title(curves, T, what, over, best),
        "finding": words.growth_finding(slopes),
        "what": f"{what} {over}",
        "note": words.curve_note(average is not None, found, bounds),
        "learners": curves,
        "bounds": bounds,
    }


def _bounds(found: Certificates | None, t: Any, largest: float) -> list[dict[str, Any]]:
    """The bounds as curves, where they are finite and not beyond any paper; none of rounds nobody looked at."""
    if found is None or t[-1] > found.game.T:
        return []
    game = found.game
    own = np.sum(list(sharp_terms(game, game.ftl).values()), axis=0)[t - 1] * game.temperature
    ways = {
        "bound from the run itself (ftl)": own,
        "corrected bound (ftl)": np.array([excess_bound(game.constants, 1.0 + math.log(s)) for s in t])
        * game.temperature,
        "bound as printed": np.array([printed_bound(game.constants, 1.0 + math.log(s)) for s in t]) * game.temperature,
    }
    return [
        {"name": name, "t": t.tolist(), "values": _plain(values)}
        for name, values in ways.items()
        if np.isfinite(values).all() and values[-1] <= _READABLE * max(largest, 1e-9)
    ]


def _slope(t: Any, regret: Floats) -> float | None:
    """Of log R against log t, by least squares on rounds spread evenly in log t."""
    at = np.unique(np.geomspace(max(2.0, 0.1 * t[-1]), t[-1], 60).astype(np.int64)) - 1
    if at.size < 5 or (regret[at] <= 0.0).any():
        return None
    return float(np.polyfit(np.log(t[at]), np.log(regret[at]), 1)[0])


def _effort(rounds: RoundsByLearner, summary: dict[str, Any], costs: tuple[float, float]) -> dict[str, Any]:
    T = summary["rounds"]
    edges = np.unique(np.geomspace(1.0, T + 1.0, 60).astype(np.int64))
    learners = []
    for name, columns in rounds.by_learner.items():
        parts = [slice(a - 1, b - 1) for a, b in pairwise(edges)]
        middles = [float((a + b - 1) / 2) for a, b in pairwise(edges)]
        medians = {key: [_median(columns[key][part]) for part in parts] for key in ("gap", "steps", "seconds")}
        learners.append({"name": name, "title": rounds.titles[name], "t": middles, **medians})
    gaps = {rounds.titles[name]: columns["gap"] for name, columns in rounds.by_learner.items()}
    return {
        "title": words.effort_title(gaps, costs, _pace(rounds)),
        "finding": words.effort_finding(gaps, costs),
        "learners": learners,
    }


def _pace(rounds: RoundsByLearner) -> str:
    """How fast the slowest plays; a median, since the first rounds may have waited for a compiler."""
    taken = {rounds.titles[name]: columns["seconds"] for name, columns in rounds.by_learner.items()}
    typical = {name: float(np.median(seconds)) for name, seconds in taken.items()}
    name, seconds = max(typical.items(), key=lambda item: item[1])
    who = f"the slowest, {name}," if len(typical) > 1 else name
    return f"{who} takes {seconds * 1e3:.3g} ms a round" if seconds < 1.0 else f"{who} takes {seconds:.3g} s a round"


def _median(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None


def _provenance(folder: Folder) -> list[list[str]]:
    spec, made_from = folder.spec(), folder.manifest()
    rows = [["command", spec.command(folder.path).removesuffix(" --resume")]]
    rows += [[f"sha256 of the {what}", str(made_from[what])] for what in ("kernel", "costs")]
    rows += [[name, str(version)] for name, version in made_from["versions"].items()]
    return [*rows, ["spec.toml", spec.to_toml().strip()]]


def _sampled(T: int) -> Any:
    """About _POINTS_OF_A_CURVE rounds, half of them spread evenly and half like powers, as indices."""
    even, powers = np.linspace(1, T, _POINTS_OF_A_CURVE), np.geomspace(1, T, _POINTS_OF_A_CURVE)
    return np.unique(np.concatenate([even, powers]).round().astype(np.int64)) - 1


def _settled(regret: Floats, t: Any, loss: Floats) -> Floats:
    """A regret over the rounds, 0 where it is nothing."""
    return np.where(np.abs(regret) <= LEADER_GAP * np.maximum(t, np.abs(loss)), 0.0, regret)


def _plain(values: Floats) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
