"""Every corrected and new statement on the built-in models with the built-in costs, for every kind of learner."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import lsmdp
from lsmdp.costs import by_name
from lsmdp.costs.names import FAMILIES as COSTS
from lsmdp.learners import learner_by_name
from lsmdp.theory import trace

from .games import checked

MODELS = {
    "ring": lambda temperature: lsmdp.ring(8, temperature=temperature),
    "grid": lambda temperature: lsmdp.grid(3, 3, temperature=temperature),
    "clusters": lambda temperature: lsmdp.clusters(2, 3, 0.05, degree=3, temperature=temperature),
    "sticky": lambda temperature: lsmdp.sticky(0.02, temperature=temperature),
    "swap": lambda temperature: lsmdp.sticky(0.7, temperature=temperature),
    "rank-one": lambda temperature: lsmdp.rank_one([0.5, 0.3, 0.2], temperature=temperature),
    "random": lambda temperature: lsmdp.random_graph(7, degree=3, temperature=temperature),
}
LEARNERS = ("ftl", "track", "plain-track", "phased", "discounted", "window", "passive", "ftl:3")
ROUNDS = 8  # twice the pace of costs that have one
ALWAYS = {"eq:bellman_V", "app:dual", "lem:vbound", "lem:price/2", "thm:main", "new:I1", "new:expconcave"}
UNDERFLOW = {"app:dual", "new:expconcave"}  # they divide by probabilities, or take their logarithms


def fits(cost: str, model: str) -> bool:
    """Whether the costs are made for such a model."""
    return (cost != "swap" or model in ("sticky", "swap")) and (not COSTS[cost].on_map or model in ("ring", "grid"))


def require_all(lmdp: lsmdp.LMDP, cost: str, looked_at: set[str]) -> None:
    """Nothing fails, what was not looked at has a reason, and ``looked_at`` is."""
    spec = f"{cost}:4" if COSTS[cost].argument else cost  # a pace at which something happens in so few rounds
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "plain tracking")
        game = trace(lmdp, by_name(spec, lmdp, ROUNDS, 1), list(map(learner_by_name, LEARNERS)), start=0)
    assert [player.name for player in game.players] == list(LEARNERS)
    found = list(checked(game))
    for one in found:
        assert not one.failed, one
        if one.holds is None:
            assert one.where, one.label
        else:
            assert one.left.size
    seen = {one.label for one in found if one.holds}
    assert looked_at <= seen
    if math.isfinite(game.constants.L):
        assert {"new:ksteps", "new:tracking", "new:approximate"} <= seen


@pytest.mark.parametrize(("model", "cost"), [(model, cost) for model in MODELS for cost in COSTS if fits(cost, model)])
def test_zoo(model: str, cost: str) -> None:
    require_all(MODELS[model](1.0), cost, ALWAYS)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("cost", ["iid", "binary", "doubling"])
def test_temperatures(temperature: float, cost: str) -> None:
    require_all(MODELS["clusters"](temperature), cost, ALWAYS)


@pytest.mark.parametrize("temperature", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("model", ["rank-one", "swap", "grid"])
def test_cold(temperature: float, model: str) -> None:
    """Policies that are almost maps: probabilities down to e^-1000, and bounds beyond float64."""
    require_all(MODELS[model](temperature), "binary", ALWAYS - UNDERFLOW)


def test_the_paper_has_temperature_one() -> None:
    """A cold model has costs of a larger range than the paper's, so that the printed readings say nothing about it."""
    lmdp = lsmdp.ring(4, temperature=0.5)
    cold = trace(lmdp, by_name("iid", lmdp, 4, 1))
    assert {one.holds for one in checked(cold, "printed")} == {None}
    warm = lsmdp.ring(4, temperature=2.0)
    assert True in {one.holds for one in checked(trace(warm, by_name("iid", warm, 4, 1)), "printed")}


def test_a_chain_that_hardly_moves() -> None:
    """1 - P(x,x) rounds to 0: an inverse of I - Q does not exist in floats, hitting times do."""
    report = lsmdp.certify(lsmdp.sticky(1e-17), [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert report.holds
    assert report.game.leader.sensitivity[0] == pytest.approx(1.0 / 2e-17, rel=1e-12)  # 1/(2 eps) by hand


def test_rows_that_differ_by_less_than_rounding() -> None:
    """a(P) = 1e-21 becomes a(Q) = 0.65 at a low temperature; 1 - (1 - a) would be 0, and L = 1."""
    lmdp = lsmdp.LMDP([[1.0, 1e-21], [1.0, 1e-40]], temperature=0.02)
    report = lsmdp.certify(lmdp, [[1.0, 0.0]] * 5)
    assert report.holds
    assert report.game.constants.a == pytest.approx(1e-21)
    assert np.nanmax(report.game.leader.a) > 0.5


def test_only_spans_of_costs_matter() -> None:
    lmdp, costs = lsmdp.LMDP([[0.9, 0.1], [0.2, 0.8]]), np.random.default_rng(5).random((9, 2))
    at_zero, shifted = lsmdp.certify(lmdp, costs), lsmdp.certify(lmdp, costs + 1000.0)
    assert at_zero.holds
    assert shifted.holds
    assert pytest.approx(at_zero.game.constants.L) == shifted.game.constants.L
    assert shifted["lem:change"][0].holds is None  # the paper has costs in [0, 1]


def test_printed_statements_speak_of_all_costs_in_the_unit_interval() -> None:
    """At temperature 10 the costs are at most 0.1, but the paper's tau is over all costs up to 1."""
    lmdp = lsmdp.LMDP([[0.764, 0.236], [0.96, 0.04]], temperature=10.0)
    report = lsmdp.certify(lmdp, np.random.default_rng(1).random((20, 2)))
    assert report.game.paper_setting
    assert report.game.printed.cost_range == 1.0
    assert report.game.constants.cost_range < 0.1
    cold = lsmdp.certify(lsmdp.LMDP([[0.764, 0.236], [0.96, 0.04]], temperature=0.1), [[0.0, 0.1], [0.1, 0.0]])
    assert cold.game.paper_setting


def test_constant_costs_of_any_size() -> None:
    report = lsmdp.certify(lsmdp.ring(3), np.full((4, 3), 250.3), lsmdp.TrackTheLeader())
    assert report.holds
    assert report.game.constants.cost_range == 0.0
