"""How the cost of a round grows with the model, and what a game of 3,000 rounds spends on its solver.

``rounds``: products P @ x and seconds a round against the number of states, for grids and random graphs, measured like
the cases of rounds.py. ``game``: follow the leader from round 1 to round 3,000; how often what it keeps of its solver
was renewed, and its steps, up to each round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np
from rich.table import Table

import lsmdp
from benchmarks.measure import Blocks, repeated
from benchmarks.rounds import FIRST, WARM, WIDTH, Game, renewed, short

ROUNDS = 3000
SHOWN = (10, 30, 100, 300, 1000, 3000)


@dataclass(frozen=True)
class Case:
    """A model and its costs; with ``game``, all rounds from the first on."""

    model: Callable[[], lsmdp.LMDP]
    costs: str
    turn: int = 10
    game: bool = False
    full: bool = False
    once: bool = False  # one block is enough


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One point of a figure, or one line of it."""
    case = CASES[name]
    lmdp = case.model()
    head = {"case": name, "states": lmdp.n, "entries": lmdp.nnz}
    return head | (_game(case, lmdp) if case.game else _round(case, lmdp, Blocks(1, 1) if case.once else blocks))


def _round(case: Case, lmdp: lsmdp.LMDP, blocks: Blocks) -> dict[str, Any]:
    rounds, x = WARM + case.turn * blocks.most, np.ones(lmdp.n)
    game = Game(lmdp, case.costs, lsmdp.FollowTheLeader(tolerance=WIDTH / (FIRST + rounds)), rounds)
    game.play(WARM)
    game.seconds, game.certified, game.rounds = [], 0, 0
    seconds, _ = blocks.run(
        {"product": lambda: repeated(lambda: lmdp.P @ x), "learn": lambda: (0.0, game.play(case.turn))}
    )
    return {
        "product_seconds": seconds["product"],
        "mean_products": fmean(game.seconds) / seconds["product"],
        "median_products": median(game.seconds) / seconds["product"],
        "seconds_a_round": fmean(game.seconds),
        "counts": game.certified == game.rounds,
    }


def _game(case: Case, lmdp: lsmdp.LMDP) -> dict[str, Any]:
    learner = lsmdp.FollowTheLeader()
    state, renewals, steps, along = learner.init(lmdp), 0, 0, []
    for t, c_t in enumerate(lsmdp.read_costs(case.costs, lmdp, rounds=ROUNDS), start=1):
        before, state = state, learner.observe(lmdp, state, c_t)
        renewals += renewed(before, state)
        steps += int(state.lead.steps)
        if t in SHOWN or t % 100 == 0:
            along.append([t, renewals, steps])
    return {"along": along, "counts": bool(state.lead.hi - state.lead.lo <= min(1e-6, 0.1 / ROUNDS))}


HEADINGS = ("case", "states", "products a round", "median", "seconds a round", "renewals / steps up to round")


def table(records: Iterable[dict[str, Any]]) -> Table:
    """Products a round against n; renewals and steps against T."""
    shown = Table(title="growth", title_justify="left")
    for column in HEADINGS:
        shown.add_column(column, justify="left" if column == "case" else "right")
    for record in records:
        shown.add_row(*cells(record))
    return shown


def cells(record: dict[str, Any]) -> list[str]:
    """One line of the table."""
    line = [record["case"], f"{record['states']:,}"]
    if "along" in record:
        along = [f"{t:,}: {renewals:,} / {steps:,}" for t, renewals, steps in record["along"] if t in SHOWN]
        return [*line, "-", "-", "-", ", ".join(along)]
    products = [short(record[key]) for key in ("mean_products", "median_products")]
    return [*line, *products, f"{record['seconds_a_round']:.3g}", "-"]


GRIDS = ((32, 10), (100, 10), (316, 2), (1000, 20))
GRAPHS = ((1_000, 10), (10_000, 10), (100_000, 5), (1_000_000, 5))
CASES = {
    **{
        f"grid {side}x{side}": Case(
            lambda side=side: lsmdp.grid(side, side), "iid", turn, full=side > 316, once=side > 316
        )
        for side, turn in GRIDS
    },
    **{f"random {n:,}": Case(lambda n=n: lsmdp.random_graph(n), "iid", turn, once=n > 10**5) for n, turn in GRAPHS},
    **{
        f"game on grid 30x30, {costs}": Case(lambda: lsmdp.grid(30, 30), costs, game=True)
        for costs in ("iid", "target", "switching")
    },
    "game on random 2k, iid": Case(lambda: lsmdp.random_graph(2_000), "iid", game=True, full=True),
}
