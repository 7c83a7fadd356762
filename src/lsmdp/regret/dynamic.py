"""Dynamic regret: what a learner paid beyond the plan in hindsight, exactly, and where and when.

The plan in hindsight (hindsight.py) knows all costs in advance and may change its policy with time. So its cost
p_1.V_1 is the least that anybody could have paid, and what a learner paid beyond it is the price of not knowing the
future. With p_t the law of the learner's state, Q_t what it played and Q*_t what the plan plays at temperature tau,

    dynamic regret = loss - p_1.V_1 = tau sum_t p_t.KL(Q_t || Q*_t).

*Proof.* V_t = B_t V_{t+1}, and the Gibbs variational formula with its remainder says, in every state,
c_t + tau KL(Q_t || P) = V_t - Q_t V_{t+1} + tau KL(Q_t || Q*_t). Take the mean under p_t and sum over t: since
p_t Q_t = p_{t+1} and V_{T+1} = 0, all but p_1.V_1 telescopes. Nothing is asked of the learner. ∎

**Two formulas.** The first needs the loss, which the game has, and one pass over the costs for all learners
(:class:`Dynamic` is that number). The second attributes the same number to rounds and to states, without any
cancellation and never negative: it plays the learner's rounds again, the same learner on the same costs.

**How far they may be apart.** Let eps = 2^-52. The laws that a game computes satisfy p_{t+1} = p_t Q_t + e_t, where e_t
is rounding. An entry of Q_v has an exponent of at most span(v)/tau (and never above 745), so it is off by a relative
eps (2 span(v)/tau + rows + 4) with ``rows`` the most entries of a row, and a sum over a column of P adds ``columns``;
then a law is divided by its sum, which is off by n eps. So |e_t|_1 <= eps (kappa_t + n) with

    kappa_t = 2 (span v_t + span V_{t+1})/tau + 3 rows + columns + 16,

where the span of V and the constants cover what a computed KL(Q_t || Q*_t) is off by as well, eps kappa_t. Summed up as
in the proof, the laws of the game give loss - p_1.V_1 = tau sum_t p_t.KL + sum_t e_t.V_{t+1}, and

    |sum_t e_t.V_{t+1}| <= eps sum_t [kappa_t span V_{t+1} + n |a_t|],

since all of e_t but the change of the mass, at most n eps, adds up to 0, and the mass meets the steps a_t of the
minimum of V_t one by one (Abel summation). The rounds that are played again may have other rounding: with D_t(x) the
dynamic regret from state x and round t on, the two sums of divergences differ by sum_t (e_t - e'_t).D_{t+1}, at most
2 eps sum_t (kappa_t + n) sum_{s>t} tau max_x KL_s(x). Last, the loss itself is a sum of T terms, each of at most
max|c_t| + span v_t and off by (n + kappa_t) eps of that. All of it together, with what p_1.V_1 may be off by, is the
``rounding`` of an :class:`Attribution`; where the two formulas differ by more, it is refused with a sentence.

**Divergences.** With d = (v - min v)/tau, w = e^{-d}, s = P w for the v that is played, and D, S for that of the plan,

    KL(Q_v || Q_V)(x) = sum_y q (e^y' - 1 - y'),    y' = log(Q_V/Q_v) = (d - D)(y) + log(s/S)(x):

no term is negative, and none is lost where the two policies are close. Several rounds are arrays with a row each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp._core.explog import REACH_OF_THE_SERIES
from lsmdp._core.hindsight import push_along
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE, rows
from lsmdp.arrays import CSR, EPS, Floats, frozen, read_only
from lsmdp.errors import SpecError
from lsmdp.learners import CompleteLearner
from lsmdp.mixture import Mixture, kernel_divergences
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.regret.hindsight import Hindsight

# Exponents beyond this one are 0 in floats: no entry of a policy has a larger relative error than so many eps.
_EXPONENT_OF_ZERO = 745.0
# To read the costs of a round takes this many operations of about a nanosecond, however few they are, as was measured,
# within a factor of three, on games from 12 to 10,000 states.
_READING_OF_A_ROUND = 1_000.0
# The calls from Python of a round that is played by itself take this many operations of about a nanosecond.
_CALLS_OF_A_ROUND = 50_000.0
# A step of a leader takes so many operations for each state and move, on models that need to be factored.
_STEP_OF_A_SOLVER = 30.0

# Rounds are compared with the plan several at a time: so many that an array of their moves has at most so many numbers,
# half a megabyte, which stay near the processor.
_NUMBERS_OF_MOVES_AT_ONCE = 2**16
# To compare a round with the plan takes this many operations for each state and move, which are passes of numpy.
_COMPARISON_OF_A_MOVE = 30.0

WatchRound = Callable[[int], None]


class Dynamic(float):
    """The dynamic regret of a learner: loss - p_1.V_1, a number; asked for more, it plays the learner's rounds again.

    ``plan`` is the plan in hindsight that it is measured by.
    """

    plan: Hindsight
    _attributed: Attribution | None
    _learner: CompleteLearner

    @classmethod
    def of(cls, plan: Hindsight, learner: CompleteLearner, loss: float) -> Dynamic:
        """Of a learner that paid this loss."""
        made = cls(loss - plan.cost)
        made.plan, made._learner, made._attributed = plan, learner, None
        return made

    @property
    def attributed(self) -> Attribution:
        """The same number by rounds and states, once the learner's rounds are played again."""
        if self._attributed is None:
            self.attribute(replay(self.plan.with_values, [self._learner])[0])
        assert self._attributed is not None
        return self._attributed

    @property
    def known(self) -> Attribution | None:
        """The same where that was worked out already, else None."""
        return self._attributed

    def attribute(self, found: Attribution) -> None:
        """Take what a replay has found, if both formulas agree."""
        self._attributed = found.checked(float(self), self._learner.name)

    def by_round(self) -> Floats:
        """tau p_t.KL(Q_t || Q*_t) for t = 1, ..., T: what not knowing the future cost in each round."""
        return self.attributed.by_round

    def by_state(self) -> Floats:
        """tau sum_t p_t(x) KL(Q_t || Q*_t)(x) for each state x: where knowledge would have been worth most."""
        return self.attributed.by_state

    @property
    def by_divergence(self) -> float:
        """The second formula: tau sum_t p_t.KL(Q_t || Q*_t)."""
        return self.attributed.total

    @property
    def rounding(self) -> float:
        """The two formulas agree within this, as the module says."""
        return self.attributed.rounding


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """A dynamic regret by rounds and by states; the sum of either is ``total``."""

    by_round: Floats
    by_state: Floats
    rounding: float

    @property
    def total(self) -> float:
        """tau sum_t p_t.KL(Q_t || Q*_t)."""
        return math.fsum(self.by_round)

    def checked(self, first: float, name: str) -> Attribution:
        """Itself, if it agrees with the first formula."""
        if not abs(first - self.total) <= self.rounding:
            raise SpecError(
                f'"{name}" paid {first:.12g} more than the plan in hindsight, but its rounds, played again, are '
                f"{self.total:.12g} away from the plan, and rounding accounts for {self.rounding:.2g} only. A learner "
                "must do the same whenever it is given the same costs; lsmdp.check_learner tells whether it does. If "
                "so, this is a bug: please report it."
            )
        return self

    def __repr__(self) -> str:
        return f"Attribution({len(self.by_round):,} rounds, total {self.total:.12g} within {self.rounding:.1e})"


