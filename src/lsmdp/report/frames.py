"""The map, moving: what the world and each learner look like in some rounds.

A run folder keeps figures, not pictures, so the rounds are played again from the spec, by the pass that certifies the
run where there is one: the same learners on the same costs do the same. About ``MOST_FRAMES`` rounds are kept, dense at
first and evenly spaced later, and fewer where the model is so large that they would take more than
``BYTES_OF_A_FILM``. Each field is one byte per state, scaled between its least and its largest value in that frame;
the law of the state is on a scale of square roots, so that rare places show too. A field whose values agree to six
digits is flat: its colours would show rounding.

A flow has two bytes per state. On a grid they are the mean step of the policy, E[position of the next state] -
position, in units of the longest step in the frame. On a network they say which move away from the state is the
likeliest, as its place among the moves of the state (255: there is none, or too many), and how likely it is.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.game import Run
from lsmdp.policy import AnyPolicy
from lsmdp.report.layout import STATES_LAID_OUT, layout
from lsmdp.theory.trace import Standing

MOST_FRAMES = 90  # A film has at most this many frames, enough for the eye to follow what moves.
FEWEST_FRAMES = 6  # A film has at least this many frames, however large the model.
# A field that spans less than this share of its size is drawn in one colour: its differences are rounding.
SPAN_OF_NO_CHANGE = 1e-6
# The fields of a film take at most this many bytes before they are written in base64, so that a page stays small enough
# to be sent.
BYTES_OF_A_FILM = 2_400_000
# At most this many moves of a network are drawn: more lines would cover the paper and make the page large.
MOST_MOVES = 150_000
NO_MOVE = 255  # This byte stands for no move in the flow on a network, since ranks of moves end below it.


class Film:
    """The frames of a run: which rounds, and what each looks like once it was seen. No places, no frames."""

    def __init__(self, run: Run) -> None:
        self.run, lmdp = run, run.lmdp
        self.names = [player.learner.name for player in run.game.players if not player.learner.clairvoyant]
        self.places: Floats | None = lmdp.positions
        if self.places is not None and lmdp.grid_shape is None:
            self.places = self.places[:, ::-1] * (-1.0, 1.0)  # (x, y) as a grid's (down, across): north is up
        if self.places is None and lmdp.n <= STATES_LAID_OUT:
            self.places = layout(lmdp.P)
        if not getattr(run.costs, "replayable", True):
            self.places = None  # there are no rounds to be seen again
        wanted = wanted_rounds(run.rounds, lmdp.n, len(self.names)) if self.places is not None else []
        self.rounds = frozenset(wanted)
        self.shots: list[dict[str, Any]] = []

    def look(self, t: int, cost: Floats, mean: Floats, standing: Standing) -> None:
        """Keep a frame of round t."""
        fields = {"cost": scaled(cost), "mean": scaled(mean)}
        for name, (policy, law) in standing.items():
            fields[f"value:{name}"] = scaled(getattr(policy, "v", np.zeros(law.size)))  # a mixture has none
            fields[f"law:{name}"] = scaled(law, root=True)
            fields[f"flow:{name}"] = self._flow(policy)
        self.shots.append({"t": t, "fields": fields})

    def _flow(self, policy: AnyPolicy) -> dict[str, Any]:
        lmdp = self.run.lmdp
        if lmdp.grid_shape is not None:
            return mean_steps(policy, self.places)
        return likeliest_moves(policy) if lmdp.P.nnz <= MOST_MOVES else {"data": ""}

    def shoot(self, watch: Callable[[int], None]) -> None:
        """Play the run again for the frames alone."""
        lmdp, start = self.run.lmdp, self.run.game.start
        everyone = [player.learner for player in self.run.game.players]
        learners = [learner for learner in everyone if learner.name in self.names]
        states, laws = [learner.init(lmdp, start) for learner in learners], [start for _ in learners]
        total = np.zeros(lmdp.n)
        for t, c_t in enumerate(islice(iter(self.run.costs), self.run.rounds), 1):
            policies = [learner.policy(lmdp, state) for learner, state in zip(learners, states, strict=True)]
            if t in self.rounds:
                standing = dict(zip(self.names, zip(policies, laws, strict=True), strict=True))
                self.look(t, np.asarray(c_t), total / max(t - 1, 1), standing)
            laws = [policy.push(law) for policy, law in zip(policies, laws, strict=True)]
            laws = [law / law.sum() for law in laws]
            states = [learner.observe(lmdp, state, c_t) for learner, state in zip(learners, states, strict=True)]
            total = total + c_t
            watch(t)


def wanted_rounds(T: int, n: int, learners: int) -> list[int]:
    """The rounds to keep: half of them spread like powers, half evenly, the last one always."""
    per_frame = n * (2 + 4 * learners)
    count = int(np.clip(BYTES_OF_A_FILM // max(per_frame, 1), FEWEST_FRAMES, MOST_FRAMES))
    powers = np.geomspace(1.0, T, max(count // 2, 2))
    even = np.linspace(1.0, T, max(count - count // 2, 2))
    return sorted({round(float(t)) for t in (*powers, *even)})


def scaled(values: Floats, root: bool = False) -> dict[str, Any]:
    """One byte per state, between the least and the largest value."""
    low, high = float(values.min()), float(values.max())
    flat = high - low <= SPAN_OF_NO_CHANGE * max(abs(low), abs(high))
    share = np.zeros(values.shape) if flat else (values - low) / (high - low)
    levels = np.round(255.0 * (np.sqrt(share) if root else share)).astype(np.uint8)
    return {"low": low, "high": high, "flat": flat, "data": _text(levels)}


def likeliest_moves(policy: AnyPolicy) -> dict[str, Any]:
    """For each state its likeliest move to another: its place among the moves of the state, and its chance."""
    P, Q = policy.lmdp.P, policy.matrix()
    rows = policy.lmdp.entry_rows
    away = np.where(P.indices == rows, -1.0, Q.data)
    most = np.maximum.reduceat(away, P.indptr[:-1])
    at = np.flatnonzero(away == most[rows])
    first = at[np.unique(rows[at], return_index=True)[1]]  # one of each state
    rank = first - P.indptr[:-1]
    levels = np.stack(
        [np.where((most > 0.0) & (rank < NO_MOVE), rank, NO_MOVE), np.round(255.0 * np.maximum(most, 0.0))]
    )
    return {"low": 0.0, "high": 1.0, "data": _text(levels.T.astype(np.uint8).ravel())}


def mean_steps(policy: AnyPolicy, positions: Any) -> dict[str, Any]:
    """The mean step of the policy from each state."""
    step = np.stack([policy.expect(positions[:, k]) - positions[:, k] for k in (1, 0)], axis=1)
    longest = float(np.abs(step).max())
    levels = np.round(127.0 + 127.0 * step / longest if longest > 0.0 else np.full(step.shape, 127.0))
    return {"low": 0.0, "high": longest, "data": _text(levels.astype(np.uint8).ravel())}


def _text(levels: Any) -> str:
    return base64.b64encode(levels.tobytes()).decode("ascii")
