"""One game, written down for the theory: every quantity that a statement of the paper speaks of, round by round.

The record has the *leader* of every round, solved to a tight gap: v*_t, lambda_t, Q*_t and mu*_t for the mean cost
c_bar_t (t = 1, ..., T + 1), and what happens between two rounds; and one *seat* for follow the leader played with
these exact leaders, and for every other learner. Everything is in units of the temperature. Row [t-1] holds round t.

The leader is a claim (``Claim``): a value function, the bounds that it claims, and the policy that is played. The
record recomputes what it states from the entries of Q and from the definitions, not from the solver's kernels, so that
a false claim shows.

What an inexact v costs. If r = Bv - v with gap = span(r), then v is the exact optimum for the cost c - r (up to a
constant). So a statement about exact leaders holds for the computed ones after the costs have been moved by at most the
gap; each certificate allows for that. Rounding: every number here is a sum of at most n + T terms, of products with
exponentials of numbers up to span(v), so its relative error is at most ``noise`` = 8 eps (n + T + span v); the 8 stands
for the few operations in each term.

A stationary law may be beyond float64 where the temperature is low: it is nan then, and so is what depends on it. The
statements concerned are left out.

Numbers that need all pairs of states or a dense inverse (a(Q), the sensitivity Lambda, the variance sigma^2) are
computed in all rounds of small models, in the marked rounds 1, 2, 5, 10, 20, ... of larger ones, and are nan elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from lsmdp import kernels
from lsmdp.arrays import CSR, EPS, Floats, Ints, as_cost, like
from lsmdp.convex import lagrangian_gradient
from lsmdp.errors import ConvergenceError, CostError, SpecError
from lsmdp.game import is_mark, start_law
from lsmdp.learners import Learner, TrackTheLeader
from lsmdp.learners.base import Lead, lead, passive_lead
from lsmdp.model import LMDP
from lsmdp.perron import solve
from lsmdp.policy import Policy
from lsmdp.seat import can_idealise
from lsmdp.theory.constants import Constants, constants_for, constants_of_run, hitting_matrix
from lsmdp.theory.dense import Response, respond
from lsmdp.theory.rivals import Again, Rival, log_of, log_tilt, meet
from lsmdp.theory.rows import LeaderRows, SeatRows, StepRows

GAP = 1e-12  # of every leader; what rounding leaves of it is what the certificates allow for
ALL_ROUNDS = 40  # states up to which dense quantities are computed in every round
MARKED_ROUNDS = 1_000  # states up to which they are computed in marked rounds
LEAST = float(np.finfo(np.float64).tiny) / EPS
PAIR_ROUNDS = 400  # states up to which all pairs are compared with their hitting times in every round


class Claim(NamedTuple):
    """A leader as it is claimed to be: its value function, the bounds on its average cost, and the policy played."""

    v: Floats
    lo: float
    hi: float
    policy: Policy
    lead: Lead | None = None  # where the solver goes on from


Leader = Callable[[LMDP, Floats, "Claim | None"], Claim]
Seats = dict[str, tuple[Policy, Floats]]  # each learner's policy, and the law of its state
Look = Callable[[int, Floats, Floats, Seats], None]  # before a round: its number, c_t, c_bar_t, and the learners


def certified(lmdp: LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """The leader for c_bar, from the last one on; to a wider gap where rounding leaves no other."""
    try:
        new = lead(lmdp, c_bar, passive_lead(lmdp) if last is None or last.lead is None else last.lead, GAP)
        return Claim(new.v, new.lo, new.hi, Policy(lmdp, new.v), new)
    except ConvergenceError:
        found = solve(lmdp, c_bar, tol=GAP, start=None if last is None else last.v, throw=False)
        return Claim(found.v, *found.bounds, found.policy)


@dataclass(frozen=True, eq=False)
class SeatTrace:
    """One learner's game."""

    name: str
    rows: SeatRows
    learner: Learner | None  # None: follow the leader with the exact leaders

    @property
    def loss(self) -> float:
        """The expected loss over all rounds."""
        return float(self.rows.loss.sum())


