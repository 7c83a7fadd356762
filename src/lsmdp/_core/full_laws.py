"""Stationary laws of consecutive policies on a model whose P is written out: mu = mu Q, each from the one before.

**What it is for.** The accounts of a game (full_accounts.py) ask for the stationary law of the policy of every round.
:func:`stationary` takes the weights of consecutive policies (``Weights`` in full.py) and what an earlier call kept, an
:class:`Equilibrium`, and gives a law per round, each within LAW_GOAL in the l1 norm, and what to keep. The bits do not
depend on how the rounds are cut into calls.

**Which way is taken.**

=====================================  =================================================================================
P is reversible with respect to rho    mu ~ rho w (P w), in closed form
at most REDUCED_STATES states          state reduction, which is then as cheap as a few products
near the anchor, see below             a few products with the inverse that the anchor keeps
some state is reached from everywhere  mu <- mu Q, where a few steps do
anything else                          state reduction (Grassmann, Taksar and Heyman): n^3/3 operations, no subtraction
=====================================  =================================================================================

**The anchor** is an earlier policy Q_o with its law mu_o and Z = A^{-1}, A = I - Q_o + 1 1'/n. A policy is
Q(x, z) = P(x, z) w(z) / s(x), so that Q = diag(s_o / s) Q_o diag(w / w_o), and with y = mu s_o / s,

    mu = mu Q   <=>   y (I - Q_o) = -y delta,   delta = (s w_o) / (s_o w) - 1.

Since (1'/n) Z = mu_o and Z 1 = 1, such a y with sum 1 satisfies y = mu_o - (y delta) Z; and what satisfies this has
y (diag(1 + delta) - Q_o) = k 1', where k = 0, because diag(1 + delta) - Q_o takes w / w_o to 0. So a step,

    y <- mu_o - (y delta) Z,

is one product with Z and none with P. With K = max_x sum_y |Z(x, y)| and q = max |delta| it contracts l1 distances by
K q: after a step that has moved y by c, |y - y*|_1 <= c K q / (1 - K q), and mu ~ y s / s_o is off by at most
2 max(s/s_o) / min(s/s_o) times that. Steps are taken until this is at most LAW_GOAL / 4. All steps after the first are
taken for what y moves by, e <- -(e delta) Z. That Z is only nearly the inverse, Z A = I + E, moves the fixed point by
at most |E| K q / (1 - K q), which is |E| where K q <= 1/2. E is evaluated, within (n + 2) eps K |A| / 2 for sums in any
order; an anchor with more than LAW_GOAL / 8 of both is not used, nor is one whose s_o / s varies by more than a factor
of 2. The last quarter of LAW_GOAL is for delta, y and mu_o, which are known to some eps.
The anchor is renewed once the products that another one might have saved, all after the second of a round, have cost as
much as that.

**Steps mu <- mu Q** contract l1 distances by 1 - b, b = sum_y min_x Q(x, y), so that |mu - mu*|_1 <= |mu Q - mu|_1 / b,
where b >= sum_y min_x P(x, y) w(y) / max s. They are taken where b > 0 is large enough to be seen in floats.

**Tried and left.** Z in single precision, for all steps but the first: it reads half as many bytes, and needs another
copy of Z, another kind of product and a bound of its own (full.py has the figures).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lsmdp._core.compile import entry
from lsmdp._core.explog import extremes
from lsmdp._core.factor import LEAST_PIVOT
from lsmdp._core.full import (
    UNKNOWN,
    Square,
    Weights,
    aligned,
    given,
    inverted,
    mix_columns,
    product,
    weigh_block,
    width,
)
from lsmdp.arrays import EPS, Floats, read_only
from lsmdp.inputs.forms import (
    COUNT,
    Form,
    Past,
    anything,
)

# A stationary law is within this l1 distance of the true one; a loss of order one is then known to twelve digits.
LAW_GOAL = 1e-12
# Up to this many states, a state reduction costs no more than a few products with an inverse.
REDUCED_STATES = 16
# So many steps towards the law of one round are tried: those that contract by less than about 0.4 are too slow to help.
_STEPS_TOWARDS_A_LAW = 30
# A new anchor takes as long as about this many products, measured for 20 to 256 states: calls of LAPACK and numpy.
_PRODUCTS_OF_AN_ANCHOR = 800
# A round that is left to state reduction takes as long as about this many products, measured for 20 to 256 states.
PRODUCTS_OF_A_REDUCTION = 50


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
        if square.balanced.size or n <= REDUCED_STATES:
            return cls(np.full(n, 1.0 / n), np.empty(0), np.empty(0), np.empty((0, 0)), np.inf, 0)
        blank = np.zeros(n), np.zeros(n), np.zeros((n, padded))
        return cls(np.full(n, 1.0 / n), *blank, np.inf, _PRODUCTS_OF_AN_ANCHOR)


class LawAnchor(NamedTuple):
    """The policy that laws are found from: s, w/s and the law of it, padded, the inverse Z and its K."""

    s: Floats
    ratio: Floats
    law: Floats
    inverse: Floats
    K: float


def stationary(
    square: Square, temperature: float, values: Floats, seen: Weights, rest: Equilibrium
) -> tuple[int, Floats, Equilibrium]:
    """The laws of the policies of these values, whose weights are known, and what to keep for the next ones.

    Ends early where floats lose a law; the first number says for how many there is one. Row k + 1 has the law of row k
    of the values, padded; row 0 has the one before.
    """
    (rounds, n), padded = values.shape, square.rows.shape[1]
    laws = np.zeros((rounds + 1, padded))
    laws[0, :n] = rest.mu
    if rest.anchor.size:
        return _from_anchors(square, temperature, values, seen, rest, laws)
    if square.balanced.size:
        laws[1:, :n] = square.balanced * seen.w[:rounds, :n] * seen.s[:rounds, :n]
        totals = laws[1:, :n].sum(axis=1)
        laws[1:] /= totals[:, np.newaxis]
        done = int(np.argmin(np.append(totals > LEAST_PIVOT, False)))
    else:
        done = _reduce(square.rows, seen, 0, rounds, laws, np.empty((n, n)))
    return done, laws, rest._replace(mu=laws[done, :n].copy())


def push_block(square: Square, seen: Weights, law: Floats, rounds: int) -> Floats:
    """The law before the first of these rounds and after each of them, a row each, padded."""
    laws = np.zeros((rounds + 1, square.rows.shape[1]))
    laws[0, : law.size] = law
    _push_block(square.rows, seen, laws, np.empty(square.rows.shape[1]))
    return laws


def _from_anchors(
    square: Square, temperature: float, values: Floats, seen: Weights, rest: Equilibrium, laws: Floats
) -> tuple[int, Floats, Equilibrium]:
    (rounds, n), work, k, found = values.shape, np.zeros((6, square.rows.shape[1])), 0, True
    own, debt, anchor = Weights.blank(1, square.rows.shape[1]), rest.debt, rest.anchor
    weigh_block(square, temperature, anchor[np.newaxis], UNKNOWN, own)
    held = _anchor(own, 0, rest.anchored, given(rest.inverse), rest.K)
    while k < rounds:
        if debt >= _PRODUCTS_OF_AN_ANCHOR:
            anchor, debt, held = values[k].copy(), 0, _anchor_at(square, seen, k, laws)
        k, debt, found = _approach(square, held, seen, laws, k, debt, work)
        if not found:
            if _reduce(square.rows, seen, k, k + 1, laws, np.empty((n, n))) == k:
                break
            k += 1
    mu = laws[k, :n].copy()
    return k, laws, Equilibrium(mu, anchor, held.law[:n].copy(), held.inverse, held.K, debt)


def _anchor(seen: Weights, k: int, law: Floats, inverse: Floats, K: float) -> LawAnchor:
    padded = np.zeros(seen.s.shape[1])
    padded[: law.size] = law
    return LawAnchor(seen.s[k].copy(), seen.w[k] / seen.s[k], padded, inverse, float(K))


def _anchor_at(square: Square, seen: Weights, k: int, laws: Floats) -> LawAnchor:
    """Row k as the anchor; its K is infinite where floats do not give an inverse and a law that are accurate."""
    n, K = len(square.rows), np.inf
    Q = square.rows[:, :n] * (seen.w[k, :n] / seen.s[k, :n, np.newaxis])
    Z, A = inverted(Q), np.eye(n) - Q + 1.0 / n
    if _reduce(square.rows, seen, k, k + 1, laws, np.empty((n, n))) > k:
        size, error = _norm(Z), _norm(product(Z, A) - np.eye(n))
        error += (n + 2) * EPS / 2 * size * _norm(A)  # the rounding of the product itself, summed up in any order
        K = size if error <= LAW_GOAL / 8 else np.inf
    inverse = aligned(n, width(n))
    inverse[:, :n] = Z
    return _anchor(seen, k, laws[k + 1, :n], read_only(inverse), K)


def _norm(matrix: Floats) -> float:
    """The largest sum of a row of absolute values."""
    return float(np.abs(matrix).sum(axis=1).max())


@njit(inline="always")  # a piece of each caller, not compiled by itself as well
def _push(rows: Any, w: Any, s: Any, law: Any, share: Any, after: Any) -> None:
    """after = law Q, divided by its sum."""
    total = 0.0
    for x in range(law.size):
        share[x] = law[x] / s[x]
    mix_columns(rows, share, after)
    for x in range(law.size):
        after[x] *= w[x]
        total += after[x]
    scale = 1.0 / total
    for x in range(law.size):
        after[x] *= scale


@entry(fastmath={"reassoc", "contract"})
def _push_block(rows: Any, seen: Any, laws: Any, share: Any) -> None:
    """Row k + 1 of the laws from row k, for the policy of row k."""
    for k in range(laws.shape[0] - 1):
        _push(rows, seen.w[k], seen.s[k], laws[k], share, laws[k + 1])


@entry(fastmath={"reassoc", "contract"})
def _approach(
    square: Any, anchor: Any, seen: Any, laws: Any, first: int, debt: int, work: Any
) -> tuple[int, int, bool]:
    """Laws from the first policy on, by steps from the law before: where it ends, debt, whether it was found.

    It ends where all are done, where the anchor has cost as much as another one, or where steps do not do.
    """
    (n, padded), Z, K = square.rows.shape, anchor.inverse, anchor.K
    s_o, ratio, law_o = anchor.s, anchor.ratio, anchor.law
    y, delta, scale, share, after, base = work[0], work[1], work[2], work[3], work[4], work[5]
    for k in range(first, laws.shape[0] - 1):
        w, s, mu, found = seen.w[k], seen.s[k], laws[k], laws[k + 1]
        total, taken, moved, ends = 0.0, 0, np.inf, False
        for x in range(padded):
            delta[x] = s[x] * ratio[x] / w[x] - 1.0
            scale[x] = s_o[x] / s[x]
            y[x] = mu[x] * scale[x]
            total += y[x]
        low, high = extremes(delta)
        least, most = extremes(scale)
        contraction = K * max(-low, high)
        if contraction <= 0.5 and most <= 2.0 * least:
            goal = LAW_GOAL / 8 * (least / most) * (1.0 - contraction)
            for x in range(padded):
                y[x] /= total
                base[x] = law_o[x] - y[x]
                share[x] = -y[x] * delta[x]
            while taken < _STEPS_TOWARDS_A_LAW and not ends:
                mix_columns(Z, share, after)
                moved, taken = 0.0, taken + 1
                for x in range(padded):
                    move = base[x] + after[x]
                    y[x] += move
                    share[x] = -move * delta[x]
                    base[x] = 0.0
                    moved += abs(move)
                ends = moved * contraction <= goal
            total = 0.0
            for x in range(padded):
                found[x] = y[x] / scale[x]
                total += found[x]
            for x in range(padded):
                found[x] /= total
        else:
            b, top = 0.0, extremes(s)[1]
            for x in range(n):
                b += w[x] * square.least[x] / top
            if n * EPS <= b * LAW_GOAL:
                for x in range(padded):
                    found[x] = mu[x]
                while taken < _STEPS_TOWARDS_A_LAW and not ends:
                    _push(square.rows, w, s, found, share, after)
                    moved, taken = 0.0, taken + 1
                    for x in range(padded):
                        moved += abs(after[x] - found[x])
                        found[x] = after[x]
                    ends = moved <= b * LAW_GOAL
        debt += max(taken - 2, 0) if ends else PRODUCTS_OF_A_REDUCTION
        if not ends:
            return k, debt, False
        if debt >= _PRODUCTS_OF_AN_ANCHOR:
            return k + 1, debt, True
    return laws.shape[0] - 1, debt, True


@entry()
def _reduce(rows: Any, seen: Any, first: int, last: int, laws: Any, Q: Any) -> int:
    """The laws of these policies by state reduction; the first one that floats lose."""
    n = rows.shape[0]
    for t in range(first, last):
        w, s, mu, total = seen.w[t], seen.s[t], laws[t + 1], 1.0
        for x in range(n):
            for y in range(n):
                Q[x, y] = rows[x, y] * (w[y] / s[x])
        for k in range(n - 1, 0, -1):
            pivot = 0.0
            for y in range(k):
                pivot += Q[k, y]
            if not pivot >= LEAST_PIVOT:
                return t
            for x in range(k):
                factor = Q[x, k] / pivot
                Q[x, k] = factor
                for y in range(k):
                    Q[x, y] += factor * Q[k, y]
        mu[0] = 1.0
        for k in range(1, n):
            mu[k] = 0.0
            for x in range(k):
                mu[k] += mu[x] * Q[x, k]
            total += mu[k]
        if not total < np.inf:
            return t
        for x in range(n):
            mu[x] /= total
    return last
