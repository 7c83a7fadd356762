"""``lsmdp solve`` with --goal, --end and --costs, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import lsmdp
from lsmdp.cli import app


def solve(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["solve", *map(str, arguments)])


def told(*arguments: object) -> dict[str, object]:
    done = solve(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_goal_on_a_grid() -> None:
    done = solve("grid:6x12", "--cost", "hill", "--goal", "0,0", "--goal", "5,11=2")
    assert done.exit_code == 0
    for words in ("goal (0, 0), (5, 11)=2", "mean start", "by paths", "dearest start", "certified", "value v"):
        assert words in done.stdout
    lmdp = lsmdp.grid(6, 12)
    s = lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp), lsmdp.Goal({(0, 0): 0.0, (5, 11): 2.0}))
    found = told("grid:6x12", "--cost", "hill", "--goal", "0,0", "--goal", "5,11=2")
    assert found["dearest"] == s.v.argmax()
    assert found["dearest_bounds"] == list(s.bounds_from(int(s.v.argmax())))


def test_labels_with_equals_signs_and_all_states_of_a_small_model(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("from,to,weight\na=1,b,1\nb,a=1,0.5\nb,c,0.5\nc,c,1\n")
    done = solve(tmp_path / "town.csv", "--cost", "uniform", "--goal", "a=1", "--goal", "c=0.5")
    assert done.exit_code == 0, done.stderr
    assert "a=1" in done.stdout
    assert done.stdout.count("0.5") >= 2


def test_what_cannot_reach_the_goal_is_counted(tmp_path: Path) -> None:
    (tmp_path / "trap.csv").write_text("from,to,weight\na,b,0.5\na,pit,0.5\npit,pit,1\nb,b,1\n")
    found = told(tmp_path / "trap.csv", "--cost", "uniform", "--goal", "b")
    assert found["lost"] == 1
    assert "1 states cannot reach the goal" in solve(tmp_path / "trap.csv", "--cost", "uniform", "--goal", "b").stdout


def test_a_discount() -> None:
    lmdp = lsmdp.ring(6)
    s = lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp), lsmdp.Discounted(0.9))
    assert told("ring:6", "--cost", "hill", "--end", "discounted:0.9")["mean_bounds"] == list(s.mean_bounds)


def test_costs_round_by_round(tmp_path: Path) -> None:
    costs = np.random.default_rng(0).random((8, 5))
    np.save(tmp_path / "costs.npy", costs)
    plan = lsmdp.solve(lsmdp.ring(5), costs, lsmdp.Horizon(terminal=lsmdp.read_cost("hill", lsmdp.ring(5))))
    given = ("ring:5", "--costs", tmp_path / "costs.npy", "--end")
    assert told(*given, "horizon", "--terminal", "hill")["dearest_bounds"] == list(
        plan.bounds_from(int(plan.v.argmax()))
    )
    day = lsmdp.solve(lsmdp.ring(5), costs[:3], lsmdp.Periodic())
    assert told(*given, "periodic", "--rounds", "3")["bounds"] == list(day.bounds)
    assert "8 slots a day" in solve(*given, "periodic").stdout


def test_costs_of_moves_are_added_to_every_round(tmp_path: Path) -> None:
    np.save(tmp_path / "costs.npy", np.zeros((4, 3)))
    (tmp_path / "tolls.csv").write_text("from,to,cost\n" + "".join(f"{x},{y},1\n" for x in range(3) for y in range(3)))
    given = ("ring:3", "--costs", tmp_path / "costs.npy", "--edge-costs", tmp_path / "tolls.csv", "--end", "horizon")
    assert told(*given)["mean_bounds"] == pytest.approx([4.0, 4.0], abs=1e-12)


def arrays_in(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as kept:
        return dict(kept)


def test_the_values_go_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "s.npz"
    done = solve("ring:5", "--cost", "hill", "--goal", "2", "--out", out)
    assert f"The answer is in {out}" in done.stdout.replace("\n", "")
    kept = arrays_in(out)
    assert (kept["lower"] <= kept["upper"]).all()
    assert (kept["v"] == kept["upper"]).all()
    solve("ring:5", "--costs", "iid", "--rounds", "3", "--end", "periodic", "--out", out)
    assert arrays_in(out)["values"].shape == (3, 5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--cost", "hill", "--goal", "roof"], 'the goal "roof" is not in the model'),
        (["--cost", "hill", "--goal", "1=much"], '"much" is no number. Write it as in --goal 1=2.5'),
        (["--cost", "hill", "--goal", "1", "--end", "periodic"], "--goal and --end periodic are two ends"),
        (["--cost", "hill", "--end", "goal"], "Name it with --goal STATE"),
        (["--cost", "hill", "--end", "weekly"], 'there is no end "weekly". Choose average, discounted:0.99'),
        (["--cost", "hill", "--end", "discounted:1"], "It must lie strictly between 0 and 1"),
        (["--cost", "hill", "--end", "discounted"], "a number is missing. Write it as in discounted:0.99"),
        (["--end", "horizon"], "Give them with --costs FILE"),
        (["--cost", "hill", "--costs", "iid", "--end", "horizon"], "Leave out --cost"),
        (["--costs", "iid", "--rounds", "3"], "Say --end horizon or --end periodic"),
        (["--cost", "hill", "--terminal", "hill"], "--terminal is for --end horizon"),
        (["--goal", "1"], "nothing has a cost"),
    ],
)
def test_options_that_do_not_fit_are_a_sentence(options: list[str], sentence: str) -> None:
    done = solve("ring:5", *options)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_no_certificate_is_exit_code_1_with_what_there_is() -> None:
    done = solve("ring:5", "--cost", "hill", "--goal", "1", "--tol", "1e-20")
    assert done.exit_code == 1
    assert "not certified" in done.stderr
    assert "Ask for a wider tol (--tol) or, in Python, start from" in done.stderr
    assert "mean start" in done.stdout


MAP = "type octile\nheight 3\nwidth 4\nmap\n....\n.@@.\n....\n"
SCENARIOS = "version 1\n0\tm.map\t4\t3\t0\t0\t3\t0\t3\n1\tm.map\t4\t3\t0\t1\t3\t2\t4\n"


@pytest.fixture
def problems(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "m.map").write_text(MAP)
    (tmp_path / "m.map.scen").write_text(SCENARIOS)
    return f"{tmp_path / 'm.map'}:8", f"{tmp_path / 'm.map.scen'}"


def test_a_start_is_told() -> None:
    lmdp = lsmdp.grid(4, 5)
    s = lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp), lsmdp.Goal((0, 0)))
    found = told("grid:4x5", "--cost", "hill", "--goal", "0,0", "--start", "3,4")
    assert found["start_bounds"] == list(s.bounds_from((3, 4)))
    assert "3,4: " in solve("grid:4x5", "--cost", "hill", "--goal", "0,0", "--start", "3,4").stdout
    discounted = told("ring:6", "--cost", "hill", "--end", "discounted:0.9", "--start", "2")
    assert "start_by_paths" not in discounted
    low, high = lsmdp.solve(lsmdp.ring(6), lsmdp.read_cost("hill", lsmdp.ring(6)), lsmdp.Discounted(0.9)).bounds_from(2)
    assert discounted["start_bounds"] == [low, high]


@pytest.mark.parametrize("number", [1, 2])
def test_a_scenario_has_its_length_for_a_limit(problems: tuple[str, str], number: int) -> None:
    """V lies between the shortest way and that of the likeliest shortest way, whose moves are 1/9 at the least."""
    kernel, file = problems
    scenario = lsmdp.read_scenarios(file)[number - 1]
    temperature = 0.01
    found = told(kernel, "--scenario", f"{file}:{number}", "--edge-costs", "map:length", "--temperature", temperature)
    assert found["shortest_way"] == scenario.length
    low, high = found["start_bounds"]  # type: ignore[misc]
    dearest = temperature * np.log(9.0) * scenario.length
    assert scenario.length - 1e-8 <= high
    assert low <= scenario.length + dearest


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["KERNEL", "--scenario", "FILE:3"], "there are 2 problems"),
        (["KERNEL", "--scenario", "FILE:0"], "counted from 1"),
        (["KERNEL", "--scenario", "nowhere.scen"], "nowhere.scen"),
        (["grid:3x5", "--scenario", "FILE"], "the kernel is no such map"),
        (["ring:12", "--scenario", "FILE"], "the kernel is no such map"),
        (["KERNEL", "--scenario", "FILE", "--goal", "0,0"], "has a goal and a start of its own"),
        (["KERNEL", "--scenario", "FILE", "--edge-costs", "map:time"], "Say map:length"),
        (["ring:12", "--goal", "0", "--edge-costs", "map:length"], "Give a file with the columns"),
        (["KERNEL", "--start", "0,0"], "the average is the same from all"),
        (["KERNEL", "--goal", "0,0", "--start", "1,1"], "wall"),
        (["KERNEL", "--goal", "0,0", "--start", "z"], 'no state "z"'),
    ],
)
def test_bad_starts_and_scenarios(problems: tuple[str, str], arguments: list[str], sentence: str) -> None:
    kernel, file = problems
    given = [word.replace("KERNEL", kernel).replace("FILE", file) for word in arguments]
    done = solve(*given, "--cost", "uniform")
    assert done.exit_code == 2, done.stdout
    assert sentence in " ".join(done.stderr.split())


def test_states_that_rounds_leave_out_cost_what_missing_says(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("from,to\na,b\nb,c\nc,a\n")
    (tmp_path / "c.csv").write_text("a,c\n0.5,0.25\n0.25,0.5\n")
    (tmp_path / "all.csv").write_text("a,b,c\n0.5,0.75,0.25\n0.25,0.75,0.5\n")
    town = (tmp_path / "town.csv", "--end", "horizon", "--costs")
    some, same = told(*town, tmp_path / "c.csv", "--missing", "0.75"), told(*town, tmp_path / "all.csv")
    assert some["mean_bounds"] == same["mean_bounds"]
