"""The plan in hindsight beside a game, for new:dynamic: V_t and V_{t+1} of each round, in units of the temperature.

The values come from regret/hindsight.py, less constants. What is stated of them is worked out here from their
definition: r_t = B_t V_{t+1} - V_t is one number, the same in all states, if they are the plan and only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lsmdp.arrays import CSR, Floats
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.regret.hindsight import Hindsight
from lsmdp.theory.rivals import log_tilt


class PlanAhead(NamedTuple):
    """The plan in round t: V_t and V_{t+1} less constants, the policy Q* of V_{t+1}, and the middle of r_t."""

    here: Floats
    after: Floats
    q: Floats
    log_ratio: Floats  # log Q*/P
    step: float


def plan_of(lmdp: LMDP, costs: Any, start: Floats) -> Iterator[Floats] | None:
    """V_1, V_2, ..., V_{T+1} less constants, in units of the temperature; None where the costs are gone or too many."""
    try:
        plan = Hindsight.of(lmdp, costs, start)
    except (SpecError, CostError):  # a cost that is none is an error of the round that it belongs to
        return None
    return _values(plan)


def _values(plan: Hindsight) -> Iterator[Floats]:
    yield plan.kept[0] / plan.lmdp.temperature
    for _, ahead in plan.blocks():
        yield from ahead / plan.lmdp.temperature


def look_ahead(unit: LMDP, c_t: Floats, here: Floats, after: Floats) -> PlanAhead:
    """Round t, with costs in units of the temperature."""
    log_ratio = log_tilt(unit.P, after)
    r = c_t + _soft_minimum(unit.P, after) - here
    return PlanAhead(here, after, unit.P.data * np.exp(log_ratio), log_ratio, float(r.min() + r.max()) / 2)


def _soft_minimum(P: CSR, v: Floats) -> Floats:
    """-log P e^{-v}, each row at its own scale."""
    there, first = v[P.indices], P.indptr[:-1]
    least = np.minimum.reduceat(there, first)
    falls = np.repeat(least, np.diff(P.indptr)) - there
    return np.asarray(least - np.log(np.add.reduceat(P.data * np.exp(falls), first)))
