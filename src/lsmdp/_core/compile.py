"""How loops are compiled: those that Python calls, and those that only compiled loops call.

``entry()`` and ``inner()`` are the decorators for the two kinds. Compiled loops are kept on disk, beside the sources or
where NUMBA_CACHE_DIR says, so that only the first call waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import config, event

Function = TypeVar("Function", bound=Callable[..., Any])


def entry(*, allocates: bool = False, **options: Any) -> Callable[[Function], Function]:
    """How a loop is compiled that Python calls. None is ever handed to C: the way in from there is left out.

    Other threads run meanwhile. All loops have that option, since numba compiles what they have in common once for each
    set of options.

    A loop that makes no arrays of its own does not count references to those that it is given, either: Python holds
    them meanwhile. To count one takes some seven nanoseconds; on 50 states that would be a tenth of a round.
    """
    given: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
    given |= {"_nrt": allocates, **options}
    made: Callable[[Function], Function] = njit(**given)
    return made


def inner(*, allocates: bool = False, **options: Any) -> Callable[[Function], Function]:
    """How a loop is compiled that only compiled loops call: a call from Python would crash.

    The way in would be compiled with it, and optimised again with everything that calls it.
    """
    return entry(allocates=allocates, no_cpython_wrapper=True, **options)


def cache_folder() -> str:
    """Where compiled loops are kept: the folder that NUMBA_CACHE_DIR names, or those beside the sources."""
    return str(getattr(config, "CACHE_DIR", "") or Path(__file__).parent / "__pycache__")


@contextmanager
def watched(begins: Callable[[str], None], ends: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Meanwhile, both are called with the name of each loop that is compiled, as its compilation begins and ends."""

    class Watch(event.Listener):
        def on_start(self, one: Any) -> None:
            begins(_name(one))

        def on_end(self, one: Any) -> None:
            ends(_name(one))

    with event.install_listener("numba:compile", Watch()):
        yield


def _name(compiling: Any) -> str:
    if "dispatcher" not in compiling.data:
        return "a function"
    loop = compiling.data["dispatcher"].py_func
    return f"{loop.__module__.removeprefix('lsmdp.')}.{loop.__name__}"
