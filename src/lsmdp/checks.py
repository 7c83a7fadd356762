"""Conformance: does somebody else's learner keep the rules of the game?

``check_learner`` plays a learner on small models and raises a :class:`CheckError` with a sentence at the first rule
that it breaks. Every learner of lsmdp passes it, and it is how a new one is tried:

- it has ``init``, ``policy`` and ``observe``, and whatever else it has is of the right kind (learners/complete.py);
- it is *blind*: the policy of a round does not depend on that round's cost (unless it declares itself clairvoyant);
- its policies stay *within the support* of P and are finite;
- it is *pure*: the same state gives the same policy, and ``observe`` changes neither its state nor its cost;
- it is *replayable*: the same costs give the same states, bit for bit;
- it is *sane on one state*, where there is nothing to choose: that is one of the models.

A learner with an ``observe_at`` is tried along a sampled path as well (learners/along.py).

Then it plays a whole game in every way that there is, and all of them must come to the same bits: in one go, round by
round, in blocks, from a checkpoint in the middle, from a file, and line by line as in ``lsmdp follow``. Its regret is
worked out and the theory is evaluated on its run.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import LsmdpError
from lsmdp.follow.loop import ControlLoop
from lsmdp.follow.memory import load, save
from lsmdp.game import Game, Records, Round, Run, play, start_law
from lsmdp.learners import Along, CompleteLearner, LearnerLike, State, VisitingLearner
from lsmdp.mixture import same_policy
from lsmdp.model import LMDP
from lsmdp.theory import certify

_ROUNDS_OF_A_CHECK = 12  # A trial game has this many rounds: enough for blocks of several sizes, and soon played.
_MIDDLE = 5  # A trial game is cut after this many rounds, which divides the rounds of a check with a rest.


class CheckError(LsmdpError):
    """A learner breaks a rule of the game."""


class Trial(NamedTuple):
    """A learner, a model, costs, and the state before each round and after the last."""

    learner: CompleteLearner
    lmdp: LMDP
    costs: Floats
    states: list[State]

    def require(self, kept: bool | np.bool_, sentence: str) -> None:
        """Raise unless a rule was kept."""
        if not kept:
            raise CheckError(f"the learner {self.learner.name!r} {sentence}.")

    def bits(self, state: State) -> list[Any]:
        """Everything that a state is."""
        arrays = self.learner.pack(state)
        return [type(state), *((name, a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items())]


def check_learner(
    learner: LearnerLike | VisitingLearner, models: Sequence[LMDP] | None = None, *, seed: int = 0
) -> None:
    """Raise a :class:`CheckError` unless the learner keeps the rules on these models, or on a few small ones."""
    try:
        known = CompleteLearner.of(learner)
    except LsmdpError as wrong:
        raise CheckError(str(wrong)) from None
    players = [known] * known.sees_all
    if "observe_at" in known.has:
        players.append(CompleteLearner.of(Along(known, seed)))
    for player, lmdp in product(players, _models(seed) if models is None else models):
        costs = np.random.default_rng((seed, lmdp.n)).uniform(0.0, 1.0, (_ROUNDS_OF_A_CHECK, lmdp.n))
        with _told(player, lmdp, "it learns"):
            trial = Trial(player, lmdp, costs, list(_states(player, lmdp, costs)))
        for check, doing in _RULES.items():
            with _told(player, lmdp, doing):
                check(trial)


@contextmanager
def _told(learner: CompleteLearner, lmdp: LMDP, doing: str) -> Iterator[None]:
    """Whatever goes wrong in here is told as a sentence about the learner."""
    try:
        yield
    except CheckError:
        raise
    except LsmdpError as wrong:
        raise CheckError(f"the learner {learner.name!r} stops on {lmdp!r} while {doing}: {wrong}") from wrong
    except Exception as wrong:
        what = f"{type(wrong).__name__}: {wrong}".rstrip(".")
        raise CheckError(f"the learner {learner.name!r} breaks down on {lmdp!r} while {doing}: {what}.") from wrong


def _models(seed: int) -> list[LMDP]:
    """Small ones, of which many rounds are one call, and one that is not small enough for that."""
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1.0, (6, 6)) * (rng.random((6, 6)) < 0.4) + np.eye(6) + np.roll(np.eye(6), 1, axis=1)
    one_way = 0.5 * np.eye(80) + 0.3 * np.roll(np.eye(80), 1, axis=1) + 0.2 * np.roll(np.eye(80), 7, axis=1)
    return [
        LMDP([[0.3, 0.7], [0.7, 0.3]]),
        LMDP(W, temperature=0.5, normalise=True),
        LMDP([[1.0]]),
        LMDP(one_way),
    ]


def _states(learner: CompleteLearner, lmdp: LMDP, costs: Floats) -> Iterator[State]:
    state = learner.init(lmdp, start_law(lmdp, None))
    yield state
    for c_t in costs:
        state = learner.observe(lmdp, state, c_t)
        yield state


def _check_support(trial: Trial) -> None:
    outside = trial.lmdp.P.toarray() == 0.0
    for t, state in enumerate(trial.states, start=1):
        Q = trial.learner.policy(trial.lmdp, state).matrix().toarray()
        inside = np.isfinite(Q).all() and (Q >= 0.0).all() and not Q[outside].any()
        trial.require(inside, f"leaves the support of P in round {t}: a policy may use P's moves only")
        trial.require(np.abs(Q.sum(axis=1) - 1.0).max() < 1e-12, f"plays rows that do not sum to 1 in round {t}")


def _check_purity(trial: Trial) -> None:
    learner, lmdp = trial.learner, trial.lmdp
    for t, (state, c_t) in enumerate(zip(trial.states, trial.costs, strict=False), start=1):
        kept, shown = trial.bits(state), c_t.copy()
        again = same_policy(learner.policy(lmdp, state), learner.policy(lmdp, state))
        trial.require(again, f"gives two policies for one state in round {t}")
        learner.own.observe(lmdp, state, shown)
        trial.require(trial.bits(state) == kept, f"changes the state that observe was given in round {t}")
        trial.require(np.array_equal(shown, c_t), f"changes the cost that observe was given in round {t}")


def _check_replay(trial: Trial) -> None:
    again = _states(trial.learner, trial.lmdp, trial.costs)
    same = all(trial.bits(a) == trial.bits(b) for a, b in zip(trial.states, again, strict=True))
    trial.require(same, "does not repeat itself on the same costs; draw random numbers from a seed in the state")


def _check_fields(trial: Trial) -> None:
    first = trial.states[0]
    for t, state in enumerate(trial.states[1:], start=1):
        same = type(state) is type(first) and list(trial.learner.pack(state)) == list(trial.learner.pack(first))
        trial.require(same, f"returns another kind of state in round {t} than init does; it could not be read again")


def _check_blindness(trial: Trial) -> None:
    learner, lmdp = trial.learner, trial.lmdp
    if learner.clairvoyant:
        return
    for (before, after), c_t in zip(pairwise(trial.states), trial.costs, strict=True):
        policy = learner.policy(lmdp, before)
        learner.observe(lmdp, before, 1.0 - c_t)  # another future
        blind = same_policy(policy, learner.policy(lmdp, before)) and trial.bits(after) == trial.bits(
            learner.observe(lmdp, before, c_t)
        )
        trial.require(blind, "lets a cost that it has not seen yet change its choice")


def _check_game(trial: Trial) -> None:
    """In one go, in blocks and round by round."""
    whole = _in_one_go(trial)[1]
    for size, how in ((1, "round by round"), (_MIDDLE, "in blocks")):
        game = Game.begin(trial.lmdp, trial.learner)
        parts = (game.play(trial.costs[first : first + size]) for first in range(0, _ROUNDS_OF_A_CHECK, size))
        _require_same(trial, whole, [row for part in parts for row in _rows(part)], how)


def _check_checkpoint(trial: Trial) -> None:
    """Stopped in the middle, and resumed from what a run folder would keep."""
    before, after = (Game.begin(trial.lmdp, trial.learner) for _ in range(2))
    rows = _rows(before.play(trial.costs[:_MIDDLE]))
    buffer = io.BytesIO()
    np.savez(buffer, **before.to_arrays())
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as stored:
        after.restore({name: stored[name] for name in stored.files})
    rows += _rows(after.play(trial.costs[_MIDDLE:]))
    _require_same(trial, _in_one_go(trial)[1], rows, "after its state went through a file")
    same = trial.bits(after.players[0].state) == trial.bits(trial.states[-1])
    trial.require(same, "plays on differently after its state went through a file")


def _check_memory(trial: Trial) -> None:
    """Saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "learner")
        save(path, trial.lmdp, trial.learner, trial.states[_MIDDLE])
        state = load(path, trial.lmdp, trial.learner)
    for c_t in trial.costs[_MIDDLE:]:
        state = trial.learner.observe(trial.lmdp, state, c_t)
    trial.require(trial.bits(state) == trial.bits(trial.states[-1]), "plays on differently after save and load")


