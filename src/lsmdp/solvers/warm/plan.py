"""The same model again, with a cost that has changed a little: what is tried for the next cost, and in which order.

``solve_in_turn`` takes costs, one a round, the gap that each may have, and what the last solve left. It returns the
optimum for each cost with the bounds that certify it, and what it leaves for the next one.

What is tried depends on what is at hand. A *factor* is an elimination of I - Q, where Q is the policy of some v: it is
expensive to make and cheap to use, and steps with it (chord.py) serve many later costs. That v is its *anchor*. Sweeps
(sweeps.py) and power steps need no factor.

| what is at hand | what is done for the next cost |
|---|---|
| a P that is written out | steps with an inverse, many costs in one call (lead.py); a solve where v is too steep |
| no anchor, few states, and a factor is cheap | the present v becomes the anchor, at once |
| no anchor otherwise | sweeps; then power steps with pairs; if a factor would have been cheaper, v becomes the anchor |
| an anchor | steps with its factor; where these are dear, an attempt without it goes first, now and then |
| steps with the factor fail | the anchor moves to the present v, once |
| they fail again | a solve from the best v; where an elimination is cheap, inverse iteration first (LAPACK if few) |
| a new factor would save more than it costs | the new v becomes the anchor |

*No anchor.* On graphs that mix fast, or are two such graphs loosely joined, sweeps are all it takes. Where v is too
steep for them, power steps take their place. Power steps with pairs of residuals (chord.py without a factor) remove a
few slow modes: other chains that are nearly decomposable or nearly periodic have no more. After a round for which
sweeps were too few, rounds go without them; but since means of costs change less and less, they are tried again after
1, 2, 4, 8, ... such rounds. So are attempts without a factor that is dear, after 0, 1, 2, 4, 8, ... rounds with it.

*When a factor is replaced.* Let making a factor cost as much as F steps, and let the rounds with it take k_1, ..., k_m
steps. A round has then cost (F + k_1 + ... + k_m) / m steps on average. This mean falls as long as the next round takes
fewer steps than it, and rises from there on: that is when a new factor is made, which the story calls *worn*. Whether
rounds would take fewer steps with a new factor cannot be known. So a tenth of the steps beyond the first of each round
is left out of the sum: then every factor that takes more than one step a round is replaced at some time, even if that
number never rises.

*Failing.* A well of v is a region where it is cheap to stay. Steps with a factor fail where another well becomes the
cheapest of all: then v moves far, and the policy of the anchor says little about the new one.

All of it is a function of the arguments. What is kept for the next cost (:class:`LeaderMemory`), the factor at the
anchor and what the last certificate computed of its v, can be made again from the anchor and from v, bit for bit. So a
game that goes on from a checkpoint goes on exactly as it would have, and it does not matter how the costs are cut into
blocks. What is left behind is let go at once: a leader holds one factor, and what one certificate has computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, log
from typing import NamedTuple

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.chord import Age, Seen
from lsmdp._core.sparse import Flow
from lsmdp.arrays import Floats, read_only
from lsmdp.model import LMDP
from lsmdp.solvers.certified import solve
from lsmdp.solvers.factored import STATES_FOR_LAPACK, Dense, Direct
from lsmdp.solvers.power import Power
from lsmdp.solvers.problem import NEVER, SHARE_FOR_THE_METHOD, Problem
from lsmdp.solvers.warm import chord, sweeps
from lsmdp.solvers.warm.anchor import Factor, factor, nothing

_FIRST_SWEEPS = 20  # So many sweeps or power steps come first: where a chain mixes fast, half of them are enough.
_POWER_STEPS_OF_A_SWEEP = 2.0  # A sweep does the work of this many power steps.
_QUICKLY_PLANNED = 2_000  # Up to so many states, a plan of elimination takes milliseconds.
_POWER_STEPS_OF_A_PLAN = 400  # On larger models, a plan takes as long as this many power steps.
_STEPS_WITHOUT_A_FACTOR = 60  # So many steps are tried before a factor is made: it seldom costs less than they do.
_POWER_STEPS_OF_A_STEP = 3  # A step with pairs but without a factor costs as much as this many power steps.
_USUAL_STEPS = 3.0  # A round takes about as many steps with a factor.
_PRODUCTS_OF_A_CHEAP_STEP = 20.0  # A factor is cheap if a step with it costs no more products; on roads, 5 to 11.
_STEPS_OF_A_CHEAP_ANCHOR = 14  # An anchor is given up after this many steps at the earliest, even if a factor is cheap.
NO_ANCHOR: Floats = read_only(np.empty(0))  # An empty array stands for no anchor.

_Certified = tuple[Floats, float, float]  # v and its bounds


@dataclass(eq=False)
class LeaderMemory:
    """What a leader keeps for its next cost, and how the last ones were solved. It is never saved.

    The factor is kept with the anchor at which it was made, and what was seen of a v with that v, so that neither is
    ever taken for that of another. Whoever goes on from an older v or anchor makes them again.
    """

    factor: Factor | None = field(default=None, init=False)
    anchor: Floats = field(default_factory=lambda: NO_ANCHOR, init=False)
    seen: Seen | None = field(default=None, init=False)
    seen_v: Floats = field(default_factory=lambda: NO_ANCHOR, init=False)
    seen_plain: bool = field(default=False, init=False)  # Its states are in their own order.
    flow: Flow | None = field(default=None, init=False)  # It is that of the last certified v, if it was left.
    story: list[str] = field(default_factory=list, init=False)
    story_v: Floats = field(default_factory=lambda: NO_ANCHOR, init=False)  # The story has led to this v.

    def factor_at(self, problem: Problem, anchor: Floats) -> Factor | None:
        """The factor at this anchor, kept or made; None where the chain is beyond it."""
        if not _same(self.anchor, anchor):
            self.let_go()
            T = problem.lmdp.temperature
            self.factor, self.anchor = factor(problem, anchor if T == 1.0 else anchor / T), anchor
            self.story.append("A factor was made at the present v." if self.factor else "No factor can be made here.")
        return self.factor

    def let_go(self) -> None:
        """Keep no factor."""
        self.factor, self.anchor = None, NO_ANCHOR

    def take(self, v: Floats, plain: bool) -> Seen | None:
        """What was kept of this v, and is now let go: with the states in their own order (``plain``) or in a plan's."""
        seen = self.seen if self.seen_plain is plain and _same(self.seen_v, v) else None
        self.seen, self.seen_v = None, NO_ANCHOR
        return seen

    def keep(self, v: Floats, plain: bool, seen: Seen) -> None:
        """Keep what a certificate computed of v."""
        self.seen, self.seen_v, self.seen_plain = seen, v, plain

    def flow_at(self, v: Floats) -> Flow | None:
        """The flow of this v, if that is the one that is kept."""
        return self.flow if self.flow is not None and _same(self.flow.v, v) else None

    def tell(self, v: Floats, story: list[str]) -> None:
        """This is how v was found."""
        self.story, self.story_v = story, v

    def story_of(self, v: Floats) -> tuple[str, ...]:
        """How this v was found, if it is the last one."""
        return tuple(self.story) if _same(self.story_v, v) else ()


