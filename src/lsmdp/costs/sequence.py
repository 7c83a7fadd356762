"""A cost sequence: what the adversary has written down before the game begins.

The costs c_1, c_2, ... are *oblivious* (sec:online): they do not depend on what the learner does. A :class:`Costs` is
therefore a value: it can be gone through again, from any round on, and always gives the same bits. Its values lie in
[0, 1], as the guarantees demand. A user's units are mapped there by c = (x - low) / (high - low), where ``low`` is
the value that costs 0 and ``high`` the one that costs 1; ``low > high`` is fine (speeds: 70 is good, 0 is bad).

Values come in blocks, some thousands of numbers at a time, from a :class:`Source`. Nothing is kept: memory does not
grow with the number of rounds, and a round that cannot be used is an error when it is reached, not before.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats, as_whole, read_only, real
from lsmdp.costs.given import FirstRounds, Seekable, SeekableFirstRounds
from lsmdp.costs.moves import Moves
from lsmdp.costs.names import STANDARD_INPUT
from lsmdp.errors import CostError, LsmdpError, SpecError, told
from lsmdp.inputs.labels import is_whole, name_state
from lsmdp.model import LMDP

NUMBERS_AT_A_TIME = 2**15  # So many numbers are drawn or read at a time: 256 kB stay in a processor's cache.
# A block has at least this many rounds, where they are no more than _MOST_NUMBERS, so that they share what is done once
# a block, such as making room for its results: a pool on 10,000 states saves a quarter of its time by that.
ROUNDS_THAT_SHARE = 8
_MOST_NUMBERS = 2**17  # A megabyte of costs at a time is little, even where each round has many results.


def block_rows(n: int) -> int:
    """How many rounds make a block."""
    return max(1, NUMBERS_AT_A_TIME // n, min(ROUNDS_THAT_SHARE, _MOST_NUMBERS // n))


def gathered(rows: Iterable[Floats], size: int) -> Iterator[Floats]:
    """Rows in blocks of ``size``; where the rows end in an error, those before it still come first."""
    block: list[Floats] = []
    try:
        for row in rows:
            block.append(row)
            if len(block) == size:
                yield np.stack(block)
                block = []
    except (CostError, OSError):
        if block:
            yield np.stack(block)
        raise
    if block:
        yield np.stack(block)


class Hash(Protocol):
    """What hashlib makes."""

    def update(self, data: bytes, /) -> None:
        """Take in more bytes."""

    def hexdigest(self) -> str:
        """The hash of all bytes so far."""


class Source(Protocol):
    """Where costs come from, in the units of the user."""

    @property
    def T(self) -> int | None:
        """The number of rounds, where it is known and finite."""

    @property
    def replayable(self) -> bool:
        """Whether it can be gone through more than once."""

    def blocks(self, start: int) -> Iterator[Floats]:
        """The rounds from ``start`` on, as arrays of one or more rounds x n."""

    def update(self, digest: Hash) -> None:
        """Feed all that determines the values."""


@dataclass(frozen=True, eq=False, repr=False)
class Costs:
    """A sequence of costs in [0, 1] for n states: ``for c_t in costs``, or from round t on ``costs.from_round(t)``.

    ``T`` is the number of rounds, None where only the end of the input tells it; ``name`` is what the command line
    calls the sequence; ``low`` and ``high`` are the user's units for cost 0 and cost 1. ``moves`` are fixed costs of
    moves to be added, and the unit that all of it is in (moves.py).
    """

    source: Source
    n: int
    T: int | None = None
    name: str = "costs"
    seed: int = 0
    low: float = 0.0
    high: float = 1.0
    labels: Sequence[str] | None = None
    moves: Moves | None = None

    def __post_init__(self) -> None:
        if self.T is not None and as_whole(self.T, "the number of rounds") < 1:
            raise SpecError(f"the number of rounds is {self.T}. A game has at least 1 round (--rounds).")
        as_scale((self.low, self.high))

    def __iter__(self) -> Iterator[Floats]:
        return self.from_round(1)

    def from_round(self, t: int) -> Iterator[Floats]:
        """c_t, c_{t+1}, ...: read-only arrays of n numbers in [0, 1]. Rounds count from 1."""
        return (c_t for block in self.blocks_from(t) for c_t in block)

    def blocks_from(self, t: int) -> Iterator[Floats]:
        """The same, several consecutive rounds at a time."""
        if not is_whole(t) or t < 1:
            raise CostError(f"there is no round {told(t)}. Rounds count from 1.")
        with blaming(self.name):
            blocks = self.source.blocks(t)
        return self._blocks(t, blocks)

    @property
    def replayable(self) -> bool:
        """Whether the sequence can be gone through more than once; not so for standard input."""
        return self.source.replayable

    def digest(self) -> str:
        """A sha256 of all that determines the values; the number of rounds is no part of it."""
        digest = hashlib.sha256(repr((self.n, self.low, self.high)).encode())
        self.source.update(digest)
        if self.moves is not None:
            digest.update(self.moves.extra.tobytes() + repr(self.moves[1:]).encode())
        return digest.hexdigest()

    def _blocks(self, t: int, blocks: Iterator[Floats]) -> Iterator[Floats]:
        with blaming(self.name):
            while self.T is None or t <= self.T:
                block = self._next(t, blocks)
                if block is None:
                    self._require_end(t)
                    return
                block = block if self.T is None else block[: self.T - t + 1]
                yield from self._checked(t, block)
                t += len(block)

    def _next(self, t: int, blocks: Iterator[Floats]) -> Floats | None:
        try:
            return next(blocks, None)
        except OSError as refused:
            raise CostError(f"round {t} cannot be read: {refused.strerror or refused}. Check the input.") from None

    def _require_end(self, t: int) -> None:
        if self.T is not None:
            raise CostError(
                f"there is no round {t}: the costs end before it, but {self.T} rounds were asked for. Add the "
                "missing rounds to the costs; or ask for fewer (--rounds), in another folder if some were played "
                "(--out)."
            )

    def _checked(self, t: int, block: Floats) -> Iterator[Floats]:
        """The rounds t, t + 1, ... of a block as costs, up to the first that has an unusable value."""
        usable = _usable(block, self.low, self.high)
        count = len(block) if usable.all() else int(np.argmin(usable.all(axis=1)))
        if count:
            scaled = _scaled(block[:count], self.low, self.high)
            yield scaled if self.moves is None else read_only(self.moves.added(scaled))
        if count < len(block):
            try:
                in_costs(block[count], self.low, self.high, self.labels)
            except CostError as problem:
                raise CostError(f"round {t + count}, {problem}") from None

    def __repr__(self) -> str:
        rounds = "" if self.T is None else f", {self.T:,} rounds"
        return f"Costs({self.name}: {self.n:,} states{rounds})"


def first_rounds(costs: Any, T: int) -> Any:
    """The first T rounds of any costs, which can do what those can."""
    if isinstance(costs, Costs):
        return replace(costs, T=T)
    return SeekableFirstRounds(costs, T) if isinstance(costs, Seekable) else FirstRounds(costs, T)


def in_costs(x: Floats, low: float, high: float, labels: Sequence[str] | None = None) -> Floats:
    """Values in the user's units, a number per state (or rows of them), as costs in [0, 1]."""
    usable = _usable(x, low, high)
    if usable.all():
        return _scaled(x, low, high)
    state = int(np.argmin(usable)) % x.shape[-1]
    worst = x.flat[np.argmin(usable)]
    fact = f"{name_state(state, labels)}: the cost is {worst:.10g}"
    if not np.isfinite(worst):
        raise CostError(f"{fact}. Every cost must be a finite number; correct it or fill it in.")
    if (low, high) == (0.0, 1.0):
        raise CostError(
            f"{fact}, outside [0, 1]. Map your units with --scale LOW HIGH (scale=(LOW, HIGH)): LOW becomes cost 0 "
            "and HIGH becomes cost 1."
        )
    raise CostError(f"{fact}, outside the scale from {low:g} to {high:g}. Correct it, or widen --scale LOW HIGH.")


