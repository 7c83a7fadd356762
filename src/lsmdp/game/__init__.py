"""The game: learners, costs that change, and exact accounts of what each pays.

- :mod:`~lsmdp.game.play`: what a game is; ``play`` and ``rounds``, which play one;
- :mod:`~lsmdp.game.players`: one learner in a game, with its accounts;
- :mod:`~lsmdp.game.accounts`: what the rounds of one learner cost, exactly;
- :mod:`~lsmdp.game.records`: what is written down about a round, and the sums over all of them;
- :mod:`~lsmdp.game.walkers`: sampled walks, which ``lsmdp simulate`` writes.
"""

from __future__ import annotations

from lsmdp.game.play import Game as Game
from lsmdp.game.play import Run as Run
from lsmdp.game.play import costs_in_blocks as costs_in_blocks
from lsmdp.game.play import first_state as first_state
from lsmdp.game.play import play as play
from lsmdp.game.play import rounds as rounds
from lsmdp.game.play import start_law as start_law
from lsmdp.game.players import Player as Player
from lsmdp.game.records import Records as Records
from lsmdp.game.records import Round as Round
from lsmdp.game.records import Tally as Tally
from lsmdp.game.records import is_mark as is_mark
from lsmdp.game.records import next_mark as next_mark
