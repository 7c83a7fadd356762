"""Dynamic regret: against enumeration of all paths, dense algebra, 60 digits, and its own second formula."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsmdp
from lsmdp import (
    LMDP,
    BeTheLeader,
    CostError,
    DiscountedLeader,
    FollowTheLeader,
    Horizon,
    Passive,
    PhasedLeader,
    Policy,
    SpecError,
    TrackTheLeader,
    play,
    solve,
)
from lsmdp.game import Run
from lsmdp.regret import Dynamic, Hindsight
from lsmdp.regret.dynamic import divergences
from lsmdp.regret.hindsight import SeekableRounds
from tests import precise

EVERYONE = [FollowTheLeader(), TrackTheLeader(), PhasedLeader(), DiscountedLeader(), Passive(), BeTheLeader()]
LIMITS = importlib.import_module("lsmdp.regret.summary")
PIECES = importlib.import_module("lsmdp.regret.hindsight")

Floats = np.ndarray[Any, Any]


def small(seed: int, n: int = 4, temperature: float = 1.0) -> LMDP:
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.6) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    return LMDP(W, temperature=temperature, normalise=True)


def some_costs(T: int, n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).random((T, n))


def policies_of(run: Run, learner: Any) -> list[Policy]:
    """What a learner plays in each round, by its three methods alone."""
    state, found = learner.init(run.lmdp), []
    for c_t in run.costs:
        shown = getattr(learner, "foresee", None)
        found.append(shown(run.lmdp, state, c_t) if shown else learner.policy(run.lmdp, state))
        state = learner.observe(run.lmdp, state, c_t)
    return found


def dense(lmdp: LMDP, costs: Floats, policies: list[Policy], p: Floats) -> tuple[float, Floats, Floats]:
    """p_1.V_1, and the divergences from the plan by rounds and by states, with nothing but matrices."""
    P, tau, V = lmdp.P.toarray(), lmdp.temperature, [np.zeros(lmdp.n)]
    for c_t in costs[::-1]:
        low = V[0].min()
        V.insert(0, c_t + low - tau * np.log(P @ np.exp(-(V[0] - low) / tau)))
    shares = []
    first = float(p @ V[0])
    for policy, ahead in zip(policies, V[1:], strict=True):
        Q, best = policy.matrix().toarray(), P * np.exp(-(ahead - ahead.min()) / tau)
        best /= best.sum(axis=1, keepdims=True)
        used = Q > 0.0
        shares.append(p * np.where(used, Q * np.log(np.where(used, Q, 1) / np.where(used, best, 1)), 0).sum(axis=1))
        p = p @ Q
    return first, tau * np.sum(shares, axis=1), tau * np.sum(shares, axis=0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 1.0, 3.0]), st.integers(1, 40))
@settings(max_examples=15)
def test_it_is_what_matrices_say(seed: int, temperature: float, T: int) -> None:
    lmdp, costs = small(seed, temperature=temperature), some_costs(T, 4, seed)
    run = play(lmdp, EVERYONE, costs, start=2)
    found = run.regret()
    for learner in EVERYONE:
        one = found[learner.name]
        cost, by_round, by_state = dense(lmdp, costs, policies_of(run, learner), np.eye(4)[2])
        assert found.plan is not None
        assert one.dynamic is not None
        assert found.plan.cost == pytest.approx(cost, rel=1e-12)
        assert one.dynamic == pytest.approx(one.tally.loss - cost, abs=1e-11)
        np.testing.assert_allclose(one.dynamic.by_round(), by_round, rtol=1e-8, atol=1e-13)
        np.testing.assert_allclose(one.dynamic.by_state(), by_state, rtol=1e-8, atol=1e-13)
        assert one.dynamic.by_divergence == pytest.approx(one.dynamic, abs=one.dynamic.rounding)
        assert one.dynamic.rounding < 1e-9
        assert (one.dynamic.by_round() >= 0.0).all()
        assert (one.dynamic.by_state() >= 0.0).all()


def test_it_is_what_all_paths_say() -> None:
    """The plan by enumeration: p_1.V_1 = -tau sum_x p_1(x) log sum over the paths from x of P(path) e^{-cost/tau}."""
    lmdp, T, tau = small(5, 3, 0.7), 5, 0.7
    costs, P = some_costs(T, 3, 1), lmdp.P.toarray()
    run = play(lmdp, [FollowTheLeader(), Passive()], costs, start=1)
    z = loss = 0.0
    for path in product(range(3), repeat=T):  # X_1, ..., X_T; the move of the last round is free
        chance = math.prod(P[x, y] for x, y in pairwise(path)) * (path[0] == 1)
        paid = sum(c_t[x] for c_t, x in zip(costs, path, strict=True))
        z, loss = z + chance * math.exp(-paid / tau), loss + chance * paid
    found = run.regret()
    assert found.plan is not None
    assert found.plan.cost == pytest.approx(-tau * math.log(z), rel=1e-13)
    assert found["passive"].dynamic == pytest.approx(loss + tau * math.log(z), rel=1e-12)
    assert found["ftl"].dynamic == pytest.approx(found["ftl"].tally.loss + tau * math.log(z), rel=1e-12)


def test_nobody_beats_the_plan_and_the_plan_has_none() -> None:
    """Random plans for three rounds, each cheaper or dearer by exactly its divergence; the plan itself pays p_1.V_1."""
    lmdp, costs, rng = small(6, 3), some_costs(3, 3, 2), np.random.default_rng(3)
    plan = solve(lmdp, costs, Horizon())

    class Played:
        """Plays a list of policies."""

        def __init__(self, values: list[Floats]) -> None:
            self.values = values

        def init(self, lmdp: LMDP) -> int:
            return 0

        def policy(self, lmdp: LMDP, state: int) -> Policy:
            return Policy(lmdp, self.values[min(int(state), 2)])

        def observe(self, lmdp: LMDP, state: int, c_t: Floats) -> int:
            return int(state) + 1

    best = play(lmdp, Played([plan.policy(t).v for t in (1, 2, 3)]), costs).regret()["Played"].dynamic
    assert best is not None
    assert abs(best) <= best.rounding
    assert best.by_divergence <= 1e-28
    for _ in range(20):
        other = play(lmdp, Played([4 * rng.random(3) for _ in range(3)]), costs).regret()["Played"].dynamic
        assert other is not None
        assert other > 1e-3
        assert other.by_divergence == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_the_identity_in_sixty_digits(temperature: float) -> None:
    """Both sides for the very v that was played, exactly; and the library's numbers within what they promise."""
    lmdp, costs = small(7, 3, temperature), some_costs(12, 3, 4)
    run = play(lmdp, [FollowTheLeader(), DiscountedLeader()], costs, start=0)
    found, rows, mp = run.regret(), precise.exact(lmdp.P.toarray()), mpmath.mpf
    with mpmath.workdps(precise.DIGITS):
        tau, V = mp(temperature), [[mp(0)] * 3]
        for c_t in costs[::-1]:
            V.insert(0, [mp(float(c)) + precise.soft_minimum(row, V[0], tau) for c, row in zip(c_t, rows, strict=True)])
        for learner in (FollowTheLeader(), DiscountedLeader()):
            p, loss, apart = [mp(1), mp(0), mp(0)], mp(0), mp(0)
            for c_t, played, ahead in zip(costs, policies_of(run, learner), V[1:], strict=True):
                Q = [precise.policy(row, [mp(float(v)) for v in played.v], tau) for row in rows]
                best = [precise.policy(row, ahead, tau) for row in rows]
                paid = [mp(float(c)) + tau * precise.control(q, row) for c, q, row in zip(c_t, Q, rows, strict=True)]
                loss += mpmath.fsum(a * b for a, b in zip(p, paid, strict=True))
                far = [precise.control(q, b) for q, b in zip(Q, best, strict=True)]
                apart += tau * mpmath.fsum(a * b for a, b in zip(p, far, strict=True))
                p = [mpmath.fsum(p[x] * Q[x][y] for x in range(3)) for y in range(3)]
            assert abs(loss - V[0][0] - apart) < mp(10) ** -50
            one = found[learner.name].dynamic
            assert one is not None
            assert found.plan is not None
            low, high = found.plan.bounds
            assert mp(low) <= V[0][0] <= mp(high)
            assert abs(mp(float(one)) - apart) <= mp(one.rounding)
            assert abs(mp(one.by_divergence) - apart) <= mp(one.rounding)
            assert one.rounding < 1e-10


