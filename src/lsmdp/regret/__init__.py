"""Regret, exactly: what a learner paid, and what others would have paid on the same costs from the same start.

- :mod:`~lsmdp.regret.comparators`: the exact cost of any fixed policy;
- :mod:`~lsmdp.regret.bracket`: bounds on the cost of the best stationary policy, which search.py looks for;
- :mod:`~lsmdp.regret.hindsight`: the plan in hindsight, which knew all costs: nobody pays less;
- :mod:`~lsmdp.regret.dynamic`: the regret against that plan, by rounds and by states;
- :mod:`~lsmdp.regret.guarantee`: a bound on the regret against all policies with mixing sum at most m;
- :mod:`~lsmdp.regret.pooled`: a pool beside its experts;
- :mod:`~lsmdp.regret.summary`: all of it for a run.
"""

from lsmdp.regret.bracket import Bracket, bracket
from lsmdp.regret.comparators import FixedCost, fixed_cost, fixed_costs
from lsmdp.regret.dynamic import Attribution, Dynamic
from lsmdp.regret.guarantee import (
    CostRange,
    Guarantee,
    guarantee,
    mixing_sum,
)
from lsmdp.regret.hindsight import Hindsight
from lsmdp.regret.pooled import Experts
from lsmdp.regret.summary import LearnerRegret, Regret, regret

__all__ = [
    "Attribution",
    "Bracket",
    "CostRange",
    "Dynamic",
    "Experts",
    "FixedCost",
    "Guarantee",
    "Hindsight",
    "LearnerRegret",
    "Regret",
    "bracket",
    "fixed_cost",
    "fixed_costs",
    "guarantee",
    "mixing_sum",
    "regret",
]
