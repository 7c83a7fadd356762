"""Learners: who chooses a policy for each round of a game before the cost of that round is seen.

All of them have ``init``, ``policy`` and ``observe`` (protocol.py). A *leader* plays the optimum for some mean of the
costs so far, certified; a *tracker* takes a Bellman update or two a round towards it.

- :mod:`~lsmdp.learners.ftl`, :mod:`~lsmdp.learners.phased`, :mod:`~lsmdp.learners.forgetful`: leaders, for the mean of
  all costs, of the finished phases, of the last ones; leader.py is what they share;
- :mod:`~lsmdp.learners.track`: trackers;
- :mod:`~lsmdp.learners.clock`, :mod:`~lsmdp.learners.seek`: for costs that come again every day, with a period that is
  told or found;
- :mod:`~lsmdp.learners.pool`: many learners at once, weighted by their losses; crowd.py plays their rounds;
- :mod:`~lsmdp.learners.visited`, :mod:`~lsmdp.learners.along`: where only the cost of the state that one is in is seen;
- :mod:`~lsmdp.learners.fixed`, :mod:`~lsmdp.learners.clairvoyant`: who does not learn, and who sees costs beforehand;
- :mod:`~lsmdp.learners.base`, :mod:`~lsmdp.learners.played`: what the learners of the library have in common, and what
  they answer;
- :mod:`~lsmdp.learners.complete`, :mod:`~lsmdp.learners.declared`: what any learner may declare, and what holds where
  it does not. A game plays a :class:`CompleteLearner`, whatever it was given: nobody else looks at what a learner has;
- :mod:`~lsmdp.learners.names`: the learners by name.

The imports below are the one list of names. A type checker follows them. At run time they are read and not executed: a
name is imported when it is first used, so that the command line can list the learners at once (names.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# isort: off
from lsmdp.learners.names import NAMES as NAMES, learner_by_name as learner_by_name, titled as titled

if TYPE_CHECKING:  # "X as X" tells type checkers that X is meant for others
    from lsmdp.learners.protocol import (
        LearnerLike as LearnerLike,
        VisitingLearner as VisitingLearner,
        Learner as Learner,
        Report as Report,
        State as State,
        pack as pack,
        unpack as unpack,
    )
    from lsmdp.learners.played import Kernels as Kernels, Played as Played
    from lsmdp.learners.complete import CompleteLearner as CompleteLearner, completed as completed
    from lsmdp.learners.base import LearnerBase as LearnerBase, Tracking as Tracking
    from lsmdp.learners.ftl import FollowTheLeader as FollowTheLeader
    from lsmdp.learners.track import TrackTheLeader as TrackTheLeader, TrackTheDiscounted as TrackTheDiscounted
    from lsmdp.learners.phased import PhasedLeader as PhasedLeader
    from lsmdp.learners.forgetful import DiscountedLeader as DiscountedLeader, WindowLeader as WindowLeader
    from lsmdp.learners.clock import Clock as Clock
    from lsmdp.learners.visited import Visited as Visited
    from lsmdp.learners.along import Along as Along, seeing as seeing
    from lsmdp.learners.fixed import Passive as Passive, Fixed as Fixed
    from lsmdp.learners.seek import SeekTheClock as SeekTheClock
    from lsmdp.learners.pool import Pool as Pool
    from lsmdp.learners.clairvoyant import BeTheLeader as BeTheLeader
else:
    import ast
    import importlib
    import warnings

    with open(__file__, encoding="utf-8") as _source:
        _MODULE_OF = {
            name.name: found.module
            for found in ast.walk(ast.parse(_source.read()))
            if isinstance(found, ast.ImportFrom) and found.module.startswith("lsmdp.")
            for name in found.names
        }

    __all__ = [*_MODULE_OF]

    def __getattr__(name: str) -> object:
        if name == "Stretch":
            message = "lsmdp.learners.Stretch is called Played since version 0.1.0, and will be gone in version 0.2.0."
            warnings.warn(message, DeprecationWarning, 2)
            name = "Played"
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'lsmdp.learners' has no attribute '{name}'")
        return getattr(importlib.import_module(_MODULE_OF[name]), name)
