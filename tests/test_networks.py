"""Graphs of other makers: networkx, GraphML, TNTP road networks and Gymnasium's tables."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import networkx
import numpy as np
import pytest
from typer.testing import Result

import lsmdp
from lsmdp.errors import (
    AssumptionError,
    CostError,
    LsmdpError,
    ModelError,
    SpecError,
)
from lsmdp.report.frames import places_of

Run = Callable[..., Result]


class TestNetworkx:
    @pytest.mark.parametrize("kind", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph])
    def test_weights_agree_with_networkx(self, kind: Any) -> None:
        """Its own adjacency matrix, on graphs with self-loops, parallel edges and edges without a weight."""
        rng = np.random.default_rng(1)
        graph = kind()
        graph.add_nodes_from("dcba")
        for u, v in rng.integers(0, 4, (30, 2)).tolist():
            graph.add_edge("abcd"[u], "abcd"[v], **({"weight": float(rng.random())} if rng.random() < 0.7 else {}))
        graph.add_edge("a", "a", weight=2.0)
        A = networkx.to_numpy_array(graph)
        lmdp = lsmdp.from_networkx(graph)
        assert lmdp.labels == ("d", "c", "b", "a")
        np.testing.assert_allclose(lmdp.P.toarray(), A / A.sum(axis=1, keepdims=True), rtol=1e-14)

    def test_without_weights_every_edge_counts_one(self) -> None:
        graph = networkx.MultiDiGraph([(0, 1, {"weight": 9}), (0, 1), (0, 0), (1, 0)])
        np.testing.assert_allclose(lsmdp.from_networkx(graph, weight=None).P.toarray(), [[1 / 3, 2 / 3], [1, 0]])

    def test_positions_from_x_and_y(self) -> None:
        graph = networkx.path_graph(2)
        networkx.set_node_attributes(graph, {0: "1.5", 1: 2}, "x")
        assert lsmdp.from_networkx(graph).positions is None
        networkx.set_node_attributes(graph, {0: 0, 1: "7"}, "y")
        assert lsmdp.from_networkx(graph).positions.tolist() == [[1.5, 0.0], [2.0, 7.0]]

    @pytest.mark.parametrize(
        ("edges", "weight", "message"),
        [
            ([("a", "b", {"weight": -1})], "weight", r'edge 0 from "a" to "b" has the weight -1\.0'),
            ([("a", "b", {"weight": "wide"})], "weight", r'"a" to "b" has the weight \'wide\', not a number'),
            ([("a", "b", {"weight": float("nan")})], "weight", "has the weight nan"),
            ([("a", "b", {"weight": 10**400})], "weight", "not a number"),
            ([("a", "b", {"lanes": 2})], "lane", 'none of the 1 edges has the attribute "lane"'),
            ([(1, "1", {})], "weight", 'the label "1" stands for more than one state'),
        ],
    )
    def test_bad_graphs_are_named(self, edges: Any, weight: str, message: str) -> None:
        with pytest.raises(ModelError, match=message):
            lsmdp.from_networkx(networkx.Graph(edges), weight)

    def test_something_else_is_named(self) -> None:
        with pytest.raises(ModelError, match="the graph is list"):
            lsmdp.from_networkx([(0, 1)])


class TestGraphML:
    @pytest.mark.parametrize("kind", [networkx.Graph, networkx.DiGraph, networkx.MultiDiGraph])
    def test_a_file_is_its_graph(self, run: Run, tmp_path: Path, kind: Any) -> None:
        graph = kind([("a", "b"), ("b", "c"), ("c", "a"), ("a", "a"), ("a", "b")])
        for place, edge in enumerate(graph.edges):
            graph.edges[edge]["weight"] = 1.0 + place
        for node, x in zip("abc", (0.0, 1.0, 2.5), strict=True):
            graph.add_node(node, x=x, y=-x)
        path = tmp_path / "roads.graphml"
        networkx.write_graphml(graph, path)
        lmdp, same = lsmdp.read_model(path), lsmdp.from_networkx(graph)
        assert lmdp.labels == same.labels
        np.testing.assert_array_equal(lmdp.P.toarray(), same.P.toarray())
        np.testing.assert_array_equal(lmdp.positions, [[0, 0], [1, -1], [2.5, -2.5]])
        assert run("check", path).exit_code == 0

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "line 1 is not XML"),
            ("<graphml>\n<graph>\n<node", "line 3 is not XML"),
            ("<svg/>", "it is no GraphML graph"),
            (
                '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed"><node id="a"/>'
                '<edge source="a" target="z"/></graph></graphml>',
                'edge 0 has the target "z", which is none of the 1 nodes',
            ),
            (
                '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
                '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
                '<graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="b" target="a">'
                '<data key="w">-2</data></edge></graph></graphml>',
                'edge 0 from "b" to "a" has the weight -2.0',
            ),
        ],
    )
    def test_bad_files_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "bad.graphml"
        path.write_text(text)
        with pytest.raises(LsmdpError) as caught:
            lsmdp.read_model(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)

    def test_a_truncated_file_is_an_error_wherever_it_ends(self, tmp_path: Path) -> None:
        path = tmp_path / "cut.graphml"
        networkx.write_graphml(networkx.path_graph(4), path)
        content = path.read_bytes()
        for length in range(0, len(content) - 2, 7):
            path.write_bytes(content[:length])
            with pytest.raises(LsmdpError, match=r"cut\.graphml"):
                lsmdp.read_model(path)

    def test_without_networkx_the_way_out_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        networkx.write_graphml(networkx.path_graph(2), tmp_path / "g.graphml")
        usual = builtins.__import__

        def without(name: str, *rest: Any, **more: Any) -> Any:
            if name == "networkx":
                raise ImportError(name)
            return usual(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(SpecError, match=r"needs networkx.*lsmdp\[graph\]"):
            lsmdp.read_model(tmp_path / "g.graphml")


LINKS = [(1, 2, 300.0), (1, 3, 100.0), (2, 1, 50.0), (3, 1, 20.0), (3, 2, 60.0), (3, 4, 20.0), (4, 1, 5.0)]
HEADER = "~ \tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\tspeed\ttoll\tlink_type\t;"


def tntp(
    links: Any = LINKS, nodes: int = 4, count: int | None = None, header: str = HEADER, first: int = 1, zones: int = 2
) -> str:
    head = [f"<NUMBER OF ZONES> {zones}", f"<NUMBER OF NODES> {nodes}", f"<FIRST THRU NODE> {first}"]
    head += [f"<NUMBER OF LINKS> {len(links) if count is None else count}", "<END OF METADATA>", "", "", header]
    rows = [f"\t{u}\t{v}\t{capacity}\t6\t6\t0.15\t4\t0\t0\t1\t;" for u, v, capacity in links]
    return "\n".join([*head, *rows, ""])


class TestTntp:
    def test_drift_is_in_proportion_to_capacity(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "Town_net.tntp"
        path.write_text(tntp())
        lmdp = lsmdp.read_model(path)
        assert lmdp.labels == ("1", "2", "3", "4")
        expected = [[0, 0.75, 0.25, 0], [1, 0, 0, 0], [0.2, 0.6, 0, 0.2], [1, 0, 0, 0]]
        np.testing.assert_allclose(lmdp.P.toarray(), expected, rtol=1e-15)
        assert lmdp.positions is None
        assert lmdp.state("4") == 3
        assert run("check", path).exit_code == 0
        assert run("solve", path, "--cost", "hill", "--json").exit_code == 0

    @pytest.mark.parametrize("header", ["Node\tX\tY\t;\n", "node x y ;\n", ""])
    def test_the_file_of_nodes_gives_positions(self, tmp_path: Path, header: str) -> None:
        (tmp_path / "Town_net.tntp").write_text(tntp())
        (tmp_path / "Town_node.tntp").write_text(header + "2\t5e4\t-1.5\t;\n1 0 0 ;\n3\t1\t2\t;\n\n4\t9\t9\t;\n")
        positions = lsmdp.read_model(tmp_path / "Town_net.tntp").positions
        assert positions.tolist() == [[0, 0], [50_000, -1.5], [1, 2], [9, 9]]

    def test_north_is_up_on_the_page(self, tmp_path: Path) -> None:
        (tmp_path / "Town_net.tntp").write_text(tntp())
        (tmp_path / "Town_node.tntp").write_text("1 0.5 0 ;\n2 0.5 9.5 ;\n3 7.5 0 ;\n4 7.5 9.5 ;\n")
        lmdp = lsmdp.read_model(tmp_path / "Town_net.tntp")
        places = places_of(lmdp)
        assert places is not None
        down, across = places.T
        assert down[1] < down[0]  # node 2 is north of node 1
        assert across[2] > across[0]  # and node 3 east of it

    def test_names_of_two_words(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tntp"
        path.write_text(tntp(header="~ \tInit node \tTerm node \tCapacity \tLength \tFree Flow Time \tB\tPower\t;"))
        assert lsmdp.read_model(path).n == 4
        path.write_text(tntp(header="~ a remark\n" + HEADER))
        assert lsmdp.read_model(path).n == 4

    def test_a_node_that_is_only_reached_is_a_dead_end(self, tmp_path: Path) -> None:
        path = tmp_path / "net.tntp"
        path.write_text(tntp(LINKS[:-1]))
        with pytest.raises(ModelError, match='state 3 "4" has no successor'):
            lsmdp.read_model(path)
        assert lsmdp.read_model(path, largest_class=True).labels == ("1", "2", "3")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "there is no line <END OF METADATA>"),
            ("1 2 3\n", 'line 1 is "1 2 3". A TNTP file begins with lines such as <NUMBER OF NODES> 24'),
            ("<NUMBER OF NODES> many\n", 'line 1: the number of nodes is "many"'),
            ("<NUMBER OF NODES> 3\n<END OF METADATA>\n", "the metadata lacks <NUMBER OF LINKS>"),
            (tntp(header="~ from to capacity ;"), 'line 8 is "~ from to capacity ;". Below the metadata stands'),
            (tntp().partition("~")[0], "it ends after the metadata. Below the metadata stands the header"),
            (tntp(header="1 2 3 ;"), 'line 8 is "1 2 3 ;"'),
            (tntp()[:-40], "A link is a line of numbers, as many as in the lines before and with a semicolon"),
            (
                tntp(count=9),
                "it promises 9 links and holds 7: it is truncated, or the number is wrong. Get the whole file; or, if "
                "these are all, write 7 behind <NUMBER OF LINKS>.",
            ),
            (
                tntp([*LINKS, (1, 7, 3.0)]),
                'line 16: there is no node "7". Nodes are numbered from 1 to 4; or otherwise, if the links name 4 of '
                "them, but here they name 5.",
            ),
            (tntp([*LINKS, (0, 1, 3.0)]), 'line 16: there is no node "0"'),
            (tntp([*LINKS, ("٣", 1, 3.0)]), 'line 16: there is no node "٣". Nodes have numbers.'),
            (tntp([*LINKS, ("+3", 1, 3.0)]), 'line 16: there is no node "+3". Nodes have numbers.'),
            (tntp(nodes=200_000), "it promises 200000 nodes, but 7 links cannot reach them all"),
            (
                tntp(first=9),
                "the through nodes begin at 9, but the last node is 4: none is left. Keep all of them with",
            ),
            (tntp([(1, 2, -3.0)]), "line 9: the capacity is -3. It cannot be negative"),
            (tntp([(1, 2, "wide")]), 'line 9: the capacity is "wide", not a finite number'),
        ],
    )
    def test_bad_files_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "bad_net.tntp"
        path.write_text(text)
        with pytest.raises(SpecError) as caught:
            lsmdp.read_model(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("Node X Y ;\n1 0 0 ;\n2 0 0 ;\n4 0 0 ;\n", "node 3 has no line. Add it, or remove the file"),
            ("Node X Y ;\n1 0 north ;\n", 'line 2: the y is "north"'),
            ("Node X Y ;\n9 0 0 ;\n", 'line 2: there is no node "9" in the network. Drop the line.'),
            ("Node X Y ;\n1 0\n", 'line 2 is "1 0". Give the node, x and y'),
        ],
    )
    def test_bad_files_of_nodes_are_named(self, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "Town_net.tntp").write_text(tntp())
        (tmp_path / "Town_node.tntp").write_text(text)
        with pytest.raises(SpecError) as caught:
            lsmdp.read_model(tmp_path / "Town_net.tntp")
        assert f"in Town_node.tntp beside it: {message}" in str(caught.value)

    @pytest.mark.parametrize("end", ["\t;", ""])
    def test_a_network_that_ends_anywhere_is_refused(self, tmp_path: Path, end: str) -> None:
        path = tmp_path / "cut_net.tntp"
        text = tntp().replace("\t;", end)
        for length in range(0, len(text) - len(end) - 1, 1):
            path.write_text(text[:length])
            with pytest.raises(SpecError):
                lsmdp.read_model(path)

    def test_lines_may_do_without_semicolons(self, tmp_path: Path) -> None:
        """As those of Sydney do."""
        path = tmp_path / "net.tntp"
        path.write_text(tntp())
        P = lsmdp.read_model(path).P.toarray()
        path.write_text(tntp().replace(";", ""))
        np.testing.assert_array_equal(lsmdp.read_model(path).P.toarray(), P)

    def test_nodes_may_have_any_numbers(self, run: Run, tmp_path: Path) -> None:
        """As those of Munich do; the file of nodes speaks of the same."""
        names = {1: 75674, 2: 2146237932, 3: 12, 4: 900}
        path = tmp_path / "town_net.tntp"
        path.write_text(tntp([(names[u], names[v], capacity) for u, v, capacity in LINKS]))
        (tmp_path / "town_node.tntp").write_text("".join(f"{name} {node} -{node} ;\n" for node, name in names.items()))
        lmdp = lsmdp.read_model(path)
        assert lmdp.labels == ("12", "900", "75674", "2146237932")
        order = [2, 3, 0, 1]
        path.write_text(tntp())
        (tmp_path / "town_node.tntp").unlink()
        np.testing.assert_array_equal(lmdp.P.toarray(), lsmdp.read_model(path).P.toarray()[np.ix_(order, order)])
        assert lmdp.positions.tolist() == [[3, -3], [4, -4], [1, -1], [2, -2]]

    @pytest.mark.parametrize("name", ["Town_node.tntp", "Town_Nodes.tntp", "town_NODES.TNTP", "Town_nodes.tntp"])
    def test_the_file_of_nodes_has_many_names(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "Town_net.tntp").write_text(tntp())
        (tmp_path / "Town2_node.tntp").write_text("of another network")
        (tmp_path / name).write_text("1 0 0 ;\n2 5 5 ;\n3 1 2 ;\n4 9 9 ;\n")
        assert lsmdp.read_model(tmp_path / "Town_net.tntp").positions.tolist() == [[0, 0], [5, 5], [1, 2], [9, 9]]


class TestCentroids:
    """Nothing drives through nodes below <FIRST THRU NODE>: zones 1 and 2 of a square of streets 3, 4, 5 and 6."""

    STREETS = tuple((u, v, 100.0 * u) for u, v in ((3, 4), (4, 5), (5, 6), (6, 3), (4, 3), (6, 5), (5, 3)))
    CONNECTORS = ((1, 3, 9000.0), (3, 1, 9000.0), (2, 5, 9000.0), (5, 2, 9000.0), (1, 4, 9000.0), (6, 1, 9000.0))
    NODES = "".join(f"{node} {node} 0.5 ;\n" for node in range(1, 7))

    def town(self, folder: Path, first: int, connectors: Any = CONNECTORS) -> Path:
        (folder / "Town_net.tntp").write_text(tntp([*self.STREETS, *connectors], 6, first=first))
        (folder / "Town_node.tntp").write_text(self.NODES)
        return folder / "Town_net.tntp"

    def streets(self) -> Any:
        W = np.zeros((4, 4))
        for u, v, capacity in self.STREETS:
            W[u - 3, v - 3] = capacity
        return W / W.sum(axis=1, keepdims=True)

    def test_they_are_left_out(self, run: Run, tmp_path: Path) -> None:
        path = self.town(tmp_path, 3)
        lmdp = lsmdp.read_model(path)
        np.testing.assert_allclose(lmdp.P.toarray(), self.streets(), rtol=1e-15)
        assert lmdp.labels == ("3", "4", "5", "6")
        assert lmdp.positions[:, 0].tolist() == [3, 4, 5, 6]
        assert (lmdp.origin.tolist(), lmdp.origin_n) == ([2, 3, 4, 5], 6)
        result = run("check", path)
        assert result.exit_code == 0
        assert "Of the 6 states of the input, 2 were left out." in result.stdout

    def test_costs_of_all_nodes_will_do(self, tmp_path: Path) -> None:
        lmdp = lsmdp.read_model(self.town(tmp_path, 3))
        (tmp_path / "c.csv").write_text("state,cost\n" + "".join(f"{node},{node}\n" for node in range(1, 7)))
        np.save(tmp_path / "c.npy", np.arange(1.0, 7.0))
        for name in ("c.csv", "c.npy"):
            assert lsmdp.read_cost(tmp_path / name, lmdp).tolist() == [3, 4, 5, 6]

    def test_they_are_kept_where_that_is_asked_for(self, tmp_path: Path) -> None:
        everything = lsmdp.read_model(self.town(tmp_path, 1))
        path = self.town(tmp_path, 3)
        kept = lsmdp.read_model(f"{path}:1")
        np.testing.assert_array_equal(kept.P.toarray(), everything.P.toarray())
        assert kept.labels == ("1", "2", "3", "4", "5", "6")
        assert kept.origin is None
        assert lsmdp.read_model(f"{path}:5").labels == ("5", "6")
        for strange in ("x", "0", "+1", ""):
            with pytest.raises(SpecError, match="says that through nodes begin at"):
                lsmdp.read_model(f"{path}:{strange}")

    def test_zones_that_are_dead_ends_are_left_out_in_any_case(self, run: Run, tmp_path: Path) -> None:
        """As those of ChicagoSketch, whose first through node is said to be 1."""
        path = self.town(tmp_path, 1, self.CONNECTORS[:4])
        with pytest.warns(
            UserWarning, match="the 2 zones are left out, since each hangs on one other node.*Town_net.tntp:1"
        ):
            lmdp = lsmdp.read_model(path)
        np.testing.assert_allclose(lmdp.P.toarray(), self.streets(), rtol=1e-15)
        assert lsmdp.read_model(f"{path}:1").n == 6  # and nothing is said
        result = run("solve", path, "--cost", "hill", "--json")
        assert result.exit_code == 0
        assert json.loads(result.stdout)["states"] == 4
        assert "Warning: " in result.stderr
        assert "To keep them, write Town_net.tntp:1." in result.stderr

    def test_an_end_that_only_led_to_a_centroid_is_explained(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "Town_net.tntp"
        path.write_text(tntp([(1, 2, 1.0), (2, 3, 1.0), (3, 2, 1.0), (3, 4, 1.0), (4, 1, 1.0)], first=2))
        result = run("check", path)
        assert result.exit_code == 2
        assert 'state 2 "4" has no successor' in result.stderr
        assert f"what is no through road was left out (1 of 4 nodes); {path}:1 keeps it." in result.stderr
        assert f"Ready to paste: lsmdp check {path} --largest-class" in result.stderr


DATA = Path(__file__).parents[2] / "shared" / "data" / "strangers"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the road networks of other people are not at {DATA}")
class TestStrangers:
    @pytest.mark.filterwarnings("ignore:.*387 zones are left out")
    @pytest.mark.parametrize(
        ("name", "states", "first"),
        [
            ("Anaheim", 344, 39),
            ("ChicagoSketch", 546, 388),
            ("Winnipeg", 893, 148),
            ("SiouxFalls", 24, 1),
            ("munich", 740, 1),
        ],
    )
    def test_nothing_drives_through_a_zone(self, name: str, states: int, first: int) -> None:
        lmdp = lsmdp.read_model(DATA / f"{name}_net.tntp", largest_class=True)
        assert lmdp.n == states
        assert min(map(int, lmdp.labels or ())) >= first
        assert lsmdp.solve(lmdp, lsmdp.read_cost("hill", lmdp)).certified

    def test_what_the_zones_of_chicago_would_hold(self) -> None:
        kept = lsmdp.read_model(f"{DATA / 'ChicagoSketch_net.tntp'}:1")
        law = lsmdp.Policy(kept, np.zeros(kept.n)).stationary()
        assert law[:387].sum() == pytest.approx(0.41, abs=0.001)

    def test_half_a_network_is_refused(self) -> None:
        with pytest.raises(SpecError, match="it promises 75379 links and holds 391: it is truncated"):
            lsmdp.read_model(DATA / "Sydney_head_net.tntp")

    def test_a_sink_is_told_what_to_do(self) -> None:
        with pytest.raises(ModelError, match=r'state 1 "2" has no successor.*\(--largest-class\).*\(--teleport 0.01\)'):
            lsmdp.read_model(DATA / "Braess_net.tntp")
        with pytest.raises(AssumptionError, match=r"no two states lead to each other.*\(--teleport 0.01\)"):
            lsmdp.read_model(DATA / "Braess_net.tntp", largest_class=True)
        assert lsmdp.solve(lsmdp.read_model(DATA / "Braess_net.tntp", teleport=0.01), np.ones(4)).certified


def by_definition(env: Any) -> np.ndarray:
    """Actions at random, terminal states restart: entry by entry."""
    bare = env.unwrapped
    n = len(bare.P)
    terminal = {int(y) for actions in bare.P.values() for moves in actions.values() for _, y, _, end in moves if end}
    P = np.zeros((n, n))
    for x, actions in bare.P.items():
        for moves in actions.values():
            for p, y, _, _ in moves:
                P[x, y] += p / len(actions)
    for x in terminal:
        P[x] = bare.initial_state_distrib
    return P


class TestGymnasium:
    @pytest.mark.parametrize(
        ("name", "options", "shape", "kept"),
        [
            ("FrozenLake-v1", {}, (4, 4), 16),
            ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}, (8, 8), 64),
            ("CliffWalking-v1", {}, (4, 12), 38),  # nobody is ever on the 10 cells of the cliff
            ("Taxi-v4", {}, None, 404),
        ],
    )
    def test_toy_text(self, name: str, options: dict[str, Any], shape: Any, kept: int) -> None:
        env = gymnasium.make(name, **options)
        lmdp = lsmdp.from_gymnasium(env)
        np.testing.assert_allclose(lmdp.P.toarray(), by_definition(env), atol=1e-15)
        assert lmdp.grid_shape == shape
        inner = lsmdp.from_gymnasium(env, largest_class=True)
        assert inner.n == kept
        c = lsmdp.gymnasium_costs(env, inner)
        assert (c.data.min(), c.data.max()) == (0.0, 1.0)

    def test_rewards_become_costs_of_moves(self) -> None:
        env = gymnasium.make("FrozenLake-v1", is_slippery=False)
        lmdp = lsmdp.from_gymnasium(env)
        c = lsmdp.gymnasium_costs(env, lmdp).toarray()
        assert c[14, 15] == 0.0  # the goal pays 1
        others = (lmdp.P.toarray() > 0.0) & ~np.isin(np.arange(256).reshape(16, 16), [14 * 16 + 15])
        assert (c[others] == 1.0).all()
        lazy = lmdp.lazy(0.1)  # staying is not in the table: reward 0
        assert lsmdp.gymnasium_costs(env, lazy).toarray()[15, 15] == 1.0
        with pytest.raises(CostError, match="the environment has 16 states, but the model came from 4"):
            lsmdp.gymnasium_costs(env, lsmdp.ring(4))

    def test_a_lake_is_solved_with_its_rewards(self) -> None:
        env = gymnasium.make("FrozenLake-v1")
        lmdp = lsmdp.from_gymnasium(env, largest_class=True, temperature=0.05)
        costs = lsmdp.gymnasium_costs(env, lmdp)
        tilted, extra = lmdp.with_edge_costs(costs)
        solution = lsmdp.solve(tilted, extra)
        rho = np.abs(np.linalg.eigvals(lmdp.P.toarray() * np.exp(-costs.toarray() / 0.05))).max()
        assert solution.average_cost == pytest.approx(-0.05 * np.log(rho), abs=1e-9)
        mu = lsmdp.solve(lmdp, np.zeros(lmdp.n)).stationary
        assert (
            solution.average_cost < mu @ (lmdp.P.toarray() * costs.toarray()).sum(axis=1) - 0.01
        )  # drifting pays more

    def test_no_table(self) -> None:
        with pytest.raises(ModelError, match="BlackjackEnv has no table P"):
            lsmdp.from_gymnasium(gymnasium.make("Blackjack-v1"))

    def test_tables_of_ones_own(self) -> None:
        swap = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}}
        assert lsmdp.from_gymnasium(SimpleNamespace(P=swap)).P.toarray().tolist() == [[0, 1], [1, 0]]
        ends = {0: {0: [(1.0, 1, 0.0, True)]}, 1: {0: [(1.0, 1, 0.0, True)]}}
        with pytest.raises(ModelError, match="no initial_state_distrib"):
            lsmdp.from_gymnasium(SimpleNamespace(P=ends))
        odd = {0: {0: [(0.5, 1, 0.0, True), (0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}}
        with pytest.raises(ModelError, match="state 1 ends some episodes that enter it and not others"):
            lsmdp.from_gymnasium(SimpleNamespace(P=odd, initial_state_distrib=[1.0, 0.0]))
        with pytest.raises(ModelError, match="leads from 0 to 5, but there are 1 states"):
            lsmdp.from_gymnasium(SimpleNamespace(P={0: {0: [(1.0, 5, 0.0, False)]}}))
