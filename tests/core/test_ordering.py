"""Orders of elimination, their trees and their blocks, against a dense elimination of the pattern."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lsmdp import grid
from lsmdp._core import dissection, ordering
from lsmdp._core.ordering import Plan, plan
from tests.core.test_factor import CHAINS

GRAPHS = {
    **{name: lambda name=name: CHAINS[name]().P for name in CHAINS},
    "two parts": lambda: sparse.csr_array(sparse.block_diag([CHAINS["grid"]().P, CHAINS["ring"]().P])),
    "wide grid": lambda: grid(40, 40).P,
    "star": lambda: sparse.csr_array(np.eye(40) + np.eye(40)[[0] * 40]),
}


def filled(made: Plan) -> np.ndarray:
    """Which entries are below the diagonal after an elimination in this order: neighbours of a removed state join."""
    pattern = (made.P.toarray() != 0)[np.ix_(made.order, made.order)]
    pattern |= pattern.T
    for k in range(len(pattern)):
        after = np.flatnonzero(pattern[k + 1 :, k]) + k + 1
        pattern[np.ix_(after, after)] = True
    return np.tril(pattern, -1)


@pytest.mark.parametrize("name", GRAPHS)
def test_an_order_has_every_state_once_and_counts_its_fill(name: str) -> None:
    made = plan(GRAPHS[name]())
    below = filled(made)
    np.testing.assert_array_equal(np.sort(made.order), np.arange(made.P.shape[0]))
    assert made.entries == below.sum()
    assert made.flops == np.square(below.sum(axis=0), dtype=float).sum()


def searched(joined: np.ndarray, part: list[int], root: int) -> tuple[list[int], dict[int, int]]:
    """The states of a part in the order in which a breadth-first search meets them, and the level of each."""
    met, level = [root], {root: 0}
    for x in met:
        for y in np.flatnonzero(joined[x]).tolist():
            if y in part and y not in level:
                level[y] = level[x] + 1
                met.append(y)
    return met, level


def thinnest(sizes: np.ndarray) -> int:
    """The first thinnest level that leaves a third of the rest on either side, or else that of the median; -1: none."""
    before, rest = np.cumsum(sizes) - sizes, sizes.sum() - sizes
    fair = np.flatnonzero((3 * before >= rest) & (3 * (rest - before) >= rest))
    fair = fair[(fair > 0) & (fair < sizes.size - 1)]
    median = int(np.argmax(2 * np.cumsum(sizes) >= sizes.sum()))
    return (
        -1 if sizes.size < 3 else int(fair[sizes[fair].argmin()]) if fair.size else min(max(median, 1), sizes.size - 2)
    )


def dissected(joined: np.ndarray, part: list[int], leaf: int) -> list[int]:
    """Either side of a separator, dissected, and then the separator; parts that are not joined one after the other."""
    if len(part) <= leaf:
        return part
    met, _ = searched(joined, part, part[0])
    if len(met) < len(part):
        return dissected(joined, met, leaf) + dissected(joined, [x for x in part if x not in met], leaf)
    met, level = searched(joined, part, met[-1])
    cut = thinnest(np.bincount(list(level.values())))
    if cut < 0:
        return met
    beyond = {x for x in met if level[x] == cut and any(level.get(y) == cut + 1 for y in np.flatnonzero(joined[x]))}
    near = [x for x in met if level[x] <= cut and x not in beyond]
    far, middle = [x for x in met if level[x] > cut], [x for x in met if x in beyond]
    return dissected(joined, near, leaf) + dissected(joined, far, leaf) + middle


@pytest.mark.parametrize("name", GRAPHS)
def test_states_are_ordered_by_nested_dissection(name: str) -> None:
    pattern = dissection.symmetric_pattern(GRAPHS[name]())
    n = pattern.shape[0]
    for leaf in (1, dissection._STATES_OF_A_LEAF):
        order, todo = np.arange(n, dtype=np.int32), np.empty(4 * n + 4, np.int32)
        search = dissection._BreadthFirst(*np.zeros((5, n + 1), np.int32))
        dissection._dissect(dissection.graph_of(pattern), search, leaf, order, todo)
        np.testing.assert_array_equal(order, dissected(pattern.toarray() != 0, list(range(n)), leaf))


def test_the_order_of_a_small_model_is_of_minimum_degree() -> None:
    """A tree always has a leaf, so that nothing is filled in; a grid fills in less than by nested dissection."""
    parents = np.random.default_rng(1).integers(0, np.arange(1, 300))
    tree = np.eye(300)
    tree[np.arange(1, 300), parents] = 1.0
    assert plan(sparse.csr_array(tree)).entries == 299
    for sides in ((9, 7), (20, 20), (30, 33)):
        P = grid(*sides).P
        dissected = dissection._dissected(dissection.symmetric_pattern(P))
        found = plan(P).entries
        assert found is not None
        assert found < np.tril(filled(Plan(P, dissected, None, 0.0, None, 0))).sum()


@pytest.mark.parametrize("name", GRAPHS)
def test_tree_and_counts_are_those_of_the_fill(name: str) -> None:
    """The parent of a state is the first one after it that its removal connects to it."""
    made = plan(GRAPHS[name]())
    n, below = made.order.size, filled(made)
    parent, seen, counts = np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.zeros(n, np.int32)
    graph = dissection.graph_of(dissection.symmetric_pattern(made.P))
    at, rows = np.cumsum(below.sum(axis=0)) - below.sum(axis=0), np.empty(below.sum(), np.uint32)
    ordering._fill(graph, ordering._Order(made.order, made.inverse), n * n, parent, seen, counts, at, rows)
    np.testing.assert_array_equal(counts, below.sum(axis=0))
    np.testing.assert_array_equal(rows, np.nonzero(below.T)[1])
    np.testing.assert_array_equal(parent, np.where(below.any(axis=0), below.argmax(axis=0), -1))


@pytest.mark.parametrize("name", GRAPHS)
def test_blocks_hold_all_that_is_filled_in(name: str) -> None:
    """What a block touches is what its last state touches, and none of its states touches anything else."""
    made = plan(GRAPHS[name]())
    below, blocks = filled(made), made.blocks
    assert blocks is not None
    assert (blocks.first[0], blocks.first[-1]) == (0, made.order.size)
    heights = np.diff(blocks.first) + np.diff(blocks.starts)
    assert blocks.tallest == made.tallest == heights.max()
    for s in range(blocks.parent.size):
        begin, end, rows = blocks.first[s], blocks.first[s + 1], blocks.rows[blocks.starts[s] : blocks.starts[s + 1]]
        np.testing.assert_array_equal(rows, np.flatnonzero(below[:, end - 1]))
        assert set(np.flatnonzero(below[:, begin:end].any(axis=1))) <= {*range(begin + 1, end), *rows.tolist()}
        above = np.searchsorted(blocks.first, rows[0], side="right") - 1 if rows.size else -1
        assert blocks.parent[s] == above


def walked(parent: np.ndarray) -> list[int]:
    """Children before parents, each subtree in one piece, children and roots in their order."""
    children: dict[int, list[int]] = {k: [] for k in range(-1, parent.size)}
    for k, above in enumerate(parent):
        children[int(above)].append(k)

    def under(k: int) -> list[int]:
        return [x for child in children[k] for x in under(child)] + [k]

    return under(-1)[:-1]


@pytest.mark.parametrize("seed", range(8))
def test_trees_are_walked_children_first(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 60
    parent = np.array([rng.integers(k + 1, n) if k < n - 1 and rng.random() < 0.9 else -1 for k in range(n)], np.int32)
    after, sizes = np.empty_like(parent), np.empty_like(parent)
    ordering._postorder(parent, np.full((4, n), -1, np.int32), after, sizes)
    np.testing.assert_array_equal(after, walked(parent))
    below = np.eye(n, dtype=bool)
    for k in range(n):
        if parent[k] >= 0:
            below[parent[k]] |= below[k]
    np.testing.assert_array_equal(sizes, below.sum(axis=1)[after])


@pytest.mark.parametrize("small", [1, 3, 16])
def test_small_subtrees_are_joined(small: int) -> None:
    """Each state that is in one block with the one before it: both are in the same largest subtree that is small."""
    rng, n = np.random.default_rng(small), 60
    parent = np.array([rng.integers(k + 1, min(k + 6, n)) if k < n - 1 else -1 for k in range(n)], np.int32)
    after = np.array(walked(parent))
    turn = np.argsort(after)
    tree = np.array([turn[parent[k]] if parent[k] >= 0 else -1 for k in after], np.int32)
    sizes = np.ones(n, int)
    for k in range(n - 1):
        sizes[tree[k]] += sizes[k]
    joins, expected = np.zeros(n + 1, bool), np.zeros(n + 1, bool)
    ordering._join(tree, sizes, small, joins)
    for k in range(n):
        if sizes[k] <= small and (tree[k] < 0 or sizes[tree[k]] > small):
            expected[k + 2 - sizes[k] : k + 1] = True
    np.testing.assert_array_equal(joins, expected)


def merged_in_numpy(parent: np.ndarray, counts: np.ndarray, starts: np.ndarray, limits: np.ndarray) -> list[int]:
    """Where blocks begin, and the end: from the last one down, with all stored numbers and zeros counted anew."""
    found = [int(starts[-2]), int(starts[-1])]
    for begin, end in zip(starts[-3::-1], starts[-2:0:-1], strict=True):
        last = found[1]  # of the block that begins at end
        columns = np.arange(begin, last)
        stored = (last - 1 - columns) + counts[last - 1]  # below the diagonal
        zeros, size, width = (stored - counts[columns]).sum(), (stored + 1).sum(), last - begin
        fits = any(width <= most and zeros <= share * size for most, share in limits)
        found = [int(begin), *(found[1:] if parent[end - 1] == end and fits else found)]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_merged_blocks_are_those_of_numpy(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 60
    parent = np.minimum(np.arange(1, n + 1) + (rng.random(n) < 0.2), n - 1).astype(np.int32)
    counts = np.minimum(rng.integers(0, 12, n) + 3, np.arange(n)[::-1]).astype(np.int32)
    starts = np.concatenate([[0], np.sort(rng.choice(np.arange(1, n), 20, replace=False)), [n]]).astype(np.int32)
    limits, out = np.array(((4, 0.5), (8, 0.3), (48, 0.1))), np.empty(22, np.int32)
    at = ordering._merge(parent, counts, starts, limits, out)
    np.testing.assert_array_equal(out[at:], merged_in_numpy(parent, counts, starts, limits))
    assert 2 < out[at:].size < 22


def test_a_block_is_merged_with_its_parent_where_few_zeros_are_stored() -> None:
    """Two blocks of 2 states on a chain of columns with 3, 2, 1 and 0 entries, which together are one full triangle;
    and the same where the first two touch only the third, so that 2 of 6 numbers would be zeros."""
    tree, starts, out = np.array([1, 2, 3, -1], np.int32), np.array([0, 2, 4], np.int32), np.empty(3, np.int32)
    for counts, share, first in (
        ([3, 2, 1, 0], 0.0, [0, 4]),
        ([2, 1, 1, 0], 0.1, [0, 2, 4]),
        ([2, 1, 1, 0], 0.5, [0, 4]),
    ):
        at = ordering._merge(tree, np.array(counts, np.int32), starts, np.array(((4, share),)), out)
        np.testing.assert_array_equal(out[at:], first)
