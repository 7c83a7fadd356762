"""Facts of one Markov chain, given as a checked CSR kernel P (see :mod:`lsmdp.arrays`).

- :mod:`~lsmdp.chain.support`: strongly connected classes, shortest ways, period, least likely move;
- :mod:`~lsmdp.chain.laws`: reversibility and the stationary law, accurate in every component;
- :mod:`~lsmdp.chain.mixing`: Dobrushin coefficients of one and of k steps, primitivity index;
- :mod:`~lsmdp.chain.hitting`: expected hitting times, and a bound on them for large chains.

What is exact only up to some size is returned as a :class:`Fact` (fact.py): a value, or the reason why there is none.
"""

from lsmdp.chain.fact import Fact
from lsmdp.chain.hitting import (
    hitting_times,
    max_hitting_time,
    path_bound,
    time_by_paths,
)
from lsmdp.chain.laws import (
    is_reversible,
    long_run_law,
    reversible_law,
    stationary,
)
from lsmdp.chain.mixing import (
    dobrushin,
    doeblin,
    mixing_steps,
    overlap,
    primitivity_index,
)
from lsmdp.chain.support import (
    closed_class,
    largest_class,
    p_min,
    period,
    require_irreducible,
    search,
    strong_classes,
)

__all__ = [
    "Fact",
    "closed_class",
    "dobrushin",
    "doeblin",
    "hitting_times",
    "is_reversible",
    "largest_class",
    "long_run_law",
    "max_hitting_time",
    "mixing_steps",
    "overlap",
    "p_min",
    "path_bound",
    "period",
    "primitivity_index",
    "require_irreducible",
    "reversible_law",
    "search",
    "stationary",
    "strong_classes",
    "time_by_paths",
]
