"""What one fixed policy would have paid: the exact cost of Q over the same costs, from the same start.

A stationary policy Q that starts from the law p_1 has the laws p_{t+1} = p_t Q. In T rounds at temperature tau it pays

    L_T(Q) = sum_t p_t.c_t + tau sum_t p_t.KL(Q || P)           (state cost + control cost).

One product by Q a round gives it without sampling. ``fixed_costs`` plays several policies in a single pass over the
costs, reads them in blocks, and keeps nothing that grows with the number of rounds. What a policy pays is summed
within each block first, so that rounding grows with the number of blocks and not of rounds; and every law is divided
by its sum, because the rows of Q sum to 1 only within rounding and the drift would add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp._core.hindsight import push_along
from lsmdp._core.sparse import rows
from lsmdp.arrays import (
    CSR,
    Floats,
    Ints,
    as_distribution,
    like,
    read_only,
    row_sums,
)
from lsmdp.convex import as_policy_kernel, policy_of
from lsmdp.costs.given import in_blocks, in_rounds, stacked
from lsmdp.costs.sequence import Costs
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

_BLOCK_ROUNDS = 256  # At most this many rounds are stacked at a time, so that sums within a block stay short.
BLOCK_NUMBERS = 2**20  # At most this many costs are held at a time (8 MB), but always a whole round.


@dataclass(frozen=True, eq=False)
class FixedCost:
    """L_t(Q) at some rounds t, the last one always among them: entry i holds the sums over rounds 1..rounds[i].

    ``final_law`` is the law of the state after the last round.
    """

    rounds: Ints
    state_costs: Floats
    control_costs: Floats
    final_law: Floats

    @property
    def losses(self) -> Floats:
        """State cost plus control cost, at each of ``rounds``."""
        return self.state_costs + self.control_costs

    @property
    def T(self) -> int:
        """The number of rounds."""
        return int(self.rounds[-1])

    @property
    def state_cost(self) -> float:
        """sum_t p_t.c_t over all rounds."""
        return float(self.state_costs[-1])

    @property
    def control_cost(self) -> float:
        """tau sum_t p_t.KL(Q || P) over all rounds, with tau the temperature."""
        return float(self.control_costs[-1])

    @property
    def loss(self) -> float:
        """L_T(Q)."""
        return self.state_cost + self.control_cost

    def __repr__(self) -> str:
        return f"FixedCost({self.T:,} rounds, loss {self.loss:.12g})"


def fixed_cost(lmdp: LMDP, Q: Any, costs: Iterable[Any], p1: Any, at: Iterable[int] = ()) -> FixedCost:
    """L_T(Q) of one policy (a :class:`Policy` or a kernel on P's moves), and L_t(Q) at the rounds ``at``."""
    return fixed_costs(lmdp, [Q], costs, p1, at)[0]


def fixed_costs(
    lmdp: LMDP, policies: Sequence[Any], costs: Iterable[Any], p1: Any, at: Iterable[int] = ()
) -> list[FixedCost]:
    """L_T(Q) of several policies, in one pass over the costs."""
    start = as_distribution(p1, lmdp.names)
    wanted = _as_rounds(at)
    walks = [_FixedCourse(lmdp, Q, start, wanted) for Q in policies]
    T = 0
    for block in blocks_of(in_rounds(costs, lmdp.names), lmdp.n):
        for walk in walks:
            walk.play(block, T)
        T += len(block)
    if not T:
        raise CostError("the costs have no rounds. Give at least one cost vector.")
    if wanted.size and wanted[-1] > T:
        raise SpecError(f"round {wanted[-1]} was asked for, but the costs end after round {T}. Ask up to there.")
    return [walk.result(T) for walk in walks]


class _FixedCourse:
    """One policy on its way through the costs: its law, and its sums so far."""

    def __init__(self, lmdp: LMDP, Q: Any, p: Floats, wanted: Ints) -> None:
        entries = policy_entries(lmdp, Q)
        self.rows = rows(like(lmdp.P, entries))
        self.control = lmdp.temperature * control_cost(lmdp.P, entries)
        self.p = p
        self.wanted = wanted
        self.sums = np.zeros(2)
        self.kept: list[Floats] = []

    def play(self, block: Floats, done: int) -> None:
        """Play the rounds done+1, done+2, ... of a block."""
        laws = np.empty((len(block) + 1, self.p.size))
        laws[0] = self.p
        push_along(self.rows, self.rows.data[np.newaxis], laws)
        self.p = laws[-1].copy()
        paid = np.stack([np.einsum("tx,tx->t", laws[:-1], block), np.einsum("tx,x->t", laws[:-1], self.control)])
        inside = self.wanted[(self.wanted > done) & (self.wanted <= done + len(block))]
        self.kept += [self.sums + paid[:, : t - done].sum(axis=1) for t in inside.tolist()]
        self.sums = self.sums + paid.sum(axis=1)

    def result(self, T: int) -> FixedCost:
        """The record of a pass that ended after round T."""
        at_end = bool(self.wanted.size) and int(self.wanted[-1]) == T
        state_costs, control_costs = np.array(self.kept if at_end else [*self.kept, self.sums]).T
        return FixedCost(
            rounds=read_only(self.wanted if at_end else np.append(self.wanted, T)),
            state_costs=read_only(state_costs.copy()),
            control_costs=read_only(control_costs.copy()),
            final_law=read_only(self.p),
        )


def policy_entries(lmdp: LMDP, Q: Any) -> Floats:
    """The entries of Q(y|x) at the places of P's; Q is a :class:`Policy` or a kernel that uses moves of P only."""
    kernel = as_policy_kernel(Q.matrix() if isinstance(Q, AnyPolicy) else Q, lmdp)
    return np.asarray(policy_of(lmdp, kernel).data)


def control_cost(P: CSR, entries: Floats) -> Floats:
    """KL(Q(.|x) || P(.|x)) for each state, in nats, of a kernel with these entries at the places of P's."""
    ratios = np.log(np.where(entries > 0.0, entries, P.data)) - np.log(P.data)
    return row_sums(like(P, entries * ratios)).clip(min=0.0)


def blocks_of(costs: Iterable[Any], n: int) -> Iterator[Floats]:
    """All costs, checked, as arrays of k x n: as they come where they come in blocks."""
    if isinstance(costs, Costs):
        first = 1
        for block in costs.blocks_from(1):
            yield stacked(block, n, first)
            first += len(block)
    else:
        yield from in_blocks(costs, n, block_size(n))


def block_size(n: int) -> int:
    """How many rounds make a block."""
    return max(1, min(_BLOCK_ROUNDS, BLOCK_NUMBERS // n))


def _as_rounds(at: Iterable[int]) -> Ints:
    wanted = np.unique(np.fromiter(at, dtype=np.int64))
    if wanted.size and wanted[0] < 1:
        raise SpecError(f"round {wanted[0]} was asked for. Rounds are counted from 1.")
    return wanted
