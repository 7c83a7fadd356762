"""Electric loads: a population of water heaters that learns when electricity is cheap (the model is in tank.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import lsmdp
from cases import page
from cases.tank import (
    COLDEST,
    COMFORT,
    SLOTS,
    STATES,
    TEMPERATURE,
    ClockCosts,
    bent,
    heater,
    power,
    signal,
    simulate,
    with_clock,
    with_draws,
)
from lsmdp.arrays import Floats
from lsmdp.learners import Learner
from lsmdp.regret.comparators import fixed_cost


class Played(NamedTuple):
    """A month: the share of the power that the population uses in each step, the control cost, and all coins."""

    use: Floats
    control: float
    coins: Floats  # rounds x (off, on) x levels: the chance of being on next

    def bill(self, price: Floats) -> float:
        """What the electricity costs."""
        return float(self.use @ price)


def play(lmdp: lsmdp.LMDP, learner: Learner, costs: Iterable[Floats], start: Floats) -> Played:
    """The protocol, with everything that the page tells about it kept."""
    states, use = power(), []
    law, control, coins, clock = start, 0.0, [], lmdp.n > STATES
    learnt = learner.init(lmdp)
    for t, c_t in enumerate(costs):
        policy = learner.policy(lmdp, learnt)  # chosen before c_t is seen
        use.append(law.reshape(-1, STATES).sum(axis=0) @ states)
        control += lmdp.temperature * float(law @ policy.kl())
        coins.append(bent(policy.v.reshape(-1, STATES)[(t + 1) % SLOTS if clock else 0], lmdp.temperature))
        law = policy.push(law)
        law = law / law.sum()
        learnt = learner.observe(lmdp, learnt, c_t)
        if (t + 1) % (5 * SLOTS) == 0:
            page.say(f"  {learner.name} on {lmdp.n:,} states: day {(t + 1) // SLOTS}")
    return Played(np.array(use), control, np.array(coins))


def foreseen(lmdp: lsmdp.LMDP, price: Floats, start: Floats) -> tuple[float, Played]:
    """The optimum of those who know all prices beforehand: V_t = c_t - tau log P e^(-V_{t+1}/tau), and its month."""
    V = np.zeros((price.size + 1, STATES))
    for t in range(price.size - 1, -1, -1):
        low = V[t + 1].min()
        V[t] = (
            price[t] * power() + low - lmdp.temperature * np.log(lmdp.P @ np.exp((low - V[t + 1]) / lmdp.temperature))
        )
    law, use, control = start, [], 0.0
    for v in V[1:]:
        policy = lsmdp.Policy(lmdp, v - v.min())
        use.append(law @ power())
        control += lmdp.temperature * float(law @ policy.kl())
        law = policy.push(law)
    return float(start @ V[0]), Played(np.array(use), control, np.array([bent(v, lmdp.temperature) for v in V[1:]]))


def study(days: int, seed: int, tanks: int) -> tuple[page.Record, dict[str, Any]]:
    """All numbers of the page, and what its figure shows."""
    plain, price = heater(), signal(days, seed)
    clock, costs = with_clock(plain), ClockCosts(price)
    mu = lsmdp.Policy(plain, np.zeros(STATES)).stationary()
    morning = np.concatenate([mu, np.zeros((SLOTS - 1) * STATES)])
    without: list[Learner] = [lsmdp.FollowTheLeader(), lsmdp.DiscountedLeader(), lsmdp.WindowLeader(), lsmdp.Passive()]
    page.say("without a clock in the state")
    months = {
        learner.name: play(plain, learner, price[:, None] * power(), mu) for learner in (*without, lsmdp.Clock(SLOTS))
    }
    page.say("with a clock in the state")
    learner = lsmdp.TrackTheLeader()
    months["clock"] = play(clock, learner, costs, morning)
    leader = lsmdp.solve(clock, _mean(costs), solver=lsmdp.Direct())  # a chain of period 144 is slow to iterate
    best = fixed_cost(clock, leader.policy, costs, morning)
    bound, months["foreseen"] = foreseen(plain, price, mu)
    page.say(f"{tanks:,} tanks")
    real = {name: simulate(months[name].coins, tanks) for name in ("passive", "clock", "foreseen")}
    draws, use = with_draws()
    unwashed = lsmdp.solve(draws, 0.5 * use).policy
    dear = price >= np.quantile(price, 0.75)
    record: page.Record = {
        "arguments": {"days": days, "seed": seed, "tanks": tanks},
        "rounds": price.size,
        "bound": bound,
        "draws": {
            "passive": float(lsmdp.Policy(draws, np.zeros(STATES)).stationary() @ use),
            "optimum": float(unwashed.stationary() @ use),
        },
        "leader": {"loss": best.loss, "bill": best.state_cost, "bounds": list(leader.bounds)},
        "months": {
            name: {
                "bill": month.bill(price),
                "control": month.control,
                "loss": month.bill(price) + month.control,
                "dear": float(month.use[dear].sum() / month.use.sum()),
                "energy": float(month.use.sum()),
                "busiest": float(month.use.max()),
            }
            for name, month in months.items()
        },
        "tanks": {
            name: {
                "bill": float(done.use @ price),
                "dear": float(done.use[dear].sum() / done.use.sum()),
                "energy": float(done.use.sum()),
                "below_50": float((done.degrees < COLDEST).mean()),
                "below_45": float((done.degrees < COMFORT).mean()),
                "mean": float(done.degrees.mean(dtype=np.float64)),
                "switches": done.switches,
            }
            for name, done in real.items()
        },
    }
    return record, {"price": price, "months": months, "real": real}


def _mean(costs: ClockCosts) -> Floats:
    total = np.zeros(SLOTS * STATES)
    for c_t in costs:
        total += c_t
    return total / costs.price.size


def figure(shown: dict[str, Any]) -> Any:
    """Price, consumption in the model and of the tanks in the last four days, and how warm the tanks are."""
    plt = page.pyplot()
    fig, axes = plt.subplots(4, 1, figsize=(8.0, 8.2), height_ratios=[1.0, 1.5, 1.5, 1.2], layout="constrained")
    price, last = shown["price"], min(4 * SLOTS, shown["price"].size)
    day = np.arange(price.size - last, price.size) / SLOTS
    names = {"passive": "left alone", "foreseen": "all prices known", "clock": "learnt, with a clock"}
    colours = {"passive": "0.55", "foreseen": page.COLOURS[1], "clock": page.COLOURS[0]}
    widths = {"passive": 1.2, "foreseen": 0.9, "clock": 1.7}
    axes[0].plot(day, price[-last:], color="0.2")
    axes[0].set_title("price")
    for ax, title, done in (
        (axes[1], "share of the power in use, in the model", shown["months"]),
        (axes[2], "the same, of tanks whose owners shower when they like", shown["real"]),
    ):
        for name, label in names.items():
            ax.plot(day, done[name].use[-last:], label=label, color=colours[name], linewidth=widths[name])
        ax.set_title(title)
        ax.sharex(axes[0])
        ax.set_ylim(0.0, None)
    axes[1].legend(ncols=3, loc="lower right", bbox_to_anchor=(1.0, 0.98), borderaxespad=0.0)
    axes[2].set_xticks(np.arange(np.ceil(day[0]), day[-1] + 1))
    axes[2].set_xlabel("day")
    bins = np.arange(40.0, 61.0, 0.5)
    for name in ("passive", "clock"):
        share = np.histogram(shown["real"][name].degrees, bins)[0] / shown["real"][name].degrees.size
        axes[3].stairs(share, bins, color=colours[name], label=names[name], linewidth=1.6)
    axes[3].axvline(COLDEST, color="0.2", linewidth=0.8, linestyle=":")
    axes[3].set_title("temperature of the tanks in the last week, share of tanks per half degree")
    axes[3].set_xlabel("degrees")
    axes[3].legend(loc="upper left")
    return fig


TITLES = {
    "passive": "left alone (`passive`)",
    "ftl": "`ftl`, 84 states",
    "discounted": "`discounted`, 84 states",
    "window": "`window`, 84 states",
    f"clock:{SLOTS}": f"`clock:{SLOTS}`, 84 states",
    "clock": "`track` with a clock in the state, 12,096 states",
    "foreseen": "all prices known beforehand",
}


def text(record: page.Record) -> str:
    """The page."""
    months, tanks = record["months"], record["tanks"]
    alone, learnt, known = (months[name] for name in ("passive", "clock", "foreseen"))
    return page.fill(
        "heaters",
        record,
        temperature=TEMPERATURE,
        table_of_months=_table_of_months(months),
        table_of_tanks=_table_of_tanks(tanks),
        spread=max(abs(months[name]["loss"] - alone["loss"]) for name in ("ftl", "discounted", "window")),
        saved=1.0 - learnt["bill"] / alone["bill"],
        possible=1.0 - known["bill"] / alone["bill"],
        planned=months[f"clock:{SLOTS}"]["loss"],
        regret=learnt["loss"] - record["leader"]["loss"],
        excess=learnt["loss"] - record["bound"],
        cooler=tanks["passive"]["mean"] - tanks["clock"]["mean"],
        saved_by_tanks=1.0 - tanks["clock"]["bill"] / tanks["passive"]["bill"],
    )


def _table_of_months(months: page.Record) -> str:
    rows = [
        [title, *(f"{months[name][what]:.1f}" for what in ("bill", "control", "loss")), f"{months[name]['dear']:.0%}"]
        for name, title in TITLES.items()
    ]
    return page.table(["", "bill", "bent coins", "loss", "used in the dearest quarter of the time"], rows)


def _table_of_tanks(tanks: page.Record) -> str:
    rows = [
        [
            TITLES[name].split(",")[0],
            f"{done['bill']:.1f}",
            f"{done['dear']:.0%}",
            f"{done['mean']:.1f}",
            f"{done['below_50']:.1%}",
            f"{done['below_45']:.2%}",
            f"{done['switches']:.1f}",
        ]
        for name, done in tanks.items()
    ]
    measured = ["bill", "used in the dearest quarter", "mean °C", "below 50 °C", "below 45 °C", "switched on a day"]
    return page.table(["tanks", *measured], rows)


def main(words: Sequence[str] | None = None) -> None:
    """Make the page."""
    parser = page.options("Water heaters that learn when electricity is cheap.")
    parser.add_argument("--days", type=int, default=31)
    parser.add_argument("--seed", type=int, default=0, help="of the wind")
    parser.add_argument("--tanks", type=int, default=10_000, help="simulated tanks")
    asked = parser.parse_args(words)
    page.at_least(asked.days, 1, "--days")
    page.at_least(asked.tanks, 1, "--tanks")
    record, shown = study(asked.days, asked.seed, asked.tanks)
    page.write("heaters", record, text, figure(shown), asked.out)


if __name__ == "__main__":
    page.run(main)
