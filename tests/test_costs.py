"""Cost sequences: pure and re-iterable; files give what was written; what cannot be used is said, in its round."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from lsmdp.arrays import Floats
from lsmdp.costs import (
    FAMILIES,
    Costs,
    as_costs,
    by_name,
    families,
    read_costs,
)
from lsmdp.costs.families import STREAM
from lsmdp.costs.sequence import NUMBERS_AT_A_TIME, block_rows
from lsmdp.errors import CostError, LsmdpError, SpecError
from lsmdp.model import LMDP
from lsmdp.sources import makers

PLAIN = makers.random_graph(5, 3)
LABELLED = LMDP(PLAIN.P, ["a", "b", "c", "d.e", "f,g"])
DROPPED = LMDP(
    np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0], [0.5, 0, 0.5, 0], [0, 0, 1.0, 0]]), list("wxyz")
).largest_class()
PAIR = makers.sticky(0.3)
MODELS = {"swap": PAIR}
EXAMPLES = sorted({family.name for family in FAMILIES.values()} | {family.example for family in FAMILIES.values()})


def model_for(spec: str) -> LMDP:
    return MODELS.get(spec.partition(":")[0], PLAIN)


def table(costs: Costs) -> Floats:
    return np.array(list(costs))


def until_error(rounds: Iterator[Floats]) -> tuple[list[Floats], str]:
    """What comes before the CostError, and what it says."""
    seen: list[Floats] = []
    with pytest.raises(CostError) as error:
        deque(map(seen.append, rounds), maxlen=0)
    return seen, str(error.value)


# ---------------------------------------------------------------- families


@pytest.mark.parametrize("spec", EXAMPLES)
class TestEveryFamily:
    @given(seed=st.integers(0, 2**64), t=st.integers(1, 3 * NUMBERS_AT_A_TIME), data=st.data())
    @settings(max_examples=15)
    def test_any_round_is_the_same_from_anywhere(self, spec: str, seed: int, t: int, data: st.DataObject) -> None:
        earlier = data.draw(st.integers(max(1, t - 2 * block_rows(5)), t))
        costs = by_name(spec, model_for(spec), T=3 * NUMBERS_AT_A_TIME + 10, seed=seed)
        again = by_name(spec, model_for(spec), T=3 * NUMBERS_AT_A_TIME + 10, seed=seed)
        expected = next(islice(again.from_round(earlier), t - earlier, None))
        np.testing.assert_array_equal(next(costs.from_round(t)), expected)

    def test_the_whole_sequence_is_its_rounds_one_by_one(self, spec: str) -> None:
        costs = by_name(spec, model_for(spec), T=90, seed=4)
        whole = table(costs)
        assert whole.shape == (90, costs.n)
        np.testing.assert_array_equal(whole, [next(costs.from_round(t)) for t in range(1, 91)])
        np.testing.assert_array_equal(whole, table(costs))

    @given(seed=st.integers(0, 999), n=st.integers(1, 40), T=st.integers(1, 400))
    @settings(max_examples=25)
    def test_costs_lie_between_0_and_1(self, spec: str, seed: int, n: int, T: int) -> None:
        lmdp = PAIR if spec == "swap" else makers.ring(n) if n > 2 else makers.rank_one(n)
        for c_t in by_name(spec, lmdp, T, seed):
            assert c_t.dtype == np.float64
            assert c_t.shape == (lmdp.n,)
            assert c_t.flags.c_contiguous
            assert c_t.min() >= 0.0
            assert c_t.max() <= 1.0

    def test_rounds_are_read_only(self, spec: str) -> None:
        c_1 = next(iter(by_name(spec, model_for(spec), T=3)))
        with pytest.raises(ValueError, match="read-only"):
            c_1[0] = 0.5

    def test_the_number_of_rounds_is_kept(self, spec: str) -> None:
        costs = by_name(spec, model_for(spec), T=7)
        assert costs.T == len(list(costs)) == 7
        assert len(list(costs.from_round(7))) == 1
        assert list(costs.from_round(8)) == []
        assert (costs.n, costs.name, costs.seed, costs.low, costs.high) == (model_for(spec).n, spec, 0, 0.0, 1.0)
        assert costs.replayable

    def test_the_digest_is_that_of_the_values(self, spec: str) -> None:
        lmdp = model_for(spec)
        digest = by_name(spec, lmdp, T=9, seed=3).digest()
        assert digest == by_name(spec, lmdp, T=9, seed=3).digest()
        assert digest != by_name(spec, lmdp, T=9, seed=4).digest()
        others = {by_name(other, model_for(other), T=9, seed=3).digest() for other in EXAMPLES if other != spec}
        assert digest not in others - {by_name(spec.partition(":")[0], lmdp, T=9, seed=3).digest()}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_its_formula(name: str) -> None:
    assert re.search(rf"^ .*\b{name} +\S", families.__doc__ or "", re.MULTILINE), "in the docstring of families.py"


@pytest.mark.parametrize("name", [name for name, one in FAMILIES.items() if not one.on_map and name != "swap"])
def test_a_family_that_is_not_on_the_map_reads_the_size_of_a_model_only(name: str) -> None:
    """Else it must be marked with on_map, so that the digest of its costs knows of the model."""
    one, two = (table(by_name(name, lmdp, T=40, seed=1)) for lmdp in (makers.grid(5, 6), makers.random_graph(30, 4)))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("spec", [name for name in FAMILIES if name != "swap"])
def test_the_seed_matters(spec: str) -> None:
    """In a family that has none, such as swap, it is left out here."""
    one, two = (table(by_name(spec, makers.ring(30), T=40, seed=seed)) for seed in (1, 2))
    assert (one != two).any()


class TestFamilies:
    def test_iid_is_one_stream_of_uniform_numbers(self) -> None:
        c = table(by_name("iid", PLAIN, T=20_000, seed=1))
        assert len(np.unique(c)) == c.size
        ordered = np.sort(c.ravel())
        # Kolmogorov-Smirnov at 1e-6: sqrt(log(2e6) / 2N)
        assert np.abs(ordered - np.arange(c.size) / c.size).max() < np.sqrt(np.log(2e6) / (2 * c.size))
        # independent of the other states and of the round before: correlations within five standard errors
        for x, y in ((c[:, 0], c[:, 1]), (c[1:, 0], c[:-1, 0])):
            assert abs(np.corrcoef(x, y)[0, 1]) < 5.0 / np.sqrt(x.size)

    def test_iid_can_be_drawn_with_numpy_alone(self) -> None:
        drawn = np.random.Generator(np.random.PCG64([STREAM, 8])).random((9000, 5))
        np.testing.assert_array_equal(table(by_name("iid", PLAIN, T=9000, seed=8)), drawn)
        np.testing.assert_array_equal(table(by_name("binary", PLAIN, T=9000, seed=8)), drawn < 0.5)

    def test_iid_costs_differ_from_the_draws_of_a_model(self) -> None:
        drawn = np.random.default_rng(0).random((2, 5))
        assert not np.isin(table(by_name("iid", PLAIN, T=2)), drawn).any()

    def test_binary_is_fair(self) -> None:
        c = table(by_name("binary", PLAIN, T=20_000, seed=1))
        assert set(np.unique(c)) == {0.0, 1.0}
        assert abs(c.mean() - 0.5) < 5.0 * 0.5 / np.sqrt(c.size)
        assert abs(np.corrcoef(c[1:, 0], c[:-1, 0])[0, 1]) < 5.0 / np.sqrt(20_000)

    @pytest.mark.parametrize(("spec", "period"), [("switching", 50), ("switching:7", 7), ("switching:1", 1)])
    def test_switching_turns_every_period(self, spec: str, period: int) -> None:
        c = table(by_name(spec, PLAIN, T=10 * period))
        changes = 1 + np.flatnonzero((c[1:] != c[:-1]).any(axis=1))
        np.testing.assert_array_equal(changes, period * np.arange(1, 10))
        assert len(np.unique(c, axis=0)) == 2

    def test_doubling_turns_at_powers_of_two(self) -> None:
        c = table(by_name("doubling", PLAIN, T=5000))
        first_of_a_turn = 2 + np.flatnonzero((c[1:] != c[:-1]).any(axis=1))
        np.testing.assert_array_equal(first_of_a_turn, 2 ** np.arange(1, 13))
        assert len(np.unique(c, axis=0)) == 2

    @pytest.mark.parametrize(("spec", "rounds"), [("drift", 200), ("drift:60", 60), ("drift:1000", 1000)])
    def test_drift_goes_straight_from_one_pattern_to_another(self, spec: str, rounds: int) -> None:
        c = table(by_name(spec, PLAIN, T=200))
        a, b = table(by_name("switching:1", PLAIN, T=2))  # the same two patterns
        w = np.minimum(np.arange(200) / (rounds - 1), 1.0)[:, None]
        np.testing.assert_allclose(c, a + w * (b - a), rtol=0, atol=4e-16)
        np.testing.assert_array_equal(c[0], a)
        if rounds <= 200:
            np.testing.assert_array_equal(c[rounds - 1 :], np.broadcast_to(b, (201 - rounds, 5)))

    def test_drift_over_all_rounds_depends_on_their_number(self) -> None:
        assert by_name("drift", PLAIN, 100).digest() != by_name("drift", PLAIN, 200).digest()
        assert by_name("drift", PLAIN, 100).digest() == by_name("drift:100", PLAIN, 200).digest()
        assert by_name("iid", PLAIN, 100).digest() == by_name("iid", PLAIN, 200).digest()

    def test_periodic_states_have_phases_of_their_own(self) -> None:
        c = table(by_name("periodic:20", PLAIN, T=60))
        np.testing.assert_array_equal(c[20:40], c[:20])
        np.testing.assert_array_equal(c[40:], c[:20])
        assert len(np.unique(c[:20], axis=0)) == 20
        # a sine wave of period 20 and amplitude 1/2 around 1/2: one frequency, and a phase per state
        waves = np.fft.rfft(c[:20] - 0.5, axis=0)
        np.testing.assert_allclose(np.abs(waves[1]), 20 * 0.5 / 2, rtol=0, atol=1e-14)
        np.testing.assert_allclose(np.delete(waves, 1, axis=0), 0.0, rtol=0, atol=1e-14)
        assert len(np.unique(np.angle(waves[1]))) == 5

    def test_swap_is_the_counterexample(self) -> None:
        np.testing.assert_array_equal(table(by_name("swap", PAIR, T=5)), [[0, 1], [1, 0], [0, 1], [1, 0], [0, 1]])

    def test_swap_needs_two_states(self) -> None:
        with pytest.raises(SpecError, match="swap is a game of 2 states, but the model has 5"):
            by_name("swap", PLAIN, T=5)


class TestTarget:
    def test_on_a_map_it_circles(self) -> None:
        lmdp = makers.grid(12, 20)
        c = table(by_name("target:3", lmdp, T=3 * 96))
        stops = c.argmin(axis=1)
        np.testing.assert_array_equal(c[np.arange(len(c)), stops], 0.0)
        np.testing.assert_array_equal(stops[::3], stops[2::3])  # three rounds at each stop
        places = lmdp.positions[stops[::3]]
        assert np.hypot(*np.diff(places, axis=0).T).max() <= 2.0  # it does not jump
        assert (np.ptp(places, axis=0) > 0.5 * np.array([11, 19])).all()  # and sees all sides
        for c_t, stop in zip(c[::50], stops[::50], strict=True):
            distance = np.hypot(*(lmdp.positions - lmdp.positions[stop]).T)
            np.testing.assert_allclose(c_t, np.minimum(distance / 9.5, 1.0), rtol=1e-15)

    def test_without_a_map_it_walks_along_the_moves(self) -> None:
        lmdp = makers.random_graph(60, 3, seed=2)
        pattern = (lmdp.P > 0).toarray()
        c = table(by_name("target:2", lmdp, T=200))
        stops = c.argmin(axis=1)
        assert ((c == 0.0).sum(axis=1) == 1).all()
        assert len(np.unique(stops)) > 3
        walk = stops[::2]
        assert pattern[walk[:-1], walk[1:]].all()
        # the cost is the number of moves to the target (counted by matrix powers), divided by half the longest way
        reached, distance = np.eye(60, dtype=bool), np.zeros((60, 60))
        while not reached.all():
            distance[~reached] += 1
            reached |= reached @ pattern
        reach = distance[stops[0]].max() / 2.0
        np.testing.assert_allclose(c, np.minimum(distance[:, stops].T / reach, 1.0), rtol=1e-15)
        assert c.max() == 1.0

    def test_without_a_way_to_it_the_cost_is_1(self) -> None:
        lmdp = LMDP([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 1.0]])
        c = table(by_name("target:1", lmdp, T=4))
        assert {tuple(row) for row in c} == {(0, 1, 1, 1), (1, 0, 1, 1)}

    @pytest.mark.parametrize("lmdp", [makers.rank_one(1), makers.grid(1, 1)])
    def test_one_state_is_always_at_the_target(self, lmdp: LMDP) -> None:
        np.testing.assert_array_equal(table(by_name("target", lmdp, T=20)), np.zeros((20, 1)))

    def test_the_map_is_part_of_the_digest(self) -> None:
        digests = {
            by_name("target", lmdp, 9).digest() for lmdp in (makers.ring(12), makers.grid(3, 4), makers.grid(4, 3))
        }
        assert len(digests) == 3
        assert by_name("iid", makers.ring(12), 9).digest() == by_name("iid", makers.grid(3, 4), 9).digest()


class TestNames:
    def test_the_registry_is_light(self) -> None:
        script = (
            "import sys, lsmdp.costs as c; print(len(c.FAMILIES), {'numpy', 'pyarrow', 'numba'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.split(maxsplit=1) == [str(len(FAMILIES)), "set()\n"]

    @pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
    def test_every_family_is_explained(self, family: Any) -> None:
        assert family.meaning
        assert family.usage.startswith(family.name)

    @pytest.mark.parametrize(
        ("spec", "sentence"),
        [
            ("switchng:9", 'Did you mean "switching:9"?'),
            ("Periodic", 'Did you mean "periodic"?'),
            ("dubling:4", 'Did you mean "doubling"?'),
            ("zzz", "is neither a file nor a known cost sequence. Names: iid, binary, switching[:PERIOD]"),
            ("zzz", "Files end in .npy, .csv, .tsv, .txt, .parquet, .jsonl; - is standard input."),
            ("switching:x", "cannot be read as switching[:PERIOD]: PERIOD is a whole number of at least 1. Write for"),
            ("switching:0", "Write for example switching:50."),
            ("switching:1:2", "PERIOD is a whole number"),
            ("iid:3", "it takes no argument. Write for example iid."),
            ("drift:-1", "Write for example drift:1000."),
        ],
    )
    def test_a_wrong_name_is_answered_with_a_right_one(self, spec: str, sentence: str) -> None:
        with pytest.raises(SpecError) as error:
            read_costs(spec, PLAIN, rounds=5)
        assert sentence in str(error.value)
        with pytest.raises(SpecError) as error:
            by_name(spec, PLAIN, 5)
        assert sentence in str(error.value)

    def test_a_family_needs_a_number_of_rounds(self) -> None:
        with pytest.raises(SpecError, match=r'"iid" has no end. Say how many rounds to play with --rounds T'):
            read_costs("iid", PLAIN)

    @pytest.mark.parametrize(
        ("options", "sentence"), [({"rounds": 0}, "the number of rounds is 0"), ({"seed": -1}, "the seed is -1")]
    )
    def test_numbers_that_make_no_sense(self, options: Any, sentence: str) -> None:
        with pytest.raises(SpecError, match=sentence):
            read_costs("iid", PLAIN, **{"rounds": 5, **options})

    def test_rounds_count_from_1(self) -> None:
        with pytest.raises(CostError, match=r"there is no round 0. Rounds count from 1"):
            by_name("iid", PLAIN, 5).from_round(0)

    def test_what_it_is_called(self) -> None:
        assert repr(by_name("iid", PLAIN, 5000)) == "Costs(iid: 5 states, 5,000 rounds)"


# ---------------------------------------------------------------- files

A = np.random.default_rng(7).random((700, 5))
HEADER = 'a,b,c,d.e,"f,g"'
ORDER = [3, 0, 4, 1, 2]


def lines(values: Floats) -> str:
    return "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())


def save(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def wide(path: Path, values: Floats, names: list[str], **options: Any) -> Path:
    parquet.write_table(pa.Table.from_arrays([pa.array(column) for column in values.T], names=names), path, **options)
    return path


def long(path: Path, values: Floats, names: list[Any], **options: Any) -> Path:
    T, n = values.shape
    columns = {"Round": np.repeat(np.arange(1, T + 1), n), "state": names * T, "cost": values.ravel()}
    parquet.write_table(pa.table(columns), path, **options)
    return path


def npy(path: Path, values: Any) -> Path:
    np.save(path, values)
    return path


def jsonl(path: Path, rounds: list[Any]) -> Path:
    return save(path, "".join(json.dumps(c_t) + "\n" for c_t in rounds))


LABELS = list(LABELLED.labels or ())
SHUFFLED = [LABELS[x] for x in ORDER]
FILES: dict[str, tuple[LMDP, Callable[[Path], Path]]] = {
    "npy": (PLAIN, lambda d: npy(d / "c.npy", A)),
    "npy-fortran": (PLAIN, lambda d: npy(d / "c.npy", np.asfortranarray(A))),
    "csv": (PLAIN, lambda d: save(d / "c.csv", lines(A))),
    "csv-blank-lines": (PLAIN, lambda d: save(d / "c.CSV", "\ufeff\n" + lines(A).replace("\n", " \r\n\r\n"))),
    "csv-numbers": (PLAIN, lambda d: save(d / "c.csv", "3,0,4,1,2\n" + lines(A[:, ORDER]))),
    "csv-labels": (LABELLED, lambda d: save(d / "c.csv", HEADER + "\n" + lines(A))),
    "csv-order": (LABELLED, lambda d: save(d / "c.csv", ' "d.e",a , "f,g", b,c\n' + lines(A[:, ORDER]))),
    "csv-other-names": (LABELLED, lambda d: save(d / "c.csv", "p,q,r,s,t\n" + lines(A))),
    "csv-ids": (PLAIN, lambda d: save(d / "c.csv", "773869,767541,12,717447,99\n" + lines(A))),
    "csv-more-columns": (
        LABELLED,
        lambda d: save(
            d / "c.csv", f"time,{HEADER}\n" + "".join(f'"noon, or so",{row}' for row in lines(A).splitlines(True))
        ),
    ),
    "csv-long": (
        LABELLED,
        lambda d: save(
            d / "c.csv",
            "state,note,round,cost\n"
            + "".join(f'"{LABELS[x]}",n,{t + 1},{float(A[t, x])!r}\n' for t in range(len(A)) for x in ORDER),
        ),
    ),
    "parquet": (LABELLED, lambda d: wide(d / "c.parquet", A, LABELS)),
    "parquet-groups": (LABELLED, lambda d: wide(d / "c.parquet", A[:, ORDER], SHUFFLED, row_group_size=101)),
    "parquet-position": (PLAIN, lambda d: wide(d / "c.parquet", A, ["u", "u", "v", "w", "x"])),
    "parquet-long": (LABELLED, lambda d: long(d / "c.parquet", A[:, ORDER], SHUFFLED, row_group_size=333)),
    "parquet-long-numbers": (PLAIN, lambda d: long(d / "c.parquet", A, [0, 1, 2, 3, 4], write_statistics=False)),
    "jsonl": (PLAIN, lambda d: jsonl(d / "c.jsonl", A.tolist())),
    "jsonl-cost": (PLAIN, lambda d: jsonl(d / "c.jsonl", [{"t": 1, "cost": c_t} for c_t in A.tolist()])),
    "jsonl-labels": (
        LABELLED,
        lambda d: jsonl(
            d / "c.jsonl", [{"cost": dict(zip(SHUFFLED, c_t, strict=True))} for c_t in A[:, ORDER].tolist()]
        ),
    ),
}


@pytest.mark.parametrize(("lmdp", "write"), FILES.values(), ids=FILES)
class TestEveryFile:
    def test_gives_the_array_that_was_written(self, tmp_path: Path, lmdp: LMDP, write: Callable[[Path], Path]) -> None:
        path = write(tmp_path)
        costs = read_costs(path, lmdp)
        np.testing.assert_array_equal(table(costs), A)
        np.testing.assert_array_equal(table(costs), A)
        for t in (1, 2, 101, 102, 350, 699, 700):
            np.testing.assert_array_equal(list(costs.from_round(t)), A[t - 1 :])
        assert list(costs.from_round(701)) == []
        assert costs.T in (700, None)
        assert costs.name == str(path)
        assert not next(iter(costs)).flags.writeable
        assert all(c_t.flags.c_contiguous and c_t.dtype == np.float64 for c_t in costs)
        assert (costs.low, costs.high, costs.replayable) == (0.0, 1.0, True)

    def test_may_be_cut_but_not_stretched(self, tmp_path: Path, lmdp: LMDP, write: Callable[[Path], Path]) -> None:
        path = write(tmp_path)
        np.testing.assert_array_equal(table(read_costs(path, lmdp, rounds=555)), A[:555])
        seen, said = until_error(iter(read_costs(path, lmdp, rounds=800)))
        np.testing.assert_array_equal(seen, A)
        assert "there is no round 701: the costs end before it, but 800 rounds were asked for. Add the missing" in said
        assert said.startswith(str(path))

    def test_the_scale_maps_both_ways(self, tmp_path: Path, lmdp: LMDP, write: Callable[[Path], Path]) -> None:
        path = write(tmp_path)
        np.testing.assert_allclose(table(read_costs(path, lmdp, scale=(1, 0))), 1.0 - A, rtol=1e-15)
        np.testing.assert_allclose(table(read_costs(path, lmdp, scale=(-1, 1))), (A + 1.0) / 2.0, rtol=1e-15)
        flipped = read_costs(path, lmdp, scale=(1, 0))
        assert (flipped.low, flipped.high) == (1.0, 0.0)

    def test_the_digest_follows_bytes_and_scale(
        self, tmp_path: Path, lmdp: LMDP, write: Callable[[Path], Path]
    ) -> None:
        path = write(tmp_path)
        digest = read_costs(path, lmdp).digest()
        assert len(digest) == len(hashlib.sha256().hexdigest())
        assert digest == read_costs(path, lmdp, rounds=5, seed=9).digest()
        assert digest != read_costs(path, lmdp, scale=(1, 0)).digest()
        other = path.with_stem("other")
        other.write_bytes(path.read_bytes())
        assert digest == read_costs(other, lmdp).digest()
        flipped = bytearray(path.read_bytes())
        flipped[len(flipped) // 2] ^= 1
        path.write_bytes(flipped)
        assert digest != read_costs(path, lmdp).digest()


class TestDroppedStates:
    """The model kept some states of four; the files speak of all of them."""

    KEPT = DROPPED.origin

    def full(self) -> Floats:
        return np.random.default_rng(1).random((6, 4))

    def test_columns_of_the_others_are_left_out(self, tmp_path: Path) -> None:
        full = self.full()
        assert 1 < DROPPED.n < 4
        paths = [
            npy(tmp_path / "c.npy", full),
            save(tmp_path / "c.csv", lines(full)),
            save(tmp_path / "names.csv", "w,x,y,z\n" + lines(full)),
            save(tmp_path / "ids.csv", "7001,7002,7003,7004\n" + lines(full)),
            wide(tmp_path / "c.parquet", full, list("wxyz")),
            wide(tmp_path / "ids.parquet", full, list("abcd")),
            long(tmp_path / "long.parquet", full, list("wxyz")),
            jsonl(tmp_path / "c.jsonl", full.tolist()),
            jsonl(tmp_path / "names.jsonl", [{"cost": dict(zip("wxyz", c_t, strict=True))} for c_t in full.tolist()]),
        ]
        for path in paths:
            np.testing.assert_array_equal(table(read_costs(path, DROPPED)), full[:, self.KEPT], err_msg=str(path))
        np.testing.assert_array_equal(table(as_costs(full, DROPPED)), full[:, self.KEPT])

    def test_files_of_the_kept_states_will_do(self, tmp_path: Path) -> None:
        kept = self.full()[:, self.KEPT]
        np.testing.assert_array_equal(table(read_costs(save(tmp_path / "c.csv", lines(kept)), DROPPED)), kept)

    def test_other_numbers_of_columns_will_not(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", lines(np.ones((3, 9))))
        with pytest.raises(CostError, match=rf"9 costs a round, but the model has {DROPPED.n} states \(of 4 before"):
            read_costs(path, DROPPED)

    def test_the_columns_kept_are_part_of_the_digest(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", lines(self.full()))
        whole = makers.random_graph(4)
        assert read_costs(path, DROPPED).digest() != read_costs(path, whole).digest()


class TestHeaders:
    """Header or first round: nothing that could be a round is dropped, and no name is taken for a cost."""

    @pytest.mark.parametrize(
        ("first", "rounds"),
        [
            ("x,y", 1),
            ("0.0,1.0", 2),
            ("0,0", 2),
            ("7,8", 1),  # ids
            ("0.5,0.25", 2),
            ("time,1,0", 1),
        ],
    )
    def test_first_lines_of_two_states(self, tmp_path: Path, first: str, rounds: int) -> None:
        second = ",".join(["1"] * len(first.split(",")))
        costs = read_costs(save(tmp_path / "c.csv", f"{first}\n{second}\n"), PAIR)
        assert len(list(costs)) == rounds

    @pytest.mark.parametrize(
        "first", ["nan,nan,0,0,0", ",,,,", "0.1,O.2,0.3,0.4,0.5", "64.5,64.25,61,60,59", "72,72,72,72,72"]
    )
    def test_a_damaged_first_round_is_no_header(self, tmp_path: Path, first: str) -> None:
        costs = read_costs(save(tmp_path / "c.csv", first + "\n" + lines(A)), PLAIN)
        seen, said = until_error(iter(costs))
        assert seen == []
        assert "round 1" in said

    def test_ids_between_the_bounds_are_costs(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", "10,20,30,40,50\n0,0,0,0,0\n")
        assert len(list(read_costs(path, PLAIN, scale=(0, 100)))) == 2
        assert len(list(read_costs(path, PLAIN))) == 1

    def test_one_column(self, tmp_path: Path) -> None:
        single = makers.rank_one(1)
        assert table(read_costs(save(tmp_path / "c.csv", "cost\n0.5\n1\n"), single)).tolist() == [[0.5], [1.0]]
        assert until_error(iter(read_costs(save(tmp_path / "d.csv", "7\n0.5\n"), single)))[0] == []

    def test_half_known_names_are_refused(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", "a,b,c,d.e,typo\n" + lines(A))
        with pytest.raises(CostError) as error:
            read_costs(path, LABELLED)
        assert str(error.value) == (
            f'{path}: there is no column for state 4 "f,g" (of 1 without one), though some columns are named after '
            "states. Add it, say what such states cost with --missing COST, or remove the header to take the columns "
            "by position."
        )

    def test_a_column_twice(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", HEADER + ",b\n" + lines(np.ones((2, 6))))
        with pytest.raises(CostError, match=r'the header names state 1 "b" 2 times. Keep one'):
            read_costs(path, LABELLED)

    def test_the_wrong_number_of_columns(self, tmp_path: Path) -> None:
        with pytest.raises(
            CostError, match=r"there are 3 costs a round, but the model has 5 states. Give one cost per state"
        ):
            read_costs(save(tmp_path / "c.csv", "0.5,0.5,0.5\n"), PLAIN)


IDS = LMDP(PLAIN.P, ["773869", "767541", "12", "717447", "99"])
NODES = LMDP(PLAIN.P, ["1", "2", "3", "4", "5"])
B = A[:3]  # a few rounds


def indexed(values: Floats) -> str:
    """Lines with a running number, as pandas writes them below a header that begins with nothing."""
    return "".join(f"{row},{line}" for row, line in enumerate(lines(values).splitlines(True)))


class TestHeadersThatCount:
    """``DataFrame(c).to_csv()`` writes 0, 1, 2, ... above the costs: no round, whatever the states are called."""

    COUNT, MIXED = "0,1,2,3,4\n", "3,0,4,1,2\n"

    @pytest.mark.parametrize("lmdp", [PLAIN, LABELLED, IDS], ids=["plain", "labelled", "ids"])
    def test_they_are_no_round(self, tmp_path: Path, lmdp: LMDP) -> None:
        for text in (self.COUNT + lines(B), "," + self.COUNT + indexed(B), "time," + self.COUNT + indexed(B)):
            np.testing.assert_array_equal(table(read_costs(save(tmp_path / "c.csv", text), lmdp)), B)
        for names in (list("01234"), ["__index_level_0__", *"01234"]):
            values = B if len(names) == 5 else np.column_stack([np.arange(3), B])
            np.testing.assert_array_equal(table(read_costs(wide(tmp_path / "c.parquet", values, names), lmdp)), B)

    @pytest.mark.parametrize("lmdp", [PLAIN, LABELLED], ids=["plain", "labelled"])
    def test_numbers_in_any_order_are_the_numbers_of_states(self, tmp_path: Path, lmdp: LMDP) -> None:
        for text in (self.MIXED + lines(B[:, ORDER]), "," + self.MIXED + indexed(B[:, ORDER])):
            np.testing.assert_array_equal(table(read_costs(save(tmp_path / "c.csv", text), lmdp)), B)
        path = wide(tmp_path / "c.parquet", B[:, ORDER], list("30412"))
        np.testing.assert_array_equal(table(read_costs(path, lmdp)), B)

    def test_but_not_where_labels_are_numbers(self, tmp_path: Path) -> None:
        for path in (
            save(tmp_path / "c.csv", self.MIXED + lines(B)),
            wide(tmp_path / "c.parquet", B, list("30412")),
        ):
            with pytest.raises(
                CostError, match=r'the first line, "3,0,4,1,2", counts the columns in another order, but'
            ):
                read_costs(path, IDS)

    def test_counting_from_0_is_no_counting_from_1(self, tmp_path: Path) -> None:
        with pytest.raises(CostError, match=r'there is no column for state 4 "5" .of 1 without one., though some'):
            read_costs(save(tmp_path / "c.csv", self.COUNT + lines(B)), NODES)
        with pytest.raises(CostError, match=r"there is no column for state 0 .of 1 without one., though some"):
            read_costs(wide(tmp_path / "c.parquet", B, list("12345")), PLAIN)
        np.testing.assert_array_equal(table(read_costs(save(tmp_path / "c.csv", "1,2,3,4,5\n" + lines(B)), NODES)), B)

    def test_former_numbers_count_as_well(self, tmp_path: Path) -> None:
        full = np.random.default_rng(1).random((3, 4))
        for text in (
            "0,1,2,3\n" + lines(full),
            ",0,1,2,3\n" + indexed(full),
            "3,1,0,2\n" + lines(full[:, [3, 1, 0, 2]]),
        ):
            costs = read_costs(save(tmp_path / "c.csv", text), DROPPED)
            np.testing.assert_array_equal(table(costs), full[:, DROPPED.origin])
        kept = "".join(f"{state}," for state in range(DROPPED.n)).strip(",") + "\n" + lines(full[:, DROPPED.origin])
        np.testing.assert_array_equal(
            table(read_costs(save(tmp_path / "c.csv", kept), DROPPED)), full[:, DROPPED.origin]
        )

    def test_an_index_beside_names_that_nobody_knows(self, tmp_path: Path) -> None:
        np.testing.assert_array_equal(
            table(read_costs(save(tmp_path / "c.csv", ",p,q,r,s,t\n" + indexed(B)), LABELLED)), B
        )
        with pytest.raises(CostError, match=r"there are 4 costs a round.*an index: save the table with index=False"):
            read_costs(save(tmp_path / "c.csv", ",p,q,r,s\n" + indexed(B[:, :4])), LABELLED)

    @pytest.mark.parametrize(
        ("lmdp", "first", "rounds"),
        [
            (PAIR, "0,1", 1),
            (LMDP(PAIR.P, ["a", "b"]), "0,1", 1),
            (LMDP(PAIR.P, ["0", "1"]), "1,0", 1),
            (PAIR, "1,0", 2),
        ],
        ids=["plain", "labelled", "labels", "in disorder"],
    )
    def test_of_two_states_it_is_said_what_was_taken(self, tmp_path: Path, lmdp: LMDP, first: str, rounds: int) -> None:
        path = save(tmp_path / "c.csv", f"{first}\n1,1\n")
        taken = "the names of the columns" if rounds == 1 else "a round of costs"
        with pytest.warns(UserWarning, match=f'c.csv: the first line, "{first}", is taken for {taken}, though'):
            costs = read_costs(path, lmdp)
        assert len(list(costs)) == len(list(costs)) == rounds  # nothing more is said, which would be an error here
        path.write_text(f"x,y\n{first}\n1,1\n")  # the way out
        assert len(list(read_costs(path, lmdp))) == 2

    def test_one_state_and_wide_scales_as_well(self, tmp_path: Path) -> None:
        with pytest.warns(UserWarning, match="the names of the columns"):
            assert table(read_costs(save(tmp_path / "c.csv", "0\n1\n"), makers.rank_one(1))).tolist() == [[1.0]]
        with pytest.warns(UserWarning, match="the names of the columns"):
            assert len(list(read_costs(save(tmp_path / "d.csv", self.COUNT + lines(B)), PLAIN, scale=(0, 100)))) == 3

    def test_standard_input_says_so_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("0,1\n1,0\n"))
        with pytest.warns(UserWarning, match='standard input: the first line, "0,1", is taken for the names'):
            assert table(read_costs("-", PAIR)).tolist() == [[1.0, 0.0]]

    def test_what_pandas_writes_is_read(self, tmp_path: Path) -> None:
        pandas = pytest.importorskip("pandas")
        path = tmp_path / "c.csv"
        for lmdp in (PLAIN, LABELLED, IDS):
            for index in (True, False):
                pandas.DataFrame(B).to_csv(path, index=index)
                np.testing.assert_array_equal(table(read_costs(path, lmdp)), B)
                pandas.DataFrame(B[:, ORDER], columns=[(lmdp.labels or "01234")[x] for x in ORDER]).to_csv(
                    path, index=index
                )
                np.testing.assert_array_equal(table(read_costs(path, lmdp)), B)

    def test_states_by_number_in_the_other_forms(self, tmp_path: Path) -> None:
        rounds = [{"cost": dict(zip("30412", c_t, strict=True))} for c_t in B[:, ORDER].tolist()]
        np.testing.assert_array_equal(table(read_costs(jsonl(tmp_path / "c.jsonl", rounds), LABELLED)), B)
        path = long(tmp_path / "long.parquet", B[:, ORDER], [int(name) for name in "30412"])
        np.testing.assert_array_equal(table(read_costs(path, LABELLED)), B)


def damaged(value: float) -> Floats:
    values = A.copy()
    values[499, 3] = value
    return values


DAMAGE: dict[str, Callable[[Path, Floats], Path]] = {
    "npy": lambda d, values: npy(d / "c.npy", values),
    "csv": lambda d, values: save(d / "c.csv", lines(values)),
    "parquet": lambda d, values: wide(d / "c.parquet", values, LABELS),
    "long": lambda d, values: long(d / "c.parquet", values, LABELS),
    "jsonl": lambda d, values: jsonl(d / "c.jsonl", values.tolist()),
}


@pytest.mark.parametrize("write", DAMAGE.values(), ids=DAMAGE)
class TestUnusableValues:
    """Everything before is given, then the round, the state and the value are named."""

    @pytest.mark.parametrize(
        ("value", "scale", "sentence"),
        [
            (1.5, None, "the cost is 1.5, outside [0, 1]. Map your units with --scale LOW HIGH"),
            (-1e-9, None, "the cost is -1e-09, outside [0, 1]."),
            (float("nan"), None, "the cost is nan. Every cost must be a finite number"),
            (float("-inf"), None, "the cost is -inf. Every cost must be a finite number"),
            (1.5, (1.25, -3), "the cost is 1.5, outside the scale from 1.25 to -3. Correct it, or widen --scale"),
            (float("nan"), (0, 70), "the cost is nan. Every cost must be a finite number"),
        ],
    )
    def test_round_500(
        self,
        tmp_path: Path,
        write: Callable[[Path, Floats], Path],
        value: float,
        scale: tuple[float, float] | None,
        sentence: str,
    ) -> None:
        path = write(tmp_path, damaged(value))
        costs = read_costs(path, LABELLED, scale=scale)
        seen, said = until_error(iter(costs))
        assert len(seen) == 499
        assert said.startswith(f'{path}: round 500, state 3 "d.e": {sentence}')
        assert len(list(costs.from_round(501))) == 200
        assert len(list(read_costs(path, LABELLED, rounds=499, scale=scale))) == 499


class TestDamagedLines:
    def check(self, path: Path, t: int, sentence: str, lmdp: LMDP = LABELLED) -> None:
        seen, said = until_error(iter(read_costs(path, lmdp)))
        assert len(seen) == t - 1
        np.testing.assert_array_equal(np.reshape(seen, (-1, 5)), A[: t - 1])
        assert said.startswith(f"{path}: {sentence}"), said

    def broken(self, line: str) -> str:
        return lines(A[:300]) + line + "\n" + lines(A[301:])

    @pytest.mark.parametrize(
        ("line", "sentence"),
        [
            ("0,0,0,0", "round 301 (line 301): it has 4 cells, but the first line has 5. Make them equal."),
            ("0,0,0,0,0,", "round 301 (line 301): it has 6 cells, but the first line has 5. Make them equal."),
            (
                "0,0,0,,0",
                'round 301 (line 301): the cost of state 3 "d.e" is "", not a number. Correct it or fill it in.',
            ),
            ("0,NA,0,0,0", 'round 301 (line 301): the cost of state 1 "b" is "NA", not a number.'),
            ('0,"0,0', "round 301 (line 301): it has 2 cells"),
        ],
    )
    def test_csv(self, tmp_path: Path, line: str, sentence: str) -> None:
        self.check(save(tmp_path / "c.csv", self.broken(line)), 301, sentence)

    def test_the_line_number_counts_header_and_blank_lines(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", f"\n{HEADER}\n\n" + self.broken("0,0"))
        self.check(path, 301, "round 301 (line 304): it has 2 cells")

    @pytest.mark.parametrize(
        ("line", "sentence"),
        [
            ("[0, 0, 0", "it is not JSON (Expecting ',' delimiter"),
            ("[" * 100_000, "it is not JSON ("),
            ("7", "it holds no costs. Write a list of numbers"),
            ('{"costs": [0]}', "it holds no costs. Write a list of numbers"),
            ("[0, 0]", "there are 2 costs a round, but the model has 5 states."),
            ("[0, 0, null, 0, 0]", 'the cost of state 2 "c" is "None", not a number.'),
            ("[0, 0, [1], 0, 0]", 'the cost of state 2 "c" is "[1]", not a number.'),
            (f"[0, 0, {10**400}, 0, 0]", 'the cost of state 2 "c" is "1000'),
            (
                '{"cost": {"a": 0, "b": 0}}',
                'there is no cost for state "c" (of 3 without one). Give one for every state.',
            ),
        ],
    )
    def test_json(self, tmp_path: Path, line: str, sentence: str) -> None:
        rounds = [json.dumps(c_t) for c_t in A.tolist()]
        rounds[300] = line
        self.check(save(tmp_path / "c.jsonl", "\n".join(rounds)), 301, f"round 301 (line 301): {sentence}")

    @pytest.mark.parametrize(
        ("entry", "sentence"),
        [
            ("x,a,0", 'line 12 (round 2 or the next) is "x,a,0". Give a whole round number, state and cost.'),
            ("3", 'line 12 (round 2 or the next) is "3". Give a whole round number'),
            ("4,a,0", "round 3 is missing: round 4 comes in its place. Count the rounds 1, 2, 3, ... and sort"),
            ("1,a,0", "round 3 is missing: round 1 comes in its place."),
            ("3,a,0", 'round 3: there is no cost for state "b" (of 4 without one).'),
            ("3,a,0\n3,a,1", 'round 3: there are 2 costs for state "a". Give one for every state.'),
            ("\n".join(f"3,{x},y" for x in ("a", "b", "c", "d.e", '"f,g"')), 'round 3: the cost of state 0 "a" is "y"'),
        ],
    )
    def test_long_form(self, tmp_path: Path, entry: str, sentence: str) -> None:
        good = [f'{t + 1},"{LABELS[x]}",{float(A[t, x])!r}' for t in range(2) for x in range(5)]
        path = save(tmp_path / "c.csv", "\n".join(["round,state,cost", *good, entry]))
        self.check(path, 2 if "or the next" in sentence else 3, sentence)

    def test_long_form_counts_from_1(self, tmp_path: Path) -> None:
        path = save(
            tmp_path / "c.csv", "round,state,cost\n" + "".join(f"{t},{x},0\n" for t in range(3) for x in range(5))
        )
        self.check(path, 1, "round 1 is missing: round 0 comes in its place.", PLAIN)

    @pytest.mark.parametrize("name", ["c.csv", "c.jsonl"])
    def test_empty(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(CostError, match=r"it is empty. Give one line per round"):
            read_costs(save(tmp_path / name, "\n \n"), PLAIN)

    def test_only_a_header(self, tmp_path: Path) -> None:
        with pytest.raises(CostError, match="a header and nothing below it"):
            read_costs(save(tmp_path / "c.csv", HEADER), LABELLED)

    @given(junk=st.binary(min_size=1, max_size=200), ending=st.sampled_from([".csv", ".jsonl", ".npy", ".parquet"]))
    def test_junk_is_refused_in_words(self, tmp_path_factory: pytest.TempPathFactory, junk: bytes, ending: str) -> None:
        path = tmp_path_factory.mktemp("junk") / f"c{ending}"
        path.write_bytes(junk)
        with pytest.raises(LsmdpError, match=r"c\."):
            list(read_costs(path, PLAIN))


class TestPaths:
    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("speed.csv", 'does not exist. Did you mean "{}/speeds.csv"?'),
            ("nothing.npy", "does not exist. Check the path."),
            ("no/speeds.csv", 'does not exist: there is no folder "{}/no". Check the path.'),
            ("notes.doc", 'ends in ".doc", which is not a known format. Use .npy, .csv, .tsv, .txt, .parquet, .jsonl.'),
            ("", "is a folder. Name a file in it that ends in .npy, .csv"),
            ("x" * 300, "cannot be read: File name too long. Check the file."),
        ],
    )
    def test_what_is_not_there(self, tmp_path: Path, name: str, sentence: str) -> None:
        save(tmp_path / "speeds.csv", lines(A))
        save(tmp_path / "notes.doc", "hello")
        with pytest.raises(SpecError) as error:
            read_costs(tmp_path / name, PLAIN)
        assert sentence.format(tmp_path) in str(error.value)

    def test_a_missing_file_with_a_known_ending_is_no_name(self) -> None:
        with pytest.raises(SpecError, match=r'"iids.csv" does not exist'):
            read_costs("iids.csv", PLAIN)

    def test_a_file_that_goes_away(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.csv", lines(A))
        costs = read_costs(path, PLAIN)
        path.unlink()
        with pytest.raises(CostError, match="round 1 cannot be read: No such file"):
            next(iter(costs))


class TestNpy:
    def test_is_mapped_not_loaded(self, tmp_path: Path) -> None:
        T, path = 50_000_000, tmp_path / "c.npy"
        rounds = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(T, 5))  # 2 GB of hole
        rounds[T - 3] = [0, 0.25, 0.5, 0.75, 1]
        rounds.flush()
        del rounds
        costs = read_costs(path, PLAIN)
        tracemalloc.start()
        last = list(costs.from_round(T - 2))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2e6
        np.testing.assert_array_equal(last, [[0, 0.25, 0.5, 0.75, 1], [0] * 5, [0] * 5])
        assert costs.T == T

    @pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float32, np.float16, ">f8"])
    def test_any_kind_of_number(self, tmp_path: Path, dtype: Any) -> None:
        values = (A > 0.5).astype(dtype)
        np.testing.assert_array_equal(table(read_costs(npy(tmp_path / "c.npy", values), PLAIN)), A > 0.5)

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            (A[0], r"an array of shape 5 and type float64. Give a table of numbers with a row per round .* \(T x 5\)"),
            (A[None], "an array of shape 1 x 700 x 5"),
            (A.astype(complex), "type complex128"),
            (A.astype("U5"), "type <U5"),
            (A[:, :4], "there are 4 costs a round, but the model has 5 states"),
            (A[:0], "the number of rounds is 0"),
        ],
    )
    def test_other_arrays(self, tmp_path: Path, values: Any, sentence: str) -> None:
        with pytest.raises(LsmdpError, match=sentence):
            read_costs(npy(tmp_path / "c.npy", values), PLAIN)

    def test_nothing_is_unpickled(self, tmp_path: Path) -> None:
        class Trap:
            def __reduce__(self) -> Any:
                return Path.touch, (tmp_path / "sprung",)

        path = tmp_path / "c.npy"
        np.save(path, np.array([[Trap()] * 5], dtype=object), allow_pickle=True)
        with pytest.raises(SpecError, match="it holds pickled objects, and those are never loaded"):
            read_costs(path, PLAIN)
        assert not (tmp_path / "sprung").exists()

    def test_a_truncated_file(self, tmp_path: Path) -> None:
        path = npy(tmp_path / "c.npy", A)
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(SpecError, match=r"cannot be read as .npy: .*Write a table of numbers with numpy.save"):
            read_costs(path, PLAIN)


class TestParquet:
    @pytest.mark.parametrize("kind", [pa.float32(), pa.int8(), pa.bool_(), pa.decimal128(30, 2)])
    def test_any_kind_of_number(self, tmp_path: Path, kind: Any) -> None:
        ones = pa.array([1, 0, 1], pa.int64()).cast(kind)
        parquet.write_table(pa.Table.from_arrays([ones] * 5, LABELS), tmp_path / "c.parquet")
        np.testing.assert_array_equal(
            table(read_costs(tmp_path / "c.parquet", LABELLED)), np.outer([1, 0, 1], np.ones(5))
        )

    def test_words_in_columns_that_do_not_matter(self, tmp_path: Path) -> None:
        columns = {"when": ["noon"] * 700, **{LABELS[x]: A[:, x] for x in ORDER}}
        parquet.write_table(pa.table(columns), tmp_path / "c.parquet")
        np.testing.assert_array_equal(table(read_costs(tmp_path / "c.parquet", LABELLED)), A)

    def test_words_in_columns_that_do(self, tmp_path: Path) -> None:
        parquet.write_table(pa.table({label: ["x"] for label in LABELS}), tmp_path / "c.parquet")
        with pytest.raises(
            CostError, match=r'column "a" holds string values, not numbers. Convert it, or leave it out'
        ):
            read_costs(tmp_path / "c.parquet", LABELLED)

    @pytest.mark.parametrize(
        ("rounds", "costs", "sentence"),
        [
            (["1"], [0.5], 'column "round" holds string values, not whole numbers'),
            ([1], ["0.5"], 'column "cost" holds string values, not numbers'),
        ],
    )
    def test_words_in_the_long_form(self, tmp_path: Path, rounds: Any, costs: Any, sentence: str) -> None:
        parquet.write_table(pa.table({"round": rounds, "state": ["a"], "cost": costs}), tmp_path / "c.parquet")
        with pytest.raises(CostError, match=sentence):
            read_costs(tmp_path / "c.parquet", LABELLED)

    def test_a_missing_value_and_a_missing_round(self, tmp_path: Path) -> None:
        one = makers.rank_one(1)
        parquet.write_table(pa.table({"0": [0.5, None]}), tmp_path / "c.parquet")
        seen, said = until_error(iter(read_costs(tmp_path / "c.parquet", one)))
        assert len(seen) == 1
        assert "round 2, state 0: the cost is nan" in said
        parquet.write_table(pa.table({"round": [1, None], "state": [0, 0], "cost": [0, 0]}), tmp_path / "d.parquet")
        assert "has no round number" in until_error(iter(read_costs(tmp_path / "d.parquet", one)))[1]

    def test_no_rows(self, tmp_path: Path) -> None:
        with pytest.raises(CostError, match="it holds no rounds"):
            read_costs(wide(tmp_path / "c.parquet", A[:0], LABELS), LABELLED)

    def test_states_as_categories(self, tmp_path: Path) -> None:
        states = pa.array(LABELS * 3).dictionary_encode()
        columns = {"round": np.repeat([1, 2, 3], 5), "state": states, "cost": A[:3].ravel()}
        parquet.write_table(pa.table(columns), tmp_path / "c.parquet")
        np.testing.assert_array_equal(table(read_costs(tmp_path / "c.parquet", LABELLED)), A[:3])

    @pytest.mark.parametrize(
        ("write", "rows", "good"),
        [(wide, 100, 400), (long, 500, 399)],  # in the long form, only the next round shows that one is complete
        ids=["wide", "long"],
    )
    def test_damage_inside(self, tmp_path: Path, write: Callable[..., Path], rows: int, good: int) -> None:
        options = {"row_group_size": rows, "compression": "zstd", "use_dictionary": False}
        path = write(tmp_path / "c.parquet", A, LABELS, **options)
        with parquet.ParquetFile(path) as file:
            place = file.metadata.row_group(4).column(2).data_page_offset
        content = bytearray(path.read_bytes())
        content[place : place + 200] = b"\xff" * 200
        path.write_bytes(content)
        seen, said = until_error(iter(read_costs(path, LABELLED)))
        np.testing.assert_array_equal(seen, A[:good])
        assert said.startswith(f"{path}: round {good + 1} cannot be read: ")


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".npy"])
def test_memory_does_not_grow_with_the_rounds(tmp_path: Path, ending: str) -> None:
    def peak(T: int) -> int:
        values = np.tile(A, (T // 700, 1))
        path = tmp_path / f"c{T}{ending}"
        match ending:
            case ".csv":
                save(path, lines(values))
            case ".jsonl":
                jsonl(path, values.tolist())
            case ".parquet":
                wide(path, values, LABELS, row_group_size=1000)
            case _:
                npy(path, values)
        costs = read_costs(path, LABELLED)
        del values
        next(iter(costs))
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        most = max((pa.total_allocated_bytes() for _ in costs), default=0) - before
        _, traced = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return int(traced + most)

    assert peak(42_000) < peak(14_000) + 200_000  # the longer one has 1.1 MB more in floats alone


class TestStandardInput:
    @pytest.fixture
    def typed(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    @pytest.mark.parametrize(
        "text",
        [
            lines(A),
            HEADER + "\n" + lines(A),
            "".join(json.dumps(c_t) + "\n" for c_t in A.tolist()),
            "\n".join(json.dumps({"cost": dict(zip(LABELS, c_t, strict=True))}) for c_t in A.tolist()),
        ],
        ids=["csv", "csv-labels", "json", "json-labels"],
    )
    def test_lines_of_either_kind(self, typed: Callable[[str], None], text: str) -> None:
        typed(text)
        costs = read_costs("-", LABELLED, rounds=600)
        assert (costs.T, costs.name, costs.replayable) == (600, "-", False)
        np.testing.assert_array_equal(list(costs.from_round(11)), A[10:600])

    def test_only_once(self, typed: Callable[[str], None]) -> None:
        typed(lines(A))
        costs = read_costs("-", PLAIN)
        assert len(list(costs)) == 700
        with pytest.raises(CostError) as error:
            costs.from_round(1)
        assert str(error.value) == (
            "standard input: it can be read only once, and it has been. "
            "To go through it again, save it in a file first."
        )

    def test_errors_name_it(self, typed: Callable[[str], None]) -> None:
        typed("0,0,0,0,0\n0,0,2,0,0\n")
        assert (
            "standard input: round 2, state 2: the cost is 2, outside" in until_error(iter(read_costs("-", PLAIN)))[1]
        )
        typed("")
        assert until_error(iter(read_costs("-", PLAIN)))[1] == "standard input: it is empty. Give one line per round."

    def test_the_digest_knows_the_scale_only(self) -> None:
        assert read_costs("-", PLAIN).digest() == read_costs("-", PLAIN).digest()
        assert read_costs("-", PLAIN).digest() != read_costs("-", PLAIN, scale=(1, 0)).digest()

    def test_a_round_is_played_before_the_next_is_written(self) -> None:
        script = (
            "from lsmdp.sources import makers; from lsmdp.costs import read_costs\n"
            "for c_t in read_costs('-', makers.rank_one(2)): print(c_t.tolist(), flush=True)"
        )
        command = [sys.executable, "-c", script]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin
            assert process.stdout
            for line, answer in (("0,0.5", "[0.0, 0.5]\n"), ("1,0", "[1.0, 0.0]\n")):
                process.stdin.write(line + "\n")
                process.stdin.flush()
                assert process.stdout.readline() == answer
            process.stdin.close()
            assert process.wait(60) == 0


class TestArrays:
    def test_an_array_is_a_sequence(self) -> None:
        costs = as_costs(A.tolist(), PLAIN)
        np.testing.assert_array_equal(table(costs), A)
        assert (costs.T, costs.name) == (700, "array")
        assert costs.digest() == as_costs(A, PLAIN).digest() != as_costs(A[::-1], PLAIN).digest()
        assert not np.shares_memory(next(iter(costs)), A)

    def test_costs_are_left_alone(self) -> None:
        costs = by_name("iid", PLAIN, 5)
        assert as_costs(costs, PLAIN) is costs
        with pytest.raises(CostError, match="iid has costs for 5 states, but the model has 2"):
            as_costs(costs, PAIR)

    def test_the_units_of_the_user(self) -> None:
        costs = as_costs([[70.0, 35.0, 0.0, 7.0, 63.0]], PLAIN, scale=(70, 0))
        np.testing.assert_allclose(next(iter(costs)), [0, 0.5, 1, 0.9, 0.1], rtol=0, atol=1e-15)
        assert not np.signbit(next(iter(costs))).any()  # 0, not -0

    @given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.lists(st.floats(0, 1), min_size=5, max_size=5))
    def test_the_ends_of_any_scale_are_exactly_0_and_1(self, low: float, high: float, shares: list[float]) -> None:
        if low == high:
            return
        inside = np.clip(low + np.array(shares) * (high - low), min(low, high), max(low, high))
        inside[:2] = low, high
        c = next(iter(as_costs(inside[None], PLAIN, scale=(low, high))))
        assert c[:2].tolist() == [0.0, 1.0]
        assert (c >= 0.0).all()
        assert (c <= 1.0).all()

    @pytest.mark.parametrize("scale", [(1, 1), (0, float("inf")), (float("nan"), 1), (-1e308, 1e308)])
    def test_a_scale_needs_two_ends(self, scale: tuple[float, float]) -> None:
        with pytest.raises(SpecError, match="two different finite numbers"):
            as_costs(A, PLAIN, scale=scale)

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ([[1, 0], [1]], "the rounds differ in length"),
            ([0.5] * 5, "an array of shape 5 and type float64"),
            (np.empty((0, 5)), "the number of rounds is 0"),
            ("iid", r'Read them first: lsmdp\.read_costs\("iid", lmdp, rounds=1000\)'),
        ],
    )
    def test_what_is_no_table(self, values: Any, sentence: str) -> None:
        with pytest.raises(LsmdpError, match=sentence):
            as_costs(values, PLAIN)


# ---------------------------------------------------------------- real data

LOS_LOOP = Path(__file__).parents[2] / "shared" / "data" / "los-loop"


@pytest.mark.skipif(not LOS_LOOP.is_dir(), reason=f"the los-loop data are not in {LOS_LOOP}")
class TestLosLoop:
    """Real traffic: the header holds detector ids that the model does not know, and one detector is dropped."""

    def model(self) -> LMDP:
        weights = np.loadtxt(LOS_LOOP / "los_adj.csv", delimiter=",")
        return LMDP.repaired(weights, normalise=True, largest_class=True)

    def test_speeds_as_they_are(self) -> None:
        lmdp = self.model()
        assert lmdp.n == 206
        speeds = np.loadtxt(LOS_LOOP / "los_speed.csv", delimiter=",", skiprows=1)
        costs = read_costs(LOS_LOOP / "los_speed.csv", lmdp, scale=(70, 0))
        np.testing.assert_allclose(table(costs), (1.0 - speeds / 70.0)[:, lmdp.origin], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(list(costs.from_round(2010)), table(costs)[2009:])

    def test_without_a_scale_the_way_out_is_said(self) -> None:
        _, said = until_error(iter(read_costs(LOS_LOOP / "los_speed.csv", self.model())))
        assert 'round 1, state 0 "0": the cost is 64.375, outside [0, 1]. Map your units with --scale LOW HIGH' in said

    def test_one_round_too_many(self) -> None:
        costs = read_costs(LOS_LOOP / "los_speed.csv", self.model(), rounds=3000, scale=(70, 0))
        seen, said = until_error(iter(costs))
        assert len(seen) == 2016
        assert "there is no round 2017: the costs end before it, but 3000 rounds were asked for" in said
