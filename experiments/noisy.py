"""The table of docs/learners.md: pools in games with 40% noise, against the leader and against who knew all costs.

    python experiments/noisy.py

Costs are 0.6 times those of a family plus 0.4 times uniform noise (``iid``: nothing but noise), on a ring of 12 states,
a 4 x 4 grid, and two clusters of 8 states that meet once in a thousand rounds; 4,000 rounds, the mean of three seeds.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import lsmdp

ROUNDS, SEEDS, SHARE_OF_NOISE = 4_000, (0, 1, 2), 0.4
MODELS = ("ring:12", "grid:4x4", "clusters:2:8:0.001")
FAMILIES = ("iid", "switching:50", "switching:500", "drift", "periodic:50", "target:50")
LEARNERS = (
    lsmdp.Pool(),
    lsmdp.Pool(auto=True),
    lsmdp.Pool(clocks=[24, 50]),
    lsmdp.FollowTheLeader(),
    lsmdp.DiscountedLeader(),
)


def costs_of(family: str, lmdp: lsmdp.LMDP, seed: int) -> np.ndarray:
    """A row a round; the noise has a stream of its own."""
    noise = np.random.default_rng([seed, ROUNDS]).random((ROUNDS, lmdp.n))
    if family == "iid":
        return noise
    pattern = np.array(list(lsmdp.read_costs(family, lmdp, rounds=ROUNDS, seed=seed)))
    return (1.0 - SHARE_OF_NOISE) * pattern + SHARE_OF_NOISE * noise


def regrets(model: str, family: str) -> np.ndarray:
    """Against the leader: of each learner, and of the plan in hindsight; the mean over the seeds."""
    lmdp, found = lsmdp.read_model(model), list[list[float]]()
    for seed in SEEDS:
        costs = costs_of(family, lmdp, seed)
        told = lsmdp.play(lmdp, LEARNERS, costs).regret().learners
        found.append([one.leader for one in told] + [told[0].leader - told[0].dynamic])
    return np.mean(found, axis=0)


def main() -> None:
    """One table for each model."""
    for model in MODELS:
        table = Table("", *FAMILIES, title=model)
        columns = [regrets(model, family) for family in FAMILIES]
        for name, *cells in zip((*(one.name for one in LEARNERS), "all costs known in advance"), *columns, strict=True):
            table.add_row(name, *(f"{cell:.1f}" for cell in cells))
        Console().print(table)


if __name__ == "__main__":
    main()
