"""Bikes: a day in the life of a bike-share, from its table of trips.

One file: a row per trip, with the station and the time of its start and of its end. A state is a station, P(y|x) the
share of the trips from x that end at y, and a round an hour. In hour t station x has a *surplus*

    s_t(x) = arrivals - departures,

bikes that somebody must take away again where it is positive, and to bring where it is negative. A bike that is left at
x adds one to it, so the cost of a station is its surplus, from the least that was seen (cost 0) to the most (cost 1).

Riders may be asked to leave their bike at a neighbouring station, for a discount. KL(Q || P) is how much destinations
change, and the temperature its price; ``moved`` says the same without a logarithm: the share of riders who end
elsewhere than they would have, the total variation between Q(.|x) and P(.|x).

What the hour of the day is worth: with the mean surplus c_h of each hour h of the day known, and V_24 = V_0 of the next
day,

    V_h = c_h - tau log P e^(-V_{h+1}/tau)

is worked out backwards over some days, and the plan of hour h is the policy of V_{h+1}.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lsmdp
from cases import page
from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.game import Round
from lsmdp.learners import learner_by_name
from lsmdp.report.layout import layout
from lsmdp.sources.logs.columns import sheet_of_text, trip_columns
from lsmdp.sources.logs.times import as_numbers, usual_format

PRICES = (2.0, 0.5, 0.2, 0.1)  # of a nat, in bikes of surplus
PRICE = 0.2  # of the game: cheap enough to move some riders, and dear enough not to move most of them
WIDEST = 3.0  # factors of 2 that the colours of the stations tell apart
DAYS = 20  # that the plan by the clock is worked out backwards, after which its last day no longer depends on its end
LEARNERS = ("ftl", "discounted", "passive")
HOUR = 3600.0  # seconds


class Hours(NamedTuple):
    """The surplus of each station in each hour, hours x stations, and the hour of the day of each row."""

    surplus: Floats
    clock: Floats


def hours(trips: Path, lmdp: lsmdp.LMDP, time_format: str | None = None) -> Hours:
    """Arrivals less departures of the stations of a model, hour by hour from the first to the last of the file."""
    sheet = sheet_of_text(trips)
    table = sheet.read(trip_columns(sheet, None))
    if "start_time" not in table.column_names:
        raise SpecError(f'"{trips}" has no times of trips. Name their columns start time and end time.')
    change = []
    for end, time, sign in (("from", "start_time", -1.0), ("to", "end_time", 1.0)):
        text = table[time].combine_chunks()
        form = time_format or usual_format(text.to_pylist())
        when, ticks = as_numbers(text, time, sheet.place, form)
        where = lmdp.names.states(table[end].to_pylist())
        change.append(np.column_stack([when / ticks // HOUR, where, np.full(where.size, sign)]))
    moves = np.concatenate(change)
    moves = moves[moves[:, 1] >= 0]  # stations outside of the model
    first, last = moves[:, 0].min(), moves[:, 0].max()
    surplus = np.zeros((int(last - first) + 1, lmdp.n))
    np.add.at(surplus, ((moves[:, 0] - first).astype(int), moves[:, 1].astype(int)), moves[:, 2])
    return Hours(surplus, (first + np.arange(len(surplus))) % 24)


def moved(policy: lsmdp.Policy) -> Floats:
    """The share of the riders from each station who are to end elsewhere."""
    return np.asarray(np.abs(policy.matrix() - policy.lmdp.P).sum(axis=1)) / 2.0


def strongest(policy: lsmdp.Policy) -> dict[str, Any]:
    """The trip whose share of all trips grows most."""
    lmdp, mu = policy.lmdp, policy.stationary()
    Q = policy.matrix()
    x = np.repeat(np.arange(lmdp.n), np.diff(lmdp.P.indptr))
    e = int(np.argmax(mu[x] * (Q.data - lmdp.P.data)))
    labels = lmdp.labels or ()
    y = int(lmdp.P.indices[e])
    return {"from": labels[x[e]], "to": labels[y], "before": float(lmdp.P.data[e]), "after": float(Q.data[e])}


class Planned(NamedTuple):
    """What a plan by the clock pays for stations and for asking, in bikes and in the unit of the game, hour by hour."""

    met: Floats
    asking: float
    loss: float


def by_the_clock(lmdp: lsmdp.LMDP, costs: Floats, clock: Floats, start: Floats) -> Planned:
    """The plan for the mean day, as it fares in the hours of the file."""
    hour = clock.astype(int)
    day = np.array([costs[hour == h].mean(axis=0) if (hour == h).any() else costs.mean(axis=0) for h in range(24)])
    tau, V = lmdp.temperature, np.zeros((25, lmdp.n))
    for _ in range(DAYS):
        V[24] = V[0] - V[0].min()
        for h in range(23, -1, -1):
            low = V[h + 1].min()
            V[h] = day[h] + low - tau * np.log(lmdp.P @ np.exp((low - V[h + 1]) / tau))
    plans = [lsmdp.Policy(lmdp, v - v.min()) for v in V[1:]]
    law, met, asking = start, [], 0.0
    for h, c in zip(hour.tolist(), costs, strict=True):
        met.append(float(law @ c))
        asking += tau * float(law @ plans[h].kl())
        law = plans[h].push(law)
    return Planned(np.array(met), asking, sum(met) + asking)


def study(trips: Path, time_format: str | None) -> tuple[page.Record, dict[str, Any]]:
    """All numbers of the page, and what its figure shows."""
    fit = lsmdp.fit(trips, trips=True, largest_class=True, time_format=time_format)
    surplus, clock = hours(trips, fit.lmdp, time_format)
    low, high = float(surplus.min()), float(surplus.max())
    lmdp = replace(fit.lmdp, temperature=PRICE / (high - low))
    costs = (surplus - low) / (high - low)
    still = lsmdp.Policy(lmdp, np.zeros(lmdp.n))
    rows: list[list[Round]] = []
    run = lsmdp.play(
        lmdp, [learner_by_name(name) for name in LEARNERS], costs, start=still.stationary(), watch=rows.append
    )
    regret = run.regret()
    mean = surplus.mean(axis=0)
    planned = by_the_clock(lmdp, costs, clock, still.stationary())
    offers = []
    for tau in PRICES:
        solution = lsmdp.solve(replace(lmdp, temperature=tau / (high - low)), costs.mean(axis=0))
        mu = solution.stationary
        offers.append(
            {
                "tau": tau,
                "surplus": float(mu @ mean),
                "moved": float(mu @ moved(solution.policy)),
                "most": float(moved(solution.policy).max()),
            }
        )
    leader = regret.leader.policy
    mu, rho = leader.stationary(), still.stationary()
    crowd = np.argsort(mean)[::-1]
    labels = lmdp.labels or ()
    record: page.Record = {
        "arguments": {"trips": trips.name, "time_format": time_format},
        "trips": fit.moves,
        "dropped": dict(fit.dropped),
        "stations": fit.states,
        "states": lmdp.n,
        "moves": lmdp.nnz,
        "kept": int(fit.counts[lmdp.origin][:, lmdp.origin].sum()) if lmdp.origin is not None else fit.moves,
        "hours": len(surplus),
        "low": low,
        "high": high,
        "price": PRICE,
        "entropy": float(np.exp(fit.entropy)),
        "passive": float(rho @ mean),
        "bounds": list(regret.leader.bounds),
        "cost_of_leader": regret.leader_cost,
        "offers": offers,
        "fullest": [{"name": labels[x], "surplus": 24 * float(mean[x])} for x in crowd[:3]],
        "emptiest": [{"name": labels[x], "surplus": 24 * float(mean[x])} for x in crowd[:-4:-1]],
        "strongest": strongest(leader),
        "learners": {
            one.name: {
                "loss": one.tally.loss,
                "control_cost": one.tally.control_cost,
                "surplus": low + (high - low) * one.tally.state_cost / run.rounds,
                "leader": one.leader,
            }
            for one in regret.learners
        }
        | {
            "clock": {
                "loss": planned.loss,
                "control_cost": planned.asking,
                "surplus": low + (high - low) * float(planned.met.mean()),
                "leader": planned.loss - regret.leader_cost,
            }
        },
    }
    met = {name: np.array([row[k].state_cost for row in rows]) for k, name in enumerate(LEARNERS)} | {
        "clock": planned.met
    }
    return record, {"lmdp": lmdp, "mean": mean, "ratio": mu / rho, "met": met, "hour": clock, "span": high - low}


def by_clock(shown: dict[str, Any], learner: str, low: float) -> Floats:
    """The mean surplus that a learner's bikes meet at each hour of the day."""
    met = low + shown["span"] * shown["met"][learner]
    clock = shown["hour"]
    return np.array([met[clock == hour].mean() if (clock == hour).any() else np.nan for hour in range(24)])


