"""The experts of a pool in some rounds: what they play, where that leads them, what it costs, and their mixture.

``play_experts`` lets every expert play and learn. Trackers on a model whose P is written out do that together
(_core/trackers.py); everybody else does it as in a game of its own. What comes of it is a :class:`Hand` each: its value
functions, a row a round and one for the round after.

:class:`Crowd` then goes through these rounds: from the laws p^i_t and the hands to the losses l^i_t, from these to the
weights w_t, and from all of them to the flow mixture Q_t (mixtures.py has the formulas). Rounds in which one scale
serves all experts are taken together where P is written out; any other is taken by itself, expert by expert. Which of
the two depends on the values of that round alone, so that it does not matter how rounds are cut into blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.full import UNKNOWN, Weights, weigh_block
from lsmdp._core.full_laws import push_block
from lsmdp._core.mixtures import Odds, add_flow, blend, completed_rows, losses_of, weigh
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE
from lsmdp._core.trackers import track_together
from lsmdp.arrays import Floats, Ints, mean
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import LARGEST_NUMBER
from lsmdp.learners.complete import CompleteLearner
from lsmdp.learners.protocol import Several, State
from lsmdp.learners.track import TrackTheDiscounted, TrackTheLeader
from lsmdp.mixture import Mixture
from lsmdp.model import LMDP
from lsmdp.policy import Policy

# Bounds that hold of any average cost: nobody asks the experts of a pool for theirs, and they would take a pass each.
NOTHING_PROVED = (-LARGEST_NUMBER, LARGEST_NUMBER)
# Numbers of the experts' values that are at hand at a time: 2 MB, and several times that of what is made of them.
NUMBERS_AT_HAND = 2**18


@dataclass(frozen=True, eq=False)
class Hand:
    """What an expert plays in some rounds: a v a row, and those policies of them that there are.

    Trackers also have what these are made of (``Weights`` in full.py), in the rows that are ``flat``.
    """

    values: Any
    policies: Mapping[int, Any] = field(default_factory=dict)
    weights: Weights | None = None
    flat: Any = None

    def policy(self, lmdp: LMDP, k: int) -> Policy:
        """That of a row, with what is known of it."""
        policy: Policy | None = self.policies.get(k)
        return Policy(lmdp, self.values[k]) if policy is None else policy


class Mixed(NamedTuple):
    """Some rounds of a pool and the one after: kernels with their KL(Q || P) and m, w_t.l_t, and the odds after them.

    ``hands`` are those that it was made of.
    """

    weights: Floats
    kl: Floats
    mass: Floats
    mixed: list[float]
    odds: Odds
    hands: Sequence[Hand] = ()

    def policy(self, lmdp: LMDP, k: int, crowd: Sequence[Policy]) -> Mixture:
        """That of a row, which remembers the policies that it is made of."""
        made = Mixture.known(lmdp, self.weights[k].copy(), self.kl[k].copy())
        made.__dict__["crowd"] = crowd
        return made

    def without_last(self) -> Mixed:
        """The same without the round after."""
        return self._replace(weights=self.weights[:-1], kl=self.kl[:-1])


def rounds_at_hand(lmdp: LMDP, experts: int) -> int:
    """How many rounds are best taken at a time."""
    return max(1, NUMBERS_AT_HAND // (experts * lmdp.n)) if lmdp.moves.at_once else 1


def joined(parts: Sequence[tuple[Floats, ...]]) -> list[Floats]:
    """Arrays of consecutive rounds as one each."""
    return [column[0] if len(column) == 1 else np.concatenate(column) for column in zip(*parts, strict=True)]


def play_experts(
    lmdp: LMDP, experts: Sequence[CompleteLearner], states: Several, costs: Floats, first: Sequence[Policy]
) -> tuple[list[Hand], Several, Ints]:
    """What each plays in these rounds, their states after them, and the steps that they took in all."""
    hands, after, steps = dict[int, Hand](), dict[int, State](), np.zeros(len(costs), np.int64)
    together = [i for i, expert in enumerate(experts) if _is_tracker(expert)] if lmdp.square is not None else []
    if together:
        given = [experts[i].own for i in together], [states[i] for i in together]
        for i, hand, state in zip(together, *_track(lmdp, *given, costs), strict=True):
            hands[i], after[i] = hand, state
            steps += 2
    for i, expert in enumerate(experts):
        if i not in hands:
            played = expert.observe_block(lmdp, states[i], costs, first[i])
            with_values(expert, played.kernels is None)
            hands[i], after[i] = Hand(played.values, played.policies), played.state
            steps += np.asarray(played.steps, np.int64)
    everyone = range(len(experts))
    return [hands[i] for i in everyone], Several(after[i] for i in everyone), steps


def with_values(expert: CompleteLearner, policy: Any) -> Any:
    """A policy of a value function, or True; a sentence about the expert if it is another."""
    if policy is not True and not isinstance(policy, Policy):
        raise SpecError(
            f'the expert "{expert.name}" plays mixtures, and a pool takes learners whose policies come from value '
            "functions. If it is a pool itself, give its experts instead: Pool([*pool.experts, ...])."
        )
    return policy


def _is_tracker(expert: CompleteLearner) -> bool:
    """Whether it takes one averaged Bellman update a round, and nothing else."""
    one = TrackTheLeader().tracking
    return type(expert.own) is TrackTheDiscounted or (type(expert.own) is TrackTheLeader and expert.tracking == one)


def _track(lmdp: LMDP, trackers: Sequence[Any], states: Sequence[Any], costs: Floats) -> tuple[list[Hand], list[State]]:
    """Several trackers at once; where a v spans too much for one scale, that round by itself."""
    rounds, square = len(costs), lmdp.square
    assert square is not None
    each = list(zip(trackers, states, strict=True))
    means, values = np.empty((2, len(trackers), rounds + 1, lmdp.n))
    for i, (tracker, state) in enumerate(each):
        means[i], values[i, 0] = tracker.means(state, costs), state.v
    seen, done = Weights(*np.empty((4, len(trackers), rounds + 1, square.columns.shape[1]))), 0
    flat = np.ones(rounds + 1, dtype=bool)
    while done <= rounds:
        part = Weights(*(array[:, done:] for array in seen))
        done += track_together(square, lmdp.temperature, means[:, done:], values[:, done:], part)
        if done <= rounds:
            flat[done] = bool((np.ptp(values[:, done], axis=1) <= SPAN_OF_ONE_SCALE * lmdp.temperature).all())
        if done < rounds:
            for i in range(len(trackers)):
                values[i, done + 1] = lmdp.moves.alone.track(1, True, means[i, done : done + 2], values[i, done]).v
        done += 1
    hands = [Hand(values[i], {}, Weights(*(array[i] for array in seen)), flat) for i in range(len(trackers))]
    after = []
    for i, (tracker, state) in enumerate(each):
        after.append(tracker.after(state, costs, means[i], values[i, -1].copy(), NOTHING_PROVED))
    return hands, after


class Crowd:
    """The experts in some rounds; ``laws`` are those before the first of them, and after they were played the last."""

    def __init__(self, lmdp: LMDP, hands: Sequence[Hand], laws: Floats) -> None:
        self.lmdp, self.hands, self.laws = lmdp, hands, laws

    def play(self, costs: Floats, share: float, odds: Odds) -> Mixed:
        """Play a round for each row of costs, and make the mixture of the round after."""
        rounds, parts, k = len(costs), [], 0
        swift = self._swift_rows(rounds + 1)
        while k <= rounds:
            end = k + 1
            while swift[k] and end <= rounds and swift[end]:
                end += 1
            here = costs[k : min(end, rounds)]
            found = self._together(k, end, here, share, odds) if swift[k] else self._alone(k, here, share, odds)
            parts.append(found)
            k, odds = end, found.odds
        weights, kl, mass = joined([part[:3] for part in parts])
        return Mixed(weights, kl, mass, [one for part in parts for one in part.mixed], odds, self.hands)

    def _swift_rows(self, count: int) -> list[bool]:
        """Which rows are such that one scale serves all experts, and P is written out."""
        if self.lmdp.square is None:
            return [False] * count
        widest, swift = SPAN_OF_ONE_SCALE * self.lmdp.temperature, np.ones(count, dtype=bool)
        for hand in self.hands:
            swift &= np.ptp(hand.values, axis=1) <= widest if hand.flat is None else hand.flat
        found: list[bool] = swift.tolist()
        return found

    def _together(self, first: int, end: int, costs: Floats, share: float, odds: Odds) -> Mixed:
        """The rows from ``first`` to ``end``, and a round for each row of costs: all of them, or all but the last."""
        lmdp, E, rounds, count = self.lmdp, len(self.hands), len(costs), end - first
        square, T, after = lmdp.square, lmdp.temperature, np.empty_like(self.laws)
        assert square is not None
        padded, losses = square.columns.shape[1], np.empty((rounds, E))
        u, s, laws = np.empty((3, E, count, padded))
        for i, hand in enumerate(self.hands):
            if hand.weights is None:
                seen = Weights.blank(count, padded)
                weigh_block(square, T, np.asarray(hand.values[first:end]), UNKNOWN, seen)
            else:
                seen = Weights(*(array[first:end] for array in hand.weights))
            moved = push_block(square, seen, self.laws[i], rounds)
            losses[:, i] = losses_of(T, costs, seen.d, seen.logs, moved)
            u[i], s[i], laws[i], after[i] = seen.w, seen.s, moved[:count], moved[rounds, : lmdp.n]
        weights, mixed, odds = weigh(losses, share, odds)
        self.laws = after
        return Mixed(*blend(lmdp.P, weights[:count], laws, u, s), mixed.tolist(), odds)

    def _alone(self, k: int, costs: Floats, share: float, odds: Odds) -> Mixed:
        """One row, and its round if there is a cost: each expert by itself, whatever P and v are."""
        lmdp, moves, flows = self.lmdp, self.lmdp.moves, np.zeros(self.lmdp.nnz)
        losses, after = np.empty((len(costs), len(self.hands))), np.empty_like(self.laws)
        for i, hand in enumerate(self.hands):
            law, policy = self.laws[i], hand.policy(lmdp, k)
            flow, part = policy.flow, odds.weights[i] * law
            if flow.flat:
                add_flow(lmdp.P, part / flow.s, flow.w, flows)
            else:
                flows += part[lmdp.entry_rows] * (moves.weights(policy.v) / lmdp.P.data)
            for c_t in costs:
                kl, moved = moves.step(flow, law, each=False)
                losses[0, i] = mean(law, c_t) + moves.control(flow, kl, law, moved)
                after[i] = moved / moved.sum()
        if len(costs):
            self.laws = after
        _, mixed, odds = weigh(losses, share, odds)
        weights, kl, mass = completed_rows(lmdp.P, flows)
        return Mixed(weights[np.newaxis], kl[np.newaxis], mass[np.newaxis], mixed.tolist(), odds)
