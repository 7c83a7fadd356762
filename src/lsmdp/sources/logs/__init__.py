"""From a log of movements to a model.

``fit`` estimates a kernel and says how well it predicts moves that were held out; ``from_trajectories`` gives the model
alone. log.py and trips.py read the two kinds of tables, columns.py finds their columns, times.py reads times, states.py
the list of all states, and estimate.py does the counting.
"""

from lsmdp.sources.logs.estimate import (
    SMOOTHING,
    Fit,
    HeldOut,
    fit,
    from_trajectories,
)
from lsmdp.sources.logs.log import Log, read_log

__all__ = ["SMOOTHING", "Fit", "HeldOut", "Log", "fit", "from_trajectories", "read_log"]
