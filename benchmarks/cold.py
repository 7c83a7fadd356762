"""Large cold solves: lsmdp.solve against Noda's iteration with scipy's ``splu``, measured in the same run.

The peer is what a careful user would write for a Perron pair of diag(e^{-c}) P on a low-fill graph when eigs gives up.
In policy coordinates at v, A = diag(e^{-(r - min r)}) Q_v has its largest row sum 1, and Noda's iteration solves
((1 + eps) I - A) u = 1 and sets v <- v - log u; it is positive and globally convergent. Each step factors anew with
SuperLU (ordering: minimum degree on A' + A, which fills least here). Both stop at the same certified gap.
The peer is given up after PATIENCE seconds.
"""

from __future__ import annotations

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
from lsmdp import kernels

TOL = 1e-9
STEPS = 60
PATIENCE = 60.0
SHIFT = 1e-13  # keeps the matrix off singularity once the ratios agree

Array = np.ndarray[Any, np.dtype[Any]]


def noda(lmdp: lsmdp.LMDP, c: Array, tol: float, seconds: float) -> tuple[float, int]:
    """(gap, steps) of Noda's iteration with sparse LU from v = 0, given up after so many seconds."""
    P, n, began = lmdp.P, lmdp.n, time.perf_counter()
    v = np.zeros(n)
    for step in range(STEPS):
        r, lo, hi = kernels.residual(P, c, v, 1.0)
        if hi - lo <= tol or time.perf_counter() - began > seconds:
            return hi - lo, step
        weights = kernels.policy_weights(P, v) * np.repeat(np.exp(r.min() - r), np.diff(P.indptr))
        A = sparse.csr_array((weights, P.indices, P.indptr), shape=P.shape)
        M = sparse.csc_array((1.0 + SHIFT) * sparse.eye_array(n, format="csr") - A)
        factors = splu(M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        u = factors.solve(np.ones(n))
        with np.errstate(invalid="ignore"):
            v = v - np.log(u / u.max())
        v -= v.min()
    return hi - lo, STEPS


@dataclass(frozen=True)
class Case:
    """A square grid with i.i.d. costs."""

    side: int
    full: bool = False


CASES = {f"grid {case.side}x{case.side}": case for case in (Case(100), Case(316), Case(1000, full=True))}
HEADINGS = ("case", "span of v", "s", "P @ x", "steps", "gap", "splu + Noda s", "steps", "gap", "times lsmdp")


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One grid: ours from a model that knows nothing yet, and the peer; medians of the turns."""
    side = CASES[name].side
    c = np.random.default_rng(0).uniform(0.0, 1.0, side * side)
    lsmdp.solve(lsmdp.grid(9, 9), c[:81], solver=lsmdp.Direct())  # no turn pays for the compiler
    x, P = np.ones(side * side), lsmdp.grid(side, side).P
    seconds, answers = blocks.run(
        {
            "product": lambda: repeated(lambda: P @ x),
            "lsmdp": lambda: timed(lambda: lsmdp.solve(lsmdp.LMDP(P), c, tol=TOL, throw=False)),
            "noda": lambda: timed(lambda: noda(lsmdp.LMDP(P), c, TOL, PATIENCE)),
        }
    )
    solution, (gap, steps) = answers["lsmdp"], answers["noda"]
    ours, peer = seconds["lsmdp"], seconds["noda"]
    return {
        "case": name,
        "value_span": solution.value_span,
        "lsmdp": {
            "seconds": ours,
            "products": ours / seconds["product"],
            "steps": solution.iterations,
            "gap": solution.gap,
            "solver": solution.solver,
        },
        "noda": {"seconds": peer, "steps": steps, "gap": gap, "met": gap <= TOL, "times_lsmdp": peer / ours},
        "counts": solution.certified,
    }


def cells(record: dict[str, Any]) -> list[str]:
    """A line of the table."""
    ours, peer = record["lsmdp"], record["noda"]
    return [
        record["case"],
        f"{record['value_span']:.0f}",
        f"{ours['seconds']:.3g}",
        f"{ours['products']:,.0f}",
        f"{ours['steps']}",
        f"{ours['gap']:.0e}",
        f"{peer['seconds']:.3g}",
        f"{peer['steps']}",
        f"{peer['gap']:.0e}" if peer["met"] else f"{peer['gap']:.0e} !",
        f"{peer['times_lsmdp']:.1f}",
    ]


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line per grid."""
    out = Table(title="Cold solves of grids to 1e-9: lsmdp against sparse LU", title_justify="left", title_style="bold")
    for heading in HEADINGS:
        out.add_column(heading, justify="left" if heading == "case" else "right", no_wrap=True)
    for record in records:
        out.add_row(*cells(record))
    return out
