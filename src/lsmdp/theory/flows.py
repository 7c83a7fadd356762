"""The theorem of pools: what the flow mixture of several learners pays, at most.

With the notation of pools.py, in units of the temperature, E experts and r the largest difference of two losses in a
round so far,

    loss <= sum_t w_t.l_t + sum_t (p_t - m_t).g_t                                                    (new:pool)
    1/2 |p_{t+1} - m_{t+1}|_1 <= 1/2 |(p_t - m_t) Q_t|_1 + 1/2 |w_{t+1} - w_t|_1                     (new:pool/2)
    plain Hedge:  sum_t w_t.l_t <= min_i sum_t l^i_t + r ((sqrt 2 + 1/sqrt 8) sqrt(T log E) + 2)     (new:pool/3)

docs/theory.md has the proofs. All three are about learners that are pools, and about no others.
"""

from __future__ import annotations

import math

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.theory.certificate import (
    Certificate,
    Reading,
    at_most,
    left_out,
)
from lsmdp.theory.pools import PoolTrace
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import Trace

_NO_EXPERTS = "it plays kernels, but is no pool of experts"
_NO_RATE_PROVED = "its weights are not those of plain Hedge, and no rate is proved for them"
# This is the factor of r sqrt(T log E) in the regret of Hedge with a rate that falls with the rounds.
_FACTOR_OF_HEDGE = math.sqrt(2.0) + 1.0 / math.sqrt(8.0)


@statement("new:pool", "", "new", "loss <= sum w_t.l_t + sum (p_t - m_t).g_t for every pool", of_pools=True)
def pool_theorem(game: Trace, player: PoolTrace, *, reading: Reading) -> Certificate:
    """After each round: what the pool has paid beyond its experts, and what its law lags behind theirs."""
    if not player.experts:
        return left_out("new:pool", reading, _NO_EXPERTS, about=player.name)
    rows = player.rows
    left, right = np.cumsum(rows.loss - rows.mixed), np.cumsum(rows.behind)
    return at_most(
        "new:pool",
        reading,
        left,
        right,
        tolerance=_rounding(game, player),
        trivial=game.width * game.rounds,
        rounds=game.rounds,
        about=player.name,
    )


@statement(
    "new:pool/2",
    "",
    "new",
    "1/2 |p_{t+1} - m_{t+1}|_1 <= 1/2 |(p_t - m_t) Q_t|_1 + 1/2 |w_{t+1} - w_t|_1",
    of_pools=True,
)
def lag_of_the_law(game: Trace, player: PoolTrace, *, reading: Reading) -> Certificate:
    """By how much the law of a pool falls behind in a round: no more than its weights move."""
    if not player.experts:
        return left_out("new:pool/2", reading, _NO_EXPERTS, about=player.name)
    rows = player.rows
    return at_most(
        "new:pool/2",
        reading,
        rows.apart_after,
        rows.carried + rows.moved,
        tolerance=4.0 * game.noise,
        trivial=1.0,
        rounds=game.rounds,
        about=player.name,
    )


@statement(
    "new:pool/3",
    "",
    "new",
    "plain Hedge: sum w_t.l_t <= min_i sum l^i_t + r ((sqrt 2 + 1/sqrt 8) sqrt(T log E) + 2)",
    of_pools=True,
)
def hedge(game: Trace, player: PoolTrace, *, reading: Reading) -> Certificate:
    """After each round: what the crowd has paid beyond its best expert so far."""
    if not player.experts or not player.plain:
        return left_out("new:pool/3", reading, _NO_RATE_PROVED if player.experts else _NO_EXPERTS, about=player.name)
    rows, t = player.rows, game.rounds
    left = np.cumsum(rows.mixed) - rows.least
    right = rows.range * (_FACTOR_OF_HEDGE * np.sqrt(t * math.log(player.experts)) + 2.0)
    return at_most(
        "new:pool/3",
        reading,
        left,
        right,
        tolerance=_rounding(game, player),
        trivial=t * rows.range,
        rounds=t,
        about=player.name,
    )


def _rounding(game: Trace, player: PoolTrace) -> Floats:
    """What rounding may have added to the sums of the first t rounds."""
    rows = player.rows
    return np.asarray(game.noise * np.cumsum(1.0 + np.abs(rows.loss) + np.abs(rows.mixed) + np.abs(rows.behind)))
