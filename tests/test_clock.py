"""Clock: the plan of a day, against the model that has the time of day in its state."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import lsmdp
from lsmdp import LMDP, Clock, FollowTheLeader, Periodic, SpecError, grid, ring, solve
from lsmdp.checks import check_learner
from lsmdp.cli import app
from lsmdp.game import Game
from lsmdp.learners import learner_by_name

D, N = 6, 8
LMDP_ = lsmdp.random_graph(N, 3, seed=3)


def daily(rounds: int, period: int = D, n: int = N, noise: float = 0.3, seed: int = 0) -> np.ndarray:
    """A day that comes again, and noise."""
    rng = np.random.default_rng(seed)
    day = rng.uniform(0, 1, (period, n))
    slots = day[np.arange(rounds) % period]
    return np.asarray((1 - noise) * slots + noise * rng.uniform(0, 1, (rounds, n)))


def with_clock(lmdp: LMDP, period: int) -> LMDP:
    """The state slot * n + x: the time of day is a part of it."""
    tick = np.roll(np.eye(period), 1, axis=1)
    return LMDP(sparse.kron(sparse.csr_array(tick), lmdp.P), temperature=lmdp.temperature)


def after(learner: Clock, costs: np.ndarray, lmdp: LMDP = LMDP_) -> lsmdp.learners.State:
    return learner.observe_block(lmdp, learner.init(lmdp), costs).state


@pytest.mark.parametrize("learner", [Clock(1), Clock(5, 0.2)])  # another one is among the named learners
def test_it_keeps_the_rules_of_the_game(learner: Clock) -> None:
    check_learner(learner)


@pytest.mark.parametrize("rounds", [D, D + 2, 5 * D, 5 * D + 3])
def test_it_plays_the_optimum_of_the_model_with_a_clock(rounds: int) -> None:
    """The means of the slots, solved for on D n states, have the same policy in the slot of the coming round.

    What is played is D Bellman updates a day old, so the days are let come again without noise until nothing moves.
    """
    costs = daily(rounds)
    means = np.stack([costs[k::D].mean(axis=0) for k in range(D)])
    learner = Clock(D, tolerance=1e-12)
    state = after(learner, costs)
    np.testing.assert_allclose(state.forecasts, means, rtol=0, atol=1e-14)
    product, slot = with_clock(LMDP_, D), rounds % D
    leader = solve(product, means.ravel(), solver=lsmdp.Direct(), tol=1e-9)
    values = leader.v.reshape(D, N)[(slot + 1) % D]
    found = learner.policy(LMDP_, state).v
    np.testing.assert_allclose(found - found.min(), values - values.min(), rtol=0, atol=1e-2)
    lo, hi = learner.bounds(LMDP_, state)
    assert lo <= leader.bounds[1]
    assert leader.bounds[0] <= hi
    assert hi - lo < 1e-2


def test_without_noise_it_ends_at_the_plan_of_the_day() -> None:
    costs = daily(40 * D, noise=0.0)
    learner, truth = Clock(D, tolerance=1e-10), solve(LMDP_, costs[:D], Periodic(), tol=1e-11)
    state = after(learner, costs)
    for k in range(D):
        mine, theirs = learner.policy(LMDP_, state), truth.policy(k + 1)
        np.testing.assert_allclose(mine.matrix().toarray(), theirs.matrix().toarray(), rtol=0, atol=1e-8)
        state = learner.observe(LMDP_, state, costs[k])
    assert state.lo <= truth.bounds[1]
    assert truth.bounds[0] <= state.hi
    assert state.hi - state.lo < 1e-9


def test_the_default_tolerance_costs_next_to_nothing_and_saves_passes() -> None:
    """An error of v with the span s costs at most s^2/(8 T) a round: about 1e-6 where a day mixes."""
    costs = daily(200 * D)
    run = lsmdp.play(LMDP_, [Clock(D)], costs)
    fine = lsmdp.play(LMDP_, [Clock(D, tolerance=1e-9)], costs)
    ours, exact = run.learners["clock:6"], fine.learners["clock:6"]
    assert abs(ours.loss - exact.loss) < 1e-5 * len(costs)
    assert ours.steps < 0.7 * exact.steps


def test_it_earns_what_a_leader_without_a_clock_cannot() -> None:
    costs = daily(100 * D)
    run = lsmdp.play(LMDP_, [Clock(D), FollowTheLeader(), Clock(D, 0.1), Clock(D + 1)], costs)
    best = solve(LMDP_, np.stack([costs[k::D].mean(axis=0) for k in range(D)]), Periodic()).average_cost * len(costs)
    loss = {name: tally.loss for name, tally in run.learners.items()}
    assert best - 1.0 < loss["clock:6"] < best + 4.0  # the price of learning is of the order of log(rounds/D)
    assert loss["clock:6"] < loss["clock:6:0.1"] < loss["clock:6"] + 3.0  # nothing changes, so forgetting costs a bit
    assert loss["clock:6"] < loss["ftl"] - 5.0
    assert loss["clock:7"] < loss["ftl"] + 10.0  # the wrong period averages the day away, and costs more learning


def test_a_day_that_changes_is_followed_by_discounted_means() -> None:
    first, second = daily(60 * D, noise=0.1, seed=1), daily(60 * D, noise=0.1, seed=2)
    run = lsmdp.play(LMDP_, [Clock(D), Clock(D, 0.5)], np.concatenate([first, second]))
    assert run.learners["clock:6:0.5"].loss < run.learners["clock:6"].loss - 2.0


def test_a_discounted_forecast_is_a_mean_until_it_begins_to_forget() -> None:
    costs, learner = daily(5 * D), Clock(D, 0.5)
    weight, slot = 1 / 3, costs[2::D]
    expected = (slot[0] + slot[1] + slot[2]) / 3
    for c_t in slot[3:]:
        expected = (1 - weight) * expected + weight * c_t
    np.testing.assert_allclose(after(learner, costs).forecasts[2], expected, rtol=0, atol=1e-15)


def test_games_do_not_depend_on_how_they_are_cut_or_on_where_they_are_stopped() -> None:
    costs, learner = daily(40), [Clock(D), Clock(D, 0.2)]
    whole = Game.begin(LMDP_, learner)
    whole.play(costs)
    for cut in (1, 4, 5, 6, 7, 25):
        first = Game.begin(LMDP_, learner)
        first.play(costs[:cut])
        later = Game.begin(LMDP_, learner)
        later.restore(first.to_arrays())
        later.play(costs[cut:])
        for name, array in whole.to_arrays().items():
            if "tallies" not in name:  # they hold seconds
                np.testing.assert_array_equal(later.to_arrays()[name], array, err_msg=name)


def test_a_larger_model_with_edge_costs_and_a_low_temperature() -> None:
    lmdp = LMDP(grid(25, 20).P, temperature=0.05)
    run = lsmdp.play(lmdp, [Clock(3), lsmdp.Passive()], daily(30, 3, 500))
    assert run.learners["clock:3"].loss < run.learners["passive"].loss
    assert 0.0 < run.learners["clock:3"].max_gap < 1.0
    moved, extra = ring(9).with_edge_costs(np.triu(np.full((9, 9), 0.5)))
    state = after(Clock(2), daily(30, 2, 9) + extra, moved)
    assert state.lo < solve(moved, state.forecasts, Periodic()).average_cost < state.hi


def test_the_water_heaters_need_no_clock_in_their_state() -> None:
    """On 84 states the learner pays what one Bellman update a round pays on 12,096."""
    from cases.heaters import SLOTS, STATES, ClockCosts, heater, play, power, signal
    from cases.heaters import with_clock as product

    plain, price = heater(), signal(3)
    mu = lsmdp.Policy(plain, np.zeros(STATES)).stationary()
    costs = price[:, np.newaxis] * power()
    tally = lsmdp.play(plain, [Clock(SLOTS)], costs, start=mu).learners["clock:144"]
    morning = np.concatenate([mu, np.zeros((SLOTS - 1) * STATES)])
    month = play(product(plain), lsmdp.TrackTheLeader(), ClockCosts(price), morning)
    assert tally.loss == pytest.approx(month.bill(price) + month.control, abs=0.3)
    assert tally.loss < price.mean() * SLOTS * 3 / 7 - 0.5  # which the heaters pay if left alone, up to a start


@pytest.mark.parametrize("period", [0, -3, 2.5, True, "24", None])
def test_a_period_is_a_whole_number_from_1_on(period: object) -> None:
    with pytest.raises(SpecError, match=r"whole number from 1 on, not .* Hours of a day: Clock\(24\)"):
        Clock(period)  # type: ignore[arg-type]


@pytest.mark.parametrize(("eta", "tolerance"), [(-0.1, 1e-3), (float("nan"), 1e-3), (float("inf"), 1e-3), (0.1, 0.0)])
def test_eta_and_tolerance_are_in_range(eta: float, tolerance: float) -> None:
    with pytest.raises(SpecError, match="Clock takes eta >= 0 and tolerance > 0"):
        Clock(24, eta, tolerance)


def test_names() -> None:
    assert learner_by_name("clock") == Clock(24)
    assert learner_by_name("clock:7") == Clock(np.int64(7))  # type: ignore[arg-type]
    assert learner_by_name("clock:7:0.25") == Clock(7, 0.25)
    assert [Clock(7).name, Clock(7, 0.25).name] == ["clock:7", "clock:7:0.25"]


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("clock:0", "whole number from 1 on, not 0"),
        ("clock:-2", "whole number from 1 on, not -2"),
        ("clock:2.5", 'is not an option of the kind that "clock" takes'),
        ("clock:day", 'is not an option of the kind that "clock" takes'),
        ("clock:24:", 'is not an option of the kind that "clock" takes'),
        ("clock:24:soon", 'is not an option of the kind that "clock" takes'),
        ("clock:24:-1", "takes eta >= 0"),
        ("clok:24", 'Did you mean "clock"?'),
    ],
)
def test_what_the_command_line_cannot_use_is_a_sentence(word: str, sentence: str, tmp_path: Path) -> None:
    given = ["play", "ring:5", "--costs", "iid", "--rounds", "10", "--out", str(tmp_path / "run"), "--learner", word]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_the_command_line_plays_it(tmp_path: Path) -> None:
    named = ["--learner", "clock:12", "--learner", "clock:12:0.1"]
    game = ["play", "ring:5", "--costs", "periodic", *named, "--rounds", "80", "--json", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, game)
    assert result.exit_code == 0, result.stderr
    assert list(json.loads(result.stdout)["learners"]) == ["clock:12", "clock:12:0.1"]
