"""A long game on a small model, and where its time goes: costs, learning, accounts, and the rest.

    python -m benchmarks.small [ROUNDS [STATES]]

follow the leader on a full matrix with i.i.d. costs, by default 10^6 rounds and 50 states. The parts are timed by
themselves, on the same costs: drawing them, ``observe_block`` alone, the accounts of what it plays; the rest is what
``lsmdp.play`` takes beyond them (sums, marks, checks).
"""

from __future__ import annotations

import json
import sys
import time

import lsmdp
from benchmarks.families import dense
from lsmdp.game import costs_in_blocks, start_law
from lsmdp.game.accounts import Accounts

WARM = 2000  # rounds, for the compiler


def split(rounds: int, states: int) -> dict[str, float]:
    """Seconds of processor time for each part of a game."""
    lmdp, learner = dense(states), lsmdp.FollowTheLeader()
    costs = lsmdp.read_costs("iid", lmdp, rounds=rounds)
    spent = dict.fromkeys(("costs", "learning", "accounts"), 0.0)
    state, t = learner.init(lmdp), 1
    if not lmdp.moves.at_once:
        raise lsmdp.SpecError(f"{states} states are too many for many rounds in one call.")
    accounts = Accounts.open(lmdp, start_law(lmdp, 0), 0, 0)
    began = time.process_time()
    for block in costs_in_blocks(costs, states):
        drawn = time.process_time()
        found = learner.observe_block(lmdp, state, block)
        learnt = time.process_time()
        accounts.settle(t, block, found)
        state, t = found.state, t + len(block)
        settled = time.process_time()
        for part, seconds in zip(spent, (drawn - began, learnt - drawn, settled - learnt), strict=True):
            spent[part] += seconds
        began = settled
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