def figure(record: page.Record, shown: dict[str, Any]) -> Any:
    """The stations with their surplus and where the leader sends bikes, and the surplus met over the day."""
    plt = page.pyplot()
    fig, (net, day) = plt.subplots(1, 2, figsize=(9.6, 4.6), layout="constrained", width_ratios=[1.3, 1.0])
    lmdp, mean = shown["lmdp"], 24 * shown["mean"]
    places = layout(lmdp.P)
    busy = lmdp.P.tocoo()
    for a, b, p in zip(*busy.coords, busy.data, strict=True):
        if a < b and p > 0.06:
            net.plot(*places[[a, b]].T, color="0.85", linewidth=0.5 + 4.0 * p, zorder=1)
    widest = WIDEST
    change = np.log2(shown["ratio"]).clip(-widest, widest)
    dots = net.scatter(
        *places.T, c=change, s=20 + 22 * np.abs(mean), cmap="RdBu", vmin=-widest, vmax=widest,
        edgecolors=["0.15" if one > 0 else "0.75" for one in mean], linewidths=1.2, zorder=2,
    )  # fmt: skip
    for x in [*np.argsort(mean)[-2:], *np.argsort(mean)[:2]]:
        name = lmdp.labels[x].split(" (")[0]
        place = {"xytext": (11, 4), "textcoords": "offset points", "fontsize": 7, "zorder": 3}
        net.annotate(f"{name} {mean[x]:+.0f}", places[x], **place)
    bar = fig.colorbar(dots, ax=net, location="bottom", shrink=0.7, aspect=35, ticks=[-widest, 0.0, widest])
    bar.set_ticklabels([f"1/{2**widest:.0f} or less", "as before", f"{2**widest:.0f} times the bikes or more"])
    net.set_title("where the plan leaves bikes; large dots have a surplus (dark rim) or a lack")
    net.set_axis_off()
    net.margins(0.12)
    for name, colour in (("passive", "0.55"), ("ftl", page.COLOURS[0]), ("clock", page.COLOURS[2])):
        day.plot(range(24), by_clock(shown, name, record["low"]), color=colour, label=name, linewidth=1.4)
    day.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
    day.set_title("surplus where a bike is left, bikes an hour")
    day.set_xlabel("hour of the day")
    day.set_xticks(range(0, 25, 6))
    day.legend()
    return fig


