"""Mixtures of policies, round after round: kernels that are kept as a weight for each move of P.

**What it is for.** A pool of E learners plays the flow mixture of their policies (mixture.py, learners/pool.py). Here
is what that takes in a round: how the weights of the learners follow from their losses (:func:`weigh`), the kernel of
the mixture (:func:`blend` and :func:`completed_rows`), and what a round of it costs (:func:`account`).

**The kernel.** With the policy of v_i in the form Q^i(y|x) = P(x,y) u_i(y) / s_i(x), and a_i(x) = w_i p^i(x) / s_i(x),

    F(x,y) = sum_i w_i p^i(x) Q^i(y|x) = P(x,y) R(x,y),    R(x,y) = sum_i a_i(x) u_i(y),
    m(x) = sum_y F(x,y),    Q(y|x) = P(x,y) R(x,y) / m(x),    KL(Q || P)(x) = sum_y Q(y|x) log(R(x,y) / m(x)).

One product of E x n matrices gives R where P is written out (``blend``); elsewhere each learner adds its term to the
entries (``add_flow``). Each row is divided by its own sum, so that it sums to 1 whatever is lost in a tiny m; where m
is below SURELY_NORMAL it counts as 0, nobody is there, and the row is that of P.

**The weights.** ``weigh`` goes from the losses of a round to the weights of the next, in one of two manners. With the
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
from lsmdp._core.sparse import SURELY_NORMAL, logs_of, rows
from lsmdp._core.trackers import mix_two
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
    kl, mass = np.empty((2, 1, P.shape[0]))
    _complete(rows(P), flows[np.newaxis], kl, mass, np.empty(flows.size))
    return flows, kl[0], mass[0]


def add_flow(P: CSR, share: Floats, u: Floats, flows: Floats) -> None:
    """R += share(x) u(y) at the entries of P."""
    _add(rows(P), frozen(share), frozen(u), flows)


def blend(P: CSR, shares: Floats, laws: Floats, u: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Q, KL(Q || P) and m for each of some rounds: ``shares`` is rounds x learners, the w.

    The others are learners x rounds x states, perhaps padded: the laws p, and what the policies are made of.
    """
    rounds, n = u.shape[1], P.shape[0]
    weights, kl, mass = np.empty((rounds, P.nnz)), np.empty((rounds, n)), np.empty((rounds, n))
    _blend(rows(P), frozen(shares), laws, u, s, weights)
    _complete(rows(P), weights, kl, mass, np.empty(P.nnz))
    return weights, kl, mass


def losses_of(temperature: float, costs: Floats, d: Floats, logs: Floats, laws: Floats) -> Floats:
    """What a learner pays in each of some rounds, where P is written out (Weights in full.py has d and logs).

    Row k of ``laws`` is before round k and row k + 1 after it.
    """
    losses = np.empty(len(costs))
    _charge(temperature, frozen(costs), d, logs, laws, losses)
    return losses


def weigh(losses: Floats, share: float, odds: Odds) -> tuple[Floats, Floats, Odds]:
    """The weights before each of some rounds and after the last, and those of the flow of each loss, w_t.l_t.

    ``losses`` is rounds x learners. A negative ``share`` asks for the plain manner.
    """
    weights, mixed = np.empty((len(losses) + 1, losses.shape[1])), np.empty(len(losses))
    weights[0], sums = odds.weights, odds.losses.copy()
    gap, widest = _weigh(frozen(losses), share, odds.t, sums, odds.gap, odds.range, weights, mixed)
    return weights, mixed, Odds(weights[-1].copy(), sums, gap, widest, odds.t + len(losses))


def account(P: CSR, weights: Floats, kl: Floats, costs: Floats, law: Floats) -> tuple[Floats, Floats]:
    """State cost, p.KL(Q || P) and max_x |Q - Q'|_1 of each round, a row each, and the law after the last.

    ``weights`` and ``kl`` have a row more than there are rounds.
    """
    found, now = np.empty((3, len(costs))), law.copy()
    _account(rows(P), frozen(weights), frozen(kl), frozen(costs), now, np.empty(law.size), found)
    return found, now


