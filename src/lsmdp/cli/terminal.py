"""What the command line shows: tables of solutions and of runs, certificates, and the progress of what takes long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from lsmdp.learners.names import YARDSTICK, titled

if TYPE_CHECKING:
    from lsmdp.game import Game
    from lsmdp.runs import Spec
    from lsmdp.solvers import Solution
    from lsmdp.theory import Certificate, Certificates

SECONDS_BETWEEN_LOOKS = 0.2  # On a terminal the progress is drawn this often, which the eye takes for steady.
SECONDS_BETWEEN_LINES = 5.0  # Elsewhere the progress is told this often, since each time is a line of text.


def solution_table(solution: Solution) -> Table:
    """The certified answer in six lines."""
    lmdp, (low, high) = solution.lmdp, solution.bounds
    title = f"{lmdp.name or 'model'}: {lmdp.n:,} state{'s' * (lmdp.n != 1)}, {lmdp.nnz:,} move{'s' * (lmdp.nnz != 1)}"
    table = Table(box=box.ROUNDED, show_header=False, title=title, title_justify="left", title_style="bold")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    effort = f"{solution.iterations:,} iteration{'s' * (solution.iterations != 1)}, {solution.seconds:.3g} s"
    rows: dict[str, str | Text] = {
        "average cost": Text(f"{solution.average_cost:.12g}", "bold"),
        "bounds": f"{low:.15g} to {high:.15g}",
        "gap": f"{solution.gap:.2g}",
        "value span": f"{solution.value_span:.6g}",
        "solver": f"{solution.solver}: {effort}",
        "status": solution.status,
    }
    for name, content in rows.items():
        table.add_row(name, content)
    return table


# This note stands below a game with the feedback "visited".
_ONE_PATH = (
    "Only visited costs were seen, on one sampled path; losses are exact for the policies of that path (--seed)."
)


def run_report(spec: Spec, summary: Mapping[str, Any]) -> Group:
    """A run: what each learner paid, and its regrets, each under the name of its comparator."""
    played = _rounds(summary["rounds"]) if summary["finished"] else _some(summary["rounds"], spec.rounds)
    sees = {name: bool(one.get("clairvoyant")) for name, one in summary["learners"].items()}
    titles = {name: titled(name, clairvoyant) for name, clairvoyant in sees.items()}
    names = " against ".join(Path(source).name for source in (spec.kernel, spec.costs))
    parts: list[Any] = [
        Text(f"{names}: {played} from state {summary['start']}", "bold"),
        *_paid_and_regret(summary["learners"], summary["rounds"], titles),
    ]
    if "your_units" in summary:
        units = summary["your_units"]
        moves = "" if spec.edge_costs is None else ", costs of moves included"
        parts.append(
            Text(f"in your units, where {units['low']:g} costs 0 and {units['high']:g} costs 1{moves}", "bold")
        )
        parts += _paid_and_regret(units["learners"], summary["rounds"], titles)
    learners = summary["learners"].items()
    bounds = {titles[name]: one.get("regret_at_most_by_mixing_sum", {}) for name, one in learners}
    if all(bounds.values()):
        parts.append(Text("regret against all policies with mixing sum up to m, at most", "bold"))
        parts.append(_figures({name: {f"m = {m}": bound for m, bound in row.items()} for name, row in bounds.items()}))
    notes = [YARDSTICK] * any(sees.values()) + [_ONE_PATH] * (spec.feedback == "visited")
    notes += [_beside_experts(titles[name], one) for name, one in learners if one.get("experts")]
    return Group(*parts, *map(Text, [*notes, *summary.get("notes", ())]))


def _beside_experts(title: str, one: Mapping[str, Any]) -> str:
    """What a pool paid, with its bound and its best expert."""
    told = one["experts"]
    best = told["best"]
    count = len(told["experts"])
    paid, most, alone = map(figure, (one["loss"], told["loss_at_most"], told["experts"][best]["loss"]))
    return (
        f"{title} paid {paid}, and at most {most} by its theorem; the best of its {count} experts, {best}, would have "
        f"paid {alone} alone."
    )


def _some(played: int, rounds: int | None) -> str:
    return f"{played:,} of {'? rounds' if rounds is None else _rounds(rounds)}"


def _rounds(count: int) -> str:
    return f"{count:,} round" + "s" * (count != 1)


def _paid_and_regret(learners: Mapping[str, Any], rounds: int, titles: Mapping[str, str]) -> list[Table | Text]:
    paid = {
        titles[name]: {
            "loss": one["loss"],
            "a round": one["loss"] / max(rounds, 1),
            "state cost": one["state_cost"],
            "control cost": one["control_cost"],
        }
        for name, one in learners.items()
    }
    regrets = {
        titles[name]: {
            "regret vs leader": one["regret"]["leader"],
            "idealised regret": one["idealised_regret"],
            "dynamic": one["regret"].get("dynamic"),
            "vs best stationary: at least": one["regret"]["best_stationary_low"],
            "vs best stationary: at most": one["regret"]["best_stationary_high"],
        }
        for name, one in learners.items()
    }
    return [_figures(paid), _figures(regrets)]


def _figures(rows: Mapping[str, Mapping[str, float | None]]) -> Table | Text:
    """A table of numbers by learner, without the columns that nothing is known of."""
    names = [name for name in next(iter(rows.values())) if any(row[name] is not None for row in rows.values())]
    if not names:
        return Text()
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("learner", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for learner, row in rows.items():
        table.add_row(learner, *(figure(row[name]) for name in names))
    return table


def figure(value: float | None) -> str:
    """A number as tables show it, or a dash where there is none."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:z,.4f}" if abs(value) < 1e6 else f"{value:.8g}"


