"""Certificates of anybody's v, for every end, judged in 60 digits (precise.py); the large run is fuzz_bounds.py."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import lsmdp
from tests import precise
from tests.fuzz_bounds import KINDS, run

FIRST = 100_000  # of the seeds here, apart from those of the large run


def test_no_sloppy_v_violates_its_bounds() -> None:
    found = run(range(FIRST, FIRST + 150))
    assert not [kind for kind, word in found if word == "WRONG"]
    for kind in KINDS:
        assert found[kind, "right"] >= 20, found


def test_the_judge_can_fail() -> None:
    """Bounds that are too narrow by a hair are found out: the oracle is far more precise than floats."""
    lmdp, c = lsmdp.ring(5), np.arange(5) / 5
    s = lsmdp.solve(lmdp, c, lsmdp.Goal(0), tol=1e-12)
    with mpmath.workdps(precise.DIGITS):
        V = precise.goal(lmdp.P.toarray(), c, 1.0, [1, 2, 3, 4], {0: 0.0})
        assert all(s.lower[x] <= V[x] <= s.upper[x] for x in V)
        assert s.gap < 1e-11
        assert not any(s.lower[x] <= V[x] + 1e-11 <= s.upper[x] for x in V)


def test_a_v_that_proves_nothing_says_so() -> None:
    lmdp = lsmdp.grid(3, 3)
    c = np.ones(9)
    huge = np.full(9, 1e300)
    huge[::2] = -1e300
    pair = lsmdp.bounds(lmdp, c, huge, lsmdp.Goal(0))
    exact = lsmdp.solve(lmdp, c, lsmdp.Goal(0))
    assert (pair.lower <= exact.lower + 1e-12).all()
    assert (pair.upper >= exact.upper - 1e-12).all()
    assert lsmdp.bounds(lmdp, c, np.full(9, 1e308) * np.resize([1, -1], 9)) == (-np.inf, np.inf)


def test_bounds_of_the_solution_are_those_of_the_solution() -> None:
    lmdp, c = lsmdp.grid(5, 5), np.random.default_rng(0).random(25)
    s = lsmdp.solve(lmdp, c)
    assert lsmdp.bounds(lmdp, c, s.v) == s.bounds
    assert lsmdp.bounds(lmdp, c, s.v, lsmdp.Average()) == s.bounds
    for end in (lsmdp.Goal(3), lsmdp.Discounted(0.95)):
        found = lsmdp.solve(lmdp, c, end)
        lower, upper = lsmdp.bounds(lmdp, c, found.v, end)
        assert (upper - lower)[np.isfinite(upper)].max() < 1e-9
        assert (lower <= found.upper).all()
        assert (found.lower <= upper).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_policys_own_average_is_enclosed_and_narrower(seed: int) -> None:
    """[min r, mu.r] holds the optimum and the policy, in 60 digits, and is mostly narrower than [min r, max r]."""
    rng = np.random.default_rng(seed)
    lmdp = lsmdp.grid(2, 3, temperature=float(rng.choice([0.1, 1.0])))
    c, v = rng.random(6), rng.random(6) * 10.0 ** -rng.uniform(0, 6)
    solution = lsmdp.Solution(lmdp, c, v, lsmdp.bounds(lmdp, c, v), False, "", "", 0, 0.0)
    low, high = solution.policy_bounds
    with mpmath.workdps(precise.DIGITS):
        P = lmdp.P.toarray()
        paid = precise.average_policy(P, c, lmdp.temperature, v)
        assert low <= precise.average(P, c[None, :], lmdp.temperature) <= paid <= high
    assert high < solution.bounds[1]
    assert high - float(paid) < 1e-11


def test_without_reversibility_the_policys_bounds_are_the_plain_ones() -> None:
    lmdp = lsmdp.LMDP([[0.1, 0.9, 0.0], [0.0, 0.1, 0.9], [0.9, 0.0, 0.1]])
    s = lsmdp.solve(lmdp, [0.0, 0.5, 1.0])
    assert s.policy_bounds == s.bounds
