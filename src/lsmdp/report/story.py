"""What the page says: the findings of a run, as one JSON object that the page draws itself from.

Every heading states a finding, and every number on the page is in this object. The regret over the rounds is
R'_t = loss - t lambda_{t+1}, against t times the average cost of the leader of that moment: it is known in every round,
and differs from the regret against the leader by the comparator term, which is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.game import Run
from lsmdp.model import LMDP
from lsmdp.report.frames import Film
from lsmdp.runs import Folder
from lsmdp.terminal import palette
from lsmdp.theory import Certificate, Certificates, certify
from lsmdp.theory.beyond import sharp_terms
from lsmdp.theory.regrets import excess_bound, printed_bound

POINTS = 400  # of a curve
CERTIFIED = 6e6  # rounds times states up to which the run is certified for the page
READABLE = 1e4  # a bound is drawn if it is at most this many times the largest regret

Watch = Callable[[str, int, int], None]  # what is being done, the round, and of how many


def story(folder: Folder, run: Run, watch: Watch) -> dict[str, Any]:
    """The whole page."""
    summary = folder.summary()
    learners = _learners(summary)
    film = Film(run)
    found = _certified(run, film, lambda t: watch("certifying", t, run.rounds))
    if film.shots == [] and film.places is not None:
        film.shoot(lambda t: watch("drawing the map", t, run.rounds))
    rounds = Rounds(folder, summary)
    return {
        "rounds": summary["rounds"],
        "kicker": _kicker(folder, summary),
        "headline": _headline(learners, summary),
        "lede": lede(learners, summary),
        "learners": learners,
        "curves": _curves(rounds, found, summary),
        "parts": {"title": _parts_title(learners)},
        "map": _map(run, film),
        "effort": _effort(rounds, summary),
        "certificates": _certificates(found),
        "provenance": _provenance(folder),
    }


class Rounds:
    """The table of rounds, by learner."""

    def __init__(self, folder: Folder, summary: dict[str, Any]) -> None:
        table = folder.rounds()
        names = np.array(table["learner"].to_pylist())
        columns = ("loss", "average_cost", "gap", "steps", "seconds")
        self.by_learner: dict[str, dict[str, Floats]] = {}
        for name in summary["learners"]:
            mine = names == name
            self.by_learner[name] = {
                column: table[column].to_numpy(zero_copy_only=False).astype(np.float64)[mine] for column in columns
            }

    def leaders(self, summary: dict[str, Any], found: Certificates | None) -> Floats | None:
        """lambda_{t+1} for t = 1, ..., T, where somebody knows it."""
        if found is not None:
            return np.asarray(found.game.leader.average_cost[1:] * found.game.temperature)
        if "ftl" not in self.by_learner:
            return None
        known = self.by_learner["ftl"]["average_cost"]
        return np.append(known[1:], summary["average_cost_of_leader"])


def _learners(summary: dict[str, Any]) -> list[dict[str, Any]]:
    least = min(one["loss"] for one in summary["learners"].values())
    rows = []
    for name, one in summary["learners"].items():
        facts = [
            ("state cost", one["state_cost"]),
            ("control cost", one["control_cost"]),
            ("regret against the leader", one["regret"]["leader"]),
            ("idealised regret", one["idealised_regret"]),
        ]
        low, high = one["regret"]["best_stationary_low"], one["regret"]["best_stationary_high"]
        if low is not None:
            facts += [("against the best policy, at least", low), ("against the best policy, at most", high)]
        facts += [
            (f"against mixing sum {m}, at most", b) for m, b in one["regret_at_most_by_mixing_sum"].items() if m == "10"
        ]
        rows.append(
            {
                "name": name,
                "loss": one["loss"],
                "state_cost": one["state_cost"],
                "control_cost": one["control_cost"],
                "idealised": one["idealised_regret"],
                "transient": one["transient"],
                "comparator": one["comparator"],
                "regret": one["regret"]["leader"],
                "best": one["loss"] == least,
                "facts": facts,
            }
        )
    return rows


def _kicker(folder: Folder, summary: dict[str, Any]) -> str:
    spec = folder.spec()
    return f"{spec.kernel} against {spec.costs} · {summary['states']:,} states · {_rounds(summary['rounds'])}"


def _headline(learners: list[dict[str, Any]], summary: dict[str, Any]) -> str:
    order = sorted(learners, key=lambda one: float(one["loss"]))
    best = order[0]
    if len(order) == 1:
        return f"{best['name']} paid {best['loss']:,.4g} in {_rounds(summary['rounds'])}"
    share = (order[1]["loss"] - best["loss"]) / abs(order[1]["loss"]) if order[1]["loss"] else 0.0
    return f"{best['name']} paid the least: {best['loss']:,.5g}, {share:.2%} below {order[1]['name']}"


def lede(learners: list[dict[str, Any]], summary: dict[str, Any]) -> str:
    """What it means, and what is guaranteed."""
    best = min(learners, key=lambda one: float(one["loss"]))
    T, said = summary["rounds"], list[str]()
    if best["regret"] is not None:
        side = "more" if best["regret"] >= 0.0 else "less"
        said.append(
            f"That is {abs(best['regret']):,.4g} {side} than the one policy that is best for the mean of all costs, "
            f"which nobody knew in advance ({abs(best['regret']) / T:.2g} a round)."
        )
    bounds = summary["learners"][best["name"]]["regret_at_most_by_mixing_sum"]
    telling = {m: bound for m, bound in bounds.items() if bound < best["loss"]}  # no policy pays less than nothing
    if telling:
        m, bound = list(telling.items())[-1]
        said.append(
            f"What is guaranteed: no stationary policy with mixing sum at most {m} (so many rounds, in all, its law is "
            f"away from equilibrium) would have paid more than {max(bound, 0.0):,.4g} less."
        )
    else:
        low, _ = summary["average_cost_bounds"]
        said.append(
            f"What is guaranteed: against the mean of these costs no policy pays less than {low:.4g} a round in the "
            "long run."
        )
    return " ".join(said + list(summary.get("notes", ())))


def _curves(rounds: Rounds, found: Certificates | None, summary: dict[str, Any]) -> dict[str, Any]:
    T, average = summary["rounds"], rounds.leaders(summary, found)
    t = np.arange(1, T + 1)
    keep = _sampled(T)
    curves, slopes = [], {}
    for name, columns in rounds.by_learner.items():
        if average is not None:
            regret = np.cumsum(columns["loss"]) - t * average
            curves.append({"name": name, "t": t[keep].tolist(), "regret": _plain(regret[keep])})
            slopes[name] = _slope(t, regret)
        else:
            along = summary["learners"][name]["regret_against_leader_along"]
            curves.append({"name": name, "t": [mark[0] for mark in along], "regret": [mark[2] for mark in along]})
    largest = max((abs(r) for one in curves for r in one["regret"] if r is not None), default=1.0)
    bounds = _bounds(found, t[keep], largest)
    return {
        "title": _growth_title(curves, T),
        "finding": _growth_finding(slopes),
        "what": "loss − t·λ" if average is not None else "regret against the leader",
        "note": _curve_note(average is not None, found, bounds),
        "learners": curves,
        "bounds": bounds,
    }


def _bounds(found: Certificates | None, t: Any, largest: float) -> list[dict[str, Any]]:
    """The bounds as curves, where they are finite and not beyond any paper."""
    if found is None:
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
        if np.isfinite(values).all() and values[-1] <= READABLE * max(largest, 1e-9)
    ]


def _growth_title(curves: list[dict[str, Any]], T: int) -> str:
    one = next((one for one in curves if one["name"] == "ftl"), curves[0])
    known = [(s, r) for s, r in zip(one["t"], one["regret"], strict=True) if r is not None and s > 1]
    if len(known) < 4:
        return "Regret over the rounds"
    ratio = {s: r / math.log(s) for s, r in known}
    end = ratio[known[-1][0]]
    half = ratio[min(ratio, key=lambda s: abs(s - known[-1][0] / 2))]
    if end <= 0.0:
        return f"{one['name']} is ahead of the best policy for the mean of all costs after {_rounds(T)}"
    word = "has grown no faster than log T" if end <= 1.05 * abs(half) else "still grows faster than log T"
    return f"The regret of {one['name']} {word} in {_rounds(T)}: R_T / log T is {end:.3g} at the end"


def _growth_finding(slopes: dict[str, float | None]) -> str:
    said = [f"{name} {slope:.2f}" for name, slope in slopes.items() if slope is not None]
    return (
        f"Slopes on log–log axes over the last nine tenths: {', '.join(said)}; 1 is linear, 0 is bounded."
        if said
        else ""
    )


def _curve_note(every_round: bool, found: Certificates | None, bounds: list[dict[str, Any]]) -> str:
    said = (
        "Regret here is the loss minus t times the average cost of the best policy for the mean of the first t costs. "
    )
    if not every_round:
        said = "Regret against the leader of the first t rounds, at some rounds. "
    if found is not None and len(bounds) < 3:
        L = found.game.constants.L
        said += (
            f"Bounds with worst-case constants are left out where they are infinite or far off (L is at most {L:.3g}). "
        )
    return said + "Hover for exact values."


def _slope(t: Any, regret: Floats) -> float | None:
    """Of log R against log t, by least squares on rounds spread evenly in log t."""
    at = np.unique(np.geomspace(max(2.0, 0.1 * t[-1]), t[-1], 60).astype(np.int64)) - 1
    if at.size < 5 or (regret[at] <= 0.0).any():
        return None
    return float(np.polyfit(np.log(t[at]), np.log(regret[at]), 1)[0])


def _parts_title(learners: list[dict[str, Any]]) -> str:
    best = min(learners, key=lambda one: float(one["loss"]))
    share = best["control_cost"] / best["loss"] if best["loss"] else 0.0
    return f"{best['name']} spends {share:.0%} of its loss on steering"


def _map(run: Run, film: Film) -> dict[str, Any]:
    lmdp, places, names = run.lmdp, film.places, film.names
    if places is None:
        return _table_of_states(run, names)
    grid = lmdp.grid_shape is not None
    unit = 1.0 if grid else max(float(np.ptp(places, axis=0).max()), 1e-9) / 60.0
    busiest = _busiest(run, names)
    return {
        "kind": "grid" if grid else "graph",
        "title": f"Watch {names[0]}: where it goes, round by round",
        "finding": busiest,
        "note": "Arrows are the mean step of the policy. Colours run from the least to the largest value of the round "
        "shown; where it is, on a scale of square roots."
        + ("" if lmdp.positions is not None else " Places are computed from the moves; they are no map."),
        "x": [round(float(x), 4) for x in places[:, 1]],
        "y": [round(float(y), 4) for y in places[:, 0]],
        "unit": unit,
        "radius": float(np.clip(18.0 / math.sqrt(lmdp.n), 0.18, 1.2)),
        "edges": [] if grid else _edges(lmdp.P),
        "ramp": [f"rgb({r},{g},{b})" for r, g, b in palette()[::4]],
        "frames": film.shots,
    }


def _busiest(run: Run, names: list[str]) -> str:
    """Where each learner ends up most likely to be."""
    said = []
    for seat in run.table.seats:
        if seat.learner.name in names:
            x = int(seat.law.argmax())
            said.append(f"{seat.learner.name} at {_place(run.lmdp, x)} ({seat.law[x]:.1%})")
    return f"The likeliest place after the last round: {', '.join(said)}."


def _place(lmdp: LMDP, x: int) -> str:
    if lmdp.grid_shape is None or lmdp.labels is not None:
        return lmdp.name_of(x)
    row, column = (int(part) for part in lmdp.positions[x])
    return f"row {row}, column {column}"


def _edges(P: Any) -> list[int]:
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    once = rows < P.indices
    return np.stack([rows[once], P.indices[once]], axis=1).ravel().tolist()


def _table_of_states(run: Run, names: list[str]) -> dict[str, Any]:
    lmdp = run.lmdp
    laws = {seat.learner.name: seat.law for seat in run.table.seats}
    shown = np.unique(np.concatenate([np.argsort(-laws[name])[:150] for name in names]))
    mean = run.table.seen.mean
    columns = [
        {"name": "state"},
        {"name": "mean cost", "number": True},
        *({"name": f"chance, {name}", "number": True} for name in names),
    ]
    rows = [[lmdp.name_of(int(x)), float(mean[x]), *(float(laws[name][x]) for name in names)] for x in shown]
    return {
        "kind": "table",
        "title": "Where the learners are after the last round",
        "finding": f"The model has {lmdp.n:,} states and no coordinates: here are the likeliest {len(rows)}. "
        "Click a heading to sort.",
        "note": "",
        "columns": columns,
        "rows": rows,
    }


def _effort(rounds: Rounds, summary: dict[str, Any]) -> dict[str, Any]:
    T = summary["rounds"]
    edges = np.unique(np.geomspace(1.0, T + 1.0, 60).astype(np.int64))
    learners = []
    for name, columns in rounds.by_learner.items():
        parts = [slice(a - 1, b - 1) for a, b in pairwise(edges)]
        middles = [float((a + b - 1) / 2) for a, b in pairwise(edges)]
        medians = {key: [_median(columns[key][part]) for part in parts] for key in ("gap", "steps", "seconds")}
        learners.append({"name": name, "t": middles, **medians})
    return {"title": f"{_proved(rounds)}; {_pace(rounds)}", "learners": learners}


def _proved(rounds: Rounds) -> str:
    """Which learners gave a certificate in every round."""
    proved = [name for name, columns in rounds.by_learner.items() if np.isfinite(columns["gap"]).all()]
    if len(proved) == len(rounds.by_learner):
        return "Every round is certified"
    return f"Every round of {', '.join(proved)} is certified" if proved else "No learner here claims a certificate"


def _pace(rounds: Rounds) -> str:
    """How fast the slowest plays; a median, since the first rounds may have waited for a compiler."""
    typical = {name: float(np.median(columns["seconds"])) for name, columns in rounds.by_learner.items()}
    name, seconds = max(typical.items(), key=lambda item: item[1])
    who = f"the slowest, {name}," if len(typical) > 1 else name
    return f"{who} takes {seconds * 1e3:.3g} ms a round" if seconds < 1.0 else f"{who} takes {seconds:.3g} s a round"


def _rounds(T: int) -> str:
    return f"{T:,} round" + "s" * (T != 1)


def _median(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None


def _certified(run: Run, film: Film, watch: Callable[[int], None]) -> Certificates | None:
    if run.rounds * run.lmdp.n > CERTIFIED or not getattr(run.costs, "replayable", True):
        return None
    return certify(run, search=False, watch=watch, look=film.look, at=film.rounds)


def _certificates(found: Certificates | None) -> dict[str, Any]:
    if found is None:
        return {
            "title": "The theory was not evaluated on this run",
            "finding": "The run is too large for it to be quick, or its costs cannot be read again.",
            "note": "lsmdp certify DIR evaluates every statement of the paper on a run of any size.",
            "rows": [],
        }
    warning = "" if found.holds else "A corrected statement FAILS: "
    return {
        "title": f"{warning}{found.headline}",
        "finding": "Each line is a statement of the paper, or one that it does not have, with both sides as numbers "
        f"for this run; {found.refuted} fail as the paper prints them. A statement says nothing here if its right side "
        "exceeds what is true anyway.",
        "note": "Statements about learners name them in the second column; the others are about follow the leader with "
        "exact leaders.",
        "rows": [_line(found, one) for one in found.certificates],
    }


def _line(found: Certificates, certificate: Certificate) -> list[Any]:
    one, sign = certificate.to_dict(), "=" if certificate.kind == "identity" else "≤"
    verdict = found.verdict(certificate)
    if verdict == "FAILS" and not certificate.failed:
        verdict = "does not hold" if certificate.reading != "printed" else "fails as printed"
    return [one["label"], one["about"] or one["reading"], one["left"], sign, one["right"], verdict, one["where"]]


def _provenance(folder: Folder) -> list[list[str]]:
    spec, made_from = folder.spec(), folder.manifest()
    rows = [["command", spec.command(folder.path).removesuffix(" --resume")]]
    rows += [[f"sha256 of the {what}", str(made_from[what])] for what in ("kernel", "costs")]
    rows += [[name, str(version)] for name, version in made_from["versions"].items()]
    return [*rows, ["spec.toml", spec.to_toml().strip()]]


def _sampled(T: int) -> Any:
    """About POINTS rounds, half of them spread evenly and half like powers, as indices."""
    even, powers = np.linspace(1, T, POINTS), np.geomspace(1, T, POINTS)
    return np.unique(np.concatenate([even, powers]).round().astype(np.int64)) - 1


def _plain(values: Floats) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
