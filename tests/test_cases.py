"""The cases of docs/cases: their models by definition, their scripts in short, their pages against their records."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lsmdp
from cases import bikes, heaters, page, patrol, tank, traffic
from lsmdp.chain import period
from lsmdp.regret.bracket import lower_bound

LOS_LOOP = Path(__file__).parents[2] / "shared" / "data" / "los-loop"
STRANGERS = Path(__file__).parents[2] / "shared" / "data" / "strangers"
CASES = {"traffic": traffic, "bikes": bikes, "heaters": heaters, "patrol": patrol}


def record_of(name: str, out: Path = page.OUT) -> dict[str, Any]:
    return json.loads((out / f"{name}.json").read_text(encoding="utf-8"))


def some_v(n: int, seed: int, span: float = 1.0) -> Any:
    return np.random.default_rng(seed).uniform(0.0, span, n)


# --- pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_page_is_what_its_record_says(name: str) -> None:
    written = (page.OUT / f"{name}.md").read_text(encoding="utf-8")
    assert written == CASES[name].text(record_of(name)), "run python -m cases"
    assert f"({name}.png)" in written
    assert 10_000 < (page.OUT / f"{name}.png").stat().st_size <= page.LARGEST_FIGURE


@pytest.mark.parametrize("name", CASES)
def test_a_page_names_the_command_that_makes_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of the page, parsed by the script, asks for what the record says it was made with."""
    command = re.search(rf"^    python -m cases\.{name}(.*)$", (page.OUT / f"{name}.md").read_text(), re.MULTILINE)
    asked: dict[str, Any] = {}

    def study(*values: Any, **options: Any) -> Any:
        asked.update(enumerate(values), **options)
        raise StopIteration

    monkeypatch.setattr(CASES[name], "study", study)
    with pytest.raises(StopIteration):
        CASES[name].main(shlex.split(command[1]))
    made_with = record_of(name)["arguments"]
    if name == "traffic":
        assert [asked[0].name, asked[1].name] == [made_with["adjacency"], made_with["speeds"]]
        assert {key: asked[key] for key in ("fastest", "minutes", "bracket")} == {
            key: made_with[key] for key in ("fastest", "minutes", "bracket")
        }
        assert (asked["rounds"] is not None) == made_with["cut"]
    else:
        given = [value.name if isinstance(value, Path) else value for value in asked.values()]
        assert given == list(made_with.values())


def test_prose_is_wrapped_and_the_rest_is_not() -> None:
    table = page.table(["a", "b"], [["x", "-1.0"]])
    assert table == "| a | b |\n| --- | ---: |\n| x | -1.0 |"
    assert page.wrapped(table) == table.replace("-1", "−1")
    assert page.wrapped("    a command  with   -1") == "    a command  with   -1"
    assert page.wrapped("one\ntwo") == "one two"
    assert page.wrapped("- one\n  two\n- three") == "- one two\n- three"


