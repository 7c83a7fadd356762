"""What a pool leaned on, on the page: its experts, what each would have paid by itself, and the weight it ended with.

What goes in is the part of the summary about experts (regret/summary.py), what comes out is a table for each pool, with
a heading that names the expert with the most weight. An expert that tracks a discounted mean is told by its memory:
with the weight w on the newest cost, it remembers about 1/w rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsmdp.learners.names import in_few_words
from lsmdp.report.pages.words import counted, figure, percent
from lsmdp.report.words import decimals, named

_SHARE_OF_ALL = 0.995  # A weight from here on is told as all of it.


def pool_parts(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A part of the page for each pool among the learners."""
    return [
        _part(named(name), one["loss"], one["experts"])
        for name, one in summary["learners"].items()
        if one.get("experts")
    ]


def _part(name: str, loss: float, told: Mapping[str, Any]) -> dict[str, Any]:
    experts = sorted(told["experts"].items(), key=lambda item: float(item[1]["loss"]))
    heaviest = max(experts, key=lambda item: float(item[1]["weight"]))
    share = float(heaviest[1]["weight"])
    trust = "has put all of its trust" if share >= _SHARE_OF_ALL else f"has put {percent(round(share, 3))} of its trust"
    does = in_few_words(heaviest[0])
    best = told["experts"][told["best"]]["loss"]
    more = figure(abs(loss - best))
    beside = f"{more} more" if loss > best else f"{more} less" if loss < best else "as much"
    return {
        "title": f"After the last round {name} {trust} in {heaviest[0]}" + (f", which {does}" if does else ""),
        "finding": f"A pool mixes {counted(len(experts), 'expert')}, each a learner that plays on its own, "
        "and trusts those more that have paid less so far. The best of them alone, "
        f"{told['best']}, would have paid {figure(best, 5)}; the pool, which could not know who would be the best, "
        f"paid {beside}.",
        "note": f"What is guaranteed: {name} pays at most {figure(told['loss_at_most'], 5)} here, which is what its "
        f"experts paid, weighted by its trust ({figure(told['mixed_losses'], 5)}), and what the changes of trust cost "
        f"({figure(told['lag_of_the_law'])}).",
        "decimals": decimals([one["loss"] for _, one in experts]),
        "rows": [[expert, one["loss"], 100.0 * one["weight"], in_few_words(expert)] for expert, one in experts],
    }
