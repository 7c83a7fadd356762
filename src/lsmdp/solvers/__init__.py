"""The solver: from a model and a cost to an answer that certifies itself.

The optimal average cost lambda and the value function v satisfy the Bellman equation (eq:bellman_V)

    v(x) + lambda = c(x) - T log sum_y P(x,y) e^{-v(y)/T},

that is, e^{-lambda/T} is the Perron root of diag(e^{-c/T}) P and z = e^{-v/T} its eigenvector (eq:bellman_Z). ``solve``
works with v, never with z alone, so that no span of v underflows; divides by the temperature T first; and ends by
evaluating the certificate of problem.py on the very v that it returns.

One file per method, all behind the protocol of problem.py: power.py, factored.py (inverse iteration and Newton's method
with elimination or LAPACK), krylov.py, and auto.py, which chooses. ``warm/`` solves again after the cost has changed a
little: warm/plan.py says how.
"""

from __future__ import annotations

from lsmdp.solution import Solution
from lsmdp.solvers.auto import Auto
from lsmdp.solvers.certified import solve
from lsmdp.solvers.ends import compose
from lsmdp.solvers.factored import Dense, Direct
from lsmdp.solvers.krylov import Krylov
from lsmdp.solvers.power import Power
from lsmdp.solvers.problem import Attempt, Method, Problem

__all__ = [
    "Attempt",
    "Auto",
    "Dense",
    "Direct",
    "Krylov",
    "Method",
    "Power",
    "Problem",
    "Solution",
    "compose",
    "solve",
]