def demo_table(summary: Mapping[str, Any]) -> Table | Text:
    """Loss, regret with its comparator, and speed, by learner."""
    rounds = summary["rounds"]
    return _figures(
        {
            name: {
                "loss": one["loss"],
                "of it for steering": one["control_cost"],
                "regret vs leader": one["regret"]["leader"],
                "rounds a second": round(rounds / one["seconds"]) if one["seconds"] else None,
            }
            for name, one in summary["learners"].items()
        }
    )


def certificate_report(found: Certificates) -> Group:
    """Each label with both sides and a verdict, as printed and as corrected; then the bounds of the run itself."""
    game = found.game
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("label", "reading", "left", "", "right", "verdict"):
        table.add_column(name, justify="right" if name in ("left", "right") else "left", no_wrap=True)
    table.add_column("where it is tightest", overflow="fold", min_width=12)
    last = ""
    for reading, one in _readings(found.certificates):
        where = "see below" if one.holds is None else one.where
        shown = _figures_of(one, found.verdict(one))
        table.add_row("" if one.label == last else one.label, reading, *shown, Text(where))
        last = one.label
    parts: list[Any] = [
        Text(
            f"{_rounds(game.T)} on {game.lmdp.n:,} state{'s' * (game.lmdp.n != 1)}, in units of the temperature", "bold"
        ),
        Text("The game is follow the leader with exact leaders, unless a learner is named."),
        table,
        *_left_out(found),
        Text(f"constants: {game.constants}"),
        *(Text(f"{name}: {why}") for name, why in game.constants.left_out.items()),
        Text(_from_P(found)),
        Text("\nbounds on loss - T lambda from the run itself", "bold"),
        _run_bounds(found),
        Text(_verdict(found)),
    ]
    return Group(*parts)


def _readings(certificates: Sequence[Certificate]) -> Iterator[tuple[str, Certificate]]:
    """One by one; a corrected statement that comes to the same as the printed one before it stands for both."""
    for before, one, after in zip([None, *certificates], certificates, [*certificates[1:], None], strict=False):
        if not (one.reading == "printed" and _alike(one, after)):
            both = before is not None and before.reading == "printed" and _alike(before, one)
            yield ("both" if both else one.about or one.reading), one


def _alike(one: Certificate, other: Certificate | None) -> bool:
    if other is None:
        return False
    mine, its = one.to_dict(), other.to_dict()
    return all(mine[name] == its[name] for name in ("label", "left", "right", "holds", "where"))


def _figures_of(one: Certificate, verdict: str) -> tuple[Text, ...]:
    colours = {"holds": "green", "not met": "yellow", "FAILS": "bold red" if one.failed else "yellow"}
    colour = colours.get(verdict, "dim")
    if one.holds is None:
        return Text(), Text(), Text(), Text(verdict, colour)
    left, right = one.figures
    sign = "=" if one.kind == "identity" else "<="
    return Text(f"{left:.4g}"), Text(sign), Text(f"{right:.4g}"), Text(verdict, colour)


