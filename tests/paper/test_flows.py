"""The theorem of pools on random games, each side against a straight computation."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.theory import Trace

from .games import FAMILIES, Floats, certificate, random_game

EXPERTS = (lsmdp.Passive(), lsmdp.TrackTheLeader(), lsmdp.WindowLeader(2), lsmdp.TrackTheDiscounted(0.5))


@cache
def played(family: str, swift: bool) -> tuple[Trace, dict[str, Floats]]:
    """A game of a pool, and the columns of its theorem from dense matrices and the weights in its state."""
    game = random_game(1, family, states=4, rounds=15)
    pool: Any = lsmdp.Pool(list(EXPERTS), swift=swift)
    lmdp, P = game.lmdp, game.lmdp.P.toarray()
    start = np.eye(lmdp.n)[game.start]
    state, states = pool.init_from(lmdp, start), [one.init(lmdp) for one in EXPERTS]
    law, laws, rows = start, [start] * len(EXPERTS), []
    for c in game.costs:
        Q = pool.policy(lmdp, state).matrix().toarray()
        own = [one.policy(lmdp, known).matrix().toarray() for one, known in zip(EXPERTS, states, strict=True)]
        paid = np.array([p @ (c + kl(q, P)) for p, q in zip(laws, own, strict=True)])
        m, before, g = state.weights @ np.array(laws), state.weights, c + kl(Q, P)
        row = [law @ g, before @ paid, (law - m) @ g, np.abs((law - m) @ Q).sum() / 2]
        law, laws = law @ Q, [p @ q for p, q in zip(laws, own, strict=True)]
        state = pool.observe(lmdp, state, c)
        states = [one.observe(lmdp, known, c) for one, known in zip(EXPERTS, states, strict=True)]
        apart = np.abs(law - state.weights @ np.array(laws)).sum() / 2
        rows.append([*row, np.abs(state.weights - before).sum() / 2, apart, np.ptp(paid), *paid])
    table = np.array(rows).T
    names = ("loss", "mixed", "behind", "carried", "moved", "apart", "range")
    return game.record(pool), {**dict(zip(names, table, strict=False)), "paid": table[7:]}


def kl(Q: Floats, P: Floats) -> Floats:
    ratio = np.where(Q > 0.0, Q, 1.0) / np.where(Q > 0.0, P, 1.0)
    return np.asarray((Q * np.log(ratio)).sum(axis=1))


@pytest.mark.parametrize("swift", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_new_pool(family: str, swift: bool) -> None:
    game, known = played(family, swift)
    found = certificate("new:pool", game, game.pools[0])
    assert found.holds
    np.testing.assert_allclose(found.left, np.cumsum(known["loss"] - known["mixed"]), atol=1e-9)
    np.testing.assert_allclose(found.right, np.cumsum(known["behind"]), atol=1e-9)


@pytest.mark.parametrize("swift", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_new_pool_2(family: str, swift: bool) -> None:
    game, known = played(family, swift)
    found = certificate("new:pool/2", game, game.pools[0])
    assert found.holds
    np.testing.assert_allclose(found.left, known["apart"], atol=1e-9)
    np.testing.assert_allclose(found.right, known["carried"] + known["moved"], atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_new_pool_3(family: str) -> None:
    game, known = played(family, False)
    found = certificate("new:pool/3", game, game.pools[0])
    assert found.holds
    best = np.cumsum(known["paid"], axis=1).min(axis=0)
    np.testing.assert_allclose(found.left, np.cumsum(known["mixed"]) - best, atol=1e-9)
    t, r = np.arange(1, 16), np.maximum.accumulate(known["range"])
    rate = (math.sqrt(2) + 1 / math.sqrt(8)) * np.sqrt(t * math.log(len(EXPERTS))) + 2
    np.testing.assert_allclose(found.right, r * rate, atol=1e-9)
    game, _ = played(family, True)
    assert certificate("new:pool/3", game, game.pools[0]).holds is None


def test_a_learner_that_plays_kernels_and_is_no_pool() -> None:
    """A kernel that no value function makes, as a fixed policy: it is replayed, and the theorem says nothing of it."""
    lmdp = lsmdp.LMDP([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
    Q = np.array([[0.1, 0.1, 0.8], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1]])
    run = lsmdp.play(lmdp, lsmdp.Fixed(lsmdp.Mixture(lmdp, Q)), np.random.default_rng(0).random((9, 3)))
    found = lsmdp.certify(run)
    assert found["run:replay"][0].holds
    assert [one.holds for label in ("new:pool", "new:pool/2", "new:pool/3") for one in found[label]] == [None] * 3
