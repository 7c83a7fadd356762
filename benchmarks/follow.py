"""Lines a second of ``lsmdp follow``, without and with ``--state``, as another program sees them.

A real process at the other end of two pipes. Each line (all costs as a list, and a state) is written, and its answer
read, before the next: what a control loop does. The games are at t ~ 1000: the first line has the mean of 1,000
i.i.d. costs, and is sent 1,000 times, which leaves the learner with the sum of those costs and takes little time. Then
costs are i.i.d., and each process gets the same lines; a case counts only if both give the same answers, bit for bit.

"learning" is ``observe`` alone for the same costs, in the process that measures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from rich.table import Table

import lsmdp
from benchmarks.measure import Blocks, timed
from lsmdp.learners import learner_by_name

FIRST = 1000
WARM = 5
MAIN = "from lsmdp.cli import main; main()"


@dataclass(frozen=True)
class Case:
    """A kernel, who learns, and the lines of a turn."""

    kernel: str
    learner: str
    turn: int


CASES = {
    f"{case.kernel}, {case.learner}": case
    for case in (
        Case("ring:12", "ftl", 1000),
        Case("grid:30x30", "ftl", 200),
        Case("grid:30x30", "track", 200),
        Case("grid:100x100", "ftl", 20),
        Case("grid:100x100", "track", 50),
    )
}
HEADINGS = ("case", "bytes a line", "lines/s", "with --state", "median ms", "99 % ms", "learning ms", "start s")


@dataclass
class Talk:
    """A filter, the lines it will get, and what it has answered."""

    process: subprocess.Popen[bytes]
    lines: list[bytes]
    said: list[bytes] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def begin(cls, case: Case, lines: list[bytes], *options: str) -> Talk:
        command = [sys.executable, "-c", MAIN, "follow", case.kernel, "--learner", case.learner, *options]
        pipe = subprocess.PIPE
        return cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL), lines)

    def ask(self, count: int) -> float:
        """Seconds that the next lines took."""
        began = time.perf_counter()
        for line in self.lines[len(self.said) : len(self.said) + count]:
            sent = time.perf_counter()
            self.process.stdin.write(line)
            self.process.stdin.flush()
            self.said.append(self.process.stdout.readline())
            self.seconds.append(time.perf_counter() - sent)
        return time.perf_counter() - began

    def end(self) -> None:
        self.process.communicate()


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One case."""
    case = CASES[name]
    lmdp, learner, rng = lsmdp.read_model(case.kernel), learner_by_name(case.learner), np.random.default_rng(0)
    mean = np.mean([rng.random(lmdp.n) for _ in range(FIRST)], axis=0)
    costs = [mean] * FIRST + [rng.random(lmdp.n).round(6) for _ in range(WARM + case.turn * blocks.most)]
    lines = [json.dumps({"cost": c.tolist(), "state": int(rng.integers(lmdp.n))}).encode() + b"\n" for c in costs]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        plain = Talk.begin(case, lines)
        plain.ask(1)
        start = time.perf_counter() - began
        kept = Talk.begin(case, lines, "--state", str(Path(folder) / "learner"))
        state = learner.init(lmdp)
        for c_t in costs[: FIRST + WARM]:
            state = learner.observe(lmdp, state, c_t)
        left = iter(costs[FIRST + WARM :])

        def learn() -> None:
            nonlocal state
            for _ in range(case.turn):
                state = learner.observe(lmdp, state, next(left))

        plain.ask(FIRST + WARM - 1)
        kept.ask(FIRST + WARM)
        plain.seconds.clear()
        seconds, _ = blocks.run(
            {
                "learning": lambda: timed(learn),
                "plain": lambda: (plain.ask(case.turn), None),
                "kept": lambda: (kept.ask(case.turn), None),
            }
        )
        plain.end()
        kept.end()
        size = (Path(folder) / "learner").stat().st_size
    return {
        "case": name,
        "states": lmdp.n,
        "bytes_a_line": round(median(map(len, lines[FIRST:]))),
        "lines_a_second": case.turn / seconds["plain"],
        "lines_a_second_with_state": case.turn / seconds["kept"],
        "median_latency": median(plain.seconds),
        "latency_99": quantiles(plain.seconds, n=100)[-1],
        "learning_seconds": seconds["learning"] / case.turn,
        "start_seconds": start,
        "file_bytes": size,
        "counts": plain.said == kept.said and b"error" not in b"".join(plain.said),
    }


def cells(record: dict[str, Any]) -> list[str]:
    """A line of the table."""
    return [
        record["case"],
        f"{record['bytes_a_line']:,}",
        f"{record['lines_a_second']:,.0f}",
        f"{record['lines_a_second_with_state']:,.0f}",
        f"{1e3 * record['median_latency']:.3g}",
        f"{1e3 * record['latency_99']:.3g}",
        f"{1e3 * record['learning_seconds']:.3g}",
        f"{record['start_seconds']:.1f}",
    ]


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line per case."""
    out = Table(title="lsmdp follow, line by line at t ~ 1000", title_justify="left", title_style="bold")
    for heading in HEADINGS:
        out.add_column(heading, justify="left" if heading == "case" else "right", no_wrap=True)
    for record in records:
        out.add_row(*cells(record))
    return out
