"""Cold solves: lsmdp.solve against the eigen-solvers that a user would try first.

Both start from P, c and nothing else; for lsmdp that includes the check of irreducibility, the choice of a method and
its symbolic work, since the model is made anew for each turn. The peer is asked for the Perron pair of diag(e^{-c}) P:
scipy's ``eigs`` (ARPACK, to machine precision, from the vector of ones) or, for a dense P, numpy's ``eig``.

What an answer is worth is judged by the same few lines of numpy for everybody: with v = -T log z and r = Bv - v, the
optimal average cost lies in [min r, max r] (without the rounding of this evaluation, which lsmdp's own bounds include).
If the peer's z has entries <= 0, there is no v, no policy and no certificate, however good the eigenvalue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigs

import lsmdp
from benchmarks.measure import Blocks, allocated, repeated, resident, timed
from benchmarks.peers import gap_of

LEGEND = """\
lsmdp: steps, seconds, seconds in products P @ x, its gap (! not certified), the same by numpy alone
peer: seconds, ratio to lsmdp's, difference in lambda, entries of its vector <= 0, its gap if any"""

Array = np.ndarray[Any, np.dtype[Any]]
Pair = tuple[complex, Array]  # an eigenvalue and its vector


@dataclass(frozen=True)
class Case:
    """A model, its costs by number of states, who else solves it, and whether memory is measured too."""

    model: Callable[[], lsmdp.LMDP]
    cost: Callable[[int], Array]
    peer: Callable[[Any], Pair]
    memory: bool = False
    full: bool = False


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One case: times in turns, then the answers weighed."""
    case = CASES[name]
    made = case.model()
    P, T, c = made.P, made.temperature, case.cost(made.n)
    x = np.ones(made.n)
    _compile()
    seconds, answers = blocks.run(
        {
            "product": lambda: repeated(lambda: P @ x),
            "lsmdp": lambda: _cold(P, T, c),
            "peer": lambda: timed(lambda: _asked(case.peer, P, T, c)),
        }
    )
    solution = answers["lsmdp"]
    record = {
        "case": name,
        "states": made.n,
        "entries": made.nnz,
        "product_seconds": seconds["product"],
        "lsmdp": {
            "seconds": seconds["lsmdp"],
            "products": seconds["lsmdp"] / seconds["product"],
            "steps": solution.iterations,
            "solver": solution.solver,
            "certified": solution.certified,
            "average_cost": solution.average_cost,
            "gap": solution.gap,
            "numpy_gap": gap_of(P, T, c, solution.v),
            "value_span": solution.value_span,
        },
        "peer": {
            "name": case.peer.__name__,
            "seconds": seconds["peer"],
            "times_lsmdp": seconds["peer"] / seconds["lsmdp"],
            **_weighed(answers["peer"], P, T, c, solution.average_cost),
        },
    }
    return record | ({"memory": _memory(P, T, c)} if case.memory else {})


def _cold(P: Any, T: float, c: Array) -> tuple[float, Any]:
    model = lsmdp.LMDP(P, temperature=T)
    return timed(lambda: lsmdp.solve(model, c, throw=False))


def _compile() -> None:
    """A small solve with each method, so that no turn pays for the compiler."""
    model = lsmdp.grid(9, 9)
    for method in (lsmdp.Power(), lsmdp.Direct(), lsmdp.Dense(), lsmdp.Krylov()):
        lsmdp.solve(model, np.arange(81.0), solver=method, throw=False)


def scipy_eigs(M: Any) -> Pair:
    values, vectors = eigs(M, k=1, which="LM", v0=np.ones(M.shape[0]))
    return complex(values[0]), vectors[:, 0]


def numpy_eig(M: Any) -> Pair:
    values, vectors = np.linalg.eig(M.toarray())
    top = int(values.real.argmax())
    return complex(values[top]), vectors[:, top]


def _asked(peer: Callable[[Any], Pair], P: Any, T: float, c: Array) -> Pair | str:
    """The peer's pair, or what it said instead."""
    try:
        return peer(sparse.csr_array(sparse.diags_array(np.exp(-c / T)) @ P))
    except ArpackError as refused:
        return str(refused)


