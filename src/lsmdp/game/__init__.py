"""The game: learners, costs that change, and exact accounts of what each pays.

- :mod:`~lsmdp.game.table`: ``play`` and ``rounds``; the table at which several learners sit;
- :mod:`~lsmdp.game.player`: one learner at the table, its law and what it paid.
"""

from __future__ import annotations

from lsmdp.game.player import Block, Round, Seat, can_idealise
from lsmdp.game.table import (
    Run,
    Table,
    Tally,
    first_state,
    is_mark,
    next_mark,
    play,
    rounds,
    start_law,
    stretches,
)

__all__ = [
    "Block",
    "Round",
    "Run",
    "Seat",
    "Table",
    "Tally",
    "can_idealise",
    "first_state",
    "is_mark",
    "next_mark",
    "play",
    "rounds",
    "start_law",
    "stretches",
]
