"""Costs of moves: absorbing them changes no policy's cost, and the optimum is that of independent methods."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import cvxpy
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from typer.testing import Result

import lsmdp
from lsmdp import LMDP
from lsmdp.errors import CostError, ModelError
from lsmdp.learners import CompleteLearner, Learner

Run = Callable[..., Result]
Matrix = np.ndarray


def game(seed: int, n: int = 5) -> tuple[Matrix, Matrix, Matrix]:
    """P, costs of states, and costs of moves of either sign."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) * (rng.random((n, n)) < 0.7) + np.roll(np.eye(n), 1, axis=1) + 0.1 * np.eye(n)
    return P / P.sum(axis=1, keepdims=True), rng.random(n), rng.normal(size=(n, n))


def average_cost(Q: Matrix, P: Matrix, c: Matrix, edges: Matrix, T: float) -> float:
    """Of a policy, by its definition: its stationary law, then the mean of what is paid."""
    n = len(Q)
    mu = np.linalg.lstsq(np.vstack([Q.T - np.eye(n), np.ones(n)]), np.append(np.zeros(n), 1.0), rcond=None)[0]
    ratio = np.divide(Q, P, out=np.ones_like(Q), where=Q > 0)
    return float(mu @ (c + (Q * (edges + T * np.log(ratio))).sum(axis=1)))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 1.0, 5.0]))
def test_no_policy_pays_more_or_less(seed: int, T: float) -> None:
    P, c, edges = game(seed)
    tilted, extra = lsmdp.LMDP(P, temperature=T).with_edge_costs(edges)
    Q = P * np.random.default_rng(seed + 1).random(P.shape)
    Q /= Q.sum(axis=1, keepdims=True)
    there = average_cost(Q, P, c, edges, T)
    here = average_cost(Q, tilted.P.toarray(), c + extra, np.zeros_like(P), T)
    assert here == pytest.approx(there, abs=1e-10)  # numbers of order 10, a stationary law of condition below 1e4
    least = np.where(P > 0, edges, np.inf).min(axis=1)
    mean = (P * edges).sum(axis=1)
    assert (extra >= least - 1e-12).all()
    assert (extra <= mean + 1e-12).all()


