"""The manual as a site: it builds without a warning, is complete, and works from disk in a browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer

import lsmdp
from lsmdp.cli import app
from tests.browser import look_at_all

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WIDTHS = (390, 1440)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, built as ``make docs`` builds it: a warning fails."""
    folder = tmp_path_factory.mktemp("manual")
    build = "import gc, runpy; gc.disable(); runpy.run_module('sphinx', run_name='__main__')"  # it ends soon
    command = [sys.executable, "-c", build, "-q", "-W", "--keep-going", "-b", "html", "-d", str(folder / "trees")]
    known = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, str(DOCS), str(folder / "site")], env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload")):
            self.loaded.append(given.get("src") or given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_page_of_the_folder_is_in_the_site(site: Path) -> None:
    written = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md") if "_build" not in path.parts}
    assert written == {path for path in written if (site / path).with_suffix(".html").is_file()}
    assert len(written) >= 14


def test_links_inside_lead_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            there = urlsplit(link)
            if there.scheme or there.netloc:
                continue
            target = (path.parent / unquote(there.path)).resolve() if there.path else path
            found = target.is_file() and (
                not there.fragment or target not in pages or unquote(there.fragment) in pages[target].anchors
            )
            if not found:
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    away = {f"{path.name}: {what}" for path, page in pages.items() for what in page.loaded if urlsplit(what).scheme}
    assert {one for one in away if ": data:" not in one} == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles) == []


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    reference = (site / "api.html").read_text(encoding="utf-8")
    missing = [name for name in lsmdp.__all__ if f'id="lsmdp.{name}"' not in reference]
    assert missing == ["__version__"], "add their module to docs/api.md: ```{public} MODULE```"


def test_every_command_is_in_the_reference() -> None:
    named = re.findall(r"^## lsmdp (\S+)$", (DOCS / "cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    shown = re.findall(r"^```\{command\} (\S+)$", (DOCS / "cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert named == shown
    commands: Any = typer.main.get_command(app)
    assert set(named) == set(commands.commands), "docs/cli.md has a section for every command"


def test_formulas_are_there_without_a_script(site: Path) -> None:
    theory = (site / "theory.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 1000
    assert "\\mathrm" not in re.sub(r"<script.*?</script>", "", theory, flags=re.DOTALL)


def test_formulas_that_the_converter_needs_help_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from mathml import converted  # type: ignore[import-not-found]

    def bare(tex: str) -> str:
        return re.sub(r"\s+(?=<)|(?<=>)\s+| xmlns=\"[^\"]*\"", "", converted(tex, block=True))

    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in bare(r"\frac12")
    assert bare(r"\frac s4") == bare(r"\frac{s}{4}")
    assert bare(r"\bar c_t").count("<msub><mover") == 1  # the index is beside the letter
    assert bare(r"\Big(\frac12\Big)") == bare(r"\left(\frac{1}{2}\right)")
    assert '<mo stretchy="false">‖</mo>' in bare(r"Q\Vert P")
    assert "<wbr>" in converted("a+b+c+d=e+f+g+h", block=False)  # a line may end there


def test_the_picture_of_the_counterexample_has_the_numbers_of_its_page() -> None:
    picture = (DOCS / "figures" / "swap.svg").read_text(encoding="utf-8")
    page = (DOCS / "regret.md").read_text(encoding="utf-8")
    for number in ("714.65", "−1.14"):  # the page prints them as well, and that is run
        assert number in picture
        assert number in page


# Every page tells the frame around it how it fares; from disk, pages may not look into each other.
TELL = """<script>
window.seen = [];
window.addEventListener("error", (event) => seen.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => seen.push(String(event.reason)));
window.addEventListener("load", () => setTimeout(function tell() {
  if (location.search && !document.body.textContent.includes("Search finished")) return setTimeout(tell, 100);
  const scrolls = (node) => node && node.tagName !== "ARTICLE"
    && (/auto|scroll/.test(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  const wide = [...document.querySelectorAll("article *")]
    .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node))
    .map((node) => node.tagName + "." + node.className);
  const found = [...document.querySelectorAll("#search-results li a")].map((a) => a.textContent);
  parent.postMessage({ name: window.name, seen: { page: document.title, width: innerWidth, wide, errors: seen, found,
    scroll: document.documentElement.scrollWidth,
    loaded: performance.getEntriesByType("resource").map((one) => one.name) } }, "*");
}, 1500));
</script>"""


@pytest.fixture(scope="module")
def told(site: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What every page says of itself in windows of two widths, the search for "regret" among them."""
    folder = tmp_path_factory.mktemp("visited")
    shutil.copytree(site, folder / "site")
    names = [path.relative_to(folder).as_posix() for path in (folder / "site").rglob("*.html")]
    names = [name for name in names if "_static" not in name and "genindex" not in name]
    for name in names:
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("</head>", f"{TELL}</head>", 1), encoding="utf-8")
    asked = {name: (folder / name).as_uri() + "?q=regret" * name.endswith("/search.html") for name in names}
    windows = {f"{name} {width}": (page, width) for name, page in asked.items() for width in WIDTHS}
    return list(look_at_all(windows, folder).values())


def test_pages_work_in_a_browser_from_disk(told: list[dict[str, Any]]) -> None:
    assert {one["width"] for one in told} == set(WIDTHS)
    assert [(one["page"], one["errors"]) for one in told if one["errors"]] == []
    asked = {name for one in told for name in one["loaded"] if not name.startswith(("file:", "data:"))}
    assert asked == set()


def test_pages_fit_a_phone_and_a_desk(told: list[dict[str, Any]]) -> None:
    assert [(one["page"], one["width"], one["wide"]) for one in told if one["wide"]] == []
    assert [(one["page"], one["scroll"]) for one in told if one["scroll"] > one["width"]] == []


def test_the_search_finds_regret(told: list[dict[str, Any]]) -> None:
    found = [one["found"] for one in told if one["found"]]
    assert len(found) == len(WIDTHS)
    for titles in found:
        assert "What regret means here" in titles
