"""Empty cells while learning from tables: no false edges, planted ones found, no biased numbers."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest

from join_worlds import as_counter, chain_tables, counter_of, self_tables
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.run import Run
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.impute import COMPLETIONS, Imputation
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN


def cells(rng, name, codes, share=0.0):
    """Values of a column, each with the name of the column in it; some cells empty."""
    found = np.array([f"{name}{code}" for code in codes], object)
    found[rng.random(len(found)) < share] = None
    return found


def drawn(rng, table):
    """One value a row from a table of probabilities."""
    return (rng.random(len(table))[:, None] > table.cumsum(axis=1)).sum(axis=1)


def one_table(seed, empty, size=2000, planted=False):
    """Four columns, independent or a - b - c; `empty` says what share of each is empty."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.choice(3, size=size, p=[0.5, 0.3, 0.2]) for name in "abc"}
    columns["d"] = rng.integers(2, size=size)
    if planted:
        for parent, child in ("ab", "bc"):
            same = rng.random(size) < 0.3
            columns[child] = np.where(same, columns[parent], columns[child])
    frame = {"id": [f"i{k}" for k in range(size)]}
    frame |= {n: cells(rng, n, codes, empty.get(n, 0.0)) for n, codes in columns.items()}
    return from_frames({"t": pd.DataFrame(frame)}, keys={"t": "id"})


def dependences(net):
    """Pairs of attributes with an edge between them."""
    pairs = [(net.nodes[parent], net.nodes[child]) for parent, child in net.edges]
    return {
        "-".join(sorted(node.predicate.name for node in pair))
        for pair in pairs
        if not any(node.is_link for node in pair)
    }


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("empty", [{"a": 0.01}, dict.fromkeys("abcd", 0.3)])
def test_independent_columns_have_no_edges(seed, empty):
    assert not MBN(weights="log-probability").fit(Loaded(*one_table(seed, empty))).model.net.edges


@pytest.mark.parametrize("empty", [{"a": 0.01}, {"b": 0.3}, dict.fromkeys("abcd", 0.3)])
def test_planted_edges_are_found(empty):
    net = MBN(weights="log-probability").fit(Loaded(*one_table(0, empty, planted=True))).model.net
    assert dependences(net) == {"a-b", "b-c"}


ROOT = np.array([0.5, 0.3, 0.2])
MIDDLE = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
END = np.array([[0.8, 0.2], [0.5, 0.5], [0.15, 0.85]])
JOINT = ROOT[:, None, None] * MIDDLE[:, :, None] * END


