"""One class per broken promise.

Every message states the fact with its place and number, then what is required, then the way out.
All classes derive from :class:`LsmdpError`, so ``except lsmdp.LsmdpError`` catches a user's mistake
and nothing else; those about values are ``ValueError`` too.
"""

from __future__ import annotations

import reprlib
from numbers import Number
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsmdp.solution import Solution
    from lsmdp.values import Cycle, Schedule, Values


def told(value: object) -> str:
    """Whatever was given, as a sentence quotes it: in one short line."""
    plain = isinstance(value, Number) and not isinstance(value, int)  # of numpy, whose repr names the type
    return " ".join((str(value) if plain else reprlib.repr(value)).split())


class LsmdpError(Exception):
    """Anything that lsmdp raises on purpose."""


class ModelError(LsmdpError, ValueError):
    """The matrix is not a transition kernel, or its labels do not fit it."""


class AssumptionError(LsmdpError, ValueError):
    """The kernel is well formed, but an assumption of the theory (``ass:irred``, ...) does not hold."""


class CostError(LsmdpError, ValueError):
    """A cost vector or a distribution over states has the wrong length or an unusable value."""


class SpecError(LsmdpError, ValueError):
    """A name, a file or an option cannot be understood."""


class ConvergenceError(LsmdpError, RuntimeError):
    """No certificate of the requested width was found; ``solution`` holds the best one that was."""

    def __init__(self, message: str, solution: Solution | Values | Schedule | Cycle | None = None) -> None:
        super().__init__(message)
        self.solution = solution
