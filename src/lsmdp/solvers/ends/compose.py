"""Several goals at once: solutions add up, and so do their certificates.

First exit is linear in z = e^{-v/T}. Let s_1, ..., s_k be solutions of the same model, cost and goals with terminal
costs g_1, ..., g_k, and let the terminal cost be g with e^{-g/T} = sum_i w_i e^{-g_i/T}. B lower_i >= lower_i says that
z_i = e^{-lower_i/T} is at least e^{-c/T} P z_i, row by row; such inequalities add up, with any weights w_i >= 0. So

    lower = -T log sum_i w_i e^{-lower_i/T}

is below the optimum, and the same with upper is above it and above the cost of its own policy: no pass over P is
needed. With unit roundoff u and k solutions, a logarithm of a sum is off by T (2k + 10 + 3 |log|) u + 3 |lower| u
(exponents are taken relative to the least value, with a relative error of 2u, and weigh at most -log of the sum): lower
is lowered by twice that, and upper raised. What is certified are the bounds on the optimum. The policy of the rounded
upper is certified by a pass: ``lsmdp.bounds(lmdp, c, both.v, both.end)``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from lsmdp.arrays import EPS, Floats, Ints, read_only
from lsmdp.ends import Goal
from lsmdp.errors import CostError, SpecError
from lsmdp.solvers.ends.goal import scale_of, status_of
from lsmdp.values import Values

_ROUGH_SHARE = 1e-6  # Bounds that are wider than this share of the values are not called certified, whatever made them.


def compose(solutions: Sequence[Values], weights: Any = None) -> Values:
    """The solution for e^{-g/T} = sum_i weights[i] e^{-g_i/T}, where g_i are the terminal costs of the i-th solution.

    All of them must be solutions of the same model and cost with the same goals. A goal that one of them may not use
    has the terminal cost inf there: ``Goal({"exit": 0.0, "roof": inf})`` and ``Goal({"exit": inf, "roof": 0.0})``
    compose to both. The weights are positive numbers, 1 each where they are left out; halving one adds T log 2 to its
    terminal cost.
    """
    began = time.perf_counter()
    given: list[Any] = [solutions] if isinstance(solutions, Values) else list(solutions)
    w = _as_weights(weights, len(given))
    goals, terminals = _require_same(given)
    first, T = given[0], given[0].lmdp.temperature
    terminal = _soft_sum(terminals, w, T)[0]
    lower, off_lower = _soft_sum(np.array([one.lower for one in given]), w, T)
    upper, off_upper = _soft_sum(np.array([one.upper for one in given]), w, T)
    lower, upper = lower - off_lower, upper + off_upper
    end = Goal(dict(zip(goals.tolist(), terminal.tolist(), strict=True)))
    at_goal = np.zeros(first.lmdp.n, dtype=bool)
    at_goal[goals] = True
    finite = np.isfinite(upper)
    lower[goals] = upper[goals] = terminal
    width = float((upper[finite] - lower[finite]).max(initial=0.0))
    scale = scale_of(first.lmdp, first.c, upper[finite])
    return Values(
        lmdp=first.lmdp,
        c=first.c,
        end=end,
        lower=read_only(lower),
        upper=read_only(upper),
        certified=all(one.certified for one in given) and width <= _ROUGH_SHARE * scale,
        status=status_of(width, scale, _ROUGH_SHARE),
        solver="composed",
        iterations=0,
        seconds=time.perf_counter() - began,
        story=(f"Composed of {len(given)} solutions without a pass over P.",),
        lost=np.flatnonzero(~finite & ~at_goal),
    )


def _soft_sum(values: Floats, weights: Floats, T: float) -> tuple[Floats, Floats]:
    """-T log sum_i w_i e^{-values_i/T}, column by column, and twice a bound on its rounding; inf where all are."""
    low = values.min(axis=0)
    known = np.isfinite(low)
    base = np.where(known, low, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        total = (weights[:, None] * np.exp(-(values - base) / T)).sum(axis=0)
    logs = np.log(np.where(known, total, 1.0))
    out = np.where(known, base - T * logs, np.inf)
    size = T * (2.0 * len(values) + 10.0 + 3.0 * np.abs(logs)) + 3.0 * np.abs(np.where(known, out, 0.0)) + np.abs(base)
    return out, np.where(known, EPS * size, 0.0)


def _as_weights(weights: Any, count: int) -> Floats:
    if not count:
        raise SpecError("there is nothing to compose. Give a list of solutions for goals.")
    try:
        w = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.shape != (count,) or not np.isfinite(w).all() or not (w > 0.0).all():
        raise CostError(f"the weights are {weights} for {count} solutions. Give one positive number for each of them.")
    return w


def _require_same(given: list[Values]) -> tuple[Ints, Floats]:
    """The goals that all of them share, and the terminal costs of each."""
    shared, terminals = np.empty(0, dtype=np.int64), []
    for number, one in enumerate(given, start=1):
        if not isinstance(one, Values) or not isinstance(one.end, Goal):
            raise SpecError(f"the {number}. of what is to be composed is no solution for a goal. Solve with Goal(...).")
        if one.lmdp is not given[0].lmdp or not np.array_equal(one.c, given[0].c):
            raise SpecError(f"solution {number} belongs to another model or cost. Compose solutions of the same ones.")
        goals, g = one.end.settled(one.lmdp)
        shared = goals if number == 1 else shared
        if not np.array_equal(goals, shared):
            raise SpecError(
                f"solution {number} has other goals than the first. Name the same goals in all of them, and give those "
                "that one of them may not use the terminal cost inf."
            )
        terminals.append(g)
    return shared, np.array(terminals)
