"""Rounds: the solver goes on from the last one, and nothing that it keeps changes what it finds."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from lsmdp import (
    LMDP,
    Auto,
    Dense,
    Direct,
    DiscountedLeader,
    FollowTheLeader,
    Krylov,
    PhasedLeader,
    Power,
    TrackTheLeader,
    clusters,
    grid,
    random_graph,
    ring,
    solve,
)
from lsmdp.game import Game
from lsmdp.learners.ftl import FTLState
from lsmdp.learners.leader import LeaderBase
from lsmdp.learners.protocol import pack, unpack
from lsmdp.solvers import Problem
from lsmdp.solvers.krylov import product_work
from lsmdp.solvers.warm import chord
from lsmdp.solvers.warm.anchor import nothing
from lsmdp.solvers.warm.lead import Lead, lead
from lsmdp.solvers.warm.plan import LeaderMemory, solved


def one_way_roads(side: int) -> LMDP:
    """A grid whose rows and columns alternate in direction, with a small chance to stay."""
    x, y = np.divmod(np.arange(side * side), side)
    across = np.where(x % 2 == 0, 1, -1)
    along = np.where(y % 2 == 0, -1, 1)
    states = np.arange(side * side)
    ends = np.concatenate([x * side + (y + across) % side, (x + along) % side * side + y, states])
    weights = np.repeat([1.0, 1.0, 0.1], side * side)
    W = sparse.coo_array((weights, (np.tile(states, 3), ends))).tocsr()
    return LMDP(W, normalise=True)


MODELS: dict[str, Callable[[], LMDP]] = {
    "grid": lambda: grid(20, 25),
    "cold grid": lambda: grid(17, 17, temperature=0.1),
    "ring with drift": lambda: ring(300, 0.9),
    "one-way roads": lambda: one_way_roads(16),
    "two clusters": lambda: clusters(2, 200, 1e-4),
    "random graph": lambda: random_graph(600, 5),
    "nearly periodic": lambda: ring(64, 0.999),
}


def cost(lmdp: LMDP, t: int) -> np.ndarray:
    """A part that is new in each round, and one that comes and goes."""
    noise = np.random.default_rng(t).uniform(0, 0.5, lmdp.n)
    return noise + 0.25 * (1 + np.sin(t / 20 + np.arange(lmdp.n) / lmdp.n * 6))


def rounds(lmdp: LMDP, count: int, forget: int = 0) -> list[FTLState]:
    """States of the leader; with ``forget``, everything kept is dropped every so many rounds."""
    learner = FollowTheLeader()
    states = [learner.init(lmdp)]
    for t in range(1, count + 1):
        if forget and t % forget == 0:
            lmdp.cache.clear()
            states[-1] = unpack(states[-1], pack(states[-1]))
        states.append(learner.observe(lmdp, states[-1], cost(lmdp, t)))
    return states


@pytest.mark.parametrize("name", MODELS)
def test_every_round_is_certified_and_right(name: str) -> None:
    lmdp = MODELS[name]()
    for state in rounds(lmdp, 60)[1::7]:
        assert state.lead.hi - state.lead.lo <= min(1e-6, 0.1 / (state.t + 1))
        truth = solve(lmdp, state.c_sum / state.t, tol=1e-9)
        assert state.lead.lo <= truth.bounds[1]
        assert state.lead.hi >= truth.bounds[0]
        assert state.lead.v.min() == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_the_bounds_of_a_round_enclose_the_residual_in_more_digits(name: str) -> None:
    """Bv - v of the v that is returned, in 64 bits of mantissa: inside the bounds, and these hardly wider."""
    lmdp = MODELS[name]()
    entries = np.diff(lmdp.P.indptr)
    for state in rounds(lmdp, 40)[10::10]:
        T, v = np.longdouble(lmdp.temperature), state.lead.v.astype(np.longdouble)
        c = (state.c_sum / state.t).astype(np.longdouble)
        s = np.add.reduceat(lmdp.P.data * np.exp(-v[lmdp.P.indices] / T), lmdp.P.indptr[:-1])
        r = c - v - T * np.log(s)
        assert entries.min() > 0
        assert state.lead.lo <= r.min()
        assert state.lead.hi >= r.max()
        rounding = 1e-15 * (20 + float(v.max() + np.abs(c).max()) + 5 * float(v.max()) + 3 * entries.max())
        assert state.lead.hi - state.lead.lo <= float(np.ptp(r)) + 4 * rounding


@pytest.mark.parametrize("name", MODELS)
def test_what_is_kept_does_not_change_a_bit(name: str) -> None:
    lmdp = MODELS[name]()
    for kept, dropped in zip(rounds(lmdp, 40), rounds(lmdp, 40, forget=3), strict=True):
        np.testing.assert_equal(pack(kept), pack(dropped))


@pytest.mark.parametrize(("name", "most"), [("grid", 5), ("ring with drift", 5), ("one-way roads", 5)])
def test_late_rounds_take_a_few_steps_with_an_old_factor(name: str, most: int) -> None:
    states = rounds(MODELS[name](), 200)
    assert np.mean([state.lead.steps for state in states[100:]]) <= most
    anchors = {id(state.lead.anchor) for state in states[100:]}
    assert 1 <= len(anchors) <= 30


@pytest.mark.parametrize(("age", "most"), [(10, 6), (0, 60)])
def test_an_old_anchor_is_replaced(age: int, most: int) -> None:
    """At an anchor from another time the steps are many; they are counted until the anchor moves, and then are few.

    Sooner where its rounds are known to have taken fewer, later where a new one may be no better.
    """
    lmdp = grid(30, 30)
    near, far = (np.random.default_rng(seed).uniform(0, 0.2, 900) for seed in (1, 2))
    now = solve(lmdp, near, tol=1e-6).v
    anchor = solve(lmdp, far, tol=1e-6).v
    state = replace(Lead.passive(lmdp), v=now, anchor=anchor, age=age, spent=2.0 * age, recent=2.0)
    steps = []
    for t in range(most):
        c = near + 1e-3 * np.random.default_rng((3, t)).uniform(0, 1, 900)
        old = state.anchor
        state = lead(lmdp, c[np.newaxis], np.array([1e-6]), state).last
        steps.append(state.steps)
        if state.anchor is not old:
            break
    assert state.anchor is not old
    assert steps[0] > 4
    after = lead(lmdp, near[np.newaxis], np.array([1e-6]), state).last
    assert after.steps < steps[0]


def test_slow_models_get_an_anchor_and_fast_ones_do_not() -> None:
    assert rounds(MODELS["grid"](), 5)[-1].lead.anchor.size == 500
    assert rounds(random_graph(600, 7), 5)[-1].lead.anchor.size == 0


def test_sweeps_are_tried_again_where_early_rounds_were_too_hard_for_them() -> None:
    states = rounds(random_graph(2000, 4), 40)
    waiting = [state.lead.spent > 0.0 for state in states]
    assert any(waiting)
    assert not any(waiting[20:])
    assert states[-1].lead.anchor.size == 0


def test_a_dear_factor_is_used_without_asking_each_time_whether_it_is_needed() -> None:
    """Three clusters: power steps alone are tried after 0, 1, 2, 4, 8, ... rounds with the factor, and at no other."""
    lmdp, learner = clusters(3, 600, 1e-4), FollowTheLeader()
    state, tried = learner.init(lmdp), {True: set[int](), False: set[int]()}
    for t in range(1, 41):
        c_t = np.random.default_rng(t).uniform(0, 1, lmdp.n)
        before, state = state.lead, learner.observe(lmdp, state, c_t)
        if before.anchor.size:
            tried["power steps" in " ".join(state.lead.story)].add(before.age)
    assert {1, 2, 4, 8, 16} <= tried[True] <= {0, 1, 2, 4, 8, 16, 32}
    assert {3, 5, 9, 17} <= tried[False]


def test_one_slow_mode_needs_no_factor() -> None:
    """Too large to be eliminated, and far too slow for power steps: the pairs of residuals find the two halves."""
    lmdp, learner, rng = clusters(2, 2000, 1e-3), FollowTheLeader(), np.random.default_rng(0)
    states = [learner.init(lmdp)._replace(t=1000, c_sum=rng.binomial(1000, 0.5, lmdp.n).astype(float))]
    for _ in range(10):
        states.append(learner.observe(lmdp, states[-1], rng.uniform(0, 1, lmdp.n)))
    assert states[-1].lead.anchor.size == 0
    assert max(state.lead.steps for state in states[3:]) <= 60
    mean = states[-1].c_sum / states[-1].t
    assert solve(lmdp, mean, tol=1e-6, start=states[-2].lead.v, solver=Power()).iterations > 200


# ----------------------------------------------------------------------------------------------------------
# models that are made to fool the choice


def wells(n: int) -> tuple[LMDP, np.ndarray]:
    """Two wells of nearly the same depth at the ends of a corridor."""
    c = np.full(n, 0.5)
    c[0], c[-1] = 0.0, 1e-6
    return grid(1, n), c


def one_edge_off(side: int) -> LMDP:
    """A grid that would be reversible, but for one extra move."""
    W = grid(side, side).P.toarray()
    W[0, side * side - 1] += 0.5
    return LMDP(W, normalise=True)


def clock(hours: int, n: int) -> LMDP:
    """A random walk on few states, with the hour of the day: a period of that many hours."""
    rng, P = np.random.default_rng(0), np.zeros((hours * n, hours * n))
    for hour in range(hours):
        after = (hour + 1) % hours
        P[hour * n : (hour + 1) * n, after * n : (after + 1) * n] = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
        P[hour * n + np.arange(n), after * n + np.arange(n)] += 1.0
        P[hour * n + np.arange(n), after * n + (np.arange(n) + 1) % n] += 0.1
    return LMDP(P, normalise=True)


def uniform(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0, 1, n)


FOOLING = {
    "well switching": lambda: wells(400),
    "nearly decomposable": lambda: (clusters(2, 400, 1e-7), uniform(800)),
    "nearly decomposable, fills up": lambda: (clusters(3, 400, 1e-5), uniform(1200)),
    "nearly periodic": lambda: (ring(500, 0.999), uniform(500)),
    "periodic, with a clock": lambda: (clock(48, 20), uniform(960)),
    "reversible up to one edge": lambda: (one_edge_off(25), uniform(625)),
    "mixes fast at first": lambda: (grid(60, 60), 0.01 * uniform(3600)),
}


@pytest.mark.parametrize("name", FOOLING)
def test_auto_is_never_far_from_the_best_fixed_choice(name: str) -> None:
    """Work is counted in products with P, not timed. Every method has the same starting point and tolerance.

    Those that iterate stop where auto was done: beyond that they cannot be five times better.
    """
    lmdp, c = FOOLING[name]()
    problem, start = Problem(lmdp, c), np.zeros(lmdp.n)
    auto = Auto().run(problem, start, 1e-9)
    assert auto.gap <= 1e-9
    enough = int(auto.work) + 1
    methods = (Power(enough), Direct(), Dense(), Krylov(max_products=enough))
    fixed = [method.run(problem, start, 1e-9) for method in methods]
    best = min(attempt.work for attempt in (auto, *fixed) if attempt.gap <= 1e-9)
    assert auto.work <= 5 * best + 20  # the first look at a model
    assert auto.story


def test_krylov_keeps_blas_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads for vectors this short would fight over the cores, and decide on the last bits."""
    import scipy.sparse.linalg

    seen, gmres = [], scipy.sparse.linalg.gmres

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def watched(*args: object, **options: object) -> object:
        seen.extend(threads())
        return gmres(*args, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "gmres", watched)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        Krylov().run(Problem(grid(8, 8), uniform(64)), np.zeros(64), 1e-9)
        assert threads() == before  # given back
    assert max(before) == 2
    assert set(seen) == {1}


