"""Every corrected and new statement on 168 random games: none fails, and each is really looked at.

Rounds take time, and what is awkward about a game is its model: so there are many games, and most of them are short.
"""

from __future__ import annotations

from collections import Counter
from itertools import cycle

import numpy as np
import pytest

from lsmdp.learners import learner_by_name
from lsmdp.theory import STATEMENTS

from .games import FAMILIES, checked, random_game

ROUNDS = (2, 3, 5, 8, 12, 4, 24)
GAMES = 28  # of each family, four of each number of rounds
FIRST_SEED = 2_000  # not those of the other tests
LEARNERS = ("track", "plain-track", "pool")
ABOUT_GAMES = [label for label, one in STATEMENTS.items() if not one.standalone]

# Where a statement has a condition that some games do not meet, the share of them that have to meet it: a game of one
# round changes no mean, constant costs change no policy. "sparse" has pairs of states without a common successor.
LEAST = {
    "lem:c_to_v/2": 0.5,
    "new:log": 0.5,
    "lem:price/2": 0.8,
    "lem:trueloss/2": 0.8,
    "new:sensitivity": 0.8,
    "new:L2/6": 0.5,
}
ONE_STEP = ("new:log", "lem:c_to_v/2", "lem:price/2")  # they say nothing where a(Q) = 1
DENSE = tuple(family for family in FAMILIES if family != "sparse")


@pytest.mark.parametrize("family", FAMILIES)
def test_sweep(family: str) -> None:
    looked = Counter()
    for seed, rounds in zip(range(FIRST_SEED, FIRST_SEED + GAMES), cycle(ROUNDS), strict=False):
        game = random_game(seed, family, rounds=rounds).record(*map(learner_by_name, LEARNERS))
        of_this = Counter()
        for one in checked(game):
            assert not one.failed, f"{family}, seed {seed}: {one}"
            if one.holds is None:
                assert one.where
                continue
            assert not np.isnan(one.left).any()
            assert not np.isnan(one.right).any()
            if np.isfinite(one.right).any():  # an infinite bound says nothing
                of_this[one.label] = 1
        looked += of_this
    for label in ABOUT_GAMES:
        least = LEAST.get(label, 1.0)
        if label in ONE_STEP and family not in DENSE:
            continue
        assert looked[label] >= least * GAMES, f"{label} was looked at in {looked[label]} of {GAMES} games"
