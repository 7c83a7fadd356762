"""``certify``: all statements of the paper, and those beyond it, evaluated on one game, with a table of what holds.

What goes in is a run that was played, or a model, costs and learners. The game is written down once (trace.py), and
each statement of the register (statement.py) is evaluated on that record: about the game, or about each learner that it
concerns. What comes out are :class:`Certificates`: both sides of every statement, in every reading, and the bounds that
follow for this run. Of a run that was played, it is also checked that each learner pays again what it has paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs.given import is_replayable
from lsmdp.costs.sequence import first_rounds
from lsmdp.errors import SpecError
from lsmdp.game import Run
from lsmdp.learners import LearnerLike, completed
from lsmdp.model import LMDP
from lsmdp.theory.beyond import posteriori_terms, sharp_terms
from lsmdp.theory.certificate import Certificate, equal, left_out
from lsmdp.theory.curvature import curved_terms
from lsmdp.theory.pools import PoolTrace
from lsmdp.theory.statement import STATEMENTS
from lsmdp.theory.trace import (
    PlayerTrace,
    Trace,
    trace,
)


@dataclass(frozen=True, eq=False)
class Certificates(Mapping[str, list[Certificate]]):
    """What was found about one game: the readings of every statement, by its label, and the bounds of the run."""

    game: Trace
    certificates: list[Certificate]

    @property
    def holds(self) -> bool:
        """Whether every corrected and new statement that was looked at holds."""
        return not self.failures

    @property
    def failures(self) -> list[Certificate]:
        """Bugs or discoveries."""
        return [one for one in self.certificates if one.failed]

    @property
    def headline(self) -> str:
        """How many corrected and new statements hold and say something, hold and say nothing, and fail."""
        ours = [one for one in self.certificates if one.reading != "printed" and one.kind != "assumption"]
        known = [one for one in ours if one.holds is not None]
        empty = [one for one in known if one.vacuous]
        told = len(known) - len(empty) - len(self.failures)
        return (
            f"{told} of {len(known)} corrected and new statements hold and say something; {len(empty)} hold and say "
            f"nothing here; {len(self.failures)} fail"
        )

    @property
    def refuted(self) -> int:
        """How many statements fail as printed."""
        return sum(one.reading == "printed" and one.holds is False for one in self.certificates)

    def verdict(self, one: Certificate) -> str:
        """In a word or two. A printed statement that is false in general may hold here, where only tau is bounded.

        An assumption does not fail: the model does not meet it.
        """
        if one.holds is None:
            return "left out"
        if not one.holds:
            return "not met" if one.kind == "assumption" and one.reading != "printed" else "FAILS"
        if one.vacuous:
            return "says nothing"
        known = STATEMENTS.get(one.label)
        false = one.reading == "printed" and known is not None and known.verdict not in ("true", "an assumption")
        return "not refuted" if false else "holds"

    def __getitem__(self, label: str) -> list[Certificate]:
        found = [one for one in self.certificates if one.label == label]
        if not found:
            raise KeyError(f"no statement was looked at whose label is {label}. There are: {', '.join(self)}.")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(one.label for one in self.certificates))

    def __len__(self) -> int:
        return len({one.label for one in self.certificates})

    def bounds(self) -> list[dict[str, Any]]:
        """For each learner: R' = loss - T lambda_{T+1}, the bounds from the run's own numbers, and their ratios.

        ``spans`` is new:posteriori, ``curvature`` new:L2/5, ``means`` new:posteriori/3.
        """
        return [_bound(self.game, player) for player in _players(self.game)]

    def theorems(self) -> dict[str, float | None]:
        """Of follow the leader: the bounds on R' from P and the range of the costs alone; None where L is unknown."""
        found: dict[str, float | None] = {}
        for label in ("new:log", "new:ksteps", "new:L2"):
            one = self[label][0]
            found[label] = None if one.holds is None else float(one.right[0])
        return found

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "rounds": self.game.T,
            "states": self.game.lmdp.n,
            "temperature": self.game.temperature,
            "holds": self.holds,
            "headline": self.headline,
            **self.game.constants.to_dict(),
            "a_priori": self.theorems(),
            "a_posteriori": self.bounds(),
            "certificates": [one.to_dict() for one in self.certificates],
        }

    def __str__(self) -> str:
        lines = [str(one) + (f" [{one.about}]" if one.about else "") for one in self.certificates]
        return "\n".join([f"{self.game.T:,} rounds; {self.game.constants}", *lines])


