"""``make bench``: measure, print the tables, keep the records."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

from rich.console import Console

from benchmarks import game, solve
from benchmarks.measure import Blocks, save

SUITES: dict[str, ModuleType] = {"solve": solve, "game": game}
WIDTH = 130  # where the output is not a terminal


def main() -> None:
    """Run the suites that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="*", default=list(SUITES), help=f"some of: {', '.join(SUITES)} (default: all)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose name contains TEXT")
    parser.add_argument("--blocks", type=int, metavar="N", help="exactly N turns each, however long they take")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.suite if name not in SUITES]
    if unknown:
        parser.error(f'there is no suite "{unknown[0]}". Choose from: {", ".join(SUITES)}.')
    if wanted.blocks is not None and wanted.blocks < 1:
        parser.error(f"--blocks is {wanted.blocks}; it takes at least one turn to measure anything.")
    blocks = Blocks() if wanted.blocks is None else Blocks(wanted.blocks, wanted.blocks)
    for name in wanted.suite:
        run(name, wanted.only, blocks)


def run(name: str, only: str, blocks: Blocks) -> None:
    """One suite: its table to stdout, its records to a file."""
    suite = SUITES[name]
    records = []
    for case in suite.CASES:
        if only in case:
            print(f"{name}: {case} ...", file=sys.stderr, flush=True)
            records.append(suite.measure(case, blocks))
    if not records:
        raise SystemExit(f'{name} has no case with "{only}" in its name. Cases: {", ".join(suite.CASES)}.')
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(suite.table(records))
    path = save(name, records)
    here = Path.cwd()
    console.print(f"records: {path.relative_to(here) if path.is_relative_to(here) else path}", soft_wrap=True)


if __name__ == "__main__":
    main()