@pytest.mark.parametrize("products", [49, 50, 51, 100, 101])
def test_krylov_stops_where_its_products_end(products: int) -> None:
    lmdp = grid(30, 30)
    attempt = Krylov(max_products=products).run(Problem(lmdp, uniform(900)), np.zeros(900), 1e-9)
    assert attempt.gap <= 1.0
    assert attempt.work <= (products + 2 * attempt.steps) * product_work(Problem(lmdp, uniform(900))) / lmdp.nnz


def test_a_story_names_the_methods_that_were_used() -> None:
    for side, method in ((25, "dense"), (40, "direct")):
        solution = solve(grid(side, side), uniform(side**2))
        assert solution.solver == f"power -> {method}"
        told = " ".join(solution.story)
        words = ("power: 20 steps", "shrink the gap", f"{method}:", "LAPACK" if side == 25 else "Predicted cost")
        assert all(word in told for word in words)
    assert solve(grid(5, 5), uniform(25), solver=Direct()).story[0].startswith("direct: ")


def test_a_step_beyond_floats_proves_nothing() -> None:
    lmdp, c = grid(10, 10), uniform(100)
    made = nothing(Problem(lmdp, c))
    broken = replace(made, anchor=made.anchor._replace(pivots=np.zeros(100)))
    tol = 0.95 * float(np.ptp(c))  # less than the width at v = 0: a step is tried
    for limit, width in ((0, 1.0), (1, np.inf)):
        out = chord.SolvedRounds.blank(1, 100)
        task = chord.Task(Problem(lmdp, c), c[np.newaxis], np.array([tol]), np.zeros(100), limit, np.inf)
        done, _, _ = chord.iterate(task, broken, out, None)
        assert done == 0
        assert out.hi[0] - out.lo[0] == pytest.approx(width * np.ptp(c), rel=1e-9)


