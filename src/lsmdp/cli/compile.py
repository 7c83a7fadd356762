"""The command ``compile``: compile every loop now, so that no later command waits for it.

Loops are compiled for the kinds of arguments that they are called with, and kept on disk. So the way to compile them
all is to use the library: small models of every kind, P sparse and written out, reversible or not, with small and large
spans of v, are solved by every method, played by a learner of every kind and examined.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from lsmdp.cli.base import Json, app, complaints, print_json

_ROUNDS_TO_COMPILE = 40  # A game of so many rounds reaches every way in which leaders are found.

Warmup = tuple[str, Callable[[], Any]]


@app.command("compile")
def compile_(
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Compile everything now, for an image or a test machine, so that no later command waits for it.

    The compiled code is kept beside the sources, or in the folder that NUMBA_CACHE_DIR names.
    """
    with complaints():
        found = compile_everything(quiet=quiet)
        if as_json:
            print_json(found)
        else:
            typer.echo(
                f"Compiled {found['count']} functions in {found['seconds']:.0f} s; the rest was there. They are kept "
                f"in {found['folder']}."
            )
        if found["left"]:
            typer.echo(f"Not reached, and compiled when first called: {', '.join(found['left'])}.", err=True)
            raise typer.Exit(1)


def compile_everything(*, quiet: bool = True) -> dict[str, Any]:
    """Run every job, with a bar on stderr: which functions were compiled, the seconds, and where they are kept.

    The jobs must have called every loop that Python can call; those ``left`` are an oversight of ours.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    from lsmdp._core.compile import cache_folder, never_called, watched

    began, compiled = time.perf_counter(), list[str]()
    columns = (BarColumn(), TextColumn("{task.description}"))
    console = Console(stderr=True, quiet=quiet)
    disabled = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=disabled) as bar, watched(compiled.append):
        work = list(jobs())
        task = bar.add_task("", total=len(work))
        for what, job in work:
            bar.update(task, description=f"{what} ({len(compiled)} functions so far)")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                job()
            bar.advance(task)
    own = sorted(name for name in set(compiled) if name.startswith("_core."))
    return {
        "count": len(own),
        "functions": own,
        "left": never_called(),
        "seconds": round(time.perf_counter() - began, 3),
        "folder": cache_folder(),
    }


def jobs() -> Iterator[Warmup]:
    """What is compiled, in words, and a call that compiles it."""
    import numpy as np

    from lsmdp._core import exits
    from lsmdp.costs import read_costs
    from lsmdp.ends import Discounted, Goal, Horizon, Periodic
    from lsmdp.game import play as played
    from lsmdp.game.walkers import simulate
    from lsmdp.learners import (
        BeTheLeader,
        Clock,
        DiscountedLeader,
        FollowTheLeader,
        Passive,
        PhasedLeader,
        Pool,
        TrackTheLeader,
        WindowLeader,
    )
    from lsmdp.model import LMDP
    from lsmdp.regret import bracket
    from lsmdp.solvers import Dense, Direct, Krylov, Power
    from lsmdp.solvers import solve as solved
    from lsmdp.sources.checkup import examine
    from lsmdp.sources.makers import clusters, grid, random_graph, ring

    models = {
        "a grid": grid(18, 18),
        "a random graph": random_graph(300, 4, seed=1),
        "a larger grid": grid(30, 30),
        "a small grid": grid(4, 4),
        "a small graph": random_graph(9, 9, seed=2),
        "a full graph": random_graph(24, 24, seed=3),
        "a ring": ring(12),
        "two rings that hardly meet": clusters(2, 12, 1e-6, degree=2),
    }
    methods = (Power(), Direct(), Dense(), Krylov())
    learners: list[Any] = [
        FollowTheLeader(),
        TrackTheLeader(),
        PhasedLeader(),
        DiscountedLeader(),
        WindowLeader(5),
        Clock(3),
        Pool(),
        BeTheLeader(),
        Passive(),
    ]

    def solve(lmdp: LMDP, scale: float) -> None:
        c = scale * np.random.default_rng(0).random(lmdp.n)
        found = solved(lmdp, c, throw=False)
        for method in methods if lmdp.n < 50 else ():
            solved(lmdp, c, solver=method, throw=False)
        found.policy.stationary()
        simulate(found.policy, 3)
        solved(lmdp, 1.01 * c, start=found, throw=False)

    def play(lmdp: LMDP, sample: int) -> None:
        costs = read_costs("iid", lmdp, rounds=_ROUNDS_TO_COMPILE, seed=1)
        played(lmdp, learners, costs, sample=sample).regret()

    def search(lmdp: LMDP) -> None:
        costs = np.random.default_rng(1).random((20, lmdp.n))
        bracket(lmdp, costs, np.full(lmdp.n, 1 / lmdp.n), work=1e7)

    def other_ends(lmdp: LMDP) -> None:
        costs = np.random.default_rng(2).random((3, lmdp.n))
        for end in (Goal(0), Discounted(0.9)):
            solved(lmdp, costs[0], end)
        for rounds in (Horizon(), Periodic()):
            solved(lmdp, costs, rounds)
        solved(lmdp, 300.0 * costs[0], Goal(0))

    for name, lmdp in models.items():
        yield f"solve {name}", partial(solve, lmdp, 1.0)
        yield f"solve {name}, steep", partial(solve, lmdp, 50.0)
        yield f"play on {name}", partial(play, lmdp, 0)
    for name in ("a small grid", "a small graph"):
        yield f"play on {name} with walkers", partial(play, models[name], 2)
        yield f"play on {name}, steep", partial(play, LMDP(models[name].P, temperature=0.005), 0)
        yield f"examine {name}", partial(examine, models[name])
        yield f"search on {name}", partial(search, models[name])
        yield f"other ends on {name}", partial(other_ends, models[name])
    yield "play on a random graph with walkers", partial(play, models["a random graph"], 2)
    # These are for larger models only: the order of an elimination, and who leads to a goal.
    yield "order a grid of more states", lambda: grid(33, 33).elimination_plan
    yield "search from a goal", partial(exits.leading, models["a ring"].P, np.eye(1, 12, dtype=np.int8)[0])
