"""What people look at: a line at the prompt, a table in a notebook; short, and free of markup."""

import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.data.identity import settings_of
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import Table
from mlnlearn.evaluate.rows import RowAnswers
from mlnlearn.model.boosted.rules import TargetRules
from mlnlearn.notebook import Shown

MLN = ml.MLN.parse("smokes(person)\nfriends(person,person)\n1.5 smokes(x)\n-3 friends(x,x)")
PEOPLE = ml.Database.from_facts(
    MLN.schema, {"smokes": [("Anna",)], "friends": [("Anna", '"<Bob>"')]}, name="people"
)
BOOSTED = ml.BoostedModel(MLN.schema, False, (TargetRules(MLN.schema["smokes"], 0.5),))
ROWS = RowAnswers(np.arange(30), [f"r<{n}>" for n in range(30)], (), np.arange(30.0)[:, None])


def net():
    cells = {"sex": Column.of([*"fmfm"]), "fan": Column.of([*"xyxy"])}
    people = Table("person", {"id": Column.of([*"ABCD"])} | cells, ("id",))
    return ml.MBN().fit([people]).model


def paths():
    graph = ml.from_triples([(f"a{n}", kind, f"b{n}") for n in range(5) for kind in ("r", "s")])
    return ml.Paths(min_support=1, epochs=1).fit(graph).model


SHOWN = {
    "database": (lambda: PEOPLE, "<Database: people: 2 true atoms over 2 person>"),
    "network": (lambda: MLN, "<MLN: 2 rules over 2 predicates>"),
    "boosted": (lambda: BOOSTED, "<BoostedModel: predicts smokes in 0 steps>"),
    "answers": (
        lambda: ml.query(MLN, PEOPLE, ["smokes"]),
        "<Answers: 1 atom; 1 component by closed form>",
    ),
    "rows": (lambda: ROWS, "<RowAnswers: 30 rows, for each a number>"),
    "net": (net, "<JoinBayesModel: a net of 2 nodes, with 6 weights>"),
    "paths": (paths, "<PathModel: "),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_one_line_and_a_table(kind):
    make, line = SHOWN[kind]
    value = make()
    assert repr(value).startswith(line)
    assert "\n" not in repr(value)
    page = value._repr_html_()
    assert set(re.findall(r"<(\w+)", page)) <= {
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
        *(
            "details",
            "summary",
            "div",
            "svg",
            "title",
            "g",
            "rect",
            "text",
            "line",
            "path",
            "style",
        ),
    }
    titles, rows = value.table()
    assert all(len(row) == len(titles) for row in rows)


def test_a_long_table_is_cut_and_counted():
    assert ROWS._repr_html_().count("<tr>") == 1 + 20 + 1
    assert "… and 10 more" in ROWS._repr_html_()
    assert "r&lt;0&gt;" in ROWS._repr_html_()


def test_every_dataclass_that_is_shown_keeps_the_short_line():
    """A dataclass writes its own `repr` over an inherited one unless it is told not to."""
    waiting, seen = [Shown], []
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        seen.append(one)
        assert not is_dataclass(one) or one.__repr__ is Shown.__repr__
    assert len(seen) > 7


def test_a_checkpoint_knows_two_networks_apart_that_look_the_same():
    other = ml.MLN(MLN.schema, MLN.with_weights([1.5, -2.0]).rules)
    assert repr(MLN) == repr(other)
    first, second = (settings_of(ml.MSL(initial=one)) for one in (MLN, other))
    assert first["initial"] != second["initial"]
    assert [name for name in first if first[name] != second[name]] == ["initial"]
    assert all(item.name in first["initial"] for item in fields(MLN))
