"""Large cold solves: lsmdp.solve against Noda's iteration with scipy's ``splu``, measured in the same run.

The peer is what a careful user would write for a Perron pair of diag(e^{-c}) P on a low-fill graph when eigs gives up.
In policy coordinates at v, A = diag(e^{-(r - min r)}) Q_v has its largest row sum 1, and Noda's iteration solves
((1 + eps) I - A) u = 1 and sets v <- v - log u; it is positive and globally convergent. Each step factors anew with
SuperLU (ordering: minimum degree on A' + A, which fills least here). Both stop at the same certified gap.

The peer runs in a process of its own (``python -m benchmarks.cold SIDE``), which may take PATIENCE seconds and
the share MEMORY of all memory; where it ends before the certificate is met, the table says why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy import sparse
from scipy.sparse.linalg import splu

import lsmdp
from benchmarks.measure import Blocks, repeated, timed
from lsmdp._core.sparse import policy_weights, residual

TOL = 1e-9
STEPS = 60
PATIENCE = 240.0
MEMORY = 0.7
SHIFT = 1e-13  # keeps the matrix off singularity once the ratios agree

Array = np.ndarray[Any, np.dtype[Any]]


def costs(side: int) -> Array:
    """I.i.d. costs of a square grid."""
    return np.random.default_rng(0).uniform(0.0, 1.0, side * side)


def noda(lmdp: lsmdp.LMDP, c: Array, tol: float) -> tuple[float, int]:
    """(gap, steps) of Noda's iteration with sparse LU from v = 0."""
    P, n = lmdp.P, lmdp.n
    v = np.zeros(n)
    for step in range(STEPS):
        r, lo, hi = residual(P, c, v, 1.0)
        if hi - lo <= tol:
            return hi - lo, step
        weights = policy_weights(P, v) * np.repeat(np.exp(r.min() - r), np.diff(P.indptr))
        A = sparse.csr_array((weights, P.indices, P.indptr), shape=P.shape)
        M = sparse.csc_array((1.0 + SHIFT) * sparse.eye_array(n, format="csr") - A)
        factors = splu(M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        u = factors.solve(np.ones(n))
        with np.errstate(invalid="ignore"):
            v = v - np.log(u / u.max())
        v -= v.min()
    return hi - lo, STEPS


def child(side: int) -> None:
    """The peer alone, within its memory: a line of JSON."""
    import resource

    most = int(MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    c = costs(side)
    noda(lsmdp.grid(9, 9), c[:81], TOL)  # compiled
    P = lsmdp.grid(side, side).P
    try:
        seconds, (gap, steps) = timed(lambda: noda(lsmdp.LMDP(P), c, TOL))
    except MemoryError:
        print(json.dumps({"why": "out of memory"}))
    else:
        print(json.dumps({"seconds": seconds, "gap": gap, "steps": steps, "why": ""}))


def peer(side: int) -> tuple[float, dict[str, Any]]:
    """Seconds of the peer, and what it has found or why not."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold", str(side)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return PATIENCE, {"why": f"{PATIENCE:.0f} s were not enough"}
    line = done.stdout.strip()
    found: dict[str, Any] = json.loads(line) if line else {"why": f"ended with {done.returncode}: out of memory?"}
    return float(found.get("seconds", time.perf_counter() - began)), found


@dataclass(frozen=True)
class Case:
    """A square grid with i.i.d. costs."""

    side: int
    full: bool = False


CASES = {f"grid {case.side}x{case.side}": case for case in (Case(100), Case(316), Case(1000, full=True))}
HEADINGS = ("case", "span of v", "s", "P @ x", "steps", "gap", "splu + Noda s", "steps", "gap", "times lsmdp")


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One grid: ours from a model that knows nothing yet, and the peer; medians of the turns."""
    side, few = CASES[name].side, Blocks(1, 1) if CASES[name].full else blocks
    c = costs(side)
    lsmdp.solve(lsmdp.grid(9, 9), c[:81], solver=lsmdp.Direct())  # no turn pays for the compiler
    x, P = np.ones(side * side), lsmdp.grid(side, side).P
    seconds, answers = few.run(
        {
            "product": lambda: repeated(lambda: P @ x),
            "lsmdp": lambda: timed(lambda: lsmdp.solve(lsmdp.LMDP(P), c, tol=TOL, throw=False)),
            "noda": lambda: peer(side),
        }
    )
    solution, found = answers["lsmdp"], answers["noda"]
    ours, theirs = seconds["lsmdp"], seconds["noda"]
    return {
        "case": name,
        "value_span": solution.value_span,
        "lsmdp": {
            "seconds": ours,
            "products": ours / seconds["product"],
            "steps": solution.iterations,
            "gap": solution.gap,
            "solver": solution.solver,
            "story": list(solution.story),
        },
        "noda": {
            "seconds": theirs,
            "steps": found.get("steps"),
            "gap": found.get("gap"),
            "met": found.get("gap", np.inf) <= TOL,
            "why": found["why"],
            "times_lsmdp": theirs / ours,
        },
        "counts": solution.certified,
    }


def cells(record: dict[str, Any]) -> list[str]:
    """A line of the table."""
    ours, other = record["lsmdp"], record["noda"]
    more = "> " if other["why"] else ""
    found = (
        [other["why"], "-"]
        if other["why"]
        else [str(other["steps"]), f"{other['gap']:.0e}{'' if other['met'] else ' !'}"]
    )
    return [
        record["case"],
        f"{record['value_span']:.0f}",
        f"{ours['seconds']:.3g}",
        f"{ours['products']:,.0f}",
        f"{ours['steps']}",
        f"{ours['gap']:.0e}",
        f"{more}{other['seconds']:.3g}",
        *found,
        f"{more}{other['times_lsmdp']:.1f}",
    ]


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line per grid."""
    out = Table(title="Cold solves of grids to 1e-9: lsmdp against sparse LU", title_justify="left", title_style="bold")
    for heading in HEADINGS:
        out.add_column(heading, justify="left" if heading == "case" else "right", no_wrap=True)
    for record in records:
        out.add_row(*cells(record))
    return out


if __name__ == "__main__":
    child(int(sys.argv[1]))
