"""Folders and files of strangers: pipes and devices are not waited for, and a run does not lead to files elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import lsmdp
from lsmdp import runs
from lsmdp.cli import app
from lsmdp.errors import SpecError

from .corpus import KINDS, NET, PARQUET, P

Run = Callable[..., Result]
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
WAIT = 60  # seconds for a child that reads nothing: it imports numba first

READ_ALL = """
import sys
from pathlib import Path
from lsmdp.errors import LsmdpError
from tests.damage.corpus import KINDS, PARQUET
for stem in sys.argv[2:]:
    for name, kind in (KINDS | PARQUET).items():
        path = Path(sys.argv[1]) / f"{stem}{kind.ending}"
        try:
            kind.read(path)
        except LsmdpError as sentence:
            print(sentence)
"""


def said_of_all(folder: Path, *stems: str) -> list[str]:
    """What each reader says of the files of these names with its ending, one name after the other."""
    command, root = [sys.executable, "-c", READ_ALL, str(folder), *stems], Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_pipes
def test_no_reader_opens_what_is_no_file(tmp_path: Path) -> None:
    readers = (KINDS | PARQUET).values()
    for ending in {one.ending for one in readers}:
        os.mkfifo(tmp_path / f"pipe{ending}")
        (tmp_path / f"device{ending}").symlink_to("/dev/zero")
    said, count = said_of_all(tmp_path, "pipe", "device"), len(readers)
    assert len(said) == 2 * count
    for kind, sentences in (("a pipe", said[:count]), ("a device", said[count:])):
        told = f"is {kind}, and only regular files are read. Save what it gives in a file first."
        assert [one for one in sentences if told not in one] == []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the user is in, with a kernel and costs beside it, outside."""
    (tmp_path / "here").mkdir()
    np.save(tmp_path / "P.npy", P)
    np.save(tmp_path / "costs.npy", np.random.default_rng(0).random((6, 3)))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


OPTIONS = ("--learner", "ftl", "--rounds", "6", "--quiet")
READING = (("report",), ("certify", "--no-search"), ("figures", "--format", "png"))


def played(run: Run, kernel: object, costs: object) -> None:
    done = run("play", kernel, "--costs", costs, "--out", "run", *OPTIONS)
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("kernel", "costs", "named"), [("../P.npy", "iid", 'kernel in "../P.npy"'), ("ring:3", "../costs.npy", "costs in")]
)
def test_a_run_does_not_lead_to_files_elsewhere_without_being_told(
    run: Run, here: Path, kernel: str, costs: str, named: str
) -> None:
    played(run, kernel, costs)
    for command, *options in READING:
        refused = run(command, "run", *options)
        assert refused.exit_code == 2
        assert f'"run" was played on the {named}' in refused.stderr
        assert "outside of it and of the folder that you are in" in refused.stderr
        assert "--trust" in refused.stderr
        assert not (here / "run" / "figures").exists()
        if costs == "iid":  # whatever it is that lies elsewhere
            assert run(command, "run", *options, "--trust").exit_code == 0
    assert run("show", "run").exit_code == 0  # it reads nothing but the folder
    for follow in (runs.load, runs.resume):
        with pytest.raises(SpecError, match="trust=True"):
            follow("run")
        assert follow("run", trust=True).rounds == 6


def test_nothing_of_a_file_elsewhere_is_told(run: Run, here: Path) -> None:
    """Not even whether it exists, and what is beside it."""
    played(run, "ring:3", "iid")
    (here.parent / "secrets.csv").write_text("password,hunter2\n")
    for kernel in ("../secrets.csv", "../secret.csv", str(here.parent / "secrets.csv"), "~/../secrets.csv/../x.csv"):
        spec = (here / "run" / "spec.toml").read_text().replace('"ring:3"', json.dumps(kernel))
        (here / "copy").mkdir(exist_ok=True)
        for path in (here / "run").iterdir():
            if path.is_file():
                (here / "copy" / path.name).write_bytes(path.read_bytes())
        (here / "copy" / "spec.toml").write_text(spec)
        refused = run("report", "copy", "--quiet")
        assert refused.exit_code == 2
        assert "hunter2" not in refused.output
        if not kernel.startswith("~"):
            assert f'"copy" was played on the kernel in "{kernel}", which is outside' in refused.stderr


def test_files_below_here_and_in_the_folder_itself_are_read(run: Run, here: Path) -> None:
    (here / "data").mkdir()
    np.save(here / "data" / "P.npy", P)
    played(run, "data/P.npy", "iid")
    assert run("report", "run", "--quiet").exit_code == 0
    (here / "data" / "P.npy").rename(here / "run" / "P.npy")
    spec = (here / "run" / "spec.toml").read_text()
    (here / "run" / "spec.toml").write_text(spec.replace('"data/P.npy"', json.dumps(str(here / "run" / "P.npy"))))
    os.chdir("/")
    assert run("certify", here / "run", "--no-search", "--quiet").exit_code == 0


