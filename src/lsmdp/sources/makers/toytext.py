"""Gymnasium's toy-text environments (FrozenLake, CliffWalking, Taxi, ...) through their table ``P``.

In state x an action a leads to y with probability p(y|x, a) and pays the reward r(x, a, y). The passive dynamics acts
at random,

    P(y|x) = mean over a of p(y|x, a),

and the controller of a linearly solvable MDP then reweighs the *next states* rather than the actions: it may do
whatever a mixture of lucky outcomes could do, at the price of KL. **That includes overriding a slip.** Where an action
may end in several states, as on the ice of FrozenLake, KL control picks among these outcomes, and no real action can:
its cost is a lower bound on what an agent with those actions pays, and its policy is not one that such an agent can
follow. Where every action has one outcome, the two agree in what can be reached. An episode that ends begins again: a
terminal state (one that is entered with the flag ``terminated``) leads to the initial distribution of the environment,
so the model goes on for ever, and average cost replaces the return.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

import numpy as np
from scipy import sparse

from lsmdp.arrays import (
    CSR,
    Floats,
    as_distribution,
    like,
)
from lsmdp.errors import CostError, ModelError
from lsmdp.inputs.notes import guessed
from lsmdp.model import LMDP
from lsmdp.sources.makers.shared import Bools, Repairs


def from_gymnasium(env: Any, **repairs: Unpack[Repairs]) -> LMDP:
    """The model of an environment with a table ``P``: actions at random, and a new episode after each end.

    States that no episode visits (the cliff, the taxi's impossible states) are dropped with ``largest_class=True``.
    Where states are the cells of a map (FrozenLake, CliffWalking), ``positions`` are its rows and columns.

    KL control may override a slip, which real actions cannot: where actions have several outcomes, it chooses among
    these, so the least average cost here is at most that of an agent with the actions of the environment, and may be
    far below. That is said (by the logger ``lsmdp``) when such an environment is read.
    """
    chances, _, _ = _tables(env)
    if slips := _slips(env):
        guessed(
            type(getattr(env, "unwrapped", env)).__name__,
            f"{slips:,} actions have several outcomes. KL control may override such a slip, which real actions cannot: "
            "costs found here are lower bounds on theirs",
        )
    if (places := _cells(env, chances.shape[0])) is not None:
        repairs = {"positions": places, **repairs}
    return LMDP.repaired(chances, **repairs)


def _slips(env: Any) -> int:
    """How many pairs of a state and an action lead to more than one state."""
    table = getattr(env, "unwrapped", env).P
    rows = (actions.values() if isinstance(actions, dict) else actions for actions in table.values())
    return sum(len({int(y) for p, y, *_ in action if p > 0.0}) > 1 for actions in rows for action in actions)


def gymnasium_costs(env: Any, lmdp: LMDP) -> CSR:
    """The rewards of an environment as costs of moves in [0, 1], for ``lmdp.with_edge_costs``.

    c(x, y) = (r_max - r(x, y)) / (r_max - r_min), r(x, y) the mean reward of moving from x to y, actions at random.
    Moves that are not in the table (a new episode, a teleport) have reward 0. Equal rewards cost 0.
    """
    chances, rewards, n = _tables(env)
    if n != (lmdp.n if lmdp.origin is None else lmdp.origin_n):
        raise CostError(f"the environment has {n} states, but the model came from {lmdp.origin_n or lmdp.n}.")
    kept = np.arange(n) if lmdp.origin is None else lmdp.origin
    x, y = kept[lmdp.entry_rows], kept[lmdp.P.indices]
    paid, chance = (np.asarray(table[x, y]).ravel() for table in (rewards, chances))
    r = np.divide(paid, chance, out=np.zeros(paid.size), where=chance > 0.0)
    low, high = float(r.min()), float(r.max())
    return like(lmdp.P, (high - r) / (high - low) if high > low else np.zeros(r.size))


def _tables(env: Any) -> tuple[CSR, CSR, int]:
    """P, the rewards P(y|x) r(x, y), and the number of states."""
    bare = getattr(env, "unwrapped", env)
    table = getattr(bare, "P", None)
    if not isinstance(table, dict) or not table:
        raise ModelError(
            f"{type(bare).__name__} has no table P of transitions. Toy-text environments such as FrozenLake, "
            "CliffWalking and Taxi have one; of others, fit a model to logs with lsmdp.fit."
        )
    n = len(table)
    entries = np.array(list(_entries(table, n)), dtype=np.float64).reshape(-1, 5)
    x, y = entries[:, 0].astype(np.int64), entries[:, 1].astype(np.int64)
    ended = entries[:, 4] > 0.0
    terminal = np.zeros(n, dtype=bool)
    terminal[y[ended]] = True
    own = ~terminal[x]
    chances = sparse.coo_array((entries[own, 2], (x[own], y[own])), shape=(n, n)).tocsr()
    rewards = sparse.coo_array((entries[own, 2] * entries[own, 3], (x[own], y[own])), shape=(n, n)).tocsr()
    if terminal.any():
        law = _initial(bare, n)
        restart = sparse.csr_array(law[None, :])
        chances = (chances + sparse.csr_array(terminal[:, None].astype(np.float64)) @ restart).tocsr()
        odd = own & ~ended & terminal[y] & _reached(chances, law > 0.0)[x]
        if odd.any():
            raise ModelError(
                f"state {y[odd][0]} ends some episodes that enter it and not others. Make one state of each, or build "
                "the model with from_edges."
            )
    return chances, rewards, n


def _reached(chances: CSR, seen: Bools) -> Bools:
    """Which states can be reached from those seen so far."""
    while True:
        more = seen | (chances.T @ seen.astype(np.float64) > 0.0)
        if (more == seen).all():
            return seen
        seen = more


def _entries(table: dict[Any, Any], n: int) -> Iterator[tuple[float, float, float, float, float]]:
    for x, actions in table.items():
        outcomes = list(actions.values()) if isinstance(actions, dict) else list(actions)
        for action in outcomes:
            for p, y, r, ended in action:
                if not (0 <= int(x) < n and 0 <= int(y) < n):
                    raise ModelError(
                        f"the table P leads from {x} to {y}, but there are {n} states. Number them from 0."
                    )
                if p > 0.0:
                    yield float(x), float(y), float(p) / len(outcomes), float(r), float(ended)


def _initial(bare: Any, n: int) -> Floats:
    law = getattr(bare, "initial_state_distrib", None)
    if law is None:
        raise ModelError(
            f"{type(bare).__name__} has states that end an episode, and no initial_state_distrib to begin the next one "
            "with. Set that attribute to a law over the states."
        )
    return as_distribution(law, n)


def _cells(env: Any, n: int) -> Floats | None:
    bare = getattr(env, "unwrapped", env)
    shape = getattr(bare, "shape", (getattr(bare, "nrow", None), getattr(bare, "ncol", None)))
    if not (isinstance(shape, tuple) and len(shape) == 2 and None not in shape and shape[0] * shape[1] == n):
        return None
    return np.stack(np.unravel_index(np.arange(n), shape), axis=1).astype(np.float64)
