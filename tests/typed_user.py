"""What a user's type checker sees. It is checked by ``make lint`` and never run.

The package imports its names when they are first used (``lsmdp.__init__``). Whoever writes ``lsmdp.solve`` must get
its types all the same, and whoever misspells it must be told: mypy calls an ignored error that is none an error.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import lsmdp
from lsmdp import (
    LMDP,
    FollowTheLeader,
    LsmdpError,
    solve,
)

lmdp = lsmdp.grid(5, 5)
assert_type(lmdp, LMDP)
assert_type(solve(lmdp, np.zeros(25)), lsmdp.Solution)
assert_type(lsmdp.solve(lmdp, np.zeros(25)).policy, lsmdp.Policy)
assert_type(lsmdp.__version__, str)
learner: FollowTheLeader = lsmdp.FollowTheLeader()
mistake: LsmdpError = lsmdp.CostError("a cost is not finite")

typo = lsmdp.slove  # type: ignore[attr-defined]
lsmdp.grid("5", 5)  # type: ignore[arg-type]
