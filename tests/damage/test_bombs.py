"""Small files that ask for much: what a header promises is held against the size of the file first.

They are read in a child process that may not take more than 128 MiB beyond what it has after its imports, so a reader
that asks for what the header promises fails there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

import lsmdp
from lsmdp.errors import SpecError
from lsmdp.inputs import files
from lsmdp.inputs.files import UnreadableError, require_affordable, require_described
from lsmdp.inputs.npy import read_npz

from .corpus import graphml, npy

pytest.importorskip("resource", reason="only there can a process limit its memory")

CHILD = """
import resource, sys
from pathlib import Path
import pyarrow.parquet, scipy.io
from lsmdp.costs import read_costs
from lsmdp.errors import LsmdpError
from lsmdp.sources.makers import rank_one
from lsmdp.runs import Folder
from lsmdp.sources import read_cost, read_model
lmdp = rank_one(3)
readers = {
    "model": lambda path: read_model(path, normalise=True),
    "cost": lambda path: read_cost(path, lmdp),
    "costs": lambda path: list(read_costs(path, lmdp)),
    "checkpoint": lambda path: Folder(Path(path).parent).checkpoint(),
}
now = 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (now + 2**27, now + 2**27))
for what, path in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    try:
        print(readers[what](path))
    except LsmdpError as sentence:
        print(sentence)
    except Exception as other:
        print(repr(other))
"""
linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to know how much memory it has")


def read_in_little_memory(*files: tuple[str, Path]) -> list[str]:
    """What a child with little memory says of files."""
    words = [word for what, path in files for word in (what, str(path))]
    done = subprocess.run([sys.executable, "-c", CHILD, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-600:]
    return done.stdout.splitlines()


def zeros(stream: IO[bytes], count: int) -> None:
    """Write .npy of so many zeros of 8 bytes, a piece at a time."""
    header = {"descr": "<i8", "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(stream, header)
    for _ in range(count // 2**17):
        stream.write(bytes(2**20))


def archive(path: Path, small: dict[str, bytes], swollen: dict[str, int]) -> None:
    """A deflated .npz file of some arrays, and of some that are nothing but zeros."""
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for name, content in small.items():
            file.writestr(f"{name}.npy", content)
        for name, count in swollen.items():
            with file.open(f"{name}.npy", "w") as stream:
                zeros(stream, count)


MANY = 2**25 + 2**17  # numbers of 8 bytes: 257 MiB


def net(path: Path) -> None:
    head = "<NUMBER OF NODES> 700000000\n<NUMBER OF LINKS> 1\n<END OF METADATA>\n"
    path.write_text(f"{head}~ init_node term_node capacity ;\n1 2 1 ;\n")


def market(path: Path) -> None:
    path.write_text("%%MatrixMarket matrix coordinate real general\n700000000 700000000 1\n1 1 1\n")


def many_rows(path: Path) -> None:
    """Not so many that their bytes are out of proportion, as those of many_entries are."""
    few = MANY // 16
    small = {"format": npy(b"csr"), "shape": npy([few - 1, few - 1]), "data": npy([1.0]), "indices": npy([0])}
    archive(path, small, {"indptr": few})


def many_entries(path: Path) -> None:
    small = {"format": npy(b"csr"), "shape": npy([2, 2]), "indptr": npy([0, MANY // 2, MANY]), "indices": npy([0])}
    archive(path, small, {"data": MANY})


def the_same(path: Path) -> None:
    """As a checkpoint, what many_entries made: to deflate it once is enough."""
    shutil.copy(path.parent / "entries.npz", path)


def hole(path: Path) -> None:
    """128 MiB, as promised, of which none is written: no bomb, but more than the child has."""
    np.lib.format.open_memmap(path, mode="w+", shape=(2**12, 2**12)).flush()


def coordinates(path: Path) -> None:
    small = {"format": npy(b"coo"), "shape": npy([7 * 10**8] * 2), "data": npy([1.0]), "row": npy([0]), "col": npy([0])}
    archive(path, small, {})


def promise(path: Path) -> None:
    path.write_bytes(npy(np.zeros((3, 3))).replace(b"(3, 3), }", b"(30000, 30000), }")[: 128 + 72])


def constant_column(path: Path) -> None:
    table = pa.table({"a": pa.repeat(0.5, 2**20)})
    with parquet.ParquetWriter(path, table.schema) as writer:
        for _ in range(40):
            writer.write_table(table)


PROMISE = "its header promises 30000 x 30000 numbers of 8 bytes, 7,200,000,000 in all, and"
SWOLLEN = "its content would take 269,484,[0-9]+ bytes of memory, more than 500 times the 262,[0-9]+ bytes of the file"
BOMBS = {
    "roads_net.tntp": (net, "model", "it promises 700,000,000 states in 1[0-9][0-9] bytes"),
    "P.mtx": (market, "model", "it promises 700,000,000 states in 74 bytes"),
    "rows.npz": (many_rows, "model", "it promises 2,105,343 states in 1[0-9],[0-9]+ bytes"),
    "entries.npz": (many_entries, "model", SWOLLEN),
    "coo.npz": (coordinates, "model", "it promises 700,000,000 states in"),
    "P.npy": (promise, "model", PROMISE),
    "c.npy": (promise, "costs", PROMISE),
    "one.npy": (promise, "cost", PROMISE),
    "column.parquet": (constant_column, "model", "its content would take 335,544,320 bytes of memory"),
    "checkpoint.npz": (the_same, "checkpoint", "it is compressed, which no checkpoint is"),
}
HONEST = {"honest.npy": (hole, "model", "its content needs more memory than there is")}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a child says of each of them, and of a file that is as large as it says."""
    folder, files = tmp_path_factory.mktemp("bombs"), BOMBS | HONEST
    for name, (write, _, _) in files.items():
        write(folder / name)
        assert name in HONEST or (folder / name).stat().st_size < 3e5
    lines = read_in_little_memory(*((what, folder / name) for name, (_, what, _) in files.items()))
    return dict(zip(files, lines, strict=True))


