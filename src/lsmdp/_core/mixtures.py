"""Mixtures of policies, round after round: kernels that are kept as a weight for each move of P.

**What it is for.** A pool of E learners plays the flow mixture of their policies (mixture.py, learners/pool.py). Here
is what that takes in a round: how the weights of the learners follow from their losses (:func:`hedge`), the kernel of
the mixture (:func:`completed_rows`), and what a round of it costs (:func:`account`). crowds.py goes through many rounds
with the same loops.

**The kernel.** With the policy of v_i in the form Q^i(y|x) = P(x,y) u_i(y) / s_i(x), and a_i(x) = w_i p^i(x) / s_i(x),

    F(x,y) = sum_i w_i p^i(x) Q^i(y|x) = P(x,y) R(x,y),    R(x,y) = sum_i a_i(x) u_i(y),
    m(x) = sum_y F(x,y),    Q(y|x) = P(x,y) R(x,y) / m(x),    KL(Q || P)(x) = sum_y Q(y|x) log(R(x,y) / m(x)).

crowds.py has R for all learners in one pass over P. Each row is divided by its own sum, so that it sums to 1 whatever
is lost in a tiny m; where m is below SURELY_NORMAL it counts as 0, nobody is there, and the row is that of P.

**The weights.** ``hedge`` goes from the losses of a round to the weights of the next, in one of two manners. With the
range r of the differences of losses seen so far and L_i the sums of the losses,

    plain:   w_{t+1,i} ~ e^{-eta L_i},  eta = sqrt(8 log E / (t + 1)) / r;
    swift:   w_{t+1,i} ~ w_{t,i} e^{-eta l_{t,i}},  eta = log E / D_t,  then w <- (1 - share) w + share / E,

where D_t sums up the mixability gaps w_t.l_t + log(sum_i w_{t,i} e^{-eta l_{t,i}}) / eta of the rounds before
(AdaHedge). As long as D = 0 the rate is infinite: all weight goes to the least loss of the round. One row after the
other, so that the bits do not depend on how rounds are cut into blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry
from lsmdp._core.explog import logarithms
from lsmdp._core.sparse import LEAST_NORMAL_FLOAT, SURELY_NORMAL, rows
from lsmdp.arrays import CSR, Floats, frozen


class Odds(NamedTuple):
    """What the weights of E learners follow from: their weights and summed losses, D, r, and how many rounds."""

    weights: Floats
    losses: Floats
    gap: float
    range: float
    t: int


def completed_rows(P: CSR, flows: Floats) -> tuple[Floats, Floats, Floats]:
    """R at the entries of P becomes the entries of Q, in place; with KL(Q || P) and m of each state."""
    kl, mass = np.empty((2, P.shape[0]))
    complete(rows(P), flows, kl, mass, np.empty(flows.size))
    return flows, kl, mass


def account(P: CSR, weights: Floats, kl: Floats, costs: Floats, law: Floats) -> tuple[Floats, Floats]:
    """State cost, p.KL(Q || P) and max_x |Q - Q'|_1 of each round, a row each, and the law after the last.

    ``weights`` and ``kl`` have a row more than there are rounds.
    """
    found, now = np.empty((3, len(costs))), law.copy()
    _account(rows(P), frozen(weights), frozen(kl), frozen(costs), now, np.empty(law.size), found)
    return found, now


@entry(fastmath={"reassoc", "contract"})
def complete(P: Any, flows: Any, kl: Any, mass: Any, room: Any) -> None:
    """See :func:`completed_rows`; ``room`` has a number for each entry."""
    small = 0
    for x in range(kl.size):
        begin, end, total = P.indptr[x], P.indptr[x + 1], 0.0
        for p in range(begin, end):
            total += P.data[p] * flows[p]
        mass[x] = total
        if total >= SURELY_NORMAL:
            scale = 1.0 / total
            for p in range(begin, end):
                flows[p] *= scale
        else:
            for p in range(begin, end):
                flows[p] = 1.0
    for p in range(flows.size):
        small += not flows[p] >= LEAST_NORMAL_FLOAT
    if small == 0:
        logarithms(flows, room)
    else:
        for p in range(flows.size):
            room[p] = np.log(flows[p]) if flows[p] > 0.0 else 0.0
    for p in range(flows.size):
        flows[p] *= P.data[p]
    for x in range(kl.size):
        total = 0.0
        for p in range(P.indptr[x], P.indptr[x + 1]):
            total += flows[p] * room[p]
        kl[x] = max(total, 0.0)


@entry()
def hedge(paid: Any, share: float, t: int, weights: Any, sums: Any, spread: Any) -> float:
    """What a round with these losses makes of the weights, the sums of losses, and (D, r), in place; w.l of it.

    t rounds were before.
    """
    E, least, most, mean, total = paid.size, np.inf, -np.inf, 0.0, 0.0
    for i in range(E):
        least, most = min(least, paid[i]), max(most, paid[i])
        mean += weights[i] * paid[i]
        sums[i] += paid[i]
    gap, widest = spread[0], max(spread[1], most - least)
    if share < 0.0:
        rate = np.sqrt(8.0 * np.log(E) / (t + 2)) / widest if widest > 0.0 else 0.0
        lowest = np.inf
        for i in range(E):
            lowest = min(lowest, sums[i])
        for i in range(E):
            weights[i] = np.exp(-rate * (sums[i] - lowest))
            total += weights[i]
    else:
        rate = np.log(E) / gap if gap > 0.0 else np.inf
        for i in range(E):
            if paid[i] > least:
                weights[i] *= np.exp(-rate * (paid[i] - least))
            total += weights[i]
        gap += max(mean - least + (np.log(total) / rate if rate < np.inf else 0.0), 0.0)
    for i in range(E):
        weights[i] /= total
        if share > 0.0:
            weights[i] = (1.0 - share) * weights[i] + share / E
    spread[0], spread[1] = gap, widest
    return mean


@entry(fastmath={"reassoc", "contract"})
def _account(P: Any, weights: Any, kl: Any, costs: Any, law: Any, after: Any, out: Any) -> None:
    """See :func:`account`; the law changes in place, and is divided by its sum after each round."""
    n = law.size
    for k in range(costs.shape[0]):
        state, control, largest, total, now, then = 0.0, 0.0, 0.0, 0.0, weights[k], weights[k + 1]
        for x in range(n):  # nothing is written in a loop that adds up: the bits would depend on where arrays are
            state += law[x] * costs[k, x]
            control += law[x] * kl[k, x]
        after[:] = 0.0
        for x in range(n):
            change, here = 0.0, law[x]
            for p in range(P.indptr[x], P.indptr[x + 1]):
                after[P.indices[p]] += here * now[p]
            for p in range(P.indptr[x], P.indptr[x + 1]):
                change += abs(now[p] - then[p])
            largest = max(largest, change)
        for x in range(n):
            total += after[x]
        for x in range(n):
            law[x] = after[x] / total
        out[0, k], out[1, k], out[2, k] = state, control, largest
