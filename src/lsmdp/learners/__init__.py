"""Learners: one small file each, all with ``init``, ``policy`` and ``observe`` (base.py).

``learner_by_name("window:50")`` is how the command line finds them: the name, then the value of the first option.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from lsmdp.errors import SpecError
from lsmdp.learners.base import Learner, Report, State, pack, unpack
from lsmdp.learners.clairvoyant import BeTheLeader
from lsmdp.learners.fixed import Fixed, Passive
from lsmdp.learners.forgetful import DiscountedLeader, WindowLeader
from lsmdp.learners.ftl import FollowTheLeader
from lsmdp.learners.phased import PhasedLeader
from lsmdp.learners.track import TrackTheLeader

__all__ = [
    "BeTheLeader",
    "DiscountedLeader",
    "Fixed",
    "FollowTheLeader",
    "Learner",
    "Passive",
    "PhasedLeader",
    "Report",
    "State",
    "TrackTheLeader",
    "WindowLeader",
    "learner_by_name",
    "pack",
    "unpack",
]

NAMES: dict[str, tuple[Callable[..., Learner], type, str]] = {
    "ftl": (FollowTheLeader, float, "follow the leader; ftl:KAPPA counts KAPPA zero-cost rounds first"),
    "track": (TrackTheLeader, int, "one averaged Bellman update a round, no solve; track:STEPS takes more"),
    "plain-track": (lambda steps=1: TrackTheLeader(steps, averaged=False), int, "one plain Bellman update a round"),
    "phased": (PhasedLeader, float, "leader of the finished phases; phased:EPSILON"),
    "discounted": (DiscountedLeader, float, "leader of the discounted mean (mirror descent); discounted:ETA"),
    "window": (WindowLeader, int, "leader of the last 100 rounds; window:WIDTH"),
    "passive": (Passive, str, "the passive dynamics, no control"),
    "btl": (BeTheLeader, float, "sees the cost of the round it plays: a yardstick, not a learner"),
}


def learner_by_name(spec: str) -> Learner:
    """The learner of a name such as ``ftl`` or ``window:50``."""
    name, _, option = spec.partition(":")
    if name not in NAMES:
        nearest = difflib.get_close_matches(name, NAMES, n=1)
        hint = f' Did you mean "{nearest[0]}"?' if nearest else ""
        raise SpecError(f'there is no learner "{name}".{hint} Learners: {", ".join(NAMES)}.')
    maker, kind, _ = NAMES[name]
    if not option:
        return maker()
    try:
        value = kind(option)
    except ValueError:
        raise SpecError(f'"{option}" in "{spec}" is not a number.') from None
    if kind is str:
        raise SpecError(f'"{name}" takes no option, but "{spec}" gives one.')
    return maker(value)
