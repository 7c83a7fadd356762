"""Tables of trips and logs with people's own column names, dates and ties, through ``fit``."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import Result

import lsmdp
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.sources.logs import read_log
from lsmdp.sources.logs.times import usual_format
from lsmdp.sources.logs.trips import read_trips

Run = Callable[..., Result]
STRANGERS = Path(__file__).parents[2] / "shared" / "data" / "strangers"

TRIPS = """Trip ID,Start Date,Start Station,End Date,End Station
1,8/31/15 23:26,A,8/31/15 23:39,B
2,8/31/15 23:11,B,8/31/15 23:28,A
3,8/31/15 22:00,A,8/31/15 21:00,B
4,8/31/15 20:00,,8/31/15 20:05,B
5,8/31/15 20:00,B,8/31/15 20:05,
6,8/31/15 19:00,A,8/31/15 19:30,A
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_trips_are_moves_and_what_is_dropped_is_said(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "trips.csv", TRIPS)
    result = run("fit", path, "--trips", "--out", tmp_path / "k.npz", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert said["dropped"] == {
        "trips without a start": 1,
        "trips without an end": 1,
        "trips that end before they start": 1,
    }
    assert (said["moves"], said["states"]) == (3, 2)
    assert "reading columns 3, 5, 2 and 4" in result.stderr
    assert "reading the times as %m/%d/%y %H:%M" in result.stderr
    assert "left out 1 trips that end before they start" in result.stderr
    lmdp = lsmdp.read_model(tmp_path / "k.npz")
    counts = np.array([[1.5, 1.5], [1.5, 0.0]])  # A stays once and goes to B once, B goes to A once; 1/2 is added
    assert lmdp.labels == ("A", "B")
    np.testing.assert_allclose(lmdp.P.toarray(), counts / counts.sum(axis=1, keepdims=True), rtol=1e-15)


@pytest.mark.parametrize("columns", ["start=Start Station,end=End Station", {"from": "3", "to": 5}])
def test_columns_of_trips_can_be_named(tmp_path: Path, columns: Any, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path / "trips.csv", TRIPS)
    with caplog.at_level(logging.INFO, "lsmdp"):
        log = read_trips(path, columns)
    assert not any("as start, end" in message for message in caplog.messages)
    assert log.sequences == 3


def test_a_table_of_another_library_has_trips() -> None:
    table = pa.table({"origin": ["x", "y", "x"], "destination": ["y", "x", "x"]})
    found = lsmdp.fit(table, trips=True, holdout=0.0)
    assert found.counts.toarray().tolist() == [[1.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("when,who\n1,2\n", {}, "no two of the columns"),
        ("start,end\n", {}, "there is no trip"),
        ("start,end\n,\n", {}, "none of the 1 trips has a start and an end"),
        ("start,end\na,b\n", {"columns": "start=start,end=start"}, "one column is named twice"),
        (
            "start,end\na,b\n",
            {"columns": "start=begin"},
            'there is no column "begin" among "start", "end". Name one of these',
        ),
        ("start,end\na,b\n", {"columns": "begin=start"}, 'there is no column "begin" to name'),
        ("start,end\na,b\n", {"columns": "start"}, "Write what each column is and its name"),
        ("start,end,t0\na,b,1\n", {"columns": "start_time=t0"}, "both times or none"),
        ("start,end,t0,t1\na,b,1/2,x\n", {"columns": "start_time=t0,end_time=t1", "time_format": "%d/%m"}, "line 2"),
        ("start,end\na,b\n", {"gap": 3.0}, "no gap"),
    ],
)
def test_bad_trips_are_named(tmp_path: Path, text: str, options: Any, message: str) -> None:
    path = written(tmp_path / "trips.csv", text)
    with pytest.raises(LsmdpError, match=message):
        lsmdp.fit(path, trips=True, **options)


def test_days_without_a_year_are_of_a_usual_one(tmp_path: Path) -> None:
    """From the last of February to the first of March it is a day; only with a year is there a 29 February."""
    days = {"columns": "start_time=from,end_time=to", "time_format": "%d/%m", "holdout": 0.0}
    path = written(tmp_path / "trips.csv", "start,end,from,to\na,b,28/02,01/03\nb,a,01/03,28/02\nb,a,1/3,2/3\n")
    found = lsmdp.fit(path, trips=True, **days)
    assert found.counts.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]  # the second ends before it starts
    written(path, "start,end,from,to\na,b,28/02,29/02\n")
    with pytest.raises(SpecError, match='line 2: the end_time is "29/02", which is not written as %d/%m'):
        lsmdp.fit(path, trips=True, **days)


