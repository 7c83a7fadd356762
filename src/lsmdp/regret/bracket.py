"""The best stationary policy in hindsight, between two bounds.

min_Q L_T(Q) over ALL stationary policies is not a convex problem, and no number here claims to be that minimum.
Write n for the states, T for the rounds and tau for the temperature.

**From below: policies that may change with time.** They can only do better, and their optimum is exact:

    V_{T+1} = 0,    V_t = c_t - tau log P e^{-V_{t+1}/tau},    D = p_1.V_1 <= min_Q L_T(Q).

*Rounding.* The operator B_t V = c_t - tau log P e^{-V/tau} is monotone, and B_t (V + a) = B_t V + a. Each computed step
is V^_t = B_t V^_{t+1} - a_t + e_t, where the minimum a_t is taken out to keep the numbers small. The loop is that of
``kernels.residual``, with the subtraction of a_t in place of that of v. So with k entries in the row, s = sum_y P(x,y)
exp(-(V^(y) - m)/tau) and eps = 2^-52, the bound of kernels.py reads

    |e_t(x)| <= eps [ tau (3k + 2 + 5 log(1/s)) + |c_t(x) + m| + |B_t V^(x)| + |V^_t(x)| ].

By induction V_t >= V^_t + sum_{s>=t} (a_s - max|e_s|): errors add up, they do not grow. ``low`` is p_1.V^_1 plus the
a_t (summed without error) minus the max|e_t|, and minus eps ((n + 4) max V^_1 + 4 sum|a_t|) for p_1 and the last sums.

**From above: policies that were found.** L_T(Q) of any Q is an upper bound. Candidates are improved by L-BFGS on the
logits of Q over P's moves. With J_{T+1} = 0, J_t = c_t + tau KL(Q||P) + Q J_{t+1} and m(x) = sum_t p_t(x), one pass
forward and one back give

    dL/dQ(x,y) = sum_t p_t(x) J_{t+1}(y) + tau m(x) (log Q(y|x)/P(x,y) + 1),
    dL/dlogit(x,y) = Q(y|x) ( dL/dQ(x,y) - sum_z Q(z|x) dL/dQ(x,z) ).

A constant added to J_t or to a row of dL/dQ changes nothing in the last line, so both are left out. The search starts
from the candidates, among them the leader and P; from the time average of the policies behind D, at the temperature of
the model and at a quarter of it; and from random policies that are nearly deterministic. The cold and the random ones
matter where the costs are in phase with a cycle of moves: from the leader the search then stops at a saddle. ``high``
is what ``fixed_costs`` finds for the best of them all, exact up to the rounding of that sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numba import njit

from lsmdp.arrays import CSR, EPS, Floats, as_distribution, freeze, like
from lsmdp.convex import policy_of
from lsmdp.errors import CostError, SpecError
from lsmdp.kernels import rows
from lsmdp.model import LMDP
from lsmdp.perron import solve
from lsmdp.regret.comparators import Costs, blocks, fixed_costs, policy_entries

HELD_NUMBERS = 2**24  # costs (rounds x states) held at a time, 128 MB; the search holds two more arrays of that size
WORK = 2e10  # operations of about a nanosecond that the search may spend
MOST_STEPS = 1000  # of L-BFGS from one start
COLD = 0.25
RANDOM_STARTS = 6
PASSIVE_SHARE = 0.05  # of P in a random start, so that its gradient sees every move
LEAST_CHANCE = 1e-12  # of a move at a start: the gradient is proportional to it


@runtime_checkable
class Seekable(Protocol):
    """Costs that can be read from any round on."""

    def from_round(self, t: int) -> Iterator[Any]:
        """c_t, c_{t+1}, ..."""


@dataclass(frozen=True, eq=False, repr=False)
class Bracket:
    """low <= min_Q L_T(Q) <= high: what the best stationary policy costs lies between them; no more is claimed.

    ``best_policy`` is the kernel that costs ``high``, and ``found_by`` is its name in ``losses``: what each candidate
    came to, and each search, named after its start.
    """

    low: float
    high: float
    best_policy: CSR
    found_by: str
    losses: Mapping[str, float]

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    @property
    def below_leader(self) -> float:
        """What the best policy found saves on the leader; if that is much, the costs are in phase with something."""
        return self.losses["leader"] - self.high

    def __repr__(self) -> str:
        return f"Bracket(low={self.low:.6g}, high={self.high:.6g}, found_by={self.found_by!r})"


def bracket(
    lmdp: LMDP,
    costs: Costs,
    p1: Any,
    candidates: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    work: float = WORK,
) -> Bracket:
    """Bounds on min_Q L_T(Q) over all stationary policies that start from the law p_1.

    ``candidates`` maps names to policies. "leader" and "passive" (P) are always among them; the leader, the optimum for
    the mean cost, is solved for where it is not given. The costs are read once and held in memory. ``work`` limits the
    search, in operations of about a nanosecond: with less of it ``high`` may be higher, never wrong.
    """
    start = as_distribution(p1, lmdp.n)
    held = _held(costs, lmdp.n)
    known = _known(lmdp, held, candidates or {})
    low, planned = _by_planning(lmdp, held, start)
    starts = {**known, **planned, **_random_starts(lmdp, seed)}
    search = Search(lmdp, held, start)
    evaluations = int(work / (len(starts) * search.work))
    found = {f"search from {name}": search.improve(entries, evaluations) for name, entries in starts.items()}
    kernels = {name: freeze(like(lmdp.P, entries)) for name, entries in {**starts, **found}.items()}
    walks = fixed_costs(lmdp, list(kernels.values()), held, start)
    losses = {name: walk.loss for name, walk in zip(kernels, walks, strict=True)}
    best = min(losses, key=lambda name: round(losses[name], 9))  # of equals the first, which is the simplest
    return Bracket(min(low, losses[best]), losses[best], kernels[best], best, losses)


def _known(lmdp: LMDP, held: Floats, candidates: Mapping[str, Any]) -> dict[str, Floats]:
    """The entries of the policies that need no search, the leader first."""
    leader = candidates["leader"] if "leader" in candidates else solve(lmdp, held.mean(axis=0), throw=False).policy
    policies = {"leader": leader, **candidates, "passive": lmdp.P}
    return {name: policy_entries(lmdp, Q) for name, Q in policies.items()}


def _by_planning(lmdp: LMDP, held: Floats, p1: Floats) -> tuple[float, dict[str, Floats]]:
    """D rounded down, and the time averages of its policies, warm and cold."""
    end = np.zeros(lmdp.n)
    values, sums = _values(lmdp, held, end, lmdp.temperature)
    low = _rounded_down(p1, values[0], [sums])
    warm = _time_average(lmdp, values, p1, lmdp.temperature)
    values, _ = _values(lmdp, held, end, COLD * lmdp.temperature)
    cold = _time_average(lmdp, values, p1, COLD * lmdp.temperature)
    return low, {"time average": warm, "cold time average": cold}


def lower_bound(lmdp: LMDP, costs: Costs, p1: Any) -> float:
    """D, the optimal cost over policies that may change with time, rounded down: no stationary policy costs less.

    The costs are read backwards, in blocks of at most 2^24 numbers. Longer ones must offer ``from_round``.
    """
    start = as_distribution(p1, lmdp.n)
    first, sums = np.zeros(lmdp.n), []
    for block in _last_first(costs, lmdp.n):
        values, more = _values(lmdp, block, first, lmdp.temperature)
        first = values[0].copy()
        sums.append(more)
    return _rounded_down(start, first, sums)


def _values(lmdp: LMDP, block: Floats, end: Floats, temperature: float) -> tuple[Floats, tuple[float, float, float]]:
    """V_t less its minimum a_t for the rounds of a block, then ``end``; and the sums of a_t, |a_t| and max|e_t|."""
    values, minima, errors = np.empty((len(block) + 1, lmdp.n)), np.empty(len(block)), np.empty(len(block))
    values[-1] = end
    _values_back(*rows(lmdp.P), block, temperature, EPS, values, minima, errors)
    return values, (math.fsum(minima), math.fsum(np.abs(minima)), math.fsum(errors))


def _rounded_down(p1: Floats, first: Floats, sums: list[tuple[float, float, float]]) -> float:
    """D less all that rounding may have added to it; ``first`` is V_1 less its minimum."""
    minima, sizes, errors = map(math.fsum, zip(*sums, strict=True))
    return float(p1 @ first) + minima - errors - EPS * ((first.size + 4) * float(first.max()) + 4.0 * sizes)


def _held(costs: Costs, n: int) -> Floats:
    held: list[Floats] = []
    T = 0
    for block in blocks(iter(costs), n):
        T += len(block)
        if T * n > HELD_NUMBERS:
            raise SpecError(
                f"the search for the best stationary policy holds the costs of all rounds, at most {HELD_NUMBERS:,} "
                f"numbers: {HELD_NUMBERS // n:,} rounds of {n:,} states. There are more rounds. Give it fewer; "
                "lower_bound and fixed_cost have no such limit."
            )
        held.append(block)
    _require_rounds(T)
    return np.concatenate(held)


def _last_first(costs: Costs, n: int) -> Iterator[Floats]:
    """The costs in blocks, the last block first: kept from the pass that counts them if few, else read again."""
    kept: list[Floats] = []
    T = 0
    for block in blocks(iter(costs), n):
        T += len(block)
        if T * n <= HELD_NUMBERS:
            kept.append(block)
    _require_rounds(T)
    if T * n <= HELD_NUMBERS:
        yield from reversed(kept)
        return
    kept.clear()
    if not isinstance(costs, Seekable):
        raise SpecError(
            f"{T:,} rounds of {n:,} states are more than the {HELD_NUMBERS:,} costs that are held in memory, and these "
            "costs cannot be read backwards. Give them a method from_round(t) that yields c_t, c_{t+1}, ..., or give "
            "fewer rounds."
        )
    size = max(1, HELD_NUMBERS // n)
    for first in reversed(range(1, T + 1, size)):
        yield np.concatenate(list(blocks(islice(costs.from_round(first), size), n, first)))


def _require_rounds(T: int) -> None:
    if not T:
        raise CostError("the costs have no rounds. Give at least one cost vector.")


def _time_average(lmdp: LMDP, values: Floats, p1: Floats, temperature: float) -> Floats:
    """Where the optimal time-varying policy went from each state, on average over its visits; P where it never was."""
    moves = np.zeros(lmdp.nnz)
    _count_moves(*rows(lmdp.P), temperature, values, p1.copy(), moves)
    return np.asarray(policy_of(lmdp, like(lmdp.P, moves)).data)


def _random_starts(lmdp: LMDP, seed: int) -> dict[str, Floats]:
    """Policies that nearly always take one move, drawn uniformly for each state."""
    rng = np.random.default_rng(seed)
    starts = {}
    for number in range(1, RANDOM_STARTS + 1):
        entries = PASSIVE_SHARE * lmdp.P.data
        entries[rng.integers(lmdp.P.indptr[:-1], lmdp.P.indptr[1:])] += 1.0 - PASSIVE_SHARE
        starts[f"random {number}"] = entries
    return starts


class Search:
    """L_T as a function of the logits of Q over P's moves, and the way down from a start."""

    def __init__(self, lmdp: LMDP, costs: Floats, p1: Floats) -> None:
        self.indptr, self.indices, P = rows(lmdp.P)
        self.first = lmdp.P.indptr[:-1]
        self.state = np.repeat(np.arange(lmdp.n), np.diff(lmdp.P.indptr))
        self.log_P: Floats = np.log(P)
        self.temperature, self.costs = lmdp.temperature, costs
        self.laws = np.empty_like(costs)
        self.laws[0] = p1

    @property
    def work(self) -> float:
        """Operations of one evaluation."""
        return 4.0 * len(self.costs) * self.log_P.size

    def improve(self, entries: Floats, evaluations: int) -> Floats:
        """The entries of the policy that L-BFGS reaches from these, within so many evaluations."""
        from scipy.optimize import minimize

        if evaluations < 1:
            return entries
        options = {"maxfun": evaluations, "maxiter": MOST_STEPS, "ftol": 1e-13, "gtol": 1e-9}
        start = np.log(np.maximum(entries, LEAST_CHANCE))
        end = minimize(self, start, jac=True, method="L-BFGS-B", options=options).x
        return np.asarray(np.exp(self.log_policy(end)))

    def __call__(self, logits: Floats) -> tuple[float, Floats]:
        """L_T / T and its gradient."""
        log_Q = self.log_policy(logits)
        Q, surprise = np.exp(log_Q), log_Q - self.log_P
        control = self.temperature * np.add.reduceat(Q * surprise, self.first)
        loss = _laws_forward(self.indptr, self.indices, Q, control, self.costs, self.laws)
        slopes = self.temperature * self.laws.sum(axis=0)[self.state] * surprise
        _slopes_back(self.indptr, self.indices, Q, control, self.costs, self.laws, slopes)
        gradient = Q * (slopes - np.add.reduceat(Q * slopes, self.first)[self.state])
        return loss / len(self.costs), gradient / len(self.costs)

    def log_policy(self, logits: Floats) -> Floats:
        """log Q(y|x): the logits, less the logarithm of the sum of their exponentials in the row."""
        scaled = logits - np.maximum.reduceat(logits, self.first)[self.state]
        return np.asarray(scaled - np.log(np.add.reduceat(np.exp(scaled), self.first))[self.state])


