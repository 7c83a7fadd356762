"""Games on a P that is written out: certificates of every round, and the same bits however the rounds are cut."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lsmdp import (
    LMDP,
    ConvergenceError,
    CostError,
    clusters,
    grid,
    random_graph,
    read_costs,
    ring,
    runs,
)
from lsmdp._core import (
    full,
    sparse,
)
from lsmdp.costs import families
from lsmdp.game import (
    Game,
    Records,
    Round,
    Tally,
    costs_in_blocks,
    is_mark,
    next_mark,
    play,
)
from lsmdp.learners import (
    BeTheLeader,
    DiscountedLeader,
    Fixed,
    FollowTheLeader,
    Learner,
    Passive,
    PhasedLeader,
    TrackTheLeader,
    WindowLeader,
    pack,
)
from lsmdp.policy import Policy
from lsmdp.runs import session
from lsmdp.solvers.warm import lead

EVERYONE: list[Learner] = [
    FollowTheLeader(),
    FollowTheLeader(2.5),
    TrackTheLeader(),
    TrackTheLeader(3),
    PhasedLeader(),
    DiscountedLeader(),
    WindowLeader(7),
    Passive(),
    BeTheLeader(),
]
FIXED = Fixed(Policy(ring(3), np.zeros(3)))  # takes the size of the model that it meets


def dense(n: int, seed: int = 0, temperature: float = 1.0) -> LMDP:
    return LMDP(np.random.default_rng(seed).uniform(0, 1, (n, n)), normalise=True, temperature=temperature)


MODELS = {
    "dense 13": lambda: dense(13),
    "dense 21": lambda: dense(21),
    "dense 13, cold": lambda: dense(13, temperature=0.05),
    "grid 4x5": lambda: grid(4, 5),
    "ring 9, drift": lambda: ring(9, 0.9),
    "clusters": lambda: clusters(2, 6, 1e-4, degree=4),
    "random 30": lambda: random_graph(30, 4, seed=2),
    "one state": lambda: LMDP([[1.0]]),
    "two states": lambda: LMDP([[0.3, 0.7], [0.7, 0.3]]),
    "frozen": lambda: LMDP(grid(3, 4).P, temperature=0.002),  # values span more than one scale can hold
}


@pytest.fixture(params=MODELS, name="lmdp")
def _lmdp(request: pytest.FixtureRequest) -> LMDP:
    model: LMDP = MODELS[request.param]()
    assert model.square is not None
    return model


def uniform(T: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (T, n))


def test_the_leader_of_every_round_is_certified(lmdp: LMDP) -> None:
    """The bounds contain the optimum for the mean cost, by kernels.residual on the v itself."""
    learner, costs = FollowTheLeader(), uniform(120, lmdp.n)
    state = learner.init(lmdp)
    for t, c_t in enumerate(costs, start=1):
        state = learner.observe(lmdp, state, c_t)
        _, lo, hi = sparse.residual(lmdp.P, costs[:t].mean(axis=0), state.lead.v, lmdp.temperature)
        assert state.lead.hi - state.lead.lo <= min(1e-6, 0.1 / (t + 1))
        assert hi - lo <= min(1e-6, 0.1 / (t + 1)) + 1e-12  # the mean has other rounding errors here
        assert state.lead.lo <= hi + 1e-12
        assert lo <= state.lead.hi + 1e-12
        assert state.lead.v.min() == 0.0


def without_time(rows: list[Round]) -> str:
    return repr([row._replace(seconds=0.0) for row in rows])  # nan is equal to nan in a repr


def in_order(played: list[list[Records]]) -> list[Round]:
    """The rows of some blocks, round after round."""
    return [row for block in played for rows in zip(*(each.rows() for each in block), strict=True) for row in rows]


def cut_at_random(costs: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    while len(costs):
        size = int(rng.integers(1, 60))
        yield costs[:size]
        costs = costs[size:]


def test_blocks_give_the_bits_of_single_rounds(lmdp: LMDP) -> None:
    """Rows, tallies, marks, the range of the costs and the whole checkpoint; with walkers, or without."""
    steep = lmdp.temperature < 0.01  # every round is for the general solver, so that more of them say nothing new
    sample, seed, costs = 5 * (lmdp.n % 2), lmdp.n, uniform(31 if steep else 61, lmdp.n, lmdp.n)
    single = Game.begin(lmdp, EVERYONE, sample=sample, seed=4)
    rows = in_order([single.play(c_t[np.newaxis]) for c_t in costs])
    whole = Game.begin(lmdp, EVERYONE, sample=sample, seed=4)
    cut = in_order([whole.play(part) for part in cut_at_random(costs, seed)])
    assert without_time(cut) == without_time(rows)
    assert [mark[0] for mark in whole.marks] == [t for t in (1, 2, 5, 10, 20, 50) if t <= len(costs)]
    expected = single.to_arrays()
    for name, array in whole.to_arrays().items():
        other = expected[name]
        if "tallies" in name:  # the last column is seconds
            array, other = array[..., :-1], other[..., :-1]
        np.testing.assert_array_equal(array, other, err_msg=name)


@pytest.mark.filterwarnings("ignore:plain tracking:UserWarning")
@pytest.mark.parametrize("learner", [*EVERYONE, TrackTheLeader(averaged=False), FIXED], ids=lambda one: one.name)
def test_observing_many_rounds_is_observing_each(lmdp: LMDP, learner: Learner) -> None:
    """What is played and reported, and every field of the state."""
    if learner is FIXED:
        learner = Fixed(Policy(lmdp, np.arange(lmdp.n)))
    costs = uniform(45, lmdp.n, 5)
    states = [learner.init(lmdp)]
    for c_t in costs:
        states.append(learner.observe(lmdp, states[-1], c_t))
    reports = [learner.report(before, after) for before, after in pairwise(states)]
    values = [learner.policy(lmdp, state).v for state in states]
    done = 0
    for part in cut_at_random(costs, 6):
        found = learner.observe_block(lmdp, states[done], part)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(found.values, values[done : done + len(part) + 1])
        told = np.array([found.lo, found.hi, found.steps]).T
        np.testing.assert_array_equal(told, reports[done : done + len(part)])
        done += len(part)
        for name, array in pack(found.state).items():
            np.testing.assert_array_equal(array, pack(states[done])[name], err_msg=name)


def test_play_shows_the_same_rounds_however_the_costs_come() -> None:
    lmdp, shown = dense(24), {}
    made = read_costs("iid", lmdp, rounds=6000, seed=2)
    table = np.array(list(made))
    ways = {
        "costs": made,
        "array": table,
        "lists": [row.tolist() for row in table],
        "generator": (row for row in table),
    }
    for name, costs in ways.items():
        rows: list[Round] = []
        run = play(lmdp, [FollowTheLeader(), Passive()], costs, watch=rows.extend)
        assert [row.round for row in rows[::2]] == list(range(1, 6001))
        assert [row.learner for row in rows[:4]] == ["ftl", "passive"] * 2
        assert run.rounds == 6000
        shown[name] = without_time(rows)
    assert len(set(shown.values())) == 1
    assert len(list(costs_in_blocks(made, 24))) == 2  # that many numbers are drawn at a time


def test_a_bad_cost_in_a_block_changes_nothing() -> None:
    lmdp = dense(5)
    game = Game.begin(lmdp, [FollowTheLeader(), Passive()])
    game.play(uniform(12, 5))
    before, costs = game.to_arrays(), uniform(9, 5)
    costs[4, 2] = np.nan
    with pytest.raises(CostError, match=r"the cost\[2\] is nan"):
        game.play(costs)
    for name, array in game.to_arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    with pytest.raises(CostError, match="has 4 values, but the model has 5 states"):
        play(lmdp, FollowTheLeader(), [np.ones(5), np.ones(4)])


def test_tallies_add_up_the_same_costs_in_blocks() -> None:
    """A round at a time, in two blocks, and by plain sums of the rows."""
    for records in Game.begin(dense(4), [Passive(), FollowTheLeader()]).play(uniform(40, 4)):
        one = Tally()
        for k in range(40):
            one = one.add(records.part(k, k + 1))
        assert repr(Tally().add(records.part(0, 13)).add(records.part(13, 40))) == repr(one)
        assert one.loss == reduce(add, (row.loss for row in records.rows()))  # a sum() makes up for rounding
        assert one.steps == sum(row.steps for row in records.rows())
        halves = [records.part(0, 13), records.part(13, 40)]
        assert repr(Records.joined(halves).rows()) == repr(records.rows())


def test_what_is_too_hard_for_compiled_steps_is_solved_in_general(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = []
    general = lead.solve

    def counted(*arguments: object, **options: object) -> object:
        solved.append(arguments)
        return general(*arguments, **options)

    monkeypatch.setattr(lead, "solve", counted)
    play(dense(20), FollowTheLeader(), uniform(50, 20))
    assert not solved
    frozen = MODELS["frozen"]()
    tally = play(frozen, FollowTheLeader(), uniform(6, frozen.n)).learners["ftl"]
    assert solved
    assert tally.max_gap <= 1e-6


@pytest.mark.parametrize("model", ["grid 7x7", "nearly decomposable"])
def test_slow_chains_take_few_steps_a_round(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And hardly any round is for the general solver."""
    lmdp = grid(7, 7) if model == "grid 7x7" else clusters(2, 15, 1e-6, degree=4)
    learner, solved, general = FollowTheLeader(), [], lead.solve
    monkeypatch.setattr(lead, "solve", lambda *given, **options: solved.append(given) or general(*given, **options))
    found = learner.observe_block(lmdp, learner.init(lmdp), uniform(600, lmdp.n))
    assert len(solved) <= 0.1 * 600
    assert found.steps[300:].mean() < 4


