"""What the paper does not have, on random games, each against a straight computation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import lsmdp
from lsmdp.learners import TrackTheLeader
from lsmdp.theory import STATEMENTS, constants_for

from .games import Case, Floats, cases, certificate, few, random_game
from .straight import FORMULA, Walk, bellman, close, sensitivity, span, stationary, straight, walks
from .test_identities import excess_of, far_apart, idealised, steps, weighted
from .test_regrets import rivals, sums


def excess_bound(C: float, L: float, T: int, extra: float = 0.0) -> float:
    return (C**2 * L**3 + C**2 * L**2 / 2 + 2 * C * L + extra) * (1 + math.log(T)) + 2 * C * L


@few
@given(case=cases)
def test_new_log(case: Case) -> None:
    game = case.record
    found = certificate("new:log", game)
    a, S = game.constants.a, game.constants.S
    if a == 1.0:
        assert found.holds is None
        return
    assert found.holds
    close(found.left, excess_of(case, straight(case).ftl), sums(case))
    L = 1.0 + a / (1.0 - a) * math.exp(S)
    # the rounding of a(P) enters the odds times 1/(1 - a), and three times in the cube
    right = excess_bound(game.constants.cost_range, L, case.rounds)
    np.testing.assert_allclose(found.right, right, rtol=FORMULA * L)


@few
@given(case=cases)
def test_new_ksteps(case: Case) -> None:
    game = case.record
    found = certificate("new:ksteps", game)
    assert found.holds
    close(found.left, excess_of(case, straight(case).ftl), sums(case))
    k, S = game.constants.k, game.constants.S
    power = np.linalg.matrix_power(straight(case).P, k)
    shared = min(float(np.minimum(one, other).sum()) for one in power for other in power)
    L = 1.0 + (1.0 - shared) / shared * math.exp(S) if k == 1 else k * math.exp(k * S) / shared
    right = excess_bound(game.constants.cost_range, L, case.rounds)
    np.testing.assert_allclose(found.right, right, rtol=FORMULA * case.states)


@few
@given(case=cases)
def test_new_sensitivity(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:sensitivity", game)
    close(game.leader.sensitivity / one.Lambda, 1.0, one.error(game) * one.Lambda.max())
    changes = [span(after - before) for before, after in steps(one.v)]
    small = [t for t in range(case.rounds) if one.Lambda[t] * changes[t] / 4 < 1.0]
    if found.holds is None:
        assert not small
        return
    assert found.holds
    assert found.left.size == len(small)
    for k, t in enumerate(small):
        close(found.left[k], changes[t], one.error(game))
        right = one.Lambda[t] * span(one.c[t + 1] - one.c[t]) / (1.0 - one.Lambda[t] * changes[t] / 4)
        assert changes[t] <= right + one.error(game) * (1.0 + right)


@few
@given(case=cases)
def test_new_sensitivity_2(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:sensitivity/2", game)
    assert found.holds
    drift = [np.abs(after - before).sum() for before, after in steps(one.mu)]
    close(found.left, drift, one.error(game))
    moved = [np.abs(after - before).sum(axis=1).max() for before, after in steps(one.Q)]
    Lambda = one.Lambda[:-1]
    assert (found.right <= Lambda * moved * (1.0 + one.error(game) * one.Lambda.max()) + Lambda * one.error(game)).all()


@few
@given(case=cases)
def test_new_expconcave(case: Case) -> None:
    """The slope and the curvature by differences of f along the segment, the variance by its series."""
    game, one = case.record, straight(case)
    found = certificate("new:expconcave", game)
    assert found.holds
    for t, c_t in enumerate(one.costs):
        pi, step, h = one.pi[t], one.pi[t + 1] - one.pi[t], 1e-40
        mu = pi.sum(axis=1)
        turned = pi + 1j * h * step
        on = one.P > 0.0
        logs = np.log(np.where(on, turned, 1.0) / np.where(on, one.P * turned.sum(axis=1, keepdims=True), 1.0))
        slope = (turned * (c_t[:, None] + logs)).sum().imag / h
        close(found.left[t], abs(slope), 4.0 * one.error(game))
        Q, g = one.Q[t], c_t - one.c[t]
        Z = np.linalg.inv(np.eye(case.states) - Q + np.outer(np.ones(case.states), mu))
        bias = Z @ (g - mu @ g)
        variance = float((pi * (bias[None, :] - (Q @ bias)[:, None]) ** 2).sum())
        part = step - step.sum(axis=1, keepdims=True) * Q
        curvature = float((part[on] ** 2 / pi[on]).sum())
        size = 1.0 + one.Lambda[t] ** 2
        assert abs(slope) <= math.sqrt(variance * curvature) + one.error(game) * size


@few
@given(case=cases)
def test_new_approximate(case: Case) -> None:
    game, one = case.record, straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:approximate", game, player)
        assert found.holds, player.name
        close(found.left, excess_of(case, walk), sums(case))
        L = game.met(player).L
        assert max(sensitivity(Q, stationary(Q)) for Q in (*walk.Q, *one.Q)) <= L * (1.0 + one.error(game))
        errors = sum(span(v - best) for v, best in zip(walk.v, one.v, strict=False))
        C = game.constants.cost_range
        right = excess_bound(C, L, case.rounds) + (C * L / 2 + 1.0) * errors
        np.testing.assert_allclose(found.right, right, rtol=FORMULA, atol=(L / 2 + 1.0) * sums(case))


@few
@given(case=cases)
def test_new_approximate_2(case: Case) -> None:
    game, one = case.record, straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:approximate/2", game, player)
        assert found.holds, player.name
        close(found.left, [span(v - best) for v, best in zip(walk.v, one.v, strict=False)], one.error(game))
        gaps = [
            span(c - np.log(one.P @ np.exp(v.min() - v)) + v.min() - v) for v, c in zip(walk.v, one.c, strict=False)
        ]
        L = game.met(player).L
        if player is not game.ftl:  # whose gap is a matter of rounding
            np.testing.assert_allclose(found.right, L * np.array(gaps), rtol=FORMULA, atol=L * one.error(game))


@few
@given(case=cases)
def test_new_tracking(case: Case) -> None:
    game = case.record
    for player, walk in zip(case.players, walks(case), strict=True):
        tracks = player.tracking is not None
        assert STATEMENTS["new:tracking"].concerns(player) is tracks
        if not tracks:
            continue
        found = certificate("new:tracking", game, player)
        assert found.holds, player.name
        close(found.left, excess_of(case, walk), sums(case))
        met = game.met(player)
        C, N = met.cost_range, player.tracking.steps
        if met.alpha_k < 0.9:  # sum_{j>=1} a_{jN} with a_j <= alpha_k^floor(j/k), until 0.9^400 < eps is left
            terms = sum(met.alpha_k ** (j * N // met.k) for j in range(1, 400 * met.k))
            assert min(terms, met.L - 1.0) <= met.series(N) * (1.0 + 10.0 * FORMULA)
        extra = C * met.L * (C * met.L + 2.0) * met.series(N)
        np.testing.assert_allclose(found.right, excess_bound(C, met.L, case.rounds, extra), rtol=10.0 * FORMULA)
        assert met.series(N) <= met.L - 1.0


@few
@given(case=cases)
def test_new_lemmaA(case: Case) -> None:
    """The spans that tracking meets, and a bound from P alone: the formula with all n and j that may do."""
    game, one = case.record, straight(case)
    C, H = game.constants.cost_range, int(game.constants.primitivity_index)
    B = -math.log(one.P[one.P > 0.0].min())
    for player, walk in zip(case.players, walks(case), strict=True):
        if player.tracking is None:
            continue
        found = certificate("new:lemmaA", game, player)
        assert found.holds, player.name
        widest = [max(span(v), span(bellman(one.P, c, v))) for v, c in zip(walk.v, one.c[1:], strict=True)]
        assert (found.left >= np.array(widest) - one.error(game)).all()
        if player.tracking.averaged and H > 1:
            tried = [
                (1.5 * n * C + j * B) / (math.comb(n, j - n) / 2.0**n) + 1.5 * n * C
                for n in range(1, 2 * H + 1)
                for j in range(max(H, n), 2 * n + 1)
            ]
            assert min(tried) <= found.right[0] * (1.0 + FORMULA)
            assert any(abs(found.right[0] - one) <= FORMULA * one for one in tried)


def averaged(P: Floats, c: Floats, v: Floats) -> Floats:
    return (bellman(P, c, v) + bellman(P, c, bellman(P, c, v))) / 2


@pytest.mark.parametrize("loop", [1.0, 0.05, 1e-4])
@pytest.mark.parametrize("states", [2, 3, 5])
def test_averaged_steps_on_a_sparse_graph(states: int, loop: float) -> None:
    """The step of the proof, from any start and with costs chosen to spread v, on a cycle with one loop: H = 2n - 2."""
    P = np.roll(np.eye(states), 1, axis=1)
    P[0] = P[0] / (1.0 + loop) + np.eye(states)[0] * loop / (1.0 + loop)
    found = constants_for(lsmdp.LMDP(P))
    H, B, C = int(found.primitivity_index), -math.log(P[P > 0.0].min()), 1.0
    assert 2 * states - 2 == H
    rng, nearest = np.random.default_rng(states), 0.0
    one = np.eye(states)
    for start in (np.zeros(states), *(400.0 * one), *(400.0 * (1.0 - one))):
        v = start
        spans = [span(v)]
        for _ in range(40):
            tried = [(v >= v.max()).astype(float), *(rng.random((4, states)) < 0.5).astype(float)]
            v = max((averaged(P, c, v) for c in tried), key=span)
            spans.append(span(v))
        for n in range((H + 1) // 2, H + 1):
            for j in range(max(n, H), 2 * n + 1):
                q = math.comb(n, j - n) / 2.0**n
                for before, after in zip(spans, spans[n:], strict=False):
                    bound = 1.5 * n * C + j * B + (1.0 - q) * before
                    assert after <= bound + FORMULA * (1.0 + before)
                    nearest = max(nearest, after / bound)
        if not start.any():
            assert max(spans) <= found.S_averaged
    assert nearest > 0.25
    # the power of two that a path without double steps would give is far above
    assert states < 5 or found.S_averaged < (2**H * (1.5 * H * C + B) + 1.5 * H * C) / 4


@few
@given(case=cases)
def test_new_comparator(case: Case) -> None:
    game, one = case.record, straight(case)
    v, B = one.v[-1], game.constants.B
    phase = max(span(c_t - one.c[-1]) for c_t in one.costs)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:comparator", game, player)
        assert found.holds, player.name
        for k, (loss, mixing) in enumerate(rivals(case).values()):
            close(found.left[k], sum(walk.loss) - loss, sums(case) * (2.0 + B))
            right = excess_of(case, walk) + v.max() - one.start @ v + mixing * phase
            close(found.right[k], right, sums(case) * (2.0 + B))


@few
@given(case=cases)
def test_new_posteriori(case: Case) -> None:
    """The four sums, and that they bound R'."""
    one = straight(case)
    changes = [span(after - before) for before, after in steps(one.v)]
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:posteriori", case.record, player)
        assert found.holds, player.name
        close(found.left[-1], excess_of(case, walk), weighted(case))
        terms = [
            sum(t * change**2 / 8 for t, change in enumerate(changes, 1)),
            transient(case, walk),
            sum(changes[:-1]),
            far_apart(case, walk),
        ]
        close(found.right[-1], sum(terms), weighted(case) * (1.0 + max(changes)))


