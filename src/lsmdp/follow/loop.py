"""Closing the loop: a learner that is told what things cost, line by line, and answers where to go.

Each line that comes in is a JSON object, and so is the one that goes out for it:

    {"cost": [c(0), c(1), ...], "state": x}      what round t cost in each state, and where the system is now
    {"round": t, "state": x, "next": {y: Q(y|x), ...}, "average_cost_bounds": [lo, hi]}

Q is the policy of the coming round t + 1, and its row at x is the law of the next move (eq:optQ). A line may do without
``cost``: nothing is learnt, and the answer is that of the present policy (of P itself, as long as t = 0). Without
``state``, the system is where it was. Costs may also be given by label.

A cost that is one number is that of one state: {"cost": 0.3, "state": x} says that x, where the system is now, has cost
0.3. A learner that sees no more than that, and has ``observe_at`` for it (learners/along.py), learns from such lines.

A line that cannot be used is answered by {"error": sentence, "line": number} and changes nothing. What was learnt is in
the memory (memory.py), where there is one, before it is answered.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from pydantic_core import from_json

from lsmdp.arrays import Floats
from lsmdp.costs.columns import (
    as_numbers,
    by_label,
    by_position,
    state_names,
)
from lsmdp.costs.moves import Moves
from lsmdp.costs.sequence import as_scale, in_costs
from lsmdp.errors import CostError, LsmdpError, SpecError
from lsmdp.follow.learner_file import PLACE_UNKNOWN, Knowledge
from lsmdp.follow.memory import Memory
from lsmdp.learners import (
    CompleteLearner,
    LearnerLike,
    State,
    VisitingLearner,
)
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy
from lsmdp.runs.turn import Turn

_KEYS = ("cost", "state")  # A line may have these keys.
_NUMBER_TYPES = {
    int,
    float,
}  # A cost is of one of these types; a truth value is not, though Python counts it as an int.
_LONGEST_MESSAGE = 600  # A message has at most this many characters, since a line may hold a label of a megabyte.

Reply = dict[str, Any]


class Heard(NamedTuple):
    """What a line says: where the system is now, and what the round cost."""

    at: int
    c_t: Floats | None


@dataclass
class ControlLoop:
    """A learner, what it knows, and what it answers; ``scale`` and ``missing`` are in the units of the lines."""

    lmdp: LMDP
    learner: CompleteLearner
    kept: Knowledge
    scale: tuple[float, float] = (0.0, 1.0)
    missing: float | None = None
    moves: Moves | None = None
    memory: Memory | None = None
    lines: int = 0
    refused: int = 0
    _policy: AnyPolicy | None = None

    @classmethod
    def of(
        cls,
        lmdp: LMDP,
        learner: LearnerLike | VisitingLearner,
        *,
        start: str | int | None = None,
        scale: tuple[float, float] | None = None,
        missing: float | None = None,
        moves: Moves | None = None,
    ) -> ControlLoop:
        """A control loop before round 1."""
        lmdp.require_irreducible()
        player = CompleteLearner.of(learner)
        if player.clairvoyant:
            raise SpecError(
                f'"{player.name}" sees the cost of the round that it plays, which nobody can in a real loop. Use ftl.'
            )
        low, high = as_scale(scale)
        if missing is not None and not min(low, high) <= missing <= max(low, high):
            raise SpecError(f"--missing is {missing:g}. It must lie between {low:g} and {high:g}, like every cost.")
        at = PLACE_UNKNOWN if start is None else lmdp.state(start)
        law = None if at == PLACE_UNKNOWN else np.eye(1, lmdp.n, at)[0]
        return cls(lmdp, player, Knowledge(player.init(lmdp, law), 0, at, (low, high)), (low, high), missing, moves)

    def remember(self, memory: Memory) -> None:
        """Go on from what the memory knows, and keep it up to date."""
        known = memory.begin(self.kept)
        self.kept = known._replace(at=self.kept.at) if known.at == PLACE_UNKNOWN else known
        self.memory = memory

    def answer(self, line: bytes) -> Reply | None:
        """What to say to the next line; nothing to a blank one."""
        self.lines += 1
        if not line.strip():
            return None
        try:
            heard = self._hear(line)
            after = self.kept.after(self.lmdp, self.learner, heard.at, heard.c_t)
        except LsmdpError as problem:
            self.refused += 1
            return {"error": _shortened(str(problem)), "line": self.lines}
        if self.memory is not None and (heard.c_t is not None or heard.at != self.kept.at):
            self.memory.add(heard.at, heard.c_t)
        self._policy = None if heard.c_t is not None else self._policy
        self.kept = after
        return self._told()

    def _told(self) -> Reply:
        """The law of the next move."""
        state, at = self.kept.state, self.kept.at
        self._policy = self._policy or self.learner.policy(self.lmdp, state)
        targets, chances = self._policy.row(at)
        return {
            "round": self.kept.rounds,
            "state": self._name(at),
            "next": dict(zip(map(self._name, targets.tolist()), chances.tolist(), strict=True)),
            "average_cost_bounds": self._bounds(state),
        }

    def _bounds(self, state: State) -> tuple[float, float] | None:
        """Bounds on the least average cost, in the units of the scaled costs also where moves cost."""
        found = self.learner.bounds(self.lmdp, state)
        return found if found is None or self.moves is None else self.moves.back(found)

    def _name(self, state: int) -> str:
        return str(state) if self.lmdp.labels is None else self.lmdp.labels[state]

    def _hear(self, line: bytes) -> Heard:
        said = _parsed(line)
        strange = [key for key in said if key not in _KEYS]
        if strange:
            raise SpecError(f'a line has no "{strange[0]}". Its keys are "cost" and "state", and both may be absent.')
        at = self._place(said["state"]) if "state" in said else self.kept.at
        if at == PLACE_UNKNOWN:
            raise SpecError(
                'nobody has said where the system is. Add "state" to the first line, its label or its number, or begin '
                "with --start STATE."
            )
        if "cost" not in said:
            return Heard(at, None)
        return Heard(at, self._cost_here(said["cost"], at) if _is_single(said["cost"]) else self._cost(said["cost"]))

    def _place(self, state: Any) -> int:
        if isinstance(state, bool) or not isinstance(state, int | str):
            raise SpecError(f"the state is {json.dumps(state)}. Give its label or its number.")
        return self.lmdp.state(state)

    def _cost_here(self, given: Any, at: int) -> Floats:
        """The cost of the state where the system is, by itself."""
        if "observe_at" not in self.learner.has:
            raise CostError(
                f'the cost is one number, and "{self.learner.name}" needs those of all states. Write [numbers] or '
                '{"label": number, ...}. Where only the cost of the state is seen that one is in, use '
                "--learner visited."
            )
        numbers = np.full(self.lmdp.n, self.scale[0])  # what the others cost matters to nobody
        try:
            numbers[at] = given
        except OverflowError:
            numbers[at] = np.inf  # which is then refused
        costs = in_costs(numbers, *self.scale, self.lmdp.labels)
        return (costs if self.moves is None else self.moves.added(costs))[at : at + 1]

    def _cost(self, given: Any) -> Floats:
        if not self.learner.sees_all:
            raise CostError(
                f'"{self.learner.name}" learns from the cost of the state where the system is. Write one number: '
                '{"cost": 0.3, "state": ...}. Where the costs of all states are seen, use --learner ftl.'
            )
        if isinstance(given, dict):
            values = self._by_label(given)
        elif isinstance(given, list):
            columns = by_position(len(given), self.lmdp)
            values = given if isinstance(columns, slice) else [given[column] for column in columns.tolist()]
        else:
            raise CostError('the cost is neither a list nor an object. Write [numbers] or {"label": number, ...}.')
        if not set(map(type, values)) <= _NUMBER_TYPES:  # a truth value or a word would pass for a number
            state, value = next((k, value) for k, value in enumerate(values) if type(value) not in _NUMBER_TYPES)
            shown = f"the cost of {self.lmdp.name_of(state)} is {json.dumps(value)}, not a number"
            raise CostError(f"{shown}. Correct it or fill it in.")
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:
            numbers = as_numbers(values, self.lmdp)  # slower, and says which one it was
        costs = in_costs(numbers, *self.scale, self.lmdp.labels)
        return costs if self.moves is None else self.moves.added(costs)

    def _by_label(self, given: dict[str, Any]) -> list[Any]:
        unknown = given.keys() - self._names.keys()
        if unknown and (self.lmdp.origin is None or len(unknown) == len(given)):  # else some may have been dropped
            raise CostError(f'there is a cost for "{min(unknown)}", which is no state of the model. Check the names.')
        if self.missing is not None:
            return [given.get(name, self.missing) for name in self._names]
        try:
            return by_label(given, tuple(self._names), self.lmdp)
        except CostError as problem:
            raise CostError(f"{problem} Or say what states that are not named cost with --missing COST.") from None

    @cached_property
    def _names(self) -> dict[str, int]:
        return {name: state for state, name in enumerate(state_names(self.lmdp))}


def serve(loop: ControlLoop, lines: BinaryIO, out: BinaryIO, turn: Turn) -> None:
    """Answer each line as soon as it is there, before the next one is read, until there are no more."""
    try:
        while line := lines.readline():
            began = time.perf_counter()
            with turn:
                answer = loop.answer(line)
                if answer is not None:
                    out.write(json.dumps(answer, allow_nan=False).encode() + b"\n")
                    out.flush()
                if loop.memory is not None:
                    loop.memory.rest(loop.kept, time.perf_counter() - began)
    finally:
        if loop.memory is not None:
            loop.memory.close(None if turn.is_on else loop.kept)


def _parsed(line: bytes) -> dict[str, Any]:
    said = plain(line)
    return examined(line) if said is None else said


def plain(line: bytes) -> dict[str, Any] | None:
    """The object of a line, by a quick parser; None where only the careful one can tell what the line says.

    This parser is silent where a key comes twice. Without a backslash, each key and each word has two quotes; so if all
    quotes of the line are those of what was found, then nothing was dropped.
    """
    try:
        said = from_json(line)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    cost = said.get("cost")
    words = len(said) + isinstance(said.get("state"), str) + (len(cost) if isinstance(cost, dict) else 0)
    return said if line.count(b'"') == 2 * words and b"\\" not in line else None


def examined(line: bytes) -> dict[str, Any]:
    """The object of a line, or what is wrong with it."""
    try:
        said = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_distinct)
    except UnicodeDecodeError as broken:
        raise SpecError(f"it is not UTF-8 (byte {broken.start + 1}). Write JSON in UTF-8.") from None
    except json.JSONDecodeError as broken:
        place = f"character {broken.pos + 1}: {broken.msg}"
        raise SpecError(f"it is not JSON ({place}). Write one object a line.") from None
    except LsmdpError:
        raise
    except (ValueError, RecursionError):
        raise SpecError(
            "it is nested too deeply, or has a number of too many digits. Write one object a line."
        ) from None
    if not isinstance(said, dict):
        raise SpecError('it is not an object. Write {"cost": [...]}, {"cost": {label: number, ...}} or {"state": ...}.')
    return said


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise CostError(f'"{twice}" is there {count} times. Give it once.')
    return content


def _is_single(cost: Any) -> bool:
    """Whether a cost is that of one state; a truth value is none."""
    return type(cost) in _NUMBER_TYPES


def _shortened(message: str) -> str:
    half = _LONGEST_MESSAGE // 2
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:half]} ... {message[-half:]}"
