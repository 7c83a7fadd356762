"""The five slips of docs/paper.md: every label that fails has one, and every number in the text is computed here."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from lsmdp.theory import STATEMENTS
from lsmdp.theory.slips import (
    ALL_ALPHA,
    AS_PRINTED,
    OTHER_READING,
    SENTENCE,
    SLIPS,
    TEN_ROUNDS,
    section,
    slip_of,
)

from .games import Floats
from .straight import dobrushin, hitting_times, kl, policy_of, solved, span, stationary
from .test_printed import FALSE, follow_the_leader
from .test_register import SOURCES

NUMBERS = Path(__file__).parent.parent.parent / "docs" / "note" / "numbers.json"
MISPRINT = "ass:ergod"  # a missing 1/2, which the appendix has
DIGITS = 0.5e-4  # TEN_ROUNDS is given to four decimals
TEN = np.repeat([[1.0, 0.0], [0.0, 1.0]], [7, 3], axis=0)
P = np.array([[0.9, 0.1], [0.5, 0.5]])


def tau(a: float) -> float:
    return 1.0 / math.log(1.0 / a)


def sticky(alpha: float) -> Floats:
    s = (1.0 - alpha) / 2.0
    return np.array([[1.0 - s, s], [s, 1.0 - s]])


# The register.


def test_every_label_that_fails_has_one_slip() -> None:
    touched = [label for slip in SLIPS for label in slip.labels]
    assert len(SLIPS) == 5
    assert sorted([*touched, MISPRINT]) == sorted(FALSE)  # each once
    assert [slip_of(label) for label in ("lem:vbound", "lem:change", "app:dual", "lem:trueloss/2", "thm:main")] == [
        *range(1, 6)
    ]
    assert slip_of(MISPRINT) is None


def test_only_the_fifth_touches_the_theorem() -> None:
    assert [k for k, slip in enumerate(SLIPS, 1) if "thm:main" in slip.labels] == [5]
    for label in AS_PRINTED:
        assert STATEMENTS[label].verdict == "true"
        assert slip_of(label) is None


@pytest.mark.skipif(not SOURCES, reason="the LaTeX source of the paper is not at hand")
def test_the_sentences_are_in_the_paper() -> None:
    """In the proof of lem:vbound, and word by word."""
    text = re.sub(r"\s+", " ", SOURCES[0].read_text(encoding="utf-8"))
    proof = text[text.index(r"\subsection{The proof of Lemma~\ref{lem:vbound}}") :]
    proof = proof[: proof.index(r"\subsection{The proof of Lemma~\ref{lem:mixing}}")]
    assert SENTENCE in proof
    assert r"that $\EE{L} \le H$ by Assumption~\ref{ass:irred}" in proof
    assert r"and $\frac{1}{1-\alpha}\le \tau$" in text
    assert r"$\onenorm{\mu_{t-1} - \mu_t} \le \pa{\tau+1} \varepsilon_t$" in text
    assert r"$\varepsilon_t \le \tau/t$" in text
    assert r"$\alpha = \max_{Q\in\Qstar} \alpha(Q)$" in text


# One game for four of them.


class Ten:
    """The leaders of rounds 1, ..., 11 of the game of ten rounds, and the laws of the state; index t is round t."""

    def __init__(self) -> None:
        means = [np.zeros(2), np.zeros(2), *(TEN[:t].mean(axis=0) for t in range(1, 11))]
        both = [solved(P, c) for c in means]
        self.c, self.v, self.average = means, [v for v, _ in both], [average for _, average in both]
        self.Q = [policy_of(P, v) for v in self.v]
        self.mu = [stationary(Q) for Q in self.Q]
        self.p = [np.array([1.0, 0.0])] * 2
        for t in range(1, 11):
            self.p.append(self.p[-1] @ self.Q[t])

    def moved(self, t: int) -> float:
        """From round t to t + 1."""
        return float(np.abs(self.Q[t + 1] - self.Q[t]).sum(axis=1).max())

    def loss(self, t: int, c: Floats) -> float:
        """f(pi_t; c)."""
        return float(self.mu[t] @ (c + kl(self.Q[t], P)))


@pytest.fixture(scope="module")
def ten() -> Ten:
    return Ten()


def test_alpha_is_one_half() -> None:
    """By the closed form, and on a grid of costs: a(Q) depends on c(0) - c(1) only."""
    largest = max(dobrushin(policy_of(P, solved(P, np.array([x, 1.0 - x]))[0])) for x in np.linspace(0.0, 1.0, 401))
    assert 0.4999 < largest <= 0.5 + 1e-12
    u = 3.0
    assert 0.4 / (0.45 / u + 0.5 + 0.05 * u) == pytest.approx(0.5)
    for c, low, high in (((0.0, 1.0), 0.2, 0.25), ((1.0, 0.0), 6.6, 6.7)):
        v, _ = solved(P, np.array(c))
        assert low < math.exp(v[0] - v[1]) < high
    assert tau(0.5) == pytest.approx(TEN_ROUNDS["lem:c_to_v/2"][1], abs=DIGITS)


def test_the_game_of_ten_rounds(ten: Ten) -> None:
    k, t = tau(0.5), np.arange(1, 11)
    printed = (ten.mu[1] - ten.mu[2]) @ (TEN[0] + ten.c[1]) + ten.mu[2] @ (ten.c[1] - ten.c[2])
    factor = max(tau(dobrushin(ten.Q[9])), tau(dobrushin(ten.Q[10])))
    found = {
        "lem:vbound, t = 8": (span(ten.v[8]), 1.0),
        "lem:c_to_v/2": (1.0 / (1.0 - 0.5), k),
        "lem:c_to_v, t = 9": (span(ten.v[10] - ten.v[9]), 2.0 * k * np.abs(ten.c[10] - ten.c[9]).max()),
        "lem:change, t = 8": (ten.moved(8), k / 8),
        "lem:price/2, t = 9": (np.abs(ten.mu[10] - ten.mu[9]).sum(), factor * ten.moved(9)),
        "eq:mu_to_p, t = 11": (
            np.abs(ten.mu[11] - ten.p[11]).sum(),
            2.0 * math.exp(-10 / k) + k * (k + 1.0) * (np.exp(-(11 - t) / k) / t).sum(),
        ),
        "eq:lpidiff, t = 1": (
            ten.loss(1, TEN[0]) - ten.loss(2, TEN[0]),
            printed + ten.average[1] - ten.average[2],
        ),
        "lem:trueloss/2, t = 9": (np.abs(ten.c[9] - ten.c[8]).max(), 1 / 9),
        "epsilon_t <= tau/t, t = 10": (ten.moved(9), k / 10),
    }
    assert list(found) == list(TEN_ROUNDS)
    for label, (left, right) in found.items():
        assert (left, right) == pytest.approx(TEN_ROUNDS[label], abs=DIGITS), label
        assert left > right + 0.009, label
    assert ten.moved(9) <= k / 9  # lem:change holds in the round of the last one


def test_what_holds_in_the_game_of_ten_rounds(ten: Ten) -> None:
    """The same with L = 2 where the paper has tau."""
    L = 2.0
    for t in range(1, 11):
        assert span(ten.v[t + 1] - ten.v[t]) <= L * span(ten.c[t + 1] - ten.c[t]) + 1e-12
        assert ten.moved(t) <= L / t
        assert np.abs(ten.mu[t + 1] - ten.mu[t]).sum() <= L * ten.moved(t) + 1e-12
    for t in range(1, 12):
        waves = sum(0.5 ** (t - 1 - n) / n for n in range(1, t))
        assert np.abs(ten.mu[t] - ten.p[t]).sum() <= 2.0 * 0.5 ** (t - 1) + L * L * waves


def test_the_note_has_the_same_numbers() -> None:
    """Its script shares no code with this."""
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    for label, value in TEN_ROUNDS.items():
        name = re.sub(r"(/2)?(, t = \d+)?$", "", label)
        if name.startswith("epsilon"):
            name = "eps"
        if label != "lem:c_to_v/2" and name in numbers:
            assert np.atleast_1d(numbers[name])[:2] == pytest.approx(value[: np.size(numbers[name])], abs=DIGITS)
    assert numbers["reading"] == pytest.approx(OTHER_READING, abs=DIGITS)
    assert numbers["tau"] == pytest.approx(tau(0.5))


# Every alpha.


@pytest.mark.parametrize(("alpha", "e"), ALL_ALPHA)
def test_at_every_alpha(alpha: float, e: float) -> None:
    S, f = sticky(alpha), np.array([0.5 + e, 0.5 - e])
    assert dobrushin(S) == pytest.approx(alpha)
    v, _ = solved(S, f)
    Q = policy_of(S, v)
    moved, law = np.abs(Q - S).sum(axis=1).max(), np.abs(stationary(Q) - 0.5).sum()
    ratios = span(v) / (2 * tau(alpha) * e), law / (max(tau(dobrushin(Q)), tau(alpha)) * moved)
    assert ratios == pytest.approx(ALL_ALPHA[alpha, e], abs=0.5e-3)
    assert min(ratios) > 1.004
    limit = math.log(1 / alpha) / (1 - alpha)
    assert max(ratios) <= limit + 1e-6


# Two more steps, and the other reading.


def test_the_sum_of_the_logarithms() -> None:
    t = np.arange(1, 1_000_001)
    excess = np.cumsum((1.0 + np.log(t)) / t) - (1.0 + np.log(t)) ** 2 / 2.0
    assert excess[0] == 0.5
    assert excess.min() > 0.0044  # it fails for every T
    assert excess[-1] == pytest.approx(0.0044, abs=0.5e-4)
    assert ".0044 for large T" in " ".join(section().split())


def test_the_other_reading() -> None:
    """lem:c_to_v with alpha = 1 - (1 - a(P)) e^{-H-2}, the larger of the two bounds in lem:mixing, and H = 1."""
    trap = np.array([[0.9999, 0.0001], [0.5, 0.5]])
    g, f = np.array([0.75, 0.05]), np.array([0.751, 0.049])
    alpha = 1.0 - (1.0 - dobrushin(trap)) * math.exp(-3.0)
    left, right = span(solved(trap, f)[0] - solved(trap, g)[0]), 2.0 * tau(alpha) * float(np.abs(f - g).max())
    assert (left, right) == pytest.approx(OTHER_READING, abs=DIGITS)
    assert left > right


@pytest.mark.parametrize("seed", range(20))
def test_the_generous_reading(seed: int) -> None:
    """If H bounds the expected hitting times, tau of the bound of lem:mixing is at least L, and the lemmas hold."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    P = rng.dirichlet(np.full(n, rng.uniform(0.5, 5.0)), size=n) + 1e-3
    P /= P.sum(axis=1, keepdims=True)
    H, a = max(1.0, float(hitting_times(P).max())), dobrushin(P)
    k = tau(1.0 - (1.0 - a) * math.exp(-H - 1.0))
    assert math.exp(H) / (1.0 - a) <= k
    for _ in range(20):
        f, g = rng.random((2, n))
        v, w = solved(P, f)[0], solved(P, g)[0]
        Q = policy_of(P, v)
        assert span(v) <= H + 1e-9
        assert kl(Q, P).max() <= H + 1.0
        assert dobrushin(Q) <= 1.0 - (1.0 - a) * math.exp(-H) + 1e-12
        assert span(v - w) <= 2.0 * k * np.abs(f - g).max()


