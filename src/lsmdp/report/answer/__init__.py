"""The page of one solve: what the optimum costs, where the system then spends its time, and what steering changed.

Like the page of a run it is one file that asks nothing of any network, and draws itself from one JSON object, which
``story`` makes. Its headings state findings:

- *the cost*: the least average cost, split into what states, moves and steering cost, beside what P pays if left alone;
- *the map*: each state at its place, by its share of the time, its value, its cost, or the change of its share. Arrows
  show what steering adds: on a grid to the mean step, E_Q[place] - E_P[place]; on a network to the one move whose
  chance grows most, along its edge;
- *what steering changed*: the states whose long-run share under Q differs most from that under P;
- *the certificate*, in words.

Where the cost is a sum until a goal, or discounted, sums.py has the sentences, and there is no long run to tell of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lsmdp import __version__
from lsmdp.arrays import CSR, Floats
from lsmdp.errors import ConvergenceError, SpecError
from lsmdp.files import atomic, clear, explained
from lsmdp.model import LMDP
from lsmdp.pictures import palette
from lsmdp.policy import Policy
from lsmdp.report.answer import sums
from lsmdp.report.layout import layout
from lsmdp.report.pages import assemble
from lsmdp.report.pages.words import counted, figure, listed, percent
from lsmdp.runs.film import STATES_LAID_OUT
from lsmdp.solution import Solution
from lsmdp.values import Values

__all__ = ["Facts", "answer_page", "story", "write_answer_page"]

MAP_STATES = 50_000  # At most this many states are drawn, which makes a page of some 5 MB.
TABLE_ROWS = 100  # The table has this many states, those that steering changed most: as many as somebody reads.
NAMED_STATES = 50  # Up to this many states have their names on the map; more of them would cover each other.
# Where there are many states, this share of the coordinates may lie outside of the frame at each side.
SHARE_OUTSIDE = 0.01
STATES_IN_THE_FRAME = 200  # Up to this many states, the frame holds all of them.
# An arrow is drawn where steering adds at least this much of a step or of a chance; less is not seen.
FAINTEST_ARROW = 0.02

# A part of a cost below this share of it is rounding, and is shown as 0.
NEGLIGIBLE_SHARE = 1e-12


def write_answer_page(
    solution: Solution | Values,
    out: Path,
    lmdp: LMDP | None = None,
    c: Floats | None = None,
    *,
    costs: str = "",
    command: str = "",
) -> None:
    """Write the page of a solution to a file.

    ``lmdp`` and ``c`` are the model and the costs of states as the user gave them, where the model of the solution has
    absorbed costs of moves. ``costs`` says what was charged, and ``command`` how the page was made.
    """
    text = answer_page(solution, lmdp, c, costs=costs, command=command)
    with explained(out, "--report"), atomic(out) as stream:
        stream.write(text.encode())
    clear(out.parent)


def answer_page(
    solution: Solution | Values,
    lmdp: LMDP | None = None,
    c: Floats | None = None,
    *,
    costs: str = "",
    command: str = "",
) -> str:
    """The same as text."""
    if not isinstance(solution, Solution | Values):
        raise SpecError(
            f"there is no page for a {type(solution).__name__}, which has a policy for each round: pages are about one "
            "policy. Draw it with .plot(), or keep the values in a file."
        )
    lmdp = solution.lmdp if lmdp is None else lmdp
    facts = Facts(solution, lmdp, solution.c if c is None else c)
    return assemble("lsmdp.report.answer", story(facts, costs, command))


class Facts:
    """What is computed once: the laws with and without steering, and who is charged for what."""

    def __init__(self, solution: Any, lmdp: LMDP, c: Floats) -> None:
        self.solution, self.lmdp, self.c = solution, lmdp, c
        self.is_sum = isinstance(solution, Values)
        self.Q = solution.policy.matrix()
        self.passive_chances = np.asarray(lmdp.P[solution.lmdp.entry_rows, self.Q.indices]).ravel()
        self.share = None if self.is_sum else _law(solution.policy)
        self.passive = None if self.is_sum else _law(Policy(lmdp, np.zeros(lmdp.n)))
        self.change = None if self.share is None or self.passive is None else self.share - self.passive

    @property
    def parts(self) -> dict[str, float] | None:
        """The average cost of the policy: what it pays for states, for steering and, where they cost, for moves."""
        if self.share is None:
            return None
        states, steering = float(self.share @ self.c), self.lmdp.temperature * float(self.share @ self._divergence())
        parts = {"states": states, "steering": steering}
        if self.solution.lmdp is not self.lmdp:
            parts["moves"] = self.solution.average_cost - states - steering
        return parts

    @property
    def alone(self) -> float | None:
        """What P pays if it is left alone, on average."""
        if self.passive is None:
            return None
        tilted = self.solution.lmdp
        if tilted is self.lmdp:
            return float(self.passive @ self.c)
        if tilted.P.nnz != self.lmdp.P.nnz:
            return None  # a move is so dear that its chance is no float any more
        logs = self.lmdp.P.data * (self.lmdp.log_P - tilted.log_P)  # what P' charges P for being P
        rows = np.add.reduceat(logs, self.lmdp.P.indptr[:-1])
        return float(self.passive @ (self.solution.c + self.lmdp.temperature * rows))

    def _divergence(self) -> Floats:
        """KL(Q || P) in each state, for the P of the user."""
        chances, passive = self.Q.data, self.passive_chances
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(chances > 0.0, chances * np.log(chances / passive), 0.0)
        return np.asarray(np.add.reduceat(terms, self.Q.indptr[:-1]))

    def name(self, x: int) -> str:
        """What a state is called on the map and in a table."""
        if self.lmdp.labels is not None:
            return self.lmdp.labels[x]
        if self.lmdp.grid_shape is None:
            return str(x)
        row, column = (int(part) for part in self.lmdp.positions[x])
        return f"row {row}, column {column}"

    def place(self, x: int) -> str:
        """What a sentence calls it: a number alone would be taken for a quantity."""
        name = self.name(x)
        return f"state {name}" if name.isdecimal() else name


def _law(policy: Policy) -> Floats | None:
    try:
        return policy.stationary()
    except ConvergenceError:
        return None


def story(facts: Facts, costs: str = "", command: str = "") -> dict[str, Any]:
    """The whole page as one object."""
    lmdp = facts.lmdp
    about = [
        Path(lmdp.name).name,
        f"cost {costs}" if costs else "",
        counted(lmdp.n, "state"),
        counted(lmdp.nnz, "move"),
        f"temperature {lmdp.temperature:g}" if lmdp.temperature != 1.0 else "",
    ]
    return {
        "learners": [],  # there are none, and the script that all pages share asks
        "kicker": " · ".join(filter(None, about)),
        "map": _map(facts),
        **(sums.sections(facts, TABLE_ROWS) if facts.is_sum else _sections(facts)),
        "provenance": [
            ["model", lmdp.name or "made in Python"],
            ["command", command or "none: by write_answer_page in Python"],
            ["lsmdp", __version__],
        ],
    }


def _sections(facts: Facts) -> dict[str, Any]:
    """The parts of the page that are about a long-run average."""
    return {
        "headline": _headline(facts),
        "lede": _lede(facts),
        "bars": _bars(facts),
        "changes": _changes(facts),
        "certificate": _certificate(facts.solution),
    }


def _headline(facts: Facts) -> str:
    cost, alone = facts.solution.average_cost, facts.alone
    if alone is None or not alone > cost:
        return f"The least average cost is {figure(cost)} a step"
    saved = alone - cost
    share = f"{percent(saved / abs(alone))} " if alone > 0.0 else ""
    return (
        f"Steered at its best the system pays {figure(cost)} a step, {share or figure(saved) + ' '}less than by itself"
    )


def _lede(facts: Facts) -> str:
    said, parts, alone = [], facts.parts, facts.alone
    if parts is not None:
        names = {"states": "for where it is", "moves": "for its moves", "steering": "for being steered"}
        least = NEGLIGIBLE_SHARE * sum(map(abs, parts.values()))
        paid = {name: value if abs(value) > least else 0.0 for name, value in parts.items()}
        said.append("That is " + listed(f"{figure(value)} {names[name]}" for name, value in paid.items()) + ".")
    if alone is not None:
        said.append(f"Left alone, it would pay {figure(alone)}.")
    if facts.change is not None:
        moved = float(np.abs(facts.change).sum()) / 2.0
        said.append(f"Steering puts {_part(moved)} of the time elsewhere.")
    return " ".join(said)


def _bars(facts: Facts) -> list[dict[str, Any]]:
    """The cost of the policy in parts, and that of P, as bars."""
    if facts.parts is None:
        return []
    steered = [[name, value] for name, value in facts.parts.items()]
    rows = [{"name": "steered", "total": figure(facts.solution.average_cost), "parts": steered}]
    if facts.alone is not None:
        rows.append({"name": "left alone", "total": figure(facts.alone), "parts": [["states", facts.alone]]})
    return rows


def _map(facts: Facts) -> dict[str, Any] | None:
    lmdp, n = facts.lmdp, facts.lmdp.n
    grid = lmdp.grid_shape is not None
    places: Floats | None = lmdp.positions
    if places is not None and n > 1 and not np.ptp(places, axis=0).any():
        places = None  # all in one place, which is none
    if places is None and n <= STATES_LAID_OUT:
        places = layout(lmdp.P)[:, ::-1]
    if places is None or n > MAP_STATES:
        return None
    across, down = (places[:, 1], places[:, 0]) if grid else (places[:, 0], -places[:, 1])
    fields = {"cost": _short(facts.c), "value": _short(facts.solution.v)}
    if facts.share is not None:
        fields = {"time": _short(facts.share), **fields}
    if facts.change is not None:
        fields["change"] = _short(facts.change)
    return {
        "kind": "grid" if grid else "graph",
        "title": sums.map_title(facts) if facts.is_sum else _busiest(facts),
        "note": _map_note(grid, facts.share is not None, places is lmdp.positions),
        "x": _short(across),
        "y": _short(down),
        "frame": _frame(across, down),
        "names": [facts.name(x) for x in range(n)],
        "named": n <= NAMED_STATES and not grid,
        "fields": fields,
        "edges": [] if grid else _edges(lmdp.P),
        "arrows": _steps(facts, across, down) if grid else _favoured(facts),
        "ramp": [f"rgb({r},{g},{b})" for r, g, b in palette()[::4]],
    }


def _map_note(grid: bool, timed: bool, placed: bool) -> str:
    said = (
        "An arrow is what steering adds to the mean step from a cell."
        if grid
        else ("An arrow lies along the move whose chance steering raises most, and is the stronger the more it does.")
    )
    time = " Time and change are on a scale of square roots, so that rare places show." if timed else ""
    return said + time + ("" if placed else " Places are computed from the moves; they are no map.")


def _busiest(facts: Facts) -> str:
    """Where the system spends its time, in a sentence."""
    if facts.share is None:
        return "What each state is worth"
    top = int(facts.share.argmax())
    order = np.sort(facts.share)[::-1]
    half = int(np.searchsorted(np.cumsum(order), 0.5)) + 1
    if facts.lmdp.n < 4:
        return f"It spends most of its time in {facts.place(top)}: {_part(float(facts.share[top]))}"
    many = f"{half:,} of {facts.lmdp.n:,} states" if half > 1 else facts.place(top)
    most = "" if half == 1 else f", most of all in {facts.place(top)} ({_part(float(facts.share[top]))})"
    return f"It spends half of its time in {many}{most}"


def _frame(across: Floats, down: Floats) -> list[float]:
    """Left, right, top and bottom of what is shown at first: all, or the bulk where there are many states."""
    q = SHARE_OUTSIDE if across.size > STATES_IN_THE_FRAME else 0.0
    sides = [float(side) for values in (across, down) for side in np.quantile(values, [q, 1.0 - q])]
    spans = [float(np.ptp(values)) for values in (across, down)]
    if all(high - low > 0.5 * span for (low, high), span in zip((sides[:2], sides[2:]), spans, strict=True)):
        return [float(end) for values in (across, down) for end in (values.min(), values.max())]  # nothing lies far out
    return sides


def _edges(P: CSR) -> list[int]:
    """The pairs of states between which there is a move, each pair once."""
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    low, high = np.minimum(rows, P.indices), np.maximum(rows, P.indices)
    pairs = np.unique(np.stack([low, high], axis=1)[low < high], axis=0)
    return [int(end) for end in pairs.ravel()]


def _steps(facts: Facts, across: Floats, down: Floats) -> list[Any]:
    """For each state, what steering adds to its mean step across and down."""
    added = [facts.Q @ values - facts.lmdp.P @ values for values in (across, down)]
    return [[round(float(dx), 3), round(float(dy), 3)] for dx, dy in zip(*added, strict=True)]


def _favoured(facts: Facts) -> list[Any]:
    """For each state that is steered: the move whose chance grows most, and by how much."""
    rows = facts.solution.lmdp.entry_rows
    gain = np.where(facts.Q.indices == rows, -1.0, facts.Q.data - facts.passive_chances)
    order = np.lexsort((-gain, rows))
    first = order[np.unique(rows[order], return_index=True)[1]]
    return [
        [int(rows[at]), int(facts.Q.indices[at]), round(float(gain[at]), 3)]
        for at in first
        if gain[at] >= FAINTEST_ARROW
    ]


def _changes(facts: Facts) -> dict[str, Any]:
    """The states whose share of the time steering changed most."""
    n, solution = facts.lmdp.n, facts.solution
    columns = [{"name": "state"}, {"name": "cost", "number": True}, {"name": "value", "number": True}]
    if facts.change is None or facts.share is None or facts.passive is None:
        shown = np.argsort(facts.solution.v, kind="stable")[:TABLE_ROWS]
        return {
            "title": "The states, from the best to be in",
            "finding": "The long-run law of this policy, or that of the passive dynamics, is beyond what floats can "
            "tell, so that no shares of time are shown.",
            "columns": columns,
            "rows": [[facts.name(int(x)), _number(facts.c[x]), _number(solution.v[x])] for x in shown],
        }
    shown = np.argsort(-np.abs(facts.change), kind="stable")[:TABLE_ROWS]
    columns += [{"name": name, "share": True} for name in ("left alone", "steered", "change")]
    rows = [
        [facts.name(int(x)), _number(facts.c[x]), _number(solution.v[x])]
        + [_number(law[x]) for law in (facts.passive, facts.share, facts.change)]
        for x in shown
    ]
    count = "" if n <= TABLE_ROWS else f" These are the {TABLE_ROWS} of {n:,} states that it changed most."
    return {
        "title": _change_title(facts),
        "finding": f"Shares of the time in the long run: with the passive dynamics left alone, and steered.{count}",
        "columns": columns,
        "rows": rows,
    }


def _change_title(facts: Facts) -> str:
    assert facts.change is not None
    assert facts.share is not None
    assert facts.passive is not None
    up, down = int(facts.change.argmax()), int(facts.change.argmin())
    if float(np.abs(facts.change).max()) < 1e-12:
        return "Steering changes nothing: the passive dynamics is the optimum"

    def told(x: int) -> str:
        before, after = (_part(float(law[x])) for law in (facts.passive, facts.share) if law is not None)
        return f"{facts.place(x)} ({before} to {after})"

    return f"Steering keeps it away from {told(down)} and brings it to {told(up)}"


def _certificate(solution: Solution) -> dict[str, Any]:
    low, high = solution.bounds
    digits = int(np.clip(np.ceil(-np.log10(max(solution.gap, 1e-16))) + 2, 4, 17))
    proved = (
        f"No policy whatever pays less than {low:.{digits}g} a step in the long run, and this one pays no more than "
        f"{high:.{digits}g}. So it is optimal to within {figure(solution.gap, 2)}."
    )
    how = (
        "Both bounds were computed from the values on this page alone, with every rounding error counted against "
        "them: they hold whatever the solver did."
    )
    rows = [
        ["average cost", f"{solution.average_cost:.12g}"],
        ["proved between", f"{low:.{digits}g} and {high:.{digits}g}"],
        ["width of the proof", figure(solution.gap, 2)],
        ["from the best to the worst state", f"{figure(solution.value_span)} (difference of values)"],
        ["found by", f"{solution.solver}, {counted(solution.iterations, 'step')}, {figure(solution.seconds, 3)} s"],
    ]
    title = "The answer is certified" if solution.certified else "The answer is not certified to the width asked for"
    return {"title": title, "finding": f"{proved} {how}", "rows": rows, "story": list(solution.story)}


def _part(share: float) -> str:
    """A share of the time in a sentence."""
    return "hardly any" if share < 1e-5 else f"{100.0 * share:.2g}%" if share < 0.1 else f"{100.0 * share:.1f}%"


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _short(values: Any) -> list[float | None]:
    """Numbers with six digits, which is more than a picture shows; None for what is infinite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(values).tolist()]
