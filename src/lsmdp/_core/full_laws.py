"""The stationary laws of consecutive policies of a small model: mu = mu Q, each from the one before.

Where P is reversible with respect to rho, mu ~ rho w (P w) (policy.py). Otherwise an *anchor* is kept: an earlier
policy Q_o with its law mu_o and Z = A^{-1}, A = I - Q_o + 1 1'/n. A policy is Q(x, z) = P(x, z) w(z) / s(x), so that
Q = diag(s_o / s) Q_o diag(w / w_o), and with y = mu s_o / s,

    mu = mu Q   <=>   y (I - Q_o) = -y delta,   delta = (s w_o) / (s_o w) - 1.

Since (1'/n) Z = mu_o and Z 1 = 1, such a y with sum 1 satisfies y = mu_o - (y delta) Z; and what satisfies this has
y (diag(1 + delta) - Q_o) = k 1', where k = 0, because diag(1 + delta) - Q_o takes w / w_o to 0. So a step,

    y <- mu_o - (y delta) Z,

is one product with Z and none with P. With K = max_x sum_y |Z(x, y)| and q = max |delta| it contracts l1 distances by
K q: after a step that has moved y by c, |y - y*|_1 <= c K q / (1 - K q), and mu ~ y s / s_o is off by at most
2 max(s/s_o) / min(s/s_o) times that. Steps are taken until this is at most LAW_GOAL / 4. That Z is only nearly the
inverse, Z A = I + E, moves the fixed point by at most |E| K q / (1 - K q), which is |E| where K q <= 1/2. E is
evaluated, within (n + 16) eps K / 2 for sums that are taken four at a time; an anchor with more than LAW_GOAL / 8 of
both is not used, nor is one whose s_o / s varies by more than a factor of 2. The last quarter of LAW_GOAL is for delta,
y and mu_o, which are known to some eps.

All steps after the first are taken for what y moves by, e <- -(e delta) Z. Where n 2^-24 (4 K q c) is at most a quarter
of LAW_GOAL likewise, with c what the first one moved y by, Z is read in single precision for them, half as many bytes:
a product is off by at most n 2^-24 K q |e|_1, the |e|_1 sum up to at most 2 c, and what is lost counts once more in
each later step, at most twice in all.

Without an anchor, but where some states can be reached from everywhere, b = sum_y min_x Q(x, y) > 0, mu -> mu Q
contracts l1 distances by 1 - b: then mu <- mu Q, and |mu - mu*|_1 <= |mu Q - mu|_1 / b, where b >= sum_y min_x P(x, y)
w(y) / max s. Otherwise, and where STEPS did not do, mu comes from state reduction (Grassmann, Taksar and Heyman): n^3/3
operations without a subtraction, accurate in every entry. So does mu_o, and every mu where n is so small that this is
as cheap. The anchor is renewed once the products that another one might have saved, all after the second of a round,
have cost as much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core.explog import extremes
from lsmdp._core.factor import LEAST_PIVOT
from lsmdp._core.full import Square, invert, times
from lsmdp.arrays import EPS, Floats
from lsmdp.forms import (
    COUNT,
    Form,
    Past,
    anything,
)

LAW_GOAL = 1e-12  # l1 distance to the stationary law
REDUCED = 16  # states up to which a reduction costs no more than a few steps
UNIT_SINGLE = 2.0**-24  # unit roundoff of single precision
STEPS = 30  # towards a stationary law in one round
INVERSION = 4  # times n products with Q is what an anchor takes


class Equilibrium(NamedTuple):
    """The stationary law of the last policy, and what the next one is found with.

    ``anchor`` is the v at which A was inverted, ``anchored`` its stationary law, ``K`` that of A^{-1} (infinite: it is
    not to be used), and ``debt`` the products since that another A might have saved. The arrays are empty where no
    inverse is needed.
    """

    mu: Floats
    anchor: Floats
    anchored: Floats
    inverse: Floats
    K: float
    debt: int

    def forms(self, _: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py).

        Where floats lose a law or an inverse, what is left here is not used, and can be anything.
        """
        return {
            "mu": anything(self.mu.shape),
            "anchor": Form((self.anchor.shape,)),
            "anchored": anything(self.anchored.shape),
            "inverse": anything(self.inverse.shape),
            "K": Form(low=0.0, high=np.inf),
            "debt": COUNT,
        }

    @classmethod
    def first(cls, square: Square) -> Equilibrium:
        """Before round 1: any law, and nothing to go by yet."""
        n, padded = square.rows.shape
        if square.balanced.size or n <= REDUCED:
            return cls(np.full(n, 1.0 / n), np.empty(0), np.empty(0), np.empty((0, 0)), np.inf, 0)
        return cls(np.full(n, 1.0 / n), np.zeros(n), np.zeros(n), np.zeros((n, padded)), np.inf, INVERSION * n)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def mean(law: Any, f: Any) -> float:
    """The sum of law * f, in an order of its own."""
    found = 0.0
    for i in range(f.size):
        found += law[i] * f[i]
    return found


