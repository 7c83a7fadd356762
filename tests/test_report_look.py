"""The look of the page of a run, in a browser: the table, colours, maps of networks, folded statements, samples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp import runs
from lsmdp.report import certificates, maps, write_page
from lsmdp.runs import film
from lsmdp.sources import write_model
from tests.test_report import played, told_by, visit

SIX = ("ftl", "track", "phased", "discounted", "window:10", "passive")
# What a program prints and a page does not: powers with an e, carets, indices with underscores, floats without end.
LEAKS = (r"\d[eE][+-]\d", r"\d\^", r"\b[A-Za-z]_[A-Za-z0-9]\b", r"\binf\b", r"\bnan\b", r'state \d+ "', r"\d\.\d{9}")


def network(path: Path, n: int, far: float = 0.0) -> str:
    """A ring with chords, its states on two circles; ``far`` moves the last one away."""
    rng = np.random.default_rng(0)
    W = np.zeros((n, n))
    at = np.arange(n)
    W[at, (at + 1) % n] = W[at, (at - 1) % n] = W[at, at] = 1.0
    W[at, rng.permutation(n)] += 1.0
    turn = 2.0 * np.pi * at / n
    positions = np.stack([np.cos(turn), np.sin(turn)], axis=1) * (1.0 + 0.4 * (at % 2))[:, None]
    positions[-1] += far
    labels = [f"stop {x + 1}" for x in range(n)]
    write_model(lsmdp.LMDP(W, normalise=True, labels=labels, positions=positions), path)
    return str(path)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of 24 states, six learners."""
    folder = tmp_path_factory.mktemp("town")
    kernel = network(folder / "town.npz", 24)
    return played(folder / "run", kernel, "iid", 60, learners=SIX, certify="sample")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_network_is_within_its_frame_and_can_be_zoomed_and_moved(town: Path, width: int) -> None:
    seen = visit(town, width)
    assert seen["errors"] == []
    assert seen["over"] == []
    wide, high = seen["canvas"]
    left, right, top, bottom = seen["bounds"]
    assert min(left, top) >= 8  # room for a dot
    assert right <= wide - 8
    assert bottom <= high - 8
    assert seen["zoomed"][1] - seen["zoomed"][0] == pytest.approx(1.5 * (right - left), abs=3)
    assert seen["moved"][0] == seen["zoomed"][0] + 40
    assert seen["again"] == seen["bounds"]
    assert seen["arrows"] > 0


def test_names_stand_beside_the_states_of_a_small_network_only(town: Path, tmp_path: Path) -> None:
    assert told_by(town)["map"]["names"][:2] == ["stop 1", "stop 2"]
    large = played(tmp_path / "run", network(tmp_path / "large.npz", maps.NAMED_STATES + 1), "iid", 3)
    assert told_by(large)["map"]["names"] is None


def test_one_far_state_does_not_shrink_a_network(tmp_path: Path) -> None:
    told = told_by(played(tmp_path / "run", network(tmp_path / "far.npz", 400, far=100.0), "iid", 3))["map"]
    left, right, _, _ = told["frame"]
    assert right - left < 4.0
    assert max(told["x"]) > 50.0
    assert re.search(r"\b\d+ of 400 states lie outside of the frame", told["note"])


def test_an_arrow_is_the_likeliest_move_to_another_state() -> None:
    P = np.array([[0.8, 0.2, 0.0], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]])
    policy = lsmdp.Policy(lsmdp.LMDP(P), np.zeros(3))
    moves = np.frombuffer(film.likeliest_moves(policy).levels, np.uint8)
    assert moves.reshape(3, 2).tolist() == [[1, 51], [2, 102], [film.NO_MOVE, 0]]


def test_a_colour_means_one_thing(town: Path) -> None:
    seen = visit(town, 1280)
    assert len(seen["strokes"]) >= len(SIX)
    paid, parts = (set(fills) for fills in seen["fills"])
    assert len(paid) == 2
    assert len(parts) == 3
    assert not paid & parts
    assert not (paid | parts) & set(seen["strokes"])


def test_what_parts_of_both_signs_add_up_to_is_marked(town: Path) -> None:
    mixed = [
        one
        for one in told_by(town)["learners"]
        if min(one[part] for part in ("idealised", "transient", "comparator"))
        < 0.0
        < max(one[part] for part in ("idealised", "transient", "comparator"))
    ]
    assert mixed
    assert visit(town, 1280)["marks"] == len(mixed)


def test_the_learners_are_compared_in_one_table(town: Path) -> None:
    head, *rows = visit(town, 1280)["table"]
    assert head[:3] == ["learner", "loss", "a round"]
    assert len(rows) == len(SIX)
    for column in zip(*(row[1:] for row in rows), strict=True):
        assert len({len(text.partition(".")[2]) for text in column}) == 1, column
    summary = json.loads((town.parent / "summary.json").read_text())
    for name, row in zip(SIX, rows, strict=True):
        assert row[0].removesuffix("least loss") == name
        assert float(row[1]) == pytest.approx(summary["learners"][name]["loss"], rel=1e-3)


def test_the_page_follows_the_winner(town: Path) -> None:
    told = told_by(town)
    best = min(told["learners"], key=lambda one: float(one["loss"]))["name"]
    assert best != "ftl"  # costs without a pattern: to do nothing is best
    assert told["map"]["title"].startswith(f"Watch {best}:")
    assert told["curves"]["title"].startswith(f"The excess of {best} over")
    assert told["parts"]["title"].startswith(f"{best} ")


