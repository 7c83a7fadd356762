"""Walkers: what somebody who watches the system would write down.

A walker starts somewhere and moves at random, X_{t+1} ~ Q(.|X_t): by one policy that stays the same (``simulate``), or
by the policies that a learner played in a game, round after round (``replay``). What the walkers did is a log of
movements, entity, time, state, as ``lsmdp fit`` reads it and ``fit`` estimates a kernel from.

    walk = lsmdp.simulate(solution.policy, 1000, walkers=20)
    walk.paths              (1001, 20): where each walker is at the times 0, 1, ..., 1000
    walk.to_frame()         the log, as an Arrow table

The long-run law is where walkers of a policy start unless a state is named, so that the log shows the system as it is
in the long run. Those of a game start where the game does: the law of X_t is then exactly that which the game has
reckoned with. A seed gives the same walk whatever the size of the blocks in which it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp._core.walks import running_sums, walk
from lsmdp.arrays import CSR, Floats, Ints, as_whole
from lsmdp.costs.given import is_replayable
from lsmdp.errors import AssumptionError, ConvergenceError, SpecError
from lsmdp.game import Run, start_law
from lsmdp.model import LMDP
from lsmdp.output.tables import log_table
from lsmdp.policy import AnyPolicy, Policy

if TYPE_CHECKING:
    import pyarrow as pa

STEPS_AT_ONCE = 2**19  # So many steps of all walkers are made at once: enough to be quick, and a few megabytes.
_NUMBERS_KEPT = 2**31  # So many states of walkers, one for each step, can be kept in memory: they take 16 GB.

WalkBlocks = Iterator[Ints]  # times x walkers, one after the other


@dataclass(frozen=True, eq=False, repr=False)
class Walk:
    """Where each walker was at each time: ``paths[t, k]`` is the number of a state."""

    lmdp: LMDP
    paths: Ints

    def to_frame(self) -> pa.Table:
        """The log: entity, time, state."""
        return log_table(self.paths, self.lmdp.labels)

    @property
    def shares(self) -> Floats:
        """The share of the time that the walkers spent in each state."""
        return np.bincount(self.paths.ravel(), minlength=self.lmdp.n) / self.paths.size

    def __repr__(self) -> str:
        times, walkers = self.paths.shape
        return f"Walk({walkers:,} walker{'s' * (walkers != 1)}, {times - 1:,} steps)"


def simulate(
    policy: AnyPolicy | LMDP, steps: int, *, walkers: int = 1, start: int | str | Floats | None = None, seed: int = 0
) -> Walk:
    """Let walkers move by a policy, or by the passive dynamics of a model, for so many steps.

    They start in a state, by a law, or by the long-run law of the policy where nothing is said.
    """
    lmdp = policy if isinstance(policy, LMDP) else policy.lmdp
    walks = as_whole(walkers, "the number of walkers", least=1)
    if (as_whole(steps, "the number of steps", least=1) + 1) * walks > _NUMBERS_KEPT:
        raise SpecError(
            f"{walkers:,} walkers of {steps:,} steps are too many to be kept in memory. The command lsmdp simulate "
            "writes them to a file as they come; here, ask for fewer."
        )
    Q = policy.P if isinstance(policy, LMDP) else policy.matrix()
    law = first_law(policy if start is None else lmdp, start)
    return Walk(lmdp, np.concatenate(list(wander(Q, law, steps, walkers, seed))))


def first_law(model: AnyPolicy | LMDP, start: int | str | Floats | None) -> Floats:
    """The law of the first state: that which is named, or the long-run law."""
    if start is not None:
        return start_law(model if isinstance(model, LMDP) else model.lmdp, start)
    policy: AnyPolicy = Policy(model, np.zeros(model.n)) if isinstance(model, LMDP) else model
    try:
        policy.lmdp.require_irreducible()
        return policy.stationary()
    except (AssumptionError, ConvergenceError) as unknown:
        raise unknown.__class__(f"{unknown} Or say where the walkers start: start= (--start).") from None


def wander(Q: CSR, law: Floats, steps: int, walkers: int, seed: int) -> WalkBlocks:
    """Walkers of a kernel that stays the same: where they start, and their steps, some at a time."""
    rng = np.random.default_rng(seed)
    states = _drawn(law, walkers, rng)
    yield states[np.newaxis]
    rows, size = running_sums(Q), max(STEPS_AT_ONCE // walkers, 1)
    for done in range(0, steps, size):
        paths = walk(rows, states, rng.random((min(size, steps - done), walkers)))
        states = paths[-1]
        yield paths


def replay(
    run: Run,
    learner: str | None = None,
    *,
    steps: int | None = None,
    walkers: int = 1,
    start: int | str | Floats | None = None,
    seed: int = 0,
) -> WalkBlocks:
    """Walkers of a learner in a game: in round t they move by the policy that it played in round t.

    The learner plays the costs of the game once more, as it did. There are no more steps than the game has rounds: what
    the learner would do afterwards depends on costs that nobody has seen. One that sees each cost beforehand (btl) is
    shown it here, too.
    """
    player = _player(run, learner)
    most = run.rounds if steps is None else steps
    if most > run.rounds:
        raise SpecError(
            f"{most:,} steps are asked for, and the run has {run.rounds:,} rounds. A learner moves once a round, by "
            "the policy of that round; what it would play later depends on costs to come. Ask for fewer steps, or for "
            "more walkers."
        )
    if not is_replayable(run.costs):
        raise SpecError("the costs of this run could be read only once, so nobody can say again what was played.")
    lmdp, rng = run.lmdp, np.random.default_rng(seed)
    states = _drawn(run.game.start if start is None else start_law(lmdp, start), walkers, rng)
    yield states[np.newaxis]
    state = player.init(lmdp, run.game.start)
    for c_t in islice(iter(run.costs), most):
        c_t = np.asarray(c_t)
        policy = player.foresee(lmdp, state, c_t) if player.clairvoyant else player.policy(lmdp, state)
        states = policy.sample(states, rng)
        yield states[np.newaxis]
        state = player.observe(lmdp, state, c_t)


def _player(run: Run, name: str | None) -> Any:
    players = {one.learner.name: one.learner for one in run.game.players}
    if name is None:
        return next(iter(players.values()))
    if name not in players:
        raise SpecError(f'"{name}" did not play in this run. Learners: {", ".join(players)}.')
    return players[name]


def _drawn(law: Floats, walkers: int, rng: np.random.Generator) -> Ints:
    """Independent draws from a law."""
    ends = np.cumsum(law)
    found = np.searchsorted(ends / ends[-1], rng.random(walkers), side="right")
    return np.asarray(np.minimum(found, np.flatnonzero(law)[-1]), dtype=np.int64)


def tables(blocks: WalkBlocks, labels: Any) -> Iterator[pa.Table]:
    """The log of blocks of steps, as Arrow tables of some size."""
    first, waiting, count = 0, [], 0
    for paths in blocks:
        waiting.append(paths)
        count += paths.size
        if count >= STEPS_AT_ONCE:
            whole = np.concatenate(waiting)
            yield log_table(whole, labels, first)
            first, waiting, count = first + len(whole), [], 0
    if waiting:
        yield log_table(np.concatenate(waiting), labels, first)
