"""Costs by name that leave states out, and costs of moves in games."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

import lsmdp
from lsmdp.cli import app
from lsmdp.costs.moves import in_unit
from lsmdp.errors import CostError, LsmdpError, SpecError

Run = Callable[..., Result]

P = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
WALK = lsmdp.LMDP(P, ["a", "b", "c"]).lazy(0.1)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --- costs that leave states out, costs of moves -------------------------------------------------------------------


class TestMissing:
    @pytest.mark.parametrize(
        ("file", "text", "wanted"),
        [
            ("c.csv", "a,c\n0.1,0.2\n0.3,0.4\n", [[0.1, 0.7, 0.2], [0.3, 0.7, 0.4]]),
            ("c.csv", "round,state,cost\n1,c,0.2\n2,a,0.5\n", [[0.7, 0.7, 0.2], [0.5, 0.7, 0.7]]),
            ("c.jsonl", '{"cost": {"b": 0.2}}\n[0.1, 0.2, 0.3]\n', [[0.7, 0.2, 0.7], [0.1, 0.2, 0.3]]),
        ],
    )
    def test_in_rounds(self, tmp_path: Path, file: str, text: str, wanted: Any) -> None:
        path = written(tmp_path / file, text)
        assert np.array(list(lsmdp.read_costs(path, WALK, missing=0.7))).tolist() == wanted
        with pytest.raises(LsmdpError):
            list(lsmdp.read_costs(path, WALK))
        with pytest.raises(SpecError, match="--missing is 2"):
            lsmdp.read_costs(path, WALK, missing=2.0)

    def test_in_parquet(self, tmp_path: Path) -> None:
        parquet.write_table(pa.table({"c": [0.1, 0.2], "a": [1.0, 0.0]}), tmp_path / "c.parquet")
        found = np.array(list(lsmdp.read_costs(tmp_path / "c.parquet", WALK, missing=0.5)))
        assert found.tolist() == [[1.0, 0.5, 0.1], [0.0, 0.5, 0.2]]
        long = {"round": [1, 2], "state": ["a", "b"], "cost": [1.0, 0.25]}
        parquet.write_table(pa.table(long), tmp_path / "l.parquet")
        found = np.array(list(lsmdp.read_costs(tmp_path / "l.parquet", WALK, missing=0.5)))
        assert found.tolist() == [[1.0, 0.5, 0.5], [0.5, 0.25, 0.5]]

    def test_of_one_cost(self, run: Run, tmp_path: Path) -> None:
        path = written(tmp_path / "c.csv", "state;cost\nb;0,25\n")
        assert lsmdp.read_cost(path, WALK, missing=3.0).tolist() == [3.0, 0.25, 3.0]
        with pytest.raises(CostError, match=r'state 0 "a" has no cost.*--missing COST'):
            lsmdp.read_cost(path, WALK)
        lsmdp.write_model(WALK, tmp_path / "w.npz")
        result = run("solve", tmp_path / "w.npz", "--cost", path, "--missing", 3, "--json")
        low, high = json.loads(result.stdout)["bounds"]
        assert low <= lsmdp.solve(WALK, [3.0, 0.25, 3.0]).average_cost <= high

    def test_a_misspelt_name_is_not_missing(self, tmp_path: Path) -> None:
        for file, text in (("c.jsonl", '{"cost": {"bee": 0.2}}\n'), ("c.csv", "round,state,cost\n1,bee,0.2\n")):
            with pytest.raises(CostError, match='a cost for "bee", which is no state'):
                list(lsmdp.read_costs(written(tmp_path / file, text), WALK, missing=0.5))


class TestMovesInGames:
    EDGE = np.array([[0.0, 2.0, 0.0], [0.5, 0.0, 3.0], [1.0, 0.0, 0.25]])

    def test_the_unit_is_the_recipe(self) -> None:
        unit, moves = in_unit(WALK, self.EDGE)
        tilted, extra = WALK.with_edge_costs(self.EDGE)
        s = 1.0 + extra.max() - extra.min()
        assert (moves.unit, moves.least) == (s, extra.min())
        assert unit.temperature == WALK.temperature / s
        c = np.array([0.3, 0.9, 0.0])
        low, high = moves.back(lsmdp.solve(unit, moves.added(c)).bounds)
        there = lsmdp.solve(tilted, c + extra).bounds
        assert max(low, there[0]) <= min(high, there[1])
        assert high - low < 1e-8
        assert 0.0 <= moves.added(np.zeros(3)).min() <= moves.added(np.ones(3)).max() <= 1.0 + 1e-15

    def files(self, folder: Path) -> list[Any]:
        lsmdp.write_model(WALK, folder / "w.npz")
        text = "Source;Target;Toll\na;b;2,0\nb;a;0,5\nb;c;3,0\nc;a;1,0\nc;c;0,25\n"
        return [folder / "w.npz", "--edge-costs", written(folder / "tolls.csv", text)]

    def test_a_run_has_them_and_goes_on(self, run: Run, tmp_path: Path) -> None:
        kernel, *tolls = self.files(tmp_path)
        rest = ["--costs", "iid", "--rounds", 30, "--learner", "ftl", "--quiet", "--json", "--out", tmp_path / "run"]
        played = json.loads(run("play", kernel, *tolls, *rest).stdout)
        unit, moves = in_unit(WALK, self.EDGE)
        costs = moves.added(np.array(list(lsmdp.read_costs("iid", WALK, rounds=30))))
        loss = lsmdp.play(unit, lsmdp.FollowTheLeader(), costs).regret().to_dict()["learners"]["ftl"]["loss"]
        assert played["learners"]["ftl"]["loss"] == pytest.approx(loss, rel=1e-12)
        mine = played["your_units"]["learners"]["ftl"]
        assert mine["loss"] == pytest.approx(moves.unit * loss + 30 * moves.least, rel=1e-12)
        assert mine["regret"]["leader"] == pytest.approx(moves.unit * played["learners"]["ftl"]["regret"]["leader"])
        again = run("play", kernel, *tolls, *rest, "--resume")
        assert again.exit_code == 0, again.stderr
        other = run("play", kernel, *rest, "--resume")
        assert other.exit_code == 2
        assert "another run" in other.stderr

    def test_a_run_does_not_lead_to_tolls_elsewhere(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = tmp_path / "here", tmp_path / "there"
        here.mkdir()
        there.mkdir()
        kernel, flag, tolls = self.files(there)
        (here / "w.npz").write_bytes(kernel.read_bytes())
        monkeypatch.chdir(here)
        run("play", "w.npz", flag, tolls, "--costs", "iid", "--rounds", 3, "--out", "run", "--quiet")
        refused = run("report", "run", "--quiet")
        assert refused.exit_code == 2
        assert "the edge costs in" in refused.stderr
        assert "--trust" in refused.stderr

    def test_follow_answers_in_the_units_of_the_user(self, run: Run, tmp_path: Path) -> None:
        line = '{"cost": [0.3, 0.9, 0.0], "state": "a"}\n'
        result = CliRunner().invoke(app, ["follow", *map(str, self.files(tmp_path))], input=line)
        low, high = json.loads(result.stdout)["average_cost_bounds"]
        tilted, extra = WALK.with_edge_costs(self.EDGE)
        best = lsmdp.solve(tilted, np.array([0.3, 0.9, 0.0]) + extra)
        assert low <= best.bounds[1]
        assert best.bounds[0] <= high


# --- tables of many rounds, as people write them --------------------------------------------------------------------


ROUNDS = np.array([[0.5, 0.25, 0.125], [1.0, 0.0, 0.75]])


class TestTables:
    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("semicolons.csv", "0,5;0,25;0,125\n1,0;0,0;0,75\n"),
            ("named.csv", "b;a;c\n0.25;0.5;0.125\n0;1;0.75\n"),
            ("commas.csv", "b;a;c\n0,25;0,5;0,125\n0,0;1,0;0,75\n"),
            ("tabs.csv", "0.5\t0.25\t0.125\n1\t0\t0.75\n"),
            ("index.tsv", "\ta\tb\tc\n0\t0.5\t0.25\t0.125\n1\t1\t0\t0.75\n"),
            ("savetxt.txt", "5.0e-01 2.5e-01 1.25e-01\n1.0e+00 0.0e+00 7.5e-01\n"),
            ("titles.txt", "# c a b\n0.125 0.5 0.25\n# a comment\n0.75 1 0\n"),
            ("long.txt", "round state cost\n1 a 0.5\n1 b 0.25\n1 c 0.125\n2 a 1\n2 b 0\n2 c 0.75\n"),
            ("long.csv", "round;state;cost\n1;a;0,5\n1;b;0,25\n1;c;0,125\n2;a;1\n2;b;0\n2;c;0,75\n"),
        ],
    )
    def test_however_it_is_written(self, tmp_path: Path, file: str, text: str) -> None:
        costs = lsmdp.costs.read_costs(written(tmp_path / file, text), WALK)
        assert np.vstack(list(costs)).tolist() == ROUNDS.tolist()

    def test_thousands_or_decimals(self, tmp_path: Path) -> None:
        path = written(tmp_path / "c.csv", "1,250;1,125;1,000\n1,500;1,250;1,125\n")
        with pytest.raises(LsmdpError, match=r"may be 1\.500 or 1500"):
            lsmdp.costs.read_costs(path, WALK, scale=(0, 2))

    def test_a_line_that_is_cut_short(self, tmp_path: Path) -> None:
        path = written(tmp_path / "c.txt", "0.5 0.25 0.125\n1 0 0.75\n0.5 0.25\n")
        with pytest.raises(CostError, match=r"round 3 \(line 3\): it has 2 cells, but the first line has 3"):
            list(lsmdp.costs.read_costs(path, WALK))

    def test_tables_that_offer_no_more_than_the_interchange_protocol(self) -> None:
        table = pa.table({name: ROUNDS[:, k] for k, name in [(2, "c"), (0, "a"), (1, "b")]})

        class Bare:
            def __dataframe__(self, **options: Any) -> Any:
                return table.__dataframe__(**options)

        found, wanted = (lsmdp.play(WALK, lsmdp.FollowTheLeader(), costs) for costs in (Bare(), ROUNDS))
        assert found.learners["ftl"].loss == wanted.learners["ftl"].loss
