"""What a run was made from, in hashes, and how two runs differ.

The hash of a kernel is that of its CSR arrays and labels, so it is the same for any file or name that gives the same
model. The hash of the costs covers all that determines their values. While a run is being played, the hash

    h_0 = 32 zero bytes,    h_t = sha256(h_{t-1}, bytes of c_t)

of the rounds so far is kept beside the game: a cost file may be repaired or completed beyond round t, and the run goes
on as if the file had always been like that.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.costs import Costs
from lsmdp.game import first_state
from lsmdp.model import LMDP
from lsmdp.runs.spec import Spec

# The figures of a run may depend on the versions of these packages, so they are written down.
_PACKAGES = ("lsmdp", "numpy", "scipy", "numba")
# These settings of two runs are compared one by one; the hashes speak for the rest.
_COMPARED = ("learners", "rounds", "start", "seed", "sample", "feedback", "scale", "temperature")
NO_ROUNDS = bytes(32)  # This is the hash of no rounds, with which the chain of hashes begins.


def manifest(spec: Spec, lmdp: LMDP, costs: Costs) -> dict[str, Any]:
    """Versions and hashes; nothing in it depends on the machine."""
    return {
        "versions": versions(),
        "kernel": kernel_hash(lmdp),
        "costs": costs.digest() if costs.replayable else None,
        "seed": spec.seed,
        "states": lmdp.n,
        "start": _named(lmdp, spec.start),
    } | ({} if costs.moves is None else {"moves": {"unit": costs.moves.unit, "least": costs.moves.least}})


def versions() -> dict[str, str]:
    """Of Python, and of what computes the numbers."""
    return {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES}


@cache  # to look it up is to read a file and to parse it, and every run asks for it
def _version(name: str) -> str:
    return version(name)


def kernel_hash(lmdp: LMDP) -> str:
    """The sha256 of P and the labels."""
    digest = hashlib.sha256(json.dumps([lmdp.n, lmdp.labels]).encode())
    for array, kind in ((lmdp.P.indptr, "<i8"), (lmdp.P.indices, "<i8"), (lmdp.P.data, "<f8")):
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest()


def next_hash(before: bytes, c_t: Floats) -> bytes:
    """h_t from h_{t-1} and c_t."""
    digest = hashlib.sha256(before)
    digest.update(np.ascontiguousarray(c_t, dtype="<f8").data)
    return digest.digest()


def hash_of_rounds(costs: Costs, t: int) -> bytes:
    """h_t."""
    found = NO_ROUNDS
    for c_t in islice(costs, t):
        found = next_hash(found, c_t)
    return found


def differences(there: Spec, here: Spec) -> list[str]:
    """The fields in which two specs differ, those aside that only say where the inputs are or what to print."""
    return [
        f"{name} ({_shown(getattr(there, name))} there, {_shown(getattr(here, name))} here)"
        for name in _COMPARED
        if getattr(there, name) != getattr(here, name)
    ]


def hash_difference(what: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """That an input has another hash, with the beginning of both."""
    old, new = ((side.get(what) or "unknown")[:12] for side in (there, here))
    return f"{what} (sha256 {old} there, {new} here)"


def _named(lmdp: LMDP, start: str) -> str | int:
    """The label of a state, or its number where states have no labels."""
    number = first_state(lmdp, start)
    return number if lmdp.labels is None else lmdp.labels[number]


def _shown(value: Any) -> str:
    if value is None:
        return "none given"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
