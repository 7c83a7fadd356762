"""What ``solve`` returns for the ends that are not the long-run average of one cost: answers with their proofs.

    Values      a goal, a discount    two functions of the state: lower <= optimum <= cost of ``policy`` <= upper
    Schedule    a horizon             the same before each round t, and a policy for each: ``policy(t)``
    Cycle       a period              two numbers around the average cost per round, and a policy for each slot

The solvers of solvers/ends/ make them, and certificates/ derives the bounds. The policy of a value function v is
Q_v(y|x) ~ P(x,y) e^{-v(y)/T}; in round t or slot k it is that of the values of the next round or slot, and with a
discount a it is that of a v.

- :mod:`~lsmdp.values.sums`: ``Values``;
- :mod:`~lsmdp.values.schedule`: ``Schedule``;
- :mod:`~lsmdp.values.cycle`: ``Cycle``;
- :mod:`~lsmdp.values.common`: what they have in common.
"""

from __future__ import annotations

from lsmdp.values.common import end_words as end_words
from lsmdp.values.cycle import Cycle as Cycle
from lsmdp.values.schedule import Schedule as Schedule
from lsmdp.values.sums import Values as Values
