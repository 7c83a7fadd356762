"""Arrays that come back from a file, and what they must be before a compiled loop sees them.

A compiled loop believes what it is given: where an array is shorter than another, or an index points outside, it reads
and writes memory that is not its own. So whatever is restored has a :class:`Form` that says which shapes it may have,
of which type it is and in which range its entries lie, and is compared with it first. What does not fit is refused with
a sentence, and so nothing that is read can do more than be refused or play on.

A checksum beside the arrays finds changes by accident that fit all the same. It is no seal: whoever changes a file on
purpose can write the checksum anew, and will then have a game go on from the numbers of his choice, within these forms.

Arrays are kept as ``numpy.save`` writes them. Of the headers only the few words are understood that it writes for
numbers and text, and the bytes that a header promises are compared with those that are there.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsmdp.errors import SpecError

# Costs, temperatures and their ratio are at most this large, since v adds up many of them; so is what is made of them.
LARGEST_NUMBER = 1e300
BEYOND_COUNTS = 2.0**53  # Numbers of rounds and steps stay below this, and so are exact as floats.
# The sum of a law may be off from 1 by this, and a mean of costs from where they lie, since sums round.
_ROUNDING_OF_SUMS = 1e-9
_CHARACTERS_OF_A_WORD = 60  # So many characters of a name or a type are quoted in a message.
# The header of an array that numpy wrote is of this form; nothing else is believed.
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufcSUmM]\d{1,9}(?:\[\w{1,9}\])?)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Form:
    """What one array must be: of one of these shapes, of this type, every entry between low and high.

    ``low`` and ``high`` are numbers, or arrays that broadcast against it; infinite ones let infinity in. ``blank`` says
    where nan, which stands for what was not computed, is let in. A ``law`` sums to 1. ``single`` says whether
    single precision will do as well.
    """

    shapes: tuple[Shape, ...] = ((),)
    dtype: Any = np.float64
    low: Any = -LARGEST_NUMBER
    high: Any = LARGEST_NUMBER
    blank: Any = False
    law: bool = False
    single: bool = False

    def fault(self, array: Array) -> str | None:
        """What is wrong with an array, or nothing."""
        if array.dtype != np.dtype(self.dtype) and not (self.single and array.dtype == np.dtype(np.float32)):
            return f"holds {_short(array.dtype)} values, not {np.dtype(self.dtype)}"
        if array.shape not in self.shapes:
            shapes = " or ".join(map(str, self.shapes)) or "one of as many as there can be"
            return f"has shape {_short(array.shape)}, not {shapes}"
        within = ((array >= self.low) & (array <= self.high)) | (np.isnan(array) & self.blank)
        if not within.all():
            at = np.unravel_index(int(np.argmin(within)), array.shape)
            low, high = (np.broadcast_to(bound, array.shape)[at] for bound in (self.low, self.high))
            return f"holds {array[at]}, not a number from {low:.6g} to {high:.6g}"
        if self.law and abs(float(array.sum()) - 1.0) > _ROUNDING_OF_SUMS:
            return f"sums to {float(array.sum()):.10g}, not 1"
        return None


COUNT = Form(dtype=np.int64, low=0, high=BEYOND_COUNTS)  # This is the form of a number of rounds or steps.


def vector(n: int, low: float = -LARGEST_NUMBER, high: float = LARGEST_NUMBER) -> Form:
    """A number for each state."""
    return Form(((n,),), low=low, high=high)


def anything(shape: Shape, single: bool = False) -> Form:
    """Numbers of which nothing is believed but that there are so many; infinite ones and nan are let in."""
    return Form((shape,), low=-np.inf, high=np.inf, blank=True, single=single)


class Past(NamedTuple):
    """What is known of the rounds that were played: how many (None: it is not), and where their costs lie."""

    rounds: int | None = None
    low: float = -LARGEST_NUMBER
    high: float = LARGEST_NUMBER

    @property
    def number(self) -> Form:
        """How many there were."""
        return COUNT if self.rounds is None else Form(dtype=np.int64, low=self.rounds, high=self.rounds)

    def costs(self, *shape: int) -> Form:
        """Costs, means of them, and zeros where there are none yet."""
        return self._form(shape, 1.0)

    def sums(self, n: int) -> Form:
        """The sum of the costs of each state."""
        return self._form((n,), BEYOND_COUNTS if self.rounds is None else float(self.rounds))

    def _form(self, shape: Shape, times: float) -> Form:
        """From so many times the lowest cost to so many times the highest, within rounding."""
        low, high = min(self.low, 0.0), max(self.high, 0.0)
        slack = _ROUNDING_OF_SUMS * (high - low)
        return Form(
            (shape,), low=max(times * (low - slack), -LARGEST_NUMBER), high=min(times * (high + slack), LARGEST_NUMBER)
        )


def require(arrays: Mapping[str, Array], forms: Mapping[str, Form]) -> None:
    """Raise unless all of these arrays are there and are what they must be."""
    for name, form in forms.items():
        if name not in arrays:
            raise SpecError(f'the array "{name}" is missing')
        if fault := form.fault(arrays[name]):
            raise SpecError(f'the array "{name}" {fault}')


def digest(arrays: Mapping[str, Array]) -> bytes:
    """The sha256 of some arrays with their names, types and shapes, in the order of the names."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        found.update(repr((name, array.dtype.str, array.shape)).encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.digest()


def as_bytes(array: Array) -> bytes:
    """An array as ``numpy.save`` writes it."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array, order="C"), allow_pickle=False)
    return stream.getvalue()


def can_be_kept(array: Array) -> bool:
    """Whether ``from_bytes`` would bring an array back."""
    return array.dtype.kind in "biufcSUmM" and array.dtype.itemsize > 0


def from_bytes(content: bytes, start: int = 0, *, whole: bool = False) -> tuple[Array, int]:
    """The array that ``as_bytes`` wrote at ``start``, and where it ends; ``whole``: that is the end of the content."""
    begin = start + (10 if content[start + 6 : start + 8] == b"\x01\x00" else 12)
    length = int.from_bytes(content[start + 8 : begin], "little")
    header = _HEADER.fullmatch(content[begin : begin + length])
    if content[start : start + 6] != b"\x93NUMPY" or header is None:
        raise SpecError("an array in it has a header of another kind than lsmdp writes")
    try:
        dtype = np.dtype(header[1].decode())
    except TypeError:
        raise SpecError(f"an array in it is of the unknown type {header[1].decode()}") from None
    shape = tuple(int(size) for size in header[3].decode().replace(",", " ").split())
    first = begin + length
    end = first + prod(shape) * dtype.itemsize
    if end > len(content) or (whole and end < len(content)):
        raise SpecError(
            f"an array in it has {len(content) - first:,} bytes, and its shape {shape} takes {end - first:,}"
        )
    if len(shape) > 32 or dtype.itemsize == 0:
        raise SpecError("an array in it has too many dimensions, or values of no size")
    try:
        array = np.empty(shape, dtype, order="F" if header[2] == b"True" else "C")
    except ValueError:
        raise SpecError(f"an array in it has the shape {shape}, which none can have") from None
    array.reshape(-1, order="A").view(np.uint8)[:] = np.frombuffer(content, np.uint8, end - first, first)
    return array, end


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _CHARACTERS_OF_A_WORD else f"{text[:_CHARACTERS_OF_A_WORD]}..."
