"""The same model again, with a cost that has changed a little: what a leader solves each round.

``follow`` takes the last v, an *anchor* (an earlier v, or nothing yet) and how the anchor has aged, and gives back the
same for the new cost, certified; ``follow_all`` does so for one cost after another, and as long as steps with the same
factor are all it takes, without leaving compiled code. All of it is a function of its arguments: the factor at the
anchor is kept with the model as long as it is in use, but it can be made again from the anchor, bit for bit. A run that
is resumed from a checkpoint therefore goes on exactly as it would have, and it does not matter how the costs are cut
into stretches.

- *No anchor.* A few sweeps (sweeps.py), or power steps where v is too steep for them; on graphs that mix fast, or are
  two such graphs loosely joined, they are all it takes. Otherwise power steps with pairs of residuals (chord.py without
  a factor), which remove a few slow modes: other chains that are nearly decomposable or nearly periodic have no more.
  Where steps with a factor are cheaper, the present v becomes the anchor.
- *An anchor.* Steps with its factor (chord.py), after an attempt without it where they are dear. If they fail, the
  anchor moves to the present v, once; if that does not help, ``solve`` is asked, and where a factor is cheap,
  inverse iteration (inverse.py) before. So it is where another well of v becomes the deepest, and v moves far.
- *Ageing.* The anchor moves when its recent rounds take more steps than its rounds did on average, the price F of the
  factor included: the mean (F + k_1 + ... + k_m) / m falls as long as the next k is below it, and rises from there on.
  So a factor is kept where rounds would soon take as many steps with a new one. That they would cannot be known: each
  round, a tenth of the steps beyond the first is left out of the sum, so that one day the doubt is put to the test.

What is left behind is let go at once: a leader holds one factor, and what one certificate has computed.
"""

from __future__ import annotations

import operator
from math import inf, log
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lsmdp._core import sparse
from lsmdp._core.ordering import room
from lsmdp.arrays import Floats, read_only
from lsmdp.model import LMDP
from lsmdp.policy import keep_flow
from lsmdp.solvers.certified import solve
from lsmdp.solvers.factored import Direct
from lsmdp.solvers.power import Power
from lsmdp.solvers.problem import Problem
from lsmdp.solvers.warm import chord, sweeps
from lsmdp.solvers.warm.anchor import Factor, factor, nothing

LOOK = 20  # sweeps or power steps before anything else is thought of,
SWEEP = 2.0  # a sweep does the work of this many of the latter
SMALL = 2_000  # states up to which a plan of elimination takes milliseconds
PLANNING = 400  # power steps that take as long as such a plan
MANY = 1e9  # of them, beyond all patience
UNAIDED = 60  # steps without a factor that are tried before one is made, or ``solve`` is asked,
ACCELERATED = 3  # each of which costs as much as this many power steps
USUAL = 3.0  # steps that a round takes with a factor
SPARSE = 20.0  # products with P that a solve costs where a factor is cheap: 5 to 11 on roads, 30 on small random graphs
PATIENCE = 14  # steps before an anchor is given up, if its factor is cheap
KEPT = 4  # factors that are kept with a model
NOWHERE: Floats = read_only(np.empty(0))

Certified = tuple[Floats, float, float]  # v and its bounds

_kept: WeakKeyDictionary[LMDP, list[tuple[Floats, Factor | None]]] = WeakKeyDictionary()
_seen: WeakKeyDictionary[LMDP, list[tuple[Floats, bool, chord.Seen]]] = WeakKeyDictionary()


class Followed(NamedTuple):
    """A certified v, the steps it took, and where the next round begins.

    Of the anchor's rounds: their number, their steps, and the mean of the recent ones. Without an anchor, ``spent``
    is what has been waited for one, in power steps.
    """

    v: Floats
    lo: float
    hi: float
    steps: int
    anchor: Floats
    age: int
    spent: float
    recent: float


def follow(
    lmdp: LMDP, c: Floats, tol: float, v: Floats, anchor: Floats, age: int, spent: float, recent: float
) -> Followed:
    """The optimum for the cost c, certified within tol, from the v of a similar cost on."""
    return follow_all(lmdp, c[np.newaxis], np.array([tol]), v, anchor, age, spent, recent)[1]


def follow_all(
    lmdp: LMDP, costs: Floats, gaps: Floats, v: Floats, anchor: Floats, age: int, spent: float, recent: float
) -> tuple[chord.Rounds, Followed]:
    """The optimum for each row of costs, certified within its gap, each from the last; and what the last one is."""
    out, done = chord.Rounds.blank(*costs.shape), 0
    last = Followed(v, -inf, inf, 0, anchor, age, spent, recent)
    while done < len(costs):
        more, last = _next(lmdp, costs[done:], gaps[done:], last, out.after(done))
        done += more
    return out, last


