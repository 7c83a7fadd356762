"""The first call: what a machine that has never run lsmdp waits for, with a line per compiled function.

    python -m benchmarks.start [--lines N] [--only TEXT]

Each case runs in a process of its own with an empty folder for compiled code, so that everything is compiled. The
figures are seconds of processor time of that process, the import of Python's packages included. The line of a function
is what its own compilation took, without that of the functions that it calls; numba may compile a function for several
kinds of arguments, and then it says how many. ``calls`` is the same case again with all code compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

CASES = {
    "solve grid 30x30": "lsmdp.solve(lsmdp.grid(30, 30), np.linspace(0, 1, 900))",
    "game ring 12": "game(lsmdp.ring(12))",
    "game grid 30x30": "game(lsmdp.grid(30, 30))",
}
SCRIPT = """
import json, sys, time
began = time.process_time()
import numpy as np
import lsmdp

def game(lmdp):
    costs = lsmdp.read_costs("iid", lmdp, rounds=200, seed=1)
    return lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs).regret()

from lsmdp._core.compile import watched

spent, counts, stack = {}, {}, []

def begins(name):
    stack.append([name, time.process_time(), 0.0])

def ends(name):
    _, start, inside = stack.pop()
    took = time.process_time() - start
    spent[name] = spent.get(name, 0.0) + took - inside
    counts[name] = counts.get(name, 0) + 1
    if stack:
        stack[-1][2] += took

with watched(begins, ends):
    eval(sys.argv[1])
print(json.dumps([time.process_time() - began, spent, counts]))
"""


def first_call(case: str) -> tuple[float, float, dict[str, float], dict[str, int]]:
    """Processor seconds of the first and of the second process, and those and the kinds of each compiled function."""
    with tempfile.TemporaryDirectory() as folder:
        spent, own, kinds = _run(case, folder)
        again, _, _ = _run(case, folder)
    return spent, again, own, kinds


def _run(case: str, folder: str) -> tuple[float, dict[str, float], dict[str, int]]:
    command = [sys.executable, "-c", SCRIPT, CASES[case]]
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    spent, own, kinds = json.loads(done.stdout.splitlines()[-1])
    return spent, own, kinds


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--lines", type=int, default=1000, help="only the N dearest functions of each case")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose name contains TEXT")
    wanted = parser.parse_args()
    for case in CASES:
        if wanted.only not in case:
            continue
        spent, again, own, kinds = first_call(case)
        print(f"{case}: {spent:.1f} s of processor time, {again:.1f} s once compiled, {len(own)} functions compiled")
        for name in sorted(own, key=own.__getitem__, reverse=True)[: wanted.lines]:
            print(f"  {own[name]:6.2f}  {name}" + (f"  ({kinds[name]} kinds)" if kinds[name] > 1 else ""))


if __name__ == "__main__":
    main()
