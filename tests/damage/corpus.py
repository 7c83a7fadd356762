"""Small good files of every kind, and what reads them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import networkx
import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import sparse

from lsmdp.costs import read_costs
from lsmdp.model import LMDP
from lsmdp.sources import read_cost, read_edge_costs, read_model, read_scenarios
from lsmdp.sources.logs.log import read_log
from lsmdp.sources.logs.states import read_states
from lsmdp.sources.logs.trips import read_trips
from lsmdp.sources.makers import from_edges, rank_one
from lsmdp.sweeps.spec import read as read_sweep

P = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]])
COSTS = np.random.default_rng(0).random((4, 3))
MOVES = [("a", "b", 1.0), ("b", "a", 0.5), ("b", "c", 0.5), ("c", "a", 1.0)]
PLAIN, LABELLED = rank_one(3), LMDP(P, labels=["a", "b", "c"])
MOVING = from_edges(MOVES)


class Kind(NamedTuple):
    """A file with its ending and content, and a reader that goes through all of it."""

    ending: str
    content: bytes
    read: Callable[[Path], object]


def model(path: Path) -> object:
    """As a kernel."""
    return read_model(path, normalise=True)


def map_of_eight(path: Path) -> object:
    """As a map with diagonal moves."""
    return read_model(f"{path}:8")


def costs(lmdp: LMDP, **options: Any) -> Callable[[Path], object]:
    """As costs of many rounds."""
    return lambda path: list(read_costs(path, lmdp, **options))


def cost(lmdp: LMDP) -> Callable[[Path], object]:
    """As one cost."""
    return lambda path: read_cost(path, lmdp)


def edge_costs(path: Path) -> object:
    """As costs of moves."""
    return read_edge_costs(path, MOVING)


def log(path: Path) -> object:
    """As a log of movements."""
    return read_log(path)


def npy(values: Any) -> bytes:
    """What numpy.save writes."""
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def npz(matrix: Any, compressed: bool = True, **beside: Any) -> bytes:
    """What lsmdp.write_model writes."""
    stream = io.BytesIO()
    if beside:
        found = matrix.tocsr()
        arrays = {"data": found.data, "indices": found.indices, "indptr": found.indptr, "shape": found.shape}
        np.savez_compressed(stream, format=b"csr", **arrays, **beside)
    else:
        sparse.save_npz(stream, matrix, compressed)
    return stream.getvalue()


def csv(rows: Any, header: str = "") -> bytes:
    """Lines of cells."""
    lines = [",".join(map(str, row)) for row in rows]
    return "\n".join([*([header] if header else []), *lines, ""]).encode()


def pq(columns: Mapping[str, Any], **options: Any) -> bytes:
    """What pyarrow.parquet.write_table writes."""
    stream = io.BytesIO()
    parquet.write_table(pa.table(dict(columns)), stream, **options)
    return stream.getvalue()


def graphml() -> bytes:
    """What networkx.write_graphml writes."""
    graph = networkx.DiGraph()
    for u, v, weight in MOVES:
        graph.add_edge(u, v, weight=weight)
    for x, node in enumerate(graph):
        graph.nodes[node].update(x=float(x), y=0.5)
    stream = io.BytesIO()
    networkx.write_graphml(graph, stream)
    return stream.getvalue()


def gml() -> bytes:
    """What networkx.write_gml writes."""
    stream = io.BytesIO()
    networkx.write_gml(networkx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]), stream)
    return stream.getvalue()


def own_costs(path: Path) -> object:
    """As a road network, and the length of its links as costs of moves."""
    return read_edge_costs("tntp:length", read_model(path))


MARKET = "%%MatrixMarket matrix {} real {}\n%\n{}\n"
COORDINATE = MARKET.format("coordinate", "general", "3 3 4\n1 2 1.0\n2 1 0.5\n2 3 0.5\n3 1 1").encode()
SYMMETRIC = MARKET.format("coordinate", "symmetric", "2 2 2\n2 1 1.0\n2 2 0.5").encode()
ARRAY = MARKET.format("array", "general", "2 2\n0.5\n0.5\n0.5\n0.5").encode()
MAP = b"type octile\nheight 3\nwidth 4\nmap\n..@@\n.G..\nTT..\n"
NET = b"""<NUMBER OF ZONES> 3
<NUMBER OF NODES> 3
<FIRST THRU NODE> 1
<NUMBER OF LINKS> 4
<END OF METADATA>