class Solved(NamedTuple):
    """A certified v, the steps it took, and where the next cost begins.

    Of the anchor's rounds: their number, their steps, and the mean of the recent ones. Without an anchor, the rounds
    since sweeps were too few, and what has been waited for an anchor in them, in power steps.
    """

    v: Floats
    lo: float
    hi: float
    steps: int
    anchor: Floats
    age: int
    spent: float
    recent: float


def solve_in_turn(
    lmdp: LMDP, costs: Floats, gaps: Floats, last: Solved, kept: LeaderMemory
) -> tuple[chord.SolvedRounds, Solved]:
    """The optimum for each row of costs, certified within its gap, each from the last; and what the last one is."""
    out, done = chord.SolvedRounds.blank(*costs.shape), 0
    kept.story.clear()
    while done < len(costs):
        more, last = _next(lmdp, costs[done:], gaps[done:], last, kept, out.after(done))
        done += more
    kept.flow, kept.story_v = kept.flow_at(last.v), last.v
    return out, last


def _next(
    lmdp: LMDP, costs: Floats, gaps: Floats, last: Solved, kept: LeaderMemory, out: chord.SolvedRounds
) -> tuple[int, Solved]:
    """The next round, or more of them if they are alike: how many, and the last of them."""
    c, tol, v, anchor, age = costs[0], float(gaps[0]), last.v, last.anchor, Age(*last[-3:])
    problem = Problem(lmdp, c if lmdp.temperature == 1.0 else read_only(c / lmdp.temperature))
    goal, steps = SHARE_FOR_THE_METHOD * tol / lmdp.temperature, 0
    if not anchor.size and age.spent == 0.0 and _is_cheap(problem):
        kept.story.append("With so few states and so little fill, a factor is cheaper than sweeps.")
        anchor = v
    elif not anchor.size and age.spent == 0.0 and len(costs) > 1:
        flow = kept.flow_at(v) or lmdp.moves.flow(v)
        done, kept.flow = sweeps.sweep_block(lmdp, costs, gaps, flow, _FIRST_SWEEPS, out)
        if done:
            kept.story.append(f"{were(done, 'round')} solved by sweeps.")
            at = done - 1
            return done, Solved(
                kept.flow.v, float(out.lo[at]), float(out.hi[at]), int(out.steps[at]), NO_ANCHOR, *chord.NEW
            )
    if not anchor.size or (_is_dear(problem) and age.rounds.bit_count() < 2):  # try without, and keep the anchor
        waiting = 0 if anchor.size else age.rounds
        unaided = age.spent > 0.0 and waiting.bit_count() != 1
        one = chord.Task(problem, costs[:1], gaps[:1], v, _STEPS_WITHOUT_A_FACTOR, inf)
        found, steps, left = _without_factor(one, goal, kept, out, unaided=unaided)
        longer = Age(waiting + 1, age.spent + left, 0.0) if left else chord.NEW
        # Where nothing was found, ``solve`` would plan as well.
        planned = found is None or lmdp.n <= _QUICKLY_PLANNED or longer.spent > _POWER_STEPS_OF_A_PLAN
        better = left > 0.0 and planned and left > _power_steps(problem)
        if found is not None:
            ahead, younger = (found[0], chord.NEW) if better else (NO_ANCHOR, longer)
            return _one(out, Solved(*found, steps, ahead, *younger))
        if not anchor.size:
            anchor, age = (v, chord.NEW) if better else (NO_ANCHOR, longer)
    moved, start = False, v
    while anchor.size:
        made = kept.factor_at(problem, anchor)
        if made is None:
            break
        alike = 1 if len(costs) == 1 or _is_dear(problem) else len(costs)
        price = made.work * problem.plan.work / problem.plan.step
        patience = max(_STEPS_OF_A_CHEAP_ANCHOR, int(price))  # to give up costs a factor at least
        aims = chord.Task(problem, costs[:alike], gaps[:alike], v, patience, price)
        done, found, aged = _iterated(aims, made, out, kept, age)
        steps += int(out.steps[0])
        if found is not None:
            out.steps[0] = steps
            kept.story.append(f"{were(done, 'round')} solved by steps with the factor.")
            if aged == chord.NEW:
                kept.story.append("The factor is worn: the next one is made at the present v.")
                kept.let_go()
                anchor = found[0]
            return done, Solved(*found, int(out.steps[done - 1]), anchor, *aged)
        start = min(start, read_only(out.v[0].copy()), key=lambda u: _gap(lmdp, c, u))
        kept.let_go()
        del made
        if moved or np.array_equal(anchor, v):
            break
        anchor, age, moved = v, chord.NEW, True
    found, more = solved(problem, c, tol, start, goal if anchor.size else 0.0, kept)
    anchor, age = (found[0], chord.NEW) if anchor.size else (NO_ANCHOR, age)
    return _one(out, Solved(*found, steps + more, anchor, *age))


