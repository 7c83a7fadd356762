"""One game, written down for the theory: every quantity that a statement of the paper speaks of, round by round.

The record has the *leader* of every round, solved to a tight gap: v*_t, lambda_t, Q*_t and mu*_t for the mean cost
c_bar_t (t = 1, ..., T + 1), and what happens between two rounds (leaders.py); and one *player* for follow the leader
played with these exact leaders, and for every other learner (player.py). Everything is in units of the temperature. Row
[t-1] holds round t.

The leader is a claim (``Claim``): a value function, the bounds that it claims, and the policy that is played. The
record recomputes what it states from the entries of Q and from the definitions, not from the solver's kernels, so that
a false claim shows.

What an inexact v costs. If r = Bv - v with gap = span(r), then v is the exact optimum for the cost c - r (up to a
constant). So a statement about exact leaders holds for the computed ones after the costs have been moved by at most the
gap; each certificate allows for that.

Rounding: a number about one policy is a sum of at most n terms, of products with exponentials of numbers up to
span(v), so its relative error is at most ``grain`` = 8 eps (n + span v); the 8 stands for the few operations in each
term. The law of the state has been multiplied by up to T policies, and the relative error of what is made of it is at
most ``noise`` = 8 eps (n + T + span v). The sum behind a mean cost is compensated: the mean is within 2 eps max|c| of
the true one.

A stationary law may be beyond float64 where the temperature is low: it is nan then, and so is what depends on it. The
statements concerned are left out.

Numbers that need all pairs of states or a dense inverse (a(Q), the sensitivity Lambda, the variance sigma^2) are
computed in all rounds of small models, in the marked rounds 1, 2, 5, 10, 20, ... of larger ones, and are nan elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lsmdp.arrays import (
    EPS,
    Floats,
    Ints,
    as_cost,
)
from lsmdp.costs.given import in_rounds
from lsmdp.errors import ConvergenceError, CostError, SpecError
from lsmdp.game import is_mark, start_law
from lsmdp.learners import CompleteLearner, LearnerLike, Tracking, completed
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.regret import CostRange
from lsmdp.solvers import solve
from lsmdp.solvers.warm.lead import Lead, lead
from lsmdp.theory.ahead import PlanAhead, look_ahead, plan_of
from lsmdp.theory.constants import (
    Constants,
    constants_for,
    constants_of_run,
    hitting_matrix,
)
from lsmdp.theory.dense import Response, response_of
from lsmdp.theory.leaders import Claim, LeaderOfRound, step
from lsmdp.theory.player import TracedPlayer
from lsmdp.theory.pools import PoolTrace, TracedPool
from lsmdp.theory.rivals import CostsAgain, Rival, how_rivals_fare
from lsmdp.theory.rows import (
    LeaderRows,
    PlayerRows,
    RowWriter,
    StepRows,
)

# Every leader is solved to this gap; what rounding leaves of it is what the certificates allow for.
GAP_OF_A_TRACED_LEADER = 1e-12
STATES_FOR_ALL_ROUNDS = 40  # Up to this many states, dense quantities are computed in every round.
# Up to this many states, dense quantities are computed in marked rounds; matrices are then at most 8 MB.
_STATES_FOR_MARKED_ROUNDS = 1_000
_STATES_WITH_HITTING_TIMES = 400  # Up to this many states, all pairs are held against their hitting times.


FindLeader = Callable[[LMDP, Floats, "Claim | None"], Claim]


def certified(lmdp: LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """The leader for c_bar, from the last one on; to a wider gap where rounding leaves no other."""
    try:
        start = Lead.passive(lmdp) if last is None or last.lead is None else last.lead
        new = lead(lmdp, c_bar[np.newaxis], np.array([GAP_OF_A_TRACED_LEADER]), start).last
        return Claim(new.v, new.lo, new.hi, new.policy(lmdp), new)
    except ConvergenceError:
        found = solve(lmdp, c_bar, tol=GAP_OF_A_TRACED_LEADER, start=None if last is None else last.v, throw=False)
        return Claim(found.v, *found.bounds, found.policy)


@dataclass(frozen=True, eq=False)
class PlayerTrace:
    """One learner's game."""

    name: str
    rows: PlayerRows
    tracking: Tracking | None = None  # how it tracks the leader by Bellman updates, if it does

    @property
    def loss(self) -> float:
        """The expected loss over all rounds."""
        return float(self.rows.loss.sum())