LOG = "Bike #,When,Station\n7,3/1/12 08:00,a\n7,3/1/12 08:05,b\n7,3/31/12 08:05,b\n7,3/31/12 09:00,a\n"


def test_a_log_with_names_and_dates_of_its_own(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", LOG)
    refused = run("fit", path, "--out", tmp_path / "k.npz")
    assert refused.exit_code == 2
    assert "--time-format '%m/%d/%y %H:%M'" in refused.stderr
    asked = ["--time-format", "%m/%d/%y %H:%M", "--columns", "entity=Bike #,time=When,state=Station", "--holdout", "0"]
    found = json.loads(run("fit", path, *asked, "--out", tmp_path / "k.npz", "--json").stdout)
    assert found["moves"] == 3
    gapped = json.loads(run("fit", path, *asked, "--gap", "3600", "--out", tmp_path / "k.npz", "--json").stdout)
    assert gapped["moves"] == 2  # a gap is in seconds


def test_only_one_of_the_usual_formats_is_offered() -> None:
    assert usual_format(["8/31/15 23:26"]) == "%m/%d/%y %H:%M"
    assert usual_format(["31/8/2015"]) == "%d/%m/%Y"
    assert usual_format(["1/8/2015"]) is None  # the first of August, or the eighth of January
    assert usual_format(["noon"]) is None


class TestTies:
    ROWS = "entity,time,state\nk,1,a\nk,2,b\nk,2,c\nk,2,c\nk,3,a\n"

    def states(self, tmp_path: Path, text: str, **options: Any) -> list[str]:
        log = read_log(written(tmp_path / "log.csv", text), **options)
        return [log.states[visit] for visit in log.visits]

    def test_the_order_of_the_file(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        assert self.states(tmp_path, self.ROWS) == ["a", "b", "c", "a"]
        assert "1 records have the time of another of their entity: in the order of the file" in caplog.text
        head, *rows = self.ROWS.splitlines()
        assert self.states(tmp_path, "\n".join([head, *reversed(rows)])) == ["a", "b", "c", "a"]
        assert "in the reverse order of the file" in caplog.text

    def test_one_of_them(self, tmp_path: Path) -> None:
        assert self.states(tmp_path, self.ROWS, ties="first") == ["a", "b", "a"]
        assert self.states(tmp_path, self.ROWS, ties="last") == ["a", "c", "a"]
        log = read_log(tmp_path / "log.csv", ties="last")
        assert sum(count for _, count in log.dropped) == 2

    def test_repeated_records_are_no_move(self, tmp_path: Path) -> None:
        log = read_log(written(tmp_path / "log.csv", self.ROWS))
        assert log.dropped == (("records that repeat another", 1),)

    def test_refused_on_demand(self, tmp_path: Path) -> None:
        text = "entity,time,state\nb,1,x\na,1,x\nb,2,y\na,1,y\n"
        with pytest.raises(SpecError, match='line 3 and line 5: entity "a" has two records of one time'):
            self.states(tmp_path, text, ties="refuse")
        with pytest.raises(SpecError, match="one of: order, first, last, refuse"):
            self.states(tmp_path, text, ties="random")


@pytest.mark.skipif(not STRANGERS.is_dir(), reason=f"the files of strangers are not in {STRANGERS}")
def test_a_bike_share_goes_in_with_one_command(run: Run, tmp_path: Path) -> None:
    result = run(
        "fit", STRANGERS / "bike_trips.csv", "--trips", "--largest-class", "--out", tmp_path / "k.npz", "--json"
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["moves"] == 4999
    assert found["model"] == {"states": 35, "entries": 909, "irreducible": True}
