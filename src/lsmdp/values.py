"""What ``solve`` returns for the ends that are not the long-run average of one cost: answers with their proofs.

    Values      a goal, a discount    two functions of the state: lower <= optimum <= cost of ``policy`` <= upper
    Schedule    a horizon             the same before each round t, and a policy for each: ``policy(t)``
    Cycle       a period              two numbers around the average cost per round, and a policy for each slot

The solvers of solvers/ends/ make them, and certificates/ derives the bounds. The policy of a value function v is
Q_v(y|x) ~ P(x,y) e^{-v(y)/T}; in round t or slot k it is that of the values of the next round or slot, and with a
discount a it is that of a v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsmdp.arrays import EPS, Floats, Ints, as_distribution
from lsmdp.certificates import Pair, outward, step_back
from lsmdp.certificates.first_exit import FirstExit
from lsmdp.ends import CostTable, Discounted, Goal, Horizon, Periodic
from lsmdp.errors import SpecError
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# A move that is dearer by this many temperatures has the chance e^-1000, which is 0 in floats.
TEMPERATURES_BEYOND = 1000.0


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The least cost from each state until the end, between ``lower`` and ``upper``.

    lower <= optimum <= cost of ``policy`` <= upper, state by state and rounding included; ``v`` is ``upper``. Of a
    goal, ``lost`` are the states from which it cannot be reached: they have v = inf. ``status`` is a sentence.
    """

    lmdp: LMDP
    c: Floats
    end: Goal | Discounted
    lower: Floats
    upper: Floats
    certified: bool
    status: str
    solver: str
    iterations: int
    seconds: float
    story: tuple[str, ...] = ()
    lost: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    exits: FirstExit | None = None  # the equations of a goal

    @property
    def v(self) -> Floats:
        """The values that the policy belongs to: it costs at most this."""
        return self.upper

    @property
    def path_bounds(self) -> tuple[Floats, Floats] | None:
        """Of a goal, the two bounds by shortest paths (first_exit.py); None where a cost is negative."""
        return None if self.exits is None else self.exits.paths

    @cached_property
    def finite(self) -> Any:
        """The states from which the optimum is finite."""
        return np.isfinite(self.upper)

    @property
    def gap(self) -> float:
        """The largest distance of the two bounds, where v is finite."""
        return float((self.upper[self.finite] - self.lower[self.finite]).max(initial=0.0))

    @property
    def value_span(self) -> float:
        """max v - min v over the states where it is finite."""
        return float(np.ptp(self.upper[self.finite])) if self.finite.any() else 0.0

    @cached_property
    def policy(self) -> Policy:
        """The policy that costs at most v. Moves to states with v = inf have the chance 0 in floats."""
        if isinstance(self.end, Discounted):
            return Policy(self.lmdp, self.end.discount * (self.upper - self.upper.min()))
        beyond = float(self.upper[self.finite].max()) + TEMPERATURES_BEYOND * self.lmdp.temperature
        return Policy(self.lmdp, np.where(self.finite, self.upper, beyond))

    def bounds_from(self, start: Any) -> tuple[float, float]:
        """The optimum and the cost of the policy from a state, or from a law of the start, lie between these."""
        return bounds_from(self.lmdp, self.lower, self.upper, start)

    def columns(self) -> dict[str, Any]:
        """A table of the states: their names, costs, values and bounds."""
        names = list(self.lmdp.labels) if self.lmdp.labels is not None else list(range(self.lmdp.n))
        return {"state": names, "cost": self.c, "value": self.upper, "lower": self.lower, "upper": self.upper}

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON; ``dearest`` is the state that is worst to start from."""
        dearest = int(np.where(self.finite, self.upper, -np.inf).argmax())
        found: dict[str, Any] = {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "end": end_words(self.end),
            "gap": _written(self.gap),
            "value_span": _written(self.value_span),
            "dearest": self.lmdp.labels[dearest] if self.lmdp.labels is not None else dearest,
            "dearest_bounds": [_written(side[dearest]) for side in (self.lower, self.upper)],
            "mean_bounds": [_written(side) for side in self.mean_bounds],
            "lost": int(self.lost.size),
            "solver": self.solver,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "status": self.status,
        }
        if self.path_bounds is not None:
            found["dearest_by_paths"] = [float(side[dearest]) for side in self.path_bounds]
            found["mean_by_paths"] = [float(side[self.finite].mean()) for side in self.path_bounds]
        return found

    @property
    def mean_bounds(self) -> tuple[float, float]:
        """The same from a state drawn uniformly among those with a finite optimum."""
        return (
            self.bounds_from(self.finite / max(1, np.count_nonzero(self.finite))) if self.finite.any() else (0.0, 0.0)
        )

    def __str__(self) -> str:
        low, high = self.mean_bounds
        lost = f"; {self.lost.size:,} states cannot reach the goal" if self.lost.size else ""
        return (
            f"{end_words(self.end)}: mean over all starts {low:.12g} to {high:.12g}\n{self.status}\n"
            f"{self.lmdp.n:,} states, {self.lmdp.nnz:,} moves{lost}; {self.solver}, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Values({self.end!r}, gap={self.gap:.2g}, solver={self.solver!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """The best plan for a given number of rounds: a policy for each of them, and bounds on what it costs.

    ``lower`` and ``upper`` are those of the first round: lower <= optimum <= cost of the plan <= upper from each state.
    Kept are the values at the end of every block of about sqrt(rounds) rounds; those within a block are worked out
    again when they are asked for, bit for bit.
    """

    lmdp: LMDP
    costs: CostTable
    end: Horizon
    every: int  # rounds of a block
    kept: Floats  # the values after each block, less what is in ``least``; the last row is the terminal cost
    least: Floats  # what was taken out of the values of each round
    errors: Floats  # what rounding may have done in each round
    tol: float
    seconds: float
    story: tuple[str, ...] = ()
    _held: dict[int, Floats] = field(default_factory=dict)  # the values of the block that was asked for last

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return self.costs.count

    def at(self, t: int) -> Pair:
        """The bounds from round t to the end, for each state; t = rounds + 1 gives the terminal cost."""
        _require_round(t, self.rounds + 1)
        taken, off = math.fsum(self.least[t - 1 :]), math.fsum(self.errors[t - 1 :])
        v = self._values(t - 1) + taken
        off += EPS * (2.0 * float(np.abs(v).max()) + float(np.abs(taken))) + EPS * off
        return Pair(*outward(v - off, v + off)) if t <= self.rounds else Pair(v, v)

    @cached_property
    def _first(self) -> Pair:
        return self.at(1)

    @property
    def lower(self) -> Floats:
        """From below, at the first round."""
        return self._first.lower

    @property
    def upper(self) -> Floats:
        """From above, at the first round."""
        return self._first.upper

    @property
    def v(self) -> Floats:
        """The plan costs at most this."""
        return self.upper

    @property
    def gap(self) -> float:
        """The largest distance of the two bounds."""
        return float((self.upper - self.lower).max())

    @property
    def certified(self) -> bool:
        """Whether the bounds are as close as was asked for."""
        return self.gap <= self.tol * max(self.lmdp.temperature, float(np.abs(self.upper).max()))

    @property
    def status(self) -> str:
        """A sentence about the bounds."""
        word = "certified" if self.certified else "not certified"
        return (
            f"{word}: from each state, the optimum and the cost of the plan lie within {self.gap:.2g} of each other; "
            "only rounding keeps them apart"
        )

    def policy(self, t: int) -> Policy:
        """What to do in round t; rounds count from 1."""
        _require_round(t, self.rounds)
        return Policy(self.lmdp, self._values(t))

    def bounds_from(self, start: Any) -> tuple[float, float]:
        """The optimum and the cost of the plan from a state, or from a law of the start, lie between these."""
        return bounds_from(self.lmdp, self.lower, self.upper, start)

    def columns(self) -> dict[str, Any]:
        """A table of the states: their names, and values and bounds from the first round on."""
        names = list(self.lmdp.labels) if self.lmdp.labels is not None else list(range(self.lmdp.n))
        return {"state": names, "value": self.upper, "lower": self.lower, "upper": self.upper}

    def arrays(self) -> dict[str, Floats]:
        """The values of the first round, with their bounds, by name."""
        return {"v": self.v, "lower": self.lower, "upper": self.upper}

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        dearest = int(self.upper.argmax())
        return {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "end": end_words(self.end),
            "rounds": self.rounds,
            "gap": self.gap,
            "dearest": self.lmdp.labels[dearest] if self.lmdp.labels is not None else dearest,
            "dearest_bounds": list(self.bounds_from(dearest)),
            "mean_bounds": list(self.bounds_from(np.full(self.lmdp.n, 1.0 / self.lmdp.n))),
            "seconds": self.seconds,
            "status": self.status,
        }

    def _values(self, t: int) -> Floats:
        """The values after t rounds less what was taken out: those of round t + 1."""
        block = min(t // self.every, len(self.kept) - 2)
        if t in (0, self.rounds) or t % self.every == 0:
            return np.asarray(self.kept[-1 if t == self.rounds else t // self.every])
        if block not in self._held:
            self._held.clear()
            self._held[block] = self._again(block)
        return np.asarray(self._held[block][t - block * self.every])

    def _again(self, block: int) -> Floats:
        first, last = block * self.every, min((block + 1) * self.every, self.rounds)
        values, everywhere = np.empty((last - first + 1, self.lmdp.n)), np.ones(self.lmdp.n, dtype=bool)
        values[-1] = self.kept[block + 1]
        costs = self.costs.block(first, last)
        for k in range(last - first - 1, -1, -1):
            values[k] = step_back(self.lmdp, costs[k], values[k + 1], everywhere).values
        return values

    def __str__(self) -> str:
        low, high = self.bounds_from(np.full(self.lmdp.n, 1.0 / self.lmdp.n))
        return (
            f"{self.rounds:,} rounds: mean over all starts {low:.12g} to {high:.12g}\n{self.status}\n"
            f"{self.lmdp.n:,} states, {self.lmdp.nnz:,} moves; {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Schedule(rounds={self.rounds}, gap={self.gap:.2g})"


@dataclass(frozen=True, eq=False, repr=False)
class Cycle:
    """The best policy for each slot of a day that comes again and again, and bounds on the average cost per round.

    ``bounds`` hold the optimal average cost and that of the policies. ``values[k]`` belongs to the beginning of slot
    k + 1, less a constant.
    """

    lmdp: LMDP
    slots: Floats
    end: Periodic
    values: Floats
    bounds: tuple[float, float]
    certified: bool
    status: str
    solver: str
    iterations: int
    seconds: float
    story: tuple[str, ...] = ()

    @property
    def average_cost(self) -> float:
        """The middle of the bounds; off by at most half the gap."""
        return self.bounds[0] + self.gap / 2

    @property
    def gap(self) -> float:
        """Width of the bounds."""
        return self.bounds[1] - self.bounds[0]

    @property
    def v(self) -> Floats:
        """The values at the beginning of a day."""
        return np.asarray(self.values[-1])

    def policy(self, slot: int) -> Policy:
        """What to do in a slot of the day, or in any round; slots count from 1."""
        if not isinstance(slot, int | np.integer) or slot < 1:
            raise SpecError(f"there is no slot {slot}. Slots and rounds count from 1.")
        return Policy(self.lmdp, self.values[(int(slot) - 1) % len(self.slots) + 1])

    def columns(self) -> dict[str, Any]:
        """A table of the states: their names, and their values at the beginning of each slot."""
        names = list(self.lmdp.labels) if self.lmdp.labels is not None else list(range(self.lmdp.n))
        slots = {f"value {k + 1}": self.values[k] for k in range(len(self.slots))}
        return {"state": names, **slots}

    def arrays(self) -> dict[str, Floats]:
        """The values of each slot, by name."""
        return {"values": self.values[: len(self.slots)]}

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "end": end_words(self.end),
            "slots": len(self.slots),
            "average_cost": self.average_cost,
            "bounds": list(self.bounds),
            "gap": self.gap,
            "solver": self.solver,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "status": self.status,
        }

    def __str__(self) -> str:
        low, high = self.bounds
        return (
            f"average cost {self.average_cost:.12g} per round, in [{low:.15g}, {high:.15g}]\n{self.status}\n"
            f"{len(self.slots)} slots, {self.lmdp.n:,} states, {self.lmdp.nnz:,} moves; {self.solver}, "
            f"{self.iterations} days, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Cycle(average_cost={self.average_cost:.12g}, gap={self.gap:.2g}, slots={len(self.slots)})"


def bounds_from(lmdp: LMDP, lower: Floats, upper: Floats, start: Any) -> tuple[float, float]:
    """Bounds from a state, or from a law of the start."""
    if isinstance(start, str | int | np.integer | tuple):
        x = lmdp.state(start)
        return float(lower[x]), float(upper[x])
    p = as_distribution(start, lmdp.names)
    there = p > 0.0
    low, high = p[there] * lower[there], p[there] * upper[there]
    if not np.isfinite(high).all():
        return float(np.add.reduce(low)), math.inf
    off = float(EPS * (4.0 + np.count_nonzero(there)) * np.maximum(np.abs(low), np.abs(high)).sum())
    return float(np.add.reduce(low)) - off, float(np.add.reduce(high)) + off


def end_words(end: Any) -> str:
    """How tables and JSON speak of an end."""
    match end:
        case Goal():
            goals = [f"{state}" + (f"={float(cost):g}" if cost else "") for state, cost in end.items()]
            return f"goal {', '.join(goals[:5])}{' ...' if len(goals) > 5 else ''}"
        case Discounted():
            return f"discounted {end.discount!r}"
        case Horizon():
            return "horizon"
        case Periodic():
            return "periodic"
    return "average"


def _written(number: Any) -> float | None:
    """A number for JSON, which has no inf."""
    return float(number) if np.isfinite(number) else None


def _require_round(t: Any, last: int) -> None:
    if not isinstance(t, int | np.integer) or not 1 <= t <= last:
        raise SpecError(f"there is no round {t}. Rounds count from 1 to {last}.")