@dataclass(frozen=True, eq=False)
class Trace:
    """The record of one game. ``ftl`` is follow the leader with the exact leaders; ``seats`` are the others."""

    lmdp: LMDP  # at temperature 1
    temperature: float
    start: Floats
    T: int
    leader: LeaderRows
    steps: StepRows
    ftl: SeatTrace
    seats: list[SeatTrace]
    final: Claim  # the leader of all T costs
    mean_cost: Floats
    constants: Constants  # for costs of the spans that were met
    printed: Constants  # for all costs in [0, 1], as in the paper
    rivals: list[Rival]
    paper_setting: bool  # costs in [0, 1] in units of the temperature
    hull: float  # the largest cost minus the least, in units of the temperature
    _met: dict[str, Constants] = field(default_factory=dict, repr=False)

    @property
    def rounds(self) -> Ints:
        """1, ..., T."""
        return np.arange(1, self.T + 1)

    @property
    def lg(self) -> float:
        """1 + log T, which bounds 1 + 1/2 + ... + 1/T."""
        return 1.0 + float(np.log(self.T))

    @property
    def noise(self) -> float:
        """A bound on the relative rounding error of every number in this record."""
        spans = [float(self.leader.span_v.max()), *(float(seat.rows.span_v.max()) for seat in self.seats)]
        return 8.0 * EPS * (self.lmdp.n + self.T + max(spans))

    @property
    def gaps(self) -> Floats:
        """gap_t + gap_{t+1} of the leaders: by how much the two costs of a step may have to be moved."""
        return np.asarray(self.leader.gap[:-1] + self.leader.gap[1:])

    @property
    def lost(self) -> str:
        """Why nothing can be said of some statements: a leader whose stationary law is beyond float64, if there is one.

        The numbers that depend on it are nan.
        """
        at = np.flatnonzero(np.isnan(self.leader.imbalance))
        if not at.size:
            return ""
        more = f" (and in {at.size - 1:,} more)" if at.size > 1 else ""
        return f"the stationary law of the leader is beyond float64 in round {at[0] + 1:,}{more}"

    @property
    def final_gap(self) -> float:
        """The gap of the leader of all costs."""
        return float(self.leader.gap[-1])

    def met(self, seat: SeatTrace) -> Constants:
        """The constants of the policies that this game has met, the learner's and the leaders'."""
        if seat.name not in self._met:
            spans = (self.leader.span_v, seat.rows.span_v, seat.rows.span_iterates)
            largest = max(float(span.max()) for span in spans)
            self._met[seat.name] = constants_of_run(self.lmdp, self.constants, largest)
        return self._met[seat.name]

    def with_constants(self, **changes: Any) -> Trace:
        """The same game judged by other constants."""
        ours, printed = replace(self.constants, **changes), replace(self.printed, **changes)
        return replace(self, constants=ours, printed=printed, _met={})


def trace(
    lmdp: LMDP,
    costs: Iterable[Floats],
    learners: Sequence[Learner] = (),
    *,
    start: int | str | Floats | None = None,
    leader: Leader = certified,
    rivals: Mapping[str, Any] | None = None,
    search: bool = False,
    exact: bool = True,
    watch: Callable[[int], None] | None = None,
    look: Look | None = None,
    at: Collection[int] = (),
) -> Trace:
    """Play the costs and write everything down.

    ``rivals`` are fixed policies to be compared with, besides the last leader and P; ``search`` looks for a better one.
    ``leader`` may be another way to find leaders, or a false one. ``look`` is shown the rounds ``at``.
    """
    lmdp.require_irreducible()
    unit = LMDP(lmdp.P, labels=lmdp.labels, positions=lmdp.positions, rounding=lmdp.rounding / lmdp.temperature)
    book = _Book(lmdp, unit, start_law(lmdp, start), learners, leader, exact)
    for c_t in costs:
        cost = as_cost(c_t, lmdp.n)
        if look is not None and book.t + 1 in at:
            look(book.t + 1, cost, lmdp.temperature * book.now.c, book.seats())
        book.play(cost)
        if watch is not None:
            watch(book.t)
    if not book.t:
        raise CostError("the costs have no rounds, so there is nothing to certify. Give at least one cost vector.")
    return book.close(costs, dict(rivals or {}), search)