def _next(lmdp: LMDP, costs: Floats, gaps: Floats, last: Followed, out: chord.Rounds) -> tuple[int, Followed]:
    """The next round, or more of them if they are alike: how many, and the last of them."""
    c, tol, v, anchor, age = costs[0], float(gaps[0]), last.v, last.anchor, chord.Age(*last[-3:])
    problem = Problem(lmdp, c if lmdp.temperature == 1.0 else read_only(c / lmdp.temperature))
    goal, steps = 0.9 * tol / lmdp.temperature, 0
    if not anchor.size and age.spent == 0.0 and len(costs) > 1:
        done, swept = sweeps.sweep_all(lmdp, costs, gaps, v, LOOK, out)
        if done:
            at = done - 1
            return done, Followed(swept, float(out.lo[at]), float(out.hi[at]), int(out.steps[at]), NOWHERE, *chord.NEW)
    if not anchor.size or _dear(problem):  # try without, and keep the anchor
        found, steps, left = _without_factor(problem, c, tol, v, goal, unaided=age.spent > 0.0)
        waited = age.spent + left if left else 0.0
        planned = found is None or lmdp.n <= SMALL or waited > PLANNING  # worth a plan, which ``solve`` would make too
        better = left > 0.0 and planned and left > _steps(problem)
        if found is not None:
            waiting = chord.NEW if better else chord.Age(0, waited, 0.0)
            return _one(out, Followed(*found, steps, found[0] if better else NOWHERE, *waiting))
        if not anchor.size:
            anchor, age = (v, chord.NEW) if better else (NOWHERE, chord.Age(0, waited, 0.0))
    moved, start = False, v
    while anchor.size:
        made = _factor(problem, anchor)
        if made is None:
            break
        alike = 1 if len(costs) == 1 or _dear(problem) else len(costs)
        price = made.work * problem.plan.work / problem.plan.step
        patience = max(PATIENCE, int(price))  # to give up costs a factor at least
        done, found, aged = _iterated(problem, costs[:alike], gaps[:alike], v, made, patience, out, age, price)
        steps += int(out.steps[0])
        if found is not None:
            out.steps[0] = steps
            if aged == chord.NEW:  # it is worn
                forget(lmdp, anchor)
                anchor = found[0]
            return done, Followed(*found, int(out.steps[done - 1]), anchor, *aged)
        start = min(start, read_only(out.v[0].copy()), key=lambda u: _gap(lmdp, c, u))
        forget(lmdp, anchor)
        del made
        if moved or np.array_equal(anchor, v):
            break
        anchor, age, moved = v, chord.NEW, True
    found, more = _solved(problem, c, tol, start, goal if anchor.size else 0.0)
    anchor, age = (found[0], chord.NEW) if anchor.size else (NOWHERE, age)
    return _one(out, Followed(*found, steps + more, anchor, *age))


def _one(out: chord.Rounds, found: Followed) -> tuple[int, Followed]:
    """A round that was solved by itself."""
    out.v[0], out.lo[0], out.hi[0], out.steps[0] = found[:4]
    return 1, found


def factor_bytes(lmdp: LMDP) -> int:
    """Bytes of the factors that are kept with a model: shares and pivots, the blocks that say where, the order."""
    kept = [made.factors for _, made in _kept.get(lmdp, ()) if made is not None]
    arrays = (array for f in kept for array in (f.lower, f.upper, f.pivots, f.order, f.bases, *f.blocks))
    return sum({id(array): array.nbytes for array in arrays}.values())


def _without_factor(
    problem: Problem, c: Floats, tol: float, v: Floats, goal: float, *, unaided: bool
) -> tuple[Certified | None, int, float]:
    """(what was found, the steps taken, the power steps that it would have taken, 0 if few)."""
    steps, left = 0, 0.0
    if not unaided:
        swept = sweeps.sweep(problem.lmdp, c, tol, v, LOOK)
        steps, left = swept.sweeps, SWEEP * swept.left
        if swept.certified:
            return (swept.v, swept.lo, swept.hi), steps, 0.0
    if not unaided and not steps:  # no room for sweeps
        look = Power(LOOK).run(problem, v / problem.lmdp.temperature, goal)
        steps = look.steps
        found = _certified(problem.lmdp, c, tol, problem.lmdp.temperature * look.v) if look.gap <= goal else None
        if found is not None:
            return found, steps, 0.0
        left = min(log(look.gap / goal) / -log(look.rate), MANY) if look.gap > goal and look.rate < 1.0 else MANY
    out = chord.Rounds.blank(1, v.size)
    _, found, _ = _iterated(problem, c[np.newaxis], np.array([tol]), v, nothing(problem), UNAIDED, out)
    taken = int(out.steps[0])
    return found, steps + taken, max(left, float(ACCELERATED * taken))


