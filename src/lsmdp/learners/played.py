"""What a learner plays in consecutive rounds: the answer of ``observe_block``, in one of two forms.

A game is played in blocks of rounds, and a round is a block of one. ``observe_block(lmdp, state, costs, policy)`` is
given the state before the first round, a row of costs for each round, and the policy of the first round as
``policy(lmdp, state)`` gave it. It returns a :class:`Played`. It does the same arithmetic as the rounds one by one
would, so that a game may be cut into blocks anywhere.

Policies of value functions are ``values``, a v a round. A learner whose policies are kernels on the moves of P, as
those of a pool, answers :class:`Kernels` instead, and its ``values`` are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lsmdp._core.full import UNKNOWN
from lsmdp.arrays import Floats, Ints
from lsmdp.learners.protocol import State
from lsmdp.policy import AnyPolicy


class Kernels(NamedTuple):
    """Kernels on the moves of P, one a row: their entries, aligned with ``P.data``, and KL(Q || P) of each state."""

    weights: Floats
    kl: Floats


class Played(NamedTuple):
    """What a learner plays in consecutive rounds, what it reports of each, and its state after them.

    Row k of ``values`` is the v that is played in the k-th round; the last row, one more than there are rounds, is for
    the round after. They may be an array or a list of arrays. ``lo``, ``hi`` and ``steps`` have one number a round,
    those of a :class:`~lsmdp.learners.Report`.

    ``sums`` are those of the values over the moves of P, as ``lsmdp.solvers.warm.lead`` finds them; they save the
    accounts a product a round, and may be left out. So may ``policies``, which are those rows of the values that there
    are policies of already, by their numbers.

    Where ``kernels`` are given, they are what is played, a row more than there are rounds, and ``values`` are empty.
    """

    values: Floats | Sequence[Floats]
    lo: Floats
    hi: Floats
    steps: Ints
    state: State
    sums: Floats = UNKNOWN
    policies: Mapping[int, AnyPolicy] = {}
    kernels: Kernels | None = None


def same_values(v: Floats, rounds: int, state: State) -> Played:
    """The same v in all rounds, and nothing claimed of it."""
    nothing = np.full(rounds, np.nan)
    return Played(np.broadcast_to(v, (rounds + 1, v.size)), nothing, nothing, np.zeros(rounds, np.int64), state)
