"""A comparison of all pairs of rows of a matrix: how much two laws have in common, and how far they are apart.

In: a matrix with a law in each row. Out: the least overlap and the largest l1 distance of two of its rows.

chain/mixing.py finds Dobrushin coefficients with it, and theory/dense.py how much a change of the costs can move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry

# So many rows are compared with all later ones before the next, since they stay in a processor's cache.
_ROWS_AT_HAND = 16


@entry(fastmath={"reassoc", "contract"})
def compare_rows(A: Any) -> tuple[float, float, float]:
    """Over all pairs a, b of rows: min sum_s min(a, b), max sum_s (a - b)_+ either way, and max sum_s |a - b|.

    All three are sums of numbers that are not negative, so each is accurate however small it is. A single row has no
    other: it shares infinitely much with it, and is 0 apart.
    """
    rows, columns = A.shape
    shared, further, apart = np.inf, 0.0, 0.0
    for start in range(0, rows, _ROWS_AT_HAND):
        for x in range(start, rows):
            a = A[x]
            for y in range(start, min(start + _ROWS_AT_HAND, x)):
                b, common, above, below = A[y], 0.0, 0.0, 0.0
                for s in range(columns):
                    least = min(a[s], b[s])
                    common += least
                    above += a[s] - least
                    below += b[s] - least
                shared, apart = min(shared, common), max(apart, above + below)
                further = max(further, max(above, below))
    return shared, further, apart
