"""Learners that do not learn: the passive dynamics, and any fixed policy.

``Passive()`` plays P in every round, and pays the state costs alone, since KL(P || P) = 0: what doing nothing costs.
``Fixed(policy)`` plays one policy Q_v in every round, such as that of a solution for costs that were known beforehand.
What they are shown of the costs leaves their state as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError, told
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.base import LearnerBase
from lsmdp.learners.played import Kernels, Played, same_values
from lsmdp.mixture import Mixture
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy, Policy


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
        return same_values(np.zeros(lmdp.n), len(costs), FixedState(state.t + len(costs)))


@dataclass(frozen=True, eq=False)
class Fixed(LearnerBase):
    """Always the same policy, for example a :class:`~lsmdp.solvers.Solution`'s."""

    fixed: AnyPolicy

    def __post_init__(self) -> None:
        if not isinstance(self.fixed, AnyPolicy):
            raise SpecError(f"Fixed takes a policy, not {told(self.fixed)}. Give that of a solution: solution.policy.")

    @property
    def name(self) -> str:
        """fixed."""
        return "fixed"

    @property
    def plays_mixtures(self) -> bool:
        """Whether the policy that was given is one."""
        return not isinstance(self.fixed, Policy)

    def init(self, lmdp: LMDP) -> FixedState:
        """Nothing to know; but the policy must belong to a model of this size."""
        if self.fixed.lmdp.n != lmdp.n:
            raise SpecError(f"the fixed policy has {self.fixed.lmdp.n} states, but the model has {lmdp.n}.")
        return FixedState(0)

    def policy(self, lmdp: LMDP, state: FixedState) -> AnyPolicy:
        """The policy that was given."""
        if isinstance(self.fixed, Policy):
            return Policy(lmdp, self.fixed.v)
        return Mixture(lmdp, self.fixed.matrix())

    def takes_blocks(self, lmdp: LMDP, state: FixedState) -> bool:
        """As many rounds as there are: what is known of the policy serves them all."""
        return True

    def observe_at(self, lmdp: LMDP, state: FixedState, x: int, cost: float) -> FixedState:
        """The cost is ignored."""
        return FixedState(state.t + 1)

    def observe_block(self, lmdp: LMDP, state: FixedState, costs: Floats, policy: AnyPolicy | None = None) -> Played:
        """The costs are ignored."""
        rounds = len(costs)
        after, nothing = FixedState(state.t + rounds), np.full(rounds, np.nan)
        if isinstance(self.fixed, Policy):
            return same_values(self.fixed.v, rounds, after)
        mine = self.policy(lmdp, state) if policy is None else policy
        weights = np.broadcast_to(mine.matrix().data, (rounds + 1, lmdp.nnz))
        kernels = Kernels(weights, np.broadcast_to(mine.kl(), (rounds + 1, lmdp.n)))
        return Played((), nothing, nothing, np.zeros(rounds, np.int64), after, kernels=kernels)
