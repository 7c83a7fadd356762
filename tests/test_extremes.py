"""Policies at low temperature, where chances span more decades than floats do, against arithmetic that has no end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from typer.testing import Result

import lsmdp
from lsmdp import (
    LMDP,
    ConvergenceError,
    Policy,
    runs,
    solve,
)
from lsmdp.game import Game

Run = Callable[..., Result]
mp = mpmath.mpf
Matrix = np.ndarray
DIGITS = 60
TEMPERATURES = [1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-6]
ACCURATE = 1e-11  # exponents below 745, off by a few eps each, in sums of a few terms: 1e-12 at most, ten times that


def exact_policy(P: Matrix, v: Matrix, T: float) -> list[list[mpmath.mpf]]:
    """Q_v by its definition; mpmath's exponents have no limits, so nothing underflows."""
    rows = []
    for x in range(len(v)):
        weights = [mp(P[x, y]) * mpmath.exp(-mp(v[y]) / mp(T)) if P[x, y] > 0 else mp(0) for y in range(len(v))]
        total = mpmath.fsum(weights)
        rows.append([weight / total for weight in weights])
    return rows


def exact_law(Q: list[list[mpmath.mpf]]) -> list[mpmath.mpf]:
    """The stationary law by state reduction, which subtracts nothing."""
    n, A = len(Q), [row[:] for row in Q]
    for k in range(n - 1, 0, -1):
        leave = mpmath.fsum(A[k][:k])
        for x in range(k):
            A[x][k] /= leave
            for y in range(k):
                A[x][y] += A[x][k] * A[k][y]
    mu = [mp(1)]
    for k in range(1, n):
        mu.append(mpmath.fsum(mu[x] * A[x][k] for x in range(k)))
    total = mpmath.fsum(mu)
    return [mass / total for mass in mu]


def exact_divergence(Q: list[list[mpmath.mpf]], R: list[list[mpmath.mpf]]) -> tuple[list[mpmath.mpf], mpmath.mpf]:
    """KL(Q || R) in each state, and the largest l1 distance of two rows."""
    pairs = [[(q, r) for q, r in zip(*rows, strict=True) if r > 0] for rows in zip(Q, R, strict=True)]
    kl = [max(mpmath.fsum(q * mpmath.log(q / r) for q, r in row), mp(0)) for row in pairs]  # the sum has 60 digits
    return kl, max(mpmath.fsum(abs(q - r) for q, r in row) for row in pairs)


def near(found: float, true: mpmath.mpf, least: float = 0.0) -> bool:
    """Within twelve digits, or below what matters."""
    return bool(abs(mp(float(found)) - true) <= ACCURATE * abs(true) + least)


