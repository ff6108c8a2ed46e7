"""The page as text: complete, safe, and the same every time."""

import json
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university
from mlnlearn.errors import InputError
from mlnlearn.evaluate.cross_validate import cross_validate
from mlnlearn.model.mln import MLN
from mlnlearn.report import report
from mlnlearn.report.views import view_of
from mlnlearn.structure.boosting import BoostedMLN

AREAS = university(40, areas=2, rng=0).databases
LEARNER = BoostedMLN(target="advisedBy", steps=3, max_leaves=3)
MODEL = LEARNER.fit(AREAS).model


class Outline(HTMLParser):
    """The elements of a page, checked to be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.waiting, self.texts = [], [], {}
        self.feed(page)
        assert self.waiting == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.waiting.append(tag)

    def handle_endtag(self, tag):
        assert self.waiting.pop() == tag

    def handle_data(self, data):
        if self.waiting:
            self.texts.setdefault(self.waiting[-1], []).append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


@pytest.fixture(scope="module")
def page():
    results = cross_validate(LEARNER, AREAS, "advisedBy", keep_predictions=True)
    return report(MODEL, AREAS, results=results)


def test_all_parts_are_there_and_links_lead_somewhere(page):
    outline = Outline(page)
    named = {attrs["id"] for _, attrs in outline.elements if "id" in attrs}
    targets = [attrs["href"] for tag, attrs in outline.elements if tag == "a"]
    assert {"rules", "drawing", "performance-advisedBy", "atoms"} <= named
    assert targets
    assert all(target[0] == "#" and target[1:] in named for target in targets)
    assert outline.count("figure") == 5  # three curves, two of learning
    assert outline.texts["summary"] == [f"advisedBy(p1,p2), tree {k}" for k in (1, 2, 3)]
    assert "cross-validation" in "".join(outline.texts["li"])


def test_it_works_offline(page):
    outline = Outline(page)
    assert not any({"src", "srcset", "action"} & set(attrs) for _, attrs in outline.elements)
    assert not re.search(r"url\(|@import|\beval\b|fetch\(", page)
    assert [attrs.get("type") for tag, attrs in outline.elements if tag == "script"] == [
        "application/json",
        None,
    ]


def test_numbers_are_those_of_the_evaluation(page):
    found = view_of(MODEL).predictions(AREAS, "advisedBy", ())
    tiles = dict(zip(*(Outline(page).texts[tag] for tag in ("dt", "dd")), strict=True))
    for name, metric in (("AUC-PR", "auc_pr"), ("AUC-ROC", "auc_roc"), ("CLL", "cll")):
        shown = float(tiles[name].replace("−", "-"))
        assert shown == pytest.approx(found.scores([metric])[metric], abs=5e-4)
    for place, database in enumerate(AREAS):
        part = found.take(found.database == place).scores(["auc_pr"])["auc_pr"]
        row = page[page.index(f'<td data-v="{database.name}" data-t="database">') :]
        assert f'data-v="{part}"' in row[: row.index("</tr>")]


def test_the_same_model_gives_the_same_page():
    assert report(MODEL, AREAS) == report(MODEL, list(AREAS), "advisedBy")


def test_names_from_the_data_cannot_break_out():
    nasty = "</script><script>alert(1)</script><!--\"'&"
    mln = MLN.parse("likes(person,person)\nrich(person)\n1.5 rich(x) => likes(x,y)\n-1 likes(x,y)")
    facts = {"likes": [(nasty, "Bob")], "rich": [(nasty,)]}
    database = Database.from_facts(mln.schema, facts, name=nasty)
    page = report(mln, database, title=nasty)
    outline = Outline(page)
    assert outline.count("script") == 2
    assert not any(name.startswith("on") for _, attrs in outline.elements for name in attrs)
    assert outline.texts["h1"] == [nasty]
    [stored] = re.findall(r'id="atom-data">(.*?)</script>', page)
    assert len(json.loads(stored)["atoms"]) == 4


def test_a_network_is_asked_for_what_its_rules_conclude():
    made = university(30, areas=1, rng=1)
    mln = MLN(made.schema, made.rules)
    assert "advisedBy" in view_of(mln).queries()
    assert "Performance: advisedBy" in report(mln, made.databases, "advisedBy")


def test_several_predicates_are_predicted_together():
    mln = MLN.parse("a(t)\nb(t)\n2 a(x) => b(x)\n-1 b(x)\n0.5 a(x)")
    database = Database.from_facts(mln.schema, {"a": [("T",)]}, domains={"t": ["U"]})
    page = report(mln, database, ["a", "b"])
    assert "Performance: a" in page
    assert "Performance: b" in page
    hidden = view_of(mln).predictions([database], "b", ["a"])
    shown = view_of(mln).predictions([database], "b", [])
    assert np.ptp(hidden.probability) == pytest.approx(0.0, abs=1e-9)
    assert np.ptp(shown.probability) > 0.1


@pytest.mark.parametrize("facts", [{}, {"rich": [("Anna",)]}], ids=["nobody", "nothing true"])
def test_data_without_any_positive(facts):
    mln = MLN.parse("likes(person,person)\nrich(person)\n1.5 rich(x) => likes(x,y)")
    page = report(mln, Database.from_facts(mln.schema, facts))
    assert ("The data have no such atoms." in page) == (not facts)
    assert "AUC-PR</dt><dd>–</dd>" in page


def test_what_cannot_be_reported_is_refused():
    with pytest.raises(InputError, match="no report for a dict"):
        report({}, AREAS)
    with pytest.raises(InputError, match="at least one database"):
        report(MODEL, [])
    with pytest.raises(InputError, match="advisdBy"):
        report(MODEL, AREAS, "advisdBy")
    with pytest.raises(InputError, match="no target 'professor'"):
        report(MODEL, AREAS, "professor")


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_its_background():
    """At least 4.5 to 1, as WCAG wants it for text of normal size."""
    style = resources.files("mlnlearn.report").joinpath("report.css").read_text()
    light, dark = re.findall(r":root \{([^}]+)\}", style)
    for theme in (light, dark):
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", theme))
        for ink in ("ink", "soft", "main", "up", "down"):
            for paper in ("page", "card", "wash"):
                high, low = sorted((luminance(colours[ink]), luminance(colours[paper])))[::-1]
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)
