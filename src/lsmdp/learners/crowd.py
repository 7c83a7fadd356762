"""The experts of a pool in some rounds: what they play, where that leads them, what it costs, and their mixture.

A :class:`Crowd` is the experts of a pool on a model. Before a round, what is known of all of them is an
``ExpertArrays`` (_core/crowds.py): values, laws, and what their policies are made of. ``Crowd.play`` goes on from
there, through some rounds: from the laws and the values to the losses, from these to the weights, and from all of them
to the flow mixture (mixtures.py has the formulas). Trackers learn on the way. Everybody else plays these rounds as in a
game of its own, beforehand.

Rounds in which one scale serves all experts are one compiled call; any other is taken by itself, expert by expert.
Which of the two depends on the values of that round alone, so that it does not matter how rounds are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.crowds import ExpertArrays, Matrix, Means, MixtureRounds, Others, Room, Span, Weighing, play
from lsmdp._core.means import TrackedCosts
from lsmdp._core.mixtures import Odds, completed_rows, hedge
from lsmdp._core.sparse import rows
from lsmdp.arrays import Floats, Ints, frozen, mean
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import LARGEST_NUMBER
from lsmdp.learners.complete import CompleteLearner
from lsmdp.learners.fixed import Passive
from lsmdp.learners.protocol import Several, State
from lsmdp.learners.track import TrackTheDiscounted, TrackTheLeader
from lsmdp.mixture import Mixture
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# These bounds hold of any average cost: nobody asks the experts of a pool for theirs, which would take a pass each.
_NOTHING_PROVED = (-LARGEST_NUMBER, LARGEST_NUMBER)
# A product of at most so many multiplications is left to BLAS, which takes one thread for it: its bits are always the
# same.
_MULTIPLICATIONS_OF_ONE_THREAD = 2**18
# Where P has more zeros than this for each of its moves, to jump from move to move is quicker than a product with all.
_LARGEST_SHARE_OF_ZEROS = 4


class CrowdMemory(NamedTuple):
    """What a mixture remembers of the crowd that plays it: its standing, m, and the policies of all but trackers.

    ``room`` is what the next rounds can be worked out in. Whoever takes all this may write over it, but for the values,
    stores and laws, which the states of the experts share.
    """

    standing: ExpertArrays
    mass: Floats
    policies: dict[int, Policy]
    room: Room

    @classmethod
    def taken(cls, policy: Any, laws: Floats) -> CrowdMemory | None:
        """What a mixture remembers, if that is the crowd with these laws: equal mixtures may come of other crowds."""
        known: CrowdMemory | None = None if policy is None else policy.taken_memory()
        return known if known is not None and known.standing.laws is laws else None

    def copied(self) -> ExpertArrays:
        """Its standing, to be written over."""
        values, stores, laws, *rest = self.standing
        return ExpertArrays(values.copy(), stores.copy(), laws.copy(), *rest)


class Mixed(NamedTuple):
    """Some rounds of a pool: a row each and one for the round after, and states, steps, odds and standing after them.

    ``policies`` are those of the round after, of all experts but trackers; it is ``flat`` where one scale serves it.
    """

    rounds: MixtureRounds
    states: Several
    steps: Ints
    odds: Odds
    standing: ExpertArrays
    policies: dict[int, Policy]
    room: Room
    flat: bool

    def coming(self, lmdp: LMDP) -> Mixture:
        """The mixture of the round after, which remembers the crowd if one scale serves it."""
        weights, kl, mass, _ = self.rounds
        made = Mixture.known(lmdp, weights[-1].copy(), kl[-1].copy())
        if self.flat:
            made.remember(CrowdMemory(self.standing, mass[-1].copy(), self.policies, self.room))
        return made


@dataclass(frozen=True, eq=False)
class ExpertTable:
    """The learners of a pool: what each of them makes of a cost, and which of them are no trackers."""

    learners: Sequence[CompleteLearner]
    means: Means
    others: Ints

    @classmethod
    def of(cls, learners: Sequence[CompleteLearner]) -> ExpertTable:
        """Trackers are those that take one averaged Bellman update a round, and nothing else."""
        manners = [_manner(expert) for expert in learners]
        others = [i for i, manner in enumerate(manners) if manner is None]
        table = np.array([(0.0, 0.0, 0.0) if manner is None else manner for manner in manners])
        return cls(learners, Means(*table.T.copy()), np.array(others, np.int64))


def _manner(expert: CompleteLearner) -> tuple[float, float, float] | None:
    """keep, add and sums of ``Means`` for a tracker; None for others."""
    if type(expert.own) is TrackTheDiscounted:
        keep = 1.0 - expert.own.weight
        return keep, 1.0 - keep, 0.0
    one = TrackTheLeader().tracking
    return (1.0, 1.0, 1.0) if type(expert.own) is TrackTheLeader and expert.tracking == one else None


class Crowd:
    """The experts on a model, from a state of theirs on; ``known`` is what a mixture remembers of them there."""

    def __init__(
        self, lmdp: LMDP, experts: ExpertTable, states: Several, laws: Floats, known: CrowdMemory | None = None
    ) -> None:
        self.lmdp, self.experts, self.states, self.known = lmdp, experts, states, known
        fits = lmdp.n**2 <= min(_LARGEST_SHARE_OF_ZEROS * lmdp.nnz, _MULTIPLICATIONS_OF_ONE_THREAD // len(states))
        self.P = lmdp.cache.get(f"moves of a pool{' written out' * fits}", lambda: _matrix(lmdp, fits))
        if known is None:
            self.policies = {i: self._policy(i) for i in experts.others.tolist()}
            self.standing, self.room = self._standing(laws), Room.of(len(states), self.P)
        else:
            self.policies, self.standing, self.room = known.policies, known.copied(), known.room

    def play(self, costs: Floats, share: float, odds: Odds, policy: Mixture | None = None) -> Mixed:
        """Play a round for each row of costs, and make the mixture of the round after; ``policy`` is the first one."""
        lmdp, (count, n), standing = self.lmdp, costs.shape, self.standing
        others, states, steps, policies = self._others(costs)
        size = count + 1
        out = MixtureRounds(np.empty((size, lmdp.nnz)), np.empty((size, n)), np.empty((size, n)), np.empty(count))
        if policy is not None and self.known is not None:
            out.weights[0], out.kl[0], out.mass[0] = policy.weights, policy.kl(), self.known.mass
        now = Weighing(odds.weights.copy(), odds.losses.copy(), np.array([odds.gap, odds.range]), share, odds.t)
        given, known, k = (self.experts.means, others, now, standing, self.room, out), self.known is not None, 0
        while k <= count:
            k, played = play(self.P, Span(frozen(costs), k, known, lmdp.temperature), *given)
            flat = k > count
            if not flat and not played:
                self._alone(k, costs, now, out)
            if k < count:
                self._learn_alone(costs[k], odds.t + k + 1, taken=played)
                for i, values in zip(others.which, others.values, strict=True):
                    standing.values[i] = values[k + 1]
            k, known = k + 1, False
        found = Odds(now.weights, now.losses, float(now.spread[0]), float(now.spread[1]), odds.t + count)
        return Mixed(out, self._after(states, count), steps, found, standing, policies, self.room, flat)

    def _policy(self, i: int) -> Policy:
        """What an expert that is no tracker is about to play."""
        expert = self.experts.learners[i]
        policy: Policy = with_values(expert, expert.policy(self.lmdp, self.states[i]))
        return policy

    def _standing(self, laws: Floats) -> ExpertArrays:
        """What is known of the experts from their states."""
        found = ExpertArrays.blank(len(self.states), self.lmdp.n)
        found.laws[:], found.stores[:] = laws, 0.0
        for i, state in enumerate(self.states):
            if i in self.policies:
                v = self.policies[i].v
                found.values[i] = v - v.min()
            else:
                found.values[i], found.stores[i] = state.v, getattr(state, _store(state))
        return found

    def _others(self, costs: Floats) -> tuple[Others, dict[int, State], Ints, dict[int, Policy]]:
        """What all but trackers play in these rounds, with their states, the steps of all, and the coming policies."""
        lmdp, which, learners = self.lmdp, self.experts.others, self.experts.learners
        states: dict[int, State] = dict(enumerate(self.states))
        steps = np.full(len(costs), 2 * (len(states) - len(which)), np.int64)
        values, policies = np.empty((which.size, len(costs) + 1, lmdp.n)), dict(self.policies)
        for k, i in enumerate(which.tolist() if len(costs) else []):
            if type(learners[i].own) is Passive:
                values[k], states[i] = 0.0, states[i]._replace(t=states[i].t + len(costs))
                continue
            played = learners[i].observe_block(lmdp, states[i], costs, self.policies[i])
            with_values(learners[i], played.kernels is None)
            values[k] = played.values
            coming: Any = played.policies.get(len(costs))
            policies[i] = Policy(lmdp, values[k, -1].copy()) if coming is None else coming
            values[k] -= values[k].min(axis=1, keepdims=True)
            states[i] = played.state
            steps += np.asarray(played.steps, np.int64)
        return Others(which, values), states, steps, policies

    def _after(self, states: dict[int, State], rounds: int) -> Several:
        """The states after these rounds; those of trackers are rows of the standing."""
        (values, stores, *_), (lo, hi) = self.standing, _NOTHING_PROVED
        others, made = set(self.experts.others.tolist()), []
        for i, state in states.items():
            if i in others or rounds == 0:
                made.append(state)
            else:
                number = {"t": state.t + rounds} if hasattr(state, "t") else {}
                made.append(state._replace(**number, **{_store(state): stores[i]}, v=values[i], lo=lo, hi=hi))
        return Several(made)

    def _alone(self, k: int, costs: Floats, now: Weighing, out: MixtureRounds) -> None:
        """One row, and its round if there is a cost: each expert by itself, whatever its v is."""
        lmdp, moves, flows, paid = self.lmdp, self.lmdp.moves, np.zeros(self.lmdp.nnz), np.empty(len(self.states))
        for i, (law, v) in enumerate(zip(self.standing.laws, self.standing.values, strict=True)):
            flow, part = moves.flow(v.copy()), now.weights[i] * law
            flows += part[lmdp.entry_rows] * (moves.weights(flow) / lmdp.P.data)
            if k < len(costs):
                kl, moved = moves.step(flow, law.copy(), each=False)
                paid[i] = mean(law, costs[k]) + moves.control(flow, kl, law, moved)
                law[:] = moved / moved.sum()
        out.weights[k], out.kl[k], out.mass[k] = completed_rows(lmdp.P, flows)
        if k < len(costs):
            out.mixed[k] = hedge(paid, now.share, now.t + k, now.weights, now.losses, now.spread)

    def _learn_alone(self, c_t: Floats, t: int, *, taken: bool) -> None:
        """The updates of the trackers after the t-th cost, each by itself; the cost may be ``taken`` in already."""
        (values, stores, *_), (keep, add, sums) = self.standing, self.experts.means
        for i, (v, store) in enumerate(zip(values, stores, strict=True)):
            if not taken:
                store[:] = keep[i] * store + add[i] * c_t
            target = store * (1.0 / t if sums[i] else 1.0)
            one = TrackedCosts.of_means(target, target[np.newaxis])
            v[:] = self.lmdp.moves.alone.track(1, True, one, v.copy()).v


def _matrix(lmdp: LMDP, full: bool) -> Matrix:
    """P as the rounds of a pool want it."""
    back = lmdp.reversed_P
    return Matrix(rows(lmdp.P), rows(back), back.toarray() if full else np.empty((0, 0)))


def _store(state: Any) -> str:
    """Where a tracker keeps its costs."""
    return "c_sum" if hasattr(state, "c_sum") else "c_mean"


def with_values(expert: CompleteLearner, policy: Any) -> Any:
    """A policy of a value function, or True; a sentence about the expert if it is another."""
    if policy is not True and not isinstance(policy, Policy):
        raise with_mixtures(expert.name)
    return policy


def with_mixtures(name: str) -> SpecError:
    """What to say of an expert whose policies are no value functions."""
    return SpecError(
        f'the expert "{name}" plays mixtures, and a pool takes learners whose policies come from value functions. If '
        "it is a pool itself, give its experts instead: Pool([*pool.experts, ...])."
    )
