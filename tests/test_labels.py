"""Values by name: a Series, a dict and a DataFrame say the same as an array in the order of the states, or are refused.

pandas is no dependency: whatever has an index, or columns, is taken by its names. So each test meets a stand-in with
these attributes only and, where pandas is installed, pandas itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsmdp
from lsmdp import (
    CostError,
    ModelError,
    SpecError,
    convex,
)
from lsmdp.arrays import as_cost, as_distribution, as_value
from lsmdp.costs import as_costs
from lsmdp.inputs.labels import (
    DROPPED,
    NO_STATE,
    Names,
    number_in,
)
from lsmdp.regret import bracket, fixed_cost
from lsmdp.theory.examples import virtual_rounds

try:
    import pandas
except ImportError:  # it is in the extra "dev"
    pandas = None


class Index:
    """The stand-in of a Series."""

    def __init__(self, values: Any, index: Any) -> None:
        self.values, self.index = np.asarray(values), list(index)

    def to_numpy(self) -> Any:
        return self.values


class Frame:
    """The stand-in of a DataFrame."""

    def __init__(self, values: Any, index: Any, columns: Any) -> None:
        self.values, self.index, self.columns = np.asarray(values), list(index), list(columns)

    def to_numpy(self) -> Any:
        return self.values

    def __getitem__(self, name: Any) -> Any:
        return self.values[:, self.columns.index(name)].view(Column)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)  # as pandas does


class Column(np.ndarray):
    """An array that says to_numpy, too."""

    def to_numpy(self) -> Any:
        return np.asarray(self.tolist())


def as_dict(values: Any, index: Any) -> dict[Any, Any]:
    return dict(zip(index, np.asarray(values).tolist(), strict=True))


SERIES: dict[str, Callable[[Any, Any], Any]] = {"dict": as_dict, "stand-in": Index}
FRAMES: dict[str, Callable[[Any, Any, Any], Any]] = {"stand-in": Frame}
if pandas is not None:
    SERIES["pandas"] = lambda values, index: pandas.Series(values, index=list(index))
    FRAMES["pandas"] = lambda values, index, columns: pandas.DataFrame(values, index=list(index), columns=list(columns))

series = pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)

ROADS = lsmdp.from_edges(
    [
        ("station", "market", 3),
        ("station", "harbour", 1),
        ("market", "station", 1),
        ("market", "market", 1),
        ("market", "harbour", 2),
        ("harbour", "market", 1),
        ("harbour", "station", 1),
        ("harbour", "depot", 1),
        ("depot", "harbour", 1),
    ]
)
LABELS = ("station", "market", "harbour", "depot")
TOLLS = np.array([0.1, 0.9, 0.4, 0.2])
ORDER = [3, 2, 1, 0]
SORTED = [LABELS[x] for x in ORDER]
PLAIN = lsmdp.LMDP(ROADS.P)
NODES = lsmdp.LMDP(ROADS.P, ["1", "2", "3", "4"])
IDS = lsmdp.LMDP(ROADS.P, ["773869", "767541", "717447", "12"])
# the first state of five leads away for good and is dropped
DROPPED_ONE = lsmdp.LMDP(
    np.vstack([[0, 1, 0, 0, 0], np.hstack([np.zeros((4, 1)), ROADS.P.toarray()])]), ["gone", *LABELS]
).largest_class()


def test_the_tolls_of_the_start_page_cost_what_they_cost() -> None:
    """Sorted by label they cost 0.4826 when they were taken by position."""
    assert lsmdp.solve(ROADS, TOLLS).average_cost == pytest.approx(0.458207808424, abs=1e-10)
    assert lsmdp.solve(ROADS, TOLLS[ORDER]).average_cost != pytest.approx(0.458207808424, abs=1e-3)
    for make in SERIES.values():
        assert lsmdp.solve(ROADS, make(TOLLS[ORDER], SORTED)).average_cost == pytest.approx(0.458207808424, abs=1e-10)


@series
class TestOneCost:
    @pytest.mark.parametrize(
        ("lmdp", "keys"),
        [
            (ROADS, LABELS),
            (PLAIN, [0, 1, 2, 3]),
            (PLAIN, ["0", "1", "2", "3"]),
            (ROADS, [0, 1, 2, 3]),  # row numbers, where labels are words
            (NODES, [1, 2, 3, 4]),
            (IDS, [773869, 767541, 717447, 12]),
        ],
        ids=["labels", "numbers", "numbers as text", "numbers of labelled states", "node numbers", "ids"],
    )
    @given(order=st.permutations(range(4)))
    def test_any_order_is_the_same_cost(self, series: Any, lmdp: Any, keys: Any, order: list[int]) -> None:
        c = series(TOLLS[order], [keys[x] for x in order])
        np.testing.assert_array_equal(as_cost(c, lmdp.names), TOLLS)
        np.testing.assert_array_equal(as_value(c, lmdp.names), TOLLS)

    def test_an_index_that_only_counts_is_an_order(self, series: Any) -> None:
        np.testing.assert_array_equal(as_cost(series(TOLLS, range(4)), IDS.names), TOLLS)

    def test_an_index_that_counts_in_disorder_says_nothing_of_numbered_labels(self, series: Any) -> None:
        with pytest.raises(
            CostError, match=r'no value for state 0 "773869" .*here the labels are numbers, such as "77'
        ):
            as_cost(series(TOLLS[ORDER], ORDER), IDS.names)

    def test_counting_from_0_is_not_counting_from_1(self, series: Any) -> None:
        with pytest.raises(
            CostError,
            match=r'the cost has no value for state 3 "4" and a value for "0", which is no state of the model',
        ):
            as_cost(series(TOLLS, range(4)), NODES.names)

    @pytest.mark.parametrize(
        ("lmdp", "keys", "sentence"),
        [
            (
                ROADS,
                ["station", "market", "harbor", "depot"],
                'the cost has no value for state 2 "harbour" and a value for "harbor", which is no state of the model. '
                "Values by name go by label, one for every state; a plain array (.to_numpy()) goes by position.",
            ),
            (ROADS, LABELS[:2], 'the cost has no value for state 2 "harbour" (of 2 states without one). Values'),
            (
                ROADS,
                [*LABELS, "x", "y"],
                'the cost has a value for "x", which is no state of the model (of 2 such names).',
            ),
            (PLAIN, [0, 1, 2], "the cost has no value for state 3. Values by name go by the numbers of the states, 0"),
            (PLAIN, [1, 2, 3, 4], 'the cost has no value for state 0 and a value for "4", which is no state'),
            (PLAIN, [0, 1, 2, -3], 'and a value for "-3"'),
            (PLAIN, ["0", "1", "2", "03"], 'and a value for "03"'),
            (PLAIN, ["0", "1", "2", "+3"], 'and a value for "+3"'),
            (PLAIN, [0.0, 1.0, 2.0, 3.0], 'has no value for state 0 (of 4 states without one) and a value for "0.0"'),
            (ROADS, ["station", 1, 2, 3], 'the cost has no value for state 1 "market" (of 3 states without one)'),
        ],
    )
    def test_what_is_missing_or_unknown_is_named(self, series: Any, lmdp: Any, keys: Any, sentence: str) -> None:
        with pytest.raises(CostError) as caught:
            lsmdp.solve(lmdp, series(np.arange(float(len(keys))), keys))
        assert sentence in str(caught.value)

    def test_the_names_of_dropped_states_may_stay(self, series: Any) -> None:
        assert DROPPED_ONE.labels == LABELS
        c = series(np.append(TOLLS[ORDER], 9.0), [*SORTED, "gone"])
        np.testing.assert_array_equal(as_cost(c, DROPPED_ONE.names), TOLLS)
        former = series(np.append(TOLLS[ORDER], 9.0), [4, 3, 2, 1, 0])  # the rows that they had
        np.testing.assert_array_equal(as_cost(former, DROPPED_ONE.names), TOLLS)
        with pytest.raises(CostError, match='and a value for "p", which is no state'):
            as_cost(series([1.0, 2.0], ["p", "q"]), DROPPED_ONE.names)

    def test_values_are_looked_at_as_ever(self, series: Any) -> None:
        with pytest.raises(CostError, match=r"the cost\[1\] is nan"):
            as_cost(series([0.1, 0.2, 0.3, np.nan], ["station", "harbour", "depot", "market"]), ROADS.names)
        with pytest.raises(CostError, match=r"the cost holds .* values"):
            as_cost(series(["a", "b", "c", "d"], LABELS), ROADS.names)

    def test_a_law_need_not_name_where_nothing_is(self, series: Any) -> None:
        np.testing.assert_array_equal(
            as_distribution(series([0.25, 0.75], ["depot", "market"]), ROADS.names), [0, 0.75, 0, 0.25]
        )
        with pytest.raises(CostError, match=r"the distribution sums to 0.5"):
            as_distribution(series([0.5], ["depot"]), ROADS.names)
        with pytest.raises(CostError, match='the distribution has a value for "dépôt"'):
            as_distribution(series([1.0], ["dépôt"]), ROADS.names)


def test_a_name_twice_is_refused() -> None:
    keys = ["station", "market", "harbour", "depot", "market"]
    for make in list(SERIES.values())[1:]:
        with pytest.raises(CostError, match=r'the cost names state 1 "market" 2 times\. Keep one of them'):
            lsmdp.solve(ROADS, make(np.arange(5.0), keys))
    with pytest.raises(CostError, match=r"the cost names state 1 2 times"):
        lsmdp.solve(PLAIN, {0: 0.0, 1: 0.0, "1": 1.0, 2: 0.0, 3: 0.0})


def test_plain_sequences_go_by_position() -> None:
    """A list and a tuple have a method ``index``, which is none."""
    for c in (TOLLS.tolist(), tuple(TOLLS.tolist()), TOLLS):
        np.testing.assert_array_equal(as_cost(c, ROADS.names), TOLLS)


@series
def test_every_function_of_a_cost_takes_names(series: Any) -> None:
    c, v, p = (series(values[ORDER], SORTED) for values in (TOLLS, TOLLS + 1.0, TOLLS / TOLLS.sum()))
    law = TOLLS / TOLLS.sum()
    same = lsmdp.solve(ROADS, TOLLS)
    np.testing.assert_array_equal(
        lsmdp.solve(ROADS, c, start=v).average_cost, lsmdp.solve(ROADS, TOLLS, start=TOLLS + 1.0).average_cost
    )
    policy = lsmdp.Policy(ROADS, v)
    np.testing.assert_array_equal(policy.v, TOLLS + 1.0)
    np.testing.assert_array_equal(policy.push(p), policy.push(law))
    np.testing.assert_array_equal(policy.expect(c), policy.expect(TOLLS))
    measure = same.policy.transition_measure()
    assert convex.average_cost_of(ROADS, measure, c) == convex.average_cost_of(ROADS, measure, TOLLS)
    assert convex.dual_value(ROADS, v, c) == convex.dual_value(ROADS, TOLLS + 1.0, TOLLS)
    run = lsmdp.play(ROADS, lsmdp.Passive(), [TOLLS], start=p)
    np.testing.assert_array_equal(run.game.start, as_distribution(law, 4))


LEARNERS = [
    lsmdp.FollowTheLeader(),
    lsmdp.TrackTheLeader(),
    lsmdp.PhasedLeader(),
    lsmdp.DiscountedLeader(),
    lsmdp.WindowLeader(3),
]


class TestRounds:
    COSTS = np.random.default_rng(5).random((7, 4))
    LARGE = lsmdp.random_graph(300, 3)  # not played in blocks by all

    def rounds_by_name(self) -> dict[str, Any]:
        def each(make: Any) -> list[Any]:
            return [make(c_t[ORDER], SORTED) for c_t in self.COSTS]

        return (
            {f"list of {name}": each(make) for name, make in SERIES.items()}
            | {"generator": (c_t for c_t in each(as_dict))}
            | {f"frame of {name}": make(self.COSTS[:, ORDER], range(7), SORTED) for name, make in FRAMES.items()}
        )

    def test_a_game_by_name_is_the_same_game(self) -> None:
        expected = lsmdp.play(ROADS, LEARNERS, self.COSTS)
        for name, costs in self.rounds_by_name().items():
            run = lsmdp.play(ROADS, LEARNERS, costs)
            for learner, tally in expected.learners.items():
                got = run.learners[learner]
                assert got._replace(seconds=0.0, sampled_loss=0.0) == tally._replace(seconds=0.0, sampled_loss=0.0), (
                    name
                )
            if name != "generator":  # the others can be gone through again
                assert str(run.regret(bracket=True)) == str(expected.regret(bracket=True)), name
                assert lsmdp.certify(run, search=False).holds

    def test_so_are_its_single_rounds_and_what_is_told_of_them(self) -> None:
        expected = [record.loss for record in lsmdp.rounds(ROADS, LEARNERS[0], self.COSTS)]
        start, Q = np.array([1.0, 0, 0, 0]), ROADS.P
        for name, costs in self.rounds_by_name().items():
            assert [record.loss for record in lsmdp.rounds(ROADS, LEARNERS[0], costs)] == expected, name
        for name, costs in self.rounds_by_name().items():
            if name != "generator":
                assert fixed_cost(ROADS, Q, costs, start).loss == fixed_cost(ROADS, Q, self.COSTS, start).loss
                assert bracket(ROADS, costs, start).high == bracket(ROADS, self.COSTS, start).high
                assert lsmdp.certify(ROADS, costs, search=False).holds
                ours, theirs = (virtual_rounds(ROADS, each, 1.0, reading="new") for each in (costs, self.COSTS))
                np.testing.assert_array_equal(ours.left, theirs.left)
                np.testing.assert_array_equal(list(as_costs(costs, ROADS)), self.COSTS)

    @series
    @pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
    @pytest.mark.parametrize("lmdp", [PLAIN, LARGE], ids=["small", "large"])
    def test_the_loop_of_the_readme_takes_names(self, series: Any, learner: Any, lmdp: Any) -> None:
        rng = np.random.default_rng(1)
        ours = theirs = learner.init(lmdp)
        for _ in range(3):
            c_t, order = rng.random(lmdp.n), rng.permutation(lmdp.n)
            ours = learner.observe(lmdp, ours, series(c_t[order], order.tolist()))
            theirs = learner.observe(lmdp, theirs, c_t)
        np.testing.assert_array_equal(learner.policy(lmdp, ours).v, learner.policy(lmdp, theirs).v)

    @frame
    def test_what_is_wrong_with_a_table_is_named(self, frame: Any) -> None:
        with pytest.raises(
            CostError, match='the table of costs has no value for state 3 "depot" and a value for "time"'
        ):
            lsmdp.play(ROADS, lsmdp.Passive(), frame(self.COSTS, range(7), [*LABELS[:3], "time"]))
        with pytest.raises(CostError, match='the table of costs names state 0 "station" 2 times'):
            lsmdp.play(ROADS, lsmdp.Passive(), frame(self.COSTS[:, [0, 1, 2, 3, 0]], range(7), [*LABELS, "station"]))

    def test_a_round_that_is_wrong_is_named(self) -> None:
        rounds = [as_dict(TOLLS, LABELS), as_dict(TOLLS[:3], LABELS[:3])]
        for costs in (rounds, iter(rounds)):
            with pytest.raises(CostError, match='the cost of round 2 has no value for state 3 "depot"'):
                lsmdp.play(ROADS, lsmdp.Passive(), costs)

    @series
    def test_one_cost_is_no_sequence(self, series: Any) -> None:
        with pytest.raises(CostError, match=r"the costs are given by name and without rounds. Give a list with one"):
            lsmdp.play(ROADS, lsmdp.Passive(), series(TOLLS, LABELS))


@frame
class TestTables:
    def test_a_cost_in_a_column(self, frame: Any) -> None:
        np.testing.assert_array_equal(as_cost(frame(TOLLS[ORDER, None], SORTED, ["toll"]), ROADS.names), TOLLS)

    def test_a_cost_beside_its_state(self, frame: Any) -> None:
        """As ``pandas.read_csv`` makes it of the file of tolls."""
        table = np.array(list(zip(SORTED, TOLLS[ORDER].tolist(), strict=True)), dtype=object)
        made = frame(table, range(4), ["state", "Cost"])
        if pandas is not None and isinstance(made, pandas.DataFrame):
            made = made.astype({"Cost": float})
        np.testing.assert_array_equal(as_cost(made, ROADS.names), TOLLS)

    def test_other_tables_are_no_cost(self, frame: Any) -> None:
        with pytest.raises(
            CostError, match=r"the cost is a table with 4 columns. Give one column with the states as its"
        ):
            as_cost(frame(ROADS.P.toarray(), LABELS, LABELS), ROADS.names)

    def test_a_kernel_has_the_labels_of_its_table(self, frame: Any) -> None:
        P = ROADS.P.toarray()
        shuffled = frame(P[ORDER], SORTED, LABELS)  # rows in one order, columns in another
        lmdp = lsmdp.LMDP(shuffled)
        assert list(lmdp.labels or ()) == SORTED
        np.testing.assert_array_equal(lmdp.P.toarray(), P[np.ix_(ORDER, ORDER)])
        named = lsmdp.LMDP(shuffled, LABELS)
        np.testing.assert_array_equal(named.P.toarray(), P)
        counts = lsmdp.from_counts(frame(8.0 * P[ORDER], SORTED, LABELS))
        np.testing.assert_allclose(counts.P.toarray(), lmdp.P.toarray(), rtol=1e-15)
        assert lsmdp.LMDP(frame(P, range(4), range(4))).labels is None
        assert lsmdp.LMDP(frame(P, range(4), LABELS)).labels == LABELS
        np.testing.assert_array_equal(lsmdp.LMDP(frame(P[:, ORDER], range(4), ORDER)).P.toarray(), P)
        with pytest.raises(ModelError, match='the header of P has no value for state 0 "depot" and a value for "gone"'):
            lsmdp.LMDP(frame(P[ORDER], SORTED, [*LABELS[:3], "gone"]))
        with pytest.raises(ModelError, match='the label "depot" stands for more than one state'):
            lsmdp.LMDP(frame(P, ["depot", "depot", "a", "b"], LABELS))

    def test_costs_of_moves_follow_their_names(self, frame: Any) -> None:
        moves = np.arange(16.0).reshape(4, 4) / 16.0
        by_name = ROADS.with_edge_costs(
            frame(moves[np.ix_(ORDER, [1, 0, 3, 2])], SORTED, [LABELS[x] for x in (1, 0, 3, 2)])
        )
        by_place = ROADS.with_edge_costs(moves)
        np.testing.assert_array_equal(by_name[0].P.toarray(), by_place[0].P.toarray())
        np.testing.assert_array_equal(by_name[1], by_place[1])
        with pytest.raises(CostError, match='the header of the table of edge costs has no value for state 3 "depot"'):
            ROADS.with_edge_costs(frame(moves, LABELS, [*LABELS[:3], "x"]))

    def test_a_policy_follows_its_names(self, frame: Any) -> None:
        P = ROADS.P.toarray()
        shuffled = frame(P[np.ix_(ORDER, ORDER)], SORTED, SORTED)
        np.testing.assert_array_equal(
            convex.measure_of(ROADS, shuffled).toarray(), convex.measure_of(ROADS, P).toarray()
        )


class TestNumbers:
    @pytest.mark.parametrize("text", ["0", "1", "10", "999999999999999999"])
    def test_decimal_digits_are_a_number(self, text: str) -> None:
        assert number_in(text) == int(text)

    @pytest.mark.parametrize(
        "text", ["", "+1", "-1", " 1", "1 ", "01", "00", "1_0", "1.0", "1e3", "١", "１", "²", "0x1", "1\n", "9" * 5000]
    )
    def test_nothing_else_is(self, text: str) -> None:
        assert number_in(text) is None

    @given(text=st.text(max_size=4) | st.integers(-20, 20).map(str))
    def test_a_text_is_a_state_if_it_is_what_its_number_prints(self, text: str) -> None:
        names = Names(12)
        if text in [str(state) for state in range(12)]:
            assert names.state(text) == int(text)
        else:
            with pytest.raises(SpecError, match="there is no state"):
                names.state(text)

    @given(keys=st.lists(st.integers(-3, 9) | st.sampled_from(["2", "x", "+1", "01"]), max_size=8))
    def test_keys_are_looked_up_one_by_one(self, keys: list[Any]) -> None:
        known = {str(state): state for state in range(5)}
        assert Names(5).states(keys).tolist() == [known.get(str(key), NO_STATE) for key in keys]
        words = Names(5, tuple("abcde"))
        assert words.states([*keys, "c"]).tolist() == [*(NO_STATE for _ in keys), 2]  # labels or numbers, never both

    def test_former_numbers(self) -> None:
        names = Names(2, ("u", "w"), np.array([0, 2]), 3)
        assert names.states(["2", "0", "1"]).tolist() == [1, 0, DROPPED]
        assert names.states(["1", "0"]).tolist() == [1, 0]
        assert names.states(["time", "2", "0", "1"]).tolist() == [NO_STATE, 1, 0, DROPPED]


class TestStates:
    @pytest.mark.parametrize("which", ["+1", " 1 ", "1 ", "01", "١", "1.0", "", 4, -1, "4", "harbor", 10**400])
    def test_what_is_no_state(self, which: Any) -> None:
        for lmdp in (PLAIN, ROADS):
            with pytest.raises(SpecError, match="there is no state"):
                lmdp.state(which)

    @pytest.mark.parametrize("which", [True, 1.0, 1.7, None, b"1", np.float64(1.0), np.True_, {1}])
    def test_what_is_neither_label_nor_number(self, which: Any) -> None:
        with pytest.raises(SpecError, match=r"the state is .*Give its label as text, or its number"):
            PLAIN.state(which)

    def test_what_is(self) -> None:
        assert ROADS.state("harbour") == ROADS.state(2) == ROADS.state(np.int32(2)) == ROADS.state("2") == 2
        assert NODES.state("2") == NODES.state(2) == 1
        labels = ["+1", " 1 ", "١", "1"]
        assert [lsmdp.LMDP(ROADS.P, labels).state(label) for label in labels] == [0, 1, 2, 3]

    def test_cells_of_a_grid(self) -> None:
        walls = np.zeros((3, 4), dtype=bool)
        walls[1, 2] = True
        lmdp = lsmdp.grid(3, 4, walls)
        for state, cell in enumerate(lmdp.positions.astype(int).tolist()):
            assert lmdp.state(tuple(cell)) == lmdp.state(cell) == lmdp.state(np.array(cell)) == state
        with pytest.raises(
            ModelError, match=r"the cell \(1, 2\) is no state: there is a wall. States are cells of 3 rows"
        ):
            lmdp.state((1, 2))
        for outside in ((3, 0), (0, 4), (-1, 0)):
            with pytest.raises(
                ModelError, match=r"is outside the grid. States are cells of 3 rows and 4 columns, counted"
            ):
                lmdp.state(outside)
        for strange in ((1,), (1, 2, 3), (1.0, 2.0), ("1", "2"), (True, False), ((1, 2), 3), [], np.eye(2)):
            with pytest.raises(ModelError, match=r"Give its label, its number or, on a grid, \(row, column\)"):
                lmdp.state(strange)

    def test_cells_where_there_is_no_grid(self) -> None:
        with pytest.raises(ModelError, match=r"\(11, 1\) is a cell, but this model is no grid"):
            ROADS.state((11, 1))
        tuples = lsmdp.LMDP(ROADS.P, ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"])  # as networkx names the nodes of a grid
        assert tuples.state((1, 0)) == 2

    def test_rows_of_a_policy_go_by_label_and_by_number(self) -> None:
        policy = lsmdp.solve(ROADS, TOLLS).policy
        for states in (policy.row("harbour"), policy.row(np.int64(2)), policy.row("2")):
            np.testing.assert_array_equal(states, policy.row(2))
        rng = np.random.default_rng(0)
        assert policy.sample("depot", rng) == 2
        for which in (-1, 4, "harbor", "+1", None, 1.0, True):
            with pytest.raises(SpecError):
                policy.row(which)
        with pytest.raises(ModelError, match="this model is no grid"):
            policy.row((11, 1))
        cells = lsmdp.Policy(lsmdp.grid(3, 4), np.zeros(12))
        np.testing.assert_array_equal(cells.row((1, 2)), cells.row(6))

    def test_numbers_in_a_row_are_never_labels(self) -> None:
        """What ``sample`` returns goes back into it, also where the labels are numbers."""
        policy = lsmdp.Policy(NODES, np.zeros(4))
        np.testing.assert_array_equal(policy.row(0), policy.row("1"))
        rng, x = np.random.default_rng(0), 0
        seen = set(chain([x], (x := policy.sample(x, rng) for _ in range(50))))
        assert seen == {0, 1, 2, 3}

    def test_teleport_lands_on_labels(self) -> None:
        np.testing.assert_array_equal(
            ROADS.teleport(0.1, to=["depot", "market"]).P.toarray(), ROADS.teleport(0.1, to=[1, 3]).P.toarray()
        )
        with pytest.raises(ModelError, match=r"teleport lands on \['\+1'\], but the states are 0 to 3"):
            ROADS.teleport(0.1, to=["+1"])
