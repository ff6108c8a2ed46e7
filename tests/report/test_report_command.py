"""``mlnlearn report``."""

import csv

import pytest

from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.files import from_csv
from mlnlearn.data.synthetic import university
from mlnlearn.model.mln import MLN
from mlnlearn.report import report
from mlnlearn.structure.boosting import BoostedMLN
from mlnlearn.structure.join_bayes.learners import MBN

MADE = university(30, areas=2, rng=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for place, database in enumerate(MADE.databases):
        lines = [
            f"{predicate.name}({','.join(row)})\n"
            for predicate in MADE.schema.predicates
            for row in database.rows(predicate.name)
        ]
        (tmp_path / f"area{place}.db").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_network(folder, program):
    MLN(MADE.schema, MADE.rules).save(folder / "model.mln")
    arguments = ("--model", "model.mln", "--db", "area0.db", "area1.db", "--query", "advisedBy")
    code, out, _ = program("report", *arguments, "--title", "Who advises?")
    assert (code, out) == (0, "written to report.html\n")
    page = (folder / "report.html").read_text()
    assert "<h1>Who advises?</h1>" in page
    assert 'data-v="area1.db" data-t="database"' in page


def test_a_boosted_model_is_the_same_as_from_the_library(folder, program):
    model = BoostedMLN(target="advisedBy", steps=2, max_leaves=3).fit(MADE.databases).model
    model.save(folder / "boosted.mln")
    for file in ("boosted.mln", "boosted.json"):
        code, _, _ = program("report", "--model", file, "--db", "area0.db", "--out", "page.html")
        assert code == 0
        page = (folder / "page.html").read_text()
        assert "advisedBy(p1,p2), tree 2" in page
        tiles = page[page.index("AUC-PR</dt>") :][:60]
        assert tiles in report(model, MADE.databases[0])


def test_a_net_from_tables(folder, program):
    (folder / "people").mkdir()
    rows = [(f"p{k}", "old" if k % 3 else "young", "yes" if k % 3 else "no") for k in range(30)]
    with (folder / "people" / "person.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "age", "fan"), *rows])
    (folder / "keys.sql").write_text(
        "CREATE TABLE person (id TEXT PRIMARY KEY, age TEXT, fan TEXT)"
    )
    database, mapping = from_csv(folder / "people", ddl=folder / "keys.sql")
    MBN().fit(Loaded(database, mapping)).model.save(folder / "net.json")
    code, _, err = program(
        "report", "--model", "net.json", "--db", "people", "--schema", "keys.sql"
    )
    assert (code, err) == (0, "")
    page = (folder / "report.html").read_text()
    assert '<h2 id="drawing-title">Bayes net</h2>' in page
    assert "Performance: fan" in page


def test_what_is_wrong_is_said_and_nothing_is_written(folder, program):
    MLN(MADE.schema, MADE.rules).save(folder / "model.mln")
    for arguments, message in (
        (("--model", "missing.mln", "--db", "area0.db"), "missing.mln"),
        (("--model", "model.mln", "--db", "missing.db"), "missing.db"),
        (("--model", "model.mln", "--db", "area0.db", "--query", "advises"), "advises"),
    ):
        code, _, err = program("report", *arguments)
        assert code == 1
        assert message in err
    assert not (folder / "report.html").exists()
