"""A water heater as a Markov chain, the price of electricity, and tanks that people use.

A tank of about 200 litres and 2.4 kW has a level k: its temperature is 50 degrees + k quarter degrees. In a step of ten
minutes it loses one level (hot water and losses, averaged), and a heater that is on adds seven:

    off: k' = k - 1,        on: k' = min(k + 6, 42), by a cut-out at 60.5 degrees.

States are off at k = 1..42 and on at k = 0..41: 84 of them. A heater that is on uses the share (k' - k + 1)/7 of its
power. At k' the thermostat tosses a coin. It is on next with the chance

    (1 - k'/42)^6  if it was off,        1 - (k'/42)^6  if it was on,

so on for sure at k' = 0 and off for sure at k' = 42. The coin is all the chance there is in P: to replace P by Q is to
bend coins, and neither physics nor the people who shower are bent with them.

Heat is kept: 7 power(x) = 1 + k' - k. So at a constant price the cost of a state is a constant plus the difference of a
potential, v(x) = -(price/7) k up to a constant, and Q_v = P, because k' is the same on both sides of the coin. A price
is worth something only to those who know the time. *With a clock* the state is (slot of the day, heater), 144 x 84 of
them, and the cost of round t is that of the latest price known of each slot:

    c_t(slot, x) = power(x) * (price the last time it was that slot, round t included; price_t if it never was).

What is paid in round t is the price of round t, and all of c_t is known after it: this is the game of sec:online.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.signal import lfilter

import lsmdp
from lsmdp.arrays import Floats

LEVELS, HEAT = 42, 7
SLOTS = 144  # of ten minutes, in a day
SHARPNESS = 6
TEMPERATURE = 0.1  # what a nat of bent coins costs, where an hour of heating at the highest price costs 6
COLDEST, KELVIN = 50.0, 0.25  # of level 0, and per level
COMFORT = 45.0  # degrees; below this a shower is no pleasure
LEAK, DRAW = 0.1, 7.2  # levels lost in a step, and in a draw of hot water on average
WIND_HOURS, WIND = 12.0, 0.12  # how long the wind lasts, and how much it moves the price

OFF, ON = np.arange(1, LEVELS + 1), np.arange(LEVELS)  # levels of the states 0..41 and 42..83
STATES = OFF.size + ON.size


def coin(on: Any, level: Any) -> Floats:
    """The thermostat's chance of being on in the next step."""
    share = np.clip(np.asarray(level) / LEVELS, 0.0, 1.0)
    return np.where(on, 1.0 - share**SHARPNESS, (1.0 - share) ** SHARPNESS)


def heater(temperature: float = TEMPERATURE) -> lsmdp.LMDP:
    """The passive dynamics of one heater, 84 states."""
    on, after = np.arange(STATES) >= LEVELS, _after()
    chance = coin(on, after)
    here = np.arange(STATES)
    moves = [(here, LEVELS + after, chance), (here, after - 1, 1.0 - chance)]
    x, y, p = (np.concatenate(column) for column in zip(*moves, strict=True))
    possible = p > 0.0
    P = sparse.coo_array((p[possible], (x[possible], y[possible])), shape=(STATES, STATES))
    labels = [f"off {_degrees(k)}" for k in OFF.tolist()] + [f"on {_degrees(k)}" for k in ON.tolist()]
    return lsmdp.LMDP(P, labels, temperature, name="water heater")


def with_draws(temperature: float = TEMPERATURE) -> tuple[lsmdp.LMDP, Floats]:
    """The heater with hot water inside P, and the power of each state: eight levels are drawn with chance 1/8.

    A tank that would be colder than level 0 is kept there. What this model is good for: to see what it does wrong.
    """
    on, level, here = np.arange(STATES) >= LEVELS, np.concatenate([OFF, ON]), np.arange(STATES)
    P, use = sparse.csr_array((STATES, STATES)), np.zeros(STATES)
    for drawn, share in ((0, 7 / 8), (8, 1 / 8)):
        full = level + HEAT * on - drawn
        after = full.clip(0, LEVELS)
        use += share * np.where(on, 1.0 - (full - after).clip(0) / HEAT, 0.0)
        chance = coin(on, after)
        for y, p in ((LEVELS + after, chance), (after - 1, 1.0 - chance)):
            possible = p > 0.0
            P += sparse.csr_array((share * p[possible], (here[possible], y[possible])), shape=(STATES, STATES))
    return lsmdp.LMDP(P, temperature=temperature, name="water heater with draws"), use


def power() -> Floats:
    """The share of a heater's power that each state uses."""
    return np.concatenate([np.zeros(OFF.size), (_after()[LEVELS:] - ON + 1) / HEAT])


