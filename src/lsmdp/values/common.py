"""What the answers have in common: bounds from a start, and how tables and JSON speak of ends, states and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsmdp.arrays import EPS, Floats, as_distribution
from lsmdp.ends import Discounted, Goal, Horizon, Periodic
from lsmdp.model import LMDP


def bounds_from(lmdp: LMDP, lower: Floats, upper: Floats, start: Any) -> tuple[float, float]:
    """Bounds from a state, or from a law of the start."""
    if isinstance(start, str | int | np.integer | tuple):
        x = lmdp.state(start)
        return float(lower[x]), float(upper[x])
    p = as_distribution(start, lmdp.names)
    there = p > 0.0
    low, high = p[there] * lower[there], p[there] * upper[there]
    if not np.isfinite(high).all():
        return float(np.add.reduce(low)), math.inf
    off = float(EPS * (4.0 + np.count_nonzero(there)) * np.maximum(np.abs(low), np.abs(high)).sum())
    return float(np.add.reduce(low)) - off, float(np.add.reduce(high)) + off


def end_words(end: Any) -> str:
    """How tables and JSON speak of an end."""
    match end:
        case Goal():
            goals = [f"{state}" + (f"={float(cost):g}" if cost else "") for state, cost in end.items()]
            return f"goal {', '.join(goals[:5])}{' ...' if len(goals) > 5 else ''}"
        case Discounted():
            return f"discounted {end.discount!r}"
        case Horizon():
            return "horizon"
        case Periodic():
            return "periodic"
    return "average"


def finite_or_none(number: Any) -> float | None:
    """A number for JSON, which has no inf."""
    return float(number) if np.isfinite(number) else None


def state_column(lmdp: LMDP) -> list[Any]:
    """The states of a table: their labels, or their numbers."""
    return list(lmdp.labels) if lmdp.labels is not None else list(range(lmdp.n))
