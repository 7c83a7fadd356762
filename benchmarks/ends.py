"""Goals, discounts, horizons and periods at size, and what a careful user would write instead.

Everything is measured in the same process: lsmdp from P, the cost and the end (plan and path bounds included, nothing
kept from before), the same after each cost has risen by up to a hundredth (*warm* from the solution, *again* without a
start), and the peers:

    spsolve           scipy's sparse LU on the linear equation for z = e^{-v/T}, which underflows
    dense             numpy's solve of the same, for small models
    value iteration   v <- Bv in numpy, from 0, until it changes by no more than a relative 1e-9, or for LIMIT seconds
    Dijkstra          networkx, for the limit of T to 0: what it says is off by what the temperature adds

A peer is left out where it would take minutes or more memory than there is: the dense solve of more than DENSE states,
the sparse LU of a random graph, which fills up, and networkx beyond WALKED states. For a horizon and a period, value
iteration is the only one. A peer's *off* is its largest distance from lsmdp's certified v, relative to the largest v;
inf where it underflows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy import sparse
from scipy.sparse import linalg

import lsmdp
from benchmarks.measure import Blocks, allocated, timed

LIMIT = 10.0  # seconds that value iteration may take
DENSE, SPARSE = 2_000, 150_000  # states of the largest model for a dense solve, and for scipy's LU (planar ones)
WALKED = 150_000  # states of the largest graph for networkx
CHANGE = 0.01  # each cost rises by up to this share before the warm start
HEADINGS = ["case", "states", "end", "seconds", "warm (again)", "relative width", "wanted", "peers: seconds (off)"]


@dataclass(frozen=True)
class Case:
    """A model, an end, and the seconds that we want."""

    make: Callable[[], lsmdp.LMDP]
    end: Any
    wanted: float
    rounds: int = 0  # rows of costs; 0 for one cost
    planar: bool = True


def maze(cells: int) -> lsmdp.LMDP:
    """A labyrinth without circles, carved by a walk that turns back where it is stuck; corridors one cell wide.

    It stands for the map maze512-1-0 of MovingAI, which is not among our data: with 256 cells a side, it has the same
    corridors of width 1 in a square of 513 cells, and as many free ones (131,071).
    """
    rng = np.random.default_rng(0)
    walls, seen = np.ones((2 * cells + 1, 2 * cells + 1), dtype=bool), np.zeros((cells, cells), dtype=bool)
    walls[1::2, 1::2] = False
    path = [(0, 0)]
    seen[0, 0] = True
    while path:
        row, column = path[-1]
        around = [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
        ways = [(r, c) for r, c in around if 0 <= r < cells and 0 <= c < cells and not seen[r, c]]
        if not ways:
            path.pop()
            continue
        there = ways[rng.integers(len(ways))]
        walls[row + there[0] + 1, column + there[1] + 1] = False
        seen[there] = True
        path.append(there)
    return lsmdp.grid(*walls.shape, walls=walls)


def grid(side: int, T: float = 1.0) -> Callable[[], lsmdp.LMDP]:
    """A square grid."""
    return lambda: lsmdp.grid(side, side, temperature=T)


CASES: dict[str, Case] = {
    "goal, grid 30 x 30": Case(grid(30), lsmdp.Goal(0), 0.1),
    "goal, grid 316 x 316, T = 1": Case(grid(316), lsmdp.Goal(0), 2.0),
    "goal, grid 316 x 316, T = 0.01": Case(grid(316, 0.01), lsmdp.Goal(0), 2.0),
    "goal, generated maze like maze512": Case(lambda: maze(256), lsmdp.Goal(0), 3.0),
    "goal, random graph of 10^6": Case(lambda: lsmdp.random_graph(1_000_000, 7), lsmdp.Goal(0), 5.0, planar=False),
    "discounted 0.999, grid 316 x 316": Case(grid(316), lsmdp.Discounted(0.999), 3.0),
    "periodic, 24 x grid 100 x 100": Case(grid(100), lsmdp.Periodic(), 5.0, rounds=24),
    "horizon, 10^4 x grid 100 x 100": Case(grid(100), lsmdp.Horizon(), 30.0, rounds=10_000),
}


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One case: medians over the blocks for lsmdp; each peer has one turn."""
    case = CASES[name]
    lmdp = case.make()
    rng = np.random.default_rng(0)
    if isinstance(case.end, lsmdp.Horizon):
        c: Any = lsmdp.read_costs("iid", lmdp, rounds=case.rounds)
    else:
        c = rng.random((case.rounds, lmdp.n) if case.rounds else lmdp.n)

    def cold() -> Any:
        lmdp.cache.clear()
        return lsmdp.solve(lmdp, c, case.end)

    cold() if lmdp.n <= SPARSE and case.rounds < 100 else lsmdp.solve(lsmdp.ring(5), np.ones(5), lsmdp.Goal(0))
    turns: dict[str, Callable[[], tuple[float, Any]]] = {"cold": lambda: timed(cold)}
    seconds, answers = blocks.run(turns) if lmdp.n <= SPARSE and case.rounds < 100 else _once(cold)
    found = answers["cold"]
    record: dict[str, Any] = {
        "case": name,
        "states": lmdp.n,
        "end": found.to_dict()["end"],
        "seconds": seconds["cold"],
        "wanted": case.wanted,
        "relative_width": found.gap / _size(found),
        "counts": bool(found.certified),
        "peers": {},
    }
    if isinstance(case.end, lsmdp.Horizon):
        record["memory_vectors"] = allocated(lambda: lsmdp.solve(lmdp, c, case.end)) / (8 * lmdp.n)
    else:
        near = c * (1.0 + CHANGE * rng.random(np.shape(c)))
        record["warm"] = timed(lambda: lsmdp.solve(lmdp, near, case.end, start=found))[0]
        record["again"] = timed(lambda: lsmdp.solve(lmdp, near, case.end))[0]
    record["peers"] = {who: _peer(work, found) for who, work in _peers(lmdp, c, case).items()}
    return record


