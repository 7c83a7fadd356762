"""Whatever is wrong with a file, what comes out is an error of lsmdp that names it."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import lsmdp
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.npy import load_npy, map_npy, read_npz
from lsmdp.inputs.parquet import CHECKSUMS, read_parquet

from .corpus import KINDS, PARQUET, Kind, P, graphml, model, npy, pq
from .mutants import mutants

MUTANTS = 60  # of each file: eight or so in each of the thirteen ways, and kinds of files share their readers


def complaints(kind: Kind, damaged: Iterable[bytes], folder: Path) -> list[str]:
    """What comes out of a reader that is no error of ours, or one that does not name the file."""
    path, found = folder / f"file{kind.ending}", []
    for content in damaged:
        path.write_bytes(content)
        try:
            kind.read(path)
        except LsmdpError as sentence:
            if path.name not in str(sentence):
                found.append(f"{sentence} does not name the file {content[:200]!r}")
        except Exception as other:
            found.append(f"{other!r} from {content[:200]!r}")
    return found


@pytest.mark.parametrize("name", KINDS)
def test_only_errors_of_ours_come_out(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    assert complaints(kind, mutants(kind.content, MUTANTS, name), tmp_path) == []


@pytest.mark.parametrize("name", KINDS)
def test_the_files_are_good_before_they_are_damaged(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    path = tmp_path / f"file{kind.ending}"
    path.write_bytes(kind.content)
    kind.read(path)


IN_A_CHILD = """
import sys, warnings
from pathlib import Path
from tests.damage.corpus import PARQUET
from tests.damage.mutants import forged_parquet, mutants
from tests.damage.test_readers import complaints
warnings.simplefilter("error")
for name, kind in PARQUET.items():
    print("reading", name, flush=True)
    damaged = [kind.content, *mutants(kind.content, 20, name), *forged_parquet(kind.content, 60, name)]
    print(*complaints(kind, damaged, Path(sys.argv[1])), sep="\\n")
"""


def test_no_parquet_file_ends_the_process(tmp_path: Path) -> None:
    """They are read in another process: decoding is C++, and what goes wrong there could end this one."""
    command, root = [sys.executable, "-c", IN_A_CHILD, str(tmp_path)], Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    assert done.stdout.split("\n") == [line for name in PARQUET for line in (f"reading {name}", "")] + [""]


def test_statistics_are_never_asked_for() -> None:
    """Their way leads through the one call of pyarrow that aborts the process on damaged files."""
    asked = re.compile(r"\.\s*(statistics|read_metadata|read_table)\b")
    sources = {path: path.read_text() for path in Path(lsmdp.__file__).parent.rglob("*.py")}
    assert [path for path, source in sources.items() if asked.search(source)] == []
    readers = [path for path, source in sources.items() if "ParquetFile" in source]
    assert [path.name for path in readers] == ["parquet.py"]


def header(text: str) -> bytes:
    """A .npy file with a header of this text, and 72 bytes of numbers."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1") + bytes(72)


HEADERS = {
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3": "its header says",  # was a TokenError
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3)}}": "its header says",  # was a SyntaxError
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 99999999999999999999)}": "its shape is",  # OverflowError
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, -3)}": "its header says",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3)}": "promises 4 x 3 numbers of 8 bytes, 96 in all, and 72",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3000000000, 3000000000)}": "its shape is|promises",
    "{'descr': '<f8', 'fortran_order': False}": "its header says",
    "{'descr': 'f8,i4', 'fortran_order': False, 'shape': (3, 3)}": "of the kind",
    "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3, 3)}": "its header says",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (3, 3)}": 'of the kind "<f3"',
    "{'descr': '<U0', 'fortran_order': False, 'shape': (3, 3)}": 'of the kind "<U0"',
    "{'descr': '|O', 'fortran_order': False, 'shape': (3, 3)}": "pickled objects, and those are never loaded",
    "(" * 900: "its header says",
    "": "its header says",
}


