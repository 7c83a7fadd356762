"""Kernels from logs: ``lsmdp.fit`` on a million moves, against counting in plain Python, in the same process.

5,000 vehicles make 200 moves each on a random graph of 2,000 stops; the rows are shuffled and times are dates. The peer
reads the same csv file with the standard library, sorts the records and counts the moves; it computes nothing else.

    python -m benchmarks.logs [MOVES]
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import lsmdp

STOPS, DEGREE, LENGTH = 2_000, 7, 200


def walks(moves: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """One row per vehicle: the stops that it visits."""
    rng, P = np.random.default_rng(0), lsmdp.random_graph(STOPS, DEGREE).P
    edges, targets = np.cumsum(P.data.reshape(STOPS, DEGREE), axis=1), P.indices.reshape(STOPS, DEGREE)
    at = [rng.integers(0, STOPS, max(moves // LENGTH, 2))]
    for _ in range(LENGTH):
        drawn = np.minimum((rng.random(at[-1].size)[:, None] > edges[at[-1]]).sum(axis=1), DEGREE - 1)
        at.append(targets[at[-1], drawn])
    return np.stack(at, axis=1)


def write(folder: Path, moves: int) -> None:
    """The same log in three formats."""
    seen = walks(moves)
    order = np.random.default_rng(1).permutation(seen.size)
    bus, minute = np.divmod(order, LENGTH + 1)
    table = pa.table(
        {
            "entity": np.char.add("bus ", bus.astype(str)),
            "time": np.datetime64("2012-03-01T00:00:00") + minute.astype("timedelta64[m]"),
            "state": np.char.add("stop ", seen.ravel()[order].astype(str)),
        }
    )
    arrow_csv.write_csv(table, folder / "log.csv")
    parquet.write_table(table, folder / "log.parquet")
    lines = (json.dumps([f"stop {stop}" for stop in walk]) for walk in seen.tolist())
    (folder / "log.jsonl").write_text("\n".join(lines))


def counted(path: Path) -> int:
    """What one would write without a library: sort, then count."""
    with path.open(newline="") as stream:
        records = sorted((row["entity"], row["time"], row["state"]) for row in csv.DictReader(stream))
    return len(Counter((here[2], there[2]) for here, there in pairwise(records) if here[0] == there[0]))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds on the processor, since machines are shared, and the result."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def main() -> None:
    """Print a line per format."""
    moves = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, moves)
        lsmdp.fit([["a", "b", "a"], ["b", "a"]])  # imports
        for ending in ("csv", "parquet", "jsonl"):
            seconds, found = timed(lambda path=folder / f"log.{ending}": lsmdp.fit(path))
            print(f"lsmdp.fit log.{ending:<8} {found.moves:>10,} moves {seconds:6.2f} s  support {found.support:,}")
        seconds, support = timed(lambda: counted(folder / "log.csv"))
        print(f"plain Python log.csv    {found.moves:>10,} moves {seconds:6.2f} s  support {support:,}")


if __name__ == "__main__":
    main()
