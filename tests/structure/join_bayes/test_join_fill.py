"""Empty cells filled in: those of the right rows, in the column's own words; others untouched."""

import numpy as np
import pandas as pd
import pytest

from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.frames import read_frame
from mlnlearn.data.load.tables import Keys
from mlnlearn.errors import InputError
from mlnlearn.structure.join_bayes.fill import fill_tables
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN
from mlnlearn.structure.join_bayes.model import JoinBayesModel

MAPPING = """
person.columns.age = { bins = 2 }
person.columns.fan = { as = "flag", true = "ja" }
knows.columns.often = { as = "flag" }
"""


def frames(seed, size=30):
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=size)
    gone = rng.random((4, size)) < 0.2
    person = pd.DataFrame(
        {
            "id": rng.permutation(size) * 3,
            "sex": np.where(gone[0], None, np.array(["f", "m"])[kind]),
            "age": np.where(gone[1], np.nan, 20 + 40 * kind + rng.integers(9, size=size)),
            "fan": np.where(
                gone[2], None, np.array(["ja", "nein"])[kind ^ (rng.random(size) < 0.1)]
            ),
        }
    )
    pairs = [(a, b) for a in range(size) for b in range(size) if rng.random() < 0.1]
    knows = pd.DataFrame(
        {
            "one": [person["id"][a] for a, _ in pairs],
            "two": [person["id"][b] for _, b in pairs],
            "often": [None if rng.random() < 0.2 else str(kind[a] == kind[b]) for a, b in pairs],
            "place": [None if rng.random() < 0.2 else "xyz"[kind[a] + kind[b]] for a, b in pairs],
        }
    ).sample(frac=1, random_state=seed)
    return {"person": person, "knows": knows.reset_index(drop=True)}


def tables(seed):
    keys = {
        "person": Keys("id"),
        "knows": Keys(("one", "two"), {"one": "person", "two": "person"}),
    }
    return define_tables([read_frame(n, f) for n, f in frames(seed).items()], None, keys)


def cells(table, name):
    column = table.columns[name]
    return [None if code < 0 else column.names[code] for code in column.codes.tolist()]


@pytest.mark.parametrize("learner", [LAJDT(), MBN(links=True)])
@pytest.mark.parametrize("seed", range(3))
def test_cells_are_those_of_the_predictions(learner, seed):
    before = tables(seed)
    database, mapping = build_database(before, MAPPING)
    model = learner.fit(Loaded(database, mapping)).model
    found = fill_tables(model, before)
    predictions = model.predict(database)
    filled = {table.name: table for table in found.tables}
    assert {(part.table, part.column) for part in found.columns} == {
        ("person", "sex"), ("person", "age"), ("person", "fan"), ("knows", "often"),
        ("knows", "place"),
    }  # fmt: skip
    people = list(database.domains["person"].names)
    links = list(database.rows("knows"))
    for old in before:
        new = filled[old.name]
        for name in old.columns:
            was, now = cells(old, name), cells(new, name)
            assert None not in now
            assert [a for a, b in zip(was, now, strict=True) if a is not None and a != b] == []
    for part in found.columns:
        table = filled[part.table]
        keys = [c.name for c in mapping[part.table].keys]
        for row, chances in zip(part.rows.tolist(), part.probabilities, strict=True):
            key = tuple(cells(table, name)[row] for name in keys)
            place = people.index(key[0]) if len(key) == 1 else links.index(key)
            expected = np.exp(predictions[part.prediction.node.predicate.name].log_probabilities)
            assert chances == pytest.approx(expected[place])
            value = part.values[int(expected[place].argmax())]
            cell = cells(table, part.column)[row]
            if part.column == "age":
                known = [float(c) for c in cells(before[0], "age") if c is not None]
                [cut] = mapping["person"]["age"].cuts
                inside = [x for x in known if (x < cut) == value.startswith("(-inf")]
                assert float(cell) == sorted(inside)[(len(inside) - 1) // 2]
            elif part.column == "fan":
                assert cell == {"T": "ja", "F": "nein"}[value]
            elif part.column == "often":
                assert cell == {"T": "True", "F": "False"}[value]
            else:
                assert cell == value


def test_new_tables_are_read_as_the_old_ones_were(tmp_path):
    first, second = tables(0), tables(1)
    model = LAJDT().fit(build_database(first, MAPPING)).model
    model.save(tmp_path / "m.json")
    again = JoinBayesModel.load(tmp_path / "m.json")
    assert again.mapping == model.mapping
    found = fill_tables(again, second)
    ages = next(part for part in found.columns if part.column == "age")
    cuts = model.mapping["person"]["age"].cuts
    assert cuts != build_database(second, MAPPING).mapping["person"]["age"].cuts
    assert ages.values == tuple(f for f in (f"(-inf,{cuts[0]:g})", f"[{cuts[0]:g},inf)"))


def test_some_columns_only():
    before = tables(2)
    model = LAJDT().fit(build_database(before, MAPPING)).model
    found = fill_tables(model, before, ["sex"])
    assert [part.column for part in found.columns] == ["sex"]
    assert None in cells(found.tables[0], "fan")
    with pytest.raises(InputError, match="no attribute 'hair'"):
        fill_tables(model, before, ["hair"])


def test_a_model_learned_from_facts_alone_knows_no_tables():
    before = tables(2)
    database, _ = build_database(before, MAPPING)
    model = MBN().fit(database).model
    with pytest.raises(InputError, match="does not say how tables become predicates"):
        fill_tables(model, before)


def test_full_tables_stay_as_they_are():
    before = [table for table in tables(3) if table.name == "person"]
    model = LAJDT().fit(build_database(before)).model
    once = fill_tables(model, before).tables
    again = fill_tables(model, once)
    assert again.columns == ()
    assert [cells(again.tables[0], n) for n in before[0].columns] == [
        cells(once[0], n) for n in before[0].columns
    ]
