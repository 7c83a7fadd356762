"""What all pages share: one frame, one look, one script of small tools, and one way to put a page together.

A page is one file that works from disk: style, scripts and data are inside, and its policy lets it ask nothing of any
network. It draws itself from one JSON object. words.py says how pages write numbers.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from lsmdp import __version__


def assemble(package: str, story: Mapping[str, Any]) -> str:
    """The page of a package, telling a story: its ``page.html``, ``page.js`` and, where it has one, ``page.css``."""
    shared, own = files("lsmdp.report.pages"), files(package)
    parts = {
        "title": html.escape(f"{story['headline']} · lsmdp"),
        "css": _joined(shared / "page.css", own / "page.css"),
        "main": _joined(own / "page.html"),
        "js": _joined(shared / "common.js", own / "page.js"),
        "version": __version__,
        # "<" would let a name end the script element
        "data": json.dumps(story, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = _joined(shared / "frame.html")
    for name, content in parts.items():
        text = text.replace("{{" + name + "}}", content, 1)
    return text


def _joined(*parts: Traversable) -> str:
    """The texts of those files that are there, one after the other."""
    return "\n".join(part.read_text(encoding="utf-8") for part in parts if part.is_file())
