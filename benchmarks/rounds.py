"""Rounds of the game at t ~ 1000: follow the leader with gap_t <= 1e-3 / t, tracking, and what others would take.

The unit is one product P @ x of scipy for the same P, measured in the same minutes: it moves with the machine, so
ratios stay comparable. A game begins at round 1000: the costs before are summed up, their leader is solved for once,
and a turn is played before the clock starts, of WARM rounds at least. A turn plays the next rounds of lsmdp, then some
of each peer, on the same costs. After every round of lsmdp its certificate is evaluated again by the numpy lines of
peers.py; ``certified`` counts the rounds where that interval is at most 1e-3 / t, and a case with fewer than all of
them does not count.

"learn" is the learner alone: ``observe_block`` for as many rounds as ``play`` gives it at once, which is one on large
models. "with accounts" is a round with exact losses, laws and divergences. Renewals are blocks after which the
learner's state keeps another factor or inverse than before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean, median
from typing import Any

import numpy as np
from rich.table import Table

import lsmdp
from benchmarks.families import dense, roads
from benchmarks.measure import Blocks, repeated, traced
from benchmarks.peers import PEERS, Peer, gap_of
from lsmdp.costs.sequence import block_rows
from lsmdp.game import Game as WholeGame
from lsmdp.learners import pack, unpack

FIRST = 1000  # the round before the first that is played
WIDTH = 1e-3  # gap_t <= WIDTH / t
WARM = 5
LAST = 10**6  # no game comes near this round
KEPT = ("anchor", "inverse")  # what the state of a leader keeps of its solver
PEER_SECONDS = 6.0  # a peer plays no further round once it has taken this long in a case,
GIVEN_UP = 6.0  # and none longer than this (the tolerance of eigs is looked for as long)


def lead_of(state: Any) -> Any:
    """Where a state has its v and its bounds: leaders in their lead, trackers in the state itself."""
    return getattr(state, "lead", state)


def with_lead(state: Any, **changes: Any) -> Any:
    """The state with another v, bounds and the like."""
    return state._replace(lead=replace(state.lead, **changes)) if hasattr(state, "lead") else state._replace(**changes)


def renewed(before: Any, after: Any) -> bool:
    """Whether the solver keeps another factor or inverse than before."""
    return any(getattr(lead_of(before), k, 0) is not getattr(lead_of(after), k, 0) for k in KEPT)


@dataclass(frozen=True)
class Case:
    """A model, a cost family, who else plays, the rounds of a turn, and whether it takes long."""

    model: Callable[[], lsmdp.LMDP]
    costs: str
    peers: tuple[str, ...] = ("eigs", "power")
    turn: int = 20
    full: bool = False
    track: bool = False

    @property
    def warm(self) -> int:
        """The rounds before the clock starts: a first block of many rounds takes longer than the next ones."""
        return max(WARM, self.turn)


class Game:
    """A learner that has arrived at round FIRST, its costs from there on, and what its rounds took."""

    def __init__(self, lmdp: lsmdp.LMDP, costs: str, learner: Any, rounds: int) -> None:
        self.lmdp, self.learner = lmdp, learner
        self.width = WIDTH / (FIRST + rounds)
        self.sequence = lsmdp.read_costs(costs, lmdp, rounds=LAST)
        blocks = self.sequence.blocks_from(1)
        self.c_sum, t = np.zeros(lmdp.n), 0
        while t < FIRST:
            block = next(blocks)[: FIRST - t]
            self.c_sum, t = self.c_sum + block.sum(axis=0), t + len(block)
        self.t = FIRST
        self.costs: Iterator[Any] = self.sequence.from_round(FIRST + 1)
        solution = lsmdp.solve(lmdp, self.c_sum / self.t, tol=self.width)
        lo, hi = solution.bounds
        self.state = learner.init(lmdp)._replace(t=self.t, c_sum=self.c_sum)
        self.state = with_lead(self.state, v=solution.v, lo=lo, hi=hi)
        self.seconds: list[float] = []
        self.steps: list[int] = []
        self.renewals = self.certified = self.rounds = 0
        self.means: list[Any] = []
        self.twin = lsmdp.LMDP(lmdp.P)  # for what is not to share the model's memory with the rounds that are timed

    def play(self, rounds: int) -> None:
        """Learn from some rounds, each timed, or in the blocks that a game is played in."""
        self.means = []
        size = block_rows(self.lmdp.n) if self.learner.takes_blocks(self.lmdp, self.state) else 1
        if size > 1:
            for first in range(0, rounds, size):
                self._block(min(size, rounds - first))
            return
        for _ in range(rounds):
            c_t, before = next(self.costs), self.state
            began = time.perf_counter()
            self.state = self.learner.observe(self.lmdp, before, c_t)
            self.seconds.append(time.perf_counter() - began)
            self.steps.append(self.learner.report(before, self.state).steps)
            self.renewals += renewed(before, self.state)
            self._judge(c_t, before, self.state)

    def _judge(self, c_t: Any, before: Any, after: Any) -> None:
        played_for = self.c_sum / self.t
        self.t, self.c_sum = self.t + 1, self.c_sum + c_t
        self.means.append(self.c_sum / self.t)
        if hasattr(self.learner, "tolerance"):
            gap = gap_of(self.lmdp.P, self.lmdp.temperature, self.means[-1], lead_of(after).v)
            self.certified += bool(gap <= WIDTH / self.t and lead_of(after).hi - lead_of(after).lo <= WIDTH / self.t)
        else:  # a tracker promises no width, but its bounds must hold
            gap = gap_of(self.lmdp.P, self.lmdp.temperature, played_for, before.v)
            self.certified += bool(after.hi - after.lo >= gap * (1.0 - 1e-9))
        self.rounds += 1

    def _block(self, rounds: int) -> None:
        costs, before = np.array([next(self.costs) for _ in range(rounds)]), self.state
        began = time.perf_counter()
        found = self.learner.observe_block(self.lmdp, before, costs)
        self.seconds += [(time.perf_counter() - began) / rounds] * rounds
        self.state = found.state
        self.steps += found.steps.tolist()
        self.renewals += renewed(before, self.state)
        widths = np.append(found.hi[1:], lead_of(found.state).hi) - np.append(found.lo[1:], lead_of(found.state).lo)
        for c_t, v, width in zip(costs, found.values[1:], widths, strict=True):
            self.t, self.c_sum = self.t + 1, self.c_sum + c_t
            self.means.append(self.c_sum / self.t)
            gap = gap_of(self.lmdp.P, self.lmdp.temperature, self.means[-1], v)
            self.certified += bool(gap <= WIDTH / self.t and width <= WIDTH / self.t)
            self.rounds += 1

    def with_accounts(self, rounds: int) -> float:
        """Seconds a round with all the accounting, in a game of its own that goes on from here."""
        game = WholeGame.begin(self.twin, [self.learner])
        game.t, game.players[0].state = self.t, unpack(self.state, pack(self.state))  # a factor of its own
        costs, size = np.array(list(islice(self.sequence.from_round(self.t + 1), rounds + 1))), block_rows(self.lmdp.n)
        game.play(costs[:1])
        began = time.perf_counter()
        for first in range(1, rounds + 1, size):
            game.play(costs[first : first + size])
        return (time.perf_counter() - began) / rounds

    def memory(self, rounds: int) -> tuple[int, int, int]:
        """Bytes of the factor, of all else at the peak of a round, and of what a round holds more that makes a factor.

        Of a model like new: whatever is made for it is counted, with the state of the learner, and without P. A factor
        is made in the first round, and again in the middle, when all that a game keeps is there.
        """
        costs, renewals = list(islice(self.sequence.from_round(self.t + 1), rounds)), (0, rounds // 2)
        anchored = bool(getattr(lead_of(self.state), "anchor", np.empty(0)).size)
        for _ in range(2):  # the first time, modules and compiled code are loaded
            new, peaks = lsmdp.LMDP(self.lmdp.P), []
            with traced() as peak:
                state = unpack(self.state, {name: x.copy() for name, x in pack(self.state).items()})
                for k, c_t in enumerate(costs):
                    if anchored and k in renewals:
                        state.lead.kept.let_go()
                        state = with_lead(state, anchor=state.lead.v, age=0, spent=0.0, recent=0.0)
                    peak()
                    state = self.learner.observe(new, state, c_t)
                    peaks.append(peak())
        factor = getattr(lead_of(state), "factor_bytes", 0)
        rest = max(most for k, most in enumerate(peaks) if not anchored or k not in renewals)
        return factor, max(peaks) - rest, rest - factor


def measure(name: str, blocks: Blocks) -> dict[str, Any]:
    """One case: turns of products, lsmdp and its peers."""
    case = CASES[name]
    lmdp = case.model()
    x, rounds = np.ones(lmdp.n), case.warm + case.turn * (blocks.most + 2)
    learner = lsmdp.TrackTheLeader() if case.track else lsmdp.FollowTheLeader(tolerance=WIDTH / (FIRST + rounds))
    game = Game(lmdp, case.costs, learner, rounds)
    game.play(case.warm)
    game.seconds, game.steps, game.renewals, game.certified, game.rounds = [], [], 0, 0, 0
    peers = {who: PEERS[who](lmdp.P, np.exp(-lead_of(game.state).v), GIVEN_UP) for who in case.peers}

    def turn(who: str) -> Callable[[], tuple[float, None]]:
        def play() -> tuple[float, None]:
            peer = peers[who]
            for c in game.means[:: max(1, len(game.means) // 3)]:
                if sum(peer.seconds) < PEER_SECONDS:
                    peer.round(c, WIDTH / game.t)
            return 0.0, None

        return play

    seconds, _ = blocks.run(
        {
            "product": lambda: repeated(lambda: lmdp.P @ x),
            "learn": lambda: (0.0, game.play(case.turn)),
            "accounts": lambda: (game.with_accounts(case.turn), None),
            **{who: turn(who) for who in peers},
        }
    )
    product = seconds["product"]
    csr = sum(array.nbytes for array in (lmdp.P.data, lmdp.P.indices, lmdp.P.indptr))
    timed, steps, renewals = list(game.seconds), list(game.steps), game.renewals
    certified, played = game.certified, game.rounds
    factor, making, rest = game.memory(min(case.turn, 5))
    ours = fmean(timed)
    return {
        "case": name,
        "states": lmdp.n,
        "entries": lmdp.nnz,
        "learner": learner.name,
        "from_round": FIRST + case.warm + 1,
        "rounds": played,
        "product_seconds": product,
        "median_products": median(timed) / product,
        "mean_products": ours / product,
        "rounds_a_second": 1.0 / ours,
        "products_with_accounts": seconds["accounts"] / product,
        "rounds_a_second_with_accounts": 1.0 / seconds["accounts"],
        "steps_a_round": fmean(steps),
        "renewals": renewals,
        "certified": certified,
        "counts": certified == played,
        "factor_in_P": factor / csr,
        "making_in_P": making / csr,
        "rest_in_P": rest / csr,
        "peers": {who: _result(peer, ours, product) for who, peer in peers.items()},
    }


def _result(peer: Peer, ours: float, product: float) -> dict[str, Any]:
    theirs = median(peer.seconds)
    return {
        "rounds": len(peer.seconds),
        "products": theirs / product,
        "rounds_a_second": 1.0 / theirs,
        "times_lsmdp": theirs / ours,
        "certified": peer.met,
        "note": peer.note,
    }


# What we want: products a round on average, or rounds a second where the case is that small.
GOALS = {
    "dense 50, iid": "700,000/s",
    "dense 200, iid": "90,000/s",
    "grid 30x30, iid": "10",
    "grid 30x30, target": "20",
    "grid 100x100, iid": "25",
    "grid 100x100, target": "120",
    "grid 300x300, iid": "60",
    "grid 300x300, iid, eigs": "60",
    "grid 1000x1000, iid": "120",
    "roads 13k, iid": "25",
    "roads 13k, target": "40",
    "one-way roads 13k, iid": "30",
    "ring 1000, drift, iid": "8",
    "two clusters 2k, iid": "15",
    "two clusters 20k, iid": "15",
    "random 2k, iid": "7",
    "random 20k, iid": "7",
    "random 200k, iid": "7",
    "random 1M, iid": "7",
    "random 1M, iid, track": "2",
}

HEADINGS = (
    *(
        "case",
        "states",
        "median",
        "mean",
        "goal",
        "rounds/s",
        "with accounts",
        "steps",
        "renewals",
        "certified",
        "factor",
        "making",
        "rest",
    ),
    *PEERS,
)


def cells(record: dict[str, Any]) -> list[str]:
    """One line of the table: lsmdp, then each peer."""
    line = [
        record["case"],
        f"{record['states']:,}",
        f"{record['median_products']:.3g}",
        f"{record['mean_products']:.3g}",
        GOALS[record["case"]],
        f"{record['rounds_a_second']:,.3g}"
        if record["rounds_a_second"] < 1000
        else f"{record['rounds_a_second']:,.0f}",
        f"{record['products_with_accounts']:.3g}",
        f"{record['steps_a_round']:.2f}",
        f"{record['renewals']}",
        f"{record['certified']} of {record['rounds']}",
        f"{record['factor_in_P']:.2g}",
        f"{record['making_in_P']:.2g}",
        f"{record['rest_in_P']:.2g}",
    ]
    return line + [_peer_cell(record["peers"].get(who)) for who in PEERS]


def short(number: float) -> str:
    """Three digits, or all that are before the point."""
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def _peer_cell(peer: dict[str, Any] | None) -> str:
    if peer is None:
        return "-"
    more = "> " if peer["note"] == "given up" else ""
    return f"{more}{peer['products']:,.0f} ({more}{peer['times_lsmdp']:,.0f}x, {peer['certified']} of {peer['rounds']})"


def table(records: Iterable[dict[str, Any]]) -> Table:
    """One line a case, in products P @ x a round."""
    shown = Table(title="rounds at t ~ 1000, in products P @ x", title_justify="left")
    for column in HEADINGS:
        shown.add_column(column, justify="left" if column == "case" else "right")
    for record in records:
        shown.add_row(*cells(record))
    return shown


DENSE = ("numpy eig", "power")
CASES = {
    "dense 50, iid": Case(lambda: dense(50), "iid", DENSE, turn=600),
    "dense 200, iid": Case(lambda: dense(200), "iid", DENSE, turn=200),
    "grid 30x30, iid": Case(lambda: lsmdp.grid(30, 30), "iid"),
    "grid 30x30, target": Case(lambda: lsmdp.grid(30, 30), "target"),
    "grid 100x100, iid": Case(lambda: lsmdp.grid(100, 100), "iid"),
    "grid 100x100, target": Case(lambda: lsmdp.grid(100, 100), "target", turn=10),
    "grid 300x300, iid": Case(lambda: lsmdp.grid(300, 300), "iid", ("power",), turn=3),
    "grid 300x300, iid, eigs": Case(lambda: lsmdp.grid(300, 300), "iid", turn=10, full=True),
    "grid 1000x1000, iid": Case(lambda: lsmdp.grid(1000, 1000), "iid", (), turn=3, full=True),
    "roads 13k, iid": Case(lambda: roads(14_000), "iid"),
    "roads 13k, target": Case(lambda: roads(14_000), "target", turn=10),
    "one-way roads 13k, iid": Case(lambda: roads(14_000, one_way=True), "iid", turn=10),
    "ring 1000, drift, iid": Case(lambda: lsmdp.ring(1000, 0.9), "iid"),
    "two clusters 2k, iid": Case(lambda: lsmdp.clusters(2, 1000, 1e-4), "iid"),
    "two clusters 20k, iid": Case(lambda: lsmdp.clusters(2, 10_000, 1e-4), "iid", turn=10),
    "random 2k, iid": Case(lambda: lsmdp.random_graph(2_000), "iid"),
    "random 20k, iid": Case(lambda: lsmdp.random_graph(20_000), "iid"),
    "random 200k, iid": Case(lambda: lsmdp.random_graph(200_000), "iid", turn=5),
    "random 1M, iid": Case(lambda: lsmdp.random_graph(10**6), "iid", turn=5, full=True),
    "random 1M, iid, track": Case(lambda: lsmdp.random_graph(10**6), "iid", (), turn=5, track=True),
}
