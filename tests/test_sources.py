"""Names and files: what comes out is what was meant, and what cannot be read is said."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
from pyarrow import parquet
from scipy import sparse

from lsmdp.errors import (
    CostError,
    LsmdpError,
    ModelError,
    SpecError,
)
from lsmdp.model import LMDP
from lsmdp.sources import (
    COSTS,
    MODELS,
    makers,
    read_cost,
    read_model,
    write_model,
)
from lsmdp.sources.names import BuiltIn, unknown, whole

P = np.array([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.0, 0.5, 0.5]])
SYMMETRIC = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
EDGES = [(f"s{x}", f"s{y}", float(P[x, y])) for x in range(3) for y in range(3) if P[x, y]]


def write_csv(path: Path, rows: Any, header: Any = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerows(([header] if header else []) + [list(row) for row in rows])
    return path


def write_npy(path: Path) -> None:
    np.save(path, P)


def write_npz(path: Path) -> None:
    sparse.save_npz(path, sparse.csr_array(P))


def write_npz_coo(path: Path) -> None:
    sparse.save_npz(path, sparse.coo_matrix(P), compressed=False)


def write_labelled_npz(path: Path) -> None:
    write_model(LMDP(P, ["s0", "s1", "s2"], positions=[[0, 0], [0, 1], [1, 1]]), path)


def write_mtx(path: Path) -> None:
    scipy.io.mmwrite(path, sparse.coo_array(P))


def write_mtx_array(path: Path) -> None:
    scipy.io.mmwrite(path, P)


def write_plain_csv(path: Path) -> None:
    write_csv(path, P)


def write_labelled_csv(path: Path) -> None:
    write_csv(path, P, ["s0", "s1", "s2"])


def write_edges_csv(path: Path) -> None:
    write_csv(path, EDGES, ["from", "to", "weight"])


def write_parquet(path: Path) -> None:
    parquet.write_table(pa.table({f"s{y}": P[:, y] for y in range(3)}), path)


def write_edges_parquet(path: Path) -> None:
    parquet.write_table(pa.table(dict(zip(("from", "to", "weight"), zip(*EDGES, strict=True), strict=True))), path)


WRITERS: list[tuple[str, Callable[[Path], None]]] = [
    ("kernel.npy", write_npy),
    ("kernel.npz", write_npz),
    ("coo.npz", write_npz_coo),
    ("labelled.npz", write_labelled_npz),
    ("kernel.mtx", write_mtx),
    ("array.mtx", write_mtx_array),
    ("kernel.csv", write_plain_csv),
    ("labelled.csv", write_labelled_csv),
    ("edges.csv", write_edges_csv),
    ("kernel.parquet", write_parquet),
    ("edges.parquet", write_edges_parquet),
]


class TestNames:
    @pytest.mark.parametrize(
        ("spec", "same"),
        [
            ("grid:3x4", makers.grid(3, 4)),
            ("ring:5", makers.ring(5)),
            ("ring:5:0.9", makers.ring(5, 0.9)),
            ("random:30", makers.random_graph(30)),
            ("random:30:3", makers.random_graph(30, 3)),
            ("random:3e1:3:2", makers.random_graph(30, 3, 2)),
            ("sticky:1e-9", makers.sticky(1e-9)),
            ("rank-one:4", makers.rank_one(4)),
            ("clusters:2:9:1e-4", makers.clusters(2, 9, 1e-4)),
        ],
    )
    def test_a_name_is_a_maker(self, spec: str, same: LMDP) -> None:
        lmdp = read_model(spec)
        np.testing.assert_array_equal(lmdp.P.toarray(), same.P.toarray())
        assert lmdp.name == spec
        assert lmdp.grid_shape == same.grid_shape

    @pytest.mark.parametrize("name", MODELS.values(), ids=MODELS)
    def test_every_example_in_the_registry_works(self, name: BuiltIn) -> None:
        assert read_model(name.example).n > 1

    @pytest.mark.parametrize("name", COSTS.values(), ids=COSTS)
    def test_every_cost_in_the_registry_works(self, name: BuiltIn) -> None:
        c = read_cost(name.example, makers.grid(4, 4))
        assert c.shape == (16,)
        assert (c >= 0.0).all()
        assert (c <= 1.0).all()

    def test_options_are_those_of_repaired(self) -> None:
        lmdp = read_model("ring:4:1", teleport=0.1, lazy=0.2, temperature=3.0)
        same = LMDP.repaired(makers.ring(4, 1.0).P, temperature=3.0, teleport=0.1, lazy=0.2)
        np.testing.assert_array_equal(lmdp.P.toarray(), same.P.toarray())
        assert lmdp.temperature == 3.0

    def test_positions_survive_repairs(self) -> None:
        assert read_model("grid:3x4", lazy=0.1).grid_shape == (3, 4)

    @pytest.mark.parametrize(
        ("spec", "suggestion"),
        [
            ("grd:30x30", "grid:30x30"),
            ("Grid:3x3", "grid:3x3"),
            ("rnig:7:0.5", "ring:7:0.5"),
            ("gird", "grid:30x30"),  # its arguments are missing, so the example is offered
            ("rank_one:5", "rank-one:5"),
            ("cluster:2:5:0.1", "clusters:2:5:0.1"),
        ],
    )
    def test_the_nearest_name_is_suggested(self, spec: str, suggestion: str) -> None:
        with pytest.raises(SpecError) as caught:
            read_model(spec)
        message = str(caught.value)
        assert f'"{spec}" is neither a file nor a known name. Did you mean "{suggestion}"?' in message
        assert all(name.usage in message for name in MODELS.values())

    def test_nothing_is_suggested_where_nothing_is_near(self) -> None:
        assert "Did you mean" not in str(unknown("xyzzy", MODELS, ".npz"))

    @pytest.mark.parametrize(
        ("spec", "reason"),
        [
            ("grid:30", "the number of arguments is 1"),
            ("grid:3x3x3", "the number of arguments is 3"),
            ("ring:1.5", r'"1\.5" is not a whole number'),
            ("ring:many", '"many" is not a whole number'),
            ("ring:inf", '"inf" is not a whole number'),
            ("ring:5:x", '"x" is not a number'),
            ("sticky:", '"" is not a number'),
        ],
    )
    def test_arguments_that_do_not_fit_are_named(self, spec: str, reason: str) -> None:
        with pytest.raises(SpecError, match=rf'^"{spec}" cannot be read as \w+:.*{reason}.* Write for example \w+:'):
            read_model(spec)

    @pytest.mark.parametrize(
        ("text", "number"), [("7", 7), ("1e6", 10**6), ("1_000", 1000), ("-3", -3), (f"{2**60 + 1}", 2**60 + 1)]
    )
    def test_whole_numbers(self, text: str, number: int) -> None:
        assert whole(text) == number


class TestKernelFiles:
    @pytest.mark.parametrize(("file", "write"), WRITERS, ids=[file for file, _ in WRITERS])
    def test_every_format_gives_back_the_kernel(self, tmp_path: Path, file: str, write: Callable[[Path], None]) -> None:
        path = tmp_path / file
        write(path)
        lmdp = read_model(path)
        np.testing.assert_array_equal(lmdp.P.toarray(), P)
        has_labels = file not in ("kernel.npy", "kernel.npz", "coo.npz", "kernel.mtx", "array.mtx", "kernel.csv")
        assert lmdp.labels == (("s0", "s1", "s2") if has_labels else None)
        assert lmdp.name == str(path)

    @pytest.mark.parametrize(("file", "write"), WRITERS, ids=[file for file, _ in WRITERS])
    def test_a_truncated_file_is_an_error_wherever_it_ends(
        self, tmp_path: Path, file: str, write: Callable[[Path], None]
    ) -> None:
        """Also in the middle of a number, and never a crash. Text without its last line break is complete."""
        path = tmp_path / file
        write(path)
        content = path.read_bytes()
        for length in range(0, len(content) - 2, max(1, len(content) // 150)):
            path.write_bytes(content[:length])
            with pytest.raises(LsmdpError) as caught:
                read_model(path)
            assert str(path) in str(caught.value)

    @pytest.mark.parametrize(
        "write",
        [
            lambda path: scipy.io.mmwrite(path, SYMMETRIC),
            lambda path: scipy.io.mmwrite(path, sparse.coo_array(SYMMETRIC), symmetry="symmetric"),
        ],
    )
    def test_symmetric_market_files(self, tmp_path: Path, write: Callable[[Path], None]) -> None:
        path = tmp_path / "symmetric.mtx"
        write(path)
        assert "symmetric" in path.read_text().splitlines()[0]
        np.testing.assert_array_equal(read_model(path).P.toarray(), SYMMETRIC)

    def test_pattern_market_files_are_graphs(self, tmp_path: Path) -> None:
        path = tmp_path / "graph.mtx"
        path.write_text("%%MatrixMarket matrix coordinate pattern general\n% a triangle\n3 3 4\n1 2\n2 3\n3 1\n3 2\n")
        np.testing.assert_array_equal(
            read_model(path, normalise=True).P.toarray(), [[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]
        )

    @pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")  # either will do
    def test_market_files_agree_with_scipy(self, tmp_path: Path) -> None:
        path = tmp_path / "random.mtx"
        scipy.io.mmwrite(path, makers.random_graph(200, 5).P)
        np.testing.assert_array_equal(read_model(path).P.toarray(), scipy.io.mmread(path).toarray())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("hello\n", "line 1 is not the banner"),
            ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", 'line 1 says "complex"'),
            ("%%MatrixMarket matrix coordinate real general\n2 2\n", 'the line of sizes is "2 2", not 3 whole numbers'),
            (
                "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n",
                r"entry 1 is at \(3, 1\), outside of 2 x 2",
            ),
            ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n", "promises 2 entries and holds 1"),
            ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", "hold 2 numbers, not 3"),
            ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "promises 4 entries and holds 3"),
            ("%%MatrixMarket matrix coordinate real general\n9999999999 9999999999 1\n1 1 1\n", "P would have 1e"),
        ],
    )
    def test_bad_market_files_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "bad.mtx"
        path.write_text(text)
        with pytest.raises(LsmdpError, match=message):
            read_model(path)

    def test_a_header_of_numbers_is_a_header(self, tmp_path: Path) -> None:
        lmdp = read_model(write_csv(tmp_path / "p.csv", P, [10, 20, 30]))
        assert lmdp.labels == ("10", "20", "30")
        np.testing.assert_array_equal(lmdp.P.toarray(), P)

    def test_a_header_that_counts_is_no_label(self, tmp_path: Path) -> None:
        assert read_model(write_csv(tmp_path / "p.csv", P, [0, 1, 2])).labels is None

    def test_text_as_editors_leave_it(self, tmp_path: Path) -> None:
        path = tmp_path / "p.csv"
        path.write_bytes('\ufeff"oak", elm\r\n\r\n 0.5 ,0.5\r\n"1", 0\r\n\r\n'.encode())
        lmdp = read_model(path)
        assert lmdp.labels == ("oak", "elm")
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0.5, 0.5], [1.0, 0.0]])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0.5,0.5\n" * 6 + "0.5,half\n", 'line 7, column 2 is "half", not a number'),
            ("0.5,0.5\n0.5,\n", 'line 2, column 2 is "", not a number'),
            ("0.5,0.5\n1\n", "line 2 has 1 cells, but the lines before have 2"),
            (",a,b\na,0.5,half\nb,0.5,0.5\n", 'the cell of "a" and "b" is "half", not a number'),
            ("", "the file is empty"),
            ("\n\n", "the file is empty"),
            ("a,b\n", "a header and nothing below it"),
            ("0.5,0.5\nnan,1\n", r"P\[1, 0\] is nan"),
            ("0.5,0.5,0\n0.5,0.5,0\n", r"P has shape 2 x 3\. It must be square"),
            ("0.5,0.5\n0.5,0.47\n", r"row 1 of P sums to 0\.97, not 1.*--normalise"),
            ("a,a\n0.5,0.5\n0.5,0.5\n", 'the label "a" stands for more than one state'),
        ],
    )
    def test_bad_tables_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(LsmdpError, match=message) as caught:
            read_model(path)
        assert "bad.csv" in str(caught.value)

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "bad.csv"
        path.write_bytes(bytes(range(128, 256)))
        with pytest.raises(SpecError, match=r"another kind: 'utf-8' codec can't decode byte 0x80 .* as text in UTF-8"):
            read_model(path)

    def test_an_edge_list_is_in_any_order_and_case(self, tmp_path: Path) -> None:
        path = write_csv(
            tmp_path / "e.csv", [(2.0, "b", "a", "x"), (1.0, "a", "b", "y")], ["Weight", "To", " from", "note"]
        )
        lmdp = read_model(path, normalise=True)
        assert lmdp.labels == ("a", "b")
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0, 1], [1, 0]])

    def test_edges_without_weights_count_one_each(self, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "e.csv", [(0, 1), (1, 0), (1, 2), (2, 0)], ["from", "to"])
        lmdp = read_model(path, normalise=True)
        assert lmdp.labels is None
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0, 1, 0], [0.5, 0, 0.5], [1, 0, 0]])

    def test_edge_weights_are_probabilities_unless_normalised(self, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "e.csv", [("a", "b", 2.5), ("b", "a", 1.0)], ["from", "to", "weight"])
        with pytest.raises(ModelError, match=r'row 0 of P sums to 2\.5, not 1.*\(here "a"\).*--normalise'):
            read_model(path)

    @pytest.mark.parametrize(
        ("ends", "labels"),
        [
            ([("769806", "5"), ("5", "769806")], ("5", "769806")),  # numbers in order, as names
            ([("007", "8"), ("8", "007")], ("007", "8")),  # a number would lose the zeros
            ([("1", "0"), ("0", "1")], None),
        ],
    )
    def test_states_of_an_edge_list(self, tmp_path: Path, ends: Any, labels: Any) -> None:
        assert read_model(write_csv(tmp_path / "e.csv", ends, ["from", "to"])).labels == labels

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("from,to,weight\n0,1,1\n1,0,x\n", 'line 3: the weight is "x", not a number'),
            ("from,to,weight\n0,1,1\n1,0\n", "line 3 has 2 cells, but the header has 3"),
            ("from,to,weight\n0,1,1\n1,,1\n", 'row 1 below the header has no name in the column "to"'),
            ("from,to,weight\n0,1,1\n1,0,-1\n", r'line 3: the edge from "1" to "0" has the weight -1\.0'),
            ("# a\n\nfrom,to,weight\n0,1,1\n\n1,0,-1\n", r'line 6: the edge from "1" to "0" has the weight -1\.0'),
            ("0,1,1\n1,0,-1\n1,1,2\n0,0,1\n", r'line 2: the edge from "1" to "0" has the weight -1\.0'),
            ("from,to,weight\n0,1,1\n1,0,\n", r'line 3: the edge from "1" to "0" has the weight nan'),
            ("from,to,weight\n", "there are no edges"),
            ("from,to\na,b\n", r'state 1 "b" has no successor.*largest_class.*teleport'),
        ],
    )
    def test_bad_edge_lists_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "edges.csv"
        path.write_text(text)
        with pytest.raises(LsmdpError, match=message) as caught:
            read_model(path)
        assert "edges.csv" in str(caught.value)

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({"from": ["a"], "to": ["b"], "weight": ["much"]}, 'column "weight" holds string values'),
            ({"a": [1.0, 0.0], "b": ["x", "y"]}, 'column "b" holds string values'),
            ({"from": ["a", None], "to": ["b", "a"]}, 'row 1 below the header has no name in the column "from"'),
            ({"a": [1.0, None], "b": [0.0, 1.0]}, r"P\[1, 0\] is nan"),
            ({}, "the table has no column"),
        ],
    )
    def test_bad_parquet_files_are_named(self, tmp_path: Path, table: dict[str, Any], message: str) -> None:
        path = tmp_path / "bad.parquet"
        parquet.write_table(pa.table(table), path)
        with pytest.raises(LsmdpError, match=message):
            read_model(path)

    def test_integers_in_parquet_are_states(self, tmp_path: Path) -> None:
        path = tmp_path / "e.parquet"
        parquet.write_table(pa.table({"from": [0, 1, 1], "to": [1, 0, 1], "weight": [1, 1, 3]}), path)
        lmdp = read_model(path, normalise=True)
        assert lmdp.labels is None
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0, 1], [0.25, 0.75]])

    @pytest.mark.parametrize("suffix", [".npy", ".npz"])
    def test_pickles_are_never_loaded(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"pickled{suffix}"
        objects = np.array([[{}]], dtype=object)
        if suffix == ".npy":
            np.save(path, objects, allow_pickle=True)
        else:
            np.savez(path, format=b"csr", shape=np.array([1, 1]), data=objects, indices=[0], indptr=[0, 1])
        with pytest.raises(SpecError, match="it holds pickled objects, and those are never loaded"):
            read_model(path)

    def test_an_archive_of_other_arrays_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "arrays.npz"
        np.savez(path, kernel=P, note=np.zeros(1))
        with pytest.raises(SpecError, match=r"it holds the arrays kernel, note, not a sparse matrix.*save_npz"):
            read_model(path)

    def test_a_sparse_file_with_wrong_indices_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "wrong.npz"
        np.savez(path, format=b"csr", shape=np.array([2, 2]), data=np.ones(2), indices=[0, 77], indptr=[0, 1, 2])
        with pytest.raises(LsmdpError, match="not a valid sparse matrix"):
            read_model(path)

    def test_a_missing_file_suggests_its_neighbour(self, tmp_path: Path) -> None:
        write_npy(tmp_path / "graph.npy")
        with pytest.raises(SpecError, match=r'grahp\.npy" does not exist\. Did you mean ".*graph\.npy"\?'):
            read_model(tmp_path / "grahp.npy")
        with pytest.raises(SpecError, match=r'does not exist: there is no folder ".*nowhere"'):
            read_model(tmp_path / "nowhere" / "graph.npy")

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(SpecError, match=r"is a folder\. Name a file in it that ends in \.npz, \.npy"):
            read_model(tmp_path)

    def test_unknown_endings_are_named(self, tmp_path: Path) -> None:
        path = tmp_path / "kernel.doc"
        path.write_text("1")
        with pytest.raises(SpecError, match=r'ends in "\.doc", which is not a known format\. Use \.npz'):
            read_model(path)

    def test_what_the_system_refuses_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "kernel.npy"
        write_npy(path)

        def refuse(*_: object, **__: object) -> io.BytesIO:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(SpecError, match=r'kernel\.npy" cannot be read: Permission denied'):
            read_model(path)

    def test_the_same_file_anywhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "a folder: with x"
        folder.mkdir()
        write_npy(folder / "grid.npy")
        monkeypatch.chdir(folder)
        assert read_model("grid.npy").n == read_model("./grid.npy").n == read_model(folder / "grid.npy").n == 3
        shutil.copy("grid.npy", "GRID.NPY")
        assert read_model("GRID.NPY").n == 3


class TestCosts:
    LABELLED = LMDP(P, ["a", "b", "c"])

    def test_hill_is_a_bump_over_the_positions(self) -> None:
        c = read_cost("hill", makers.grid(21, 41)).reshape(21, 41)
        assert c.max() == 1.0
        assert c.min() > 0.0
        top = np.unravel_index(c.argmax(), c.shape)
        assert top == (7, 26)  # (0.35, 0.65) of the way
        for line in (c[top[0]], c[:, top[1]]):  # up to the top and down again, along both axes
            rising = np.diff(line) > 0
            assert (np.diff(rising.astype(int)) <= 0).all()

    def test_hill_needs_no_positions(self) -> None:
        assert read_cost("hill", makers.random_graph(21)).argmax() == 7
        assert read_cost("hill", makers.rank_one(1)).tolist() == [1.0]
        assert np.ptp(read_cost("hill", makers.ring(12))) > 0.9

    def test_zero_is_nothing(self) -> None:
        assert (read_cost("zero", makers.ring(4)) == 0.0).all()

    def test_uniform_is_one_half(self) -> None:
        assert (read_cost("uniform", makers.ring(4)) == 0.5).all()

    def test_random_depends_on_its_seed(self) -> None:
        lmdp = makers.ring(100)
        np.testing.assert_array_equal(read_cost("random:3", lmdp), read_cost("random:3", lmdp))
        assert (read_cost("random:3", lmdp) != read_cost("random:4", lmdp)).all()

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (
                "hil",
                r'"hil" is neither a file nor a known name\. Did you mean "hill"\? Names: hill, uniform\[:COST\], ze',
            ),
            ("random", r'"random" cannot be read as random:SEED'),
            ("random:-1", r"the seed is -1"),
            ("missing.npy", r'"missing\.npy" does not exist'),
        ],
    )
    def test_bad_names_are_named(self, spec: str, message: str) -> None:
        with pytest.raises(LsmdpError, match=message):
            read_cost(spec, self.LABELLED)

    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("c.csv", "1\n-2.5\n1e3\n"),
            ("c.csv", "cost\n1\n-2.5\n1e3\n"),
            ("c.csv", "1,-2.5,1e3\n"),
            ("c.csv", "state,cost\nc,1e3\na,1\nb,-2.5\n"),
            ("c.csv", "Cost,note,State\n1e3,x,c\n1,y,a\n-2.5,z,b\n"),
            ("c.npy", np.array([1, -2.5, 1e3])),
            ("c.npy", np.array([[1], [-2.5], [1e3]])),
            ("c.parquet", {"anything": [1, -2.5, 1e3]}),
            ("c.parquet", {"cost": [1e3, 1, -2.5], "state": ["c", "a", "b"]}),
            # what pandas writes of a Series and of a DataFrame, with and without an index
            ("c.csv", "0\n1\n-2.5\n1e3\n"),
            ("c.csv", ",0\na,1\nb,-2.5\nc,1e3\n"),
            ("c.csv", ",toll\nc,1e3\na,1\nb,-2.5\n"),
            ("c.csv", ",0\n2,1e3\n0,1\n1,-2.5\n"),
            ("c.csv", ",state,cost\n0,c,1e3\n1,a,1\n2,b,-2.5\n"),
            ("c.csv", "0,1,2\n1,-2.5,1e3\n"),
            ("c.csv", ",0,1,2\n0,1,-2.5,1e3\n"),
            ("c.csv", "2,0,1\n1e3,1,-2.5\n"),
            ("c.csv", "c,a,b\n1e3,1,-2.5\n"),
            ("c.csv", "time,c,a,b\n9,1e3,1,-2.5\n"),
            ("c.parquet", {"c": [1e3], "a": [1], "b": [-2.5]}),
            ("c.parquet", {"2": [1e3], "0": [1], "1": [-2.5]}),
            ("c.parquet", {"0": [1e3, 1, -2.5], "__index_level_0__": ["c", "a", "b"]}),
            ("c.parquet", {"0": [1, -2.5, 1e3]}),
        ],
    )
    def test_every_format_gives_back_the_cost(self, tmp_path: Path, file: str, content: Any) -> None:
        path = tmp_path / file
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, dict):
            parquet.write_table(pa.table(content), path)
        else:
            np.save(path, content)
        np.testing.assert_array_equal(read_cost(path, self.LABELLED), [1.0, -2.5, 1000.0])

    def test_a_table_in_the_shape_of_the_grid(self, tmp_path: Path) -> None:
        walls = np.array([[False, True, False], [False, False, False]])
        lmdp = makers.grid(2, 3, walls)
        table = np.arange(6.0).reshape(2, 3)
        np.save(tmp_path / "c.npy", table)
        write_csv(tmp_path / "c.csv", table)
        (tmp_path / "d.csv").write_text("0,1,2\n0,1,2\n3,4,5\n")  # below a header that counts
        (tmp_path / "e.csv").write_text(",0,1,2\n0,0,1,2\n1,3,4,5\n")  # and beside an index
        for file in ("c.npy", "c.csv", "d.csv", "e.csv"):
            np.testing.assert_array_equal(read_cost(tmp_path / file, lmdp), [0.0, 2.0, 3.0, 4.0, 5.0])
        row = makers.grid(1, 3)
        (tmp_path / "f.csv").write_text("2,0,1\n7,5,6\n")
        assert read_cost(tmp_path / "f.csv", row).tolist() == [5.0, 6.0, 7.0]

    def test_costs_of_dropped_states_are_dropped(self, tmp_path: Path) -> None:
        weights = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.5, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]])
        lmdp = LMDP.repaired(weights, largest_class=True)
        np.testing.assert_array_equal(lmdp.origin, [1, 2])
        np.save(tmp_path / "all.npy", np.arange(4.0))
        np.save(tmp_path / "kept.npy", np.array([1.0, 2.0]))
        write_csv(tmp_path / "named.csv", [(state, float(state)) for state in range(4)], ["state", "cost"])
        for file in ("all.npy", "kept.npy", "named.csv"):
            np.testing.assert_array_equal(read_cost(tmp_path / file, lmdp), [1.0, 2.0])
        (tmp_path / "counted.csv").write_text("0,1,2,3\n0,1,2,3\n")
        (tmp_path / "series.csv").write_text(",0\n0,0\n1,1\n2,2\n3,3\n")
        for file in ("counted.csv", "series.csv"):
            np.testing.assert_array_equal(read_cost(tmp_path / file, lmdp), [1.0, 2.0])
        np.save(tmp_path / "wrong.npy", np.arange(5.0))
        with pytest.raises(CostError, match="the cost has 5 values, but the model has 2 states"):
            read_cost(tmp_path / "wrong.npy", lmdp)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1\n2\n", r"the cost has 2 values, but the model has 3 states"),
            ("1\n2\nnan\n", r"the cost\[2\] is nan"),
            ("1\n2\nthree\n", r'line 3, column 1 is "three", not a number'),
            ("1,2\n3,4\n", r"the cost has 2 x 2 values, but the model has 3 states"),
            ("state,cost\na,1\nb,2\n", r'state 2 "c" has no cost'),
            ("state,cost\na,1\nb,2\nc,3\nd,4\n", r'there is a cost for "d", which is not a state'),
            ("state,cost\na,1\nb,2\nc,3\nc,4\n", r'the state "c" has 2 costs'),
            ("state,cost\na,1\nb,x\nc,3\n", r'line 3: the cost is "x", not a number'),
            ("state,cost\n", r'state 0 "a" has no cost'),
            ("", "the file is empty"),
        ],
    )
    def test_bad_files_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(LsmdpError, match=message) as caught:
            read_cost(path, self.LABELLED)
        assert "bad.csv" in str(caught.value)

    def test_a_header_or_a_cost(self, tmp_path: Path) -> None:
        """One state was dropped, so n + 1 lines are costs, and n below a header that counts are costs as well."""
        lmdp = LMDP.repaired(np.array([[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]), largest_class=True)
        (tmp_path / "c.csv").write_text("0\n0.25\n0.5\n")
        with pytest.warns(
            UserWarning, match=r'c\.csv: the first line, "0", is taken for costs, though it could be a head'
        ):
            assert read_cost(tmp_path / "c.csv", lmdp).tolist() == [0.25, 0.5]
        (tmp_path / "c.csv").write_text("cost\n0.25\n0.5\n")  # the way out
        assert read_cost(tmp_path / "c.csv", lmdp).tolist() == [0.25, 0.5]

    def test_what_pandas_writes_is_read(self, tmp_path: Path) -> None:
        pandas = pytest.importorskip("pandas")
        c, path = np.array([1.0, -2.5, 1e3]), tmp_path / "c.csv"
        for index in (True, False):
            for table in (pandas.Series(c), pandas.DataFrame(c), pandas.DataFrame(c[None])):
                table.to_csv(path, index=index)
                np.testing.assert_array_equal(read_cost(path, self.LABELLED), c)
        for table in (pandas.Series(c, list("abc")), pandas.Series(c, list("abc"), name="toll")):
            for each in (table, table.sort_values()):
                each.to_csv(path)
                np.testing.assert_array_equal(read_cost(path, self.LABELLED), c)
                each.to_frame("toll").to_parquet(tmp_path / "c.parquet")
                np.testing.assert_array_equal(read_cost(tmp_path / "c.parquet", self.LABELLED), c)
        pandas.DataFrame(c[None, [2, 0, 1]], columns=list("cab")).to_csv(path, index=False)
        np.testing.assert_array_equal(read_cost(path, self.LABELLED), c)

    def test_kernels_are_no_costs(self, tmp_path: Path) -> None:
        write_npz(tmp_path / "kernel.npz")
        with pytest.raises(
            SpecError, match=r'ends in "\.npz", which is not a known format\. Use \.npy, \.csv, \.tsv, \.txt, \.parquet'
        ):
            read_cost(tmp_path / "kernel.npz", self.LABELLED)


@pytest.mark.parametrize(
    "labels",
    [np.array([["a"], ["b"], ["c"]]), np.array([b"a", b"b", b"c"]), np.array([0.5, 1.0, 2.0]), np.array("abc")],
)
def test_labels_in_an_npz_are_texts(labels: Any, tmp_path: Path) -> None:
    path = tmp_path / "kernel.npz"
    arrays = {"data": np.ones(3), "indices": [1, 2, 0], "indptr": [0, 1, 2, 3], "shape": [3, 3], "format": b"csr"}
    np.savez(path, **arrays, labels=np.array([7, 8, 10]))
    assert read_model(path).labels == ("7", "8", "10")
    np.savez(path, **arrays, labels=labels)
    with pytest.raises(SpecError, match=r'the array "labels" holds .* Give one text per state'):
        read_model(path)


def test_edges_below_blank_lines_or_in_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("\n\nfrom,to\nb,a\na,b\n")
    assert read_model(path, normalise=True).labels == ("b", "a")
    path.write_text("from,to,To\na,b,c\nb,a,c\n")
    with pytest.raises(SpecError, match='there are 2 columns "to"'):
        read_model(path)


def test_a_number_is_the_cost_of_every_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp = makers.ring(5)
    for spec, cost in (("1", 1.0), ("uniform:0.25", 0.25), ("uniform", 0.5), ("-2e-3", -2e-3)):
        np.testing.assert_array_equal(read_cost(spec, lmdp), np.full(5, cost))
    with pytest.raises(CostError, match="nan"):
        read_cost("nan", lmdp)
    monkeypatch.chdir(tmp_path)
    Path("1").write_text("0\n")  # a file of that name is a file, if one that cannot be read
    with pytest.raises(SpecError, match='"1"'):
        read_cost("1", lmdp)
