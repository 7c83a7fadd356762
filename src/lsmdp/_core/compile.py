"""How loops are compiled: those that Python calls, and those that only compiled loops call.

``entry()`` and ``inner()`` are the decorators for the two kinds. Compiled loops are kept on disk, beside the sources or
where NUMBA_CACHE_DIR says, so that only the first call waits. numba alone would use a loop again as long as its own
file is the same, though it holds what it has called from other files, and stumble over a kept file that is damaged.
Ours are used again only if no source of any loop has changed, and what cannot be read is compiled again
(:class:`_LoopsOnDisk`).

While numba compiles one of these loops, two things are not as usual (:class:`_WhileCompiling`):

- Python's garbage collector waits, for the whole process. Of the millions of small objects that numba makes, it would
  find hardly any to be garbage, and to look through them takes a twentieth of a first call.
- Loops with ``abreast`` have LLVM take a few numbers that lie side by side at once ("superword-level parallelism"), as
  it takes many steps of a loop at once by itself. numba has a switch for that (NUMBA_SLP_VECTORIZE), but only one for
  all functions of a process, and most of them take longer to compile and gain nothing. numba 0.60 reads its switch too
  early to heed this.
"""

from __future__ import annotations

import gc
import hashlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import config, event
from numba.core.caching import IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., Any])

_numba: Any = config  # It sets its switches at run time, so that their types are not known.
_abreast: set[Any] = set()  # These loops were declared so.
_entries: list[Any] = []  # These loops have a way in from Python.


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
        loop = made(function)
        if given["cache"] and not _numba.DISABLE_JIT:
            kept: Any = loop._cache  # type: ignore[attr-defined]
            kept._cache_file = _LoopsOnDisk.like(kept._cache_file)
        if abreast:
            _abreast.add(function)
        if "no_cpython_wrapper" not in options:
            _entries.append(loop)
        return loop

    return declared


def inner(*, allocates: bool = False, abreast: bool = False, **options: Any) -> Callable[[Function], Function]:
    """How a loop is compiled that only compiled loops call: a call from Python would crash.

    The way in would be compiled with it, and optimised again with everything that calls it.
    """
    return entry(allocates=allocates, abreast=abreast, no_cpython_wrapper=True, **options)


class _LoopsOnDisk(IndexDataCacheFile):
    """The kinds of one loop that are kept on disk: an index of them, and a file for each.

    An index that names a type of an older version, or that is damaged, is as good as none.
    """

    @classmethod
    def like(cls, other: Any) -> _LoopsOnDisk:
        """The same files, but good only for the sources as they are."""
        return cls(other._cache_path, other._index_name.removesuffix(".nbi"), digest_of_sources())

    def _load_index(self) -> dict[Any, str]:
        try:
            found: dict[Any, str] = super()._load_index()  # type: ignore[no-untyped-call]
        except Exception:  # what a damaged pickle ends in has no bounds
            return {}
        return found

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)  # type: ignore[no-untyped-call]
        except Exception as broken:
            raise OSError(f"{name} cannot be read") from broken  # which numba takes for absent


@cache
def digest_of_sources() -> str:
    """A hash of all that compiled loops are made from: the files of this package, and arrays.py with its constants."""
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "arrays.py"]
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()


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


def never_called() -> list[str]:
    """Loops with a way in from Python that were not called in this process, so that they may not be compiled yet."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        import_module(module.name)
    ours = (loop for loop in _entries if loop.py_func.__module__.startswith(f"{__package__}."))
    return sorted(_short(loop.py_func) for loop in ours if not loop.signatures)


class _WhileCompiling(event.Listener):
    """What is not as usual while a loop is compiled, and as it was afterwards; numba compiles one loop at a time.

    The compilation of a loop may wait for that of another, which it calls.
    """

    def __init__(self) -> None:
        self.collects, self.switches = False, list[int]()

    def on_start(self, one: Any) -> None:
        """The switch is set for this loop; those that wait have left theirs in ``switches``."""
        function = getattr(one.data.get("dispatcher"), "py_func", None)
        self.switches.append(_numba.SLP_VECTORIZE)
        _numba.SLP_VECTORIZE = int(function in _abreast or self.switches[0])
        if len(self.switches) == 1 and getattr(function, "__module__", "").startswith("lsmdp."):
            self.collects = gc.isenabled()
            gc.disable()

    def on_end(self, _: Any) -> None:
        """The switch is that of whoever waits for this loop; garbage is collected again if it was before."""
        _numba.SLP_VECTORIZE = self.switches.pop()
        if not self.switches and self.collects:
            self.collects = False
            gc.enable()


event.register("numba:compile", _WhileCompiling())  # type: ignore[no-untyped-call]


def _name(compiling: Any) -> str:
    if "dispatcher" not in compiling.data:
        return "a function"
    return _short(compiling.data["dispatcher"].py_func)


def _short(function: Any) -> str:
    return f"{function.__module__.removeprefix('lsmdp.')}.{function.__name__}"
