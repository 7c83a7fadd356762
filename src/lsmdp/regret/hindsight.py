"""The plan in hindsight: the best that anybody could have done who knew all costs in advance.

It may change its policy with time. With temperature tau and c_1, ..., c_T the costs of a game that was played,

    V_{T+1} = 0,    V_t = B_t V_{t+1} = c_t - tau log P e^{-V_{t+1}/tau},    Q*_t = Q_{V_{t+1}},

it pays p_1.V_1 from the start p_1, and nobody pays less. One pass from the last round to the first finds that number.

*Rounding.* B_t is monotone, and B_t (V + a) = B_t V + a. Each computed step is V^_t = B_t V^_{t+1} - a_t + e_t, where
the minimum a_t is taken out to keep the numbers small. The sums are those of ``sparse.residual``, with the subtraction
of a_t in place of that of v. So with k entries in the row, s = sum_y P(x,y) exp(-(V^(y) - m)/tau) for any m below V^
there, and eps = 2^-52, the bound of sparse.py reads

    |e_t(x)| <= eps [ tau (3k + 2 + 5 log(1/s)) + |c_t(x) + m| + |B_t V^(x)| + |V^_t(x)| ].

By induction |V_t - V^_t - sum_{s>=t} a_s| <= sum_{s>=t} max|e_s|: errors add up, they do not grow. p_1.V_1 is p_1.V^_1
plus the a_t (summed without error), within the sum of the max|e_t| and eps ((n + 4) max V^_1 + 4 sum|a_t|) for p_1 and
the last sums. Where costs of moves were absorbed, each round is known within the ``rounding`` of the model only.

*Memory.* The values are kept at the end of every block of about sqrt(T) rounds, and those within a block are worked out
again when they are asked for: 2 sqrt(T) vectors in all. The costs are read in pieces, the last one first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.hindsight import values_back
from lsmdp._core.sparse import rows
from lsmdp.arrays import EPS, Floats, as_distribution, read_only
from lsmdp.costs.given import Seekable, in_blocks, in_rounds, is_replayable, known_length, stacked
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.regret.comparators import block_size

# Costs (rounds x states) are held in memory up to so many numbers, 128 MB; a search holds two more arrays of that size.
HELD_NUMBERS = 2**24
# Costs are read backwards in pieces of so many numbers, 16 MB: a file of lines is passed over once for each piece.
PIECE_NUMBERS = 2**21


class PlanSums(NamedTuple):
    """Over rounds: of a_t, of |a_t|, and of max|e_t|."""

    minima: float
    sizes: float
    errors: float


def values_of(lmdp: LMDP, block: Floats, end: Floats, temperature: float) -> tuple[Floats, PlanSums]:
    """V_t less its minimum a_t for the rounds of a block, then ``end``; and the sums of a_t, |a_t| and max|e_t|."""
    values, minima, errors = np.empty((len(block) + 1, lmdp.n)), np.empty(len(block)), np.empty(len(block))
    values[-1] = end
    values_back(rows(lmdp.P), temperature, block, values, minima, errors, np.empty((4, lmdp.n)))
    sums = math.fsum(minima), math.fsum(np.abs(minima)), math.fsum(errors) + len(block) * lmdp.rounding
    return values, PlanSums(*sums)


def cost_of_plan(p1: Floats, first: Floats, sums: list[PlanSums]) -> tuple[float, float]:
    """p_1.V_1 and how far off that may be; ``first`` is V_1 less its minimum."""
    minima, sizes, errors = map(math.fsum, zip(*sums, strict=True))
    return float(p1 @ first) + minima, errors + EPS * ((first.size + 4) * float(first.max()) + 4.0 * sizes)


@dataclass(frozen=True, eq=False)
class SeekableRounds:
    """The costs of T rounds, which can be read from any round on."""

    given: Any
    T: int
    n: int

    @classmethod
    def of(cls, lmdp: LMDP, costs: Any, T: int | None = None) -> SeekableRounds:
        """The first T of these costs, or all of them."""
        costs = in_rounds(costs, lmdp.names)
        if not is_replayable(costs):
            raise SpecError(
                "the costs could be read only once, and a plan in hindsight reads them again, from the last to the "
                "first. Give them as an array, a list or a file."
            )
        T = known_length(costs) if T is None else T
        if not isinstance(costs, np.ndarray | list | tuple | Seekable):
            costs, T = _held(costs, T, lmdp.n)
        if not T:
            raise CostError("the costs have no rounds. Give at least one cost vector.")
        return cls(costs, T, lmdp.n)

    def block(self, first: int, last: int) -> Floats:
        """The costs of the rounds first + 1, ..., last."""
        if isinstance(self.given, np.ndarray | list | tuple):
            return stacked(self.given[first:last], self.n, first + 1)
        return self._of_length(list(islice(self.given.from_round(first + 1), last - first)), first, last)

    def forwards(self, size: int) -> Iterator[Floats]:
        """All of them in one reading, so many rounds at a time."""
        if isinstance(self.given, np.ndarray | list | tuple):
            yield from (self.block(first, min(first + size, self.T)) for first in range(0, self.T, size))
            return
        stream = self.given.from_round(1)
        for first in range(0, self.T, size):
            last = min(first + size, self.T)
            yield self._of_length(list(islice(stream, last - first)), first, last)

    def _of_length(self, found: list[Any], first: int, last: int) -> Floats:
        if len(found) < last - first:
            raise CostError(
                f"there is no round {first + len(found) + 1}: the costs end before it, and the game had {self.T}. "
                "Give the costs that were played."
            )
        return stacked(found, self.n, first + 1)


def _held(costs: Any, T: int | None, n: int) -> tuple[Floats, int]:
    """Costs that come one by one, all of them in memory."""
    kept, count = [], 0
    for block in in_blocks(islice(iter(costs), T), n, block_size(n)):
        kept.append(block)
        count += len(block)
        if count * n > HELD_NUMBERS:
            raise SpecError(
                f"more than {HELD_NUMBERS // n:,} rounds of {n:,} states cannot be held in memory, and these costs "
                "cannot be read backwards. Give them a method from_round(t) that yields c_t, c_{t+1}, ..., or as an "
                "array."
            )
    return (np.concatenate(kept) if kept else np.empty((0, n))), count


@dataclass(frozen=True, eq=False, repr=False)
class Hindsight:
    """The plan in hindsight from the law ``start``: ``cost`` is p_1.V_1 within ``rounding``.

    ``kept`` holds the values before each block of ``every`` rounds, and after the last, less constants.
    """

    lmdp: LMDP
    costs: SeekableRounds
    start: Floats
    every: int
    kept: Floats
    cost: float
    rounding: float
    sizes: float  # the sum of |a_t|

    @classmethod
    def of(cls, lmdp: LMDP, costs: Any, start: Any, T: int | None = None, *, keep: bool = True) -> Hindsight:
        """The plan for T rounds of costs; without ``keep`` only what it costs, in memory that does not grow with T."""
        law, rounds = as_distribution(start, lmdp.names), SeekableRounds.of(lmdp, costs, T)
        every = math.isqrt(rounds.T - 1) + 1 if keep else max(1, PIECE_NUMBERS // lmdp.n)
        count = -(-rounds.T // every)
        kept = np.zeros((count + 1 if keep else 1, lmdp.n))
        first, sums = kept[-1].copy(), []
        piece = every * max(1, PIECE_NUMBERS // (every * lmdp.n))
        for begin in reversed(range(0, rounds.T, piece)):
            table = rounds.block(begin, min(begin + piece, rounds.T))
            for inner in reversed(range(0, len(table), every)):
                values, more = values_of(lmdp, table[inner : inner + every], first, lmdp.temperature)
                first = values[0].copy()
                kept[(begin + inner) // every if keep else 0] = first
                sums.append(more)
        cost, rounding = cost_of_plan(law, first, sums)
        return cls(lmdp, rounds, law, every, read_only(kept), cost, rounding, math.fsum(one.sizes for one in sums))

    @property
    def T(self) -> int:
        """The number of rounds."""
        return self.costs.T

    @property
    def bounds(self) -> tuple[float, float]:
        """p_1.V_1 lies between these."""
        return self.cost - self.rounding, self.cost + self.rounding

    @cached_property
    def with_values(self) -> Hindsight:
        """The same with the values that are needed to play it, worked out again if it was made without."""
        return self if len(self.kept) > 1 else Hindsight.of(self.lmdp, self.costs.given, self.start, self.T)

    def blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """From the first block on: its costs, and the values whose policies the plan plays in its rounds."""
        if len(self.kept) == 1:
            raise SpecError("this plan was made without its values (keep=False). Use plan.with_values.")
        for k, block in enumerate(self.costs.forwards(self.every)):
            values, _ = values_of(self.lmdp, block, self.kept[k + 1], self.lmdp.temperature)
            yield block, values[1:]

    def __repr__(self) -> str:
        return f"Hindsight({self.T:,} rounds, cost {self.cost:.12g})"