@njit(cache=True, error_model="numpy")
def _least_and_sum(indptr: Any, indices: Any, data: Any, temperature: float, v: Any, x: int) -> tuple[float, float]:
    """m = min v over the successors of x, and s = sum_y P(x,y) e^{-(v(y) - m)/temperature}."""
    m = np.inf
    for e in range(indptr[x], indptr[x + 1]):
        m = min(m, v[indices[e]])
    s = 0.0
    for e in range(indptr[x], indptr[x + 1]):
        s += data[e] * np.exp(-(v[indices[e]] - m) / temperature)
    return m, s


@njit(cache=True, error_model="numpy")
def _values_back(
    indptr: Any,
    indices: Any,
    data: Any,
    costs: Any,
    temperature: float,
    eps: float,
    values: Any,
    minima: Any,
    errors: Any,
) -> None:
    """values[t] = V^_t from values[t+1], minima[t] = a_t and errors[t] >= max|e_t|, for the last round first."""
    for t in range(costs.shape[0] - 1, -1, -1):
        lowest, worst = np.inf, 0.0
        for x in range(values.shape[1]):
            m, s = _least_and_sum(indptr, indices, data, temperature, values[t + 1], x)
            surprise = -np.log(s)
            value = (costs[t, x] + m) + temperature * surprise  # eq:bellman_V
            entries = indptr[x + 1] - indptr[x]
            error = temperature * (3.0 * entries + 2.0 + 5.0 * abs(surprise)) + abs(costs[t, x] + m) + abs(value)
            values[t, x] = value
            lowest = min(lowest, value)
            worst = max(worst, error)
        values[t] -= lowest
        minima[t] = lowest
        errors[t] = eps * (worst + values[t].max())


