"""The plan of a day, renewed round after round, against a few lines of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lsmdp import LMDP, Periodic, solve
from lsmdp._core.clocks import Day, Manner, PlayedDays, enclosed, keep_plan
from lsmdp._core.sparse import rows


def model(n: int, T: float) -> LMDP:
    rng = np.random.default_rng(n)
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.4) + np.eye(n) + np.roll(np.eye(n), 1, axis=1)
    return LMDP(W, temperature=T, normalise=True)


def reference(lmdp: LMDP, manner: Manner, D: int, costs: Any) -> tuple[Any, ...]:
    """What keep_plan does, from round 1 on, for up to 32 slots."""
    P, T = lmdp.P.toarray(), lmdp.temperature
    C, V, low, high, played, passes = *np.zeros((2, D, lmdp.n)), *np.zeros((2, D)), [], []
    for t, c_t in enumerate(costs):
        k, afresh, count = t % D, t < D and (t < 16 or t % 2 == 1), 0
        played.append(V[(t + 1) % D].copy())
        new = {k: C[k] + max(1 / (t // D + 1), manner.weight) * (c_t - C[k])}
        new |= {j: (C[:k].sum(axis=0) + c_t) / (k + 1) for j in range(k + 1, D) if afresh}
        for j, forecast in new.items():
            low[j], high[j] = low[j] + (forecast - C[j]).min(), high[j] + (forecast - C[j]).max()
            C[j] = forecast
        for j in (k - np.arange(D)) % D:
            if high[j] - low[j] >= manner.tolerance:
                value = C[j] - T * np.log(P @ np.exp(-V[(j + 1) % D] / T))
                low[j] = high[j] = value.min()
                change, V[j], count = value - value.min() - V[j], value - value.min(), count + 1
                low[j - 1], high[j - 1] = low[j - 1] + change.min(), high[j - 1] + change.max()
            elif not afresh:
                break
        passes.append(count)
    return C, V, low, high, np.array(played), np.array(passes)


def kept_by(lmdp: LMDP, manner: Manner, D: int, costs: Any, cuts: tuple[int, ...] = ()) -> tuple[Day, PlayedDays]:
    day = Day(np.zeros((D, lmdp.n)), np.zeros((D, lmdp.n)), np.zeros(D), np.zeros(D))
    parts, t = [], 0
    for block in np.split(costs, cuts):
        rounds = len(block)
        kept = PlayedDays(
            np.empty((rounds + 1, lmdp.n)), np.empty(rounds), np.empty(rounds), np.empty(rounds, np.int64)
        )
        keep_plan(rows(lmdp.P), manner, t, block, day, kept)
        parts.append(kept._replace(values=kept.values[:-1]))
        t += rounds
    return day, PlayedDays(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@pytest.mark.parametrize("T", [1.0, 0.1])
@pytest.mark.parametrize(("D", "weight"), [(1, 0.0), (2, 0.0), (7, 0.0), (7, 0.3), (30, 0.0)])
@pytest.mark.parametrize("n", [1, 9])
def test_the_plan_is_that_of_the_reference(n: int, D: int, weight: float, T: float) -> None:
    lmdp, manner = model(n, T), Manner(T, weight, 1.234e-3, 0.0)
    costs = np.random.default_rng(D).uniform(0, 1, (4 * D + 5, n))
    day, kept = kept_by(lmdp, manner, D, costs)
    C, V, low, high, played, passes = reference(lmdp, manner, D, costs)
    np.testing.assert_allclose(day.forecasts, C, rtol=0, atol=1e-13)
    np.testing.assert_allclose(day.values, V, rtol=0, atol=1e-11)
    np.testing.assert_allclose(kept.values, played, rtol=0, atol=1e-11)
    np.testing.assert_allclose([day.low, day.high], [low, high], rtol=0, atol=1e-11)
    np.testing.assert_array_equal(kept.passes, passes)


def test_forecasts_of_unseen_slots_are_renewed_less_and_less_often() -> None:
    """After the rounds 1, ..., 16, then every second one up to 32, every fourth up to 64, and so on."""
    lmdp, D = model(3, 1.0), 200
    costs = np.random.default_rng(0).uniform(0, 1, (D, 3))
    due = [*range(1, 17), *range(18, 33, 2), *range(36, 65, 4), *range(72, 129, 8), *range(144, 200, 16)]
    for t in (16, 17, 33, 40, 64, 100, 160, 199):
        day, _ = kept_by(lmdp, Manner(1.0, 0.0, 1e-3, 0.0), D, costs[:t])
        last = max(round_ for round_ in due if round_ <= t)
        np.testing.assert_allclose(day.forecasts[t:], costs[:last].mean(axis=0)[np.newaxis].repeat(D - t, axis=0))
        np.testing.assert_array_equal(day.forecasts[:t], costs[:t])


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_the_bounds_hold_and_every_slot_obeys_its_equation_within_the_tolerance(size: float) -> None:
    lmdp, D, tolerance = model(8, 0.5), 6, 2e-3
    costs = size * np.random.default_rng(1).uniform(0, 1, (60, 8))
    for rounds in (1, 3, 5, 6, 7, 20, 60):
        day, _ = kept_by(lmdp, Manner(0.5, 0.0, tolerance, 0.0), D, costs[:rounds])
        ahead = np.roll(day.values, -1, axis=0)
        with np.errstate(all="raise"):
            least = ahead.min(axis=1, keepdims=True)
            sums = np.exp((least - ahead) / 0.5) @ lmdp.P.toarray().T
        r = day.forecasts + least - 0.5 * np.log(sums) - day.values
        assert (day.low <= r.min(axis=1)).all()
        assert (r.max(axis=1) <= day.high).all()
        assert (day.high - day.low < tolerance).sum() >= D - 1  # all but the slot that a whole walk round has moved
        lo, hi = enclosed(day, 0.0)
        truth = solve(lmdp, day.forecasts, Periodic(), tol=1e-9 * size)
        assert lo <= truth.bounds[1]
        assert truth.bounds[0] <= hi
        wider = enclosed(day, 0.25)
        assert wider == pytest.approx((lo - 0.25, hi + 0.25))


def test_where_the_rounds_are_cut_does_not_matter_to_the_last_bit() -> None:
    lmdp, manner = model(9, 0.3), Manner(0.3, 0.0, 1e-3, 0.0)
    costs = np.random.default_rng(2).uniform(0, 1, (50, 9))
    whole_day, whole = kept_by(lmdp, manner, 7, costs)
    for cuts in ((1,), (6, 7, 8), (20, 33), tuple(range(1, 50))):
        day, kept = kept_by(lmdp, manner, 7, costs, cuts)
        for one, other in zip((*day, *kept), (*whole_day, *whole), strict=True):
            np.testing.assert_array_equal(one, other)