def transient(case: Case, walk: Walk) -> float:
    """sum 1/2 |p_t - mu*_t|_1 span(c_t - c_bar_t)."""
    one = straight(case)
    return sum(
        0.5 * float(np.abs(p - mu).sum()) * span(c_t - c)
        for p, mu, c_t, c in zip(walk.p, one.mu, one.costs, one.c, strict=False)
    )


@few
@given(case=cases)
def test_new_posteriori_3(case: Case) -> None:
    one = straight(case)
    for player, walk in zip(case.players, walks(case), strict=True):
        found = certificate("new:posteriori/3", case.record, player)
        assert found.holds, player.name
        drift = 0.0
        for t in range(1, case.rounds):
            change = one.v[t] - one.v[t - 1]
            drift += float(walk.p[t] @ (change - change.min()))
        right = idealised(case) + transient(case, walk) + drift + far_apart(case, walk)
        close(found.right[-1], right, weighted(case))
        assert found.right[-1] <= certificate("new:posteriori", case.record, player).right[-1] + weighted(case)


@few
@given(case=cases)
def test_new_posteriori_2(case: Case) -> None:
    game, one = case.record, straight(case)
    found = certificate("new:posteriori/2", game)
    assert found.holds
    close(found.left[-1], idealised(case), weighted(case))
    right = within = 0.0
    for t, (before, after) in enumerate(steps(one.v), 1):
        Lambda, change, d = one.Lambda[t - 1], span(after - before), one.error(game) * (1.0 + one.Lambda.max())
        shrink = 1.0 - Lambda * change / 4
        if abs(shrink) <= 2.0 * d:
            return  # which of the two cases it is, rounding decides
        bound = Lambda * span(one.c[t] - one.c[t - 1]) / shrink if shrink > 0.0 else change
        right += t * bound**2 / 8
        # Lambda and the change are right up to factors 1 + d; that moves the quotient by a factor 1 + 4d/shrink
        within += t * bound**2 / 8 * 12.0 * d / abs(shrink) + t * d * (bound + d)
        close(found.right[t - 1], right, within)


def test_new_replay() -> None:
    """certify(run) plays the run again: the loss on record is that of the replay, or it says so."""
    game = random_game(3, "dense", states=3, rounds=9)
    run = lsmdp.play(game.lmdp, [lsmdp.FollowTheLeader(), TrackTheLeader()], game.costs, start=game.start)
    report = lsmdp.certify(run)
    assert [one.holds for one in report["run:replay"]] == [True, True]
    assert report.holds
