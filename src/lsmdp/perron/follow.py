"""The same model again, with a cost that has changed a little: what a leader solves each round.

``follow`` takes the last v, an *anchor* (an earlier v, or nothing yet) and how the anchor has aged, and gives back the
same for the new cost, certified. All of it is a function of its arguments: the factor at the anchor is kept with the
model as long as it is in use, but it can be made again from the anchor, bit for bit. A run that is resumed from
a checkpoint therefore goes on exactly as it would have.

- *No anchor.* A few sweeps (seidel.py), or power steps where v is too steep for them; on graphs that mix fast, or are
  two such graphs loosely joined, they are all it takes. Otherwise power steps with pairs of residuals (chord.py without
  a factor), which remove a few slow modes: other chains that are nearly decomposable or nearly periodic have no more.
  Where steps with a factor are cheaper, the present v becomes the anchor.
- *An anchor.* Steps with its factor (chord.py), after an attempt without it where they are dear. If they fail, the
  anchor moves to the present v, once; if that does not help, ``solve`` is asked.
- *Ageing.* ``fresh`` is the least number of steps since the anchor was made. What rounds take beyond it is added up,
  and a little for the doubt whether a new anchor would do better still, if it can. Once this has cost as much as a
  factorisation, the anchor moves. If the excess grows linearly, that is the period with the least cost per round: with
  excess a t and price F the mean (F + a T^2/2)/T is least where a T^2/2 = F.

What is left behind is let go at once: a leader holds one factor, and what one certificate has computed.
"""

from __future__ import annotations

import operator
from math import inf, log
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import CSR, Floats, read_only
from lsmdp.dissection import room
from lsmdp.model import LMDP
from lsmdp.perron import chord, seidel
from lsmdp.perron.certified import solve
from lsmdp.perron.power import Power
from lsmdp.perron.problem import Problem
from lsmdp.policy import keep_flow

LOOK = 20  # sweeps or power steps before anything else is thought of,
SWEEP = 2.0  # a sweep does the work of this many of the latter
SMALL = 2_000  # states up to which a plan of elimination takes milliseconds
PLANNING = 400  # power steps that take as long as such a plan
MANY = 1e9  # of them, beyond all patience
UNAIDED = 60  # steps without a factor that are tried before one is made, or ``solve`` is asked,
ACCELERATED = 3  # each of which costs as much as this many power steps
USUAL = 3.0  # steps that a round takes with a factor
NEWTON = 2  # steps that a round takes even with a factor of the present v: the first one leaves a square
DOUBT = 0.1  # of the steps beyond, in each round
PATIENCE = 14  # steps before an anchor is given up
KEPT = 4  # factors that are kept with a model
NOWHERE: Floats = read_only(np.empty(0))

Certified = tuple[Floats, float, float]  # v and its bounds

_kept: WeakKeyDictionary[LMDP, list[tuple[Floats, chord.Factor | None]]] = WeakKeyDictionary()
_seen: WeakKeyDictionary[LMDP, list[tuple[Floats, CSR, chord.Seen]]] = WeakKeyDictionary()


class Followed(NamedTuple):
    """A certified v, the steps it took, and where the next round begins; ``fresh`` and ``excess`` are in steps."""

    v: Floats
    lo: float
    hi: float
    steps: int
    anchor: Floats
    fresh: int
    excess: float


def follow(lmdp: LMDP, c: Floats, tol: float, v: Floats, anchor: Floats, fresh: int, excess: float) -> Followed:
    """The optimum for the cost c, certified within tol, from the v of a similar cost on."""
    problem = Problem(lmdp, c if lmdp.temperature == 1.0 else read_only(c / lmdp.temperature))
    goal, steps = 0.9 * tol / lmdp.temperature, 0
    if not anchor.size or _steps(problem) > UNAIDED * ACCELERATED:  # dear: try without, and keep the anchor
        found, steps, left = _without_factor(problem, c, tol, v, goal, unaided=excess > 0.0)
        waited = excess + left if left else 0.0
        better = left > 0.0 and (lmdp.n <= SMALL or waited > PLANNING) and left > _steps(problem)
        if found is not None:
            return Followed(*found, steps, found[0] if better else NOWHERE, 0, 0.0 if better else waited)
        if not anchor.size:
            anchor, fresh, excess = (v, 0, 0.0) if better else (NOWHERE, 0, waited)
    moved = False
    while anchor.size:
        made = _factor(problem, anchor)
        if made is None:
            break
        found, taken = _iterated(problem, c, tol, v, made, PATIENCE, fresh)
        steps += taken
        if found is not None:
            fresh = min(fresh or taken, taken)
            excess += taken - fresh + DOUBT * max(fresh - NEWTON, 0)
            if excess * problem.plan.step > made.work * problem.plan.work:
                _forget(lmdp, anchor)
                return Followed(*found, steps, found[0], 0, 0.0)
            return Followed(*found, steps, anchor, fresh, excess)
        _forget(lmdp, anchor)
        del made
        if moved or anchor is v:
            break
        anchor, fresh, excess, moved = v, 0, 0.0, True
    solution = solve(lmdp, c, tol=tol, start=v)
    steps += solution.iterations
    return Followed(solution.v, *solution.bounds, steps, solution.v if anchor.size else NOWHERE, 0, excess)