def test_values_beyond_one_scale() -> None:
    """At a low temperature the values span too much for one scale, and rounds are compared one by one."""
    lmdp, costs = LMDP(lsmdp.grid(3, 3).P, temperature=0.002), some_costs(60, 9, 5)
    run = play(lmdp, [FollowTheLeader(), Passive()], costs)
    for one in run.regret().learners:
        assert one.dynamic is not None
        assert one.dynamic.by_divergence == pytest.approx(one.dynamic, abs=min(one.dynamic.rounding, 1e-8))
        assert one.dynamic > 5.0


@pytest.mark.parametrize("make", [lambda: lsmdp.ring(12), lambda: lsmdp.grid(12, 12), lambda: small(8, 30, 0.3)])
def test_a_horizon_costs_what_the_plan_costs(make: Any) -> None:
    lmdp = make()
    costs, start = some_costs(70, lmdp.n, 6), np.full(lmdp.n, 1 / lmdp.n)
    plan = Hindsight.of(lmdp, costs, start)
    low, high = solve(lmdp, costs, Horizon()).bounds_from(start)
    assert low <= plan.bounds[1]
    assert plan.bounds[0] <= high
    assert plan.cost == pytest.approx((low + high) / 2, rel=1e-13)
    assert Hindsight.of(lmdp, costs, start, keep=False).cost == pytest.approx(plan.cost, rel=1e-14)
    values = np.concatenate([ahead for _, ahead in plan.blocks()])
    policies = solve(lmdp, costs, Horizon())
    for t in (1, 9, 35, 70):
        np.testing.assert_allclose(values[t - 1], policies.policy(t).v, rtol=0, atol=1e-12)


