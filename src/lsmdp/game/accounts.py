"""What the rounds of one learner cost, exactly.

The costs are oblivious, so the law p_t of the state is known: p_{t+1} = p_t Q_t. With it and temperature T, round t
costs p_t.c_t + T p_t.KL(Q_t || P) in expectation, and mu_t.c_t + T mu_t.KL(Q_t || P) at the stationary law mu_t of Q_t.
No Monte Carlo, and no Q is formed.

What goes in is what a learner plays in a block of rounds, and their costs; what comes out is a :class:`Bill` with six
numbers for each round: state cost, control cost, ideal loss, change of the policy, ideal step, and what the sampled
walkers paid. As many rounds as possible are one call (``account`` of _core/moves.py). A round that is not among them
takes three passes over P: one for what is known of the next v, one for the law of the next state, and one for the
divergence of the two policies. What is known of a v is kept with its policy.

A learner may play kernels instead of value functions (``Kernels`` in played.py). State cost, control cost and change of
the policy are exact then, too. The ideal loss and the ideal step are left blank: a kernel that comes from no v is not
reversible where P is. To find its stationary law would take an elimination every round, longer than the round itself.

Sampled walkers, where there are some, go along with the game. They draw their numbers from a seed and the round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.full_laws import Equilibrium
from lsmdp._core.mixtures import account
from lsmdp._core.moves import QUANTITIES
from lsmdp.arrays import Floats, Ints, mean
from lsmdp.errors import ConvergenceError
from lsmdp.game.records import LARGEST_FIGURE
from lsmdp.inputs.forms import Form, require, vector
from lsmdp.learners import Kernels, Played, pack, unpack
from lsmdp.learners.protocol import arrays_below
from lsmdp.mixture import Mixture
from lsmdp.model import LMDP
from lsmdp.policy import Policy

_OWN = ("law", "walkers", "paid")  # The accounts remember these, besides what they find stationary laws with.


class Bill(NamedTuple):
    """What some rounds cost, a number each."""

    state_cost: Floats
    control_cost: Floats
    ideal_loss: Floats
    policy_change: Floats
    ideal_step: Floats
    sampled_loss: Floats


@dataclass
class Accounts:
    """Where a learner is, exactly and by sampled walkers, and what the walkers have paid so far.

    ``rest`` is what the stationary law of the next policy is found with, and is a matter of the matrix alone.
    """

    lmdp: LMDP
    law: Floats
    rest: Equilibrium | None
    walkers: Ints
    paid: Floats
    seed: int

    @classmethod
    def open(cls, lmdp: LMDP, start: Floats, walkers: int, seed: int) -> Accounts:
        """Before round 1, with the state drawn from the law ``start``."""
        rng = np.random.default_rng((seed, 0))
        positions = rng.choice(lmdp.n, size=walkers, p=start).astype(np.int64)
        return cls(lmdp, start, lmdp.moves.rest(), positions, np.zeros(walkers), seed)

    def settle(self, t: int, costs: Floats, played: Played) -> Bill:
        """What the rounds t, t + 1, ... cost, one for each row of costs; the state moves on."""
        if played.kernels is not None:
            return self._settle_kernels(t, costs, played.kernels)
        rounds, policies = len(costs), _Policies(self.lmdp, played)
        columns, sampled = np.empty((len(QUANTITIES), rounds)), np.full(rounds, np.nan)
        size = 1 if self.walkers.size else rounds  # walkers pay KL(Q || P) of their states, known of the last of a call
        for first in range(0, rounds, size):
            kl = self._account(t, costs, played, policies, range(first, first + size), columns)
            if self.walkers.size:
                sampled[first] = self._walk(t + first, policies[first].drawn, costs[first], kl)
        state_cost, control_cost, ideal_loss, change, ideal_step = columns
        return Bill(state_cost, control_cost, ideal_loss, change, ideal_step, sampled)

    def _settle_kernels(self, t: int, costs: Floats, kernels: Kernels) -> Bill:
        """The same where kernels are played."""
        lmdp, rounds = self.lmdp, len(costs)
        sampled, blank = np.full(rounds, np.nan), np.full(rounds, np.nan)
        found, self.law = account(lmdp.P, kernels.weights, kernels.kl, costs, self.law)
        for k in range(rounds if self.walkers.size else 0):
            played = Mixture.known(lmdp, kernels.weights[k], kernels.kl[k])
            sampled[k] = self._walk(t + k, played.drawn, costs[k], kernels.kl[k])
        return Bill(found[0], lmdp.temperature * found[1], blank, found[2], blank, sampled)

    def _account(
        self, t: int, costs: Floats, played: Played, policies: _Policies, which: range, columns: Floats
    ) -> Floats:
        """Fill in the columns of some of the rounds, 0 is the first; KL(Q || P) of the last of them."""
        done, last, kl = which.start, which.stop, np.empty(0)
        while done < last:
            values, sums = played.values[done : last + 1], played.sums[done : last + 1]
            found = self.lmdp.moves.account(t + done, values, costs[done:last], self.law, self.rest, sums)
            if found.done:
                columns[:, done : done + found.done] = found.columns[:, : found.done]
                self.law, self.rest, kl, done = found.law, found.rest, found.kl, done + found.done
            if done < last:
                columns[:, done], kl = self._one(t + done, costs[done], policies[done], policies[done + 1])
                done += 1
        return kl

    def _one(self, t: int, c_t: Floats, played: Policy, upcoming: Policy) -> tuple[tuple[float, ...], Floats]:
        """The same for one round, with any policy."""
        lmdp, moves, now = self.lmdp, self.lmdp.moves, played.flow
        kl, law = moves.step(now, self.law, each=self.walkers.size > 0)
        state_cost, control_cost = mean(self.law, c_t), moves.control(now, kl, self.law, law)
        law /= law.sum()
        self.law = law
        stays = upcoming is played
        divergence, change = (np.zeros(lmdp.n), 0.0) if stays else moves.divergence(now, upcoming.flow)
        ideal_loss, ideal_step = float("nan"), float("nan")
        if lmdp.law_is_cheap:
            with suppress(ConvergenceError):  # a law beyond float64: the game goes on, and nothing is said of it
                mu = moves.law(now, lmdp.reversible_law)
                mu = played.stationary() if mu is None else mu
                ideal_loss = mean(mu, c_t) + moves.control(now, kl, mu, mu)
                ideal_step = t * lmdp.temperature * mean(mu, divergence)
        return (state_cost, control_cost, ideal_loss, change, ideal_step), kl

    def _walk(self, t: int, draw: Callable[[Ints, Floats], Ints], c_t: Floats, kl: Floats) -> float:
        """The walkers pay and move; what they pay on average."""
        now = c_t[self.walkers] + self.lmdp.temperature * kl[self.walkers]
        self.paid = self.paid + now
        uniforms = np.random.default_rng((self.seed, t)).random(self.walkers.size)
        self.walkers = draw(self.walkers, uniforms)
        return float(now.mean())

    def to_arrays(self) -> dict[str, Any]:
        """Everything that the next round needs, as named arrays."""
        arrays = {name: getattr(self, name) for name in _OWN}
        return arrays | {f"rest.{name}": array for name, array in pack(self.rest).items()}

    def restore(self, arrays: Mapping[str, Any], *, alone: bool = False) -> None:
        """Go on from what ``to_arrays`` gave, once it is certain that it can be that.

        Where the accounts come ``alone``, without the state of the learner, nothing is needed to play on with.
        """
        n, count = self.lmdp.n, self.walkers.size
        law = Form(((n,),), low=0.0, high=2.0, law=True)
        walkers = Form(((count,),), np.int64, 0, n - 1)
        require(arrays, {"law": law, "walkers": walkers, "paid": vector(count, -LARGEST_FIGURE, LARGEST_FIGURE)})
        self.law, self.walkers, self.paid = (np.asarray(arrays[name]) for name in _OWN)
        self.rest = None if alone else unpack(self.rest, arrays_below("rest", arrays))


class _Policies:
    """The policies of a block, each made where it is first asked for.

    A policy that does not change is the same object, so that what is known of it is found once.
    """

    def __init__(self, lmdp: LMDP, played: Played) -> None:
        self.lmdp, self.values = lmdp, played.values
        self.made = {k: policy for k, policy in played.policies.items() if isinstance(policy, Policy)}

    def __getitem__(self, k: int) -> Policy:
        if k not in self.made:
            before = self.made.get(k - 1)
            same = before is not None and np.array_equal(before.v, self.values[k])
            self.made[k] = before if before is not None and same else Policy(self.lmdp, self.values[k])
        return self.made[k]