@pytest.mark.parametrize("T", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_an_eigenvalue_and_its_policy_pays_it(seed: int, T: float) -> None:
    P, c, edges = game(seed)
    tilted, extra = lsmdp.LMDP(P, temperature=T).with_edge_costs(edges)
    solution = lsmdp.solve(tilted, c + extra)
    M = np.exp(-c / T)[:, None] * P * np.exp(-edges / T)
    rho = np.abs(np.linalg.eigvals(M)).max()
    low, high = solution.bounds
    slack = 1e-12 * (1.0 + abs(T * math.log(rho)))  # rounding of the eigenvalue of a small, well-conditioned matrix
    assert low - slack <= -T * math.log(rho) <= high + slack
    Q = solution.policy.matrix().toarray()
    assert average_cost(Q, P, c, edges, T) == pytest.approx(solution.average_cost, abs=1e-9)
    rng = np.random.default_rng(9)
    for _ in range(20):  # nobody does better
        other = P * np.exp(rng.normal(size=P.shape))
        other /= other.sum(axis=1, keepdims=True)
        assert average_cost(other, P, c, edges, T) >= low - 1e-12


@pytest.mark.parametrize("T", [0.5, 2.0])
def test_the_optimum_is_that_of_a_conic_solver(T: float) -> None:
    P, c, edges = game(7, 4)
    n = len(P)
    pi = cvxpy.Variable((n, n), nonneg=True)
    mu = cvxpy.sum(pi, axis=1, keepdims=True)
    free = [pi[x, y] == 0 for x in range(n) for y in range(n) if P[x, y] == 0]
    base = cvxpy.multiply(np.where(P > 0, P, 1.0), mu @ np.ones((1, n)))
    paid = cvxpy.sum(cvxpy.multiply(pi, edges + c[:, None])) + T * cvxpy.sum(cvxpy.rel_entr(pi, base))
    problem = cvxpy.Problem(cvxpy.Minimize(paid), [cvxpy.sum(pi) == 1, cvxpy.sum(pi, axis=0) == mu[:, 0], *free])
    problem.solve(solver=cvxpy.CLARABEL)
    tilted, extra = lsmdp.LMDP(P, temperature=T).with_edge_costs(edges)
    assert lsmdp.solve(tilted, c + extra).average_cost == pytest.approx(problem.value, abs=1e-6)  # Clarabel: 1e-8


def test_costs_that_depend_on_the_state_alone_change_nothing_else() -> None:
    lmdp = lsmdp.ring(6, 0.5)
    edges = np.repeat(np.arange(6.0)[:, None], 6, axis=1)
    tilted, extra = lmdp.with_edge_costs(edges)
    np.testing.assert_allclose(tilted.P.toarray(), lmdp.P.toarray(), rtol=1e-14)
    np.testing.assert_allclose(extra, np.arange(6.0), atol=1e-14)


def test_a_difference_of_potentials_is_free_in_the_long_run() -> None:
    """c(x, y) = g(y) - g(x) telescopes: the average cost of every policy stays as it is."""
    lmdp, rng = lsmdp.random_graph(12, 4, seed=3), np.random.default_rng(0)
    g, c = 50.0 * rng.random(12), rng.random(12)
    tilted, extra = lmdp.with_edge_costs(g[None, :] - g[:, None])
    assert lsmdp.solve(tilted, c + extra).average_cost == pytest.approx(lsmdp.solve(lmdp, c).average_cost, abs=1e-9)


def test_large_costs_are_no_problem_and_impossible_ones_are_named() -> None:
    lmdp = lsmdp.LMDP([[0.5, 0.5], [0.5, 0.5]])
    _, extra = lmdp.with_edge_costs(np.full((2, 2), 1e6))
    np.testing.assert_allclose(extra, 1e6, rtol=1e-15)
    tilted, extra = lmdp.with_edge_costs([[0.0, 600.0], [-600.0, 0.0]])
    assert tilted.P.toarray()[0, 1] == pytest.approx(math.exp(-600.0), rel=1e-12)
    np.testing.assert_allclose(extra, [math.log(2.0), -600.0 + math.log(2.0)], rtol=1e-14)
    with pytest.raises(
        CostError, match=r"from state 0 to state 1 costs 800, .* below 1e-308 at temperature 1 \(1 such"
    ):
        lmdp.with_edge_costs([[0.0, 800.0], [0.0, 0.0]])


def test_matrices_may_be_sparse_and_what_p_cannot_do_is_not_looked_at() -> None:
    lmdp = lsmdp.ring(4, 0.5)
    edges = np.arange(16.0).reshape(4, 4) / 16.0
    edges[0, 2] = np.nan  # two steps away
    for form in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        tilted, extra = lmdp.with_edge_costs(form(edges))
        same, too = lmdp.with_edge_costs(edges)
        np.testing.assert_array_equal(tilted.P.toarray(), same.P.toarray())
        np.testing.assert_array_equal(extra, too)
    np.testing.assert_array_equal(tilted.positions, lmdp.positions)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (np.zeros((3, 3)), "of shape 3 x 3, but P is 2 x 2"),
        ([["a", "b"], ["c", "d"]], "the edge costs are <U1 values"),
        ([[0.0, np.nan], [0.0, np.inf]], r"from state 0 to state 1 is nan \(2 such moves\)"),
    ],
)
def test_bad_matrices_are_named(edges: object, message: str) -> None:
    with pytest.raises(CostError, match=message):
        lsmdp.sticky(0.5).with_edge_costs(edges)