# --- memory, and costs of all kinds


@dataclass(frozen=True)
class Made:
    """Costs that are made when they are read, and count the reads."""

    n: int
    T: int
    reads: list[int]

    def __iter__(self) -> Iterator[Floats]:
        return self.from_round(1)

    def from_round(self, t: int) -> Iterator[Floats]:
        self.reads.append(t)
        return (np.random.default_rng(s).random(self.n) for s in range(t, self.T + 1))


@pytest.mark.parametrize("T", [1, 2, 99, 100, 101, 10_000])
def test_it_keeps_two_roots_of_the_rounds(T: int) -> None:
    plan = Hindsight.of(lsmdp.ring(5), np.zeros((T, 5)), np.full(5, 0.2))
    assert len(plan.kept) - 1 <= math.ceil(math.sqrt(T))
    assert plan.every <= math.ceil(math.sqrt(T))
    assert max(len(ahead) for _, ahead in plan.blocks()) == min(plan.every, T)
    assert sum(len(ahead) for _, ahead in plan.blocks()) == T


def test_costs_are_read_backwards_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, costs = lsmdp.ring(5), Made(5, 2500, [])
    whole = Hindsight.of(lmdp, np.array(list(costs)), np.full(5, 0.2))
    costs.reads.clear()
    monkeypatch.setattr(PIECES, "PIECE_NUMBERS", 5 * 1000)
    plan = Hindsight.of(lmdp, costs, np.full(5, 0.2))
    assert costs.reads == [2001, 1001, 1]
    assert plan.cost == whole.cost
    np.testing.assert_array_equal(plan.kept, whole.kept)
    costs.reads.clear()
    assert sum(len(block) for block, _ in plan.blocks()) == 2500
    assert costs.reads == [1]


