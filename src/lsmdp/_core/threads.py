"""The rows of a large P in a fixed number of parts, by as many threads as there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

PARTS = 4
LARGE = 1_000_000  # entries from which a part is worth a thread


def in_parts(entries: int, n: int, work: Callable[[int, int, int], Any]) -> list[Any]:
    """work(k, first, last) for the k-th part of the rows: all at once, or, of a large P, PARTS of them in threads.

    The parts do not depend on the number of threads, and so neither do the bits of what is summed up part by part.
    """
    if entries < LARGE:
        return [work(0, 0, n)]
    ends = [n * k // PARTS for k in range(PARTS + 1)]
    return list(_threads().map(work, range(PARTS), ends, ends[1:]))


@cache
def _threads() -> ThreadPoolExecutor:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(min(PARTS, cpus), thread_name_prefix="lsmdp")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not survive a fork