def _once(work: Callable[[], Any]) -> tuple[dict[str, float], dict[str, Any]]:
    seconds, answer = timed(work)
    return {"cold": seconds}, {"cold": answer}


def _size(found: Any) -> float:
    v = found.average_cost if isinstance(found, lsmdp.Cycle) else found.v[np.isfinite(found.v)]
    return float(np.abs(v).max())


def _peer(work: Callable[[], Any], found: Any) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        seconds, v = timed(work)
        value = found.average_cost if isinstance(found, lsmdp.Cycle) else found.v
        off = float(np.abs(np.asarray(v) - value).max() / _size(found))
    return {"seconds": seconds, "off": off if np.isfinite(off) else None}


def _peers(lmdp: lsmdp.LMDP, c: Any, case: Case) -> dict[str, Callable[[], Any]]:
    if isinstance(case.end, lsmdp.Horizon):
        return {"value iteration": lambda: _backwards(lmdp, c)}
    if isinstance(case.end, lsmdp.Periodic):
        return {"value iteration": lambda: _day_by_day(lmdp, c)}
    peers: dict[str, Callable[[], Any]] = {"value iteration": lambda: _value_iteration(lmdp, c, case.end)}
    if isinstance(case.end, lsmdp.Goal):
        if lmdp.n <= DENSE:
            peers["dense"] = lambda: _linear(lmdp, c, lambda A, b: np.linalg.solve(A.toarray(), b))
        if lmdp.n <= SPARSE and case.planar:
            peers["spsolve"] = lambda: _linear(lmdp, c, lambda A, b: linalg.spsolve(A.tocsc(), b))
        if lmdp.n <= WALKED:
            peers["Dijkstra"] = lambda: _dijkstra(lmdp, c)
    return peers