@pytest.mark.parametrize("kind", [list, tuple, lambda rows: [dict(zip("abcd", row, strict=True)) for row in rows]])
def test_costs_in_any_form(kind: Any) -> None:
    P, rows = small(9).P, some_costs(30, 4, 7)
    lmdp = LMDP(P, labels=list("abcd"))
    expected = play(lmdp, FollowTheLeader(), rows).regret()["ftl"].dynamic
    assert play(lmdp, FollowTheLeader(), kind(rows)).regret()["ftl"].dynamic == expected


def test_costs_that_are_gone() -> None:
    lmdp, costs = small(9), some_costs(30, 4, 7)
    run = play(lmdp, FollowTheLeader(), (c_t for c_t in costs))
    found = run.regret()
    assert found["ftl"].dynamic is None
    assert any("read only once" in note for note in found.notes)
    with pytest.raises(SpecError, match=r"read only once.*leave dynamic=True out"):
        run.regret(dynamic=True)


def test_costs_that_cannot_be_used() -> None:
    lmdp = small(9)
    with pytest.raises(CostError, match="no rounds"):
        Hindsight.of(lmdp, [], np.full(4, 0.25))
    with pytest.raises(CostError, match=r"round 2: "):
        Hindsight.of(lmdp, [[0.0] * 4, [0.0, np.nan, 0.0, 0.0]], np.full(4, 0.25))
    with pytest.raises(CostError, match=r"there is no round 8.*the game had 9"):
        Hindsight.of(lmdp, Made(4, 7, []), np.full(4, 0.25), 9)
    with pytest.raises(SpecError, match="read only once"):
        SeekableRounds.of(lmdp, (c_t for c_t in some_costs(3, 4)))
    with pytest.raises(SpecError, match=r"keep=False.*with_values"):
        list(Hindsight.of(lmdp, some_costs(3, 4), np.full(4, 0.25), keep=False).blocks())


def test_costs_that_are_too_many_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp = LMDP(small(9).P, labels=list("abcd"))
    costs = [dict(zip("abcd", row, strict=True)) for row in some_costs(600, 4)]
    run = play(lmdp, Passive(), costs)
    monkeypatch.setattr(PIECES, "HELD_NUMBERS", 4 * 100)
    found = run.regret()
    assert found["passive"].dynamic is None
    assert "more than 100 rounds of 4 states cannot be held" in found.notes[0]
    with pytest.raises(SpecError, match="from_round"):
        run.regret(dynamic=True)


# --- when it is worked out


def test_the_second_formula_waits_until_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run = play(small(10), [FollowTheLeader(), Passive()], some_costs(50, 4, 8))
    eager = run.regret()["ftl"].dynamic
    monkeypatch.setattr(LIMITS, "WORK_OF_A_REPLAY", 0.0)
    found = run.regret()
    lazy = found["ftl"].dynamic
    assert isinstance(lazy, Dynamic)
    assert isinstance(eager, Dynamic)
    assert lazy.known is None
    assert eager.known is not None
    assert found["ftl"].to_dict()["dynamic_regret_by_divergence"] is None
    assert found.plan is not None
    assert len(found.plan.kept) == 1
    np.testing.assert_array_equal(lazy.by_round(), eager.by_round())
    assert lazy.known is not None
    insisted = run.regret(dynamic=True)["ftl"].dynamic
    assert insisted is not None
    assert insisted.known is not None


