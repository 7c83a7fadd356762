"""What is kept with a model between two calls: the one cache of the library.

A model never changes, so what has been worked out about it once need not be worked out again. All of it is in
``lmdp.cache``, under names that can be listed, and ``lmdp.cache.clear()`` lets go of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Cache:
    """What has been worked out about one model and is kept with it, by name: ``lmdp.cache``.

    Everything in it can be made again from the model, bit for bit, so that ``clear()`` costs time and nothing else. It
    is the only place where the library keeps something between two calls that the caller does not hold.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def get(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """What is kept under this name; it is made first where there is nothing yet."""
        if name not in self._kept:
            self._kept[name] = make()
        found: Value = self._kept[name]
        return found

    def clear(self) -> None:
        """Let go of everything."""
        self._kept.clear()

    def __iter__(self) -> Iterator[Hashable]:
        return iter(tuple(self._kept))

    def __repr__(self) -> str:
        return f"Cache({', '.join(map(str, self._kept))})"


class Derived(Generic[Value]):
    """A property of a model that is worked out once, and kept in its cache under its own name: ``@Derived``."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, lmdp: Any, owner: type) -> Value:
        cache: Cache = lmdp.cache
        return cache.get(self.name, lambda: self.make(lmdp))