# ----------------------------------------------------------------------------------------------------------
# memory


LARGE: dict[str, Callable[[], LMDP]] = {
    "grid": lambda: grid(120, 120),
    "small grid": lambda: grid(30, 30),
    "ring with drift": lambda: ring(5000, 0.9),
    "one-way roads": lambda: planar_roads(110, one_way=0.5),
    "roads": lambda: planar_roads(110, one_way=0.0),
    "one-way torus": lambda: one_way_roads(100),
    "two clusters": lambda: clusters(2, 2000, 1e-4),
    "random graph": lambda: random_graph(4000, 7),
}


def planar_roads(side: int, one_way: float) -> LMDP:
    """A grid with a fifth of its roads closed, and a share of the others open in one direction only."""
    rng, roads = np.random.default_rng(3), sparse.triu(grid(side, side).P, 1, format="coo")
    there, back = np.array([roads.row, roads.col])[:, rng.random(roads.nnz) < 0.8]
    both = rng.random(there.size) >= one_way
    moves = np.concatenate([there, back[both]]), np.concatenate([back, there[both]])
    W = sparse.coo_array((np.ones(moves[0].size), moves), roads.shape)
    return LMDP.repaired(W, normalise=True, largest_class=True, lazy=0.2)


@pytest.mark.parametrize("name", LARGE)
def test_rounds_hold_four_times_P_besides_the_factor(name: str) -> None:
    """Bytes, not pages: all that numpy and the compiled loops hold on top of P, at the peak of each round.

    The state of the learner is counted. A factor is made in the first round, and again when all that a game keeps is
    there. Only a torus, whose separators are twice as wide, takes more while it is made: the block at work, the stack.
    A round in which v moves far is a solve like any other, with factors in double precision: it is left aside.
    """
    lmdp, learner, rng = LARGE[name](), FollowTheLeader(), np.random.default_rng(0)
    c_sum, costs = rng.binomial(1000, 0.5, lmdp.n).astype(float), rng.uniform(0, 1, (6, lmdp.n))
    v = solve(lmdp, c_sum / 1000, tol=1e-5).v
    slow = name not in ("two clusters", "random graph")
    for _ in range(2):  # the first time, code is loaded that is no part of a model
        new, peaks, factor = LMDP(lmdp.P), [], 0
        gc.collect()
        tracemalloc.start()
        state = learner.init(new)._replace(t=1000, c_sum=c_sum.copy(), lead=replace(Lead.passive(new), v=v.copy()))
        for t, c_t in enumerate(costs):
            if slow and t in (0, 3):
                state.lead.kept.let_go()
                renewed = replace(state.lead, anchor=state.lead.v, age=0, spent=0.0, recent=0.0)
                state = state._replace(lead=renewed)
            tracemalloc.reset_peak()
            state = learner.observe(new, state, c_t)
            far = state.lead.story[-1].startswith("It was solved by")
            peaks.append(np.nan if far else tracemalloc.get_traced_memory()[1])
            factor = max(factor, state.lead.factor_bytes)  # one that is worn after the last round is let go
        tracemalloc.stop()
    P = sum(array.nbytes for array in (lmdp.P.data, lmdp.P.indices, lmdp.P.indptr))
    plan = new.elimination_plan
    assert (factor > P) is slow  # or the rest would be measured against nothing
    at_work = np.zeros(6)
    if name == "one-way torus":
        at_work[[0, 3]] = 8 * (plan.stack + plan.tallest * (plan.tallest + 1))
    assert np.isnan(peaks).sum() <= 1
    assert np.nanmax(peaks - at_work) <= 4.0 * P + factor


