"""The game: exact accounting against dense algebra, the identities of the theory, accounts that can be written down."""

from __future__ import annotations

import io
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmdp import (
    LMDP,
    AssumptionError,
    CostError,
    SpecError,
    clusters,
    grid,
    random_graph,
    solve,
)
from lsmdp.game import (
    Game,
    Round,
    Run,
    Tally,
    is_mark,
    play,
    rounds,
    start_law,
)
from lsmdp.learners import (
    BeTheLeader,
    DiscountedLeader,
    FollowTheLeader,
    Learner,
    Passive,
    PhasedLeader,
    TrackTheLeader,
    WindowLeader,
)

EVERYONE: list[Learner] = [
    FollowTheLeader(),
    TrackTheLeader(),
    PhasedLeader(),
    DiscountedLeader(),
    WindowLeader(7),
    Passive(),
    BeTheLeader(),
]


def played_alone(game: Game, c_t: np.ndarray) -> list[Round]:
    """A round as a block of one."""
    return [row for records in game.play(c_t[np.newaxis]) for row in records.rows()]


def uniform(T: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (T, n))


def small(seed: int = 0, n: int = 5, temperature: float = 1.0) -> LMDP:
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.5) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    return LMDP(W, temperature=temperature, normalise=True)


@pytest.mark.parametrize("learner", EVERYONE, ids=lambda learner: learner.name)
@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_a_round_is_what_the_protocol_says(learner: Learner, temperature: float) -> None:
    """Losses and laws by dense matrices, the stationary law by a high power."""
    lmdp, costs = small(temperature=temperature), uniform(25, 5)
    p, state, P = np.eye(5)[2], learner.init(lmdp), lmdp.P.toarray()
    for t, row in enumerate(rounds(lmdp, learner, costs, start=2), start=1):
        c_t = costs[t - 1]
        policy = learner.foresee(lmdp, state, c_t) if isinstance(learner, BeTheLeader) else learner.policy(lmdp, state)
        Q = policy.matrix().toarray()
        kl = np.where(Q > 0, Q * np.log(np.where(Q > 0, Q, 1) / np.where(P > 0, P, 1)), 0).sum(axis=1)
        mu = np.linalg.matrix_power(Q, 4096)[0]
        assert row.round == t
        assert row.learner == learner.name
        assert row.state_cost == pytest.approx(p @ c_t, abs=1e-12)
        assert row.control_cost == pytest.approx(temperature * p @ kl, abs=1e-12)
        assert row.loss == row.state_cost + row.control_cost
        assert row.ideal_loss == pytest.approx(mu @ (c_t + temperature * kl), abs=1e-10)
        p = p @ Q
        state = learner.observe(lmdp, state, c_t)
        Q_next = learner.policy(lmdp, state).matrix().toarray()
        divergence = np.where(Q > 0, Q * np.log(np.where(Q > 0, Q, 1) / np.where(Q > 0, Q_next, 1)), 0).sum(axis=1)
        assert row.ideal_step == pytest.approx(t * temperature * mu @ divergence, abs=1e-9)
        assert row.policy_change == pytest.approx(np.abs(Q - Q_next).sum(axis=1).max(), abs=1e-10)
    assert t == 25


def test_the_counterexample_of_alternating_costs() -> None:
    """The costs alternate in phase with a chain that swaps: FTL pays 1/2 a round, always swapping -log 0.7 = 0.357."""
    lmdp = LMDP([[0.3, 0.7], [0.7, 0.3]])
    costs = np.tile([[0.0, 1.0], [1.0, 0.0]], (2500, 1))
    ftl = play(lmdp, FollowTheLeader(), costs, start=0).learners["ftl"]
    assert f"{ftl.loss:.2f}" == "2498.02"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_the_ftl_identity(seed: int) -> None:
    """sum_t t mu_t.KL(Q_t || Q_{t+1}) is the idealised regret: sum_t f(pi_t; c_t) - T lambda_{T+1}."""
    rng = np.random.default_rng(seed)
    lmdp, T = small(seed, temperature=rng.choice([0.5, 1.0, 2.0])), 60
    costs = uniform(T, 5, seed)
    run = play(lmdp, FollowTheLeader(tolerance=1e-11), costs)
    tally = run.learners["ftl"]
    definition = tally.ideal_loss - T * solve(lmdp, costs.mean(axis=0), tol=1e-12).average_cost
    # a gap of 1e-11 a round moves v by L gap and a term of the sum by t span(e) span(v_t - v_{t+1}) = O(L^2 gap)
    assert tally.ideal_regret == pytest.approx(definition, abs=60 * 1e-11 * 100)
    assert tally.ideal_regret >= 0


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_be_the_leader_beats_every_fixed_measure(seed: int) -> None:
    """lem:btl: sum_t f(pi_{t+1}; c_t) <= T lambda_{T+1}."""
    lmdp, costs = small(seed), uniform(40, 5, seed)
    tally = play(lmdp, BeTheLeader(tolerance=1e-10), costs).learners["btl"]
    assert tally.ideal_loss <= 40 * solve(lmdp, costs.mean(axis=0), tol=1e-12).average_cost + 1e-7


