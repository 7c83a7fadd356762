"""The folder of a run: what is in it, and how it gets there.

    spec.toml        what was asked for (spec.py)
    manifest.json    versions and hashes of the inputs: equal manifests and specs give equal bits
    checkpoint.npz   the table after the last saved round, and how many parts belong to it
    rounds/          the rounds so far, in numbered parts; gone once the run is finished
    rounds.parquet   all rounds; its presence says that the game is over
    summary.json     losses and regrets; its presence says that the run is finished

Every file is written beside its place, synced, and moved there, so a file is complete or absent. A part is complete
before the checkpoint that counts it: parts beyond the count belong to rounds that will be played again. Nothing is
pickled, and nothing names a date, a host or a path of the machine but the spec, which holds the paths as typed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_type_hints

import numpy as np

from lsmdp.errors import SpecError
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.npy import read_npz
from lsmdp.inputs.parquet import CHECKSUMS, read_parquet
from lsmdp.inputs.records import read_json
from lsmdp.runs.records import Manifest, Record, Summary
from lsmdp.runs.spec import Spec
from lsmdp.seat import Round

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 2**16  # rows of rounds.parquet that are kept together, whatever the parts were
BEGUN = {"manifest.json", ".manifest.json.tmp", ".spec.toml.tmp"}  # a folder that was being made holds no more


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content is at ``path`` as a whole when the block ends, and not at all if it fails."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        _sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class Folder:
    """A run on disk."""

    path: Path

    @property
    def has_run(self) -> bool:
        """Whether a run was started here; the spec is what is written last when a folder is made."""
        return (self.path / "spec.toml").is_file()

    @property
    def is_played(self) -> bool:
        """Whether all rounds have been played."""
        return (self.path / "rounds.parquet").is_file()

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        return (self.path / "summary.json").is_file()

    def require_run(self) -> None:
        """Raise unless a run was started here."""
        if not self.has_run:
            fact = "holds no run: there is no spec.toml in it" if self.path.is_dir() else "is not a folder"
            raise SpecError(f'"{self.path}" {fact}. Name a folder that lsmdp play has made.')

    def require_finished(self) -> None:
        """Raise unless the run is played and summed up."""
        self.require_run()
        if not self.is_finished:
            raise SpecError(f'"{self.path}" is not finished. Go on with: {self.spec().command(self.path)}')

    def require_free(self) -> None:
        """Raise unless a run can be started here without overwriting anything."""
        if self.has_run:
            raise SpecError(
                f'"{self.path}" holds a run already, and runs are not overwritten. Go on with it with --resume, or '
                "choose another folder with --out."
            )
        if self.path.exists() and not self.path.is_dir():
            raise SpecError(f'"{self.path}" is a file. Name a folder with --out.')
        if self.path.is_dir() and not {entry.name for entry in self.path.iterdir()} <= BEGUN:
            raise SpecError(f'"{self.path}" is not empty and holds no run. Choose another folder with --out.')

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder if need be, and keep every other process from playing in it. Only the living hold locks."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as refused:
            raise SpecError(
                f'"{self.path}" cannot be made: {refused.strerror}. Choose another place with --out.'
            ) from None
        with _lock(self.path):
            yield

    def create(self, spec: Spec, manifest: Mapping[str, Any]) -> None:
        """Write what a run starts with."""
        try:
            self.write_manifest(manifest)
            self.write_spec(spec)
        except OSError as refused:
            raise SpecError(
                f'"{self.path}" cannot be written: {refused.strerror}. Choose another place with --out.'
            ) from None

    def discard(self) -> None:
        """Take back ``create``, where not a single round could be played."""
        shutil.rmtree(self.path / "rounds", ignore_errors=True)
        with suppress(OSError):
            for name in ("spec.toml", "manifest.json"):
                (self.path / name).unlink()
            self.path.rmdir()

    def spec(self) -> Spec:
        """What was asked for."""
        return Spec.read(self.path / "spec.toml")

    def write_spec(self, spec: Spec) -> None:
        """Say what is asked for."""
        with atomic(self.path / "spec.toml") as stream:
            stream.write(spec.to_toml().encode())

    def manifest(self) -> dict[str, Any]:
        """Versions and hashes of the inputs."""
        return _read_json(self.path / "manifest.json", Manifest)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Say what the run is made from."""
        _write_json(self.path / "manifest.json", manifest)

    def summary(self) -> dict[str, Any]:
        """Losses and regrets of a finished run."""
        return _read_json(self.path / "summary.json", Summary)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Finish the run."""
        _write_json(self.path / "summary.json", summary)

    def drop_summary(self) -> None:
        """Ask for another summary of the same rounds."""
        (self.path / "summary.json").unlink(missing_ok=True)

    def checkpoint(self) -> dict[str, Any] | None:
        """The arrays that were saved last, if any were."""
        path = self.path / "checkpoint.npz"
        if not path.is_file():
            return None
        try:
            return read_npz(path)
        except (UnreadableError, OSError) as broken:
            raise damaged(path, broken) from None

    def write_checkpoint(self, arrays: Mapping[str, Any]) -> None:
        """Replace the last checkpoint."""
        with atomic(self.path / "checkpoint.npz") as stream:
            np.savez(stream, **arrays)

    def rounds(self) -> pa.Table:
        """A row for each round and learner, up to the last saved round; null where something was not computed."""
        import pyarrow as pa

        if self.is_played:
            return _read_parquet(self.path / "rounds.parquet")
        saved = self.checkpoint()
        parts = [] if saved is None else self._parts(int(saved["parts"]))
        return pa.concat_tables([_schema().empty_table(), *map(_read_parquet, parts)])

    def write_part(self, number: int, rows: Sequence[Round]) -> None:
        """Write down consecutive rounds."""
        import pyarrow as pa
        from pyarrow import parquet

        columns = [
            pa.array(values, field.type, from_pandas=True)  # nan becomes null
            for field, values in zip(_schema(), zip(*rows, strict=True), strict=True)
        ]
        (self.path / "rounds").mkdir(exist_ok=True)
        with atomic(self._part(number)) as stream:
            parquet.write_table(pa.table(columns, schema=_schema()), stream, **CHECKSUMS)

    def drop_parts_after(self, count: int) -> None:
        """Remove what was written after the checkpoint that counts ``count`` parts."""
        keep = {self._part(number) for number in range(1, count + 1)}
        for path in (self.path / "rounds").glob("*"):
            if path not in keep:
                path.unlink()

    def join(self, count: int) -> None:
        """Make one file of the parts, with row groups of one size, and remove the parts."""
        import pyarrow as pa
        from pyarrow import parquet

        if not self.is_played:
            with (
                atomic(self.path / "rounds.parquet") as stream,
                parquet.ParquetWriter(stream, _schema(), compression="zstd", **CHECKSUMS) as writer,
            ):
                pending = _schema().empty_table()
                for path in self._parts(count):
                    pending = pa.concat_tables([pending, _read_parquet(path)]).combine_chunks()
                    while pending.num_rows > ROW_GROUP:
                        writer.write_table(pending.slice(0, ROW_GROUP), ROW_GROUP)
                        pending = pending.slice(ROW_GROUP)
                writer.write_table(pending, ROW_GROUP)
        shutil.rmtree(self.path / "rounds", ignore_errors=True)

    def _part(self, number: int) -> Path:
        return self.path / "rounds" / f"part-{number:06d}.parquet"

    def _parts(self, count: int) -> list[Path]:
        return [self._part(number) for number in range(1, count + 1)]


def damaged(path: Path, reason: object) -> SpecError:
    """What to say of a file that lsmdp wrote and somebody changed."""
    text = str(reason).strip(" .'\"").split("\n")[0] or type(reason).__name__
    return SpecError(f'"{path}" is damaged ({text}). Start the run again in another folder with --out.')


def _schema() -> pa.Schema:
    """The columns of a table of rounds: the fields of :class:`Round`."""
    import pyarrow as pa

    types = {int: pa.int64(), str: pa.string(), float: pa.float64()}
    return pa.schema([(name, types[kind]) for name, kind in get_type_hints(Round).items()])


def _read_parquet(path: Path) -> pa.Table:
    try:
        table = read_parquet(path)
    except (UnreadableError, OSError) as broken:
        raise damaged(path, broken) from None
    if not table.schema.equals(_schema()):
        raise damaged(path, "its columns are not those of a table of rounds")
    return table


def _read_json(path: Path, kind: type[Record]) -> dict[str, Any]:
    try:
        return read_json(path, kind)
    except (UnreadableError, OSError) as broken:
        raise damaged(path, broken) from None


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic(path) as stream:
        stream.write(json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")


def _sync(folder: Path) -> None:
    """Make a move inside a folder last through a power cut, on systems where folders can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    if os.name != "posix":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SpecError(f'"{folder}" is in use: another process plays in it. Wait, or stop that one.') from None
        yield
    finally:
        os.close(descriptor)
