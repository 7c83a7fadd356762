"""The same model again, with a cost that has changed a little: what a leader solves each round.

``follow`` takes the last v, an *anchor* (an earlier v, or nothing yet) and how the anchor has aged, and gives back the
same for the new cost, certified. All of it is a function of its arguments: the factor at the anchor is kept with the
model as long as it is in use, but it can be made again from the anchor, bit for bit. A run that is resumed from
a checkpoint therefore goes on exactly as it would have.

- *No anchor.* A few power steps; on graphs that mix fast they are all it takes. Otherwise their contraction tells how
  many more it would take. Where steps with a factor are cheaper, the present v becomes the anchor.
- *An anchor.* Steps with its factor (chord.py). If they fail, the anchor moves to the present v, once; if that does not
  help, ``solve`` is asked.
- *Ageing.* ``fresh`` is the least number of steps since the anchor was made. What rounds take beyond it is added up,
  and a little for the doubt whether a new anchor would do better still. Once this has cost as much as a factorisation,
  the anchor moves. If the excess grows linearly, that is the period with the least cost per round: with excess a t
  and price F the mean (F + a T^2/2)/T is least where a T^2/2 = F.
"""

from __future__ import annotations

from math import inf, log
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import Floats, read_only
from lsmdp.model import LMDP
from lsmdp.perron import chord
from lsmdp.perron.certified import solve
from lsmdp.perron.power import Power
from lsmdp.perron.problem import Problem

LOOK = 20  # power steps before anything else is thought of
SMALL = 2_000  # states up to which a plan of elimination takes milliseconds
PLANNING = 400  # power steps that take as long as such a plan
USUAL = 3.0  # steps that a round takes with a factor
DOUBT = 0.1  # of the steps of a fresh factor, in each round
PATIENCE = 14  # steps before an anchor is given up
KEPT = 4  # factors that are kept with a model
NOWHERE: Floats = read_only(np.empty(0))

_kept: WeakKeyDictionary[LMDP, list[tuple[Floats, chord.Factor | None]]] = WeakKeyDictionary()
_evaluated: WeakKeyDictionary[LMDP, list[tuple[Floats, kernels.Evaluation]]] = WeakKeyDictionary()


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
    T = lmdp.temperature
    problem = Problem(lmdp, c if T == 1.0 else read_only(c / T))
    goal, steps = 0.9 * tol / T, 0
    if not anchor.size:
        look = Power(LOOK).run(problem, v / T, goal)
        steps = look.steps
        done = _certified(lmdp, c, tol, T * look.v) if look.gap <= goal else None
        if done is not None:
            return Followed(*done, steps, NOWHERE, 0, 0.0)
        left = log(look.gap / goal) / -log(look.rate) if goal < look.gap < inf and look.rate < 1.0 else inf
        if (lmdp.n <= SMALL or excess + left > PLANNING) and left > _steps(problem):
            anchor, fresh, excess = v, 0, 0.0
        else:
            excess += left
    moved = False
    while anchor.size:
        made = _factor(problem, anchor)
        if made is None:
            break
        u, span, taken = chord.iterate(problem, v / T, _evaluation(lmdp, c, v), goal, made, PATIENCE)
        steps += taken
        done = _certified(lmdp, c, tol, T * u) if span <= goal else None
        if done is not None:
            fresh = min(fresh or taken, taken)
            excess += taken - fresh + DOUBT * fresh
            if excess * _step(problem) > problem.plan.work:
                return Followed(*done, steps, done[0], 0, 0.0)
            return Followed(*done, steps, anchor, fresh, excess)
        if moved or anchor is v:
            break
        anchor, fresh, excess, moved = v, 0, 0.0, True
    solution = solve(lmdp, c, tol=tol, start=v)
    steps += solution.iterations
    return Followed(solution.v, *solution.bounds, steps, solution.v if anchor.size else NOWHERE, 0, excess)


def _certified(lmdp: LMDP, c: Floats, tol: float, v: Floats) -> tuple[Floats, float, float] | None:
    """v from 0 with the bounds that it proves, if they are narrow enough."""
    v = read_only(v - v.min())
    evaluation, lo, hi = kernels.evaluate(lmdp.P, c, v, lmdp.temperature)
    if not hi - lo <= tol:
        return None
    _keep(_evaluated.setdefault(lmdp, []), (v, evaluation))
    return v, lo, hi


def _evaluation(lmdp: LMDP, c: Floats, v: Floats) -> kernels.Evaluation:
    """What the certificate of this v computed, kept or computed again."""
    for at, evaluation in _evaluated.setdefault(lmdp, []):
        if at is v:
            return evaluation
    evaluation, _, _ = kernels.evaluate(lmdp.P, c, v, lmdp.temperature)
    return evaluation


def _step(problem: Problem) -> float:
    """Multiply-adds of a step with a factor: two triangles, a product with P, and several passes over the states."""
    return float(2 * problem.plan.stored + 4 * problem.lmdp.nnz)


def _steps(problem: Problem) -> float:
    """Power steps that cost as much as a round with a factor; without end where there is no factor."""
    return inf if problem.plan.blocks is None else USUAL * _step(problem) / problem.lmdp.nnz


def _factor(problem: Problem, anchor: Floats) -> chord.Factor | None:
    """The factor at this anchor, kept or made."""
    kept = _kept.setdefault(problem.lmdp, [])
    for at, made in kept:
        if at is anchor or np.array_equal(at, anchor):
            return made
    _make_room(kept)
    made = chord.factor(problem, anchor / problem.lmdp.temperature)
    _keep(kept, (anchor, made))
    return made


def _make_room(kept: list[Any]) -> None:
    del kept[: len(kept) - KEPT + 1]


def _keep(kept: list[Any], new: Any) -> None:
    _make_room(kept)
    kept.append(new)
