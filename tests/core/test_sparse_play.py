"""What a round of play costs against dense algebra, and the same bits for any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident
from types import ModuleType

import numpy as np
import pytest

from lsmdp import LMDP, TrackTheLeader, grid, random_graph
from lsmdp._core import sparse, sparse_play, threads
from lsmdp.game import Game
from lsmdp.policy import Policy

SPANS = {"flat": 3.0, "steep": 500.0}


def matrix(lmdp: LMDP, u: np.ndarray) -> np.ndarray:
    return Policy(lmdp, u).matrix().toarray()


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_a_round_of_play(span: float) -> None:
    lmdp, rng = random_graph(40, 5, seed=1), np.random.default_rng(0)
    u, law = rng.uniform(0, span, 40), rng.dirichlet(np.ones(40))
    law[3] = 0.0
    assert sparse.flow(lmdp.P, u).flat is (span < sparse.SPAN_OF_ONE_SCALE)
    P, Q = lmdp.P.toarray(), matrix(lmdp, u)
    kl, after = sparse_play.play(lmdp.P, sparse.flow(lmdp.P, u), law)
    expected = np.where(Q > 0, Q * np.log(np.where(Q > 0, Q, 1) / np.where(P > 0, P, 1)), 0).sum(axis=1)
    np.testing.assert_allclose(kl, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(after, law @ Q, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("distance", [3.0, 1e-3])
@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_a_change_of_policy(span: float, distance: float) -> None:
    lmdp, rng = random_graph(40, 5, seed=1), np.random.default_rng(0)
    u = rng.uniform(0, span, 40)
    other = u + distance * rng.uniform(0, 1, 40)
    Q, R = matrix(lmdp, u), matrix(lmdp, other)
    kl, change = sparse_play.divergence(lmdp.P, sparse.flow(lmdp.P, u), sparse.flow(lmdp.P, other))
    both = (Q > 0) & (R > 0)
    expected = np.where(both, Q * np.log(np.where(both, Q, 1) / np.where(both, R, 1)), 0).sum(axis=1)
    np.testing.assert_allclose(kl, expected, rtol=1e-9, atol=1e-13)  # the expected value has lost digits, not the other
    assert change == pytest.approx(np.abs(Q - R).sum(axis=1).max(), rel=1e-10)


def test_the_law_of_a_reversible_chain() -> None:
    lmdp, u = grid(5, 6), np.random.default_rng(2).uniform(0, 4, 30)
    assert lmdp.reversible_law is not None
    mu = sparse_play.balanced_law(sparse.flow(lmdp.P, u), lmdp.reversible_law)
    np.testing.assert_allclose(mu @ matrix(lmdp, u), mu, rtol=1e-12)


def test_bits_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, rng = random_graph(2000, 7), np.random.default_rng(0)
    u, c, law = rng.uniform(0, 4, 2000), rng.uniform(0, 1, 2000), rng.dirichlet(np.ones(2000))
    for module in (threads, sparse_play):
        monkeypatch.setattr(module, "MOVES_OF_A_LARGE_P", 1)
    found = []
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as pool:
            monkeypatch.setattr(threads, "_threads", lambda pool=pool: pool)
            for v in (u, 100 * u):  # flat and steep
                (r, lo, hi), of = sparse.residual(lmdp.P, c, v, 1.0), sparse.flow(lmdp.P, v)
                found.append(
                    [
                        r,
                        np.array([lo, hi]),
                        *sparse_play.play(lmdp.P, of, law),
                        *sparse_play.divergence(lmdp.P, of, sparse.flow(lmdp.P, v + c)),
                    ]
                )
    for one, other in zip(found, found[2:], strict=False):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_slices_cover_all_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for entries, n, large in ((10, 7, 100), (100, 7, 100), (100, 3, 1)):
        monkeypatch.setattr(threads, "MOVES_OF_A_LARGE_P", large)
        covered = threads.in_slices(entries, n, lambda k, first, last: (k, first, last))
        rows = [x for _, first, last in covered for x in range(first, last)]
        assert rows == list(range(n))
        assert len(covered) == (threads.SLICES if entries >= large else 1)


def test_the_caller_takes_slices_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOVES_OF_A_LARGE_P", 1)
    both, caller = Barrier(2, timeout=60.0), get_ident()
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(threads, "_threads", lambda: pool)

        def work(k: int, *_: int) -> tuple[int, bool]:
            if k in (0, threads.SLICES - 1):
                both.wait()  # neither ends before the other has begun
            return k, get_ident() == caller

        found = threads.in_slices(9, 9, work)
        assert [k for k, _ in found] == list(range(threads.SLICES))
        assert not found[0][1]
        assert found[-1][1]


@pytest.mark.parametrize("bad", range(threads.SLICES))
def test_what_goes_wrong_in_a_slice_reaches_the_caller(bad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOVES_OF_A_LARGE_P", 1)

    def work(k: int, *_: int) -> None:
        if k == bad:
            raise ValueError(f"slice {k}")

    with pytest.raises(ValueError, match=f"slice {bad}"):
        threads.in_slices(9, 9, work)


def test_slices_agree_with_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    lmdp, rng = random_graph(500, 5), np.random.default_rng(3)
    u, law = rng.uniform(0, 4, 500), rng.dirichlet(np.ones(500))
    whole = sparse_play.play(lmdp.P, sparse.flow(lmdp.P, u), law)
    for module in (threads, sparse_play):
        monkeypatch.setattr(module, "MOVES_OF_A_LARGE_P", 1)
    for one, other in zip(sparse_play.play(lmdp.P, sparse.flow(lmdp.P, u), law), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_what_is_beyond_floats_proves_nothing() -> None:
    lmdp = random_graph(300, 5)
    for broken in (np.nan, np.inf, -np.inf):
        v, c = np.zeros(300), np.zeros(300)
        v[7] = broken
        assert sparse.residual(lmdp.P, c, v, 1.0)[1:] == (-np.inf, np.inf)
        c[299], v[7] = broken, 0.0
        assert sparse.residual(lmdp.P, c, v, 1.0)[1:] == (-np.inf, np.inf)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_what_a_certificate_computes_of_v_alone(span: float, temperature: float) -> None:
    lmdp, rng = random_graph(600, 5), np.random.default_rng(1)
    v, c = rng.uniform(0, span * temperature, 600), rng.uniform(0, 1, 600)
    found, lo, hi = sparse.evaluate(lmdp.P, c, v, temperature)
    r, *bounds = sparse.residual(lmdp.P, c, v, temperature)
    assert [lo, hi] == bounds
    np.testing.assert_allclose(found.base + c, r, rtol=0, atol=1e-15 * (1 + span))
    assert found.w.size == (600 if span < sparse.SPAN_OF_ONE_SCALE else 0)
    if found.w.size:
        np.testing.assert_allclose(found.w, np.exp((v.min() - v) / temperature), rtol=1e-14)


def test_tracking_reads_P_twice_to_learn_and_four_times_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = {sparse: ("certify",), sparse_play: ("spread", "compare")}  # where v is flat, nothing else reads P
    reads = {name: 0 for names in loops.values() for name in names}

    def counted(module: ModuleType, name: str) -> None:
        compiled = getattr(module, f"_{name}")

        def call(*arguments: object) -> object:
            known = name == "certify" and arguments[4]  # s = P w of the accounts serves the learner
            reads[name] += not known
            return compiled(*arguments)

        monkeypatch.setattr(module, f"_{name}", call)

    lmdp, learner = grid(20, 20), TrackTheLeader()
    assert lmdp.law_is_cheap
    game = Game.begin(lmdp, [learner])
    for module, names in loops.items():
        for name in names:
            counted(module, name)
    learner.observe(lmdp, learner.init(lmdp), np.ones(400))
    assert sum(reads.values()) == 2
    reads.update(dict.fromkeys(reads, 0))
    costs = np.random.default_rng(0).uniform(0, 1, (2, 400))
    game.play(costs[:1])
    assert sum(reads.values()) == 6
    reads.update(dict.fromkeys(reads, 0))
    (records,) = game.play(costs[1:])
    assert np.isfinite(records.ideal_loss[0])  # all the accounting is on
    assert sum(reads.values()) == 4  # learner and accounts share what they know of the policy played