def certify(
    game: Run | LMDP,
    costs: Iterable[Floats] | None = None,
    learners: LearnerLike | Iterable[LearnerLike] = (),
    *,
    start: int | str | Floats | None = None,
    search: bool = True,
    exact: bool = True,
    watch: Callable[[int], None] | None = None,
    rounds: int | None = None,
    recorded: Mapping[str, float] | None = None,
) -> Certificates:
    """Check every statement on a run that was played, or on a model and costs.

    The statements of the paper are about follow the leader with exact leaders, which is played along whoever else
    plays. ``search`` looks for a better fixed policy than the last leader, on games that are small enough. ``exact``
    False leaves out what takes more than a few passes over P a round.

    Of a run, ``rounds`` looks at the first so many rounds only. They are a game of their own, and each statement is
    about a game of any length. ``recorded`` is what each learner has paid in them on record; without it the replay of
    a part of a run is compared with nothing.
    """
    if isinstance(game, Run):
        options: dict[str, Any] = {"search": search, "exact": exact, "watch": watch}
        if rounds is None or rounds >= game.rounds:
            recorded = {name: tally.loss for name, tally in game.learners.items()}
        return _certify_run(game, min(rounds or game.rounds, game.rounds), recorded or {}, **options)
    if costs is None:
        raise SpecError("certify needs costs beside a model: an array of rounds x states, or a cost sequence.")
    options = {"search": search, "exact": exact, "watch": watch}
    return _look(trace(game, costs, completed(learners), start=start, **options), [])


def _certify_run(run: Run, rounds: int, recorded: Mapping[str, float], **options: Any) -> Certificates:
    if not is_replayable(run.costs):
        raise SpecError(
            "the costs of this run came from standard input and cannot be read again. Play them from a file."
        )
    blind = [player.learner for player in run.game.players if not player.learner.clairvoyant]
    game = trace(run.lmdp, first_rounds(run.costs, rounds), blind, start=run.game.start, **options)
    everyone: list[PlayerTrace | PoolTrace] = [*game.players, *game.pools]
    known = [player for player in everyone if player.name in recorded]
    return _look(game, [_replayed(game, player, recorded[player.name]) for player in known])


def _look(game: Trace, replays: list[Certificate]) -> Certificates:
    found = list(replays)
    for one in STATEMENTS.values():
        if one.per_learner:
            everyone: list[PlayerTrace | PoolTrace] = [*_players(game), *game.pools]
            found += [made for player in everyone if one.concerns(player) for made in one.certify(game, player)]
        elif not one.standalone:
            found += one.certify(game)
    if game.lost:
        found = [_without_law(one, game.lost) for one in found]
    assumptions = [one for one in found if one.kind == "assumption"]
    return Certificates(game, assumptions + [one for one in found if one.kind != "assumption"])


def _without_law(one: Certificate, reason: str) -> Certificate:
    """The same, left out where a side of it depends on a law that is beyond float64."""
    if not (np.isnan(one.left).any() or np.isnan(one.right).any()):
        return one
    return left_out(one.label, one.reading, reason, kind=one.kind, about=one.about)


def _players(game: Trace) -> list[PlayerTrace]:
    return [game.ftl, *game.players]


def _replayed(game: Trace, player: PlayerTrace | PoolTrace, loss: float) -> Certificate:
    """The loss on record is the loss of the replay, in units of the temperature."""
    size = 1.0 + abs(player.loss) + float(np.max(player.rows.span_v))
    recorded, tolerance = loss / game.temperature, game.noise * size * game.T
    return equal("run:replay", "new", recorded, player.loss, tolerance=tolerance, about=player.name)


def _bound(game: Trace, player: PlayerTrace) -> dict[str, Any]:
    """R' and its bound; a ratio where R' is positive. None stands for what is beyond float64."""
    excess = player.loss - game.T * float(game.leader.average_cost[-1])
    found: dict[str, Any] = {"learner": player.name, "excess": excess}
    ways = {
        "spans": posteriori_terms(game, player),
        "curvature": curved_terms(game, player),
        "means": sharp_terms(game, player),
    }
    for way, sums in ways.items():
        terms = {name: float(sum_[-1]) for name, sum_ in sums.items()}
        bound = sum(terms.values())
        ratio = bound / excess if excess > 0.0 else float("nan")
        known = {name: _known(term) for name, term in terms.items()}
        found[way] = {"bound": _known(bound), "ratio": _known(ratio), "terms": known}
    return found


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
