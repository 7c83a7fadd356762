"""The regret of a pool against each of its experts, and the two sums of its theorem.

A pool (learners/pool.py) knows exactly what each of its experts would have paid, alone and from the same start. With
their losses l_t, the weights w_t, the law p_t of the pool, m_t = sum_i w_{t,i} p^i_t and g_t = c_t + T KL(Q_t || P),

    loss  <=  sum_t w_t.l_t  +  sum_t (p_t - m_t).g_t                                                      (new:pool)
              what the crowd pays   what the pool pays for lagging behind it

All of it is in the state that the pool has at the end of a run: nothing is played again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp.learners import CompleteLearner, State


@dataclass(frozen=True, eq=False, repr=False)
class Experts:
    """What a pool paid beside its experts.

    ``losses`` and ``weights`` are by the names of the experts; the weights are those of the coming round. ``mixed`` is
    sum_t w_t.l_t, and ``behind`` is sum_t (p_t - m_t).g_t.
    """

    loss: float
    losses: Mapping[str, float]
    weights: Mapping[str, float]
    mixed: float
    behind: float

    @property
    def regret(self) -> dict[str, float]:
        """Against each expert: what the pool paid beyond it."""
        return {name: self.loss - paid for name, paid in self.losses.items()}

    @property
    def best(self) -> str:
        """The expert that paid least."""
        return min(self.losses, key=lambda name: self.losses[name])

    @property
    def bound(self) -> float:
        """The right side of the theorem, which the loss does not exceed."""
        return self.mixed + self.behind

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        regret = self.regret
        return {
            "best": self.best,
            "loss_at_most": self.bound,
            "mixed_losses": self.mixed,
            "lag_of_the_law": self.behind,
            "experts": {
                name: {"loss": paid, "regret": regret[name], "weight": self.weights[name]}
                for name, paid in self.losses.items()
            },
        }

    def __repr__(self) -> str:
        return f"Experts(best {self.best} {self.losses[self.best]:.6g}, loss {self.loss:.6g} <= {self.bound:.6g})"

    def __str__(self) -> str:
        width = max(map(len, self.losses))
        lines = [f"{'':{width}}  {'loss':>12}  {'regret':>12}  {'weight':>8}"]
        for name, against in self.regret.items():
            lines.append(f"{name:{width}}  {self.losses[name]:12.4f}  {against:z12.4f}  {self.weights[name]:8.4f}")
        parts = f"{self.mixed:.4f} {'+' if self.behind >= 0.0 else '-'} {abs(self.behind):.4f}"
        return "\n".join([*lines, f"loss {self.loss:.4f} <= {parts} = {self.bound:.4f}"])


def experts_of(learner: CompleteLearner, state: State, loss: float) -> Experts | None:
    """The experts of a pool after a game in which it paid ``loss``; None for any other learner."""
    if not learner.experts or state is None:
        return None
    names = [expert.name for expert in learner.experts]
    losses = dict(zip(names, np.asarray(state.losses).tolist(), strict=True))
    weights = dict(zip(names, np.asarray(state.weights).tolist(), strict=True))
    return Experts(loss, losses, weights, state.mixed, loss - state.flow)
