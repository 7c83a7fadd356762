"""Where the answer of ``solve`` goes besides the terminal (files and a page), and what is shown while it is awaited."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lsmdp.errors import SpecError
from lsmdp.files import require_writable

if TYPE_CHECKING:
    from lsmdp.model import LMDP

_ANSWERS = (".npz", ".csv", ".parquet")  # An answer may be written to files with these endings.
_POLICIES = (".csv", ".parquet")  # A policy may be written to files with these endings.
_PAGES = (".html",)  # A page may be written to files with this ending.
SECONDS_IN_SILENCE = 2.0  # After this many seconds a solve says that it is still at work; few take as long.
SECONDS_BETWEEN_TICKS = 0.25  # The seconds of a long solve are shown anew this often, so that a clock is seen to run.

_OUT_HELP = "Write the answer to a file: a row a state (.csv, .parquet), or all of it as arrays (.npz)."
_POLICY_HELP = "Write the policy to a file, a row a move: from, to, probability, passive (.csv, .parquet)."
_REPORT_HELP = "Write a page about the answer to this .html file."

Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help=_OUT_HELP)]
PolicyFile = Annotated[Path | None, typer.Option("--policy", metavar="FILE", help=_POLICY_HELP)]
Report = Annotated[Path | None, typer.Option("--report", metavar="FILE", help=_REPORT_HELP)]

# This is what is said of a file that was written, by the option that asked for it.
HOLDS: Mapping[str, str] = {"out": "The answer is in", "policy": "The policy is in", "page": "The page is in"}


class Outputs(NamedTuple):
    """The files that were asked for; what was asked for twice or cannot be written is refused before the work."""

    out: Path | None
    policy: Path | None
    report: Path | None

    def require_writable(self, *, in_rounds: bool) -> None:
        """Raise where one of the files could not be kept, or where there is no such thing to keep."""
        if self.report is not None and in_rounds:
            raise SpecError("there is a policy for each round, and a page is about one. Keep the values with --out.")
        if self.policy is not None and in_rounds:
            raise SpecError(
                "there is a policy for each round, and --policy writes one. Keep the values with --out, or take "
                "policies in Python: plan.policy(t), day.policy(slot)."
            )
        asked = ((self.out, _ANSWERS, "--out"), (self.policy, _POLICIES, "--policy"), (self.report, _PAGES, "--report"))
        places: dict[Path, str] = {}
        for path, endings, option in asked:
            if path is None:
                continue
            if (before := places.setdefault(path.absolute(), option)) != option:
                raise SpecError(f'"{path}" is named by {before} and by {option}. Give each a file of its own.')
            require_writable(path, endings, option)

    def write(self, solution: Any, lmdp: LMDP, c: Any, costs: str = "") -> dict[str, Path]:
        """Write what was asked for, for the model and the cost as the user gave them; where each of them is.

        ``costs`` says what was charged.
        """
        from lsmdp.output.tables import moves_table, write_table

        written: dict[str, Path] = {}
        if self.out is not None:
            _write_answer(solution, self.out, c)
            written["out"] = self.out
        if self.policy is not None:
            write_table(moves_table(solution.policy, lmdp.P), self.policy, "--policy")
            written["policy"] = self.policy
        if self.report is not None:
            from lsmdp.report.answer import write_answer_page

            write_answer_page(solution, self.report, lmdp, c, costs=costs, command=shlex.join(["lsmdp", *sys.argv[1:]]))
            written["page"] = self.report
        return written


def _write_answer(solution: Any, out: Path, c: Any) -> None:
    """All of it as arrays, or a row a state."""
    import pyarrow as pa

    from lsmdp.output import tables as answers
    from lsmdp.values import Cycle, Schedule

    arrays, in_rounds = out.suffix.lower() == ".npz", isinstance(solution, Cycle | Schedule)
    if arrays and in_rounds:
        answers.write_arrays(solution.arrays(), out)
    elif arrays:
        answers.write_answer(solution, out, c)
    elif in_rounds:
        answers.write_table(pa.table(solution.columns()), out)
    else:
        answers.write_table(answers.states_table(solution, c), out)


@contextmanager
def while_solving(lmdp: LMDP) -> Iterator[None]:
    """After two seconds, a line on the terminal that says how long it has been; nothing where there is none.

    It is written by a thread, which loops that hold Python's lock keep waiting: the seconds may jump.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    console, began, done = Console(stderr=True, highlight=False), time.monotonic(), threading.Event()

    def tell() -> None:
        if done.wait(SECONDS_IN_SILENCE):
            return
        with console.status("") as status:
            while not done.wait(SECONDS_BETWEEN_TICKS):
                status.update(f"solving {lmdp.n:,} states, {lmdp.nnz:,} moves: {time.monotonic() - began:,.0f} s")

    teller: Any = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