class _Moment:
    """The leader of one round, in full: Q as the entries at P's places, its control cost, its law."""

    def __init__(self, lmdp: LMDP, c: Floats, claim: Claim) -> None:
        self.lmdp, self.c, self.claim, self.v = lmdp, c, claim, claim.v
        self.average_cost = (claim.lo + claim.hi) / 2
        self.Q = claim.policy.matrix()
        self.q = self.Q.data
        self.log_ratio = log_tilt(lmdp.P, claim.policy.v)
        self.log_q = lmdp.log_P + self.log_ratio
        self.kl = _row_sums(lmdp.P, self.q * self.log_ratio)
        self.mu = _law(claim.policy)
        self.pi = self.mu[lmdp.entry_rows] * self.q
        self.is_normal = float(self.pi.min()) >= LEAST  # below, a ratio of entries has few digits

    def expect(self, f: Floats) -> Floats:
        """Q f."""
        return _row_sums(self.lmdp.P, self.q * f[self.lmdp.P.indices])

    def cost_of_measure(self, c: Floats) -> float:
        """f(pi; c), from the entries of pi alone."""
        P, pi = self.lmdp.P, self.pi
        mass = _row_sums(P, pi)
        rows = self.lmdp.entry_rows
        logs = log_of(pi) - log_of(mass)[rows] - self.lmdp.log_P
        return float(pi @ (c[rows] + logs))  # eq:statcost

    def row(self, hitting: Floats | None, response: Response | None) -> LeaderRows:
        """What the statements about one leader need."""
        P, v, c, lambda_ = self.lmdp.P, self.v, self.c, self.average_cost
        x, y = self.lmdp.entry_rows, P.indices
        low = np.minimum.reduceat(v[y], P.indptr[:-1])
        w = np.exp(low[x] - v[y])  # z(y), scaled so that the largest of each row is 1
        Pz = _row_sums(P, P.data * w)
        bellman = np.abs(v + lambda_ - (c + self.kl + self.expect(v)))  # eq:bellman_V
        linear = np.abs(-v - (lambda_ - c + np.log(Pz) - low))  # eq:bellman_Z
        formula = np.abs(self.q - P.data * w / Pz[x])  # eq:optQ
        exponent = lambda_ - c[x] - v[y] + v[x]
        exponential = np.abs(self.log_ratio - exponent)  # eq:klform
        flow = _row_sums(P, self.pi) - np.bincount(y, self.pi, P.shape[0])
        broken = np.abs(flow) + abs(self.pi.sum() - 1.0) + max(0.0, -float(self.pi.min()))  # eq:statdist
        span = float(np.ptp(v))
        kl_bound = np.minimum(span**2 / 8.0, span + lambda_ - c)
        nearest = (self.kl - kl_bound).argmax()
        rise, rise_bound, source, target = _steepest(v, c.max() - lambda_, hitting)
        gradient = lagrangian_gradient(self.lmdp, like(P, self.pi), c, v, lambda_).data if self.is_normal else None
        flipped = self.log_ratio + c[x] + lambda_ + v[x] - v[y]  # the signs of app:dual as printed
        return LeaderRows(
            gap=self.claim.hi - self.claim.lo,
            average_cost=lambda_,
            lowest_cost=c.min(),
            highest_cost=c.max(),
            span_v=np.ptp(v),
            size=1.0 + np.ptp(v) + np.abs(c).max() + abs(lambda_),
            bellman=bellman.max(),
            bellman_at=bellman.argmax(),
            linear=linear.max(),
            linear_at=linear.argmax(),
            formula=formula.max(),
            formula_at=x[formula.argmax()],
            exponential=exponential.max(),
            exponential_at=x[exponential.argmax()],
            cost_of_measure=self.cost_of_measure(c),
            imbalance=broken.max(),
            imbalance_at=broken.argmax(),
            kl_max=self.kl.max(),
            kl_max_at=self.kl.argmax(),
            kl=self.kl[nearest],
            kl_bound=kl_bound[nearest],
            kl_at=nearest,
            rise=rise,
            rise_bound=rise_bound,
            rise_from=source,
            rise_to=target,
            dual_gradient=np.nan if gradient is None else np.abs(gradient).max(),
            dual_gradient_printed=np.abs(flipped).max(),
            a=np.nan if response is None else response.a,
            sensitivity=np.nan if response is None else response.sensitivity,
        )


def _step(now: _Moment, after: _Moment, c_t: Floats, response: Response | None) -> StepRows:
    """What happens to the leader between two rounds."""
    P = now.lmdp.P
    x = now.lmdp.entry_rows
    change_c = after.c - now.c
    moved = _row_sums(P, np.abs(after.q - now.q))
    to_next = _row_sums(P, now.q * (now.log_q - after.log_q))
    back = _row_sums(P, after.q * (after.log_q - now.log_q))
    on_next = after.pi - now.pi
    bregman = float(after.pi @ after.log_q - now.pi @ now.log_q - on_next @ now.log_q)  # app:convexity
    slope = abs(float(on_next @ (c_t[x] + now.log_ratio)))
    mass = after.mu - now.mu
    turned = on_next - mass[x] * now.q
    curvature = float(np.sum(turned / now.pi * turned)) if now.is_normal else np.nan
    drift = now.mu - after.mu
    tail = float(after.mu @ change_c) + now.average_cost - after.average_cost
    return StepRows(
        change_v=np.ptp(after.v - now.v),
        change_beyond=np.ptp((after.v - now.v) - change_c),
        change_c=np.ptp(change_c),
        change_c_max=np.abs(change_c).max(),
        spread=np.ptp(c_t - now.c),
        cost=np.abs(c_t).max(),
        change_q=moved.max(),
        change_q_at=moved.argmax(),
        change_mu=np.abs(mass).sum(),
        ideal=now.cost_of_measure(c_t),
        ideal_next=after.cost_of_measure(c_t),
        ideal_form=now.mu @ (c_t + now.average_cost - now.c),  # eq:lpiform
        difference=drift @ (c_t - now.c) + tail,  # eq:lpidiff
        difference_printed=drift @ (c_t + now.c) - after.mu @ change_c + now.average_cost - after.average_cost,
        forward=now.mu @ to_next,
        backward=after.mu @ back,
        bregman=bregman,
        pinsker=0.5 * (after.mu @ moved**2),
        slope=slope,
        curvature=curvature,
        variance=np.nan if response is None or not now.is_normal else response.variance(c_t - now.c),
    )


