"""The page of a run, looked at in a real browser: it runs without errors, asks nothing of the network, and answers."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.cli import pages
from lsmdp.makers import museum
from lsmdp.report import figures, frames, write_page
from lsmdp.report.layout import layout
from lsmdp.report.story import lede

Run = Callable[..., Any]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
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
    if CHROMIUM is None:
        if os.environ.get("LSMDP_BROWSER") == "required":
            pytest.fail("no Chromium here, and this machine is to have one: make test installs it")
        pytest.skip("no Chromium on this machine; install the package chromium to look at the page")
    text = page.read_text(encoding="utf-8")
    visited = page.with_name(f"visited-{width}.html")
    visited.write_text(
        text.replace("<body>", f"<body>{VISIT}", 1).replace("</body>", f"{CHECK}</body>", 1), encoding="utf-8"
    )
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [
        f"--window-size={width},1400",
        f"--user-data-dir={page.parent / 'profile'}",
        "--virtual-time-budget=4000",
    ]
    done = subprocess.run([*command, "--dump-dom", visited.as_uri()], capture_output=True, timeout=120, check=False)
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout.decode(), flags=re.DOTALL)
    assert found, done.stderr.decode()[-2000:]
    return dict(json.loads(html.unescape(found.group(1))))


@pytest.fixture(scope="module")
def grid_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _played(tmp_path_factory.mktemp("grid") / "run", "grid:6x7", "target", 40)


def _played(folder: Path, kernel: str, costs: str, rounds: int, **more: Any) -> Path:
    more = {"learners": ("ftl", "track", "passive"), **more}
    spec = lsmdp.runs.Spec.of(kernel=kernel, costs=costs, rounds=rounds, **more)
    lsmdp.runs.start(spec, folder)
    return write_page(folder)


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
    assert seen["R_T"] >= 3
    assert "ftl" in seen["tip"]
    assert "round" in seen["tip"]
    assert seen["up"] == sorted(seen["up"], key=str.lower) or seen["up"][0] != seen["down"][0]
    assert sorted(seen["up"]) == sorted(seen["down"])
    assert seen["up"] != seen["down"]
    assert any("paid the least" in heading for heading in seen["headings"])
    assert any("corrected and new statements hold and say something" in heading for heading in seen["headings"])


def test_a_graph_without_coordinates_is_laid_out(tmp_path: Path) -> None:
    seen = visit(_played(tmp_path / "run", "random:30:3", "iid", 20), 1440)
    assert seen["errors"] == []
    assert seen["first"] != seen["last"]


def test_a_large_graph_gets_a_table_of_states(tmp_path: Path) -> None:
    seen = visit(_played(tmp_path / "run", "random:3001:4", "iid", 3), 1440)
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
    shown = _told(grid_page)
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


def _told(page: Path) -> dict[str, Any]:
    """What the page draws itself from."""
    text = page.read_text(encoding="utf-8")
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    assert block
    return dict(json.loads(block.group(1)))


def test_headings_claim_nothing_that_the_run_does_not_show(tmp_path: Path) -> None:
    idle = _told(_played(tmp_path / "idle", "ring:12", "iid", 1, learners=("passive",)))
    assert idle["headline"].endswith("in 1 round")
    assert idle["effort"]["title"].startswith("No learner here claims a certificate; passive takes ")
    mixed = _told(_played(tmp_path / "mixed", "ring:12", "iid", 50, learners=("discounted", "passive")))
    assert mixed["effort"]["title"].startswith("Every round of discounted is certified; the slowest, ")
    best = min(mixed["learners"], key=lambda one: float(one["loss"]))
    stated = re.search(r"would have paid more than ([\d.,]+) less", mixed["lede"])
    assert stated
    assert (
        float(stated.group(1).replace(",", "")) < best["loss"]
    )  # a larger one would say nothing: costs are at least 0
    settled = _told(_played(tmp_path / "settled", "ring:12", "iid", 50))
    assert settled["effort"]["title"].startswith("Every round of ftl, track is certified")


def test_a_guarantee_that_says_nothing_is_not_given(grid_page: Path) -> None:
    summary = json.loads((grid_page.parent / "summary.json").read_text())
    shown = _told(grid_page)
    best = min(shown["learners"], key=lambda one: float(one["loss"]))
    bounds = summary["learners"][best["name"]]["regret_at_most_by_mixing_sum"]
    bounds.update(dict.fromkeys(bounds, best["loss"] + 1.0))
    said = lede(shown["learners"], summary)
    assert "mixing sum" not in said
    stated = re.search(r"no policy pays less than ([\d.e-]+) a round in the long run", said)
    assert stated
    assert float(stated.group(1)) == pytest.approx(summary["average_cost_of_leader"], rel=1e-3)


def test_labels_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    table = "from,to,weight\n</script><b>,b,1\nb,</script><b>,1\nb,b,1\n"
    (tmp_path / "moves.csv").write_text(table)
    page = _played(tmp_path / "run", str(tmp_path / "moves.csv"), "iid", 4, normalise=True)
    assert "</script><b>" not in page.read_text(encoding="utf-8")
    assert visit(page, 1440)["errors"] == []


def test_frames_keep_the_first_and_the_last_round_and_fit_the_budget() -> None:
    for T, n in ((1, 5), (7, 100), (2000, 900), (10**5, 10), (500, 90_000)):
        kept = frames.wanted_rounds(T, n, 4)
        assert kept[0] == 1
        assert kept[-1] == T
        assert kept == sorted(set(kept))
        assert len(kept) * n * 18 <= max(frames.BUDGET * 1.1, (frames.FEWEST + 1) * n * 18)


def test_a_field_is_scaled_to_bytes() -> None:
    field = frames.scaled(np.array([2.0, 4.0, 3.0]))
    assert (field["low"], field["high"]) == (2.0, 4.0)
    assert field["data"] == "AP+A"  # 0, 255, 128
    assert frames.scaled(np.zeros(3))["data"] == "AAAA"


def test_a_layout_puts_neighbours_near_each_other() -> None:
    ring = lsmdp.ring(40)
    places = layout(ring.P)
    assert places.shape == (40, 2)
    near = np.linalg.norm(places - np.roll(places, 1, axis=0), axis=1)
    far = np.linalg.norm(places - np.roll(places, 20, axis=0), axis=1)
    assert near.max() < far.min()


def test_the_demo_plays_tells_and_writes_a_page(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pages.DEMO, "rounds", 12)
    folder = tmp_path / "demo"
    done = run("demo", "--out", str(folder), "--quiet")
    assert done.exit_code == 0, done.stderr
    for word in ("ftl", "track", "phased", "passive", "regret vs leader", "rounds a second", "nobody knew in advance"):
        assert word in done.stdout
    assert (folder / "report.html").stat().st_size < LARGEST
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
