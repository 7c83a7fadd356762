"""The dynamic regret of a run in a folder: in the summary, in two tables, on the page, and when it is left out."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lsmdp import SpecError, runs
from lsmdp.report.dynamic import attribution
from lsmdp.report.story import story
from lsmdp.runs import Folder, Spec
from lsmdp.runs.dynamic import BY_ROUND, BY_STATE, read_dynamic

LIMITS = importlib.import_module("lsmdp.regret.summary")
SPEC = Spec.of(kernel="grid:4x4", costs="target", rounds=120, learners=("ftl", "discounted", "btl"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dynamic") / "run"
    runs.start(SPEC, path)
    return path


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where playing all rounds again counts as too long."""
    monkeypatch.setattr(LIMITS, "WORK_OF_A_REPLAY", 0.0)


def told(path: Path, which: str = "none") -> dict[str, Any]:
    return story(Folder(path), runs.load(path), lambda _what, _t, _rounds: None, which)


def test_the_tables_sum_up_to_the_summary(finished: Path) -> None:
    folder, summary = Folder(finished), Folder(finished).summary()
    found = read_dynamic(folder)
    assert found is not None
    assert list(found.by_round) == list(SPEC.learners)
    for name, one in summary["learners"].items():
        dynamic = one["regret"]["dynamic"]
        assert dynamic == pytest.approx(one["loss"] - summary["cost_of_plan_in_hindsight"], rel=1e-15)
        assert abs(one["dynamic_regret_by_divergence"] - dynamic) <= one["dynamic_regret_rounding"] < 1e-9
        assert found.by_round[name].shape == (120,)
        assert found.by_round[name].sum() == pytest.approx(dynamic, rel=1e-11)
        assert found.by_state[name].shape == (16,)
        assert found.by_state[name].sum() == pytest.approx(dynamic, rel=1e-11)


def test_the_tables_are_what_the_run_says(finished: Path) -> None:
    from pyarrow import parquet

    regret, found = runs.load(finished).regret(dynamic=True), read_dynamic(Folder(finished))
    assert found is not None
    for one in regret.learners:
        assert one.dynamic is not None
        np.testing.assert_array_equal(found.by_round[one.name], one.dynamic.by_round())
        np.testing.assert_array_equal(found.by_state[one.name], one.dynamic.by_state())
    table = parquet.read_table(finished / BY_ROUND)
    assert table.column_names == ["round", "learner", "dynamic"]
    assert table["round"].to_pylist()[:120] == list(range(1, 121))
    assert parquet.read_table(finished / BY_STATE).column_names == ["state", "learner", "dynamic"]


@pytest.mark.usefixtures("_hurried")
def test_a_large_run_has_the_number_and_says_how_to_have_the_tables(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "large"
    runs.start(SPEC, path)
    large, whole = Folder(path).summary(), Folder(finished).summary()
    assert not (path / BY_ROUND).exists()
    assert read_dynamic(Folder(path)) is None
    assert large["learners"]["ftl"]["regret"] == whole["learners"]["ftl"]["regret"]
    assert "lsmdp play grid:4x4 --costs target" in large["notes"][0]
    assert f"--dynamic --out {path} --resume" in large["notes"][0]
    page = told(path)
    assert page["dynamic"]["learners"] == []
    assert page["map"]["still"] is None
    assert "--dynamic" in page["dynamic"]["finding"]
    assert "--dynamic" not in page["lede"]
    runs.resume(path, SPEC.model_copy(update={"dynamic": True}))  # as that command would
    assert (path / BY_ROUND).read_bytes() == (finished / BY_ROUND).read_bytes()
    assert (path / BY_STATE).read_bytes() == (finished / BY_STATE).read_bytes()
    assert Folder(path).summary()["notes"] == []


@pytest.mark.usefixtures("_hurried")
def test_a_page_of_all_rounds_plays_them_again(finished: Path, tmp_path: Path) -> None:
    path, seen = tmp_path / "large", []
    runs.start(SPEC, path)
    assert attribution(Folder(path), runs.load(path), "sample", seen.append) is None
    again, kept = attribution(Folder(path), runs.load(path), "all", seen.append), read_dynamic(Folder(finished))
    assert again is not None
    assert kept is not None
    assert seen[-1] == 120
    for name in SPEC.learners:
        np.testing.assert_array_equal(again.by_round[name], kept.by_round[name])


def test_the_page_draws_it(finished: Path) -> None:
    page, summary, found = told(finished), Folder(finished).summary(), read_dynamic(Folder(finished))
    assert found is not None
    part = page["dynamic"]
    assert [one["name"] for one in part["learners"]] == list(SPEC.learners)
    for one in part["learners"]:
        assert one["total"][-1] == pytest.approx(summary["learners"][one["name"]]["regret"]["dynamic"], rel=1e-9)
        assert one["t"][-1] == 120
        assert all(a <= b for a, b in zip(one["total"], one["total"][1:], strict=False))
        assert np.mean(one["each"]) * 120 == pytest.approx(one["total"][-1], rel=1e-9)
    assert part["title"].startswith("Not knowing the future cost ")
    assert "Nobody could have paid less than" in part["finding"]
    best = max(range(16), key=lambda x: found.by_state["discounted"][x])
    row, column = divmod(best, 4)
    assert f"worth most at row {row}, column {column} (" in part["finding"]
    assert set(page["map"]["still"]) == {"ftl", "discounted"}  # who sees the costs is not on the map
    assert page["map"]["still"]["ftl"]["high"] == pytest.approx(found.by_state["ftl"].max())
    assert [column["name"] for column in page["comparison"]].count("dynamic regret") == 1


def test_a_run_of_an_earlier_version(finished: Path, tmp_path: Path) -> None:
    """Its summary knows nothing of a dynamic regret, and it has no tables."""
    import shutil

    path = tmp_path / "old"
    shutil.copytree(finished, path)
    for name in (BY_ROUND, BY_STATE):
        (path / name).unlink()
    summary = json.loads((path / "summary.json").read_text())
    del summary["cost_of_plan_in_hindsight"]
    for one in summary["learners"].values():
        del one["regret"]["dynamic"], one["dynamic_regret_by_divergence"], one["dynamic_regret_rounding"]
    (path / "summary.json").write_text(json.dumps(summary))
    page = told(path)
    assert page["dynamic"]["title"] == "What not knowing the future cost is not known"
    assert "earlier version" in page["dynamic"]["finding"]


@pytest.mark.parametrize("name", [BY_ROUND, BY_STATE])
@pytest.mark.parametrize("way", ["gone", "short", "other", "no table"])
def test_damaged_tables(finished: Path, tmp_path: Path, name: str, way: str) -> None:
    import shutil

    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "bad"
    shutil.copytree(finished, path)
    table = parquet.read_table(path / name)
    if way == "gone":
        (path / name).unlink()
    elif way == "short":
        parquet.write_table(table.slice(1), path / name)
    elif way == "other":
        parquet.write_table(table.set_column(2, "dynamic", pa.array([float("nan")] * len(table))), path / name)
    else:
        (path / name).write_bytes(b"PAR1")
    with pytest.raises(SpecError, match=rf"{name}\" is damaged"):
        read_dynamic(Folder(path))
