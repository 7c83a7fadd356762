"""The constants of the analysis, each an explicit upper bound, with the way it was obtained.

Everything is in units of the temperature: costs lie in an interval of length C (the paper: C = 1). The constants that
are suprema over *all* costs (S, alpha, tau, L) are bounded, not sampled: the largest value that was met is a lower
bound, and raises false alarms.

- ``p_min``, B = -log p_min: the least likely move of P.
- ``primitivity_index``, the H of ass:irred: the least H with P^H > 0. ``hitting_time``, the H that the proofs use:
  max_{x,y} E_x[T_y]. They are different numbers, and neither bounds the other.
- S bounds span(v) over all leaders. The least of three:

      paths:    v(x) <= c(x) - lambda - log P(x,y) + v(y) for every move, so S <= the longest of the shortest paths,
                where the move x -> y has the length C - log P(x,y);
      times:    v(x) - v(y) <= (max c - lambda) E_x[T_y] <= C hitting_time (first passage and Jensen);
      powers:   S <= H C + log max_{x,x',y} P^H(y|x') / P^H(y|x), which also holds for every Bellman iterate from 0.

- S_averaged bounds the span of every iterate of averaged tracking, v <- (Bv + BBv)/2 from 0, and of Bv on the way
  (new:lemmaA). In n such steps there are n + Binomial(n, 1/2) Bellman steps, so exactly j of them with the chance
  q = binom(n, j - n) / 2^n, and in j >= H steps one can be wherever v is least:

      span(v_{t+n}) <= 3/2 n C + j B + (1 - q) span(v_t),  so  S_averaged <= (3/2 n C + j B)/q + 3/2 n C.

- alpha bounds a(Q) over all policies Q_v with span v <= S, and over averages of them. The odds of a(Q) are at most
  e^S times those of a(P): alpha = a / (a + (1 - a) e^{-S}).
- alpha_k bounds a(M_1 ... M_k) over products of such kernels: M_1 ... M_k >= e^{-kS} P^k entrywise, so
  1 - alpha_k >= e^{-kS} (1 - a(P^k)).
- L bounds sum_{j>=0} a_j, where a_j is the supremum of a(M_1 ... M_j): at most k / (1 - alpha_k) for every k, and
  1 / (1 - alpha) in one step. Also a_j <= alpha_k^{floor(j/k)}.
- L_set bounds the sensitivity Lambda(Q) over all Q >= e^{-S} P, policies of some v or not: k e^{kS} / (1 - a(P^k)).
- tau = 1 / log(1/alpha); tau <= 1/(1 - alpha) <= tau + 1.

From P alone L grows like e^{kS}: on a grid it is beyond any number of use, and said to be infinite where it is beyond
float64. What the run itself shows is far smaller: see the a posteriori statements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.special import gammaln

from lsmdp import chain
from lsmdp.arrays import CSR, EPS, Floats
from lsmdp.errors import ConvergenceError
from lsmdp.model import LMDP
from lsmdp.theory.dense import one_sided_distance

_STATES_WITH_ALL_PAIRS = 1_500  # Up to this many states all pairs of them are looked at, in matrices of at most 18 MB.
_STATES_WITH_DENSE_POWERS = 1_000  # Up to this many states dense powers of P are formed, in matrices of at most 8 MB.
# So many numbers of steps are tried from the least k with a(P^k) < 1 on, since a few more may give a better constant.
_STEPS_BEYOND_THE_FIRST = 3


@dataclass(frozen=True)
class Constants:
    """Upper bounds for one model and one range of costs; infinite where none is known. ``how`` tells, by name."""

    cost_range: float
    p_min: float
    B: float
    primitivity_index: float
    hitting_time: float
    S: float
    S_iterates: float
    S_averaged: float
    a: float
    alpha: float
    L_one: float  # 1 / (1 - alpha), where alpha itself may round to 1
    tau: float
    k: int
    alpha_k: float
    L: float
    L_set: float
    shared: float  # 1 - a(P), accurate where a(P) is near 1
    exact: bool
    how: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def contraction(self, steps: int) -> Floats:
        """Upper bounds on a_0, a_1, ..., a_{steps-1}."""
        return np.asarray(self.alpha_k ** (np.arange(steps) // self.k).astype(np.float64))

    def series(self, N: int) -> float:
        """An upper bound on A_N = sum_{j>=1} a_{jN}."""
        every = self.alpha_k ** (N // self.k) if self.k <= N else self.alpha_k
        each = 1 if self.k <= N else -(-self.k // N)  # so many j share a number of whole blocks of k steps
        tail = every / (1.0 - every) if every < 1.0 else math.inf
        return min((each - 1) + each * tail, self.L - 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON, each with the way it was obtained."""
        names = [
            "p_min",
            "B",
            "primitivity_index",
            "hitting_time",
            "S",
            "S_averaged",
            "a",
            "alpha",
            "tau",
            "k",
            "alpha_k",
            "L",
        ]
        found = {
            name: {"at_most": _finite(getattr(self, name)), "how": self.how.get(name, "")}
            for name in names
            if name not in self.left_out
        }
        return {"cost_range": self.cost_range, "constants": found, "left_out": self.left_out}

    def __str__(self) -> str:
        shown = ("S", "alpha", "tau", "L", "B")
        return ", ".join(f"{name} <= {getattr(self, name):.6g}" for name in shown)