def _weighed(answer: Pair | str, P: Any, T: float, c: Array, average_cost: float) -> dict[str, Any]:
    """What the peer's pair says about lambda, and whether anything can be proved from it."""
    if isinstance(answer, str):
        return {"failure": answer, "difference": None, "not_positive": None, "certificate": False, "gap": None}
    value, vector = answer
    turned = vector * np.conj(vector.sum() / abs(vector.sum()))  # an eigenvector has any phase
    z = turned.real
    positive = bool((z > 0.0).all())
    return {
        "failure": None,
        "difference": -T * float(np.log(value.real)) - average_cost,
        "not_positive": int(np.count_nonzero(z <= 0.0)),
        "certificate": positive,
        "gap": gap_of(P, T, c, -T * np.log(z)) if positive else None,
    }


def _memory(P: Any, T: float, c: Array) -> dict[str, Any]:
    """Memory of a solve beside P, in units of the CSR arrays of P."""
    csr = P.data.nbytes + P.indices.nbytes + P.indptr.nbytes
    models = [lsmdp.LMDP(P, temperature=T) for _ in range(2)]
    python = allocated(lambda: lsmdp.solve(models[0], c, throw=False))
    system = resident(lambda: lsmdp.solve(models[1], c, throw=False))
    return {
        "csr_bytes": csr,
        "tracemalloc_peak": python / csr,
        "resident_peak": None if system is None else system / csr,
    }


HEADINGS = ("case", "states", "steps", "s", "P @ x", "gap", "by numpy", "peer s", "ratio", "d lambda", "z <= 0", "gap")


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line per case: the answer of lsmdp, then the answer of the peer."""
    out = Table(title="Cold solves to 1e-10: lsmdp against eigen-solvers", title_justify="left", title_style="bold")
    out.add_column("case", no_wrap=True)
    for heading in HEADINGS[1:]:
        out.add_column(heading, justify="right", no_wrap=True)
    notes = []
    for record in records:
        out.add_row(*cells(record))
        notes += _notes(record)
    out.caption = "\n".join([LEGEND, *notes])
    out.caption_justify = "left"
    return out


def cells(record: dict[str, Any]) -> list[str]:
    ours, peer = record["lsmdp"], record["peer"]
    answered = peer["failure"] is None
    return [
        record["case"],
        f"{record['states']:,}",
        f"{ours['steps']:,}",
        f"{ours['seconds']:.3g}",
        f"{ours['products']:,.0f}",
        f"{ours['gap']:.0e}" if ours["certified"] else f"{ours['gap']:.0e} !",
        f"{ours['numpy_gap']:.0e}",
        f"{peer['seconds']:.3g}",
        f"{peer['times_lsmdp']:,.2f}",
        f"{peer['difference']:.0e}" if answered else "-",
        f"{peer['not_positive']:,}" if answered else "-",
        f"{peer['gap']:.0e}" if peer["certificate"] else "none",
    ]


def _notes(record: dict[str, Any]) -> list[str]:
    if "memory" not in record:
        return []
    memory = record["memory"]
    seen = memory["resident_peak"]
    system = "" if seen is None else f", {seen:.2f} times by VmHWM"
    return [f"{record['case']}: beside P, at most {memory['tracemalloc_peak']:.2f} times its CSR{system}"]


def _random(seed: int = 0) -> Callable[[int], Array]:
    return lambda n: np.random.default_rng(seed).uniform(0.0, 1.0, n)


def _one_free_end(n: int) -> Array:
    c = np.ones(n)
    c[0] = 0.0
    return c


def _dense(n: int) -> lsmdp.LMDP:
    return lsmdp.LMDP(np.random.default_rng(2).uniform(0.0, 1.0, (n, n)), normalise=True)


CASES = {
    "grid 30x30": Case(lambda: lsmdp.grid(30, 30), _random(), scipy_eigs),
    "grid 100x100": Case(lambda: lsmdp.grid(100, 100), _random(), scipy_eigs),
    "grid 316x316": Case(lambda: lsmdp.grid(316, 316), _random(), scipy_eigs),
    "corridor 2000": Case(lambda: lsmdp.grid(1, 2000), _one_free_end, scipy_eigs),
    "two clusters 1e-6": Case(lambda: lsmdp.clusters(2, 500, 1e-6), _random(), scipy_eigs),
    "ring drift 0.99": Case(lambda: lsmdp.ring(1000, 0.99), _random(), scipy_eigs),
    "random graph 20k": Case(lambda: lsmdp.random_graph(20_000, 7), _random(), scipy_eigs),
    "random graph 1M": Case(lambda: lsmdp.random_graph(1_000_000, 7), _random(), scipy_eigs, memory=True),
    "dense 200": Case(lambda: _dense(200), _random(), numpy_eig),
}
