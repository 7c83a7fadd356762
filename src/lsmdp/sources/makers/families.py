"""Small families with known behaviour. Each is a passive dynamics P:

    ring          x -> x + 1 with probability drift, x -> x and x -> x - 1 with (1 - drift)/2 each (mod n)
    random_graph  x -> x, x -> s(x) along a random cycle s through all states, and x -> other random states
    sticky        [[1 - eps, eps], [eps, 1 - eps]]: span v grows like log(1/eps), the stress test of lem:vbound
    rank_one      P(.|x) = law for every x: the next state forgets the present one, v = c up to a constant
    clusters      k random graphs; with probability link, move on to the next one

``random_graph`` and ``clusters`` are primitive by construction (ass:irred): the cycle makes P irreducible and
the self-loops make it aperiodic. They depend on their arguments and seed alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats, as_distribution, as_whole, require_entries
from lsmdp.errors import ModelError, told
from lsmdp.inputs.labels import is_whole
from lsmdp.model import LMDP
from lsmdp.sources.makers.shared import check_probability, csr_rows


def ring(n: int, drift: float = 1 / 3, temperature: float = 1.0) -> LMDP:
    """A walk on a circle: +1 with probability drift, the rest shared equally by 0 and -1.

    drift = 1/3 is symmetric, and near 1 the chain is nearly periodic. The circle has circumference n.
    """
    if as_whole(n, "the number of states", ModelError) < 1:
        raise ModelError(f"a ring of {n} states is empty. Ask for at least 1.")
    check_probability(drift, "drift")
    require_entries(3 * n)
    here = np.arange(n)
    rest = (1.0 - drift) / 2.0
    target = np.stack([here, (here + 1) % n, (here - 1) % n], axis=1)
    angle = 2.0 * np.pi * here / n
    return LMDP(
        csr_rows(target, np.broadcast_to([rest, drift, rest], (n, 3))),
        temperature=temperature,
        positions=np.stack([np.cos(angle), np.sin(angle)], axis=1) * n / (2.0 * np.pi),
        name=f"ring:{n}" if drift == 1 / 3 else f"ring:{n}:{drift:g}",
    )


def random_graph(n: int, degree: int = 7, seed: int = 0, temperature: float = 1.0) -> LMDP:
    """A random directed graph that is irreducible and aperiodic, with ``degree`` moves from each state (at most n).

    Every state stays, follows a random cycle through all states, and has degree - 2 other successors. The
    chances are drawn from [0.2, 1] and divided by their sum, so none is below 0.2 / degree.
    """
    target, chance = _random_rows(1, n, degree, _generator(seed))
    name = f"random:{n}:{degree}" + (f":{seed}" if seed else "")
    return LMDP(csr_rows(target, chance), temperature=temperature, name=name)


def sticky(eps: float, temperature: float = 1.0) -> LMDP:
    """Two states that are left with probability eps only."""
    check_probability(eps, "eps")
    return LMDP([[1.0 - eps, eps], [eps, 1.0 - eps]], temperature=temperature, name=f"sticky:{eps:g}")


def rank_one(law: Any, temperature: float = 1.0) -> LMDP:
    """Equal rows: the next state is drawn from ``law`` whatever the present one. A number n means n equal chances."""
    if isinstance(law, int | np.integer):
        if not is_whole(law) or law < 1:
            raise ModelError(f"rank_one({told(law)}) has no state. Give a law, or a number of states of at least 1.")
        require_entries(int(law) ** 2)
        law = np.full(law, 1.0 / law)
    row = as_distribution(law, np.size(law))
    require_entries(row.size**2)
    return LMDP(np.broadcast_to(row, (row.size, row.size)), temperature=temperature, name=f"rank-one:{row.size}")


def clusters(k: int, size: int, link: float, degree: int = 7, seed: int = 0, temperature: float = 1.0) -> LMDP:
    """k random graphs of ``size`` states each; with probability link a state moves to a fixed one of the next graph."""
    if as_whole(k, "the number of clusters", ModelError) < 1:
        raise ModelError(f"{k} clusters hold no state. Ask for at least 1.")
    check_probability(link, "link", below_one=True)
    rng = _generator(seed)
    target, chance = _random_rows(k, size, degree, rng)
    if k > 1:
        following = (np.repeat(np.arange(k), size) + 1) % k
        bridge = following * size + rng.integers(0, size, k * size)
        target = np.column_stack([target, bridge])
        chance = np.column_stack([chance * (1.0 - link), np.full(k * size, link)])
    name = f"clusters:{k}:{size}:{link:g}"
    return LMDP(csr_rows(target, chance), temperature=temperature, name=name)


def _random_rows(k: int, size: int, degree: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.int32], Floats]:
    """Successors and chances of k unconnected random graphs of ``size`` states, one row per state."""
    if as_whole(size, "the number of states", ModelError) < 1:
        raise ModelError(f"a random graph of {size} states is empty. Ask for at least 1.")
    if as_whole(degree, "degree", ModelError) < min(2, size):
        raise ModelError(f"degree is {degree}. A random graph needs 2: one move to stay and one along the cycle.")
    degree = min(degree, size)
    n = k * size
    require_entries(n * degree)
    # On the cycle, state number i of a graph reaches i + step for a set of steps: 0, 1 and degree - 2 others.
    steps = np.empty((n, degree), dtype=np.int32)
    steps[:, : min(degree, 2)] = np.arange(min(degree, 2))
    steps[:, 2:] = 2 + _distinct(n, degree - 2, size - 2, rng)
    steps += np.tile(np.arange(size, dtype=np.int32), k)[:, None]
    steps %= size
    start = np.repeat(np.arange(k, dtype=np.int32) * size, size)
    cycle = rng.permuted(np.tile(np.arange(size, dtype=np.int32), (k, 1)), axis=1).ravel() + start
    target = np.empty_like(steps)
    target[cycle] = cycle[steps + start[:, None]]
    chance = rng.uniform(0.2, 1.0, (n, degree))
    chance /= chance.sum(axis=1, keepdims=True)
    return target, chance


def _generator(seed: int) -> np.random.Generator:
    if not is_whole(seed) or seed < 0:
        raise ModelError(f"the seed is {told(seed)}. A seed is a whole number of at least 0.")
    return np.random.default_rng(seed)


def _distinct(rows: int, k: int, total: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """In each row k different numbers of range(total), every set equally likely (Floyd's sampling, row-parallel)."""
    if k <= 0:
        return np.empty((rows, 0), dtype=np.int32)
    if 4 * k > total:  # Floyd compares k^2 / 2 pairs; here ranking all numbers is cheaper
        return np.argsort(rng.random((rows, total), dtype=np.float32), axis=1)[:, :k].astype(np.int32)
    chosen = np.empty((rows, k), dtype=np.int32)
    for place, top in enumerate(range(total - k, total)):
        drawn = rng.integers(0, top, rows, dtype=np.int32, endpoint=True)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, top, drawn)
    return chosen
