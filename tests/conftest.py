"""Shared by all tests: reproducible Hypothesis runs, and the command line called in process."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from functools import cache

import pytest
import typer.main
import typer.testing
from hypothesis import settings
from typer.testing import CliRunner, Result

from lsmdp.cli import app

settings.register_profile("lsmdp", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("lsmdp")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so it is where a shell runs the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What the tests import stays to the end: to look through it for garbage, more than three thousand times while it is
# imported, took a quarter of that time.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on garbage is collected, among what is made from here on."""
    gc.freeze()
    gc.enable()


# A command line is put together from the signatures of its functions each time that it is called, which takes longer
# than most of what is asked of it here: once is enough.
typer.testing._get_command = cache(typer.main.get_command)


@pytest.fixture
def run() -> Callable[..., Result]:
    """``run("solve", "grid:3x3", ...)``: the command line as a user calls it; a traceback is a failure of the test."""

    def call(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return call