@entry()
def _blend(P: Any, shares: Any, laws: Any, u: Any, s: Any, out: Any) -> None:
    """R at the entries of P, for each round: all states y of two states x at a time."""
    E, rounds, padded = u.shape
    n, a, b, both = P.indptr.size - 1, np.empty((padded, E)), np.empty((E, padded)), np.empty((2, padded))
    for k in range(rounds):
        for i in range(E):
            for x in range(padded):
                b[i, x] = u[i, k, x]
                a[x, i] = shares[k, i] * laws[i, k, x] / s[i, k, x]
        for x in range(0, n, 2):
            other = min(x + 1, n - 1)
            mix_two(b, a[x], a[other], both[0], both[1])
            for p in range(P.indptr[x], P.indptr[x + 1]):
                out[k, p] = both[0, P.indices[p]]
            for p in range(P.indptr[other], P.indptr[other + 1]):
                out[k, p] = both[1, P.indices[p]]


@entry()
def _add(P: Any, share: Any, u: Any, flows: Any) -> None:
    for x in range(share.size):
        if share[x] > 0.0:
            for p in range(P.indptr[x], P.indptr[x + 1]):
                flows[p] += share[x] * u[P.indices[p]]


@entry()
def _complete(P: Any, flows: Any, kl: Any, mass: Any, room: Any) -> None:
    """See :func:`completed_rows`, for each of some rounds; ``room`` has a number for each entry."""
    for k in range(kl.shape[0]):
        here = flows[k]
        for x in range(kl.shape[1]):
            begin, end, total = P.indptr[x], P.indptr[x + 1], 0.0
            for p in range(begin, end):
                total += P.data[p] * here[p]
            mass[k, x] = total
            if total >= SURELY_NORMAL:
                scale = 1.0 / total
                for p in range(begin, end):
                    here[p] *= scale
            else:
                for p in range(begin, end):
                    here[p] = 1.0
        logs_of(here, room)
        for x in range(kl.shape[1]):
            mean = 0.0
            for p in range(P.indptr[x], P.indptr[x + 1]):
                here[p] *= P.data[p]
                if here[p] > 0.0:
                    mean += here[p] * room[p]
            kl[k, x] = max(mean, 0.0)


@entry(fastmath={"reassoc", "contract"})
def _charge(temperature: float, costs: Any, d: Any, logs: Any, laws: Any, out: Any) -> None:
    for k in range(costs.shape[0]):
        state, control = 0.0, 0.0
        for x in range(costs.shape[1]):
            state += laws[k, x] * costs[k, x]
            control -= laws[k + 1, x] * d[k, x] + laws[k, x] * logs[k, x]
        out[k] = state + temperature * max(control, 0.0)


@entry()
def _weigh(losses: Any, share: float, t: int, sums: Any, gap: float, widest: float, out: Any, mixed: Any) -> Any:
    """See :func:`weigh`; the sums of the losses change in place."""
    rounds, E = losses.shape
    for k in range(rounds):
        now, new, least, most, mean = out[k], out[k + 1], np.inf, -np.inf, 0.0
        for i in range(E):
            least, most = min(least, losses[k, i]), max(most, losses[k, i])
            mean += now[i] * losses[k, i]
            sums[i] += losses[k, i]
        mixed[k], widest, total = mean, max(widest, most - least), 0.0
        if share < 0.0:
            rate = np.sqrt(8.0 * np.log(E) / (t + k + 2)) / widest if widest > 0.0 else 0.0
            lowest = sums.min()
            for i in range(E):
                new[i] = np.exp(-rate * (sums[i] - lowest))
                total += new[i]
        else:
            rate = np.log(E) / gap if gap > 0.0 else np.inf
            for i in range(E):
                apart = losses[k, i] - least
                new[i] = now[i] * np.exp(-rate * apart) if apart > 0.0 else now[i]
                total += new[i]
            gap += max(mean - least + (np.log(total) / rate if rate < np.inf else 0.0), 0.0)
        for i in range(E):
            new[i] /= total
            if share > 0.0:
                new[i] = (1.0 - share) * new[i] + share / E
    return gap, widest


@entry()
def _account(P: Any, weights: Any, kl: Any, costs: Any, law: Any, after: Any, out: Any) -> None:
    """See :func:`account`; the law changes in place, and is divided by its sum after each round."""
    n = law.size
    for k in range(costs.shape[0]):
        state, control, largest, total = 0.0, 0.0, 0.0, 0.0
        for x in range(n):
            after[x] = 0.0
            state += law[x] * costs[k, x]
            control += law[x] * kl[k, x]
        for x in range(n):
            change = 0.0
            for p in range(P.indptr[x], P.indptr[x + 1]):
                after[P.indices[p]] += law[x] * weights[k, p]
                change += abs(weights[k, p] - weights[k + 1, p])
            largest = max(largest, change)
        for x in range(n):
            total += after[x]
        for x in range(n):
            law[x] = after[x] / total
        out[0, k], out[1, k], out[2, k] = state, control, largest