def _check_loop(trial: Trial) -> None:
    """Line by line."""
    if trial.learner.clairvoyant:
        return
    lmdp = trial.lmdp
    first = 0 if lmdp.labels is None else lmdp.labels[0]
    loop = ControlLoop.of(lmdp, trial.learner, start=first)
    for t, (c_t, state) in enumerate(zip(trial.costs, trial.states[1:], strict=True), start=1):
        answer = loop.answer(json.dumps({"cost": c_t.tolist(), "state": first}).encode()) or {}
        trial.require("next" in answer, f"has no answer in round {t} of a control loop: {answer.get('error')}")
        chances = trial.learner.policy(lmdp, state).row(0)[1]
        same = list(answer["next"].values()) == chances.tolist()
        trial.require(same, f"plays on differently line by line, in round {t}")


def _check_regret(trial: Trial) -> None:
    """What is said about its run."""
    run = _in_one_go(trial)[0]
    found = run.regret()
    str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    if not trial.learner.clairvoyant:
        str(certify(run, search=False, exact=False))


# Each check is named with what a learner does while it is checked, for the sentence that says what went wrong.
_RULES: dict[Callable[[Trial], None], str] = {
    _check_support: "it chooses a policy",
    _check_purity: "it chooses and learns",
    _check_replay: "it learns again",
    _check_fields: "its state is packed",
    _check_blindness: "it learns from another future",
    _check_game: "it plays a game",
    _check_checkpoint: "it plays on from a checkpoint",
    _check_memory: "it is saved and loaded",
    _check_loop: "it answers line by line",
    _check_regret: "its regret is worked out",
}


def _in_one_go(trial: Trial) -> tuple[Run, list[Round]]:
    rows: list[Round] = []
    return play(trial.lmdp, trial.learner, trial.costs, watch=rows.extend), rows


def _rows(played: Sequence[Records]) -> list[Round]:
    """The rounds of the only learner in a game."""
    (records,) = played
    return records.rows()


def _require_same(trial: Trial, rows: list[Round], others: Any, how: str) -> None:
    for one, other in zip(rows, others, strict=True):
        for name, here, there in zip(Round._fields, one, other, strict=True):
            same = here == there or (here != here and there != there)  # nan is nan
            trial.require(
                same or name == "seconds",
                f"plays otherwise {how} than in one go: in round {one.round} its {name} is {there}, not {here}",
            )
