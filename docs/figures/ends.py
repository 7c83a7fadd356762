"""Draws the pictures of docs/ends.md, one for each end: ``python docs/figures/ends.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import lsmdp
from lsmdp.output.pictures import palette, raster
from lsmdp.report.figures import COLOURS

HERE = Path(__file__).parent
EXITS = {(33, 27): 0.0, (12, 1): 0.0, (12, 53): 0.0}
CROWD = 25.0  # steps that the queue at the main door takes
DAY, CIRCLE = 24, 48


def colours() -> Any:
    """The palette of all pictures."""
    return matplotlib.colors.ListedColormap([tuple(part / 255 for part in colour) for colour in palette()])


def draw(axes: Any, lmdp: lsmdp.LMDP, values: np.ndarray, title: str, arrows: lsmdp.Policy | None = None) -> Any:
    """A function on the floor, and where a policy leads from every other cell."""
    corner = lmdp.positions.min(axis=0)
    image = axes.imshow(raster(lmdp, values), cmap=colours(), interpolation="nearest")
    axes.set_facecolor("#585858")
    if arrows is not None:
        drift = np.stack([arrows.expect(lmdp.positions[:, side]) - lmdp.positions[:, side] for side in (0, 1)], axis=1)
        drift /= np.maximum(np.hypot(*drift.T), 0.05)[:, None]
        some = (lmdp.positions.sum(axis=1) % 3 == 0) & (lmdp.positions[:, 0] % 2 == 0)
        at = (lmdp.positions - corner)[some]
        axes.quiver(at[:, 1], at[:, 0], drift[some, 1], -drift[some, 0], color="white", scale=38, width=0.0028)
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    return image


def average(pyplot: Any) -> Any:
    """Where one is in the long run."""
    lmdp = lsmdp.read_model("museum", temperature=2.0)
    c = lsmdp.read_cost("hill", lmdp)
    s = lsmdp.solve(lmdp, c)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.2, 3.1))
    figure.colorbar(draw(left, lmdp, c, "what a cell costs"), ax=left, shrink=0.85)
    log = np.log10(np.maximum(s.stationary, 1e-5))
    figure.colorbar(
        draw(right, lmdp, log, f"how often one is there (log10); {s.average_cost:.4f} a step"), ax=right, shrink=0.85
    )
    return figure


def goal(pyplot: Any) -> Any:
    """Where to walk when the alarm rings, and where if there is a queue at the main door."""
    lmdp = lsmdp.read_model("museum", temperature=0.2)
    figure, axes = pyplot.subplots(1, 2, figsize=(9.2, 3.1))
    for panel, wait in zip(axes, (0.0, CROWD), strict=True):
        s = lsmdp.solve(lmdp, np.ones(lmdp.n), lsmdp.Goal(EXITS | {(33, 27): wait}))
        title = "three exits" if not wait else f"a queue of {wait:.0f} steps at the main door"
        figure.colorbar(draw(panel, lmdp, s.v, title, s.policy), ax=panel, shrink=0.85)
        for row, column in EXITS:
            panel.plot(column - 1, row - 1, marker="s", color=COLOURS[1], markersize=6, markeredgecolor="white")
    return figure


def discounted(pyplot: Any) -> Any:
    """What is far away matters only to those who wait for it."""
    lmdp = lsmdp.read_model("museum", temperature=0.05)
    c = np.where(np.abs(lmdp.positions - (28, 8)).max(axis=1) <= 3, 0.0, 1.0)
    figure, axes = pyplot.subplots(1, 2, figsize=(9.2, 3.1))
    for panel, a in zip(axes, (0.9, 0.99), strict=True):
        s = lsmdp.solve(lmdp, c, lsmdp.Discounted(a))
        image = draw(panel, lmdp, (1 - a) * s.v, f"(1 − {a}) v: a quiet corner in the south-west", s.policy)
        figure.colorbar(image, ax=panel, shrink=0.85)
    return figure


def horizon(pyplot: Any) -> Any:
    """A plan of 60 rounds on a circle: a pleasant place to be, and another where one has to be in the end."""
    lmdp = lsmdp.ring(CIRCLE, temperature=0.05)
    place = np.arange(CIRCLE)
    c = 1.0 - np.exp(-(((place - 12) / 5.0) ** 2))
    terminal = 30.0 * (1.0 - np.exp(-(((place - 36) / 4.0) ** 2)))
    plan = lsmdp.solve(lmdp, np.tile(c, (60, 1)), lsmdp.Horizon(terminal=terminal))
    laws = [np.eye(CIRCLE)[0]]
    for t in range(1, 61):
        laws.append(plan.policy(t).push(laws[-1]))
    figure, axes = pyplot.subplots(figsize=(9.2, 2.8))
    image = axes.imshow(np.log10(np.maximum(np.array(laws).T, 1e-4)), cmap=colours(), aspect="auto", origin="lower")
    figure.colorbar(image, label="chance (log10)")
    axes.axhline(12, color="white", linewidth=0.8, linestyle=":")
    axes.axhline(36, color="white", linewidth=0.8, linestyle=":")
    axes.set_xlabel("round")
    axes.set_ylabel("place")
    axes.set_title("From place 0 to the pleasant place 12, and in time to place 36", fontsize=10)
    return figure


def periodic(pyplot: Any) -> Any:
    """A sunny place that goes round in a day, and somebody who follows it."""
    lmdp = lsmdp.ring(DAY, temperature=0.2)
    place, hours = np.arange(DAY), np.arange(DAY)
    away = (place[None, :] - hours[:, None] + DAY / 2) % DAY - DAY / 2
    slots = 1.0 - np.exp(-((away / 3.0) ** 2))
    day = lsmdp.solve(lmdp, slots, lsmdp.Periodic())
    p = np.full(DAY, 1.0 / DAY)
    for t in range(1, 20 * DAY + 1):
        p = day.policy(t).push(p)
    laws = []
    for t in range(1, 2 * DAY + 1):
        laws.append(p)
        p = day.policy(t).push(p)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.2, 2.8), sharey=True)
    figure.colorbar(left.imshow(np.tile(slots, (2, 1)).T, cmap=colours(), aspect="auto", origin="lower"), ax=left)
    left.set_title("what a place costs, for two days", fontsize=10)
    figure.colorbar(right.imshow(np.array(laws).T, cmap=colours(), aspect="auto", origin="lower"), ax=right)
    right.set_title(f"where one is: {day.average_cost:.4f} an hour", fontsize=10)
    for panel in (left, right):
        panel.set_xlabel("hour")
    left.set_ylabel("place")
    return figure


def main() -> None:
    """One file for each end."""
    matplotlib.use("agg")
    matplotlib.rcParams |= {"font.size": 9}
    from matplotlib import pyplot

    for end in (average, goal, discounted, horizon, periodic):
        figure = end(pyplot)
        figure.tight_layout()
        figure.savefig(HERE / f"ends-{end.__name__}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