@dataclass(frozen=True, eq=False)
class Trace:
    """The record of one game. ``ftl`` is follow the leader with the exact leaders; ``players`` are the others."""

    lmdp: LMDP  # at temperature 1
    temperature: float
    start: Floats
    T: int
    leader: LeaderRows
    steps: StepRows
    ftl: PlayerTrace
    players: list[PlayerTrace]
    final: Claim  # the leader of all T costs
    mean_cost: Floats
    constants: Constants  # for costs of the spans that were met
    printed: Constants  # for all costs in [0, 1], as in the paper
    rivals: list[Rival]
    paper_setting: bool  # costs in [0, 1] in units of the temperature
    hull: float  # the largest cost minus the least, in units of the temperature
    pools: list[PoolTrace] = field(default_factory=list)  # learners whose policies come from no value function
    _met: dict[str, Constants] = field(default_factory=dict, repr=False)

    @property
    def rounds(self) -> Ints:
        """1, ..., T."""
        return np.arange(1, self.T + 1)

    @property
    def lg(self) -> float:
        """1 + log T, which bounds 1 + 1/2 + ... + 1/T."""
        return 1.0 + float(np.log(self.T))

    @property
    def grain(self) -> float:
        """A bound on the relative rounding error of a number about one policy."""
        everyone: list[PlayerTrace | PoolTrace] = [*self.players, *self.pools]
        spans = [float(self.leader.span_v.max()), *(float(player.rows.span_v.max()) for player in everyone)]
        return 8.0 * EPS * (self.lmdp.n + max(spans))

    @property
    def noise(self) -> float:
        """A bound on the relative rounding error of every number in this record."""
        return self.grain + 8.0 * EPS * self.T

    @property
    def width(self) -> float:
        """B + C: no round costs one player more than this above what it costs another, whatever they do."""
        return self.constants.B + self.constants.cost_range

    @property
    def gaps(self) -> Floats:
        """gap_t + gap_{t+1} of the leaders: by how much the two costs of a step may have to be moved."""
        return np.asarray(self.leader.gap[:-1] + self.leader.gap[1:])

    @property
    def lost(self) -> str:
        """Why nothing can be said of some statements: a leader whose stationary law is beyond float64, if there is one.

        The numbers that depend on it are nan.
        """
        at = np.flatnonzero(np.isnan(self.leader.imbalance))
        if not at.size:
            return ""
        more = f" (and in {at.size - 1:,} more)" if at.size > 1 else ""
        return f"the stationary law of the leader is beyond float64 in round {at[0] + 1:,}{more}"

    @property
    def final_gap(self) -> float:
        """The gap of the leader of all costs."""
        return float(self.leader.gap[-1])

    def met(self, player: PlayerTrace) -> Constants:
        """The constants of the policies that this game has met, the learner's and the leaders'."""
        if player.name not in self._met:
            spans = (self.leader.span_v, player.rows.span_v, player.rows.span_iterates)
            largest = max(float(span.max()) for span in spans)
            self._met[player.name] = constants_of_run(self.lmdp, self.constants, largest)
        return self._met[player.name]

    def with_constants(self, **changes: Any) -> Trace:
        """The same game judged by other constants."""
        ours, printed = replace(self.constants, **changes), replace(self.printed, **changes)
        return replace(self, constants=ours, printed=printed, _met={})


def trace(
    lmdp: LMDP,
    costs: Iterable[Floats],
    learners: LearnerLike | Iterable[LearnerLike] = (),
    *,
    start: int | str | Floats | None = None,
    leader: FindLeader = certified,
    rivals: Mapping[str, Any] | None = None,
    search: bool = False,
    exact: bool = True,
    watch: Callable[[int], None] | None = None,
) -> Trace:
    """Play the costs and write everything down.

    ``rivals`` are fixed policies to be compared with, besides the last leader and P; ``search`` looks for a better one.
    ``leader`` may be another way to find leaders, or a false one.
    """
    lmdp.require_irreducible()
    unit = LMDP(lmdp.P, labels=lmdp.labels, positions=lmdp.positions, rounding=lmdp.rounding / lmdp.temperature)
    costs = in_rounds(costs, lmdp.names)
    law = start_law(lmdp, start)
    writer = _Writer(lmdp, unit, law, completed(learners), leader, exact, plan_of(lmdp, costs, law))
    for c_t in costs:
        cost = as_cost(c_t, lmdp.n)
        writer.play(cost)
        if watch is not None:
            watch(writer.t)
    if not writer.t:
        raise CostError("the costs have no rounds, so there is nothing to certify. Give at least one cost vector.")
    return writer.close(costs, dict(rivals or {}), search)


