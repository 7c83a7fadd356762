"""A number about a chain, or the reason why there is none: what is exact only up to some size is returned as this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", int, float)


@dataclass(frozen=True)
class Fact(Generic[T]):
    """An exact ``value``, or None with the ``reason``, and then perhaps an upper ``bound`` and what it is called."""

    value: T | None = None
    reason: str = ""
    bound: float | None = None
    bound_name: str = ""


def too_large(n: int, limit: int) -> str:
    """The usual reason."""
    return f"{n:,} states; exact to {limit:,}"
