"""What objects show of themselves: short, true, and safe to put into a page."""

from __future__ import annotations

import builtins
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.report import figures
from lsmdp.runs import Spec, start


class Checker(HTMLParser):
    """Every element that is opened is closed, in order, and none runs anything."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def shown(what: Any) -> list[str]:
    checker = Checker()
    checker.feed(what._repr_html_())
    assert checker.open == []
    return checker.text


@pytest.fixture(scope="module")
def game() -> lsmdp.game.Run:
    costs = np.random.default_rng(0).random((40, 6))
    return lsmdp.play(lsmdp.ring(6), [lsmdp.FollowTheLeader(), lsmdp.Passive()], costs)


def test_a_model() -> None:
    lmdp = lsmdp.from_edges([("<b>", "a&b"), ("a&b", "<b>")])
    assert shown(lmdp)[:5] == ["Model", "states", "2", "moves", "2"]
    assert "<b>, a&b" in shown(lmdp)
    assert repr(lsmdp.grid(3, 4)) == "LMDP(grid:3x4: 12 states, 46 moves)"
    assert "3 rows, 4 columns" in shown(lsmdp.grid(3, 4))


def test_a_solution_and_its_policy() -> None:
    solution = lsmdp.solve(lsmdp.grid(3, 4), np.linspace(0.0, 1.0, 12))
    text = shown(solution)
    assert f"{solution.average_cost:.12g}" in text
    assert solution.status in text
    assert len(repr(solution)) < 100
    kl = solution.policy.kl()
    assert f"{kl.max():.4g} nats, in state {kl.argmax()}" in shown(solution.policy)


def test_a_run_and_its_regret(game: lsmdp.game.Run) -> None:
    regret = game.regret()
    assert repr(game).startswith("Run(40 rounds on 6 states; ftl ")
    assert repr(regret).startswith("Regret(40 rounds; against the leader: ftl ")
    assert len(repr(game)) + len(repr(regret)) < 160
    assert f"{game.learners['ftl'].loss:.6g}" in shown(game)
    assert f"{regret['passive'].leader:z.6g}" in shown(regret)


class TestPlots:
    @pytest.mark.parametrize("show", ["value", "cost", "time"])
    def test_a_grid(self, show: str) -> None:
        solution = lsmdp.solve(lsmdp.grid(3, 4), np.linspace(0.0, 1.0, 12))
        ax = solution.plot(show)
        expected = {"value": solution.v, "cost": solution.c, "time": np.sqrt(solution.stationary)}[show]
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()).ravel(), expected)
        ax.figure.clear()

    def test_a_network_has_names_edges_and_arrows_on_them(self) -> None:
        lmdp = lsmdp.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", "a"), ("a", "c")])
        solution = lsmdp.solve(lmdp, [0.0, 1.0, 0.5])
        ax = solution.plot("value")
        assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]
        lines, dots, arrows = ax.collections[:3]
        assert len(lines.get_segments()) == 3
        assert sorted(np.asarray(dots.get_array())) == sorted(solution.v)
        places = {name: np.array(text.xy) for name, text in zip("abc", ax.texts, strict=True)}
        gain = solution.policy.matrix().toarray() - lmdp.P.toarray()
        steered = [x for x in range(3) if gain[x].max() >= 0.02]
        for x, begin, u, v in zip(steered, arrows.get_offsets(), arrows.U, arrows.V, strict=True):
            here, there = places["abc"[x]], places["abc"[int(gain[x].argmax())]]
            np.testing.assert_allclose(begin, here + 0.22 * (there - here))
            np.testing.assert_allclose((u, v), 0.38 * (there - here))
        ax.figure.clear()

    def test_another_picture_is_refused(self) -> None:
        with pytest.raises(lsmdp.SpecError, match=r'no picture of "mood"\. Pictures: value, cost, time'):
            lsmdp.solve(lsmdp.ring(4), np.zeros(4)).plot("mood")

    def test_a_run_is_drawn_as_means(self, game: lsmdp.game.Run) -> None:
        ax = game.plot()
        ftl = ax.lines[0]
        assert ftl.get_xdata().tolist() == [1, 2, 5, 10, 20, 40]
        assert ftl.get_ydata()[-1] == pytest.approx(game.learners["ftl"].loss / 40)
        assert ax.lines[2].get_ydata()[0] == pytest.approx(game.regret().leader.average_cost, abs=1e-9)
        ax.figure.clear()

    def test_without_matplotlib_it_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = builtins.__import__

        def without(name: str, *rest: Any, **more: Any) -> Any:
            if name.split(".")[0] == "matplotlib":
                raise ImportError(name)
            return real(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(
            lsmdp.SpecError, match=r'need matplotlib\. Install it with: pip install "lsmdp\[report\]"\.$'
        ):
            lsmdp.solve(lsmdp.ring(4), np.zeros(4)).plot()

    def test_the_figures_of_a_run_on_a_network_have_a_map(self, tmp_path: Path) -> None:
        start(Spec.of(kernel="ring:7", costs="iid", rounds=5, learners=("ftl",)), tmp_path / "run")
        written = figures.write_figures(tmp_path / "run", "png")
        assert [path.stem for path in written] == ["regret", "paid", "effort", "place"]