@pytest.mark.parametrize(
    ("module", "words", "sentence"),
    [
        (heaters, ["--days", "0"], "--days is 0. Ask for at least 1."),
        (patrol, ["--minutes", "-5"], "--minutes is -5. Ask for at least 1."),
        (traffic, ["a.csv", "b.csv", "--minutes", "0"], "--minutes is 0. The time between two rows is at most a day"),
        (traffic, ["nowhere.csv", "b.csv"], "nowhere.csv"),
    ],
)
def test_a_mistake_is_a_sentence(
    module: ModuleType, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        page.run(lambda _: module.main(words))
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("error: ")
    with pytest.raises(lsmdp.LsmdpError, match=re.escape(sentence)):
        module.main(words)


# --- water heaters -------------------------------------------------------------------------------------------------


def test_a_heater_is_a_usable_chain() -> None:
    lmdp = tank.heater()
    assert lmdp.n == tank.STATES == 84
    lmdp.require_irreducible()
    assert period(lmdp.P) == 1
    assert np.diff(lmdp.P.indptr).max() == 2  # the coin is all the chance there is
    assert (lmdp.labels[0], lmdp.labels[-1]) == ("off 50.25", "on 60.25")


def test_moves_are_physics_and_a_coin() -> None:
    """P by hand: from every state, where the heat goes, and the thermostat's chance."""
    P, use = tank.heater().P.toarray(), tank.power()
    for x in range(84):
        on = x >= 42
        k = x - 42 if on else x + 1
        after = min(k + 6, 42) if on else k - 1
        assert use[x] == pytest.approx((after - k + 1) / 7 if on else 0.0)
        chance = 1 - (after / 42) ** 6 if on else (1 - after / 42) ** 6
        expected = np.zeros(84)
        if after < 42:
            expected[42 + after] += chance
        if after > 0:
            expected[after - 1] += 1 - chance
        assert P[x] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_heat_is_kept_whatever_the_policy(seed: int) -> None:
    mu = lsmdp.Policy(tank.heater(), some_v(84, seed)).stationary()
    assert mu @ tank.power() == pytest.approx(1 / 7, abs=1e-12)


@pytest.mark.parametrize("price", [0.1, 1.0])
def test_a_constant_price_is_worth_nothing(price: float) -> None:
    """All policies have the bill price/7, so a policy within gap of the optimum pays at most that for bent coins."""
    lmdp = tank.heater()
    solution = lsmdp.solve(lmdp, price * tank.power(), tol=1e-10)
    low, high = solution.bounds
    assert low <= price / 7 + 1e-12
    assert high >= price / 7 - 1e-12
    policy = solution.policy
    assert lmdp.temperature * (policy.stationary() @ policy.kl()) <= high - low + 1e-14


def test_coins_are_the_rows_of_the_policy() -> None:
    lmdp, v = tank.heater(), some_v(84, 1)
    policy, coins = lsmdp.Policy(lmdp, v), tank.bent(v, lmdp.temperature)
    for x in range(84):
        states, chances = policy.row(x)
        after = min(x - 42 + 6, 42) if x >= 42 else x
        assert chances[states >= 42].sum() == pytest.approx(coins[int(x >= 42), after], abs=1e-14)
    assert coins[:, 0].tolist() == [1.0, 1.0]  # never left cold,
    assert coins[:, 42].tolist() == [0.0, 0.0]  # never boiled


def test_draws_inside_P_get_bent() -> None:
    lmdp, use = tank.with_draws()
    lmdp.require_irreducible()
    alone = lsmdp.Policy(lmdp, np.zeros(lmdp.n)).stationary() @ use
    assert alone == pytest.approx(1 / 7, rel=0.01)  # a level a step, but for tanks that are kept at level 0
    steered = lsmdp.solve(lmdp, 0.5 * use).policy.stationary() @ use
    assert steered < 0.01 * alone
    assert record_of("heaters")["draws"] == pytest.approx({"passive": alone, "optimum": steered}, rel=1e-6)


def test_the_price_is_a_price() -> None:
    price = tank.signal(31, 0)
    assert price.shape == (4464,)
    assert price.min() >= 0.02
    assert price.max() <= 1.0
    assert np.array_equal(price, tank.signal(31, 0))
    assert not np.array_equal(price, tank.signal(31, 1))
    day = price.reshape(31, 144).mean(axis=0)
    assert day[19 * 6] > day[13 * 6] > day[3 * 6]  # evening, noon, night


def test_costs_with_a_clock_are_known_and_right() -> None:
    price = tank.signal(2, 3)
    for t, c_t in enumerate(tank.ClockCosts(price)):
        by_slot = c_t.reshape(144, 84)
        assert np.array_equal(by_slot[t % 144], price[t] * tank.power())  # what is paid,
        told = by_slot[:, 42]  # and on at level 0 the power is full
        seen = [price[s + 144 * ((t - s) // 144)] if s <= t else price[t] for s in range(144)]
        assert np.array_equal(told, seen)


def test_a_day_plan_by_the_solver_and_by_recursion() -> None:
    """The average cost on 12,096 states is the growth of the finite-horizon optimum on 84, a day more of equal days."""
    plain = tank.heater()
    day = tank.signal(1, 0)
    clock = tank.with_clock(plain)
    assert period(clock.P) == 144
    low, high = lsmdp.solve(clock, np.outer(day, tank.power()).ravel(), solver=lsmdp.Direct()).bounds
    start = np.full(84, 1 / 84)
    eight, nine = (heaters.foreseen(plain, np.tile(day, days), start)[0] for days in (8, 9))
    assert (nine - eight) / 144 == pytest.approx((low + high) / 2, abs=1e-7)


def test_those_who_know_all_prices_pay_the_lower_bound() -> None:
    lmdp, price = tank.heater(), tank.signal(2, 1)
    start = lsmdp.Policy(lmdp, np.zeros(84)).stationary()
    bound, month = heaters.foreseen(lmdp, price, start)
    assert bound == pytest.approx(month.bill(price) + month.control, rel=1e-10)
    assert bound == pytest.approx(lower_bound(lmdp, price[:, None] * tank.power(), start), rel=1e-10)


def test_the_recorded_month_is_that_of_its_arguments() -> None:
    record = record_of("heaters")
    price = tank.signal(record["arguments"]["days"], record["arguments"]["seed"])
    lmdp = tank.heater()
    start = lsmdp.Policy(lmdp, np.zeros(84)).stationary()
    assert record["months"]["passive"]["bill"] == pytest.approx(price.sum() / 7, rel=1e-10)
    assert record["bound"] == pytest.approx(lower_bound(lmdp, price[:, None] * tank.power(), start), rel=1e-9)


def test_tanks_keep_their_heat() -> None:
    """Always on, tanks stay full and use what is drawn and leaks: a level a step, within 5 standard errors.

    A draw happens with chance 1/8 on average and is exponential with mean 7.2, so the variance of a step is at most
    2 * 7.2^2 / 8 = 13 levels^2; tanks and steps are independent, up to draws that a cut-out refills a step later.
    """
    always = np.ones((10 * 144, 2, 43))
    done = tank.simulate(always, tanks=200, seed=1)
    assert done.degrees.max() <= 60.5 + 1e-5
    assert done.switches < 1.0 / 10 + 1e-12  # once, at the beginning
    steps = done.use[144:]  # after a day all are full
    assert 7 * steps.mean() == pytest.approx(1.0, abs=5 * np.sqrt(13 / (200 * steps.size)))


def test_the_heaters_in_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heaters.main(["--days", "1", "--tanks", "20", "--out", str(tmp_path)])
    assert [Path(line).name for line in capsys.readouterr().out.split()] == [
        "heaters.json",
        "heaters.md",
        "heaters.png",
    ]
    record = record_of("heaters", tmp_path)
    for name in ("ftl", "discounted", "window", "passive"):
        assert record["months"][name]["loss"] == pytest.approx(record["months"]["passive"]["loss"], rel=1e-6)
    for month in record["months"].values():
        assert record["bound"] <= month["loss"] * (1 + 1e-10)
    assert record["bound"] <= record["leader"]["loss"] <= record["months"]["clock"]["loss"]
    assert (tmp_path / "heaters.md").read_text(encoding="utf-8") == heaters.text(record)


# --- patrol --------------------------------------------------------------------------------------------------------


def test_the_map_is_a_movingai_map_without_dead_parts() -> None:
    lines = patrol.MAP.read_text(encoding="ascii").splitlines()
    assert lines[:4] == ["type octile", "height 30", "width 64", "map"]
    assert len(lines) == 34
    assert {len(line) for line in lines[4:]} == {64}
    assert set("".join(lines[4:])) == set(".@TW")
    lmdp = patrol.harbour()
    assert lmdp.n == "".join(lines[4:]).count(".")
    assert [lines[4 + row][column] for row, column in lmdp.positions.astype(int)] == ["."] * lmdp.n
    lmdp.require_irreducible()
    for row, column in (patrol.EAST, patrol.WEST):
        assert lines[4 + row][column] == "."


def test_alarms_change_sides_with_the_shift() -> None:
    lmdp = patrol.harbour()
    places = lmdp.positions[patrol.alarms(lmdp, patrol.DAY, seed=2)]
    by_day = patrol.is_day(np.arange(patrol.DAY))
    assert by_day.sum() == 720
    east = places[:, 1] > 45
    west = places[:, 1] < 19
    # 70 % come from within a few cells of either place, and of the 30 % from anywhere at most a third from that side
    assert 0.65 < east[by_day].mean() < 0.85
    assert 0.65 < west[~by_day].mean() < 0.85


def test_walking_respects_walls() -> None:
    lmdp = patrol.harbour()
    distance = patrol.walking(lmdp)
    number = {tuple(place): x for x, place in enumerate(lmdp.positions.astype(int).tolist())}
    assert distance[number[1, 1], number[1, 4]] == 3
    assert distance[number[3, 17], number[3, 24]] == 11  # around a shed: 7 across, and 2 up and 2 down again


def test_the_recorded_bound_of_the_patrol_is_that_of_its_arguments() -> None:
    record = record_of("patrol")
    lmdp = patrol.harbour()
    distance = patrol.walking(lmdp)
    places = patrol.alarms(lmdp, record["arguments"]["minutes"], record["arguments"]["seed"])
    start = np.eye(1, lmdp.n)[0]
    found = lower_bound(lmdp, distance[:, places].T / distance.max(), start)
    assert record["bound"] == pytest.approx(found, rel=1e-9)
    assert all(found <= one["loss"] for one in record["learners"].values())


def test_the_patrol_in_short(tmp_path: Path) -> None:
    patrol.main(["--minutes", "15", "--seed", "3", "--out", str(tmp_path)])
    record = record_of("patrol", tmp_path)
    for one in record["learners"].values():
        assert one["loss"] == pytest.approx(15 * one["away"] / record["longest"] + one["control_cost"], rel=1e-9)
        assert one["loss"] >= record["bound"]
        assert one["leader"] == pytest.approx(one["loss"] - record["cost_of_leader"], abs=1e-9)
        assert one["night"] is None
    assert (tmp_path / "patrol.md").read_text(encoding="utf-8") == patrol.text(record)


def test_the_commands_of_the_patrol_run(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the page, but shorter, and on another map: what is said of the harbour is tested above."""
    monkeypatch.chdir(tmp_path)  # maps are read from there
    yard = tmp_path / "yard.map"
    yard.write_text("type octile\nheight 4\nwidth 6\nmap\n......\n.@@.T.\n.@....\n....WW\n")
    written = (page.OUT / "patrol.md").read_text(encoding="utf-8")
    play, report = re.findall(r"^    lsmdp (.*)$", written, flags=re.MULTILINE)
    out = str(tmp_path / "run")
    words = [str(yard) if word == "docs/cases/harbour.map" else word for word in shlex.split(play)]
    assert str(yard) in words
    words = [out if word == "runs/harbour" else {"500": "5"}.get(word, word) for word in words]
    assert run(*words).exit_code == 0
    told = run(*[out if word == "runs/harbour" else word for word in shlex.split(report)])
    assert told.exit_code == 0, told.stderr
    assert (tmp_path / "run" / "report.html").is_file()


# --- traffic -------------------------------------------------------------------------------------------------------


@pytest.fixture
def roads(tmp_path: Path) -> tuple[Path, Path]:
    """Eleven detectors on a ring road with a shortcut and a dead end, and two days of speeds with an evening jam."""
    n, rng = 12, np.random.default_rng(0)
    weights = np.eye(n)
    for x in range(11):
        weights[x, (x + 1) % 11] = weights[(x + 1) % 11, x] = 0.5
    weights[0, 5] = weights[5, 0] = 0.25
    weights[3, 11] = 0.1  # from where nobody comes back
    hour = np.arange(2 * 48) % 48 / 2
    jam = np.exp(-(((hour - 17) / 2) ** 2))[:, None] * np.exp(-(((np.arange(n) - 3) / 2.0) ** 2))
    speed = 60 - 40 * jam + rng.uniform(-3, 3, (hour.size, n))
    adjacency, speeds = tmp_path / "roads.csv", tmp_path / "speeds.csv"
    np.savetxt(adjacency, weights, delimiter=",", fmt="%.3f")
    np.savetxt(speeds, speed, delimiter=",", fmt="%.3f", header=",".join(f"d{k}" for k in range(n)), comments="")
    return adjacency, speeds


def test_traffic_on_roads_of_our_own(
    roads: tuple[Path, Path], tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*map(str, roads), "--minutes", "30", "--bracket", "--out", str(tmp_path / "out")]
    traffic.main(words)
    record = record_of("traffic", tmp_path / "out")
    assert (record["detectors"], record["states"], record["arguments"]["rounds"]) == (12, 11, 96)
    low, high = record["best_stationary"]
    assert low <= high
    for one in record["learners"].values():
        assert one["loss"] == pytest.approx(one["state_cost"] + one["control_cost"], abs=1e-10)
        assert one["speed"] == pytest.approx(70 * (1 - one["state_cost"] / 96), abs=1e-10)
        assert one["leader"] == pytest.approx(one["loss"] - record["cost_of_leader"], abs=1e-10)
        assert one["loss"] >= low
    assert record["learners"]["ftl"]["speed"] > record["learners"]["passive"]["speed"]
    offers = record["offers"]
    assert all(dear["speed"] < cheap["speed"] for dear, cheap in pairwise(offers))
    for offer in offers:  # Pinsker: (total variation)^2 <= KL/2, and Jensen
        assert offer["nudged"] ** 2 <= offer["kl"] / 2
        assert offer["nudged"] <= offer["largest"] <= 1
    assert record["strongest"]["from"].startswith("d")
    assert record["slowest"]["hour"] == pytest.approx(17, abs=2.5)
    written = (tmp_path / "out" / "traffic.md").read_text(encoding="utf-8")
    assert written == traffic.text(record)
    assert "python -m cases.traffic roads.csv speeds.csv --minutes 30 --bracket\n" in written
    command = shlex.split(written.partition("    lsmdp ")[2].replace("\\\n", ""))
    monkeypatch.chdir(tmp_path)
    played = json.loads(run(*command, "--json").stdout)
    assert played["rounds"] == 96  # the same game, but from the first detector and not from everywhere
    assert set(played["learners"]) == {"ftl", "discounted", "passive"}


def test_nudges_and_trips_by_hand() -> None:
    lmdp = lsmdp.random_graph(9, 4, seed=1)
    policy = lsmdp.Policy(lmdp, some_v(9, 4))
    P, Q = lmdp.P.toarray(), policy.matrix().toarray()
    assert traffic.nudged(policy) == pytest.approx(np.maximum(Q - P, 0).sum(axis=1), abs=1e-14)
    law = traffic.on_trips(policy, 12)
    rho = lsmdp.Policy(lmdp, np.zeros(9)).stationary()
    assert law == pytest.approx(rho / 12 + (11 / 12) * law @ Q, abs=1e-14)
    assert law.sum() == pytest.approx(1.0)
    turn = traffic.strongest(policy, [f"s{k}" for k in range(9)])
    change = np.abs(policy.stationary()[:, None] * (Q - P))
    x, y = np.unravel_index(change.argmax(), change.shape)
    assert turn == {"from": f"s{x}", "to": f"s{y}", "before": pytest.approx(P[x, y]), "after": pytest.approx(Q[x, y])}


@pytest.mark.skipif(not LOS_LOOP.is_dir(), reason=f"the los-loop data are not in {LOS_LOOP}")
def test_traffic_on_the_real_roads(tmp_path: Path) -> None:
    files = LOS_LOOP / "los_adj.csv", LOS_LOOP / "los_speed.csv"
    traffic.main([*map(str, files), "--rounds", "60", "--out", str(tmp_path)])
    record = record_of("traffic", tmp_path)
    assert (record["detectors"], record["states"], record["arguments"]["rounds"]) == (207, 206, 60)
    assert record["learners"]["ftl"]["loss"] < record["learners"]["passive"]["loss"]
    assert "--rounds 60\n" in (tmp_path / "traffic.md").read_text(encoding="utf-8")
    lmdp = lsmdp.read_model(str(files[0]), normalise=True, largest_class=True)
    speeds = np.loadtxt(files[1], delimiter=",", skiprows=1)[:, lmdp.origin]
    low, high = record_of("traffic")["average_cost_bounds"]
    now = lsmdp.solve(lmdp, (1 - speeds / 70).mean(axis=0)).bounds
    assert max(low, now[0]) <= min(high, now[1]) + 1e-12  # both hold the optimum


TRIPS = """start date,start station,end date,end station
8/31/15 07:10,a,8/31/15 07:20,b
8/31/15 07:30,b,8/31/15 08:10,a
8/31/15 08:05,a,8/31/15 08:30,b
8/31/15 08:40,b,8/31/15 08:50,c
8/31/15 08:40,c,8/31/15 09:50,a
"""


def test_surplus_by_hand(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(TRIPS)
    lmdp = lsmdp.fit(tmp_path / "trips.csv", trips=True, holdout=0.0).lmdp
    surplus, clock = bikes.hours(tmp_path / "trips.csv", lmdp)
    assert surplus.tolist() == [[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert clock.tolist() == [7.0, 8.0, 9.0]


def test_bikes_by_the_clock_is_the_optimum_of_a_day_that_repeats() -> None:
    """Against the model with a clock in its state, solved with a certificate."""
    lmdp = lsmdp.random_graph(5, 3, seed=2)
    costs = np.random.default_rng(5).random((24, 5))
    plan = bikes.by_the_clock(lmdp, np.tile(costs, (40, 1)), np.tile(np.arange(24.0), 40), np.full(5, 0.2))
    shift = np.roll(np.eye(24), 1, axis=1)
    best = lsmdp.solve(lsmdp.LMDP(np.kron(shift, lmdp.P.toarray())), costs.ravel(), solver=lsmdp.Direct()).bounds
    assert plan.loss / (24 * 40) == pytest.approx(best[1], abs=3.0 / (24 * 40))  # the start is paid off once


@pytest.mark.skipif(not STRANGERS.is_dir(), reason=f"the files of strangers are not in {STRANGERS}")
def test_bikes_on_the_real_trips(tmp_path: Path) -> None:
    bikes.main([str(STRANGERS / "bike_trips.csv"), "--out", str(tmp_path)])
    now, then = record_of("bikes", tmp_path), record_of("bikes")
    assert (now["trips"], now["states"], now["kept"]) == (then["trips"], then["states"], then["kept"])
    assert now["bounds"] == pytest.approx(then["bounds"], abs=1e-9)
    assert now["learners"]["clock"]["loss"] < now["learners"]["passive"]["loss"]


@pytest.fixture(autouse=True)
def close_figures() -> Any:
    yield
    from matplotlib import pyplot

    pyplot.close("all")
