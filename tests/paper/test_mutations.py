"""Every corrected or new statement is able to fail: for each label, a world in which something is wrong trips it.

A mutation returns the certificate in the wrong world. Beside it, the same statement holds where nothing is wrong.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import lsmdp
from lsmdp.learners import Passive, Pool, TrackTheLeader
from lsmdp.theory import (
    STATEMENTS,
    Certificate,
    Claim,
    Trace,
    choice,
    examples,
    lemmas,
    trace,
)
from lsmdp.theory.trace import FindLeader, PlayerTrace, certified

from .games import Floats, certificate, checked

Patch = pytest.MonkeyPatch
Mutation = Callable[[Patch], Certificate]

COIN = lsmdp.LMDP([[0.5, 0.5], [0.5, 0.5]])  # where most bounds are attained: a(P) = 0, L = 1
RETURN = lsmdp.LMDP([[0.5, 0.5], [1.0, 0.0]])  # from state 1 to state 0 in one step, whatever happens
SWAP = lsmdp.LMDP([[0.3, 0.7], [0.7, 0.3]])
MIXED = lsmdp.LMDP([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]])
# Two states that meet in a third only: lem:mixing is attained where that one is the worst.
HUB = lsmdp.LMDP([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]])
HUB_COSTS = np.tile([0.0, 0.0, 1.0], (3, 1))

ALTERNATING = np.tile([[0.0, 1.0], [1.0, 0.0]], (15, 1))
ONE_SIDED = np.tile([1.0, 0.0], (60, 1))  # state 0 costs 1 in every round
SWAPS = {"swap": np.array([[0.0, 1.0], [1.0, 0.0]])}


# Worlds in which nothing is wrong.


@cache
def coin() -> Trace:
    """The coin with alternating costs."""
    return trace(COIN, ALTERNATING, start=0)


@cache
def mixed(leader: FindLeader = certified) -> Trace:
    """Three states that mix, with random costs and a learner that lags behind."""
    costs = np.random.default_rng(7).random((8, 3))
    return trace(MIXED, costs, [TrackTheLeader(), Pool([Passive(), TrackTheLeader()])], start=0, leader=leader)


@cache
def swap() -> Trace:
    """The game of thm:main: a policy that keeps in step with the costs."""
    return trace(SWAP, ALTERNATING, start=0, rivals=SWAPS)


@dataclass(frozen=True)
class SeekTheCosts(TrackTheLeader):
    """Tracks the leader of the costs 1 - c_t, and passes for tracking."""

    @property
    def name(self) -> str:
        return "seeks the costs"

    def observe(self, lmdp: Any, state: Any, c_t: Floats) -> Any:
        return super().observe(lmdp, state, 1.0 - c_t)


@cache
def sought() -> Trace:
    """The coin where one state always costs 1: an honest learner, and one that goes where the costs are."""
    return trace(COIN, ONE_SIDED, [TrackTheLeader(), SeekTheCosts()], start=0)


@cache
def hub() -> Trace:
    """Two states that meet in a third."""
    return trace(HUB, HUB_COSTS, start=0)


@cache
def returning() -> Trace:
    """A state that is left at once."""
    return trace(RETURN, ALTERNATING, start=0)


# False leaders.


def lying(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """The right policy with an average cost that is 1e-6 too high."""
    true = certified(lmdp, c_bar, last)
    return true._replace(lo=true.lo + 1e-6, hi=true.hi + 1e-6)


def wrong_values(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """The right policy and average cost with a value function that is wrong by 1e-6 in one state."""
    true = certified(lmdp, c_bar, last)
    return true._replace(v=true.v + 1e-6 * np.eye(lmdp.n)[0])


def overstated(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """Differences of the values that are 1 % too large."""
    true = certified(lmdp, c_bar, last)
    return true._replace(v=1.01 * true.v)


def eager(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """A policy that goes 5 % further than its values say."""
    true = certified(lmdp, c_bar, last)
    return true._replace(policy=lsmdp.Policy(lmdp, 1.05 * true.v))


def sloppy(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """A policy that is far from optimal, with the bounds of the optimal one."""
    true = certified(lmdp, c_bar, last)
    v = true.v + np.linspace(0.0, 0.5, lmdp.n)
    return Claim(v, true.lo, true.hi, lsmdp.Policy(lmdp, v))


def idle(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """P itself, with the average cost of the leader."""
    true = certified(lmdp, c_bar, last)
    return Claim(np.zeros(lmdp.n), true.lo, true.hi, lsmdp.Policy(lmdp, np.zeros(lmdp.n)))


def of_other_costs(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """The leader of costs that are a millionth higher."""
    return certified(lmdp, (1.0 + 1e-6) * c_bar, last)


class Misplaced(lsmdp.Policy):
    """A policy with a wrong stationary law, which depends on its values."""

    def stationary(self) -> Floats:
        law = np.arange(1.0, self.lmdp.n + 1.0) * np.exp(-3.0 * np.asarray(self.v))
        return law / law.sum()


def misplaced(lmdp: lsmdp.LMDP, c_bar: Floats, last: Claim | None) -> Claim:
    """The right policy with a wrong stationary law."""
    true = certified(lmdp, c_bar, last)
    return true._replace(policy=Misplaced(lmdp, true.v))


# How a world is made wrong.


def led_by(leader: FindLeader, label: str, player: bool = False) -> Mutation:
    """All leaders are false ones."""

    def mutate(_: Patch) -> Certificate:
        game = mixed(leader)
        return certificate(label, game, game.players[0] if player else None)

    return mutate


def coin_led_by(leader: FindLeader, label: str) -> Mutation:
    """The same in the game with the coin."""
    return lambda _: certificate(label, trace(COIN, ALTERNATING, start=0, leader=leader))


def with_constants(game: Callable[[], Trace], label: str, **changes: float) -> Mutation:
    """Constants that are too small."""
    return lambda _: certificate(label, game().with_constants(**changes))


def with_leaders(game: Callable[[], Trace], label: str, **factors: float) -> Mutation:
    """A column about the leaders that is off by a factor."""

    def mutate(_: Patch) -> Certificate:
        rows = game().leader
        changes = {name: factor * getattr(rows, name) for name, factor in factors.items()}
        return certificate(label, replace(game(), leader=rows._replace(**changes)))

    return mutate


def with_steps(game: Callable[[], Trace], label: str, **factors: float) -> Mutation:
    """A column about the steps that is off by a factor."""

    def mutate(_: Patch) -> Certificate:
        rows = game().steps
        changes = {name: factor * getattr(rows, name) for name, factor in factors.items()}
        return certificate(label, replace(game(), steps=rows._replace(**changes)))

    return mutate


def with_player(
    game: Callable[[], Trace], number: int, label: str, change: Callable[[Any], dict[str, Any]]
) -> Mutation:
    """The record of a learner is tampered with."""

    def mutate(_: Patch) -> Certificate:
        player = game().players[number]
        return certificate(label, game(), replace(player, rows=player.rows._replace(**change(player.rows))))

    return mutate


def passed_off(label: str) -> Mutation:
    """A learner that seeks the costs is passed off as follow the leader."""

    def mutate(_: Patch) -> Certificate:
        game = sought()
        return certificate(label, replace(game, ftl=PlayerTrace("exact ftl", game.players[1].rows, None)))

    return mutate


def with_rivals(label: str, player: bool = False, **changes: float) -> Mutation:
    """A figure of the fixed policies is replaced."""

    def mutate(_: Patch) -> Certificate:
        game = replace(swap(), rivals=[rival._replace(**changes) for rival in swap().rivals])
        return certificate(label, game, game.ftl if player else None)

    return mutate


def half_tau(patch: Patch) -> Certificate:
    """tau is half of what it is."""
    right = lemmas.mixing_time
    patch.setattr(lemmas, "mixing_time", lambda L: right(L) / 2.0)
    return certificate("lem:c_to_v/2", mixed())


def periodic(_: Patch) -> Certificate:
    """A cycle of two states: no power of P is positive."""
    return certificate("ass:irred", trace(lsmdp.LMDP([[0.0, 1.0], [1.0, 0.0]]), ALTERNATING[:3], start=0))


def strangers(_: Patch) -> Certificate:
    """A ring of four states: two of them have no common successor."""
    ring = lsmdp.LMDP(0.5 * (np.eye(4) + np.roll(np.eye(4), 1, axis=1)))
    return certificate("ass:ergod", trace(ring, np.eye(4), start=0))


def steep(patch: Patch) -> Certificate:
    """The slope of the lower bound is twice as large: even the best learner is not that bad."""
    patch.setattr(examples, "SLOPE", 2.0 * examples.SLOPE)
    return STATEMENTS["new:lower_coin"].check()


def generous(patch: Patch) -> Certificate:
    """The constant of the lower bound for all P is a thousand times as large: some learners lose less than that."""
    patch.setattr(choice, "FACTOR_OF_KAPPA", 1000.0 * choice.FACTOR_OF_KAPPA)
    return STATEMENTS["new:lower_choice"].check(COIN)


def wide(_: Patch) -> Certificate:
    """The values of tracking span 1 from the second round on, and the bound is said to be less."""
    return certificate("new:lemmaA", sought().with_constants(S_averaged=0.9), sought().players[0])


def not_virtual(patch: Patch) -> Certificate:
    """The leaders are those of costs that are a millionth higher."""
    right = examples.solve
    patch.setattr(examples, "solve", lambda lmdp, c, **options: right(lmdp, (1.0 + 1e-6) * np.asarray(c), **options))
    return STATEMENTS["new:kappa"].check(COIN, ALTERNATING, 2.0)


def tracks_other_costs(_: Patch) -> Certificate:
    """A learner that tracks the leader of 1 - c_t passes for tracking."""
    return certificate("new:tracking", sought(), sought().players[1])


def with_the_plan_of_other_costs(patch: Patch) -> Certificate:
    """The plan in hindsight is that of costs that are a millionth higher."""
    module = importlib.import_module("lsmdp.theory.trace")
    right = module.plan_of
    patch.setattr(module, "plan_of", lambda lmdp, costs, start: right(lmdp, (1.0 + 1e-6) * np.asarray(costs), start))
    game = mixed.__wrapped__()
    return certificate("new:dynamic", game, game.players[0])


@dataclass(frozen=True, eq=False)
class Stubborn(Pool):
    """Claims the weights of Hedge, and keeps all weight on its first expert."""

    def observe_block(self, lmdp: Any, state: Any, costs: Floats, policy: Any = None) -> Any:
        found = super().observe_block(lmdp, state, costs, policy)
        first = np.eye(len(self.experts))[0]
        return found._replace(state=found.state._replace(weights=first))


def with_pool(label: str, change: Callable[[Any], dict[str, Any]]) -> Mutation:
    """The rows of a pool are changed."""

    def mutate(_: Patch) -> Certificate:
        game = mixed()
        pool = game.pools[0]
        return certificate(label, game, replace(pool, rows=pool.rows._replace(**change(pool.rows))))

    return mutate


def favoured(_: Patch) -> Certificate:
    """All weight stays with an expert that seeks the dear state."""
    dear = lsmdp.Fixed(lsmdp.Policy(COIN, [0.0, 4.0]))
    game = trace(COIN, ONE_SIDED, [Stubborn([dear, lsmdp.FollowTheLeader()])], start=0)
    return certificate("new:pool/3", game, game.pools[0])


MUTATIONS: dict[str, Mutation] = {
    "ass:irred": periodic,
    "ass:ergod": strangers,
    "eq:bellman_V": led_by(wrong_values, "eq:bellman_V"),
    "eq:bellman_Z": led_by(wrong_values, "eq:bellman_Z"),
    "eq:statcost": led_by(lying, "eq:statcost"),
    "eq:statdist": led_by(misplaced, "eq:statdist"),
    "eq:optQ": led_by(eager, "eq:optQ"),
    "eq:klform": led_by(lying, "eq:klform"),
    "app:convexity": with_steps(coin, "app:convexity", pinsker=2.0),  # Pinsker's inequality without its 1/2
    "app:dual": led_by(lying, "app:dual"),
    "new:certificate": led_by(sloppy, "new:certificate"),
    "new:span": with_constants(coin, "new:span", S=0.9),  # the first cost has the span 1, and so has v
    "lem:vbound": lambda _: certificate("lem:vbound", trace(RETURN, ALTERNATING, start=0, leader=overstated)),
    "lem:vbound/2": coin_led_by(eager, "lem:vbound/2"),
    "lem:mixing": lambda _: certificate("lem:mixing", trace(HUB, HUB_COSTS, start=0, leader=eager)),
    "lem:c_to_v": with_constants(coin, "lem:c_to_v", L=0.99),
    "eq:span": coin_led_by(overstated, "eq:span"),  # v that are no fixed points of their operators
    "lem:c_to_v/2": half_tau,
    "lem:v_to_Q": coin_led_by(eager, "lem:v_to_Q"),
    "lem:change": with_constants(coin, "lem:change", L=0.48),
    "lem:price/2": led_by(misplaced, "lem:price/2"),
    "eq:lpiform": led_by(misplaced, "eq:lpiform"),
    "eq:lpidiff": led_by(misplaced, "eq:lpidiff"),
    "eq:mu_to_p": with_constants(coin, "eq:mu_to_p", L=0.5),
    "eq:pmudiff": with_constants(coin, "eq:pmudiff", L=0.5),
    "lem:trueloss/2": lambda _: certificate("lem:trueloss/2", replace(coin(), hull=0.9)),  # they reach from 0 to 1
    "lem:btl": led_by(idle, "lem:btl"),
    "lem:price": with_constants(coin, "lem:price", L=0.2),
    "lem:ideal": with_constants(coin, "lem:ideal", L=0.2),
    "unlabelled:comparator": with_rivals("unlabelled:comparator", mixing=0.1),  # "swap" never mixes
    "lem:trueloss": passed_off("lem:trueloss"),
    "eq:fullbound": passed_off("eq:fullbound"),
    "thm:main": passed_off("thm:main"),
    "new:identity": led_by(of_other_costs, "new:identity"),
    "new:inexact": with_player(mixed, 0, "new:inexact", lambda rows: {"own_shift": 0.0 * rows.own_shift}),
    "new:price": led_by(of_other_costs, "new:price"),
    "new:mirror": led_by(of_other_costs, "new:mirror"),
    "new:I1": with_player(mixed, 0, "new:I1", lambda rows: {"residual": (1.0 + 1e-6) * rows.residual}),
    "new:I2": with_player(mixed, 0, "new:I2", lambda rows: {"divergence": 0.0 * rows.divergence}),
    "new:I3": with_player(mixed, 0, "new:I3", lambda rows: {"ideal": rows.loss}),  # p_t in place of mu_t
    "new:I4": with_rivals("new:I4", phase=0.0),  # no phase term
    "new:dynamic": with_the_plan_of_other_costs,
    "new:log": passed_off("new:log"),
    "new:ksteps": passed_off("new:ksteps"),
    "new:sensitivity": with_leaders(coin, "new:sensitivity", sensitivity=0.95),
    "new:sensitivity/2": with_leaders(coin, "new:sensitivity/2", sensitivity=0.95),
    "new:expconcave": with_steps(coin, "new:expconcave", variance=0.9),
    "new:approximate": with_player(sought, 1, "new:approximate", lambda rows: {"error": 0.0 * rows.error}),
    "new:approximate/2": with_player(mixed, 0, "new:approximate/2", lambda rows: {"gap": 0.0 * rows.gap}),
    "new:tracking": tracks_other_costs,
    "new:lemmaA": wide,
    "new:comparator": with_rivals("new:comparator", player=True, mixing=0.1),
    "new:posteriori": with_player(sought, 1, "new:posteriori", lambda rows: {"divergence": 0.0 * rows.divergence}),
    "new:posteriori/3": with_player(sought, 1, "new:posteriori/3", lambda rows: {"divergence": 0.0 * rows.divergence}),
    "new:posteriori/2": with_leaders(coin, "new:posteriori/2", sensitivity=0.8),
    "new:lower_choice": generous,
    "new:L2": passed_off("new:L2"),
    "new:L2/2": with_constants(coin, "new:L2/2", L=0.6),
    "new:L2/3": with_constants(coin, "new:L2/3", L=0.2),
    "new:L2/4": with_steps(coin, "new:L2/4", turn=0.45),  # two equal states: Cov is half of what the spans allow
    "new:L2/5": with_player(sought, 1, "new:L2/5", lambda rows: {"divergence": 0.0 * rows.divergence}),
    "new:L2/6": with_leaders(coin, "new:L2/6", sensitivity=0.4),
    "new:corB": with_leaders(coin, "new:corB", sensitivity=0.95),
    "new:lower_coin": steep,
    "new:kappa": not_virtual,
    "new:pool": with_pool("new:pool", lambda rows: {"mixed": 0.99 * rows.mixed}),
    "new:pool/2": with_pool("new:pool/2", lambda rows: {"moved": 0.0 * rows.moved}),
    "new:pool/3": favoured,
}


@pytest.mark.parametrize("label", MUTATIONS)
def test_mutation(label: str, monkeypatch: Patch) -> None:
    found = MUTATIONS[label](monkeypatch)
    assert found.label == label
    assert found.reading in ("corrected", "new")
    assert found.holds is False
    assert found.failed or found.kind == "assumption"


def test_every_statement_is_mutated() -> None:
    assert list(MUTATIONS) == list(STATEMENTS)


@pytest.mark.parametrize("game", [coin, mixed, swap, hub, returning])
def test_tolerances_are_rounding(game: Callable[[], Trace]) -> None:
    """On games of some thirty rounds that are not ill-conditioned, nothing is let off more than about 1e-9."""
    for one in checked(game()):
        if one.holds is not None:
            assert one.tolerance <= 1e-9 * max(1.0, abs(one.figures[1])), one


@pytest.mark.parametrize("label", [label for label, one in STATEMENTS.items() if not one.standalone])
def test_without_the_mutation(label: str) -> None:
    """The worlds themselves are sound, and in one of them at least the statement says something."""
    one, found = STATEMENTS[label], []
    honest = replace(sought(), players=sought().players[:1])
    for game in (coin(), mixed(), swap(), hub(), returning(), honest):
        players = [player for player in (game.ftl, *game.players, *game.pools) if one.concerns(player)]
        found += [one.check(game, player) for player in players] if one.per_learner else [one.check(game)]
    assert all(each.holds in (True, None) for each in found)
    assert any(each.holds and not each.vacuous for each in found)
