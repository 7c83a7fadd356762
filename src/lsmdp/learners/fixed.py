"""Learners that do not learn: the passive dynamics, and any fixed policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.base import LearnerBase
from lsmdp.learners.played import Played, unmoved
from lsmdp.model import LMDP
from lsmdp.policy import Policy


class FixedState(NamedTuple):
    """After t rounds."""

    t: int

    def forms(self, past: Past) -> dict[str, Form]:
        """What its array must be when it comes back from a file (forms.py)."""
        return {"t": past.number}


@dataclass(frozen=True)
class Passive(LearnerBase):
    """Q = P: let it drift, pay no control cost."""

    @property
    def name(self) -> str:
        """passive."""
        return "passive"

    def init(self, lmdp: LMDP) -> FixedState:
        """Nothing to know."""
        return FixedState(0)

    def policy(self, lmdp: LMDP, state: FixedState) -> Policy:
        """P itself."""
        return Policy(lmdp, np.zeros(lmdp.n))

    def takes_blocks(self, lmdp: LMDP, state: FixedState) -> bool:
        """As many rounds as there are: what is known of the policy serves them all."""
        return True

    def observe_at(self, lmdp: LMDP, state: FixedState, x: int, cost: float) -> FixedState:
        """The cost is ignored."""
        return FixedState(state.t + 1)

    def observe_block(self, lmdp: LMDP, state: FixedState, costs: Floats, policy: Policy | None = None) -> Played:
        """The costs are ignored."""
        return unmoved(np.zeros(lmdp.n), len(costs), FixedState(state.t + len(costs)))


@dataclass(frozen=True, eq=False)
class Fixed(LearnerBase):
    """Always the same policy, for example a :class:`~lsmdp.solvers.Solution`'s."""

    fixed: Policy

    @property
    def name(self) -> str:
        """fixed."""
        return "fixed"

    def init(self, lmdp: LMDP) -> FixedState:
        """Nothing to know; but the policy must belong to a model of this size."""
        if self.fixed.lmdp.n != lmdp.n:
            raise SpecError(f"the fixed policy has {self.fixed.lmdp.n} states, but the model has {lmdp.n}.")
        return FixedState(0)

    def policy(self, lmdp: LMDP, state: FixedState) -> Policy:
        """The policy that was given."""
        return Policy(lmdp, self.fixed.v)

    def takes_blocks(self, lmdp: LMDP, state: FixedState) -> bool:
        """As many rounds as there are: what is known of the policy serves them all."""
        return True

    def observe_at(self, lmdp: LMDP, state: FixedState, x: int, cost: float) -> FixedState:
        """The cost is ignored."""
        return FixedState(state.t + 1)

    def observe_block(self, lmdp: LMDP, state: FixedState, costs: Floats, policy: Policy | None = None) -> Played:
        """The costs are ignored."""
        return unmoved(self.fixed.v, len(costs), FixedState(state.t + len(costs)))
