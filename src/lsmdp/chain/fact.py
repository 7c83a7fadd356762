"""A :class:`Fact` is a number about a chain, or the reason why it was not computed.

Some numbers are computed exactly only up to a certain size of the chain.
"""

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
