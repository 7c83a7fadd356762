"""What ``lsmdp check`` prints: the facts of a model, which assumptions hold, what follows, and the way on.

The paper asks for two things. ass:irred: P is irreducible and aperiodic; without the first the average cost
may depend on the start, and nothing here applies; without the second solving is fine, but the law of the state keeps
cycling and no online guarantee can hold. ass:ergod: a(P) < 1, read with the factor 1/2 that its proofs use. It fails on
every grid, and it is not needed: if a(P^k) < 1 for some k, and ass:irred provides one, all of the theory holds with
constants for k steps.

A fact is a value, or None with a reason in ``not_computed``: a check never hangs on a large model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from textwrap import wrap
from typing import Any, TypeVar

from lsmdp import chain
from lsmdp.arrays import (
    CSR,
    Floats,
)
from lsmdp.errors import ConvergenceError
from lsmdp.model import LMDP
from lsmdp.sources.advice import notes, way_on, ways_to_repair

T = TypeVar("T", int, float)
Command = Callable[..., str]
COLUMNS_OF_A_LINE = 88  # Lines of a checkup have at most this many characters, which most terminals have.
WORK_OF_A_CHECKUP = 3e9  # The stationary law of a large chain may take this many operations of about a nanosecond each.
# An assumption that is true, false or not known is called like this.
_VERDICT = {True: "holds", False: "fails", None: "open"}
_REDUCIBLE = chain.Fact[Any](
    reason="P is not irreducible"
)  # This stands for every fact that only an irreducible P has.


@dataclass(frozen=True)
class Checkup:
    """The findings on one model; the fields are the keys of ``--json``."""

    name: str
    states: int
    entries: int
    temperature: float
    irreducible: bool
    classes: int
    period: int | None
    aperiodic: bool | None
    primitivity_index: int | None
    reversible: bool | None
    dobrushin: float | None
    dobrushin_bound: float | None
    overlap: float | None  # 1 - dobrushin, also where that is below the rounding error of 1
    scrambling_steps: int | None  # the smallest k with a(P^k) < 1
    dobrushin_k: float | None
    overlap_k: float | None
    p_min: float
    B: float
    stationary_min: float | None
    stationary_max: float | None
    max_hitting_time: float | None
    hitting_time_bound: float | None
    assumptions: dict[str, bool | None]
    not_computed: dict[str, str]
    notes: tuple[str, ...] = ()
    way_on: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # ready to paste, where the kernel came from the command line

    @property
    def ok(self) -> bool:
        """Whether the model can be solved and played as it is: ass:irred holds."""
        return self.assumptions["ass:irred"] is True

    @property
    def longest_trip(self) -> float | None:
        """The largest expected hitting time, or the bound on it."""
        return self.hitting_time_bound if self.max_hitting_time is None else self.max_hitting_time

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self) | {name: list(getattr(self, name)) for name in ("notes", "way_on", "commands")}

    def lines(self) -> list[str]:
        """One screen of plain text."""
        size = f"{_count(self.states, 'state')}, {_count(self.entries, 'move')}, temperature {self.temperature:g}"
        lines = [self.name or "model", size]
        for title, rows in (("Assumptions of the paper", self._verdicts()), ("Facts", self._facts())):
            lines += ["", title, *(f"  {left:<15}  {right}" for left, right in rows)]
        for title, sentences in (("What follows", self.notes), ("The way on", self.way_on)):
            lines += ["", title, *(line for sentence in sentences for line in _item(sentence))]
        if self.commands:
            lines += ["", "Ready to paste", *(f"  {command}" for command in self.commands)]
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _verdicts(self) -> Iterator[tuple[str, str]]:
        irred, ergod = (_VERDICT[self.assumptions[label]] for label in ("ass:irred", "ass:ergod"))
        yield "ass:irred", f"{irred:<6} {self._communication()}"
        yield "ass:ergod", f"{ergod:<6} {self._contraction()}"
        if self.overlap == 0.0:
            k = self.scrambling_steps
            if k is None:
                yield "  in k steps", self._why_not("scrambling_steps")
            elif self.overlap_k is None:
                yield "  in k steps", f"holds  for k = {k}; a(P^{k}) unknown: {self.not_computed['dobrushin_k']}"
            else:
                yield "  in k steps", f"holds  for k = {k}: a(P^{k}) = {_one_minus(self.overlap_k)}"

    def _communication(self) -> str:
        if not self.irreducible:
            return f"{self.classes:,} classes: some states cannot be reached from others"
        if not self.aperiodic:
            return f"irreducible, but with period {self.period}"
        return "irreducible and aperiodic" + (f", P^{self.primitivity_index} > 0" if self.primitivity_index else "")

    def _contraction(self) -> str:
        if self.dobrushin_bound is not None:
            return f"a(P) <= {self.dobrushin_bound:.6g} (a bound: {self.not_computed['dobrushin']})"
        if self.overlap is None:
            return f"a(P) {self._why_not('dobrushin')}"
        if self.overlap == 0.0:
            return "a(P) = 1: there are two states without a common successor"
        return f"a(P) = {_one_minus(self.overlap)}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        if self.reversible is None:
            yield "reversible", self._why_not("reversible")
        else:
            yield "reversible", "yes" if self.reversible else "no"
        yield "least move", f"p_min = {self.p_min:.3g}, B = -log p_min = {self.B:.4g}"
        if self.stationary_min is None:
            yield "stationary law", self._why_not("stationary_min")
        else:
            yield "stationary law", f"from {self.stationary_min:.3g} to {self.stationary_max:.3g} a state"
        if self.longest_trip is None:
            yield "hitting times", self._why_not("max_hitting_time")
        else:
            bound = "" if self.hitting_time_bound is None else " (a bound)"
            yield "hitting times", f"at most {self.longest_trip:,.6g} steps expected between any two states{bound}"

    def _why_not(self, key: str) -> str:
        reason = self.not_computed[key]
        return reason if reason.startswith("none exists") else f"not computed: {reason}"


def examine(lmdp: LMDP, command: Command | None = None) -> Checkup:
    """What can be said about the passive dynamics of a model in a few seconds.

    ``command(name, **options)`` writes the command ``lsmdp name`` for the same kernel with more options.
    """
    P = lmdp.P
    missing: dict[str, str] = {}

    def value(fact: chain.Fact[T], *keys: str) -> T | None:
        if fact.value is None:
            missing.update(dict.fromkeys(keys, fact.reason))
        return fact.value

    classes, _ = chain.strong_classes(P)
    irreducible = classes == 1
    period = value(chain.Fact(chain.period(P, irreducible=True)) if irreducible else _REDUCIBLE, "period", "aperiodic")
    reversible, mu, why = _law(P) if irreducible else (None, None, _REDUCIBLE.reason)
    if mu is None:
        missing |= dict.fromkeys(("stationary_min", "stationary_max"), why)
    if reversible is None:
        missing["reversible"] = why
    longest = chain.max_hitting_time(P, mu) if irreducible else _REDUCIBLE
    one, steps = chain.overlap(P), chain.mixing_steps(P)
    many = chain.overlap(P, steps.value) if steps.value else chain.Fact[float](reason=steps.reason)
    shared, shared_k = value(one, "dobrushin", "overlap"), value(many, "dobrushin_k", "overlap_k")
    common = chain.doeblin(P) if shared is None else shared
    p_min = chain.p_min(P)
    checkup = Checkup(
        name=lmdp.name,
        states=lmdp.n,
        entries=lmdp.nnz,
        temperature=lmdp.temperature,
        irreducible=irreducible,
        classes=classes,
        period=period,
        aperiodic=None if period is None else period == 1,
        primitivity_index=value(chain.primitivity_index(P), "primitivity_index"),
        reversible=reversible,
        dobrushin=None if shared is None else 1.0 - shared,
        dobrushin_bound=1.0 - common if shared is None and common > 0.0 else None,
        overlap=shared,
        scrambling_steps=value(steps, "scrambling_steps"),
        dobrushin_k=None if shared_k is None else 1.0 - shared_k,
        overlap_k=shared_k,
        p_min=p_min,
        B=abs(math.log(p_min)),
        stationary_min=None if mu is None else float(mu.min()),
        stationary_max=None if mu is None else float(mu.max()),
        max_hitting_time=value(longest, "max_hitting_time"),
        hitting_time_bound=longest.bound,
        assumptions={"ass:irred": period == 1, "ass:ergod": common > 0.0 or (None if shared is None else False)},
        not_computed=missing,
    )
    commands: tuple[str, ...] = ()
    if command is not None:
        commands = (
            (command("solve", cost="hill"),)
            if checkup.ok
            else tuple(command("check", **way) for way in ways_to_repair(P))
        )
    checkup = replace(checkup, commands=commands)
    return replace(checkup, notes=tuple(notes(checkup, lmdp)), way_on=tuple(way_on(checkup, lmdp)))


def _law(P: CSR) -> tuple[bool, Floats | None, str]:
    """Whether P is reversible, its stationary law, and the reason if that was not found."""
    mu = chain.reversible_law(P)
    if mu is not None:
        return True, mu, ""
    try:
        return False, chain.stationary(P, irreducible=True, work=WORK_OF_A_CHECKUP), ""
    except ConvergenceError:
        return False, None, "no method reaches 1e-10 in a few seconds"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + "s" * (number != 1)


def _item(sentence: str) -> list[str]:
    return wrap(sentence, COLUMNS_OF_A_LINE, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)


def _one_minus(gap: float) -> str:
    """1 - gap for a positive gap, in such a way that a tiny one is seen."""
    if gap == 0.0:
        return "1 - (less than 1e-308)"
    return f"{1.0 - gap:.6g}" if gap >= 1e-3 else f"1 - {gap:.3g}"
