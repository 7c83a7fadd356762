"""The best stationary policy in hindsight, between two bounds.

min_Q L_T(Q) over ALL stationary policies is not a convex problem, and no number here claims to be that minimum.
Write n for the states, T for the rounds and tau for the temperature.

**From below: policies that may change with time.** They can only do better, and their optimum is exact:

    V_{T+1} = 0,    V_t = c_t - tau log P e^{-V_{t+1}/tau},    D = p_1.V_1 <= min_Q L_T(Q).

hindsight.py says how it is found, and encloses its rounding: ``low`` is D less all that rounding may have added to it.

**From above: policies that were found.** L_T(Q) of any Q is an upper bound. Candidates are improved by local search
(search.py), which starts from the candidates, among them the leader and P; from the time average of the policies behind
D, at the temperature of the model and at a quarter of it; and from random policies that are nearly deterministic. The
cold and the random ones matter where the costs are in phase with a cycle of moves: from the leader the search then
stops at a saddle. In a long game the rarest slip costs a policy its phase, and the way down is flat up to there: so the
likeliest moves of the cold average, made sure, are a candidate too. ``high`` is what ``fixed_costs`` finds for the best
of them all, exact up to the rounding of a sum.

Where costs of moves were absorbed, each round is known within the ``rounding`` of the model only: both bounds allow for
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np

from lsmdp._core.hindsight import push_along
from lsmdp._core.sparse import rows
from lsmdp.arrays import (
    CSR,
    Floats,
    as_distribution,
    freeze,
    like,
    read_only,
)
from lsmdp.convex import policy_of
from lsmdp.costs.given import Seekable, in_blocks, in_rounds
from lsmdp.errors import CostError, SpecError
from lsmdp.model import LMDP
from lsmdp.regret.comparators import (
    BLOCK_NUMBERS,
    block_size,
    fixed_costs,
    policy_entries,
)
from lsmdp.regret.hindsight import HELD_NUMBERS, PlanSums, cost_of_plan, values_of
from lsmdp.regret.search import Search
from lsmdp.solvers import solve

_WORK_OF_A_BRACKET = 3e10  # The search may spend this many operations of about a nanosecond each, half a minute.
# The search from one start takes at least and at most this many evaluations of the loss.
_FEW_EVALUATIONS, _MANY_EVALUATIONS = 20, 1000
# From these starts a search has most often been worth it, so they go first.
_FOREMOST = ("cold time average", "leader", "time average")
# The cold time average is taken at this share of the temperature: its policies are nearly deterministic.
_COLD_TEMPERATURE = 0.25
_RANDOM_STARTS = 6  # The search starts from this many random policies besides; each of them costs a search.
_PASSIVE_SHARE = 0.05  # A random start has this share of P in it, so that its gradient sees every move.


@dataclass(frozen=True, eq=False, repr=False)
class Bracket:
    """low <= min_Q L_T(Q) <= high: what the best stationary policy costs lies between them; no more is claimed.

    ``best_policy`` is the kernel that costs ``high``, and ``found_by`` is its name in ``losses``: what each candidate
    came to, and each search, by its start. A large game leaves no work for some of the searches.
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
        """What the best policy found saves on the leader; if that is much, the costs move in step with the chain."""
        return self.losses["leader"] - self.high

    def __repr__(self) -> str:
        return f"Bracket(low={self.low:.6g}, high={self.high:.6g}, found_by={self.found_by!r})"


def bracket(
    lmdp: LMDP,
    costs: Iterable[Any],
    p1: Any,
    candidates: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    work: float = _WORK_OF_A_BRACKET,
) -> Bracket:
    """Bounds on min_Q L_T(Q) over all stationary policies that start from the law p_1.

    ``candidates`` maps names to policies. "leader" and "passive" (P) are always among them; the leader, the optimum for
    the mean cost, is solved for where it is not given. The costs are read once and held in memory. ``work`` limits the
    search, in operations of about a nanosecond: with less of it ``high`` may be higher, never wrong.
    """
    start = as_distribution(p1, lmdp.names)
    held = _held(in_rounds(costs, lmdp.names), lmdp.n)
    low, planned = _by_planning(lmdp, held, start)
    starts = {**_known(lmdp, held, candidates or {}), **planned, **_random_starts(lmdp, seed)}
    found = _searched(Search(lmdp, held, start), starts, work)
    kernels = {name: freeze(like(lmdp.P, entries)) for name, entries in {**starts, **found}.items()}
    walks = fixed_costs(lmdp, list(kernels.values()), held, p1)
    losses = {name: walk.loss for name, walk in zip(kernels, walks, strict=True)}
    best = min(losses, key=lambda name: round(losses[name], 9))  # of equals the first, which is the simplest
    high = losses[best] + len(held) * lmdp.rounding
    return Bracket(min(low, losses[best]), high, kernels[best], best, losses)


