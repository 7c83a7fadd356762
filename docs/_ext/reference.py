"""The reference pages, made from the program itself.

    {public} NAME ...        the public names of these modules, or what is named in full: lsmdp.game.Run; from
                             signatures and docstrings
    {command} NAME           what ``lsmdp NAME --help`` prints

Docstrings are written to be read in an editor: formulas stand in them as they are, and an indented paragraph is
verbatim. ``as_rst`` says the same in the language of Sphinx.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

import lsmdp
from lsmdp.cli import app as program

MARKUP = re.compile(r"(``.+?``|:\w+:`[^`]+`|\*\*[^*]+\*\*|(?<!\w)\*[\w][^*]*\*(?!\w))")


def as_rst(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText: indented paragraphs verbatim, formulas as they are."""
    made: list[str] = []
    paragraphs = "\n".join(lines).strip("\n").split("\n\n")
    for paragraph in paragraphs:
        rows = paragraph.split("\n")
        if paragraph.startswith("    "):
            made += ["::", "", *rows, ""]
        elif rows[0].startswith("- ") or not any(row.startswith("    ") for row in rows):
            made += [*map(_escaped, rows), ""]
        else:
            first = next(k for k, row in enumerate(rows) if row.startswith("    "))
            made += [*map(_escaped, rows[:first]), "", "::", "", *rows[first:], ""]
    return made


def _escaped(line: str) -> str:
    parts = MARKUP.split(line)
    parts[::2] = [re.sub(r"([|*\\])|(?<=\w)(_)(?!\w)", r"\\\1\2", part) for part in parts[::2]]
    return "".join(parts)


class Public(SphinxDirective):
    """The public names of some modules, and other names."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Autodoc directives, parsed."""
        wanted = self.arguments[0].split()
        names = [f"lsmdp.{name}" for name in lsmdp.__all__ if lsmdp._MODULE_OF.get(name) in wanted]
        names += [name for name in wanted if name.startswith("lsmdp.")]
        lines = ["````{eval-rst}", *(line for name in names for line in _autodoc(name)), "````"]
        return list(self.parse_text_to_nodes("\n".join(lines)))


def _autodoc(name: str) -> Iterator[str]:
    module, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(module), last)
    if not inspect.isclass(found):
        yield f".. autofunction:: {name}"
    elif issubclass(found, Exception):
        yield f".. autoexception:: {name}"
    else:
        yield f".. autoclass:: {name}"
        if not hasattr(found, "_fields"):  # the fields of a named tuple have no docstrings of their own
            yield "   :members:"
    yield ""


class Command(SphinxDirective):
    """The help text of one command."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """What ``lsmdp NAME --help`` prints."""
        return [nodes.literal_block(text=help_of(self.arguments[0]), language="text", classes=["help"])]


def help_of(name: str) -> str:
    """What ``lsmdp NAME --help`` prints in a terminal of 88 columns."""
    shown = CliRunner().invoke(program, [name, "--help"], prog_name="lsmdp", terminal_width=88)
    if shown.exit_code:
        raise ValueError(f"there is no command lsmdp {name}")
    return inspect.cleandoc(shown.output)


def _documented(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("public", Public)
    app.add_directive("command", Command)
    app.connect("autodoc-process-docstring", _documented)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
