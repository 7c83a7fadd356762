"""Down from a given stationary policy: L_T(Q) with its gradient, and L-BFGS on the logits of Q over P's moves.

With J_{T+1} = 0, J_t = c_t + tau KL(Q||P) + Q J_{t+1} and m(x) = sum_t p_t(x), one pass forward and one back give

    dL/dQ(x,y) = sum_t p_t(x) J_{t+1}(y) + tau m(x) (log Q(y|x)/P(x,y) + 1),
    dL/dlogit(x,y) = Q(y|x) ( dL/dQ(x,y) - sum_z Q(z|x) dL/dQ(x,z) ).

A constant added to J_t or to a row of dL/dQ changes nothing in the last line, so both are left out.

**L-BFGS.** The last pairs of steps s and changes y of the gradient correct a first guess of the curvature. The guess is
that of the control cost, tau m(x) Q(y|x), without the coupling within a row and with a floor, as a move that is hardly
used has hardly any. A step by the guess alone would be one of soft policy iteration, and about half as many evaluations
are needed as from a multiple of the identity. Steps are shortened until the loss decreases (Armijo), and pairs without
s.y > 0 are not kept. Sums of products are not left to a BLAS: on a busy machine its threads cost far more than an
evaluation, and the result would depend on their number.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from lsmdp._core.hindsight import push_along, slopes_back
from lsmdp._core.sparse import rows
from lsmdp.arrays import Floats, read_only
from lsmdp.model import LMDP

_PAIRS_OF_A_SEARCH = 10  # So many pairs of steps and changes of the gradient are kept, as is usual for L-BFGS.
_LONGEST_CHANGE = 10.0  # A step changes a logit by at most this much, a factor of 22,000 in a chance.
# A step is shortened at most this often, each time at least to its half; below 2^-30 of it the loss is flat to
# rounding.
_SHORTENINGS = 30
_ARMIJO = 1e-4  # A step must lower the loss by this share of what its slope promises, the usual share.
# A pair whose s and y have a smaller cosine between them than this says nothing about the curvature.
_LEAST_COSINE = 1e-10
_LEAST_USE = 1e-3  # The guess of the curvature is at least that of a move which is used in this share of the rounds.
_LEAST_CHANCE = 1e-12  # A move has at least this chance at a start, since the gradient is proportional to it.
_SMALLEST_GRADIENT = 1e-9  # A search ends where the gradient of the loss per round is no larger than this.
# A search ends where a step lowers the loss by no more than this share of it, which is rounding.
_LEAST_DECREASE = 1e-13


class Point(NamedTuple):
    """Logits, the loss per round there, its gradient, and a guess of its curvature in each of them."""

    logits: Floats
    value: float
    gradient: Floats
    curvature: Floats


Pairs = deque[tuple[Floats, Floats]]


class Search:
    """L_T / T as a function of logits, for costs that are held in memory (T x n), and the way down from a start."""

    def __init__(self, lmdp: LMDP, costs: Floats, p1: Floats) -> None:
        self.P = rows(lmdp.P)
        self.first = lmdp.P.indptr[:-1]
        self.state = np.repeat(np.arange(lmdp.n), np.diff(lmdp.P.indptr))
        self.log_P: Floats = np.log(lmdp.P.data)
        self.temperature, self.costs = lmdp.temperature, costs
        self.laws = np.empty_like(costs)
        self.laws[0] = p1

    @property
    def work(self) -> float:
        """Operations of one evaluation, of about a nanosecond each."""
        return 4.0 * len(self.costs) * self.log_P.size

    def at(self, logits: Floats) -> Point:
        """The loss and its gradient, by a pass forward and a pass back."""
        T, tau, log_Q = len(self.costs), self.temperature, self.log_policy(logits)
        Q, surprise = np.exp(log_Q), log_Q - self.log_P
        control = tau * np.add.reduceat(Q * surprise, self.first)
        kernel = self.P._replace(data=read_only(Q))
        push_along(kernel, kernel.data[np.newaxis], self.laws)
        met = self.laws.sum(axis=0)
        loss = float(np.einsum("tx,tx->", self.laws, self.costs)) + _dot(met, control)
        visits = met[self.state]
        slopes = tau * visits * surprise
        slopes_back(kernel, control, self.costs, self.laws, slopes)
        gradient = Q * (slopes - np.add.reduceat(Q * slopes, self.first)[self.state])
        return Point(logits, loss / T, gradient / T, tau * (visits * Q / T + _LEAST_USE))

    def log_policy(self, logits: Floats) -> Floats:
        """log Q(y|x): the logits, less the logarithm of the sum of their exponentials in the row."""
        scaled = logits - np.maximum.reduceat(logits, self.first)[self.state]
        return np.asarray(scaled - np.log(np.add.reduceat(np.exp(scaled), self.first))[self.state])

    def improve(self, entries: Floats, evaluations: int) -> Floats:
        """The entries of the policy that L-BFGS reaches from these, within so many evaluations."""
        if evaluations < 1:
            return entries
        here, left = self.at(np.log(np.maximum(entries, _LEAST_CHANCE))), evaluations - 1
        pairs: Pairs = deque(maxlen=_PAIRS_OF_A_SEARCH)
        while left > 0 and np.abs(here.gradient).max() > _SMALLEST_GRADIENT:
            there, spent = self._lower(here, _direction(here, pairs), min(left, _SHORTENINGS))
            left -= spent
            if there is None:
                break
            s, y = there.logits - here.logits, there.gradient - here.gradient
            if _dot(s, y) > _LEAST_COSINE * np.sqrt(_dot(s, s) * _dot(y, y)):
                pairs.append((s, y))
            stalled = here.value - there.value <= _LEAST_DECREASE * max(abs(here.value), 1.0)
            here = there
            if stalled:
                break
        return np.asarray(np.exp(self.log_policy(here.logits)))

    def _lower(self, here: Point, direction: Floats, most: int) -> tuple[Point | None, int]:
        """A point along the direction where the loss is lower, if one is found, and the evaluations that it took."""
        slope = _dot(here.gradient, direction)
        step = min(1.0, _LONGEST_CHANGE / float(np.abs(direction).max()))
        for spent in range(1, most + 1):
            there = self.at(here.logits + step * direction)
            rise = there.value - here.value
            if rise <= _ARMIJO * step * slope:
                return there, spent
            step *= min(0.5, max(0.1, -0.5 * step * slope / (rise - step * slope)))  # where a parabola has its minimum
        return None, most


def _direction(here: Point, pairs: Pairs) -> Floats:
    """Minus the gradient times the inverse Hessian that the pairs make of the guess (the two-loop recursion)."""
    direction = -here.gradient
    weights = []
    for s, y in reversed(pairs):
        weights.append(_dot(s, direction) / _dot(s, y))
        direction = direction - weights[-1] * y
    direction = direction / here.curvature
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        direction = direction + (weight - _dot(y, direction) / _dot(s, y)) * s
    return direction


def _dot(a: Floats, b: Floats) -> float:
    return float((a * b).sum())
