"""Every kind of bad input: a sentence that can be acted on, exit code 2, no traceback, nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from typer.testing import Result

Run = Callable[..., Result]


def saved(matrix: Any) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        np.save(folder / "P.npy", np.asarray(matrix))
        return str(folder / "P.npy")

    return write


def text(content: str, name: str = "P.csv") -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        (folder / name).write_text(content)
        return str(folder / name)

    return write


def truncated(folder: Path) -> str:
    sparse.save_npz(folder / "P.npz", sparse.eye_array(50, format="csr"))
    content = (folder / "P.npz").read_bytes()
    (folder / "P.npz").write_bytes(content[: len(content) // 2])
    return str(folder / "P.npz")


def pickled(folder: Path) -> str:
    np.save(folder / "P.npy", np.array([[1.0, None]], dtype=object), allow_pickle=True)
    return str(folder / "P.npy")


def folder_itself(folder: Path) -> str:
    return str(folder)


def named(spec: str) -> Callable[[Path], str]:
    return lambda _: spec


BAD_KERNELS: dict[str, tuple[Callable[[Path], str], str, list[str]]] = {
    "not square": (saved(np.ones((2, 3)) / 3), "ModelError", ["P has shape 2 x 3", "must be square", "from_edges"]),
    "nan": (saved([[np.nan, 1], [0, 1]]), "ModelError", ["P[0, 0] is nan", "finite number"]),
    "infinite": (saved([[0.5, 0.5], [np.inf, 1]]), "ModelError", ["P[1, 0] is inf", "finite number"]),
    "negative": (saved([[1.5, -0.5], [0, 1]]), "ModelError", ["P[0, 1] is -0.5", "cannot be negative"]),
    "row sum 0.97": (
        saved([[0.5, 0.5], [0.5, 0.47]]),
        "ModelError",
        ["row 1 of P sums to 0.97, not 1", "law of the next state", "--normalise"],
    ),
    "row sum 0": (
        saved([[0.5, 0.5], [0.0, 0.0]]),
        "ModelError",
        ["state 1 has no successor", "row 1 of P is zero", "self-loop", "largest_class", "teleport"],
    ),
    "empty": (saved(np.empty((0, 0))), "ModelError", ["P is empty (0 x 0)", "at least one state"]),
    "empty file": (text(""), "SpecError", ["P.csv", "the file is empty"]),
    "word": (text("0.5,0.5\n" * 6 + "0.5,half\n"), "SpecError", ["line 7, column 2", '"half"', "not a number"]),
    "truncated": (truncated, "SpecError", ["P.npz", "truncated", "scipy.sparse.save_npz"]),
    "pickled": (pickled, "SpecError", ["P.npy", "pickled objects", "never loaded", "numpy.save"]),
    "folder": (folder_itself, "SpecError", ["is a folder", ".npz, .npy, .mtx, .csv, .tsv, .txt, .parquet"]),
    "missing": (named("nowhere/P.npz"), "SpecError", ['"nowhere/P.npz" does not exist', 'no folder "nowhere"']),
    "unknown ending": (text("1", "P.docx"), "SpecError", ['ends in ".docx"', "Use .npz"]),
    "unknown name": (
        named("grd:30x30"),
        "SpecError",
        ['"grd:30x30" is neither a file nor a known name', 'Did you mean "grid:30x30"?', "Names: grid:ROWSxCOLS"],
    ),
    "bad arguments": (named("grid:3"), "SpecError", ['"grid:3" cannot be read as grid:ROWSxCOLS', "grid:30x30"]),
    "no cells": (named("grid:0x3"), "ModelError", ["a grid of 0 x 3 has no cell", "at least 1"]),
    "too large": (named("grid:1000000x1000000"), "ModelError", ["5e+12 entries", "Use fewer states"]),
}


def assert_complaint(result: Any, kind: str, parts: list[str]) -> None:
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"{kind}: ")
    for part in parts:
        assert part in result.stderr


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("write", "kind", "parts"), BAD_KERNELS.values(), ids=BAD_KERNELS)
def test_bad_kernels(
    run: Run, tmp_path: Path, write: Callable[[Path], str], kind: str, parts: list[str], as_json: bool
) -> None:
    kernel = write(tmp_path)
    before = sorted(tmp_path.iterdir())
    flags = ["--json"] if as_json else []
    assert_complaint(run("check", kernel, *flags), kind, parts)
    assert_complaint(run("solve", kernel, "--cost", "hill", "--out", tmp_path / "s.npz", *flags), kind, parts)
    assert sorted(tmp_path.iterdir()) == before


BAD_COSTS: dict[str, tuple[Callable[[Path], str], str, list[str]]] = {
    "wrong length": (text("1\n2\n", "c.csv"), "CostError", ["the cost has 2 values", "the model has 4 states"]),
    "nan": (text("1\n2\nnan\n4\n", "c.csv"), "CostError", ["the cost[2] is nan", "finite number"]),
    "infinite": (text("1\n-inf\n3\n4\n", "c.csv"), "CostError", ["the cost[1] is -inf", "finite number"]),
    "word": (text("1\n2\nthree\n4\n", "c.csv"), "SpecError", ["c.csv", "line 3, column 1", '"three"']),
    "missing": (named("c.npy"), "SpecError", ['"c.npy" does not exist']),
    "pickled": (pickled, "SpecError", ["P.npy", "pickled objects", "never loaded"]),
    "unknown name": (named("hil"), "SpecError", ['Did you mean "hill"?', "Names: hill, uniform[:COST], zero, ran"]),
    "bad arguments": (named("random:x"), "SpecError", ['"random:x" cannot be read as random:SEED']),
    "bad seed": (named("random:-1"), "CostError", ["the seed is -1"]),
}


@pytest.mark.parametrize(("write", "kind", "parts"), BAD_COSTS.values(), ids=BAD_COSTS)
def test_bad_costs(run: Run, tmp_path: Path, write: Callable[[Path], str], kind: str, parts: list[str]) -> None:
    cost = write(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert_complaint(run("solve", "grid:2x2", "--cost", cost, "--out", tmp_path / "s.npz"), kind, parts)
    assert sorted(tmp_path.iterdir()) == before


def test_a_reducible_chain_cannot_be_solved(run: Run, tmp_path: Path) -> None:
    kernel = saved([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])(tmp_path)
    result = run("solve", kernel, "--cost", "hill", "--out", tmp_path / "s.npz")
    assert_complaint(
        result,
        "AssumptionError",
        ["P is not irreducible", "1 of 3 states", "state 2", "--largest-class", "--teleport 0.01"],
    )
    assert not (tmp_path / "s.npz").exists()
    assert run("solve", kernel, "--cost", "hill", "--largest-class").exit_code == 0
    assert run("solve", kernel, "--cost", "hill", "--teleport", "0.01").exit_code == 0


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--temperature", "0"], ["the temperature is 0.0", "must be a positive number"]),
        (["--temperature", "nan"], ["the temperature is nan"]),
        (["--teleport", "1.5"], ["teleport takes a probability strictly between 0 and 1, not 1.5"]),
        (["--lazy", "-0.1"], ["lazy takes a probability strictly between 0 and 1, not -0.1"]),
        (["--tol", "-1"], ["-1"]),
        (["--tol", "nan"], ["nan"]),
    ],
)
def test_bad_options(run: Run, flags: list[str], parts: list[str]) -> None:
    result = run("solve", "grid:2x2", "--cost", "hill", *flags)
    assert result.exit_code == 2
    assert result.stdout == ""
    for part in parts:
        assert part in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "grid:2x2"],
        ["solve", "--cost", "hill"],
        ["solve", "grid:2x2", "--cost", "hill", "--tol", "small"],
        ["solve", "grid:2x2", "--cost", "hill", "--fast"],
        ["sovle", "grid:2x2"],
    ],
)
def test_what_the_parser_refuses_is_exit_2_too(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr


class TestOutputPlaces:
    def refused(self, run: Run, out: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        def never(*_: object, **__: object) -> None:
            raise AssertionError("the place must be checked before the work is done")

        monkeypatch.setattr("lsmdp.solvers.solve", never)
        result = run("solve", "grid:2x2", "--cost", "hill", "--out", out)
        assert result.exit_code == 2
        assert result.stderr.startswith("SpecError: ")
        return str(result.stderr)

    def test_a_missing_folder(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        message = self.refused(run, tmp_path / "no" / "s.npz", monkeypatch)
        assert "s.npz" in message
        assert "cannot be written: No such file or directory. Choose another place with --out" in message
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_a_file(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").touch()
        message = self.refused(run, tmp_path / "file" / "s.npz", monkeypatch)
        assert "cannot be written: Not a directory" in message
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_a_place_that_is_a_folder(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "s.npz").mkdir()
        assert "is a folder. Name a file with --out" in self.refused(run, tmp_path / "s.npz", monkeypatch)

    def test_another_ending(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        message = self.refused(run, tmp_path / "s.txt", monkeypatch)
        assert "does not end in .npz, .csv or .parquet" in message
        assert "s.npz" in message
        assert list(tmp_path.iterdir()) == []

    def test_no_permission(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Root may write anywhere, so the refusal is simulated."""

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("lsmdp.files.os.open", refuse)
        assert "cannot be written: Permission denied" in self.refused(run, tmp_path / "s.npz", monkeypatch)


def test_in_a_real_process(tmp_path: Path) -> None:
    """One of those above: what is said does not depend on the process, but how it is said and how it exits might."""
    write, kind, parts = BAD_KERNELS["truncated"]
    kernel = write(tmp_path)
    before = sorted(tmp_path.iterdir())
    script = "from lsmdp.cli import main; main()"
    command = [sys.executable, "-c", script, "solve", kernel, "--cost", "hill", "--out", str(tmp_path / "s.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"{kind}: ")
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr
    assert sorted(tmp_path.iterdir()) == before
