"""The paper, executed: each definition, lemma, theorem and bound is a function that returns numbers.

    report = lsmdp.certify(run)                       # or lsmdp.certify(lmdp, costs, learners)
    print(report)                                     # one line per label: left, right, holds
    report["lem:change"]                              # its certificates, printed and corrected

- :mod:`~lsmdp.theory.certificate`: a statement as numbers;
- :mod:`~lsmdp.theory.constants`: alpha, tau, L and the others, as explicit upper bounds;
- :mod:`~lsmdp.theory.trace`: one game, written down round by round (with leaders.py, player.py for learners, pools.py
  for pools, rivals.py for fixed policies, ahead.py for the plan in hindsight, rows.py and dense.py);
- :mod:`~lsmdp.theory.statement`: the register of statements, and how one is entered; page.py writes docs/paper.md from
  it, with the five slips of slips.py;
- :mod:`~lsmdp.theory.bellman`, :mod:`~lsmdp.theory.lemmas`, :mod:`~lsmdp.theory.regrets`: the statements of the paper;
- :mod:`~lsmdp.theory.identities`, :mod:`~lsmdp.theory.beyond`, :mod:`~lsmdp.theory.curvature`,
  :mod:`~lsmdp.theory.choice`, :mod:`~lsmdp.theory.examples`, :mod:`~lsmdp.theory.flows`: what it does not have;
- :mod:`~lsmdp.theory.verdicts`: all of them on one game.

docs/theory.md has the proofs, docs/paper.md the verdicts.
"""

from lsmdp.theory import (
    bellman,
    beyond,
    choice,
    curvature,
    examples,
    flows,
    identities,
    lemmas,
    regrets,
)
from lsmdp.theory.certificate import Certificate
from lsmdp.theory.constants import Constants, constants_for
from lsmdp.theory.leaders import Claim
from lsmdp.theory.statement import STATEMENTS, Statement
from lsmdp.theory.trace import Trace, trace
from lsmdp.theory.verdicts import Certificates, certify

__all__ = [
    "STATEMENTS",
    "Certificate",
    "Certificates",
    "Claim",
    "Constants",
    "Statement",
    "Trace",
    "bellman",
    "beyond",
    "certify",
    "choice",
    "constants_for",
    "curvature",
    "examples",
    "flows",
    "identities",
    "lemmas",
    "regrets",
    "trace",
]
