"""The folder of a sweep.

    sweep.json        what was asked for
    runs/NAME.json    a finished run under its digest: what it is, its rows (jobs.py), and their sha256
    results.parquet   the rows of all runs of the sweep, in the order of the sweep file
    summary.json      medians, bands and growth (summary.py)
    report.html       the page (page.py)

A run is written as a whole or not at all (files.py), by the coordinator alone. A file that cannot be read, or that is
not what its name says, counts as absent and is played again. Runs of an earlier sweep in the same folder that the
present one asks for as well are used; others stay where they are. Nothing is written or removed through a link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from lsmdp.errors import SpecError
from lsmdp.files import (
    atomic,
    clear,
    explained,
    own_folder,
    remove,
)
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.parquet import CHECKSUMS, read_parquet
from lsmdp.inputs.records import read_json
from lsmdp.runs.folder import Folder
from lsmdp.runs.records import StrictRecord
from lsmdp.sweeps.jobs import Job, ResultRow, are_rows_of
from lsmdp.sweeps.spec import Sweep
from lsmdp.sweeps.summary import clairvoyant

if TYPE_CHECKING:
    import pyarrow as pa

# These files of a sweep are made from its runs, and so can be made again.
_MADE = ("results.parquet", "summary.json", "report.html")
T = TypeVar("T")
# The table of results says with these columns which job a row is about.
_JOB_COLUMNS: Mapping[str, type] = {"run": str, "model": str, "costs": str, "rounds": int, "seed": int}


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
                remove(self.path.resolve(), _MADE.__contains__)
                self._write("sweep.json", content)

    def _sweep(self) -> Any:
        try:
            return read_json(self.path / "sweep.json", StrictRecord)
        except (OSError, UnreadableError, SpecError):
            return None

    def rows(self, job: Job) -> list[ResultRow] | None:
        """The rows of a finished run, or None."""
        try:
            content = read_json(self.runs / f"{job.digest}.json", _finished_run())
            columns = [content["rows"][name] for name in ResultRow._fields]
            found = [ResultRow(*values) for values in zip(*columns, strict=True)]
        except (OSError, ValueError, SpecError):
            return None
        whole = (content["run"], content["sha256"]) == (job.digest, _sha256(content["rows"]))
        return found if whole and are_rows_of(job, found) else None

    def keep(self, job: Job, rows: Sequence[ResultRow]) -> None:
        """Write a finished run."""
        columns = dict(zip(ResultRow._fields, map(list, zip(*rows, strict=True)), strict=True))
        spec = job.spec.model_dump(mode="json", exclude_none=True)
        content = {"run": job.digest, "spec": spec, "rows": columns, "sha256": _sha256(columns)}
        self._write(f"runs/{job.digest}.json", content, indent=None)

    def write_table(self, runs: Iterable[tuple[Job, Sequence[ResultRow]]]) -> None:
        """Make one table of all runs."""
        import pyarrow as pa
        from pyarrow import parquet

        found = [(job, rows) for job, rows in runs]
        sees = {name: clairvoyant(name) for name in {row.learner for _, rows in found for row in rows}}
        lines = [
            (job.digest[:16], job.model, job.costs, job.spec.rounds, job.replicate, *row, sees[row.learner])
            for job, rows in found
            for row in rows
        ]
        schema = _schema()
        columns = [pa.array(values, field.type) for field, values in zip(schema, zip(*lines, strict=True), strict=True)]
        with atomic(self.path / "results.parquet") as stream:
            parquet.write_table(pa.table(columns, schema=schema), stream, compression="zstd", **CHECKSUMS)

    def table(self) -> pa.Table:
        """A row per run, learner and marked round."""
        return self._made("results.parquet", read_parquet)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the medians, bands and fits."""
        self._write("summary.json", summary)

    def summary(self) -> dict[str, Any]:
        """What was written last."""
        return self._made("summary.json", lambda path: read_json(path, StrictRecord))

    def _made(self, name: str, read: Callable[[Path], T]) -> T:
        try:
            return read(self.path / name)
        except (UnreadableError, OSError) as broken:
            raise SpecError(
                f'"{self.path / name}" cannot be read ({broken}). Start the sweep again: its runs are kept.'
            ) from None

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


@cache
def _finished_run() -> type[StrictRecord]:
    """What the file of a finished run holds: its digest, and the columns of its rows."""
    from pydantic import create_model

    kinds: dict[str, Any] = {name: (list[kind], ...) for name, kind in get_type_hints(ResultRow).items()}  # type: ignore[valid-type]
    columns = create_model("Columns", __base__=StrictRecord, **kinds)
    return create_model("FinishedRun", __base__=StrictRecord, run=(str, ...), rows=(columns, ...), sha256=(str, ...))


def _sha256(columns: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(columns).encode()).hexdigest()


def _schema() -> pa.Schema:
    """The names of a run, the fields of :class:`ResultRow`, and whether the learner sees each cost beforehand."""
    import pyarrow as pa

    types = {int: pa.int64(), str: pa.string(), float: pa.float64(), float | None: pa.float64(), bool: pa.bool_()}
    columns = {**_JOB_COLUMNS, **get_type_hints(ResultRow), "clairvoyant": bool}
    return pa.schema([(name, types[kind]) for name, kind in columns.items()])
