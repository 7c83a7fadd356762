"""The names of the learners, as the command line, specs and tables have them; importing this loads nothing heavy.

``learner_by_name("window:50")`` is the learner of a name with the value of its first option; ``clock:24:0.1`` has two.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lsmdp.errors import SpecError

if TYPE_CHECKING:
    from lsmdp.learners.protocol import Learner


@dataclass(frozen=True)
class NamedLearner:
    """Where a learner lives, how its option is read (None: it takes none), and what it does."""

    module: str
    class_name: str
    option: Callable[[str], Any] | None
    meaning: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def make(self, *option: Any) -> Learner:
        """The learner, with the values of its first options if there are some."""
        learner = getattr(importlib.import_module(f"lsmdp.learners.{self.module}"), self.class_name)
        made: Learner = learner(*option, **self.fixed)
        return made


def period_and_eta(option: str) -> tuple[float, ...]:
    """PERIOD, or PERIOD:ETA."""
    period, colon, eta = option.partition(":")
    return (int(period), float(eta)) if colon else (int(period),)


# These are the learners by the names that users give.
NAMES = {
    "ftl": NamedLearner(
        "ftl", "FollowTheLeader", float, "follow the leader; ftl:KAPPA counts KAPPA zero-cost rounds first"
    ),
    "track": NamedLearner("track", "TrackTheLeader", int, "one averaged Bellman update a round, no solve; track:STEPS"),
    "plain-track": NamedLearner(
        "track", "TrackTheLeader", int, "one plain Bellman update a round", {"averaged": False}
    ),
    "phased": NamedLearner("phased", "PhasedLeader", float, "leader of the finished phases; phased:EPSILON"),
    "discounted": NamedLearner("forgetful", "DiscountedLeader", float, "leader of the discounted mean; discounted:ETA"),
    "window": NamedLearner("forgetful", "WindowLeader", int, "leader of the last 100 rounds; window:WIDTH"),
    "clock": NamedLearner(
        "clock", "Clock", period_and_eta, "a mean for each slot of a day, 24 rounds long; clock:PERIOD[:ETA]"
    ),
    "visited": NamedLearner(
        "visited", "Visited", float, "--feedback visited: means of what it saw, for noisy costs; visited:ETA"
    ),
    "discounted-track": NamedLearner(
        "track", "TrackTheDiscounted", float, "one update a round for a discounted mean; discounted-track:WEIGHT"
    ),
    "pool": NamedLearner(
        "pool", "pooled", str, "many trackers, weighted by their losses; pool:24,50 with clocks, pool:auto"
    ),
    "passive": NamedLearner("fixed", "Passive", None, "the passive dynamics, no control"),
    "btl": NamedLearner(
        "clairvoyant", "BeTheLeader", float, "sees the cost of the round it plays: a yardstick, no learner"
    ),
}

USUAL_LEARNERS = ("pool:auto", "ftl", "passive")  # These play where no learner is named.

# This is what experts without an option do.
_HABITS = {
    "passive": "does not steer",
    "track": "remembers all rounds",
    "ftl": "remembers all rounds",
    "seek": "remembers all rounds, and looks for a period",
}
YARDSTICK = "(sees c_t): it is shown the cost of a round before it plays it. A yardstick, not a learner."


def titled(name: str, clairvoyant: bool) -> str:
    """How tables name a learner: one that sees the cost of the round it plays is a yardstick, and is marked as such."""
    return f"{name} (sees c_t)" if clairvoyant else name


def in_few_words(name: str) -> str:
    """What a learner of the library does, for a table that lists the experts of a pool; nothing of others."""
    if found := re.fullmatch(r"discounted-track:(1|0\.\d*[1-9])", name):
        rounds = round(1.0 / float(found[1]))
        return "goes by the last cost alone" if rounds == 1 else f"remembers about {rounds:,} rounds"
    if found := re.fullmatch(r"clock:(\d+)", name):
        period = int(found[1])
        return f"expects costs to come back after {period:,} round{'s' * (period != 1)}"
    return _HABITS.get(name, "")


def learner_by_name(spec: str) -> Learner:
    """The learner of a name such as ``ftl`` or ``window:50``."""
    name, _, option = str(spec).partition(":")
    if name not in NAMES:
        nearest = difflib.get_close_matches(name, NAMES, n=1)
        hint = f' Did you mean "{nearest[0]}"?' if nearest else ""
        raise SpecError(f'there is no learner "{name}".{hint} Learners: {", ".join(NAMES)}.')
    named = NAMES[name]
    if not option:
        return named.make()
    if named.option is None:
        raise SpecError(f'"{name}" takes no option, but "{spec}" gives one.')
    try:
        value = named.option(option)
    except ValueError:
        kind = "a number" if named.option is float else "a whole number" if named.option is int else "an option"
        fault = f'"{option}" in "{spec}" is not {kind} of the kind that "{name}" takes'
        raise SpecError(f"{fault}: {named.meaning}.") from None
    return named.make(*value) if isinstance(value, tuple) else named.make(value)
