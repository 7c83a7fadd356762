"""Bellman updates for the mean of the costs, each a single pass over P: how to track a leader among many states.

With the sum S of the costs before round t and the new cost c, the first update is for the mean of both:

    once = B v = v + ((S + c)/t + b),    b = min v - v - T log P e^{(min v - v)/T}    (eq:bellman_V),

where S/(t - 1) + b in place of it bounds what the policy of v is worth (sparse.py). Where that policy is played, the
books of its round know b already: then this is no pass over P. Everything about a state is done while it is in reach:
on a million states an array that is written and read again takes a tenth of a product with P.

Later updates of a large P take e^{-v} in single precision up to round 10^5: half the bytes to be read at random, for
an error of 6e-8 T in v, which is below T/(100 t) and does not add up, since updates contract.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lsmdp._core.compile import entry
from lsmdp._core.explog import extremes
from lsmdp._core.sparse import (
    ROWS,
    Flow,
    block_bounds,
    block_sums,
    exponentials_from,
    exponentials_of,
    logs_of,
    rows,
)
from lsmdp._core.threads import LARGE, in_parts
from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    read_only,
)

EARLY = 100_000  # rounds in which the leader moves by more than single precision loses


class Updated(NamedTuple):
    """The new sum of the costs and the new v, from 0, with the bounds that the old v proves for the old mean."""

    c_sum: Floats
    v: Floats
    lo: float
    hi: float


def update(
    P: CSR,
    temperature: float,
    c_sum: Floats,
    c_t: Floats,
    t: int,
    v: Floats,
    known: Flow | None,
    *,
    steps: int,
    averaged: bool,
    slack: float = 0.0,
) -> Updated:
    """v <- B v, or (B v + B B v) / 2, ``steps`` times; t counts c_t, and ``known`` is the flow of v."""
    low, w = exponentials_of(P, v, temperature) if known is None else (known.low, known.w)
    s, logs = (known.s, known.logs) if known is not None and known.flat else (np.empty(0), np.empty(0))
    new_sum, new = np.empty_like(v), np.empty_like(v)
    costs = (read_only(c_sum.view()), read_only(np.ascontiguousarray(c_t, dtype=np.float64).view()), t)
    given = (*rows(P), *costs, read_only(v.view()), low, w, s, logs, temperature, EPS, slack, new_sum, new)
    found = in_parts(P.nnz, v.size, lambda _, first, last: _first(*given, first, last))
    lo, hi = min(part[0] for part in found), max(part[1] for part in found)
    ends = min(part[2] for part in found), max(part[3] for part in found)
    passes = [True] * averaged + ([False] + [True] * averaged) * (steps - 1)
    for average in passes:
        new, ends = _pass(P, temperature, read_only(new_sum.view()), t, new, ends, average)
    in_parts(P.nnz, v.size, lambda _, first, last: _lower(new, ends[0], first, last))
    return Updated(new_sum, read_only(new), lo, hi)


def _pass(
    P: CSR, temperature: float, c_sum: Floats, t: int, v: Floats, ends: tuple[float, float], average: bool
) -> tuple[Floats, tuple[float, float]]:
    """B v, or (v + B v) / 2, and its extremes."""
    single = P.nnz >= LARGE and t <= EARLY
    new, w = np.empty_like(v), exponentials_from(P, v, *ends, temperature, single=single)
    given = (*rows(P), c_sum, t, read_only(v), ends[0], w, temperature, average, new)
    found = in_parts(P.nnz, v.size, lambda _, first, last: _again(*given, first, last))
    return new, (min(low for low, _ in found), max(high for _, high in found))


@entry(nogil=True)
def _first(
    indptr: Any,
    indices: Any,
    data: Any,
    c_sum: Any,
    c_t: Any,
    t: int,
    v: Any,
    low: float,
    w: Any,
    all_s: Any,
    all_logs: Any,
    temperature: float,
    eps: float,
    slack: float,
    new_sum: Any,
    once: Any,
    first: int,
    last: int,
) -> tuple[float, float, float, float]:
    lo, hi, least, most = np.inf, -np.inf, np.inf, -np.inf
    space = np.empty((6, ROWS))
    m, s, logs, mean, lower, upper = space[0], space[1], space[2], space[3], space[4], space[5]
    for k in range(ROWS):
        m[k], s[k] = low, 1.0
    earlier = max(t - 1, 1)
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        end = start + size
        if all_s.size > 0:
            for k in range(size):
                s[k], logs[k] = all_s[start + k], all_logs[start + k]
        else:
            block_sums(indptr, indices, data, v, w, temperature, start, size, m, s)
            logs_of(s, logs)
        here, out, before, cost, total = (
            v[start:end],
            once[start:end],
            c_sum[start:end],
            c_t[start:end],
            new_sum[start:end],
        )
        for k in range(size):
            mean[k] = before[k] / earlier
        a, b = block_bounds(indptr[start : end + 1], mean, here, m, s, logs, temperature, eps, slack, lower, upper)
        lo, hi = min(lo, a), max(hi, b)
        for k in range(size):
            total[k] = before[k] + cost[k]
            out[k] = here[k] + (total[k] / t + ((m[k] - here[k]) - temperature * logs[k]))
        a, b = extremes(out)
        least, most = min(least, a), max(most, b)
    return lo, hi, least, most


@entry(nogil=True)
def _again(
    indptr: Any,
    indices: Any,
    data: Any,
    c_sum: Any,
    t: int,
    v: Any,
    low: float,
    w: Any,
    temperature: float,
    average: bool,
    new: Any,
    first: int,
    last: int,
) -> tuple[float, float]:
    least, most = np.inf, -np.inf
    m, s, logs = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    for k in range(ROWS):
        m[k], s[k] = low, 1.0
    share = 0.5 if average else 1.0
    for start in range(first, last, ROWS):
        size = min(ROWS, last - start)
        end = start + size
        block_sums(indptr, indices, data, v, w, temperature, start, size, m, s)
        logs_of(s, logs)
        here, out, total = v[start:end], new[start:end], c_sum[start:end]
        for k in range(size):
            out[k] = here[k] + share * (total[k] / t + ((m[k] - here[k]) - temperature * logs[k]))
        a, b = extremes(out)
        least, most = min(least, a), max(most, b)
    return least, most


@entry(nogil=True)
def _lower(v: Any, low: float, first: int, last: int) -> None:
    part = v[first:last]
    for k in range(part.size):
        part[k] -= low
