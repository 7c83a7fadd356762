"""Rounds of pools and clocks: rounds a second, products P @ x of scipy a round, and a pool in plain numpy beside it.

A turn plays the next rounds of a game with its accounts, as ``lsmdp.play`` does, then a few of the peer, on the same
costs. The peer is the same pool written down from its formulas: scipy products, numpy's exponentials and logarithms,
expert after expert. What both have paid must agree to ten digits, or the case does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

import lsmdp
from benchmarks.families import dense
from benchmarks.measure import Blocks, repeated, resident, timed
from lsmdp.game import Game

WARM = 3  # rounds before the clock starts
AGREES = 1e-10  # of what the pool and its peer have paid, relatively
HEADINGS = ["case", "states", "moves", "rounds/s", "products", "goal", "MB", "in numpy"]


def pool(experts: int) -> lsmdp.Pool:
    """P, the mean, and discounted means in which the newest cost has the weight 1, 1/2, 1/4, ..."""
    weights = [2.0**-k for k in range(experts - 2)]
    return lsmdp.Pool([lsmdp.Passive(), lsmdp.TrackTheLeader(), *map(lsmdp.TrackTheDiscounted, weights)])


@dataclass(frozen=True)
class Case:
    """A model, who plays, the rounds of a turn of ours and of the peer's, the goal, and whether it takes long."""

    model: Callable[[], lsmdp.LMDP]
    learner: Callable[[], Any]
    costs: str = "iid"
    turn: int = 20
    peer: int = 3
    goal: str = "-"
    full: bool = False


CASES = {
    "pool of 12, full 50": Case(lambda: dense(50), lambda: pool(12), turn=6000, peer=60, goal="30,000/s"),
    "pool of 12, random 50": Case(
        lambda: lsmdp.random_graph(50), lambda: pool(12), turn=6000, peer=60, goal="30,000/s"
    ),
    "pool, ring 12": Case(lambda: lsmdp.ring(12), lsmdp.Pool, turn=6000, peer=60),
    "pool:auto, ring 12": Case(lambda: lsmdp.ring(12), lambda: lsmdp.Pool(auto=True), "periodic:50", 6000, 0),
    "pool, museum": Case(lambda: lsmdp.read_model("museum"), lsmdp.Pool, turn=300, peer=10),
    "pool of 12, grid 100x100": Case(lambda: lsmdp.grid(100, 100), lambda: pool(12), turn=30, goal="60"),
    "pool, random 20k": Case(lambda: lsmdp.random_graph(20_000), lsmdp.Pool, turn=15),
    "pool, grid 1000x1000": Case(lambda: lsmdp.grid(1000, 1000), lsmdp.Pool, turn=2, peer=0, full=True),
    "clock:24, ring 12": Case(lambda: lsmdp.ring(12), lambda: lsmdp.Clock(24), "periodic:24", 6000, 0),
    "clock:24, grid 30x30": Case(lambda: lsmdp.grid(30, 30), lambda: lsmdp.Clock(24), "periodic:24", 200, 0),
}


