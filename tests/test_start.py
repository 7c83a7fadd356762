"""What a start has to load and to compile: both are counted here, since times depend on the machine."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import lsmdp

SOURCES = sorted(Path(lsmdp.__file__).parent.rglob("*.py"))

# What a solve or a check of a usual model has no use for. numba brings scipy.linalg, and scipy.sparse.csgraph, which
# finds the classes of a chain, brings scipy.sparse.linalg.
HEAVY = {
    "asyncio",
    "dask",
    "gymnasium",
    "matplotlib",
    "multiprocessing.pool",
    "networkx",
    "pandas",
    "pyarrow",
    "rich.progress",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
}

COMPILED = re.compile(r"(njit|entry|inner)\b")  # a decorator

# Entries from Python into compiled code are counted where numba looks for the code of a new signature.
SESSION = """
import json
from collections import Counter

import numpy as np
from numba.core.dispatcher import _DispatcherBase

from lsmdp._core.explog import extremes
from lsmdp.cli.compile import compile_everything

signatures = Counter()
find = _DispatcherBase._compile_for_args


def counted(self, *arguments, **keywords):
    signatures[f"{self.py_func.__module__}.{self.py_func.__name__}"] += 1
    return find(self, *arguments, **keywords)


_DispatcherBase._compile_for_args = counted
compile_everything()
usual = dict(signatures)
extremes(np.zeros(3, dtype=np.float32))
print(json.dumps([usual, signatures["lsmdp._core.explog.extremes"]]))
"""
USED = {
    "lsmdp._core.chains.balance",
    "lsmdp._core.chord.rounds",
    "lsmdp._core.factor._factor",
    "lsmdp._core.full._lead",
    "lsmdp._core.ordering._fill",
    "lsmdp._core.paths._settle",
    "lsmdp._core.sparse._certify",
    "lsmdp._core.sparse_play._compare",
    "lsmdp._core.sweeps.rounds",
}
# An inverse is kept in single or in double precision.
PRECISIONS = {"lsmdp._core.full._lead": 2}


def printed_by(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(*commands: str) -> set[str]:
    """Which of the heavy modules some commands import."""
    script = f"""
import sys
from lsmdp.cli import app
for command in sys.argv[1:]:
    app(command.split(), standalone_mode=False)
