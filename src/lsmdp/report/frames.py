"""The map, moving: what the world and each learner look like in some rounds.

A run folder keeps figures, not pictures, so the rounds are played again from the spec: the same learners on the same
costs do the same. About ``FRAMES`` rounds are kept, dense at first and evenly spaced later, and fewer where the model
is so large that the page would grow beyond ``BUDGET``. Each field is one byte per state, scaled between its least and
its largest value in that frame; the law of the state is on a scale of square roots, so that rare places show too.

A flow has two bytes per state: the mean step of the policy, E[position of the next state] - position, in units of the
longest step in the frame.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.game import Run
from lsmdp.policy import Policy

FRAMES = 90
FEWEST = 6
BUDGET = 2_400_000  # bytes of fields, before they are written in base64


@dataclass(frozen=True, eq=False)
class Glimpse:
    """One round, before it is played: the cost to come, the mean so far, and each learner's policy and law."""

    t: int
    cost: Floats
    mean: Floats
    seats: Mapping[str, tuple[Policy, Floats]]


def wanted_rounds(T: int, n: int, learners: int, positions: bool) -> list[int]:
    """The rounds to keep: half of them spread like powers, half evenly, the last one always."""
    per_frame = n * (2 + learners * (4 if positions else 2))
    count = int(np.clip(BUDGET // max(per_frame, 1), FEWEST, FRAMES))
    powers = np.geomspace(1.0, T, max(count // 2, 2))
    even = np.linspace(1.0, T, max(count - count // 2, 2))
    return sorted({round(float(t)) for t in (*powers, *even)})


def glimpses(run: Run, rounds: list[int], watch: Callable[[int], None] | None = None) -> Iterator[Glimpse]:
    """Play the run again, and stop to look in these rounds."""
    lmdp, table = run.lmdp, run.table
    seats = [seat for seat in table.seats if not hasattr(seat.learner, "foresee")]
    states = {seat.learner.name: seat.learner.init(lmdp) for seat in seats}
    laws = {seat.learner.name: table.start for seat in seats}
    total, look = np.zeros(lmdp.n), set(rounds)
    for t, c_t in enumerate(run.costs, 1):
        c = np.asarray(c_t, dtype=np.float64)
        policies = {seat.learner.name: seat.learner.policy(lmdp, states[seat.learner.name]) for seat in seats}
        if t in look:
            yield Glimpse(t, c, total / max(t - 1, 1), {name: (policies[name], laws[name]) for name in policies})
        if t >= rounds[-1]:
            return
        for seat in seats:
            name = seat.learner.name
            law = policies[name].push(laws[name])
            laws[name] = law / law.sum()
            states[name] = seat.learner.observe(lmdp, states[name], c)
        total = total + c
        if watch is not None:
            watch(t)


def packed(glimpse: Glimpse, positions: Floats | None) -> dict[str, Any]:
    """A frame of the page."""
    fields = {"cost": scaled(glimpse.cost), "mean": scaled(glimpse.mean)}
    for name, (policy, law) in glimpse.seats.items():
        fields[f"value:{name}"] = scaled(policy.v)
        fields[f"law:{name}"] = scaled(law, root=True)
        if positions is not None:
            fields[f"flow:{name}"] = _flow(policy, positions)
    return {"t": glimpse.t, "fields": fields}


def scaled(values: Floats, root: bool = False) -> dict[str, Any]:
    """One byte per state, between the least and the largest value."""
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low) if high > low else np.zeros(values.shape)
    levels = np.round(255.0 * (np.sqrt(share) if root else share)).astype(np.uint8)
    return {"low": low, "high": high, "data": _text(levels)}


def _flow(policy: Policy, positions: Floats) -> dict[str, Any]:
    step = np.stack([policy.expect(positions[:, k]) - positions[:, k] for k in (1, 0)], axis=1)
    longest = float(np.abs(step).max())
    levels = np.round(127.0 + 127.0 * step / longest if longest > 0.0 else np.full(step.shape, 127.0))
    return {"low": 0.0, "high": longest, "data": _text(levels.astype(np.uint8).ravel())}


def _text(levels: Any) -> str:
    return base64.b64encode(levels.tobytes()).decode("ascii")
