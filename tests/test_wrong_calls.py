"""Calls from Python with something of the wrong kind: a sentence that says what is wanted, and no TypeError."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.arrays import as_whole, real
from lsmdp.costs import Costs, read_costs
from lsmdp.errors import CostError, LsmdpError, ModelError, SpecError, told
from lsmdp.learners import learner_by_name

GRID = lsmdp.grid(3, 3)
COST = np.linspace(0.0, 1.0, 9)
P = np.full((2, 2), 0.5)
ANY: Any = lsmdp  # whose functions take anything, as far as the type checker knows
NOTHING: Any = None
THREE: Any = 3
WORD: Any = "a"


def play(costs: Any, lmdp: Any = GRID, **options: Any) -> Any:
    return ANY.play(lmdp, lsmdp.FollowTheLeader(), costs, **options)


NO_MODEL = r"the model is of the type \w+, not LMDP\. Make one of a matrix with lsmdp\.LMDP\(P\), or of a name"
METHODS = r"not a method\. Write solver=lsmdp\.Power\(\), or another: lsmdp\.Auto\(\)"
WHOLE = r"It must be a whole number, such as 5\.$"

WRONG: dict[str, tuple[Callable[[], Any], type[LsmdpError], str]] = {
    "solve: a matrix": (lambda: ANY.solve(P, [0, 1]), ModelError, NO_MODEL),
    "solve: a name": (lambda: ANY.solve("grid:3x3", COST, lsmdp.Goal(0)), ModelError, NO_MODEL),
    "bounds: a matrix": (lambda: ANY.bounds(P, [0, 1], [0, 0]), ModelError, NO_MODEL),
    "Policy: a matrix": (lambda: ANY.Policy(P, [0, 1]), ModelError, NO_MODEL),
    "Mixture: a matrix": (lambda: ANY.Mixture(P, P), ModelError, NO_MODEL),
    "play: a matrix": (lambda: play([COST], P), ModelError, NO_MODEL),
    "read_costs: no model": (lambda: ANY.read_costs("iid", None, rounds=5), ModelError, NO_MODEL),
    "read_cost: no model": (lambda: ANY.read_cost("hill", None), ModelError, NO_MODEL),
    "read_edge_costs: no model": (lambda: ANY.read_edge_costs("tolls.csv", None), ModelError, NO_MODEL),
    "solve: the name of a method": (
        lambda: ANY.solve(GRID, COST, solver="power"),
        SpecError,
        rf"solver is 'power', {METHODS}",
    ),
    "solve: the class of a method": (
        lambda: ANY.solve(GRID, COST, solver=lsmdp.Power),
        SpecError,
        rf"solver is the class Power, {METHODS}",
    ),
    "solve: tol as text": (lambda: ANY.solve(GRID, COST, tol="x"), SpecError, r"tol is 'x'\. .* such as tol=1e-8\.$"),
    "solve: tol as flag": (lambda: ANY.solve(GRID, COST, tol=True), SpecError, "tol is True. .* must be positive"),
    "solve: no cost": (
        lambda: ANY.solve(GRID, None),
        CostError,
        r"the cost is None\. Give one number for each of the 9",
    ),
    "solve: the name of a cost": (
        lambda: ANY.solve(GRID, "hill"),
        CostError,
        r"the cost is 'hill'\. .* read with lsmdp\.read_cost\('hill', lmdp\)\.$",
    ),
    "solve: a name as start": (
        lambda: ANY.solve(GRID, COST, start="x"),
        CostError,
        r"the value function is 'x'\. Give one number for each of the 9 states\.$",
    ),
    "a discount as text": (lambda: ANY.Discounted("0.9"), SpecError, r"the discount is '0\.9'\. It must lie strictly"),
    "a discount as flag": (lambda: ANY.Discounted(True), SpecError, "the discount is True"),
    "a goal that costs text": (lambda: ANY.Goal({0: "5"}), CostError, "of the goal 0 is '5'. It must be a number"),
    "a temperature as text": (lambda: ANY.LMDP(P, temperature="0.5"), ModelError, "the temperature is '0.5'"),
    "a temperature as flag": (lambda: ANY.LMDP(P, temperature=True), ModelError, "the temperature is True"),
    "a number as labels": (lambda: ANY.LMDP(P, 0.5), ModelError, r"the labels are 0\.5\. Give a list with one label"),
    "grid: half a row": (lambda: ANY.grid(3.5, 3), ModelError, rf"the side of a grid is 3\.5\. {WHOLE}"),
    "grid: a flag": (lambda: ANY.grid(3, True), ModelError, rf"the side of a grid is True\. {WHOLE}"),
    "grid: lazy": (lambda: ANY.grid(3, 3, lazy="a"), ModelError, "lazy is 'a'. It is a probability below 1"),
    "grid: neighbours": (lambda: ANY.grid(3, 3, neighbours="4"), ModelError, "cannot have '4' neighbours"),
    "ring: half a state": (lambda: ANY.ring(2.5), ModelError, rf"the number of states is 2\.5\. {WHOLE}"),
    "ring: a flag as drift": (lambda: ANY.ring(3, True), ModelError, "drift is True. It is a probability"),
    "random_graph: half a state": (lambda: ANY.random_graph(5.5), ModelError, rf"states is 5\.5\. {WHOLE}"),
    "random_graph: half a degree": (lambda: ANY.random_graph(5, 2.5), ModelError, rf"degree is 2\.5\. {WHOLE}"),
    "random_graph: a negative degree": (lambda: ANY.random_graph(1, -5), ModelError, "degree is -5. A random graph"),
    "random_graph: seed": (lambda: ANY.random_graph(5, 3, 1.5), ModelError, r"the seed is 1\.5\. A seed is a whole"),
    "rank_one: a flag": (lambda: ANY.rank_one(True), ModelError, r"rank_one\(True\) has no state"),
    "clusters: half a cluster": (lambda: ANY.clusters(2.5, 3, 0.1), ModelError, rf"clusters is 2\.5\. {WHOLE}"),
    "clusters: a negative size": (lambda: ANY.clusters(2, -3, 0.1), ModelError, "a random graph of -3 states is empty"),
    "sticky": (lambda: ANY.sticky("a"), ModelError, "eps is 'a'. It is a probability between 0 and 1"),
    "from_counts": (lambda: ANY.from_counts([[1, 2], [3, 4]], "a"), ModelError, "smoothing is 'a'. It is added"),
    "lazy": (lambda: ANY.grid(3, 3).lazy("a"), ModelError, "lazy takes a probability .* not 'a'. A usual value is"),
    "teleport": (lambda: ANY.read_model("ring:5", teleport="a"), ModelError, "ring:5: teleport takes .* not 'a'"),
    "teleport to a number": (lambda: ANY.grid(3, 3).teleport(0.1, 5), ModelError, "lands on 5, .* of them, in a list"),
    "read_model: nothing": (
        lambda: ANY.read_model(None),
        SpecError,
        r'the model is None, neither a name nor a path\. Write for example lsmdp\.read_model\("grid:30x30"\)',
    ),
    "read_model: a matrix": (
        lambda: ANY.read_model(P),
        SpecError,
        r"neither a name .* matrix lsmdp\.LMDP\(P\)\.$",
    ),
    "read_model: bytes": (lambda: ANY.read_model(b"ring:5"), SpecError, r"the model is b'ring:5', neither"),
    "read_cost: nothing": (lambda: ANY.read_cost(None, GRID), SpecError, "the cost is None, neither a name"),
    "read_edge_costs: nothing": (
        lambda: ANY.read_edge_costs(None, GRID),
        SpecError,
        "edge costs are None, neither",
    ),
    "read_costs: nothing": (lambda: ANY.read_costs(None, GRID), SpecError, "the costs are None, neither a name"),
    "read_costs: rounds as text": (
        lambda: ANY.read_costs("iid", GRID, rounds="5"),
        SpecError,
        rf"the number of rounds is '5'\. {WHOLE}",
    ),
    "read_costs: half a round": (
        lambda: ANY.read_costs("iid", GRID, rounds=2.5),
        SpecError,
        rf"the number of rounds is 2\.5\. {WHOLE}",
    ),
    "read_costs: seed": (lambda: ANY.read_costs("iid", GRID, rounds=5, seed="a"), SpecError, "the seed is 'a'. A seed"),
    "read_costs: scale": (
        lambda: ANY.read_costs("iid", GRID, rounds=5, scale=(0, "a")),
        SpecError,
        r"the scale is \(0, 'a'\)\. Give two different finite numbers, such as scale",
    ),
    "read_costs: one number as scale": (
        lambda: ANY.read_costs("iid", GRID, rounds=5, scale=5),
        SpecError,
        r"the scale is 5\. Give two different",
    ),
    "read_costs: missing": (
        lambda: ANY.read_costs("iid", GRID, rounds=5, missing="a"),
        SpecError,
        "--missing is 'a'. It must lie between 0 and 1",
    ),
    "from_round": (lambda: read_costs("iid", GRID, rounds=5).from_round(WORD), CostError, "there is no round 'a'"),
    "FollowTheLeader": (lambda: ANY.FollowTheLeader("a"), SpecError, "takes kappa >= 0 and tolerance > 0, not 'a', 1e"),
    "FollowTheLeader: a flag": (lambda: ANY.FollowTheLeader(True), SpecError, "takes kappa >= 0 .* not True, 1e-06"),
    "TrackTheLeader": (lambda: ANY.TrackTheLeader("2"), SpecError, rf"steps of TrackTheLeader is '2'\. {WHOLE}"),
    "TrackTheLeader: half a step": (lambda: ANY.TrackTheLeader(2.5), SpecError, rf"TrackTheLeader is 2\.5\. {WHOLE}"),
    "TrackTheDiscounted": (lambda: ANY.TrackTheDiscounted("a"), SpecError, "the weight of the newest cost, .* not 'a'"),
    "DiscountedLeader": (lambda: ANY.DiscountedLeader(None), SpecError, "takes a step size eta > 0, not None. A usual"),
    "DiscountedLeader: tolerance": (
        lambda: ANY.DiscountedLeader(0.1, "a"),
        SpecError,
        "DiscountedLeader takes a tolerance > 0, not 'a'. A usual value is 1e-6",
    ),
    "WindowLeader: half a round": (
        lambda: ANY.WindowLeader(2.5),
        SpecError,
        rf"of WindowLeader is 2\.5\. {WHOLE}",
    ),
    "WindowLeader: a flag": (lambda: ANY.WindowLeader(True), SpecError, rf"width of WindowLeader is True\. {WHOLE}"),
    "WindowLeader: tolerance": (
        lambda: ANY.WindowLeader(5, -1),
        SpecError,
        "takes a tolerance > 0, not -1",
    ),
    "PhasedLeader": (lambda: ANY.PhasedLeader("a"), SpecError, "PhasedLeader takes 0 < epsilon < 1/3, not 'a'"),
    "PhasedLeader: tolerance": (lambda: ANY.PhasedLeader(0.1, 0), SpecError, "takes a tolerance > 0, not 0"),
    "Clock": (lambda: ANY.Clock(24, "a"), SpecError, "Clock takes eta >= 0 and tolerance > 0, not 'a' and 0.001"),
    "Visited": (lambda: ANY.Visited("a"), SpecError, "Visited takes eta >= 0 and tolerance > 0, not 'a' and 1e-06"),
    "Fixed": (lambda: ANY.Fixed("a"), SpecError, r"Fixed takes a policy, not 'a'\. .*: solution\.policy\.$"),
    "learner_by_name": (lambda: learner_by_name(NOTHING), SpecError, 'there is no learner "None"'),
    "sample: a seed": (
        lambda: lsmdp.Policy(GRID, COST).sample(0, THREE),
        SpecError,
        r"rng is 3, not a random generator\. .* rng = numpy\.random\.default_rng\(0\)\.$",
    ),
    "sample: many and nothing": (
        lambda: lsmdp.Policy(GRID, COST).sample([0, 1], NOTHING),
        SpecError,
        "rng is None, not a random generator",
    ),
    "play: a name": (
        lambda: play("iid"),
        CostError,
        r'the costs are "iid", .* Read them first: lsmdp\.read_costs\("iid", lmdp, rounds=1000\)\.$',
    ),
    "play: a path as text": (
        lambda: play("speeds.csv"),
        CostError,
        r'Read them first: lsmdp\.read_costs\("speeds\.csv", lmdp\)\.$',
    ),
    "play: a path": (lambda: play(Path("speeds.csv")), CostError, r'lsmdp\.read_costs\("speeds\.csv", lmdp\)\.$'),
    "play: nothing": (lambda: play(None), CostError, "the costs are no sequence, but None. Give an array"),
    "play: a number": (lambda: play(5), CostError, "the costs are no sequence, but 5"),
    "play: fewer than no walkers": (
        lambda: play([COST], sample=-1),
        SpecError,
        "is -1. It must be a whole number, 0",
    ),
    "play: walkers as text": (lambda: play([COST], sample="2"), SpecError, r"walkers \(sample\) is '2'\. It must be a"),
    "solve: a name as rounds": (
        lambda: ANY.solve(GRID, "iid", lsmdp.Horizon()),
        CostError,
        r'lsmdp\.read_costs\("iid", lmdp, rounds=1000\)',
    ),
}


@pytest.mark.parametrize(("call", "kind", "sentence"), WRONG.values(), ids=WRONG)
def test_a_wrong_kind_is_a_sentence(call: Callable[[], Any], kind: type[LsmdpError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence) as refused:
        call()
    assert type(refused.value) is kind


RIGHT: dict[str, Callable[[], Any]] = {
    "grid": lambda: ANY.grid(np.int64(3), np.array(3), lazy=np.float64(0.2)),
    "ring": lambda: ANY.ring(np.int32(3), np.float64(0.3)),
    "random_graph": lambda: ANY.random_graph(np.int64(5), np.int64(3), np.int64(1)),
    "temperature": lambda: ANY.LMDP(P, temperature=np.array(0.5)),
    "discount": lambda: ANY.Discounted(np.float64(0.9)),
    "a fraction": lambda: ANY.Discounted(Fraction(9, 10)),
    "tol": lambda: ANY.solve(GRID, COST, tol=np.float32(1e-6)),
    "rounds": lambda: ANY.read_costs("iid", GRID, rounds=np.int64(5), seed=np.int64(3), scale=np.array([0, 1])),
    "learners": lambda: play([COST], sample=np.int64(2)),
    "kappa": lambda: play([COST, COST], start=np.int64(1)),
    "options": lambda: ANY.play(
        GRID,
        [ANY.FollowTheLeader(np.float64(1.0)), ANY.WindowLeader(np.int64(5)), ANY.TrackTheLeader(np.int64(2))],
        [COST, COST, COST],
    ),
}


@pytest.mark.parametrize("call", RIGHT.values(), ids=RIGHT)
def test_numbers_of_numpy_are_numbers(call: Callable[[], Any]) -> None:
    call()


def test_the_two_checkers() -> None:
    for value in ("1", None, True, np.True_, [1.0], 1j, 10**400, np.array([1.0])):
        assert np.isnan(real(value))
    assert [real(value) for value in (1, -2.5, np.float32(0.5), np.array(3), Fraction(1, 4))] == [1, -2.5, 0.5, 3, 0.25]
    assert type(as_whole(np.int64(5), "n")) is int
    with pytest.raises(SpecError, match=r"^n is 0\. It must be a whole number, 1 or more\.$"):
        as_whole(np.int64(0), "n", least=1)


def test_whatever_is_quoted_is_one_short_line() -> None:
    assert [told(value) for value in ("a", np.float64(-1.0), np.int64(3), 2, True)] == ["'a'", "-1.0", "3", "2", "True"]
    for value in (np.eye(9), "x" * 1000, list(range(10**5)), lsmdp.Policy(GRID, COST)):
        assert len(told(value)) < 100
        assert "\n" not in told(value)


@pytest.mark.parametrize("name", ["iid", "binary", "switching", "drift", "target", "danger"])
def test_costs_by_name_can_be_sent_to_another_process(name: str) -> None:
    costs = read_costs(name, GRID, rounds=7, seed=3)
    there: Costs = pickle.loads(pickle.dumps(costs))
    assert there.digest() == costs.digest()
    np.testing.assert_array_equal(list(there), list(costs))


def test_a_run_can_be_sent_to_another_process() -> None:
    run = play(read_costs("iid", GRID, rounds=7))
    there = pickle.loads(pickle.dumps(run))
    assert [tally.loss for tally in there.learners.values()] == [tally.loss for tally in run.learners.values()]
    assert there.regret().leader.bounds == run.regret().leader.bounds
