"""Rounds a second of the online game, with all the accounting on.

A turn plays the next stretch of one game, so that the start-up rounds are behind it; the unit is one scipy product
P @ x, measured in the same turns. Rounds whose certificate is wider than the learner promises are counted and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

import lsmdp
from benchmarks.measure import Blocks, repeated, timed
from lsmdp.game import Round

LONG = 10**6  # rounds that no turn reaches the end of


@dataclass(frozen=True)
class Case:
    """A model, a cost family, a learner, the rounds to play before measuring, and the rounds of a turn."""

    model: Callable[[], lsmdp.LMDP]
    costs: str
    learner: Any
    warm: int
    turn: int


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One case: stretches of a game and products with P in turns."""
    case = CASES[name]
    lmdp = case.model()
    x = np.ones(lmdp.n)
    game = lsmdp.rounds(lmdp, case.learner, lsmdp.read_costs(case.costs, lmdp, rounds=LONG))
    _stretch(game, case.warm)
    played: list[Round] = []
    seconds, _ = blocks.run(
        {
            "product": lambda: repeated(lambda: lmdp.P @ x),
            "stretch": lambda: timed(lambda: played.extend(_stretch(game, case.turn))),
        }
    )
    a_round = seconds["stretch"] / case.turn
    late = sum(row.gap > min(1e-6, 0.1 / row.round) for row in played) if case.learner.name == "ftl" else 0
    return {
        "case": name,
        "states": lmdp.n,
        "entries": lmdp.nnz,
        "seconds_a_round": a_round,
        "rounds_a_second": 1.0 / a_round,
        "products_a_round": a_round / seconds["product"],
        "steps_a_round": float(np.mean([row.steps for row in played])),
        "at_round": played[-1].round,
        "broken_certificates": int(late),
        "accounting": "full" if np.isfinite(played[-1].ideal_loss) else "no idealised loss",
    }


def _stretch(game: Iterator[Round], rounds: int) -> list[Round]:
    return [next(game) for _ in range(rounds)]


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line a case."""
    shown = Table(title="the online game", title_justify="left", caption=__doc__.split("\n")[2], caption_justify="left")
    for column in ("case", "states", "rounds/s", "P @ x a round", "steps a round", "at round", "accounting"):
        shown.add_column(column, justify="left" if column in ("case", "accounting") else "right")
    for record in records:
        shown.add_row(
            record["case"],
            f"{record['states']:,}",
            f"{record['rounds_a_second']:.4g}",
            f"{record['products_a_round']:.3g}",
            f"{record['steps_a_round']:.3g}",
            f"{record['at_round']:,}",
            record["accounting"] + (f", {record['broken_certificates']} LATE" if record["broken_certificates"] else ""),
        )
    return shown


def _dense(n: int) -> lsmdp.LMDP:
    return lsmdp.LMDP(np.random.default_rng(0).uniform(0, 1, (n, n)), normalise=True)


CASES = {
    "dense 50, iid, ftl": Case(lambda: _dense(50), "iid", lsmdp.FollowTheLeader(), 100, 500),
    "dense 50, iid, track": Case(lambda: _dense(50), "iid", lsmdp.TrackTheLeader(), 100, 500),
    "grid 30x30, iid, ftl": Case(lambda: lsmdp.grid(30, 30), "iid", lsmdp.FollowTheLeader(), 50, 50),
    "grid 30x30, target, ftl": Case(lambda: lsmdp.grid(30, 30), "target", lsmdp.FollowTheLeader(), 50, 50),
    "grid 100x100, iid, ftl": Case(lambda: lsmdp.grid(100, 100), "iid", lsmdp.FollowTheLeader(), 30, 20),
    "grid 100x100, iid, track": Case(lambda: lsmdp.grid(100, 100), "iid", lsmdp.TrackTheLeader(), 30, 50),
    "random 20k, iid, ftl": Case(lambda: lsmdp.random_graph(20_000), "iid", lsmdp.FollowTheLeader(), 20, 20),
    "random 1M, iid, track": Case(lambda: lsmdp.random_graph(10**6), "iid", lsmdp.TrackTheLeader(), 1, 2),
}
