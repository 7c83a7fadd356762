"""Where jobs are played: processes on this machine, or a Dask cluster. Both are a ``concurrent.futures.Executor``.

**Processes** are started afresh (spawn), with one thread each for BLAS and numba: the cores are busy with runs
already, and sums do not depend on how many cores there are. They do not hear Ctrl-C, which is the coordinator's to
hear; it ends them, and they end themselves if it is killed. A worker that dies takes its pool with it, and nobody can
tell which of the jobs under way was to blame. So these are played again one at a time, each in a pool of its own: a
job that ran out of memory beside another gets all of it, and one that dies alone as well is given up. The others go
on as before.

**A cluster** plays the job of a dead worker on another one by itself, and gives it up after a few deaths.

In both cases a result exists once the coordinator holds it, and it takes the first one of each job: nothing is lost
with a worker, and nothing is counted twice.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from lsmdp.errors import SpecError

# These variables tell libraries to use one thread, since the jobs share the processors already.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
GAVE_UP = "the worker process died twice, the second time with nothing beside it. Is there memory enough for this run?"
CONNECT_SECONDS = 10  # A cluster may take this many seconds to answer before it is taken to be absent.

J = TypeVar("J")
R = TypeVar("R")
Results: TypeAlias = Generator[tuple[J, R | str], None, None]


class Workers(Protocol):
    """Somebody who plays jobs."""

    def each(self, work: Callable[[J], R | str], jobs: Iterable[J]) -> Results[J, R]:
        """Every job with its result, or a sentence that says why there is none, as they come."""


@dataclass(frozen=True)
class Processes:
    """So many processes on this machine."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SpecError(f"the number of processes is {self.count}. Give at least 1 with --jobs.")

    @classmethod
    def all_cores(cls) -> Processes:
        """As many as there are cores for us."""
        return cls(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)

    def each(self, work: Callable[[J], R | str], jobs: Iterable[J]) -> Results[J, R]:
        """Every job with its result."""
        left = deque(jobs)
        while left:
            with _pool(min(self.count, len(left))) as pool:
                lost = yield from _submitted(pool, self.count, work, left)
            for job in lost:
                with _pool(1) as pool:
                    if (yield from _submitted(pool, 1, work, deque([job]))):
                        yield job, GAVE_UP


# Whoever waits for results of a cluster looks every so many seconds whether there is still somebody to send them.
_SECONDS_BETWEEN_LOOKS_AT_A_CLUSTER = 5.0
# After this many looks in a row without an answer a scheduler is taken to be gone, and not only to be slow.
_LOOKS_WITHOUT_AN_ANSWER = 4


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster that is up; ``address`` is that of its scheduler."""

    address: str

    def each(self, work: Callable[[J], R | str], jobs: Iterable[J]) -> Results[J, R]:
        """Every job with its result."""
        killed_worker, client = self._connect()
        with _failures_told_once():
            try:
                executor = client.get_executor(pure=False)
                left = deque(jobs)
                complete = False
                try:  # all at once: the cluster may grow while it works
                    lost = yield from _submitted(
                        executor, len(left), work, left, (killed_worker,), lambda: client.status == "running"
                    )
                    complete = not (lost or left)
                except Exception:  # without a scheduler, a client has an error of its own for whatever it is asked
                    if client.status == "running":
                        raise
                finally:
                    with suppress(Exception):  # and refuses to cancel what it has asked for
                        executor.shutdown(wait=False)
                if not complete:
                    raise SpecError(
                        f'the connection to the Dask cluster "{self.address}" was lost. See that its scheduler is up, '
                        "and start the sweep again."
                    )
            finally:
                client.close()

    def _connect(self) -> tuple[type[BaseException], Any]:
        try:
            from distributed import Client
            from distributed.scheduler import KilledWorker
        except ImportError:
            raise SpecError("--dask needs Dask. Install it with: pip install 'lsmdp[dask]'") from None
        try:
            return KilledWorker, Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as refused:  # a time-out is an OSError
            raise SpecError(
                f'there is no Dask scheduler at "{self.address}" ({str(refused).split(chr(10))[0].strip(" .")}). Start '
                "one with dask scheduler, and give its address, such as tcp://10.0.0.5:8786."
            ) from None


@contextmanager
def _failures_told_once() -> Iterator[None]:
    """Keeps errors of Dask out of the log: they come to us as exceptions, and there with tracebacks besides."""

    def is_no_error(record: logging.LogRecord) -> bool:
        return record.levelno < logging.ERROR

    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in ("distributed", "tornado")]
    known = [logging.getLogger(name) for name in names]
    for logger in known:
        logger.addFilter(is_no_error)
    try:
        yield
    finally:
        for logger in known:
            logger.removeFilter(is_no_error)


def _submitted(
    executor: Executor,
    ahead: int,
    work: Callable[[J], R | str],
    left: deque[J],
    died: tuple[type[BaseException], ...] = (),
    reached: Callable[[], bool] = lambda: True,
) -> Generator[tuple[J, R | str], None, list[J]]:
    """Take jobs from ``left``, so many ahead, and yield their results; returns those that were lost when it broke.

    Where ``reached`` says several times in a row that nobody is there any more, all that is under way is lost.
    """
    under_way: dict[Future[R | str], J] = {}
    lost: list[J] = []
    silent = 0
    while under_way or (left and not lost):
        try:
            while left and not lost and len(under_way) < ahead:
                with _deaf_children():
                    future = executor.submit(work, left[0])
                under_way[future] = left.popleft()
        except BrokenExecutor:
            lost.append(left.popleft())
        done, _ = wait(under_way, _SECONDS_BETWEEN_LOOKS_AT_A_CLUSTER, FIRST_COMPLETED)
        silent = 0 if done or reached() else silent + 1
        if silent == _LOOKS_WITHOUT_AN_ANSWER:
            return [*lost, *under_way.values()]
        for future in done:
            job = under_way.pop(future)
            try:
                yield job, future.result()
            except died as death:
                yield job, f"the workers that tried it died: {str(death).split(chr(10))[0]}"
            except (BrokenExecutor, CancelledError):
                lost.append(job)
    return lost


@contextmanager
def _pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of fresh processes; they are ended at once if the block fails."""
    others = set(multiprocessing.active_children())
    usual = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
        pool.shutdown(wait=True)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        for name, value in usual.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end_with_parent() -> None:
    """Let this worker end when the coordinator does, even where that is killed and cannot say so."""
    parent = multiprocessing.parent_process()

    def wait_for_the_end() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_for_the_end, daemon=True).start()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started here never hear Ctrl-C; ours waits until the block ends."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
