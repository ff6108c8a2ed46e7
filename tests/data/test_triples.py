"""Triples from files, frames and rows: every format the same graph, every fault with its place."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest

import mlnlearn as ml
from mlnlearn.data.load import triples
from mlnlearn.data.load.triples import read_triples
from mlnlearn.data.triple_view import graph_database, graph_of

ROWS = [
    ("anna", "born in", "http://ex.org/Prague"),
    ("Bob", "knows", "anna"),
    ("Bob", "born in", "http://ex.org/Prague"),
]


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "order"),
    [
        ("kg.tsv", "\n".join("\t".join(row) for row in ROWS), ""),
        ("kg.txt", "\r\n".join("\t".join(row) for row in ROWS) + "\r\n\r\n", ""),
        ("kg.csv", "\n".join(",".join(row) for row in ROWS), ""),
        ("kg.csv", "tail,head,relation\n" + "\n".join(f'"{t}",{h},{r}' for h, r, t in ROWS), ""),
        ("kg.tsv.gz", "s\tp\to\n" + "\n".join("\t".join(row) for row in ROWS), ""),
        ("kg.tsv", "\n".join(f"{r}\t{t}\t{h}" for h, r, t in ROWS), "relation tail head"),
        ("kg.tsv", "\n".join(f"{r}\t{t}\t{h}" for h, r, t in ROWS), "rth"),
    ],
)
def test_every_format_gives_the_same_graph(tmp_path, name, text, order):
    graph = ml.read_graph(written(tmp_path, name, text), order=order).train
    assert set(graph.rows()) == set(ROWS)
    assert graph.rows() == ml.from_triples(ROWS).train.rows()


@pytest.mark.parametrize("letters", [1, 7, 20, 30])
def test_files_are_read_a_piece_at_a_time(tmp_path, monkeypatch, letters):
    monkeypatch.setattr(triples, "_TEXT_AT_ONCE", letters)
    path = written(tmp_path, "kg.tsv", "\n" + "\n".join("\t".join(row) for row in ROWS) + "\nbad\n")
    with pytest.raises(ml.InputError, match=r"kg\.tsv:5: expected 3 cells"):
        read_triples(path)
    heads, relations, tails = read_triples(
        written(tmp_path, "kg.tsv", "\n\n".join("\t".join(row) for row in ROWS))
    )
    assert list(zip(heads, relations, tails, strict=True)) == ROWS
    assert heads[0] is tails[1]  # a name is kept once


def test_n_triples(tmp_path):
    text = (
        "# people\n<http://ex.org/a> <http://ex.org/knows> <http://ex.org/b> .\n"
        '_:b1 <http://ex.org/name> "Anna \\"A\\" B"@en . # done\n'
    )
    found = read_triples(written(tmp_path, "kg.nt", text))
    assert found == (
        ["http://ex.org/a", "_:b1"],
        ["http://ex.org/knows", "http://ex.org/name"],
        ["http://ex.org/b", '"Anna \\"A\\" B"@en'],
    )
    with pytest.raises(ml.InputError, match=r"kg\.nt:1: expected <subject>"):
        read_triples(written(tmp_path, "kg.nt", "<a> <b> .\n"))
    with pytest.raises(ml.InputError, match=r"kg\.nt:1: the head of the triple is empty"):
        read_triples(written(tmp_path, "kg.nt", "<> <b> <c> .\n"))


def test_letters_of_n_triples_by_their_numbers(tmp_path):
    text = (
        "<http://ex.org/\\u00e4> <http://ex.org/\\U0001F600> <http://ex.org/ä> .\n"
        '<http://ex.org/b> <http://ex.org/name> "\\u00e4 \\\\u00e4 \\u0022 \\uD800" .\n'
    )
    heads, relations, tails = read_triples(written(tmp_path, "kg.nt", text))
    assert heads[0] == tails[0] == "http://ex.org/ä"
    assert relations[0] == "http://ex.org/\U0001f600"
    # what would end the literal, or is no letter, stays as it is written
    assert tails[1] == '"ä \\\\u00e4 \\u0022 \\uD800"'


def test_tabs_within_quotes(tmp_path):
    found = read_triples(written(tmp_path, "kg.tsv", '"a\tb"\tr\tc\n"d"\tr\tc\n'))
    assert found == (["a\tb", '"d"'], ["r", "r"], ["c", "c"])


def test_a_first_line_that_may_hold_titles_is_doubted(tmp_path):
    rows = "".join(f"a{k}\tr\ta{k + 1}\n" for k in range(3))
    with pytest.warns(
        ml.DataWarning, match=r"kg\.tsv: the names of the first triple \(from, rel, to\)"
    ):
        read_triples(written(tmp_path, "kg.tsv", "from\trel\tto\n" + rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_triples(written(tmp_path, "kg.tsv", "from\tr\tto\n" + rows))


def test_frames_and_arrays():
    expected = ml.from_triples(ROWS).train.rows()
    frame = pd.DataFrame(ROWS, columns=["h", "r", "t"])
    assert ml.from_triples(frame).train.rows() == expected
    assert ml.from_triples(frame[["t", "r", "h"]], columns=["h", "r", "t"]).train.rows() == expected
    assert ml.from_triples(np.array(ROWS)).train.rows() == expected
    with pytest.raises(ml.InputError, match="the frame has the columns"):
        ml.from_triples(frame.assign(x=1))
    with pytest.raises(ml.InputError, match="row 0: the relation of the triple is empty"):
        ml.from_triples([("a", "", "b")])
    with pytest.raises(ml.InputError, match="row 1: a triple has 3 names, not 2"):
        ml.from_triples([("a", "r", "b"), ("a", "r")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tr\tb\tc\n", r"kg.tsv:1: expected 3 cells \(head, relation, tail\), found 4 cells"),
        ("a\tr\tb\na\t\tb\n", "kg.tsv:2: the relation of the triple is empty"),
        ("a\tr\tb\n \tr\t\n", "kg.tsv:2: the head and the tail of the triple is empty"),
        ("\n\n", "kg.tsv: there is no triple in the file"),
        ("a\tr\tb\na b\nc\n", "2 problems found"),
    ],
)
def test_what_is_no_triple_is_named_with_its_place(tmp_path, text, message):
    with pytest.raises(ml.InputError, match=message):
        read_triples(written(tmp_path, "kg.tsv", text))


def test_a_quoted_line_that_cannot_be_split_is_named_with_its_place(tmp_path):
    text = '"a",r,b\n"a"\r,r,b\n'
    with pytest.raises(ml.InputError, match=r"kg.csv:2: new-line character"):
        read_triples(written(tmp_path, "kg.csv", text))


def test_an_order_must_name_all_places(tmp_path):
    with pytest.raises(ml.InputError, match="expected head, relation and tail"):
        read_triples(written(tmp_path, "kg.tsv", "a\tr\tb\n"), order="head tail")


def test_what_is_strange_is_said_and_mended():
    train = [("a", "r", "b"), ("a", "r", "b"), ("b", "r", "c")]
    valid = [("a", "r", "b"), ("c", "r", "a"), ("b", "r", "a")]
    test = [("c", "r", "a"), ("c", "r", "new"), ("b", "r", "c"), ("a", "s", "b")]
    with pytest.warns(ml.DataWarning) as caught:
        split = ml.from_triples(train, valid, test)
    assert [str(warning.message) for warning in caught] == list(split.remarks)
    assert split.remarks == (
        "train lists 1 triple more than once: each counts once",
        "test has 1 triple of train: left out of test",
        "valid has 1 triple of train: left out of valid",
        "valid has 1 triple of test: left out of valid",
        "1 triple of test has entities that train lacks: these rank last",
        "test has relations that train lacks, and nothing is known of: s",
    )
    assert (split.train.size, split.valid.shape[1], split.test.shape[1]) == (2, 1, 3)


def test_edges_lead_both_ways():
    graph = ml.from_triples(ROWS).train
    codes = graph.entities.codes
    link = {name: number for number, name in enumerate(graph.link_names)}
    for head, relation, tail in ROWS:
        assert codes[tail] in graph.neighbours(codes[head], link[relation])
        assert codes[head] in graph.neighbours(codes[tail], link[f"{relation}^-1"])
    assert len(graph.edges.links) == 2 * len(ROWS)


def test_databases_and_back():
    graph = ml.from_triples(ROWS).train
    database = graph_database(graph)
    assert str(database.schema) == "born_in(entity1,entity2)\nknows(entity1,entity1)"
    assert sorted(database.rows("knows")) == [("Bob", "anna")]
    again = graph_of(database).rows()
    assert [(h, r.replace("_", " "), t) for h, r, t in again] == graph.rows()
    assert ml.as_data(graph).databases[0].schema == database.schema
    given = graph_database(graph, {"born in": ("person", "place"), "knows": ("person", "person")})
    assert given.size("person") == 2
    with pytest.raises(ml.InputError, match="'knows' are not given"):
        graph_database(graph, {"born in": ("person", "place")})


def test_names_of_two_types_stay_apart():
    schema = ml.Schema.of("lives(person,place)", "big(place)", "three(person,person,place)")
    facts = {"lives": [("Paris", "Paris")], "big": [("Paris",)]}
    with pytest.warns(ml.DataWarning, match="three"):
        graph = graph_of(ml.Database.from_facts(schema, facts))
    assert graph.rows() == [
        ("place:Paris", "big", "big"),
        ("person:Paris", "lives", "place:Paris"),
    ]


@pytest.mark.parametrize(
    "titles", [("relation", "head", "tail"), ("Predicate", "object", "subject")]
)
def test_columns_of_frames_are_taken_by_their_names(titles):
    by_name = {"relation": 1, "predicate": 1, "head": 0, "subject": 0, "tail": 2, "object": 2}
    frame = pd.DataFrame({t: [row[by_name[t.lower()]] for row in ROWS] for t in titles})
    assert set(ml.from_triples(frame).train.rows()) == set(ROWS)
