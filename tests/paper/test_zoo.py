"""Every corrected and new statement on the built-in models with the built-in costs, for every kind of learner."""

from __future__ import annotations

import math
import warnings

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
ROUNDS = 12
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
    assert [seat.name for seat in game.seats] == list(LEARNERS)
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
