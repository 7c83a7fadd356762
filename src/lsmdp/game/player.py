"""One learner at the table, and what its rounds cost.

Round t = 1, 2, ... is that of table.py: the learner chooses Q_t, the state moves with it, the learner sees c_t. The law
p_t of the state is exact, p_{t+1} = p_t Q_t, and so is the expected loss p_t.(c_t + temperature * KL(Q_t || P)).

A small model is played in stretches of many rounds, in compiled loops (full.py, full_accounts.py). Every round of
such a model goes through them, also one that is played by itself, so that it does not matter where a game is cut into
stretches. On larger models a leader that has a factor learns from a stretch at once (solvers/warm/plan.py); the
accounts are kept round by round.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core import full_accounts, sparse, sparse_play
from lsmdp._core.full_laws import Equilibrium
from lsmdp.arrays import Floats, Ints, mean
from lsmdp.errors import ConvergenceError
from lsmdp.forms import (
    Form,
    Past,
    require,
    vector,
)
from lsmdp.learners import (
    Player,
    State,
    Stretch,
    pack,
    unpack,
)
from lsmdp.model import LMDP
from lsmdp.policy import REDUCED_STATES, Policy, flow_of

LAW_FLOPS = 5e6  # per round, for the stationary law of a policy
WIDE = 1e150  # what the books hold is smaller, so that the product of two figures is a float
OWN = ("law", "walkers", "paid")  # what a seat remembers besides what its learner and the books do


class Round(NamedTuple):
    """One round of one learner. Costs are in the learner's units, [0, 1]; nan stands for what was not computed.

    That may be since it would take too long, or since the stationary law of the policy is beyond float64.

    ``loss`` = ``state_cost`` + ``control_cost`` is exact in expectation. ``ideal_loss`` is the loss at the stationary
    law. ``average_cost`` and ``gap`` certify the policy for the cost it was chosen for. ``policy_change`` is
    max_x |Q_t - Q_{t+1}|_1, and ``ideal_step`` = t * temperature * mu_t.KL(Q_t || Q_{t+1}), whose sum over the rounds
    is the idealised regret of follow the leader. ``sampled_loss`` is the mean over sampled walkers.
    """

    round: int
    learner: str
    loss: float
    state_cost: float
    control_cost: float
    ideal_loss: float
    average_cost: float
    gap: float
    policy_change: float
    ideal_step: float
    sampled_loss: float
    steps: int
    seconds: float


class Entry(NamedTuple):
    """What a round costs; the rows of :attr:`lsmdp._core.full_accounts.Accounts.columns`."""

    state_cost: float
    control_cost: float
    ideal_loss: float
    policy_change: float
    ideal_step: float


class Block(NamedTuple):
    """Consecutive rounds of one learner: the fields of :class:`Round` as columns."""

    round: Ints
    learner: str
    loss: Floats
    state_cost: Floats
    control_cost: Floats
    ideal_loss: Floats
    average_cost: Floats
    gap: Floats
    policy_change: Floats
    ideal_step: Floats
    sampled_loss: Floats
    steps: Ints
    seconds: Floats

    @classmethod
    def of(cls, rows: Sequence[Round]) -> Block:
        """The columns of some rounds of one learner."""
        columns: dict[str, Any] = dict(zip(Round._fields, map(np.array, zip(*rows, strict=True)), strict=True))
        return cls(**(columns | {"learner": rows[0].learner}))

    def rows(self) -> list[Round]:
        """One record a round."""
        names = [self.learner] * len(self.round)
        columns = (names if isinstance(column, str) else column.tolist() for column in self)
        return [Round(*row) for row in zip(*columns, strict=True)]


@dataclass
class Seat:
    """A learner at the table: its state, the exact law of its position, its policy and its sampled walkers.

    ``rest`` is the stationary law of the last policy of a small model, with what the next one is found with.
    """

    lmdp: LMDP
    learner: Player
    state: State
    law: Floats
    rest: Equilibrium | None
    walkers: Ints
    paid: Floats  # what each walker has paid so far
    seed: int
    ideal: bool
    upcoming: Policy | None = None  # the policy of the next round, where it was worked out already

    @classmethod
    def take(cls, lmdp: LMDP, learner: Player, start: Floats, walkers: int, seed: int, ideal: bool) -> Seat:
        """A learner before round 1."""
        rng = np.random.default_rng((seed, 0))
        positions = rng.choice(lmdp.n, size=walkers, p=start).astype(np.int64)
        rest = None if lmdp.square is None else Equilibrium.first(lmdp.square)
        return cls(lmdp, learner, learner.init(lmdp), start, rest, positions, np.zeros(walkers), seed, ideal)

    def play(self, t: int, c_t: Floats) -> Round:
        """Play round t against c_t, learn from it, and say what happened."""
        if self.lmdp.square is not None:
            return self.play_all(t, c_t[np.newaxis]).rows()[0]
        began = time.perf_counter()
        played = self._choose(c_t)
        before, self.state = self.state, self.learner.observe(self.lmdp, self.state, c_t)
        report = self.learner.report(before, self.state)
        self.upcoming = self.learner.policy(self.lmdp, self.state)
        entry, kl = self._account(t, c_t, played, self.upcoming)
        sampled = self._walk(t, played.v, c_t, kl)
        return Round(
            round=t,
            learner=self.learner.name,
            loss=entry.state_cost + entry.control_cost,
            state_cost=entry.state_cost,
            control_cost=entry.control_cost,
            ideal_loss=entry.ideal_loss,
            average_cost=(report.lo + report.hi) / 2,
            gap=report.hi - report.lo,
            policy_change=entry.policy_change,
            ideal_step=entry.ideal_step,
            sampled_loss=sampled,
            steps=report.steps,
            seconds=time.perf_counter() - began,
        )

    def play_all(self, t: int, costs: Floats) -> Block:
        """Play the rounds t, t + 1, ..., one for each row of costs."""
        at_once = not self.walkers.size and not self.learner.clairvoyant
        if self.lmdp.square is None:
            at_once = at_once and len(costs) > 1 and self.learner.in_stretches(self.lmdp, self.state)
        if not at_once and (len(costs) > 1 or self.lmdp.square is None):
            return Block.of([self.play(t + k, c_t) for k, c_t in enumerate(costs)])
        began, rounds = time.perf_counter(), len(costs)
        done = self._learn(costs)
        entries, kl = self._account_all(t, costs, done.values, done.sums)
        state_cost, control_cost, ideal_loss, policy_change, ideal_step = entries
        sampled = self._walk(t, done.values[0], costs[0], kl)
        return Block(
            round=t + np.arange(rounds),
            learner=self.learner.name,
            loss=state_cost + control_cost,
            state_cost=state_cost,
            control_cost=control_cost,
            ideal_loss=ideal_loss,
            average_cost=(done.lo + done.hi) / 2,
            gap=done.hi - done.lo,
            policy_change=policy_change,
            ideal_step=ideal_step,
            sampled_loss=np.full(rounds, sampled),
            steps=done.steps,
            seconds=np.full(rounds, (time.perf_counter() - began) / rounds),
        )

    def _learn(self, costs: Floats) -> Stretch:
        """What the learner plays in these rounds; it has learnt from them afterwards."""
        lmdp, learner = self.lmdp, self.learner
        if len(costs) > 1 and learner.in_stretches(lmdp, self.state):
            found = learner.observe_all(lmdp, self.state, costs)
            self.state, self.upcoming = found.state, None
            return found
        values, reports = np.empty((len(costs) + 1, lmdp.n)), []
        for k, c_t in enumerate(costs):
            values[k] = self._choose(c_t).v
            before, self.state = self.state, learner.observe(lmdp, self.state, c_t)
            reports.append(learner.report(before, self.state))
            self.upcoming = learner.policy(lmdp, self.state)
            values[k + 1] = self.upcoming.v
        lo, hi, steps = (np.array(column) for column in zip(*reports, strict=True))
        return Stretch(values, lo, hi, steps, self.state)

    def _account_all(self, t: int, costs: Floats, values: Floats, sums: Floats) -> tuple[Floats, Floats]:
        """The columns of :class:`Entry` for some rounds, and the last KL(Q || P)."""
        rounds, done = len(costs), 0
        entries, kl = np.empty((len(Entry._fields), rounds)), np.empty(0)
        if self.lmdp.square is None:
            policies = [Policy(self.lmdp, v) for v in values]
            for k, (played, upcoming) in enumerate(pairwise(policies)):
                entries[:, k], kl = self._account(t + k, costs[k], played, upcoming)
            return entries, kl
        assert self.rest is not None
        while done < rounds:
            bill = values[done:], costs[done:], self.law, self.rest, sums[done:]
            found = full_accounts.account(self.lmdp.square, self.lmdp.temperature, t + done, *bill)
            entries[:, done : done + found.done] = found.columns[:, : found.done]
            self.law, self.rest, kl, done = found.law, found.rest, found.kl, done + found.done
            if done < rounds:
                played, upcoming = Policy(self.lmdp, values[done]), Policy(self.lmdp, values[done + 1])
                entry, kl = self._account(t + done, costs[done], played, upcoming)
                entries[:, done], done = entry, done + 1
        return entries, kl

    def _account(self, t: int, c_t: Floats, played: Policy, upcoming: Policy) -> tuple[Entry, Floats]:
        """What a round costs, for any model, and KL(Q || P) if there are walkers; the law of the position moves on."""
        P, T = self.lmdp.P, self.lmdp.temperature
        now, rho = flow_of(self.lmdp, played.v), self.lmdp.reversible_law if self.ideal else None
        kl, law = sparse_play.play(P, now, self.law, each=self.walkers.size > 0)
        state_cost, control_cost = mean(self.law, c_t), T * sparse_play.mean_control(now, kl, self.law, law)
        law /= law.sum()
        self.law = law
        divergence, change = sparse_play.divergence(P, now, flow_of(self.lmdp, upcoming.v))
        ideal_loss, ideal_step = float("nan"), float("nan")
        if self.ideal:
            with suppress(ConvergenceError):  # a law beyond float64: the game goes on, and nothing is said of it
                mu = played.stationary() if rho is None or not now.flat else sparse_play.balanced_law(now, rho)
                ideal_loss = mean(mu, c_t) + T * sparse_play.mean_control(now, kl, mu, mu)
                ideal_step = t * T * mean(mu, divergence)
        return Entry(state_cost, control_cost, ideal_loss, change, ideal_step), kl

    def _choose(self, c_t: Floats) -> Policy:
        if self.learner.clairvoyant:
            return self.learner.foresee(self.lmdp, self.state, c_t)
        return self.upcoming or self.learner.policy(self.lmdp, self.state)

    def _walk(self, t: int, v: Floats, c_t: Floats, kl: Floats) -> float:
        if not self.walkers.size:
            return float("nan")
        now = c_t[self.walkers] + self.lmdp.temperature * kl[self.walkers]
        self.paid = self.paid + now
        uniforms = np.random.default_rng((self.seed, t)).random(self.walkers.size)
        self.walkers = sparse.sample(self.lmdp.P, v, self.walkers, uniforms, self.lmdp.temperature)
        return float(now.mean())

    def to_arrays(self) -> dict[str, Any]:
        """Everything that the next round needs, as named arrays."""
        arrays = {name: getattr(self, name) for name in OWN}
        arrays |= {f"state.{name}": array for name, array in self.learner.pack(self.state).items()}
        if self.rest is not None:
            arrays |= {f"rest.{name}": array for name, array in pack(self.rest).items()}
        return arrays

    def restore(self, arrays: Mapping[str, Any], past: Past) -> None:
        """Go on from what ``to_arrays`` gave after these rounds, once it is certain that it can be that."""
        n, count = self.lmdp.n, self.walkers.size
        law = Form(((n,),), low=0.0, high=2.0, law=True)
        walkers = Form(((count,),), np.int64, 0, n - 1)
        require(arrays, {"law": law, "walkers": walkers, "paid": vector(count, -WIDE, WIDE)})
        self.law, self.walkers, self.paid = (np.asarray(arrays[name]) for name in OWN)
        self.state, self.upcoming = unpack(self.state, _part("state", arrays), past), None
        self.rest = None if self.rest is None else unpack(self.rest, _part("rest", arrays))


def _part(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{part}."
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}


def can_idealise(lmdp: LMDP) -> bool:
    """Whether the stationary law of a policy is cheap enough to be computed each round."""
    if lmdp.reversible_law is not None or lmdp.square is not None:
        return True
    return (
        lmdp.n <= REDUCED_STATES
        and lmdp.elimination_plan.entries is not None
        and lmdp.elimination_plan.flops <= LAW_FLOPS
    )
