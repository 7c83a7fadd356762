"""One learner in a game: what it knows, the policy that it is about to play, and its accounts.

Rounds come in blocks, and a round is a block of one. In each block the learner plays and learns, and the accounts say
what that cost. It does not matter to any figure where a game is cut into blocks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.game.accounts import Accounts
from lsmdp.game.records import Records
from lsmdp.inputs.forms import Past
from lsmdp.learners import CompleteLearner, State, unpack
from lsmdp.learners.protocol import arrays_below
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

_WEIGHTS_AT_A_TIME = 2**20  # A block of mixtures has at most so many weights, 8 MB: one for each move in each round.


@dataclass
class Player:
    """A learner, its state, its accounts, and the policy of the coming round where that was worked out already."""

    lmdp: LMDP
    learner: CompleteLearner
    state: State
    accounts: Accounts
    upcoming: AnyPolicy | None = None

    @classmethod
    def enter(cls, lmdp: LMDP, learner: CompleteLearner, start: Floats, walkers: int, seed: int) -> Player:
        """A learner before round 1."""
        return cls(lmdp, learner, learner.init(lmdp, start), Accounts.open(lmdp, start, walkers, seed))

    @property
    def law(self) -> Floats:
        """The law of the state before the coming round."""
        return self.accounts.law

    @property
    def coming(self) -> AnyPolicy:
        """The policy of the coming round."""
        if self.upcoming is None:
            self.upcoming = self.learner.policy(self.lmdp, self.state)
        return self.upcoming

    def play(self, t: int, costs: Floats) -> Records:
        """Play the rounds t, t + 1, ..., one for each row of costs: in one go, or one by one if the learner prefers."""
        size = max(1, len(costs)) if self.learner.takes_blocks(self.lmdp, self.state) else 1
        if size > 1 and self.learner.plays_mixtures(self.lmdp, self.state):
            size = min(size, max(1, _WEIGHTS_AT_A_TIME // self.lmdp.nnz))
        blocks = range(0, len(costs), size)
        return Records.joined([self._play(t + first, costs[first : first + size]) for first in blocks])

    def _play(self, t: int, costs: Floats) -> Records:
        began, rounds = time.perf_counter(), len(costs)
        played = self.learner.observe_block(self.lmdp, self.state, costs, self.upcoming)
        bill = self.accounts.settle(t, costs, played)
        self.state, self.upcoming = played.state, played.policies[rounds]
        return Records(
            round=t + np.arange(rounds),
            learner=self.learner.name,
            loss=bill.state_cost + bill.control_cost,
            state_cost=bill.state_cost,
            control_cost=bill.control_cost,
            ideal_loss=bill.ideal_loss,
            average_cost=(played.lo + played.hi) / 2,
            gap=played.hi - played.lo,
            policy_change=bill.policy_change,
            ideal_step=bill.ideal_step,
            sampled_loss=bill.sampled_loss,
            steps=played.steps,
            seconds=np.full(rounds, (time.perf_counter() - began) / rounds),
        )

    def to_arrays(self) -> dict[str, Any]:
        """Everything that the next round needs, as named arrays."""
        state = self.learner.pack(self.state)
        return self.accounts.to_arrays() | {f"state.{name}": array for name, array in state.items()}

    def restore(self, arrays: Mapping[str, Any], past: Past | None) -> None:
        """Go on from what ``to_arrays`` gave after these rounds, once it is certain that it can be that.

        Without a past, only the accounts are restored, and there is no state to play on with.
        """
        self.accounts.restore(arrays, alone=past is None)
        self.state = None if past is None else unpack(self.state, arrays_below("state", arrays), past)
        self.upcoming = None
