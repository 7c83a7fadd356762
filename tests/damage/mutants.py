"""Damaged copies of files: bytes flipped, lost, doubled and put in; numbers, encodings, nesting and types changed."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any

NUMBER = re.compile(rb"-?\d+(\.\d+)?")
NUMBERS = (
    b"-1",
    b"0",
    b"",
    b"nan",
    b"-inf",
    b"1e999",
    b"1e-320",
    b"2147483648",
    b"99999999999999999999",
    b"9" * 5000,
    b"007",
    b"1_000",
    "١".encode(),
    b"0x10",
    b"1,2",
    b'"',
    b"\x00",
    b"\xff",
)
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp037", "latin-1")
STRANGE = (b"\x00", b"\xef\xbb\xbf", b"\n", b",", b'"', b"\r", b"\xff\xfe", b"[", b"(", b"<", "ſ".encode(), b"-" * 300)
DEEP = 100_000
VALUES: tuple[Any, ...] = (None, True, -1, 0, 1.5, 10**30, "", "x", "\ud800", [], [[]], {}, {"x": 1}, [None], "\x00")


def mutants(content: bytes, count: int, seed: object) -> Iterator[bytes]:
    """Damaged copies of the content of a file, each in one place to a few."""
    chance = random.Random(f"{seed}")
    for _ in range(count):
        damaged = content
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            damaged = chance.choice(WAYS)(damaged, chance)
        yield damaged


def _cut(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((1, 1, 2, 4, 16, 64)))


def _flipped(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return content
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]


def _overwritten(content: bytes, chance: random.Random) -> bytes:
    start, end = _cut(content, chance)
    return content[:start] + chance.randbytes(end - start) + content[end:]


def _truncated(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _lost(content: bytes, chance: random.Random) -> bytes:
    start, end = _cut(content, chance)
    return content[:start] + content[end:]


def _doubled(content: bytes, chance: random.Random) -> bytes:
    start, end = _cut(content, chance)
    return content[:end] + content[start:end] * chance.choice((1, 1, 9)) + content[end:]


def _filled(content: bytes, chance: random.Random) -> bytes:
    start, _ = _cut(content, chance)
    return content[:start] + chance.choice(STRANGE) + content[start:]


def _renumbered(content: bytes, chance: random.Random) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    one = chance.choice(found)
    return content[: one.start()] + chance.choice(NUMBERS) + content[one.end() :]


def _recoded(content: bytes, chance: random.Random) -> bytes:
    text = content.decode("utf-8", errors="replace")
    return text.encode(chance.choice(ENCODINGS), errors="replace")


def _nested(content: bytes, chance: random.Random) -> bytes:
    start, end = _cut(content, chance)
    return content[:start] + chance.choice((b"[", b"(", b'{"a":', b"<a>")) * DEEP + content[end:]


WAYS = (
    _flipped,
    _flipped,
    _flipped,
    _overwritten,
    _truncated,
    _lost,
    _doubled,
    _filled,
    _renumbered,
    _renumbered,
    _renumbered,
    _recoded,
    _nested,
)


def other_types(record: Any, count: int, seed: object) -> Iterator[Any]:
    """Copies of a JSON value in which something has another type, is missing or is new."""
    chance = random.Random(f"{seed}")
    yield from copy.deepcopy(VALUES)
    for _ in range(count):
        changed = json.loads(json.dumps(record))
        holder, key = chance.choice(list(_places(changed)))
        match chance.randrange(5):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, list):
                holder += holder
            case _:
                holder[key] = copy.deepcopy(chance.choice(VALUES))
        yield changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every element of every list and object inside."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list) and value[key]:
            yield from _places(value[key])


def forged_parquet(content: bytes, count: int, seed: object) -> Iterator[bytes]:
    """Copies of a parquet file with a byte changed or a number replaced, most often in its footer."""
    chance = random.Random(f"{seed}")
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for _ in range(count):
        start, end = (footer, len(content) - 8) if chance.random() < 0.7 else (4, footer)
        at = chance.randrange(start, end)
        if chance.random() < 0.7:
            flipped = content[at] ^ chance.choice((1 << chance.randrange(8), 255))
            yield content[:at] + bytes([flipped]) + content[at + 1 :]
            continue
        after = at + 1
        while after < end and content[after - 1] & 0x80:  # a number goes on while the high bit is set
            after += 1
        number = _varint(chance.choice((0, 1, 2**20, 2**31 - 1, 2**32, 2**62, 2**64 - 1)))
        longer = len(number) - (after - at) if start == footer else 0
        length = (len(content) - 8 - footer + longer).to_bytes(4, "little")
        yield content[:at] + number + content[after:-8] + length + content[-4:]


def _varint(number: int) -> bytes:
    """As thrift writes whole numbers: seven bits a byte, the lowest first."""
    digits = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([digit | 0x80 for digit in digits[:-1]] + digits[-1:])