def constants_for(lmdp: LMDP, cost_range: float = 1.0, *, exact: bool = True) -> Constants:
    """Bounds for costs in an interval of length ``cost_range`` (in the units of the costs).

    ``exact`` looks at all pairs of states and at powers of P, as far as the size of the model permits; without it only
    O(moves) of work is done.
    """
    return _Finder(lmdp, cost_range / lmdp.temperature, exact).find()


def constants_of_run(lmdp: LMDP, known: Constants, span: float) -> Constants:
    """The same for the policies Q_v with span v <= ``span`` only (in units of the temperature).

    The proofs use kernels on segments between value functions of the game, so the largest span that was met will do;
    but not for new:L2, which is about the optimal policies of all costs on the way.
    """
    finder = _Finder(lmdp, known.cost_range, known.exact)
    k, alpha_k, L, L_one = finder.mixing(span)
    return replace(
        known,
        S=span,
        alpha=1.0 - 1.0 / L_one,
        L_one=L_one,
        tau=mixing_time(L_one),
        k=k,
        alpha_k=alpha_k,
        L=L,
        L_set=finder.L_set,
        how=known.how | finder.how | {"S": "the largest span that was met"},
        left_out={name: why for name, why in known.left_out.items() if name != "L"} | finder.left_out,
    )


