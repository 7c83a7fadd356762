"""The register: every label of the paper is in it, every entry has a test; and the certificates themselves."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lsmdp
from lsmdp.theory import STATEMENTS
from lsmdp.theory.certificate import (
    Certificate,
    at_most,
    cube,
    equal,
    left_out,
    times,
)

from .games import FAMILIES, checked, random_game

HERE = Path(__file__).parent
SOURCES = sorted(HERE.parent.parent.parent.glob("*/paper/neu-gomez-2017.tex"))  # beside the repository, if at all

PAPER = [
    "eq:bellman_V",
    "eq:bellman_Z",
    "eq:statcost",
    "eq:statdist",
    "eq:optQ",
    "ass:irred",
    "ass:ergod",
    "thm:main",
    "lem:vbound",
    "lem:mixing",
    "lem:c_to_v",
    "lem:change",
    "lem:btl",
    "lem:price",
    "lem:ideal",
    "lem:trueloss",
    "eq:pmudiff",
    "eq:mu_to_p",
    "eq:fullbound",
    "app:convexity",
    "app:dual",
    "eq:klform",
    "eq:span",
    "lem:v_to_Q",
    "app:price",
    "eq:lpiform",
    "eq:lpidiff",
    "app:mu_to_p",
]  # its labels of assumptions, theorems, lemmas, equations and appendices, in their order
NOT_STATEMENTS = {
    "app:price": "the section with the proof of lem:price",
    "app:mu_to_p": "the section with the proof of eq:mu_to_p",
}


@pytest.mark.skipif(not SOURCES, reason="the LaTeX source of the paper is not at hand")
def test_the_labels_are_those_of_the_paper() -> None:
    """Labels of sections, figures and algorithms are those of no statement."""
    text = SOURCES[0].read_text(encoding="utf-8")
    assert re.findall(r"\\label\{((?:ass|thm|lem|eq|app):[^}]*)\}", text) == PAPER


def test_every_label_of_the_paper_is_in_the_register() -> None:
    assert set(PAPER) - set(NOT_STATEMENTS) <= set(STATEMENTS)
    assert not set(NOT_STATEMENTS) & set(STATEMENTS)
    assert set(NOT_STATEMENTS) <= set(PAPER)


def test_the_register_invents_no_labels() -> None:
    """What is printed has a label of the paper, up to a part of it ("/2") and one lemma without a label."""
    for label, one in STATEMENTS.items():
        if one.printed:
            assert label.partition("/")[0] in PAPER or label == "unlabelled:comparator"
        else:
            assert label.startswith("new:")


def test_the_entries() -> None:
    for label, one in STATEMENTS.items():
        assert one.label == label
        assert one.holds
        assert (one.verdict == "new") == (not one.printed)
        assert one.readings == (("printed", "corrected") if one.printed else ("new",))


def functions() -> Iterator[str]:
    for path in sorted(HERE.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_statement_has_its_test() -> None:
    tests = Counter(functions())
    assert [label for label in STATEMENTS if tests["test_" + re.sub(r"\W", "_", label)] != 1] == []


def test_labels_of_the_certificates() -> None:
    """Each function speaks of its own label, in the reading that it was asked for."""
    game = random_game(2, "dense").record(lsmdp.TrackTheLeader())
    for one in STATEMENTS.values():
        if one.standalone:
            continue
        players = (
            [player for player in (game.ftl, *game.players) if one.concerns(player)] if one.per_learner else [None]
        )
        for player in players:
            made = one.certify(game) if player is None else one.certify(game, player)
            assert [each.label for each in made] == [one.label] * len(one.readings)
            assert tuple(each.reading for each in made) == one.readings
            assert {each.about for each in made} == {"" if player is None else player.name}


# Certificates.


def test_at_most() -> None:
    found = at_most("lem:change", "corrected", [1.0, 3.0, 2.0], [2.0, 3.5, 9.0], rounds=np.arange(4, 7), places="abc")
    assert found.holds
    assert found.slack.tolist() == [1.0, 0.5, 7.0]
    assert found.tightest == 1
    assert found.figures == (3.0, 3.5)
    assert found.where.startswith("round 5")
    assert not found.failed


def test_at_most_fails_in_one_round() -> None:
    found = at_most(
        "lem:change", "corrected", [9.0, 1.0, 3.0], [9.0, 0.5, 2.0], rounds=np.arange(1, 4), places=[*"xyz"]
    )
    assert found.holds is False
    assert found.failed
    assert found.where == "round 3, z"
    assert found.figures == (3.0, 2.0)
    assert "DOES NOT HOLD (round 3, z)" in str(found)


@pytest.mark.parametrize(("reading", "kind"), [("printed", "bound"), ("corrected", "assumption")])
def test_no_harm_done(reading: str, kind: str) -> None:
    """A printed statement or an assumption that does not hold is no failure."""
    found = at_most("thm:main", reading, 2.0, 1.0, kind=kind)
    assert found.holds is False
    assert not found.failed


def test_tolerance() -> None:
    assert at_most("a", "new", 1.0, 0.9, tolerance=0.1000001).holds
    assert at_most("a", "new", 1.0, 0.9, tolerance=0.0999999).failed
    assert at_most("a", "new", [1.0, 1.0], 0.9, tolerance=[0.2, 0.05]).failed
    assert at_most("a", "new", [1.0, 1.0], 0.9, tolerance=[0.2, 0.05]).tightest == 1
    assert at_most("a", "new", 1.0, 1.0).holds
    assert at_most("a", "new", np.nextafter(1.0, 2.0), 1.0).failed


def test_equal() -> None:
    found = equal("eq:optQ", "corrected", [1.0, 2.0], [1.0 + 1e-3, 2.0 - 2e-3], tolerance=1e-2)
    assert found.holds
    assert found.kind == "identity"
    assert (found.slack <= 0.0).all()
    assert found.tightest == 1
    for off in (0.1, -0.1):  # on either side
        assert equal("eq:optQ", "corrected", 1.0, 1.0 + off, tolerance=0.05).failed


@pytest.mark.parametrize("sides", [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan), ([0.0, np.nan], [1.0, 1.0])])
def test_nan_never_holds(sides: tuple[object, object]) -> None:
    assert at_most("a", "new", *sides, tolerance=np.inf).holds is False
    assert equal("a", "new", *sides, tolerance=np.inf).holds is False
    assert at_most("a", "new", *sides).failed


def test_nan_is_where_it_fails() -> None:
    found = at_most("a", "new", [1.0, np.nan, 0.0], 1.0, rounds=np.arange(1, 4))
    assert found.where == "round 2"
    assert at_most("a", "new", 1.0, 2.0, tolerance=np.nan).holds is False


def test_infinity() -> None:
    assert at_most("a", "new", 1e300, np.inf).holds
    assert at_most("a", "new", np.inf, 1e300).failed
    assert at_most("a", "new", -np.inf, 0.0).holds
    assert at_most("a", "new", [1.0, 2.0], [np.inf, 1.0]).tightest == 1


# To hold and to say something.


def test_a_bound_above_the_trivial_one_says_nothing() -> None:
    found = at_most("lem:change", "corrected", 0.5, 1e14, trivial=2.0)
    assert found.holds
    assert found.vacuous
    assert not found.failed
    assert found.to_dict()["vacuous"] is True
    assert found.to_dict()["trivial"] == 2.0
    assert str(found).endswith("holds and says nothing")
    assert not at_most("lem:change", "corrected", 0.5, 1.9, trivial=2.0).vacuous
    assert at_most("lem:change", "corrected", 0.5, 1.9, tolerance=0.1, trivial=2.0).vacuous  # with what is let off
    assert at_most("lem:change", "corrected", 0.5, np.inf).vacuous  # whatever is known otherwise
    assert at_most("lem:change", "corrected", 3.0, 2.5, trivial=2.0).failed  # to fail is never to say nothing


def test_one_entry_that_says_something_will_do() -> None:
    """It is the one that is shown, even where another is nearer to its bound."""
    found = at_most("lem:change", "corrected", [1.9, 0.1], [2.0, 0.5], trivial=2.0, rounds=np.arange(1, 3))
    assert not found.vacuous
    assert found.says == 1
    assert found.to_dict()["says_something_in"] == 1
    assert found.where == "round 2"
    assert at_most("lem:change", "corrected", [9.0, 0.1], [2.0, 0.5], trivial=2.0).tightest == 0  # it fails there


def test_an_identity_says_nothing_if_it_lets_anything_off() -> None:
    assert equal("eq:optQ", "corrected", 1.0, 1.5, tolerance=3.0, trivial=2.0).vacuous
    assert not equal("eq:optQ", "corrected", 1.0, 1.5, tolerance=1.0, trivial=2.0).vacuous
    assert equal("eq:optQ", "corrected", 1.0, 1.0, tolerance=np.inf).vacuous


def test_an_assumption_is_what_it_is() -> None:
    assert not at_most("ass:irred", "corrected", 1.0, 1.0, kind="assumption").vacuous


# What bounds the left side in any case is not known of the span of a single v, of the order of two constants, and of a
# variance that has no name otherwise; new:span and lem:vbound bound the first themselves.
NOTHING_IS_TRIVIAL = {"new:span", "lem:vbound", "lem:c_to_v/2", "new:corB"}


def test_every_statement_declares_what_is_trivial() -> None:
    game = random_game(2, "dense").record(lsmdp.TrackTheLeader())
    for reading in (None, "printed"):
        for one in checked(game, reading):
            if one.kind != "assumption" and one.holds is not None:
                assert np.isfinite(one.trivial) == (one.label not in NOTHING_IS_TRIVIAL), one.label


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_trivial_is_true(family: str) -> None:
    """The left sides of all bounds stay below what they are said to stay below in any case."""
    for seed in range(2):
        game = random_game(seed, family).record(lsmdp.TrackTheLeader(), lsmdp.WindowLeader(2), lsmdp.Passive())
        for reading in (None, "printed"):
            for one in checked(game, reading):
                if one.kind == "bound" and one.holds is not None:
                    assert one.figures[0] <= one.trivial * (1.0 + 1e-12) + 1e-9, one


def test_left_out() -> None:
    found = left_out("new:log", "new", "for a reason", about="somebody")
    assert found.holds is None
    assert not found.failed
    assert found.where == "for a reason"
    assert str(found) == "new:log, new: nan <= nan: not looked at (for a reason)"
    assert found.to_dict()["rounds"] == 0
    assert found.to_dict()["left"] is None


@pytest.mark.parametrize(
    "found",
    [
        at_most("a", "new", 1.0, np.inf),
        at_most("a", "new", -np.inf, np.nan),
        equal("a", "printed", [1.0, 2.0], [1.0, 2.5], tolerance=0.1, rounds=np.arange(1, 3), places=["x", "y"]),
        left_out("a", "corrected", "no reason"),
    ],
)
def test_to_dict_is_json(found: Certificate) -> None:
    figures = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert figures["holds"] is found.holds
    assert figures["label"] == "a"
    assert figures["where"] == found.where


@pytest.mark.parametrize("family", FAMILIES)
def test_all_of_them_as_json(family: str) -> None:
    """The figures of a real game, unknown and infinite ones among them."""
    game = random_game(4, family).record()
    for reading in (None, "printed"):
        for one in checked(game, reading):
            json.dumps(one.to_dict(), allow_nan=False)
            assert one.label in str(one)
    json.dumps(game.constants.to_dict(), allow_nan=False)


def test_products() -> None:
    """Infinity times 0 is 0 here, and a cube overflows to infinity."""
    assert times(np.inf, [0.0, 2.0]).tolist() == [0.0, np.inf]
    assert times(2.0, 3.0) == 6.0
    assert cube(-2.0) == -8.0
    assert cube(1e200) == np.inf