def emptied_at_random(seed, size=6000):
    """a -> b -> c; what is empty of a and b depends on c, so full rows alone mislead."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, size=size, p=ROOT)
    b = drawn(rng, MIDDLE[a])
    c = drawn(rng, END[b])
    frame = {
        "id": [f"i{k}" for k in range(size)],
        "a": cells(rng, "a", a, np.where(c == 1, 0.4, 0.1)),
        "b": cells(rng, "b", b, np.where(c == 1, 0.55, 0.05)),
        "c": cells(rng, "c", c),
    }
    return pd.DataFrame(frame)


@pytest.mark.parametrize(
    "learner", [MBN(weights="log-probability"), LAJDT(weights="log-probability"), LAJDT()]
)
def test_probabilities_are_those_that_the_cells_were_drawn_from(learner):
    frame = emptied_at_random(0)
    full = frame.dropna()
    shares = full.groupby(["a", "b", "c"]).size().to_numpy().reshape(3, 3, 2) / len(full)
    assert np.abs(shares - JOINT).max() > 0.05  # what the full rows say
    database, mapping = from_frames({"t": frame}, keys={"t": "id"})
    model = learner.fit(Loaded(database, mapping)).model
    assert dependences(model.net) == {"a-b", "b-c"}
    names = ["a(t)", "b(t)", "c(t)"]
    nodes = [model.net.nodes[model.net.place(name)] for name in names]
    order = [[int(value[1]) for value in node.values] for node in nodes]
    assert np.abs(model.net.joint(names) - JOINT[np.ix_(*order)]).max() < 0.01
    worlds = list(product(range(3), range(3), range(2)))
    rows = {n: [f"{n}{w[k]}" for w in worlds] for k, n in enumerate("abc")}
    every = pd.DataFrame({"id": [f"w{k:02}" for k in range(len(worlds))]} | rows)
    test, _ = from_frames({"t": every}, keys={"t": "id"}, mapping=mapping)
    for axis, (name, found) in enumerate(model.predict(test).items()):
        truth = np.moveaxis(JOINT / JOINT.sum(axis=axis, keepdims=True), axis, -1)
        for row, world in enumerate(worlds):
            index = tuple(value for place, value in enumerate(world) if place != axis)
            got = np.exp(found.log_probabilities[row])
            assert got == pytest.approx(truth[index][order[axis]], abs=0.05), (name, world)


RATINGS = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])


def rated_films(seed, empty, planted, users=300, films=150):
    """Users, films and ratings; planted: a user's sex and ratings depend on the age."""
    rng = np.random.default_rng(seed)
    age, sex = rng.choice(2, size=users, p=[0.6, 0.4]), rng.integers(2, size=users)
    who, what = np.nonzero(rng.random((users, films)) < 0.04)
    stars = rng.choice(3, size=len(who), p=[0.3, 0.4, 0.3])
    mood = rng.integers(2, size=len(who))
    if planted:
        sex = np.where(rng.random(users) < 0.5, age, sex)
        stars = drawn(rng, RATINGS[age[who]])
    ids = {kind: np.array([f"{kind}{k}" for k in range(size)]) for kind, size in
           (("u", users), ("f", films))}  # fmt: skip
    tables = {
        "user": {
            "id": ids["u"],
            "age": cells(rng, "a", age, empty),
            "sex": cells(rng, "s", sex, empty),
        },
        "film": {"id": ids["f"], "genre": cells(rng, "g", rng.integers(2, size=films), empty)},
        "rated": {
            "who": ids["u"][who],
            "what": ids["f"][what],
            "stars": cells(rng, "r", stars, empty),
            "mood": cells(rng, "m", mood, empty),
        },
    }
    keys = {
        "user": "id",
        "film": "id",
        "rated": Keys(("who", "what"), {"who": "user", "what": "film"}),
    }
    return from_frames({name: pd.DataFrame(part) for name, part in tables.items()}, keys=keys)


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("empty", [0.3])
def test_edges_and_probabilities_along_links(links, empty):
    learner = MBN(links=links, weights="log-probability")
    # attributes of one link are both N/A where it is false
    structural = {"mood-stars"} if links else set()
    assert (
        dependences(learner.fit(Loaded(*rated_films(0, empty, planted=False))).model.net)
        == structural
    )
    net = learner.fit(Loaded(*rated_films(0, empty, planted=True))).model.net
    assert dependences(net) == {"age-sex", "age-stars"} | structural
    joint = net.joint(["stars(user,film)", "age(user)"], {"rated(user,film)": "T"})
    shares = (joint / joint.sum(axis=0)).T
    stars, age = (
        [int(v[1]) for v in net.nodes[net.place(name)].values if v != "N/A"]
        for name in ("stars(user,film)", "age(user)")
    )
    assert shares[:, 1:] == pytest.approx(RATINGS[np.ix_(age, stars)], abs=0.06)


@pytest.mark.parametrize("tables", [chain_tables, self_tables])
@pytest.mark.parametrize("links", [True, False])
def test_completions_keep_what_is_known_and_leave_nothing_unknown(tables, links):
    database, mapping = tables(3, 0.3, 6)
    counter = counter_of([database], mapping)
    data, layout = counter.data, counter.data.layout
    asked = []

    def search(found, label):
        asked.append(label)
        own = {r.link: r.attributes for r in layout.relationships}
        yield {
            node: tuple(link for link, attributes in own.items() if node in attributes)
            + tuple(n for n in layout.attributes[:1] if node.is_attribute and n != node)
            for node in layout.nodes
        }

    *_, (_, completions) = Imputation(data, links, 10.0).structures(search)
    assert len(completions) == COMPLETIONS
    assert len(set(asked)) == len(asked) == 2  # the second search found the same
    completed = [data.completed(values) for values in completions]
    for node in layout.nodes:
        if not node.is_attribute:
            continue
        name = node.predicate.name
        known = data.values[name] < node.size
        for part in completed:
            assert (part.values[name][known] == data.values[name][known]).all()
            assert part.values[name].max(initial=0) < node.size
            assert part.values[name].min(initial=9) >= int(node.relationship is not None)
    means = FamilyCounter(data, completed)
    family = layout.nodes[:3]
    parts = [as_counter(FamilyCounter(part).count(family)) for part in completed]
    expected = sum(parts, start=Counter())
    found = means.count(family)
    assert as_counter(found) == expected
    assert found.mean.sum() == pytest.approx(parts[0].total())


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    database, mapping = one_table(1, {"a": 0.2, "c": 0.1}, size=300, planted=True)
    first = MBN().fit(Loaded(database, mapping), Run(checkpoint=tmp_path / "run.jsonl")).model
    lines = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_text("".join(lines[:2]))
    again = MBN().fit(Loaded(database, mapping), Run(checkpoint=tmp_path / "run.jsonl")).model
    assert str(again) == str(first)
    assert (tmp_path / "run.jsonl").read_text() == "".join(lines)
