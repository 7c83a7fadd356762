"""Clocks and memory.

The machines that this runs on are shared, and their speed drifts. So the competitors of a case take turns (a block
is one turn of each), what is compared is always from the same minutes, and what is reported is the median over blocks.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("lsmdp", "numpy", "scipy", "numba")
PROCESS = Path("/proc/self")


@dataclass(frozen=True)
class Blocks:
    """How often the competitors take turns: ``most`` times, but no more than ``least`` once ``seconds`` are used up."""

    least: int = 3
    most: int = 7
    seconds: float = 6.0

    def run(self, turns: Mapping[str, Callable[[], tuple[float, Any]]]) -> tuple[dict[str, float], dict[str, Any]]:
        """Median seconds of each competitor, and its last answer; a turn times itself and gives (seconds, answer)."""
        times: dict[str, list[float]] = {name: [] for name in turns}
        answers: dict[str, Any] = {}
        began = time.perf_counter()
        for block in range(self.most):
            if block >= self.least and time.perf_counter() - began > self.seconds:
                break
            for name, turn in turns.items():
                seconds, answers[name] = turn()
                times[name].append(seconds)
        return {name: median(taken) for name, taken in times.items()}, answers


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that the work takes, and its answer."""
    gc.collect()
    began = time.perf_counter()
    answer = work()
    return time.perf_counter() - began, answer


def repeated(work: Callable[[], Any], at_least: float = 0.02) -> tuple[float, Any]:
    """Seconds of one call of something short, from as many calls as fill ``at_least`` seconds."""
    calls = 0
    began = time.perf_counter()
    while (taken := time.perf_counter() - began) < at_least or calls < 3:
        answer = work()
        calls += 1
    return taken / calls, answer


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Gives the peak, since it was last asked, of what Python, numpy and compiled loops hold in bytes on top of now."""

    def peak() -> int:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        return most

    gc.collect()
    tracemalloc.start()
    try:
        yield peak
    finally:
        tracemalloc.stop()


def allocated(work: Callable[[], Any]) -> int:
    """The peak of one piece of work."""
    with traced() as peak:
        work()
        return peak()


def resident(work: Callable[[], Any]) -> int | None:
    """Growth of the process in bytes at its largest, as Linux sees it (VmHWM after a reset); None elsewhere."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # free memory that the allocator keeps would be used first, and not be seen
        (PROCESS / "clear_refs").write_text("5")
    except (OSError, AttributeError, TypeError):
        return None
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    line = next(line for line in (PROCESS / "status").read_text().splitlines() if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def save(suite: str, records: list[dict[str, Any]]) -> Path:
    """Write the records of a suite and where they come from to a new file."""
    now = datetime.now(UTC)
    content = {
        "suite": suite,
        "time": now.isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "machine": {"system": platform.platform(), "cpus": os.cpu_count(), "load": os.getloadavg()},
        "cases": records,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{suite}-{now:%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path
