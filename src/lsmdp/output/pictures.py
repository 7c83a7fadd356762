"""Functions on the states of a grid as pictures, in characters or colours; and the palette that all pictures share.

A picture is a raster of cells, NaN for walls, shrunk by whole blocks (the mean of the open cells; a block is wall
where most of it is) or enlarged by whole factors to fit. With colours, one character ▀ shows two cells, one above
the other. The palette runs through OKLCh (Ottosson 2020) with lightness linear in the value, so that equal steps
look equal, also to colour-blind eyes and on grey prints. Without colours, a cell is two characters of a ramp.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from lsmdp.arrays import Floats

if TYPE_CHECKING:
    from lsmdp.model import LMDP

RAMP = " .:-=+*%@"  # Values are drawn with these characters where there are no colours, from the least to the largest.
_WALL_SYMBOL = "#"  # A wall is drawn with this character.
_WALL_COLOUR = (88, 88, 88)  # A wall has this dark grey, which is no value's colour.
SHADES = 64  # Values have this many colours, more than the eye tells apart.
_TALLEST = 60  # A picture has at most this many lines of cells, and so fits a screen.
_COLUMNS_BETWEEN_PICTURES = 4  # So many columns are between two pictures, enough to tell them apart.


def pictures(console: Console, lmdp: LMDP, functions: Mapping[str, Floats]) -> Table:
    """Functions on the states of a grid under their titles, side by side where they fit without being shrunk."""
    draw, columns_per_cell = (_half_blocks, 1) if _has_colours(console) else (_characters, 2)
    images = [raster(lmdp, values) for values in functions.values()]
    needed = (
        sum(columns_per_cell * image.shape[1] + _COLUMNS_BETWEEN_PICTURES for image in images)
        - _COLUMNS_BETWEEN_PICTURES
    )
    table = Table.grid(padding=(0, _COLUMNS_BETWEEN_PICTURES, 0, 0))
    if needed <= console.width:
        width = (console.width - _COLUMNS_BETWEEN_PICTURES * (len(images) - 1)) // len(images)
        table.add_row(*(Text(title, "bold") for title in functions))
        table.add_row(*(draw(image, width) for image in images))
    else:
        for title, image in zip(functions, images, strict=True):
            table.add_row(Text(title, "bold"))
            table.add_row(draw(image, console.width))
    return table


def raster(lmdp: LMDP, values: Floats) -> Floats:
    """A function on the states of a grid as an image, cropped to the states; NaN where there is none."""
    cell = lmdp.positions.astype(np.int64) - lmdp.positions.min(axis=0).astype(np.int64)
    image = np.full(cell.max(axis=0) + 1, np.nan)
    image[tuple(cell.T)] = values
    return np.asarray(image, dtype=np.float64)


def fitted(image: Floats, width: int, height: int) -> Floats:
    """The image shrunk or enlarged by a whole factor to at most ``width`` x ``height`` cells."""
    rows, cols = image.shape
    enlarge = min(width // cols, height // rows, max(1, 24 // max(rows, cols)))
    if enlarge >= 1:
        return image.repeat(enlarge, axis=0).repeat(enlarge, axis=1)
    block = max(-(-cols // width), -(-rows // height))
    is_open = np.isfinite(image)
    total = _block_sums(np.where(is_open, image, 0.0), block)
    count = _block_sums(is_open.astype(np.float64), block)
    cells = _block_sums(np.ones(image.shape), block)
    return np.where(2.0 * count > cells, total / np.maximum(count, 1.0), np.nan)


def _block_sums(image: Floats, block: int) -> Floats:
    rows, cols = (np.arange(0, side, block) for side in image.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(image, rows, axis=0), cols, axis=1))


def _has_colours(console: Console) -> bool:
    return console.color_system in ("truecolor", "256") and not console.no_color and console.encoding.startswith("utf")


def _levels(image: Floats, count: int) -> npt.NDArray[np.int64]:
    """Each cell as a level 0, ..., count - 1 between the smallest and the largest value; -1 for walls."""
    low, high = np.nanmin(image), np.nanmax(image)
    share = (image - low) / (high - low) if high > low else np.where(np.isnan(image), np.nan, 0.0)
    return np.where(np.isnan(share), -1, np.round(np.nan_to_num(share) * (count - 1))).astype(np.int64)


def _characters(image: Floats, width: int) -> Text:
    small = fitted(image, width // 2, _TALLEST // 2)
    symbols = np.array([*RAMP, _WALL_SYMBOL])  # level -1 is the last one
    lines = ["".join(row).rstrip() for row in np.repeat(symbols[_levels(small, len(RAMP))], 2, axis=1)]
    legend = f'"{RAMP}" = {np.nanmin(small):.3g} to {np.nanmax(small):.3g}'
    walls = f", {_WALL_SYMBOL} = wall" if np.isnan(small).any() else ""
    return Text("\n".join([*lines, legend + walls]), no_wrap=True)


def _half_blocks(image: Floats, width: int) -> Text:
    small = fitted(image, width, _TALLEST)
    levels = _levels(small, SHADES)
    text = Text(no_wrap=True)
    for upper in range(0, levels.shape[0], 2):
        lower = levels[upper + 1] if upper + 1 < levels.shape[0] else [None] * levels.shape[1]
        for top, bottom in zip(levels[upper], lower, strict=True):
            text.append("▀", Style(color=_colour(top), bgcolor=None if bottom is None else _colour(bottom)))
        text.append("\n")
    text.append(f"{np.nanmin(small):.3g} ")
    for level in range(0, SHADES, 4):
        text.append("█", Style(color=_colour(level)))
    text.append(f" {np.nanmax(small):.3g}")
    return text


@cache
def _colour(level: Any) -> Color:
    red, green, blue = _WALL_COLOUR if level < 0 else palette()[level]
    return Color.from_rgb(red, green, blue)


@cache
def palette() -> list[tuple[int, int, int]]:
    """SHADES colours from dark violet over teal to light yellow, evenly spaced to the eye."""
    t = np.linspace(0.0, 1.0, SHADES)
    light, hue = 0.28 + 0.64 * t, np.deg2rad(300.0 - 195.0 * t)
    chroma = 0.097 + 0.2 * (t - 0.44) ** 2  # just inside what sRGB can show
    a, b = chroma * np.cos(hue), chroma * np.sin(hue)
    # The two matrices and the cube are the definition of OKLab; the last line is the sRGB transfer function.
    lms = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.2914855480]]
    )
    rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip((rgb @ (lms @ np.stack([light, a, b])) ** 3).T, 0.0, 1.0)
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return [(int(red), int(green), int(blue)) for red, green, blue in np.round(255.0 * srgb)]
