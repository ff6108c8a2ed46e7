"""Path rules as relations of their own: the pairs that walks connect, by trying."""

import pytest

import mlnlearn as ml

ROWS = [
    *((f"p{a}", "parent of", f"p{b}") for a in range(12) for b in (2 * a + 1, 2 * a + 2)),
    *((f"p{a}", "lives in", f"town {a % 3}") for a in range(20)),
    *((f"p{a}", "knows", f"p{(5 * a + 1) % 25}") for a in range(25)),
]
PARENTS = [(a, b) for a, r, b in ROWS if r == "parent of"]
GRAND = [(a, "grandparent of", d) for a, b in PARENTS for c, d in PARENTS if b == c]


@pytest.fixture(scope="module")
def model():
    return ml.Paths(max_length=2, aggregation="maximum").fit(ml.from_triples(ROWS + GRAND)).model


def test_views_are_what_walks_connect(model):
    viewed = ml.path_views(model, "grandparent of", most=4)
    graph = model.known_graph
    views = list(viewed.relations)[len(graph.relations) :]
    assert tuple(viewed.relations)[: len(graph.relations)] == tuple(graph.relations)
    assert len(views) == 4
    assert "parent of then parent of" in views
    rows = viewed.rows()
    assert {row for row in rows if row[1] not in views} == set(graph.rows())
    steps = {}
    for h, r, t in graph.rows():
        steps.setdefault(r, set()).add((h, t))
        steps.setdefault(f"{r}^-1", set()).add((t, h))
    for view in views:
        first, second = view.split(" then ")
        walks = {(x, a, y) for x, a in steps[first] for b, y in steps[second] if a == b}
        differ = {(x, y) for x, a, y in walks if len({x, a, y}) == 3}
        assert {(h, t) for h, r, t in rows if r == view} == differ


def test_views_are_saved_and_read(model, tmp_path):
    both = ["grandparent of", "parent of"]
    ml.save_path_views(tmp_path / "tests.tsv", model, both, most=3)
    again = ml.read_path_views(tmp_path / "tests.tsv", model.known_graph)
    viewed = ml.path_views(model, both, most=3)
    assert tuple(again.relations) == tuple(viewed.relations)
    assert again.rows() == viewed.rows()
    assert len(viewed.relations) > len(ml.path_views(model, both[0], most=3).relations)


def test_boosting_takes_paths_as_tests(model):
    held = GRAND[::4]
    split = ml.from_triples(ROWS + [row for row in GRAND if row not in held], None, held)
    rules = ml.Paths(max_length=2, aggregation="maximum").fit(split).model
    views = {"grandparent of": ml.path_views(rules, "grandparent of")}
    learner = ml.BoostedRDN(target="grandparent_of", literals_per_node=1, steps=1)
    models = ml.learn_relations({"grandparent of": learner}, split.train, ml.Run(), views)
    assert "parent_of_then_parent_of(e1,e2) => grandparent_of" in str(models["grandparent of"])
    ranking = ml.TripleRanker(models, split, views).rank(split.test, filtered=split.all)
    assert ranking.mrr > 0.9
    with pytest.raises(ml.MlnError):  # the model reads relations that the graph alone lacks
        ml.TripleRanker(models, split).rank(split.test)


def test_no_path_of_a_relation_leaves_the_graph_as_it_is(model):
    assert ml.path_views(model, "lives in", most=0).rows() == model.known_graph.rows()
    with pytest.raises(ml.InputError, match="no relation 'likes'"):
        ml.path_views(model, "likes")