def test_a_link_inside_the_folder_leads_nowhere_else(run: Run, here: Path) -> None:
    np.save(here / "P.npy", P)
    played(run, "P.npy", "iid")
    (here / "P.npy").unlink()
    (here / "P.npy").symlink_to(here.parent / "P.npy")
    refused = run("report", "run", "--quiet")
    assert refused.exit_code == 2
    assert 'the kernel in "P.npy", which is outside' in refused.stderr
    (here / "P.npy").unlink()
    (here / "P.npy").symlink_to("P.npy")
    assert run("report", "run", "--quiet").exit_code == 2


@pytest.mark.usefixtures("here")
def test_the_command_that_goes_on_names_the_files_itself(run: Run) -> None:
    played(run, "../P.npy", "../costs.npy")
    again = run("play", "../P.npy", "--costs", "../costs.npy", "--out", "run", "--resume", *OPTIONS)
    assert again.exit_code == 0


@pytest.mark.parametrize(
    ("kernel", "costs", "files"),
    [
        ("ring:12", "iid", {}),
        ("grid:3x3", "-", {}),
        ("maps/arena.map:8", "switching:5", {"kernel": "maps/arena.map"}),
        ("roads_net.tntp:2", "iid", {"kernel": "roads_net.tntp"}),
        ("rings.csv", "iids.csv", {"kernel": "rings.csv", "costs": "iids.csv"}),
    ],
)
def test_the_files_of_a_spec(kernel: str, costs: str, files: dict[str, str]) -> None:
    spec = runs.Spec.of(kernel=kernel, costs=costs)
    assert dict(spec.files()) == {what: Path(path) for what, path in files.items()}


def test_a_file_beside_the_kernel_leads_nowhere_else_either(run: Run, here: Path) -> None:
    (here / "town_net.tntp").write_bytes(NET)
    played(run, "town_net.tntp:1", "iid")
    (here.parent / "secrets.txt").write_text("hunter2\n")
    for name in ("town_node.tntp", "TOWN_Nodes.tntp"):
        (here / name).symlink_to(here.parent / "secrets.txt")
        refused = run("report", "run", "--quiet")
        assert refused.exit_code == 2
        assert f'the positions in "{name}", which is outside' in refused.stderr
        (here / name).unlink()
    assert run("certify", "run", "--quiet", "--no-search").exit_code == 0
    (here / "town_net.tntp").rename(here.parent / "town_net.tntp")
    (here / "town_net.tntp").symlink_to(here.parent / "town_net.tntp")
    assert "the kernel in" in run("certify", "run", "--quiet", "--no-search").stderr


@needs_pipes
def test_a_page_does_not_wait_for_a_pipe(run: Run, here: Path) -> None:
    np.save(here / "P.npy", P)
    played(run, "P.npy", "iid")
    (here / "P.npy").unlink()
    os.mkfifo(here / "P.npy")
    command = [sys.executable, "-c", "from lsmdp.cli import main; main()", "report", "run", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT)
    assert done.returncode == 2
    assert '"P.npy" is a pipe, and only regular files are read.' in done.stderr


def test_a_page_of_a_run_on_standard_input_does_not_wait_for_more(here: Path) -> None:
    lines = "".join(f"{line}\n" for line in ("0.1,0.2,0.3", "0.3,0.2,0.1"))
    play = ["play", "ring:3", "--costs", "-", "--out", "run", "--learner", "ftl", "--quiet"]
    assert CliRunner().invoke(app, play, input=lines).exit_code == 0
    reading, writing = os.pipe()  # somebody who never writes
    try:
        report = [sys.executable, "-c", "from lsmdp.cli import main; main()", "report", "run", "--quiet"]
        done = subprocess.run(report, stdin=reading, capture_output=True, text=True, check=False, timeout=WAIT)
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "its costs cannot be read again" in (here / "run" / "report.html").read_text(encoding="utf-8")


@needs_pipes
@pytest.mark.parametrize("name", ["manifest.json", "summary.json", "rounds.parquet", "checkpoint.npz", "spec.toml"])
def test_records_that_are_pipes(run: Run, here: Path, name: str) -> None:
    played(run, "ring:3", "iid")
    (here / "run" / name).unlink()
    os.mkfifo(here / "run" / name)
    for command in (("show", "run"), ("report", "run", "--quiet"), ("certify", "run", "--quiet", "--no-search")):
        done = run(*command)  # what is not a regular file counts as absent, or is refused
        assert done.exit_code in (0, 2)


@needs_pipes
def test_a_sweep_file_that_is_a_pipe(here: Path) -> None:
    os.mkfifo(here / "study.toml")
    with pytest.raises(SpecError, match="is a pipe, and only regular files are read"):
        lsmdp.sweeps.read(here / "study.toml")
