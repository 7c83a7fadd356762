"""The leader of one round in full, and what happens between two of them.

A leader is a claim: a value function, the bounds that it claims for the average cost, and the policy that is played.
What is written down of it comes from the entries of Q and from the definitions, not from the solver's own loops.

Two leaders of consecutive rounds are close: log Q' - log Q is of the order 1/t. A divergence between them is of the
order 1/t^2 and is counted t times. So it is not summed as q (log q - log q'), where terms of the order 1/t cancel, but
as

    KL(q || q') = sum q (e^rho - 1 - rho),   rho = log(q'/q),

whose terms are not negative. An error of eps in rho then enters times |e^rho - 1| only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    like,
    mean,
)
from lsmdp.convex import lagrangian_gradient
from lsmdp.errors import ConvergenceError
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.solvers.warm.lead import Lead
from lsmdp.theory.dense import Response
from lsmdp.theory.rivals import log_of, log_tilt
from lsmdp.theory.rows import LeaderRows, StepRows

# Entries from here on are in full precision even after a multiplication by eps.
_LEAST_PRECISE_RATIO = float(np.finfo(np.float64).tiny) / EPS


class Claim(NamedTuple):
    """A leader as it is claimed to be: its value function, the bounds on its average cost, and the policy played."""

    v: Floats
    lo: float
    hi: float
    policy: Policy
    lead: Lead | None = None  # where the solver goes on from


def law_of(policy: Policy) -> Floats:
    """The stationary law; nan where that is beyond float64, and so is all that is said of it."""
    try:
        return policy.stationary()
    except ConvergenceError:
        return np.full(policy.lmdp.n, np.nan)


class LeaderOfRound:
    """The leader of one round, in full: Q as the entries at P's places, its control cost, its law."""

    def __init__(self, lmdp: LMDP, c: Floats, claim: Claim) -> None:
        self.lmdp, self.c, self.claim, self.v = lmdp, c, claim, claim.v
        self.average_cost = (claim.lo + claim.hi) / 2
        self.Q = claim.policy.matrix()
        self.q = self.Q.data
        self.log_ratio = log_tilt(lmdp.P, claim.policy.v)
        self.log_q = lmdp.log_P + self.log_ratio
        self.kl = row_sums_of(lmdp.P, self.q * self.log_ratio)
        self.mu = law_of(claim.policy)
        self.pi = self.mu[lmdp.entry_rows] * self.q
        self.is_normal = float(self.pi.min()) >= _LEAST_PRECISE_RATIO  # below, a ratio of entries has few digits
        x, there = lmdp.entry_rows, claim.v[lmdp.P.indices]
        low = np.minimum.reduceat(there, lmdp.P.indptr[:-1])
        self.w = np.exp(low[x] - there)  # z(y), scaled so that the largest of each row is 1
        self.Pz = row_sums_of(lmdp.P, lmdp.P.data * self.w)
        self.soft = low - np.log(self.Pz)  # -log P e^{-v}

    def bellman(self, c: Floats) -> Floats:
        """Bv for a cost, with the v that is claimed."""
        return np.asarray(c + self.soft)

    def expect(self, f: Floats) -> Floats:
        """Q f."""
        return row_sums_of(self.lmdp.P, self.q * f[self.lmdp.P.indices])

    def cost_of_measure(self, c: Floats) -> float:
        """f(pi; c), from the entries of pi alone."""
        P, pi = self.lmdp.P, self.pi
        mass = row_sums_of(P, pi)
        rows = self.lmdp.entry_rows
        logs = log_of(pi) - log_of(mass)[rows] - self.lmdp.log_P
        return mean(pi, c[rows] + logs)  # eq:statcost

    def row(self, hitting: Floats | None, response: Response | None) -> LeaderRows:
        """What the statements about one leader need."""
        P, v, c, lambda_ = self.lmdp.P, self.v, self.c, self.average_cost
        x, y = self.lmdp.entry_rows, P.indices
        bellman = np.abs(v + lambda_ - (c + self.kl + self.expect(v)))  # eq:bellman_V
        linear = np.abs(-v - (lambda_ - self.bellman(c)))  # eq:bellman_Z
        formula = np.abs(self.q - P.data * self.w / self.Pz[x])  # eq:optQ
        exponent = lambda_ - c[x] - v[y] + v[x]
        exponential = np.abs(self.log_ratio - exponent)  # eq:klform
        flow = row_sums_of(P, self.pi) - np.bincount(y, self.pi, P.shape[0])
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


