"""From a log of movements to a model: ``fit`` and ``from_trajectories``."""

from lsmdp.trajectories.estimate import SMOOTHING, Fit, HeldOut, fit, from_trajectories
from lsmdp.trajectories.log import Log, read_log

__all__ = ["SMOOTHING", "Fit", "HeldOut", "Log", "fit", "from_trajectories", "read_log"]
