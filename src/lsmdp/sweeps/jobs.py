"""One job of a sweep: one run, that is one model, one cost family, one horizon and one seed, all learners side by side.

**Seeds.** Replicate k of a sweep with root seed s has the seed that child k of ``SeedSequence(s).spawn`` gives. It
depends on s and k only: more models, more replicates, other workers or another order change nothing in a run.

**Identity.** A job is named by the sha256 of all that determines its numbers: the kernel, the costs (which the seed
is a part of), the rounds, the learners, the start, the temperature, and the versions of what computes them. Equal
names, equal bits, on machines of one kind; so a run that is there under its name need not be played again. A worker
works out the name by itself before it plays: one that has another version or another file under the same path would
play another game, and says so instead.

**Result.** A row per learner and marked round t (1, 2, 5, 10, ..., and the last): the sums over rounds 1..t, the regret
against the leader of these t rounds, the idealised regret, sum_s f(pi_s; c_s) - t lambda_{t+1}, and the dynamic regret
against the plan in hindsight for these t rounds (one backward pass for each t, and nobody is played again).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lsmdp.costs import Costs
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.game import (
    Run,
    Tally,
    next_mark,
    play,
)
from lsmdp.model import LMDP
from lsmdp.regret import Hindsight, Regret
from lsmdp.regret.summary import LEADER_GAP
from lsmdp.runs import Spec
from lsmdp.runs.manifest import manifest
from lsmdp.solvers import solve

_ROUND_WORK = 10_000  # A round on a small model takes about as long as a pass over this many moves.


class ResultRow(NamedTuple):
    """One learner after t rounds. Sums are over rounds 1..t; None stands for what was not computed."""

    learner: str
    t: int
    loss: float
    state_cost: float
    control_cost: float
    regret: float | None
    ideal_loss: float | None
    idealised_regret: float | None
    dynamic_regret: float | None
    leader_average: float | None
    max_gap: float | None
    solves: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class Job:
    """A run to be played: the names that the sweep gives to its parts, its spec, and its digest."""

    model: str
    costs: str
    replicate: int
    spec: Spec
    digest: str
    work: float  # in units of one another: decides who goes first, and what is said of the time left


def seeds(root: int, replicates: tuple[int, ...]) -> list[int]:
    """The seed of each replicate, 63 bits."""
    children = np.random.SeedSequence(root).spawn(max(replicates) + 1)
    return [int(children[k].generate_state(1, np.uint64)[0] >> np.uint64(1)) for k in replicates]


def digest_of(spec: Spec, lmdp: LMDP, costs: Costs) -> str:
    """The name of a run."""
    made_from = manifest(spec, lmdp, costs)
    del made_from["seed"]  # it speaks through the costs
    asked = {"learners": spec.learners, "rounds": spec.rounds, "temperature": spec.temperature}
    return hashlib.sha256(json.dumps(made_from | asked, sort_keys=True).encode()).hexdigest()


def work_of(spec: Spec, lmdp: LMDP) -> float:
    """How much work a run is."""
    return float((spec.rounds or 1) * len(spec.learners) * (_ROUND_WORK + lmdp.nnz))


def played(job: Job) -> list[ResultRow] | str:
    """Play a job; a sentence says why it cannot be played. This is what a worker does."""
    try:
        lmdp = job.spec.model()
        costs = job.spec.cost_sequence(lmdp)
        here = digest_of(job.spec, lmdp, costs)
        if here != job.digest:
            raise SpecError(
                f"the worker would play another run ({here[:12]}, not {job.digest[:12]}). Give all workers the same "
                "versions of Python and the packages, and the same files under the same paths."
            )
        run = play(lmdp, job.spec.players(), costs, start=job.spec.start)
        return list(rows(run))
    except (LsmdpError, OSError, MemoryError) as wrong:
        return f"{type(wrong).__name__}: {wrong or 'this needs more memory than there is'}"


def are_rows_of(job: Job, found: Sequence[ResultRow]) -> bool:
    """Whether rows are those of a job by their learners and rounds."""
    T, marks = job.spec.rounds or 1, [1]
    while marks[-1] < T:
        marks.append(min(next_mark(marks[-1] + 1), T))
    names = [learner.name for learner in job.spec.players()]
    return [(row.learner, row.t) for row in found] == [(name, t) for name in names for t in marks]


def rows(run: Run) -> Iterator[ResultRow]:
    """The rows of a run, learner by learner."""
    found = run.regret(dynamic=False)
    average, plans = _averages(run, found), _plans(run, found)
    marks = [(t, tallies) for t, _, tallies in run.game.marks if t < run.rounds]
    marks.append((run.rounds, run.game.tallies))
    for k, one in enumerate(found.learners):
        regret = {t: value for t, _, value in one.along}
        if one.leader is not None:
            regret[run.rounds] = one.leader
        for t, tallies in marks:
            yield _row(one.name, t, tallies[k], regret.get(t), average.get(t), plans.get(t))


def _averages(run: Run, found: Regret) -> dict[int, float]:
    """lambda_{t+1} at the rounds where the regret along the way is known, and at the end."""
    known = {t for t, _, _ in found.learners[0].along}
    average, start = {}, None
    for t, c_bar, _ in run.game.marks:
        if t in known and t < run.rounds:
            start = solve(run.lmdp, c_bar, tol=LEADER_GAP, start=start, throw=False)
            average[t] = start.average_cost
    return average | {run.rounds: found.leader.average_cost}


def _plans(run: Run, found: Regret) -> dict[int, float]:
    """What the plan in hindsight for the first t rounds pays, where the regret of that round is known."""
    known = {t for t, _, _ in found.learners[0].along} | ({run.rounds} if found.leader_cost is not None else set())
    return {t: Hindsight.of(run.lmdp, run.costs, run.game.start, t, keep=False).cost for t in sorted(known)}


def _row(
    learner: str, t: int, tally: Tally, regret: float | None, average: float | None, plan: float | None
) -> ResultRow:
    ideal = _known(tally.ideal_loss)
    return ResultRow(
        learner=learner,
        t=t,
        loss=tally.loss,
        state_cost=tally.state_cost,
        control_cost=tally.control_cost,
        regret=regret,
        ideal_loss=ideal,
        idealised_regret=None if ideal is None or average is None else ideal - t * average,
        dynamic_regret=None if plan is None else tally.loss - plan,
        leader_average=average,
        max_gap=_known(tally.max_gap),
        solves=tally.solves,
        steps=tally.steps,
        seconds=tally.seconds,
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
