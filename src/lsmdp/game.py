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
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import Floats, Ints, as_distribution, mean
from lsmdp.errors import SpecError
from lsmdp.learners import Learner, State, pack, unpack
from lsmdp.model import LMDP
from lsmdp.policy import REDUCED_STATES, Policy
from lsmdp.regret import CostRange, Regret, regret

MARKED_STATES = 100_000  # beyond this, the mean costs along the way are not kept
LAW_FLOPS = 5e6  # per round, for the stationary law of a policy


class Round(NamedTuple):
    """One round of one learner. Costs are in the learner's units, [0, 1]; nan stands for what was not computed.

    ``loss`` = ``state_cost`` + ``control_cost`` is exact in expectation. ``ideal_loss`` is the loss at the stationary
    law. ``average_cost`` and ``gap`` certify the policy for the cost it was chosen for. ``policy_change`` is
    max_x |Q_t - Q_{t+1}|_1, and ``ideal_step`` = t * temperature * mu_t.KL(Q_t || Q_{t+1}), whose sum over the rounds
    is the idealised regret of follow the leader. ``sampled_loss`` is the mean over sampled walkers.
    """

    round: int
    learner: str
    loss: float
    state_cost: float
    control_cost: float
    ideal_loss: float
    average_cost: float
    gap: float
    policy_change: float
    ideal_step: float
    sampled_loss: float
    steps: int
    seconds: float