~\tinit_node\tterm_node\tcapacity\tlength\t;
\t1\t2\t10.5\t1\t;
\t2\t1\t3\t1\t;
\t2\t3\t4\t1\t;
\t3\t1\t5\t1\t;
"""
SWEEP = b"""models = ["ring:3", { kernel = "sticky:0.3", start = "1", horizons = [5], temperature = 0.5 }]
costs = ["iid", { costs = "switching:2", scale = [1.0, 0.0] }]
learners = ["ftl", "passive"]
horizons = [4]
seeds = 2
seed = 0
"""
WIDE = {"a": COSTS[:, 0], "b": COSTS[:, 1], "c": COSTS[:, 2]}
LONG = {"round": [1, 1, 1, 2, 2, 2], "state": ["a", "b", "c"] * 2, "cost": COSTS[:2].ravel()}
EDGES = {"from": [u for u, _, _ in MOVES], "to": [v for _, v, _ in MOVES], "weight": [w for *_, w in MOVES]}
TOLLS = {"from": EDGES["from"], "to": EDGES["to"], "cost": EDGES["weight"]}
LOG = {"entity": [1, 1, 1, 2, 2], "time": [0.0, 1.0, 2.0, 0.5, 1.5], "state": ["a", "b", "a", "c", "a"]}
TRIPS = (
    b"Start Date,Start Station,End Date,End Station\n8/31/15 23:26,a,8/31/15 23:39,b\n8/31/15 23:40,b,8/31/15 23:49,a\n"
)
ROWS = [list(row) for row in zip(*LOG.values(), strict=True)]

KINDS = {
    "npy kernel": Kind(".npy", npy(P), model),
    "npy of integers": Kind(".npy", npy(np.asfortranarray([[1, 2], [3, 4]], dtype=">i4")), model),
    "npz kernel": Kind(".npz", npz(sparse.csr_array(P)), model),
    "npz stored": Kind(".npz", npz(sparse.csc_array(P), compressed=False), model),
    "npz coo": Kind(".npz", npz(sparse.coo_array(P), compressed=False), model),
    "npz labels": Kind(".npz", npz(sparse.csr_array(P), labels=np.array(["a", "b", "c"]), positions=P[:, :2]), model),
    "mtx": Kind(".mtx", COORDINATE, model),
    "mtx symmetric": Kind(".mtx", SYMMETRIC, model),
    "mtx array": Kind(".mtx", ARRAY, model),
    "csv kernel": Kind(".csv", csv(P, "a,b,c"), model),
    "csv edges": Kind(".csv", csv(MOVES, "from,to,weight"), model),
    "csv labelled": Kind(".csv", b",a,b\na,0.5,0.5\nb,0.25,0.75\n", model),
    "csv semicolons": Kind(".csv", b"Source;Target;Count\na;b;1,5\nb;a;0,5\n", model),
    "tsv edges": Kind(".tsv", b"# made by hand\nsource\ttarget\na\tb\n%C3%85\ta\nb\t%C3%85\n", model),
    "txt edges": Kind(".txt", b"# FromNodeId ToNodeId\n0 1\n1 2\n2 0\n1 0\n", model),
    "gml": Kind(".gml", gml(), model),
    "map": Kind(".map", MAP, model),
    "map of eight": Kind(".map", MAP, map_of_eight),
    "graphml": Kind(".graphml", graphml(), model),
    "tntp": Kind("_net.tntp", NET, model),
    "npy costs": Kind(".npy", npy(COSTS), costs(PLAIN)),
    "csv costs": Kind(".csv", csv(COSTS, "a,b,c"), costs(LABELLED)),
    "csv costs long": Kind(".csv", csv(zip(*LONG.values(), strict=True), "round,state,cost"), costs(LABELLED)),
    "jsonl costs": Kind(".jsonl", b'[0.1, 0.2, 0.3]\n{"cost": {"a": 0, "b": 1, "c": 0.5}}\n', costs(LABELLED)),
    "npy cost": Kind(".npy", npy(COSTS[0]), cost(PLAIN)),
    "csv cost": Kind(".csv", csv(COSTS[:1]), cost(PLAIN)),
    "csv cost by label": Kind(".csv", csv(zip("abc", COSTS[0], strict=True), "state,cost"), cost(LABELLED)),
    "csv edge costs": Kind(".csv", csv(MOVES, "from,to,cost"), edge_costs),
    "csv log": Kind(".csv", csv(ROWS, "entity,time,state"), log),
    "jsonl log": Kind(".jsonl", b'["a", "b", "c"]\n{"states": [1, 2, 1]}\n', log),
    "csv trips": Kind(".csv", TRIPS, read_trips),
    "scen": Kind(".scen", b"version 1\n0\tm.map\t5\t4\t1\t1\t3\t2\t2.4142\n", read_scenarios),
    "tntp costs": Kind("_net.tntp", NET, own_costs),
    "csv states": Kind(".csv", csv([("a", 0.5, 1), ("b", 2, 3)], "state,x,y"), read_states),
    "sweep": Kind(".toml", SWEEP, read_sweep),
}
PARQUET = {
    "kernel": Kind(".parquet", pq({name: P[:, x] for x, name in enumerate("abc")}), model),
    "edges": Kind(".parquet", pq(EDGES, compression="none"), model),
    "wide costs": Kind(".parquet", pq(WIDE, row_group_size=2, compression="zstd"), costs(LABELLED)),
    "wide costs again": Kind(".parquet", pq(WIDE, data_page_version="2.0", use_dictionary=False), costs(LABELLED)),
    "long costs": Kind(".parquet", pq(LONG, row_group_size=3), costs(LABELLED)),
    "long costs again": Kind(".parquet", pq(LONG, write_page_checksum=True, compression="gzip"), costs(LABELLED)),
    "cost": Kind(".parquet", pq({"state": list("abc"), "cost": COSTS[0]}, use_dictionary=False), cost(LABELLED)),
    "edge costs": Kind(".parquet", pq(TOLLS), edge_costs),
    "log": Kind(".parquet", pq(LOG), log),
    "log of dates": Kind(".parquet", pq(LOG | {"time": pa.array(range(5), pa.timestamp("us"))}), log),
    "states": Kind(".parquet", pq({"state": ["a", "b"], "x": [0.5, 2.0], "y": [1, 3]}), read_states),
}
