"""Learners that do not learn: the passive dynamics, and any fixed policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.forms import Form, Past
from lsmdp.learners.protocol import Report
from lsmdp.learners.stretch import Stretch, unmoved
from lsmdp.model import LMDP
from lsmdp.policy import Policy


class FixedState(NamedTuple):
    """After t rounds."""

    t: int

    def forms(self, past: Past) -> dict[str, Form]:
        """What its array must be when it comes back from a file (forms.py)."""
        return {"t": past.number}


@dataclass(frozen=True)
class Passive:
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

    def observe(self, lmdp: LMDP, state: FixedState, c_t: Floats) -> FixedState:
        """Ignored."""
        return FixedState(state.t + 1)

    def observe_all(self, lmdp: LMDP, state: FixedState, costs: Floats) -> Stretch:
        """Ignored."""
        return unmoved(np.zeros(lmdp.n), len(costs), FixedState(state.t + len(costs)))

    def report(self, before: FixedState, after: FixedState) -> Report:
        """Nothing is claimed."""
        return Report()


@dataclass(frozen=True, eq=False)
class Fixed:
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

    def observe(self, lmdp: LMDP, state: FixedState, c_t: Floats) -> FixedState:
        """Ignored."""
        return FixedState(state.t + 1)

    def observe_all(self, lmdp: LMDP, state: FixedState, costs: Floats) -> Stretch:
        """Ignored."""
        return unmoved(self.fixed.v, len(costs), FixedState(state.t + len(costs)))

    def report(self, before: FixedState, after: FixedState) -> Report:
        """Nothing is claimed."""
        return Report()
