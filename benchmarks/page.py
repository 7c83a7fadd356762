"""From the records of the benchmarks to docs/performance.md and its figures.

Nothing on the page is typed by hand but the sentences below: every number comes from the newest record of its
case. The figures need matplotlib (``pip install 'lsmdp[report]'``); without it the page has the tables alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.measure import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FIGURES = DOCS / "performance.md", DOCS / "figures"

INTRODUCTION = """# What a round costs

This page is written by `make bench` (`make bench-full` for the cases that take long) from its own records; no number on
it was typed by hand. The unit of work is one product `P @ x` of scipy for the same P, measured in the same minutes:
seconds move with the machine, ratios hardly do.
"""
TEXTS = {
    "rounds": """## Rounds at t ~ 1000

Follow the leader with gap_t <= 10^-3/t, from round 1000 on, and `track` where the case says so. *median* and *mean* are
products a round for learning alone, renewed factors included; *with accounts* is the median of whole rounds with exact
losses, laws and divergences; *steps* are the solver's own; *renewals* are rounds after which it kept another factor;
*certified* are the rounds whose certificate, evaluated again by other code, is narrow enough (for `track`: whose
bounds hold), and a case counts only if all are. Memory at the peak of some rounds of a model like new, on top of P
and in units of its CSR: *factor* is the factor (its numbers, its indices, its order), *rest* is all else in rounds
that use it, the state of the learner included, and *making* how much more a round holds at its peak that makes a factor
anew. What we want is rest + making <= 4.
Peers: products a round (times lsmdp's mean, rounds that met the certificate of those played): `eigs` is scipy's, with
the last vector and the loosest tolerance that meets the certificate; `power` is the power method in numpy and scipy.
*goal* is what we want of the mean. Where it is not reached:

- **Grids and roads**: two to four steps a round, of which the triangles of the factor are most. A fresh factor would
  not save a step where the first one leaves a square; on roads, each leaves a tenth to a quarter. Pairs that are
  remembered across rounds, and Bellman updates between the steps, did not pay. One-way roads have two triangles to
  read instead of one, and their first step raises the residual. What is needed is a step that reads less: an
  incomplete factor that contracts as well, or its numbers in 16 bits.
- **Grids of a million states**: wells of v that are almost equally deep. Where a round makes another one the deepest,
  all of v moves by dozens, which is the work of inverse iteration: three factors or more. What is needed is a factor in
  less time (its subtrees by threads), or one that several such rounds can share.
- **Random graphs**: about six sweeps of 0.75 products, a certificate of 2. A sweep takes as long as its reads of P and
  x, three to an entry. Forward and backward sweeps that share their sums read P half as often, but the vectors twice,
  and rows that are cut in two end anywhere: no gain with seven moves. Two clusters take nine sweeps and a product for
  their levels. What is needed is a better contraction for the same reads: four sweeps in place of six.
- **Full matrices**: the certificate (exponentials, a product, logarithms) is most of a round, and two matrices and two
  inverses do not fit the fastest cache. What is needed is a certificate of z itself, with no v in between.
""",
    "pools": """## Pools and clocks

Whole rounds, with exact losses and laws: a second, and in products. `pool` has ten experts, a `pool of 12` twelve, all
of them trackers; a round of each takes four passes over P for every four experts, and as many exponentials and
logarithms as states twice over. *MB* is what the first rounds took in memory beyond the model. *in numpy* is how much
longer the same pool takes in plain numpy and scipy; a case counts only if both pay the same to ten digits.
""",
    "solve": """## Cold solves to 10^-10

From P and a cost alone; the checks of the model, the choice of a method and its symbolic work are included. Of lsmdp:
*steps*, seconds, the same in products, the *gap* of its certificate and that gap evaluated by numpy alone. The peer is
scipy's `eigs` to machine precision from the vector of ones (numpy's `eig` for the full matrix): its seconds, their
*ratio* to lsmdp's, how far its average cost is off (*d lambda*), how many entries of its vector z are not positive, and
the gap of v = -log z. On large grids it is quicker, and its eigenvalue is right; but much of its z is noise around 0,
so that there is neither a value function nor a policy to be had from it.
""",
    "cold": """## Cold solves of large grids

To a gap of 10^-9, against Noda's iteration with scipy's `splu` (minimum degree, in a process of its own), which stops
at the same certificate; both from P and a cost alone.
""",
    "scaling": """## Growth

Products a round against the number of states, and what a game of 3,000 rounds spends: how often what the learner keeps
of its solver was renewed, and its steps. The largest grid has rounds of two kinds: in most, v moves little; in some,
another well of v becomes the deepest. So its mean is far from its median.
""",
    "follow": """## Lines a second of lsmdp follow

A process at the other end of two pipes, at t ~ 1000; each line is answered before the next is written. *with --state*
keeps every round in a file before it is answered; *median* and *99 %* are the time from writing a line to reading its
answer, without; *learning* is the learner alone; *start* is the time from starting the process to the first answer.
""",
    "ends": """## Goals, discounts, horizons, periods