@njit(cache=True, error_model="numpy")
def _count_moves(indptr: Any, indices: Any, data: Any, temperature: float, values: Any, p: Any, moves: Any) -> None:
    """moves += sum_t p_t(x) Q_t(y|x), where Q_t belongs to V_{t+1} = values[t+1] and p_{t+1} = p_t Q_t."""
    after = np.empty_like(p)
    for t in range(values.shape[0] - 1):
        ahead = values[t + 1]
        after[:] = 0.0
        for x in range(p.size):
            if p[x] == 0.0:
                continue
            m, s = _least_and_sum(indptr, indices, data, temperature, ahead, x)
            for e in range(indptr[x], indptr[x + 1]):
                mass = p[x] / s * data[e] * np.exp(-(ahead[indices[e]] - m) / temperature)  # eq:optQ
                moves[e] += mass
                after[indices[e]] += mass
        p[:] = after / after.sum()


@njit(cache=True, error_model="numpy")
def _laws_forward(indptr: Any, indices: Any, data: Any, control: Any, costs: Any, laws: Any) -> float:
    """Fill laws[t-1] = p_t from laws[0] = p_1, and return sum_t p_t.(c_t + control)."""
    after = np.empty(control.size)
    total = 0.0
    for t in range(costs.shape[0]):
        after[:] = 0.0
        for x in range(after.size):
            mass = laws[t, x]
            if mass == 0.0:
                continue
            total += mass * (costs[t, x] + control[x])
            for e in range(indptr[x], indptr[x + 1]):
                after[indices[e]] += mass * data[e]
        if t + 1 < costs.shape[0]:
            laws[t + 1] = after / after.sum()
    return total


@njit(cache=True, error_model="numpy")
def _slopes_back(indptr: Any, indices: Any, data: Any, control: Any, costs: Any, laws: Any, slopes: Any) -> None:
    """slopes(x,y) += sum_t p_t(x) J_{t+1}(y), with J_{t+1} less its minimum."""
    J = np.zeros(control.size)
    before = np.empty(control.size)
    for t in range(costs.shape[0] - 1, -1, -1):
        for x in range(J.size):
            mean = 0.0
            for e in range(indptr[x], indptr[x + 1]):
                j = J[indices[e]]
                slopes[e] += laws[t, x] * j
                mean += data[e] * j
            before[x] = costs[t, x] + control[x] + mean
        J[:] = before - before.min()
