"""Pools of learners, against twenty lines of dense NumPy; what they promise, and what they refuse."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import lsmdp
from lsmdp.game import Game
from lsmdp.learners import (
    NAMES,
    FollowTheLeader,
    Passive,
    Pool,
    SeekTheClock,
    TrackTheDiscounted,
    TrackTheLeader,
    WindowLeader,
    learner_by_name,
)
from lsmdp.learners.pool import SHARE_HANDED_OUT
from lsmdp.learners.seek import autocorrelation, marks_of, next_look, proposed

Floats = npt.NDArray[np.float64]

MODELS = {
    "ring": lambda: lsmdp.ring(5),
    "cold": lambda: lsmdp.LMDP(lsmdp.ring(6).P, temperature=0.3),
    "steep": lambda: lsmdp.LMDP(lsmdp.ring(5).P, temperature=0.004),  # values span more than one scale
    "one way": lambda: lsmdp.LMDP(0.5 * np.eye(80) + 0.5 * np.roll(np.eye(80), 1, axis=1)),  # P is not written out
}


def policy_matrix(lmdp: lsmdp.LMDP, v: Floats) -> Floats:
    """Q_v, each row scaled by itself."""
    P = lmdp.P.toarray()
    least = np.where(P > 0.0, v, np.inf).min(axis=1, keepdims=True)
    Q = P * np.exp(-np.maximum(v - least, 0.0) / lmdp.temperature)
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def divergence(Q: Floats, P: Floats) -> Floats:
    some = Q > 0.0
    return np.asarray(np.where(some, Q * np.log(np.where(some, Q, 1.0) / np.where(some, P, 1.0)), 0.0).sum(axis=1))


def straight(lmdp: lsmdp.LMDP, experts: Sequence[Any], costs: Floats, *, plain: bool) -> dict[str, Any]:
    """A pool, by its definition: what it pays, the two sums of the theorem, and the losses of its experts."""
    P, E, T = lmdp.P.toarray(), len(experts), lmdp.temperature
    start = np.eye(lmdp.n)[0]
    states, laws, law, w = [one.init(lmdp) for one in experts], [start] * E, start, np.full(E, 1.0 / E)
    losses, gap, widest, loss, mixed, behind = np.zeros(E), 0.0, 0.0, 0.0, 0.0, 0.0
    for t, c in enumerate(costs, start=1):
        Qs = [policy_matrix(lmdp, one.policy(lmdp, state).v) for one, state in zip(experts, states, strict=True)]
        m = sum(w[i] * laws[i] for i in range(E))
        flow = sum((w[i] * laws[i])[:, None] * Qs[i] for i in range(E))
        Q = np.where(m[:, None] > 1e-290, flow / np.where(m > 1e-290, m, 1.0)[:, None], P)
        g = c + T * divergence(Q, P)
        paid = np.array([p @ (c + T * divergence(own, P)) for p, own in zip(laws, Qs, strict=True)])
        loss, mixed, behind, losses = loss + law @ g, mixed + w @ paid, behind + (law - m) @ g, losses + paid
        laws, law, widest = [p @ own for p, own in zip(laws, Qs, strict=True)], law @ Q, max(widest, np.ptp(paid))
        states = [one.observe(lmdp, state, c) for one, state in zip(experts, states, strict=True)]
        if plain:
            w = np.exp(-np.sqrt(8 * np.log(E) / (t + 1)) / (widest or 1.0) * (losses - losses.min()))
        else:
            apart, rate = paid - paid.min(), np.log(E) / gap if gap > 0.0 else np.inf
            new = w * np.exp(-np.where(apart > 0.0, rate * np.where(apart > 0.0, apart, 1.0), 0.0))
            gap += max(w @ paid - paid.min() + (np.log(new.sum()) / rate if gap > 0.0 else 0.0), 0.0)
            w = (1.0 - SHARE_HANDED_OUT) * new / new.sum() + SHARE_HANDED_OUT / E
        w = w / w.sum()
    return {"loss": loss, "mixed": mixed, "behind": behind, "losses": losses, "weights": w}


def experts_of(kind: str) -> list[Any]:
    if kind == "trackers":
        return [Passive(), TrackTheLeader(), TrackTheDiscounted(1.0), TrackTheDiscounted(0.25)]
    return [FollowTheLeader(), WindowLeader(3), Passive(), lsmdp.Clock(4)]


@pytest.mark.parametrize("plain", [False, True], ids=["swift", "plain"])
@pytest.mark.parametrize("kind", ["trackers", "others"])
@pytest.mark.parametrize("model", MODELS)
def test_a_pool_by_its_definition(model: str, kind: str, plain: bool) -> None:
    lmdp, rng = MODELS[model](), np.random.default_rng(3)
    costs = rng.random((40, lmdp.n)) * np.where(np.arange(40) < 20, 1.0, 0.2)[:, None]
    run = lsmdp.play(lmdp, Pool(experts_of(kind), swift=not plain, called="pool"), costs)
    found, known = run.regret()["pool"].experts, straight(lmdp, experts_of(kind), costs, plain=plain)
    assert found is not None
    # leaders are known to their gaps; with a rate of 1/gap what rounding does to a loss is seen in the weights
    off = 1e-9 if kind == "trackers" else 1e-5
    assert found.loss == pytest.approx(known["loss"], abs=off)
    assert found.mixed == pytest.approx(known["mixed"], abs=off)
    assert found.behind == pytest.approx(known["behind"], abs=off)
    np.testing.assert_allclose(list(found.losses.values()), known["losses"], rtol=0, atol=off)
    np.testing.assert_allclose(list(found.weights.values()), known["weights"], rtol=0, atol=100 * off)


@pytest.mark.parametrize("seed", range(6))
def test_the_theorem_on_random_games(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.roll(np.eye(n), 1, axis=1) + 0.1 * np.eye(n)
    lmdp = lsmdp.LMDP(W, normalise=True, temperature=float(10.0 ** rng.uniform(-1, 0.5)))
    costs = rng.random((60, n)) if seed % 2 else np.round(rng.random((60, n)))
    run = lsmdp.play(lmdp, [Pool(), Pool(swift=True), Pool(clocks=[2, 3])], costs)
    for one in run.regret().learners:
        assert one.experts is not None
        assert one.tally.loss <= one.experts.bound + 1e-10
        assert one.experts.bound == pytest.approx(one.experts.mixed + one.experts.behind)
        r, E = 2.0 * costs.max() + lmdp.temperature * 20, len(one.experts.losses)
        if one.name != "pool:swift":
            assert one.experts.mixed - min(one.experts.losses.values()) <= r * (1.77 * np.sqrt(60 * np.log(E)) + 2)


@pytest.mark.parametrize("model", MODELS)
def test_an_expert_pays_what_it_pays_alone(model: str) -> None:
    """The laws and losses that a pool keeps are those of games in which the experts play alone."""
    lmdp = MODELS[model]()
    costs = np.random.default_rng(1).random((50, lmdp.n))
    learners = [FollowTheLeader(), lsmdp.Clock(5), TrackTheDiscounted(0.5), TrackTheLeader(), Passive()]
    run = lsmdp.play(lmdp, [*learners, Pool(learners)], costs, start=1)
    losses = run.regret()["pool"].experts.losses  # type: ignore[union-attr]
    laws = run.game.players[-1].state.laws
    for k, learner in enumerate(learners):
        assert losses[learner.name] == pytest.approx(run.learners[learner.name].loss, abs=1e-10)
        np.testing.assert_allclose(laws[k], run.game.players[k].law, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_one_expert_is_played_as_it_is(model: str) -> None:
    """Constant weights: p = m. With one expert, the mixture is its policy."""
    lmdp = MODELS[model]()
    costs = np.random.default_rng(2).random((30, lmdp.n))
    run = lsmdp.play(lmdp, [TrackTheLeader(), Pool([TrackTheLeader()])], costs)
    experts = run.regret()["pool"].experts
    assert experts is not None
    assert run.learners["pool"].loss == pytest.approx(run.learners["track"].loss, abs=1e-10)
    assert abs(experts.behind) < 1e-10
    np.testing.assert_allclose(run.game.players[1].law, run.game.players[0].law, rtol=0, atol=1e-12)


def test_a_block_of_mixtures_takes_little_memory() -> None:
    """On 128 states that all lead to each other, 250 rounds have 33 MB of weights."""
    lmdp = lsmdp.LMDP(np.random.default_rng(3).uniform(0.5, 1, (128, 128)), normalise=True)
    costs = np.random.default_rng(4).uniform(0, 1, (250, 128))
    lsmdp.play(lmdp, lsmdp.Pool(), costs[:2])  # what is kept with the model
    tracemalloc.start()
    lsmdp.play(lmdp, lsmdp.Pool(), costs)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6


def test_constant_weights_leave_nothing_behind() -> None:
    """Two experts that pay the same in every round keep their weights, and the pool pays no more than they do."""
    lmdp = lsmdp.LMDP([[0.5, 0.5], [0.5, 0.5]])

    class Sided:
        def __init__(self, name: str, v: list[float]) -> None:
            self.name, self.v = name, v

        def init(self, lmdp: lsmdp.LMDP) -> int:
            return 0

        def policy(self, lmdp: lsmdp.LMDP, state: int) -> lsmdp.Policy:
            return lsmdp.Policy(lmdp, self.v)

        def observe(self, lmdp: lsmdp.LMDP, state: int, c_t: Floats) -> int:
            return state + 1

    both = [Sided("left", [0.0, 1.0]), Sided("right", [1.0, 0.0])]
    run = lsmdp.play(lmdp, Pool(both), np.full((30, 2), 0.5), start=np.array([0.5, 0.5]))
    experts, player = run.regret()["pool"].experts, run.game.players[0]
    assert experts is not None
    np.testing.assert_allclose(player.state.weights, 0.5, atol=1e-12)
    np.testing.assert_allclose(player.law, player.state.laws.mean(axis=0), atol=1e-12)
    assert abs(experts.behind) < 1e-12
    assert experts.losses["left"] == pytest.approx(experts.losses["right"])
    assert run.learners["pool"].loss < experts.losses["left"] - 1.0  # a mixture costs less than what is mixed


@pytest.mark.parametrize(
    "learner",
    [  # test_learners.py has the one without options
        Pool(swift=True),
        Pool(clocks=[3]),
        Pool(auto=True),
        Pool([FollowTheLeader(), WindowLeader(2)], called="mine"),
    ],
    ids=lambda learner: learner.name,
)
def test_the_rules(learner: Pool) -> None:
    lsmdp.check_learner(learner)


@pytest.mark.parametrize("learner", [TrackTheDiscounted(1.0), TrackTheDiscounted(0.1), SeekTheClock()])
def test_the_rules_for_its_experts(learner: Any) -> None:
    lsmdp.check_learner(learner)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["pool", "pool:auto", "pool:3"])
def test_bits_do_not_depend_on_the_cuts(model: str, name: str) -> None:
    lmdp = MODELS[model]()
    costs = np.random.default_rng(5).random((40, lmdp.n))
    losses = []
    for size in (40, 1, 13):
        game = Game.begin(lmdp, learner_by_name(name), sample=3, seed=1)
        for first in range(0, 40, size):
            game.play(costs[first : first + size])
        losses.append((game.tallies[0]._replace(seconds=0.0), game.players[0].law.tobytes()))
    assert repr(losses[0]) == repr(losses[1]) == repr(losses[2])


def test_an_equal_mixture_is_not_taken_for_the_same_crowd() -> None:
    """Trackers that have seen costs that are the same everywhere play P again, but have learned of the mean."""
    lmdp, costs = lsmdp.ring(5), np.ones((30, 5))
    costs[20:] = np.random.default_rng(0).random((10, 5))
    games = [Game.begin(lmdp, Pool()) for _ in range(2)]
    games[0].play(costs)
    for c_t in costs:
        games[1].play(c_t[np.newaxis])
    one, other = (game.players[0].learner.pack(game.players[0].state) for game in games)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_where_it_starts_is_known() -> None:
    """On a chain that goes to and fro, experts that began in the wrong place would never meet the pool."""
    lmdp = lsmdp.LMDP([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    costs = np.tile([1.0, 0.5, 0.0], (40, 1))
    for start in (0, 1, 2):
        run = lsmdp.play(lmdp, Pool(), costs, start=start)
        assert abs(run.regret()["pool"].experts.behind) < 0.5  # type: ignore[union-attr]
        assert run.learners["pool"].loss < lsmdp.play(lmdp, Passive(), costs, start=start).learners["passive"].loss


def test_swap_with_a_clock() -> None:
    """The counterexample of thm:main: with a clock of 2 the pool is within 2 of the plan in hindsight."""
    lmdp = lsmdp.LMDP([[0.3, 0.7], [0.7, 0.3]])
    costs = lsmdp.read_costs("swap", lmdp, rounds=1000)
    regret = lsmdp.play(lmdp, [Pool(clocks=[2]), Pool(auto=True), FollowTheLeader()], costs).regret()
    assert regret["pool:2"].dynamic < 2.0  # type: ignore[operator]
    assert regret["pool:auto"].dynamic < 8.0  # type: ignore[operator]
    assert regret["ftl"].dynamic > 200.0  # type: ignore[operator]


def test_a_period_is_found() -> None:
    rng = np.random.default_rng(0)
    wave = np.sin(2 * np.pi * (np.arange(256)[:, None] / 24 + rng.random(5)))
    assert proposed(wave + rng.standard_normal((256, 5)), 1) == 24
    assert proposed(wave, 24) == 24
    for other in (rng.random((256, 5)), np.cumsum(rng.standard_normal((256, 1)), axis=0), np.ones((256, 5))):
        assert proposed(other, 1) == 1 or marks_of(autocorrelation(other)).max() > 7 / 16
    assert proposed(np.ones((256, 5)), 7) == 7


@pytest.mark.parametrize("period", [2, 3, 24, 50, 100, 128, 150, 168, 200, 256, 300, 365, 400, 511])
def test_a_period_that_is_exact_is_found_exactly(period: int) -> None:
    """Also where costs are so smooth that its neighbours are nearly as good, and whatever was found before it."""
    rng = np.random.default_rng(period)
    day = np.sin(2 * np.pi * (np.arange(period)[:, None] / period + rng.random(5)))
    costs, found = np.tile(day, (2100 // period + 1, 1)), [1]
    for t in sorted({next_look(t, 1024) for t in range(1, 2049)}):
        found.append(proposed(costs[max(t - 1024, 0) : t], found[-1]))
    assert found[-1] == period
    assert len(set(found)) <= 3  # it does not try one after the other


def test_the_autocorrelation_is_its_definition() -> None:
    costs = np.random.default_rng(1).random((40, 3))
    apart, rho = costs - costs.mean(axis=0), autocorrelation(costs)
    for d in range(21):
        here, there = apart[: 40 - d], apart[d:]
        told = 2 * (here * there).sum() / (np.square(here).sum() + np.square(there).sum())
        assert rho[d] == pytest.approx(told, abs=1e-14)
    assert not autocorrelation(np.ones((40, 3))).any()
    assert proposed(1e300 * costs, 7) == 7  # whose squares are beyond floats


def test_when_it_looks() -> None:
    looks = sorted({next_look(t, 100) for t in range(1, 301)})
    assert looks == [16, 24, 32, 48, 64, 96, 100, 150, 200, 250, 300]


@pytest.mark.parametrize("costs", ["iid", "drift", "target:50"])
def test_auto_costs_nothing_where_there_is_no_period(costs: str) -> None:
    lmdp = lsmdp.ring(12)
    given = lsmdp.read_costs(costs, lmdp, rounds=2000)
    run = lsmdp.play(lmdp, [Pool(), Pool(auto=True)], given)
    assert run.learners["pool:auto"].loss <= run.learners["pool"].loss + 0.01


def test_nor_where_the_world_changes_on_a_chain_that_hardly_mixes() -> None:
    """Two patterns in turn, for some 2,000 rounds each, and 40% noise: to forget too late costs dozens."""
    lmdp, rng, rounds = lsmdp.clusters(2, 8, 1e-4), np.random.default_rng(1), 13_000
    first = np.cumsum(rng.random(rounds) < 1 / 2000)[:, np.newaxis] % 2
    pattern = np.hstack([np.repeat(first, 8, axis=1), np.repeat(1 - first, 8, axis=1)])
    run = lsmdp.play(lmdp, [Pool(), Pool(auto=True)], 0.4 * rng.random((rounds, 16)) + 0.6 * pattern)
    assert run.learners["pool:auto"].loss <= run.learners["pool"].loss + 0.1


def test_noise_shows_no_period() -> None:
    """Of noise that all states share, 7 standard deviations are exceeded in one look of eighty; the lags are 512."""
    rng = np.random.default_rng(0)
    assert sum(proposed(rng.random((1024, 1)), 1) > 1 for _ in range(200)) <= 10
    assert sum(proposed(rng.random((1024, 2)), 1) > 1 for _ in range(200)) == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pool([]), "no experts"),
        (lambda: Pool([Passive(), Passive()]), 'two experts called "passive"'),
        (lambda: Pool([lsmdp.BeTheLeader()]), "sees the cost of a round before it plays it"),
        (lambda: Pool([Passive()], clocks=[24]), "clocks besides"),
        (lambda: Pool(Passive()), "are a list"),
        (lambda: Pool("ftl"), "are a list"),
        (lambda: Pool(["ftl"]), "is a word, not a learner"),
        (lambda: Pool(clocks=24), "are a list"),
        (lambda: Pool(clocks=[0]), "not 0"),
        (lambda: Pool(clocks=[24, 24]), 'two experts called "clock:24"'),
        (lambda: Pool(auto="no"), "True or False for auto and swift, not 'no' and False"),
        (lambda: Pool([Pool(), Passive()]), r"plays mixtures.*Pool([*pool.experts".replace("[*", r"\[\*")),
        (lambda: learner_by_name("pool:auto,7,auto"), 'says "auto" twice'),
        (lambda: learner_by_name("clock:24:x"), '"24:x" in "clock:24:x" is not an option'),
        (lambda: learner_by_name("pool:0"), '"0" in "pool:0" is no period'),
        (lambda: learner_by_name("pool:x"), '"x" in "pool:x" is no period'),
        (lambda: learner_by_name("pool:24,"), "is no period"),
        (lambda: learner_by_name("pool:-3"), "is no period"),
        (lambda: TrackTheDiscounted(0.0), "above 0 and at most 1"),
    ],
)
def test_bad_input(make: Any, words: str) -> None:
    with pytest.raises(lsmdp.SpecError, match=words.replace("(", r"\(")):
        make()


@pytest.mark.parametrize("name", ["clock:{}", "pool:{}", "window:{}"])
def test_nobody_remembers_more_than_there_is_room_for(name: str) -> None:
    learner = learner_by_name(name.format(10**23))
    with pytest.raises(lsmdp.SpecError, match=r"of each of 5 states. A learner remembers at most 67,108,864 numbers: "):
        lsmdp.play(lsmdp.ring(5), learner, np.zeros((3, 5)))


def test_it_says_who_is_in_it() -> None:
    assert repr(Pool([Passive(), FollowTheLeader()])) == "pool of passive, ftl"


def test_names() -> None:
    assert [learner_by_name(name).name for name in ("pool", "pool:24,50", "pool:auto", "pool:auto,swift,7")] == [
        "pool",
        "pool:24,50",
        "pool:auto",
        "pool:swift,auto,7",
    ]
    assert "pool" in NAMES
    assert Pool(called="mine").name == "mine"
    assert learner_by_name("discounted-track:0.5").name == "discounted-track:0.5"


def test_what_is_told_about_its_experts() -> None:
    lmdp = lsmdp.ring(6)
    run = lsmdp.play(lmdp, Pool(), np.random.default_rng(0).random((50, 6)))
    found = run.regret()["pool"].experts
    assert found is not None
    assert found.regret[found.best] == max(found.regret.values())
    assert json.loads(json.dumps(run.regret().to_dict(), allow_nan=False))["learners"]["pool"]["experts"]["best"]
    assert f"loss {found.loss:.4f} <= " in str(found)
    assert found.best in repr(found)
    assert lsmdp.play(lmdp, Passive(), np.zeros((3, 6))).regret()["passive"].experts is None


def test_memory_does_not_grow() -> None:
    lmdp = lsmdp.ring(6)
    sizes = []
    for rounds in (1500, 3000):
        run = lsmdp.play(lmdp, Pool(auto=True), np.random.default_rng(0).random((rounds, 6)))
        arrays = run.game.players[0].to_arrays()
        sizes.append(sum(array.nbytes for array in arrays.values()))
    assert sizes[0] == sizes[1]