def _iterated(
    problem: Problem,
    costs: Floats,
    gaps: Floats,
    v: Floats,
    made: Factor,
    limit: int,
    out: chord.Rounds,
    age: chord.Age = chord.NEW,
    price: float = inf,
) -> tuple[int, Certified | None, chord.Age]:
    """So many rounds with a factor, or until it is too old: how many, the last of them, and the age."""
    kept, plain = _seen.setdefault(problem.lmdp, []), made.empty
    seen = _taken(kept, v, plain)
    done, age, seen = chord.iterate(problem, costs, v, seen, made, gaps, limit, out, age, price)
    if not done:
        return 0, None, age
    v = read_only(out.v[done - 1].copy())
    if done == len(costs) or age == chord.NEW:  # else it is of a round that failed
        _keep(kept, (v, plain, seen))
    return done, (v, float(out.lo[done - 1]), float(out.hi[done - 1])), age


def _solved(problem: Problem, c: Floats, tol: float, v: Floats, goal: float) -> tuple[Certified, int]:
    """By elimination where a factor is worth it (there is a goal) and cheap, by whatever suits otherwise."""
    lmdp, steps = problem.lmdp, 0
    if goal > 0.0 and problem.plan.step <= SPARSE * problem.P.nnz:
        attempt = Direct().run(problem, v / lmdp.temperature, goal)
        found, steps = _certified(lmdp, c, tol, lmdp.temperature * attempt.v), attempt.steps
        if found is not None:
            return found, steps
    solution = solve(lmdp, c, tol=tol, start=v)
    return (solution.v, *solution.bounds), steps + solution.iterations


def _gap(lmdp: LMDP, c: Floats, v: Floats) -> float:
    _, lo, hi = sparse.residual(lmdp.P, c, v, lmdp.temperature, lmdp.rounding)
    return hi - lo


def _certified(lmdp: LMDP, c: Floats, tol: float, v: Floats) -> Certified | None:
    """v from 0 with the bounds that it proves, if they are narrow enough."""
    v = read_only(v - v.min())
    flow, lo, hi = sparse.evaluate(lmdp.P, c, v, lmdp.temperature, lmdp.rounding)
    if not hi - lo <= tol:
        return None
    keep_flow(lmdp, flow)
    return v, lo, hi


def _taken(kept: list[tuple[Floats, bool, chord.Seen]], v: Floats, plain: bool) -> chord.Seen | None:
    """What a certificate computed of this v, the states in their own order or of elimination; it is kept no longer."""
    found = next((seen for at, as_is, seen in kept if at is v and as_is is plain), None)
    kept[:] = [entry for entry in kept if entry[0] is not v]
    return found


def _steps(problem: Problem) -> float:
    """Power steps that cost as much as a round with a factor; without end where there is no factor."""
    return inf if problem.plan.blocks is None else USUAL * problem.plan.step / problem.P.data.size


def _dear(problem: Problem) -> bool:
    """Whether an attempt without the factor costs less than a round with it."""
    return _steps(problem) > UNAIDED * ACCELERATED


def _factor(problem: Problem, anchor: Floats) -> Factor | None:
    """The factor at this anchor, kept or made."""
    kept = _kept.setdefault(problem.lmdp, [])
    for same in (operator.is_, np.array_equal):
        for at, made in kept:
            if same(at, anchor):
                return made
    while kept and (len(kept) + 1) * 8 * problem.plan.stored > room():
        del kept[0]
    made = factor(problem, anchor if problem.lmdp.temperature == 1.0 else anchor / problem.lmdp.temperature)
    _keep(kept, (anchor, made))
    return made


def forget(lmdp: LMDP, anchor: Floats) -> None:
    """Let go of the factor at this anchor."""
    kept = _kept.get(lmdp, [])
    kept[:] = [entry for entry in kept if entry[0] is not anchor]


def _keep(kept: list[Any], new: Any) -> None:
    del kept[: len(kept) - KEPT + 1]
    kept.append(new)
