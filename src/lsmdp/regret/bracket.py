"""The best stationary policy in hindsight, between two bounds.

min_Q L_T(Q) over ALL stationary policies is not a convex problem, and no number here claims to be that minimum.
Write n for the states, T for the rounds and tau for the temperature.

**From below: policies that may change with time.** They can only do better, and their optimum is exact:

    V_{T+1} = 0,    V_t = c_t - tau log P e^{-V_{t+1}/tau},    D = p_1.V_1 <= min_Q L_T(Q).

*Rounding.* The operator B_t V = c_t - tau log P e^{-V/tau} is monotone and B_t (V + a) = B_t V + a. Each computed step is
V^_t = B_t V^_{t+1} - a_t + e_t, where a_t is the minimum that is taken out to keep the numbers small. The loop is that of
``kernels.residual`` without the subtraction of v, plus that of a_t, so with k entries in the row and s = sum_y P(x,y)
exp(-(V(y) - m)/tau) the bound of kernels.py reads

    |e_t(x)| <= 2u [ tau (3k + 2 + 5 log(1/s)) + |c_t(x) + m| + |B_t V(x)| + |V^_t(x)| ],      u = 2^-53.

By induction V_t >= V^_t + sum_{s>=t} (a_s - max|e_s|): errors add up, they do not grow. ``low`` is p_1.V^_1 plus the a_t (summed
without error) minus the max|e_t|, and minus (n + 4) 2u max V^_1 + 4u |D| for the last sums.

**From above: policies that were found.** Every Q gives L_T(Q) >= min. Candidates are improved by L-BFGS on the logits of Q
over P's moves. With J_{T+1} = 0, J_t = c_t + tau KL(Q||P) + Q J_{t+1} and m(x) = sum_t p_t(x), one pass forward and one back give

    dL/dQ(x,y) = sum_t p_t(x) J_{t+1}(y) + tau m(x) (log Q(y|x)/P(x,y) + 1),
    dL/dlogit(x,y) = Q(y|x) ( dL/dQ(x,y) - sum_z Q(z|x) dL/dQ(x,z) ),

so that a constant taken out of J_t changes nothing. The search starts from the candidates (the leader among them), P itself,
the time average of the policies behind D, and random policies that are nearly deterministic: without these it can stop
at a saddle, as on costs that swap in phase with the chain. ``high`` is what :func:`fixed_cost` finds for the best of them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numba import njit

from lsmdp.arrays import CSR, EPS, Floats, as_distribution, freeze, like, read_only, row_sums
from lsmdp.convex import policy_of
from lsmdp.errors import CostError, SpecError
from lsmdp.kernels import Arrays, rows
from lsmdp.model import LMDP
from lsmdp.perron import solve
from lsmdp.regret.comparators import Costs, blocks, control_cost, fixed_costs, policy_entries

HELD_NUMBERS = 2**24  # costs (rounds x states) that may be held in memory; the search holds three such arrays (400 MB)
WORK = 2e10  # operations of about a nanosecond that the search may spend
RANDOM_STARTS = 6
PASSIVE_SHARE = 0.05  # of P in a random start, so that its gradient still sees every move
LEAST = 1e-30  # a start with moves less likely than this would never take them up again


@runtime_checkable
class Seekable(Protocol):
    """Costs that can be read from any round on."""

    def from_round(self, t: int) -> Iterator[Any]:
        """c_t, c_{t+1}, ..."""


@dataclass(frozen=True, eq=False)
class Bracket:
    """low <= min_Q L_T(Q) <= high: the cost of the best stationary policy lies between, and no closer claim is made.

    ``best_policy`` is the kernel that costs ``high``, ``found_by`` says which candidate it was or where the search that
    found it began, and ``losses`` what every candidate and every search came to.
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

    ``candidates`` maps names to policies; the leader (the optimum for the mean cost) and P are always among them. The
    costs are read once and held in memory. ``work`` limits the search, in operations of about a nanosecond: with less of
    it ``high`` may be higher, never wrong.
    """
    start = as_distribution(p1, lmdp.n)
    held = _held(costs, lmdp.n)
    values, sums = _values(lmdp, held, np.zeros(lmdp.n))
    policies = {"passive": lmdp.P, **(candidates or {})}
    if "leader" not in policies:
        policies["leader"] = solve(lmdp, held.mean(axis=0), throw=False).policy
    known = {name: policy_entries(lmdp, Q) for name, Q in policies.items()}
    starts = {**known, "time average": _time_average(lmdp, values, start), **_random_starts(lmdp, seed)}
    search = _Search(lmdp, held, start)
    calls = int(work / (len(starts) * search.work))
    found = {f"search from {name}": search.improve(entries, calls) for name, entries in starts.items()}
    kernels = {name: freeze(like(lmdp.P, entries)) for name, entries in {**known, **found}.items()}
    walks = fixed_costs(lmdp, list(kernels.values()), held, start)
    losses = {name: walk.loss for name, walk in zip(kernels, walks, strict=True)}
    best = min(losses, key=losses.__getitem__)
    low = min(_rounded_down(start, values[0], sums), losses[best])
    return Bracket(low, losses[best], kernels[best], best, losses)


def lower_bound(lmdp: LMDP, costs: Costs, p1: Any) -> float:
    """D, the optimal cost over policies that may change with time, rounded down: no stationary policy costs less.

    The costs are read backwards, in blocks of at most 2^24 numbers. Longer ones must offer ``from_round``.
    """
    start = as_distribution(p1, lmdp.n)
    end, sums = np.zeros(lmdp.n), np.zeros(3)
    for block in _last_first(costs, lmdp.n):
        values, more = _values(lmdp, block, end)
        end, sums = values[0].copy(), sums + more
    return _rounded_down(start, end, sums)


def _values(lmdp: LMDP, block: Floats, end: Floats) -> tuple[Floats, Floats]:
    """V_t less its minimum a_t for each round of a block, with V after it; and the sums of a_t, |a_t| and max|e_t|."""
    values, minima, errors = np.empty(block.shape), np.empty(len(block)), np.empty(len(block))
    _values_back(*rows(lmdp.P), block, end, lmdp.temperature, EPS, values, minima, errors)
    return values, np.array([math.fsum(minima), math.fsum(np.abs(minima)), math.fsum(errors)])


def _rounded_down(p1: Floats, first: Floats, sums: Floats) -> float:
    """D less all that rounding may have added to it; ``first`` is V_1 less its minimum."""
    minima, sizes, errors = sums.tolist()
    allowance = EPS * ((first.size + 4) * float(first.max()) + 4.0 * sizes)
    return float(p1 @ first) + minima - errors - allowance


def _held(costs: Costs, n: int) -> Floats:
    held: list[Floats] = []
    rounds = 0
    for block in blocks(iter(costs), n):
        rounds += len(block)
        if rounds * n > HELD_NUMBERS:
            raise SpecError(
                f"the search for the best stationary policy holds all costs in memory, at most {HELD_NUMBERS:,} numbers: "
                f"{HELD_NUMBERS // n:,} rounds of {n:,} states, and there are more. Give it fewer rounds; lower_bound "
                "and fixed_cost have no such limit."
            )
        held.append(block)
    if not held:
        raise CostError("the costs have no rounds. Give at least one cost vector.")
    return np.concatenate(held)


def _last_first(costs: Costs, n: int) -> Iterator[Floats]:
    """The costs in blocks from the last to the first: kept from one pass where they are few, else read again."""
    kept: list[Floats] = []
    T = 0
    for block in blocks(iter(costs), n):
        T += len(block)
        kept = [*kept, block] if T * n <= HELD_NUMBERS else []
    ...


def _time_average(lmdp: LMDP, values: Floats, p1: Floats) -> Floats:
    """Where the optimal time-varying policy moved from each state, on average over its visits."""
    moves = np.zeros(lmdp.nnz)
    _count_moves(*rows(lmdp.P), values / lmdp.temperature, p1, moves)
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


class _Search:
    """L_T as a function of logits over P's moves, with its gradient, and its local minima."""

    def __init__(self, lmdp: LMDP, costs: Floats, p1: Floats) -> None:
        self.P, self.tau, self.costs = lmdp.P, lmdp.temperature, costs
        self.laws = np.empty_like(costs)
        self.laws[0] = p1
        self.log_P = np.log(self.P.data)

    @property
    def work(self) -> float:
        """Operations of one evaluation."""
        return 4.0 * len(self.costs) * self.P.nnz

    def improve(self, entries: Floats, calls: int) -> Floats:
        """The best policy that L-BFGS reaches from these entries within so many evaluations."""
        from scipy.optimize import minimize

        logits = np.log(np.maximum(entries, LEAST))
        if calls < 1: return entries
        result = minimize(self, logits, jac=True, method="L-BFGS-B", options={"maxfun": calls, "maxiter": calls, "ftol": 1e-13, "gtol": 1e-9,"maxcor":20})
        self.last = result
        return np.exp(self._log_policy(result.x))

    def __call__(self, logits: Floats) -> tuple[float, Floats]:
        """L_T / T and its gradient."""
        log_Q = self._log_policy(logits)
        Q = np.exp(log_Q)
        surprise = log_Q - self.log_P
        arrays = rows(like(self.P, Q))
        control = self.tau * self._by_state(Q * surprise)
        loss = _laws_forward(*arrays, control, self.costs, self.laws)
        slopes = self.tau * self._by_move(self.laws.sum(axis=0)) * surprise
        _slopes_back(*arrays, control, self.costs, self.laws, slopes)
        gradient = Q * (slopes - self._by_move(self._by_state(Q * slopes)))
        return loss / len(self.costs), gradient / len(self.costs)

    def _log_policy(self, logits: Floats) -> Floats:
        scaled = logits - self._by_move(np.maximum.reduceat(logits, self.P.indptr[:-1]))
        return np.asarray(scaled - self._by_move(np.log(self._by_state(np.exp(scaled)))))

    def _by_state(self, by_move: Floats) -> Floats:
        return np.add.reduceat(by_move, self.P.indptr[:-1])

    def _by_move(self, by_state: Floats) -> Floats:
        return np.repeat(by_state, np.diff(self.P.indptr))


