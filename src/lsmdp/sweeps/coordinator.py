"""A sweep from beginning to end: play what is missing, then make the table, the summary and the page.

The runs that are in the folder under their names are not played again, so to go on with a sweep is to start it again.
The largest runs go first, so that no core waits at the end for a long one; results are put in the order of the sweep
file. What stops a sweep keeps the runs that were finished, and the exception carries a note that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from lsmdp.runs import Folder
from lsmdp.sweeps.folder import SweepFolder
from lsmdp.sweeps.jobs import Job, ResultRow, played
from lsmdp.sweeps.spec import Sweep
from lsmdp.sweeps.summary import summarise
from lsmdp.sweeps.workers import Workers


class SweepProgress(NamedTuple):
    """How far a sweep is: runs done, failed and in all, and the same as shares of the work."""

    done: int
    failed: int
    total: int
    work_done: float
    work: float


WatchSweep = Callable[[SweepProgress], None]


def run(
    sweep: Sweep, jobs: Sequence[Job], path: Path, workers: Workers, *, watch: WatchSweep | None = None, again: str = ""
) -> dict[str, Any]:
    """Play the jobs that are not in the folder yet, and sum up; ``again`` is the command that goes on after a stop."""
    folder = SweepFolder(path)
    folder.require_ours()
    with Folder(path).locked():
        folder.create(sweep)
        finished: dict[str, Sequence[ResultRow]] = {}
        failed: dict[str, str] = {}
        try:
            _play(folder, jobs, workers, finished, failed, watch or (lambda _: None))
            return _sum_up(folder, sweep, jobs, finished, failed)
        except BaseException as stop:
            how = f" Go on with: {again}" if again else ""
            # A run may be in the folder since a moment ago, and not be counted yet.
            kept = len(finished) + sum(folder.rows(job) is not None for job in jobs if job.digest not in finished)
            stop.add_note(f'{kept:,} of {len(jobs):,} runs are kept in "{path}".{how}')
            raise


def _play(
    folder: SweepFolder,
    jobs: Sequence[Job],
    workers: Workers,
    finished: dict[str, Sequence[ResultRow]],
    failed: dict[str, str],
    watch: WatchSweep,
) -> None:
    work, done = sum(job.work for job in jobs), 0.0
    missing = []
    for job in jobs:
        rows = folder.rows(job)
        if rows is None:
            missing.append(job)
        else:
            finished[job.digest] = rows
            done += job.work
    missing.sort(key=lambda job: -job.work)
    watch(SweepProgress(len(finished), 0, len(jobs), done, work))
    with closing(workers.each(played, missing)) as results:  # so that a failure here ends the workers too
        for job, result in results:
            if isinstance(result, str):
                failed[job.digest] = result
            else:
                folder.keep(job, result)
                finished[job.digest] = result
            done += job.work
            watch(SweepProgress(len(finished), len(failed), len(jobs), done, work))


def _sum_up(
    folder: SweepFolder,
    sweep: Sweep,
    jobs: Sequence[Job],
    finished: dict[str, Sequence[ResultRow]],
    failed: dict[str, str],
) -> dict[str, Any]:
    runs = [(job, finished[job.digest]) for job in jobs if job.digest in finished]
    faults = [
        {
            "run": job.digest[:16],
            "model": job.model,
            "costs": job.costs,
            "rounds": job.spec.rounds,
            "seed": job.replicate,
        }
        | {"why": failed[job.digest]}
        for job in jobs
        if job.digest in failed
    ]
    from lsmdp.sweeps.page import page  # and with it all of the report, which no worker needs

    summary = summarise(sweep, runs, faults)
    if runs:
        folder.write_table(runs)
    folder.write_summary(summary)
    if runs:
        folder.write_page(page(summary))
    return summary
