"""The page of a run, looked at in a real browser: it runs without errors, asks nothing of the network, and answers."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.cli import pages
from lsmdp.report import figures, write_page
from lsmdp.report.layout import layout
from lsmdp.runs import film
from lsmdp.sources.makers import museum
from tests.browser import look

Run = Callable[..., Any]
LARGEST = 6_000_000

# What is noted while the page loads; what a visitor then does is in visit.js.
VISIT = """
<script>
const seen = { errors: [], wide: null };
window.addEventListener("error", (event) => seen.errors.push(String(event.message)));
window.addEventListener("securitypolicyviolation", (event) => seen.errors.push("asked for " + event.blockedURI));
</script>
"""
CHECK = f"<script>{(Path(__file__).parent / 'visit.js').read_text(encoding='utf-8')}</script>"


def visit(page: Path, width: int) -> dict[str, Any]:
    """What a visitor with a window of this width sees."""
    return _visit(page, width, page.read_text(encoding="utf-8"))


@cache  # several tests look at one page
def _visit(page: Path, width: int, text: str) -> dict[str, Any]:
    visited = page.with_name(f"visited-{width}.html")
    visited.write_text(
        text.replace("<body>", f"<body>{VISIT}", 1).replace("</body>", f"{CHECK}</body>", 1), encoding="utf-8"
    )
    seen = look(visited, page.parent / "profile", '<pre id="seen">', window=(width, 1400))
    found = re.search(r'<pre id="seen">(.*?)</pre>', seen.document, flags=re.DOTALL)
    assert found, seen.messages[-2000:]
    return dict(json.loads(html.unescape(found.group(1))))


@pytest.fixture(scope="module")
def grid_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("grid") / "run", "grid:6x7", "target", 40, certify="sample")


def played(folder: Path, kernel: str, costs: str, rounds: int, *, certify: str = "none", **more: Any) -> Path:
    """The page of a game; without statements about it, which take most of the time, unless asked for."""
    more = {"learners": ("ftl", "track", "passive"), **more}
    spec = lsmdp.runs.Spec.of(kernel=kernel, costs=costs, rounds=rounds, **more)
    lsmdp.runs.start(spec, folder)
    return write_page(folder, trust=True, certify=certify)  # costs may lie elsewhere


@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_of_a_grid_works_in_a_browser(grid_page: Path, width: int) -> None:
    seen = visit(grid_page, width)
    assert seen["errors"] == []
    assert seen["requests"] == 0
    assert seen["scroll"] <= seen["width"]
    assert seen["over"] == []
    assert seen["first"][0] == "1"
    assert seen["last"][0] == "40"
    pictures = [seen["first"][1], seen["last"][1], seen["value"], seen["mean"], seen["passive"]]
    assert len(set(pictures)) == 5  # the slider, the switch of fields and the switch of learners change the picture
    assert seen["as it is"] >= 3
    low, _, high = seen["legend"]  # from where the ramp begins to where it ends
    assert sum(seen["ramp"][0]) < sum(seen["ramp"][-1])  # it begins dark, and dark is the least value of the map
    assert float(low) < float(high)
    assert seen["figures"] == ["0", "0", "−0.4", "0"]  # no zero has a sign, and a minus is no hyphen
    assert "ftl" in seen["tip"]
    assert "round" in seen["tip"]
    assert seen["up"] == sorted(seen["up"], key=str.lower) or seen["up"][0] != seen["down"][0]
    assert sorted(seen["up"]) == sorted(seen["down"])
    assert seen["up"] != seen["down"]
    assert any("paid the least" in heading for heading in seen["headings"])
    assert any("corrected and new statements hold and say something" in heading for heading in seen["headings"])


def test_a_graph_without_coordinates_is_laid_out(tmp_path: Path) -> None:
    seen = visit(played(tmp_path / "run", "random:30:3", "iid", 20), 1440)
    assert seen["errors"] == []
    assert seen["first"] != seen["last"]


def test_a_large_graph_gets_a_table_of_states(tmp_path: Path) -> None:
    seen = visit(played(tmp_path / "run", "random:3001:4", "iid", 3), 1440)
    assert seen["errors"] == []
    assert len(seen["up"]) >= 100
    assert seen["up"] != seen["down"]


def test_the_page_is_one_small_file_without_addresses(grid_page: Path) -> None:
    text = grid_page.read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text)) - {"http://www.w3.org/2000/svg"}
    assert addresses == set()
    assert "{{" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_what_the_page_shows_is_what_the_run_says(grid_page: Path) -> None:
    shown = told_by(grid_page)
    summary = json.loads((grid_page.parent / "summary.json").read_text())
    for one in shown["learners"]:
        told = summary["learners"][one["name"]]
        assert one["loss"] == told["loss"]
        assert one["idealised"] + one["transient"] + one["comparator"] == pytest.approx(
            told["regret"]["leader"], abs=1e-9
        )
    T = summary["rounds"]
    for one in shown["curves"]["learners"]:
        loss = summary["learners"][one["name"]]["loss"]
        assert one["regret"][-1] == pytest.approx(loss - T * summary["average_cost_of_leader"], abs=1e-8)


def told_by(page: Path) -> dict[str, Any]:
    """What the page draws itself from."""
    text = page.read_text(encoding="utf-8")
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    assert block
    return dict(json.loads(block.group(1)))


def test_headings_claim_nothing_that_the_run_does_not_show(tmp_path: Path) -> None:
    idle = told_by(played(tmp_path / "idle", "ring:12", "iid", 1, learners=("passive",)))
    assert idle["headline"].endswith("in 1 round")
    assert idle["effort"]["title"].startswith("No learner here claims a certificate; passive takes ")
    mixed = told_by(played(tmp_path / "mixed", "ring:12", "iid", 50, learners=("discounted", "passive")))
    assert mixed["effort"]["title"].startswith("Every round of discounted is certified within ")
    best = min(mixed["learners"], key=lambda one: float(one["loss"]))
    stated = re.search(r"would have paid more than ([\d.,]+) less", mixed["lede"])
    assert stated
    assert (
        float(stated.group(1).replace(",", "")) < best["loss"]
    )  # a larger one would say nothing: costs are at least 0


def test_a_wide_gap_is_no_certificate_and_the_widest_is_told(tmp_path: Path) -> None:
    page = played(tmp_path / "run", "ring:12", "iid", 50)
    told = told_by(page)["effort"]
    gaps = {name: _gaps(page.parent, name) for name in ("ftl", "track")}
    assert gaps["track"].max() > 0.1  # in round 2 it knows next to nothing
    assert "track" not in told["title"].partition(";")[0]
    stated = re.match(r"Every round of ftl is certified within ([\d.]+)·10⁻(.)", told["title"])
    assert stated
    assert float(stated.group(1)) * 10.0 ** -"⁰¹²³⁴⁵⁶⁷⁸⁹".index(stated.group(2)) == pytest.approx(
        gaps["ftl"].max(), rel=0.06
    )
    assert f"track {gaps['track'].max():.2g} (round {gaps['track'].argmax() + 1})" in told["finding"]
    wide = told_by(played(tmp_path / "wide", "ring:12", "iid", 50, learners=("track", "passive")))["effort"]
    assert wide["title"].startswith("No learner here is certified in every round; ")


def _gaps(folder: Path, learner: str) -> np.ndarray:
    table = lsmdp.runs.Folder(folder).rounds()
    gaps = table["gap"].to_numpy(zero_copy_only=False)
    return np.asarray(gaps[np.array(table["learner"].to_pylist()) == learner])


def test_what_is_certified_is_measured_by_the_range_of_the_costs(tmp_path: Path) -> None:
    """A gap of 1e-7 is no certificate where the costs themselves are as small."""
    costs = np.random.default_rng(0).uniform(0.0, 1e-6, (20, 12))
    np.save(tmp_path / "tiny.npy", costs)
    page = played(tmp_path / "run", "ring:12", str(tmp_path / "tiny.npy"), 20, learners=("track",))
    assert 1e-6 > _gaps(page.parent, "track").max() > 0.01 * np.ptp(costs)
    assert told_by(page)["effort"]["title"].startswith("No learner here is certified in every round")


def test_two_comparators_have_two_names(tmp_path: Path) -> None:
    """Here ftl pays more than the leader did in these rounds, and less than T times its average cost."""
    page = played(tmp_path / "run", "sticky:0.7", "binary", 60)
    told, summary = told_by(page), json.loads((page.parent / "summary.json").read_text())
    ftl = summary["learners"]["ftl"]
    excess = ftl["loss"] - 60 * summary["average_cost_of_leader"]
    assert ftl["regret"]["leader"] > 0.0 > excess
    facts = dict(next(one for one in told["learners"] if one["name"] == "ftl")["facts"])
    best = min(summary["learners"], key=lambda name: float(summary["learners"][name]["loss"]))
    excess_of_best = summary["learners"][best]["loss"] - 60 * summary["average_cost_of_leader"]
    assert excess_of_best < 0.0
    assert facts["regret against the leader"] == ftl["regret"]["leader"]
    assert facts["excess over T·λ, as drawn"] == pytest.approx(excess, abs=1e-9)
    assert (
        told["curves"]["title"] == f"The excess of {best} over t·λ is negative after 60 rounds: −{-excess_of_best:.4g}"
    )
    assert told["curves"]["what"] == "excess over t·λ"
    assert all("regret" not in text for text in (told["curves"]["title"], told["curves"]["what"]))
    seen = visit(page, 1440)
    assert seen["errors"] == []
    assert seen["axis"] == "excess over t·λ"
    assert {"regret against the leader", "excess over T·λ, as drawn"} <= set(seen["table"][0])


def test_the_headline_of_the_theory_counts_the_rows_below_it(grid_page: Path) -> None:
    told = told_by(grid_page)["certificates"]
    ours = [row for row in told["rows"] if row[1] != "printed" and not row[0].startswith("ass:")]
    assumed = [row for row in told["rows"] if row[1] == "corrected" and row[0].startswith("ass:")]
    stated = re.match(
        r"(\d+) of (\d+) corrected and new statements hold and say something; (\d+) hold and say nothing here; 0 fail; "
        r"1 assumption is not met; ",
        told["title"],
    )
    assert stated
    shown = [sum(row[5] == word for row in ours) for word in ("holds", "says nothing")]
    assert [int(word) for word in stated.groups()] == [shown[0], sum(shown), shown[1]]
    assert {row[5] for row in ours} <= {"holds", "says nothing", "left out"}
    assert [row[0] for row in assumed if row[5] != "holds"] == ["ass:ergod"]  # no move of a grid has it
    assert "1 assumption is not met: ass:ergod." in told["note"]
    assert not [row for row in told["rows"] if row[5] in ("does not hold", "FAILS")]
    printed = sum(row[5] == "fails as printed" for row in told["rows"])
    assert told["title"].endswith(f"; {printed} fail as the paper prints them")
    assert shown[1]
    assert "says nothing here if its right side exceeds what is true anyway" in told["note"]


def test_what_was_not_looked_at_as_printed_is_not_counted_as_right(tmp_path: Path) -> None:
    page = played(tmp_path / "run", "grid:3x3", "target", 20, temperature=0.3, certify="sample")
    told = told_by(page)["certificates"]
    assert {row[5] for row in told["rows"] if row[1] == "printed"} == {"left out"}
    assert told["title"].endswith("; none was looked at as printed")


def test_a_tie_is_a_tie(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.full((60, 6), 0.5))
    page = played(tmp_path / "run", "ring:6", str(tmp_path / "flat.npy"), 60)
    told = told_by(page)
    assert told["headline"] == "ftl, track and passive all paid the same: 30"
    assert told["lede"].startswith("That is what the one policy that is best for the mean of all costs would have paid")
    assert told["lede"].endswith("(mixing sum at most 100) would have paid less.")
    assert told["curves"]["title"] == "The excess of ftl over t·λ is zero after 60 rounds"
    assert told["parts"]["title"] == "ftl spends nothing on steering"
    assert "ftl anywhere (16.7% each)" in told["map"]["finding"]
    assert all(one["badge"] == "" for one in told["learners"])  # the least loss of all equal losses is no news
    assert {
        value for one in told["learners"] for name, value in one["facts"] if "over" in name or "against" in name
    } == {0.0}
    seen = visit(page, 1440)
    assert seen["errors"] == []
    assert [text for text in seen["legend"] if text] == ["0.167 everywhere"]
    assert min(seen["ticks"]) >= 1  # an axis within one decade has its ends


def test_some_may_tie_and_the_rest_pay_more(tmp_path: Path) -> None:
    """ftl without rounds of zero cost is ftl:1e-300 to the last bit."""
    np.save(tmp_path / "same.npy", np.tile(np.linspace(0, 1, 6), (60, 1)))
    learners = ("ftl", "ftl:1e-300", "passive")
    told = told_by(played(tmp_path / "run", "ring:6", str(tmp_path / "same.npy"), 60, learners=learners))
    assert re.fullmatch(r"ftl and ftl:1e-300 paid the least: [\d.]+ each, [\d.]+% below passive", told["headline"])
    assert [one["badge"] for one in told["learners"]] == ["least loss, tied", "least loss, tied", ""]


def test_one_learner_is_not_told_to_be_the_best(tmp_path: Path) -> None:
    told = told_by(played(tmp_path / "run", "ring:12", "iid", 1, learners=("passive",)))
    assert told["learners"][0]["badge"] == ""
    assert told["kicker"].endswith("12 states · 1 round")


def test_who_sees_the_costs_is_marked_and_wins_nothing(tmp_path: Path) -> None:
    page = played(tmp_path / "run", "ring:5", "target", 40, learners=("btl", "ftl", "track"))
    told = told_by(page)
    assert told["learners"][0]["badge"] == "sees cₜ first"
    assert [one["title"] for one in told["curves"]["learners"]] == ["btl (sees cₜ)", "ftl", "track"]
    assert min(told["learners"], key=lambda one: float(one["loss"]))["name"] == "btl"
    assert "btl" not in told["headline"]
    assert "btl is shown the cost of a round before playing it: a yardstick, not a learner" in told["lede"]
    assert told["map"]["learners"] == ["ftl", "track"]
    seen = visit(page, 1440)
    assert seen["errors"] == []
    assert seen["table"][1][0] == "btlsees cₜ first"


def test_a_run_of_nobody_but_who_sees_the_costs_has_a_page(tmp_path: Path) -> None:
    page = played(tmp_path / "run", "ring:6", "iid", 20, learners=("btl",))
    told = told_by(page)
    assert told["headline"].startswith("btl (sees cₜ) paid ")
    assert visit(page, 1440)["errors"] == []
    large = told_by(played(tmp_path / "large", "random:3001:4", "iid", 2, learners=("btl",)))
    names = ["state", "mean cost", "chance, btl (sees cₜ)", "price of not knowing, btl (sees cₜ)"]
    assert [column["name"] for column in large["map"]["columns"]] == names


def test_labels_cannot_break_out_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = "from,to,weight\n</script><b>,b,1\nb,</script><b>,1\nb,b,1\n"
    (tmp_path / "moves.csv").write_text(table)
    page = played(tmp_path / "run", str(tmp_path / "moves.csv"), "iid", 4, normalise=True)
    assert "</script><b>" not in page.read_text(encoding="utf-8")
    assert visit(page, 1440)["errors"] == []


def test_frames_keep_the_first_and_the_last_round_and_fit_the_budget() -> None:
    for T, n in ((1, 5), (7, 100), (2000, 900), (10**5, 10), (500, 90_000)):
        kept = film.wanted_rounds(T, n, 4)
        assert kept[0] == 1
        assert kept[-1] == T
        assert kept == sorted(set(kept))
        assert len(kept) * n * 18 <= max(film.BYTES_OF_A_FILM * 1.1, (film.FEWEST_FRAMES + 1) * n * 18)


def test_a_field_is_scaled_to_bytes() -> None:
    assert film.scaled(np.array([2.0, 4.0, 3.0])) == (2.0, 4.0, False, bytes([0, 255, 128]))
    assert film.scaled(np.zeros(3)).levels == bytes(3)


def test_a_field_that_differs_by_rounding_only_is_flat() -> None:
    law = np.full(3, 1 / 3) * (1.0 + np.array([0.0, 1e-15, 3e-16]))
    assert film.scaled(law)[2:] == (True, bytes(3))
    assert not film.scaled(law * (1.0 + np.array([0.0, 1e-5, 0.0]))).flat


def test_two_states_stand_side_by_side() -> None:
    down, across = layout(lsmdp.sticky(0.7).P).T
    assert np.ptp(down) == 0.0 < np.ptp(across)


def test_a_layout_puts_neighbours_near_each_other() -> None:
    ring = lsmdp.ring(40)
    places = layout(ring.P)
    assert places.shape == (40, 2)
    near = np.linalg.norm(places - np.roll(places, 1, axis=0), axis=1)
    far = np.linalg.norm(places - np.roll(places, 20, axis=0), axis=1)
    assert near.max() < far.min()


def test_the_demo_plays_tells_and_writes_a_page(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pages.DEMO, "rounds", 5)
    folder = tmp_path / "demo"
    done = run("demo", "--out", str(folder), "--quiet")
    assert done.exit_code == 0, done.stderr
    for word in (
        "pool",
        "ftl",
        "track",
        "passive",
        "regret vs leader",
        "rounds a second",
        "known all costs in advance",
    ):
        assert word in done.stdout
    assert (folder / "report.html").stat().st_size < LARGEST
    certified = told_by(folder / "report.html")["certificates"]
    assert certified["certified_rounds"] >= 1
    assert "wrong" not in certified["finding"]
    monkeypatch.setattr(pages, "write", lambda *_: (folder / "report.html", None))  # as it just was
    again = run("demo", "--out", str(folder), "--json", "--quiet")  # nothing is left to play
    assert json.loads(again.stdout)["page"] == str(folder / "report.html")


def test_the_museum_is_connected_and_the_patrol_starts_in_its_hall() -> None:
    lmdp = museum()
    assert lmdp.is_irreducible
    assert min(lmdp.grid_shape) >= 30
    row, column = lmdp.positions[int(str(pages.DEMO["start"]))]
    assert (row, column) == (18, 26)


def test_figures_are_written_in_each_format(run: Run, tmp_path: Path, grid_page: Path) -> None:
    for form, begin in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        done = run("figures", str(grid_page.parent), "--format", form, "--out", str(tmp_path), "--json")
        assert done.exit_code == 0, done.stderr
        written = [Path(path) for path in json.loads(done.stdout)["figures"]]
        assert {path.stem for path in written} == {"regret", "paid", "effort", "place"}
        assert all(path.read_bytes().startswith(begin) for path in written)
    refused = run("figures", str(grid_page.parent), "--format", "gif")
    assert refused.exit_code == 2
    assert "Formats: pdf, svg, png" in refused.stderr


def test_a_place_for_figures_is_looked_at_first(
    run: Run, tmp_path: Path, grid_page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        refused = run("figures", str(grid_page.parent), "--out", str(out))
        assert refused.stderr == f'SpecError: "{tmp_path / "file"}" is a file. Name a folder with --out.\n'
    assert "figures need matplotlib" in run("figures", str(grid_page.parent), "--out", str(tmp_path / "new")).stderr
    assert not (tmp_path / "new").exists()


def test_figures_draw_on_the_axes_they_are_given(grid_page: Path) -> None:
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(1, 2)
    folder = lsmdp.runs.Folder(grid_page.parent)
    assert figures.regret(folder, axes[0], logarithmic=True) is axes[0]
    assert figures.paid(folder, axes[1]) is axes[1]
    lines = {line.get_label(): line.get_ydata() for line in axes[0].get_lines()}
    summary = folder.summary()
    for name, one in summary["learners"].items():
        expected = one["loss"] - summary["rounds"] * summary["average_cost_of_leader"]
        assert lines[name][-1] == pytest.approx(expected, abs=1e-8)
    pyplot.close(fig)


def test_the_command_writes_the_page_and_says_where(run: Run, tmp_path: Path, grid_page: Path) -> None:
    done = run("report", str(grid_page.parent), "--out", str(tmp_path / "page.html"), "--json", "--quiet")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert Path(told["page"]).stat().st_size == told["bytes"]
    assert run("report", str(tmp_path), "--quiet").exit_code == 2
    refused = run("report", str(grid_page.parent), "--out", str(tmp_path), "--quiet")
    assert refused.exit_code == 2
    assert "is a folder" in refused.stderr
