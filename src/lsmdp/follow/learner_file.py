"""The file of a learner: what is in it, and how it is read without trust.

It holds a *snapshot* of the learner's state and, behind it, the rounds since then:

    {"format": "lsmdp learner", ...}    one line of JSON: version, sha256 of P and the labels, temperature, learner with
                                        its options, names of the arrays, length and checksum of the snapshot
    arrays                              the fields of the state, each as .npy
    records                             checksum, state of the system (-1: not known), number of costs, costs: of all
                                        states, or that of this one

A learner's state is a function of the costs it has seen, so snapshot and records together are the state, bit for bit:
who reads the file observes the costs of the records again. Torn records at the end, as a power cut leaves them, are
dropped with a warning.

Nothing is pickled. A file of another model, learner or temperature is refused, and so is one whose arrays cannot be
those of the learner's state (forms.py). The checksums find accidents; they are no seal.
"""

from __future__ import annotations

import json
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lsmdp import __version__
from lsmdp.arrays import Floats, as_cost
from lsmdp.errors import CostError, SpecError
from lsmdp.inputs import forms
from lsmdp.learners import (
    CompleteLearner,
    LearnerLike,
    State,
    VisitingLearner,
    pack,
    unpack,
)
from lsmdp.model import LMDP
from lsmdp.runs.manifest import kernel_hash

# The first line of a learner file says that it is one, and of which version of the format.
_LEARNER_FILE, _LEARNER_FILE_VERSION = "lsmdp learner", 1
_BYTES_OF_A_HEAD = 2**16  # The first line of a learner file has at most this many bytes.
CHECK = struct.Struct("<I")  # A record begins with the crc32 of the rest of it.
ENTRY = struct.Struct("<qI")  # Then come the state of the system, the number of costs, and the costs.
PLACE_UNKNOWN = -1  # This stands for the state of a system that has not said where it is.
AnyLearner = LearnerLike | VisitingLearner


class Knowledge(NamedTuple):
    """A learner's state, how many costs it has seen, where the system is, and the values that cost 0 and 1."""

    state: State
    rounds: int = 0
    at: int = PLACE_UNKNOWN
    scale: tuple[float, float] | None = None

    def after(self, lmdp: LMDP, learner: AnyLearner, at: int, c_t: Floats | None = None) -> Knowledge:
        """What is known once the system is elsewhere and, perhaps, one more cost was seen: of all states, or there."""
        if c_t is None:
            return self._replace(at=at)
        player = CompleteLearner.of(learner)
        if _is_of_one_state(player, c_t, lmdp.n):
            state = player.observe_at(lmdp, self.state, at, float(c_t[0]))
        else:
            state = player.observe(lmdp, self.state, c_t)
        return self._replace(state=state, rounds=self.rounds + 1, at=at)


def snapshot(lmdp: LMDP, learner: CompleteLearner, kept: Knowledge) -> bytes:
    """The content of a file without records."""
    arrays = learner.pack(kept.state)
    if strange := [name for name, array in arrays.items() if not forms.can_be_kept(array)]:
        raise SpecError(
            f'the state of "{learner.name}" cannot be saved: its field "{strange[0]}" holds '
            f"{arrays[strange[0]].dtype} values. A state that can be saved is made of arrays of numbers."
        )
    content = b"".join(map(forms.as_bytes, arrays.values()))
    head = {
        "format": _LEARNER_FILE,
        "version": _LEARNER_FILE_VERSION,
        "lsmdp": __version__,
        **_identity(lmdp, learner),
        "rounds": kept.rounds,
        "at": kept.at,
        "scale": kept.scale,
        "fields": list(arrays),
        "bytes": len(content),
    }
    return json.dumps(head | {"crc32": _checksum(head, content)}).encode() + b"\n" + content


def require_its_own(lmdp: LMDP, learner: CompleteLearner, state: State) -> None:
    """Raise unless a state is of the kind that the learner begins with: no other could be loaded again."""
    begins, there = learner.init(lmdp), learner.pack(state)
    if type(state) is not type(begins) or list(there) != list(pack(begins)):
        raise SpecError(
            f'the state of "{learner.name}" cannot be saved: it is a {type(state).__name__} of {", ".join(there)}, but '
            f"init gives a {type(begins).__name__} of {', '.join(pack(begins))}. Save what observe has returned."
        )


def _identity(lmdp: LMDP, learner: CompleteLearner) -> dict[str, Any]:
    """All that must be the same for a state to make sense."""
    return {
        "kernel": kernel_hash(lmdp),
        "temperature": lmdp.temperature,
        "learner": learner.name,
        "options": learner.options,
    }


def read(path: Path, content: bytes, lmdp: LMDP, learner: CompleteLearner) -> Knowledge:
    """What a file knows: its snapshot, and what the learner makes of the records behind it."""
    head, body, tail = _split(path, content)
    _require_same(path, head, _identity(lmdp, learner))
    kept, used = _in_snapshot(path, head, body, learner.init(lmdp), lmdp.n), 0
    for at, c_t, end in _records(path, tail, lmdp.n, learner):
        kept, used = kept.after(lmdp, learner, at, c_t), end
    if used < len(tail):
        warnings.warn(
            f'"{path}" ends in {len(tail) - used:,} bytes that are not whole, as after a power cut or on a full disk. '
            f"They are dropped; {kept.rounds:,} rounds are there",
            stacklevel=3,
        )
    return kept


