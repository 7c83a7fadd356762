"""Random games, by family: small models with costs in [0, 1], made to be awkward in different ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import lsmdp
from lsmdp.theory import Trace, trace
from lsmdp.theory.trace import Leader, certified

Floats = npt.NDArray[np.float64]


class Game(NamedTuple):
    """A model, the costs of all rounds, where it starts, and some fixed policies to be compared with."""

    lmdp: lsmdp.LMDP
    costs: Floats
    start: int
    rivals: dict[str, Floats]

    def record(self, *learners: lsmdp.learners.Learner, leader: Leader = certified) -> Trace:
        """Everything that the statements speak of."""
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
