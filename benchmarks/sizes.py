"""How much memory and time a model takes, by its size: ``python -m benchmarks.sizes``.

Each line is a process of its own. It does all that follows with a small model of the same kind first, so that loops are
compiled and loaded; then makes the model, solves it to a gap of 1e-10 with costs drawn from [0, 1], and plays rounds of
independent costs with one learner, exact losses and all. A round is the median of the last half of them. These are
early rounds, which take longer than late ones (docs/performance.md has those). Seconds are those of the processor, all
threads together: what else runs on the machine hardly matters. Memory is the growth of the peak beyond that of the
small model. Of two such processes the better one counts, seconds and memory apart. The table goes to stdout as
Markdown, as docs/scaling.md shows it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lsmdp.learners import Learner

CASES = (
    ("grid:30x30", "ftl", 500),
    ("grid:100x100", "ftl", 100),
    ("grid:316x316", "ftl", 10),
    ("random:1000:7", "ftl", 500),
    ("random:10000:7", "ftl", 200),
    ("random:100000:7", "ftl", 20),
    ("random:1000000:7", "track", 5),
)
SMALL = {"grid": "grid:20x20", "random": "random:400:7"}


def measure(kernel: str, learner: str, rounds: int) -> dict[str, float]:
    """What one case takes, in this process."""
    from lsmdp.learners import learner_by_name

    _take(SMALL[kernel.partition(":")[0]], learner_by_name(learner), 10)
    before = _peak()
    found = _take(kernel, learner_by_name(learner), rounds)
    return found | {"memory": _peak() - before}


def _take(kernel: str, learner: Learner, rounds: int) -> dict[str, float]:
    import lsmdp

    clock = time.process_time
    began = clock()
    lmdp = lsmdp.read_model(kernel)
    made = clock()
    lsmdp.solve(lmdp, np.random.default_rng(0).random(lmdp.n))
    solved = clock()
    ends = [clock()]
    lsmdp.play(lmdp, learner, lsmdp.read_costs("iid", lmdp, rounds=rounds), watch=lambda _: ends.append(clock()))
    return {
        "states": lmdp.n,
        "moves": lmdp.nnz,
        "make": made - began,
        "solve": solved - made,
        "round": (ends[-1] - ends[rounds // 2]) / (rounds - rounds // 2),  # some are shown several at a time
    }


def _peak() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _apart(case: tuple[str, str, int]) -> dict[str, float]:
    """The same, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.sizes", *map(str, case)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _time(seconds: float) -> str:
    return f"{seconds:.2g}\u00a0s" if seconds >= 0.1 else f"{1e3 * seconds:.2g}\u00a0ms"


def main() -> None:
    """The table, or one line of it as JSON."""
    if len(sys.argv) > 1:
        kernel, learner, rounds = sys.argv[1:]
        print(json.dumps(measure(kernel, learner, int(rounds))))
        return
    print("| model | learner | states | moves | make | solve | an early round | memory | bytes a move |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kernel, learner, rounds in CASES:
        both = [_apart((kernel, learner, rounds)) for _ in range(2)]
        one = {name: min(found[name] for found in both) for name in both[0]}
        print(
            f"| {kernel} | {learner} | {one['states']:,} | {one['moves']:,} | {_time(one['make'])} | "
            f"{_time(one['solve'])} | {_time(one['round'])} | {one['memory']:,.0f}\u00a0MB | "
            f"{one['memory'] * 2**20 / one['moves']:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
