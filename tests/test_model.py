"""The model: immutable, checked, and with ways on when the input is not ideal."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from lsmdp.arrays import EPS
from lsmdp.errors import AssumptionError, ModelError
from lsmdp.model import LMDP
from lsmdp.model.repairs import DENSE_LIMIT

TWO_ISLANDS = np.array(  # 0 -> {1, 2, 3} <-> each other, {4, 5} absorbing together
    [
        [0.0, 0.5, 0.5, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.5, 0.0, 0.0],
        [0.0, 0.25, 0.25, 0.5, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.25, 0.25, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.5, 0.5],
        [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    ]
)


def raw_weights(least: float = 0.0) -> st.SearchStrategy[np.ndarray]:
    """Sparse-looking square weights; rows may be zero."""
    value = st.one_of(st.just(least), st.just(least), st.floats(0.1, 10.0))
    return st.integers(1, 7).flatmap(lambda n: arrays(np.float64, (n, n), elements=value))


class TestConstruction:
    def test_a_model_is_frozen(self) -> None:
        lmdp = LMDP(np.eye(2), ["a", "b"], positions=[[0, 0], [0, 1]])
        with pytest.raises(FrozenInstanceError):
            lmdp.temperature = 2.0  # type: ignore[misc]
        for array in (lmdp.P.data, lmdp.P.indices, lmdp.P.indptr, lmdp.positions):
            assert not array.flags.writeable
        assert lmdp.labels == ("a", "b")

    def test_counts(self) -> None:
        lmdp = LMDP([[0.5, 0.5], [1.0, 0.0]])
        assert (lmdp.n, lmdp.nnz) == (2, 3)

    def test_repr_is_a_sentence(self) -> None:
        assert repr(LMDP(np.eye(2), temperature=0.5, name="pair")) == "LMDP(pair: 2 states, 2 moves, temperature 0.5)"

    def test_integer_labels_become_text(self) -> None:
        assert LMDP(np.eye(2), [7, 8]).labels == ("7", "8")  # type: ignore[list-item]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"labels": ["a"]}, r"there are 1 labels for 2 states\. Give one label per state"),
            ({"labels": ["a", "a"]}, r'the label "a" stands for more than one state'),
            ({"temperature": 0.0}, r"the temperature is 0\.0\. .* must be a positive number"),
            ({"temperature": float("nan")}, r"the temperature is nan"),
            ({"temperature": float("inf")}, r"the temperature is inf"),
            ({"temperature": "warm"}, r"the temperature is 'warm'"),
            ({"positions": [[0, 0]]}, r"positions must be 2 x 2 finite numbers"),
            ({"positions": [[0, 0], [0, np.nan]]}, r"positions must be 2 x 2 finite numbers"),
            ({"positions": ["a", "b"]}, r"positions must be 2 x 2 finite numbers"),
            ({"origin": [0, 5], "origin_n": 5}, r"origin must hold 2 row numbers below origin_n = 5"),
            ({"origin": [0, 1]}, r"origin must hold 2 row numbers below origin_n = None"),
        ],
    )
    def test_bad_options_are_named(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ModelError, match=message):
            LMDP(np.eye(2), **options)

    def test_a_label_appears_in_the_complaint_about_its_row(self) -> None:
        with pytest.raises(ModelError, match=r'row 1 of P sums to 0\.9.*\(here "b"\)'):
            LMDP([[1.0, 0.0], [0.0, 0.9]], ["a", "b"])

    def test_labels_do_not_hide_what_is_wrong_with_the_matrix(self) -> None:
        with pytest.raises(ModelError, match="rows differ in length"):
            LMDP([[1.0], [0.5, 0.5]], ["a", "b"])


class TestGridShape:
    @pytest.mark.parametrize(
        ("positions", "shape"),
        [
            (None, None),
            ([[0, 0], [0, 1], [2, 1]], (3, 2)),
            ([[0, 0], [0, 0], [0, 1]], None),  # two states in one cell
            ([[0.5, 0], [0, 1], [1, 1]], None),
            ([[-1, 0], [0, 1], [1, 1]], None),
            ([[0, 0], [0, 1], [10**6, 10**6]], None),  # whole numbers, but hardly a grid
        ],
    )
    def test_whole_distinct_positions_are_a_grid(self, positions: Any, shape: Any) -> None:
        assert LMDP(np.eye(3), positions=positions).grid_shape == shape


class TestLargestClass:
    def test_it_keeps_the_law_given_that_the_chain_stays(self) -> None:
        lmdp = LMDP(TWO_ISLANDS, list("abcdef"), 0.5, positions=np.arange(12).reshape(6, 2), name="islands")
        inner = lmdp.largest_class()
        assert inner.labels == ("b", "c", "d")
        assert (inner.temperature, inner.name) == (0.5, "islands")
        np.testing.assert_array_equal(inner.positions, [[2, 3], [4, 5], [6, 7]])
        np.testing.assert_array_equal(inner.origin, [1, 2, 3])
        assert inner.origin_n == 6
        block = TWO_ISLANDS[1:4, 1:4]
        np.testing.assert_allclose(inner.P.toarray(), block / block.sum(axis=1, keepdims=True), rtol=1e-15)
        assert inner.is_irreducible

    def test_without_labels_the_former_numbers_are_kept(self) -> None:
        assert LMDP(TWO_ISLANDS).largest_class().labels == ("1", "2", "3")

    def test_an_irreducible_model_is_returned_as_it_is(self) -> None:
        lmdp = LMDP([[0.5, 0.5], [1.0, 0.0]])
        assert lmdp.largest_class() is lmdp
        repaired = LMDP.repaired(lmdp.P, largest_class=True)
        assert repaired.labels is None
        assert repaired.origin is None

    def test_origins_compose(self) -> None:
        lmdp = LMDP(np.eye(3), origin=[4, 6, 9], origin_n=10)
        single = lmdp.largest_class()
        assert single.n == 1
        assert single.origin[0] in (4, 6, 9)
        assert single.origin_n == 10

    def test_a_chain_without_a_way_back_has_no_class_to_keep(self) -> None:
        with pytest.raises(AssumptionError, match=r"cannot stay put: no two states lead to each other.*--teleport"):
            LMDP.repaired([[0.0, 1.0], [0.0, 0.0]], largest_class=True)

    @given(raw_weights())
    def test_it_is_a_largest_strong_component(self, weights: np.ndarray) -> None:
        graph = networkx.from_numpy_array(weights, create_using=networkx.DiGraph)
        components = [set(part) for part in networkx.strongly_connected_components(graph)]
        try:
            lmdp = LMDP.repaired(weights, largest_class=True, normalise=True)
        except (AssumptionError, ModelError):
            assert max(map(len, components)) == 1
            return
        kept = set(range(len(weights))) if lmdp.origin is None else set(lmdp.origin.tolist())
        assert kept in components
        assert len(kept) == max(map(len, components))
        assert lmdp.is_irreducible


class TestTeleportAndLazy:
    def test_teleport_mixes_in_the_uniform_law(self) -> None:
        lmdp = LMDP(TWO_ISLANDS, list("abcdef"), 2.0).teleport(0.1)
        np.testing.assert_allclose(lmdp.P.toarray(), 0.9 * TWO_ISLANDS + 0.1 / 6.0, rtol=1e-15)
        assert lmdp.labels == tuple("abcdef")
        assert lmdp.temperature == 2.0
        assert lmdp.is_irreducible

    def test_teleport_to_some_states(self) -> None:
        expected = 0.9 * TWO_ISLANDS
        expected[:, [0, 3]] += 0.05
        np.testing.assert_allclose(LMDP(TWO_ISLANDS).teleport(0.1, to=[3, 0, 3]).P.toarray(), expected, rtol=1e-15)

    def test_lazy_stays_put(self) -> None:
        swap = np.array([[0.0, 1.0], [1.0, 0.0]])
        np.testing.assert_array_equal(LMDP(swap).lazy(0.25).P.toarray(), [[0.25, 0.75], [0.75, 0.25]])

    @pytest.mark.parametrize("method", ["teleport", "lazy"])
    @pytest.mark.parametrize("eps", [0.0, 1.0, -0.1, 1.1, float("nan")])
    def test_shares_are_probabilities(self, method: str, eps: float) -> None:
        with pytest.raises(ModelError, match=f"{method} takes a probability strictly between 0 and 1, not {eps}"):
            getattr(LMDP(np.eye(2)), method)(eps)

    @pytest.mark.parametrize("to", [[], [2], [-1]])
    def test_landing_places_are_states(self, to: list[int]) -> None:
        with pytest.raises(ModelError, match=r"the states are 0 to 1\. Name at least one of them"):
            LMDP(np.eye(2)).teleport(0.1, to=to)

    def test_teleport_does_not_fill_a_large_matrix(self) -> None:
        n = int(DENSE_LIMIT**0.5) + 1
        large = LMDP(sparse.eye_array(n))
        with pytest.raises(ModelError, match=r"would fill P with 2\.5e\+07 entries.*--largest-class.*to=\["):
            large.teleport(0.1)
        with pytest.raises(ModelError, match="would fill P"):
            LMDP.repaired(sparse.csr_array((n, n)), teleport=0.1)
        assert large.teleport(0.1, to=[0]).nnz == 2 * n - 1


class TestRepaired:
    def test_without_repairs_it_is_the_constructor(self) -> None:
        plain, repaired = LMDP(TWO_ISLANDS), LMDP.repaired(TWO_ISLANDS)
        np.testing.assert_array_equal(plain.P.toarray(), repaired.P.toarray())
        assert repaired.origin is None

    def test_the_flags_do_what_the_methods_do_in_their_order(self) -> None:
        by_flags = LMDP.repaired(TWO_ISLANDS, list("abcdef"), largest_class=True, teleport=0.1, lazy=0.2)
        by_hand = LMDP(TWO_ISLANDS, list("abcdef")).largest_class().teleport(0.1).lazy(0.2)
        np.testing.assert_array_equal(by_flags.P.toarray(), by_hand.P.toarray())
        assert by_flags.labels == by_hand.labels
        np.testing.assert_array_equal(by_flags.origin, by_hand.origin)
        assert by_flags.origin_n == by_hand.origin_n == 6

    def test_largest_class_forgives_only_the_rows_it_drops(self) -> None:
        weights = TWO_ISLANDS.copy()
        weights[0] = 0.0
        weights[5] *= 3.0
        assert LMDP.repaired(weights, largest_class=True).n == 3
        weights[2] *= 0.9
        with pytest.raises(ModelError, match=r"row 2 of P sums to 0\.9, not 1"):
            LMDP.repaired(weights, largest_class=True)
        assert LMDP.repaired(weights, largest_class=True, normalise=True).n == 3

    def test_dead_ends_teleport_anywhere(self) -> None:
        lmdp = LMDP.repaired([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]], teleport=0.3)
        np.testing.assert_allclose(lmdp.P.toarray()[1], np.full(3, 1 / 3), rtol=1e-15)
        np.testing.assert_allclose(lmdp.P.toarray()[0], [0.1, 0.8, 0.1], rtol=1e-15)

    def test_dead_ends_without_a_repair_are_named(self) -> None:
        with pytest.raises(ModelError, match=r'state 1 "b" has no successor'):
            LMDP.repaired([[0.5, 0.5], [0.0, 0.0]], ["a", "b"])

    @given(raw_weights(), st.sampled_from([0.0, 0.01, 0.5]))
    def test_teleport_and_normalise_make_a_model_of_anything(self, weights: np.ndarray, lazy: float) -> None:
        lmdp = LMDP.repaired(weights, normalise=True, teleport=0.01, lazy=lazy)
        n = len(weights)
        assert lmdp.n == n
        assert lmdp.is_irreducible
        sums = lmdp.P.toarray().sum(axis=1)
        np.testing.assert_allclose(sums, 1.0, atol=2 * n * EPS)
        floor = (1.0 - lazy) * 0.01 / n
        assert lmdp.P.toarray().min() >= floor * (1.0 - 4 * EPS)


class TestIrreducible:
    def test_the_complaint_names_the_states_and_the_ways_on(self) -> None:
        with pytest.raises(AssumptionError) as caught:
            LMDP(TWO_ISLANDS, list("abcdef")).require_irreducible()
        message = str(caught.value)
        assert "3 of 6 states" in message
        assert 'state 0 "a", state 4 "e", state 5 "f"' in message
        assert "--largest-class" in message
        assert "--teleport 0.01" in message

    def test_long_lists_are_cut(self) -> None:
        with pytest.raises(AssumptionError, match=r"state 1, state 2, state 3 and 6 more"):
            LMDP(np.eye(10)).require_irreducible()

    def test_an_irreducible_chain_passes(self) -> None:
        LMDP([[0.0, 1.0], [1.0, 0.0]]).require_irreducible()
