"""``lsmdp compile``: afterwards, solves and games find everything compiled."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from click.testing import Result

import lsmdp
from lsmdp._core.compile import watched
from lsmdp.chain import is_reversible


def game(lmdp: lsmdp.LMDP, rounds: int = 200) -> None:
    costs = lsmdp.read_costs("iid", lmdp, rounds=rounds, seed=1)
    lsmdp.play(lmdp, lsmdp.FollowTheLeader(), costs).regret()


def test_nothing_is_left_to_compile(run: Callable[..., Result]) -> None:
    """In this process, where other tests may have compiled some of it before; what they have not is looked at.

    ``make test`` runs the command before all tests, and says so.
    """
    if "LSMDP_COMPILED" not in os.environ:
        assert run("compile").exit_code == 0
    compiled: list[str] = []
    with watched(compiled.append):
        lsmdp.solve(lsmdp.grid(30, 30), np.linspace(0, 1, 900))
        game(lsmdp.ring(12))
        game(lsmdp.grid(30, 30), rounds=20)
        game(lsmdp.random_graph(40, 40, seed=5))  # its laws are found from earlier ones
        lsmdp.simulate(lsmdp.random_graph(40, 4, seed=5), 9, walkers=2)
        policy = lsmdp.Policy(lsmdp.grid(3, 3), np.zeros(9)).matrix()
        assert is_reversible(policy.copy())  # which may be written to
    assert compiled == []
