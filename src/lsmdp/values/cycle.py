"""The answer for a period: the average cost per round of days that come again and again, and a policy for each slot.

With the values V_k at the beginning of slot k, the policy of slot k is that of V_{k+1}, and after the last slot comes
the first; one day back from V proves bounds on the average cost (certificates/).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.ends import Periodic
from lsmdp.errors import SpecError
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.values.common import end_words, state_column


@dataclass(frozen=True, eq=False, repr=False)
class Cycle:
    """The best policy for each slot of a day that comes again and again, and bounds on the average cost per round.

    ``bounds`` hold the optimal average cost and that of the policies. ``values[k]`` belongs to the beginning of slot
    k + 1, less a constant.
    """

    lmdp: LMDP
    slots: Floats
    end: Periodic
    values: Floats
    bounds: tuple[float, float]
    certified: bool
    status: str
    solver: str
    iterations: int
    seconds: float
    story: tuple[str, ...] = ()

    @property
    def average_cost(self) -> float:
        """The middle of the bounds; off by at most half the gap."""
        return self.bounds[0] + self.gap / 2

    @property
    def gap(self) -> float:
        """Width of the bounds."""
        return self.bounds[1] - self.bounds[0]

    @property
    def v(self) -> Floats:
        """The values at the beginning of a day."""
        return np.asarray(self.values[-1])

    def policy(self, slot: int) -> Policy:
        """What to do in a slot of the day, or in any round; slots count from 1."""
        if not isinstance(slot, int | np.integer) or slot < 1:
            raise SpecError(f"there is no slot {slot}. Slots and rounds count from 1.")
        return Policy(self.lmdp, self.values[(int(slot) - 1) % len(self.slots) + 1])

    def columns(self) -> dict[str, Any]:
        """A table of the states: their names, and their values at the beginning of each slot."""
        slots = {f"value {k + 1}": self.values[k] for k in range(len(self.slots))}
        return {"state": state_column(self.lmdp), **slots}

    def arrays(self) -> dict[str, Floats]:
        """The values of each slot, by name."""
        return {"values": self.values[: len(self.slots)]}

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "states": self.lmdp.n,
            "entries": self.lmdp.nnz,
            "end": end_words(self.end),
            "slots": len(self.slots),
            "average_cost": self.average_cost,
            "bounds": list(self.bounds),
            "gap": self.gap,
            "solver": self.solver,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "status": self.status,
        }

    def __str__(self) -> str:
        low, high = self.bounds
        return (
            f"average cost {self.average_cost:.12g} per round, in [{low:.15g}, {high:.15g}]\n{self.status}\n"
            f"{len(self.slots)} slots, {self.lmdp.n:,} states, {self.lmdp.nnz:,} moves; {self.solver}, "
            f"{self.iterations} days, {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"Cycle(average_cost={self.average_cost:.12g}, gap={self.gap:.2g}, slots={len(self.slots)})"
