"""Several trackers at once, on a model whose P is written out: Bellman updates for a mean of the costs each.

**What it is for.** The experts of a pool are trackers (learners/track.py): v <- (B v + B B v)/2 for some mean of the
costs, after each round. A single one spends most of its time reading P. :func:`track_together` takes the updates of all
of them for a round before those of the next: P is read for two at a time, and what their policies are made of
(``Weights`` in full.py) is left behind for the mixture, which needs it as well. No certificate is evaluated on the way.

**What goes in and comes out.** ``means`` and ``values`` are trackers x rows x states, with a row more than there are
rounds. Row 0 of the values is where they begin, and row k + 1 is made after round k, for row k + 1 of the means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry, inner
from lsmdp._core.explog import exponentials, extremes, logarithms
from lsmdp._core.full import Square, Weights, given, mix_columns
from lsmdp._core.sparse import SPAN_OF_ONE_SCALE
from lsmdp.arrays import Floats


def track_together(square: Square, temperature: float, means: Floats, values: Floats, seen: Weights) -> int:
    """Fill in the values, and the weights of each row, up to the first row k where one scale does not serve: k.

    Then rows 0 to k of the values are right, and rows 0 to k - 1 of the weights; row k of these too, if its values are
    flat. All rows are done where k is their number.
    """
    count, padded = len(values), square.columns.shape[1]
    work = Weights(*np.empty((4, count, padded)))
    return int(_track(square.columns, temperature, given(means), values, seen, work, np.empty((count, padded))))


@entry(fastmath={"contract"})
def _track(columns: Any, T: float, means: Any, values: Any, seen: Any, work: Any, once: Any) -> int:
    """See :func:`track_together`; ``work`` and ``once`` are room for the second update of a round."""
    count, rows, n = values.shape
    padded = columns.shape[1]
    for t in range(rows):
        for i in range(count):
            for x in range(n):
                once[i, x] = values[i, t, x]
            for x in range(n, padded):
                once[i, x] = once[i, 0]
            if not _lower(T, once[i], seen.d[i, t]):
                return t
            exponentials(seen.d[i, t], seen.w[i, t])
        for i in range(0, count - 1, 2):
            mix_two(columns, seen.w[i, t], seen.w[i + 1, t], seen.s[i, t], seen.s[i + 1, t])
        if count % 2 == 1:
            mix_columns(columns, seen.w[count - 1, t], seen.s[count - 1, t])
        for i in range(count):
            _log(n, seen.s[i, t], seen.logs[i, t])
        if t == rows - 1:
            break
        for i in range(count):
            for x in range(n):
                once[i, x] = means[i, t + 1, x] - T * seen.logs[i, t, x]
            for x in range(n, padded):
                once[i, x] = once[i, 0]
            if not _lower(T, once[i], work.d[i]):
                return t
            exponentials(work.d[i], work.w[i])
        for i in range(0, count - 1, 2):
            mix_two(columns, work.w[i], work.w[i + 1], work.s[i], work.s[i + 1])
        if count % 2 == 1:
            mix_columns(columns, work.w[count - 1], work.s[count - 1])
        for i in range(count):
            _log(n, work.s[i], work.logs[i])
            for x in range(n):
                once[i, x] = (once[i, x] + (means[i, t + 1, x] - T * work.logs[i, x])) / 2
            low = extremes(once[i, :n])[0]
            for x in range(n):
                values[i, t + 1, x] = once[i, x] - low
    return int(rows)


@inner()
def _lower(T: float, v: Any, d: Any) -> bool:
    """d = (v - min v)/T; False where one scale does not serve v."""
    low, high = extremes(v)
    if not high - low <= SPAN_OF_ONE_SCALE * T:
        return False
    for x in range(v.size):
        d[x] = (v[x] - low) / T
    return True


@inner()
def _log(n: int, s: Any, logs: Any) -> None:
    """logs = log s, once the places beyond n have something that has a logarithm."""
    for x in range(n, s.size):
        s[x] = s[0]
    logarithms(s, logs)


@inner(fastmath={"contract"})
def mix_two(columns: Any, a: Any, b: Any, out: Any, other: Any) -> None:
    """out = sum_y columns[y] a[y] and other = sum_y columns[y] b[y], in the order of mix_columns."""
    n, fours = out.size, columns.shape[0] // 4 * 4
    for i in range(n):
        out[i], other[i] = 0.0, 0.0
    for y in range(0, fours, 4):
        a0, a1, a2, a3 = a[y], a[y + 1], a[y + 2], a[y + 3]
        b0, b1, b2, b3 = b[y], b[y + 1], b[y + 2], b[y + 3]
        for i in range(n):
            c0, c1, c2, c3 = columns[y, i], columns[y + 1, i], columns[y + 2, i], columns[y + 3, i]
            total = out[i] + c0 * a0
            total = total + c1 * a1
            total = total + c2 * a2
            out[i] = total + c3 * a3
            total = other[i] + c0 * b0
            total = total + c1 * b1
            total = total + c2 * b2
            other[i] = total + c3 * b3
    for y in range(fours, columns.shape[0]):
        for i in range(n):
            out[i] += columns[y, i] * a[y]
            other[i] += columns[y, i] * b[y]