@njit(cache=True, error_model="numpy")
def _absolute(x: Any) -> float:
    """The sum of the absolute values."""
    found = 0.0
    for i in range(x.size):
        found += abs(x[i])
    return found


@njit(cache=True, error_model="numpy", forceinline=True)
def push(rows: Any, w: Any, per: Any, law: Any, share: Any, after: Any) -> None:
    """after = law Q, divided by its sum."""
    for x in range(law.size):
        share[x] = law[x] * per[x]
    times(rows, share, after)
    scale = 1.0 / _weighted(after, w)
    for x in range(law.size):
        after[x] *= scale


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _weighted(x: Any, weights: Any) -> float:
    """x *= weights, and its sum."""
    found = 0.0
    for i in range(x.size):
        x[i] *= weights[i]
        found += x[i]
    return found


@njit(cache=True, error_model="numpy")
def balance(balanced: Any, w: Any, s: Any, mu: Any) -> bool:
    """The stationary law of a policy of a reversible P; False where floats lose it.

    Twelve digits of each entry are right, as in ``passes.balanced_law``: w and s are those of a flat v.
    """
    total = 0.0
    for x in range(balanced.size):
        mu[x] = balanced[x] * w[x] * s[x]
        total += mu[x]
    for x in range(balanced.size):
        mu[x] /= total
    return total > LEAST_PIVOT


@njit(cache=True, error_model="numpy", forceinline=True)
def approach(
    rows: Any,
    least: Any,
    w: Any,
    s: Any,
    per: Any,
    anchor: Any,
    inverse: Any,
    short: Any,
    K: float,
    mu: Any,
    y: Any,
    share: Any,
    after: Any,
    short_share: Any,
    short_after: Any,
) -> tuple[bool, int]:
    """From some mu to the stationary law of the weights w: whether it arrives, and the products taken."""
    n, padded = rows.shape
    low, high, least_scale, largest_scale, scale = _compared(w, s, per, mu, anchor, y, share)
    contraction = K * max(-low, high)
    if contraction <= 0.5 and largest_scale <= 2.0 * least_scale:
        goal = LAW_GOAL / 8 * (least_scale / largest_scale)
        scale = 1.0 / scale
        for x in range(padded):
            y[x] *= scale
            share[x] = y[x] * anchor[4, x]
        times(inverse, share, after)
        for x in range(padded):
            after[x] = (anchor[3, x] - after[x]) - y[x]
        moved, taken = _move(y, after, anchor, share), 1
        single = 4 * n * UNIT_SINGLE * contraction * moved <= goal
        for x in range(padded):
            short_share[x] = share[x]
        while not moved * contraction <= goal * (1.0 - contraction):
            if taken == STEPS:
                return False, STEPS
            if single:
                times(short, short_share, short_after)
                moved = _move(y, short_after, anchor, short_share)
            else:
                times(inverse, share, after)
                moved = _move(y, after, anchor, share)
            taken += 1
        for x in range(padded):
            y[x] *= anchor[1, x]
            mu[x] = s[x]
        scale = 1.0 / _weighted(mu, y)
        for x in range(padded):
            mu[x] *= scale
        return True, taken
    b = mean(w, least) / extremes(s)[1]
    if n * EPS <= b * LAW_GOAL:
        for taken in range(STEPS):
            push(rows, w, per, mu, share, after)
            for x in range(padded):
                share[x] = after[x] - mu[x]
            if _absolute(share) <= b * LAW_GOAL:
                return True, taken + 1
            for x in range(padded):
                mu[x] = after[x]
    return False, n // 4


