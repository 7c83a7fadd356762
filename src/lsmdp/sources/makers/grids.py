"""Walks on floor plans: rectangles with walls, and MovingAI maps.

The walk stays with probability lazy, else it takes one of the d moves that are possible, (1 - lazy)/d each, so it is
reversible and visits a cell in proportion to d. Moves lead to the 4 neighbours up, left, right and down, or to 8: a
diagonal move is possible only if both cells beside it are open (no corner is cut, the rule of the benchmark), and it
is as likely as a straight one, since both take one round.

A MovingAI map (Sturtevant's benchmarks of path planning) is a text file:

    type octile
    height 3
    width 4
    map
    ..@@        . G S    ground, ground and swamp: open
    .G..        @ O T W  out of bounds (twice), trees, water: walls
    TT..
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np

from lsmdp.arrays import as_whole, require_entries
from lsmdp.errors import ModelError, SpecError, told
from lsmdp.model import LMDP
from lsmdp.sources.makers.shared import Bools, check_probability, csr_rows

# These characters of a map are open cells and walls, as in the benchmarks of Sturtevant.
_OPEN_CELLS, _WALLS = ".GS", "@OTW"
# These are the places of up, left, stay, right and down in a square of three by three: ascending states.
_STRAIGHT = ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))
_ALL_ROUND = tuple((row, col) for row in range(3) for col in range(3))  # These are all places in the square.


def grid(
    rows: int, cols: int, walls: Any = None, lazy: float = 0.2, temperature: float = 1.0, neighbours: int = 4
) -> LMDP:
    """A lazy random walk on the open cells of a rectangle, with moves to 4 or 8 neighbours (see the module).

    ``walls`` is a boolean mask (True = wall), a list of (row, column), or a map drawn as text (# = wall).
    States are the open cells, row by row; ``positions[x]`` is the (row, column) of state x. A cell without
    open neighbours stays where it is.
    """
    if min(as_whole(side, "the side of a grid", ModelError) for side in (rows, cols)) < 1:
        raise ModelError(f"a grid of {rows} x {cols} has no cell. Both sides must be at least 1.")
    if neighbours not in (4, 8):
        raise ModelError(
            f"a cell of a grid cannot have {told(neighbours)} neighbours. Ask for 4, or for 8 with diagonals."
        )
    check_probability(lazy, "lazy", below_one=True)
    require_entries((neighbours + 1) * rows * cols)
    is_open = ~_wall_mask(walls, rows, cols)
    if not is_open.any():
        raise ModelError(f"all {rows * cols} cells of the {rows} x {cols} grid are walls. Leave at least one open.")
    number = np.full((rows + 2, cols + 2), -1)  # a rim of walls spares the borders a special case
    number[1:-1, 1:-1][is_open] = np.arange(np.count_nonzero(is_open))
    steps = _STRAIGHT if neighbours == 4 else _ALL_ROUND
    target = np.stack([number[r : r + rows, c : c + cols][is_open] for r, c in steps], axis=1)
    possible = target >= 0
    for move, (row, col) in enumerate(steps):
        if row != 1 != col:  # a diagonal: no corner is cut
            possible[:, move] &= possible[:, steps.index((row, 1))] & possible[:, steps.index((1, col))]
    ways = np.count_nonzero(possible, axis=1) - 1
    move_chance = np.divide(1.0 - lazy, ways, out=np.zeros(ways.size), where=ways > 0)
    chance = np.repeat(move_chance[:, None], len(steps), axis=1)
    chance[:, len(steps) // 2] = np.where(ways > 0, lazy, 1.0)
    return LMDP(
        csr_rows(target, chance, possible),
        temperature=temperature,
        positions=np.argwhere(is_open),
        name=f"grid:{rows}x{cols}",
        map_shape=(rows, cols),
    )


def museum(neighbours: int = 4, temperature: float = 1.0) -> LMDP:
    """A lazy random walk in a museum: galleries, a corridor, two wings, a hall with columns, and an entrance."""
    drawn = (files("lsmdp.sources") / "maps" / "museum.map").read_text(encoding="ascii")
    return replace(walk_on_map(drawn, neighbours, temperature), name="museum")


def walk_on_map(text: str, neighbours: int = 4, temperature: float = 1.0) -> LMDP:
    """The lazy random walk on the open cells of a MovingAI map, given as its text."""
    is_open = _read_map(text)
    rows, cols = is_open.shape
    return grid(rows, cols, ~is_open, temperature=temperature, neighbours=neighbours)


def _read_map(text: str) -> Bools:
    """Which cells of a MovingAI map are open."""
    lines = text.splitlines()
    head = [line.split() for line in lines[:4]] + [[]] * (4 - len(lines))
    if [word.lower() for word in head[0]] != ["type", "octile"]:
        raise SpecError(f'line 1 is "{_shown(lines, 0)}". A MovingAI map begins with "type octile".')
    sizes: dict[str, int] = {}
    for number in (1, 2):
        match head[number]:
            case [("height" | "width") as side, size] if size.isdecimal() and int(size) > 0 and side not in sizes:
                sizes[side] = int(size)
            case _:
                raise SpecError(
                    f'line {number + 1} is "{_shown(lines, number)}". Lines 2 and 3 of a MovingAI map give its sizes, '
                    'such as "height 20" and "width 30".'
                )
    if head[3] != ["map"]:
        raise SpecError(f'line 4 is "{_shown(lines, 3)}". In a MovingAI map it is "map", and the rows follow.')
    return _cells([line.rstrip() for line in lines[4:]], sizes["height"], sizes["width"])


def _cells(drawn: list[str], height: int, width: int) -> Bools:
    while drawn and not drawn[-1]:
        drawn.pop()
    if len(drawn) != height:
        what = "truncated" if len(drawn) < height else "longer than it says"
        raise SpecError(f"the height is {height}, but there are {len(drawn)} rows: the map is {what}. Correct it.")
    for row, line in enumerate(drawn):
        if len(line) != width:
            raise SpecError(f"line {row + 5} has {len(line)} cells, but the width is {width}. Draw a letter per cell.")
        if strange := line.strip(_OPEN_CELLS + _WALLS)[:1]:
            raise SpecError(
                f'line {row + 5}, column {line.index(strange) + 1} is "{strange}". '
                f"Cells are open ({' '.join(_OPEN_CELLS)}) or walls ({' '.join(_WALLS)})."
            )
    codes = np.frombuffer("".join(drawn).encode("ascii"), dtype=np.uint8).reshape(height, width)
    is_open: Bools = np.isin(codes, np.frombuffer(_OPEN_CELLS.encode(), dtype=np.uint8))
    if not is_open.any():
        raise SpecError(f"all {height * width} cells are walls. A walk needs at least one open cell (. G or S).")
    return is_open


def _shown(lines: list[str], number: int) -> str:
    return lines[number][:60].strip() if number < len(lines) else ""


def _wall_mask(walls: Any, rows: int, cols: int) -> Bools:
    if walls is None:
        return np.zeros((rows, cols), dtype=bool)
    if isinstance(walls, str):
        walls = walls.strip("\n").split("\n")
    walls = list(walls) if not isinstance(walls, np.ndarray) else walls
    if len(walls) and isinstance(walls[0], str):
        return _drawn_mask(walls, rows, cols)
    cells = np.asarray(walls)
    if cells.dtype == bool:
        if cells.shape != (rows, cols):
            raise ModelError(f"walls is a mask of shape {cells.shape}, but the grid is {rows} x {cols}.")
        return cells
    cells = cells.reshape(-1, 2) if cells.size == 0 else cells
    if cells.ndim != 2 or cells.shape[1] != 2 or cells.dtype.kind not in "iuf":
        raise ModelError(
            "walls must be a boolean mask, a list of (row, column), or a map drawn as text with # for walls."
        )
    outside = np.flatnonzero(((cells < 0) | (cells >= (rows, cols)) | (cells != np.floor(cells))).any(axis=1))
    if outside.size:
        row, col = cells[outside[0]].tolist()
        raise ModelError(
            f"the wall at ({row}, {col}) is not a cell of the {rows} x {cols} grid. Cells count from (0, 0)."
        )
    mask = np.zeros((rows, cols), dtype=bool)
    mask[tuple(cells.astype(int).T)] = True
    return mask


def _drawn_mask(lines: Sequence[str], rows: int, cols: int) -> Bools:
    if len(lines) != rows:
        raise ModelError(f"the map has {len(lines)} lines, but the grid has {rows} rows. Draw one line per row.")
    for row, line in enumerate(lines):
        if len(line) != cols:
            raise ModelError(
                f"line {row} of the map has {len(line)} characters, but the grid has {cols} columns. "
                "Draw one character per cell, # for a wall."
            )
    return np.array([[cell == "#" for cell in line] for line in lines])
