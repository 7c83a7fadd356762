"""Many runs at once: a sweep file (spec.py) becomes jobs (jobs.py), played on every core or on a cluster (workers.py).

sweep, jobs = sweeps.read(Path("sweep.toml"))
summary = sweeps.run(sweep, jobs, Path("runs/sweep"), Processes(2))
table = SweepFolder(Path("runs/sweep")).table()         # a row per run, learner and marked round
"""

from lsmdp.sweeps.coordinator import run
from lsmdp.sweeps.folder import SweepFolder, default_folder
from lsmdp.sweeps.jobs import Job
from lsmdp.sweeps.spec import Sweep, read
from lsmdp.sweeps.workers import Cluster, Processes

__all__ = ["Cluster", "Job", "Processes", "Sweep", "SweepFolder", "default_folder", "read", "run"]
