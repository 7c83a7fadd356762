"""The README's Python is run, in order, as a reader would; its commands exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import lsmdp

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks[:-1]:
        exec(compile(block, "README.md", "exec"), names)
    assert (names["run"].rounds, names["run"].lmdp.n) == (200, 900)
    # To certify all of it takes half a minute; the same game on a smaller map. The demo is certified on a large one.
    small = lsmdp.grid(8, 8)
    costs = lsmdp.read_costs("target", small, rounds=20, seed=1)
    names["run"] = lsmdp.play(small, [lsmdp.FollowTheLeader(), lsmdp.TrackTheLeader(), lsmdp.Passive()], costs)
    exec(compile(blocks[-1], "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "certified" in printed
    assert "regret after 200 rounds" in printed
    assert "lem:change, printed" in printed
    assert names["state"].t == 200


def test_the_commands_of_the_readme_exist(run: object) -> None:
    commands = set(re.findall(r"^ {4}lsmdp (\w+)", README, flags=re.MULTILINE))
    assert {"check", "solve", "play", "show", "certify"} <= commands
    for command in commands:
        assert run(command, "--help").exit_code == 0


def test_the_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make (\w+)", README)) - {"needs"}:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