def _split(path: Path, content: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """The first line of a file, the arrays, and the records, once it is certain that this is what they are."""
    line, _, rest = content.partition(b"\n")
    try:
        head = json.loads(line[:_BYTES_OF_A_HEAD])
        known = head["format"] == _LEARNER_FILE
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise SpecError(f'"{path}" is not a file of a learner. Name one that lsmdp wrote, or one that does not exist.')
    if head.get("version") != _LEARNER_FILE_VERSION:
        raise SpecError(
            f'"{path}" is of version {head.get("version")} of the format; this lsmdp reads version '
            f"{_LEARNER_FILE_VERSION}. Use the lsmdp that wrote it, or begin a new file."
        )
    checksum, size = head.pop("crc32", None), head.get("bytes", 0)
    body = rest[:size] if isinstance(size, int) else b""
    if len(body) != size or _checksum(head, body) != checksum:
        raise _damaged(path, "its checksum does not fit")
    return head, body, rest[size:]


def _checksum(head: Mapping[str, Any], body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(json.dumps(head).encode()))


def _in_snapshot(path: Path, head: Mapping[str, Any], body: bytes, like: State, n: int) -> Knowledge:
    """The snapshot, once it is certain that it can be one of this learner on a model of n states."""
    fields, rounds, at, scale = (head.get(name) for name in ("fields", "rounds", "at", "scale"))
    here = list(pack(like))
    if fields != here:
        there = ", ".join(map(str, fields)) if isinstance(fields, list) else str(fields)
        raise SpecError(
            f'"{path}" was saved by another version of the learner ({there} there, {", ".join(here)} here). Use the '
            "lsmdp that wrote it, or begin a new file."
        )
    if type(rounds) is not int or not 0 <= rounds < forms.BEYOND_COUNTS:
        raise _damaged(path, f"the number of its rounds is {rounds}")
    if type(at) is not int or not PLACE_UNKNOWN <= at < n:
        raise _damaged(path, f"the state of the system is {at}, and the model has {n}")
    if scale is not None and not _is_scale(scale):
        raise _damaged(path, f"its scale is {scale}")
    arrays, start = {}, 0
    try:
        for name in here:
            arrays[name], start = forms.from_bytes(body, start)
        state = unpack(like, arrays, forms.Past(rounds if "t" in here else None))
    except SpecError as wrong:
        raise _damaged(path, str(wrong)) from None
    return Knowledge(state, rounds, at, None if scale is None else (float(scale[0]), float(scale[1])))


def _is_scale(scale: Any) -> bool:
    numbers = isinstance(scale, list) and len(scale) == 2 and {type(value) for value in scale} <= {int, float}
    return numbers and isfinite(scale[0]) and isfinite(scale[1]) and scale[0] != scale[1]


def _damaged(path: Path, reason: str) -> SpecError:
    return SpecError(f'"{path}" is damaged: {reason}. Bring back a copy, or begin a new file.')


def _require_same(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    different = [
        f"{name} ({there.get(name)} there, {here[name]} here)"
        for name in ("learner", "temperature")
        if there.get(name) != here[name]
    ]
    if not different:
        old, new = there.get("options"), here["options"]
        old = old if isinstance(old, dict) else {}
        options = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
        different = [f"{name} of the learner ({old.get(name)} there, {new.get(name)} here)" for name in options]
    if there.get("kernel") != here["kernel"]:
        different.append(f"kernel (sha256 {str(there.get('kernel'))[:12]} there, {here['kernel'][:12]} here)")
    if different:
        raise other_loop(path, different)


def other_loop(path: Path, different: list[str]) -> SpecError:
    """What to say of a file that belongs to somebody else."""
    return SpecError(
        f'"{path}" was kept for another control loop, which differs in {", ".join(different)}. Ask for the same, or '
        "choose another file."
    )


def _is_of_one_state(learner: CompleteLearner, c_t: Floats, n: int) -> bool:
    """Whether a cost is that of the state where the system is; of a model with one state it is that of all as well."""
    return c_t.size == 1 and "observe_at" in learner.has and not (n == 1 and learner.sees_all)


def as_record(at: int, c_t: Floats | None) -> bytes:
    """Where the system is and, if there is one, the cost of a round, as it stands behind a snapshot."""
    costs = b"" if c_t is None else np.ascontiguousarray(c_t, dtype="<f8").tobytes()
    entry = ENTRY.pack(at, len(costs) // 8) + costs
    return CHECK.pack(zlib.crc32(entry)) + entry


def _records(path: Path, tail: bytes, n: int, learner: CompleteLearner) -> Iterator[tuple[int, Floats | None, int]]:
    """The whole records: where the system was, the cost if there is one, and how many bytes that makes so far."""
    start = 0
    while (first := start + CHECK.size + ENTRY.size) <= len(tail):
        (checksum,) = CHECK.unpack_from(tail, start)
        at, count = ENTRY.unpack_from(tail, start + CHECK.size)
        end = first + 8 * count
        if end > len(tail) or zlib.crc32(tail[start + CHECK.size : end]) != checksum:
            return
        if not PLACE_UNKNOWN <= at < n:
            raise _damaged(path, f"a record says that the system is in state {at}, and the model has {n}")
        costs = np.frombuffer(tail[first:end], dtype="<f8")
        single = not learner.sees_all or _is_of_one_state(learner, costs, n)
        if count and single and at == PLACE_UNKNOWN:
            raise _damaged(path, "a record has the cost of a state, and does not say of which")
        try:
            c_t = as_cost(costs, 1 if single else n) if count else None
        except CostError as wrong:
            raise _damaged(path, f"in a record, {str(wrong).rstrip('.')}") from None
        yield at, c_t, end
        start = end