@pytest.mark.parametrize("text", HEADERS)
@pytest.mark.parametrize("read", [load_npy, map_npy])
def test_a_damaged_header_of_an_array_says_what_is_wrong(tmp_path: Path, read: Any, text: str) -> None:
    path = tmp_path / "P.npy"
    path.write_bytes(header(text))
    with pytest.raises(UnreadableError, match=HEADERS[text]):
        read(path)
    with pytest.raises(SpecError, match=r'P.npy" cannot be read as .npy: .*Write it with numpy.save'):
        model(path)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(4, dtype=">i2"),
        np.array(3.5),
        np.array(["a", "long name", "ü"]),
        np.array([True, False]),
        np.empty((0, 3)),
        np.arange(8).astype("M8[ns]").reshape(2, 2, 2),
        np.array([1j], dtype=np.complex64),
    ],
    ids=str,
)
def test_good_arrays_are_read_as_numpy_reads_them(tmp_path: Path, array: Any) -> None:
    path = tmp_path / "array.npy"
    for version in ((1, 0), (2, 0), (3, 0)):
        with path.open("wb") as stream:
            np.lib.format.write_array(stream, array, version=version)
        for found in (load_npy(path), np.asarray(map_npy(path))):
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)
    np.savez(tmp_path / "arrays.npz", x=array)
    np.savez_compressed(tmp_path / "smaller.npz", x=array)
    for name in ("arrays.npz", "smaller.npz"):
        np.testing.assert_array_equal(read_npz(tmp_path / name)["x"], array)


def test_headers_of_other_writers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "P.npy"
    for text in (
        '{"shape": (3L, 3L), "descr": "<f8", "fortran_order": True}',  # another order and quotes, numbers of Python 2
        "{ 'descr' : '<f8' , 'fortran_order' : False , 'shape' : ( 3 , 3 , ) , }  \n",
    ):
        path.write_bytes(header(text))
        assert load_npy(path).shape == (3, 3)


@pytest.mark.parametrize("name", ["data", "indices", "indptr", "shape", "format", "labels", "positions"])
def test_strange_arrays_in_a_sparse_file(tmp_path: Path, name: str) -> None:
    arrays = {
        "format": b"csr",
        "shape": (3, 3),
        "data": np.full(3, 1.0),
        "indices": np.array([1, 2, 0]),
        "indptr": np.arange(4),
        "labels": np.array(["a", "b", "c"]),
        "positions": np.zeros((3, 2)),
    }
    strange = [
        np.array("csr"), np.array(b"\xff"), np.arange(4), np.arange(4) + 7, -np.arange(4), np.arange(3.0), np.array(7),
        np.full(3, np.nan), np.array([2**62, 2**62]), np.array([-3, 3]), np.array(["a", "\ud800", "c"]), np.array([]),
        np.zeros((3, 3)), np.zeros((0, 3)), np.array([b"x"] * 3), np.array([True] * 3), np.array([1j] * 3),
        np.array([0, 2**40, 0]), np.arange(3).astype("M8[s]"), np.array([3, 3, 3]), np.arange(4)[::-1],
        np.array(b"dia"),
    ]  # fmt: skip
    path = tmp_path / "P.npz"
    for array in strange:
        np.savez(path, **(arrays | {name: array}))
        kind = Kind(".npz", path.read_bytes(), model)
        assert complaints(kind, [kind.content], tmp_path) == []


def test_an_archive_with_two_arrays_of_one_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "P.npz", "w") as archive:
        for content in (npy(P), npy(P[:2])):
            with warnings.catch_warnings(action="ignore"):
                archive.writestr("data.npy", content)
    with pytest.raises(UnreadableError, match='two arrays "data"'):
        read_npz(tmp_path / "P.npz")


