"""Tasks: which entities, as of when, and what is to be predicted of them."""

import numpy as np
import pytest

from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.data.load.task import label_role, read_task, without_tasks
from mlnlearn.data.load.task_data import tables_data
from mlnlearn.data.load.within import seconds_in
from mlnlearn.errors import DataWarning, InputError


@pytest.fixture
def tables():
    drivers = {"driverId": Column.of(["1", "2"]), "team": Column.of(["red", "blue"])}
    starts = {
        "startId": Column.of(["10", "11", "12"]),
        "driverId": Column.of(["1", "1", "2"]),
        "date": Column.of(["2001-01-01", "2002-01-01", "2003-01-01"]),
        "place": Column.of(["3", "1", "2"]),
    }
    key = (ForeignKey(("driverId",), "drivers"),)
    return [
        Table("drivers", drivers, ("driverId",)),
        Table("starts", starts, ("startId",), key),
        Table("task_won_test", {"driverId": Column.of(["1"]), "won": Column.of(["1"])}),
    ]


def write(folder, text):
    path = folder / "train.csv"
    path.write_text(text)
    return path


def test_rows_of_a_task_are_examples_in_their_order(tables, tmp_path):
    text = "date,driverId,won\n2003-05-01,2,1\n2001-05-01,1,0\n2002-05-01,1,\n"
    found = tables_data(tables, task=write(tmp_path, text))
    assert found.task.target == "task.won"
    view = relational(found.data.databases, found.data.mapping)
    examples = examples_of(view, find_place(view, "task.won"))
    assert examples.label.tolist()[:2] == [1.0, 0.0]
    assert np.isnan(examples.label[2])
    names = view["drivers"].columns[""].names
    linked = examples.base.links["driverId"].codes
    assert [names[code] for code in linked] == ["2", "1", "1"]
    year = 365.25 * 86400
    assert (examples.base.times / year + 1970).astype(int).tolist() == [2003, 2001, 2002]


def test_labels_are_read_as_what_they_are():
    assert label_role(Column.of(["1", "0", None])) == "flag"
    assert label_role(Column.of(["gold", "tin"])) == "value"
    assert label_role(Column.of(["1", "2", "3"])) == "value"
    assert label_role(Column.of([str(n) for n in range(50)])) == "number"
    assert label_role(Column.of(["1.5", "2"])) == "number"


def test_a_file_without_labels_asks_for_them(tables, tmp_path):
    path = write(tmp_path, "date,driverId\n2003-05-01,2\n")
    with pytest.raises(InputError, match="no column with labels"):
        read_task(path, tables)
    task = read_task(path, tables, label="won")
    assert task.table.columns["won"].missing.all()


def test_tasks_in_the_folder_are_no_tables(tables):
    assert [table.name for table in without_tasks(tables)] == ["drivers", "starts"]


def test_a_task_must_speak_of_entities(tables, tmp_path):
    with pytest.raises(InputError, match="no column names entities") as caught:
        read_task(write(tmp_path, "date,pilot,won\n2003-05-01,2,1\n"), without_tasks(tables))
    assert "driverId" in caught.value.hint


@pytest.mark.parametrize("text", ["0d", "0.0 weeks", "d", "-1d", "1 fortnight"])
def test_what_is_no_span_of_time_is_refused(text):
    with pytest.raises(InputError, match="no span of time"):
        seconds_in(text)


def test_one_may_ask_about_what_the_tables_do_not_know(tmp_path):
    people = Table(
        "people", {"person": Column.of(["a", "b"] * 1), "x": Column.of(["u", "v"])}, ("person",)
    )
    path = tmp_path / "ask.csv"
    path.write_text("person,as of,left\na,2020-01-01,1\nb,2020-01-01,0\n")
    learned = tables_data([people], task=path)
    path.write_text("person,as of\na,2021-01-01\nnobody,2021-01-01\n")
    with pytest.warns(DataWarning, match="taken as empty"):
        given = tables_data([people], task=path, mapping=learned.data.mapping, label="left")
    assert given.task.table.rows == 2