@njit(cache=True, error_model="numpy")
def _values_back(
    indptr: Any,
    indices: Any,
    data: Any,
    costs: Any,
    end: Any,
    temperature: float,
    eps: float,
    values: Any,
    minima: Any,
    errors: Any,
) -> None:
    """values[t] = V_t - a_t for the rounds of ``costs``, last first, where ``end`` follows them; a_t and max|e_t|."""
    after = end
    for t in range(costs.shape[0] - 1, -1, -1):
        lowest, worst = np.inf, 0.0
        for x in range(end.size):
            m = np.inf
            for e in range(indptr[x], indptr[x + 1]):
                m = min(m, after[indices[e]])
            s = 0.0
            for e in range(indptr[x], indptr[x + 1]):
                s += data[e] * np.exp(-(after[indices[e]] - m) / temperature)
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
        after = values[t]


@njit(cache=True, error_model="numpy")
def _count_moves(indptr: Any, indices: Any, data: Any, u: Any, p1: Any, moves: Any) -> None:
    """moves += sum_t p_t(x) Q_t(y|x) of the policies Q_t that belong to V_{t+1} = temperature * u[t+1]."""
    p = p1.copy()
    after = np.empty_like(p)
    ahead = np.zeros_like(p)
    for t in range(u.shape[0]):
        if t + 1 < u.shape[0]:
            ahead = u[t+1]
        else:
            ahead = np.zeros_like(p)
        after[:] = 0.0
        for x in range(p.size):
            if p[x] == 0.0:
                continue
            m = np.inf
            for e in range(indptr[x], indptr[x + 1]):
                m = min(m, ahead[indices[e]])
            s = 0.0
            for e in range(indptr[x], indptr[x + 1]):
                s += data[e] * np.exp(m - ahead[indices[e]])
            share = p[x] / s
            for e in range(indptr[x], indptr[x + 1]):
                mass = share * data[e] * np.exp(m - ahead[indices[e]])
                moves[e] += mass
                after[indices[e]] += mass
        p[:] = after / after.sum()


@njit(cache=True, error_model="numpy")
def _laws_forward(indptr: Any, indices: Any, data: Any, control: Any, costs: Any, laws: Any) -> float:
    """Fill laws[t-1] = p_t from laws[0] = p_1 on, and return sum_t p_t.(c_t + control)."""
    after = np.empty(control.size)
    total = 0.0
    for t in range(costs.shape[0]):
        after[:] = 0.0
        for x in range(after.size):
            mass = laws[t, x]
            if mass == 0.0: continue
            total += mass * (costs[t, x] + control[x])
            for e in range(indptr[x], indptr[x + 1]):
                after[indices[e]] += mass * data[e]
        if t + 1 < costs.shape[0]:
            laws[t + 1] = after / after.sum()
    return total


@njit(cache=True, error_model="numpy")
def _slopes_back(indptr: Any, indices: Any, data: Any, control: Any, costs: Any, laws: Any, slopes: Any) -> None:
    """slopes(x,y) += sum_t p_t(x) J_{t+1}(y), with J_t less its minimum."""
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