def test_a_graph_in_an_unknown_encoding(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_bytes(graphml().replace(b"utf-8", b"klingon"))
    with pytest.raises(SpecError, match=r"it is not in UTF-8 \(unknown encoding"):
        model(path)
    path.write_bytes(graphml().replace(b"utf-8", b"utf-7"))
    with pytest.raises(SpecError, match="it is not in UTF-8"):
        model(path)


def test_a_column_with_a_name_that_is_no_text(tmp_path: Path) -> None:
    content = pq({"naïve": [0.5], "b": [0.5]}, store_schema=False)
    assert content.count("naïve".encode()) >= 2
    path = tmp_path / "c.parquet"
    path.write_bytes(content.replace("naïve".encode(), b"na\xff\xfeve"))
    with pytest.raises(SpecError, match="the name of a column is not UTF-8"):
        model(path)
    with pytest.raises(SpecError, match="the name of a column is not UTF-8"):
        lsmdp.costs.read_costs(path, lsmdp.sources.makers.rank_one(2))


@pytest.mark.parametrize("deep", ["models = " + "[" * 5000, "a" + ".a" * 5000 + " = 1", "x = " + "{a=" * 5000])
def test_a_sweep_file_that_is_nested_deeply(tmp_path: Path, deep: str) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(deep)
    with pytest.raises(SpecError, match=r"sweep.toml"):
        lsmdp.sweeps.read(path)


class TestChecksums:
    """Pages with checksums cannot turn into other numbers."""

    def test_other_numbers_are_refused_where_the_writer_wrote_checksums(self, tmp_path: Path) -> None:
        numbers = {"x": np.random.default_rng(0).random(200)}
        path, silent = tmp_path / "x.parquet", {}
        for name, options in (("with", CHECKSUMS), ("without", {})):
            content = pq(numbers, compression="none", use_dictionary=False, **options)
            silent[name] = 0
            for at in range(100, 1500, 25):
                path.write_bytes(content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :])
                try:
                    silent[name] += not np.array_equal(read_parquet(path)["x"].to_numpy(), numbers["x"])
                except UnreadableError:
                    continue
        assert silent == {"with": 0, "without": 56}

    def test_our_own_tables_have_them(self, tmp_path: Path) -> None:
        """A flipped bit in the numbers of a finished run, which pyarrow itself reads as other numbers."""
        spec = lsmdp.runs.Spec.of(kernel="ring:3", costs="iid", rounds=300, learners=("passive",))
        lsmdp.runs.start(spec, tmp_path / "run")
        path = tmp_path / "run" / "rounds.parquet"
        content = path.read_bytes()
        with parquet.ParquetFile(path) as file:
            column = file.metadata.row_group(0).column(2)
        place = column.data_page_offset + column.total_compressed_size // 2
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(SpecError, match=r"rounds.parquet\" is damaged \(.* could not verify page integrity"):
            lsmdp.runs.Folder(tmp_path / "run").rounds()


@pytest.mark.parametrize("name", ["grid:1e200x1e200", "rank-one:1e200", f"rank-one:{10**11}", "random:1e300:1e300"])
def test_names_that_ask_for_too_much(name: str) -> None:
    with pytest.raises(LsmdpError, match="is the most that a model can hold"):
        lsmdp.read_model(name)


def test_a_number_of_many_digits_in_a_name() -> None:
    with pytest.raises(SpecError, match="PERIOD is a whole number of at least 1"):
        lsmdp.costs.read_costs("switching:" + "9" * 5000, lsmdp.sources.makers.rank_one(2), rounds=1)


def test_healthy_tables_of_any_size_are_read(tmp_path: Path) -> None:
    """Pages about as large as the buffer that they are read through: pyarrow before 19 refuses such files."""
    for rows in range(7_000, 9_000, 100):
        table = pyarrow.table({"round": range(rows), "cost": np.random.default_rng(rows).random(rows)})
        parquet.write_table(table, tmp_path / "table.parquet", **CHECKSUMS)
        assert read_parquet(tmp_path / "table.parquet").equals(table)
