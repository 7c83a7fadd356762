"""What is computed once for the page of a solve: the laws with and without steering, and who is charged for what.

In goes a solution, and the model and the costs as the user gave them; out come the long-run shares of the time of the
policy and of P, the parts of the average cost, and what P pays if it is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import ConvergenceError
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.values import Values


class AnswerFacts:
    """What is computed once: the laws with and without steering, and who is charged for what."""

    def __init__(self, solution: Any, lmdp: LMDP, c: Floats) -> None:
        self.solution, self.lmdp, self.c = solution, lmdp, c
        self.is_sum = isinstance(solution, Values)
        self.Q = solution.policy.matrix()
        self.passive_chances = np.asarray(lmdp.P[solution.lmdp.entry_rows, self.Q.indices]).ravel()
        self.share = None if self.is_sum else _law(solution.policy)
        self.passive = None if self.is_sum else _law(Policy(lmdp, np.zeros(lmdp.n)))
        self.change = None if self.share is None or self.passive is None else self.share - self.passive

    @property
    def parts(self) -> dict[str, float] | None:
        """The average cost of the policy: what it pays for states, for steering and, where they cost, for moves."""
        if self.share is None:
            return None
        states, steering = float(self.share @ self.c), self.lmdp.temperature * float(self.share @ self._divergence())
        parts = {"states": states, "steering": steering}
        if self.solution.lmdp is not self.lmdp:
            parts["moves"] = self.solution.average_cost - states - steering
        return parts

    @property
    def alone(self) -> float | None:
        """What P pays if it is left alone, on average."""
        if self.passive is None:
            return None
        tilted = self.solution.lmdp
        if tilted is self.lmdp:
            return float(self.passive @ self.c)
        if tilted.P.nnz != self.lmdp.P.nnz:
            return None  # a move is so dear that its chance is no float any more
        logs = self.lmdp.P.data * (self.lmdp.log_P - tilted.log_P)  # what P' charges P for being P
        rows = np.add.reduceat(logs, self.lmdp.P.indptr[:-1])
        return float(self.passive @ (self.solution.c + self.lmdp.temperature * rows))

    def _divergence(self) -> Floats:
        """KL(Q || P) in each state, for the P of the user."""
        chances, passive = self.Q.data, self.passive_chances
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(chances > 0.0, chances * np.log(chances / passive), 0.0)
        return np.asarray(np.add.reduceat(terms, self.Q.indptr[:-1]))

    def name(self, x: int) -> str:
        """What a state is called on the map and in a table."""
        if self.lmdp.labels is not None:
            return self.lmdp.labels[x]
        if self.lmdp.grid_shape is None:
            return str(x)
        row, column = (int(part) for part in self.lmdp.positions[x])
        return f"row {row}, column {column}"

    def place(self, x: int) -> str:
        """What a sentence calls it: a number alone would be taken for a quantity."""
        name = self.name(x)
        return f"state {name}" if name.isdecimal() else name


def _law(policy: Policy) -> Floats | None:
    try:
        return policy.stationary()
    except ConvergenceError:
        return None
