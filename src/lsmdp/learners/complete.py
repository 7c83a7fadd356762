"""A learner, completed: what games, control loops and the theory ask of it, and what holds where it does not say.

A learner needs three methods, ``init``, ``policy`` and ``observe`` (protocol.py). What else it may declare, and what
holds where it does not, is here and nowhere else:

    name                what tables call it                                         the name of its class
    observe_at          the state after a round of which one cost was seen          it has to be shown all costs
    init_from           its state before round 1, where the law of X_1 is known     what init says
    report              what is known of the policy that was played                 nothing is claimed
    observe_block       what it does in consecutive rounds, at once (played.py)     round by round
    takes_blocks        whether it is faster if it is given many rounds at once     True
    bounds              bounds on the least average cost, for the mean of costs     those of report(state, state),
                        that the coming policy was chosen for                       and none where these are nan
    plays_mixtures      whether its policies are mixtures (mixture.py)              as the coming policy is
    follows_the_leader  whether it is alg:ftl itself                                False
    tracking            how it tracks the leader by Bellman updates                 None: it does not
    experts             the learners of a pool, whose laws are in its state         none
    hedges              whether a pool has the weights of plain Hedge               False
    clairvoyant         whether it is shown c_t before it plays round t             False
    foresee             its policy in round t, given c_t                            it must not be clairvoyant

A learner that has ``observe_at(lmdp, state, x, cost)`` can play where only the cost of the state that one is in is seen
(along.py). One that plays nowhere else needs no ``observe``.

Whoever is shown c_t before round t plays a different game: others are measured against it, and it is marked in every
table. It says so with ``clairvoyant = True`` and chooses its policy in ``foresee``. One of the two without the other is
refused, since nobody can tell which was meant.

What a learner answers is looked at where it comes in, so that a mistake is a sentence about the learner, not an error
from the depths of a game.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.learners.base import Bounds, Tracking
from lsmdp.learners.declared import NEEDED, is_clairvoyant, kind_of, method_for_blocks, name_of, require_methods
from lsmdp.learners.names import titled
from lsmdp.learners.played import Kernels, Played
from lsmdp.learners.protocol import (
    LearnerLike,
    Report,
    State,
    VisitingLearner,
    pack,
)
from lsmdp.mixture import Mixture, same_policy
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy, Policy

# The chances of a state may be this far from 1 in all, as those of a policy may (checks.py).
_ROUNDING_OF_A_ROW = 1e-12


@dataclass(frozen=True, eq=False)
class CompleteLearner:
    """Any learner, with all that may be asked of it. ``own`` is the learner itself."""

    own: Any
    name: str
    clairvoyant: bool
    has: frozenset[str]  # which of the optional methods
    ours: bool  # a learner of lsmdp, whose answers are what they should be
    blocks: str | None  # the method that plays blocks, if there is one that knows all that its observe does

    @classmethod
    def of(cls, learner: LearnerLike | VisitingLearner) -> CompleteLearner:
        """A learner with what it does not say filled in, or a sentence that says what it lacks."""
        if isinstance(learner, CompleteLearner):
            return learner
        if isinstance(learner, str):
            raise SpecError(f'"{learner}" is a word, not a learner. Use lsmdp.learners.learner_by_name("{learner}").')
        if isinstance(learner, type):
            raise SpecError(f"{learner.__name__} is a class, not a learner. Make one: {learner.__name__}().")
        name = name_of(learner)
        has = require_methods(learner, name)
        clairvoyant = is_clairvoyant(learner, name, "foresee" in has)
        ours = type(learner).__module__.partition(".")[0] == "lsmdp"
        return cls(learner, name, clairvoyant, has, ours, None if clairvoyant else method_for_blocks(learner, name))

    @property
    def title(self) -> str:
        """The name, with a mark if it sees what a learner does not."""
        return titled(self.name, self.clairvoyant)

    def init(self, lmdp: LMDP, start: Floats | None = None) -> State:
        """The state before round 1, whose state of the system has the law ``start`` if that is known."""
        if start is None or "init_from" not in self.has:
            return self.own.init(lmdp)
        return self.own.init_from(lmdp, start)

    def policy(self, lmdp: LMDP, state: State) -> AnyPolicy:
        """The policy of the coming round."""
        return self._checked(lmdp, self.own.policy(lmdp, state), "policy")

    def foresee(self, lmdp: LMDP, state: State, c_t: Floats) -> AnyPolicy:
        """The policy of a round whose cost is already known; of a clairvoyant only."""
        return self._checked(lmdp, self.own.foresee(lmdp, state, self._shown(c_t)), "foresee")

    def observe(self, lmdp: LMDP, state: State, c_t: Floats) -> State:
        """The state after this round's cost was revealed."""
        self.require_observe()
        return self._moved_on(state, self.own.observe(lmdp, state, self._shown(c_t)), "observe")

    def observe_at(self, lmdp: LMDP, state: State, x: int, cost: float) -> State:
        """The state after a round in which one was in the state x, which cost so much; of who has that method only."""
        return self._moved_on(state, self.own.observe_at(lmdp, state, x, cost), "observe_at")

    @property
    def sees_all(self) -> bool:
        """Whether it can be shown the costs of all states."""
        return hasattr(self.own, "observe")

    def require_observe(self) -> None:
        """Raise unless it can be shown the costs of all states."""
        if not self.sees_all:
            raise SpecError(
                f'"{self.name}" is for games in which only the cost of the state is seen that one is in. Play it with '
                'feedback="visited" (--feedback visited); where the costs of all states are seen, use ftl.'
            )

    def _moved_on(self, state: State, after: State, method: str) -> State:
        if after is None and state is not None:
            raise SpecError(f'{method} of "{self.name}" returned nothing. Let it return the state after the round.')
        return after

    def report(self, before: State, after: State) -> Report:
        """What is known of the policy that was played between these two states."""
        if "report" not in self.has:
            return Report()
        told = self.own.report(before, after)
        try:
            lo, hi, steps = told
            claim = Report(float(lo), float(hi), int(steps))
        except (TypeError, ValueError):
            raise SpecError(
                f'report of "{self.name}" returned {kind_of(told)}. Let it return lsmdp.learners.Report(lo, hi, '
                "steps), or leave it out: then nothing is claimed."
            ) from None
        if claim.lo > claim.hi:
            raise SpecError(
                f'report of "{self.name}" claims that an average cost is at least {claim.lo:g} and at most '
                f"{claim.hi:g}. Give the lower bound first."
            )
        return claim

    def bounds(self, lmdp: LMDP, state: State) -> Bounds | None:
        """Bounds on the least average cost for the cost that the coming policy was chosen for; None: no claim."""
        if "bounds" in self.has:
            found: Bounds | None = self.own.bounds(lmdp, state)
            return found
        lo, hi, _ = self.report(state, state)
        return None if np.isnan(lo) else (lo, hi)

    @property
    def options(self) -> dict[str, Any]:
        """Its options, if it is a dataclass, as far as they are numbers and words; of a policy, a hash.

        Of learners within it, their names and options.
        """
        found: dict[str, Any] = {}
        for name in getattr(self.own, "__dataclass_fields__", {}):
            value = getattr(self.own, name)
            if isinstance(value, Policy | Mixture):
                numbers = value.v if isinstance(value, Policy) else value.weights
                found[name] = hashlib.sha256(numbers.tobytes()).hexdigest()[:12]
            elif isinstance(value, tuple) and value and all(isinstance(one, CompleteLearner) for one in value):
                found[name] = [[one.name, one.options] for one in value]
            elif isinstance(value, bool | int | float | str):
                found[name] = value
        return found

    @property
    def declared_mixtures(self) -> bool | None:
        """Whether it declares that its policies are mixtures, or that none of them is; None where it does not say."""
        declared = getattr(self.own, "plays_mixtures", None)
        return None if declared is None else bool(declared)

    def plays_mixtures(self, lmdp: LMDP, state: State) -> bool:
        """Whether its policies are mixtures: they come from no value function, and have no ideal loss.

        Where it does not say, its coming policy does; without a state there is none, and values are what most play.
        """
        if self.declared_mixtures is None and state is not None:
            return isinstance(self.policy(lmdp, state), Mixture)
        return bool(self.declared_mixtures)

    @property
    def follows_the_leader(self) -> bool:
        """Whether it is alg:ftl itself, the optimum for the mean of all costs so far."""
        return bool(getattr(self.own, "follows_the_leader", False))

    @property
    def tracking(self) -> Tracking | None:
        """How it tracks the leader by Bellman updates, if it does."""
        found: Tracking | None = getattr(self.own, "tracking", None)
        return found

    @property
    def experts(self) -> tuple[CompleteLearner, ...]:
        """Those of a pool, with whose losses and weights its state is filled; of no other learner."""
        found = getattr(self.own, "experts", ())
        known = isinstance(found, tuple) and all(isinstance(one, CompleteLearner) for one in found)
        return found if known else ()

    @property
    def hedges(self) -> bool:
        """Whether it is a pool with the weights of plain Hedge."""
        return bool(getattr(self.own, "hedges", False))

    def takes_blocks(self, lmdp: LMDP, state: State) -> bool:
        """Whether it is best given many rounds at once; who is shown the cost of a round, plays it by itself."""
        if self.clairvoyant:
            return False
        return self.blocks is None or "takes_blocks" not in self.has or bool(self.own.takes_blocks(lmdp, state))

    def observe_block(self, lmdp: LMDP, state: State, costs: Floats, policy: AnyPolicy | None = None) -> Played:
        """What it plays in consecutive rounds, one for each row of costs, with the first policy and the coming one.

        ``policy`` is that of the first round. Of one that is clairvoyant there is one round.
        """
        policy = policy or self.policy(lmdp, state)
        if self.blocks is None:
            return self._one_by_one(lmdp, state, costs, policy)
        extra = (policy,) if self.blocks == "observe_block" else ()
        found: Played = getattr(self.own, self.blocks)(lmdp, state, self._shown(costs), *extra)
        if not self.ours:
            self._check_block(found, (len(costs), lmdp))
        known = found.policies.get(len(costs)) if self.ours else None
        coming = self.policy(lmdp, found.state) if known is None else known
        if not self.ours:
            for k, there, round_ in ((0, policy, "the first of these rounds"), (-1, coming, "the round after them")):
                if not same_policy(_played(lmdp, found, k), there):
                    raise SpecError(
                        f'{self.blocks} of "{self.name}" returned another policy for {round_} than '
                        "policy(lmdp, state). A policy is chosen before the cost of its round is seen."
                    )
        if same_policy(coming, policy):
            coming = policy  # with what is known of it
        return found._replace(policies={0: policy, len(costs): coming})

    def _one_by_one(self, lmdp: LMDP, state: State, costs: Floats, policy: AnyPolicy) -> Played:
        policies, reports = [], []
        for c_t in costs:
            policies.append(self.foresee(lmdp, state, c_t) if self.clairvoyant else policy)
            before, state = state, self.observe(lmdp, state, c_t)
            reports.append(self.report(before, state))
            policy = self.policy(lmdp, state)
        policies.append(policy)
        lo, hi, steps = (np.array(column) for column in zip(*reports, strict=True))
        made = dict(enumerate(policies))
        if all(isinstance(each, Policy) for each in policies):
            return Played([each.v for each in policies], lo, hi, steps, state, policies=made)  # type: ignore[attr-defined]
        kernels = Kernels(np.array([each.matrix().data for each in policies]), np.array([p.kl() for p in policies]))
        return Played((), lo, hi, steps, state, policies=made, kernels=kernels)

    def rounds_seen(self, state: State) -> int:
        """How many rounds this state has seen, where it counts them in ``t``; 0 where it does not say."""
        t = getattr(state, "t", 0)
        return int(t) if isinstance(t, int | np.integer) else 0  # one that is not ours may mean otherwise by t

    def pack(self, state: State) -> dict[str, Any]:
        """Its state as named arrays."""
        try:
            return pack(state)
        except SpecError as wrong:
            raise SpecError(f'the state of "{self.name}" cannot be saved: {wrong}') from None

    def _shown(self, costs: Floats) -> Floats:
        """What a learner is shown of the costs: it could write into them, and others read them after it."""
        return costs if self.ours else np.array(costs)

    def _checked(self, lmdp: LMDP, policy: Any, method: str) -> AnyPolicy:
        if not isinstance(policy, AnyPolicy):
            raise SpecError(
                f'{method} of "{self.name}" returned {kind_of(policy)}, not a policy. Let it return lsmdp.Policy(lmdp, '
                "v) with one number for each state in v, lsmdp.Mixture(lmdp, Q), or the .policy of a solution."
            )
        if policy.lmdp is not lmdp:
            raise SpecError(
                f'{method} of "{self.name}" returned a policy of another model ({policy.lmdp!r}). Make it with the '
                "model that it is given: lsmdp.Policy(lmdp, v)."
            )
        if self.declared_mixtures is not None and self.declared_mixtures != isinstance(policy, Mixture):
            raise SpecError(
                f'"{self.name}" declares plays_mixtures = {self.declared_mixtures}, and its {method} returned '
                f"{kind_of(policy)}. Let all of its policies be lsmdp.Mixture and say True, or none and say False."
            )
        return policy

    def _check_block(self, found: Any, shape: tuple[int, LMDP]) -> None:
        rounds, lmdp = shape
        n = lmdp.n
        if not isinstance(found, Played):
            wrong = f"returned {kind_of(found)}, not a lsmdp.learners.Played"
        elif found.kernels is not None and not _are_kernels(lmdp, found.kernels, rounds + 1):
            wrong = f"did not return {rounds + 1} kernels on the moves of P, each with its KL(Q || P)"
        elif found.kernels is None and (
            np.shape(found.values) != (rounds + 1, n) or not np.isfinite(found.values).all()
        ):
            wrong = f"did not return {rounds + 1} x {n} finite values"
        elif any(np.shape(column) != (rounds,) for column in (found.lo, found.hi, found.steps)):
            wrong = f"did not return {rounds} bounds and steps"
        else:
            return
        raise SpecError(
            f'{self.blocks} of "{self.name}" {wrong}. It may be left out: then rounds are played one by one.'
        )