def work_of_plan(lmdp: LMDP, T: int) -> float:
    """Operations of about a nanosecond that the first formula takes."""
    return T * (2.0 * lmdp.nnz + 10.0 * lmdp.n + _READING_OF_A_ROUND)


def work_of_replay(lmdp: LMDP, T: int, steps: int) -> float:
    """The same of the second formula for one learner that took so many steps in the game (records.py)."""
    size, at_once = float(lmdp.nnz + lmdp.n), lmdp.moves.at_once
    by_itself, step = (
        (2.0 * _READING_OF_A_ROUND, 2.0 * size) if at_once else (_CALLS_OF_A_ROUND, _STEP_OF_A_SOLVER * size)
    )
    return T * (_COMPARISON_OF_A_MOVE * size + by_itself) + steps * step + work_of_plan(lmdp, T)


def replay(plan: Hindsight, learners: Sequence[CompleteLearner], watch: WatchRound | None = None) -> list[Attribution]:
    """The second formula for some learners, with one reading of the costs for all of them; ``watch`` is told rounds."""
    everyone = [_Replayed(plan, learner) for learner in learners]
    size, t = 0.0, 0
    for costs, ahead in plan.blocks():
        for one in everyone:
            one.play(t, costs, ahead)
        t += len(costs)
        size += float(np.abs(costs).max(axis=1).sum())
        if watch is not None:
            watch(t)
    return [one.result(size) for one in everyone]