def text(record: page.Record) -> str:
    """The page."""
    cheap = next(offer for offer in record["offers"] if offer["tau"] == record["price"])
    span = record["high"] - record["low"]
    learners = [
        [f"`{name}`", f"{one['surplus']:.2f}", *(f"{span * one[key]:.1f}" for key in ("control_cost", "leader"))]
        for name, one in record["learners"].items()
    ]
    offers = [
        [f"{one['tau']:g}", f"{one['moved']:.0%}", f"{one['most']:.0%}", f"{round(one['surplus'], 2) + 0.0:.2f}"]
        for one in record["offers"]
    ]
    offers.append(["nobody asked", "0%", "0%", f"{record['passive']:.2f}"])
    return page.fill(
        "bikes",
        record,
        cheap=cheap,
        wanted=-record["learners"]["clock"]["surplus"],
        gap=record["bounds"][1] - record["bounds"][0],
        table_of_learners=page.table(["", "surplus met", "asking riders", "more than the leader"], learners),
        table_of_offers=page.table(["price of asking", "end elsewhere", "at most", "surplus met"], offers),
        list_of_full=_listed(record["fullest"]),
        list_of_empty=_listed(record["emptiest"]),
        flags=_flags(record["arguments"]),
    )


def _flags(asked: page.Record) -> str:
    return "" if asked["time_format"] is None else f" --time-format {asked['time_format']!r}"


def _listed(stations: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{one['name']} ({one['surplus']:+.0f})".replace("(-", "(−") for one in stations)


def main_parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = page.options("Bikes that are asked to end their trips where they are wanted.")
    parser.add_argument("trips", type=Path, help="a table of trips with the stations and times of start and end")
    parser.add_argument("--time-format", help="how times are written, where that cannot be told")
    return parser


def main(words: Sequence[str] | None = None) -> None:
    """Make the page."""
    asked = main_parser().parse_args(words)
    record, shown = study(asked.trips, asked.time_format)
    page.write("bikes", record, text, figure(record, shown), asked.out)


if __name__ == "__main__":
    page.run(main)
