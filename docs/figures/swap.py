"""Draws docs/figures/swap.svg, the counterexample of docs/regret.md: ``python docs/figures/swap.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

import lsmdp
from lsmdp.regret import fixed_cost
from lsmdp.report.figures import COLOURS

SHOWN, T = 12, 5000
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def main() -> None:
    """Two panels: the costs with the policy that is in step with them, and the two regrets."""
    matplotlib.use("agg")
    matplotlib.rcParams |= {"svg.hashsalt": "lsmdp", "svg.fonttype": "none", "font.size": 10}
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.2, 3.2), width_ratios=(1.25, 1))
    lmdp = lsmdp.sticky(0.7)
    costs = lsmdp.read_costs("swap", lmdp, rounds=T)
    first = np.array([c_t for _, c_t in zip(range(SHOWN), costs, strict=False)])

    left.imshow(first.T, cmap=matplotlib.colors.ListedColormap(["#e9f3ee", "#8a969c"]), aspect="auto")
    t = np.arange(SHOWN)
    left.plot(t, t % 2, color=COLOURS[1], marker="o", linewidth=2)
    for (when, state), cost in np.ndenumerate(first):
        left.text(when, state + 0.32, f"{cost:.0f}", ha="center", va="center", color="black", alpha=0.6)
    left.set_xticks(t, [str(k) for k in t + 1])
    left.set_yticks([0, 1], ["state 0", "state 1"])
    left.set_xlabel("round")
    left.set_title("The policy that swaps never pays a state cost", fontsize=10.5)

    losses: list[float] = []
    lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs, watch=lambda rows: losses.append(rows[0].loss))
    rounds = np.arange(1, T + 1)
    loss = np.cumsum(losses)
    leader = lsmdp.solve(lmdp, np.mean(list(costs), axis=0)).policy
    for name, policy, colour in (("always swap", SWAP, COLOURS[1]), ("the leader", leader, COLOURS[0])):
        regret = loss - fixed_cost(lmdp, policy, costs, [1.0, 0.0], at=rounds).losses
        right.plot(rounds, regret, color=colour, linewidth=2)
        right.annotate(
            f"against {name}: {regret[-1]:.2f}".replace("-", "−"),
            (0.72 * T, regret[int(0.72 * T)]),
            (-8, 6),
            textcoords="offset points",
            ha="right",
            color=colour,
        )
    right.set_xlabel("round")
    right.set_title("Regret of follow the leader", fontsize=10.5)
    right.spines[["top", "right"]].set_visible(False)
    right.margins(x=0.02, y=0.12)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