def _one(out: chord.SolvedRounds, found: Solved) -> tuple[int, Solved]:
    """A round that was solved by itself."""
    out.v[0], out.lo[0], out.hi[0], out.steps[0] = found[:4]
    return 1, found


def _without_factor(
    task: chord.Task, goal: float, kept: LeaderMemory, out: chord.SolvedRounds, *, unaided: bool
) -> tuple[_Certified | None, int, float]:
    """(what was found, the steps taken, the power steps that it would have taken, 0 if few)."""
    problem, c, tol, v = task.problem, task.costs[0], float(task.gaps[0]), task.v
    steps, left, tried = 0, 0.0, "sweep"
    if not unaided:
        flow = kept.flow_at(v) or problem.lmdp.moves.flow(v)
        swept = sweeps.sweep(problem.lmdp, c, tol, flow, _FIRST_SWEEPS, out)
        kept.flow = swept.flow
        steps, left = swept.sweeps, _POWER_STEPS_OF_A_SWEEP * swept.left
        if swept.certified:
            kept.story.append(f"{were(steps, tried)} enough.")
            return (swept.v, swept.lo, swept.hi), steps, 0.0
    if not unaided and not steps:  # no room for sweeps
        tried = "power step"
        look = Power(_FIRST_SWEEPS).run(problem, v / problem.lmdp.temperature, goal)
        steps = look.steps
        found = _certified(problem.lmdp, c, tol, problem.lmdp.temperature * look.v, kept) if look.gap <= goal else None
        if found is not None:
            kept.story.append(f"{were(steps, tried)} enough.")
            return found, steps, 0.0
        left = min(log(look.gap / goal) / -log(look.rate), NEVER) if look.gap > goal and look.rate < 1.0 else NEVER
    _, found, _ = _iterated(task, nothing(problem), out, kept, chord.NEW)
    taken = int(out.steps[0])
    before = "" if unaided else f"{were(steps, tried)} too few; "
    kept.story.append(f"{before}{were(taken, 'power step')} with pairs {_enough(found)}.")
    return found, steps + taken, max(left, float(_POWER_STEPS_OF_A_STEP * taken))


