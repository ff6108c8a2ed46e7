"""Cut-offs in time: which rows stay, what goes with those that do not, and faults."""

import datetime
import random

import pandas as pd
import pytest

from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.cutoff import CutOff, TimeLimit
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.data.load.tables import Keys
from mlnlearn.errors import DataWarning, InputError, InputErrors

PEOPLE = pd.DataFrame(
    {
        "id": list("ABCD"),
        "joined": ["2019-05-01", "2020-01-01 18:30", "2020-01-02", "2021-07-01"],
        "sex": list("fmfm"),
        "boss": ["B", "D", "A", None],
    }
)
VISITS = pd.DataFrame({"who": list("ABCD"), "whom": list("BADA"), "year": [2018, 2019, 2020, 2021]})
KEYS = {
    "person": Keys("id", {"boss": "person"}),
    "visit": Keys(("who", "whom"), {"who": "person", "whom": "person"}),
}


def load(cut_off=None, mapping=None, people=PEOPLE):
    tables = {"person": people, "visit": VISITS}
    return from_frames(tables, keys=KEYS, mapping=mapping, cut_off=cut_off)


def test_rows_up_to_a_day_and_the_links_among_them():
    database, mapping = load(CutOff("2020-01-01", {"person": "joined"}))
    assert list(database.domains["person"].names) == ["A", "B"]
    # C came a day later and D a year later: visits with them go, and B has no boss any more
    assert sorted(database.rows("visit")) == [("A", "B"), ("B", "A")]
    assert list(database.rows("boss")) == [("A", "B")]
    assert "joined" not in database.schema
    assert mapping["person"].time == "joined"
    assert "# 2 of 4 rows are used" in str(mapping)


@pytest.mark.parametrize(
    ("until", "cell", "expected"),
    [
        ("2020-01-01", "2020-01-01", True),
        ("2020-01-01", "2020-01-01 23:59:59", True),
        ("2020-01-01", "2020-01-02 00:00", False),
        ("2020-01-01 12:00", "2020-01-01 12:00:00", True),
        ("2020-01-01 12:00", "2020-01-01 12:00:01", False),
        ("2020-01-01", "2020-01-02 01:00+02:00", True),
        ("2020-01-01", "2020-01-01 23:00-02:00", False),
        ("2020-01-01", "1.1.2020", True),
        ("2020-01-01", "02.01.2020", False),
        ("2020-01-01", "soon", None),
        ("1999", "1999", True),
        ("1999", "1999.5", False),
        ("1999", "2000-01-01", None),
    ],
)
def test_what_a_limit_allows(until, cell, expected):
    assert TimeLimit("x", until).allowed(Column.of([cell])) == [expected]


def test_a_limit_on_seconds_since_1970():
    cells = Column.of([1577836800 + 86400 * day for day in range(-9, 9)])
    assert sum(TimeLimit("day", "2020-01-01").allowed(cells)) == 10


@pytest.mark.parametrize("until", ["2019", 2019, 2019.0])
def test_limits_in_the_mapping(until):
    value = f'"{until}"' if isinstance(until, str) else until
    database, mapping = load(mapping=f'visit.time = "year"\nvisit.until = {value}')
    assert sorted(database.rows("visit")) == [("A", "B"), ("B", "A")]
    assert database.size("person") == 4
    again = load(mapping=mapping).database
    assert sorted(again.rows("visit")) == sorted(database.rows("visit"))
    assert Mapping.from_dict(mapping.as_dict()) == mapping
    whole = load(mapping=mapping.without_limits()).database
    assert whole.count("visit") == 4
    assert "year" not in whole.schema


def test_dates_of_toml_and_python():
    day = 'person.time = "joined"\nperson.until = 2020-01-01'
    cut_off = CutOff(datetime.date(2020, 1, 1), {"person": "joined"})
    for given in ({"mapping": day}, {"cut_off": cut_off}):
        assert load(**given).database.size("person") == 2


