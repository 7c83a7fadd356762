"""Traffic: nudge vehicles around congestion that nobody knows in advance.

Two files: a weighted adjacency matrix of detectors, and their speeds, a row for every few minutes. A state is a
detector, P the adjacency with its rows divided by their sums, and the cost of a detector in a round is its congestion,

    c_t(x) = 1 - speed_t(x) / fastest.

In plain words, KL(Q || P) is how much turning shares change. A number for it that needs no logarithm is the share of
vehicles that go elsewhere than they would have gone, the total variation between Q(.|x) and P(.|x):

    nudged(x) = sum_y max(Q(y|x) - P(y|x), 0).

The price of nudges is the temperature tau: cost + tau KL. At a low one they are cheap.

In the model vehicles drive for ever, and nudges add up. To see what is left of that, let a vehicle stop with chance
e = 1/k after each move (k moves on average) and a new one begin where vehicles are by themselves, at the law rho of P.
Steered by Q in between, vehicles then have the law p = e rho + (1 - e) p Q.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import lsmdp
from cases import page
from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.game import Round
from lsmdp.learners import learner_by_name
from lsmdp.report.layout import layout

TEMPERATURES = (3.0, 1.0, 0.3, 0.1, 0.03)
TRIPS = (6, 12, 24)  # moves
WIDEST = 4.0  # factors of 2 that the colours of the network tell apart
LEARNERS = ("ftl", "track", "phased", "discounted", "window", "passive")


def nudged(policy: lsmdp.Policy) -> Floats:
    """The share of vehicles at each detector that are sent elsewhere."""
    change = policy.matrix() - policy.lmdp.P
    return np.asarray(np.abs(change).sum(axis=1)) / 2.0


def strongest(policy: lsmdp.Policy, names: Sequence[str]) -> dict[str, Any]:
    """The turn whose share of all moves in the network changes most."""
    lmdp, mu = policy.lmdp, policy.stationary()
    P, Q = lmdp.P, policy.matrix()
    x = np.repeat(np.arange(lmdp.n), np.diff(P.indptr))
    e = int(np.argmax(mu[x] * np.abs(Q.data - P.data)))
    return {
        "from": names[x[e]],
        "to": names[P.indices[e]],
        "before": float(P.data[e]),
        "after": float(Q.data[e]),
    }


def detectors(speeds: Path, lmdp: lsmdp.LMDP) -> list[str]:
    """The names of the states, from the head of the table of speeds."""
    with speeds.open(encoding="utf-8", newline="") as lines:
        head = next(csv.reader(lines))
    kept = range(lmdp.n) if lmdp.origin is None else lmdp.origin.tolist()
    return [head[column].strip() for column in kept]


def on_trips(policy: lsmdp.Policy, moves: int) -> Floats:
    """The law of vehicles that begin as by themselves and are steered for some moves on average."""
    rho = lsmdp.Policy(policy.lmdp, np.zeros(policy.lmdp.n)).stationary()
    stop = 1.0 / moves
    return np.asarray(np.linalg.solve(np.eye(policy.lmdp.n) - (1.0 - stop) * policy.matrix().toarray().T, stop * rho))


def study(
    adjacency: Path, speeds: Path, *, fastest: float, minutes: float, rounds: int | None, bracket: bool
) -> tuple[page.Record, dict[str, Any]]:
    """All numbers of the page, and what its figure shows."""
    lmdp = lsmdp.read_model(str(adjacency), normalise=True, largest_class=True)
    costs = lsmdp.read_costs(str(speeds), lmdp, scale=(fastest, 0.0), rounds=rounds)
    table = np.array(list(islice(costs, rounds)))
    still = lsmdp.Policy(lmdp, np.zeros(lmdp.n))
    rows: list[list[Round]] = []

    def watch(row: list[Round]) -> None:
        rows.append(row)
        if len(rows) % 500 == 0:
            page.say(f"round {len(rows):,}")

    players = [learner_by_name(name) for name in LEARNERS]
    run = lsmdp.play(lmdp, players, costs, start=still.stationary(), watch=watch)
    page.say("regret")
    regret = run.regret(bracket=bracket)
    c_bar = table.mean(axis=0)
    offers = []
    for tau in TEMPERATURES:
        leader = lsmdp.solve(replace(lmdp, temperature=tau), c_bar).policy
        mu, share = leader.stationary(), nudged(leader)
        offers.append(
            {
                "tau": tau,
                "speed": fastest * (1.0 - float(mu @ c_bar)),
                "kl": float(mu @ leader.kl()),
                "nudged": float(mu @ share),
                "largest": float(share.max()),
                "trips": [fastest * (1.0 - float(on_trips(leader, moves) @ c_bar)) for moves in TRIPS],
            }
        )
    leader = regret.leader.policy
    congested = c_bar > 0.25
    mu, before = leader.stationary(), still.stationary()
    record: page.Record = {
        "arguments": {
            "adjacency": adjacency.name,
            "speeds": speeds.name,
            "fastest": fastest,
            "minutes": minutes,
            "rounds": run.rounds,
            "cut": rounds is not None,
            "bracket": bracket,
        },
        "detectors": lmdp.origin_n or lmdp.n,
        "states": lmdp.n,
        "moves": lmdp.nnz,
        "average_cost_bounds": list(regret.leader.bounds),
        "cost_of_leader": regret.leader_cost,
        "best_stationary": None if regret.bracket is None else [regret.bracket.low, regret.bracket.high],
        "learners": {
            one.name: {
                "loss": one.tally.loss,
                "state_cost": one.tally.state_cost,
                "control_cost": one.tally.control_cost,
                "speed": fastest * (1.0 - one.tally.state_cost / run.rounds),
                "leader": one.leader,
                "idealised": one.idealised,
                "best": None if one.best_stationary is None else list(one.best_stationary),
            }
            for one in regret.learners
        },
        "offers": offers,
        "strongest": strongest(leader, detectors(speeds, lmdp)),
        "emptied": float((mu < before / 16.0).mean()),
        "congested": {
            "detectors": int(congested.sum()),
            "before": float(before[congested].sum()),
            "after": float(mu[congested].sum()),
        },
        "slowest": _slowest(rows, fastest, minutes),
    }
    along = {one.name: one.along for one in regret.learners}
    return record, {
        "lmdp": lmdp,
        "c_bar": c_bar,
        "ratio": np.maximum(mu, 1e-300) / before,
        "rows": rows,
        "along": along,
    }


def by_slot(rows: Sequence[Sequence[Round]], learner: str, fastest: float, minutes: float) -> Floats:
    """The mean speed that vehicles meet in each slot of the day, over the days (nan where none was played)."""
    k = [row.learner for row in rows[0]].index(learner)
    paid = np.array([row[k].state_cost for row in rows])
    slots = round(1440 / minutes)
    padded = np.full(-(-paid.size // slots) * slots, np.nan)
    padded[: paid.size] = fastest * (1.0 - paid)
    days = padded.reshape(-1, slots)
    days = days[:, ~np.isnan(days).all(axis=0)]
    return np.asarray(np.nanmean(days, axis=0))


def _slowest(rows: Sequence[Sequence[Round]], fastest: float, minutes: float) -> dict[str, Any]:
    """The slot of the day at which drifting vehicles are slowest, and what some learners meet then."""
    speed = {name: by_slot(rows, name, fastest, minutes) for name in ("passive", "ftl", "discounted")}
    slot = int(np.argmin(speed["passive"]))
    return {"hour": slot * minutes / 60.0} | {name: float(values[slot]) for name, values in speed.items()}


def figure(record: page.Record, shown: dict[str, Any]) -> Any:
    """The network, regret over the rounds, and speed by the time of day."""
    plt = page.pyplot()
    fig = plt.figure(figsize=(9.6, 5.6), layout="constrained")
    grid = fig.add_gridspec(2, 2, width_ratios=[1.25, 1.0])
    net, regret, day = fig.add_subplot(grid[:, 0]), fig.add_subplot(grid[0, 1]), fig.add_subplot(grid[1, 1])
    lmdp, places = shown["lmdp"], layout(shown["lmdp"].P)
    x, y = lmdp.P.tocoo().coords
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if a < b:
            net.plot(*places[[a, b]].T, color="0.85", linewidth=0.6, zorder=1)
    change = np.log2(shown["ratio"]).clip(-WIDEST, WIDEST)
    dots = net.scatter(
        *places.T, c=change, s=12 + 320 * shown["c_bar"] ** 2, cmap="RdBu", vmin=-WIDEST, vmax=WIDEST,
        edgecolors="0.3", linewidths=0.4, zorder=2,
    )  # fmt: skip
    bar = fig.colorbar(dots, ax=net, location="bottom", shrink=0.75, aspect=35, ticks=[-WIDEST, 0.0, WIDEST])
    bar.set_ticklabels([f"1/{2**WIDEST:.0f} or less", "as before", f"{2**WIDEST:.0f} times the traffic or more"])
    net.set_title("where the leader sends traffic; large dots are congested detectors")
    net.set_axis_off()
    net.set_aspect("equal")
    for name, marks in shown["along"].items():
        if marks and name != "passive":
            t, _, above = zip(*marks, strict=True)
            regret.plot(t, above, marker="o", markersize=3, label=name)
    regret.set_xscale("log")
    regret.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    regret.set_title("regret against the leader of the first t rounds")
    regret.set_xlabel("t")
    regret.legend(ncols=2)
    asked = record["arguments"]
    for name in ("ftl", "discounted", "passive"):
        speed = by_slot(shown["rows"], name, asked["fastest"], asked["minutes"])
        hours = np.arange(speed.size) * asked["minutes"] / 60.0
        colour = "0.55" if name == "passive" else page.COLOURS[list(shown["along"]).index(name)]
        day.plot(hours, speed, color=colour, label=name, linewidth=1.2)
    day.set_title("mean speed that vehicles meet, mph")
    day.set_xlabel("hour of the day")
    day.legend()
    return fig


def text(record: page.Record) -> str:
    """The page."""
    asked, learners = record["arguments"], record["learners"]
    plan = next(offer for offer in record["offers"] if offer["tau"] == 1.0)
    left_alone, hour = learners["passive"]["speed"], record["slowest"]["hour"]
    return page.fill(
        "traffic",
        record,
        plan=plan,
        table_of_learners=_table_of_learners(record),
        table_of_offers=_table_of_offers(record),
        best_of_all=_best_of_all(record),
        hour=f"{int(hour):02d}:{int(hour % 1 * 60):02d}",
        more_nudges=learners["discounted"]["control_cost"] / learners["ftl"]["control_cost"] - 1.0,
        hours_trip=f"{asked['minutes'] * TRIPS[1]:g}",
        gain_on_trips=plan["trips"][1] - left_alone,
        gain_for_ever=plan["speed"] - left_alone,
        flags=_flags(asked),
    )


def _table_of_learners(record: page.Record) -> str:
    head = ["learner", "loss", "congestion", "nudges", "speed met, mph", "regret against the leader", "idealised"]
    known = record["best_stationary"] is not None
    rows = [
        [
            f"`{name}`",
            *(f"{one[what]:.1f}" for what in ("loss", "state_cost", "control_cost", "speed", "leader", "idealised")),
            *([f"{one['best'][0]:.1f} to {one['best'][1]:.1f}"] if known else []),
        ]
        for name, one in record["learners"].items()
    ]
    return page.table([*head, *(["against the best stationary policy"] if known else [])], rows)


def _table_of_offers(record: page.Record) -> str:
    trips = [f"trips of {record['arguments']['minutes'] * moves:g} min" for moves in TRIPS]
    rows = [
        [
            f"{offer['tau']:g}",
            f"{offer['kl']:.3f}",
            f"{offer['nudged']:.0%}",
            f"{offer['largest']:.0%}",
            f"{offer['speed']:.1f}",
            *(f"{speed:.1f}" for speed in offer["trips"]),
        ]
        for offer in record["offers"]
    ]
    alone = f"{record['learners']['passive']['speed']:.1f}"
    rows.append(["left alone", "0.000", "0%", "0%", *[alone] * (1 + len(TRIPS))])
    return page.table(["price of nudges τ", "nats a move", "turn elsewhere", "at most", "mph, for ever", *trips], rows)


def _best_of_all(record: page.Record) -> str:
    if record["best_stationary"] is None:
        return ""
    low, high = record["best_stationary"]
    return (
        f"To find the best of *all* stationary policies is no convex problem: it pays between {low:.1f}, which is what "
        f"policies would pay that know all speeds and change with time, and {high:.1f}, which a search has found."
    )


def _flags(asked: page.Record) -> str:
    usual = main_parser()
    changed = [
        f" --{name} {asked[name]:g}" for name in ("fastest", "minutes") if asked[name] != usual.get_default(name)
    ]
    rounds = f" --rounds {asked['rounds']}" if asked["cut"] else ""
    return "".join(changed) + rounds + (" --bracket" if asked["bracket"] else "")


def main_parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = page.options("Small nudges around congestion that nobody knows in advance.")
    parser.add_argument("adjacency", type=Path, help="weights between detectors, a square table without a header")
    parser.add_argument("speeds", type=Path, help="a column per detector, its name on top, and a row per round")
    parser.add_argument("--fastest", type=float, default=70.0, help="the speed that costs nothing (70)")
    parser.add_argument("--minutes", type=float, default=5.0, help="between two rows (5)")
    parser.add_argument("--rounds", type=int, help="play the first rows only")
    parser.add_argument("--bracket", action="store_true", help="bound the best stationary policy too")
    return parser


def main(words: Sequence[str] | None = None) -> None:
    """Make the page."""
    asked = main_parser().parse_args(words)
    if not 0.0 < asked.minutes <= 1440.0:
        raise SpecError(f"--minutes is {asked.minutes:g}. The time between two rows is at most a day, 1440 minutes.")
    if asked.rounds is not None:
        page.at_least(asked.rounds, 1, "--rounds")
    record, shown = study(
        asked.adjacency,
        asked.speeds,
        fastest=asked.fastest,
        minutes=asked.minutes,
        rounds=asked.rounds,
        bracket=asked.bracket,
    )
    page.write("traffic", record, text, figure(record, shown), asked.out)


if __name__ == "__main__":
    page.run(main)