def test_it_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    run = play(small(10), FollowTheLeader(), some_costs(50, 4, 8))
    assert run.regret(dynamic=False)["ftl"].dynamic is None
    assert run.regret(dynamic=False).notes == []
    monkeypatch.setattr(LIMITS, "WORK_OF_A_PLAN", 0.0)
    found = run.regret()
    assert found["ftl"].dynamic is None
    assert found["ftl"].to_dict()["regret"]["dynamic"] is None
    assert "The dynamic regret was left out: a plan in hindsight for 50 rounds" in str(found)
    assert run.regret(dynamic=True)["ftl"].dynamic is not None


class Moody:
    """Does not do the same twice."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def init(self, lmdp: LMDP) -> Floats:
        return self.rng.random(lmdp.n)

    def policy(self, lmdp: LMDP, state: Floats) -> Policy:
        return Policy(lmdp, state)

    def observe(self, lmdp: LMDP, state: Floats, c_t: Floats) -> Floats:
        return self.rng.random(lmdp.n)


def test_a_learner_that_does_not_do_the_same_twice() -> None:
    """The first formula is true of what was paid; the second would be about another game, and is refused."""
    costs = some_costs(40, 4, 9)
    run = play(small(11), Moody(), costs)
    found = run.regret()
    one = found["Moody"]
    assert one.dynamic == pytest.approx(one.tally.loss - Hindsight.of(run.lmdp, costs, run.game.start).cost)
    assert 'WARNING: "Moody" paid' in found.notes[0]
    assert one.to_dict()["dynamic_regret_by_divergence"] is None
    with pytest.raises(SpecError, match=r"played again, are .* away from the plan.*check_learner"):
        one.dynamic.by_round()
    with pytest.raises(SpecError, match="played again"):
        run.regret(dynamic=True)


# --- a policy against the policy of another v


@pytest.mark.parametrize("temperature", [1.0, 0.001])
def test_divergence_of_two_policies(temperature: float) -> None:
    lmdp, rng = small(12, 6, temperature), np.random.default_rng(1)
    v, o = rng.random(6), rng.random(6)
    Q, other = (Policy(lmdp, x).matrix().toarray() for x in (v, o))
    used = Q > 0.0
    with np.errstate(divide="ignore"):
        logs = np.where(used, np.log(np.where(used, Q, 1)) - np.log(np.where(used, other, 1)), 0.0)
    expected = (Q * logs).sum(axis=1)
    found = Policy(lmdp, v).divergence(o)
    np.testing.assert_allclose(found[np.isfinite(expected)], expected[np.isfinite(expected)], rtol=1e-9, atol=1e-12)
    assert (Policy(lmdp, v).divergence(v + 3.0) < 1e-24).all()
    with pytest.raises(CostError):
        Policy(lmdp, v).divergence([1.0, 2.0])


@pytest.mark.parametrize("apart", [1.0, 1e-7])
@pytest.mark.parametrize("n", [1, 9, 300])
def test_divergences_of_several_rounds(n: int, apart: float) -> None:
    """Nearly equal policies too: there the reference, which forms Q, keeps seven digits and the function more."""
    rng = np.random.default_rng(n)
    lmdp = LMDP(rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.4) + np.eye(n), normalise=True)
    played = 3.0 * rng.random((4, n))
    plan = played + apart * rng.random((4, n))
    found, chances = divergences(lmdp.P, played, plan)
    for t in range(4):
        Q, best = (lmdp.P.toarray() * np.exp(-v) for v in (played[t], plan[t]))
        Q, best = Q / Q.sum(axis=1, keepdims=True), best / best.sum(axis=1, keepdims=True)
        y = np.where(Q > 0, np.log1p((best - Q) / np.where(Q > 0, Q, 1)), 0.0)
        np.testing.assert_allclose(found[t], np.where(Q > 0, Q * (np.expm1(y) - y), 0.0).sum(axis=1), rtol=5e-7)
        np.testing.assert_allclose(chances[t], Q[Q > 0], rtol=1e-13)
