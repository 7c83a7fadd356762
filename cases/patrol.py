"""Patrol: where should a guard be when nobody says where the next alarm comes from?

A guard walks in a harbour, docs/cases/harbour.map; P is a lazy random walk on its open cells. Every minute there is one
alarm, somewhere, and the cost of a cell is how far it is from there on foot, as a share of the longest way on the map:

    c_t(x) = d(x, y_t) / max d.

By day (06:00 to 18:00) most alarms come from the terminal in the east, by night from the customs house in the west, and
some come from anywhere. The guard is told none of this, and sees an alarm only when the minute is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

import lsmdp
from cases import page
from lsmdp.arrays import Floats, Ints
from lsmdp.costs import as_costs
from lsmdp.game import Game, Run
from lsmdp.learners import learner_by_name
from lsmdp.regret.bracket import lower_bound

MAP = page.OUT / "harbour.map"
DAY = 1440  # minutes
TEMPERATURE = 0.02
ANYWHERE = 0.3  # share of the alarms
NEAR = 10  # moves: a guard who is that near is in time
SPREAD = 4.0  # cells, around a place that alarms come from
EAST, WEST = (19, 57), (12, 5)  # row and column: the terminal by day, the customs house by night
LEARNERS = ("ftl", "track", "phased", "discounted", "window", "passive")


def harbour(temperature: float = TEMPERATURE) -> lsmdp.LMDP:
    """The walk on the map."""
    return lsmdp.read_model(MAP, temperature=temperature)


def is_day(minute: Any) -> Any:
    """Whether a minute of the game is by day; the game begins at 06:00."""
    return np.asarray(minute) % DAY < DAY // 2


def alarms(lmdp: lsmdp.LMDP, minutes: int, seed: int = 0) -> Ints:
    """The state that the alarm of each minute comes from."""
    rng = np.random.default_rng(seed)
    near = []
    for place in (WEST, EAST):
        weight = np.exp(-((lmdp.positions - np.array(place)) ** 2).sum(axis=1) / (2 * SPREAD**2))
        near.append(weight / weight.sum() * (1 - ANYWHERE) + ANYWHERE / lmdp.n)
    by_day = is_day(np.arange(minutes))
    return np.where(by_day, rng.choice(lmdp.n, minutes, p=near[1]), rng.choice(lmdp.n, minutes, p=near[0]))


def walking(lmdp: lsmdp.LMDP) -> Floats:
    """Moves on foot between any two cells."""
    return np.asarray(shortest_path(lmdp.P, unweighted=True))


def study(minutes: int, seed: int) -> tuple[page.Record, dict[str, Any]]:
    """All numbers of the page, and what its figure shows."""
    lmdp = harbour()
    distance, places = walking(lmdp), alarms(lmdp, minutes, seed)
    longest = float(distance.max())
    costs = as_costs(distance[:, places].T / longest, lmdp)
    game = Game.begin(lmdp, [learner_by_name(name) for name in LEARNERS])
    away, in_time = np.zeros((minutes, len(LEARNERS))), np.zeros(len(LEARNERS))
    laws = np.zeros((2, len(LEARNERS), lmdp.n))  # by night and by day
    for t, c_t in enumerate(costs):
        for k, player in enumerate(game.players):
            laws[int(is_day(t)), k] += player.law
            in_time[k] += player.law @ (distance[:, places[t]] <= NEAR)
        away[t] = [longest * records.state_cost[0] for records in game.play(c_t[np.newaxis])]
        if (t + 1) % 480 == 0:
            page.say(f"minute {t + 1:,}")
    regret = Run(game, costs).regret()
    by_day = is_day(np.arange(minutes))
    record: page.Record = {
        "arguments": {"minutes": minutes, "seed": seed},
        "cells": lmdp.n,
        "longest": longest,
        "temperature": TEMPERATURE,
        "bound": lower_bound(lmdp, costs, game.start),
        "average_cost_bounds": list(regret.leader.bounds),
        "cost_of_leader": regret.leader_cost,
        "learners": {
            one.name: {
                "loss": one.tally.loss,
                "control_cost": one.tally.control_cost,
                "leader": one.leader,
                "away": float(away[:, k].mean()),
                "day": float(away[by_day, k].mean()),
                "night": float(away[~by_day, k].mean()) if not by_day.all() else None,
                "in_time": float(in_time[k] / minutes),
            }
            for k, one in enumerate(regret.learners)
        },
    }
    laws /= np.maximum(laws.sum(axis=2, keepdims=True), 1e-300)
    return record, {"lmdp": lmdp, "laws": laws, "away": away, "places": places}


def figure(shown: dict[str, Any]) -> Any:
    """Where alarms are, where follow the leader and the discounted leader are by day and by night, and how far off."""
    plt = page.pyplot()
    fig = plt.figure(figsize=(9.6, 7.4), layout="constrained")
    cells = fig.add_gridspec(4, 2, height_ratios=[1.0, 1.0, 1.0, 1.0])
    lmdp, by_day = shown["lmdp"], is_day(np.arange(shown["places"].size))
    colours = plt.get_cmap("cividis").with_extremes(bad="white")
    for column, (name, day) in enumerate((("by day", True), ("by night", False))):
        seen = np.bincount(shown["places"][by_day == day], minlength=lmdp.n)
        fields = {f"alarms {name}": np.sqrt(seen)}
        for learner in ("ftl", "discounted"):
            fields[f"{learner} {name}"] = np.sqrt(shown["laws"][int(day), LEARNERS.index(learner)])
        for row, (title, values) in enumerate(fields.items()):
            ax = fig.add_subplot(cells[row, column])
            picture = np.full(lmdp.grid_shape, np.nan)
            picture[tuple(lmdp.positions.astype(int).T)] = values
            ax.set_facecolor("0.9")
            ax.imshow(picture, cmap=colours, interpolation="nearest")
            ax.set_title(title)
            ax.set_axis_off()
    ax = fig.add_subplot(cells[3, :])
    hours = 6 + np.arange(shown["places"].size) / 60
    for name, colour in (("passive", "0.55"), ("ftl", page.COLOURS[0]), ("discounted", page.COLOURS[1])):
        smooth = np.convolve(shown["away"][:, LEARNERS.index(name)], np.ones(20) / 20, "same")
        ax.plot(hours[10:-10], smooth[10:-10], color=colour, label=name, linewidth=1.2)
    for change in np.arange(18, hours[-1], 12):
        ax.axvline(change, color="0.7", linewidth=0.8, linestyle=":")
    ax.set_title("moves from guard to alarm, mean over 20 minutes (dotted: shifts change)")
    ax.set_xlabel("hours since midnight of the first day")
    ax.set_ylim(0, None)
    ax.margins(x=0.01)
    ax.legend(ncols=3, loc="lower right", bbox_to_anchor=(1.0, 0.98), borderaxespad=0.0)
    return fig


def text(record: page.Record) -> str:
    """The page."""
    rows = [
        [
            f"`{name}`",
            f"{one['away']:.1f}",
            f"{one['day']:.1f}",
            "" if one["night"] is None else f"{one['night']:.1f}",
            f"{one['in_time']:.0%}",
            f"{one['loss']:.0f}",
            f"{one['leader']:.0f}",
        ]
        for name, one in record["learners"].items()
    ]
    measured = ["moves to the alarm", "by day", "by night", f"within {NEAR} moves", "loss", "regret against the leader"]
    return page.fill("patrol", record, anywhere=ANYWHERE, table_of_learners=page.table(["learner", *measured], rows))


def main(words: Sequence[str] | None = None) -> None:
    """Make the page."""
    parser = page.options("A guard in a harbour, and alarms that nobody announces.")
    parser.add_argument("--minutes", type=int, default=2 * DAY)
    parser.add_argument("--seed", type=int, default=0, help="of the alarms")
    asked = parser.parse_args(words)
    page.at_least(asked.minutes, 1, "--minutes")
    record, shown = study(asked.minutes, asked.seed)
    page.write("patrol", record, text, figure(shown), asked.out)


if __name__ == "__main__":
    page.run(main)
