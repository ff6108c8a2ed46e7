"""Triples ranked by models of ground atoms: against brute force over all entities."""

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.data.triple_view import graph_database
from mlnlearn.evaluate import triples as ranked_triples
from mlnlearn.evaluate.ask import Conditionals, atom_probabilities

ROWS = [
    *((f"p{a}", "parent of", f"p{b}") for a in range(7) for b in (2 * a + 1, 2 * a + 2)),
    *((f"p{b}", "child of", f"p{a}") for a in range(6) for b in (2 * a + 1, 2 * a + 2)),
    *((f"p{a}", "lives in", f"town {a % 3}") for a in range(12)),
]
TEST = [("p13", "child of", "p6"), ("p14", "child of", "p6"), ("p13", "lives in", "town 1")]
NETWORK = """
parent_of(entity1,entity1)
child_of(entity1,entity1)
lives_in(entity1,entity2)
-2 child_of(x,y)
-1 lives_in(x,y)
3 parent_of(x,y) => child_of(y,x)
1 parent_of(x,y) ^ lives_in(x,z) => lives_in(y,z)
"""


@pytest.fixture(scope="module")
def split():
    return ml.from_triples(ROWS, None, TEST)


@pytest.fixture(scope="module")
def mln():
    return ml.MLN.parse(NETWORK)


def brute_ranks(mln, split, sides):
    """Ranks by the probability of every atom, one by one."""
    database = graph_database(split.train)
    known = {*ROWS, *TEST}
    names = {"child of": "child_of", "lives in": "lives_in"}
    found = []
    for side in sides:
        for h, r, t in TEST:
            types = database.schema[names[r]].types
            kind = types[side == "tail"]
            chances = {}
            for name in database.domains[kind]:
                atom = (name, t) if side == "head" else (h, name)
                codes = [[database.domains[k].code(n)] for k, n in zip(types, atom, strict=True)]
                columns = np.array(codes, np.int32)
                [chances[name]] = atom_probabilities(
                    mln, database, names[r], columns, Conditionals()
                )
            answer, source = (h, t) if side == "head" else (t, h)
            others = []
            for name in split.train.entities:
                triple = (name, r, t) if side == "head" else (h, r, name)
                if name != answer and triple not in known:
                    # the entity itself, and those of another type, come last
                    others.append(-1.0 if name == source else chances.get(name, -1.0))
            score = chances[answer]
            above = sum(other > score + 1e-9 for other in others)
            equal = sum(abs(other - score) <= 1e-9 for other in others)
            found.append(above + 1 + equal / 2)
    return found


def test_ranks_by_a_network_are_those_of_brute_force(split, mln, monkeypatch):
    expected = brute_ranks(mln, split, ("tail", "head"))
    ranker = ml.TripleRanker(mln, split)
    assert ranker.rank(TEST).ranks.tolist() == expected
    monkeypatch.setattr(ranked_triples, "_ATOMS", 7)  # in several parts
    assert ranker.rank(split.test, filtered=split.all, sides="head").ranks.tolist() == (
        ml.TripleRanker(mln, split).rank(split.test, sides="head").ranks.tolist()
    )
    assert [answer.entity for answer in ranker.top("child of", head="p13", k=1)] == ["p6"]
    assert ranker.top("child of", tail="p6", k=2)[0].score == pytest.approx(1.0)  # 3 - 2, log odds


def test_a_model_for_each_relation(split, mln):
    ranker = ml.TripleRanker({"child of": mln}, split)
    assert ranker.rank(TEST[:2]).ranks.tolist() == (
        ml.TripleRanker(mln, split).rank(TEST[:2]).ranks.tolist()
    )
    with pytest.raises(ml.InputError, match="no model of the relation 'lives in'"):
        ranker.rank(TEST)


def test_too_many_atoms_are_refused(split, mln, monkeypatch):
    monkeypatch.setattr(ranked_triples, "MOST_ATOMS", 50)
    with pytest.raises(ml.InputError, match=r"6 questions about 18 entities ask for 108 atoms"):
        ml.TripleRanker(mln, split).rank(TEST)


def test_a_graph_with_fewer_relations_than_the_model(mln):
    rows = [row for row in ROWS if row[1] == "parent of"]
    ranker = ml.TripleRanker(mln, ml.from_triples(rows).train)
    answers = ranker.top("parent of", head="p6", k=3)
    assert len(answers) == 3
