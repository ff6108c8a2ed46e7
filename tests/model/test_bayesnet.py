"""Parametrized Bayes nets: probabilities, queries by enumeration, exports that others can read."""

import math
from itertools import product

import numpy as np
import pytest

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Predicate, Variable
from mlnlearn.model.bayesnet import ConditionalTable, ParametrizedBayesNet
from mlnlearn.model.bayesnet_nodes import ABSENT, NetNode

USER, ITEM = (Variable("u"),), (Variable("i"),)
BOTH = (*USER, *ITEM)
RATED = Predicate("rated", ("user", "item"))
AGE = NetNode(Predicate("age", ("user", "band")), USER, ("young", "old"))
GENRE = NetNode(Predicate("genre", ("item", "kind")), ITEM, ("x", "y", "z"))
LINK = NetNode(RATED, BOTH, ("F", "T"), RATED)
SCORE = NetNode(Predicate("score", ("user", "item", "n")), BOTH, (ABSENT, "1", "2"), RATED)


def random_net(seed=0):
    rng = np.random.default_rng(seed)
    parents = ((), (0,), (0, 1), (1, 2))
    nodes = (AGE, GENRE, LINK, SCORE)
    tables = []
    for node, above in zip(nodes, parents, strict=True):
        found = list(product(*(range(nodes[p].size) for p in above)))
        rows = np.array(found, np.int64).reshape(len(found), len(above))
        counts = rng.integers(0, 20, (len(rows), node.size)).astype(float)
        if node is SCORE:
            counts[rows[:, 1] == 0, 1:] = 0.0
            counts[rows[:, 1] == 1, 0] = 0.0
        tables.append(ConditionalTable(above, rows, counts, 6.0))
    return ParametrizedBayesNet(nodes, tuple(tables))


def brute_joint(net, wanted):
    sizes = [node.size for node in net.nodes]
    found = np.zeros([sizes[k] for k in wanted])
    tables = [net.conditional(k) for k in range(len(sizes))]
    for world in product(*map(range, sizes)):
        chance = 1.0
        for k, table in enumerate(net.tables):
            chance *= tables[k][(*(world[p] for p in table.parents), world[k])]
        found[tuple(world[k] for k in wanted)] += chance
    return found


def test_joints_are_those_of_enumeration():
    net = random_net()
    for wanted in ([0], [3], [3, 1, 2], [2, 0]):
        found = net.joint([net.nodes[k] for k in wanted])
        assert found == pytest.approx(brute_joint(net, wanted))
        assert found.sum() == pytest.approx(1.0)


def test_what_is_given_restricts_the_joint():
    net = random_net(1)
    whole = brute_joint(net, [0, 1, 2, 3])
    found = net.joint(["genre(i)", "age(u)"], {"score(u,i)": "2", "rated(u,i)": "T"})
    part = whole[:, :, 1, 2].T
    assert found == pytest.approx(part / part.sum())
    with pytest.raises(InputError, match="probability 0"):
        net.joint(["age(u)"], {"score(u,i)": "2", "rated(u,i)": "F"})
    with pytest.raises(InputError, match="both asked for and given"):
        net.joint(["age(u)"], {"age(u)": "old"})


def test_probabilities_are_smoothed_counts():
    net = random_net()
    table = net.tables[2]
    row = 4
    age, genre = table.configurations[row]
    counts = table.counts[row]
    expected = (counts[1] + 6 / 12) / (counts.sum() + 6 / 6)
    found = net.probability(
        "rated(u,i)", "T", {"age(u)": AGE.values[age], "genre(i)": GENRE.values[genre]}
    )
    assert found == pytest.approx(expected)


def test_an_attribute_of_a_link_is_absent_exactly_without_the_link():
    full = random_net().conditional(3)
    assert (full[:, 0, 0] == 1.0).all()
    assert (full[:, 1, 0] == 0.0).all()
    assert full.sum(axis=-1) == pytest.approx(np.ones((3, 2)))


def test_configurations_never_seen_are_uniform():
    table = ConditionalTable((0,), np.array([[1]]), np.array([[3.0, 1.0, 0.0]]), 6.0)
    root = ConditionalTable((), np.zeros((1, 0), int), np.array([[1.0, 1.0]]))
    net = ParametrizedBayesNet((AGE, GENRE), (root, table))
    assert net.conditional(1)[0] == pytest.approx([1 / 3] * 3)
    assert net.conditional(1)[1] == pytest.approx([4 / 7, 2 / 7, 1 / 7])


def test_samples_follow_the_joint():
    net = random_net()
    drawn = net.sample(np.random.default_rng(3), 40_000)
    joint = net.joint(net.nodes)
    found = np.zeros_like(joint)
    np.add.at(found, tuple(drawn), 1 / drawn.shape[1])
    assert np.abs(found - joint).max() < 4 * math.sqrt(joint.max() / drawn.shape[1])


def test_a_net_is_the_same_after_saving(tmp_path):
    net = random_net()
    net.save(tmp_path / "net.json")
    again = ParametrizedBayesNet.load(tmp_path / "net.json")
    assert again.nodes == net.nodes
    assert again.edges == net.edges
    for place in range(4):
        assert (again.conditional(place) == net.conditional(place)).all()


def test_bif_is_read_by_others(tmp_path):
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    net = random_net()
    net.save(tmp_path / "net.bif")
    theirs = gum.loadBN(str(tmp_path / "net.bif"))
    assert theirs.size() == 4
    assert theirs.sizeArcs() == len(net.edges)
    engine = gum.LazyPropagation(theirs)
    engine.makeInference()
    for name, node in (("score_u_i", "score(u,i)"), ("rated_u_i", "rated(u,i)")):
        assert engine.posterior(name).tolist() == pytest.approx(
            net.joint([node]).tolist(), abs=1e-6
        )


def test_drawings_hold_every_node_and_edge():
    net = random_net()
    dot, svg = net.dot(), net.svg()
    for node in net.nodes:
        assert str(node) in dot
        assert str(node) in svg
    assert dot.count("->") == svg.count("marker-end") == len(net.edges) == 5


def test_literals_say_what_values_mean():
    assert str(SCORE.literal(2)) == "score(u,i,2)"
    assert str(SCORE.literal(0)) == "!rated(u,i)"
    assert str(LINK.literal(0)) == "!rated(u,i)"
    assert str(LINK.literal(1)) == "rated(u,i)"


def test_bad_nets_and_questions_are_refused():
    root = ConditionalTable((1,), np.zeros((0, 1), int), np.zeros((0, 2)))
    other = ConditionalTable((0,), np.zeros((0, 1), int), np.zeros((0, 3)))
    with pytest.raises(InputError, match="circle"):
        ParametrizedBayesNet((AGE, GENRE), (root, other))
    net = random_net()
    for call in (
        lambda: net.place("sex(u)"),
        lambda: net.probability("genre(i)", "x", {}),
        lambda: net.probability("age(u)", "ancient"),
    ):
        with pytest.raises(InputError):
            call()
