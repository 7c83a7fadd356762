"""Every command of ``lsmdp`` once, as a user calls it, with whatever versions are installed.

    python tests/smoke.py        the python of the environment to try; it needs lsmdp and nothing else

This is not about numbers: the tests are. It tells that each command starts, reads its files, writes what it promises
and leaves with the right exit code, in an empty folder and with the installed program. ``make lowest`` runs it with the
lowest versions that pyproject.toml allows, ``make wheel`` with the wheel alone. Where an optional package is absent,
the command has to say how to install it. A command that no line below tries is an error.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("lsmdp"))
SECONDS = 1_800.0  # for one command, so that one that hangs is found: the longest takes a minute, on a busy machine ten


@dataclass(frozen=True)
class Try:
    """One call. ``code`` is how it ends, ``writes`` a file that is there afterwards, ``needs`` an optional package."""

    line: str
    code: int = 0
    told: str = ""
    writes: str = ""
    needs: str = ""

    @property
    def command(self) -> str:
        """The name of the command."""
        return self.line.split()[0]


TRIES = (
    Try("check ring:12"),
    Try("check ring:6:1 --json", code=1),
    Try("check roads.graphml", needs="networkx"),
    Try("fit moves.csv --out town.npz --json", writes="town.npz"),
    Try("solve grid:5x5 --cost hill --explain"),
    Try("solve clusters:2:600:1e-3 --cost random:1 --out solution.npz", writes="solution.npz"),
    Try("solve town.npz --cost cost.csv --edge-costs moves-cost.csv --json"),
    Try("solve grid:5x5 --cost hill --out answer.csv --policy policy.parquet --json", writes="policy.parquet"),
    Try("simulate solution.npz --steps 50 --walkers 2 --out log.csv --json", writes="log.csv"),
    Try("follow town.npz --start home --state kept.npz", told='{"cost": [0.5, 0.0, 1.0]}\n', writes="kept.npz"),
    Try("play ring:12 --costs iid --rounds 60 --learner ftl --learner window:9 --sample 3 --bracket --out runs/ring"),
    Try("play ring:12 --costs costs.parquet --json --out runs/file", writes="runs/file/rounds.parquet"),
    Try("play grid:5x40 --costs switching:7 --rounds 30 --learner ftl --learner track --out runs/grid"),
    Try("play grid:5x40 --costs switching:7 --rounds 30 --learner ftl --learner track --out runs/grid --resume"),
    Try("show runs/ring"),
    Try("certify runs/ring --json"),
    Try("certify ring:4 --costs switching:10 --rounds 40 --no-search"),
    Try("report runs/ring --json", writes="runs/ring/report.html"),
    Try("figures runs/grid --format png", writes="runs/grid/figures/regret.png", needs="matplotlib"),
    Try("sweep sweep.toml --jobs 2 --json", writes="runs/sweep/report.html"),
    Try("sweep sweep.toml --dask {cluster} --out runs/dask", writes="runs/dask/report.html", needs="distributed"),
    Try("demo --json", writes="runs/demo/report.html"),
    Try("compile --json"),
)

FILES = {
    "moves.csv": "entity,time,state\na,0,home\na,1,work\na,2,home\na,3,shop\na,4,home\nb,0,work\nb,1,shop\nb,2,work\n",
    "cost.csv": "state,cost\nhome,0.0\nshop,0.5\nwork,1.0\n",
    "moves-cost.csv": "from,to,cost\nhome,work,0.25\nwork,home,0.75\n",
    "roads.graphml": """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
  <node id="a"/><node id="b"/><node id="c"/>
  <edge source="a" target="b"/><edge source="b" target="c"/><edge source="c" target="a"/>
</graph></graphml>
""",
    "sweep.toml": """models = ["ring:12"]
costs = ["iid"]
learners = ["ftl", "passive"]
horizons = [50]
seeds = 2
""",
}


def main() -> None:
    """Try everything and say what fails; exit code 1 if something does."""
    if untried := untried_commands():
        sys.exit(f"tests/smoke.py does not try {', '.join(untried)}: add a line to TRIES.")
    if lost := lost_files():
        sys.exit(f"The installed package lacks {', '.join(lost)}: see [tool.hatch.build] in pyproject.toml.")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(sys.prefix) / "numba-cache"))
    print(f"Python {sys.version.split()[0]}, {', '.join(versions())}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="lsmdp smoke ") as folder:  # with spaces, as on many a desk
        os.chdir(folder)
        write_files()
        for one in (*(Try(f"{name} --help") for name in commands()), *TRIES):
            began = time.monotonic()
            complaint = attempt(one)
            failed += bool(complaint)
            print(f"{time.monotonic() - began:6.1f} s  lsmdp {one.line}  {complaint or 'ok'}", flush=True)
        os.chdir("/")
    if failed:
        sys.exit(f"{failed} of these do not work.")
    print("Every command works.")


def commands() -> list[str]:
    """The names of all commands."""
    from typer.main import get_command

    from lsmdp.cli import app

    return sorted(get_command(app).commands)  # type: ignore[attr-defined]


def untried_commands() -> list[str]:
    """The commands that no line of ``TRIES`` tries."""
    return sorted(set(commands()) - {one.command for one in TRIES})


def lost_files() -> list[str]:
    """The files of the sources that the installed package is without, such as its map, its pages and py.typed."""
    import lsmdp

    there, here = Path(__file__).parent.parent / "src" / "lsmdp", Path(lsmdp.__file__).parent
    wanted = {path.relative_to(there) for path in there.rglob("*") if path.is_file()}
    return sorted(str(path) for path in wanted if "__pycache__" not in path.parts and not (here / path).is_file())


def versions() -> Iterator[str]:
    """What is installed of the packages that lsmdp depends on, such as "numpy 2.4.6"."""
    wanted = [one for one in metadata.requires("lsmdp") or () if "'docs'" not in one and "'dev'" not in one]
    for name in sorted({re.split(r"[^\w.-]", one)[0] for one in wanted} - {"lsmdp"}):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"no {name}"


def write_files() -> None:
    """The files that the commands read."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    costs = np.random.default_rng(0).random((25, 12))
    parquet.write_table(pa.table({str(x): costs[:, x] for x in range(12)}), "costs.parquet")


def attempt(one: Try) -> str:
    """What is wrong with a call; nothing if all is well."""
    here = not one.needs or find_spec(one.needs) is not None
    cluster: Callable[[], object] = local_cluster if here and "{cluster}" in one.line else nullcontext
    with cluster() as address:  # type: ignore[attr-defined]
        words = shlex.split(one.line.format(cluster=address))
        try:
            done = subprocess.run(
                [PROGRAM, *words], input=one.told, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"took more than {SECONDS:.0f} s"
    said = f"{done.stdout}\n{done.stderr}".strip()
    if not here:
        told_how = done.returncode == 2 and "pip install" in done.stderr and "Traceback" not in done.stderr
        return "" if told_how else f"does not say how to install {one.needs}:\n{said}"
    if done.returncode != one.code or "Traceback" in done.stderr:
        return f"ends with exit code {done.returncode} instead of {one.code}:\n{said}"
    if not done.stdout.strip():
        return f"prints nothing:\n{said}"
    if one.writes and not Path(one.writes).is_file():
        return f"did not write {one.writes}:\n{said}"
    if "--json" in words and not isinstance(json.loads(done.stdout), dict):
        return f"printed no JSON object:\n{said}"
    return ""


@contextmanager
def local_cluster() -> Iterator[str]:
    """A Dask cluster of one process on this machine; its address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


if __name__ == "__main__":
    main()