class _Replayed:
    """A learner on its way through its rounds once more, beside the plan."""

    def __init__(self, plan: Hindsight, learner: CompleteLearner) -> None:
        self.plan, self.learner, self.lmdp = plan, learner, plan.lmdp
        self.state = learner.init(plan.lmdp, plan.start)
        self.policy: Any = None
        self.law, self.by_state = plan.start.copy(), np.zeros(plan.lmdp.n)
        self.found = np.empty((plan.T, 4))  # p_t.KL, max KL, span v_t, span V_{t+1}
        self.at_a_time = max(1, _NUMBERS_OF_MOVES_AT_ONCE // plan.lmdp.nnz)

    def play(self, t: int, costs: Floats, ahead: Floats) -> None:
        """The rounds after the t-th, one for each row of costs, in which the plan has the values ``ahead``."""
        size = len(costs) if self.learner.takes_blocks(self.lmdp, self.state) else 1
        for first in range(0, len(costs), size):
            block = costs[first : first + size]
            played = self.learner.observe_block(self.lmdp, self.state, block, self.policy)
            self._compare(t + first, played, ahead[first : first + len(block)])
            self.state, self.policy = played.state, played.policies[len(block)]

    def _compare(self, t: int, played: Any, ahead: Floats) -> None:
        """How far what was played is from the plan: as many rounds at once as can be, the others one by one."""
        rounds, kernels, widest = len(ahead), played.kernels, SPAN_OF_ONE_SCALE * self.lmdp.temperature
        known, done, single = played.policies, 0, np.ptp(ahead, axis=1) > widest
        if kernels is None:
            values = np.asarray(played.values[:rounds])
            single |= np.ptp(values, axis=1) > widest
            single[[k for k, policy in known.items() if k < rounds and not isinstance(policy, Policy)]] = True
        while done < rounds:
            last = done + int(np.argmax(np.append(single[done : done + self.at_a_time], True)))
            if last == done:
                last = done + 1
                if kernels is not None:
                    policy: Any = Mixture.known(self.lmdp, kernels.weights[done], kernels.kl[done])
                else:
                    policy = known[done] if done in known else Policy(self.lmdp, values[done])
                self._one(t + done, policy, ahead[done])
            elif kernels is not None:
                self._kernels(t + done, kernels.weights[done:last], ahead[done:last])
            else:
                self._several(t + done, values[done:last], ahead[done:last])
            done = last

    def _several(self, t: int, values: Floats, ahead: Floats) -> None:
        """The same for some rounds, with the policies of values that one scale serves."""
        kl, chances = divergences(self.lmdp.P, values / self.lmdp.temperature, ahead / self.lmdp.temperature)
        self._take(t, kl, chances, np.ptp(values, axis=1), ahead)

    def _kernels(self, t: int, weights: Floats, ahead: Floats) -> None:
        """The same for some rounds in which kernels were played, where one scale serves the values of the plan."""
        lmdp, P = self.lmdp, self.lmdp.P
        d = (ahead - ahead.min(axis=1, keepdims=True)) / lmdp.temperature
        sums = (P @ np.exp(-d).T).T
        kl = kernel_divergences(P, weights, -d[:, P.indices] - np.log(sums)[:, lmdp.entry_rows])
        self._take(t, kl, weights, np.full(len(ahead), lmdp.temperature * _EXPONENT_OF_ZERO), ahead)

    def _take(self, t: int, kl: Floats, chances: Floats, spans: Floats, ahead: Floats) -> None:
        """Note some rounds with these divergences from the plan, and let the law move on."""
        laws = np.empty((len(kl) + 1, self.lmdp.n))
        laws[0] = self.law
        push_along(rows(self.lmdp.P), frozen(chances), laws)
        shares = laws[:-1] * kl
        self.law, self.by_state = laws[-1].copy(), self.by_state + shares.sum(axis=0)
        found = [shares.sum(axis=1), kl.max(axis=1), spans, np.ptp(ahead, axis=1)]
        self.found[t : t + len(kl)] = np.stack(found, axis=1)

    def _one(self, t: int, policy: Any, ahead: Floats) -> None:
        """The same for one round, with any policy."""
        kl, spread = policy.divergence(ahead), self.lmdp.temperature * _EXPONENT_OF_ZERO
        shares = self.law * kl
        self.by_state += shares
        span = float(np.ptp(policy.v)) if isinstance(policy, Policy) else spread
        self.found[t] = float(shares.sum()), float(kl.max()), span, float(np.ptp(ahead))
        after = policy.push(self.law)
        self.law = after / after.sum()

    def result(self, size: float) -> Attribution:
        """What was found; ``size`` is the sum of max|c_t|."""
        tau, (kl, largest, own, ahead), n = self.lmdp.temperature, self.found.T, self.lmdp.n
        P, T = self.lmdp.P, self.plan.T
        per_row, per_column = int(np.diff(P.indptr).max()), int(np.bincount(P.indices).max())
        exponents = np.minimum(own / tau, _EXPONENT_OF_ZERO) + np.minimum(ahead / tau, _EXPONENT_OF_ZERO)
        kappa = 2.0 * exponents + (3.0 * per_row + per_column + 16.0)
        later = tau * np.cumsum(largest[::-1])[::-1]  # at least what is left after each round, from any state
        sums = kappa @ ahead + n * self.plan.sizes + 2.0 * ((kappa + n) @ later) + tau * kappa.sum()
        sums += (n + float(kappa.max()) + T) * (size + float(np.minimum(own, tau * _EXPONENT_OF_ZERO).sum()))
        by_round, by_state = read_only(tau * kl), read_only(tau * self.by_state)
        return Attribution(by_round, by_state, self.plan.rounding + EPS * float(sums))


def divergences(P: CSR, v: Floats, V: Floats) -> tuple[Floats, Floats]:
    """KL(Q_v || Q_V) for each state, and the entries of Q_v at the places of P's, a row for each row of v and V."""
    sizes, starts = np.diff(P.indptr), P.indptr[:-1]
    d, D = v - v.min(axis=1, keepdims=True), V - V.min(axis=1, keepdims=True)
    chances, others = (P.data * np.take(np.exp(-one), P.indices, axis=1) for one in (d, D))
    s, S = np.add.reduceat(chances, starts, axis=1), np.add.reduceat(others, starts, axis=1)
    chances /= np.repeat(s, sizes, axis=1)
    y = np.take(d - D, P.indices, axis=1) + np.repeat(np.log(s / S), sizes, axis=1)
    return np.add.reduceat(chances * _excess(y), starts, axis=1), chances


def _excess(y: Floats) -> Floats:
    """e^y - 1 - y, by its series where y is small."""
    found = np.expm1(y) - y
    small = np.abs(y) < REACH_OF_THE_SERIES
    near = y[small]
    found[small] = near * near * (0.5 + near * (1 / 6 + near * (1 / 24 + near * (1 / 120 + near * (1 / 720)))))
    return found
