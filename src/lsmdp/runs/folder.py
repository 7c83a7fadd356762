"""The folder of a run: what is in it, and how it gets there.

    spec.toml        what was asked for (spec.py)
    manifest.json    versions and hashes of the inputs: equal manifests and specs give equal bits
    checkpoint.npz   the game after the last saved round, and how many parts belong to it
    rounds/          the rounds so far, in numbered parts; gone once the run is finished
    rounds.parquet   all rounds; its presence says that the game is over
    film.parquet     what some rounds looked like, for the map of the page (film.py)
    dynamic*.parquet the dynamic regret by rounds and by states, where that was worked out (dynamic.py)
    summary.json     losses and regrets; its presence says that the run is finished

Every file is written beside its place, synced, and moved there (files.py), so a file is complete or absent. A part is
complete before the checkpoint that counts it: parts beyond the count belong to rounds that will be played again. The
checkpoint holds a checksum of itself and of each part, so that what was changed by accident is refused by name, before
anything goes on from it. Nothing is pickled, and nothing names a date, a host or a path of the machine but the spec,
which holds the paths as typed.

Of what is in a folder, only files with these names are ever replaced or removed, and nothing through a link.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from lsmdp.errors import SpecError
from lsmdp.files import (
    DRAFT,
    atomic,
    clear,
    explained,
    locked,
    own_folder,
    remove,
    require_own,
)
from lsmdp.game import Round
from lsmdp.inputs import forms
from lsmdp.inputs.files import UnreadableError, reason_of
from lsmdp.inputs.forms import Array, Form
from lsmdp.inputs.parquet import CHECKSUMS, read_parquet
from lsmdp.inputs.records import read_json
from lsmdp.runs.records import Manifest, StrictRecord, Summary
from lsmdp.runs.spec import Spec

if TYPE_CHECKING:
    import pyarrow as pa

# So many rows of rounds.parquet are kept together, whatever the parts were: about a megabyte for each of a few columns.
ROW_GROUP = 2**16
_BEGUN = "manifest.json"  # A folder that was being made holds this file and no other, but for drafts.
_PART = re.compile(r"part-(\d{6,})\.parquet")  # The rounds between two checkpoints are in files with such names.
# These are versions of the layout of a checkpoint; those of version 1 have other names, and states of learners that are
# no longer read.
CHECKPOINT_VERSION, _EARLIER_CHECKPOINT = 2, 1
# This is the form of the number of a round in a checkpoint.
_FORM_OF_A_ROUND = Form(dtype=np.int64, low=1, high=forms.BEYOND_COUNTS)
_FORM_OF_A_HASH = Form(((32,),), np.uint8)  # This is the form of a hash of the rounds in a checkpoint.
# What to do where a file of a run is damaged: only the summary follows from the others.
_PLAYED_AGAIN = "Start the run again in another folder with --out."
_SUMMED_UP_AGAIN = "Remove it and go on with the run with --resume: it is written again from the rounds."
_SEAT = re.compile(r"^seat(\d+\.)")  # The arrays of a player begin like this in version 1.
# These are the errors that reading a file which is no checkpoint may end in.
_NOT_A_ZIP = (ValueError, KeyError, EOFError, OSError, RuntimeError, OverflowError, struct.error, BadZipFile)


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
        others = {name for name in os.listdir(self.path) if not DRAFT.fullmatch(name)} if self.path.is_dir() else set()
        if others - {_BEGUN}:
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
        with locked(self.path, f'"{self.path}" is in use: another process plays in it. Wait, or stop that one.'):
            clear(self.path)
            if not (self.path / "rounds").is_symlink():
                clear(self.path / "rounds")
            yield

    def create(self, spec: Spec, manifest: Mapping[str, Any]) -> None:
        """Write what a run starts with."""
        with explained(self.path):
            try:
                self.write_manifest(manifest)
                self.write_spec(spec)
            except OSError:
                self.discard()
                raise

    def discard(self) -> None:
        """Take back ``create``, where not a single round was saved."""
        if self.has_checkpoint or self.is_played:
            return
        with suppress(OSError, SpecError):
            self._drop_rounds()
        with suppress(OSError):
            remove(self.path.resolve(), ("spec.toml", "manifest.json", "film.parquet").__contains__)
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
        return _read_json(self.path / "summary.json", Summary, _SUMMED_UP_AGAIN)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Finish the run."""
        _write_json(self.path / "summary.json", summary)

    def drop_summary(self) -> None:
        """Ask for another summary of the same rounds."""
        remove(self.path.resolve(), "summary.json".__eq__)

    @property
    def has_checkpoint(self) -> bool:
        """Whether a round was saved."""
        return (self.path / "checkpoint.npz").is_file()

    def checkpoint(self) -> dict[str, Any] | None:
        """The arrays that were saved last, if any were, as far as they can be judged without the model.

        That is, they are those that were written, and what belongs to the folder is in order: the round ``t``, a
        checksum for each of the ``parts``, and the ``hash`` of the costs (manifest.py). Of an earlier ``version``, only
        a game that is over can be read, without the states of the learners: nothing goes on from them.
        """
        path = self.path / "checkpoint.npz"
        if not self.has_checkpoint:
            return None
        arrays = _read_arrays(path)
        checksum, version = arrays.pop("checksum", None), arrays.pop("version", None)
        readable = (CHECKPOINT_VERSION, _EARLIER_CHECKPOINT) if self.is_played else (CHECKPOINT_VERSION,)
        if version is None or version.shape or version not in readable:
            there = "an earlier one" if version is None else f"version {version}"
            raise SpecError(
                f'"{path}" is of another format ({there}; this lsmdp reads version {CHECKPOINT_VERSION}). Go on '
                "with the lsmdp that wrote it, or start the run again in another folder with --out."
            )
        if checksum is None or forms.digest(arrays) != checksum.tobytes():
            raise damaged(path, "its checksum does not fit")
        try:
            forms.require(arrays, {"t": _FORM_OF_A_ROUND, "hash": _FORM_OF_A_HASH})
            forms.require(arrays, {"parts": _parts_form(arrays)})
        except SpecError as wrong:
            raise damaged(path, wrong) from None
        return {_SEAT.sub(r"player\1", name): array for name, array in arrays.items()} | {"version": version}

    def write_checkpoint(self, arrays: Mapping[str, Any]) -> None:
        """Replace the last checkpoint."""
        kept: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items() if name != "version"}
        checksum = np.frombuffer(forms.digest(kept), dtype=np.uint8)
        with atomic(self.path / "checkpoint.npz") as stream:
            np.savez(stream, **kept, version=np.asarray(CHECKPOINT_VERSION), checksum=checksum)

    def rounds(self) -> pa.Table:
        """A row for each round and learner, up to the last saved round; null where something was not computed."""
        import pyarrow as pa

        if self.is_played:
            return _read_parquet(self.path / "rounds.parquet")
        saved = self.checkpoint()
        parts = [] if saved is None else [_read_parquet(path) for path in self._parts(saved["parts"])]
        return pa.concat_tables([_schema().empty_table(), *parts])

    def write_part(self, number: int, rows: Sequence[Round]) -> int:
        """Write down consecutive rounds; the checksum of what was written."""
        import pyarrow as pa
        from pyarrow import parquet

        columns = [
            pa.array(values, field.type, from_pandas=True)  # nan becomes null
            for field, values in zip(_schema(), zip(*rows, strict=True), strict=True)
        ]
        content = io.BytesIO()
        parquet.write_table(pa.table(columns, schema=_schema()), content, **CHECKSUMS)
        own_folder(self.path / "rounds")
        with atomic(self._part(number)) as stream:
            stream.write(content.getbuffer())
        return _checksum(content.getbuffer())

    def require_parts(self, checksums: Sequence[int]) -> None:
        """Raise unless the parts that the last checkpoint counts are those that were written."""
        require_own(self.path / "rounds")
        for _ in self._parts(checksums):
            pass

    def drop_parts_after(self, count: int) -> None:
        """Remove what was written after the checkpoint that counts ``count`` parts."""
        remove(self.path / "rounds", lambda name: _number(name) > count)

    def join(self, checksums: Sequence[int]) -> None:
        """Make one file of the parts, with row groups of one size, and remove the parts."""
        import pyarrow as pa
        from pyarrow import parquet

        if not self.is_played:
            with (
                atomic(self.path / "rounds.parquet") as stream,
                parquet.ParquetWriter(stream, _schema(), compression="zstd", **CHECKSUMS) as writer,
            ):
                pending = _schema().empty_table()
                for path in self._parts(checksums):
                    pending = pa.concat_tables([pending, _read_parquet(path)]).combine_chunks()
                    while pending.num_rows > ROW_GROUP:
                        writer.write_table(pending.slice(0, ROW_GROUP), ROW_GROUP)
                        pending = pending.slice(ROW_GROUP)
                writer.write_table(pending, ROW_GROUP)
        self._drop_rounds()

    def _drop_rounds(self) -> None:
        """Remove all parts, and their folder if nothing else is in it."""
        self.drop_parts_after(0)
        with suppress(OSError):
            (self.path / "rounds").rmdir()

    def _part(self, number: int) -> Path:
        return self.path / "rounds" / f"part-{number:06d}.parquet"

    def _parts(self, checksums: Sequence[int]) -> Iterator[Path]:
        """The parts with these checksums, one after the other."""
        for number, checksum in enumerate(checksums, start=1):
            path = self._part(number)
            try:
                content = path.read_bytes()
            except OSError as broken:
                raise damaged(path, broken.strerror) from None
            if _checksum(content) != checksum:
                raise damaged(path, "its checksum does not fit")
            yield path


