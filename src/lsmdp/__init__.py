"""Linearly solvable Markov decision processes, solved with a certificate and played online.

    import lsmdp
    lmdp = lsmdp.grid(30, 30)                                       # passive dynamics: a lazy random walk
    solution = lsmdp.solve(lmdp, c)                                 # .average_cost, .bounds, .v, .policy
    run = lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs)          # costs: c_1, c_2, ...
    print(run.regret())
    print(lsmdp.certify(run))                                       # every statement of the paper, as numbers

The imports below are the one list of public names, in the order of the manual. A type checker follows them. At run
time they are read and not executed: a name is imported when it is first used, so that ``import lsmdp`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:  # "X as X" tells type checkers that X is meant for others
    # isort: off
    from lsmdp.model import LMDP as LMDP
    from lsmdp.sources.makers import (
        grid as grid,
        ring as ring,
        random_graph as random_graph,
        sticky as sticky,
        rank_one as rank_one,
        clusters as clusters,
        from_edges as from_edges,
        from_networkx as from_networkx,
        from_gymnasium as from_gymnasium,
        gymnasium_costs as gymnasium_costs,
        from_counts as from_counts,
    )
    from lsmdp.sources.logs import from_trajectories as from_trajectories, fit as fit, Fit as Fit
    from lsmdp.sources import (
        read_model as read_model,
        write_model as write_model,
        read_cost as read_cost,
        read_edge_costs as read_edge_costs,
        read_scenarios as read_scenarios,
    )
    from lsmdp.solvers import (
        solve as solve,
        Solution as Solution,
        Auto as Auto,
        Power as Power,
        Direct as Direct,
        Dense as Dense,
        Krylov as Krylov,
        compose as compose,
    )
    from lsmdp.ends import (
        Average as Average,
        Goal as Goal,
        Discounted as Discounted,
        Horizon as Horizon,
        Periodic as Periodic,
    )
    from lsmdp.certificates import bounds as bounds
    from lsmdp.values import Values as Values, Schedule as Schedule, Cycle as Cycle
    from lsmdp.policy import Policy as Policy
    from lsmdp.mixture import Mixture as Mixture
    from lsmdp.game import play as play, rounds as rounds
    from lsmdp.game.walkers import simulate as simulate, Walk as Walk
    from lsmdp.costs import read_costs as read_costs
    from lsmdp.learners import (
        FollowTheLeader as FollowTheLeader,
        TrackTheLeader as TrackTheLeader,
        PhasedLeader as PhasedLeader,
        DiscountedLeader as DiscountedLeader,
        WindowLeader as WindowLeader,
        Clock as Clock,
        Visited as Visited,
        TrackTheDiscounted as TrackTheDiscounted,
        Pool as Pool,
        Passive as Passive,
        Fixed as Fixed,
        BeTheLeader as BeTheLeader,
    )
    from lsmdp.follow.memory import save as save, load as load
    from lsmdp.checks import check_learner as check_learner
    from lsmdp.theory import certify as certify, Certificate as Certificate
    from lsmdp.errors import (
        LsmdpError as LsmdpError,
        ModelError as ModelError,
        AssumptionError as AssumptionError,
        CostError as CostError,
        ConvergenceError as ConvergenceError,
        SpecError as SpecError,
    )
else:  # hidden from type checkers, which would take __getattr__ for leave to use any name
    import ast
    import importlib

    with open(__file__, encoding="utf-8") as _source:
        _MODULE_OF = {
            name.name: found.module.removeprefix("lsmdp.")
            for found in ast.walk(ast.parse(_source.read()))
            if isinstance(found, ast.ImportFrom) and found.module.startswith("lsmdp.")
            for name in found.names
        }

    __all__ = [*_MODULE_OF, "__version__"]

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'lsmdp' has no attribute '{name}'")
        return getattr(importlib.import_module(f"lsmdp.{_MODULE_OF[name]}"), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