def test_side_by_side_is_the_same_as_alone() -> None:
    lmdp, costs = small(), uniform(40, 5)
    together = play(lmdp, EVERYONE, costs, start=1).learners
    for learner in EVERYONE:
        alone = play(lmdp, learner, costs, start=1).learners[learner.name]
        assert repr(together[learner.name]._replace(seconds=0.0)) == repr(alone._replace(seconds=0.0))  # nan too


def test_sampled_trajectories_agree_with_the_exact_law() -> None:
    """10,000 walkers; five standard errors of the mean of 30 losses that lie in [0, 1 + B]."""
    lmdp, costs = small(), uniform(30, 5)
    run = play(lmdp, [FollowTheLeader(), Passive()], costs, start=3, sample=10_000, seed=1)
    for tally in run.learners.values():
        assert tally.sampled_loss == pytest.approx(tally.loss, abs=5 * 30 * 0.5 / np.sqrt(10_000))
        assert tally.sampled_loss != tally.loss
    law = np.bincount(run.game.players[0].accounts.walkers, minlength=5) / 10_000
    np.testing.assert_allclose(law, run.game.players[0].law, rtol=0, atol=5 * 0.5 / 100)
    again = play(lmdp, [FollowTheLeader(), Passive()], costs, start=3, sample=10_000, seed=1)
    np.testing.assert_array_equal(again.game.players[0].accounts.walkers, run.game.players[0].accounts.walkers)


def stored(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("stop", [0, 1, 17, 33])
def test_a_game_written_down_plays_on_to_the_same_bits(stop: int) -> None:
    lmdp, costs = small(), uniform(40, 5)

    def fresh() -> Game:
        return Game.begin(lmdp, EVERYONE, start=1, sample=20, seed=5)

    whole = fresh()
    rows = [played_alone(whole, c_t) for c_t in costs]
    first = fresh()
    if stop:
        first.play(costs[:stop])
    second = fresh()
    second.restore(stored(first.to_arrays()))
    later = [played_alone(second, c_t) for c_t in costs[stop:]]
    forget = [[row._replace(seconds=0.0) for row in one] for one in rows[stop:]]
    assert repr([[row._replace(seconds=0.0) for row in one] for one in later]) == repr(forget)  # nan too
    for name, array in whole.to_arrays().items():
        other = second.to_arrays()[name]
        if "tallies" in name:  # the last column is seconds
            array, other = array[..., :-1], other[..., :-1]
        np.testing.assert_array_equal(array, other, err_msg=name)


def test_marks_are_kept_along_the_way() -> None:
    assert [t for t in range(1, 501) if is_mark(t)] == [1, 2, 5, 10, 20, 50, 100, 200, 500]
    costs = uniform(23, 5)
    run = play(small(), FollowTheLeader(), costs)
    assert [mark[0] for mark in run.game.marks] == [1, 2, 5, 10, 20]
    np.testing.assert_allclose(run.game.marks[3][1], costs[:10].mean(axis=0), rtol=1e-14)
    ten = play(small(), FollowTheLeader(), costs[:10]).learners["ftl"]
    assert run.game.marks[3][2][0]._replace(seconds=0.0, sampled_loss=0.0) == ten._replace(
        seconds=0.0, sampled_loss=0.0
    )


def test_memory_does_not_grow_with_the_rounds() -> None:
    lmdp = small()
    game = Game.begin(lmdp, [FollowTheLeader(), TrackTheLeader()])

    def size() -> int:
        return sum(array.nbytes for name, array in game.to_arrays().items() if not name.startswith("marks"))

    game.play(uniform(10, 5))
    before = size()
    game.play(uniform(300, 5))
    assert size() == before
    assert len(game.marks) == 8  # 1, 2, 5, ..., 200


def test_rounds_is_lazy() -> None:
    def endless() -> object:
        while True:
            yield np.array([0.1, 0.9])

    lmdp = LMDP([[0.3, 0.7], [0.7, 0.3]])
    records = list(islice(rounds(lmdp, TrackTheLeader(), endless()), 5))
    assert [record.round for record in records] == [1, 2, 3, 4, 5]
    assert all(isinstance(record, Round) for record in records)


def test_the_idealised_loss_is_left_out_where_it_would_cost_too_much() -> None:
    lmdp = random_graph(30_000, 3)
    assert not lmdp.law_is_cheap
    row = next(rounds(lmdp, TrackTheLeader(), uniform(1, lmdp.n)))
    assert np.isnan(row.ideal_loss)
    assert np.isfinite(row.loss)
    assert grid(200, 200).law_is_cheap  # reversible: the law of any policy is known in closed form
    assert clusters(2, 20, 1e-3).law_is_cheap


def test_starts() -> None:
    lmdp = LMDP([[0.5, 0.5], [0.5, 0.5]], labels=["here", "there"])
    np.testing.assert_array_equal(start_law(lmdp, None), [1, 0])
    np.testing.assert_array_equal(start_law(lmdp, 1), [0, 1])
    np.testing.assert_array_equal(start_law(lmdp, "there"), [0, 1])
    np.testing.assert_array_equal(start_law(lmdp, np.array([0.25, 0.75])), [0.25, 0.75])
    with pytest.raises(SpecError, match='there is no state "nowhere"'):
        start_law(lmdp, "nowhere")
    with pytest.raises(SpecError, match='there is no state "2"'):
        start_law(lmdp, 2)
    with pytest.raises(CostError, match=r"sums to 0\.5"):
        start_law(lmdp, np.array([0.25, 0.25]))


def test_starts_where_labels_are_numbers() -> None:
    lmdp = LMDP([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]], labels=["1", "2", "4"])
    for start, law in ((None, [1, 0, 0]), (0, [1, 0, 0]), ("0", [1, 0, 0]), ("1", [1, 0, 0]), ("2", [0, 1, 0])):
        np.testing.assert_array_equal(start_law(lmdp, start), law)
    np.testing.assert_array_equal(start_law(lmdp, 4), [0, 0, 1])
    with pytest.raises(SpecError, match=r'there is no state "3"\. The labels of this model are numbers'):
        start_law(lmdp, "3")


