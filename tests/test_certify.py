"""``lsmdp certify`` and ``lsmdp.certify``: what a user sees, on a kernel and on a run folder, and with bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.theory import STATEMENTS, beyond
from lsmdp.theory.page import page

Run = Callable[..., Any]
ROOT = Path(__file__).parent.parent


def test_the_page_of_the_labels_is_up_to_date() -> None:
    written = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert written == page(), "write it again with: python -m lsmdp.theory.page > docs/paper.md"


def test_a_kernel_is_certified_label_by_label(run: Run) -> None:
    done = run("certify", "ring:8", "--costs", "switching", "--rounds", "30", "--quiet")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    first = next(k for k, line in enumerate(lines) if line.strip().startswith("ass:irred"))
    rest = "\n".join(lines[first:])
    assert "ass:irred" in lines[first]  # the assumptions come first
    for label, statement in STATEMENTS.items():
        if not (statement.standalone or statement.of_tracking or statement.of_pools):
            assert label in rest, label
    assert "fail as printed" in rest
    assert "bounds on loss - T lambda from the run itself" in rest


def test_json_has_every_certificate_the_constants_and_the_bounds_of_the_run(run: Run) -> None:
    options = ("--learner", "ftl", "--learner", "track", "--json", "--quiet")
    done = run("certify", "sticky:0.7", "--costs", "iid", "--rounds", "40", *options)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["holds"] is True
    assert found["rounds"] == 40
    assert found["constants"]["L"]["how"] == "1 / (1 - alpha)"
    assert {one["learner"] for one in found["a_posteriori"]} == {"exact ftl", "ftl", "track"}
    for one in found["a_posteriori"]:
        assert one["excess"] <= one["means"]["bound"] <= one["curvature"]["bound"] <= one["spans"]["bound"]
    printed = [one for one in found["certificates"] if one["label"] == "eq:lpidiff" and one["reading"] == "printed"]
    assert printed[0]["holds"] is False
    tracked = [one for one in found["certificates"] if one["label"] == "new:tracking"]
    assert [one["about"] for one in tracked] == ["track"]


def test_what_says_nothing_is_told_apart(run: Run) -> None:
    """On a ring of 12 states L is about 3e14 from P alone: bounds with it hold, and no headline boasts of them."""
    arguments = ("certify", "ring:12", "--costs", "switching:10", "--rounds", "60", "--quiet")
    found = json.loads(run(*arguments, "--json").stdout)
    ours = [one for one in found["certificates"] if one["reading"] != "printed" and one["kind"] != "assumption"]
    known = [one for one in ours if one["holds"] is not None]
    empty = [one for one in known if one["vacuous"]]
    labels = {one["label"] for one in empty}
    assert {"lem:change", "lem:c_to_v", "lem:ideal", "thm:main", "eq:fullbound", "new:ksteps", "new:L2"} <= labels
    assert not {"new:I2", "new:posteriori", "new:L2/5", "eq:span", "new:inexact"} & labels
    for one in empty:
        assert one["holds"] is True
        assert one["right"] == "infinite" or one["right"] + one["tolerance"] >= one["trivial"]
        assert one["says_something_in"] == 0
    told = len(known) - len(empty)
    headline = f"{told} of {len(known)} corrected and new statements hold and say something; {len(empty)} hold and say "
    assert found["headline"] == headline + "nothing here; 0 fail"
    table = run(*arguments).stdout
    assert " ".join(table.split()).count(headline) == 1
    line = next(line for line in table.splitlines() if line.split()[:1] == ["new:ksteps"])
    assert "says nothing" in line
    # the squares beside the cubes, and what is known anyway
    assert found["a_priori"]["new:L2"] < 1e-10 * found["a_priori"]["new:ksteps"]
    assert found["a_priori"]["new:log"] is None
    assert "no regret exceeds T (B + C)" in " ".join(table.split())


def test_a_bound_that_says_something() -> None:
    """Two states that mix in one step: after 600 rounds the theorems exclude something, and are not called empty."""
    found = lsmdp.certify(lsmdp.rank_one([0.5, 0.5]), np.random.default_rng(0).random((600, 2)), search=False)
    for label in ("new:log", "new:ksteps", "new:L2", "lem:ideal", "lem:change", "eq:mu_to_p"):
        assert not found[label][-1].vacuous, label
    assert found.theorems()["new:L2"] == found.theorems()["new:ksteps"]  # L = 1 < 2: the older terms


def test_a_run_folder_is_replayed_and_certified(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ("--rounds", "25", "--learner", "ftl", "--learner", "track", "--learner", "passive", "--quiet")
    assert run("play", "ring:6", "--costs", "binary", *options, "--out", str(folder)).exit_code == 0
    done = run("certify", str(folder), "--json", "--quiet")
    assert done.exit_code == 0
    replayed = [one for one in json.loads(done.stdout)["certificates"] if one["label"] == "run:replay"]
    assert [one["about"] for one in replayed] == ["ftl", "track", "passive"]
    assert all(one["holds"] for one in replayed)
    summary = json.loads((folder / "summary.json").read_text())
    for one in replayed:
        assert one["left"] == pytest.approx(summary["learners"][one["about"]]["loss"], rel=1e-12)


def test_a_run_in_other_units_and_at_another_temperature_is_replayed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ("--rounds", "20", "--temperature", "0.25", "--learner", "ftl", "--quiet")
    assert run("play", "grid:3x3", "--costs", "target", *options, "--out", str(folder)).exit_code == 0
    found = json.loads(run("certify", str(folder), "--json", "--quiet").stdout)
    assert found["holds"] is True
    assert found["cost_range"] == 4.0
    printed = [one for one in found["certificates"] if one["reading"] == "printed" and one["label"] == "lem:change"]
    assert printed[0]["holds"] is None
    assert "temperature 1" in printed[0]["where"]


def test_inputs_that_changed_after_the_run_are_refused(run: Run, tmp_path: Path) -> None:
    kernel, folder = tmp_path / "P.npy", tmp_path / "run"
    np.save(kernel, np.array([[0.5, 0.5], [0.3, 0.7]]))
    play = ("play", str(kernel), "--costs", "iid", "--rounds", "5", "--quiet", "--out", str(folder))
    assert run(*play).exit_code == 0
    np.save(kernel, np.array([[0.5, 0.5], [0.4, 0.6]]))
    refused = run("certify", str(folder), "--quiet", "--trust")
    assert refused.exit_code == 2
    assert "was played on other inputs: they differ in kernel" in refused.stderr


def test_a_corrected_statement_that_fails_exits_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    true = beyond.posteriori_terms
    monkeypatch.setattr(beyond, "posteriori_terms", lambda *a: {name: -sums - 1.0 for name, sums in true(*a).items()})
    done = run("certify", "ring:5", "--costs", "iid", "--rounds", "6", "--quiet")
    assert done.exit_code == 1
    assert "FAILS" in done.stdout
    assert "FAILED: new:posteriori" in done.stdout
    assert run("certify", "ring:5", "--costs", "iid", "--rounds", "6", "--quiet", "--json").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("ring:5",), '"ring:5" is no folder of a run. Name one, or give a kernel and its costs'),
        (("ring:5", "--costs", "iid"), "rounds"),
        (("ring:5", "--costs", "iid", "--rounds", "0"), "rounds is 0"),
        (("ring:5", "--costs", "nothing.csv", "--rounds", "5"), "nothing.csv"),
        (("ring:5", "--costs", "iid", "--rounds", "5", "--learner", "best"), "best"),
        (("ring:5", "--costs", "iid", "--rounds", "5", "--start", "9"), "9"),
        (("nowhere", "--costs", "iid", "--rounds", "5"), "nowhere"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(run: Run, arguments: tuple[str, ...], complaint: str) -> None:
    done = run("certify", *arguments, "--quiet")
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_folder_that_is_no_run_and_costs_beside_a_run(run: Run, tmp_path: Path) -> None:
    empty = run("certify", str(tmp_path), "--quiet")
    assert empty.exit_code == 2
    both = run("certify", str(tmp_path), "--costs", "iid", "--quiet")
    assert both.exit_code == 2
    assert "which has its own costs" in both.stderr


def test_a_large_model_says_what_was_left_out(run: Run) -> None:
    done = run(
        "certify", "random:3000:5", "--costs", "iid", "--rounds", "3", "--cheap", "--no-search", "--json", "--quiet"
    )
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["left_out"]["primitivity_index"] == "asked for the cheap bounds only"
    left_out = [one for one in found["certificates"] if one["holds"] is None]
    assert left_out
    assert all(one["where"] for one in left_out)


def test_a_periodic_chain_is_certified_with_what_it_has() -> None:
    cycle = np.roll(np.eye(4), 1, axis=1) * 0.6 + np.roll(np.eye(4), -1, axis=1) * 0.4
    report = lsmdp.certify(lsmdp.LMDP(cycle), np.random.default_rng(3).random((12, 4)))
    assert report.holds
    assert report["ass:irred"][1].holds is False
    assert report["ass:irred"][1].figures == (2.0, 1.0)
    assert not report["new:ksteps"][0].failed


def test_python_takes_a_run_one_learner_or_several() -> None:
    lmdp, costs = lsmdp.ring(5), np.random.default_rng(0).random((8, 5))
    run = lsmdp.play(lmdp, [lsmdp.FollowTheLeader(), lsmdp.BeTheLeader()], costs)
    assert [one.about for one in lsmdp.certify(run)["run:replay"]] == ["ftl"]  # the clairvoyant one is left aside
    assert lsmdp.certify(lmdp, costs, lsmdp.TrackTheLeader()).holds
    report = lsmdp.certify(lmdp, costs)
    assert list(report) == list(dict.fromkeys(one.label for one in report.certificates))
    assert sum(map(len, report.values())) == len(report.certificates) > len(report)
    assert "lem:nothing" not in report
    with pytest.raises(KeyError, match=r"whose label is lem:nothing\. There are: ass:"):
        report["lem:nothing"]
    with pytest.raises(lsmdp.SpecError, match="certify needs costs"):
        lsmdp.certify(lmdp)
    with pytest.raises(lsmdp.SpecError, match="sees costs before they are paid"):
        lsmdp.certify(lmdp, costs, lsmdp.BeTheLeader())
    with pytest.raises(lsmdp.CostError, match="no rounds"):
        lsmdp.certify(lmdp, np.empty((0, 5)))


def test_costs_that_can_be_read_only_once_leave_the_rivals_out() -> None:
    lmdp, costs = lsmdp.ring(5), np.random.default_rng(0).random((8, 5))
    report = lsmdp.certify(lmdp, iter(costs), lsmdp.FollowTheLeader())
    assert report.holds
    assert report["new:I4"][0].holds is None
    assert "only once" in report["thm:main"][0].where
