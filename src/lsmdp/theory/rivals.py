"""Fixed policies to be compared with, and how each fares on the same costs from the same start.

For a stationary policy Q with the laws p_{t+1} = p_t Q, and the leader v*, lambda, Q* of the mean c_bar of all costs,

    L_T(Q) = T lambda + (p_1 - p_{T+1}).v* + sum_t p_t.(c_t - c_bar) + sum_t p_t.KL(Q || Q*)             (new:I4).

The third term is the *phase term*: a cost, negative where Q is in step with the costs. It is at least
-m(Q) max_t span(c_t - c_bar), where m(Q) = sum_t 1/2 |p_t - mu_Q|_1 is the mixing sum. A learner regrets at most

    max_Q R_T(Q) = R' + max_Q {-(p_1 - p_{T+1}).v* - sum_t p_t.(c_t - c_bar) - sum_t p_t.KL(Q || Q*)}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lsmdp import chain
from lsmdp.arrays import (
    CSR,
    Floats,
    as_cost,
    like,
    mean,
    row_sums,
)
from lsmdp.costs.given import is_replayable
from lsmdp.errors import AssumptionError, ConvergenceError
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy
from lsmdp.regret.bracket import bracket
from lsmdp.regret.comparators import control_cost, policy_entries

# A better policy is looked for where there are at most this many rounds times states, which are held in memory.
_SEARCH_NUMBERS = 2**24
_SEARCH_WORK = 2e9  # The search may take this many operations of about a nanosecond each, two seconds.


@dataclass(frozen=True, eq=False)
class CostsAgain:
    """The costs once more, in units of the temperature, if they can be read again."""

    costs: Iterable[Any]
    T: int
    temperature: float

    @property
    def possible(self) -> bool:
        """Whether a second pass sees the same costs."""
        return is_replayable(self.costs)

    def __iter__(self) -> Iterator[Floats]:
        for c_t in islice(iter(self.costs), self.T):
            yield np.asarray(c_t, dtype=np.float64) / self.temperature


class Rival(NamedTuple):
    """One fixed policy and what it paid, with the pieces of new:I4 and the mixing sum."""

    name: str
    loss: float  # L_T(Q)
    boundary: float  # (p_1 - p_{T+1}).v*
    phase: float  # sum p_t.(c_t - c_bar)
    divergence: float  # sum p_t.KL(Q || Q*)
    mixing: float  # m(Q); about some other law where the stationary one is beyond float64
    is_stationary: bool
    phase_span: float  # max span(c_t - c_bar)


def how_rivals_fare(
    lmdp: LMDP, costs: CostsAgain, start: Floats, policies: Mapping[str, Any], v: Floats, c_bar: Floats, search: bool
) -> list[Rival]:
    """How each of the policies fares; with ``search`` also the best that a search finds. Empty if costs are gone."""
    if not costs.possible:
        return []
    known = dict(policies)
    if search and costs.T * lmdp.n <= _SEARCH_NUMBERS:
        found = bracket(lmdp, costs, start, known, work=_SEARCH_WORK)
        known["best found"] = found.best_policy
    log_star = log_entries(lmdp.P, v)
    walks = [_RivalWalk(name, lmdp, Q, start, log_star) for name, Q in known.items()]
    phase_span = 0.0
    for c_t in costs:
        c = as_cost(c_t, lmdp.n)
        phase_span = max(phase_span, float(np.ptp(c - c_bar)))
        for walk in walks:
            walk.go(c, c_bar)
    return [walk.end(start, v, phase_span) for walk in walks]


class _RivalWalk:
    """One policy on its way through the costs."""

    def __init__(self, name: str, lmdp: LMDP, Q: Any, start: Floats, log_star: Floats) -> None:
        q = policy_entries(lmdp, Q)
        kernel = like(lmdp.P, q)
        self.name, self.p, self.backwards = name, start, kernel.T.tocsr()
        self.control = control_cost(lmdp.P, q)
        self.apart = row_sums(like(lmdp.P, q * (log_of(q) - log_star)))
        self.mu, self.is_stationary = _law(Q, kernel)
        self.loss = self.phase = self.divergence = self.mixing = 0.0

    def go(self, c: Floats, c_bar: Floats) -> None:
        """One round."""
        p = self.p
        self.loss += mean(p, c) + mean(p, self.control)
        self.phase += mean(p, c - c_bar)
        self.divergence += mean(p, self.apart)
        self.mixing += 0.5 * float(np.abs(p - self.mu).sum())
        p = self.backwards @ p
        self.p = p / p.sum()

    def end(self, start: Floats, v: Floats, phase_span: float) -> Rival:
        """The record of the whole game."""
        boundary = float((start - self.p) @ v)
        sums = (self.loss, boundary, self.phase, self.divergence, self.mixing)
        return Rival(self.name, *sums, self.is_stationary, phase_span)


def log_of(values: Floats) -> Floats:
    """log, with 0 log 0 = 0 in mind: 0 where the value is 0."""
    return np.asarray(np.log(np.where(values > 0.0, values, 1.0)))


def log_entries(P: CSR, v: Floats) -> Floats:
    """log Q_v at the places of P's entries, however small Q_v is there."""
    return np.asarray(np.log(P.data) + log_tilt(P, v))


def log_tilt(P: CSR, v: Floats) -> Floats:
    """log Q_v/P at the places of P's entries."""
    counts, there = np.diff(P.indptr), v[P.indices]
    falls = np.repeat(np.minimum.reduceat(there, P.indptr[:-1]), counts) - there
    sums = np.add.reduceat(P.data * np.exp(falls), P.indptr[:-1])
    return np.asarray(falls - np.repeat(np.log(sums), counts))


def _law(Q: Any, kernel: Any) -> tuple[Floats, bool]:
    """The stationary law; where there is no one, or it is beyond float64, the uniform law: any fixed one serves."""
    try:
        return (Q.stationary() if isinstance(Q, AnyPolicy) else chain.long_run_law(kernel)), True
    except (AssumptionError, ConvergenceError):
        return np.full(kernel.shape[0], 1.0 / kernel.shape[0]), False
