"""The game of sec:online, played exactly.

Round t = 1, ..., T (row [t-1] of any table holds round t):

1. the learner chooses Q_t before it sees c_t;
2. the state moves, X_{t+1} ~ Q_t(.|X_t);
3. it pays c_t(X_t) + temperature * KL(Q_t(.|X_t) || P(.|X_t));
4. c_t is revealed.

The costs are oblivious, so the law p_t of X_t is known exactly: p_{t+1} = p_t Q_t, and with it the expected loss
p_t.(c_t + KL). No Monte Carlo, and no Q is formed: one pass over P gives the control cost and p_{t+1}. The idealised
loss of a round is that of the stationary law mu_t of Q_t, mu_t.(c_t + KL).

``rounds`` yields one record a round for one learner; ``play`` seats several learners at one pass over the costs.
Neither keeps the rounds: memory does not grow with T. What a seat holds (:class:`Seat`) is what a checkpoint holds.

Models of up to some thousand states are played in stretches of several rounds (player.py); to the records it does not
matter where they are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lsmdp.answers import sums_table
from lsmdp.arrays import Floats, as_cost, as_distribution
from lsmdp.costs.sequence import Costs, block_rows
from lsmdp.errors import SpecError
from lsmdp.forms import (
    BEYOND_COUNTS,
    COUNT,
    Form,
    Past,
    anything,
    require,
    vector,
)
from lsmdp.game.player import (
    WIDE,
    Block,
    Round,
    Seat,
    can_idealise,
)
from lsmdp.labels import in_rounds
from lsmdp.learners import LearnerLike, players
from lsmdp.model import LMDP
from lsmdp.notebooks import drawn, run_html
from lsmdp.regret import CostRange, Regret, regret

MARKED_STATES = 100_000  # beyond this, the mean costs along the way are not kept


def start_law(lmdp: LMDP, start: int | str | Floats | None) -> Floats:
    """The law of X_1: a state (number or label), a law, or state 0."""
    if start is None or isinstance(start, str | int | np.integer):
        law = np.zeros(lmdp.n)
        law[first_state(lmdp, 0 if start is None else start)] = 1.0
        return law
    return as_distribution(start, lmdp.names)


def first_state(lmdp: LMDP, start: int | str) -> int:
    """The number of a state; 0, the default of a game, is the first one unless it is a label."""
    return 0 if str(start) == "0" and "0" not in (lmdp.labels or ()) else lmdp.state(start)


def rounds(
    lmdp: LMDP, learner: LearnerLike, costs: Iterable[Floats], *, start: int | str | Floats | None = None, seed: int = 0
) -> Iterator[Round]:
    """One record a round, for one learner."""
    table = Table.lay(lmdp, [learner], start=start, seed=seed)
    for c_t in in_rounds(costs, lmdp.names):
        yield table.play(c_t)[0]


class Tally(NamedTuple):
    """Sums over the rounds so far, for one learner. ``max_gap`` is the widest certificate; nan: none was claimed."""

    loss: float = 0.0
    state_cost: float = 0.0
    control_cost: float = 0.0
    ideal_loss: float = 0.0
    ideal_regret: float = 0.0
    sampled_loss: float = 0.0
    max_gap: float = float("nan")
    solves: int = 0
    steps: int = 0
    seconds: float = 0.0

    def add(self, row: Round) -> Tally:
        """The sums with one more round."""
        return Tally(
            self.loss + row.loss,
            self.state_cost + row.state_cost,
            self.control_cost + row.control_cost,
            self.ideal_loss + row.ideal_loss,
            self.ideal_regret + row.ideal_step,
            self.sampled_loss + row.sampled_loss,
            float(np.fmax(self.max_gap, row.gap)),
            self.solves + (row.steps > 0),
            self.steps + row.steps,
            self.seconds + row.seconds,
        )

    def add_all(self, block: Block) -> Tally:
        """The sums with some more rounds: the same bits as one by one."""
        columns = (
            block.loss,
            block.state_cost,
            block.control_cost,
            block.ideal_loss,
            block.ideal_step,
            block.sampled_loss,
            block.gap,
            block.steps > 0,
            block.steps,
            block.seconds,
        )
        start = np.array(self)[:, np.newaxis]
        sums = np.add.accumulate(np.hstack([start, np.array(columns)]), axis=1)[:, -1]
        sums[Tally._fields.index("max_gap")] = np.fmax(self.max_gap, np.fmax.reduce(block.gap))
        return _tally(sums)


def tally_form(seats: int) -> Form:
    """What the tallies of so many seats must be: finite, but for what may not have been computed, and counts whole."""
    fields = Tally._fields
    counts = np.isin(fields, ("solves", "steps"))
    blank = np.isin(fields, ("ideal_loss", "ideal_regret", "sampled_loss", "max_gap"))
    low, high = np.where(counts, 0.0, -WIDE), np.where(counts, BEYOND_COUNTS, WIDE)
    return Form(((seats, len(fields)),), low=low, high=high, blank=blank)


def marks_until(t: int) -> list[int]:
    """The rounds of :func:`is_mark` up to round t."""
    found = [1]
    while (following := next_mark(found[-1] + 1)) <= t:
        found.append(following)
    return found if t else []


def next_mark(t: int) -> int:
    """The first of the rounds 1, 2, 5, 10, 20, 50, ... that is not before t: where a run is looked at along the way."""
    power: int = 10 ** (len(str(t)) - 1)
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= t)


def is_mark(t: int) -> bool:
    """Whether round t is one of those."""
    return next_mark(t) == t


@dataclass
class Table:
    """Several learners at one sequence of costs, and the books: everything that a run has to remember.

    ``marks`` holds, for the rounds of :func:`is_mark`, the round, the mean cost c_bar_{t+1} and each seat's tally.
    """

    lmdp: LMDP
    seats: list[Seat]
    start: Floats
    t: int = 0
    seen: CostRange = field(default=None)  # type: ignore[assignment]
    tallies: list[Tally] = field(default_factory=list)
    marks: list[tuple[int, Floats, list[Tally]]] = field(default_factory=list)

    @classmethod
    def lay(
        cls,
        lmdp: LMDP,
        learners: LearnerLike | Iterable[LearnerLike],
        *,
        start: int | str | Floats | None = None,
        sample: int = 0,
        seed: int = 0,
    ) -> Table:
        """The table before round 1. ``sample`` walkers per learner follow the game besides the exact law."""
        lmdp.require_irreducible()
        law, ideal = start_law(lmdp, start), can_idealise(lmdp)
        seated = players(learners)
        names = [player.name for player in seated]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise SpecError(f"the learner {twice.pop()!r} was named twice. Give each a name of its own, or an option.")
        if not seated:
            raise SpecError("nobody plays: there is no learner at the table. Give at least one.")
        seats = [Seat.take(lmdp, player, law, sample, seed, ideal) for player in seated]
        return cls(lmdp, seats, law, 0, CostRange.empty(lmdp.n), [Tally() for _ in seats])

    def play(self, c_t: Floats) -> list[Round]:
        """The next round, for all learners."""
        self.seen = self.seen.observe(c_t)  # which also checks it, before anything else has changed
        self.t += 1
        rows = [seat.play(self.t, c_t) for seat in self.seats]
        self.tallies = [tally.add(row) for tally, row in zip(self.tallies, rows, strict=True)]
        self._mark()
        return rows

    def play_all(self, costs: Floats) -> list[list[Block]]:
        """The next rounds, one for each row of costs: blocks of rounds, for all learners."""
        seen = self.seen.observe_all(costs)  # which checks all of them, before anything has changed
        played, done = [], 0
        while done < len(costs):
            part = costs[done : done + next_mark(self.t + 1) - self.t]
            self.seen = seen if len(part) == len(costs) else self.seen.observe_all(part)
            blocks = [seat.play_all(self.t + 1, part) for seat in self.seats]
            self.t, done = self.t + len(part), done + len(part)
            self.tallies = [tally.add_all(block) for tally, block in zip(self.tallies, blocks, strict=True)]
            self._mark()
            played.append(blocks)
        return played

    def _mark(self) -> None:
        if is_mark(self.t) and self.lmdp.n <= MARKED_STATES:
            self.marks.append((self.t, self.seen.mean, self.tallies))

    def to_arrays(self) -> dict[str, Any]:
        """The whole table as named arrays, ready for ``numpy.savez``."""
        arrays: dict[str, Any] = {
            "t": np.asarray(self.t),
            "tallies": np.array(self.tallies, dtype=np.float64),
            "marks.t": np.array([mark[0] for mark in self.marks], dtype=np.int64),
            "marks.c_bar": np.array([mark[1] for mark in self.marks]).reshape(len(self.marks), self.lmdp.n),
            "marks.tallies": np.array([mark[2] for mark in self.marks], dtype=np.float64).reshape(
                len(self.marks), len(self.seats), len(Tally._fields)
            ),
        }
        arrays |= {f"seen.{name}": np.asarray(value) for name, value in self.seen._asdict().items()}
        for k, seat in enumerate(self.seats):
            arrays |= {f"seat{k}.{name}": value for name, value in seat.to_arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Any], costs: tuple[float, float] = (-WIDE, WIDE)) -> None:
        """Go on from what ``to_arrays`` gave, once it is certain that it can be that, with costs of this range."""
        require(arrays, {"t": COUNT})
        self.t = int(arrays["t"])
        past = Past(self.t, *costs)
        require(arrays, self._forms(past))
        self.seen = CostRange(self.t, *(np.asarray(arrays[f"seen.{name}"]) for name in CostRange._fields[1:]))
        if self.t and not (self.seen.lowest <= self.seen.highest).all():
            raise SpecError("the lowest cost of a state is above its highest")
        self.tallies = [_tally(row) for row in arrays["tallies"]]
        self.marks = [
            (int(t), c_bar, [_tally(row) for row in rows])
            for t, c_bar, rows in zip(arrays["marks.t"], arrays["marks.c_bar"], arrays["marks.tallies"], strict=True)
        ]
        for k, seat in enumerate(self.seats):
            prefix = f"seat{k}."
            own = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
            try:
                seat.restore(own, past)
            except SpecError as wrong:
                raise SpecError(f"{seat.learner.name}: {wrong}") from None

    def _forms(self, past: Past) -> dict[str, Form]:
        """What the arrays of the books must be after these rounds."""
        n, t, seats = self.lmdp.n, self.t, len(self.seats)
        marks = np.array(marks_until(t) if n <= MARKED_STATES else [], dtype=np.int64)
        ends, sums = past.costs(n) if t else anything((n,)), past.sums(n)
        largest = max(-sums.low, sums.high)
        return {
            "tallies": tally_form(seats),
            "marks.t": Form((marks.shape,), np.int64, marks, marks),
            "marks.c_bar": past.costs(marks.size, n),
            "marks.tallies": replace(tally_form(seats), shapes=((marks.size, seats, len(Tally._fields)),)),
            "seen.T": past.number,
            "seen.total": sums,
            "seen.lost": vector(n, -largest, largest),
            "seen.lowest": ends,
            "seen.highest": ends,
        }


def _tally(row: Floats) -> Tally:
    values: dict[str, Any] = dict(zip(Tally._fields, (float(value) for value in row), strict=True))
    return Tally(**values)._replace(solves=int(values["solves"]), steps=int(values["steps"]))


@dataclass(frozen=True, repr=False)
class Run:
    """A game that was played: who, against what, and the books at its end."""

    table: Table
    costs: Iterable[Floats]

    @property
    def lmdp(self) -> LMDP:
        """The model."""
        return self.table.lmdp

    @property
    def rounds(self) -> int:
        """T."""
        return self.table.t

    def regret(self, *, bracket: bool = False) -> Regret:
        """Against the leader and, if asked for, a bracket of the best stationary policy (summary.py)."""
        return regret(self, bracket=bracket)

    def to_frame(self) -> Any:
        """What each learner had paid after the rounds 1, 2, 5, 10, ... and the last, as an Arrow table."""
        return sums_table(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw what each learner paid a round, on average up to each round that the game keeps, and return the axes."""
        return drawn("sums", self, ax)

    def _repr_html_(self) -> str:
        return run_html(self)

    def __repr__(self) -> str:
        paid = ", ".join(f"{name} {tally.loss:.6g}" for name, tally in self.learners.items())
        return f"Run({self.rounds:,} rounds on {self.lmdp.n:,} states; {paid})"

    @property
    def learners(self) -> dict[str, Tally]:
        """The sums of each learner, by name."""
        return {seat.learner.name: tally for seat, tally in zip(self.table.seats, self.table.tallies, strict=True)}


