"""A learner along one sampled path, which is shown only the cost of the state that it is in.

``play(lmdp, learner, costs, feedback="visited")`` asks of a learner another method in place of ``observe``:

    state = learner.observe_at(lmdp, state, x, cost)      # round t cost so much in x = X_t, the state one was in

X_1 is drawn from the law of the start, and X_{t+1} from Q_t(.|X_t), with numbers that a seed and the round determine.
So a learner and its path together are again a learner: one that is shown all of c_t, looks at one number of it, and has
the place where it is in its state. That is what :class:`Along` is, and why games, checkpoints, regrets, replays and the
theory need not know of the feedback.

**What is paid.** The policies Q_1, Q_2, ... depend on the path, since what was seen depends on it. Their accounts are
those of any learner (game/accounts.py): with p_1 the law of the start and p_{t+1} = p_t Q_t, the loss is

    sum_t p_t.(c_t + T KL(Q_t || P)),

exactly, for this sequence of policies. That is what somebody else pays in expectation who starts by the same law and
plays the same policies, with chances of his own. It is not what the path itself has paid, and no mean over paths:
another seed gives another path, other policies, and another figure. For a mean over paths, play several seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.base import Bounds
from lsmdp.learners.complete import CompleteLearner
from lsmdp.learners.protocol import Report, State
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

_FEEDBACKS = ("full", "visited")  # A learner may be shown the cost of every state, or that of its own state only.
# This sets the random numbers of paths apart from those of sampled walkers, which have the same seeds and rounds.
_NUMBER_OF_PATHS = 1


class AlongState(NamedTuple):
    """After t rounds: where the path is, among how many states, and what the learner knows."""

    t: int
    at: int
    states: int
    own: State

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        n = self.states
        at, states = Form(dtype=np.int64, low=0, high=n - 1), Form(dtype=np.int64, low=n, high=n)
        return {"t": past.number, "at": at, "states": states}


@dataclass(frozen=True, eq=False)
class Along:
    """A learner that has ``observe_at``, and a path with this seed whose first state has the law ``start``.

    Without a law, it starts in the first state.
    """

    learner: CompleteLearner
    seed: int = 0
    start: Floats | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """That of the learner."""
        return self.learner.name

    @property
    def plays_mixtures(self) -> bool | None:
        """What the learner declares; None where it does not say."""
        return self.learner.declared_mixtures

    def init(self, lmdp: LMDP) -> AlongState:
        """Before round 1."""
        at = 0 if self.start is None else int(self._drawn(0).choice(lmdp.n, p=self.start))
        return AlongState(0, at, lmdp.n, self.learner.init(lmdp))

    def policy(self, lmdp: LMDP, state: AlongState) -> AnyPolicy:
        """What the learner plays."""
        return self.learner.policy(lmdp, state.own)

    def observe(self, lmdp: LMDP, state: AlongState, c_t: Floats) -> AlongState:
        """The learner sees what it cost where it was, and the path moves on by the policy of this round."""
        t, at = state.t + 1, state.at
        own = self.learner.observe_at(lmdp, state.own, at, float(c_t[at]))
        return AlongState(t, self.policy(lmdp, state).sample(at, self._drawn(t)), lmdp.n, own)

    def report(self, before: AlongState, after: AlongState) -> Report:
        """What the learner reports."""
        return self.learner.report(before.own, after.own)

    def bounds(self, lmdp: LMDP, state: AlongState) -> Bounds | None:
        """What the learner claims."""
        return self.learner.bounds(lmdp, state.own)

    def _drawn(self, t: int) -> np.random.Generator:
        """The random numbers of a round; 0 is before the first."""
        return np.random.default_rng((self.seed, t, _NUMBER_OF_PATHS))


def seeing(
    learners: Sequence[CompleteLearner], feedback: str, start: Floats | None = None, seed: int = 0
) -> list[CompleteLearner]:
    """The learners as they play with this feedback: each along a path of its own, where they see one cost a round."""
    if feedback not in _FEEDBACKS:
        raise SpecError(
            f'"{feedback}" is no feedback. It is "full", where the costs of all states are seen after each round, or '
            '"visited", where only that of the state is that one is in.'
        )
    if feedback == "full":
        for learner in learners:
            learner.require_observe()
        return list(learners)
    for learner in learners:
        if "observe_at" not in learner.has:
            raise SpecError(
                f'"{learner.name}" needs to see the costs of all states, and with the feedback "visited" only that of '
                "the state that one is in is seen. Let visited play, or leave the feedback out. A learner of your own "
                "that can do with that has an observe_at(lmdp, state, x, cost)."
            )
    return [CompleteLearner.of(Along(learner, seed, start)) for learner in learners]
