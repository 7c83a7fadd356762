"""A long game on a small model, and where its time goes: costs, learning, books, and the rest.

    python -m benchmarks.small [ROUNDS [STATES]]

follow the leader on a full matrix with i.i.d. costs, by default 10^6 rounds and 50 states. The parts are timed by
themselves, on the same costs: drawing them, ``observe_all`` alone, the books of what it plays; the rest is what
``lsmdp.play`` takes beyond them (sums, marks, checks).
"""

from __future__ import annotations

import json
import sys
import time

import lsmdp
from benchmarks.families import dense
from lsmdp._core import full_accounts
from lsmdp._core.full_laws import Equilibrium
from lsmdp.game import start_law, stretches

WARM = 2000  # rounds, for the compiler


def split(rounds: int, states: int) -> dict[str, float]:
    """Seconds of processor time for each part of a game."""
    lmdp, learner = dense(states), lsmdp.FollowTheLeader()
    costs = lsmdp.read_costs("iid", lmdp, rounds=rounds)
    spent = dict.fromkeys(("costs", "learning", "books"), 0.0)
    square, state, t = lmdp.square, learner.init(lmdp), 1
    if square is None:
        raise lsmdp.SpecError(f"{states} states are too many to be played in compiled stretches.")
    law, rest = start_law(lmdp, 0), Equilibrium.first(square)
    began = time.process_time()
    for stretch in stretches(costs, states):
        drawn = time.process_time()
        found = learner.observe_all(lmdp, state, stretch)
        learnt = time.process_time()
        page = full_accounts.account(square, lmdp.temperature, t, found.values, stretch, law, rest, found.sums)
        state, law, rest, t = found.state, page.law, page.rest, t + len(stretch)
        booked = time.process_time()
        for part, seconds in zip(spent, (drawn - began, learnt - drawn, booked - learnt), strict=True):
            spent[part] += seconds
        began = booked
    began = time.process_time()
    lsmdp.play(lmdp, learner, costs)
    whole = time.process_time() - began
    return {"play": whole} | spent | {"rest": whole - sum(spent.values())}


def main() -> None:
    """Print the parts."""
    rounds, states = (int(word) for word in (*sys.argv[1:3], *("1000000", "50")[len(sys.argv) - 1 :]))
    split(WARM, states)
    found = split(rounds, states)
    print(json.dumps({"rounds": rounds, "states": states} | {part: round(took, 2) for part, took in found.items()}))


if __name__ == "__main__":
    main()
