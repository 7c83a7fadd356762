"""The regret of a run: named comparators, three terms that add up, and warnings where they are due."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmdp import (
    LMDP,
    DiscountedLeader,
    FollowTheLeader,
    Passive,
    PhasedLeader,
    SpecError,
    TrackTheLeader,
    grid,
    play,
    solve,
)
from lsmdp.regret import mixing_sum

SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def small(seed: int, n: int = 4, temperature: float = 1.0) -> LMDP:
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.6) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    return LMDP(W, temperature=temperature, normalise=True)


def pays(lmdp: LMDP, Q: np.ndarray, costs: np.ndarray, p: np.ndarray) -> float:
    """L_T(Q) by dense algebra."""
    P = lmdp.P.toarray()
    kl = np.where(Q > 0, Q * np.log(np.where(Q > 0, Q, 1) / np.where(P > 0, P, 1)), 0).sum(axis=1)
    total = 0.0
    for c_t in costs:
        total += p @ (c_t + lmdp.temperature * kl)
        p = p @ Q
    return float(total)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=20)
def test_terms_add_up_and_mean_what_they_say(seed: int, temperature: float) -> None:
    lmdp, T = small(seed, temperature=temperature), 50
    costs = np.random.default_rng(seed).uniform(0, 1, (T, 4))
    learners = [FollowTheLeader(), TrackTheLeader(), PhasedLeader(), DiscountedLeader(), Passive()]
    run = play(lmdp, learners, costs, start=1)
    result = run.regret()
    leader = solve(lmdp, costs.mean(axis=0), tol=1e-11)
    expected = pays(lmdp, leader.policy.matrix().toarray(), costs, np.eye(4)[1])
    assert result.leader_cost == pytest.approx(expected, abs=1e-6)  # 50 rounds of a policy within 1e-10 of the leader
    for one in result.learners:
        assert one.leader == pytest.approx(one.tally.loss - expected, abs=1e-6)
        assert one.idealised == pytest.approx(one.tally.ideal_loss - T * leader.average_cost, abs=1e-7)
        assert one.idealised + one.transient + one.comparator == pytest.approx(one.leader, abs=1e-9)
    assert result["ftl"].identity == pytest.approx(result["ftl"].idealised, abs=1e-3)  # gaps of 1e-6 times T^2/2
    assert result["track"].identity is None


def test_a_regret_is_a_mapping_from_names() -> None:
    found = play(small(0), [FollowTheLeader(), Passive()], np.eye(4)).regret()
    assert list(found) == ["ftl", "passive"]
    assert list(found.values()) == found.learners
    assert len(found) == 2
    assert "track" not in found
    with pytest.raises(KeyError, match=r"no learner of this run is called track\. It has: ftl, passive\."):
        found["track"]


def test_follow_the_leader_by_identity_and_by_definition_agree_closely_when_solved_closely() -> None:
    lmdp, costs = grid(4, 4), np.random.default_rng(0).uniform(0, 1, (300, 16))
    one = play(lmdp, FollowTheLeader(tolerance=1e-11), costs).regret()["ftl"]
    assert one.identity == pytest.approx(one.idealised, abs=1e-7)
    assert one.identity > 0.1


def test_the_counterexample() -> None:
    """Every assumption holds and FTL beats its leader, but a policy that always swaps pays 0.357 a round."""
    lmdp = LMDP([[0.3, 0.7], [0.7, 0.3]])
    costs = np.tile(SWAP, (2500, 1))
    run = play(lmdp, FollowTheLeader(), costs, start=0)
    result = run.regret()
    swap = pays(lmdp, np.array([[0.0, 1.0], [1.0, 0.0]]), costs, np.array([1.0, 0.0]))
    assert f"{result['ftl'].tally.loss:.2f}" == "2498.02"
    assert f"{result.leader_cost:.2f}" == "2499.17"
    assert f"{result['ftl'].leader:.2f}" == "-1.14"
    assert f"{swap:.2f}" == "1783.37"
    assert f"{result['ftl'].tally.loss - swap:.2f}" == "714.65"
    # the mixing sum of always swapping is T/2: the guarantee for it is true, and says little
    assert result["ftl"].guarantee[100.0] < 714.65
    assert result["ftl"].guarantee[1.0] + (2500 - 1) * 1.0 >= 714.65


def test_policies_that_mix_are_no_better_bounded_than_those_that_do_not() -> None:
    """Always swap but once in a million: it mixes, and follow the leader regrets it all the same; m is in the bound."""
    lmdp, T, lazy = LMDP([[0.3, 0.7], [0.7, 0.3]]), 5000, 1e-6
    costs, start = np.tile(SWAP, (T // 2, 1)), np.array([1.0, 0.0])
    result = play(lmdp, FollowTheLeader(), costs, start=0).regret()["ftl"]
    nearly = np.array([[lazy, 1.0 - lazy], [1.0 - lazy, lazy]])
    regret = result.tally.loss - pays(lmdp, nearly, costs, start)
    assert f"{regret:.0f}" == "702"
    m = mixing_sum(nearly, start, T)  # it does mix: its law is (1 - 2e-6)^(t-1)/2 away from equilibrium
    assert m == pytest.approx((1.0 - (1.0 - 2.0 * lazy) ** T) / (4.0 * lazy), rel=1e-9)
    assert 2400 < m < T / 2
    bounds = result.guarantee
    phase = (bounds[10.0] - bounds[1.0]) / 9.0
    assert bounds[100.0] < regret <= bounds[1.0] + (m - 1.0) * phase
    # the closer to always swapping, the larger the regret: no bound for all that mix, short of one for swap itself
    closer = np.array([[lazy / 1e3, 1.0 - lazy / 1e3], [1.0 - lazy / 1e3, lazy / 1e3]])
    assert regret + 12.0 < result.tally.loss - pays(lmdp, closer, costs, start) < 714.65


def test_from_the_uniform_law_there_is_nothing_to_be_in_step_with() -> None:
    """The counterexample needs its start: where both states are as likely, who swaps pays half the costs."""
    lmdp, T = LMDP([[0.3, 0.7], [0.7, 0.3]]), 5000
    costs, start = np.tile(SWAP, (T // 2, 1)), np.array([0.5, 0.5])
    loss = play(lmdp, FollowTheLeader(), costs, start=start).learners["ftl"].loss
    swap = pays(lmdp, np.array([[0.0, 1.0], [1.0, 0.0]]), costs, start)
    assert swap == pytest.approx(T * (0.5 - np.log(0.7)), rel=1e-12)
    assert loss - swap < -1700.0


def test_a_bracket_is_given_on_request_with_a_warning_where_costs_are_in_phase() -> None:
    lmdp = LMDP([[0.3, 0.7], [0.7, 0.3]])
    result = play(lmdp, FollowTheLeader(), np.tile(SWAP, (150, 1)), start=0).regret(bracket=True)
    assert result.bracket is not None
    low, high = result["ftl"].best_stationary
    assert f"{result.bracket.low:.1f}" == "79.9"
    assert f"{result.bracket.high:.1f}" == "107.0"
    assert low == pytest.approx(result["ftl"].tally.loss - result.bracket.high)
    assert high == pytest.approx(result["ftl"].tally.loss - result.bracket.low)
    assert any("in phase with something" in note for note in result.notes)
    assert "in phase with something" in str(result)


def test_no_warning_where_the_leader_is_as_good_as_any() -> None:
    costs = np.random.default_rng(0).uniform(0, 1, (60, 4))
    result = play(small(0), FollowTheLeader(), costs).regret(bracket=True)
    assert result.notes == []
    low, high = result["ftl"].best_stationary
    assert low <= high


def test_the_regret_along_the_way_is_against_the_leader_of_that_time() -> None:
    lmdp, costs = small(3), np.random.default_rng(1).uniform(0, 1, (60, 4))
    along = {t: value for t, _, value in play(lmdp, FollowTheLeader(), costs).regret()["ftl"].along}
    assert list(along) == [1, 2, 5, 10, 20, 50]
    shorter = play(lmdp, FollowTheLeader(), costs[:20]).regret()["ftl"]
    assert along[20] == pytest.approx(shorter.leader, abs=1e-9)


def test_sampled_losses_come_with_an_interval() -> None:
    lmdp, costs = small(1), np.random.default_rng(2).uniform(0, 1, (40, 4))
    one = play(lmdp, FollowTheLeader(), costs, sample=2000, seed=3).regret()["ftl"]
    mean, half = one.sampled
    assert abs(mean - one.tally.loss) < 2.5 * half  # five standard errors
    assert 0 < half < 1
    assert play(lmdp, FollowTheLeader(), costs).regret()["ftl"].sampled is None


class Stream:
    """Costs that can be read once only."""

    replayable = False

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(np.random.default_rng(0).uniform(0, 1, (20, 4)))


def test_a_stream_has_no_comparator_on_its_costs() -> None:
    result = play(small(0), FollowTheLeader(), Stream()).regret()
    assert result["ftl"].leader is None
    assert result["ftl"].idealised is not None
    assert "read only once" in result.notes[0]


def test_figures_are_ready_for_json() -> None:
    costs = np.random.default_rng(0).uniform(0, 1, (20, 4))
    figures = json.loads(json.dumps(play(small(0), [FollowTheLeader(), Passive()], costs).regret().to_dict()))
    assert set(figures["learners"]) == {"ftl", "passive"}
    ftl = figures["learners"]["ftl"]
    assert ftl["regret"] == {
        "leader": ftl["regret"]["leader"],
        "best_stationary_low": None,
        "best_stationary_high": None,
        "dynamic": ftl["regret"]["dynamic"],
    }
    assert figures["learners"]["passive"]["max_gap"] is None  # it claims nothing
    assert 0 < ftl["max_gap"] <= 1e-6
    assert "NaN" not in json.dumps(figures)


def test_no_rounds_no_regret() -> None:
    with pytest.raises(SpecError, match="no round was played"):
        play(small(0), Passive(), []).regret()
