"""``mlnlearn evaluate --tables --target``: rows kept aside, any or the latest."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Long visits end in a purchase, until the last fifth of the year, when the others do."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    with closing(sqlite3.connect("v.sqlite")) as file:
        file.execute(
            "CREATE TABLE visit (id INTEGER PRIMARY KEY, at DATE, seconds REAL, buys TEXT)"
        )
        for n in range(300):
            seconds = round(float(rng.exponential(50)), 1)
            buys = (seconds > 40) != (n >= 240)
            day = f"2020-{1 + n // 25:02d}-{1 + n % 25:02d}"
            cells = (n, day, seconds, "yes" if buys else "no")
            file.execute("INSERT INTO visit VALUES (?, ?, ?, ?)", cells)
        file.commit()
    return tmp_path


COMMAND = ("evaluate", "--tables", "v.sqlite", "--target", "visit.buys", "--json")


def test_the_latest_rows_are_kept_aside_where_that_is_wished(visits, program):
    found = {}
    for split in ("random", "time"):
        code, out, err = program(*COMMAND, "--learner", "boost", "--split", split)
        assert code == 0, err
        (found[split],) = json.loads(out)
    assert "latest 20%" in found["time"]["split"]
    assert found["time"]["rows"] == found["random"]["rows"] == 60
    assert found["time"]["held_out"]["auc_roc"] < 0.5 < found["random"]["held_out"]["auc_roc"]


def test_learners_of_constants_are_compared_on_the_same_rows(visits, program):
    code, out, err = program(*COMMAND, "--learner", "boost", "--learner", "rdn-b")
    assert code == 0, err
    boost, other = json.loads(out)
    assert boost["baseline"] == other["baseline"]
    assert other["held_out"]["auc_roc"] > 0.6
    code, _, err = program(*COMMAND, "--query", "buys")
    assert code == 1
    assert "one of --target, --task and --query" in err


def test_a_table_without_times_is_not_split_by_time(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("v.sqlite")) as file:
        file.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, seconds REAL, buys TEXT)")
        rows = [(n, n / 7, "yes" if n % 3 else "no") for n in range(60)]
        file.executemany("INSERT INTO visit VALUES (?, ?, ?)", rows)
        file.commit()
    code, _, err = program(*COMMAND, "--split", "time")
    assert code == 1
    assert "visit has no times to split by" in err


def test_a_label_that_is_always_the_same_is_refused(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("v.sqlite")) as file:
        file.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, seconds REAL, buys TEXT)")
        file.executemany("INSERT INTO visit VALUES (?, ?, 'no')", [(n, n / 7) for n in range(60)])
        file.commit()
    command = ("learn", "--tables", "v.sqlite", "--target", "visit.buys", "--out", "m.mln")
    code, _, err = program(*command)
    assert code == 1
    assert "visit.buys was left out: always 'no'" in err