def factor_bytes(lmdp: LMDP) -> int:
    """Bytes of the factors that are kept with a model, with the room that it took to make the last one."""
    kept = [made.factors for _, made in _kept.get(lmdp, ()) if made is not None]
    shares = {id(array): array.nbytes for each in kept for array in (each.lower, each.upper, each.pivots)}
    return sum(shares.values()) + (8 * lmdp.elimination_plan.workspace if kept else 0)


def _without_factor(
    problem: Problem, c: Floats, tol: float, v: Floats, goal: float, *, unaided: bool
) -> tuple[Certified | None, int, float]:
    """(what was found, the steps taken, the power steps that it would have taken, 0 if few)."""
    steps, left = 0, 0.0
    if not unaided:
        swept = seidel.sweep(problem.lmdp, c, tol, v, LOOK)
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
    found, taken = _iterated(problem, c, tol, v, chord.nothing(problem), UNAIDED)
    return found, steps + taken, max(left, float(ACCELERATED * taken))


def _iterated(
    problem: Problem, c: Floats, tol: float, v: Floats, made: chord.Factor, limit: int, usual: int = 0
) -> tuple[Certified | None, int]:
    kept = _seen.setdefault(problem.lmdp, [])
    lo, hi, steps, v, seen = chord.iterate(problem, c, v, _taken(kept, v, made.P), made, tol, limit, usual)
    if not hi - lo <= tol:
        return None, steps
    _keep(kept, (v, made.P, seen))
    return (v, lo, hi), steps


def _certified(lmdp: LMDP, c: Floats, tol: float, v: Floats) -> Certified | None:
    """v from 0 with the bounds that it proves, if they are narrow enough."""
    v = read_only(v - v.min())
    flow, lo, hi = kernels.evaluate(lmdp.P, c, v, lmdp.temperature)
    if not hi - lo <= tol:
        return None
    keep_flow(lmdp, flow)
    return v, lo, hi


def _taken(kept: list[tuple[Floats, CSR, chord.Seen]], v: Floats, P: CSR) -> chord.Seen | None:
    """What a certificate computed of this v, with the states in the order of this copy of P; it is kept no longer."""
    found = next((seen for at, copy, seen in kept if at is v and copy is P), None)
    kept[:] = [entry for entry in kept if entry[0] is not v]
    return found


def _steps(problem: Problem) -> float:
    """Power steps that cost as much as a round with a factor; without end where there is no factor."""
    return inf if problem.plan.blocks is None else USUAL * problem.plan.step / problem.P.data.size


def _factor(problem: Problem, anchor: Floats) -> chord.Factor | None:
    """The factor at this anchor, kept or made."""
    kept = _kept.setdefault(problem.lmdp, [])
    for same in (operator.is_, np.array_equal):
        for at, made in kept:
            if same(at, anchor):
                return made
    while kept and (len(kept) + 1) * 8 * problem.plan.stored > room():
        del kept[0]
    made = chord.factor(problem, anchor / problem.lmdp.temperature)
    _keep(kept, (anchor, made))
    return made


def _forget(lmdp: LMDP, anchor: Floats) -> None:
    """Let go of the factor at this anchor."""
    kept = _kept.get(lmdp, [])
    kept[:] = [entry for entry in kept if entry[0] is not anchor]


def _keep(kept: list[Any], new: Any) -> None:
    del kept[: len(kept) - KEPT + 1]
    kept.append(new)
