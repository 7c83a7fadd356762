"""Tables as people have them: edge lists in any words, separators and libraries, squares with names, graphs, maps."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from typer.testing import Result

import lsmdp
from lsmdp import runs
from lsmdp.errors import CostError, LsmdpError, ModelError, SpecError
from lsmdp.sources import makers
from lsmdp.sources.headers import ends_of, said, weight_of

Run = Callable[..., Result]
STRANGERS = Path(__file__).parents[2] / "shared" / "data" / "strangers"
needs_strangers = pytest.mark.skipif(not STRANGERS.is_dir(), reason=f"the files of strangers are not in {STRANGERS}")

EDGES = [("a", "b", 2), ("b", "a", 1), ("b", "c", 1), ("c", "a", 3)]
P = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def lines(header: str, separator: str, rows: Any = EDGES, end: str = "\n") -> str:
    return end.join([*([header] if header else []), *(separator.join(map(str, row)) for row in rows)]) + end


# --- edge lists ----------------------------------------------------------------------------------------------------

HEADERS = """
from,to,weight source,target,weight Source,Target,Weight SOURCE,DESTINATION,COUNT src,dst,n src,dest,freq u,v,w
origin,destination,trips start,end,value node1,node2,weight node_a,node_b,w FromNodeId,ToNodeId,count von,nach,anzahl
from_stop,to_stop,flow origine,destination,poids origen,destino,peso prev,curr,n pickup_zone,dropoff_zone,count
"""


@pytest.mark.parametrize("header", HEADERS.split())
def test_every_usual_header(tmp_path: Path, header: str, caplog: pytest.LogCaptureFixture) -> None:
    lmdp = lsmdp.read_model(written(tmp_path / "e.csv", lines(header, ",")))
    assert lmdp.labels == ("a", "b", "c")
    np.testing.assert_array_equal(lmdp.P.toarray(), P)
    guess = 'reading columns 1, 2 and 3 ("'
    assert (guess in caplog.text) == (header != "from,to,weight")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("e.tsv", lines("source\ttarget\tweight", "\t")),
        ("e.txt", "# a graph\n# Nodes: 3 Edges: 4\n" + lines("", " ")),
        ("e.txt", "% sym weighted\n" + lines("", "   ")),
        ("e.txt", lines("", "\t")),
        ("e.txt", "# FromNodeId\tToNodeId\tWeight\n" + lines("", "\t")),
        ("e.csv", lines("source;target;weight", ";")),
        ("e.csv", lines("", ",")),
        ("e.csv", lines("", ";", end="\r\n")),
        ("e.csv", "# made by hand\n" + lines("from,to,weight", ",")),
        ("e.csv", lines("weight,to,from", ",", [(w, v, u) for u, v, w in EDGES])),
        ("e.csv", lines("who,whom,how often", ",").replace("how often", "weight")),
        ("e.csv", lines("id;source;target;weight;note", ";", [(k, *edge, "x") for k, edge in enumerate(EDGES)])),
    ],
)
def test_every_usual_writing(tmp_path: Path, file: str, text: str) -> None:
    lmdp = lsmdp.read_model(written(tmp_path / file, text))
    assert lmdp.labels == ("a", "b", "c")
    np.testing.assert_array_equal(lmdp.P.toarray(), P)


def test_percent_encoded_names_are_no_comments(tmp_path: Path) -> None:
    text = "% a comment\nsource\ttarget\n%C3%85land\tEuro\nEuro\t%C3%85land\n"
    assert lsmdp.read_model(written(tmp_path / "e.tsv", text)).labels == ("%C3%85land", "Euro")


def test_numbers_without_a_header(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lmdp = lsmdp.read_model(written(tmp_path / "e.txt", "0 1\n1 2\n2 0\n0 2\n"))
    np.testing.assert_array_equal(lmdp.P.toarray(), [[0, 0.5, 0.5], [0, 0, 1], [1, 0, 0]])
    assert caplog.messages == [f"{tmp_path / 'e.txt'}: reading columns 1 and 2 as from, to"]


class TestDecimalCommas:
    def test_where_nothing_else_is_possible(self, tmp_path: Path) -> None:
        text = "from;to;weight\na;a;0,25\na;b;0,75\nb;a;1,0\n"
        assert lsmdp.read_model(written(tmp_path / "e.csv", text)).P.toarray().tolist() == [[0.25, 0.75], [1.0, 0.0]]
        table = "0,25;0,75\n0,5;0,5\n"
        assert lsmdp.read_model(written(tmp_path / "p.csv", table)).P.toarray().tolist() == [[0.25, 0.75], [0.5, 0.5]]

    def test_a_thousand_could_be_meant(self, tmp_path: Path) -> None:
        with pytest.raises(SpecError, match=r'the number "1,250" may be 1\.250 or 1250'):
            lsmdp.read_model(written(tmp_path / "e.csv", "from;to;weight\na;b;1,250\nb;a;2,500\n"))


BY_NAME = {"from": "First", "to": "Second", "weight": 4}


class TestColumns:
    TEXT = "line,first,second,minutes\nx,a,b,2.5\ny,b,a,1\nz,b,b,1\n"

    @pytest.mark.parametrize("columns", ["from=first,to=second,weight=minutes", "from=2,to=3,weight=4", BY_NAME])
    def test_named_by_the_user(self, tmp_path: Path, columns: Any, caplog: pytest.LogCaptureFixture) -> None:
        lmdp = lsmdp.read_model(written(tmp_path / "e.csv", self.TEXT), columns=columns, normalise=True)
        assert lmdp.P.toarray().tolist() == [[0.0, 1.0], [0.5, 0.5]]
        assert caplog.text == ""

    def test_on_the_command_line(self, run: Run, tmp_path: Path) -> None:
        path = written(tmp_path / "e.csv", self.TEXT)
        refused = run("check", path)
        assert refused.exit_code == 2
        assert "--columns from=NAME,to=NAME,weight=NAME" in refused.stderr
        asked = ["--columns", "from=first,to=second"]
        assert json.loads(run("check", path, *asked, "--json").stdout)["states"] == 2
        played = run("play", path, *asked, "--costs", "iid", "--rounds", 3, "--out", tmp_path / "run", "--quiet")
        assert played.exit_code == 0, played.stderr
        assert runs.load(tmp_path / "run", trust=True).rounds == 3  # the spec keeps how the file is read

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ("from=frist,to=second", 'there is no column "frist" among .* Did you mean "first"'),
            ("from=first", 'no column is known to be "to"'),
            ("from=first,to=first", "one column is named twice"),
            ("start=first", 'there is no column "start" to name'),
            ("first,second", "Write what each column is and its name"),
            (
                "from=9,to=1",
                r'there is no column "9" among .*\. Name one of these \(--columns\), or give its number from 1',
            ),
        ],
    )
    def test_mistakes_are_named(self, tmp_path: Path, columns: str, message: str) -> None:
        with pytest.raises(SpecError, match=message):
            lsmdp.read_model(written(tmp_path / "e.csv", self.TEXT), columns=columns)

    def test_only_tables_have_columns(self, tmp_path: Path) -> None:
        np.save(tmp_path / "p.npy", P)
        for options in ({"columns": "from=a"}, {"weight": "length"}):
            with pytest.raises(SpecError, match=r"a \.npy has none"):
                lsmdp.read_model(tmp_path / "p.npy", **options)
        with pytest.raises(SpecError, match="is no file"):
            lsmdp.read_model("ring:5", undirected=True)


def test_states_that_are_called_like_ends_stay_a_matrix(tmp_path: Path) -> None:
    for text in ("u,v\n0.5,0.5\n0.25,0.75\n", "start,end\n0.5,0.5\n1,0\n", "u,v,w\n0,1,0\n0,0,1\n1,0,0\n"):
        lmdp = lsmdp.read_model(written(tmp_path / "p.csv", text))
        assert lmdp.labels == tuple(text.split("\n")[0].split(","))


def test_ends_are_told_from_their_times() -> None:
    header = ["ID", "Start Date", "Start Station", "End Date", "End Station", "Count"]
    assert ends_of(header) == (2, 4)
    assert ends_of(header, times=True) == (1, 3)
    assert weight_of(header, (2, 4)) == 5
    assert ends_of(["state", "cost"]) is None
    assert said({"from": 0, "to": 1}, None) == "reading columns 1 and 2 as from, to"
    assert said({"cost": 2}, ["a", "b", "c"]) == 'reading column 3 ("c") as cost'


# --- squares with names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ",a,b\na,0.5,0.5\nb,0.25,0.75\n",
        "state;a;b\na;0.5;0.5\nb;0.25;0.75\n",
        "a\tb\na\t0.5\t0.5\nb\t0.25\t0.75\n",  # as R writes it, without a corner
        ",b,a\nb,0.75,0.25\na,0.5,0.5\n",
        ",a,b\nb,0.25,0.75\na,0.5,0.5\n",  # rows in another order than columns
    ],
)
def test_a_table_with_names_on_both_sides(tmp_path: Path, text: str) -> None:
    lmdp = lsmdp.read_model(written(tmp_path / "p.csv", text))
    P = pd.DataFrame(lmdp.P.toarray(), index=lmdp.labels, columns=lmdp.labels)
    assert [P.loc["a", "a"], P.loc["a", "b"], P.loc["b", "a"], P.loc["b", "b"]] == [0.5, 0.5, 0.25, 0.75]


def test_a_crosstab_of_pandas_in_parquet(tmp_path: Path) -> None:
    table = pa.table({"state": ["a", "b"], "a": [0.5, 0.25], "b": [0.5, 0.75]})
    parquet.write_table(table, tmp_path / "p.parquet")
    assert lsmdp.read_model(tmp_path / "p.parquet").labels == ("a", "b")


# --- tables of other libraries -------------------------------------------------------------------------------------


class Foreign:
    """A table of a library that nobody knows, with Arrow's C interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Interchanged:
    """The same with the interchange protocol and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self._table.__dataframe__(nan_as_null, allow_copy)


def tables_of(columns: dict[str, Any]) -> list[Any]:
    table = pa.table(columns)
    return [pd.DataFrame(columns), table, Foreign(table), Interchanged(table)]


EDGE_COLUMNS = {"source": [u for u, *_ in EDGES], "target": [v for _, v, _ in EDGES], "count": [w for *_, w in EDGES]}


@pytest.mark.parametrize("table", tables_of(EDGE_COLUMNS), ids=lambda table: type(table).__name__)
def test_edges_in_a_table_of_any_library(table: Any) -> None:
    lmdp = lsmdp.from_edges(table)
    assert lmdp.labels == ("a", "b", "c")
    np.testing.assert_array_equal(lmdp.P.toarray(), P)


def test_edges_in_a_table_by_columns_and_by_place(caplog: pytest.LogCaptureFixture) -> None:
    frame = pd.DataFrame(EDGES, columns=["one", "other", "much"])
    np.testing.assert_array_equal(lsmdp.from_edges(frame, columns={"from": "one", "to": "other"}).P.toarray(), P)
    np.testing.assert_array_equal(lsmdp.from_edges(frame).P.toarray(), P)
    assert 'reading columns 1, 2 and 3 ("one", "other", "much")' in caplog.text
    with pytest.raises(SpecError, match="none of the columns"):
        lsmdp.from_edges(pd.DataFrame({"a": [1], "b": [2], "c": ["x"]}))
    with pytest.raises(ModelError, match="columns are those of a table"):
        lsmdp.from_edges(EDGES, columns="from=a")
    with pytest.raises(LsmdpError, match="is no table that can be read"):
        lsmdp.from_edges(pd.DataFrame({"from": [1, "a"], "to": [object(), 2]}))


WALK = lsmdp.LMDP(P, ["a", "b", "c"]).lazy(0.1)


def test_one_cost_from_any_library() -> None:
    wanted = lsmdp.solve(WALK, [0.0, 0.5, 1.0]).bounds
    given: list[Any] = [
        {"c": 1.0, "a": 0.0, "b": 0.5},
        pd.Series([1.0, 0.0, 0.5], index=["c", "a", "b"]),
        *tables_of({"state": ["c", "a", "b"], "cost": [1.0, 0.0, 0.5]})[:3],
    ]
    for cost in given:
        assert lsmdp.solve(WALK, cost).bounds == wanted


def test_costs_of_many_rounds_from_any_library() -> None:
    table = np.random.default_rng(3).random((4, 3))
    wanted = lsmdp.play(WALK, lsmdp.FollowTheLeader(), table).regret().to_dict()["learners"]["ftl"]["loss"]
    wide = {name: table[:, "abc".index(name)] for name in "cab"}
    long = {
        "round": np.repeat([2, 1, 3, 4], 3),
        "state": list("bca") * 4,
        "cost": table[[1, 0, 2, 3]][:, [1, 2, 0]].ravel(),
    }
    for costs in (*tables_of(wide)[:3], *tables_of(long)[:3]):
        run = lsmdp.play(WALK, lsmdp.FollowTheLeader(), costs)
        assert run.regret().to_dict()["learners"]["ftl"]["loss"] == wanted


def test_bad_long_tables_are_named() -> None:
    for frame, message in (
        ({"round": [1, 3], "state": ["a", "a"], "cost": [0.0, 0.0]}, "round 2 is missing"),
        ({"round": [0.5], "state": ["a"], "cost": [0.0]}, "whole|integers"),
        ({"round": [1] * 4, "state": list("abca"), "cost": [0.0] * 4}, 'names "a" 2 times'),
        ({"round": [1, 1], "state": ["a", "b"], "cost": [0.0, 0.0]}, 'no value for state 2 "c"'),
    ):
        with pytest.raises(CostError, match=message):
            lsmdp.play(WALK, lsmdp.Passive(), pd.DataFrame(frame))


# --- graphs --------------------------------------------------------------------------------------------------------


class TestGraphs:
    def graph(self) -> Any:
        graph = networkx.DiGraph()
        graph.add_edge(0, 1, length="2.5", weight=3.0)
        graph.add_edge(1, 2, length="1", weight=1.0)
        graph.add_edge(1, 0, length="4", weight=1.0)
        places = {0: ("Oslo", 59.9, 10.7), 1: ("Rome", 41.9, 12.5), 2: ("Oslo", 50.0, 10.0)}
        for node, (label, latitude, longitude) in places.items():
            graph.nodes[node].update(label=label, Latitude=latitude, Longitude=longitude)
        return graph

    @pytest.mark.parametrize("ending", ["graphml", "gml"])
    def test_labels_positions_weights_and_both_ways(self, tmp_path: Path, ending: str) -> None:
        graph = self.graph()
        path = tmp_path / f"g.{ending}"
        if ending == "gml":  # networkx writes the ids of nodes as their labels
            text = "\n".join(networkx.generate_gml(graph))
            for node, data in graph.nodes(data=True):
                text = text.replace(f'label "{node}"', f'label "{data["label"]}"')
            path.write_text(text)
        else:
            networkx.write_graphml(graph, path)
        lmdp = lsmdp.read_model(path, undirected=True, weight="length")
        assert lmdp.labels == ("Oslo (0)", "Rome", "Oslo (2)")
        W = np.array([[0.0, 6.5, 0.0], [6.5, 0.0, 1.0], [0.0, 1.0, 0.0]])
        np.testing.assert_allclose(lmdp.P.toarray(), W / W.sum(axis=1, keepdims=True), rtol=1e-15)
        scale = np.cos(np.radians((59.9 + 41.9) / 2))
        np.testing.assert_allclose(lmdp.positions, [[10.7 * scale, 59.9], [12.5 * scale, 41.9], [10.0 * scale, 50.0]])
        costs = lsmdp.read_edge_costs(f"{ending}:length", lmdp).toarray()
        assert costs.tolist() == [[0.0, 2.5, 0.0], [4.0, 0.0, 1.0], [0.0, 1.0, 0.0]]  # 2 -> 1 costs as much as 1 -> 2

    def test_an_attribute_that_is_not_there(self, tmp_path: Path) -> None:
        networkx.write_graphml(self.graph(), tmp_path / "g.graphml")
        with pytest.raises(SpecError, match=r'no edge has the attribute "speed"\. Edges have: length, weight'):
            lsmdp.read_model(tmp_path / "g.graphml", weight="speed")
        lmdp = lsmdp.read_model(tmp_path / "g.graphml", undirected=True)
        with pytest.raises(SpecError, match=r'has no attribute "speed"\. It has: length, weight'):
            lsmdp.read_edge_costs("graphml:speed", lmdp)
        with pytest.raises(SpecError, match=r"but this model is"):
            lsmdp.read_edge_costs("tntp:length", lmdp)

    @pytest.mark.parametrize("text", ["", "graph [", "graph [ node [ id 0 ] edge [ source 0 target 1 ] ]", "[" * 9000])
    def test_damaged_gml(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(LsmdpError, match=r"g\.gml"):
            lsmdp.read_model(written(tmp_path / "g.gml", text))

    def test_parallel_edges_of_gml(self, tmp_path: Path) -> None:
        edges = "edge [ source 0 target 1 ] edge [ source 0 target 1 ] edge [ source 0 target 0 ]"
        text = f"graph [ node [ id 0 ] node [ id 1 ] {edges} ]"
        lmdp = lsmdp.read_model(written(tmp_path / "g.gml", text))
        np.testing.assert_allclose(lmdp.P.toarray(), [[1 / 3, 2 / 3], [1.0, 0.0]])


# --- grids ---------------------------------------------------------------------------------------------------------

MAP = "type octile\nheight 4\nwidth 5\nmap\n@@@@@\n@..@@\n@...@\n@@@@@\n"


class TestGrids:
    def test_a_cell_is_a_state(self, run: Run, tmp_path: Path) -> None:
        path = written(tmp_path / "m.map", MAP)
        lmdp = lsmdp.read_model(path)
        assert lmdp.state((2, 3)) == lmdp.state("2,3") == lmdp.state("(2, 3)") == 4
        with pytest.raises(ModelError, match="there is a wall"):
            lmdp.state("0,1")
        with pytest.raises(ModelError, match="this model is no grid"):
            lsmdp.ring(5).state("1,2")
        out = tmp_path / "run"
        played = run("play", path, "--costs", "iid", "--rounds", 3, "--start", "2,3", "--out", out, "--quiet", "--json")
        assert json.loads(played.stdout)["start"] == 4

    def test_costs_of_the_size_of_the_map(self, tmp_path: Path) -> None:
        lmdp = lsmdp.read_model(written(tmp_path / "m.map", MAP))
        table = np.arange(20.0).reshape(4, 5)
        table[0] = np.nan  # of walls nobody asks
        wanted = [6.0, 7.0, 11.0, 12.0, 13.0]
        np.save(tmp_path / "c.npy", table)
        np.savetxt(tmp_path / "c.csv", table, delimiter=",")
        for file in ("c.npy", "c.csv"):
            assert lsmdp.read_cost(tmp_path / file, lmdp).tolist() == wanted
        assert lsmdp.solve(lmdp, table / 20).bounds == lsmdp.solve(lmdp, np.array(wanted) / 20).bounds
        assert lsmdp.solve(lmdp, table[:3, :4] / 20).bounds == lsmdp.solve(lmdp, np.array(wanted) / 20).bounds
        for shape in ((5, 5), (3, 5), (20, 5)):  # a map of another size is none of this one
            with pytest.raises(CostError):
                lsmdp.solve(lmdp, np.zeros(shape))

    def test_a_map_a_round(self, tmp_path: Path) -> None:
        lmdp = lsmdp.read_model(written(tmp_path / "m.map", MAP))
        maps = np.random.default_rng(1).random((6, 4, 5))
        rows = maps[:, *lmdp.positions.astype(int).T]
        np.save(tmp_path / "c.npy", maps)
        np.testing.assert_array_equal(list(lsmdp.read_costs(tmp_path / "c.npy", lmdp)), rows)
        of_maps, of_rows = (lsmdp.play(lmdp, lsmdp.Passive(), costs).regret().to_dict() for costs in (maps, rows))
        assert of_maps["learners"]["passive"]["loss"] == of_rows["learners"]["passive"]["loss"]
        np.save(tmp_path / "d.npy", maps[:, :2])
        with pytest.raises(CostError, match=r"or a map per round \(T x 4 x 5\)"):
            lsmdp.read_costs(tmp_path / "d.npy", lmdp)


SCEN = "version 1\n0\tm.map\t5\t4\t1\t1\t3\t2\t2.41421356\n\n1 m.map 5 4 1 2 3 2 2\n"


class TestScenarios:
    def test_cells_are_rows_and_columns(self, tmp_path: Path) -> None:
        first, second = lsmdp.read_scenarios(written(tmp_path / "m.map.scen", SCEN))
        assert (first.start, first.goal, first.length, first.shape) == ((1, 1), (2, 3), 2.41421356, (4, 5))
        assert (second.start, second.map, second.bucket) == ((2, 1), "m.map", 1)
        lmdp = lsmdp.read_model(written(tmp_path / "m.map", MAP))
        assert [lmdp.state(cell) for cell in (first.start, first.goal)] == [0, 4]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", 'line 1 is "". A file of scenarios begins with "version 1"'),
            ("version 1\n", "there is no problem in it"),
            ("version 1\n0\tm.map\t5\n", "line 2 has 3 fields, but a problem has 9"),
            ("version 1\n0\tm.map\tfive\t4\t1\t1\t3\t2\t2\n", 'line 2: the width is "five"'),
            ("version 1\n0\tm.map\t5\t4\t1\t1\t5\t2\t2\n", "line 2: the goal is column 5 of row 2"),
            ("version 1\n0\tm.map\t5\t4\t1\t1\t3\t2\tfar\n", 'line 2: the optimal length is "far"'),
        ],
    )
    def test_bad_files_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(SpecError, match=message):
            lsmdp.read_scenarios(written(tmp_path / "m.scen", text))

    @needs_strangers
    def test_the_arena(self) -> None:
        lmdp = lsmdp.read_model(f"{STRANGERS / 'arena.map'}:8")
        problems = lsmdp.read_scenarios(STRANGERS / "arena.map.scen")
        weights = lmdp.P.tocoo()
        steps = np.hypot(*(lmdp.positions[weights.row] - lmdp.positions[weights.col]).T)
        graph = sparse.csr_array((steps, weights.coords), shape=weights.shape)
        far = sparse.csgraph.dijkstra(graph, indices=[lmdp.state(one.start) for one in problems[:40]])
        found = [row[lmdp.state(one.goal)] for row, one in zip(far, problems, strict=False)]
        np.testing.assert_allclose(found, [one.length for one in problems[:40]], rtol=1e-5)  # six digits are printed


# --- what is said --------------------------------------------------------------------------------------------------


def test_a_slip_is_said_where_there_is_one(caplog: pytest.LogCaptureFixture) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    lsmdp.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), largest_class=True)
    assert caplog.text == ""
    lsmdp.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=True), largest_class=True)
    assert "KL control may override such a slip, which real actions cannot" in caplog.text


def test_what_a_repair_left_out_is_said(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path / "e.csv", "from,to\na,b\nb,a\nb,c\n")
    result = run("solve", path, "--largest-class", "--cost", "uniform", "--json")
    assert f'Note: {path}: --largest-class kept 2 of 3 states; left out: "c", and all moves to them.' in result.stderr
    lsmdp.read_model(path, largest_class=True)
    assert caplog.text == ""  # in Python it was asked for, and is information
    with caplog.at_level(logging.INFO, "lsmdp"):
        lsmdp.read_model(path, largest_class=True)
    assert "kept 2 of 3 states" in caplog.text


def test_check_tells_dead_ends_from_goals(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "e.csv", "from,to\na,b\nb,a\nb,home\n")
    refused = run("check", path)
    assert refused.exit_code == 2
    assert 'state 2 "home" is entered and never left' in refused.stderr
    assert "--goal home" in refused.stderr
    assert "Ready to paste: lsmdp check" in refused.stderr
    assert "--undirected" in refused.stderr


@needs_strangers
@pytest.mark.parametrize(
    ("file", "options", "states"),
    [
        ("wiki-Vote.txt", ["--teleport", "0.01"], 1300),
        ("wikispeedia_links.tsv", ["--largest-class"], None),
        ("Abilene.graphml", ["--undirected"], 11),
        ("Geant2012.graphml", [], 40),
        ("osm3.graphml", ["--weight", "length"], 27),
        ("karate.mtx", [], 34),
        ("SiouxFalls_net.tntp", ["--weight", "free_flow_time"], 24),
    ],
)
def test_files_of_strangers_go_in(run: Run, file: str, options: list[str], states: int | None) -> None:
    result = run("check", STRANGERS / file, *options, "--json")
    assert result.exit_code in (0, 1), result.stderr
    found = json.loads(result.stdout)
    assert found["irreducible"]
    assert states is None or found["states"] == states or file == "wiki-Vote.txt"


@needs_strangers
def test_a_street_map_is_not_stretched() -> None:
    lmdp = lsmdp.read_model(STRANGERS / "osm3.graphml")
    assert lmdp.positions[:, 0].max() == pytest.approx(-116.17 * np.cos(np.radians(43.59)), abs=0.05)
    assert makers.grid(2, 2).map_shape == (2, 2)
