"""The rows of a large P in a fixed number of slices, on as many processors as there are; and BLAS on one of them.

Compiled loops let other threads run. One that is called for a slice takes the first and the last of its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

SLICES = 4  # The rows of a large P are cut into so many slices: enough for the processors of a usual machine.
MOVES_OF_A_LARGE_P = 1_000_000  # With so many, a slice takes much longer than to wake a thread (some 50 us).


def in_slices(entries: int, n: int, work: Callable[[int, int, int], Any]) -> list[Any]:
    """work(k, first, last) for the k-th slice of n rows: a single one, or, for a large P, SLICES of them in threads.

    The slices do not depend on the number of threads, and so neither do the bits of what is summed up in each. The
    threads begin with the first slice, and the caller with the last: if it only waited, its processor would often be
    idle while two threads take turns on another one, and a round on 10^6 states would take a quarter longer.
    """
    if entries < MOVES_OF_A_LARGE_P:
        return [work(0, 0, n)]
    ends = [n * k // SLICES for k in range(SLICES + 1)]
    threads = _threads()
    begun = [threads.submit(work, k, ends[k], ends[k + 1]) for k in range(SLICES)]
    own = {k: work(k, ends[k], ends[k + 1]) for k in reversed(range(SLICES)) if begun[k].cancel()}
    return [own[k] if k in own else begun[k].result() for k in range(SLICES)]


def one_thread() -> Any:
    """A context in which BLAS works on one thread: several would fight over small matrices, and decide on the bits."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before it can be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _threads() -> ThreadPoolExecutor:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(max(1, min(SLICES, cpus) - 1), thread_name_prefix="lsmdp")  # and the caller


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not survive a fork
