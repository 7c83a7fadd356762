"""Newton's method with a factor from earlier: for costs that change a little from round to round.

Howard's policy iteration at v solves (I - Q_v) d = r - mu.r. Factored once at an *anchor* v_0, I - Q_{v_0} still serves
as a preconditioner when v has moved: the step d = (I - Q_{v_0})^{-1} (r - mean) leaves a fraction of r that grows with
v - v_0. Since I - Q_v = diag(1/Pz) [diag(Pz/z) - P] diag(z), what moves in the bracket is its diagonal alone, and
that by the change of c - lambda only: with w = e^{v_0 - v}, the step w^{-1} (I - Q_{v_0})^{-1} w (r - mean) takes the
present weights outside and the old factor inside. It is the better one when v is far from the anchor. The mean is
taken under the law that makes the system solvable: mu_0 w.

*Residuals of earlier steps are used up.* Each step moves v by V and r by R, nearly linearly, so that along the pairs
(V, R) the residual can be lowered without a solve: the pairs are kept with orthonormal R (generalised conjugate
residuals on a map that is not quite linear). A few slow modes, where the old factor is wrong most, cost one pair each.

If P is reversible with respect to rho, the rows of I - Q_{v_0} times rho z (Pz) are symmetric, and half a factor does.
The loop works in the order of elimination, on a copy of P in that order; it takes no logarithm and no exponential of a
number near 1 or 0 but by its series. It certifies nothing: its caller evaluates the certificate on the v that it
gives back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from lsmdp import kernels
from lsmdp.arrays import CSR, Floats, like
from lsmdp.dissection import Blocks
from lsmdp.elimination import Elimination, backward, eliminate, forward, pinned
from lsmdp.errors import ConvergenceError
from lsmdp.perron.problem import Problem

PAIRS = 4  # steps whose residuals are kept
FLAT = 500.0  # span of v up to which e^{-v} is a safe representation of it
SYMMETRIC_SPAN = 250.0  # and up to which products of two of them are
MOVED = 0.4  # a v that has moved from the anchor by this span asks for the present weights
LONGEST = 2.0  # steps in v are shortened to this
LOST = 30.0  # a residual this many times the best one will not come back
VISITED = 0.01  # the pinned state may be this much rarer than the commonest one


@dataclass(frozen=True, eq=False)
class Factor:
    """I - Q at the anchor, pinned where that chain lives; all arrays in the order of elimination."""

    factors: Elimination
    P: CSR
    anchor: Floats
    law: Floats  # mu_0
    rows: Floats  # what the rows were multiplied by

    @property
    def work(self) -> float:
        """The cost to make it, relative to one of a chain that is not reversible."""
        return 0.6 if self.factors.lower is self.factors.upper else 1.0


def factor(problem: Problem, anchor: Floats) -> Factor | None:
    """The factor at this v, its shares in single precision; None where the chain is beyond it."""
    rho = problem.lmdp.reversible_law
    try:
        if rho is not None and np.ptp(anchor) <= SYMMETRIC_SPAN:
            factors, law = _balanced(problem, anchor, rho)
            rows = law
        else:
            factors, law = _pinned(problem, anchor)
            rows = np.ones_like(law)
    except ConvergenceError:
        return None
    order = factors.order
    return Factor(factors, problem.plan.permuted, anchor[order], law[order], rows[order])


def nothing(problem: Problem, v: Floats) -> Factor:
    """No factor at all: steps of the power method, of which the pairs take care of the slow modes."""
    n, empty = problem.n, np.zeros(0, dtype=np.float32)
    start, rows = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    blocks = Blocks(np.zeros(1, dtype=np.int32), start, rows, start, np.zeros(0, dtype=np.int32))
    order = np.arange(n, dtype=np.int32)
    factors = Elimination(order, blocks, empty, empty, np.ones(n), killed=True)
    return Factor(factors, problem.P, v - v.min(), np.full(n, 1.0 / n), np.ones(n))


def _pinned(problem: Problem, anchor: Floats) -> tuple[Elimination, Floats]:
    weights = kernels.policy_weights(problem.P, anchor)
    state = int(anchor.argmin())
    factors, law = pinned(problem.plan, weights, state, single=True)
    if law[state] < VISITED * law.max():
        factors, law = pinned(problem.plan, weights, int(law.argmax()), single=True)
    return factors, law


def _balanced(problem: Problem, anchor: Floats, rho: Floats) -> tuple[Elimination, Floats]:
    """rho(x) P(x,y) z(x) z(y) is symmetric, and its rows sum to mu up to a factor."""
    P = problem.P
    z = np.exp(anchor.min() - anchor)
    flow = np.repeat(rho * z, np.diff(P.indptr)) * P.data * z[P.indices]
    law = np.asarray(like(P, flow).sum(axis=1))
    total = law.sum()
    law /= total
    end = np.zeros_like(law)
    end[law.argmax()] = law.max()
    return eliminate(problem.plan, flow / total, end, symmetric=True, single=True), law


def iterate(
    problem: Problem, v: Floats, known: kernels.Flow, tol: float, made: Factor, limit: int
) -> tuple[Floats, float, int]:
    """(v, span of r as the loop sees it, steps) after steps until that span is at most tol, or no further.

    ``known`` is what was evaluated at this v.
    """
    T, order, factors = problem.lmdp.temperature, made.factors.order, made.factors
    u = v[order]
    u -= u.min()
    span, steps = np.inf, 0
    if u.max() <= FLAT:
        span, steps = _iterate(
            *kernels.rows(made.P),
            problem.c[order],
            u,
            known.w[order] if known.w.size else np.exp(-u),
            known.base[order] / -T,
            made.anchor,
            made.law,
            made.rows,
            factors.blocks,
            factors.lower,
            factors.upper,
            factors.pivots,
            tol,
            limit,
        )
    out = np.empty_like(u)
    out[order] = u
    return out, span, steps


@njit(cache=True, error_model="numpy")
def _iterate(
    indptr: Any,
    indices: Any,
    data: Any,
    c: Any,
    v: Any,
    z: Any,
    logs: Any,
    anchor: Any,
    law: Any,
    rows: Any,
    blocks: Any,
    lower: Any,
    upper: Any,
    pivots: Any,
    tol: float,
    limit: int,
) -> tuple[float, int]:
    n = v.size
    a, r, step = np.zeros(n), np.empty(n), np.empty(n)
    b, before, w = np.empty(n), np.empty(n), np.ones(n)
    V, R = np.empty((PAIRS, n)), np.empty((PAIRS, n))
    span = _residual(c, logs, r)
    best, steps = span, 0
    while span > tol and steps < limit:
        before[:] = r
        step[:] = 0.0
        for j in range(min(steps, PAIRS)):
            _project(r, R[j], step, V[j])
        weighted = _weights(v, anchor, w)
        _load(r, law, rows, w, weighted, b)
        forward(blocks, lower, b)
        b /= pivots
        backward(blocks, upper, b, np.inf)
        longest = _add(b, w, weighted, step)
        if not longest < np.inf:
            return np.inf, steps
        if longest > LONGEST:
            step *= LONGEST / longest
        _move(z, v, step, min(longest, LONGEST))
        _ratios(indptr, indices, data, z, b)
        _take_logs(a, b, logs)
        span = _residual(c, logs, r)
        steps += 1
        if not span <= LOST * best:
            break
        best = min(best, span)
        if span > tol and steps < limit:
            _remember(before, r, step, R, V, steps - 1)
    return span, steps


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _ratios(indptr: Any, indices: Any, data: Any, z: Any, a: Any) -> None:
    """a = Pz / z."""
    for x in range(z.size):
        s = 0.0
        for p in range(indptr[x], indptr[x + 1]):
            s += data[p] * z[indices[p]]
        a[x] = s / z[x]


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _residual(c: Any, logs: Any, r: Any) -> float:
    """r = c - logs less its mean; its span."""
    total = 0.0
    for x in range(r.size):
        r[x] = c[x] - logs[x]
        total += r[x]
    mean = total / r.size
    low, high = np.inf, -np.inf
    for x in range(r.size):
        r[x] -= mean
        low, high = min(low, r[x]), max(high, r[x])
    return high - low


@njit(cache=True, error_model="numpy")
def _weights(v: Any, anchor: Any, w: Any) -> bool:
    """w = e^{v_0 - v}, where v has moved; whether it has."""
    low, high = np.inf, -np.inf
    for x in range(v.size):
        apart = v[x] - anchor[x]
        low, high = min(low, apart), max(high, apart)
    if not high - low > MOVED:
        return False
    for x in range(v.size):
        w[x] = np.exp(anchor[x] - v[x] + (high + low) / 2)
    return True


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _load(r: Any, law: Any, rows: Any, w: Any, weighted: bool, b: Any) -> None:
    """b = rows w (r - mean), the mean under law w."""
    mass, total = 1.0, 0.0
    if weighted:
        mass = 0.0
        for x in range(r.size):
            mass += law[x] * w[x]
            total += law[x] * w[x] * r[x]
    else:
        for x in range(r.size):
            total += law[x] * r[x]
    mean = total / mass
    if weighted:
        for x in range(r.size):
            b[x] = (r[x] - mean) * (rows[x] * w[x])
    else:
        for x in range(r.size):
            b[x] = (r[x] - mean) * rows[x]


@njit(cache=True, error_model="numpy")
def _add(b: Any, w: Any, weighted: bool, step: Any) -> float:
    """step += b / w; the largest entry of it."""
    longest = 0.0
    if weighted:
        for x in range(b.size):
            b[x] /= w[x]
    for x in range(b.size):
        step[x] += b[x]
        longest = max(longest, abs(step[x]))
    return longest


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _project(r: Any, R: Any, step: Any, V: Any) -> None:
    """Lower r along one pair."""
    share = 0.0
    for x in range(r.size):
        share += r[x] * R[x]
    for x in range(r.size):
        r[x] -= share * R[x]
        step[x] -= share * V[x]


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _remember(before: Any, r: Any, step: Any, R: Any, V: Any, count: int) -> None:
    """A new pair in place of the oldest of ``count``, with R orthogonal to the others and of length 1."""
    at = count % PAIRS
    new, move = R[at], V[at]
    for x in range(r.size):
        new[x] = r[x] - before[x]
        move[x] = step[x]
    for j in range(min(count, PAIRS)):
        if j == at:
            continue
        share = 0.0
        for x in range(r.size):
            share += new[x] * R[j, x]
        for x in range(r.size):
            new[x] -= share * R[j, x]
            move[x] -= share * V[j, x]
    size = 0.0
    for x in range(r.size):
        size += new[x] * new[x]
    scale = 1.0 / np.sqrt(size) if size > 0.0 else 0.0
    for x in range(r.size):
        new[x] *= scale
        move[x] *= scale


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _move(z: Any, v: Any, step: Any, longest: float) -> None:
    """v <- v + step, z <- z e^{-step}; eight terms of the series are exact to rounding up to 0.03."""
    if longest > 0.03:
        for x in range(z.size):
            v[x] += step[x]
            z[x] *= np.exp(-step[x])
        return
    for x in range(z.size):
        y = -step[x]
        v[x] += step[x]
        series = 1 / 24 + y * (1 / 120 + y * (1 / 720 + y * (1 / 5040)))
        z[x] *= 1 + y * (1 + y * (0.5 + y * (1 / 6 + y * series)))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _take_logs(a: Any, new: Any, logs: Any) -> None:
    """logs = log(new): by the series of log(new / a) where all ratios to the a before are near 1; a <- new."""
    far = 0.0
    for x in range(a.size):
        far = max(far, abs(new[x] - a[x]) - 0.05 * a[x])
    if not far <= 0.0:
        for x in range(a.size):
            logs[x] = np.log(new[x])
            a[x] = new[x]
        return
    for x in range(a.size):
        y = (new[x] - a[x]) / (new[x] + a[x])
        q = y * y
        logs[x] += 2 * y * (1 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9)))))
        a[x] = new[x]
