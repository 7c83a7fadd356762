"""The passive dynamics that a log shows, and how well it tells moves that it has not seen.

With C(x, y) moves from x to y in the log and S(x) = {y: C(x, y) > 0}, the estimate is

    P(y|x) = (C(x, y) + a) / sum over y' in S(x) of (C(x, y') + a)        for y in S(x), else 0.

A move that was never seen stays impossible: the support of P is what a controller may do. The default a = 1/2 is the
mean under Jeffreys' prior on S(x). Against a = 0 it gains up to 0.04 nats a move inside S(x) where the chances of a
state are alike, and loses up to 0.02 where one dwarfs the others (simulated: 7 successors, 3 to 100 moves a state).

A state that was never left (a *dead end*, such as the last stop of a track) or never visited (*unseen*) has no row. It
is dropped by ``largest_class``, or jumps anywhere with ``teleport``; without one of them the fit is refused.

*Held out*: a share of the sequences, drawn by the seed, is set aside, P is estimated from the others (before any
repair), and the mean of log P(y|x) over the moves set aside is reported. Moves outside the support of that estimate
would make it minus infinity; they are counted apart. A log of a single sequence sets aside its last moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np
from scipy import sparse

from lsmdp.arrays import CSR, Floats, Ints
from lsmdp.chain import largest_class
from lsmdp.errors import ModelError, SpecError
from lsmdp.inputs.labels import name_state
from lsmdp.model import LMDP
from lsmdp.model.lmdp import as_labels
from lsmdp.sources.headers import Columns
from lsmdp.sources.logs.log import Log, read_log
from lsmdp.sources.logs.trips import read_trips
from lsmdp.sources.makers import Repairs, from_counts

# Each move that was seen counts as seen this much oftener, as in the estimate of Krichevsky and Trofimov.
SMOOTHING = 0.5
_USUAL_HOLDOUT = 0.1  # This share of a log is kept back to judge the estimate by.
_NAMES_IN_A_SENTENCE = 3  # So many names of states are given in a sentence.


@dataclass(frozen=True)
class HeldOut:
    """How well the estimate from the rest of the log tells the moves that were set aside."""

    how: str
    moves: int
    outside: int  # moves that the rest of the log never made
    log_likelihood: float | None  # nats a move, over the others; None where there are none


@dataclass(frozen=True, eq=False)
class Fit:
    """A model estimated from a log, and what the log holds."""

    lmdp: LMDP
    counts: CSR
    sequences: int
    moves: int
    states: int
    dead_ends: tuple[str, ...]
    unseen: tuple[str, ...]
    support: int
    seen_once: int
    smoothing: float
    entropy: float  # nats a move: of P(.|x), x as often as the log leaves it
    log_likelihood: float  # nats a move, of the log itself
    held_out: HeldOut | None
    dropped: tuple[tuple[str, int], ...] = ()  # what of the input was left out: why, and how many rows

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: the summary, and the size of the model after repairs."""
        left_out = ("lmdp", "counts", "held_out")
        summary = {name: value for name, value in vars(self).items() if name not in left_out}
        return summary | {
            "dead_ends": list(self.dead_ends),
            "unseen": list(self.unseen),
            "dropped": dict(self.dropped),
            "held_out": None if self.held_out is None else asdict(self.held_out),
            "model": {"states": self.lmdp.n, "entries": self.lmdp.nnz, "irreducible": self.lmdp.is_irreducible},
        }

    def lines(self) -> list[str]:
        """One screen of plain text."""
        once = self.seen_once / self.moves
        rows = [
            ("log", f"{self.moves:,} moves in {self.sequences:,} sequences, {self.states:,} states"),
            *(("dropped", f"{count:,} {why}") for why, count in self.dropped),
            ("support", f"{self.support:,} different moves, {self.seen_once:,} of them seen once"),
            ("", f"(so about {once:.2g} of the moves to come will be new: Good and Turing)"),
            ("smoothing", f"{self.smoothing:g} added to the count of each move that was seen"),
            ("entropy", f"{self.entropy:.4g} nats a move: as a choice among {np.exp(self.entropy):.3g}"),
            ("likelihood", f"{self.log_likelihood:.4g} nats a move on the log itself"),
            *self._held_out(),
            ("dead ends", _listed(self.dead_ends) or "none: every state that is entered is left"),
            ("unseen", _listed(self.unseen) or "none"),
            ("model", f"{self.lmdp.n:,} states, {self.lmdp.nnz:,} moves, " + _connected(self.lmdp)),
            *self._left_out(),
        ]
        return [f"{left:<11} {right}" for left, right in rows]

    def _left_out(self) -> list[tuple[str, str]]:
        """Which states the model lacks, and how many moves of the log went with them."""
        if self.lmdp.origin is None or self.lmdp.labels is None:
            return []
        kept = self.lmdp.origin
        lost = self.moves - int(self.counts[kept][:, kept].sum())
        gone = np.setdiff1d(np.arange(self.counts.shape[0]), kept)
        return [("left out", f"{gone.size:,} states outside of the largest class, and {lost:,} moves from or to them")]

    def _held_out(self) -> list[tuple[str, str]]:
        held = self.held_out
        if held is None:
            return [("held out", "nothing")]
        score = "none inside" if held.log_likelihood is None else f"{held.log_likelihood:.4g} nats a move"
        outside = f"{held.outside:,} of {held.moves:,} moves outside the support of the rest"
        return [("held out", f"{score} on {held.how}"), ("", outside)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def from_trajectories(
    log: Any, labels: Sequence[str] | None = None, smoothing: float = SMOOTHING, **repairs: Unpack[Repairs]
) -> LMDP:
    """The model that :func:`fit` estimates from a log of movements, without the summary."""
    return fit(log, labels, smoothing=smoothing, holdout=0.0, **repairs).lmdp


def fit(
    log: Any,
    labels: Sequence[str] | None = None,
    *,
    smoothing: float = SMOOTHING,
    holdout: float = _USUAL_HOLDOUT,
    seed: int = 0,
    gap: float | None = None,
    trips: bool = False,
    columns: Columns = None,
    time_format: str | None = None,
    ties: str = "order",
    **repairs: Unpack[Repairs],
) -> Fit:
    """Estimate a model from a log of movements, and say what the log holds; see the module for the formulas.

    ``log`` is a file (.csv, .tsv, .txt, .parquet, .jsonl), the columns entity, time and state in a table of any
    library, or sequences of states. With ``trips``, a row is a trip with a start and an end, and each trip is a move
    (trips.py). ``columns`` names the columns (``"entity=Bike #,time=Date"``, or a dict), ``time_format`` says how times
    are written, as for ``strptime``, and ``ties`` is the rule for records of one entity at one time: order, first, last
    or refuse (log.py).
    ``labels`` are all states in their order, also those that the log does not visit; without it, the states visited
    in order. ``holdout`` is the share of the sequences to test on, drawn by ``seed``; the model is
    estimated from all of them. ``gap`` is the longest time between two records of one move.
    """
    if not 0.0 <= holdout < 1.0:
        raise SpecError(f"the share to hold out is {holdout}. It is at least 0 and below 1 (--holdout).")
    if seed < 0:
        raise SpecError(f"the seed is {seed}. A seed is a whole number of at least 0.")
    if trips:
        if gap is not None:
            raise SpecError("each trip is a move of its own, so there is no gap (--gap) to look for. Leave it out.")
        read = read_trips(log, columns, time_format)
    else:
        read = read_log(log, gap, columns=columns, time_format=time_format, ties=ties)
    found = _relabelled(read, labels)
    n = len(found.states)
    x, y, of = found.moves()
    if not x.size:
        raise ModelError(
            f"the log has {found.visits.size} records in {found.sequences} sequences, and no two of them make a move. "
            "Give sequences of at least two states" + (", or a longer gap (--gap)." if gap is not None else ".")
        )
    counts = _counts(x, y, n)
    visited = np.bincount(found.visits, minlength=n) > 0
    stuck = np.diff(counts.indptr) == 0
    dead, unseen = np.flatnonzero(stuck & visited), np.flatnonzero(~visited)
    if not (repairs.get("largest_class") or repairs.get("teleport")):
        _require_ways_on(dead, unseen, found.states, counts)
    model = from_counts(counts, smoothing, found.states, **repairs)
    chances = _chances(counts, smoothing)
    leaves = np.asarray(counts.sum(axis=1)).ravel()
    plogp = sparse.csr_array((chances.data * np.log(chances.data), chances.indices, chances.indptr), shape=(n, n))
    return Fit(
        lmdp=model,
        counts=counts,
        sequences=found.sequences,
        moves=int(x.size),
        states=int(np.count_nonzero(visited)),
        dead_ends=tuple(found.states[state] for state in dead.tolist()),
        unseen=tuple(found.states[state] for state in unseen.tolist()),
        support=int(counts.nnz),
        seen_once=int(np.count_nonzero(counts.data == 1.0)),
        smoothing=float(smoothing),
        entropy=abs(float(leaves @ np.asarray(plogp.sum(axis=1)).ravel()) / x.size),
        log_likelihood=float(counts.data @ np.log(chances.data)) / x.size + 0.0,
        held_out=_hold_out(x, y, of, n, smoothing, holdout, seed) if holdout else None,
        dropped=found.dropped,
    )


def _relabelled(log: Log, labels: Sequence[str] | None) -> Log:
    """The same log with states numbered as in ``labels``."""
    names = None if labels is None else as_labels(labels, len(labels))
    if names is None:
        return log
    number = {name: place for place, name in enumerate(names)}
    strange = [place for place, name in enumerate(log.states) if name not in number]
    if strange:
        records = int(np.count_nonzero(log.visits == strange[0]))
        raise ModelError(
            f'the log visits "{log.states[strange[0]]}" ({records:,} records), which is none of the {len(names)} '
            f"labels ({len(strange)} such states in all). Add it to the labels, or leave them out."
        )
    return Log(names, np.array([number[name] for name in log.states])[log.visits], log.starts, log.dropped)


def _counts(x: Ints, y: Ints, n: int) -> CSR:
    return sparse.coo_array((np.ones(x.size), (x, y)), shape=(n, n)).tocsr()


def _chances(counts: CSR, smoothing: float) -> CSR:
    """The estimate of P, with zero rows where nothing was seen."""
    raised = counts.data + smoothing
    totals = np.add.reduceat(np.append(raised, 0.0), counts.indptr[:-1])
    return sparse.csr_array(
        (raised / np.repeat(totals, np.diff(counts.indptr)), counts.indices, counts.indptr), shape=counts.shape
    )


def _hold_out(x: Ints, y: Ints, of: Ints, n: int, smoothing: float, share: float, seed: int) -> HeldOut | None:
    moving = np.unique(of)
    if moving.size > 1:
        size = min(max(1, round(share * moving.size)), moving.size - 1)
        aside = np.isin(of, np.random.default_rng(seed).choice(moving, size=size, replace=False))
        how = f"{size:,} of {moving.size:,} sequences, drawn by seed {seed}"
    else:
        size = min(max(1, round(share * x.size)), x.size - 1)
        if not size:
            return None  # a single move
        aside = np.arange(x.size) >= x.size - size
        how = f"the last {size:,} of {x.size:,} moves of the only sequence"
    known = _chances(_counts(x[~aside], y[~aside], n), smoothing)
    chance: Floats = np.asarray(known[x[aside], y[aside]]).ravel()
    inside = chance[chance > 0.0]
    return HeldOut(
        how=how,
        moves=int(chance.size),
        outside=int(chance.size - inside.size),
        log_likelihood=float(np.log(inside).mean()) + 0.0 if inside.size else None,
    )


def _require_ways_on(dead: Ints, unseen: Ints, states: Sequence[str], counts: CSR) -> None:
    facts = []
    for group, what in (
        (dead, "visited but never left, as at the end of a track or at a goal"),
        (unseen, "never visited"),
    ):
        if group.size:
            names = ", ".join(name_state(int(state), states) for state in group[:_NAMES_IN_A_SENTENCE])
            more = f" and {group.size - _NAMES_IN_A_SENTENCE:,} more" if group.size > _NAMES_IN_A_SENTENCE else ""
            facts.append(
                f"{group.size:,} of {len(states):,} states {'is' if group.size == 1 else 'are'} {what} ({names}{more})"
            )
    if facts:
        inner = largest_class(counts)
        drop = "drop such states with largest_class=True (--largest-class), or " if counts[inner][:, inner].nnz else ""
        way = f"{drop}let every state jump anywhere now and then with teleport=0.01 (--teleport 0.01)."
        raise ModelError(f"{'; '.join(facts)}. P needs a next state from everywhere. {way[0].upper()}{way[1:]}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_IN_A_SENTENCE:,} more" if len(names) > _NAMES_IN_A_SENTENCE else ""
    return f"{len(names):,}: {', '.join(names[:_NAMES_IN_A_SENTENCE])}{more}" if names else ""


def _connected(lmdp: LMDP) -> str:
    return "irreducible" if lmdp.is_irreducible else "not irreducible: see lsmdp check"