def test_a_leader_keeps_one_factor() -> None:
    lmdp = MODELS["one-way roads"]()
    states = rounds(lmdp, 80)
    assert len({id(state.lead.anchor) for state in states if state.lead.anchor.size}) > 2
    kept = {id(state.lead.kept) for state in states}
    assert len(kept) == 1
    assert states[-1].lead.kept.anchor is states[-1].lead.anchor


@pytest.mark.parametrize("name", ["grid", "cold grid", "ring with drift", "one-way roads", "two clusters"])
@pytest.mark.parametrize("learner", [FollowTheLeader(), DiscountedLeader(), PhasedLeader()], ids=lambda one: one.name)
def test_a_block_is_its_rounds_one_by_one(name: str, learner: LeaderBase) -> None:
    """What is played and reported and every field of the state, wherever the rounds are cut."""
    lmdp = MODELS[name]()
    costs = np.array([cost(lmdp, t) for t in range(1, 61)])
    states = [learner.init(lmdp)]
    for c_t in costs:
        states.append(learner.observe(lmdp, states[-1], c_t))
    anchors = {id(state.lead.anchor) for state in states}
    assert len(anchors) >= (1 if name == "two clusters" else 2)  # none at first, and then one or more
    assert len(anchors) > 2 or (name, learner.name) != ("grid", "ftl")  # with a renewal in a block
    first = 0
    for last in (1, 2, 30, 31, 60):
        found = learner.observe_block(lmdp, states[first], costs[first:last])
        told = np.array([found.lo, found.hi, found.steps]).T
        reports = [learner.report(*pair) for pair in pairwise(states[first : last + 1])]
        np.testing.assert_array_equal(found.values, [state.lead.v for state in states[first : last + 1]])
        np.testing.assert_array_equal(told, reports)
        np.testing.assert_equal(pack(found.state), pack(states[last]))
        first = last