def step(now: LeaderOfRound, after: LeaderOfRound, c_t: Floats, response: Response | None) -> StepRows:
    """What happens to the leader between two rounds."""
    P = now.lmdp.P
    x = now.lmdp.entry_rows
    change_c = after.c - now.c
    moved = row_sums_of(P, np.abs(after.q - now.q))
    to_next = divergence(P, now.q, after.q, after.log_ratio - now.log_ratio)
    back = divergence(P, after.q, now.q, now.log_ratio - after.log_ratio)
    on_next = after.pi - now.pi
    bregman = mean(after.pi, after.log_q) - mean(now.pi, now.log_q) - mean(on_next, now.log_q)  # app:convexity
    slope = abs(mean(on_next, c_t[x] + now.log_ratio))
    mass = after.mu - now.mu
    turned = on_next - mass[x] * now.q
    curvature = float(np.sum(turned / now.pi * turned)) if now.is_normal else np.nan
    drift = now.mu - after.mu
    tail = mean(after.mu, change_c) + now.average_cost - after.average_cost
    change_v = after.v - now.v
    return StepRows(
        change_v=np.ptp(change_v),
        turn=np.ptp(change_v - now.expect(change_v)),
        by_costs=np.ptp(after.bellman(after.c) - after.bellman(now.c)),  # eq:span, the first term
        by_values=np.ptp(after.bellman(now.c) - now.bellman(now.c)),  # and the second
        change_c=np.ptp(change_c),
        change_c_max=np.abs(change_c).max(),
        spread=np.ptp(c_t - now.c),
        cost=np.abs(c_t).max(),
        change_q=moved.max(),
        change_q_at=moved.argmax(),
        change_mu=np.abs(mass).sum(),
        ideal=now.cost_of_measure(c_t),
        ideal_next=after.cost_of_measure(c_t),
        ideal_form=mean(now.mu, c_t + now.average_cost - now.c),  # eq:lpiform
        difference=mean(drift, c_t - now.c) + tail,  # eq:lpidiff
        difference_printed=mean(drift, c_t + now.c) - mean(after.mu, change_c) + now.average_cost - after.average_cost,
        forward=mean(now.mu, to_next),
        backward=mean(after.mu, back),
        bregman=bregman,
        pinsker=0.5 * mean(after.mu, moved**2),
        slope=slope,
        curvature=curvature,
        variance=np.nan if response is None or not now.is_normal else response.variance(c_t - now.c),
        loss_span=np.ptp(c_t + now.kl),
        tilt_span=np.ptp(now.log_ratio),
    )


def _steepest(v: Floats, most: float, hitting: Floats | None) -> tuple[float, float, int, int]:
    """v(x) - v(y) and most * E_x[T_y], for the pair of states for which the first exceeds the second by the most."""
    if hitting is None:
        return np.nan, np.nan, 0, 0
    over = v[:, None] - v[None, :] - most * hitting
    np.fill_diagonal(over, -np.inf)
    x, y = np.unravel_index(int(over.argmax()), over.shape)
    return float(v[x] - v[y]), float(most * hitting[x, y]), int(x), int(y)


def divergence(P: CSR, q: Floats, other: Floats, rho: Floats) -> Floats:
    """KL(Q(.|x) || Q'(.|x)) for each x, from the entries of both and rho = log Q'/Q (see above)."""
    near = np.abs(rho) < 1.0
    small = np.where(near, rho, 0.0)
    return row_sums_of(P, np.where(near, q * (np.expm1(small) - small), (other - q) - q * rho))


def row_sums_of(P: CSR, entries: Floats) -> Floats:
    """The sum of the entries of each row, one for each entry of P."""
    return np.asarray(np.add.reduceat(entries, P.indptr[:-1]))
