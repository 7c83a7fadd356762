"""Solves that start from an earlier solution: no less right, and quicker."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsmdp
from lsmdp import Discounted, Goal, Horizon, Periodic
from lsmdp.certificates.first_exit import FirstExit
from lsmdp.errors import SpecError
from lsmdp.solvers.ends.goal import GoalEquations
from tests.test_ends import dense_goal


class TestWarmStarts:
    def test_a_goal(self) -> None:
        lmdp = lsmdp.grid(40, 40)
        c = np.random.default_rng(15).random(1600)
        cold = lsmdp.solve(lmdp, c, Goal(0))
        warm = lsmdp.solve(lmdp, c * 1.0001, Goal(0), start=cold)
        again = lsmdp.solve(lmdp, c * 1.0001, Goal(0))
        assert warm.v == pytest.approx(again.v, rel=1e-10)
        assert warm.iterations < again.iterations

    @pytest.mark.parametrize("T", [0.5, 1.0, 20.0])
    def test_one_percent_of_the_cost_takes_one_elimination(self, T: float) -> None:
        rng = np.random.default_rng(18)
        lmdp, c = lsmdp.grid(40, 40, temperature=T), rng.random(1600)
        near = c * (1.0 + 0.02 * (rng.random(1600) - 0.5))
        cold = lsmdp.solve(lmdp, c, Goal({0: 0.0, 50: 3.0}))
        warm = lsmdp.solve(lmdp, near, Goal({0: 0.0, 50: 3.0}), start=cold)
        again = lsmdp.solve(lmdp, near, Goal({0: 0.0, 50: 3.0}))
        assert warm.v == pytest.approx(again.v, rel=1e-9)
        assert warm.iterations < again.iterations
        assert warm.solver == "sweeps -> linear -> Newton"
        assert "with 1 factors" in warm.story[-1]

    def test_what_is_scaled_is_below_or_above(self) -> None:
        """Any v >= 0 is a bound from below once no state is charged more than it costs; from above once none less."""
        rng = np.random.default_rng(19)
        lmdp, c = lsmdp.random_graph(30, 4, seed=2), 0.2 + rng.random(30)
        problem = FirstExit.of(lmdp, c, Goal({0: 0.0, 1: 0.3}))
        for _ in range(20):
            v = problem.filled(dense_goal(lmdp, c, {0: 0.0, 1: 0.3}) * (1.0 + 0.01 * rng.random(30)))
            r, e = problem.residual(problem.filled(GoalEquations(problem).scaled(v, upwards=False)))
            assert (r >= -2.0 * e).all()
            r, e = problem.residual(problem.filled(GoalEquations(problem).scaled(v, upwards=True)))
            assert (r <= 2.0 * e).all()

    def test_the_factor_of_the_leap_is_that_of_newtons_method(self) -> None:
        rng = np.random.default_rng(20)
        lmdp, c = lsmdp.grid(12, 12), rng.random(144)
        equations = GoalEquations(FirstExit.of(lmdp, c, Goal(0)))
        leapt = equations.leap(dense_goal(lmdp, c, {0: 0.0}))
        assert leapt is not None
        v, tilted = leapt
        assert v == pytest.approx(dense_goal(lmdp, c, {0: 0.0}), rel=1e-12)
        b = rng.random(144) * equations.problem.inside
        assert tilted.solve(b) == pytest.approx(equations.factored(v).solve(b), rel=1e-9)

    def test_discounts_and_periods(self) -> None:
        lmdp, rng = lsmdp.grid(20, 20), np.random.default_rng(16)
        c, slots = rng.random(400), rng.random((6, 400))
        cold = lsmdp.solve(lmdp, c, Discounted(0.99))
        warm = lsmdp.solve(lmdp, c + 1e-4 * rng.random(400), Discounted(0.99), start=cold)
        assert warm.iterations <= cold.iterations
        day = lsmdp.solve(lmdp, slots, Periodic())
        assert lsmdp.solve(lmdp, slots + 1e-6 * rng.random(400), Periodic(), start=day).iterations < day.iterations

    def test_any_solution_may_be_the_start_of_any_other(self) -> None:
        lmdp, c = lsmdp.ring(8), np.random.default_rng(17).random(8)
        ends = [lsmdp.Average(), Goal({0: 0.0, 4: math.inf}), Discounted(0.9)]
        found = [lsmdp.solve(lmdp, c, end) for end in ends]
        found += [lsmdp.solve(lmdp, [c], Horizon()), lsmdp.solve(lmdp, [c, c, c], Periodic())]
        for start in found[::2]:
            for end in ends:
                assert lsmdp.solve(lmdp, c, end, start=start).certified
            assert lsmdp.solve(lmdp, [c, c], Horizon(), start=start).certified
        with pytest.raises(SpecError, match="start has 3 values, but the model has 8 states"):
            lsmdp.solve(lmdp, c, Goal(0), start=np.zeros(3))