class _Writer:
    """The record while it is being written."""

    def __init__(
        self,
        lmdp: LMDP,
        unit: LMDP,
        start: Floats,
        learners: Sequence[CompleteLearner],
        leader: FindLeader,
        exact: bool,
        plan: Iterator[Floats] | None,
    ) -> None:
        for learner in learners:
            if learner.clairvoyant:
                raise SpecError(f"{learner.name} sees costs before they are paid: there is no regret to certify.")
        self.lmdp, self.unit, self.start, self.find, self.exact = lmdp, unit, start, leader, exact
        self.plan, self.planned = plan, None if plan is None else next(plan)  # V_t less a constant
        self.hitting = hitting_matrix(unit.P) if exact and unit.n <= _STATES_WITH_HITTING_TIMES else None
        self.t = 0
        self.seen = CostRange.empty(unit.n)
        self.lowest, self.highest, self.widest = np.inf, -np.inf, 0.0
        self.leaders, self.steps = RowWriter(LeaderRows), RowWriter(StepRows)
        self.now = LeaderOfRound(unit, np.zeros(unit.n), leader(unit, np.zeros(unit.n), None))
        self.response = self._respond()
        self.leaders.add(self.now.row(self.hitting, self.response))
        mixing = [learner for learner in learners if learner.plays_mixtures(lmdp, learner.init(lmdp, start))]
        self.pools = [TracedPool(lmdp, unit, start, learner) for learner in mixing]
        others = [learner for learner in learners if learner not in mixing]
        self.players = [TracedPlayer(lmdp, start, learner, self.now) for learner in (None, *others)]

    def _respond(self) -> Response | None:
        n = self.unit.n
        wanted = n <= STATES_FOR_ALL_ROUNDS or (n <= _STATES_FOR_MARKED_ROUNDS and is_mark(self.t + 1))
        wanted = wanted and not np.isnan(self.now.mu[0])
        return response_of(self.now.Q, self.now.mu) if wanted and self.exact else None

    def play(self, cost: Floats) -> None:
        """The next round."""
        self.t += 1
        self.lowest, self.highest = min(self.lowest, float(cost.min())), max(self.highest, float(cost.max()))
        self.widest = max(self.widest, float(np.ptp(cost)))
        c_t = cost / self.lmdp.temperature
        self.seen = self.seen.observe(c_t)
        c_bar = self.seen.mean
        after = LeaderOfRound(self.unit, c_bar, self.find(self.unit, c_bar, self.now.claim))
        ahead = self._ahead(c_t)
        for player in self.players:
            player.play(c_t, self.now, after, ahead)
        for pool in self.pools:
            pool.play(c_t)
        self.steps.add(step(self.now, after, c_t, self.response))
        self.now = after
        self.response = self._respond()
        self.leaders.add(after.row(self.hitting, self.response))

    def _ahead(self, c_t: Floats) -> PlanAhead | None:
        """The plan in hindsight in this round."""
        if self.plan is None or self.planned is None:
            return None
        here, self.planned = self.planned, next(self.plan)
        return look_ahead(self.unit, c_t, here, self.planned)

    def close(self, costs: Iterable[Floats], rivals: dict[str, Any], search: bool) -> Trace:
        """The finished record, with its constants."""
        unit, temperature = self.unit, self.lmdp.temperature
        ours = constants_for(unit, self.widest / temperature, exact=self.exact)
        in_paper = self.lowest >= 0.0 and self.highest <= temperature
        printed = constants_for(unit, 1.0, exact=self.exact) if in_paper and ours.cost_range != 1.0 else ours
        players = [PlayerTrace(player.name, player.rows.columns(), player.tracking) for player in self.players]
        again = CostsAgain(costs, self.t, self.lmdp.temperature)
        rivals = {"leader": self.now.claim.policy, "passive": Policy(self.unit, np.zeros(self.unit.n)), **rivals}
        return Trace(
            lmdp=self.unit,
            temperature=self.lmdp.temperature,
            start=self.start,
            T=self.t,
            leader=self.leaders.columns(),
            steps=self.steps.columns(),
            ftl=players[0],
            players=players[1:],
            final=self.now.claim,
            mean_cost=self.now.c,
            constants=ours,
            printed=printed,
            rivals=how_rivals_fare(self.unit, again, self.start, rivals, self.now.claim.v, self.now.c, search),
            paper_setting=in_paper,
            hull=(self.highest - self.lowest) / temperature,
            pools=[pool.close() for pool in self.pools],
        )
