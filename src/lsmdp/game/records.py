"""What is written down about the rounds of one learner: a record a round, in columns, and the sums of them.

A :class:`Round` is one round of one learner; :class:`Records` are consecutive ones, with a column for each field. A
:class:`Tally` holds the sums so far, which is all that a game keeps. It is looked at along the way in the *marked*
rounds 1, 2, 5, 10, 20, 50, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.inputs.forms import BEYOND_COUNTS, Form

# What the accounts hold is smaller than this, so that the product of two figures is a float.
LARGEST_FIGURE = 1e150


class Round(NamedTuple):
    """One round of one learner. Costs are in the learner's units, [0, 1]; nan stands for what was not computed.

    That may be since it would take too long, or since the stationary law of the policy is beyond float64.

    ``loss`` = ``state_cost`` + ``control_cost`` is exact in expectation. ``ideal_loss`` is the loss at the stationary
    law. ``average_cost`` and ``gap`` certify the policy for the cost it was chosen for. ``policy_change`` is
    max_x |Q_t - Q_{t+1}|_1, and ``ideal_step`` = t * temperature * mu_t.KL(Q_t || Q_{t+1}), whose sum over the rounds
    is the idealised regret of follow the leader. ``sampled_loss`` is the mean over sampled walkers.
    """

    round: int
    learner: str
    loss: float
    state_cost: float
    control_cost: float
    ideal_loss: float
    average_cost: float
    gap: float
    policy_change: float
    ideal_step: float
    sampled_loss: float
    steps: int
    seconds: float


class Records(NamedTuple):
    """Consecutive rounds of one learner: the fields of :class:`Round` as columns."""

    round: Ints
    learner: str
    loss: Floats
    state_cost: Floats
    control_cost: Floats
    ideal_loss: Floats
    average_cost: Floats
    gap: Floats
    policy_change: Floats
    ideal_step: Floats
    sampled_loss: Floats
    steps: Ints
    seconds: Floats

    @classmethod
    def joined(cls, parts: Sequence[Records]) -> Records:
        """Those of one learner, one after the other."""
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: parts[0].learner if name == "learner" else np.concatenate([getattr(part, name) for part in parts])
            for name in cls._fields
        }
        return cls(**columns)

    def part(self, first: int, last: int) -> Records:
        """The rounds from one place (0 is the first of these) up to another."""
        columns: list[Any] = [column if isinstance(column, str) else column[first:last] for column in self]
        return Records(*columns)

    def rows(self) -> list[Round]:
        """One record a round."""
        names = [self.learner] * len(self.round)
        columns = (names if isinstance(column, str) else column.tolist() for column in self)
        return [Round(*row) for row in zip(*columns, strict=True)]


class Tally(NamedTuple):
    """Sums over the rounds so far, for one learner. ``max_gap`` is the widest certificate; nan: none was claimed."""

    loss: float = 0.0
    state_cost: float = 0.0
    control_cost: float = 0.0
    ideal_loss: float = 0.0
    ideal_regret: float = 0.0
    sampled_loss: float = 0.0
    max_gap: float = float("nan")
    solves: int = 0
    steps: int = 0
    seconds: float = 0.0

    def add(self, more: Records) -> Tally:
        """The sums with some more rounds; their bits do not depend on how the rounds are cut into blocks."""
        columns = (
            more.loss,
            more.state_cost,
            more.control_cost,
            more.ideal_loss,
            more.ideal_step,
            more.sampled_loss,
            more.gap,
            more.steps > 0,
            more.steps,
            more.seconds,
        )
        start = np.array(self)[:, np.newaxis]
        sums = np.add.accumulate(np.hstack([start, np.array(columns)]), axis=1)[:, -1]
        sums[Tally._fields.index("max_gap")] = np.fmax(self.max_gap, np.fmax.reduce(more.gap))
        return tally_from(sums)


def tally_from(figures: Floats) -> Tally:
    """The tally with these figures, in the order of its fields."""
    values: dict[str, Any] = dict(zip(Tally._fields, (float(value) for value in figures), strict=True))
    return Tally(**values)._replace(solves=int(values["solves"]), steps=int(values["steps"]))


def tally_form(players: int) -> Form:
    """What the tallies of so many players must be: finite, but for what may not have been computed; counts whole."""
    fields = Tally._fields
    counts = np.isin(fields, ("solves", "steps"))
    blank = np.isin(fields, ("ideal_loss", "ideal_regret", "sampled_loss", "max_gap"))
    low, high = np.where(counts, 0.0, -LARGEST_FIGURE), np.where(counts, BEYOND_COUNTS, LARGEST_FIGURE)
    return Form(((players, len(fields)),), low=low, high=high, blank=blank)


def marks_until(t: int) -> list[int]:
    """The marked rounds up to round t."""
    found = [1]
    while (following := next_mark(found[-1] + 1)) <= t:
        found.append(following)
    return found if t else []


def next_mark(t: int) -> int:
    """The first of the rounds 1, 2, 5, 10, 20, 50, ... that is not before t: where a run is looked at along the way."""
    power: int = 10 ** (len(str(t)) - 1)
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= t)


def is_mark(t: int) -> bool:
    """Whether round t is one of those."""
    return next_mark(t) == t
