"""What others expect of a package: its names, the versions it claims, how to cite it, and the checks on each change."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import floors
import lsmdp
import smoke

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW)["jobs"]
    return found


def classified() -> list[str]:
    """The Pythons that the classifiers name, oldest first."""
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), flags=re.MULTILINE)
    return sorted(named, key=lambda version: int(version.split(".")[1]))


class TestNames:
    def test_each_stands_once(self) -> None:
        tree = ast.parse(Path(lsmdp.__file__).read_text(encoding="utf-8"))
        listed = [name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names]
        words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        public = [name for name in lsmdp.__all__ if name != "__version__"]
        assert [name for name in listed if name in public] == public
        assert set(public).isdisjoint(words)
        assert len(public) >= 49

    def test_they_are_what_dir_and_a_star_give(self) -> None:
        names: dict[str, object] = {}
        exec("from lsmdp import *", names)
        names.pop("__builtins__")
        assert sorted(names) == dir(lsmdp) == sorted(lsmdp.__all__)

    def test_another_name_is_refused(self) -> None:
        with pytest.raises(AttributeError, match=r"^module 'lsmdp' has no attribute 'slove'$"):
            lsmdp.slove  # noqa: B018
        with pytest.raises(ImportError, match="slove"):
            exec("from lsmdp import slove")


class TestSmoke:
    def test_every_command_is_tried(self) -> None:
        assert smoke.untried_commands() == []

    def test_a_command_that_is_not_tried_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(smoke, "TRIES", [one for one in smoke.TRIES if one.command != "solve"])
        assert smoke.untried_commands() == ["solve"]
        with pytest.raises(SystemExit, match=r"^tests/smoke\.py does not try solve: add a line to TRIES\.$"):
            smoke.main()

    def test_a_file_that_is_not_installed_is_found(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert smoke.lost_files() == []
        monkeypatch.setattr(lsmdp, "__file__", str(tmp_path / "__init__.py"))
        assert {"py.typed", "sources/maps/museum.map", "report/page.html", "report/pages/common.js"} <= set(
            smoke.lost_files()
        )

    @pytest.mark.parametrize(
        ("one", "complaint"),
        [
            (smoke.Try("check ring:6:1", code=1), ""),
            (smoke.Try("check"), "ends with exit code 2 instead of 0:"),  # these three have nothing to load
            (smoke.Try("check --help", writes="nothing.npz"), "did not write nothing.npz:"),
            (smoke.Try("check --help", needs="no_such_package"), "does not say how to install no_such_package:"),
        ],
    )
    def test_what_goes_wrong_is_said(self, one: smoke.Try, complaint: str) -> None:
        assert smoke.attempt(one).split("\n")[0] == complaint


class TestFloors:
    def test_every_requirement_has_one(self) -> None:
        found = floors.floors(PROJECT)
        assert found["numpy"] == "1.26"
        assert set(found) == {
            *("numpy", "scipy", "threadpoolctl", "numba", "pyarrow", "typer", "rich", "pydantic"),
            *("matplotlib", "networkx", "dask"),
        }

    def test_all_extras_of_users_are_among_them(self) -> None:
        assert PROJECT["optional-dependencies"]["all"] == [f"lsmdp[{','.join(floors.EXTRAS)}]"]

    @pytest.mark.parametrize(
        "requirement", ["numpy", "numpy<2", "numpy>=1.26,<3", "numpy>=1.26; python_version<'3.12'"]
    )
    def test_a_requirement_without_one_is_refused(self, requirement: str) -> None:
        with pytest.raises(
            SystemExit, match=re.escape(f'pyproject.toml requires "{requirement}". Write name>=version')
        ):
            floors.floor(requirement)

    def test_an_extra_of_a_requirement_is_no_part_of_its_name(self) -> None:
        assert floors.floor("dask[distributed]>=2024.5") == ("dask", "2024.5")


class TestPythons:
    def test_the_oldest_is_the_same_everywhere(self) -> None:
        oldest = classified()[0]
        assert PROJECT["requires-python"] == f">={oldest}"
        assert re.findall(r"^OLDEST \?= python(\S+)$", MAKEFILE, flags=re.MULTILINE) == [oldest]
        assert jobs()["lowest"]["steps"][1]["with"]["python-version"] == oldest

    def test_the_oldest_and_the_newest_are_tested(self) -> None:
        assert jobs()["test"]["strategy"]["matrix"]["python"] == [classified()[0], classified()[-1]]

    def test_none_between_them_is_left_out(self) -> None:
        minors = [int(version.split(".")[1]) for version in classified()]
        assert minors == list(range(minors[0], minors[-1] + 1))


class TestWorkflow:
    def test_it_runs_what_a_developer_runs(self) -> None:
        runs = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs().items()}
        assert runs == {name: [f"make {name}"] for name in ("lint", "test", "lowest", "wheel", "docs")}
        for name in runs:
            assert re.search(rf"^{name}:.*## ", MAKEFILE, flags=re.MULTILINE), name

    def test_what_it_keeps_is_what_make_writes(self) -> None:
        kept = [
            step["with"]["path"] for job in jobs().values() for step in job["steps"] if "path" in step.get("with", {})
        ]
        assert kept == ["dist", "build/docs"]
        for path in kept:
            assert path in MAKEFILE


class TestCitation:
    def test_it_is_of_this_version(self) -> None:
        assert CITATION["version"] == lsmdp.__version__
        assert CITATION["license"] == PROJECT["license"]
        assert CITATION["keywords"] == PROJECT["keywords"]
        assert CITATION["repository-code"] == PROJECT["urls"]["Homepage"]
        assert CITATION["authors"] == PROJECT["authors"]

    def test_the_paper_is_that_of_the_readme(self) -> None:
        (paper,) = CITATION["references"]
        authors = " and ".join(f"{one['given-names']} {one['family-names']}" for one in paper["authors"])
        readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
        assert f"{authors}, *{paper['title']}*, COLT {paper['year']}." in readme


def test_the_pages_of_the_project_are_in_the_repository() -> None:
    home = PROJECT["urls"]["Homepage"]
    for name, address in PROJECT["urls"].items():
        assert address.startswith(home), name
        inside = address.removeprefix(home).removeprefix("/blob/main/")
        assert inside in ("", "/issues") or (ROOT / inside).is_file(), name
