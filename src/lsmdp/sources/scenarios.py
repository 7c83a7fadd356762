"""Problems on MovingAI maps (``.scen``): from here to there, and how long the shortest way is.

    version 1
    0   maps/dao/arena.map   49   49   1   11   1   12   1

After the version, a line has the bucket, the map, its width and height, the start and the goal, and the optimal length,
between tabs. The file writes a cell as (x, y), column first; here cells are (row, column), as everywhere in lsmdp.
Lengths are those of octile ways: a straight step is 1, a diagonal one the square root of 2, and no corner is cut.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from lsmdp.errors import SpecError
from lsmdp.inputs.files import require_regular
from lsmdp.inputs.labels import number_in
from lsmdp.sources.reading import Format, read_file

# A line of a scenario has these fields.
_PROBLEM_FIELDS = ("bucket", "map", "width", "height", "start x", "start y", "goal x", "goal y", "optimal length")

Cell = tuple[int, int]


class Scenario(NamedTuple):
    """A problem: from ``start`` to ``goal``, cells as (row, column), whose shortest way is ``length`` long."""

    start: Cell
    goal: Cell
    length: float
    map: str
    shape: tuple[int, int]  # rows and columns of the map
    bucket: int


def read(spec: str) -> list[Scenario]:
    """All problems in a file."""
    found: list[Scenario] = read_file(
        spec,
        {".scen": Format(_read, "Write it as text in UTF-8.")},
        SpecError(f'"{spec}" is no file that ends in .scen.'),
    )
    return found


def _read(path: Path) -> list[Scenario]:
    require_regular(path)
    problems = []
    with path.open(encoding="utf-8-sig") as stream:
        first = stream.readline().split()
        if len(first) != 2 or first[0].lower() != "version":
            raise SpecError(f'line 1 is "{" ".join(first)[:60]}". A file of scenarios begins with "version 1".')
        for line, text in enumerate(stream, start=2):
            if text.strip():
                problems.append(_scenario(text, line))
    if not problems:
        raise SpecError("there is no problem in it. Give a line per problem below the version.")
    return problems


def _scenario(text: str, line: int) -> Scenario:
    cells = text.rstrip("\n").split("\t") if "\t" in text else text.split()
    if len(cells) != len(_PROBLEM_FIELDS):
        raise SpecError(
            f"line {line} has {len(cells)} fields, but a problem has {len(_PROBLEM_FIELDS)}: "
            f"{', '.join(_PROBLEM_FIELDS)}."
        )
    whole = [number_in(cells[place].strip()) for place in (0, 2, 3, 4, 5, 6, 7)]
    if None in whole:
        field = _PROBLEM_FIELDS[(0, 2, 3, 4, 5, 6, 7)[whole.index(None)]]
        raise SpecError(f'line {line}: the {field} is "{cells[_PROBLEM_FIELDS.index(field)]}". Give a whole number.')
    bucket, width, height, x, y, to_x, to_y = (int(number or 0) for number in whole)
    for column, row, what in ((x, y, "start"), (to_x, to_y, "goal")):
        if not (row < height and column < width):
            raise SpecError(
                f"line {line}: the {what} is column {column} of row {row}, but the map has {width} columns and "
                f"{height} rows, counted from 0. Correct it."
            )
    try:
        length = float(cells[8])
    except ValueError:
        length = -1.0
    if not 0.0 <= length < float("inf"):
        raise SpecError(f'line {line}: the optimal length is "{cells[8].strip()}". Give a number of at least 0.')
    return Scenario((y, x), (to_y, to_x), length, cells[1].strip(), (height, width), bucket)
