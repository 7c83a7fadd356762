"""What several makers of models need: rows of equal width as a sparse matrix, and a check of arguments that are
chances."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lsmdp.arrays import CSR, Floats, real
from lsmdp.errors import ModelError, told

Bools = npt.NDArray[np.bool_]


class Repairs(TypedDict, total=False):
    """What ``LMDP.repaired`` may do to weights that are not a usable kernel yet."""

    largest_class: bool
    teleport: float
    lazy: float
    temperature: float
    positions: Any
    name: str


def csr_rows(target: npt.NDArray[Any], chance: Floats, possible: Bools | None = None) -> CSR:
    """The matrix whose row x has the entries chance[x, j] in the columns target[x, j], where possible[x, j]."""
    n, width = target.shape
    if possible is None:
        return sparse.csr_array((chance.ravel(), target.ravel(), np.arange(n + 1) * width), shape=(n, n))
    starts = np.concatenate(([0], np.cumsum(np.count_nonzero(possible, axis=1))))
    return sparse.csr_array((chance[possible], target[possible], starts), shape=(n, n))


def check_probability(value: float, what: str, *, below_one: bool = False) -> None:
    """Raise unless the argument called ``what`` is a probability."""
    number = real(value)
    if not (0.0 <= number < 1.0 or (number == 1.0 and not below_one)):
        wanted = "below 1" if below_one else "between 0 and 1"
        raise ModelError(f"{what} is {told(value)}. It is a probability {wanted}.")
