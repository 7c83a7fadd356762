"""Folders of runs and sweeps whose files were damaged or forged: a sentence and exit code 2, never a traceback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import Result

from lsmdp import runs, sweeps
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.sweeps.jobs import ResultRow, played
from lsmdp.sweeps.spec import plan

from .mutants import VALUES, mutants, other_types

Run = Callable[..., Result]
RECORDS = ("manifest.json", "summary.json")
SPEC = runs.Spec.of(
    kernel="grid:2x2", costs="binary", rounds=12, learners=("ftl", "passive"), scale=(0.0, 2.0), bracket=True
)
SWEEP = {"models": ["sticky:0.3"], "costs": ["iid"], "learners": ["ftl", "passive"], "horizons": [12], "seeds": 1}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folders") / "run"
    runs.start(SPEC, path)
    return path


@pytest.fixture
def bad(good: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "bad"))


def look(run: Run, folder: Path, *commands: tuple[str, ...]) -> list[Result]:
    """What the commands say; the fixture refuses tracebacks."""
    found = [run(name, folder, *options) for name, *options in commands]
    for done in found:
        assert done.exit_code in (0, 2)
        assert (done.exit_code == 0) == (done.stderr == "") or "Warning" in done.stderr
    return found


WORK = (("certify", "--quiet", "--no-search"), ("report", "--quiet"), ("figures", "--format", "png"))


def is_read(folder: Path, name: str) -> bool:
    """Whether the folder takes this record; it refuses it with a sentence, or the test fails."""
    said = ""
    try:
        {"manifest.json": runs.Folder(folder).manifest, "summary.json": runs.Folder(folder).summary}[name]()
    except SpecError as refused:
        said = str(refused)
    assert not said or re.search(rf'{name}" (is damaged \(|cannot be read)', said)
    return not said


@pytest.mark.parametrize("name", RECORDS)
def test_records_of_another_type_are_refused(run: Run, good: Path, bad: Path, name: str) -> None:
    """What is refused when it is read is refused by the command, once; the others reach what it shows."""
    record = json.loads((good / name).read_text())
    taken = 0
    for count, changed in enumerate(other_types(record, 60, name)):
        (bad / name).write_text(json.dumps(changed))
        now = is_read(bad, name)
        assert not (now and count < len(VALUES))  # nothing of it is left
        if now or count in (0, len(VALUES)):
            look(run, bad, ("show",), *(WORK if count == len(VALUES) else ()))
        taken += now
    assert taken >= 3


@pytest.mark.parametrize("name", [*RECORDS, "spec.toml", "checkpoint.npz"])
def test_damaged_bytes_are_refused(run: Run, good: Path, bad: Path, name: str) -> None:
    for count, content in enumerate(mutants((good / name).read_bytes(), 40, name)):
        (bad / name).write_bytes(content)
        if name not in RECORDS or is_read(bad, name) or count == 5:
            look(run, bad, ("show", "--json"), *(WORK if count == 5 else ()))


def test_an_unfinished_run_without_a_usable_manifest(run: Run, bad: Path) -> None:
    (bad / "summary.json").unlink()
    (bad / "manifest.json").write_text('{"states": "many", "start": []}')
    refused = run("show", bad)
    assert refused.exit_code == 2
    assert 'manifest.json" is damaged (versions: it is missing; ' in refused.stderr
    with pytest.raises(SpecError, match=r"manifest.json\" is damaged"):
        runs.resume(bad)


def test_a_summary_of_other_rounds_than_those_written_down(run: Run, bad: Path) -> None:
    summary = json.loads((bad / "summary.json").read_text())
    (bad / "summary.json").write_text(json.dumps(summary | {"rounds": 10**12}))
    for command in ("report", "figures"):
        refused = run(command, bad)
        assert refused.exit_code == 2
        assert "12 of 1,000,000,000,000 rounds of ftl are written down" in refused.stderr


def test_a_table_of_rounds_with_other_columns(bad: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"round": [1]}), bad / "rounds.parquet")
    with pytest.raises(SpecError, match="its columns are not those of a table of rounds"):
        runs.Folder(bad).rounds()


class Kept(NamedTuple):
    """A folder of a sweep with one finished run, its job, its rows, and its file."""

    folder: sweeps.SweepFolder
    job: sweeps.Job
    rows: list[ResultRow]
    path: Path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    sweep, (job,) = plan(SWEEP)
    folder = sweeps.SweepFolder(tmp_path_factory.mktemp("sweep"))
    folder.create(sweep)
    rows = played(job)
    assert not isinstance(rows, str)
    folder.keep(job, rows)
    return Kept(folder, job, rows, folder.runs / f"{job.digest}.json")


class TestSweeps:
    def test_a_damaged_run_counts_as_absent(self, kept: Kept) -> None:
        folder, job, rows, path = kept
        assert folder.rows(job) == rows
        content = path.read_bytes()
        damaged = [json.dumps(changed).encode() for changed in other_types(json.loads(content), 400, "sweep")]
        absent = 0
        for one in [*damaged, *mutants(content, 400, "sweep")]:
            path.write_bytes(one)
            found = folder.rows(job)
            absent += found is None
            assert found in (None, rows)  # the spec beside the rows is for people, and may be damaged
        path.write_bytes(content)
        assert absent > 500

    def test_a_run_that_is_whole_but_of_other_rounds_counts_as_absent(self, kept: Kept) -> None:
        folder, job, rows, path = kept
        content = path.read_bytes()
        for other in (rows[:-1], rows[::-1], [rows[0]._replace(t=7), *rows[1:]]):
            folder.keep(job, other)
            assert folder.rows(job) is None
        path.write_bytes(content)

    @pytest.mark.parametrize("text", ["[]", "7", '"x"', "null", "[" * 100_000, '{"games": NaN}', "\x00"])
    def test_the_rest_of_the_folder(self, kept: Kept, text: str) -> None:
        folder, *_ = kept
        sweep, _ = plan(SWEEP)
        (folder.path / "sweep.json").write_text(text)
        folder.create(sweep)
        assert json.loads((folder.path / "sweep.json").read_text()) == sweep.model_dump(mode="json")
        for name, read in (("summary.json", folder.summary), ("results.parquet", folder.table)):
            (folder.path / name).write_text(text)
            with pytest.raises(LsmdpError, match=rf"{name}\" cannot be read \(.*its runs are kept"):
                read()
            (folder.path / name).unlink()


@pytest.mark.parametrize("way", ["half a character", "other learners"])
def test_summaries_that_could_not_be_shown(run: Run, bad: Path, way: str) -> None:
    summary = json.loads((bad / "summary.json").read_text())
    if way == "half a character":
        summary["start"] = "\ud800"
    else:
        del summary["learners"]["passive"]
    (bad / "summary.json").write_text(json.dumps(summary))
    (shown,) = look(run, bad, ("show",))
    assert shown.exit_code == 2
    assert 'summary.json" is damaged (' in shown.stderr
