"""The manual is true: every block of code in it runs, in order, in an empty folder, and prints what it says.

    ```python    runs in one namespace per page
    ```sh        runs as a user types it; a comment "exit code 1" says that it does not end with 0
    ```text      directly below one of them: what it prints, where ... stands for anything

Any other block, and one that cannot be run, says why: <!-- not run: it needs a cluster -->.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lsmdp.cli import app
from lsmdp.report import certificates

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))  # docs/cases is written by scripts, which have their own tests
RUN = ("python", "sh")
NO_CODE = ("math",)
REASON = re.compile(r"<!-- not run: (.+) -->")
SHELL_SIGNS = set("|<>&;$*`")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line where it begins, and how it stands to the others."""

    language: str
    text: str
    line: int
    reason: str = ""  # why it is not run
    follows: bool = False  # nothing stands between it and the block before


def blocks(page: str) -> Iterator[Block]:
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    opened, before, since = None, "", 1
    for number, line in enumerate(lines, start=1):
        fence = re.match(r"(`{3,}|:{3,})(\{?[\w+-]*)", line)
        if opened is None and fence:
            opened, language, start = fence.group(1), fence.group(2), number
        elif opened is not None and line.strip() == opened:
            if not language.startswith("{") and language not in NO_CODE:
                reason = REASON.fullmatch(before)
                text = "\n".join(lines[start : number - 1]) + "\n"
                yield Block(language, text, start, reason.group(1) if reason else "", since == 0)
            opened, before, since = None, "", 0
        elif opened is None and line.strip():
            before, since = line.strip(), since + 1
    assert opened is None, f"{page}, line {start}: this block has no end."


def _commands(text: str) -> list[str]:
    """The commands of a block, one by one; a here-document belongs to the one that reads it."""
    pattern = re.compile(r"^.*<<'(?P<end>\w+)'.*\n(?:.*\n)*?(?P=end)\n|^.+\n", flags=re.MULTILINE)
    return [found.group() for found in pattern.finditer(re.sub(r"\\\n", " ", text)) if found.group().strip()]


def _with_input(command: str) -> tuple[str, str]:
    """A command and what it reads: a here-document, or one line of ``echo '...' |``."""
    if here := re.fullmatch(r"(.*?)<<'(\w+)'(.*)\n((?:.*\n)*?)\2\n", command):
        return here[1] + here[3], here[4]
    if echo := re.fullmatch(r"echo '([^']*)' \| (.*\n)", command):
        return echo[2], echo[1] + "\n"
    return command, ""


@dataclass
class Reader:
    """Somebody who types a page into a terminal and an interpreter."""

    page: str
    folder: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})

    def run(self, block: Block) -> str:
        return self._python(block) if block.language == "python" else self._shell(block.text)

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        code = compile("\n" * block.line + block.text, str(DOCS / self.page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def _shell(self, text: str) -> str:
        printed = ""
        for command in _commands(text):
            first, given = _with_input(command)
            plain, _, file = first.partition("#")[0].partition(" > ")
            simple = first.startswith("lsmdp ") and not SHELL_SIGNS & set(plain + file)
            code, output = self._command(shlex.split(plain)[1:], given) if simple else self._bash(command)
            if simple and file:
                (self.folder / file.strip()).write_text(output, encoding="utf-8")
                output = ""
            promised = re.search(r"# .*exit code (\d+)", command)
            assert code == int(promised.group(1) if promised else 0), f"{self.page}: {command}\n{output}"
            printed += output
        return printed

    def _command(self, arguments: list[str], given: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, arguments, input=given)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output if result.exit_code else result.stdout

    def _bash(self, script: str) -> tuple[int, str]:
        program = self.folder / ".bin" / "lsmdp"
        if not program.exists():
            program.parent.mkdir()
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from lsmdp.cli import main; main()" "$@"\n')
            program.chmod(0o755)
        known = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(["bash", "-c", script], env=known, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def test_hardly_any_block_is_left_out() -> None:
    left_out = [f"{page}: {block.reason}" for page in PAGES for block in blocks(page) if block.reason]
    run = [block for page in PAGES for block in blocks(page) if block.language in RUN and not block.reason]
    assert len(run) >= 40
    assert len(left_out) <= len(run) / 10, left_out


def test_code_is_fenced() -> None:
    """An indented block would be shown as code and never run."""
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        bare = re.sub(r"^(`{3,}|:{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert re.findall(r"\n\n {4}(?! *[-*\d]).+", bare) == [], page


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports look at a tenth of the rounds that they would look at: no page says how many."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(certificates, "WORK_OF_A_SAMPLE", certificates.WORK_OF_A_SAMPLE / 10)
    reader, printed = Reader(page, tmp_path), None
    for block in blocks(page):
        where = f"{page}, line {block.line}"
        if block.reason:
            printed = None
        elif block.language in RUN:
            printed = reader.run(block)
        else:
            assert block.language == "text", f"{where}: a {block.language or 'nameless'} block is not run. Say why."
            assert printed is not None, f"{where}: this is no output of a block above it. Say why it is not run."
            assert block.follows, f"{where}: output stands directly below what prints it."
            same = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(block.text, printed, same), f"{where} prints\n{printed}"
            printed = None


def test_every_promise_names_a_test_that_exists() -> None:
    """``tests/test_x.py::TestY::test_z`` on the page of promises is a file, a class in it and a test in that."""
    root = Path(__file__).parents[1]
    named = re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", (root / "docs" / "promises.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = []
    for file, inside in named:
        here: ast.AST = ast.parse((root / file).read_text(encoding="utf-8")) if (root / file).exists() else ast.Module()
        for name in inside.split("::")[1:]:
            found = [node for node in getattr(here, "body", []) if getattr(node, "name", None) == name]
            here = found[0] if found else ast.Module()
        if not getattr(here, "body", []):
            missing.append(file + inside)
    assert missing == []