@njit(cache=True, error_model="numpy", forceinline=True)
def _compared(
    w: Any, s: Any, per: Any, mu: Any, anchor: Any, y: Any, share: Any
) -> tuple[float, float, float, float, float]:
    """delta of an anchor and y = mu s_o / s; the extremes of delta and of s_o / s, and the sum of y."""
    for x in range(s.size):
        anchor[4, x] = s[x] * anchor[2, x] / w[x] - 1.0
        share[x] = anchor[0, x] * per[x]
        y[x] = mu[x]
    low, high, least, most = np.inf, -np.inf, np.inf, -np.inf
    for x in range(s.size):
        low, high = min(low, anchor[4, x]), max(high, anchor[4, x])
        least, most = min(least, share[x]), max(most, share[x])
    return low, high, least, most, _weighted(y, share)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _move(y: Any, move: Any, anchor: Any, share: Any) -> float:
    """y += move; share = -move delta, which leads to the next one; the l1 norm of this one."""
    moved = 0.0
    for x in range(y.size):
        y[x] += move[x]
        share[x] = -move[x] * anchor[4, x]
        moved += abs(np.float64(move[x]))
    return moved


@njit(cache=True, error_model="numpy")
def renew(rows: Any, w: Any, s: Any, anchor: Any, inverse: Any) -> float:
    """Invert I - Q + 1 1'/n for these weights, and find their stationary law; K, or inf where they are not accurate."""
    n, padded = rows.shape
    A, product = np.zeros((n, padded)), np.empty(padded)
    for x in range(n):
        for y in range(n):
            A[x, y] = 1.0 / n - rows[x, y] * (w[y] / s[x])
        A[x, x] += 1.0
        for y in range(padded):
            inverse[x, y] = A[x, y]
    invert(inverse)
    remember(w, s, anchor)
    if not reduce(rows, w, s, anchor[3]):
        return np.inf
    K, E = 0.0, 0.0
    for x in range(n):
        times(A, inverse[x], product)
        product[x] -= 1.0
        K, E = max(K, _absolute(inverse[x])), max(E, _absolute(product))
    return K if E + (n + 16) * EPS * K / 2 <= LAW_GOAL / 8 else np.inf


@njit(cache=True, error_model="numpy")
def remember(w: Any, s: Any, anchor: Any) -> None:
    """The rows s, 1/s and w/s of an anchor, whose stationary law is still to be found."""
    for x in range(s.size):
        anchor[0, x], anchor[1, x], anchor[2, x], anchor[3, x] = s[x], 1.0 / s[x], w[x] / s[x], 0.0


@njit(cache=True, error_model="numpy")
def reduce(rows: Any, w: Any, s: Any, mu: Any) -> bool:
    """The stationary law by state reduction; False where floats lose it."""
    n = rows.shape[0]
    Q = np.empty((n, n))
    for x in range(n):
        for y in range(n):
            Q[x, y] = rows[x, y] * (w[y] / s[x])
    for k in range(n - 1, 0, -1):
        pivot = 0.0
        for y in range(k):
            pivot += Q[k, y]
        if not pivot >= LEAST_PIVOT:
            return False
        for x in range(k):
            Q[x, k] /= pivot
            factor = Q[x, k]
            if factor > 0.0:
                for y in range(k):
                    Q[x, y] += factor * Q[k, y]
    mu[0] = 1.0
    total = 1.0
    for k in range(1, n):
        mu[k] = 0.0
        for x in range(k):
            mu[k] += mu[x] * Q[x, k]
        total += mu[k]
    for x in range(n):
        mu[x] /= total
    return total < np.inf
