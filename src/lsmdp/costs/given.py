"""Costs of several rounds, as they are given: in which forms, and what each form can do.

A sequence of costs is an array (rounds x states), a list, a table with a column a state or with the columns round,
state and cost, or anything that yields one cost after another. ``in_rounds`` puts what comes by name in the order of
the states. What else a sequence can do is declared here, once, and asked for nowhere else:

    from_round(t)   yields c_t, c_{t+1}, ...: it can be read from any round on       :class:`Seekable`
    replayable      whether it can be gone through more than once                    ``is_replayable``
    T               how many rounds there are, where that is known beforehand        ``known_length``

An iterator that does not say otherwise can be gone through once; everything else, as often as one likes. ``in_blocks``
checks costs and hands them out some rounds at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lsmdp.arrays import Floats, States, as_cost
from lsmdp.costs.names import find
from lsmdp.errors import CostError, told
from lsmdp.inputs.frames import as_frame, is_frame
from lsmdp.inputs.labels import Ints, Names, in_order, is_named


@runtime_checkable
class Seekable(Protocol):
    """Costs that can be read from any round on; rounds count from 1."""

    def from_round(self, t: int) -> Iterator[Any]:
        """c_t, c_{t+1}, ..."""


def is_replayable(costs: Any) -> bool:
    """Whether costs can be gone through more than once, and give the same numbers again."""
    return bool(getattr(costs, "replayable", not isinstance(costs, Iterator)))


def known_length(costs: Any) -> int | None:
    """How many rounds there are: as they say, or as they are counted where that is no loss; None: it is not known."""
    if isinstance(costs, np.ndarray | list | tuple):
        return len(costs)
    known: int | None = getattr(costs, "T", None)
    if known is None and isinstance(costs, Seekable) and is_replayable(costs):
        return sum(1 for _ in costs.from_round(1))
    return known


def in_rounds(costs: Any, names: Names) -> Any:
    """A sequence of costs whose rounds follow the states: a DataFrame, a row a round, or rounds by name, one by one.

    On a grid, an array of rounds x rows x columns has a map a round. Anything else is returned as it is.
    """
    if isinstance(costs, np.ndarray) and costs.ndim == 3 and names.is_map(costs.shape[1:]):
        return costs[:, *names.cells.astype(np.int64).T]
    if isinstance(costs, np.ndarray | Seekable):
        return costs
    if isinstance(costs, str | PathLike):
        rounds = "" if find(str(costs)) is None else ", rounds=1000"
        raise CostError(
            f'the costs are "{costs}", a name or a path and no numbers. Read them first: lsmdp.read_costs("{costs}", '
            f"lmdp{rounds})."
        )
    costs = as_frame(costs)
    if is_frame(costs):
        if {str(name).lower() for name in costs.columns} == {"round", "state", "cost"}:
            return _by_round(costs, names)
        return costs.to_numpy()[:, names.order(list(costs.columns), "the table of costs")]
    if is_named(costs):
        raise CostError(
            "the costs are given by name and without rounds. Give a list with one of them for each round, or a table "
            "with a row a round and a column a state."
        )
    if not isinstance(costs, Iterable) and not hasattr(type(costs), "__getitem__"):
        raise CostError(
            f"the costs are no sequence, but {told(costs)}. Give an array with a row for each round and a column "
            "for each state, or a list with one cost vector for each round."
        )
    plain = isinstance(costs, list | tuple) and not any(is_frame(c_t) or is_named(c_t) for c_t in costs)
    return costs if plain or not isinstance(costs, Iterable) else CostsByName(costs, names)


def _by_round(costs: Any, names: Names) -> Any:
    """A long table, with the columns round, state and cost, as rounds x states; rounds count from 1, in any order."""
    rounds, states, values = (
        np.asarray(costs[name].to_numpy() if hasattr(costs[name], "to_numpy") else costs[name])
        for wanted in ("round", "state", "cost")
        for name in costs.columns
        if str(name).lower() == wanted
    )
    if rounds.dtype.kind not in "iu" or not rounds.size:
        raise CostError(
            f"the rounds of a long table are {rounds.dtype} values. Count them 1, 2, 3, ... in whole numbers."
        )
    counted = np.unique(rounds)
    if not np.array_equal(counted, np.arange(1, counted.size + 1)):
        gap = next(t for t in range(1, counted.size + 2) if t > counted.size or counted[t - 1] != t)
        raise CostError(f"round {gap} is missing from the long table of costs. Count the rounds 1, 2, 3, ...")
    return np.stack(
        [
            in_order(dict(zip(states[at].tolist(), values[at].tolist(), strict=True)), names, f"the cost of round {t}")
            for t, at in ((t, _once(states, np.flatnonzero(rounds == t), t)) for t in counted.tolist())
        ]
    )


def _once(states: Any, at: Ints, t: int) -> Ints:
    """The rows of a round, each of them with a state of its own."""
    names, times = np.unique(states[at].astype(str), return_counts=True)
    if times.max() > 1:
        raise CostError(f'the cost of round {t} names "{names[times.argmax()]}" {times.max()} times. Keep one of them.')
    return at


def in_blocks(rounds: Iterable[Any], n: int, size: int, first: int = 1) -> Iterator[Floats]:
    """Costs of consecutive rounds, checked, as arrays of at most ``size`` x n; ``first`` is the first one's number."""
    rest = iter(rounds)
    while pulled := list(islice(rest, size)):
        yield stacked(pulled, n, first)
        first += len(pulled)


def stacked(rounds: Sequence[Any] | Floats, n: int, first: int) -> Floats:
    """Rounds from ``first`` on as one array, or a sentence about the first that is no cost."""
    parts, shape = ([rounds], (len(rounds), n)) if isinstance(rounds, np.ndarray) else (rounds, (n,))
    if all(isinstance(part, np.ndarray) and part.dtype == np.float64 and part.shape == shape for part in parts):
        block = np.array(rounds)
        if np.isfinite(block).all():
            return block
    return np.array([cost_of_round(c_t, n, t) for t, c_t in enumerate(rounds, first)])


def cost_of_round(c_t: Any, states: States, t: int) -> Floats:
    """One cost, or a sentence that begins with the number of its round."""
    try:
        return as_cost(c_t, states)
    except CostError as wrong:
        raise CostError(f"round {t}: {wrong}") from None


@dataclass(frozen=True, eq=False)
class CostsByName:
    """Costs one by one, those by name in the order of the states."""

    costs: Iterable[Any]
    names: Names

    @property
    def replayable(self) -> bool:
        """Whether they can be gone through more than once."""
        return is_replayable(self.costs)

    def __iter__(self) -> Iterator[Any]:
        for t, c_t in enumerate(self.costs, 1):
            yield in_order(c_t, self.names, f"the cost of round {t}")


@dataclass(frozen=True, eq=False)
class FirstRounds:
    """The first T rounds of costs."""

    costs: Any
    T: int

    @property
    def replayable(self) -> bool:
        """Whether they can be gone through more than once."""
        return is_replayable(self.costs)

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self.costs), self.T)


class SeekableFirstRounds(FirstRounds):
    """The same of costs that can be read from any round on."""

    def from_round(self, t: int) -> Iterator[Any]:
        """c_t, ..., c_T."""
        return islice(self.costs.from_round(t), self.T - t + 1)