@linux
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_cannot_ask_for_much(said: dict[str, str], name: str) -> None:
    assert name in said[name]
    assert re.search(BOMBS[name][2], said[name]), said[name]


@linux
def test_the_child_has_little_memory_indeed(said: dict[str, str]) -> None:
    for name, (_, _, sentence) in HONEST.items():
        assert sentence in said[name]


def test_entities_are_refused(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    doctype = f'<!DOCTYPE graphml [<!ENTITY l0 "ha">{laughs}]>\n<graphml'.encode()
    swollen = graphml().replace(b"<graphml", doctype).replace(b"source=", b'x="&l9;" source=')
    (tmp_path / "g.graphml").write_bytes(swollen)
    with pytest.raises(SpecError, match="line 2 defines an entity"):
        lsmdp.read_model(tmp_path / "g.graphml")


def test_kernels_that_repeat_themselves_are_read(tmp_path: Path) -> None:
    """A star and a full matrix of equal chances: what deflates best among kernels."""
    n = 2000
    star = sparse.csr_array((np.ones(2 * n - 2), (np.r_[1:n, [0] * (n - 1)], np.r_[[0] * (n - 1), 1:n])), shape=(n, n))
    for matrix in (star, sparse.csr_array(np.full((n, n), 1 / n))):
        sparse.save_npz(tmp_path / "P.npz", matrix)
        assert lsmdp.read_model(tmp_path / "P.npz", normalise=True).n == n
        swell = (matrix.data.nbytes + matrix.indices.nbytes) / (tmp_path / "P.npz").stat().st_size
        assert swell < files.SWELL


def test_n_states_take_n_bytes(tmp_path: Path) -> None:
    """What the limit on states rests on: row pointers that differ do not deflate to less than a byte each."""
    n = 2**18
    for degree in (1, 2, 4, 5):
        ones, nowhere = np.ones(degree * n, np.int8), np.zeros(degree * n, np.int32)
        matrix = sparse.csr_array((ones, nowhere, degree * np.arange(n + 1)))
        sparse.save_npz(tmp_path / "P.npz", matrix)
        require_described(n, (tmp_path / "P.npz").stat().st_size)
        assert (tmp_path / "P.npz").stat().st_size > n


def test_the_limits() -> None:
    require_described(files.STATES_OF_ANY_FILE, 10)
    require_described(10**9, 10**9)
    with pytest.raises(SpecError, match=r"it promises 1,048,577 states in 10 bytes, but every state has a move"):
        require_described(files.STATES_OF_ANY_FILE + 1, 10)
    require_affordable(files.BYTES_OF_ANY_FILE, 10)
    require_affordable(files.SWELL * 10**9, 10**9)
    with pytest.raises(UnreadableError, match="write it without compression"):
        require_affordable(files.SWELL * 10**9 + 1, 10**9)


def test_members_that_overlap_count_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_OF_ANY_FILE", 10**4)
    np.savez(tmp_path / "many.npz", **{f"x{k}": np.zeros(10**3) for k in range(10)})
    assert len(read_npz(tmp_path / "many.npz")) == 10  # stored, it is as large as it says
    np.savez_compressed(tmp_path / "many.npz", **{f"x{k}": np.zeros(10**5) for k in range(10)})
    with pytest.raises(UnreadableError, match="its content would take 8,001,280 bytes"):
        read_npz(tmp_path / "many.npz")
