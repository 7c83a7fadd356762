"""The compiled loops against their definitions in exact or high-precision arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmdp import LMDP
from lsmdp._core import sparse
from lsmdp.solvers import power
from lsmdp.solvers.newton import lower_to_paths


def exact_residual(P: np.ndarray, c: np.ndarray, v: np.ndarray, T: float) -> list[mpmath.mpf]:
    """r = Bv - v with 60 digits, for the rows as they are stored, divided by their exact sums."""
    mp = mpmath.mpf
    with mpmath.workdps(60):
        rows = []
        for x in range(len(c)):
            total = mpmath.fsum(mp(entry) for entry in P[x])
            z = mpmath.fsum(mp(P[x, y]) / total * mpmath.exp(-mp(v[y]) / mp(T)) for y in np.flatnonzero(P[x]))
            rows.append(mp(c[x]) - mp(T) * mpmath.log(z) - mp(v[x]))
        return rows


@st.composite
def hard_models(draw: st.DrawFn) -> tuple[LMDP, np.ndarray, np.ndarray]:
    """Entries over 15 decades, values and costs of wildly different size, any temperature."""
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = 10.0 ** -rng.uniform(0, 15, (n, n)) * (rng.random((n, n)) < 0.7) + np.eye(n)
    scale = draw(st.sampled_from([1e-3, 1.0, 30.0, 1e3, 1e6]))
    T = draw(st.sampled_from([0.02, 1.0, 7.3]))
    shift = draw(st.sampled_from([0.0, 1e4, -1e9]))  # v is fixed up to a constant, and the bounds may not depend on it
    return LMDP(W, temperature=T, normalise=True), rng.uniform(-1, 1, n) * scale, rng.uniform(0, 1, n) * scale + shift


@given(hard_models())
@settings(max_examples=200)
def test_the_bounds_enclose_every_exact_residual(model: tuple[LMDP, np.ndarray, np.ndarray]) -> None:
    lmdp, c, v = model
    r, lo, hi = sparse.residual(lmdp.P, c, v, lmdp.temperature)
    exact = exact_residual(lmdp.P.toarray(), c, v, lmdp.temperature)
    assert all(lo <= value <= hi for value in exact)
    size = lmdp.temperature * (40 + 5 * np.abs(r).max() / lmdp.temperature) + np.abs(c).max() + np.ptp(v)
    assert lo >= r.min() - 1e-14 * size  # and they are no wider than rounding makes necessary
    assert hi <= r.max() + 1e-14 * size


@pytest.mark.parametrize("rare", [1e-300, 1e-312, 1e-318, 1e-322])
def test_the_bounds_enclose_where_floats_lose_their_digits(rare: float) -> None:
    """Numbers below 1e-308 have few digits: P exp(-d) is then off by much more than a relative error of 1e-16."""
    lmdp, c = LMDP([[1.0, rare], [0.5, 0.5]]), np.array([5.0, 0.0])
    for v in -np.log(rare) + np.linspace(-6.0, 6.0, 40):
        _, lo, hi = sparse.residual(lmdp.P, c, np.array([v, 0.0]), 1.0)
        exact = exact_residual(lmdp.P.toarray(), c, np.array([v, 0.0]), 1.0)
        assert all(lo <= value <= hi for value in exact)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.5e308])
def test_a_value_beyond_floats_proves_nothing(bad: float) -> None:
    P = LMDP(np.full((3, 3), 1 / 3)).P
    for place in range(3):
        v = np.zeros(3)
        v[place] = bad
        _, lo, hi = sparse.residual(P, np.array([1e308, 0.0, -1e308]), v, 1.0)
        assert (lo, hi) == (-np.inf, np.inf)


def test_the_enclosure_is_not_empty_talk() -> None:
    """On some models rounding does move r outside [min r, max r] as computed, so the widening is needed."""
    rng = np.random.default_rng(5)
    outside = 0
    for _ in range(40):
        W = 10.0 ** -rng.uniform(0, 12, (5, 5))
        lmdp, c, v = LMDP(W, normalise=True), rng.uniform(0, 1, 5), rng.uniform(0, 40, 5)
        r, _, _ = sparse.residual(lmdp.P, c, v, 1.0)
        exact = exact_residual(lmdp.P.toarray(), c, v, 1.0)
        outside += min(exact) < r.min() or max(exact) > r.max()
    assert outside > 0


@pytest.mark.parametrize("span", [1.0, 50.0, 5000.0, 1e6])
def test_policy_loops_agree_with_the_written_out_kernel(span: float) -> None:
    rng = np.random.default_rng(3)
    n = 40
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.2) + np.eye(n)
    P = LMDP(W, normalise=True).P
    u, f = rng.uniform(0, span, n), rng.normal(size=n)
    p = rng.dirichlet(np.ones(n))
    dense = P.toarray()
    with np.errstate(divide="ignore"):
        logits = np.log(dense) - u
    Q = np.exp(logits - logits.max(axis=1, keepdims=True))
    Q /= Q.sum(axis=1, keepdims=True)

    weights = sparse.policy_weights(P, u)
    rounding = 1e-14 * (1 + span)  # an exponent of size span carries a relative error of that many eps
    np.testing.assert_allclose(weights, Q[dense > 0], rtol=rounding, atol=1e-300)
    np.testing.assert_allclose(sparse.push(P, u, p), p @ Q, rtol=rounding, atol=1e-300)
    np.testing.assert_allclose(sparse.expect(P, u, f), Q @ f, rtol=0, atol=rounding)
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.nansum(np.where(Q > 0, Q * (np.log(Q) - np.log(dense)), 0.0), axis=1)
    np.testing.assert_allclose(sparse.control_cost(P, u), kl, rtol=0, atol=rounding)
    assert (sparse.control_cost(P, u) >= 0).all()


@pytest.mark.parametrize("averaging", [False, True])
def test_power_steps_are_products(averaging: bool) -> None:
    rng = np.random.default_rng(4)
    P = LMDP(rng.uniform(0, 1, (30, 30)), normalise=True).P
    g, z = rng.uniform(0.5, 1, 30), rng.uniform(0.1, 1, 30)
    A = g[:, None] * P.toarray()
    first = A @ z
    ratios = first / z
    expected = first + A @ first / np.sqrt(ratios.min() * ratios.max()) if averaging else first
    walk = power.power_walk(sparse.rows(P), g, z, 0.0, 1 + averaging, averaging)
    assert walk.steps == 1 + averaging
    np.testing.assert_allclose(z / z[0], expected / expected[0], rtol=1e-13)


def test_power_steps_stop_at_their_target_and_see_their_contraction() -> None:
    P = LMDP(np.random.default_rng(4).uniform(0, 1, (30, 30)), normalise=True).P
    W = 0.97 * np.eye(30) + 0.03 * P.toarray()  # the averaged pair contracts by (0.97 + 0.97^2)/2 = 0.955
    slow, z = LMDP(W, normalise=True).P, np.random.default_rng(1).uniform(0.5, 1, 30)
    walk = power.power_walk(sparse.rows(slow), np.ones(30), z, 1e-9, 10_000, False)
    ratios = slow @ z / z
    assert np.log(ratios.max() / ratios.min()) <= 1e-9
    assert walk.averaging  # ten steps at 0.97 leave more than half
    assert walk.rate == pytest.approx(np.sqrt(0.955), abs=0.01)
    assert walk.steps == pytest.approx(np.log(1e-9) / np.log(np.sqrt(0.955)), rel=0.3)


def test_power_steps_that_go_round_stay_finite() -> None:
    """On a cycle with one expensive state the ratios differ by e^100 at first: no scale is right for all of them."""
    P = LMDP(np.roll(np.eye(6), 1, axis=1)).P
    z = np.ones(6)
    walk = power.power_walk(sparse.rows(P), np.exp([-100.0, 0, 0, 0, 0, 0]), z, 1e-9, 100, False)
    assert np.isfinite(z).all()
    assert z.max() == 1.0
    assert z.min() > 0.0
    assert 1e-9 < walk.gap < 1.0  # on its way, and it says that it has not arrived


@pytest.mark.parametrize("n", [1, 2, 25, 120])
def test_lowering_to_paths_is_the_shortest_path_closure(n: int) -> None:
    rng = np.random.default_rng(6)
    W = rng.uniform(0.01, 1, (n, n)) * (rng.random((n, n)) < 0.15) + np.roll(np.eye(n), 1, axis=1)
    P = LMDP(W, normalise=True).P
    c, v, low = rng.uniform(0, 1, n), rng.uniform(0, 200, n), 0.3
    lengths = np.full((n, n), np.inf)
    lengths[P.nonzero()] = np.maximum(0.0, np.repeat(c - low, np.diff(P.indptr)) - np.log(P.data))
    expected = v.copy()
    for _ in range(n):  # Bellman-Ford
        expected = np.minimum(expected, (lengths + expected).min(axis=1))
    PT = P.T.tocsr()
    lowered = lower_to_paths(PT, np.log(PT.data), c, low, v)
    np.testing.assert_allclose(lowered, expected, rtol=1e-13)
    assert (lowered < v).any() or n < 25
