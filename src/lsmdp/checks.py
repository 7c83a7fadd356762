"""Conformance: does somebody else's learner keep the rules of the game?

``check_learner`` plays a learner on small models and raises a :class:`CheckError` with a sentence at the first rule
that it breaks. Every learner of lsmdp passes it, and it is how a new one is tried:

- it is *blind*: the policy of a round does not depend on that round's cost (unless it declares itself clairvoyant);
- its policies stay *within the support* of P and are finite;
- it is *pure*: the same state gives the same policy, and ``observe`` does not change the state it was given;
- it is *replayable*: the same costs give the same states, bit for bit;
- its state *survives a file*: packed into arrays, written, read and unpacked, it plays on in the same way;
- it is *sane on one state*, where there is nothing to choose: that is one of the models.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import LsmdpError
from lsmdp.learners import Learner, State, pack, unpack
from lsmdp.model import LMDP

ROUNDS = 12


class CheckError(LsmdpError):
    """A learner breaks a rule of the game."""


def check_learner(learner: Learner, models: Sequence[LMDP] | None = None, *, seed: int = 0) -> None:
    """Raise a :class:`CheckError` unless the learner keeps the rules on these models, or on a few small ones."""
    for lmdp in _models(seed) if models is None else models:
        costs = np.random.default_rng((seed, lmdp.n)).uniform(0.0, 1.0, (ROUNDS, lmdp.n))
        states = list(_states(learner, lmdp, costs))
        for check in (_check_support, _check_purity, _check_replay, _check_file, _check_blindness):
            check(learner, lmdp, states, costs)


def _models(seed: int) -> list[LMDP]:
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1.0, (6, 6)) * (rng.random((6, 6)) < 0.4) + np.eye(6) + np.roll(np.eye(6), 1, axis=1)
    return [LMDP([[0.3, 0.7], [0.7, 0.3]]), LMDP(W, temperature=0.5, normalise=True), LMDP([[1.0]])]


def _states(learner: Learner, lmdp: LMDP, costs: Floats) -> Iterator[State]:
    state = learner.init(lmdp)
    yield state
    for c_t in costs:
        state = learner.observe(lmdp, state, c_t)
        yield state


def _require(kept: bool | np.bool_, learner: Learner, sentence: str) -> None:
    if not kept:
        raise CheckError(f"the learner {learner.name!r} {sentence}.")


def _check_support(learner: Learner, lmdp: LMDP, states: list[State], _: Floats) -> None:
    for t, state in enumerate(states, start=1):
        Q = learner.policy(lmdp, state).matrix().toarray()
        inside = np.isfinite(Q).all() and (Q >= 0.0).all() and not Q[lmdp.P.toarray() == 0.0].any()
        _require(inside, learner, f"leaves the support of P in round {t}: a policy may use P's moves only")
        _require(np.abs(Q.sum(axis=1) - 1.0).max() < 1e-12, learner, f"plays rows that do not sum to 1 in round {t}")


def _check_purity(learner: Learner, lmdp: LMDP, states: list[State], costs: Floats) -> None:
    for t, (state, c_t) in enumerate(zip(states, costs, strict=False), start=1):
        kept = _bits(state)
        v = learner.policy(lmdp, state).v
        _require(
            bool(np.array_equal(v, learner.policy(lmdp, state).v)),
            learner,
            f"gives two policies for one state in round {t}",
        )
        learner.observe(lmdp, state, c_t)
        _require(_bits(state) == kept, learner, f"changes the state that observe was given in round {t}")


def _check_replay(learner: Learner, lmdp: LMDP, states: list[State], costs: Floats) -> None:
    again = list(_states(learner, lmdp, costs))
    same = all(_bits(a) == _bits(b) for a, b in zip(states, again, strict=True))
    _require(same, learner, "does not repeat itself on the same costs; draw random numbers from a seed in the state")


def _check_file(learner: Learner, lmdp: LMDP, states: list[State], costs: Floats) -> None:
    middle = ROUNDS // 2
    buffer = io.BytesIO()
    np.savez(buffer, **pack(states[middle]))
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as stored:
        state = unpack(learner.init(lmdp), {name: stored[name] for name in stored.files})
    for c_t in costs[middle:]:
        state = learner.observe(lmdp, state, c_t)
    _require(_bits(state) == _bits(states[-1]), learner, "plays on differently after its state went through a file")


def _check_blindness(learner: Learner, lmdp: LMDP, states: list[State], costs: Floats) -> None:
    if getattr(learner, "clairvoyant", False):
        return
    for (before, after), c_t in zip(pairwise(states), costs, strict=True):
        v = learner.policy(lmdp, before).v
        learner.observe(lmdp, before, 1.0 - c_t)  # another future
        blind = np.array_equal(v, learner.policy(lmdp, before).v) and _bits(after) == _bits(
            learner.observe(lmdp, before, c_t)
        )
        _require(blind, learner, "lets a cost that it has not seen yet change its choice")


def _bits(state: State) -> list[Any]:
    return [(name, array.dtype.str, array.shape, array.tobytes()) for name, array in pack(state).items()]
