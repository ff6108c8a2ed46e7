"""The view of databases as linked tables, against the facts it is made of."""

import numpy as np
import pytest

from join_worlds import self_tables
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import Link, relational
from mlnlearn.data.database import Database
from mlnlearn.data.load.build import build_database
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.errors import InputError
from mlnlearn.logic.schema import Schema
from mlnlearn.structure.relational_boosting.learner import RelationalBoost

SCHEMA = Schema.of("kind(item,sort!)", "new(item)", "near(item,item)", "at(item,place,hour)")


def random_database(seed):
    rng = np.random.default_rng(seed)
    items = [f"I{seed}{i}" for i in range(rng.integers(2, 6))]
    places, hours, sorts = ["P0", "P1"], ["1", "2", "3"], ["A", "B", "C"]

    def some(*domains):
        rows = [tuple(rng.choice(d) for d in domains) for _ in range(rng.integers(1, 8))]
        return sorted(set(rows))

    facts = {
        "kind": [(item, rng.choice(sorts)) for item in items[1:]],
        "new": some(items),
        "near": some(items, items),
        "at": some(items, places, hours),
    }
    near = set(facts["near"])
    unknown = {"near": [row for row in some(items, items) if row not in near]}
    return Database.from_facts(
        SCHEMA, facts, unknown=unknown, domains={"item": items, "place": places, "hour": hours}
    )


def row_names(view, row_set):
    """The rows of a row set in words: the database, then what its columns hold."""
    cells = [row_set.part.tolist()]
    for column in row_set.columns.values():
        names = view[column.to].columns[""] if isinstance(column, Link) else column
        codes = column.codes if not isinstance(column, Link) else names.codes[column.codes]
        cells.append([names.names[code] if code >= 0 else None for code in codes])
    return list(zip(*cells, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_the_view_says_what_the_facts_say(seed):
    databases = [random_database(2 * seed), random_database(2 * seed + 1)]
    view = relational(databases)
    for name in ("near", "at"):
        found = sorted(row_names(view, view[name]))
        assert found == sorted((i, *row) for i, db in enumerate(databases) for row in db.rows(name))
    expected = []
    for number, database in enumerate(databases):
        kinds = dict(database.rows("kind"))
        fresh = {item for (item,) in database.rows("new")}
        expected += [
            (number, item, kinds.get(item), str(item in fresh).lower())
            for item in database.domains["item"]
        ]
    assert sorted(row_names(view, view["item"]), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("seed", range(20))
def test_possible_rows_are_all_atoms_of_each_database(seed):
    databases = [random_database(2 * seed), random_database(2 * seed + 1)]
    view = relational(databases)
    found = examples_of(view, find_place(view, "near"))
    labels = dict(zip(row_names(view, found.base), found.label.tolist(), strict=True))
    assert len(labels) == sum(database.size("item") ** 2 for database in databases)
    for number, database in enumerate(databases):
        true = set(database.rows("near"))
        codes = database.unknown_facts("near")
        names = database.domains["item"]
        unknown = {(names[a], names[b]) for a, b in codes.T.tolist()}
        for first in names:
            for second in names:
                label = labels[number, first, second]
                if (first, second) in unknown:
                    assert np.isnan(label)
                else:
                    assert label == ((first, second) in true)


def test_a_sample_of_rows_stands_for_all():
    people = [f"P{i}" for i in range(300)]
    schema = Schema.of("likes(person,person)")
    facts = {"likes": [(people[i], people[i + 1]) for i in range(299)]}
    view = relational([Database.from_facts(schema, facts)])
    found = examples_of(view, find_place(view, "likes"), max_examples=5000, seed=1)
    assert found.label.sum() == 299
    assert found.base.rows < 5400
    assert found.weight.sum() == pytest.approx(300 * 300)
    links = list(found.base.links.values())
    pairs = set(zip(links[0].codes.tolist(), links[1].codes.tolist(), strict=True))
    assert len(pairs) == found.base.rows


def test_rows_of_tables_have_the_columns_of_the_tables():
    people = {"id": Column.of(["a", "b"]), "sex": Column.of(["f", None])}
    visits = {
        "who": Column.of(["b", "a"]),
        "to whom": Column.of(["a", "b"]),
        "mood": Column.of(["good", "bad"]),
    }
    keys = (ForeignKey(("who",), "people"), ForeignKey(("to whom",), "people"))
    tables = [
        Table("people", people, ("id",)),
        Table("visits", visits, ("who", "to whom"), keys),
    ]
    database, mapping = build_database(tables)
    view = relational([database], mapping)
    assert row_names(view, view["people"]) == [(0, "a", "f"), (0, "b", None)]
    assert sorted(row_names(view, view["visits"])) == [(0, "a", "b", "bad"), (0, "b", "a", "good")]
    found = examples_of(view, find_place(view, "visits.mood"))
    assert sorted(found.classes[int(label)] for label in found.label) == ["bad", "good"]
    with pytest.raises(InputError, match="no table, column or predicate") as caught:
        find_place(view, "visits.moot")
    assert "visits.mood" in str(caught.value.hint)


def test_columns_of_a_relation_are_no_part_of_what_may_exist():
    knows = self_tables(1, 0.0, 9)
    view = relational([knows.database], knows.mapping)
    found = examples_of(view, find_place(view, "knows"))
    assert list(found.base.columns) == ["one", "two"]
    assert len(found.label) == 81
    assert found.label.sum() == view["knows"].rows
    model = RelationalBoost(target="knows", steps=3).fit(knows).model
    asked = model.query(knows.database, "knows")
    assert len(asked) == 81
