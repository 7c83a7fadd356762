"""Be the leader: a yardstick that sees the cost of a round before it plays it, for lem:btl.

In round t it plays the optimum for the mean of c_1, ..., c_t, the present cost included. Its idealised loss is at most
that of every fixed policy (lem:btl). The game shows it c_t only because it declares itself ``clairvoyant``; it is never
on by default.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsmdp.arrays import Floats
from lsmdp.learners.ftl import FollowTheLeader, FTLState
from lsmdp.model import LMDP
from lsmdp.policy import Policy


@dataclass(frozen=True)
class BeTheLeader(FollowTheLeader):
    """The leader of the rounds up to and including the present one."""

    clairvoyant = True

    @property
    def name(self) -> str:
        """btl, or btl:KAPPA."""
        return f"btl:{self.kappa:g}" if self.kappa else "btl"

    @property
    def follows_the_leader(self) -> bool:
        """It is one round ahead."""
        return False

    def foresee(self, lmdp: LMDP, state: FTLState, c_t: Floats) -> Policy:
        """The policy of a round whose cost is already known."""
        return self.policy(lmdp, self.observe(lmdp, state, c_t))