def were(count: int, what: str) -> str:
    """A count with its noun and its verb: 1 round was, 2 rounds were."""
    return f"{count} {what} was" if count == 1 else f"{count} {what}s were"


def _enough(found: _Certified | None) -> str:
    return "too few as well" if found is None else "enough"


def _iterated(
    task: chord.Task, made: Factor, out: chord.SolvedRounds, kept: LeaderMemory, age: Age
) -> tuple[int, _Certified | None, Age]:
    """So many rounds with a factor, or until it is too old: how many, the last of them, and the age."""
    plain = made.anchor.lower.size == 0
    done, age, seen = chord.iterate(task, made, out, kept.take(task.v, plain), age)
    if not done:
        return 0, None, age
    v = read_only(out.v[done - 1].copy())
    if done == len(task.costs) or age == chord.NEW:  # else it is of a round that failed
        kept.keep(v, plain, seen)
    return done, (v, float(out.lo[done - 1]), float(out.hi[done - 1])), age


def solved(
    problem: Problem, c: Floats, tol: float, v: Floats, goal: float, kept: LeaderMemory
) -> tuple[_Certified, int]:
    """By elimination where a factor is worth it (there is a goal) and cheap, by whatever suits otherwise."""
    lmdp, steps = problem.lmdp, 0
    if goal > 0.0 and problem.plan.step <= _PRODUCTS_OF_A_CHEAP_STEP * problem.P.nnz:
        method = Dense() if lmdp.n <= STATES_FOR_LAPACK else Direct()
        attempt = method.run(problem, v / lmdp.temperature, goal)
        found, steps = _certified(lmdp, c, tol, lmdp.temperature * attempt.v, kept), attempt.steps
        if found is not None:
            kept.story.append(f"It was solved by {method.name}, in {steps} steps.")
            return found, steps
    solution = solve(lmdp, c, tol=tol, start=v)
    kept.story.append(f"It was solved by {solution.solver}.")
    return (solution.v, *solution.bounds), steps + solution.iterations


def _gap(lmdp: LMDP, c: Floats, v: Floats) -> float:
    _, lo, hi = sparse.residual(lmdp.P, c, v, lmdp.temperature, lmdp.rounding)
    return hi - lo


def _certified(lmdp: LMDP, c: Floats, tol: float, v: Floats, kept: LeaderMemory) -> _Certified | None:
    """v from 0 with the bounds that it proves, if they are narrow enough; its flow is then kept."""
    v = read_only(v - v.min())
    flow, lo, hi = sparse.evaluate(lmdp.P, c, v, lmdp.temperature, lmdp.rounding)
    if not hi - lo <= tol:
        return None
    kept.flow = flow
    return v, lo, hi


def _power_steps(problem: Problem) -> float:
    """Power steps that cost as much as a round with a factor; without end where there is no factor."""
    return inf if problem.plan.sizes is None else _USUAL_STEPS * problem.plan.step / problem.P.data.size


def _is_cheap(problem: Problem) -> bool:
    """Whether a round with a factor costs no more than a first look by sweeps, on a model that is quickly planned."""
    return problem.n <= _QUICKLY_PLANNED and _power_steps(problem) <= _POWER_STEPS_OF_A_SWEEP * _FIRST_SWEEPS


def _is_dear(problem: Problem) -> bool:
    """Whether an attempt without the factor costs less than a round with it."""
    return _power_steps(problem) > _STEPS_WITHOUT_A_FACTOR * _POWER_STEPS_OF_A_STEP


def _same(a: Floats, b: Floats) -> bool:
    return a is b or np.array_equal(a, b)