class _Finder:
    """Finds each constant once, and notes how."""

    def __init__(self, lmdp: LMDP, C: float, exact: bool) -> None:
        self.lmdp, self.P, self.C, self.exact = lmdp, lmdp.P, C, exact
        self.a, self.shared, self.L_set = 1.0, 0.0, math.inf
        self.how: dict[str, str] = {}
        self.left_out: dict[str, str] = {}

    def find(self) -> Constants:
        """All of them."""
        least = chain.p_min(self.P)
        self.how |= {"p_min": "exact", "B": "-log p_min"}
        H, hitting_time = self._primitivity(), self._hitting_time()
        S, S_iterates = self._S(H, hitting_time)
        k, alpha_k, L, L_one = self.mixing(S)
        return Constants(
            cost_range=self.C,
            p_min=least,
            B=abs(math.log(least)),
            primitivity_index=H,
            hitting_time=hitting_time,
            S=S,
            S_iterates=S_iterates,
            S_averaged=self._S_averaged(H, least, S_iterates),
            a=self.a,
            alpha=1.0 - 1.0 / L_one,
            L_one=L_one,
            tau=mixing_time(L_one),
            k=k,
            alpha_k=alpha_k,
            L=L,
            L_set=self.L_set,
            shared=self.shared,
            exact=self.exact,
            how=self.how,
            left_out=self.left_out,
        )

    def mixing(self, S: float) -> tuple[int, float, float, float]:
        """k, alpha_k, L and 1/(1 - alpha), for the policies Q_v with span v <= S."""
        L_one = self._one_step(S)
        return (*self._several_steps(S, L_one), L_one)

    def _primitivity(self) -> float:
        if not self.exact:
            return self._unknown("primitivity_index", "asked for the cheap bounds only")
        fact = chain.primitivity_index(self.P)
        if fact.value is None:
            return self._unknown("primitivity_index", fact.reason)
        self.how["primitivity_index"] = "exact: the least H with P^H > 0"
        return float(fact.value)

    def _hitting_time(self) -> float:
        if not self.exact:
            return self._unknown("hitting_time", "asked for the cheap bounds only")
        mu = chain.stationary(self.P) if self.lmdp.n > _STATES_WITH_ALL_PAIRS else None
        fact = chain.max_hitting_time(self.P, mu)
        if fact.value is not None:
            self.how["hitting_time"] = "exact: max E_x[T_y]"
            return fact.value
        if fact.bound is not None:
            self.how["hitting_time"] = fact.bound_name
            return fact.bound
        return self._unknown("hitting_time", fact.reason)

    def _S(self, H: float, hitting_time: float) -> tuple[float, float]:
        powers = self._by_powers(H)
        ways = {
            "shortest paths, with C - log P(x,y) for each move": self._by_paths(),
            "C times the hitting time": self.C * hitting_time,
            "H C + log of the largest ratio in a column of P^H": powers,
        }
        way = min(ways, key=ways.__getitem__)
        self.how["S"] = way
        return ways[way], powers

    def _S_averaged(self, H: float, least: float, powers: float) -> float:
        self.how["S_averaged"] = "paths of j moves in n averaged steps, the best n and j that were tried"
        if not math.isfinite(H):
            return math.inf
        n = np.arange((int(H) + 1) // 2, int(H) + 1)
        n, j = np.tile(n, 2), np.concatenate([np.full(n.size, int(H)), np.maximum(int(H), n + n // 2)])
        log_q = gammaln(n + 1.0) - gammaln(j - n + 1.0) - gammaln(2.0 * n - j + 1.0) - n * math.log(2.0)
        with np.errstate(over="ignore"):
            bounds = (1.5 * n * self.C + j * abs(math.log(least))) * np.exp(-log_q) + 1.5 * n * self.C
        return min(float(bounds.min()), powers if H == 1.0 else math.inf)

    def _by_paths(self) -> float:
        lengths = sparse.csr_array((self.C - np.log(self.P.data), self.P.indices, self.P.indptr), shape=self.P.shape)
        lengths.data[lengths.data == 0.0] = np.finfo(np.float64).tiny  # a sparse zero would be no move at all
        if self.exact and self.lmdp.n <= _STATES_WITH_ALL_PAIRS:
            return float(dijkstra(lengths).max())
        root = int(np.bincount(self.P.indices, minlength=self.lmdp.n).argmax())
        return float(dijkstra(lengths, indices=root).max() + dijkstra(lengths.T.tocsr(), indices=root).max())

    def _by_powers(self, H: float) -> float:
        if not math.isfinite(H) or self.lmdp.n > _STATES_WITH_DENSE_POWERS:
            return math.inf
        power = np.linalg.matrix_power(self.P.toarray(), int(H))
        with np.errstate(divide="ignore"):
            return float(H * self.C + (np.log(power.max(axis=0)) - np.log(power.min(axis=0))).max())

    def _one_step(self, S: float) -> float:
        fact = chain.overlap(self.P) if self.exact else chain.Fact[float]()
        shared = chain.doeblin(self.P) if fact.value is None else fact.value
        self.how["a"] = "Doeblin: the mass that all rows share" if fact.value is None else "exact"
        self.how["alpha"] = "the odds of a(P) times e^S"
        self.how["tau"] = "1 / log(1/alpha)"
        self.a, self.shared = one_step_distance(self.P, shared), shared
        self.L_set = _exp(S) / shared if shared > 0.0 else math.inf
        return sensitivity(self.a, shared, S)

    def _several_steps(self, S: float, L: float) -> tuple[int, float, float]:
        """k, alpha_k and L, for the k with the least L among those that were tried."""
        best = (1, 1.0 - 1.0 / L, L)
        self.how["L"] = "1 / (1 - alpha)"
        self.how["alpha_k"] = self.how["alpha"]
        self.how["k"] = "one step"
        if not self.exact or self.lmdp.n > _STATES_WITH_DENSE_POWERS:
            reason = (
                "asked for the cheap bounds only"
                if not self.exact
                else f"more than {_STATES_WITH_DENSE_POWERS:,} states"
            )
            if not math.isfinite(best[2]):
                self.left_out["L"] = f"a(P) = 1 in one step, and several steps were not tried: {reason}"
            return best
        first = chain.mixing_steps(self.P)
        if first.value is None:
            if not math.isfinite(best[2]):
                self.left_out["L"] = first.reason
            return best
        for k in range(max(first.value, 2), max(first.value, 2) + _STEPS_BEYOND_THE_FIRST):
            shared = chain.overlap(self.P, k).value or 0.0
            left = math.exp(-k * S) * shared
            L = k / left if left > 0.0 else math.inf
            self.L_set = min(self.L_set, L)
            if best[2] > L:
                best = (k, 1.0 - left, L)
                self.how |= {
                    "L": "k / (1 - alpha_k)",
                    "alpha_k": "1 - e^{-kS} (1 - a(P^k))",
                    "k": "the best that was tried",
                }
        if not math.isfinite(best[2]):
            power = (first.value * S - math.log(chain.overlap(self.P, first.value).value or 1.0)) / math.log(10.0)
            self.left_out["L"] = f"beyond float64: about 10^{power:.0f} with k = {first.value}"
        return best

    def _unknown(self, name: str, reason: str) -> float:
        self.left_out[name] = reason
        return math.inf


def one_step_distance(P: CSR, shared: float) -> float:
    """a(P), accurate also where it is near 0: e^S may blow up what rounding has made of 1 - (1 - a)."""
    if shared <= 0.5 or P.shape[0] > _STATES_WITH_DENSE_POWERS:
        return 1.0 - shared if shared <= 0.5 else min(1.0, (1.0 - shared) + P.shape[0] * EPS)
    return one_sided_distance(P.toarray())


def sensitivity(a: float, shared: float, S: float) -> float:
    """1 / (1 - alpha) for span v <= S, from a(P) and 1 - a(P): the odds grow by at most e^S (lem:mixing, corrected)."""
    if a == 0.0 or shared == 0.0:
        return 1.0 if a == 0.0 else math.inf
    return 1.0 + a / shared * _exp(S)


def mixing_time(L: float) -> float:
    """tau = 1 / log(1/alpha), with L = 1 / (1 - alpha)."""
    if L == 1.0:
        return 0.0
    return -1.0 / math.log1p(-1.0 / L) if math.isfinite(L) else math.inf


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf


def hitting_matrix(P: CSR) -> Floats | None:
    """E_x[T_y] for all pairs, where that is small enough to keep and not beyond float64."""
    try:
        return chain.hitting_times(P) if P.shape[0] <= _STATES_WITH_ALL_PAIRS else None
    except ConvergenceError:
        return None


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "infinite"
