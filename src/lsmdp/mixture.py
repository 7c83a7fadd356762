"""A policy that is a kernel on the moves of P: a chance for each of them, in the order in which P has its entries.

A :class:`~lsmdp.policy.Policy` is made by a value function, and there is not one for every kernel: a mixture of two of
them has none in general. A :class:`Mixture` is any kernel Q that uses moves of P only. It answers what every policy
answers, from its weights Q(y|x): each answer reads them once, and costs what a product with P costs.

    lsmdp.Mixture(lmdp, Q)          Q as a matrix, sparse or not, or as its entries at the places of P's
    mix(lmdp, [w_1 p^1, ...], [Q^1, ...])      the flow mixture of some policies, state by state

**The flow mixture** of policies Q^i that are followed with the weights w_i, and that have led to the laws p^i, is

    m = sum_i w_i p^i,    Q(y|x) = sum_i w_i p^i(x) Q^i(y|x) / m(x)    (P where m(x) = 0):

what somebody sees who watches a crowd, a share w_i of which moves by Q^i. It moves m to sum_i w_i p^i Q^i, the law of
the crowd after the step, and by the log-sum inequality it costs no more than the crowd does:
m(x) KL(Q || P)(x) <= sum_i w_i p^i(x) KL(Q^i || P)(x). A pool of learners plays it (learners/pool.py).

**Figures.** KL(Q || P)(x) = sum_y q log(q / P) is off by some eps of the largest |log(q / P)| of the row. In
KL(Q || Q_v)(x) = sum_y q (e^z - 1 - z) with z = log(Q_v / q) nothing cancels between nearly equal policies; where
|z| > 1 the term is (Q_v - q) - q z. A stationary law is found by elimination without subtraction, as for any kernel:
where P is reversible, Q need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lsmdp._core.mixtures import completed_rows
from lsmdp._core.walks import running_sums, walk
from lsmdp.arrays import (
    CSR,
    Floats,
    Ints,
    as_distribution,
    as_value,
    freeze,
    like,
    read_only,
    row_sums,
)
from lsmdp.chain import long_run_law
from lsmdp.convex import as_policy_kernel, policy_of
from lsmdp.errors import ModelError
from lsmdp.model import LMDP, require_model
from lsmdp.output.notebooks import table
from lsmdp.policy import AnyPolicy, Policy


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(AnyPolicy):
    """A kernel on the moves of P; ``weights`` are its entries, aligned with ``lmdp.P.data``."""

    lmdp: LMDP
    weights: Any
    _kept: Any = field(default=None, init=False, repr=False)  # Whoever plays it keeps it here; nobody else reads it.

    def __post_init__(self) -> None:
        require_model(self.lmdp)
        object.__setattr__(self, "weights", _as_weights(self.lmdp, self.weights))

    @classmethod
    def known(cls, lmdp: LMDP, weights: Floats, kl: Floats) -> Mixture:
        """The policy of weights that are known to be right, with KL(Q || P) of each state, as a pool leaves them."""
        policy = object.__new__(cls)
        object.__setattr__(policy, "lmdp", lmdp)
        object.__setattr__(policy, "weights", read_only(weights))
        object.__setattr__(policy, "_kept", None)
        policy.__dict__["_kl"] = read_only(kl)  # where a cached property keeps what it has found
        return policy

    def remember(self, what: Any) -> None:
        """Keep something with this mixture until it is taken: its weights and its answers do not change."""
        object.__setattr__(self, "_kept", what)

    def taken_memory(self) -> Any:
        """What was kept with this mixture, which keeps it no more."""
        what = self._kept
        object.__setattr__(self, "_kept", None)
        return what

    def row(self, x: int | str) -> tuple[Ints, Floats]:
        """The possible next states from x, and their probabilities; x is the number of a state, or its label."""
        P, x = self.lmdp.P, self.lmdp.numbered(x)
        entries = slice(P.indptr[x], P.indptr[x + 1])
        return P.indices[entries].astype(np.int64), self.weights[entries].copy()

    def drawn(self, states: Ints, uniforms: Floats) -> Ints:
        """A next state from each of these, for one uniform number each."""
        return np.asarray(walk(running_sums(self.matrix()), states, uniforms[np.newaxis])[0])

    def push(self, p: Any) -> Floats:
        """p Q, the law of the next state when the present one has law p."""
        return np.asarray(as_distribution(p, self.lmdp.names) @ self.matrix())

    def expect(self, f: Any) -> Floats:
        """Q f: for each state, the expectation of f after one step."""
        return np.asarray(self.matrix() @ as_value(f, self.lmdp.names))

    @cached_property
    def _kl(self) -> Floats:
        q, P = self.weights, self.lmdp.P
        logs = np.log(np.where(q > 0.0, q / P.data, 1.0))
        return np.asarray(read_only(np.maximum(row_sums(like(P, q * logs)), 0.0)))

    def kl(self) -> Floats:
        """KL(Q(.|x) || P(.|x)) for each state, in nats (multiply by the temperature for the control cost)."""
        return self._kl

    def divergence(self, v: Any) -> Floats:
        """KL(Q(.|x) || Q_v(.|x)) for each state, in nats; v is a value function."""
        lmdp, q = self.lmdp, self.weights
        values = as_value(v, lmdp.names)
        least, s = lmdp.moves.scaled_sums(values)
        rows, to = lmdp.entry_rows, lmdp.P.indices
        with np.errstate(over="ignore"):
            logs = (least[rows] - values[to]) / lmdp.temperature - np.log(s)[rows]
        return kernel_divergences(lmdp.P, q, logs)

    @cached_property
    def _matrix(self) -> CSR:
        return freeze(like(self.lmdp.P, self.weights))

    def matrix(self) -> CSR:
        """Q as a CSR array."""
        return self._matrix

    @cached_property
    def _stationary(self) -> Floats:
        return np.asarray(read_only(long_run_law(self.matrix())))

    def stationary(self) -> Floats:
        """mu, the long-run law of the state under this policy, by elimination."""
        return self._stationary

    def _repr_html_(self) -> str:
        kl = self.kl()
        most = f"{kl.max():.4g} nats, in {self.lmdp.name_of(int(kl.argmax()))}"
        return table("Mixture", [("model", repr(self.lmdp)), ("largest KL(Q || P)", most)])

    def __repr__(self) -> str:
        return f"Mixture({self.lmdp!r}, largest KL(Q || P) {self.kl().max():.4g} nats)"


def kernel_divergences(P: CSR, weights: Floats, logs: Floats) -> Floats:
    """KL(Q || Q_v) of each state, from Q and log(Q_v / P) at the entries of P; the same for rows of them."""
    some = weights > 0.0
    z = np.where(some, logs - np.log(np.where(some, weights, 1.0) / P.data), 0.0)
    terms = (P.data * np.exp(logs) - weights) - weights * z
    near = some & (np.abs(z) <= 1.0)
    close = np.where(near, z, 0.0)
    terms = np.where(near, weights * (np.expm1(close) - close), terms)
    return np.asarray(np.maximum(np.add.reduceat(terms, P.indptr[:-1], axis=-1), 0.0))


def mix(lmdp: LMDP, shares: Sequence[Any], policies: Sequence[AnyPolicy]) -> Mixture:
    """The flow mixture of policies: in state x the i-th has the share ``shares[i][x]``, w_i p^i(x) in a pool."""
    flows = np.zeros(lmdp.nnz)
    for share, policy in zip(shares, policies, strict=True):
        flows += np.asarray(share, dtype=np.float64)[lmdp.entry_rows] * (policy.matrix().data / lmdp.P.data)
    weights, kl, _ = completed_rows(lmdp.P, flows)
    return Mixture.known(lmdp, weights, kl)


def same_policy(one: AnyPolicy, other: AnyPolicy) -> bool:
    """Whether two policies are of the same form and the same to the last bit."""
    if isinstance(one, Policy) and isinstance(other, Policy):
        return np.array_equal(one.v, other.v)
    both = isinstance(one, Mixture) and isinstance(other, Mixture)
    return both and np.array_equal(one.weights, other.weights)  # type: ignore[attr-defined]


def _as_weights(lmdp: LMDP, given: Any) -> Floats:
    """The entries of a kernel at the places of P's, checked."""
    if isinstance(given, np.ndarray) and given.ndim == 1:
        if given.shape != (lmdp.nnz,):
            raise ModelError(
                f"a mixture of {lmdp!r} has {lmdp.nnz:,} weights, one for each move of P in the order of P.data, not "
                f"{given.size:,}. Or give the whole kernel as a matrix."
            )
        given = like(lmdp.P, given.astype(np.float64))
    return np.asarray(read_only(policy_of(lmdp, as_policy_kernel(given, lmdp)).data))
