"""Cost sequences by name or from a file, as the command line writes them.

A spec is a name of names.py, ``-`` for standard input (lines.py), or a file:

    .npy                      array.py
    .csv, .tsv, .txt, .jsonl  lines.py
    .parquet                  parquet.py

What comes out is a :class:`~lsmdp.costs.sequence.Costs`. Nothing is ever unpickled.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path

from lsmdp.arrays import real
from lsmdp.costs import families
from lsmdp.costs.array import ArrayCosts
from lsmdp.costs.families import EndlessCosts, FamilySetting
from lsmdp.costs.lines import Lines, ModelAndScale, StandardInput
from lsmdp.costs.moves import Moves
from lsmdp.costs.names import (
    COST_ENDINGS,
    STANDARD_INPUT,
    Family,
    find,
    unknown,
)
from lsmdp.costs.sequence import (
    Costs,
    Source,
    as_scale,
    blaming,
)
from lsmdp.errors import SpecError, told
from lsmdp.inputs.files import UnreadableError, as_spec, file_of_a_kind
from lsmdp.inputs.labels import is_whole
from lsmdp.inputs.npy import map_npy
from lsmdp.model import LMDP, require_model

# A file that cannot be read is answered with how to write one of its kind.
ADVICE_BY_ENDING = {
    ".npy": "Write a table of numbers with numpy.save.",
    ".parquet": "Write it with pyarrow.parquet.write_table.",
}


def read_costs(
    spec: str | PathLike[str],
    lmdp: LMDP,
    *,
    rounds: int | None = None,
    seed: int = 0,
    scale: tuple[float, float] | None = None,
    missing: float | None = None,
    moves: Moves | None = None,
) -> Costs:
    """The cost sequence that a name or a file stands for.

    ``rounds`` is the number of rounds; a file may do without, and then gives all it has. ``scale=(low, high)`` says
    which values of the input cost 0 and 1; without it they must lie in [0, 1] as they are. ``missing`` is the value, in
    the units of the input, of states that a table or line by name leaves out, and ``moves`` are fixed costs of moves
    (moves.py). Whether the columns of a file fit the model is seen at once; a round that cannot be used is an error
    when it is reached.
    """
    spec = as_spec(spec, "the costs are", 'read_costs("iid", lmdp, rounds=1000)')
    require_model(lmdp)
    low, high = as_scale(scale)
    source = _source(spec, ModelAndScale(lmdp, low, high, _as_missing(missing, low, high)), rounds, seed)
    T = source.T if rounds is None else rounds
    return Costs(source, lmdp.n, T, spec, seed, low, high, lmdp.labels, moves)


def _as_missing(missing: float | None, low: float, high: float) -> float | None:
    if missing is not None and not min(low, high) <= real(missing) <= max(low, high):
        shown = told(missing) if math.isnan(real(missing)) else f"{missing:g}"
        raise SpecError(f"--missing is {shown}. It must lie between {low:g} and {high:g}, like every cost.")
    return missing


def by_name(spec: str, lmdp: LMDP, T: int, seed: int = 0) -> Costs:
    """A built-in cost sequence such as ``iid`` or ``switching:50``, of T rounds."""
    if find(spec) is None:
        raise unknown(spec)
    return read_costs(spec, lmdp, rounds=T, seed=seed)


def _source(spec: str, fit: ModelAndScale, rounds: int | None, seed: int) -> Source:
    family = find(spec)
    if family is not None:
        return _made(family, spec, fit.lmdp, rounds, seed)
    if spec == STANDARD_INPUT:
        return StandardInput(fit)
    path = file_of_a_kind(spec, COST_ENDINGS, unknown(spec))
    with blaming(spec):
        return _opened(path, fit)


def _made(family: Family, spec: str, lmdp: LMDP, rounds: int | None, seed: int) -> EndlessCosts:
    if rounds is None:
        raise SpecError(f'"{spec}" has no end. Say how many rounds to play with --rounds T (rounds=T).')
    if not is_whole(seed) or seed < 0:
        raise SpecError(f"the seed is {told(seed)}. A seed is a whole number of at least 0.")
    argument = family.parse(spec)
    number = rounds if argument is None else argument
    identity = repr((family.name, number if family.argument else None, int(seed)))
    return EndlessCosts(getattr(families, family.name), FamilySetting(lmdp, number, seed), identity, family.on_map)


def _opened(path: Path, fit: ModelAndScale) -> Source:
    try:
        match path.suffix.lower():
            case ".npy":
                return ArrayCosts(map_npy(path), fit.lmdp, path)
            case ".parquet":
                from lsmdp.costs.parquet import parquet_source

                return parquet_source(path, fit.lmdp, fit.missing)
            case ending:
                return Lines(path, fit, is_json=ending == ".jsonl")
    except UnreadableError as broken:
        raise SpecError(
            f"it cannot be read as {path.suffix}: {broken}. {ADVICE_BY_ENDING[path.suffix.lower()]}"
        ) from None
