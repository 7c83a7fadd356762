"""Goals, discounts, horizons and periods against their definitions, worked out by other means."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import mpmath
import networkx as nx
import numpy as np
import pytest

import lsmdp
from lsmdp import Discounted, Goal, Horizon, Periodic
from lsmdp.certificates.first_exit import FirstExit
from lsmdp.errors import AssumptionError, ConvergenceError, CostError, LsmdpError, SpecError
from lsmdp.solvers.ends.goal import GoalEquations
from lsmdp.solvers.ends.settle import SWEEPS_OF_A_GROUP

MAPS = Path(__file__).parents[2] / "shared" / "data" / "strangers"
ARENA = pytest.mark.skipif(
    not (MAPS / "arena.map.scen").exists(), reason="the MovingAI maps are not beside the project"
)


def dense_goal(lmdp: lsmdp.LMDP, c: np.ndarray, terminal: dict[int, float]) -> np.ndarray:
    """V from the linear equation for z = e^{-V/T}."""
    P, T = lmdp.P.toarray(), lmdp.temperature
    A = list(terminal)
    N = [x for x in range(lmdp.n) if x not in terminal]
    z_A = np.exp(-np.array(list(terminal.values())) / T)
    k = np.exp(-c / T)[N, None]
    z = np.empty(lmdp.n)
    z[A], z[N] = z_A, np.linalg.solve(np.eye(len(N)) - k * P[np.ix_(N, N)], k[:, 0] * (P[np.ix_(N, A)] @ z_A))
    return -T * np.log(z)


def policy_cost(lmdp: lsmdp.LMDP, c: np.ndarray, Q: lsmdp.Policy, ends: dict[int, float]) -> np.ndarray:
    """What a policy costs until the exit, by linear algebra."""
    kernel = Q.matrix().toarray()
    paid = c + lmdp.temperature * Q.kl()
    for a, g in ends.items():
        kernel[a], paid[a] = 0.0, g
    return np.linalg.solve(np.eye(lmdp.n) - kernel, paid)


class TestGoal:
    @pytest.mark.parametrize("T", [0.1, 1.0, 30.0])
    def test_a_dense_solve_agrees(self, T: float) -> None:
        lmdp = lsmdp.grid(12, 12, temperature=T)
        c = np.random.default_rng(0).random(lmdp.n)
        s = lsmdp.solve(lmdp, c, Goal({0: 0.0, 143: 2.0}))
        exact = dense_goal(lmdp, c, {0: 0.0, 143: 2.0})
        assert s.v == pytest.approx(exact, abs=1e-10)
        assert s.certified
        assert s.gap < 1e-9
        assert (s.lower <= s.upper).all()
        assert s.v is s.upper

    def test_the_policy_costs_at_most_v(self) -> None:
        lmdp, ends = lsmdp.grid(6, 6, temperature=0.5), {7: 0.0, 30: 1.0}
        c = np.random.default_rng(1).random(36)
        s = lsmdp.solve(lmdp, c, Goal(ends))
        paid = policy_cost(lmdp, c, s.policy, ends)
        assert (paid <= s.upper + 1e-12).all()
        assert (paid >= s.lower - 1e-12).all()
        other = policy_cost(lmdp, c, lsmdp.Policy(lmdp, np.zeros(36)), ends)
        assert (other >= s.lower).all()

    @pytest.mark.parametrize("q", [0.2, 0.5, 0.7])
    def test_gamblers_ruin(self, q: float) -> None:
        """Up with chance q, down with 1 - q, cost k a step: z(x) is a sum of two powers, in closed form."""
        n, k = 9, 0.1
        P = np.zeros((n + 1, n + 1))
        P[0, 0] = P[n, n] = 1.0
        for x in range(1, n):
            P[x, x + 1], P[x, x - 1] = q, 1.0 - q
        s = lsmdp.solve(lsmdp.LMDP(P), np.full(n + 1, k), Goal({0: 0.0, n: -1.0}), tol=1e-12)
        with mpmath.workdps(40):
            up, down, e_k = mpmath.mpf(q), mpmath.mpf(1.0 - q), mpmath.exp(mpmath.mpf(k))
            root = mpmath.sqrt(e_k**2 - 4 * up * down)
            a, b = (e_k + root) / (2 * up), (e_k - root) / (2 * up)  # of q r^2 - e^k r + (1 - q) = 0
            beta = (mpmath.e - a**n) / (b**n - a**n)
            V = [-mpmath.log((1 - beta) * a**x + beta * b**x) for x in range(n + 1)]
            assert all(s.lower[x] <= V[x] <= s.upper[x] for x in range(1, n))
        assert s.gap < 1e-11

    def test_shortest_paths_are_the_limit(self) -> None:
        rng = np.random.default_rng(2)
        cold = lsmdp.random_graph(200, 4, seed=1, temperature=1e-6)
        c = rng.random(200)
        graph = nx.DiGraph([(int(y), int(x), {"weight": c[x]}) for x, y in zip(*cold.P.nonzero(), strict=True)])
        exact = nx.single_source_dijkstra_path_length(graph, 5)
        s = lsmdp.solve(cold, c, Goal(5))
        assert s.v == pytest.approx([exact[x] for x in range(200)], abs=1e-4)
        low, high = s.path_bounds
        assert (low <= s.upper).all()
        assert (s.lower <= high).all()
        assert low == pytest.approx([exact[x] for x in range(200)], abs=1e-9)

    @pytest.mark.parametrize("T", [1e-9, 1e-3, 1.0, 1e3, 1e9])
    def test_every_temperature_is_certified(self, T: float) -> None:
        lmdp = lsmdp.grid(9, 9, temperature=T)
        c = np.random.default_rng(3).random(81)
        s = lsmdp.solve(lmdp, c, Goal((4, 4)))
        low, high = s.path_bounds
        assert s.certified
        assert (low <= s.upper).all()
        assert (s.lower <= high).all()

    def test_a_long_corridor_does_not_underflow(self) -> None:
        """z is e^-40000 at the far end."""
        lmdp = lsmdp.grid(1, 20_000)
        s = lsmdp.solve(lmdp, np.ones(lmdp.n), Goal(0))
        step = s.v[10_001] - s.v[10_000]  # far from both ends, z falls by the same factor r at every step
        r = math.exp(-step)
        assert math.exp(-1.0) * (0.4 * r + 0.2 + 0.4 / r) == pytest.approx(1.0, abs=1e-9)
        assert s.v.max() > 30_000
        assert s.gap < 1e-9 * s.v.max()

    def test_what_cannot_reach_the_goal_is_lost_and_avoided(self) -> None:
        P = [[0.0, 0.5, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
        lmdp = lsmdp.LMDP(P, labels=["start", "path", "pit", "exit"])
        s = lsmdp.solve(lmdp, [1.0, 1.0, 1.0, 5.0], Goal("exit"))
        z = 0.5 * math.exp(-1.0) / (1.0 - 0.5 * math.exp(-1.0))
        assert s.lost.tolist() == [2]
        assert s.v[2] == math.inf
        assert s.v[[0, 1]] == pytest.approx([1.0 + math.log(2.0) - math.log(z), -math.log(z)], abs=1e-13)
        assert s.policy.row("start")[1].tolist() == [1.0, 0.0]
        assert any('state 2 "pit"' in sentence for sentence in s.story)
        assert s.bounds_from("pit") == (math.inf, math.inf)
        assert s.to_dict()["lost"] == 1

    def test_a_goal_that_is_forbidden_is_avoided(self) -> None:
        lmdp = lsmdp.grid(1, 5)
        s = lsmdp.solve(lmdp, np.ones(5), Goal({0: 0.0, 2: math.inf}))
        assert s.lost.tolist() == [3, 4]
        assert np.isfinite(s.v[[0, 1]]).all()

    def test_negative_costs_are_fine_where_leaving_is_worth_it(self) -> None:
        lmdp = lsmdp.grid(4, 4)
        c = np.random.default_rng(4).random(16) - 0.1
        assert (c < 0.0).any()
        s = lsmdp.solve(lmdp, c, Goal(0))
        assert s.v == pytest.approx(dense_goal(lmdp, c, {0: 0.0}), abs=1e-11)
        assert s.path_bounds is None
        assert any("finite" in sentence for sentence in s.story)

    def test_negative_costs_that_pay_for_staying_are_refused(self) -> None:
        with pytest.raises(AssumptionError, match=r"not finite.*never leaving.*costs at most -0\.\d+ a step.*Average"):
            lsmdp.solve(lsmdp.grid(4, 4), np.full(16, -1.0), Goal(0))

    def test_the_edge_of_finiteness_is_undecided(self) -> None:
        """A state that stays with chance 1/2 at a cost of -log 2: e^{-c} P(x,x) is 1 up to rounding."""
        lmdp = lsmdp.LMDP([[0.5, 0.5], [0.0, 1.0]])
        with pytest.raises(ConvergenceError, match=r"undecided within rounding.*Raise the costs"):
            lsmdp.solve(lmdp, [-math.log(2.0), 0.0], Goal(1))
        hair = 1e-9
        s = lsmdp.solve(lmdp, [-math.log(2.0) + hair, 0.0], Goal(1), tol=1e-5)
        assert s.v[0] == pytest.approx(math.log(math.expm1(hair)), abs=1e-4)  # z (e^c - 1/2) = 1/2
        with pytest.raises(AssumptionError, match="not finite"):
            lsmdp.solve(lmdp, [-math.log(2.0) - hair, 0.0], Goal(1))

    def test_costs_of_moves_count(self) -> None:
        """On a chain without choice, the value is the sum of the costs of the moves."""
        P = np.eye(4, k=1)
        P[3, 3] = 1.0
        C = np.diag([1.0, 2.0, 4.0], k=1)
        tilted, extra = lsmdp.LMDP(P).with_edge_costs(C)
        s = lsmdp.solve(tilted, extra, Goal(3))
        assert s.v == pytest.approx([7.0, 6.0, 4.0, 0.0], abs=1e-11)
        assert (s.lower <= [7.0, 6.0, 4.0, 0.0]).all()
        assert (s.upper >= [7.0, 6.0, 4.0, 0.0]).all()

    def test_large_random_graphs_need_no_elimination(self) -> None:
        lmdp = lsmdp.random_graph(300_000, 7)
        c = np.random.default_rng(5).random(lmdp.n)
        s = lsmdp.solve(lmdp, c, Goal(17))
        assert s.solver == "sweeps"
        assert s.certified
        assert "elimination_plan" not in lmdp.cache

    def test_a_goal_that_is_hard_to_find_takes_few_sweeps(self) -> None:
        """What sweeps leave is one mode: it is taken off at once, and plain sweeps would need hundreds."""
        lmdp = lsmdp.random_graph(2_000, 7)
        equations = GoalEquations(FirstExit.of(lmdp, np.full(lmdp.n, 0.01), Goal(0)))
        plain = quick = equations.first_sweep()
        for _ in range(6):
            plain, quick = equations.swept(plain, SWEEPS_OF_A_GROUP), equations.relaxed(quick)
        left = [equations.size(equations.residual(v)[0]) for v in (plain, quick)]
        assert left[1] < 1e-3 * left[0]

    @ARENA
    def test_the_lengths_of_a_benchmark_of_path_planning(self) -> None:
        """V = L - T log(sum over shortest paths of the chance of P) but for e^{-gap/T}: linear in T, and L at 0."""
        cells = {}
        for T in (1e-3, 2e-3):
            lmdp = lsmdp.read_model(f"{MAPS / 'arena.map'}:8", temperature=T)
            rows, columns = np.repeat(np.arange(lmdp.n), np.diff(lmdp.P.indptr)), lmdp.P.indices
            apart = np.abs(lmdp.positions[rows] - lmdp.positions[columns]).sum(axis=1)
            lengths = np.where(apart == 2, math.sqrt(2.0), 1.0)
            tilted, extra = lmdp.with_edge_costs(type(lmdp.P)((lengths, columns, lmdp.P.indptr), shape=lmdp.P.shape))
            cells[T] = (tilted, extra)
        lines = [line.split() for line in (MAPS / "arena.map.scen").read_text().splitlines()[1:]]
        assert len(lines) > 50
        for line in lines[::16]:
            start, goal = (int(line[5]), int(line[4])), (int(line[7]), int(line[6]))
            v = {T: lsmdp.solve(*cells[T], Goal(goal)).v[cells[T][0].state(start)] for T in cells}
            digits = 0.5 * 10.0 ** -len(line[8].partition(".")[2]) + 1e-9  # of the file
            assert v[1e-3] >= float(line[8]) - digits  # a policy walks no shorter way, and pays for its choices
            assert 2 * v[1e-3] - v[2e-3] == pytest.approx(float(line[8]), abs=digits)


class TestCompose:
    def test_a_direct_solve_agrees(self) -> None:
        lmdp = lsmdp.grid(8, 8, temperature=0.7)
        c = np.random.default_rng(6).random(64)
        one = lsmdp.solve(lmdp, c, Goal({0: 0.0, 63: math.inf}))
        two = lsmdp.solve(lmdp, c, Goal({0: math.inf, 63: 1.0}))
        both = lsmdp.compose([one, two], weights=[0.2, 0.8])
        direct = lsmdp.solve(lmdp, c, Goal({0: -0.7 * math.log(0.2), 63: 1.0 - 0.7 * math.log(0.8)}))
        assert (both.lower <= direct.upper).all()
        assert (direct.lower <= both.upper).all()
        assert both.v == pytest.approx(direct.v, abs=1e-10)
        assert both.certified
        proved = lsmdp.bounds(lmdp, c, both.v, both.end)
        assert proved.upper == pytest.approx(both.upper, abs=1e-9)

    def test_what_does_not_fit_together_is_refused(self) -> None:
        lmdp, c = lsmdp.ring(5), np.ones(5)
        one = lsmdp.solve(lmdp, c, Goal(0))
        with pytest.raises(SpecError, match="nothing to compose"):
            lsmdp.compose([])
        with pytest.raises(SpecError, match="solution 2 has other goals"):
            lsmdp.compose([one, lsmdp.solve(lmdp, c, Goal(1))])
        with pytest.raises(SpecError, match="another model or cost"):
            lsmdp.compose([one, lsmdp.solve(lmdp, 2 * c, Goal(0))])
        with pytest.raises(SpecError, match="no solution for a goal"):
            lsmdp.compose([lsmdp.solve(lmdp, c, Discounted(0.5))])
        with pytest.raises(CostError, match="one positive number for each"):
            lsmdp.compose([one, one], weights=[1.0, 0.0])


class TestDiscounted:
    @pytest.mark.parametrize(("a", "T"), [(0.3, 1.0), (0.9, 0.05), (0.99, 1.0), (0.99, 0.01)])
    def test_value_iteration_agrees(self, a: float, T: float) -> None:
        lmdp = lsmdp.grid(7, 7, temperature=T)
        c = np.random.default_rng(7).random(49) - 0.3
        v = np.zeros(49)
        for _ in range(5000):
            m = v.min()
            v = c + a * m - T * np.log(lmdp.P @ np.exp(-a * (v - m) / T))
        s = lsmdp.solve(lmdp, c, Discounted(a))
        assert s.v == pytest.approx(v, abs=1e-9)
        assert (s.lower <= v + 1e-12).all()
        assert (v <= s.upper + 1e-12).all()

    def test_the_policy_costs_at_most_v(self) -> None:
        lmdp, c = lsmdp.grid(5, 5), np.random.default_rng(8).random(25)
        s = lsmdp.solve(lmdp, c, Discounted(0.9))
        paid = np.linalg.solve(np.eye(25) - 0.9 * s.policy.matrix().toarray(), c + s.policy.kl())
        assert (paid <= s.upper + 1e-13).all()
        assert (paid >= s.lower - 1e-13).all()

    def test_the_average_is_the_limit(self) -> None:
        lmdp, c = lsmdp.grid(6, 6), np.random.default_rng(9).random(36)
        s = lsmdp.solve(lmdp, c, Discounted(0.999999))
        average = lsmdp.solve(lmdp, c).average_cost
        low, high = 1e-6 * s.v.min(), 1e-6 * s.v.max()
        assert low - 1e-9 <= average <= high + 1e-9

    def test_p_need_not_be_irreducible(self) -> None:
        lmdp = lsmdp.LMDP([[1.0, 0.0], [0.5, 0.5]])
        s = lsmdp.solve(lmdp, [1.0, 0.0], Discounted(0.5))
        assert s.v[0] == pytest.approx(2.0, abs=1e-12)


class TestHorizon:
    def test_enumeration_agrees(self) -> None:
        """z_1(x) is the sum over all paths of their chance under P times e^{-cost/T}."""
        lmdp, T, rounds = lsmdp.LMDP([[0.2, 0.8, 0.0], [0.3, 0.3, 0.4], [0.5, 0.0, 0.5]], temperature=0.6), 0.6, 4
        rng = np.random.default_rng(10)
        costs, g, P = rng.random((rounds, 3)), rng.random(3), lmdp.P.toarray()
        z = np.zeros(3)
        for path in itertools.product(range(3), repeat=rounds + 1):
            chance = math.prod(P[x, y] for x, y in itertools.pairwise(path))
            paid = sum(costs[t, x] for t, x in enumerate(path[:-1])) + g[path[-1]]
            z[path[0]] += chance * math.exp(-paid / T)
        plan = lsmdp.solve(lmdp, costs, Horizon(terminal=g))
        assert plan.v == pytest.approx(-T * np.log(z), abs=1e-13)
        assert plan.rounds == rounds

    def test_the_plan_costs_what_it_says(self) -> None:
        """Forward: the law of the state and what is paid, round by round, with the policies as they are."""
        lmdp, rng = lsmdp.grid(5, 5, temperature=0.5), np.random.default_rng(11)
        costs, g = rng.random((37, 25)), rng.random(25)
        plan = lsmdp.solve(lmdp, costs, Horizon(terminal=g))
        p, paid = np.eye(25)[3], 0.0
        for t in range(1, 38):
            Q = plan.policy(t)
            paid += p @ (costs[t - 1] + 0.5 * Q.kl())
            p = Q.push(p)
        low, high = plan.bounds_from(3)
        assert low - 1e-11 <= paid + p @ g <= high + 1e-11
        assert high - low < 1e-11

    def test_any_way_to_give_the_costs_gives_the_same_plan(self) -> None:
        lmdp = lsmdp.grid(4, 4)
        costs = lsmdp.read_costs("iid", lmdp, rounds=30)
        table = np.array(list(costs))
        ways = [costs, table, list(table), [dict(enumerate(row)) for row in table]]
        plans = [lsmdp.solve(lmdp, way, Horizon()) for way in ways]
        assert len({plan.upper.tobytes() for plan in plans}) == 1
        assert len({plan.policy(17).v.tobytes() for plan in plans}) == 1

    def test_rounds_within_a_block_are_worked_out_again_to_the_bit(self) -> None:
        lmdp, costs = lsmdp.ring(6), np.random.default_rng(12).random((23, 6))
        plan = lsmdp.solve(lmdp, costs, Horizon())
        for t in range(1, 24):  # the plan for the rest is the rest of the plan
            rest = lsmdp.solve(lmdp, costs[t - 1 :], Horizon())
            assert plan.at(t).upper == pytest.approx(rest.upper, abs=1e-13)
        assert len(plan.kept) == 6  # every fifth round, and the end
        assert (plan.at(24).upper == 0.0).all()

    def test_no_more_is_kept_than_the_square_root(self) -> None:
        plan = lsmdp.solve(lsmdp.ring(4), np.zeros((2500, 4)), Horizon())
        plan.policy(1234)
        assert len(plan.kept) == 51
        assert [len(block) for block in plan.held.values()] == [51]


class TestPeriodic:
    def test_the_product_model_with_a_clock_agrees(self) -> None:
        lmdp, D = lsmdp.grid(3, 4, temperature=0.4), 5
        slots = np.random.default_rng(13).random((D, 12))
        clock = np.kron(np.roll(np.eye(D), 1, axis=1), lmdp.P.toarray())  # (slot, x) -> (slot + 1, y)
        product = lsmdp.solve(lsmdp.LMDP(clock, temperature=0.4), slots.ravel())
        day = lsmdp.solve(lmdp, slots, Periodic())
        assert day.average_cost == pytest.approx(product.average_cost, abs=1e-9)
        assert day.gap <= 1e-10
        for slot in range(1, D + 1):
            chances = product.policy.row((slot - 1) * 12 + 7)[1]
            assert day.policy(slot).row(7)[1] == pytest.approx(chances, abs=1e-6)
            assert (day.policy(slot + D).row(7)[1] == day.policy(slot).row(7)[1]).all()

    def test_one_slot_is_the_average(self) -> None:
        lmdp, c = lsmdp.grid(5, 5), np.random.default_rng(14).random(25)
        day = lsmdp.solve(lmdp, c[None, :], Periodic())
        assert day.average_cost == pytest.approx(lsmdp.solve(lmdp, c).average_cost, abs=1e-10)

    def test_a_periodic_chain_is_fine_unless_it_is_in_step_with_the_day(self) -> None:
        swap = lsmdp.LMDP([[0.0, 1.0], [1.0, 0.0]])
        slots = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
        assert lsmdp.solve(swap, slots, Periodic()).average_cost == pytest.approx(4.0 / 6.0, abs=1e-10)
        with pytest.raises(AssumptionError, match=r"period 2 and the day has 4 slots.*lazy\(0\.01\)"):
            lsmdp.solve(swap, np.ones((4, 2)), Periodic())


@pytest.mark.parametrize(
    ("end", "costs", "sentence"),
    [
        (lambda: Goal("roof"), np.ones(5), 'the goal "roof" is not in the model: there is no state "roof"'),
        (lambda: Goal(7), np.ones(5), 'the goal 7 is not in the model: there is no state "7"'),
        (lambda: Goal((0, 0)), np.ones(5), r"the goal \(0, 0\) is not in the model: .* no grid"),
        (lambda: Goal({}), np.ones(5), r"there is no goal. Name at least one state"),
        (lambda: Goal([2, 2]), np.ones(5), "state 2 is named as a goal twice"),
        (lambda: Goal({1: math.nan}), np.ones(5), "the terminal cost of the goal 1 is nan. It must be a number"),
        (lambda: Goal({1: -math.inf}), np.ones(5), "the terminal cost of the goal 1 is -inf"),
        (lambda: Goal({1: "much"}), np.ones(5), "the terminal cost of the goal 1 is 'much'"),
        (lambda: Goal({1: math.inf}), np.ones(5), "every goal has the terminal cost inf"),
        (lambda: Goal(0), np.ones(4), "the cost has 4 values, but the model has 5 states"),
        (
            lambda: Discounted(1.0),
            np.ones(5),
            r"the discount is 1.0. It must lie strictly between 0 and 1.*Average\(\)",
        ),
        (lambda: Discounted(0.0), np.ones(5), "the discount is 0.0"),
        (lambda: Discounted(math.nan), np.ones(5), "the discount is nan"),
        (lambda: Discounted("half"), np.ones(5), "the discount is 'half'"),
        (lambda: Horizon(), np.empty((0, 5)), "the costs have no rounds"),
        (lambda: Horizon(), [], "the costs have no rounds"),
        (lambda: Horizon(), np.ones(5), "rounds x states"),
        (lambda: Horizon(), 3, "the costs are no sequence"),
        (lambda: Horizon(), [np.ones(5), np.ones(4)], "round 2: the cost has 4 values"),
        (lambda: Horizon(), [np.ones(5), np.full(5, np.nan)], r"round 2: the cost\[0\] is nan"),
        (lambda: Horizon(terminal=[0, 0, math.nan, 0, 0]), np.ones((2, 5)), r"the terminal cost\[2\] is nan"),
        (lambda: Horizon(terminal=[0.0]), np.ones((2, 5)), "the terminal cost has 1 values"),
        (lambda: Periodic(), [], "the costs have no rounds"),
        (lambda: Periodic(), [np.ones(5), np.ones(6)], "round 2: the cost has 6 values"),
    ],
)
def test_bad_input_is_a_sentence(end: object, costs: object, sentence: str) -> None:
    with pytest.raises(LsmdpError, match=sentence):
        lsmdp.solve(lsmdp.ring(5), costs, end())  # type: ignore[operator]


def test_more_bad_input() -> None:
    ring = lsmdp.ring(5)
    with pytest.raises(AssumptionError, match=r"no other state can reach the goal \(state 0\)"):
        lsmdp.solve(lsmdp.LMDP([[0.5, 0.5], [0.0, 1.0]]), [1.0, 1.0], Goal(0))
    with pytest.raises(CostError, match="Neither of them nor their ratio may exceed 1e"):
        lsmdp.solve(lsmdp.ring(5, temperature=1e-300), np.full(5, 1e5), Goal(0))
    with pytest.raises(SpecError, match="solver= is for the long-run average"):
        lsmdp.solve(ring, np.ones(5), Goal(0), solver=lsmdp.Power())
    with pytest.raises(SpecError, match=r"the end is 'goal'. Give Average\(\)"):
        lsmdp.solve(ring, np.ones(5), "goal")
    with pytest.raises(SpecError, match=r"the end is 'goal'. Give Average\(\)"):
        lsmdp.bounds(ring, np.ones(5), np.ones(5), "goal")
    with pytest.raises(SpecError, match="tol is 0"):
        lsmdp.solve(ring, np.ones(5), Goal(0), tol=0.0)
    with pytest.raises(CostError, match="the values are 2 x 5, but there are 3 rounds and 5 states"):
        lsmdp.bounds(ring, np.ones((3, 5)), np.ones((2, 5)), Horizon())
    plan = lsmdp.solve(ring, np.ones((3, 5)), Horizon())
    with pytest.raises(SpecError, match=r"there is no round 4\. Rounds count from 1 to 3"):
        plan.policy(4)
    with pytest.raises(SpecError, match="there is no slot 0"):
        lsmdp.solve(ring, np.ones((3, 5)), Periodic()).policy(0)


def test_a_width_that_rounding_forbids_is_not_claimed() -> None:
    lmdp, c = lsmdp.grid(6, 6), np.random.default_rng(18).random(36)
    for end in (Goal(0), Discounted(0.99)):
        with pytest.raises(ConvergenceError, match="not certified: the bounds stayed") as refused:
            lsmdp.solve(lmdp, c, end, tol=1e-18)
        assert not refused.value.solution.certified
        assert refused.value.solution.gap < 1e-9
        assert not lsmdp.solve(lmdp, c, end, tol=1e-18, throw=False).certified


def test_all_states_are_goals() -> None:
    s = lsmdp.solve(lsmdp.ring(3), np.ones(3), Goal({0: 1.0, 1: 2.0, 2: 3.0}))
    assert s.v.tolist() == [1.0, 2.0, 3.0]


def test_a_table_of_the_states() -> None:
    lmdp = lsmdp.LMDP([[0.5, 0.5], [0.5, 0.5]], labels=["a", "b"])
    columns = lsmdp.solve(lmdp, [1.0, 2.0], Goal("b")).columns()
    assert list(columns) == ["state", "cost", "value", "lower", "upper"]
    assert columns["state"] == ["a", "b"]
    assert columns["value"][1] == 0.0


def test_goals_can_be_named_in_every_way() -> None:
    grid = lsmdp.grid(3, 3)
    c = np.ones(9)
    assert (lsmdp.solve(grid, c, Goal(4)).v == lsmdp.solve(grid, c, Goal((1, 1))).v).all()
    assert (lsmdp.solve(grid, c, Goal([0, 8])).v == lsmdp.solve(grid, c, Goal({(0, 0): 0.0, (2, 2): 0.0})).v).all()


def test_numbers_of_any_size_are_solved_or_refused() -> None:
    """Costs of 1e300 are added up; beyond that a sentence says so, for every end, and nothing overflows on the way."""
    lmdp, c = lsmdp.grid(4, 4), np.random.default_rng(21).random(16)
    with np.errstate(over="raise", invalid="raise"):
        for end, given in ((Goal(0), c), (Discounted(0.9), c), (Horizon(), [c] * 3), (Periodic(), [c] * 3)):
            with pytest.raises(CostError, match=r"may exceed 1e\+300"):
                lsmdp.solve(lmdp, np.array(given) * 1e305, end)
            assert lsmdp.solve(lmdp, np.array(given) * 1e300, end, throw=False).gap >= 0.0
    with pytest.raises(CostError, match="at the temperature 1e-310"):
        lsmdp.solve(lsmdp.grid(4, 4, temperature=1e-310), [c], Horizon())


def test_odd_things_are_sentences() -> None:
    lmdp, c = lsmdp.ring(4), np.ones(4)
    s = lsmdp.solve(lmdp, c, Goal({0: 0.0, 2: math.inf}))
    with pytest.raises(CostError, match="the weights are ab for 1 solutions"):
        lsmdp.compose([s], weights="ab")
    assert lsmdp.compose(s).v == pytest.approx(s.v, rel=1e-12)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"start has no value for state 1 \(nan\)"):
        lsmdp.solve(lmdp, c, Goal(0), start=np.array([0.0, np.nan, 0.0, 0.0]))
    with pytest.raises(CostError, match="the costs have the shape 4"):
        lsmdp.solve(lmdp, c, Horizon())
