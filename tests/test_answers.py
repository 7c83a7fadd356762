"""Answers as tables: every number is the one that the object holds, under the right name, also in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import sparse

import lsmdp
from lsmdp.output.tables import is_answer, read_answer, states_table, write_answer, write_table

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def town() -> lsmdp.Solution:
    """Names that a csv file has to take care of, and a state that was dropped."""
    edges = [("a,b", 'the "c"', 1.0), ('the "c"', "a,b", 2.0), ('the "c"', "d\ne", 1.0), ("d\ne", "a,b", 1.0)]
    lmdp = lsmdp.from_edges([*edges, ("left", "a,b", 1.0)], largest_class=True)
    return lsmdp.solve(lmdp, [0.1, 0.7, 1 / 3])


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    return csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True))


class TestTables:
    def test_a_row_a_state(self, town: lsmdp.Solution) -> None:
        table = town.to_frame()
        assert table.column_names == ["state", "cost", "value", "share"]
        assert table["state"].to_pylist() == list(town.lmdp.labels or ())
        np.testing.assert_array_equal(table["cost"], town.c)
        np.testing.assert_array_equal(table["value"], town.v)
        np.testing.assert_array_equal(table["share"], town.stationary)

    def test_a_grid_has_rows_and_columns(self) -> None:
        lmdp = lsmdp.grid(3, 4)
        table = lsmdp.solve(lmdp, np.zeros(12)).to_frame()
        assert table["state"].to_pylist() == list(range(12))
        np.testing.assert_array_equal(np.stack([table["row"], table["column"]], axis=1), lmdp.positions)

    def test_other_positions_are_x_and_y(self) -> None:
        lmdp = lsmdp.LMDP(np.full((2, 2), 0.5), positions=[[0.5, 2.0], [-1.0, 3.0]])
        table = lsmdp.solve(lmdp, [0.0, 1.0]).to_frame()
        assert (table["x"].to_pylist(), table["y"].to_pylist()) == ([0.5, -1.0], [2.0, 3.0])

    def test_bounds_of_each_value_are_columns_and_there_need_be_no_share(self, town: lsmdp.Solution) -> None:
        class Ends:
            lmdp, c, v, lower, upper = town.lmdp, town.c, town.v, town.v - 1e-9, town.v + 1e-9

        table = states_table(Ends())
        assert table.column_names == ["state", "cost", "value", "lower", "upper"]
        np.testing.assert_array_equal(table["upper"], town.v + 1e-9)

    def test_a_row_a_move(self, town: lsmdp.Solution) -> None:
        table, labels = town.policy.to_frame(), list(town.lmdp.labels or ())
        assert table.column_names == ["from", "to", "probability", "passive"]
        Q, P = np.zeros((3, 3)), np.zeros((3, 3))
        for row in table.to_pylist():
            at = labels.index(row["from"]), labels.index(row["to"])
            Q[at], P[at] = row["probability"], row["passive"]
        np.testing.assert_array_equal(Q, town.policy.matrix().toarray())
        np.testing.assert_array_equal(P, town.lmdp.P.toarray())

    def test_what_a_game_keeps(self) -> None:
        costs = np.random.default_rng(0).random((23, 6))
        run = lsmdp.play(lsmdp.ring(6), [lsmdp.FollowTheLeader(), lsmdp.Passive()], costs)
        table = run.to_frame()
        assert table["round"].to_pylist()[::2] == [1, 2, 5, 10, 20, 23]
        assert table["learner"].to_pylist()[:2] == ["ftl", "passive"]
        last = {row["learner"]: row for row in table.to_pylist()[-2:]}
        for name, tally in run.learners.items():
            assert last[name]["loss"] == tally.loss
            assert last[name]["solves"] == tally.solves
        first = {one.name: one for one in lsmdp.play(lsmdp.ring(6), [lsmdp.Passive()], costs[:5]).regret().learners}
        assert table.filter((table["round"].to_numpy() == 5).tolist()).to_pylist()[1]["loss"] == pytest.approx(
            first["passive"].tally.loss, rel=1e-12
        )
        assert table["sampled_loss"].null_count == table.num_rows  # there were no walkers

    def test_pandas_takes_them(self, town: lsmdp.Solution) -> None:
        pandas = pytest.importorskip("pandas")
        frame = town.to_frame().to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        assert frame.set_index("state")["value"]["a,b"] == town.v[0]


class TestFiles:
    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    def test_a_table_comes_back(self, town: lsmdp.Solution, tmp_path: Path, ending: str) -> None:
        for name, table in (("states", town.to_frame()), ("moves", town.policy.to_frame())):
            path = tmp_path / f"{name}{ending}"
            write_table(table, path)
            assert read(path).to_pylist() == table.to_pylist()  # to the last bit

    def test_an_answer_comes_back(self, town: lsmdp.Solution, tmp_path: Path) -> None:
        path = tmp_path / "answer.npz"
        write_answer(town, path)
        with np.load(path, allow_pickle=False) as arrays:
            assert arrays["labels"].tolist() == list(town.lmdp.labels or ())
            assert arrays["origin"].tolist() == town.lmdp.origin.tolist()
            np.testing.assert_array_equal(arrays["cost"], town.c)
        assert is_answer(path)
        found = read_answer(path)
        np.testing.assert_array_equal(found.Q.toarray(), town.policy.matrix().toarray())
        np.testing.assert_array_equal(found.mu, town.stationary)
        assert found.labels == town.lmdp.labels

    @pytest.mark.parametrize(
        ("changed", "complaint"),
        [
            ({"Q_data": np.array([0.5, 1.0, 1.0])}, "sums to 0.5"),
            ({"Q_indices": np.array([0, 1])}, "does not fit the others"),
            ({"Q_indices": np.array([0, 1, 7])}, "cannot be read as an answer"),
            ({"mu": np.array([0.5, 0.5, 0.5])}, "mu|sum"),
            ({"labels": np.array([None, None], dtype=object)}, "cannot be read as an answer"),
        ],
    )
    def test_a_broken_answer_is_refused_by_name(self, tmp_path: Path, changed: Any, complaint: str) -> None:
        good = {"Q_data": np.ones(3), "Q_indices": np.arange(3), "Q_indptr": np.arange(4)}
        np.savez(tmp_path / "a.npz", **(good | changed))
        with pytest.raises(lsmdp.LsmdpError, match=complaint) as refused:
            read_answer(tmp_path / "a.npz")
        assert "a.npz" in str(refused.value)

    def test_a_kernel_is_no_answer(self, tmp_path: Path) -> None:
        lsmdp.write_model(lsmdp.ring(4), tmp_path / "ring.npz")
        assert not is_answer(tmp_path / "ring.npz")
        (tmp_path / "text.npz").write_text("no zip")
        assert not is_answer(tmp_path / "text.npz")
        assert not is_answer(tmp_path / "nothing.npz")


class TestSolveCommand:
    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    def test_both_tables(self, run: Run, tmp_path: Path, ending: str) -> None:
        out, policy = tmp_path / f"a{ending}", tmp_path / f"p{ending}"
        told = json.loads(run("solve", "grid:3x4", "--cost", "hill", "--out", out, "--policy", policy, "--json").stdout)
        assert (told["out"], told["policy"]) == (str(out), str(policy))
        lmdp = lsmdp.grid(3, 4)
        solution = lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp))
        assert read(out).to_pylist() == solution.to_frame().to_pylist()
        assert read(policy).to_pylist() == solution.policy.to_frame().to_pylist()

    def test_costs_of_moves_leave_cost_and_passive_as_the_user_gave_them(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "edges.csv").write_text("from,to,cost\n0,1,2.0\n1,0,0.5\n")
        out, policy = tmp_path / "a.csv", tmp_path / "p.csv"
        edges = ("--edge-costs", tmp_path / "edges.csv")
        assert run("solve", "ring:5", "--cost", "hill", *edges, "--out", out, "--policy", policy).exit_code == 0
        lmdp = lsmdp.ring(5)
        np.testing.assert_array_equal(read(out)["cost"], lsmdp.read_cost("hill", lmdp))
        moves = read(policy)
        np.testing.assert_array_equal(moves["passive"], lmdp.P.data)
        Q = sparse.csr_array(
            (moves["probability"].to_numpy(), (moves["from"].to_numpy(), moves["to"].to_numpy())), shape=(5, 5)
        )
        np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=1e-14)
        assert Q[0, 1] < lmdp.P[0, 1]

    def test_the_text_says_where_they_are(self, run: Run, tmp_path: Path) -> None:
        shown = run("solve", "ring:5", "--cost", "hill", "--out", tmp_path / "a.csv", "--policy", tmp_path / "p.csv")
        assert f"The answer is in {tmp_path / 'a.csv'}\nThe policy is in {tmp_path / 'p.csv'}\n" in shown.stdout

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["--out", "a.txt"], 'SpecError: "a.txt" does not end in .npz, .csv or .parquet, the formats of --out.'),
            (["--policy", "p.npz"], 'SpecError: "p.npz" does not end in .csv or .parquet, the formats of --policy.'),
            (["--report", "p.pdf"], 'SpecError: "p.pdf" does not end in .html, the only format of --report.'),
            (["--policy", "no/p.csv"], "No such file or directory. Choose another place with --policy."),
            (["--out", "a.csv", "--policy", "a.csv"], '"a.csv" is named by --out and by --policy.'),
            (["--policy", "folder.csv"], '"folder.csv" is a folder. Name a file with --policy.'),
        ],
    )
    def test_a_bad_place_is_refused_before_the_work(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], complaint: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder.csv").mkdir()
        monkeypatch.setattr("lsmdp.solvers.solve", lambda *_, **__: pytest.fail("the place is checked first"))
        result = run("solve", "ring:5", "--cost", "hill", *arguments)
        assert result.exit_code == 2
        assert complaint in result.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]