class TestFiles:
    EDGES = "from,to,weight\na,b,1\nb,a,2\nb,b,2\na,a,1\nb,c,1\n"

    def files(self, folder: Path, tolls: str) -> list[object]:
        (folder / "roads.csv").write_text(self.EDGES)
        (folder / "tolls.csv").write_text(tolls)
        (folder / "c.csv").write_text("state,cost\na,0.25\nb,0.5\nc,1\n")
        where = [folder / name for name in ("roads.csv", "c.csv", "tolls.csv")]
        flags = ["--normalise", "--largest-class", "--temperature", "0.5"]
        return ["solve", where[0], "--cost", where[1], "--edge-costs", where[2], *flags]

    def test_the_command_solves_the_whole_problem(self, run: Run, tmp_path: Path) -> None:
        result = run(*self.files(tmp_path, "From,To,Cost\na,b,0.7\nb,b,-0.2\nb,c,5\n"), "--json")
        assert result.exit_code == 0
        assert result.stderr.endswith('--largest-class kept 2 of 3 states; left out: "c", and all moves to them.\n')
        low, high = json.loads(result.stdout)["bounds"]
        P, edges = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.0, 0.7], [0.0, -0.2]])
        M = np.exp(-np.array([0.25, 0.5]) / 0.5)[:, None] * P * np.exp(-edges / 0.5)
        expected = -0.5 * math.log(np.abs(np.linalg.eigvals(M)).max())
        assert low - 1e-13 <= expected <= high + 1e-13  # rounding of numbers of order 1

    @pytest.mark.parametrize(
        ("tolls", "message"),
        [
            ("from,to\na,b\n", 'there is no column "cost"'),
            ("from,to,cost\na,b,dear\n", 'line 2: the cost is "dear", not a number'),
            ("from,to,cost\na,b,1\na,b,2\n", 'the move from state 0 "a" to state 1 "b" has 2 costs'),
            ("from,to,cost\na,b,\n", 'from state 0 "a" to state 1 "b" is nan'),
            ("from,to,cost\na,,1\n", 'row 0 below the header has no name in the column "to"'),
        ],
    )
    def test_bad_files_are_named(self, run: Run, tmp_path: Path, tolls: str, message: str) -> None:
        result = run(*self.files(tmp_path, tolls))
        assert result.exit_code == 2
        assert message in result.stderr

    def test_moves_alone_may_cost(self, run: Run, tmp_path: Path) -> None:
        """Without --cost states cost nothing; ``uniform`` would add a half."""
        arguments = self.files(tmp_path, "from,to,cost\na,b,0.5\n")
        costs, rest = arguments[2:4], [*arguments[:2], *arguments[4:], "--json"]
        alone, zero, half = (
            json.loads(run(*rest, *cost).stdout) for cost in ([], ["--cost", "zero"], ["--cost", "uniform"])
        )
        assert costs[0] == "--cost"
        assert alone["bounds"] == zero["bounds"]
        assert alone["average_cost"] > 0.0
        assert half["average_cost"] == pytest.approx(alone["average_cost"] + 0.5, abs=2e-10)  # the two tolerances
        nothing = run("solve", "ring:4")
        assert nothing.exit_code == 2
        assert (
            "nothing has a cost. Say what states cost with --cost, what moves cost with --edge-costs" in nothing.stderr
        )

    @pytest.mark.parametrize(
        "tolls", ["from,to,cost\n0,2,0.5\n2,2,1\n", "from,to,cost\nx,z,0.5\nz,z,1\n"], ids=["numbers", "labels"]
    )
    def test_states_by_label_or_by_number(self, tmp_path: Path, tolls: str) -> None:
        (tmp_path / "tolls.csv").write_text(tolls)
        lmdp = lsmdp.LMDP(np.full((3, 3), 1.0 / 3.0), ["x", "y", "z"])
        assert lsmdp.read_edge_costs(tmp_path / "tolls.csv", lmdp).toarray().tolist() == [
            [0, 0, 0.5],
            [0, 0, 0],
            [0, 0, 1],
        ]

    @pytest.mark.parametrize("name", ["+1", " 1", "01", "١", "3"])
    def test_other_ways_to_write_a_number_are_names(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "tolls.csv").write_text(f"from,to,cost\n0,2,0.5\n{name},2,1\n")
        with pytest.raises(CostError, match=f'row 1 below the header names "{re.escape(name)}"'):
            lsmdp.read_edge_costs(tmp_path / "tolls.csv", lsmdp.LMDP(np.full((3, 3), 1.0 / 3.0)))

    def test_strangers_are_named_where_nothing_was_dropped(self, tmp_path: Path) -> None:
        lmdp = lsmdp.ring(5)
        path = tmp_path / "tolls.csv"
        path.write_text("from,to,cost\n0,1,1\n1,7,1\n")
        with pytest.raises(CostError, match='row 1 below the header names "7", which is not a state'):
            lsmdp.read_edge_costs(path, lmdp)
        path.write_text("from,to,cost\n0,2,1\n")
        with pytest.raises(CostError, match="moving from state 0 to state 2, which P never does"):
            lsmdp.read_edge_costs(path, lmdp)


def test_the_recipe_for_learners_is_the_same_problem() -> None:
    """Everything in units of s: the optimal average cost is s times that in the unit, plus what was subtracted."""
    P, c, edges = game(4)
    tilted, extra = lsmdp.LMDP(P, temperature=0.7).with_edge_costs(edges)
    low = extra.min()
    s = 1.0 + float(np.ptp(extra))
    unit = lsmdp.LMDP(tilted.P, temperature=0.7 / s)
    mapped = (c + extra - low) / s
    assert (mapped >= 0.0).all()
    assert (mapped <= 1.0).all()
    whole = lsmdp.solve(tilted, c + extra)
    assert s * lsmdp.solve(unit, mapped).average_cost + low == pytest.approx(whole.average_cost, abs=1e-9)


