"""A page in a real browser: what its document looks like once its scripts have run.

Chromium lets virtual time pass while nothing is left to do, so a page that waits is not waited for. On a busy machine
the scripts of a page may still be late; then it is opened again, with more virtual time. A page with a fault is late
however long one waits.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
FRAMES = """<!doctype html><meta charset="utf-8"><body><script>
const told = {};
window.addEventListener("message", (event) => { told[event.data.name] = event.data.seen;
  if (Object.keys(told).length === %d) { const note = document.createElement("pre"); note.id = "told";
    note.textContent = JSON.stringify(told); document.body.append(note); } });
</script>%s"""
MILLISECONDS = (20_000, 60_000, 180_000)  # of virtual time, one attempt after the other


class Seen(NamedTuple):
    """The document after its scripts, as HTML, and what the browser said besides."""

    document: str
    messages: str


def look(page: Path, profile: Path, until: str, *, window: tuple[int, int] = (1440, 1400)) -> Seen:
    """The page once ``until`` is in its document; its last state if that never comes."""
    if CHROMIUM is None:
        if os.environ.get("LSMDP_BROWSER") == "required":
            pytest.fail("no Chromium here, and this machine is to have one: make test installs it")
        pytest.skip("no Chromium on this machine; install the package chromium to look at pages")
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *QUIET]
    command += ["--enable-logging=stderr", f"--window-size={window[0]},{window[1]}", f"--user-data-dir={profile}"]
    for budget in MILLISECONDS:
        asked = [*command, f"--virtual-time-budget={budget}", "--dump-dom", page.as_uri()]
        done = subprocess.run(asked, capture_output=True, timeout=300, check=False)
        seen = Seen(done.stdout.decode(), done.stderr.decode())
        if until in seen.document:
            break
    return seen


def look_at_all(pages: Mapping[str, tuple[str, int]], folder: Path) -> dict[str, Any]:
    """What pages, by their addresses, tell in windows of some widths, all in one browser.

    A page calls ``parent.postMessage({name: window.name, seen: ...}, "*")``: from disk, no page may look into another.
    """
    frames = "".join(
        f'<iframe name="{name}" src="{page}" style="width: {width}px; height: 1400px; border: 0"></iframe>'
        for name, (page, width) in pages.items()
    )
    (folder / "frames.html").write_text(FRAMES % (len(pages), frames), encoding="utf-8")
    widest = max(width for _, width in pages.values())
    seen = look(folder / "frames.html", folder / "profile", '<pre id="told">', window=(widest + 60, 1400))
    note = re.search(r'<pre id="told">(.*?)</pre>', seen.document, flags=re.DOTALL)
    assert note, f"some page did not answer: {seen.messages[-2000:]}"
    return dict(json.loads(html.unescape(note.group(1))))