def test_the_precision_of_the_inverse_is_that_which_the_chain_needs() -> None:
    """Single on a chain that mixes at once, double on one that hardly does."""
    for lmdp, kind in ((dense(20), np.float32), (clusters(2, 15, 1e-6, degree=4), np.float64)):
        assert FollowTheLeader().init(lmdp).lead.inverse.dtype == kind


@pytest.mark.parametrize("unit", [1e-42, 1e42])
def test_units_beyond_single_precision_change_nothing(unit: float) -> None:
    """Steps are taken in units of T, so that the inverse in single precision serves for any of them."""
    lmdp, costs, gaps = dense(20), unit * uniform(30, 20), np.full(30, 1e-6 * unit)
    start = FollowTheLeader().init(lmdp).lead
    found = full.lead_block(lmdp.square, unit, costs, gaps, start.v, start.inverse, 0)
    assert found.done == 30
    assert (found.hi - found.lo <= gaps).all()


def test_costs_beyond_what_floats_resolve_are_refused() -> None:
    """A gap of 1e-6 is below the rounding of such numbers, and that is what is said."""
    lmdp = dense(20)
    with pytest.raises(ConvergenceError, match="rounding in double precision makes up"):
        FollowTheLeader().observe_block(lmdp, FollowTheLeader().init(lmdp), 1e39 * uniform(2, 20))


