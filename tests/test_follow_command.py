"""``lsmdp follow`` as other programs meet it: a real process, real pipes, real signals."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import lsmdp
from lsmdp.cli import app
from lsmdp.errors import SpecError
from lsmdp.follow.loop import ControlLoop
from lsmdp.follow.memory import Memory

Run = Callable[..., Result]

MAIN = "from lsmdp.cli import main; main()"
KERNEL = "from,to,weight\nBüro,Büro,2\nBüro,駅,1\n駅,Büro,1\n駅,café,1\ncafé,駅,1\n"
PAGE = (Path(__file__).parent.parent / "docs" / "follow.md").read_text(encoding="utf-8")


class Filter:
    """The program in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self.process = process
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout

    def ask(self, line: bytes) -> dict[str, Any]:
        """Write a line, wait for its answer; nothing else is written meanwhile."""
        self.stdin.write(line + b"\n")
        self.stdin.flush()
        return self.heard()

    def heard(self) -> dict[str, Any]:
        line = self.stdout.readline()
        assert line.endswith(b"\n"), self.process.communicate()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> tuple[int, str]:
        """Close the input; the exit code and what was said on stderr."""
        out, err = self.process.communicate(timeout=60)
        assert out == b""
        return self.process.returncode, err.decode()


@contextmanager
def following(*arguments: object, script: str = MAIN) -> Iterator[Filter]:
    command = [sys.executable, "-c", script, "follow", *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Filter(process)
        finally:
            process.kill()


def said(**content: Any) -> bytes:
    return json.dumps(content).encode()


def lines_of(lmdp: lsmdp.LMDP, rounds: int) -> list[bytes]:
    rng = np.random.default_rng(11)
    return [said(cost=rng.random(lmdp.n).tolist(), state=int(rng.integers(lmdp.n))) for _ in range(rounds)]


def test_a_conversation(tmp_path: Path) -> None:
    """Line by line: each answer is there before the next line is written, whatever the lines look like."""
    (tmp_path / "kernel.csv").write_text(KERNEL, encoding="utf-8")
    with following(tmp_path / "kernel.csv", "--normalise", "--missing", 0) as talk:
        assert talk.ask(b'\xef\xbb\xbf{"state": "caf\xc3\xa9"}\r')["next"] == {"駅": 1.0}
        assert talk.ask(b"\n  \n" + said(cost={"駅": 1}))["round"] == 1
        assert talk.ask(b"{")["line"] == 5
        half = said(cost=[0.25, 0.5, 0.75], state="駅") + b"\n"
        for piece in (half[:7], half[7:20], half[20:]):  # a slow writer
            talk.stdin.write(piece)
            talk.stdin.flush()
            time.sleep(0.05)
        answer = talk.heard()
        assert (answer["round"], answer["state"], set(answer["next"])) == (2, "駅", {"Büro", "café"})
        talk.stdin.write(b'{"cost": [0.1, 0.2, ' + b" " * 10**6 + b"0.3]}\n" + b"x" * 10**6 + b"\n{}\n")
        talk.stdin.flush()
        assert talk.heard()["round"] == 3
        assert talk.heard()["line"] == 8
        assert talk.heard()["round"] == 3
        talk.stdin.write(b'{"state": "Bu')  # somebody stopped in the middle of a line
        talk.stdin.close()
        assert talk.heard()["line"] == 10
        assert talk.stdout.read() == b""
        assert talk.process.wait(60) == 1
        assert talk.process.stderr
        assert talk.process.stderr.read().decode() == "3 of 10 lines could not be used.\n"


def test_whatever_ends_it_no_answered_round_is_lost(tmp_path: Path) -> None:
    """SIGTERM, SIGKILL, Ctrl-C, a broken pipe: together they answer like one loop that was never stopped."""
    lmdp = lsmdp.ring(7)
    lines = lines_of(lmdp, 40)
    loop = ControlLoop.of(lmdp, lsmdp.FollowTheLeader())
    expected = [json.loads(json.dumps(loop.answer(line))) for line in lines]
    path = tmp_path / "file"
    begin = iter(range(0, 40, 10))

    def ten(talk: Filter) -> None:
        first = next(begin)
        assert [talk.ask(line) for line in lines[first : first + 10]] == expected[first : first + 10]

    with following("ring:7", "--state", path) as talk:
        ten(talk)
        talk.process.send_signal(signal.SIGTERM)
        code, err = talk.end()
        assert (code, err) == (0, f'ftl begins; what it learns is kept in "{path}".\n')
    assert lsmdp.load(path, lmdp, lsmdp.FollowTheLeader()).t == 10
    with following("ring:7", "--state", path) as talk:
        ten(talk)
        talk.process.kill()
        assert talk.process.wait(60) == -signal.SIGKILL
    assert lsmdp.load(path, lmdp, lsmdp.FollowTheLeader()).t == 20
    with following("ring:7", "--state", path) as talk:
        ten(talk)
        talk.process.send_signal(signal.SIGINT)
        code, err = talk.end()
        assert code == 130
        assert err.endswith(f'Interrupted.\nWhat was learnt in 30 rounds is kept in "{path}".\n')
    with following("ring:7", "--state", path) as talk:
        assert talk.ask(b"{}") == expected[29]
        ten(talk)
        talk.stdout.close()  # a reader that goes away
        talk.stdin.write(lines[0] + b"\n")
        talk.stdin.flush()
        assert talk.process.wait(60) == 1
        assert talk.process.stderr
        err = talk.process.stderr.read().decode()
        assert err == f'ftl goes on after round 30; what it learns is kept in "{path}".\n'
    assert lsmdp.load(path, lmdp, lsmdp.FollowTheLeader()).t == 41  # a round counts before it is answered


def test_sigterm_waits_for_the_answer(tmp_path: Path) -> None:
    slow = (
        "import time; from lsmdp.learners.ftl import FollowTheLeader as F; observe = F.observe\n"
        "def slowly(*given):\n    open(given[0].mark, 'w').close(); time.sleep(0.5); return observe(*given)\n"
        f"F.observe, F.mark = slowly, {str(tmp_path / 'mark')!r}\n{MAIN}"
    )
    path = tmp_path / "file"
    with following("ring:5", "--start", 0, "--state", path, script=slow) as talk:
        talk.stdin.write(said(cost=[0.5] * 5) + b"\n" + said(cost=[0.6] * 5) + b"\n")
        talk.stdin.flush()
        for _ in range(3000):
            if (tmp_path / "mark").exists():
                break
            time.sleep(0.01)
        talk.process.send_signal(signal.SIGTERM)
        assert talk.heard()["round"] == 1
        assert talk.end()[0] == 0  # and the second line was neither answered nor learnt
    assert lsmdp.load(path, lsmdp.ring(5), lsmdp.FollowTheLeader()).t == 1


class TestOptions:
    def follow(self, *arguments: object, lines: bytes = b"{}\n") -> Result:
        result = CliRunner().invoke(app, ["follow", *map(str, arguments)], input=lines)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    def test_help_shows_the_protocol_and_the_learners(self, run: Run) -> None:
        text = run("follow", "--help").stdout
        for word in (
            '{"cost": [0.1, 0.7, ...], "state": "A"}',
            "--state",
            "--missing",
            "discounted:ETA",
            "grid:ROWSxCOLS",
        ):
            assert word in text

    def test_nothing_in_nothing_out(self) -> None:
        result = self.follow("ring:5", lines=b"")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")

    @pytest.mark.parametrize(("stream", "what"), [("stdin", "standard input"), ("stdout", "standard output")])
    def test_a_stream_that_is_closed(
        self, stream: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, stream, None)
        with pytest.raises(SystemExit) as end:
            app(["follow", "ring:3"])
        assert end.value.code == 2
        assert capsys.readouterr().err.startswith(f"SpecError: there is no {what}")

    def test_a_state_that_is_not_known_is_refused_in_its_place(self) -> None:
        result = self.follow("ring:5", lines=b"{}\n" + said(state=1) + b"\n")
        assert result.exit_code == 1
        first, second = map(json.loads, result.stdout.splitlines())
        assert first["line"] == 1
        assert second["round"] == 0

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["ring:5", "--learner", "fttl"], 'SpecError: there is no learner "fttl". Did you mean "ftl"?'),
            (["ring:5", "--learner", "btl"], 'SpecError: "btl" sees the cost of the round that it plays'),
            (["ring:5", "--start", "x"], 'SpecError: there is no state "x".'),
            (["ring:5", "--scale", "1", "1"], "SpecError: the scale is 1 to 1."),
            (["ring:5", "--missing", "7"], "SpecError: --missing is 7."),
            (["ring:5", "--temperature", "0"], "the temperature is 0"),
            (["ring:0"], "Error: "),
            (["none.csv"], "SpecError: "),
            (["ring:5", "--state", "."], 'SpecError: "." is not a file.'),
            (["ring:5", "--state", "no/such/place"], "cannot be used: No such file or directory."),
        ],
    )
    def test_what_cannot_be_used_is_said_before_any_line_is_read(self, arguments: list[str], complaint: str) -> None:
        result = self.follow(*arguments)
        assert result.exit_code == 2
        assert complaint in result.stderr
        assert result.stdout == ""

    def test_a_file_of_another_learner_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        assert self.follow("ring:5", "--start", 0, "--state", path, lines=said(cost=[0] * 5)).exit_code == 0
        before = path.read_bytes()
        for other in (["ring:6"], ["ring:5", "--learner", "track"], ["ring:5", "--temperature", 2]):
            result = self.follow(*other, "--state", path)
            assert result.exit_code == 2
            assert "was kept for another control loop, which differs in" in result.stderr
            assert path.read_bytes() == before

    def test_what_cannot_be_kept_is_not_answered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        add = Memory.add

        def full(self: Memory, at: int, c_t: Any = None) -> None:
            if self.added == 2:
                raise SpecError("there is no room for a third")
            add(self, at, c_t)

        monkeypatch.setattr(Memory, "add", full)
        lines = (said(cost=[0] * 5) + b"\n") * 4
        result = self.follow("ring:5", "--start", 0, "--state", tmp_path / "file", lines=lines)
        assert result.exit_code == 2
        assert result.stderr.endswith("SpecError: there is no room for a third\n")
        assert [json.loads(line)["round"] for line in result.stdout.splitlines()] == [1, 2]
        assert lsmdp.load(tmp_path / "file", lsmdp.ring(5), lsmdp.FollowTheLeader()).t == 2

    def test_a_torn_file_is_spoken_of(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        self.follow("ring:5", "--start", 0, "--state", path, lines=said(cost=[0] * 5))
        path.write_bytes(path.read_bytes() + b"torn")
        result = self.follow("ring:5", "--state", path)
        assert result.exit_code == 0
        assert "ends in 4 bytes that are not whole" in result.stderr
        assert json.loads(result.stdout)["round"] == 1


class TestThePage:
    """docs/follow.md: its programs are run, and what it shows is what they print."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """A folder where ``lsmdp`` is the one that is tested."""
        shim = tmp_path / "bin" / "lsmdp"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{MAIN}" "$@"\n')
        shim.chmod(0o755)
        return tmp_path

    def shell(self, place: Path, script: str, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-euc", f'PATH="{place / "bin"}:$PATH"\n{script}'],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)

    def test_the_shell_example(self, place: Path) -> None:
        (script,), (shown,) = self.blocks("sh"), self.blocks("jsonl")
        printed = [json.loads(line) for line in self.shell(place, script, code=1).splitlines()]
        assert len(printed) == 4
        assert rounded(printed) == [json.loads(line) for line in shown.splitlines()]

    def test_the_node_example(self, place: Path) -> None:
        if shutil.which("node") is None:
            pytest.skip("there is no node on this machine to run the example with")
        (script,) = self.blocks("js")
        (place / "patrol.mjs").write_text(script, encoding="utf-8")
        walk = self.shell(place, "node patrol.mjs").split()
        assert len(walk) == 20
        assert all(0 <= int(place) < 12 for place in walk)

    def test_the_python_example(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(place)
        (script,) = self.blocks("python")
        names: dict[str, Any] = {}
        for t in (50, 100):
            exec(compile(script, "docs/follow.md", "exec"), names)
            assert names["state"].t == t


def rounded(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers with four digits, as the page shows them."""
    kept: list[dict[str, Any]] = json.loads(json.dumps(answers), parse_float=lambda text: round(float(text), 4))
    return kept
