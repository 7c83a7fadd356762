"""Each learner against its definition, and the public conformance suite against learners that cheat."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lsmdp
from lsmdp import (
    LMDP,
    Policy,
    SpecError,
    grid,
    ring,
    solve,
)
from lsmdp.checks import CheckError, check_learner
from lsmdp.learners import (
    NAMES,
    BeTheLeader,
    DiscountedLeader,
    Fixed,
    FollowTheLeader,
    Learner,
    Passive,
    PhasedLeader,
    TrackTheLeader,
    WindowLeader,
    learner_by_name,
)
from lsmdp.learners.names import period_and_eta
from lsmdp.learners.protocol import Report

LMDP_ = grid(3, 4)
COSTS = np.random.default_rng(0).uniform(0, 1, (30, 12))


def after(learner: Learner, rounds: int, lmdp: LMDP = LMDP_, costs: np.ndarray = COSTS) -> Any:
    state = learner.init(lmdp)
    for c_t in costs[:rounds]:
        state = learner.observe(lmdp, state, c_t)
    return state


def played(learner: Learner, rounds: int) -> np.ndarray:
    return learner.policy(LMDP_, after(learner, rounds)).v


def leader(c: np.ndarray, tol: float = 1e-12) -> np.ndarray:
    return solve(LMDP_, c, tol=tol).v


@pytest.mark.parametrize("name", NAMES)
def test_every_named_learner_conforms(name: str) -> None:
    check_learner(learner_by_name(name))


def test_a_fixed_policy_conforms_on_its_own_model() -> None:
    fixed = Fixed(Policy(LMDP_, np.arange(12.0)))
    check_learner(fixed, [LMDP_])
    np.testing.assert_array_equal(played(fixed, 5), np.arange(12.0))
    with pytest.raises(SpecError, match="the fixed policy has 12 states, but the model has 4"):
        fixed.init(grid(2, 2))


@pytest.mark.parametrize("rounds", [1, 2, 7, 30])
def test_follow_the_leader_plays_the_optimum_of_the_mean(rounds: int) -> None:
    state = after(FollowTheLeader(), rounds)
    mean = COSTS[:rounds].mean(axis=0)
    assert state.lead.hi - state.lead.lo <= min(1e-6, 0.1 / (rounds + 1))
    truth = solve(LMDP_, mean, tol=1e-12)
    assert state.lead.lo <= truth.bounds[1]
    assert state.lead.hi >= truth.bounds[0]
    np.testing.assert_allclose(state.lead.v, truth.v, rtol=0, atol=1e-4)  # 1e-6 times the time scale of a 3 x 4 grid


def test_follow_the_leader_starts_passively_and_kappa_makes_it_cautious() -> None:
    np.testing.assert_array_equal(played(FollowTheLeader(), 0), np.zeros(12))
    cautious = played(FollowTheLeader(kappa=4.0, tolerance=1e-10), 6)
    np.testing.assert_allclose(cautious, leader(COSTS[:6].sum(axis=0) / 10), rtol=0, atol=1e-8)


def test_the_tolerance_schedule_is_met_at_every_round() -> None:
    learner, lmdp = FollowTheLeader(tolerance=1.0), grid(3, 4)
    state = learner.init(lmdp)
    for t in range(1, 200):
        state = learner.observe(lmdp, state, COSTS[t % 30])
        assert state.lead.hi - state.lead.lo <= 0.1 / (t + 1)


def bellman(c: np.ndarray, v: np.ndarray) -> np.ndarray:
    return c - np.log(LMDP_.P @ np.exp(-v))


@pytest.mark.parametrize(("steps", "averaged"), [(1, True), (3, True), (1, False), (2, False)])
def test_tracking_takes_bellman_steps_for_the_running_mean(steps: int, averaged: bool) -> None:
    v = np.zeros(12)
    for t in range(1, 31):
        c_bar = COSTS[:t].mean(axis=0)
        for _ in range(steps):
            once = bellman(c_bar, v)
            v = (once + bellman(c_bar, once)) / 2 if averaged else once
    np.testing.assert_allclose(played(TrackTheLeader(steps, averaged), 30), v - v.min(), rtol=0, atol=1e-12)


def test_tracking_reports_the_gap_of_what_it_played() -> None:
    learner = TrackTheLeader()
    before, state = after(learner, 9), after(learner, 10)
    report = learner.report(before, state)
    r = bellman(COSTS[:9].mean(axis=0), before.v) - before.v
    assert report.lo == pytest.approx(r.min(), abs=1e-12)
    assert report.hi == pytest.approx(r.max(), abs=1e-12)
    assert report.steps == 2


def test_plain_tracking_warns_on_a_nearly_periodic_chain_only() -> None:
    with pytest.warns(UserWarning, match="hardly ever stays"):
        TrackTheLeader(averaged=False).init(ring(8, 0.99))
    TrackTheLeader(averaged=False).init(grid(3, 3))
    TrackTheLeader().init(ring(8, 0.99))


def test_phases_last_as_long_as_they_should_and_lag_behind() -> None:
    """Phase m has ceil(m^(1/3 - epsilon)) rounds; what is played in it knows the phases before it only."""
    learner, lmdp = PhasedLeader(epsilon=0.1), LMDP_
    state, ends = learner.init(lmdp), []
    for t in range(1, 31):
        new = learner.observe(lmdp, state, COSTS[t - 1])
        if new.phase > state.phase:
            ends.append(t)
        else:
            np.testing.assert_array_equal(new.lead.v, state.lead.v)
        state = new
    lengths = np.diff([0, *ends])
    np.testing.assert_array_equal(lengths, [int(np.ceil((m + 1) ** (1 / 3 - 0.1))) for m in range(len(lengths))])
    assert max(lengths) == 2
    last = ends[-1]
    np.testing.assert_allclose(state.lead.v, leader(COSTS[:last].mean(axis=0)), rtol=0, atol=1e-4)


def test_the_discounted_leader_is_mirror_descent() -> None:
    """argmin eta f(pi; c_t) + sum mu KL(Q || Q_t), by a conic solver, is the discounted leader's next policy."""
    import cvxpy as cp

    eta, rng = 0.7, np.random.default_rng(1)
    lmdp = LMDP(rng.uniform(0.2, 1, (4, 4)), normalise=True)
    learner = DiscountedLeader(eta, tolerance=1e-10)
    costs = rng.uniform(0, 1, (3, 4))
    state = after(learner, 2, lmdp, costs)
    Q_t = learner.policy(lmdp, state).matrix().toarray()
    pi = cp.Variable((4, 4), nonneg=True)
    mu = cp.sum(pi, axis=1)
    flat, P = cp.vec(pi, order="C"), lmdp.P.toarray()
    stay = np.kron(np.eye(4), np.ones((4, 1))) @ mu  # mu(x) beside each pi(x, y)
    f = costs[2] @ mu + cp.sum(cp.rel_entr(flat, cp.multiply(P.ravel(), stay)))
    divergence = cp.sum(cp.rel_entr(flat, cp.multiply(Q_t.ravel(), stay)))
    cp.Problem(cp.Minimize(eta * f + divergence), [mu == cp.sum(pi, axis=0), cp.sum(pi) == 1]).solve(cp.CLARABEL)
    Q_next = pi.value / pi.value.sum(axis=1, keepdims=True)
    mine = learner.policy(lmdp, learner.observe(lmdp, state, costs[2])).matrix().toarray()
    np.testing.assert_allclose(mine, Q_next, rtol=0, atol=1e-4)  # a conic solver's accuracy in the argument


