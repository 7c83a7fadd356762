"""``lsmdp compile``: afterwards, solves and games find everything compiled. And what holds meanwhile."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from click.testing import Result
from numba import njit, typeof
from numba.core import config
from numba.core.errors import TypingError

import lsmdp
from lsmdp._core import crowds
from lsmdp._core.compile import entry, inner, never_called, watched
from lsmdp._core.sparse import rows
from lsmdp.chain import is_reversible


def game(lmdp: lsmdp.LMDP, rounds: int = 200) -> None:
    costs = lsmdp.read_costs("iid", lmdp, rounds=rounds, seed=1)
    lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs).regret()


def test_nothing_is_left_to_compile(run: Callable[..., Result]) -> None:
    """In this process, where other tests may have compiled some of it before; what they have not is looked at.

    ``make test`` runs the command before all tests, and says so.
    """
    if "LSMDP_COMPILED" not in os.environ:
        assert run("compile").exit_code == 0
    compiled: list[str] = []
    with watched(compiled.append):
        lsmdp.solve(lsmdp.grid(30, 30), np.linspace(0, 1, 900))
        game(lsmdp.ring(12))
        game(lsmdp.grid(30, 30), rounds=20)
        game(lsmdp.random_graph(40, 40, seed=5))  # its laws are found from earlier ones
        lsmdp.simulate(lsmdp.random_graph(40, 4, seed=5), 9, walkers=2)
        policy = lsmdp.Policy(lsmdp.grid(3, 3), np.zeros(9)).matrix()
        assert is_reversible(policy.copy())  # which may be written to
    assert compiled == []


BOUNDS = "import lsmdp; print(lsmdp.__file__, *lsmdp.bounds(lsmdp.ring(5), [1, 2, 3, 4, 5], [0, 1, 2, 3, 4]))"


def test_loops_are_compiled_again_if_what_they_call_has_changed_or_their_files_are_damaged(tmp_path: Path) -> None:
    """The certificate is a loop of sparse.py; its logarithms are those of explog.py, with a false log 2 in the end."""
    package = tmp_path / "lsmdp"
    shutil.copytree(Path(lsmdp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def bounds(loops: Path) -> list[float]:
        command, place = [sys.executable, "-c", BOUNDS], {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(loops)}
        done = subprocess.run(command, env=os.environ | place, capture_output=True, text=True, check=True)
        file, *found = done.stdout.split()
        assert Path(file).parent == package
        return list(map(float, found))

    loops = tmp_path / "loops"
    right = bounds(loops)
    assert right == list(lsmdp.bounds(lsmdp.ring(5), [1, 2, 3, 4, 5], [0, 1, 2, 3, 4]))
    explog = package / "_core" / "explog.py"
    explog.write_text(explog.read_text().replace("_LOG2_LOW = 0.69", "_LOG2_LOW = 0.79"))
    wrong = bounds(tmp_path / "others")
    assert wrong != right
    assert bounds(loops) == wrong
    kept = sorted(path for path in loops.rglob("*") if path.suffix in (".nbi", ".nbc"))
    assert len(kept) > 4
    for k, path in enumerate(kept):
        path.write_bytes((b"\x80\x05.", path.read_bytes()[:-9], b"")[k % 3])
    assert bounds(loops) == wrong


@pytest.fixture(params=[True, False], ids=["collects", "does not"])
def collects(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether the process collects garbage, before it compiles anything."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_garbage_waits_while_our_loops_are_compiled(collects: bool) -> None:
    """Also for those that another one calls; and afterwards it is as before, even if one cannot be compiled."""

    def ours(function: Callable[..., object]) -> Callable[..., object]:
        function.__module__ = "lsmdp.made_up"
        return function

    half = inner(cache=False)(lambda x: x / 2)
    quarter = entry(cache=False)(ours(lambda x: half(x) / 2))
    wrong = entry(cache=False)(ours(lambda x: x.nothing))
    of_others = njit(lambda x: x + 1)
    meanwhile: list[bool] = []
    with watched(lambda _: meanwhile.append(gc.isenabled())):
        assert quarter(8.0) == 2.0
        assert gc.isenabled() is collects
        with pytest.raises(TypingError, match="nothing"):
            wrong(8.0)
        assert gc.isenabled() is collects
        assert of_others(1) == 2
    assert meanwhile == [False, False, False, collects]


@pytest.mark.parametrize("usual", [0, 1])
def test_numbers_are_taken_abreast_where_a_loop_says_so(usual: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And elsewhere as numba's switch says: in the loops that it calls, and in those that call it."""
    monkeypatch.setattr(config, "SLP_VECTORIZE", usual)
    third = inner(cache=False)(lambda x: x / 3)
    sixth = inner(cache=False, abreast=True)(lambda x: third(x) / 2)
    ninth = inner(cache=False)(lambda x: third(x) / 3)
    both = entry(cache=False)(lambda x: sixth(x) + ninth(x))
    compiled: list[int] = []
    with watched(lambda _: compiled.append(config.SLP_VECTORIZE)):
        assert both(18.0) == 5.0
    assert compiled == [usual, 1, usual, usual]  # both, sixth, third, ninth
    assert usual == config.SLP_VECTORIZE


@pytest.mark.skipif(version("numba").startswith("0.60."), reason="numba 0.60 reads its switch too early")
def test_four_experts_of_a_pool_are_taken_at_once() -> None:
    """In what LLVM makes of a product with P, and not without having been asked to."""
    arguments = rows(lsmdp.grid(5, 5).P), np.ones((5, 25)), np.ones((25, 4)), np.ones((8, 25))
    kinds, loop = tuple(map(typeof, arguments)), crowds._multiply.py_func
    for function, several in ((loop, True), (FunctionType(loop.__code__, vars(crowds)), False)):
        made = inner(cache=False, fastmath={"contract"})(function)
        made.compile(kinds)
        assert bool(re.search(r"fmul \w+ <\d x double>", made.inspect_llvm(kinds))) is several


def test_it_is_told_which_loops_were_never_called(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that Python can call; in the command it is an oversight of ours, and no success."""
    forgotten = entry(cache=False)(lambda x: x)
    forgotten.py_func.__module__, forgotten.py_func.__name__ = "lsmdp._core.made_up", "forgotten"
    assert "_core.made_up.forgotten" in never_called()
    monkeypatch.setattr("lsmdp.cli.compile.jobs", lambda: iter([("nothing", lambda: None)]))
    done = run("compile", "--json")
    assert done.exit_code == 1
    assert "_core.made_up.forgotten" in done.stdout
    assert "Not reached, and compiled when first called: " in done.stderr
    forgotten(1.0)
    assert "_core.made_up.forgotten" not in never_called()