class _Player:
    """A learner on its way through the game; without a learner it plays the exact leaders."""

    def __init__(self, lmdp: LMDP, law: Floats, learner: Learner | None, ideal: bool) -> None:
        self.lmdp, self.law, self.learner, self.ideal = lmdp, law, learner, ideal
        self.state = None if learner is None else learner.init(lmdp)
        self.rows: list[SeatRows] = []
        self.last = np.zeros(lmdp.n)  # the leader of the round before

    def choose(self, leader: Policy) -> Policy:
        """The policy of the coming round."""
        return leader if self.learner is None else self.learner.policy(self.lmdp, self.state)

    def play(self, c_t: Floats, now: _Moment, after: _Moment) -> None:
        """One round, in units of the temperature."""
        T = self.lmdp.temperature
        own = self.choose(now.claim.policy)
        v = now.v if self.learner is None else own.v / T
        unit = now.lmdp
        policy = now.claim.policy if self.learner is None else Policy(unit, v)
        log_ratio = now.log_ratio if self.learner is None else log_tilt(unit.P, policy.v)
        q = now.q if self.learner is None else unit.P.data * np.exp(log_ratio)
        log_q = unit.log_P + log_ratio
        kl = _row_sums(unit.P, q * log_ratio)
        p = self.law
        law = np.bincount(unit.P.indices, p[unit.entry_rows] * q, unit.n).astype(np.float64)
        law = law / law.sum()
        r, lo, hi = kernels.residual(unit.P, now.c, v, 1.0, unit.rounding)
        to_leader = _row_sums(unit.P, q * (log_q - now.log_q))
        mu = _law(policy) if self.ideal else np.full(unit.n, np.nan)
        self.rows.append(
            SeatRows(
                loss=p @ (c_t + kl),
                distance=np.abs(p - now.mu).sum(),
                gain=(p - now.mu) @ (c_t - now.c),
                boundary=(p - law) @ now.v,
                drift=p @ (now.v - self.last - (now.v - self.last).min()),
                boundary_own=(p - law) @ v,
                residual=p @ r - now.average_cost,
                gap=hi - lo,
                error=np.ptp(v - now.v),
                span_v=np.ptp(v),
                span_iterates=self._widest(v, after),
                divergence=p @ to_leader,
                ideal=mu @ (c_t + kl),
                to_next=mu @ _row_sums(unit.P, q * (log_q - after.log_q)),
                to_leader=mu @ to_leader,
            )
        )
        self.law, self.last = law, now.v
        if self.learner is not None:
            self.state = self.learner.observe(self.lmdp, self.state, T * c_t)

    def _widest(self, v: Floats, after: _Moment) -> float:
        """The largest span of the value functions on the way to the next round; tracking meets some between rounds."""
        widest = float(np.ptp(v))
        if isinstance(self.learner, TrackTheLeader):
            for _ in range(self.learner.steps):
                once = v + kernels.residual(after.lmdp.P, after.c, v, 1.0)[0]
                twice = once + kernels.residual(after.lmdp.P, after.c, once, 1.0)[0]
                v = (once + twice) / 2 if self.learner.averaged else once
                widest = max(widest, float(np.ptp(once)), float(np.ptp(v)))
        return widest

    def close(self) -> SeatTrace:
        """The finished record."""
        name = "exact ftl" if self.learner is None else self.learner.name
        return SeatTrace(name, SeatRows(*_columns(self.rows)), self.learner)


