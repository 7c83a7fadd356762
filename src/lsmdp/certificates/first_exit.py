"""First exit as a system of equations: who can reach a goal, the residual of any v, path bounds, exit times.

Let A be the goals with terminal costs g, and N the states that are no goal and can reach one of finite cost. On N

    v(x) = (Bv)(x) = c(x) - T log sum_y P(x,y) e^{-v(y)/T},        v = g on A,    v = +inf on all other states.

The other states are *lost*: from there no goal can be reached, so no policy that exits for sure may enter them. What
goes there drops out of the sum, and the rows of what is left need not sum to 1.

**Paths.** Where c >= 0 on N, two runs of Dijkstra's algorithm enclose the optimum V before anything is solved. Let d be
the least cost of a path to a goal, where leaving x costs c(x). Then (Bd)(x) >= c(x) + min_y d(y) = d(x), a sum of
chances being at most 1; so d <= V (certificates/). Let D be the same with c(x) - T log P(x,y) for the move from x to
y. Then (BD)(x) <= c(x) - T log P(x,y) + D(y) for each y, so BD <= D, and V <= D. Both tend to the length of the
shortest path as T goes to 0. A computed path adds up at most n terms, of size S = max|g| + max D together: 2 n u S is
taken off d and added to D.

**Linear systems.** With Q = Q_v between states of N, M = I - Q is a matrix of weights and killing rates (factor.py):
the chain is killed by its moves into A. M d = r is a step of Newton's method, M w = 1 gives the times until the exit.
Large chains that exit soon need no factor: sweeps give a w with w - Qw >= 1/2, and 2w serves as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csgraph, csr_array

from lsmdp._core import exits, sparse
from lsmdp._core.factor import Elimination, eliminate
from lsmdp._core.paths import lower_to_paths
from lsmdp.arrays import CSR, EPS, Floats, Ints, as_cost, like, read_only
from lsmdp.ends import Goal
from lsmdp.errors import AssumptionError, ConvergenceError
from lsmdp.model import LMDP

# So many sweeps for the exit times go before an elimination; a chain that exits soon needs far fewer.
_TIME_SWEEPS = 300
# From this many moves on, rows are swept as they lie in memory, always forwards, and Dijkstra's algorithm, which takes
# seconds there, is left for later.
_MANY_MOVES = 2_000_000
_SWEPT_AT_ONCE = 6  # So many sweeps are made between two looks at what they have reached, so that looking costs little.

Spread = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class FirstExit:
    """The equations of one model, one cost and one goal. ``order`` holds N, those close to a goal first."""

    lmdp: LMDP
    c: Floats
    end: Goal
    goals: Ints
    g: Floats
    order: Ints

    @classmethod
    def of(cls, lmdp: LMDP, c: Any, end: Goal) -> FirstExit:
        """The equations, once the goals have been found; an error where nothing can reach any of them."""
        goals, g = end.settled(lmdp)
        order = _backwards(lmdp.P, goals, np.isfinite(g))
        if not order.size and goals.size < lmdp.n:
            names = ", ".join(lmdp.name_of(int(x)) for x in goals[:3])
            raise AssumptionError(
                f"no other state can reach the goal ({names}). Check the direction of the moves: P[x] is the law of "
                "the next state from x."
            )
        return cls(lmdp, as_cost(c, lmdp.names), end, goals, g, order)

    @cached_property
    def inside(self) -> Any:
        """Which states belong to N."""
        mask = np.zeros(self.lmdp.n, dtype=bool)
        mask[self.order] = True
        return read_only(mask)

    @cached_property
    def is_large(self) -> bool:
        """Whether what is far apart in memory takes long to come by."""
        return self.lmdp.nnz >= _MANY_MOVES

    @cached_property
    def as_stored(self) -> Ints:
        """N in the order of the states."""
        return np.flatnonzero(self.inside)

    @cached_property
    def lost(self) -> Ints:
        """The states that are no goal and cannot reach one."""
        mask = ~self.inside
        mask[self.goals] = False
        return np.flatnonzero(mask)

    @property
    def nonnegative(self) -> bool:
        """Whether no step inside is paid for: then the optimum is finite, and paths enclose it."""
        return bool((self.c[self.order] >= 0.0).all())

    @cached_property
    def slack(self) -> float:
        """What each residual may be off by where costs of moves were absorbed."""
        return self.lmdp.slack(self.c)

    def filled(self, inner: Floats) -> Floats:
        """The values of N with g at the goals and inf at lost states."""
        v = np.full(self.lmdp.n, np.inf)
        v[self.order] = inner[self.order]
        v[self.goals] = self.g
        return v

    def residual(self, v: Floats) -> tuple[Floats, Floats]:
        """r = Bv - v on N, and a bound on the rounding of each entry; 0 elsewhere."""
        b, error = exits.soft_minima(self.lmdp.P, v, self.lmdp.temperature, self.inside)
        with np.errstate(invalid="ignore"):
            total = self.c + b
            r = total - v
            error = error + EPS * (np.abs(total) + np.abs(r)) + self.slack
        return np.where(self.inside, r, 0.0), np.where(self.inside, error, 0.0)

    @cached_property
    def paths(self) -> tuple[Floats, Floats] | None:
        """The two bounds by paths, (d, D), rounding enclosed; None where a cost on N is negative."""
        if not self.nonnegative:
            return None
        PT = self.lmdp.reversed_P
        low = self._path_values(PT, np.zeros(PT.nnz))
        high = self._path_values(PT, self.lmdp.temperature * np.log(PT.data))
        reached = high[self.order]
        size = float(np.abs(self.g[np.isfinite(self.g)]).max() + np.abs(reached).max(initial=0.0))
        off = EPS * self.lmdp.n * size + self.lmdp.n * self.slack
        return read_only(low - np.where(self.inside, off, 0.0)), read_only(high + np.where(self.inside, off, 0.0))

    def _path_values(self, PT: CSR, gains: Floats) -> Floats:
        v, c = self.filled(np.full(self.lmdp.n, np.inf)), np.where(self.inside, self.c, np.inf)
        return lower_to_paths(like(PT, np.maximum(c[PT.indices] - gains, 0.0)), v)

    def policy(self, v: Floats) -> tuple[Floats, Floats]:
        """Q_v between states of N, aligned with P, and the mass that moves from each of them to a goal."""
        with np.errstate(invalid="ignore"):
            weights = sparse.policy_weights(self.lmdp.P, v, self.lmdp.temperature)
        rows, columns = self.lmdp.entry_rows, self.lmdp.P.indices
        weights[~self.inside[rows]] = 0.0
        out = ~self.inside[columns]
        killing = np.bincount(rows[out], weights[out], minlength=self.lmdp.n).astype(np.float64)
        weights[out] = 0.0
        return weights, killing

    def factor(self, weights: Floats, killing: Floats) -> Elimination:
        """I - Q for these weights, factored; states outside N are left with certainty, alone."""
        return eliminate(self.lmdp.elimination_plan, weights, np.where(self.inside, killing, 1.0))

    def spread(self, v: Floats) -> Spread:
        """A map from q >= 0 to some h with h - Q_v h >= q or nearly so: what pays for residuals of size q."""
        weights, killing = self.policy(v)
        times = self._swept_times(weights)
        if times is not None:
            return lambda q: 2.0 * float(q.max()) * times
        if self.lmdp.elimination_plan.entries is None:
            raise ConvergenceError(
                f"the policy takes very long to reach the goal: {_TIME_SWEEPS} sweeps over the states do not tell how "
                "long, and an elimination would fill up. Give a goal that is easier to reach, or higher costs."
            )
        return self.factor(weights, killing).solve

    def _swept_times(self, weights: Floats) -> Floats | None:
        """Some w with w - Qw >= 1/2 on N, by sweeps; None where they do not get there."""
        rows = self.lmdp.entry_rows
        stay = np.zeros(self.lmdp.n)
        diagonal = rows == self.lmdp.P.indices
        stay[rows[diagonal]] = weights[diagonal]
        Q = like(self.lmdp.P, weights)
        with np.errstate(divide="ignore"):
            gain = np.where(self.inside, 1.0 / (1.0 - stay), 0.0)
        if not np.isfinite(gain).all():
            return None
        w, ones = np.zeros(self.lmdp.n), np.ones(self.lmdp.n)
        order = self.as_stored if self.is_large else self.order
        for _ in range(_TIME_SWEEPS // _SWEPT_AT_ONCE):
            for k in range(_SWEPT_AT_ONCE):
                exits.sweep_linear(sparse.rows(Q), gain, ones, w, order if self.is_large or k % 2 == 0 else order[::-1])
            if ((w - Q @ w)[self.order] >= 0.5).all():
                return w
        return None


def _backwards(P: CSR, goals: Ints, allowed: Any) -> Ints:
    """The states that are no goal and lead to one that is allowed, in the order of a search from there."""
    n, wanted = int(P.shape[0]), goals[allowed]
    if P.nnz >= _MANY_MOVES:
        known = np.zeros(n, dtype=np.int8)
        known[goals] = np.where(allowed, 1, 2)
        if (found := exits.leading(P, known)) is not None:
            return np.asarray(read_only(found))
    is_goal = np.zeros(n, dtype=bool)
    is_goal[goals] = True
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(P.indptr))
    kept = ~is_goal[rows]
    tails = np.concatenate([P.indices[kept], np.full(wanted.size, n, dtype=np.int32)])
    heads = np.concatenate([rows[kept], wanted.astype(np.int32)])
    graph = csr_array((np.ones(tails.size, dtype=np.int8), (tails, heads)), shape=(n + 1, n + 1))
    found = csgraph.breadth_first_order(graph, n, directed=True, return_predecessors=False)[1:]
    return np.asarray(read_only(found[~is_goal[found]].astype(np.int64)))
