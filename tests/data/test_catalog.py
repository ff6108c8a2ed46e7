"""The benchmark folder: a small one made here, and the real one where it is at hand."""

import json
import os
from collections import Counter

import pytest

from mlnlearn.data.catalog import benchmark, benchmark_names, benchmark_path, benchmark_tables
from mlnlearn.errors import InputError

needs_data = pytest.mark.skipif(
    not os.environ.get("MLNLEARN_DATA"), reason="MLNLEARN_DATA names no benchmark folder"
)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Make a folder with a data set of two folds and one of tables."""
    toy, shop = tmp_path / "toy", tmp_path / "shop"
    (shop / "tables").mkdir(parents=True)
    toy.mkdir()
    (tmp_path / "notes").mkdir()
    (toy / "schema.mln").write_text("smokes(person)\nfriends(person,person)\nage(person,years!)\n")
    (toy / "schema_less.mln").write_text("friends(person,person)\nage(person,years)\n")
    (toy / "fold2.db").write_text("smokes(C)\nage(C,3)\n")
    (toy / "fold1.db").write_text("friends(A,B)\nage(A,1)\nage(B,2)\n")
    (shop / "schema.sql").write_text("CREATE TABLE item (id INTEGER PRIMARY KEY, colour TEXT);")
    (shop / "tables" / "item.csv").write_text("id,colour\n1,red\n")
    monkeypatch.setenv("MLNLEARN_DATA", str(tmp_path))
    return tmp_path


def test_names_and_paths(small):
    assert benchmark_names() == ["shop", "toy"]
    assert benchmark_path("toy") == small / "toy"
    with pytest.raises(InputError, match=r"no data set 'cora' in .*; there are: shop, toy"):
        benchmark_path("cora")


def test_folds_in_order(small):
    first, second = benchmark("toy")
    assert (first.name, second.name) == ("toy/fold1", "toy/fold2")
    assert sorted(first.rows("age")) == [("A", "1"), ("B", "2")]
    assert second.schema.functional == {"age": (1,)}
    assert list(second.rows("smokes")) == [("C",)]


def test_another_schema_restricts_the_predicates(small):
    first, second = benchmark("toy", schema="schema_less.mln")
    assert [str(predicate) for predicate in first.schema.predicates] == [
        "friends(person,person)",
        "age(person,years)",
    ]
    assert not first.schema.functional
    assert second.true_atoms == 1
    with pytest.raises(InputError, match=r"no schema 'x.mln'; there are: schema.mln, schema_less"):
        benchmark("toy", schema="x.mln")


def test_tables_and_what_is_not_there(small):
    database, mapping = benchmark_tables("shop")
    assert list(database.rows("colour")) == [("1", "red")]
    assert mapping["item"].type == "item"
    assert database.name == "shop"
    with pytest.raises(InputError, match=r"(?s)has no .db files.*benchmark_tables\('shop'\)"):
        benchmark("shop")
    with pytest.raises(InputError, match=r"(?s)has no tables.*benchmark\('toy'\)"):
        benchmark_tables("toy")


def test_a_missing_folder_is_said_clearly(monkeypatch, tmp_path):
    monkeypatch.delenv("MLNLEARN_DATA", raising=False)
    with pytest.raises(InputError, match="the environment variable MLNLEARN_DATA is not set"):
        benchmark_names()
    monkeypatch.setenv("MLNLEARN_DATA", str(tmp_path / "none"))
    with pytest.raises(InputError, match="which is no folder"):
        benchmark("uwcse")


@needs_data
@pytest.mark.parametrize("name", ["uwcse", "imdb", "webkb", "university", "movielens"])
def test_counts_agree_with_the_index(name):
    index = json.loads((benchmark_path(name).parent / "index.json").read_text())[name]["folds"]
    for database in benchmark(name):
        expected = index[f"{database.name.split('/')[1]}.db"]
        counts = {p.name: database.count(p.name) for p in database.schema.predicates}
        assert {p: n for p, n in counts.items() if n} == expected["true_by_predicate"]
        assert {kind: database.size(kind) for kind in database.schema.types} == {
            kind: expected["constants_by_type"].get(kind, 0) for kind in database.schema.types
        }


@needs_data
def test_the_published_restriction_of_uwcse():
    folds = benchmark("uwcse", schema="schema_khot.mln")
    assert sum(fold.true_atoms for fold in folds) == 2112
    assert len(folds[0].schema.predicates) == 12


SAME = {
    "university": 'registration.predicate = "registered"',
    "movielens": """
        users.columns = { Age.predicate = "age", Gender.predicate = "gender" }
        item2.columns = { action.as = "flag", drama.as = "flag", horror.as = "flag" }
        u2base.predicate = "rated"
        """,
    "mutagenesis": """
        mole.columns = { ind1.as = "flag", inda.as = "flag" }
        bond = { predicate = "", columns.btype.predicate = "bond" }
        """,
    "hepatitis": 'dispat.columns.Type.predicate = "hepType"',
}


@needs_data
@pytest.mark.parametrize("name", SAME)
def test_tables_hold_the_same_facts_as_the_alchemy_files(name):
    (atoms,) = benchmark(name)
    tables, _ = benchmark_tables(name, mapping=SAME[name])
    names = {predicate.name for predicate in atoms.schema.predicates}
    assert {predicate.name for predicate in tables.schema.predicates} == names
    assert {p: tables.count(p) for p in names} == {p: atoms.count(p) for p in names}
    for predicate in names:
        assert tables.schema.functional.get(predicate) == atoms.schema.functional.get(predicate)
        # Constants are renamed one to one, so the facts a constant has must be equally many.
        for place in range(atoms.schema[predicate].arity):
            degrees = [
                sorted(Counter(db.facts(predicate)[place].tolist()).values())
                for db in (tables, atoms)
            ]
            assert degrees[0] == degrees[1]


@needs_data
def test_a_self_relationship_keeps_students_and_professors_apart():
    database, _ = benchmark_tables("uwcse_sql")
    professors = {person for person, value in database.rows("professor") if value == "1"}
    assert database.count("advisedBy") == 113
    assert {advisor for _, advisor in database.rows("advisedBy")} <= professors
