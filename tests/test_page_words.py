"""The sentences of the pages: what a heading may say, and what it may not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from lsmdp.report import certificates, words
from lsmdp.report.pages.words import (
    counted,
    figure,
    listed,
    percent,
    yardsticks,
)
from lsmdp.report.pools import pool_parts


def row(name: str, loss: float, **more: Any) -> dict[str, Any]:
    fields = {"name": name, "title": name, "clairvoyant": False, "loss": loss, "control_cost": 0.0, "regret": 0.0}
    return fields | more


def summary(bounds: dict[str, float], low: float = 0.4, rounds: int = 100, name: str = "ftl") -> dict[str, Any]:
    return {
        "rounds": rounds,
        "average_cost_bounds": [low, low + 1e-9],
        "learners": {name: {"regret_at_most_by_mixing_sum": bounds}},
    }


def test_numbers_are_said_as_they_are() -> None:
    assert [figure(value) for value in (-0.0, 0.0, 1234.5, 3e-7, -2.5e9)] == ["0", "0", "1,234", "3·10⁻⁷", "-2.5·10⁹"]
    assert [percent(share) for share in (0.0, 0.0283, 3.2e-6, 1.0)] == ["0%", "2.83%", "0.00032%", "100%"]
    assert [counted(count, "round") for count in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    assert [listed("abc"[:count]) for count in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert yardsticks([]) == ""
    assert yardsticks(["a", "b"]).startswith("a and b are shown the cost")


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ({"a": 2.0}, "a paid 2 in 100 rounds"),
        ({"a": 2.0, "b": 2.5}, "a paid the least: 2, 20% below b"),
        ({"a": 2.0, "b": 2.00001}, "a paid the least: 2, 0.0005% below b"),
        ({"a": 2.0, "b": 2.0 + 1e-14}, "a and b both paid the same: 2"),
        ({"a": 0.0, "b": 0.0, "c": 0.0}, "a, b and c all paid the same: 0"),
        ({"a": 3.0, "b": 2.0, "c": 2.0}, "b and c paid the least: 2 each, 33.3% below a"),
        ({"a": -1.0, "b": 0.0}, "a paid the least: -1, 1 below b"),
        ({"a": -3.0, "b": -2.0}, "a paid the least: -3, 50% below b"),
    ],
)
def test_who_paid_the_least(losses: dict[str, float], said: str) -> None:
    assert words.headline([row(name, loss) for name, loss in losses.items()], 100) == said


def test_who_sees_the_costs_does_not_compete() -> None:
    rows = [row("btl", 1.0, clairvoyant=True), row("ftl", 2.0), row("passive", 4.0)]
    assert words.headline(rows, 9) == "ftl paid the least: 2, 50% below passive"
    assert [words.badge(one, rows) for one in rows] == ["sees cₜ first", "least loss", ""]


@pytest.mark.parametrize(
    ("bound", "which", "said"),
    [
        (3.0, "no", "more than 3 less."),
        (0.0, "no", "less."),
        (1e-12, "no", "less."),
        (-2.0, "every", "at least 2 more."),
    ],
)
def test_what_is_guaranteed(bound: float, which: str, said: str) -> None:
    told = words.lede([row("ftl", 50.0)], summary({"1": bound, "10": 60.0}))
    some = f"{which} stationary policy that forgets its start in time (mixing sum at most 1)"
    assert told.endswith(f"What is guaranteed: {some} would have paid {said}")


def test_a_guarantee_that_says_nothing_is_not_given() -> None:
    """Costs are at least the floor, so that no policy pays less than it each round: nobody needs a proof of that."""
    rows = [row("ftl", 50.0)]
    told = words.lede(rows, summary({"1": 51.0, "10": 60.0}))
    assert "mixing sum" not in told
    stated = re.search(r"no policy pays less than ([\d.]+) a round in the long run", told)
    assert stated
    assert float(stated.group(1)) == 0.4
    assert "mixing sum at most 1)" in words.lede(rows, summary({"1": 51.0}), floor=-0.1)
    assert "mixing sum" not in words.lede(rows, summary({"1": 31.0}), floor=0.2)
    assert "guaranteed" not in words.lede(rows, summary({"1": 51.0}, low=0.2 - 1e-15), floor=0.2)


@pytest.mark.parametrize(
    ("regret", "said"),
    [
        (1.5, "That is 1.5 more than the one policy that is best for the mean of all costs would have paid"),
        (-1.5, "That is 1.5 less than the one policy that is best for the mean of all costs would have paid"),
        (5.7e-14, "That is what the one policy that is best for the mean of all costs would have paid"),
        (-0.0, "That is what the one policy that is best for the mean of all costs would have paid"),
    ],
)
def test_what_the_leader_would_have_paid(regret: float, said: str) -> None:
    assert words.lede([row("ftl", 50.0, regret=regret)], summary({"1": 3.0})).startswith(said)


@pytest.mark.parametrize(
    ("regret", "said"),
    [
        (lambda t: 3.0 * np.log(t), "has grown like log t since round 50: from 3 log t to 3 log t"),
        (lambda t: 0.1 * t, "has grown faster than log t since round 50: from 1.28 log t to 2.17 log t"),
        (lambda t: 1.0 + 0.0 * t, "has grown slower than log t since round 50: from 0.256 log t to 0.217 log t"),
        (lambda t: 0.0 * t, "is zero after 100 rounds"),
        (lambda t: -0.01 * t, "is negative after 100 rounds: −1"),
    ],
)
def test_how_a_curve_has_grown(regret: Any, said: str) -> None:
    t = np.arange(1.0, 101.0)
    curve = {"name": "ftl", "title": "ftl", "t": t.astype(int).tolist(), "regret": regret(t).tolist()}
    assert words.growth_title([curve], 100, "excess", "over t·λ") == f"The excess of ftl over t·λ {said}"


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ([0.2, 0.7, 0.1], "ftl at 1 (70%)"),
        ([0.25, 0.25, 0.25, 0.25], "ftl anywhere (25% each)"),
        ([0.4, 0.4, 0.2], "ftl at 0 or 1 other place (40% each)"),
        ([0.3, 0.3, 0.3, 0.1], "ftl at 0 or 2 other places (30% each)"),
        ([0.50001, 0.49999], "ftl anywhere (50% each)"),
        ([1.0], "ftl at 0 (100%)"),
    ],
)
def test_the_likeliest_place(law: list[float], said: str) -> None:
    assert words.likeliest("ftl", np.array(law), str) == said


@pytest.mark.parametrize(
    ("control", "loss", "said"),
    [(0.0, 5.0, "nothing"), (0.001, 5.0, "0.02% of its loss"), (2.0, -1.0, "2"), (0.0, 0.0, "nothing")],
)
def test_what_steering_takes(control: float, loss: float, said: str) -> None:
    assert words.parts_title([row("ftl", loss, control_cost=control)]) == f"ftl spends {said} on steering"


def test_gaps_that_are_missing_in_some_rounds_certify_nothing() -> None:
    gaps = {"a": np.array([1e-9, np.nan]), "b": np.array([1e-9, 2e-9])}
    assert words.effort_title(gaps, (0.0, 1.0), "x").startswith("Every round of b is certified within 2·10⁻⁹")
    assert "a 10⁻⁹ (round 1), 10⁻⁹ at the end, and none in 1 round" in words.effort_finding(gaps, (0.0, 1.0))
    assert "The costs run from 0 to 1;" in words.effort_finding(gaps, (6.2e-35, 1.0))
    assert "The costs are all 0.5;" in words.effort_finding(gaps, (0.5, 0.5))


def test_places_and_titles_are_printed_as_names() -> None:
    assert words.named('round 3, state 14 "Main St"') == "round 3, at Main St"
    assert words.named('from state 0 "a" to state 1 "b"') == "from a to b"
    assert words.named("round 3, state 14") == "round 3, state 14"
    assert words.named("btl (sees c_t)") == "btl (sees cₜ)"


@pytest.mark.parametrize(
    ("values", "count"),
    [([217.9, 1.05], 2), ([0.0157, 0.0848], 6), ([123456.7], 0), ([0.0, None], 2), ([9.99, -31.0], 3)],
)
def test_a_column_has_one_number_of_decimals(values: list[float | None], count: int) -> None:
    assert words.decimals(values) == count


def test_which_rounds_were_looked_at_is_said() -> None:
    assert certificates.rounds_looked_at(300, 300) == "Every round was looked at."
    assert certificates.rounds_looked_at(0, 300) == "No round was looked at."
    told = certificates.rounds_looked_at(22, 300)
    assert told.startswith("A sample was looked at: the first 22 of 300 rounds.")
    assert "--certify all" in told


def test_control_that_is_rounding_is_nothing() -> None:
    assert (words.control_cost_or_zero(9.9e-15, 218.8), words.control_cost_or_zero(0.01, 218.8)) == (0.0, 0.01)


def test_costs_from_nearly_nothing_on() -> None:
    gaps = {"ftl": np.full(3, 1e-7)}
    assert "The costs run from nearly 0 to 1;" in words.effort_finding(gaps, (7e-8, 1.0))
    assert "The costs run from 0.01 to 1;" in words.effort_finding(gaps, (0.01, 1.0))


def test_who_is_not_among_the_bars_is_told() -> None:
    known, pool = (
        {"title": name, "idealised": part, "comparator": 0.0} for name, part in (("ftl", 1.0), ("pool", None))
    )
    assert words.parts_note([known, pool]).startswith("pool is left out: ")
    assert words.parts_note([known]) == words.parts_note([pool]) == ""  # of all of them the chart speaks itself


def test_a_pool_is_told_by_its_experts() -> None:
    def told(loss: float, **weights: float) -> dict[str, Any]:
        experts = {"discounted-track:1": (4.0, "a"), "discounted-track:0.125": (3.0, "b"), "own:0": (5.0, "c")}
        each = {name: {"loss": paid, "weight": weights[key]} for name, (paid, key) in experts.items()}
        sums = {"loss_at_most": 3.7, "mixed_losses": 3.6, "lag_of_the_law": 0.1}
        pool = {"loss": loss, "experts": {"best": "discounted-track:0.125", "experts": each, **sums}}
        (part,) = pool_parts({"learners": {"pool": pool, "ftl": {"loss": 1.0, "experts": None}}})
        return part

    part = told(3.5, a=0.25, b=0.7504, c=0.0)
    assert part["title"] == (
        "After the last round pool has put 75% of its trust in discounted-track:0.125, which remembers about 8 rounds"
    )
    assert "would have paid 3; the pool, which could not know who would be the best, paid 0.5 more." in part["finding"]
    assert [row[0] for row in part["rows"]] == ["discounted-track:0.125", "discounted-track:1", "own:0"]
    assert [row[3] for row in part["rows"]] == ["remembers about 8 rounds", "goes by the last cost alone", ""]
    assert "put all of its trust in own:0" in told(2.0, a=0.0, b=0.001, c=0.999)["title"]
    assert "paid 1 less." in told(2.0, a=0.0, b=0.001, c=0.999)["finding"]
