"""After ``lsmdp compile`` nothing is compiled any more: counted in processes with a folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

COMPILE = "from lsmdp.cli import main; main()"
USE = """
import json
import numpy as np
import lsmdp
from lsmdp._core.compile import watched

def game(lmdp):
    return lsmdp.play(lmdp, lsmdp.FollowTheLeader(), lsmdp.read_costs("iid", lmdp, rounds=200, seed=1)).regret()

compiled = []
with watched(compiled.append):
    lsmdp.solve(lsmdp.grid(30, 30), np.linspace(0, 1, 900))
    game(lsmdp.ring(12))
    game(lsmdp.grid(30, 30))
print(json.dumps(compiled))
"""


def printed_by(folder: Path, *arguments: str) -> str:
    command, environment = [sys.executable, "-c", *arguments], os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    found = json.loads(printed_by(tmp_path, COMPILE, "compile", "--json"))
    assert found["folder"] == str(tmp_path)
    assert found["count"] == len(found["functions"]) > 50
    assert "_core.sparse._certify" in found["functions"]
    assert json.loads(printed_by(tmp_path, USE).splitlines()[-1]) == []
