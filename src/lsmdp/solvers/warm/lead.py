"""Leaders: the optimum for one cost after another, each certified, each found from the last.

A learner that plays leaders says which costs are to be solved for, and within which gaps. ``lead`` solves for them
one after the other, and a :class:`Lead` is what it leaves: the value function v that is optimal for the last cost, the
bounds that certify it, and what the next solve begins with. That last part is a matter of the solvers alone. Nobody
else reads it; it is saved and restored with the rest, as a unit.

What is found depends on nothing but the arguments: it does not matter how the costs are cut into blocks, and a game
that goes on from a restored ``Lead`` has the same bits as one that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from lsmdp._core import full
from lsmdp.arrays import Floats, Ints
from lsmdp.inputs.forms import COUNT, Form, Past, anything, vector
from lsmdp.model import LMDP
from lsmdp.policy import Policy
from lsmdp.solvers.certified import solve
from lsmdp.solvers.warm.plan import NO_ANCHOR, LeaderMemory, Solved, solve_in_turn, were

# A policy on this many states is evaluated in about the time that a call from Python takes, some 30 microseconds.
_STATES_OF_ONE_CALL = 4_000


@dataclass(frozen=True, eq=False)
class Lead:
    """A leader: v with the bounds that it proves, the steps that it took, and what the next solve begins with.

    What stands behind the steps is for this package only: ``anchor, age, spent, recent`` are those of plan.py,
    ``inverse`` and ``debt`` those of a P that is written out. ``kept`` is derived from them and never saved: a leader
    that comes back from a file makes it again, bit for bit. ``story`` tells how the last costs were solved for.
    """

    v: Floats
    lo: float
    hi: float
    steps: int
    anchor: Floats = field(repr=False)
    age: int = field(repr=False)
    spent: float = field(repr=False)
    recent: float = field(repr=False)
    inverse: Floats = field(repr=False)
    debt: int = field(repr=False)
    kept: LeaderMemory = field(default_factory=LeaderMemory, repr=False)

    @property
    def story(self) -> tuple[str, ...]:
        """How the costs up to this leader were solved for, in sentences; empty once a later one has been found."""
        return self.kept.story_of(self.v)

    @classmethod
    def passive(cls, lmdp: LMDP) -> Lead:
        """The optimum for the zero cost: do nothing, pay nothing."""
        v = np.zeros(lmdp.n)
        inverse = lmdp.moves.inverse_at(v)
        return cls(v, 0.0 - lmdp.rounding, lmdp.rounding, 0, NO_ANCHOR, 0, 0.0, 0.0, inverse, 0)

    def policy(self, lmdp: LMDP) -> Policy:
        """The policy of v, with what its certificate has computed of it, as long as that is kept."""
        flow = self.kept.flow_at(self.v)
        return Policy(lmdp, self.v) if flow is None else Policy.with_flow(lmdp, flow)

    @property
    def factor_bytes(self) -> int:
        """Bytes of the factor that is kept, if one is."""
        return 0 if self.kept.factor is None else self.kept.factor.nbytes

    @property
    def is_swift(self) -> bool:
        """Whether the next rounds are solved faster in one block than one by one.

        So it is where there is an inverse or a factor, and where sweeps do without one. In a block the accounts
        evaluate each v once more, which costs less than a call only if there are few states.
        """
        swept = self.v.size <= _STATES_OF_ONE_CALL and self.spent == 0.0
        return bool(self.inverse.size or self.anchor.size or swept)

    def forms(self, _: Past) -> dict[str, Form]:
        """What its arrays must be when they come back from a file (forms.py).

        The inverse only says where to go next: nothing is believed of it.
        """
        n = self.v.size
        return {
            "v": vector(n),
            "lo": Form(),
            "hi": Form(),
            "steps": COUNT,
            "anchor": Form(((0,), (n,))),
            "age": COUNT,
            "spent": Form(low=0.0),
            "recent": Form(low=0.0),
            "inverse": anything(self.inverse.shape, single=True),
            "debt": COUNT,
        }


class Leads(NamedTuple):
    """The leaders of consecutive costs: bounds and steps of each, and the last of them as a whole.

    The first of ``v`` is where they began, so that the leader of row k of the costs is at k + 1.

    ``sums`` is what their certificates have summed up, so that the accounts of the rounds need not do it again; it is
    empty where that is not known.
    """

    v: Sequence[Floats] | Floats
    lo: Floats
    hi: Floats
    steps: Ints
    last: Lead
    sums: Floats


def lead(lmdp: LMDP, costs: Floats, gaps: Floats, start: Lead) -> Leads:
    """The optimum for each row of costs, certified within its gap, each from the last."""
    if not len(costs):
        nothing = np.empty(0)
        return Leads([start.v], nothing, nothing, np.empty(0, np.int64), start, full.UNKNOWN)
    at_once = lmdp.moves.lead(costs, gaps, start.v, start.inverse, start.debt)
    if at_once is not None:
        return _with_inverse(lmdp, costs, gaps, start, at_once)
    before = Solved(start.v, start.lo, start.hi, start.steps, start.anchor, start.age, start.spent, start.recent)
    found, last = solve_in_turn(lmdp, costs, gaps, before, start.kept)
    values = [start.v, *found.v] if len(found.v) < 2 else np.vstack([start.v, found.v])  # long ones are not copied
    return Leads(values, *found[1:], Lead(*last, start.inverse, start.debt, start.kept), full.UNKNOWN)


def _with_inverse(lmdp: LMDP, costs: Floats, gaps: Floats, start: Lead, leads: full.FullLeads) -> Leads:
    """The same where many costs are solved at once, with an inverse; what is too hard for that is solved in general."""
    story = [f"{were(leads.done, 'round')} solved at once by steps with an inverse."] * bool(leads.done)
    while leads.done < len(costs):
        at = leads.done
        hard = solve(lmdp, costs[at], tol=float(gaps[at]), start=leads.v[at])
        leads.v[at + 1], (leads.lo[at], leads.hi[at]), leads.steps[at] = hard.v, hard.bounds, hard.iterations
        rest = lmdp.moves.lead(costs[at + 1 :], gaps[at + 1 :], hard.v, lmdp.moves.inverse_at(hard.v), 0)
        assert rest is not None  # as before
        for column, more in zip((leads.v[1:], *leads[2:5]), (rest.v[1:], *rest[2:5]), strict=True):
            column[at + 1 :] = more
        leads = leads._replace(done=at + 1 + rest.done, inverse=rest.inverse, debt=rest.debt, sums=full.UNKNOWN)
        story.append(f"One round was too hard for that, and was solved by {hard.solver}.")
    last = replace(
        start,
        v=leads.v[-1].copy(),
        lo=float(leads.lo[-1]),
        hi=float(leads.hi[-1]),
        steps=int(leads.steps[-1]),
        inverse=leads.inverse,
        debt=leads.debt,
    )
    start.kept.tell(last.v, story)
    return Leads(leads.v, leads.lo, leads.hi, leads.steps, last, leads.sums)