class _Book:
    """The record while it is being written."""

    def __init__(
        self, lmdp: LMDP, unit: LMDP, start: Floats, learners: Sequence[Learner], leader: Leader, exact: bool
    ) -> None:
        for learner in learners:
            if hasattr(learner, "foresee"):
                raise SpecError(f"{learner.name} sees costs before they are paid: there is no regret to certify.")
        self.lmdp, self.unit, self.start, self.find, self.exact = lmdp, unit, start, leader, exact
        ideal = can_idealise(unit)
        self.players = [_Player(lmdp, start, learner, ideal) for learner in (None, *learners)]
        self.hitting = hitting_matrix(unit.P) if exact and unit.n <= PAIR_ROUNDS else None
        self.t = 0
        self.c_sum = np.zeros(unit.n)
        self.lowest, self.highest, self.widest = np.inf, -np.inf, 0.0
        self.leaders: list[LeaderRows] = []
        self.steps: list[StepRows] = []
        self.now = _Moment(unit, np.zeros(unit.n), leader(unit, np.zeros(unit.n), None))
        self.response = self._respond()
        self.leaders.append(self.now.row(self.hitting, self.response))

    def _respond(self) -> Response | None:
        n = self.unit.n
        wanted = n <= ALL_ROUNDS or (n <= MARKED_ROUNDS and is_mark(self.t + 1))
        wanted = wanted and not np.isnan(self.now.mu[0])
        return respond(self.now.Q, self.now.mu) if wanted and self.exact else None

    def seats(self) -> Seats:
        """The policy that each learner is about to play, and where it is."""
        return {
            player.learner.name: (player.choose(self.now.claim.policy), player.law)
            for player in self.players
            if player.learner is not None
        }

    def play(self, cost: Floats) -> None:
        """The next round."""
        self.t += 1
        self.lowest, self.highest = min(self.lowest, float(cost.min())), max(self.highest, float(cost.max()))
        self.widest = max(self.widest, float(np.ptp(cost)))
        c_t = cost / self.lmdp.temperature
        self.c_sum = self.c_sum + c_t
        c_bar = self.c_sum / self.t
        after = _Moment(self.unit, c_bar, self.find(self.unit, c_bar, self.now.claim))
        for player in self.players:
            player.play(c_t, self.now, after)
        self.steps.append(_step(self.now, after, c_t, self.response))
        self.now = after
        self.response = self._respond()
        self.leaders.append(after.row(self.hitting, self.response))

    def close(self, costs: Iterable[Floats], rivals: dict[str, Any], search: bool) -> Trace:
        """The finished record, with its constants."""
        unit, temperature = self.unit, self.lmdp.temperature
        ours = constants_for(unit, self.widest / temperature, exact=self.exact)
        in_paper = self.lowest >= 0.0 and self.highest <= temperature
        printed = constants_for(unit, 1.0, exact=self.exact) if in_paper and ours.cost_range != 1.0 else ours
        seats = [player.close() for player in self.players]
        again = Again(costs, self.t, self.lmdp.temperature)
        rivals = {"leader": self.now.claim.policy, "passive": Policy(self.unit, np.zeros(self.unit.n)), **rivals}
        return Trace(
            lmdp=self.unit,
            temperature=self.lmdp.temperature,
            start=self.start,
            T=self.t,
            leader=LeaderRows(*_columns(self.leaders)),
            steps=StepRows(*_columns(self.steps)),
            ftl=seats[0],
            seats=seats[1:],
            final=self.now.claim,
            mean_cost=self.now.c,
            constants=ours,
            printed=printed,
            rivals=meet(self.unit, again, self.start, rivals, self.now.claim.v, self.now.c, search),
            paper_setting=in_paper,
            hull=(self.highest - self.lowest) / temperature,
        )


def _law(policy: Policy) -> Floats:
    """The stationary law; nan where that is beyond float64, and so is all that is said of it."""
    try:
        return policy.stationary()
    except ConvergenceError:
        return np.full(policy.lmdp.n, np.nan)


def _columns(rows: Sequence[tuple[Any, ...]]) -> Iterator[Floats]:
    return iter(np.array(rows, dtype=np.float64).T.copy())


def _steepest(v: Floats, most: float, hitting: Floats | None) -> tuple[float, float, int, int]:
    """v(x) - v(y) and most * E_x[T_y], for the pair of states for which the first exceeds the second by the most."""
    if hitting is None:
        return np.nan, np.nan, 0, 0
    over = v[:, None] - v[None, :] - most * hitting
    np.fill_diagonal(over, -np.inf)
    x, y = np.unravel_index(int(over.argmax()), over.shape)
    return float(v[x] - v[y]), float(most * hitting[x, y]), int(x), int(y)


def _row_sums(P: CSR, entries: Floats) -> Floats:
    return np.asarray(np.add.reduceat(entries, P.indptr[:-1]))
