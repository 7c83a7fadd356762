"""The protocol of a learner, and how what it knows is saved.

A learner is a small frozen object; what it knows is its *state*, arrays and numbers that carry only what the next round
needs: it is all of a learner that a checkpoint holds. It begins with ``learner.init(lmdp)``. In round t (1-based),

    policy = learner.policy(lmdp, state)             # chosen before c_t is seen
    state  = learner.observe(lmdp, state, c_t)       # c_t is revealed

Neither changes its arguments; the same state gives the same policy. These three methods are all that a learner needs
(:class:`LearnerLike`). What else it may declare, and what holds where it does not, is a table in complete.py.

A state is best a NamedTuple. A dataclass, a dict with words for keys, a tuple, a list, an array, a number, or None for
a learner without a memory will do as well: ``pack`` makes named arrays of each, and ``unpack`` the same state again. A
NamedTuple or a dataclass within a state is saved as a unit, under names such as ``lead.v``; so is each of
:class:`Several` states, under names such as ``experts.0.lead.v``, whatever each of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import Past, require
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

State = Any  # arrays and numbers, in a type of each learner's own
# Nothing is known of the rounds that were played: not how many there were, nor where their costs lie.
_NOTHING_KNOWN = Past()


class Report(NamedTuple):
    """Bounds on the optimal average cost for the cost that a policy was chosen for (nan: none), and the steps spent."""

    lo: float = float("nan")
    hi: float = float("nan")
    steps: int = 0


class Several(tuple[State, ...]):
    """The states of several learners, as a part of the state of one that asks them all."""

    __slots__ = ()


class LearnerLike(Protocol):
    """Chooses a policy each round before the cost of that round is seen: all that a learner of your own needs."""

    def init(self, lmdp: LMDP) -> State:
        """The state before round 1."""

    def policy(self, lmdp: LMDP, state: State) -> AnyPolicy:
        """The policy of the coming round."""

    def observe(self, lmdp: LMDP, state: State, c_t: Floats) -> State:
        """The state after this round's cost was revealed."""


class VisitingLearner(Protocol):
    """The same where only the cost of the state is seen that one is in (along.py)."""

    def init(self, lmdp: LMDP) -> State:
        """The state before round 1."""

    def policy(self, lmdp: LMDP, state: State) -> AnyPolicy:
        """The policy of the coming round."""

    def observe_at(self, lmdp: LMDP, state: State, x: int, cost: float) -> State:
        """The state after a round in which one was in the state x, which cost so much."""


class Learner(LearnerLike, Protocol):
    """What every learner of lsmdp has besides: a name, and a report."""

    @property
    def name(self) -> str:
        """What tables call it; the same as on the command line, with its options."""

    def report(self, before: State, after: State) -> Report:
        """What is known of the policy that was played between these two states."""


def pack(state: State) -> dict[str, Any]:
    """A state as named arrays, ready for ``numpy.savez``."""
    arrays: dict[str, Any] = {}
    for name, value in _parts(state).items():
        if isinstance(state, Several) or _is_record(value):
            arrays |= {f"{name}.{inner}": array for inner, array in pack(value).items()}
        else:
            arrays[name] = _array(name, value)
    return arrays


def unpack(like: State, arrays: Mapping[str, Any], past: Past = _NOTHING_KNOWN) -> State:
    """The state of the same type and model as ``like`` that was packed into these arrays.

    A type that has a method ``forms(past)``, as all of lsmdp have, says with it what the arrays must be (forms.py).
    """
    forms, parts = like.forms(past) if hasattr(like, "forms") else {}, _parts(like)
    plain = [name for name, part in parts.items() if not (isinstance(like, Several) or _is_record(part))]
    if missing := [name for name in plain if name not in arrays]:
        raise SpecError(f'the array "{missing[0]}" is missing')
    require(arrays, forms)
    values = {name: _plain(arrays[name]) for name in plain}
    for name, part in parts.items():
        if name not in values:
            values[name] = unpack(part, arrays_below(name, arrays), past)
    if "hi" in forms and not values["lo"] <= values["hi"]:
        raise SpecError(f"the bounds are {values['lo']} and {values['hi']}, the wrong way round")
    if isinstance(like, Several):
        return Several(values.values())
    if _is_record(like):
        return type(like)(**values)
    if isinstance(like, dict):
        return values
    if isinstance(like, tuple | list):
        return type(like)(values.values())
    return values.get(_WHOLE)


def arrays_below(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with this part and a full stop, without it."""
    prefix = f"{part}."
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}


_WHOLE = "state"  # A state that has no parts is saved under this name.


def _parts(state: State) -> dict[str, Any]:
    """What a state is made of, by name."""
    if is_dataclass(state) and not isinstance(state, type):
        return {part.name: getattr(state, part.name) for part in fields(state) if part.init}
    if _is_record(state) and not isinstance(state, Several):
        return dict(zip(state._fields, state, strict=True))
    if isinstance(state, dict):
        strange = next((key for key in state if not isinstance(key, str)), None)
        if strange is not None:
            raise SpecError(f"a state has the key {strange!r}. The keys of a state that is a dict are words.")
        return state
    if isinstance(state, tuple | list):
        return {str(k): part for k, part in enumerate(state)}
    return {} if state is None else {_WHOLE: state}


def _is_record(state: State) -> bool:
    """Whether it is saved as a unit: a dataclass, a NamedTuple, or several states."""
    return (is_dataclass(state) and not isinstance(state, type)) or (
        isinstance(state, tuple) and (hasattr(state, "_fields") or isinstance(state, Several))
    )


def _array(name: str, value: Any) -> Any:
    """A part of a state as an array of plain values."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.array(None)
    if array.dtype.hasobject:
        raise SpecError(
            f'its field "{name}" is no array and no number. A state that can be saved is made of arrays and numbers, '
            "best in a NamedTuple."
        )
    return array


def _plain(array: Any) -> Any:
    return array.item() if array.ndim == 0 else array
