"""What to make of a checkup: what follows from the facts of a model, in sentences, and what would make it usable.

In goes a model and what was found about it (checkup.py), or a file that is no kernel yet; out come sentences, and
options of the command line that repair it, ready to paste. A state that nobody leaves may be a mistake, or a goal.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lsmdp import chain
from lsmdp.arrays import (
    CSR,
    ROW_SUM_TOLERANCE,
    Ints,
    row_sums,
)
from lsmdp.errors import LsmdpError
from lsmdp.inputs.labels import name_state
from lsmdp.model import LMDP
from lsmdp.model.repairs import DENSE_LIMIT

if TYPE_CHECKING:
    from lsmdp.sources.checkup import Checkup


def ways_to_repair(weights: CSR) -> Iterator[dict[str, Any]]:
    """The options of the command line that make raw weights a usable kernel; what keeps most of them as it is first."""
    sums = row_sums(weights)
    n = sums.size
    proportions = ((sums > 0.0) & (np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)).any()
    normalise = {"normalise": True} if proportions else {}
    inner = chain.largest_class(weights)
    if inner.size > 1 or n == 1:
        largest = {"largest_class": True} if inner.size < n else {}
        cycle = chain.period(weights[inner][:, inner], irreducible=True) if weights.nnz else 1
        yield normalise | largest | ({"lazy": 0.1} if cycle > 1 else {})
    if inner.size < n and n**2 <= DENSE_LIMIT:
        yield normalise | {"teleport": 0.01}


def notes(found: Checkup, lmdp: LMDP) -> Iterator[str]:
    """What follows from what was found."""
    if lmdp.origin_n is not None:
        yield f"Of the {lmdp.origin_n:,} states of the input, {lmdp.origin_n - lmdp.n:,} were left out."
    if not found.irreducible:
        outside = np.setdiff1d(np.arange(lmdp.n), chain.largest_class(lmdp.P))
        yield (
            f"Outside the largest class: {outside.size:,} of {lmdp.n:,} states ({_names(lmdp, outside)}). "
            "The model can be neither solved nor played as it is."
        )
        yield _whereabouts(lmdp, outside)
        final = np.flatnonzero((lmdp.P.diagonal() == 1.0) & (np.diff(lmdp.P.indptr) == 1))
        if final.size:
            yield goal_sentence([lmdp.name_of(int(state)) for state in final], _plain_name(lmdp, int(final[0])))
    elif not found.aperiodic:
        yield (
            f"With period {found.period} solving is fine, but the law of the state never settles: the online guarantee "
            "needs an aperiodic chain."
        )
    elif found.overlap:
        yield f"One-step constants (ass:ergod) apply, with L >= 1/(1 - a(P)) = {1.0 / found.overlap:.4g}."
    elif found.overlap == 0.0 and found.scrambling_steps:
        k = found.scrambling_steps
        yield f"One-step constants (ass:ergod) do not apply; those of {k} steps do, and more steps give better ones."
    elif found.dobrushin_bound is not None:
        yield "One-step constants (ass:ergod) apply."
    elif found.overlap is None:
        yield "One-step constants (ass:ergod) may apply; by ass:irred those of k steps do, for some k."
    else:
        yield "One-step constants (ass:ergod) do not apply; by ass:irred those of k steps do, for some k."
    if found.longest_trip is not None:
        yield f"Every cost c has span(v) <= {found.longest_trip:,.4g} span(c) (lem:vbound, with hitting times)."
    yield f"No policy pays more than {found.B * found.temperature:.4g} a step for control (temperature times B)."


def way_on(found: Checkup, lmdp: LMDP) -> Iterator[str]:
    """What to do next."""
    if found.ok:
        solve = (
            found.commands[0] if found.commands else f"lsmdp solve {shlex.quote(found.name or 'KERNEL')} --cost hill"
        )
        yield f"Nothing to repair. {solve}, or lsmdp.solve(lmdp, c)."
    elif found.irreducible:
        yield "Add --lazy 0.1, or use lmdp.lazy(0.1): the chain may stay, and keeps its stationary law."
    else:
        inner = chain.largest_class(lmdp.P)
        if inner.size > 1:
            cycle = chain.period(lmdp.P[inner][:, inner], irreducible=True)
            lazy = f" That class has period {cycle}: add --lazy 0.1 too." if cycle > 1 else ""
            yield f"Add --largest-class, or use lmdp.largest_class(): {inner.size:,} states remain.{lazy}"
        if lmdp.n**2 <= DENSE_LIMIT:
            yield "Add --teleport 0.01, or use lmdp.teleport(0.01): all states remain, some jumps are added."


def _whereabouts(lmdp: LMDP, outside: Ints) -> str:
    """Why states are outside the largest class."""
    from scipy.sparse.csgraph import breadth_first_order  # a tenth of a second, which other chains need not wait for

    member = int(chain.largest_class(lmdp.P)[0])
    entered, left = np.zeros(lmdp.n, dtype=bool), np.zeros(lmdp.n, dtype=bool)
    entered[breadth_first_order(lmdp.P, member, return_predecessors=False)] = True
    left[breadth_first_order(lmdp.P.T.tocsr(), member, return_predecessors=False)] = True
    groups = (
        (~entered & left, "cannot be reached from it"),
        (entered & ~left, "cannot get back to it: dead ends, or goals"),
        (~entered & ~left, "neither reach it nor can be reached"),
    )
    return (
        "Of these, "
        + "; ".join(
            f"{here.size:,} {what} ({_names(lmdp, here)})"
            for group, what in groups
            if (here := outside[group[outside]]).size
        )
        + "."
    )


def goals_in(kernel: str, **reading: Any) -> str:
    """A sentence about states of a file that nothing leaves, which may be goals; empty where there are none."""
    from lsmdp.arrays import as_weights
    from lsmdp.sources.files import kernel_file
    from lsmdp.sources.reading import ReadingOptions

    try:
        found = kernel_file(kernel, ReadingOptions(**reading))
        weights = as_weights(found.weights)
    except LsmdpError:
        return ""
    moves = weights - sparse.diags_array(weights.diagonal())
    leaving, entering = row_sums(moves.tocsr()), row_sums(moves.T.tocsr())
    final = np.flatnonzero((leaving == 0.0) & (entering > 0.0)).tolist()
    if not final:
        return ""
    names = [name_state(state, found.labels) for state in final]
    return goal_sentence(names, str(final[0]) if found.labels is None else found.labels[final[0]])


def goal_sentence(names: list[str], first: str) -> str:
    """That states which nobody leaves may be where things are meant to end."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    which = f"{names[0]} is" if len(names) == 1 else f"{', '.join(names[:3])}{more} are"
    return (
        f"{which} entered and never left. That may be a mistake, and then it is a dead end to repair; or it is a goal, "
        f"where things are meant to end: then keep it, and solve with --goal {shlex.quote(first)}."
    )


def _plain_name(lmdp: LMDP, state: int) -> str:
    return str(state) if lmdp.labels is None else lmdp.labels[state]


def _names(lmdp: LMDP, states: Ints) -> str:
    named = ", ".join(lmdp.name_of(int(state)) for state in states[:3])
    return named + (f" and {states.size - 3:,} more" if states.size > 3 else "")
