"""The notebooks in examples/ run from top to bottom, and show what they have stored.

What is printed is the same everywhere, and is compared. Pictures and tables with seconds in them are not: there has to
be a picture where one is stored, and nothing more is asked of it. ``python examples/execute.py`` writes them again.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
NOTEBOOKS = ("museum.ipynb", "roads.ipynb", "trips.ipynb")
LARGEST_FILE = 400_000  # bytes: a repository is no place for large pictures


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kinds(output: dict[str, Any]) -> tuple[str, ...]:
    return (output["output_type"], *output.get("data", {}))


def printed(cell: dict[str, Any]) -> str:
    return "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_does_what_it_shows(name: str, program: ModuleType) -> None:
    stored = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    found = program.execute(FOLDER / name)
    for old, new in zip(stored["cells"], found["cells"], strict=True):
        if old["cell_type"] == "code":
            again = f"{name} has changed. Write its outputs again: python examples/execute.py {name}"
            assert printed(new) == printed(old), again
            assert [kinds(one) for one in new["outputs"]] == [kinds(one) for one in old["outputs"]], again


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_has_pictures_and_words_and_is_small(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    book = json.loads(text)
    pictures = [
        base64.b64decode(one["data"]["image/png"])
        for cell in book["cells"]
        for one in cell.get("outputs", ())
        if "image/png" in one.get("data", {})
    ]
    assert pictures
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert book["cells"][0]["cell_type"] == "markdown"
    assert len(text) <= LARGEST_FILE
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert book["nbformat"] == 4


def test_they_are_all_there_are() -> None:
    assert tuple(sorted(path.name for path in FOLDER.glob("*.ipynb"))) == NOTEBOOKS


def test_a_cell_is_run_as_in_jupyter(program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ["x = 2\nprint(x)\nx + 1", "x;", "import matplotlib.pyplot as plt\nplt.subplots();", "1 / 0"]
    made = [{"cell_type": "code", "source": [source]} for source in cells]
    path = tmp_path / "small.ipynb"
    path.write_text(json.dumps({"cells": made[:3]}))
    monkeypatch.setattr(sys, "argv", ["execute.py", str(path)])
    program.main()
    first, second, third = json.loads(path.read_text())["cells"]
    assert printed(first) == "2\n"
    assert first["outputs"][1]["data"] == {"text/plain": ["3"]}
    assert second["outputs"] == []
    assert [kinds(one) for one in third["outputs"]] == [("display_data", "image/png")]
    path.write_text(json.dumps({"cells": made}))
    with pytest.raises(ZeroDivisionError):
        program.execute(path)
