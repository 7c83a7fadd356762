"""From a log of movements to a model: ``fit`` and ``from_trajectories``."""

from lsmdp.sources.logs.estimate import (
    SMOOTHING,
    Fit,
    HeldOut,
    fit,
    from_trajectories,
)
from lsmdp.sources.logs.log import Log, read_log

__all__ = ["SMOOTHING", "Fit", "HeldOut", "Log", "fit", "from_trajectories", "read_log"]
