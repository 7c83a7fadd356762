"""What the pages of runs and sweeps share: one look, one script of small tools, one way to put a page together.

A page is one file that works from disk: style, scripts and data are inside, and its policy lets it ask nothing of any
network. It draws itself from one JSON object.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from lsmdp import __version__


def assemble(package: str, story: Mapping[str, Any]) -> str:
    """The page whose ``page.html`` and ``page.js`` are in a package, telling a story."""
    shared, own = files("lsmdp.report.pages"), files(package)
    scripts = (shared / "common.js", own / "page.js")
    parts = {
        "title": html.escape(f"{story['headline']} · lsmdp"),
        "css": (shared / "page.css").read_text(encoding="utf-8"),
        "js": "\n".join(script.read_text(encoding="utf-8") for script in scripts),
        "version": __version__,
        # "<" would let a name end the script element
        "data": json.dumps(story, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = (own / "page.html").read_text(encoding="utf-8")
    for name, content in parts.items():
        text = text.replace("{{" + name + "}}", content, 1)
    return text
