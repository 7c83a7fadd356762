"""How loops are compiled: those that Python calls, and those that only compiled loops call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def entry(**options: Any) -> Callable[[Loop], Loop]:
    """How a loop is compiled that Python calls. None is ever handed to C: the way in from there is left out."""
    given: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    made: Callable[[Loop], Loop] = njit(**given)
    return made


def inner(**options: Any) -> Callable[[Loop], Loop]:
    """How a loop is compiled that only compiled loops call: a call from Python would crash.

    The way in would be compiled with it, and optimised again with everything that calls it.
    """
    return entry(no_cpython_wrapper=True, **options)
