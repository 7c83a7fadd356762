"""A policy is a pair (P, v): the kernel Q_v need not be formed.

Any value function v is a policy (eq:optQ). With temperature T and w = e^{-v/T},

    Q_v(y|x) = P(x,y) w(y) / (P w)(x),
    Q_v f = P(w f) / (P w),        p Q_v = w * (P^T (p / (P w))),
    KL(Q_v(.|x) || P(.|x)) = -(P(w v/T))(x) / (P w)(x) - log (P w)(x).

If P is reversible with respect to rho, then so is Q_v with respect to rho w (P w), for every v: the product
rho(x) w(x) (P w)(x) Q_v(y|x) = rho(x) P(x,y) w(x) w(y) is symmetric. The stationary law then needs no linear algebra.

The loops scale each row by its own largest weight, so that no span of v underflows (kernels.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import CSR, Floats, Ints, as_distribution, as_value, freeze, like, read_only
from lsmdp.chain import LEAST_PIVOT, long_run_law
from lsmdp.elimination import eliminate
from lsmdp.errors import AssumptionError, ConvergenceError
from lsmdp.model import LMDP

REDUCED_STATES = 20_000  # ordering the elimination of more takes long where it is of no use
REDUCED_FLOPS = 2e8
KEPT = 4  # flows that are kept with a model

_flows: WeakKeyDictionary[LMDP, list[kernels.Flow]] = WeakKeyDictionary()


def keep_flow(lmdp: LMDP, flow: kernels.Flow) -> None:
    """What was computed of a v serves whoever needs it next: the leader's next round, and the books of this one."""
    kept = _flows.setdefault(lmdp, [])
    del kept[: len(kept) - KEPT + 1]
    kept.append(flow)


def kept_flow(lmdp: LMDP, v: Floats) -> kernels.Flow | None:
    """The flow of this very array, if it is kept."""
    for flow in reversed(_flows.get(lmdp, ())):  # most often the last
        if flow.v is v:
            return flow
    return None


def flow_of(lmdp: LMDP, v: Floats) -> kernels.Flow:
    """The flow of v, kept or computed; the same bits either way."""
    flow = kept_flow(lmdp, v)
    if flow is None:
        flow = kernels.flow(lmdp.P, v, lmdp.temperature)
        keep_flow(lmdp, flow)
    return flow


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """The policy Q_v of a model: what it does, what it costs, where it leads."""

    lmdp: LMDP
    v: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "v", as_value(self.v, self.lmdp.names))

    @cached_property
    def _u(self) -> Floats:
        return np.asarray(self.v / self.lmdp.temperature)

    def row(self, x: int | str) -> tuple[Ints, Floats]:
        """The possible next states from x, and their probabilities; x is the number of a state, or its label."""
        P, x = self.lmdp.P, self.lmdp.numbered(x)
        entries = slice(P.indptr[x], P.indptr[x + 1])
        states = P.indices[entries].astype(np.int64)
        weights = P.data[entries] * np.exp(self._u[states].min() - self._u[states])
        return states, weights / weights.sum()  # eq:optQ

    def sample(self, x: int | str, rng: np.random.Generator) -> int:
        """A next state from x, by its number."""
        states, probabilities = self.row(x)
        chosen = int(np.searchsorted(probabilities.cumsum(), rng.random()))
        return int(states[min(chosen, states.size - 1)])

    def push(self, p: Any) -> Floats:
        """p Q, the law of the next state when the present one has law p."""
        return kernels.push(self.lmdp.P, self._u, as_distribution(p, self.lmdp.names))

    def expect(self, f: Any) -> Floats:
        """Q f: for each state, the expectation of f after one step."""
        return kernels.expect(self.lmdp.P, self._u, as_value(f, self.lmdp.names))

    def kl(self) -> Floats:
        """KL(Q(.|x) || P(.|x)) for each state, in nats (multiply by the temperature for the control cost)."""
        return kernels.control_cost(self.lmdp.P, self._u)

    def matrix(self) -> CSR:
        """Q as a CSR array. Entries below the smallest positive float are 0 in it."""
        return freeze(like(self.lmdp.P, kernels.policy_weights(self.lmdp.P, self._u)))

    @cached_property
    def _stationary(self) -> Floats:
        rho = self.lmdp.reversible_law
        law = self._reduced() if rho is None else self._balanced(rho)
        return np.asarray(read_only(self._written_out() if law is None else law))

    def _written_out(self) -> Floats:
        try:
            return long_run_law(self.matrix())
        except AssumptionError:
            raise ConvergenceError(
                "the long-run law of this policy is beyond float64: it moves between some parts of the chain less than "
                "once in 1e308 steps, so that how often it is in each of them is lost. The values and the policy are "
                "not affected. Raise the temperature, or make the differences between the costs smaller."
            ) from None

    def _reduced(self) -> Floats | None:
        """By state reduction in the order that the model keeps, where that is cheap and no move has underflowed."""
        if self.lmdp.n > REDUCED_STATES or self.lmdp.elimination_plan.flops > REDUCED_FLOPS:
            return None
        weights = kernels.policy_weights(self.lmdp.P, self._u)
        if weights.min() == 0.0:
            return None
        try:
            factors = eliminate(self.lmdp.elimination_plan, weights)
            return factors.stationary() if factors.pivots[:-1].min(initial=1.0) >= LEAST_PIVOT else None
        except ConvergenceError:
            return None

    def _balanced(self, rho: Floats) -> Floats:
        """mu ~ rho w (P w), in logarithms: with r = -log(P w) - u, log mu = log rho - 2u - r up to a constant."""
        r, _, _ = kernels.residual(self.lmdp.P, np.zeros(self.lmdp.n), self._u, 1.0)
        logs = np.log(rho) - 2.0 * self._u - r
        law = np.exp(logs - logs.max())
        return np.asarray(law / law.sum())

    def stationary(self) -> Floats:
        """mu, the long-run law of the state under this policy; 0 where it is below the smallest positive float."""
        return self._stationary

    def transition_measure(self) -> CSR:
        """pi(x, y) = mu(x) Q(y|x), the long-run law of a move (sec:convex)."""
        Q = self.matrix()
        return freeze(like(Q, np.repeat(self.stationary(), np.diff(Q.indptr)) * Q.data))

    def __repr__(self) -> str:
        return f"Policy({self.lmdp!r}, span of v {np.ptp(self.v):.4g})"
