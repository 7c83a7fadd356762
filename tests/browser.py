"""A page in a real browser: what its document looks like once its scripts have run.

Chromium lets virtual time pass while nothing is left to do, so a page that waits is not waited for. On a busy machine
the scripts of a page may still be late; then it is opened again, with more virtual time. A page with a fault is late
however long one waits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
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
