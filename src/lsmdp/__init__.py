"""Linearly solvable Markov decision processes, solved with a certificate and played online.

    import lsmdp
    lmdp = lsmdp.grid(30, 30)                                       # passive dynamics: a lazy random walk
    solution = lsmdp.solve(lmdp, c)                                 # .average_cost, .bounds, .v, .policy
    run = lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs)          # costs: c_1, c_2, ...
    print(run.regret())
    print(lsmdp.certify(run))                                       # every statement of the paper, as numbers

Names are imported where they are first used, so that ``import lsmdp`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsmdp.checks import check_learner
    from lsmdp.costs import read_costs
    from lsmdp.errors import AssumptionError, ConvergenceError, CostError, LsmdpError, ModelError, SpecError
    from lsmdp.game import play, rounds
    from lsmdp.learners import (
        BeTheLeader,
        DiscountedLeader,
        Fixed,
        FollowTheLeader,
        Passive,
        PhasedLeader,
        TrackTheLeader,
        WindowLeader,
    )
    from lsmdp.makers import (
        clusters,
        from_counts,
        from_edges,
        from_gymnasium,
        from_networkx,
        grid,
        gymnasium_costs,
        random_graph,
        rank_one,
        ring,
        sticky,
    )
    from lsmdp.memory import load, save
    from lsmdp.model import LMDP
    from lsmdp.perron import Auto, Dense, Direct, Krylov, Power, Solution, solve
    from lsmdp.policy import Policy
    from lsmdp.sources import read_cost, read_edge_costs, read_model, write_model
    from lsmdp.theory import Certificate, certify
    from lsmdp.trajectories import Fit, fit, from_trajectories

__version__ = "0.1.0"

_HOME = {
    "checks": ("check_learner",),
    "costs": ("read_costs",),
    "game": ("play", "rounds"),
    "learners": (
        "BeTheLeader",
        "DiscountedLeader",
        "Fixed",
        "FollowTheLeader",
        "Passive",
        "PhasedLeader",
        "TrackTheLeader",
        "WindowLeader",
    ),
    "errors": ("AssumptionError", "ConvergenceError", "CostError", "LsmdpError", "ModelError", "SpecError"),
    "makers": (
        "clusters",
        "from_counts",
        "from_edges",
        "from_gymnasium",
        "from_networkx",
        "grid",
        "gymnasium_costs",
        "random_graph",
        "rank_one",
        "ring",
        "sticky",
    ),
    "memory": ("load", "save"),
    "model": ("LMDP",),
    "perron": ("Auto", "Dense", "Direct", "Krylov", "Power", "Solution", "solve"),
    "policy": ("Policy",),
    "sources": ("read_cost", "read_edge_costs", "read_model", "write_model"),
    "theory": ("Certificate", "certify"),
    "trajectories": ("Fit", "fit", "from_trajectories"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [  # noqa: RUF022 - grouped by subject
    "LMDP",
    "grid",
    "ring",
    "random_graph",
    "sticky",
    "rank_one",
    "clusters",
    "from_edges",
    "from_networkx",
    "from_gymnasium",
    "gymnasium_costs",
    "from_counts",
    "from_trajectories",
    "fit",
    "Fit",
    "read_model",
    "write_model",
    "read_cost",
    "read_edge_costs",
    "solve",
    "Solution",
    "Policy",
    "Auto",
    "Power",
    "Direct",
    "Dense",
    "Krylov",
    "play",
    "rounds",
    "read_costs",
    "FollowTheLeader",
    "TrackTheLeader",
    "PhasedLeader",
    "DiscountedLeader",
    "WindowLeader",
    "Passive",
    "Fixed",
    "BeTheLeader",
    "save",
    "load",
    "check_learner",
    "certify",
    "Certificate",
    "LsmdpError",
    "ModelError",
    "AssumptionError",
    "CostError",
    "ConvergenceError",
    "SpecError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'lsmdp' has no attribute '{name}'")
    return getattr(importlib.import_module(f"lsmdp.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
