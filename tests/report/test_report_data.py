"""What the page says of the data and of what predictions rest on, against counts by hand."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import mlnlearn as ml
from mlnlearn.data.database import Database
from mlnlearn.model.boosted.rules import Leaf, TargetRules, Tree
from mlnlearn.model.shown import ShownRule
from mlnlearn.report import markdown_report, report
from mlnlearn.report.importance import _dealt_anew, importances
from mlnlearn.report.page import whole_page
from mlnlearn.report.schema_diagram import data_section, split_schema
from mlnlearn.report.sections import rules_section
from mlnlearn.report.views import view_of

RULES = ml.MLN.parse("""
ill(person)
smokes(person)
near(person,person)
noise(person)
sex(person,value!)
3 smokes(x) => ill(x)
1 near(x,y) ^ smokes(y) => ill(x)
2 noise(x) => ill(x)
-2 noise(x) => ill(x)
-2 ill(x)
0.5 sex(x,F) => ill(x)
""")


def people(count=40, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"P{k}" for k in range(count)]
    smokes = [(name,) for name in names if rng.random() < 0.4]
    facts = {
        "smokes": smokes,
        "ill": [row for row in smokes if rng.random() < 0.9],
        "noise": [(name,) for name in names if rng.random() < 0.5],
        "near": [(a, b) for a in names for b in names if a != b and rng.random() < 0.05],
        "sex": [(name, "FM"[k % 2]) for k, name in enumerate(names)],
    }
    return Database.from_facts(RULES.schema, facts, domains={"person": names}, name=f"s{seed}")


def test_rules_whose_weights_cancel_out_have_no_importance():
    data = [people()]
    view = view_of(RULES)
    lost = importances(view, data, view.predictions(data, "ill", ()), ())
    assert set(lost) == {"smokes", "near", "noise", "sex"}
    assert next(iter(lost)) == "smokes"
    assert lost["smokes"] > 0.2
    # by the sum of absolute weights noise would come first
    assert lost["noise"] == pytest.approx(0.0, abs=1e-9)


def test_dealt_facts_keep_their_number_and_values():
    before = people()
    for name in ("near", "sex", "smokes"):
        after = _dealt_anew(before, name)
        assert after.count(name) == before.count(name)
        assert set(after.rows(name)) != set(before.rows(name))
    sexes = [value for _, value in _dealt_anew(before, "sex").rows("sex")]
    assert sorted(sexes) == sorted(value for _, value in before.rows("sex"))


def test_profile_counts_what_is_missing():
    whole = people(10)
    ill = whole.true["ill"]
    data = Database.from_codes(
        whole.schema,
        whole.domains,
        {**whole.true, "ill": ill[:, ill[0] != 9]},
        unknown={"ill": np.array([[9]], np.int32)},
    )
    text = data_section([data])
    row = text[text.index('data-v="ill(person)"') :]
    cells = re.findall(r'data-v="([^"]*)"', row[: row.index("</tr>")])
    assert [float(cell) for cell in cells[1:]] == [
        data.count("ill"), 10, data.count("ill") / 10, 1, 0.1
    ]  # fmt: skip


def test_types_attributes_and_links():
    attributes, links = split_schema(RULES.schema)
    assert [p.name for p in attributes["person"]] == ["ill", "smokes", "noise", "sex"]
    assert [p.name for p in links] == ["near"]


def test_the_page_says_which_data_its_scores_are_of():
    train, test = people(seed=0), people(seed=1)
    renamed = replace(train, name="another name")
    assert "held-out data: the model was learned from other" in report(
        RULES, test, "ill", trained_on=train
    )
    assert "training scores: the model was learned from these" in report(
        RULES, renamed, "ill", trained_on=train
    )
    assert "from 1 of these 2 databases" in report(RULES, [train, test], "ill", trained_on=[train])


def test_trees_of_one_leaf_are_left_out():
    target = TargetRules(RULES.schema["ill"], -1.0, steps=(Tree(Leaf(0.5)),))
    page = report(ml.BoostedModel(RULES.schema, False, (target,)), people(), "ill")
    assert "1 tree of a single leaf is left out" in page
    assert "tree 1</summary>" not in page


def test_rules_are_grouped_by_target_with_their_base():
    page = report(
        ml.MLN.parse(f"{RULES.schema}\n1 smokes(x) => ill(x)\n1 ill(x) => smokes(x)"), people()
    )
    assert ">ill: 1</h3>" in page
    assert ">smokes: 1</h3>" in page
    data = people()
    base = data.count("ill") / 40
    assert f'data-v="{base}" data-t="base"' in page


def test_empty_cells_are_listed_with_the_confidence_of_their_value():
    frame = pl.DataFrame(
        {"id": range(40), "sex": ["f", "m"] * 20, "fan": ["x", "y"] * 19 + [None, "y"]}
    )
    data = ml.as_data({"person": frame}).databases
    model = ml.LAJDT().fit({"person": frame}).model
    page = report(model, data)
    row = page[page.index('id="filled"') :]
    row = row[row.index("<tbody>") : row.index("</tbody>")]
    cells = re.findall(r'data-v="([^"]*)"', row)
    assert cells[:3] == ["38", "fan", "x"]
    [probabilities] = np.exp(model.predict(data[0])["fan"].log_probabilities[[38]])
    assert float(cells[3]) == pytest.approx(probabilities.max())
    assert probabilities.max() > 0.8


def test_markdown_has_the_scores_and_rules():
    text = markdown_report(RULES, people(), "ill", title="Who falls ill?")
    assert text.startswith("## Who falls ill?\n")
    view = view_of(RULES)
    score = view.predictions([people()], "ill", ()).scores(["auc_pr"])["auc_pr"]
    assert f"| ill | {score:.3f} |" in text
    assert "| 3.000 | `smokes(x) => ill(x)` |" in text


def test_a_page_of_a_thousand_rules_stays_below_two_megabytes():
    rules = [f"{k / 100} smokes(x) ^ noise(x) ^ near(x,P{k % 40}) => ill(x)" for k in range(1, 26)]
    rules += [f"{k / 100} near(x,P{k % 40}) ^ sex(x,F) => ill(x)" for k in range(1, 976)]
    mln = ml.MLN.parse("\n".join([str(RULES.schema), *rules]))
    part = rules_section(view_of(mln), [people()])
    page = whole_page("Rules", "network", [], [("rules", "Rules", part)])
    assert page.count("<tr>") == 1001
    assert len(page.encode()) < 2_000_000


def test_a_table_of_many_columns_is_drawn_and_what_is_not_drawn_is_not_spoken_of():
    asked = [f"q{k}(answer,value{k})" for k in range(80)]
    wide = ml.Schema.of("tall(person)", "of(answer,person)", *asked)
    page = data_section([Database.from_facts(wide, {"of": [("A1", "Ann")]})])
    assert page.count("<rect") == 3
    assert "… and 68 more" in page
    assert "Each box is a type" in page
    many = ml.Schema.of(*(f"r{k}(thing,thing)" for k in range(80)))
    page = data_section([Database.from_facts(many, {"r0": [("a", "b")]})])
    assert "<svg" not in page
    assert "Each box is a type" not in page


def test_markdown_of_rows_and_of_graphs_has_scores_and_rules():
    rule = ShownRule("by=x", "of orders by x|y 34% are returned", 0.34, 0.1, 9, 1.3)
    text = ml.rows_markdown("orders.returned", [rule] * 30, None)
    assert "### Rules, 20 of 30" in text
    assert text.count("of orders by x\\|y 34% are returned | 0.340 | 0.100 | 9 | 1.300 |") == 20
    rows = [("a", "r", "b"), ("b", "s", "a"), ("c", "r", "d"), ("d", "s", "c")]
    model = ml.Paths(aggregation="maximum").fit(ml.from_triples(rows)).model
    ranking = model.rank([("e", "r", "a"), ("b", "s", "a")])
    lines = ml.graph_markdown(model, ranking, title="Links").splitlines()
    assert lines[0] == "## Links"
    assert lines[2] == "| relation | MRR | Hits@1 | Hits@3 | Hits@10 |"
    assert lines[4] == f"| all | {ranking.mrr:.3f} | " + " | ".join(
        f"{ranking.hits(k):.3f}" for k in (1, 3, 10)
    ) + " |"  # fmt: skip
    assert {line.split(" | ")[0] for line in lines[5:7]} == {"| r", "| s"}
    assert "| r(X,Y) <= s(Y,X) | 2 | 2 | 1.000 |" in lines