def _usable(x: Floats, low: float, high: float) -> npt.NDArray[np.bool_]:
    return (x >= min(low, high)) & (x <= max(low, high))


def _scaled(x: Floats, low: float, high: float) -> Floats:
    units = x if (low, high) == (0.0, 1.0) else (x - low) / (high - low)
    return np.asarray(read_only(units + 0.0))  # turns -0 into 0


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Errors inside name the cost sequence first."""
    who = "standard input" if name == STANDARD_INPUT else name
    try:
        yield
    except LsmdpError as error:
        raise type(error)(f"{who}: {error}") from None
    except OSError as refused:
        raise SpecError(f"{who}: it cannot be read: {refused.strerror or refused}. Check the file.") from None


def update_with_file(digest: Hash, path: Path, lmdp: LMDP, missing: float | None = None) -> None:
    """Feed the bytes of a file and all of the model that decides which of its columns are read."""
    if missing is not None:
        digest.update(repr(("missing", missing)).encode())
    origin = None if lmdp.origin is None else (lmdp.origin.tolist(), lmdp.origin_n)
    digest.update(repr((path.suffix.lower(), lmdp.labels, origin)).encode())
    with path.open("rb") as stream:
        while piece := stream.read(2**20):
            digest.update(piece)


def as_scale(scale: tuple[float, float] | None) -> tuple[float, float]:
    """The values that cost 0 and 1."""
    try:
        low, high = (0.0, 1.0) if scale is None else map(real, scale)
    except (TypeError, ValueError):  # they are no two
        low = high = math.nan
    if math.isnan(low + high):
        raise SpecError(
            f"the scale is {told(scale)}. Give two different finite numbers, such as scale=(0, 10) (--scale 0 10)."
        )
    if not 0.0 < abs(high - low) < float("inf"):
        raise SpecError(
            f"the scale is {low:g} to {high:g}. LOW is the value that costs 0 and HIGH the one that "
            "costs 1: two different finite numbers."
        )
    return low, high
