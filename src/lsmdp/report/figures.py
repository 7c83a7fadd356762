"""Figures for papers, with matplotlib (the ``report`` extra).

Each function takes a run folder, a solution or a run, and perhaps an ``ax`` to draw on, and returns the ``ax``:

    fig, axes = plt.subplots(1, 2)
    figures.regret(Folder(Path("runs/patrol")), axes[0])
    figures.paid(Folder(Path("runs/patrol")), axes[1])

Colours are those of Okabe and Ito, which the colour-blind can tell apart.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.errors import SpecError
from lsmdp.files import (
    atomic,
    clear,
    explained,
    own_folder,
)
from lsmdp.game import Run
from lsmdp.learners.names import titled
from lsmdp.report.drawing import can_draw, draw_map
from lsmdp.report.pages.words import counted
from lsmdp.report.story import RoundsByLearner
from lsmdp.runs import Folder, load
from lsmdp.solution import Solution
from lsmdp.solvers import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Learners have these colours in turn, which those who see few colours can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#7a5bb5", "#b8860b", "#c14a86", "#4b5a63", "#3aa0c9")
_FIGURE_FORMATS = ("pdf", "svg", "png")  # Figures can be written in these formats.
_INCHES_OF_A_FIGURE = (5.2, 3.4)  # A figure has this width and height, in inches: a column of a page.


def regret(folder: Folder, ax: Axes | None = None, *, logarithmic: bool = False) -> Axes:
    """The excess over the rounds, loss - t lambda_{t+1}; where that is not known, the regret against the leader."""
    ax, summary = _axes(ax), folder.summary()
    rounds = RoundsByLearner(folder, summary)
    average, t = rounds.leaders(summary, None), np.arange(1, summary["rounds"] + 1)
    for (name, columns), colour in zip(rounds.by_learner.items(), _colours(), strict=False):
        if average is not None:
            ax.plot(t, np.cumsum(columns["loss"]) - t * average, color=colour, label=rounds.titles[name])
        else:
            along = np.array(summary["learners"][name]["regret_against_leader_along"]).reshape(-1, 3)
            ax.plot(along[:, 0], along[:, 2], color=colour, label=rounds.titles[name], marker="o", markersize=3)
    ax.set_xlabel("round $t$")
    ax.set_ylabel(r"loss $-\ t\,\lambda_{t+1}$" if average is not None else "regret against the leader")
    if logarithmic:
        ax.set_xscale("log")
    return _finished(ax)


def paid(folder: Folder, ax: Axes | None = None) -> Axes:
    """What each learner paid, as state cost and control cost."""
    ax, learners = _axes(ax), folder.summary()["learners"]
    names = list(learners)[::-1]
    titles = [titled(name, bool(learners[name].get("clairvoyant"))) for name in names]
    state = np.array([learners[name]["state_cost"] for name in names])
    control = np.array([learners[name]["control_cost"] for name in names])
    ax.barh(titles, state, color=COLOURS[0], label="state cost")
    ax.barh(titles, control, left=state, color=COLOURS[1], label="control cost")
    ax.set_xlabel("loss")
    return _finished(ax)


def effort(folder: Folder, ax: Axes | None = None) -> Axes:
    """Steps a round."""
    ax, summary = _axes(ax), folder.summary()
    t, rounds = np.arange(1, summary["rounds"] + 1), RoundsByLearner(folder, summary)
    for (name, columns), colour in zip(rounds.by_learner.items(), _colours(), strict=False):
        if columns["steps"].any():
            ax.plot(t, columns["steps"], color=colour, label=rounds.titles[name], linewidth=0.8)
    ax.set_xlabel("round $t$")
    ax.set_ylabel("steps")
    ax.set_xscale("log")
    return _finished(ax)


def place(folder: Folder, ax: Axes | None = None, *, learner: str | None = None, trust: bool = False) -> Axes:
    """Where a learner is after the last round, on a grid or a network."""
    run = load(folder.path, trust=trust)
    names = [player.learner.name for player in run.game.players]
    chosen = names[0] if learner is None else learner
    if chosen not in names:
        raise SpecError(f'"{chosen}" did not play in this run. Learners: {", ".join(names)}.')
    law = run.game.players[names.index(chosen)].law
    ax = draw_map(run.lmdp, np.sqrt(law), _axes(ax), "square root of the chance")
    ax.set_title(f"{chosen} after {counted(run.rounds, 'round')}")
    return ax


def answer(solution: Solution, show: str = "value", ax: Axes | None = None) -> Axes:
    """One solve: the value, the cost or the share of time of each state on the map, and what steering does there."""
    fields: dict[str, Callable[[], Floats]] = {
        "value": lambda: solution.v,
        "cost": lambda: solution.c,
        "time": lambda: np.sqrt(solution.stationary),
    }
    if show not in fields:
        raise SpecError(f'there is no picture of "{show}". Pictures: {", ".join(fields)}.')
    title = "square root of the share of time" if show == "time" else show
    ax = draw_map(solution.lmdp, fields[show](), _axes(ax), title, solution.policy)
    ax.set_title(f"average cost {solution.average_cost:.6g}")
    return ax


def sums(run: Run, ax: Axes | None = None) -> Axes:
    """What each learner paid a round, on average up to then, and the average cost of the best policy for the mean."""
    ax, table = _axes(ax), run.to_frame().to_pydict()
    for name, colour in zip(run.learners, _colours(), strict=False):
        mine = [k for k, learner in enumerate(table["learner"]) if learner == name]
        t, loss = np.array([table["round"][k] for k in mine]), np.array([table["loss"][k] for k in mine])
        ax.plot(t, loss / t, color=colour, label=name, marker="o", markersize=3)
    leader = solve(run.lmdp, run.game.seen.mean, throw=False).average_cost
    ax.axhline(leader, color="0.5", linestyle="--", linewidth=1, label="best policy for the mean")
    ax.set_xscale("log")
    ax.set_xlabel("round $t$")
    ax.set_ylabel("mean loss up to $t$")
    return _finished(ax)


# These are the figures of a run, by the names of their files.
_ALL_FIGURES: dict[str, Callable[..., Any]] = {"regret": regret, "paid": paid, "effort": effort, "place": place}


def write_figures(path: Path, form: str = "pdf", out: Path | None = None, *, trust: bool = False) -> list[Path]:
    """All figures of a run as files, into the folder ``figures`` of the run unless another is named.

    ``trust`` as for ``runs.load``.
    """
    if form not in _FIGURE_FORMATS:
        raise SpecError(f'"{form}" is not a format of figures. Formats: {", ".join(_FIGURE_FORMATS)}.')
    folder = Folder(path)
    folder.require_finished()
    target = path / "figures" if out is None else out
    with explained(target):
        place = next(one for one in (target, *target.parents) if one.exists())
        if not place.is_dir():
            raise SpecError(f'"{place}" is a file. Name a folder with --out.')
    pyplot = _pyplot()
    has_map = can_draw(load(path, trust=trust).lmdp)
    with explained(target):
        if out is None:
            own_folder(target)
        else:
            target.mkdir(parents=True, exist_ok=True)
        clear(target)
    written = []
    for name, draw in _ALL_FIGURES.items():
        if name == "place" and not has_map:
            continue
        ax = draw(folder, trust=trust) if name == "place" else draw(folder)
        file = target / f"{name}.{form}"
        with explained(file), atomic(file) as stream:
            ax.figure.savefig(stream, format=form, bbox_inches="tight", dpi=200)
        pyplot.close(ax.figure)
        written.append(file)
    return written


def _axes(ax: Axes | None) -> Axes:
    return _pyplot().subplots(figsize=_INCHES_OF_A_FIGURE, layout="constrained")[1] if ax is None else ax


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise SpecError('figures need matplotlib. Install it with: pip install "lsmdp[report]".') from None
    matplotlib.use("agg", force=False)
    from matplotlib import pyplot

    return pyplot


def _colours() -> list[str]:
    return list(COLOURS) * 4


def _finished(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax
