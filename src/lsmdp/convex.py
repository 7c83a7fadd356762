"""The convex view: optimal control as a convex program over stationary transition measures (sec:convex).

A policy Q with stationary law mu visits the move x -> y with long-run frequency pi(x,y) = mu(x) Q(y|x). With
mu(x) = sum_y pi(x,y) and T the temperature (the paper has T = 1), its average cost per step is

    f(pi; c) = sum_{x,y} pi(x,y) ( c(x) + T log pi(x,y) / (P(x,y) mu(x)) )                     eq:statcost

and pi ranges over the polytope Delta(M): flow balance sum_y pi(x,y) = sum_y pi(y,x), mass 1, no negative entry,
no entry where P has none (eq:statdist). Outside the last two conditions f is +inf. It is convex, because

    R(pi) = sum_{x,y} pi(x,y) log pi(x,y) / mu(x),      (grad R)(x,y) = log pi(x,y) / mu(x),
    B_R(pi' | pi) = sum_x mu'(x) KL(Q'(.|x) || Q(.|x)) >= 0                                    app:convexity

**Duality.** The Lagrangian is

    L(pi; v, lambda) = f(pi; c) - lambda (sum pi - 1) - sum_{x,y} v(x) (pi(x,y) - pi(y,x)).

With (Bv)(x) = c(x) - T log sum_y P(x,y) e^{-v(y)/T} and r = Bv - v, its infimum over pi is lambda where
lambda <= min r and -inf elsewhere, so every v proves that no policy costs less than min r. At the optimum
v + lambda = Bv, and min f = max_v min r = lambda: strong duality. app:dual prints +lambda and +v instead: then
the multipliers are the *negatives* of the average cost and of the value function, its system holds with z = e^{+v}
and eigenvalue e^{+lambda}, and neither is the lambda and v of eq:bellman_Z as claimed there.

For a feasible pi with policy Q, and Q_v proportional to P e^{-v/T}, the duality gap is a sum of terms >= 0,

    f(pi; c) - min r = T sum_x mu(x) KL(Q(.|x) || Q_v(.|x)) + sum_x mu(x) (r(x) - min r),

which is how it is computed here. At the optimal v the second sum vanishes: what Q pays beyond the optimum is its
divergence from the optimal policy. Every measure is a CSR array and stays sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from scipy import sparse

from lsmdp._core.sparse import residual
from lsmdp.arrays import (
    CSR,
    ROW_SUM_TOLERANCE,
    Floats,
    Ints,
    as_cost,
    as_value,
    as_weights,
    into_kernel,
    like,
    row_sums,
)
from lsmdp.chain import long_run_law
from lsmdp.errors import ModelError
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy, Policy

_TOLERANCE_OF_CONSTRAINTS = ROW_SUM_TOLERANCE  # Constraints may be missed by as much as the rows of P may miss 1.


@dataclass(frozen=True)
class Feasibility:
    """How far a measure is from Delta(M): the largest violation of each condition of eq:statdist."""

    balance: float
    mass: float
    negativity: float
    off_support: float

    @property
    def worst(self) -> float:
        """The largest of the four."""
        return max(self.balance, self.mass, self.negativity, self.off_support)

    def holds(self, tol: float = _TOLERANCE_OF_CONSTRAINTS) -> bool:
        """Whether no condition is violated by more than ``tol``."""
        return self.worst <= tol

    def __str__(self) -> str:
        return (
            f"flow balance is off by {self.balance:.2g}, the mass by {self.mass:.2g}, negative entries reach "
            f"{0.0 - self.negativity:.2g} and entries off the support of P {self.off_support:.2g}"
        )


def feasibility(lmdp: LMDP, pi: Any) -> Feasibility:
    """The residuals of Delta(M) at pi."""
    measure = _as_measure(pi, lmdp.n)
    _, off = _onto(measure, lmdp.P)
    return Feasibility(
        balance=float(np.abs(_net_outflow(measure)).max()),
        mass=abs(float(measure.data.sum()) - 1.0),
        negativity=max(0.0, -float(measure.data.min(initial=0.0))),
        off_support=float(np.abs(off.data).max(initial=0.0)),
    )  # eq:statdist


def average_cost_of(lmdp: LMDP, pi: Any, c: Any) -> float:
    """f(pi; c): the average cost per step of the measure pi; +inf where pi is negative or off the support of P."""
    measure = _as_measure(pi, lmdp.n)
    on, off = _onto(measure, lmdp.P)
    if off.nnz or (on < 0.0).any():
        return float("inf")
    state_cost = float(row_sums(measure) @ as_cost(c, lmdp.names))
    return state_cost + lmdp.temperature * _mean_divergence(lmdp.P, on, np.log(lmdp.P.data))  # eq:statcost


def neg_cond_entropy(pi: Any) -> float:
    """R(pi): minus the entropy of the next state given the present one; +inf where pi is negative."""
    measure = _as_measure(pi)
    if (measure.data < 0.0).any():
        return float("inf")
    some = measure.data > 0.0
    return float(measure.data[some] @ _log_conditional(measure, measure.data)[some])  # app:convexity


def neg_cond_entropy_gradient(pi: Any) -> CSR:
    """(grad R)(x,y) = log Q(y|x) on the stored entries of pi; -inf at a stored zero, where R has no gradient."""
    measure = _as_measure(pi)
    _require_non_negative(measure)
    return like(measure.copy(), _log_conditional(measure, measure.data))  # app:convexity


def bregman(pi_new: Any, pi: Any) -> float:
    """B_R(pi_new | pi) = sum_x mu_new(x) KL(Q_new(.|x) || Q(.|x)), never negative and accurate near 0.

    It is +inf where pi_new is negative or uses a move that pi does not.
    """
    measure = _as_measure(pi)
    _require_non_negative(measure)
    on, off = _onto(_as_measure(pi_new, measure.shape[0]), measure)
    if off.nnz or (on < 0.0).any():
        return float("inf")
    return _mean_divergence(measure, on, _log_conditional(measure, measure.data))  # app:convexity


def measure_of(lmdp: LMDP, Q: Any) -> CSR:
    """pi(x,y) = mu_Q(x) Q(y|x) on P's entries, for a policy given as a kernel or as a :class:`Policy`."""
    kernel = Q.matrix() if isinstance(Q, AnyPolicy) else as_policy_kernel(Q, lmdp)
    mu = Q.stationary() if isinstance(Q, AnyPolicy) else long_run_law(kernel)
    on, _ = _onto(kernel, lmdp.P)
    return like(lmdp.P, np.repeat(mu, np.diff(lmdp.P.indptr)) * on)


def policy_of(lmdp: LMDP, pi: Any) -> CSR:
    """Q(y|x) = pi(x,y) / mu(x) on P's entries.

    States without mass are never visited and pi says nothing about them: there Q is P, which costs nothing.
    """
    measure = _as_measure(pi, lmdp.n)
    _require_non_negative(measure)
    on, off = _onto(measure, lmdp.P)
    _require_on_support(off, "pi")
    mu = _masses(lmdp.P, on)
    return like(lmdp.P, np.divide(on, mu, out=lmdp.P.data.copy(), where=mu > 0.0))


def dual_value(lmdp: LMDP, v: Any, c: Any) -> float:
    """min_x (Bv - v)(x), rounded down: whatever v is, no policy has a smaller average cost."""
    return residual(lmdp.P, as_cost(c, lmdp.names), as_value(v, lmdp.names), lmdp.temperature)[1]  # app:dual


def duality_gap(lmdp: LMDP, pi: Any, c: Any, v: Any, *, tol: float = _TOLERANCE_OF_CONSTRAINTS) -> float:
    """f(pi; c) - dual_value(v): a bound on what pi pays beyond the optimum. pi must be feasible within ``tol``."""
    measure = _as_measure(pi, lmdp.n)
    found = feasibility(lmdp, measure)
    if not found.holds(tol):
        raise ModelError(
            f"pi is not a stationary transition measure (eq:statdist): {found}, where {tol:g} is allowed. "
            "Make it one with measure_of(lmdp, policy_of(lmdp, pi)), or allow more with tol=."
        )
    on = _onto(measure, lmdp.P)[0].clip(min=0.0)
    value = as_value(v, lmdp.names)
    r, lowest, _ = residual(lmdp.P, as_cost(c, lmdp.names), value, lmdp.temperature)
    return _excess_cost(lmdp, on, value) + float(row_sums(like(lmdp.P, on)) @ (r - lowest))  # app:dual


def suboptimality(lmdp: LMDP, Q: Any, optimal: Policy) -> float:
    """What the policy Q pays per step beyond the optimal one: T sum_x mu_Q(x) KL(Q(.|x) || Q*(.|x))."""
    return _excess_cost(lmdp, measure_of(lmdp, Q).data, as_value(optimal.v, lmdp.names))


def lagrangian(lmdp: LMDP, pi: Any, c: Any, v: Any, lambda_: float) -> float:
    """L(pi; v, lambda), with the signs that make lambda the average cost and v the value function."""
    measure = _as_measure(pi, lmdp.n)
    mass = float(measure.data.sum())
    multipliers = lambda_ * (mass - 1.0) + float(as_value(v, lmdp.names) @ _net_outflow(measure))
    return average_cost_of(lmdp, measure, c) - multipliers  # app:dual


def lagrangian_gradient(lmdp: LMDP, pi: Any, c: Any, v: Any, lambda_: float) -> CSR:
    """dL/dpi(x,y) = T log Q(y|x)/P(x,y) + c(x) - lambda - v(x) + v(y) on P's entries; zero at the optimum."""
    P, cost, value = lmdp.P, as_cost(c, lmdp.names), as_value(v, lmdp.names)
    control = lmdp.temperature * (_log(policy_of(lmdp, pi).data) - np.log(P.data))
    return like(P, control + np.repeat(cost - lambda_ - value, np.diff(P.indptr)) + value[P.indices])  # app:dual


def _excess_cost(lmdp: LMDP, on: Floats, v: Floats) -> float:
    """T sum_x mu(x) KL(Q || Q_v) of a measure aligned with P, by log Q_v, because Q_v itself may underflow."""
    P, T = lmdp.P, lmdp.temperature
    r, _, _ = residual(P, np.zeros(lmdp.n), v, T)
    log_Q_v = np.log(P.data) + (np.repeat(r + v, np.diff(P.indptr)) - v[P.indices]) / T  # eq:optQ
    return T * _mean_divergence(P, on, log_Q_v)


def _mean_divergence(pattern: CSR, on: Floats, log_reference: Floats) -> float:
    """sum_x mu(x) KL(Q(.|x) || reference(.|x)) for a measure aligned with ``pattern``; every term is >= 0."""
    mu = _masses(pattern, on)
    visited = mu > 0.0
    return float(mu[visited] @ _divergence(on[visited] / mu[visited], log_reference[visited]))


def _divergence(q: Floats, log_r: Floats) -> Floats:
    """q log(q/r) - q + r entry by entry. Over two laws these terms sum to KL(q || r), and none is negative.

    With d = log q/r a term is q (e^{-d} - 1 + d); near d = 0 the series of the bracket avoids its cancellation.
    """
    terms = np.exp(log_r)
    some = q > 0.0
    d = np.log(q[some]) - log_r[some]
    near = np.abs(d) < 0.25
    terms[some] = np.where(near, q[some] * _bracket(np.where(near, d, 0.0)), q[some] * (d - 1.0) + terms[some])
    return terms


def _bracket(d: Floats) -> Floats:
    """e^{-d} - 1 + d for |d| < 1/4: the terms from d^2/2 to d^13/13! leave a relative error below 1e-17."""
    total = np.zeros_like(d)
    for k in range(13, 1, -1):
        total = total * d + (-1.0) ** k / factorial(k)
    return total * d * d


def _as_measure(pi: Any, n: int | None = None) -> CSR:
    """pi as a CSR array with sorted, unique entries; n x n, or square where n is None."""
    given = pi if sparse.issparse(pi) else np.asarray(pi, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] != (n or given.shape[0]):
        size = "square" if n is None else f"{n} x {n}, like P"
        raise ModelError(
            f"pi has shape {' x '.join(map(str, given.shape))}. A transition measure must be {size}: "
            "pi[x, y] is the frequency of the move from x to y."
        )
    measure = sparse.csr_array(given, dtype=np.float64)
    if not measure.has_canonical_format:
        measure = measure.copy()
        measure.sum_duplicates()
    if not np.isfinite(measure.data).all():
        at = int(np.argmin(np.isfinite(measure.data)))
        raise ModelError(f"pi{_place(measure, at)} is {measure.data[at]}. Every entry must be a finite number.")
    return measure


def as_policy_kernel(Q: Any, lmdp: LMDP) -> CSR:
    """A kernel that uses moves of P only, checked; its pattern may be smaller than P's."""
    weights = as_weights(lmdp.names.square(Q, "Q", ModelError), "Q")
    if weights.shape != lmdp.P.shape:
        raise ModelError(f"Q has {weights.shape[0]} states, but the model has {lmdp.n}. Give one row per state.")
    sums = row_sums(weights)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)
    if wrong.size:
        raise ModelError(
            f"row {wrong[0]} of Q sums to {sums[wrong[0]]:.10g}, not 1. Q[x] must be the law of the next state from "
            f"{lmdp.name_of(int(wrong[0]))}. Divide each row by its sum."
        )
    _require_on_support(_onto(weights, lmdp.P)[1], "Q")
    return into_kernel(weights)


def _require_non_negative(measure: CSR) -> None:
    if measure.data.min(initial=0.0) < 0.0:
        at = int(np.argmin(measure.data))
        raise ModelError(
            f"pi{_place(measure, at)} is {measure.data[at]:.3g}. A transition measure has no negative entry "
            "(eq:statdist). Clip the rounding errors of an optimiser with pi.maximum(0)."
        )


def _require_on_support(off: CSR, what: str) -> None:
    if off.nnz:
        raise ModelError(
            f"{what}{_place(off, 0)} is {off.data[0]:.3g}, but P{_place(off, 0)} is 0. A policy uses moves of P only "
            "(eq:statdist), as any other would cost an infinite KL. Drop the entry, or add the move to P."
        )


def _place(matrix: CSR, at: int) -> str:
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    return f"[{row}, {matrix.indices[at]}]"


def _onto(matrix: CSR, pattern: CSR) -> tuple[Floats, CSR]:
    """The entries of a matrix at the places of ``pattern``, in its order, and the matrix of those elsewhere."""
    if np.array_equal(matrix.indptr, pattern.indptr) and np.array_equal(matrix.indices, pattern.indices):
        return matrix.data, sparse.csr_array(matrix.shape)
    places, wanted = _places(pattern), _places(matrix)
    at = np.searchsorted(places, wanted).clip(max=places.size - 1)
    inside = places[at] == wanted
    on = np.zeros(places.size)
    on[at[inside]] = matrix.data[inside]
    outside = ~inside & (matrix.data != 0.0)
    elsewhere = np.divmod(wanted[outside], matrix.shape[0])
    return on, sparse.csr_array((matrix.data[outside], elsewhere), shape=matrix.shape)


def _places(matrix: CSR) -> Ints:
    """One increasing number per stored entry: row * n + column."""
    n = matrix.shape[0]
    places: Ints = np.repeat(np.arange(n, dtype=np.int64) * n, np.diff(matrix.indptr))
    places += matrix.indices
    return places


def _net_outflow(measure: CSR) -> Floats:
    """sum_y pi(x,y) - sum_y pi(y,x)."""
    return row_sums(measure) - np.asarray(measure.sum(axis=0), dtype=np.float64).ravel()


def _log(values: Floats) -> Floats:
    """log, with -inf at 0 and no warning."""
    return np.log(values, out=np.full_like(values, -np.inf), where=values > 0.0)


def _log_conditional(pattern: CSR, on: Floats) -> Floats:
    """log Q(y|x) of a measure aligned with ``pattern``; -inf where it has no mass."""
    mu = _masses(pattern, on)
    return _log(np.divide(on, mu, out=np.zeros_like(on), where=mu > 0.0))


def _masses(pattern: CSR, on: Floats) -> Floats:
    """mu(x) = sum_y pi(x,y), repeated for each entry of row x."""
    return np.repeat(row_sums(like(pattern, on)), np.diff(pattern.indptr))