def test_the_page_runs() -> None:
    page = (Path(__file__).parents[1] / "docs" / "edge-costs.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    exec("\n".join(blocks), names)
    assert names["run"]


def test_what_all_moves_from_a_state_have_in_common_takes_no_digits_from_the_kernel() -> None:
    """Costs of 1e9 that differ by 1 (exact in floats) tilt as costs that differ by 1 do."""
    P = lsmdp.random_graph(9, 4).P
    step = sparse.csr_array((np.arange(P.nnz) % 3.0, P.indices, P.indptr), shape=P.shape)
    dear = sparse.csr_array((1e9 + step.data, P.indices, P.indptr), shape=P.shape)
    for temperature in (1.0, 1e-2):
        lmdp = lsmdp.LMDP(P, temperature=temperature)
        (near, extra), (far, more) = lmdp.with_edge_costs(step), lmdp.with_edge_costs(dear)
        np.testing.assert_allclose(far.P.data, near.P.data, rtol=1e-13)
        np.testing.assert_allclose(more, 1e9 + extra, rtol=1e-15)


@pytest.mark.parametrize("size", [1e308, -1e308])
def test_costs_beyond_all_measure(size: float) -> None:
    lmdp = lsmdp.LMDP([[0.5, 0.5], [1.0, 0.0]], temperature=0.1)
    same, extra = lmdp.with_edge_costs([[size, size], [0.0, 0.0]])
    np.testing.assert_allclose(same.P.toarray(), lmdp.P.toarray(), rtol=1e-15)
    assert extra[0] == size
    for row in ([0.0, size], [-size, size]):
        with pytest.raises(CostError, match="so much more than others from there"):
            lmdp.with_edge_costs([row, [0.0, 0.0]])


def test_messages_name_states_by_their_labels(tmp_path: Path) -> None:
    lmdp = lsmdp.LMDP([[0.5, 0.5], [1.0, 0.0]], ["here", "there"])
    for cost, message in ((math.nan, "is nan"), (1e6, "costs 1e\\+06, so much more than others")):
        with pytest.raises(CostError, match=f'the move from state 0 "here" to state 1 "there" {message}'):
            lmdp.with_edge_costs([[0.0, cost], [0.0, 0.0]])
    rest = lsmdp.LMDP.repaired([[0.5, 0.5, 0], [1, 0, 0], [0, 1, 0]], ["here", "there", "gone"], largest_class=True)
    (tmp_path / "tolls.csv").write_text("from,to,cost\nHere,There,1\n")
    with pytest.raises(CostError, match="no line names a state of the model"):
        lsmdp.read_edge_costs(tmp_path / "tolls.csv", rest)
    (tmp_path / "tolls.csv").write_text("from,to,cost\ngone,there,1\n")
    assert lsmdp.read_edge_costs(tmp_path / "tolls.csv", rest).nnz == 0


mp = mpmath.mpf


def hard_problem(rng: np.random.Generator) -> tuple[LMDP, Matrix, Matrix]:
    """A model, costs of states and costs of moves, far from 0 and close to each other, at any temperature."""
    n = int(rng.integers(2, 5))
    P = rng.random((n, n)) * (rng.random((n, n)) < 0.7) + 0.5 * np.roll(np.eye(n), 1, axis=1) + 0.1 * np.eye(n)
    if rng.random() < 0.3:
        P = P * 10.0 ** -rng.uniform(0, 6, (n, n))
    lmdp = LMDP(P, temperature=10.0 ** rng.uniform(-2, 2), normalise=True)
    offset = rng.choice([0.0, 1.0, 1e2, 1e4, 1e6, 1e8]) * rng.choice([-1, 1])
    edges = offset + rng.normal(size=(n, n)) * rng.choice([0.1, 1.0, 10.0])
    return lmdp, rng.random(n) * rng.choice([0.0, 1.0, 10.0]), edges


def exact_optimum(P: Matrix, c: Matrix, edges: Matrix, T: float) -> mpmath.mpf | None:
    """-T log of the Perron root, by squaring the matrix until its ratios agree to 25 digits; None if they do not."""
    n = len(P)
    A = [[mp(P[x, y]) * mpmath.exp(-(mp(c[x]) + mp(edges[x, y])) / mp(T)) for y in range(n)] for x in range(n)]
    top = max(map(max, A))
    A = B = [[a / top if P[x, y] > 0 else mp(0) for y, a in enumerate(row)] for x, row in enumerate(A)]
    for power in range(400):
        B = [[mpmath.fsum(B[x][k] * B[k][y] for k in range(n)) for y in range(n)] for x in range(n)]
        largest = max(map(max, B))
        B = [[b / largest for b in row] for row in B]
        if power % 8 == 7:
            z = [mpmath.fsum(row) for row in B]
            ratios = [mpmath.fsum(A[x][y] * z[y] for y in range(n)) / z[x] for x in range(n)]
            if max(ratios) / min(ratios) - 1 < mp(10) ** -25:
                return -mp(T) * (mpmath.log(ratios[0]) + mpmath.log(top))
    return None


def test_the_bounds_contain_the_optimum_of_the_problem_with_costs_of_moves() -> None:
    """Without the rounding of the tilt in them, they miss it in one or two of a thousand such problems."""
    rng, done = np.random.default_rng(1), 0
    with mpmath.workdps(50):
        for _ in range(800):
            lmdp, c, edges = hard_problem(rng)
            try:
                tilted, extra = lmdp.with_edge_costs(edges)
            except CostError:  # a chance below the smallest float
                continue
            low, high = lsmdp.solve(tilted, c + extra, throw=False).bounds
            optimum = exact_optimum(lmdp.P.toarray(), c, edges, lmdp.temperature)
            if optimum is not None:
                done += 1
                assert low <= optimum <= high
    assert done > 700


@pytest.mark.parametrize("rare", [0.0, 6.0, 250.0])  # decades of P: with the last, weights are taken in logarithms
def test_the_rounding_of_the_tilt_is_enclosed_and_not_by_much(rare: float) -> None:
    """e(x, y) = c(x, y) - T log P - (extra - T log P') of every move, and of the largest by a factor of 50 at most."""
    rng, factors = np.random.default_rng(2), []
    with mpmath.workdps(50):
        for _ in range(300):
            lmdp, _, edges = hard_problem(rng)
            P = lmdp.P.toarray() * 10.0 ** -rng.uniform(0, rare, lmdp.P.shape)
            lmdp = LMDP(P, temperature=lmdp.temperature, normalise=True)
            try:
                tilted, extra = lmdp.with_edge_costs(edges)
            except CostError:
                continue
            T, before, after = mp(lmdp.temperature), lmdp.P.tocoo(), tilted.P.tocoo()
            errors = [
                abs(mp(edges[x, y]) - T * mpmath.log(mp(p)) - (mp(extra[x]) - T * mpmath.log(mp(q))))
                for x, y, p, q in zip(before.row, before.col, before.data, after.data, strict=True)
            ]
            assert max(errors) <= tilted.rounding
            factors.append(float(tilted.rounding / max(errors)))
    assert np.median(factors) < 50


def test_rounding_adds_up_and_stays_with_a_model() -> None:
    lmdp, edges = lsmdp.ring(6, 0.5), np.add.outer(np.arange(6.0), np.ones(6))
    assert (lmdp.rounding, lmdp.slack(np.full(6, 1e8))) == (0.0, 0.0)
    once, extra = lmdp.with_edge_costs(edges)
    twice, _ = once.with_edge_costs(edges)
    assert 0.0 < once.rounding < 1e-13
    assert once.rounding < twice.rounding
    for changed in (once.teleport(0.1), once.lazy(0.1), once.largest_class()):
        assert changed.rounding == once.rounding
    assert once.slack(extra) == once.rounding + 2.0**-53 * np.abs(extra).max()
    for bad in (-1.0, np.inf, np.nan):
        with pytest.raises(ModelError, match=r"rounding is .* cannot be negative or infinite"):
            LMDP(lmdp.P, rounding=bad)


SIZES = {
    "small": lsmdp.ring(9, 0.5),  # compiled for a P that is written out
    "factor": lsmdp.grid(18, 18),
    "sweeps": lsmdp.random_graph(300, 5, seed=1),
    "steep": LMDP(lsmdp.grid(9, 9).P, temperature=1e-4),  # no scale serves all rows
}
OFF = 1e-4


@cache
def unsure(name: str) -> tuple[LMDP, Matrix, float]:
    """A model that is known to OFF only, a cost, and the optimum for P as it stands."""
    lmdp = SIZES[name]
    c = np.random.default_rng(3).random(lmdp.n)
    optimum = lsmdp.solve(lmdp, c, tol=1e-9).average_cost
    return LMDP(lmdp.P, temperature=lmdp.temperature, rounding=OFF), c, optimum


def allows(low: float, high: float, optimum: float) -> bool:
    """Whether all that the optimum may be is within the bounds (it is known to 1e-9 itself)."""
    return low <= optimum - OFF + 1e-9 and optimum + OFF - 1e-9 <= high


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("method", [None, lsmdp.Power(), lsmdp.Direct(), lsmdp.Dense(), lsmdp.Krylov()])
def test_every_solver_allows_for_rounding(name: str, method: object) -> None:
    lmdp, c, optimum = unsure(name)
    solution = lsmdp.solve(lmdp, c, tol=1e-3, solver=method, throw=False)
    assert allows(*solution.bounds, optimum)
    assert solution.certified or isinstance(method, lsmdp.Power)


@pytest.mark.parametrize("name", SIZES)
def test_less_than_the_rounding_cannot_be_certified(name: str) -> None:
    lmdp, c, _ = unsure(name)
    hopeless = lsmdp.solve(lmdp, c, tol=1e-5, throw=False)
    assert not hopeless.certified
    assert "rounding in double precision makes up 0.0002 of it" in hopeless.status


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("learner", [lsmdp.FollowTheLeader(tolerance=1e-3), lsmdp.PhasedLeader(tolerance=1e-3)])
def test_every_leader_allows_for_rounding(name: str, learner: Learner) -> None:
    """The cost is the same in all rounds, and so is the optimum for its mean."""
    lmdp, c, optimum = unsure(name)
    state, claims = learner.init(lmdp), []
    for _ in range(8):
        before, state = state, learner.observe(lmdp, state, c)
        claims.append(learner.report(before, state)[:2])
    claims.append(CompleteLearner.of(learner).bounds(lmdp, state))
    assert all(allows(low, high, optimum) for low, high in claims[1:])  # before round 1, the optimum is for the cost 0
    run = lsmdp.play(lmdp, learner, np.tile(c, (40, 1)))  # many rounds in one compiled call
    assert run.learners[learner.name].max_gap >= 2 * OFF


@pytest.mark.parametrize("name", SIZES)
def test_tracking_allows_for_rounding(name: str) -> None:
    """Its v is the same with and without, so that all bounds are wider by just that much."""
    lmdp, _, _ = unsure(name)
    learner, costs = lsmdp.TrackTheLeader(), np.random.default_rng(5).random((5, lmdp.n))
    states = [learner.init(model) for model in (lmdp, SIZES[name])]
    for c_t in costs:
        states = [learner.observe(model, state, c_t) for model, state in zip((lmdp, SIZES[name]), states, strict=True)]
        (low, high), (least, most) = (state[3:] for state in states)
        np.testing.assert_allclose([least - low, high - most], OFF, rtol=1e-9)
    wide, narrow = (
        CompleteLearner.of(learner).bounds(model, state)
        for model, state in zip((lmdp, SIZES[name]), states, strict=True)
    )
    np.testing.assert_allclose(np.subtract(wide, narrow), [-OFF, OFF], rtol=1e-9)
    played = [lsmdp.play(model, learner, costs).learners["track"].max_gap for model in (lmdp, SIZES[name])]
    assert played[0] - played[1] == pytest.approx(2 * OFF, rel=1e-9)  # before round 1 the gap is 0 without rounding


def test_brackets_and_guarantees_allow_for_rounding() -> None:
    lmdp, c, _ = unsure("small")
    plain, costs = LMDP(lmdp.P), np.random.default_rng(4).random((5, lmdp.n))
    wide, narrow = (lsmdp.play(model, lsmdp.Passive(), costs).regret(bracket=True) for model in (lmdp, plain))
    assert wide.bracket is not None
    assert narrow.bracket is not None
    assert wide.bracket.low == pytest.approx(narrow.bracket.low - 5 * OFF, abs=1e-12)
    assert wide.bracket.high == pytest.approx(narrow.bracket.high + 5 * OFF, abs=1e-12)
    (far,), (near,) = wide.learners, narrow.learners
    assert far.guarantee[1] == pytest.approx(near.guarantee[1] + 10 * OFF, abs=1e-8)  # the leader is found to 1e-10
    assert lmdp.moves.residual(c, c)[2] == pytest.approx(plain.moves.residual(c, c)[2] + OFF)
