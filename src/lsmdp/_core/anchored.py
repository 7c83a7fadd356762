"""P and the law of a policy in the order of elimination."""

from __future__ import annotations

from typing import Any

from lsmdp._core.compile import entry
from lsmdp._core.ordering import RUN


@entry()
def _permute(
    indptr: Any, indices: Any, data: Any, order: Any, inverse: Any, turn: Any, starts: Any, columns: Any, numbers: Any
) -> None:
    at = 0
    for k in range(order.size):
        x = order[k - k % RUN + turn[k]]
        for p in range(indptr[x], indptr[x + 1]):
            columns[at], numbers[at] = inverse[indices[p]], data[p]
            at += 1
        starts[k + 1] = at


@entry()
def _flow(indptr: Any, indices: Any, data: Any, rho: Any, z: Any, flow: Any, law: Any) -> float:
    """rho(x) P(x,y) z(x) z(y), its row sums, and their sum."""
    total = 0.0
    for x in range(z.size):
        scale, s = rho[x] * z[x], 0.0
        for p in range(indptr[x], indptr[x + 1]):
            flow[p] = scale * data[p] * z[indices[p]]
            s += flow[p]
        law[x] = s
        total += s
    return total
