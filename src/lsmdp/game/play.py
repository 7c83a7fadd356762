"""The game of sec:online, played exactly.

Round t = 1, ..., T (row [t-1] of any table holds round t):

1. the learner chooses Q_t before it sees c_t;
2. the state moves, X_{t+1} ~ Q_t(.|X_t);
3. it pays c_t(X_t) + temperature * KL(Q_t(.|X_t) || P(.|X_t));
4. c_t is revealed.

With ``feedback="visited"`` only c_t(X_t) is revealed, to learners that can do with that, each along a path of its own
(learners/along.py, which says what their losses are).

``play`` lets several learners play side by side, in one pass over the costs, and gives a :class:`Run`; ``rounds``
yields one record a round for one learner. Neither keeps the rounds: memory does not grow with T. What a :class:`Game`
holds is what a checkpoint holds.

Costs are taken in blocks of up to a megabyte: many rounds of a small model, one of a large one. Each
player plays a block (players.py), its accounts say what that cost (accounts.py), and records.py says what is written
down. To the records it does not matter where the costs are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from lsmdp.arrays import Floats, as_cost, as_distribution, as_whole
from lsmdp.costs.given import in_blocks, in_rounds
from lsmdp.costs.sequence import Costs, block_rows
from lsmdp.errors import SpecError
from lsmdp.game.players import Player
from lsmdp.game.records import (
    LARGEST_FIGURE,
    Records,
    Round,
    Tally,
    is_mark,
    marks_until,
    next_mark,
    tally_form,
    tally_from,
)
from lsmdp.inputs.forms import COUNT, Form, Past, anything, require, vector
from lsmdp.inputs.labels import is_whole
from lsmdp.learners import LearnerLike, VisitingLearner, completed, seeing
from lsmdp.learners.protocol import arrays_below
from lsmdp.model import LMDP, require_model
from lsmdp.output.notebooks import drawn, run_html
from lsmdp.output.tables import sums_table
from lsmdp.regret import CostRange, Regret, regret

Learners = LearnerLike | VisitingLearner | Iterable[LearnerLike | VisitingLearner]

# Beyond this many states, the mean costs of the marked rounds would take more room than the rest of a game.
_STATES_WITH_MARKS = 100_000


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
    lmdp: LMDP,
    learner: LearnerLike | VisitingLearner,
    costs: Iterable[Floats],
    *,
    start: int | str | Floats | None = None,
    seed: int = 0,
    feedback: str = "full",
) -> Iterator[Round]:
    """One record a round, for one learner."""
    game = Game.begin(lmdp, [learner], start=start, seed=seed, feedback=feedback)
    for c_t in in_rounds(costs, lmdp.names):
        (records,) = game.play(as_cost(c_t, lmdp.n)[np.newaxis])
        yield records.rows()[0]


@dataclass
class Game:
    """Several learners and one sequence of costs, as far as it was played: everything that a run has to remember.

    ``marks`` holds, for the marked rounds (records.py), the round, the mean cost c_bar_{t+1} and each player's tally.
    """

    lmdp: LMDP
    players: list[Player]
    start: Floats
    t: int = 0
    seen: CostRange = field(default=None)  # type: ignore[assignment]
    tallies: list[Tally] = field(default_factory=list)
    marks: list[tuple[int, Floats, list[Tally]]] = field(default_factory=list)

    @classmethod
    def begin(
        cls,
        lmdp: LMDP,
        learners: Learners,
        *,
        start: int | str | Floats | None = None,
        sample: int = 0,
        seed: int = 0,
        feedback: str = "full",
    ) -> Game:
        """A game before round 1. ``sample`` walkers per learner go along with the exact law.

        With the feedback ``visited`` a learner sees only the cost of the state that it is in (learners/along.py).
        """
        require_model(lmdp)
        lmdp.require_irreducible()
        law = start_law(lmdp, start)
        everyone = completed(learners)
        as_whole(sample, "the number of walkers (sample)", least=0)
        names = [learner.name for learner in everyone]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise SpecError(f"the learner {twice.pop()!r} was named twice. Give each a name of its own, or an option.")
        if not everyone:
            raise SpecError("nobody plays: there is no learner in the game. Give at least one.")
        if not is_whole(seed) or seed < 0:
            raise SpecError(f"the seed is {seed!r}. A seed is a whole number of at least 0.")
        everyone = seeing(everyone, feedback, law, seed)
        players = [Player.enter(lmdp, learner, law, sample, seed) for learner in everyone]
        return cls(lmdp, players, law, 0, CostRange.empty(lmdp.n), [Tally() for _ in players])

    def play(self, costs: Floats) -> list[Records]:
        """The next rounds, one for each row of costs: what each player did in them."""
        seen = self.seen.observe(costs)  # which raises if one of them is no cost, before anything has changed
        played = [player.play(self.t + 1, costs) for player in self.players]
        done, rounds = 0, len(costs)
        while done < rounds:
            last = min(rounds, done + next_mark(self.t + 1) - self.t)
            self.seen = seen if last - done == rounds else self.seen.observe(costs[done:last])
            both = zip(self.tallies, played, strict=True)
            self.tallies = [tally.add(records.part(done, last)) for tally, records in both]
            self.t, done = self.t + last - done, last
            if is_mark(self.t) and self.lmdp.n <= _STATES_WITH_MARKS:
                self.marks.append((self.t, self.seen.mean, self.tallies))
        return played

    def to_arrays(self) -> dict[str, Any]:
        """The whole game as named arrays, ready for ``numpy.savez``."""
        arrays: dict[str, Any] = {
            "t": np.asarray(self.t),
            "tallies": np.array(self.tallies, dtype=np.float64),
            "marks.t": np.array([mark[0] for mark in self.marks], dtype=np.int64),
            "marks.c_bar": np.array([mark[1] for mark in self.marks]).reshape(len(self.marks), self.lmdp.n),
            "marks.tallies": np.array([mark[2] for mark in self.marks], dtype=np.float64).reshape(
                len(self.marks), len(self.players), len(Tally._fields)
            ),
        }
        arrays |= {f"seen.{name}": np.asarray(value) for name, value in self.seen._asdict().items()}
        for k, player in enumerate(self.players):
            arrays |= {f"player{k}.{name}": value for name, value in player.to_arrays().items()}
        return arrays

    def restore(
        self,
        arrays: Mapping[str, Any],
        costs: tuple[float, float] = (-LARGEST_FIGURE, LARGEST_FIGURE),
        *,
        states: bool = True,
    ) -> None:
        """Go on from what ``to_arrays`` gave, once it is certain that it can be that, with costs of this range.

        Without ``states``, only the accounts are restored: nobody can play on.
        """
        require(arrays, {"t": COUNT})
        self.t = int(arrays["t"])
        past = Past(self.t, *costs)
        require(arrays, self._forms(past))
        self.seen = CostRange(self.t, *(np.asarray(arrays[f"seen.{name}"]) for name in CostRange._fields[1:]))
        if self.t and not (self.seen.lowest <= self.seen.highest).all():
            raise SpecError("the lowest cost of a state is above its highest")
        self.tallies = [tally_from(row) for row in arrays["tallies"]]
        self.marks = [
            (int(t), c_bar, [tally_from(row) for row in rows])
            for t, c_bar, rows in zip(arrays["marks.t"], arrays["marks.c_bar"], arrays["marks.tallies"], strict=True)
        ]
        for k, player in enumerate(self.players):
            try:
                player.restore(arrays_below(f"player{k}", arrays), past if states else None)
            except SpecError as wrong:
                raise SpecError(f"{player.learner.name}: {wrong}") from None

    def _forms(self, past: Past) -> dict[str, Form]:
        """What the arrays must be after these rounds, those of the players aside."""
        n, t, players = self.lmdp.n, self.t, len(self.players)
        marks = np.array(marks_until(t) if n <= _STATES_WITH_MARKS else [], dtype=np.int64)
        ends, sums = past.costs(n) if t else anything((n,)), past.sums(n)
        largest = max(-sums.low, sums.high)
        return {
            "tallies": tally_form(players),
            "marks.t": Form((marks.shape,), np.int64, marks, marks),
            "marks.c_bar": past.costs(marks.size, n),
            "marks.tallies": replace(tally_form(players), shapes=((marks.size, players, len(Tally._fields)),)),
            "seen.T": past.number,
            "seen.total": sums,
            "seen.lost": vector(n, -largest, largest),
            "seen.lowest": ends,
            "seen.highest": ends,
        }


@dataclass(frozen=True, repr=False)
class Run:
    """A game that was played: who, against what, and what is known at its end."""

    game: Game
    costs: Iterable[Floats]

    @property
    def lmdp(self) -> LMDP:
        """The model."""
        return self.game.lmdp

    @property
    def rounds(self) -> int:
        """T."""
        return self.game.t

    def regret(self, *, bracket: bool = False, dynamic: bool | None = None) -> Regret:
        """Against the leader, the plan in hindsight (``dynamic``) and, if asked for, a bracket of the best policy."""
        return regret(self, bracket=bracket, dynamic=dynamic)

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
        both = zip(self.game.players, self.game.tallies, strict=True)
        return {player.learner.name: tally for player, tally in both}


def play(
    lmdp: LMDP,
    learners: Learners,
    costs: Iterable[Floats],
    *,
    start: int | str | Floats | None = None,
    sample: int = 0,
    seed: int = 0,
    feedback: str = "full",
    watch: Callable[[list[Round]], None] | None = None,
) -> Run:
    """Play the costs to their end with all learners side by side; ``watch`` is shown each round.

    Costs are an array (a row a round) or give one cost per state and round; by name (inputs/labels.py), they are put in
    the order of the states. A model of up to some thousand states takes them, and ``watch`` its rounds, several at a
    time.

    After each round all of its cost is revealed or, with the ``feedback`` "visited", only that of the state that one is
    in on a path with this ``seed``. The losses are then exact for the policies along that path (learners/along.py).
    """
    game = Game.begin(lmdp, learners, start=start, sample=sample, seed=seed, feedback=feedback)
    costs = in_rounds(costs, lmdp.names)
    for block in costs_in_blocks(costs, lmdp.n):
        played = game.play(block)
        if watch is not None:
            for each in zip(*(records.rows() for records in played), strict=True):
                watch(list(each))
    return Run(game, costs)


def costs_in_blocks(costs: Iterable[Floats], n: int, t: int = 1) -> Iterator[Floats]:
    """The costs of round t and on, in blocks of up to a megabyte: arrays of one or more rounds x n."""
    if isinstance(costs, Costs):
        return costs.blocks_from(t)
    return in_blocks(islice(costs, t - 1, None), n, block_rows(n), t)
