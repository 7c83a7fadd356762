"""What ``lsmdp check`` says: the facts agree with the chain, the verdicts with the facts, the advice with the model."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import lsmdp
from lsmdp import chain
from lsmdp.model import LMDP
from lsmdp.sources import checkup
from lsmdp.sources.advice import ways_to_repair
from lsmdp.sources.checkup import Checkup, examine

KEYS = {
    "states", "entries", "irreducible", "classes", "period", "aperiodic", "primitivity_index", "reversible",
    "dobrushin", "scrambling_steps", "dobrushin_k", "p_min", "B", "max_hitting_time", "hitting_time_bound",
    "stationary_min", "stationary_max", "assumptions", "notes", "way_on", "not_computed",
}  # fmt: skip


def swap(n: int = 2) -> LMDP:
    """A cycle through n states: period n."""
    return LMDP(np.roll(np.eye(n), 1, axis=1))


def star_into_pair(rays: int) -> LMDP:
    """States 0 and 1 alternate; all others lead there and cannot be reached."""
    A = np.zeros((rays + 2, rays + 2))
    A[0, 1] = A[1, 0] = 1.0
    A[2:, :2] = 0.5
    return LMDP(A, labels=[f"stop {x}" for x in range(rays + 2)])


def one_way(n: int) -> LMDP:
    """To the right until absorbed: every class has one state."""
    return LMDP(sparse.diags_array([np.append(np.zeros(n - 1), 1.0), np.ones(n - 1)], offsets=[0, 1]))


def hub(n: int) -> LMDP:
    """From everywhere to state 0 with 0.25, else to the next state."""
    A = 0.75 * np.roll(np.eye(n), 1, axis=1)
    A[:, 0] += 0.25
    return LMDP(A)


def well_formed(found: Checkup) -> None:
    """One screen; a value or a reason for every fact; valid JSON with stable keys."""
    lines = found.lines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= checkup.COLUMNS_OF_A_LINE
    assert str(found) == "\n".join(lines)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data.keys() >= KEYS
    optional = {"hitting_time_bound", "dobrushin_bound"}
    for key, value in data.items():
        if key not in optional:
            assert (value is None) == (key in found.not_computed), key
    assert all(found.not_computed.values())
    assert found.ok == (found.irreducible and found.period == 1)
    assert found.notes
    assert found.way_on


@pytest.mark.parametrize(
    "lmdp",
    [
        lsmdp.grid(3, 3),
        lsmdp.grid(1, 1),
        lsmdp.ring(5),
        lsmdp.sticky(1e-9),
        lsmdp.rank_one([0.2, 0.3, 0.5]),
        lsmdp.clusters(2, 10, 1e-6),
        lsmdp.random_graph(50, 3, seed=1),
        swap(),
        swap(7),
        star_into_pair(1),
        star_into_pair(50),
        one_way(4),
        hub(20),
        LMDP(np.eye(3)),
    ],
    ids=repr,
)
def test_every_checkup_is_well_formed(lmdp: LMDP) -> None:
    well_formed(examine(lmdp))


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_facts_are_those_of_the_chain(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    weights[weights.sum(axis=1) == 0.0, 0] = 1.0
    lmdp = LMDP(weights, normalise=True)
    P, found = lmdp.P, examine(lmdp)
    well_formed(found)
    assert found.irreducible == lmdp.is_irreducible
    assert (found.B, found.p_min) == (pytest.approx(-math.log(P.data.min())), P.data.min())
    assert found.dobrushin == chain.dobrushin(P).value
    assert found.assumptions["ass:ergod"] == (found.dobrushin < 1.0)
    assert found.scrambling_steps == chain.mixing_steps(P).value
    if found.irreducible:
        mu = chain.stationary(P)
        assert (found.stationary_min, found.stationary_max) == (mu.min(), mu.max())
        assert found.max_hitting_time == chain.hitting_times(P).max()
        assert found.reversible == chain.is_reversible(P)


def test_a_grid_fails_in_one_step_and_holds_in_k() -> None:
    found = examine(lsmdp.grid(3, 3))
    assert found.ok
    assert found.assumptions == {"ass:irred": True, "ass:ergod": False}
    assert found.dobrushin == 1.0
    k = found.scrambling_steps
    text = str(found)
    assert f"holds  irreducible and aperiodic, P^{found.primitivity_index} > 0" in text
    assert "fails  a(P) = 1: there are two states without a common successor" in text
    assert f"for k = {k}: a(P^{k}) = {found.dobrushin_k:.6g}" in text
    assert f"those of {k} steps do" in " ".join(found.notes)
    assert "Nothing to repair. lsmdp solve grid:3x3 --cost hill" in found.way_on[0]


def test_a_chain_that_forgets_in_one_step() -> None:
    found = examine(lsmdp.rank_one([0.2, 0.3, 0.5]))
    assert found.assumptions == {"ass:irred": True, "ass:ergod": True}
    assert "holds  a(P) = 0" in str(found)
    assert "L >= 1/(1 - a(P)) = 1." in found.notes[0]
    assert "in k steps" not in str(found)


def test_a_tiny_overlap_is_shown() -> None:
    found = examine(lsmdp.sticky(1e-17))
    assert found.assumptions["ass:ergod"] is True
    assert found.dobrushin == 1.0  # rounded
    assert found.overlap == pytest.approx(2e-17)
    assert "a(P) = 1 - 2e-17" in str(found)


def test_coefficients_of_many_steps_that_are_unknown_or_underflow() -> None:
    rare = np.full(60, 1e-12)
    found = examine(LMDP(sparse.diags_array([rare, np.ones(61), rare], offsets=[-1, 0, 1])))
    assert found.scrambling_steps == 30
    assert found.overlap_k == 0.0  # (1e-12)^30
    assert "for k = 30: a(P^30) = 1 - (less than 1e-308)" in str(found)
    well_formed(found)
    found = examine(lsmdp.grid(1, 1001))
    assert "holds  for k = 500; a(P^500) unknown: 1,001 states; exact to 1,000" in str(found)
    well_formed(found)


def test_a_period_is_explained() -> None:
    found = examine(swap(3))
    assert not found.ok
    assert found.assumptions["ass:irred"] is False
    assert "fails  irreducible, but with period 3" in str(found)
    assert "none exists: the period is 3" in str(found)
    assert "With period 3 solving is fine" in found.notes[0]
    assert "--lazy 0.1" in found.way_on[0]
    assert "lmdp.lazy(0.1)" in found.way_on[0]
    assert examine(swap(3).lazy(0.1)).ok


def test_unreachable_states_are_named() -> None:
    found = examine(star_into_pair(5))
    assert not found.ok
    names = 'state 2 "stop 2", state 3 "stop 3", state 4 "stop 4" and 2 more'
    assert found.notes[0].startswith(f"Outside the largest class: 5 of 7 states ({names}).")
    assert found.not_computed["stationary_min"] == found.not_computed["period"] == "P is not irreducible"
    assert "--largest-class" in found.way_on[0]
    assert "2 states remain. That class has period 2: add --lazy 0.1 too." in found.way_on[0]
    assert "--teleport 0.01" in found.way_on[1]
    assert examine(star_into_pair(5).largest_class().lazy(0.1)).ok
    assert examine(star_into_pair(5).teleport(0.01)).ok
    assert " more" not in examine(star_into_pair(2)).notes[0]


def test_only_possible_ways_are_offered() -> None:
    (way,) = examine(one_way(4)).way_on  # no class is worth keeping
    assert "--teleport" in way
    (way,) = examine(one_way(4).teleport(0.5)).way_on
    assert "Nothing to repair" in way
    n = 6000  # teleport would fill P
    cycle_and_tail = sparse.csr_array(
        (np.ones(n), (np.arange(n), np.append(np.roll(np.arange(n - 1), -1), 0))), shape=(n, n)
    )
    (way,) = examine(LMDP(cycle_and_tail)).way_on
    assert f"--largest-class, or use lmdp.largest_class(): {n - 1:,} states remain." in way
    assert f"period {n - 1}" in way


def test_values_are_bounded_by_hitting_times() -> None:
    found = examine(lsmdp.sticky(1e-3))
    assert found.max_hitting_time == pytest.approx(1000)
    assert "span(v) <= 1,000 span(c)" in " ".join(found.notes)


def test_temperature_weighs_the_control_cost() -> None:
    lmdp = LMDP([[0.25, 0.75], [0.5, 0.5]], temperature=2.0)
    found = examine(lmdp)
    assert f"more than {2 * math.log(4):.4g} a step" in found.notes[-1]
    assert "temperature 2" in found.lines()[1]


def test_large_models_say_what_was_left_out() -> None:
    found = examine(lsmdp.random_graph(30_000, 5, seed=2))
    well_formed(found)
    assert found.ok
    assert found.assumptions["ass:ergod"] is False
    assert found.stationary_min is not None
    reason = "30,000 states; exact to 2,000"
    assert found.not_computed["primitivity_index"] == found.not_computed["scrambling_steps"] == reason
    assert f"in k steps     not computed: {reason}" in str(found)
    assert found.not_computed["max_hitting_time"] == "30,000 states; exact to 3,000"
    assert found.hitting_time_bound is not None
    assert "between any two states (a bound)" in str(found)
    assert "by ass:irred those of k steps do" in found.notes[0]


def test_what_is_known_of_ass_ergod_when_there_are_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain.mixing, "OVERLAP_WORK", 5)
    found = examine(hub(30))
    well_formed(found)
    assert found.assumptions["ass:ergod"] is True  # by Doeblin's bound
    assert found.dobrushin_bound == 0.75
    assert found.notes[0] == "One-step constants (ass:ergod) apply."
    assert "holds  a(P) <= 0.75 (a bound: too many pairs of states to compare)" in str(found)
    lines = (np.arange(31)[:, None] + [1, 5, 11, 24, 25, 27]) % 31  # a projective plane: any two lines meet in a
    plane = sparse.csr_array((np.full(lines.size, 1 / 6), (np.repeat(np.arange(31), 6), lines.ravel())))  # point
    found = examine(LMDP(plane))
    well_formed(found)
    assert found.assumptions["ass:ergod"] is None  # no point is on all lines
    assert found.notes[0].startswith("One-step constants (ass:ergod) may apply")
    assert "open   a(P) not computed: too many pairs of states to compare" in str(found)
    monkeypatch.undo()
    assert examine(LMDP(plane)).dobrushin == pytest.approx(5 / 6)


def test_a_law_that_was_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "WORK_OF_A_CHECKUP", 0.0)
    lmdp = lsmdp.random_graph(4000, 7, seed=3)
    found = examine(lmdp)
    well_formed(found)
    assert found.reversible is False
    assert "stationary law   not computed: no method reaches 1e-10 in a few seconds" in str(found)
    assert found.hitting_time_bound is None


def test_why_states_are_outside_is_said() -> None:
    edges = [
        ("a", "b"),
        ("b", "a"),
        ("b", "sink"),
        ("sink", "sink"),
        ("spring", "a"),
        ("isle", "islet"),
        ("islet", "isle"),
    ]
    found = examine(lsmdp.from_edges([*edges, ("a", "a")]))
    assert found.notes[1] == (
        'Of these, 1 cannot be reached from it (state 3 "spring"); 1 cannot get back to it: dead ends, or '
        'goals (state 2 "sink"); 2 neither reach it nor can be reached (state 4 "isle", state 5 "islet").'
    )
    assert found.notes[2] == (
        'state 2 "sink" is entered and never left. That may be a mistake, and then it is a dead end to repair; or it '
        "is a goal, where things are meant to end: then keep it, and solve with --goal sink."
    )


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_every_way_that_is_offered_makes_a_usable_kernel(n: int, seed: int) -> None:
    """Also of weights with dead ends and rows of any sum, and where there is none, nothing is offered."""
    rng = np.random.default_rng(seed)
    weights = sparse.csr_array(rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 1.2 / n).astype(float))
    offered = list(ways_to_repair(weights))
    assert offered or not weights.nnz or n == 1
    for way in offered:
        if weights.nnz or way.get("teleport"):
            assert examine(LMDP.repaired(weights, **way)).ok


def test_commands_are_for_the_command_line() -> None:
    assert examine(swap(3)).commands == ()
    found = examine(swap(3), lambda name, **more: f"lsmdp {name} {more}")
    assert found.commands == ("lsmdp check {'lazy': 0.1}",)
    assert found.lines()[-2:] == ["Ready to paste", "  lsmdp check {'lazy': 0.1}"]
    assert examine(lsmdp.ring(3), lambda name, **more: f"lsmdp {name} {more}").commands == (
        "lsmdp solve {'cost': 'hill'}",
    )
