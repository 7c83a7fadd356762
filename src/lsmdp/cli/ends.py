"""``lsmdp solve`` for other ends than the average: the options of each end, and the tables that are shown for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmdp.cli.base import whole_number
from lsmdp.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lsmdp.arrays import Floats
    from lsmdp.ends import End
    from lsmdp.model import LMDP
    from lsmdp.sources.scenarios import Scenario
    from lsmdp.values import Cycle, Schedule, Values

_STATES_IN_A_TABLE = 20  # Up to this many states, a table shows them one by one and still fits a screen.
END_WORDS = "average, discounted:0.99, horizon or periodic"

Goals = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="STATE[=COST]",
        help="Pay until this state is reached, then COST (0). A label, a number or ROW,COLUMN; repeat it for more.",
        show_default=False,
    ),
]
EndName = Annotated[
    str | None, typer.Option("--end", metavar="END", help=f"What is to be small: {END_WORDS}.", show_default=False)
]
RoundCosts = Annotated[
    str | None,
    typer.Option(
        "--costs", metavar="COSTS", help="A cost for each round: with --end horizon or periodic.", show_default=False
    ),
]
RoundCount = Annotated[
    int | None,
    typer.Option("--rounds", metavar="T", parser=whole_number, help="How many rounds of COSTS; a file may go without."),
]
RoundScale = Annotated[
    tuple[float, float] | None,
    typer.Option("--scale", metavar="LOW HIGH", help="The values in COSTS that cost 0 and 1.", show_default=False),
]
Terminal = Annotated[
    str | None,
    typer.Option(
        "--terminal", metavar="COST", help="What the last state costs, with --end horizon.", show_default=False
    ),
]

Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="STATE",
        help="Say what it costs from this state, too. A label, a number or ROW,COLUMN.",
        show_default=False,
    ),
]
ScenarioFile = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="FILE.scen[:K]",
        help="Take goal and start from the K-th problem (1) of a MovingAI file.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class EndOptions:
    """The options about the end, as they were given."""

    goals: list[str] | None
    end: str | None
    costs: str | None
    rounds: int | None
    scale: tuple[float, float] | None
    terminal: str | None
    start: str | None = None
    scenario: str | None = None

    @property
    def has_goal(self) -> bool:
        """Whether there is a place to reach."""
        return bool(self.goals) or self.scenario is not None

    @property
    def is_average(self) -> bool:
        """Whether it is the long-run average of one cost, as ever."""
        return not self.has_goal and self.end in (None, "average")

    @property
    def in_rounds(self) -> bool:
        """Whether there is a cost for each round."""
        return self.end in ("horizon", "periodic")

    def check(self, cost: str | None, edge_costs: str | None) -> None:
        """Raise where the options do not fit together, before anything is read."""
        if self.scenario is not None and (self.goals or self.start is not None):
            raise SpecError("--scenario has a goal and a start of its own. Leave out --goal and --start, or it.")
        if self.has_goal and self.end not in (None, "goal"):
            raise SpecError(f"--goal and --end {self.end} are two ends. Keep one of them.")
        if self.end == "goal" and not self.has_goal:
            raise SpecError("--end goal needs to know where. Name it with --goal STATE.")
        if self.start is not None and (self.is_average or self.end == "periodic"):
            raise SpecError(
                "--start asks what it costs from a state, but in the long run the average is the same from all. Leave "
                "it out, or choose another end: --goal STATE, --end discounted:0.99 or --end horizon."
            )
        if self.end is not None and not self.has_goal and self.end.partition(":")[0] not in ENDS_BY_NAME:
            raise SpecError(f'there is no end "{self.end}". Choose {END_WORDS}, or give --goal STATE.')
        if self.in_rounds and self.costs is None:
            raise SpecError(f"--end {self.end} takes a cost for each round. Give them with --costs FILE.")
        if self.in_rounds and cost is not None:
            raise SpecError(f"--end {self.end} takes its costs from --costs, a row a round. Leave out --cost.")
        if not self.in_rounds and self.costs is not None:
            raise SpecError("--costs has a cost for each round. Say --end horizon or --end periodic, or give --cost.")
        if self.terminal is not None and self.end != "horizon":
            raise SpecError("--terminal is for --end horizon. For a goal, write --goal STATE=COST.")
        if not self.in_rounds and cost is None and edge_costs is None:
            raise SpecError(
                "nothing has a cost. Say what states cost with --cost, what moves cost with --edge-costs, or both."
            )

    def read_end(self, lmdp: LMDP) -> End:
        """The end that was asked for."""
        from lsmdp.ends import Average, Discounted, Goal, Horizon, Periodic
        from lsmdp.sources import read_cost

        if self.scenario is not None:
            return Goal({_problem(self.scenario, lmdp).goal: 0.0})
        if self.goals:
            return Goal(dict(_goal(given, lmdp) for given in self.goals))
        name, _, number = (self.end or "average").partition(":")
        if name == "discounted":
            return Discounted(_number(number, f"--end {self.end}", "discounted:0.99"))
        if name == "horizon":
            return Horizon(None if self.terminal is None else read_cost(self.terminal, lmdp))
        return Periodic() if name == "periodic" else Average()

    def read_costs(self, lmdp: LMDP, missing: float | None) -> Any:
        """The cost of each round."""
        from lsmdp.costs import read_costs

        return read_costs(str(self.costs), lmdp, rounds=self.rounds, scale=self.scale, missing=missing)

    def from_start(self, found: Any) -> dict[str, Any]:
        """What it costs from the start that was asked for, ready for JSON; nothing where none was."""
        from lsmdp.values import Values

        lmdp, way = found.lmdp, {}
        if self.scenario is not None:
            problem = _problem(self.scenario, lmdp)
            start, way = problem.start, {"shortest_way": problem.length}
        elif self.start is not None:
            start = _state(self.start, lmdp)
        else:
            return {}
        x = lmdp.state(start)
        figures: dict[str, Any] = {"start": self.start or f"{start[0]},{start[1]}"}
        figures["start_bounds"] = [_finite(side) for side in found.bounds_from(x)]
        if isinstance(found, Values) and found.path_bounds is not None:
            figures["start_by_paths"] = [_finite(side[x]) for side in found.path_bounds]
        return figures | way

    def charged(self, costs: Any, extra: Floats | None) -> Any:
        """The cost, or that of each round, with what costs of moves add to it."""
        if extra is None:
            return costs
        return RaisedCosts(costs, extra) if self.in_rounds else costs + extra


# These are the words that may stand before the colon of --end.
ENDS_BY_NAME = ("average", "discounted", "horizon", "periodic")


@dataclass(frozen=True)
class RaisedCosts:
    """Costs of rounds with the same vector added to each."""

    costs: Any
    extra: Any

    @property
    def T(self) -> int | None:
        """The number of rounds, where it is known."""
        known: int | None = self.costs.T
        return known

    @property
    def replayable(self) -> bool:
        """Whether they can be gone through more than once."""
        return bool(self.costs.replayable)

    def from_round(self, t: int) -> Any:
        """c_t, c_{t+1}, ..."""
        return (c_t + self.extra for c_t in self.costs.from_round(t))


def _goal(given: str, lmdp: LMDP) -> tuple[Any, float]:
    """STATE or STATE=COST; a label may have an = of its own."""
    state, sign, cost = given.rpartition("=")
    if not sign or given in lmdp.names.by_label:
        return _state(given, lmdp), 0.0
    return _state(state, lmdp), _number(cost, f"--goal {given}", f"--goal {state}=2.5")


def _problem(given: str, lmdp: LMDP) -> Scenario:
    """The K-th problem in a file, FILE.scen:K, held against the size of the map."""
    from lsmdp.sources import read_scenarios

    file, colon, number = given.rpartition(":")
    if not (colon and number.isascii() and number.isdigit()):
        file, number = given, "1"
    problems = read_scenarios(file)
    if not 1 <= int(number) <= len(problems):
        raise SpecError(f'--scenario {given}: there are {len(problems)} problems in "{file}", counted from 1.')
    problem = problems[int(number) - 1]
    if lmdp.grid_shape is None or not lmdp.names.is_map(problem.shape):
        raise SpecError(
            f"--scenario {given} is about a map of {problem.shape[0]} rows and {problem.shape[1]} columns "
            f'("{problem.map}"), and the kernel is no such map. Give the map itself: lsmdp solve arena.map:8 ...'
        )
    return problem


def _finite(number: float) -> float | None:
    return float(number) if abs(number) < float("inf") else None


def _state(word: str, lmdp: LMDP) -> Any:
    cell = re.fullmatch(r"\(?\s*(\d+)\s*,\s*(\d+)\s*\)?", word)
    return (int(cell[1]), int(cell[2])) if cell and word not in lmdp.names.by_label else word


def _number(word: str, what: str, example: str) -> float:
    try:
        return float(word)
    except ValueError:
        fault = f'"{word}" is no number' if word else "a number is missing"
        raise SpecError(f"{what}: {fault}. Write it as in {example}.") from None


def show(console: Console, found: Values | Schedule | Cycle, extra: Mapping[str, Any]) -> None:
    """The certified answer as a table with what it costs from a start, and as a picture where states are a grid."""
    from lsmdp.output.pictures import pictures

    console.print(_table(found, extra))
    if found.lmdp.n <= _STATES_IN_A_TABLE:
        console.print(_by_state(found))
    if found.lmdp.grid_shape is not None:
        import numpy as np

        v = found.v
        console.print(pictures(console, found.lmdp, {"value v": np.where(np.isfinite(v), v, np.nan)}))


def _table(found: Values | Schedule | Cycle, extra: Mapping[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    lmdp, figures = found.lmdp, found.to_dict() | dict(extra)
    title = f"{lmdp.name or 'model'}: {lmdp.n:,} state{'s' * (lmdp.n != 1)}, {lmdp.nnz:,} move{'s' * (lmdp.nnz != 1)}"
    table = Table(box=box.ROUNDED, show_header=False, title=title, title_justify="left", title_style="bold")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("end", str(figures["end"]))
    if "average_cost" in figures:
        table.add_row("average cost", f"{figures['average_cost']:.12g} per round, {figures['slots']} slots a day")
        table.add_row("bounds", _between(figures["bounds"]))
    else:
        if "rounds" in figures:
            table.add_row("rounds", f"{figures['rounds']:,}")
        if "start" in figures:
            table.add_row("from here", f"{figures['start']}: {_between(figures['start_bounds'])}")
        if "start_by_paths" in figures:
            table.add_row("  by paths", _between(figures["start_by_paths"], 6))
        if "shortest_way" in figures:
            table.add_row("  shortest way", f"{figures['shortest_way']:.8g} long, says the file")
        table.add_row("mean start", _between(figures["mean_bounds"]))
        if "mean_by_paths" in figures:
            table.add_row("  by paths", _between(figures["mean_by_paths"], 6))
        table.add_row("dearest start", f"{figures['dearest']}: {_between(figures['dearest_bounds'])}")
        if "dearest_by_paths" in figures:
            table.add_row("  by paths", _between(figures["dearest_by_paths"], 6))
        if figures.get("lost"):
            table.add_row("lost", f"{figures['lost']:,} states cannot reach the goal: their value is infinite")
    table.add_row("gap", f"{found.gap:.2g}")
    if "solver" in figures:
        effort = f"{figures['iterations']:,} iteration{'s' * (figures['iterations'] != 1)}"
        table.add_row("solver", f"{figures['solver']}: {effort}, {figures['seconds']:.3g} s")
    table.add_row("status", str(figures["status"]))
    return table


def _between(bounds: list[float | None], digits: int = 12) -> str:
    return " to ".join("nothing proved" if side is None else f"{side:.{digits}g}" for side in bounds)


def _by_state(found: Values | Schedule | Cycle) -> Table:
    """All states, where there are few."""
    from rich.table import Table

    columns = found.columns()
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name == "state" else "right")
    for row in zip(*columns.values(), strict=True):
        table.add_row(str(row[0]), *(f"{number:.8g}" for number in row[1:]))
    return table
