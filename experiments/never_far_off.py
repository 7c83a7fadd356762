"""Who is best where, and who is never far off: the table and the figure of the README, from a sweep.

    python experiments/never_far_off.py runs/rates [FIGURE.png]

For each run of the sweep (a model, a cost family, a seed) the best learner is the one that paid least. What others paid
above it is the price of not having known which learner to take. A cell of the figure is the median of that over the
seeds; the last line is the most in any single run. The figure needs matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

GAMES = {"sticky:0.1": "two states", "random:12:4:1": "random 12", "ring:12": "ring 12", "grid:4x4": "grid 4 x 4"}
ORDER = ("pool:auto", "pool", "ftl", "phased", "track", "discounted", "clock:50", "passive")
MANY = 10_000.0  # The darkest colour stands for this much and more.
DARK = 1_000.0  # On the colour of more than this much, white is easier to read than black.


def losses(folder: Path) -> tuple[list[tuple[str, str]], list[str], np.ndarray]:
    """The games, the learners, and what each paid: games x seeds x learners."""
    rows = pq.read_table(folder / "results.parquet", columns=["model", "costs", "seed", "learner", "t", "loss"])
    last: dict[tuple[str, str], dict[int, dict[str, tuple[int, float]]]] = {}
    for row in rows.to_pylist():
        paid = last.setdefault((row["model"], row["costs"]), {}).setdefault(row["seed"], {})
        if row["t"] >= paid.get(row["learner"], (0, 0.0))[0]:
            paid[row["learner"]] = row["t"], row["loss"]
    there = {learner for seeds in last.values() for paid in seeds.values() for learner in paid}
    learners = [name for name in ORDER if name in there] + sorted(there - set(ORDER))
    found = [[[paid[name][1] for name in learners] for paid in seeds.values()] for seeds in last.values()]
    return list(last), learners, np.array(found)


def short(value: float) -> str:
    """Three digits, or all of a large number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(games: list[tuple[str, str]], learners: list[str], medians: np.ndarray, most: np.ndarray, path: Path) -> None:
    """A cell for each game and learner, the darker the further from the best."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    cells = np.vstack([medians, most])
    level = np.log10(1.0 + np.minimum(cells, MANY))
    figure, axes = plt.subplots(figsize=(9.0, 9.2))
    axes.imshow(level, cmap="Oranges", aspect="auto", vmin=0.0, vmax=np.log10(MANY) * 1.15)
    for (row, column), value in np.ndenumerate(cells):
        best = row < len(medians) and value <= medians[row].min() + 0.005
        text = "best" if best else short(value)
        look = {"weight": "bold" if best else "normal", "color": "white" if value > DARK else "black"}
        axes.text(column, row, text, ha="center", va="center", fontsize=8.5, **look)
    names = [f"{GAMES.get(model, model)}, {costs.partition(':')[0]}" for model, costs in games]
    axes.set_yticks(range(len(cells)), [*names, "most, in any run"])
    axes.set_xticks(range(len(learners)), learners)
    axes.get_yticklabels()[-1].set_weight("bold")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    for line in range(6, len(medians) + 1, 6):
        axes.axhline(line - 0.5, color="white", linewidth=3)
    axes.set_title("What each learner paid above the best of the same run (median of the seeds)", fontsize=11, pad=26)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main() -> None:
    """Print the medians and the most, and draw them."""
    folder = Path(sys.argv[1])
    games, learners, paid = losses(folder)
    above = paid - paid.min(axis=2, keepdims=True)
    medians, most = np.median(above, axis=1), above.max(axis=(0, 1))
    print(f"{'above the best, median over seeds':36}", *(f"{name:>10}" for name in learners))
    for (model, costs), line in zip(games, medians, strict=True):
        print(f"{model + ', ' + costs:36}", *(f"{short(value):>10}" for value in line))
    print(f"{'most, in any run':36}", *(f"{short(value):>10}" for value in most))
    if len(sys.argv) > 2:
        draw(games, learners, medians, most, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
