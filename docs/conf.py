"""The manual as a site that works from disk: ``make docs``. Warnings of the build are errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pygments.lexers.data import JsonLexer
from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef

import lsmdp

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "lsmdp"
author = "The lsmdp developers"
copyright = author
version = release = lsmdp.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml", "reference"]
exclude_patterns = ["_build", "_ext"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("CSR", "Floats", "Ints", "State", "Learner", "Method", "Look", "Run")}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]  # Floats | None shows it
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"lsmdp {version}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it would fetch the pages that were found, which a browser refuses to do from disk


def _with_targets(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Let ``<a id="x"></a>``, which GitHub jumps to, be a target that MyST knows as well."""
    source[0] = re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _with_targets)
    app.add_lexer("jsonl", JsonLexer)