def test_a_round_in_a_block_that_its_factor_cannot_do_is_solved_otherwise() -> None:
    """The cost jumps in the middle: steps with the old factor get lost there, and nothing before or after notices."""
    lmdp, rng = grid(20, 25), np.random.default_rng(5)
    near, far = rng.uniform(0, 0.1, 500), 30.0 * rng.uniform(0, 1, 500) ** 4
    costs = np.array([near, near + 1e-3, near + 1e-4 * rng.uniform(0, 1, 500), far, far + 1e-3, near])
    gaps = np.full(6, 1e-7)
    begin = lead(lmdp, near[np.newaxis], gaps[:1], Lead.passive(lmdp)).last
    begin = replace(begin, anchor=solve(lmdp, near, tol=1e-6).v, age=0, spent=0.0, recent=0.0)
    found, one = lead(lmdp, costs, gaps, begin), replace(begin, kept=LeaderMemory())
    told = " ".join(found.last.story)
    assert begin.story == ()  # that one was told of an older leader, and what is kept has gone on
    for words in (
        "rounds were solved by steps with the factor",
        "A factor was made",
        "solved by dense",
    ):
        assert words in told
    for k, c in enumerate(costs):
        one = lead(lmdp, c[np.newaxis], gaps[:1], one).last
        np.testing.assert_array_equal(found.v[k + 1], one.v)
        assert (found.lo[k], found.hi[k], found.steps[k]) == (one.lo, one.hi, one.steps)
        assert one.hi - one.lo <= 1e-7
    assert found.steps[3] > found.steps[:3].max()  # those with the factor count, too
    np.testing.assert_equal(pack(found.last), pack(one))


def test_a_game_of_a_larger_model_is_the_same_in_blocks() -> None:
    lmdp = MODELS["grid"]()
    costs = np.array([cost(lmdp, t) for t in range(1, 41)])
    learners = [FollowTheLeader(), TrackTheLeader()]
    one, other = Game.begin(lmdp, learners), Game.begin(lmdp, learners)
    rows = [row for c_t in costs for records in one.play(c_t[np.newaxis]) for row in records.rows()]
    assert one.players[0].state.lead.anchor.size
    blocks = [other.play(costs[:7]), other.play(costs[7:])]
    again = [row for block in blocks for both in zip(*(each.rows() for each in block), strict=True) for row in both]
    assert repr([row._replace(seconds=0.0) for row in again]) == repr([row._replace(seconds=0.0) for row in rows])
    for name, array in one.to_arrays().items():
        if name not in ("tallies", "marks.tallies"):  # which hold seconds
            np.testing.assert_array_equal(array, other.to_arrays()[name], err_msg=name)


@pytest.mark.parametrize("cheap", [True, False])
def test_a_hard_round_is_for_elimination_only_where_that_is_cheap(cheap: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On graphs that fill in, a few factors cost more than all the products that other methods take."""
    lmdp, asked = grid(50, 50) if cheap else random_graph(2500), []
    run = Direct.run
    monkeypatch.setattr(Direct, "run", lambda *given: asked.append(given) or run(*given))  # type: ignore[func-returns-value]
    c = np.random.default_rng(0).uniform(0, 1, lmdp.n)
    (v, lo, hi), _ = solved(Problem(lmdp, c), c, 1e-6, np.zeros(lmdp.n), 0.9e-6, LeaderMemory())
    assert bool(asked) is cheap
    assert hi - lo <= 1e-6
    assert v.min() == 0.0
