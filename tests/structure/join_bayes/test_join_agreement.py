"""Rules with the net's probabilities as weights say what the net says, of rows seen and unseen."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from join_worlds import brute_counts, chain_tables, flag_tables, self_tables, value_of
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.frames import from_frames
from mlnlearn.evaluate.conditional import conditional_probabilities
from mlnlearn.structure.join_bayes.layout import NetLayout
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN


def random_parents(layout, rng, links):
    """A random net: more edges than learning would find, so that most rows are never seen."""
    units = [(node,) for node in layout.attributes if node.main]
    units += [relationship.nodes for relationship in layout.relationships]
    order = [node for node in layout.attributes if not node.main]
    parents = dict.fromkeys(layout.nodes, ())
    every_link = [relationship.link for relationship in layout.relationships]
    if not links:
        order += every_link
    for place in rng.permutation(len(units)).tolist():
        for child in units[place]:
            if child in order:
                continue
            above = [n for n in order if rng.random() < 0.5][:3]
            if not links and any(set(n.variables) - set(child.variables) for n in above):
                above += every_link
            if child.relationship is not None and child.is_attribute:
                above.append(next(n for n in every_link if n.predicate == child.relationship))
            parents[child] = tuple(n for n in layout.nodes if n in above)
            order.append(child)
    return parents


def with_random_net(learner, seed):
    class Random(learner):
        def _nets(self, counter, *_):
            yield random_parents(counter.data.layout, np.random.default_rng(seed), self.links)

    return Random


def of_leaves(family, parents, sizes):
    """P(child | parents) by a tree's leaves, exactly one of which fits any values.

    A leaf that does not mention a variable has one grounding for all entities of it, so that each
    of their tuples has a part in it only.
    """
    first = int(family.child.relationship is not None and family.child.is_attribute)

    def conditional(row, value):
        held = dict(zip(parents, row, strict=True))
        path = {(place, held[parent]) for place, parent in enumerate(family.parents)}
        [leaf] = [k for k, asked in enumerate(family.leaves) if set(asked) <= path]
        shares = family.counts[leaf] + family.prior
        probability = shares[value] / shares[first:].sum()
        return probability ** (1 / np.prod([sizes[v] for v in family.unmentioned(leaf)]))

    return conditional


class Reference:
    """Log-probabilities of cells by products of conditionals over all tuples of entities.

    The conditionals are those of the net; of a model with trees, the trees'.
    """

    def __init__(self, model, train, test, mapping, *, links, trees):
        self.model, self.net, self.links, self.trees = model, model.net, links, trees
        self.train, self.layout = train, NetLayout.of([train], mapping)
        self.sizes = {v: test.size(kind) for v, kind in self.layout.types.items()}
        self.values, self.unseen = {}, 0
        for node in self.layout.nodes:
            for ids in product(*(range(self.sizes[v]) for v in node.variables)):
                world = dict(zip(node.variables, ids, strict=True))
                self.values[node.predicate.name, ids] = value_of(test, node, world)
        children = [node for node in self.net.nodes if node.main]
        self.conditionals = {child: self._conditional(child) for child in children}
        self.seen = {
            child: set(map(tuple, self.net.tables[self.net.place(child)].configurations.tolist()))
            for child in children
        }
        self.own = {child: self._own(child) for child in children}

    def _parents(self, child):
        return [self.net.nodes[p] for p in self.net.tables[self.net.place(child)].parents]

    def _conditional(self, child):
        if self.trees:
            family = next(f for f in self.model.families if f.child == child)
            return of_leaves(family, self._parents(child), self.sizes)
        full = self.net.conditional(self.net.place(child))
        return lambda row, value: full[(*row, value)]

    def _own(self, child):
        """P(child | parents in its own table), where there are others too; else None."""
        above = self._parents(child)
        near = [n for n in above if set(n.variables) <= set(child.variables)]
        if self.links or child.is_link or len(near) == len(above):
            return None
        if self.trees:
            family = next(f for f in self.model.families if f.child == child and f.inverse)
            return near, of_leaves(family, near, self.sizes)
        counts = brute_counts([self.train], self.layout, [child, *near])
        prior = 10.0 / np.prod([n.size for n in (child, *near)])
        first = int(child.relationship is not None)

        def of_table(row, value):
            shares = np.array([counts[(v, *row)] + prior for v in range(child.size)])
            return shares[value] / shares[first:].sum()

        return near, of_table

    def score(self, changed, value):
        """The logarithm of all factors that have one cell in them, with a value in that cell."""
        total = 0.0
        for child, conditional in self.conditionals.items():
            parents = self._parents(child)
            if all(n.predicate.name != changed[0] for n in (child, *parents)):
                continue
            variables = list(dict.fromkeys(v for n in (child, *parents) for v in n.variables))
            own = self.own[child]
            for ids in product(*(range(self.sizes[v]) for v in variables)):
                held = dict(zip(variables, ids, strict=True))
                row = [self.value(n, held, changed, value) for n in (child, *parents)]
                linked = all(row[1 + k] for k, n in enumerate(parents) if n.is_link)
                if own is not None and not linked:
                    continue
                if child.is_attribute and child.relationship is not None and row[0] == 0:
                    continue  # N/A, with certainty
                self.unseen += tuple(row[1:]) not in self.seen[child]
                total += np.log(conditional(row[1:], row[0]))
                if own is not None:
                    total -= self._own_log(own, child, held, changed, value)
            if own is not None:
                total += sum(
                    self._own_log(own, child, held, changed, value)
                    for held in self._own_tuples(child)
                )
        return total

    def _own_tuples(self, child):
        for ids in product(*(range(self.sizes[v]) for v in child.variables)):
            held = dict(zip(child.variables, ids, strict=True))
            if child.relationship is None or self.values[child.relationship.name, ids]:
                yield held

    def _own_log(self, own, child, held, changed, value):
        near, conditional = own
        row = [self.value(n, held, changed, value) for n in (child, *near)]
        return np.log(conditional(row[1:], row[0]))

    def value(self, node, held, changed, value):
        key = node.predicate.name, tuple(held[v] for v in node.variables)
        return value if key == changed else self.values[key]


@pytest.mark.parametrize(
    ("tables", "size"), [(chain_tables, 4), (self_tables, 4), (flag_tables, 6)]
)
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("learner", [MBN, LAJDT])
def test_rules_agree_with_the_net_on_rows_seen_and_unseen(tables, size, links, learner):
    unseen = 0
    for seed in range(3):
        train, mapping = tables(seed, 0.0, size)
        test, _ = tables(seed + 50, 0.0, size - 1)
        trees = learner is LAJDT
        options = {"pruning": "none"} if trees else {}
        given = with_random_net(learner, seed)(links=links, weights="log-probability", **options)
        model = given.fit(Loaded(train, mapping)).model
        reference = Reference(model, train, test, mapping, links=links, trees=trees)
        rng = np.random.default_rng(seed)
        for found in model.predict(test).values():
            node, first = found.node, int(found.node.relationship is not None)
            cells = [ids for name, ids in reference.values if name == node.predicate.name]
            if first:
                cells = list(map(tuple, test.facts(node.relationship.name).T.tolist()))
            for place in rng.choice(len(cells), min(2, len(cells)), replace=False).tolist():
                changed = node.predicate.name, cells[place]
                scores = [reference.score(changed, value) for value in range(first, node.size)]
                expected = np.array(scores) - np.logaddexp.reduce(scores)
                assert found.log_probabilities[place][first:] == pytest.approx(expected, abs=1e-9)
        unseen += reference.unseen
    assert unseen > 0  # else nothing was asked of rows that are not in the data


@pytest.mark.parametrize("learner", [MBN, LAJDT])
def test_every_row_of_one_table_has_the_probability_of_the_net(learner):
    """A row whose parent values never occur together: no rule must not mean probability 1."""
    rng = np.random.default_rng(0)
    one = rng.integers(2, size=60)
    two = np.where(one == 1, 0, rng.integers(3, size=60))  # (1, 1) and (1, 2) never occur
    three = (one + two + (rng.random(60) < 0.1)) % 2
    cells = {"one": one, "two": two, "three": three}
    frame = pd.DataFrame({"id": [f"i{k}" for k in range(60)]} | cells).astype(str)
    values = {"t": {"columns": {name: {"as": "value"} for name in cells}}}
    train, mapping = from_frames({"t": frame}, keys={"t": "id"}, mapping=values)

    class Planted(learner):
        def _nets(self, counter, *_):
            a, b, c = counter.data.layout.nodes
            yield {a: (), b: (a,), c: (a, b)}

    model = Planted(weights="log-probability").fit(Loaded(train, mapping)).model
    every = list(product("01", "012", "01"))
    rows = dict(zip(cells, map(list, zip(*every, strict=True)), strict=True))
    worlds = pd.DataFrame({"id": [f"w{k:02}" for k in range(len(every))]} | rows)
    test, _ = from_frames({"t": worlds}, keys={"t": "id"}, mapping=mapping)
    joint = model.net.joint(["one(t)", "two(t)", "three(t)"])
    if learner is LAJDT:
        parents = model.net.nodes
        factors = [of_leaves(f, parents[:k], {}) for k, f in enumerate(model.families)]
        for cell in np.ndindex(joint.shape):
            joint[cell] = np.prod([factors[k](cell[:k], cell[k]) for k in range(3)])
    for axis, (name, found) in enumerate(model.predict(test).items()):
        shares = joint / joint.sum(axis=axis, keepdims=True)
        for row, values in enumerate(every):
            index = [model.net.nodes[k].values.index(v) for k, v in enumerate(values)]
            index[axis] = slice(None)
            got = np.exp(found.log_probabilities[row])
            assert got == pytest.approx(shares[tuple(index)], abs=1e-9), (name, values)
        atoms = np.exp(found.log_probabilities).reshape(-1)
        assert conditional_probabilities(model.mln(), test, name) == pytest.approx(atoms, abs=1e-9)
