"""MovingAI maps: the walk is the one that the rules of the benchmark describe, and a map that breaks them is named."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import lsmdp
from lsmdp.errors import ModelError, SpecError
from lsmdp.sources.makers import walk_on_map

ROWS = ["..@.S", ".G..T", "WO...", "....@"]
LAZY = 0.2


def drawn(rows: list[str]) -> str:
    return "\n".join(["type octile", f"height {len(rows)}", f"width {len(rows[0])}", "map", *rows, ""])


def by_the_rules(rows: list[str], neighbours: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """P cell by cell: a diagonal needs both cells beside it."""
    is_open = {(r, c) for r, line in enumerate(rows) for c, cell in enumerate(line) if cell in ".GS"}
    cells = sorted(is_open)
    P = np.zeros((len(cells), len(cells)))
    for x, (r, c) in enumerate(cells):
        moves = []
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                straight = abs(i) + abs(j) == 1
                diagonal = abs(i) + abs(j) == 2 and neighbours == 8 and {(r + i, c), (r, c + j)} <= is_open
                if (straight or diagonal) and (r + i, c + j) in is_open:
                    moves.append((r + i, c + j))
        for cell in moves:
            P[x, cells.index(cell)] = (1 - LAZY) / len(moves)
        P[x, x] = LAZY if moves else 1.0
    return P, cells


@pytest.mark.parametrize("neighbours", [4, 8])
@pytest.mark.parametrize("rows", [ROWS, ["."], [".@."], ["..", ".."], [".@", "@."]])
def test_the_walk_follows_the_rules(tmp_path: Path, rows: list[str], neighbours: int) -> None:
    path = tmp_path / "arena.map"
    path.write_text(drawn(rows))
    lmdp = lsmdp.read_model(f"{path}:{neighbours}")
    P, cells = by_the_rules(rows, neighbours)
    np.testing.assert_allclose(lmdp.P.toarray(), P, rtol=1e-15)
    assert lmdp.positions.tolist() == [list(map(float, cell)) for cell in cells]
    assert lmdp.name == f"{path}:{neighbours}"


def test_four_neighbours_are_the_default_and_repairs_apply(tmp_path: Path) -> None:
    path = tmp_path / "Arena.MAP"
    path.write_text(drawn([".@..", ".@.."]).replace("\n", "\r\n"))
    np.testing.assert_array_equal(lsmdp.read_model(path).P.toarray(), lsmdp.read_model(f"{path}:4").P.toarray())
    assert lsmdp.read_model(path, largest_class=True).n == 4


def test_height_and_width_in_either_order() -> None:
    text = drawn(["..", "..", ".."]).replace("height 3\nwidth 2", "width 2\nheight 3")
    assert walk_on_map(text).grid_shape == (3, 2)


def test_the_museum_is_one_of_them() -> None:
    path = files("lsmdp.sources") / "maps" / "museum.map"
    for suffix in ("", ":8"):
        museum, same = lsmdp.read_model(f"museum{suffix}"), lsmdp.read_model(f"{path}{suffix}")
        np.testing.assert_array_equal(museum.P.toarray(), same.P.toarray())


def test_a_walk_with_diagonals_is_reversible() -> None:
    lmdp = lsmdp.grid(4, 5, walls=[(1, 1), (2, 3)], neighbours=8)
    law = lmdp.reversible_law
    assert law is not None
    degrees = np.diff(lmdp.P.indptr) - 1.0
    np.testing.assert_allclose(law, degrees / degrees.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'line 1 is "". A MovingAI map begins with "type octile"'),
        ("type hex\nheight 1\nwidth 1\nmap\n.\n", 'line 1 is "type hex"'),
        ("type octile\nheight 0\nwidth 1\nmap\n", 'line 2 is "height 0". Lines 2 and 3 of a MovingAI map'),
        ("type octile\nheight 2\nheight 2\nmap\n", 'line 3 is "height 2"'),
        ("type octile\nheight 2\nwidth -2\nmap\n", 'line 3 is "width -2"'),
        ("type octile\nheight 2\nwidth 2\n..\n..\n", 'line 4 is "..". In a MovingAI map it is "map"'),
        (drawn(["..", ".."])[:-4], "the height is 2, but there are 1 rows: the map is truncated"),
        (drawn(["..", ".."]) + "..\n", "the height is 2, but there are 3 rows: the map is longer than it says"),
        (drawn(["...", "..."])[:-2], "line 6 has 2 cells, but the width is 3"),
        (drawn(["..", ".#"]), 'line 6, column 2 is "#". Cells are open (. G S) or walls (@ O T W)'),
        (drawn([".é", ".."]), 'line 5, column 2 is "é"'),
        (drawn(["@T", "WO"]), "all 4 cells are walls"),
    ],
)
def test_bad_maps_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.map"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        lsmdp.read_model(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_map_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.map"
    text = drawn(ROWS)
    for length in range(len(text) - 2):
        path.write_text(text[:length])
        with pytest.raises(SpecError):
            lsmdp.read_model(path)


def test_other_numbers_of_neighbours_are_named(tmp_path: Path) -> None:
    path = tmp_path / "arena.map"
    path.write_text(drawn(ROWS))
    with pytest.raises(SpecError, match=r'arena\.map:6" asks for moves to 6 neighbours\. Write .*arena\.map, or'):
        lsmdp.read_model(f"{path}:6")
    with pytest.raises(SpecError, match=r'nowhere\.map" does not exist'):
        lsmdp.read_model(tmp_path / "nowhere.map:8")
    with pytest.raises(ModelError, match="cannot have 6 neighbours"):
        lsmdp.grid(2, 2, neighbours=6)


def test_a_byte_order_mark_is_no_part_of_a_map(tmp_path: Path) -> None:
    (tmp_path / "arena.map").write_text(drawn(ROWS))
    (tmp_path / "marked.map").write_text(drawn(ROWS), encoding="utf-8-sig")
    plain, marked = (lsmdp.read_model(tmp_path / name) for name in ("arena.map", "marked.map"))
    np.testing.assert_array_equal(marked.P.toarray(), plain.P.toarray())
