"""Files that are complete or absent: planted names and links, permissions, locks, writers that are killed or many."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp import files, runs, sweeps
from lsmdp.errors import SpecError
from lsmdp.files import (
    atomic,
    clear,
    own_folder,
    remove,
)
from lsmdp.follow.learner_file import Knowledge
from lsmdp.follow.memory import Memory
from lsmdp.report import write_page
from lsmdp.runs import Spec
from lsmdp.sweeps.spec import plan

SPEC = Spec.of(kernel="ring:5", costs="iid", learners=("ftl", "passive"), rounds=4)
ROOT = Path(lsmdp.__file__).parent
posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and locks are those of posix")


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


@pytest.fixture
def precious(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of somebody else, who finds it as it was."""
    folder = tmp_path_factory.mktemp("precious")
    content = {
        name: name.encode() for name in ("thesis.tex", "part-000001.parquet", "part-000009.parquet", "regret.pdf")
    }
    for name, text in content.items():
        (folder / name).write_bytes(text)
    yield folder
    assert {entry.name: entry.read_bytes() for entry in folder.iterdir()} == content


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    runs.start(SPEC, tmp_path / "run")
    return tmp_path / "run"


class TestAtomic:
    def test_the_content_is_there_at_the_end_and_not_before(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"old")
        with atomic(tmp_path / "file") as stream:
            stream.write(b"new")
            stream.flush()
            assert (tmp_path / "file").read_bytes() == b"old"
        assert (tmp_path / "file").read_bytes() == b"new"
        assert names(tmp_path) == {"file"}

    @pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
    def test_what_fails_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(5, "Input/output error")

        (tmp_path / "file").write_bytes(b"old")
        if failing != "write":
            monkeypatch.setattr(os, failing, refuse)
        with pytest.raises(OSError, match="Input/output error"), atomic(tmp_path / "file") as stream:
            refuse() if failing == "write" else stream.write(b"new")
        assert (tmp_path / "file").read_bytes() == b"old"
        assert names(tmp_path) == {"file"}

    @posix
    @pytest.mark.parametrize("umask", [0o022, 0o077, 0o007])
    def test_a_new_file_has_the_permissions_of_any_new_file(self, tmp_path: Path, umask: int) -> None:
        before = os.umask(umask)
        try:
            (tmp_path / "usual").write_bytes(b"")
            with atomic(tmp_path / "file"):
                pass
        finally:
            os.umask(before)
        modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "file")]
        assert modes == [0o666 & ~umask] * 2

    @posix
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
    def test_the_permissions_of_a_file_are_kept(self, tmp_path: Path, mode: int) -> None:
        (tmp_path / "file").write_bytes(b"old")
        (tmp_path / "file").chmod(mode)
        with atomic(tmp_path / "file") as stream:
            draft = next(entry for entry in tmp_path.iterdir() if entry.name != "file")
            assert stat.S_IMODE(draft.stat().st_mode) == mode  # nobody else reads it on the way
            stream.write(b"new")
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode

    @posix
    def test_a_link_is_replaced_and_not_followed(self, tmp_path: Path, precious: Path) -> None:
        (tmp_path / "file").symlink_to(precious / "thesis.tex")
        with atomic(tmp_path / "file") as stream:
            stream.write(b"new")
        assert not (tmp_path / "file").is_symlink()
        assert (tmp_path / "file").read_bytes() == b"new"

    @posix
    def test_a_planted_draft_is_not_opened(
        self, tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Even where somebody has guessed the name."""
        guessed, later = bytes(8), bytes(range(8))
        planted = tmp_path / f".lsmdp-{guessed.hex()}.tmp"
        planted.symlink_to(precious / "thesis.tex")
        drawn = iter([guessed, guessed, later])
        monkeypatch.setattr(os, "urandom", lambda _: next(drawn))
        with atomic(tmp_path / "file") as stream:
            stream.write(b"new")
        assert (tmp_path / "file").read_bytes() == b"new"
        assert planted.is_symlink()
        clear(tmp_path)
        assert planted.is_symlink()  # a draft is a file; this is none of ours

    @posix
    def test_a_pipe_or_a_device_is_not_replaced(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("/dev/null")
        for name in ("pipe", "link"):
            with pytest.raises(SpecError, match=f'{name}" is not a file. Name a file'), atomic(tmp_path / name):
                pass
        with pytest.raises(SpecError, match=r"is a folder\. Name a file"), atomic(tmp_path):
            pass
        assert names(tmp_path) == {"pipe", "link"}

    def test_a_name_as_long_as_names_can_be(self, tmp_path: Path) -> None:
        path = tmp_path / ("x" * 255)
        with atomic(path) as stream:
            stream.write(b"new")
        assert path.read_bytes() == b"new"


@posix
class TestLeftOvers:
    WRITER = """
import sys, time
from pathlib import Path
from lsmdp.files import atomic
with atomic(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(600)
"""

    def test_only_the_dead_leave_something_over(self, tmp_path: Path) -> None:
        """The draft of a process that lives stays; once it was killed, whoever comes next removes it."""
        command = [sys.executable, "-c", self.WRITER, str(tmp_path / "file")]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"writing\n"
            clear(tmp_path)
            living = names(tmp_path)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        (draft,) = names(tmp_path)
        assert files.DRAFT.fullmatch(draft)
        assert living == {draft}
        clear(tmp_path)
        assert names(tmp_path) == set()

    @pytest.mark.parametrize(
        "name", ["notes.tmp", ".lsmdp.tmp", ".lsmdp-0123.tmp", ".lsmdp-0123456789abcdef.tmp.old", ".report.html.tmp"]
    )
    def test_names_of_others_stay(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"")
        clear(tmp_path)
        assert names(tmp_path) == {name}

    def test_a_folder_stays(self, tmp_path: Path) -> None:
        (tmp_path / ".lsmdp-0123456789abcdef.tmp").mkdir()
        clear(tmp_path)
        assert len(names(tmp_path)) == 1

    def test_a_run_clears_its_folder(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        path.mkdir()
        (path / ".lsmdp-0123456789abcdef.tmp").write_bytes(b"half a manifest")
        runs.start(SPEC, path)
        kept = {"spec.toml", "manifest.json", "checkpoint.npz", "film.parquet", "rounds.parquet", "summary.json"}
        assert names(path) == kept | {"dynamic.parquet", "dynamic_states.parquet"}


@posix
class TestRemoving:
    def test_only_our_names_go(self, tmp_path: Path) -> None:
        for name in ("ours", "theirs"):
            (tmp_path / name).write_bytes(b"")
        remove(tmp_path, "ours".__eq__)
        remove(tmp_path / "none", "ours".__eq__)
        assert names(tmp_path) == {"theirs"}

    def test_a_link_with_our_name_goes_and_what_it_leads_to_stays(self, tmp_path: Path, precious: Path) -> None:
        (tmp_path / "ours").symlink_to(precious / "thesis.tex")
        remove(tmp_path, "ours".__eq__)
        assert names(tmp_path) == set()

    def test_no_folder_goes(self, tmp_path: Path) -> None:
        (tmp_path / "ours").mkdir()
        remove(tmp_path, "ours".__eq__)
        assert names(tmp_path) == {"ours"}

    def test_nothing_goes_through_a_link(self, tmp_path: Path, precious: Path) -> None:
        (tmp_path / "folder").symlink_to(precious)
        with pytest.raises(SpecError, match=r'folder" is a link, where lsmdp keeps a folder of its own.*--out'):
            remove(tmp_path / "folder", lambda _: True)
        with pytest.raises(SpecError, match="is a link"):
            own_folder(tmp_path / "folder")
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(SpecError, match="is a file, where"):
            own_folder(tmp_path / "file")


@posix
class TestHostileFolders:
    """Links where lsmdp would write or remove something."""

    def interrupted(self, path: Path) -> Path:
        def stop(table: Any, _: int | None) -> None:
            if table.t == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            runs.start(SPEC, path, watch=stop)
        return path

    def test_rounds_that_are_somewhere_else(self, tmp_path: Path, precious: Path) -> None:
        """Every file in the folder that such a link led to was once removed."""
        path = self.interrupted(tmp_path / "run")
        (path / "rounds").rename(tmp_path / "kept")
        (path / "rounds").symlink_to(precious)
        for _ in range(2):
            with pytest.raises(SpecError, match=r'rounds" is a link, where lsmdp keeps a folder of its own'):
                runs.resume(path)
        (path / "rounds").unlink()
        (tmp_path / "kept").rename(path / "rounds")
        assert runs.resume(path).rounds == 4

    def test_rounds_before_anything_was_saved(self, tmp_path: Path, precious: Path) -> None:
        path = self.interrupted(tmp_path / "run")
        (path / "checkpoint.npz").unlink()
        shutil.rmtree(path / "rounds")
        (path / "rounds").symlink_to(precious)
        with pytest.raises(SpecError, match=r'rounds" is a link'):
            runs.resume(path)
        assert (path / "spec.toml").is_file()

    def test_files_of_others_among_the_rounds(self, tmp_path: Path) -> None:
        path = self.interrupted(tmp_path / "run")
        for name in ("notes.txt", "part-1.parquet", "part-000001.parquet.bak"):
            (path / "rounds" / name).write_bytes(b"mine")
        (path / "rounds" / "part-000007.parquet").write_bytes(b"of a round that will be played again")
        assert runs.resume(path).rounds == 4
        assert names(path / "rounds") == {"notes.txt", "part-1.parquet", "part-000001.parquet.bak"}

    def test_a_run_that_is_taken_back_leaves_what_is_not_its_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def meddling(*_: object) -> None:
            (tmp_path / "run" / "rounds").mkdir(exist_ok=True)
            (tmp_path / "run" / "rounds" / "notes.txt").write_bytes(b"mine")
            raise KeyboardInterrupt

        monkeypatch.setattr("lsmdp.runs.session._Keeper.save", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            runs.start(SPEC, tmp_path / "run", watch=meddling)
        assert names(tmp_path / "run") == {"rounds"}
        assert names(tmp_path / "run" / "rounds") == {"notes.txt"}

    def test_a_page_over_a_planted_link(self, finished: Path, precious: Path) -> None:
        (finished / ".report.html.tmp").symlink_to(precious / "thesis.tex")
        (finished / "report.html").symlink_to(precious / "thesis.tex")
        page = write_page(finished)
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
        assert not page.is_symlink()
        assert (finished / ".report.html.tmp").is_symlink()

    def test_figures_that_are_somewhere_else(self, finished: Path, precious: Path) -> None:
        figures = pytest.importorskip("lsmdp.report.figures")
        pytest.importorskip("matplotlib", reason="figures need matplotlib")
        (finished / "figures").symlink_to(precious)
        with pytest.raises(SpecError, match=r'figures" is a link, where lsmdp keeps a folder'):
            figures.write_figures(finished)
        (finished / "figures").unlink()
        (finished / "figures").mkdir()
        (finished / "figures" / "regret.pdf").symlink_to(precious / "regret.pdf")
        figures.write_figures(finished)
        assert not (finished / "figures" / "regret.pdf").is_symlink()

    def test_runs_of_a_sweep_that_are_somewhere_else(self, tmp_path: Path, precious: Path) -> None:
        class Nobody:
            def each(self, work: Any, jobs: Any) -> Any:
                yield from ()

        asked = {"models": ["ring:3"], "costs": ["iid"], "learners": ["ftl"], "horizons": [5], "seeds": 1}
        (tmp_path / "sweep").mkdir()
        (tmp_path / "sweep" / "runs").symlink_to(precious)
        (tmp_path / "sweep" / "sweep.json").write_text("{}")
        with pytest.raises(SpecError, match=r'runs" is a link, where lsmdp keeps a folder'):
            sweeps.run(*plan(asked), tmp_path / "sweep", Nobody())


@posix
class TestManyAtOnce:
    SAVER = """
import sys
import numpy as np
import lsmdp
path, seed, saves = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lmdp, learner = lsmdp.ring(40), lsmdp.FollowTheLeader()
states = [learner.init(lmdp)]
for c_t in np.random.default_rng(seed).random((4, lmdp.n)):
    states.append(learner.observe(lmdp, states[-1], c_t))
known = {state.t for state in states}
for k in range(saves):
    lsmdp.save(path, lmdp, learner, states[k % 5])
    assert lsmdp.load(path, lmdp, learner).t in known
print("done")
"""

    def test_savers_and_loaders_of_one_place(self, tmp_path: Path) -> None:
        """Of 900 saves by three processes 376 once failed, and 156 loads found a torn file; so 150 are many enough."""
        commands = [[sys.executable, "-c", self.SAVER, str(tmp_path / "file"), str(k), "50"] for k in range(3)]
        started = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for command in commands
        ]
        ended = [process.communicate(timeout=600) for process in started]
        assert [(out, err) for out, err in ended] == [("done\n", "")] * 3
        assert names(tmp_path) == {"file"}

    def test_nobody_saves_over_a_learner_at_work(self, tmp_path: Path) -> None:
        """What it learnt afterwards would be written to a file that is gone."""
        lmdp, learner = lsmdp.ring(5), lsmdp.FollowTheLeader()
        memory = Memory(tmp_path / "file", lmdp, learner)
        kept = memory.begin(Knowledge(learner.init(lmdp)))
        with pytest.raises(SpecError, match=r"is in use: another process keeps its learner there\. Stop it first"):
            lsmdp.save(tmp_path / "file", lmdp, learner, learner.init(lmdp))
        memory.add(2, np.full(5, 0.5))
        memory.close(None)
        assert lsmdp.load(tmp_path / "file", lmdp, learner).t == kept.rounds + 1
        lsmdp.save(tmp_path / "file", lmdp, learner, learner.init(lmdp))

    @pytest.mark.parametrize("how", ["removed", "replaced"])
    def test_a_file_that_is_taken_away_from_a_learner_at_work(self, tmp_path: Path, how: str) -> None:
        lmdp, learner = lsmdp.ring(5), lsmdp.FollowTheLeader()
        memory = Memory(tmp_path / "file", lmdp, learner)
        memory.begin(Knowledge(learner.init(lmdp)))
        (tmp_path / "other").write_bytes(b"")
        (tmp_path / "file").unlink() if how == "removed" else (tmp_path / "other").replace(tmp_path / "file")
        with pytest.raises(SpecError, match=r"was removed or replaced while it was in use\. Start again"):
            memory.add(2, np.full(5, 0.5))
        memory.close(None)

    def test_a_saver_that_takes_its_time_is_waited_for(self, tmp_path: Path) -> None:
        lmdp, learner = lsmdp.ring(5), lsmdp.FollowTheLeader()
        lsmdp.save(tmp_path / "file", lmdp, learner, learner.init(lmdp))
        code = f"""
import time
from pathlib import Path
from lsmdp.files import held
with held(Path({str(tmp_path / "file")!r}), "taken", alone=False):
    print("mine", flush=True)
    time.sleep(0.3)
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"mine\n"
            began = time.monotonic()
            memory = Memory(tmp_path / "file", lmdp, learner)
            assert time.monotonic() - began < 5.0
            memory.begin(Knowledge(learner.init(lmdp)))
            memory.close(None)


WRITERS = {"write_text", "write_bytes", "unlink", "touch", "symlink_to", "hardlink_to", "rmtree", "tofile", "savetxt"}
OF_OS = {"replace", "rename", "renames", "remove", "unlink", "open", "truncate", "link", "symlink", "fdopen", "mkfifo"}
MODULES = {"os", "shutil"}


def writing_calls(source: str) -> list[str]:
    """Calls that make, replace or remove a file by its name, as far as they can be told by sight."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        owner, _, name = called.rpartition(".")
        modes = [arg.value for arg in [*node.args, *(word.value for word in node.keywords)] if _is_mode(arg)]
        opens = name == "open" and any(set(mode) & set("wax+") for mode in modes) and owner != "archive"
        if opens or name in WRITERS or (owner in MODULES and name in OF_OS):
            found.append(called)
    return found


def _is_mode(node: ast.AST) -> Any:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and set(node.value) <= set("rwaxbt+")


def test_only_one_module_writes_and_removes_files() -> None:
    offenders = {
        str(path.relative_to(ROOT)): calls
        for path in sorted(ROOT.rglob("*.py"))
        if path.name != "files.py" or path.parent != ROOT
        if (calls := writing_calls(path.read_text(encoding="utf-8")))
    }
    assert offenders == {}


def test_writing_is_found() -> None:
    source = 'open(p, "wb"); p.open(mode="a"); os.replace(a, b); p.write_text("x"); p.unlink(); shutil.rmtree(p)'
    assert len(writing_calls(source)) == 6
    assert writing_calls('open(p); p.open("rb"); "a".replace("a", "b"); p.open(encoding="utf-8")') == []