class Peer:
    """The rounds of a pool of trackers with the weights of plain Hedge, from the formulas."""

    def __init__(self, lmdp: lsmdp.LMDP, experts: Iterable[Any]) -> None:
        self.P, self.T, self.paid, self.t = lmdp.P, lmdp.temperature, 0.0, 0
        self.entry_rows, self.law = lmdp.entry_rows, np.eye(1, lmdp.n)[0]
        self.own = [expert.own for expert in experts]
        E, n = len(self.own), lmdp.n
        self.stores, self.values, self.laws = np.zeros((E, n)), np.zeros((E, n)), np.tile(self.law, (E, 1))
        self.losses, self.range = np.zeros(E), 0.0

    def play(self, costs: np.ndarray) -> None:
        for c in costs:
            self._round(c)

    def _round(self, c: np.ndarray) -> None:
        P, T, E, losses = self.P, self.T, len(self.own), np.empty(len(self.own))
        rate = np.sqrt(8 * np.log(E) / (self.t + 1)) / self.range if self.range > 0.0 else 0.0
        weights = np.exp(-rate * (self.losses - self.losses.min()))
        weights /= weights.sum()
        flow = np.zeros(P.nnz)
        self.t += 1
        for i, learner in enumerate(self.own):
            u = np.exp(-self.values[i] / T)
            s = P @ u
            logs, share = np.log(s), self.laws[i] / s
            flow += weights[i] * share[self.entry_rows] * u[P.indices]
            after = u * (share @ P)
            control = -T * (self.laws[i] @ logs) - after @ self.values[i]
            losses[i] = self.laws[i] @ c + control
            self.laws[i] = after / after.sum()
            self._learn(i, learner, c, -T * logs)
        chances = P.data * flow
        mass = np.add.reduceat(chances, P.indptr[:-1])
        there = np.where(mass > 0.0, mass, 1.0)
        Q = np.where((mass > 0.0)[self.entry_rows], chances / there[self.entry_rows], P.data)
        logs = np.log(np.where(Q > 0.0, Q / P.data, 1.0))
        kl = np.add.reduceat(Q * logs, P.indptr[:-1])
        self.paid += float(self.law @ (c + T * kl))
        self.law = np.bincount(P.indices, self.law[self.entry_rows] * Q, self.law.size)
        self.losses += losses
        self.range = max(self.range, float(np.ptp(losses)))

    def _learn(self, i: int, learner: Any, c: np.ndarray, once: np.ndarray) -> None:
        if isinstance(learner, lsmdp.Passive):
            return
        if isinstance(learner, lsmdp.TrackTheLeader):
            self.stores[i] += c
            target = self.stores[i] / self.t
        else:
            self.stores[i] += learner.weight * (c - self.stores[i])
            target = self.stores[i]
        once = target + once
        twice = target - self.T * np.log(self.P @ np.exp(-(once - once.min()) / self.T)) + once.min()
        v = (once + twice) / 2
        self.values[i] = v - v.min()


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One case."""
    case = CASES[name]
    lmdp, learner = case.model(), case.learner()
    rounds = WARM + case.turn * blocks.most
    costs = lsmdp.read_costs(case.costs, lmdp, rounds=rounds)
    game, peer = Game.begin(lmdp, learner), Peer(lmdp, learner.experts) if case.peer else None
    first = np.stack([next(iter(costs.from_round(t + 1))) for t in range(max(WARM, case.peer))])
    memory = resident(lambda: game.play(first[:WARM]))
    left = costs.blocks_from(WARM + 1)
    held: list[np.ndarray] = []

    def ours() -> tuple[float, None]:
        """The next rounds; drawing their costs is not timed."""
        seconds, done = 0.0, 0
        while done < case.turn:
            block = held.pop() if held else next(left)
            if len(block) > case.turn - done:
                held.append(block[case.turn - done :])
                block = block[: case.turn - done]
            began = time.perf_counter()
            game.play(block)
            seconds, done = seconds + time.perf_counter() - began, done + len(block)
        return seconds / case.turn, None

    def theirs() -> tuple[float, None]:
        again = Peer(lmdp, learner.experts)
        seconds, _ = timed(lambda: again.play(first[: case.peer]))
        return seconds / case.peer, None

    x = np.random.default_rng(0).random(lmdp.n)
    turns: dict[str, Callable[[], tuple[float, Any]]] = {"lsmdp": ours, "product": lambda: repeated(lambda: lmdp.P @ x)}
    if peer is not None:
        turns["numpy"] = theirs
    seconds, _ = blocks.run(turns)
    agrees = True
    if peer is not None:
        paid = lsmdp.play(lmdp, case.learner(), first[: case.peer]).learners[learner.name].loss
        peer.play(first[: case.peer])
        agrees = abs(paid - peer.paid) <= AGREES * abs(peer.paid)
    return {
        "case": name,
        "states": lmdp.n,
        "moves": lmdp.nnz,
        "rounds_a_second": 1 / seconds["lsmdp"],
        "products": seconds["lsmdp"] / seconds["product"],
        "goal": case.goal,
        "bytes": memory,
        "numpy": seconds["numpy"] / seconds["lsmdp"] if peer is not None else None,
        "counts": bool(agrees),
    }


def cells(record: dict[str, Any]) -> list[str]:
    """A line of the table."""
    return [
        record["case"],
        f"{record['states']:,}",
        f"{record['moves']:,}",
        f"{record['rounds_a_second']:,.3g}" if record["rounds_a_second"] < 100 else f"{record['rounds_a_second']:,.0f}",
        f"{record['products']:,.1f}",
        record["goal"],
        "-" if record["bytes"] is None else f"{record['bytes'] / 1e6:,.0f}",
        "-" if record["numpy"] is None else f"{record['numpy']:,.1f}x",
    ]


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line per case."""
    out = Table(title="Rounds of pools and clocks", title_justify="left", title_style="bold")
    for heading in HEADINGS:
        out.add_column(heading, justify="left" if heading == "case" else "right", no_wrap=True)
    for record in records:
        out.add_row(*cells(record))
    return out
