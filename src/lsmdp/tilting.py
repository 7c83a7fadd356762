"""Costs of moves, absorbed into the passive dynamics.

A controller that pays c(x, y) for moving from x to y, besides T KL(Q||P), faces in each state

    sum_y Q(y) [ c(x, y) + T log(Q(y) / P(y|x)) ]  =  T KL(Q || P'(.|x)) - T log Z(x),

    Z(x) = sum_y P(y|x) e^{-c(x,y)/T},        P'(y|x) = P(y|x) e^{-c(x,y)/T} / Z(x),

for *every* Q with the support of P: write c(x, y) = -T log e^{-c(x,y)/T} and collect the logarithms. So the problem is
the one with passive dynamics P' and -T log Z(x) added to the cost of state x, policy by policy, not only at the
optimum. Since -T log Z(x) is a soft minimum, min_y c(x, y) <= -T log Z(x) <= sum_y P(y|x) c(x, y).

All of it is computed from the costs less m(x) = min_y c(x, y), which is added to the cost of x in the end: what all
moves from x have in common neither overflows nor takes digits from P'. Only a move whose chance under P' is below the
smallest float (about e^-708) is beyond us, and refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lsmdp.arrays import CSR, Floats, like
from lsmdp.errors import CostError
from lsmdp.labels import name_state

TINIEST = float(np.finfo(np.float64).tiny)


def tilted(P: CSR, costs: Floats, temperature: float, labels: Sequence[str] | None = None) -> tuple[CSR, Floats]:
    """P' and -T log Z for one cost per entry of P."""
    rows = P.indptr[:-1]
    entries = np.diff(P.indptr)
    least = np.minimum.reduceat(costs, rows)
    with np.errstate(over="ignore"):  # a cost that is infinitely dearer than the least has the chance 0: refused below
        dearer = (costs - np.repeat(least, entries)) / temperature
    a = np.log(P.data) - dearer
    top = np.maximum.reduceat(a, rows)
    weights = np.exp(a - np.repeat(top, entries))
    total = np.add.reduceat(weights, rows)
    chances = weights / np.repeat(total, entries)
    if (lost := np.flatnonzero(chances < TINIEST)).size:
        at = int(lost[0])
        x = name_state(int(np.searchsorted(P.indptr, at, side="right")) - 1, labels)
        raise CostError(
            f"the move from {x} to {name_state(int(P.indices[at]), labels)} costs {costs[at]:.6g}, so much more than "
            f"others from there that its chance would be below 1e-308 at temperature {temperature:g} ({lost.size} such "
            "moves). Lower the cost, raise the temperature, or take the move out of P."
        )
    return like(P, chances), least - temperature * (top + np.log(total))