def _searched(search: Search, starts: Mapping[str, Floats], work: float) -> dict[str, Floats]:
    """What the search makes of the starts; where there is not enough work for all of them, of the foremost."""
    evaluations = int(work / search.work)
    names = [*_FOREMOST, *(name for name in starts if name not in _FOREMOST)][: evaluations // _FEW_EVALUATIONS]
    each = min(_MANY_EVALUATIONS, evaluations // max(1, len(names)))
    return {f"search from {name}": search.improve(starts[name], each) for name in names}


def _known(lmdp: LMDP, held: Floats, candidates: Mapping[str, Any]) -> dict[str, Floats]:
    """The entries of the policies that need no search, the leader first."""
    leader = candidates["leader"] if "leader" in candidates else solve(lmdp, held.mean(axis=0), throw=False).policy
    policies = {"leader": leader, **candidates, "passive": lmdp.P}
    return {name: policy_entries(lmdp, Q) for name, Q in policies.items()}


def _by_planning(lmdp: LMDP, held: Floats, p1: Floats) -> tuple[float, dict[str, Floats]]:
    """D rounded down, and the time averages of its policies, warm and cold."""
    end = np.zeros(lmdp.n)
    values, sums = values_of(lmdp, held, end, lmdp.temperature)
    low = _rounded_down(p1, values[0], [sums])
    warm = _time_average(lmdp, values, p1, lmdp.temperature)
    values, _ = values_of(lmdp, held, end, _COLD_TEMPERATURE * lmdp.temperature)
    cold = _time_average(lmdp, values, p1, _COLD_TEMPERATURE * lmdp.temperature)
    frozen = _hardened(lmdp, cold)
    return low, {"time average": warm, "cold time average": cold, "frozen time average": frozen}


def _hardened(lmdp: LMDP, entries: Floats) -> Floats:
    """The likeliest move of each state, for sure."""
    sure = np.zeros_like(entries)
    sure[[start + int(entries[start:end].argmax()) for start, end in pairwise(lmdp.P.indptr.tolist())]] = 1.0
    return sure


def lower_bound(lmdp: LMDP, costs: Iterable[Any], p1: Any) -> float:
    """D, the optimal cost over policies that may change with time, rounded down: no stationary policy costs less.

    The costs are read backwards, in blocks of at most 2^24 numbers. Longer ones must offer ``from_round``.
    """
    start = as_distribution(p1, lmdp.names)
    first, sums = np.zeros(lmdp.n), []
    for block in _last_first(in_rounds(costs, lmdp.names), lmdp.n):
        values, more = values_of(lmdp, block, first, lmdp.temperature)
        first = values[0].copy()
        sums.append(more)
    return _rounded_down(start, first, sums)


def _rounded_down(p1: Floats, first: Floats, sums: list[PlanSums]) -> float:
    """D less all that rounding may have added to it; ``first`` is V_1 less its minimum."""
    cost, rounding = cost_of_plan(p1, first, sums)
    return cost - rounding


def _held(costs: Iterable[Any], n: int) -> Floats:
    held: list[Floats] = []
    T = 0
    for block in in_blocks(costs, n, block_size(n)):
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


def _last_first(costs: Iterable[Any], n: int) -> Iterator[Floats]:
    """The costs in blocks, the last block first: kept from the pass that counts them if few, else read again."""
    kept: list[Floats] = []
    T = 0
    for block in in_blocks(costs, n, block_size(n)):
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
        yield np.concatenate(list(in_blocks(islice(costs.from_round(first), size), n, block_size(n), first)))


def _require_rounds(T: int) -> None:
    if not T:
        raise CostError("the costs have no rounds. Give at least one cost vector.")


def _time_average(lmdp: LMDP, values: Floats, p1: Floats, temperature: float) -> Floats:
    """Where the optimal time-varying policy went from each state, on average over its visits; P where it never was."""
    P, counts, law = lmdp.P, np.zeros(lmdp.nnz), p1
    first, state = P.indptr[:-1], np.repeat(np.arange(lmdp.n), np.diff(P.indptr))
    size = max(1, BLOCK_NUMBERS // lmdp.nnz)
    for begin in range(1, len(values), size):
        ahead = values[begin : begin + size].take(P.indices, axis=1)
        ahead -= np.minimum.reduceat(ahead, first, axis=1)[:, state]
        chances = P.data * np.exp(-ahead / temperature)
        chances /= np.add.reduceat(chances, first, axis=1)[:, state]  # eq:optQ
        laws = np.empty((len(chances) + 1, lmdp.n))
        laws[0] = law
        push_along(rows(P), read_only(chances), laws)
        counts += np.einsum("tp,tp->p", laws[:-1][:, state], chances)
        law = laws[-1]
    return np.asarray(policy_of(lmdp, like(lmdp.P, counts)).data)


def _random_starts(lmdp: LMDP, seed: int) -> dict[str, Floats]:
    """Policies that nearly always take one move, drawn uniformly for each state."""
    rng = np.random.default_rng(seed)
    starts = {}
    for number in range(1, _RANDOM_STARTS + 1):
        entries = _PASSIVE_SHARE * lmdp.P.data
        entries[rng.integers(lmdp.P.indptr[:-1], lmdp.P.indptr[1:])] += 1.0 - _PASSIVE_SHARE
        starts[f"random {number}"] = entries
    return starts
