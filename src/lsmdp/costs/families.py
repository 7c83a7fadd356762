"""The built-in cost sequences, each a pure function of the number of states, its argument and the seed.

With a, b two patterns (independent, uniform in [0, 1] per state), phi a phase per state, and u_t(x) the numbers of one
long random stream:

    iid         c_t(x) = u_t(x)                           binary      c_t(x) = 1 if u_t(x) < 1/2, else 0
    switching   a for ``period`` rounds, then b, ...      doubling    a for 1 round, b for 2, a for 4, b for 8, ...
    drift       c_t = (1 - w) a + w b, w = (t - 1)/(rounds - 1), and b from then on
    periodic    c_t(x) = (1 + sin 2 pi ((t - 1)/period + phi(x))) / 2
    target      the distance to a target that moves, cut at 1 (target.py)
    danger      1 at a danger that roams, and next to nothing a few moves away (target.py)
    swap        (0, 1), (1, 0), (0, 1), ...: in phase with a chain of two states that swaps each round

Any round costs the same to reach: u_t(x) is draw (t - 1) n + x of a PCG64 generator, which can jump there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lsmdp.arrays import Floats, Ints
from lsmdp.costs.sequence import ROUNDS_THAT_SHARE, Hash, block_rows
from lsmdp.errors import SpecError
from lsmdp.model import LMDP

# So many blocks of a small model are drawn at a time, so that a game in compiled loops asks less often.
BLOCKS_DRAWN = 4
# This number keeps the draws apart from those of a random model with the same seed; any number would do.
STREAM = 0xC057

CostRows: TypeAlias = Callable[[Ints], Floats]  # consecutive rounds -> their costs, a row each


class FamilySetting(NamedTuple):
    """What a family is made from; ``number`` is the argument in its spec, or else the number of rounds."""

    lmdp: LMDP
    number: int
    seed: int

    def bits(self) -> np.random.PCG64:
        """The random stream of this seed, at its beginning."""
        return np.random.PCG64([STREAM, self.seed])

    def patterns(self) -> Floats:
        """Two random cost vectors."""
        return np.random.Generator(self.bits()).random((2, self.lmdp.n))


def iid(given: FamilySetting) -> CostRows:
    """Independent costs, uniform in [0, 1]."""

    def rows(t: Ints) -> Floats:
        bits = given.bits().advance((int(t[0]) - 1) * given.lmdp.n)
        return np.random.Generator(bits).random((t.size, given.lmdp.n))

    return rows


def binary(given: FamilySetting) -> CostRows:
    """Independent fair coins."""
    uniform = iid(given)
    return lambda t: (uniform(t) < 0.5).astype(np.float64)


def switching(given: FamilySetting) -> CostRows:
    """Two patterns in turn, each for a fixed number of rounds."""
    patterns, period = given.patterns(), given.number
    return lambda t: patterns[(t - 1) // period % 2]


def doubling(given: FamilySetting) -> CostRows:
    """Two patterns in turn; the k-th turn has 2^(k-1) rounds and begins in round 2^(k-1)."""
    patterns = given.patterns()
    return lambda t: patterns[(np.frexp(t)[1] - 1) % 2]


def drift(given: FamilySetting) -> CostRows:
    """A mix of two patterns that moves from the first to the second."""
    (a, b), rounds = given.patterns(), given.number

    def rows(t: Ints) -> Floats:
        w = np.minimum((t[:, None] - 1) / max(rounds - 1, 1), 1.0)
        return np.asarray((1.0 - w) * a + w * b)

    return rows


def periodic(given: FamilySetting) -> CostRows:
    """A sine wave; each state has a phase of its own."""
    phase, period = given.patterns()[0], given.number
    return lambda t: 0.5 + 0.5 * np.sin(2.0 * np.pi * ((t[:, None] - 1) % period / period + phase))


def target(given: FamilySetting) -> CostRows:
    """Cheap near a target that moves, dear far from it."""
    from lsmdp.costs.target import moving_target

    return moving_target(given.lmdp, given.number, np.random.Generator(given.bits()))


def danger(given: FamilySetting) -> CostRows:
    """Dear near a danger that roams, free far from it."""
    from lsmdp.costs.target import roaming_danger

    return roaming_danger(given.lmdp, given.number, np.random.Generator(given.bits()))


def swap(given: FamilySetting) -> CostRows:
    """The counterexample to thm:main: a policy that swaps each round is always in the free state."""
    if given.lmdp.n != 2:
        raise SpecError(f"swap is a game of 2 states, but the model has {given.lmdp.n}. Try switching:1 instead.")
    turns = np.array([[1.0, 0.0], [0.0, 1.0]])
    return lambda t: turns[t % 2]


@dataclass(frozen=True, eq=False)
class EndlessCosts:
    """The endless sequence that a family makes; ``identity`` and perhaps the map determine its values."""

    family: Callable[[FamilySetting], CostRows]
    given: FamilySetting
    identity: str
    on_map: bool = False
    T: int | None = None
    replayable: bool = True
    rows: CostRows = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", self.family(self.given))

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: made again, since ``rows`` is a function that has no name there."""
        return EndlessCosts, (self.family, self.given, self.identity, self.on_map)

    @property
    def lmdp(self) -> LMDP:
        """The model."""
        return self.given.lmdp

    def blocks(self, start: int) -> Iterator[Floats]:
        """Rounds ``start`` and on."""
        size = block_rows(self.lmdp.n)
        size *= BLOCKS_DRAWN if size > ROUNDS_THAT_SHARE else 1
        while True:
            yield self.rows(np.arange(start, start + size, dtype=np.int64))
            start += size

    def update(self, digest: Hash) -> None:
        """The name, the argument and the seed; moves and positions where they matter."""
        digest.update(self.identity.encode())
        if self.on_map:
            for array in (self.lmdp.P.indptr, self.lmdp.P.indices, self.lmdp.positions):
                digest.update(b"" if array is None else array.tobytes())
