"""The protocol of a learner, and what the leaders share.

A learner is a small frozen object; what it knows is its *state*, a NamedTuple of arrays and numbers that carries only
what the next round needs, so that a checkpoint is the state. In round t (1-based),

    policy = learner.policy(lmdp, state)             # chosen before c_t is seen
    state  = learner.observe(lmdp, state, c_t)       # c_t is revealed

Neither changes its arguments; the same state gives the same policy. ``report(before, after)`` says what the round's
choice was worth as a solution for the mean cost it was made for, and what it took.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.forms import COUNT, Form, Past, anything, require, vector
from lsmdp.model import LMDP
from lsmdp.perron import NOWHERE, Followed, follow
from lsmdp.policy import Policy

State = Any  # a NamedTuple of arrays and numbers, a type of each learner's own
NOTHING_KNOWN = Past()


class Report(NamedTuple):
    """Bounds on the optimal average cost for the cost that a policy was chosen for (nan: none), and the steps spent."""

    lo: float = float("nan")
    hi: float = float("nan")
    steps: int = 0


class Learner(Protocol):
    """Chooses a policy each round before the cost of that round is seen."""

    @property
    def name(self) -> str:
        """What tables call it; the same as on the command line, with its options."""

    def init(self, lmdp: LMDP) -> State:
        """The state before round 1."""

    def policy(self, lmdp: LMDP, state: State) -> Policy:
        """The policy of the coming round."""

    def observe(self, lmdp: LMDP, state: State, c_t: Floats) -> State:
        """The state after this round's cost was revealed."""

    def report(self, before: State, after: State) -> Report:
        """What is known of the policy that was played between these two states."""


# A leader: the v that solves some cost, its bounds in units of the cost, and where the solver begins next time.
Lead = Followed


def lead(lmdp: LMDP, c: Floats, state: State, tol: float) -> Lead:
    """The optimum for the cost c, certified within tol, from the leader that is in this state on."""
    return follow(lmdp, c, tol, state.v, state.anchor, state.age, state.spent, state.recent)


def passive_lead(lmdp: LMDP) -> Lead:
    """The optimum for the zero cost: do nothing, pay nothing."""
    return Lead(np.zeros(lmdp.n), 0.0, 0.0, 0, NOWHERE, 0, 0.0, 0.0)


def pack(state: State) -> dict[str, Any]:
    """A state as named arrays, ready for ``numpy.savez``."""
    return {name: np.asarray(value) for name, value in zip(state._fields, state, strict=True)}


def unpack(like: State, arrays: Mapping[str, Any], past: Past = NOTHING_KNOWN) -> State:
    """The state of the same type and model as ``like`` that was packed into these arrays.

    A type that has a method ``forms(past)``, as all of lsmdp have, says with it what the arrays must be (forms.py).
    """
    forms = like.forms(past) if hasattr(like, "forms") else {}
    if missing := [name for name in like._fields if name not in arrays]:
        raise SpecError(f'the array "{missing[0]}" is missing')
    require(arrays, forms)
    state = type(like)(**{name: _plain(arrays[name]) for name in like._fields})
    if "hi" in forms and not state.lo <= state.hi:
        raise SpecError(f"the bounds are {state.lo} and {state.hi}, the wrong way round")
    return state


def lead_forms(like: State) -> dict[str, Form]:
    """What the fields of a leader must be. The inverse only says where to go next: nothing is believed of it."""
    return {
        "v": vector(like.v.size),
        "lo": Form(),
        "hi": Form(),
        "steps": COUNT,
        "anchor": Form(((0,), (like.v.size,))),
        "age": COUNT,
        "spent": Form(low=0.0),
        "recent": Form(low=0.0),
        "inverse": anything(like.inverse.shape),
        "debt": COUNT,
    }


def _plain(array: Any) -> Any:
    return array.item() if array.ndim == 0 else array
