"""P as the rest of the library sees it: one set of questions, whatever kind of matrix answers them.

``lmdp.moves`` is a :class:`Sparse` or a :class:`Full`. Both answer the same questions about the policy Q_v of a value
function v, and nobody outside asks which of the two it is:

    flow(v)                         e^{-v/T}, its sums over the moves of each state, and their logarithms
    scaled_sums(v)                  the same sums, each row by itself relative to the least v that it leads to
    residual(c, v)                  r = Bv - v, and bounds on it with all rounding enclosed
    push(v, p), expect(v, f)        p Q_v and Q_v f
    kl(v)                           KL(Q_v || P) for each state
    sample(v, states, uniforms)     next states, drawn from Q_v
    weights(flow)                   the entries of Q_v at the places of P's, from what is known of v
    step(flow, p)                   p Q_v and KL(Q_v || P), from what is known of v
    control(flow, kl, p, after)     T p.KL(Q_v || P), from what ``step`` gave
    divergence(flow, other)         KL(Q_v || Q_o) and max |Q_v - Q_o|, from what is known of both
    law(flow, rho)                  the stationary law of Q_v, where that takes no linear algebra
    track(...)                      Bellman updates for a mean of the costs, round after round
    account(...)                    what many rounds cost at once, as far as that can be done in one call
    rest()                          what ``account`` keeps about stationary laws from one block to the next
    lead(...)                       the optimum for one cost after another, as far as that can be done in one call
    inverse_at(v)                   what ``lead`` begins with at a v
    at_once                         whether many rounds take less time together than one by one

**Sparse** is any P, in compressed rows. Each answer is a pass over its moves (sparse.py, sparse_play.py,
sparse_steps.py).

**Full** is a P of few states that is written out as well (full.py). A round of such a game takes less time than a call
from Python, so it solves for leaders, tracks and accounts for whole blocks of rounds in one call. Where v spans too
much for that, and for all single questions, it does what Sparse does. A round has the same bits by itself as in a
block.

**Chance that cannot be steered** would enter here. The controller then chooses a place k with P (n x m), and nature
moves on with K (m x n). Wherever a sum over the moves of P reads v, it would read K v, and what is pushed along P would
be pushed along K afterwards; K = I is today's model. Solves, certificates and regrets read P themselves, through the
loops of sparse.py and hindsight.py; these would have to read K v in the same places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core import full, full_accounts, sparse, sparse_play
from lsmdp._core.full_laws import Equilibrium
from lsmdp._core.means import TrackedCosts
from lsmdp._core.sparse import Flow
from lsmdp._core.sparse_steps import update
from lsmdp.arrays import CSR, Floats, Ints


class Tracked(NamedTuple):
    """Bellman updates after each of some rounds.

    Row 0 of ``values`` is where they began, and row k + 1 was made after the k-th round; ``lo`` and ``hi`` are what row
    k proves for the mean of the costs before round k. ``v`` is the last row.
    """

    v: Floats
    values: Floats | list[Floats]
    lo: Floats
    hi: Floats


class Accounted(NamedTuple):
    """What the first ``done`` rounds cost, a row each for the quantities of :data:`QUANTITIES`.

    ``law`` is that of the state after them, ``rest`` what the stationary law of the next policy is found with, and
    ``kl`` is KL(Q || P) of the last of these rounds.
    """

    done: int
    columns: Floats
    law: Floats
    rest: Equilibrium | None
    kl: Floats


# These are the rows of Accounted.columns.
QUANTITIES = ("state_cost", "control_cost", "ideal_loss", "policy_change", "ideal_step")
_NO_INVERSE: Floats = np.empty((0, 0))  # Where there is nothing to begin with, it has no rows.
_NO_ROUNDS_ACCOUNTED: Floats = np.empty((len(QUANTITIES), 0))  # These are the columns of no rounds at all.


@dataclass(frozen=True, eq=False)
class Sparse:
    """P in compressed rows. ``rounding`` is what all bounds are wider by, in units of the cost."""

    P: CSR
    temperature: float
    rounding: float

    at_once = False  # whether many rounds of a game take less time together than one by one

    def flow(self, v: Floats) -> Flow:
        """All that is known of v alone, in one pass over P."""
        return sparse.flow(self.P, v, self.temperature)

    def residual(self, c: Floats, v: Floats, slack: float | None = None) -> tuple[Floats, float, float]:
        """r = Bv - v, and bounds on all of its entries; they are wider by ``slack``, or by ``rounding``."""
        return sparse.residual(self.P, c, v, self.temperature, self.rounding if slack is None else slack)

    def weights(self, flow: Flow) -> Floats:
        """The entries of Q_v at the places of P's."""
        return sparse.chances(self.P, flow)

    def scaled_sums(self, v: Floats) -> tuple[Floats, Floats]:
        """The least v that each state leads to, and the sum of e^{-v} over its moves, scaled by that."""
        return sparse.scaled_sums(self.P, v, self.temperature)

    def push(self, v: Floats, p: Floats) -> Floats:
        """p Q_v."""
        return sparse.push(self.P, v, p, self.temperature)

    def expect(self, v: Floats, f: Floats) -> Floats:
        """Q_v f."""
        return sparse.expect(self.P, v, f, self.temperature)

    def kl(self, v: Floats) -> Floats:
        """KL(Q_v || P) for each state, in nats."""
        return sparse.control_cost(self.P, v, self.temperature)

    def sample(self, v: Floats, states: Ints, uniforms: Floats) -> Ints:
        """A next state from each of these, for one uniform number each."""
        return sparse.sample(self.P, v, states, uniforms, self.temperature)

    def step(self, flow: Flow, p: Floats, *, each: bool = True) -> tuple[Floats, Floats]:
        """KL(Q_v || P) for each state, and p Q_v; without ``each``, the first is empty where that saves a pass."""
        return sparse_play.play(self.P, flow, p, each=each)

    def control(self, flow: Flow, kl: Floats, p: Floats, after: Floats) -> float:
        """T p.KL(Q_v || P), the control cost of a round, from what ``step`` gave."""
        return self.temperature * sparse_play.mean_control(flow, kl, p, after)

    def divergence(self, flow: Flow, other: Flow) -> tuple[Floats, float]:
        """KL(Q_v || Q_o) for each state, and the largest l1 distance of their rows."""
        return sparse_play.divergence(self.P, flow, other)

    def law(self, flow: Flow, rho: Floats | None) -> Floats | None:
        """The stationary law of Q_v where P is reversible with respect to rho and v spans little; else None."""
        return None if rho is None or not flow.flat else sparse_play.balanced_law(flow, rho)

    def track(self, steps: int, averaged: bool, costs: TrackedCosts, v: Floats, known: Flow | None = None) -> Tracked:
        """Bellman updates after each of some rounds (learners/track.py).

        ``costs`` are what is tracked; ``known`` is the flow of v, if anybody has it.
        """
        rounds = len(costs.counts)
        values, lo, hi = [v], np.empty(rounds), np.empty(rounds)
        for k in range(rounds):
            given = (self.P, self.temperature, costs.after(k), costs.after(k + 1), v, known if k == 0 else None)
            v, lo[k], hi[k] = update(*given, steps=steps, averaged=averaged, slack=self.rounding)
            values.append(v)
        return Tracked(v, values, lo, hi)

    def inverse_at(self, v: Floats) -> Floats:
        """What ``lead`` begins with at this v: here nothing."""
        return _NO_INVERSE

    def lead(self, costs: Floats, gaps: Floats, v: Floats, inverse: Floats, debt: int) -> full.FullLeads | None:
        """The optimum for each row of costs, as far as that can be done at once; None where it cannot, as here."""
        return None

    @property
    def alone(self) -> Sparse:
        """The same P in compressed rows only: what takes one round at a time, whatever v spans."""
        return Sparse(self.P, self.temperature, self.rounding)

    def rest(self) -> Equilibrium | None:
        """What ``account`` keeps about stationary laws from one block to the next, before round 1."""
        return None

    def account(
        self, t: int, values: Any, costs: Floats, law: Floats, rest: Equilibrium | None, sums: Floats
    ) -> Accounted:
        """What the rounds t, t + 1, ... cost, as many as can be done at once: here none."""
        return Accounted(0, _NO_ROUNDS_ACCOUNTED, law, rest, np.empty(0))