def play(
    lmdp: LMDP,
    learners: LearnerLike | Iterable[LearnerLike],
    costs: Iterable[Floats],
    *,
    start: int | str | Floats | None = None,
    sample: int = 0,
    seed: int = 0,
    watch: Callable[[list[Round]], None] | None = None,
) -> Run:
    """Play the costs to their end with all learners side by side; ``watch`` is shown each round.

    Costs are an array (a row a round) or give one cost per state and round; by name (labels.py), they are put in the
    order of the states. A model of up to some thousand states takes them, and ``watch`` its rounds, several at a time.
    """
    table = Table.lay(lmdp, learners, start=start, sample=sample, seed=seed)
    costs = in_rounds(costs, lmdp.names)
    if block_rows(lmdp.n) == 1:
        for c_t in costs:
            rows = table.play(c_t)
            if watch is not None:
                watch(rows)
    else:
        for stretch in stretches(costs, lmdp.n):
            for blocks in table.play_all(stretch):
                if watch is not None:
                    for each in zip(*(block.rows() for block in blocks), strict=True):
                        watch(list(each))
    return Run(table, costs)


def stretches(costs: Iterable[Floats], n: int, t: int = 1) -> Iterator[Floats]:
    """The costs of round t and on, some ten thousand numbers at a time: arrays of one or more rounds x n."""
    if isinstance(costs, Costs):
        yield from costs.blocks_from(t)
        return
    rows = islice(costs, t - 1, None)
    while pulled := list(islice(rows, block_rows(n))):
        if all(isinstance(c_t, np.ndarray) and c_t.dtype == np.float64 and c_t.shape == (n,) for c_t in pulled):
            yield np.array(pulled)
        else:
            yield np.array([as_cost(c_t, n) for c_t in pulled])
