"""How the regret of follow the leader grows: R_T / log T against the leader, five models by five cost families.

    python -m benchmarks.growth [ROUNDS]

A bounded ratio is logarithmic regret. 10^5 rounds take a quarter of a minute on two cores, 10^6 some minutes.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import log
from pathlib import Path

import lsmdp

MODELS = {
    "two states": lambda: lsmdp.LMDP([[0.3, 0.7], [0.7, 0.3]]),
    "random 12": lambda: lsmdp.random_graph(12, 5, seed=1),
    "ring 12": lambda: lsmdp.ring(12),
    "grid 4x4": lambda: lsmdp.grid(4, 4),
    "clusters 2x8": lambda: lsmdp.clusters(2, 8, 0.01, degree=4),
}
COSTS = ("iid", "binary", "switching", "doubling", "target")
RESULTS = Path(__file__).parent / "results"


def one(model: str, costs: str, rounds: int) -> dict[str, object]:
    """The regret of one game at 10^3, 10^4, ... rounds, each against the leader of that many rounds."""
    lmdp = MODELS[model]()
    sequence = lsmdp.read_costs(costs, lmdp, rounds=rounds, seed=0)
    along = lsmdp.play(lmdp, lsmdp.FollowTheLeader(), sequence).regret()["ftl"].along
    return {"model": model, "costs": costs, "regret": {t: value for t, _, value in along if log10_is_whole(t)}}


def log10_is_whole(t: int) -> bool:
    return t >= 1000 and str(t).strip("0") == "1"


def main() -> None:
    rounds = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000
    cases = list(product(MODELS, COSTS))
    with ProcessPoolExecutor(2) as pool:
        games = list(pool.map(one, *zip(*cases, strict=True), [rounds] * len(cases)))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "growth.json").write_text(json.dumps({"rounds": rounds, "games": games}, indent=1))
    print("R_T / log T at T = " + ", ".join(str(t) for t in games[0]["regret"]))
    print("| model | " + " | ".join(COSTS) + " |")
    print("|---" * (1 + len(COSTS)) + "|")
    for model in MODELS:
        rows = [game["regret"] for game in games if game["model"] == model]
        cells = [" / ".join(f"{value / log(t):.3g}" for t, value in regret.items()) for regret in rows]
        print(f"| {model} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
