"""The makers, each against its definition."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from lsmdp.errors import CostError, ModelError
from lsmdp.model import LMDP
from lsmdp.sources.makers import (
    clusters,
    from_counts,
    from_edges,
    from_networkx,
    grid,
    random_graph,
    rank_one,
    ring,
    sticky,
)


def is_primitive(lmdp: LMDP) -> bool:
    """By definition: some power of P is positive; n^2 - 2n + 2 steps are enough (Wielandt)."""
    support = lmdp.P.toarray() > 0.0
    power = support
    for _ in range((lmdp.n - 1) ** 2):
        power = (power.astype(int) @ support.astype(int)) > 0
    return bool(power.all())


def grid_by_hand(walls: np.ndarray, lazy: float) -> np.ndarray:
    cells = [tuple(cell) for cell in np.argwhere(~walls).tolist()]
    P = np.zeros((len(cells), len(cells)))
    for x, (row, col) in enumerate(cells):
        steps = [(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]
        neighbours = [cells.index(step) for step in steps if step in cells]
        P[x, x] = lazy if neighbours else 1.0
        for y in neighbours:
            P[x, y] = (1.0 - lazy) / len(neighbours)
    return P


class TestGrid:
    @given(
        st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(lambda shape: arrays(bool, shape)),
        st.sampled_from([0.0, 0.2, 0.9]),
    )
    def test_the_walk_on_the_open_cells(self, walls: np.ndarray, lazy: float) -> None:
        rows, cols = walls.shape
        if walls.all():
            with pytest.raises(ModelError, match=rf"all {walls.size} cells .* are walls"):
                grid(rows, cols, walls)
            return
        lmdp = grid(rows, cols, walls, lazy=lazy)
        np.testing.assert_allclose(lmdp.P.toarray(), grid_by_hand(walls, lazy), rtol=1e-15)
        np.testing.assert_array_equal(lmdp.positions, np.argwhere(~walls))

    def test_three_ways_to_say_where_the_walls_are(self) -> None:
        mask = np.array([[False, True, False], [False, False, True]])
        kernels = [
            grid(2, 3, walls).P.toarray()
            for walls in (mask, mask.tolist(), [(0, 1), (1, 2)], ".#.\n..#", [".#.", "..#"], "\n.#.\n..#\n")
        ]
        for kernel in kernels[1:]:
            np.testing.assert_array_equal(kernel, kernels[0])

    def test_no_walls(self) -> None:
        np.testing.assert_array_equal(grid(2, 2, []).P.toarray(), grid(2, 2).P.toarray())

    def test_name_shape_and_temperature(self) -> None:
        lmdp = grid(3, 4, temperature=0.5)
        assert lmdp.name == "grid:3x4"
        assert lmdp.grid_shape == (3, 4)
        assert lmdp.temperature == 0.5

    def test_a_million_cells(self) -> None:
        lmdp = grid(1000, 1000)
        assert lmdp.nnz == 5 * 10**6 - 4 * 1000  # five moves a cell, one fewer on each border

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0, 3), r"a grid of 0 x 3 has no cell"),
            ((10**6, 10**6), r"P would have 5e\+12 entries"),
            ((2, 2, [(0, 5)]), r"the wall at \(0, 5\) is not a cell of the 2 x 2 grid"),
            ((2, 2, [(0.5, 1)]), r"the wall at \(0\.5, 1\.0\) is not a cell"),
            ((2, 2, [1, 2, 3]), r"walls must be a boolean mask, a list of \(row, column\), or a map"),
            ((2, 2, np.zeros((3, 2), dtype=bool)), r"walls is a mask of shape \(3, 2\), but the grid is 2 x 2"),
            ((2, 2, "..."), r"the map has 1 lines, but the grid has 2 rows"),
            ((2, 2, ["..", "..#"]), r"line 1 of the map has 3 characters, but the grid has 2 columns"),
            ((2, 2, None, 1.0), r"lazy is 1\.0\. It is a probability below 1"),
            ((2, 2, None, -0.1), r"lazy is -0\.1"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(ModelError, match=message):
            grid(*arguments)


class TestRing:
    @pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
    @pytest.mark.parametrize("drift", [0.0, 1 / 3, 0.99, 1.0])
    def test_the_walk_on_the_circle(self, n: int, drift: float) -> None:
        P = np.zeros((n, n))
        for x in range(n):
            P[x, (x + 1) % n] += drift
            P[x, x] += (1.0 - drift) / 2.0
            P[x, (x - 1) % n] += (1.0 - drift) / 2.0
        np.testing.assert_allclose(ring(n, drift).P.toarray(), P, rtol=1e-15)

    def test_positions_are_one_step_apart(self) -> None:
        n = 1000
        steps = np.diff(ring(n).positions, axis=0)
        chord = n / np.pi * np.sin(np.pi / n)
        np.testing.assert_allclose(np.hypot(*steps.T), chord, rtol=1e-9)
        assert ring(n).grid_shape is None
        assert ring(1).grid_shape is None

    def test_names(self) -> None:
        assert (ring(12).name, ring(1000, 0.99).name) == ("ring:12", "ring:1000:0.99")

    def test_bad_arguments_are_named(self) -> None:
        with pytest.raises(ModelError, match="a ring of 0 states is empty"):
            ring(0)
        with pytest.raises(ModelError, match=r"drift is 1\.5\. It is a probability between 0 and 1"):
            ring(3, 1.5)
        with pytest.raises(ModelError, match="drift is nan"):
            ring(3, float("nan"))


class TestRandomGraph:
    @pytest.mark.parametrize(("n", "degree"), [(1, 7), (2, 2), (5, 2), (6, 3), (9, 7), (8, 100)])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_it_is_primitive_and_has_the_degree(self, n: int, degree: int, seed: int) -> None:
        lmdp = random_graph(n, degree, seed)
        np.testing.assert_array_equal(np.diff(lmdp.P.indptr), min(n, degree))
        assert is_primitive(lmdp)
        assert lmdp.P.data.min() >= 0.2 / degree

    def test_every_successor_is_equally_likely(self) -> None:
        n, seeds = 12, 400
        seen = sum((random_graph(n, 4, seed).P.toarray() > 0.0).astype(int) for seed in range(seeds))
        off_diagonal = seen[~np.eye(n, dtype=bool)]
        expected = seeds * 3 / (n - 1)  # 109; the standard deviation is 9
        assert (np.diag(seen) == seeds).all()
        assert abs(off_diagonal - expected).max() < 5 * 9

    def test_it_depends_on_its_arguments_alone(self) -> None:
        first, again, other = random_graph(50, 5, 3), random_graph(50, 5, 3), random_graph(50, 5, 4)
        np.testing.assert_array_equal(first.P.toarray(), again.P.toarray())
        assert (first.P.toarray() != other.P.toarray()).any()

    def test_dense_graphs_are_quick_too(self) -> None:
        assert random_graph(400, 400).nnz == 400**2
        assert (np.diff(random_graph(400, 300).P.indptr) == 300).all()

    def test_a_large_graph(self) -> None:
        lmdp = random_graph(200_000)
        assert lmdp.nnz == 1_400_000
        assert lmdp.is_irreducible
        assert lmdp.name == "random:200000:7"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0,), "a random graph of 0 states is empty"),
            ((5, 1), r"degree is 1\. A random graph needs 2"),
            ((10**9, 7), "P would have 7e"),
            ((5, 3, -1), r"the seed is -1\. A seed is a whole number of at least 0"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments: tuple[int, ...], message: str) -> None:
        with pytest.raises(ModelError, match=message):
            random_graph(*arguments)


class TestSmallFamilies:
    @pytest.mark.parametrize("eps", [0.5, 1e-9, 1e-300, 5e-324])
    def test_sticky_keeps_its_entries_as_given(self, eps: float) -> None:
        np.testing.assert_array_equal(sticky(eps).P.toarray(), [[1.0 - eps, eps], [eps, 1.0 - eps]])

    def test_sticky_takes_a_probability(self) -> None:
        with pytest.raises(ModelError, match=r"eps is 2\. It is a probability"):
            sticky(2)

    def test_rank_one(self) -> None:
        law = [0.5, 0.2, 0.3]
        np.testing.assert_array_equal(rank_one(law).P.toarray(), [law, law, law])
        np.testing.assert_allclose(rank_one(5).P.toarray(), np.full((5, 5), 0.2), rtol=1e-15)
        assert rank_one(5).name == "rank-one:5"

    def test_rank_one_takes_a_law(self) -> None:
        with pytest.raises(CostError, match=r"the distribution sums to 0\.7, not 1"):
            rank_one([0.5, 0.2])
        with pytest.raises(ModelError, match=r"rank_one\(0\) has no state"):
            rank_one(0)
        with pytest.raises(CostError, match=r"the distribution sums to 2\.5, not 1"):
            rank_one(2.5)
        with pytest.raises(ModelError, match="P would have 1e"):
            rank_one(100_000)

    def test_clusters_are_left_with_the_probability_of_a_link(self) -> None:
        k, size, link = 3, 5, 1e-4
        lmdp = clusters(k, size, link)
        P = lmdp.P.toarray()
        for x in range(k * size):
            home = x // size
            following = (home + 1) % k
            blocks = [P[x, block * size : (block + 1) * size] for block in range(k)]
            assert blocks[following].sum() == link
            assert np.count_nonzero(blocks[following]) == 1
            assert blocks[home].sum() == pytest.approx(1.0 - link, abs=1e-15)
        assert is_primitive(lmdp)
        assert lmdp.name == "clusters:3:5:0.0001"

    def test_one_cluster_is_a_random_graph(self) -> None:
        np.testing.assert_array_equal(clusters(1, 30, 0.5, 4, 2).P.toarray(), random_graph(30, 4, 2).P.toarray())

    def test_bad_clusters_are_named(self) -> None:
        with pytest.raises(ModelError, match="0 clusters hold no state"):
            clusters(0, 5, 0.1)
        with pytest.raises(ModelError, match="a random graph of 0 states is empty"):
            clusters(2, 0, 0.1)
        with pytest.raises(ModelError, match=r"link is 1\.0\. It is a probability below 1"):
            clusters(2, 5, 1.0)


class TestFromEdges:
    def test_weights_become_laws(self) -> None:
        lmdp = from_edges([(0, 1, 3.0), (0, 0, 1.0), (1, 0), (0, 1, 4.0)])
        np.testing.assert_allclose(lmdp.P.toarray(), [[1 / 8, 7 / 8], [1.0, 0.0]], rtol=1e-15)
        assert lmdp.labels is None

    @pytest.mark.parametrize("columns", [2, 3])
    def test_arrays_are_edges_too(self, columns: int) -> None:
        edges = np.array([[0, 1, 1.0], [1, 0, 2.0], [1, 1, 2.0]])[:, :columns]
        np.testing.assert_array_equal(from_edges(edges).P.toarray(), [[0.0, 1.0], [0.5, 0.5]])

    def test_names_become_labels_in_the_order_of_appearance(self) -> None:
        lmdp = from_edges([("b", "a"), ("a", "c"), ("c", "b")])
        assert lmdp.labels == ("b", "a", "c")
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0, 1, 0], [0, 0, 1], [1, 0, 0]])

    def test_numbers_with_gaps_are_names(self) -> None:
        lmdp = from_edges([(769806, 5), (5, 7), (7, 769806)])
        assert lmdp.labels == ("5", "7", "769806")
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0, 1, 0], [0, 0, 1], [1, 0, 0]])

    def test_numbers_and_words_may_mix(self) -> None:
        assert from_edges([(1, "a"), ("a", 1)]).labels == ("1", "a")

    def test_given_labels_fix_the_order(self) -> None:
        by_name = from_edges([("b", "a"), ("a", "b")], ["a", "b"])
        by_place = from_edges([(1, 0), (0, 1)], ["a", "b"])
        assert by_name.labels == by_place.labels == ("a", "b")
        np.testing.assert_array_equal(by_name.P.toarray(), by_place.P.toarray())

    def test_repairs_are_passed_on(self) -> None:
        edges = [(0, 1), (1, 0), (1, 2)]
        with pytest.raises(ModelError, match="state 2 has no successor"):
            from_edges(edges)
        assert from_edges(edges, largest_class=True).n == 2
        lmdp = from_edges(edges, teleport=0.1, temperature=3.0, name="net")
        assert (lmdp.n, lmdp.nnz, lmdp.temperature, lmdp.name) == (3, 9, 3.0, "net")

    @pytest.mark.parametrize(
        ("edges", "labels", "message"),
        [
            ([], None, "there are no edges"),
            ([(0,)], None, r"edge 0 is \(0,\)\. Give \(from, to\) or \(from, to, weight\)"),
            ("ab", None, "the edges are 'ab'"),
            (7, None, "the edges are 7"),
            (np.zeros((2, 5)), None, r"the edges have shape 2 x 5\. Give 2 or 3 columns"),
            ([(0, 1, "much")], None, "a weight that is not a number: .*'much'"),
            ([(0, 1), (1, 0, -2.0)], None, r'edge 1 from "1" to "0" has the weight -2\.0'),
            ([("a", "b", float("nan"))], None, r'edge 0 from "a" to "b" has the weight nan'),
            ([("a", "b"), ("b", "z")], ["a", "b"], r'edge 1 leads to "z", which is none of the 2 labels'),
            ([(5, 0)], ["a", "b"], r'edge 0 starts at "5", which is none of the 2 labels'),
        ],
    )
    def test_bad_edges_are_named(self, edges: Any, labels: Any, message: str) -> None:
        with pytest.raises(ModelError, match=message):
            from_edges(edges, labels)


class TestFromNetworkx:
    def test_undirected_edges_go_both_ways(self) -> None:
        graph = networkx.Graph()
        graph.add_edge("x", "y", weight=3.0)
        graph.add_edge("x", "z")
        lmdp = from_networkx(graph)
        assert lmdp.labels == ("x", "y", "z")
        np.testing.assert_array_equal(lmdp.P.toarray(), [[0.0, 0.75, 0.25], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        assert lmdp.positions is None

    def test_directed_edges_go_one_way_and_the_weight_has_a_name(self) -> None:
        graph = networkx.DiGraph([(0, 1, {"w": 1.0}), (0, 0, {"w": 3.0}), (1, 0, {"w": 9.0})])
        np.testing.assert_array_equal(from_networkx(graph, weight="w").P.toarray(), [[0.75, 0.25], [1.0, 0.0]])

    def test_positions_are_kept_if_most_nodes_have_one(self) -> None:
        graph = networkx.path_graph(2)
        networkx.set_node_attributes(graph, {0: (0.5, 1.0), 1: (2.0, 3.0)}, "pos")
        np.testing.assert_array_equal(from_networkx(graph).positions, [[0.5, 1.0], [2.0, 3.0]])
        graph.add_edge(1, 2)  # a node without a position is put in the middle of its neighbours
        np.testing.assert_array_equal(from_networkx(graph).positions, [[0.5, 1.0], [2.0, 3.0], [2.0, 3.0]])
        graph.add_edge(1, 3)  # but two positions of four are no map
        assert from_networkx(graph).positions is None

    def test_a_sink_needs_a_repair(self) -> None:
        graph = networkx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
        with pytest.raises(ModelError, match=r'state 2 "c" has no successor'):
            from_networkx(graph)
        assert from_networkx(graph, largest_class=True).labels == ("a", "b")

    def test_an_empty_graph_is_named(self) -> None:
        with pytest.raises(ModelError, match="the graph has no node"):
            from_networkx(networkx.Graph())


class TestFromCounts:
    C = np.array([[0, 3, 1], [2, 0, 0], [1, 1, 2]])

    def test_frequencies(self) -> None:
        np.testing.assert_array_equal(from_counts(self.C).P.toarray(), [[0, 0.75, 0.25], [1, 0, 0], [0.25, 0.25, 0.5]])

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
    def test_smoothing_is_on_the_observed_support(self, form: Any) -> None:
        P = from_counts(form(self.C), smoothing=1.0, labels=["a", "b", "c"]).P.toarray()
        np.testing.assert_allclose(P, [[0, 4 / 6, 2 / 6], [1, 0, 0], [2 / 7, 2 / 7, 3 / 7]], rtol=1e-15)

    def test_bad_counts_are_named(self) -> None:
        with pytest.raises(ModelError, match=r"C\[0, 1\] is -3\.0"):
            from_counts([[1, -3], [1, 1]])
        with pytest.raises(ModelError, match=r"smoothing is -1"):
            from_counts(self.C, smoothing=-1)
        with pytest.raises(ModelError, match="state 1 has no successor"):
            from_counts([[1, 1], [0, 0]])


def test_the_test_of_primitivity_can_fail() -> None:
    assert not is_primitive(LMDP([[0.0, 1.0], [1.0, 0.0]]))
    assert is_primitive(ring(5, 1.0).lazy(0.5))
    assert is_primitive(from_edges([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 0)]))  # cycles of length 4 and 5
