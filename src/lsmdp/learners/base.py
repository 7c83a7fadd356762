"""What the learners of the library have in common.

They are written for blocks of rounds: each of them has an ``observe_block``, and ``observe`` is a block of one.
Everything else that a game, a control loop or the theory may ask has a default here. A learner for which something
else is true declares that in its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lsmdp.arrays import Floats, as_told
from lsmdp.errors import SpecError
from lsmdp.learners.played import Played
from lsmdp.learners.protocol import Report, State
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

Bounds = tuple[float, float]


class Tracking(NamedTuple):
    """Bellman updates a round, each plain or averaged over two iterates: what the theory of tracking speaks of."""

    steps: int
    averaged: bool


# A learner remembers at most this many numbers in one array, half a gigabyte: a state is copied while it changes.
_MOST_NUMBERS_REMEMBERED = 2**26


def require_memory(name: str, rounds: int, n: int) -> None:
    """Raise where a learner would remember the costs of so many rounds on n states, which are too many numbers."""
    most = _MOST_NUMBERS_REMEMBERED
    if rounds * n > most:
        raise SpecError(
            f'"{name}" would remember {rounds:,} costs of each of {n:,} states. A learner remembers at most '
            f"{most:,} numbers: with so many states, give at most {most // n:,} rounds."
        )


class LearnerBase(ABC):
    """A learner of the library, but for what makes it this one."""

    clairvoyant: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables call it; the same as on the command line, with its options."""

    @abstractmethod
    def init(self, lmdp: LMDP) -> State:
        """The state before round 1."""

    @abstractmethod
    def policy(self, lmdp: LMDP, state: State) -> AnyPolicy:
        """The policy of the coming round."""

    @abstractmethod
    def observe_block(self, lmdp: LMDP, state: State, costs: Floats, policy: Any = None) -> Played:
        """What it plays in consecutive rounds, one for each row of costs, and its state after them.

        ``policy`` is that of the first of them, where the caller has it: what is known of it need not be found again.
        """

    def observe(self, lmdp: LMDP, state: State, c_t: Floats) -> State:
        """The state after this round's cost was revealed."""
        return self.observe_block(lmdp, state, as_told(c_t, lmdp.names)[np.newaxis]).state

    def takes_blocks(self, lmdp: LMDP, state: State) -> bool:
        """Whether it does better to be given many rounds at once than one after the other."""
        return lmdp.moves.at_once

    def report(self, before: State, after: State) -> Report:
        """What is known of the policy that was played between these two states: nothing."""
        return Report()

    def bounds(self, lmdp: LMDP, state: State) -> Bounds | None:
        """Bounds on the least average cost for the cost that the coming policy was chosen for; None: no claim."""
        return None

    @property
    def plays_mixtures(self) -> bool:
        """Whether its policies are mixtures: kernels that come from no value function."""
        return False

    @property
    def follows_the_leader(self) -> bool:
        """Whether it plays alg:ftl itself, the optimum for the mean of all costs so far."""
        return False

    @property
    def tracking(self) -> Tracking | None:
        """How it tracks the leader by Bellman updates, if that is what it does."""
        return None