# The fifth.


def test_the_policy_that_hardly_ever_stays() -> None:
    """It mixes, and the regret against it is 702 after 5,000 rounds."""
    e, T = 1e-6, 5_000
    ahead = 0.5 * (1.0 - 2.0 * e) ** np.arange(T)  # the chance to be in step with the costs, less 1/2
    control = (1.0 - e) * math.log((1.0 - e) / 0.7) + e * math.log(e / 0.3)
    regret = float(follow_the_leader(T).sum()) - float((0.5 - ahead + control).sum())
    assert round(regret) == 702
    assert "702 after 5,000" in " ".join(section().split())
    assert dobrushin(np.array([[e, 1.0 - e], [1.0 - e, e]])) < 1.0


def test_swap_gains_nothing_from_the_uniform_law() -> None:
    """From there it is out of step half of the time, and pays for swapping besides."""
    swap, costs = np.array([[0.0, 1.0], [1.0, 0.0]]), np.tile([[0.0, 1.0], [1.0, 0.0]], (50, 1))
    p, paid = np.array([0.5, 0.5]), 0.0
    for c in costs:
        paid += float(p @ (c + kl(swap, np.array([[0.3, 0.7], [0.7, 0.3]]))))
        p = p @ swap
    assert paid == pytest.approx(100 * (0.5 - math.log(0.7)))
