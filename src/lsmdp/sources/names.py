"""The names of built-in models and costs: one registry for parsing, for help and for suggestions.

This module imports nothing heavy, so that the command line can list the names at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from lsmdp.errors import SpecError


def whole(text: str) -> int:
    """A whole number, also written as 1e6 or 1_000."""
    number = float(text)
    if not number.is_integer():
        raise ValueError(f"{text} is not a whole number")
    return int(text) if text.lstrip("+-").isdigit() else int(number)


def _read(kind: Callable[[str], Any], word: str) -> Any:
    try:
        return kind(word)
    except (ValueError, OverflowError):
        raise ValueError(f'"{word}" is not a {"whole " * (kind is whole)}number') from None


@dataclass(frozen=True)
class BuiltIn:
    """A built-in: how it is written, an example, what its arguments are, and the function that makes it."""

    usage: str
    example: str
    maker: str
    kinds: tuple[Callable[[str], Any], ...] = ()
    required: int = 0
    meaning: str = ""

    def arguments(self, spec: str) -> list[Any]:
        """The arguments in a spec such as ``grid:30x30``."""
        words = re.split(r":|(?<=\d)x(?=\d)", spec)[1:]
        try:
            if not self.required <= len(words) <= len(self.kinds):
                raise ValueError(f"the number of arguments is {len(words)}")
            return [_read(kind, word) for kind, word in zip(self.kinds, words, strict=False)]
        except ValueError as wrong:
            raise SpecError(
                f'"{spec}" cannot be read as {self.usage}: {wrong}. Write for example {self.example}.'
            ) from None


# These are the models by the names that users give.
MODELS: Mapping[str, BuiltIn] = {
    "grid": BuiltIn("grid:ROWSxCOLS", "grid:30x30", "grid", (whole, whole), 2, "a lazy walk on a rectangle"),
    "museum": BuiltIn("museum[:8]", "museum", "museum", (whole,), 0, "a lazy walk on a floor plan with walls"),
    "ring": BuiltIn("ring:N[:DRIFT]", "ring:12", "ring", (whole, float), 1, "a walk on a circle"),
    "random": BuiltIn(
        "random:N[:DEGREE[:SEED]]",
        "random:20000:7",
        "random_graph",
        (whole, whole, whole),
        1,
        "a random directed graph",
    ),
    "sticky": BuiltIn("sticky:EPS", "sticky:1e-9", "sticky", (float,), 1, "two states, left with probability EPS"),
    "rank-one": BuiltIn("rank-one:N", "rank-one:5", "rank_one", (whole,), 1, "N states, each drawn afresh"),
    "clusters": BuiltIn(
        "clusters:K:SIZE:LINK",
        "clusters:2:500:1e-4",
        "clusters",
        (whole, whole, float),
        3,
        "K loosely linked random graphs",
    ),
}

# These are the costs by the names that users give.
COSTS: Mapping[str, BuiltIn] = {
    "hill": BuiltIn("hill", "hill", "hill", meaning="a smooth bump between 0 and 1"),
    "uniform": BuiltIn(
        "uniform[:COST]",
        "uniform:1",
        "uniform",
        (float,),
        0,
        "COST everywhere, or 1/2; a number alone is COST",
    ),
    "zero": BuiltIn("zero", "zero", "zero", meaning="nothing anywhere, as where only moves cost (--edge-costs)"),
    "random": BuiltIn("random:SEED", "random:0", "random", (whole,), 1, "independent and uniform in [0, 1]"),
}


def find(spec: str, registry: Mapping[str, BuiltIn]) -> BuiltIn | None:
    """The built-in that a spec speaks of, if any."""
    return registry.get(spec.partition(":")[0])


# Costs of moves that are a column of the model's own file are named like this.
COLUMN_OF_THE_MODEL = re.compile(r"(tntp|graphml|gml|csv|tsv|txt|parquet|map):(.+)", flags=re.IGNORECASE)


def is_own(edge_costs: str) -> bool:
    """Whether costs of moves are a column of the very file that the model is read from: ``tntp:free_flow_time``."""
    return COLUMN_OF_THE_MODEL.fullmatch(edge_costs) is not None


def usages(registry: Mapping[str, BuiltIn]) -> str:
    """All names as one line of text."""
    return ", ".join(name.usage for name in registry.values())


def unknown(spec: str, registry: Mapping[str, BuiltIn], extensions: str) -> SpecError:
    """What to say about a spec that is neither a file nor a name."""
    head, colon, rest = spec.partition(":")
    near = get_close_matches(head.lower(), registry, n=1, cutoff=0.5)
    hint = f' Did you mean "{_completed(registry[near[0]], near[0] + colon + rest)}"?' if near else ""
    return SpecError(
        f'"{spec}" is neither a file nor a known name.{hint} Names: {usages(registry)}. Files end in {extensions}.'
    )


def _completed(name: BuiltIn, spec: str) -> str:
    try:
        name.arguments(spec)
    except SpecError:
        return name.example
    return spec