def test_the_window_forgets() -> None:
    v = played(WindowLeader(5, tolerance=1e-10), 12)
    np.testing.assert_allclose(v, leader(COSTS[7:12].mean(axis=0)), rtol=0, atol=1e-8)
    v = played(WindowLeader(50, tolerance=1e-10), 12)
    np.testing.assert_allclose(v, leader(COSTS[:12].mean(axis=0)), rtol=0, atol=1e-8)


def test_be_the_leader_sees_the_present_cost() -> None:
    learner = BeTheLeader(tolerance=1e-10)
    v = learner.foresee(LMDP_, after(learner, 9), COSTS[9]).v
    np.testing.assert_allclose(v, leader(COSTS[:10].mean(axis=0)), rtol=0, atol=1e-8)


def test_passive_is_P() -> None:
    np.testing.assert_array_equal(Passive().policy(LMDP_, after(Passive(), 3)).matrix().toarray(), LMDP_.P.toarray())


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_is_known_where_users_look(name: str) -> None:
    """By itself, in the README and in the manual; and its class is a public name."""
    assert learner_by_name(name).name.partition(":")[0] == name
    top = Path(__file__).parents[1]
    for page in (top / "README.md", top / "docs" / "learners.md"):
        assert re.search(rf"`{name}[`:]", page.read_text(encoding="utf-8")), f"{page.name} says nothing of it"
    assert type(learner_by_name(name)).__name__ in lsmdp.__all__


