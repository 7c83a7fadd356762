"""What ``solve`` returns for a long-run average: a policy, what it costs, and the proof that no policy costs less.

A :class:`Solution` holds the value function v, bounds between which the optimal average cost and that of the policy of
v both lie, and the story of how v was found. The policy, its long-run law and the parts of its cost are worked out when
they are asked for. The other ends return the classes of values/.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.arrays import CSR, Floats
from lsmdp.certificates.reversible import policy_bounds
from lsmdp.model import LMDP
from lsmdp.output.notebooks import drawn, solution_html
from lsmdp.output.tables import states_table
from lsmdp.policy import Policy

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The optimal average cost within ``bounds``, and a policy that achieves it within the same bounds.

    ``bounds`` were computed from ``v`` as it stands here, rounding included: whatever the solver did, the optimal
    average cost and the average cost of ``policy`` both lie in them. ``v`` has minimum 0. ``status`` is a sentence.
    """

    lmdp: LMDP
    c: Floats
    v: Floats
    bounds: tuple[float, float]
    certified: bool
    status: str
    solver: str
    iterations: int
    seconds: float
    story: tuple[str, ...] = ()  # what the solver measured, chose and did

    @property
    def average_cost(self) -> float:
        """The middle of the bounds; off by at most half the gap."""
        return self.bounds[0] + self.gap / 2

    @property
    def gap(self) -> float:
        """Width of the bounds: how far the average cost and the policy can be from optimal."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def policy_bounds(self) -> tuple[float, float]:
        """The same bounds, narrower where P is reversible: [min r, mu.r] still holds the optimum and the policy.

        mu is the long-run law of the policy and r the residual of v; certificates/ derives it with its rounding.
        """
        return policy_bounds(self.lmdp, self.c, self.v)

    @property
    def value_span(self) -> float:
        """max v - min v."""
        return float(np.ptp(self.v))

    @cached_property
    def policy(self) -> Policy:
        """The policy Q_v (eq:optQ)."""
        return Policy(self.lmdp, self.v)

    @property
    def stationary(self) -> Floats:
        """mu, the long-run law of the state under the policy; also the gradient of the average cost in c."""
        return self.policy.stationary()

    @cached_property
    def transition_measure(self) -> CSR:
        """pi(x, y) = mu(x) Q(y|x), the long-run law of a move (sec:convex)."""
        return self.policy.transition_measure()

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "average_cost": self.average_cost,
            "bounds": list(self.bounds),
            "gap": self.gap,
            "value_span": self.value_span,
            "solver": self.solver,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "status": self.status,
        }

    def to_frame(self) -> pa.Table:
        """A row a state: state, cost, value, share of the time; an Arrow table, with ``.to_pandas()``."""
        return states_table(self)

    def plot(self, show: str = "value", ax: Axes | None = None) -> Axes:
        """Draw "value", "cost" or "time" (the share of it in the long run) on the map, with arrows of the policy."""
        axes: Axes = drawn("answer", self, show, ax)
        return axes

    def _repr_html_(self) -> str:
        return solution_html(self)

    def __str__(self) -> str:
        lo, hi = self.bounds
        return (
            f"average cost {self.average_cost:.12g}   in [{lo:.15g}, {hi:.15g}]\n"
            f"{self.status}\n"
            f"{self.lmdp.n:,} states, {self.lmdp.nnz:,} moves; value span {self.value_span:.6g}; "
            f"{self.solver}, {self.iterations} steps, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Solution(average_cost={self.average_cost:.12g}, gap={self.gap:.2g}, solver={self.solver!r})"
