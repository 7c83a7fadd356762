"""Ways to make a model: small families with known behaviour, and readers of graphs, edges and counts.

Each family is a passive dynamics P:

    grid          stay with probability lazy, else move to one of the d open neighbours, (1 - lazy)/d each
    museum        the same on a floor plan with walls, src/lsmdp/maps/museum.map
    ring          x -> x + 1 with probability drift, x -> x and x -> x - 1 with (1 - drift)/2 each (mod n)
    random_graph  x -> x, x -> s(x) along a random cycle s through all states, and x -> other random states
    sticky        [[1 - eps, eps], [eps, 1 - eps]]: span v grows like log(1/eps), the stress test of lem:vbound
    rank_one      P(.|x) = law for every x: the next state forgets the present one, v = c up to a constant
    clusters      k random graphs; with probability link, move on to the next one

``random_graph`` and ``clusters`` are primitive by construction (ass:irred): the cycle makes P irreducible and
the self-loops make it aperiodic. They depend on their arguments and seed alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import CSR, Floats, Ints, as_distribution, as_weights, require_entries
from lsmdp.errors import ModelError
from lsmdp.model import LMDP

Bools = npt.NDArray[np.bool_]


class Repairs(TypedDict, total=False):
    """What ``LMDP.repaired`` may do to weights that are not a usable kernel yet."""

    largest_class: bool
    teleport: float
    lazy: float
    temperature: float
    positions: Any
    name: str


def grid(rows: int, cols: int, walls: Any = None, lazy: float = 0.2, temperature: float = 1.0) -> LMDP:
    """A lazy random walk on the open cells of a rectangle, with moves up, left, right and down.

    ``walls`` is a boolean mask (True = wall), a list of (row, column), or a map drawn as text (# = wall).
    States are the open cells, row by row; ``positions[x]`` is the (row, column) of state x. A cell without
    open neighbours stays where it is.
    """
    if rows < 1 or cols < 1:
        raise ModelError(f"a grid of {rows} x {cols} has no cell. Both sides must be at least 1.")
    _check_probability(lazy, "lazy", below_one=True)
    require_entries(5 * rows * cols)
    is_open = ~_wall_mask(walls, rows, cols)
    if not is_open.any():
        raise ModelError(f"all {rows * cols} cells of the {rows} x {cols} grid are walls. Leave at least one open.")
    number = np.full((rows + 2, cols + 2), -1)  # a rim of walls spares the borders a special case
    number[1:-1, 1:-1][is_open] = np.arange(np.count_nonzero(is_open))
    up, left, stay, right, down = (0, 1), (1, 0), (1, 1), (1, 2), (2, 1)
    views = [number[r : r + rows, c : c + cols] for r, c in (up, left, stay, right, down)]
    target = np.stack([view[is_open] for view in views], axis=1)  # columns ascend in this order
    possible = target >= 0
    neighbours = np.count_nonzero(possible, axis=1) - 1
    move = np.divide(1.0 - lazy, neighbours, out=np.zeros(neighbours.size), where=neighbours > 0)
    chance = np.repeat(move[:, None], 5, axis=1)
    chance[:, 2] = np.where(neighbours > 0, lazy, 1.0)
    return LMDP(
        _csr_rows(target, chance, possible),
        temperature=temperature,
        positions=np.argwhere(is_open),
        name=f"grid:{rows}x{cols}",
    )


def museum(temperature: float = 1.0) -> LMDP:
    """A lazy random walk in a museum: galleries, a corridor, two wings, a hall with columns, and an entrance."""
    drawn = (files("lsmdp") / "maps" / "museum.map").read_text(encoding="ascii").split("map\n", 1)[1].splitlines()
    walls = [[cell == "@" for cell in line] for line in drawn]
    return replace(grid(len(walls), len(walls[0]), walls, temperature=temperature), name="museum")


def ring(n: int, drift: float = 1 / 3, temperature: float = 1.0) -> LMDP:
    """A walk on a circle: +1 with probability drift, the rest shared equally by 0 and -1.

    drift = 1/3 is symmetric, and near 1 the chain is nearly periodic. The circle has circumference n.
    """
    if n < 1:
        raise ModelError(f"a ring of {n} states is empty. Ask for at least 1.")
    _check_probability(drift, "drift")
    require_entries(3 * n)
    here = np.arange(n)
    rest = (1.0 - drift) / 2.0
    target = np.stack([here, (here + 1) % n, (here - 1) % n], axis=1)
    angle = 2.0 * np.pi * here / n
    return LMDP(
        _csr_rows(target, np.broadcast_to([rest, drift, rest], (n, 3))),
        temperature=temperature,
        positions=np.stack([np.cos(angle), np.sin(angle)], axis=1) * n / (2.0 * np.pi),
        name=f"ring:{n}" if drift == 1 / 3 else f"ring:{n}:{drift:g}",
    )


def random_graph(n: int, degree: int = 7, seed: int = 0, temperature: float = 1.0) -> LMDP:
    """A random directed graph that is irreducible and aperiodic, with ``degree`` moves from each state (at most n).

    Every state stays, follows a random cycle through all states, and has degree - 2 other successors. The
    chances are drawn from [0.2, 1] and divided by their sum, so none is below 0.2 / degree.
    """
    target, chance = _random_rows(1, n, degree, _generator(seed))
    name = f"random:{n}:{degree}" + (f":{seed}" if seed else "")
    return LMDP(_csr_rows(target, chance), temperature=temperature, name=name)


def sticky(eps: float, temperature: float = 1.0) -> LMDP:
    """Two states that are left with probability eps only."""
    _check_probability(eps, "eps")
    return LMDP([[1.0 - eps, eps], [eps, 1.0 - eps]], temperature=temperature, name=f"sticky:{eps:g}")


def rank_one(law: Any, temperature: float = 1.0) -> LMDP:
    """Equal rows: the next state is drawn from ``law`` whatever the present one. A number n means n equal chances."""
    if isinstance(law, int | np.integer):
        if law < 1:
            raise ModelError(f"rank_one({law}) has no state. Give a law, or a number of states of at least 1.")
        law = np.full(law, 1.0 / law)
    row = as_distribution(law, np.size(law))
    require_entries(row.size**2)
    return LMDP(np.broadcast_to(row, (row.size, row.size)), temperature=temperature, name=f"rank-one:{row.size}")


def clusters(k: int, size: int, link: float, degree: int = 7, seed: int = 0, temperature: float = 1.0) -> LMDP:
    """k random graphs of ``size`` states each; with probability link a state moves to a fixed one of the next graph."""
    if k < 1:
        raise ModelError(f"{k} clusters hold no state. Ask for at least 1.")
    _check_probability(link, "link", below_one=True)
    rng = _generator(seed)
    target, chance = _random_rows(k, size, degree, rng)
    if k > 1:
        following = (np.repeat(np.arange(k), size) + 1) % k
        bridge = following * size + rng.integers(0, size, k * size)
        target = np.column_stack([target, bridge])
        chance = np.column_stack([chance * (1.0 - link), np.full(k * size, link)])
    name = f"clusters:{k}:{size}:{link:g}"
    return LMDP(_csr_rows(target, chance), temperature=temperature, name=name)


def from_edges(edges: Any, labels: Sequence[str] | None = None, **repairs: Unpack[Repairs]) -> LMDP:
    """A model from (from, to) pairs or (from, to, weight) triples, a list of them or an array of 2 or 3 columns.

    Each state moves along its edges in proportion to their weights (1 where none is given; repeated edges add
    up). Whole numbers are state numbers if they are 0, ..., n - 1 without a gap, and names otherwise; names become
    labels, in the order in which they appear. With ``labels`` given, names are looked up there and whole numbers
    are places in it.
    """
    matrix, labels = edge_weights(*_edge_columns(edges), labels)
    return LMDP.repaired(matrix, labels, normalise=True, **repairs)


def from_networkx(graph: Any, weight: str = "weight", **repairs: Unpack[Repairs]) -> LMDP:
    """A model from a networkx graph, directed or not: along its edges, in proportion to their weights.

    Nodes become labels, in the order of the graph; their attribute ``pos`` becomes ``positions`` if all have one.
    """
    import networkx

    if not len(graph):
        raise ModelError("the graph has no node. A model needs at least one state.")
    places = [place for _, place in graph.nodes(data="pos")]
    if all(place is not None and len(place) == 2 for place in places):
        repairs = {"positions": places, **repairs}
    matrix = networkx.to_scipy_sparse_array(graph, weight=weight, dtype=np.float64, format="csr")
    return LMDP.repaired(matrix, [str(node) for node in graph], normalise=True, **repairs)


def from_counts(
    C: Any, smoothing: float = 0.0, labels: Sequence[str] | None = None, **repairs: Unpack[Repairs]
) -> LMDP:
    """The chain estimated from C[x, y] observed moves from x to y: P(y|x) ~ C[x, y] + smoothing where C[x, y] > 0.

    Moves that were never seen stay impossible: additive smoothing is on the observed support only.
    """
    counts = as_weights(C, "C")
    if not 0.0 <= smoothing < float("inf"):
        raise ModelError(f"smoothing is {smoothing}. It is added to the counts and must be a number of at least 0.")
    counts.data += smoothing
    return LMDP.repaired(counts, labels, normalise=True, **repairs)


def edge_weights(
    sources: Any, targets: Any, weights: Floats | None = None, labels: Sequence[str] | None = None
) -> tuple[CSR, Sequence[str] | None]:
    """The weighted adjacency matrix of edges and the labels of its states; see :func:`from_edges` for the rules."""
    ends = np.stack([np.asarray(sources), np.asarray(targets)], axis=1)
    if not ends.size:
        raise ModelError("there are no edges. A model needs at least one state and one move.")
    if labels is not None:
        places = _places(ends, tuple(str(label) for label in labels))
    elif ends.dtype.kind in "iu":
        states, flat = np.unique(ends, return_inverse=True)
        places = flat.reshape(ends.shape)
        labels = None if states[0] == 0 and states[-1] == states.size - 1 else [str(state) for state in states.tolist()]
    else:
        number: dict[str, int] = {}
        flat = np.array([number.setdefault(str(end), len(number)) for end in ends.ravel().tolist()])
        places, labels = flat.reshape(ends.shape), list(number)
    n = int(places.max()) + 1 if labels is None else len(labels)
    values = np.ones(len(ends)) if weights is None else np.asarray(weights, dtype=np.float64)
    _check_edge_weights(values, ends)
    return sparse.coo_array((values, (places[:, 0], places[:, 1])), shape=(n, n)).tocsr(), labels


def _places(ends: npt.NDArray[Any], labels: tuple[str, ...]) -> Ints:
    if ends.dtype.kind in "iu":
        places = ends.astype(np.int64)
        known = (places >= 0) & (places < len(labels))
    else:
        number = {label: place for place, label in enumerate(labels)}
        places = np.array([number.get(str(end), -1) for end in ends.ravel().tolist()]).reshape(ends.shape)
        known = places >= 0
    if not known.all():
        edge, side = np.argwhere(~known)[0].tolist()
        raise ModelError(
            f'edge {edge} {("starts at", "leads to")[side]} "{ends[edge, side]}", which is none of the {len(labels)} '
            "labels. Add it to the labels, or leave them out."
        )
    return places


def _check_edge_weights(values: Floats, ends: npt.NDArray[Any]) -> None:
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if wrong.size:
        edge = int(wrong[0])
        raise ModelError(
            f'edge {edge} from "{ends[edge, 0]}" to "{ends[edge, 1]}" has the weight {values[edge]}. '
            "A weight must be a finite number of at least 0; correct it in the data."
        )


def _edge_columns(edges: Any) -> tuple[Any, Any, Floats | None]:
    """Endpoints and weights of edges given as an array or as any iterable of tuples."""
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] not in (2, 3):
            shape = " x ".join(map(str, edges.shape))
            raise ModelError(f"the edges have shape {shape}. Give 2 or 3 columns: from, to and perhaps weight.")
        edges = edges.tolist()
    rows = [tuple(edge) for edge in _iterated(edges)]
    for place, row in enumerate(rows):
        if len(row) not in (2, 3):
            raise ModelError(f"edge {place} is {row}. Give (from, to) or (from, to, weight).")
    ends = [end for row in rows for end in row[:2]]
    whole = all(isinstance(end, int | float | np.number) and end == int(end) for end in ends)
    flat = np.array(ends, dtype=np.int64) if whole else np.array([str(end) for end in ends])
    try:
        weights = np.array([row[2] if len(row) == 3 else 1.0 for row in rows], dtype=np.float64)
    except (TypeError, ValueError) as word:
        raise ModelError(f"an edge has a weight that is not a number: {word}.") from None
    return flat[::2], flat[1::2], weights


def _iterated(edges: Any) -> Iterable[Any]:
    if isinstance(edges, Iterable) and not isinstance(edges, str):
        return edges
    raise ModelError(f"the edges are {edges!r}. Give a list of (from, to) or (from, to, weight).")


def _wall_mask(walls: Any, rows: int, cols: int) -> Bools:
    if walls is None:
        return np.zeros((rows, cols), dtype=bool)
    if isinstance(walls, str):
        walls = walls.strip("\n").split("\n")
    walls = list(walls) if not isinstance(walls, np.ndarray) else walls
    if len(walls) and isinstance(walls[0], str):
        return _drawn_mask(walls, rows, cols)
    cells = np.asarray(walls)
    if cells.dtype == bool:
        if cells.shape != (rows, cols):
            raise ModelError(f"walls is a mask of shape {cells.shape}, but the grid is {rows} x {cols}.")
        return cells
    cells = cells.reshape(-1, 2) if cells.size == 0 else cells
    if cells.ndim != 2 or cells.shape[1] != 2 or cells.dtype.kind not in "iuf":
        raise ModelError(
            "walls must be a boolean mask, a list of (row, column), or a map drawn as text with # for walls."
        )
    outside = np.flatnonzero(((cells < 0) | (cells >= (rows, cols)) | (cells != np.floor(cells))).any(axis=1))
    if outside.size:
        row, col = cells[outside[0]].tolist()
        raise ModelError(
            f"the wall at ({row}, {col}) is not a cell of the {rows} x {cols} grid. Cells count from (0, 0)."
        )
    mask = np.zeros((rows, cols), dtype=bool)
    mask[tuple(cells.astype(int).T)] = True
    return mask


def _drawn_mask(lines: Sequence[str], rows: int, cols: int) -> Bools:
    if len(lines) != rows:
        raise ModelError(f"the map has {len(lines)} lines, but the grid has {rows} rows. Draw one line per row.")
    for row, line in enumerate(lines):
        if len(line) != cols:
            raise ModelError(
                f"line {row} of the map has {len(line)} characters, but the grid has {cols} columns. "
                "Draw one character per cell, # for a wall."
            )
    return np.array([[cell == "#" for cell in line] for line in lines])


def _random_rows(k: int, size: int, degree: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.int32], Floats]:
    """Successors and chances of k unconnected random graphs of ``size`` states, one row per state."""
    if size < 1:
        raise ModelError(f"a random graph of {size} states is empty. Ask for at least 1.")
    if degree < 2 and size > 1:
        raise ModelError(f"degree is {degree}. A random graph needs 2: one move to stay and one along the cycle.")
    degree = min(degree, size)
    n = k * size
    require_entries(n * degree)
    # On the cycle, state number i of a graph reaches i + step for a set of steps: 0, 1 and degree - 2 others.
    steps = np.empty((n, degree), dtype=np.int32)
    steps[:, : min(degree, 2)] = np.arange(min(degree, 2))
    steps[:, 2:] = 2 + _distinct(n, degree - 2, size - 2, rng)
    steps += np.tile(np.arange(size, dtype=np.int32), k)[:, None]
    steps %= size
    start = np.repeat(np.arange(k, dtype=np.int32) * size, size)
    cycle = rng.permuted(np.tile(np.arange(size, dtype=np.int32), (k, 1)), axis=1).ravel() + start
    target = np.empty_like(steps)
    target[cycle] = cycle[steps + start[:, None]]
    chance = rng.uniform(0.2, 1.0, (n, degree))
    chance /= chance.sum(axis=1, keepdims=True)
    return target, chance


def _generator(seed: int) -> np.random.Generator:
    if seed < 0:
        raise ModelError(f"the seed is {seed}. A seed is a whole number of at least 0.")
    return np.random.default_rng(seed)


def _distinct(rows: int, k: int, total: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """In each row k different numbers of range(total), every set equally likely (Floyd's sampling, row-parallel)."""
    if k <= 0:
        return np.empty((rows, 0), dtype=np.int32)
    if 4 * k > total:  # Floyd compares k^2 / 2 pairs; here ranking all numbers is cheaper
        return np.argsort(rng.random((rows, total), dtype=np.float32), axis=1)[:, :k].astype(np.int32)
    chosen = np.empty((rows, k), dtype=np.int32)
    for place, top in enumerate(range(total - k, total)):
        drawn = rng.integers(0, top, rows, dtype=np.int32, endpoint=True)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, top, drawn)
    return chosen


def _csr_rows(target: npt.NDArray[Any], chance: Floats, possible: Bools | None = None) -> CSR:
    """The matrix whose row x has the entries chance[x, j] in the columns target[x, j], where possible[x, j]."""
    n, width = target.shape
    if possible is None:
        return sparse.csr_array((chance.ravel(), target.ravel(), np.arange(n + 1) * width), shape=(n, n))
    starts = np.concatenate(([0], np.cumsum(np.count_nonzero(possible, axis=1))))
    return sparse.csr_array((chance[possible], target[possible], starts), shape=(n, n))


def _check_probability(value: float, what: str, *, below_one: bool = False) -> None:
    if not (0.0 <= value < 1.0 or (value == 1.0 and not below_one)):
        raise ModelError(f"{what} is {value}. It is a probability {'below 1' if below_one else 'between 0 and 1'}.")
