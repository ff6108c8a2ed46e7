"""Drawings of the trees of a Bayes net's nodes: every leaf once, shares that fill the bars."""

import re
from dataclasses import replace

import numpy as np
import pytest

from join_worlds import chain_tables, self_tables
from mlnlearn.data.load.build import Loaded
from mlnlearn.report.family_trees import family_key, family_svg
from mlnlearn.report.sections import drawings_section
from mlnlearn.report.views import view_of
from mlnlearn.structure.join_bayes.learners import LAJDT, MBN


@pytest.mark.parametrize("tables", [chain_tables, self_tables])
@pytest.mark.parametrize("learner", [LAJDT(pruning="none"), LAJDT(links=True), MBN()])
def test_every_leaf_is_drawn_with_its_shares(tables, learner):
    model = learner.fit(Loaded(*tables(1, size=8))).model
    for family in model.families:
        drawing = family_svg(family)
        bars = re.findall(r'<g class="shares">(.*?)</g>', drawing)
        assert len(bars) == len(family.leaves)
        first = int(family.child.relationship is not None and family.child.is_attribute)
        for bar, counts in zip(bars, family.counts[:, first:], strict=True):
            shares = [float(x) for x in re.findall(r": (\d\.\d+)</title>", bar)]
            expected = (counts + family.prior) / (counts + family.prior).sum()
            assert shares == pytest.approx(expected, abs=6e-4)
            widths = [float(x) for x in re.findall(r'width="([\d.]+)"', bar)]
            assert sum(widths) == pytest.approx(180, abs=0.5)
        everything = family.counts[:, first:].sum(axis=0) + family.prior
        inner = re.findall(r'<g class="shares all">(.*?)</g>', drawing)
        assert len(inner) == len({path[:k] for path in family.leaves for k in range(len(path))})
        if inner:  # the last one drawn is the first test
            shares = [float(x) for x in re.findall(r": (\d\.\d+)</title>", inner[-1])]
            assert shares == pytest.approx(everything / everything.sum(), abs=6e-4)
        asked = {family.parents[place] for path in family.leaves for place, _ in path}
        for node in asked:
            assert str(node) in drawing
        assert family_key(family).count("<li>") == family.child.size - first


def test_branches_carry_the_values_on_the_way_to_their_leaves():
    model = (
        LAJDT(links=True, sample_size=50.0, pruning="none")
        .fit(Loaded(*chain_tables(0, size=9)))
        .model
    )
    family = max(model.families, key=lambda f: len(f.leaves))
    values = [
        family.parents[place].values[value] for path in family.leaves for place, value in path
    ]
    tests = len({path[:k] for path in family.leaves for k in range(1, len(path) + 1)})
    edges = re.findall(r'class="edge"', family_svg(family))
    assert len(edges) == tests
    assert set(re.findall(r'class="answer"[^>]*>([^<]*)<', family_svg(family))) >= set(values)


def test_the_section_has_the_net_and_all_trees():
    model = LAJDT().fit(Loaded(*self_tables(2, size=8))).model
    page = drawings_section(view_of(model))
    assert page.count('class="net scroll"') == 1
    drawn = [family for family in model.families if len(family.leaves) > 1]
    assert len(drawn) > 0
    assert page.count('class="drawn"') == len(drawn)
    assert page.count("<details") == len(drawn) + 1  # the whole net is one, too
    assert page.count(" open") == 2


def test_large_tables_are_named_and_not_drawn(monkeypatch):
    monkeypatch.setattr("mlnlearn.report.sections.MOST_LEAVES", 0)
    model = LAJDT().fit(Loaded(*self_tables(2, size=8))).model
    page = drawings_section(view_of(model))
    assert 'class="drawn"' not in page
    drawn = [family for family in model.families if len(family.leaves) > 1]
    assert page.count("too many to draw") == len(drawn) > 0


def test_names_are_escaped():
    model = MBN().fit(Loaded(*self_tables(2, size=8))).model
    family = model.families[0]
    node = replace(family.child, values=tuple(f"<{v}&" for v in family.child.values))
    text = family_svg(replace(family, child=node))
    assert "&lt;v0&amp;" in text
    assert "<v0" not in text
    assert np.isfinite(model.weights).all()