@dataclass
class Seat:
    """A learner at the table: its state, the exact law of its position, its policy and its sampled walkers."""

    lmdp: LMDP
    learner: Learner
    state: State
    law: Floats
    walkers: Ints
    paid: Floats  # what each walker has paid so far
    seed: int
    ideal: bool
    upcoming: Policy | None = None  # the policy of the next round, where it was worked out already

    @classmethod
    def take(cls, lmdp: LMDP, learner: Learner, start: Floats, walkers: int, seed: int, ideal: bool) -> Seat:
        """A learner before round 1."""
        rng = np.random.default_rng((seed, 0))
        positions = rng.choice(lmdp.n, size=walkers, p=start).astype(np.int64)
        return cls(lmdp, learner, learner.init(lmdp), start, positions, np.zeros(walkers), seed, ideal)

    def play(self, t: int, c_t: Floats) -> Round:
        """Play round t against c_t, learn from it, and say what happened."""
        began = time.perf_counter()
        lmdp, T = self.lmdp, self.lmdp.temperature
        policy = self._choose(c_t)
        u = policy.v / T
        kl, law = kernels.play(lmdp.P, u, self.law)
        state_cost, control_cost = mean(self.law, c_t), T * mean(self.law, kl)
        sampled = self._walk(t, u, c_t + T * kl)
        before, self.state = self.state, self.learner.observe(lmdp, self.state, c_t)
        self.law = law / law.sum()
        report = self.learner.report(before, self.state)
        ideal_loss, ideal_step = float("nan"), float("nan")
        self.upcoming = self.learner.policy(lmdp, self.state)
        divergence, change = kernels.divergence(lmdp.P, u, self.upcoming.v / T)
        if self.ideal:
            mu = policy.stationary()
            ideal_loss = mean(mu, c_t) + T * mean(mu, kl)
            ideal_step = t * T * mean(mu, divergence)
        return Round(
            round=t,
            learner=self.learner.name,
            loss=state_cost + control_cost,
            state_cost=state_cost,
            control_cost=control_cost,
            ideal_loss=ideal_loss,
            average_cost=(report.lo + report.hi) / 2,
            gap=report.hi - report.lo,
            policy_change=change,
            ideal_step=ideal_step,
            sampled_loss=sampled,
            steps=report.steps,
            seconds=time.perf_counter() - began,
        )

    def _choose(self, c_t: Floats) -> Policy:
        foresee = getattr(self.learner, "foresee", None)
        if foresee is None:
            return self.upcoming or self.learner.policy(self.lmdp, self.state)
        clairvoyant: Policy = foresee(self.lmdp, self.state, c_t)
        return clairvoyant

    def _walk(self, t: int, u: Floats, losses: Floats) -> float:
        if not self.walkers.size:
            return float("nan")
        now = losses[self.walkers]
        self.paid = self.paid + now
        uniforms = np.random.default_rng((self.seed, t)).random(self.walkers.size)
        self.walkers = kernels.sample(self.lmdp.P, u, self.walkers, uniforms)
        return float(now.mean())

    def to_arrays(self) -> dict[str, Any]:
        """Everything that the next round needs, as named arrays."""
        own = {"law": self.law, "walkers": self.walkers, "paid": self.paid}
        return own | {f"state.{name}": array for name, array in pack(self.state).items()}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Go on from what ``to_arrays`` gave."""
        self.law, self.walkers, self.paid = (np.asarray(arrays[name]) for name in ("law", "walkers", "paid"))
        fields = {name.removeprefix("state."): arrays[name] for name in arrays if name.startswith("state.")}
        self.state, self.upcoming = unpack(self.state, fields), None


def can_idealise(lmdp: LMDP) -> bool:
    """Whether the stationary law of a policy is cheap enough to be computed each round."""
    if lmdp.reversible_law is not None:
        return True
    return (
        lmdp.n <= REDUCED_STATES
        and lmdp.elimination_plan.entries is not None
        and lmdp.elimination_plan.flops <= LAW_FLOPS
    )


def start_law(lmdp: LMDP, start: int | str | Floats | None) -> Floats:
    """The law of X_1: a state (number or label), a law, or state 0."""
    if start is None:
        start = 0
    if isinstance(start, str):
        start = lmdp.state(start)
    if isinstance(start, int | np.integer):
        law = np.zeros(lmdp.n)
        law[lmdp.state(int(start))] = 1.0
        return law
    return as_distribution(start, lmdp.n)


def rounds(
    lmdp: LMDP, learner: Learner, costs: Iterable[Floats], *, start: int | str | Floats | None = None, seed: int = 0
) -> Iterator[Round]:
    """One record a round, for one learner."""
    table = Table.lay(lmdp, [learner], start=start, seed=seed)
    for c_t in costs:
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


def is_mark(t: int) -> bool:
    """Whether round t is one of 1, 2, 5, 10, 20, 50, ...: where a run is looked at along the way."""
    while t % 10 == 0 and t > 0:
        t //= 10
    return t in (1, 2, 5)


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
        learners: Iterable[Learner],
        *,
        start: int | str | Floats | None = None,
        sample: int = 0,
        seed: int = 0,
    ) -> Table:
        """The table before round 1. ``sample`` walkers per learner follow the game besides the exact law."""
        lmdp.require_irreducible()
        law, ideal = start_law(lmdp, start), can_idealise(lmdp)
        seats = [Seat.take(lmdp, learner, law, sample, seed, ideal) for learner in learners]
        names = [seat.learner.name for seat in seats]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise SpecError(f"the learner {twice.pop()!r} was named twice. Give each of its variants an option.")
        return cls(lmdp, seats, law, 0, CostRange.empty(lmdp.n), [Tally() for _ in seats])

    def play(self, c_t: Floats) -> list[Round]:
        """The next round, for all learners."""
        self.seen = self.seen.observe(c_t)  # which also checks it, before anything else has changed
        self.t += 1
        rows = [seat.play(self.t, c_t) for seat in self.seats]
        self.tallies = [tally.add(row) for tally, row in zip(self.tallies, rows, strict=True)]
        if is_mark(self.t) and self.lmdp.n <= MARKED_STATES:
            self.marks.append((self.t, self.seen.mean, self.tallies))
        return rows

    def to_arrays(self) -> dict[str, Any]:
        """The whole table as named arrays, ready for ``numpy.savez``."""
        arrays: dict[str, Any] = {
            "t": np.asarray(self.t),
            "tallies": np.array(self.tallies, dtype=np.float64),
            "marks.t": np.array([mark[0] for mark in self.marks], dtype=np.int64),
            "marks.c_bar": np.array([mark[1] for mark in self.marks]).reshape(len(self.marks), self.lmdp.n),
            "marks.tallies": np.array([mark[2] for mark in self.marks], dtype=np.float64),
        }
        arrays |= {f"seen.{name}": np.asarray(value) for name, value in self.seen._asdict().items()}
        for k, seat in enumerate(self.seats):
            arrays |= {f"seat{k}.{name}": value for name, value in seat.to_arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Go on from what ``to_arrays`` gave."""
        self.t = int(arrays["t"])
        self.seen = CostRange(self.t, *(np.asarray(arrays[f"seen.{name}"]) for name in CostRange._fields[1:]))
        self.tallies = [_tally(row) for row in arrays["tallies"]]
        self.marks = [
            (int(t), c_bar, [_tally(row) for row in rows])
            for t, c_bar, rows in zip(arrays["marks.t"], arrays["marks.c_bar"], arrays["marks.tallies"], strict=True)
        ]
        for k, seat in enumerate(self.seats):
            prefix = f"seat{k}."
            seat.restore({name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)})


def _tally(row: Floats) -> Tally:
    values: dict[str, Any] = dict(zip(Tally._fields, (float(value) for value in row), strict=True))
    return Tally(**values)._replace(solves=int(values["solves"]), steps=int(values["steps"]))


@dataclass(frozen=True)
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

    @property
    def learners(self) -> dict[str, Tally]:
        """The sums of each learner, by name."""
        return {seat.learner.name: tally for seat, tally in zip(self.table.seats, self.table.tallies, strict=True)}


def play(
    lmdp: LMDP,
    learners: Learner | Sequence[Learner],
    costs: Iterable[Floats],
    *,
    start: int | str | Floats | None = None,
    sample: int = 0,
    seed: int = 0,
    watch: Callable[[list[Round]], None] | None = None,
) -> Run:
    """Play the costs to their end with all learners side by side; ``watch`` is shown each round as it is played."""
    players = learners if isinstance(learners, Sequence) else [learners]
    table = Table.lay(lmdp, players, start=start, sample=sample, seed=seed)
    for c_t in costs:
        rows = table.play(c_t)
        if watch is not None:
            watch(rows)
    return Run(table, costs)
