"""The constants: exact where that can be had by brute force, and bounds of what they are said to bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import lsmdp
from lsmdp.theory import Constants, constants_for
from lsmdp.theory.constants import constants_of_run, mixing_time, sensitivity

from .games import FAMILIES, Floats, random_game
from .straight import EPS, dobrushin, hitting_times, policy_of, solved, span

CHAINS = {
    "coin": [[0.5, 0.5], [0.5, 0.5]],
    "swap": [[0.3, 0.7], [0.7, 0.3]],
    "sticky": [[0.99, 0.01], [0.01, 0.99]],
    "return": [[0.5, 0.5], [1.0, 0.0]],
    "cycle of three with a loop": [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    "ring of four": (0.5 * (np.eye(4) + np.roll(np.eye(4), 1, axis=1))).tolist(),
    "path of four": [[0.5, 0.5, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0, 0, 0.5, 0.5]],
}


@pytest.mark.parametrize("name", CHAINS)
def test_exact_ones(name: str) -> None:
    P = np.array(CHAINS[name], dtype=float)
    found = constants_for(lsmdp.LMDP(P))
    H = next(h for h in range(1, 50) if (np.linalg.matrix_power(P, h) > 0.0).all())
    assert found.primitivity_index == H
    assert found.hitting_time == pytest.approx(hitting_times(P).max(), rel=64.0 * EPS * hitting_times(P).max())
    assert found.a == pytest.approx(dobrushin(P), abs=8.0 * EPS)
    assert found.p_min == P[P > 0.0].min()
    assert -math.log(found.p_min) == found.B
    power = np.linalg.matrix_power(P, found.k)
    shared = 1.0 - dobrushin(power)
    if found.k > 1:
        left = math.exp(-found.k * found.S) * shared
        assert found.alpha_k == pytest.approx(1.0 - left, abs=16.0 * EPS)
        assert pytest.approx(found.k / left, rel=64.0 * EPS * (1.0 + found.k * found.S) / shared) == found.L
    else:
        assert pytest.approx(1.0 + (1.0 - shared) / shared * math.exp(found.S), rel=64.0 * EPS / shared) == found.L
    assert not found.left_out
    assert {"S", "alpha", "tau", "L", "k", "hitting_time", "primitivity_index"} <= set(found.how)


def test_by_hand() -> None:
    """P = 1/2: S = min(1 + log 2, 2, 1), a = 0 and L = 1, tau = 0."""
    found = constants_for(lsmdp.LMDP(CHAINS["coin"]))
    assert (found.S, found.S_iterates, found.a, found.alpha, found.tau, found.L, found.k) == (1, 1, 0, 0, 0, 1, 1)
    assert found.how["S"].startswith("H C")
    swap = constants_for(lsmdp.LMDP(CHAINS["swap"]))
    assert pytest.approx(1.0 - math.log(0.7), rel=4 * EPS) == swap.S  # a path of one move
    assert swap.how["S"].startswith("shortest paths")
    back = constants_for(lsmdp.LMDP([[0.9, 0.1], [1.0, 0.0]]), 0.01)
    assert pytest.approx(0.01 * 10.0, rel=16 * EPS) == back.S  # small costs: C times the hitting time
    assert back.how["S"].startswith("C times")


def corners_and_more(rng: np.random.Generator, n: int, more: int) -> Floats:
    """Costs in [0, 1]: all corners of the cube of small models, and random ones."""
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    corners = corners[rng.permutation(len(corners))[:16]]
    return np.vstack([corners, rng.random((more, n))])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_they_are_bounds(family: str, seed: int) -> None:
    """Over many costs: S bounds span v, alpha bounds a(Q) and mixtures along segments, a_j bounds products."""
    lmdp = random_game(seed, family).lmdp
    rng = np.random.default_rng(seed)
    P, exact, cheap = lmdp.P.toarray(), constants_for(lmdp), constants_for(lmdp, exact=False)
    values = [solved(P, c)[0] for c in corners_and_more(rng, lmdp.n, 8)]
    most = max(map(span, values))
    # policy iteration ends with a gap of a few n eps (1 + span v), which moves v by at most that times E_x[T_y]
    rounding = 64.0 * lmdp.n * EPS * (1.0 + most) * max(1.0, exact.hitting_time)
    assert most <= exact.S + rounding
    assert most <= cheap.S + rounding
    assert exact.S <= cheap.S * (1.0 + 8.0 * EPS)
    policies = [policy_of(P, v) for v in values]
    segments = []
    for _ in range(8):
        one, other = rng.integers(len(values), size=2)
        weights = rng.dirichlet(np.ones(5))
        line = [policy_of(P, (1.0 - s) * values[one] + s * values[other]) for s in np.linspace(0.0, 1.0, 5)]
        segments.append(np.einsum("k,kij->ij", weights, np.array(line)))
    for Q in (*policies, *segments):
        for found in (exact, cheap):
            assert dobrushin(Q) <= found.alpha + rounding
    kernels = [*policies, *segments]
    for _ in range(4):
        product, total = np.eye(lmdp.n), 0.0
        for a_j in exact.contraction(8):
            total += dobrushin(product)
            assert dobrushin(product) <= a_j + rounding
            product = product @ kernels[rng.integers(len(kernels))]
        assert total <= exact.L * (1.0 + rounding)
    assert exact.L <= cheap.L * (1.0 + 8.0 * EPS)
    assert exact.tau <= exact.L <= exact.tau + 1.0 + 8.0 * EPS * exact.L**2 or exact.k > 1


@pytest.mark.parametrize("family", FAMILIES)
def test_bellman_iterates(family: str) -> None:
    """S_iterates bounds the span of every iterate from 0, with any costs on the way."""
    for seed in range(5):
        lmdp = random_game(seed, family).lmdp
        rng, P, found = np.random.default_rng(seed), lmdp.P.toarray(), constants_for(lmdp)
        v = np.zeros(lmdp.n)
        for _ in range(30):
            c = (rng.random(lmdp.n) < 0.5).astype(float)
            v = c - np.log(P @ np.exp(v.min() - v))
            assert span(v) <= found.S_iterates * (1.0 + 64.0 * EPS * lmdp.n)


def test_cheap_ones_come_with_a_reason() -> None:
    found = constants_for(lsmdp.ring(6), exact=False)
    assert math.isinf(found.primitivity_index)
    assert math.isinf(found.hitting_time)
    assert math.isinf(found.L)
    assert set(found.left_out) == {"primitivity_index", "hitting_time", "L"}
    assert all(found.left_out.values())
    assert "constants" in found.to_dict()
    assert not set(found.left_out) & set(found.to_dict()["constants"])


def test_periodic_chains_have_none() -> None:
    found = constants_for(lsmdp.LMDP([[0.0, 1.0], [1.0, 0.0]]))
    assert "period" in found.left_out["primitivity_index"]
    assert "period" in found.left_out["L"]
    assert math.isfinite(found.S)


def test_beyond_float64() -> None:
    """A long lazy ring: e^{kS} is no float, and that is what is said."""
    found = constants_for(lsmdp.ring(60))
    assert math.isinf(found.L)
    assert "10^" in found.left_out["L"]
    assert math.isfinite(found.S)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_temperature_scales_the_costs(temperature: float) -> None:
    """Everything is in units of the temperature."""
    P = CHAINS["path of four"]
    warm, unit = (
        constants_for(lsmdp.LMDP(P, temperature=temperature), 1.0),
        constants_for(lsmdp.LMDP(P), 1.0 / temperature),
    )
    assert warm == unit
    assert warm.cost_range == 1.0 / temperature


def test_larger_costs_larger_bounds() -> None:
    lmdp = lsmdp.LMDP(CHAINS["path of four"])
    small, large = constants_for(lmdp, 0.1), constants_for(lmdp, 10.0)
    assert small.S < large.S
    assert small.L < large.L
    assert (small.a, small.hitting_time) == (large.a, large.hitting_time)


@pytest.mark.parametrize("family", FAMILIES)
def test_constants_of_a_run(family: str) -> None:
    """For a smaller span: no larger than those of all costs, and bounds for policies of that span."""
    lmdp = random_game(1, family).lmdp
    known = constants_for(lmdp)
    met = constants_of_run(lmdp, known, 0.2)
    assert met.S == 0.2
    assert met.L <= known.L
    assert met.alpha <= known.alpha
    rng = np.random.default_rng(0)
    for v in rng.random((20, lmdp.n)):
        Q = policy_of(lmdp.P.toarray(), 0.2 * (v - v.min()) / span(v))
        assert dobrushin(Q) <= met.alpha + 64.0 * EPS


def test_formulas() -> None:
    assert sensitivity(1.0, 0.0, 1.0) == math.inf
    assert sensitivity(0.0, 1.0, 5.0) == 1.0
    assert sensitivity(0.0, 1.0, 1e4) == 1.0  # equal rows, however large the costs
    assert sensitivity(1e-21, 1.0, 50.0) == pytest.approx(1.0 + 1e-21 * math.exp(50.0))  # hardly apart, until e^S
    assert sensitivity(0.5, 0.5, math.log(3.0)) == pytest.approx(4.0)  # odds 1, times 3
    assert sensitivity(0.5, 0.5, 1e4) == math.inf
    assert mixing_time(1.0) == 0.0
    assert mixing_time(math.inf) == math.inf
    assert mixing_time(2.0) == pytest.approx(1.0 / math.log(2.0))
    assert mixing_time(1e12) == pytest.approx(1e12 - 0.5)  # L - 1/2 - 1/(12 L) - ...


def test_contraction() -> None:
    """a_0 = 1, and a_j <= alpha_k^{floor(j/k)}."""
    found: Constants = constants_for(lsmdp.LMDP(CHAINS["path of four"]))
    assert found.k > 1
    bounds = found.contraction(20)
    assert bounds[0] == 1.0
    assert (bounds * (1.0 + 64.0 * EPS) >= [found.alpha_k ** (j // found.k) for j in range(20)]).all()
    assert (np.diff(bounds) <= 0.0).all()
