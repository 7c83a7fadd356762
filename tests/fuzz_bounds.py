"""Random sloppy v against every certificate, judged in 60 digits: ``python -m tests.fuzz_bounds 10000 [SEED]``.

A smaller run of the same is a test (test_bounds.py). Nothing here is taken from the package but the bounds.
"""

from __future__ import annotations

import sys
from collections import Counter

import mpmath
import numpy as np

import lsmdp
from tests import precise

KINDS = ("average", "goal", "discounted", "horizon", "periodic")


class Case:
    """A small random model with entries over several decades, a cost, and a v that is near the solution or is not."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        n = int(rng.integers(2, 6))
        W = 10.0 ** -rng.uniform(0, rng.choice([0.5, 3, 9]), (n, n)) * (rng.random((n, n)) < 0.6)
        W[np.arange(n), (np.arange(n) + 1) % n] += 0.1 if self.kind != "goal" else 0.0
        W += np.diag((W.sum(axis=1) == 0) + 0.2 * rng.random(n))
        self.T = float(rng.choice([0.05, 1.0, 7.3]))
        self.lmdp = lsmdp.LMDP(W, temperature=self.T, normalise=True)
        self.n, self.scale = n, float(rng.choice([0.1, 1.0, 10.0]))

    def costs(self, *shape: int) -> np.ndarray:
        return self.rng.random(shape) * self.scale

    def sloppy(self, v: np.ndarray) -> np.ndarray:
        """v with an error of any size, or something else altogether."""
        if self.rng.random() < 0.2:
            return self.rng.normal(size=v.shape) * self.scale * 10
        return v + self.rng.normal(size=v.shape) * self.T * 10.0 ** -self.rng.uniform(-1, 14)

    def fault(self) -> str | None:
        """What is wrong with the bounds, if anything; "nothing proved" counts as right, and is counted."""
        return str(getattr(self, f"_{self.kind}")())

    def _average(self) -> str:
        c, P = self.costs(self.n), self.lmdp.P.toarray()
        v = self.sloppy(lsmdp.solve(self.lmdp, c, throw=False).v)
        low, high = lsmdp.bounds(self.lmdp, c, v)
        best, paid = precise.average(P, c[None, :], self.T), precise.average_policy(P, c, self.T, v)
        mild = mpmath.mpf(10) ** -25  # the power steps of the oracle have an error of their own
        return verdict(low <= best + mild and best - mild <= paid and paid <= high, low)

    def _goal(self) -> str:
        rng, n = self.rng, self.n
        c = self.costs(n) - (0.02 * self.scale if rng.random() < 0.3 else 0.0)
        count = int(rng.integers(1, min(n, 3)))
        goals = rng.choice(n, count, replace=False)
        terminal = {int(a): float(rng.choice([0.0, rng.normal() * self.scale, np.inf])) for a in goals}
        terminal[int(goals[0])] = float(rng.random())
        try:
            s = lsmdp.solve(self.lmdp, c, lsmdp.Goal(terminal), throw=False)
        except lsmdp.AssumptionError:
            return "refused"
        except lsmdp.ConvergenceError:
            return "undecided"
        P = self.lmdp.P.toarray()
        inside = [x for x in range(n) if x not in terminal and x not in s.lost]
        exact = precise.goal(P, c, self.T, inside, terminal)
        for pair in (s, lsmdp.bounds(self.lmdp, c, self.sloppy(np.where(s.finite, s.v, 0.0)), s.end)):
            if not np.isfinite(np.asarray(pair.upper)[inside]).all():
                if not all(pair.lower[x] <= exact[x] for x in inside):
                    return "WRONG"
                continue
            paid = precise.goal_policy(P, c, self.T, inside, terminal, pair.upper)
            mild = mpmath.mpf(10) ** -30
            right = all(pair.lower[x] <= exact[x] <= paid[x] + mild and paid[x] <= pair.upper[x] for x in inside)
            if not right:
                return "WRONG"
        return "nothing proved" if not np.isfinite(pair.lower[inside]).all() else "right"

    def _discounted(self) -> str:
        c, P, a = (
            self.costs(self.n) - 0.3 * self.scale,
            self.lmdp.P.toarray(),
            float(self.rng.choice([0.3, 0.9, 0.999, 0.999999])),
        )
        s = lsmdp.solve(self.lmdp, c, lsmdp.Discounted(a), throw=False)
        exact = precise.discounted(P, c, self.T, a, s.v)
        for pair in (s, lsmdp.bounds(self.lmdp, c, self.sloppy(s.v), s.end)):
            if not np.isfinite(pair.upper).all():
                return "nothing proved"
            paid = precise.discounted_policy(P, c, self.T, a, a * (pair.upper - pair.upper.min()))
            mild = mpmath.mpf(10) ** -30
            rows = zip(pair.lower, exact, paid, pair.upper, strict=True)
            if not all(low <= best + mild and best <= cost + mild and cost <= high for low, best, cost, high in rows):
                return "WRONG"
        return "right"

    def _horizon(self) -> str:
        rounds = int(self.rng.integers(1, 8))
        costs, P, g = self.costs(rounds, self.n), self.lmdp.P.toarray(), self.rng.normal(size=self.n)
        plan = lsmdp.solve(self.lmdp, costs, lsmdp.Horizon(terminal=g))
        exact = precise.plan(P, costs, self.T, g)
        for t in range(1, rounds + 2):
            pair = plan.at(t)
            if not all(low <= V <= high for low, V, high in zip(pair.lower, exact[t - 1], pair.upper, strict=True)):
                return "WRONG"
        table = self.sloppy(np.array([plan.at(t).upper for t in range(1, rounds + 1)]))
        pair = lsmdp.bounds(self.lmdp, costs, table, plan.end)
        return verdict(
            all(low <= V <= high for low, V, high in zip(pair.lower, exact[0], pair.upper, strict=True)), 0.0
        )

    def _periodic(self) -> str:
        slots, P = self.costs(int(self.rng.integers(1, 5)), self.n), self.lmdp.P.toarray()
        day = lsmdp.solve(self.lmdp, slots, lsmdp.Periodic(), throw=False)
        best, mild = precise.average(P, slots, self.T), mpmath.mpf(10) ** -25
        low, high = lsmdp.bounds(self.lmdp, slots, self.sloppy(day.v), lsmdp.Periodic())
        own_low, own_high = day.bounds
        right = low <= best + mild and best - mild <= high and own_low <= best + mild and best - mild <= own_high
        return verdict(right, low)


def verdict(right: object, low: float) -> str:
    return "WRONG" if not right else ("right" if np.isfinite(low) else "nothing proved")


def run(seeds: range) -> Counter[tuple[str, str]]:
    """How often each verdict was reached, for each kind of end."""
    found: Counter[tuple[str, str]] = Counter()
    with mpmath.workdps(precise.DIGITS):
        for seed in seeds:
            case = Case(seed)
            word = str(case.fault())
            found[case.kind, word] += 1
            if word == "WRONG":
                print(f"seed {seed}: the bounds for {case.kind} are wrong", file=sys.stderr)
    return found


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for (kind, word), times in sorted(run(range(first, first + count)).items()):
        print(f"{kind:<12}{word:<16}{times:>8,}")
