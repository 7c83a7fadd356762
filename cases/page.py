"""What the cases share: the command line, the record and the page, and how figures look.

A page is its template, cases/templates/NAME.md, with numbers of the record filled in: ``{learners[ftl][loss]:.1f}``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from lsmdp.errors import LsmdpError, SpecError
from lsmdp.report.figures import COLOURS

__all__ = ["COLOURS", "OUT", "Record", "at_least", "fill", "options", "pyplot", "run", "say", "table", "write"]

OUT = Path(__file__).parents[1] / "docs" / "cases"
TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 120
LARGEST_FIGURE = 300_000  # bytes

Record = dict[str, Any]


def options(about: str) -> argparse.ArgumentParser:
    """A parser that knows where to write."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the page, its numbers and its figure")
    return parser


def run(main: Callable[[Sequence[str] | None], None]) -> None:
    """Call a case; a user's mistake is a sentence and exit code 2."""
    try:
        main(None)
    except LsmdpError as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        sys.exit(2)


def at_least(value: int, least: int, name: str) -> int:
    """The value, unless it is too small."""
    if value < least:
        raise SpecError(f"{name} is {value}. Ask for at least {least}.")
    return value


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def write(name: str, record: Record, page: Callable[[Record], str], figure: Any, out: Path) -> None:
    """The three files of a case."""
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, allow_nan=False)
    (out / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (out / f"{name}.md").write_text(page(json.loads(text)), encoding="utf-8")
    target = out / f"{name}.png"
    figure.savefig(target, dpi=110, bbox_inches="tight", metadata={"Software": None})
    if target.stat().st_size > LARGEST_FIGURE:
        raise SpecError(f'"{target}" has {target.stat().st_size:,} bytes, more than {LARGEST_FIGURE:,}. Draw less.')
    for ending in ("json", "md", "png"):
        print(out / f"{name}.{ending}")


def fill(name: str, record: Record, **more: Any) -> str:
    """The template of a case with the numbers of its record, and some that follow from them."""
    filled = (TEMPLATES / f"{name}.md").read_text(encoding="utf-8").format_map(record | more)
    return "\n\n".join(wrapped(block) for block in filled.rstrip("\n").split("\n\n")) + "\n"


def wrapped(block: str) -> str:
    """Prose and lists in lines of equal length; tables, headings, pictures and commands keep theirs."""
    if block.startswith("    "):
        return block
    block = re.sub(r"(?<= )-(?=\d)", "−", block)
    if block[0] in "|#!":
        return block
    items = re.split(r"\n(?=- )", block)
    return "\n".join(
        textwrap.fill(
            " ".join(item.split()),
            WIDTH,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def pyplot() -> Any:
    """matplotlib, with the colours and sizes of our figures."""
    import matplotlib

    matplotlib.use("agg", force=False)
    from cycler import cycler
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "font.size": 9,
            "legend.frameon": False,
        }
    )
    return plt