def _after() -> Any:
    return np.concatenate([OFF - 1, np.minimum(ON + HEAT - 1, LEVELS)])


def _degrees(level: int) -> str:
    return f"{COLDEST + KELVIN * level:g}"


def with_clock(lmdp: lsmdp.LMDP) -> lsmdp.LMDP:
    """The same heater with the time of day in its state: state slot * 84 + x. It has period 144."""
    tick = sparse.csr_array((np.ones(SLOTS), (np.arange(SLOTS), (np.arange(SLOTS) + 1) % SLOTS)))
    return lsmdp.LMDP(sparse.kron(tick, lmdp.P), temperature=lmdp.temperature, name="water heater with a clock")


def signal(days: int, seed: int = 0) -> Floats:
    """A price in [0.02, 1] for every ten minutes: two peaks, two valleys, and wind that lasts for half a day."""
    hour = np.arange(SLOTS) * 24 / SLOTS

    def bump(centre: float, width: float) -> Floats:
        away = np.abs(hour - centre)
        return np.asarray(np.exp(-((np.minimum(away, 24 - away) / width) ** 2)))

    daily = 0.5 + 0.22 * bump(8, 2) + 0.3 * bump(19, 2.2) - 0.18 * bump(13.5, 2.5) - 0.2 * bump(3, 2.5)
    keep = np.exp(-24 / SLOTS / WIND_HOURS)
    gusts = np.random.default_rng(seed).standard_normal(days * SLOTS) * np.sqrt(1 - keep**2)
    gusts[0] /= np.sqrt(1 - keep**2)  # so that the wind is stationary from the first step on
    wind = np.asarray(lfilter([1.0], [1.0, -keep], gusts))
    return np.clip(np.tile(daily, days) - WIND * wind, 0.02, 1.0)


@dataclass(frozen=True)
class ClockCosts:
    """c_1, c_2, ... for the heater with a clock."""

    price: Floats

    def __iter__(self) -> Iterator[Floats]:
        latest, use = np.full(SLOTS, np.nan), power()
        for t, price in enumerate(self.price.tolist()):
            latest[t % SLOTS] = price
            yield np.outer(np.where(np.isnan(latest), price, latest), use).ravel()


def bent(v: Floats, temperature: float) -> Floats:
    """The coins of the policy of v: (off, on) x level -> chance of being on next."""
    level = np.arange(LEVELS + 1)
    off, on = np.append(np.inf, v[:LEVELS]), np.append(v[LEVELS:], np.inf)
    plain = np.stack([coin(False, level), coin(True, level)])
    least = np.minimum(off, on)
    heads, tails = plain * np.exp((least - on) / temperature), (1.0 - plain) * np.exp((least - off) / temperature)
    return np.asarray(heads / (heads + tails))


class Tanks(NamedTuple):
    """What simulated tanks did: the share of their power in each step, and their temperatures in the last week."""

    use: Floats
    degrees: Floats
    switches: float  # on, per tank and day


def simulate(coins: Floats, tanks: int, seed: int = 0) -> Tanks:
    """Tanks with people: hot water is drawn at random, mornings and evenings more; only the coins are the plan's.

    A draw takes 7.2 levels on average (exponential), and 0.1 level a step leaks: one level a step in all. The cut-out
    keeps a tank at level 42 at most.
    """
    rng = np.random.default_rng(seed)
    hour = np.arange(SLOTS) * 24 / SLOTS
    habit = 0.4 + 1.6 * np.exp(-(((hour - 7.5) / 1.5) ** 2)) + 1.6 * np.exp(-(((hour - 19.5) / 2.0) ** 2))
    habit *= (1.0 - LEAK) / DRAW / habit.mean()
    level, on = rng.uniform(5.0, 35.0, tanks), rng.random(tanks) < 1 / HEAT
    use, degrees, switched = [], [], 0
    for t, table in enumerate(coins):
        heat = np.where(on, np.clip(LEVELS + LEAK - level, 0.0, HEAT), 0.0)
        use.append(heat.mean() / HEAT)
        draw = np.where(rng.random(tanks) < habit[t % SLOTS], rng.exponential(DRAW, tanks), 0.0)
        level = level + heat - LEAK - draw
        chance = table[on.astype(int), np.clip(np.rint(level), 0, LEVELS).astype(int)]
        after = rng.random(tanks) < chance
        switched += int(np.count_nonzero(after & ~on))
        on = after
        if t >= len(coins) - 7 * SLOTS and t % 6 == 0:
            degrees.append((COLDEST + KELVIN * level).astype(np.float32))
    return Tanks(np.array(use), np.concatenate(degrees), switched / tanks / len(coins) * SLOTS)
