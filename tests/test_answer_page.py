"""The page of one solve: what it says is true, and it works in a real browser, wide and narrow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.errors import SpecError
from lsmdp.report.answer import AnswerFacts, answer_page, story, write_answer_page
from tests.browser import look_at_all

Run = Callable[..., Any]
WIDTHS = (390, 1280)

NOTED = """
<script>
const seen = { errors: [] };
window.addEventListener("error", (event) => seen.errors.push(String(event.message)));
window.addEventListener("securitypolicyviolation", (event) => seen.errors.push("asked for " + event.blockedURI));
</script>
"""
VISIT = """
<script>
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)], canvas = all("canvas")[0];
  const box = (node) => node.getBoundingClientRect(), shown = (node) => box(node).width > 0;
  seen.requests = performance.getEntriesByType("resource").length;
  seen.scroll = document.documentElement.scrollWidth; seen.width = innerWidth;
  const pictures = all("#map .switch button").map((one) => { one.click(); return canvas.toDataURL(); });
  seen.different = new Set(pictures).size;
  seen.shows = all("#map .switch button").map((one) => { one.click(); return canvas.dataset.show; });
  const whole = canvas.toDataURL();
  all(".zoom button")[0].click(); seen.closer = canvas.toDataURL() !== whole;
  all(".zoom button")[2].click();
  seen.columns = all("#changes th").filter(shown).map((cell) => cell.textContent);
  seen.over = all("#changes td").filter((cell) => shown(cell) && box(cell).right > innerWidth).length;
  seen.text = document.body.innerText;
  parent.postMessage({ name: window.name, seen }, "*");
})();
</script>
"""


def with_a_visitor(page: Path) -> Path:
    """The page, and what somebody does who looks at it and tells."""
    text = page.read_text(encoding="utf-8")
    visited = page.with_name(f"visited-{page.name}")
    visited.write_text(
        text.replace("<body>", f"<body>{NOTED}", 1).replace("</body>", f"{VISIT}</body>", 1), encoding="utf-8"
    )
    return visited


def network() -> lsmdp.LMDP:
    """A small town with names and places."""
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("d", "e")]
    walk = lsmdp.from_edges([*edges, *((y, x) for x, y in edges)])
    return lsmdp.LMDP(
        walk.P, walk.labels, 0.3, positions=[[0, 0], [2.5, 0], [2, 2], [0, 2], [-3, 4.5]], name="town.csv"
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    models = {"museum": lsmdp.read_model("museum", temperature=0.1), "town": network(), "ring": lsmdp.ring(9)}
    for name, lmdp in models.items():
        write_answer_page(lsmdp.solve(lmdp, lsmdp.read_cost("random:1", lmdp)), folder / f"{name}.html")
    warm = lsmdp.read_model("museum", temperature=0.2)
    write_answer_page(lsmdp.solve(warm, np.ones(warm.n), lsmdp.Goal((33, 27))), folder / "goal.html")
    return {name: folder / f"{name}.html" for name in (*models, "goal")}


@pytest.fixture(scope="module")
def told(pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is seen of each page in each width."""
    visited = {name: with_a_visitor(page) for name, page in pages.items()}
    windows = {f"{name} {width}": (page.as_uri(), width) for name, page in visited.items() for width in WIDTHS}
    return look_at_all(windows, tmp_path_factory.mktemp("visited"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["museum", "town", "ring"])
def test_the_page_works_in_a_browser(told: dict[str, Any], name: str, width: int) -> None:
    seen = told[f"{name} {width}"]
    assert seen["width"] == width
    assert seen["errors"] == []
    assert seen["requests"] == 0
    assert seen["scroll"] <= seen["width"]
    assert seen["over"] == 0  # no cell of the table ends beyond the window
    assert seen["shows"] == ["time", "change", "value", "cost"]
    assert seen["different"] == 4
    assert seen["closer"]
    assert seen["columns"][-3:] == ["left alone", "steered", "change"]
    for leak in ("NaN", "undefined", "Infinity", "null", "e-0", "e-1"):
        assert leak not in seen["text"]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_a_goal_works_in_a_browser(told: dict[str, Any], width: int) -> None:
    seen = told[f"goal {width}"]
    assert seen["errors"] == []
    assert seen["requests"] == 0
    assert seen["scroll"] <= seen["width"]
    assert seen["over"] == 0
    assert seen["shows"] == ["value", "cost"]
    assert seen["columns"][-2:] == ["at least", "at most"]
    for leak in ("NaN", "undefined", "Infinity", "null", "e-0", "e-1"):
        assert leak not in seen["text"]


class TestSums:
    """Pages of goals and discounts."""

    def test_a_goal_that_some_cannot_reach(self) -> None:
        P = np.array([[0.0, 0.5, 0.5, 0.0], [0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        lmdp = lsmdp.LMDP(P, ["a", "b", "pit", "exit"])
        found = lsmdp.solve(lmdp, np.full(4, 0.5), lsmdp.Goal("exit"))
        told = story(AnswerFacts(found, lmdp, found.c))
        assert told["headline"].startswith("To reach exit costs ")
        assert "1 state cannot reach the goal" in told["lede"]
        assert "The dearest start is a." in told["lede"]
        assert told["map"]["fields"]["value"][2] is None
        assert "time" not in told["map"]["fields"]
        rows = {row[0]: row[1:] for row in told["changes"]["rows"]}
        assert rows["a"] == [0.5, found.lower[0], found.upper[0]]
        assert rows["pit"][2] is None
        assert json.loads(json.dumps(told, allow_nan=False)) == told

    def test_a_discount(self) -> None:
        lmdp = network()
        found = lsmdp.solve(lmdp, np.linspace(0.0, 1.0, 5), lsmdp.Discounted(0.9))
        told = story(AnswerFacts(found, lmdp, found.c))
        assert "Discounted by 0.9 a step" in told["headline"]
        assert told["changes"]["rows"][0][0] == lmdp.labels[int(found.upper.argmax())]

    def test_there_is_none_where_each_round_has_a_policy(self) -> None:
        day = lsmdp.solve(network(), np.random.default_rng(0).random((3, 5)), lsmdp.Periodic())
        with pytest.raises(SpecError, match="a policy for each round"):
            answer_page(day)


class TestStory:
    def test_the_numbers_are_those_of_the_solution(self) -> None:
        lmdp = network()
        c = np.array([0.1, 0.9, 0.3, 0.2, 0.6])
        solution = lsmdp.solve(lmdp, c)
        facts = AnswerFacts(solution, lmdp, c)
        told = story(facts, "mine.csv", "lsmdp solve town.csv")
        rho = np.linalg.matrix_power(lmdp.P.toarray() @ (np.eye(5) + lmdp.P.toarray()) / 2, 500)[0]
        np.testing.assert_allclose(facts.passive, rho, atol=1e-12)
        assert facts.alone == pytest.approx(rho @ c, abs=1e-12)
        parts = facts.parts
        assert parts is not None
        assert sum(parts.values()) == pytest.approx(solution.average_cost, abs=1e-9)  # J(Q) = mu.(c + T KL)
        moved = 0.5 * np.abs(solution.stationary - rho).sum()
        assert f"{100 * moved:.1f}% of the time" in told["lede"]
        assert told["kicker"] == "town.csv · cost mine.csv · 5 states · 12 moves · temperature 0.3"
        top = np.argmax(np.abs(solution.stationary - rho))
        assert told["changes"]["rows"][0][0] == "abcde"[top]
        assert told["changes"]["rows"][0][3:] == pytest.approx(
            [rho[top], solution.stationary[top], solution.stationary[top] - rho[top]], abs=1e-12
        )

    def test_costs_of_moves_are_a_part(self) -> None:
        lmdp = network()
        c, edges = np.full(5, 0.2), lmdp.P.toarray() * 0.0
        edges[0, 1] = edges[1, 0] = 1.5
        tilted, extra = lmdp.with_edge_costs(edges)
        solution = lsmdp.solve(tilted, c + extra)
        facts = AnswerFacts(solution, lmdp, c)
        Q, P, mu = solution.policy.matrix().toarray(), lmdp.P.toarray(), solution.stationary
        parts = facts.parts
        assert parts is not None
        assert parts["states"] == pytest.approx(0.2)
        assert parts["moves"] == pytest.approx(mu @ (Q * edges).sum(axis=1), abs=1e-9)
        used = Q > 0
        assert parts["steering"] == pytest.approx(
            0.3 * mu @ np.where(used, Q * np.log(np.where(used, Q, 1.0) / np.where(used, P, 1.0)), 0.0).sum(axis=1)
        )
        assert facts.passive is not None
        assert facts.alone == pytest.approx(0.2 + facts.passive @ (P * edges).sum(axis=1))

    def test_arrows_lie_along_the_move_that_gains_most(self) -> None:
        lmdp = network()
        solution = lsmdp.solve(lmdp, [0.1, 0.9, 0.3, 0.2, 0.6])
        arrows = story(AnswerFacts(solution, lmdp, solution.c))["map"]["arrows"]
        gain = solution.policy.matrix().toarray() - lmdp.P.toarray()
        for x, y, by in arrows:
            assert gain[x, y] == gain[x].max()
            assert by == round(float(gain[x, y]), 3)
        assert {x for x, _, _ in arrows} == {x for x in range(5) if gain[x].max() >= 0.02}

    def test_nothing_to_steer_is_said(self) -> None:
        solution = lsmdp.solve(lsmdp.ring(5), np.full(5, 0.5))
        told = story(AnswerFacts(solution, solution.lmdp, solution.c))
        assert told["changes"]["title"] == "Steering changes nothing: the passive dynamics is the optimum"
        assert told["headline"] == "The least average cost is 0.5 a step"

    def test_a_name_cannot_end_the_script(self) -> None:
        lmdp = lsmdp.from_edges([("</script><b>", "b", 1.0), ("b", "</script><b>", 1.0)])
        assert "</script><b>" not in answer_page(lsmdp.solve(lmdp, [0.0, 1.0]))

    def test_states_in_one_place_are_laid_out(self) -> None:
        lmdp = lsmdp.LMDP(network().P, positions=np.ones((5, 2)))
        solution = lsmdp.solve(lmdp, np.arange(5.0))
        found = story(AnswerFacts(solution, lmdp, solution.c))["map"]
        assert len(set(zip(found["x"], found["y"], strict=True))) == 5
        assert "they are no map" in found["note"]

    def test_a_large_model_has_a_table_instead(self) -> None:
        lmdp = lsmdp.random_graph(4_000, 4)
        solution = lsmdp.solve(lmdp, np.linspace(0.0, 1.0, 4_000))
        told = story(AnswerFacts(solution, lmdp, solution.c))
        assert told["map"] is None
        assert len(told["changes"]["rows"]) == 100

    def test_a_law_beyond_floats_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def beyond(_: object) -> None:
            raise lsmdp.ConvergenceError("the long-run law of this policy is beyond float64")

        monkeypatch.setattr(lsmdp.Policy, "stationary", beyond)
        solution = lsmdp.solve(lsmdp.ring(5), np.arange(5.0))
        told = story(AnswerFacts(solution, solution.lmdp, solution.c))
        assert told["bars"] == []
        assert "beyond what floats can tell" in told["changes"]["finding"]


def test_the_command_writes_it(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    told = json.loads(run("solve", "grid:4x5", "--cost", "hill", "--report", out, "--json").stdout)
    assert told["page"] == str(out)
    text = out.read_text(encoding="utf-8")
    assert r"grid:4x5 \u00b7 cost hill \u00b7 20 states" in text
    assert "{{" not in text
    assert f"The page is in {out}" in run("solve", "grid:4x5", "--cost", "hill", "--report", out).stdout