def test_no_code_leaks_onto_the_page(town: Path) -> None:
    text = visit(town, 1280)["text"].partition("How to make this page again")[0]
    assert len(text) > 5_000
    assert {leak: found for leak in LEAKS if (found := re.findall(f".{{0,30}}(?:{leak}).{{0,30}}", text))} == {}


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of 9 states, where a pool learns whom to trust."""
    folder, learners = tmp_path_factory.mktemp("pooled"), ("pool:4", "clock:4", "ftl")
    place = network(folder / "town.npz", 9)
    return played(folder / "run", place, "periodic:4", 80, learners=learners, certify="sample")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_pool_tells_whom_it_trusts(pooled: Path, width: int) -> None:
    seen = visit(pooled, width)
    assert seen["errors"] == []
    text = seen["text"].partition("How to make this page again")[0]
    assert "of its trust in clock:4, which expects costs to come back after 4 rounds" in text
    assert "pool:4 is left out: the parts need" in text
    assert min(float(row[5].replace("−", "-")) for row in seen["table"][1:]) < 0.0
    assert re.findall(r"(?<![\w·])-\d.*", text) == []  # a minus is no hyphen
    assert {leak: found for leak in LEAKS if (found := re.findall(f".{{0,30}}(?:{leak}).{{0,30}}", text))} == {}


def test_statements_are_folded_unless_one_fails(town: Path, tmp_path: Path) -> None:
    seen = visit(town, 1280)
    assert seen["open"] is False
    assert seen["statements"] > 70
    told = told_by(town)["certificates"]
    assert told["finding"].startswith("For this run that means: nothing that was computed contradicts the theory")
    broken = tmp_path / "broken.html"
    broken.write_text(town.read_text(encoding="utf-8").replace('"open":false', '"open":true', 1), encoding="utf-8")
    assert visit(broken, 1280)["open"] is True


def test_a_statement_that_fails_opens_the_fold_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss on record is another one: the replay does not agree with it."""
    page = played(tmp_path / "run", "ring:12", "iid", 20, certify="sample")
    told = told_by(page)["certificates"]
    assert (told["open"], "wrong" in told["finding"]) == (False, False)
    monkeypatch.setattr(
        certificates, "certify", lambda game, **_: lsmdp.certify(game, rounds=12, recorded={"ftl": 0.0})
    )
    told = told_by(write_page(page.parent))["certificates"]
    assert told["open"] is True
    assert "something is wrong. run:replay should hold and does not" in told["finding"]


def test_a_small_game_is_certified_in_full_and_a_large_one_on_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = told_by(played(tmp_path / "run", "ring:12", "iid", 40, certify="sample"))["certificates"]
    assert (small["certified_rounds"], small["looked_at"]) == (40, "Every round was looked at.")
    work = certificates.work_of_a_round(runs.load(tmp_path / "run"))
    monkeypatch.setattr(certificates, "WORK_OF_A_SAMPLE", 12.5 * work)
    told = told_by(write_page(tmp_path / "run"))
    sampled = told["certificates"]
    assert sampled["certified_rounds"] == 12
    assert "the first 12 of 40 rounds" in sampled["looked_at"]
    assert not sampled["open"]
    assert {row[5] for row in sampled["rows"] if row[0] == "run:replay"} == {"holds"}  # against what is on record
    assert [shot["t"] for shot in told["map"]["frames"]][-1] == 40  # the map has all rounds
    assert told["curves"]["bounds"] == []
    whole = told_by(write_page(tmp_path / "run", certify="all"))["certificates"]
    assert whole == small


def test_a_sample_whose_record_is_wrong_fails(tmp_path: Path) -> None:
    page = played(tmp_path / "run", "ring:12", "iid", 40)
    run = lsmdp.runs.load(page.parent)
    paid = {player.name: player.loss for player in lsmdp.certify(run, rounds=12).game.players}
    assert lsmdp.certify(run, rounds=12, recorded=paid).holds
    assert not lsmdp.certify(run, rounds=12, recorded=paid | {"track": paid["track"] + 1e-6}).holds
    assert lsmdp.certify(run, rounds=12).game.T == 12


def test_a_sample_is_the_smaller_the_more_there_is_to_do_in_a_round() -> None:
    def count(states: int, *learners: lsmdp.Learner) -> int:
        played = lsmdp.play(lsmdp.grid(states, 10), learners, np.zeros((2, 10 * states)))
        found: int = certificates.looked_at(replace(played, game=replace(played.game, t=10**6)), "sample")
        return found

    few, pooled = count(2, lsmdp.Passive()), count(2, lsmdp.Pool())
    assert pooled < few / 2  # its experts play, too
    assert few > count(100, lsmdp.Passive()) > count(400, lsmdp.Passive()) > certificates.FEWEST_ROUNDS


def test_the_command_says_which_rounds_were_looked_at(run: Callable[..., Any], tmp_path: Path) -> None:
    page = played(tmp_path / "run", "ring:12", "iid", 20, certify="sample")
    for which, rounds in (("all", 20), ("sample", 20), ("none", 0)):
        done = run("report", str(page.parent), "--certify", which, "--json", "--quiet")
        told = json.loads(done.stdout)
        assert (told["certify"], told["certified_rounds"], told["rounds"]) == (which, rounds, 20)
    assert told_by(page)["certificates"]["title"] == "The theory was not evaluated on this run"
    assert visit(page, 1280)["errors"] == []
    refused = run("report", str(page.parent), "--certify", "some", "--quiet")
    assert refused.exit_code == 2
    assert "Say all, sample or none." in refused.stderr
