"""What makes the command line pleasant: shells complete its words, and a long solve says that it is at work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "from lsmdp.cli import main; main()"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o default -F _lsmdp_completion lsmdp"),
        ("zsh", "#compdef lsmdp"),
        ("fish", "complete --command lsmdp"),
    ],
)
def test_each_shell_gets_a_script(shell: str, line: str) -> None:
    asked = os.environ | {"_LSMDP_COMPLETE": f"source_{shell}"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert line in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_bash_completes_words(tmp_path: Path) -> None:
    """The line of the manual in a real shell, which then asks as it does when the tab key is pressed."""
    program = tmp_path / "lsmdp"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{PROGRAM}" "$@"\n')
    program.chmod(0o755)
    script = """
eval "$(_LSMDP_COMPLETE=source_bash lsmdp)"
for typed in "lsmdp s" "lsmdp solve --po" "lsmdp simulate --w"; do
    COMP_WORDS=($typed); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _lsmdp_completion lsmdp
    echo "${COMPREPLY[@]}"
done
"""
    known = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=known, capture_output=True, text=True, check=False)
    offered = [set(line.split()) for line in done.stdout.splitlines()]
    assert offered == [{"show", "solve", "simulate", "sweep"}, {"--policy"}, {"--walkers"}], done.stderr


SLOW = """
import time, lsmdp.solvers, lsmdp.cli
from lsmdp.cli import outputs
outputs.SECONDS_IN_SILENCE, outputs.SECONDS_BETWEEN_TICKS = {patience}, 0.05
solve = lsmdp.solvers.solve
def slow(*given, **options):
    time.sleep({seconds})
    return solve(*given, **options)
lsmdp.solvers.solve = slow
lsmdp.cli.main()
"""


def told(seconds: float, *, terminal: bool, patience: float = 0.2) -> tuple[str, str]:
    """What a solve that takes so long prints to stdout, and to stderr, which is a terminal or not."""
    import pty

    outer, inner = pty.openpty()
    read, write = (outer, inner) if terminal else os.pipe()
    program = SLOW.format(seconds=seconds, patience=patience)
    script = [sys.executable, "-c", program, "solve", "ring:5", "--cost", "hill", "--json"]
    done = subprocess.run(
        script, stdout=subprocess.PIPE, stderr=write, env=os.environ | {"TERM": "xterm"}, text=True, check=False
    )
    os.close(write)
    said = b""
    while True:
        try:
            part = os.read(read, 65536)
        except OSError:  # so a terminal says that nobody writes to it any more
            break
        if not part:
            break
        said += part
    assert done.returncode == 0, said.decode()
    return done.stdout, said.decode()


@pytest.mark.skipif(os.name != "posix", reason="there are no such terminals on this system")
class TestProgress:
    def test_a_long_solve_says_so_on_a_terminal(self) -> None:
        printed, said = told(1.2, terminal=True)
        assert printed.startswith('{"states": 5')
        assert "solving 5 states, 15 moves" in said

    def test_a_short_one_says_nothing(self) -> None:
        assert "solving" not in told(0.0, terminal=True, patience=60.0)[1]

    def test_nor_does_one_without_a_terminal(self) -> None:
        assert told(1.2, terminal=False)[1] == ""
