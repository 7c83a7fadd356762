"""Logs of movements: the kernel is the one that counting by hand gives, and what a log lacks is said with its place."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import Result

import lsmdp
from lsmdp.errors import LsmdpError, ModelError, SpecError
from lsmdp.sources.logs import SMOOTHING, read_log
from lsmdp.sources.logs.states import read_states

Run = Callable[..., Result]

TRACKS = {
    "bus 1": ["home", "work", "work", "shop", "home"],
    "bus 2": ["work", "home", "work", "shop", "shop", "home", "work"],
    "bus 3": ["shop", "home"],
    "bus 4": ["home"],  # no move
}
RECORDS = [(bus, minute, state) for bus, track in TRACKS.items() for minute, state in enumerate(track)]
SHUFFLED = [RECORDS[place] for place in np.random.default_rng(1).permutation(len(RECORDS))]
STATES = ("home", "shop", "work")


def columns(records: list[tuple[Any, ...]] = SHUFFLED) -> dict[str, list[Any]]:
    return dict(zip(("entity", "time", "state"), map(list, zip(*records, strict=True)), strict=True))


def by_hand(tracks: Any, smoothing: float) -> np.ndarray:
    moves = Counter(move for track in tracks for move in pairwise(track))
    P = np.array([[moves[x, y] + smoothing * ((x, y) in moves) for y in STATES] for x in STATES])
    return P / P.sum(axis=1, keepdims=True)


def write_csv(path: Path) -> None:
    csv.write_csv(pa.table(columns()), path)


def write_parquet(path: Path) -> None:
    parquet.write_table(pa.table(columns()).append_column("note", pa.nulls(len(RECORDS))), path)


def write_lines(path: Path) -> None:
    lines = [json.dumps(track if place % 2 else {"states": track}) for place, track in enumerate(TRACKS.values())]
    path.write_text("\n\n".join(lines) + "\n")


WRITERS = {"log.csv": write_csv, "log.parquet": write_parquet, "log.jsonl": write_lines}


class TestFit:
    @pytest.mark.parametrize(("name", "write"), WRITERS.items(), ids=WRITERS)
    @pytest.mark.parametrize("smoothing", [0.0, 0.5, 2.0])
    def test_files_give_what_counting_gives(
        self, tmp_path: Path, name: str, write: Callable[[Path], None], smoothing: float
    ) -> None:
        write(tmp_path / name)
        lmdp = lsmdp.from_trajectories(tmp_path / name, smoothing=smoothing)
        assert lmdp.labels == STATES
        np.testing.assert_allclose(lmdp.P.toarray(), by_hand(TRACKS.values(), smoothing), rtol=1e-14)

    def test_the_default_smoothing_is_the_stated_one(self) -> None:
        lmdp = lsmdp.from_trajectories(TRACKS.values())
        np.testing.assert_allclose(lmdp.P.toarray(), by_hand(TRACKS.values(), 0.5), rtol=1e-14)
        assert SMOOTHING == 0.5

    @pytest.mark.parametrize("form", [columns, lambda: pa.table(columns()), lambda: TRACKS.values()])
    def test_python_gives_the_same(self, form: Callable[[], Any]) -> None:
        np.testing.assert_allclose(
            lsmdp.from_trajectories(form()).P.toarray(), by_hand(TRACKS.values(), SMOOTHING), rtol=1e-14
        )

    def test_the_summary_counts(self) -> None:
        found = lsmdp.fit(columns(), holdout=0.0)
        assert (found.sequences, found.moves, found.states, found.support) == (4, 11, 3, 6)
        assert found.seen_once == 3  # work-work, work-home, shop-shop
        assert found.dead_ends == found.unseen == ()
        assert found.held_out is None
        P = by_hand(TRACKS.values(), SMOOTHING)
        track_moves = [move for track in TRACKS.values() for move in pairwise(track)]
        at = [(STATES.index(x), STATES.index(y)) for x, y in track_moves]
        assert found.log_likelihood == pytest.approx(np.mean([math.log(P[move]) for move in at]))
        rows = [-sum(p * math.log(p) for p in P[x] if p) for x, _ in at]
        assert found.entropy == pytest.approx(np.mean(rows))
        assert json.loads(json.dumps(found.to_dict()))["model"] == {"states": 3, "entries": 6, "irreducible": True}

    def test_whole_numbers_are_in_order_and_keep_their_names(self) -> None:
        lmdp = lsmdp.from_trajectories([[10, 9, 10, 2, 10]])
        assert lmdp.labels == ("2", "9", "10")
        assert lsmdp.from_trajectories([["10", 9, "010", "10"]]).labels == ("010", "10", "9")  # 010 is a name

    def test_labels_fix_the_order_and_name_the_unseen(self) -> None:
        labels = ["work", "park", "home", "shop"]
        with pytest.raises(ModelError, match=r'1 of 4 states is never visited \(state 1 "park"\).*--largest-class'):
            lsmdp.fit(columns(), labels)
        dropped = lsmdp.fit(columns(), labels, largest_class=True)
        assert dropped.unseen == ("park",)
        assert dropped.lmdp.labels == ("work", "home", "shop")
        everywhere = lsmdp.fit(columns(), labels, teleport=0.1).lmdp
        assert everywhere.labels == tuple(labels)
        assert everywhere.is_irreducible
        with pytest.raises(ModelError, match=r'the log visits "shop" \(4 records\), which is none of the 2 labels'):
            lsmdp.fit(columns(), ["home", "work"])

    def test_dead_ends_are_named(self) -> None:
        tracks = [["a", "b", "a", "depot"], ["b", "a"], ["lost"]]
        with pytest.raises(ModelError) as caught:
            lsmdp.from_trajectories(tracks)
        assert str(caught.value).startswith(
            "2 of 4 states are visited but never left, as at the end of a track or at a goal ("
        )
        assert 'state 2 "depot", state 3 "lost"' in str(caught.value)
        found = lsmdp.fit(tracks, largest_class=True)
        assert found.dead_ends == ("depot", "lost")
        assert found.lmdp.labels == ("a", "b")
        assert "dead ends   2: depot, lost" in str(found)

    def test_a_gap_ends_a_sequence(self) -> None:
        records = [("a", 0, "x"), ("a", 1, "y"), ("a", 2, "x"), ("a", 50, "z"), ("a", 51, "x"), ("a", 52, "z")]
        found = lsmdp.fit(columns(records), gap=10, holdout=0.0, largest_class=True)
        assert (found.sequences, found.moves) == (2, 4)
        assert lsmdp.fit(columns(records), holdout=0.0).moves == 5

    def test_a_gap_between_dates_is_in_seconds(self, tmp_path: Path) -> None:
        path = tmp_path / "log.csv"
        path.write_text(
            "Entity,Time,State\na,2012-03-01 10:00:00,x\na,2012-03-01 09:00:00,y\na,2012-03-01 10:00:30,y\n"
            "a,2012-03-01 10:01:00,x\n"
        )
        assert lsmdp.fit(path, gap=60, holdout=0.0).moves == 2
        found = lsmdp.fit(path, gap=3600, holdout=0.0)
        assert found.moves == 3
        table = csv.read_csv(path)  # inferred as timestamps
        parquet.write_table(table, tmp_path / "log.parquet")
        assert lsmdp.fit(tmp_path / "log.parquet", gap=60, holdout=0.0).moves == 2

    @pytest.mark.parametrize(
        "times", [["9", "10", "11"], ["9.5", "10", "11"], ["2012-03-01", "2012-03-02", "2012-04-01"]]
    )
    def test_times_are_ordered_as_times(self, tmp_path: Path, times: list[str]) -> None:
        rows = [f"a,{time},{state}" for time, state in zip(times, "xyx", strict=True)]
        (tmp_path / "log.csv").write_text("\n".join(["entity,time,state", rows[2], rows[0], rows[1]]))
        assert [read_log(tmp_path / "log.csv").visits.tolist()] == [[0, 1, 0]]


class TestHeldOut:
    def test_whole_sequences_are_set_aside_and_scored_by_the_rest(self) -> None:
        rng = np.random.default_rng(3)
        tracks = [list(rng.choice(list("abc"), size=9)) for _ in range(6)]
        found = lsmdp.fit(tracks, holdout=0.3, seed=5, smoothing=0.5)
        held = found.held_out
        assert held is not None
        assert held.how == "2 of 6 sequences, drawn by seed 5"
        assert held.moves == 16
        scores = []
        for first in range(6):
            for second in range(first):
                rest = [track for place, track in enumerate(tracks) if place not in (first, second)]
                scores.append(self.score(rest, [tracks[first], tracks[second]]))
        assert any(held.outside == outside and held.log_likelihood == pytest.approx(ll) for ll, outside in scores)
        assert lsmdp.fit(tracks, holdout=0.3, seed=5).held_out == held
        np.testing.assert_array_equal(found.lmdp.P.toarray(), lsmdp.from_trajectories(tracks).P.toarray())

    @staticmethod
    def score(rest: list[list[str]], aside: list[list[str]]) -> tuple[float, int]:
        moves = Counter(move for track in rest for move in pairwise(track))
        logs, outside = [], 0
        for track in aside:
            for x, y in pairwise(track):
                if (x, y) not in moves:
                    outside += 1
                    continue
                total = sum(count + 0.5 for (start, _), count in moves.items() if start == x)
                logs.append(math.log((moves[x, y] + 0.5) / total))
        return float(np.mean(logs)), outside

    def test_new_moves_are_counted_apart(self) -> None:
        held = lsmdp.fit([["a", "b", "a"], ["c", "a", "c"]], holdout=0.5, largest_class=True).held_out
        assert held is not None
        assert (held.moves, held.outside, held.log_likelihood) == (2, 2, None)

    def test_a_single_sequence_sets_aside_its_last_moves(self) -> None:
        held = lsmdp.fit([list("ababababababababababb")], holdout=0.1).held_out
        assert held is not None
        assert held.how == "the last 2 of 20 moves of the only sequence"
        assert (held.moves, held.outside) == (2, 1)  # a-b was seen, b-b was not
        assert held.log_likelihood == 0.0

    def test_the_truth_is_found(self) -> None:
        """20,000 moves of a known chain: the held-out score is that of the chain itself up to its sampling error."""
        lmdp, rng = lsmdp.random_graph(20, 4, seed=1), np.random.default_rng(0)
        P = lmdp.P.toarray()
        walks = []
        for _ in range(100):
            walk = [int(rng.integers(20))]
            for _ in range(200):
                walk.append(int(rng.choice(20, p=P[walk[-1]])))
            walks.append(walk)
        found = lsmdp.fit(walks)
        assert found.held_out is not None
        mu = lsmdp.solve(lmdp, np.zeros(20)).stationary
        rate = -float(mu @ np.where(P > 0, P * np.log(np.where(P > 0, P, 1.0)), 0.0).sum(axis=1))
        # log P(y|x) has a standard deviation below log(1/p_min) <= 3; 2,000 moves: 4 * 3 / sqrt(2000) < 0.27
        assert found.held_out.log_likelihood == pytest.approx(-rate, abs=0.27)
        assert np.abs(found.lmdp.P.toarray() - P).max() < 0.08  # 4 / (2 sqrt(1000 moves a state)), and some are rarer


@pytest.mark.parametrize(
    ("chances", "least", "most"),
    [(np.ones(7), 0.0, 0.045), (10.0 ** -np.arange(7), -0.025, 0.0), (np.array([94.0, *[1.0] * 6]), -0.025, 0.0)],
)
def test_what_the_default_smoothing_gains(chances: Any, least: float, most: float) -> None:
    """Against none, in the expected log P(y|x) of a move inside the support: the bounds that the module states."""
    p = chances / chances.sum()
    for moves in (3, 10, 20, 100):
        C = np.random.default_rng(0).multinomial(moves, p, size=2000)
        inside = np.where(C > 0, p, 0.0)
        raised = np.where(C > 0, C + SMOOTHING, 1.0)
        totals = C.sum(axis=1) + SMOOTHING * (C > 0).sum(axis=1)
        gains = (inside * np.log(raised / totals[:, np.newaxis] * moves / np.where(C > 0, C, 1.0))).sum(axis=1)
        mass = inside.sum() / 2000
        error = 4.0 * gains.std() / math.sqrt(2000) / mass  # four standard errors
        assert least - error <= gains.mean() / mass <= most + error


BAD_TABLES = {
    "no column": ("entity,hour,state\na,1,x\n", 'there is no column "time" among "entity", "hour", "state"'),
    "no record": ("entity,time,state\n", "the log has no record"),
    "empty": ("", "the file is empty"),
    "missing state": ("entity,time,state\na,1,x\n\na,2,\n", "line 4 has no state (1 such records in all)"),
    "missing entity": ("entity,time,state\na,1,x\n,2,y\n,3,y\n", "line 3 has no entity (2 such records in all)"),
    "missing time": ("entity,time,state\na,1,x\na,,y\n", "line 3 has no time"),
    "nan time": ("entity,time,state\na,1,x\na,nan,y\n", "line 3 has no time"),
    "infinite time": ("entity,time,state\na,1,x\na,inf,y\n", "line 3: the time is inf"),
    "word": ("entity,time,state\na,1,x\na,soon,y\n", 'line 3: the time is "soon". Give all times as numbers'),
    "mixed": ("entity,time,state\na,1,x\na,2012-03-01,y\n", "the times are of several kinds"),
    "short line": ("entity,time,state\na,1,x\na,2\n", "line 3 has 2 cells, but the header has 3"),
    "two columns": ("entity,time,state,State\na,1,x,y\na,2,y,x\n", 'there are 2 columns "state"'),
    "no move": ("entity,time,state\na,1,x\nb,2,y\n", "the log has 2 records in 2 sequences, and no two of them make"),
}  # fmt: skip

BAD_LINES = {
    "not json": ('["a", "b"]\n["a", \n', "line 2 is not JSON"),
    "no list": ('["a", "b"]\n\n{"route": 7}\n', "line 3 is no sequence of states"),
    "null": ('["a", null]\n', "line 1: state 1 is None. A state is a name or a whole number"),
    "number": ('["a", 1.5]\n', "line 1: state 1 is 1.5"),
    "nested": ('["a", ["b"]]\n', "line 1: state 1 is ['b']"),
    "nameless": ('["a", ""]\n', "line 1: state 1 has no name"),
    "half a letter": ('["a", "\\ud800"]\n', "there is a state that cannot be written as text"),
    "empty": ("", "the log has no state"),
    "no move": ('["a"]\n["b"]\n', "no two of them make a move"),
}


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [("csv", *case) for case in BAD_TABLES.values()] + [("jsonl", *case) for case in BAD_LINES.values()],
    ids=[*BAD_TABLES, *BAD_LINES],
)
def test_bad_logs_are_named(run: Run, tmp_path: Path, ending: str, text: str, message: str) -> None:
    path = tmp_path / f"log.{ending}"
    path.write_text(text)
    with pytest.raises(LsmdpError) as caught:
        lsmdp.fit(path)
    assert message in str(caught.value)
    result = run("fit", path, "--out", tmp_path / "k.npz", "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_lines_above_the_header_may_be_blank(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("\n\nentity,time,state\na,1,x\na,2,y\na,3,x\n")
    (tmp_path / "states.csv").write_text("\nstate\nx\ny\n")
    assert read_states(tmp_path / "states.csv") == (["x", "y"], None)
    assert lsmdp.fit(tmp_path / "log.csv").lmdp.labels == ("x", "y")


def test_times_beyond_signed_integers_keep_their_order() -> None:
    times = pa.array([2**63 + 5, 1, 2**63], pa.uint64())
    found = read_log(pa.table({"entity": ["a"] * 3, "time": times, "state": ["z", "x", "y"]}), gap=2**62)
    assert [found.states[state] for state in found.visits] == ["x", "y", "z"]
    assert found.starts.tolist() == [0, 1, 3]


@pytest.mark.parametrize("zone", ["", "Z"])
def test_nanoseconds(tmp_path: Path, zone: str) -> None:
    seconds = ("00.000000002", "00.000000001", "01", "00.5")
    rows = [f"a,2012-03-01 08:05:{second}{zone},{state}" for second, state in zip(seconds, "xyzw", strict=True)]
    (tmp_path / "log.csv").write_text("\n".join(["entity,time,state", *rows]))
    found = read_log(tmp_path / "log.csv", gap=0.5)
    assert [found.states[state] for state in found.visits] == ["y", "x", "w", "z"]
    assert found.starts.tolist() == [0, 4]
    assert read_log(tmp_path / "log.csv", gap=0.49).starts.tolist() == [0, 2, 3, 4]


def test_a_name_may_be_a_number_of_any_length() -> None:
    assert read_log([["9" * 5000, "10", "9"]]).states == ("10", "9", "9" * 5000)


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    for options, message in (
        ({"holdout": 1.0}, "the share to hold out is 1.0"),
        ({"seed": -1}, "the seed is -1"),
        ({"gap": 0}, "the gap is 0"),
        ({"smoothing": -1.0}, "smoothing is -1.0"),
    ):
        with pytest.raises(LsmdpError, match=message):
            lsmdp.fit(columns(), **options)
    with pytest.raises(SpecError, match="sequences of states have no times"):
        lsmdp.fit([["a", "b"]], gap=1)
    with pytest.raises(SpecError, match="sequences of states have no times"):
        lsmdp.fit(read_log([["a", "b"]]), gap=1)
    spans = pa.array([(0, 1, 0), (0, 2, 0)], pa.month_day_nano_interval())
    with pytest.raises(SpecError, match='the column "time" holds month_day_nano_interval values'):
        lsmdp.fit(pa.table({"entity": ["a", "a"], "time": spans, "state": ["x", "y"]}))
    with pytest.raises(SpecError, match="is no table that can be read"):
        lsmdp.fit(columns([("a", 1, "x"), ("a", 2**70, "y")]))
    with pytest.raises(SpecError, match="the log is int"):
        lsmdp.fit(7)
    with pytest.raises(SpecError, match=r'the column "state" holds double values'):
        lsmdp.fit(columns([("a", 1, 0.5), ("a", 2, 1.5)]))
    with pytest.raises(SpecError, match=r"log\.txt"):
        lsmdp.fit(tmp_path / "log.txt")


class TestCommand:
    def test_where_no_state_is_entered_again_only_jumps_help(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "log.jsonl").write_text('["a", "b", "c"]\n["a", "c"]\n')
        result = run("fit", tmp_path / "log.jsonl", "--out", tmp_path / "kernel.npz")
        assert "P needs a next state from everywhere. Let every state jump" in result.stderr
        note = result.stderr.splitlines()[-1]
        assert note.endswith("--teleport 0.01")
        assert run(*shlex.split(note.removeprefix("Ready to paste: "))[1:]).exit_code == 0
        assert lsmdp.read_model(tmp_path / "kernel.npz").n == 3

    def test_the_kernel_is_read_by_every_command_with_labels_and_positions(self, run: Run, tmp_path: Path) -> None:
        write_csv(tmp_path / "log.csv")
        (tmp_path / "stops.csv").write_text("state,x,y\nwork,1,2.5\nhome,0,0\nshop,3,1\npark,9,9\n")
        out = tmp_path / "kernel.npz"
        arguments = ["fit", tmp_path / "log.csv", "--out", out, "--states", tmp_path / "stops.csv", "--json"]
        result = run(*arguments)
        assert result.exit_code == 2
        note = result.stderr.splitlines()[-1]
        assert note.startswith("Ready to paste: lsmdp fit ")
        result = run(*shlex.split(note.removeprefix("Ready to paste: "))[1:], "--json")
        assert (result.exit_code, result.stderr) == (0, "")
        summary = json.loads(result.stdout)
        assert summary["unseen"] == ["park"]
        assert summary["moves"] == 11
        lmdp = lsmdp.read_model(out)
        assert lmdp.labels == ("work", "home", "shop")
        assert lmdp.positions.tolist() == [[1.0, 2.5], [0.0, 0.0], [3.0, 1.0]]
        same = lsmdp.from_trajectories(tmp_path / "log.csv", ["work", "home", "shop"])
        np.testing.assert_array_equal(lmdp.P.toarray(), same.P.toarray())
        assert run("check", out).exit_code == 0
        (tmp_path / "c.csv").write_text("state,cost\nhome,0\nwork,1\nshop,0.5\n")
        assert run("solve", out, "--cost", tmp_path / "c.csv").exit_code == 0
        played = run("play", out, "--costs", "iid", "--rounds", "5", "--start", "shop", "--out", tmp_path / "run")
        assert played.exit_code == 0

    def test_text(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "log.jsonl")
        result = run("fit", tmp_path / "log.jsonl", "--out", tmp_path / "k.npz", "--holdout", 0.4)
        assert result.exit_code == 0
        for words in ("11 moves in 4 sequences, 3 states", "on 1 of 3 sequences, drawn by seed 0", "lsmdp check"):
            assert words in result.stdout

    def test_bad_lists_of_states(self, run: Run, tmp_path: Path) -> None:
        write_csv(tmp_path / "log.csv")
        for text, message in (
            ("name\nhome\n", 'there is no column "state"'),
            ("state,x,y\nhome,1,two\n", 'line 2: the y is "two", not a number'),
            ("state\nhome\nhome\nwork\nshop\n", 'the label "home" stands for more than one state'),
        ):
            (tmp_path / "s.csv").write_text(text)
            result = run("fit", tmp_path / "log.csv", "--states", tmp_path / "s.csv", "--out", tmp_path / "k.npz")
            assert result.exit_code == 2
            assert message in result.stderr
        assert not (tmp_path / "k.npz").exists()


class TestKernelFile:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        for lmdp in (lsmdp.ring(5), lsmdp.LMDP([[0.5, 0.5], [1, 0]], ["Łódź", 'a "b", c']), lsmdp.sticky(0.1)):
            lsmdp.write_model(lmdp, tmp_path / "k.npz")
            same = lsmdp.read_model(tmp_path / "k.npz")
            np.testing.assert_array_equal(same.P.toarray(), lmdp.P.toarray())
            assert same.labels == lmdp.labels
            np.testing.assert_array_equal(same.positions, lmdp.positions)
            assert [path.name for path in tmp_path.iterdir()] == ["k.npz"]

    def test_scipy_reads_it_too(self, tmp_path: Path) -> None:
        from scipy import sparse

        lsmdp.write_model(lsmdp.grid(3, 3), tmp_path / "k.npz")
        np.testing.assert_array_equal(sparse.load_npz(tmp_path / "k.npz").toarray(), lsmdp.grid(3, 3).P.toarray())

    def test_labels_that_do_not_fit_are_named(self, tmp_path: Path) -> None:
        lsmdp.write_model(lsmdp.LMDP(np.eye(2), ["a", "b"]), tmp_path / "k.npz")
        with np.load(tmp_path / "k.npz", allow_pickle=False) as arrays:
            content = dict(arrays)
        np.savez(tmp_path / "short.npz", **content | {"labels": np.array(["a"])})
        with pytest.raises(ModelError, match=r"short\.npz: there are 1 labels for 2 states"):
            lsmdp.read_model(tmp_path / "short.npz")
        np.savez(tmp_path / "bad.npz", **content | {"labels": np.array([{}, []], dtype=object)}, allow_pickle=True)
        with pytest.raises(SpecError, match="pickled objects"):
            lsmdp.read_model(tmp_path / "bad.npz")

    def test_other_endings_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SpecError, match=r"does not end in \.npz"):
            lsmdp.write_model(lsmdp.ring(3), tmp_path / "k.csv")
