"""The solver: from a model and a cost to an answer that certifies itself.

The optimal average cost lambda and the value function v satisfy the Bellman equation (eq:bellman_V)

    v(x) + lambda = c(x) - T log sum_y P(x,y) e^{-v(y)/T},

that is, e^{-lambda/T} is the Perron root of diag(e^{-c/T}) P and z = e^{-v/T} its eigenvector (eq:bellman_Z). ``solve``
works with v, never with z alone, so that no span of v underflows; divides by the temperature T first; and ends by
evaluating the certificate of problem.py on the very v that it returns.

One file per method, all behind the protocol of problem.py: power.py, direct.py, dense.py, krylov.py (the last three
share newton.py), and auto.py, which chooses. ``follow`` (follow.py) solves again after the cost has changed a little,
by sweeps over the states (seidel.py) or with the factors of earlier rounds (chord.py).
"""

from __future__ import annotations

from lsmdp.perron.auto import Auto
from lsmdp.perron.certified import solve
from lsmdp.perron.chord import Rounds
from lsmdp.perron.dense import Dense
from lsmdp.perron.direct import Direct
from lsmdp.perron.follow import NOWHERE, Followed, follow, follow_all
from lsmdp.perron.krylov import Krylov
from lsmdp.perron.power import Power
from lsmdp.perron.problem import Attempt, Method, Problem
from lsmdp.perron.solution import Solution

__all__ = [
    "NOWHERE",
    "Attempt",
    "Auto",
    "Dense",
    "Direct",
    "Followed",
    "Krylov",
    "Method",
    "Power",
    "Problem",
    "Rounds",
    "Solution",
    "follow",
    "follow_all",
    "solve",
]
