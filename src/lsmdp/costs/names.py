"""The names of built-in cost sequences: one registry for parsing, for help and for suggestions.

This module imports nothing heavy, so that the command line can list the names at once. The function of the same name
in families.py makes the sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from lsmdp.errors import SpecError

STANDARD_INPUT = "-"  # In place of a file this is standard input, as in most commands.
# Sequences of costs are read from files with these endings.
COST_ENDINGS = (".npy", ".csv", ".tsv", ".txt", ".parquet", ".jsonl")


@dataclass(frozen=True)
class Family:
    """A built-in cost sequence: its name, what it is, and the whole number it takes (if any) with its default.

    ``on_map`` marks those that depend on the moves or the positions of the model, not on its size alone.
    """

    name: str
    meaning: str
    argument: str = ""
    default: int | None = None
    on_map: bool = False

    @property
    def usage(self) -> str:
        """How it is written: ``switching[:PERIOD]``."""
        return f"{self.name}[:{self.argument}]" if self.argument else self.name

    @property
    def example(self) -> str:
        """A spec that works."""
        return f"{self.name}:{self.default or 1000}" if self.argument else self.name

    def parse(self, spec: str) -> int | None:
        """The number in a spec such as ``switching:50``, or the default."""
        _, colon, text = spec.partition(":")
        if not colon:
            return self.default
        short = len(text) < 19  # so it is less than 2^63
        if not (self.argument and short and text.isascii() and text.isdigit() and int(text) > 0):
            wanted = f"{self.argument} is a whole number of at least 1" if self.argument else "it takes no argument"
            raise SpecError(f'"{spec}" cannot be read as {self.usage}: {wanted}. Write for example {self.example}.')
        return int(text)


# These are the families of costs by the names that users give.
FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("iid", "independent, uniform in [0, 1]"),
        Family("binary", "independent fair coins, 0 or 1"),
        Family("switching", "two patterns in turn, PERIOD rounds each (50)", "PERIOD", 50),
        Family("doubling", "two patterns in turn, for 1, 2, 4, 8, ... rounds"),
        Family("target", "0 near a target that moves on every PACE rounds (10), 1 far away", "PACE", 10, on_map=True),
        Family(
            "danger", "1 at a danger that roams, a step every PACE rounds (3), 0 far from it", "PACE", 3, on_map=True
        ),
        Family("drift", "from one pattern to another in ROUNDS rounds (all)", "ROUNDS"),
        Family("periodic", "a wave of PERIOD rounds (50), each state with its own phase", "PERIOD", 50),
        Family("swap", "two states, (0, 1) and (1, 0) in turn: the counterexample to thm:main"),
    )
}


def find(spec: str) -> Family | None:
    """The built-in that a spec speaks of, if any."""
    return FAMILIES.get(spec.partition(":")[0])


def unknown(spec: str) -> SpecError:
    """What to say about a spec that is neither a file nor a name."""
    head, colon, text = spec.partition(":")
    near = get_close_matches(head.lower(), FAMILIES, n=1, cutoff=0.5)
    hint = f' Did you mean "{_completed(FAMILIES[near[0]], colon + text)}"?' if near else ""
    names = ", ".join(family.usage for family in FAMILIES.values())
    return SpecError(
        f'"{spec}" is neither a file nor a known cost sequence.{hint} Names: {names}. Files end in '
        f"{', '.join(COST_ENDINGS)}; {STANDARD_INPUT} is standard input."
    )


def _completed(family: Family, rest: str) -> str:
    try:
        family.parse(family.name + rest)
    except SpecError:
        return family.example
    return family.name + rest
