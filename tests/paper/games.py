"""Random games, by family: small models with costs in [0, 1], made to be awkward in different ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

import lsmdp
from lsmdp.learners import Learner, learner_by_name
from lsmdp.theory import (
    STATEMENTS,
    Certificate,
    Trace,
    trace,
)
from lsmdp.theory.trace import FindLeader, PlayerTrace, certified

Floats = npt.NDArray[np.float64]


class Game(NamedTuple):
    """A model, the costs of all rounds, where it starts, and some fixed policies to be compared with."""

    lmdp: lsmdp.LMDP
    costs: Floats
    start: int
    rivals: dict[str, Floats]

    def record(self, *learners: Learner, leader: FindLeader = certified) -> Trace:
        """Everything that the statements speak of."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "plain tracking")  # it may resonate, and its theorem holds all the same
            return trace(self.lmdp, self.costs, learners, start=self.start, leader=leader, rivals=self.rivals)


def dense(rng: np.random.Generator, n: int) -> Floats:
    """Dirichlet rows, some of them flat and some peaked."""
    return rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-0.7, 1.0)), size=n)


def sparse(rng: np.random.Generator, n: int) -> Floats:
    """A cycle with a loop somewhere, and a few more moves."""
    P = np.zeros((n, n))
    P[np.arange(n), (np.arange(n) + 1) % n] = rng.uniform(0.1, 1.0, n)
    P[0, 0] = rng.uniform(0.1, 1.0)
    P[rng.integers(n, size=n), rng.integers(n, size=n)] += rng.uniform(0.05, 1.0, n)
    return P


def near_deterministic(rng: np.random.Generator, n: int) -> Floats:
    """Almost a map, with rare other moves."""
    rare = 10.0 ** rng.uniform(-6.0, -1.0)
    P = np.full((n, n), rare)
    P[np.arange(n), rng.integers(n, size=n)] += 1.0
    return P


def rank_one(rng: np.random.Generator, n: int) -> Floats:
    """The next state does not depend on the present one: a(P) = 0."""
    return np.tile(rng.dirichlet(np.full(n, 1.0)) + 1e-3, (n, 1))


def near_rank_one(rng: np.random.Generator, n: int) -> Floats:
    """Almost so."""
    return rank_one(rng, n) * np.exp(10.0 ** rng.uniform(-8.0, -1.0) * rng.standard_normal((n, n)))


def near_periodic(rng: np.random.Generator, n: int) -> Floats:
    """A cycle that is hardly ever left or delayed."""
    P = np.zeros((n, n))
    P[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    return P + 10.0 ** rng.uniform(-4.0, -1.0) * (np.eye(n) + 0.1 * rng.random((n, n)))


FAMILIES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "dense": dense,
    "sparse": sparse,
    "near-deterministic": near_deterministic,
    "rank one": rank_one,
    "near rank one": near_rank_one,
    "near-periodic": near_periodic,
}


def random_costs(rng: np.random.Generator, T: int, n: int) -> Floats:
    """Independent, binary, alternating, drifting or constant."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.random((T, n))
    if kind == 1:
        return (rng.random((T, n)) < rng.random(n)).astype(np.float64)
    if kind == 2:
        one = (rng.random(n) < 0.5).astype(np.float64)
        return np.where((np.arange(T) % 2 == 0)[:, None], one, 1.0 - one)
    if kind == 3:
        return 0.5 + 0.5 * np.cos(np.arange(T)[:, None] / rng.uniform(2.0, 20.0) + rng.uniform(0.0, 6.0, n))
    return np.tile(rng.random(n), (T, 1))


def random_game(seed: int, family: str, *, states: int | None = None, rounds: int | None = None) -> Game:
    """The game of a seed; the same seed, the same game."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    n = int(rng.integers(2, 7)) if states is None else states
    T = int(rng.integers(1, 25)) if rounds is None else rounds
    P = FAMILIES[family](rng, n)
    lmdp = lsmdp.LMDP(P / P.sum(axis=1, keepdims=True), normalise=True)
    lmdp = lmdp if lmdp.is_irreducible else lmdp.teleport(0.1)
    support = lmdp.P.toarray() > 0.0
    weights = rng.random((2, lmdp.n, lmdp.n)) ** 4 * support
    rivals = {f"random {k}": w / w.sum(axis=1, keepdims=True) for k, w in enumerate(weights)}
    return Game(lmdp, random_costs(rng, T, lmdp.n), int(rng.integers(lmdp.n)), rivals)


LEARNERS = ("track", "plain-track:2", "window:3", "passive")


@dataclass(frozen=True)
class Case:
    """One random game by its numbers, played once per process."""

    family: str
    seed: int
    states: int
    rounds: int

    @property
    def game(self) -> Game:
        return _game(self)

    @property
    def record(self) -> Trace:
        """The game with the learners of LEARNERS."""
        return _record(self)

    @property
    def players(self) -> list[PlayerTrace]:
        return [self.record.ftl, *self.record.players]


@cache
def _game(case: Case) -> Game:
    return random_game(case.seed, case.family, states=case.states, rounds=case.rounds)


@cache
def _record(case: Case) -> Trace:
    return case.game.record(*map(learner_by_name, LEARNERS))


cases = st.builds(
    Case,
    family=st.sampled_from(list(FAMILIES)),
    seed=st.integers(0, 1),  # a game is played once per process, and shared by all tests that draw it
    states=st.sampled_from([2, 3, 6]),
    rounds=st.sampled_from([12, 3, 1]),
)
few = settings(max_examples=12)


def checked(game: Trace, reading: str | None = None) -> Iterator[Certificate]:
    """Every statement about the game, for every learner that it is about; without a reading, corrected and new."""
    for one in STATEMENTS.values():
        if one.standalone or (reading == "printed" and not one.printed):
            continue
        if one.per_learner:
            players = (player for player in (game.ftl, *game.players, *game.pools) if one.concerns(player))
            yield from (one.check(game, player, reading=reading) for player in players)
        else:
            yield one.check(game, reading=reading)


def certificate(label: str, game: Trace, player: PlayerTrace | None = None, reading: str | None = None) -> Certificate:
    """One statement about the game; the corrected or new reading unless asked for another."""
    return STATEMENTS[label].check(*((game,) if player is None else (game, player)), reading=reading)
