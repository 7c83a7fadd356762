"""Newton's method with a factor from earlier: for costs that change a little from round to round.

Howard's policy iteration at v solves (I - Q_v) d = r - mu.r. Factored once at an *anchor* v_0, I - Q_{v_0} still serves
as a preconditioner when v has moved: the step d = (I - Q_{v_0})^{-1} (r - mu_0.r) leaves a fraction of r that grows
with the change of the differences of v along moves, not with v itself. Weights e^{v_0 - v} outside the old factor
would make up for all of that but for the change of c. They were tried and do harm: with them a constant is no longer
in the kernel, and the slowest mode has to be found again in each round.

*Residuals of earlier steps are used up.* Each step moves v by V and r by R, nearly linearly, so that along the pairs
(V, R) the residual can be lowered without a solve: the pairs are kept with orthonormal R (generalised conjugate
residuals on a map that is not quite linear). A few slow modes, where the old factor is wrong most, cost one pair each.

*One compiled call, many rounds.* The loop works in the order of elimination, on a copy of P in that order. Each step is
followed by the certificate: z = e^{-v} afresh, Pz, and the enclosure of sparse.py with the largest of each of its
terms. What that computes of v alone is the residual that the next step or the next round begins with, so that a round
of k steps reads P about k times in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsmdp._core import chord
from lsmdp._core.chord import Age, Seen
from lsmdp.arrays import Floats, Ints, frozen
from lsmdp.solvers.problem import Problem
from lsmdp.solvers.warm.anchor import Factor

NEW = Age(0, 0.0, 0.0)  # This is the age of a factor that was just made, and of no factor if nobody has waited for one.


class SolvedRounds(NamedTuple):
    """Consecutive rounds: the v that each led to, its bounds, proven and infinite if nothing is, and its steps."""

    v: Floats
    lo: Floats
    hi: Floats
    steps: Ints

    @classmethod
    def blank(cls, rounds: int, n: int) -> SolvedRounds:
        """Room for so many."""
        return cls(np.empty((rounds, n)), np.empty(rounds), np.empty(rounds), np.zeros(rounds, dtype=np.int64))

    def after(self, done: int) -> SolvedRounds:
        """The same without the first ones."""
        return SolvedRounds(self.v[done:], self.lo[done:], self.hi[done:], self.steps[done:]) if done else self


class Task(NamedTuple):
    """Costs to solve for, each within its gap, from v on; at most so many steps each; and the price of a factor."""

    problem: Problem
    costs: Floats
    gaps: Floats
    v: Floats
    limit: int
    price: float


def iterate(task: Task, made: Factor, out: SolvedRounds, seen: Seen | None, age: Age = NEW) -> tuple[int, Age, Seen]:
    """Steps from v until its bounds for the first of the costs are as narrow as the first gap, and so on, into ``out``.

    Ends after a round when the factor is worn (its age is then that of a new one), and with one whose bounds do not get
    there, within the limit of steps or at all; of that one, only the v that it led to is in ``out``. How many rounds
    are done, the age of the factor then, and what the last certificate has computed of v. ``seen`` is the same of the
    first v; it is written over. All are in units of the cost.
    """
    lmdp, n = task.problem.lmdp, task.v.size
    known = seen or Seen(np.empty(n), False)
    units = chord.ChordUnits(lmdp.temperature, lmdp.rounding, made.longest, task.limit, task.price)
    aims = chord.ChordTargets(frozen(task.costs), frozen(task.gaps), frozen(task.v))
    room = chord.ChordRoom.of(n, made.anchor.blocks.tallest)
    told = chord.rounds(made.moves, made.anchor, aims, units, age, known, room, chord.ChordRounds(*out))
    return told[0], Age(*told[1:]), Seen(known.logs, True)
