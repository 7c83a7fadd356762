"""The command line as a user meets it: what it prints, what it writes, how it exits."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numba.core import event
from rich.console import Console
from scipy import sparse
from typer.testing import Result

import lsmdp
from lsmdp.cli.base import COMPILING, complaints
from lsmdp.errors import ConvergenceError
from lsmdp.output.pictures import (
    RAMP,
    SHADES,
    fitted,
    palette,
    pictures,
    raster,
)
from lsmdp.sources import COSTS, makers

Run = Callable[..., Result]

SOLVE_KEYS = {
    "states",
    "entries",
    "average_cost",
    "bounds",
    "gap",
    "value_span",
    "solver",
    "iterations",
    "seconds",
    "status",
}


def lsmdp_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The real program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from lsmdp.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )


class TestHelp:
    @pytest.mark.parametrize("flag", ["-h", "--help"])
    def test_the_program_lists_its_commands(self, run: Run, flag: str) -> None:
        result = run(flag)
        assert result.exit_code == 0
        for command in ("check", "solve", "demo"):
            assert command in result.stdout

    @pytest.mark.parametrize("command", ["check", "solve"])
    def test_a_command_lists_names_and_repairs(self, run: Run, command: str) -> None:
        text = " ".join(run(command, "-h").stdout.split())
        for word in (
            "grid:ROWSxCOLS",
            "clusters:K:SIZE:LINK",
            "--normalise",
            "--largest-class",
            "--teleport",
            "--lazy",
        ):
            assert word in text

    def test_solve_lists_the_costs(self, run: Run) -> None:
        lines = [line.split() for line in run("solve", "--help").stdout.splitlines()]
        for name in COSTS.values():
            assert [name.usage, *name.meaning.split()] in lines

    def test_version(self, run: Run) -> None:
        assert run("--version").stdout == f"lsmdp {lsmdp.__version__}\n"

    def test_as_a_module(self) -> None:
        """``python -m lsmdp`` is for an environment whose scripts are not on the path."""
        done = subprocess.run([sys.executable, "-m", "lsmdp", "--version"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, f"lsmdp {lsmdp.__version__}\n")

    def test_help_is_quick(self) -> None:
        """Half a second is what a person takes for immediate: of the processor, since machines are shared."""
        times = []
        for _ in range(3):
            before = os.times()
            assert lsmdp_process("--help").returncode == 0
            after = os.times()
            times.append(after.children_user + after.children_system - before.children_user - before.children_system)
        assert min(times) < 0.5


class TestCheck:
    def test_a_good_chain(self, run: Run) -> None:
        result = run("check", "grid:4x4")
        assert result.exit_code == 0
        assert "ass:irred" in result.stdout
        assert "16 states" in result.stdout

    def test_a_periodic_chain_is_reported(self, run: Run) -> None:
        result = run("check", "ring:4:1")
        assert result.exit_code == 1
        assert "period 4" in result.stdout
        assert run("check", "ring:4:1", "--lazy", "0.1").exit_code == 0

    def test_a_reducible_chain_is_reported(self, run: Run, tmp_path: Path) -> None:
        np.save(tmp_path / "P.npy", [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
        result = run("check", tmp_path / "P.npy")
        assert result.exit_code == 1
        assert "--largest-class" in result.stdout
        assert run("check", tmp_path / "P.npy", "--largest-class").exit_code == 0
        assert run("check", tmp_path / "P.npy", "--teleport", "0.01").exit_code == 0

    @pytest.mark.parametrize(
        ("edges", "flags", "code"),
        [
            ("a,b,1\nb,a,2.5\nb,c,2\nd,a,1\n", [], 2),  # a dead end, proportions, a period, a state nobody enters
            ("a,b,1\nb,a,2.5\nb,c,2\nd,a,1\n", ["--normalise"], 2),
            ("a,b,1\nb,a,1\n", [], 1),
            ("a,b,1\nb,c,1\nc,c,1\n", [], 1),
            ("a,b,1\nb,a,2.5\nb,b,1\n", [], 2),
        ],
    )
    def test_a_repair_is_a_command_to_paste(
        self, run: Run, tmp_path: Path, edges: str, flags: list[str], code: int
    ) -> None:
        path = tmp_path / "my roads.csv"
        path.write_text("from,to,weight\n" + edges)
        result = run("check", path, *flags)
        assert result.exit_code == code
        text = result.stdout.partition("Ready to paste")[2] if code == 1 else result.stderr
        commands = [line[line.index("lsmdp check") :] for line in text.splitlines() if "lsmdp check" in line]
        assert commands
        for command in commands:
            words = shlex.split(command)
            assert words[:3] == ["lsmdp", "check", str(path)]
            assert set(flags) <= set(words)
            repaired = run(*words[1:])
            assert repaired.exit_code == 0
            solve = shlex.split(repaired.stdout.splitlines()[-1])
            assert solve[:3] == ["lsmdp", "solve", str(path)]
            assert run(*solve[1:]).exit_code == 0

    def test_what_is_pasted_says_all_that_was_said(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("-it's.csv").write_text("from,to,weight\na,b,1\nb,a,3\nb,b,1\n")
        result = run("check", "--normalise", "--lazy", "0.25", "--", "-it's.csv")
        assert result.exit_code == 0
        command = shlex.join(["lsmdp", "solve", "./-it's.csv", "--normalise", "--lazy", "0.25", "--cost", "hill"])
        assert result.stdout.splitlines()[-1] == f"  {command}"
        assert f"Nothing to repair. {command}" in " ".join(result.stdout.split())
        assert run(*shlex.split(command)[1:]).exit_code == 0
        Path("-log.jsonl").write_text('["a", "b", "a", "a", "c"]\n')
        result = run("fit", "--smoothing", "0", "--holdout", "0", "--out=-k.npz", "--", "-log.jsonl")
        assert result.exit_code == 2
        (note,) = [line for line in result.stderr.splitlines() if line.startswith("Ready to paste: ")]
        result = run(*shlex.split(note.removeprefix("Ready to paste: "))[1:])
        assert result.exit_code == 0
        assert "smoothing   0 added" in result.stdout
        assert "held out    nothing" in result.stdout
        assert run(*shlex.split(result.stdout.partition("Look at it with: ")[2])[1:]).exit_code == 0

    def test_other_trouble_has_no_command(self, run: Run, tmp_path: Path) -> None:
        np.save(tmp_path / "P.npy", [[1.5, -0.5], [0.5, 0.5]])
        result = run("check", tmp_path / "P.npy")
        assert result.exit_code == 2
        assert "Ready to paste" not in result.stderr

    def test_json_is_one_object(self, run: Run) -> None:
        result = run("check", "ring:5", "--json")
        content = json.loads(result.stdout)
        assert content["states"] == 5
        assert content["assumptions"]["ass:irred"] is True
        assert result.stderr == ""

    def test_normalise(self, run: Run, tmp_path: Path) -> None:
        np.save(tmp_path / "C.npy", [[3, 1], [1, 3]])
        assert run("check", tmp_path / "C.npy").exit_code == 2
        assert run("check", tmp_path / "C.npy", "--normalise").exit_code == 0


class TestSolve:
    def test_json_has_the_promised_keys(self, run: Run) -> None:
        result = run("solve", "grid:5x5", "--cost", "hill", "--json")
        assert (result.exit_code, result.stderr) == (0, "")
        content = json.loads(result.stdout)
        assert set(content) == SOLVE_KEYS
        assert (content["states"], content["entries"]) == (25, makers.grid(5, 5).nnz)
        low, high = content["bounds"]
        assert low <= content["average_cost"] <= high
        assert content["gap"] <= 1e-10

    def test_explain_tells_what_the_solver_did(self, run: Run) -> None:
        result = run("solve", "grid:30x30", "--cost", "hill", "--explain")
        assert (result.exit_code, result.stderr) == (0, "")
        for words in ("power: 20 steps", "LAPACK takes less", "dense: "):
            assert words in result.stdout
        assert "LAPACK takes less" not in run("solve", "grid:30x30", "--cost", "hill").stdout
        content = json.loads(run("solve", "grid:30x30", "--cost", "hill", "--explain", "--json").stdout)
        assert set(content) == SOLVE_KEYS | {"story"}
        assert content["story"][0].startswith("power: 20 steps")

    def test_a_constant_cost_is_the_average_cost(self, run: Run) -> None:
        content = json.loads(run("solve", "ring:7", "--cost", "uniform", "--json").stdout)
        assert content["bounds"][0] <= 0.5 <= content["bounds"][1]

    def test_the_answer_is_that_of_the_library(self, run: Run) -> None:
        lmdp = lsmdp.read_model("random:60:4:1", temperature=0.5, lazy=0.1)
        solution = lsmdp.solve(lmdp, lsmdp.read_cost("random:2", lmdp))
        arguments = ["random:60:4:1", "--cost", "random:2", "--temperature", "0.5", "--lazy", "0.1", "--json"]
        low, high = json.loads(run("solve", *arguments).stdout)["bounds"]
        assert low <= solution.bounds[1]
        assert high >= solution.bounds[0]

    def test_the_file_holds_the_certified_solution(self, run: Run, tmp_path: Path) -> None:
        out = tmp_path / "solution.npz"
        result = run("solve", "grid:4x5", "--cost", "hill", "--out", out, "--json")
        low, high = json.loads(result.stdout)["bounds"]
        lmdp = makers.grid(4, 5)
        c = lsmdp.read_cost("hill", lmdp)
        with np.load(out, allow_pickle=False) as arrays:
            assert set(arrays.files) == {"v", "mu", "Q_data", "Q_indices", "Q_indptr", "cost", "origin"}
            v, mu = arrays["v"], arrays["mu"]
            Q = sparse.csr_array((arrays["Q_data"], arrays["Q_indices"], arrays["Q_indptr"]), shape=(20, 20)).toarray()
        P = lmdp.P.toarray()
        residual = c - np.log(P @ np.exp(-v)) - v
        rounding = 1e-13  # a few roundings of numbers of order 1
        assert low - rounding <= residual.min() <= residual.max() <= high + rounding
        expected = P * np.exp(-v) / (P @ np.exp(-v))[:, None]  # eq:optQ
        np.testing.assert_allclose(Q, expected, atol=rounding)
        np.testing.assert_allclose(mu @ Q, mu, atol=rounding)
        assert mu.sum() == pytest.approx(1.0, abs=rounding)
        assert [path.name for path in tmp_path.iterdir()] == ["solution.npz"]

    def test_an_old_file_is_replaced_and_has_usual_permissions(self, run: Run, tmp_path: Path) -> None:
        out = tmp_path / "solution.npz"
        out.write_text("old")
        run("solve", "ring:5", "--cost", "hill", "--out", out)
        with np.load(out) as arrays:
            assert arrays["v"].shape == (5,)
        (tmp_path / "plain").touch()
        assert out.stat().st_mode == (tmp_path / "plain").stat().st_mode

    def test_text_has_a_table_and_a_picture(self, run: Run, tmp_path: Path) -> None:
        result = run("solve", "grid:6x9", "--cost", "hill", "--out", tmp_path / "s.npz")
        assert result.exit_code == 0
        for word in ("average cost", "bounds", "gap", "value span", "solver", "status", "54 states", "s.npz"):
            assert word in result.stdout
        assert RAMP in result.stdout
        assert max(map(len, result.stdout.replace(str(tmp_path), "").splitlines())) <= 80

    def test_no_picture_without_a_shape(self, run: Run) -> None:
        assert RAMP not in run("solve", "ring:6", "--cost", "hill").stdout

    def test_a_periodic_chain_can_be_solved(self, run: Run) -> None:
        content = json.loads(run("solve", "ring:6:1", "--cost", "random:0", "--json").stdout)
        mean = np.random.default_rng(0).random(6).mean()  # one way round is all there is
        assert content["bounds"][0] - 1e-15 <= mean <= content["bounds"][1] + 1e-15

    def test_no_certificate_is_exit_1_with_the_best_bounds(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        good = lsmdp.solve(makers.ring(4), [0.0, 1.0, 0.0, 1.0])

        def give_up(*_: object, **__: object) -> None:
            raise ConvergenceError("no certificate of width 1e-300: the best gap is 1e-16", good)

        monkeypatch.setattr("lsmdp.solvers.solve", give_up)
        result = run("solve", "ring:4", "--cost", "hill", "--json", "--out", tmp_path / "s.npz")
        assert result.exit_code == 1
        assert set(json.loads(result.stdout)) == SOLVE_KEYS
        assert result.stderr == "ConvergenceError: no certificate of width 1e-300: the best gap is 1e-16\n"
        assert list(tmp_path.iterdir()) == []
        assert f"{good.bounds[0]:.15g}" in run("solve", "ring:4", "--cost", "hill").stdout

    def test_an_interrupt_is_130_and_leaves_nothing(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("lsmdp.solvers.solve", interrupt)
        result = run("solve", "ring:4", "--cost", "hill", "--out", tmp_path / "s.npz")
        assert result.exit_code == 130
        assert "Interrupted" in result.stderr
        assert list(tmp_path.iterdir()) == []

    def test_a_full_disk_leaves_nothing(self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def fill(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np, "savez", fill)
        result = run("solve", "ring:4", "--cost", "hill", "--out", tmp_path / "s.npz")
        assert result.exit_code == 2
        assert "No space left on device" in result.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(os.name != "posix", reason="signals are sent as on posix")
    def test_ctrl_c_in_a_real_process(self, tmp_path: Path) -> None:
        script = (
            "import os, signal, lsmdp.solvers, lsmdp.cli\n"
            "lsmdp.solvers.solve = lambda *a, **k: os.kill(os.getpid(), signal.SIGINT)\n"
            "lsmdp.cli.main()"
        )
        arguments = ["solve", "ring:4", "--cost", "hill", "--out", str(tmp_path / "s.npz")]
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 128 + signal.SIGINT
        assert "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []


class TestTerminals:
    def test_colours_where_they_are_wanted(self) -> None:
        wanted = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm", "COLUMNS": "100"}
        colourful = lsmdp_process("solve", "grid:6x8", "--cost", "hill", **wanted)
        assert colourful.returncode == 0
        assert "▀" in colourful.stdout
        assert "\x1b[38;2;" in colourful.stdout

    def test_plain_text_on_an_old_terminal(self) -> None:
        plain = lsmdp_process("solve", "grid:6x8", "--cost", "hill", PYTHONIOENCODING="ascii", NO_COLOR="1")
        assert plain.returncode == 0, plain.stderr
        assert plain.stdout.isascii()
        assert "\x1b" not in plain.stdout


class TestPictures:
    WALLS = "....#\n.##.#\n....."

    def test_the_raster_has_nan_for_walls(self) -> None:
        lmdp = makers.grid(3, 5, self.WALLS)
        image = raster(lmdp, np.arange(float(lmdp.n)))
        walls = np.array([[cell == "#" for cell in line] for line in self.WALLS.split("\n")])
        np.testing.assert_array_equal(np.isnan(image), walls)
        np.testing.assert_array_equal(image[~walls], np.arange(float(lmdp.n)))

    def test_characters_show_values_and_walls(self) -> None:
        console = Console(width=80, color_system=None)
        lmdp = makers.grid(2, 3, [".#.", "..."])
        with console.capture() as capture:
            console.print(pictures(console, lmdp, {"f": np.array([0.0, 8.0, 0.0, 4.0, 8.0])}))
        lines = capture.get().splitlines()
        assert lines[0].strip() == "f"
        cell = 2 * (24 // 3)  # columns of a cell: small grids are enlarged
        assert lines[1][:cell].strip() == ""
        assert lines[1][cell : 2 * cell] == "#" * cell
        assert lines[1][2 * cell : 3 * cell] == "@" * cell
        assert lines[9][cell : 2 * cell] == RAMP[4] * cell

    def test_blocks_are_means_of_open_cells(self) -> None:
        nan = np.nan
        image = np.array([[1.0, 3.0, nan, nan, 7.0], [5.0, 7.0, 1.0, nan, 9.0], [2.0, nan, 2.0, 4.0, 5.0]])
        small = fitted(image, 3, 2)
        np.testing.assert_array_equal(small, [[4.0, nan, 8.0], [nan, 3.0, 5.0]])

    @pytest.mark.parametrize("shape", [(1, 1), (1, 2000), (2000, 1), (1000, 1000), (3, 90), (60, 80)])
    def test_every_image_fits(self, shape: tuple[int, int]) -> None:
        small = fitted(np.ones(shape), 80, 60)
        assert small.shape[0] <= 60
        assert small.shape[1] <= 80
        assert (small == 1.0).all()

    def test_a_constant_function_can_be_drawn(self) -> None:
        console = Console(width=80, color_system="truecolor", force_terminal=True)
        with console.capture() as capture:
            console.print(pictures(console, makers.grid(3, 3), {"f": np.zeros(9)}))
        assert "▀" in capture.get()

    def test_pictures_stand_side_by_side_where_they_fit(self) -> None:
        console = Console(width=80, color_system=None)

        def titles(lmdp: lsmdp.LMDP) -> list[str]:
            with console.capture() as capture:
                console.print(pictures(console, lmdp, {"one": np.arange(float(lmdp.n)), "two": np.zeros(lmdp.n)}))
            return [line for line in capture.get().splitlines() if "one" in line or "two" in line]

        assert len(titles(makers.grid(4, 10))) == 1
        assert len(titles(makers.grid(4, 30))) == 2

    def test_the_palette_gets_lighter_in_equal_steps(self) -> None:
        """CIE lightness, another scale than the one the palette is made with, so it need not be exactly even."""
        channel = np.array(palette()) / 255.0
        linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
        luminance = linear @ [0.2126, 0.7152, 0.0722]
        lightness = 116.0 * np.cbrt(luminance) - 16.0
        steps = np.diff(lightness)
        assert len(channel) == SHADES
        assert steps.min() > 0.6 * steps.mean()
        assert steps.max() < 1.5 * steps.mean()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_once_what_the_first_call_waits_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    """Compilations are played: at 0, 0.9, 1.1 and 2 seconds."""
    clock = iter([100.0, 100.9, 101.1, 102.0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr("lsmdp.cli.base.time.monotonic", lambda: next(clock))
    told = []
    with complaints():
        for _ in range(4):
            event.start_event("numba:compile", {})
            told.append(capsys.readouterr().err)
            event.end_event("numba:compile", {})
    assert told == (["", "", COMPILING + "\n", ""] if terminal else [""] * 4)
    event.start_event("numba:compile", {})  # nobody asks for the time any more: the clock has run out
    event.end_event("numba:compile", {})
