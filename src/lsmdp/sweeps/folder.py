"""The folder of a sweep.

    sweep.json        what was asked for
    runs/NAME.json    a finished run under its digest: what it is, and its rows (jobs.py)
    results.parquet   the rows of all runs of the sweep, in the order of the sweep file
    summary.json      medians, bands and growth (summary.py)
    report.html       the page (page.py)

A run is written as a whole or not at all (files.py), by the coordinator alone. A file that cannot be read, or that is
not what its name says, counts as absent and is played again. Runs of an earlier sweep in the same folder that the
present one asks for as well are used; others stay where they are. Nothing is written or removed through a link.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from lsmdp.errors import SpecError
from lsmdp.files import atomic, clear, explained, own_folder, remove
from lsmdp.runs.folder import Folder
from lsmdp.sweeps.jobs import Job, Row
from lsmdp.sweeps.spec import Sweep

if TYPE_CHECKING:
    import pyarrow as pa

MADE = ("results.parquet", "summary.json", "report.html")
JOB_COLUMNS: Mapping[str, type] = {"run": str, "model": str, "costs": str, "rounds": int, "seed": int}


@dataclass(frozen=True)
class SweepFolder:
    """A sweep on disk."""

    path: Path

    @property
    def runs(self) -> Path:
        """Where the finished runs are."""
        return self.path / "runs"

    def require_ours(self) -> None:
        """Raise unless the folder is absent, empty, or that of a sweep."""
        if self.path.exists() and not self.path.is_dir():
            raise SpecError(f'"{self.path}" is a file. Name a folder with --out.')
        if Folder(self.path).has_run:
            raise SpecError(f'"{self.path}" holds a run of lsmdp play. Choose another folder with --out.')
        if self.path.is_dir() and not (self.path / "sweep.json").is_file():
            others = [entry.name for entry in self.path.iterdir() if not entry.name.startswith(".")]
            if others:
                raise SpecError(f'"{self.path}" is not empty and holds no sweep. Choose another folder with --out.')

    def create(self, sweep: Sweep) -> None:
        """Say what is asked for; what was made for another sweep goes, but its runs stay."""
        content = sweep.model_dump(mode="json")
        with explained(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            own_folder(self.runs)
            clear(self.runs)
            if self._sweep() != content:
                remove(self.path.resolve(), MADE.__contains__)
                self._write("sweep.json", content)

    def _sweep(self) -> Any:
        try:
            return json.loads((self.path / "sweep.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def rows(self, job: Job) -> list[Row] | None:
        """The rows of a finished run, or None."""
        try:
            content = json.loads((self.runs / f"{job.digest}.json").read_text(encoding="utf-8"))
            columns = [content["rows"][name] for name in Row._fields]
            found = [Row(*values) for values in zip(*columns, strict=True)]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if content["run"] == job.digest and found else None

    def keep(self, job: Job, rows: Sequence[Row]) -> None:
        """Write a finished run."""
        columns = dict(zip(Row._fields, map(list, zip(*rows, strict=True)), strict=True))
        spec = job.spec.model_dump(mode="json", exclude_none=True)
        self._write(f"runs/{job.digest}.json", {"run": job.digest, "spec": spec, "rows": columns}, indent=None)

    def write_table(self, runs: Iterable[tuple[Job, Sequence[Row]]]) -> None:
        """Make one table of all runs."""
        import pyarrow as pa
        from pyarrow import parquet

        lines = [
            (job.digest[:16], job.model, job.costs, job.spec.rounds, job.replicate, *row)
            for job, rows in runs
            for row in rows
        ]
        schema = _schema()
        columns = [pa.array(values, field.type) for field, values in zip(schema, zip(*lines, strict=True), strict=True)]
        with atomic(self.path / "results.parquet") as stream:
            parquet.write_table(pa.table(columns, schema=schema), stream, compression="zstd")

    def table(self) -> pa.Table:
        """A row per run, learner and marked round."""
        from pyarrow import parquet

        return parquet.ParquetFile(self.path / "results.parquet").read()

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the medians, bands and fits."""
        self._write("summary.json", summary)

    def summary(self) -> dict[str, Any]:
        """What was written last."""
        content: dict[str, Any] = json.loads((self.path / "summary.json").read_text(encoding="utf-8"))
        return content

    def write_page(self, text: str) -> None:
        """Write the page."""
        with atomic(self.path / "report.html") as stream:
            stream.write(text.encode())

    def _write(self, name: str, content: Mapping[str, Any], indent: int | None = 2) -> None:
        with atomic(self.path / name) as stream:
            stream.write(json.dumps(content, indent=indent, allow_nan=False).encode() + b"\n")


def default_folder(path: Path) -> Path:
    """Where a sweep goes if nothing else is said: runs/NAME of the sweep file."""
    return Path("runs", path.stem)


def _schema() -> pa.Schema:
    """The names of a run, then the fields of :class:`Row`."""
    import pyarrow as pa

    types = {int: pa.int64(), str: pa.string(), float: pa.float64(), float | None: pa.float64()}
    return pa.schema([(name, types[kind]) for name, kind in {**JOB_COLUMNS, **get_type_hints(Row)}.items()])
