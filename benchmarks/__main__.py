"""``make bench``: measure, print the tables, keep the records, write docs/performance.md."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from rich.console import Console

from benchmarks import page
from benchmarks.measure import Blocks, save

NAMES = ("rounds", "pools", "solve", "cold", "scaling", "follow", "ends")
SUITES: dict[str, ModuleType] = {
    name: import_module(f"benchmarks.{name}") for name in NAMES if find_spec(f"benchmarks.{name}") is not None
}
WIDTH = 170  # where the output is not a terminal


def main() -> None:
    """Run the suites that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="*", default=list(SUITES), help=f"some of: {', '.join(SUITES)} (default: all)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose name contains TEXT")
    parser.add_argument("--blocks", type=int, metavar="N", help="exactly N turns each, however long they take")
    parser.add_argument("--full", action="store_true", help="the cases that take long, too")
    parser.add_argument("--page", action="store_true", help="measure nothing, write docs/performance.md again")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.suite if name not in SUITES]
    if unknown:
        parser.error(f'there is no suite "{unknown[0]}". Choose from: {", ".join(SUITES)}.')
    if wanted.blocks is not None and wanted.blocks < 1:
        parser.error(f"--blocks is {wanted.blocks}; it takes at least one turn to measure anything.")
    blocks = Blocks() if wanted.blocks is None else Blocks(wanted.blocks, wanted.blocks)
    if not wanted.page:
        for name in wanted.suite:
            run(name, wanted.only, blocks, wanted.full)
    if wanted.page or not wanted.only:
        written = page.write({name: (suite, page.newest(name, suite.CASES)) for name, suite in SUITES.items()})
        print("written:", ", ".join(str(_short(path)) for path in written))


def run(name: str, only: str, blocks: Blocks, full: bool) -> None:
    """One suite: its table to stdout, its records to a file."""
    suite = SUITES[name]
    chosen = [case for case, made in suite.CASES.items() if only in case and (full or not getattr(made, "full", False))]
    if not chosen:
        print(f'{name} has no case with "{only}" in its name (or only with --full).', file=sys.stderr)
        return
    records = []
    for case in chosen:
        began = time.perf_counter()
        print(f"{name}: {case} ...", file=sys.stderr, end=" ", flush=True)
        records.append(suite.measure(case, blocks))
        print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(suite.table(records))
    console.print(f"records: {_short(save(name, records))}", soft_wrap=True)


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


if __name__ == "__main__":
    main()
