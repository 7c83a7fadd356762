"""What objects show of themselves in a notebook: a short table of facts as HTML, and a picture on request.

``_repr_html_`` of models, policies, solutions, runs and regrets calls one function here each. The HTML has no script
and no style beyond a table, so that it looks like its surroundings in any notebook, light or dark.

``plot`` methods call ``drawn``, which imports the module that draws when it is needed: it lies far below the objects,
and needs matplotlib, which is optional.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

Facts = Iterable[tuple[str, object]]
_MOST_ROWS = 20  # A table in a notebook shows so many learners, about a screen of them.


def drawn(what: str, *given: Any, **options: Any) -> Any:
    """The picture ``what`` of ``lsmdp.report.figures``; a sentence says how to install matplotlib where it is not."""
    return getattr(import_module("lsmdp.report.figures"), what)(*given, **options)


def model_html(lmdp: Any) -> str:
    """A model: its size, and what its states are called."""
    facts: list[tuple[str, object]] = [("states", f"{lmdp.n:,}"), ("moves", f"{lmdp.nnz:,}")]
    facts.append(("temperature", f"{lmdp.temperature:g}"))
    if lmdp.grid_shape is not None:
        facts.append(("grid", "{} rows, {} columns".format(*lmdp.grid_shape)))
    if lmdp.labels is not None:
        more = ", ..." if lmdp.n > 3 else ""
        facts.append(("called", ", ".join(lmdp.labels[:3]) + more))
    facts.append(("irreducible", "yes" if lmdp.is_irreducible else "no"))
    return table(f"Model {lmdp.name}".strip(), facts)


def policy_html(policy: Any) -> str:
    """A policy: its model, and how much it steers."""
    kl = policy.kl()
    return table(
        "Policy",
        [
            ("model", repr(policy.lmdp)),
            ("span of v", f"{policy.v.max() - policy.v.min():.6g}"),
            ("largest KL(Q || P)", f"{kl.max():.4g} nats, in {policy.lmdp.name_of(int(kl.argmax()))}"),
        ],
    )


def solution_html(solution: Any) -> str:
    """A solution: the average cost with its proof."""
    low, high = solution.bounds
    return table(
        f"Solution of {solution.lmdp.name or 'a model'}",
        [
            ("average cost", f"{solution.average_cost:.12g}"),
            ("proved between", f"{low:.15g} and {high:.15g}"),
            ("states, moves", f"{solution.lmdp.n:,}, {solution.lmdp.nnz:,}"),
            ("span of values", f"{solution.value_span:.6g}"),
            ("status", solution.status),
            ("found by", f"{solution.solver}, {solution.iterations:,} steps, {solution.seconds:.3g} s"),
        ],
    )


def run_html(run: Any) -> str:
    """A game: what each learner paid."""
    head = ("learner", "loss", "a round", "state cost", "control cost")
    rows = [
        (name, one.loss, one.loss / max(run.rounds, 1), one.state_cost, one.control_cost)
        for name, one in run.learners.items()
    ]
    return columns(f"Run of {run.rounds:,} rounds on {run.lmdp.n:,} states", head, rows)


def regret_html(regret: Any) -> str:
    """The regret of each learner, by comparator."""
    head = ("learner", "loss", "against the leader", "idealised", "dynamic")
    rows = [(one.name, one.tally.loss, one.leader, one.idealised, one.dynamic) for one in regret.learners]
    return columns(f"Regret after {regret.rounds:,} rounds", head, rows) + "".join(
        f"<p>{html.escape(note)}</p>" for note in regret.notes
    )


def table(title: str, facts: Facts) -> str:
    """Facts by name, one a line."""
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
        for name, value in facts
    )
    return f"<table><caption>{html.escape(title)}</caption><tbody>{rows}</tbody></table>"


def columns(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Numbers by name, in columns; a dash where there is none."""
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_figure(cell))}</td>" for cell in row) + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>and {len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
    caption = f"<caption>{html.escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}"


def _figure(cell: Any) -> str:
    return "-" if cell is None else cell if isinstance(cell, str) else f"{cell:z.6g}"