def damaged(path: Path, reason: object, way_out: str = _PLAYED_AGAIN) -> SpecError:
    """What to say of a file that lsmdp wrote and somebody changed."""
    return SpecError(f'"{path}" is damaged ({reason_of(reason)}). {way_out}')


def _read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of a file that ``numpy.savez`` wrote; together they are no larger than the file is."""
    with path.open("rb") as stream:
        try:
            with ZipFile(stream) as archive:
                entries = archive.infolist()
                if any(entry.compress_type != ZIP_STORED for entry in entries):
                    raise SpecError("it is compressed, which no checkpoint is")
                if sum(entry.file_size for entry in entries) > os.fstat(stream.fileno()).st_size:
                    raise SpecError("its arrays are larger than the file")
                contents = {entry.filename.removesuffix(".npy"): archive.read(entry) for entry in entries}
            return {name: forms.from_bytes(content, whole=True)[0] for name, content in contents.items()}
        except _NOT_A_ZIP as broken:
            raise damaged(path, broken) from None


def _parts_form(arrays: Mapping[str, Array]) -> Form:
    """A checksum for each part, of which there are no more than rounds."""
    count = arrays["parts"].size if "parts" in arrays else 1
    return Form(((count,),) if 1 <= count <= arrays["t"] else (), np.uint64)


def _checksum(content: bytes | memoryview) -> int:
    """The first 8 bytes of the sha256."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "little")


def _number(name: str) -> int:
    """The number of a part; 0 for any other name."""
    part = _PART.fullmatch(name)
    return int(part[1]) if part else 0


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


def _read_json(path: Path, kind: type[StrictRecord], way_out: str = _PLAYED_AGAIN) -> dict[str, Any]:
    try:
        return read_json(path, kind)
    except (UnreadableError, OSError) as broken:
        raise damaged(path, broken, way_out) from None


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic(path) as stream:
        stream.write(json.dumps(content, indent=2, allow_nan=False).encode() + b"\n")
