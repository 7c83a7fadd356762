"""The regret of a run, with the name of its comparator.

Let L_T(Q) be what a fixed policy Q pays from the same start over the same costs (comparators.py). A regret is never one
number by itself:

- against the *leader*: loss - L_T(Q_{T+1}), where Q_{T+1} is the optimum for the mean of all T costs;
- *idealised*: sum_t f(pi_t; c_t) - T lambda_{T+1}, as if the state were in equilibrium at once. For follow the leader
  it is also sum_t t mu_t.KL(Q_t || Q_{t+1}), round by round and without cancellation (the FTL identity);
- against the *best stationary policy*: min_Q L_T(Q) is not convex in Q, so it is given as a bracket (bracket.py);
- *dynamic*: loss - p_1.V_1, against the plan in hindsight, which knew all costs and changes with time. It is also
  tau sum_t p_t.KL(Q_t || Q*_t), by rounds and by states (dynamic.py);
- against *all policies with mixing sum at most m*, at once: a bound that grows with m (guarantee.py).

The regret against the leader is the sum of three terms, as in the proof of thm:main:

    loss - L_T(Q_{T+1}) = [ideal - T lambda]  +  [loss - ideal]  +  [T lambda - L_T(Q_{T+1})]
                            idealised             transient          comparator

where ideal is the idealised loss and lambda the average cost lambda_{T+1} of the leader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs.given import is_replayable
from lsmdp.costs.sequence import first_rounds
from lsmdp.errors import SpecError
from lsmdp.learners import titled
from lsmdp.output.notebooks import regret_html
from lsmdp.regret.bracket import Bracket
from lsmdp.regret.bracket import bracket as bracket_of
from lsmdp.regret.comparators import fixed_cost
from lsmdp.regret.dynamic import Dynamic, replay, work_of_plan, work_of_replay
from lsmdp.regret.guarantee import MIXING_SUMS_SHOWN, guarantee
from lsmdp.regret.hindsight import Hindsight
from lsmdp.regret.pooled import Experts, experts_of
from lsmdp.solvers import Solution, solve

if TYPE_CHECKING:
    from lsmdp.game import Run, Tally

LEADER_GAP = 1e-10  # The leader of all costs is solved to this gap, so that a regret is known to about T times as much.
# Beyond this many states, to solve for a leader at every mark takes longer than the game.
_STATES_WITH_REGRETS_ALONG = 5_000
_WORK_OF_REGRETS_ALONG = 2e10  # The regret along the way may cost this many multiply-adds, some ten seconds.
# The plan in hindsight may take this many operations of about a nanosecond unasked: half a minute, as much as the
# marks.
WORK_OF_A_PLAN = 3e10
# To play all learners again, for the share of each round and state in their regret, may take this many operations:
# about a second.
WORK_OF_A_REPLAY = 1e9
ABOUT_DYNAMIC = "The dynamic regret was "  # Notes about the dynamic regret begin with these words.
# A stationary policy that is cheaper than the leader by this much per round is worth a warning.
_WARNING_PER_ROUND = 0.01


@dataclass(frozen=True)
class LearnerRegret:
    """What one learner paid, and its regret against each comparator (None: not computed).

    One that is ``clairvoyant`` was shown each cost before it played: its figures are a yardstick. ``dynamic`` is a
    number that can say more: ``dynamic.by_round()`` and ``dynamic.by_state()``.
    """

    name: str
    tally: Tally
    leader: float | None
    idealised: float | None
    identity: float | None
    transient: float | None
    comparator: float | None
    best_stationary: tuple[float, float] | None
    guarantee: dict[float, float]
    along: list[tuple[int, float, float]]  # (t, loss, regret against the leader of the first t rounds)
    sampled: tuple[float, float] | None  # mean of the walkers' losses, and half the width of its 95% interval
    clairvoyant: bool = False
    dynamic: Dynamic | None = None
    experts: Experts | None = None  # of a pool: its regret against each of them, and the sums of its theorem

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        low, high = self.best_stationary or (None, None)
        tally, dynamic = self.tally, None if self.dynamic is None else float(self.dynamic)
        told = None if self.dynamic is None else self.dynamic.known
        return {
            "clairvoyant": self.clairvoyant,
            "loss": tally.loss,
            "state_cost": tally.state_cost,
            "control_cost": tally.control_cost,
            "ideal_loss": _known(tally.ideal_loss),
            "idealised_regret": self.idealised,
            "idealised_regret_by_identity": self.identity,
            "regret": {
                "leader": self.leader,
                "best_stationary_low": low,
                "best_stationary_high": high,
                "dynamic": dynamic,
            },
            "dynamic_regret_by_divergence": None if told is None else told.total,
            "dynamic_regret_rounding": None if told is None else told.rounding,
            "transient": self.transient,
            "comparator": self.comparator,
            "regret_at_most_by_mixing_sum": {f"{m:g}": bound for m, bound in self.guarantee.items()},
            "regret_against_leader_along": [list(mark) for mark in self.along],
            "sampled_loss": None if self.sampled is None else list(self.sampled),
            "experts": None if self.experts is None else self.experts.to_dict(),
            "max_gap": _known(tally.max_gap),
            "solves": tally.solves,
            "steps": tally.steps,
            "seconds": tally.seconds,
        }


@dataclass(frozen=True, repr=False)
class Regret(Mapping[str, LearnerRegret]):
    """The regret of every learner of a run, by its name."""

    rounds: int
    leader: Solution
    leader_cost: float | None
    bracket: Bracket | None
    learners: list[LearnerRegret]
    notes: list[str]
    plan: Hindsight | None = None

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        average = self.leader.average_cost
        return {
            "average_cost_of_leader": average,
            "average_cost_bounds": list(self.leader.bounds),
            "cost_of_leader": self.leader_cost,
            "best_stationary_cost": None if self.bracket is None else [self.bracket.low, self.bracket.high],
            "cost_of_plan_in_hindsight": None if self.plan is None else self.plan.cost,
            "learners": {one.name: one.to_dict() | {"average_cost_of_leader": average} for one in self.learners},
            "notes": self.notes,
        }

    def __getitem__(self, name: str) -> LearnerRegret:
        for one in self.learners:
            if one.name == name:
                return one
        raise KeyError(f"no learner of this run is called {name}. It has: {', '.join(self)}.")

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self.learners)

    def __len__(self) -> int:
        return len(self.learners)

    def _repr_html_(self) -> str:
        return regret_html(self)

    def __repr__(self) -> str:
        against = ", ".join(f"{one.name} {_figure(one.leader).strip()}" for one in self.learners)
        return f"Regret({self.rounds:,} rounds; against the leader: {against})"

    def __str__(self) -> str:
        titles = [titled(one.name, one.clairvoyant) for one in self.learners]
        width = max(map(len, titles))
        names = ("loss", "vs leader", "idealised", "dynamic")
        head = f"{'':{width}}  {'  '.join(f'{name:>12}' for name in names)}  {'vs best stationary':>22}"
        lines = [f"regret after {self.rounds:,} round{'s' * (self.rounds != 1)}", head]
        for title, one in zip(titles, self.learners, strict=True):
            best = "" if one.best_stationary is None else "{:z.4g} to {:z.4g}".format(*one.best_stationary)
            figures = "  ".join(map(_figure, (one.tally.loss, one.leader, one.idealised, one.dynamic)))
            lines.append(f"{title:{width}}  {figures}  {best:>22}")
        return "\n".join([*lines, *self.notes])


def regret(run: Run, *, bracket: bool = False, dynamic: bool | None = None) -> Regret:
    """The regret of every learner of a run: against the leader, against the plan in hindsight, and others.

    ``bracket`` asks for a bracket of the best stationary policy. The dynamic regret is worked out where it takes less
    than half a minute, and by both of its formulas where that takes a second; ``dynamic=True`` insists on both, and
    ``dynamic=False`` does without.
    """
    game, lmdp, T = run.game, run.lmdp, run.rounds
    if T == 0:
        raise SpecError("no round was played, so there is no regret. Give at least one cost.")
    leader = solve(lmdp, game.seen.mean, tol=LEADER_GAP, throw=False)
    notes: list[str] = []
    leader_cost, bounds, along, plan = None, None, {}, None
    if not is_replayable(run.costs):
        notes.append("the costs could be read only once, so no comparator was evaluated on them")
        if dynamic:
            raise SpecError(
                "the costs could be read only once, so nobody can say what the plan in hindsight would have paid. Give "
                "them as an array, a list or a file, or leave dynamic=True out."
            )
    else:
        plan = _plan(run, dynamic, notes)
        leader_cost = fixed_cost(lmdp, leader.policy, run.costs, game.start).loss
        along = _leaders_along(run)
        bounds = bracket_of(lmdp, run.costs, game.start, {"leader": leader.policy}) if bracket else None
    if bounds is not None and leader_cost is not None and leader_cost - bounds.high > _WARNING_PER_ROUND * T:
        notes.append(
            f"WARNING: a stationary policy pays {(leader_cost - bounds.high) / T:.3g} a round less than the leader: "
            "the costs are in phase with something, and no learner of this kind has small regret against it."
        )
    notes += _without_law(run)
    found = _dynamic(run, plan, dynamic, notes)
    learners = [
        replace(_learner_regret(run, k, leader, leader_cost, bounds, along), dynamic=found[k])
        for k in range(len(game.players))
    ]
    return Regret(T, leader, leader_cost, bounds, learners, notes, plan)


def _plan(run: Run, wanted: bool | None, notes: list[str]) -> Hindsight | None:
    """The plan in hindsight, unless it is not wanted or would take long unasked."""
    if wanted is False:
        return None
    work = work_of_plan(run.lmdp, run.rounds)
    if wanted is None and work > WORK_OF_A_PLAN:
        notes.append(
            f"{ABOUT_DYNAMIC}left out: a plan in hindsight for {run.rounds:,} rounds of {run.lmdp.nnz:,} moves "
            f"would take about {work / 1e9:,.0f} s. regret(dynamic=True), or --dynamic, insists."
        )
        return None
    try:
        return Hindsight.of(run.lmdp, run.costs, run.game.start, run.rounds, keep=_is_replayed(run, wanted))
    except SpecError as refused:
        if wanted:
            raise
        notes.append(f"{ABOUT_DYNAMIC}left out: {refused}")
        return None


def _is_replayed(run: Run, wanted: bool | None) -> bool:
    """Whether the rounds are played again to attribute the dynamic regret: if asked for, or if it takes a moment."""
    work = sum(work_of_replay(run.lmdp, run.rounds, tally.steps) for tally in run.game.tallies)
    return bool(wanted) or work <= WORK_OF_A_REPLAY


def _dynamic(run: Run, plan: Hindsight | None, wanted: bool | None, notes: list[str]) -> list[Dynamic | None]:
    """The dynamic regret of each learner, by rounds and states as well where that was asked for or takes a moment."""
    learners = [player.learner for player in run.game.players]
    if plan is None:
        return [None for _ in learners]
    found = [Dynamic.of(plan, one, tally.loss) for one, tally in zip(learners, run.game.tallies, strict=True)]
    for one, told in zip(found, replay(plan, learners), strict=True) if _is_replayed(run, wanted) else ():
        try:
            one.attribute(told)
        except SpecError as differs:
            if wanted:
                raise
            notes.append(f"WARNING: {differs}")
    return [*found]


def _without_law(run: Run) -> list[str]:
    """Why a sum over all rounds at the stationary laws is not known, where it would be cheap."""
    both = zip(run.game.players, run.game.tallies, strict=True)
    lost = [
        player.learner.name
        for player, tally in both
        if np.isnan(tally.ideal_loss) and not player.learner.plays_mixtures(run.lmdp, player.state)
    ]
    if not lost or not run.lmdp.law_is_cheap:
        return []
    return [
        f"There is no idealised loss or regret of {', '.join(lost)}: in some rounds the stationary law of the policy "
        "is beyond float64, since it all but never moves between some parts of the chain. Those rounds have no "
        "ideal_loss and no ideal_step; everything else is known. A higher temperature makes such moves less rare."
    ]


def _learner_regret(
    run: Run,
    k: int,
    leader: Solution,
    leader_cost: float | None,
    bounds: Bracket | None,
    along: dict[int, float],
) -> LearnerRegret:
    game, T = run.game, run.rounds
    tally, player = game.tallies[k], game.players[k]
    ideal, total = _known(tally.ideal_loss), T * leader.average_cost
    bound = guarantee(run.lmdp, tally.loss, leader.v, game.start, game.seen)
    return LearnerRegret(
        name=player.learner.name,
        tally=tally,
        leader=None if leader_cost is None else tally.loss - leader_cost,
        idealised=None if ideal is None else ideal - total,
        identity=_known(tally.ideal_regret) if player.learner.follows_the_leader else None,
        transient=None if ideal is None else tally.loss - ideal,
        comparator=None if leader_cost is None else total - leader_cost,
        best_stationary=None if bounds is None else (tally.loss - bounds.high, tally.loss - bounds.low),
        guarantee={m: bound.against(m) for m in MIXING_SUMS_SHOWN},
        along=[(t, tallies[k].loss, tallies[k].loss - along[t]) for t, _, tallies in game.marks if t in along],
        sampled=_interval(player.accounts.paid),
        clairvoyant=player.learner.clairvoyant,
        experts=experts_of(player.learner, player.state, tally.loss),
    )


def _leaders_along(run: Run) -> dict[int, float]:
    """L_t(Q_{t+1}) for the marked rounds t, each against the leader of its own first t rounds."""
    marks = run.game.marks
    work = sum(t for t, _, _ in marks) * run.lmdp.nnz
    if work > _WORK_OF_REGRETS_ALONG or run.lmdp.n > _STATES_WITH_REGRETS_ALONG:
        return {}
    found, start = {}, None
    for t, c_bar, _ in marks:
        leader = solve(run.lmdp, c_bar, tol=LEADER_GAP, start=start, throw=False)
        found[t] = fixed_cost(run.lmdp, leader.policy, first_rounds(run.costs, t), run.game.start).loss
        start = leader
    return found


def _interval(paid: Floats) -> tuple[float, float] | None:
    """Mean of independent totals, and 1.96 standard errors."""
    if paid.size < 2:
        return None
    return float(paid.mean()), float(1.96 * paid.std(ddof=1) / np.sqrt(paid.size))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _figure(value: float | None) -> str:
    return f"{'-':>12}" if value is None else f"{value:z12.4f}"
