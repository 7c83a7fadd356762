"""What others would have paid: fixed policies, the best stationary one between two bounds, and all of them at once."""

from __future__ import annotations

import importlib
import itertools
import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmdp import (
    LMDP,
    CostError,
    ModelError,
    Policy,
    SpecError,
    bounds,
    grid,
    ring,
    solve,
)
from lsmdp.chain import dobrushin
from lsmdp.regret.bracket import Bracket, bracket, lower_bound
from lsmdp.regret.comparators import fixed_cost, fixed_costs
from lsmdp.regret.guarantee import (
    CostRange,
    Guarantee,
    guarantee,
    mixing_sum,
)
from lsmdp.regret.search import Search

ROUNDING = 1e-10  # far above the rounding of sums of 1e4 costs, far below any difference that is tested
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


@dataclass(frozen=True)
class Game:
    """A model, costs, a start, and three arbitrary policies: one spread out, two nearly deterministic."""

    lmdp: LMDP
    costs: np.ndarray
    p1: np.ndarray
    policies: list[np.ndarray]


def residual(lmdp: LMDP, c: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Bv - v."""
    return c - lmdp.temperature * np.log(lmdp.P @ np.exp(-v / lmdp.temperature)) - v


def by_row(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def games(draw: st.DrawFn, states: int = 4, rounds: int = 12) -> Game:
    """A ring with self-loops plus any other moves, costs of either kind (binary or spread), any start."""
    n, T = draw(st.integers(1, states)), draw(st.integers(1, rounds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = rng.integers(1, 50, (n, n)) * (rng.random((n, n)) < 0.6) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    costs = rng.random((T, n))
    spread = [by_row(rng.uniform(0.02, 1.0, (n, n)) ** power * (W > 0)) for power in (1, 8, 8)]
    return Game(
        LMDP(W, temperature=draw(st.sampled_from([0.3, 1.0, 2.5])), normalise=True),
        costs.round() if draw(st.booleans()) else costs,
        rng.dirichlet(np.ones(n)) if draw(st.booleans()) else np.eye(n)[rng.integers(n)],
        spread,
    )


def swap_game(T: int) -> tuple[LMDP, np.ndarray]:
    """Every assumption of the paper holds, and costs alternate in phase with a chain that swaps each round."""
    return LMDP([[0.3, 0.7], [0.7, 0.3]]), np.tile([[0.0, 1.0], [1.0, 0.0]], (T // 2, 1))


def kl(Q: np.ndarray, P: np.ndarray) -> np.ndarray:
    return np.sum(Q * np.log(np.where(Q > 0, Q, 1.0) / np.where(Q > 0, P, 1.0)), axis=1)


def cost_over_paths(game: Game, Q: np.ndarray) -> tuple[float, float]:
    """State and control cost as expectations over all paths, each with its own log-likelihood ratio."""
    P, T = game.lmdp.P.toarray(), len(game.costs)
    state = control = 0.0
    for path in itertools.product(range(game.lmdp.n), repeat=T + 1):
        moves = list(itertools.pairwise(path))
        chance = game.p1[path[0]] * math.prod(Q[move] for move in moves)
        if chance > 0.0:
            state += chance * sum(game.costs[t, path[t]] for t in range(T))
            control += chance * game.lmdp.temperature * sum(math.log(Q[move] / P[move]) for move in moves)
    return state, control


# --- one fixed policy


@settings(max_examples=20)
@given(games(states=3, rounds=5))
def test_a_fixed_cost_is_an_expectation_over_paths(game: Game) -> None:
    for Q in game.policies[:2]:
        paid = fixed_cost(game.lmdp, Q, game.costs, game.p1)
        expected = cost_over_paths(game, Q)
        np.testing.assert_allclose((paid.state_cost, paid.control_cost), expected, rtol=0, atol=ROUNDING)
        assert paid.loss == paid.state_cost + paid.control_cost


def test_the_counterexample_has_its_numbers() -> None:
    lmdp, costs = swap_game(5000)
    leader = solve(lmdp, costs.mean(axis=0), tol=1e-12).policy
    swap, following = fixed_costs(lmdp, [SWAP, leader], costs, [1.0, 0.0])
    assert round(swap.loss, 2) == 1783.37
    assert round(following.loss, 2) == 2499.17
    assert swap.state_cost == 0.0
    assert swap.control_cost == pytest.approx(-5000 * math.log(0.7), rel=1e-13)


@pytest.fixture(scope="module")
def long_game() -> Game:
    """More rounds than two blocks hold."""
    rng = np.random.default_rng(3)
    lmdp = grid(3, 4, temperature=0.5)
    policies = [Policy(lmdp, rng.normal(size=12)).matrix().toarray() for _ in range(3)]
    return Game(lmdp, rng.random((600, 12)), rng.dirichlet(np.ones(12)), policies)


def test_sums_on_the_way_are_those_of_shorter_games(long_game: Game) -> None:
    at = [1, 7, 256, 257, 512, 600]
    lmdp, costs, p1, Q = long_game.lmdp, long_game.costs, long_game.p1, long_game.policies[0]
    paid = fixed_cost(lmdp, Q, costs, p1, reversed(at))
    assert paid.rounds.tolist() == at
    assert fixed_cost(lmdp, Q, costs, p1, [7]).rounds.tolist() == [7, 600]
    for i, t in enumerate(at):
        short = fixed_cost(lmdp, Q, costs[:t], p1)
        assert (short.T, len(short.losses)) == (t, 1)
        np.testing.assert_allclose(paid.state_costs[i], short.state_cost, rtol=1e-14)
        np.testing.assert_allclose(paid.losses[i], short.loss, rtol=1e-14)
    # the power is not divided by its row sums, and 600 times a rounding error is off by 1e-13
    np.testing.assert_allclose(paid.final_law, p1 @ np.linalg.matrix_power(Q, 600), rtol=0, atol=1e-12)


def test_many_policies_cost_one_pass_over_any_kind_of_costs(long_game: Game) -> None:
    lmdp, costs, p1 = long_game.lmdp, long_game.costs, long_game.p1
    once = (c.tolist() for c in costs)  # an iterator: a second pass would find nothing
    together = fixed_costs(lmdp, long_game.policies, once, p1)
    for Q, paid in zip(long_game.policies, together, strict=True):
        assert paid.loss == fixed_cost(lmdp, Q, list(costs), p1).loss


def test_a_policy_and_its_kernel_cost_the_same(long_game: Game) -> None:
    policy = Policy(long_game.lmdp, np.arange(12.0))
    forms = [policy, policy.matrix(), policy.matrix().toarray()]
    losses = [paid.loss for paid in fixed_costs(long_game.lmdp, forms, long_game.costs, long_game.p1)]
    assert losses[0] == losses[1] == losses[2]


def test_control_is_charged_against_the_model_that_is_played(long_game: Game) -> None:
    """A policy of another model is a kernel like any other."""
    other = LMDP(by_row(long_game.lmdp.P.toarray() ** 2), temperature=3.0)
    policy = Policy(other, np.arange(12.0))
    assert (
        fixed_cost(long_game.lmdp, policy, long_game.costs, long_game.p1).loss
        == fixed_cost(long_game.lmdp, policy.matrix(), long_game.costs, long_game.p1).loss
    )


def test_rounding_does_not_drift() -> None:
    """A row that sums to 1 only within rounding loses mass each round (here 1e-12 in all); a law must stay one."""
    lmdp = LMDP(np.tile(np.random.default_rng(7).random(7), (7, 1)), normalise=True)
    paid = fixed_cost(lmdp, lmdp.P, (np.full(7, 0.1) for _ in range(100_000)), np.eye(7)[0])
    assert paid.final_law.sum() == pytest.approx(1.0, abs=1e-15)
    assert paid.loss == pytest.approx(1e4, rel=1e-13)


def test_memory_does_not_grow_with_the_rounds() -> None:
    lmdp, c = ring(200), np.full(200, 0.5)

    def peak(T: int) -> int:
        tracemalloc.start()
        fixed_cost(lmdp, lmdp.P, itertools.repeat(c, T), np.eye(200)[0], at=[1, 10, 100, 1000])
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(1000)  # compiled and imported
    assert peak(10_000) < 1.2 * peak(1000) < 4_000_000  # all costs would be 16,000,000 bytes


def test_bad_input_is_named_with_its_round() -> None:
    lmdp, costs = swap_game(600)
    costs[399, 1] = np.nan
    with pytest.raises(CostError, match=r"round 400: the cost\[1\] is nan"):
        fixed_cost(lmdp, SWAP, costs, [1, 0])
    with pytest.raises(CostError, match="round 3: the cost has 3 values, but the model has 2 states"):
        fixed_cost(lmdp, SWAP, [[0, 1], [1, 0], [0, 1, 0]], [1, 0])
    with pytest.raises(CostError, match="round 2: the cost holds <U1 values"):
        fixed_cost(lmdp, SWAP, [[0, 1], ["a", "b"]], [1, 0])
    with pytest.raises(CostError, match="no rounds"):
        fixed_cost(lmdp, SWAP, [], [1, 0])
    with pytest.raises(CostError, match="sums to 2"):
        fixed_cost(lmdp, SWAP, costs, [1, 1])
    with pytest.raises(SpecError, match="round 700 was asked for, but the costs end after round 300"):
        fixed_cost(lmdp, SWAP, costs[:300], [1, 0], at=[700])
    with pytest.raises(SpecError, match=r"round 0 was asked for\. Rounds are counted from 1"):
        fixed_cost(lmdp, SWAP, costs, [1, 0], at=[0, 5])


def test_a_kernel_that_is_no_policy_is_refused() -> None:
    lmdp, costs = LMDP([[0.5, 0.5], [1.0, 0.0]]), [[0.0, 1.0]]
    with pytest.raises(ModelError, match=r"but P\[1, 1\] is 0"):
        fixed_cost(lmdp, np.eye(2), costs, [1, 0])
    with pytest.raises(ModelError, match=r"row 0 of Q sums to 0\.9, not 1"):
        fixed_cost(lmdp, [[0.4, 0.5], [1.0, 0.0]], costs, [1, 0])
    with pytest.raises(ModelError, match="Q has 3 states, but the model has 2"):
        fixed_cost(lmdp, np.eye(3), costs, [1, 0])


def test_costs_may_be_single_numbers_where_there_is_one_state() -> None:
    assert fixed_cost(LMDP([[1.0]]), [[1.0]], [0.25, 0.5], [1.0]).loss == 0.75


# --- the best stationary policy, from below


def best_time_varying(game: Game) -> mpmath.mpf:
    """D with 40 digits."""
    P, tau = mpmath.matrix(game.lmdp.P.toarray()), mpmath.mpf(game.lmdp.temperature)
    sums = [mpmath.fsum(P[x, :]) for x in range(game.lmdp.n)]
    V = [mpmath.mpf(0)] * game.lmdp.n
    for c in game.costs[::-1]:
        z = P * mpmath.matrix([mpmath.exp(-value / tau) for value in V])
        V = [mpmath.mpf(c[x]) - tau * mpmath.log(z[x] / sums[x]) for x in range(game.lmdp.n)]
    weights = [mpmath.mpf(p) for p in game.p1]
    return mpmath.fdot(weights, V) / mpmath.fsum(weights)


@settings(max_examples=30)
@given(games(rounds=60))
def test_the_lower_bound_is_true_to_the_last_bit_and_close(game: Game) -> None:
    with mpmath.workdps(40):
        D = best_time_varying(game)
        low = lower_bound(game.lmdp, game.costs, game.p1)
        assert low <= D
        assert D - low <= 1e-15 * len(game.costs) * 100 * (1 + game.lmdp.temperature)


@settings(max_examples=8)
@given(games(rounds=20), st.sampled_from([0.01, 0.0005]))
def test_the_lower_bound_survives_values_that_underflow(game: Game, temperature: float) -> None:
    """With rows that differ by more than 1e-308, and those that only differ by more than 1e-200."""
    cold = replace(game, lmdp=LMDP(game.lmdp.P, temperature=temperature))
    with mpmath.workdps(40):
        D = best_time_varying(cold)
        low = lower_bound(cold.lmdp, cold.costs, cold.p1)
        assert low <= D <= low + 1e-12
    found = bracket(cold.lmdp, cold.costs, cold.p1, work=1e5)
    assert low <= found.high < math.inf


@settings(max_examples=15)
@given(games(states=3, rounds=6))
def test_the_lower_bound_is_a_path_integral(game: Game) -> None:
    """From one state, D = -tau log E_P exp(-(sum of the costs of the path) / tau)."""
    tau, P, T = game.lmdp.temperature, game.lmdp.P.toarray(), len(game.costs)
    for x in range(game.lmdp.n):
        total = 0.0
        for rest in itertools.product(range(game.lmdp.n), repeat=T - 1):
            path = (x, *rest)
            chance = math.prod(P[move] for move in itertools.pairwise(path))
            total += chance * math.exp(-sum(game.costs[t, path[t]] for t in range(T)) / tau)
        low = lower_bound(game.lmdp, game.costs, np.eye(game.lmdp.n)[x])
        assert low == pytest.approx(-tau * math.log(total), abs=ROUNDING)


@dataclass(frozen=True)
class Readable:
    """Costs that can be read from any round on, and count how often they were."""

    rows: np.ndarray
    reads: list[int]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.rows)

    def from_round(self, t: int) -> Iterator[np.ndarray]:
        self.reads.append(t)
        return iter(self.rows[t - 1 :])


def test_long_costs_are_read_backwards_in_blocks(long_game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, p1, costs = long_game.lmdp, long_game.p1, Readable(long_game.costs, [])
    whole = lower_bound(lmdp, costs, p1)
    assert costs.reads == []
    monkeypatch.setattr(importlib.import_module("lsmdp.regret.bracket"), "HELD_NUMBERS", 12 * 250)
    assert lower_bound(lmdp, costs, p1) == pytest.approx(whole, rel=1e-13)
    assert costs.reads == [501, 251, 1]
    with pytest.raises(SpecError, match=r"600 rounds of 12 states are more than the 3,000 .*method from_round\(t\)"):
        lower_bound(lmdp, long_game.costs, p1)
    with pytest.raises(SpecError, match=r"at most 3,000 numbers: 250 rounds of 12 states.*lower_bound and fixed_cost"):
        bracket(lmdp, costs, p1)


# --- and from above


def test_the_counterexample_is_bracketed() -> None:
    lmdp, costs = swap_game(300)
    found = bracket(lmdp, costs, [1.0, 0.0])
    assert round(found.low, 1) == 79.9
    assert round(found.high, 1) == 107.0
    assert round(found.losses["leader"], 1) == 149.2
    assert round(found.losses["search from leader"], 1) == 149.2  # a saddle, which the other starts avoid
    assert round(found.below_leader, 1) == 42.2
    np.testing.assert_allclose(found.best_policy.toarray(), SWAP, rtol=0, atol=1e-4)


def test_a_policy_in_phase_is_found_where_random_starts_do_not_find_it() -> None:
    """A target goes round a ring. To follow it costs tau log 3 a round; hardly any random policy leads there."""
    lmdp, T = ring(4, temperature=0.6), 300
    np.testing.assert_allclose(lmdp.P.data, 1 / 3)
    costs = np.ones((T, 4))
    costs[np.arange(T), np.arange(T) % 4] = 0.0
    found = bracket(lmdp, costs, np.eye(4)[0])
    assert found.high <= T * 0.6 * math.log(3) + 1e-6 < found.losses["search from leader"] - 20


@settings(max_examples=12)
@given(games(rounds=20))
def test_the_bracket_holds_every_policy_above_its_low_end(game: Game) -> None:
    found = bracket(game.lmdp, game.costs, game.p1, {"mine": game.policies[1]}, work=1e6)
    losses = [paid.loss for paid in fixed_costs(game.lmdp, game.policies, game.costs, game.p1)]
    assert found.low <= min(losses)
    assert found.low <= found.high <= min(found.losses.values()) + 1e-9
    assert found.losses["mine"] == losses[1]
    for name in ("leader", "mine", "passive", "time average", "cold time average", "random 1"):
        # a search begins with every move possible, at a chance of at least 1e-12
        assert found.losses[f"search from {name}"] <= found.losses[name] + 1e-8
    again = fixed_cost(game.lmdp, found.best_policy, game.costs, game.p1)
    assert again.loss == found.losses[found.found_by] == found.high
    np.testing.assert_allclose(found.best_policy.sum(axis=1), 1.0, rtol=1e-13)


def losses_of(Q: np.ndarray, lmdp: LMDP, costs: np.ndarray, p1: np.ndarray) -> np.ndarray:
    """L_T by its definition, for any array of kernels with positive entries."""
    control = lmdp.temperature * np.sum(Q * np.log(Q / lmdp.P.toarray()), axis=-1)
    p, total = np.broadcast_to(p1, control.shape), np.zeros(control.shape[:-1])
    for c in costs:
        total = total + np.sum(p * (c + control), axis=-1)
        p = np.einsum("...x,...xy->...y", p, Q)
    return total


@pytest.mark.parametrize("kind", ["swap", "binary", "blocks", "cold"])
def test_with_two_states_the_search_finds_the_global_minimum(kind: str) -> None:
    """Against all of 301 x 301 policies, whose logits are 0.13 apart."""
    lmdp, costs = swap_game(60)
    rng = np.random.default_rng(8)
    if kind != "swap":
        costs = rng.integers(0, 2, (60, 2)).astype(float)
        lmdp = LMDP(by_row(rng.random((2, 2))), temperature=0.1 if kind == "cold" else 1.0)
    if kind == "blocks":
        costs = np.repeat(costs[:6], 10, axis=0)
    p1 = np.array([0.8, 0.2])
    found = bracket(lmdp, costs, p1)
    stay = 1 / (1 + np.exp(-np.linspace(-20, 20, 301)))
    a, b = np.meshgrid(stay, stay, indexing="ij")
    everywhere = losses_of(np.stack([np.stack([a, 1 - a], -1), np.stack([1 - b, b], -1)], -2), lmdp, costs, p1)
    assert found.low < everywhere.min()
    assert found.high < everywhere.min() + 1e-6
    assert found.high == pytest.approx(losses_of(found.best_policy.toarray(), lmdp, costs, p1), abs=ROUNDING)


@settings(max_examples=15)
@given(games(rounds=30))
def test_the_gradient_is_that_of_the_loss(game: Game) -> None:
    search = Search(game.lmdp, game.costs, game.p1)
    Q = game.lmdp.P.copy()
    Q.data = game.policies[1][np.nonzero(game.lmdp.P.toarray())]
    logits = np.log(Q.data)
    here = search.at(logits)
    assert here.value * len(game.costs) == pytest.approx(
        fixed_cost(game.lmdp, Q, game.costs, game.p1).loss, abs=ROUNDING
    )
    h = 1e-4
    for e, step in enumerate(h * np.eye(logits.size)):
        # five points: the error is of order h^4 plus 1e-16 / h
        slope = 8 * (search.at(logits + step).value - search.at(logits - step).value) / (12 * h)
        slope -= (search.at(logits + 2 * step).value - search.at(logits - 2 * step).value) / (12 * h)
        assert here.gradient[e] == pytest.approx(slope, abs=1e-10)


def test_constant_costs_leave_nothing_between_the_bounds() -> None:
    lmdp = grid(2, 3)
    found = bracket(lmdp, np.full((50, 6), 0.4), np.eye(6)[0])
    assert found.found_by == "leader"
    assert found.low <= 20.0
    assert found.high == pytest.approx(20.0, rel=1e-13)
    assert 0.0 <= found.width < ROUNDING
    alone = bracket(LMDP([[1.0]]), [[0.5]] * 3, [1.0])
    assert alone.low <= alone.high == 1.5


def test_without_work_the_candidates_are_the_upper_bound() -> None:
    lmdp, costs = swap_game(100)
    idle = bracket(lmdp, costs, [1.0, 0.0], {"swap": SWAP}, work=0)
    assert idle.found_by == "swap"
    assert idle.high == fixed_cost(lmdp, SWAP, costs, [1.0, 0.0]).loss
    assert not [name for name in idle.losses if name.startswith("search")]


def test_little_work_is_not_spread_thin() -> None:
    lmdp, costs = swap_game(100)
    evaluation = 4.0 * 100 * 4
    some = bracket(lmdp, costs, [1.0, 0.0], work=50 * evaluation)
    searches = [name for name in some.losses if name.startswith("search")]
    assert searches == ["search from cold time average", "search from leader"]
    noise = np.random.default_rng(0).random((100, 2))
    assert bracket(lmdp, noise, [1.0, 0.0]).high < bracket(lmdp, noise, [1.0, 0.0], work=0).high


def test_a_bracket_is_reproducible_and_reads_the_costs_once() -> None:
    lmdp, costs = swap_game(40)

    def result(seed: int, rows: object) -> tuple[float, float, dict[str, float]]:
        found: Bracket = bracket(lmdp, rows, [1.0, 0.0], seed=seed)
        return found.low, found.high, dict(found.losses)

    assert result(1, costs) == result(1, iter(costs))
    assert result(1, costs)[2]["random 1"] != result(2, costs)[2]["random 1"]
    with pytest.raises(CostError, match="no rounds"):
        bracket(lmdp, [], [1.0, 0.0])
    with pytest.raises(CostError, match="no rounds"):
        lower_bound(lmdp, [], [1.0, 0.0])


# --- all stationary policies at once


def regrets(game: Game, loss: float) -> list[tuple[float, float]]:
    """(regret, mixing sum) against each of the game's policies."""
    paid = fixed_costs(game.lmdp, game.policies, game.costs, game.p1)
    return [
        (loss - other.loss, mixing_sum(Q, game.p1, len(game.costs)))
        for Q, other in zip(game.policies, paid, strict=True)
    ]


@settings(max_examples=30)
@given(games(states=5, rounds=40), st.integers(0, 2**32 - 1))
def test_the_guarantee_holds_against_many_policies(game: Game, seed: int) -> None:
    """With the leader's v, and with any other; the learner is passive, which is as good as any."""
    rng = np.random.default_rng(seed)
    support = game.lmdp.P.toarray() > 0
    more = [by_row(rng.uniform(0.01, 1.0, support.shape) ** power * support) for power in range(1, 15)]
    game = replace(game, policies=[*game.policies, *more])
    seen = CostRange.of(game.costs, game.lmdp.n)
    loss = fixed_cost(game.lmdp, game.lmdp.P, game.costs, game.p1).loss
    values = (solve(game.lmdp, seen.mean).v, rng.uniform(0, 3, game.lmdp.n))
    found = [guarantee(game.lmdp, loss, v, game.p1, seen) for v in values]
    for regret, m in regrets(game, loss):
        assert regret <= min(bound.against(m) for bound in found) + ROUNDING


@settings(max_examples=30)
@given(games(rounds=40), st.integers(0, 2**32 - 1))
def test_what_a_policy_costs_splits_as_in_the_proof(game: Game, seed: int) -> None:
    lmdp, tau, T = game.lmdp, game.lmdp.temperature, len(game.costs)
    v = np.random.default_rng(seed).uniform(0, 3, lmdp.n)
    c_bar = game.costs.mean(axis=0)
    r = residual(lmdp, c_bar, v)
    Q_v = Policy(lmdp, v).matrix().toarray()
    for Q in game.policies:
        laws = [game.p1 @ np.linalg.matrix_power(Q, t) for t in range(T + 1)]
        parts = (laws[0] - laws[T]) @ v
        parts += sum(laws[t] @ (r + game.costs[t] - c_bar + tau * kl(Q, Q_v)) for t in range(T))
        assert fixed_cost(lmdp, Q, game.costs, game.p1).loss == pytest.approx(parts, abs=ROUNDING)


@dataclass(frozen=True)
class Tight:
    """A bound that one term less would break, and the regret and mixing sum of the policy that would break it."""

    bound: Guarantee
    regret: float
    m: float


def tight(lmdp: LMDP, costs: np.ndarray, x: int, Q: np.ndarray, v: np.ndarray) -> Tight:
    """The learner is Q itself, and plays 0 regret against it: only the bound matters."""
    p1 = np.eye(lmdp.n)[x]
    loss = fixed_cost(lmdp, Q, costs, p1).loss
    return Tight(guarantee(lmdp, loss, v, p1, CostRange.of(costs, lmdp.n)), 0.0, mixing_sum(Q, p1, len(costs)))


@pytest.mark.parametrize("T", [1000, 5000, 20_000])
def test_a_policy_in_phase_is_found_in_a_game_of_any_length(T: int) -> None:
    """It pays log(1/0.7) a round and no state cost; with chances that are merely small it would lose its phase."""
    lmdp, costs = swap_game(T)
    found = bracket(lmdp, costs, [1.0, 0.0])
    assert found.high == pytest.approx(-T * math.log(0.7), rel=1e-6)
    np.testing.assert_allclose(found.best_policy.toarray(), SWAP, atol=1e-6)


def test_no_term_of_the_guarantee_can_be_dropped() -> None:
    lmdp, costs = swap_game(1000)
    phase = tight(lmdp, costs, 0, SWAP, np.zeros(2))
    assert phase.regret <= phase.bound.against(phase.m)
    assert phase.regret > replace(phase.bound, phase_span=0.0).against(phase.m)

    slope = np.tile([0.0, 1.0], (1000, 1))  # constant: no phase
    leader = solve(lmdp, slope[0], tol=1e-12)
    start = tight(lmdp, slope, 0, leader.policy.matrix().toarray(), leader.v)
    assert start.bound.phase_span == pytest.approx(0.0, abs=1e-15)
    assert start.regret <= start.bound.against(start.m)
    assert start.regret > replace(start.bound, start=0.0).against(start.m)

    # an inexact v: with an upper bound on the average cost, or its exact value, the right side is no bound any more
    v = leader.v + np.array([0.0, 0.3])
    r, (low, high) = residual(lmdp, slope[0], v), bounds(lmdp, slope[0], v)
    crude = tight(lmdp, slope, int(np.argmin(r)), leader.policy.matrix().toarray(), v)
    assert crude.regret <= crude.bound.against(crude.m)
    assert low < leader.average_cost < high
    assert crude.regret > replace(crude.bound, excess=crude.bound.excess - 1000 * (high - low)).against(crude.m)


def test_the_printed_bounds() -> None:
    bound = Guarantee(excess=2.0, start=0.5, phase_span=1.5)
    assert [bound.against(m) for m in (1, 10, 100)] == [4.0, 17.5, 152.5]
    assert str(bound).endswith("with mixing sum up to m: at most 4 (m = 1), 17.5 (m = 10), 152.5 (m = 100)")
    for m in (-1.0, float("nan")):
        with pytest.raises(SpecError, match="cannot be negative"):
            bound.against(m)


@settings(max_examples=30)
@given(games(rounds=40))
def test_running_extremes_bound_the_span_of_every_round(game: Game) -> None:
    seen = CostRange.of(iter(game.costs), game.lmdp.n)
    assert len(game.costs) == seen.T
    np.testing.assert_allclose(seen.mean, game.costs.mean(axis=0), rtol=1e-14)
    spans = np.ptp(game.costs - seen.mean, axis=1)
    assert spans.max() <= seen.phase_span + 1e-15


def test_the_span_is_exact_where_the_costs_swap() -> None:
    assert CostRange.of(swap_game(10)[1], 2).phase_span == 1.0


def test_the_mean_is_compensated() -> None:
    costs = np.full((20_000, 1), 0.1)
    naive = 0.0
    for c in costs[:, 0]:
        naive += c
    exact, allowed = math.fsum(costs[:, 0]) / 20_000, 2 * np.finfo(float).eps * 0.1
    assert abs(naive / 20_000 - exact) > allowed
    assert abs(CostRange.of(costs, 1).mean[0] - exact) <= allowed
    with pytest.raises(CostError, match="no costs were seen"):
        CostRange.of([], 3).mean  # noqa: B018 - the property raises


@settings(max_examples=20)
@given(games(states=5))
def test_mixing_sums(game: Game) -> None:
    """At most 1/(1 - rho) for a(Q) <= rho; half of all rounds for the swap; only the first round for equal rows."""
    for Q in game.policies:
        rho = dobrushin(LMDP(Q).P).value
        assert rho is not None
        m = mixing_sum(Q, game.p1, 200)
        assert m <= 1 / (1 - rho) + ROUNDING if rho < 1 else m <= 200
    assert mixing_sum(SWAP, [1.0, 0.0], 200) == 100.0
    mu = np.array([0.25, 0.75])
    assert mixing_sum([mu, mu], [1.0, 0.0], 200) == pytest.approx(0.75, rel=1e-12)
    policy = Policy(game.lmdp, np.arange(game.lmdp.n) / 2)
    assert mixing_sum(policy, game.p1, 9) == pytest.approx(mixing_sum(policy.matrix(), game.p1, 9), abs=1e-9)
