"""The register of statements: one function per label of the paper, and per result that it does not have.

A statement is given the record of a game (trace.py) and returns a :class:`Certificate`: both sides of an inequality or
an identity as numbers, and by how much rounding may part them. It carries what the paper says, whether that is so, and
what holds; docs/paper.md is written from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal

from lsmdp.theory.certificate import (
    Certificate,
    Kind,
    Reading,
    left_out,
)
from lsmdp.theory.pools import PoolTrace
from lsmdp.theory.trace import PlayerTrace, Trace

Verdict = Literal["true", "false", "typo", "true against Q_{T+1}, false as stated", "an assumption", "new"]
Check = Callable[..., Certificate]

_OUTSIDE = "the paper has costs in [0, 1] at temperature 1"


@dataclass(frozen=True)
class Statement:
    """A label, what is printed under it, whether that is true, what holds, and the function that checks both."""

    label: str
    printed: str  # empty for what the paper does not have
    verdict: Verdict
    holds: str
    check: Check
    per_learner: bool = False
    standalone: bool = False  # an example of its own, not about a given game
    of_tracking: bool = False  # about learners that track the leader by Bellman updates, and no others
    of_pools: bool = False  # about pools of learners, and no others

    def concerns(self, player: PlayerTrace | PoolTrace) -> bool:
        """Whether it is about this learner."""
        if isinstance(player, PoolTrace) or self.of_pools:
            return isinstance(player, PoolTrace) and self.of_pools
        return player.tracking is not None or not self.of_tracking

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What there is to check."""
        return ("printed", "corrected") if self.printed else ("new",)

    def certify(self, game: Trace, player: PlayerTrace | PoolTrace | None = None) -> list[Certificate]:
        """The statement about a game in all its readings."""
        arguments = (game,) if player is None else (game, player)
        return [self.check(*arguments, reading=reading) for reading in self.readings]


# Every statement of the theory is in this table under its label, once its module is imported.
STATEMENTS: dict[str, Statement] = {}


def statement(
    label: str,
    printed: str,
    verdict: Verdict,
    holds: str,
    *,
    kind: Kind = "bound",
    per_learner: bool = False,
    standalone: bool = False,
    of_tracking: bool = False,
    of_pools: bool = False,
) -> Callable[[Check], Check]:
    """Enter a function into the register."""

    def enter(check: Check) -> Check:
        @wraps(check)
        def careful(*arguments: object, reading: Reading | None = None, **options: object) -> Certificate:
            chosen: Reading = reading or ("corrected" if printed else "new")
            if chosen == "printed" and not (standalone or getattr(arguments[0], "paper_setting", True)):
                return left_out(label, chosen, _OUTSIDE, kind=kind)
            return check(*arguments, reading=chosen, **options)

        STATEMENTS[label] = Statement(
            label, printed, verdict, holds, careful, per_learner or of_pools, standalone, of_tracking, of_pools
        )
        return careful

    return enter