@st.composite
def steep_models(draw: st.DrawFn) -> tuple[LMDP, Matrix, Matrix]:
    """A sparse or full P, reversible or not, and two value functions, alike or not, at any temperature."""
    n, rng = draw(st.integers(2, 6)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = 10.0 ** -rng.uniform(0, draw(st.sampled_from([1.0, 8.0])), (n, n))
    if draw(st.booleans()):  # sparse
        W *= (rng.random((n, n)) < 0.4) | np.eye(n, dtype=bool) | np.roll(np.eye(n, dtype=bool), 1, axis=1)
    if draw(st.booleans()):  # reversible
        W = W + W.T
    T = draw(st.sampled_from(TEMPERATURES))
    scale = draw(st.sampled_from([1.0, T, 30.0 * T, 1e3 * T]))
    v = rng.uniform(0, 1, n) * scale
    apart = draw(st.sampled_from([1.0, 1e-3, 1e-8]))
    other = rng.uniform(0, 1, n) if apart == 1.0 else v + apart * scale * rng.uniform(0, 1, n)
    return LMDP(W, temperature=T, normalise=True), v, other


@given(steep_models())
@settings(max_examples=250)  # some twenty for each of four scales and three distances
def test_a_change_of_policy_is_that_of_its_definition(model: tuple[LMDP, Matrix, Matrix]) -> None:
    """Where the policies are alike, y is known to some eps only, and so q y^2/2 to some eps y: that is allowed for."""
    lmdp, v, other = model
    kl, change = lmdp.moves.divergence(lmdp.moves.flow(v), lmdp.moves.flow(other))
    with mpmath.workdps(DIGITS):
        P = lmdp.P.toarray()
        true, distance = exact_divergence(*(exact_policy(P, values, lmdp.temperature) for values in (v, other)))
        rounding = 1e-13  # of y: a sum of logarithms of at most 40, in which E[d] <= 20 stands for most
        assert near(change, distance, least=rounding)
        for found, expected in zip(kl, true, strict=True):
            assert near(found, expected, least=float(rounding * mpmath.sqrt(2 * expected) + rounding**2))
        assert 0.0 <= change <= 2.0 + 1e-12


@st.composite
def policies_with_wells(draw: st.DrawFn) -> Policy:
    """Values on a few levels, and differences of the size of the temperature between states of one level.

    Then several states share the mass, in proportions that depend on digits of v which v/T would not have.
    """
    n, rng = draw(st.integers(2, 6)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = 10.0 ** -rng.uniform(0, draw(st.sampled_from([1.0, 8.0, 100.0])), (n, n))
    if draw(st.booleans()):  # sparse
        W *= (rng.random((n, n)) < 0.4) | np.eye(n, dtype=bool) | np.roll(np.eye(n, dtype=bool), 1, axis=1)
    if draw(st.booleans()):  # reversible
        W = W + W.T
    T = 10.0 ** -draw(st.integers(0, 15))
    levels = rng.choice([0.0, 0.3, 0.7, 1.0], n) * draw(st.sampled_from([1.0, 100 * T, 300 * T, 700 * T]))
    return Policy(LMDP(W, temperature=T, normalise=True), levels + T * rng.uniform(0, 3, n))


@given(policies_with_wells())
@settings(max_examples=500)  # some ten for each of 48 kinds: spans of W and of v, sparse, reversible
def test_a_stationary_law_is_right_or_refused(policy: Policy) -> None:
    """Of the kernel that v stands for, float by float; it is refused only where it is not reversible."""
    try:
        mu = policy.stationary()
    except ConvergenceError:
        assert policy.lmdp.reversible_law is None
        return
    with mpmath.workdps(DIGITS):
        true = exact_law(exact_policy(policy.lmdp.P.toarray(), policy.v, policy.lmdp.temperature))
        assert all(near(found, expected, least=1e-14) for found, expected in zip(mu, true, strict=True))


def test_a_law_that_hangs_on_the_last_digits_of_v() -> None:
    lmdp = LMDP([[0.39, 0.61, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], temperature=1e-15)
    solution = solve(lmdp, [0.9, 0.1, 0.0], tol=1e-9)
    np.testing.assert_allclose(solution.stationary, [0.0, 0.5, 0.5], rtol=1e-12)


def test_moves_that_floats_have_lost_may_matter_and_then_there_is_no_law() -> None:
    """From state 0 to state 1 it is 1e-400, which no float is; back it takes three moves of 1e-150, so 1e450 steps.

    So all of the mass is in state 1, although floats see state 0 as the only one that is never left.
    """
    P = [[1.0, 1e-300, 0.0, 0.0], [0.0, 1.0, 1e-150, 0.0], [0.0, 1.0, 0.0, 1e-150], [1e-250, 1.0, 0.0, 0.0]]
    policy = Policy(LMDP(P), np.array([0.0, 1.0, 1.0, 1.0]) * 100 * np.log(10))
    with mpmath.workdps(DIGITS):
        assert exact_law(exact_policy(policy.lmdp.P.toarray(), policy.v, 1.0))[1] > 0.9
    with pytest.raises(ConvergenceError, match="beyond float64"):
        policy.stationary()


def test_moves_that_floats_have_lost_need_not_matter() -> None:
    """A long lazy road to its end: no path has a chance above 2^-1200, but all arrive after 2,400 steps or so."""
    n = 1200
    P = sparse.diags_array([np.full(n, 0.5), np.full(n - 1, 0.5)], offsets=[0, 1]).tolil()
    P[n - 1, n - 1], P[n - 1, 0] = 1.0, 1e-300
    v = np.zeros(n)
    v[0] = 100.0  # so that the way back is 1e-343
    mu = Policy(LMDP(P.tocsr()), v).stationary()
    assert (mu[-1], mu[:-1].max()) == (1.0, 0.0)


GAMES = {
    "reversible": (lsmdp.sticky(0.7), "binary"),
    "full": (LMDP(np.random.default_rng(1).dirichlet(np.ones(4), 4)), "binary"),
    "sparse": (lsmdp.ring(5, 0.5), "iid"),
    "larger": (lsmdp.random_graph(65, 3, seed=1), "iid"),  # too large to be written out
}
LEARNERS = [lsmdp.WindowLeader(1), lsmdp.FollowTheLeader(), lsmdp.TrackTheLeader()]


def cooled(lmdp: LMDP, T: float) -> LMDP:
    return LMDP(lmdp.P, temperature=T)


def all_books() -> list[Any]:
    """Every learner at every temperature; on the larger model, which takes most of the time, in turns."""
    return [
        pytest.param(name, T, learner, id=f"{name}-{T}-{learner.name}")
        for name in GAMES
        for k, T in enumerate(TEMPERATURES)
        for learner in (LEARNERS if name != "larger" else [LEARNERS[k % len(LEARNERS)]])
    ]


@pytest.mark.parametrize(("name", "T", "learner"), all_books())
def test_the_books_of_a_game_are_right_or_empty(name: str, T: float, learner: lsmdp.learners.Learner) -> None:
    """Change, idealised loss and step of every round against their definitions, for the v that the learner played."""
    model, family = GAMES[name]
    lmdp, rounds = cooled(model, T), 2 if name == "larger" else 6
    costs = list(lsmdp.read_costs(family, lmdp, rounds=rounds, seed=3))
    played = list(lsmdp.rounds(lmdp, learner, costs))
    P, state, known = lmdp.P.toarray(), learner.init(lmdp), 0
    for t, (c_t, row) in enumerate(zip(costs, played, strict=True), 1):
        v = learner.policy(lmdp, state).v
        state = learner.observe(lmdp, state, c_t)
        with mpmath.workdps(DIGITS):
            Q, R = (exact_policy(P, values, T) for values in (v, learner.policy(lmdp, state).v))
            kl, change = exact_divergence(Q, R)
            passive = exact_policy(P, np.zeros(lmdp.n), T)
            assert near(row.policy_change, change, least=1e-13)
            assert np.isnan(row.ideal_loss) == np.isnan(row.ideal_step)
            if np.isnan(row.ideal_loss):
                assert lmdp.reversible_law is None
                continue
            known += 1
            mu, control = exact_law(Q), exact_divergence(Q, passive)[0]
            step = t * T * mpmath.fsum(m * d for m, d in zip(mu, kl, strict=True))
            ideal = mpmath.fsum(m * (mp(float(c)) + T * d) for m, c, d in zip(mu, c_t, control, strict=True))
            # the law of a small game is 1e-12 off in the l1 norm (full_laws.py), and KL <= span(v)/T
            assert near(row.ideal_step, step, least=1e-12 * t * (T + float(np.ptp(v))))
            assert near(row.ideal_loss, ideal, least=1e-12 * (1.0 + T + float(np.ptp(v))))
    assert known > 0


@pytest.mark.parametrize("T", TEMPERATURES)
@pytest.mark.parametrize("name", ["reversible", "sparse"])
def test_the_identity_of_follow_the_leader_at_any_temperature(name: str, T: float) -> None:
    """With r the residual of v for c_bar, t T mu_t.KL(Q_t || Q_{t+1}) = f(pi_t; c_t) + (t-1) mu_t.r_t - t mu_t.r_{t+1}.

    Each mean of r is within its bounds and so is lambda, so that the sums differ by sum (t-1) gap_t + t gap_{t+1}.
    """
    model, family = GAMES[name]
    lmdp, rounds = cooled(model, T), 30
    run = lsmdp.play(lmdp, lsmdp.FollowTheLeader(), lsmdp.read_costs(family, lmdp, rounds=rounds, seed=1))
    (found,) = run.regret().learners
    if found.idealised is None:
        assert found.identity is None
        assert T < 1e-3
        assert lmdp.reversible_law is None
    else:
        allowed = rounds * (rounds + 1) * found.tally.max_gap + 1e-9
        assert found.identity == pytest.approx(found.idealised, abs=allowed)


class TestAGameWithoutALaw:
    """On this ring the tracker's first policy has several cycles that it never leaves, as far as floats can tell."""

    GAME = ("ring:12:0.5", "--costs", "binary", "--rounds", 60, "--learner", "track", "--temperature", 0.003)

    @pytest.fixture
    def folder(self, run: Run, tmp_path: Path) -> Path:
        result = run("play", *self.GAME, "--out", tmp_path / "game")
        assert result.exit_code == 0, result.stderr
        return tmp_path / "game"

    def test_it_is_played_to_its_end_and_says_what_is_missing(self, run: Run, folder: Path) -> None:
        table = runs.Folder(folder).rounds().to_pydict()
        lost = [value is None for value in table["ideal_loss"]]
        assert [value is None for value in table["ideal_step"]] == lost
        assert 0 < sum(lost) < 60
        for column in ("loss", "control_cost", "policy_change", "gap"):
            assert np.isfinite(np.array(table[column], dtype=np.float64)).all()
        told = json.loads(run("show", folder, "--json").stdout)
        track = told["learners"]["track"]
        assert [track[name] for name in ("ideal_loss", "idealised_regret", "transient")] == [None] * 3
        assert track["regret"]["leader"] is not None
        (note,) = told["notes"]
        assert note.startswith("There is no idealised loss or regret of track: in some rounds the stationary law")
        assert "is beyond float64" in " ".join(run("show", folder).stdout.split())

    def test_every_other_command_takes_it(self, run: Run, folder: Path) -> None:
        for command in ("report", "figures"):
            assert run(command, folder).exit_code == 0
        assert "There is no idealised loss or regret of track" in (folder / "report.html").read_text()
        result = run("certify", folder, "--json")
        assert result.exit_code == 0
        reasons = {one["label"]: one["where"] for one in json.loads(result.stdout)["certificates"] if one["about"]}
        assert reasons["new:I3"] == "the stationary law of its policy is beyond float64 in some rounds"
        again = run("play", *self.GAME, "--out", folder, "--resume")
        assert again.exit_code == 0

    def test_it_goes_on_where_it_was_stopped(self, run: Run, folder: Path, tmp_path: Path) -> None:
        whole, part = runs.Folder(folder).rounds().to_pydict(), tmp_path / "part"

        def stop(game: Game, _: int | None) -> None:
            if game.t == 7:
                raise KeyboardInterrupt

        spec = runs.Spec.of(kernel="ring:12:0.5", costs="binary", rounds=60, learners=["track"], temperature=0.003)
        with pytest.raises(KeyboardInterrupt):
            runs.start(spec, part, watch=stop)
        assert json.loads(run("show", part, "--json").stdout)["learners"]["track"]["ideal_loss"] is None
        assert run("play", *self.GAME, "--out", part, "--resume").exit_code == 0
        again = runs.Folder(part).rounds().to_pydict()
        assert all(again[name] == whole[name] for name in whole if name != "seconds")

    def test_a_sweep_leaves_the_figure_out(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def here(_: Any, work: Any, jobs: Any) -> Any:  # workers have tests of their own
            yield from ((job, work(job)) for job in jobs)

        monkeypatch.setattr("lsmdp.sweeps.Processes.each", here)
        (tmp_path / "cold.toml").write_text(
            'models = [{ kernel = "ring:12:0.5", temperature = 0.003 }]\ncosts = ["binary"]\n'
            'learners = ["track"]\nhorizons = [60]\nseeds = 2\n'
        )
        result = run("sweep", tmp_path / "cold.toml", "--out", tmp_path / "sweep", "--json", "--quiet")
        assert result.exit_code == 0, result.stderr
        learners = json.loads(result.stdout)["games"][0]["learners"]
        assert learners["track"]["idealised_regret"]["median"][-1] is None
        assert learners["track"]["regret"]["median"][-1] is not None


def test_statements_about_a_law_beyond_floats_are_left_out() -> None:
    """The leader stays in one of two rooms, and never goes to the other as far as floats can tell."""
    rooms = [[1, 1e-6, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 1, 1e-6], [0.5, 0, 0, 0.5]]
    lmdp = LMDP(rooms, normalise=True, temperature=1e-4)
    run = lsmdp.play(lmdp, [lsmdp.FollowTheLeader(), lsmdp.TrackTheLeader()], np.tile([0.0, 1.0, 0.0, 1.0], (12, 1)))
    found = lsmdp.certify(run)
    assert found.holds
    json.dumps(found.to_dict(), allow_nan=False)
    reason = "the stationary law of the leader is beyond float64 in round 2 (and in 11 more)"
    for label in ("new:identity", "eq:statdist", "new:I1", "new:posteriori"):
        ours = [one for one in found[label] if one.reading != "printed"]
        assert [(one.holds, one.where) for one in ours] == [(None, reason)] * len(ours)
    for label in ("eq:bellman_V", "new:comparator", "new:I4"):
        assert all(one.holds for one in found[label] if one.reading != "printed")
    (bound, *_) = found.bounds()
    assert bound["means"]["bound"] is None
