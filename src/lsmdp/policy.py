"""A policy: what all of them can be asked (:class:`AnyPolicy`), and the two forms that there are.

Whatever its form, a policy says what it does (``row``, ``sample``, ``push``, ``expect``, ``matrix``), what it costs
(``kl``), where it leads (``stationary``, ``transition_measure``) and how far it is from the policy of a value function
(``divergence``). Most policies are a :class:`Policy`, in the form (P, v): the kernel Q_v need not be formed. A
:class:`Mixture` is any kernel on the moves of P, a weight a move, as a pool of learners plays it (mixture.py).

**The form (P, v).** Any v is a policy (eq:optQ). With temperature T and w = e^{-v/T},

    Q_v(y|x) = P(x,y) w(y) / (P w)(x),
    Q_v f = P(w f) / (P w),        p Q_v = w * (P^T (p / (P w))),
    KL(Q_v(.|x) || P(.|x)) = -(P(w v/T))(x) / (P w)(x) - log (P w)(x).

If P is reversible with respect to rho, then so is Q_v with respect to rho w (P w), for every v: the product
rho(x) w(x) (P w)(x) Q_v(y|x) = rho(x) P(x,y) w(x) w(y) is symmetric. The stationary law then needs no linear algebra.

Compiled loops scale each row by its own largest weight, so that no span of v underflows (sparse.py). v is taken as it
stands, float by float: Q_v is then a certain kernel, and what is said of it here is true of that kernel. Its entries
are known to a relative 745 eps where they are not below the smallest float, since differences of v are taken before
they are divided by T.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from lsmdp._core.factor import LEAST_PIVOT, eliminate
from lsmdp._core.sparse import LEAST_NORMAL_FLOAT, Flow
from lsmdp.arrays import (
    CSR,
    Floats,
    Ints,
    as_distribution,
    as_value,
    freeze,
    like,
    read_only,
)
from lsmdp.chain import long_run_law, time_by_paths
from lsmdp.chain.laws import QUICK_FLOPS, STATES_TO_ORDER
from lsmdp.errors import AssumptionError, ConvergenceError, SpecError, told
from lsmdp.model import LMDP, require_model
from lsmdp.output.notebooks import policy_html
from lsmdp.output.tables import moves_table

if TYPE_CHECKING:
    import pyarrow as pa

# A move that floats have lost, or of which they keep few digits, is off by less than this over the sum of its row.
_LOST_MOVE = 1e-322
# Lost moves may put a stationary law off by this much in the l1 norm, which is some fifty units of rounding.
_ERROR_OF_A_LAW = 1e-14


class AnyPolicy(ABC):
    """What every policy says, whatever its form; ``lmdp`` is its model."""

    lmdp: LMDP

    @abstractmethod
    def row(self, x: int | str) -> tuple[Ints, Floats]:
        """The possible next states from x, and their probabilities; x is the number of a state, or its label."""

    @overload
    def sample(self, x: int | str, rng: np.random.Generator) -> int: ...
    @overload
    def sample(self, x: Ints | list[Any], rng: np.random.Generator) -> Ints: ...
    def sample(self, x: Any, rng: np.random.Generator) -> int | Ints:
        """A next state from x, by its number; from each of many states where x is an array or a list of them."""
        if not hasattr(rng, "random"):
            raise SpecError(
                f"rng is {told(rng)}, not a random generator. Make one, and hand the same to each call: "
                "rng = numpy.random.default_rng(0)."
            )
        if isinstance(x, np.ndarray | list):
            now = _all_numbered(self.lmdp, x)
            return self.drawn(now.ravel(), rng.random(now.size)).reshape(now.shape)
        states, probabilities = self.row(x)
        chosen = int(np.searchsorted(probabilities.cumsum(), rng.random(), side="right"))
        return int(states[min(chosen, states.size - 1)])

    @abstractmethod
    def drawn(self, states: Ints, uniforms: Floats) -> Ints:
        """A next state from each of these, for one uniform number each."""

    @abstractmethod
    def push(self, p: Any) -> Floats:
        """p Q, the law of the next state when the present one has law p."""

    @abstractmethod
    def expect(self, f: Any) -> Floats:
        """Q f: for each state, the expectation of f after one step."""

    @abstractmethod
    def kl(self) -> Floats:
        """KL(Q(.|x) || P(.|x)) for each state, in nats (multiply by the temperature for the control cost)."""

    @abstractmethod
    def divergence(self, v: Any) -> Floats:
        """KL(Q(.|x) || Q_v(.|x)) for each state, in nats: how far this is from the policy of the value function v."""

    @abstractmethod
    def matrix(self) -> CSR:
        """Q as a CSR array."""

    @abstractmethod
    def stationary(self) -> Floats:
        """mu, the long-run law of the state under this policy."""

    def transition_measure(self) -> CSR:
        """pi(x, y) = mu(x) Q(y|x), the long-run law of a move (sec:convex)."""
        Q = self.matrix()
        return freeze(like(Q, np.repeat(self.stationary(), np.diff(Q.indptr)) * Q.data))

    def to_frame(self) -> pa.Table:
        """A row a move: from, to, probability, passive; an Arrow table, with ``.to_pandas()``."""
        return moves_table(self)


@dataclass(frozen=True, eq=False, repr=False)
class Policy(AnyPolicy):
    """The policy Q_v of a model: what it does, what it costs, where it leads."""

    lmdp: LMDP
    v: Any

    def __post_init__(self) -> None:
        require_model(self.lmdp)
        object.__setattr__(self, "v", as_value(self.v, self.lmdp.names))

    @classmethod
    def with_flow(cls, lmdp: LMDP, flow: Flow) -> Policy:
        """The policy of a v of which everything is known already, as a solver leaves it."""
        policy = cls(lmdp, flow.v)
        policy.__dict__["flow"] = flow  # where a cached property keeps what it has found
        return policy

    @cached_property
    def flow(self) -> Flow:
        """All that is known of v alone (sparse.py); found once, in one pass over P."""
        return self.lmdp.moves.flow(self.v)

    @property
    def known_flow(self) -> Flow | None:
        """The same where somebody has asked for it already, else None."""
        found: Flow | None = self.__dict__.get("flow")
        return found

    def row(self, x: int | str) -> tuple[Ints, Floats]:
        """The possible next states from x, and their probabilities; x is the number of a state, or its label."""
        P, x = self.lmdp.P, self.lmdp.numbered(x)
        entries = slice(P.indptr[x], P.indptr[x + 1])
        states = P.indices[entries].astype(np.int64)
        values = self.v[states]
        weights = P.data[entries] * np.exp((values.min() - values) / self.lmdp.temperature)
        return states, weights / weights.sum()  # eq:optQ

    def drawn(self, states: Ints, uniforms: Floats) -> Ints:
        """A next state from each of these, for one uniform number each."""
        return self.lmdp.moves.sample(self.v, states, uniforms)

    def push(self, p: Any) -> Floats:
        """p Q, the law of the next state when the present one has law p."""
        return self.lmdp.moves.push(self.v, as_distribution(p, self.lmdp.names))

    def expect(self, f: Any) -> Floats:
        """Q f: for each state, the expectation of f after one step."""
        return self.lmdp.moves.expect(self.v, as_value(f, self.lmdp.names))

    def kl(self) -> Floats:
        """KL(Q(.|x) || P(.|x)) for each state, in nats (multiply by the temperature for the control cost)."""
        return self.lmdp.moves.kl(self.v)

    def divergence(self, v: Any) -> Floats:
        """KL(Q(.|x) || Q_v(.|x)) for each state, in nats: how far this is from the policy of the value function v."""
        moves = self.lmdp.moves
        return moves.divergence(self.flow, moves.flow(as_value(v, self.lmdp.names)))[0]

    def matrix(self) -> CSR:
        """Q as a CSR array. Entries below the smallest positive float are 0 in it."""
        return freeze(like(self.lmdp.P, self.lmdp.moves.weights(self.flow)))

    @cached_property
    def _stationary(self) -> Floats:
        rho = self.lmdp.reversible_law
        law = self._reduced() if rho is None else self._balanced(rho)
        return np.asarray(read_only(self._written_out() if law is None else law))

    def _written_out(self) -> Floats:
        Q = self.matrix()
        try:
            law = long_run_law(Q)
        except AssumptionError:
            raise _beyond() from None
        if Q.data.min() < LEAST_NORMAL_FLOAT and not self._is_settled(Q, int(law.argmax())):
            raise _beyond()
        return law

    def _reduced(self) -> Floats | None:
        """By state reduction in the order that the model keeps, where that is cheap and no move has underflowed."""
        if not self._is_reducible:
            return None
        weights = self.lmdp.moves.weights(self.flow)
        if weights.min() < LEAST_NORMAL_FLOAT:
            return None
        try:
            factors = eliminate(self.lmdp.elimination_plan, weights)
            return factors.stationary() if factors.pivots[:-1].min(initial=1.0) >= LEAST_PIVOT else None
        except ConvergenceError:
            return None

    @property
    def _is_reducible(self) -> bool:
        return self.lmdp.n <= STATES_TO_ORDER and self.lmdp.elimination_plan.flops <= QUICK_FLOPS

    def _is_settled(self, Q: CSR, state: int) -> bool:
        """Whether the moves that floats have lost are too rare to matter for the law of Q, which lives in this state.

        Each of them is off by a few 1e-324 over the sum s of its row. Where a row of Q is off by e in all, its law is
        off by at most 2 e max_x E_x[T], with T the time to the state, in the l1 norm: the visits to each state
        before T and after it, from x and from anywhere else, differ by no more (theory/dense.py).
        """
        _, s = self.lmdp.moves.scaled_sums(self.v)
        error = 2.0 * _LOST_MOVE / float(s.min()) * float(np.diff(Q.indptr).max())
        if error * time_by_paths(Q, state) <= _ERROR_OF_A_LAW:
            return True
        if not self._is_reducible:
            return False
        end = np.zeros(self.lmdp.n)
        end[state] = 1.0
        try:
            times = eliminate(self.lmdp.elimination_plan, Q.data, end).solve(np.ones(self.lmdp.n))
        except ConvergenceError:
            return False
        return bool(error * times.max() <= _ERROR_OF_A_LAW)

    def _balanced(self, rho: Floats) -> Floats:
        """mu ~ rho w (P w), in logarithms: log mu = log rho + log s - (v + m)/T up to a constant.

        m(x) is the smallest v that x leads to, and s(x) the sum of its row, scaled by that. The least of v + m is
        subtracted before the division by T, with what rounding has taken from each v + m: the difference is then off by
        a relative 3 eps, and mu(x) by some 745 eps where it is not below the smallest float, however large v/T is.
        """
        m, s = self.lmdp.moves.scaled_sums(self.v)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = np.log(rho) + np.log(s) - _from_least(self.v, m) / self.lmdp.temperature
            law = np.exp(logs - logs.max())
        if not np.isfinite(total := law.sum()):
            raise _beyond()
        return np.asarray(law / total)

    def stationary(self) -> Floats:
        """mu, the long-run law of the state under this policy; 0 where it is below the smallest positive float."""
        return self._stationary

    def _repr_html_(self) -> str:
        return policy_html(self)

    def __repr__(self) -> str:
        return f"Policy({self.lmdp!r}, span of v {np.ptp(self.v):.4g})"


def _all_numbered(lmdp: LMDP, which: Any) -> Ints:
    """The numbers of many states; whole numbers are taken as they are, once they are in range."""
    numbers = np.asarray(which)
    if numbers.dtype.kind not in "iu":
        return np.array([lmdp.numbered(state) for state in numbers.tolist()], dtype=np.int64)
    for strange in numbers[(numbers < 0) | (numbers >= lmdp.n)][:1]:
        lmdp.numbered(int(strange))  # which is an error
    return numbers.astype(np.int64)


def _beyond() -> ConvergenceError:
    return ConvergenceError(
        "the long-run law of this policy is beyond float64: it moves between some parts of the chain less than "
        "once in 1e308 steps, so that how often it is in each of them is lost. The values and the policy are "
        "not affected. Raise the temperature, or make the differences between the costs smaller."
    )


def _from_least(a: Floats, b: Floats) -> Floats:
    """a + b less its minimum, to a relative 3 eps: what rounding takes from a sum is carried along."""
    sums, rest = _two_sum(a, b)
    lowest = np.flatnonzero(sums == sums.min())
    least = lowest[rest[lowest].argmin()]
    head, lost = _two_sum(sums, -sums[least])
    tail, lost_too = _two_sum(rest, -rest[least])
    total, last = _two_sum(head, tail)
    return np.asarray(total + (last + (lost + lost_too)))


def _two_sum(a: Floats, b: Any) -> tuple[Floats, Floats]:
    """a + b, and what rounding took from it, exactly (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)