print(*sorted({HEAVY!r} & set(sys.modules)))
"""
    return set(printed_by(script, *commands).splitlines()[-1].split())


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def compiled_functions(source: str) -> list[ast.FunctionDef]:
    if not re.search(rf"^ *@(\w+\.)*{COMPILED.pattern}", source, flags=re.MULTILINE):
        return []
    functions = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.FunctionDef))
    return [one for one in functions if any(COMPILED.match(ast.unparse(line)) for line in one.decorator_list)]


def named(sources: Iterable[str], word: str) -> set[str]:
    """The compiled functions with this word in their decorators."""
    found = (one for source in sources for one in compiled_functions(source))
    return {one.name for one in found if any(word in ast.unparse(line) for line in one.decorator_list)}


def calls(node: ast.AST, names: set[str]) -> list[ast.Call]:
    """Calls of ``name(...)`` and ``any.name(...)``."""
    found = (one for one in ast.walk(node) if isinstance(one, ast.Call))
    return [one for one in found if getattr(one.func, "attr", getattr(one.func, "id", "")) in names]


def calls_from_python(source: str, inner: set[str]) -> list[str]:
    """Calls of ``inner`` loops from outside compiled functions; a name that is private, or defined here, is of here."""
    if not any(f"{name}(" in source for name in inner):  # most sources, which need not be read further
        return []
    here = {one.name for one in ast.walk(parsed(source)) if isinstance(one, ast.FunctionDef)}
    own = {name for name in inner - here if not name.startswith("_")} | named([source], "inner(")
    compiled = {id(call) for one in compiled_functions(source) for call in calls(one, own)}
    everywhere = calls(parsed(source), own)
    return [ast.unparse(call) for call in everywhere if id(call) not in compiled]


def literals_handed_on(source: str, loops: set[str]) -> list[str]:
    """Calls from one compiled loop to another with an integer or a truth value written out."""
    found = (call for one in compiled_functions(source) for call in calls(one, loops))
    literal = ((call, one.value) for call in found for one in call.args if isinstance(one, ast.Constant))
    return [ast.unparse(call) for call, value in literal if isinstance(value, int)]


def slices_filled(source: str) -> list[str]:
    """Assignments of arrays to slices in compiled functions; a number may be assigned to one."""
    found = []
    for function in compiled_functions(source):
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign | ast.AugAssign) or isinstance(node.value, ast.Constant):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Subscript)]
            if any(isinstance(inner, ast.Slice) for part in parts for inner in ast.walk(part.slice)):
                found.append(f"{function.name}: {ast.unparse(node)}")
    return found


def test_a_solve_imports_what_it_needs() -> None:
    assert loaded_by("solve grid:6x6 --cost hill", "solve ring:9 --cost hill") == set()


def test_a_game_imports_pyarrow_for_its_rounds_and_bars_for_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = loaded_by("play grid:4x4 --costs iid --rounds 5 --out run")
    assert loaded - {"pandas"} == {
        "pyarrow",
        "rich.progress",
    }  # pyarrow loads pandas where it is installed


def test_every_loop_is_compiled_for_one_kind_of_arguments() -> None:
    usual, of_extremes = json.loads(printed_by(SESSION))
    assert usual.keys() >= USED
    assert {name: count for name, count in usual.items() if count > 1} == PRECISIONS
    assert of_extremes == 2  # another kind is counted


def test_no_compiled_loop_assigns_an_array_to_a_slice() -> None:
    """It would compile the message for arrays of different shapes with it, which takes seconds."""
    assert [found for path in SOURCES for found in slices_filled(path.read_text())] == []


@pytest.mark.parametrize("line", ["a[:] = b", "a[1:n] += b", "a[0, :], c = b, 1", "a[:n], c[:n] = b, d"])
def test_an_array_assigned_to_a_slice_is_found(line: str) -> None:
    function = "@njit(cache=True)\ndef f(a, b, c, d, n):\n    "
    assert slices_filled(function + line)
    assert not slices_filled(function + "a[:] = 0.0")
    assert not slices_filled(function + "a[0] = b[1:n]")
    assert not slices_filled(line)


def test_loops_without_a_way_in_are_called_by_compiled_ones_only() -> None:
    """Python would crash; a test of such a loop goes through what calls it."""
    sources = [path.read_text() for path in SOURCES]
    inner = named(sources, "inner(")
    assert {"flat_sums", "_pass_on", "_look"} <= inner
    tests = [path.read_text() for path in sorted(Path(__file__).parent.rglob("test_*.py"))]
    assert [call for source in sources + tests for call in calls_from_python(source, inner)] == []


def test_a_call_from_python_is_found() -> None:
    loops = "@inner()\ndef _f(a):\n    return a\n\n@entry()\ndef g(a):\n    return _f(a)\n\n"
    inner = named([loops], "inner(")
    assert inner == {"_f"}
    assert calls_from_python(loops, inner) == []
    assert calls_from_python(loops + "def h(a):\n    return _f(a)", inner) == ["_f(a)"]
    assert calls_from_python("def h(a):\n    return kernels.f(a)", {"f"}) == ["kernels.f(a)"]


def test_no_compiled_loop_hands_on_an_integer_written_out() -> None:
    """Numba compiles what is called for just that integer, next to the same for any other."""
    sources = [path.read_text() for path in SOURCES]
    loops = named(sources, "") - named(sources, "inline")
    assert [found for source in sources for found in literals_handed_on(source, loops)] == []


def test_an_integer_written_out_is_found() -> None:
    function = "@entry()\ndef g(a):\n    return "
    assert literals_handed_on(function + "f(a, 0)", {"f"}) == ["f(a, 0)"]
    assert literals_handed_on(function + "k.f(a, True)", {"f"}) == ["k.f(a, True)"]
    assert literals_handed_on(function + "f(a, np.int64(0), 0.0) + a.sum(0)", {"f"}) == []
