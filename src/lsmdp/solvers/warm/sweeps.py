"""Gauss-Seidel sweeps for the change of v: for graphs that mix fast, and for a few of them loosely joined.

From v to v + d the residual r = Bv - v becomes r + Q d - d - e with 0 <= e <= span(d)^2 / 8: Q is the policy of v, and
the rest is half the variance of d after a step. So d solves (I - Q) d = r - lambda', where the constant lambda' is the
change of the average cost. With w and s = P w of v (sparse.py) and x = w d, a sweep takes the states in turn and
lets each equation hold, with the x of this sweep where there is one:

    x(i) <- gain(i) (r(i) - lambda') + pull(i) sum_{j != i} P(i, j) x(j),
    gain(i) = w(i) / (1 - Q(i, i)),    pull(i) = gain(i) / s(i);

by how much x(i) moves, over gain(i), is the residual e(i) that was left. On a random graph with 7 moves a sweep shrinks
it by 0.26, a power step by 0.5. x is a small correction, so that single precision does: P is kept without its diagonal,
in two thirds of the bytes. What lambda' still lacks shows as the mean of e, of which half is added after each sweep: if
d moves on by the same amount everywhere, half of the states that a state leads to have moved already.

*When to stop.* The span that is left after a sweep is estimated as the span of e times the ratio of the norms of e
after and before it: the extremes of a few thousand numbers stray, their norm does not.

*Slow modes.* Sets that are seldom left keep the error that is constant on each of them: when sweeps stop shrinking e,
they only move d by a constant on each set, and these levels tell the sets. On each set B, alpha_B (one of them is 0)
and a change of lambda' are chosen such that the sum of e over each set vanishes for d + sum_B alpha_B 1_B;
(I - Q) 1_B is the chance to leave B, or minus that to enter it, a sum without cancellation.

Everything is judged by the certificate of the v that comes out, in double precision; where it is too wide, another
attempt starts from there. Many rounds are one compiled call.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from lsmdp._core import sparse
from lsmdp._core import sweeps as core
from lsmdp._core.threads import MOVES_OF_A_LARGE_P
from lsmdp.arrays import Floats, frozen, read_only
from lsmdp.model import LMDP
from lsmdp.solvers.problem import NEVER
from lsmdp.solvers.warm.chord import SolvedRounds

_ATTEMPTS = 5  # At most so many times sweeps start again from the last certificate.


class Swept(NamedTuple):
    """The flow of v with the bounds of v, the sweeps taken, and how many more it would take (0: v is certified)."""

    flow: sparse.Flow
    lo: float
    hi: float
    sweeps: int
    left: float

    @property
    def v(self) -> Floats:
        """Where the sweeps have led to."""
        return self.flow.v

    @property
    def certified(self) -> bool:
        """Whether the bounds are as narrow as was asked for."""
        return self.left == 0.0


def sweep(lmdp: LMDP, c: Floats, tol: float, flow: sparse.Flow, limit: int, out: SolvedRounds) -> Swept:
    """From the v of this flow until the bounds for the cost c are at most tol apart, or ``limit`` sweeps.

    The first round of ``out`` is where it works.
    """
    gaps, sweeps, left, width = np.array([tol]), 0, NEVER, np.inf
    start = flow
    for _ in range(_ATTEMPTS):
        if not flow.flat or sweeps >= limit:
            break
        done, flow, wide, rate = _run(lmdp, c[np.newaxis], gaps, flow, limit - sweeps, 1, out)
        lo, hi, sweeps = float(out.lo[0]), float(out.hi[0]), sweeps + int(out.steps[0])
        left = min(log(max(wide * lmdp.temperature / tol, 2.0)) / -log(rate), NEVER) if rate < 1.0 else NEVER
        if not wide < np.inf:
            break
        if _threaded(lmdp):
            flow, lo, hi = sparse.evaluate(lmdp.P, c, flow.v, lmdp.temperature, lmdp.rounding)
            done = int(hi - lo <= tol)
        if done:
            return Swept(flow, lo, hi, sweeps, 0.0)
        if not hi - lo < width / 2:
            break
        width = hi - lo
    return Swept(start, -np.inf, np.inf, sweeps, left)


def sweep_block(
    lmdp: LMDP, costs: Floats, gaps: Floats, flow: sparse.Flow, limit: int, out: SolvedRounds
) -> tuple[int, sparse.Flow]:
    """The same for one cost after another, as long as that suffices: how many, and the flow of the last v."""
    if not flow.flat or _threaded(lmdp):
        return 0, flow
    start = flow
    flow = flow._replace(w=flow.w.copy(), s=flow.s.copy(), logs=flow.logs.copy())
    done, flow, _, _ = _run(lmdp, costs, gaps, flow, limit, _ATTEMPTS, out)
    if not done:
        return 0, start
    return done, flow if done == len(costs) else lmdp.moves.flow(flow.v)  # what _run left is of a round that failed


def _run(
    lmdp: LMDP, costs: Floats, gaps: Floats, flow: sparse.Flow, limit: int, attempts: int, out: SolvedRounds
) -> tuple[int, sparse.Flow, float, float]:
    """The rounds done; the last v, with the flow of the last attempt; and the gap expected of that, its contraction.

    The flow that is given is written over from the second attempt on. Where certificates are left to threads they are
    not found: one attempt is all there can be, and the flow that comes out has only its v.
    """
    single = lmdp.cache.get("P in single precision", lambda: _in_single(lmdp))
    n = 0 if _threaded(lmdp) else lmdp.n
    room, mine = (np.empty(n), np.empty(n), np.empty(n)), (flow.w, flow.s, flow.logs)
    aims, units = core.SweepTargets(frozen(costs), frozen(gaps)), core.SweepUnits(flow.temperature, lmdp.rounding)
    known, limits = core.SweepFlow(flow.v, flow.low, *mine), core.SweepLimits(limit, attempts)
    found = core.SweptRounds(out.v, frozen(out.v), out.lo, out.hi, out.steps)
    into = (*room, sparse.room_of_a_block())
    done, swaps, wide, rate = core.rounds(sparse.rows(lmdp.P), single, aims, units, limits, known, into, found)
    v = read_only(out.v[max(done - 1, 0)].copy())
    return done, sparse.Flow(v, flow.temperature, 0.0, *(room if swaps % 2 or not n else mine)), wide, rate


def _threaded(lmdp: LMDP) -> bool:
    """Whether certificates are left to several threads."""
    return bool(lmdp.P.data.size >= MOVES_OF_A_LARGE_P)


def _in_single(lmdp: LMDP) -> core.Single:
    """P in single precision without its diagonal, which is the last of these arrays."""
    (indptr, indices, data), diagonal = sparse.rows(lmdp.P), lmdp.P.diagonal()
    off = indices != np.repeat(np.arange(lmdp.n, dtype=indices.dtype), np.diff(lmdp.P.indptr))
    ends = (indptr - np.concatenate([[0], np.cumsum(diagonal > 0.0)])).astype(indptr.dtype)
    single = core.Single(ends, indices[off], data[off].astype(np.float32), diagonal.astype(np.float32))
    for array in single:
        read_only(array)
    return single