def _left_out(found: Certificates) -> list[Text]:
    """Which statements were not looked at, by reason."""
    reasons: dict[str, list[str]] = {}
    for one in found.certificates:
        if one.holds is None and one.label not in reasons.setdefault(one.where, []):
            reasons[one.where].append(one.label)
    return [Text(f"left out, {reason}: {', '.join(labels)}") for reason, labels in reasons.items()]


def _from_P(found: Certificates) -> str:
    """What the theorems promise for exact follow the leader before anything is played."""
    shown = [f"{right:.4g} ({label})" for label, right in found.theorems().items() if right is not None]
    if not shown:
        return "bounds on loss - T lambda from P alone: none, since L is not known"
    most = found.game.T * found.game.width
    return f"bounds on loss - T lambda from P alone: {', '.join(shown)}; no regret exceeds T (B + C) = {most:.4g}"


def _run_bounds(found: Certificates) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    columns = ("learner", "loss - T lambda", "by spans", "ratio", "by curvature", "ratio", "by means", "ratio")
    for name in columns:
        table.add_column(name, justify="left" if name == "learner" else "right")
    for row in found.bounds():
        ways = [row["spans"], row["curvature"], row["means"]]
        figures = [text for way in ways for text in (figure(way["bound"]), figure(way["ratio"]))]
        table.add_row(row["learner"], figure(row["excess"]), *figures)
    return table


def _verdict(found: Certificates) -> str:
    if found.failures:
        names = ", ".join(dict.fromkeys(one.label for one in found.failures))
        return (
            f"FAILED: {names}. A corrected statement does not hold: that is a bug, or a discovery. Please report it. "
            f"{found.headline}."
        )
    return (
        f"{found.headline}. {found.refuted} fail as printed. docs/paper.md lists them, docs/theory.md has the proofs."
    )


class Progress:
    """Watches a game: a bar on a terminal, a line every few seconds elsewhere, on stderr."""

    def __init__(self, quiet: bool) -> None:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        plain = quiet or not self._console.is_terminal
        columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(compact=True))
        self._bar = Bar(*columns, console=self._console, transient=True, disable=plain)
        self._pause = SECONDS_BETWEEN_LINES if plain else SECONDS_BETWEEN_LOOKS
        self._began = self._due = 0.0
        self._first = self._last = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, game: Game, rounds: int | None) -> None:
        """Look at the game after a round, of so many if that is known."""
        self.tick(game.t, rounds, lambda rate: _described(game, rounds, rate))

    def tick(self, t: int, rounds: int | None, describe: Callable[[float], str]) -> None:
        """Round t is done; ``describe`` is asked for words now and then, and told the rounds a second.

        A round that is earlier than the last one begins another count.
        """
        now = time.perf_counter()
        if not self._began or t < self._last:
            self._began, self._first, self._due = now, t, now + self._pause
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(describe(0.0), total=rounds, completed=t)
        elif now >= self._due or (t == rounds and not self._bar.disable):
            self._due = now + self._pause
            rate = (t - self._first) / (now - self._began)
            if self._bar.disable:
                self._console.print(f"{describe(rate)}{_time_left(t, rounds, rate)}", soft_wrap=True)
            else:
                self._bar.update(self._bar.task_ids[0], completed=t, description=describe(rate))
        self._last = t


def _described(game: Game, rounds: int | None, rate: float) -> str:
    if game.t == rounds:
        done = "the round is" if rounds == 1 else f"all {rounds:,} rounds are"
        return f"{done} played, working out the regret"
    of = "" if rounds is None else f" of {rounds:,}"
    what, figures = _standing(game)
    names = (player.learner.title for player in game.players)
    shown = ", ".join(f"{name} {figure:z.4g}" for name, figure in zip(names, figures, strict=True))
    return f"round {game.t:,}{of}, {rate:,.0f} a second, {what}: {shown}"


def _standing(game: Game) -> tuple[str, list[float]]:
    """The present regret against t times the leader's average cost, which follow the leader knows; else mean losses."""
    losses = [tally.loss for tally in game.tallies]
    for player in game.players:
        if player.learner.follows_the_leader and (bounds := player.learner.bounds(game.lmdp, player.state)):
            average = sum(bounds) / 2
            return "regret against the leader's average", [loss - game.t * average for loss in losses]
    return "mean loss", [loss / game.t for loss in losses]


def _time_left(t: int, rounds: int | None, rate: float) -> str:
    return "" if rounds is None or rounds == t else f", {(rounds - t) / rate:,.0f} s left"
