"""Learn-and-join within limits: of work, of time, of width; and the same results without need."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from join_worlds import chain_tables, counter_of, self_tables
from mlnlearn.data.load.build import Loaded
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.errors import CountOverflowError
from mlnlearn.run import Run
from mlnlearn.structure.join_bayes import lattice
from mlnlearn.structure.join_bayes.chains import longer_chains
from mlnlearn.structure.join_bayes.changes import single_changes
from mlnlearn.structure.join_bayes.ges import greedy_equivalence_search
from mlnlearn.structure.join_bayes.graphs import EdgeConstraints, ancestors, has_circle, obeys
from mlnlearn.structure.join_bayes.lattice import WIDE, LearnAndJoin
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN, _table_counts


def random_rules(rng, size):
    """Required edges along an order, and forbidden ones among the rest."""
    pairs = [(a, b) for a, b in itertools.permutations(range(size), 2)]
    required = frozenset((a, b) for a, b in pairs if a < b and rng.random() < 0.15)
    forbidden = frozenset(pair for pair in pairs if rng.random() < 0.2) - required
    return EdgeConstraints(required, forbidden)


def changed_one_edge(dag, rules, max_parents):
    """All DAGs that differ in one edge, by trying every one."""
    found = set()
    for child, parent in itertools.permutations(range(len(dag)), 2):
        without = list(dag)
        without[child] &= ~(1 << parent)
        others = [tuple(without)] if dag[child] >> parent & 1 else []
        for up, down in ((parent, child), (child, parent)):
            if dag[child] >> parent & 1 or not dag[parent] >> child & 1:
                other = list(without)
                other[down] |= 1 << up
                if other[down].bit_count() <= max_parents:
                    others.append(tuple(other))
        found |= {o for o in others if o != dag and not has_circle(o) and obeys(o, rules)}
    return found


@pytest.mark.parametrize("seed", range(10))
def test_single_changes_are_all_that_obey(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, 5)
    dag = [rules.required_parents.get(node, 0) for node in range(5)]
    for parent, child in itertools.combinations(range(5), 2):
        if (parent, child) not in rules.forbidden and rng.random() < 0.4:
            dag[child] |= 1 << parent
    dag = tuple(dag)
    changes = [change.of(dag) for change in single_changes(dag, rules, 5)]
    assert len(set(changes)) == len(changes)
    assert set(changes) == changed_one_edge(dag, rules, 5)


def test_ancestors_are_all_that_reach():
    rng = np.random.default_rng(1)
    dag = tuple(
        sum(1 << p for p in range(7) if order[p] < order[node] and rng.random() < 0.4)
        for order in [rng.permutation(7)]
        for node in range(7)
    )
    reach = np.array([[dag[node] >> parent & 1 for parent in range(7)] for node in range(7)])
    closure = sum(np.linalg.matrix_power(reach, power) for power in range(1, 8)) > 0
    assert ancestors(dag) == [sum(1 << p for p in np.flatnonzero(row).tolist()) for row in closure]


def test_a_screened_search_looks_at_the_nearest_nodes_alone():
    gains = {(0, 1): 5.0, (0, 2): 3.0, (1, 2): 1.0, (2, 3): 4.0}
    asked = set()

    def score(node, parents):
        asked.add((node, parents))
        return sum(gains.get(tuple(sorted((node, parent))), -1.0) for parent in parents)

    dag = greedy_equivalence_search(4, score, partners=1)
    edges = {frozenset((p, c)) for c in range(4) for p in range(4) if dag[c] >> p & 1}
    assert edges == {frozenset((0, 1)), frozenset((2, 3)), frozenset((0, 1))}
    more = [parents for _, parents in asked if len(parents) > 1]
    assert not more


def test_chains_without_one_of_their_parts_are_left_out():
    counter = counter_of(*[[d] if k == 0 else d for k, d in enumerate(chain_tables(0))])
    ab, bc, cd = counter.data.layout.relationships
    singles = [frozenset({r}) for r in (ab, bc, cd)]
    pairs, lost = longer_chains(singles, (ab, bc, cd))
    assert (pairs, lost) == ([frozenset({ab, bc}), frozenset({bc, cd})], 0)
    assert longer_chains(pairs, (ab, bc, cd)) == ([frozenset({ab, bc, cd})], 0)
    # the ends of the chain are no chain of their own, so that they need not be there
    assert longer_chains(pairs[:1], (ab, bc, cd)) == ([], 1)


@pytest.mark.parametrize("links", [True, False])
def test_without_work_there_are_no_chains_and_with_enough_of_it_all(links):
    database, mapping = chain_tables(1, size=4)
    counter = counter_of([database], mapping)
    options = {"links": links, "sample_size": 50.0}
    none = LearnAndJoin(counter, max_work=0, **options)
    assert none.edges() == LearnAndJoin(counter, max_chain=1, max_work=None, **options).edges()
    assert "2 of 2 chains of 2 relationships were left out" in none.remarks[0]
    enough = LearnAndJoin(counter, **options)
    assert enough.edges() == LearnAndJoin(counter, max_work=None, **options).edges()
    assert not enough.remarks


def test_limits_hold_in_a_run_that_goes_on_from_its_checkpoint(tmp_path):
    tables = Loaded(*self_tables(2, size=12))
    path = tmp_path / "run.jsonl"
    for work in (250_000, 600_000, 5_000_000):
        learner = MBN(links=True, max_work=work)
        first = learner.fit(tables, Run(checkpoint=path))
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:-1]))
        again = learner.fit(tables, Run(checkpoint=path))
        assert str(again.model) == str(first.model)
        assert again.notes.remarks == first.notes.remarks
        assert path.read_text() == "".join(lines)
        path.unlink()


def fitted(tables, seconds):
    """What is learned within so many looks at the clock."""
    clock = itertools.count()
    learner = LAJDT(weights="log-probability")
    return learner.fit(tables, Run(max_seconds=seconds, clock=lambda: next(clock)))


def test_a_run_out_of_time_returns_what_it_has():
    tables = Loaded(*chain_tables(1, size=5))
    whole = fitted(tables, 10**9)
    assert not whole.notes.stopped
    assert str(whole.model) == str(LAJDT(weights="log-probability").fit(tables).model)
    early = fitted(tables, int(0.4 * whole.notes.seconds))
    assert early.notes.stopped
    assert len(early.model.net.edges) < len(whole.model.net.edges)


def test_with_empty_cells_there_is_a_model_before_they_are_filled():
    tables = Loaded(*chain_tables(1, missing=0.2, size=4))
    edges = {len(fitted(tables, looks).model.net.edges) for looks in (100, 300)}
    assert len(edges) == 2


@pytest.mark.parametrize("links", [True, False])
def test_parents_of_many_chains_do_not_make_a_table_too_large(links, monkeypatch):
    database, mapping = self_tables(2, size=12)
    options = {"links": links, "sample_size": 50.0}
    free = LearnAndJoin(counter_of([database], mapping), **options)
    assert max(_table_rows(free.edges()).values()) > 12
    monkeypatch.setattr(lattice, "MOST_ROWS", 12)
    bounded = LearnAndJoin(counter_of([database], mapping), **options)
    for child, rows in _table_rows(bounded.edges()).items():
        assert rows <= 12 or child.relationship is not None  # its own link is a parent in any case
    assert any("its table would be too large" in remark for remark in bounded.remarks)
    assert not any("too large" in remark for remark in free.remarks)


def _table_rows(edges):
    """Rows of the conditional table of every child."""
    children = {child for _, child in edges}
    return {c: c.size * math.prod(p.size for p, other in edges if other == c) for c in children}


def test_tables_of_more_tuples_than_can_be_counted_are_those_of_the_links():
    size, links = 60_000, 500  # 1.3e19 tuples of four
    ids = {name: [f"{name}{k}" for k in range(size)] for name in "abcd"}
    values = ["v", *["u"] * (size - 1)]
    tables = {n: pd.DataFrame({"id": ids[n], f"{n}x": values}) for n in "abcd"}
    keys = {name: Keys("id") for name in "abcd"}
    for one, two in ("ab", "bc", "cd"):
        pair = {"one": ids[one][:links], "two": ids[two][:links]}
        tables[one + two] = pd.DataFrame(pair)
        keys[one + two] = Keys(("one", "two"), {"one": one, "two": two})
    database, mapping = from_frames(tables, keys=keys)
    counter = counter_of([database], mapping)
    child, *above = counter.data.layout.attributes
    links_of = [r.link for r in counter.data.layout.relationships]
    found = _table_counts(counter, child, (*above, *links_of))
    assert sorted(found.counts.tolist()) == [1, links - 1]
    with pytest.raises(CountOverflowError):
        _table_counts(counter, child, tuple(above))


def test_wide_tables_are_screened_and_say_so():
    rng = np.random.default_rng(0)
    size, width = 300, WIDE + 2
    codes = rng.integers(2, size=(width, size))
    for place in range(1, width, 2):
        codes[place] = np.where(rng.random(size) < 0.8, codes[place - 1], codes[place])
    frame = {"id": [f"i{k}" for k in range(size)]}
    frame |= {f"c{k:02}": [f"v{v}" for v in row] for k, row in enumerate(codes)}
    tables = Loaded(*from_frames({"t": pd.DataFrame(frame)}, keys={"t": "id"}))
    fitted = MBN(weights="log-probability").fit(tables)
    names = [{str(fitted.model.net.nodes[n])[:3] for n in edge} for edge in fitted.model.net.edges]
    for place in range(0, width, 2):
        assert {f"c{place:02}", f"c{place + 1:02}"} in names
    (remark,) = fitted.notes.remarks
    assert remark == f"among {width} columns, each was compared with its 12 nearest ones alone"
