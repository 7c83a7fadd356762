"""The solver: from a model and a cost to an answer that certifies itself.

The optimal average cost lambda and the value function v satisfy the Bellman equation (eq:bellman_V)

    v(x) + lambda = c(x) - T log sum_y P(x,y) e^{-v(y)/T},

that is, e^{-lambda/T} is the Perron root of diag(e^{-c/T}) P and z = e^{-v/T} its eigenvector (eq:bellman_Z). ``solve``
works with v, never with z alone, so that no span of v underflows; divides by the temperature T first; and ends by
evaluating the certificate of problem.py on the very v that it returns.

- :mod:`~lsmdp.solvers.certified`: ``solve``, which asks a method and judges what it returns;
- :mod:`~lsmdp.solvers.problem`: what a method is given and what it gives back; one file per method:
- :mod:`~lsmdp.solvers.auto`: the default, which measures and chooses;
- :mod:`~lsmdp.solvers.power`, :mod:`~lsmdp.solvers.krylov`: power steps, and Newton's method with GMRES;
- :mod:`~lsmdp.solvers.factored`: elimination and LAPACK; inverse.py and newton.py have the steps that it takes;
- :mod:`~lsmdp.solvers.ends`: a goal, a discount, a horizon, a period;
- :mod:`~lsmdp.solvers.warm`: the same model again, after the cost has changed a little.
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
