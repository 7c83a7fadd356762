"""How loops are compiled: those that Python calls, and those that only compiled loops call.

``entry()`` and ``inner()`` are the decorators for the two kinds. Compiled loops are kept on disk, beside the sources or
where NUMBA_CACHE_DIR says, so that only the first call waits.

While numba compiles, two things are not as usual (:class:`_WhileCompiling`):

- Python's garbage collector waits. Of the millions of small objects that numba makes, it would find hardly any to be
  garbage, and to look through them takes a twentieth of a first call.
- Loops with ``abreast`` have LLVM take a few numbers that lie side by side at once ("superword-level parallelism"), as
  it takes many steps of a loop at once by itself. numba has a switch for that (NUMBA_SLP_VECTORIZE), but only one for
  all functions of a process, and most of them take longer to compile and gain nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import config, event

Function = TypeVar("Function", bound=Callable[..., Any])

_numba: Any = config  # It sets its switches at run time, so that their types are not known.
_abreast: set[Any] = set()  # The loops that were declared so.


def entry(*, allocates: bool = False, abreast: bool = False, **options: Any) -> Callable[[Function], Function]:
    """How a loop is compiled that Python calls. None is ever handed to C: the way in from there is left out.

    Other threads run meanwhile. All loops have that option, since numba compiles what they have in common once for each
    set of options.

    A loop that makes no arrays of its own does not count references to those that it is given, either: Python holds
    them meanwhile. To count one takes some seven nanoseconds; on 50 states that would be a tenth of a round.
    """
    given: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
    given |= {"_nrt": allocates, **options}
    made: Callable[[Function], Function] = njit(**given)

    def declared(function: Function) -> Function:
        if abreast:
            _abreast.add(function)
        return made(function)

    return declared


def inner(*, allocates: bool = False, abreast: bool = False, **options: Any) -> Callable[[Function], Function]:
    """How a loop is compiled that only compiled loops call: a call from Python would crash.

    The way in would be compiled with it, and optimised again with everything that calls it.
    """
    return entry(allocates=allocates, abreast=abreast, no_cpython_wrapper=True, **options)


def cache_folder() -> str:
    """Where compiled loops are kept: the folder that NUMBA_CACHE_DIR names, or those beside the sources."""
    return str(_numba.CACHE_DIR or Path(__file__).parent / "__pycache__")


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


class _WhileCompiling(event.Listener):
    """What is not as usual while a loop is compiled, and as it was afterwards; numba compiles one loop at a time.

    The compilation of a loop may wait for that of another, which it calls.
    """

    def __init__(self) -> None:
        self.collects, self.switches = True, list[int]()

    def on_start(self, one: Any) -> None:
        """The switch is set for this loop; those that wait have left theirs in ``switches``."""
        if not self.switches:
            self.collects = gc.isenabled()
            gc.disable()
        self.switches.append(_numba.SLP_VECTORIZE)
        dispatcher = one.data.get("dispatcher")
        _numba.SLP_VECTORIZE = int(getattr(dispatcher, "py_func", None) in _abreast or self.switches[0])

    def on_end(self, _: Any) -> None:
        """The switch is that of whoever waits for this loop."""
        _numba.SLP_VECTORIZE = self.switches.pop()
        if not self.switches and self.collects:
            gc.enable()


event.register("numba:compile", _WhileCompiling())  # type: ignore[no-untyped-call]


def _name(compiling: Any) -> str:
    if "dispatcher" not in compiling.data:
        return "a function"
    loop = compiling.data["dispatcher"].py_func
    return f"{loop.__module__.removeprefix('lsmdp.')}.{loop.__name__}"