def test_the_table_is_checked() -> None:
    with pytest.raises(SpecError, match="'ftl' was named twice"):
        Game.begin(small(), [FollowTheLeader(), FollowTheLeader()])
    with pytest.raises(AssumptionError, match="not irreducible"):
        play(LMDP([[1.0, 0.0], [0.5, 0.5]]), Passive(), uniform(3, 2))


def test_a_cost_that_cannot_be_used_leaves_the_game_as_it_was() -> None:
    game = Game.begin(small(), [FollowTheLeader(), Passive()])
    game.play(np.full((1, 5), 0.5))
    before = game.to_arrays()
    for bad, message in ((np.ones(4), "has 4 values, but the model has 5 states"), (np.full(5, np.nan), "is nan")):
        with pytest.raises(CostError, match=message):
            game.play(bad[np.newaxis])
    for name, array in game.to_arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    with pytest.raises(CostError, match="has 4 values"):
        list(rounds(small(), Passive(), [np.ones(4)]))


def test_who_claims_no_certificate_has_no_widest_one() -> None:
    tallies = play(small(), [FollowTheLeader(), TrackTheLeader(), Passive()], uniform(20, 5)).learners
    assert np.isnan(tallies["passive"].max_gap)
    assert tallies["ftl"].max_gap <= 1e-6 < tallies["track"].max_gap


def test_one_state() -> None:
    run: Run = play(LMDP([[1.0]]), EVERYONE, np.full((10, 1), 0.25))
    for tally in run.learners.values():
        assert tally.loss == pytest.approx(2.5)
        assert tally.control_cost == 0.0
        assert isinstance(tally, Tally)
    assert run.rounds == 10


def test_nearly_equal_policies_have_an_accurate_divergence() -> None:
    """KL of order 1e-20 would drown in rounding if it were a difference of means and logarithms."""
    lmdp, v = small(), np.random.default_rng(1).uniform(0, 3, 5)
    other = v + 1e-10 * np.random.default_rng(2).normal(size=5)
    nudge = other - v
    kl, change = lmdp.moves.divergence(lmdp.moves.flow(v), lmdp.moves.flow(other))
    Q = lmdp.P.toarray() * np.exp(-v)
    Q /= Q.sum(axis=1, keepdims=True)
    variance = Q @ nudge**2 - (Q @ nudge) ** 2
    # the loop knows log(t/s) to 1e-16, that is the nudge to 1e-6, and its deviation from the mean a little worse
    np.testing.assert_allclose(kl, variance / 2, rtol=1e-3)
    np.testing.assert_allclose(change, np.abs(Q * (nudge - (Q @ nudge)[:, None])).sum(axis=1).max(), rtol=1e-4)