@dataclass(frozen=True, eq=False)
class Full(Sparse):
    """P written out besides: blocks of rounds are one call."""

    square: full.Square

    at_once = True

    def track(self, steps: int, averaged: bool, costs: TrackedCosts, v: Floats, known: Flow | None = None) -> Tracked:
        """The same, as many rounds at a time as one scale serves."""
        means, rounds, done = costs.means, len(costs.counts), 0
        values, lo, hi = np.vstack([v, means[1:]]), np.empty(rounds), np.empty(rounds)
        while done < rounds:
            out = values[done:], lo[done:], hi[done:]
            done += full.track_block(self.square, self.temperature, means[done:], steps, averaged, *out, self.rounding)
            if done < rounds:  # v spans too much
                one = TrackedCosts.of_means(means[done], means[done + 1 : done + 2])
                hard = super().track(steps, averaged, one, values[done])
                values[done + 1], lo[done], hi[done], done = hard.values[1], hard.lo[0], hard.hi[0], done + 1
        return Tracked(values[-1].copy(), values, lo, hi)

    def inverse_at(self, v: Floats) -> Floats:
        """The inverse of I - Q_v, made regular (full.py)."""
        return full.inverse_at(self.square, self.temperature, v)

    def lead(self, costs: Floats, gaps: Floats, v: Floats, inverse: Floats, debt: int) -> full.FullLeads:
        """The same, up to the first cost that is for the general solver."""
        return full.lead_block(self.square, self.temperature, costs, gaps, v, inverse, debt, self.rounding)

    def rest(self) -> Equilibrium:
        """Any law, and nothing to go by yet."""
        return Equilibrium.first(self.square)

    def account(
        self, t: int, values: Any, costs: Floats, law: Floats, rest: Equilibrium | None, sums: Floats
    ) -> Accounted:
        """The same, up to the first round in which v spans too much for one scale.

        Row k of ``values`` is played in round t + k, and the last row in the round after. ``sums`` are their sums over
        the moves, where they are known.
        """
        assert rest is not None
        found = full_accounts.account(self.square, self.temperature, t, np.asarray(values), costs, law, rest, sums)
        return Accounted(*found)