def _played(lmdp: LMDP, found: Played, k: int) -> AnyPolicy:
    """The policy of a row of what was played."""
    if found.kernels is None:
        return Policy(lmdp, found.values[k])
    return Mixture.known(lmdp, np.array(found.kernels.weights[k]), np.array(found.kernels.kl[k]))


def _are_kernels(lmdp: LMDP, kernels: Kernels, rows: int) -> bool:
    """Whether these are so many kernels on the moves of P, and their divergences."""
    if np.shape(kernels.weights) != (rows, lmdp.nnz) or np.shape(kernels.kl) != (rows, lmdp.n):
        return False
    sums = np.add.reduceat(kernels.weights, lmdp.P.indptr[:-1], axis=1)
    least = np.min(kernels.weights) >= 0.0
    return bool(least and np.abs(sums - 1.0).max() < _ROUNDING_OF_A_ROW and np.isfinite(kernels.kl).all())


def completed(
    learners: LearnerLike | VisitingLearner | Iterable[LearnerLike | VisitingLearner],
) -> list[CompleteLearner]:
    """One learner, or several; a learner may be a tuple, too."""
    one = isinstance(learners, str) or any(hasattr(learners, method) for method in NEEDED)
    several: Iterable[Any] = learners if isinstance(learners, Iterable) and not one else [learners]
    return [CompleteLearner.of(learner) for learner in several]
