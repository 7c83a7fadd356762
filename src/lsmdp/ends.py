"""The five ways in which a problem can end: what ``solve`` takes as its third argument.

In each step the controller pays the cost c of its state and T KL(Q||P) for its moves. What it wants to be small is

    Average()             the cost per step in the long run;
    Goal("exit")          everything until the exit, and the terminal cost of the goal that it exits by;
    Discounted(0.99)      everything, a step later counting 0.99 times as much;
    Horizon(terminal=g)   everything in a given number of rounds, each with its own cost, and g at the last state;
    Periodic()            the cost per round in the long run, where the costs of D rounds (a day) come again and again.

With B v = c - T log P e^{-v/T}, one step of dynamic programming, these are the equations v + lambda = B v; v = B v
with v given at the goals; v = c - T log P e^{-a v/T}; V_t = B_t V_{t+1}; and v_k + lambda = B_k v_{k+1 mod D}. One
identity certifies all of them (certificates/). The objects here are small and frozen, and they check what they are
given: whatever can be judged without a model when they are made, the rest when they meet one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from lsmdp.arrays import Floats, Ints, as_terminal, read_only, real
from lsmdp.costs.given import Seekable, cost_of_round, in_rounds, is_replayable, known_length
from lsmdp.errors import CostError, LsmdpError, SpecError, told
from lsmdp.inputs.forms import LARGEST_NUMBER
from lsmdp.model import LMDP


@dataclass(frozen=True)
class Average:
    """The long-run average cost per step; P must be irreducible."""


@dataclass(frozen=True)
class Goal:
    """First exit: everything is paid until a goal is reached, then the terminal cost of that goal.

    ``goals`` is one state, a list of states, or a mapping from states to their terminal costs (0 where none is given).
    A state is given by its label, its number or, on a grid, its cell (row, column). A terminal cost of inf marks a
    state that must not be entered: it ends everything too, and no policy may get there.
    """

    goals: Any

    def __post_init__(self) -> None:
        if not self.items():
            raise SpecError('there is no goal. Name at least one state, as in Goal("exit") or Goal({"exit": 0.0}).')
        costs = {state: _as_terminal_cost(state, cost) for state, cost in self.items()}
        if all(math.isinf(cost) for cost in costs.values()):
            raise CostError(
                "every goal has the terminal cost inf, which forbids it. At least one goal needs a finite cost."
            )

    def items(self) -> list[tuple[Any, Any]]:
        """Each goal, as it was given, with its terminal cost."""
        if isinstance(self.goals, Mapping):
            return list(self.goals.items())
        several = isinstance(self.goals, list | set | frozenset | range | np.ndarray)
        return [(state, 0.0) for state in (self.goals if several else [self.goals])]

    def settled(self, lmdp: LMDP) -> tuple[Ints, Floats]:
        """The numbers of the goals in this model, ascending, and their terminal costs."""
        found: dict[int, float] = {}
        for state, cost in self.items():
            try:
                x = lmdp.state(state)
            except LsmdpError as unknown:
                raise SpecError(f"the goal {_shown(state)} is not in the model: {unknown}") from None
            if x in found:
                raise SpecError(f"{lmdp.name_of(x)} is named as a goal twice. Keep one of them.")
            found[x] = _as_terminal_cost(state, cost)
        states = np.array(sorted(found), dtype=np.int64)
        return states, read_only(np.array([found[int(x)] for x in states]))


@dataclass(frozen=True)
class Discounted:
    """The sum of all costs, where a step later counts ``discount`` times as much; strictly between 0 and 1."""

    discount: float

    def __post_init__(self) -> None:
        number = real(self.discount)
        if not 0.0 < number < 1.0:
            raise SpecError(
                f"the discount is {told(self.discount)}. It must lie strictly between 0 and 1, such as 0.99. Without a "
                "discount, ask for the long-run average (Average()) or for a goal (Goal(state))."
            )
        object.__setattr__(self, "discount", number)


@dataclass(frozen=True, eq=False)
class Horizon:
    """A given number of rounds, as many as there are costs, and ``terminal`` to pay at the state after the last."""

    terminal: Any = None

    def settled(self, lmdp: LMDP) -> Floats:
        """The terminal cost of each state; 0 where none is given."""
        zero = np.zeros(lmdp.n)
        return as_terminal(zero if self.terminal is None else self.terminal, lmdp.names)


@dataclass(frozen=True)
class Periodic:
    """The long-run average per round where the given costs, one vector for each slot of a day, come again every day."""


End: TypeAlias = Average | Goal | Discounted | Horizon | Periodic


@dataclass(frozen=True, eq=False)
class CostTable:
    """The costs of several rounds, which can be read from any round on: at most a block of them is held at a time.

    What is given may be an array (rounds x n), a list of costs, a table with a column a state, or anything with a
    method ``from_round(t)`` (rounds count from 1), such as ``lsmdp.read_costs``.
    """

    lmdp: LMDP
    given: Any
    count: int

    @classmethod
    def of(cls, lmdp: LMDP, costs: Any) -> CostTable:
        """The costs as they were given, once they have been counted."""
        given = in_rounds(costs, lmdp.names)
        if isinstance(given, Seekable) and not is_replayable(given):
            given = list(given.from_round(1))
        if isinstance(given, Seekable):
            count = known_length(given)
        else:
            given = given if isinstance(given, np.ndarray) else _stacked(lmdp, given)
            if given.ndim != 2:
                raise CostError(
                    f"the costs have the shape {' x '.join(map(str, given.shape)) or 'of a single number'}. This end "
                    "takes one cost vector a round: rounds x states."
                )
            count = len(given)
        if not count:
            raise CostError("the costs have no rounds. Give at least one cost vector.")
        return cls(lmdp, given, count)

    def block(self, first: int, last: int) -> Floats:
        """The costs of the rounds first + 1, ..., last."""
        if isinstance(self.given, np.ndarray):
            rows: Iterator[Any] = iter(self.given[first:last])
        else:
            rows = islice(self.given.from_round(first + 1), last - first)
        out = np.empty((last - first, self.lmdp.n))
        for t, row in enumerate(rows):
            out[t] = cost_of_round(row, self.lmdp.names, first + t + 1)
        require_range(float(np.abs(out).max(initial=0.0)), self.lmdp.temperature)
        return out


def require_range(size: float, T: float) -> None:
    """Raise where costs of this size at this temperature leave floats no room to add them up."""
    if max(size, T, size / T) > LARGEST_NUMBER:
        raise CostError(
            f"the costs reach {size:.3g} at the temperature {T:.3g}. Neither of them nor their ratio may exceed "
            f"{LARGEST_NUMBER:.0e}, since v adds up many of them. Use other units."
        )


def _stacked(lmdp: LMDP, costs: Any) -> Floats:
    try:
        rounds = [cost_of_round(row, lmdp.names, t) for t, row in enumerate(costs, start=1)]
    except TypeError:
        raise CostError("the costs are no sequence. Give a list with one cost vector for each round.") from None
    return np.array(rounds) if rounds else np.empty((0, lmdp.n))


def _as_terminal_cost(state: Any, cost: Any) -> float:
    number = real(cost)
    if math.isnan(number) or number == -math.inf:
        raise CostError(
            f"the terminal cost of the goal {_shown(state)} is {told(cost)}. It must be a number; inf forbids to go "
            "there."
        )
    return number


def _shown(state: Any) -> str:
    return f'"{state}"' if isinstance(state, str) else str(state)