def test_a_subclass_that_observes_in_its_own_way_does_so_in_a_block_too() -> None:
    class Contrary(FollowTheLeader):
        def observe(self, lmdp: LMDP, state: Any, c_t: np.ndarray) -> Any:
            return super().observe(lmdp, state, 1.0 - c_t)

    lmdp, costs = dense(6), uniform(50, 6)
    contrary = Game.begin(lmdp, [Contrary()])
    contrary.play(costs)
    straight = Game.begin(lmdp, [FollowTheLeader()])
    straight.play(1.0 - costs)
    np.testing.assert_array_equal(contrary.players[0].state.lead.v, straight.players[0].state.lead.v)


def test_marks() -> None:
    assert [t for t in range(1, 3000) if is_mark(t)] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
    assert [next_mark(t) for t in (1, 3, 6, 11, 51, 500, 501, 5001)] == [1, 5, 10, 20, 100, 500, 1000, 10000]


def test_which_models_are_small() -> None:
    assert random_graph(64, 4).square is not None
    assert random_graph(65, 4).square is None  # neither reversible, nor is a state reached from everywhere
    assert grid(16, 16).square is not None
    assert grid(16, 17).square is None
    assert dense(256).square is not None
    assert dense(257).square is None
    assert LMDP([[1.0, 0.0], [0.5, 0.5]]).square is None


def test_few_inversions() -> None:
    """After the first rounds one step a round is enough, and the inverse is kept."""
    lmdp, learner = dense(50), FollowTheLeader()
    found = learner.observe_block(lmdp, learner.init(lmdp), uniform(2000, 50))
    assert found.steps[:10].max() <= 6
    assert found.steps[1000:].mean() < 1.5
    later = learner.observe_block(lmdp, found.state, uniform(1, 50))
    assert later.state.lead.inverse is found.state.lead.inverse


def test_run_folders_hold_the_same_bits_costs_in_blocks_and_round_by_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table of rounds, the hash of the costs and the checkpoint; and the rounds are those of play."""
    spec = runs.Spec.of(kernel="random:20:4", costs="iid", learners=["ftl", "track", "passive"], rounds=300)
    sizes: dict[str, set[int]] = {}
    for name, single in (("blocks", 0), ("mixed", 120), ("one by one", 10**9)):
        t = [0]
        sizes[name] = set()

        def watch(game: Game, _: int | None, t: list[int] = t, seen: set[int] = sizes[name]) -> None:
            seen.add(game.t - t.pop())
            t.append(game.t)

        monkeypatch.setattr(families, "block_rows", lambda _: 100 // families.BLOCKS_DRAWN)
        monkeypatch.setattr(session, "ROUNDS_ONE_BY_ONE", single)
        runs.start(spec, tmp_path / name, watch=watch)
    assert min(max(sizes["blocks"]), max(sizes["mixed"])) > 1  # a block ends before each round that is filmed
    assert sizes["one by one"] == {1}
    whole = runs.Folder(tmp_path / "blocks")
    for name in ("mixed", "one by one"):
        other = runs.Folder(tmp_path / name)
        assert other.rounds().drop(["seconds"]).equals(whole.rounds().drop(["seconds"]))
        saved, expected = other.checkpoint(), whole.checkpoint()
        assert saved is not None
        assert expected is not None
        for key in expected.keys() - {"parts"}:
            columns = slice(None, -1) if key.endswith("tallies") else slice(None)  # the last one is seconds
            one, two = np.atleast_1d(saved[key])[..., columns], np.atleast_1d(expected[key])[..., columns]
            np.testing.assert_array_equal(one, two, err_msg=key)
    lmdp, rows = spec.model(), []
    costs = read_costs("iid", lmdp, rounds=300)
    play(lmdp, [FollowTheLeader(), TrackTheLeader(), Passive()], costs, watch=rows.extend)
    for name in ("round", "learner", "loss", "gap", "ideal_step", "steps"):
        stored = [np.nan if value is None else value for value in whole.rounds()[name].to_pylist()]
        assert repr(stored) == repr([getattr(row, name) for row in rows])