def _linear(lmdp: lsmdp.LMDP, c: Any, solve: Callable[[Any, Any], Any]) -> Any:
    """z off the goal 0 from (I - K P) z = K P_0, where z(0) = 1."""
    k = np.exp(-c / lmdp.temperature)[1:]
    A = sparse.eye_array(lmdp.n - 1) - sparse.diags_array(k) @ lmdp.P[1:, 1:]
    z = solve(A, k * lmdp.P[1:, [0]].toarray().ravel())
    return np.concatenate([[0.0], -lmdp.temperature * np.log(np.maximum(z, 0.0))])


def _value_iteration(lmdp: lsmdp.LMDP, c: Any, end: Any) -> Any:
    """v <- Bv until it hardly changes, or for LIMIT seconds."""
    v, a, began = np.zeros(lmdp.n), getattr(end, "discount", 1.0), time.perf_counter()
    while time.perf_counter() - began < LIMIT:
        new = _step(lmdp, c, a * v)
        if isinstance(end, lsmdp.Goal):
            new[0] = 0.0
        change, v = float(np.abs(new - v).max()), new
        if change <= 1e-9 * float(np.abs(v).max()):
            break
    return v


def _step(lmdp: lsmdp.LMDP, c: Any, v: Any) -> Any:
    """c - T log P e^{-v/T}, each row scaled by its own smallest successor."""
    P, T = lmdp.P, lmdp.temperature
    reached, starts = v[P.indices], P.indptr[:-1]
    m = np.minimum.reduceat(reached, starts)
    return (
        c + m - T * np.log(np.add.reduceat(P.data * np.exp(-(reached - np.repeat(m, np.diff(P.indptr))) / T), starts))
    )


def _backwards(lmdp: lsmdp.LMDP, costs: Any) -> Any:
    """The values of the first round, from the last one back; nothing of the rounds between is kept, nor any policy."""
    v = np.zeros(lmdp.n)
    for c in reversed(list(costs.from_round(1))):
        v = _step(lmdp, c, v)
    return v


def _day_by_day(lmdp: lsmdp.LMDP, slots: Any) -> float:
    """The average cost of a round, from day to day until all states add the same, or for LIMIT seconds."""
    v, began, low, high = np.zeros(lmdp.n), time.perf_counter(), 0.0, np.inf
    while high - low > 1e-9 * abs(low) and time.perf_counter() - began < LIMIT:
        before = v - v.min()
        v = before
        for c in slots[::-1]:
            v = _step(lmdp, c, v)
        low, high = (float(side) / len(slots) for side in ((v - before).min(), (v - before).max()))
    return (low + high) / 2.0


def _dijkstra(lmdp: lsmdp.LMDP, c: Any) -> Any:
    import networkx as nx

    rows, columns = lmdp.entry_rows.tolist(), lmdp.P.indices.tolist()
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((y, x, c[x]) for x, y in zip(rows, columns, strict=True) if x != y)
    far = nx.single_source_dijkstra_path_length(graph, 0)
    return np.array([far[x] for x in range(lmdp.n)])


def cells(record: dict[str, Any]) -> list[str]:
    """A line of the table."""
    peers = [
        f"{who} {one['seconds']:.3g} s ({'inf' if one['off'] is None else format(one['off'], '.1g')})"
        for who, one in record["peers"].items()
    ]
    if "memory_vectors" in record:
        peers.append(f"memory of {record['memory_vectors']:.0f} vectors")
    warm = f"{record['warm']:.3g} s ({record['again']:.3g} s)" if "warm" in record else ""
    return [
        record["case"],
        f"{record['states']:,}",
        record["end"],
        f"{record['seconds']:.3g} s",
        warm,
        f"{record['relative_width']:.1g}",
        f"{record['wanted']:g} s",
        ", ".join(peers),
    ]


def table(records: list[dict[str, Any]]) -> Table:
    """The same for the terminal."""
    made = Table(title="ends: seconds, and the width of the bounds relative to the largest value")
    for heading in HEADINGS:
        made.add_column(heading, justify="left" if heading in (HEADINGS[0], HEADINGS[-1]) else "right")
    for record in records:
        made.add_row(*cells(record))
    return made
