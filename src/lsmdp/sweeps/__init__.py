"""Many runs at once: every model of a sweep file meets every cost family, on every core or on a cluster.

    sweep, jobs = sweeps.read(Path("sweep.toml"))
    summary = sweeps.run(sweep, jobs, Path("runs/sweep"), Processes(2))
    table = SweepFolder(Path("runs/sweep")).table()         # a row per run, learner and marked round

- :mod:`~lsmdp.sweeps.spec`: the sweep file;
- :mod:`~lsmdp.sweeps.jobs`: one job of it, which is one run, and the name that its content gives it;
- :mod:`~lsmdp.sweeps.workers`: where jobs are played;
- :mod:`~lsmdp.sweeps.coordinator`: a sweep from beginning to end;
- :mod:`~lsmdp.sweeps.folder`: its files;
- :mod:`~lsmdp.sweeps.growth`, :mod:`~lsmdp.sweeps.summary`, :mod:`~lsmdp.sweeps.page`: what it comes to.
"""

from lsmdp.sweeps.coordinator import run
from lsmdp.sweeps.folder import SweepFolder, default_folder
from lsmdp.sweeps.jobs import Job
from lsmdp.sweeps.spec import Sweep, read
from lsmdp.sweeps.workers import Cluster, Processes

__all__ = ["Cluster", "Job", "Processes", "Sweep", "SweepFolder", "default_folder", "read", "run"]
