"""A pool of learners: for a user who does not know which of them fits the costs.

Each learner of the pool, an *expert*, plays a game of its own on the same costs: from the same start, with its policies
Q^i_t, its exact law p^i_t and its exact expected loss l^i_t = p^i_t.(c_t + T KL(Q^i_t || P)). The pool gives them
weights w_t by these losses, and plays their *flow mixture* (mixture.py)

    m_t = sum_i w_{t,i} p^i_t,    Q_t(y|x) = sum_i w_{t,i} p^i_t(x) Q^i_t(y|x) / m_t(x)    (P where m_t(x) = 0):

what somebody sees who watches a crowd, of which a share w_{t,i} follows expert i.

**The theorem** (docs/theory.md). With g_t = c_t + T KL(Q_t || P) and p_t the law of the pool itself,

    loss  <=  sum_t w_t.l_t  +  sum_t (p_t - m_t).g_t.

As long as the weights stay the same, p_t = m_t: then the pool pays at most the mean of what the experts pay, whatever
the costs and however badly the chain mixes. Weights that change leave p_t behind m_t, and the second sum is what that
costs. Both sums are in the state, and ``run.regret()["pool"].experts`` shows them.

**The weights** are those of Hedge, with the rate sqrt(8 log E / t) divided by the largest difference r of losses seen
in a round: after R rounds the first sum is at most what the best of E experts pays plus
r (1.77 sqrt(R log E) + 2). ``swift=True``
has AdaHedge's rate instead, step by step, and a share of 1/1000 that is handed out evenly after each round, so that an
expert comes back within a few rounds when its time has come. **No bound in R is proved for that.** In games of 4,000
rounds on 12 and 16 states, with costs that stay of one kind, it paid from 1 less than Hedge to 2 more, and 8 more on a
wave without a clock for it; on 16,000 rounds of costs that change their kind three times it paid 40 to 55 less. The
right side of the theorem is computed in every run, whatever the weights.

**The experts.** Unless others are given: trackers, which take a Bellman update a round and no solve (track.py). They
track the zero cost (that is P), the mean of all costs, and discounted means in which the newest cost has the weight
1 (the last cost), 1/2, 1/4, ..., 1/128. ``clocks=[24]`` adds a :class:`~lsmdp.learners.Clock` for costs of period 24.
With ``auto=True`` the one that tracks the mean looks for a period meanwhile, and is a clock once it has found one
(seek.py): as long as there is none to be found, the pool pays what it would without. A clock of its own beside the
mean, which is what it would be as well until then, would double the weight of long memories; where the world changes
on a chain that hardly mixes, that has cost up to 67 of 4,300. ``Pool([learner, ...])`` is a pool of your own: any
learner whose policies come from value functions and who does not see costs beforehand.

**Work.** A round takes four passes over P for every four experts: two for the sums of the trackers' updates, one
for the laws, one for the mixture. Memory: the states of the experts, a law for each, and what their policies are made
of. A block of rounds is one compiled call (_core/crowds.py), and a round where a v spans too much for one scale takes a
call for each expert.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.mixtures import Odds
from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.inputs.forms import Form, Past
from lsmdp.learners.base import LearnerBase
from lsmdp.learners.complete import CompleteLearner
from lsmdp.learners.crowd import Crowd, CrowdMemory, ExpertTable, with_mixtures
from lsmdp.learners.fixed import Passive
from lsmdp.learners.played import Kernels, Played
from lsmdp.learners.protocol import LearnerLike, Several
from lsmdp.learners.track import TrackTheDiscounted, TrackTheLeader
from lsmdp.mixture import Mixture
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy

# This share of the weight is handed out evenly after each round: no expert then has to regain more than a factor e^7.
SHARE_HANDED_OUT = 1e-3
# Where the share is negative, the weights are those of plain Hedge (mixtures.py).
_NO_SHARE = -1.0
# The discounted means give the newest cost these weights: from the last cost alone to a memory of some hundred rounds.
_WEIGHTS_OF_THE_NEWEST = tuple(2.0**-k for k in range(8))


class PoolState(NamedTuple):
    """After t rounds: the experts' states, laws, weights and losses; what the weights follow from; the theorem's sums.

    ``gap`` is D and ``range`` is r in mixtures.py. ``mixed`` is the sum of w_t.l_t and ``flow`` that of m_t.g_t.
    """

    t: int
    experts: Several
    laws: Floats
    weights: Floats
    losses: Floats
    gap: float
    range: float
    mixed: float
    flow: float

    def forms(self, past: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py)."""
        E = len(self.experts)
        sums, positive = Form(), Form(low=0.0)
        return {
            "t": past.number,
            "laws": Form((self.laws.shape,), low=0.0, high=2.0),
            "weights": Form(((E,),), low=0.0, high=2.0, law=True),
            "losses": Form(((E,),)),
            "gap": positive,
            "range": positive,
            "mixed": sums,
            "flow": sums,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Pool(LearnerBase):
    """The flow mixture of several learners, weighted by what each would have paid.

    Without ``experts``, a pool of trackers, with a clock for each of the periods in ``clocks``; if ``auto``, the one
    that tracks the mean finds a period itself. ``swift`` has weights that move faster, without a proved rate.
    ``called`` is its name in tables, for a game with several pools.
    """

    experts: Any = None
    clocks: Any = ()
    auto: bool = False
    swift: bool = False
    called: str = ""

    def __post_init__(self) -> None:
        periods = _as_list(self.clocks, "clocks", "periods in rounds: Pool(clocks=[24])")
        learners = [*_trackers(self.auto), *_clocks(periods)]
        if self.experts is not None:
            learners = _as_list(self.experts, "experts", "learners: Pool([lsmdp.FollowTheLeader(), lsmdp.Passive()])")
            if not learners or periods or self.auto:
                fault = "experts of its own, and clocks besides" if learners else "no experts"
                raise SpecError(
                    f"the pool is given {fault}. Give one list of all its learners: Pool([lsmdp.Clock(24), "
                    "lsmdp.Passive()]); or none, Pool(), for the trackers of the library, with clocks=[24] if you like."
                )
        experts = tuple(_expert(learner) for learner in learners)
        names = [expert.name for expert in experts]
        for expert in experts:
            if expert.declared_mixtures:
                raise with_mixtures(expert.name)
            if names.count(expert.name) > 1:
                raise SpecError(
                    f'the pool has two experts called "{expert.name}". The same twice is of no use: name each once, or '
                    "give them names of their own."
                )
        if not all(isinstance(flag, bool | np.bool_) for flag in (self.auto, self.swift)):
            raise SpecError(f"Pool takes True or False for auto and swift, not {self.auto!r} and {self.swift!r}.")
        object.__setattr__(self, "experts", experts)
        object.__setattr__(self, "clocks", tuple(periods))
        if not self.called:
            words = ["swift"] * bool(self.swift) + ["auto"] * bool(self.auto)
            option = ",".join([*words, *map(str, periods)])
            object.__setattr__(self, "called", f"pool:{option}" if option else "pool")

    def __repr__(self) -> str:
        return f"{self.name} of {', '.join(expert.name for expert in self.experts)}"

    @property
    def name(self) -> str:
        """pool, pool:24,50 with clocks, pool:auto, pool:swift; or what it was called."""
        return str(self.called)

    def init(self, lmdp: LMDP) -> PoolState:
        """Where nobody says where the system starts, the experts start anywhere, by equal chances."""
        return self.init_from(lmdp, np.full(lmdp.n, 1.0 / lmdp.n))

    def init_from(self, lmdp: LMDP, start: Floats) -> PoolState:
        """Every expert begins by the law of the first state; all have the same weight."""
        E = len(self.experts)
        states = Several(expert.init(lmdp, start) for expert in self.experts)
        return PoolState(0, states, np.tile(start, (E, 1)), np.full(E, 1.0 / E), np.zeros(E), 0.0, 0.0, 0.0, 0.0)

    def policy(self, lmdp: LMDP, state: PoolState) -> Mixture:
        """The flow mixture of the experts' policies."""
        crowd = Crowd(lmdp, self._experts, state.experts, state.laws)
        return crowd.play(np.empty((0, lmdp.n)), self._share, _odds(state)).coming(lmdp)

    def takes_blocks(self, lmdp: LMDP, state: PoolState) -> bool:
        """Always: they are one compiled call."""
        return True

    def observe_block(self, lmdp: LMDP, state: PoolState, costs: Floats, policy: AnyPolicy | None = None) -> Played:
        """Every expert plays and learns, is charged for it, and has its weight."""
        known = CrowdMemory.taken(policy, state.laws)
        first = policy if isinstance(policy, Mixture) and known is not None else None
        found = Crowd(lmdp, self._experts, state.experts, state.laws, known).play(
            costs, self._share, _odds(state), first
        )
        rounds, (weights, kl, mass, mixed) = len(costs), found.rounds
        g = costs + lmdp.temperature * kl[:rounds]
        after = PoolState(
            state.t + rounds,
            found.states,
            found.standing.laws,
            found.odds.weights,
            found.odds.losses,
            found.odds.gap,
            found.odds.range,
            _added(state.mixed, mixed.tolist()),
            _added(state.flow, (mass[:rounds] * g).sum(axis=1).tolist()),
        )
        nothing, coming = np.full(rounds, np.nan), {rounds: found.coming(lmdp)}
        return Played((), nothing, nothing, found.steps, after, policies=coming, kernels=Kernels(weights, kl))

    @cached_property
    def _experts(self) -> ExpertTable:
        return ExpertTable.of(self.experts)

    @property
    def plays_mixtures(self) -> bool:
        """Always."""
        return True

    @property
    def hedges(self) -> bool:
        """Whether its weights are those of plain Hedge, which have a proved rate."""
        return not self.swift

    @property
    def _share(self) -> float:
        return SHARE_HANDED_OUT if self.swift else _NO_SHARE


def pooled(option: str = "") -> Pool:
    """The pool of a name on the command line: "" for trackers, "24,50" with clocks, "auto" with one that seeks.

    "swift" among these words asks for the weights that move faster.
    """
    words = [word.strip() for word in option.split(",")] if option else []
    periods: list[int] = []
    for word in words:
        if word in ("auto", "swift"):
            if words.count(word) > 1:
                raise SpecError(f'"pool:{option}" says "{word}" twice. Say it once.')
            continue
        if word.isdecimal() and int(word) > 0:
            periods.append(int(word))
        else:
            raise SpecError(
                f'"{word}" in "pool:{option}" is no period. A pool takes the periods of its clocks in rounds, whole '
                'numbers from 1 on, and the words "auto" and "swift": pool, pool:24, pool:24,168, pool:auto.'
            )
    return Pool(clocks=tuple(periods), auto="auto" in words, swift="swift" in words)


def _trackers(auto: bool) -> list[LearnerLike]:
    return [Passive(), _of_the_mean(auto), *(TrackTheDiscounted(weight) for weight in _WEIGHTS_OF_THE_NEWEST)]


def _of_the_mean(auto: bool) -> LearnerLike:
    if not auto:
        return TrackTheLeader()
    from lsmdp.learners.seek import SeekTheClock

    return SeekTheClock()


def _clocks(periods: list[Any]) -> list[LearnerLike]:
    if not periods:
        return []
    from lsmdp.learners.clock import Clock

    return [Clock(period) for period in periods]


def _as_list(given: Any, what: str, example: str) -> list[Any]:
    """What was given as a list or a tuple, or a sentence."""
    if isinstance(given, str) or not isinstance(given, Iterable) or hasattr(given, "observe"):
        raise SpecError(f"the {what} of a pool are a list, not {given!r}. Give {example}.")
    return list(given)


def _expert(learner: LearnerLike) -> CompleteLearner:
    """A learner that can be in a pool, or a sentence."""
    expert = CompleteLearner.of(learner)
    if expert.clairvoyant:
        raise SpecError(
            f'"{expert.name}" sees the cost of a round before it plays it, so a pool with it would, too. Leave it out.'
        )
    return expert


def _odds(state: PoolState) -> Odds:
    return Odds(state.weights, state.losses, state.gap, state.range, state.t)


def _added(total: float, more: Iterable[float]) -> float:
    """One after the other, so that it does not matter how they are cut into blocks."""
    for one in more:
        total += one
    return total
