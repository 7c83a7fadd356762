"""Large cold solves: lsmdp.solve against Noda's iteration with scipy's ``splu``, measured in the same run.

The peer is what a careful user would write for a Perron pair of diag(e^{-c}) P on a low-fill graph when eigs gives up.
In policy coordinates at v, A = diag(e^{-(r - min r)}) Q_v has its largest row sum 1, and Noda's iteration solves
((1 + eps) I - A) u = 1 and sets v <- v - log u; it is positive and globally convergent. Each step factors anew with
SuperLU (ordering: minimum degree on A' + A, which fills least here). Both stop at the same certified gap.

    python -m benchmarks.cold 100 316          sides of square grids with i.i.d. costs
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

import lsmdp
from lsmdp import kernels

TOL = 1e-9
STEPS = 60
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


def measure(side: int) -> dict[str, Any]:
    """One grid: ours from a model that knows nothing yet, then the peer with ten times our time."""
    c = np.random.default_rng(0).uniform(0.0, 1.0, side * side)
    lsmdp.solve(lsmdp.grid(9, 9), c[:81], solver=lsmdp.Direct())  # no turn pays for the compiler
    lmdp = lsmdp.grid(side, side)
    began = time.perf_counter()
    solution = lsmdp.solve(lmdp, c, tol=TOL, throw=False)
    ours = time.perf_counter() - began
    began = time.perf_counter()
    gap, steps = noda(lmdp, c, TOL, 10.0 * ours)
    peer = time.perf_counter() - began
    x, began = np.ones(lmdp.n), time.perf_counter()
    for _ in range(10):
        lmdp.P @ x
    product = (time.perf_counter() - began) / 10
    return {
        "side": side,
        "value_span": solution.value_span,
        "lsmdp": {"seconds": ours, "products": ours / product, "steps": solution.iterations, "gap": solution.gap},
        "solver": solution.solver,
        "noda": {"seconds": peer, "steps": steps, "gap": gap, "met": gap <= TOL, "times_lsmdp": peer / ours},
    }


def main() -> None:
    for side in [int(word) for word in sys.argv[1:]] or [100, 316]:
        record = measure(side)
        ours, peer = record["lsmdp"], record["noda"]
        print(f"grid {side} x {side}, span of v {record['value_span']:.0f}")
        print(
            f"  lsmdp ({record['solver']}): {ours['seconds']:.2f} s, {ours['products']:,.0f} products, "
            f"{ours['steps']} steps, gap {ours['gap']:.1e}"
        )
        print(
            f"  splu + Noda: {peer['seconds']:.2f} s, {peer['steps']} steps, gap {peer['gap']:.1e}, "
            f"{peer['times_lsmdp']:.1f} times the seconds",
            flush=True,
        )


if __name__ == "__main__":
    main()
