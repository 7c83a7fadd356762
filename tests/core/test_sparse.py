"""The compiled loops against their definitions in exact or high-precision arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmdp import LMDP
from lsmdp._core import sparse


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


def rows_of(P: np.ndarray, v: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray]:
    """m and s of every row, from a matrix that is written out."""
    m = np.array([v[row > 0].min() for row in P])
    return m, (P * np.exp(-np.maximum(v[np.newaxis] - m[:, np.newaxis], 0.0) / T)).sum(axis=1)


@pytest.mark.parametrize("T", [1.0, 0.01])
@pytest.mark.parametrize("span", [0.0, 3.0, 99.0, 101.0, 5000.0])
@pytest.mark.parametrize(("n", "degree"), [(1, 1), (300, 3), (300, 300)])
def test_a_flow_is_the_sums_of_the_rows(n: int, degree: int, span: float, T: float) -> None:
    """Exponents d <= span of relative error 2 eps, sums of up to n + 2 roundings, and two more for the scale."""
    rng = np.random.default_rng(8)
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < degree / n) + np.eye(n)
    P, v = LMDP(W, normalise=True).P, span * T * rng.random(n)
    v -= v.min()
    found, (m, s) = sparse.flow(P, v, T), rows_of(P.toarray(), v, T)
    np.testing.assert_allclose(found.logs, np.log(s) - m / T, rtol=0, atol=4e-16 * (n + 4 + 4 * span))
    r, lo, hi = sparse.residual(P, np.ones(n), v, T)
    np.testing.assert_allclose(r, 1.0 + m - v - T * np.log(s), rtol=0, atol=4e-16 * (1 + T * (n + 4 + 4 * span)))
    assert lo <= r.min() <= r.max() <= hi
    assert sparse.bounds(P, found, np.ones(n)) == (lo, hi)
    np.testing.assert_allclose(sparse.scaled_sums(P, v, T), (m, s), rtol=4e-16 * (n + 4 + 2 * span))


def test_samples_invert_the_distribution() -> None:
    """The k-th successor is drawn for uniforms between the chances of the first k - 1 and of the first k."""
    rng = np.random.default_rng(9)
    P = LMDP(rng.uniform(0, 1, (6, 6)) * (rng.random((6, 6)) < 0.7) + np.eye(6), normalise=True).P
    for v in (rng.uniform(0, 2, 6), rng.uniform(0, 2e3, 6)):
        states = rng.integers(0, 6, 4000)
        uniforms = rng.random(4000)
        Q = LMDP(P.toarray()).P.toarray() * np.exp(-(v[np.newaxis] - rows_of(P.toarray(), v, 1.0)[0][:, np.newaxis]))
        steps = np.cumsum(Q / Q.sum(axis=1, keepdims=True), axis=1)
        expected = (steps[states] <= uniforms[:, np.newaxis]).sum(axis=1)
        found = sparse.sample(P, v, states, uniforms)
        assert (found == np.minimum(expected, 5)).mean() > 0.999  # not where a uniform is at the edge, within rounding
