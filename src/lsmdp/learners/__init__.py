"""Learners: one small file each, all with ``init``, ``policy`` and ``observe`` (protocol.py).

Names are imported where they are first used, so that the command line can list the learners at once (names.py).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lsmdp.learners.names import NAMES, learner_by_name, titled

if TYPE_CHECKING:
    from lsmdp.learners.clairvoyant import BeTheLeader
    from lsmdp.learners.fixed import Fixed, Passive
    from lsmdp.learners.forgetful import DiscountedLeader, WindowLeader
    from lsmdp.learners.ftl import FollowTheLeader
    from lsmdp.learners.phased import PhasedLeader
    from lsmdp.learners.player import Player, players
    from lsmdp.learners.protocol import (
        Learner,
        LearnerLike,
        Report,
        State,
        pack,
        unpack,
    )
    from lsmdp.learners.stretch import Stretch
    from lsmdp.learners.track import TrackTheLeader

__all__ = [
    "NAMES",
    "BeTheLeader",
    "DiscountedLeader",
    "Fixed",
    "FollowTheLeader",
    "Learner",
    "LearnerLike",
    "Passive",
    "PhasedLeader",
    "Player",
    "Report",
    "State",
    "Stretch",
    "TrackTheLeader",
    "WindowLeader",
    "learner_by_name",
    "pack",
    "players",
    "titled",
    "unpack",
]

_HOME = {
    "protocol": ("Learner", "LearnerLike", "Report", "State", "pack", "unpack"),
    "clairvoyant": ("BeTheLeader",),
    "fixed": ("Fixed", "Passive"),
    "forgetful": ("DiscountedLeader", "WindowLeader"),
    "ftl": ("FollowTheLeader",),
    "phased": ("PhasedLeader",),
    "player": ("Player", "players"),
    "stretch": ("Stretch",),
    "track": ("TrackTheLeader",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'lsmdp.learners' has no attribute '{name}'")
    return getattr(importlib.import_module(f"lsmdp.learners.{_MODULE_OF[name]}"), name)