@pytest.mark.parametrize("name", [name for name, one in NAMES.items() if one.option])
def test_tables_tell_learners_of_one_kind_apart(name: str) -> None:
    """What a learner is called has its option in it, if that is not the usual one."""
    spec = f"{name}:7" if NAMES[name].option in (int, str, period_and_eta) else f"{name}:0.2"
    assert learner_by_name(spec).name == spec


def test_names_that_cannot_be_understood() -> None:
    with pytest.raises(SpecError, match=r'no learner "flt". Did you mean "ftl"\?'):
        learner_by_name("flt")
    with pytest.raises(SpecError, match='"many" in "window:many" is not a whole number'):
        learner_by_name("window:many")
    with pytest.raises(SpecError, match="takes no option"):
        learner_by_name("passive:3")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FollowTheLeader(kappa=-1.0), "kappa >= 0"),
        (lambda: FollowTheLeader(kappa=math.nan), "kappa >= 0"),
        (lambda: FollowTheLeader(kappa=math.inf), "kappa >= 0"),
        (lambda: FollowTheLeader(tolerance=0.0), "tolerance > 0"),
        (lambda: TrackTheLeader(0), "at least one step"),
        (lambda: PhasedLeader(0.5), "0 < epsilon < 1/3"),
        (lambda: DiscountedLeader(0.0), "eta > 0"),
        (lambda: WindowLeader(0), "at least 1 round"),
    ],
)
def test_options_are_checked(make: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()


# ----------------------------------------------------------------------------------------------------------
# learners that break a rule


class Count(NamedTuple):
    t: int
    v: np.ndarray


@dataclass(frozen=True)
class Honest:
    name = "honest"

    def init(self, lmdp: LMDP) -> Count:
        return Count(0, np.zeros(lmdp.n))

    def policy(self, lmdp: LMDP, state: Count) -> Policy:
        return Policy(lmdp, state.v)

    def observe(self, lmdp: LMDP, state: Count, c_t: np.ndarray) -> Count:
        return Count(state.t + 1, state.v + c_t)

    def report(self, before: Count, after: Count) -> Report:
        return Report()


class Mutating(Honest):
    def observe(self, lmdp: LMDP, state: Count, c_t: np.ndarray) -> Count:
        state.v[:] += c_t
        return Count(state.t + 1, state.v.copy())


class Moody(Honest):
    moods = iter(range(10_000))

    def policy(self, lmdp: LMDP, state: Count) -> Policy:
        return Policy(lmdp, state.v + next(self.moods) * np.arange(lmdp.n))


class Unseeded(Honest):
    noise = np.random.default_rng(0)

    def observe(self, lmdp: LMDP, state: Count, c_t: np.ndarray) -> Count:
        return Count(state.t + 1, state.v + self.noise.random(lmdp.n))


class Peeking(Honest):
    """Plays what it last heard from the environment, whatever its state says."""

    heard: dict[str, Any] = {}  # noqa: RUF012

    def observe(self, lmdp: LMDP, state: Count, c_t: np.ndarray) -> Count:
        self.heard["c"] = c_t
        return Count(state.t + 1, state.v + c_t)

    def policy(self, lmdp: LMDP, state: Count) -> Policy:
        c = self.heard.get("c", np.zeros(lmdp.n))
        return Policy(lmdp, c if c.size == lmdp.n else np.zeros(lmdp.n))


@dataclass(frozen=True)
class OffSupport(Honest):
    class Everywhere(Policy):
        def matrix(self) -> Any:
            from scipy import sparse

            return sparse.csr_array(np.full((self.lmdp.n, self.lmdp.n), 1.0 / self.lmdp.n))

    def policy(self, lmdp: LMDP, state: Count) -> Policy:
        return self.Everywhere(lmdp, state.v)


def test_an_honest_learner_passes() -> None:
    check_learner(Honest())


@pytest.mark.parametrize(
    ("cheat", "message"),
    [
        (Mutating(), "changes the state that observe was given"),
        (Moody(), "gives two policies for one state"),
        (Unseeded(), "does not repeat itself"),
        (Peeking(), "a cost that it has not seen yet"),
        (OffSupport(), "leaves the support of P"),
    ],
)
def test_cheats_are_caught(cheat: Learner, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        check_learner(cheat)
