"""Pairs of functions that enclose the optimum from each state, for a goal and for a discount.

From any v a pair is made by moving v down and up, by as much as its residual asks for; then both sides are checked row
by row, as they are returned. A pair that fails the check is made wider. The package says why a pair that passes is a
proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from lsmdp._core import exits
from lsmdp.arrays import EPS, Floats, as_value, read_only
from lsmdp.certificates.first_exit import FirstExit, Spread
from lsmdp.errors import ConvergenceError
from lsmdp.model import LMDP

# A pair of bounds that fails its check is made wider by this factor, which is small beside what bounds gain.
_WIDENING = 1.5
_WIDENINGS = 40  # A pair is made wider at most this many times: 1.5^40 is 10^7, and more would say nothing.


class Pair(NamedTuple):
    """lower <= optimum <= cost of the policy of ``upper`` <= upper, state by state."""

    lower: Floats
    upper: Floats


class Equations(Protocol):
    """What a pair is checked against."""

    @property
    def inside(self) -> Any:
        """The states that have an equation."""

    def residual(self, v: Floats) -> tuple[Floats, Floats]:
        """r = Bv - v, and a bound on the rounding of each entry."""


def is_below(equations: Equations, v: Floats) -> bool:
    """Whether Bv >= v for certain: then v is at most the optimum."""
    r, e = equations.residual(v)
    return bool((r - e >= 0.0)[equations.inside].all())


def is_above(equations: Equations, v: Floats) -> bool:
    """Whether Bv <= v for certain: then the policy of v costs at most v."""
    r, e = equations.residual(v)
    return bool((r + e <= 0.0)[equations.inside].all())


def goal_bounds(problem: FirstExit, v: Any) -> Pair:
    """The pair that v proves for a first exit; where it proves none, the bounds by paths if there are any."""
    values = np.array(v, dtype=np.float64) if isinstance(v, np.ndarray) else v
    if isinstance(values, np.ndarray) and values.shape == (problem.lmdp.n,):
        values[~problem.inside] = 0.0
    given = problem.filled(as_value(values, problem.lmdp.names))
    try:
        return exit_pair(problem, given, problem.spread(given))
    except ConvergenceError:
        nothing = np.full(problem.lmdp.n, np.inf)
        return _with_paths(problem, problem.filled(-nothing), problem.filled(nothing))


def exit_pair(problem: FirstExit, v: Floats, spread: Spread) -> Pair:
    """v - h and v + h, checked; ``spread`` makes h of residuals (FirstExit.spread)."""
    r, e = problem.residual(v)
    with np.errstate(all="ignore"):
        below, above = (np.maximum(spread(np.maximum(side, 0.0) + 2.0 * e), 0.0) for side in (-r, r))
        factor, lower, upper = 1.0, None, None
        for _ in range(_WIDENINGS):
            if lower is None and is_below(problem, low := problem.filled(v - factor * below)):
                lower = low
            if upper is None and is_above(problem, high := problem.filled(v + factor * above)):
                upper = high
            if lower is not None and upper is not None:
                break
            factor *= _WIDENING
    nothing = np.full(v.size, np.inf)
    if lower is not None and upper is not None:
        return Pair(read_only(lower), read_only(upper))
    lower, upper = (problem.filled(-nothing) if lower is None else lower), (nothing if upper is None else upper)
    return _with_paths(problem, lower, upper)


def _with_paths(problem: FirstExit, lower: Floats, upper: Floats) -> Pair:
    """A side that is missing is that by paths, which holds for the optimum."""
    if problem.paths is not None:
        lower = np.where(np.isneginf(lower), problem.paths[0], lower)
        upper = problem.paths[1] if np.isinf(upper[problem.order]).any() else upper
    return Pair(read_only(lower), read_only(upper))


@dataclass(frozen=True, eq=False)
class Discount:
    """The discounted equations v = c - T log P e^{-av/T} of one model and one cost."""

    lmdp: LMDP
    c: Floats
    discount: float

    @cached_property
    def inside(self) -> Any:
        """All states."""
        return np.ones(self.lmdp.n, dtype=bool)

    @cached_property
    def slack(self) -> float:
        """What each residual may be off by where costs of moves were absorbed."""
        return self.lmdp.slack(self.c)

    def residual(self, v: Floats) -> tuple[Floats, Floats]:
        """r = Bv - v, and a bound on the rounding of each entry."""
        low = float(v.min())
        above = v - low
        later = self.discount * above
        b, error = exits.soft_minima(self.lmdp.P, later, self.lmdp.temperature, self.inside)
        total = self.c + b
        base, rest = total - above, (1.0 - self.discount) * low
        r = base - rest
        sizes = np.abs(total) + np.abs(base) + np.abs(r) + (2.0 * abs(rest) + 2.0 * float(above.max()))
        return r, error + EPS * sizes + self.slack

    def pair(self, v: Floats) -> Pair:
        """v moved down and up by constants, checked."""
        with np.errstate(all="ignore"):
            r, e = self.residual(v)
            rest = (1.0 - self.discount) * (1.0 - EPS)
            least, most = float((r - 2.0 * e).min()), float((r + 2.0 * e).max())
            margin = float(e.max()) + EPS * float(np.abs(v).max())  # v + constant is rounded, too
            for attempt in range(_WIDENINGS):
                extra = margin * (_WIDENING**attempt - 1.0)
                lower, upper = v + (least - extra) / rest, v + (most + extra) / rest
                if is_below(self, lower) and is_above(self, upper):
                    return Pair(read_only(lower), read_only(upper))
        nothing = np.full(v.size, np.inf)
        return Pair(read_only(-nothing), read_only(nothing))


def outward(low: Any, high: Any) -> Any:
    """Two bounds one float further apart each, for the operation that made them."""
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