From P, the cost and the end alone to a relative width of 10^-9 (*seconds*: plan and bounds by paths included), and the
same after each cost has risen by up to a hundredth, from the solution before (*warm*; *again* is that without a start,
the plan kept). *wanted* is the goal. Peers in the same run: `value iteration` in numpy, for at most ten seconds;
`spsolve`, scipy's sparse LU on the linear equation for z = e^{-v/T}, and numpy's `dense` solve of it, which underflow
where v is large beside T; `Dijkstra` of networkx, which solves the limit of T to 0 and is off by what the temperature
adds. *off* is the largest distance from the certified values, relative to the largest of them. The maze is generated:
of the same kind and size as the map maze512-1-0 of MovingAI, which is not among our data.
""",
}


def newest(suite: str, cases: Iterable[str]) -> dict[str, Any] | None:
    """The newest record of each of these cases, and where they come from; None where there is none.

    A case is measured by itself, peers and products included, so that cases of several runs can stand side by side.
    """
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob(f"{suite}-*.json"))]
    known = {record["case"]: (record, run) for run in runs for record in run["cases"]}
    found = [known[case] for case in cases if case in known]
    if not found:
        return None
    content: dict[str, Any] = max((run for _, run in found), key=lambda run: sum(one is run for _, one in found))
    others = {record["case"]: run["time"] for record, run in found if run is not content}
    return content | {"cases": [record for record, _ in found], "others": others}


def write(suites: Mapping[str, tuple[ModuleType, dict[str, Any] | None]]) -> list[Path]:
    """The page and its figures."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    parts, written = [INTRODUCTION], [PAGE]
    for name, (suite, content) in suites.items():
        if content is None or not hasattr(suite, "cells"):
            parts += _kept(TEXTS.get(name, f"## {name}\n").partition("\n")[0])
            continue
        parts += [TEXTS.get(name, f"## {name}\n"), _table(suite, content["cases"]), _origin(content)]
        for path, caption in _figures(name, content["cases"]):
            parts.append(f"![{caption}](figures/{path.name})\n")
            written.append(path)
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    return written


def _kept(heading: str) -> list[str]:
    """The section of the present page under this heading, for a suite that has no records here; none if it has none."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    _, found, rest = page.partition(f"{heading}\n")
    return [f"{heading}\n{rest.partition(chr(10) + '## ')[0]}".rstrip("\n") + "\n"] if found else []


def _table(suite: ModuleType, records: list[dict[str, Any]]) -> str:
    lines = [suite.HEADINGS, ["---", *["---:"] * (len(suite.HEADINGS) - 1)], *map(suite.cells, records)]
    void = [record["case"] for record in records if record.get("counts") is False]
    note = f"\nDoes not count, a certificate did not hold: {', '.join(void)}.\n" if void else ""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n" + note


def _origin(content: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    machine = content["machine"]
    load = machine["load"][0]
    others = "".join(f" {case}: {time[:10]} at {time[11:16]}." for case, time in content["others"].items())
    when = f"{content['time'][:10]} at {content['time'][11:16]}"
    return f"{when}; {versions}; {machine['cpus']} cores, load {load:.1f} at the end.{others}\n"


def _figures(name: str, records: list[dict[str, Any]]) -> list[tuple[Path, str]]:
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    return {"rounds": _bars, "scaling": _growth}.get(name, lambda _: [])(records)


def _bars(records: list[dict[str, Any]]) -> list[tuple[Path, str]]:
    """Products a round of lsmdp and its peers, a bar each."""
    from matplotlib import pyplot as plt

    counted = [record for record in records if record["counts"]]
    figure, axes = plt.subplots(figsize=(8, 0.32 * len(counted) + 1.2))
    places = range(len(counted))
    axes.barh(places, [record["mean_products"] for record in counted], 0.6, color="#3366aa", label="lsmdp, mean")
    for who, mark in (("eigs", "o"), ("power", "^"), ("numpy eig", "s")):
        found = [(k, record["peers"][who]) for k, record in enumerate(counted) if who in record["peers"]]
        for met, face in ((True, "#cc4422"), (False, "none")):
            chosen = [(k, peer["products"]) for k, peer in found if (peer["certified"] == peer["rounds"]) is met]
            label = f"{who}, {'certified' if met else 'no certificate'}"
            if chosen:
                axes.plot([p for _, p in chosen], [k for k, _ in chosen], mark, mec="#cc4422", mfc=face, label=label)
    axes.set(xscale="log", xlabel="products P @ x a round", yticks=list(places))
    axes.set_yticklabels([record["case"] for record in counted])
    axes.invert_yaxis()
    axes.legend(fontsize=8)
    return [_save(figure, "rounds.svg", "Products a round")]


def _growth(records: list[dict[str, Any]]) -> list[tuple[Path, str]]:
    """Two figures: products against n, renewals and steps against T."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for family in ("grid", "random"):
        points = [record for record in records if record["case"].startswith(family) and "mean_products" in record]
        axes.plot([p["states"] for p in points], [p["mean_products"] for p in points], "o-", label=f"{family}, i.i.d.")
    axes.set(xscale="log", yscale="log", xlabel="states", ylabel="products P @ x a round, mean")
    axes.legend()
    first = _save(figure, "growth.svg", "Products a round against the number of states")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    for record in records:
        if "along" in record:
            t, renewals, steps = zip(*record["along"], strict=True)
            left.plot(t, renewals, label=record["case"].removeprefix("game on "))
            right.plot(t, steps)
    left.set(xscale="log", xlabel="rounds", ylabel="renewals so far")
    right.set(xscale="log", yscale="log", xlabel="rounds", ylabel="steps so far")
    left.legend(fontsize=8)
    return [first, _save(figure, "renewals.svg", "Renewals and steps against the rounds")]


def _save(figure: Any, name: str, caption: str) -> tuple[Path, str]:
    from matplotlib import pyplot as plt

    path = FIGURES / name
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path, caption