def test_a_cut_off_overrides_the_limit_of_the_mapping():
    text = 'visit.time = "year"\nvisit.until = 2018'
    assert load(CutOff(2020), text).database.count("visit") == 3


def test_the_time_can_be_a_value_too():
    text = 'visit = { time = "year", until = 2019, columns = { year = { as = "value" } } }'
    assert sorted(load(mapping=text).database.rows("year")) == [
        ("A", "B", "2018"),
        ("B", "A", "2019"),
    ]


def test_rows_without_a_time_are_reported_and_left_out():
    people = PEOPLE.assign(joined=["2019-05-01", None, None, "2021-07-01"])
    with pytest.warns(DataWarning, match="2 rows have no 'joined', so they may be later than 2020"):
        database, _ = load(CutOff("2020-01-01", {"person": "joined"}), people=people)
    assert list(database.domains["person"].names) == ["A"]


def test_cells_that_are_no_time_are_listed():
    people = PEOPLE.assign(joined=["2019-05-01", "soon", "2020-13-01", "2021-07-01"])
    with pytest.raises(InputErrors) as caught:
        load(CutOff("2020-01-01", {"person": "joined"}), people=people)
    assert str(caught.value).splitlines()[1:] == [
        "table person:2: column 'joined': expected a date such as 2020-12-31, found 'soon'",
        "table person:3: column 'joined': expected a date such as 2020-12-31, found '2020-13-01'",
    ]


def test_faults_of_the_setting():
    # where nobody names a time column, the one that says when a row is from is found
    found = load(CutOff("2020-01-01")).mapping
    assert found == load(CutOff("2020-01-01", {"person": "joined"})).mapping
    without = PEOPLE.drop(columns="joined")
    with pytest.raises(InputError, match="no table has a time column"):
        load(CutOff("2020-01-01"), people=without)
    with pytest.raises(InputErrors, match=r"\[person\] time: expected one of id, joined"):
        load(CutOff("2020-01-01", {"person": "born"}))
    with pytest.raises(InputErrors, match=r"\[people\]: no such table"):
        load(CutOff("2020-01-01", {"people": "born"}))
    with pytest.raises(InputError, match="expected a date such as 2020-12-31, found 'later'"):
        load(CutOff("later", {"person": "joined"}))
    with pytest.raises(InputErrors, match="until: expected a date or a number, found True"):
        load(mapping='person.time = "joined"\nperson.until = true')
    with pytest.raises(InputError, match=r"\[person\] until: which column says when"):
        load(mapping="person.until = 2020-01-01")


def test_links_of_links_go_too():
    """Brute force: drop rows again and again until every reference leads somewhere."""
    random.seed(3)
    for _ in range(20):
        people = pd.DataFrame({"id": range(8), "born": [random.randrange(4) for _ in range(8)]})
        dogs = pd.DataFrame({"id": range(6), "of": [random.randrange(8) for _ in range(6)]})
        walks = pd.DataFrame(
            [(d, p) for d in range(6) for p in range(8) if random.random() < 0.3],
            columns=["dog", "person"],
        )
        keys = {
            "person": "id",
            "dog": Keys("id", {"of": "person"}),
            "walk": Keys(("dog", "person"), {"dog": "dog", "person": "person"}),
        }
        frames = {"person": people, "dog": dogs, "walk": walks}
        cut = CutOff(1, {"person": "born"})
        database, _ = from_frames(frames, keys=keys, cut_off=cut)
        alive = set(people.id[people.born <= 1])
        assert set(database.rows("walk")) == {
            (str(d), str(p)) for d, p in walks.itertuples(index=False) if p in alive
        }
        assert set(database.rows("of")) == {
            (str(d), str(p)) for d, p in dogs.itertuples(index=False) if p in alive
        }
        assert database.size("dog") == 6


def test_without_a_cut_off_nothing_changes():
    database, mapping = load()
    assert database.size("person") == 4
    assert "until" not in str(mapping)
    assert mapping["person"].time == "joined"
    assert build_database([], None).database.schema.predicates == ()
